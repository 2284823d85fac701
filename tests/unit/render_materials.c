/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every material of the table (support/material_cases.h), one at a time in the interpreter:
 *
 *   samples      have the density that is claimed: chi-square over the sphere, discrete lobes as often as
 *                they say. A sample's own density is the
 *                one that light sampling would be told. BL_LONG=1: with a million samples;
 *   energy       value over density has a mean, the albedo, that is at most 1 (radiance that crosses is
 *                compressed by 1 / eta^2 more);
 *   reciprocity  of the continuous value: f(wi, wo) / cos wo is the same both ways, across a surface with the
 *                squared index of its side;
 *   support      where there is value there is density;
 *   grazing      in f32 value and density are numbers, and not negative, down to the horizon and on it.
 *
 * All tests of frequencies together fail by chance once in a hundred choices of random numbers (Sidak's
 * correction). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"
#include "support/scene_cases.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS_Z = 16, BINS_PHI = 12, BINS = BINS_Z * BINS_PHI, LOBES = 8 };
static const double pi = 3.14159265358979323846;

#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define FLOAT(name, value) "<float name='" name "' value='" value "'/>"
#define INDICES(inside) FLOAT("int_ior", inside) FLOAT("ext_ior", "1")

static char *folder;
static uint32_t samples = 10000, steps = 8; /* per angle; of the quadrature, each way in a bin */

/* ---- sampling ---- */

/* Probability of a normal deviate this large or larger that still passes. */
static double significance(void)
{
    uint32_t tests = 0;
    for (uint32_t i = 0; i < material_case_count; i++)
        for (int k = 0; k < MATERIAL_COSINES; k++)
            tests += material_cases[i].cosines[k] != 0;
    return 1 - pow(0.99, 1.0 / tests);
}

static bool too_large(double deviations) { return 0.5 * erfc(deviations / sqrt(2)) < significance(); }

/* What was drawn at one angle. */
typedef struct tally {
    double expected[BINS];            /* of continuous lobes, by quadrature */
    uint32_t seen[BINS], lost, limit; /* the last: LOBE_REFRACTION_LIMIT, which is no part of the image
                                         (tests/unit/render_refraction_limit.c) */
    struct {
        uint32_t lobe, seen;
        double probability;
    } discrete[LOBES];
    uint32_t lobe_count;
    double albedo[3], squares[3];
} tally;

/* Point i of the quadrature in z, and its weight, of mean 1. In the bins next to the poles points are evenly
 * spaced in angle, as lobes are: by z alone the last would stand 3 degrees from the pole, and a lobe that
 * ends on the way there would count for nothing. */
static double quadrature_point(uint32_t i, double *weight)
{
    double z = 2 * (i + 0.5) / (BINS_Z * steps) - 1, bin = 2.0 / BINS_Z, x = (1 - fabs(z)) / bin;
    *weight = x < 1 ? 2 * x : 1;
    return x < 1 ? copysign(1 - bin * x * x, z) : z;
}

/* Bins are equal in z and azimuth. The integral of the density over all of them is what the samples of
 * continuous lobes add up to. */
static void expect_bins(const material_probe *s, const double wi[3], tally *t)
{
    for (uint32_t i = 0; i < BINS_Z * steps; i++)
        for (uint32_t k = 0; k < BINS_PHI * steps; k++) {
            double wo[3], weight, z = quadrature_point(i, &weight),
                                  area = 4 * pi * weight / (BINS * steps * steps);
            material_direction(z, 2 * pi * (k + 0.5) / (BINS_PHI * steps), wo);
            t->expected[i / steps * BINS_PHI + k / steps] +=
                samples * area * material_probe_value(s, wi, wo, false, 0).pdf;
        }
}

static uint32_t bin_of(const double wo[3])
{
    double turn = atan2(wo[1], wo[0]) / (2 * pi), z = fmin((wo[2] + 1) / 2 * BINS_Z, BINS_Z - 1);
    return (uint32_t)z * BINS_PHI + (uint32_t)fmin((turn - floor(turn)) * BINS_PHI, BINS_PHI - 1);
}

