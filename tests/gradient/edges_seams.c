/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Seams: borders of meshes that coincide (src/render/shape/silhouette_seams.c). In a corner each hides what
 * is beside the other, at a ridge each stands before nothing, in one plane nothing is hidden; and always
 * light jumps once. Where only one of the meshes moves there is no derivative, so all of a scene moves here:
 * the camera does, or an instance. One case has plates whose ends differ by rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

#include <math.h>

static scene_device device;
static char *folder;

/* Two plates that share the line x = 0, turned from the plane across it by angles about the y axis. */
#define SHINES(value) "<emitter type='area'><rgb name='radiance' value='" value "'/></emitter>"
#define MATTE(value)                                                                                         \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='" value "'/></bsdf></bsdf>"
#define PLATES(angles, left, right) PLATES_TURNED(angles, left, right)
#define PLATES_TURNED(turned, back, left, right)                                                             \
    "<shape type='rectangle'>" AT(                                                                           \
        "<scale value='.5'/><translate value='-.5,0,0'/><rotate y='1' angle='" turned                        \
        "'/><rotate z='1' angle='13'/>") left                                                                \
        "</shape><shape type='rectangle'>" AT(                                                               \
            "<scale value='.5'/><translate value='.5,0,0'/><rotate y='1' angle='" back                       \
            "'/><rotate z='1' angle='13'/>") right "</shape>"
#define CORNER "40", "-40"
#define RIDGE "-40", "40"
#define PLANE "0", "0"
#define SHARP "-75", "75"

// clang-format off
static const edge_case cases[] = {
    {"seen: a corner of plates that shine", "1", FRONT, PLATES(CORNER, SHINES("1"), SHINES("3")),
     "sensor.translation", {1, .3, .2}, 64, .01},
    {"seen: a ridge of plates that shine", "1", FRONT, PLATES(RIDGE, SHINES("1"), SHINES("3")),
     "sensor.translation", {1, .3, .2}, 64, .01},
    {"seen: plates that shine in one plane", "1", FRONT, PLATES(PLANE, SHINES("1"), SHINES("3")),
     "sensor.translation", {1, .3, .2}, 64, .01},
    {"seen: a ridge of which one plate is hidden", "1", "origin='3,0,3' target='0.03,0.02,0' up='0,1,0'",
     PLATES(SHARP, SHINES("1"), SHINES("3")), "sensor.translation", {1, .3, .2}, 64, .01},
    {"all: a corner under a bulb", "3", FRONT, PLATES(CORNER, MATTE(".9,.1,.1"), MATTE(".1,.3,.9")) BULB SKY,
     "sensor.translation", {1, .3, .2}, 128, .01},
    {"all: a ridge under a bulb, before a wall", "3", FRONT,
     WALL PLATES(RIDGE, MATTE(".8,.3,.3"), MATTE(".3,.8,.5")) BULB,
     "sensor.translation", {1, .3, .2}, 128, .01},
    {"all: a ridge in a group", "3", FRONT,
     WALL "<shape type='shapegroup' id='g'>" PLATES(RIDGE, MATTE(".8,.3,.3"), MATTE(".3,.8,.5"))
     "</shape><shape type='instance' id='it'><ref id='g'/>" AT("<rotate z='1' angle='20'/>") "</shape>" BULB,
     "it.to_world", {1, .3, .2}, 128, .01},
};
// clang-format on
enum { CASES = sizeof cases / sizeof *cases };

static void expect_case(void **state) { edge_case_expect(&device, folder, "path", *state); }

/* ---- plates that have moved apart ---- */

enum { VALUES = 3 * 8 * 8 };

/* The derivative by the place of the right plate of a ridge, which stands `before` aside in the scene and is
 * moved by `after`. */
static void ridge_seen(const char *before, float after, float image[VALUES])
{
    static const char *const parameters[] = {"it.translation"};
    static const float along[3] = {1, .3f, .2f}, *const tangents[] = {along};
    arena a = {0};
    char *body = arena_printf(&a,
                              "<shape type='rectangle'>" AT("<scale value='.5'/><translate value='-.5,0,0'/>")
                                  SHINES("1") "</shape><shape type='rectangle' id='it'>" AT(
                                      "<scale value='.5'/><translate value='.5,0,0'/>"
                                      "<rotate y='1' angle='50'/><translate "
                                      "value='%s,0,0'/>") SHINES("3") "</shape>",
                              before);
    char *xml = scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='1'/></integrator>",
                          EYE("<lookat " FRONT "/>", "8") "</film></sensor>", body);
    scene_picture p = scene_picture_load(&device, xml, folder, parameters, 1);
    const float moved[3] = {after, 0, 0};
    SCENE_MUST(&device,
               bl_job_set_parameter(p.job, scene_device_find(&device, p.scene, parameters[0]), moved));
    const bl_forward_desc d = {.spp = 1024, .seed = 3, .tangents = tangents};
    SCENE_MUST(&device, bl_job_forward(p.job, &d, image, NULL));
    scene_picture_free(&p);
    arena_free(&a);
}

static double distance(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += fabs((double)a[i] - (double)b[i]);
    return sum;
}

static void plates_may_move_apart(void **state)
{
    (void)state;
    float together[VALUES], apart[VALUES], moved[VALUES];
    ridge_seen("0", 0, together);
    ridge_seen(".2", 0, apart);
    ridge_seen("0", .2f, moved);
    print_message("moved apart: %.4g from the scene with a gap, %.4g from the scene without\n",
                  distance(moved, apart), distance(moved, together));
    assert_true(distance(moved, apart) < .1 * distance(moved, together));
}

int main(void)
{
    struct CMUnitTest tests[1 + CASES] = {cmocka_unit_test(plates_may_move_apart)};
    for (int i = 0; i < CASES; i++)
        tests[1 + i] =
            (struct CMUnitTest){cases[i].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "edges_seams", tests, 1 + CASES, NULL);
}
