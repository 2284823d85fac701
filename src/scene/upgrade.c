/* SPDX-License-Identifier: BSD-3-Clause
 * Scene files of versions below 2.0, as Mitsuba 3 upgrades them: camelCase property names become
 * underscore_case, diffuse's `diffuse_reflectance` becomes `reflectance`, and uoffset, voffset, uscale,
 * vscale become the transform `to_uv`. Nothing else changed its name in a way that can be translated. Runs
 * when an object's closing tag is met. */
#include "scene/scene_internal.h"

#include <string.h>

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Each run of capitals after a small letter becomes "_" and small letters: "toWorld" is to_world, "fovXY" is
 * fov_xy. */
static const char *underscore_case(arena *memory, const char *name)
{
    size_t length = strlen(name), at = 0;
    char *out = arena_alloc(memory, 2 * length + 1);
    for (size_t i = 0; i < length; i++) {
        if (i == 0 || !is_lower(name[i - 1]) || !is_upper(name[i])) {
            out[at++] = name[i];
            continue;
        }
        out[at++] = '_';
        while (i < length && is_upper(name[i]))
            out[at++] = (char)(name[i++] | 32);
        i--;
    }
    return out;
}

static const char *const uv_names[4] = {"uoffset", "voffset", "uscale", "vscale"};

static int uv_index(const raw_node *node)
{
    for (int i = 0; i < 4 && node->name; i++)
        if (node->kind == RAW_FLOAT && strcmp(node->name, uv_names[i]) == 0)
            return i;
    return -1;
}

static void add_step(arena *memory, raw_node *transform, raw_kind kind, const char *tag, const char *x,
                     const char *y)
{
    raw_node *step = raw_child_create(memory, transform, kind, tag, NULL);
    raw_attribute *attributes = arena_alloc(memory, 2 * sizeof *attributes);
    attributes[0] = (raw_attribute){"x", x};
    attributes[1] = (raw_attribute){"y", y};
    step->attributes = attributes;
    step->attribute_count = 2;
}

static void upgrade_uv(arena *memory, raw_node *object)
{
    const char *values[4] = {"0", "0", "1", "1"};
    const raw_node *first = NULL;
    raw_node **link = &object->first;
    object->last = NULL;
    while (*link) {
        int index = uv_index(*link);
        if (index >= 0) {
            values[index] = raw_attribute_get(*link, "value");
            first = first ? first : *link;
            *link = (*link)->next;
        } else {
            object->last = *link;
            link = &(*link)->next;
        }
    }
    if (!first)
        return;
    raw_node *transform = raw_child_create(memory, object, RAW_TRANSFORM, "transform", "to_uv");
    transform->where = first->where;
    add_step(memory, transform, RAW_TRANSLATE, "translate", values[0], values[1]);
    add_step(memory, transform, RAW_SCALE, "scale", values[2], values[3]);
}

void raw_upgrade(arena *memory, raw_node *object)
{
    const char *type = raw_attribute_get(object, "type");
    bool diffuse = type && strcmp(type, "diffuse") == 0;
    for (raw_node *child = object->first; child; child = child->next) {
        if (!child->name)
            continue;
        child->name = underscore_case(memory, child->name);
        if (diffuse && strcmp(child->name, "diffuse_reflectance") == 0)
            child->name = "reflectance";
    }
    upgrade_uv(memory, object);
}
