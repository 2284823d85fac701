/* SPDX-License-Identifier: BSD-3-Clause
 * Meshes as Stanford PLY, in the names that mesh_ply.c and Mitsuba 3 read. */
#include "scene/scene_internal.h"

#include <string.h>

static const char stem[] = "vertex_";

static bool is_color(const scene_attribute *a) { return strcmp(a->name, "vertex_color") == 0; }

/* Properties of an attribute: r g b are vertex_color, NAME_0 .. are vertex_NAME. */
static void name_attribute(text *out, const scene_attribute *a)
{
    static const char rgb[] = "rgb";
    for (uint32_t c = 0; c < a->channels; c++)
        if (is_color(a) && a->channels == 3)
            text_add(out, "property float %c\n", rgb[c]);
        else
            text_add(out, "property float %s_%u\n", a->name + strlen(stem), c);
}

static void add_header(text *out, const scene_mesh *m)
{
    text_add(out, "ply\nformat binary_little_endian 1.0\nelement vertex %u\n", m->vertex_count);
    text_add(out, "property float x\nproperty float y\nproperty float z\n");
    if (m->normals)
        text_add(out, "property float nx\nproperty float ny\nproperty float nz\n");
    if (m->uvs)
        text_add(out, "property float u\nproperty float v\n");
    for (uint32_t k = 0; k < m->attribute_count; k++)
        if (!attribute_of_faces(m->attributes[k].name))
            name_attribute(out, &m->attributes[k]);
    text_add(out, "element face %u\nproperty list uchar uint vertex_index\nend_header\n", m->face_count);
}

static void add_word(text *out, uint32_t word)
{
    const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                              (uint8_t)(word >> 24)};
    text_add_bytes(out, bytes, sizeof bytes);
}

static void add_floats(text *out, const float *values, size_t count)
{
    for (size_t k = 0; values && k < count; k++) {
        uint32_t word;
        memcpy(&word, &values[k], sizeof word);
        add_word(out, word);
    }
}

bl_result mesh_save_ply(const char *path, const scene_mesh *m, bl_error *err)
{
    text out = {0};
    /* 32 bytes a vertex and 13 a face, attributes, and what the text holds while it grows. */
    TRY(memory_check(
        (32 + 12 * (size_t)m->attribute_count) * 2 * m->vertex_count + 26 * (size_t)m->face_count, err));
    add_header(&out, m);
    for (size_t i = 0; i < m->vertex_count; i++) {
        add_floats(&out, m->positions + 3 * i, 3);
        add_floats(&out, m->normals ? m->normals + 3 * i : NULL, 3);
        add_floats(&out, m->uvs ? m->uvs + 2 * i : NULL, 2);
        for (uint32_t k = 0; k < m->attribute_count; k++) {
            const scene_attribute *a = &m->attributes[k];
            if (!attribute_of_faces(a->name))
                add_floats(&out, a->values + a->channels * i, a->channels);
        }
    }
    for (size_t i = 0; i < m->face_count; i++) {
        text_add_bytes(&out, "\3", 1);
        for (size_t c = 0; c < 3; c++)
            add_word(&out, m->faces[3 * i + c]);
    }
    bl_result r = file_write(path, out.data, out.length, err);
    text_free(&out);
    return r;
}
