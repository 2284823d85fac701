/* SPDX-License-Identifier: BSD-3-Clause
 * The terms of principled_lobes.h, which also says where they come from. */
#include "render/bsdf/principled_lobes.h"

static const float pi = 3.14159265358979323846f, inverse_pi = 0.31830988618379067154f;

/* a + (b - a) s */
static ir_ref mix(tracer *t, ir_ref a, ir_ref b, ir_ref s) { return t_mad(t, ir_sub(t->f, b, a), s, a); }

uint32_t principled_needs(const class_node *n) { return plan_has(n, "anisotropic") ? NEED_TANGENTS : 0; }

double principled_constant_or(const scene_object *o, const char *param, double else_one)
{
    const scene_object *texture = scene_get(o, param)->object;
    BL_ASSERT(texture, "%s.%s is no texture", o->cls->name, param);
    return texture->cls == &texture_constant.base.plugin ? (double)texture->values[0].vector[0] : else_one;
}

bool principled_turn_by_uv(const scene_object *o, const char *const *params, uint32_t count)
{
    bool any = !render_part_is_zero(o, "anisotropic");
    for (uint32_t k = 0; k < count; k++)
        any |= !texture_is_constant(scene_get(o, params[k])->object);
    return any;
}

vec2 principled_alpha(const bsdf_context *ctx, ir_ref roughness)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref square = t_sqr(t, roughness), least = t_f32(t, 0.001f);
    if (!plan_has(ctx->n, "anisotropic")) {
        ir_ref alpha = ir_max(f, square, least);
        return (vec2){alpha, alpha};
    }
    ir_ref amount = bsdf_weight(ctx, "anisotropic");
    ir_ref aspect = ir_sqrt(f, ir_sub(f, t_f32(t, 1), ir_mul(f, amount, t_f32(t, 0.9f))));
    return (vec2){ir_max(f, ir_div(f, square, aspect), least), ir_max(f, ir_mul(f, square, aspect), least)};
}

ir_ref schlick_weight(tracer *t, ir_ref cosine)
{
    ir_ref m = t_clamp(t, ir_sub(t->f, t_f32(t, 1), cosine), 0, 1);
    return ir_mul(t->f, t_sqr(t, t_sqr(t, m)), m);
}

ir_ref schlick_weight_between(tracer *t, ir_ref cosine, ir_ref eta)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), sin2 = ir_sub(f, one, t_sqr(t, cosine));
    ir_ref crossed = t_safe_sqrt(t, ir_sub(f, one, ir_div(f, sin2, t_sqr(t, eta))));
    return schlick_weight(t, ir_select(f, ir_gt(f, eta, one), cosine, crossed));
}

color schlick_reflectance(tracer *t, color f0, ir_ref weight)
{
    COLOR_EACH(r, mix(t, f0.c[c], t_f32(t, 1), weight));
    return r;
}

ir_ref schlick_normal(tracer *t, ir_ref eta)
{
    ir_ref one = t_f32(t, 1);
    return t_sqr(t, ir_div(t->f, ir_sub(t->f, eta, one), ir_add(t->f, eta, one)));
}

color principled_tint(tracer *t, color base)
{
    ir_func *f = t->f;
    ir_ref luminance = color_luminance(t, base), one = t_f32(t, 1), some = ir_gt(f, luminance, t_f32(t, 0));
    ir_ref inverse = ir_div(f, one, ir_select(f, some, luminance, one));
    return color_select(t, some, color_scale(t, base, inverse), color_all(one));
}

ir_ref principled_normal_pdf(tracer *t, vec2 alpha, const facet *a)
{
    return microfacet_pdf(t, &(microfacets){MICROFACET_GGX, true, alpha}, a->wi, a->m);
}

/* Fi and Fo are the Schlick weights of wi and wo, and R = 2 roughness (m.wo)^2:
 *
 *     diffuse (1 - Fi / 2)(1 - Fo / 2),   retro-reflection R (Fo + Fi + Fo Fi (R - 1)),
 *     flat    1.25 (S (1 / (cos wi + cos wo) - 1/2) + 1/2) with S = mix(1, R / 2, Fi) mix(1, R / 2, Fo). */
