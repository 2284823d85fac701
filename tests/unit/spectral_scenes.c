/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes whose light is spectral: what parameters become light at given wavelengths, read by the plan of the
 * scene in the interpreter, against values that Mitsuba 3.9 gives in llvm_ad_spectral; derivatives by the
 * parameters, through derived values, against differences; and what is refused. Scenes of the tables are
 * traced or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/bsdf/fresnel.h"
#include "render/bsdf/hair_lobes.h"
#include "render/bsdf/metal.h"
#include "render/integrator/derived/derived.h"
#include "render/integrator/passes.h"
#include "render/spectrum/spectrum.h"
#include "spirv_gen/ad/ad.h"
#include "support/scene_cases.h"
#include "support/scene_traced.h"

#include <math.h>
#include <string.h>

static const float nm[WAVELENGTHS] = {450, 550, 650, 780};

/* ---- a scene, and its texture `param` of the first material or light, read at nm ---- */

typedef struct rig {
    render_scene *scene;
    plan *plan;
    const class_node *n;
    uint32_t record;
    double *values, *gradient;
} rig;

static bl_result load(const char *body, render_scene **out, bl_error *err)
{
    arena a = {0};
    scene_load_options o = {.registry = &render_registry, .spectral = true};
    scene_description *d;
    const char *xml = arena_printf(&a, "<scene version='3.0.0'>%s<sensor type='perspective'/></scene>", body);
    bl_result r = scene_load_string(xml, ".", &o, &d, err);
    if (r == BL_OK)
        r = render_scene_create(d, &(render_overrides){.mode = "spectral"}, out, err);
    arena_free(&a);
    return r;
}

/* What a rig reads of: the first material, light or medium. */
static bool has(const char *body, const char *what) { return strstr(body, what) != NULL; }

/* All parameters are requested. */
static rig open_rig(const char *body)
{
    rig r = {0};
    bl_error err = {0};
    uint32_t all[32];
    if (load(body, &r.scene, &err) != BL_OK)
        fail_msg("%s", err.text);
    uint32_t count = r.scene->parameters.count;
    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    r.plan = plan_create(r.scene, all, count, PLAN_RAYS_BVH, 0);
    const uint32_t *w = r.plan->words.data;
    if (has(body, "<medium")) {
        const uint32_t *medium = w + w[HEADER_MEDIA];
        r.n = r.plan->media.data[medium[MEDIUM_CLASS]], r.record = medium[MEDIUM_RECORD];
    } else if (has(body, "<emitter")) {
        r.n = r.plan->emitters.data[w[w[HEADER_EMITTERS]]], r.record = w[w[HEADER_EMITTERS] + 1];
    } else {
        r.n = r.plan->bsdfs.data[w[w[HEADER_SHAPES] + SHAPE_BSDF_CLASS]];
        r.record = w[w[HEADER_SHAPES] + SHAPE_BSDF_RECORD];
    }
    r.values = calloc(r.plan->value_count + 1u, sizeof *r.values);
    r.gradient = calloc(r.plan->gradient_count + 1u, sizeof *r.gradient);
    for (uint32_t i = 0; i < r.scene->values.count; i++)
        r.values[i] = (double)r.scene->values.data[i];
    return r;
}

static void close_rig(rig *r)
{
    plan_destroy(r->plan);
    render_scene_destroy(r->scene);
    free(r->values), free(r->gradient);
}

