/* SPDX-License-Identifier: BSD-3-Clause
 * Names that people mistype. Besides the registry's plugins the loader knows the names of all of Mitsuba 3's,
 * so that "not implemented yet" and "no such thing" are different messages. */
#include "scene/scene_internal.h"

#include <string.h>

const char *const plugin_category_names[PLUGIN_CATEGORY_COUNT] = {
    [PLUGIN_SCENE] = "scene",           [PLUGIN_BSDF] = "bsdf",
    [PLUGIN_EMITTER] = "emitter",       [PLUGIN_FILM] = "film",
    [PLUGIN_INTEGRATOR] = "integrator", [PLUGIN_MEDIUM] = "medium",
    [PLUGIN_PHASE] = "phase",           [PLUGIN_RFILTER] = "rfilter",
    [PLUGIN_SAMPLER] = "sampler",       [PLUGIN_SENSOR] = "sensor",
    [PLUGIN_SHAPE] = "shape",           [PLUGIN_TEXTURE] = "texture",
    [PLUGIN_VOLUME] = "volume",         [PLUGIN_FIELD] = "field",
};

// clang-format off
static const char *const known_scene[] = {"scene", NULL};
static const char *const known_bsdf[] = {
    "diffuse", "dielectric", "thindielectric", "roughdielectric", "conductor", "roughconductor", "plastic",
    "roughplastic",
    "principled", "principledthin", "normalmap", "bumpmap", "mask", "twosided", "blendbsdf", "null",
    "pplastic", "hair", "measured",
    "measured_polarized", "polarizer", "retarder", "circular", NULL};
static const char *const known_emitter[] = {
    "area", "directionalarea", "point", "spot", "directional", "constant", "envmap", "projector", "sunsky",
    "timed_sunsky", NULL};
static const char *const known_film[] = {"hdrfilm", "specfilm", NULL};
static const char *const known_integrator[] = {
    "path", "direct", "volpath", "volpathmis", "ptracer", "aov", "depth", "moment", "stokes", "prb",
    "prb_basic", "prbvolpath",
    "direct_projective", "prb_projective", "volprim_rf_basic", NULL};
static const char *const known_medium[] = {"homogeneous", "heterogeneous", NULL};
static const char *const known_phase[] = {
    "isotropic", "rayleigh", "hg", "blendphase", "tabphase", "sggx", NULL};
static const char *const known_rfilter[] = {
    "box", "tent", "gaussian", "mitchell", "catmullrom", "lanczos", NULL};
static const char *const known_sampler[] = {
    "independent", "stratified", "multijitter", "orthogonal", "ldsampler", NULL};
static const char *const known_sensor[] = {
    "perspective", "thinlens", "orthographic", "batch", "distant", "radiancemeter", "irradiancemeter", NULL};
static const char *const known_shape[] = {
    "rectangle", "cube", "sphere", "disk", "cylinder", "obj", "ply", "serialized", "shapegroup", "instance",
    "merge", "bsplinecurve",
    "linearcurve", "sdfgrid", "ellipsoids", "ellipsoidsmesh", NULL};
static const char *const known_texture[] = {
    "bitmap", "checkerboard", "mesh_attribute", "volume", "uniform", "srgb", "d65", "rawconstant", "regular",
    "irregular", "blackbody",
    NULL};
static const char *const known_volume[] = {"constvolume", "gridvolume", NULL};
static const char *const known_field[] = {NULL}; /* Mitsuba has no fields */
// clang-format on

const char *const *plugin_known_names(plugin_category category)
{
    static const char *const *const lists[PLUGIN_CATEGORY_COUNT] = {
        [PLUGIN_SCENE] = known_scene,           [PLUGIN_BSDF] = known_bsdf,
        [PLUGIN_EMITTER] = known_emitter,       [PLUGIN_FILM] = known_film,
        [PLUGIN_INTEGRATOR] = known_integrator, [PLUGIN_MEDIUM] = known_medium,
        [PLUGIN_PHASE] = known_phase,           [PLUGIN_RFILTER] = known_rfilter,
        [PLUGIN_SAMPLER] = known_sampler,       [PLUGIN_SENSOR] = known_sensor,
        [PLUGIN_SHAPE] = known_shape,           [PLUGIN_TEXTURE] = known_texture,
        [PLUGIN_VOLUME] = known_volume,         [PLUGIN_FIELD] = known_field,
    };
    BL_ASSERT(category < PLUGIN_CATEGORY_COUNT && lists[category], "no names of category %d", (int)category);
    return lists[category];
}

