/* SPDX-License-Identifier: BSD-3-Clause
 * Attributes of meshes: which further properties of a PLY element make one, by Mitsuba's rules. r, g, b (or
 * red, green, blue) are the attribute "color"; an alpha beside them is left out. Properties NAME_x NAME_y
 * NAME_z, NAME_0 .. NAME_2 or NAME_1 .. NAME_3 that follow each other are the attribute NAME, and NAME_r
 * NAME_g NAME_b is NAME_color. Attributes have one channel or three; whatever else there is, and a name that
 * was there before, is nobody's. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

bool attribute_of_faces(const char *name) { return strncmp(name, "face_", 5) == 0; }

static bool is(property_name n, const char *expected)
{
    return n.length == strlen(expected) && memcmp(n.chars, expected, n.length) == 0;
}

/* Index of the new attribute; ATTRIBUTE_NONE where the mesh has it already, or too many. */
static uint32_t add(scene_mesh *m, bool faces, const char *stem, size_t length, const char *ending,
                    uint32_t channels)
{
    BL_ASSERT(channels == 1 || channels == 3, "an attribute of %u channels", channels);
    text name = {0};
    text_add(&name, "%s_%.*s%s", faces ? "face" : "vertex", (int)length, stem, ending);
    bool refused = m->attribute_count == ATTRIBUTES_MOST;
    for (uint32_t i = 0; i < m->attribute_count; i++)
        refused |= strcmp(m->attributes[i].name, name.data) == 0;
    if (refused) {
        text_free(&name);
        return ATTRIBUTE_NONE;
    }
    scene_attribute *grown = memory_need_resized(m->attributes, m->attribute_count * sizeof *grown,
                                                 (m->attribute_count + 1) * sizeof *grown);
    m->attributes = grown;
    grown[m->attribute_count] = (scene_attribute){.name = name.data, .channels = channels};
    return m->attribute_count++;
}

/* The properties of an element: what they are called, whether somebody reads them, and which channel of which
 * attribute they are. */
typedef struct property_list {
    const property_name *names;
    bool *taken;
    uint32_t *slots, count;
} property_list;

/* The attribute "color" from three properties of these names, wherever they stand. */
static void group_color(scene_mesh *m, bool faces, property_list list, const char *const color[4])
{
    const uint32_t count = list.count;
    uint32_t at[4] = {count, count, count, count};
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < 4; k++)
            if (!list.taken[i] && is(list.names[i], color[k]))
                at[k] = i;
    if (at[0] == count || at[1] == count || at[2] == count)
        return;
    uint32_t index = add(m, faces, "color", 5, "", 3);
    for (uint32_t k = 0; k < 4; k++) {
        if (at[k] < count)
            list.taken[at[k]] = true;
        if (k < 3 && index != ATTRIBUTE_NONE)
            list.slots[at[k]] = 3 * index + k;
    }
}

/* The sequence of endings that the property is the first of; NULL: none. */
static const char *sequence_of(property_name n)
{
    static const char *const sequences[] = {"xyzw", "rgba", "0123", "1234"};
    for (size_t k = 0;
         k < sizeof sequences / sizeof *sequences && n.length > 2 && n.chars[n.length - 2] == '_'; k++)
        if (n.chars[n.length - 1] == sequences[k][0])
            return sequences[k];
    return NULL;
}

/* Whether b is called as a but for its last character, which is `ending`. */
static bool continues(property_name a, property_name b, char ending)
{
    return a.length == b.length && memcmp(a.chars, b.chars, a.length - 1) == 0 &&
           b.chars[b.length - 1] == ending;
}

void attributes_group(scene_mesh *m, bool faces, const property_name *names, const bool *taken_before,
                      uint32_t count, uint32_t *slots)
{
    static const char *const colors[2][4] = {{"r", "g", "b", "a"}, {"red", "green", "blue", "alpha"}};
    bool *taken = memory_need(count + 1u);
    for (uint32_t i = 0; i < count; i++)
        slots[i] = ATTRIBUTE_NONE, taken[i] = taken_before[i];
    for (int k = 0; k < 2; k++)
        group_color(m, faces, (property_list){names, taken, slots, count}, colors[k]);
    for (uint32_t i = 0, length; i < count; i += length) {
        const char *sequence = taken[i] ? NULL : sequence_of(names[i]);
        length = 1;
        while (sequence && length < 4 && i + length < count && !taken[i + length] &&
               continues(names[i], names[i + length], sequence[length]))
            length++;
        if (!sequence || (length != 1 && length != 3))
            continue;
        uint32_t index =
            add(m, faces, names[i].chars, names[i].length - 2, sequence[0] == 'r' ? "_color" : "", length);
        for (uint32_t k = 0; k < length && index != ATTRIBUTE_NONE; k++)
            slots[i + k] = 3 * index + k;
    }
    memory_free(taken);
}
