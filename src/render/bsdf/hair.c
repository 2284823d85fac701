/* SPDX-License-Identifier: BSD-3-Clause
 * Hair and fur (Chiang, Bitterli, Tappan and Burley 2016, A Practical and Controllable Hair and Fur Model for
 * Production Path Tracing). The material lies on the fibre's surface. The local frame has y along the fibre
 * and z along the normal. The place where the ray meets the fibre's width is h = -x / |(x, z)| of wi. Light
 * that enters leaves where it came in, after p segments inside. p = 0 is reflection (R), p = 1 is
 * transmission (TT), p = 2 is one internal reflection (TRT), and p = 3 stands for all longer ways:
 *
 *     f cos = sum_p A_p M_p(theta_i, theta_o) N_p(phi_o - phi_i).
 *
 * hair_lobes.h has M and N; the last N is uniform. A_p is the light that is left (section 3.1). With F the
 * Fresnel reflectance and T the transmittance of a segment, it is F, (1 - F)^2 T, (1 - F)^2 T^2 F, and the
 * rest of the geometric series. The scales of the cuticle tilt M_p by multiples of an angle. A lobe is
 * sampled with a probability in proportion to the luminance of A_p. Samples are detached.
 *
 * Variances, a scale, sines and cosines are computed from the roughnesses and the angle. They are derived
 * values (docs/theory/derived_quantities.md). */
#include "render/bsdf/fresnel.h"
#include "render/bsdf/hair_lobes.h"

static const float pi = 3.14159265358979323846f;

enum { SEGMENTS = 3, LOBES = SEGMENTS + 1 };
enum {
    DERIVED_ALONG,
    DERIVED_AROUND = DERIVED_ALONG + 2 * SEGMENTS,
    DERIVED_SINE = DERIVED_AROUND + 2,
    DERIVED_COSINE = DERIVED_SINE + SEGMENTS,
    DERIVED_COUNT = DERIVED_COSINE + SEGMENTS
};
/* A bit of the class's variant: sigma_a is given. */
enum { ABSORPTION_GIVEN = 1 };

/* ---- loading ---- */

static uint32_t hair_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return scene_get(o, "sigma_a")->given ? ABSORPTION_GIVEN : 0;
}

static bl_result hair_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *sigma_a = scene_get(o, "sigma_a");
    if (sigma_a->given && (scene_get(o, "eumelanin")->given || scene_get(o, "pheomelanin")->given))
        return scene_error(
            err, BL_ERROR_SCENE, sigma_a->where,
            "hair: give either \"sigma_a\" or the pigments \"eumelanin\" and \"pheomelanin\", not both");
    TRY(interface_load(s, o, false, err));
    if (s->values.data[s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)].offset] == 1)
        return scene_error(err, BL_ERROR_SCENE, o->where, "hair: \"int_ior\" and \"ext_ior\" must differ");
    return BL_OK;
}

/* ---- derived values (sections 4.1 and 4.2 of the paper, pbrt's fits, Mitsuba's arrangement) ---- */

static ir_ref power(tracer *t, ir_ref x, int exponent)
{
    ir_ref r = exponent & 1 ? x : t_f32(t, 1);
    return exponent < 2 ? r : ir_mul(t->f, r, power(t, t_sqr(t, x), exponent / 2));
}

/* a x + b x^2 + c x^n */
static ir_ref fit(tracer *t, ir_ref x, float a, float b, float c, int n)
{
    ir_func *f = t->f;
    return t_mad(t, power(t, x, n), t_f32(t, c), ir_mul(f, x, t_mad(t, x, t_f32(t, b), t_f32(t, a))));
}

static void put_width(hair_width w, ir_ref out[2]) { out[0] = w.inverse, out[1] = w.norm; }

static hair_width width_at(tracer *t, const class_node *n, ir_ref record, uint32_t element)
{
    return (hair_width){plan_derived(t, n, record, t_u32(t, element)),
                        plan_derived(t, n, record, t_u32(t, element + 1))};
}

