/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * PLY and serialized meshes: the files of tests/data by their content, PLY headers and bodies as a table of
 * texts, serialized files made here with zlib. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char *data_path(const char *name)
{
    static char path[1000];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data/%s", source ? source : ".", name);
    return path;
}

/* ---- the square of tests/data/README.md ---- */

static const float square_positions[12] = {0, 0, 0, 1, 0, 0.5f, 1, 1, 0.5f, 0, 1, 0};
static const float square_normals[12] = {0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 4};
static const float square_uvs[8] = {0, 0, 1, 0, 1, 0.75f, 0, 0.75f};
static const float flipped_uvs[8] = {0, 1, 1, 1, 1, 0.25f, 0, 0.25f};
static const uint32_t square_faces[6] = {0, 1, 2, 0, 2, 3};

static void check_square(scene_mesh *m, bool normals, const float *uvs)
{
    assert_int_equal(m->vertex_count, 4);
    assert_int_equal(m->face_count, 2);
    assert_memory_equal(m->positions, square_positions, sizeof square_positions);
    assert_memory_equal(m->faces, square_faces, sizeof square_faces);
    assert_memory_equal(m->uvs, uvs, sizeof square_uvs);
    assert_true((m->normals != NULL) == normals);
    if (normals)
        assert_memory_equal(m->normals, square_normals, sizeof square_normals);
    mesh_free(m);
}

static void ply_files_have_their_content(void **state)
{
    static const struct {
        const char *name;
        bool normals;
    } files[] = {{"square_ascii.ply", true}, {"square_little.ply", false}, {"square_big.ply", true}};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int flip = 0; flip < 2; flip++) {
            scene_mesh m;
            bl_error err = {0};
            if (mesh_load_ply(data_path(files[i].name), flip, &m, &err) != BL_OK)
                fail_msg("%s", err.text);
            check_square(&m, files[i].normals, flip ? flipped_uvs : square_uvs);
        }
    scene_mesh m;
    assert_int_equal(mesh_load_ply("no such.ply", false, &m, NULL), BL_ERROR_IO);
}

/* ---- PLY texts ---- */

typedef struct ply_case {
    const char *content;
    const char *error; /* NULL: loads */
} ply_case;

#define PLY "ply\nformat ascii 1.0\n"
#define XYZ(count) "element vertex " count "\nproperty float x\nproperty float y\nproperty float z\n"
#define FACE(count) "element face " count "\nproperty list uchar int vertex_index\n"
#define END "end_header\n"
#define V3 "0 0 0 1 0 0 0 1 0 "

