/* SPDX-License-Identifier: BSD-3-Clause
 * Indices of refraction by number, by name, at standard conditions, and by samples over wavelengths. The
 * table is Mitsuba's; glasses with a curve are in glass.c. Every dielectric makes one parameter, "eta", of
 * two indices, and that parameter is here, too.
 *
 * Where light is spectral and an index is a curve, its quotient by the parameter stands behind it in the
 * buffer of values, at CURVE_SAMPLES wavelengths, which are no parameters. So a gradient by "eta" scales the
 * curve. */
#include "render/bsdf/fresnel.h"
#include "render/spectrum/spectrum.h"

#include <strings.h>

enum { CURVE_SAMPLES = 471 /* one a nm */, GIVEN_MOST = 4096 };
static const double helium_line = 587.56; /* nm */

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

/* An index as it is given: a curve through samples, a glass, or one number. */
typedef struct index_given {
    double number;
    const char *glass;
    uint32_t count;
    double nm[GIVEN_MOST], values[GIVEN_MOST];
} index_given;

static double index_at(const index_given *g, double nm)
{
    double index = g->number;
    uint32_t k = 0;
    if (g->glass)
        (void)glass_index(g->glass, nm, &index);
    if (g->count == 0)
        return index;
    nm = fmin(fmax(nm, g->nm[0]), g->nm[g->count - 1]);
    while (k + 2 < g->count && g->nm[k + 1] < nm)
        k++;
    return g->values[k] + (g->values[k + 1] - g->values[k]) * (nm - g->nm[k]) / (g->nm[k + 1] - g->nm[k]);
}

static bl_result curve_read(const scene_object *o, const char *param, index_given *g, bl_error *err)
{
    const scene_value *v = scene_get(o, param);
    const char *malformed = NULL;
    int count = numbers_parse(v->curve[0], g->nm, GIVEN_MOST, &malformed);
    if (count < 2 || count > GIVEN_MOST ||
        numbers_parse(v->curve[1], g->values, GIVEN_MOST, &malformed) != count)
        return scene_error(err, BL_ERROR_SCENE, v->where, "%s: \"%s\" must have 2 to %d samples",
                           o->cls->name, param, GIVEN_MOST);
    g->count = (uint32_t)count;
    for (uint32_t k = 0; k < g->count; k++)
        if (!(g->values[k] >= 0.1 && g->values[k] <= 10))
            return scene_error(err, BL_ERROR_SCENE, v->where,
                               "%s: the index %g of \"%s\" is not in [0.1, 10]", o->cls->name, g->values[k],
                               param);
    if (g->nm[0] > (double)WAVELENGTH_FIRST || g->nm[g->count - 1] < (double)WAVELENGTH_LAST)
        return scene_error(
            err, BL_ERROR_SCENE, v->where,
            "%s: \"%s\" has samples from %g to %g nm, and none beyond; give all from %g to %g nm",
            o->cls->name, param, g->nm[0], g->nm[g->count - 1], (double)WAVELENGTH_FIRST,
            (double)WAVELENGTH_LAST);
    return BL_OK;
}

/* Reads the index that a PLUGIN_FLOAT_OR_NAME parameter gives. */
static bl_result ior_read(const scene_object *o, const char *param, index_given *g, bl_error *err)
{
    const scene_value *v = scene_get(o, param);
    double *out = &g->number;
    *g = (index_given){.number = v->number};
    if (v->curve[0])
        return curve_read(o, param, g, err);
    if (!v->text)
        return BL_OK;
    if (o->cls->params[scene_param_index(o, param)].flags & PLUGIN_CURVE &&
        glass_index(v->text, helium_line, out)) {
        g->glass = v->text;
        return BL_OK;
    }
    text known = {0};
    for (size_t i = 0; i < sizeof materials / sizeof *materials; i++) {
        *out = materials[i].ior;
        if (strcasecmp(materials[i].name, v->text) == 0) {
            text_free(&known);
            return BL_OK;
        }
        text_add(&known, "%s%s", i ? ", " : "", materials[i].name);
    }
    if (o->cls->params[scene_param_index(o, param)].flags & PLUGIN_CURVE)
        text_add(&known, ", or of those with a curve: "), glass_list(&known);
    scene_error(err, BL_ERROR_SCENE, v->where,
                "%s: no index of refraction is known for \"%.60s\" (%s); give a number, or one of %s",
                o->cls->name, v->text, param, known.data);
    text_free(&known);
    return BL_ERROR_SCENE;
}

bool interface_disperses(const render_scene *s, const scene_object *o)
{
    static const char *const params[] = {"int_ior", "ext_ior"};
    bool any = false;
    double unused;
    for (int k = 0; k < 2 && s->mode->light == LIGHT_SPECTRAL; k++) {
        const scene_value *v = scene_get(o, params[k]);
        any |= v->curve[0] || (v->text && glass_index(v->text, helium_line, &unused));
    }
    return any;
}

bl_result interface_load(render_scene *s, const scene_object *o, bool turns, bl_error *err)
{
    static const uint32_t one = 1;
    index_given inside, outside;
    TRY(ior_read(o, "int_ior", &inside, err));
    TRY(ior_read(o, "ext_ior", &outside, err));
    const double middle = index_at(&inside, helium_line) / index_at(&outside, helium_line);
    float eta = (float)middle;
    uint32_t p = render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &one, 1e-3f, 1e3f, &eta});
    const bool curves = ((const render_class *)o->cls)->disperses && interface_disperses(s, o);
    if (curves && s->mode->polarized)
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, o->where,
            "mode %s: %s with an index that is a curve is there in mode spectral; give one number",
            s->mode->name, o->cls->name);
    s->disperses |= curves;
    if (turns || curves) /* a curve turns wavelengths apart, also where lobes are rough */
        render_turns(s, p);
    for (int k = 0; k < CURVE_SAMPLES && curves; k++) {
        double nm = (double)WAVELENGTH_FIRST + k;
        array_push(&s->values, (float)(index_at(&inside, nm) / index_at(&outside, nm) / middle));
    }
    return BL_OK;
}

void interface_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[INTERFACE_ETA] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[INTERFACE_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
}

static ir_ref curve_value(tracer *t, const void *of, ir_ref k)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, ir_add(t->f, *(const ir_ref *)of, k));
}

ir_ref interface_eta(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref eta = plan_load(t, n, record, n->extra_word + INTERFACE_ETA, PLAN_DATA_SLOT, t_u32(t, 0));
    if (!n->disperses)
        return eta;
    ir_ref first = t_offset(t, t_word(t, record, n->extra_word + INTERFACE_ETA), 1);
    const sampled_curve curve = {curve_value, &first, t_u32(t, CURVE_SAMPLES)};
    return ir_mul(t->f, eta,
                  curve_regular(t, &curve, t_f32(t, WAVELENGTH_FIRST), t_f32(t, WAVELENGTH_LAST),
                                t->wavelengths->bends));
}

color interface_value(const bsdf_context *ctx, ir_ref reflectance, ir_ref transmittance, ir_ref delta,
                      ir_ref reflects)
{
    tracer *t = ctx->t;
    color reflected = color_scale(t, bsdf_texture(ctx, "specular_reflectance"), reflectance);
    color transmitted = color_scale(t, bsdf_texture(ctx, "specular_transmittance"), transmittance);
    return color_select(t, delta, color_select(t, reflects, reflected, transmitted), color_all(t_f32(t, 0)));
}
