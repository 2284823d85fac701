/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Curves in which clip planes of the sensor cut surfaces (src/render/integrator/kernels/boundary_cut.c): of
 * several kinds of shapes, by what moves the shape and by the camera. The near plane cuts off what is near,
 * the far plane what is far. A tube, which rays meet from outside only, is cut, too. In volumetric walks:
 * what is cut in fog, the fog's own border, and a mask. A quarter of the cases a day.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"
#include "support/todays_share.h"

static scene_device device;
static char *folder;

#define NEAR(value) "<float name='near_clip' value='" value "'/>"
#define FAR(value) "<float name='far_clip' value='" value "'/>"
#define MATTE "<bsdf type='twosided'><bsdf type='diffuse'/></bsdf>"
#define TURNED "<rotate x='1' angle='30'/><rotate y='1' angle='40'/><translate value='.03,.11,.2'/>"

/* A medium that the sensor stands in, and its border, which is far away. */
#define AIR                                                                                                  \
    "<medium type='homogeneous' id='air'><rgb name='sigma_t' value='.5,.3,.2'/><float name='albedo' "        \
    "value='.8'/></medium>"
#define AIR_ENDS                                                                                             \
    "<shape type='cube'>" AT(                                                                                \
        "<scale value='9'/>") "<bsdf type='null'/><ref id='air' name='interior'/></shape>"
#define SLAB(depth, ops)                                                                                     \
    "<shape type='cube'>" AT("<scale value='4,4," depth "'/>" ops) "<bsdf type='null'/>" FOG(".8") "</"      \
                                                                                                   "shape>"
#define SLANTED                                                                                              \
    "<shape type='rectangle' id='it'>" AT(                                                                   \
        "<scale value='3'/><rotate y='1' angle='50'/><rotate z='1' angle='20'/>") MATTE "</shape>"
#define BALL_OF(radius, at)                                                                                  \
    "<shape type='sphere' id='it'><float name='radius' value='" radius                                       \
    "'/>" AT("<translate value='" at "'/>") MATTE "</shape>"

/* A mirror that fills the view, turned so that it shows what stands beside the sensor. */
#define MIRROR_BEHIND                                                                                        \
    "<shape type='rectangle'>" AT(                                                                           \
        "<scale value='3'/><rotate x='1' angle='4'/><translate z='-1'/>") "<bsdf type='conductor'><string "  \
                                                                          "name='material' "                 \
                                                                          "value='none'/></bsdf></shape>"

#define BANK                                                                                                 \
    "<shape type='cube'>" AT("<scale value='4,4,.9'/><rotate y='1' angle='10'/>") "<bsdf type='null'/>" FOG( \
        ".8") "</shape>"

