/* SPDX-License-Identifier: BSD-3-Clause
 * The kernels of passes that walk paths, and how a walk begins. Those that walk none are in derived.h. */
#ifndef BL_RENDER_KERNELS_H
#define BL_RENDER_KERNELS_H

#include "render/integrator/motion/motion.h"
#include "render/integrator/path/light_path.h"

/* ---- passes.c ---- */

ir_module *kernel_module(const plan *p); /* buffers in the order of enum render_buffer */

/* ---- begin.c ---- */

/* Sets what kind of walk it is, from plan, pass, next_event and bsdf_emission, and its functions. f: the
 * entry. */
void walk_begin(walk *w, ir_func *f);

/* ---- a file each ---- */

bl_result kernel_primal(walk *w, ir_module *m);
/* count channels in the film, from BUFFER_FILM word lane * count on; squares: and their squares behind
 * them. */
bl_result kernel_channels(walk *w, ir_module *m, const render_channel *channels, uint32_t count,
                          bool squares);
bl_result kernel_gradient(walk *w, ir_module *m); /* fused, replay or adjoint, by w->pass */
bl_result kernel_tape(walk *w, ir_module *m);     /* both halves of METHOD_TAPE */
bl_result kernel_tape_adjoint(walk *w, ir_module *m);
bl_result kernel_forward(walk *w, ir_module *m);
bl_result kernel_frozen(walk *w, ir_module *m);
bl_result kernel_unrolled(walk *w, ir_module *m, uint32_t depth); /* depth: vertices of the path */
bl_result kernel_light(walk *w, ir_module *m); /* of light tracing: the image, or its gradient, by w->pass */

/* ---- splatting.c ---- */

/* Adds a contribution to the image, in BUFFER_GRADIENT; its filter's weights over the pixels have the sum
 * 1 (Mitsuba). */
void splat_add(walk *w, const light_splat *s, color contribution);
/* Its adjoint: the derivative of the loss by the contribution. */
color splat_read(walk *w, const light_splat *s);

#endif
