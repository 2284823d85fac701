/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes from calls in place of a file. Calls make the raw tree that xml.c makes of text, so that binding,
 * with its checks, defaults and messages, is the same: numbers become text that reads back as the same
 * number. An object is made on its own and then added to one or several others; every adding is a reference,
 * whose target is known, so ids are for names alone. The first mistake sticks and is what assembly_finish
 * says.
 *
 * In messages an object stands for file and line: <bsdf "diffuse">:4 is the fourth that was made. */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scene_assembly {
    scene_description *scene; /* its arena holds everything */
    raw_scene raw;
    scene_paths paths;
    uint32_t objects;
    bl_error err;
};

static arena *memory_of(scene_assembly *a) { return &a->scene->memory; }

static bool broken(const scene_assembly *a) { return a->err.code != BL_OK; }

scene_assembly *assembly_create(void)
{
    scene_assembly *a = memory_need_zeroed(1, sizeof *a);
    a->scene = memory_need_zeroed(1, sizeof *a->scene);
    a->raw = (raw_scene){.memory = memory_of(a), .paths = &a->paths, .warnings = &a->scene->warnings};
    a->raw.root = assembly_object(a, PLUGIN_SCENE, "scene", NULL);
    return a;
}

void assembly_destroy(scene_assembly *a)
{
    if (!a)
        return;
    raw_free(&a->raw);
    scene_free(a->scene);
    memory_free(a);
}

raw_node *assembly_root(scene_assembly *a) { return a->raw.root; }

void *assembly_alloc(scene_assembly *a, size_t size) { return arena_alloc(memory_of(a), size); }

void assembly_keep(scene_assembly *a, void *memory) { array_push(&a->scene->kept, memory); }

void assembly_warn(scene_assembly *a, const char *warning) { text_add(&a->scene->warnings, "%s\n", warning); }

const char *assembly_warnings(const scene_assembly *a)
{
    return a->scene->warnings.data ? a->scene->warnings.data : "";
}

bool assembly_has_id(const scene_assembly *a, const char *id) { return raw_find_id(&a->raw, id) != NULL; }

void assembly_fail(scene_assembly *a, const raw_node *object, const char *what)
{
    if (!broken(a))
        scene_error(&a->err, BL_ERROR_SCENE, object ? object->where : a->raw.root->where, "%s", what);
}

static void set_attributes(scene_assembly *a, raw_node *node, uint32_t count, const raw_attribute *from)
{
    raw_attribute *list = arena_alloc(memory_of(a), (count + 1) * sizeof *list);
    node->attribute_count = 0;
    for (uint32_t k = 0; k < count; k++)
        if (from[k].value)
            list[node->attribute_count++] =
                (raw_attribute){from[k].name, arena_strdup(memory_of(a), from[k].value)};
    node->attributes = list;
}

raw_node *assembly_object(scene_assembly *a, plugin_category category, const char *type, const char *id)
{
    raw_node *node = raw_child_create(memory_of(a), NULL, RAW_OBJECT, plugin_category_names[category], NULL);
    const raw_attribute attributes[] = {{"type", category == PLUGIN_SCENE ? NULL : type}, {"id", id}};
    node->category = category;
    node->where =
        (scene_place){arena_printf(memory_of(a), "<%s \"%.60s\"%s%.60s%s>", plugin_category_names[category],
                                   type, id ? " id=\"" : "", id ? id : "", id ? "\"" : ""),
                      ++a->objects};
    set_attributes(a, node, 2, attributes);
    if (id && !broken(a))
        raw_add_id(&a->raw, raw_attribute_get(node, "id"), node, node->where, &a->err);
    return node;
}

static raw_node *new_property(scene_assembly *a, raw_node *object, raw_kind kind, const char *tag,
                              const char *name)
{
    return raw_child_create(memory_of(a), object, kind, tag, name ? arena_strdup(memory_of(a), name) : NULL);
}

