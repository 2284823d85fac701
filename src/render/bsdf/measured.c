/* SPDX-License-Identifier: BSD-3-Clause
 * A measured material: Jonathan Dupuy and Wenzel Jakob, "An Adaptive Parameterization for Efficient Material
 * Acquisition and Rendering", 2018. It reflects, and is one-sided.
 *
 * The microfacet normal m lies half way between wi and wo. In coordinates u of the unit square, x is the root
 * of its angle from z over pi / 2, y its azimuth over 2 pi, relative to that of wi where the material is
 * isotropic. The densities of visible normals, one for each wi of the file, map the unit square to these
 * coordinates. The colours stand over the square before that map, so that they are dense where m is likely.
 * A sample first follows `luminance` over that square, then the map. Between directions of the file all is
 * interpolated. A file of an anisotropic material with a symmetry has the azimuths of a half or of a quarter
 * turn, and other directions are mirrored into it.
 *
 * A file has colours, or spectra at wavelengths of its own, which are what is read where light is spectral:
 * straight lines between them, and the value of the last one beyond (Mitsuba).
 *
 * Nothing of it is a parameter. */
#include "render/bsdf/bilinear.h"
#include "render/spectrum/spectrum.h"

/* Words of a block. */
enum {
    MEASURED_PHI_COUNT,
    MEASURED_THETA_COUNT,
    MEASURED_PHI, /* where the angles begin, in words from the block's start */
    MEASURED_THETA,
    MEASURED_NDF,
    MEASURED_SIGMA = MEASURED_NDF + BILINEAR_WORDS,
    MEASURED_VISIBLE = MEASURED_SIGMA + BILINEAR_WORDS,
    MEASURED_LUMINANCE = MEASURED_VISIBLE + BILINEAR_WORDS,
    MEASURED_LIGHT = MEASURED_LUMINANCE + BILINEAR_WORDS,
    MEASURED_NM_COUNT = MEASURED_LIGHT + BILINEAR_WORDS,
    MEASURED_NM,
    MEASURED_WORDS
};
/* What code is specialised to. HALF, QUARTER: the symmetries of an anisotropic material. */
enum {
    VARIANT_AZIMUTHS = 1,
    VARIANT_ANISOTROPIC = 2,
    VARIANT_JACOBIAN = 4,
    VARIANT_HALF = 8,
    VARIANT_QUARTER = 16
};
static const float pi = 3.14159265358979323846f;

/* ---- loading ---- */

static uint64_t words_of(const scene_measured *m)
{
    return MEASURED_WORDS + (uint64_t)m->phi_count + m->theta_count + m->nm_count +
           bilinear_room(&m->ndf, false) + bilinear_room(&m->sigma, false) +
           bilinear_room(&m->visible, true) + bilinear_room(&m->luminance, true) +
           bilinear_room(&m->light, false);
}

static uint32_t write_axis(const float *places, uint32_t count, uint32_t *block, uint32_t word, uint32_t at)
{
    block[word] = at;
    if (count > 0)
        memcpy(block + at, places, count * sizeof *places);
    return at + count;
}

static void write_block(const scene_measured *m, uint32_t *block)
{
    uint32_t at = MEASURED_WORDS;
    block[MEASURED_PHI_COUNT] = m->phi_count, block[MEASURED_THETA_COUNT] = m->theta_count;
    block[MEASURED_NM_COUNT] = m->nm_count;
    at = write_axis(m->phi, m->phi_count, block, MEASURED_PHI, at);
    at = write_axis(m->theta, m->theta_count, block, MEASURED_THETA, at);
    at = write_axis(m->nm, m->nm_count, block, MEASURED_NM, at);
    at = bilinear_write(&m->ndf, false, block, MEASURED_NDF, at);
    at = bilinear_write(&m->sigma, false, block, MEASURED_SIGMA, at);
    at = bilinear_write(&m->visible, true, block, MEASURED_VISIBLE, at);
    at = bilinear_write(&m->luminance, true, block, MEASURED_LUMINANCE, at);
    bilinear_write(&m->light, false, block, MEASURED_LIGHT, at);
}

static uint32_t variant_of(const scene_measured *m)
{
    uint32_t variant = (m->phi_count > 1 ? VARIANT_AZIMUTHS : 0) | (m->jacobian ? VARIANT_JACOBIAN : 0);
    if (m->phi_count <= 2)
        return variant;
    double range = (double)m->phi[m->phi_count - 1] - (double)m->phi[0],
           share = round(2 * (double)pi / range);
    return variant | VARIANT_ANISOTROPIC | (share == 4 ? VARIANT_QUARTER : share >= 2 ? VARIANT_HALF : 0);
}

