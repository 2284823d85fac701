/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Samplers, in the interpreter: what each of them promises to stratify holds exactly, sample by sample; every
 * dimension is uniform from pixel to pixel, and dimensions, streams and pixels do not know of each other; the
 * variance of a smooth integral falls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_traced.h"

#include <math.h>

enum { SAMPLES_MOST = 64, PIXELS = 1500 };

typedef struct kind {
    const char *name;
    uint32_t sets, spp, rows, columns; /* rows * columns = spp / sets: cells of a pair */
    bool lines;                        /* a pair has one sample in each of so many rows, and columns */
    bool elementary;                   /* one in every elementary interval of area sets / spp */
    bool strong;                       /* one in each cell of any two dimensions */
} kind;
static const kind kinds[] = {
    {"stratified", 1, 16, 4, 4, false, false, false}, {"stratified", 1, 25, 5, 5, false, false, false},
    {"multijitter", 1, 16, 4, 4, true, false, false}, {"multijitter", 1, 12, 3, 4, true, false, false},
    {"orthogonal", 1, 25, 5, 5, false, false, true},  {"orthogonal", 1, 49, 7, 7, false, false, true},
    {"ldsampler", 1, 16, 4, 4, true, true, false},    {"ldsampler", 1, 64, 8, 8, true, true, false},
    {"stratified", 2, 64, 4, 8, false, false, false}, {"multijitter", 2, 16, 4, 2, true, false, false},
    {"multijitter", 2, 56, 7, 4, true, false, false}, {"orthogonal", 2, 50, 5, 5, false, false, true},
    {"ldsampler", 2, 64, 8, 4, true, true, false},    {"paddedsobol", 1, 16, 4, 4, true, true, false},
    {"paddedsobol", 1, 64, 8, 8, true, true, false},  {"paddedsobol", 2, 64, 4, 8, true, true, false},
};
static uint32_t kind_count(const kind *k) { return k->spp / k->sets; }

/* ---- numbers of a block ---- */

typedef struct source {
    loaded l;
    traced f;
} source;

static source source_begin(const kind *k, sampler_slots slots, const char *more)
{
    arena a = {0};
    source s = {.l = traced_load(arena_printf(&a,
                                              "<scene version='3.0.0'><sensor type='perspective'><sampler "
                                              "type='%s'><integer name='sample_count' value='%u'/>%s"
                                              "</sampler></sensor></scene>",
                                              k->name, k->spp, more),
                                 ".")};
    assert_int_equal(sampler_count(s.l.scene, k->spp, k->sets), k->spp);
    s.f = traced_begin(&s.l, 5);
    tracer *t = &s.f.t;
    ir_ref in[5];
    for (int i = 0; i < 5; i++)
        in[i] = ir_to_u32(t->f, s.f.in[i]);
    ir_ref count = t_u32(t, kind_count(k));
    const sampler_place at = {
        .pixel = in[0],
        .sample = ir_add(t->f, in[1], ir_mul(t->f, in[4], count)),
        .set = {in[1], count, in[4], t_u32(t, k->sets)},
        .seed = t_u32(t, 7),
        .stream = in[2],
        .jittered = sampler_jitters(s.l.scene),
    };
    random4 r = sampler_block(t, sampler_of(s.l.scene->sampler), &at, in[3], slots);
    traced_end(&s.f, r.u, 4);
    arena_free(&a);
    return s;
}

static void source_end(source *s)
{
    ir_module_destroy(s->f.module);
    traced_unload(&s->l);
}

/* sample: its index in the set. */
static void numbers_of(const source *s, uint32_t set, uint32_t pixel, uint32_t sample, uint32_t stream,
                       uint32_t block, double u[4])
{
    traced_run(&s->f, &s->l, false, (double[5]){pixel, sample, stream, block, set}, u);
    for (int k = 0; k < 4; k++)
        assert_true(u[k] >= 0 && u[k] < 1);
}

static void numbers(const source *s, uint32_t pixel, uint32_t sample, uint32_t stream, uint32_t block,
                    double u[4])
{
    numbers_of(s, 0, pixel, sample, stream, block, u);
}

/* ---- strata ---- */

/* A pixel's square in cells of equal size. */
typedef struct cells {
    const char *name; /* of one of them */
    uint32_t columns, rows;
} cells;

/* Fails unless each cell has one of the points (u[i][x], u[i][y]). */
static void expect_one_each(cells c, const kind *k, double u[][4], int x, int y)
{
    bool taken[SAMPLES_MOST * SAMPLES_MOST] = {false};
    for (uint32_t i = 0; i < kind_count(k); i++) {
        uint32_t cell = (uint32_t)(u[i][y] * c.rows * (1 - 1e-7)) * c.columns +
                        (uint32_t)(u[i][x] * c.columns * (1 - 1e-7));
        if (taken[cell])
            fail_msg("%s, %u samples, numbers %d and %d: %s %u of %u x %u is met twice", k->name,
                     kind_count(k), x, y, c.name, cell, c.columns, c.rows);
        taken[cell] = true;
    }
}

