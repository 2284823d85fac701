/* LABELS: native lavapipe=long */
/* SPDX-License-Identifier: BSD-3-Clause
 * Jobs in double precision against the interpreter in f64, whose traces and random numbers are the same:
 * images pixel by pixel, and gradients by every element, to a billionth of their size. Also what such a job
 * refuses, and that a device without doubles says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 6,
    HEIGHT = 4,
    PIXELS = WIDTH * HEIGHT,
    VALUES = 3 * PIXELS,
    SAMPLES = 3,
    DEPTH = 4,
    SEED = 5
};

static scene_device device;
static char *folder;

/* Compared over what they are sums of. */
static const double RELATIVE = 1e-9;

static const scene_case *find_case(const char *name)
{
    for (const scene_case *c = scene_case_next(NULL); c; c = scene_case_next(c))
        if (strcmp(c->name, name) == 0)
            return c;
    fail_msg("no case %s", name);
    return NULL;
}

typedef struct numbers {
    double image[VALUES], *gradient,
        *size; /* size: of gradients, the sum of what samples add, without signs */
} numbers;

static void make_weights(float weights[VALUES])
{
    uint32_t state = 11;
    for (int i = 0; i < VALUES; i++)
        weights[i] = (float)scene_random(&state) - .3f;
}

static void evaluate(scene_eval *e, scene_eval_at at, render_pass pass)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static numbers interpret(scene_eval *e)
{
    const uint32_t n = e->plan->gradient_count;
    numbers r = {.gradient = calloc(n + 1u, sizeof(double)), .size = calloc(n + 1u, sizeof(double))};
    assert_true(r.gradient && r.size);
    for (uint32_t pixel = 0; pixel < PIXELS; pixel++)
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            scene_eval_at at = {.pixel = pixel, .sample = sample, .seed = SEED, .f64 = true};
            evaluate(e, at, RENDER_PRIMAL);
            for (uint32_t c = 0; c < 3; c++)
                r.image[3 * pixel + c] += e->film[3 * pixel + c] / SAMPLES;
            at.stream = 1;
            evaluate(e, at, RENDER_GRADIENT);
            for (uint32_t i = 0; i < n; i++)
                r.gradient[i] += e->gradient[i] / SAMPLES, r.size[i] += fabs(e->gradient[i]) / SAMPLES;
        }
    return r;
}

static void compare(const char *what, uint32_t i, double got, double wanted, double size)
{
    if (!(fabs(got - wanted) <= RELATIVE * size + 1e-14))
        fail_msg("%s %u is %.15g, the interpreter has %.15g: off by %.2g of a size of %.2g", what, i, got,
                 wanted, got - wanted, size);
}

static void compare_gradients(const scene_case *c, bl_job *job, const scene_eval *e, const numbers *wanted)
{
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++) {
        const uint32_t first = scene_eval_gradient_first(e, c->parameters[k]),
                       count = e->scene->parameters.data[scene_eval_find(e, c->parameters[k])].count;
        double *got = calloc(count, sizeof *got), largest = 0;
        assert_non_null(got);
        SCENE_MUST(&device, bl_job_read_gradient_doubles(job, k, got));
        for (uint32_t i = 0; i < count; i++)
            largest = fmax(largest, wanted->size[first + i]);
        for (uint32_t i = 0; i < count; i++)
            compare(c->parameters[k], i, got[i], wanted->gradient[first + i], largest);
        free(got);
    }
}

/* The derivative of the image along all parameters' ones, which is rounded to floats, weighs what gradients
 * sum to. */
static void compare_forward(bl_job *job, const scene_eval *e, const numbers *wanted,
                            const float weights[VALUES])
{
    float derivative[VALUES];
    double got = 0, sum = 0, size = 0;
    SCENE_MUST(&device,
               bl_job_forward(job, &(bl_forward_desc){.spp = SAMPLES, .seed = SEED}, derivative, NULL));
    for (uint32_t i = 0; i < VALUES; i++)
        got += (double)weights[i] * (double)derivative[i];
    for (uint32_t k = 0; k < e->scene->parameters.count; k++)
        for (uint32_t i = 0;
             e->plan->gradient_offset[k] != PLAN_NONE && i < e->scene->parameters.data[k].count; i++)
            sum += wanted->gradient[e->plan->gradient_offset[k] + i],
                size += wanted->size[e->plan->gradient_offset[k] + i];
    if (!(fabs(got - sum) <= 1e-6 * size))
        fail_msg("forward mode gives %.12g, reverse mode %.12g", got, sum);
}

