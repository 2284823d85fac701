/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients of polarised light (docs/theory/polarized_replay.md): path replay with matrices is the derivative
 * of the path. In the interpreter, sample by sample, these agree: replay fused and in separate kernels, the
 * unrolled path, differences of the weights along the path that stays, and forward mode by its dot product
 * with replay. Scenes have segments of many polarising vertices, longer than the places that are kept, and
 * some that let nothing through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sample_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 16 };
static char *folder;

#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define GREY(name, value) "<rgb name='" name "' value='" value "," value "," value "'/>"
#define PLATE(y, bsdf)                                                                                       \
    "<shape type='rectangle'><transform name='to_world'><scale value='4'/><rotate x='1' angle='70'/>"        \
    "<translate value='0," y ",0'/></transform>" bsdf "</shape>"
/* Across the view, before and behind the camera. */
#define FACING(y, bsdf)                                                                                      \
    "<shape type='rectangle'><transform name='to_world'><scale value='9'/><rotate x='1' angle='90'/>"        \
    "<translate value='0," y ",0'/></transform>" bsdf "</shape>"
/* A box around everything, so that paths go on. */
#define WALLS(bsdf)                                                                                          \
    "<shape type='sphere'><float name='radius' value='30'/><boolean name='flip_normals' value='true'/>" bsdf \
    "</shape>"
#define LAMP                                                                                                 \
    "<shape type='sphere'><point name='center' value='1,6,2'/><float name='radius' value='1'/><emitter "     \
    "type='area' id='lamp'><rgb name='radiance' value='9,7,5'/></emitter></shape>"
#define SKY "<emitter type='constant' id='sky'><rgb name='radiance' value='.5,.7,.9'/></emitter>"
#define SENSOR                                                                                               \
    "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'><lookat "           \
    "origin='0,-9,1' target='0,0,0' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "     \
    "value='%u'/><integer name='height' value='%u'/><rfilter type='box'/></film></sensor>"

#define PRISM                                                                                                \
    "<shape type='sphere'><float name='radius' value='2.5'/><bsdf type='dielectric' id='glass'><spectrum "   \
    "name='int_ior' value='300:2.7, 500:2.5, 560:2.45, 900:2.3'/></bsdf></shape>"
#define METAL                                                                                                \
    "<shape type='sphere'><float name='radius' value='1'/><bsdf type='conductor' id='m'>" GREY("eta", ".4")  \
        GREY("k", "2.5") "</bsdf></shape>"

typedef struct polarized_case {
    scene_case scene;
    int32_t depth;
} polarized_case;

