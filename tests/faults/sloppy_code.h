/* SPDX-License-Identifier: BSD-3-Clause
 * SPIR-V as a device would run it whose arithmetic is no better than Vulkan asks for. */
#ifndef SLOPPY_CODE_H
#define SLOPPY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sloppy_rules {
    bool sloppy; /* f32 quotients are off by up to 2 ulp, roots and their reciprocals, too */
    bool fused;  /* Fma rounds once */
    bool zeros;  /* half of all f32 sums, products and comparisons take denormal numbers for zero */
} sloppy_rules;

/* New words, malloc'ed, with the same ids for the same results. Which results are off, and how far, follows
 * from the place of an instruction, from all words of the module, and from the result. */
uint32_t *sloppy_code(const uint32_t *words, size_t count, sloppy_rules rules, size_t *new_count);

#endif
