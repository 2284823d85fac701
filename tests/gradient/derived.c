/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do derived values pass their gradients on? Some parameters reach the image only through derived values: a
 * spot light's angles, and where lights stand and point. Sample by sample in the interpreter, their
 * gradient equals differences of the primal and of the frozen path. Also: which scenes have derived values,
 * which have gradients of them, and which have neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/device_run.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 6,
    SEED = 5,
    STREAM = 1,
    DEPTH = 3,
    SAMPLES = 60,
    ELEMENTS_MOST = 128,
    SPOT_ANGLES = 4,
    SPOT_DERIVED = SPOT_ANGLES + 9
};
static const double pi = 3.14159265358979323846;

static char *folder;

#define MATERIALS "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.75,.8'/></bsdf>"
#define ROOM                                                                                                 \
    MATERIALS                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "               \
    "id='white'/></shape>"                                                                                   \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/><rotate x='1' "                  \
    "angle='90'/><translate value='0,1.1,1'/></transform>"                                                   \
    "<ref id='white'/></shape>"
#define SPOT(id, origin, inside)                                                                             \
    "<emitter type='spot' id='" id                                                                           \
    "'><transform name='to_world'><scale value='1,1.3,.8'/><lookat origin='" origin                          \
    "' target='.1,.2,.2' up='0,0,1'/>"                                                                       \
    "</transform><rgb name='intensity' value='5,6,7'/>" inside "</emitter>"
#define ANGLES(cutoff, beam)                                                                                 \
    "<float name='cutoff_angle' value='" cutoff "'/><float name='beam_width' value='" beam "'/>"
#define PICTURE                                                                                              \
    "<texture type='bitmap' name='texture'><string name='filename' value='texture.pfm'/></texture>"

typedef struct light_case {
    const char *name, *body;
    const char *parameters[5];
    uint32_t count;
} light_case;

static const light_case plain = {
    "plain",
    ROOM SPOT("spot", "-.8,-.9,1.9", ANGLES("35", "12")),
    {"spot.cutoff_angle", "spot.beam_width", "spot.intensity.value", "white.reflectance.value"},
    4};
static const light_case preset = {"beam width by default",
                                  ROOM SPOT("spot", "-.8,-.9,1.9", "<float name='cutoff_angle' value='40'/>"),
                                  {"spot.beam_width", "spot.cutoff_angle"},
                                  2};
static const light_case textured = {
    "textured",
    ROOM SPOT("spot", "-.8,-.9,1.9", ANGLES("35", "12") PICTURE),
    {"spot.cutoff_angle", "spot.beam_width", "spot.intensity.value", "spot.texture.data"},
    4};
static const light_case several = {"several",
                                   ROOM SPOT("one", "-.8,-.9,1.9", ANGLES("35", "12"))
                                       SPOT("two", ".8,-.9,1.7", ANGLES("30", "20"))
                                           SPOT("three", "0,-1,2", ANGLES("38", "5") PICTURE),
                                   {"two.cutoff_angle", "three.beam_width"},
                                   2};
static const light_case moved_spots = {"moved spots",
                                       ROOM SPOT("one", "-.8,-.9,1.9", ANGLES("35", "12"))
                                           SPOT("two", ".8,-.9,1.7", ANGLES("30", "20") PICTURE),
                                       {"one.to_world", "two.to_world", "white.reflectance.value"},
                                       3};
static const light_case moved_lights = {
    "moved lights",
    ROOM "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/></emitter>"
         "<emitter type='directional' id='sun'><vector name='direction' value='.5,.4,-1'/></emitter>",
    {"bulb.position", "sun.direction", "white.reflectance.value"},
    3};
