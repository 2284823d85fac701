/* SPDX-License-Identifier: BSD-3-Clause
 * An assembly as a scene file that loads as the same scene: objects in the order in which they were added,
 * an object that several hold in full at the first of them and by <ref> at the others. Arrays of meshes
 * become PLY files, pixels EXR files, files that the scene names are copied. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct writer {
    const scene_paths *paths;
    arena *memory;
    text out;
    const char *folder; /* of the files that are written, with the scene's folder before it */
    const char *prefix; /* the same as the scene names it: its last part and a slash */
    uint32_t file_count;
    bl_error *err;
} writer;

static void indent(writer *w, uint32_t depth) { text_add(&w->out, "%*s", (int)(4 * depth), ""); }

/* An attribute of XML. A "$" would be a parameter's. */
static void add_attribute(writer *w, const char *name, const char *value)
{
    text_add(&w->out, " %s=\"", name);
    for (const char *c = value; *c; c++)
        switch (*c) {
        case '&':
            text_add(&w->out, "&amp;");
            break;
        case '<':
            text_add(&w->out, "&lt;");
            break;
        case '"':
            text_add(&w->out, "&quot;");
            break;
        case '$':
            text_add(&w->out, "\\$");
            break;
        default:
            text_add_bytes(&w->out, c, 1);
        }
    text_add(&w->out, "\"");
}

/* ---- files ---- */

/* The name of a new file for an object, with the ending. */
static const char *file_name(writer *w, const raw_node *object, const char *ending)
{
    const char *id = raw_attribute_get(object, "id");
    w->file_count++;
    return id ? arena_printf(w->memory, "%s%s", id, ending)
              : arena_printf(w->memory, "%s_%u%s", object->tag, w->file_count, ending);
}

static const char *path_of(writer *w, const char *file)
{
    return arena_printf(w->memory, "%s/%s", w->folder, file);
}

static void add_file(writer *w, uint32_t depth, const char *property, const char *file)
{
    indent(w, depth);
    text_add(&w->out, "<string");
    add_attribute(w, "name", property);
    add_attribute(w, "value", arena_printf(w->memory, "%s%s", w->prefix, file));
    text_add(&w->out, "/>\n");
}