static const ply_case ply_cases[] = {
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 2\n", NULL},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 2", NULL},
    {PLY XYZ("3") FACE("1") END "0\n0\t0\r\n1 0 0\n0 1 0\n\n3 0\n1 2  \n", NULL}, /* lines do not matter */
    {"ply\r\nformat ascii 1.0\r\nelement vertex 3\r\nproperty double x\r\nproperty double y\r\nproperty "
     "double z\r\n"
     "element face 1\r\nproperty list int uint vertex_indices\r\nend_header\r\n" V3 "3 0 1 2\r\n",
     NULL},
    {PLY "comment a\nobj_info b\n\n" XYZ("3") FACE("1") "element edge 2\nproperty int a\n" END V3
                                                        "3 0 1 2 5 nan",
     NULL},
    {PLY XYZ("3") "property list uchar float w\n" FACE("1") "property float q\n" END
                                                            "0 0 0 2 7 8 1 0 0 0 0 1 0 1 9 3 0 1 2 x",
     NULL},
    {PLY FACE("1") XYZ("3") END "3 0 1 2 " V3, NULL},
    {PLY XYZ("3") FACE("1") "element nothing 1000000\n" END V3 "3 0 1 2", NULL},
    {PLY XYZ("3") "property float nx\nproperty float ny\n" FACE("1") END
     "0 0 0 1 1 1 0 0 1 1 0 1 0 1 1 3 0 1 2",
     NULL}, /* nx, ny alone */
    {"", "<ply>:1: not a PLY file"},
    {"ply", "<ply>:1: not a PLY file"},
    {"plx\n", "<ply>:1: not a PLY file"},
    {"ply\n", "<ply>:2: the header has no end"},
    {"ply\n" XYZ("3") FACE("1") END V3 "3 0 1 2\n", "<ply>:8: the header names no format"},
    {"ply\nformat ascii 2.0\n", "<ply>:2: expected \"format\""},
    {"ply\nformat binary 1.0\n", "<ply>:2: the format is neither"},
    {PLY "property float x\n", "<ply>:3: a property before the first element"},
    {PLY "element vertex\n", "<ply>:3: expected \"element\""},
    {PLY "element vertex -1\n", "<ply>:3: expected \"element\""},
    {PLY "element vertex 1073741824\n", "<ply>:3: too many elements"},
    {PLY "element vertex 99999999999999999999999\n", "<ply>:3: too many elements"},
    {PLY XYZ("3") XYZ("3"), "<ply>:7: the element is there twice"},
    {PLY XYZ("3") "property real w\n", "<ply>:7: unknown type"},
    {PLY XYZ("3") "property list uchar w\n", "<ply>:7: expected \"property\""},
    {PLY XYZ("3") "property list float int w\n", "<ply>:7: the length of a list must be an integer"},
    {PLY "elements vertex 3\n", "<ply>:3: unknown keyword"},
    {PLY "element vertex 1\nproperty float x\nproperty float y\n" END "0 0",
     "the vertices have no x, y and z"},
    {PLY XYZ("3") "element face 1\nproperty list uchar int corners\n" END V3 "3 0 1 2",
     "the faces have no vertex_index"},
    {PLY XYZ("3") "element face 1\nproperty int vertex_index\n" END V3 "3", "the faces have no vertex_index"},
    {PLY XYZ("3") END V3, "the mesh has no faces"},
    {PLY XYZ("3") FACE("0") END V3, "the mesh has no faces"},
    {PLY FACE("1") END "3 0 1 2", "the file has no vertices"},
    {PLY XYZ("3") FACE("1") END V3 "4 0 1 2 0", "face 0: only triangles are supported"},
    {PLY XYZ("3") FACE("1") END V3 "2 0 1 ", "face 0: only triangles are supported"},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 3", "face 0 names the vertex 3 of 3"},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 -1", "face 0: an index is not a whole number"},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 1.5", "face 0: an index is not a whole number"},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 4294967295", "face 0: an index is not a whole number"},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 ", "face 0: the file is truncated"},
    {PLY XYZ("3") FACE("1") END "0 0 0 1 0 ", "the file is truncated: 3 of \"vertex\" cannot be in 10 bytes"},
    {PLY XYZ("1000000") FACE("1") END V3 "3 0 1 2", "the file is truncated: 1000000 of \"vertex\""},
    {PLY XYZ("3") FACE("1") END "0 0 0 1 nan 0 0 1 0 3 0 1 2", "vertex 1: a value is not a finite number"},
    {PLY XYZ("3") FACE("1") END "0 0 0 1 0 1e39 0 1 0 3 0 1 2", "vertex 1: a value is not a finite number"},
    {PLY XYZ("3") FACE("1") END "0 0 0 1 0 0x 0 1 0 3 0 1 2", "vertex 1: a value is not a finite number"},
    {PLY XYZ("3") FACE("1") END V3 "3 0 1 2 7", "1 bytes follow the last element"},
    {PLY XYZ("3") "property list int float w\n" FACE("1") END "0 0 0 4000000000 1 0 0 0 0 1 0 0 3 0 1 2",
     "vertex 0: the file is truncated"},
    {PLY XYZ("3") "property list int float w\n" FACE("1") END "0 0 0 -1 1 0 0 0 0 1 0 0 3 0 1 2",
     "vertex 0: the length of a list is not a count"},
};

static void ply_texts_load_or_fail_as_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ply_cases / sizeof ply_cases[0]; i++) {
        const ply_case *c = &ply_cases[i];
        scene_mesh m;
        bl_error err = {0};
        bl_result r = mesh_parse_ply(c->content, strlen(c->content), false, &m, &err);
        if (!c->error && (r != BL_OK || m.vertex_count != 3 || m.face_count != 1 || m.faces[2] != 2 ||
                          m.positions[7] != 1))
            fail_msg("%s\n%s", c->content, r ? err.text : "loads wrongly");
        if (c->error && (r != BL_ERROR_FORMAT || !strstr(err.text, c->error)))
            fail_msg("%s\nexpected %s\ngot %s", c->content, c->error, r ? err.text : "success");
        mesh_free(&m);
    }
}

