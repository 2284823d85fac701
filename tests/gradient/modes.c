/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Modes (docs/theory/modes.md): in mono, as in rgb, path replay is the derivative of the path. All scenes of
 * the tables are walked, each at one depth. In the interpreter, sample by sample, these agree: replay fused
 * and in separate kernels, the unrolled path, differences of the weights along the path that stays, and
 * forward mode by its dot product with replay.
 *
 * What the numbers themselves are is known where a scene is grey, since mono is then what rgb is in each
 * channel, and in a furnace of colours. Wavelengths are other ones in each stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sample_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3, SAMPLES = 12, VOLUMETRIC_SAMPLES = 4 };
static const double single_tolerance = 2e-5;
static const double luminance[3] = {0.212671, 0.715160, 0.072169};
static char *folder;

static scene_eval *in_mode(const char *mode, const char *xml, const scene_case *c)
{
    return scene_eval_create_with(xml, folder, c->parameters, scene_case_parameter_count(c), false,
                                  &(render_overrides){.mode = mode});
}

static void sample_agrees(sample_check *s, scene_eval_at at)
{
    /* Spectra are found by a search that ends at a few roundings of f32. */
    const bool spectral = s->e->scene->mode->light == LIGHT_SPECTRAL;
    const double exact_tolerance = spectral ? 1e-6 : 1e-9;
    const double step = s->scene->step > 0 ? s->scene->step : 0.1,
                 rounding = s->scene->step > 0 ? 1e-3 / step : 1;
    bool unrolls = !s->scene->volumetric || s->scene->crossings > 0;
    double replay[SAMPLE_CHECK_ELEMENTS];
    for (int f64 = 0; f64 < 2; f64++) {
        double tolerance = f64 ? exact_tolerance : single_tolerance;
        at.f64 = f64;
        if (unrolls)
            sample_check_unrolled(s, at, tolerance, 0, replay);
        sample_check_run_clean(s, RENDER_GRADIENT, at);
        memcpy(replay, s->e->gradient, s->elements * sizeof *replay);
        sample_check_run_clean(s, RENDER_ADJOINT, at);
        sample_check_same(s, at, "separate kernels", replay, tolerance * sample_check_largest(s, replay));
    }
    if (!spectral) { /* some of these colours have channels of 0 or 1, where spectra are bent */
        sample_difference d = sample_check_differences(s, at, replay, step, 0);
        sample_check_near(s, at,
                          (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                          exact_tolerance * (sample_check_largest(s, replay) + d.here) * rounding);
    }
    sample_check_forward(s, at, replay);
}

static void agrees_in(const char *mode, const scene_case *c)
{
    arena a = {0};
    uint32_t random = 5;
    sample_check s = {.scene = c, .variant = mode};
    scene_eval *e = in_mode(mode, scene_case_xml(&a, c, DEPTH, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE), c);
    assert_string_equal(e->scene->mode->name, mode);
    e->options = (render_trace_options){.unrolled_depth = (uint32_t)e->scene->max_depth * (1 + c->crossings)};
    sample_check_begin(&s, e, &random);
    const uint32_t samples = c->volumetric ? VOLUMETRIC_SAMPLES : SAMPLES;
    for (uint32_t k = 0; k < samples / e->scene->mode->channels; k++)
        sample_agrees(&s, sample_check_draw(&random, true));
    scene_eval_destroy(e);
    arena_free(&a);
}

static void mono_agrees(void **state) { agrees_in("mono", *state); }

static void spectral_agrees(void **state) { agrees_in("spectral", *state); }

/* Those of the tables that cannot be spectral, by what they hold. */
static bool is_spectral(const scene_case *c)
{
    static const char *const not_there[] = {"'measured'", "'grin'", "sh_field"};
    bool is = true;
    for (size_t k = 0; k < sizeof not_there / sizeof *not_there; k++)
        is &= !strstr(c->body, not_there[k]);
    return is;
}

/* ---- grey ---- */

#define GREY(what, value) "<rgb name='" what "' value='" value "," value "," value "'/>"
static const scene_case grey = {
    .name = "grey",
    .volumetric = true,
    .body = "<bsdf type='diffuse' id='wall'>" GREY(
        "reflectance",
        ".6") "</bsdf>"
              "<medium type='homogeneous' id='fog'>" GREY("albedo", ".7") GREY(
                  "sigma_t", ".4") "</medium>"
                                   "<shape type='rectangle'><transform name='to_world'><scale "
                                   "value='3'/></transform><ref "
                                   "id='wall'/></shape>"
                                   "<shape type='sphere'><point name='center' value='0,0,1'/><float "
                                   "name='radius' value='.6'/><bsdf "
                                   "type='null'/><ref name='interior' id='fog'/></shape>"
                                   "<emitter type='constant' id='sky'>" GREY("radiance", "1.5") "</emitter>",
    .parameters = {"wall.reflectance.value", "fog.albedo.value.value", "fog.sigma_t.value.value",
                   "sky.radiance.value"}};

/* In a grey scene the image in mono is each channel of that in rgb. With dL/dI of mono in all of its
 * channels, a channel of a gradient in mono is its share of the luminance times that channel in rgb. */
static void grey_scenes_are_what_they_are_in_rgb(void **state)
{
    (void)state;
    arena a = {0};
    uint32_t random = 3;
    char *xml = scene_case_xml(&a, &grey, DEPTH, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
    sample_check mono = {.scene = &grey, .variant = "mono"}, rgb = {.scene = &grey, .variant = "rgb"};
    sample_check_begin(&mono, in_mode("mono", xml, &grey), &random);
    sample_check_begin(&rgb, in_mode("rgb", xml, &grey), &random);
    double largest = 0;
    for (uint32_t i = 0; i < SAMPLE_CHECK_SIDE * SAMPLE_CHECK_SIDE; i++)
        for (uint32_t c = 0; c < 3; c++)
            rgb.e->adjoint[3 * i + c] = mono.e->adjoint[i];
    for (uint32_t k = 0; k < SAMPLES; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        sample_check_run_clean(&mono, RENDER_PRIMAL, at), sample_check_run_clean(&rgb, RENDER_PRIMAL, at);
        for (uint32_t c = 0; c < 3; c++)
            assert_true(fabs(mono.e->film[at.pixel] - rgb.e->film[3 * at.pixel + c]) <= 1e-6);
        sample_check_run_clean(&mono, RENDER_GRADIENT, at), sample_check_run_clean(&rgb, RENDER_GRADIENT, at);
        for (uint32_t i = 0; i < mono.elements; i++) {
            double share = luminance[i % 3] * rgb.e->gradient[i];
            sample_check_near(&mono, at, (sample_pair){"its share in rgb", i, mono.e->gradient[i], share},
                              1e-6 * (1e-3 + fabs(share)));
            largest = fmax(largest, fabs(share));
        }
    }
    assert_true(largest > 1e-3);
    scene_eval_destroy(mono.e), scene_eval_destroy(rgb.e);
    arena_free(&a);
}

/* ---- furnace ---- */

/* A ball that all light leaves as it arrived: with directions sampled by the material alone every sample is
 * reflectance times radiance, and the luminance of either counts. */
static void a_furnace_has_the_product_of_luminances(void **state)
{
    (void)state;
    static const struct {
        const char *reflectance;
        double is;
    } balls[] = {{"1,1,1", 1}, {".9,.2,.5", 0.9 * 0.212671 + 0.2 * 0.715160 + 0.5 * 0.072169}};
    for (size_t k = 0; k < sizeof balls / sizeof *balls; k++) {
        arena a = {0};
        const scene_case c = {
            .name = "furnace",
            .body = arena_printf(&a,
                                 "<shape type='sphere'><float name='radius' value='50'/><point name='center' "
                                 "value='0,50,0'/><bsdf type='diffuse'><rgb name='reflectance' "
                                 "value='%s'/></bsdf></shape><emitter type='constant' id='sky'><rgb "
                                 "name='radiance' value='2,1,4'/></emitter>",
                                 balls[k].reflectance),
            .parameters = {"sky.radiance.value"}};
        sample_check s = {.scene = &c, .variant = "mono"};
        scene_eval *e = in_mode("mono", scene_case_xml(&a, &c, 2, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE), &c);
        uint32_t random = 1, seen = 0;
        e->options = (render_trace_options){.no_next_event = true};
        sample_check_begin(&s, e, &random);
        const double sky = 2 * 0.212671 + 0.715160 + 4 * 0.072169;
        for (uint32_t i = 0; i < SAMPLES; i++) {
            scene_eval_at at = sample_check_draw(&random, true);
            sample_check_run_clean(&s, RENDER_PRIMAL, at);
            double got = e->film[at.pixel];
            bool ball = fabs(got - balls[k].is * sky) <= 1e-6;
            assert_true(ball || fabs(got - sky) <= 1e-6);
            seen += ball;
        }
        assert_true(seen > 0);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* ---- wavelengths ---- */

/* Image and gradient are of different streams, and must not share their wavelengths: else dL/dI and dI would
 * be correlated, and their product biased. All that differs between samples of a sky is their wavelengths. */
static void streams_have_wavelengths_of_their_own(void **state)
{
    (void)state;
    arena a = {0};
    uint32_t random = 9, same = 0;
    const scene_case c = {
        .name = "sky",
        .body = "<emitter type='constant' id='sky'><rgb name='radiance' value='.2,.9,.4'/></emitter>",
        .parameters = {"sky.radiance.value"}};
    sample_check s = {.scene = &c, .variant = "spectral"};
    scene_eval *e = in_mode("spectral", scene_case_xml(&a, &c, 2, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE), &c);
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        double film[2][3];
        for (at.stream = 0; at.stream < 2; at.stream++) {
            sample_check_run_clean(&s, RENDER_PRIMAL, at);
            memcpy(film[at.stream], e->film + 3 * at.pixel, sizeof film[0]);
        }
        same += fabs(film[0][1] - film[1][1]) <= 1e-9;
    }
    assert_int_equal(same, 0);
    scene_eval_destroy(e);
    arena_free(&a);
}

/* ---- names ---- */

static void modes_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum mode_index is;
    } good[] = {{NULL, MODE_RGB},
                {"rgb", MODE_RGB},
                {"mono", MODE_MONO},
                {"scalar_mono", MODE_MONO},
                {"llvm_ad_mono", MODE_MONO},
                {"llvm_mono_double", MODE_MONO},
                {"cuda_ad_rgb", MODE_RGB},
                {"scalar_spectral_polarized", MODE_SPECTRAL_POLARIZED}};
    static const struct {
        const char *name, *says;
    } bad[] = {{"mno", "did you mean \"mono\""},
               {"colours", "there are rgb, mono"},
               {"", "there is no mode"},
               {"llvm_ad_mono_single", "there is no mode"}};
    const render_mode *found;
    bl_error err;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_int_equal(render_mode_find(good[k].name, &found, &err), BL_OK);
        assert_ptr_equal(found, &render_modes[good[k].is]);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_not_equal(render_mode_find(bad[k].name, &found, &err), BL_OK);
        if (!strstr(err.text, bad[k].says))
            fail_msg("%s: %s", bad[k].name, err.text);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    uint32_t count = 0, all = 4;
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        all += 2;
    struct CMUnitTest *tests = calloc(all, sizeof *tests);
    if (!tests)
        return 1;
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(modes_have_names);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(grey_scenes_are_what_they_are_in_rgb);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(streams_have_wavelengths_of_their_own);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_furnace_has_the_product_of_luminances);
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        for (int k = 0; k < 1 + is_spectral(c); k++)
            tests[count++] = (struct CMUnitTest){c->name, k ? spectral_agrees : mono_agrees, NULL, NULL,
                                                 (void *)(uintptr_t)c};
    int failed = _cmocka_run_group_tests("modes", tests, count, NULL, NULL);
    free(tests);
    scene_files_remove(folder);
    return failed;
}
