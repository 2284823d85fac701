/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Rough plastic in the interpreter: values against those that Mitsuba 3.9 computes, whose tables are quadratures of its own; and the derivatives of
 * our tables, which are integrals at fixed nodes (rough_interface.c), against differences of the tables over steps wide enough to smooth the kinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"

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
        c.xml = arena_printf(&a, "<bsdf type='roughplastic' id='it'><string name='distribution' value='%s'/><float name='alpha' value='%g'/>"
                                 "<float name='int_ior' value='1.5'/><float name='ext_ior' value='1'/><boolean name='nonlinear' value='%s'/>"
                                 "<rgb name='diffuse_reflectance' value='.6,.3,.15'/><rgb name='specular_reflectance' value='.9'/></bsdf>",
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

static const double *derived_of(const scene_eval *e, const double *values) { return values + e->scene->values.count; }

static void run(scene_eval *e, render_pass pass)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, 0, 0, 0, 0, true, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void tables_have_their_derivatives(void **state)
{
    (void)state;
    static const struct {
        const char *distribution, *parameter;
        double alpha, step, tolerance; /* of the largest derivative */
    } cases[] = {{"ggx", "it.alpha", 0.2, 0.02, 0.03},      {"ggx", "it.alpha", 0.5, 0.05, 0.03},      {"beckmann", "it.alpha", 0.2, 0.02, 0.03},
                 {"beckmann", "it.alpha", 0.5, 0.05, 0.03}, {"ggx", "it.eta", 0.3, 0.05, 0.03}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a = {0};
        material_case c = {.name = "rough plastic", .parameters = {cases[i].parameter}, .requested = true};
        c.xml = arena_printf(&a, "<bsdf type='roughplastic' id='it'><string name='distribution' value='%s'/><float name='alpha' value='%g'/>"
                                 "<float name='int_ior' value='1.5'/><float name='ext_ior' value='1'/></bsdf>", cases[i].distribution, cases[i].alpha);
        material_probe p = material_probe_create(&c, ".");
        scene_eval *e = p.e;
        uint32_t at = e->scene->parameters.data[scene_eval_find(e, cases[i].parameter)].offset;
        double low[DERIVED], most = 0, value = e->values[at];
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
            if (!(fabs(slope[k] - difference) <= cases[i].tolerance * most))
                fail_msg("case %zu, value %d: derivative %.6g, differences %.6g, the largest %.6g", i, k, slope[k], difference, most);
        }
        material_probe_destroy(&p);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_known), cmocka_unit_test(tables_have_their_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
