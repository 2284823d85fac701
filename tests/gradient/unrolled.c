/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Path replay against two other ways to the same number, sample by sample, in the interpreter:
 *
 *   unrolled   the path of max_depth vertices written out and differentiated in reverse mode as a whole (PRB,
 *              section 4.1);
 *   frozen     differences of the weights along the path that stays where it is. A weight is a polynomial of
 *              degree 4 at most in any
 *              direction of parameter space (three reflectances and a radiance), so the five-point stencil is
 *              exact for any step; else the
 *              case names a small one, and rounding divided by it is what may differ.
 *
 * Reverse mode takes no loops of what is tracked, so stages of shadow rays, and in heterogeneous media
 * collisions and borders of cells, are written out, too, as many as the scenes need; a sample that needs more
 * is not finite, which fails. Differential ratio tracking is not here: it has other samples
 * (tests/gradient/detours.c).
 *
 * In f64 all three agree to rounding; in f32 replay and unrolled do, to f32's. Every parameter must get a
 * gradient somewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, SEED = 11, DEEPEST = 4, SAMPLES = 100, GRADIENT_STREAM = 1, ELEMENTS_MOST = 128 };
static const double exact_tolerance = 1e-9,
                    single_tolerance = 2e-5; /* of the largest entry of the sample's gradient */

typedef struct subject {
    const scene_case *c;
    scene_eval *e;
    uint32_t depth, elements;
    bool next_event;
    bool reached[ELEMENTS_MOST];
    uint32_t first[SCENE_CASE_PARAMETERS], count[SCENE_CASE_PARAMETERS]; /* elements of each parameter */
} subject;

static void run(subject *s, render_pass pass, uint32_t pixel, uint32_t sample, bool f64)
{
    bl_error err = {0};
    if (scene_eval_run(s->e, pass, pixel, sample, SEED, GRADIENT_STREAM, f64, &err) != BL_OK)
        fail_msg("%s: %s", s->c->name, err.text);
}

static void expect_near(const subject *s, const char *what, uint32_t pixel, uint32_t sample, uint32_t element,
                        double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%s, depth %u, %s, pixel %u, sample %u, element %u: replay %.17g, %s %.17g (tolerance %g)",
                 s->c->name, s->depth, s->next_event ? "next event" : "no next event", pixel, sample, element,
                 a, what, b, tolerance);
}

static double largest(const double *g, uint32_t n)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, fabs(g[i]));
    return most;
}

static void run_replay(subject *s, render_pass pass, uint32_t pixel, uint32_t sample, bool f64)
{
    run(s, pass, pixel, sample, f64);
    assert_int_equal(s->e->status[STATUS_DRIFT], 0);
    assert_int_equal(s->e->status[STATUS_NON_FINITE], 0);
}

static void replay_equals_unrolled(subject *s, uint32_t pixel, uint32_t sample, bool f64, double *g)
{
    run_replay(s, RENDER_GRADIENT, pixel, sample, f64);
    memcpy(g, s->e->gradient, s->elements * sizeof *g);
    double tolerance = (f64 ? exact_tolerance : single_tolerance) * largest(g, s->elements);
    run_replay(s, RENDER_ADJOINT, pixel, sample, f64);
    for (uint32_t i = 0; i < s->elements; i++)
        expect_near(s, f64 ? "separate kernels (f64)" : "separate kernels (f32)", pixel, sample, i, g[i],
                    s->e->gradient[i], tolerance);
    run_replay(s, RENDER_UNROLLED, pixel, sample, f64); /* not finite: more steps than there was room for */
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

/* A direction over all requested elements at once, of random signs and sizes. */
static void replay_equals_differences(subject *s, uint32_t pixel, uint32_t sample, const double *g)
{
    scene_eval *e = s->e;
    double *direction = calloc(e->plan->stored_count, sizeof *direction), along = 0;
    assert_non_null(direction);
    uint32_t state = 1000 * pixel + sample;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        const render_parameter *p = &e->scene->parameters.data[scene_eval_find(e, s->c->parameters[k])];
        uint32_t first = scene_eval_gradient_first(e, s->c->parameters[k]),
                 value = scene_eval_value_first(e, s->c->parameters[k]);
        for (uint32_t i = 0; i < p->count; i++) {
            direction[value + i] = 2 * scene_random(&state) - 1;
            along += direction[value + i] * g[first + i];
        }
    }
    const double h = s->c->step > 0 ? s->c->step : 0.1;
    double f[5];
    for (int k = -2; k <= 2; k++)
        f[k + 2] = frozen_value(s, pixel, sample, direction, k * h);
    double difference = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * h);
    expect_near(s, "frozen differences", pixel, sample, 0, along, difference,
                exact_tolerance * (largest(g, s->elements) + fabs(f[2])) * (s->c->step > 0 ? 1e-3 / h : 1));
    free(direction);
}

