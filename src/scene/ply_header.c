/* SPDX-License-Identifier: BSD-3-Clause
 * The header of a PLY file: format, elements, their properties. */
#include "scene/ply.h"

#include <string.h>

static bl_result header_error(const ply_reader *r, const char *what)
{
    return scene_error(r->err, BL_ERROR_FORMAT, (scene_place){r->name, r->line}, "%s", what);
}

bool ply_word_is(ply_word w, const char *expected)
{
    return w.length == strlen(expected) && memcmp(w.chars, expected, w.length) == 0;
}

/* The words of the next line (the first WORDS_MAX of them); false where there is no whole line. */
static bool next_line(ply_reader *r, ply_word words[WORDS_MAX], uint32_t *count)
{
    const uint8_t *at = r->at, *stop = memchr(at, '\n', (size_t)(r->end - at));
    *count = 0;
    r->line++;
    if (!stop)
        return false;
    while (at < stop) {
        while (at < stop && ply_is_space(*at))
            at++;
        const uint8_t *first = at;
        while (at < stop && !ply_is_space(*at))
            at++;
        if (at > first && *count < WORDS_MAX)
            words[(*count)++] = (ply_word){(const char *)first, (size_t)(at - first)};
    }
    r->at = stop + 1;
    return true;
}

static bool parse_type(ply_word w, ply_type *out)
{
    static const char *const names[2][PLY_TYPE_COUNT] = {
        {"char", "uchar", "short", "ushort", "int", "uint", "float", "double"},
        {"int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"}};
    for (int k = 0; k < 2 * PLY_TYPE_COUNT; k++)
        if (ply_word_is(w, names[k / PLY_TYPE_COUNT][k % PLY_TYPE_COUNT])) {
            *out = (ply_type)(k % PLY_TYPE_COUNT);
            return true;
        }
    return false;
}

static bl_result parse_format(ply_reader *r, const ply_word *words, uint32_t count)
{
    static const char *const names[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    if (count != 3 || !ply_word_is(words[2], "1.0"))
        return header_error(r, "expected \"format\", an encoding and the version 1.0");
    for (int k = 0; k < 3; k++)
        if (ply_word_is(words[1], names[k])) {
            r->encoding = (ply_encoding)k;
            return BL_OK;
        }
    return header_error(r, "the format is neither ascii, binary_little_endian nor binary_big_endian");
}

static bl_result parse_element(ply_reader *r, const ply_word *words, uint32_t count)
{
    uint64_t items = 0;
    bool digits = count == 3;
    for (size_t i = 0; digits && i < words[2].length; i++) {
        digits = words[2].chars[i] >= '0' && words[2].chars[i] <= '9';
        items = items > PLY_COUNT_MAX ? items : items * 10 + (uint64_t)(words[2].chars[i] - '0');
    }
    if (!digits)
        return header_error(r, "expected \"element\", a name and a count");
    if (items > PLY_COUNT_MAX || r->element_count == ELEMENTS_MAX)
        return header_error(r, "too many elements");
    ply_kind kind = ply_word_is(words[1], "vertex") ? PLY_VERTEX
                    : ply_word_is(words[1], "face") ? PLY_FACE
                                                    : PLY_OTHER;
    for (uint32_t i = 0; kind != PLY_OTHER && i < r->element_count; i++)
        if (r->elements[i].kind == kind)
            return header_error(r, "the element is there twice");
    r->elements[r->element_count++] =
        (ply_element){.name = words[1], .kind = kind, .count = (uint32_t)items, .first = r->property_count};
    return BL_OK;
}

static bl_result parse_property(ply_reader *r, const ply_word *words, uint32_t count)
{
    bool list = count > 1 && ply_word_is(words[1], "list");
    ply_property p = {.list = list, .role = ROLE_NONE};
    if (count != (list ? 5u : 3u))
        return header_error(r, "expected \"property\", a type and a name");
    p.name = words[count - 1];
    if (!parse_type(words[count - 2], &p.type) || (list && !parse_type(words[2], &p.count_type)))
        return header_error(r, "unknown type of a property");
    if (list && p.count_type >= PLY_F32)
        return header_error(r, "the length of a list must be an integer");
    if (r->element_count == 0)
        return header_error(r, "a property before the first element");
    if (r->property_count == PROPERTIES_MAX)
        return header_error(r, "too many properties");
    r->properties[r->property_count++] = p;
    r->elements[r->element_count - 1].property_count++;
    return BL_OK;
}

bl_result ply_parse_header(ply_reader *r)
{
    ply_word words[WORDS_MAX];
    uint32_t count;
    bool format = false;
    if (!next_line(r, words, &count) || count != 1 || !ply_word_is(words[0], "ply"))
        return header_error(r, "not a PLY file");
    while (next_line(r, words, &count)) {
        if (count == 0 || ply_word_is(words[0], "comment") || ply_word_is(words[0], "obj_info"))
            continue;
        if (ply_word_is(words[0], "end_header"))
            return format ? BL_OK : header_error(r, "the header names no format");
        if (ply_word_is(words[0], "format"))
            TRY(parse_format(r, words, count));
        else if (ply_word_is(words[0], "element"))
            TRY(parse_element(r, words, count));
        else if (ply_word_is(words[0], "property"))
            TRY(parse_property(r, words, count));
        else
            return header_error(r, "unknown keyword in the header");
        format |= ply_word_is(words[0], "format");
    }
    return header_error(r, "the header has no end");
}

ply_property *ply_find_property(ply_reader *r, const ply_element *e, const char *name, bool list)
{
    for (uint32_t i = e->first; i < e->first + e->property_count; i++)
        if (r->properties[i].list == list && ply_word_is(r->properties[i].name, name))
            return &r->properties[i];
    return NULL;
}
