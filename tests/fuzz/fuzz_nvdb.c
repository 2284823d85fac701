/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the reader of NanoVDB grids. What loads must be complete and finite. */
#include "fuzz/fuzz_main.h"
#include "scene/scene.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_volume v;
    bl_error err = {0};
    bl_result result = volume_parse_nvdb(data, size, &v, &err);
    BL_ASSERT((result == BL_OK) == (v.values != NULL) && result == err.code, "result %d", result);
    size_t count = result == BL_OK ? (size_t)v.size[0] * v.size[1] * v.size[2] * v.channels : 0;
    for (size_t i = 0; i < count; i++)
        BL_ASSERT(isfinite(v.values[i]), "value %zu", i);
    volume_free(&v);
    return 0;
}

FUZZ_MAIN("", ".nvdb")
