/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Images between our layout and a caller's, and the scale that the device finds by the largest |dL/dI|,
 * against plain C: every half as it comes in, floats at and between halves as they go out, and scales for
 * numbers on both sides of every threshold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fit/fit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    gpu *instance;
    gpu_device *device;
    gpu_batch *batch;
    fit_kernels *kernels;
} fixture;

static fixture f;
static bl_error err;
#define CHECK(call) check((call), #call)

static void check(bl_result result, const char *what)
{
    if (result != BL_OK)
        fail_msg("%s: %s", what, err.text);
}

static gpu_buffer *words(uint32_t n, const void *data)
{
    gpu_buffer *b = NULL;
    CHECK(gpu_buffer_create(f.device, GPU_DEVICE, n * 4ull, "test", &b, &err));
    if (data)
        CHECK(gpu_buffer_write(b, 0, data, n * 4ull, &err));
    return b;
}

static void run(void)
{
    CHECK(gpu_batch_submit(f.batch, &err));
    CHECK(gpu_batch_wait(f.batch, NULL, &err));
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- halves ---- */

static float half_value(uint32_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    float value = exponent == 0    ? ldexpf((float)mantissa, -24)
                  : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                   : ldexpf((float)(1024 + mantissa), exponent - 25);
    return h & 0x8000 ? -value : value;
}

/* To nearest even: by the mode of the processor. */
static uint32_t half_of(float value)
{
    double size = fabs((double)value);
    int exponent = -14;
    uint32_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return 0x7e00;
    if (size >= 65520)
        return sign | 0x7c00;
    if (size >= 0x1p-14)
        exponent = ilogb(size);
    double units = nearbyint(ldexp(size, 10 - exponent)); /* a carry goes into the exponent */
    return sign | ((uint32_t)(exponent + 14) * 1024 + (uint32_t)units);
}

static void every_half_comes_in(void **state)
{
    (void)state;
    enum { PIXELS = 65536, FIRST = 3, STRIDE = 3, WORDS = FIRST + PIXELS * STRIDE };
    uint32_t *given = calloc(WORDS, 4);
    float *found = calloc(3 * PIXELS, sizeof *found);
    for (uint32_t i = 0; i < PIXELS; i++) {
        given[FIRST + STRIDE * i] = i | (i ^ 0x5555) << 16;
        given[FIRST + STRIDE * i + 1] = (65535 - i) | 0x3c00u << 16;
    }
    gpu_buffer *theirs = words(WORDS, given), *image = words(3 * PIXELS, NULL);
    CHECK(gpu_batch_begin(f.batch, &err));
    fit_record_pixels_in(f.batch, f.kernels, &(fit_pixels){theirs, FIT_RGBA_HALF, FIRST, STRIDE, 0}, image, 0,
                         PIXELS);
    run();
    CHECK(gpu_buffer_read(image, 0, found, 12ull * PIXELS, &err));
    for (uint32_t i = 0; i < 3 * PIXELS; i++) {
        uint32_t half = i % 3 == 0 ? i / 3 : i % 3 == 1 ? (i / 3) ^ 0x5555 : 65535 - i / 3;
        float wanted = half_value(half);
        if (isnan(wanted) ? !isnan(found[i]) : bits_of(found[i]) != bits_of(wanted))
            fail_msg("half %04x: %a instead of %a", half, (double)found[i], (double)wanted);
    }
    gpu_buffer_destroy(theirs);
    gpu_buffer_destroy(image);
    free(given);
    free(found);
}

/* Halves, floats just beside them and in the middle between two, and some that no half is near. */
static float outgoing(uint32_t i)
{
    float low = half_value(i % 31744), high = half_value(i % 31744 + 1);
    float middle = isinf(high) ? 65520 : 0.5f * (low + high);
    float cases[] = {low, nextafterf(low, 1e9f), middle, nextafterf(middle, 0), nextafterf(middle, 1e9f)};
    float value = cases[i / 31744 % 5];
    return i % 2 ? -value : value;
}

static void halves_go_out_rounded_to_even(void **state)
{
    (void)state;
    enum { SPECIAL = 9, PIXELS = (31744 * 5 + SPECIAL) / 3 + 1, STRIDE = 2 };
    static const float special[SPECIAL] = {NAN, INFINITY, -INFINITY, 0, 65519, 65521, 3e38f, 0x1p-25f, 7e-8f};
    float *given = calloc(3 * PIXELS, sizeof *given);
    uint16_t *found = calloc(4 * PIXELS, sizeof *found);
    for (uint32_t i = 0; i < 3 * PIXELS; i++)
        given[i] = i < SPECIAL ? special[i] : outgoing(i - SPECIAL);
    gpu_buffer *image = words(3 * PIXELS, given), *theirs = words(STRIDE * PIXELS, NULL);
    CHECK(gpu_batch_begin(f.batch, &err));
    fit_record_pixels_out(f.batch, f.kernels, image, &(fit_pixels){theirs, FIT_RGBA_HALF, 0, STRIDE, 0},
                          PIXELS);
    run();
    CHECK(gpu_buffer_read(theirs, 0, found, 8ull * PIXELS, &err));
    for (uint32_t i = 0; i < 3 * PIXELS; i++) {
        uint32_t half = found[i / 3 * 4 + i % 3];
        if (half != half_of(given[i]) && !(fabsf(given[i]) < 0x1p-126f)) /* drivers may flush what is below */
            fail_msg("%a becomes %04x instead of %04x", (double)given[i], half, half_of(given[i]));
        assert_int_equal(found[i / 3 * 4 + 3], 0x3c00);
    }
    gpu_buffer_destroy(image);
    gpu_buffer_destroy(theirs);
    free(given);
    free(found);
}

static void floats_keep_their_bits(void **state)
{
    (void)state;
    enum { PIXELS = 77, FIRST = 2, STRIDE = 5, WORDS = FIRST + PIXELS * STRIDE };
    float given[3 * PIXELS], found[WORDS];
    for (int i = 0; i < 3 * PIXELS; i++)
        given[i] = 1.0f / (float)(i - 40);
    enum { OWN_FIRST = 4 };
    float shifted[3 * PIXELS + OWN_FIRST];
    gpu_buffer *image = words(3 * PIXELS, given), *theirs = words(WORDS, NULL),
               *again = words(3 * PIXELS + OWN_FIRST, NULL);
    const fit_pixels rgba = {theirs, FIT_RGBA, FIRST, STRIDE, 0}, rgb = {theirs, FIT_RGB, FIRST, STRIDE, 0};
    CHECK(gpu_batch_begin(f.batch, &err));
    fit_record_pixels_out(f.batch, f.kernels, image, &rgba, PIXELS);
    fit_record_pixels_in(f.batch, f.kernels, &rgb, again, OWN_FIRST, PIXELS);
    run();
    CHECK(gpu_buffer_read(theirs, 0, found, sizeof found, &err));
    CHECK(gpu_buffer_read(again, 0, shifted, sizeof shifted, &err));
    assert_memory_equal(shifted + OWN_FIRST, given, sizeof given);
    assert_true(shifted[OWN_FIRST - 1] == 0);
    for (int i = 0; i < PIXELS; i++) {
        assert_memory_equal(found + FIRST + STRIDE * i, given + 3 * i, 12);
        assert_true(found[FIRST + STRIDE * i + 3] == 1 && found[FIRST + STRIDE * i + 4] == 0);
    }
    assert_true(found[0] == 0 && found[1] == 0);
    const fit_pixels faces = {theirs, FIT_FACES, 0, 3, 0x3e000000};
    CHECK(gpu_batch_begin(f.batch, &err));
    fit_record_pixels_in(f.batch, f.kernels, &faces, again, 0, PIXELS);
    run();
    CHECK(gpu_buffer_read(again, 0, shifted, sizeof given, &err));
    for (int i = 0; i < 3 * PIXELS; i++) /* what is too large, as a number without a sign, is the last one */
        assert_true(bits_of(shifted[i]) == (bits_of(found[i]) < faces.last ? bits_of(found[i]) : faces.last));
    gpu_buffer_destroy(image);
    gpu_buffer_destroy(theirs);
    gpu_buffer_destroy(again);
}

/* ---- scales ---- */

typedef struct rule {
    double factor;
    int coarser;
    double epsilon;
} rule;

static int power(const void *user, double x)
{
    const rule *r = user;
    int exponent = 0;
    frexp(x > 0 ? x / 37 * r->factor : 1, &exponent);
    return 24 - exponent - 8 * r->coarser;
}

static float scale_by(const rule *r, float largest)
{
    int p = power(r, (double)largest);
    return ldexpf(1, p > 120 ? 120 : p < -120 ? -120 : p);
}

static float scale_between(const rule *r, const float *values, uint32_t n, float least, float most)
{
    float scales[3];
    gpu_buffer *from = words(n, values), *partials = words(fit_loss_partials(n), NULL), *to = words(3, NULL);
    CHECK(gpu_batch_begin(f.batch, &err));
    fit_record_largest(f.batch, f.kernels, from, n, r->epsilon > 0, partials);
    fit_record_scales(f.batch, f.kernels, partials, n,
                      &(fit_scale_range){to, 1, 2, least, most, r->epsilon, power, r});
    run();
    CHECK(gpu_buffer_read(to, 0, scales, sizeof scales, &err));
    assert_true(scales[0] == 0 && scales[1] == scales[2]);
    gpu_buffer_destroy(from);
    gpu_buffer_destroy(partials);
    gpu_buffer_destroy(to);
    return scales[1];
}

static float scale_found(const rule *r, const float *values, uint32_t n)
{
    return scale_between(r, values, n, 0, FLT_MAX);
}

static void scales_are_those_of_the_largest(void **state)
{
    (void)state;
    enum { MOST = 70000 };
    static const uint32_t counts[] = {1, 64, 65, 4096, 4097, MOST};
    float *values = malloc(MOST * sizeof *values);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int where = 0; where < 3; where++) {
            uint32_t n = counts[k], at = where == 0 ? 0 : where == 1 ? n / 2 : n - 1;
            for (uint32_t i = 0; i < n; i++)
                values[i] = i % 5 == 1 ? NAN : i % 5 == 2 ? -INFINITY : 0.01f * (float)(i % 7);
            values[at] = -1234.5f;
            rule r = {3.7, 0, 0};
            assert_true(scale_found(&r, values, n) == scale_by(&r, 1234.5f));
        }
    values[0] = -5;
    assert_true(scale_between(&(rule){2, 1, 0}, values, 1, 7, 9) == scale_by(&(rule){2, 1, 0}, 7));
    assert_true(scale_between(&(rule){2, 1, 0}, values, 1, 1, 3) == scale_by(&(rule){2, 1, 0}, 3));
    assert_true(scale_between(&(rule){2, 1, 0}, values, 1, 1, 9) == scale_by(&(rule){2, 1, 0}, 5));
    values[0] = NAN;
    assert_true(scale_found(&(rule){2, 1, 0}, values, 1) == scale_by(&(rule){2, 1, 0}, 0));
    free(values);
}

