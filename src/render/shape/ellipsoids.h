/* SPDX-License-Identifier: BSD-3-Clause
 * Ellipsoids whose kernels emit: their arrays as parameters, and what a ray meets of them
 * (shape/ellipsoid_arrays.c, shape/ellipsoid_kernel.c). Only scenes with render_scene.ellipsoid_field have
 * these. */
#ifndef BL_RENDER_SHAPE_ELLIPSOIDS_H
#define BL_RENDER_SHAPE_ELLIPSOIDS_H

#include "render/harmonics.h"
#include "render/plan.h"
#include "render/shape/kinds.h"

/* Words at an ellipsoid's place in the geometry: three rows that turn it into the unit sphere, its centre. */
enum { ELLIPSOID_MAP, ELLIPSOID_CENTER = 9, ELLIPSOID_WORDS = 12 };

/* Arrays of a shape, in this order among the parameters. */
enum ellipsoid_array {
    ELLIPSOID_DATA,      /* [count, 10]: enum ellipsoid_value */
    ELLIPSOID_OPACITIES, /* [count, 1] */
    ELLIPSOID_SH_COEFFS, /* [count, 3 (degree + 1)^2]: coefficient k of colour c is 3 k + c */
    ELLIPSOID_ARRAYS
};
/* Centre, standard deviations along the axes, quaternion (real part last) from these axes to the world. */
enum ellipsoid_value { ELLIPSOID_AT, ELLIPSOID_SCALE = 3, ELLIPSOID_QUATERNION = 6, ELLIPSOID_VALUES = 10 };

/* Words at SHAPE_DATA of a shape with arrays: (value, gradient) offsets of each array, coefficients of a
 * colour, extent (f32), whether the opacity shrinks it. The ellipsoids' own words follow. */
enum ellipsoid_word {
    ELLIPSOID_OFFSETS,
    ELLIPSOID_COEFFICIENTS = 2 * ELLIPSOID_ARRAYS,
    ELLIPSOID_EXTENT,
    ELLIPSOID_ADAPTIVE,
    ELLIPSOID_HEADER
};

/* ---- ellipsoid_arrays.c: from files to parameters ---- */

/* What a PLY file of Gaussians has of colours: raw, as it is written. */
typedef struct ellipsoid_source {
    const struct ply_columns *columns;
    uint32_t first_harmonic; /* index of the name of the first coefficient */
    uint32_t opacity;        /* index of the name of the opacity's column */
    uint32_t coefficients;   /* of each colour */
    bool trained;            /* in the form of 3D Gaussian splatting: logits, colour by colour */
} ellipsoid_source;
enum { ELLIPSOID_COLUMNS = 10 + 1 + 3 * HARMONICS_MOST + 1 + 1 + 3 * HARMONICS_MOST + 1 };
/* Names of columns: the 10 of the ellipsoid, then those of both forms of colours. */
const char *const *ellipsoid_columns(render_scene *s);
/* Finds the form of the colours in the file. */
bl_result ellipsoid_find_source(const scene_object *o, const struct ply_columns *columns,
                                ellipsoid_source *out, bl_error *err);
/* The opacity of an ellipsoid as it is used, between 0 and 1 if the file is right. */
float ellipsoid_opacity(const ellipsoid_source *from, uint32_t row);
/* Registers the arrays as parameters; data: 10 values of each ellipsoid in the world. Values out of range are
 * an error. */
bl_result ellipsoid_add_arrays(render_scene *s, const scene_object *o, const ellipsoid_source *from,
                               const float *data, bl_error *err);
/* Writes the header of a shape's words into the plan. */
void ellipsoid_write_header(plan *p, const render_shape *shape);
/* Whether a parameter moves ellipsoids, or changes their extent. */
bool ellipsoid_moves(const render_scene *s, uint32_t parameter);
/* Gives an error if the parameter is the array `data` and the values are no ellipsoids. */
bl_result ellipsoid_check(const render_scene *s, uint32_t parameter, const float *values, bl_error *err);
/* The parameter that is `array` of the shape; PLAN_NONE: it has no arrays. */
uint32_t ellipsoid_parameter(const render_scene *s, const render_shape *shape, enum ellipsoid_array array);
/* By how much the opacity shrinks the extent (Mitsuba's extent_adaptive_clamping). Where nothing should be
 * left, at opacities up to 0.01, it is ELLIPSOID_LEAST_CLAMPING. */
#define ELLIPSOID_LEAST_CLAMPING 1e-4f
double ellipsoid_clamping(double opacity);

/* ---- ellipsoid_kernel.c: traced ---- */

/* Makes an ellipsoid's words and box anew from its values. at->data: SHAPE_DATA of its shape. */
void ellipsoid_remake(tracer *t, const object_primitive *at, transformed_primitive *out);

/* The box of an ellipsoid, with slack for f32. square: per coordinate the sum of the squares of its half
 * axes. */
void ellipsoid_box(tracer *t, const ir_ref centre[3], const ir_ref square[3], transformed_primitive *out);

/* An ellipsoid that a ray meets: words of its shape's data, its number in the shape, and the ray. */
typedef struct ellipsoid_hit {
    ir_ref data, number;
    vec3 o, d;
} ellipsoid_hit;
/* The share of light that the kernel takes from the ray, which is what it adds of its colour. May run
 * differentiated. */
ir_ref ellipsoid_alpha(tracer *t, const ellipsoid_hit *hit);
/* The colour of the kernel, seen along the ray. May run differentiated. */
color ellipsoid_color(tracer *t, const ellipsoid_hit *hit);

#endif
