/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Borders of shadows from lights without extent, in participating media and where surfaces let light straight
 * through (support/edge_cases.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

static scene_device device;
static char *folder;

#define POINT(id, at, intensity)                                                                             \
    "<emitter type='point' id='" id "'><point name='position' value='" at                                    \
    "'/><rgb name='intensity' value='" intensity "'/></emitter>"
#define SOME_BALL BALL("<translate value='.07,.1,.2'/>")
/* In front of nothing, so that the medium is all that is lit. */
#define DARK_WALL                                                                                            \
    "<shape type='rectangle'>" AT(                                                                           \
        "<scale value='5'/><translate z='-1'/>") "<bsdf type='diffuse'><rgb name='reflectance' "             \
                                                 "value='0'/></bsdf></shape>"

/* A shadow that no window of the image touches with a corner alone: there differences would miss it. */
#define SOME_BULB POINT("bulb", "1.5,.5,1.7", "10")
#define MASKED_BALL                                                                                          \
    "<shape type='sphere' id='it'><float name='radius' value='.4'/>" AT(                                     \
        "<translate value='.07,.1,.2'/>") "<bsdf type='mask'><float name='opacity' value='.6'/>"             \
                                          "<bsdf type='twosided'><bsdf "                                     \
                                          "type='diffuse'/></bsdf></bsdf></shape>"
#define SPOT                                                                                                 \
    "<emitter type='spot' id='bulb'>" AT(                                                                    \
        "<lookat origin='1.2,.4,2' target='.07,.1,.2' up='0,1,0'/>") "<rgb "                                 \
                                                                     "name='intensity' value='10'/><float "  \
                                                                     "name='cutoff_angle' "                  \
                                                                     "value='20'/><float name='beam_width' " \
                                                                     "value='20'/></emitter>"
#define SUN                                                                                                  \
    "<emitter type='directional'><vector name='direction' value='-1,-.4,-1'/><rgb name='irradiance' "        \
    "value='3'/></emitter>"

static const struct {
    edge_case c;
    const char *integrator;
} cases[] = {
    {{"a ball in fog, scattered once",
      "2",
      FRONT,
      DARK_WALL HULL(FOG(".8")) SOME_BALL SOME_BULB,
      "it.to_world",
      {1, .2, .3},
      64,
      0.01},
     "volpath"},
    {{"a ball in fog before a wall",
      "2",
      FRONT,
      WALL HULL(FOG(".8")) SOME_BALL SOME_BULB,
      "it.to_world",
      {1, .2, .3},
      64,
      0.01},
     "volpath"},
    {{"a ball in fog, scattered often",
      "4",
      FRONT,
      WALL HULL(FOG(".8")) SOME_BALL SOME_BULB,
      "it.to_world",
      {1, .2, .3},
      128,
      0.02},
     "prbvolpath"},
    {{"the bulb moves",
      "3",
      FRONT,
      WALL HULL(FOG(".8")) SOME_BALL SOME_BULB,
      "bulb.position",
      {1, .2, .3},
      128,
      0.02},
     "volpath"},
    {{"the camera moves",
      "3",
      FRONT,
      WALL HULL(FOG(".8")) SOME_BALL SOME_BULB,
      "sensor.translation",
      {1, .3, .2},
      128,
      0.02},
     "volpath"},
    {{"a ball under the sun",
      "3",
      FRONT,
      WALL HULL(FOG(".8")) SOME_BALL SUN,
      "it.to_world",
      {1, .2, .3},
      64,
      0.02},
     "volpathmis"},
    {{"a spot moves, and its cone ends at once",
      "3",
      FRONT,
      WALL HULL(FOG(".8")) SOME_BALL SPOT,
      "bulb.to_world",
      {1, .2, .3},
      128,
      0.02},
     "volpath"},
    {{"a half transparent ball without any medium",
      "4",
      FRONT,
      WALL MASKED_BALL SOME_BULB,
      "it.to_world",
      {1, .2, .3},
      64,
      0.01},
     "volpath"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void expect_case(void **state)
{
    uintptr_t i = (uintptr_t)*state;
    edge_case_expect(&device, folder, cases[i].integrator, &cases[i].c);
}

int main(void)
{
    struct CMUnitTest tests[CASES];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].c.name, expect_case, NULL, NULL, (void *)(uintptr_t)i};
    return scene_device_run(&device, &folder, "edges-shafts", tests, CASES, NULL);
}
