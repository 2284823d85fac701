/* SPDX-License-Identifier: BSD-3-Clause
 * Whether an eight-wide hierarchy (src/gpu/native/hierarchy.h) is what its packed two-wide ones say. */
#ifndef TEST_HIERARCHY_CHECK_H
#define TEST_HIERARCHY_CHECK_H

#include "gpu/gpu.h"

typedef struct hierarchy_numbers {
    uint32_t nodes, blocks, levels; /* as they stand in the hierarchy */
    uint32_t entries;               /* in blocks */
    uint32_t stack;                 /* references that wait at most, by walking the tree */
} hierarchy_numbers;

/* Fails the running test unless every packed leaf, below every tree, is found once, inside of the boxes of
 * all nodes above it; blocks hold what the entries hold; every level is entered by one reference; no node or
 * block is left over; and the stack suffices. words: of the scene buffer. */
hierarchy_numbers hierarchy_check(const gpu_hierarchy *h, const uint32_t *words);

#endif