static void all_samples(subject *s)
{
    uint32_t state = 77;
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        s->e->adjoint[i] = (float)(0.5 + scene_random(&state));
    for (uint32_t k = 0; k < (s->c->volumetric ? SAMPLES / 4 : SAMPLES);
         k++) { /* paths through media are long ones */
        uint32_t pixel = (uint32_t)(scene_random(&state) * SIDE * SIDE),
                 sample = (uint32_t)(scene_random(&state) * 1000);
        double g[ELEMENTS_MOST];
        replay_equals_unrolled(s, pixel, sample, false, g);
        replay_equals_unrolled(s, pixel, sample, true, g);
        replay_equals_differences(s, pixel, sample, g);
    }
}

static char *folder;

/* Three channels of a colour; at least half of the texels of a bitmap. */
static void every_parameter_was_reached(const subject *s)
{
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        uint32_t reached = 0;
        for (uint32_t i = s->first[k]; i < s->first[k] + s->count[k]; i++)
            reached += s->reached[i];
        if (reached < (s->count[k] == 3 ? 3 : (s->count[k] + 1) / 2))
            fail_msg("%s: %s has %u entries, and only %u got a gradient", s->c->name, s->c->parameters[k],
                     s->count[k], reached);
    }
}

static void at_depth(subject *s, uint32_t depth, bool next_event, bool baked)
{
    arena a = {0};
    s->depth = depth, s->next_event = next_event;
    s->e = scene_eval_create_baked(scene_case_xml(&a, s->c, (int32_t)depth, SIDE, SIDE), folder,
                                   s->c->parameters, scene_case_parameter_count(s->c), baked);
    assert_int_equal(s->e->plan->baked,
                     baked && plan_can_bake(s->e->scene) && !(s->e->plan->moves & MOVE_HITS));
    s->e->options = (render_trace_options){
        .no_next_event = !next_event,
        .unrolled_depth = (uint32_t)s->e->scene->max_depth * (1 + s->c->crossings),
    };
    s->elements = s->e->plan->gradient_count;
    assert_true(s->elements > 0 && s->elements <= ELEMENTS_MOST);
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        s->first[k] = scene_eval_gradient_first(s->e, s->c->parameters[k]);
        s->count[k] = s->e->scene->parameters.data[scene_eval_find(s->e, s->c->parameters[k])].count;
    }
    all_samples(s);
    scene_eval_destroy(s->e);
    arena_free(&a);
}

static void case_agrees(void **state)
{
    subject s = {.c = *state};
    for (int next_event = 0; next_event < 2; next_event++) {
        if (s.c->integrator && s.c->needs_next_event && !next_event)
            continue; /* direct light by light sampling only, without light sampling */
        uint32_t deepest = s.c->integrator ? 2 : s.c->volumetric ? DEEPEST - 1 : DEEPEST;
        for (uint32_t depth = s.c->integrator ? 2 : 1; depth <= deepest; depth++)
            at_depth(&s, depth, next_event, depth % 2);
    }
    every_parameter_was_reached(&s);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    uint32_t count = 0;
    const struct {
        const scene_case *cases;
        uint32_t count;
    } tables[] = {{scene_cases, scene_case_count},
                  {scene_media_cases, scene_media_case_count},
                  {scene_thin_cases, scene_thin_case_count}};
    struct CMUnitTest *tests =
        calloc(scene_case_count + scene_media_case_count + scene_thin_case_count, sizeof *tests);
    for (uint32_t k = 0; tests && k < sizeof tables / sizeof *tables; k++)
        for (const scene_case *c = tables[k].cases; c < tables[k].cases + tables[k].count; c++)
            if (!c->volumetric || c->crossings > 0)
                tests[count++] = (struct CMUnitTest){c->name, case_agrees, NULL, NULL, (void *)(uintptr_t)c};
    int failed = tests ? _cmocka_run_group_tests("unrolled", tests, count, NULL, NULL) : 1;
    free(tests);
    scene_files_remove(folder);
    return failed;
}
