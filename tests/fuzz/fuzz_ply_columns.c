/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: columns of the vertices of a PLY file. What loads is complete and finite. */
#include "fuzz/fuzz_main.h"
#include "scene/scene.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x", "y", "z", "opacity", "f_dc_0"};
    ply_columns columns = {.names = names, .count = 5, .required = 3};
    bl_error err = {0};
    bl_result result = ply_parse_columns(data, size, &columns, &err);
    BL_ASSERT((result == BL_OK) == (columns.rows != NULL) && result == err.code, "result %d", result);
    for (size_t i = 0; columns.rows && i < columns.width * (size_t)columns.row_count; i++)
        BL_ASSERT(isfinite(columns.rows[i]), "number %zu", i);
    free(columns.rows);
    return 0;
}

FUZZ_MAIN("", ".ply")
