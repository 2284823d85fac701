/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where shapes go through each other, as a ball half sunk into the floor? The curve in
 * which they meet is no silhouette, and what is seen jumps there. Each case is compared with differences
 * (edge_cases.h): of all kinds, by either shape, by vertices and by the camera, seen straight on,
 * through fog, in a group, and by light that surfaces pass on. */
#include "support/edge_shapes.h"

#define TURNED "<rotate x='1' y='.3' z='.5' angle='40'/>"
/* Sunk into the ground, which is at z = -1. */
#define SUNK_BALL(matter)                                                                                    \
    SHAPE("sphere", "it", "<scale value='.4'/><translate value='.07,.1,-1.25'/>", matter)
#define SUNK_CUBE(matter)                                                                                    \
    SHAPE("cube", "it", "<scale value='.4'/>" TURNED "<translate value='.07,.1,-1.1'/>", matter)
/* About the x axis. */
#define TUBE(ops)                                                                                            \
    SHAPE("cylinder", "it", "<scale value='.3,.3,1.4'/><translate z='-.7'/><rotate y='1' angle='90'/>" ops,  \
          BLUE)
#define ACROSS "origin='0,-3,2.5' target='0.03,0.02,-1' up='0,0,1'"
#define THROUGH "<translate value='.07,.1,.2'/>"
#define PATH(what, depth, body, parameter, spp, step)                                                        \
    {                                                                                                        \
        {what, depth, FRONT, body, parameter, {.6, .3, 1}, spp, step}, "path"                                \
    }
#define SEEN(what, body, parameter) PATH(what, "1", body, parameter, 256, .005)

