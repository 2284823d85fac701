/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Stokes vectors, Mueller matrices and Fresnel's equations with polarisation, in the interpreter, f64,
 * against closed forms: Malus, wave plates, Brewster's angle, a Fresnel rhomb, a pane between crossed
 * polarisers. No matrix makes light, or light that is polarised by more than all of it. Derivatives against
 * differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/bsdf/fresnel.h"
#include "render/polarization/polarization.h"
#include "spirv_gen/ad/ad.h"
#include "support/scene_cases.h"
#include "support/traced_gradient.h"

#include <complex.h>

enum { ARGS_MOST = 12 };
static const double pi = 3.14159265358979323846;

typedef struct matrix {
    double m[4][4];
} matrix;

/* What is traced: a matrix from numbers. */
typedef mueller traced_matrix(tracer *t, const ir_ref *args);

static void record(ir_func *f, traced_matrix *body, uint32_t count, bool read, ir_ref out[16])
{
    tracer t = {.f = f, .channels = 3};
    ir_ref args[ARGS_MOST];
    for (uint32_t k = 0; k < count; k++)
        args[k] = read ? ir_dload(f, TRACED_VALUES, ir_u32(f, k), ir_u32(f, k)) : ir_param(f, IR_F32);
    mueller r = body(&t, args);
    for (int k = 0; k < 16; k++)
        out[k] = ir_is_none(r.m[k / 4][k % 4]) ? ir_f32(f, 0) : r.m[k / 4][k % 4];
}

