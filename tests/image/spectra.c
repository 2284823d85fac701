/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do spectrum plugins give the right colours? They are seen directly, as a light and as a reflectance, and
 * each sample's colour is compared with numbers from elsewhere:
 *
 *   black bodies     chromaticities of the Planckian locus and CIE standard illuminant A (CIE 15:2004), and
 *                    the luminance that once defined the candela: a black body at the freezing point of
 *                    platinum, 2042 K, has 60 cd / cm^2
 *   curves           colours that Mitsuba 3.9.1 gives for the same samples in a <spectrum>
 *   held             which parameters have their curves clamped to [0, 1], and which have not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_probe.h"

#include <math.h>

enum { SEED = 3 };
static const double luminance_norm = 106.7502593994140625, lumens_per_watt = 683.002;

/* What a rectangle in front of the camera radiates, or reflects of a sky of 1. */
static void seen(const char *texture, bool reflected, double rgb[3])
{
    arena a = {0};
    const char *open = reflected ? "<bsdf type='diffuse'>" : "<emitter type='area'>",
               *close = reflected ? "</bsdf>" : "</emitter>";
    const char *integrator = "<integrator type='direct'><integer name='emitter_samples' value='0'/><integer "
                             "name='bsdf_samples' value='1'/></integrator>";
    const char *sensor = "<sensor type='perspective'><float name='fov' value='20'/><transform "
                         "name='to_world'><lookat origin='0,0,1' target='0,0,0' up='0,1,0'/>"
                         "</transform><film type='hdrfilm'><integer name='width' value='1'/><integer "
                         "name='height' value='1'/><rfilter type='box'/></film></sensor>";
    const char *body = arena_printf(&a, "<shape type='rectangle'>%s%s%s</shape>%s", open, texture, close,
                                    reflected ? "<emitter type='constant'/>" : "");
    scene_eval *e = scene_eval_create(scene_xml(&a, integrator, sensor, body), "", NULL, 0);
    scene_probe_sample(e, 0, 0, SEED, rgb);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void expect(const char *texture, bool reflected, double r, double g, double b)
{
    const double expected[3] = {r, g, b};
    double rgb[3];
    seen(texture, reflected, rgb);
    for (int c = 0; c < 3; c++)
        if (!(fabs(rgb[c] - expected[c]) <= 3e-6 * (1 + expected[c])))
            fail_msg("%s, channel %d: %.8g, expected %.8g", texture, c, rgb[c], expected[c]);
}

#define AS(name, type, inside) "<spectrum type='" type "' name='" name "'>" inside "</spectrum>"
#define REGULAR(name, least, most, values)                                                                   \
    AS(name, "regular",                                                                                      \
       "<float name='wavelength_min' value='" least "'/><float name='wavelength_max' value='" most           \
       "'/><string name='values' value='" values "'/>")
#define IRREGULAR(name, wavelengths, values)                                                                 \
    AS(name, "irregular",                                                                                    \
       "<string name='wavelengths' value='" wavelengths "'/><string name='values' value='" values "'/>")

static void curves_are_coloured_by_their_use(void **state)
{
    (void)state;
    expect(IRREGULAR("reflectance", "400,500,700", ".2,.5,.8"), true, .7059713, .5701009, .33213866);
    expect(IRREGULAR("radiance", "400,500,700", ".2,.5,.8"), false, .8384036, .54280597, .29413432);
    expect(IRREGULAR("reflectance", "500,520", "1,1"), true, 0, .19376843, .01458608); /* out of gamut */
    expect(IRREGULAR("reflectance", "360, 830", "1.5 1.5"), true, 1, 1, 1);            /* too bright */
    expect(REGULAR("radiance", "400", "700", "1.5,1.8"), false, 2.0816324, 1.5606967, 1.3892739);
    expect(REGULAR("reflectance", "400", "700", ".5,.65,.8"), true, .7389155, .6428149, .5382672);
    expect("<texture type='checkerboard' name='radiance'>" REGULAR("color0", "400", "700", ".5,.8")
               REGULAR("color1", "400", "700", ".5,.8") "</texture>",
           false, .7389155, .6428149, .5382672); /* what a pattern is made of is no light */
    expect("<texture type='checkerboard' name='radiance'><float name='color0' value='6'/><rgb name='color1' "
           "value='6,6,6'/></texture>",
           false, 6, 6, 6);
}

static void constants_are_taken_as_they_are(void **state)
{
    (void)state;
    expect(AS("radiance", "uniform", "<float name='value' value='2'/>"), false, 2, 2, 2);
    expect(AS("reflectance", "uniform", "<float name='value' value='.3'/>"), true, .3, .3, .3);
    expect(AS("radiance", "rawconstant", "<vector name='value' value='2,3,4'/>"), false, 2, 3, 4);
    expect(AS("radiance", "d65", "<rgb name='color' value='2,3,4'/><float name='scale' value='.5'/>"), false,
           1, 1.5, 2);
    expect(AS("reflectance", "d65", "<float name='scale' value='.5'/>"), true, .5, .5, .5);
    expect(AS("radiance", "d65",
              "<float name='scale' value='9'/><texture type='checkerboard'><float name='color0' "
              "value='.6'/><float name='color1' value='.6'/>"
              "</texture>"),
           false, .6, .6, .6);
}

static void black_bodies(void **state)
{
    (void)state;
    static const struct {
        double x, y;
        const char *texture;
    } bodies[] = {
        {.44757, .40745,
         AS("radiance", "blackbody", "<float name='temperature' value='2855.6'/>")}, /* illuminant A */
        {.34510, .35162, AS("radiance", "blackbody", "<float name='temperature' value='5000'/>")},
        {.28063, .28828, AS("radiance", "blackbody", "<float name='temperature' value='10000'/>")},
    };
    static const double to_xyz[3][3] = {
        {.412453, .357580, .180423}, {.212671, .715160, .072169}, {.019334, .119193, .950227}};
    double rgb[3], xyz[3];
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        seen(bodies[i].texture, false, rgb);
        for (int k = 0; k < 3; k++)
            xyz[k] = to_xyz[k][0] * rgb[0] + to_xyz[k][1] * rgb[1] + to_xyz[k][2] * rgb[2];
        double sum = xyz[0] + xyz[1] + xyz[2];
        if (!(fabs(xyz[0] / sum - bodies[i].x) < 2e-4 && fabs(xyz[1] / sum - bodies[i].y) < 2e-4))
            fail_msg("%s: chromaticity (%.5f, %.5f), expected (%.5f, %.5f)", bodies[i].texture, xyz[0] / sum,
                     xyz[1] / sum, bodies[i].x, bodies[i].y);
    }
    seen(AS("radiance", "blackbody", "<float name='temperature' value='2042'/>"), false, rgb);
    double candelas =
        (.212671 * rgb[0] + .715160 * rgb[1] + .072169 * rgb[2]) * luminance_norm * lumens_per_watt;
    if (!(fabs(candelas - 6e5) < 0.01 * 6e5))
        fail_msg("%.6g cd / m^2 at the freezing point of platinum, expected 6e5", candelas);
    seen(AS("radiance", "blackbody", "<float name='temperature' value='100'/>"), false, rgb);
    assert_true(rgb[0] < 1e-30 && rgb[1] < 1e-30 && rgb[2] < 1e-30); /* too cold for light, and no NaN */
}