static void count_discrete(const material_probe *s, tally *t, const material_sample *sample)
{
    uint32_t k = 0;
    while (k < t->lobe_count && t->discrete[k].lobe != sample->lobe)
        k++;
    if (k == LOBES)
        fail_msg("%s: more than %d discrete lobes", s->what->name, LOBES);
    t->lobe_count += k == t->lobe_count;
    if (t->discrete[k].seen && !(fabs(t->discrete[k].probability - sample->pdf) < 1e-9))
        fail_msg("%s: lobe %u has the probabilities %g and %g", s->what->name, sample->lobe,
                 t->discrete[k].probability, sample->pdf);
    t->discrete[k].lobe = sample->lobe, t->discrete[k].probability = sample->pdf;
    t->discrete[k].seen++;
}

static void draw(const material_probe *s, const double wi[3], const double u[3], tally *t)
{
    const material_case *c = s->what;
    material_sample r = material_probe_sample(s, wi, u);
    if (!(r.pdf > 0)) {
        t->lost++;
        return;
    }
    const double *wo = r.wo;
    bool same_side = wi[2] * wo[2] > 0;
    if (!(fabs(wo[0] * wo[0] + wo[1] * wo[1] + wo[2] * wo[2] - 1) < 1e-6))
        fail_msg("%s, cosine %g: a direction of length other than 1", c->name, wi[2]);
    if (c->eta != 0 && !(fabs(r.eta - (same_side ? 1 : wi[2] > 0 ? c->eta : 1 / c->eta)) < 1e-6))
        fail_msg("%s, cosine %g: index %g along the sample", c->name, wi[2], r.eta);
    material_value v = material_probe_value(s, wi, wo, r.delta, r.lobe);
    for (int k = 0; k < 3; k++) {
        double weight = v.rgb[k] / r.pdf * (same_side ? 1 : r.eta * r.eta);
        t->albedo[k] += weight / samples, t->squares[k] += weight * weight / samples;
    }
    if (r.delta && (r.lobe & LOBE_REFRACTION_LIMIT)) {
        if (v.rgb[0] != 0 || v.rgb[1] != 0 || v.rgb[2] != 0)
            fail_msg("%s, cosine %g: the limit of a lobe is not black", c->name, wi[2]);
        t->limit++;
    } else if (r.delta)
        count_discrete(s, t, &r);
    else if (!(fabs(v.pdf - r.pdf) <= 1e-9 * r.pdf))
        fail_msg("%s, cosine %g: a sample says %.12g, its direction %.12g", c->name, wi[2], r.pdf, v.pdf);
    else
        t->seen[bin_of(wo)]++;
}

/* Bins where less than 5 samples are expected count as one. */
static void judge_bins(const char *name, double cosine, const tally *t)
{
    double sum = 0, few = 0, all = 0, few_seen = 0;
    uint32_t bins = 0;
    for (int b = 0; b < BINS; b++) {
        double expected = t->expected[b], off = t->seen[b] - expected;
        all += expected;
        if (expected >= 5)
            sum += off * off / expected, bins++;
        else
            few += expected, few_seen += t->seen[b];
    }
    if (few >= 5)
        sum += (few_seen - few) * (few_seen - few) / few, bins++;
    else if (few_seen > few + 6 * sqrt(few) + 10)
        fail_msg("%s, cosine %g: %g samples where %g are expected", name, cosine, few_seen, few);
    for (uint32_t k = 0; k < t->lobe_count; k++) {
        double p = t->discrete[k].probability, n = samples;
        all += n * p;
        if (too_large((fabs(t->discrete[k].seen - n * p) - 0.5) / sqrt(n * p * (1 - p) + 1e-9)))
            fail_msg("%s, cosine %g: lobe %u was chosen %u times in %g, with probability %g", name, cosine,
                     t->discrete[k].lobe, t->discrete[k].seen, n, p);
    }
    if (!(fabs(all + t->lost + t->limit - samples) < 0.02 * samples))
        fail_msg("%s, cosine %g: %g samples expected, %u of %u lost", name, cosine, all, t->lost, samples);
    double k = bins - 1.0, z = bins > 1 ? (cbrt(sum / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k))
                                        : 0; /* Wilson and Hilferty */
    if (too_large(z))
        fail_msg("%s, cosine %g: chi-square of %u bins lies %.1f deviations above its mean", name, cosine,
                 bins, z);
}