static matrix run(traced_matrix *body, const double *args, uint32_t count)
{
    ir_module *m = ir_module_create();
    ir_ref out[16];
    ir_func *f = m->entry = ir_func_create(m, "matrix");
    record(f, body, count, false, out);
    ir_return(f, out, 16);
    ir_value in[ARGS_MOST], results[16];
    for (uint32_t k = 0; k < count; k++)
        in[k].f = args[k];
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_eval(f, in, results, &(ir_eval_env){.f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
    matrix r;
    for (int k = 0; k < 16; k++)
        r.m[k / 4][k % 4] = results[k].f;
    ir_module_destroy(m);
    return r;
}
#define RUN(body, ...)                                                                                       \
    run(body, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* By each argument, the derivative of the sum of the entries, each with its weight. */
static void slopes(traced_matrix *body, const double *args, uint32_t count, const double weights[16],
                   double *result)
{
    ir_ref out[16], seeds[16];
    ir_func *f = traced_gradient_create("matrix");
    record(f, body, count, true, out);
    for (int k = 0; k < 16; k++)
        seeds[k] = ir_f32(f, (float)weights[k]);
    ad_backward(f, out, seeds, 16, NULL, NULL, 0);
    traced_gradient_run(f, args, result, count);
}

/* ---- the same in C ---- */

static void apply(const matrix *a, const double in[4], double out[4])
{
    for (int i = 0; i < 4; i++) {
        out[i] = 0;
        for (int k = 0; k < 4; k++)
            out[i] += a->m[i][k] * in[k];
    }
}

static void expect(double value, double expected, double tolerance, const char *what, double at)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s at %g: %.15g, expected %.15g", what, at, value, expected);
}

static void expect_matrix(const matrix *a, const matrix *b, double tolerance, const char *what, double at)
{
    for (int k = 0; k < 16; k++)
        if (!(fabs(a->m[k / 4][k % 4] - b->m[k / 4][k % 4]) <= tolerance))
            fail_msg("%s at %g, entry (%d, %d): %.15g, expected %.15g", what, at, k / 4, k % 4,
                     a->m[k / 4][k % 4], b->m[k / 4][k % 4]);
}

/* The matrix of amplitudes that do not mix: s along x, p across (Collett, Field Guide, Fresnel's equations).
 */
static matrix of_amplitudes(double complex s, double complex p, double factor)
{
    double ss = creal(s * conj(s)), pp = creal(p * conj(p));
    double complex sp = s * conj(p);
    double a = factor * (ss + pp) / 2, b = factor * (ss - pp) / 2, c = factor * creal(sp),
           d = factor * cimag(sp);
    return (matrix){{{a, b, 0, 0}, {b, a, 0, 0}, {0, 0, c, d}, {0, 0, -d, c}}};
}

/* ---- what is traced ---- */

static mueller turned_polarizer(tracer *t, const ir_ref *a)
{
    mueller m = mueller_linear_polarizer(t);
    return mueller_turned(t, &m, a[0]);
}

static mueller turned_retarder(tracer *t, const ir_ref *a)
{
    mueller m = mueller_linear_retarder(t, a[1]);
    return mueller_turned(t, &m, a[0]);
}

static mueller circular(tracer *t, const ir_ref *a)
{
    return mueller_circular_polarizer(t, ir_gt(t->f, a[0], t_f32(t, 0)));
}

static mueller reflection(tracer *t, const ir_ref *a) { return specular_reflection(t, a[0], a[1]); }
static mueller transmission(tracer *t, const ir_ref *a) { return specular_transmission(t, a[0], a[1]); }
static mueller metal(tracer *t, const ir_ref *a)
{
    return specular_reflection_conductor(t, a[0], a[1], a[2]);
}

/* A polariser at a[0], then a retarder at a[1] that delays by a[2], an absorber, a polariser at a[3]. */
static mueller bench(tracer *t, const ir_ref *a)
{
    mueller first = turned_polarizer(t, a), plate = turned_retarder(t, a + 1), grey = mueller_absorber(a[4]),
            last = turned_polarizer(t, a + 3);
    first = mueller_mul(t, &plate, &first);
    first = mueller_mul(t, &grey, &first);
    return mueller_mul(t, &last, &first);
}

/* Of the direction a[0..2] from the basis a[3..5] to a[6..8]. */
static mueller rotation(tracer *t, const ir_ref *a)
{
    return stokes_rotation(t, vec3_at(a), vec3_at(a + 3), vec3_at(a + 6));
}

/* A retarder between bases turned by the angles a[0] and a[1] about z, where light goes. */
static mueller retarder_between(tracer *t, const ir_ref *a)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 z = v3(zero, zero, one), x = v3(one, zero, zero);
    mueller m = mueller_linear_retarder(t, a[2]);
    stokes_side in = {z, v3(ir_cos(f, a[0]), ir_sin(f, a[0]), zero), x},
                out = {z, v3(ir_cos(f, a[1]), ir_sin(f, a[1]), zero), x};
    return mueller_between(t, &m, &in, &out);
}

/* ---- tests ---- */

static void polarizers_obey_malus(void **state)
{
    (void)state;
    for (double angle = -4; angle < 4; angle += 0.3) {
        matrix two = RUN(bench, 0.2, 0, 0, 0.2 + angle, 1);
        expect(two.m[0][0], 0.5 * cos(angle) * cos(angle), 1e-15, "Malus", angle);
        matrix one = RUN(turned_polarizer, angle);
        expect(one.m[0][0], 0.5, 1e-15, "a polariser alone", angle);
        expect(one.m[1][0], 0.5 * cos(2 * angle), 1e-15, "its light, s1", angle);
        expect(one.m[2][0], 0.5 * sin(2 * angle), 1e-15, "its light, s2", angle);
    }
}

static void wave_plates(void **state)
{
    (void)state;
    const double diagonal[4] = {1, 0, 1, 0};
    double out[4];
    matrix quarter = RUN(turned_retarder, 0, pi / 2), half = RUN(turned_retarder, 0.3, pi);
    apply(&quarter, diagonal, out);
    expect(out[3], -1, 1e-15, "a quarter wave makes left circular light", 45);
    expect(out[0], 1, 1e-15, "and keeps all of it", 45);
    const double along[4] = {1, 1, 0, 0};
    apply(&half, along, out); /* mirrors at its axis */
    expect(out[1], cos(1.2), 1e-15, "half a wave turns by twice the angle, s1", 0.3);
    expect(out[2], sin(1.2), 1e-15, "half a wave turns by twice the angle, s2", 0.3);
    /* A circular polariser: back from circular to linear by a quarter wave, a polariser, forth again. */
    const double unpolarized[4] = {1, 0, 0, 0};
    for (int left = 0; left < 2; left++) {
        double linear[4], around[4];
        matrix polarizer = RUN(turned_polarizer, pi / 4),
               plate = RUN(turned_retarder, left ? 0 : pi / 2, pi / 2);
        apply(&polarizer, unpolarized, linear);
        apply(&plate, linear, out);
        matrix direct = RUN(circular, left ? 1 : -1);
        apply(&direct, unpolarized, around);
        for (int k = 0; k < 4; k++)
            expect(around[k], out[k], 1e-15, "circular light", k);
        expect(around[3], left ? -0.5 : 0.5, 1e-15, "its hand", left);
        apply(&direct, around, out);
        expect(out[0], 0.5, 1e-15, "passes again", left);
        matrix other = RUN(circular, left ? -1 : 1);
        apply(&other, around, out);
        expect(out[0], 0, 1e-15, "and not the other one", left);
    }
    /* Light through a plate between crossed polarisers: sin^2(2 angle) sin^2(phase / 2) / 2. */
    for (double phase = 0; phase < 7; phase += 0.5) {
        matrix all = RUN(bench, 0, 0.4, phase, pi / 2, 1);
        double expected = 0.5 * pow(sin(0.8) * sin(phase / 2), 2);
        expect(all.m[0][0], expected, 1e-15, "a plate between crossed polarisers", phase);
    }
}

static uint32_t entries(const mueller *a)
{
    uint32_t count = 0;
    for (int k = 0; k < 16; k++)
        count += !ir_is_none(a->m[k / 4][k % 4]);
    return count;
}

/* What is known to be 0 or 1 adds no instructions. */
static void structure_is_kept(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "structure");
    tracer t = {.f = f, .channels = 3};
    ir_ref a[2] = {ir_param(f, IR_F32), ir_param(f, IR_F32)}, one = ir_f32(f, 1);
    mueller grey = mueller_depolarizer(a[0]), mirror = specular_reflection(&t, a[0], a[1]),
            identity = mueller_absorber(one);
    mueller both = mueller_mul(&t, &grey, &grey);
    assert_int_equal(entries(&both), 1);
    mueller before = mueller_mul(&t, &grey, &mirror), after = mueller_mul(&t, &mirror, &grey);
    assert_int_equal(entries(&before), 2); /* a row, which has two entries */
    assert_int_equal(entries(&after), 2);
    uint32_t count = f->inst.count;
    mueller left = mueller_mul(&t, &identity, &mirror), right = mueller_mul(&t, &mirror, &identity);
    assert_int_equal(f->inst.count, count);
    for (int k = 0; k < 16; k++)
        assert_true(ir_same(left.m[k / 4][k % 4], mirror.m[k / 4][k % 4]) &&
                    ir_same(right.m[k / 4][k % 4], mirror.m[k / 4][k % 4]));
    mueller picked = mueller_select(&t, ir_lt(f, a[0], a[1]), &grey, &identity);
    assert_int_equal(entries(&picked), 4);
    stokes light = {.s[0] = a[1]}, seen = mueller_apply(&t, &mirror, &light);
    assert_true(!ir_is_none(seen.s[0]) && !ir_is_none(seen.s[1]));
    assert_true(ir_is_none(seen.s[2]) && ir_is_none(seen.s[3]));
    mueller sum = mueller_add(&t, &grey, &identity), scaled = mueller_scale(&t, &grey, a[1]);
    assert_int_equal(entries(&sum), 4);
    assert_int_equal(entries(&scaled), 1);
    ir_module_destroy(m);
}

