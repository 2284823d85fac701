/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Meshes: OBJ cases as a table (what loads, and the message with its line where it does not), rectangle and
 * cube by what must hold of them, transforms and normals against hand results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct obj_case {
    const char *content;
    const char *error; /* NULL: loads with */
    uint32_t vertices, faces;
} obj_case;

#define V3 "v 0 0 0\nv 1 0 0\nv 0 1 0\n"

static const obj_case cases[] = {
    {V3 "f 1 2 3\n", NULL, 3, 1},
    {V3 "f 1 2 3", NULL, 3, 1},
    {V3 "  f\t1  2 3 \r\n", NULL, 3, 1},
    {V3 "v 1 1 0\nf 1 2 4 3\nf 3 1 2\n", NULL, 4, 3},
    {V3 "v 5 5 5\nf 1 2 3\n", NULL, 3, 1}, /* a vertex that no face names */
    {V3 "v 1 1 0\nv .5 2 0\nf 1 2 4 5 3\n", NULL, 5, 3},
    {V3 "vt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/2 2/1 3/1\n", NULL, 4, 2},
    {V3 "vn 0 0 1\nf 1//1 2//1 3//1\n", NULL, 3, 1},
    {V3 "vn 0 0 1\nvt 0 0 0\nf 1/1/1 2/1/1 3/1/1\n", NULL, 3, 1},
    {V3 "vn 0 0 1\nvn 1 0 0\nf 1//1 2//1 3//1\nf 1//2 2//1 3//2\n", NULL, 5, 2},
    {"# only\ng group\no object\ns 1\nusemtl m\nmtllib f\nl 1 2\np 1\nvp 1 2\n" V3 "f 1 2 3\n", NULL, 3, 1},
    {"v 1e-3 -.5 2E+1 1.0\nv 1 0 0 .1 .2 .3\nv 0 1 0\nf 1 2 3\n", NULL, 3, 1},
    {"", "<obj>:0: the mesh has no faces", 0, 0},
    {V3, "<obj>:3: the mesh has no faces", 0, 0},
    {"v 0 0\n", "<obj>:1: expected three finite numbers", 0, 0},
    {"v 0 0 x\n", "<obj>:1: expected three finite numbers", 0, 0},
    {"v 0 0 nan\n", "<obj>:1: expected three finite numbers", 0, 0},
    {"v 0 0 1e39\n", "<obj>:1: expected three finite numbers", 0, 0},
    {"v 0 0 1x\n", "<obj>:1: expected three finite numbers", 0, 0},
    {"\nvt 0\n", "<obj>:2: expected two finite numbers", 0, 0},
    {"vn 0 0 0\n", "<obj>:1: a normal must not be zero", 0, 0},
    {V3 "f 1 2 4\n", "<obj>:4: a face names a vertex that does not exist", 0, 0},
    {V3 "f 0 1 2\n", "<obj>:4: malformed corner of a face: 0 1 2", 0, 0},
    {V3 "f -1 -2 -3\n", "<obj>:4: negative indices are not supported", 0, 0},
    {V3 "f 1 2\n", "<obj>:4: a face needs at least three corners", 0, 0},
    {V3 "f\n", NULL, 0,
     0}, /* not followed by a blank: another keyword, as in Mitsuba; so there are no faces */
    {V3 "f 1/1 2 3\n", "<obj>:4: a face names a texture coordinate that does not exist", 0, 0},
    {V3 "vt 0 0\nf 1/2 2 3\n", "<obj>:5: a face names a texture coordinate that does not exist", 0, 0},
    {V3 "f 1//1 2 3\n", "<obj>:4: a face names a normal that does not exist", 0, 0},
    {V3 "f 1/2/3/4 2 3\n", "<obj>:4: malformed corner", 0, 0},
    {V3 "f 1/ 2 3\n", "<obj>:4: malformed corner", 0, 0},
    {V3 "f 1// 2 3\n", "<obj>:4: malformed corner", 0, 0},
    {V3 "f 1 2 3x\n", "<obj>:4: malformed corner", 0, 0},
    {V3 "f 1 2 99999999999999999999\n", "<obj>:4: a face names a vertex that does not exist", 0, 0},
    {"f 1 2 3\n" V3, "<obj>:1: a face names a vertex that does not exist (yet)", 0, 0},
};

