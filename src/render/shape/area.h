/* SPDX-License-Identifier: BSD-3-Clause
 * What shapes have in common that can be area lights: the density of points that are uniform in area, and
 * such a point seen from a place. The file also has the angle that shapes round an axis use in their uv. */
#ifndef BL_RENDER_SHAPE_AREA_H
#define BL_RENDER_SHAPE_AREA_H

#include "render/classes.h"

/* A shape kind's `pdf` for points that are uniform in area. The density is with respect to solid angle:
 * distance^2 / (|cos| area). */
static inline ir_ref area_density(tracer *t, ir_ref data, ir_ref inverse_area, const emitter_hit *hit)
{
    (void)data;
    return t_ratio(t, ir_mul(t->f, t_sqr(t, hit->distance), inverse_area),
                   ir_abs(t->f, v3_dot(t, hit->d, hit->normal)));
}

/* Makes an emitter sample of a point of a light's surface that was chosen uniformly in area, as seen from
 * ref. The light shines on the side of its shading normal, as the surfaces do that rays meet. */
static inline emitter_sample area_toward(tracer *t, ir_ref inverse_area, vec3 ref, const interaction *at)
{
    ir_func *f = t->f;
    vec3 to = v3_sub(t, at->p, ref);
    ir_ref distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    emitter_sample s = {
        .d = v3_scale(t, to, ir_div(f, t_f32(t, 1), distance)),
        .distance = distance,
        .uv = at->uv,
        .n = at->ng,
        .face = at->face,
        .b = at->b,
    };
    s.facing = ir_lt(f, v3_dot(t, s.d, at->ns), t_f32(t, 0));
    emitter_hit hit = {.ref = ref, .d = s.d, .distance = distance, .normal = at->ng};
    s.pdf = area_density(t, at->entry, inverse_area, &hit);
    return s;
}

/* The angle of (x, y) as a share of a turn, in [0, 1). */
static inline ir_ref t_turn(tracer *t, ir_ref y, ir_ref x)
{
    ir_func *f = t->f;
    ir_ref turn = ir_mul(f, ir_atan2(f, y, x), t_f32(t, 0.5f / 3.14159265358979323846f));
    return ir_select(f, ir_lt(f, turn, t_f32(t, 0)), ir_add(f, turn, t_f32(t, 1)), turn);
}

#endif
