/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed kernels of src/fit that move parameters, on a device, against C references in double precision:
 * optimisers, with bounds and what is not finite, and the slope of total variation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fit_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- optimisers, against their formulas (Mitsuba's, Dr.Jit's) in double precision ---- */

enum {
    PARTS = 5,
    PART = 26 /* elements, with a rate and bounds of their own */,
    ELEMENTS = PARTS * PART,
    STEPS = 40,
    PARAMETER_FIRST = 11,
    GRADIENT_FIRST = 3
};

typedef struct reference {
    double x[ELEMENTS], a[ELEMENTS], b[ELEMENTS];
} reference;

/* How far x moves, without the rate; updates the state of element i. */
static double way_of(const fit_optimizer *o, reference *r, uint32_t i, double g)
{
    switch (o->kind) {
    case BL_OPTIMIZER_SGD:
        r->a[i] = o->momentum * r->a[i] + g;
        return o->nesterov ? g + o->momentum * r->a[i] : r->a[i];
    case BL_OPTIMIZER_RMSPROP:
        r->a[i] = o->alpha * r->a[i] + (1 - o->alpha) * g * g;
        return g / (sqrt(r->a[i]) + o->epsilon);
    default:
        r->a[i] = o->beta_1 * r->a[i] + (1 - o->beta_1) * g;
        r->b[i] = o->beta_2 * r->b[i] + (1 - o->beta_2) * g * g;
        return sqrt(1 - pow(o->beta_2, o->step)) / (1 - pow(o->beta_1, o->step)) * r->a[i] /
               (sqrt(r->b[i]) + o->epsilon);
    }
}

typedef struct limits {
    double rate, lower, upper;
} limits;
static const limits parts[PARTS] = {
    {.05, -INFINITY, INFINITY}, {.01, 0, 1}, {.05, 0, INFINITY}, {.01, -INFINITY, 1}, {.05, 0, 1}};

static void reference_step(const fit_optimizer *o, reference *r, const float *g)
{
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        if (!isfinite(g[i]) || (o->sparse && g[i] == 0))
            continue;
        const limits *l = &parts[i / PART];
        double x = r->x[i] - o->factor * l->rate * way_of(o, r, i, (double)g[i]);
        r->x[i] = fmin(fmax(x, l->lower), l->upper);
    }
}

/* the gradient of step t: smooth, with one element that is sometimes NaN and one that is sometimes
 * infinite. sparse: most have none */
static void make_gradient(float *g, uint32_t t, bool holes, bool sparse)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        g[i] = rintf(4096.0f * sinf((float)i * 1.7f + (float)t * 0.3f)) / 4096.0f;
    for (uint32_t i = 0; i < ELEMENTS && sparse; i++)
        g[i] = i % 5 == 2 || (i + t) % 3 ? 0 : g[i]; /* some never have one, the others in every third step */
    if (holes && t % 3 == 1) {
        g[7] = NAN;
        g[8] = t % 2 ? INFINITY : -INFINITY;
    }
}

static void store_gradient(gpu_buffer *buffer, const float *g, bool fixed_point)
{
    int64_t integers[ELEMENTS];
    for (uint32_t i = 0; i < ELEMENTS && fixed_point; i++)
        integers[i] = (int64_t)((double)g[i] * 65536.0);
    uint32_t bytes = fixed_point ? 8 : 4;
    const void *data = fixed_point ? (const void *)integers : (const void *)g;
    CHECK(gpu_buffer_write(buffer, (uint64_t)GRADIENT_FIRST * bytes, data, (uint64_t)ELEMENTS * bytes,
                           &fit_rig_error));
}

static gpu_buffer *element_words(fit_rig *f, const float *data)
{
    gpu_buffer *b = fit_rig_words(f, ELEMENTS + GRADIENT_FIRST, NULL);
    CHECK(gpu_buffer_write(b, GRADIENT_FIRST * 4, data, ELEMENTS * 4, &fit_rig_error));
    return b;
}

static void compare_parameters(fit_rig *f, gpu_buffer *buffer, const reference *r, bl_optimizer kind)
{
    float *x = fit_rig_read(f, buffer, ELEMENTS + PARAMETER_FIRST);
    for (uint32_t i = 0; i < PARAMETER_FIRST; i++)
        assert_true(x[i] == 0);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        if (!(fabs((double)x[PARAMETER_FIRST + i] - r->x[i]) <= 2e-5))
            fail_msg("optimiser %d, element %u: %g instead of %g", (int)kind, i,
                     (double)x[PARAMETER_FIRST + i], r->x[i]);
    free(x);
}

