/* SPDX-License-Identifier: BSD-3-Clause
 * How long values of a function live: from where they are computed to their last use, loops included. A
 * position is the number of an instruction; what is said of it holds right before the instruction. The order
 * of instructions is taken for that of the kernel, and a value lives through the branches between its
 * definition and its last use, also where it is not read there; that is more than it needs. A state lives to
 * its last use in a trip, and its next value from where that is computed. */
#ifndef SPIRV_GEN_OPT_LIFETIMES_H
#define SPIRV_GEN_OPT_LIFETIMES_H

#include "spirv_gen/ir/ir.h"

typedef struct value_use {
    uint32_t value, at; /* what is read, and the position of what reads it */
    uint32_t region;    /* that the reader stands in; 0: the function */
    uint32_t taken; /* of a PHI, at the end of a branch, a STATE or a result: where this is emitted; else 0 */
} value_use;

typedef struct lifetimes {
    const ir_func *f;
    uint32_t *first;       /* per value: its first use; [inst.count]: the end */
    ARRAY(value_use) uses; /* of one value after the other, by ascending position */
    uint32_t *left;   /* per value: so many of its first uses count; the others read something else instead */
    uint32_t *needed; /* per value: it has to live to this position at least */
    uint32_t *last;   /* per value: up to which position it lives; 0: nobody needs it */
    uint32_t *end;    /* per IF: its ELSE; per ELSE: its ENDIF; per LOOP: its ENDLOOP */
    uint8_t *uniform; /* per value: all lanes have the same, so it takes no lane's register */
    int32_t *extra; /* per position: how many more values live from here on that the function does not have */
    uint32_t *live; /* per position: how many values take a register, elements of small local arrays, too */
} lifetimes;

void lifetimes_begin(lifetimes *l, const ir_func *f);
void lifetimes_end(lifetimes *l);

/* Whether it is a number that is computed: yes-or-no values are bits of a mask. */
bool lifetimes_number(const ir_func *f, uint32_t id);
/* Whether a lane needs a register for it. */
bool lifetimes_register(const lifetimes *l, uint32_t id);
/* Parameters stand at 0, wherever they are. */
uint32_t lifetimes_begins(const ir_func *f, uint32_t id);
/* The region that an instruction stands in; a STATE in its loop. */
uint32_t lifetimes_region(const ir_func *f, uint32_t id);
bool lifetimes_is_around(const ir_func *f, uint32_t outer, uint32_t inner);
/* The outermost loop around this region that does not hold the value's definition; 0: there is none. */
uint32_t lifetimes_loop(const ir_func *f, uint32_t id, uint32_t region);
/* Up to where a value lives that is read at this position. */
uint32_t lifetimes_read(const lifetimes *l, uint32_t id, uint32_t at, uint32_t region);
/* After `left` or `needed` of the value has changed. */
void lifetimes_update(lifetimes *l, uint32_t id);
/* Fills `live`. */
void lifetimes_count(lifetimes *l);

/* Those of all functions of a module. */
typedef struct call_site {
    uint32_t waiting;          /* the most values that live around a call of a function; 0: nobody calls it */
    uint32_t caller, call_end; /* the function that calls it there, and the position behind the call */
} call_site;
typedef struct module_lifetimes {
    const ir_module *m;
    lifetimes *of;    /* per function */
    call_site *calls; /* per function, as lifetimes_most has found them */
} module_lifetimes;

module_lifetimes lifetimes_of_module(const ir_module *m);
void lifetimes_release(module_lifetimes *l);
/* How many values live, those that wait in callers among them, at the place where most do. */
uint32_t lifetimes_most(module_lifetimes *l, uint32_t *function, uint32_t *at);
/* From a place to the one behind the call around which most wait; false: nobody calls the function. */
bool lifetimes_go_out(const module_lifetimes *l, uint32_t *function, uint32_t *at);

#endif