/* What shines needs one segment, so nothing but the curve and silhouettes has noise. */
static const edge_case_in cases[] = {
    SEEN("a ball in a wall", SHINING SUNK_BALL(BLUE), "it.to_world"),
    SEEN("a wall that moves over a ball", SHINING SUNK_BALL(BLUE), "ground.to_world"),
    SEEN("a turned cube in a wall", SHINING SUNK_CUBE(BLUE), "it.to_world"),
    SEEN("the same, by its vertices", SHINING SUNK_CUBE(BLUE), "it.vertex_positions"),
    SEEN("a wall that moves over a cube", SHINING SUNK_CUBE(BLUE), "ground.to_world"),
    SEEN("two balls",
         SHINING SHAPE("sphere", "it", "<scale value='.4'/>" THROUGH, BLUE)
             SHAPE("sphere", "other", "<scale value='.3'/><translate value='.4,.2,.4'/>", RED),
         "it.to_world"),
    SEEN("a disk in a ball",
         SHINING SHAPE("disk", "it", "<scale value='.6'/>" TURNED THROUGH, BLUE)
             SHAPE("sphere", "other", "<scale value='.4'/><translate value='.1,.2,.2'/>", RED),
         "it.to_world"),
    SEEN("the corner of a plate in a ball",
         SHINING SHAPE("rectangle", "it", "<scale value='.4'/>" TURNED "<translate value='.4,.5,.2'/>", BLUE)
             SHAPE("sphere", "other", "<scale value='.4'/><translate value='.1,.2,.2'/>", RED),
         "it.to_world"),
    SEEN("a disk in a plate",
         SHINING SHAPE("disk", "it", "<scale value='.6'/>" TURNED THROUGH, BLUE)
             SHAPE("rectangle", "other", "<scale value='.5'/><rotate y='1' x='.4' angle='30'/>" THROUGH, RED),
         "it.to_world"),
    SEEN("a tube that lies in a wall",
         SHINING TUBE("<rotate z='1' angle='40'/><translate value='.1,0,-1.1'/>"), "it.to_world"),
    PATH("a tube that stands in a wall", "1",
         SHINING TUBE("<rotate y='1' angle='60'/><translate value='.1,.2,-.9'/>"), "it.to_world", 1024, .001),
    SEEN("the border of a plate in a tube",
         SHINING TUBE("<rotate z='1' angle='30'/><rotate y='1' angle='15'/>" THROUGH)
             SHAPE("rectangle", "other",
                   "<scale value='.4'/><rotate y='1' angle='-40'/><translate value='.3,.3,.2'/>", RED),
         "it.to_world"),
    SEEN("a tube and a ball",
         SHINING TUBE("<rotate z='1' angle='30'/><rotate y='1' angle='15'/>" THROUGH)
             SHAPE("sphere", "other", "<scale value='.45'/><translate value='.3,.4,.1'/>", RED),
         "it.to_world"),
    SEEN("two tubes",
         SHINING TUBE("<rotate z='1' angle='30'/><rotate y='1' angle='15'/>" THROUGH)
             SHAPE("cylinder", "other",
                   "<scale value='.25,.25,2'/><translate z='-1'/><rotate x='1' angle='80'/>" THROUGH, RED),
         "it.to_world"),
    {{"a cube that stands on a wall",
      "1",
      ACROSS,
      SHINING SHAPE("cube", "it",
                    "<rotate z='1' angle='30'/><scale value='.4'/><translate value='.07,.1,-.6'/>", BLUE),
      "it.to_world",
      {.6, .3, 0},
      256,
      .005},
     "path"},
    {{"a cube that is a little deeper",
      "1",
      ACROSS,
      SHINING SHAPE("cube", "it",
                    "<rotate z='1' angle='30'/><scale value='.4'/><translate value='.07,.1,-.6001'/>", BLUE),
      "it.to_world",
      {.6, .3, 0},
      256,
      .005},
     "path"},
    PATH("by the camera", "1", SHINING SUNK_CUBE(BLUE), "sensor.to_world", 256, .002),
    PATH("an instance", "2",
         GROUND(MATTE(".7,.6,.3")) "<shape type='shapegroup' id='group'>" SHAPE(
             "cube", "it", "<scale value='.4'/>" TURNED "<translate value='.07,.1,-.9'/>", MATTE(".2,.5,.8"))
             SHAPE("sphere", "other", "<scale value='.3'/><translate value='.3,.2,-.5'/>",
                   MATTE(".9,.1,.05")) "</shape><shape type='instance' id='one'><ref "
                                       "id='group'/>" AT("<translate value='0,0,1'/>") "</"
                                                                                       "shape"
                                                                                       ">" SKY,
         "one.to_world", 512, .02),
    PATH("a shape in a group", "2",
         GROUND(MATTE(".7,.6,.3")) "<shape type='shapegroup' id='group'>" SHAPE(
             "cube", "it", "<scale value='.4'/>" TURNED "<translate value='.07,.1,-.9'/>", MATTE(".2,.5,.8"))
             SHAPE("sphere", "other", "<scale value='.3'/><translate value='.3,.2,-.5'/>",
                   MATTE(".9,.1,.05")) "</shape><shape type='instance'><ref "
                                       "id='group'/>" AT("<rotate z='1' "
                                                         "angle='90'/><translate "
                                                         "value='0,0,1'/>") "</shape>" SKY,
         "other.to_world", 512, .02),
    {{"in fog", "3", FRONT, SHINING SUNK_BALL(BLUE) HULL(FOG(".5")), "it.to_world", {.6, .3, 1}, 128, .02},
     "volpath"},
    PATH("a ball in a wall under a lamp", "2", GROUND(MATTE(".7,.6,.3")) SUNK_BALL(MATTE(".2,.5,.8")) BULB,
         "it.to_world", 256, .005),
    PATH("a lamp in a wall", "3",
         GROUND(MATTE(".7,.6,.3")) SHAPE(
             "rectangle", "it", "<scale value='.5'/><rotate x='1' angle='60'/><translate value='.3,.1,-1'/>",
             "<bsdf type='diffuse'/><emitter type='area'><rgb name='radiance' value='5'/></emitter>"),
         "it.to_world", 256, .02),
    {{"seen by light that a wall passes on",
      "3",
      BELOW,
      GROUND(MATTE(".7,.6,.3")) SHAPE(
          "rectangle", "other", "<scale value='4'/><rotate x='1' angle='180'/><translate z='2'/>",
          GLOW("1,1,1")) SHAPE("cube", "it", "<scale value='.5'/>" TURNED "<translate value='.3,.2,2'/>",
                               MATTE(".3,.1,.05")),
      "it.to_world",
      {.6, .3, 1},
      256,
      .02},
     "path"},
};

/* These have sunk since the scene was loaded, and other faces meet. */
static const edge_case_in moved[] = {
    SEEN("a ball that has sunk", SHINING SUNK_BALL(BLUE), "it.to_world"),
    SEEN("a cube that has sunk", SHINING SUNK_CUBE(BLUE), "it.to_world"),
};

int main(void)
{
    static const double by[] = {.1, -.1};
    int failed =
        edge_cases_run("edges where shapes go through each other", cases, sizeof cases / sizeof *cases);
    for (int k = 0; k < 2; k++) {
        edge_case_before(by[k]);
        failed += edge_cases_run("the same, of shapes that have moved", moved, sizeof moved / sizeof *moved);
    }
    return failed;
}
