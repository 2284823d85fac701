/* SPDX-License-Identifier: BSD-3-Clause
 * A small registry of plugins for tests of the scene loader: one class for each thing the loader can be asked
 * to do. Names and defaults follow Mitsuba where they exist; what is behind them does not matter here. */
#ifndef BL_TEST_REGISTRY_H
#define BL_TEST_REGISTRY_H

#include "scene/scene.h"

#define TEST_COUNT(array) (array), sizeof(array) / sizeof(array)[0]
#define TEST_TRANSFORM                                                                                       \
    {                                                                                                        \
        "to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, ""                                                \
    }

static const plugin_slot test_scene_slots[] = {
    {
        PLUGIN_SENSOR,
        "sensor",
        0,
        0,
    },
    {PLUGIN_INTEGRATOR, "integrator", 0, 1},
    {PLUGIN_SHAPE, "shape", 0, 0},
    {PLUGIN_EMITTER, "emitter", 0, 0},
    {PLUGIN_BSDF, "bsdf", 0, 0},
    {PLUGIN_TEXTURE, "texture", 0, 0},
    {PLUGIN_MEDIUM, "medium", 0, 0},
};
static const plugin_class test_scene = {PLUGIN_SCENE, "scene", NULL, 0, TEST_COUNT(test_scene_slots), ""};

static const plugin_param test_constant_params[] = {
    {"value", PLUGIN_COLOR, PLUGIN_DIFFERENTIABLE, "0.5", 0, 0, ""}};
static const plugin_class test_constant = {PLUGIN_TEXTURE, "constant", TEST_COUNT(test_constant_params),
                                           NULL,           0,          ""};

static const plugin_param test_uniform_params[] = {
    {"value", PLUGIN_FLOAT, PLUGIN_REQUIRED | PLUGIN_STANDS, NULL, 0, 0, ""}};
static const plugin_class test_uniform = {PLUGIN_TEXTURE, "uniform", TEST_COUNT(test_uniform_params),
                                          NULL,           0,         ""};
static const plugin_param test_raw_params[] = {
    {"value", PLUGIN_COLOR, PLUGIN_REQUIRED | PLUGIN_STANDS, NULL, 0, 0, ""}};
static const plugin_class test_raw = {
    PLUGIN_TEXTURE, "rawconstant", TEST_COUNT(test_raw_params), NULL, 0, ""};
static const plugin_param test_srgb_params[] = {
    {"color", PLUGIN_COLOR, PLUGIN_REQUIRED | PLUGIN_STANDS, NULL, 0, 0, ""}};
static const plugin_class test_srgb = {PLUGIN_TEXTURE, "srgb", TEST_COUNT(test_srgb_params), NULL, 0, ""};
static const plugin_param test_d65_params[] = {
    {"color", PLUGIN_COLOR, PLUGIN_STANDS, "1", 0, 0, ""},
    {"scale", PLUGIN_FLOAT, PLUGIN_STANDS, "1", 0, 0, ""},
    {"nested", PLUGIN_TEXTURED, PLUGIN_ABSENT | PLUGIN_ANY_NAME | PLUGIN_STANDS, NULL, 0, 0, ""}};
static const plugin_class test_d65 = {PLUGIN_TEXTURE, "d65", TEST_COUNT(test_d65_params), NULL, 0, ""};
static const plugin_param test_curve_params[] = {{"values", PLUGIN_FLOAT, PLUGIN_BY_USE, "1", 0, 0, ""}};
static const plugin_class test_curve = {PLUGIN_TEXTURE, "curve", TEST_COUNT(test_curve_params), NULL, 0, ""};

static const plugin_param test_bitmap_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0, ""},
    {"raw", PLUGIN_BOOLEAN, 0, "false", 0, 0, ""},
    {"filter_type", PLUGIN_STRING, 0, "bilinear", 0, 0, ""},
    {"to_uv", PLUGIN_TRANSFORM, 0, "identity", 0, 0, ""},
};
static const plugin_class test_bitmap = {PLUGIN_TEXTURE, "bitmap", TEST_COUNT(test_bitmap_params),
                                         NULL,           0,        ""};