static const light_case slides = {
    "projectors",
    ROOM "<emitter type='projector' id='one'><transform name='to_world'><scale value='1.2'/><lookat "
         "origin='-.8,-.9,1.9' target='.1,.2,.2' up='0,0,1'/>"
         "</transform><texture type='bitmap' name='irradiance'><string name='filename' "
         "value='texture.pfm'/></texture><float name='fov' value='55'/></emitter>"
         "<emitter type='projector' id='two'><transform name='to_world'><lookat origin='.8,-.9,1.9' "
         "target='.1,.2,.2' up='0,0,1'/></transform></emitter>",
    {"one.to_world", "one.fov", "one.irradiance.data", "one.scale", "two.to_world"},
    5};

static const light_case spectra = {
    "spectra",
    "<bsdf type='diffuse' id='white'><spectrum type='irregular' name='reflectance'><string "
    "name='wavelengths' value='380,520,600,720'/>"
    "<string name='values' value='.4,.6,0,.7'/></spectrum></bsdf>"
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "
    "id='white'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/><rotate x='1' "
    "angle='90'/><translate value='0,1.1,1'/></transform>"
    "<emitter type='area' id='glow'><spectrum type='regular' name='radiance'><string name='values' "
    "value='1,2,1.5'/>"
    "<float name='wavelength_min' value='400'/><float name='wavelength_max' "
    "value='750'/></spectrum></emitter></shape>"
    "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/><spectrum type='blackbody' "
    "name='intensity'>"
    "<float name='temperature' value='2500'/></spectrum></emitter>",
    {"white.reflectance.values", "glow.radiance.values", "bulb.intensity.temperature"},
    3};

static scene_eval *load(const light_case *c)
{
    arena a = {0};
    char *integrator = arena_printf(
        &a, "<integrator type='path'><integer name='max_depth' value='%d'/></integrator>", DEPTH);
    scene_eval *e = scene_eval_create(
        scene_xml(&a, integrator, arena_printf(&a, scene_sensor_format, SIDE, SIDE), c->body), folder,
        c->parameters, c->count);
    e->options.unrolled_depth = DEPTH;
    uint32_t state = 3;
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        e->adjoint[i] = (float)(0.5 + scene_random(&state));
    arena_free(&a);
    return e;
}

/* The first sample of a pixel. */
static scene_eval_at sample_of(uint32_t pixel)
{
    return (scene_eval_at){.pixel = pixel, .seed = SEED, .stream = STREAM, .f64 = true};
}

static scene_eval_at draw_sample(uint32_t *random)
{
    scene_eval_at at = sample_of((uint32_t)(scene_random(random) * SIDE * SIDE));
    at.sample = (uint32_t)(scene_random(random) * 1000);
    return at;
}

static void run(scene_eval *e, render_pass pass, scene_eval_at at)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_DRIFT], 0);
}

static double weighted(scene_eval *e, render_pass pass, scene_eval_at at)
{
    run(e, pass, at);
    return scene_eval_weighted(e, at.pixel);
}

/* Five-point difference in element i of the values that `pass` takes its weights from. */
static double difference(scene_eval *e, render_pass pass, scene_eval_at at, uint32_t i)
{
    const double h = 1e-4; /* degrees: no sample here lies so near to a kink of the falloff */
    double *values = pass == RENDER_FROZEN ? e->frozen : e->values, kept = values[i], f[5];
    for (int k = -2; k <= 2; k++) {
        values[i] = kept + k * h;
        f[k + 2] = weighted(e, pass, at);
    }
    values[i] = kept;
    return (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * h);
}

static void expect_near(const char *what, const char *name, scene_eval_at at, double got, double expected,
                        double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s, pixel %u, sample %u: replay %.12g, %s %.12g", name, at.pixel, at.sample, got, what,
                 expected);
}

/* All of a parameter's elements at one sample. Returns how many of them got something. */
static uint32_t parameter_agrees(scene_eval *e, const char *name, const double *g, scene_eval_at at)
{
    const render_parameter *p = &e->scene->parameters.data[scene_eval_find(e, name)];
    uint32_t first = scene_eval_gradient_first(e, name), reached = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        double tolerance = 1e-8 * (1 + fabs(g[first + i]));
        if (g[first + i] == 0 && p->count > 3)
            continue; /* most texels are far from the sample */
        expect_near("frozen differences", name, at, g[first + i],
                    difference(e, RENDER_FROZEN, at, p->offset + i), tolerance);
        expect_near("primal differences", name, at, g[first + i],
                    difference(e, RENDER_PRIMAL, at, p->offset + i), tolerance);
        reached += g[first + i] != 0;
    }
    return reached;
}

