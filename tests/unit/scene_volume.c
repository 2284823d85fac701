/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Grids from .vol files: order, box and channels of a known one, and what a hostile header is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

static void known(void **state)
{
    (void)state;
    char path[1200];
    scene_volume v;
    bl_error err = {0};
    snprintf(path, sizeof path, "%s/tests/data/grid.vol", getenv("BL_SOURCE_DIR"));
    assert_int_equal(volume_load_vol(path, &v, &err), BL_OK);
    assert_true(v.size[0] == 3 && v.size[1] == 2 && v.size[2] == 2 && v.channels == 3);
    for (int k = 0; k < 3; k++)
        assert_true(v.low[k] == -1.0f - (float)k && v.high[k] == 1.0f + (float)k);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