static void evaluate(const rig *r, ir_module *m, uint32_t number, ir_value *out)
{
    bl_error err = {0};
    uint32_t none[1] = {0}, uniforms[UNIFORM_COUNT] = {[UNIFORM_LANE_COUNT] = r->plan->update_count};
    ir_eval_buffer buffers[BUFFER_COUNT];
    for (int k = 0; k < BUFFER_COUNT; k++)
        buffers[k] = (ir_eval_buffer){.words = none, .count = 1};
    buffers[BUFFER_SCENE] = (ir_eval_buffer){.words = r->plan->words.data, .count = r->plan->words.count};
    buffers[BUFFER_VALUES] = (ir_eval_buffer){.reals = r->values, .count = r->plan->value_count};
    buffers[BUFFER_GRADIENT] = (ir_eval_buffer){.reals = r->gradient, .count = r->plan->gradient_count + 1};
    ir_eval_env env = {.buffers = buffers,
                       .buffer_count = BUFFER_COUNT,
                       .uniforms = uniforms,
                       .uniform_count = UNIFORM_COUNT,
                       .global_id = number,
                       .f64 = true};
    if (ir_eval(m->entry, NULL, out, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
}

/* Runs a kernel over the derived values of all objects. */
static void update(const rig *r, render_pass pass)
{
    bl_error err = {0};
    ir_module *m = kernel_module(r->plan);
    bl_result made =
        pass == RENDER_UPDATE ? kernel_update(r->plan, m) : kernel_update_adjoint(r->plan, m, false);
    if (made != BL_OK || ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t number = 0; number < r->plan->update_count; number++)
        evaluate(r, m, number, NULL);
    ir_module_destroy(m);
}

static color light_read(tracer *t, const rig *r, const char *param, vec2 uv)
{
    ir_ref record = t_u32(t, r->record), zero = t_f32(t, 0), one = t_f32(t, 1);
    if (strcmp(param, "eumelanin") == 0 || strcmp(param, "pheomelanin") == 0)
        return hair_absorption(t, *param == 'e' ? one : zero, *param == 'e' ? zero : one);
    color indices = {0};
    for (int k = 0; k < WAVELENGTHS && strcmp(param, "eta of glass") == 0; k++) {
        wavelength_set at = *t->wavelengths;
        tracer bent = *t;
        at.bends = at.nm[k], bent.wavelengths = &at;
        indices.c[k] = interface_eta(&bent, r->n, record);
    }
    if (strcmp(param, "eta of glass") == 0)
        return indices;
    return r->n->cls->plugin.category == PLUGIN_MEDIUM
               ? medium_extinction(t, r->n, record, v3(zero, zero, zero))
               : plan_texture(t, r->n, record, param, uv);
}

/* The texture, or the extinction of a medium, at the wavelengths. With weights, derivatives of its weighted
 * sum are added to the gradient. */
static void read(const rig *r, const char *param, vec2 (*uv)(tracer *), const double *weights, double *out)
{
    bl_error err = {0};
    ir_module *m = kernel_module(r->plan);
    ir_func *f = ir_func_create(m, "read");
    m->entry = f;
    tracer t = plan_tracer(r->plan, f);
    wavelength_set set = {0};
    for (int k = 0; k < WAVELENGTHS; k++)
        set.nm[k] = t_f32(&t, nm[k]);
    wavelengths_observe(&t, t_word(&t, t_u32(&t, 0), HEADER_SPECTRUM), &set);
    t.wavelengths = &set, t.differentiated = weights != NULL;
    color c = light_read(&t, r, param, uv(&t));
    ir_ref seeds[WAVELENGTHS];
    for (int k = 0; k < WAVELENGTHS && weights; k++)
        seeds[k] = t_f32(&t, (float)weights[k]);
    if (weights)
        ad_backward(f, c.c, seeds, WAVELENGTHS, NULL, NULL, 0);
    ir_return(f, c.c, WAVELENGTHS);
    if (ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_value got[WAVELENGTHS];
    evaluate(r, m, 0, got);
    for (int k = 0; k < WAVELENGTHS; k++)
        out[k] = got[k].f;
    ir_module_destroy(m);
}

static vec2 middle(tracer *t) { return (vec2){t_f32(t, 0.5f), t_f32(t, 0.5f)}; }

/* ---- values ---- */

#define MATERIAL(inside) "<shape type='sphere'><bsdf type='diffuse'>" inside "</bsdf></shape>"
#define LIGHT(inside) "<shape type='sphere'><emitter type='area'>" inside "</emitter></shape>"
#define MEDIUM(inside)                                                                                       \
    "<shape type='sphere'><medium type='homogeneous' name='interior'>" inside "</medium></shape>"
#define GLASS(index) "<shape type='sphere'><bsdf type='dielectric'>" index "</bsdf></shape>"
#define METAL(inside) "<shape type='sphere'><bsdf type='conductor'>" inside "</bsdf></shape>"

static const struct {
    const char *body, *param;
    double expected[WAVELENGTHS], tolerance; /* of Mitsuba's table of colours: .5 % or so */
} known[] = {
    {MATERIAL("<float name='reflectance' value='.3'/>"), "reflectance", {.3, .3, .3, .3}, 1e-6},
    {MATERIAL("<rgb name='reflectance' value='.63,.065,.05'/>"),
     "reflectance",
     {.05952, .08765, .89805, .99655},
     4e-3},
    {MATERIAL("<spectrum name='reflectance' value='.3'/>"), "reflectance", {.3, .3, .3, .3}, 1e-6},
    {MATERIAL("<spectrum name='reflectance' value='400:.1,700:.8'/>"),
     "reflectance",
     {.21667, .45, .68333, 0},
     1e-5},
    {MATERIAL(
         "<spectrum type='blackbody' name='reflectance'><float name='temperature' value='3000'/></spectrum>"),
     "reflectance",
     {151.82172, 386.54233, 641.59015, 883.22437},
     .02},
    {LIGHT("<float name='radiance' value='2'/>"), "radiance", {2.36386, 2.10199, 1.61675, 1.28049}, 1e-4},
    {LIGHT("<rgb name='radiance' value='2,1,.5'/>"), "radiance", {.65562, 1.11541, 1.77912, 2.22814}, 2e-2},
    {LIGHT("<spectrum name='radiance' value='2'/>"), "radiance", {2, 2, 2, 2}, 1e-5},
    {LIGHT("<spectrum name='radiance' value='400:1,700:2'/>"), "radiance", {1.16667, 1.5, 1.83333, 0}, 1e-5},
    {LIGHT("<spectrum type='d65' name='radiance'/>"), "radiance", {1.18193, 1.051, .80837, .64025}, 1e-4},
    {LIGHT("<spectrum type='uniform' name='radiance'><float name='value' value='2'/></spectrum>"),
     "radiance",
     {2, 2, 2, 2},
     1e-5},
    {LIGHT("<spectrum type='srgb' name='radiance'><rgb name='color' value='.2,.3,.4'/></spectrum>"),
     "radiance",
     {.39106, .29235, .19509, .10421},
     2e-2},
    {LIGHT(
         "<spectrum type='irregular' name='radiance'><string name='wavelengths' value='400,500,700'/><string "
         "name='values' value='1,2,4'/></spectrum>"),
     "radiance",
     {1.5, 2.5, 3.5, 0},
     1e-5},
    {LIGHT("<texture type='checkerboard' name='radiance'><rgb name='color0' value='.25'/><rgb name='color1' "
           "value='.25'/></texture>"),
     "radiance",
     {.25, .25, .25, .25},
     1e-5},
    {MEDIUM("<rgb name='sigma_t' value='.8,.3,.1'/>"), "sigma_t", {.12538, .32695, .83379, .97844}, 4e-3},
    {MEDIUM("<rgb name='sigma_t' value='.8,.3,.1'/><float name='scale' value='3'/>"),
     "sigma_t",
     {.37614, .98086, 2.50136, 2.93531},
     1.2e-2},
    {MEDIUM("<rgb name='sigma_t' value='.3'/>"), "sigma_t", {.3, .3, .3, .3}, 1e-5},
    {MEDIUM("<rgb name='sigma_t' value='3'/>"), "sigma_t", {3, 3, 3, 3}, 1e-4},
    {METAL("<rgb name='eta' value='.8,.3,.1'/><float name='k' value='1'/>"),
     "eta",
     {.12538, .32695, .83379, .97844},
     4e-3},
    {METAL("<float name='eta' value='1'/><rgb name='k' value='.8,.3,.1'/>"),
     "k",
     {.12538, .32695, .83379, .97844},
     4e-3},
    {METAL("<float name='eta' value='1'/><rgb name='k' value='3,3,3'/>"), "k", {3, 3, 3, 3}, 1e-4},
    {LIGHT("<texture type='checkerboard' name='radiance'><rgb name='color0' value='.8,.3,.1'/><rgb "
           "name='color1' value='.8,.3,.1'/></texture>"),
     "radiance",
     {.12538, .32695, .83379, .97844},
     4e-3},
    /* over air's 1.000277: lines between samples, Sellmeier's formula, and samples of either index */
    {GLASS("<spectrum name='int_ior' value='300:1.7,500:1.5,520:1.45,900:1.3'/>"),
     "eta of glass",
     {1.549571, 1.437760, 1.398297, 1.346995},
     1e-6},
    {GLASS("<string name='int_ior' value='N-BK7'/>"),
     "eta of glass",
     {1.524897, 1.518102, 1.514101, 1.510765},
     5e-6},
    {GLASS("<float name='int_ior' value='3'/><spectrum name='ext_ior' "
           "value='300:1,450:2,550:1.5,651:1.5,900:1'/>"),
     "eta of glass",
     {1.5, 2, 2, 2.417475},
     1e-4},
    {GLASS("<spectrum name='int_ior' value='300:3,449:3,900:3'/><spectrum name='ext_ior' "
           "value='300:1,450:2,550:1.5,650:1.5,651:1.5,900:1'/>"),
     "eta of glass",
     {1.5, 2, 2, 2.417475},
     1e-4},
};

static void parameters_become_light(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double out[WAVELENGTHS];
        rig r = open_rig(known[i].body);
        update(&r, RENDER_UPDATE);
        read(&r, known[i].param, middle, NULL, out);
        for (int k = 0; k < WAVELENGTHS; k++)
            if (!(fabs(out[k] - known[i].expected[k]) <= known[i].tolerance))
                fail_msg("%s at %g nm: %.7g, expected %.7g", known[i].body, (double)nm[k], out[k],
                         known[i].expected[k]);
        close_rig(&r);
    }
}

/* A metal by name keeps its curves. */
static void metals_keep_their_curves(void **state)
{
    (void)state;
    rig r = open_rig(METAL("<string name='material' value='Au'/>"));
    update(&r, RENDER_UPDATE);
    for (int which = 1; which <= 2; which++) {
        double out[WAVELENGTHS];
        read(&r, which == 1 ? "eta" : "k", middle, NULL, out);
        const metal *gold = metals;
        while (strcmp(gold->name, "Au") != 0)
            gold++;
        for (int k = 0; k < WAVELENGTHS; k++) {
            uint32_t i = 0;
            while (gold->samples[i + 1][0] < (double)nm[k])
                i++;
            const double *a = gold->samples[i], *b = gold->samples[i + 1];
            double share = ((double)nm[k] - a[0]) / (b[0] - a[0]);
            assert_true(fabs(out[k] - (a[which] + share * (b[which] - a[which]))) < 1e-5);
        }
    }
    close_rig(&r);
}

/* ---- derivatives ---- */

static const char *const differentiated[] = {
    MATERIAL("<rgb name='reflectance' value='.63,.065,.05'/>"),
    MATERIAL("<rgb name='reflectance' value='.5,.5,.5'/>"),
    MATERIAL("<spectrum name='reflectance' value='400:.1,500:.4,700:.8'/>"),
    LIGHT("<rgb name='radiance' value='2,1,.5'/>"),
    LIGHT("<spectrum type='blackbody' name='radiance'><float name='temperature' value='3000'/></spectrum>"),
    MEDIUM("<rgb name='sigma_t' value='.8,.3,.1'/>"),
    MEDIUM("<rgb name='sigma_t' value='3,.5,.2'/>"),
    GLASS("<spectrum name='int_ior' value='300:1.7,500:1.5,520:1.45,600:1.42,900:1.3'/>"),
};

static const render_parameter *parameter_named(const rig *r, const char *part)
{
    for (uint32_t i = 0; i < r->scene->parameters.count; i++)
        if (strstr(r->scene->parameters.data[i].name, part))
            return &r->scene->parameters.data[i];
    fail_msg("no parameter is called %s", part);
    return NULL;
}

/* Through the derived values: an update, the lookup's adjoint, the update's adjoint. */
static void derivatives_reach_the_parameters(void **state)
{
    (void)state;
    static const double weights[WAVELENGTHS] = {1, .5, 2, .7};
    for (size_t i = 0; i < sizeof differentiated / sizeof *differentiated; i++) {
        const char *param = has(differentiated[i], "<emitter")  ? "radiance"
                            : has(differentiated[i], "<medium") ? "sigma_t"
                            : has(differentiated[i], "int_ior") ? "eta of glass"
                                                                : "reflectance";
        rig r = open_rig(differentiated[i]);
        double out[WAVELENGTHS];
        update(&r, RENDER_UPDATE);
        read(&r, param, middle, weights, out);
        update(&r, RENDER_UPDATE_ADJOINT);
        const render_parameter *p = parameter_named(&r, strcmp(param, "eta of glass") == 0 ? "eta" : param);
        const uint32_t first = r.plan->gradient_offset[p - r.scene->parameters.data];
        for (uint32_t e = 0; e < p->count; e++) {
            double sum[2] = {0}, before = r.values[p->offset + e], h = 1e-4 * fmax(before, 0.1);
            for (int side = 0; side < 2; side++) {
                r.values[p->offset + e] = before + (side ? h : -h);
                update(&r, RENDER_UPDATE);
                read(&r, param, middle, NULL, out);
                for (int k = 0; k < WAVELENGTHS; k++)
                    sum[side] += (double)(float)weights[k] * out[k];
            }
            r.values[p->offset + e] = before;
            double slope = (sum[1] - sum[0]) / (2 * h), found = r.gradient[first + e];
            if (!(fabs(slope - found) <= 1e-3 * (1e-3 + fabs(slope))))
                fail_msg("%s, number %u: %.8g, differences %.8g", differentiated[i], e, found, slope);
        }
        close_rig(&r);
    }
}

/* An extinction passes 1 without a jump: an optimiser is not held there, as a reflectance is. */
static void extinctions_pass_1(void **state)
{
    (void)state;
    static const double step = 1e-4;
    rig r = open_rig(MEDIUM("<rgb name='sigma_t' value='1,.5,.2'/>"));
    double out[3][WAVELENGTHS];
    const uint32_t red = parameter_named(&r, "sigma_t")->offset;
    for (int k = 0; k < 3; k++) {
        r.values[red] = 1 + (k - 1) * step;
        update(&r, RENDER_UPDATE);
        read(&r, "sigma_t", middle, NULL, out[k]);
    }
    for (int k = 0; k < WAVELENGTHS; k++)
        if (!(fabs(out[2][k] - out[0][k]) < 100 * step))
            fail_msg("at %g nm %.6g below 1 and %.6g above", (double)nm[k], out[0][k], out[2][k]);
    r.values[red] = 2;
    update(&r, RENDER_UPDATE);
    read(&r, "sigma_t", middle, NULL, out[0]);
    assert_true(out[0][2] > 1.5 && out[0][2] > out[1][2] + 0.5);
    close_rig(&r);
}

/* The constants that pigments of hair have for their spectra are what the search finds for extinctions of
 * these colours. */
static void pigments_have_the_spectra_of_their_colours(void **state)
{
    (void)state;
    static const char *const pigments[][2] = {
        {"eumelanin", MEDIUM("<rgb name='sigma_t' value='.419,.697,1.37'/>")},
        {"pheomelanin", MEDIUM("<rgb name='sigma_t' value='.187,.4,1.05'/>")}};
    for (int i = 0; i < 2; i++) {
        double found[WAVELENGTHS], expected[WAVELENGTHS];
        rig r = open_rig(pigments[i][1]);
        update(&r, RENDER_UPDATE);
        read(&r, pigments[i][0], middle, NULL, found);
        read(&r, "sigma_t", middle, NULL, expected);
        for (int k = 0; k < WAVELENGTHS; k++)
            if (!(fabs(found[k] - expected[k]) <= 2e-6 * (1 + expected[k])))
                fail_msg("%s at %g nm: %g, expected %g", pigments[i][0], (double)nm[k], found[k],
                         expected[k]);
        close_rig(&r);
    }
}

/* ---- mistakes ---- */

static void mistakes_are_named(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {MATERIAL("<rgb name='reflectance' value='1.3,.2,.2'/>"), "is outside [0, 1]"},
        {MATERIAL("<rgb name='reflectance' value='-.1,.2,.2'/>"), "is outside [0, 1]"},
        {MATERIAL("<spectrum name='reflectance' value='400:.1,300:.8'/>"), "ascending wavelength"},
        {MATERIAL("<spectrum name='reflectance' value='400:-.1,700:.8'/>"),
         "value -0.1 at 400 nm is negative"},
        {MATERIAL("<spectrum name='reflectance' value='400:.1'/>"), "at least two samples"},
        {LIGHT(
             "<spectrum type='irregular' name='radiance'><string name='wavelengths' value='500,400'/><string "
             "name='values' value='1,2'/></spectrum>"),
         "must ascend"},
        {MATERIAL("<spectrum name='reflectance' value='900:.1,1000:.8'/>"),
         "no samples between 360 and 830 nm"},
        {LIGHT("<spectrum name='radiance' value='.4:1,.7:2'/>"), "no samples between 360 and 830 nm"},
        {METAL("<spectrum name='eta' value='300:1,900:-2'/>"), "value -2 at 900 nm is negative"},
        {GLASS("<spectrum name='int_ior' value='400:1.5,700:1.4'/>"),
         "none beyond; give all from 360 to 830 nm"},
        {GLASS("<spectrum name='int_ior' value='300:1.5,900:11'/>"), "is not in [0.1, 10]"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bl_error err = {0};
        render_scene *s = NULL;
        assert_int_not_equal(load(wrong[i][0], &s, &err), BL_OK);
        if (!strstr(err.text, wrong[i][1]) || !strstr(err.text, ":1:"))
            fail_msg("%s: %s", wrong[i][0], err.text);
    }
}

/* Beyond its samples an index of a metal is 0, as in Mitsuba, and the scene says so. */
static void short_indices_are_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *eta;
        bool is_short;
    } curves[] = {{"300:1,800:2", true}, {"400:1,900:2", true}, {"360:1,830:2", false}, {"1", false}};
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        arena a = {0};
        bl_error err = {0};
        render_scene *s = NULL;
        const char *xml = arena_printf(&a, METAL("<spectrum name='eta' value='%s'/>"), curves[i].eta);
        if (load(xml, &s, &err) != BL_OK)
            fail_msg("%s", err.text);
        const char *said = s->description->warnings.data;
        bool noticed = said && strstr(said, ":1: conductor: \"eta\" has samples from ");
        assert_true(noticed == curves[i].is_short);
        render_scene_destroy(s);
        arena_free(&a);
    }
}