static fit_optimizer new_optimizer(fit_rig *f, fit_optimizer args)
{
    float scale[ELEMENTS];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        scale[i] = 65536.0f;
    args.parameters = fit_rig_words(f, ELEMENTS + PARAMETER_FIRST, NULL);
    args.gradient = fit_rig_words(f, 2 * (ELEMENTS + GRADIENT_FIRST), NULL);
    args.scale = args.fixed_point ? element_words(f, scale) : NULL;
    for (uint32_t i = 0; i < fit_optimizer_states(args.kind); i++)
        args.state[i] = fit_rig_words(f, ELEMENTS + GRADIENT_FIRST, NULL);
    args.status = fit_rig_words(f, 2, NULL);
    args.count = PART;
    return args;
}

static void record_parts(fit_rig *f, fit_optimizer args)
{
    for (uint32_t k = 0; k < PARTS; k++) {
        args.rate = parts[k].rate, args.lower = parts[k].lower, args.upper = parts[k].upper;
        args.parameter_first = PARAMETER_FIRST + k * PART, args.gradient_first = GRADIENT_FIRST + k * PART;
        fit_record_optimizer(f->batch, f->kernels, &args);
    }
}

static void follows_the_reference(void **state, fit_optimizer args)
{
    fit_rig *f = *state;
    float start[ELEMENTS], g[ELEMENTS];
    static reference r;
    memset(&r, 0, sizeof r);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        r.x[i] = start[i] = (float)i / ELEMENTS;
    args = new_optimizer(f, args);
    CHECK(gpu_buffer_write(args.parameters, PARAMETER_FIRST * 4, start, sizeof start, &fit_rig_error));
    uint32_t holes = 0;
    for (args.step = 1; args.step <= STEPS; args.step++) {
        args.factor = args.step < 20 ? 1 : 0.25;
        make_gradient(g, args.step, !args.fixed_point, args.sparse);
        holes += !isfinite(g[7]) ? 2 : 0;
        store_gradient(args.gradient, g, args.fixed_point);
        fit_rig_begin(f);
        record_parts(f, args);
        fit_rig_finish(f);
        reference_step(&args, &r, g);
    }
    compare_parameters(f, args.parameters, &r, args.kind);
    uint32_t *status = fit_rig_read(f, args.status, 2);
    assert_int_equal(status[0], holes);
    assert_int_equal(status[1], 0);
    free(status);
    fit_rig_free_buffers(state);
}

/* Values that are NaN before the step, with a gradient and without one, and one that overflows. Bounds hide
 * no NaN, but may catch an overflow. */
static void values_that_are_not_finite_are_counted(void **state)
{
    fit_rig *f = *state;
    const float start[5] = {NAN, NAN, 3e38f, 3e38f, 0.5f}, g[5] = {1, NAN, -1, 0, 1};
    for (int bounded = 0; bounded < 2; bounded++) {
        fit_optimizer args = {.kind = BL_OPTIMIZER_SGD,
                              .count = 5,
                              .step = 1,
                              .rate = 3e38,
                              .factor = 1,
                              .lower = bounded ? -1 : (double)-INFINITY,
                              .upper = bounded ? 1 : (double)INFINITY};
        args.parameters = fit_rig_words(f, 5, start), args.gradient = fit_rig_words(f, 5, g);
        args.state[0] = fit_rig_words(f, 5, NULL), args.status = fit_rig_words(f, 2, NULL);
        fit_rig_begin(f);
        fit_record_optimizer(f->batch, f->kernels, &args);
        fit_rig_finish(f);
        uint32_t *status = fit_rig_read(f, args.status, 2);
        assert_int_equal(status[0], 1);
        assert_int_equal(status[1], bounded ? 2 : 3);
        free(status);
    }
    fit_rig_free_buffers(state);
}

static void optimisers_follow_the_reference(void **state)
{
    static const fit_optimizer kinds[] = {
        {.kind = BL_OPTIMIZER_ADAM, .beta_1 = .9, .beta_2 = .999, .epsilon = 1e-8},
        {.kind = BL_OPTIMIZER_ADAM, .beta_1 = .5, .beta_2 = .9, .epsilon = 1e-2},
        {.kind = BL_OPTIMIZER_ADAM, .beta_1 = .9, .beta_2 = .999, .epsilon = 1e-8, .sparse = true},
        {.kind = BL_OPTIMIZER_SGD},
        {.kind = BL_OPTIMIZER_SGD, .momentum = .9},
        {.kind = BL_OPTIMIZER_SGD, .momentum = .9, .nesterov = true},
        {.kind = BL_OPTIMIZER_RMSPROP, .alpha = .99, .epsilon = 1e-8},
        {.kind = BL_OPTIMIZER_RMSPROP, .alpha = .5, .epsilon = 1e-2},
    };
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int fixed_point = 0; fixed_point < 2; fixed_point++) {
            fit_optimizer args = kinds[i];
            args.fixed_point = fixed_point;
            follows_the_reference(state, args);
        }
}

