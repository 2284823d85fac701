/* SPDX-License-Identifier: BSD-3-Clause
 * From the raw tree to objects of registered classes: every property and nested object must be asked for by
 * the class's tables, every required one must be there, references are resolved (an object referenced twice
 * is one object), and what is missing gets its default.
 *
 * Nested objects: one whose name is that of a textured or volumetric parameter gives that parameter; all
 * others go to the class's slots, by category. A class with several slots of one category (a shape's media,
 * interior and exterior) needs the name of the slot. Indices follow the order in which objects are created,
 * which is depth-first in document order. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 200 /* nesting through references, which recursion follows */ };

const plugin_class *registry_find(const plugin_registry *registry, plugin_category category, const char *name)
{
    for (uint32_t i = 0; i < registry->count; i++)
        if (registry->classes[i]->category == category && strcmp(registry->classes[i]->name, name) == 0)
            return registry->classes[i];
    return NULL;
}

scene_object *object_create(binder *b, const plugin_class *cls, scene_place where)
{
    scene_object *object = arena_alloc(b->raw->memory, sizeof *object);
    *object = (scene_object){.cls = cls, .where = where, .index = b->scene->object_count++};
    object->values = arena_alloc(b->raw->memory, cls->param_count * sizeof *object->values);
    return object;
}

static const char *category_name(const scene_object *object)
{
    return plugin_category_names[object->cls->category];
}

/* ---- which class ---- */

static bl_result find_class(binder *b, const raw_node *node, const plugin_class **cls)
{
    const char *type = raw_attribute_get(node, "type");
    type = type ? type : "scene";
    *cls = registry_find(b->registry, node->category, type);
    return *cls ? BL_OK : plugin_missing(b->registry, node->category, type, node->where, b->err);
}

/* ---- names of parameters ---- */