static void hair_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    static const float times[SEGMENTS] = {1, 0.25f, 4};
    ir_func *f = t->f;
    ir_ref along = fit(t, plan_number(t, n, record, "longitudinal_roughness"), 0.726f, 0.812f, 3.7f, 20);
    ir_ref around = fit(t, plan_number(t, n, record, "azimuthal_roughness"), 0.265f, 1.194f, 5.372f, 22);
    ir_ref variance = ir_max(f, t_sqr(t, along), t_f32(t, 1e-6f));
    ir_ref scale = ir_max(f, ir_mul(f, around, t_f32(t, 0.626657069f /* sqrt(pi / 8) */)), t_f32(t, 1e-4f));
    put_width(hair_around(t, scale), derived + DERIVED_AROUND);
    for (int k = 0; k < SEGMENTS; k++)
        put_width(hair_along(t, ir_mul(f, variance, t_f32(t, times[k]))), derived + DERIVED_ALONG + 2 * k);
    ir_ref angle = ir_mul(f, plan_number(t, n, record, "scale_tilt"), t_f32(t, pi / 180));
    for (int k = 0; k < SEGMENTS; k++, angle = ir_add(f, angle, angle))
        derived[DERIVED_SINE + k] = ir_sin(f, angle), derived[DERIVED_COSINE + k] = ir_cos(f, angle);
}

/* ---- the fibre seen from wi ---- */

typedef struct fibre {
    vec2 tilted[LOBES]; /* sine and cosine of theta_i, as lobe p sees it */
    hair_width along[LOBES], around;
    ir_ref phi;            /* azimuth of wi */
    ir_ref turn[SEGMENTS]; /* azimuth from wi to where lobe p leaves a smooth fibre (equation 3 of d'Eon et
                              al. 2011) */
    color left[LOBES];     /* A_p */
} fibre;

/* Sine and cosine of theta of a direction. */
static vec2 theta_of(tracer *t, vec3 w)
{
    return (vec2){w.y, t_safe_sqrt(t, ir_sub(t->f, t_f32(t, 1), t_sqr(t, w.y)))};
}
static ir_ref phi_of(tracer *t, vec3 w) { return ir_atan2(t->f, w.z, w.x); }

/* The absorption per radius of the fibre. It is sigma_a where that is given. Else it follows from the
 * concentrations of two pigments. */
static color absorption(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    if (ctx->n->variant & ABSORPTION_GIVEN)
        return color_scale(t, bsdf_texture(ctx, "sigma_a"), plan_number(t, ctx->n, ctx->record, "scale"));
    ir_ref brown = plan_number(t, ctx->n, ctx->record, "eumelanin"),
           red = plan_number(t, ctx->n, ctx->record, "pheomelanin");
    return hair_absorption(t, brown, red);
}

/* A_p of all lobes, from the Fresnel reflectance and the transmittance of a segment. */
static void attenuate(tracer *t, ir_ref reflectance, color transmittance, color out[LOBES])
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), enters = t_sqr(t, ir_sub(f, one, reflectance));
    out[0] = color_all(reflectance);
    out[1] = color_scale(t, transmittance, enters);
    COLOR_EACH(again, ir_mul(f, transmittance.c[c], reflectance));
    out[2] = color_mul(t, out[1], again);
    for (uint32_t c = 0; c < t->channels; c++)
        out[3].c[c] = ir_div(f, ir_mul(f, out[2].c[c], again.c[c]),
                             ir_max(f, ir_sub(f, one, again.c[c]), t_f32(t, 1e-6f)));
}

/* theta, turned by multiples of the scales' angle: by -2, +1 and +4 of it for p = 0, 1 and 2 (section 4.1 of
 * Chiang et al.). The last lobe is not turned, as it is too rough for that to matter. */
static void tilt(tracer *t, const class_node *n, ir_ref record, vec2 theta, vec2 out[LOBES])
{
    static const struct {
        uint32_t index;
        float sign;
    } by[SEGMENTS] = {{1, -1}, {0, 1}, {2, 1}};
    ir_func *f = t->f;
    for (int p = 0; p < SEGMENTS; p++) {
        ir_ref sine =
            ir_mul(f, plan_derived(t, n, record, t_u32(t, DERIVED_SINE + by[p].index)), t_f32(t, by[p].sign));
        ir_ref cosine = plan_derived(t, n, record, t_u32(t, DERIVED_COSINE + by[p].index));
        out[p].x = t_mad(t, theta.x, cosine, ir_mul(f, theta.y, sine));
        out[p].y = ir_abs(f, ir_sub(f, ir_mul(f, theta.y, cosine), ir_mul(f, theta.x, sine)));
    }
    out[SEGMENTS] = theta;
}