color principled_diffuse(const bsdf_context *ctx, const facet *a, color base, ir_ref roughness)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), half = t_f32(t, 0.5f), fi = schlick_weight(t, a->wi.z),
           fo = schlick_weight(t, a->wo.z);
    ir_ref r = ir_mul(f, ir_add(f, roughness, roughness), t_sqr(t, a->wo_m));
    ir_ref lambert = ir_mul(f, ir_sub(f, one, ir_mul(f, half, fi)), ir_sub(f, one, ir_mul(f, half, fo)));
    ir_ref both = ir_mul(f, ir_mul(f, fo, fi), ir_sub(f, r, one));
    ir_ref share = t_mad(t, r, ir_add(f, ir_add(f, fo, fi), both), lambert);
    if (plan_has(ctx->n, "flatness")) {
        ir_ref flat90 = ir_mul(f, r, half), s = ir_mul(f, mix(t, one, flat90, fi), mix(t, one, flat90, fo));
        /* Straight ahead the sum of cosines is 0. The term counts for nothing there but must be finite. */
        ir_ref cosines = ir_max(f, ir_add(f, a->wi.z, a->wo.z), t_f32(t, 1e-6f));
        ir_ref rise = ir_sub(f, ir_div(f, one, cosines), half);
        ir_ref flat = ir_mul(f, t_f32(t, 1.25f), t_mad(t, s, rise, half));
        share = mix(t, share, flat, bsdf_weight(ctx, "flatness"));
    }
    return color_scale(t, base, ir_mul(f, share, ir_mul(f, a->wo.z, t_f32(t, inverse_pi))));
}

color principled_sheen(const bsdf_context *ctx, const facet *a, color base)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref amount = bsdf_weight(ctx, "sheen"), one = t_f32(t, 1);
    ir_ref scale = ir_mul(f, ir_mul(f, amount, schlick_weight(t, a->wo_m)), a->wo.z);
    if (!plan_has(ctx->n, "sheen_tint"))
        return color_all(scale);
    ir_ref tinted = bsdf_weight(ctx, "sheen_tint");
    color tint = principled_tint(t, base);
    COLOR_EACH(r, ir_mul(f, scale, mix(t, one, tint.c[c], tinted)));
    return r;
}

/* ---- clearcoat (Burley 2012, section 5.4 and appendix B) ---- */

ir_ref principled_coat_alpha2(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_ref gloss = bsdf_texture_1(ctx, "clearcoat_gloss");
    return t_sqr(t, t_mad(t, gloss, t_f32(t, PRINCIPLED_COAT_GLOSS - PRINCIPLED_COAT_ROUGH),
                          t_f32(t, PRINCIPLED_COAT_ROUGH)));
}

ir_ref principled_coat_distribution(tracer *t, ir_ref alpha2, vec3 m)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), below = ir_sub(f, alpha2, one);
    ir_ref area = ir_mul(f, ir_mul(f, t_f32(t, pi), ir_log(f, alpha2)), t_mad(t, below, t_sqr(t, m.z), one));
    return ir_div(f, below, area);
}

vec3 principled_coat_normal(tracer *t, ir_ref alpha2, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), phi = ir_mul(f, u1, t_f32(t, 2 * pi));
    ir_ref power = ir_exp(f, ir_mul(f, ir_sub(f, one, u2), ir_log(f, alpha2)));
    ir_ref cos2 = ir_div(f, ir_sub(f, one, power), ir_sub(f, one, alpha2)),
           sine = microfacet_root(t, ir_sub(f, one, cos2));
    return v3(ir_mul(f, sine, ir_cos(f, phi)), ir_mul(f, sine, ir_sin(f, phi)), microfacet_root(t, cos2));
}

ir_ref principled_coat_value(const bsdf_context *ctx, const facet *a, ir_ref eta)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref rough = t_f32(t, 0.25f);
    ir_ref seen = ir_mul(f, microfacet_visible(t, MICROFACET_GGX, (vec2){rough, rough}, a->wi),
                         microfacet_visible(t, MICROFACET_GGX, (vec2){rough, rough}, a->wo));
    ir_ref reflectance =
        schlick_reflectance(t, color_all(t_f32(t, 0.04f)), schlick_weight_between(t, a->wi_m, eta)).c[0];
    ir_ref facets = ir_mul(f, principled_coat_distribution(t, principled_coat_alpha2(ctx), a->m), seen);
    ir_ref amount = ir_mul(f, bsdf_weight(ctx, "clearcoat"), t_f32(t, 0.25f));
    return ir_mul(f, ir_mul(f, amount, reflectance), ir_mul(f, facets, a->wo.z));
}