/* u v is preferred to the other names; a name alone is none. */
static void ply_texture_coordinates(void **state)
{
    static const struct {
        const char *names[4];
        int first; /* column of u; -1: none */
    } cases[] = {{{"u", "v", "s", "t"}, 0},
                 {{"s", "t", "u", "v"}, 2},
                 {{"s", "t", "texture_u", "texture_v"}, 2},
                 {{"texture_u", "texture_v", "a", "b"}, 0},
                 {{"s", "t", "u", "w"}, 0},
                 {{"u", "t", "a", "b"}, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text content = {0};
        scene_mesh m;
        bl_error err = {0};
        text_add(&content, PLY XYZ("3"));
        for (int k = 0; k < 4; k++)
            text_add(&content, "property float %s\n", cases[i].names[k]);
        text_add(&content, FACE("1") END);
        for (int v = 0; v < 3; v++)
            text_add(&content, "%d %d 0 %d %d %d %d\n", v == 1, v == 2, 10 * v, 10 * v + 1, 10 * v + 2,
                     10 * v + 3);
        text_add(&content, "3 0 1 2\n");
        if (mesh_parse_ply(content.data, content.length, false, &m, &err) != BL_OK)
            fail_msg("%s", err.text);
        assert_true((m.uvs != NULL) == (cases[i].first >= 0));
        for (int v = 0; m.uvs && v < 3; v++)
            for (int k = 0; k < 2; k++)
                assert_true(m.uvs[2 * v + k] == (float)(10 * v + k + cases[i].first));
        mesh_free(&m);
        text_free(&content);
    }
}

static void zero_normals_are_generated(void **state)
{
    static const char content[] =
        PLY XYZ("4") "property float nx\nproperty float ny\nproperty float nz\n" FACE("2") END
        "0 0 0 0 0 0  1 0 0 3 4 0  0 1 0 0 0 0  0 0 1 0 0 0  3 0 1 2 3 0 2 3";
    scene_mesh m;
    (void)state;
    assert_int_equal(mesh_parse_ply(content, sizeof content - 1, false, &m, NULL), BL_OK);
    assert_true(m.normals[3] == 3 && m.normals[4] == 4 && m.normals[5] == 0); /* as given */
    assert_true(fabsf(m.normals[9] - 1) < 1e-6f && m.normals[10] == 0);       /* of the second face alone */
    assert_true(m.normals[0] > 0.5f && m.normals[2] > 0.5f);                  /* of both */
    mesh_free(&m);
}

/* Every type, in both byte orders: one vertex whose position is (1, -2, 3) in that type (2 where it is
 * unsigned). */
static void ply_binary_types(void **state)
{
    static const char *const names[16] = {"char",  "uchar",  "short",   "ushort", "int",   "uint",
                                          "float", "double", "int8",    "uint8",  "int16", "uint16",
                                          "int32", "uint32", "float32", "float64"};
    static const uint8_t sizes[8] = {1, 1, 2, 2, 4, 4, 4, 8};
    (void)state;
    for (int type = 0; type < 16; type++)
        for (int big = 0; big < 2; big++) {
            text content = {0};
            text_add(&content, "ply\nformat binary_%s_endian 1.0\nelement vertex 1\n",
                     big ? "big" : "little");
            for (int k = 0; k < 3; k++)
                text_add(&content, "property %s %c\n", names[type], 'x' + k);
            text_add(&content, "element face 1\nproperty list uchar uchar vertex_index\nend_header\n");
            bool is_unsigned = type % 8 < 6 && type % 2;
            double values[3] = {1, is_unsigned ? 2 : -2, 3};
            for (int k = 0; k < 3; k++) {
                int64_t whole = (int64_t)values[k];
                float single = (float)values[k];
                uint8_t native[8], bytes[8]; /* the tests run on little-endian machines */
                memcpy(native,
                       type % 8 == 7   ? (void *)&values[k]
                       : type % 8 == 6 ? (void *)&single
                                       : (void *)&whole,
                       sizes[type % 8]);
                for (int i = 0; i < sizes[type % 8]; i++)
                    bytes[i] = native[big ? sizes[type % 8] - 1 - i : i];
                text_add_bytes(&content, bytes, sizes[type % 8]);
            }
            text_add_bytes(&content, "\3\0\0\0", 4);
            scene_mesh m;
            bl_error err = {0};
            if (mesh_parse_ply(content.data, content.length, false, &m, &err) != BL_OK)
                fail_msg("%s: %s", names[type], err.text);
            for (int k = 0; k < 3; k++)
                assert_true((double)m.positions[k] == values[k]);
            mesh_free(&m);
            text_free(&content);
        }
}

/* ---- serialized ---- */

static void serialized_files_have_their_content(void **state)
{
    static const float triangle[9] = {0, 0, 0, 2, 0, 0, 0, 2, 0};
    (void)state;
    for (int version = 3; version <= 4; version++)
        for (uint32_t index = 0; index < 2; index++) {
            scene_mesh m;
            bl_error err = {0};
            if (mesh_load_serialized(data_path(version == 3 ? "two_v3.serialized" : "two_v4.serialized"),
                                     index, &m, &err) != BL_OK)
                fail_msg("%s", err.text);
            if (index == (version == 3 ? 0u : 1u)) {
                check_square(&m, true, square_uvs);
                continue;
            }
            assert_int_equal(m.vertex_count, 3);
            assert_int_equal(m.face_count, 1);
            assert_memory_equal(m.positions, triangle, sizeof triangle);
            assert_memory_equal(m.faces, square_faces, 12);
            assert_true(!m.normals && !m.uvs);
            mesh_free(&m);
        }
    scene_mesh m;
    bl_error err = {0};
    assert_int_equal(mesh_load_serialized(data_path("two_v4.serialized"), 2, &m, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "two_v4.serialized: there is no mesh 2, the file has 2"));
    assert_int_equal(mesh_load_serialized("no such", 0, &m, NULL), BL_ERROR_IO);
}

enum { FLAG_NORMALS = 1, FLAG_SINGLE = 0x1000, FLAG_DOUBLE = 0x2000 };

typedef struct serialized_parts {
    uint16_t magic, version;
    uint32_t flags;
    uint64_t vertices, faces; /* as declared */
    uint32_t last_index;
    float last_coordinate;
    size_t cut;      /* bytes missing at the end of what is compressed */
    uint64_t offset; /* in the table */
    uint32_t count;
    bool damaged; /* a wrong checksum */
} serialized_parts;

static void add_word(text *t, uint64_t word, int size)
{
    for (int i = 0; i < size; i++)
        text_add_bytes(t, &(uint8_t){(uint8_t)(word >> 8 * i)}, 1);
}

/* One triangle. */
static text make_serialized(const serialized_parts *p)
{
    const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, p->last_coordinate};
    text inside = {0}, file = {0};
    add_word(&inside, p->flags, 4);
    if (p->version == 4)
        text_add_bytes(&inside, "a name", 7);
    add_word(&inside, p->vertices, 8);
    add_word(&inside, p->faces, 8);
    text_add_bytes(&inside, positions, sizeof positions);
    for (int k = 0; k < 3; k++)
        add_word(&inside, k == 2 ? p->last_index : (uint32_t)k, 4);
    uint8_t packed[500];
    uLongf size = sizeof packed;
    assert_int_equal(compress(packed, &size, (const Bytef *)inside.data, inside.length - p->cut), Z_OK);
    packed[size - 1] ^= p->damaged;
    add_word(&file, p->magic, 2);
    add_word(&file, p->version, 2);
    text_add_bytes(&file, packed, size);
    add_word(&file, p->offset, p->version == 3 ? 4 : 8);
    add_word(&file, p->count, 4);
    text_free(&inside);
    return file;
}