static fibre fibre_seen(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), least = t_f32(t, 1e-6f), eta = interface_eta(t, ctx->n, ctx->record);
    fibre s = {.around = width_at(t, ctx->n, ctx->record, DERIVED_AROUND), .phi = phi_of(t, ctx->wi)};
    vec2 theta = theta_of(t, ctx->wi);
    tilt(t, ctx->n, ctx->record, theta, s.tilted);
    for (uint32_t p = 0; p < LOBES; p++) /* the last lobe is as wide as the one before it */
        s.along[p] = width_at(t, ctx->n, ctx->record, DERIVED_ALONG + 2 * (p < SEGMENTS ? p : SEGMENTS - 1));
    ir_ref across = ir_max(f, theta.y, least), gamma = ir_atan2(f, ir_neg(f, ctx->wi.x), ctx->wi.z),
           h = ir_sin(f, gamma);
    /* What the light does inside follows from Snell's law, in the plane of the fibre, and in its
     * cross-section with the index that the cross-section sees (Marschner et al. 2003, appendix B). */
    ir_ref cos_t = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, ir_div(f, theta.x, eta))));
    ir_ref index = ir_div(f, t_safe_sqrt(t, ir_sub(f, t_sqr(t, eta), t_sqr(t, theta.x))), across);
    ir_ref sin_gamma = t_clamp(t, ir_div(f, h, ir_max(f, index, least)), -1, 1),
           cos_gamma = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, sin_gamma)));
    ir_ref gamma_t = ir_atan2(f, sin_gamma, cos_gamma);
    for (int p = 0; p < SEGMENTS; p++)
        s.turn[p] = ir_add(f, ir_mul(f, gamma_t, t_f32(t, 2 * (float)p)),
                           t_mad(t, gamma, t_f32(t, -2), t_f32(t, (float)p * pi)));
    ir_ref length = ir_div(f, ir_add(f, cos_gamma, cos_gamma), ir_max(f, cos_t, least));
    color sigma_a = absorption(ctx);
    COLOR_EACH(transmittance, ir_exp(f, ir_neg(f, ir_mul(f, sigma_a.c[c], length))));
    ir_ref facing = ir_mul(f, theta.y, t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, h))));
    attenuate(t, fresnel_dielectric(t, facing, eta).reflectance, transmittance, s.left);
    return s;
}

/* M_p N_p of all lobes toward wo. */
static void scatter(tracer *t, const fibre *s, vec3 wo, ir_ref out[LOBES])
{
    ir_func *f = t->f;
    vec2 theta = theta_of(t, wo);
    ir_ref turned = ir_sub(f, phi_of(t, wo), s->phi);
    for (int p = 0; p < LOBES; p++) {
        ir_ref around =
            p == SEGMENTS ? t_f32(t, 0.5f / pi) : hair_azimuthal(t, s->around, ir_sub(f, turned, s->turn[p]));
        out[p] = ir_mul(f, hair_longitudinal(t, s->along[p], s->tilted[p], theta), around);
    }
}

/* The probabilities with which the lobes are chosen. */
static void choose(tracer *t, const fibre *s, ir_ref out[LOBES])
{
    ir_func *f = t->f;
    ir_ref sum = t_f32(t, 0);
    for (int p = 0; p < LOBES; p++)
        out[p] = color_luminance(t, s->left[p]), sum = ir_add(f, sum, out[p]);
    for (int p = 0; p < LOBES; p++)
        out[p] = t_ratio(t, out[p], sum);
}

/* ---- the material ---- */

static ir_ref hair_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    fibre s = fibre_seen(ctx);
    ir_ref lobe[LOBES], share[LOBES], sum = t_f32(t, 0);
    scatter(t, &s, wo, lobe);
    choose(t, &s, share);
    for (int p = 0; p < LOBES; p++)
        sum = t_mad(t, share[p], lobe[p], sum);
    return sum;
}

