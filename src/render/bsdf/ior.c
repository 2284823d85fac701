/* SPDX-License-Identifier: BSD-3-Clause
 * Indices of refraction by number, by name, at standard conditions, and by samples over wavelengths. The
 * table is Mitsuba's; glasses with a curve are in glass.c. Every dielectric makes one parameter, "eta", of
 * two indices, and that parameter is here, too.
 *
 * Where light is spectral and an index is a curve, "eta" has a number for each of its samples, with straight
 * lines between them: those of int_ior, if ext_ior is one number; else at equal distances. In
 * the buffer of values two numbers stand before it, how many samples there are and how many cells a nm has,
 * and behind it their wavelengths, and for each cell of a nm the interval between samples where it begins. No
 * cell has more than one sample, so a lookup needs no search. */
#include "render/bsdf/fresnel.h"
#include "render/spectrum/spectrum.h"

#include <strings.h>

enum { GIVEN_MOST = 4096, GLASS_STEP = 5 /* nm */, CELLS_MOST = 1 << 16 };
enum { CURVE_COUNT = 2, CURVE_CELLS = 1 }; /* that many words before the samples */
static const double helium_line = 587.56;  /* nm */

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

/* The wavelengths of the samples that "eta" has. */
typedef struct curve_places {
    uint32_t count;
    const double *nm;
    double regular[471];
} curve_places;

static void place_samples(const index_given *inside, const index_given *outside, curve_places *p)
{
    if (inside->count && outside->count == 0 && !outside->glass) {
        p->count = inside->count, p->nm = inside->nm;
        return;
    }
    const int step = inside->count || outside->count ? 1 : GLASS_STEP;
    p->nm = p->regular;
    for (p->count = 0; WAVELENGTH_FIRST + (float)(step * (int)p->count) <= WAVELENGTH_LAST; p->count++)
        p->regular[p->count] = (double)WAVELENGTH_FIRST + step * (double)p->count;
}

/* Cells as long as the least distance between two samples. 0: there would be too many. */
static uint32_t count_cells(const curve_places *p, double *per_nm)
{
    double least = (double)WAVELENGTH_LAST;
    for (uint32_t k = 1; k < p->count; k++)
        least = fmin(least, p->nm[k] - p->nm[k - 1]);
    double cells = ceil(((double)WAVELENGTH_LAST - (double)WAVELENGTH_FIRST) / least) + 1;
    *per_nm = (double)(float)(1 / least);
    return cells < CELLS_MOST ? (uint32_t)cells : 0;
}

static void push_places(render_scene *s, const curve_places *p, uint32_t cells, double per_nm)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < p->count; i++)
        array_push(&s->values, (float)p->nm[i]);
    for (uint32_t c = 0; c < cells; c++) {
        while (k + 2 < p->count && p->nm[k + 1] <= (double)WAVELENGTH_FIRST + c / per_nm)
            k++;
        array_push(&s->values, (float)k);
    }
}

static bl_result curve_load(render_scene *s, const scene_object *o, const index_given *inside,
                            const index_given *outside, uint32_t *parameter, bl_error *err)
{
    curve_places p;
    double per_nm;
    float eta[GIVEN_MOST];
    place_samples(inside, outside, &p);
    uint32_t cells = count_cells(&p, &per_nm);
    if (cells == 0)
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: samples of an index are closer than %g nm",
                           o->cls->name, ((double)WAVELENGTH_LAST - (double)WAVELENGTH_FIRST) / CELLS_MOST);
    for (uint32_t k = 0; k < p.count; k++)
        eta[k] = (float)(index_at(inside, p.nm[k]) / index_at(outside, p.nm[k]));
    s->disperses = true;
    array_push(&s->values, (float)p.count);
    array_push(&s->values, (float)per_nm);
    *parameter = render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &p.count, 1e-3f, 1e3f, eta});
    push_places(s, &p, cells, per_nm);
    return BL_OK;
}

bl_result interface_load(render_scene *s, const scene_object *o, bool turns, bl_error *err)
{
    static const uint32_t one = 1;
    index_given inside, outside;
    uint32_t p = PLAN_NONE;
    TRY(ior_read(o, "int_ior", &inside, err));
    TRY(ior_read(o, "ext_ior", &outside, err));
    if (((const render_class *)o->cls)->disperses && interface_disperses(s, o)) {
        TRY(curve_load(s, o, &inside, &outside, &p, err));
    } else {
        float eta = (float)(index_at(&inside, helium_line) / index_at(&outside, helium_line));
        p = render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &one, 1e-3f, 1e3f, &eta});
    }
    if (turns)
        render_turns(s, p);
    return BL_OK;
}

void interface_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[INTERFACE_ETA] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[INTERFACE_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
}

/* A number that is no parameter. */
static ir_ref read_constant(tracer *t, ir_ref word) { return ir_load(t->f, IR_F32, BUFFER_VALUES, word); }

static ir_ref curve_at(tracer *t, const class_node *n, ir_ref record, ir_ref nm)
{
    ir_func *f = t->f;
    const uint32_t word = n->extra_word + INTERFACE_ETA;
    ir_ref first = t_word(t, record, word), one = t_u32(t, 1),
           count = ir_to_u32(f, read_constant(t, ir_sub(f, first, t_u32(t, CURVE_COUNT)))),
           per_nm = read_constant(t, ir_sub(f, first, t_u32(t, CURVE_CELLS))),
           places = ir_add(f, first, count), cells = ir_add(f, places, count);
    nm = t_clamp(t, nm, WAVELENGTH_FIRST, WAVELENGTH_LAST);
    ir_ref cell = ir_to_u32(f, ir_mul(f, ir_sub(f, nm, t_f32(t, WAVELENGTH_FIRST)), per_nm)),
           k = ir_to_u32(f, read_constant(t, ir_add(f, cells, cell))),
           next = ir_min(f, ir_add(f, k, one), ir_sub(f, count, t_u32(t, 2))),
           behind = ir_gt(f, nm, read_constant(t, t_offset(t, ir_add(f, places, k), 1)));
    k = ir_select(f, behind, next, k);
    ir_ref low = read_constant(t, ir_add(f, places, k)),
           high = read_constant(t, t_offset(t, ir_add(f, places, k), 1)),
           share = ir_div(f, ir_sub(f, nm, low), ir_sub(f, high, low)),
           a = plan_load(t, n, record, word, PLAN_DATA_SLOT, k),
           b = plan_load(t, n, record, word, PLAN_DATA_SLOT, t_offset(t, k, 1));
    return t_mad(t, share, ir_sub(f, b, a), a);
}

ir_ref interface_eta(tracer *t, const class_node *n, ir_ref record)
{
    return n->disperses ? curve_at(t, n, record, t->wavelengths->bends)
                        : plan_load(t, n, record, n->extra_word + INTERFACE_ETA, PLAN_DATA_SLOT, t_u32(t, 0));
}

color interface_value(const bsdf_context *ctx, ir_ref reflectance, ir_ref transmittance, ir_ref delta,
                      ir_ref reflects)
{
    tracer *t = ctx->t;
    color reflected = color_scale(t, bsdf_texture(ctx, "specular_reflectance"), reflectance);
    color transmitted = color_scale(t, bsdf_texture(ctx, "specular_transmittance"), transmittance);
    return color_select(t, delta, color_select(t, reflects, reflected, transmitted), color_all(t_f32(t, 0)));
}
