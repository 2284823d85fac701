/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex without media and motion: what a ray meets, what the plan's classes say of it, and light
 * sampling. */
#ifndef BL_RENDER_VERTEX_H
#define BL_RENDER_VERTEX_H

#include "render/integrator/walk/kernel.h"

/* ---- intersection.c ---- */

/* The first surface that the ray from at.o along at.d meets, up to the distance at.tmax. hit: receives what
 * was hit; may be NULL. */
interaction walk_intersect(walk *w, walk_position at, walk_hit *hit);
/* The same for the path's own ray, of which an earlier walk may have noted what it meets. */
interaction walk_meet(walk *w, walk_position at, walk_hit *hit);
/* The hit alone. Its point is left out. */
walk_hit walk_closest(walk *w, vec3 o, vec3 d, ir_ref tmax);
/* bool: some requested parameter moves the surface. */
ir_ref walk_may_slide(walk *w, ir_ref valid, ir_ref entry, ir_ref level);
/* The surface at a hit, evaluated by one of the lists of interact functions (walk_functions). */
interaction walk_surface(walk *w, const walk_hit *hit, ir_func **interact);
/* The same at a hit whose ray may move. The hit's distance and coordinates are detached. Where the hit is not
 * valid, all numbers of the result are zero. */
interaction walk_surface_met(walk *w, walk_hit hit, ir_func **interact);

/* ---- remembered_hits.c: what the first walk of a sample stores for the second ----
 *
 * `recall` is called before a vertex with the copy of the walk for that vertex (again: bool, this is the
 * second walk), `remember` after. */

void hit_recall(walk *w, const lane *l, const walk_position *at, ir_ref again);
void hit_remember(walk *w, const lane *l, const walk_position *at, const walk_hit *hit);
/* Only where walk_known.recalls_hit: the hit that was recalled, or else the one that was traced. */
walk_hit hit_use(walk *w, const walk_hit *traced);

/* ---- baked_geometry.c: the two ray questions where the plan is baked ---- */

/* out: the results that ir_ray_closest has. tmin is 0. */
void baked_closest(walk *w, const ray *ray, ir_ref out[4]);
ir_ref baked_any(walk *w, const ray *ray);

/* ---- surface.c ---- */

/* Sets tangents that the kind of shape has not set, where some class needs them. */
void interaction_complete(tracer *t, interaction *si);
frame surface_frame(tracer *t, const interaction *si);
/* What materials may read of a surface, in the frame fr. Fields that no class of the plan needs are left
 * out. */
surface surface_seen(tracer *t, const interaction *si, frame fr);
/* What a light may read of the surface that carries it. is: bool, the surface carries a light. */
surface surface_of_light(tracer *t, const interaction *si, ir_ref is);
/* cos / r^2 for a point with normal n, seen from `from`: the solid angle of a piece of surface there, over
 * its area. Ratios of these go on smoothly beyond the horizon. */
ir_ref solid_angle_of_area(tracer *t, vec3 from, vec3 point, vec3 n);
/* Moves a point and its normal along with the shape on which they are. t: differentiated; shape: the shape's
 * record; level: the level in which the shape is, or none (to_world_motion_within). The normal's length
 * becomes the factor by which the surface's area grows. */
void carried_with_shape(tracer *t, ir_ref shape, ir_ref level, vec3 *point, vec3 *n);

/* ---- shape_functions.c, bsdf_functions.c, emitter_functions.c: fill in walk.fn ---- */

void vertex_shape_functions(walk *w);
void vertex_bsdf_functions(walk *w);
void vertex_phase_functions(walk *w); /* for volumetric walks, to be called after vertex_bsdf_functions */
void vertex_emitter_functions(walk *w);
bool vertex_some_mix(const plan *p);     /* some material mixes others (bsdf_mixes) */
uint32_t walk_scatterers(const walk *w); /* number of materials plus, in media, of phase functions */

/* ---- direction_guide.c ---- */

bool guide_any(const walk *w); /* the walk is guided */
typedef struct guide_cell {
    ir_ref at;    /* u32: its words in BUFFER_VALUES */
    ir_ref share; /* f32: of the samples in it that follow the guide; 0: nothing is known */
} guide_cell;
guide_cell guide_at(walk *w, vec3 p); /* the cell at a point of the world */
/* A unit direction of the world, of three random numbers in [0, 1), and the density in solid angle. Detached.
 * The cell's share must not be 0. */
