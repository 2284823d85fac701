/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plain_differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 3, GRADIENT_STREAM = 1 };
static const double step = 1e-6;

static void run(scene_eval *e, render_pass pass, uint32_t pixel, uint32_t sample)
{
    bl_error err = {0};
    if (scene_eval_run(
            e, pass,
            (scene_eval_at){
                .pixel = pixel, .sample = sample, .seed = SEED, .stream = GRADIENT_STREAM, .f64 = true},
            &err) != BL_OK)
        fail_msg("%s", err.text);
}

static double moved(scene_eval *e, uint32_t value, double by, uint32_t pixel, uint32_t sample)
{
    double old = e->values[value];
    e->values[value] = old + by;
    run(e, RENDER_PRIMAL, pixel, sample);
    e->values[value] = old;
    return scene_eval_weighted(e, pixel);
}

static uint32_t largest(const double *gradient, uint32_t count, uint32_t otherwise)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        if (fabs(gradient[i]) > most)
            most = fabs(gradient[i]), otherwise = i;
    return otherwise;
}

void plain_differences_expect(scene_eval *e, const plain_differences *d)
{
    uint32_t pixels = e->scene->width * e->scene->height, compared = 0, off = 0;
    double sizes = 0, *gradient = malloc(e->plan->gradient_count * sizeof *gradient);
    assert_non_null(gradient);
    for (uint32_t i = 0; i < 3 * pixels; i++)
        e->adjoint[i] = 1 + (float)(i % 3);
    for (uint32_t n = 0; n < d->samples; n++) {
        uint32_t pixel = n * 37 % pixels;
        run(e, RENDER_GRADIENT, pixel, n);
        assert_int_equal(e->status[STATUS_DRIFT], 0);
        memcpy(gradient, e->gradient, e->plan->gradient_count * sizeof *gradient);
        for (uint32_t k = 0; k < d->parameter_count; k++) {
            const char *name = d->parameters[k];
            const double *g = gradient + scene_eval_gradient_first(e, name);
            uint32_t value = scene_eval_value_first(e, name),
                     count = e->scene->parameters.data[scene_eval_find(e, name)].count;
            uint32_t first = d->every ? 0 : largest(g, count, n % count), end = d->every ? count : first + 1;
            for (uint32_t i = first; i < end; i++) {
                double wanted =
                    (moved(e, value + i, step, pixel, n) - moved(e, value + i, -step, pixel, n)) / (2 * step);
                if (!(fabs(g[i] - wanted) <= 1e-5 + 2e-4 * fmax(fabs(wanted), fabs(g[i]))) &&
                    ++off > d->samples / 10)
                    fail_msg("%s, %s[%u], pixel %u, sample %u: %.9g, differences say %.9g", d->name, name, i,
                             pixel, n, g[i], wanted);
                compared++, sizes += fabs(wanted);
            }
        }
    }
    free(gradient);
    print_message("%s: %u derivatives, %u beside an edge, mean size %.3g\n", d->name, compared, off,
                  sizes / compared);
    assert_true(sizes / compared > d->least_mean);
}

void plain_differences_of_case(const scene_case *c, const char *folder, int32_t max_depth, uint32_t side,
                               uint32_t samples)
{
    arena a = {0};
    scene_eval *e = scene_eval_create(scene_case_xml(&a, c, max_depth, side, side), folder, c->parameters, 1);
    plain_differences_expect(e, &(plain_differences){.name = c->name,
                                                     .parameters = c->parameters,
                                                     .parameter_count = 1,
                                                     .samples = samples,
                                                     .least_mean = 1e-2});
    scene_eval_destroy(e);
    arena_free(&a);
}
