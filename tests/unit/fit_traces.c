/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The traces of the fixed kernels (src/fit/kernels), run by the interpreter against plain C: the same bits in
 * every word of every buffer, sums in the order that the heads of their files state. More invocations run
 * than a kernel has work for. And what is generated of each, with buffers bound and with buffers addressed,
 * is valid SPIR-V. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fit/kernels/traces.h"
#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"
#include "support/fixed_point_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE = 70 /* invocations without work */ };

/* ---- words and numbers ---- */

static uint32_t word_of(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return isnan(value) ? 0x7fc00000u : word; /* the interpreter's NaN */
}

static float float_of(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void fill(run_memory *m, uint32_t buffer, uint64_t seed, float least, float most)
{
    for (uint32_t i = 0; i < m->counts[buffer]; i++)
        m->words[buffer][i] =
            word_of(least + (most - least) * (float)(random_word(&seed) >> 8) / 16777216.0f);
}

static float get(const run_memory *m, uint32_t buffer, uint32_t i)
{
    assert_true(i < m->counts[buffer]);
    return float_of(m->words[buffer][i]);
}

static void put(run_memory *m, uint32_t buffer, uint32_t i, float value)
{
    assert_true(i < m->counts[buffer]);
    m->words[buffer][i] = word_of(value);
}

#define MEMORY(...)                                                                                          \
    run_memory_create((uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* ---- running ---- */

typedef ir_module *(*trace_function)(void);

static ir_module *lowered(trace_function trace)
{
    bl_error err = {0};
    ir_module *m = trace(), *out = NULL;
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK ||
        opt_run(m, &(opt_options){0}, &out, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return out;
}

/* Runs the kernel on `given`, which must become `expected`. Frees both. */
static void becomes(trace_function trace, run_memory *given, uint32_t invocations, run_memory *expected)
{
    ir_module *m = lowered(trace);
    assert_int_equal(m->buffers.count, given->buffer_count);
    interpret_kernel(m, given, invocations + IDLE);
    for (uint32_t b = 0; b < given->buffer_count; b++)
        for (uint32_t i = 0; i < given->counts[b]; i++)
            if (given->words[b][i] != expected->words[b][i])
                fail_msg("%s, word %u of \"%s\": %a instead of %a", m->entry->name, i,
                         m->buffers.data[b].name, (double)get(given, b, i), (double)get(expected, b, i));
    ir_module_destroy(m);
    run_memory_free(given);
    run_memory_free(expected);
}

/* ---- resolve ---- */

static void resolve_is_a_scaled_sum_of_strips(void **state)
{
    (void)state;
    enum { FILM, IMAGE, PIXELS = 33, STRIPS = 5, LANE = 7, FIRST = 2 };
    for (uint32_t channels = 1; channels <= 4; channels++) {
        run_memory given = MEMORY(PIXELS * STRIPS * LANE, 4 * PIXELS + 4);
        const uint32_t push[] = {PIXELS, STRIPS, word_of(1.0f / 96), LANE, FIRST, channels};
        memcpy(given.uniforms, push, sizeof push);
        fill(&given, FILM, 1, -1, 10);
        run_memory expected = run_memory_copy(&given);
        for (uint32_t i = 0; i < channels * PIXELS; i++) {
            float sum = 0;
            for (uint32_t s = 0; s < STRIPS; s++)
                sum += get(&given, FILM, (s * PIXELS + i / channels) * LANE + FIRST + i % channels);
            put(&expected, IMAGE, i, sum * (1.0f / 96));
        }
        becomes(fit_trace_resolve, &given, channels * PIXELS, &expected);
    }
}

/* ---- fixed point ---- */

enum { INTEGERS = FIXED_POINT_SHAPES + 700 };

static float scale_of(uint32_t i)
{
    return i % 97 == 96 ? 3.0f : ldexpf(1.0f, (int)(i % 61) - 20); /* also one that is no power of two */
}

static void fixed_point_is_rounded_once(void **state)
{
    (void)state;
    enum { GRADIENT, SCALE, OUTPUT, FIRST = 5, OUTPUT_FIRST = 3 };
    static int64_t values[INTEGERS];
    run_memory given = MEMORY(2 * (FIRST + INTEGERS), FIRST + INTEGERS, OUTPUT_FIRST + INTEGERS + 2);
    const uint32_t push[] = {INTEGERS, FIRST, OUTPUT_FIRST};
    memcpy(given.uniforms, push, sizeof push);
    fixed_point_cases(values, INTEGERS);
    memcpy(given.words[GRADIENT] + 2 * FIRST, values, sizeof values);
    for (uint32_t i = 0; i < INTEGERS; i++)
        put(&given, SCALE, FIRST + i, scale_of(i));
    run_memory expected = run_memory_copy(&given);
    for (uint32_t i = 0; i < INTEGERS; i++)
        put(&expected, OUTPUT, OUTPUT_FIRST + i, (float)values[i] / scale_of(i));
    becomes(fit_trace_gradient_read, &given, INTEGERS, &expected);
}

/* ---- losses ---- */

typedef struct term {
    float value, slope;
} term;
typedef term (*term_function)(float i, float t, float constant);

static term l2(float i, float t, float constant)
{
    float d = i - t;
    return (void)constant, (term){d * d, 2 * d};
}

static term l1(float i, float t, float constant)
{
    float d = i - t;
    return (void)constant, (term){fabsf(d), d > 0 ? 1.0f : d < 0 ? -1.0f : 0.0f};
}

static term relative_l2(float i, float t, float constant)
{
    float d = i - t, weight = 1 / (t * t + constant);
    return (term){d * d * weight, 2 * d * weight};
}

static term huber(float i, float t, float constant)
{
    float d = i - t, clamped = d > constant ? constant : d < -constant ? -constant : d;
    return (term){clamped * (d - 0.5f * clamped), clamped};
}

static uint32_t lanes_of(uint32_t n) { return (n + 1023) / 1024 * 64; }

static void loss_is(trace_function trace, term_function loss, uint32_t n)
{
    enum { IMAGE, TARGET, ADJOINT, PARTIALS };
    const float scale = 0.3f / (float)n, constant = 0.4f;
    run_memory given = MEMORY(n, n, n + 1, lanes_of(n) + 1);
    const uint32_t push[] = {n, word_of(scale), word_of(constant)};
    memcpy(given.uniforms, push, sizeof push);
    fill(&given, IMAGE, 2, 0, 2), fill(&given, TARGET, 3, 0, 2), fill(&given, PARTIALS, 4, 1, 2);
    for (uint32_t i = 0; i < n; i += 7)
        given.words[TARGET][i] = given.words[IMAGE][i];
    run_memory expected = run_memory_copy(&given);
    for (uint32_t lane = 0; lane < lanes_of(n); lane++) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; k++) {
            uint32_t i = lane / 64 * 1024 + lane % 64 + 64 * k;
            if (i >= n)
                continue;
            term t = loss(get(&given, IMAGE, i), get(&given, TARGET, i), constant);
            put(&expected, ADJOINT, i, t.slope * scale);
            sum += t.value;
        }
        put(&expected, PARTIALS, lane, sum * scale);
    }
    becomes(trace, &given, lanes_of(n), &expected);
}

static void losses_are_summed_in_the_order_stated(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 65, 1024, 2500};
    for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        loss_is(fit_trace_loss_l2, l2, sizes[k]);
        loss_is(fit_trace_loss_l1, l1, sizes[k]);
        loss_is(fit_trace_loss_relative_l2, relative_l2, sizes[k]);
        loss_is(fit_trace_loss_huber, huber, sizes[k]);
    }
}

