/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What a scene says of its parameters: bounds, and what their gradients lack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include "base/base.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE(name, file, more)                                                                              \
    "<texture type='bitmap' name='" name "'><string name='filename' value='" file "'/>" more "</texture>"
#define NEAREST "<string name='filter_type' value='nearest'/>"
#define CAMERA "<sensor type='perspective' id='camera'/>"
#define BALL(inside) "<shape type='sphere' id='ball'>" inside "</shape>"
#define MATTE(reflectance) "<bsdf type='diffuse' id='paint'>" reflectance "</bsdf>"

static bl_context *context;
static char *folder;

static bl_scene *load_with(const char *body, bl_edges edges)
{
    bl_scene *scene;
    arena a = {0};
    char *xml = arena_printf(&a, "<scene version='3.0.0'>%s</scene>", body);
    const bl_scene_desc desc = {.edges = edges};
    if (bl_scene_load_string(context, xml, folder, &desc, &scene) != BL_OK)
        fail_msg("%s", bl_context_error(context));
    arena_free(&a);
    return scene;
}

/* Without edges: reasons name what estimators of edges would add. */
static bl_scene *load(const char *body) { return load_with(body, BL_EDGES_NONE); }

static bl_parameter_info info_of(const bl_scene *scene, const char *name)
{
    uint32_t index;
    bl_parameter_info info;
    if (bl_scene_find_parameter(scene, name, &index) != BL_OK)
        fail_msg("%s", bl_context_error(context));
    assert_int_equal(bl_scene_parameter_info(scene, index, &info), BL_OK);
    return info;
}

static void bounds(void **state)
{
    (void)state;
    static const struct {
        const char *body, *name;
        float least, most;
    } cases[] = {
        {CAMERA BALL(MATTE(IMAGE("reflectance", "texture.pfm", ""))), "paint.reflectance.data", 0, 1},
        {CAMERA BALL("<bsdf type='twosided'>" MATTE(IMAGE("reflectance", "grey.pfm", "")) "</bsdf>"),
         "paint.reflectance.data", 0, 1},
        {CAMERA BALL("<bsdf type='mask'>" IMAGE("opacity", "grey.pfm", "") MATTE("") "</bsdf>"),
         "ball.bsdf.opacity.data", 0, 1},
        {CAMERA BALL("<bsdf type='principled'>" IMAGE("roughness", "grey.pfm", "") "</bsdf>"),
         "ball.bsdf.roughness.data", 0, 1},
        /* An image that is brighter stays as it is. */
        {CAMERA BALL(MATTE(IMAGE("reflectance", "lamp.pfm", ""))), "paint.reflectance.data", 0, INFINITY},
        {CAMERA BALL("<emitter type='area'>" IMAGE("radiance", "texture.pfm", "") "</emitter>"),
         "ball.emitter.radiance.data", 0, INFINITY},
        {CAMERA "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>",
         "sky.data", 0, INFINITY},
        {CAMERA BALL(""), "ball.translation", -INFINITY, INFINITY},
        {CAMERA BALL(""), "ball.rotation", -INFINITY, INFINITY},
        {CAMERA BALL(""), "ball.scale", 1e-6f, 1e6f},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bl_scene *scene = load(cases[k].body);
        bl_parameter_info info = info_of(scene, cases[k].name);
        if (info.least != cases[k].least || info.most != cases[k].most)
            fail_msg("%s in %s: from %g to %g", cases[k].name, cases[k].body, (double)info.least,
                     (double)info.most);
        bl_scene_destroy(scene);
    }
}

