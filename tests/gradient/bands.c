/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Films with bands (specfilm), which have more channels than light has, and sensors with a response (srf). In
 * the interpreter, sample by sample: replay fused and in separate kernels, the unrolled path, differences of
 * the weights along the path that stays, and forward mode agree. Under a sky of one power at all wavelengths
 * every sample has the sum of all bands that the integrals of their responses have; through a narrow response
 * it has the colour of that wavelength. What is refused says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/spectrum/spectrum.h"
#include "support/sample_check.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 24, BANDS = 5 };
static const double exact_tolerance = 1e-9, single_tolerance = 2e-5;

/* The last one is given as a plugin, and by other means. */
#define RESPONSES                                                                                            \
    "<spectrum name='infrared' value='720:0, 760:1, 900:1'/>"                                                \
    "<spectrum name='red' value='580:0, 620:1.5, 700:0'/>"                                                   \
    "<spectrum name='green' value='490:0, 550:1, 610:0'/>"                                                   \
    "<spectrum name='blue' value='400:.5, 450:1, 520:0'/>"                                                   \
    "<spectrum type='regular' name='all'><float name='wavelength_min' value='400'/><float "                  \
    "name='wavelength_max' value='700'/><string name='values' value='.2, .4, .2'/></spectrum>"
#define SENSOR(film, responses, srf)                                                                         \
    "<sensor type='perspective'><transform name='to_world'><lookat origin='0,-4,1' target='0,0,.3' "         \
    "up='0,0,1'/></transform><float name='fov' value='45'/>" srf "<film type='" film "'><integer "           \
    "name='width' value='6'/><integer name='height' value='6'/><rfilter type='box'/>" responses              \
    "</film></sensor>"
#define FILM(responses) SENSOR("specfilm", responses, "")

#define SCENE(responses, integrator, body)                                                                   \
    "<scene version='3.0.0'>" integrator FILM(responses) body "</scene>"
#define PATH "<integrator type='path'><integer name='max_depth' value='3'/></integrator>"

static const scene_case coloured = {
    .name = "bands",
    .body =
        "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.7,.3,.2'/></bsdf>"
        "<bsdf type='diffuse' id='floor'><spectrum name='reflectance' value='400:.2, 600:.8, 900:.5'/></bsdf>"
        "<shape type='sphere'><point name='center' value='0,0,.6'/><float name='radius' value='.6'/><ref "
        "id='wall'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><scale value='4'/></transform><ref "
        "id='floor'/></shape>"
        "<emitter type='constant' id='sky'><spectrum name='radiance' value='300:1, 500:3, 950:2'/></emitter>",
    .parameters = {"wall.reflectance.value", "floor.reflectance.values", "sky.radiance.values"}};

static scene_eval *in_bands(const char *xml, const scene_case *c)
{
    return scene_eval_create_with(xml, ".", c->parameters, scene_case_parameter_count(c), false,
                                  &(render_overrides){.mode = "spectral"});
}

