/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The least program: sample_01_first_picture [SCENE.xml [OUT.png]] renders a scene and writes the picture.
 * The README shows a shorter one still. */
#include <backlight/backlight.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char box[4096];
    const char *source = getenv("BL_SOURCE_DIR");
    bl_context *context;
    bl_device *device;
    bl_scene *scene;
    bl_job *job;
    bl_scene_info info;
    snprintf(box, sizeof box, "%s/assets/cornell/scene.xml", source ? source : ".");
    if (bl_context_create(NULL, &context) != BL_OK)
        return puts(bl_context_error(NULL)), 1;
    if (bl_device_create(context, getenv("BL_DEVICE"), &device) != BL_OK ||
        bl_scene_load(context, argc > 1 ? argv[1] : box, NULL, &scene) != BL_OK ||
        bl_scene_info_get(scene, &info) != BL_OK || bl_job_create(device, scene, NULL, &job) != BL_OK)
        return puts(bl_context_error(context)), 1;

    const size_t values = (size_t)info.width * info.height * info.channels;
    float *image = malloc(values * sizeof *image);
    if (!image)
        return puts("out of memory"), 1;
    bl_result result = bl_job_render(job, &(bl_render_desc){.spp = 4}, image, NULL);
    if (result == BL_OK && argc > 2)
        result = bl_image_write(context, argv[2], info.width, info.height, info.channels, image);

    double mean = 0;
    for (size_t i = 0; i < values; i++)
        mean += (double)image[i] / (double)values;
    printf(result == BL_OK ? "%u x %u pixels, mean %.3f\n" : "failed\n", info.width, info.height, mean);
    free(image);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(context);
    bool good = argc > 1 || (mean > 0.1 && mean < 1); /* the box is lit, and no lamp */
    return result == BL_OK && good ? 0 : 1;
}
