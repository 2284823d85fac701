/* SPDX-License-Identifier: BSD-3-Clause
 * Rough plastic, one-sided: a coat of microfacets (Walter et al. 2007) over a diffuse base, which is that of
 * plastic.c. With m halfway between wi and wo, and T(mu) the share of light at cosine mu that such a coat
 * lets through,
 *
 *     f cos = specular_reflectance * F(wi.m) D(m) G(wi) G(wo) / (4 cos wi)
 *           + diffuse_reflectance / (1 - r * internal) * T(cos wi) T(cos wo) / eta^2 * cos / pi.
 *
 * r is diffuse_reflectance where `nonlinear` is set, else 1. `internal` is the share of the base's light that
 * the coat sends back. T is known at TABLE cosines and linear between them. Both are derived values with
 * gradients (docs/theory/derived_quantities.md). Without these gradients the derivative by alpha would be
 * wrong. Samples of the base are detached, those of the coat may be attached (coat.h). */
#include "render/bsdf/coat.h"
#include "render/bsdf/rough_interface.h"

static const float inverse_pi = 0.31830988618379067154f;

enum { TABLE = ROUGH_COSINES, DERIVED_INTERNAL = TABLE, DERIVED_COUNT };

/* A bit of the class's variant. Those of microfacet_attached_variant and COAT_ATTACHES join it. */
enum { VARIANT_NONLINEAR = 16 };

static bool roughplastic_attaches(const render_scene *s, const scene_object *o)
{
    return microfacet_attaches_if(s, o, scene_number(o, "alpha") <= (double)s->attach_below);
}

static uint32_t roughplastic_variant(const render_scene *s, const scene_object *o)
{
    return microfacet_attached_variant(s, o) | (scene_number(o, "nonlinear") != 0 ? VARIANT_NONLINEAR : 0u) |
           (roughplastic_attaches(s, o) ? COAT_ATTACHES : 0u);
}

static bl_result roughplastic_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(microfacet_check(o, err));
    TRY(microfacet_check_attached(o, err));
    return interface_load(s, o, false, err);
}

static void roughplastic_mark(render_scene *s, const scene_object *o)
{
    if (!roughplastic_attaches(s, o))
        return;
    s->attaches = true;
    for (uint32_t i = render_last_parameter(s, o); i; i = s->parameters.data[i - 1].next) /* alpha and eta */
        render_turns(s, i - 1);
}

static vec2 alpha_of(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref alpha = ir_max(t->f, plan_number(t, n, record, "alpha"), t_f32(t, MICROFACET_LEAST_ALPHA));
    return (vec2){alpha, alpha};
}

static ir_ref roughplastic_update(tracer *t, const class_node *n, ir_ref record, ir_ref element)
{
    ir_func *f = t->f;
    ir_ref eta = interface_eta(t, n, record), alpha = alpha_of(t, n, record).x,
           internal = ir_ge(f, element, t_u32(t, TABLE));
    ir_ref crosses = rough_transmittance(t, microfacet_kind_of(n), alpha, eta, element, ir_not(f, internal));
    return ir_add(f, crosses,
                  rough_mean_reflectance(t, microfacet_kind_of(n), alpha, ir_div(f, t_f32(t, 1), eta),
                                         internal)); /* one of the two is always 0 */
}

/* T at cosine >= 0. */
static ir_ref transmittance(tracer *t, const class_node *n, ir_ref record, ir_ref cosine)
{
    ir_func *f = t->f;
    ir_ref at = ir_mul(f, ir_max(f, cosine, t_f32(t, 0)), t_f32(t, TABLE - 1)),
           k = ir_min(f, ir_to_u32(f, at), t_u32(t, TABLE - 2));
    ir_ref low = plan_derived(t, n, record, k), high = plan_derived(t, n, record, t_offset(t, k, 1));
    return t_mad(t, ir_sub(f, high, low), ir_sub(f, at, ir_to_f32(f, k)), low);
}

/* The probability of the coat's lobe, by how much each lobe reflects. Neither lobe is left out while its
 * colour is differentiated (docs/theory/support.md). */
