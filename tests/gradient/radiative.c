/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does radiative backpropagation have the expectation that it should, on a device? The unbiased form has
 * path replay's (a z-test over seeds), with walls that are black in a channel, roulette and mirrors. Its
 * gradient by emission needs no radiance, so it equals path replay's sample by sample. Biased I is too
 * small by exactly what it leaves out: around a convex body under a sky of 3 everywhere, that is a third.
 * Biased II is the gradient for the image of the step before. In media the unbiased form has path replay's
 * expectation, too, and so has Biased I where radiance is 1.
 *
 * Reverse mode over a tape equals path replay, sample by sample; only its memory grows with depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, SEEDS = 24, ELEMENTS_MOST = 12 };
static const double rounding = 1e-4;

static scene_device device;
static char *folder; /* of scene_files_create */

typedef struct subject {
    const char *label, *body;
    int depth, rr_depth;
    const char *parameters[4];
} subject;

/* The green wall is black in two channels; the small ball is a mirror. */
static const subject room = {
    .label = "room",
    .body = "<sensor type='perspective'><float name='fov' value='60'/><transform name='to_world'>"
            "<lookat origin='0,0,-3.5' target='0,0,0' up='0,1,0'/></transform>"
            "<film type='hdrfilm'><integer name='width' value='8'/><integer name='height' value='8'/>"
            "<rfilter type='box'/></film></sensor>"
            "<bsdf type='twosided' id='walls'><bsdf type='diffuse' id='paint'><rgb name='reflectance' "
            "value='.7,.5,.3'/></bsdf></bsdf>"
            "<bsdf type='twosided' id='other'><bsdf type='diffuse' id='green'><rgb name='reflectance' "
            "value='0,.6,0'/></bsdf></bsdf>"
            "<bsdf type='conductor' id='mirror'><rgb name='specular_reflectance' value='.9,.8,.7'/><string "
            "name='material' value='none'/></bsdf>"
            "<shape type='cube'><transform name='to_world'><scale value='4'/></transform><ref "
            "id='walls'/></shape>"
            "<shape type='sphere'><point name='center' value='1,0,1'/><float name='radius' value='.8'/><ref "
            "id='other'/></shape>"
            "<shape type='sphere'><point name='center' value='-1,0,0'/><float name='radius' value='1'/><ref "
            "id='mirror'/></shape>"
            "<shape type='sphere'><point name='center' value='0,2,0'/><float name='radius' value='.5'/>"
            "<emitter type='area' id='light'><rgb name='radiance' value='3,4,5'/></emitter></shape>",
    .depth = 5,
    .rr_depth = 2,
    .parameters = {"paint.reflectance.value", "green.reflectance.value", "mirror.specular_reflectance.value",
                   "light.radiance.value"},
};

static const subject ball = {
    .label = "ball under an even sky",
    .body = "<sensor type='perspective'><float name='fov' value='60'/><transform name='to_world'>"
            "<lookat origin='0,0,-2.5' target='0,0,0' up='0,1,0'/></transform>"
            "<film type='hdrfilm'><integer name='width' value='8'/><integer name='height' value='8'/>"
            "<rfilter type='box'/></film></sensor>"
            "<bsdf type='diffuse' id='paint'><rgb name='reflectance' value='.7,.5,.3'/></bsdf>"
            "<shape type='sphere'><ref id='paint'/></shape>"
            "<emitter type='constant' id='sky'><rgb name='radiance' value='3,3,3'/></emitter>",
    .depth = 2,
    .rr_depth = 100,
    .parameters = {"paint.reflectance.value", "sky.radiance.value"},
};

/* Two clouds, one of a grid, lit by a lamp; its walls are the floor. */
#define SMALL_CAMERA                                                                                         \
    "<sensor type='perspective'><float name='fov' value='60'/><transform name='to_world'>"                   \
    "<lookat origin='0,0,-3' target='0,0,0' up='0,1,0'/></transform>"                                        \
    "<film type='hdrfilm'><integer name='width' value='8'/><integer name='height' value='8'/>"               \
    "<rfilter type='box'/></film></sensor>"
