/* SPDX-License-Identifier: BSD-3-Clause
 * Loading a scene (read, parse, bind) and looking into the result. Everything a description holds lies in its
 * arena. */
#include "scene/scene_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { XML_BYTES_MAX = 256 << 20 };
#define SCENE_BYTES_MAX ((size_t)4 << 30) /* of glTF with its meshes */

bl_result scene_error(bl_error *err, bl_result code, scene_place where, const char *format, ...)
{
    char what[800];
    va_list args;
    va_start(args, format);
    if (vsnprintf(what, sizeof what, format, args) < 0)
        what[0] = 0;
    va_end(args);
    return error_set(err, code, "%s:%u: %s", where.file ? where.file : "?", where.line, what);
}

/* ---- loading ---- */

/* Of those that the scene itself has. */
static const char *nearest_parameter(const raw_scene *raw, const char *key)
{
    const char *nearest = NULL;
    uint32_t distance = UINT32_MAX;
    for (uint32_t i = 0; i < raw->parameters.count; i++) {
        const raw_parameter *p = &raw->parameters.data[i];
        const char *found = p->from_user ? NULL : name_nearest(key, &p->key, 1, &distance);
        nearest = found ? found : nearest;
    }
    return nearest;
}

static bl_result check_used(const raw_scene *raw, bl_error *err)
{
    for (uint32_t i = 0; i < raw->parameters.count; i++) {
        const raw_parameter *p = &raw->parameters.data[i];
        if (!p->from_user || p->used)
            continue;
        const char *near = nearest_parameter(raw, p->key);
        return scene_error(err, BL_ERROR_SCENE, raw->root->where,
                           "the scene does not use the parameter \"%.100s\" (-D %.100s=%.100s)%s%.100s%s",
                           p->key, p->key, p->value, near ? "; did you mean \"" : "", near ? near : "",
                           near ? "\"?" : "");
    }
    return BL_OK;
}

static bl_result add_defines(raw_scene *raw, const scene_load_options *options, bl_error *err)
{
    for (uint32_t i = 0; i < options->define_count; i++) {
        const scene_define *d = &options->defines[i];
        if (!d->key || !d->key[0] || !d->value)
            return error_set(err, BL_ERROR_ARGUMENT, "-D needs key=value");
        uint32_t before = raw->parameters.count;
        TRY(raw_define(raw, (scene_place){"-D", i + 1}, d->key, d->value, err));
        if (raw->parameters.count == before)
            return error_set(err, BL_ERROR_ARGUMENT, "-D %.100s is given twice", d->key);
        raw->parameters.data[before].from_user = true;
    }
    return BL_OK;
}

/* The text of a scene, and where it comes from. */
typedef struct scene_text {
    const char *name, *folder, *xml;
    size_t size;
} scene_text;

/* The mode that the file names, if that counts. */
static bl_result read_mode(binder *b, const scene_load_options *options)
{
    bl_error reason = {0};
    const char *name = b->scene->mode = b->raw->mode;
    if (name && options->named_mode && options->named_mode(name, &b->spectral, &reason) != BL_OK)
        return scene_error(b->err, BL_ERROR_SCENE, b->raw->mode_where, "%s", reason.text);
    return BL_OK;
}

static bl_result load(scene_description *scene, raw_scene *raw, const scene_load_options *options,
                      const scene_text *from, bl_error *err)
{
    TRY(add_defines(raw, options, err));
    TRY(raw_parse(raw, from->name, from->folder, from->xml, from->size, err));
    binder b = {
        .raw = raw, .registry = options->registry, .scene = scene, .spectral = options->spectral, .err = err};
    TRY(read_mode(&b, options));
    TRY(bind_scene(&b));
    return check_used(raw, err);
}

static bl_result load_gltf(const scene_text *from, const scene_load_options *options, scene_description **out,
                           bl_error *err)
{
    scene_assembly *a = assembly_create();
    bl_result r = assembly_add_gltf(a, from->name, from->folder, from->xml, from->size, options, err);
    if (r == BL_OK)
        r = assembly_finish(a, from->folder, options, out, err);
    assembly_destroy(a);
    return r;
}

