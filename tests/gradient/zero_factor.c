/* LABELS: nodevice swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where factors are exactly zero (docs/theory/zero_factors.md)? Plain replay has 0/0
 * there. The cases: a wall (0.6, 0, 0), two black walls, black lamps, dark lights.
 *
 * Without BL_DEVICE: in the interpreter, f64, sample by sample, against differences along the frozen path,
 * which are exact for polynomials. With it: on the device, against differences of the primal image, which
 * are one-sided because a reflectance below zero ends a path. The primal draws the gradient pass's random
 * numbers, and nothing here plays roulette. So both walk the same paths, and the differences are exact
 * except for f32's rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/scene_eval.h"
#include "support/todays_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, SPP = 64, SEED = 5, DEPTH = 4, SAMPLES = 200, ELEMENTS_MOST = 32 };

#define ROOM(red, green, lamp, light, second)                                                                \
    "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='" red "'/></bsdf>"                         \
    "<bsdf type='diffuse' id='green'><rgb name='reflectance' value='" green "'/></bsdf>"                     \
    "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.75,.8'/></bsdf>"                     \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "               \
    "id='white'/></shape>"                                                                                   \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/><rotate x='1' angle='90'/>"      \
    "<translate value='0,1.1,1'/></transform><ref id='red'/></shape>"                                        \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/><rotate y='1' angle='90'/>"      \
    "<translate value='-1,0,1'/></transform><ref id='green'/></shape>"                                       \
    "<shape type='rectangle'><transform name='to_world'><scale value='.6'/><rotate x='1' angle='165'/>"      \
    "<translate value='0,-.2,2.2'/></transform><bsdf type='diffuse' id='lamp'><rgb name='reflectance' "      \
    "value='" lamp "'/></bsdf>"                                                                              \
    "<emitter type='area' id='light'><rgb name='radiance' value='" light "'/></emitter></shape>"             \
    "<shape type='sphere'><point name='center' value='.5,0,.4'/><float name='radius' value='.3'/>"           \
    "<emitter type='area' id='second'><rgb name='radiance' value='" second "'/></emitter></shape>"

#define EVERYTHING                                                                                           \
    {                                                                                                        \
        "red.reflectance.value", "green.reflectance.value", "white.reflectance.value",                       \
            "lamp.reflectance.value", "light.radiance.value", "second.radiance.value"                        \
    }

enum { GREEN_LIGHT = 4 };
static const scene_case cases[] = {
    {.name = "one wall (0.6, 0, 0)",
     .body = ROOM(".6,0,0", ".3,.5,.2", ".4,.3,.2", "5,4,3", "1,2,3"),
     .parameters = EVERYTHING},
    {.name = "two black walls",
     .body = ROOM(".6,0,0", "0,.5,0", ".4,.3,.2", "5,4,3", "1,2,3"),
     .parameters = EVERYTHING},
    {.name = "a black lamp",
     .body = ROOM(".6,.2,.1", ".3,.5,.2", "0,0,0", "5,4,3", "1,2,3"),
     .parameters = EVERYTHING},
    {.name = "a dark light beside a bright one",
     .body = ROOM(".6,.2,.1", ".3,.5,.2", ".4,.3,.2", "5,4,3", "0,0,0"),
     .parameters = EVERYTHING},
    [GREEN_LIGHT] = {.name = "green light alone, and black walls",
                     .body = ROOM(".6,0,0", "0,0,0", ".4,0,0", "0,4,0", "0,0,0"),
                     .parameters = EVERYTHING},
    {.name = "zeros everywhere, one channel each",
     .body = ROOM(".6,0,0", "0,.5,0", "0,0,0", "5,4,3", "1,0,3"),
     .parameters = EVERYTHING},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void expect_near(const char *name, const char *parameter, uint32_t channel, double a, double b,
                        double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%s: %s[%u]: gradient %.12g, difference %.12g (tolerance %.3g)", name, parameter, channel, a,
                 b, tolerance);
}

/* ---- interpreter ---- */

typedef struct subject {
    const scene_case *c;
    scene_eval *e;
    bool reached[ELEMENTS_MOST];
} subject;

static void run(subject *s, render_pass pass, uint32_t pixel, uint32_t sample)
{
    bl_error err = {0};
    if (scene_eval_run(
            s->e, pass,
            (scene_eval_at){.pixel = pixel, .sample = sample, .seed = SEED, .stream = 1, .f64 = true},
            &err) != BL_OK)
        fail_msg("%s: %s", s->c->name, err.text);
}

static double frozen_value(subject *s, uint32_t pixel, uint32_t sample, uint32_t value, double step)
{
    scene_eval *e = s->e;
    memcpy(e->frozen, e->values, e->scene->values.count * sizeof *e->frozen);
    e->frozen[value] += step;
    run(s, RENDER_FROZEN, pixel, sample);
    return scene_eval_weighted(e, pixel);
}

static void one_sample(subject *s, uint32_t pixel, uint32_t sample)
{
    scene_eval *e = s->e;
    run(s, RENDER_GRADIENT, pixel, sample);
    assert_int_equal(e->status[STATUS_DRIFT], 0);
    double g[ELEMENTS_MOST], most = 0;
    for (uint32_t i = 0; i < e->plan->gradient_count; i++) {
        g[i] = e->gradient[i];
        most = fmax(most, fabs(g[i]));
    }
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        const render_parameter *p = &e->scene->parameters.data[scene_eval_find(e, s->c->parameters[k])];
        uint32_t first = scene_eval_gradient_first(e, s->c->parameters[k]);
        for (uint32_t i = 0; i < 3; i++) {
            const double h = 0.1;
            double f[5];
            for (int j = -2; j <= 2; j++)
                f[j + 2] = j ? frozen_value(s, pixel, sample, p->offset + i, j * h) : 0;
            double difference = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * h);
            expect_near(s->c->name, p->name, i, g[first + i], difference, 1e-9 * (most + fabs(f[3])));
            s->reached[first + i] |= g[first + i] != 0;
        }
    }
}

