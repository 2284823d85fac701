/* SPDX-License-Identifier: BSD-3-Clause
 * Media: extinction, albedo, majorants. */
#ifndef BL_RENDER_MEDIA_H
#define BL_RENDER_MEDIA_H

#include "render/plugin_kinds.h"

/* Words of a medium, in the list at HEADER_MEDIA: class, record, those of its phase function, and whether
 * lights are sampled in it. Shapes and the sensor refer to it by the place of these words in the scene
 * buffer; 0 is vacuum. */
enum medium_word {
    MEDIUM_CLASS,
    MEDIUM_RECORD,
    MEDIUM_PHASE_CLASS,
    MEDIUM_PHASE_RECORD,
    MEDIUM_SAMPLES_LIGHTS,
    MEDIUM_WORDS
};

/* What gradient passes of the extinction ask of tracking (docs/theory/support.md). */
#define MAJORANT_MARGIN 1.25f /* of the majorant over the largest extinction */
#define MAJORANT_LEAST_OPTICAL                                                                               \
    0.25f /* the majorant's optical thickness along the box's diagonal, at least                             \
           */
#define LEAST_REAL_CHANCE                                                                                    \
    0.05f /* of a tentative collision to be real, but where DRT paths find what is 0                         \
           */

/* Both media, at a point p of the world. May run differentiated. */
color medium_extinction(tracer *t, const class_node *n, ir_ref record, vec3 p);
bool medium_emits(const class_node *n); /* it has an emission */
color medium_emission(tracer *t, const class_node *n, ir_ref record, vec3 p);
color medium_albedo(tracer *t, const class_node *n, ir_ref record, vec3 p);
bool medium_grey(const class_node *n); /* extinction is the same in all channels, as one reference */
bool medium_wants_extinction(const class_node *n); /* its gradient is wanted */
/* Heterogeneous ones: the bound of the extinction, and the box outside of which there is none. */
ir_ref medium_majorant(tracer *t, const class_node *n, ir_ref record);
/* How many cells with bounds of their own the volume has along each side; 0: none. */
uint32_t medium_cells(const tracer *t, const class_node *n);
volume_ray medium_into(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d);
/* What bounds the extinction in one cell, from above and from below, and the distance at which a ray leaves
 * the cell (1e30: never). */
typedef struct cell_bounds {
    ir_ref majorant, minorant, leaves;
} cell_bounds;
/* Of the cell that the ray is in at `distance`. */
cell_bounds medium_cell(tracer *t, const class_node *n, ir_ref record, const volume_ray *ray,
                        ir_ref distance);
vec3 medium_low(tracer *t, const class_node *n, ir_ref record);
vec3 medium_high(tracer *t, const class_node *n, ir_ref record);
double medium_diagonal(const scene_object *medium); /* length of the box's */

/* ---- estimator.c: how the gradient of a grid of extinctions is found ---- */

typedef struct extinction_grid {
    const float *values; /* [z, y, x, channel] */
    uint32_t size[3], channels,
        cells;        /* x, y, z; cells with bounds of their own along each side, 1: a bound for all */
    double thickness; /* optical, of density 1 along the box's diagonal */
} extinction_grid;

/* How many tentative collisions a real one takes in gradient passes, mean over the voxels: 1.25 to 20. */
double extinction_tries(const extinction_grid *g);

#endif
