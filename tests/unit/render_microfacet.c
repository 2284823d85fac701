/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Microfacets in the interpreter (f64): normals cover the surface once, visible ones cover what the eye sees
 * of it (Heitz 2014, equations 4 and 14), densities of what is sampled add up to 1, and samples have them, by
 * a chi-square test. Slopes of Beckmann surfaces have the cumulative distribution that the C library's erf
 * says, in f32, at all angles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/bsdf/beckmann.h"
#include "render/bsdf/microfacet.h"
#include "support/scene_cases.h"

enum { SAMPLES = 40000, BINS_Z = 12, BINS_PHI = 16, BINS = BINS_Z * BINS_PHI, STEPS = 24 };
static const double pi = 3.14159265358979323846;

typedef struct facets {
    microfacet_kind kind;
    bool visible;
    ir_module *module;
    ir_func *sample,
        *at; /* alpha, wi 3, u 2 -> m 3; alpha, wi 3, m 3 -> distribution, visible share of wi, pdf */
} facets;

static facets facets_create(microfacet_kind kind, bool visible)
{
    facets s = {.kind = kind, .visible = visible, .module = ir_module_create()};
    bl_error err = {0};
    ir_ref p[7];
    tracer t = {.f = s.sample = ir_func_create(s.module, "sample"), .channels = 3};
    for (int k = 0; k < 6; k++)
        p[k] = ir_param(t.f, IR_F32);
    microfacets distribution = {kind, visible, {p[0], p[0]}};
    vec3 m = microfacet_sample(&t, &distribution, v3(p[1], p[2], p[3]), p[4], p[5]);
    ir_return(t.f, (ir_ref[]){m.x, m.y, m.z}, 3);
    t.f = s.at = ir_func_create(s.module, "at");
    for (int k = 0; k < 7; k++)
        p[k] = ir_param(t.f, IR_F32);
    vec3 wi = v3(p[1], p[2], p[3]);
    m = v3(p[4], p[5], p[6]);
    vec2 alpha = {p[0], p[0]};
    ir_return(t.f,
              (ir_ref[]){microfacet_distribution(&t, kind, alpha, m), microfacet_visible(&t, kind, alpha, wi),
                         microfacet_pdf(&t, &(microfacets){kind, visible, alpha}, wi, m)},
              3);
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s", err.text);
    return s;
}