static void holds_colour(const char *parameter, const char *object, double r, double g, double b)
{
    const double expected[3] = {r, g, b};
    arena a = {0};
    const char *body = arena_printf(&a, "<shape type='cube' id='s'>%s</shape>", object);
    const char *integrator = "<integrator type='volpath'/>", *sensor = "<sensor type='perspective'/>";
    scene_eval *e = scene_eval_create(scene_xml(&a, integrator, sensor, body), "", NULL, 0);
    const double *value = e->values + scene_eval_value_first(e, parameter);
    for (int c = 0; c < 3; c++)
        if (!(fabs(value[c] - expected[c]) <= 1e-5))
            fail_msg("%s of %s, channel %d: %.8g, expected %.8g", parameter, object, c, value[c],
                     expected[c]);
    scene_eval_destroy(e);
    arena_free(&a);
}

#define CURVE(name) "<spectrum name='" name "' value='400:1.4, 700:2.5'/>"

static void curves_are_held_where_a_share_is_meant(void **state)
{
    (void)state;
    static const char *const shares[] = {"roughness",  "anisotropic",    "spec_tint", "sheen",
                                         "sheen_tint", "flatness",       "metallic",  "spec_trans",
                                         "clearcoat",  "clearcoat_gloss"};
    arena a = {0};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        holds_colour(
            arena_printf(&a, "m.%s.value", shares[i]),
            arena_printf(
                &a, "<bsdf type='principled' id='m'><spectrum name='%s' value='400:1.4, 700:2.5'/></bsdf>",
                shares[i]),
            1, 1, 1);
    arena_free(&a);
    holds_colour("m.diff_trans.value", "<bsdf type='principledthin' id='m'>" CURVE("diff_trans") "</bsdf>", 1,
                 1, 1);
    holds_colour(
        "m.sigma_t.value.value",
        "<bsdf type='null'/><medium type='homogeneous' id='m' name='interior'>" CURVE("sigma_t") "</medium>",
        1, 1, 1);
    const char *volume = "<bsdf type='null'/><medium type='homogeneous' id='m' name='interior'><volume "
                         "type='constvolume' name='sigma_t'>" CURVE("value") "</volume></medium>";
    holds_colour("m.sigma_t.value.value", volume, 2.27804, 1.92376, 1.54252);
    holds_colour("m.alpha.value", "<bsdf type='roughconductor' id='m'>" CURVE("alpha") "</bsdf>", 2.27804,
                 1.92376, 1.54252);
    holds_colour("m.eta.value", "<bsdf type='principledthin' id='m'>" CURVE("eta") "</bsdf>", 2.27804,
                 1.92376, 1.54252);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_are_coloured_by_their_use),
        cmocka_unit_test(constants_are_taken_as_they_are),
        cmocka_unit_test(black_bodies),
        cmocka_unit_test(curves_are_held_where_a_share_is_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
