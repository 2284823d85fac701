/* SPDX-License-Identifier: BSD-3-Clause
 * A program that uses names which Backlight uses inside, and renders: consumer SCENE.xml IMAGE.pfm. */
#include <backlight/backlight.h>
#include <backlight/backlight_ir.h>
#include <backlight/backlight_plugin.h>

#include <stdio.h>
#include <stdlib.h>

int arena_alloc(int value);
int file_read(int value);
int error_set(int value);
extern const char *render_registry;

static int calls;
const char *render_registry = "ours";
int arena_alloc(int value) { return ++calls, value; }
int file_read(int value) { return ++calls, value; }
int error_set(int value) { return ++calls, value; }

static bl_result render(bl_context *ctx, const char *path, const char *output)
{
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    bl_job *job = NULL;
    bl_scene_info info = {0};
    float *image = NULL;
    bl_result r = bl_device_create(ctx, getenv("BL_DEVICE"), &device);
    if (r == BL_OK)
        r = bl_scene_load(ctx, path, NULL, &scene);
    if (r == BL_OK)
        r = bl_scene_info_get(scene, &info);
    if (r == BL_OK)
        r = bl_job_create(device, scene, NULL, &job);
    if (r == BL_OK && !(image = malloc((size_t)info.width * info.height * 3 * sizeof *image)))
        r = BL_ERROR_MEMORY;
    if (r == BL_OK)
        r = bl_job_render(job, &(bl_render_desc){.spp = 4, .seed = 7}, image, NULL);
    if (r == BL_OK)
        r = bl_image_write(ctx, output, info.width, info.height, 3, image);
    free(image);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    return r;
}

int main(int argc, char **argv)
{
    bl_context *ctx = NULL;
    if (argc != 3 || bl_context_create(NULL, &ctx) != BL_OK)
        return fprintf(stderr, "consumer SCENE.xml IMAGE.pfm\n"), 2;
    bl_result r = render(ctx, argv[1], argv[2]);
    if (r != BL_OK)
        fprintf(stderr, "%s\n", bl_context_error(ctx));
    bl_context_destroy(ctx);
    if (calls != 0 || arena_alloc(1) + file_read(2) + error_set(3) != 6 || render_registry[0] != 'o')
        return fprintf(stderr, "the library called this program's functions\n"), 1;
    printf("version %s %u\n", bl_version_text(), bl_version());
    return r != BL_OK || bl_version() != BL_VERSION_NUMBER;
}
