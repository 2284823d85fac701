/* SPDX-License-Identifier: BSD-3-Clause
 * What moves with parameters: attached paths and lobes, the local convention on surfaces and in volumes.
 * Each is one of the ways of walk/motion.h, by which the rooms below call it. */
#ifndef BL_RENDER_MOTION_H
#define BL_RENDER_MOTION_H

#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

extern const walk_motion_class motion_none, motion_attached, motion_local_surface, motion_local_volume;

/* ---- choose.c ---- */

/* Sets walk.motion, and what goes with it: moves, wants, smooth, attaches. */
void motion_choose(walk *w);

/* ---- local_volume.c ---- */

/* Parameters of the walk move vertices (plan_moves_segments), and the pass differentiates. */
bool local_volume_wanted(const walk *w);

/* ---- attached_path.c ---- */

bool attached_path_wanted(const walk *w);
bool attached_path_planned(const walk *w);                          /* by the plan, whatever the pass */
uint32_t ray_width(const walk *w);                                  /* numbers of a walk_ray */
uint32_t ray_pack(const walk *w, walk_ray r, ir_ref out[RAY_MOST]); /* how many; and back */
walk_ray ray_unpack(const walk *w, const ir_ref *in);
bool attached_keeps_ray(const walk *w); /* the kernel's state has walk_position.now; else it is o and d */
walk_ray attached_camera_ray(walk *w, ir_ref sample);      /* the camera's ray, differentiated */
walk_ray attached_next_ray(walk *w, const walk_vertex *v); /* the ray that goes on, differentiated */
/* The derivatives of a ray that leads to, or from, a vertex at `depth` (u32), ray_width of them: 0 where
 * they are not finite, which is counted where `when`. */
void drop_singular(walk *w, ir_ref when, ir_ref depth, ir_ref *derivatives);
/* ---- attached_lobe.c ---- */

/* Rough lobes are attached where paths are. The other functions are for walks with walk.attaches. */
bool attached_wanted(const walk *w);
/* v->attached, of a sample of that roughness and made by these numbers. */
void attached_sampled(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
ir_ref attached_next_count(walk *w, const walk_vertex *v); /* walk_position.attached of the next vertex */
/* v->hit_mis, differentiated. Returns whether it moves. */
bool attached_hit_mis(walk *w, const walk_vertex *v, ir_ref *mis);
/* The factor by which the light's weight changes. pdf_now, pdf_before: densities of the material's sampling
 * for the direction to the light, differentiated and as the path was sampled. light: as seen from where the
 * vertex moves to. */
ir_ref attached_light_factor(walk *w, const walk_vertex *v, const walk_light *light, ir_ref pdf_now,
                             ir_ref pdf_before);

#endif