static bsdf_sample hair_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    fibre s = fibre_seen(ctx);
    ir_ref share[LOBES], begin = t_f32(t, 0), width, turn = s.turn[0];
    hair_width along = s.along[0];
    vec2 tilted = s.tilted[0];
    choose(t, &s, share);
    width = share[0];
    ir_ref end = share[0], uniform = ir_bool(f, false);
    for (int p = 1; p < LOBES; p++) {
        ir_ref longer = ir_ge(f, u_lobe, end);
        begin = ir_select(f, longer, end, begin), width = ir_select(f, longer, share[p], width);
        tilted = (vec2){ir_select(f, longer, s.tilted[p].x, tilted.x),
                        ir_select(f, longer, s.tilted[p].y, tilted.y)};
        along.inverse = ir_select(f, longer, s.along[p].inverse, along.inverse);
        if (p < SEGMENTS)
            turn = ir_select(f, longer, s.turn[p], turn);
        else
            uniform = longer;
        end = ir_add(f, end, share[p]);
    }
    ir_ref u = t_clamp(t, t_ratio(t, ir_sub(f, u_lobe, begin), width), 0, 0x1.fffffep-1f);
    ir_ref sine = hair_longitudinal_sample(t, along, tilted, u1, u2),
           cosine = t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), t_sqr(t, sine)));
    ir_ref around = ir_add(f, turn, hair_azimuthal_sample(t, s.around, u));
    ir_ref phi = ir_add(f, s.phi, ir_select(f, uniform, ir_mul(f, u, t_f32(t, 2 * pi)), around));
    vec3 wo = v3(ir_mul(f, cosine, ir_cos(f, phi)), sine, ir_mul(f, cosine, ir_sin(f, phi)));
    return (bsdf_sample){
        .wo = wo,
        .pdf = hair_pdf(ctx, wo),
        .eta = t_f32(t, 1),
        .delta = ir_bool(f, false),
        .lobe = t_u32(t, 0),
    };
}

static color hair_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    fibre s = fibre_seen(ctx);
    ir_ref part[LOBES];
    scatter(t, &s, wo, part);
    color sum = color_scale(t, s.left[0], part[0]);
    for (int p = 1; p < LOBES; p++)
        for (uint32_t c = 0; c < t->channels; c++)
            sum.c[c] = t_mad(t, s.left[p].c[c], part[p], sum.c[c]);
    return sum;
}

static uint32_t hair_needs(const class_node *n)
{
    (void)n;
    return NEED_TANGENTS;
}

static const plugin_param hair_params[] = {
    {"longitudinal_roughness", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0.3", 0, 1, "along the fibre"},
    {"azimuthal_roughness", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0.3", 0, 1, "around it"},
    {"scale_tilt", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "2", -90, 90,
     "angle between the cuticle's scales and the fibre, degrees"},
    {"int_ior", PLUGIN_FLOAT_OR_NAME, 0, "amber", 1e-3, 1e3,
     "index of refraction of the fibre, or the name of a material"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, 0, "air", 1e-3, 1e3, "index of refraction outside"},
    {"eumelanin", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1.3", 0, 1e6, "concentration of the brown pigment"},
    {"pheomelanin", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0.2", 0, 1e6, "concentration of the red pigment"},
    {"sigma_a", PLUGIN_TEXTURED, PLUGIN_ABSENT | PLUGIN_HELD, NULL, 0, 1e9,
     "in place of pigments: absorption, per radius of the fibre"},
    {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 1e9, "factor of sigma_a"},
};
const bsdf_class bsdf_hair = {
    .base = {.plugin = {PLUGIN_BSDF, "hair", PLUGIN_TABLE(hair_params), PLUGIN_NONE,
                        "hair and fur, for curves"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = hair_load,
             .extra = interface_extra,
             .derived_count = DERIVED_COUNT,
             .update = hair_update,
             .variant = hair_variant,
             .needs = hair_needs},
    .transmits = true,
    .sample = hair_sample,
    .pdf = hair_pdf,
    .value = hair_value,
};