static void a_linear_loss_is_summed_in_that_order(void **state)
{
    (void)state;
    enum { IMAGE, WEIGHTS, PARTIALS, N = 1500 };
    run_memory given = MEMORY(N, N, 129);
    given.uniforms[0] = N;
    fill(&given, IMAGE, 5, -1, 2), fill(&given, WEIGHTS, 6, -1, 1);
    run_memory expected = run_memory_copy(&given);
    for (uint32_t lane = 0; lane < lanes_of(N); lane++) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; k++) {
            uint32_t i = lane / 64 * 1024 + lane % 64 + 64 * k;
            sum += i < N ? get(&given, IMAGE, i) * get(&given, WEIGHTS, i) : 0;
        }
        put(&expected, PARTIALS, lane, sum);
    }
    becomes(fit_trace_loss_dot, &given, lanes_of(N), &expected);
}

static void halves_are(trace_function trace, term_function loss, uint32_t first, uint32_t end, uint32_t n)
{
    enum { FILM, TARGET, IMAGE, ADJOINT, PARTIALS, STRIPS = 6 };
    const float scale = 0.7f / (float)n, constant = 0.4f, share = 0.125f;
    run_memory given = MEMORY(STRIPS * n, n, n, 2 * n, lanes_of(n));
    const uint32_t push[] = {first, end, n, STRIPS, word_of(scale), word_of(constant), word_of(share)};
    memcpy(given.uniforms, push, sizeof push);
    fill(&given, FILM, 7, 0, 2), fill(&given, TARGET, 8, 0, 2);
    run_memory expected = run_memory_copy(&given);
    for (uint32_t lane = first / 16; lane < lanes_of(end); lane++) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; k++) {
            uint32_t i = lane / 64 * 1024 + lane % 64 + 64 * k;
            float half[2] = {0, 0};
            if (i >= end)
                continue;
            for (uint32_t s = 0; s < STRIPS; s++)
                half[s % 2] += get(&given, FILM, s * n + i);
            half[0] *= share, half[1] *= share;
            float t = get(&given, TARGET, i);
            float slope[2] = {loss(half[0], t, constant).slope, loss(half[1], t, constant).slope};
            put(&expected, IMAGE, i, 0.5f * (half[0] + half[1]));
            put(&expected, ADJOINT, i, slope[0] * scale);
            put(&expected, ADJOINT, n + i, slope[1] * scale);
            sum += 0.5f * slope[0] * (half[1] - t);
        }
        put(&expected, PARTIALS, lane, sum * scale);
    }
    becomes(trace, &given, lanes_of(end - first), &expected);
}

