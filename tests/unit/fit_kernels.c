/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed kernels of src/fit on a device, against C references: resolve, losses, fixed-point gradients,
 * optimisers, total variation. All of it with buffers that are bound, with kernels that check their
 * accesses, and with a range so small that every kernel finds its buffers by address; all must leave the same
 * bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fit/fit.h"
#include "support/fixed_point_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 16, SMALL_RANGE = 8 }; /* bytes; the smallest buffer has 16 */

typedef struct fixture {
    gpu *instance;
    gpu_device *device;
    gpu_batch *batch;
    fit_kernels *kernels;
    gpu_buffer *buffers[MOST_BUFFERS];
    uint32_t buffer_count;
    uint64_t read; /* hash of all that was read back */
} fixture;

enum { BOUND, CHECKED, ADDRESSED, FORM_COUNT };
static uint64_t read_of[FORM_COUNT];

static bl_error err;
#define CHECK(call) check((call), #call)

static void check(bl_result result, const char *what)
{
    if (result != BL_OK)
        fail_msg("%s: %s", what, err.text);
}

/* ---- the device: exit status 77 where there is none ---- */

static int open_device(void **state, uint32_t buffer_range, bool checked)
{
    fixture *f = calloc(1, sizeof *f);
    const char *name = getenv("BL_DEVICE");
    if (gpu_open(&(gpu_options){.buffer_range = buffer_range}, &f->instance, &err) != BL_OK ||
        gpu_device_create(f->instance, name ? name : "swiftshader", &f->device, &err) != BL_OK) {
        fprintf(stderr, "no device: %s\n", err.text);
        exit(77);
    }
    CHECK(gpu_batch_create(f->device, &f->batch, &err));
    CHECK(fit_kernels_create(f->device, checked, &f->kernels, &err));
    *state = f;
    return 0;
}

static int bound_setup(void **state) { return open_device(state, 0, false); }
static int checked_setup(void **state) { return open_device(state, 0, true); }

static int addressed_setup(void **state)
{
    open_device(state, SMALL_RANGE, false);
    const fixture *f = *state;
    if (!gpu_device_info(f->device)->buffer_address)
        fail_msg("%s has no buffer addresses", gpu_device_info(f->device)->name);
    return 0;
}

static int close_device(void **state, int form)
{
    fixture *f = *state;
    read_of[form] = f->read;
    fit_kernels_destroy(f->kernels);
    gpu_batch_destroy(f->batch);
    gpu_device_destroy(f->device);
    gpu_close(f->instance);
    free(f);
    return 0;
}

static int bound_teardown(void **state) { return close_device(state, BOUND); }
static int checked_teardown(void **state) { return close_device(state, CHECKED); }
static int addressed_teardown(void **state) { return close_device(state, ADDRESSED); }

static int test_teardown(void **state)
{
    fixture *f = *state;
    for (uint32_t i = 0; i < f->buffer_count; i++)
        gpu_buffer_destroy(f->buffers[i]);
    f->buffer_count = 0;
    return 0;
}

/* A buffer of n words, zeros or a copy of data. */
static gpu_buffer *words(fixture *f, uint32_t n, const void *data)
{
    assert_true(f->buffer_count < MOST_BUFFERS);
    gpu_buffer *b = NULL;
    CHECK(gpu_buffer_create(f->device, GPU_DEVICE, n * 4ull, "test", &b, &err));
    f->buffers[f->buffer_count++] = b;
    if (data)
        CHECK(gpu_buffer_write(b, 0, data, n * 4ull, &err));
    return b;
}

static void *readback(fixture *f, gpu_buffer *b, uint32_t n)
{
    unsigned char *data = malloc(n * 4ull);
    CHECK(gpu_buffer_read(b, 0, data, n * 4ull, &err));
    for (uint32_t i = 0; i < 4 * n; i++)
        f->read = (f->read ^ data[i]) * 1099511628211u; /* FNV-1a */
    return data;
}

static void begin(fixture *f) { CHECK(gpu_batch_begin(f->batch, &err)); }

static void finish(fixture *f)
{
    CHECK(gpu_batch_submit(f->batch, &err));
    CHECK(gpu_batch_wait(f->batch, NULL, &err));
    CHECK(fit_kernels_check(f->kernels, &err));
}

static float random_float(uint64_t *state) { return (float)(random_word(state) >> 8) / 16777216.0f; }