static int find_param(const plugin_class *cls, const char *name)
{
    for (uint32_t i = 0; i < cls->param_count; i++)
        if (strcmp(cls->params[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* The parameter that a nested texture of any other name is for, or -1. */
static int find_any_name(const plugin_class *cls)
{
    for (uint32_t i = 0; i < cls->param_count; i++)
        if (cls->params[i].flags & PLUGIN_ANY_NAME)
            return (int)i;
    return -1;
}

static bool has_flag(const plugin_class *cls, unsigned flag)
{
    for (uint32_t i = 0; i < cls->param_count; i++)
        if (cls->params[i].flags & flag)
            return true;
    return false;
}

static bl_result unknown_param(binder *b, const scene_object *object, const char *name, scene_place where)
{
    const plugin_class *cls = object->cls;
    for (uint32_t i = 0; i < cls->slot_count; i++)
        if (cls->slots[i].category == PLUGIN_TEXTURE && strcmp(cls->slots[i].name, name) == 0)
            return scene_error(b->err, BL_ERROR_SCENE, where,
                               "\"%s\" of %s \"%s\" must be a spectrum of samples: wavelength:value in a "
                               "<spectrum>, a file of them, regular or irregular",
                               name, category_name(object), cls->name);
    uint32_t distance = UINT32_MAX;
    const char *nearest = NULL;
    text list = {0};
    for (uint32_t i = 0; i < cls->param_count; i++) {
        const char *found = name_nearest(name, &cls->params[i].name, 1, &distance);
        nearest = found ? found : nearest;
        text_add(&list, "%s%s", i ? ", " : "it has ", cls->params[i].name);
    }
    if (nearest)
        scene_error(b->err, BL_ERROR_SCENE, where,
                    "unknown parameter \"%.100s\" of %s \"%s\"; did you mean \"%s\"?", name,
                    category_name(object), cls->name, nearest);
    else
        scene_error(b->err, BL_ERROR_SCENE, where, "unknown parameter \"%.100s\" of %s \"%s\"; %s", name,
                    category_name(object), cls->name, list.data ? list.data : "it has none");
    text_free(&list);
    return BL_ERROR_SCENE;
}

static bl_result bind_property(binder *b, scene_object *object, const raw_node *node)
{
    const char *name = node->name ? node->name : "";
    int index = find_param(object->cls, name);
    if (index < 0)
        return unknown_param(b, object, name, node->where);
    return value_parse(b, object, (uint32_t)index, node);
}

/* ---- nested objects ---- */

static bl_result bind_object(binder *b, raw_node *node, scene_place from, scene_object **out);

static bl_result unknown_id(binder *b, const raw_node *ref, const char *id)
{
    uint32_t distance = UINT32_MAX;
    const char *nearest = NULL;
    for (uint32_t i = 0; i < b->raw->id_capacity; i++)
        if (b->raw->ids[i].id) {
            const char *found = name_nearest(id, &b->raw->ids[i].id, 1, &distance);
            nearest = found ? found : nearest;
        }
    if (nearest)
        return scene_error(b->err, BL_ERROR_SCENE, ref->where,
                           "there is no object with id \"%.100s\"; did you mean \"%s\"?", id, nearest);
    return scene_error(b->err, BL_ERROR_SCENE, ref->where, "there is no object with id \"%.100s\"", id);
}

/* A texture for a textured parameter, a volume for a volumetric one. */
static bl_result give_texture(binder *b, scene_object *object, uint32_t index, scene_object *texture,
                              const raw_node *node)
{
    const plugin_param *param = &object->cls->params[index];
    scene_value *value = &object->values[index];
    bool fits = (param->kind == PLUGIN_TEXTURED && texture->cls->category == PLUGIN_TEXTURE) ||
                (param->kind == PLUGIN_VOLUMETRIC && texture->cls->category == PLUGIN_VOLUME);
    if (!fits)
        return scene_error(
            b->err, BL_ERROR_SCENE, node->where, "parameter \"%s\" of %s \"%s\" is %s, not a %s", param->name,
            category_name(object), object->cls->name, kind_name(param->kind), category_name(texture));
    if (value->given)
        return scene_error(b->err, BL_ERROR_SCENE, node->where,
                           "parameter \"%s\" is given twice (before at line %u of %s)", param->name,
                           value->where.line, value->where.file);
    if (texture->cls == b->constant)
        TRY(colour_check(node->where, object->cls, param, texture->values[0].vector, b->err));
    if (texture->use && has_flag(texture->cls, PLUGIN_BY_USE) &&
        spectrum_rule_of(texture->use->flags) != spectrum_rule_of(param->flags))
        return scene_error(b->err, BL_ERROR_SCENE, node->where,
                           "\"%s\" of %s \"%s\" and \"%s\" share a %s, which is a different colour as light, "
                           "reflectance or neither: write it twice",
                           param->name, category_name(object), object->cls->name, texture->use->name,
                           texture->cls->name);
    texture->use = texture->use ? texture->use : param;
    value->given = true;
    value->where = node->where;
    value->object = texture;
    return BL_OK;
}

/* The slot for a nested object, or -1 with the reason. */
static int find_slot(binder *b, const scene_object *object, const scene_object *child, const raw_node *node)
{
    const plugin_class *cls = object->cls;
    int first = -1, count = 0;
    for (uint32_t i = 0; i < cls->slot_count; i++) {
        if (cls->slots[i].category != child->cls->category)
            continue;
        if (node->name && cls->slots[i].name && strcmp(cls->slots[i].name, node->name) == 0)
            return (int)i;
        first = first < 0 ? (int)i : first;
        count++;
    }
    /* a texture in a sensor is for what its name says; films and scenes have textures of any name */
    bool any_name = child->cls->category != PLUGIN_TEXTURE || cls->category != PLUGIN_SENSOR;
    if (count == 1 && any_name)
        return first;
    if (count > 1)
        scene_error(b->err, BL_ERROR_SCENE, node->where, "a %s inside %s \"%s\" needs a name, such as \"%s\"",
                    category_name(child), category_name(object), cls->name, cls->slots[first].name);
    else if (child->cls->category == PLUGIN_TEXTURE && node->name)
        unknown_param(b, object, node->name, node->where);
    else if (child->cls->category == PLUGIN_TEXTURE)
        scene_error(b->err, BL_ERROR_SCENE, node->where,
                    "a texture inside %s \"%s\" needs the name of the parameter it is for",
                    category_name(object), cls->name);
    else
        scene_error(b->err, BL_ERROR_SCENE, node->where, "%s \"%s\" cannot hold a %s", category_name(object),
                    cls->name, category_name(child));
    return -1;
}

/* What the parent has bound so far, per slot of its class. */
typedef struct slot_counts {
    uint32_t children, unnamed; /* in all; those that are called by the slot's name */
} slot_counts;

/* How a child of a slot is called in parameter names. An id wins over it (and needs no number). */
static const char *child_name(binder *b, const plugin_slot *s, const raw_node *node,
                              const scene_object *child, slot_counts *counts)
{
    size_t length = strlen(s->name);
    if (s->name[length - 1] == '#')
        return arena_printf(b->raw->memory, "%.*s%u", (int)length - 1, s->name, counts->children);
    if (node->name || child->id)
        return node->name ? node->name : s->name;
    uint32_t index = counts->unnamed++;
    return index ? arena_printf(b->raw->memory, "%s_%u", s->name, index) : s->name;
}

static bool has_slot(const plugin_class *cls, plugin_category category)
{
    for (uint32_t i = 0; i < cls->slot_count; i++)
        if (cls->slots[i].category == category)
            return true;
    return false;
}

/* Of films and sensors: a <spectrum> of samples without a type, to which they respond. */
static bool is_response(const plugin_class *cls, const raw_node *node)
{
    bool responds = cls->category == PLUGIN_FILM || cls->category == PLUGIN_SENSOR;
    return responds && has_slot(cls, PLUGIN_TEXTURE) && colour_is_curve(node);
}

static bool is_nested(const plugin_class *cls, const raw_node *node)
{
    return node->kind == RAW_OBJECT || node->kind == RAW_REF || is_response(cls, node);
}

/* The object that a node stands for. */
static bl_result object_of(binder *b, const plugin_class *parent, raw_node *node, scene_object **out)
{
    raw_node *target = node;
    if (is_response(parent, node))
        return curve_create(b, node, out);
    if (node->kind == RAW_REF) {
        const char *id = raw_attribute_get(node, "id");
        target = node->target ? node->target : raw_find_id(b->raw, id);
        if (!target)
            return unknown_id(b, node, id);
    }
    return bind_object(b, target, node->where, out);
}

static bl_result bind_nested(binder *b, scene_object *object, raw_node *node, slot_counts *counts)
{
    scene_object *child = NULL;
    TRY(object_of(b, object->cls, node, &child));
    if (!child->name)
        child->name = node->name;
    int index = node->name ? find_param(object->cls, node->name) : -1;
    if (index < 0 && child->cls->category == PLUGIN_TEXTURE)
        index = find_any_name(object->cls);
    if (index >= 0 &&
        (child->cls->category == PLUGIN_TEXTURE || !has_slot(object->cls, child->cls->category)))
        return give_texture(b, object, (uint32_t)index, child, node);
    int slot = find_slot(b, object, child, node);
    if (slot < 0)
        return BL_ERROR_SCENE;
    const plugin_slot *s = &object->cls->slots[slot];
    if (s->most && counts[slot].children >= s->most)
        return scene_error(b->err, BL_ERROR_SCENE, node->where, "%s \"%s\" can hold %u %s%s, not more",
                           category_name(object), object->cls->name, s->most, category_name(child),
                           s->most > 1 ? "s" : "");
    object->child_names[object->child_count] = child_name(b, s, node, child, &counts[slot]);
    object->children[object->child_count++] = child;
    counts[slot].children++;
    return BL_OK;
}

/* ---- one object ---- */

static bl_result check_complete(binder *b, scene_object *object, const slot_counts *counts)
{
    for (uint32_t i = 0; i < object->cls->param_count; i++) {
        bool replaced = (object->cls->params[i].flags & PLUGIN_OR_NEXT) && object->values[i + 1].given;
        if (!object->values[i].given && !replaced)
            TRY(value_preset(b, object, i));
    }
    for (uint32_t i = 0; i < object->cls->slot_count; i++) {
        const plugin_slot *s = &object->cls->slots[i];
        if (counts[i].children < s->least)
            return scene_error(b->err, BL_ERROR_SCENE, object->where, "%s \"%s\" needs %u %s%s, and has %u",
                               category_name(object), object->cls->name, s->least,
                               plugin_category_names[s->category], s->least > 1 ? "s" : "",
                               counts[i].children);
    }
    return BL_OK;
}

static int compare_names(const void *a, const void *b)
{
    const raw_node *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);
    if (order == 0) /* so that the later one is reported */
        order = (*x)->where.line < (*y)->where.line ? -1 : (*x)->where.line > (*y)->where.line;
    return order;
}

/* Names of nested objects are parts of parameter names, so they must differ. */
static bl_result check_names(binder *b, const plugin_class *cls, const raw_node *node)
{
    ARRAY(const raw_node *) named = {0};
    for (const raw_node *child = node->first; child; child = child->next)
        if (child->name && is_nested(cls, child))
            array_push(&named, child);
    bl_result result = BL_OK;
    if (named.count)
        qsort(named.data, named.count, sizeof *named.data, compare_names);
    for (uint32_t i = 1; i < named.count && result == BL_OK; i++)
        if (strcmp(named.data[i]->name, named.data[i - 1]->name) == 0)
            result = scene_error(b->err, BL_ERROR_SCENE, named.data[i]->where,
                                 "\"%.100s\" is given twice (before at line %u of %s)", named.data[i]->name,
                                 named.data[i - 1]->where.line, named.data[i - 1]->where.file);
    array_free(&named);
    return result;
}

static bl_result bind_content(binder *b, raw_node *node, scene_object *object)
{
    uint32_t nested = 0;
    for (const raw_node *child = node->first; child; child = child->next)
        nested += is_nested(object->cls, child);
    object->children = arena_alloc(b->raw->memory, nested * sizeof *object->children);
    object->child_names = arena_alloc(b->raw->memory, nested * sizeof *object->child_names);
    slot_counts *counts = arena_alloc(b->raw->memory, object->cls->slot_count * sizeof *counts);
    TRY(check_names(b, object->cls, node));
    for (raw_node *child = node->first; child; child = child->next) {
        if (is_nested(object->cls, child))
            TRY(bind_nested(b, object, child, counts));
        else
            TRY(bind_property(b, object, child));
    }
    return check_complete(b, object, counts);
}

static bl_result bind_object(binder *b, raw_node *node, scene_place from, scene_object **out)
{
    const char *id = raw_attribute_get(node, "id");
    *out = node->object;
    if (node->open)
        return scene_error(b->err, BL_ERROR_SCENE, from, "circular reference: \"%.100s\" contains itself",
                           id ? id : node->tag);
    if (node->object)
        return BL_OK;
    if (b->depth >= CHAIN_MAX)
        return scene_error(b->err, BL_ERROR_SCENE, from, "objects are nested more than %d deep", CHAIN_MAX);
    const plugin_class *cls = NULL;
    TRY(budget_check(b->err));
    TRY(find_class(b, node, &cls));
    scene_object *object = object_create(b, cls, node->where);
    object->id = id;
    object->name = node->name;
    object->mesh = node->mesh;
    *out = node->object = object;
    node->open = true;
    b->depth++;
    TRY(bind_content(b, node, object));
    b->depth--;
    node->open = false;
    if (has_flag(cls, PLUGIN_STANDS))
        TRY(object_standing(b, object, &node->object));
    *out = node->object;
    return BL_OK;
}

bl_result bind_scene(binder *b)
{
    b->constant = registry_find(b->registry, PLUGIN_TEXTURE, "constant");
    BL_ASSERT(b->constant && b->constant->param_count > 0 && b->constant->params[0].kind == PLUGIN_COLOR,
              "the registry needs a texture \"constant\" whose first parameter is a colour");
    return bind_object(b, b->raw->root, b->raw->root->where, &b->scene->root);
}
