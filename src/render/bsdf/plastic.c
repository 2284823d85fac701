/* SPDX-License-Identifier: BSD-3-Clause
 * Smooth plastic, one-sided: a dielectric coat over a diffuse base. The coat has one discrete lobe, the
 * mirror direction, with the coefficient specular_reflectance * F(wi). The base has a diffuse lobe,
 *
 *     f cos = diffuse_reflectance / (1 - r * internal) * (1 - F(wi)) (1 - F(wo)) / eta^2 * cos / pi.
 *
 * `internal` is the share of the base's light that the coat sends back to the base. It is a derived value
 * (docs/theory/derived_quantities.md). The quotient is the sum over all such round trips. r is
 * diffuse_reflectance where `nonlinear` is set, so that colours deepen with each trip, else 1. Diffuse
 * samples are detached. */
#include "render/bsdf/cosine_lobe.h"
#include "render/bsdf/fresnel.h"

static const float inverse_pi = 0.31830988618379067154f;

enum { DERIVED_INTERNAL, DERIVED_COUNT };

/* The class's variant is 1 where `nonlinear` is set. */
static uint32_t plastic_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return scene_number(o, "nonlinear") != 0;
}

static bl_result plastic_load(render_scene *s, const scene_object *o, bl_error *err)
{
    return interface_load(s, o, false, err);
}

static void plastic_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    derived[DERIVED_INTERNAL] = fresnel_diffuse_internal(t, interface_eta(t, n, record));
}

static ir_ref reflectance_at(tracer *t, const class_node *n, ir_ref record, ir_ref cosine)
{
    return fresnel_dielectric(t, cosine, interface_eta(t, n, record)).reflectance;
}

/* The probability of the coat's lobe, by how much each lobe reflects. Neither lobe is left out while its
 * colour is differentiated (docs/theory/support.md). */
static ir_ref specular_probability(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref reflectance = reflectance_at(t, ctx->n, ctx->record, ctx->wi.z);
    ir_ref coat = ir_mul(f, reflectance, color_sum(t, bsdf_texture(ctx, "specular_reflectance")));
    ir_ref base = ir_mul(f, ir_sub(f, t_f32(t, 1), reflectance),
                         color_sum(t, bsdf_texture(ctx, "diffuse_reflectance")));
    ir_ref share = t_ratio(t, coat, ir_add(f, coat, base));
    return plan_probability(t, ctx->n, "specular_reflectance",
                            plan_probability(t, ctx->n, "diffuse_reflectance", share));
}

static ir_ref plastic_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref diffuse = ir_sub(f, t_f32(t, 1), specular_probability(ctx));
    return ir_select(f, bsdf_both_above(t, ctx->wi, wo),
                     ir_mul(f, diffuse, ir_mul(f, wo.z, t_f32(t, inverse_pi))), t_f32(t, 0));
}

static bsdf_sample plastic_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref p = specular_probability(ctx), specular = ir_lt(f, u_lobe, p);
    bsdf_sample s = {
        .wo = v3_select(t, specular, fresnel_reflected(t, ctx->wi), warp_cosine_hemisphere(t, u1, u2)),
        .eta = t_f32(t, 1),
        .delta = specular,
        .lobe = t_u32(t, 0),
    };
    ir_ref discrete = ir_select(f, ir_gt(f, ctx->wi.z, t_f32(t, 0)), p, t_f32(t, 0));
    s.pdf = ir_select(f, specular, discrete, plastic_pdf(ctx, s.wo));
    return s;
}

static color plastic_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)lobe;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0), eta = interface_eta(t, ctx->n, ctx->record),
           enters = reflectance_at(t, ctx->n, ctx->record, ctx->wi.z);
    ir_ref leaves = ir_sub(f, one, reflectance_at(t, ctx->n, ctx->record, wo.z)),
           internal = plan_derived(t, ctx->n, ctx->record, t_u32(t, DERIVED_INTERNAL));
    ir_ref crosses = ir_div(f, ir_mul(f, ir_sub(f, one, enters), leaves), t_sqr(t, eta));
    ir_ref scale = ir_mul(f, crosses, ir_mul(f, wo.z, t_f32(t, inverse_pi)));
    color base = bsdf_texture(ctx, "diffuse_reflectance");
    COLOR_EACH(trips, ir_sub(f, one, ctx->n->variant ? ir_mul(f, base.c[c], internal) : internal));
    COLOR_EACH(diffuse, ir_mul(f, ir_div(f, base.c[c], trips.c[c]), scale));
    color specular = color_scale(t, bsdf_texture(ctx, "specular_reflectance"), enters);
    diffuse = color_select(t, bsdf_both_above(t, ctx->wi, wo), diffuse, color_all(zero));
    specular = color_select(t, ir_gt(f, ctx->wi.z, zero), specular, color_all(zero));
    return color_select(t, delta, specular, diffuse);
}

static const plugin_param plastic_params[] = {
    {"diffuse_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo of the base"},
    {"nonlinear", PLUGIN_BOOLEAN, 0, "false", 0, 0, "colours deepen with internal reflection"},
    {"int_ior", PLUGIN_FLOAT_OR_NAME, 0, "polypropylene", 1e-3, 1e3,
     "index of refraction of the coat, or the name of a material"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, 0, "air", 1e-3, 1e3, "index of refraction outside"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0,
     "factor of the coat's reflection"},
};
const bsdf_class bsdf_plastic = {
    .base = {.plugin = {PLUGIN_BSDF, "plastic", PLUGIN_TABLE(plastic_params), PLUGIN_NONE,
                        "smooth plastic, one-sided"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = plastic_load,
             .extra = interface_extra,
             .derived_count = DERIVED_COUNT,
             .update = plastic_update,
             .variant = plastic_variant},
    .sample = plastic_sample,
    .pdf = plastic_pdf,
    .value = plastic_value,
    .albedo_param = "diffuse_reflectance",
    .lobe_direction = fresnel_mirrored,
};
