/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Densities as attached sampling differentiates them, in f32, where they have no derivative in truth: light
 * that is refracted along a facet, and back, with every rounding that directions so computed have. Their
 * derivatives by directions are numbers, elsewhere those of differences. And what an attached sample's value
 * is divided by does not jump where total reflection begins, which such samples cross: a jump would be a
 * derivative that nothing follows. Where samples are held a share of the normals lies there (facet.h), so
 * that it does. All samples together have the derivative of the integral, also where the value has steps,
 * which samples must not cross. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"
#include "support/scene_cases.h"

#include <math.h>

enum { PAIRS = 3000 };
static const double pi = 3.14159265358979323846;
static char *folder;

#define GLASS(kind, alpha) ROUGH(kind, alpha, "auto")
#define ROUGH(kind, alpha, attached)                                                                         \
    "<bsdf type='roughdielectric' id='it'><string name='distribution' value='" kind                          \
    "'/><float name='alpha' value='" alpha "'/><string name='attached' value='" attached                     \
    "'/><float name='int_ior' value='1.4'/><float name='ext_ior' value='1'/></bsdf>"
/* Which is decided where light falls, for what is not known of all texels. */
#define TEXTURED(alpha)                                                                                      \
    "<bsdf type='roughdielectric' id='it'><string name='distribution' value='ggx'/><texture "                \
    "type='checkerboard' name='alpha'>"                                                                      \
    "<rgb name='color0' value='" alpha "'/><rgb name='color1' value='" alpha                                 \
    "'/></texture><float name='int_ior' value='1.4'/><float name='ext_ior' value='1'/></bsdf>"
static const material_case glasses[] = {
    {.name = "ggx", .xml = GLASS("ggx", ".1"), .parameters = {"it.eta"}},
    {.name = "ggx, eta wanted", .xml = GLASS("ggx", ".1"), .parameters = {"it.eta"}, .requested = true},
    {.name = "beckmann", .xml = GLASS("beckmann", ".3"), .parameters = {"it.eta"}},
};

/* A random facet of glass seen from inside: wi at the critical angle, or off it by a little, and wo, what of
 * it is refracted along the facet. */
static void along_a_facet(uint32_t *random, double off, double m[3], double wi[3], double wo[3])
{
    double along[3], sine = 1 / 1.4 - off, leaving = sqrt(1 - 1.4 * 1.4 * sine * sine),
                     turn = 2 * pi * scene_random(random);
    material_direction(-1 + 0.4 * scene_random(random), 2 * pi * scene_random(random), m);
    const double s[3] = {m[2] / hypot(m[0], m[2]), 0, -m[0] / hypot(m[0], m[2])};
    const double t[3] = {m[1] * s[2] - m[2] * s[1], m[2] * s[0] - m[0] * s[2], m[0] * s[1] - m[1] * s[0]};
    for (int k = 0; k < 3; k++) {
        along[k] = cos(turn) * s[k] + sin(turn) * t[k];
        wi[k] = sqrt(1 - sine * sine) * m[k] + sine * along[k];
        wo[k] = -1.4 * sine * along[k] - (off > 0 ? leaving : 0) * m[k];
    }
}

static void critical_angles(void **state)
{
    const material_case *c = *state;
    material_probe p = material_probe_create(c, folder);
    p.single = true;
    uint32_t random = 1, dense = 0;
    for (uint32_t n = 0; n < PAIRS; n++) {
        double m[3], wi[3], wo[3], slopes[6];
        along_a_facet(&random, n % 3 ? 0 : 1e-7 * scene_random(&random), m, wi, wo);
        material_probe_slopes(&p, wi, wo, slopes);
        for (int k = 0; k < 6; k++)
            if (!isfinite(slopes[k]))
                fail_msg("%s, pair %u, from %.9g,%.9g,%.9g to %.9g,%.9g,%.9g: derivative %d is %g", c->name,
                         n, wi[0], wi[1], wi[2], wo[0], wo[1], wo[2], k, slopes[k]);
        dense += material_probe_value(&p, wi, wo, false, 0).pdf > 0;
    }
    print_message("%s: %u of %u pairs have a density\n", c->name, dense, (unsigned)PAIRS);
    assert_true(dense > PAIRS / 10);
    material_probe_destroy(&p);
}

