/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Materials with directions to choose, one at a time in the interpreter (f64):
 *
 *   samples    have the density that is claimed, by a chi-square test over the sphere, discrete lobes as often as they say; a sample's own
 *              density is the one that light sampling would be told;
 *   energy     value over density has a mean, the albedo, that is at most 1 (radiance that crosses is compressed by 1 / eta^2 more), for plastic
 *              that of a sum in closed form;
 *   reciprocity of the continuous value: f(wi, wo) / cos wo is the same both ways, across a surface with the squared index of its side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/classes.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

enum { SAMPLES = 30000, BINS_Z = 24, BINS_PHI = 12, BINS = BINS_Z * BINS_PHI, STEPS = 16, LOBES = 2 };
static const double pi = 3.14159265358979323846;

#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define FLOAT(name, value) "<float name='" name "' value='" value "'/>"
#define INDICES(inside) FLOAT("int_ior", inside) FLOAT("ext_ior", "1")
#define IT(type, inside) "<bsdf type='" type "' id='it'>" inside "</bsdf>"
#define ROUGH(type, kind, alpha, ior) IT(type, "<string name='distribution' value='" kind "'/>" FLOAT("alpha", alpha) INDICES(ior))

static const struct material {
    const char *name, *xml, *requested;
    double eta; /* index below the surface, of materials that transmit; else 1 */
    double cosines[3]; /* of wi; 0: none */
} materials[] = {
    {"diffuse", IT("diffuse", RGB("reflectance", ".9,.5,.1")), NULL, 1, {0.7}},
    {"plastic", IT("plastic", RGB("diffuse_reflectance", ".9,.5,.1") INDICES("1.6")), NULL, 1, {0.95, 0.2}},
    {"plastic, nonlinear, black", IT("plastic", RGB("diffuse_reflectance", "0") "<boolean name='nonlinear' value='true'/>"), NULL, 1, {0.5}},
    {"plastic, black, requested", IT("plastic", RGB("diffuse_reflectance", "0")), "it.diffuse_reflectance.value", 1, {0.5}},
    {"plastic, no coat, requested", IT("plastic", RGB("specular_reflectance", "0")), "it.specular_reflectance.value", 1, {0.5}},
    {"rough glass, ggx", ROUGH("roughdielectric", "ggx", ".4", "1.5"), NULL, 1.5, {0.9, 0.3, -0.8}},
    {"rough glass, beckmann", ROUGH("roughdielectric", "beckmann", ".3", "1.5"), NULL, 1.5, {0.8, -0.5}},
    {"rough glass, ggx, requested", ROUGH("roughdielectric", "ggx", ".4", "1.5"), "it.eta", 1.5, {0.9, -0.5}},
    {"rough bubble, ggx", ROUGH("roughdielectric", "ggx", ".5", ".7"), NULL, 0.7, {0.6, -0.6}},
    {"rough glass, all normals", IT("roughdielectric", "<boolean name='sample_visible' value='false'/><string name='distribution' value='GGX'/>"
     FLOAT("alpha", ".35")), NULL, 1.5046 / 1.000277, {0.7}},
};
enum { MATERIALS = sizeof materials / sizeof materials[0] };

/* ---- traced ---- */

typedef struct probe {
    const struct material *what;
    scene_eval *e;
    ir_module *module;
    ir_func *sample, *at; /* wi 3, u 3 -> wo 3, pdf, delta, lobe, eta; wi 3, wo 3, delta, lobe -> pdf, value 3 */
} probe;