static void bases_change(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int i = 0; i < 50; i++) {
        double w[3], u[3], v[3], length = 0, along = 0;
        for (int k = 0; k < 3; k++)
            w[k] = 2 * scene_random(&seed) - 1, u[k] = 2 * scene_random(&seed) - 1, length += w[k] * w[k];
        for (int k = 0; k < 3; k++)
            w[k] /= sqrt(length), along += w[k] * u[k];
        length = 0;
        for (int k = 0; k < 3; k++)
            u[k] -= along * w[k], length += u[k] * u[k];
        for (int k = 0; k < 3; k++)
            u[k] /= sqrt(length);
        for (int k = 0; k < 3; k++)
            v[k] = w[(k + 1) % 3] * u[(k + 2) % 3] - w[(k + 2) % 3] * u[(k + 1) % 3];
        double angle = 7 * scene_random(&seed) - 3.5, x[3];
        for (int k = 0; k < 3; k++)
            x[k] = cos(angle) * u[k] + sin(angle) * v[k];
        matrix there = RUN(rotation, w[0], w[1], w[2], u[0], u[1], u[2], x[0], x[1], x[2]);
        double c = cos(2 * angle), s = sin(2 * angle);
        matrix expected = {{{1, 0, 0, 0}, {0, c, s, 0}, {0, -s, c, 0}, {0, 0, 0, 1}}};
        expect_matrix(&there, &expected, 1e-13, "rotation of a basis", angle);
        /* An element in a basis of its own is the element turned by the angle of that basis. */
        matrix between = RUN(retarder_between, angle, angle, 0.7), turned = RUN(turned_retarder, angle, 0.7);
        expect_matrix(&between, &turned, 1e-13, "an element between bases", angle);
    }
    /* Light that swings along x: seen in a basis at 45 degrees it has s2 = -1, whatever way back it has. */
    const double along[4] = {1, 1, 0, 0};
    double out[4];
    matrix in = RUN(retarder_between, pi / 4, pi / 4, 0), only = RUN(retarder_between, 0, pi / 4, 0);
    apply(&in, along, out);
    expect(out[1], 1, 1e-15, "there and back", 45);
    apply(&only, along, out);
    expect(out[2], 1, 1e-15, "what is along an axis at 45 degrees swings at 45 degrees", 45);
}

