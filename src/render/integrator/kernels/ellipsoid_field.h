/* SPDX-License-Identifier: BSD-3-Clause
 * A walk along the kernels of ellipsoids that a camera ray enters, in the order of entry
 * (docs/theory/ellipsoids.md): what image, replay, forward mode and checks have in common. */
#ifndef BL_RENDER_ELLIPSOID_FIELD_H
#define BL_RENDER_ELLIPSOID_FIELD_H

#include "render/integrator/kernels/kernels.h"
#include "render/integrator/walk/radiance_sums.h"
#include "render/shape/ellipsoids.h"

/* Where a ray stands. at.depth counts the kernels that it has visited. */
typedef struct field_ray {
    walk_position at;
    ir_ref t, entry;      /* of the last kernel; 0 before the first */
    ir_ref transmittance; /* of all kernels so far; detached */
} field_ray;

/* A visited kernel. alpha and c: detached; both 0 where the ray has met none. */
typedef struct field_visit {
    ir_ref there; /* bool */
    ellipsoid_hit hit;
    ir_ref t, entry, alpha;
    color c;
} field_visit;

field_ray field_before(walk *w, ir_ref sample);
void state_field(walk *w, loop_state *s, field_ray *r);
/* Where the ray has ended, puts the camera's ray of its sample in its place. */
void field_start(walk *w, field_ray *r);
/* The next kernel along the ray. */
field_visit field_next(walk *w, const field_ray *r);
/* alpha and colour with derivatives, or of the other set of values in a frozen pass. They must be used where
 * v->there alone. */
typedef struct field_values {
    ir_ref alpha;
    color c;
} field_values;
field_values field_differentiated(walk *w, const field_visit *v);
/* Moves the ray behind the kernel. Returns whether it goes on. */
ir_ref field_pass(walk *w, const field_visit *v, field_ray *r);
/* Where not alive, the ray is ready for field_start. */
void field_restart(walk *w, ir_ref alive, field_ray *r);
/* The image's value of what the kernels have added up to: linear, if the scene's colours are sRGB. May run
 * differentiated. */
color field_image(walk *w, color sum);
/* Its derivative, channel by channel. sum: values that are known here, such as states of a loop. */
color field_image_slope(walk *w, color sum);

/* ---- the kernels ---- */

bl_result kernel_field_image(walk *w, ir_module *m);    /* the image, its variance, or the frozen check */
bl_result kernel_field_gradient(walk *w, ir_module *m); /* fused, replay or adjoint, by w->pass */
bl_result kernel_field_forward(walk *w, ir_module *m);
bl_result kernel_field_unrolled(walk *w, ir_module *m, uint32_t depth);

#endif
