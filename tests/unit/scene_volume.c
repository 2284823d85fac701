/* LABELS: nodevice daily */
/* SPDX-License-Identifier: BSD-3-Clause
 * Grids from .vol, .nvdb and .vdb files: order, box and channels of a known one, and what a hostile header is
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void known(void **state)
{
    (void)state;
    char path[1200];
    scene_volume v;
    bl_error err = {0};
    snprintf(path, sizeof path, "%s/tests/data/grid.vol", getenv("BL_SOURCE_DIR"));
    assert_int_equal(volume_load(path, &v, &err), BL_OK);
    assert_true(v.size[0] == 3 && v.size[1] == 2 && v.size[2] == 2 && v.channels == 3);
    for (int k = 0; k < 12; k++) {
        float side = k % 4 == k / 4 ? 2 + 2 * (float)(k / 4) : 0;
        assert_true(v.box[k] == (k % 4 == 3 ? -1 - (float)(k / 4) : side));
    }
    for (uint32_t i = 0; i < 36; i++)
        assert_true(v.values[i] == (float)i / 8);
    volume_free(&v);
}

static void put(uint8_t *at, uint32_t word)
{
    for (int k = 0; k < 4; k++)
        at[k] = (uint8_t)(word >> 8 * k);
}

/* The header with one word changed fails, and says what is wrong. */
static void refuse(uint32_t byte, uint32_t word, const char *says)
{
    uint8_t file[48 + 4] = "VOL\3";
    static const uint32_t header[11] = {1, 1, 1, 1, 1, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    for (uint32_t k = 0; k < 11; k++)
        put(file + 4 + 4 * k, header[k]);
    scene_volume v;
    bl_error err = {0};
    assert_int_equal(volume_parse_vol(file, sizeof file, &v, &err), BL_OK);
    volume_free(&v);
    put(file + byte, word);
    assert_int_not_equal(volume_parse_vol(file, sizeof file, &v, &err), BL_OK);
    assert_null(v.values);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void hostile(void **state)
{
    (void)state;
    refuse(0, 0x034C4F56 ^ 1, "not a volume");
    refuse(0, 0x024C4F56, "version 2");
    refuse(4, 2, "encoding 2");
    refuse(8, 0, "size 0");
    refuse(8, 0xFFFFFFFF, "size 4294967295");
    refuse(12, 1 << 14, "truncated");
    refuse(20, 2, "2 channels");
    refuse(24, 0x7FC00000, "box");
    refuse(24, 0x40000000, "box");
    refuse(48, 0x7F800000, "value 0");
}

/* ---- NanoVDB ---- */

static uint8_t *data_file(const char *name, size_t *size)
{
    char path[1200];
    void *data;
    bl_error err = {0};
    snprintf(path, sizeof path, "%s/tests/data/%s", getenv("BL_SOURCE_DIR"), name);
    assert_int_equal(file_read(path, 1 << 20, &data, size, &err), BL_OK);
    return data;
}

/* tests/data/README.md */
static void expect_known_sparse(const scene_volume *v)
{
    assert_true(v->size[0] == 8 && v->size[1] == 3 && v->size[2] == 4 && v->channels == 1);
    const float *value = v->values;
    for (int z = 6; z <= 9; z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -3; x <= 4; x++, value++)
                assert_true(*value == (x ? (float)(x + 10 * y + 100 * z) : 0.25f));
    static const float box[12] = {4, 0, 0, 1 - 1.75f, 0, 1.5f, 0, 2 - 0.75f, 0, 0, 2, 3 + 2.75f};
    for (int k = 0; k < 12; k++)
        assert_float_equal(v->box[k], box[k], 1e-6);
}

/* The file with its grid as it is instead of compressed. */
static uint8_t *plain_nvdb(size_t *size)
{
    size_t packed;
    uint8_t *file = data_file("grid.nvdb", &packed);
    size_t head = 16 + 176 + file[16 + 136],
           bytes = file[16] | (size_t)file[17] << 8 | (size_t)file[18] << 16;
    uint8_t *plain = malloc(head + bytes);
    memcpy(plain, file, head);
    plain[14] = 0;
    uLongf made = bytes;
    assert_int_equal(uncompress(plain + head, &made, file + head + 8, packed - head - 8), Z_OK);
    assert_int_equal(made, bytes);
    free(file);
    *size = head + bytes;
    return plain;
}

/* A build may lack what reads a format; its error then says what it was made without, and is all there is to
 * test. Builds of continuous integration lack nothing (CMake: BL_REQUIRE_ALL). */
static bool lacks(bl_result r, const bl_error *err, const char *what)
{
    return r == BL_ERROR_UNSUPPORTED && strstr(err->text, what);
}

static void known_nvdb(void **state)
{
    (void)state;
    size_t size;
    scene_volume v;
    bl_error err = {0};
    uint8_t *file = data_file("grid.nvdb", &size);
    if (lacks(volume_parse_nvdb(file, size, &v, &err), &err, "without PNanoVDB.h")) {
        free(file);
        return;
    }
    expect_known_sparse(&v);
    volume_free(&v);
    free(file);
    file = plain_nvdb(&size);
    assert_int_equal(volume_parse_nvdb(file, size, &v, &err), BL_OK);
    expect_known_sparse(&v);
    volume_free(&v);
    assert_int_equal(volume_parse_nvdb(file, size - 1, &v, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "truncated"));
    free(file);
}

/* Offsets, counts, masks and boxes of the tree, one word at a time: whatever they say, reads stay within the
 * grid. */
static void hostile_nvdb(void **state)
{
    (void)state;
    static const uint32_t words[] = {0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0, 1, 0x10000};
    size_t size, head = 16 + 176 + 8;
    scene_volume v;
    bl_error err = {0};
    uint8_t *file = plain_nvdb(&size);
    if (lacks(volume_parse_nvdb(file, size, &v, &err), &err, "without PNanoVDB.h")) {
        free(file);
        return;
    }
    volume_free(&v);
    for (size_t at = 0, k = 0; at + 4 <= size; at += at < head + 672 + 64 + 64 + 64 ? 4 : 5404, k++) {
        uint8_t kept[4];
        memcpy(kept, file + at, 4);
        put(file + at, words[k % 6]);
        bl_result r = volume_parse_nvdb(file, size, &v, &err);
        assert_true((r == BL_OK) == (v.values != NULL) && (r == BL_OK || err.text[0]));
        volume_free(&v);
        memcpy(file + at, kept, 4);
    }
    free(file);
    file = data_file("double.nvdb", &size);
    assert_int_equal(volume_parse_nvdb(file, size, &v, &err), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "32-bit floats"));
    free(file);
}

static void known_vdb(void **state)
{
    (void)state;
    size_t size;
    scene_volume v;
    bl_error err = {0};
    uint8_t *file = data_file("grid.vdb", &size);
    if (lacks(volume_parse_vdb(file, size, &v, &err), &err, "BL_OPENVDB")) {
        free(file);
        return;
    }
    expect_known_sparse(&v);
    volume_free(&v);
    free(file);
    file = data_file("double.vdb", &size);
    assert_int_equal(volume_parse_vdb(file, size, &v, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "32-bit floats"));
    assert_null(v.values);
    free(file);
}

/* What the OpenVDB library has made of a damaged file before its stream throws it does not free. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libopenvdb"; }

/* At every length near its ends, at every hundredth between, where one part after the other is cut. */
static void truncated_vdb(void **state)
{
    (void)state;
    size_t size;
    scene_volume v;
    bl_error err = {0};
    uint8_t *file = data_file("grid.vdb", &size);
    if (lacks(volume_parse_vdb(file, size, &v, &err), &err, "BL_OPENVDB")) {
        free(file);
        return;
    }
    volume_free(&v);
    for (size_t length = 0; length < size; length += length < 400 || size - length < 200 ? 1 : 101) {
        uint8_t *exact = malloc(length + 1);
        memcpy(exact, file, length);
        if (volume_parse_vdb(exact, length, &v, &err) != BL_ERROR_FORMAT || v.values || !err.text[0])
            fail_msg("%zu of %zu bytes: \"%s\"", length, size, err.text);
        free(exact);
    }
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known),      cmocka_unit_test(hostile),
                                       cmocka_unit_test(known_nvdb), cmocka_unit_test(hostile_nvdb),
                                       cmocka_unit_test(known_vdb),  cmocka_unit_test(truncated_vdb)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