static bl_result measured_object_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *file = scene_get(o, "filename");
    scene_measured m;
    bl_error reason = {0};
    bl_result r = measured_load(file->path, s->mode->light == LIGHT_SPECTRAL, &m, &reason);
    if (r != BL_OK)
        return scene_error(err, r, file->where, "measured: %s", reason.text);
    r = render_room(s, 0, words_of(&m), err);
    if (r == BL_OK)
        write_block(&m, render_add_words(s, o, (uint32_t)words_of(&m), variant_of(&m)));
    measured_free(&m);
    return r;
}

static void measured_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[0] = p->geometry + render_words(p->scene, o)->begin;
}

static uint32_t measured_variant(const render_scene *s, const scene_object *o)
{
    return render_words(s, o)->kind;
}

static uint32_t measured_needs(const class_node *n)
{
    return n->variant & VARIANT_ANISOTROPIC ? NEED_TANGENTS : 0;
}

/* ---- directions ---- */

/* The angle from z and the azimuth, both with derivatives everywhere but the azimuth's along z. */
typedef struct angles {
    ir_ref theta, phi;
} angles;

static angles angles_of(tracer *t, vec3 w)
{
    ir_func *f = t->f;
    ir_ref across = t_mad(t, w.x, w.x, t_sqr(t, w.y)), pole = ir_eq(f, across, t_f32(t, 0)),
           zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref theta = ir_atan2(f, t_safe_sqrt(t, across), ir_select(f, pole, one, w.z));
    return (angles){theta, ir_atan2(f, ir_select(f, pole, zero, w.y), ir_select(f, pole, one, w.x))};
}

/* What a direction is mirrored by: it has negative y, and negative x, too, behind that. */
typedef struct mirror {
    ir_ref x, y; /* 1 or -1; none: that coordinate stays */
} mirror;

static mirror mirror_of(tracer *t, uint32_t variant, vec3 wi)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), minus = t_f32(t, -1);
    mirror m = {{0}, {0}};
    if (variant & (VARIANT_HALF | VARIANT_QUARTER))
        m.x = m.y = ir_select(f, ir_lt(f, wi.y, zero), one, minus);
    if (variant & VARIANT_QUARTER)
        m.x = ir_select(f, ir_lt(f, wi.x, zero), one, minus);
    return m;
}

static vec3 mirrored(tracer *t, mirror m, vec3 w)
{
    if (ir_is_none(m.y))
        return w;
    return v3(ir_mul(t->f, w.x, m.x), ir_mul(t->f, w.y, m.y), w.z);
}

/* ---- tables ---- */

/* The material as seen from one direction. */
typedef struct view {
    tracer *t;
    uint32_t variant;
    ir_ref block;
    mirror mirror;
    vec3 wi; /* mirrored */
    angles at;
    bilinear_slices slices;
} view;

static view view_from(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    view v = {.t = t, .variant = ctx->n->variant, .block = t_word(t, ctx->record, ctx->n->extra_word)};
    v.mirror = mirror_of(t, v.variant, ctx->wi);
    v.wi = mirrored(t, v.mirror, ctx->wi), v.at = angles_of(t, v.wi);
    ir_ref thetas = t_word(t, v.block, MEASURED_THETA_COUNT), part, one = t_f32(t, 1);
    ir_ref k = bilinear_interval(t, ir_add(f, v.block, t_word(t, v.block, MEASURED_THETA)), thetas,
                                 v.at.theta, &part);
    ir_ref weight[2] = {ir_sub(f, one, part), part};
    v.slices.count = 2;
    for (uint32_t i = 0; i < 2; i++)
        v.slices.index[i] = t_offset(t, k, i), v.slices.weight[i] = weight[i];
    if (!(v.variant & VARIANT_AZIMUTHS))
        return v;
    ir_ref j = bilinear_interval(t, ir_add(f, v.block, t_word(t, v.block, MEASURED_PHI)),
                                 t_word(t, v.block, MEASURED_PHI_COUNT), v.at.phi, &part);
    ir_ref turn[2] = {ir_sub(f, one, part), part};
    v.slices.count = 4;
    for (uint32_t i = 0; i < 4; i++) {
        v.slices.index[i] = t_mad(t, t_offset(t, j, i / 2), thetas, t_offset(t, k, i % 2));
        v.slices.weight[i] = ir_mul(f, turn[i / 2], weight[i % 2]);
    }
    return v;
}

