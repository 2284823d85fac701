/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where the camera, shapes, vertices or lights move in and around participating media?
 * Means over seeds are compared with differences of images. Single samples cannot be: the derivative of
 * where a collision is says nothing by itself, because the image of a moved scene has its collisions
 * elsewhere. No edge matters: the only silhouettes in view are those of null surfaces. Sample by sample,
 * the same gradients are compared with frozen and unrolled paths by gradient/unrolled.c and
 * gradient/forward.c. Ordinary runs take the first four cases, because compiling takes the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include <string.h>

enum { ORDINARY = 4 };

static scene_device device;
static char *folder;

#define VOLPATH(depth)                                                                                       \
    "<integrator type='volpath'><integer name='max_depth' value='" depth                                     \
    "'/><integer name='rr_depth' value='99'/></integrator>"
#define EYE                                                                                                  \
    "<sensor type='perspective' id='it'><float name='fov' value='30'/>" TO_WORLD(                            \
        "<lookat origin='0,0,3' target='.1,.1,0' up='0,1,0'/>") MOVED_FILM "</sensor>"
#define GROUND                                                                                               \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<rotate x='1' angle='15'/><scale value='6'/>") "<bsdf type='diffuse'><rgb name='reflectance' "      \
                                                        "value='.8,.5,.3'/></bsdf></shape>"
#define HULL(medium)                                                                                         \
    "<shape type='cube'>" TO_WORLD(                                                                          \
        "<scale value='4,4,.5'/><rotate y='1' angle='10'/><translate z='1'/>") "<bsdf type='null'/>" medium  \
                                                                               "</shape>"
#define FOG                                                                                                  \
    "<medium type='homogeneous' name='interior'><rgb name='sigma_t' value='1.2,.8,.5'/><rgb name='albedo' "  \
    "value='.8,.7,.9'/></medium>"
#define SMOKE                                                                                                \
    "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string "         \
    "name='filename' value='smoke.vol'/>" TO_WORLD(                                                          \
        "<translate value='-.5,-.5,-.5'/><scale value='8,8,1'/><rotate y='1' angle='10'/><translate "        \
        "z='1'/>") "</volume><float name='scale' value='1.5'/>"                                              \
                   "<phase type='hg'><float name='g' value='.4'/></phase></medium>"
#define BULB "<emitter type='point'><point name='position' value='1,.6,2.5'/></emitter>"
#define BALL                                                                                                 \
    "<point name='center' value='1,.6,3.5'/><float name='radius' value='.4'/><emitter type='area'/></shape>"
#define CLOUD(medium)                                                                                        \
    "<shape type='sphere' id='it'><point name='center' value='.1,-.1,.9'/><float name='radius' "             \
    "value='.7'/><bsdf type='null'/>" medium "</shape>"
#define GLOW                                                                                                 \
    "<medium type='homogeneous' name='interior'><rgb name='sigma_t' value='1.2,.8,.5'/><rgb name='albedo' "  \
    "value='.8,.7,.9'/><rgb name='emission' value='.3,.5,.4'/></medium>"
#define CAMERA_GOES                                                                                          \
    {                                                                                                        \
        {.1, -.2, .3}, 0, { .3, -.5, .4 }                                                                    \
    }
#define SHAPE_GOES                                                                                           \
    {                                                                                                        \
        {.1, -.2, .3}, .3, { .3, -.5, .4 }                                                                   \
    }

/* Around all there is, filled and empty; no edges. */
#define CAVE                                                                                                 \
    "<shape type='sphere' id='it'><point name='center' value='.2,.1,0'/><float name='radius' "               \
    "value='3.5'/><boolean name='flip_normals' value='true'/><bsdf type='diffuse'>"                          \
    "<rgb name='reflectance' value='.8,.5,.3'/></bsdf><emitter type='area'><texture name='radiance' "        \
    "type='bitmap'><string name='filename' value='texture.pfm'/></texture></emitter></shape>"
#define BALL_OF(medium)                                                                                      \
    "<shape type='sphere'><point name='center' value='.1,0,.2'/><float name='radius' value='1.2'/><bsdf "    \
    "type='null'/>" medium "</shape>"
#define DEEP(medium)                                                                                         \
    "<shape type='cube'>" TO_WORLD(                                                                          \
        "<scale value='6,6,2'/><rotate y='1' angle='10'/><translate z='.5'/>") "<bsdf type='null'/>" medium  \
                                                                               "</shape>"