static const polarized_case cases[] = {
    {{.name = "plates",
      .sensor = SENSOR,
      .body = PLATE("-3", "<bsdf type='polarizer' id='a'>" NUMBER("theta", "20")
                              GREY("transmittance", ".9") "</bsdf>")
          PLATE("-2", "<bsdf type='retarder' id='r'>" NUMBER("theta", "35") NUMBER("delta", "70") "</bsdf>")
              PLATE("-1", "<bsdf type='polarizer' id='b'>" NUMBER("theta", "65") "</bsdf>")
                  WALLS("<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.5,.3'/></bsdf>")
                      LAMP SKY,
      .parameters = {"a.theta.value", "a.transmittance.value", "r.theta.value", "r.delta.value",
                     "b.theta.value", "wall.reflectance.value", "lamp.radiance.value"},
      .step = 1e-3},
     5},
    {{.name = "metal",
      .sensor = SENSOR,
      .body = PLATE("-3", "<bsdf type='polarizer' id='a'>" NUMBER("theta", "20") "</bsdf>")
          PLATE("1", "<bsdf type='twosided'><bsdf type='conductor' id='m'>" GREY("eta", ".4") GREY("k", "2.5")
                         GREY("specular_reflectance", ".9") "</bsdf></bsdf>")
              FACING("-12", "<bsdf type='twosided'><bsdf type='roughconductor' id='rough'>" NUMBER(
                                "alpha", ".3") GREY("eta", "1.4") GREY("k", "3.5") "</bsdf></bsdf>")
                  WALLS("<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.5,.3'/></bsdf>")
                      LAMP SKY,
      .parameters = {"a.theta.value", "m.eta.value", "m.k.value", "m.specular_reflectance.value",
                     "rough.eta.value", "rough.k.value", "wall.reflectance.value"},
      .step = 1e-3},
     6},
    {{.name = "glass and roulette",
      .sensor = SENSOR,
      .rr_depth = 4,
      .body = PLATE(
          "-3",
          "<bsdf type='polarizer' id='a'>" NUMBER(
              "theta",
              "20") "</bsdf>") "<shape type='sphere'><float name='radius' value='2.5'/><bsdf "
                               "type='dielectric' id='glass'>" NUMBER("int_ior", "2.5") NUMBER("ext_ior", "1")
                                   GREY("specular_reflectance",
                                        ".95") "</bsdf></shape><shape type='sphere'><float name='radius' "
                                               "value='1'/><bsdf type='conductor' "
                                               "id='m'>" GREY("eta", ".4")
                                                   GREY("k", "2.5") "</bsdf></shape>" WALLS(
                                                       "<bsdf type='diffuse' id='wall'><rgb "
                                                       "name='reflectance' value='.6,.5,.3'/></bsdf>") LAMP,
      .parameters = {"a.theta.value", "glass.eta", "glass.specular_reflectance.value", "m.eta.value",
                     "wall.reflectance.value"},
      .step = 1e-4},
     9},
    {{.name = "plastic",
      .sensor = SENSOR,
      .body = PLATE(
          "-3",
          "<bsdf type='polarizer' id='a'>" NUMBER(
              "theta",
              "20") "</bsdf>") "<shape type='sphere'><float name='radius' value='2.5'/><bsdf type='pplastic' "
                               "id='p'>" NUMBER(
                                   "alpha",
                                   ".3") "<rgb name='diffuse_reflectance' "
                                         "value='.5,.4,.3'/>" GREY(
                                             "specular_reflectance",
                                             ".9") "</bsdf></shape>" WALLS("<bsdf type='diffuse' "
                                                                           "id='wall'><rgb "
                                                                           "name='reflectance' "
                                                                           "value='.6,.5,.3'/></bsdf>")
                                             LAMP SKY,
      .parameters = {"a.theta.value", "p.alpha.value", "p.diffuse_reflectance.value",
                     "p.specular_reflectance.value", "wall.reflectance.value", "lamp.radiance.value"},
      .step = 1e-4},
     5},
    {{.name = "materials in materials",
      .sensor = SENSOR,
      .body = PLATE(
          "-3",
          "<bsdf type='mask' id='m'>" NUMBER(
              "opacity",
              ".6") "<bsdf type='polarizer' "
                    "id='a'>" NUMBER(
                        "theta",
                        "20") "</bsdf></bsdf>") "<shape type='sphere'><float name='radius' "
                                                "value='2.5'/><bsdf type='blendbsdf' "
                                                "id='b'>" NUMBER(
                                                    "weight",
                                                    ".4") "<bsdf "
                                                          "type='roughconductor' "
                                                          "id='rough'>" NUMBER(
                                                              "alph"
                                                              "a",
                                                              ".3") GREY("eta", "1.4")
                                                              GREY("k", "3.5") "</bsdf><bsdf type='pplastic' "
                                                                               "id='p'>" NUMBER(
                                                                                   "alpha",
                                                                                   ".2") "</bsdf></"
                                                                                         "bsdf></"
                                                                                         "shape"
                                                                                         ">" WALLS("<b"
                                                                                                   "sd"
                                                                                                   "f "
                                                                                                   "ty"
                                                                                                   "pe"
                                                                                                   "='"
                                                                                                   "di"
                                                                                                   "ff"
                                                                                                   "us"
                                                                                                   "e'"
                                                                                                   " i"
                                                                                                   "d="
                                                                                                   "'w"
                                                                                                   "al"
                                                                                                   "l'"
                                                                                                   "><"
                                                                                                   "rg"
                                                                                                   "b "
                                                                                                   "na"
                                                                                                   "me"
                                                                                                   "='"
                                                                                                   "re"
                                                                                                   "fl"
                                                                                                   "ec"
                                                                                                   "ta"
                                                                                                   "nc"
                                                                                                   "e'"
                                                                                                   " v"
                                                                                                   "al"
                                                                                                   "ue"
                                                                                                   "='"
                                                                                                   ".6"
                                                                                                   ",."
                                                                                                   "5,"
                                                                                                   ".3"
                                                                                                   "'/"
                                                                                                   "><"
                                                                                                   "/b"
                                                                                                   "sd"
                                                                                                   "f"
                                                                                                   ">")
                                                                                             LAMP SKY,
      .parameters = {"a.theta.value", "m.opacity.value", "b.weight.value", "rough.k.value",
                     "p.diffuse_reflectance.value", "wall.reflectance.value"},
      .step = 1e-4},
     5},
    /* Ten vertices between two mirrors. */
    {{.name = "a long segment",
      .sensor = SENSOR,
      .body = FACING("1", "<bsdf type='twosided'><bsdf type='conductor' id='m'>" GREY("eta", ".4")
                              GREY("k", "2.5") "</bsdf></bsdf>")
          FACING("-12", "<bsdf type='twosided'><bsdf type='conductor' id='n'>" GREY("eta", ".4")
                            GREY("k", "1.5") "</bsdf></bsdf>")
              PLATE("-3", "<bsdf type='polarizer' id='a'>" NUMBER("theta", "20") "</bsdf>")
                  PLATE("-1", "<bsdf type='retarder' id='r'>" NUMBER("delta", "50") "</bsdf>") SKY,
      .parameters = {"a.theta.value", "m.eta.value", "n.k.value", "r.delta.value", "sky.radiance.value"},
      .step = 1e-3},
     12},
    {{.name = "glass that disperses",
      .sensor = SENSOR,
      .rr_depth = 4,
      .body = PLATE("-3", "<bsdf type='polarizer' id='a'>" NUMBER("theta", "20") "</bsdf>") PRISM METAL WALLS(
          "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.5,.3'/></bsdf>") LAMP,
      .parameters = {"a.theta.value", "glass.eta", "m.eta.value", "wall.reflectance.value"},
      .step = 1e-4},
     9},
    /* A black wall, and circular polarisers of both hands, which let exactly nothing through. */
    {{.name = "what lets nothing through",
      .sensor = SENSOR,
      .body = PLATE("-3", "<bsdf type='circular' id='a'><boolean name='left_handed' value='true'/></bsdf>")
          PLATE("-1", "<bsdf type='circular' id='b'/>") "<shape type='sphere'><float name='radius' "
                                                        "value='2.5'/><bsdf type='diffuse' id='black'>" GREY(
                                                            "reflectance",
                                                            "0") "</bsdf></shape>" WALLS("<bsdf "
                                                                                         "type='diffuse' "
                                                                                         "id='wall'><rgb "
                                                                                         "name='reflectance' "
                                                                                         "value='.6,.5,0'/></"
                                                                                         "bsdf>") LAMP SKY,
      .parameters = {"a.transmittance.value", "b.transmittance.value", "black.reflectance.value",
                     "wall.reflectance.value"}},
     5},
};
enum { CASES = sizeof cases / sizeof *cases };