static ir_ref specular_probability(const bsdf_context *differentiated)
{
    tracer deciding = t_deciding(differentiated->t), *t = &deciding;
    bsdf_context held = bsdf_read_by(differentiated, t), *ctx = &held;
    ir_func *f = t->f;
    ir_ref enters = transmittance(t, ctx->n, ctx->record, ctx->wi.z), stays = ir_sub(f, t_f32(t, 1), enters);
    ir_ref coat = ir_mul(f, stays, color_sum(t, bsdf_texture(ctx, "specular_reflectance")));
    ir_ref base = ir_mul(f, enters, color_sum(t, bsdf_texture(ctx, "diffuse_reflectance")));
    ir_ref share = t_ratio(t, coat, ir_add(f, coat, base));
    return plan_probability(t, ctx->n, "specular_reflectance",
                            plan_probability(t, ctx->n, "diffuse_reflectance", share));
}

static ir_ref roughplastic_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    facet a = facet_reflecting(t, ctx->wi, wo);
    return coat_pdf(t, ctx->n, alpha_of(t, ctx->n, ctx->record), specular_probability(ctx), &a);
}

static bsdf_sample roughplastic_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_ref p = specular_probability(ctx);
    vec3 wo = coat_sample(ctx, alpha_of(t, ctx->n, ctx->record), p, u_lobe, u1, u2);
    return (bsdf_sample){
        .wo = wo,
        .pdf = roughplastic_pdf(ctx, wo),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = coat_lobe(t, ctx->n, p, u_lobe),
    };
}

static bsdf_attached roughplastic_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    ir_ref p = specular_probability(ctx);
    return coat_attached(ctx, alpha_of(t, ctx->n, ctx->record), p, draw);
}

static ir_ref roughplastic_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    return coat_roughness(t, ctx->n, alpha_of(t, ctx->n, ctx->record), lobe);
}

static color roughplastic_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    facet a = facet_reflecting(t, ctx->wi, wo);
    ir_ref one = t_f32(t, 1), eta = interface_eta(t, ctx->n, ctx->record);
    ir_ref coat =
        ir_mul(f, fresnel_dielectric(t, a.wi_m, eta).reflectance,
               microfacet_reflection(t, microfacet_kind_of(ctx->n), alpha_of(t, ctx->n, ctx->record), &a));
    ir_ref crosses = ir_mul(f, transmittance(t, ctx->n, ctx->record, a.wi.z),
                            transmittance(t, ctx->n, ctx->record, a.wo.z));
    ir_ref scale = ir_mul(f, ir_div(f, crosses, t_sqr(t, eta)), ir_mul(f, a.wo.z, t_f32(t, inverse_pi)));
    ir_ref internal = plan_derived(t, ctx->n, ctx->record, t_u32(t, DERIVED_INTERNAL));
    color base = bsdf_texture(ctx, "diffuse_reflectance"),
          specular = bsdf_texture(ctx, "specular_reflectance");
    COLOR_EACH(
        trips,
        ir_sub(f, one, ctx->n->variant & VARIANT_NONLINEAR ? ir_mul(f, base.c[c], internal) : internal));
    COLOR_EACH(value, t_mad(t, ir_div(f, base.c[c], trips.c[c]), scale, ir_mul(f, specular.c[c], coat)));
    return color_select(t, a.valid, value, color_all(t_f32(t, 0)));
}

static const plugin_param roughplastic_params[] = {
    {"diffuse_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo of the base"},
    {"nonlinear", PLUGIN_BOOLEAN, 0, "false", 0, 0, "colours deepen with internal reflection"},
    {"int_ior", PLUGIN_FLOAT_OR_NAME, 0, "polypropylene", 1e-3, 1e3,
     "index of refraction of the coat, or the name of a material"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, 0, "air", 1e-3, 1e3, "index of refraction outside"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0,
     "factor of the coat's reflection"},
    {"distribution", PLUGIN_STRING, 0, "beckmann", 0, 0, "of the normals: beckmann or ggx"},
    {"alpha", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0.1", 0, 1e6, "roughness, at least 0.0001"},
    {"sample_visible", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample only the normals that are seen"},
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_roughplastic = {
    .base = {.plugin = {PLUGIN_BSDF, "roughplastic", PLUGIN_TABLE(roughplastic_params), PLUGIN_NONE,
                        "rough plastic, one-sided"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = roughplastic_load,
             .extra = interface_extra,
             .derived_count = DERIVED_COUNT,
             .update_element = roughplastic_update,
             .mark = roughplastic_mark,
             .variant = roughplastic_variant},
    .sample = roughplastic_sample,
    .pdf = roughplastic_pdf,
    .value = roughplastic_value,
    .albedo_param = "diffuse_reflectance",
    .attached = roughplastic_attached,
    .mixes = true,
    .roughness = roughplastic_roughness,
    .attaches = roughplastic_attaches,
};
