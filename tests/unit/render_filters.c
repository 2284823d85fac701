/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Reconstruction filters by importance sampling against exact convolution. The picture is a step edge: the
 * response of a pixel to an edge at distance e from its centre is the filter's integral up to e over the
 * whole one, here by quadrature of the filter's formula. Positions and weights come from evenly spaced
 * numbers, so what is compared has no noise. Moments to the second, too, and both axes. Near the border of a
 * window, what lies beyond it is left out of filter and normalisation (Mitsuba without `sample_border`). And
 * the values that splats take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_traced.h"

#include <math.h>

enum { NUMBERS = 1 << 13, STEPS = 1 << 14 };
static const double pi = 3.14159265358979323846;

/* ---- the filters' formulas (docs/mitsuba-semantics.md; Mitchell and Netravali 1988, equation 8) ---- */

static double box(double x) { return fabs(x) <= 0.5 ? 1 : 0; }
static double tent(double x) { return fmax(0, 1 - fabs(x)); }
static double wide_tent(double x) { return fmax(0, 1 - fabs(x) / 2.5); }
static double gaussian(double x) { return fmax(0, exp(-x * x / 0.5) - exp(-8.0)); }
static double narrow_gaussian(double x) { return fmax(0, exp(-x * x / 0.18) - exp(-8.0)); }

static double cubic(double x, double b, double c)
{
    x = fabs(x);
    if (x < 1)
        return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6;
    return x >= 2 ? 0
                  : ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x + 8 * b +
                     24 * c) /
                        6;
}
static double mitchell(double x) { return cubic(x, 1. / 3, 1. / 3); }
static double other_mitchell(double x) { return cubic(x, 0.2, 0.6); }
static double b_spline(double x) { return cubic(x, 1, 0); }
static double catmull_rom(double x) { return cubic(x, 0, 0.5); }

static double sinc(double x) { return x == 0 ? 1 : sin(pi * x) / (pi * x); }
static double lanczos(double x) { return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }
static double lanczos_5(double x) { return fabs(x) < 5 ? sinc(x) * sinc(x / 5) : 0; }
static double lanczos_1(double x) { return fabs(x) < 1 ? sinc(x) * sinc(x) : 0; }

static const struct {
    const char *xml;
    double (*value)(double x);
    double radius;
} filters[] = {
    {"<rfilter type='box'/>", box, 0.5},
    {"<rfilter type='tent'/>", tent, 1},
    {"<rfilter type='tent'><float name='radius' value='2.5'/></rfilter>", wide_tent, 2.5},
    {"<rfilter type='gaussian'/>", gaussian, 2},
    {"<rfilter type='gaussian'><float name='stddev' value='.3'/></rfilter>", narrow_gaussian, 1.2},
    {"<rfilter type='mitchell'/>", mitchell, 2},
    {"<rfilter type='mitchell'><float name='B' value='.2'/><float name='C' value='.6'/></rfilter>",
     other_mitchell, 2},
    {"<rfilter type='mitchell'><float name='B' value='1'/><float name='C' value='0'/></rfilter>", b_spline,
     2},
    {"<rfilter type='catmullrom'/>", catmull_rom, 2},
    {"<rfilter type='lanczos'/>", lanczos, 3},
    {"<rfilter type='lanczos'><integer name='lobes' value='5'/></rfilter>", lanczos_5, 5},
    {"<rfilter type='lanczos'><integer name='lobes' value='1'/></rfilter>", lanczos_1, 1},
};

/* Integral of x^power times the filter, by the midpoint rule. */
static double integral_between(double (*value)(double), double from, double to, int power)
{
    double sum = 0, width = (to - from) / STEPS;
    for (int i = 0; i < STEPS; i++) {
        double x = from + (i + 0.5) * width;
        sum += pow(x, power) * value(x) * width;
    }
    return sum;
}

static double integral(double (*value)(double), double radius, double to, int power)
{
    return integral_between(value, -radius, to, power);
}

typedef struct drawn {
    double *x, *weight;
} drawn;

/* Offsets and weights along one axis; the other number stays. */
static drawn draw(arena *a, const char *xml, int along)
{
    loaded l = traced_load(arena_printf(a,
                                        "<scene version='3.0.0'><sensor type='perspective'><film "
                                        "type='hdrfilm'>%s</film></sensor></scene>",
                                        xml),
                           ".");
    traced f = traced_begin(&l, 2);
    ir_ref weight = t_f32(&f.t, 1);
    vec2 offset = ((const filter_class *)l.plan->filter->cls)
                      ->sample(&f.t, t_word(&f.t, t_u32(&f.t, 0), HEADER_FILTER), f.in[0], f.in[1], &weight);
    traced_end(&f, (ir_ref[3]){offset.x, offset.y, weight}, 3);
    drawn d = {arena_alloc(a, NUMBERS * sizeof(double)), arena_alloc(a, NUMBERS * sizeof(double))};
    for (int i = 0; i < NUMBERS; i++) {
        double in[2] = {0.5, 0.5}, out[3],
               middle[3]; /* 0.5 is in the middle lobe, whose weight is divided out */
        traced_run(&f, &l, true, in, middle);
        in[along] = (i + 0.5) / NUMBERS;
        traced_run(&f, &l, true, in, out);
        d.x[i] = out[along], d.weight[i] = out[2] / sqrt(middle[2]);
    }
    ir_module_destroy(f.module);
    traced_unload(&l);
    return d;
}

