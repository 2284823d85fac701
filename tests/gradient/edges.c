/* LABELS: swiftshader=long native timeout=10800 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that move, on surfaces: each of the three kernels (seen, path, lit) by itself, and all together, for
 * each kind of shape and what moves it (support/edge_cases.h). Each case also fails without the one of the
 * kernels that it is for. A quarter each day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"
#include "support/todays_share.h"

#include <math.h>

static scene_device device;
static char *folder;

#define SPECTRAL "<?backlight mode='spectral'?>"
#define PANE(z)                                                                                              \
    "<shape type='rectangle'>" AT("<scale value='9'/><translate z='" z                                       \
                                  "'/>") "<bsdf type='dielectric'><spectrum name='int_ior' "                 \
                                         "value='300:2.2, 500:1.8, 900:1.3'/></bsdf></shape>"
/* It would put each letter on a line of its own. */
// clang-format off
#define MIRROR_ROOM \
    "<shape type='rectangle'>" AT("<scale value='3'/><rotate x='1' angle='4'/><translate z='-1'/>") \
    "<bsdf type='conductor'><string name='material' value='none'/><rgb name='specular_reflectance' " \
    "value='.9,.6,.8'/></bsdf></shape>" \
    "<shape type='rectangle'>" AT("<scale value='9'/><rotate y='1' angle='180'/><translate z='5'/>") \
    "<emitter type='area'><rgb name='radiance' value='.3'/></emitter></shape>" \
    "<shape type='sphere' id='it'><float name='radius' value='.6'/>" AT("<translate value='1.3,.3,2.2'/>") \
    "<emitter type='area'/></shape>"
// clang-format on
#define CONE                                                                                                 \
    "<emitter type='spot' id='spot'><rgb name='intensity' value='20'/><float name='cutoff_angle' "           \
    "value='14'/><float name='beam_width' value='14'/>" AT(                                                  \
        "<lookat origin='1.3,.6,2.8' target='.1,.05,-1' up='0,1,0'/>") "</emitter>"

/* Shown with normals that are interpolated: near its silhouette they turn away before its faces do. */
#define TWENTY "<string name='filename' value='twenty.obj'/><bsdf type='diffuse'/>"
#define TURNED "<rotate x='1' angle='30'/><rotate y='1' angle='40'/><translate value='.1,.05,.5'/>"
#define SUN                                                                                                  \
    "<emitter type='directional'><vector name='direction' x='-1' y='.3' z='-.6'/><rgb name='irradiance' "    \
    "value='3'/></emitter>"

