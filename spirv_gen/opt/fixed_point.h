/* SPDX-License-Identifier: BSD-3-Clause
 * Sums in fixed point, of which opt/accumulate.c makes ACCUMs (fixed_point.c). Private to spirv_gen. */
#ifndef SPIRV_GEN_OPT_FIXED_POINT_H
#define SPIRV_GEN_OPT_FIXED_POINT_H

#include "spirv_gen/opt/pass.h"

enum { FIXED_MOST = 32 }; /* sums in a list: bounds the code that stands in one piece */

/* Sums to elements of one scale, which is that of element `base`. */
typedef struct fixed_list {
    uint32_t buffer; /* gradient buffer */
    ir_ref base;
    uint32_t count;
    ir_ref index[FIXED_MOST], value[FIXED_MOST];
} fixed_list;

/* Emits them. counters: a private array of fixed_counters(o) words, FIXED_OVERFLOWS and so on; none: words of
 * the status buffer count. */
void fixed_add(ir_func *f, const opt_options *o, const fixed_list *list, ir_ref counters);

/* Where o->non_finite_word: `wanted` (bool) and all values are finite; else it is counted that they are not.
 */
ir_ref fixed_finite(ir_func *f, const opt_options *o, const fixed_list *list, ir_ref wanted, ir_ref counters);

enum { FIXED_OVERFLOWS, FIXED_UNDERFLOWS, FIXED_NON_FINITES, FIXED_COUNTERS };
static inline uint32_t fixed_counters(const opt_options *o)
{
    return o->non_finite_word ? FIXED_COUNTERS : FIXED_NON_FINITES;
}

#endif
