/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fresnel coefficients against values that are exact and against the textbook's complex form, in the
 * interpreter, f64; and f32 where a value must be hit exactly. The derivative of the perfect mirror, where a
 * careless form has 0 or NaN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/bsdf/fresnel.h"
#include "spirv_gen/ad/ad.h"
#include "support/traced_gradient.h"

#include <complex.h>

/* ---- traced ---- */

typedef enum kind { DIELECTRIC, CONDUCTOR } kind;

/* args: cos, eta (, k). results: the reflectance; of a dielectric the z of the refracted direction, too. */
static void evaluate(kind which, bool f64, const double args[3], double results[2])
{
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "fresnel");
    tracer t = {.f = f, .channels = 3};
    ir_ref p[3] = {{0}}, out[2];
    uint32_t count = which == CONDUCTOR ? 3 : 2;
    ir_value in[3], r[2];
    for (uint32_t k = 0; k < count; k++) {
        p[k] = ir_param(f, IR_F32);
        in[k].f = f64 ? args[k] : (double)(float)args[k];
    }
    if (which == CONDUCTOR) {
        out[0] = out[1] = fresnel_conductor(&t, p[0], p[1], p[2]);
    } else {
        fresnel at = fresnel_dielectric(&t, p[0], p[1]);
        out[0] = at.reflectance, out[1] = at.cos_t;
    }
    ir_return(f, out, 2);
    bl_error err = {0};
    m->entry = f;
    if (ir_finish(m, &err) != BL_OK || ir_eval(f, in, r, &(ir_eval_env){.f64 = f64}, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (int k = 0; k < 2; k++)
        results[k] = r[k].f;
    ir_module_destroy(m);
}

static double dielectric(double cos_i, double eta)
{
    double r[2];
    evaluate(DIELECTRIC, true, (double[3]){cos_i, eta, 0}, r);
    return r[0];
}

static double conductor(double cos_i, double eta, double k)
{
    double r[2];
    evaluate(CONDUCTOR, true, (double[3]){cos_i, eta, k}, r);
    return r[0];
}

static void expect(double value, double expected, double tolerance, const char *what, const double at[3])
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s(%g, %g, %g) = %.15g, expected %.15g", what, at[0], at[1], at[2], value, expected);
}

/* ---- the textbook ---- */

/* Both polarisations with a complex index on the other side of a surface in vacuum. */
static double textbook(double cos_i, double complex index)
{
    double complex inner = csqrt(index * index - (1 - cos_i * cos_i));
    double complex s = (cos_i - inner) / (cos_i + inner),
                   p = (index * index * cos_i - inner) / (index * index * cos_i + inner);
    return 0.5 * (creal(s * conj(s)) + creal(p * conj(p)));
}

static const double cosines[] = {1, 0.9, 0.6, 0.3, 0.05, 1e-3};
enum { COSINES = sizeof cosines / sizeof cosines[0] };

/* ---- tests ---- */

static void known_values(void **state)
{
    (void)state;
    expect(dielectric(1, 1.5), 0.04, 1e-15, "dielectric", (double[3]){1, 1.5, 0});
    expect(dielectric(-1, 1.5), 0.04, 1e-15, "dielectric", (double[3]){-1, 1.5, 0});
    expect(dielectric(1, 2), 1.0 / 9, 1e-15, "dielectric", (double[3]){1, 2, 0});
    double brewster = 1 / sqrt(1 + 1.5 * 1.5); /* r_p is 0, r_s is (eta^2 - 1) / (eta^2 + 1) */
    expect(dielectric(brewster, 1.5), 0.5 * (1.25 / 3.25) * (1.25 / 3.25), 1e-15,
           "dielectric at Brewster's angle", (double[3]){brewster, 1.5, 0});
    expect(conductor(1, 0.3, 3), (0.7 * 0.7 + 9) / (1.3 * 1.3 + 9), 1e-15, "conductor",
           (double[3]){1, 0.3, 3});
    expect(conductor(1, 1.5, 0), 0.04, 1e-15, "conductor", (double[3]){1, 1.5, 0});
}

