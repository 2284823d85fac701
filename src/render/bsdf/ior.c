/* SPDX-License-Identifier: BSD-3-Clause
 * Indices of refraction by name, at standard conditions. The table is Mitsuba's. Every dielectric makes one
 * parameter, "eta", of two indices, and that parameter is here, too. */
#include "render/bsdf/fresnel.h"

#include <strings.h>

static const struct {
    const char *name;
    double ior;
} materials[] = {
    {"vacuum", 1},        {"helium", 1.000036},        {"hydrogen", 1.000132},
    {"air", 1.000277},    {"carbon dioxide", 1.00045}, {"water", 1.333},
    {"acetone", 1.36},    {"ethanol", 1.361},          {"carbon tetrachloride", 1.461},
    {"glycerol", 1.4729}, {"benzene", 1.501},          {"silicone oil", 1.52045},
    {"bromine", 1.661},   {"water ice", 1.31},         {"fused quartz", 1.458},
    {"pyrex", 1.47},      {"acrylic glass", 1.49},     {"polypropylene", 1.49},
    {"bk7", 1.5046},      {"sodium chloride", 1.544},  {"amber", 1.55},
    {"pet", 1.575},       {"diamond", 2.419},
};

/* Reads the index that a PLUGIN_FLOAT_OR_NAME parameter gives, by its number or its name. */
static bl_result ior_read(const scene_object *o, const char *param, double *out, bl_error *err)
{
    const scene_value *v = scene_get(o, param);
    *out = v->number;
    if (!v->text)
        return BL_OK;
    text known = {0};
    for (size_t i = 0; i < sizeof materials / sizeof *materials; i++) {
        *out = materials[i].ior;
        if (strcasecmp(materials[i].name, v->text) == 0) {
            text_free(&known);
            return BL_OK;
        }
        text_add(&known, "%s%s", i ? ", " : "", materials[i].name);
    }
    scene_error(err, BL_ERROR_SCENE, v->where,
                "%s: no index of refraction is known for \"%.60s\" (%s); give a number, or one of %s",
                o->cls->name, v->text, param, known.data);
    text_free(&known);
    return BL_ERROR_SCENE;
}

bl_result interface_load(render_scene *s, const scene_object *o, bool turns, bl_error *err)
{
    static const uint32_t one = 1;
    double inside, outside;
    TRY(ior_read(o, "int_ior", &inside, err));
    TRY(ior_read(o, "ext_ior", &outside, err));
    float eta = (float)(inside / outside);
    uint32_t p = render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &one, 1e-3f, 1e3f, &eta});
    if (turns)
        render_turns(s, p);
    return BL_OK;
}

void interface_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[INTERFACE_ETA] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[INTERFACE_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
}

ir_ref interface_eta(tracer *t, const class_node *n, ir_ref record)
{
    return plan_load(t, n, record, n->extra_word + INTERFACE_ETA, PLAN_DATA_SLOT, t_u32(t, 0));
}

color interface_value(const bsdf_context *ctx, ir_ref reflectance, ir_ref transmittance, ir_ref delta,
                      ir_ref reflects)
{
    tracer *t = ctx->t;
    color reflected = color_scale(t, bsdf_texture(ctx, "specular_reflectance"), reflectance);
    color transmitted = color_scale(t, bsdf_texture(ctx, "specular_transmittance"), transmittance);
    return color_select(t, delta, color_select(t, reflects, reflected, transmitted), color_all(t_f32(t, 0)));
}
