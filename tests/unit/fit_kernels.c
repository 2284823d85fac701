/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed kernels of src/fit on a device, against C references: resolve, losses, fixed-point gradients;
 * when they are made, and what they report. fit_optimizers.c has those that move parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fit_rig.h"
#include "support/fixed_point_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- resolve ---- */

static void resolve_sums_strips_in_order(void **state)
{
    fit_rig *f = *state;
    enum { PIXELS = 501, STRIPS = 7, LANE = 7, FIRST = 2 };
    float *film = fit_rig_floats(PIXELS * STRIPS * LANE, 1, 10.0f);
    gpu_buffer *film_buffer = fit_rig_words(f, PIXELS * STRIPS * LANE, film);
    gpu_buffer *image_buffer = fit_rig_words(f, PIXELS * 3, NULL);
    fit_rig_begin(f);
    fit_record_resolve(f->batch, f->kernels,
                       &(fit_resolve){.film = film_buffer,
                                      .image = image_buffer,
                                      .pixels = PIXELS,
                                      .strips = STRIPS,
                                      .lane_words = LANE,
                                      .lane_first = FIRST,
                                      .scale = 1.0f / 96});
    fit_rig_finish(f);
    float *image = fit_rig_read(f, image_buffer, PIXELS * 3);
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

static void check_loss(fit_rig *f, const fit_loss *args, const float *image, const float *target,
                       double constant)
{
    uint32_t n = args->n;
    double all = args->weight > 0 ? args->weight : 1, loss = 0;
    float *adjoint = fit_rig_read(f, args->adjoint, n), *results = fit_rig_read(f, args->results, 4);
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
static void loss_of_size(fit_rig *f, bl_loss loss, uint32_t n, double given, double weight)
{
    const bool weighted = weight > 0;
    float *image = fit_rig_floats(n, 2, 3.0f), *target = fit_rig_floats(2 * n, 3, 3.0f);
    for (uint32_t i = 0; i < ODD_PAIRS && i < n; i++)
        image[i] = odd_pairs[i][0], target[i] = odd_pairs[i][1];
    for (uint32_t i = 0; i < n; i++)
        target[n + i] = i % 5 == 3 ? 0 : fabsf(target[n + i]);
    fit_loss args = {
        .loss = loss,
        .constant = given,
        .weight = weight,
        .weighted = weighted,
        .image = fit_rig_words(f, n, image),
        .target = fit_rig_words(f, weighted ? 2 * n : n, target),
        .adjoint = fit_rig_words(f, n, NULL),
        .partials = fit_rig_words(f, fit_loss_partials(n), NULL),
        .results = fit_rig_words(f, 4, NULL),
        .n = n,
        .slot = 2,
    };
    fit_rig_begin(f);
    fit_record_loss(f->batch, f->kernels, &args);
    fit_rig_finish(f);
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
            fit_rig_free_buffers(state);
            loss_of_size(*state, loss, sizes[i], 0.3, 0.25);
            fit_rig_free_buffers(state);
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
    fit_rig *f = *state;
    static const uint32_t sizes[] = {1, 1024, 1025, 64 * 1024 + 5, 300007};
    for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint32_t n = sizes[k];
        float *image = fit_rig_floats(n, 41, 1), *target = fit_rig_floats(n, 42, 1);
        fit_loss args = {
            .loss = BL_LOSS_L2,
            .image = fit_rig_words(f, n, image),
            .target = fit_rig_words(f, n, target),
            .adjoint = fit_rig_words(f, n, NULL),
            .partials = fit_rig_words(f, fit_loss_partials(n), NULL),
            .results = fit_rig_words(f, 1, NULL),
            .n = n,
        };
        fit_rig_begin(f);
        fit_record_loss(f->batch, f->kernels, &args);
        fit_rig_finish(f);
        float *loss = fit_rig_read(f, args.results, 1);
        float expected = sum_in_order(image, target, n, (float)(1.0 / n));
        if (loss[0] != expected)
            fail_msg("%u values: %a instead of %a", n, (double)loss[0], (double)expected);
        free(loss), free(image), free(target);
        fit_rig_free_buffers(state);
    }
}

/* What is not used is not made, and nothing is made twice. */
static void kernels_are_made_when_first_used(void **state)
{
    fit_rig *f = *state;
    enum { N = 3 };
    fit_kernels *kernels;
    gpu_buffer *partials = fit_rig_words(f, fit_loss_partials(N), NULL), *results = fit_rig_words(f, 1, NULL);
    uint64_t before = gpu_device_stats(f->device).pipelines_created;
    CHECK(fit_kernels_create(f->device, false, &kernels, &fit_rig_error));
    assert_int_equal(gpu_device_stats(f->device).pipelines_created, before);
    for (int k = 0; k < 2; k++) {
        fit_rig_begin(f);
        fit_record_loss_sum(f->batch, kernels, partials, results, N, 0);
        fit_record_loss_sum(f->batch, kernels, partials, results, N, 0);
        fit_rig_finish(f);
        assert_int_equal(gpu_device_stats(f->device).pipelines_created, before + 1);
    }
    fit_kernels_destroy(kernels);
}

/* The film lacks two words that its padding has, so the call is accepted. */
static void an_access_out_of_range_is_reported(void **state)
{
    fit_rig *f = *state;
    enum { PIXELS = 5 };
    fit_resolve r = {.film = fit_rig_words(f, 3 * PIXELS - 2, NULL),
                     .image = fit_rig_words(f, 3 * PIXELS, NULL),
                     .pixels = PIXELS,
                     .strips = 1,
                     .scale = 1};
    fit_rig_begin(f);
    fit_record_resolve(f->batch, f->kernels, &r);
    CHECK(gpu_batch_submit(f->batch, &fit_rig_error));
    CHECK(gpu_batch_wait(f->batch, NULL, &fit_rig_error));
    if (fit_kernels_check(f->kernels, &fit_rig_error) != BL_ERROR_BOUNDS ||
        !strstr(fit_rig_error.text, "\"resolve\"") || !strstr(fit_rig_error.text, "has 13 words") ||
        !strstr(fit_rig_error.text, "out of range"))
        fail_msg("%s", fit_rig_error.text);
    r.pixels--;
    fit_rig_begin(f);
    fit_record_resolve(f->batch, f->kernels, &r);
    fit_rig_finish(f);
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

static void check_halves(fit_rig *f, const fit_loss_halves *args, const float *film, const float *target,
                         gpu_buffer *loss_buffer)
{
    float *image = fit_rig_read(f, args->image, HALVES_N),
          *adjoint = fit_rig_read(f, args->adjoint, 2 * HALVES_N), *loss = fit_rig_read(f, loss_buffer, 1);
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
    fit_rig *f = *state;
    float *film = fit_rig_floats(HALVES_STRIPS * HALVES_N, 31, 2), *target = fit_rig_floats(HALVES_N, 32, 1);
    for (bl_loss loss = 0; loss < BL_LOSS_COUNT; loss++) {
        if (!fit_loss_info(loss).unbiased)
            continue;
        gpu_buffer *results = fit_rig_words(f, 1, NULL);
        fit_loss_halves args = {
            .loss = loss,
            .film = fit_rig_words(f, HALVES_STRIPS * HALVES_N, film),
            .target = fit_rig_words(f, HALVES_N, target),
            .image = fit_rig_words(f, HALVES_N, NULL),
            .adjoint = fit_rig_words(f, 2 * HALVES_N, NULL),
            .partials = fit_rig_words(f, fit_loss_partials(HALVES_N), NULL),
            .pixels = HALVES_PIXELS,
            .strips = HALVES_STRIPS,
            .spp = HALVES_SPP,
            .pixel_count = FIT_TILE_PIXELS,
        };
        fit_rig_begin(f);
        fit_record_loss_halves(f->batch, f->kernels, &args);
        args.first_pixel = FIT_TILE_PIXELS, args.pixel_count = HALVES_PIXELS - FIT_TILE_PIXELS;
        fit_record_loss_halves(f->batch, f->kernels, &args);
        fit_record_loss_sum(f->batch, f->kernels, args.partials, results, HALVES_N, 0);
        fit_rig_finish(f);
        check_halves(f, &args, film, target, results);
        fit_rig_free_buffers(state);
    }
    free(film), free(target);
}

/* The bound that the scale of gradients is chosen by holds for every image up to the target's brightness, and
 * is not idle. */
static void the_steepest_slope_is_a_bound(void **state)
{
    (void)state;
    enum { N = 500 };
    float *target = fit_rig_floats(N, 21, 2.0f), *image = fit_rig_floats(N, 22, 2.0f);
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
    fit_rig *f = *state;
    enum { N = 30001 };
    float *image = fit_rig_floats(N, 4, 3.0f), *weights = fit_rig_floats(N, 5, 1.0f);
    double sum = 0;
    for (uint32_t i = 0; i < N; i++)
        sum += (double)image[i] * (double)weights[i];
    gpu_buffer *results_buffer = fit_rig_words(f, 1, NULL);
    fit_rig_begin(f);
    fit_record_loss_dot(f->batch, f->kernels,
                        &(fit_loss_dot){.image = fit_rig_words(f, N, image),
                                        .weights = fit_rig_words(f, N, weights),
                                        .partials = fit_rig_words(f, fit_loss_partials(N), NULL),
                                        .results = results_buffer,
                                        .n = N});
    fit_rig_finish(f);
    float *results = fit_rig_read(f, results_buffer, 1);
    assert_true(fabs((double)results[0] - sum) <= 1e-6 * sum);
    free(image);
    free(weights);
    free(results);
}

/* ---- fixed point ---- */

enum { INTEGERS = FIXED_POINT_SHAPES + 4096 };

static void fixed_point_is_rounded_once(void **state)
{
    fit_rig *f = *state;
    int64_t *values = malloc((INTEGERS + 5) * sizeof *values);
    float *scales = malloc((INTEGERS + 5) * sizeof *scales);
    memset(values, 0x55, 5 * sizeof *values);
    fixed_point_cases(values + 5, INTEGERS);
    for (uint32_t i = 0; i < INTEGERS + 5; i++)
        scales[i] = ldexpf(1.0f, (int)(i % 61) - 20);
    gpu_buffer *output_buffer = fit_rig_words(f, INTEGERS + 3, NULL);
    fit_rig_begin(f);
    fit_record_gradient_read(f->batch, f->kernels,
                             &(fit_gradient_read){.gradient = fit_rig_words(f, 2 * (INTEGERS + 5), values),
                                                  .scale = fit_rig_words(f, INTEGERS + 5, scales),
                                                  .output = output_buffer,
                                                  .count = INTEGERS,
                                                  .gradient_first = 5,
                                                  .output_first = 3});
    fit_rig_finish(f);
    float *output = fit_rig_read(f, output_buffer, INTEGERS + 3);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(resolve_sums_strips_in_order, fit_rig_free_buffers),
        cmocka_unit_test_teardown(losses_and_slopes_match_their_definitions, fit_rig_free_buffers),
        cmocka_unit_test_teardown(a_loss_has_the_bits_of_its_order, fit_rig_free_buffers),
        cmocka_unit_test_teardown(kernels_are_made_when_first_used, fit_rig_free_buffers),
        cmocka_unit_test_teardown(losses_of_two_walks_match_their_definitions, fit_rig_free_buffers),
        cmocka_unit_test(the_steepest_slope_is_a_bound),
        cmocka_unit_test_teardown(loss_dot_matches_the_formula, fit_rig_free_buffers),
        cmocka_unit_test_teardown(fixed_point_is_rounded_once, fit_rig_free_buffers),
    };
    const struct CMUnitTest reports[] = {
        cmocka_unit_test_teardown(an_access_out_of_range_is_reported, fit_rig_free_buffers)};
    int failed = fit_rig_run(tests, sizeof tests / sizeof *tests);
    return failed + cmocka_run_group_tests_name("reports", reports, fit_rig_open_checked, fit_rig_close);
}
