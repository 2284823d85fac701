/* SPDX-License-Identifier: BSD-3-Clause
 * Parts of shapes that may go through parts of others: triangles and balls, in double precision, on the host.
 * Disks and cylinders are triangles inscribed in them. */
#ifndef BL_RENDER_SHAPE_CROSSING_PARTS_H
#define BL_RENDER_SHAPE_CROSSING_PARTS_H

#include "render/classes.h"

/* A triangle, or a ball around corner[0]. */
typedef struct crossing_part {
    double corner[3][3], radius; /* radius: 0, of a triangle */
    double low[3], high[3];
    uint32_t primitive; /* its number in the scene */
} crossing_part;
typedef ARRAY(crossing_part) crossing_parts;

/* Adds the parts of a primitive: of a curve or a grid the faces of its box; of ellipsoids none. */
void crossing_parts_add(const render_scene *s, uint32_t primitive, crossing_parts *out);
/* Moves all of them along one way, at an angle to walls and floors. */
void crossing_parts_move(crossing_parts *all, double by);
/* Sorts them as crossing_parts_meet asks for it. */
void crossing_parts_sort(crossing_parts *all);

/* Calls `with` for each pair whose boxes come nearer than `reach` to each other, until it returns false, or
 * *looks pairs have been looked at, of which it is what is left. Both lists are sorted. */
typedef bool crossing_pair(void *of, const crossing_part *a, const crossing_part *b);
void crossing_parts_meet(const crossing_parts *a, const crossing_parts *b, double reach, uint64_t *looks,
                         crossing_pair *with, void *of);
/* The same for all pairs of one list whose boxes meet, but for triangles that share a vertex. */
void crossing_parts_meet_themselves(const crossing_parts *all, uint64_t *looks, crossing_pair *with,
                                    void *of);

/* How long the curve is in which the surfaces of two parts go through each other; 0: they do not. Where one
 * is a ball, about so long. */
double crossing_length(const crossing_part *a, const crossing_part *b);

#endif