static const edge_case cases[] = {
    {"seen: normals of a coarse mesh turn away, as its vertices move",
     "2",
     FRONT,
     "<shape type='obj' id='it'>" AT(TURNED) TWENTY "</shape>" SUN,
     "it.vertex_positions",
     {1, .3, .2},
     64,
     .01},
    {"seen: normals of a coarse mesh in a group",
     "2",
     FRONT,
     "<shape type='shapegroup' id='g'><shape type='obj'>" TWENTY
     "</shape></shape><shape type='instance' id='it'><ref id='g'/>" AT(
         "<scale value='1.2,.8,1'/>" TURNED) "</shape>" SUN,
     "it.to_world",
     {1, .3, .2},
     64,
     .01},
    {"seen: normals of a coarse mesh, by the camera",
     "2",
     FRONT,
     "<shape type='obj' id='it'>" AT(TURNED) TWENTY "</shape>" SUN,
     "sensor.translation",
     {1, .3, .2},
     64,
     .01},
    {"path: a ball under a bulb, and a sky that light sampling never chooses",
     "2",
     "origin='0,0,3' target='0.05,0.03,-1' up='0,1,0'",
     WALL BALL("<translate value='.07,.1,.2'/>") BULB
     "<emitter type='constant'><rgb name='radiance' value='.5'/><float name='sampling_weight' "
     "value='0'/></emitter>",
     "it.to_world",
     {1, .2, .3},
     256,
     .004},
    {"seen: a ball that shines before a wall that shines",
     "1",
     FRONT,
     "<shape type='rectangle'>" AT(
         "<scale value='5'/><translate z='-1'/>") "<emitter type='area'><rgb "
                                                  "name='radiance' "
                                                  "value='.3'/></emitter></shape><shape "
                                                  "type='sphere' id='it'><float name='radius' "
                                                  "value='.61'/>" AT(
                                                      "<translate value='.1,.05,.5'/>") "<emitter "
                                                                                        "type='area'/"
                                                                                        "></shape>",
     "it.to_world",
     {1, .3, .5},
     64,
     .004},
    {"path: light of a lamp whose vertices move",
     "2",
     BELOW,
     WALL MESH_LAMP,
     "it.vertex_positions",
     {1, .2, .3},
     64,
     .01},
    {"all: a ball under a lamp whose vertices move",
     "2",
     BELOW,
     WALL "<shape type='sphere'><float name='radius' value='.4'/>" AT(
         "<translate value='.05,.1,1.5'/>") "<bsdf type='diffuse'/></shape>" MESH_LAMP,
     "it.vertex_positions",
     {1, .2, .3},
     64,
     .01},
    {"lit: the shadow of a ball under a lamp",
     "2",
     BELOW,
     WALL BALL("<translate value='.05,.1,1.5'/>") LAMP("lamp", ".7", "0,0,3.2"),
     "it.to_world",
     {1, .2, .3},
     64,
     .01},
    {"lit, with wavelengths: the shadow of a ball under a lamp",
     "2",
     BELOW,
     SPECTRAL WALL BALL("<translate value='.05,.1,1.5'/>") LAMP("lamp", ".7", "0,0,3.2"),
     "it.to_world",
     {1, .2, .3},
     64,
     .01},
    {"seen, with wavelengths: a ball that shines before a wall that shines",
     "1",
     FRONT,
     SPECTRAL "<shape type='rectangle'>" AT(
         "<scale value='5'/><translate z='-1'/>") "<emitter type='area'><rgb name='radiance' "
                                                  "value='.3,.1,.2'/></emitter></shape><shape "
                                                  "type='sphere' id='it'><float name='radius' "
                                                  "value='.61'/>" AT(
                                                      "<translate value='.1,.05,.5'/>") "<emitter "
                                                                                        "type='area'/"
                                                                                        "></shape>",
     "it.to_world",
     {1, .3, .5},
     64,
     .004},
    {"seen, with glass that disperses: a ball that shines before a pane",
     "3",
     FRONT,
     SPECTRAL PANE("-1") "<shape type='rectangle'>" AT(
         "<scale value='9'/><translate z='-2'/>") "<emitter type='area'><rgb name='radiance' "
                                                  "value='.3,.1,.2'/></emitter></shape><shape "
                                                  "type='sphere' id='it'><float name='radius' "
                                                  "value='.61'/>" AT(
                                                      "<translate value='.1,.05,.5'/>") "<emitter "
                                                                                        "type='area'/"
                                                                                        "></shape>",
     "it.to_world",
     {1, .3, .5},
     64,
     .004},
    {"path, with glass that disperses: the shadow of a ball under a lamp behind a pane",
     "3",
     BELOW,
     SPECTRAL WALL BALL("<translate value='.05,.1,1.5'/>") PANE("2.3") LAMP("lamp", ".7", "0,0,3.2"),
     "it.to_world",
     {1, .2, .3},
     256,
     .01},
    {"path, with wavelengths: a ball under a bulb, and a sky that light sampling never chooses",
     "2",
     "origin='0,0,3' target='0.05,0.03,-1' up='0,1,0'",
     SPECTRAL WALL BALL("<translate value='.07,.1,.2'/>") BULB
     "<emitter type='constant'><rgb name='radiance' value='.5'/><float name='sampling_weight' "
     "value='0'/></emitter>",
     "it.to_world",
     {1, .2, .3},
     256,
     .004},
    {"lit: its lamp moves",
     "2",
     BELOW,
     WALL BALL("<translate value='.05,.1,1.5'/>") LAMP("lamp", ".3", "0,0,3.2"),
     "lamp.to_world",
     {.7, -.4, .5},
     128,
     .01},
    {"lit: a cube's shadow under a bulb",
     "2",
     BELOW,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.3'/><rotate x='1' angle='35'/>"
         "<translate value='.35,.65,1.6'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.to_world",
     {1, -.5, .2},
     128,
     .001},
    {"lit: the bulb moves",
     "2",
     BELOW,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.3'/><rotate x='1' angle='35'/>"
         "<translate value='.35,.65,1.6'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "bulb.position",
     {1, -.5, .2},
     128,
     .002},
    {"seen in a mirror: a ball that shines before a wall that shines",
     "2",
     FRONT,
     MIRROR_ROOM,
     "it.to_world",
     {1, .3, .5},
     64,
     .004},
    {"seen in a mirror: by the camera", "2", FRONT, MIRROR_ROOM, "sensor.translation", {1, .3, .5}, 64, .004},
    {"lit: a spot whose cone does not fade moves",
     "2",
     FRONT,
     WALL CONE,
     "spot.to_world",
     {.7, -.4, .5},
     64,
     .01},
    {"lit: a wall in a cone that does not fade",
     "2",
     FRONT,
     "<shape type='rectangle' id='it'>" AT(
         "<scale value='5'/><rotate y='1' angle='25'/><translate z='-1'/>") "<bsdf "
                                                                            "type='diffuse'/></shape>" CONE,
     "it.to_world",
     {.5, .2, 1},
     64,
     .02},
    {"lit: the wall under the shadow moves",
     "2",
     BELOW,
     "<shape type='rectangle' id='it'>" AT(
         "<scale value='5'/><rotate y='1' angle='25'/><translate "
         "z='-1'/>") "<bsdf type='diffuse'/></shape><shape "
                     "type='sphere'><float name='radius' "
                     "value='.4'/>" AT("<translate "
                                       "value='.05,.1,1.5'/>") "</"
                                                               "sha"
                                                               "pe"
                                                               ">" LAMP("lamp", ".3", "0,0,3.2"),
     "it.to_world",
     {.5, .2, 1},
     256,
     .02},
    {"path: a plate hides a part of a wall that a rough mirror shows",
     "3",
     "origin='0,0,2' target='0,0.03,-1' up='0,1,0'",
     "<shape type='rectangle'>" AT(
         "<scale value='5'/><rotate x='1' angle='-20'/><translate z='-1'/>") "<bsdf "
                                                                             "type='roughconductor'><"
                                                                             "float name='alpha' "
                                                                             "value='.2'/><string "
                                                                             "name='material' "
                                                                             "value='none'/></bsdf>"
                                                                             "</shape><shape "
                                                                             "type='rectangle' "
                                                                             "id='it'>" AT(
                                                                                 "<scale "
                                                                                 "value='.5'/"
                                                                                 "><rotate x='1' "
                                                                                 "angle='152'/"
                                                                                 "><translate "
                                                                                 "value='.1,1.1,1.3'/"
                                                                                 ">") "<bsdf "
                                                                                      "type='diffuse'"
                                                                                      "><rgb "
                                                                                      "name='"
                                                                                      "reflectance' "
                                                                                      "value='.1'/></"
                                                                                      "bsdf></"
                                                                                      "shape><shape "
                                                                                      "type='"
                                                                                      "rectangle'"
                                                                                      ">" AT("<scale "
                                                                                             "value='"
                                                                                             "9'/"
                                                                                             "><"
                                                                                             "rotate "
                                                                                             "x='1' "
                                                                                             "angle='"
                                                                                             "160'/"
                                                                                             "><"
                                                                                             "transla"
                                                                                             "te "
                                                                                             "value='"
                                                                                             "0,2,4'/"
                                                                                             ">") "</"
                                                                                                  "sh"
                                                                                                  "ap"
                                                                                                  "e>"
                                                                                                  "<e"
                                                                                                  "mi"
                                                                                                  "tt"
                                                                                                  "er"
                                                                                                  " t"
                                                                                                  "yp"
                                                                                                  "e="
                                                                                                  "'p"
                                                                                                  "oi"
                                                                                                  "nt"
                                                                                                  "'>"
                                                                                                  "<p"
                                                                                                  "oi"
                                                                                                  "nt"
                                                                                                  " n"
                                                                                                  "am"
                                                                                                  "e="
                                                                                                  "'p"
                                                                                                  "os"
                                                                                                  "it"
                                                                                                  "io"
                                                                                                  "n'"
                                                                                                  " v"
                                                                                                  "al"
                                                                                                  "ue"
                                                                                                  "='"
                                                                                                  ".3"
                                                                                                  ",1"
                                                                                                  ".5"
                                                                                                  ",2"
                                                                                                  ".5"
                                                                                                  "'/"
                                                                                                  "><"
                                                                                                  "rg"
                                                                                                  "b "
                                                                                                  "na"
                                                                                                  "me"
                                                                                                  "='"
                                                                                                  "in"
                                                                                                  "te"
                                                                                                  "ns"
                                                                                                  "it"
                                                                                                  "y'"
                                                                                                  " v"
                                                                                                  "al"
                                                                                                  "ue"
                                                                                                  "='"
                                                                                                  "9'"
                                                                                                  "/>"
                                                                                                  "</"
                                                                                                  "em"
                                                                                                  "it"
                                                                                                  "te"
                                                                                                  "r"
                                                                                                  ">",
     "it.to_world",
     {1, .5, 0},
     256,
     .03},
    {"all: a ball over a wall under the sky",
     "4",
     "origin='0,0,3' target='0.05,0.03,-1' up='0,1,0'",
     WALL BALL("<translate value='.07,.1,.2'/>") SKY,
     "it.to_world",
     {1, .2, .3},
     128,
     .02},
    {"all: an open tube",
     "3",
     FRONT,
     WALL "<shape type='cylinder' id='it'><float name='radius' value='.31'/>" AT(
         "<rotate x='1' angle='53'/><translate value='.03,.2,.5'/>") "<bsdf type='twosided'><bsdf "
                                                                     "type='diffuse'/></bsdf></"
                                                                     "shape>" SKY,
     "it.to_world",
     {1, .3, 0},
     256,
     .01},
    {"all: a disk that shines",
     "2",
     FRONT,
     WALL "<shape type='disk' id='it'>" AT("<scale value='.53'/><rotate y='1' angle='30'/><translate "
                                           "value='.03,.2,.5'/>") "<emitter type='area'><rgb name='radiance' "
                                                                  "value='2'/></emitter></shape>",
     "it.to_world",
     {1, .3, .2},
     64,
     .01},
    {"all: a group that is shown",
     "3",
     FRONT,
     WALL "<shape type='shapegroup' id='g'><shape type='cube'>" AT(
         "<scale value='.4'/><rotate x='1' "
         "angle='30'/>") "<bsdf type='diffuse'/></shape></shape><shape type='instance' id='it'><ref "
                         "id='g'/>" AT("<scale value='1.2,.8,1'/><rotate y='1' "
                                       "angle='40'/><translate value='.03,.21,.5'/>") "</shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .01},
    {"all: vertices of a cube",
     "3",
     FRONT,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.4'/><rotate x='1' angle='30'/><rotate y='1' "
         "angle='40'/><translate value='.03,.21,.5'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "it.vertex_positions",
     {1, .3, .2},
     128,
     .01},
    {"all: the camera",
     "3",
     FRONT,
     WALL "<shape type='cube' id='it'>" AT(
         "<scale value='.4'/><rotate x='1' angle='30'/><rotate y='1' "
         "angle='40'/><translate value='.03,.21,.5'/>") "<bsdf type='diffuse'/></shape>" BULB,
     "sensor.translation",
     {1, .3, .2},
     128,
     .01},
    {"all: a bent rod with round ends",
     "3",
     FRONT,
     WALL "<shape type='linearcurve' id='it'><string name='filename' value='knee.curves'/>" AT(
         "<translate value='.03,.02,.3'/>") "<bsdf type='diffuse'><rgb name='reflectance' "
                                            "value='.2,.5,.8'/></bsdf></shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .003},
    {"all: a tube around a spline",
     "3",
     FRONT,
     WALL "<shape type='bsplinecurve' id='it'><string name='filename' value='bow.curves'/>" AT(
         "<translate value='.03,.02,.3'/>") "<bsdf type='diffuse'><rgb name='reflectance' "
                                            "value='.2,.5,.8'/></bsdf></shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .003},
    {"lit: a shadow beside the open end of a tube, into which the camera's rays do not go",
     "2",
     "origin='-.45,-.22,1.5' target='-.9,-.45,-1' up='0,1,0'",
     WALL "<shape type='bsplinecurve' id='it'><string name='filename' value='bow.curves'/>" AT(
         "<translate value='.03,.02,.3'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"
                                            "</shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     256,
     .003},
    {"all: a grid of distances",
     "3",
     FRONT,
     WALL "<shape type='sdfgrid' id='it'><string name='filename' value='ball.vol'/><string name='normals' "
          "value='analytic'/>" AT(
              "<scale value='1.3,1,1.1'/><rotate x='1' angle='30'/><rotate y='1' angle='40'/><translate "
              "value='-.8,-.3,.1'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='.2,.5,.8'/></bsdf>"
                                      "</shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .003},
    {"all: an ellipsoid",
     "3",
     FRONT,
     WALL "<shape type='ellipsoids' id='it'><string name='filename' value='gaussian.ply'/>" AT(
         "<scale value='.2'/><translate value='.03,.02,.3'/>") "<bsdf type='diffuse'><rgb name='reflectance' "
                                                               "value='.2,.5,.8'/></bsdf></shape>" BULB,
     "it.to_world",
     {1, .3, .2},
     128,
     .003},
};
enum { CASES = sizeof cases / sizeof *cases, PARTS = 4 };

static void expect_case(void **state) { edge_case_expect(&device, folder, "path", *state); }

/* ---- a sensor that has moved ---- */

/* The derivative of the border of a shadow whose caster is not seen. before: translation of the sensor in the
 * scene; after: by the job. */
static void shadow_seen(const char *before, const float *after, float image[3 * 8 * 8])
{
    static const char *const parameters[] = {"sensor.translation"};
    static const float along[3] = {1, .5f, 0}, *const tangents[] = {along};
    arena a = {0};
    char *sensor =
        arena_printf(&a, EYE("<translate value='%s'/><lookat " BELOW "/>", "8") "</film></sensor>", before);
    char *xml = scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='2'/></integrator>",
                          sensor, WALL BALL("<translate value='.5,1,1.5'/>") BULB);
    scene_picture p = scene_picture_load(&device, xml, folder, parameters, 1);
    SCENE_MUST(&device,
               bl_job_set_parameter(p.job, scene_device_find(&device, p.scene, parameters[0]), after));
    const bl_forward_desc d = {.spp = 256, .seed = 3, .tangents = tangents};
    SCENE_MUST(&device, bl_job_forward(p.job, &d, image, NULL));
    scene_picture_free(&p);
    arena_free(&a);
}

static void shadows_are_seen_from_where_the_sensor_has_moved_to(void **state)
{
    (void)state;
    static const float stays[3] = {0}, moves[3] = {-.3f, -.2f, .1f};
    float from_start[3 * 8 * 8], moved[3 * 8 * 8];
    double size = 0, apart = 0;
    shadow_seen("-.3,-.2,.1", stays, from_start);
    shadow_seen("0,0,0", moves, moved);
    for (int i = 0; i < 3 * 8 * 8; i++) {
        size += fabs((double)from_start[i]);
        apart += fabs((double)moved[i] - (double)from_start[i]);
    }
    print_message("derivatives of size %.4g are %.2g apart\n", size, apart);
    assert_true(size > 0 && apart < 1e-3 * size);
}

int main(void)
{
    struct CMUnitTest tests[1 + CASES] = {
        cmocka_unit_test(shadows_are_seen_from_where_the_sensor_has_moved_to)};
    uint32_t count = 1;
    for (uint32_t i = 0; i < CASES; i++)
        if (todays_part(i, PARTS))
            tests[count++] =
                (struct CMUnitTest){cases[i].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "edges", tests, count, NULL);
}