static const plugin_param test_checkerboard_params[] = {
    {"color0", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.4", 0, 0, ""},
    {"color1", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.2", 0, 0, ""},
    {"to_uv", PLUGIN_TRANSFORM, 0, "identity", 0, 0, ""},
};
static const plugin_class test_checkerboard = {
    PLUGIN_TEXTURE, "checkerboard", TEST_COUNT(test_checkerboard_params), NULL, 0, ""};

static const plugin_param test_diffuse_params[] = {
    {"reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE | PLUGIN_DIFFERENTIABLE, "0.5", 0, 0, ""}};
static const plugin_class test_diffuse = {PLUGIN_BSDF, "diffuse", TEST_COUNT(test_diffuse_params),
                                          NULL,        0,         ""};

static const plugin_slot test_twosided_slots[] = {{PLUGIN_BSDF, "brdf_#", 1, 2}};
static const plugin_class test_twosided = {PLUGIN_BSDF, "twosided", NULL, 0, TEST_COUNT(test_twosided_slots),
                                           ""};

static const plugin_param test_area_params[] = {
    {"radiance", PLUGIN_TEXTURED, PLUGIN_EMISSION | PLUGIN_DIFFERENTIABLE, "1", 0, 0, ""}};
static const plugin_class test_area = {PLUGIN_EMITTER, "area", TEST_COUNT(test_area_params), NULL, 0, ""};
static const plugin_class test_constant_emitter = {PLUGIN_EMITTER, "constant", TEST_COUNT(test_area_params),
                                                   NULL,           0,          ""};

static const plugin_param test_point_params[] = {
    {"position", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0, ""},
    {"intensity", PLUGIN_COLOR, PLUGIN_EMISSION, "1", 0, 0, ""},
    TEST_TRANSFORM,
};
static const plugin_class test_point = {PLUGIN_EMITTER, "point", TEST_COUNT(test_point_params), NULL, 0, ""};

static const plugin_param test_perspective_params[] = {
    {"fov", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-3, 179.999, ""},
    {"fov_axis", PLUGIN_STRING, 0, "x", 0, 0, ""},
    {"near_clip", PLUGIN_FLOAT, 0, "1e-2", 1e-30, 1e30, ""},
    {"far_clip", PLUGIN_FLOAT, 0, "1e4", 1e-30, 1e30, ""},
    {"focus_distance", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 0, ""},
    TEST_TRANSFORM,
};
static const plugin_slot test_perspective_slots[] = {{PLUGIN_FILM, "film", 0, 1},
                                                     {PLUGIN_SAMPLER, "sampler", 0, 1}};
static const plugin_class test_perspective = {PLUGIN_SENSOR, "perspective",
                                              TEST_COUNT(test_perspective_params),
                                              TEST_COUNT(test_perspective_slots), ""};

static const plugin_param test_hdrfilm_params[] = {
    {"width", PLUGIN_INTEGER, 0, "768", 1, 65536, ""},
    {"height", PLUGIN_INTEGER, 0, "576", 1, 65536, ""},
    {"pixel_format", PLUGIN_STRING, 0, "rgb", 0, 0, ""},
    {"component_format", PLUGIN_STRING, 0, "float16", 0, 0, ""},
    {"sample_border", PLUGIN_BOOLEAN, 0, "false", 0, 0, ""},
    {"file_format", PLUGIN_STRING, 0, "openexr", 0, 0, ""},
};
static const plugin_slot test_hdrfilm_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1}};
static const plugin_class test_hdrfilm = {PLUGIN_FILM, "hdrfilm", TEST_COUNT(test_hdrfilm_params),
                                          TEST_COUNT(test_hdrfilm_slots), ""};
static const plugin_class test_box = {PLUGIN_RFILTER, "box", NULL, 0, NULL, 0, ""};

static const plugin_param test_independent_params[] = {{"sample_count", PLUGIN_INTEGER, 0, "4", 1, 1e9, ""},
                                                       {"seed", PLUGIN_INTEGER, 0, "0", 0, 0, ""}};
static const plugin_class test_independent = {
    PLUGIN_SAMPLER, "independent", TEST_COUNT(test_independent_params), NULL, 0, ""};

static const plugin_param test_path_params[] = {{"max_depth", PLUGIN_INTEGER, 0, "-1", -1, 1000000, ""},
                                                {"rr_depth", PLUGIN_INTEGER, 0, "5", 1, 1000000, ""},
                                                {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, ""}};
static const plugin_class test_path = {PLUGIN_INTEGRATOR, "path", TEST_COUNT(test_path_params), NULL, 0, ""};

static const plugin_slot test_shape_slots[] = {{PLUGIN_BSDF, "bsdf", 0, 1},
                                               {PLUGIN_EMITTER, "emitter", 0, 1},
                                               {PLUGIN_MEDIUM, "interior", 0, 1},
                                               {PLUGIN_MEDIUM, "exterior", 0, 1}};
static const plugin_param test_rectangle_params[] = {TEST_TRANSFORM,
                                                     {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, ""}};
static const plugin_class test_rectangle = {PLUGIN_SHAPE, "rectangle", TEST_COUNT(test_rectangle_params),
                                            TEST_COUNT(test_shape_slots), ""};
static const plugin_class test_cube = {PLUGIN_SHAPE, "cube", TEST_COUNT(test_rectangle_params),
                                       TEST_COUNT(test_shape_slots), ""};
static const plugin_param test_obj_params[] = {{"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0, ""},
                                               {"face_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, ""},
                                               {"flip_tex_coords", PLUGIN_BOOLEAN, 0, "true", 0, 0, ""},
                                               {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, ""},
                                               TEST_TRANSFORM};
static const plugin_class test_obj = {PLUGIN_SHAPE, "obj", TEST_COUNT(test_obj_params),
                                      TEST_COUNT(test_shape_slots), ""};

static const plugin_param test_medium_params[] = {{"scale", PLUGIN_FLOAT, 0, "1", 0, 0, ""}};
static const plugin_class test_medium = {
    PLUGIN_MEDIUM, "homogeneous", TEST_COUNT(test_medium_params), NULL, 0, ""};

static const plugin_class *const test_classes[] = {
    &test_scene,       &test_constant,    &test_bitmap,  &test_checkerboard,
    &test_diffuse,     &test_twosided,    &test_area,    &test_constant_emitter,
    &test_point,       &test_perspective, &test_hdrfilm, &test_box,
    &test_independent, &test_path,        &test_uniform, &test_raw,
    &test_srgb,        &test_d65,         &test_curve,   &test_rectangle,
    &test_cube,        &test_obj,         &test_medium,
};
static const plugin_registry test_registry = {TEST_COUNT(test_classes)};

#endif