static void sample_agrees(sample_check *s, scene_eval_at at)
{
    const double step = s->scene->step > 0 ? s->scene->step : 0.1,
                 rounding = s->scene->step > 0 ? 1e-3 / step : 1;
    /* The coefficients of spectra are found by a search, which ends at about this. */
    const double exact = s->e->scene->mode->light == LIGHT_SPECTRAL ? 1e-6 : 1e-9;
    double replay[SAMPLE_CHECK_ELEMENTS];
    for (int f64 = 0; f64 < 2; f64++) {
        double tolerance = f64 ? 1e-9 : 2e-4;
        at.f64 = f64;
        sample_check_unrolled(s, at, tolerance, 0, replay);
        sample_check_run_clean(s, RENDER_GRADIENT, at);
        memcpy(replay, s->e->gradient, s->elements * sizeof *replay);
        sample_check_run_clean(s, RENDER_ADJOINT, at);
        sample_check_same(s, at, "separate kernels", replay, tolerance * sample_check_largest(s, replay));
    }
    sample_difference d = sample_check_differences(s, at, replay, step, 0);
    sample_check_near(s, at, (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                      exact * (sample_check_largest(s, replay) + d.here) * rounding);
    sample_check_forward(s, at, replay);
}

/* The scene with a film of another type. */
static const char *with_film(arena *a, const char *xml, const char *type)
{
    const char *usual = strstr(xml, "hdrfilm");
    assert_non_null(usual);
    return arena_printf(a, "%.*s%s%s", (int)(usual - xml), xml, type, usual + strlen("hdrfilm"));
}

/* What the image of a case is: intensities, or Stokes vectors whole. */
static void case_agrees(const polarized_case *c, const char *mode, const char *film)
{
    arena a = {0};
    uint32_t random = 5;
    sample_check s = {.scene = &c->scene, .variant = arena_printf(&a, "%s, %s", mode, film)};
    const char *xml = scene_case_xml(&a, &c->scene, c->depth, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
    scene_eval *e = scene_eval_create_with(with_film(&a, xml, film), folder, c->scene.parameters,
                                           scene_case_parameter_count(&c->scene), false,
                                           &(render_overrides){.mode = mode});
    e->options = (render_trace_options){
        .walks_again = strcmp(mode, "rgb_polarized") == 0, /* either form */
        .unrolled_depth = (uint32_t)c->depth,
    };
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++)
        sample_agrees(&s, sample_check_draw(&random, true));
    for (uint32_t k = 0; k < scene_case_parameter_count(&c->scene); k++)
        if (!strstr(c->scene.name, "nothing"))
            sample_check_expect_reached(&s, k, 1);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void replay_agrees(void **state)
{
    const polarized_case *c = *state;
    static const char *const modes[] = {"mono_polarized", "rgb_polarized", "spectral_polarized"};
    const bool black = strstr(c->scene.name, "nothing"); /* Spectra of black do not move by small steps. */
    for (uint32_t m = 0; m < (black ? 2 : 3); m++) {
        case_agrees(c, modes[m], "hdrfilm");
        case_agrees(c, modes[m], "stokesfilm");
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    struct CMUnitTest tests[CASES];
    for (uint32_t k = 0; k < CASES; k++)
        tests[k] =
            (struct CMUnitTest){cases[k].scene.name, replay_agrees, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
