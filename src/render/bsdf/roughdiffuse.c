/* SPDX-License-Identifier: BSD-3-Clause
 * Rough diffuse reflection, one-sided: V-shaped grooves with Lambertian sides (Oren and Nayar 1994,
 * "Generalization of Lambert's reflectance model", SIGGRAPH). This is their functional approximation for
 * normally distributed slopes: the sum of direct light and of one interreflection. Their qualitative model,
 * equation 30, is a shorter form of the direct light and is not used. rho is the reflectance, and sigma is
 * the standard deviation of the slope angle. theta_a is the larger and theta_b the smaller angle to the
 * normal, and phi is the difference of the azimuths. With k(c) = sigma^2 / (sigma^2 + c),
 *
 *     f      = rho / pi * direct + rho^2 / pi * between
 *     direct = 1 - k(.33) / 2
 *            + .45 k(.09) cos phi tan theta_b (sin theta_a - [cos phi < 0] (2 theta_b / pi)^3)
 *            + .125 k(.09) (1 - |cos phi|) (4 theta_a theta_b / pi^2)^2 tan((theta_a + theta_b) / 2)
 *     between = .17 k(.13) (1 - cos phi (2 theta_b / pi)^2)
 *
 * alpha is the root mean square slope of the surface, and sigma = alpha / sqrt(2), as in Mitsuba 0.6. Beyond
 * alpha = 1 the fit of `direct` falls a little below 0 where light grazes from behind. It is clamped to 0
 * there. At alpha = 0 this is `diffuse`. Directions are sampled with density cos / pi and are detached. */
#include "render/bsdf/cosine_lobe.h"
#include "render/bsdf/microfacet.h"

static const float inverse_pi = 0.31830988618379067154f;

/* The angles between a pair of directions above the surface. */
typedef struct angles {
    ir_ref sin_a, sin_b, theta_a, theta_b, cos_phi;
} angles;

static angles angles_of(tracer *t, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref sin_i = microfacet_root(t, t_mad(t, wi.x, wi.x, t_sqr(t, wi.y))),
           sin_o = microfacet_root(t, t_mad(t, wo.x, wo.x, t_sqr(t, wo.y)));
    ir_ref theta_i = ir_atan2(f, sin_i, wi.z), theta_o = ir_atan2(f, sin_o, wo.z);
    /* Where one of the two directions stands upright, cos phi is not defined, but every factor of it is 0. */
    ir_ref product = ir_mul(f, sin_i, sin_o), tilted = ir_gt(f, product, t_f32(t, 1e-10f)),
           along = t_mad(t, wi.x, wo.x, ir_mul(f, wi.y, wo.y));
    ir_ref cos_phi = ir_div(f, along, ir_select(f, tilted, product, t_f32(t, 1)));
    return (angles){ir_max(f, sin_i, sin_o), ir_min(f, sin_i, sin_o), ir_max(f, theta_i, theta_o),
                    ir_min(f, theta_i, theta_o), t_clamp(t, cos_phi, -1, 1)};
}

/* k(c), as in the head. */
static ir_ref share(tracer *t, ir_ref sigma2, float c)
{
    return ir_div(t->f, sigma2, ir_add(t->f, sigma2, t_f32(t, c)));
}

/* `direct`, as in the head, times cos(wo). That factor bounds the tangents. */
static ir_ref direct_light(tracer *t, const angles *a, ir_ref sigma2, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), rough = share(t, sigma2, 0.09f),
           flat = t_mad(t, share(t, sigma2, 0.33f), t_f32(t, -0.5f), one);
    ir_ref low = ir_mul(f, a->theta_b, t_f32(t, 2 * inverse_pi)), low3 = ir_mul(f, low, t_sqr(t, low)),
           behind = ir_lt(f, a->cos_phi, zero);
    ir_ref tangent_b = ir_mul(f, a->sin_b, ir_div(f, wo.z, ir_max(f, wi.z, wo.z)));
    ir_ref across =
        ir_mul(f, ir_mul(f, a->cos_phi, tangent_b), ir_sub(f, a->sin_a, ir_select(f, behind, low3, zero)));
    ir_ref both = ir_mul(f, low, ir_mul(f, a->theta_a, t_f32(t, 2 * inverse_pi))),
           tangent_half = ir_mul(f, ir_add(f, a->sin_a, a->sin_b), ir_div(f, wo.z, ir_add(f, wi.z, wo.z)));
    ir_ref aside = ir_mul(f, ir_mul(f, ir_sub(f, one, ir_abs(f, a->cos_phi)), t_sqr(t, both)), tangent_half);
    ir_ref bent = t_mad(t, across, t_f32(t, 0.45f), ir_mul(f, aside, t_f32(t, 0.125f)));
    return ir_max(f, t_mad(t, rough, bent, ir_mul(f, flat, wo.z)), zero);
}

/* `between`, as in the head, times cos(wo). */
static ir_ref interreflection(tracer *t, const angles *a, ir_ref sigma2, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref low2 = t_sqr(t, ir_mul(f, a->theta_b, t_f32(t, 2 * inverse_pi)));
    ir_ref shape = ir_sub(f, t_f32(t, 1), ir_mul(f, a->cos_phi, low2));
    return ir_mul(f, ir_mul(f, share(t, sigma2, 0.13f), t_f32(t, 0.17f)), ir_mul(f, shape, wo.z));
}

static color roughdiffuse_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    (void)delta, (void)lobe;
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref above = bsdf_both_above(t, ctx->wi, wo), zero = t_f32(t, 0);
    vec3 up = v3(zero, zero, t_f32(t, 1)), wi = v3_select(t, above, ctx->wi, up);
    wo = v3_select(t, above, wo, up); /* with these stand-ins everything is finite below the surface */
    ir_ref sigma2 = ir_mul(f, t_sqr(t, bsdf_texture_1(ctx, "alpha")), t_f32(t, 0.5f));
    angles a = angles_of(t, wi, wo);
    ir_ref direct = ir_mul(f, direct_light(t, &a, sigma2, wi, wo), t_f32(t, inverse_pi)),
           between = ir_mul(f, interreflection(t, &a, sigma2, wo), t_f32(t, inverse_pi));
    color rho = bsdf_texture(ctx, "reflectance");
    COLOR_EACH(value, ir_mul(f, rho.c[c], t_mad(t, rho.c[c], between, direct)));
    return color_select(t, above, value, color_all(zero));
}

static const plugin_param roughdiffuse_params[] = {
    {"reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo of the grooves' sides"},
    {"alpha", PLUGIN_TEXTURED, PLUGIN_SCALAR, "0.2", 0, 1e6, "root mean square slope of the surface"},
};
const bsdf_class bsdf_roughdiffuse = {
    .base.plugin = {PLUGIN_BSDF, "roughdiffuse", PLUGIN_TABLE(roughdiffuse_params), PLUGIN_NONE,
                    "rough and diffuse, as plaster or clay; one-sided (Mitsuba 0.6)"},
    .sample = cosine_sample,
    .pdf = cosine_pdf,
    .value = roughdiffuse_value,
    .albedo_param = "reflectance",
};