static const subject clouds = {
    .label = "clouds",
    .body = SMALL_CAMERA
    "<bsdf type='diffuse' id='paint'><rgb name='reflectance' value='.7,.5,.3'/></bsdf>"
    "<medium type='homogeneous' id='fog'><rgb name='sigma_t' value='1,2,1.5'/><rgb name='albedo' "
    "value='.8,.9,.6'/></medium>"
    "<medium type='heterogeneous' id='smoke'><float name='scale' value='2'/><volume type='gridvolume' "
    "name='sigma_t'><string name='filename' value='smoke.vol'/><transform name='to_world'>"
    "<translate value='-.5,-.5,-.5'/><scale value='1.4'/><translate value='.8,0,0'/></transform></volume>"
    "<float name='albedo' value='.85'/></medium>"
    "<shape type='sphere'><point name='center' value='-.8,0,0'/><float name='radius' value='.7'/>"
    "<bsdf type='null'/><ref id='fog' name='interior'/></shape>"
    "<shape type='cube'><transform name='to_world'><scale value='.7'/><translate value='.8,0,0'/></transform>"
    "<bsdf type='null'/><ref id='smoke' name='interior'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><translate value='0,0,1.5'/>"
    "<rotate y='1' angle='180'/><translate value='0,0,3'/></transform><ref id='paint'/></shape>"
    "<shape type='sphere'><point name='center' value='0,2,-1'/><float name='radius' value='.4'/>"
    "<emitter type='area' id='light'><rgb name='radiance' value='9,8,7'/></emitter></shape>"
    "<emitter type='constant' id='sky'><rgb name='radiance' value='.5,.6,.7'/></emitter>",
    .depth = 6,
    .rr_depth = 100,
    .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "paint.reflectance.value",
                   "light.radiance.value"},
};

/* Nothing is absorbed and the sky is 1 everywhere, so radiance is 1 everywhere but for what depth cuts. */
static const subject furnace = {
    .label = "white furnace",
    .body = SMALL_CAMERA "<medium type='homogeneous' id='fog'><rgb name='sigma_t' value='1,.7,.5'/><rgb "
                         "name='albedo' value='1,1,1'/></medium>"
                         "<shape type='sphere'><bsdf type='null'/><ref id='fog' name='interior'/></shape>"
                         "<emitter type='constant' id='sky'><rgb name='radiance' value='1,1,1'/></emitter>",
    .depth = 40,
    .rr_depth = 1000,
    .parameters = {"fog.albedo.value.value", "sky.radiance.value"},
};

typedef struct setup {
    const subject *s;
    scene_picture p;
    uint32_t elements;
    float weights[3 * SIDE * SIDE];
    arena memory;
} setup;

static setup load(const subject *s, const char *integrator)
{
    setup u = {.s = s};
    uint32_t count = 0, random = 5;
    while (count < 4 && s->parameters[count])
        count++;
    u.elements = 3 * count;
    const char *xml =
        arena_printf(&u.memory,
                     "<scene version='3.0.0'><integrator type='%s'><integer name='max_depth' value='%d'/>"
                     "<integer name='rr_depth' value='%d'/></integrator>%s</scene>",
                     integrator, s->depth, s->rr_depth, s->body);
    u.p = scene_picture_load(&device, xml, folder, s->parameters, count);
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        u.weights[i] = (float)(0.5 + scene_random(&random));
    return u;
}

static void unload(setup *u)
{
    scene_picture_free(&u->p);
    arena_free(&u->memory);
}

static bl_stats gradient(setup *u, bl_gradient_desc desc, float g[ELEMENTS_MOST])
{
    bl_stats stats;
    if (!desc.target && !desc.adjoint)
        desc.adjoint = u->weights;
    SCENE_MUST(&device, bl_job_gradient(u->p.job, &desc, &stats));
    assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
    for (uint32_t k = 0; 3 * k < u->elements; k++)
        SCENE_MUST(&device, bl_job_read_gradient(u->p.job, k, g + 3 * k));
    return stats;
}

typedef struct moments {
    double sum, squares;
} moments;
static double mean(const moments *m) { return m->sum / SEEDS; }
static double error2(const moments *m) { return (m->squares / SEEDS - mean(m) * mean(m)) / (SEEDS - 1); }

