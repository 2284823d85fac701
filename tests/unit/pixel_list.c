/* SPDX-License-Identifier: BSD-3-Clause
 * Samples in proportion to |dL/dI| (api/pixel_sampling.c), without a device: how many a pixel has, what they
 * weigh, and that the lanes hold each of them once. The estimator's expectation is found by adding up weights
 * over many random numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/pixel_sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 48, LONGEST = 4 };

/* splitmix64 (Steele et al. 2014) */
static uint64_t number(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double norm(const float *a)
{
    return sqrt((double)a[0] * (double)a[0] + (double)a[1] * (double)a[1] + (double)a[2] * (double)a[2]);
}

/* Of all sizes and signs; a third of the pixels are 0. */
static void fill(float adjoint[3 * PIXELS])
{
    uint64_t state = 1;
    for (uint32_t i = 0; i < 3 * PIXELS; i++) {
        uint64_t r = number(&state);
        float size = (float)exp(6 * (double)(r >> 40) / (1 << 24) - 3);
        adjoint[i] = i / 3 % 3 == 1 ? 0 : r & 1 ? size : -size;
    }
}

/* What the lanes give a pixel: samples, and dL/dI of all of them. Each sample must be there once, and long
 * lanes first. */
typedef struct given {
    uint32_t samples[PIXELS];
    double adjoint[3 * PIXELS];
} given;

static given read_list(const pixel_list *list, uint32_t pixels)
{
    given g = {0};
    uint64_t all = 0;
    assert_true(list->lanes.count > 0);
    for (uint32_t k = 0; k < list->lanes.count; k++) {
        const uint32_t *row = list->rows + LANE_WORDS * k;
        assert_true(row[LANE_PIXEL] < pixels && row[LANE_SAMPLES] <= list->lanes.longest);
        assert_true(k == 0 || row[LANE_SAMPLES] <= (row - LANE_WORDS)[LANE_SAMPLES]);
        assert_int_equal(row[LANE_FIRST] % list->lanes.longest, 0);
        g.samples[row[LANE_PIXEL]] += row[LANE_SAMPLES];
        all += row[LANE_SAMPLES];
        for (int c = 0; c < 3; c++) {
            double one = (double)list->adjoint[3 * k + c];
            assert_true(!(fabs(one) > list->lanes.largest));
            g.adjoint[3 * row[LANE_PIXEL] + c] += row[LANE_SAMPLES] * one;
        }
    }
    assert_true(all == list->lanes.samples);
    for (uint32_t k = 0; k < list->lanes.count;
         k++) { /* no two lanes of a pixel begin alike, and none is past its end */
        const uint32_t *row = list->rows + LANE_WORDS * k;
        assert_true(row[LANE_FIRST] + row[LANE_SAMPLES] <= g.samples[row[LANE_PIXEL]]);
        for (uint32_t i = 0; i < k; i++)
            assert_false(list->rows[LANE_WORDS * i + LANE_PIXEL] == row[LANE_PIXEL] &&
                         list->rows[LANE_WORDS * i + LANE_FIRST] == row[LANE_FIRST]);
    }
    return g;
}

static given draw(const float *adjoint, uint32_t spp, uint64_t random, job_lanes *lanes)
{
    pixel_list list;
    pixel_list_make(&(pixel_adjoint){adjoint, PIXELS, 3}, spp, LONGEST, random, &list);
    given g = read_list(&list, PIXELS);
    *lanes = list.lanes;
    pixel_list_free(&list);
    return g;
}

static void samples_are_in_proportion(void **state)
{
    (void)state;
    float adjoint[3 * PIXELS];
    double sum = 0;
    fill(adjoint);
    for (uint32_t p = 0; p < PIXELS; p++)
        sum += norm(adjoint + 3 * p);
    uint64_t random = 7;
    for (uint32_t spp = 1; spp < 200; spp += 1 + spp / 2) {
        job_lanes lanes;
        given g = draw(adjoint, spp, number(&random), &lanes);
        assert_true(lanes.samples <= PIXELS * spp && lanes.samples >= PIXELS * spp - 1);
        for (uint32_t p = 0; p < PIXELS; p++) {
            double expected = PIXELS * spp * norm(adjoint + 3 * p) / sum;
            if (!(fabs(g.samples[p] - expected) < 1 + 1e-6))
                fail_msg("spp %u, pixel %u: %u samples, %g expected", spp, p, g.samples[p], expected);
            for (int c = 0; c < 3;
                 c++) /* exact, whatever the random number, where there is a sample to expect */
                if (expected > 1 + 1e-6 || expected == 0)
                    assert_true(fabs(g.adjoint[3 * p + c] - (double)adjoint[3 * p + c]) <=
                                1e-6 * fabs((double)adjoint[3 * p + c]));
        }
    }
}

static void the_mean_is_the_adjoint(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    float adjoint[3 * PIXELS];
    double sum[3 * PIXELS] = {0}, squares[3 * PIXELS] = {0};
    uint64_t random = 3;
    uint32_t by_chance = 0;
    fill(adjoint);
    for (int k = 0; k < DRAWS; k++) {
        job_lanes lanes;
        given g = draw(adjoint, 1, number(&random), &lanes);
        for (uint32_t i = 0; i < 3 * PIXELS; i++)
            sum[i] += g.adjoint[i], squares[i] += g.adjoint[i] * g.adjoint[i];
    }
    for (uint32_t i = 0; i < 3 * PIXELS; i++) {
        double mean = sum[i] / DRAWS, variance = (squares[i] / DRAWS - mean * mean) / DRAWS,
               off = mean - (double)adjoint[i];
        double least = 1e-6 * (double)adjoint[i];
        if (!(off * off <= 4.5 * 4.5 * variance + least * least))
            fail_msg("value %u: %g, on average %g +- %g", i, (double)adjoint[i], mean, sqrt(variance));
        by_chance += variance > least * least;
    }
    assert_true(by_chance > 20);
}

static void the_same_everywhere_is_uniform(void **state)
{
    (void)state;
    float adjoint[3 * PIXELS];
    for (uint32_t i = 0; i < 3 * PIXELS; i++)
        adjoint[i] = (float[]){0.3f, -1.7f, 1e-3f}[i % 3];
    uint64_t random = 11;
    for (uint32_t spp = 1; spp < 100; spp++) {
        pixel_list list;
        pixel_list_make(&(pixel_adjoint){adjoint, PIXELS, 3}, spp, LONGEST, number(&random), &list);
        given g = read_list(&list, PIXELS);
        for (uint32_t p = 0; p < PIXELS; p++)
            assert_int_equal(g.samples[p], spp);
        for (uint32_t i = 0; i < 3 * list.lanes.count; i++)
            assert_true(list.adjoint[i] == adjoint[i % 3] * (1.0f / (float)spp));
        pixel_list_free(&list);
    }
}

static void one_pixel_may_have_them_all(void **state)
{
    (void)state;
    float adjoint[3 * PIXELS] = {0};
    job_lanes lanes;
    adjoint[3 * 17 + 1] = -1e-44f; /* denormal */
    given g = draw(adjoint, 5, 12345, &lanes);
    assert_int_equal(g.samples[17], lanes.samples);
    assert_in_range(lanes.samples, 5 * PIXELS - 1, 5 * PIXELS);
    assert_true(lanes.largest == 0); /* divided by so many it is not a number of f32 */
    adjoint[3 * 17 + 1] = -3;
    adjoint[0] = 1e-30f;
    g = draw(adjoint, 5, 12345, &lanes);
    assert_true(g.samples[0] <= 1 && g.samples[17] + g.samples[0] == lanes.samples);
    g = draw(adjoint, 5, 0, &lanes); /* the first sample is where pixel 0 begins, however small that is */
    assert_int_equal(g.samples[0], 1);
}

static void nothing_needs_no_samples(void **state)
{
    (void)state;
    float adjoint[3 * PIXELS] = {0};
    job_lanes lanes;
    adjoint[4] = -0.0f;
    given g = draw(adjoint, 5, 12345, &lanes);
    assert_int_equal(lanes.count, 1);
    assert_int_equal(lanes.samples, 0);
    for (uint32_t i = 0; i < 3 * PIXELS; i++)
        assert_true(g.adjoint[i] == 0);
}

/* They are walked like the largest, so that the pass sees them. */
static void what_is_no_number_is_seen(void **state)
{
    (void)state;
    float adjoint[3 * PIXELS] = {0};
    adjoint[3 * 4] = NAN, adjoint[3 * 9 + 2] = -INFINITY;
    for (int with = 0; with < 2; with++) {
        pixel_list list;
        if (with)
            adjoint[3 * 20] = 2;
        pixel_list_make(&(pixel_adjoint){adjoint, PIXELS, 3}, 2, LONGEST, 99, &list);
        uint32_t samples[PIXELS] = {0};
        for (uint32_t k = 0; k < list.lanes.count; k++)
            samples[list.rows[LANE_WORDS * k + LANE_PIXEL]] += list.rows[LANE_WORDS * k + LANE_SAMPLES];
        assert_int_equal(samples[4] + samples[9] + samples[20], list.lanes.samples);
        assert_true(samples[4] >= 2 * PIXELS / 3 - 1 && samples[9] >= 2 * PIXELS / 3 - 1);
        assert_true(isfinite(list.lanes.largest) && (list.lanes.largest > 0) == with);
        pixel_list_free(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_in_proportion),      cmocka_unit_test(the_mean_is_the_adjoint),
        cmocka_unit_test(the_same_everywhere_is_uniform), cmocka_unit_test(one_pixel_may_have_them_all),
        cmocka_unit_test(nothing_needs_no_samples),       cmocka_unit_test(what_is_no_number_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