static void replay_equals_differences(void **state)
{
    const light_case *c = *state;
    scene_eval *e = load(c);
    uint32_t random = 1, reached[5] = {0};
    double g[ELEMENTS_MOST];
    assert_true(e->plan->gradient_count <= ELEMENTS_MOST);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        scene_eval_at at = draw_sample(&random);
        run(e, RENDER_GRADIENT, at);
        memcpy(g, e->gradient, e->plan->gradient_count * sizeof *g);
        for (uint32_t i = 0; i < c->count; i++)
            reached[i] += parameter_agrees(e, c->parameters[i], g, at);
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (reached[i] < SAMPLES / 20)
            fail_msg("%s: %s got a gradient only %u times in %u samples", c->name, c->parameters[i],
                     reached[i], SAMPLES);
    scene_eval_destroy(e);
}

static void replay_equals_unrolled(void **state)
{
    const light_case *c = *state;
    scene_eval *e = load(c);
    uint32_t random = 2;
    double g[ELEMENTS_MOST];
    for (uint32_t k = 0; k < SAMPLES; k++) {
        scene_eval_at at = draw_sample(&random);
        for (int f64 = 0; f64 < 2; f64++) {
            double most = 0;
            at.f64 = f64;
            run(e, RENDER_GRADIENT, at);
            memcpy(g, e->gradient, e->plan->gradient_count * sizeof *g);
            run(e, RENDER_UNROLLED, at);
            for (uint32_t i = 0; i < e->plan->gradient_count; i++)
                most = fmax(most, fabs(g[i]));
            for (uint32_t i = 0; i < e->plan->gradient_count; i++)
                expect_near("unrolled", c->name, at, g[i], e->gradient[i], (f64 ? 1e-10 : 1e-4) * most);
        }
    }
    scene_eval_destroy(e);
}

/* ---- values, and who has what ---- */

static const double *derived_of(const scene_eval *e, const double *values, uint32_t object)
{
    return values + e->scene->values.count + object * SPOT_DERIVED;
}

static void expect_derived(const double *derived, double cutoff, double beam)
{
    const double radians = pi / 180,
                 expected[SPOT_ANGLES] = {cutoff * radians, beam * radians, 1 / ((cutoff - beam) * radians),
                                          1 / tan(cutoff * radians)};
    for (int k = 0; k < SPOT_ANGLES; k++)
        if (!(fabs(derived[k] - expected[k]) <= 1e-6 * fabs(expected[k]))) /* 1 degree is an f32 constant */
            fail_msg("derived value %d of cutoff %g, beam %g: %.9g, expected %.9g", k, cutoff, beam,
                     derived[k], expected[k]);
}

static void values_follow_parameters(void **state)
{
    (void)state;
    scene_eval *e = load(&several);
    run(e, RENDER_PRIMAL, sample_of(0));
    expect_derived(derived_of(e, e->values, 0), 35, 12);
    expect_derived(derived_of(e, e->values, 1), 30, 20);
    expect_derived(derived_of(e, e->values, 2), 38, 5);
    e->values[e->scene->parameters.data[scene_eval_find(e, "two.beam_width")].offset] = 7;
    e->frozen[e->scene->parameters.data[scene_eval_find(e, "one.cutoff_angle")].offset] = 50;
    run(e, RENDER_FROZEN, sample_of(0));
    expect_derived(derived_of(e, e->values, 0), 35, 12);
    expect_derived(derived_of(e, e->values, 1), 30, 7);
    expect_derived(derived_of(e, e->frozen, 0), 50, 12);
    expect_derived(derived_of(e, e->frozen, 1), 30, 20);
    scene_eval_destroy(e);
}

