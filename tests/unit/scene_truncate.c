/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every truncation of every input of tests/data, and its bytes changed, must load or fail with a message;
 * under the sanitizers. What is cut lies in memory of exactly its size, so that a read behind the end is
 * seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"
#include "support/test_registry.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 400 };

typedef bl_result (*try_input)(const uint8_t *data, size_t size, bl_error *err);

static bl_result try_image(const uint8_t *data, size_t size, bl_error *err)
{
    scene_image image;
    bl_result result = image_decode(data, size, false, &image, err);
    assert_true((result == BL_OK) == (image.pixels != NULL));
    image_free(&image);
    return result;
}

static bl_result try_obj(const uint8_t *data, size_t size, bl_error *err)
{
    scene_mesh mesh;
    bl_result result = mesh_parse_obj((const char *)data, size, true, &mesh, err);
    mesh_free(&mesh);
    return result;
}

static bl_result try_ply(const uint8_t *data, size_t size, bl_error *err)
{
    scene_mesh mesh;
    bl_result result = mesh_parse_ply(data, size, true, &mesh, err);
    assert_true((result == BL_OK) == (mesh.positions != NULL));
    mesh_free(&mesh);
    return result;
}

static bl_result try_serialized(const uint8_t *data, size_t size, bl_error *err)
{
    bl_result worst = BL_OK;
    for (uint32_t index = 0; index < 2; index++) {
        scene_mesh mesh;
        bl_error reason = {0};
        bl_result result = mesh_parse_serialized(data, size, index, &mesh, &reason);
        assert_true((result == BL_OK) == (mesh.positions != NULL));
        mesh_free(&mesh);
        if (result != BL_OK)
            worst = error_set(err, result, "%s", reason.text);
    }
    return worst;
}

static bl_result try_volume(const uint8_t *data, size_t size, bl_error *err)
{
    scene_volume volume;
    bl_result result = volume_parse_vol(data, size, &volume, err);
    assert_true((result == BL_OK) == (volume.values != NULL));
    volume_free(&volume);
    return result;
}

static bl_result try_nvdb(const uint8_t *data, size_t size, bl_error *err)
{
    scene_volume volume;
    bl_result result = volume_parse_nvdb(data, size, &volume, err);
    assert_true((result == BL_OK) == (volume.values != NULL));
    volume_free(&volume);
    return result;
}

static bl_result try_columns(const uint8_t *data, size_t size, bl_error *err)
{
    static const char *const names[] = {"x", "rot_3", "scale_1"};
    ply_columns columns = {.names = names, .count = 3, .required = 3};
    bl_result result = ply_parse_columns(data, size, &columns, err);
    assert_true((result == BL_OK) == (columns.rows != NULL));
    free(columns.rows);
    return result;
}

static bl_result try_curves(const uint8_t *data, size_t size, bl_error *err)
{
    scene_curves curves;
    bl_result result = curves_parse((const char *)data, size, 4, &curves, err);
    assert_true((result == BL_OK) == (curves.points != NULL));
    curves_free(&curves);
    return result;
}

static bl_result try_measured(const uint8_t *data, size_t size, bl_error *err)
{
    scene_measured measured;
    bl_result result = measured_parse(data, size, false, &measured, err);
    assert_true((result == BL_OK) == (measured.phi != NULL));
    measured_free(&measured);
    return result;
}

static bl_result try_spectrum(const uint8_t *data, size_t size, bl_error *err)
{
    double rgb[3];
    return spectrum_decode((const char *)data, size, 0, SPECTRUM_REFLECTANCE, rgb, err);
}

static const char *data_folder(void)
{
    static char path[1000];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data", source ? source : ".");
    return path;
}

static bl_result try_xml(const uint8_t *data, size_t size, bl_error *err)
{
    scene_load_options options = {.registry = &test_registry, .untrusted = true};
    scene_description *scene = NULL;
    char *xml = malloc(size + 1);
    memcpy(xml, data, size);
    xml[size] = 0;
    bl_result result = scene_load_string(xml, data_folder(), &options, &scene, err);
    scene_free(scene);
    free(xml);
    return result;
}