static void expect_pair(const kind *k, double u[][4], int x, int y)
{
    expect_one_each((cells){"cell", k->columns, k->rows}, k, u, x, y);
    if (k->lines)
        expect_one_each((cells){"column", kind_count(k), 1}, k, u, x, y),
            expect_one_each((cells){"row", 1, kind_count(k)}, k, u, x, y);
    for (uint32_t columns = 1; k->elementary && columns <= kind_count(k); columns *= 2)
        expect_one_each((cells){"interval", columns, kind_count(k) / columns}, k, u, x, y);
}

static void strata(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int slots = 0; slots < 2; slots++) {
            const kind *k = &kinds[i];
            source s = source_begin(k, (sampler_slots)slots, "");
            for (uint32_t pixel = 0; pixel < 5; pixel++)
                for (uint32_t block = 0; block < 3; block++) {
                    double u[SAMPLES_MOST][4];
                    for (uint32_t n = 0; n < kind_count(k); n++)
                        numbers_of(&s, pixel % k->sets, pixel * 1000, n, pixel & 1, block, u[n]);
                    if (slots == SAMPLER_PAIRS) {
                        expect_pair(k, u, 0, 1), expect_pair(k, u, 2, 3);
                    } else {
                        expect_pair(k, u, 1, 2);
                        expect_one_each((cells){"stratum", kind_count(k), 1}, k, u, 0, 3),
                            expect_one_each((cells){"stratum", 1, kind_count(k)}, k, u, 0, 3);
                    }
                    /* columns of the array repeat after p, so at most that many dimensions are strong
                     * together */
                    for (int x = 0; k->strong && x < 4 && block == 0; x++)
                        for (int y = 0; y < x; y++)
                            expect_one_each((cells){"cell", k->columns, k->rows}, k, u, x, y);
                }
            source_end(&s);
        }
}

static void without_jitter(void **state)
{
    (void)state;
    source s = source_begin(&kinds[0], SAMPLER_PAIRS, "<boolean name='jitter' value='false'/>");
    double u[4];
    for (uint32_t n = 0; n < 16; n++) {
        numbers(&s, 3, n, 0, 0, u);
        for (int k = 0; k < 4; k++)
            assert_true(fabs(u[k] * 4 - floor(u[k] * 4) - 0.5) < 1e-6);
    }
    source_end(&s);
}

/* ---- uniformity and independence ---- */

/* Of one sample's number over pixels: moments, tenths (chi-square, 9 degrees of freedom, level 1e-5), and
 * products with other numbers. */
static void uniform(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i += 2) {
        const kind *k = &kinds[i];
        if (k->sets > 1)
            continue;
        source s = source_begin(k, SAMPLER_ONE_TWO_ONE, "");
        for (uint32_t sample = 0; sample < k->spp; sample += k->spp - 1) {
            uint32_t tenths[4][10] = {{0}};
            double products[4] = {0}, others[3] = {0}, last[4] = {0.5, 0.5, 0.5, 0.5};
            for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
                double u[4], other[4], deeper[4];
                numbers(&s, pixel, sample, 0, 1, u), numbers(&s, pixel, sample, 1, 1, other),
                    numbers(&s, pixel, sample, 0, 3, deeper);
                for (int d = 0; d < 4; d++) {
                    tenths[d][(int)(10 * u[d])]++;
                    products[d] += 12 * (u[d] - 0.5) * (u[(d + 1) % 4] - 0.5);
                    others[0] += 12 * (u[d] - 0.5) * (other[d] - 0.5),
                        others[1] += 12 * (u[d] - 0.5) * (last[d] - 0.5);
                    others[2] += 12 * (u[d] - 0.5) * (deeper[d] - 0.5);
                    last[d] = u[d];
                }
            }
            for (int d = 0; d < 4; d++) {
                double chi = 0;
                for (int j = 0; j < 10; j++)
                    chi += pow(tenths[d][j] - PIXELS / 10.0, 2) / (PIXELS / 10.0);
                if (!(chi < 40))
                    fail_msg("%s, number %d of sample %u: chi-square %g", k->name, d, sample, chi);
                if (!(fabs(products[d]) < 4.5 * sqrt(PIXELS)))
                    fail_msg("%s, sample %u: numbers %d and the next are correlated, %g sigma", k->name,
                             sample, d, products[d] / sqrt(PIXELS));
            }
            for (int j = 0; j < 3; j++)
                if (!(fabs(others[j]) < 4.5 * sqrt(4 * PIXELS)))
                    fail_msg("%s, sample %u: correlated with %s, %g sigma", k->name, sample,
                             ((const char *[]){"the other stream", "the next pixel", "a deeper vertex"})[j],
                             others[j] / sqrt(4 * PIXELS));
        }
        source_end(&s);
    }
}

/* The numbers of one set say nothing of those of the other: of each pair of samples, one of each set,
 * products summed over pixels. Would sets share their permutations, then samples of the same index would lie
 * in the same stratum, and the sum would be 12 * 1/12 * PIXELS. */