static float *random_floats(uint32_t n, uint64_t seed, float scale)
{
    float *values = malloc(n * sizeof *values);
    for (uint32_t i = 0; i < n; i++)
        values[i] = scale * random_float(&seed);
    return values;
}

/* ---- resolve ---- */

static void resolve_sums_strips_in_order(void **state)
{
    fixture *f = *state;
    enum { PIXELS = 501, STRIPS = 7, LANE = 7, FIRST = 2 };
    float *film = random_floats(PIXELS * STRIPS * LANE, 1, 10.0f);
    gpu_buffer *film_buffer = words(f, PIXELS * STRIPS * LANE, film);
    gpu_buffer *image_buffer = words(f, PIXELS * 3, NULL);
    begin(f);
    fit_record_resolve(f->batch, f->kernels,
                       &(fit_resolve){.film = film_buffer,
                                      .image = image_buffer,
                                      .pixels = PIXELS,
                                      .strips = STRIPS,
                                      .lane_words = LANE,
                                      .lane_first = FIRST,
                                      .scale = 1.0f / 96});
    finish(f);
    float *image = readback(f, image_buffer, PIXELS * 3);
    for (uint32_t i = 0; i < PIXELS * 3; i++) {
        float sum = 0;
        for (uint32_t s = 0; s < STRIPS; s++)
            sum += film[(s * PIXELS + i / 3) * LANE + FIRST + i % 3];
        sum *= 1.0f / 96;
        assert_memory_equal(&image[i], &sum, 4); /* the same bits */
    }
    free(image);
    free(film);
}

/* ---- losses ---- */

/* The definitions of backlight.h, in double precision. */
static double loss_value(bl_loss loss, double i, double t, double constant)
{
    double d = i - t, a = fabs(d);
    switch (loss) {
    case BL_LOSS_L1:
        return a;
    case BL_LOSS_RELATIVE_L2:
        return d * d / (t * t + constant);
    case BL_LOSS_HUBER:
        return a <= constant ? d * d / 2 : constant * (a - constant / 2);
    default:
        return d * d;
    }
}

/* dL/dI of one value by central differences of the definition. Where the loss has a kink or a joint within
 * the step, the slope lies between the one-sided ones: *slack. */
static double loss_slope(bl_loss loss, double i, double t, double constant, double *slack)
{
    double e = 1e-5, low = loss_value(loss, i - e, t, constant), mid = loss_value(loss, i, t, constant),
           high = loss_value(loss, i + e, t, constant);
    *slack = fabs(high - 2 * mid + low) / (2 * e);
    return (high - low) / (2 * e);
}

static const float odd_pairs[][2] = {{0, 0}, {1, 1},     {0, 2},     {2, 0},      {5, 4},
                                     {4, 5}, {1e-4f, 0}, {0, 1e-4f}, {300, 0.5f}, {0.25f, 0.5f}};
enum { ODD_PAIRS = sizeof odd_pairs / sizeof odd_pairs[0] };

static void check_loss(fixture *f, const fit_loss *args, const float *image, const float *target,
                       double constant)
{
    uint32_t n = args->n;
    double all = args->weight > 0 ? args->weight : 1, loss = 0;
    float *adjoint = readback(f, args->adjoint, n), *results = readback(f, args->results, 4);
    for (uint32_t i = 0; i < n; i++) {
        double weight = all * (args->weighted ? (double)target[n + i] : 1);
        if (weight == 0) {
            assert_true(adjoint[i] == 0);
            continue;
        }
        double slack, slope = loss_slope(args->loss, (double)image[i], (double)target[i], constant, &slack);
        loss += weight * loss_value(args->loss, (double)image[i], (double)target[i], constant) / n;
        double off = fabs((double)adjoint[i] * n / weight - slope);
        /* rounding of the f32 difference and of the differences themselves; a slope of 0 at a kink is within
         * it */
        double wide = args->loss == BL_LOSS_RELATIVE_L2
                          ? fabs(slope) + 1 / ((double)target[i] * (double)target[i] + constant)
                          : fabs(slope);
        if (!(off <= 1e-6 * (1 + wide) + 1e-6 * wide + slack))
            fail_msg("loss %d at I %g, T %g: slope %.9g, by differences %.9g +- %g", (int)args->loss,
                     (double)image[i], (double)target[i], (double)adjoint[i] * n / weight, slope, slack);
    }
    if (!(fabs((double)results[args->slot] - loss) <= 1e-6 * loss))
        fail_msg("loss %d of %u values: %.9g instead of %.9g", (int)args->loss, n,
                 (double)results[args->slot], loss);
    assert_true(results[0] == 0 && results[1] == 0 && results[3] == 0);
    free(adjoint);
    free(results);
}