/* The first float from which on the power is lower, for each factor; both sides of it, at several powers of
 * two. */
static void thresholds_are_met(void **state)
{
    (void)state;
    static const double factors[] = {1, 37, 1.0 / 37, 3.14159, 1e-30, 1e30, 0.1, 18.500000001, 74 - 1e-9};
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        rule r = {factors[k], (int)(k % 3), 0};
        float below = 1, there = 2;
        while (nextafterf(below, 2) < there) {
            float middle = 0.5f * (below + there);
            if (power(&r, (double)middle) == power(&r, 1))
                below = middle;
            else
                there = middle;
        }
        const float tried[] = {1, below, there, nextafterf(2, 0), 1.5f};
        for (int i = 0; i < 5; i++)
            for (int e = -100; e <= 100; e += 50) {
                float value = ldexpf(tried[i], e);
                if (scale_found(&r, &value, 1) != scale_by(&r, value))
                    fail_msg("factor %g, %a: %a instead of %a", r.factor, (double)value,
                             (double)scale_found(&r, &value, 1), (double)scale_by(&r, value));
            }
    }
}

/* The divisor is that of fit_slope_divisor, at any darkest value and epsilon; values that are not finite do
 * not count. It lies below darkest^2 + epsilon, and not far. */
static void scales_are_divided_by_the_darkest(void **state)
{
    (void)state;
    enum { N = 5000 };
    static const double epsilons[] = {0.01, 1, 2e6, 1e-7, 3e-60};
    static const float darkest[] = {0, 1e-40f, FLT_MIN, 1e-3f, 0.125f, 1.99f, 2, 700, 3e20f, INFINITY};
    float *values = malloc(N * sizeof *values);
    for (size_t k = 0; k < sizeof epsilons / sizeof *epsilons; k++)
        for (size_t d = 0; d < sizeof darkest / sizeof *darkest; d++) {
            rule r = {3.7, 1, epsilons[k]};
            for (uint32_t i = 0; i < N; i++)
                values[i] = i % 5 == 1 ? NAN : i % 5 == 2 ? -INFINITY : -darkest[d] * (float)(1 + i % 7);
            values[4321] = darkest[d];
            float brightest = isfinite(darkest[d]) ? 7 * darkest[d] : 0;
            int divisor = fit_slope_divisor(r.epsilon, darkest[d]);
            float found = scale_between(&r, values, N, 1e-3f, FLT_MAX);
            int expected = power(&r, (double)fmaxf(brightest, 1e-3f)) + divisor;
            assert_true(found == ldexpf(1, expected > 120 ? 120 : expected < -120 ? -120 : expected));
            double exact = (double)darkest[d] * (double)darkest[d] + r.epsilon;
            if (isfinite(exact) && exact > 1e-40)
                assert_true(ldexp(1, divisor) <= exact && exact < ldexp(8, divisor));
        }
    free(values);
}

int main(void)
{
    const char *name = getenv("BL_DEVICE");
    if (gpu_open(NULL, &f.instance, &err) != BL_OK ||
        gpu_device_create(f.instance, name ? name : "swiftshader", &f.device, &err) != BL_OK) {
        fprintf(stderr, "no device: %s\n", err.text);
        return 77;
    }
    CHECK(gpu_batch_create(f.device, &f.batch, &err));
    CHECK(fit_kernels_create(f.device, false, &f.kernels, &err));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_comes_in),    cmocka_unit_test(halves_go_out_rounded_to_even),
        cmocka_unit_test(floats_keep_their_bits), cmocka_unit_test(scales_are_those_of_the_largest),
        cmocka_unit_test(thresholds_are_met),     cmocka_unit_test(scales_are_divided_by_the_darkest),
    };
    int failed = cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
    fit_kernels_destroy(f.kernels);
    gpu_batch_destroy(f.batch);
    if (failed) /* the test that failed has left its buffers behind */
        return failed;
    gpu_device_destroy(f.device);
    gpu_close(f.instance);
    return 0;
}
