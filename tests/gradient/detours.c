/* LABELS: swiftshader native sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do the two unbiased estimators of a density's gradient agree? These are replay and differential ratio
 * tracking (integrator/media/differential_ratio_tracking.c). They are compared entry by entry, by the
 * variance between runs with different seeds:
 *
 *   layers     single scattering in a slab, against differences of the formula. One slab has layers, some
 *              of them empty; the other is the same everywhere, so that its majorant is tight. A third one
 *              has a gap, so that rays cross two stretches of different lengths.
 *   clouds     multiple scattering, in grids with and without bounds in cells, one estimator against the
 *              other. BL_LONG=1 takes a million paths each.
 *
 * Also: which of them a job or a fit takes where it is left to choose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, VALUES = 3 * SIDE * SIDE, RUNS = 8, LAYERS = 4, ENTRIES_MOST = 20 * 3 * 4 };
static const double pi = 3.14159265358979323846, z_most = 5.5,
                    z_usual = 1.6; /* of a Student's t: RUNS are few */

static scene_device device;
static char *folder;

#define FOG(volume, scale, ops)                                                                              \
    "<medium type='heterogeneous' id='fog'><volume type='gridvolume' name='sigma_t'><string "                \
    "name='filename' value='" volume "'/>"                                                                   \
    "<string name='filter_type' value='nearest'/><transform name='to_world'><translate "                     \
    "value='-.5,-.5,-.5'/>" ops "</transform></volume>"                                                      \
    "<rgb name='albedo' value='.9,.8,.7'/><float name='scale' value='" scale "'/></medium>"
#define VOLPATH(depth)                                                                                       \
    "<integrator type='volpath'><integer name='max_depth' value='" depth                                     \
    "'/><integer name='rr_depth' value='1000'/></integrator>"

/* Straight down on the square of side 1 around the origin. */
static const char from_above[] =
    "<sensor type='orthographic'><transform name='to_world'><scale value='.5,.5,1'/>"
    "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'>"
    "<integer name='width' value='4'/><integer name='height' value='4'/><rfilter "
    "type='box'/></film></sensor>";

/* Means of RUNS runs, and their variance. */
typedef struct estimate {
    double mean[ENTRIES_MOST], variance[ENTRIES_MOST];
    uint32_t count;
} estimate;

static estimate measure(const char *xml, bl_volume_gradient how, bl_gradient_form form, uint32_t spp)
{
    static const char *const names[] = {"fog.sigma_t.data"};
    float g[ENTRIES_MOST], ones[VALUES];
    double squares[ENTRIES_MOST] = {0};
    estimate e = {0};
    for (int i = 0; i < VALUES; i++)
        ones[i] = 1;
    bl_scene *scene = scene_device_load(&device, xml, folder);
    bl_job *job = NULL;
    bl_parameter_info info;
    SCENE_MUST(&device, bl_scene_parameter_info(scene, scene_device_find(&device, scene, names[0]), &info));
    e.count = info.count;
    assert_true(e.count <= ENTRIES_MOST);
    SCENE_MUST(&device,
               bl_job_create(
                   device.device, scene,
                   &(bl_job_desc){.parameters = names, .parameter_count = 1, .volume_gradient = how}, &job));
    assert_int_equal(bl_job_volume_gradient(job), how);
    for (uint32_t run = 0; run < RUNS; run++) {
        bl_stats stats;
        bl_gradient_desc d = {.form = form, .spp = spp, .seed = RUNS * (uint32_t)how + run, .adjoint = ones};
        SCENE_MUST(&device, bl_job_gradient(job, &d, &stats));
        assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, g));
        for (uint32_t i = 0; i < e.count; i++)
            e.mean[i] += (double)g[i] / RUNS, squares[i] += (double)g[i] * (double)g[i] / RUNS;
    }
    for (uint32_t i = 0; i < e.count; i++)
        e.variance[i] = fmax(squares[i] - e.mean[i] * e.mean[i], 0) / (RUNS - 1);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    return e;
}

/* The same, but for noise that must not hide more than `loudest` of the largest entry. */
static void expect_equal(const char *what, const estimate *a, const estimate *b, double loudest)
{
    double sum = 0, most = 0, noise = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        double difference = a->mean[i] - b->mean[i], variance = a->variance[i] + b->variance[i];
        if (variance == 0 && difference == 0) /* a voxel that nothing sees */
            continue;
        if (!(difference * difference <= z_most * z_most * variance))
            fail_msg("%s, entry %u: %g +- %g and %g +- %g", what, i, a->mean[i], sqrt(a->variance[i]),
                     b->mean[i], sqrt(b->variance[i]));
        sum += difference * difference / variance, most = fmax(most, fabs(b->mean[i])), noise += variance;
    }
    if (!(sum <= z_usual * z_usual * a->count))
        fail_msg("%s: root mean square of z %g", what, sqrt(sum / a->count));
    if (!(sqrt(noise / a->count) <= loudest * most))
        fail_msg("%s: noise of %g beside entries of %g at most tells nothing", what, sqrt(noise / a->count),
                 most);
}