void assembly_text(scene_assembly *a, raw_node *object, plugin_kind kind, const char *name, const char *value)
{
    static const struct {
        raw_kind kind;
        const char *tag;
    } tags[] = {[PLUGIN_FLOAT] = {RAW_FLOAT, "float"},       [PLUGIN_INTEGER] = {RAW_INTEGER, "integer"},
                [PLUGIN_BOOLEAN] = {RAW_BOOLEAN, "boolean"}, [PLUGIN_STRING] = {RAW_STRING, "string"},
                [PLUGIN_POINT] = {RAW_POINT, "point"},       [PLUGIN_COLOR] = {RAW_RGB, "rgb"}};
    if (!name || !value) {
        assembly_fail(a, object, "a property needs a name and a value");
        return;
    }
    BL_ASSERT((size_t)kind < sizeof tags / sizeof *tags && tags[kind].tag, "a property of kind %d",
              (int)kind);
    raw_node *node = new_property(a, object, tags[kind].kind, tags[kind].tag, name);
    set_attributes(a, node, 2, (const raw_attribute[]){{"name", name}, {"value", value}});
}

static char *numbers_text(scene_assembly *a, const double *numbers, uint32_t count)
{
    BL_ASSERT(count > 0, "a property of %u numbers", count);
    text made = {0};
    for (uint32_t k = 0; k < count; k++)
        number_print(&made, numbers[k], k > 0);
    char *kept = arena_strdup(memory_of(a), made.data);
    text_free(&made);
    return kept;
}

void assembly_numbers(scene_assembly *a, raw_node *object, plugin_kind kind, const char *name,
                      const double *numbers, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!isfinite(numbers[k])) {
            assembly_fail(
                a, object,
                arena_printf(memory_of(a), "\"%.60s\": number %u is not finite", name ? name : "", k));
            return;
        }
    if (kind != PLUGIN_TRANSFORM) {
        assembly_text(a, object, kind, name, numbers_text(a, numbers, count));
        return;
    }
    raw_node *transform = new_property(a, object, RAW_TRANSFORM, "transform", name ? name : "");
    raw_node *matrix = new_property(a, transform, RAW_MATRIX, "matrix", NULL);
    set_attributes(a, matrix, 1, (const raw_attribute[]){{"value", numbers_text(a, numbers, count)}});
}

void assembly_spectrum(scene_assembly *a, raw_node *object, const char *name, const double *wavelengths,
                       const double *values, uint32_t count)
{
    text made = {0};
    bool finite = name && count > 0;
    for (uint32_t k = 0; k < count; k++) {
        finite &= isfinite(values[k]) && (!wavelengths || isfinite(wavelengths[k]));
        if (wavelengths && finite)
            number_print(&made, wavelengths[k], k > 0), text_add(&made, ":");
        if (finite)
            number_print(&made, values[k], false);
    }
    if (finite) {
        raw_node *node = new_property(a, object, RAW_SPECTRUM, "spectrum", name);
        set_attributes(a, node, 2, (const raw_attribute[]){{"name", name}, {"value", made.data}});
    } else
        assembly_fail(a, object, "a spectrum needs a name and finite numbers");
    text_free(&made);
}

void assembly_grid(scene_assembly *a, raw_node *object, const char *name, const scene_grid *grid)
{
    if (name)
        new_property(a, object, RAW_GRID, "grid", name)->grid = grid;
    else
        assembly_fail(a, object, "a grid needs the name of the file that it replaces");
}

void assembly_add(scene_assembly *a, raw_node *parent, const char *name, raw_node *child)
{
    raw_node *reference = new_property(a, parent, RAW_REF, "ref", name);
    reference->where = child->where;
    reference->target = child;
}

void assembly_mesh(raw_node *object, const scene_mesh *mesh) { object->mesh = mesh; }

bl_result assembly_write(scene_assembly *a, const char *folder, const scene_load_options *options,
                         const char *path, bl_error *err)
{
    if (broken(a)) {
        *err = a->err;
        return a->err.code;
    }
    paths_init(&a->paths, memory_of(a), arena_strdup(memory_of(a), folder), options);
    bl_result r = raw_write(a->raw.root, &a->paths, path, err);
    paths_free(&a->paths);
    return r;
}

bl_result assembly_finish(scene_assembly *a, const char *folder, const scene_load_options *options,
                          scene_description **out, bl_error *err)
{
    *out = NULL;
    if (broken(a)) {
        *err = a->err;
        return a->err.code;
    }
    paths_init(&a->paths, memory_of(a), arena_strdup(memory_of(a), folder), options);
    binder b = {.raw = &a->raw,
                .registry = options->registry,
                .scene = a->scene,
                .spectral = options->spectral,
                .err = err};
    bl_result r = bind_scene(&b);
    paths_free(&a->paths);
    if (r == BL_OK)
        *out = a->scene, a->scene = NULL;
    return r;
}
