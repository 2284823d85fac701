/* SPDX-License-Identifier: BSD-3-Clause
 * What plates that polarise share (polarizing.h). */
#include "render/bsdf/polarizing.h"

color polarizing_value(const bsdf_context *ctx, ir_ref delta, float share)
{
    tracer *t = ctx->t;
    color passes = color_scale(t, bsdf_texture(ctx, "transmittance"), t_f32(t, share));
    return color_select(t, delta, passes, color_all(t_f32(t, 0)));
}

/* Seen at an angle, the axis is the vector across the ray in the plane of that axis and the normal. */
bsdf_polarized polarizing_element(const bsdf_context *ctx, const mueller *element, ir_ref degrees,
                                  ir_ref delta)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    vec3 wi = ctx->wi;
    ir_ref angle = ir_mul(f, degrees, t_f32(t, 0.01745329252f)), zero = t_f32(t, 0);
    ir_ref x = ir_cos(f, angle), y = ir_neg(f, ir_sin(f, angle)),
           along = t_mad(t, x, wi.x, ir_mul(f, y, wi.y)), level = ir_eq(f, wi.z, zero);
    ir_ref z = ir_neg(f, ir_div(f, along, ir_select(f, level, t_f32(t, 1), wi.z)));
    bsdf_polarized r = {.axis = v3_normalize(t, v3(x, y, z))};
    color factor = color_select(t, delta, bsdf_texture(ctx, "transmittance"), color_all(zero));
    for (uint32_t c = 0; c < t->channels; c++)
        r.m[c] = mueller_scale(t, element, factor.c[c]);
    return r;
}

static const char no_effect[] = "light is not polarised, so nothing depends on it";

bl_result polarizing_check(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)err;
    if (s->mode->polarized)
        return BL_OK;
    text *warnings = &s->description->warnings;
    static const char notice[] = "light is not polarised, so what polarises it only takes a share of it, and "
                                 "angles have no effect";
    if (!warnings->data || !strstr(warnings->data, notice))
        text_add(warnings, "%s:%u: %s: %s\n", o->where.file, o->where.line, o->cls->name, notice);
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->values[k].object && strcmp(o->cls->params[k].name, "transmittance") != 0)
            render_reason_all(s, o->values[k].object, no_effect);
    return BL_OK;
}
