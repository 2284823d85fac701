/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Phase functions alone, in the interpreter (f64): formulas at known angles, an integral of one over the
 * sphere, reciprocity, and that samples follow the density that is claimed (chi-square over cosine and
 * azimuth). With and without gradients wanted, which changes how some sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/classes.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

static const double pi = 3.14159265358979323846;

typedef struct phase_case {
    const char *name, *xml;
    const char *parameter;             /* one whose gradient can be wanted; NULL: none */
    double (*expected)(double cosine); /* between the directions in which light travels before and after */
    double (*general)(const double wi[3], const double wo[3]); /* or this */
    double (*area)(const double wi[3]); /* the value times this is reciprocal; NULL: 1 */
} phase_case;

static double isotropic(double cosine) { return 1 / (4 * pi) + 0 * cosine; }
static double hg(double g, double cosine)
{
    return (1 - g * g) / (4 * pi * pow(1 + g * g - 2 * g * cosine, 1.5));
}
static double hg_forward(double cosine) { return hg(0.7, cosine); }
static double hg_back(double cosine) { return hg(-0.5, cosine); }
static double hg_small(double cosine) { return hg(5e-4, cosine); }
static double rayleigh(double cosine) { return 3 * (1 + cosine * cosine) / (16 * pi); }
static double blend(double cosine) { return 0.3 * hg(-0.5, cosine) + 0.7 * rayleigh(cosine); }
static double nested(double cosine) { return 0.25 * isotropic(cosine) + 0.75 * blend(cosine); }
/* 1, 2, 0, 6 at -1, -1/3, 1/3, 1: areas 1, 2/3, 2 */
static double table(double cosine)
{
    static const double values[4] = {1, 2, 0, 6};
    double x = (cosine + 1) * 1.5;
    int k = x >= 3 ? 2 : (int)x;
    return (values[k] + (x - k) * (values[k + 1] - values[k])) / (2 * pi * 11 / 3);
}

/* w' A w of the flakes' matrix, and of its inverse (by elimination); the determinant of it */
static double flakes_form(const double w[3])
{
    const float *m = scene_flakes;
    return (double)m[0] * w[0] * w[0] + (double)m[1] * w[1] * w[1] + (double)m[2] * w[2] * w[2] +
           2 * ((double)m[3] * w[0] * w[1] + (double)m[4] * w[0] * w[2] + (double)m[5] * w[1] * w[2]);
}
static double flakes_inverse_form(const double w[3], double *determinant)
{
    const float *m = scene_flakes;
    double a[3][4] = {{(double)m[0], (double)m[3], (double)m[4], w[0]},
                      {(double)m[3], (double)m[1], (double)m[5], w[1]},
                      {(double)m[4], (double)m[5], (double)m[2], w[2]}};
    *determinant = 1;
    for (int k = 0; k < 3; k++) {
        *determinant *= a[k][k];
        for (int r = 0; r < 3; r++)
            for (int c = 3; r != k && c >= k; c--)
                a[r][c] -= a[k][c] * a[r][k] / a[k][k];
    }
    return w[0] * a[0][3] / a[0][0] + w[1] * a[1][3] / a[1][1] + w[2] * a[2][3] / a[2][2];
}
static double flakes_area(const double w[3]) { return sqrt(flakes_form(w)); }
static double flakes_value(const double wi[3], const double wo[3])
{
    double h[3] = {wi[0] + wo[0], wi[1] + wo[1], wi[2] + wo[2]},
           length = sqrt(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]), determinant;
    for (int k = 0; k < 3; k++)
        h[k] /= length;
    double inverse = flakes_inverse_form(h, &determinant);
    return 1 / (pi * sqrt(determinant) * inverse * inverse) / (4 * flakes_area(wi));
}

#define BLEND                                                                                                \
    "<phase type='blendphase'><float name='weight' value='.3'/><phase type='rayleigh'/><phase "              \
    "type='hg'><float name='g' value='-.5'/></phase></phase>"
