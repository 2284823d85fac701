/* SPDX-License-Identifier: BSD-3-Clause
 * What an XML scene file leaves behind besides its tree: the ids (a hash table: scenes have tens of
 * thousands) and the parameters of <default> and -D, with their substitution. A "$" stands for the longest
 * parameter name that follows it; text that was put in is not looked at again, so expansion ends; "\$" is a
 * plain "$". */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    VALUE_MAX = 1 << 20, /* bytes of an attribute after substitution */
    PARAMETERS_MAX = 1000
};

const char *raw_attribute_get(const raw_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return node->attributes[i].value;
    return NULL;
}

raw_node *raw_child_create(arena *memory, raw_node *parent, raw_kind kind, const char *tag, const char *name)
{
    raw_node *node = arena_alloc(memory, sizeof *node);
    *node = (raw_node){.kind = kind, .tag = tag, .name = name, .parent = parent};
    if (!parent)
        return node;
    node->where = parent->where;
    node->folder = parent->folder;
    raw_node *owner = parent->splice ? parent->splice : parent;
    if (owner->last)
        owner->last->next = node;
    else
        owner->first = node;
    owner->last = node;
    return node;
}

/* ---- ids ---- */

static uint32_t id_hash(const char *id)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *id; id++)
        hash = (hash ^ (uint8_t)*id) * 16777619u;
    return hash ^ hash >> 15;
}

static raw_id *id_slot(raw_id *ids, uint32_t capacity, const char *id)
{
    uint32_t at = id_hash(id) & (capacity - 1);
    while (ids[at].id && strcmp(ids[at].id, id) != 0)
        at = (at + 1) & (capacity - 1);
    return &ids[at];
}

static void ids_grow(raw_scene *scene)
{
    uint32_t capacity = scene->id_capacity ? scene->id_capacity * 2 : 64;
    raw_id *grown = arena_alloc(scene->memory, capacity * sizeof *grown);
    for (uint32_t i = 0; i < scene->id_capacity; i++)
        if (scene->ids[i].id)
            *id_slot(grown, capacity, scene->ids[i].id) = scene->ids[i];
    scene->ids = grown;
    scene->id_capacity = capacity;
}

raw_node *raw_find_id(const raw_scene *scene, const char *id)
{
    return scene->id_capacity ? id_slot(scene->ids, scene->id_capacity, id)->node : NULL;
}

bl_result raw_add_id(raw_scene *scene, const char *id, raw_node *node, scene_place where, bl_error *err)
{
    if (id[0] == 0)
        return scene_error(err, BL_ERROR_SCENE, where, "an id must not be empty");
    raw_node *other = raw_find_id(scene, id);
    if (other)
        return scene_error(err, BL_ERROR_SCENE, where,
                           "duplicate id \"%.100s\": it is already that of <%s> at %s:%u", id, other->tag,
                           other->where.file, other->where.line);
    if (scene->id_count * 2 >= scene->id_capacity)
        ids_grow(scene);
    *id_slot(scene->ids, scene->id_capacity, id) = (raw_id){id, node};
    scene->id_count++;
    return BL_OK;
}

/* ---- parameters ---- */

bl_result raw_define(raw_scene *scene, scene_place where, const char *key, const char *value, bl_error *err)
{
    if (key[0] == 0)
        return scene_error(err, BL_ERROR_SCENE, where, "the name of a <default> must not be empty");
    for (uint32_t i = 0; i < scene->parameters.count; i++)
        if (strcmp(scene->parameters.data[i].key, key) == 0)
            return BL_OK; /* the user's value, or an earlier default, stays */
    if (scene->parameters.count >= PARAMETERS_MAX)
        return scene_error(err, BL_ERROR_SCENE, where, "more than %d parameters", PARAMETERS_MAX);
    raw_parameter parameter = {.key = key, .value = value, .key_length = strlen(key)};
    array_push(&scene->parameters, parameter);
    return BL_OK;
}

static raw_parameter *longest_match(raw_scene *scene, const char *at)
{
    raw_parameter *best = NULL;
    size_t best_length = 0;
    for (uint32_t i = 0; i < scene->parameters.count; i++) {
        raw_parameter *p = &scene->parameters.data[i];
        const size_t length = p->key_length;
        if (length > best_length && strncmp(at, p->key, length) == 0) {
            best = p;
            best_length = length;
        }
    }
    return best;
}

static bl_result undefined(scene_place where, const char *at, bl_error *err)
{
    int length = 0;
    while (length < 100 && (at[length] == '_' || (at[length] >= '0' && at[length] <= '9') ||
                            ((at[length] | 32) >= 'a' && (at[length] | 32) <= 'z')))
        length++;
    return scene_error(err, BL_ERROR_SCENE, where, "undefined parameter \"$%.*s\"", length, at);
}

bl_result raw_substitute(raw_scene *scene, scene_place where, const char *value, const char **out,
                         bl_error *err)
{
    *out = NULL;
    TRY(budget_take(BUDGET_TEXT, strlen(value), err));
    if (!strchr(value, '$')) {
        *out = arena_strdup(scene->memory, value);
        return BL_OK;
    }
    text made = {0};
    bl_result result = BL_OK;
    text_add_bytes(&made, "", 0);
    while (*value && result == BL_OK) {
        if (value[0] == '\\' && value[1] == '$') {
            text_add_bytes(&made, "$", 1);
            value += 2;
        } else if (value[0] == '$') {
            raw_parameter *p = longest_match(scene, value + 1);
            if (!p) {
                result = undefined(where, value + 1, err);
            } else {
                p->used = true;
                text_add_bytes(&made, p->value, strlen(p->value));
                value += 1 + p->key_length;
            }
        } else {
            size_t plain = strcspn(value + 1, "\\$") + 1;
            text_add_bytes(&made, value, plain);
            value += plain;
        }
        if (result == BL_OK && made.length > VALUE_MAX)
            result = scene_error(err, BL_ERROR_SCENE, where,
                                 "an attribute is longer than %d bytes after substitution", VALUE_MAX);
    }
    if (result == BL_OK)
        result = budget_take(BUDGET_TEXT, made.length, err);
    if (result == BL_OK)
        *out = arena_strndup(scene->memory, made.data, made.length);
    text_free(&made);
    return result;
}

void raw_free(raw_scene *scene) { array_free(&scene->parameters); }