/* given: the loss's own number, 0 for its default */
static void loss_of_size(fixture *f, bl_loss loss, uint32_t n, double given, double weight)
{
    const bool weighted = weight > 0;
    float *image = random_floats(n, 2, 3.0f), *target = random_floats(2 * n, 3, 3.0f);
    for (uint32_t i = 0; i < ODD_PAIRS && i < n; i++)
        image[i] = odd_pairs[i][0], target[i] = odd_pairs[i][1];
    for (uint32_t i = 0; i < n; i++)
        target[n + i] = i % 5 == 3 ? 0 : fabsf(target[n + i]);
    fit_loss args = {
        .loss = loss,
        .constant = given,
        .weight = weight,
        .weighted = weighted,
        .image = words(f, n, image),
        .target = words(f, weighted ? 2 * n : n, target),
        .adjoint = words(f, n, NULL),
        .partials = words(f, fit_loss_partials(n), NULL),
        .results = words(f, 4, NULL),
        .n = n,
        .slot = 2,
    };
    begin(f);
    fit_record_loss(f->batch, f->kernels, &args);
    finish(f);
    check_loss(f, &args, image, target, given > 0 ? given : fit_loss_info(loss).constant);
    free(image);
    free(target);
}

static void losses_and_slopes_match_their_definitions(void **state)
{
    static const uint32_t sizes[] = {1, 63, 64, 65, 1023, 1024, 1025, 48 * 48 * 3, 200003};
    for (bl_loss loss = 0; loss < BL_LOSS_COUNT; loss++)
        for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            loss_of_size(*state, loss, sizes[i], 0, 0);
            test_teardown(state);
            loss_of_size(*state, loss, sizes[i], 0.3, 0.25);
            test_teardown(state);
        }
}

/* The sum of n squared differences in the order that kernels/loss.c and kernels/reduce.c state, so that its
 * bits are the same on every device. */
static float sum_in_order(const float *image, const float *target, uint32_t n, float scale)
{
    uint32_t count = (n + 1023) / 1024 * 64;
    float *sums = calloc(count, sizeof *sums);
    for (uint32_t lane = 0; lane < count; lane++) {
        uint32_t begin = lane / 64 * 1024;
        for (uint32_t i = begin + lane % 64; i < n && i < begin + 1024; i += 64)
            sums[lane] += (image[i] - target[i]) * (image[i] - target[i]);
        sums[lane] *= scale;
    }
    while (count > 1) {
        uint32_t lanes = (count + 63) / 64;
        for (uint32_t lane = 0; lane < lanes; lane++) {
            float sum = 0;
            for (uint32_t i = lane; i < count; i += lanes)
                sum += sums[i];
            sums[lane] = sum; /* later lanes read behind it */
        }
        count = lanes;
    }
    float sum = sums[0];
    free(sums);
    return sum;
}

static void a_loss_has_the_bits_of_its_order(void **state)
{
    fixture *f = *state;
    static const uint32_t sizes[] = {1, 1024, 1025, 64 * 1024 + 5, 300007};
    for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint32_t n = sizes[k];
        float *image = random_floats(n, 41, 1), *target = random_floats(n, 42, 1);
        fit_loss args = {
            .loss = BL_LOSS_L2,
            .image = words(f, n, image),
            .target = words(f, n, target),
            .adjoint = words(f, n, NULL),
            .partials = words(f, fit_loss_partials(n), NULL),
            .results = words(f, 1, NULL),
            .n = n,
        };
        begin(f);
        fit_record_loss(f->batch, f->kernels, &args);
        finish(f);
        float *loss = readback(f, args.results, 1);
        float expected = sum_in_order(image, target, n, (float)(1.0 / n));
        if (loss[0] != expected)
            fail_msg("%u values: %a instead of %a", n, (double)loss[0], (double)expected);
        free(loss), free(image), free(target);
        test_teardown(state);
    }
}

