/* SPDX-License-Identifier: BSD-3-Clause
 * From a glTF 2.0 file to an assembly: the same objects that calls or a scene file would make, so that what
 * follows (defaults, checks, parameters, writing) is the same. */
#include "scene/gltf/gltf.h"

#include <string.h>

static const char *const defines[] = {"camera", "resolution"};

const char *gltf_define(const gltf *g, const char *key)
{
    for (uint32_t i = 0; i < g->options->define_count; i++)
        if (strcmp(g->options->defines[i].key, key) == 0)
            return g->options->defines[i].value;
    return NULL;
}

static bl_result check_defines(const gltf *g)
{
    for (uint32_t i = 0; i < g->options->define_count; i++) {
        const char *key = g->options->defines[i].key;
        if (strcmp(key, defines[0]) != 0 && strcmp(key, defines[1]) != 0)
            return error_set(g->err, BL_ERROR_SCENE, "-D %.100s: a glTF scene takes %s and %s", key,
                             defines[0], defines[1]);
    }
    return BL_OK;
}

/* Dots divide the parts of parameter names, and blanks make them hard to write. */
static bool fits_id(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' ||
           (unsigned char)c >= 128;
}

const char *gltf_id(gltf *g, const char *name, const char *otherwise, uint32_t index)
{
    char *id = name && *name ? arena_printf(&g->memory, "%.200s", name)
                             : arena_printf(&g->memory, "%s_%u", otherwise, index);
    for (char *c = id; *c; c++)
        *c = fits_id(*c) ? *c : '_';
    if (assembly_has_id(g->assembly, id))
        id = arena_printf(&g->memory, "%s_%u", id, index);
    const char *tried = id;
    /* Numbers go on, so that a thousand that share a name are quick. */
    while (assembly_has_id(g->assembly, tried))
        tried = arena_printf(&g->memory, "%s_%u", id, ++g->id_number);
    return tried;
}

static bl_result build(gltf *g, const char *name, const void *data, size_t size)
{
    TRY(check_defines(g));
    TRY(gltf_open(g, name, data, size));
    TRY(gltf_place_nodes(g));
    TRY(gltf_make_shapes(g));
    TRY(gltf_make_lights(g));
    TRY(gltf_make_cameras(g));
    struct raw_node *integrator = assembly_object(g->assembly, PLUGIN_INTEGRATOR, "path", NULL);
    assembly_add(g->assembly, assembly_root(g->assembly), NULL, integrator);
    gltf_write_notes(g);
    return BL_OK;
}

bool scene_is_gltf(const void *data, size_t size)
{
    const char *bytes = data;
    size_t at = 0;
    if (size >= 4 && memcmp(bytes, "glTF", 4) == 0)
        return true;
    while (at < size && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t'))
        at++;
    return at < size && bytes[at] == '{';
}

bl_result assembly_add_gltf(scene_assembly *a, const char *name, const char *folder, const void *data,
                            size_t size, const scene_load_options *options, bl_error *err)
{
    gltf g = {.options = options, .assembly = a, .err = err};
    paths_init(&g.paths, &g.memory, arena_strdup(&g.memory, folder), options);
    const bl_result r = build(&g, name, data, size);
    gltf_close(&g);
    return r;
}