static mueller basis_of(tracer *t, const ir_ref *a)
{
    vec3 w = vec3_at(a), x = stokes_basis(t, w);
    mueller r = {.m = {{x.x, x.y, x.z}, {v3_dot(t, x, x), v3_dot(t, x, w)}}};
    return r;
}

/* Duff's frame, as in Mitsuba: along z the basis is x, along -z it is x, too. */
static void default_bases(void **state)
{
    (void)state;
    static const double cases[][6] = {
        {0, 0, 1, 1, 0, 0}, {0, 0, -1, 1, 0, 0}, {0.6, 0, 0.8, 0.8, 0, -0.6}, {0, 1, 0, 1, 0, 0}};
    for (int i = 0; i < 4; i++) {
        const double *c = cases[i];
        matrix b = RUN(basis_of, c[0], c[1], c[2]);
        for (int k = 0; k < 3; k++)
            expect(b.m[0][k], c[3 + k], 1e-14, "basis", i);
        expect(b.m[1][0], 1, 1e-14, "length", i);
        expect(b.m[1][1], 0, 1e-14, "across", i);
    }
}

static const double cosines[] = {1, 0.95, 0.7, 0.6, 0.3, 0.05, 1e-3};
enum { COSINES = sizeof cosines / sizeof cosines[0] };
static const double etas[] = {0.05, 0.7, 1, 1.1, 1.5, 2.419};
enum { ETAS = sizeof etas / sizeof etas[0] };

/* Amplitudes by their textbook forms; the field that decays under total reflection decays away from the
 * surface. */
