/* SPDX-License-Identifier: BSD-3-Clause
 * See displacement.h. */
#include "render/integrator/motion/displacement.h"
#include "spirv_gen/ad/ad.h"

ir_ref displacement(walk *w, ir_ref now, ir_ref was)
{
    ir_func *f = w->t.f;
    return w->pass == RENDER_FROZEN ? ir_sub(f, now, ir_detach(f, was))
                                    : ir_replace_grad(f, t_f32(&w->t, 0), now);
}

vec3 displacement3(walk *w, vec3 now, vec3 was)
{
    return v3(displacement(w, now.x, was.x), displacement(w, now.y, was.y), displacement(w, now.z, was.z));
}

vec3 target_displacement(walk *w, ir_ref target, vec3 point, vec3 *n)
{
    tracer *t = &w->t, reads = walk_differentiated(w);
    ir_func *f = t->f;
    ir_ref there = ir_ne(f, target, t_u32(t, 0));
    vec3 now = point, normal = n ? *n : point;
    carried_with_shape(&reads, ir_select(f, there, target, t_word(t, t_u32(t, 0), HEADER_SHAPES)),
                       (ir_ref){0}, &now, &normal);
    if (n)
        *n = v3_select(t, there, v3_add(t, *n, displacement3(w, normal, *n)), *n);
    return v3_select(t, there, displacement3(w, now, point), v3_zero(t));
}