/* ---- total variation ---- */

/* By the definition, of an array [planes, rows, columns, channels]. */
static double variation_value(const double *x, const uint32_t shape[4], double smoothing)
{
    uint32_t stride[3] = {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
    double sum = 0;
    for (uint32_t z = 0; z < shape[0]; z++)
        for (uint32_t y = 0; y < shape[1]; y++)
            for (uint32_t k = 0; k < stride[1]; k++) {
                uint32_t at[3] = {z, y, k / shape[3]}, i = z * stride[0] + y * stride[1] + k;
                double square = smoothing * smoothing;
                for (int a = 0; a < 3; a++)
                    if (at[a] + 1 < shape[a])
                        square += pow(x[i + stride[a]] - x[i], 2);
                sum += sqrt(square);
            }
    return sum / (shape[0] * stride[0]);
}

static void variation_of(fit_rig *f, uint32_t rank, const uint32_t shape[4], double weight, double smoothing)
{
    enum { MOST = 200, FIRST = 3, GRADIENT = 5 };
    uint32_t whole[4] = {1, 1, 1, 1}, n = 1;
    for (uint32_t k = 0; k < rank; k++)
        whole[4 - rank + k] = shape[k], n *= shape[k];
    assert_true(n <= MOST);
    float *x = fit_rig_floats(n, 9, 1), *before = fit_rig_floats(n, 10, 1);
    double wide[MOST];
    for (uint32_t i = 0; i < n; i++)
        wide[i] = (double)(x[i] = i % 3 ? x[i] : 0.5f); /* neighbours that are equal are there, too */
    gpu_buffer *parameters = fit_rig_words(f, n + FIRST, NULL),
               *gradient = fit_rig_words(f, n + GRADIENT, NULL);
    CHECK(gpu_buffer_write(parameters, FIRST * 4, x, n * 4, &fit_rig_error));
    CHECK(gpu_buffer_write(gradient, GRADIENT * 4, before, n * 4, &fit_rig_error));
    fit_variation args = {
        .parameters = parameters,
        .gradient = gradient,
        .parameter_first = FIRST,
        .gradient_first = GRADIENT,
        .rank = rank,
        .weight = weight,
        .smoothing = smoothing,
    };
    memcpy(args.shape, shape, rank * sizeof *shape);
    fit_rig_begin(f);
    fit_record_variation(f->batch, f->kernels, &args);
    fit_rig_finish(f);
    float *after = fit_rig_read(f, gradient, n + GRADIENT);
    for (uint32_t i = 0; i < n; i++) {
        const double step = 1e-5 * smoothing;
        double kept = wide[i], value[2];
        for (int side = 0; side < 2; side++) {
            wide[i] = kept + (side ? step : -step);
            value[side] = variation_value(wide, whole, smoothing);
        }
        wide[i] = kept;
        double expected = (double)before[i] + weight * (value[1] - value[0]) / (2 * step);
        assert_true(fabs((double)after[GRADIENT + i] - expected) < 1e-6 * (1 + weight));
    }
    for (uint32_t i = 0; i < GRADIENT; i++)
        assert_true(after[i] == 0);
    free(after), free(before), free(x);
    fit_rig_free_buffers((void **)&f);
}

static void the_slope_of_total_variation_is_that_of_its_definition(void **state)
{
    static const struct {
        uint32_t rank, shape[4];
    } arrays[] = {{4, {3, 4, 5, 3}}, {4, {5, 4, 3, 1}}, {4, {1, 1, 70, 1}}, {3, {7, 9, 3}}, {3, {1, 1, 1}}};
    for (uint32_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        variation_of(*state, arrays[k].rank, arrays[k].shape, 1, 0.05);
        variation_of(*state, arrays[k].rank, arrays[k].shape, 30, 0.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(optimisers_follow_the_reference, fit_rig_free_buffers),
        cmocka_unit_test_teardown(values_that_are_not_finite_are_counted, fit_rig_free_buffers),
        cmocka_unit_test(the_slope_of_total_variation_is_that_of_its_definition),
    };
    return fit_rig_run(tests, sizeof tests / sizeof *tests);
}