static const bilinear_slices only = {0};

static bilinear grid_of(const view *v, uint32_t word, const bilinear_slices *slices)
{
    return (bilinear){v->block, t_offset(v->t, v->block, word), slices};
}

static vec2 place_of(tracer *t, ir_ref theta, ir_ref phi)
{
    ir_func *f = t->f;
    ir_ref y = ir_mul(f, ir_add(f, phi, t_f32(t, pi)), t_f32(t, 0.5f / pi));
    return (vec2){t_safe_sqrt(t, ir_mul(f, theta, t_f32(t, 2 / pi))), ir_sub(f, y, ir_floor(f, y))};
}

/* A microfacet normal as coordinates of the unit square, and back. */
static vec2 normal_place(const view *v, const angles *m)
{
    ir_ref phi = v->variant & VARIANT_ANISOTROPIC ? m->phi : ir_sub(v->t->f, m->phi, v->at.phi);
    return place_of(v->t, m->theta, phi);
}

static angles place_normal(const view *v, vec2 u)
{
    tracer *t = v->t;
    ir_func *f = t->f;
    ir_ref phi = ir_mul(f, ir_sub(f, ir_add(f, u.y, u.y), t_f32(t, 1)), t_f32(t, pi));
    return (angles){ir_mul(f, t_sqr(t, u.x), t_f32(t, 0.5f * pi)),
                    v->variant & VARIANT_ANISOTROPIC ? phi : ir_add(f, phi, v->at.phi)};
}

/* The area of directions wo that belongs to an area of the unit square. */
static ir_ref stretch(const view *v, vec3 m, angles at, vec2 u)
{
    tracer *t = v->t;
    ir_func *f = t->f;
    ir_ref of_normals =
        ir_max(f, ir_mul(f, t_f32(t, 2 * pi * pi), ir_mul(f, u.x, ir_sin(f, at.theta))), t_f32(t, 1e-6f));
    return ir_mul(f, of_normals, ir_mul(f, t_f32(t, 4), ir_max(f, v3_dot(t, v->wi, m), t_f32(t, 1e-6f))));
}

/* The density of the normal at u in solid angle of wo. before: the place that is mapped to u. */
static ir_ref density(const view *v, vec3 m, angles at, vec2 u, vec2 before)
{
    tracer *t = v->t;
    bilinear visible = grid_of(v, MEASURED_VISIBLE, &v->slices),
             luminance = grid_of(v, MEASURED_LUMINANCE, &v->slices);
    return ir_div(t->f,
                  ir_mul(t->f, bilinear_density(t, &visible, u), bilinear_density(t, &luminance, before)),
                  stretch(v, m, at, u));
}

static ir_ref both_above(tracer *t, vec3 wi, vec3 wo)
{
    return ir_and(t->f, ir_gt(t->f, wi.z, t_f32(t, 0)), ir_gt(t->f, wo.z, t_f32(t, 0)));
}

/* The normal between two directions. Where one is below the surface, that of wi alone. */
static vec3 half_way(tracer *t, vec3 wi, vec3 wo)
{
    vec3 up = v3(t_f32(t, 0), t_f32(t, 0), t_f32(t, 1));
    ir_ref above = both_above(t, wi, wo);
    return v3_normalize(t, v3_add(t, v3_select(t, above, wi, up), v3_select(t, above, wo, up)));
}

/* ---- the material ---- */

static ir_ref measured_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    view v = view_from(ctx);
    vec3 m = half_way(t, v.wi, mirrored(t, v.mirror, wo));
    angles at = angles_of(t, m);
    vec2 u = normal_place(&v, &at);
    bilinear visible = grid_of(&v, MEASURED_VISIBLE, &v.slices);
    ir_ref pdf = density(&v, m, at, u, bilinear_inverse(t, &visible, u));
    return ir_select(t->f, both_above(t, ctx->wi, wo), pdf, t_f32(t, 0));
}