static probe probe_create(const struct material *what)
{
    arena a = {0};
    probe s = {.what = what};
    scene_case c = {.body = arena_printf(&a, "%s<shape type='rectangle'><ref id='it'/></shape><emitter type='constant'/>", what->xml)};
    s.e = scene_eval_create(scene_case_xml(&a, &c, 2, 4, 4), ".", &what->requested, what->requested != NULL);
    bl_error err = {0};
    if (scene_eval_run(s.e, RENDER_PRIMAL, 0, 0, 0, 0, true, &err) != BL_OK) /* for derived values */
        fail_msg("%s", err.text);
    const plan *p = s.e->plan;
    uint32_t shape = p->words.data[HEADER_SHAPES], record = p->words.data[shape + SHAPE_BSDF_RECORD];
    const class_node *n = p->bsdfs.data[p->words.data[shape + SHAPE_BSDF_CLASS]];
    s.module = ir_module_create();
    ir_buffer_add(s.module, "scene", true, -1), ir_buffer_add(s.module, "values", true, -1);
    ir_ref in[8];
    tracer t = {.f = s.sample = ir_func_create(s.module, "sample"), .plan = p};
    for (int k = 0; k < 6; k++)
        in[k] = ir_param(t.f, IR_F32);
    vec2 uv = {t_f32(&t, 0.25f), t_f32(&t, 0.75f)};
    bsdf_sample r = bsdf_of(n)->sample(&t, n, t_u32(&t, record), v3(in[0], in[1], in[2]), uv, in[3], in[4], in[5]);
    ir_return(t.f, (ir_ref[]){r.wo.x, r.wo.y, r.wo.z, r.pdf, r.delta, r.lobe, r.eta}, 7);
    t.f = s.at = ir_func_create(s.module, "at");
    for (int k = 0; k < 6; k++)
        in[k] = ir_param(t.f, IR_F32);
    in[6] = ir_param(t.f, IR_BOOL), in[7] = ir_param(t.f, IR_U32);
    uv = (vec2){t_f32(&t, 0.25f), t_f32(&t, 0.75f)};
    vec3 wi = v3(in[0], in[1], in[2]), wo = v3(in[3], in[4], in[5]);
    color v = bsdf_of(n)->value(&t, n, t_u32(&t, record), wi, wo, uv, in[6], in[7]);
    ir_return(t.f, (ir_ref[]){bsdf_of(n)->pdf(&t, n, t_u32(&t, record), wi, wo, uv), v.c[0], v.c[1], v.c[2]}, 4);
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s: %s", what->name, err.text);
    arena_free(&a);
    return s;
}

static void probe_destroy(probe *s)
{
    ir_module_destroy(s->module);
    scene_eval_destroy(s->e);
}

static void run(const probe *s, ir_func *f, const ir_value *in, ir_value *out)
{
    const scene_eval *e = s->e;
    ir_eval_buffer buffers[2] = {{.words = e->plan->words.data, .count = e->plan->words.count}, {.reals = e->values, .count = e->plan->value_count}};
    bl_error err = {0};
    if (ir_eval(f, in, out, &(ir_eval_env){.buffers = buffers, .buffer_count = 2, .f64 = true}, &err) != BL_OK)
        fail_msg("%s: %s", s->what->name, err.text);
}

typedef struct values {
    double pdf, rgb[3];
} values;

static values value_at(const probe *s, const double wi[3], const double wo[3], bool delta, uint32_t lobe)
{
    ir_value in[8] = {{.f = wi[0]}, {.f = wi[1]}, {.f = wi[2]}, {.f = wo[0]}, {.f = wo[1]}, {.f = wo[2]}, {.b = delta}, {.u = lobe}}, out[4];
    run(s, s->at, in, out);
    return (values){out[0].f, {out[1].f, out[2].f, out[3].f}};
}

static void direction(double z, double phi, double out[3])
{
    double r = sqrt(fmax(1 - z * z, 0));
    out[0] = r * cos(phi), out[1] = r * sin(phi), out[2] = z;
}

/* ---- tests ---- */

/* Bins are equal in z and azimuth. The integral of the density over all of them is what the samples of continuous lobes add up to. */
static void expect_bins(const probe *s, const double wi[3], double expected[BINS])
{
    memset(expected, 0, BINS * sizeof *expected);
    for (int i = 0; i < BINS_Z * STEPS; i++)
        for (int k = 0; k < BINS_PHI * STEPS; k++) {
            double wo[3];
            direction(2 * (i + 0.5) / (BINS_Z * STEPS) - 1, 2 * pi * (k + 0.5) / (BINS_PHI * STEPS), wo);
            expected[i / STEPS * BINS_PHI + k / STEPS] += SAMPLES * 4 * pi / (BINS * STEPS * STEPS) * value_at(s, wi, wo, false, 0).pdf;
        }
}

