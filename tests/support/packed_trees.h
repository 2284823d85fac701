/* SPDX-License-Identifier: BSD-3-Clause
 * Packed hierarchies (base/bvh_layout.h) of plans, made by hand or moved, for tests of whoever traverses
 * them. */
#ifndef TEST_PACKED_TREES_H
#define TEST_PACKED_TREES_H

#include "render/plan.h"

typedef enum packed_shape {
    PACKED_LEFT,   /* a comb: entries on the right, what is left of it on the left, one node per entry */
    PACKED_RIGHT,  /* the other way round */
    PACKED_RANDOM, /* leaves of 1 to 4 entries, shuffled, under random nodes; some children are missing */
    PACKED_SHAPES
} packed_shape;

/* Gives a plan of one level, whose primitives these are, another tree. All its boxes are as large as the
 * grid. So whoever traverses it meets every entry. Returns its depth in nodes. */
uint32_t packed_take_tree(plan *p, packed_shape shape);

/* Turns the sign of x of a plan of triangles on one level: boxes and grid, too. */
void packed_mirror(plan *p);
/* Makes coordinates of the groups twice as large; the maps halve them again. All entries are triangles. */
void packed_double_groups(plan *p);
/* Moves all instances. */
void packed_move_instances(plan *p, const float by[3]);

#endif
