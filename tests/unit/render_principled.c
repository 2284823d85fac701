/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What the table of materials (render_materials.c, gradient/materials.c) cannot say of the principled
 * materials and of hair: values of another implementation, that parts which a scene does not use are not in
 * its kernels, and that white hair loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define FLOAT(name, value) "<float name='" name "' value='" value "'/>"
#define IT(type, inside) "<bsdf type='" type "' id='it'>" inside "</bsdf>"
#define SURFACE RGB("base_color", ".7,.4,.25") FLOAT("roughness", ".4")

/* ---- values ---- */

enum { PAIRS = 3 };
static const double pairs[PAIRS][2][3] = {
    {{.48, .36, .8}, {-.6, 0, .8}}, {{.48, .36, .8}, {0, -.6, -.8}}, {{0, .6, -.8}, {.48, -.6, .64}}};

/* Mitsuba 3.9.1, llvm_ad_rgb, BSDF.eval_pdf at the pairs (wi, wo). Its hair has a Bessel function that is off
 * by up to 1/200. */
static const struct {
    const char *xml;
    double tolerance;
    material_value at[PAIRS];
} facts[] = {
    {IT("principled", SURFACE FLOAT("anisotropic", ".6") FLOAT("metallic", ".3") FLOAT("spec_tint", ".4")
                          FLOAT("clearcoat", ".5") FLOAT("clearcoat_gloss", ".2") FLOAT("sheen", ".7")
                              FLOAT("sheen_tint", ".5") FLOAT("flatness", ".3") FLOAT("specular", ".8")),
     1e-5,
     {{0.2000793, {0.1598779, 0.09494726, 0.06248194}}, {0, {0, 0, 0}}, {0, {0, 0, 0}}}},
    {IT("principled", SURFACE FLOAT("spec_trans", ".7") FLOAT("eta", "1.5")),
     1e-5,
     {{0.1660465, {0.07155582, 0.04863691, 0.03717745}},
      {0.006747559, {0.003250135, 0.002456871, 0.001942327}},
      {0.01564807, {0.02043329, 0.01544611, 0.01221123}}}},
    {IT("principledthin", SURFACE FLOAT("spec_trans", ".6") FLOAT("diff_trans", ".8") FLOAT("eta", "1.4")
                              FLOAT("spec_tint", ".5")),
     1e-5,
     {{0.1878814, {0.05204659, 0.03138812, 0.02105888}},
      {0.04777003, {0.03806297, 0.02175027, 0.01359392}},
      {0.03977615, {0.03252918, 0.01858811, 0.01161757}}}},
    {IT("hair", RGB("sigma_a", ".2,.25,.7") FLOAT("scale", "3") FLOAT("longitudinal_roughness", ".5")
                    FLOAT("azimuthal_roughness", ".4") FLOAT("scale_tilt", "5")),
     6e-3,
     {{0.169474, {0.0446358, 0.04462922, 0.04462218}},
      {1.335691, {0.4687452, 0.3499094, 0.02518532}},
      {0.2183243, {0.06923706, 0.05000502, 0.002674535}}}},
};

static void values_are_those_of_mitsuba(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        material_case c = {.name = "a fact", .xml = facts[i].xml};
        material_probe s = material_probe_create(&c, ".");
        for (int k = 0; k < PAIRS; k++) {
            const material_value *expected = &facts[i].at[k];
            material_value got = material_probe_value(&s, pairs[k][0], pairs[k][1], false, 0);
            for (int b = -1; b < 3; b++) {
                double is = b < 0 ? got.pdf : got.rgb[b], should = b < 0 ? expected->pdf : expected->rgb[b];
                if (!(fabs(is - should) <= facts[i].tolerance * should))
                    fail_msg("%s, pair %d, number %d: %.9g, expected %.9g", c.xml, k, b, is, should);
            }
        }
        material_probe_destroy(&s);
    }
}

/* ---- parts ---- */

