/* SPDX-License-Identifier: BSD-3-Clause
 * Random valid modules from a seed: value ops of every row, branches, loops, calls, memory, local arrays. The
 * choices depend on the seed and the options alone, never on what the builder folded or merged, so two
 * modules of one seed that differ in no_fold and no_merge mean the same program. */
#ifndef TESTS_RANDOM_TRACE_H
#define TESTS_RANDOM_TRACE_H

#include "spirv_gen/ir/ir.h"

enum {
    RANDOM_TRACE_WORDS = 64,  /* words of every buffer */
    RANDOM_TRACE_BUFFERS = 4, /* 0 constant data, 1 memory, 2 constant parameters, 3 gradients of 2 (f32) */
    RANDOM_TRACE_UNIFORMS = 4
};

typedef struct random_trace_options {
    uint32_t size; /* of the entry, in picks; 0: 60 */
    bool no_fold, no_merge;
    bool no_steering; /* no sin, cos, exp, log, pow, atan2, acos: what opt/math.c replaces by polynomials */
    bool no_control;  /* straight-line code only */
} random_trace_options;

/* The module's entry stores what it has computed into buffer 1. Owned by the caller. */
ir_module *random_trace(uint64_t seed, random_trace_options options);

/* Words for buffers and uniforms: mostly small numbers and special floats. */
void random_trace_fill(uint64_t seed, uint32_t *words, uint32_t count);

/* 64 random bits; the state is the seed. */
uint64_t random_bits(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t limit);

#endif
