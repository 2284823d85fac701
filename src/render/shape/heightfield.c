/* SPDX-License-Identifier: BSD-3-Clause
 * A surface of heights over a grid: [-1,1]^2 in the plane z = 0, raised along z. The grid has columns along x
 * and rows along y; the texture coordinates of vertex (row, column) are (column / (columns - 1), row /
 * (rows - 1)).
 *
 * It is a mesh like others, but its positions are no parameter: they follow from the heights, which are
 * [rows, columns, 1]. So are its vertex normals, unless face_normals is set. The scene buffer has both
 * heights and positions; the step REFIT_HEIGHTS brings positions up to date. Where heights are requested,
 * mesh_vertex makes positions of them, so derivatives by positions go straight to heights.
 *
 * Cells are cut in two along alternating diagonals, so that every vertex has as much to one side as to the
 * other: normals between equal neighbours stand straight. */
#include "render/classes.h"

enum { SIDE_MOST = 8192 };

/* ---- loading ---- */

static void put_vertices(const scene_image *heights, scene_mesh *m)
{
    const uint32_t columns = heights->width, rows = heights->height;
    m->vertex_count = columns * rows;
    m->positions = memory_need(12 * (size_t)m->vertex_count),
    m->uvs = memory_need(8 * (size_t)m->vertex_count);
    for (uint32_t i = 0; i < m->vertex_count; i++) {
        const float u = (float)(i % columns) / (float)(columns - 1),
                    v = (float)(i / columns) / (float)(rows - 1);
        float *p = m->positions + 3 * (size_t)i;
        p[0] = 2 * u - 1, p[1] = 2 * v - 1, p[2] = heights->pixels[i];
        m->uvs[2 * (size_t)i] = u, m->uvs[2 * (size_t)i + 1] = v;
    }
}

static void put_faces(uint32_t columns, uint32_t rows, scene_mesh *m)
{
    m->face_count = 2 * (columns - 1) * (rows - 1);
    m->faces = memory_need(12 * (size_t)m->face_count);
    uint32_t *face = m->faces;
    for (uint32_t row = 0; row + 1 < rows; row++)
        for (uint32_t column = 0; column + 1 < columns; column++, face += 6) {
            const uint32_t a = row * columns + column, b = a + 1, c = b + columns, d = a + columns;
            const uint32_t even[6] = {a, b, c, a, c, d}, odd[6] = {a, b, d, b, c, d};
            memcpy(face, (row + column) % 2 ? odd : even, sizeof even);
        }
}

/* Appends the words at MESH_HEIGHTS, and tells the last shape of them. */
static void put_heights(render_scene *s, const scene_object *o, const scene_image *heights)
{
    const double *m = scene_get(o, "to_world")->matrix;
    uint32_t words[HEIGHTS_VALUES] = {heights->width};
    const double cell[2] = {2. / (heights->width - 1), 2. / (heights->height - 1)};
    for (uint32_t k = 0; k < 3; k++) {
        words[HEIGHTS_ORIGIN + k] = float_word((float)(m[4 * k + 3] - m[4 * k] - m[4 * k + 1]));
        words[HEIGHTS_COLUMN + k] = float_word((float)(m[4 * k] * cell[0]));
        words[HEIGHTS_ROW + k] = float_word((float)(m[4 * k + 1] * cell[1]));
        words[HEIGHTS_AXIS + k] = float_word((float)m[4 * k + 2]);
    }
    const uint32_t at = shape_put_words(s, words, sizeof words);
    shape_put_words(s, heights->pixels, (size_t)heights->width * heights->height * sizeof(float));
    s->geometry.data[s->shapes.data[s->shapes.count - 1].data + MESH_HEIGHTS] = at;
    s->has_heights = true;
}

/* The heights that the object begins with: those of its file, or 0. */
static bl_result read_heights(const scene_object *o, scene_image *out, bl_error *err)
{
    const scene_value *file = scene_get(o, "filename");
    bl_error reason = {0};
    *out = (scene_image){.width = (uint32_t)scene_number(o, "columns"),
                         .height = (uint32_t)scene_number(o, "rows"),
                         .channels = 1};
    if (!file->given) {
        out->pixels = memory_need_zeroed((size_t)out->width * out->height, sizeof(float));
        return BL_OK;
    }
    bl_result r = image_load_value(file, true, out, &reason);
    if (r != BL_OK)
        return scene_error(err, r, file->where, "heightfield: %s", reason.text);
    if (out->channels == 1 && out->width >= 2 && out->height >= 2 && out->width <= SIDE_MOST &&
        out->height <= SIDE_MOST)
        return BL_OK;
    image_free(out);
    return scene_error(
        err, BL_ERROR_SCENE, file->where,
        "heightfield: the picture of heights needs one channel and 2 to %d pixels a side; save "
        "it as greyscale",
        SIDE_MOST);
}

static bl_result heightfield_load(render_scene *s, const scene_object *o, bl_error *err)
{
    scene_image heights;
    TRY(read_heights(o, &heights, err));
    const uint64_t count = (uint64_t)heights.width * heights.height;
    bl_result r = budget_take(BUDGET_TRIANGLES, 2 * count, err);
    r = r == BL_OK ? memory_check(64 * count, err) : r;
    r = r == BL_OK ? render_room(s, 0, 30 * count, err) : r;
    if (r == BL_OK) {
        scene_mesh m = {0};
        put_vertices(&heights, &m), put_faces(heights.width, heights.height, &m);
        r = mesh_add(s, o, &m, scene_number(o, "face_normals") == 0, err);
    }
    if (r == BL_OK)
        put_heights(s, o, &heights);
    image_free(&heights);
    return r;
}

static const plugin_param heightfield_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_ABSENT | PLUGIN_GRID, NULL, 0, 0,
     "picture of one channel: the heights, row by row, without sRGB decoding"},
    {"columns", PLUGIN_INTEGER, 0, "2", 2, SIDE_MOST,
     "without a file: a flat grid of so many points along x"},
    {"rows", PLUGIN_INTEGER, 0, "2", 2, SIDE_MOST, "and along y"},
    {"face_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "do not generate vertex normals"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
     "object to world; any affine map"},
    SHAPE_ACCEPTED,
};
const shape_class shape_heightfield = {
    .base = {.plugin = {PLUGIN_SHAPE, "heightfield", PLUGIN_TABLE(heightfield_params),
                        PLUGIN_TABLE(shape_slots), "heights over a grid on [-1,1]^2"},
             .load = heightfield_load},
};
