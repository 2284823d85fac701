/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of numbers from PLY files: named columns of the vertices alone. */
#include "scene/ply.h"

#include <stdlib.h>
#include <string.h>

/* What follows the vertices is not looked at. */
static bl_result read_columns(ply_reader *r, const char *const *names, uint32_t count, float **rows)
{
    const ply_element *e = r->elements;
    if (r->element_count == 0 || e->kind != PLY_VERTEX)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the first element is not \"vertex\"", r->name);
    TRY(ply_check_size(r, e));
    for (uint32_t k = 0; k < count; k++) {
        ply_property *p = ply_find_property(r, e, names[k], false);
        if (!p)
            return error_set(r->err, BL_ERROR_FORMAT, "%s: the vertices have no \"%s\"", r->name, names[k]);
        p->role = k;
    }
    *rows = malloc((size_t)e->count * count * sizeof **rows + 1);
    if (!*rows)
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    for (uint32_t i = 0; i < e->count; i++) {
        float row[ROLE_COUNT] = {0};
        const char *wrong = ply_read_item(r, e, row, NULL);
        if (wrong)
            return ply_item_error(r, e, i, wrong);
        memcpy(*rows + (size_t)i * count, row, count * sizeof *row);
    }
    return BL_OK;
}

/* A file's bytes, and what messages call them. */
typedef struct ply_bytes {
    const char *name;
    const uint8_t *data;
    size_t size;
} ply_bytes;

static bl_result parse_columns(ply_bytes from, const char *const *names, uint32_t count, float **rows,
                               uint32_t *row_count, bl_error *err)
{
    BL_ASSERT(count <= ROLE_COUNT, "%u columns", count);
    *rows = NULL, *row_count = 0;
    ply_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", from.name);
    *r = (ply_reader){.name = from.name, .at = from.data, .end = from.data + from.size, .err = err};
    bl_result result = ply_parse_header(r);
    if (result == BL_OK)
        result = read_columns(r, names, count, rows);
    if (result == BL_OK)
        *row_count = r->elements[0].count;
    else
        free(*rows), *rows = NULL;
    free(r);
    return result;
}

bl_result ply_parse_columns(const void *data, size_t size, const char *const *names, uint32_t count,
                            float **rows, uint32_t *row_count, bl_error *err)
{
    return parse_columns((ply_bytes){"<ply>", data, size}, names, count, rows, row_count, err);
}

bl_result ply_load_columns(const char *path, const char *const *names, uint32_t count, float **rows,
                           uint32_t *row_count, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *rows = NULL, *row_count = 0;
    TRY(file_read(path, PLY_BYTES_MAX, &data, &size, err));
    bl_result result = parse_columns((ply_bytes){path, data, size}, names, count, rows, row_count, err);
    free(data);
    return result;
}
