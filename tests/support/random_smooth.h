/* SPDX-License-Identifier: BSD-3-Clause
 * Random functions of reals whose values and slopes stay moderate, so that differences can judge their
 * derivatives: value ops with a derivative, branches, loops, calls of two functions, reads of a
 * differentiable buffer, local arrays. */
#ifndef TESTS_RANDOM_SMOOTH_H
#define TESTS_RANDOM_SMOOTH_H

#include "spirv_gen/ir/ir.h"

enum { SMOOTH_PARAMS = 4, SMOOTH_RESULTS = 3, SMOOTH_WORDS = 8, SMOOTH_TRIPS = 3 /* of a loop, at most */ };
/* Buffers of its module, SMOOTH_WORDS words each. */
enum smooth_buffer {
    SMOOTH_VALUES,
    SMOOTH_GRADIENTS,
    SMOOTH_TANGENTS,
    SMOOTH_GRADIENT_TANGENTS,
    SMOOTH_BUFFERS
};

typedef struct smooth_options {
    bool no_loops, sums_only;    /* loops: none; only those that add to their states */
    bool no_locals, flat_locals; /* local arrays: none; only outside of branches and loops */
    bool some_constant; /* some reads of memory, by a condition, have no gradient: differences would not see
                           that */
    bool no_fold, no_merge;
} smooth_options;

ir_module *smooth_module(smooth_options options);
/* A function of SMOOTH_PARAMS reals with SMOOTH_RESULTS real results, not yet ended: the results are in
 * out. */
ir_func *smooth_function(ir_module *m, uint64_t seed, smooth_options options, ir_ref out[SMOOTH_RESULTS]);

#endif
