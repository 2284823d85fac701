/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Rough plastic in the interpreter: values against those that Mitsuba 3.9 computes, whose tables are
 * quadratures of its own; the mean reflectance inside, by which everything is divided, against a dense
 * quadrature over slopes; and the derivatives of our tables, which are integrals at fixed nodes
 * (rough_interface.c), against differences of the tables over steps wide enough to smooth the kinks. Of the
 * last two a third of the cases each day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"
#include "support/todays_share.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *distribution;
    double alpha;
    int nonlinear;
    double cos_i, cos_o; /* 2.5 radians apart in azimuth */
    double rgb[3];
} known[] = {
    {"beckmann", 0.1, 0, 0.9, 0.8, {0.152404, 0.0781426, 0.0410118}},
    {"beckmann", 0.1, 0, 0.05, 0.5, {0.0407367, 0.0203684, 0.0101842}},
    {"beckmann", 0.1, 1, 0.9, 0.8, {0.0994206, 0.0415677, 0.0209255}},
    {"beckmann", 0.1, 1, 0.05, 0.5, {0.0262045, 0.0103366, 0.00467494}},
    {"beckmann", 0.5, 0, 0.9, 0.8, {0.121597, 0.0668114, 0.0394186}},
    {"beckmann", 0.5, 0, 0.05, 0.5, {0.0629808, 0.0358975, 0.0223559}},
    {"beckmann", 0.5, 1, 0.9, 0.8, {0.0952544, 0.0472828, 0.0284032}},
    {"beckmann", 0.5, 1, 0.05, 0.5, {0.0499583, 0.0262436, 0.0169105}},
    {"ggx", 0.1, 0, 0.9, 0.8, {0.150193, 0.0809748, 0.0463657}},
    {"ggx", 0.1, 0, 0.05, 0.5, {0.0530977, 0.0284212, 0.016083}},
    {"ggx", 0.1, 1, 0.9, 0.8, {0.104502, 0.0489281, 0.0286649}},
    {"ggx", 0.1, 1, 0.05, 0.5, {0.0368088, 0.0169965, 0.00977258}},
    {"ggx", 0.5, 0, 0.9, 0.8, {0.0910989, 0.050474, 0.0301615}},
    {"ggx", 0.5, 0, 0.05, 0.5, {0.0453017, 0.0309244, 0.0237358}},
    {"ggx", 0.5, 1, 0.9, 0.8, {0.0796892, 0.0414417, 0.024927}},
    {"ggx", 0.5, 1, 0.05, 0.5, {0.0412638, 0.0277279, 0.0218833}},
};

static void values_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        arena a = {0};
        material_case c = {.name = "rough plastic"};
        c.xml = arena_printf(&a,
                             "<bsdf type='roughplastic' id='it'><string name='distribution' "
                             "value='%s'/><float name='alpha' value='%g'/>"
                             "<float name='int_ior' value='1.5'/><float name='ext_ior' value='1'/><boolean "
                             "name='nonlinear' value='%s'/>"
                             "<rgb name='diffuse_reflectance' value='.6,.3,.15'/><rgb "
                             "name='specular_reflectance' value='.9'/></bsdf>",
                             known[i].distribution, known[i].alpha, known[i].nonlinear ? "true" : "false");
        material_probe p = material_probe_create(&c, ".");
        double wi[3], wo[3];
        material_direction(known[i].cos_i, 0, wi), material_direction(known[i].cos_o, 2.5, wo);
        material_value v = material_probe_value(&p, wi, wo, false, 0);
        for (int k = 0; k < 3; k++)
            if (!(fabs(v.rgb[k] - known[i].rgb[k]) <= 5e-3 * known[i].rgb[k]))
                fail_msg("case %zu, channel %d: %.6g, expected %.6g", i, k, v.rgb[k], known[i].rgb[k]);
        material_probe_destroy(&p);
        arena_free(&a);
    }
}

enum { TABLE = 64, DERIVED = TABLE + 1 };