static void expect(const char *xml, const char *what, double at, double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s: %s %g: %.9g, expected %.9g +- %g", xml, what, at, got, wanted, tolerance);
}

static void convolution(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof filters / sizeof *filters; k++) {
        double radius = filters[k].radius, whole = integral(filters[k].value, radius, radius, 0);
        for (int along = 0; along < 2; along++) {
            arena a = {0};
            drawn d = draw(&a, filters[k].xml, along);
            for (int power = 0; power <= 2; power++) {
                double sum = 0, size = 0;
                for (int i = 0; i < NUMBERS; i++) {
                    sum += pow(d.x[i], power) * d.weight[i] / NUMBERS;
                    size = fmax(size, fabs(d.x[i]));
                }
                assert_true(size <= radius * (1 + 1e-6));
                expect(filters[k].xml, "moment", power, sum,
                       integral(filters[k].value, radius, radius, power) / whole,
                       4e-4 * (1 + radius * radius)); /* cells have a width */
            }
            for (double edge = -radius; edge < radius; edge += radius / 24) {
                double sum = 0;
                for (int i = 0; i < NUMBERS; i++)
                    sum += d.x[i] < edge ? d.weight[i] / NUMBERS : 0;
                expect(filters[k].xml, "edge at", edge, sum,
                       integral(filters[k].value, radius, edge, 0) / whole, 5e-4);
            }
            arena_free(&a);
        }
    }
}

static void windows(void **state)
{
    (void)state;
    enum { SIZE = 3 };
    for (size_t k = 1; k < sizeof filters / sizeof *filters; k++) {
        arena a = {0};
        double radius = filters[k].radius;
        loaded l = traced_load(arena_printf(&a,
                                            "<scene version='3.0.0'><sensor type='perspective'><film "
                                            "type='hdrfilm'>%s</film></sensor></scene>",
                                            filters[k].xml),
                               ".");
        const filter_class *cls = (const filter_class *)l.plan->filter->cls;
        for (uint32_t at = 0; at < SIZE; at++) {
            traced f = traced_begin(&l, 1);
            ir_ref weight = t_f32(&f.t, 1), record = t_word(&f.t, t_u32(&f.t, 0), HEADER_FILTER),
                   half = t_f32(&f.t, 0.5f), middle = weight;
            cls->sample(&f.t, record, half, half, &middle);
            window_axis pixel = {t_u32(&f.t, at), t_u32(&f.t, SIZE)};
            ir_ref u = filter_within(&f.t, cls, record, pixel, f.in[0], &weight);
            vec2 offset = cls->sample(&f.t, record, u, half, &weight);
            traced_end(&f, (ir_ref[3]){offset.x, weight, middle}, 3);
            double from = fmax(-radius, -(at + 0.5)), to = fmin(radius, SIZE - at - 0.5), sums[2] = {0};
            for (int i = 0; i < NUMBERS; i++) {
                double in = (i + 0.5) / NUMBERS, out[3];
                traced_run(&f, &l, true, &in, out);
                assert_true(out[0] > from - 1e-5 && out[0] < to + 1e-5);
                for (int power = 0; power < 2; power++)
                    sums[power] += pow(out[0], power) * out[1] / sqrt(out[2]) / NUMBERS;
            }
            for (int power = 0; power < 2; power++)
                expect(filters[k].xml, power ? "mean place in a window, pixel" : "weight in a window, pixel",
                       at, sums[power],
                       integral_between(filters[k].value, from, to, power) /
                           integral_between(filters[k].value, from, to, 0),
                       1.5e-3);
            ir_module_destroy(f.module);
        }
        traced_unload(&l);
        arena_free(&a);
    }
}

static void values(void **state)
{
    (void)state;
    for (size_t k = 1; k < sizeof filters / sizeof *filters; k++) {
        arena a = {0};
        loaded l = traced_load(arena_printf(&a,
                                            "<scene version='3.0.0'><sensor type='perspective'><film "
                                            "type='hdrfilm'>%s</film></sensor></scene>",
                                            filters[k].xml),
                               ".");
        const filter_class *cls = (const filter_class *)l.plan->filter->cls;
        assert_true(fabs(cls->radius(l.scene->filter) - filters[k].radius) < 1e-6);
        traced f = traced_begin(&l, 1);
        ir_ref value = cls->value(&f.t, t_word(&f.t, t_u32(&f.t, 0), HEADER_FILTER), f.in[0]);
        traced_end(&f, &value, 1);
        for (double x = 0; x < 1.2 * filters[k].radius; x += 0.0123) {
            double out, middle, zero = 0;
            traced_run(&f, &l, true, &zero, &middle);
            traced_run(&f, &l, true, &x, &out);
            expect(filters[k].xml, "value at", x, out / middle, filters[k].value(x) / filters[k].value(0),
                   2e-5);
        }
        ir_module_destroy(f.module);
        traced_unload(&l);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolution), cmocka_unit_test(windows),
                                       cmocka_unit_test(values)};
    return cmocka_run_group_tests_name("filters", tests, NULL, NULL);
}