static void elsewhere(void **state)
{
    const material_case *c = *state;
    material_probe p = material_probe_create(c, folder);
    uint32_t random = 2;
    for (uint32_t n = 0; n < PAIRS / 30; n++) {
        double m[3], wi[3], wo[3], slopes[6], largest = 0;
        along_a_facet(&random, 0.05 + 0.3 * scene_random(&random), m, wi, wo);
        material_probe_slopes(&p, wi, wo, slopes);
        for (int k = 0; k < 6; k++)
            largest = fmax(largest, fabs(slopes[k]));
        for (int k = 0; k < 6; k++) {
            double *moved = (k < 3 ? wi : wo) + k % 3, at = *moved, h = 1e-6, pdf[2];
            for (int side = 0; side < 2; side++) {
                *moved = at + (side ? h : -h);
                pdf[side] = material_probe_value(&p, wi, wo, false, 0).pdf;
            }
            *moved = at;
            double wanted = (pdf[1] - pdf[0]) / (2 * h);
            if (!(fabs(slopes[k] - wanted) <= 1e-5 * largest + 1e-7))
                fail_msg("%s, pair %u, derivative %d: %.9g, differences say %.9g", c->name, n, k, slopes[k],
                         wanted);
        }
    }
    material_probe_destroy(&p);
}

/* Of reflections from inside, over the facets above: by what factor densities on both sides of the critical
 * angle differ, at most. */
static double jump(const material_case *c)
{
    material_probe p = material_probe_create(c, folder);
    uint32_t random = 3, before, seen = 0;
    double largest = 1;
    while (seen < PAIRS / 30) {
        double wi[3], wo[3], m[3], pdf[2];
        before = random;
        for (int side = 0; side < 2; side++) {
            double cosine = 0;
            random = before;
            along_a_facet(&random, side ? 1e-7 : -1e-7, m, wi, wo);
            for (int k = 0; k < 3; k++)
                cosine += wi[k] * m[k];
            for (int k = 0; k < 3; k++)
                wo[k] = 2 * cosine * m[k] - wi[k];
            pdf[side] = wo[2] < 0 ? material_probe_value(&p, wi, wo, false, 0).pdf : 0;
        }
        if (pdf[0] > 0 && pdf[1] > 0)
            seen++, largest = fmax(largest, fmax(pdf[1] / pdf[0], pdf[0] / pdf[1]));
    }
    material_probe_destroy(&p);
    return largest;
}

static void continuous(void **state)
{
    (void)state;
    static const struct {
        const char *name, *xml;
        bool attached;
    } ways[] = {{"never", ROUGH("ggx", ".3", "never"), false},
                {"auto", ROUGH("ggx", ".3", "auto"), false},
                {"always", ROUGH("ggx", ".3", "always"), true},
                {"auto, a rough texel", TEXTURED(".3"), false},
                {"auto, a smooth texel", TEXTURED(".03"), true}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        double most = jump(&(material_case){
            .name = ways[k].name, .xml = ways[k].xml, .parameters = {"it.eta"}, .requested = true});
        print_message("attached %s: densities jump by up to %.3g\n", ways[k].name, most);
        if (ways[k].attached)
            assert_true(most <
                        1.2); /* the choice is held: its probability, at least a tenth for either, may jump */
        else
            assert_true(most > 10);
    }
}

/* ---- means ---- */

/* The mean of samples' derivatives is that of the integral over directions, which differences of quadratures
 * say. What is missing where samples move over a step of the value is seen. */
#define ALWAYS "<string name='attached' value='always'/></bsdf>"
#define METAL                                                                                                \
    "<bsdf type='roughconductor' id='it'><string name='distribution' value='ggx'/><float name='alpha' "      \
    "value='.4'/>" ALWAYS
#define PRINCIPLED                                                                                           \
    "<bsdf type='principled' id='it'><float name='roughness' value='.5'/><float name='metallic' "            \
    "value='.5'/>" ALWAYS
#define SHEET(roughness)                                                                                     \
    "<bsdf type='principledthin' id='it'><rgb name='base_color' value='1'/><float name='roughness' "         \
    "value='" roughness "'/>"                                                                                \
    "<float name='spec_trans' value='.9'/><float name='diff_trans' value='.8'/>"
#define THIN SHEET(".6") ALWAYS
static const material_case whole[] = {
    {.name = "rough metal", .xml = METAL, .parameters = {"it.alpha.value"}, .requested = true},
    {.name = "principled metal", .xml = PRINCIPLED, .parameters = {"it.roughness.value"}, .requested = true},
    {.name = "thin principled", .xml = THIN, .parameters = {"it.roughness.value"}, .requested = true},
    {.name = "thin principled, by its index", .xml = THIN, .parameters = {"it.eta.value"}, .requested = true},
};

/* Of the value, over all directions. */
static double integral(const material_probe *p, const double wi[3])
{
    enum { COSINES = 400, TURNS = 240 };
    double sum = 0, wo[3];
    for (int i = 0; i < COSINES; i++)
        for (int k = 0; k < TURNS; k++) {
            material_direction((i + 0.5) * 2 / COSINES - 1, 2 * pi * (k + 0.5) / TURNS, wo);
            sum += material_probe_value(p, wi, wo, false, 0).rgb[1];
        }
    return sum * 4 * pi / (COSINES * TURNS);
}