static const double *derived_of(const scene_eval *e, const double *values)
{
    return values + e->scene->values.count;
}

static void run(scene_eval *e, render_pass pass)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, (scene_eval_at){.f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static double fresnel_of(double cosine, double eta)
{
    double sine2 = (1 - cosine * cosine) / (eta * eta), across = sqrt(fmax(1 - sine2, 0));
    double s = (cosine - eta * across) / (cosine + eta * across),
           p = (eta * cosine - across) / (eta * cosine + across);
    return sine2 >= 1 ? 1 : (s * s + p * p) / 2;
}

/* Smith's share of the facets that a direction of cosine z sees, Beckmann (Walter et al. 2007, equation 27's
 * fit). */
static double share_seen(double alpha, double z)
{
    double a = z / (alpha * sqrt(fmax(1 - z * z, 1e-12)));
    return a >= 1.6 ? 1 : (3.535 * a + 2.181 * a * a) / (1 + 2.276 * a + 2.577 * a * a);
}

/* What a Beckmann surface throws back at its first facet of light at cosine mu: a sum over slopes (x, y) in
 * units of alpha, y from 0 by symmetry. */
static double thrown_back(double alpha, double eta, double mu)
{
    enum { ALONG = 300, ACROSS = 120 };
    const double far = 5;
    double sine = sqrt(fmax(1 - mu * mu, 0)), last = fmin(mu / fmax(alpha * sine, 1e-9), far), sum = 0,
           all = 0;
    for (int i = 0; i < ALONG; i++)
        for (int k = 0; k < ACROSS; k++) {
            double x = (i + 0.5) / ALONG * (last + far) - far, y = (k + 0.5) / ACROSS * far;
            double seen = fmax(mu - alpha * sine * x, 0) * exp(-x * x - y * y),
                   z = 1 / sqrt(1 + alpha * alpha * (x * x + y * y));
            double cosine = fmin((mu - alpha * sine * x) * z, 1), up = 2 * cosine * z - mu;
            all += seen;
            sum += up > 0 && cosine > 0 ? seen * fresnel_of(cosine, eta) * share_seen(alpha, fmin(up, 1)) : 0;
        }
    return sum / all;
}

static double mean_thrown_back(double alpha, double eta)
{
    double mean = 0;
    for (int k = 0; k < TABLE; k++) {
        double mu = fmax(k / (TABLE - 1.0), 1e-6);
        mean += 2 * mu / TABLE * thrown_back(alpha, 1 / eta, mu);
    }
    return mean;
}

/* And its derivatives, of which that by the index would be off by a tenth to a third were total reflection
 * left to the nodes. */
static void inner_reflectance_is_the_mean(void **state)
{
    (void)state;
    static const struct {
        double alpha, eta;
    } cases[] = {{0.1, 1.8}, {0.25, 1.49}, {0.4, 1.49}, {0.6, 1.5}, {0.0968, 2.418}, {0.3, 0.7}};
    static const char *const parameters[] = {"it.eta", "it.alpha"};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!todays_share(i))
            continue;
        arena a = {0};
        material_case c = {
            .name = "rough plastic", .parameters = {parameters[0], parameters[1]}, .requested = true};
        c.xml = arena_printf(&a,
                             "<bsdf type='roughplastic' id='it'><float name='alpha' value='%g'/><float "
                             "name='int_ior' value='%g'/>"
                             "<float name='ext_ior' value='1'/></bsdf>",
                             cases[i].alpha, cases[i].eta);
        material_probe p = material_probe_create(&c, ".");
        double got = derived_of(p.e, p.e->values)[TABLE],
               mean = mean_thrown_back(cases[i].alpha, cases[i].eta);
        print_message("alpha %g, index %g: off by %.2g of what is not thrown back", cases[i].alpha,
                      cases[i].eta, fabs(got - mean) / (1 - mean));
        if (!(fabs(got - mean) < 2e-3 * (1 - mean)))
            fail_msg("alpha %g, index %g: %.5f, expected %.5f", cases[i].alpha, cases[i].eta, got, mean);
        for (int by_alpha = 0; by_alpha < 2; by_alpha++) {
            double step = by_alpha ? 0.01 : 0.02,
                   high = mean_thrown_back(cases[i].alpha + by_alpha * step, cases[i].eta + !by_alpha * step);
            double wanted =
                (high - mean_thrown_back(cases[i].alpha - by_alpha * step, cases[i].eta - !by_alpha * step)) /
                (2 * step);
            uint32_t at = p.e->scene->parameters.data[scene_eval_find(p.e, parameters[by_alpha])].offset;
            p.e->tangent[at] = 1;
            run(p.e, RENDER_FORWARD);
            p.e->tangent[at] = 0;
            double slope = derived_of(p.e, p.e->tangent)[TABLE];
            print_message(", its derivative by %s of itself %.2g%s", by_alpha ? "alpha" : "eta",
                          fabs(slope - wanted) / fabs(wanted), by_alpha ? "\n" : "");
            if (!(fabs(slope - wanted) < 0.015 * fabs(wanted)))
                fail_msg("alpha %g, index %g: derivative by %s %.5f, expected %.5f", cases[i].alpha,
                         cases[i].eta, parameters[by_alpha], slope, wanted);
        }
        material_probe_destroy(&p);
        arena_free(&a);
    }
}