/* ---- layers ---- */

/* Radiance that light from above leaves upward, over albedo and irradiance: the integral of sigma exp(-2 tau)
 * / 4 pi over the depth. */
static double scattered(const double *density)
{
    enum { FINE = 200 };
    double tau = 0, sum = 0;
    for (int k = LAYERS - 1; k >= 0; k--) { /* the last one is the highest */
        double step = density[k] / (LAYERS * FINE);
        for (int i = 0; i < FINE; i++, tau += step)
            sum += step * exp(-2 * (tau + step / 2));
    }
    return sum / (4 * pi);
}

static estimate by_differences(const float *layers, int gap)
{
    const double h = 1e-4, albedos = .9 + .8 + .7;
    estimate e = {.count = LAYERS};
    for (int k = 0; k < LAYERS; k++) {
        double density[LAYERS], moved[2];
        for (int sign = 0; sign < 2; sign++) {
            for (int i = 0; i < LAYERS; i++)
                density[i] = i == gap ? 0 : (double)layers[i] + (i == k ? (sign ? h : -h) : 0);
            moved[sign] = scattered(density);
        }
        e.mean[k] = SIDE * SIDE * albedos * (moved[1] - moved[0]) / (2 * h);
        e.variance[k] = 1e-8 * e.mean[k] * e.mean[k]; /* what the rule of the integral leaves */
    }
    return e;
}

/* The slab as a whole, or with nothing in the place of its layer GAP. */
enum { GAP = 1, NO_GAP = -1 };
#define PIECE(height, middle)                                                                                \
    "<shape type='cube'><transform name='to_world'><scale value='8,8," height                                \
    "'/><translate value='0,0," middle                                                                       \
    "'/></transform><bsdf type='null'/><ref id='fog' name='interior'/></shape>"
static const char *const whole = PIECE(".5", "0"), *const pieces = PIECE(".125", "-.375") PIECE(".25", ".25");