/* What is not used is not made, and nothing is made twice. */
static void kernels_are_made_when_first_used(void **state)
{
    fixture *f = *state;
    enum { N = 3 };
    fit_kernels *kernels;
    gpu_buffer *partials = words(f, fit_loss_partials(N), NULL), *results = words(f, 1, NULL);
    uint64_t before = gpu_device_stats(f->device).pipelines_created;
    CHECK(fit_kernels_create(f->device, false, &kernels, &err));
    assert_int_equal(gpu_device_stats(f->device).pipelines_created, before);
    for (int k = 0; k < 2; k++) {
        begin(f);
        fit_record_loss_sum(f->batch, kernels, partials, results, N, 0);
        fit_record_loss_sum(f->batch, kernels, partials, results, N, 0);
        finish(f);
        assert_int_equal(gpu_device_stats(f->device).pipelines_created, before + 1);
    }
    fit_kernels_destroy(kernels);
}

/* The film lacks two words that its padding has, so the call is accepted. */
static void an_access_out_of_range_is_reported(void **state)
{
    fixture *f = *state;
    enum { PIXELS = 5 };
    fit_resolve r = {.film = words(f, 3 * PIXELS - 2, NULL),
                     .image = words(f, 3 * PIXELS, NULL),
                     .pixels = PIXELS,
                     .strips = 1,
                     .scale = 1};
    begin(f);
    fit_record_resolve(f->batch, f->kernels, &r);
    CHECK(gpu_batch_submit(f->batch, &err));
    CHECK(gpu_batch_wait(f->batch, NULL, &err));
    if (fit_kernels_check(f->kernels, &err) != BL_ERROR_BOUNDS || !strstr(err.text, "\"resolve\"") ||
        !strstr(err.text, "has 13 words") || !strstr(err.text, "out of range"))
        fail_msg("%s", err.text);
    r.pixels--;
    begin(f);
    fit_record_resolve(f->batch, f->kernels, &r);
    finish(f);
}

/* ---- the loss of two walks, in two tiles: strips of even and of odd number are the halves ---- */

enum { HALVES_PIXELS = 1500, HALVES_STRIPS = 4, HALVES_SPP = 8, HALVES_N = 3 * HALVES_PIXELS };

/* Of half 0 or 1. */
static double half_value(const float *film, uint32_t i, uint32_t half)
{
    double sum = 0;
    for (uint32_t strip = half; strip < HALVES_STRIPS; strip += 2)
        sum += (double)film[strip * HALVES_N + i];
    return sum / (HALVES_SPP / 2);
}

static double affine_slope(bl_loss loss, double i, double t)
{
    return 2 * (i - t) / (loss == BL_LOSS_L2 ? 1 : t * t + fit_loss_info(loss).constant);
}

static void check_halves(fixture *f, const fit_loss_halves *args, const float *film, const float *target,
                         gpu_buffer *loss_buffer)
{
    float *image = readback(f, args->image, HALVES_N), *adjoint = readback(f, args->adjoint, 2 * HALVES_N),
          *loss = readback(f, loss_buffer, 1);
    double sum = 0;
    for (uint32_t i = 0; i < HALVES_N; i++) {
        double half[2] = {half_value(film, i, 0), half_value(film, i, 1)}, t = (double)target[i];
        assert_true(fabs((double)image[i] - (half[0] + half[1]) / 2) < 1e-6);
        for (uint32_t k = 0; k < 2; k++) {
            double slope = affine_slope(args->loss, half[k], t);
            assert_true(fabs((double)adjoint[k * HALVES_N + i] * HALVES_N - slope) < 1e-3);
        }
        sum += affine_slope(args->loss, half[0], t) * (half[1] - t) / 2 / HALVES_N;
    }
    assert_true(fabs((double)loss[0] - sum) < 1e-4 * fabs(sum));
    free(image), free(adjoint), free(loss);
}

