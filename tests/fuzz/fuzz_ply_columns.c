/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: columns of the vertices of a PLY file. What loads is complete and finite. */
#include "fuzz/fuzz_main.h"
#include "scene/scene.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x", "y", "z"};
    float *rows;
    uint32_t count;
    bl_error err = {0};
    bl_result result = ply_parse_columns(data, size, names, 3, &rows, &count, &err);
    BL_ASSERT((result == BL_OK) == (rows != NULL) && result == err.code, "result %d", result);
    for (size_t i = 0; i < 3 * (size_t)count; i++)
        BL_ASSERT(isfinite(rows[i]), "number %zu", i);
    free(rows);
    return 0;
}

FUZZ_MAIN("", ".ply")
