/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Conductors by name: their indices in RGB against values that Mitsuba 3.9 computes from the same
 * measurements, and what is said of names that are not known; glasses by name against catalogues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/bsdf/fresnel.h"
#include "render/bsdf/metal.h"

#include <math.h>

static bl_result load(const char *bsdf, render_scene **out, bl_error *err)
{
    arena a = {0};
    scene_description *d;
    scene_load_options o = {.registry = &render_registry};
    const char *xml = arena_printf(
        &a, "<scene version='3.0.0'><sensor type='perspective'/><shape type='sphere'>%s</shape></scene>",
        bsdf);
    bl_result r = scene_load_string(xml, ".", &o, &d, err);
    if (r == BL_OK)
        r = render_scene_create(d, NULL, out, err);
    arena_free(&a);
    return r;
}

/* eta, then k */
static void indices_of(const char *type, const char *material, double out[6])
{
    arena a = {0};
    bl_error err = {0};
    render_scene *s = NULL;
    if (load(arena_printf(&a, "<bsdf type='%s' id='it'><string name='material' value='%s'/></bsdf>", type,
                          material),
             &s, &err) != BL_OK)
        fail_msg("%s", err.text);
    static const char *const names[] = {"it.eta.value", "it.k.value"};
    for (int k = 0; k < 2; k++) {
        uint32_t i = 0;
        while (i < s->parameters.count && strcmp(s->parameters.data[i].name, names[k]) != 0)
            i++;
        assert_true(i < s->parameters.count && s->parameters.data[i].count == 3);
        for (uint32_t c = 0; c < 3; c++)
            out[3 * k + (int)c] = (double)s->values.data[s->parameters.data[i].offset + c];
    }
    render_scene_destroy(s);
    arena_free(&a);
}

static const struct {
    const char *name;
    double index[6];
} known[] = {
    {"Ag", {0.15528, 0.11673, 0.13839, 4.8284, 3.1222, 2.1469}},
    {"Al", {1.6575, 0.8804, 0.52124, 9.2238, 6.2695, 4.837}},
    {"Au", {0.14304, 0.37531, 1.442, 3.983, 2.3856, 1.6034}},
    {"Cu", {0.20101, 0.92375, 1.1022, 3.9133, 2.453, 2.1421}},
    {"Cr", {4.3697, 2.9165, 1.6549, 5.2065, 4.2313, 3.7547}},
    {"W", {4.3708, 3.3002, 2.9984, 3.5006, 2.6049, 2.2732}},
    {"Hg", {2.3989, 1.44, 0.90957, 6.3276, 4.3719, 3.4218}},
    {"TiN", {1.6484, 1.1505, 1.3798, 3.3683, 1.9435, 1.1021}},
    {"a-C", {2.944, 2.2271, 1.9682, 0.88746, 0.7993, 0.81529}},
    {"VN", {2.8656, 2.1192, 1.9401, 3.0322, 2.0561, 1.6163}},
    {"Na_palik", {0.060269, 0.056141, 0.061988, 3.1793, 2.1125, 1.579}},
    {"SiC", {3.1723, 2.526, 2.4794, 7.5377e-07, 0, 1.0193e-05}},
};

static void known_metals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double got[6];
        indices_of(i % 2 ? "conductor" : "roughconductor", known[i].name, got);
        for (int k = 0; k < 6; k++)
            if (!(fabs(got[k] - known[i].index[k]) <= 1e-3 * known[i].index[k] + 1e-7))
                fail_msg("%s, number %d: %.6g, expected %.6g", known[i].name, k, got[k], known[i].index[k]);
    }
}

static void every_name_is_a_conductor(void **state)
{
    (void)state;
    assert_int_equal(metal_count, 71);
    for (uint32_t i = 0; i < metal_count; i++) {
        double got[6];
        indices_of("conductor", metals[i].name, got);
        for (int k = 0; k < 6; k++)
            assert_true(got[k] >= 0 && got[k] < 20);
        assert_true(got[1] + got[4] > 0);
        for (uint32_t k = 1; k < metals[i].count; k++)
            assert_true(metals[i].samples[k][0] > metals[i].samples[k - 1][0]);
    }
}

static void without_a_name(void **state)
{
    (void)state;
    double got[6];
    indices_of("conductor", "none", got);
    for (int k = 0; k < 6; k++)
        assert_true(got[k] == (k < 3 ? 0 : 1));
}

static void mistakes_say_why(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"<bsdf type='conductor'><string name='material' value='Aux'/></bsdf>",
         "no material \"Aux\" is known, did you mean \"Au\"?"},
        {"<bsdf type='roughconductor'><string name='material' value='Cu_palk'/></bsdf>",
         "did you mean \"Cu_palik\"?"},
        {"<bsdf type='conductor'><string name='material' value='unobtainium'/></bsdf>",
         "give the name of one, as Au"},
        {"<bsdf type='conductor'><string name='material' value='Au'/><float name='k' value='2'/></bsdf>",
         "give either \"material\" or \"eta\" and \"k\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        render_scene *s;
        bl_error err = {0};
        if (load(wrong[i][0], &s, &err) == BL_OK || !strstr(err.text, wrong[i][1]))
            fail_msg("case %zu: expected \"%s\", got \"%s\"", i, wrong[i][1], err.text);
    }
}

/* Indices at the yellow line of helium, as catalogues of glass and handbooks give them. */
static void glasses_have_their_index(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double index, abbe; /* abbe: (n_d - 1) / (n_F - n_C), 0 where none is compared */
    } catalogue[] = {
        {"N-BK7", 1.5168, 64.17},     {"n-baf10", 1.67003, 47.11},     {"N-SF6", 1.80518, 25.36},
        {"N-SF11", 1.78472, 25.68},   {"N-LASF9", 1.85025, 32.17},     {"F2", 1.62004, 36.37},
        {"N-SF10", 1.72828, 28.53},   {"fused silica", 1.45846, 67.8}, {"sapphire", 1.76817, 0},
        {"diamond curve", 2.4175, 0},
    };
    for (size_t i = 0; i < sizeof catalogue / sizeof *catalogue; i++) {
        double n[3];
        static const double lines[] = {587.56, 486.13, 656.27};
        for (int k = 0; k < 3; k++)
            assert_true(glass_index(catalogue[i].name, lines[k], &n[k]));
        double abbe = (n[0] - 1) / (n[1] - n[2]);
        if (!(fabs(n[0] - catalogue[i].index) < 2e-4) ||
            (catalogue[i].abbe > 0 && !(fabs(abbe - catalogue[i].abbe) < .06)))
            fail_msg("%s: index %.5f, Abbe number %.2f", catalogue[i].name, n[0], abbe);
    }
    double unused;
    assert_false(glass_index("bk7", 587.56, &unused));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(glasses_have_their_index),
                                       cmocka_unit_test(known_metals),
                                       cmocka_unit_test(every_name_is_a_conductor),
                                       cmocka_unit_test(without_a_name), cmocka_unit_test(mistakes_say_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