static void whole_reflections_are_exactly_one(void **state)
{
    (void)state;
    double r[2];
    for (int f64 = 0; f64 < 2; f64++)
        for (int i = 0; i < COSINES; i++) {
            evaluate(CONDUCTOR, f64, (double[3]){cosines[i], 0, 1}, r);
            assert_true(r[0] == 1);
            if (cosines[i] < 0.7) { /* from inside, beyond the critical angle of 1.5, whose cosine is .745 */
                evaluate(DIELECTRIC, f64, (double[3]){-cosines[i], 1.5, 0}, r);
                assert_true(r[0] == 1 && r[1] == 0);
            }
            evaluate(DIELECTRIC, f64, (double[3]){cosines[i], 1, 0}, r); /* equal indices */
            assert_true(r[0] == 0);
            expect(r[1], -cosines[i], f64 ? 1e-12 : 1e-4, "straight on", (double[3]){cosines[i], 1, 0});
        }
    evaluate(DIELECTRIC, true, (double[3]){0, 1.5, 0}, r);
    assert_true(r[0] == 1);
    evaluate(CONDUCTOR, true, (double[3]){1, 0, 0}, r); /* nonsense, but a number */
    assert_true(r[0] >= 0 && r[0] <= 1);
}

static void agree_with_the_textbook(void **state)
{
    (void)state;
    static const double etas[] = {0.05, 0.3, 1.1, 1.5, 2.419}, ks[] = {0, 0.01, 1.3, 3, 8};
    for (int i = 0; i < COSINES; i++)
        for (int e = 0; e < 5; e++) {
            expect(dielectric(cosines[i], etas[e]), textbook(cosines[i], etas[e]), 1e-12, "dielectric",
                   (double[3]){cosines[i], etas[e], 0});
            expect(dielectric(-cosines[i], etas[e]), textbook(cosines[i], 1 / etas[e]), 1e-12, "dielectric",
                   (double[3]){-cosines[i], etas[e], 0});
            for (int k = 0; k < 5; k++)
                expect(conductor(cosines[i], etas[e], ks[k]), textbook(cosines[i], etas[e] + ks[k] * I),
                       1e-12, "conductor", (double[3]){cosines[i], etas[e], ks[k]});
        }
}

static void refraction_obeys_snell(void **state)
{
    (void)state;
    double r[2];
    for (int i = 0; i < COSINES; i++) {
        evaluate(DIELECTRIC, true, (double[3]){cosines[i], 1.5, 0}, r);
        expect(r[1], -cos(asin(sin(acos(cosines[i])) / 1.5)), 1e-12, "refracted",
               (double[3]){cosines[i], 1.5, 0});
        evaluate(DIELECTRIC, true, (double[3]){-cosines[i], 1 / 1.5, 0}, r);
        expect(r[1], cos(asin(sin(acos(cosines[i])) / 1.5)), 1e-12, "refracted from below",
               (double[3]){cosines[i], 1 / 1.5, 0});
    }
}

/* dF/deta of a conductor by reverse mode, at the parameters in a buffer of their own. */
static void conductor_slopes(double cos_i, double eta, double k, double slopes[2])
{
    ir_func *f = traced_gradient_create("slopes");
    tracer t = {.f = f, .channels = 3};
    ir_ref read[2];
    for (uint32_t i = 0; i < 2; i++)
        read[i] = ir_dload(f, TRACED_VALUES, t_u32(&t, i), t_u32(&t, i));
    ir_ref r = fresnel_conductor(&t, ir_f32(f, (float)cos_i), read[0], read[1]), one = ir_f32(f, 1);
    ad_backward(f, &r, &one, 1, NULL, NULL, 0);
    traced_gradient_run(f, (const double[2]){eta, k}, slopes, 2);
}

static void derivatives(void **state)
{
    (void)state;
    double s[2];
    conductor_slopes(1, 0, 1, s); /* F = ((eta - 1)^2 + k^2) / ((eta + 1)^2 + k^2) */
    expect(s[0], -2, 1e-14, "dF/deta of the perfect mirror", (double[3]){1, 0, 1});
    expect(s[1], 0, 1e-14, "dF/dk of the perfect mirror", (double[3]){1, 0, 1});
    static const double points[][3] = {
        {1, 0.3, 3}, {0.5, 1.2, 1.9}, {0.25, 2, 0.5}, {0.75, 0.5, 0.25}, {0.5, 1.5, 0}};
    for (int i = 0; i < 5; i++) {
        const double *p = points[i], h = 1e-6;
        conductor_slopes(p[0], p[1], p[2], s);
        expect(s[0], (textbook(p[0], p[1] + h + p[2] * I) - textbook(p[0], p[1] - h + p[2] * I)) / (2 * h),
               1e-8, "dF/deta", (double[3]){p[0], p[1], p[2]});
        expect(s[1],
               (textbook(p[0], p[1] + (p[2] + h) * I) - textbook(p[0], p[1] + (p[2] - h) * I)) / (2 * h),
               1e-8, "dF/dk", (double[3]){p[0], p[1], p[2]});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(whole_reflections_are_exactly_one),
        cmocka_unit_test(agree_with_the_textbook),
        cmocka_unit_test(refraction_obeys_snell),
        cmocka_unit_test(derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