typedef enum part {
    WHOLE,
    MAGIC,
    VERSION,
    FLAGS,
    VERTICES,
    FACES,
    INDEX,
    COORDINATE,
    CUT,
    OFFSET,
    COUNT,
    DAMAGED
} part;

static serialized_parts with_part(part which, uint64_t value)
{
    serialized_parts p = {
        .magic = 0x041C,
        .version = 4,
        .flags = FLAG_SINGLE,
        .vertices = 3,
        .faces = 1,
        .last_index = 2,
        .count = 1,
    };
    switch (which) {
    case WHOLE:
        break;
    case MAGIC:
        p.magic = (uint16_t)value;
        break;
    case VERSION:
        p.version = (uint16_t)value;
        break;
    case FLAGS:
        p.flags = (uint32_t)value;
        break;
    case VERTICES:
        p.vertices = value;
        break;
    case FACES:
        p.faces = value;
        break;
    case INDEX:
        p.last_index = (uint32_t)value;
        break;
    case COORDINATE:
        p.last_coordinate = INFINITY;
        break;
    case CUT:
        p.cut = value;
        break;
    case OFFSET:
        p.offset = value;
        break;
    case COUNT:
        p.count = (uint32_t)value;
        break;
    case DAMAGED:
        p.damaged = true;
        break;
    }
    return p;
}