static void collect(setup *u, uint32_t first_seed, uint32_t spp, moments m[ELEMENTS_MOST])
{
    float g[ELEMENTS_MOST];
    memset(m, 0, ELEMENTS_MOST * sizeof *m);
    for (uint32_t seed = first_seed; seed < first_seed + SEEDS; seed++) {
        gradient(u, (bl_gradient_desc){.form = BL_FORM_FUSED, .spp = spp, .seed = seed}, g);
        for (uint32_t i = 0; i < u->elements; i++)
            m[i].sum += (double)g[i], m[i].squares += (double)g[i] * (double)g[i];
    }
}

/* a = factor * b in expectation, known to `share` of its size. */
static void expect_ratio(const setup *u, uint32_t i, const moments *a, const moments *b, double factor,
                         double share)
{
    double expected = factor * mean(b), error = sqrt(error2(a) + factor * factor * error2(b));
    double z = (mean(a) - expected) / error;
    if (!(fabs(z) < 4.5))
        fail_msg("%s, %s, element %u: %.7g, not %.7g: z = %.2f", u->s->label, u->s->parameters[i / 3], i % 3,
                 mean(a), expected, z);
    if (!(error < share * fabs(expected)))
        fail_msg("%s, %s, element %u: %.3g is known to +-%.3g", u->s->label, u->s->parameters[i / 3], i % 3,
                 expected, error);
}

static void unbiased_agrees_with_replay(void **state)
{
    (void)state;
    setup replay = load(&room, "prb"), recursive = load(&room, "rb");
    moments a[ELEMENTS_MOST], b[ELEMENTS_MOST];
    collect(&replay, 100, 64, a), collect(&recursive, 500, 64, b);
    for (uint32_t i = 0; i < replay.elements; i++)
        expect_ratio(&replay, i, &b[i], &a[i], 1, 0.1);
    float g[ELEMENTS_MOST], h[ELEMENTS_MOST];
    bl_stats one = gradient(&replay, (bl_gradient_desc){.spp = 16, .seed = 3, .form = BL_FORM_FUSED}, g);
    bl_stats two = gradient(&recursive, (bl_gradient_desc){.spp = 16, .seed = 3}, h);
    double differ = 0;
    for (uint32_t i = 0; i < 9; i++)
        differ = fmax(differ, fabs((double)g[i] - (double)h[i]) / fabs((double)g[i]));
    assert_true(differ > 0.01); /* other numbers behind each vertex */
    for (uint32_t i = 9; i < 12; i++)
        assert_true(fabs((double)g[i] - (double)h[i]) <= rounding * fabs((double)g[i]));
    assert_int_equal(two.form, BL_FORM_FUSED);
    assert_true(one.loss != 0 &&
                two.loss != 0); /* the images have other numbers, too, from the second vertex on */
    unload(&replay), unload(&recursive);
}

/* In media the flight to each vertex is differentiated, too. */
static void media_agree_with_replay(void **state)
{
    (void)state;
    setup replay = load(&clouds, "prbvolpath"), recursive = load(&clouds, "rb");
    moments a[ELEMENTS_MOST], b[ELEMENTS_MOST];
    collect(&replay, 100, 64, a), collect(&recursive, 500, 64, b);
    for (uint32_t i = 0; i < replay.elements; i++)
        expect_ratio(&replay, i, &b[i], &a[i], 1, 0.15);
    unload(&replay), unload(&recursive);
}

static void first_bias_is_none_in_a_furnace(void **state)
{
    (void)state;
    setup replay = load(&furnace, "prbvolpath"), unit = load(&furnace, "rb_biased1");
    moments a[ELEMENTS_MOST], b[ELEMENTS_MOST];
    collect(&replay, 100, 32, a), collect(&unit, 500, 32, b);
    for (uint32_t i = 0; i < replay.elements; i++)
        expect_ratio(&replay, i, &b[i], &a[i], 1, 0.05);
    unload(&replay), unload(&unit);
}