// clang-format off
static const struct cut_case {
    edge_case c;
    const char *clips, *integrator;
} cases[] = {
    {{"a ball whose front is cut off", "3", FRONT,
     "<shape type='sphere' id='it'><float name='radius' value='.9'/>" MATTE "</shape>" SKY,
     "it.to_world", {1, .3, .2}, 256, .002}, NEAR("3.4"), "path"},
    {{"a ball whose front is cut off, by the camera", "3", FRONT,
     "<shape type='sphere' id='it'><float name='radius' value='.9'/>" MATTE "</shape>" SKY,
     "sensor.translation", {1, .3, .2}, 256, .002}, NEAR("3.4"), "path"},
    {{"vertices of a cube whose front is cut off", "3", FRONT,
     WALL "<shape type='cube' id='it'>" AT("<scale value='.5'/>" TURNED) MATTE "</shape>" BULB SKY,
     "it.vertex_positions", {1, .3, .2}, 256, .005}, NEAR("3.6"), "path"},
    {{"a wall that ends at the far plane", "3", FRONT,
     "<shape type='rectangle' id='it'>"
     AT("<scale value='3'/><rotate y='1' angle='50'/><rotate z='1' angle='20'/>")
     MATTE "</shape>" SKY,
     "it.to_world", {1, .3, .2}, 128, .01}, FAR("4.1"), "path"},
    {{"a cube in a group, cut at both ends", "3", FRONT,
     "<shape type='shapegroup' id='g'><shape type='cube'>" AT("<scale value='.5'/>") MATTE
     "</shape></shape><shape type='instance' id='it'><ref id='g'/>" AT("<scale value='1.2,.8,1'/>" TURNED)
     "</shape>" SKY,
     "it.to_world", {1, .3, .2}, 128, .01}, NEAR("3.6") FAR("3.9"), "path"},
    {{"a tube around a spline", "3", FRONT,
     WALL "<shape type='bsplinecurve' id='it'><string name='filename' value='bow.curves'/>"
     AT("<translate value='.03,.02,.3'/>")
     "<bsdf type='diffuse'><rgb name='reflectance' value='.1,.05,.1'/></bsdf></shape>" BULB,
     "it.to_world", {1, .3, .2}, 128, .01}, NEAR("3.5"), "path"},
    {{"a ball in fog whose front is cut off", "3", FRONT,
     WALL BANK "<shape type='sphere' id='it'><float name='radius' value='.6'/>"
     AT("<translate value='.1,.05,.3'/>") MATTE "</shape>" SKY,
     "it.to_world", {1, .3, .2}, 128, .01}, NEAR("3.4"), "volpath"},
    {{"a mask whose front is cut off", "4", FRONT,
     WALL "<shape type='cube' id='it'>" AT("<scale value='.5'/>" TURNED)
     "<bsdf type='mask'><float name='opacity' value='.5'/>" MATTE "</bsdf></shape>" SKY,
     "it.to_world", {1, .3, .2}, 128, .005}, NEAR("3.6"), "volpath"},
    {{"a ball before a wall that lies behind the far plane", "3", FRONT, WALL BALL_OF(".5", "0,0,.3") SKY,
     "it.to_world", {1, .3, .2}, 64, .005}, FAR("4.5"), "path"},
    {{"a ball that a mirror shows behind the far plane", "2", FRONT,
     MIRROR_BEHIND BALL_OF(".6", "1.3,.3,2.2") SKY,
     "it.to_world", {1, .3, .2}, 64, .005}, FAR("5.5"), "path"},
    {{"a ball in a mirror that ends at the far plane", "2", FRONT,
     MIRROR_BEHIND BALL_OF(".6", "1.3,.3,2.2") SKY,
     "it.to_world", {1, .3, .2}, 64, .005}, FAR("4.97"), "path"},
    {{"fog behind a ball whose front is cut off, by the camera", "3", FRONT,
     WALL BALL_OF(".9", "0,0,0") SLAB(".2", "<rotate y='1' angle='3'/><translate z='-.6'/>") SKY,
     "sensor.translation", {1, .3, .2}, 256, .005}, NEAR("3.4"), "volpath"},
    {{"a ball whose front is cut off, by a camera in fog", "3", FRONT,
     WALL AIR_ENDS BALL_OF(".6", ".1,.05,.3") SKY,
     "sensor.translation", {1, .3, .2}, 128, .005}, NEAR("3.4") AIR, "volpath"},
    {{"a wall that ends at the far plane, by a camera in fog", "3", FRONT, SLANTED AIR_ENDS SKY,
     "sensor.translation", {1, .3, .2}, 128, .01}, FAR("4.1") AIR, "volpath"},
    {{"a wall in fog, which lets rays go on behind the far plane", "3", FRONT, SLANTED BANK SKY,
     "sensor.translation", {1, .3, .2}, 128, .01}, FAR("4.1"), "volpath"},
    {{"fog that ends at the far plane, by the camera", "3", FRONT,
     WALL SLAB(".4", "<rotate y='1' angle='40'/>") BALL_OF(".3", ".1,.05,.1") SKY,
     "sensor.translation", {1, .3, .2}, 128, .01}, FAR("4.2"), "volpath"},
};
// clang-format on
enum { CASES = sizeof cases / sizeof *cases, PARTS = 4 };

static void expect_case(void **state)
{
    const struct cut_case *it = *state;
    edge_case_sensor(it->clips);
    edge_case_expect(&device, folder, it->integrator, &it->c);
}

int main(void)
{
    struct CMUnitTest tests[CASES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < CASES; i++)
        if (todays_part(i, PARTS))
            tests[count++] =
                (struct CMUnitTest){cases[i].c.name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "edges-cuts", tests, count, NULL);
}