static void losses_of_two_walks_match_their_definitions(void **state)
{
    fixture *f = *state;
    float *film = random_floats(HALVES_STRIPS * HALVES_N, 31, 2), *target = random_floats(HALVES_N, 32, 1);
    for (bl_loss loss = 0; loss < BL_LOSS_COUNT; loss++) {
        if (!fit_loss_info(loss).unbiased)
            continue;
        gpu_buffer *results = words(f, 1, NULL);
        fit_loss_halves args = {
            .loss = loss,
            .film = words(f, HALVES_STRIPS * HALVES_N, film),
            .target = words(f, HALVES_N, target),
            .image = words(f, HALVES_N, NULL),
            .adjoint = words(f, 2 * HALVES_N, NULL),
            .partials = words(f, fit_loss_partials(HALVES_N), NULL),
            .pixels = HALVES_PIXELS,
            .strips = HALVES_STRIPS,
            .spp = HALVES_SPP,
            .pixel_count = FIT_TILE_PIXELS,
        };
        begin(f);
        fit_record_loss_halves(f->batch, f->kernels, &args);
        args.first_pixel = FIT_TILE_PIXELS, args.pixel_count = HALVES_PIXELS - FIT_TILE_PIXELS;
        fit_record_loss_halves(f->batch, f->kernels, &args);
        fit_record_loss_sum(f->batch, f->kernels, args.partials, results, HALVES_N, 0);
        finish(f);
        check_halves(f, &args, film, target, results);
        test_teardown(state);
    }
    free(film), free(target);
}

/* The bound that the scale of gradients is chosen by holds for every image up to the target's brightness, and
 * is not idle. */
static void the_steepest_slope_is_a_bound(void **state)
{
    (void)state;
    enum { N = 500 };
    float *target = random_floats(N, 21, 2.0f), *image = random_floats(N, 22, 2.0f);
    target[3] = 0, target[7] = 2.0f, image[9] = NAN;
    for (bl_loss loss = 0; loss < BL_LOSS_COUNT; loss++) {
        double constant = fit_loss_info(loss).constant,
               bound = fit_loss_steepest(loss, 0, &(fit_goal){target, NULL, N, 1, false}), most = 0, slack;
        for (uint32_t i = 0; i < N; i++)
            if (i != 9)
                most = fmax(
                    most, fabs(loss_slope(loss, (double)image[i], (double)target[i], constant, &slack)) / N);
        assert_true(most <= bound * (1 + 1e-6) && bound <= 400 * most);
    }
    free(target);
    free(image);
}

static void loss_dot_matches_the_formula(void **state)
{
    fixture *f = *state;
    enum { N = 30001 };
    float *image = random_floats(N, 4, 3.0f), *weights = random_floats(N, 5, 1.0f);
    double sum = 0;
    for (uint32_t i = 0; i < N; i++)
        sum += (double)image[i] * (double)weights[i];
    gpu_buffer *results_buffer = words(f, 1, NULL);
    begin(f);
    fit_record_loss_dot(f->batch, f->kernels,
                        &(fit_loss_dot){.image = words(f, N, image),
                                        .weights = words(f, N, weights),
                                        .partials = words(f, fit_loss_partials(N), NULL),
                                        .results = results_buffer,
                                        .n = N});
    finish(f);
    float *results = readback(f, results_buffer, 1);
    assert_true(fabs((double)results[0] - sum) <= 1e-6 * sum);
    free(image);
    free(weights);
    free(results);
}

/* ---- fixed point ---- */

enum { INTEGERS = FIXED_POINT_SHAPES + 4096 };

static void fixed_point_is_rounded_once(void **state)
{
    fixture *f = *state;
    int64_t *values = malloc((INTEGERS + 5) * sizeof *values);
    float *scales = malloc((INTEGERS + 5) * sizeof *scales);
    memset(values, 0x55, 5 * sizeof *values);
    fixed_point_cases(values + 5, INTEGERS);
    for (uint32_t i = 0; i < INTEGERS + 5; i++)
        scales[i] = ldexpf(1.0f, (int)(i % 61) - 20);
    gpu_buffer *output_buffer = words(f, INTEGERS + 3, NULL);
    begin(f);
    fit_record_gradient_read(f->batch, f->kernels,
                             &(fit_gradient_read){.gradient = words(f, 2 * (INTEGERS + 5), values),
                                                  .scale = words(f, INTEGERS + 5, scales),
                                                  .output = output_buffer,
                                                  .count = INTEGERS,
                                                  .gradient_first = 5,
                                                  .output_first = 3});
    finish(f);
    float *output = readback(f, output_buffer, INTEGERS + 3);
    for (uint32_t i = 0; i < INTEGERS; i++) {
        float expected =
            (float)values[5 + i] / scales[5 + i]; /* C rounds to nearest even; the division is exact */
        if (memcmp(&output[3 + i], &expected, 4) != 0)
            fail_msg("%lld / %g: %a instead of %a", (long long)values[5 + i], (double)scales[5 + i],
                     (double)output[3 + i], (double)expected);
    }
    assert_true(output[0] == 0 && output[1] == 0 && output[2] == 0);
    free(values);
    free(scales);
    free(output);
}

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
    CHECK(gpu_buffer_write(buffer, (uint64_t)GRADIENT_FIRST * bytes, data, (uint64_t)ELEMENTS * bytes, &err));
}

