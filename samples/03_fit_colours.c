/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Recovers two wall colours from a picture: sample_03_fit_colours [SCENE.xml [OUT.png]]
 *
 * The picture is rendered from the scene as it is; then the fit forgets the colours, starts from grey and
 * finds them again, and draws what it has found into OUT.png. Each step renders, compares, differentiates and
 * moves the parameters, all on the device. */
#include <backlight/backlight.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WALLS = 2, STEPS = 80 };
static const char *const walls[WALLS] = {"red.reflectance.value", "green.reflectance.value"};

static const char *default_scene(void)
{
    static char path[4096];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", source ? source : ".");
    return path;
}

static bl_result render_target(bl_device *device, bl_scene *scene, float *target)
{
    bl_job *job;
    bl_result result = bl_job_create(device, scene, NULL, &job);
    if (result != BL_OK)
        return result;
    result = bl_job_render(job, &(bl_render_desc){.spp = 256, .seed = 1000}, target, NULL);
    bl_job_destroy(job);
    return result;
}

static bl_result draw(bl_context *ctx, bl_fit *f, const bl_scene_info *info, const char *path)
{
    float *image = malloc((size_t)info->width * info->height * 3 * sizeof *image);
    if (!image)
        return BL_ERROR_MEMORY;
    bl_result result = bl_fit_render(f, 0, &(bl_render_desc){.spp = 256}, image);
    if (result == BL_OK)
        result = bl_image_write(ctx, path, info->width, info->height, 3, image);
    free(image);
    return result;
}

static bl_result fit(bl_device *device, bl_scene *scene, const float *target, float (*colours)[3], bl_fit **f)
{
    static const float grey[3] = {0.5f, 0.5f, 0.5f};
    bl_fit_parameter parameters[WALLS];
    for (int k = 0; k < WALLS; k++)
        parameters[k] = (bl_fit_parameter){.name = walls[k], .initial = grey};
    bl_fit_desc desc = {
        .parameters = parameters,
        .parameter_count = WALLS,
        .target = target,
        .rate = 0.02,
        .spp = 16,
        .spp_gradient = 8,
    };
    bl_result result = bl_fit_create(device, scene, &desc, f);
    if (result != BL_OK)
        return result;
    bl_fit_status status;
    for (int step = 0; step < STEPS && result == BL_OK; step++) {
        result = bl_fit_step(*f, &status);
        if (result == BL_OK && step % 10 == 0)
            printf("step %3d  loss %.5f\n", step, status.loss);
    }
    for (uint32_t k = 0; k < WALLS && result == BL_OK; k++)
        result = bl_fit_get(*f, k, colours[k]);
    return result;
}

/* The largest error of a channel, against the colours in the file. */
static bl_result compare(const bl_scene *scene, float (*colours)[3], double *worst)
{
    for (int k = 0; k < WALLS; k++) {
        uint32_t index;
        float truth[3];
        bl_result result = bl_scene_find_parameter(scene, walls[k], &index);
        if (result == BL_OK)
            result = bl_scene_get_parameter(scene, index, truth);
        if (result != BL_OK)
            return result;
        for (int c = 0; c < 3; c++) {
            printf("%s[%d]: found %.3f, was %.3f\n", walls[k], c, (double)colours[k][c], (double)truth[c]);
            *worst = fmax(*worst, fabs((double)colours[k][c] - (double)truth[c]));
        }
    }
    return BL_OK;
}

static bl_result find_colours(bl_context *ctx, bl_device *device, bl_scene *scene, const char *output,
                              double *worst)
{
    bl_fit *f = NULL;
    bl_scene_info info;
    float colours[WALLS][3];
    bl_result result = bl_scene_info_get(scene, &info);
    if (result != BL_OK)
        return result;
    float *target = calloc((size_t)info.width * info.height * 3, sizeof *target);
    if (!target)
        return BL_ERROR_MEMORY;
    result = render_target(device, scene, target);
    if (result == BL_OK)
        result = fit(device, scene, target, colours, &f);
    if (result == BL_OK)
        result = compare(scene, colours, worst);
    if (result == BL_OK && output)
        result = draw(ctx, f, &info, output);
    bl_fit_destroy(f);
    free(target);
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

    const bl_define defines[] = {{"resolution", argc > 2 ? "128" : "32"}, {"max_depth", "5"}};
    bl_scene_desc desc = {.defines = defines, .define_count = 2};
    double worst = 0;
    bl_result result = bl_scene_load(ctx, argc > 1 ? argv[1] : default_scene(), &desc, &scene);
    if (result == BL_OK)
        result = find_colours(ctx, device, scene, argc > 2 ? argv[2] : NULL, &worst);
    if (result == BL_OK)
        printf("largest error %.4f\n", worst);
    else
        fprintf(stderr, "%s\n", bl_context_error(ctx));

    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return result == BL_OK && worst < 0.03 ? 0 : 1;
}