static void sets_are_independent(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind *k = &kinds[i];
        if (k->sets == 1)
            continue;
        source s = source_begin(k, SAMPLER_PAIRS, "");
        for (uint32_t sample = 0; sample < 2; sample++) {
            double products[2][4] = {{0}};
            for (uint32_t pixel = 0; pixel < PIXELS; pixel++) {
                double u[4], other[2][4];
                numbers_of(&s, 0, pixel, sample, 1, 2, u);
                numbers_of(&s, 1, pixel, 0, 1, 2, other[0]), numbers_of(&s, 1, pixel, 1, 1, 2, other[1]);
                for (int d = 0; d < 8; d++)
                    products[d / 4][d % 4] += 12 * (u[d % 4] - 0.5) * (other[d / 4][d % 4] - 0.5);
            }
            for (int d = 0; d < 8; d++)
                if (!(fabs(products[d / 4][d % 4]) < 4.5 * sqrt(PIXELS)))
                    fail_msg("%s, number %d: samples %u and %d of the two sets are correlated, %g sigma",
                             k->name, d % 4, sample, d / 4, products[d / 4][d % 4] / sqrt(PIXELS));
        }
        source_end(&s);
    }
}

/* Variance over pixels of the mean of a smooth function of two numbers, as a share of that of independent
 * numbers: a third at most, two thirds where all points of a pixel are shifted alike. */
static void variance_falls(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846, alone = 0.25 - pow(2 / pi, 4); /* of sin(pi x) sin(pi y) */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind *k = &kinds[i];
        source s = source_begin(k, SAMPLER_PAIRS, "");
        double sum = 0, squares = 0;
        enum { TRIES = 150 };
        for (uint32_t pixel = 0; pixel < TRIES; pixel++) {
            double mean = 0, u[4];
            for (uint32_t n = 0; n < kind_count(k); n++) {
                numbers(&s, pixel, n, 0, 0, u);
                mean += sin(pi * u[2]) * sin(pi * u[3]) / kind_count(k);
            }
            sum += mean, squares += mean * mean;
        }
        double expected = pow(2 / pi, 2), variance = (squares - sum * sum / TRIES) / (TRIES - 1),
               share = variance * kind_count(k) / alone;
        print_message("%s, %u samples: %.3f of the variance of independent ones\n", k->name, kind_count(k),
                      share);
        if (!(fabs(sum / TRIES - expected) < 5 * sqrt(variance / TRIES)) ||
            !(share < (k->elementary ? 2 : 1) / 3.))
            fail_msg("%s, %u samples: mean %g, expected %g; %g of the variance", k->name, kind_count(k),
                     sum / TRIES, expected, share);
        source_end(&s);
    }
}

/* ---- counts ---- */

static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t asked[6], taken[6] /* Mitsuba 3.9.1's */,
            halves[6] /* even; each half is spread by itself */;
    } rows[] = {
        {"independent", {1, 2, 7, 10, 17, 27}, {1, 2, 7, 10, 17, 27}, {1, 2, 7, 10, 17, 27}},
        {"stratified", {1, 2, 7, 10, 17, 27}, {1, 4, 9, 16, 25, 36}, {4, 4, 16, 16, 36, 36}},
        {"multijitter", {1, 2, 7, 10, 17, 27}, {1, 2, 8, 12, 20, 30}, {2, 2, 8, 12, 20, 30}},
        {"orthogonal", {1, 2, 7, 10, 17, 27}, {4, 4, 9, 25, 25, 49}, {8, 8, 8, 18, 18, 50}},
        {"ldsampler", {1, 2, 7, 10, 17, 27}, {4, 4, 16, 16, 64, 64}, {4, 4, 16, 16, 64, 64}},
        {"paddedsobol", {1, 2, 7, 10, 17, 27}, {1, 2, 7, 10, 17, 27}, {1, 2, 7, 10, 17, 27}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 6; k++) {
            arena a = {0};
            loaded l = traced_load(arena_printf(&a,
                                                "<scene version='3.0.0'><sensor type='perspective'><sampler "
                                                "type='%s'><integer name='sample_count' value='%u'/>"
                                                "</sampler></sensor><emitter type='constant'/></scene>",
                                                rows[i].name, rows[i].asked[k]),
                                   ".");
            assert_int_equal(l.scene->spp, rows[i].taken[k]);
            assert_int_equal(sampler_count(l.scene, rows[i].asked[k], 2), rows[i].halves[k]);
            assert_int_equal(l.scene->description->warnings.length > 0, rows[i].asked[k] != rows[i].taken[k]);
            traced_unload(&l);
            arena_free(&a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strata),         cmocka_unit_test(without_jitter),
        cmocka_unit_test(uniform),        cmocka_unit_test(sets_are_independent),
        cmocka_unit_test(variance_falls), cmocka_unit_test(counts)};
    return cmocka_run_group_tests_name("samplers", tests, NULL, NULL);
}
