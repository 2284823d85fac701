/* SPDX-License-Identifier: BSD-3-Clause
 * Participating media, as other folders see them: extinction, albedo, emission, and the bounds of the
 * extinction. */
#ifndef BL_RENDER_MEDIA_H
#define BL_RENDER_MEDIA_H

#include "render/plugin_kinds.h"

/* Words of a medium, in the list at HEADER_MEDIA: its class and record, class and record of its phase
 * function, and whether lights are sampled in it. Shapes and the sensor refer to a medium by the place of
 * these words in the scene buffer. The place 0 stands for vacuum. */
enum medium_word {
    MEDIUM_CLASS,
    MEDIUM_RECORD,
    MEDIUM_PHASE_CLASS,
    MEDIUM_PHASE_RECORD,
    MEDIUM_SAMPLES_LIGHTS,
    MEDIUM_WORDS
};

/* What gradient passes of the extinction require of tracking (docs/theory/support.md). */
#define MAJORANT_MARGIN 1.25f /* the majorant is at least this many times the largest extinction */
#define MAJORANT_LEAST_OPTICAL                                                                               \
    0.25f /* least optical thickness of the majorant along the diagonal of the box */
#define LEAST_REAL_CHANCE                                                                                    \
    0.05f /* least probability of a tentative collision to be real; not where DRT paths find what is 0 */

/* For both kinds of media, at a point p of the world. These functions may run differentiated. */
color medium_extinction(tracer *t, const class_node *n, ir_ref record, vec3 p);
bool medium_emits(const class_node *n); /* whether an emission is given */
color medium_emission(tracer *t, const class_node *n, ir_ref record, vec3 p);
color medium_albedo(tracer *t, const class_node *n, ir_ref record, vec3 p);
bool medium_grey(const class_node *n); /* whether the three channels of the extinction are one reference */
bool medium_wants_extinction(const class_node *n); /* whether the gradient of the extinction is wanted */
/* Only for heterogeneous media: the bound of the extinction. Outside of the box from medium_low to
 * medium_high the extinction is 0. */
ir_ref medium_majorant(tracer *t, const class_node *n, ir_ref record);
/* How many cells with bounds of their own the volume has along each side; 0: none. */
uint32_t medium_cells(const tracer *t, const class_node *n);
/* Maps a ray to coordinates of the unit cube of the volume. Only for volumes with cells. */
volume_ray medium_into(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d);
/* The bounds of the extinction in one cell, from above and from below, and the distance at which a ray
 * leaves the cell (1e30: never). */
typedef struct cell_bounds {
    ir_ref majorant, minorant, leaves;
} cell_bounds;
/* The bounds of the cell that the ray is in at `distance`. */
cell_bounds medium_cell(tracer *t, const class_node *n, ir_ref record, const volume_ray *ray,
                        ir_ref distance);
vec3 medium_low(tracer *t, const class_node *n, ir_ref record);
vec3 medium_high(tracer *t, const class_node *n, ir_ref record);
/* Only for heterogeneous media: the box around the unit cube of the volume `sigma_t`, along the axes of the
 * world. */
void medium_box(const scene_object *medium, double low[3], double high[3]);
double medium_diagonal(const scene_object *medium); /* the length of the diagonal of the box */

/* ---- estimator.c: how the gradient of a grid of extinctions is found ---- */

typedef struct extinction_grid {
    const float *values; /* in the order [z, y, x, channel] */
    /* size is along x, y, z. cells: how many cells with bounds of their own there are along each side; 1 is
     * one bound for all. */
    uint32_t size[3], channels, cells;
    double thickness; /* the optical thickness of density 1 along the diagonal of the box */
} extinction_grid;

/* How many tentative collisions it takes in gradient passes to have a real one, on average over the voxels.
 * It lies between 1.25 and 20. */
double extinction_tries(const extinction_grid *g);

/* ---- grin.c: media that bend rays. Their extinction is 0 above, since they scatter nothing ---- */

bool medium_bends(const class_node *n);
bool render_bends_rays(const render_scene *s); /* some medium of the scene does */
/* The same, of one medium of the scene. */
static inline bool medium_bends_rays(const scene_object *medium)
{
    return ((const medium_class *)(const void *)medium->cls)->index != NULL;
}
/* A warning where the shape's border refracts by another index than its medium, which bends rays, has there.
 */
void grin_warn_of_border(const render_scene *s, const render_shape *shape);
bool medium_absorbs(const class_node *n); /* it bends rays, and an absorption is given */
bool medium_glows(const class_node *n);   /* it bends rays, and an emission is given */
/* Per unit length, at a point of the world. They may run differentiated, also by p. */
color medium_absorption(tracer *t, const class_node *n, ir_ref record, vec3 p);
color medium_glow(tracer *t, const class_node *n, ir_ref record, vec3 p);

#endif
