/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Renders a scene and looks at the result: sample_02_render [SCENE.xml [OUT.png]]
 *
 * Context, device, scene, job, image: the five things every program has. Run without arguments it renders the
 * Cornell box of this repository and checks that the picture is what it should be. */
#include <backlight/backlight.h>

#include <stdio.h>
#include <stdlib.h>

static const char *default_scene(void)
{
    static char path[4096];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", source ? source : ".");
    return path;
}

/* Mean of one channel over the columns [from, to) of the middle third of the rows. */
static double mean(const float *image, const bl_scene_info *info, uint32_t from, uint32_t to,
                   uint32_t channel)
{
    double sum = 0;
    uint32_t top = info->height / 3, bottom = 2 * info->height / 3;
    for (uint32_t y = top; y < bottom; y++)
        for (uint32_t x = from; x < to; x++)
            sum += (double)image[((size_t)y * info->width + x) * info->channels + channel];
    return sum / ((bottom - top) * (to - from));
}

/* The Cornell box has a red wall on the left and a green one on the right. */
static bool looks_right(const float *image, const bl_scene_info *info)
{
    uint32_t edge = info->width / 10;
    double left_red = mean(image, info, 0, edge, 0), left_green = mean(image, info, 0, edge, 1);
    double right_red = mean(image, info, info->width - edge, info->width, 0);
    double right_green = mean(image, info, info->width - edge, info->width, 1);
    printf("left wall: red %.3f green %.3f; right wall: red %.3f green %.3f\n", left_red, left_green,
           right_red, right_green);
    return left_red > 3 * left_green && right_green > 1.5 * right_red && left_red > 0.02 && left_red < 2;
}

static bl_result render(bl_device *device, bl_scene *scene, const char *output, bool *right)
{
    bl_scene_info info;
    bl_job *job = NULL;
    bl_stats stats;
    bl_result result = bl_scene_info_get(scene, &info);
    if (result != BL_OK)
        return result;
    float *image = calloc((size_t)info.width * info.height * info.channels, sizeof *image);
    if (!image)
        return BL_ERROR_MEMORY;
    result = bl_job_create(device, scene, NULL, &job); /* compiles the kernels on first use */
    if (result == BL_OK)
        result = bl_job_render(job, &(bl_render_desc){.seed = 1}, image, &stats); /* samples: the scene's */
    if (result == BL_OK) {
        printf("%u x %u in %.2f s, %llu paths\n", info.width, info.height, stats.seconds,
               (unsigned long long)stats.paths);
        *right = info.channels == 3 && looks_right(image, &info);
        if (output)
            result = bl_scene_write_image(scene, output, image, NULL);
    }
    free(image);
    bl_job_destroy(job);
    return result;
}

int main(int argc, char **argv)
{
    bl_context *ctx;
    if (bl_context_create(NULL, &ctx) != BL_OK) {
        fprintf(stderr, "%s\n", bl_context_error(NULL));
        return 77;
    }
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    if (bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK) {
        fprintf(stderr, "%s\n", bl_context_error(ctx));
        bl_context_destroy(ctx);
        return 77; /* no device: CTest reports the sample as skipped */
    }

    /* The scene's variables make it small; -D of the program does the same. */
    const bl_define defines[] = {{"resolution", "64"}, {"spp", "16"}};
    bl_scene_desc desc = {.defines = defines, .define_count = argc > 1 ? 0 : 2};
    bool right = false;
    bl_result result = bl_scene_load(ctx, argc > 1 ? argv[1] : default_scene(), &desc, &scene);
    if (result == BL_OK)
        result = render(device, scene, argc > 2 ? argv[2] : NULL, &right);
    if (result != BL_OK)
        fprintf(stderr, "%s\n", bl_context_error(ctx));

    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return result == BL_OK && (right || argc > 1) ? 0 : 1;
}