static bsdf_sample measured_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    (void)u_lobe;
    view v = view_from(ctx);
    bilinear visible = grid_of(&v, MEASURED_VISIBLE, &v.slices),
             luminance = grid_of(&v, MEASURED_LUMINANCE, &v.slices);
    vec2 before = bilinear_sample(t, &luminance, (vec2){u1, u2}), u = bilinear_sample(t, &visible, before);
    angles at = place_normal(&v, u);
    ir_ref sine = ir_sin(f, at.theta);
    vec3 m = v3(ir_mul(f, ir_cos(f, at.phi), sine), ir_mul(f, ir_sin(f, at.phi), sine), ir_cos(f, at.theta));
    ir_ref along = v3_dot(t, v.wi, m);
    vec3 wo = v3_sub(t, v3_scale(t, m, ir_add(f, along, along)), v.wi);
    ir_ref right = ir_and(f, both_above(t, ctx->wi, wo), ir_gt(f, along, t_f32(t, 0)));
    vec3 out = mirrored(t, v.mirror, wo);
    return (bsdf_sample){
        .wo = out,
        .pdf = ir_select(f, right, measured_pdf(ctx, out), t_f32(t, 0)),
        .eta = t_f32(t, 1),
        .delta = ir_bool(f, false),
        .lobe = t_u32(t, 0),
    };
}

/* The grid of colours at a channel, or between it and the next one. */
static ir_ref channel_at(const view *v, ir_ref channels, ir_ref channel, const ir_ref *between, vec2 u)
{
    tracer *t = v->t;
    bilinear_slices of = v->slices;
    for (uint32_t k = 0; k < v->slices.count; k++) {
        ir_ref first = t_mad(t, v->slices.index[k], channels, channel);
        of.index[k] = first;
        if (!between)
            continue;
        ir_ref high = ir_mul(t->f, v->slices.weight[k], *between);
        of.weight[k] = ir_sub(t->f, v->slices.weight[k], high);
        of.index[of.count] = t_offset(t, first, 1), of.weight[of.count++] = high;
    }
    bilinear values = grid_of(v, MEASURED_LIGHT, &of);
    return bilinear_at(t, &values, u);
}

/* What the file says at a place of the square, times a number. */
static color light_at(const view *v, vec2 u, ir_ref scale)
{
    tracer *t = v->t;
    if (t->light == LIGHT_SPECTRAL) {
        ir_ref count = t_word(t, v->block, MEASURED_NM_COUNT),
               table = ir_add(t->f, v->block, t_word(t, v->block, MEASURED_NM));
        color c = {0};
        for (uint32_t k = 0; k < t->channels; k++) {
            ir_ref share, first = bilinear_interval(t, table, count, t->wavelengths->nm[k], &share);
            c.c[k] = ir_mul(t->f, channel_at(v, count, first, &share, u), scale);
        }
        return c;
    }
    ir_ref rgb[3];
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = ir_mul(t->f, channel_at(v, t_u32(t, 3), t_u32(t, c), NULL, u), scale);
    return light_of_rgb(t, rgb);
}

static color measured_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    (void)delta, (void)lobe;
    view v = view_from(ctx);
    vec3 m = half_way(t, v.wi, mirrored(t, v.mirror, wo));
    angles at = angles_of(t, m);
    vec2 u = normal_place(&v, &at), seen = place_of(t, v.at.theta, v.at.phi);
    bilinear visible = grid_of(&v, MEASURED_VISIBLE, &v.slices), ndf = grid_of(&v, MEASURED_NDF, &only),
             sigma = grid_of(&v, MEASURED_SIGMA, &only);
    vec2 before = bilinear_inverse(t, &visible, u);
    ir_ref scale = t_f32(t, 1), zero = t_f32(t, 0);
    if (v.variant & VARIANT_JACOBIAN)
        scale = t_ratio(t, bilinear_at(t, &ndf, u), ir_mul(f, t_f32(t, 4), bilinear_at(t, &sigma, seen)));
    scale = ir_select(f, both_above(t, ctx->wi, wo), scale, zero);
    return light_at(&v, before, scale);
}

static const plugin_param measured_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0,
     "a measurement of the RGL database: NAME_rgb.bsdf, where light is spectral NAME_spec.bsdf"},
};
const bsdf_class bsdf_measured = {
    .base = {.plugin = {PLUGIN_BSDF, "measured", PLUGIN_TABLE(measured_params), PLUGIN_NONE,
                        "a measured material, one-sided"},
             .extra_words = 1,
             .load = measured_object_load,
             .variant = measured_variant,
             .needs = measured_needs,
             .extra = measured_extra},
    .sample = measured_sample,
    .pdf = measured_pdf,
    .value = measured_value,
};
