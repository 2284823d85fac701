/* SPDX-License-Identifier: BSD-3-Clause
 * The list of plugins, and the classes that are structure only: scene, film, sampler, integrators. A new plugin is a file with its class
 * and a line here. */
#include "render/bsdf/perturbed.h"
#include "render/classes.h"

static const plugin_slot scene_slots[] = {
    {PLUGIN_INTEGRATOR, "integrator", 0, 1}, {PLUGIN_SENSOR, "sensor", 0, 0},  {PLUGIN_BSDF, "bsdf", 0, 0},
    {PLUGIN_EMITTER, "emitter", 0, 0},       {PLUGIN_SHAPE, "shape", 0, 0},    {PLUGIN_TEXTURE, "texture", 0, 0},
    {PLUGIN_SAMPLER, "sampler", 0, 0},       {PLUGIN_FILM, "film", 0, 0},      {PLUGIN_RFILTER, "rfilter", 0, 0},
};
const render_class class_scene = {.plugin = {PLUGIN_SCENE, "scene", NULL, 0, scene_slots, 9, "the root"}};

static const plugin_param film_params[] = {
    {"width", PLUGIN_INTEGER, 0, "768", 1, 65536, "pixels"},
    {"height", PLUGIN_INTEGER, 0, "576", 1, 65536, "pixels"},
    {"file_format", PLUGIN_STRING, 0, "openexr", 0, 0, "accepted; the output's name decides"},
    {"pixel_format", PLUGIN_STRING, 0, "rgb", 0, 0, "rgb"},
    {"component_format", PLUGIN_STRING, 0, "float16", 0, 0, "accepted; float32 is written"},
    {"sample_border", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted; filter importance sampling needs no border"},
    {"compensate", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted"},
    {"crop_offset_x", PLUGIN_INTEGER, 0, "0", 0, 65536, "the image is this window of the film"},
    {"crop_offset_y", PLUGIN_INTEGER, 0, "0", 0, 65536, "from the top"},
    {"crop_width", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 1, 65536, "the whole film if missing"},
    {"crop_height", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 1, 65536, "the whole film if missing"},
};
static const plugin_slot film_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1}};

static bl_result film_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *format = scene_get(o, "pixel_format");
    if (strcmp(format->text, "rgb") != 0 && strcmp(format->text, "rgba") != 0)
        return scene_error(err, BL_ERROR_UNSUPPORTED, format->where, "hdrfilm: pixel_format \"%s\" is not implemented yet, use rgb", format->text);
    return BL_OK;
}
const render_class film_hdrfilm = {.plugin = {PLUGIN_FILM, "hdrfilm", film_params, 11, film_slots, 1, "high dynamic range image"}, .load = film_load};

static const plugin_param sampler_params[] = {
    {"sample_count", PLUGIN_INTEGER, 0, "4", 1, 1 << 24, "samples per pixel"},
    {"seed", PLUGIN_INTEGER, 0, "0", 0, 4294967295.0, "added to the seed of a render"},
};
const render_class sampler_independent = {.plugin = {PLUGIN_SAMPLER, "independent", sampler_params, 2, NULL, 0, "independent uniform numbers"}};

#define INTEGRATOR_PARAMS(depth)                                                                             \
    {"max_depth", PLUGIN_INTEGER, 0, depth, -1, 65536, "longest path in segments; -1: unbounded"},           \
        {"rr_depth", PLUGIN_INTEGER, 0, "5", 1, 65536, "segments before Russian roulette may end a path"},   \
        {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "lights are invisible to the camera"},           \
        {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted; use progress and cancellation"},                 \
        {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted; work is sliced by measured time"},           \
        {"samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0, "accepted; work is sliced by measured time"}
static const plugin_param path_params[] = {INTEGRATOR_PARAMS("-1")};
static const plugin_param prb_params[] = {INTEGRATOR_PARAMS("6")};
const render_class integrator_path = {.plugin = {PLUGIN_INTEGRATOR, "path", path_params, 6, NULL, 0, "path tracing with next-event estimation"}};
const render_class integrator_prb = {.plugin = {PLUGIN_INTEGRATOR, "prb", prb_params, 6, NULL, 0, "path, differentiated by path replay"}};

static const plugin_param direct_params[] = {
    {"shading_samples", PLUGIN_INTEGER, 0, "1", 1, 1024, "of both kinds"},
    {"emitter_samples", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 1024, "of lights"},
    {"bsdf_samples", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 1024, "of materials"},
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "lights are invisible to the camera"},
    {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},
    {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},
};

