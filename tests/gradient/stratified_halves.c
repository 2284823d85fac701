/* LABELS: lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Two walks with samplers that spread the samples of a pixel: each half is spread by itself, so the halves
 * stay independent. Gradients agree in expectation with those of independent samples: a z-test over seeds.
 * So does the loss with that of a clean image: if the halves shared their permutations, then it would be
 * too large by their covariance. The same seed gives the same bytes, whatever the slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { SEEDS = 150, ELEMENTS = 3 * SCENE_CASE_PARAMETERS, LOSS = ELEMENTS };

static scene_device device;

typedef struct moments {
    double sum, squares;
} moments;
static double mean(const moments *m) { return m->sum / SEEDS; }
static double error2(const moments *m) { return (m->squares / SEEDS - mean(m) * mean(m)) / (SEEDS - 1); }

typedef struct spread {
    const char *sampler;
    uint32_t spp, taken; /* asked for, and taken: the least even number that the sampler can do in halves */
    const char *scene;
    double first; /* bound for the variance by the scene's first parameter, as a part of that of independent
                     samples. By extinction it is 0.44; if flights were not spread, 0.89 */
} spread;

static const scene_case *find_case(const spread *s)
{
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        if (strcmp(c->name, s->scene) == 0)
            return c;
    fail();
    return NULL;
}

static scene_picture load(arena *a, const spread *s, const char *sampler)
{
    scene_case c = *find_case(s);
    const char *film = strstr(scene_sensor_format, "<film");
    assert_non_null(film);
    c.sensor = arena_printf(a, "%.*s<sampler type='%s'/>%s", (int)(film - scene_sensor_format),
                            scene_sensor_format, sampler, film);
    return scene_picture_load(&device, scene_case_xml(a, &c, 3, 12, 10), ".", c.parameters,
                              scene_case_parameter_count(&c));
}

static float *target_of(arena *a, const scene_picture *p)
{
    float *target = arena_alloc(a, p->values * sizeof *target);
    for (uint32_t i = 0; i < p->values; i++)
        target[i] = 0.1f + 0.05f * (float)(i % 5);
    return target;
}

static bl_stats gradient(scene_picture *p, const spread *s, const bl_gradient_desc *desc, float g[ELEMENTS])
{
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(p->job, desc, &stats));
    assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
    memset(g, 0, ELEMENTS * sizeof *g);
    for (uint32_t k = 0; k < scene_case_parameter_count(find_case(s)); k++)
        SCENE_MUST(&device, bl_job_read_gradient(p->job, k, g + 3 * k));
    return stats;
}

/* Runs two walks with so many samples for many seeds. paths: samples of a pixel that were taken. */
static void measure(scene_picture *p, const spread *s, const float *target, uint32_t spp, uint32_t expected,
                    moments m[ELEMENTS + 1])
{
    float g[ELEMENTS];
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        bl_stats stats = gradient(
            p, s, &(bl_gradient_desc){.form = BL_FORM_TWO_WALK, .spp = spp, .seed = seed, .target = target},
            g);
        assert_int_equal(stats.paths, (uint64_t)expected * p->width * p->height);
        for (uint32_t i = 0; i <= ELEMENTS; i++) {
            double v = i < ELEMENTS ? (double)g[i] : stats.loss;
            m[i].sum += v, m[i].squares += v * v;
        }
    }
}

