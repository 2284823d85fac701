/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex without media and motion: what a ray meets, what the plan's classes say of it, and light
 * sampling. */
#ifndef BL_RENDER_VERTEX_H
#define BL_RENDER_VERTEX_H

#include "render/integrator/walk/walk.h"

/* ---- intersection.c ---- */

/* From at.o along at.d, up to at.tmax. hit: NULL */
interaction walk_intersect(walk *w, walk_position at, walk_hit *hit);
ir_ref walk_may_slide(walk *w, ir_ref valid, ir_ref entry,
                      ir_ref level); /* bool: some requested parameter moves the surface */
/* The surface there, by one of the lists of interact functions. */
interaction walk_surface(walk *w, const walk_hit *hit, ir_func **interact);
/* The same at a hit whose ray may move. Its distance and coordinates are detached. Where it is not valid all
 * is zero. */
interaction walk_surface_met(walk *w, walk_hit hit, ir_func **interact);

/* ---- baked_geometry.c: the two ray questions where the plan is baked ---- */

/* Results as ir_ray_closest's. tmin is 0. */
void baked_closest(walk *w, const ray *ray, ir_ref out[4]);
ir_ref baked_any(walk *w, const ray *ray);

/* ---- surface.c ---- */

/* Sets tangents that the kind of shape has not set, where some class needs them. */
void interaction_complete(tracer *t, interaction *si);
frame surface_frame(tracer *t, const interaction *si);
/* What materials may read of a surface, in its frame. What no class of the plan needs is left out. */
surface surface_seen(tracer *t, const interaction *si, frame fr);
/* What a surface that a ray has met is to a light that it carries. is: bool, it does. */
surface surface_of_light(tracer *t, const interaction *si, ir_ref is);
/* cos / r^2 toward a point with normal n, seen from `from`; ratios of these go on smoothly beyond the
 * horizon. */
ir_ref solid_angle_of_area(tracer *t, vec3 from, vec3 point, vec3 n);
/* t: differentiated. A point and its normal go along with the shape (its record) that they are on, in a level
 * or none (to_world_motion_within); the normal's length, by how much the surface's area grows. */
void carried_with_shape(tracer *t, ir_ref shape, ir_ref level, vec3 *point, vec3 *n);

/* ---- plugin_functions.c: fills in walk.fn ---- */

void vertex_shape_functions(walk *w);
void vertex_bsdf_functions(walk *w);
void vertex_phase_functions(walk *w); /* of volumetric walks; after those of materials */
void vertex_emitter_functions(walk *w);
bool vertex_some_mix(const plan *p);     /* some material mixes others (bsdf_mixes) */
uint32_t walk_scatterers(const walk *w); /* materials, and phase functions where there are media */

/* ---- emitter_sampling.c ---- */

void light_find_emission(walk *w, walk_vertex *v, walk_position at); /* v->hit, hit_mis */
/* The light that u chooses, its class and record, and with which probability. */
ir_ref light_pick(walk *w, ir_ref u, ir_ref *cls, ir_ref *record);
ir_ref light_is_environment(walk *w, ir_ref cls); /* bool */
ir_ref light_is_delta(walk *w, ir_ref cls);       /* bool */
ir_ref light_is_on_shape(walk *w, ir_ref cls);    /* bool */
ir_ref light_occluded(walk *w, const ray *r);     /* bool: something is met; tmax < 0: nothing is asked */
/* Sets v->light, all but whether it is seen from there. d: toward it; pdf: of d */
void light_choose(walk *w, walk_vertex *v, const random4 *r, vec3 *d, ir_ref *pdf);
/* bool: nothing is between si and the point at that distance along d; asked only where wanted */
ir_ref light_unoccluded(walk *w, const interaction *si, vec3 d, ir_ref distance, ir_ref wanted);
/* The MIS weight of the sampled light, over the density of its choice and its direction. light_pdf: of the
 * direction, given the light; bsdf_pdf: with which the material would have sampled that direction. */
ir_ref light_weight(walk *w, walk_vertex *v, ir_ref light_pdf, ir_ref bsdf_pdf);
/* Of a shadow ray: where it ends, so that it does not meet the light itself. */
ir_ref walk_far(walk *w, ir_ref length);
/* uv of the surface that a ray meets, or, where there is none, of its direction d on an environment that has
 * such. there: bool, the ray meets a surface. */
vec2 light_emission_uv(walk *w, ir_ref there, vec2 uv, vec3 d);
bool walk_locates(const plan *p); /* the environment has a uv of its own for each direction */
/* Differentiated: uv of a light that is an environment which turns with parameters. */
void light_locate(walk *w, const walk_light *light, vec2 *uv);

#endif