static void write_layers(const float *layers)
{
    uint32_t words[12 + LAYERS] = {
        0x034C4F56 /* VOL 3 */, 1, 1, 1, LAYERS, 1, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    memcpy(words + 12, layers, LAYERS * sizeof *layers);
    arena a = {0};
    assert_int_equal(file_write(arena_printf(&a, "%s/layers.vol", folder), words, sizeof words, NULL), BL_OK);
    arena_free(&a);
}

static void slab_agrees(const char *what, const float *layers, int gap, bl_volume_gradient how)
{
    arena a = {0};
    write_layers(layers);
    const char *body = arena_printf(
        &a,
        "%s%s<emitter type='directional'><vector name='direction' value='0,0,-1'/><rgb name='irradiance' "
        "value='1,1,1'/></emitter>",
        FOG("layers.vol", "1", "<scale value='20,20,1'/>"), gap == GAP ? pieces : whole);
    estimate got = measure(scene_xml(&a, VOLPATH("2"), from_above, body), how, BL_FORM_FUSED, 400),
             expected = by_differences(layers, gap);
    expect_equal(what, &got, &expected, 0.05);
    arena_free(&a);
}

static void layers_agree(void **state)
{
    (void)state;
    static const float some_empty[LAYERS] = {0, 1.2f, 0, .6f}, same[LAYERS] = {.8f, .8f, .8f, .8f},
                       two[LAYERS] = {1.2f, 3, .6f, .9f};
    slab_agrees("empty layers, replay", some_empty, NO_GAP, BL_VOLUME_GRADIENT_REPLAY);
    slab_agrees("empty layers, drt", some_empty, NO_GAP, BL_VOLUME_GRADIENT_DRT);
    slab_agrees("equal layers, drt", same, NO_GAP, BL_VOLUME_GRADIENT_DRT);
    slab_agrees("two pieces, replay", two, GAP, BL_VOLUME_GRADIENT_REPLAY);
}

/* ---- clouds ---- */

#define CLOUD(volume, ops) THICK_CLOUD(volume, "4", ops)
#define THICK_CLOUD(volume, scale, ops)                                                                      \
    FOG(volume, scale, ops)                                                                                  \
    "<shape type='sphere'><float name='radius' value='1'/><bsdf type='null'/><ref id='fog' "                 \
    "name='interior'/></shape>"                                                                              \
    "<emitter type='point'><point name='position' value='.5,-1.5,2'/></emitter>"                             \
    "<emitter type='constant'><rgb name='radiance' value='.4,.5,.6'/></emitter>"

static void clouds_agree(void **state)
{
    (void)state;
    const char *lengthy = getenv("BL_LONG");
    uint32_t spp = lengthy && *lengthy ? 1000000 / (SIDE * SIDE * RUNS) : 64;
    static const struct {
        const char *name, *body;
    } clouds[] = {{"one majorant", CLOUD("smoke.vol", "<scale value='1.6'/>")},
                  {"bounds in cells", CLOUD("cloud.vol", "<scale value='1.6'/>")}};
    for (int k = 0; k < (lengthy ? 2 : 1); k++) {
        arena a = {0};
        const char *xml = scene_xml(&a, VOLPATH("6"), from_above, clouds[k].body);
        estimate replay = measure(xml, BL_VOLUME_GRADIENT_REPLAY, BL_FORM_FUSED, spp),
                 drt = measure(xml, BL_VOLUME_GRADIENT_DRT, BL_FORM_SEPARATE, spp);
        expect_equal(clouds[k].name, &drt, &replay, 0.2);
        arena_free(&a);
    }
}

/* ---- the choice ---- */

static void expect_choice(bl_volume_gradient expected, const char *body, const char *parameter, bool frozen,
                          bl_volume_gradient asked)
{
    arena a = {0};
    bl_job *job = NULL;
    bl_scene *scene = scene_device_load(&device, scene_xml(&a, VOLPATH("6"), from_above, body), folder);
    bl_job_desc d = {
        .parameters = &parameter, .parameter_count = 1, .frozen = frozen, .volume_gradient = asked};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &d, &job));
    assert_string_equal(bl_volume_gradient_name(bl_job_volume_gradient(job)),
                        bl_volume_gradient_name(expected));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void jobs_choose(void **state)
{
    (void)state;
    const char *a_third_empty = CLOUD("smoke.vol", "<scale value='1.6'/>"),
               *full = CLOUD("tint.vol", "<scale value='1.6'/>"),
               *thin = THICK_CLOUD("tint.vol", ".01", "<scale value='1.6'/>");
    const bl_volume_gradient open = BL_VOLUME_GRADIENT_AUTO, replay = BL_VOLUME_GRADIENT_REPLAY,
                             drt = BL_VOLUME_GRADIENT_DRT;
    expect_choice(drt, a_third_empty, "fog.sigma_t.data", false, open);
    expect_choice(replay, full, "fog.sigma_t.data", false, open);
    expect_choice(drt, thin, "fog.sigma_t.data", false,
                  open); /* the bound on the extinction is what a thin medium needs, far above it */
    expect_choice(replay, a_third_empty, "fog.scale", false,
                  open); /* the sum over voxels, of which empty ones are no part */
    expect_choice(replay, a_third_empty, "fog.sigma_t.data", true, open);
    expect_choice(replay, a_third_empty, "fog.sigma_t.data", false, replay);
    expect_choice(drt, full, "fog.sigma_t.data", false, drt);
}

/* A fit that starts from layers, without looking at what it makes of them. */
static void expect_fit_choice(bl_volume_gradient expected, const float *layers, bl_volume_gradient asked)
{
    arena a = {0};
    bl_fit *fit = NULL;
    bl_fit_status status;
    write_layers(layers);
    bl_scene *scene = scene_device_load(
        &device, scene_xml(&a, VOLPATH("6"), from_above, CLOUD("layers.vol", "<scale value='1.6'/>")),
        folder);
    const float target[VALUES] = {0};
    const bl_fit_parameter density = {.name = "fog.sigma_t.data", .rate = 0.1};
    const bl_fit_view view = {.target = target};
    const bl_fit_desc d = {.parameters = &density,
                           .parameter_count = 1,
                           .views = &view,
                           .view_count = 1,
                           .spp = 2,
                           .volume_gradient = asked};
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &d, &fit));
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    assert_string_equal(bl_volume_gradient_name(status.volume_gradient), bl_volume_gradient_name(expected));
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void fits_choose(void **state)
{
    (void)state;
    const float even[LAYERS] = {1, 1, 1, 1}, uneven[LAYERS] = {1, .9f, 1, 1}, empty[LAYERS] = {1, 0, 0, 0};
    const bl_volume_gradient open = BL_VOLUME_GRADIENT_AUTO, replay = BL_VOLUME_GRADIENT_REPLAY,
                             drt = BL_VOLUME_GRADIENT_DRT;
    expect_fit_choice(drt, even, open); /* of which nothing is known yet */
    expect_fit_choice(replay, uneven, open);
    expect_fit_choice(drt, empty, open);
    expect_fit_choice(replay, even, replay);
    write_layers(even);
    expect_choice(replay, CLOUD("layers.vol", "<scale value='1.6'/>"), "fog.sigma_t.data", false, open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_agree), cmocka_unit_test(clouds_agree),
                                       cmocka_unit_test(jobs_choose), cmocka_unit_test(fits_choose)};
    return SCENE_DEVICE_RUN(&device, &folder, "detours", tests);
}