static void interfaces_agree_with_the_textbook(void **state)
{
    (void)state;
    for (int e = 0; e < ETAS; e++)
        for (int i = 0; i < 2 * COSINES; i++) {
            double cosine = i < COSINES ? cosines[i] : -cosines[i - COSINES], c = fabs(cosine),
                   n = cosine > 0 ? etas[e] : 1 / etas[e], squared = 1 - (1 - c * c) / (n * n);
            double complex ct = squared >= 0 ? sqrt(squared) : -I * sqrt(-squared);
            double complex s = (c - n * ct) / (c + n * ct), p = (n * c - ct) / (n * c + ct);
            matrix r = RUN(reflection, cosine, etas[e]), expected = of_amplitudes(s, p, 1);
            expect_matrix(&r, &expected, 1e-12, "reflection", cosine);
            matrix through = RUN(transmission, cosine, etas[e]);
            double complex ts = 2 * c / (c + n * ct), tp = 2 * c / (n * c + ct);
            expected = of_amplitudes(ts, tp, squared > 0 ? n * creal(ct) / c : 0);
            expect_matrix(&through, &expected, 1e-12, "transmission", cosine);
            /* All light goes somewhere, in each of the two polarisations. */
            expect(r.m[0][0] + through.m[0][0], 1, 1e-12, "energy", cosine);
            expect(r.m[0][1] + through.m[0][1], 0, 1e-12, "energy, by polarisation", cosine);
        }
    static const double ks[] = {0, 0.01, 1.3, 3, 8};
    for (int e = 0; e < ETAS; e++)
        for (int i = 0; i < COSINES; i++)
            for (int k = 0; k < 5; k++) {
                double complex n = etas[e] - I * ks[k],
                               ct = csqrt(1 - (1 - cosines[i] * cosines[i]) / (n * n));
                if (ks[k] == 0 && cimag(ct) > 0)
                    ct = -ct;
                double complex s = (cosines[i] - n * ct) / (cosines[i] + n * ct),
                               p = (n * cosines[i] - ct) / (n * cosines[i] + ct);
                matrix r = RUN(metal, cosines[i], etas[e], ks[k]), expected = of_amplitudes(s, p, 1);
                expect_matrix(&r, &expected, 1e-11, "a conductor", cosines[i]);
            }
}

/* Entries (0, 0), (0, 1), (2, 2) and (2, 3) as Mitsuba 3.9.1 has them (mitsuba.mueller, variant
 * llvm_ad_mono_polarized; the metal as the index 0.3 - 3i): the signs of phases are a convention. */
static void signs_are_those_of_mitsuba(void **state)
{
    (void)state;
    static const double expected[][4] = {{0.064525, 0.063565, -0.011089, 0},
                                         {1, 0, 0.706667, -0.707547},
                                         {0.882943, 0.0503109, -0.697866, -0.538554},
                                         {0.935475, -0.063565, 0.933313, 0},
                                         {1, 0, 0.955336, 0.29552}};
    matrix got[] = {RUN(reflection, 0.6, 1.5), RUN(reflection, -0.6, 1.5), RUN(metal, 0.6, 0.3, 3),
                    RUN(transmission, 0.6, 1.5), RUN(turned_retarder, 0, 0.3)};
    for (int i = 0; i < 5; i++) {
        const double entry[4] = {got[i].m[0][0], got[i].m[0][1], got[i].m[2][2], got[i].m[2][3]};
        for (int k = 0; k < 4; k++)
            expect(entry[k], expected[i][k], 2e-6, "as in Mitsuba", i);
    }
}

static mueller unpolarized(tracer *t, const ir_ref *a)
{
    mueller r = {
        .m = {{fresnel_dielectric(t, a[0], a[1]).reflectance, fresnel_conductor(t, a[0], a[1], a[2])}}};
    return r;
}

static void energy_is_that_of_unpolarized_light(void **state)
{
    (void)state;
    for (int e = 0; e < ETAS; e++)
        for (int i = 0; i < 2 * COSINES; i++) {
            double cosine = i < COSINES ? cosines[i] : -cosines[i - COSINES];
            matrix plain = RUN(unpolarized, cosine, etas[e], 2.3), r = RUN(reflection, cosine, etas[e]);
            expect(r.m[0][0], plain.m[0][0], 1e-13, "reflectance", cosine);
            if (cosine > 0) {
                r = RUN(metal, cosine, etas[e], 2.3);
                expect(r.m[0][0], plain.m[0][1], 1e-13, "reflectance of a conductor", cosine);
            }
        }
    matrix mirror = RUN(metal, 0.3, 0, 1); /* the perfect one keeps polarised light, too */
    expect(mirror.m[0][0], 1, 1e-15, "a perfect mirror", 0.3);
    expect(mirror.m[0][1], 0, 1e-15, "a perfect mirror, by polarisation", 0.3);
    const double right[4] = {1, 0, 0, 1};
    double out[4];
    mirror = RUN(metal, 1, 0, 1);
    apply(&mirror, right, out);
    expect(out[3], -1, 1e-15, "a mirror makes right circular light left", 1);
}