static void expect_tape_is_replay(const subject *s)
{
    subject shallow = *s;
    shallow.depth = 3;
    setup replay = load(s, "prb"), tape = load(s, "tape"), less = load(&shallow, "tape");
    float g[ELEMENTS_MOST], h[ELEMENTS_MOST];
    for (uint32_t seed = 0; seed < 3; seed++) {
        bl_gradient_desc desc = {.spp = 40, .seed = seed, .form = BL_FORM_FUSED};
        bl_stats one = gradient(&replay, desc, g), two = gradient(&tape, desc, h);
        assert_true(fabs(one.loss - two.loss) <= rounding * fabs(one.loss));
        for (uint32_t i = 0; i < replay.elements; i++)
            if (!(fabs((double)g[i] - (double)h[i]) <= rounding * fabs((double)g[i])))
                fail_msg("element %u: replay %.9g, tape %.9g", i, (double)g[i], (double)h[i]);
        bl_stats three = gradient(&less, desc, h);
        /* two vertices fewer for each of the samples */
        assert_true(two.device_bytes - three.device_bytes > 2ull * 40 * SIDE * SIDE * 4 * 16);
        assert_true(one.device_bytes < three.device_bytes);
    }
    unload(&replay), unload(&tape), unload(&less);
}

static void tape_is_replay(void **state)
{
    (void)state;
    arena a = {0};
    subject spectral = room;
    spectral.body = arena_printf(&a, "<?backlight mode='spectral'?>%s", room.body);
    expect_tape_is_replay(&room), expect_tape_is_replay(&spectral);
    arena_free(&a);
}

static void first_bias_is_what_incident_radiance_is(void **state)
{
    (void)state;
    setup replay = load(&ball, "prb"), unit = load(&ball, "rb_biased1");
    moments a[ELEMENTS_MOST], b[ELEMENTS_MOST];
    collect(&replay, 100, 16, a), collect(&unit, 500, 16, b);
    for (uint32_t i = 0; i < 3; i++)
        expect_ratio(&unit, i, &b[i], &a[i], 1.0 / 3, 0.02);
    float g[ELEMENTS_MOST], h[ELEMENTS_MOST];
    gradient(&replay, (bl_gradient_desc){.spp = 16, .seed = 3, .form = BL_FORM_FUSED}, g);
    gradient(&unit, (bl_gradient_desc){.spp = 16, .seed = 3}, h);
    for (uint32_t i = 3; i < 6; i++)
        assert_true(fabs((double)g[i] - (double)h[i]) <= rounding * fabs((double)g[i]));
    unload(&replay), unload(&unit);
}

static void step_before(const char *piped_integrator, const char *plain_integrator)
{
    setup piped = load(&ball, piped_integrator), plain = load(&ball, plain_integrator);
    enum { VALUES = 3 * SIDE * SIDE };
    const float before[3] = {.9f, .8f, .7f}, after[3] = {.2f, .1f, .3f};
    float target[VALUES], image[VALUES], adjoint[VALUES], steps[2][ELEMENTS_MOST], expected[ELEMENTS_MOST];
    for (uint32_t i = 0; i < VALUES; i++)
        target[i] = 1;
    for (int k = 0; k < 2; k++) {
        SCENE_MUST(&device, bl_job_set_parameter(
                                piped.p.job, scene_device_find(&device, piped.p.scene, ball.parameters[0]),
                                k ? after : before));
        gradient(&piped, (bl_gradient_desc){.spp = 16, .seed = 7 + (uint32_t)k, .target = target}, steps[k]);
    }
    uint32_t paint = scene_device_find(&device, plain.p.scene, ball.parameters[0]);
    for (int late = 0; late < 2;
         late++) { /* the image of the gradient pass before, as it was; or as it is now */
        SCENE_MUST(&device, bl_job_set_parameter(plain.p.job, paint, late ? after : before));
        SCENE_MUST(&device, bl_job_render(plain.p.job,
                                          &(bl_render_desc){.spp = 16, .seed = 7, .gradient_stream = true},
                                          image, NULL));
        for (uint32_t i = 0; i < VALUES; i++)
            adjoint[i] = 2 * (image[i] - target[i]) / VALUES;
        SCENE_MUST(&device, bl_job_set_parameter(plain.p.job, paint, after));
        gradient(&plain, (bl_gradient_desc){.spp = 16, .seed = 8, .adjoint = adjoint}, expected);
        for (uint32_t i = 0; i < 6; i++) {
            double off = fabs((double)steps[1][i] - (double)expected[i]) / fabs((double)expected[i]);
            assert_true(late ? off > 0.1 : off <= rounding);
        }
    }
    unload(&piped), unload(&plain);
}

