/* SPDX-License-Identifier: BSD-3-Clause
 * What it costs to be inside another Vulkan application: embed_cost SCENE.xml PARAMETER SPP STEPS
 *
 * On the device that BL_DEVICE names: the time from a device to the first image, on one of Backlight's own
 * and on an application's; then gradient passes by bl_job_gradient, and the same recorded in the
 * application's command buffers, one submission and one wait each. Wall time and CPU time of the process, in
 * seconds; each kind three times, in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static scene_device own;
static vulkan_app app;
static bl_scene *scene;
static bl_scene_info info;
static const char *parameter;
static uint32_t spp, steps;

typedef struct clocks {
    double wall, cpu;
} clocks;

static clocks now(void) { return (clocks){clock_seconds(), (double)clock() / CLOCKS_PER_SEC}; }

static void tell(const char *what, clocks since, double parts)
{
    clocks end = now();
    printf("%-32s wall %8.4f  cpu %8.4f\n", what, (end.wall - since.wall) / parts,
           (end.cpu - since.cpu) / parts);
}

static bl_job *job_on(bl_device *device)
{
    bl_job *job;
    SCENE_MUST(&own, bl_job_create(device, scene,
                                   &(bl_job_desc){.parameters = &parameter, .parameter_count = 1}, &job));
    return job;
}

static void first_image(bl_device *device, const char *what, clocks since, float *image)
{
    bl_job *job = job_on(device);
    SCENE_MUST(&own, bl_job_render(job, &(bl_render_desc){.spp = spp}, image, NULL));
    tell(what, since, 1);
    bl_job_destroy(job);
    bl_device_destroy(device);
}

static void own_steps(bl_job *job, const float *weights)
{
    clocks since = now();
    for (uint32_t i = 0; i < steps; i++)
        SCENE_MUST(
            &own, bl_job_gradient(job, &(bl_gradient_desc){.spp = spp, .seed = i, .adjoint = weights}, NULL));
    tell("a gradient, our loop", since, steps);
}

static void recorded_steps(bl_job *job, bl_recorder *recorder, const vulkan_app_buffer *weights)
{
    bl_vulkan_gradient_desc desc = {.pass = {.spp = spp},
                                    .adjoint = {.buffer = weights->handle,
                                                .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                .buffer_size = weights->size}};
    SCENE_MUST(&own, bl_job_prepare_gradient(job, &desc, NULL));
    clocks since = now();
    for (uint32_t i = 0; i < steps; i++) {
        desc.pass.seed = i;
        vulkan_app_begin(&app);
        SCENE_MUST(&own, bl_job_record_gradient(job, recorder, app.commands, &desc));
        vulkan_app_run(&app);
        SCENE_MUST(&own, bl_recorder_reset(recorder));
    }
    tell("a gradient, recorded", since, steps);
}

static void measure(bl_device *theirs)
{
    size_t values = 3ull * info.width * info.height;
    vulkan_app_buffer weights =
        vulkan_app_buffer_create(&app, values * sizeof(float), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    float *ones = weights.mapped;
    bl_recorder *recorder;
    bl_job *ours = job_on(own.device), *job = job_on(theirs);
    for (size_t i = 0; i < values; i++)
        ones[i] = 1;
    SCENE_MUST(&own, bl_recorder_create(theirs, &recorder));
    SCENE_MUST(&own,
               bl_job_gradient(ours, &(bl_gradient_desc){.spp = spp, .adjoint = ones}, NULL)); /* compiles */
    for (int k = 0; k < 3; k++) {
        own_steps(ours, ones);
        recorded_steps(job, recorder, &weights);
    }
    bl_recorder_destroy(recorder);
    bl_job_destroy(job);
    bl_job_destroy(ours);
    vulkan_app_buffer_destroy(&app, &weights);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: embed_cost SCENE.xml PARAMETER SPP STEPS\n"), 2;
    parameter = argv[2], spp = (uint32_t)atoi(argv[3]), steps = (uint32_t)atoi(argv[4]);
    setenv("VK_LAYER_PATH", "/nowhere", 1); /* without the validation layer */
    if (!scene_device_open(&own) || !vulkan_app_open(&app, own.context))
        return scene_device_missing();
    SCENE_MUST(&own, bl_scene_load(own.context, argv[1], NULL, &scene));
    SCENE_MUST(&own, bl_scene_info_get(scene, &info));
    float *image = malloc(12ull * info.width * info.height);
    const bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    bl_device *device;
    for (int k = 0; k < 3; k++) {
        clocks since = now();
        SCENE_MUST(&own, bl_device_create(own.context, getenv("BL_DEVICE"), &device));
        first_image(device, "first image, our device", since, image);
        since = now();
        SCENE_MUST(&own, bl_device_from_vulkan(own.context, &desc, &device));
        first_image(device, "first image, the application's", since, image);
    }
    SCENE_MUST(&own, bl_device_from_vulkan(own.context, &desc, &device));
    measure(device);
    bl_device_destroy(device);
    free(image);
    bl_scene_destroy(scene);
    vulkan_app_close(&app);
    scene_device_close(&own);
    return 0;
}
