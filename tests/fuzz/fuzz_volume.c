/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the reader of .vol grids. */
#include "fuzz/fuzz_volume.h"
#include "fuzz/fuzz_main.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_volume v;
    bl_error err = {0};
    bl_result result = volume_parse_vol(data, size, &v, &err);
    fuzz_check_volume(&v, result, &err);
    return 0;
}

FUZZ_MAIN("", ".vol")
