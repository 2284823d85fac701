/* SPDX-License-Identifier: BSD-3-Clause
 * What moves with parameters: attached paths and lobes, the local convention on surfaces and in volumes. */
#ifndef BL_RENDER_MOTION_H
#define BL_RENDER_MOTION_H

#include "render/integrator/path/path.h"

/* ---- local_surface.c: where parameters of the plan move surfaces, in passes that carry derivatives, and
 * paths do not follow ---- */

/* The point of a hit as a function of what moves it, and its value without. */
vec3 moved_point(walk *w, const walk_hit *hit);
/* Where on a light a ray has found it, as it slides: uv and `on`. */
void moved_emission(walk *w, walk_light *light);
/* Arguments of a material's value, tracked, in place of the detached ones (in the order of bsdf_value's), and
 * by what its two results are to be multiplied. d: to the light, tracked. */
void moved_arguments(walk *w, const walk_vertex *v, vec3 to_light, ir_ref *in, uint32_t count,
                     ir_ref *sample_factor);
/* ---- local_volume.c ---- */

bool sway_wanted(const walk *w); /* the walk's parameters move vertices (plan_sways), and the pass looks */

/* attached_path.c */
typedef struct follow_factors {
    ir_ref light,
        sample; /* geometry terms relative to the path's: of the light's value and of the sample's */
} follow_factors;
bool follow_wanted(const walk *w);
bool follow_planned(const walk *w);                                    /* by the plan, whatever the pass */
uint32_t follow_width(const walk *w);                                  /* numbers of a walk_ray */
uint32_t follow_pack(const walk *w, walk_ray r, ir_ref out[RAY_MOST]); /* how many; and back */
walk_ray follow_unpack(const walk *w, const ir_ref *in);
bool follow_keeps_now(const walk *w); /* the kernel's state has walk_position.now; else it is o and d */
ir_ref follow_link(walk *w, ir_ref link, enum walk_link is); /* bool: it is */
void follow_start(walk *w, walk_position *at);               /* link and ray of a path that begins */
walk_ray follow_camera(walk *w, ir_ref sample);              /* the camera's ray, tracked */
void follow_onward(walk *w, walk_vertex *v);                 /* v->onward, from what else there is in v */
walk_ray follow_next(walk *w, const walk_vertex *v);         /* the ray that goes on, tracked */
/* The derivatives of a ray that leads to, or from, a vertex at `depth` (u32), follow_width of them: 0 where
 * they are not finite, which is counted where `when`. */
void follow_drop_singular(walk *w, ir_ref when, ir_ref depth, ir_ref *derivatives);
/* Tracked: the reference point and, of a light on a shape, direction and distance; uv and `on` of what a ray
 * has met; the arguments of walk_values, in place. to_light: of the world, tracked. */
void follow_place_light(walk *w, walk_light *light);
void follow_emission(walk *w, walk_light *light);
follow_factors follow_values(walk *w, const walk_vertex *v, const walk_light *light, ir_ref *in,
                             uint32_t count);

/* attached_lobe.c: whether rough lobes are to be attached where rays are followed; the others where
 * walk.attaches. */
bool attached_wanted(const walk *w);
/* v->attached, of a sample of that roughness and made by these numbers. */
void attached_choose(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
ir_ref attached_next(walk *w, const walk_vertex *v); /* walk_position.attached of the next vertex */
/* v->hit_mis, tracked. */
ir_ref attached_hit_mis(walk *w, const walk_vertex *v);
/* By what the light's weight changes; pdfs of the direction to it by the material, `before` being what the
 * path was decided by; light: as seen from where the vertex moves to. */
ir_ref attached_light_factor(walk *w, const walk_vertex *v, const walk_light *light, ir_ref pdf_now,
                             ir_ref pdf_before);

#endif