static void halves_of_a_tile_are_those_of_the_film(void **state)
{
    (void)state;
    enum { N = 2400 };
    for (uint32_t first = 0; first < N; first += 1024)
        for (uint32_t last = 0; last < 2; last++) {
            uint32_t end = last ? N : first + 1024 < N ? first + 1024 : N;
            halves_are(fit_trace_halves_l2, l2, first, end, N);
            halves_are(fit_trace_halves_relative_l2, relative_l2, first, end, N);
        }
}

/* ---- partial sums ---- */

static void reduced(uint32_t count)
{
    enum { PARTIALS, RESULTS, FIRST = 3, SLOT = 2 };
    uint32_t lanes = (count + 63) / 64;
    run_memory given = MEMORY(FIRST + count + lanes + 1, 4);
    const uint32_t push[] = {FIRST, count, lanes, SLOT};
    memcpy(given.uniforms, push, sizeof push);
    fill(&given, PARTIALS, 9, -1, 2);
    run_memory expected = run_memory_copy(&given);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        float sum = 0;
        for (uint32_t i = lane; i < count; i += lanes)
            sum += get(&given, PARTIALS, FIRST + i);
        if (lanes == 1)
            put(&expected, RESULTS, SLOT, sum);
        else
            put(&expected, PARTIALS, FIRST + count + lane, sum);
    }
    becomes(fit_trace_reduce_sum, &given, lanes, &expected);
}

static void sixty_four_sums_become_one(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 63, 64, 65, 128, 1000};
    for (uint32_t k = 0; k < sizeof counts / sizeof *counts; k++)
        reduced(counts[k]);
}

/* ---- optimisers ---- */

enum { PARAMETERS, GRADIENT, SCALE, STATE_1, STATE_2, STATUS };
typedef float (*way_function)(const float *number, float g, float *a, float *b);

static float adam(const float *number, float g, float *a, float *b)
{
    *a = number[0] * *a + number[1] * g;
    *b = number[2] * *b + number[3] * (g * g);
    return number[5] * *a / (sqrtf(*b) + number[4]);
}

static float sgd(const float *number, float g, float *a, float *b)
{
    (void)b;
    *a = number[0] * *a + g;
    return number[2] * (number[1] != 0 ? g + number[0] * *a : *a);
}

static float rmsprop(const float *number, float g, float *a, float *b)
{
    (void)b;
    *a = number[0] * *a + number[1] * (g * g);
    return number[3] * g / (sqrtf(*a) + number[2]);
}

enum { ELEMENTS = 150, PARAMETER_FIRST = 7, GRADIENT_FIRST = 3 };
static const float rate = 0.3f, lower = -0.5f, upper = 0.6f;

static float gradient_of(const run_memory *m, uint32_t e, bool fixed)
{
    if (!fixed)
        return get(m, GRADIENT, e);
    uint64_t bits = (uint64_t)m->words[GRADIENT][2 * e + 1] << 32 | m->words[GRADIENT][2 * e];
    return (float)(int64_t)bits / get(m, SCALE, e);
}

static void step_element(run_memory *m, uint32_t i, bool fixed, way_function step, const float *number)
{
    uint32_t e = GRADIENT_FIRST + i, p = PARAMETER_FIRST + i;
    float g = gradient_of(m, e, fixed), a = get(m, STATE_1, e), b = get(m, STATE_2, e),
          way = rate * step(number, g, &a, &b), x = get(m, PARAMETERS, p);
    if (isfinite(g) && isfinite(a) && isfinite(b) && isfinite(way)) {
        x -= way;
        x = x < lower ? lower : x > upper ? upper : x;
        put(m, PARAMETERS, p, x), put(m, STATE_1, e, a), put(m, STATE_2, e, b);
    } else {
        m->words[STATUS][0]++;
    }
    m->words[STATUS][1] += !isfinite(x);
}

