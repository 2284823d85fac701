/* SPDX-License-Identifier: BSD-3-Clause
 * Mitsuba's plastic for polarised light, here without polarisation, one-sided: a coat of microfacets, and a
 * base that light reaches and leaves through a smooth interface, once each way and not compressed (Baek,
 * Jeon, Tong and Kim 2018). With m halfway between wi and wo,
 *
 *     f cos = specular_reflectance * F(wi.m) D(m) G(wi) G(wo) / (4 cos wi) + diffuse_reflectance * (1 -
 *     F(wi)) (1 - F(wo)) * cos / pi.
 *
 * The index is int_ior over ext_ior or, in their place, the texture eta. */
#include "render/bsdf/coat.h"

static const float inverse_pi = 0.31830988618379067154f;

static bl_result pplastic_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(microfacet_check(o, err));
    TRY(microfacet_check_alpha(o, err));
    TRY(microfacet_check_attached(o, err));
    const scene_value *eta = scene_get(o, "eta");
    if (!eta->given)
        return interface_load(s, o, false, err);
    if (scene_get(o, "int_ior")->given || scene_get(o, "ext_ior")->given)
        return scene_error(err, BL_ERROR_SCENE, eta->where,
                           "pplastic: give either \"eta\" or \"int_ior\" and \"ext_ior\", not both");
    return BL_OK;
}

static uint32_t pplastic_variant(const render_scene *s, const scene_object *o)
{
    return microfacet_attached_variant(s, o) | (microfacet_attaches(s, o) ? COAT_ATTACHES : 0u);
}

static void pplastic_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    if (!scene_get(o, "eta")->given)
        interface_extra(p, o, words);
}

static ir_ref index_of(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    return plan_given(n, "eta") ? plan_texture_1(t, n, record, "eta", uv) : interface_eta(t, n, record);
}

/* By the colours alone; neither lobe is left out while its colour is differentiated
 * (docs/theory/support.md). */
static ir_ref specular_probability(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_ref coat = coat_sum(t, plan_texture(t, n, record, "specular_reflectance", uv)),
           base = coat_sum(t, plan_texture(t, n, record, "diffuse_reflectance", uv));
    ir_ref share = t_ratio(t, coat, ir_add(t->f, coat, base));
    return plan_probability(t, n, "specular_reflectance",
                            plan_probability(t, n, "diffuse_reflectance", share));
}

static ir_ref pplastic_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv)
{
    facet a = facet_reflecting(t, wi, wo);
    return coat_pdf(t, n, microfacet_alpha(t, n, record, uv), specular_probability(t, n, record, uv), &a);
}

static bsdf_sample pplastic_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv,
                                   ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    ir_ref p = specular_probability(t, n, record, uv);
    vec3 wo = coat_sample(t, n, microfacet_alpha(t, n, record, uv), p, wi, u_lobe, u1, u2);
    return (bsdf_sample){
        .wo = wo,
        .pdf = pplastic_pdf(t, n, record, wi, wo, uv),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = coat_lobe(t, n, p, u_lobe),
    };
}

static bsdf_attached pplastic_attached(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv,
                                       const bsdf_draw *draw)
{
    return coat_attached(t, n, microfacet_alpha(t, n, record, uv), specular_probability(t, n, record, uv), wi,
                         draw);
}

static ir_ref pplastic_roughness(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref lobe)
{
    (void)wi;
    return coat_roughness(t, n, microfacet_alpha(t, n, record, uv), lobe);
}

static color pplastic_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv,
                            ir_ref delta, ir_ref lobe)
{
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    facet a = facet_reflecting(t, wi, wo);
    ir_ref one = t_f32(t, 1), eta = index_of(t, n, record, uv);
    ir_ref coat = ir_mul(f, fresnel_dielectric(t, a.wi_m, eta).reflectance,
                         coat_facets(t, n, microfacet_alpha(t, n, record, uv), &a));
    ir_ref enters = ir_sub(f, one, fresnel_dielectric(t, a.wi.z, eta).reflectance),
           leaves = ir_sub(f, one, fresnel_dielectric(t, a.wo.z, eta).reflectance);
    ir_ref scale = ir_mul(f, ir_mul(f, enters, leaves), ir_mul(f, a.wo.z, t_f32(t, inverse_pi)));
    color specular = plan_texture(t, n, record, "specular_reflectance", uv),
          base = plan_texture(t, n, record, "diffuse_reflectance", uv);
    COLOR_EACH(value, t_mad(t, base.c[c], scale, ir_mul(f, specular.c[c], coat)));
    return color_select(t, a.valid, value, color_all(t_f32(t, 0)));
}

static const plugin_param pplastic_params[] = {
    {"diffuse_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo of the base"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0,
     "factor of the coat's reflection"},
    {"int_ior", PLUGIN_FLOAT_OR_NAME, 0, "polypropylene", 1e-3, 1e3,
     "index of refraction of the coat, or the name of a material"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, 0, "air", 1e-3, 1e3, "index of refraction outside"},
    {"eta", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 1e-3, 1e3,
     "in place of both: the one over the other"},
    {"distribution", PLUGIN_STRING, 0, "beckmann", 0, 0, "of the normals: beckmann or ggx"},
    {"alpha", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_OR_NEXT, "0.1", 0, 1e6, "roughness, at least 0.0001"},
    {"alpha_u", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6,
     "in place of alpha, with alpha_v: roughness along dp/du"},
    {"alpha_v", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6, "roughness across that"},
    {"sample_visible", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample only the normals that are seen"},
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_pplastic = {
    .base = {.plugin = {PLUGIN_BSDF, "pplastic", PLUGIN_TABLE(pplastic_params), PLUGIN_NONE,
                        "rough plastic for polarised light, one-sided; here without polarisation"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta.value",
             .load = pplastic_load,
             .extra = pplastic_extra,
             .mark = microfacet_mark,
             .variant = pplastic_variant,
             .needs = microfacet_needs},
    .sample = pplastic_sample,
    .pdf = pplastic_pdf,
    .value = pplastic_value,
    .attached = pplastic_attached,
    .mixes = true,
    .roughness = pplastic_roughness,
    .attaches = microfacet_attaches,
    .turns_by_uv = microfacet_turns_by_uv,
};
