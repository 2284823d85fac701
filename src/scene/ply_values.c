/* SPDX-License-Identifier: BSD-3-Clause
 * Values of a PLY file, ascii and both binaries. Each passes through a double, which holds all of PLY's types
 * exactly. */
#include "scene/ply.h"

#include <math.h>
#include <string.h>

static const uint8_t type_size[PLY_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 8};

static double binary_number(const uint8_t *bytes, ply_type type, bool big)
{
    uint64_t word = 0;
    uint32_t size = type_size[type], low;
    float single;
    double number;
    for (uint32_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[big ? size - 1 - i : i] << 8 * i;
    low = (uint32_t)word;
    switch (type) {
    case PLY_I8:
        return (int8_t)low;
    case PLY_I16:
        return (int16_t)low;
    case PLY_I32:
        return (int32_t)low;
    case PLY_F32:
        memcpy(&single, &low, sizeof single);
        return (double)single;
    case PLY_F64:
        memcpy(&number, &word, sizeof number);
        return number;
    default:
        return (double)word;
    }
}

/* The next token of an ascii body; false at the end. */
static bool next_token(ply_reader *r, ply_word *out)
{
    while (r->at < r->end && ply_is_space(*r->at))
        r->at++;
    const uint8_t *first = r->at;
    while (r->at < r->end && !ply_is_space(*r->at))
        r->at++;
    *out = (ply_word){(const char *)first, (size_t)(r->at - first)};
    return out->length > 0;
}

/* NULL, or what is wrong. What is malformed and not wanted becomes NaN. */
static const char *read_number(ply_reader *r, ply_type type, double *out)
{
    if (r->encoding == PLY_ASCII) {
        ply_word w;
        if (!next_token(r, &w))
            return "the file is truncated";
        if (number_scan(w.chars, w.chars + w.length, out) != w.chars + w.length)
            *out = NAN;
        return NULL;
    }
    if ((size_t)(r->end - r->at) < type_size[type])
        return "the file is truncated";
    *out = binary_number(r->at, type, r->encoding == PLY_BIG);
    r->at += type_size[type];
    return NULL;
}

static const char *skip_list(ply_reader *r, const ply_property *p)
{
    double length, ignored;
    const char *wrong = read_number(r, p->count_type, &length);
    if (wrong)
        return wrong;
    if (!(length >= 0 && length <= UINT32_MAX && length == floor(length)))
        return "the length of a list is not a count";
    for (double i = 0; i < length && !wrong; i++) /* ends with the file, which is shorter */
        wrong = read_number(r, p->type, &ignored);
    return wrong;
}

static const char *read_corners(ply_reader *r, const ply_property *p, uint32_t corners[3])
{
    double value;
    const char *wrong = read_number(r, p->count_type, &value);
    if (wrong)
        return wrong;
    if (!(value == 3))
        return "only triangles are supported, here is another polygon";
    for (int i = 0; i < 3; i++) {
        wrong = read_number(r, p->type, &value);
        if (wrong)
            return wrong;
        if (!(value >= 0 && value < UINT32_MAX && value == floor(value)))
            return "an index is not a whole number";
        corners[i] = (uint32_t)value;
    }
    return NULL;
}

/* One item: what has a role goes to its place in `row` or `corners`. */
const char *ply_read_item(ply_reader *r, const ply_element *e, float row[ROLE_COUNT], uint32_t corners[3])
{
    const char *wrong = NULL;
    for (uint32_t i = e->first; i < e->first + e->property_count && !wrong; i++) {
        const ply_property *p = &r->properties[i];
        double value = 0;
        if (p->role == ROLE_CORNERS)
            wrong = read_corners(r, p, corners);
        else if (p->list)
            wrong = skip_list(r, p);
        else
            wrong = read_number(r, p->type, &value);
        if (!wrong && p->role < ROLE_COUNT) {
            row[p->role] = (float)value;
            wrong = isfinite(row[p->role]) ? NULL : "a value is not a finite number";
        }
    }
    return wrong;
}

/* Bytes below which an item cannot be; 0 for one without properties. */
static uint64_t item_size(const ply_reader *r, const ply_element *e)
{
    uint64_t bytes = 0;
    for (uint32_t i = e->first; i < e->first + e->property_count; i++) {
        const ply_property *p = &r->properties[i];
        bytes += r->encoding == PLY_ASCII ? 2u /* a digit and what separates it */
                                          : type_size[p->list ? p->count_type : p->type];
    }
    return bytes;
}

bl_result ply_check_size(const ply_reader *r, const ply_element *e)
{
    uint64_t least = e->count * item_size(r, e);
    if (least >
        (uint64_t)(r->end - r->at) + 1) /* the last item of an ascii file may have nothing behind it */
        return error_set(r->err, BL_ERROR_FORMAT,
                         "%s: the file is truncated: %u of \"%.*s\" cannot be in %zu bytes", r->name,
                         e->count, (int)(e->name.length < 60 ? e->name.length : 60), e->name.chars,
                         (size_t)(r->end - r->at));
    return BL_OK;
}

bl_result ply_item_error(const ply_reader *r, const ply_element *e, uint32_t item, const char *wrong)
{
    return error_set(r->err, BL_ERROR_FORMAT, "%s: %.*s %u: %s", r->name,
                     (int)(e->name.length < 60 ? e->name.length : 60), e->name.chars, item, wrong);
}