static void a_missing_beam_width_is_three_quarters(void **state)
{
    (void)state;
    scene_eval *e = load(&preset);
    run(e, RENDER_PRIMAL, sample_of(0));
    expect_derived(derived_of(e, e->values, 0), 40, 30);
    scene_eval_destroy(e);
}

/* A beam as wide as the cutoff is a step: bright or dark, and no gradient of the angles rather than none at
 * all. */
static void no_transition(void **state)
{
    (void)state;
    light_case c = plain;
    c.body = ROOM SPOT("spot", "-.8,-.9,1.9", ANGLES("25", "25"));
    scene_eval *e = load(&c);
    uint32_t lit = 0;
    for (uint32_t pixel = 0; pixel < SIDE * SIDE; pixel++) {
        run(e, RENDER_GRADIENT, sample_of(pixel));
        for (uint32_t i = 0; i < e->plan->gradient_count; i++)
            assert_true(isfinite(e->gradient[i]));
        assert_true(e->gradient[0] == 0 && e->gradient[1] == 0);
        lit += e->gradient[2] > 0;
    }
    assert_true(lit > 0 && lit < SIDE * SIDE);
    scene_eval_destroy(e);
}

static void only_what_is_requested_has_a_gradient(void **state)
{
    (void)state;
    scene_eval *e = load(&several);
    assert_int_equal(e->plan->update_count, 3);
    assert_int_equal(e->plan->updates.count, 2); /* with and without a texture */
    assert_int_equal(e->plan->value_count, e->scene->values.count + 3 * SPOT_DERIVED);
    assert_int_equal(e->plan->gradient_count, 2 + 2 * SPOT_DERIVED); /* behind the two parameters */
    assert_true(e->plan->update_requested);
    scene_eval_destroy(e);
    light_case c = plain;
    c.parameters[0] = "white.reflectance.value", c.count = 1;
    e = load(&c);
    assert_int_equal(e->plan->update_count, 1);
    assert_int_equal(e->plan->gradient_count, 3);
    assert_false(e->plan->update_requested);
    scene_eval_destroy(e);
    c.body = ROOM "<emitter type='point'/>";
    e = load(&c);
    assert_int_equal(e->plan->update_count, 0);
    assert_int_equal(e->plan->value_count, e->scene->values.count);
    scene_eval_destroy(e);
}

/* ---- the kernels as jobs make them ---- */

