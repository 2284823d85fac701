/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The meshes and textures of Mitsuba's data set, where BL_REFERENCE names the folder of the references: a
 * rectangle in three formats, a PLY with attributes, a serialized file of several meshes, photographs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *reference_path(const char *name)
{
    static char path[2000];
    snprintf(path, sizeof path, "%s/images/%s", getenv("BL_REFERENCE"), name);
    return path;
}

static void must(bl_result r, const bl_error *err)
{
    if (r != BL_OK)
        fail_msg("%s", err->text);
}

/* Corner by corner, since readers may number vertices differently. */
static void compare_corners(const scene_mesh *a, const scene_mesh *b)
{
    assert_int_equal(a->face_count, b->face_count);
    assert_true(a->normals && b->normals && a->uvs && b->uvs);
    for (uint32_t i = 0; i < 3 * a->face_count; i++) {
        uint32_t v = a->faces[i], w = b->faces[i];
        for (uint32_t k = 0; k < 3; k++) {
            assert_true(fabsf(a->positions[3 * v + k] - b->positions[3 * w + k]) < 1e-6f);
            assert_true(fabsf(a->normals[3 * v + k] - b->normals[3 * w + k]) < 1e-6f);
        }
        for (uint32_t k = 0; k < 2; k++)
            assert_true(fabsf(a->uvs[2 * v + k] - b->uvs[2 * w + k]) < 1e-6f);
    }
}

static void one_rectangle_in_three_formats(void **state)
{
    (void)state;
    bl_error err = {0};
    scene_mesh obj, ply, serialized;
    /* OBJ counts v from the bottom; serialized files hold what Mitsuba made of that, PLY files are taken as
     * they are */
    must(mesh_load_obj(reference_path("tests/obj/rectangle_normals_uv.obj"), true, &obj, &err), &err);
    must(mesh_load_ply(reference_path("tests/ply/rectangle_normals_uv.ply"), false, &ply, &err), &err);
    must(mesh_load_serialized(reference_path("tests/serialized/rectangle_normals_uv.serialized"), 0,
                              &serialized, &err),
         &err);
    assert_int_equal(ply.face_count, 2);
    compare_corners(&obj, &serialized);
    mesh_free(&obj);
    must(mesh_load_obj(reference_path("tests/obj/rectangle_normals_uv.obj"), false, &obj, &err), &err);
    compare_corners(&obj, &ply);
    mesh_free(&obj), mesh_free(&ply), mesh_free(&serialized);
}

static void check_mesh(scene_mesh *m, uint32_t least_faces)
{
    assert_true(m->face_count >= least_faces);
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < 3 * m->vertex_count; i++) {
        low[i % 3] = fminf(low[i % 3], m->positions[i]);
        high[i % 3] = fmaxf(high[i % 3], m->positions[i]);
    }
    for (int k = 0; k < 3; k++)
        assert_true(high[k] - low[k] < 1e4f);
    for (uint32_t i = 0; m->normals && i < m->vertex_count; i++) {
        double x = m->normals[3 * i], y = m->normals[3 * i + 1], z = m->normals[3 * i + 2];
        assert_true(fabs(sqrt(x * x + y * y + z * z) - 1) < 1e-3);
    }
    mesh_free(m);
}

static void meshes(void **state)
{
    (void)state;
    bl_error err = {0};
    scene_mesh m;
    must(mesh_load_ply(reference_path("tests/scenes/mesh_attributes/meshes/sphere_attribute.ply"), false, &m,
                       &err),
         &err);
    check_mesh(&m, 500);
    uint32_t count = 0;
    for (bl_result r = BL_OK; r == BL_OK; count += r == BL_OK) {
        r = mesh_load_serialized(reference_path("scenes/matpreview/matpreview.serialized"), count, &m, &err);
        if (r == BL_OK)
            check_mesh(&m, 1);
    }
    assert_non_null(strstr(err.text, "there is no mesh"));
    assert_true(count >= 2);
}

static void photographs(void **state)
{
    static const char *const names[] = {
        "common/textures/wood.jpg", "common/textures/floor_tiles_normalmap.jpg",
        "common/textures/floor_tiles_bumpmap.png", "common/textures/leaf_mask.png",
        "tests/scenes/spot_light/textures/de_bruijn_pattern.png"};
    (void)state;
    for (int i = 0; i < 5; i++) {
        bl_error err = {0};
        scene_image image;
        must(image_load(reference_path(names[i]), true, &image, &err), &err);
        assert_true(image.eight_bit && image.width >= 64 && image.height >= 64);
        double sum = 0;
        size_t count = (size_t)image.width * image.height * image.channels;
        for (size_t k = 0; k < count; k++) {
            assert_true(image.pixels[k] >= 0 && image.pixels[k] <= 1);
            sum += (double)image.pixels[k];
        }
        assert_true(sum > 0.01 * (double)count && sum < 0.99 * (double)count);
        if (i == 1) /* normals around +z: the third channel is the brightest */
            assert_true(image.channels == 3 && image.pixels[2] > image.pixels[0] && image.pixels[2] > 0.5f);
        image_free(&image);
    }
}

int main(void)
{
    const char *reference = getenv("BL_REFERENCE");
    if (!reference || !file_exists(reference_path("manifest.json"))) {
        printf("BL_REFERENCE does not name the folder of the references\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_rectangle_in_three_formats),
                                       cmocka_unit_test(meshes), cmocka_unit_test(photographs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