static const char *ending_of(const void *data, size_t size)
{
    static const struct {
        const char *magic, *ending;
    } known[] = {{"\x89PNG", ".png"}, {"\xFF\xD8\xFF", ".jpg"}, {"#?", ".hdr"}, {"\x76\x2F\x31\x01", ".exr"},
                 {"BM", ".bmp"},      {"PF", ".pfm"},           {"Pf", ".pfm"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (size >= strlen(known[k].magic) && memcmp(data, known[k].magic, strlen(known[k].magic)) == 0)
            return known[k].ending;
    return ".bin";
}

static bl_result write_bytes(writer *w, const raw_node *object, const raw_node *property, const void *data,
                             size_t size, uint32_t depth)
{
    const char *file = file_name(w, object, ending_of(data, size));
    add_file(w, depth, property->name, file);
    return file_write(path_of(w, file), data, size, w->err);
}

static bl_result write_grid(writer *w, const raw_node *object, const raw_node *property, uint32_t depth)
{
    const scene_grid *g = property->grid;
    if (g->file)
        return write_bytes(w, object, property, g->file, g->file_size, depth);
    if (g->size[2] != 1)
        return error_set(w->err, BL_ERROR_UNSUPPORTED, "a grid of voxels cannot be written");
    const char *file = file_name(w, object, ".exr");
    add_file(w, depth, property->name, file);
    return image_save(path_of(w, file), g->size[0], g->size[1], g->channels, g->values, false, w->err);
}

/* A file that the scene names, where a property is called "filename": its bytes beside the new scene. */
static bl_result copy_file(writer *w, const raw_node *object, const raw_node *property, uint32_t depth)
{
    const char *name = raw_attribute_get(property, "value"), *path = paths_find(w->paths, name, NULL, false);
    void *data;
    size_t size;
    if (!path)
        return error_set(w->err, BL_ERROR_SCENE, "the file \"%.200s\" is not found", name);
    TRY(file_read(path, SIZE_MAX - 1, &data, &size, w->err));
    bl_result r = write_bytes(w, object, property, data, size, depth);
    memory_free(data);
    return r;
}

/* ---- objects ---- */

static bl_result write_object(writer *w, raw_node *object, const char *name, uint32_t depth);

/* A property or, inside a transform, a step. */
static void write_value(writer *w, const raw_node *node, uint32_t depth)
{
    indent(w, depth);
    text_add(&w->out, "<%s", node->tag);
    if (node->name)
        add_attribute(w, "name", node->name);
    for (uint32_t k = 0; k < node->attribute_count; k++)
        if (strcmp(node->attributes[k].name, "name") != 0)
            add_attribute(w, node->attributes[k].name, node->attributes[k].value);
    text_add(&w->out, node->first ? ">\n" : "/>\n");
    for (const raw_node *step = node->first; step; step = step->next)
        write_value(w, step, depth + 1);
    if (node->first) {
        indent(w, depth);
        text_add(&w->out, "</%s>\n", node->tag);
    }
}

static bl_result write_child(writer *w, raw_node *object, raw_node *child, uint32_t depth)
{
    if (child->kind == RAW_REF)
        return write_object(w, child->target, child->name, depth);
    if (child->kind == RAW_GRID)
        return write_grid(w, object, child, depth);
    if (child->kind == RAW_STRING && strcmp(child->name, "filename") == 0)
        return copy_file(w, object, child, depth);
    write_value(w, child, depth);
    return BL_OK;
}

static bl_result write_object(writer *w, raw_node *object, const char *name, uint32_t depth)
{
    const char *id = raw_attribute_get(object, "id"), *type = raw_attribute_get(object, "type");
    TRY(budget_check(w->err));
    indent(w, depth);
    text_add(&w->out, "<%s", object->open ? "ref" : object->tag);
    if (name)
        add_attribute(w, "name", name);
    if (object->open) { /* it has been written */
        BL_ASSERT(id, "a <%s> that two objects hold has no id", object->tag);
        add_attribute(w, "id", id);
        text_add(&w->out, "/>\n");
        return BL_OK;
    }
    object->open = true;
    if (depth == 0)
        text_add(&w->out, " version=\"3.0.0\"");
    if (type)
        add_attribute(w, "type", object->mesh ? "ply" : type);
    if (id)
        add_attribute(w, "id", id);
    text_add(&w->out, object->first || object->mesh ? ">\n" : "/>\n");
    if (!object->first && !object->mesh)
        return BL_OK;
    if (object->mesh) {
        const char *file = file_name(w, object, ".ply");
        add_file(w, depth + 1, "filename", file);
        TRY(mesh_save_ply(path_of(w, file), object->mesh, w->err));
    }
    for (raw_node *child = object->first; child; child = child->next)
        TRY(write_child(w, object, child, depth + 1));
    indent(w, depth);
    text_add(&w->out, "</%s>\n", object->tag);
    return BL_OK;
}

/* The path less the ending of its last part. */
static const char *without_ending(arena *memory, const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return arena_strndup(memory, path, dot ? (size_t)(dot - path) : strlen(path));
}

static bl_result write_all(writer *w, raw_node *root, const char *path)
{
    const char *slash;
    w->folder = arena_printf(w->memory, "%s_files", without_ending(w->memory, path));
    slash = strrchr(w->folder, '/');
    w->prefix = arena_printf(w->memory, "%s/", slash ? slash + 1 : w->folder);
    TRY(folder_create(w->folder, 0777, w->err));
    TRY(write_object(w, root, NULL, 0));
    return file_write_synced(path, w->out.data, w->out.length, w->err);
}

bl_result raw_write(raw_node *root, const scene_paths *paths, const char *path, bl_error *err)
{
    arena memory = {0};
    writer w = {.paths = paths, .memory = &memory, .err = err};
    bl_result r = write_all(&w, root, path);
    text_free(&w.out);
    arena_free(&memory);
    return r;
}
