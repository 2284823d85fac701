/* SPDX-License-Identifier: BSD-3-Clause
 * The diffuse reflectance of a material, as Mitsuba's aov integrator shows it. Where the material has a
 * texture for it, the albedo is that texture. It does not depend on the side from which it is seen, or on
 * what lies over it (coats, masks, turned normals). */
#include "render/classes.h"

static const float pi = 3.14159265358979323846f;

color bsdf_albedo(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    const bsdf_class *cls = bsdf_of(ctx->n);
    if (cls->albedo_param)
        return bsdf_texture(ctx, cls->albedo_param);
    if (cls->albedo)
        return cls->albedo(ctx);
    const vec3 normal = {t_f32(t, 0), t_f32(t, 0), t_f32(t, 1)};
    return color_scale(t, cls->value(ctx, normal, ir_bool(t->f, false), t_u32(t, 0)), t_f32(t, pi));
}

color bsdf_nested_albedo(const bsdf_context *ctx)
{
    bsdf_context nested = bsdf_nested(ctx, 0);
    return bsdf_albedo(&nested);
}
