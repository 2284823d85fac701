/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that move in and behind participating media, and where surfaces let light straight through
 * (support/edge_cases.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

#define GLOWING_FOG                                                                                          \
    "<medium type='homogeneous' name='interior'><rgb name='sigma_t' value='.5,.3,.2'/><float name='albedo' " \
    "value='.5'/><rgb name='emission' value='.2,.3,.1'/></medium>"
#define SHINES(value) "<emitter type='area'><rgb name='radiance' value='" value "'/></emitter>"
#define SHINING_WALL                                                                                         \
    "<shape type='rectangle'>" AT("<scale value='5'/><translate z='-1'/>") SHINES(".3") "</shape>"
#define SHINING_BALL                                                                                         \
    "<shape type='sphere' id='it'><float name='radius' value='.5'/>" AT("<translate value='.1,.05,.3'/>")    \
        SHINES("1") "</shape>"
#define BALL_IN_FOG                                                                                          \
    WALL HULL(FOG(".8")) BALL("<translate value='.07,.1,.2'/>") LAMP("lamp", ".7", "1.6,0,3.2")
/* Its grid ends in front of the ball. */
#define THIN_SMOKE                                                                                           \
    "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string "         \
    "name='resolution' value='2'/><float name='value' value='1.5'/>" AT(                                     \
        "<translate value='-.5,-.5,-.5'/><scale value='3,3,.4'/><translate z='.85'/>") "</volume><float "    \
                                                                                       "name='albedo' "      \
                                                                                       "value='.8'/></"      \
                                                                                       "medium>"
#define BALL_BEHIND_SMOKE                                                                                    \
    WALL HULL(THIN_SMOKE) BALL("<translate value='.07,.1,.2'/>") LAMP("lamp", ".7", "1.6,0,3.2")
#define VEIL(medium)                                                                                         \
    "<shape type='sphere' id='it'><float name='radius' value='.5'/>" AT(                                     \
        "<translate value='.1,.05,.3'/>") "<bsdf type='mask'><float name='opacity' value='.4'/><bsdf "       \
                                          "type='twosided'><bsdf type='diffuse'><rgb "                       \
                                          "name='reflectance' "                                              \
                                          "value='.2,.5,.8'/></bsdf></bsdf></bsdf>" medium "</shape>"

static const edge_case_in cases[] = {
    {{"seen: a ball that shines in a medium that absorbs",
      "2",
      FRONT,
      SHINING_WALL HULL(FOG("0")) SHINING_BALL,
      "it.to_world",
      {1, .3, .5},
      64,
      .004},
     "volpath"},
    {{"seen: the camera, before a medium",
      "2",
      FRONT,
      SHINING_WALL HULL(FOG("0")) SHINING_BALL,
      "sensor.translation",
      {1, .3, .5},
      64,
      .004},
     "volpath"},
    {{"path: a ball in fog under a lamp", "3", FRONT, BALL_IN_FOG, "it.to_world", {1, .2, .3}, 64, .02},
     "volpath"},
    {{"seen: a ball in fog that glows",
      "1",
      FRONT,
      WALL HULL(GLOWING_FOG) BALL("<translate value='.07,.1,.2'/>"),
      "it.to_world",
      {1, .2, .3},
      64,
      .005},
     "volpath"},
    {{"path: a ball in fog that glows",
      "2",
      FRONT,
      WALL HULL(GLOWING_FOG) BALL("<translate value='.07,.1,.2'/>"),
      "it.to_world",
      {1, .2, .3},
      64,
      .005},
     "volpath"},
    {{"lit: a small lamp in fog",
      "3",
      FRONT,
      WALL HULL(FOG(".8")) BALL("<translate value='.07,.1,.2'/>") LAMP("lamp", ".15", "1.6,0,3.2"),
      "it.to_world",
      {1, .2, .3},
      64,
      .02},
     "volpath"},
    {{"all: fog under a lamp whose vertices move",
      "3",
      FRONT,
      WALL HULL(FOG(".8")) MESH_LAMP,
      "it.vertex_positions",
      {1, .2, .3},
      192,
      .004},
     "volpath"},
    {{"path: its lamp moves", "3", FRONT, BALL_IN_FOG, "lamp.to_world", {1, .2, .3}, 192, .02}, "volpath"},
    {{"all: a ball in fog, the camera moves",
      "3",
      FRONT,
      BALL_IN_FOG,
      "sensor.translation",
      {1, .3, .2},
      128,
      .02},
     "prbvolpath"},
    {{"all: a ball behind smoke whose grid ends",
      "3",
      FRONT,
      BALL_BEHIND_SMOKE,
      "it.to_world",
      {1, .2, .3},
      64,
      .02},
     "volpath"},
    {{"all: the camera, before smoke whose grid ends",
      "3",
      FRONT,
      BALL_BEHIND_SMOKE,
      "sensor.translation",
      {1, .3, .5},
      64,
      .02},
     "volpath"},
    {{"all: a half transparent ball that is full of fog",
      "4",
      FRONT,
      WALL VEIL(FOG(".8")) SKY,
      "it.to_world",
      {1, .3, .2},
      96,
      .02},
     "volpathmis"},
    {{"all: a half transparent ball", "4", FRONT, WALL VEIL("") SKY, "it.to_world", {1, .3, .2}, 64, .02},
     "volpath"},
};

int main(void) { return edge_cases_run("edges-in-media", cases, sizeof cases / sizeof *cases); }