static gpu_buffer *element_words(fixture *f, const float *data)
{
    gpu_buffer *b = words(f, ELEMENTS + GRADIENT_FIRST, NULL);
    CHECK(gpu_buffer_write(b, GRADIENT_FIRST * 4, data, ELEMENTS * 4, &err));
    return b;
}

static void compare_parameters(fixture *f, gpu_buffer *buffer, const reference *r, bl_optimizer kind)
{
    float *x = readback(f, buffer, ELEMENTS + PARAMETER_FIRST);
    for (uint32_t i = 0; i < PARAMETER_FIRST; i++)
        assert_true(x[i] == 0);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        if (!(fabs((double)x[PARAMETER_FIRST + i] - r->x[i]) <= 2e-5))
            fail_msg("optimiser %d, element %u: %g instead of %g", (int)kind, i,
                     (double)x[PARAMETER_FIRST + i], r->x[i]);
    free(x);
}

static fit_optimizer new_optimizer(fixture *f, fit_optimizer args)
{
    float scale[ELEMENTS];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        scale[i] = 65536.0f;
    args.parameters = words(f, ELEMENTS + PARAMETER_FIRST, NULL);
    args.gradient = words(f, 2 * (ELEMENTS + GRADIENT_FIRST), NULL);
    args.scale = args.fixed_point ? element_words(f, scale) : NULL;
    for (uint32_t i = 0; i < fit_optimizer_states(args.kind); i++)
        args.state[i] = words(f, ELEMENTS + GRADIENT_FIRST, NULL);
    args.status = words(f, 2, NULL);
    args.count = PART;
    return args;
}

static void record_parts(fixture *f, fit_optimizer args)
{
    for (uint32_t k = 0; k < PARTS; k++) {
        args.rate = parts[k].rate, args.lower = parts[k].lower, args.upper = parts[k].upper;
        args.parameter_first = PARAMETER_FIRST + k * PART, args.gradient_first = GRADIENT_FIRST + k * PART;
        fit_record_optimizer(f->batch, f->kernels, &args);
    }
}

static void follows_the_reference(void **state, fit_optimizer args)
{
    fixture *f = *state;
    float start[ELEMENTS], g[ELEMENTS];
    static reference r;
    memset(&r, 0, sizeof r);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        r.x[i] = start[i] = (float)i / ELEMENTS;
    args = new_optimizer(f, args);
    CHECK(gpu_buffer_write(args.parameters, PARAMETER_FIRST * 4, start, sizeof start, &err));
    uint32_t holes = 0;
    for (args.step = 1; args.step <= STEPS; args.step++) {
        args.factor = args.step < 20 ? 1 : 0.25;
        make_gradient(g, args.step, !args.fixed_point, args.sparse);
        holes += !isfinite(g[7]) ? 2 : 0;
        store_gradient(args.gradient, g, args.fixed_point);
        begin(f);
        record_parts(f, args);
        finish(f);
        reference_step(&args, &r, g);
    }
    compare_parameters(f, args.parameters, &r, args.kind);
    uint32_t *status = readback(f, args.status, 2);
    assert_int_equal(status[0], holes);
    assert_int_equal(status[1], 0);
    free(status);
    test_teardown(state);
}

/* Values that are NaN before the step, with a gradient and without one, and one that overflows. Bounds hide
 * no NaN, but may catch an overflow. */