static void samples_have_their_density(void **state)
{
    const material_case *c = *state;
    material_probe s = material_probe_create(c, folder);
    for (int k = 0; k < MATERIAL_COSINES && c->cosines[k] != 0; k++) {
        tally t = {0};
        uint32_t random = 100 * (uint32_t)(c - material_cases) + (uint32_t)k;
        double wi[3];
        material_direction(c->cosines[k], 0.4, wi);
        expect_bins(&s, wi, &t);
        for (uint32_t i = 0; i < samples; i++)
            draw(&s, wi, (double[3]){scene_random(&random), scene_random(&random), scene_random(&random)},
                 &t);
        judge_bins(c->name, c->cosines[k], &t);
        for (int i = 0; i < 3; i++) {
            double noise = sqrt(fmax(t.squares[i] - t.albedo[i] * t.albedo[i], 0) / samples);
            if (!(t.albedo[i] >= 0 && t.albedo[i] <= 1 + 4 * noise + 1e-6))
                fail_msg("%s, cosine %g: albedo %g +- %g", c->name, c->cosines[k], t.albedo[i], noise);
        }
    }
    material_probe_destroy(&s);
}

/* ---- values ---- */

/* f cos / cos is the BSDF for radiance: times the squared index of wi's side it is the same when the
 * directions change places. */
static void values_are_reciprocal_and_sampled(void **state)
{
    const material_case *c = *state;
    material_probe s = material_probe_create(c, folder);
    uint32_t random = 9, met = 0;
    for (int k = 0; k < 300; k++) {
        double wi[3], wo[3], below = c->eta != 0 ? c->eta : 1;
        material_direction(2 * scene_random(&random) - 1, 2 * pi * scene_random(&random), wi);
        material_direction(2 * scene_random(&random) - 1, 2 * pi * scene_random(&random), wo);
        material_value there = material_probe_value(&s, wi, wo, false, 0),
                       back = material_probe_value(&s, wo, wi, false, 0);
        double n_i = wi[2] > 0 ? 1 : below, n_o = wo[2] > 0 ? 1 : below;
        for (int i = 0; i < 3; i++) {
            double a = there.rgb[i] / fabs(wo[2]) / (n_i * n_i), b = back.rgb[i] / fabs(wi[2]) / (n_o * n_o);
            met += a > 0;
            if (!c->one_way && !(fabs(a - b) <= 1e-6 * (a + b)))
                fail_msg("%s, wi.z %g, wo.z %g: %.9g one way, %.9g the other", c->name, wi[2], wo[2], a, b);
            if (there.rgb[i] > 0 && !(there.pdf > 0))
                fail_msg("%s, wi.z %g, wo.z %g: a value of %g that is never sampled", c->name, wi[2], wo[2],
                         there.rgb[i]);
        }
    }
    if (c->black != (met == 0))
        fail_msg("%s: %u values in 900 are positive", c->name, met);
    material_probe_destroy(&s);
}

static void expect_number(const material_case *c, const char *what, const double wi[3], const double wo[3],
                          double v)
{
    if (!(v >= 0 && v <= 1e30))
        fail_msg("%s, wi (%.9g, %.9g, %.9g), wo (%.9g, %.9g, %.9g): %s is %g", c->name, wi[0], wi[1], wi[2],
                 wo[0], wo[1], wo[2], what, v);
}

static void horizon_is_finite(void **state)
{
    const material_case *c = *state;
    static const double cosines[] = {1, 0.999999, 0.5,   1e-3,  1e-5,  1e-7, 1e-12,
                                     0, -1e-12,   -1e-7, -1e-5, -1e-3, -0.5, -1};
    static const double turns[] = {0, 1e-4, 0.5, 0.75};
    enum { COSINES = sizeof cosines / sizeof *cosines, TURNS = sizeof turns / sizeof *turns };
    material_probe s = material_probe_create(c, folder);
    s.single = true;
    uint32_t random = 5;
    for (int i = 0; i < COSINES; i++) {
        double wi[3];
        material_direction(cosines[i], 0.4, wi);
        for (int k = 0; k < COSINES * TURNS; k++) {
            double wo[3];
            material_direction(cosines[k / TURNS], 0.4 + 2 * pi * turns[k % TURNS], wo);
            material_value v = material_probe_value(&s, wi, wo, false, 0);
            expect_number(c, "the density", wi, wo, v.pdf);
            for (int b = 0; b < 3; b++)
                expect_number(c, "a value", wi, wo, v.rgb[b]);
        }
        for (int k = 0; k < 200; k++) {
            double u[3] = {scene_random(&random), scene_random(&random), scene_random(&random)};
            if (k < 8) /* the least and the largest numbers there are */
                for (int b = 0; b < 3; b++)
                    u[b] = k >> b & 1 ? 1 - 0x1p-24 : 0;
            material_sample r = material_probe_sample(&s, wi, u);
            expect_number(c, "the density of a sample", wi, r.wo, r.pdf);
            material_value v = material_probe_value(&s, wi, r.wo, r.delta, r.lobe);
            for (int b = 0; b < 3 && r.pdf > 0; b++)
                expect_number(c, "the value of a sample", wi, r.wo, v.rgb[b]);
        }
    }
    material_probe_destroy(&s);
}