/* says: the reason has this text. silent: and not this one. NULL: there is no reason; nothing. */
static void reasons(void **state)
{
    (void)state;
#define BOARD MATTE("<texture type='checkerboard' name='reflectance'/>")
#define PATCH(inside)                                                                                        \
    "<shape type='ply' id='it'><string name='filename' value='patch.ply'/>" inside "</shape>"
#define GROUP(inside)                                                                                        \
    "<shape type='shapegroup' id='g'><shape type='sphere'>" inside                                           \
    "</shape></shape><shape type='instance' id='it'><ref id='g'/></shape>"
#define SPOT(beam) "<emitter type='spot' id='spot'><float name='cutoff_angle' value='20'/>" beam "</emitter>"
#define BEAM(degrees) "<float name='beam_width' value='" degrees "'/>"
#define CLIPPED(plane, at)                                                                                   \
    "<sensor type='perspective' id='camera'><float name='fov' value='40'/><float name='" plane               \
    "' value='" at "'/></sensor>"
#define FAR_BALL "<shape type='sphere' id='ball'><point name='center' x='0' y='0' z='5'/></shape>"
    static const struct {
        const char *body, *name, *says, *silent;
    } cases[] = {
        {CAMERA BALL(""), "ball.to_world", "edges and shadows that move", "steps"},
        {CAMERA BALL(""), "ball.rotation", "edges and shadows that move", "steps"},
        {CAMERA BALL(BOARD), "ball.to_world", "steps of textures that move", NULL},
        {CAMERA BALL(BOARD), "ball.scale", "steps of textures that move", NULL},
        {CAMERA PATCH(BOARD), "it.vertex_positions", "steps of textures that move", NULL},
        {CAMERA PATCH(BOARD), "it.vertex_texcoords", "the steps of checkerboards", NULL},
        {CAMERA PATCH(MATTE(IMAGE("reflectance", "grey.pfm", ""))), "it.vertex_texcoords", NULL, NULL},
        {CAMERA PATCH(MATTE(IMAGE("reflectance", "grey.pfm", NEAREST))), "it.vertex_texcoords",
         "the steps of checkerboards", NULL},
        {CAMERA PATCH("<emitter type='area'>" IMAGE("radiance", "grey.pfm", NEAREST) "</emitter>"),
         "it.vertex_texcoords", "the steps of checkerboards", NULL},
        {CAMERA PATCH(""), "it.vertex_normals", "where the turned normal comes to face away", NULL},
        {CAMERA BALL("<bsdf type='bumpmap'>" IMAGE("nested_texture", "grey.pfm", "") MATTE("") "</bsdf>"),
         "ball.bsdf.scale", "where the turned normal comes to face away", NULL},
        {CAMERA BALL("<bsdf type='normalmap'>" IMAGE("normalmap", "normals.pfm", "") MATTE("") "</bsdf>"),
         "ball.bsdf.normalmap.data", "where the turned normal comes to face away", NULL},
        {CAMERA BALL("<bsdf type='normalmap'>" IMAGE("normalmap", "normals.pfm", "") MATTE("") "</bsdf>"),
         "paint.reflectance.value", NULL, NULL},
        {CAMERA PATCH("<emitter type='area'/>"), "it.vertex_positions", "edges and shadows that move",
         "place of the light"},
        {CAMERA PATCH("<emitter type='directionalarea'/>"), "it.vertex_positions", "place of the light",
         NULL},
        {CAMERA GROUP(BOARD), "it.translation", "steps of textures that move", NULL},
        {CAMERA GROUP("") BALL(BOARD), "it.translation", "edges and shadows that move", "steps"},
        {CAMERA BALL(""), "camera.to_world", "silhouettes and edges of shadows, which move", "steps"},
        {CAMERA BALL(""), "camera.x_fov", "silhouettes and edges of shadows, which move", "clip planes"},
        {CAMERA BALL(BOARD), "camera.translation", "edges of shadows and steps of textures", "clip planes"},
        {CLIPPED("far_clip", ".5") BALL(""), "camera.rotation",
         "edges of shadows and borders of what clip planes cut", "steps"},
        {CLIPPED("far_clip", ".5") BALL(BOARD), "camera.x_fov",
         "steps of textures and borders of what clip planes cut", NULL},
        {CLIPPED("far_clip", "50") BALL(""), "camera.rotation", "edges of shadows", "clip planes"},
        {CLIPPED("near_clip", ".01") BALL(""), "camera.rotation", "edges of shadows and borders", NULL},
        {CLIPPED("near_clip", ".01") FAR_BALL, "camera.rotation", "edges of shadows", "clip planes"},
        {CLIPPED("near_clip", "2.5") FAR_BALL, "camera.rotation", "borders of what clip planes cut", NULL},
        {CAMERA "<shape type='sphere' id='ball'><float name='radius' value='20000'/></shape>",
         "camera.to_world", "clip planes", NULL},
        {CAMERA BALL("") SPOT(""), "spot.to_world", "shadows", "border"},
        {CAMERA BALL("") SPOT(""), "spot.cutoff_angle", NULL, NULL},
        {CAMERA BALL("") SPOT(BEAM("19")), "spot.cutoff_angle", NULL, NULL},
        {CAMERA BALL("") SPOT(BEAM("20")), "spot.to_world", "shadows, and the border of the cone", NULL},
        {CAMERA BALL("") SPOT(BEAM("20")), "spot.cutoff_angle", "the border of the cone", NULL},
        {CAMERA BALL("") SPOT(BEAM("20")), "spot.beam_width", "the border of the cone", NULL},
        {CAMERA BALL("") SPOT(BEAM("20")), "spot.intensity.value", NULL, NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bl_scene *scene = load(cases[k].body);
        const char *reason = info_of(scene, cases[k].name).reason, *says = cases[k].says;
        bool right = says ? reason && strstr(reason, says) : !reason;
        if (!right || (reason && cases[k].silent && strstr(reason, cases[k].silent)))
            fail_msg("%s in %s: %s", cases[k].name, cases[k].body, reason ? reason : "complete");
        bl_scene_destroy(scene);
    }
}

/* A round segment along the z axis. */
static void write_hair(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/hair.txt", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("0 0 -.5 .1\n0 0 .5 .1\n", f);
    fclose(f);
}

/* What is said where moving edges are differentiated. says: NULL, nothing is missing. */
static void reasons_beside_edges(void **state)
{
    (void)state;
#define VOLPATH "<integrator type='volpath'/>"
/* A picture around a shape: with "repeat" it has no seam. */
#define PICTURE(wrap)                                                                                        \
    MATTE("<texture type='bitmap' name='reflectance'><string name='filename' value='texture.pfm'/><string "  \
          "name='wrap_mode' value='" wrap "'/></texture>")
#define FOG "<bsdf type='null'/><medium type='homogeneous' name='interior'/>"
#define BULB "<emitter type='point' id='bulb'/>"
/* A cube with a grid of density in it, which is so much larger. */
#define SMOKE(scale)                                                                                         \
    "<shape type='cube' id='it'><bsdf type='null'/><medium type='heterogeneous' name='interior'><volume "    \
    "type='gridvolume' name='sigma_t'><string name='resolution' value='2'/><transform name='to_world'>"      \
    "<translate value='-.5,-.5,-.5'/><scale value='" scale "'/></transform></volume></medium></shape>"
/* The same, with a grid of voxels without a filter. */
#define VOXELS                                                                                               \
    "<shape type='cube' id='it'><bsdf type='null'/><medium type='heterogeneous' name='interior'><volume "    \
    "type='gridvolume' name='sigma_t'><string name='resolution' value='2'/>" NEAREST                         \
    "<transform name='to_world'><translate value='-.5,-.5,-.5'/><scale value='2.4'/></transform></volume>"   \
    "</medium></shape>"
#define GLASS "<shape type='sphere'><bsdf type='dielectric' id='glass'/></shape>"
/* Of the same size, so far apart; 2: they touch. */
#define TWO_PLATES(x)                                                                                        \
    "<shape type='rectangle' id='it'/><shape type='rectangle'><transform name='to_world'><translate x='" x   \
    "'/></transform></shape>"
#define MASK "<bsdf type='mask'>" MATTE("") "</bsdf>"
#define SHAPE(type, operations)                                                                              \
    "<shape type='" type "'><transform name='to_world'>" operations "</transform></shape>"
#define HAIR "<shape type='linearcurve' id='it'><string name='filename' value='hair.txt'/></shape>"
/* Two plates of a group, so far apart; 2: they touch. */
#define TWO_INSTANCES(x)                                                                                     \
    "<shape type='shapegroup' id='g'><shape type='rectangle'/></shape><shape type='instance' id='it'><ref "  \
    "id='g'/></shape><shape type='instance'><ref id='g'/><transform name='to_world'><translate x='" x        \
    "'/></transform></shape>"
#define OTHER(type) "<sensor type='" type "' id='other'/>"
    static const struct {
        const char *body, *name, *says;
    } cases[] = {
        {CAMERA BALL(""), "ball.to_world", NULL},
        {CLIPPED("near_clip", ".01") FAR_BALL, "ball.to_world", NULL},
        {CLIPPED("near_clip", "2.5") FAR_BALL, "ball.to_world", NULL},
        {CLIPPED("near_clip", "2.5") FAR_BALL, "camera.translation", NULL},
        {VOLPATH CLIPPED("near_clip", "2.5") FAR_BALL, "ball.to_world", NULL},
        {VOLPATH CLIPPED("near_clip", "2.5") FAR_BALL, "camera.translation", NULL},
        {CAMERA BALL("") BULB, "bulb.position", NULL},
        {CAMERA BALL("") SPOT(BEAM("20")), "spot.to_world", NULL},
        {CAMERA BALL("") SPOT(BEAM("20")), "spot.cutoff_angle", "the border of the cone"},
        {VOLPATH CAMERA BALL(FOG) SPOT(BEAM("20")), "spot.to_world", NULL},
        {VOLPATH CAMERA BALL(FOG) SPOT(BEAM("20")), "spot.cutoff_angle", "the border of the cone"},
        {CAMERA BALL("<bsdf type='conductor'/>"), "ball.to_world",
         "mirrors, behind smooth glass and next to masks"},
        {CAMERA BALL(MASK), "ball.to_world", "mirrors, behind smooth glass and next to masks"},
        {CAMERA BALL("") "<shape type='rectangle'><bsdf type='conductor'/></shape>", "ball.to_world",
         "but for silhouettes that the sensor sees in flat ones"},
        {VOLPATH CAMERA BALL(""), "ball.to_world", NULL},
        {VOLPATH CAMERA BALL(MASK), "ball.to_world", NULL},
        {VOLPATH CAMERA BALL(FOG), "ball.to_world", NULL},
        {VOLPATH CAMERA BALL(FOG), "camera.translation", NULL},
        {CAMERA BALL(PICTURE("repeat")), "ball.rotation", NULL},
        {CAMERA BALL(PICTURE("mirror")), "ball.rotation", "steps of textures"},
        {CAMERA BALL(PICTURE("mirror")), "camera.rotation", "steps of textures"},
        {CAMERA SHAPE("rectangle", "") BALL(""), "camera.rotation", NULL},
        {VOLPATH CAMERA SMOKE("2"), "it.translation", "the grid inside ends at a face"},
        {VOLPATH CAMERA SMOKE("2"), "it.vertex_positions", "the grid inside ends at a face"},
        {VOLPATH CAMERA SMOKE("2.4"), "it.translation", NULL},
        {VOLPATH CAMERA SMOKE("1.9"), "it.translation", NULL},
        {VOLPATH CAMERA SMOKE("1.9"), "camera.translation", NULL},
        {VOLPATH CAMERA SMOKE("1.9") BALL(""), "ball.translation", NULL},
        {VOLPATH CAMERA SMOKE("1.9") GLASS, "glass.eta", "steps of densities"},
        {VOLPATH CAMERA SMOKE("2.4") GLASS, "glass.eta", "edges that it moves"},
        {VOLPATH CAMERA VOXELS, "it.translation", "steps of densities"},
        {VOLPATH CAMERA VOXELS, "camera.translation", "steps of densities"},
        {CAMERA TWO_PLATES("2"), "it.translation", "a border coincides with another mesh's"},
        {CAMERA TWO_PLATES("2"), "camera.translation", NULL},
        {CAMERA TWO_PLATES("2.1"), "it.translation", NULL},
        {CAMERA TWO_INSTANCES("2"), "it.translation", "a border coincides with another instance's"},
        {CAMERA TWO_INSTANCES("2"), "camera.translation", "borders of meshes of different instances"},
        {CAMERA TWO_INSTANCES("2.1"), "it.translation", NULL},
        {CAMERA TWO_INSTANCES("2.1"), "camera.translation", NULL},
        {CAMERA BALL("") SHAPE("rectangle", ""), "ball.translation", NULL},
        {CAMERA BALL("") SHAPE("cylinder", ""), "camera.translation", NULL},
        {CAMERA HAIR SHAPE("rectangle", ""), "it.translation", "goes through another shape"},
        {CAMERA HAIR SHAPE("rectangle", ""), "camera.translation", "shapes go through each other"},
        {CAMERA HAIR SHAPE("rectangle", "<translate z='.7'/>"), "it.translation", NULL},
        {CAMERA HAIR SHAPE("rectangle", "<translate z='.7'/>"), "camera.translation", NULL},
        {CAMERA HAIR SHAPE("sphere", "<scale value='.3'/>"), "it.translation", "goes through another shape"},
        {CAMERA HAIR SHAPE("sphere", "<scale value='3'/>"), "it.translation", NULL},
        {VOLPATH CAMERA BALL(FOG) SHAPE("rectangle", ""), "ball.translation", NULL},
        {CAMERA OTHER("perspective") BALL(""), "other.translation", NULL},
        {CAMERA OTHER("orthographic") BALL(""), "other.to_world", "another sensor's"},
        {VOLPATH CAMERA BALL("<bsdf type='conductor'/>"), "ball.to_world", "mirrors and behind smooth glass"},
        {VOLPATH CAMERA BALL("") BULB, "ball.to_world", NULL},
        {VOLPATH CAMERA BALL(FOG) BULB, "ball.to_world", NULL},
        {VOLPATH CAMERA BALL(FOG) BULB, "bulb.position", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bl_scene *scene = load_with(cases[k].body, BL_EDGES_AUTO);
        const char *reason = info_of(scene, cases[k].name).reason, *says = cases[k].says;
        if (says ? !reason || !strstr(reason, says) : reason != NULL)
            fail_msg("%s in %s: %s", cases[k].name, cases[k].body, reason ? reason : "complete");
        bl_scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds), cmocka_unit_test(reasons),
                                       cmocka_unit_test(reasons_beside_edges)};
    folder = scene_files_create();
    if (folder)
        write_hair();
    if (!folder || bl_context_create(&(bl_context_desc){.no_devices = true}, &context) != BL_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bl_context_destroy(context);
    scene_files_remove(folder);
    return failed;
}