#define PLATE                                                                                                \
    "<shape type='rectangle' id='it'>" TO_WORLD(                                                             \
        "<rotate x='1' angle='180'/><translate x='1' y='.5' z='3.3'/>") "<emitter type='area'/></shape>"
#define FAR_BULB                                                                                             \
    "<emitter type='point'><point name='position' value='1,.6,5'/><rgb name='intensity' "                    \
    "value='5,5,5'/></emitter>"
#define WIDE                                                                                                 \
    TO_WORLD("<rotate x='1' angle='15'/><scale value='60'/>")                                                \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' "                                    \
    "value='.8,.5,.3'/></bsdf></bsdf></shape>"
static const moved_means cases[] = {
    {{"camera over fog, light from a point", VOLPATH("4"), EYE, GROUND HULL(FOG) BULB, "it.to_world",
      CAMERA_GOES, 256, 0},
     .03,
     20},
    {{"camera over smoke, light from a point", VOLPATH("4"), EYE, GROUND HULL(SMOKE) BULB, "it.to_world",
      CAMERA_GOES, 256, 0},
     .03,
     10},
    {{"a ball of fog", VOLPATH("5"), MOVED_DOWN, GROUND CLOUD(FOG) BULB, "it.to_world", SHAPE_GOES, 256, 0},
     .01,
     20},
    {{"a ball of light over fog", VOLPATH("4"), MOVED_DOWN,
      GROUND HULL(FOG) "<shape type='sphere' id='it'>" BALL, "it.to_world", SHAPE_GOES, 256, 0},
     .01,
     20},
    {{"ground under fog, by its vertices", VOLPATH("5"), MOVED_DOWN,
      "<shape type='ply' id='it'><string name='filename' value='patch.ply'/>" WIDE HULL(FOG) BULB,
      "it.vertex_positions", SHAPE_GOES, 256, 0},
     .01,
     20},
    {{"ground under smoke", VOLPATH("5"), MOVED_DOWN,
      "<shape type='rectangle' id='it'>" WIDE HULL(SMOKE) BULB, "it.to_world", SHAPE_GOES, 256, 0},
     .01,
     20},
    {{"ground in fog", VOLPATH("5"), MOVED_DOWN, "<shape type='rectangle' id='it'>" WIDE DEEP(FOG) FAR_BULB,
      "it.to_world", SHAPE_GOES, 2048, 0},
     .01,
     8},
    {{"shining walls around a ball of fog", VOLPATH("5"), MOVED_DOWN, CAVE BALL_OF(FOG), "it.to_world",
      SHAPE_GOES, 1024, 0},
     .01,
     8},
    {{"a plate of light over fog", VOLPATH("4"), MOVED_DOWN, GROUND HULL(FOG) PLATE, "it.to_world",
      SHAPE_GOES, 512, 0},
     .01,
     20},
    {{"a ball of fog that glows", VOLPATH("4"), MOVED_DOWN, GROUND CLOUD(GLOW), "it.to_world", SHAPE_GOES,
      256, 0},
     .01,
     20},
    {{"camera over fog, light from a ball", VOLPATH("4"), EYE, GROUND HULL(FOG) "<shape type='sphere'>" BALL,
      "it.to_world", CAMERA_GOES, 512, 0},
     .03,
     8},
    {{"camera over smoke, light from a ball", VOLPATH("4"), EYE,
      GROUND HULL(SMOKE) "<shape type='sphere'>" BALL, "it.to_world", CAMERA_GOES, 512, 0},
     .03,
     8},
};

static void means(void **state)
{
    (void)state;
    moved_means_expect_all(&device, cases, sizeof cases / sizeof *cases, ORDINARY, folder);
}

/* Reverse, forward and frozen paths, and images of the scene really moved, where a shape moves behind one
 * that lets through. */
