/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: sampled spectra, as a file and as a list. Colours are finite and not negative, those of
 * reflectances at most 1. */
#include "fuzz/fuzz_main.h"
#include "scene/scene_internal.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int way = 0; way < 6; way++) {
        const spectrum_rule rules[] = {SPECTRUM_POWER, SPECTRUM_COLOUR, SPECTRUM_REFLECTANCE},
                            rule = rules[way >> 1];
        bl_error err = {0};
        double rgb[3];
        bl_result result = spectrum_decode((const char *)data, size, way & 1 ? ':' : 0, rule, rgb, &err);
        BL_ASSERT(result == BL_OK || (err.code == result && err.text[0]), "result %d without a message",
                  result);
        for (int c = 0; c < 3 && result == BL_OK; c++)
            BL_ASSERT(isfinite(rgb[c]) && rgb[c] >= 0 && (rule != SPECTRUM_REFLECTANCE || rgb[c] <= 1),
                      "channel %d is %g", c, rgb[c]);
    }
    return 0;
}

FUZZ_MAIN("", ".spd")