static bl_result direct_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    static const char *const names[] = {"shading_samples", "emitter_samples", "bsdf_samples"};
    for (int k = 0; k < 3; k++)
        if (scene_get(o, names[k])->given && scene_number(o, names[k]) > 1)
            return scene_error(err, BL_ERROR_UNSUPPORTED, scene_get(o, names[k])->where,
                               "direct: more than one sample of a kind is not implemented yet, raise the sampler's sample_count");
    bool lights = scene_get(o, "emitter_samples")->given && scene_number(o, "emitter_samples") == 0;
    bool materials = scene_get(o, "bsdf_samples")->given && scene_number(o, "bsdf_samples") == 0;
    if (lights && materials)
        return scene_error(err, BL_ERROR_SCENE, o->where, "direct: emitter_samples and bsdf_samples cannot both be 0");
    return BL_OK;
}
const render_class integrator_direct = {
    .plugin = {PLUGIN_INTEGRATOR, "direct", direct_params, 6, NULL, 0, "direct illumination only"}, .load = direct_load};

/* The image is the first nested integrator's (scene_build.c looks through); Mitsuba's further channels, the moments, are not made. */
static bl_result moment_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)err;
    text_add(&s->description->warnings, "%s:%u: moment: the image is that of the nested integrator%s; the channels of the moments are left out\n",
             o->where.file, o->where.line, o->child_count > 1 ? ", the first one," : "");
    return BL_OK;
}
static const plugin_param moment_params[] = {
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted; the nested integrator's counts"},
    {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},
    {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},
    {"samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0, "accepted"},
};
static const plugin_slot moment_slots[] = {{PLUGIN_INTEGRATOR, "integrator", 1, 0}};
const render_class integrator_moment = {
    .plugin = {PLUGIN_INTEGRATOR, "moment", moment_params, 4, moment_slots, 1, "the nested integrator's image"}, .load = moment_load};

static const plugin_class *const classes[] = {
    &class_scene.plugin,
    &texture_constant.base.plugin,
    &texture_bitmap.base.plugin,
    &texture_checkerboard.base.plugin,
    &texture_mesh_attribute.base.plugin,
    &bsdf_blend.base.plugin, &bsdf_conductor.base.plugin,
    &bsdf_dielectric.base.plugin,
    &bsdf_diffuse.base.plugin,
    &bsdf_hair.base.plugin,
    &bsdf_mask.base.plugin,
    &bsdf_bumpmap.bsdf.base.plugin,
    &bsdf_normalmap.bsdf.base.plugin,
    &bsdf_null.base.plugin,
    &bsdf_plastic.base.plugin,
    &bsdf_principled.base.plugin,
    &bsdf_principledthin.base.plugin,
    &bsdf_roughconductor.base.plugin,
    &bsdf_roughdielectric.base.plugin,
    &bsdf_roughplastic.base.plugin,
    &bsdf_thindielectric.base.plugin,
    &bsdf_twosided.base.plugin,
    &emitter_area.base.plugin,
    &emitter_point.base.plugin,
    &emitter_spot.base.plugin,
    &emitter_directional.base.plugin, &emitter_directionalarea.base.plugin,
    &emitter_projector.base.plugin,
    &emitter_constant.base.plugin, &emitter_envmap.base.plugin,
    &shape_rectangle.base.plugin,
    &shape_cube.base.plugin,
    &shape_sphere.base.plugin,
    &shape_obj.base.plugin,
    &shape_ply.base.plugin,
    &shape_serialized.base.plugin,
    &shape_disk.base.plugin,
    &shape_cylinder.base.plugin,
    &shape_merge.base.plugin,
    &shape_shapegroup.base.plugin,
    &shape_instance.base.plugin,
    &sensor_perspective.plugin,
    &film_hdrfilm.plugin,
    &filter_box.base.plugin,
    &filter_tent.base.plugin,
    &filter_gaussian.base.plugin,
    &sampler_independent.plugin,
    &integrator_path.plugin,
    &integrator_direct.plugin,
    &integrator_prb.plugin,
    &integrator_moment.plugin,
};
const plugin_registry render_registry = {classes, sizeof classes / sizeof *classes};