static run_memory optimizer_memory(bool fixed)
{
    run_memory m = MEMORY(PARAMETER_FIRST + ELEMENTS, 2 * (GRADIENT_FIRST + ELEMENTS),
                          GRADIENT_FIRST + ELEMENTS, GRADIENT_FIRST + ELEMENTS, GRADIENT_FIRST + ELEMENTS, 3);
    uint64_t seed = 12;
    fill(&m, PARAMETERS, 10, -1, 1), fill(&m, STATE_1, 13, 0, 1), fill(&m, STATE_2, 14, 0, 1);
    fill(&m, GRADIENT, 11, -1, 1);
    for (uint32_t i = 0; i < GRADIENT_FIRST + ELEMENTS; i++)
        put(&m, SCALE, i, ldexpf(1.0f, 20 + (int)i % 40));
    for (uint32_t i = 0; fixed && i < 2 * (GRADIENT_FIRST + ELEMENTS); i++) {
        m.words[GRADIENT][i] = random_word(&seed);
        if (i % 2)
            m.words[GRADIENT][i] = (uint32_t)((int32_t)m.words[GRADIENT][i] >> i % 32);
    }
    if (!fixed)
        put(&m, GRADIENT, GRADIENT_FIRST + 1, NAN), put(&m, GRADIENT, GRADIENT_FIRST + 2, INFINITY),
            put(&m, GRADIENT, GRADIENT_FIRST + 3, 3e38f), put(&m, GRADIENT, GRADIENT_FIRST + 4, 0);
    put(&m, PARAMETERS, PARAMETER_FIRST + 1, NAN), put(&m, PARAMETERS, PARAMETER_FIRST + 9, NAN);
    put(&m, PARAMETERS, PARAMETER_FIRST + 10, INFINITY), put(&m, STATE_1, GRADIENT_FIRST + 11, NAN);
    return m;
}

static void optimizer_is(trace_function trace, way_function step, const float number[6])
{
    for (uint32_t fixed = 0; fixed < 2; fixed++) {
        run_memory given = optimizer_memory(fixed);
        const uint32_t push[] = {ELEMENTS,      PARAMETER_FIRST, GRADIENT_FIRST, fixed,
                                 word_of(rate), word_of(lower),  word_of(upper)};
        memcpy(given.uniforms, push, sizeof push);
        for (uint32_t k = 0; k < 6; k++)
            given.uniforms[7 + k] = word_of(number[k]);
        run_memory expected = run_memory_copy(&given);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            step_element(&expected, i, fixed, step, number);
        assert_true(expected.words[STATUS][0] > 0 && expected.words[STATUS][1] > 0);
        becomes(trace, &given, ELEMENTS, &expected);
    }
}

static void optimisers_take_the_step_of_their_formula(void **state)
{
    (void)state;
    optimizer_is(fit_trace_optimizer_adam, adam, (float[]){0.9f, 0.1f, 0.99f, 0.01f, 1e-8f, 1.3f});
    optimizer_is(fit_trace_optimizer_sgd, sgd, (float[]){0.9f, 0, 0.25f, 0, 0, 0});
    optimizer_is(fit_trace_optimizer_sgd, sgd, (float[]){0.9f, 1, 0.25f, 0, 0, 0});
    optimizer_is(fit_trace_optimizer_rmsprop, rmsprop, (float[]){0.9f, 0.1f, 1e-3f, 0.5f, 0, 0});
}

/* ---- total variation ---- */

typedef struct grid {
    uint32_t size[3], stride[3], first;
    float smoothing;
} grid;

/* The differences of a cell; returns what divides them. */
static float differences(const run_memory *m, const grid *g, uint32_t i, float d[3])
{
    float here = get(m, 0, g->first + i), square = g->smoothing * g->smoothing;
    for (int a = 0; a < 3; a++) {
        bool goes_on = i / g->stride[a] % g->size[a] + 1 < g->size[a];
        d[a] = goes_on ? get(m, 0, g->first + i + g->stride[a]) - here : 0;
        square += d[a] * d[a];
    }
    return sqrtf(square);
}