static void shape_behind_a_veil(void **state)
{
    (void)state;
    static const moved_case c = {
        "ground behind a veil",
        VOLPATH("3"),
        MOVED_DOWN,
        "<shape type='rectangle' id='it'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP(
            "reflectance") "</bsdf></shape><shape type='rectangle'>" TO_WORLD("<scale value='4'/><rotate "
                                                                              "x='1' angle='20'/><translate "
                                                                              "z='1.5'/>") "<bsdf "
                                                                                           "type='"
                                                                                           "thindielectric'/"
                                                                                           "></shape>" BULB,
        "it.to_world",
        {{.1, -.2, .3}, .2, {.3, -.5, .2}},
        64,
        .01};
    moved_expect(&device, &c, folder);
    static const moved_case lamp = {
        "a lamp behind a veil",
        VOLPATH("3"),
        MOVED_DOWN,
        "<shape type='rectangle'>" TO_WORLD("<scale value='3'/>") "<bsdf type='diffuse'>" BITMAP(
            "reflectance") "</bsdf></shape><shape type='rectangle'>" TO_WORLD("<scale value='14'/><rotate "
                                                                              "x='1' angle='20'/><translate "
                                                                              "z='1.5'/>") "<bsdf "
                                                                                           "type='mask'><"
                                                                                           "float "
                                                                                           "name='opacity' "
                                                                                           "value='.4'/"
                                                                                           "><bsdf "
                                                                                           "type='diffuse'/"
                                                                                           "></bsdf></"
                                                                                           "shape>" PLATE,
        "it.to_world",
        {{.1, -.2, .3}, .2, {.1, -.1, -.4}},
        64,
        .01};
    moved_expect(&device, &lamp, folder);
    /* which light enters and leaves: the root that was met has to be met again, wherever the moved ray
     * begins */
    static const moved_case black = {"the shadow of a black ball of fog",
                                     VOLPATH("2"),
                                     MOVED_DOWN,
                                     GROUND
                                     "<shape type='sphere' id='it'><point name='center' "
                                     "value='0,0,4'/><float name='radius' value='.4'/><bsdf type='null'/>"
                                     "<medium type='homogeneous' name='interior'><float name='sigma_t' "
                                     "value='1'/><float name='albedo' value='0'/></medium></shape>"
                                     "<emitter type='point'><point name='position' value='0,0,5'/></emitter>",
                                     "it.to_world",
                                     SHAPE_GOES,
                                     64,
                                     .01};
    moved_expect(&device, &black, folder);
}

#define MIRROR "<shape type='sphere'><bsdf type='conductor'/></shape><emitter type='constant'/>"

/* Both at once. Where there is a mirror and no medium, walks are those of surfaces, and the job is split. */
static void camera_and_shape(void **state)
{
    (void)state;
    const char *names[] = {"it.to_world", "plate.to_world"},
               *bodies[] = {"<shape type='rectangle' id='plate'/><emitter type='constant'/>",
                            HULL(FOG) "<shape type='rectangle' id='plate'/>" MIRROR,
                            "<shape type='rectangle' id='plate'/>" MIRROR};
    for (int k = 0; k < 3; k++) {
        arena a = {0};
        bl_scene *scene = scene_device_load(&device, scene_xml(&a, VOLPATH("3"), EYE, bodies[k]), folder);
        bl_job *job = scene_device_job(&device, scene, names, 2);
        assert_string_equal(bl_job_sampling(job), k < 2 ? "local" : "split");
        bl_job_destroy(job);
        bl_scene_destroy(scene);
        arena_free(&a);
    }
}

/* What cannot be: a clear error. */
static void refused(void **state)
{
    (void)state;
    arena a = {0};
    bl_job *job;
    const char *names[] = {"ground.to_world", "it.to_world"};
    const char *body = "<shape type='rectangle' id='ground'/>" HULL(
        FOG) "<shape type='rectangle'><bsdf type='null'/><emitter type='area'/></shape>";
    bl_scene *scene = scene_device_load(&device, scene_xml(&a, VOLPATH("3"), EYE, body), folder);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(bl_job_create(device.device, scene,
                                       &(bl_job_desc){.parameters = names + k, .parameter_count = 1}, &job),
                         BL_ERROR_UNSUPPORTED);
        assert_non_null(strstr(bl_context_error(device.context),
                               "to_world has no gradient: those of what moves are not implemented where "
                               "shapes that let light through shine"));
    }
    bl_scene_destroy(scene);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(means), cmocka_unit_test(shape_behind_a_veil),
                                       cmocka_unit_test(camera_and_shape), cmocka_unit_test(refused)};
    return SCENE_DEVICE_RUN(&device, &folder, "moved in media", tests);
}