enum { NAME_MAX_COMPARED = 40 };

/* Levenshtein's distance, two rows at a time. */
static uint32_t edit_distance(const char *a, const char *b)
{
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > NAME_MAX_COMPARED || length_b > NAME_MAX_COMPARED)
        return UINT32_MAX;
    uint32_t rows[2][NAME_MAX_COMPARED + 1];
    for (uint32_t j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= length_a; i++) {
        const uint32_t *above = rows[(i + 1) % 2];
        uint32_t *row = rows[i % 2];
        row[0] = i;
        for (uint32_t j = 1; j <= length_b; j++) {
            uint32_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return rows[length_a % 2][length_b];
}

const char *name_nearest(const char *name, const char *const *names, uint32_t count, uint32_t *distance)
{
    const char *nearest = NULL;
    uint32_t limit = 1 + (uint32_t)strlen(name) / 3; /* farther than that it would be a guess */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = edit_distance(name, names[i]);
        if (d <= limit && d < *distance) {
            *distance = d;
            nearest = names[i];
        }
    }
    return nearest;
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static const char *nearest_plugin(const plugin_registry *registry, plugin_category category, const char *name)
{
    uint32_t distance = UINT32_MAX, count = 0;
    const char *const *known = plugin_known_names(category);
    while (known[count])
        count++;
    const char *nearest = name_nearest(name, known, count, &distance);
    for (uint32_t i = 0; i < registry->count; i++) {
        const char *found = NULL;
        if (registry->classes[i]->category == category)
            found = name_nearest(name, &registry->classes[i]->name, 1, &distance);
        nearest = found ? found : nearest;
    }
    return nearest;
}

const char *plugin_unsupported_reason(plugin_category category, const char *name)
{
    static const struct {
        plugin_category category;
        const char *name, *reason;
    } reasons[] = {
        {PLUGIN_EMITTER, "sunsky",
         "it needs the tables of a sky model; bake the sky into an image for \"envmap\", the sun into "
         "\"directional\""},
        {PLUGIN_EMITTER, "timed_sunsky",
         "it needs the tables of a sky model; bake the sky into an image for \"envmap\""},
        {PLUGIN_BSDF, "measured_polarized",
         "its data are spectra of Mueller matrices, which are not read here; \"measured\" reads those of "
         "light that is not polarised"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].category == category && strcmp(reasons[i].name, name) == 0)
            return reasons[i].reason;
    return NULL;
}

bl_result plugin_missing(const plugin_registry *registry, plugin_category category, const char *name,
                         scene_place where, bl_error *err)
{
    const char *what = plugin_category_names[category];
    const char *reason = plugin_unsupported_reason(category, name);
    if (reason)
        return scene_error(err, BL_ERROR_UNSUPPORTED, where, "%s plugin \"%s\" is not supported: %s", what,
                           name, reason);
    if (is_listed(plugin_known_names(category), name))
        return scene_error(err, BL_ERROR_UNSUPPORTED, where, "%s plugin \"%s\" is not implemented yet", what,
                           name);
    for (plugin_category other = 0; other < PLUGIN_CATEGORY_COUNT; other++)
        if (registry_find(registry, other, name) || is_listed(plugin_known_names(other), name))
            return scene_error(err, BL_ERROR_SCENE, where,
                               "there is no %s plugin \"%s\"; \"%s\" is a plugin for <%s>", what, name, name,
                               plugin_category_names[other]);
    const char *nearest = nearest_plugin(registry, category, name);
    if (nearest)
        return scene_error(err, BL_ERROR_SCENE, where,
                           "there is no %s plugin \"%.100s\"; did you mean \"%s\"?", what, name, nearest);
    return scene_error(err, BL_ERROR_SCENE, where, "there is no %s plugin \"%.100s\"", what, name);
}