static void sample_agrees(sample_check *s, scene_eval_at at)
{
    double replay[SAMPLE_CHECK_ELEMENTS];
    for (int f64 = 0; f64 < 2; f64++) {
        double tolerance = f64 ? exact_tolerance : single_tolerance;
        at.f64 = f64;
        sample_check_unrolled(s, at, tolerance, 0, replay);
        sample_check_run_clean(s, RENDER_GRADIENT, at);
        memcpy(replay, s->e->gradient, s->elements * sizeof *replay);
        sample_check_run_clean(s, RENDER_ADJOINT, at);
        sample_check_same(s, at, "separate kernels", replay, tolerance * sample_check_largest(s, replay));
    }
    sample_difference d = sample_check_differences(s, at, replay, 1e-3, 0);
    sample_check_near(s, at, (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                      1e-6 * (sample_check_largest(s, replay) + d.here));
    sample_check_forward(s, at, replay);
}

static void samples_agree_on(const char *variant, const char *sensor, uint32_t channels)
{
    uint32_t random = 5;
    arena a = {0};
    sample_check s = {.scene = &coloured, .variant = variant};
    const char *xml = arena_printf(&a, "<scene version='3.0.0'>" PATH "%s%s</scene>", sensor, coloured.body);
    scene_eval *e = in_bands(xml, &coloured);
    assert_int_equal(e->scene->film_channels, channels);
    e->options = (render_trace_options){.unrolled_depth = (uint32_t)e->scene->max_depth};
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++)
        sample_agrees(&s, sample_check_draw(&random, true));
    for (uint32_t k = 0; k < scene_case_parameter_count(&coloured); k++)
        sample_check_expect_reached(&s, k, 3);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void samples_agree(void **state)
{
    (void)state;
    samples_agree_on("specfilm", FILM(RESPONSES), BANDS);
    samples_agree_on("srf", SENSOR("hdrfilm", "", "<spectrum name='srf' value='380:.2, 450:1, 650:.4'/>"), 3);
}

#define NARROW SENSOR("hdrfilm", "", "<spectrum name='srf' value='549.99:0, 550:3, 550.01:0'/>")
#define SKY "<emitter type='constant' id='sky'><spectrum name='radiance' value='2'/></emitter>"

/* Of the CIE's table, in XYZ, over the integral of Y as Mitsuba has it, by Mitsuba's matrix. The response is
 * narrow enough for the curves to be what they are in its middle. */
static void a_narrow_response_sees_the_colour_of_its_wavelength(void **state)
{
    (void)state;
    static const scene_case sky = {.name = "sky", .parameters = {"sky.radiance.value"}};
    static const double seen[3] = {0.4334499, 0.9949501, 0.0087499}, y_integral = 106.750259, power = 2,
                        integral = 0.03,
                        to_rgb[3][3] = {{3.240479, -1.537150, -0.498535},
                                        {-0.969256, 1.875991, 0.041556},
                                        {0.055648, -0.204043, 1.057311}};
    uint32_t random = 3;
    sample_check s = {.scene = &sky, .variant = "srf"};
    scene_eval *e = in_bands("<scene version='3.0.0'>" PATH NARROW SKY "</scene>", &sky);
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        sample_check_run_clean(&s, RENDER_PRIMAL, at);
        for (uint32_t c = 0; c < 3; c++) {
            double expected = 0, found = e->film[3 * at.pixel + c], scale = power * integral / y_integral;
            for (int j = 0; j < 3; j++)
                expected += to_rgb[c][j] * seen[j] * scale;
            if (!(fabs(found - expected) <= 1e-3 * scale))
                fail_msg("channel %u of a sample is %g, expected %g", c, found, expected);
        }
    }
    scene_eval_destroy(e);
}

static void every_sample_of_a_sky_has_all_bands(void **state)
{
    (void)state;
    static const scene_case sky = {.name = "sky", .parameters = {"sky.radiance.value"}};
    uint32_t random = 3;
    sample_check s = {.scene = &sky, .variant = "specfilm"};
    scene_eval *e = in_bands(SCENE(RESPONSES, PATH, SKY), &sky);
    const double all = 20 + 140 + 90 + 60 + 37.5 + 35 + 90;
    double integrals = 0;
    for (uint32_t b = 0; b < BANDS; b++)
        integrals += bands_integral_of(e->scene->bands, b);
    assert_true(fabs(integrals - all) <= 1e-9 * all);
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        double sum = 0;
        sample_check_run_clean(&s, RENDER_PRIMAL, at);
        for (uint32_t b = 0; b < BANDS; b++)
            sum += e->film[BANDS * at.pixel + b];
        if (!(fabs(sum - 2 * all) <= 1e-4 * all))
            fail_msg("a sample has %g in all bands, expected %g", sum, 2 * all);
    }
    scene_eval_destroy(e);
}