static bl_result load_text(scene_text from, const scene_load_options *options, scene_description **out,
                           bl_error *err)
{
    *out = NULL;
    if (scene_is_gltf(from.xml, from.size))
        return load_gltf(&from, options, out, err);
    if (from.size > XML_BYTES_MAX)
        return error_set(err, BL_ERROR_SCENE, "%s: more than %d bytes of text", from.name, XML_BYTES_MAX);
    scene_description *scene = memory_zeroed(1, sizeof *scene);
    if (!scene)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", from.name);
    scene_paths paths;
    from.name = arena_strdup(&scene->memory, from.name);
    from.folder = arena_strdup(&scene->memory, from.folder);
    paths_init(&paths, &scene->memory, from.folder, options);
    raw_scene raw = {.memory = &scene->memory, .paths = &paths, .warnings = &scene->warnings};
    bl_result result = load(scene, &raw, options, &from, err);
    raw_free(&raw);
    paths_free(&paths);
    if (result == BL_OK)
        *out = scene;
    else
        scene_free(scene);
    return result;
}

bl_result scene_load(const char *path, const scene_load_options *options, scene_description **out,
                     bl_error *err)
{
    void *xml = NULL;
    size_t size = 0;
    arena memory = {0};
    *out = NULL;
    TRY(file_read(path, SCENE_BYTES_MAX, &xml, &size, err));
    const scene_text from = {path, path_folder(&memory, path), xml, size};
    bl_result result = load_text(from, options, out, err);
    arena_free(&memory);
    memory_free(xml);
    return result;
}

bl_result scene_load_string(const char *xml, const char *folder, const scene_load_options *options,
                            scene_description **out, bl_error *err)
{
    return load_text((scene_text){"<string>", folder ? folder : ".", xml, strlen(xml)}, options, out, err);
}

void scene_drop_kept(scene_description *s)
{
    for (uint32_t i = 0; i < s->kept.count; i++)
        memory_free(s->kept.data[i]);
    array_free(&s->kept);
}

bl_result scene_convert_gltf(const char *path, const scene_load_options *options, const char *output,
                             text *warnings, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    arena memory = {0};
    TRY(file_read(path, SCENE_BYTES_MAX, &data, &size, err));
    const char *folder = path_folder(&memory, path);
    scene_assembly *a = assembly_create();
    bl_result r = scene_is_gltf(data, size)
                      ? assembly_add_gltf(a, path, folder, data, size, options, err)
                      : error_set(err, BL_ERROR_SCENE, "%s: neither GLB nor JSON, so it is no glTF", path);
    memory_free(data);
    if (r == BL_OK)
        r = assembly_write(a, folder, options, output, err);
    const char *said = assembly_warnings(a);
    text_add(warnings, "%s", said);
    assembly_destroy(a);
    arena_free(&memory);
    return r;
}

void scene_free(scene_description *s)
{
    if (!s)
        return;
    scene_drop_kept(s);
    text_free(&s->warnings);
    arena_free(&s->memory);
    memory_free(s);
}

/* ---- looking ---- */

int scene_find_param(const scene_object *o, const char *name)
{
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (strcmp(o->cls->params[k].name, name) == 0)
            return (int)k;
    return -1;
}

const scene_value *scene_find(const scene_object *o, const char *name)
{
    int index = scene_find_param(o, name);
    return index < 0 ? NULL : &o->values[index];
}

int scene_param_index(const scene_object *o, const char *name)
{
    int index = scene_find_param(o, name);
    BL_ASSERT(index >= 0, "%s \"%s\" has no parameter \"%s\"", plugin_category_names[o->cls->category],
              o->cls->name, name);
    return index;
}

const scene_value *scene_get(const scene_object *o, const char *name)
{
    return &o->values[scene_param_index(o, name)];
}

double scene_number(const scene_object *o, const char *name) { return scene_get(o, name)->number; }

bool scene_any(const scene_object *o, bool (*is)(const scene_object *o))
{
    bool any = is(o);
    for (uint32_t k = 0; k < o->cls->param_count && !any; k++)
        any = o->values[k].object && scene_any(o->values[k].object, is);
    for (uint32_t k = 0; k < o->child_count && !any; k++)
        any = scene_any(o->children[k], is);
    return any;
}

scene_object *scene_child(const scene_object *o, plugin_category category)
{
    BL_ASSERT(category < PLUGIN_CATEGORY_COUNT, "a child of category %d", (int)category);
    for (uint32_t i = 0; i < o->child_count; i++)
        if (o->children[i]->cls->category == category)
            return o->children[i];
    return NULL;
}
