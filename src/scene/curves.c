/* SPDX-License-Identifier: BSD-3-Clause
 * Lists of control points as text, one `x y z radius` a line; further columns are ignored. An empty line ends
 * a curve (Mitsuba). */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CURVES_BYTES_MAX ((size_t)1 << 30)
enum { POINTS_MOST = 1 << 27, COLUMNS = 4 };

typedef struct curve_reader {
    ARRAY(float) points;
    ARRAY(uint32_t) firsts;
    uint32_t least, line;
    bool open; /* a curve has begun */
    bl_error *err;
} curve_reader;

static bl_result curve_error(const curve_reader *r, const char *what)
{
    return error_set(r->err, BL_ERROR_FORMAT, "line %u: %s", r->line, what);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bl_result end_curve(curve_reader *r)
{
    uint32_t count = r->points.count / COLUMNS;
    if (r->open && count - r->firsts.data[r->firsts.count - 1] < r->least)
        return error_set(r->err, BL_ERROR_FORMAT,
                         "line %u: a curve of %u control points ends here, %u is the least", r->line,
                         count - r->firsts.data[r->firsts.count - 1], r->least);
    r->open = false;
    return BL_OK;
}

static bl_result read_line(curve_reader *r, const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    if (at == end)
        return end_curve(r);
    if (r->points.count / COLUMNS >= POINTS_MOST)
        return curve_error(r, "too many control points");
    if (!r->open)
        array_push(&r->firsts, r->points.count / COLUMNS);
    r->open = true;
    for (int k = 0; k < COLUMNS; k++) {
        double value = 0;
        while (at < end && is_blank(*at))
            at++;
        at = number_scan(at, end, &value);
        if (!at || (at < end && !is_blank(*at)) || !isfinite((float)value))
            return curve_error(r, "expected four finite numbers: x y z radius");
        if (k == 3 && value < 0)
            return curve_error(r, "a negative radius");
        array_push(&r->points, (float)value);
    }
    return BL_OK;
}

static bl_result read_all(curve_reader *r, const char *at, const char *end)
{
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        r->line++;
        TRY(read_line(r, at, stop ? stop : end));
        at = stop ? stop + 1 : end;
    }
    if (r->firsts.count == 0)
        return error_set(r->err, BL_ERROR_FORMAT, "the file holds no control points");
    return end_curve(r);
}

bl_result curves_parse(const char *chars, size_t size, uint32_t least, scene_curves *out, bl_error *err)
{
    curve_reader r = {.least = least, .err = err};
    *out = (scene_curves){0};
    bl_result result = read_all(&r, chars, chars + size);
    if (result == BL_OK) {
        array_push(&r.firsts, r.points.count / COLUMNS);
        *out = (scene_curves){
            .points = r.points.data,
            .firsts = r.firsts.data,
            .point_count = r.points.count / COLUMNS,
            .curve_count = r.firsts.count - 1,
        };
        return BL_OK;
    }
    array_free(&r.points);
    array_free(&r.firsts);
    return result;
}

bl_result curves_load(const char *path, uint32_t least, scene_curves *out, bl_error *err)
{
    void *data;
    size_t size;
    *out = (scene_curves){0};
    TRY(file_read(path, CURVES_BYTES_MAX, &data, &size, err));
    bl_result result = curves_parse(data, size, least, out, err);
    memory_free(data);
    return result;
}

void curves_free(scene_curves *c)
{
    if (!c)
        return;
    memory_free(c->points);
    memory_free(c->firsts);
    *c = (scene_curves){0};
}
