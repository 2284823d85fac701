/* SPDX-License-Identifier: BSD-3-Clause
 * What moves with parameters: attached paths and lobes, the local convention on surfaces and in volumes.
 * Each is one kind of motion: a walk_motion_class (walk/motion.h), through which the rooms below call it. */
#ifndef BL_RENDER_MOTION_H
#define BL_RENDER_MOTION_H

#include "render/integrator/eikonal/curve.h"
#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

extern const walk_motion_class motion_none, motion_attached, motion_attached_through, motion_local_surface,
    motion_local_volume, motion_light;

/* ---- choose.c ---- */

/* Sets walk.motion and the fields that depend on it: moves, wants, smooth, attaches. */
void motion_choose(walk *w);

/* ---- local_volume.c ---- */

/* True if parameters move the vertices of a volumetric walk (plan_moves_segments) and the pass
 * differentiates. */
bool local_volume_wanted(const walk *w);

/* ---- attached_path.c ---- */

/* bool: the segment between two vertices holds its end and swings about it (motion/local_volume.c); else it
 * keeps its direction. on_surfaces: bool, both are on surfaces; from, to: the records of their shapes;
 * shines: bool, the end does. */
ir_ref local_volume_swings(walk *w, ir_ref on_surfaces, ir_ref from, ir_ref to, ir_ref shines);
/* True if the plan attaches paths: attached_path_planned says so for all passes, attached_path_wanted only
 * for passes that differentiate. */
bool attached_path_wanted(const walk *w);
bool attached_path_planned(const walk *w);
/* A walk_ray as ray_width numbers: o, d and, where walk.attaches, pdf. ray_pack returns ray_width. */
uint32_t ray_width(const walk *w);
uint32_t ray_pack(const walk *w, walk_ray r, ir_ref out[RAY_MOST]);
walk_ray ray_unpack(const walk *w, const ir_ref *in);
/* True if the kernel's state has attached_position.now. Else that is the ray o, d, pdf of the position. */
bool attached_keeps_ray(const walk *w);
walk_ray attached_camera_ray(walk *w, ir_ref sample);      /* the camera's ray, differentiated */
walk_ray attached_next_ray(walk *w, const walk_vertex *v); /* the ray that goes on, differentiated */
/* Where walk.bends_lit: v->curve, whose thickness and emitted are differentiated where the motion chains. */
walk_curve curve_moved(walk *w, const walk_vertex *v);
/* derivatives: ray_width numbers, by a ray that leads to, or from, a vertex at `depth` (u32). If one of them
 * is not finite, all become 0, and the drop is counted by depth where `when` (bool). */
void drop_singular(walk *w, ir_ref when, ir_ref depth, ir_ref *derivatives);

/* ---- attached_lobe.c ---- */

/* True if rough lobes are attached, provided that paths are. The other functions below are for walks with
 * walk.attaches. */
bool attached_wanted(const walk *w);
/* Sets the fields of v->attached that describe a sample: its lobe has this roughness, and it was made with
 * the random numbers u1 and u2. */
void attached_sampled(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
ir_ref attached_next_count(walk *w, const walk_vertex *v); /* attached_position.count of the next vertex */
/* *mis: v->hit_mis, differentiated. Returns whether it moves. */
bool attached_hit_mis(walk *w, const walk_vertex *v, ir_ref *mis);
/* The factor by which the MIS weight of the sampled light changes. light: as seen from where the vertex moves
 * to. pdf_now, pdf_before: densities of the material's sampling for the direction to the light;
 * differentiated, and as the path was sampled. */
ir_ref attached_light_factor(walk *w, const walk_vertex *v, const walk_light *light, ir_ref pdf_now,
                             ir_ref pdf_before);

#endif
