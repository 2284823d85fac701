/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where shapes stand on each other? The image has a kink there: when a body sinks, its
 * border is the curve in which both surfaces meet, and when it rises, a dark gap opens. The gradient is that
 * of sinking (docs/theory/edges.md), so differences are one-sided, along the way on which bodies sink. */
#include "support/edge_shapes.h"

#define CUBE(z, matter)                                                                                      \
    SHAPE("cube", "it", "<rotate z='1' angle='30'/><scale value='.4'/><translate value='.07,.1," z "'/>",    \
          matter)
#define SLAB(z)                                                                                              \
    SHAPE("cube", "other", "<scale value='.8,.8,.1'/><rotate z='1' angle='17'/><translate z='" z "'/>", BLUE)
/* A plate that floats, and one that stands on a part of its border. */
#define STEP                                                                                                 \
    SHAPE("rectangle", "other",                                                                              \
          "<translate y='-1'/><scale value='.8'/><rotate z='1' angle='17'/><translate value='0,.4,-.6'/>",   \
          RED)                                                                                               \
    SHAPE("rectangle", "it",                                                                                 \
          "<translate y='1'/><scale value='.4'/><rotate x='1' angle='90'/><translate x='.1'/>"               \
          "<rotate z='1' angle='17'/><translate value='0,.4,-.6'/>",                                         \
          BLUE)
#define TUBE                                                                                                 \
    SHAPE("cylinder", "it", "<scale value='.4,.4,.9'/><translate value='.07,.1,-1'/>",                       \
          "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' "                              \
          "value='0'/></bsdf></bsdf><emitter type='area'><rgb name='radiance' value='.2,.5,.8'/></emitter>")
/* Its border lies in the ground; turned about that border. */
#define PLATE(angle)                                                                                         \
    SHAPE("rectangle", "it",                                                                                 \
          "<translate y='1'/><scale value='.4'/><rotate x='1' angle='" angle                                 \
          "'/><rotate z='1' angle='20'/><translate value='.07,.1,-1'/>",                                     \
          BLUE)
#define HANGS "<scale value='4'/><rotate x='1' angle='180'/><translate z='2'/>"
#define ACROSS "origin='0,-3,2.5' target='0.03,0.02,-1' up='0,0,1'"
#define CASE(what, depth, body, parameter, x, y, z, spp, step)                                               \
    {                                                                                                        \
        {what, depth, ACROSS, body, parameter, {x, y, z}, spp, step}, "path"                                 \
    }
#define SINKS (-1)
#define RISES 1
#define SEEN(what, body, parameter, way) CASE(what, "1", body, parameter, .3, .2, way, 256, .005)

// clang-format off
static const edge_case_in cases[] = {
    SEEN("a cube on the ground", SHINING CUBE("-.6", BLUE), "it.to_world", SINKS),
    SEEN("by its vertices", SHINING CUBE("-.6", BLUE), "it.vertex_positions", SINKS),
    SEEN("by the ground", SHINING CUBE("-.6", BLUE), "ground.to_world", RISES),
    SEEN("a gap that rays do not see", SHINING CUBE("-.59998", BLUE), "it.to_world", SINKS),
    SEEN("an open tube", SHINING TUBE, "it.to_world", SINKS),
    SEEN("a plate on its border", SHINING PLATE("90"), "it.to_world", SINKS),
    SEEN("a plate that leans back", SHINING PLATE("60"), "it.to_world", SINKS),
    SEEN("a cube on a cube", SHINING CUBE("-.4", RED) SLAB("-.9"), "it.to_world", SINKS),
    SEEN("a cube under a cube, which floats", SHINING CUBE("-.2", RED) SLAB("-.7"), "other.to_world", RISES),
    CASE("a plate on another's border", "1", SHINING STEP, "it.to_world", .3, -.2, -1, 256, .005),
    CASE("by the other", "1", SHINING STEP, "other.to_world", .3, .2, 1, 256, .005),
    CASE("by the camera", "1", SHINING STEP, "sensor.to_world", .3, .2, .5, 256, .005),
    CASE("under a lamp", "2", GROUND(MATTE(".9,.9,.9")) CUBE("-.6", MATTE(".1,.1,.05")) BULB,
         "it.to_world", .3, .2, SINKS, 256, .005),
    CASE("under a lamp and a sky", "3", GROUND(MATTE(".9,.9,.9")) CUBE("-.6", MATTE(".1,.1,.05")) BULB SKY,
         "it.to_world", .3, .2, SINKS, 1024, .02),
    /* A pillar, out of sight, that ends at a ceiling that shines. */
    {{"seen by light that a wall passes on", "2", BELOW,
      GROUND(MATTE(".7,.6,.3")) SHAPE("rectangle", "other", HANGS, GLOW("3,3,3"))
      SHAPE("cube", "it", "<scale value='.25,.25,1.6'/><translate value='1.7,.5,.4'/>", GLOW(".1,.1,.1")),
      "it.to_world", {.3, .2, 1}, 1024, .02}, "path"},
};
// clang-format on

int main(void)
{
    edge_case_one_sided(true);
    return edge_cases_run("edges where shapes stand on each other", cases, sizeof cases / sizeof *cases);
}