static void second_bias_is_the_step_before(void **state)
{
    (void)state;
    step_before("rb_biased2", "rb");
    step_before("rb_biased1_2", "rb_biased1");
}

/* A fit of the ball's colour. Returns the colour after so many steps; saves the state after `saved` of them,
 * or goes on from there. */
static void fit_ball(const char *integrator, uint32_t steps, const char *save, const char *restore,
                     float out[3])
{
    setup u = load(&ball, integrator);
    float target[3 * SIDE * SIDE];
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        target[i] = .6f;
    const bl_fit_parameter paint = {.name = ball.parameters[0], .rate = .02};
    bl_fit *fit;
    bl_fit_desc desc = {.target = target, .parameters = &paint, .parameter_count = 1, .spp = 8, .seed = 5};
    SCENE_MUST(&device, bl_fit_create(device.device, u.p.scene, &desc, &fit));
    if (restore)
        SCENE_MUST(&device, bl_fit_restore(fit, restore, NULL, NULL));
    for (uint32_t k = 0; k < steps; k++)
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
    if (save)
        SCENE_MUST(&device, bl_fit_save(fit, save, NULL, 0));
    SCENE_MUST(&device, bl_fit_get(fit, 0, out));
    bl_fit_destroy(fit);
    unload(&u);
}

/* The first step of a pipelined fit is that of the plain one; later ones look at the image of the step
 * before. A fit that goes on from a file has that image. */
static void fits_keep_the_image_of_the_step_before(void **state)
{
    (void)state;
    float plain[3], piped[3], resumed[3];
    fit_ball("rb_biased1", 1, NULL, NULL, plain), fit_ball("rb_biased1_2", 1, NULL, NULL, piped);
    assert_memory_equal(plain, piped, sizeof plain);
    fit_ball("rb_biased1", 6, NULL, NULL, plain), fit_ball("rb_biased1_2", 6, NULL, NULL, piped);
    assert_memory_not_equal(plain, piped, sizeof plain);
    for (int c = 0; c < 3; c++)
        assert_true(fabsf(plain[c] - piped[c]) < .05f);
    arena a = {0};
    const char *file = arena_printf(&a, "%s/state", folder);
    fit_ball("rb_biased1_2", 3, file, NULL, resumed), fit_ball("rb_biased1_2", 3, NULL, file, resumed);
    assert_memory_equal(piped, resumed, sizeof piped);
    arena_free(&a);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    setup u = load(&ball, "rb");
    bl_stats stats;
    assert_int_equal(
        bl_job_gradient(
            u.p.job, &(bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = 4, .adjoint = u.weights}, &stats),
        BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "one form"));
    const char *const camera[] = {"sensor.to_world"};
    bl_job *job = NULL;
    assert_int_equal(bl_job_create(device.device, u.p.scene,
                                   &(bl_job_desc){.parameters = camera, .parameter_count = 1}, &job),
                     BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "camera"));
    unload(&u);
}

/* The last tests are of media. The drivers take most of a minute for their kernels; what the tests are about
 * is in the trace, which all devices share. */
enum { MEDIA_TESTS = 2 };

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbiased_agrees_with_replay),
        cmocka_unit_test(tape_is_replay),
        cmocka_unit_test(first_bias_is_what_incident_radiance_is),
        cmocka_unit_test(second_bias_is_the_step_before),
        cmocka_unit_test(fits_keep_the_image_of_the_step_before),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(media_agree_with_replay),
        cmocka_unit_test(first_bias_is_none_in_a_furnace),
    };
    if (!scene_device_open(&device))
        return scene_device_missing();
    bool compiles_fast = strcmp(device.info.kind, "native") == 0;
    size_t count = sizeof tests / sizeof *tests - (compiles_fast ? 0 : MEDIA_TESTS);
    return scene_device_run(&device, &folder, "radiative", tests, count, NULL);
}
