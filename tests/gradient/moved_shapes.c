/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients by to_world of shapes right, in scenes where no edge moves?
 *
 *   a lamp    turns, moves and grows over a floor, and a sample's light comes from the point of the lamp
 *             that it chose. Reverse and forward mode equal differences of images in which the lamp has
 *             really moved, and differences along frozen paths. Light sampling alone, the material's
 *             sampling alone and both together have the same gradient. They can only if all of them move
 *             the lamp's points alike, and its area.
 *   others    a floor moves under its picture. A room grows round its lamp while light goes to and fro in
 *             it. A lamp that shows a volume shows other parts of it as it moves. Shapes of many primitives
 *             are met anew along a ray that moves.
 *
 * Ordinary runs take the floor, that lamp and an ellipsoid, because compiling takes the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDINARY = 3, LAMP = 6 /* in cases */ };

static scene_device device;
static char *folder;

#define GROUND                                                                                               \
    "<shape type='rectangle' id='ground'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP(    \
        "reflectance") "</bsdf></shape>"
#define OVER TO_WORLD("<scale value='.7,.5,1'/><rotate x='1' angle='150'/><translate value='1.6,.3,1.6'/>")
#define VOLUME                                                                                               \
    "<emitter type='area'><texture type='volume' name='radiance'><volume type='gridvolume' "                 \
    "name='volume'><string name='filename' value='tint.vol'/>" TO_WORLD(                                     \
        "<translate value='-.5,-.5,-.6'/><scale value='5'/>") "</volume></texture></emitter>"
#define BULB "<emitter type='point'><point name='position' value='1,.6,2'/></emitter>"
#define SHINES "<emitter type='area'>" BITMAP("radiance") "</emitter>"

static const moved_case cases[] = {
    {"floor under its picture",
     DIRECT("1", "0"),
     MOVED_DOWN,
     "<shape type='rectangle' id='it'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP(
         "reflectance") "</bsdf></shape>" BULB,
     "it.to_world",
     {{.1, -.2, .3}, .2, {.3, -.5, .2}},
     64,
     .005},
    {"lamp in view that shows a volume",
     DIRECT("1", "0"),
     MOVED_DOWN,
     "<shape type='rectangle' id='it'>" TO_WORLD("<scale value='3'/>") VOLUME "</shape>",
     "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}},
     64,
     .005},
    {"ellipsoid",
     DIRECT("1", "0"),
     MOVED_DOWN,
     "<shape type='ellipsoids' id='it'><string name='filename' value='gaussian.ply'/>" TO_WORLD(
         "<scale value='3'/><rotate x='.6' y='.8' angle='20'/><translate z='-6.5'/>") "<bsdf "
                                                                                      "type='diffuse'/></"
                                                                                      "shape>" BULB,
     "it.to_world",
     {{.1, -.2, .3}, .1, {.3, -.5, .2}},
     64,
     .03},
    {"grid of distances",
     DIRECT("1", "0"),
     MOVED_DOWN,
     "<shape type='sdfgrid' id='it'><string name='filename' value='ball.vol'/>" TO_WORLD(
         "<translate value='-.5,-.5,-.5'/><scale value='20,18,17'/><rotate x='.6' y='.8' "
         "angle='20'/><translate z='-7'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.to_world",
     {{.1, -.2, .3}, .1, {.3, -.5, 1.2}},
     64,
     .03},
    {"linear curve",
     DIRECT("1", "0"),
     MOVED_DOWN,
     "<shape type='linearcurve' id='it'><string name='filename' value='rod.curves'/>" TO_WORLD(
         "<rotate x='.6' y='.8' angle='20'/><translate z='-6.5'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.to_world",
     {{.1, -.2, .3}, .1, {.3, -.5, .2}},
     64,
     .03},
    {"B-spline curve",
     DIRECT("1", "0"),
     MOVED_DOWN,
     "<shape type='bsplinecurve' id='it'><string name='filename' value='strand.curves'/>" TO_WORLD(
         "<rotate x='.6' y='.8' angle='20'/><translate z='-6.8'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.to_world",
     {{.1, -.2, .3}, .1, {.3, -.5, .2}},
     64,
     .03},
    {"lamp, light sampling",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUND "<shape type='rectangle' id='it'>" OVER SHINES "</shape>",
     "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}},
     64,
     .01},
    {"lamp that shows a volume, light sampling",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUND "<shape type='rectangle' id='it'>" OVER VOLUME "</shape>",
     "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}},
     64,
     .01},
    {"ball that shines",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUND "<shape type='sphere' id='it'><float name='radius' value='.4'/>" TO_WORLD(
         "<rotate x='1' angle='40'/><translate value='1.2,.3,1.2'/>") "<emitter type='area'/></shape>",
     "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}},
     256,
     .02}, /* it is sampled by direction, so these are other samples */
    {"plate that shines",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUND "<shape type='disk' id='it'>" OVER SHINES "</shape>",
     "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}},
     64,
     .01},
    {"tube that shines",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUND
     "<shape type='cylinder' id='it'>" TO_WORLD("<scale value='.3'/><rotate x='1' angle='60'/><translate "
                                                "value='1.2,.3,1.2'/>") "<emitter type='area'/></shape>",
     "it.to_world",
     {{.3, -.2, .5}, .4, {.3, -.5, .2}},
     64,
     .01},
    {"room round its lamp",
     PATH("4"),
     "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD(
         "<lookat origin='0,0,.5' target='.1,.1,-1' up='0,1,0'/>") MOVED_FILM "</sensor>",
     "<shape type='cube' id='it'><bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' "
     "value='.8,.6,.4'/></bsdf></bsdf></shape>"
     "<emitter type='point'><point name='position' value='.4,.3,.2'/></emitter>",
     "it.to_world",
     {{.1, .3, .2}, .5, {.2, -.1, .3}},
     512,
     .03},
};

static void gradient_equals_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < (getenv("BL_LONG") ? sizeof cases / sizeof *cases : ORDINARY); k++)
        moved_expect(&device, &cases[k], folder);
}

