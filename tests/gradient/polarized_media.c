/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients of polarised light in participating media (docs/theory/polarized_replay.md), in the interpreter,
 * sample by sample. In scenes with metal, glass and masks in fog these agree, for intensities and for whole
 * Stokes vectors: replay fused and in separate kernels, the unrolled path, differences of the weights along
 * the path that stays, and forward mode by its dot product with replay. Where nothing polarises, gradients
 * are those of the mode without polarisation, whose paths are the same: in all scenes of the tables of media.
 * Fogs have channels in which nothing scatters, so that flights with zero factors are met. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sample_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 60, TABLE_SAMPLES = 6, TABLE_DEPTH = 3 };
static char *folder;

// clang-format off
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define PLACED(what, place, inside)                                                                          \
    "<shape type='" what "'><transform name='to_world'>" place "</transform>" inside "</shape>"
#define BALL(radius, inside)                                                                                 \
    "<shape type='sphere'><float name='radius' value='" radius "'/>" inside "</shape>"
#define METAL                                                                                                \
    "<bsdf type='conductor' id='m'>" RGB("eta", ".4,.9,1.3") RGB("k", "3,2.4,1.9") "</bsdf>"
#define FOG(inside)                                                                                          \
    "<medium type='homogeneous' id='fog'>" RGB("sigma_t", ".1,.25,.05") inside                               \
    "<phase type='hg'><float name='g' value='.3'/></phase></medium>"
#define SMOKE(density)                                                                                       \
    "<medium type='heterogeneous' id='smoke'><float name='scale' value='" density "'/><volume "              \
    "type='gridvolume' name='sigma_t'><string name='filename' value='smoke.vol'/><transform "                \
    "name='to_world'><translate value='-.5,-.5,-.5'/><scale value='5'/></transform></volume>"                \
    RGB("albedo", ".9,0,.7") "</medium>"
#define HOLLOW(of) "<bsdf type='null'/><ref id='" of "' name='interior'/>"
/* What lies behind, all around, and a lamp. */
#define BEHIND                                                                                               \
    PLACED("rectangle", "<scale value='9'/><rotate x='1' angle='80'/><translate value='0,5,0'/>",            \
        "<bsdf type='twosided'><bsdf type='roughconductor' id='rough'><float name='alpha' value='.3'/>"      \
        RGB("eta", "1.4,1.2,1") RGB("k", "3.5,3,2.5") "</bsdf></bsdf>")                                      \
    BALL("30", "<boolean name='flip_normals' value='true'/><bsdf type='diffuse' id='wall'>"                  \
        RGB("reflectance", ".6,.5,.3") "</bsdf>")                                                            \
    PLACED("sphere", "<translate value='3,-6,5'/>",                                                          \
        "<emitter type='area' id='lamp'>" RGB("radiance", "9,7,5") "</emitter>")
#define SENSOR                                                                                               \
    "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'><lookat "           \
    "origin='0,-9,1' target='0,0,0' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "     \
    "value='%u'/><integer name='height' value='%u'/><rfilter type='box'/></film></sensor>"

typedef struct media_case {
    scene_case scene;
    int32_t depth;
} media_case;

static const media_case cases[] = {
    {{.name = "metal in a fog that glows",
      .sensor = SENSOR, .volumetric = true, .crossings = 2, .step = 3e-4,
      .body = FOG(RGB("albedo", ".9,0,.6") RGB("emission", ".3,.1,.2")) BALL("4", HOLLOW("fog"))
          BALL("1.5", METAL) BEHIND,
      .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "fog.emission.value.value",
                     "fog.phase_function.g", "m.eta.value", "m.k.value", "rough.k.value",
                     "wall.reflectance.value", "lamp.radiance.value"}},
     4},
    {{.name = "nets of metal in fog",
      .sensor = SENSOR, .volumetric = true, .crossings = 3, .step = 3e-4,
      .body = FOG(RGB("albedo", ".9,.7,.6")) BALL("4", HOLLOW("fog"))
          PLACED("rectangle", "<scale value='2'/><rotate x='1' angle='60'/><translate value='0,-2,0'/>",
              "<bsdf type='mask' id='net'><float name='opacity' value='.6'/><bsdf type='twosided'>" METAL
              "</bsdf></bsdf>")
          BEHIND,
      .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "net.opacity.value", "m.eta.value",
                     "rough.eta.value", "lamp.radiance.value"}},
     4},
    {{.name = "metal in thin smoke",
      .sensor = SENSOR, .volumetric = true, .crossings = 2, .step = 3e-4,
      .body = SMOKE(".3") PLACED("cube", "<scale value='2.5'/>", HOLLOW("smoke")) BALL("1.5", METAL)
          BEHIND,
      .parameters = {"smoke.sigma_t.data", "smoke.albedo.value.value", "smoke.scale", "m.k.value",
                     "rough.eta.value", "wall.reflectance.value"}},
     4},
    /* Segments longer than what is kept: from border to border of fog and glass. */
    {{.name = "glass with smoke in it, in fog",
      .sensor = SENSOR, .volumetric = true, .step = 1e-4, .rr_depth = 5,
      .body = FOG(RGB("albedo", ".9,.7,0")) SMOKE("1.5") BALL("4", HOLLOW("fog"))
          BALL("2.2", "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.8'/><float "
              "name='ext_ior' value='1'/></bsdf><ref id='smoke' name='interior'/>"
              "<ref id='fog' name='exterior'/>")
          BEHIND,
      .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "smoke.sigma_t.data",
                     "smoke.albedo.value.value", "glass.eta", "rough.k.value", "lamp.radiance.value"}},
     8},
};
// clang-format on
enum { CASES = sizeof cases / sizeof *cases };

