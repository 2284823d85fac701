/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Borders of shadows in participating media and where surfaces let light straight through, found from lights
 * (support/edge_cases.h): from lights without extent, which no ray finds, and from a sky. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

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
#define SMOKE                                                                                                \
    "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string "         \
    "name='filename' value='smoke.vol'/>" AT(                                                                \
        "<translate value='-.5,-.5,-.5'/><scale value='8,8,1.8'/><rotate y='1' angle='10'/><translate "      \
        "z='.3'/>") "</volume><float name='albedo' value='.8'/>"                                             \
                    "<phase type='hg'><float name='g' value='.4'/></phase></medium>"
/* Everywhere as dense: rays that went on for ever would be cut in it. */
#define EVEN_SMOKE                                                                                           \
    "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string "         \
    "name='resolution' value='4'/><float name='value' value='.5'/>" AT(                                      \
        "<translate value='-.5,-.5,-.5'/><scale value='20'/>") "</volume><float name='albedo' value='.8'/>"  \
                                                               "</medium>"
#define CUBE                                                                                                 \
    "<shape type='cube' id='it'>" AT("<scale value='.3'/><rotate x='1' y='.4' angle='40'/>"                  \
                                     "<translate value='.07,.1,.2'/>") "<bsdf type='diffuse'/></shape>"

static const edge_case_in cases[] = {
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
    {{"a cube in smoke, whose density is a grid",
      "3",
      FRONT,
      WALL HULL(SMOKE) CUBE SOME_BULB,
      "it.to_world",
      {1, .2, .3},
      128,
      .02},
     "volpath"},
    {{"a cube in smoke under the sky",
      "3",
      FRONT,
      WALL HULL(EVEN_SMOKE) CUBE SKY,
      "it.to_world",
      {1, .2, .3},
      128,
      .02},
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

int main(void) { return edge_cases_run("edges-shafts", cases, sizeof cases / sizeof *cases); }