static const struct {
    part which;
    uint64_t value;
    const char *error;
    bl_result code;
} serialized_cases[] = {
    {WHOLE, 0, NULL, BL_OK},
    {VERSION, 3, NULL, BL_OK},
    {FLAGS, 0, NULL, BL_OK},
    {MAGIC, 0x041D, "not a serialized mesh", BL_ERROR_FORMAT},
    {VERSION, 5, "version 5", BL_ERROR_UNSUPPORTED},
    {VERSION, 2, "version 2", BL_ERROR_UNSUPPORTED},
    {FLAGS, FLAG_DOUBLE, "a mesh is truncated", BL_ERROR_FORMAT},
    {FLAGS, FLAG_SINGLE | FLAG_NORMALS, "a mesh is truncated", BL_ERROR_FORMAT},
    {VERTICES, 4, "a mesh is truncated", BL_ERROR_FORMAT},
    {FACES, 2, "a mesh is truncated", BL_ERROR_FORMAT},
    {FACES, 0, "the mesh has no faces", BL_ERROR_FORMAT},
    {VERTICES, 1u << 29, "cannot be in", BL_ERROR_FORMAT},
    {VERTICES, UINT64_MAX, "cannot be in", BL_ERROR_FORMAT},
    {FACES, UINT64_MAX / 4, "cannot be in", BL_ERROR_FORMAT},
    {INDEX, 3, "face 0 names the vertex 3 of 3", BL_ERROR_FORMAT},
    {COORDINATE, 0, "a value of a vertex is not a finite number", BL_ERROR_FORMAT},
    {CUT, 1, "a mesh is truncated", BL_ERROR_FORMAT},
    {CUT, 60, "a mesh is truncated", BL_ERROR_FORMAT},
    {COUNT, 0, "its table of meshes is damaged", BL_ERROR_FORMAT},
    {COUNT, 1000, "its table of meshes is damaged", BL_ERROR_FORMAT},
    {OFFSET, 1, "table of meshes is damaged", BL_ERROR_FORMAT},
    {OFFSET, UINT64_MAX, "table of meshes is damaged", BL_ERROR_FORMAT},
    {DAMAGED, 0, "the compressed data is damaged", BL_ERROR_FORMAT},
};

static void serialized_files_load_or_fail_as_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof serialized_cases / sizeof serialized_cases[0]; i++) {
        serialized_parts parts = with_part(serialized_cases[i].which, serialized_cases[i].value);
        text file = make_serialized(&parts);
        scene_mesh m;
        bl_error err = {0};
        bl_result r = mesh_parse_serialized(file.data, file.length, 0, &m, &err);
        const char *expected = serialized_cases[i].error;
        if (r != serialized_cases[i].code || (expected && !strstr(err.text, expected)))
            fail_msg("case %zu: expected %s, got %s", i, expected ? expected : "success",
                     r ? err.text : "success");
        assert_true((r == BL_OK) == (m.positions != NULL));
        if (r == BL_OK)
            assert_true(m.vertex_count == 3 && m.faces[2] == 2 && m.positions[7] == 1);
        mesh_free(&m);
        text_free(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ply_files_have_their_content),
        cmocka_unit_test(ply_texts_load_or_fail_as_said),
        cmocka_unit_test(ply_texture_coordinates),
        cmocka_unit_test(zero_normals_are_generated),
        cmocka_unit_test(ply_binary_types),
        cmocka_unit_test(serialized_files_have_their_content),
        cmocka_unit_test(serialized_files_load_or_fail_as_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
