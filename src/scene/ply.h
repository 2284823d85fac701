/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the reader of Stanford PLY files. The header becomes a list of elements and their properties
 * (ply_header.c); a body is read item by item, with `role` saying where in its element's row a value goes
 * (ply_values.c): by mesh_ply.c and by ply_columns.c. */
#ifndef BL_SCENE_PLY_H
#define BL_SCENE_PLY_H

#include "scene/scene_internal.h"

#define PLY_BYTES_MAX ((size_t)4 << 30)
#define PLY_COUNT_MAX 0x3FFFFFFFu /* so that three times it still counts in 32 bits */
enum { ELEMENTS_MAX = 64, PROPERTIES_MAX = 1024, WORDS_MAX = 6 };

typedef enum ply_encoding { PLY_ASCII, PLY_LITTLE, PLY_BIG } ply_encoding;
typedef enum ply_kind { PLY_OTHER, PLY_VERTEX, PLY_FACE } ply_kind;
typedef enum ply_type {
    PLY_I8,
    PLY_U8,
    PLY_I16,
    PLY_U16,
    PLY_I32,
    PLY_U32,
    PLY_F32,
    PLY_F64,
    PLY_TYPE_COUNT
} ply_type;

/* Columns of a row; three for each attribute of the mesh; the corners of a face. */
enum ply_role {
    ROLE_X,
    ROLE_NX = 3,
    ROLE_U = 6,
    ROLE_ATTRIBUTES = 8,
    ROLE_COUNT = ROLE_ATTRIBUTES + 3 * ATTRIBUTES_MOST,
    ROLE_CORNERS = ROLE_COUNT,
    ROLE_NONE
};

typedef property_name ply_word;

typedef struct ply_property {
    ply_word name;
    ply_type type, count_type;
    bool list;
    uint32_t role;
} ply_property;

typedef struct ply_element {
    ply_word name;
    ply_kind kind;
    uint32_t count, first, property_count;
} ply_element;

typedef struct ply_reader {
    const char *name;
    const uint8_t *at, *end;
    uint32_t line; /* of the header */
    bool flip_tex_coords;
    ply_encoding encoding;
    ply_element elements[ELEMENTS_MAX];
    ply_property properties[PROPERTIES_MAX];
    uint32_t element_count, property_count;
    scene_mesh mesh;
    bl_error *err;
} ply_reader;

bool ply_word_is(ply_word w, const char *expected);
static inline bool ply_is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* ---- ply_header.c ---- */

/* Roles are ROLE_NONE then, and r->at the body's first byte. */
bl_result ply_parse_header(ply_reader *r);
ply_property *ply_find_property(ply_reader *r, const ply_element *e, const char *name,
                                bool list); /* NULL: none of them */

/* ---- ply_values.c ---- */

/* Whether all items can be in the bytes that are left. */
bl_result ply_check_size(const ply_reader *r, const ply_element *e);
/* The next item: values with a role into row, a face's corners (else NULL). What is wrong with it, or
 * NULL. */
const char *ply_read_item(ply_reader *r, const ply_element *e, float row[ROLE_COUNT], uint32_t corners[3]);
bl_result ply_item_error(const ply_reader *r, const ply_element *e, uint32_t item, const char *wrong);

#endif
