/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the reader of measured materials, of colours and of spectra. What loads has angles and
 * wavelengths that ascend, and numbers that are finite and not negative, as many as it says. */
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

static void ascends(const float *places, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        BL_ASSERT(isfinite(places[k]) && (k == 0 || places[k] > places[k - 1]), "place %u", k);
}

/* spectra: reads the file's spectra, else its colours. */
static void try_kind(const uint8_t *data, size_t size, bool spectra)
{
    scene_measured m;
    bl_error err = {0};
    bl_result result = measured_parse(data, size, spectra, &m, &err);
    BL_ASSERT((result == BL_OK) == (m.phi != NULL) && result == err.code, "result %d", result);
    if (result != BL_OK)
        return;
    const uint32_t slices = m.phi_count * m.theta_count;
    BL_ASSERT(spectra ? m.nm_count >= 2 : m.nm_count == 0, "%u wavelengths", m.nm_count);
    ascends(m.phi, m.phi_count), ascends(m.theta, m.theta_count), ascends(m.nm, m.nm_count);
    check(&m.ndf, 1), check(&m.sigma, 1), check(&m.visible, slices), check(&m.luminance, slices);
    check(&m.light, (spectra ? m.nm_count : 3) * slices);
    measured_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_kind(data, size, false);
    try_kind(data, size, true);
    return 0;
}

FUZZ_MAIN("", ".bsdf")
