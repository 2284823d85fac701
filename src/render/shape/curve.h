/* SPDX-License-Identifier: BSD-3-Clause
 * Curves (shape/curve.c): their words, the spline, and their silhouettes (shape/curve_silhouette.c). */
#ifndef BL_RENDER_SHAPE_CURVE_H
#define BL_RENDER_SHAPE_CURVE_H

#include "render/shape/silhouette.h"

enum curve_word { CURVE_SEGMENTS, CURVE_POINTS };
/* Words of an entry. The first enum is for a piece of a B-spline. A linear segment has p0, r0, p1, r1 in its
 * first eight words, and at ENTRY_SEGMENT the offset that ENTRY_POINTS is for a piece. */
enum { ENTRY_DATA, ENTRY_POINTS, ENTRY_BEGIN, ENTRY_END };
enum { ENTRY_SEGMENT = 8 };
enum { CURVE_PIECES = 8 /* primitives of a segment of a B-spline */ };

typedef struct spline {
    /* A place on the spline, its radius, and the derivatives of both. */
    vec3 c, d1, d2, d3;
    ir_ref r, r1, r2;
} spline;

/* The uniform cubic B-spline and its derivatives at s, from the words at `points`. */
spline spline_at(tracer *t, ir_ref points, ir_ref s);

/* Hooks of curves (shape_kind_class). */
silhouette_point linear_silhouette(tracer *t, const silhouette_query *at);
void linear_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out);
vec3 linear_silhouette_moved(tracer *t, const silhouette_query *at, vec3 p);
silhouette_point bspline_silhouette(tracer *t, const silhouette_query *at);
void bspline_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out);
vec3 bspline_silhouette_moved(tracer *t, const silhouette_query *at, vec3 p);

#endif
