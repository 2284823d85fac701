/* SPDX-License-Identifier: BSD-3-Clause
 * The list of plugins, from plugins.def; and the class of the scene. */
#include "render/classes.h"

static const plugin_slot scene_slots[] = {
    {PLUGIN_INTEGRATOR, "integrator", 0, 1},
    {PLUGIN_SENSOR, "sensor", 0, 0},
    {PLUGIN_BSDF, "bsdf", 0, 0},
    {PLUGIN_EMITTER, "emitter", 0, 0},
    {PLUGIN_SHAPE, "shape", 0, 0},
    {PLUGIN_TEXTURE, "texture", 0, 0},
    {PLUGIN_SAMPLER, "sampler", 0, 0},
    {PLUGIN_FILM, "film", 0, 0},
    {PLUGIN_RFILTER, "rfilter", 0, 0},
    {PLUGIN_MEDIUM, "medium", 0, 0},
    {PLUGIN_PHASE, "phase", 0, 0},
    {PLUGIN_VOLUME, "volume", 0, 0},
    {PLUGIN_FIELD, "field", 0, 1},
};
static const plugin_param scene_params[] = {
    {"allow_thread_reordering", PLUGIN_BOOLEAN, 0, "true", 0, 0, "accepted"},
    {"compact_acceleration_structures", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted"},
    {"embree_use_robust_intersections", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted"},
};
const render_class class_scene = {
    .plugin = {PLUGIN_SCENE, "scene", PLUGIN_TABLE(scene_params), PLUGIN_TABLE(scene_slots), "the root"}};

/* Every class begins with its plugin_class. */
#define PLUGIN(type, kind, name) (const plugin_class *)&kind##_##name,
static const plugin_class *const classes[] = {
#include "render/plugins.def"
};
#undef PLUGIN
const plugin_registry render_registry = {PLUGIN_TABLE(classes)};
