/* SPDX-License-Identifier: BSD-3-Clause
 * A walk along the kernels of ellipsoids that a camera ray enters, in the order of entry
 * (docs/theory/ellipsoids.md): what image, replay, forward mode and checks have in common. */
#ifndef BL_RENDER_ELLIPSOID_FIELD_H
#define BL_RENDER_ELLIPSOID_FIELD_H

#include "render/integrator/kernels/kernels.h"
#include "render/integrator/walk/radiance_sums.h"
#include "render/shape/ellipsoids.h"

/* Where a ray stands. at.depth counts the kernels that it has visited. */
typedef struct ellipsoid_ray {
    walk_position at;
    ir_ref t, entry;      /* of the last kernel; 0 before the first */
    ir_ref transmittance; /* of all kernels so far; detached */
} ellipsoid_ray;

/* A visited kernel. alpha and c: detached; both 0 where the ray has met none. */
typedef struct ellipsoid_visit {
    ir_ref there; /* bool */
    ellipsoid_hit hit;
    ir_ref t, entry, alpha;
    color c;
} ellipsoid_visit;

ellipsoid_ray ellipsoids_before(walk *w, ir_ref sample);
void state_ellipsoids(walk *w, loop_state *s, ellipsoid_ray *r);
/* Where the ray has ended, puts the camera's ray of its sample in its place. */
void ellipsoids_start(walk *w, ellipsoid_ray *r);
/* The next kernel along the ray. */
ellipsoid_visit ellipsoids_next(walk *w, const ellipsoid_ray *r);
/* alpha and colour with derivatives, or of the other set of values in a frozen pass. They must be used where
 * v->there alone. */
typedef struct ellipsoid_values {
    ir_ref alpha;
    color c;
} ellipsoid_values;
ellipsoid_values ellipsoids_differentiated(walk *w, const ellipsoid_visit *v);
/* Moves the ray behind the kernel. Returns whether it goes on. */
ir_ref ellipsoids_pass(walk *w, const ellipsoid_visit *v, ellipsoid_ray *r);
/* Where not alive, the ray is ready for ellipsoids_start. */
void ellipsoids_restart(walk *w, ir_ref alive, ellipsoid_ray *r);
/* The image's value of what the kernels have added up to: linear, if the scene's colours are sRGB. May run
 * differentiated. */
color ellipsoids_image(walk *w, color sum);
/* Its derivative, channel by channel. sum: values that are known here, such as states of a loop. */
color ellipsoids_image_slope(walk *w, color sum);

/* ---- the kernels ---- */

bl_result kernel_ellipsoids_image(walk *w, ir_module *m); /* the image, its variance, or the frozen check */
bl_result kernel_ellipsoids_gradient(walk *w, ir_module *m); /* fused, replay or adjoint, by w->pass */
bl_result kernel_ellipsoids_forward(walk *w, ir_module *m);
bl_result kernel_ellipsoids_unrolled(walk *w, ir_module *m, uint32_t depth);

#endif
