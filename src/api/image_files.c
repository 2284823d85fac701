/* SPDX-License-Identifier: BSD-3-Clause
 * Image files of the caller. */
#include "api/scene.h"

bl_result bl_image_write(bl_context *ctx, const char *path, uint32_t width, uint32_t height,
                         uint32_t channels, const float *pixels)
{
    bl_error err = {0};
    return image_save(path, width, height, channels, pixels, false, &err) == BL_OK ? BL_OK
                                                                                   : context_fail(ctx, &err);
}

bl_result bl_image_read(bl_context *ctx, const char *path, uint32_t *width, uint32_t *height,
                        uint32_t *channels, float **pixels)
{
    return bl_image_read_over(ctx, path, NULL, width, height, channels, pixels);
}

bl_result bl_image_read_over(bl_context *ctx, const char *path, const float *background, uint32_t *width,
                             uint32_t *height, uint32_t *channels, float **pixels)
{
    bl_error err = {0};
    scene_image image;
    call_budget b;
    image_budget_begin(&b, ctx);
    bl_result r =
        background ? image_load_over(path, background, &image, &err) : image_load(path, false, &image, &err);
    budget_end(&b);
    if (r != BL_OK)
        return context_fail(ctx, &err);
    *width = image.width, *height = image.height, *channels = image.channels, *pixels = image.pixels;
    return BL_OK;
}