static void run(ir_func *f, const double *in, uint32_t count, double out[3])
{
    ir_value args[7], got[3];
    bl_error err = {0};
    for (uint32_t k = 0; k < count; k++)
        args[k].f = in[k];
    if (ir_eval(f, args, got, &(ir_eval_env){.f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (int k = 0; k < 3; k++)
        out[k] = got[k].f;
}

enum { DISTRIBUTION, VISIBLE, PDF };

/* A microfacet's normal, by cosine and azimuth. */
typedef struct facet_normal {
    double z, phi;
} facet_normal;

/* A number at a normal, seen from wi = (sin, 0, cos) of theta; *facing: the cosine between wi and the normal.
 */
static double at(const facets *s, double alpha, double theta, facet_normal n, int which, double *facing)
{
    double r = sqrt(1 - n.z * n.z),
           in[7] = {alpha, sin(theta), 0, cos(theta), r * cos(n.phi), r * sin(n.phi), n.z}, out[3];
    *facing = fmax(in[1] * in[4] + in[3] * in[6], 0);
    run(s->at, in, 7, out);
    return out[which];
}

static const double alphas[] = {0.15, 0.5, 1.2}, thetas[] = {0.1, 1, 1.45};

/* z = cos of the normal's angle, with more steps where rough surfaces have their normals: tan^2 = alpha^2 t /
 * (1 - t). */
static double cosine_of(double t, double alpha, double *jacobian)
{
    double slope2 = alpha * alpha * t / (1 - t), z = 1 / sqrt(1 + slope2);
    *jacobian = 0.5 * z * z * z * alpha * alpha / ((1 - t) * (1 - t));
    return z;
}

static void normals_cover_the_surface(void **state)
{
    (void)state;
    enum { FINE = 400, AROUND = 64 };
    for (int kind = 0; kind < 2; kind++) {
        facets s = facets_create((microfacet_kind)kind, true);
        for (int a = 0; a < 3; a++)
            for (int v = 0; v < 3; v++) {
                double all = 0, seen = 0, sampled = 0;
                for (int i = 0; i < FINE; i++)
                    for (int k = 0; k < AROUND; k++) {
                        double left = 1 - (i + 0.5) / FINE; /* squared below: the long tail of ggx */
                        double jacobian, facing, z = cosine_of(1 - left * left, alphas[a], &jacobian);
                        facet_normal n = {z, (k + 0.5) / AROUND * 2 * pi};
                        double area = 2 * left * jacobian / FINE * 2 * pi / AROUND,
                               d = at(&s, alphas[a], thetas[v], n, DISTRIBUTION, &facing);
                        all += d * z * area, seen += d * facing * area;
                        sampled += facing > 0 ? at(&s, alphas[a], thetas[v], n, PDF, &facing) * area : 0;
                    }
                if (!(fabs(sampled - 1) < 3e-3))
                    fail_msg("kind %d, alpha %g, angle %g: densities add up to %.6f", kind, alphas[a],
                             thetas[v], sampled);
                double unused, share = at(&s, alphas[a], thetas[v], (facet_normal){1, 0}, VISIBLE, &unused);
                if (!(fabs(all - 1) < 1e-3))
                    fail_msg("kind %d, alpha %g: normals cover %.6f of the surface", kind, alphas[a], all);
                if (!(fabs(seen * share / cos(thetas[v]) - 1) <
                      (kind == MICROFACET_GGX ? 3e-3 : 1e-2))) /* Beckmann's share is a fit */
                    fail_msg("kind %d, alpha %g, angle %g: visible normals cover %.6f of what is seen", kind,
                             alphas[a], thetas[v], seen * share / cos(thetas[v]));
            }
        ir_module_destroy(s.module);
    }
}

static void expect_bins(const facets *s, double alpha, double theta, double expected[BINS])
{
    memset(expected, 0, BINS * sizeof *expected);
    for (int i = 0; i < BINS_Z * STEPS; i++)
        for (int k = 0; k < BINS_PHI * STEPS; k++) {
            double jacobian, facing, z = cosine_of((i + 0.5) / (BINS_Z * STEPS), alpha, &jacobian);
            facet_normal n = {z, (k + 0.5) / (BINS_PHI * STEPS) * 2 * pi};
            double pdf = at(s, alpha, theta, n, PDF, &facing);
            if (facing > 0 || !s->visible)
                expected[i / STEPS * BINS_PHI + k / STEPS] +=
                    SAMPLES * pdf * jacobian * 2 * pi / (BINS * STEPS * STEPS);
        }
}

static void samples_have_their_density(void **state)
{
    (void)state;
    static const struct {
        microfacet_kind kind;
        bool visible;
    } ways[] = {{MICROFACET_GGX, true},
                {MICROFACET_GGX, false},
                {MICROFACET_BECKMANN, true},
                {MICROFACET_BECKMANN, false}};
    for (int w = 0; w < 4; w++)
        for (int v = 0; v < 3; v += 2) {
            facets s = facets_create(ways[w].kind, ways[w].visible);
            double expected[BINS], seen[BINS] = {0}, alpha = alphas[1], sum = 0;
            uint32_t random = 7, bins = 0;
            expect_bins(&s, alpha, thetas[v], expected);
            for (int k = 0; k < SAMPLES; k++) {
                double in[6] = {alpha,          sin(thetas[v]),        0,
                                cos(thetas[v]), scene_random(&random), scene_random(&random)},
                       m[3];
                run(s.sample, in, 6, m);
                double slope2 = (m[0] * m[0] + m[1] * m[1]) / (m[2] * m[2] * alpha * alpha),
                       phi = atan2(m[1], m[0]) / (2 * pi);
                int i = (int)fmin(slope2 / (1 + slope2) * BINS_Z, BINS_Z - 1),
                    j = (int)fmin((phi - floor(phi)) * BINS_PHI, BINS_PHI - 1);
                seen[i * BINS_PHI + j]++;
            }
            for (int b = 0; b < BINS; b++)
                if (expected[b] >= 5) {
                    sum += (seen[b] - expected[b]) * (seen[b] - expected[b]) / expected[b];
                    bins++;
                }
            double k = bins - 1.0,
                   z = (cbrt(sum / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k)); /* Wilson and Hilferty */
            if (!(bins > BINS / 4 && fabs(z) < 4))
                fail_msg("way %d, angle %g: chi-square of %u bins lies %.1f deviations from its mean", w,
                         thetas[v], bins, z);
            ir_module_destroy(s.module);
        }
}

/* Of slopes up to x, seen at an angle with this tangent. */
static double beckmann_weight(double x, double tangent)
{
    return 1 + erf(x) + tangent * exp(-x * x) / sqrt(pi);
}

static void beckmann_slopes_are_distributed(void **state)
{
    (void)state;
    static const double cosines[] = {1, 0.999, 0.9, 0.7, 0.3, 0.05, 1e-3, 1e-6};
    enum { NUMBERS = 400 };
    ir_module *module = ir_module_create();
    bl_error err = {0};
    ir_ref p[4];
    tracer t = {.f = ir_func_create(module, "slopes"), .channels = 3};
    for (int k = 0; k < 4; k++)
        p[k] = ir_param(t.f, IR_F32);
    vec2 slope = beckmann_slopes(&t, p[0], p[1], p[2], p[3]);
    ir_return(t.f, (ir_ref[]){slope.x, slope.y}, 2);
    assert_int_equal(ir_finish(module, &err), BL_OK);
    for (int c = 0; c < 8; c++)
        for (int k = 0; k <= NUMBERS; k++) {
            double mu = (float)cosines[c], sine = (float)sqrt(1 - mu * mu),
                   u = (float)fmin((double)k / NUMBERS, 1 - 0x1p-24);
            ir_value out[2];
            assert_int_equal(ir_eval(t.f, (ir_value[]){{.f = sine}, {.f = mu}, {.f = u}, {.f = u}}, out,
                                     &(ir_eval_env){0}, &err),
                             BL_OK);
            double tangent = sine / mu, last = tangent > 0 ? 1 / tangent : 10, x = fmin(out[0].f, last);
            double along = beckmann_weight(x, tangent) / beckmann_weight(last, tangent),
                   across = (1 + erf(out[1].f)) / 2;
            if (!(out[0].f <= last * (1 + 1e-6) && fabs(along - u) < 1e-5 && fabs(across - u) < 1e-6))
                fail_msg("cosine %g, u %g: slopes %g and %g, of weight %.8f and %.8f", mu, u, out[0].f,
                         out[1].f, along, across);
        }
    ir_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(normals_cover_the_surface),
                                       cmocka_unit_test(samples_have_their_density),
                                       cmocka_unit_test(beckmann_slopes_are_distributed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
