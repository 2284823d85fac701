/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes and rays for tests of whoever answers rays: random ones, and such as are most easily answered
 * wrongly. Functions that end in a failure fail the running cmocka test with the reason. */
#ifndef TEST_RAY_CASES_H
#define TEST_RAY_CASES_H

#include "render/plan.h"

#include <math.h>

double ray_uniform(double low, double high); /* the same numbers in every process */

/* ---- kernels ---- */

/* Traces the intersection functions of the kinds that the scene has; returns how many. They are at most
 * SHAPE_KIND_COUNT, in the order of entries' kinds. */
uint32_t ray_trace_kinds(ir_module *m, const plan *p, ir_func **intersect);

/* ---- scenes ---- */

typedef struct ray_primitive {
    uint32_t kind, shape, index;
    double p[3], a[3], b[3], radius; /* corner or centre, edges or half axes */
} ray_primitive;

typedef struct ray_world {
    render_scene *scene;
    ray_primitive *primitives;
    uint32_t count;
} ray_world;

/* shapes: XML. folder: that files are named relative to. */
ray_world ray_world_load(const char *shapes, const char *folder);
void ray_world_free(ray_world *w);

/* Files in the working folder; the test removes them. */
extern const char *const ray_soup_file, *const ray_ball_file;
void ray_write_soup(uint32_t faces); /* separate triangles of all sizes, and a patch that is flat */
void ray_write_ball(uint32_t n);     /* a closed bumpy ball of 2 n (n - 1) triangles */

void ray_add_ply(text *xml, const char *file);
void ray_add_spheres(text *xml, uint32_t count);
void ray_add_disks(text *xml, uint32_t count);
void ray_add_cylinders(text *xml, uint32_t count);
/* Shape k of a group, of several kinds; the same one whenever it is asked for. then: what follows in its
 * to_world. */
void ray_add_group_shape(text *xml, uint32_t k, const char *then);

/* ---- rays ---- */

/* Ray i: origin, direction, tmin, tmax. A quarter is aimed at edges, silhouettes and rims; others are
 * parallel to axes, short, or ask for nothing (tmax below tmin, not finite). The world has primitives. */
void ray_make(const ray_world *w, uint32_t i, float *line);
/* Changes a ray into one that ray_make does not make: tmin above 0, far origins, components that are almost
 * 0, denormals, infinities and NaNs in every place, no direction, origins at corners. */
void ray_make_odd(const ray_world *w, uint32_t i, float *line);

static inline double ray_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline double ray_length(const double *a) { return sqrt(ray_dot(a, a)); }
static inline void ray_cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2],
    out[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
