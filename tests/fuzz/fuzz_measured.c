/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the reader of measured materials. What loads has angles that ascend, and numbers that are
 * finite and not negative, as many as it says. */
#include "fuzz/fuzz_main.h"
#include "scene/scene.h"

#include <math.h>

static void check(const measured_grid *g, uint32_t slices)
{
    BL_ASSERT(g->slices == slices && g->width >= 2 && g->height >= 2, "%u slices of %u x %u", g->slices,
              g->width, g->height);
    for (size_t i = 0; i < (size_t)g->slices * g->width * g->height; i++)
        BL_ASSERT(g->values[i] >= 0 && isfinite(g->values[i]), "number %zu", i);
}

static void ascends(const float *angles, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        BL_ASSERT(isfinite(angles[k]) && (k == 0 || angles[k] > angles[k - 1]), "angle %u", k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_measured m;
    bl_error err = {0};
    bl_result result = measured_parse(data, size, &m, &err);
    BL_ASSERT((result == BL_OK) == (m.phi != NULL) && result == err.code, "result %d", result);
    if (result != BL_OK)
        return 0;
    const uint32_t slices = m.phi_count * m.theta_count;
    ascends(m.phi, m.phi_count), ascends(m.theta, m.theta_count);
    check(&m.ndf, 1), check(&m.sigma, 1), check(&m.visible, slices), check(&m.luminance, slices);
    check(&m.rgb, 3 * slices);
    measured_free(&m);
    return 0;
}

FUZZ_MAIN("", ".bsdf")