static void tables_have_their_derivatives(void **state)
{
    (void)state;
    static const struct {
        const char *distribution, *parameter;
        double alpha, step, tolerance; /* of the largest derivative */
    } cases[] = {{"ggx", "it.alpha", 0.2, 0.02, 0.015},
                 {"ggx", "it.alpha", 0.5, 0.05, 0.015},
                 {"beckmann", "it.alpha", 0.2, 0.02, 0.03},
                 {"beckmann", "it.alpha", 0.5, 0.05, 0.015},
                 {"ggx", "it.eta", 0.3, 0.05, 0.015}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!todays_share(i))
            continue;
        arena a = {0};
        material_case c = {.name = "rough plastic", .parameters = {cases[i].parameter}, .requested = true};
        c.xml = arena_printf(&a,
                             "<bsdf type='roughplastic' id='it'><string name='distribution' "
                             "value='%s'/><float name='alpha' value='%g'/>"
                             "<float name='int_ior' value='1.5'/><float name='ext_ior' value='1'/></bsdf>",
                             cases[i].distribution, cases[i].alpha);
        material_probe p = material_probe_create(&c, ".");
        scene_eval *e = p.e;
        uint32_t at = e->scene->parameters.data[scene_eval_find(e, cases[i].parameter)].offset;
        double low[DERIVED], most = 0, off = 0, value = e->values[at];
        e->tangent[at] = 1;
        run(e, RENDER_FORWARD);
        e->values[at] = value - cases[i].step;
        run(e, RENDER_PRIMAL);
        memcpy(low, derived_of(e, e->values), sizeof low);
        e->values[at] = value + cases[i].step;
        run(e, RENDER_PRIMAL);
        const double *high = derived_of(e, e->values), *slope = derived_of(e, e->tangent);
        for (int k = 0; k < DERIVED; k++)
            most = fmax(most, fabs(high[k] - low[k]) / (2 * cases[i].step));
        for (int k = 0; k < DERIVED; k++) {
            double difference = (high[k] - low[k]) / (2 * cases[i].step);
            off = fmax(off, fabs(slope[k] - difference) / most);
            if (!(fabs(slope[k] - difference) <= cases[i].tolerance * most))
                fail_msg("case %u, value %d: derivative %.6g, differences %.6g, the largest %.6g", i, k,
                         slope[k], difference, most);
        }
        print_message("%s, alpha %g, derivatives by %s: off by %.2g of the largest\n", cases[i].distribution,
                      cases[i].alpha, cases[i].parameter, off);
        material_probe_destroy(&p);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_known),
                                       cmocka_unit_test(inner_reflectance_is_the_mean),
                                       cmocka_unit_test(tables_have_their_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