static float variation_slope(const run_memory *m, const grid *g, uint32_t i)
{
    float d[3], s = differences(m, g, i, d), sum = -(d[0] + d[1] + d[2]) / s;
    for (int a = 0; a < 3; a++)
        if (i / g->stride[a] % g->size[a] > 0) {
            s = differences(m, g, i - g->stride[a], d);
            sum += d[a] / s;
        }
    return sum;
}

static void total_variation_is(uint32_t planes, uint32_t rows, uint32_t columns, uint32_t channels)
{
    enum { FIRST = 3, GRADIENT_AT = 5 };
    uint32_t n = planes * rows * columns * channels;
    run_memory given = MEMORY(FIRST + n, GRADIENT_AT + n);
    const grid g = {.size = {columns, rows, planes},
                    .stride = {channels, columns * channels, rows * columns * channels},
                    .first = FIRST,
                    .smoothing = 0.05f};
    const uint32_t push[] = {n,    FIRST,    GRADIENT_AT,   columns,
                             rows, channels, word_of(0.3f), word_of(g.smoothing)};
    memcpy(given.uniforms, push, sizeof push);
    fill(&given, 0, 15, 0, 1), fill(&given, 1, 16, 0, 1);
    for (uint32_t i = 0; i < n; i += 3)
        put(&given, 0, FIRST + i, 0.5f); /* neighbours that are equal are there, too */
    run_memory expected = run_memory_copy(&given);
    for (uint32_t i = 0; i < n; i++)
        put(&expected, 1, GRADIENT_AT + i,
            get(&given, 1, GRADIENT_AT + i) + 0.3f * variation_slope(&given, &g, i));
    becomes(fit_trace_total_variation, &given, n, &expected);
}

static void total_variation_adds_its_slope(void **state)
{
    (void)state;
    total_variation_is(3, 4, 5, 3);
    total_variation_is(1, 7, 9, 3);
    total_variation_is(1, 1, 70, 1);
    total_variation_is(4, 1, 1, 2);
    total_variation_is(1, 1, 1, 1);
}

static void priors_add_their_slopes(void **state)
{
    (void)state;
    enum { N = 70, FIRST = 3, GRADIENT_AT = 5 };
    static ir_module *(*const traces[])(void) = {fit_trace_prior_l2, fit_trace_prior_l1};
    const float weight = 0.3f, centre = 0.25f;
    for (int k = 0; k < 2; k++) {
        run_memory given = MEMORY(FIRST + N, GRADIENT_AT + N);
        const uint32_t push[] = {N, FIRST, GRADIENT_AT, word_of(weight), word_of(centre)};
        memcpy(given.uniforms, push, sizeof push);
        fill(&given, 0, 17, 0, 1), fill(&given, 1, 18, 0, 1);
        put(&given, 0, FIRST + 7, centre);
        run_memory expected = run_memory_copy(&given);
        for (uint32_t i = 0; i < N; i++) {
            float off = get(&given, 0, FIRST + i) - centre, sign = off > 0 ? 1.0f : off < 0 ? -1.0f : 0.0f;
            put(&expected, 1, GRADIENT_AT + i,
                get(&given, 1, GRADIENT_AT + i) + weight * (k ? sign : 2 * off));
        }
        becomes(traces[k], &given, N, &expected);
    }
}

/* ---- code ---- */

static void every_kernel_is_valid_code(void **state)
{
    (void)state;
    static const struct {
        trace_function trace;
        const char *name;
        uint32_t buffers;
    } kernels[] = {
#define ROW(NAME, name, buffers) {fit_trace_##name, #name, buffers},
        FIT_KERNEL_TABLE(ROW)
#undef ROW
    };
    for (uint32_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        ir_module *m = lowered(kernels[k].trace);
        assert_string_equal(m->entry->name, kernels[k].name);
        assert_int_equal(m->buffers.count, kernels[k].buffers);
        for (uint32_t addressed = 0; addressed < 1u << kernels[k].buffers; addressed++) {
            spv_code code = checked_spirv(m, &(spv_options){.addressed = addressed});
            spv_code_free(&code);
        }
        ir_module_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolve_is_a_scaled_sum_of_strips),
        cmocka_unit_test(fixed_point_is_rounded_once),
        cmocka_unit_test(losses_are_summed_in_the_order_stated),
        cmocka_unit_test(a_linear_loss_is_summed_in_that_order),
        cmocka_unit_test(halves_of_a_tile_are_those_of_the_film),
        cmocka_unit_test(sixty_four_sums_become_one),
        cmocka_unit_test(optimisers_take_the_step_of_their_formula),
        cmocka_unit_test(total_variation_adds_its_slope),
        cmocka_unit_test(priors_add_their_slopes),
        cmocka_unit_test(every_kernel_is_valid_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
