/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the reader of curves. What loads is finite, with as many points a curve as were asked for. */
#include "fuzz/fuzz_main.h"
#include "scene/scene.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_curves c;
    bl_error err = {0};
    bl_result result = curves_parse((const char *)data, size, 2, &c, &err);
    BL_ASSERT((result == BL_OK) == (c.points != NULL) && result == err.code, "result %d", result);
    for (size_t i = 0; i < 4 * (size_t)c.point_count; i++)
        BL_ASSERT(isfinite(c.points[i]) && (i % 4 != 3 || c.points[i] >= 0), "number %zu", i);
    for (uint32_t k = 0; k < c.curve_count; k++)
        BL_ASSERT(c.firsts[k] + 2 <= c.firsts[k + 1] && c.firsts[k + 1] <= c.point_count, "curve %u", k);
    curves_free(&c);
    return 0;
}

FUZZ_MAIN("", ".curves")
