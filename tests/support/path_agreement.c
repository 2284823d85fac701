/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/path_agreement.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, SEED = 11, GRADIENT_STREAM = 1, ELEMENTS_MOST = 512 };
/* of the largest entry of the sample's gradient; differences: of the gradient and the sample's radiance */
static const double exact_tolerance = 1e-9, single_tolerance = 2e-4, difference_tolerance = 1e-7;

typedef struct subject {
    const path_agreement *a;
    scene_eval *e;
    uint32_t elements;
    bool next_event;
    bool reached[ELEMENTS_MOST];
} subject;

static void run(subject *s, render_pass pass, uint32_t pixel, uint32_t sample, bool f64)
{
    bl_error err = {0};
    if (scene_eval_run(s->e, pass, pixel, sample, SEED, GRADIENT_STREAM, f64, &err) != BL_OK)
        fail_msg("%s: %s", s->a->scene->name, err.text);
}

static void expect_near(const subject *s, const char *what, uint32_t pixel, uint32_t sample, uint32_t element,
                        double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%s, %s, pixel %u, sample %u, element %u: replay %.17g, %s %.17g (tolerance %g)",
                 s->a->scene->name, s->next_event ? "next event" : "no next event", pixel, sample, element, a,
                 what, b, tolerance);
}

static double largest(const double *g, uint32_t n)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, fabs(g[i]));
    return most;
}

static void replay_equals_unrolled(subject *s, uint32_t pixel, uint32_t sample, bool f64, double *g)
{
    run(s, RENDER_GRADIENT, pixel, sample, f64);
    memcpy(g, s->e->gradient, s->elements * sizeof *g);
    assert_int_equal(s->e->status[STATUS_DRIFT], 0);
    assert_int_equal(s->e->status[STATUS_NON_FINITE], 0);
    run(s, RENDER_UNROLLED, pixel, sample, f64);
    /* below 2^-100 of radiances near 1 some factor was below 2^-126, where floats of 32 bits lose their
     * digits */
    double tolerance =
        (f64 ? exact_tolerance : single_tolerance) * largest(g, s->elements) + (f64 ? 0 : 0x1p-100);
    for (uint32_t i = 0; i < s->elements; i++) {
        expect_near(s, f64 ? "unrolled (f64)" : "unrolled (f32)", pixel, sample, i, g[i], s->e->gradient[i],
                    tolerance);
        s->reached[i] |= g[i] != 0;
    }
}

/* <adjoint, weights of the frozen path at values + step * direction> */
static double frozen_value(subject *s, uint32_t pixel, uint32_t sample, const double *direction, double step)
{
    scene_eval_freeze(s->e, direction, step);
    run(s, RENDER_FROZEN, pixel, sample, true);
    return scene_eval_weighted(s->e, pixel);
}

/* A direction over all requested elements at once. Fresnel terms are no polynomials, so steps are small. */
static void replay_equals_differences(subject *s, uint32_t pixel, uint32_t sample, const double *g)
{
    static const double centred[5] = {1, -8, 0, 8, -1}, one_sided[5] = {-25, 48, -36, 16, -3};
    scene_eval *e = s->e;
    const scene_case *c = s->a->scene;
    double *direction = calloc(e->plan->stored_count, sizeof *direction), along = 0, difference = 0, size = 0,
           inwards = s->a->inwards;
    assert_non_null(direction);
    uint32_t state = 1000 * pixel + sample;
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++) {
        const render_parameter *p = &e->scene->parameters.data[scene_eval_find(e, c->parameters[k])];
        uint32_t first = scene_eval_gradient_first(e, c->parameters[k]),
                 value = scene_eval_value_first(e, c->parameters[k]);
        for (uint32_t i = 0; i < p->count; i++) {
            direction[value + i] =
                inwards != 0 ? inwards * scene_random(&state) : 2 * scene_random(&state) - 1;
            along += direction[value + i] * g[first + i];
        }
    }
    const double h = 1e-5;
    for (int k = 0; k < 5; k++) {
        double f = frozen_value(s, pixel, sample, direction, (inwards != 0 ? k : k - 2) * h);
        difference += (inwards != 0 ? one_sided : centred)[k] * f / (12 * h);
        size = fmax(size, fabs(f));
    }
    expect_near(s, "frozen differences", pixel, sample, 0, along, difference,
                (difference_tolerance + s->a->slack) * (largest(g, s->elements) + size));
    free(direction);
}

/* One precision after the other: derived values are those of one. */
static void all_samples(subject *s)
{
    uint32_t state = 77;
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        s->e->adjoint[i] = (float)(0.5 + scene_random(&state));
    for (uint32_t k = 0; k < 2 * s->a->samples; k++) {
        uint32_t pixel = (uint32_t)(scene_random(&state) * SIDE * SIDE),
                 sample = (uint32_t)(scene_random(&state) * 1000);
        double g[ELEMENTS_MOST];
        replay_equals_unrolled(s, pixel, sample, k >= s->a->samples, g);
        if (k >= s->a->samples)
            replay_equals_differences(s, pixel, sample, g);
    }
}

void path_agreement_expect(const path_agreement *what)
{
    subject s = {.a = what};
    const scene_case *c = what->scene;
    for (int next_event = 0; next_event < 2; next_event++) {
        arena a = {0};
        s.next_event = next_event;
        s.e = scene_eval_create(scene_case_xml(&a, c, (int32_t)what->depth, SIDE, SIDE), what->folder,
                                c->parameters, scene_case_parameter_count(c));
        s.e->options = (render_trace_options){.no_next_event = !next_event, .unrolled_depth = what->depth};
        s.elements = 0; /* those of derived values behind them are not judged by themselves */
        for (uint32_t k = 0; k < scene_case_parameter_count(c); k++)
            s.elements += s.e->scene->parameters.data[scene_eval_find(s.e, c->parameters[k])].count;
        assert_true(s.elements > 0 && s.elements <= ELEMENTS_MOST);
        all_samples(&s);
        scene_eval_destroy(s.e);
        arena_free(&a);
    }
    uint32_t reached = 0;
    for (uint32_t i = 0; i < s.elements; i++) {
        reached += s.reached[i];
        if (!s.reached[i] && !what->dark)
            fail_msg("%s: element %u got no gradient", c->name, i);
    }
    assert_true(reached > 0);
}