static void brewster(void **state)
{
    (void)state;
    const double light[4] = {1, 0, 0, 0};
    double out[4], cosine = 1 / sqrt(1 + 1.5 * 1.5);
    matrix r = RUN(reflection, cosine, 1.5);
    apply(&r, light, out);
    expect(out[1] / out[0], 1, 1e-14, "what is reflected at Brewster's angle swings across the plane",
           cosine);
    expect(out[0], 0.5 * pow(1.25 / 3.25, 2), 1e-15, "and so much is", cosine);
    const double parallel[4] = {1, -1, 0, 0};
    apply(&r, parallel, out);
    expect(out[0], 0, 1e-15, "none of what swings in the plane", cosine);
}

/* Total reflection delays s against p by delta, tan(delta / 2) = cos sqrt(sin^2 - 1 / n^2) / sin^2 (Born and
 * Wolf 1.5.4). Two of them at the right angle are a quarter wave. */
static void fresnel_rhomb(void **state)
{
    (void)state;
    double n = 1.51, low = asin(1 / n), high = asin(sqrt(2 / (n * n + 1))); /* where delta is largest */
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high), s = sin(middle);
        double delta = 2 * atan(cos(middle) * sqrt(s * s - 1 / (n * n)) / (s * s));
        *(delta < pi / 4 ? &low : &high) = middle;
    }
    matrix r = RUN(reflection, -cos(low), n);
    const double diagonal[4] = {1, 0, 1, 0};
    double once[4], twice[4];
    apply(&r, diagonal, once);
    expect(fabs(once[3]), sqrt(0.5), 1e-12, "one reflection, an eighth of a wave", low);
    apply(&r, once, twice);
    expect(fabs(twice[3]), 1, 1e-12, "a Fresnel rhomb makes circular light", low);
    expect(twice[0], 1, 1e-12, "and loses none", low);
}

/* Polarisers at 45 and at -45 degrees to the plane of incidence, and a pane between: ts and tp are the
 * amplitudes through both of its faces. A quarter of (ts - tp)^2 passes, and half of the light is lost first.
 */
static void pane_between_crossed_polarizers(void **state)
{
    (void)state;
    const double light[4] = {1, 0, 0, 0};
    for (int i = 0; i < COSINES; i++) {
        double c = cosines[i], inside = sqrt(1 - (1 - c * c) / 2.25), out[4], next[4];
        matrix first = RUN(turned_polarizer, pi / 4), into = RUN(transmission, c, 1.5),
               from = RUN(transmission, -inside, 1.5), last = RUN(turned_polarizer, -pi / 4);
        apply(&first, light, out), apply(&into, out, next), apply(&from, next, out), apply(&last, out, next);
        double ts = 4 * c * 1.5 * inside / pow(c + 1.5 * inside, 2),
               tp = 4 * c * 1.5 * inside / pow(1.5 * c + inside, 2);
        expect(next[0], 0.125 * (ts - tp) * (ts - tp), 1e-12, "a pane between crossed polarisers", c);
    }
}