static void compare_case(const char *name, bool bake)
{
    arena a = {0};
    const scene_case *c = find_case(name);
    const char *xml = scene_case_xml(&a, c, DEPTH, WIDTH, HEIGHT);
    const uint32_t count = scene_case_parameter_count(c);
    float weights[VALUES], rounded[VALUES];
    double image[VALUES];
    make_weights(weights);
    scene_eval *e = scene_eval_create_baked(xml, folder, c->parameters, count, bake);
    e->plan->doubles = true;
    memcpy(e->adjoint, weights, sizeof weights);
    numbers wanted = interpret(e);
    bl_scene *scene = scene_device_load(&device, xml, folder);
    bl_job *job;
    const bl_job_desc desc = {.parameters = c->parameters,
                              .parameter_count = count,
                              .no_baking = !bake,
                              .volume_gradient = BL_VOLUME_GRADIENT_REPLAY,
                              .precision = BL_PRECISION_DOUBLE};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    const bl_render_desc render = {.spp = SAMPLES, .seed = SEED, .doubles = image};
    SCENE_MUST(&device, bl_job_render(job, &render, rounded, NULL));
    double brightest = 0;
    for (uint32_t i = 0; i < VALUES; i++)
        brightest = fmax(brightest, fabs(wanted.image[i]));
    assert_true(brightest > 0);
    for (uint32_t i = 0; i < VALUES; i++) {
        compare("the image's value", i, image[i], wanted.image[i], brightest);
        assert_true(fabs((double)rounded[i] - image[i]) <= 1e-6 * brightest);
    }
    const bl_gradient_desc gradient = {.spp = SAMPLES, .seed = SEED, .adjoint = weights};
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(job, &gradient, &stats));
    assert_int_equal(stats.drifted, 0);
    compare_gradients(c, job, e, &wanted);
    compare_forward(job, e, &wanted, weights);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    free(wanted.gradient), free(wanted.size);
    scene_eval_destroy(e);
    arena_free(&a);
}

static const char *const cases[] = {
    "area light",
    "sphere light",
    "spot and directional light",
    "environment map",
    "bitmap reflectance and radiance",
    "plastic, rough glass and a pane",
    "rough plastic and brushed metal",
    "roulette",
    "all lights at once",
    "normal map and bump map",
    "homogeneous",
    "grid with empty voxels",
};

static void results_are_those_of_the_interpreter(void **state)
{
    (void)state;
    /* lavapipe compiles the kernels of a case for a minute */
    const size_t step = strcmp(device.info.kind, "lavapipe") == 0 ? 3 : 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += step) {
        print_message("%s\n", cases[i]);
        compare_case(cases[i], i % 2);
    }
}

static void refused(bl_job_desc desc, const bl_scene *scene, const char *word)
{
    bl_job *job = NULL;
    desc.precision = BL_PRECISION_DOUBLE;
    scene_device_refused(&device, bl_job_create(device.device, scene, &desc, &job), BL_ERROR_UNSUPPORTED,
                         word);
    assert_null(job);
}

static void what_has_no_doubles_is_refused(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *scene =
        scene_device_load(&device, scene_case_xml(&a, find_case("area light"), DEPTH, WIDTH, HEIGHT), folder);
    refused((bl_job_desc){.wavefront = BL_WAVEFRONT_VERTEX}, scene, "wavefront");
    refused((bl_job_desc){.accumulate = BL_ACCUMULATE_FLOAT}, scene, "fixed-point");
    bl_job *single;
    double doubles[VALUES];
    float image[VALUES];
    SCENE_MUST(&device, bl_job_create(device.device, scene, NULL, &single));
    scene_device_refused(&device, bl_job_render(single, &(bl_render_desc){.doubles = doubles}, image, NULL),
                         BL_ERROR_ARGUMENT, "BL_PRECISION_DOUBLE");
    bl_job_destroy(single);
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_interpreter),
        cmocka_unit_test(what_has_no_doubles_is_refused),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "doubles", tests);
}