static void halves_are_independent(void **state)
{
    const spread *s = *state;
    arena a = {0};
    scene_picture plain = load(&a, s, "independent"), p = load(&a, s, s->sampler);
    float *target = target_of(&a, &p), g[ELEMENTS];
    moments independent[ELEMENTS + 1] = {0}, halves[ELEMENTS + 1] = {0};
    measure(&plain, s, target, 16, 16, independent);
    measure(&p, s, target, s->spp, s->taken, halves);
    double size = 0, squares = 0;
    uint32_t elements = 0;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        size = fmax(size, fabs(mean(&independent[i])));
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        if (independent[i].squares == 0 && halves[i].squares == 0)
            continue; /* nobody sees it */
        double error = sqrt(error2(&independent[i]) + error2(&halves[i])),
               z = (mean(&halves[i]) - mean(&independent[i])) / error;
        if (!(fabs(z) < 4.5))
            fail_msg("%s, element %u: %.9g, of independent samples %.9g, z = %.2f", s->sampler, i,
                     mean(&halves[i]), mean(&independent[i]), z);
        assert_true(error < 0.03 * size); /* or the test would see nothing */
        squares += z * z, elements++;
    }
    assert_true(elements > 0 && squares < 3 * elements + 6);
    bl_stats still =
        gradient(&plain, s,
                 &(bl_gradient_desc){
                     .form = BL_FORM_SEPARATE, .spp = 2, .spp_primal = 1 << 15, .seed = 7, .target = target},
                 g);
    double error = sqrt(error2(&halves[LOSS]) + 1e-6 * still.loss * still.loss),
           z = (mean(&halves[LOSS]) - still.loss) / error;
    if (!(fabs(z) < 4.5))
        fail_msg("%s, loss: %.9g of a clean image, two walks %.9g, z = %.2f", s->sampler, still.loss,
                 mean(&halves[LOSS]), z);
    assert_true(error < 0.01 * still.loss);
    double share = error2(&halves[LOSS]) * s->taken / error2(&independent[LOSS]) / 16;
    print_message("%s: %.2f of the loss's variance at equal samples\n", s->sampler, share);
    assert_true(share < 0.85); /* 0.48 to 0.64; if strata were not those of the half, about 1 */
    share = error2(&halves[0]) * s->taken / error2(&independent[0]) / 16;
    print_message("%s: %.2f of that of the first parameter's gradient\n", s->scene, share);
    assert_true(share < s->first);
    scene_picture_free(&plain), scene_picture_free(&p);
    arena_free(&a);
}

static void the_same_for_any_slices(void **state)
{
    const spread *s = *state;
    arena a = {0};
    scene_picture p = load(&a, s, s->sampler);
    float g[3][ELEMENTS];
    const bl_gradient_desc desc = {.spp = 64, .seed = 1, .target = target_of(&a, &p)};
    for (int k = 0; k < 3; k++) {
        bl_gradient_desc d = desc;
        d.slice_seconds = k == 2 ? 1e-5 : 100;
        bl_stats stats = gradient(&p, s, &d, g[k]);
        assert_int_equal(stats.form, BL_FORM_TWO_WALK);
        assert_true(k < 2 || stats.slices > 4);
    }
    assert_memory_equal(g[0], g[1], sizeof g[0]);
    assert_memory_equal(g[0], g[2], sizeof g[0]);
    scene_picture_free(&p);
    arena_free(&a);
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    static const spread spreads[] = {
        {"paddedsobol", 10, 10, "area light", 0.85}, {"stratified", 10, 16, "area light", 1.5},
        {"multijitter", 10, 12, "area light", 0.85}, {"orthogonal", 10, 18, "area light", 1.5},
        {"ldsampler", 10, 16, "area light", 0.85},   {"paddedsobol", 16, 16, "homogeneous", 0.65}};
    enum { COUNT = sizeof spreads / sizeof *spreads };
    struct CMUnitTest tests[2 * COUNT];
    for (int k = 0; k < COUNT; k++) {
        tests[2 * k] = (struct CMUnitTest){spreads[k].sampler, halves_are_independent, NULL, NULL,
                                           (void *)(uintptr_t)&spreads[k]};
        tests[2 * k + 1] = (struct CMUnitTest){"slices", the_same_for_any_slices, NULL, NULL,
                                               (void *)(uintptr_t)&spreads[k]};
    }
    /* lavapipe compiles each kernel for seconds: there, one sampler stands for all */
    uint32_t count = strcmp(device.info.kind, "lavapipe") == 0 ? 2 : 2 * COUNT;
    return scene_device_run(&device, NULL, "stratified halves", tests, count, NULL);
}