/* The lamp's gradient, by strategies of which each samples all of it: the same but for noise. */
static void strategies_agree(void **state)
{
    (void)state;
    enum { RUNS = 4 };
    static const char *const strategies[3] = {DIRECT("1", "0"), DIRECT("1", "1"), DIRECT("0", "1")};
    static const uint32_t spp[3] = {32, 64, 512};
    double mean[3] = {0}, error[3] = {0}, size;
    for (int k = 0; k < 3; k++) {
        double square = 0;
        moved_scene m = moved_load(&device, &cases[LAMP], strategies[k], folder);
        m.spp = spp[k];
        for (uint32_t run = 0; run < RUNS; run++) {
            double g = moved_gradient(&m, 100 + run, &size);
            mean[k] += g / RUNS, square += g * g / RUNS;
        }
        error[k] = sqrt(fmax(square - mean[k] * mean[k], 0) / (RUNS - 1));
        print_message("strategy %d: %.6g +- %.2g\n", k, mean[k], error[k]);
        moved_free(&m);
    }
    for (int k = 1; k < 3; k++) {
        assert_true(error[k] < 0.1 * fabs(mean[0]));
        assert_true(fabs(mean[k] - mean[0]) < 5 * hypot(error[k], error[0]));
    }
}

/* What cannot be: clear errors. */
static void refused(void **state)
{
    (void)state;
    moved_scene m = moved_load(&device, &cases[LAMP], NULL, folder);
    float bad[16];
    memcpy(bad, m.start, sizeof bad);
    bad[5] = NAN;
    assert_int_equal(bl_job_set_parameter(m.job, m.parameter, bad), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "it.to_world: entry 1 of row 1 is not finite"));
    memset(bad, 0, sizeof bad), bad[15] = 1;
    assert_int_equal(bl_job_set_parameter(m.job, m.parameter, bad), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "it.to_world is singular"));
    uint32_t ground = scene_device_find(&device, m.scene, "ground.to_world");
    assert_int_equal(bl_job_set_parameter(m.job, ground, m.start), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "ground.to_world: this stays where it is"));
    moved_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_equals_differences),
                                       cmocka_unit_test(refused), cmocka_unit_test(strategies_agree)};
    size_t count = getenv("BL_LONG") ? 3 : 2; /* the last one takes minutes */
    return scene_device_run(&device, &folder, "moved shapes", tests, count, NULL);
}