/* A file with a defect. */
typedef struct mutation {
    const char *file, *what; /* was done to it */
    size_t at;               /* byte */
    bool must_fail;
} mutation;

static void try_one(mutation m, try_input load, const uint8_t *data, size_t size)
{
    bl_error err = {0};
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    bl_result result = load(exact, size, &err);
    free(exact);
    if (result != BL_OK && (err.code != result || !err.text[0]))
        fail_msg("%s, %s %zu: result %d without a message", m.file, m.what, m.at, result);
    if (result == BL_OK && m.must_fail)
        fail_msg("%s, %s %zu: loads", m.file, m.what, m.at);
}

/* `tail`: how many bytes at the end can be missing without a loss (a newline, trailing blanks). */
static void try_all(const char *name, try_input load, size_t tail)
{
    char path[1300];
    void *loaded = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", data_folder(), name);
    assert_int_equal(file_read(path, 1 << 20, &loaded, &size, NULL), BL_OK);
    uint8_t *data = loaded;
    for (size_t cut = 0; cut < size; cut++)
        try_one((mutation){name, "cut at byte", cut, cut + tail < size}, load, data, cut);
    for (size_t i = 0; i < size; i += i < HEADER ? 1 : 5) { /* pixels: a sample */
        uint8_t kept = data[i];
        data[i] ^= (uint8_t)(i % 2 ? 0xFF : 1 << i / 2 % 8);
        try_one((mutation){name, "changed byte", i, false}, load, data, size);
        data[i] = kept;
    }
    free(loaded);
}

static void images(void **state)
{
    (void)state;
    char path[1300], name[300];
    int count = 0;
    snprintf(path, sizeof path, "%s/images", data_folder());
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "images/%s", entry->d_name);
        try_all(name, try_image, 0);
        count++;
    }
    closedir(folder);
    assert_true(count >= 37);
}

static void pfm(void **state)
{
    uint8_t file[12 + 24] = "PF\n2 1\n-1.0\n";
    (void)state;
    for (size_t cut = 0; cut < sizeof file; cut++)
        try_one((mutation){"pfm", "cut at byte", cut, true}, try_image, file, cut);
    for (size_t i = 0; i < sizeof file; i++)
        for (int change = 1; change < 256; change++) {
            file[i] ^= (uint8_t)change;
            try_one((mutation){"pfm", "changed byte", i, false}, try_image, file, sizeof file);
            file[i] ^= (uint8_t)change;
        }
}

static void meshes(void **state)
{
    (void)state;
    try_all("tri.obj", try_obj, SIZE_MAX / 2); /* lines may be missing */
    try_all("square_ascii.ply", try_ply, 1);
    try_all("square_little.ply", try_ply, 0);
    try_all("square_big.ply", try_ply, 0);
    try_all("colours_ascii.ply", try_ply, 1);
    try_all("colours_big.ply", try_ply, 0);
    try_all("two_v3.serialized", try_serialized, 0);
    try_all("two_v4.serialized", try_serialized, 0);
}

static void spectra(void **state)
{
    (void)state;
    try_all("steps.spd", try_spectrum, SIZE_MAX / 2);
}

static void volumes(void **state)
{
    (void)state;
    try_all("grid.vol", try_volume, 0);
    try_all("grid.nvdb", try_nvdb, 0);
    try_all("double.nvdb", try_nvdb, SIZE_MAX / 2); /* never loads */
}

static void curves(void **state)
{
    (void)state;
    try_all("three_gaussians.ply", try_columns, 3);  /* decimals of the last number */
    try_all("two.curves", try_curves, SIZE_MAX / 2); /* points may be missing */
}

static void measured(void **state)
{
    (void)state;
    try_all("tiny.bsdf", try_measured, 0);
}

static void scenes(void **state)
{
    (void)state;
    try_all("small.xml", try_xml, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(images),   cmocka_unit_test(pfm),
                                       cmocka_unit_test(meshes),   cmocka_unit_test(spectra),
                                       cmocka_unit_test(volumes),  cmocka_unit_test(curves),
                                       cmocka_unit_test(measured), cmocka_unit_test(scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