/* ---- known values ---- */

/* The mean of F over a hemisphere, weighted with the cosine (Duntley; see Walsh 1926), and from it what the
 * base of white plastic returns. */
static double mean_reflectance(double n)
{
    double n2 = n * n, n4 = n2 * n2;
    return 0.5 + (n - 1) * (3 * n + 1) / (6 * (n + 1) * (n + 1)) +
           n2 * (n2 - 1) * (n2 - 1) / pow(n2 + 1, 3) * log((n - 1) / (n + 1)) -
           2 * n2 * n * (n2 + 2 * n - 1) / ((n2 + 1) * (n4 - 1)) +
           8 * n4 * (n4 + 1) / ((n2 + 1) * (n4 - 1) * (n4 - 1)) * log(n);
}

static void white_plastic_loses_nothing(void **state)
{
    (void)state;
    static const double indices[] = {1.1, 1.33, 1.5, 2, 3};
    for (int i = 0; i < 5; i++)
        for (int nonlinear = 0; nonlinear < 2; nonlinear++) {
            arena a = {0};
            material_case what = {.name = "white plastic"};
            what.xml = arena_printf(&a,
                                    "<bsdf type='plastic' id='it'>" RGB("diffuse_reflectance", "1,.4,0")
                                        INDICES("%g") "<boolean name='nonlinear' value='%s'/></bsdf>",
                                    indices[i], nonlinear ? "true" : "false");
            material_probe s = material_probe_create(&what, folder);
            double outside = mean_reflectance(indices[i]),
                   inside = 1 - (1 - outside) / (indices[i] * indices[i]), wi[3], wo[3];
            material_direction(0.6, 1, wi), material_direction(0.8, 2, wo);
            material_value white = material_probe_value(&s, wi, wo, false, 0),
                           coat = material_probe_value(&s, wi, wo, true, 0);
            /* from wi all that is not reflected comes out in the end, in proportion to what crosses there */
            double ct = sqrt(1 - 0.36 / (indices[i] * indices[i])),
                   rs = (0.8 - indices[i] * ct) / (0.8 + indices[i] * ct);
            double rp = (ct - indices[i] * 0.8) / (ct + indices[i] * 0.8),
                   leaves = 1 - (rs * rs + rp * rp) / 2;
            double expected = (1 - coat.rgb[0]) * leaves / (1 - outside) * 0.8 / pi;
            assert_true(fabs(white.rgb[0] - expected) < 1e-5 * expected);
            double trips = nonlinear ? 1 - 0.4 * inside : 1 - inside;
            assert_true(fabs(white.rgb[1] - expected * 0.4 * (1 - inside) / trips) < 1e-5 * expected);
            assert_true(white.rgb[2] == 0 &&
                        material_probe_value(&s, wo, (double[3]){0.6, 0, -0.8}, false, 0).rgb[0] == 0);
            material_probe_destroy(&s);
            arena_free(&a);
        }
}

int main(void)
{
    const char *with = getenv("BL_LONG");
    if (with && strcmp(with, "1") == 0)
        samples = 1000000, steps = 48;
    folder = scene_files_create();
    if (!folder)
        return 1;
    enum { EACH = 3 };
    static void (*const each[EACH])(void **) = {samples_have_their_density, values_are_reciprocal_and_sampled,
                                                horizon_is_finite};
    static const char *const names[EACH] = {"sampling", "values", "horizon"};
    arena a = {0};
    uint32_t count = 0;
    struct CMUnitTest *tests = arena_alloc(&a, (EACH * material_case_count + 1) * sizeof *tests);
    for (uint32_t i = 0; i < material_case_count; i++)
        for (int k = 0; k < EACH && todays_share(i); k++)
            tests[count++] = (struct CMUnitTest){arena_printf(&a, "%s: %s", material_cases[i].name, names[k]),
                                                 each[k], NULL, NULL, (void *)(uintptr_t)&material_cases[i]};
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(white_plastic_loses_nothing);
    int failed = _cmocka_run_group_tests("materials", tests, count, NULL, NULL);
    arena_free(&a);
    scene_files_remove(folder);
    return failed;
}