static void values_that_are_not_finite_are_counted(void **state)
{
    fixture *f = *state;
    const float start[5] = {NAN, NAN, 3e38f, 3e38f, 0.5f}, g[5] = {1, NAN, -1, 0, 1};
    for (int bounded = 0; bounded < 2; bounded++) {
        fit_optimizer args = {.kind = BL_OPTIMIZER_SGD,
                              .count = 5,
                              .step = 1,
                              .rate = 3e38,
                              .factor = 1,
                              .lower = bounded ? -1 : (double)-INFINITY,
                              .upper = bounded ? 1 : (double)INFINITY};
        args.parameters = words(f, 5, start), args.gradient = words(f, 5, g);
        args.state[0] = words(f, 5, NULL), args.status = words(f, 2, NULL);
        begin(f);
        fit_record_optimizer(f->batch, f->kernels, &args);
        finish(f);
        uint32_t *status = readback(f, args.status, 2);
        assert_int_equal(status[0], 1);
        assert_int_equal(status[1], bounded ? 2 : 3);
        free(status);
    }
    test_teardown(state);
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

static void variation_of(fixture *f, uint32_t rank, const uint32_t shape[4], double weight, double smoothing)
{
    enum { MOST = 200, FIRST = 3, GRADIENT = 5 };
    uint32_t whole[4] = {1, 1, 1, 1}, n = 1;
    for (uint32_t k = 0; k < rank; k++)
        whole[4 - rank + k] = shape[k], n *= shape[k];
    assert_true(n <= MOST);
    float *x = random_floats(n, 9, 1), *before = random_floats(n, 10, 1);
    double wide[MOST];
    for (uint32_t i = 0; i < n; i++)
        wide[i] = (double)(x[i] = i % 3 ? x[i] : 0.5f); /* neighbours that are equal are there, too */
    gpu_buffer *parameters = words(f, n + FIRST, NULL), *gradient = words(f, n + GRADIENT, NULL);
    CHECK(gpu_buffer_write(parameters, FIRST * 4, x, n * 4, &err));
    CHECK(gpu_buffer_write(gradient, GRADIENT * 4, before, n * 4, &err));
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
    begin(f);
    fit_record_variation(f->batch, f->kernels, &args);
    finish(f);
    float *after = readback(f, gradient, n + GRADIENT);
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
    test_teardown((void **)&f);
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

static void checked_kernels_leave_the_same_bytes(void **state)
{
    (void)state;
    assert_true(read_of[BOUND] != 0);
    assert_true(read_of[BOUND] == read_of[CHECKED]);
}

static void both_forms_leave_the_same_bytes(void **state)
{
    (void)state;
    assert_true(read_of[BOUND] != 0);
    assert_true(read_of[BOUND] == read_of[ADDRESSED]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(resolve_sums_strips_in_order, test_teardown),
        cmocka_unit_test_teardown(losses_and_slopes_match_their_definitions, test_teardown),
        cmocka_unit_test_teardown(a_loss_has_the_bits_of_its_order, test_teardown),
        cmocka_unit_test_teardown(kernels_are_made_when_first_used, test_teardown),
        cmocka_unit_test_teardown(losses_of_two_walks_match_their_definitions, test_teardown),
        cmocka_unit_test(the_steepest_slope_is_a_bound),
        cmocka_unit_test_teardown(loss_dot_matches_the_formula, test_teardown),
        cmocka_unit_test_teardown(fixed_point_is_rounded_once, test_teardown),
        cmocka_unit_test_teardown(optimisers_follow_the_reference, test_teardown),
        cmocka_unit_test_teardown(values_that_are_not_finite_are_counted, test_teardown),
        cmocka_unit_test(the_slope_of_total_variation_is_that_of_its_definition),
    };
    const struct CMUnitTest comparison[] = {cmocka_unit_test(both_forms_leave_the_same_bytes)};
    const struct CMUnitTest reports[] = {
        cmocka_unit_test_teardown(an_access_out_of_range_is_reported, test_teardown)};
    const struct CMUnitTest checks[] = {cmocka_unit_test(checked_kernels_leave_the_same_bytes)};
    int failed = cmocka_run_group_tests_name("bound", tests, bound_setup, bound_teardown);
    failed += cmocka_run_group_tests_name("checked", tests, checked_setup, checked_teardown);
    failed += cmocka_run_group_tests_name("reports", reports, checked_setup, addressed_teardown);
    failed += cmocka_run_group_tests(checks, NULL, NULL);
    const char *name = getenv("BL_DEVICE");
    if (name && strcmp(name, "native") == 0) /* Its bindings reach every buffer, so nothing is addressed. */
        return failed;
    failed += cmocka_run_group_tests_name("addressed", tests, addressed_setup, addressed_teardown);
    return failed + cmocka_run_group_tests(comparison, NULL, NULL);
}