vec3 guide_sample(walk *w, const guide_cell *c, ir_ref u, ir_ref u1, ir_ref u2);
ir_ref guide_density(walk *w, const guide_cell *c, vec3 d);
/* In RENDER_GUIDE_LEARN, whose BUFFER_GRADIENT has an element for each bin of each cell: */
typedef struct guide_lesson {
    vec3 p, d;           /* the direction d, unit, in the world, sampled at p */
    const ir_ref *shift; /* three random numbers that choose a cell near p */
    ir_ref when, value;  /* bool; what the sample brings over its density, f32 */
} guide_lesson;
void guide_teach(walk *w, const guide_lesson *l);

/* ---- emitter_sampling.c ---- */

void light_find_emission(walk *w, walk_vertex *v, walk_position at); /* sets v->hit and v->hit_mis */
/* The density with which light sampling, at the vertex before, would have found the light v->hit.
 * v->attached.hit_pdf gets it, too. */
ir_ref light_hit_pdf(walk *w, walk_vertex *v, walk_position at);
/* Chooses a light by the random number u, and returns the probability of the choice. from: the place that is
 * lit; NULL: there is none, where paths begin at lights. */
typedef struct picked_light {
    ir_ref index, cls, record;
} picked_light;
ir_ref light_pick(walk *w, const vec3 *from, ir_ref u, picked_light *picked);
ir_ref light_pick_probability(walk *w, ir_ref index); /* of light_pick without a place */
ir_ref light_is_environment(walk *w, ir_ref cls);     /* bool */
ir_ref light_is_delta(walk *w, ir_ref cls);           /* bool */
ir_ref light_is_on_shape(walk *w, ir_ref cls);        /* bool */
ir_ref light_occluded(walk *w, const ray *r); /* bool: the ray meets something; not if its tmax is negative */
/* Samples a light, wanted or not as walk_call has it, and sets v->light, except whether it is seen from the
 * vertex. *d: unit direction toward the light, in the world; *pdf: density of d. */
void light_choose(walk *w, walk_vertex *v, const random4 *r, ir_ref when, vec3 *d, ir_ref *pdf);
/* bool: nothing is between si and the point at that distance along d. A ray is traced only where `wanted`. */
ir_ref light_unoccluded(walk *w, const interaction *si, vec3 d, ir_ref distance, ir_ref wanted);
/* Weighs the sampled light, once: the MIS weight over the density of its choice and its direction. light_pdf:
 * of the direction, given the light; bsdf_pdf: with which the material would have sampled that direction.
 * Where walk.smooth, v->attached.light_pdf takes in the probability of the choice. */
ir_ref light_weight(walk *w, walk_vertex *v, ir_ref light_pdf, ir_ref bsdf_pdf);
/* Where walk.smooth: the density of light sampling at a point of the light, without the steps of its tables
 * and the probability of choosing the light. It does not depend on the entry that was hit. */
ir_ref light_smooth_density(walk *w, const walk_light *light, emitter_hit hit);
/* Where walk.smooth: the share of light sampling in what a path finds if it goes from `ref` to a point of the
 * light, whose normal is n; the rest is found by the path's ray. probability: of choosing the light. */
ir_ref light_share(walk *w, const walk_light *light, vec3 n, ir_ref probability, ir_ref bsdf_pdf);
/* The distance at which a shadow ray of this length ends, so that it does not meet the light itself. */
ir_ref walk_far(walk *w, ir_ref length);
/* The uv at which a light is hit. Where the ray meets a surface (there: bool), it is the surface's uv.
 * Elsewhere it is the uv of the ray's direction d, if the environment has one for each direction
 * (walk_locates). */
vec2 light_emission_uv(walk *w, ir_ref there, vec2 uv, vec3 d);
bool walk_locates(const plan *p); /* the environment has a uv of its own for each direction */
/* Differentiates the uv of a light that is an environment which turns with parameters. */
void light_locate(walk *w, const walk_light *light, vec2 *uv);

#endif