/* ---- all scenes ---- */

static bl_result load_case(const scene_case *c, const char *folder, render_scene **out, bl_error *err)
{
    arena a = {0};
    scene_load_options o = {.registry = &render_registry, .spectral = true};
    scene_description *d;
    bl_result r = scene_load_string(scene_case_xml(&a, c, 3, 4, 4), folder, &o, &d, err);
    if (r == BL_OK)
        r = render_scene_create(d, &(render_overrides){.mode = "spectral"}, out, err);
    arena_free(&a);
    return r;
}

/* Records what a render and a gradient by all textures and volumes run. */
static void trace_all(const scene_case *c, const render_scene *s)
{
    static const render_pass passes[] = {RENDER_PRIMAL, RENDER_TABLES,  RENDER_UPDATE, RENDER_UPDATE_ADJOINT,
                                         RENDER_REPLAY, RENDER_ADJOINT, RENDER_FORWARD};
    uint32_t wanted[SCENE_CASE_PARAMETERS], count = 0;
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++) {
        const char *last = strrchr(c->parameters[k], '.');
        if (last && (strcmp(last, ".value") == 0 || strcmp(last, ".data") == 0))
            wanted[count++] = render_parameter_called(s, c->parameters[k]);
    }
    plan *p = plan_create(s, wanted, count, PLAN_RAYS_BVH, 0);
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        bl_error err = {0};
        ir_module *m;
        if (render_pass_lacks(p, render_passes[passes[k]].needs))
            continue;
        if (render_trace(p, passes[k], &(render_trace_options){0}, &m, &err) != BL_OK)
            fail_msg("%s, %s: %s", c->name, render_passes[passes[k]].name, err.text);
        ir_module_destroy(m);
    }
    plan_destroy(p);
}

static void scenes_are_traced_or_refused(void **state)
{
    (void)state;
    char *folder = scene_files_create();
    uint32_t recorded = 0, refused = 0;
    assert_non_null(folder);
    for (const scene_case *c = NULL; (c = scene_case_next(c));) {
        bl_error err = {0};
        render_scene *s = NULL;
        if (load_case(c, folder, &s, &err) == BL_OK)
            trace_all(c, s), recorded++;
        else if (strstr(err.text, "mode spectral") || strstr(err.text, "the modes rgb and mono alone") ||
                 strstr(err.text, "is outside [0, 1]"))
            refused++;
        else
            fail_msg("%s: %s", c->name, err.text);
        render_scene_destroy(s);
    }
    scene_files_remove(folder);
    assert_true(recorded > refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_become_light),
        cmocka_unit_test(metals_keep_their_curves),
        cmocka_unit_test(derivatives_reach_the_parameters),
        cmocka_unit_test(extinctions_pass_1),
        cmocka_unit_test(pigments_have_the_spectra_of_their_colours),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(short_indices_are_noticed),
        cmocka_unit_test(scenes_are_traced_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
