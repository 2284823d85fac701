/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sample_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 11, GRADIENT_STREAM = 1, POINTS = 5 };

void sample_check_begin(sample_check *s, scene_eval *e, uint32_t *random)
{
    s->e = e, s->elements = 0;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->scene); k++) {
        const char *name = s->scene->parameters[k];
        s->first[k] = scene_eval_gradient_first(e, name);
        s->count[k] = e->scene->parameters.data[scene_eval_find(e, name)].count;
        s->elements += s->count[k];
    }
    assert_true(s->elements > 0 && e->plan->gradient_count <= SAMPLE_CHECK_ELEMENTS);
    for (uint32_t i = 0; i < scene_eval_values(e); i++)
        e->adjoint[i] = (float)(0.5 + scene_random(random));
}

scene_eval_at sample_check_draw(uint32_t *random, bool f64)
{
    uint32_t pixel = (uint32_t)(scene_random(random) * SAMPLE_CHECK_SIDE * SAMPLE_CHECK_SIDE),
             sample = (uint32_t)(scene_random(random) * 1000);
    return (scene_eval_at){pixel, sample, SEED, GRADIENT_STREAM, f64};
}

void sample_check_run(sample_check *s, render_pass pass, scene_eval_at at)
{
    bl_error err = {0};
    if (scene_eval_run(s->e, pass, at, &err) != BL_OK)
        fail_msg("%s: %s", s->scene->name, err.text);
}

void sample_check_run_clean(sample_check *s, render_pass pass, scene_eval_at at)
{
    sample_check_run(s, pass, at);
    assert_int_equal(s->e->status[STATUS_DRIFT], 0);
    assert_int_equal(s->e->status[STATUS_NON_FINITE], 0);
}

void sample_check_near(const sample_check *s, scene_eval_at at, sample_pair pair, double tolerance)
{
    if (!(fabs(pair.replay - pair.other) <= tolerance))
        fail_msg("%s, %s, pixel %u, sample %u, element %u: replay %.17g, %s (%s) %.17g (tolerance %g)",
                 s->scene->name, s->variant, at.pixel, at.sample, pair.element, pair.replay, pair.other_way,
                 at.f64 ? "f64" : "f32", pair.other, tolerance);
}

void sample_check_same(const sample_check *s, scene_eval_at at, const char *what, const double *replay,
                       double tolerance)
{
    for (uint32_t i = 0; i < s->elements; i++)
        sample_check_near(s, at, (sample_pair){what, i, replay[i], s->e->gradient[i]}, tolerance);
}

double sample_check_largest(const sample_check *s, const double *gradient)
{
    double most = 0;
    for (uint32_t i = 0; i < s->elements; i++)
        most = fmax(most, fabs(gradient[i]));
    return most;
}

void sample_check_unrolled(sample_check *s, scene_eval_at at, double relative, double absolute,
                           double *replay)
{
    sample_check_run_clean(s, RENDER_GRADIENT, at);
    memcpy(replay, s->e->gradient, s->elements * sizeof *replay);
    sample_check_run_clean(s, RENDER_UNROLLED, at); /* not finite: more steps than there was room for */
    sample_check_same(s, at, "unrolled", replay, relative * sample_check_largest(s, replay) + absolute);
    for (uint32_t i = 0; i < s->elements; i++)
        s->reached[i] |= replay[i] != 0;
}

/* <adjoint, weights of the path that stays where it is at values + step * direction> */
static double frozen_value(sample_check *s, scene_eval_at at, const double *direction, double step)
{
    scene_eval_freeze(s->e, direction, step);
    sample_check_run(s, RENDER_FROZEN, at);
    return scene_eval_weighted(s->e, at.pixel);
}

/* Fills a direction of random signs and sizes, and returns <replay, direction>. */
static double draw_direction(const sample_check *s, scene_eval_at at, const double *replay, double side,
                             double *direction)
{
    double along = 0;
    uint32_t random = 1000 * at.pixel + at.sample;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->scene); k++) {
        uint32_t value = scene_eval_value_first(s->e, s->scene->parameters[k]);
        for (uint32_t i = 0; i < s->count[k]; i++) {
            double u = scene_random(&random);
            direction[value + i] = side != 0 ? side * u : 2 * u - 1;
            along += direction[value + i] * replay[s->first[k] + i];
        }
    }
    return along;
}

sample_difference sample_check_differences(sample_check *s, scene_eval_at at, const double *replay,
                                           double step, double side)
{
    static const double centred[POINTS] = {1, -8, 0, 8, -1}, one_sided[POINTS] = {-25, 48, -36, 16, -3};
    const int here = side != 0 ? 0 : POINTS / 2;
    double *direction = calloc(s->e->plan->stored_count, sizeof *direction);
    assert_non_null(direction);
    sample_difference d = {.along = draw_direction(s, at, replay, side, direction)};
    for (int k = 0; k < POINTS; k++) {
        double f = frozen_value(s, at, direction, (k - here) * step);
        d.difference += (side != 0 ? one_sided : centred)[k] * f / (12 * step);
        d.most = fmax(d.most, fabs(f));
        if (k == here)
            d.here = fabs(f);
    }
    free(direction);
    return d;
}

void sample_check_forward(sample_check *s, scene_eval_at at, const double *replay)
{
    scene_eval *e = s->e;
    uint32_t random = 7 * at.sample + 1;
    double along = 0, size = 0;
    memset(e->tangent, 0, e->plan->value_count * sizeof *e->tangent);
    for (uint32_t k = 0; k < scene_case_parameter_count(s->scene); k++) {
        uint32_t value = scene_eval_value_first(e, s->scene->parameters[k]);
        for (uint32_t i = 0; i < s->count[k]; i++) {
            double v = 2 * scene_random(&random) - 1;
            e->tangent[value + i] = v;
            along += v * replay[s->first[k] + i], size += fabs(v * replay[s->first[k] + i]);
        }
    }
    sample_check_run(s, RENDER_FORWARD, at);
    sample_check_near(s, at, (sample_pair){"forward mode", 0, along, scene_eval_weighted(e, at.pixel)},
                      1e-9 * (1e-3 + size));
}

uint32_t sample_check_reached(const sample_check *s, uint32_t k)
{
    uint32_t reached = 0;
    for (uint32_t i = s->first[k]; i < s->first[k] + s->count[k]; i++)
        reached += s->reached[i];
    return reached;
}

void sample_check_expect_reached(const sample_check *s, uint32_t k, uint32_t least)
{
    uint32_t reached = sample_check_reached(s, k);
    if (reached < least)
        fail_msg("%s: %s has %u entries, and only %u got a gradient", s->scene->name, s->scene->parameters[k],
                 s->count[k], reached);
}
