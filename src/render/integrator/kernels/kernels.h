/* SPDX-License-Identifier: BSD-3-Clause
 * The kernels of passes that walk paths, and how a walk begins. Those of the other passes are in derived.h.
 */
#ifndef BL_RENDER_KERNELS_H
#define BL_RENDER_KERNELS_H

#include "render/integrator/motion/motion.h"
#include "render/integrator/path/light_path.h"

/* ---- passes.c ---- */

ir_module *kernel_module(const plan *p); /* buffers in the order of enum render_buffer */

/* ---- begin.c ---- */

/* Sets the walk's mode, from plan, pass, next_event and bsdf_emission, and its functions. f: the entry. */
void walk_begin(walk *w, ir_func *f);

/* ---- the kernels, a file each ---- */

bl_result kernel_primal(walk *w, ir_module *m);
/* Sums `count` channels in the film, from word lane * count of BUFFER_FILM on; squares: also their squares,
 * behind the sums of all lanes. */
bl_result kernel_channels(walk *w, ir_module *m, const render_channel *channels, uint32_t count,
                          bool squares);
bl_result kernel_gradient(walk *w, ir_module *m);     /* fused, replay or adjoint, by w->pass */
bl_result kernel_tape(walk *w, ir_module *m);         /* METHOD_TAPE: stores the vertices, */
bl_result kernel_tape_adjoint(walk *w, ir_module *m); /* and backpropagates through them */
bl_result kernel_forward(walk *w, ir_module *m);
bl_result kernel_frozen(walk *w, ir_module *m);
bl_result kernel_unrolled(walk *w, ir_module *m, uint32_t depth); /* depth: vertices of the path */
bl_result kernel_camera_rays(walk *w, ir_module *m);
bl_result kernel_rays(walk *w, ir_module *m); /* closest or any hits of rays that are given, by w->pass */
bl_result kernel_edges_seen(walk *w, ir_module *m); /* moving edges: what sees them; gradients or the */
bl_result kernel_edges_path(walk *w, ir_module *m); /* image's derivative, by w->pass */
bl_result kernel_edges_lit(walk *w, ir_module *m);
bl_result kernel_edges_learn(const plan *p, ir_module *m);  /* between two runs of these */
bl_result kernel_chain_step(walk *w, ir_module *m);         /* Metropolis: a step of each chain; */
bl_result kernel_chain_accept(const plan *p, ir_module *m); /* and whether the chain takes it */
bl_result kernel_own(walk *w, ir_module *m);   /* an application's integrator: by w->pass, its image,
                                                  gradient or derivative of the image */
bl_result kernel_light(walk *w, ir_module *m); /* light tracing: the image or its gradient, by w->pass; */
bl_result kernel_light_replay(walk *w, ir_module *m);  /* its gradient where paths move, */
bl_result kernel_light_forward(walk *w, ir_module *m); /* its derivative, or the image along frozen paths */

/* sensor_paths.c: as many paths from the sensor as the lane has from lights, with their share of both. */
void sensor_paths_add(walk *w, const lane *l);

/* ---- splatting.c ---- */

/* How a splat moves: the tangents of its contribution and of its place, in pixels. */
typedef struct splat_tangent {
    color contribution;
    vec2 place;
} splat_tangent;
/* Adds a contribution to the image, which is summed in BUFFER_GRADIENT. The filter's weights over the pixels
 * sum to 1, as in Mitsuba. moved: adds the tangent of the splat instead; or NULL. */
void splat_add(walk *w, const light_splat *s, color contribution, const splat_tangent *moved);
/* Adds what a path through the lane's own pixel has found to the same sum, where `there` (bool). */
void splat_add_to_pixel(walk *w, ir_ref there, const film_value *found);
/* In place of splat_add: one pixel (u32) of those that share a splat, chosen by two random numbers in
 * proportion to its share. *weight (f32): what the contribution to it is multiplied by, for the expectation
 * of film samples (docs/theory/film.md); 0 where the pixel is not in the window, and where there is no splat.
 */
ir_ref splat_choose(walk *w, const light_splat *s, vec2 u, ir_ref *weight);
/* The adjoint: the derivative of the loss with respect to the contribution. moving: also the derivatives, by
 * the splat's coordinates in pixels, of the loss over the contribution. */
typedef struct splat_adjoint {
    color contribution, x, y; /* x and y where moving */
} splat_adjoint;
splat_adjoint splat_read(walk *w, const light_splat *s, bool moving);

#endif