/* Replay in separate kernels is the fused one. */
static void kernels_agree(sample_check *s, scene_eval_at at, double tolerance, double *replay)
{
    sample_check_run_clean(s, RENDER_GRADIENT, at);
    memcpy(replay, s->e->gradient, s->elements * sizeof *replay);
    for (uint32_t i = 0; i < s->elements; i++)
        s->reached[i] |= replay[i] != 0;
    sample_check_run_clean(s, RENDER_ADJOINT, at);
    sample_check_same(s, at, "separate kernels", replay, tolerance * sample_check_largest(s, replay));
}

static void sample_agrees(sample_check *s, scene_eval_at at)
{
    /* The coefficients of spectra are found by a search, which ends at about this. */
    const double exact = s->e->scene->mode->light == LIGHT_SPECTRAL ? 1e-6 : 1e-9;
    double replay[SAMPLE_CHECK_ELEMENTS];
    for (int f64 = 0; f64 < 2; f64++) {
        double tolerance = f64 ? exact : 2e-4;
        at.f64 = f64;
        kernels_agree(s, at, tolerance, replay);
        if (s->scene->crossings > 0)
            sample_check_unrolled(s, at, tolerance, 0, replay);
    }
    if (s->e->scene->mode->light != LIGHT_SPECTRAL) { /* spectra of black are bent */
        sample_difference d = sample_check_differences(s, at, replay, s->scene->step, 0);
        sample_check_near(s, at,
                          (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                          exact * (sample_check_largest(s, replay) + d.here) * 1e-3 / s->scene->step);
    }
    sample_check_forward(s, at, replay);
}

/* The scene with a film of another type. */
static const char *with_film(arena *a, const char *xml, const char *type)
{
    const char *usual = strstr(xml, "hdrfilm");
    assert_non_null(usual);
    return arena_printf(a, "%.*s%s%s", (int)(usual - xml), xml, type, usual + strlen("hdrfilm"));
}

static scene_eval *in_mode(const scene_case *c, const char *xml, const char *mode)
{
    return scene_eval_create_with(xml, folder, c->parameters, scene_case_parameter_count(c), false,
                                  &(render_overrides){.mode = mode});
}

/* What the image of a case is: intensities, or Stokes vectors whole. */
static void case_agrees(const media_case *c, const char *mode, const char *film)
{
    arena a = {0};
    uint32_t random = 5;
    sample_check s = {.scene = &c->scene, .variant = arena_printf(&a, "%s, %s", mode, film)};
    const char *xml = scene_case_xml(&a, &c->scene, c->depth, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
    scene_eval *e = in_mode(&c->scene, with_film(&a, xml, film), mode);
    e->options = (render_trace_options){
        .walks_again = strcmp(mode, "rgb_polarized") == 0, /* either form */
        .unrolled_depth = (uint32_t)c->depth * (1 + c->scene.crossings),
    };
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++)
        sample_agrees(&s, sample_check_draw(&random, true));
    for (uint32_t k = 0; k < scene_case_parameter_count(&c->scene); k++)
        sample_check_expect_reached(&s, k, 1);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void replay_agrees(void **state)
{
    const media_case *c = *state;
    static const char *const modes[] = {"mono_polarized", "rgb_polarized", "spectral_polarized"};
    for (uint32_t m = 0; m < 3; m++)
        case_agrees(c, modes[m], m == 1 ? "stokesfilm" : "hdrfilm");
    case_agrees(c, "rgb_polarized", "hdrfilm");
}

/* ---- without anything that polarises ---- */

/* Scenes of the tables where nothing moves and no plate polarises. */
static bool can_be_polarized(const scene_case *c)
{
    return c->volumetric && !strstr(c->name, "move") && !strstr(c->name, "normals") &&
           !strstr(c->body, "polarizer");
}

static void gradients_are_those_of_rgb(void **state)
{
    const scene_case *c = *state;
    arena a = {0};
    uint32_t random = 5;
    const char *xml = scene_case_xml(&a, c, TABLE_DEPTH, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
    sample_check plain = {.scene = c, .variant = "rgb"}, s = {.scene = c, .variant = "rgb_polarized"};
    sample_check_begin(&plain, in_mode(c, xml, "rgb"), &random);
    sample_check_begin(&s, in_mode(c, xml, "rgb_polarized"), &random);
    memcpy(s.e->adjoint, plain.e->adjoint, scene_eval_values(s.e) * sizeof *s.e->adjoint);
    for (uint32_t k = 0; k < TABLE_SAMPLES; k++) {
        double replay[SAMPLE_CHECK_ELEMENTS];
        scene_eval_at at = sample_check_draw(&random, true);
        kernels_agree(&s, at, 1e-9, replay);
        sample_check_run_clean(&plain, RENDER_GRADIENT, at);
        sample_check_same(&plain, at, "in rgb", replay, 1e-9 * sample_check_largest(&s, replay));
        sample_check_forward(&s, at, replay);
    }
    scene_eval_destroy(plain.e), scene_eval_destroy(s.e);
    arena_free(&a);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    uint32_t count = 0, all = CASES;
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        all += can_be_polarized(c);
    struct CMUnitTest *tests = calloc(all, sizeof *tests);
    if (!tests)
        return 1;
    for (uint32_t k = 0; k < CASES; k++)
        tests[count++] =
            (struct CMUnitTest){cases[k].scene.name, replay_agrees, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        if (can_be_polarized(c))
            tests[count++] =
                (struct CMUnitTest){c->name, gradients_are_those_of_rgb, NULL, NULL, (void *)(uintptr_t)c};
    int failed = _cmocka_run_group_tests("polarised media", tests, count, NULL, NULL);
    free(tests);
    scene_files_remove(folder);
    return failed;
}