static void one_angle(const probe *s, double cosine)
{
    static double expected[BINS];
    uint32_t seen[BINS] = {0}, discrete[LOBES] = {0}, random = 3, bins = 0, lost = 0;
    double wi[3], probability[LOBES] = {0}, albedo[3] = {0}, sum = 0, all = 0;
    direction(cosine, 0.4, wi);
    expect_bins(s, wi, expected);
    for (int k = 0; k < SAMPLES; k++) {
        ir_value in[6] = {{.f = wi[0]}, {.f = wi[1]}, {.f = wi[2]}, {.f = scene_random(&random)}, {.f = scene_random(&random)}, {.f = scene_random(&random)}}, out[7];
        run(s, s->sample, in, out);
        double wo[3] = {out[0].f, out[1].f, out[2].f}, pdf = out[3].f;
        if (!(pdf > 0)) {
            lost++;
            continue;
        }
        values v = value_at(s, wi, wo, out[4].b, out[5].u);
        if (!(fabs(wo[0] * wo[0] + wo[1] * wo[1] + wo[2] * wo[2] - 1) < 1e-6))
            fail_msg("%s, cosine %g: a direction of length other than 1", s->what->name, cosine);
        if (!(fabs(out[6].f - (wi[2] * wo[2] > 0 ? 1 : wi[2] > 0 ? s->what->eta : 1 / s->what->eta)) < 1e-6))
            fail_msg("%s, cosine %g: index %g along the sample", s->what->name, cosine, out[6].f);
        for (int c = 0; c < 3; c++)
            albedo[c] += v.rgb[c] / pdf / SAMPLES * (wi[2] * wo[2] > 0 ? 1 : out[6].f * out[6].f);
        if (out[4].b) {
            discrete[out[5].u]++, probability[out[5].u] = pdf;
            continue;
        }
        if (!(fabs(v.pdf - pdf) <= 1e-9 * pdf))
            fail_msg("%s, cosine %g: a sample says %.12g, its direction %.12g", s->what->name, cosine, pdf, v.pdf);
        double phi = atan2(wo[1], wo[0]) / (2 * pi);
        seen[(int)fmin((wo[2] + 1) / 2 * BINS_Z, BINS_Z - 1) * BINS_PHI + (int)fmin((phi - floor(phi)) * BINS_PHI, BINS_PHI - 1)]++;
    }
    for (int b = 0; b < BINS; b++) {
        all += expected[b];
        if (expected[b] >= 5)
            sum += (seen[b] - expected[b]) * (seen[b] - expected[b]) / expected[b], bins++;
        else if (seen[b] > 30)
            fail_msg("%s, cosine %g: %u samples where %g are expected", s->what->name, cosine, seen[b], expected[b]);
    }
    for (int k = 0; k < LOBES; k++) {
        double p = probability[k];
        all += SAMPLES * p;
        if (!(fabs(discrete[k] - SAMPLES * p) <= 4.5 * sqrt(SAMPLES * p * (1 - p))))
            fail_msg("%s, cosine %g: lobe %d was chosen %u times in %d, with probability %g", s->what->name, cosine, k, discrete[k], (int)SAMPLES, p);
    }
    if (!(fabs(all + lost - SAMPLES) < 0.01 * SAMPLES))
        fail_msg("%s, cosine %g: %g samples expected, %u of %d lost", s->what->name, cosine, all, lost, (int)SAMPLES);
    double k = bins - 1.0, z = bins ? (cbrt(sum / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k)) : 0; /* Wilson and Hilferty */
    if (!(z < 4))
        fail_msg("%s, cosine %g: chi-square of %u bins lies %.1f deviations from its mean", s->what->name, cosine, bins, z);
    for (int c = 0; c < 3; c++)
        if (!(albedo[c] >= 0 && albedo[c] < 1.01))
            fail_msg("%s, cosine %g: albedo %g", s->what->name, cosine, albedo[c]);
}

static void samples_have_their_density(void **state)
{
    const struct material *what = *state;
    probe s = probe_create(what);
    for (int k = 0; k < 3 && what->cosines[k] != 0; k++)
        one_angle(&s, what->cosines[k]);
    probe_destroy(&s);
}