/* In one channel at least. In all three, unless the case is green light alone: red and blue then have
 * derivatives that are 0 in truth. */
static void every_parameter_was_reached(const subject *s)
{
    const uint32_t least = s->c == &cases[GREEN_LIGHT] ? 1 : 3;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        const bool *channels = s->reached + scene_eval_gradient_first(s->e, s->c->parameters[k]);
        uint32_t reached = (uint32_t)channels[0] + channels[1] + channels[2];
        if (reached < least)
            fail_msg("%s: %s got a gradient in %u channels of %u", s->c->name, s->c->parameters[k], reached,
                     least);
    }
}

static void interpreted(void **state)
{
    subject s = {.c = *state};
    arena a = {0};
    s.e = scene_eval_create(scene_case_xml(&a, s.c, DEPTH, SIDE, SIDE), ".", s.c->parameters,
                            scene_case_parameter_count(s.c));
    assert_true(s.e->plan->gradient_count <= ELEMENTS_MOST);
    uint32_t random = 3;
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        s.e->adjoint[i] = (float)(0.5 + scene_random(&random));
    /* Green light returns to the lamp only by two bounces, which few samples have. */
    const uint32_t samples = s.c == &cases[GREEN_LIGHT] ? 10 * SAMPLES : SAMPLES;
    for (uint32_t k = 0; k < samples; k++) {
        uint32_t pixel = (uint32_t)(scene_random(&random) * SIDE * SIDE),
                 sample = (uint32_t)(scene_random(&random) * 1000);
        one_sample(&s, pixel, sample);
    }
    every_parameter_was_reached(&s);
    scene_eval_destroy(s.e);
    arena_free(&a);
}

/* ---- device ---- */

static scene_device device;

/* sum(W I) with one value of a parameter moved by `step`, on the gradient pass's paths */
static double loss_at(scene_picture *p, const float *weights, uint32_t index, uint32_t channel, float step)
{
    float values[3], moved[3];
    SCENE_MUST(&device, bl_scene_get_parameter(p->scene, index, values));
    memcpy(moved, values, sizeof moved);
    moved[channel] += step;
    SCENE_MUST(&device, bl_job_set_parameter(p->job, index, moved));
    SCENE_MUST(&device,
               bl_job_render(p->job, &(bl_render_desc){.spp = SPP, .seed = SEED, .gradient_stream = true},
                             p->image, NULL));
    SCENE_MUST(&device, bl_job_set_parameter(p->job, index, values));
    double sum = 0;
    for (uint32_t i = 0; i < p->values; i++)
        sum += (double)weights[i] * (double)p->image[i];
    return sum;
}

/* Derivative at 0 of the quartic through f(0), f(h), .. f(4h): exact, because a path meets one wall three
 * times at most. */
static double one_sided(scene_picture *p, const float *weights, uint32_t index, uint32_t channel)
{
    static const double stencil[5] = {-25, 48, -36, 16, -3};
    const float h = 0.0625f;
    double sum = 0;
    for (int k = 0; k < 5; k++)
        sum += stencil[k] * loss_at(p, weights, index, channel, (float)k * h);
    return sum / (12 * (double)h);
}

static void on_device(void **state)
{
    const scene_case *c = *state;
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_case_xml(&a, c, DEPTH, SIDE, SIDE), ".",
                                         c->parameters, scene_case_parameter_count(c));
    float *weights = arena_alloc(&a, p.values * sizeof *weights);
    uint32_t random = 3;
    for (uint32_t i = 0; i < p.values; i++)
        weights[i] = (float)(0.5 + scene_random(&random));
    bl_stats stats;
    SCENE_MUST(
        &device,
        bl_job_gradient(p.job, &(bl_gradient_desc){.spp = SPP, .seed = SEED, .adjoint = weights}, &stats));
    assert_int_equal(stats.drifted, 0);
    assert_int_equal(stats.overflowed, 0);
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++) {
        float g[3];
        SCENE_MUST(&device, bl_job_read_gradient(p.job, k, g));
        uint32_t index = scene_device_find(&device, p.scene, c->parameters[k]);
        for (uint32_t channel = 0; channel < 3; channel++) {
            double difference = one_sided(&p, weights, index, channel),
                   loss = loss_at(&p, weights, index, channel, 0);
            /* f32: an image is known to some 1e-7, times the stencil's sum over 12 h */
            expect_near(c->name, c->parameters[k], channel, (double)g[channel], difference,
                        1e-4 * fabs(difference) + 5e-5 * loss + 1e-4);
        }
    }
    scene_picture_free(&p);
    arena_free(&a);
}

int main(void)
{
    bool with_device = getenv("BL_DEVICE") != NULL;
    struct CMUnitTest tests[CASES];
    for (uint32_t i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, with_device ? on_device : interpreted, NULL, NULL,
                                       (void *)(uintptr_t)&cases[i]};
    size_t count = todays_tests(tests, CASES, with_device ? 1 : 3);
    return with_device ? scene_device_run(&device, NULL, "zero factor", tests, count, NULL)
                       : _cmocka_run_group_tests("zero factor", tests, count, NULL, NULL);
}