static ir_module *lowered(const scene_eval *e, render_pass pass, bool fixed)
{
    bl_error err = {0};
    ir_module *traced, *result;
    render_trace_options o = {.fixed_point = fixed};
    opt_options lowering = {
        .scene_buffer = BUFFER_SCENE,
        .accumulate = fixed ? OPT_ACCUMULATE_FIXED : OPT_ACCUMULATE_FLOAT,
        .scale_buffer = BUFFER_SCALE,
        .status_buffer = BUFFER_STATUS,
        .overflow_word = STATUS_OVERFLOW,
        .underflow_word = STATUS_UNDERFLOW,
        .gradient_elements = e->plan->gradient_count,
        .stack_size = 1,
    };
    if (render_trace(e->plan, pass, &o, &traced, &err) != BL_OK ||
        opt_run(traced, &lowering, &result, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(traced);
    return result;
}

/* Textured and plain lights together make them dispatch. */
static void kernels_are_valid(void **state)
{
    (void)state;
    scene_eval *e = load(&several);
    for (int fixed = 0; fixed < 2; fixed++)
        for (render_pass pass = RENDER_UPDATE; pass <= RENDER_UPDATE_ADJOINT; pass++) {
            ir_module *m = lowered(e, pass, fixed);
            spv_code code = checked_spirv(m, &(spv_options){.local_size = 64});
            assert_true(code.word_count > 0);
            spv_code_free(&code);
            ir_module_destroy(m);
        }
    scene_eval_destroy(e);
}

/* A derived gradient of any size and sign is read from fixed point and arrives at the parameter: here the
 * cutoff in radians, in units of 1, at the cutoff in degrees, in units of 2^-10. */
static void fixed_point_gradients_arrive(void **state)
{
    (void)state;
    static const int64_t given[] = {0,
                                    1,
                                    -1,
                                    1000,
                                    -1000,
                                    1ll << 32,
                                    -(1ll << 32),
                                    (1ll << 32) - 1,
                                    1 - (1ll << 32),
                                    -(5ll << 36),
                                    123456789012345,
                                    -123456789012345};
    scene_eval *e = load(&plain);
    ir_module *m = lowered(e, RENDER_UPDATE_ADJOINT, true);
    uint32_t n = e->plan->gradient_count, cutoff = scene_eval_gradient_first(e, "spot.cutoff_angle"),
             derived = n - SPOT_DERIVED;
    const uint32_t counts[BUFFER_COUNT] = {
        [BUFFER_SCENE] = e->plan->words.count,
        [BUFFER_VALUES] = e->plan->value_count,
        [BUFFER_GRADIENT] = 2 * n,
        [BUFFER_STATUS] = STATUS_COUNT,
        [BUFFER_SCALE] = n,
    };
    for (size_t k = 0; k < sizeof given / sizeof *given; k++) {
        run_memory memory = run_memory_create(counts, BUFFER_COUNT);
        memcpy(memory.words[BUFFER_SCENE], e->plan->words.data, e->plan->words.count * sizeof(uint32_t));
        memcpy(memory.words[BUFFER_VALUES], e->scene->values.data, e->scene->values.count * sizeof(float));
        for (uint32_t i = 0; i < n; i++)
            ((float *)(void *)memory.words[BUFFER_SCALE])[i] = i < derived ? 0x1p10f : 1;
        memory.words[BUFFER_GRADIENT][2 * derived] = (uint32_t)given[k];
        memory.words[BUFFER_GRADIENT][2 * derived + 1] = (uint32_t)((uint64_t)given[k] >> 32);
        memory.uniforms[UNIFORM_LANE_COUNT] = 1;
        interpret_kernel(m, &memory, 64); /* all lanes but one have nothing to do */
        const uint32_t *out = memory.words[BUFFER_GRADIENT] + 2 * cutoff;
        double got = (double)(int64_t)((uint64_t)out[1] << 32 | out[0]) * 0x1p-10,
               expected = (double)given[k] * pi / 180;
        if (!(fabs(got - expected) <= 4e-7 * fabs(expected) + 0x1p-10))
            fail_msg("%lld: %.9g arrived, expected %.9g", (long long)given[k], got, expected);
        run_memory_free(&memory);
    }
    ir_module_destroy(m);
    scene_eval_destroy(e);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
#define CASE(test, c)                                                                                        \
    {                                                                                                        \
#test ", " #c, test, NULL, NULL, (void *)(uintptr_t)&c                                               \
    }
    const struct CMUnitTest tests[] = {
        CASE(replay_equals_differences, plain),
        CASE(replay_equals_differences, preset),
        CASE(replay_equals_differences, textured),
        CASE(replay_equals_differences, several),
        CASE(replay_equals_unrolled, plain),
        CASE(replay_equals_unrolled, textured),
        CASE(replay_equals_differences, moved_spots),
        CASE(replay_equals_differences, moved_lights),
        CASE(replay_equals_differences, slides),
        CASE(replay_equals_unrolled, moved_spots),
        CASE(replay_equals_unrolled, moved_lights),
        CASE(replay_equals_unrolled, slides),
        CASE(replay_equals_differences, spectra),
        CASE(replay_equals_unrolled, spectra),
        CASE(replay_equals_unrolled, several),
        cmocka_unit_test(values_follow_parameters),
        cmocka_unit_test(no_transition),
        cmocka_unit_test(a_missing_beam_width_is_three_quarters),
        cmocka_unit_test(only_what_is_requested_has_a_gradient),
        cmocka_unit_test(kernels_are_valid),
        cmocka_unit_test(fixed_point_gradients_arrive),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