static void complete(void **state)
{
    enum { DRAWS = 120000, BATCHES = 20 };
    const material_case *c = *state;
    const double step = 0.01;
    material_probe p = material_probe_create(c, folder);
    double wi[3], *value = &p.e->values[scene_eval_value_first(p.e, c->parameters[0])], at = *value, mean = 0,
                  squares = 0;
    material_direction(0.8, 0.3, wi);
    *value = at + step;
    double wanted = integral(&p, wi);
    *value = at - step;
    wanted = (wanted - integral(&p, wi)) / (2 * step);
    *value = at;
    uint32_t random = 1;
    for (int b = 0; b < BATCHES; b++) {
        double sum = 0;
        for (int k = 0; k < DRAWS / BATCHES; k++) {
            double u[3];
            for (int i = 0; i < 3; i++)
                u[i] = scene_random(&random);
            material_sample s = material_probe_sample(&p, wi, u);
            sum += s.pdf > 0 ? material_probe_attached(&p, wi, u, &s) / (DRAWS / BATCHES) : 0;
        }
        mean += sum / BATCHES, squares += sum * sum / BATCHES;
    }
    double error = sqrt((squares - mean * mean) / (BATCHES - 1));
    print_message("%s: %.5f +- %.5f, differences %.5f\n", c->name, mean, error, wanted);
    assert_true(error < 0.05 * fabs(wanted) && fabs(mean - wanted) < 4 * error + 0.01 * fabs(wanted));
    material_probe_destroy(&p);
}

/* A thin sheet is smoother for what it transmits than for what it reflects: by default the former may be
 * attached alone. */
static void each_way_by_its_roughness(void **state)
{
    (void)state;
    const char *parameter = "it.roughness.value";
    const material_case cases[] = {
        {.name = "auto", .xml = SHEET(".25") "</bsdf>", .parameters = {parameter}, .requested = true},
        {.name = "always", .xml = SHEET(".25") ALWAYS, .parameters = {parameter}, .requested = true}};
    material_probe p[2] = {material_probe_create(&cases[0], folder),
                           material_probe_create(&cases[1], folder)};
    double wi[3];
    uint32_t random = 1, alike[2] = {0, 0}, all[2] = {0, 0};
    material_direction(0.8, 0.3, wi);
    for (int n = 0; n < 1000; n++) {
        const double u[3] = {0.9 * scene_random(&random), scene_random(&random),
                             scene_random(&random)}; /* facets, nearly always */
        material_sample s = material_probe_sample(&p[0], wi, u);
        if (!(s.pdf > 0))
            continue;
        double by[2] = {material_probe_attached(&p[0], wi, u, &s), material_probe_attached(&p[1], wi, u, &s)};
        all[s.wo[2] < 0]++, alike[s.wo[2] < 0] += fabs(by[0] - by[1]) <= 1e-9 * fabs(by[1]);
    }
    print_message("alike: %u of %u transmitted, %u of %u reflected\n", alike[1], all[1], alike[0], all[0]);
    assert_true(alike[1] == all[1] && all[1] > 300 && alike[0] < all[0] / 4 && all[0] > 300);
    for (int k = 0; k < 2; k++)
        material_probe_destroy(&p[k]);
}

int main(void)
{
    enum { COUNT = sizeof glasses / sizeof *glasses };
    enum { WHOLE = sizeof whole / sizeof *whole };
    struct CMUnitTest tests[2 * COUNT + 2 + WHOLE];
    folder = scene_files_create();
    if (!folder)
        return 1;
    for (uint32_t i = 0; i < COUNT; i++)
        tests[2 * i] =
            (struct CMUnitTest){glasses[i].name, critical_angles, NULL, NULL, (void *)(uintptr_t)&glasses[i]},
                  tests[2 * i + 1] = (struct CMUnitTest){glasses[i].name, elsewhere, NULL, NULL,
                                                         (void *)(uintptr_t)&glasses[i]};
    tests[2 * COUNT] = (struct CMUnitTest)cmocka_unit_test(continuous);
    for (uint32_t i = 0; i < WHOLE; i++)
        tests[2 * COUNT + 1 + i] =
            (struct CMUnitTest){whole[i].name, complete, NULL, NULL, (void *)(uintptr_t)&whole[i]};
    tests[2 * COUNT + 1 + WHOLE] = (struct CMUnitTest)cmocka_unit_test(each_way_by_its_roughness);
    int failed = cmocka_run_group_tests_name("attached densities", tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
