/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of numbers from PLY files: named columns of the vertices alone. */
#include "scene/ply.h"

#include <stdlib.h>
#include <string.h>

/* Gives the columns that are there their places in a row. */
static bl_result find_columns(ply_reader *r, const ply_element *e, ply_columns *c)
{
    c->width = 0;
    for (uint32_t k = 0; k < c->count; k++) {
        ply_property *p = ply_find_property(r, e, c->names[k], false);
        c->place[k] = PLY_NO_COLUMN;
        if (!p && k < c->required)
            return error_set(r->err, BL_ERROR_FORMAT, "%s: the vertices have no \"%s\"", r->name,
                             c->names[k]);
        if (p)
            c->place[k] = (int)c->width, p->role = c->width++;
    }
    BL_ASSERT(c->width <= ROLE_COUNT, "%u columns", c->width);
    return BL_OK;
}

/* What follows the vertices is not looked at. */
static bl_result read_columns(ply_reader *r, ply_columns *c)
{
    const ply_element *e = r->elements;
    if (r->element_count == 0 || e->kind != PLY_VERTEX)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the first element is not \"vertex\"", r->name);
    TRY(ply_check_size(r, e));
    TRY(find_columns(r, e, c));
    c->rows = memory_alloc((size_t)e->count * c->width * sizeof *c->rows + 1);
    if (!c->rows)
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    for (uint32_t i = 0; i < e->count; i++) {
        float row[ROLE_COUNT] = {0};
        const char *wrong = ply_read_item(r, e, row, NULL);
        if (wrong)
            return ply_item_error(r, e, i, wrong);
        memcpy(c->rows + (size_t)i * c->width, row, c->width * sizeof *row);
    }
    return BL_OK;
}

/* A file's bytes, and what messages call them. */
typedef struct ply_bytes {
    const char *name;
    const uint8_t *data;
    size_t size;
} ply_bytes;

static bl_result parse_columns(ply_bytes from, ply_columns *c, bl_error *err)
{
    BL_ASSERT(c->count <= PLY_COLUMNS_MOST && c->required <= c->count, "%u columns", c->count);
    c->rows = NULL, c->row_count = 0;
    ply_reader *r = memory_zeroed(1, sizeof *r);
    if (!r)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", from.name);
    *r = (ply_reader){.name = from.name, .at = from.data, .end = from.data + from.size, .err = err};
    bl_result result = ply_parse_header(r);
    if (result == BL_OK)
        result = read_columns(r, c);
    if (result == BL_OK)
        c->row_count = r->elements[0].count;
    else
        memory_free(c->rows), c->rows = NULL;
    memory_free(r);
    return result;
}

bl_result ply_parse_columns(const void *data, size_t size, ply_columns *columns, bl_error *err)
{
    return parse_columns((ply_bytes){"<ply>", data, size}, columns, err);
}

bl_result ply_load_columns(const char *path, ply_columns *columns, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    columns->rows = NULL, columns->row_count = 0;
    TRY(file_read(path, PLY_BYTES_MAX, &data, &size, err));
    bl_result result = parse_columns((ply_bytes){path, data, size}, columns, err);
    memory_free(data);
    return result;
}
