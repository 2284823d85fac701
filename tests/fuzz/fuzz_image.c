/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: image_decode, all formats. What loads must be complete and finite. */
#include "fuzz/fuzz_main.h"
#include "scene/scene_internal.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_image image;
    bl_error err = {0};
    bl_result result = image_decode(data, size, false, &image, &err);
    BL_ASSERT((result == BL_OK) == (image.pixels != NULL) && result == err.code, "result %d", result);
    for (size_t i = 0; result == BL_OK && i < (size_t)image.width * image.height * image.channels; i++)
        BL_ASSERT(isfinite(image.pixels[i]), "value %zu", i);
    image_free(&image);
    return 0;
}

FUZZ_MAIN("images", ".exr .png .pfm .jpg .hdr .bmp")