/* Nothing makes light, or more polarised light than there is light. */
static void matrices_are_physical(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int i = 0; i < 300; i++) {
        double u[6], direction[3], length = 0;
        for (int k = 0; k < 6; k++)
            u[k] = scene_random(&seed);
        matrix element[] = {RUN(reflection, 2 * u[0] - 1, 0.5 + 2 * u[1]),
                            RUN(transmission, 2 * u[0] - 1, 0.5 + 2 * u[1]),
                            RUN(metal, u[0], 3 * u[1], 5 * u[2]),
                            RUN(turned_retarder, 7 * u[0], 7 * u[1]),
                            RUN(circular, u[0] - 0.5),
                            RUN(bench, u[0], 3 * u[1], 7 * u[2], 3 * u[3], u[4])};
        for (int k = 0; k < 3; k++)
            direction[k] = scene_random(&seed) - 0.5, length += direction[k] * direction[k];
        double degree = i % 2 ? 1 : u[5], in[4] = {1}, out[4];
        for (int k = 0; k < 3; k++)
            in[1 + k] = degree * direction[k] / sqrt(length);
        for (size_t e = 0; e < sizeof element / sizeof *element; e++) {
            apply(&element[e], in, out);
            double polarized = sqrt(out[1] * out[1] + out[2] * out[2] + out[3] * out[3]);
            if (!(out[0] >= -1e-12 && out[0] <= 1 + 1e-12 && polarized <= out[0] + 1e-12))
                fail_msg("element %zu makes (%g, %g, %g, %g) of (1, %g, %g, %g)", e, out[0], out[1], out[2],
                         out[3], in[1], in[2], in[3]);
        }
    }
}

static void check_slopes(traced_matrix *body, const double *at, uint32_t count, const char *what)
{
    double weights[16], got[ARGS_MOST];
    uint32_t seed = 3;
    for (int k = 0; k < 16; k++)
        weights[k] = (double)(float)(scene_random(&seed) - 0.3);
    slopes(body, at, count, weights, got);
    for (uint32_t k = 0; k < count; k++) {
        double ends[2], h = 1e-6;
        for (int side = 0; side < 2; side++) {
            double moved[ARGS_MOST];
            memcpy(moved, at, count * sizeof *at);
            moved[k] += side ? h : -h;
            matrix m = run(body, moved, count);
            ends[side] = 0;
            for (int i = 0; i < 16; i++)
                ends[side] += weights[i] * m.m[i / 4][i % 4];
        }
        expect(got[k], (ends[1] - ends[0]) / (2 * h), 1e-7 * (1 + fabs(got[k])), what, k);
    }
}
#define SLOPES(body, ...)                                                                                    \
    check_slopes(body, (const double[]){__VA_ARGS__},                                                        \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double), #body " at " #__VA_ARGS__)

static void derivatives(void **state)
{
    (void)state;
    SLOPES(bench, 0.2, 0.9, 1.3, -0.4, 0.7);
    SLOPES(turned_retarder, 0, 0);
    SLOPES(reflection, 0.7, 1.5);
    SLOPES(reflection, -0.9, 1.5);
    SLOPES(reflection, -0.5, 1.5); /* total reflection */
    SLOPES(reflection, 0.5, 0.6);
    SLOPES(transmission, 0.7, 1.5);
    SLOPES(transmission, -0.9, 1.5);
    SLOPES(transmission, -0.5, 1.5);
    SLOPES(metal, 0.6, 0.3, 3);
    SLOPES(metal, 0.25, 2, 0.5);
    SLOPES(metal, 0.5, 0.01, 1);
    SLOPES(retarder_between, 0.3, -0.4, 0.8);
    SLOPES(rotation, 0, 0, 1, 1, 0, 0, 1, 0, 0); /* where bases agree */
    SLOPES(rotation, 0, 0, 1, 1, 0, 0, 0.6, 0.8, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polarizers_obey_malus),
        cmocka_unit_test(wave_plates),
        cmocka_unit_test(structure_is_kept),
        cmocka_unit_test(bases_change),
        cmocka_unit_test(default_bases),
        cmocka_unit_test(interfaces_agree_with_the_textbook),
        cmocka_unit_test(signs_are_those_of_mitsuba),
        cmocka_unit_test(energy_is_that_of_unpolarized_light),
        cmocka_unit_test(brewster),
        cmocka_unit_test(fresnel_rhomb),
        cmocka_unit_test(pane_between_crossed_polarizers),
        cmocka_unit_test(matrices_are_physical),
        cmocka_unit_test(derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