/* f cos / cos is the BSDF for radiance: times the squared index of wi's side it is the same when the directions change places. */
static void values_are_reciprocal(void **state)
{
    (void)state;
    for (int i = 0; i < MATERIALS; i++) {
        probe s = probe_create(&materials[i]);
        uint32_t random = 9, met = 0;
        for (int k = 0; k < 200; k++) {
            double wi[3], wo[3];
            direction(2 * scene_random(&random) - 1, 2 * pi * scene_random(&random), wi);
            direction(2 * scene_random(&random) - 1, 2 * pi * scene_random(&random), wo);
            values there = value_at(&s, wi, wo, false, 0), back = value_at(&s, wo, wi, false, 0);
            double n_i = wi[2] > 0 ? 1 : materials[i].eta, n_o = wo[2] > 0 ? 1 : materials[i].eta;
            for (int c = 0; c < 3; c++) {
                double a = there.rgb[c] / fabs(wo[2]) / (n_i * n_i), b = back.rgb[c] / fabs(wi[2]) / (n_o * n_o);
                met += a > 0;
                if (!(fabs(a - b) <= 1e-6 * (a + b)))
                    fail_msg("%s, wi.z %g, wo.z %g: %.9g one way, %.9g the other", materials[i].name, wi[2], wo[2], a, b);
            }
        }
        assert_true(met > 0 || strstr(materials[i].name, "black"));
        probe_destroy(&s);
    }
}

/* The mean of F over a hemisphere, weighted with the cosine (Duntley; see Walsh 1926), and from it what the base of white plastic returns. */
static double mean_reflectance(double n)
{
    double n2 = n * n, n4 = n2 * n2;
    return 0.5 + (n - 1) * (3 * n + 1) / (6 * (n + 1) * (n + 1)) + n2 * (n2 - 1) * (n2 - 1) / pow(n2 + 1, 3) * log((n - 1) / (n + 1))
           - 2 * n2 * n * (n2 + 2 * n - 1) / ((n2 + 1) * (n4 - 1)) + 8 * n4 * (n4 + 1) / ((n2 + 1) * (n4 - 1) * (n4 - 1)) * log(n);
}

static void white_plastic_loses_nothing(void **state)
{
    (void)state;
    static const double indices[] = {1.1, 1.33, 1.5, 2, 3};
    for (int i = 0; i < 5; i++)
        for (int nonlinear = 0; nonlinear < 2; nonlinear++) {
            arena a = {0};
            struct material what = {.name = "white plastic", .eta = 1};
            what.xml = arena_printf(&a, "<bsdf type='plastic' id='it'>" RGB("diffuse_reflectance", "1,.4,0") INDICES("%g")
                                    "<boolean name='nonlinear' value='%s'/></bsdf>", indices[i], nonlinear ? "true" : "false");
            probe s = probe_create(&what);
            double outside = mean_reflectance(indices[i]), inside = 1 - (1 - outside) / (indices[i] * indices[i]), wi[3], wo[3];
            direction(0.6, 1, wi), direction(0.8, 2, wo);
            values white = value_at(&s, wi, wo, false, 0), coat = value_at(&s, wi, wo, true, 0);
            /* from wi all that is not reflected comes out in the end, in proportion to what crosses there */
            double ct = sqrt(1 - 0.36 / (indices[i] * indices[i])), rs = (0.8 - indices[i] * ct) / (0.8 + indices[i] * ct);
            double rp = (ct - indices[i] * 0.8) / (ct + indices[i] * 0.8), leaves = 1 - (rs * rs + rp * rp) / 2;
            double expected = (1 - coat.rgb[0]) * leaves / (1 - outside) * 0.8 / pi;
            assert_true(fabs(white.rgb[0] - expected) < 1e-5 * expected);
            double trips = nonlinear ? 1 - 0.4 * inside : 1 - inside;
            assert_true(fabs(white.rgb[1] - expected * 0.4 * (1 - inside) / trips) < 1e-5 * expected);
            assert_true(white.rgb[2] == 0 && value_at(&s, wo, (double[3]){0.6, 0, -0.8}, false, 0).rgb[0] == 0);
            probe_destroy(&s);
            arena_free(&a);
        }
}

int main(void)
{
    struct CMUnitTest tests[MATERIALS + 2];
    for (uint32_t i = 0; i < MATERIALS; i++)
        tests[i] = (struct CMUnitTest){materials[i].name, samples_have_their_density, NULL, NULL, (void *)(uintptr_t)&materials[i]};
    tests[MATERIALS] = (struct CMUnitTest)cmocka_unit_test(values_are_reciprocal);
    tests[MATERIALS + 1] = (struct CMUnitTest)cmocka_unit_test(white_plastic_loses_nothing);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