static const phase_case cases[] = {
    {"isotropic", "<phase type='isotropic'/>", NULL, isotropic, NULL, NULL},
    {"none named", "", NULL, isotropic, NULL, NULL},
    {"hg", "<phase type='hg'><float name='g' value='.7'/></phase>", "fog.phase_function.g", hg_forward, NULL,
     NULL},
    {"hg backwards", "<phase type='hg'><float name='g' value='-.5'/></phase>", "fog.phase_function.g",
     hg_back, NULL, NULL},
    {"hg nearly isotropic", "<phase type='hg'><float name='g' value='5e-4'/></phase>", NULL, hg_small, NULL,
     NULL},
    {"rayleigh", "<phase type='rayleigh'/>", NULL, rayleigh, NULL, NULL},
    {"blend", BLEND, "fog.phase_function.weight.value.value", blend, NULL, NULL},
    {"blend in blend",
     "<phase type='blendphase'><float name='weight' value='.75'/><phase type='isotropic'/>" BLEND "</phase>",
     "fog.phase_function.phase_1.phase_1.g", nested, NULL, NULL},
    {"table", "<phase type='tabphase'><string name='values' value='1, 2, 0, 6'/></phase>",
     "fog.phase_function.values", table, NULL, NULL},
    {"flakes",
     "<phase type='sggx'><volume type='gridvolume' name='S'><string name='filename' "
     "value='flakes.vol'/></volume></phase>",
     "fog.phase_function.S.data", NULL, flakes_value, flakes_area},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct probe {
    const phase_case *what;
    scene_eval *e;
    ir_module *module;
    ir_func *f; /* wi 3, wo 3, u 3 -> value, pdf, sample 3 */
} probe;

static char *folder;

static probe open_probe(const phase_case *c, bool wanted)
{
    arena a = {0};
    bl_error err = {0};
    probe s = {.what = c, .module = ir_module_create()};
    scene_case room = {
        .body = arena_printf(&a,
                             "<medium type='homogeneous' id='fog'>%s</medium><shape "
                             "type='sphere'><ref id='fog' name='interior'/>"
                             "</shape><emitter type='constant'/>",
                             c->xml),
        .volumetric = true,
    };
    s.e = scene_eval_create(scene_case_xml(&a, &room, 2, 4, 4), folder, &c->parameter, wanted);
    if (scene_eval_tables(s.e, true, &err) != BL_OK)
        fail_msg("%s: %s", c->name, err.text);
    const plan *p = s.e->plan;
    uint32_t medium = p->words.data[HEADER_MEDIA], record = p->words.data[medium + MEDIUM_PHASE_RECORD];
    const class_node *n = p->phases.data[p->words.data[medium + MEDIUM_PHASE_CLASS]];
    ir_buffer_add(s.module, "scene", true, -1), ir_buffer_add(s.module, "values", true, -1);
    tracer t = plan_tracer(p, s.f = ir_func_create(s.module, "phase"));
    ir_ref in[9], at = t_u32(&t, record);
    for (int k = 0; k < 9; k++)
        in[k] = ir_param(t.f, IR_F32);
    vec3 wi = v3(in[0], in[1], in[2]), wo = v3(in[3], in[4], in[5]),
         place = v3(t_f32(&t, 0.2f), t_f32(&t, 0.1f), t_f32(&t, 0));
    vec3 sample = phase_of(n)->sample(&t, n, at, wi, place, in + 6);
    ir_ref out[5] = {phase_of(n)->value(&t, n, at, wi, wo, place), phase_of(n)->pdf(&t, n, at, wi, wo, place),
                     sample.x, sample.y, sample.z};
    ir_return(t.f, out, 5);
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s: %s", c->name, err.text);
    arena_free(&a);
    return s;
}

static void close_probe(probe *s)
{
    ir_module_destroy(s->module);
    scene_eval_destroy(s->e);
}

static void ask(const probe *s, const double wi[3], const double wo[3], const double u[3], double out[5])
{
    ir_value in[9], results[5];
    bl_error err = {0};
    for (int k = 0; k < 3; k++)
        in[k].f = wi[k], in[3 + k].f = wo[k], in[6 + k].f = u[k];
    ir_eval_buffer buffers[2] = {{.words = s->e->plan->words.data, .count = s->e->plan->words.count},
                                 {.reals = s->e->values, .count = s->e->plan->value_count}};
    if (ir_eval(s->f, in, results, &(ir_eval_env){.buffers = buffers, .buffer_count = 2, .f64 = true},
                &err) != BL_OK)
        fail_msg("%s: %s", s->what->name, err.text);
    for (int k = 0; k < 5; k++)
        out[k] = results[k].f;
}

static const double wi[3] = {0.48, -0.6, 0.64}, origin[3] = {0.5, 0.5, 0.5};

/* The unit vector with this cosine to -wi, which is where light goes on to, and this azimuth around it. */
static void onward(double cosine, double azimuth, double out[3])
{
    static const double s[3] = {0.8, 0, -0.6},
                        t[3] = {0.36, 0.8, 0.48}; /* perpendicular to wi and to each other */
    double r = sqrt(fmax(1 - cosine * cosine, 0));
    for (int k = 0; k < 3; k++)
        out[k] = -cosine * wi[k] + r * (cos(azimuth) * s[k] + sin(azimuth) * t[k]);
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void values_are_right(void **state)
{
    probe s = open_probe(*state, false);
    double integral = 0, density = 0, out[5], other[5];
    enum { STEPS = 2000 };
    for (int k = 0; k < STEPS; k++) {
        double cosine = (k + 0.5) * 2 / STEPS - 1, wo[3];
        onward(cosine, 2.399963229728653 * k, wo); /* the golden angle: a spiral over the sphere */
        ask(&s, wi, wo, origin, out);
        ask(&s, wo, wi, origin, other);
        double expected = s.what->general ? s.what->general(wi, wo) : s.what->expected(cosine);
        double back = other[0] * (s.what->area ? s.what->area(wo) / s.what->area(wi) : 1);
        if (!(fabs(out[0] - expected) <= 1e-6 * (0.01 + out[0])) ||
            !(fabs(out[0] - back) <= 1e-7 * out[0] + 1e-9))
            fail_msg("%s at cosine %g: %g, the other way %g, expected %g", s.what->name, cosine, out[0], back,
                     expected);
        integral += out[0] * 4 * pi / STEPS, density += out[1] * 4 * pi / STEPS;
    }
    double tolerance = s.what->general ? 1e-3 : 1e-4; /* of the quadrature */
    if (!(fabs(integral - 1) <= tolerance && fabs(density - 1) <= tolerance))
        fail_msg("%s: integrals %g of the value, %g of the density", s.what->name, integral, density);
    close_probe(&s);
}

/* Chi-square, turned into a normal deviate by Wilson and Hilferty. */
static void samples_follow(const phase_case *c, bool wanted)
{
    enum { COSINES = 20, AZIMUTHS = 6, SAMPLES = 20000, FINE = 8 };
    probe s = open_probe(c, wanted);
    double count[COSINES][AZIMUTHS] = {0}, out[5], square = 0;
    uint32_t state = 5;
    for (int i = 0; i < SAMPLES; i++) {
        double u[3] = {scene_random(&state), scene_random(&state), scene_random(&state)}, x[3], y[3];
        ask(&s, wi, wi, u, out);
        double cosine = -dot(out + 2, wi);
        onward(0, 0, x), onward(0, pi / 2, y);
        double azimuth = atan2(dot(out + 2, y), dot(out + 2, x)) / (2 * pi) + 0.5;
        assert_true(fabs(dot(out + 2, out + 2) - 1) < 1e-6);
        int a = (int)((cosine + 1) / 2 * COSINES), b = (int)(azimuth * AZIMUTHS);
        count[a < COSINES ? a : COSINES - 1][b < AZIMUTHS ? b : AZIMUTHS - 1]++;
    }
    int cells = 0;
    for (int a = 0; a < COSINES * AZIMUTHS; a++) {
        double expected = 0, wo[3];
        for (int k = 0; k < FINE * FINE; k++) {
            double part = (a / AZIMUTHS + (k / FINE + 0.5) / FINE) / COSINES,
                   turn = (a % AZIMUTHS + (k % FINE + 0.5) / FINE) / AZIMUTHS;
            onward(2 * part - 1, 2 * pi * (turn - 0.5), wo);
            ask(&s, wi, wo, origin, out);
            expected += out[1] * 4 * pi / (COSINES * AZIMUTHS * FINE * FINE) * SAMPLES;
        }
        double difference = count[a / AZIMUTHS][a % AZIMUTHS] - expected;
        if (expected >= 5)
            square += difference * difference / expected, cells++;
    }
    double n = cells - 1, deviate = (cbrt(square / n) - (1 - 2 / (9 * n))) / sqrt(2 / (9 * n));
    if (!(deviate < 4.5) || cells < 20)
        fail_msg("%s%s: chi-square %g in %d cells", c->name, wanted ? ", gradient wanted" : "", square,
                 cells);
    close_probe(&s);
}

static void samples_follow_their_density(void **state)
{
    const phase_case *c = *state;
    samples_follow(c, false);
    if (c->parameter)
        samples_follow(c, true);
}

int main(void)
{
    struct CMUnitTest tests[2 * CASES];
    folder = scene_files_create();
    if (!folder)
        return 1;
    for (int i = 0; i < CASES; i++) {
        tests[2 * i] =
            (struct CMUnitTest){cases[i].name, values_are_right, NULL, NULL, (void *)(uintptr_t)&cases[i]};
        tests[2 * i + 1] = (struct CMUnitTest){cases[i].name, samples_follow_their_density, NULL, NULL,
                                               (void *)(uintptr_t)&cases[i]};
    }
    int failed = _cmocka_run_group_tests("phases", tests, 2 * CASES, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