/* Instructions of the image's kernel. */
static uint32_t size_with(const char *more, const char *requested)
{
    arena a = {0};
    scene_case c = {.body = arena_printf(&a,
                                         "<bsdf type='principled' id='it'>" SURFACE
                                         "%s</bsdf><shape type='sphere'><ref id='it'/></shape>"
                                         "<emitter type='constant'/>",
                                         more)};
    scene_eval *e = scene_eval_create(scene_case_xml(&a, &c, 4, 4, 4), ".", &requested, requested != NULL);
    bl_error err = {0};
    ir_module *m;
    if (render_trace(e->plan, RENDER_PRIMAL, NULL, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    uint32_t size = 0;
    for (uint32_t i = 0; i < m->functions.count; i++)
        size += m->functions.data[i]->inst.count;
    ir_module_destroy(m);
    scene_eval_destroy(e);
    arena_free(&a);
    return size;
}

static void parts_that_are_not_there_cost_nothing(void **state)
{
    (void)state;
    static const char *const parts[] = {"anisotropic", "metallic",   "spec_trans", "spec_tint",
                                        "sheen",       "sheen_tint", "flatness",   "clearcoat"};
    uint32_t plain = size_with("", NULL);
    assert_true(size_with(FLOAT("clearcoat_gloss", ".5"), NULL) == plain);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        arena a = {0};
        bool of_sheen = strcmp(parts[i], "sheen_tint") == 0; /* which must be there for its tint to be */
        const char *before = of_sheen ? FLOAT("sheen", ".3") : "";
        uint32_t without = of_sheen ? size_with(before, NULL) : plain;
        char *zero = arena_printf(&a, "%s" FLOAT("%s", "0"), before, parts[i]),
             *some = arena_printf(&a, "%s" FLOAT("%s", ".3"), before, parts[i]);
        if (size_with(zero, NULL) != without)
            fail_msg("\"%s\" given as 0 adds to the kernel", parts[i]);
        if (!(size_with(some, NULL) > without))
            fail_msg("\"%s\" of 0.3 adds nothing to the kernel", parts[i]);
        if (size_with(zero, arena_printf(&a, "it.%s.value", parts[i])) < size_with(some, NULL))
            fail_msg("\"%s\" of 0 is not in a kernel that differentiates it", parts[i]);
        arena_free(&a);
    }
}

/* ---- hair ---- */

/* Over the sphere, in z = sin(theta) along the fibre and the azimuth around it. */
static double white_albedo(const char *roughness, const char *tilt, double cosine)
{
    enum { STEPS = 96 };
    static const double pi = 3.14159265358979323846;
    arena a = {0};
    material_case c = {.name = "white hair"};
    c.xml =
        arena_printf(&a,
                     "<bsdf type='hair' id='it'>" RGB("sigma_a", "0") FLOAT("longitudinal_roughness", "%s")
                         FLOAT("azimuthal_roughness", "%s") FLOAT("scale_tilt", "%s") "</bsdf>",
                     roughness, roughness, tilt);
    material_probe s = material_probe_create(&c, ".");
    double wi[3], sum = 0;
    material_direction(cosine, 0.7, wi);
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < STEPS; k++) {
            double y = 2 * (i + 0.5) / STEPS - 1, phi = 2 * pi * (k + 0.5) / STEPS, r = sqrt(1 - y * y);
            material_value v =
                material_probe_value(&s, wi, (double[3]){r * cos(phi), y, r * sin(phi)}, false, 0);
            assert_true(fabs(v.pdf - v.rgb[1]) <= 1e-9 * v.pdf); /* lobes are chosen by what they reflect */
            sum += v.rgb[1] * 4 * pi / (STEPS * STEPS);
        }
    material_probe_destroy(&s);
    arena_free(&a);
    return sum;
}

static void white_hair_loses_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *roughness, *tilt;
        double cosine;
    } cases[] = {{".9", "0", .8}, {".5", "2", .3}, {".6", "-9", -.6}, {".35", "2", .9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double albedo = white_albedo(cases[i].roughness, cases[i].tilt, cases[i].cosine);
        if (!(fabs(albedo - 1) < 2e-3))
            fail_msg("roughness %s, tilt %s, cosine %g: albedo %.6f", cases[i].roughness, cases[i].tilt,
                     cases[i].cosine, albedo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_mitsuba),
        cmocka_unit_test(parts_that_are_not_there_cost_nothing),
        cmocka_unit_test(white_hair_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