static void obj_files_load_or_fail_as_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const obj_case *c = &cases[i];
        scene_mesh mesh;
        bl_error err = {0};
        bl_result result = mesh_parse_obj(c->content, strlen(c->content), false, &mesh, &err);
        const char *expected = c->error ? c->error : c->faces == 0 ? "no faces" : NULL;
        if (!expected && result != BL_OK)
            fail_msg("%s\n%s", c->content, err.text);
        if (expected && (result != BL_ERROR_FORMAT || !strstr(err.text, expected)))
            fail_msg("%s\nexpected %s\ngot %s", c->content, expected, result ? err.text : "success");
        assert_int_equal(mesh.vertex_count, c->vertices);
        assert_int_equal(mesh.face_count, c->faces);
        for (uint32_t k = 0; k < 3 * mesh.face_count; k++)
            assert_true(mesh.faces[k] < mesh.vertex_count);
        mesh_free(&mesh);
    }
}

static void obj_content_is_kept(void **state)
{
    static const float positions[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, .5f, -1, 0, 0};
    static const float uvs[] = {0, 1, 1, 1, 1, 0, 0, 0, 0, 1}; /* flipped */
    static const uint32_t faces[] = {0, 1, 2, 0, 2, 3, 0, 3, 4};
    char path[1000];
    const char *source = getenv("BL_SOURCE_DIR");
    scene_mesh mesh;
    bl_error err = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/tests/data/tri.obj", source ? source : ".");
    if (mesh_load_obj(path, true, &mesh, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(mesh.vertex_count, 5);
    assert_memory_equal(mesh.positions, positions, sizeof positions);
    assert_memory_equal(mesh.uvs, uvs, sizeof uvs);
    assert_memory_equal(mesh.faces, faces, sizeof faces);
    for (int v = 0; v < 5; v++)
        assert_true(mesh.normals[3 * v] == 0 && mesh.normals[3 * v + 1] == 0 && mesh.normals[3 * v + 2] == 1);
    mesh_free(&mesh);
    assert_int_equal(mesh_load_obj("no such.obj", true, &mesh, &err), BL_ERROR_IO);
}

static void missing_normals_are_generated(void **state)
{
    static const char content[] = V3 "v 0 0 1\nvn 1 0 0\nf 1//1 2//1 3//1\nf 1 3 4\n";
    scene_mesh mesh;
    (void)state;
    assert_int_equal(mesh_parse_obj(content, sizeof content - 1, false, &mesh, NULL), BL_OK);
    assert_int_equal(mesh.vertex_count, 6);
    for (int v = 0; v < 6; v++) /* given for the first face, made for the second: its plane is x = 0 */
        assert_true(mesh.normals[3 * v] == 1 && mesh.normals[3 * v + 1] == 0 && mesh.normals[3 * v + 2] == 0);
    mesh_free(&mesh);
}

/* Corners that differ in one index only are different vertices, also where the hash table has to probe. */
static void corners_are_told_apart(void **state)
{
    enum { COUNT = 1000 };
    text content = {0};
    scene_mesh mesh;
    (void)state;
    text_add(&content, V3);
    for (int i = 1; i <= COUNT; i++)
        text_add(&content, "vn %d 1 0\nvt %d 0\n", i, i);
    for (int round = 0; round < 2; round++) /* the second time they are all known */
        for (int i = 1; i <= COUNT; i++)
            text_add(&content, "f 1//%d 2/%d 3/1/%d\n", i, i, i);
    assert_int_equal(mesh_parse_obj(content.data, content.length, false, &mesh, NULL), BL_OK);
    assert_int_equal(mesh.vertex_count, 3 * COUNT);
    assert_int_equal(mesh.face_count, 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(mesh.uvs[2 * (3 * i + 1)] == (float)(i + 1));
        assert_true(fabs(atan2(mesh.normals[9 * i + 1], mesh.normals[9 * i]) - atan2(1, i + 1)) < 1e-6);
    }
    mesh_free(&mesh);
    text_free(&content);
}

static void long_lines_and_binary_are_errors(void **state)
{
    char line[1100];
    scene_mesh mesh;
    bl_error err = {0};
    (void)state;
    memset(line, '#', sizeof line);
    assert_int_equal(mesh_parse_obj(line, 1023, true, &mesh, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "no faces"));
    assert_int_equal(mesh_parse_obj(line, 1024, true, &mesh, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "longer than 1023"));
    assert_int_equal(mesh_parse_obj("v 1 \0 2\n", 8, true, &mesh, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "not a text file"));
}

static void face_normal(const scene_mesh *m, uint32_t face, double out[3])
{
    const float *p[3];
    for (int i = 0; i < 3; i++)
        p[i] = &m->positions[3 * m->faces[3 * face + i]];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = ((double)p[1][j] - p[0][j]) * ((double)p[2][k] - p[0][k]) -
                 ((double)p[1][k] - p[0][k]) * ((double)p[2][j] - p[0][j]);
    }
}

/* Every face's winding agrees with its vertex normals; returns the total area. */
static double check_winding(const scene_mesh *m, double sign)
{
    double area = 0;
    for (uint32_t f = 0; f < m->face_count; f++) {
        double n[3], length;
        face_normal(m, f, n);
        length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        area += length / 2;
        for (int corner = 0; corner < 3; corner++) {
            const float *vn = &m->normals[3 * m->faces[3 * f + corner]];
            assert_true(fabs(n[0] * vn[0] + n[1] * vn[1] + n[2] * vn[2] - sign * length) < 1e-5 * length);
        }
    }
    return area;
}

static void rectangle_and_cube(void **state)
{
    scene_mesh m;
    (void)state;
    mesh_rectangle(&m);
    assert_true(check_winding(&m, 1) == 4);
    for (uint32_t v = 0; v < m.vertex_count; v++) {
        assert_true(m.normals[3 * v + 2] == 1);
        assert_true(m.uvs[2 * v] == (m.positions[3 * v] + 1) / 2 &&
                    m.uvs[2 * v + 1] == (m.positions[3 * v + 1] + 1) / 2);
    }
    mesh_free(&m);
    mesh_cube(&m);
    assert_int_equal(m.vertex_count, 24);
    assert_int_equal(m.face_count, 12);
    assert_true(fabs(check_winding(&m, 1) - 24) < 1e-12);
    for (uint32_t v = 0; v < 24; v++) { /* on its side, which is where the normal points */
        const float *p = &m.positions[3 * v], *n = &m.normals[3 * v];
        assert_true(p[0] * n[0] + p[1] * n[1] + p[2] * n[2] == 1);
        assert_true(fabsf(p[0]) == 1 && fabsf(p[1]) == 1 && fabsf(p[2]) == 1);
    }
    for (uint32_t f = 0; f < 12; f += 2) { /* two triangles cover the unit square of uv once */
        double area = 0;
        for (uint32_t t = f; t < f + 2; t++) {
            const float *a = &m.uvs[2 * m.faces[3 * t]], *b = &m.uvs[2 * m.faces[3 * t + 1]],
                        *c = &m.uvs[2 * m.faces[3 * t + 2]];
            area += fabs(((double)b[0] - a[0]) * (c[1] - a[1]) - ((double)b[1] - a[1]) * (c[0] - a[0])) / 2;
        }
        assert_true(area == 1);
    }
    /* Mitsuba's first corner and texture coordinate */
    assert_true(m.positions[0] == 1 && m.positions[1] == -1 && m.positions[2] == -1 && m.uvs[0] == 0 &&
                m.uvs[1] == 1);
    mesh_free(&m);
}

static void transforms(void **state)
{
    static const double stretch[16] = {2, 0, 0, 1, 0, 3, 0, 2, 0, 0, 4, 3, 0, 0, 0, 1};
    static const double shear[16] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1}; /* z += x */
    static const double general[16] = {1, 2, -.5, 3, .25, 1, .75, 0, -1, .5, 2, 1, 0, 0, 0, 1};
    static const double flat[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    static const double projective[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const double huge[16] = {1e30, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    scene_mesh m;
    bl_error err = {0};
    (void)state;
    mesh_cube(&m);
    assert_int_equal(mesh_transform(&m, stretch, false, &err), BL_OK);
    assert_true(m.positions[0] == 3 && m.positions[1] == -1 && m.positions[2] == -1);
    assert_true(fabs(check_winding(&m, 1) - 8 * (6 + 12 + 8)) < 1e-4);
    assert_int_equal(mesh_transform(&m, stretch, true, &err), BL_OK);
    check_winding(&m, 1); /* both were flipped */
    assert_true(m.normals[1] == 1);
    mesh_free(&m);
    mesh_cube(&m);
    assert_int_equal(mesh_transform(&m, general, false, &err),
                     BL_OK); /* its determinant is negative: the winding turns */
    check_winding(&m, -1);
    mesh_free(&m);
    mesh_rectangle(&m);
    assert_int_equal(mesh_transform(&m, shear, false, &err), BL_OK);
    check_winding(&m, 1); /* needs the inverse transpose */
    assert_true(fabs(m.normals[0] + sqrt(.5)) < 1e-6);
    assert_int_equal(mesh_transform(&m, flat, false, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "singular"));
    assert_int_equal(mesh_transform(&m, projective, false, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "affine"));
    assert_int_equal(mesh_transform(&m, huge, false, &err), BL_OK);
    assert_int_equal(mesh_transform(&m, huge, false, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "out of range"));
    mesh_free(&m);
}

static void generated_normals(void **state)
{
    /* a corner of a cube: three squares, one of them cut in two; by angles each counts the same */
    static const char corner[] =
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 1 0\nv 1 0 1\nv 0 1 1\nf 1 2 5 3\nf 1 3 7 4\nf 1 4 6 2\n";
    static const char degenerate[] = V3 "v 1 1 1\nv 1 1 1\nf 1 2 3\nf 4 5 4\n";
    scene_mesh m;
    (void)state;
    assert_int_equal(mesh_parse_obj(corner, sizeof corner - 1, false, &m, NULL), BL_OK);
    assert_null(m.normals);
    mesh_generate_normals(&m);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(m.normals[i] - sqrt(1 / 3.0)) < 1e-6);
    mesh_drop_normals(&m);
    assert_null(m.normals);
    mesh_free(&m);
    assert_int_equal(mesh_parse_obj(degenerate, sizeof degenerate - 1, false, &m, NULL), BL_OK);
    mesh_generate_normals(&m);
    assert_true(m.normals[2] == 1);
    assert_true(m.normals[9] == 1 && m.normals[10] == 0 &&
                m.normals[11] == 0); /* no direction: x, as Mitsuba */
    mesh_free(&m);
    mesh_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(obj_files_load_or_fail_as_said),
        cmocka_unit_test(obj_content_is_kept),
        cmocka_unit_test(corners_are_told_apart),
        cmocka_unit_test(missing_normals_are_generated),
        cmocka_unit_test(long_lines_and_binary_are_errors),
        cmocka_unit_test(rectangle_and_cube),
        cmocka_unit_test(transforms),
        cmocka_unit_test(generated_normals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