static void mistakes_are_errors(void **state)
{
    (void)state;
#define ONE "<spectrum name='a' value='400:1, 500:1'/>"
    static const struct {
        const char *mode, *xml, *says;
    } bad[] = {
        {"rgb", SCENE(ONE, PATH, ""), "specfilm: light has no wavelengths in mode rgb"},
        {"spectral", SCENE("", PATH, ""), "needs 1 texture"},
        {"spectral", SCENE("<spectrum name='a' value='1'/>", PATH, ""), "unknown parameter \"a\""},
        {"spectral", SCENE("<spectrum name='a' value='400:0, 500:0'/>", PATH, ""),
         "the band \"a\" is 0 everywhere"},
        {"spectral", SCENE("<spectrum name='a' value='400:1, 500:-1'/>", PATH, ""),
         "the value -1 at 500 nm is negative"},
        {"spectral", SCENE(ONE ONE, PATH, ""), "\"a\" is given twice"},
        {"spectral", SCENE("<texture type='checkerboard' name='a'/>", PATH, ""), "is no spectrum of samples"},
        {"spectral", SCENE("<rgb name='a' value='1,0,0'/>", PATH, ""), "unknown parameter \"a\""},
        {"spectral",
         SCENE("<ref name='a' id='shared'/>", PATH,
               "<bsdf type='diffuse'><spectrum type='irregular' id='shared' name='reflectance'><string "
               "name='wavelengths' value='400,500'/><string name='values' value='1,1'/></spectrum></bsdf>"),
         "is also a spectrum of the scene"},
        {"spectral",
         SCENE("<spectrum name='d.T' value='400:1, 500:1'/>",
               "<integrator type='aov'><string name='aovs' value='d:depth'/><integrator "
               "type='path'/></integrator>",
               ""),
         "another channel called \"d.T\""},
        {"spectral", SCENE(ONE, "<integrator type='pssmlt'/>", "<emitter type='constant'/>"),
         "Metropolis integrators see colours"},
        {"spectral",
         "<scene version='3.0.0'>" SENSOR("specfilm", ONE,
                                          "<spectrum name='srf' value='400:1, 500:1'/>") "</scene>",
         "the film responds in the band \"a\""},
        {"rgb",
         "<scene version='3.0.0'>" SENSOR("hdrfilm", "",
                                          "<spectrum name='srf' value='400:1, 500:1'/>") "</scene>",
         "\"srf\" needs light of wavelengths, which mode rgb has not"},
        {"spectral",
         "<scene version='3.0.0'>" SENSOR("hdrfilm", "",
                                          "<spectrum name='srf' value='400:0, 500:0'/>") "</scene>",
         "\"srf\" is 0 everywhere"},
        {"spectral",
         "<scene version='3.0.0'>" SENSOR("hdrfilm", "", "<spectrum name='srf' value='1'/>") "</scene>",
         "must be a spectrum of samples"},
        {"spectral",
         "<scene version='3.0.0'>" SENSOR("hdrfilm", "",
                                          "<spectrum name='fov2' value='400:1, 500:1'/>") "</scene>",
         "unknown parameter \"fov2\""},
        {"spectral",
         "<scene version='3.0.0'><sensor type='batch'>" SENSOR(
             "hdrfilm", "", "<spectrum name='srf' value='400:1, 500:1'/>") "</sensor></scene>",
         "no responses (srf) of their own"},
        {"spectral_polarized",
         SCENE(ONE, "<integrator type='stokes'><integrator type='path'/></integrator>", ""),
         "the channels of stokes see colours"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        bl_error err = {0};
        scene_load_options o = {.registry = &render_registry, .spectral = strcmp(bad[k].mode, "rgb") != 0};
        scene_description *d;
        render_scene *s = NULL;
        bl_result r = scene_load_string(bad[k].xml, ".", &o, &d, &err);
        if (r == BL_OK)
            r = render_scene_create(d, &(render_overrides){.mode = bad[k].mode}, &s, &err);
        if (r == BL_OK || !strstr(err.text, bad[k].says))
            fail_msg("expected \"%s\", got %s: %s", bad[k].says, r == BL_OK ? "a scene" : "an error",
                     err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_agree),
        cmocka_unit_test(a_narrow_response_sees_the_colour_of_its_wavelength),
        cmocka_unit_test(every_sample_of_a_sky_has_all_bands),
        cmocka_unit_test(mistakes_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
