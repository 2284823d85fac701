/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * The two ways gradients are summed give the same gradient up to rounding, where the device has float
 * atomics; where it has none, asking for them is an error that says so. */
#include <backlight/backlight.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const bl_context *ctx, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, bl_context_error(ctx));
    return 1;
}

static bl_result gradient(bl_device *device, const bl_scene *scene, bl_accumulate how, const float *weights,
                          float out[3])
{
    static const char *const wanted[] = {"red.reflectance.value"};
    bl_job *job;
    bl_result r = bl_job_create(
        device, scene, &(bl_job_desc){.parameters = wanted, .parameter_count = 1, .accumulate = how}, &job);
    if (r != BL_OK)
        return r;
    r = bl_job_gradient(job, &(bl_gradient_desc){.spp = 8, .adjoint = weights, .seed = 3}, NULL);
    if (r == BL_OK)
        r = bl_job_read_gradient(job, 0, out);
    bl_job_destroy(job);
    return r;
}

static int compare(bl_context *ctx, bl_device *device, const bl_scene *scene, const float *weights)
{
    float fixed[3], floats[3];
    bl_device_info info;
    bl_device_info_get(device, &info);
    if (gradient(device, scene, BL_ACCUMULATE_FIXED, weights, fixed) != BL_OK)
        return fail(ctx, "fixed point");
    bl_result r = gradient(device, scene, BL_ACCUMULATE_FLOAT, weights, floats);
    if (!info.float_atomics)
        return r == BL_ERROR_UNSUPPORTED && strstr(bl_context_error(ctx), "float atomics")
                   ? 0
                   : fail(ctx, "expected a refusal");
    if (r != BL_OK)
        return fail(ctx, "float");
    for (int c = 0; c < 3;
         c++) { /* some 10^4 contributions of one sign, each rounded to 2^-24 of the sum: far below 1e-4 */
        printf("channel %d: fixed %.8g, float %.8g\n", c, (double)fixed[c], (double)floats[c]);
        if (!(fabs((double)(fixed[c] - floats[c])) <= 1e-4 * fabs((double)fixed[c])) || fixed[c] == 0)
            return fail(ctx, "the sums differ");
    }
    return 0;
}

int main(void)
{
    bl_context *ctx = NULL;
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    char path[4096];
    static float weights[32 * 32 * 3];
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        weights[i] = 1;
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", getenv("BL_SOURCE_DIR"));
    if (bl_context_create(NULL, &ctx) != BL_OK)
        return 77;
    if (bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK) {
        fail(ctx, "device");
        return 77;
    }
    const bl_define small = {"resolution", "32"};
    int status =
        bl_scene_load(ctx, path, &(bl_scene_desc){.defines = &small, .define_count = 1}, &scene) == BL_OK
            ? compare(ctx, device, scene, weights)
            : fail(ctx, "scene");
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return status;
}
