/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every call on the caller's device that can fail is made to fail, one by one, in all that Backlight does
 * there: adopting it, an image and a gradient of its own, preparing, recording and submitting. It must end in
 * an error, leave nothing behind, and leave the caller's objects as they are. Then the device is lost at each
 * of these calls.
 *
 * A run with a fault costs as much as one without, so SwiftShader, which compiles slowly, takes every seventh
 * call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 4, HEIGHT = 4, VALUES = 3 * WIDTH * HEIGHT };

static scene_device device; /* Backlight's own: its context */
static vulkan_app app;
static bl_scene *scene;
static vulkan_app_buffer weights;

static const char xml[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='2'/></integrator>"
    "<sensor type='perspective'><film type='hdrfilm'><integer name='width' value='4'/>"
    "<integer name='height' value='4'/><rfilter type='box'/></film><sampler type='independent'/></sensor>"
    "<shape type='sphere'><point name='center' value='0,0,4'/><bsdf type='diffuse' id='paint'/></shape>"
    "<emitter type='point'><point name='position' value='2,3,0'/></emitter></scene>";
static const char *const parameter = "paint.reflectance.value";
static uint32_t paint; /* its number */

/* Everything that is done with a job; the caller's commands are recorded, and not run where that fails. */
static bl_result use(bl_job *job, bl_recorder *recorder)
{
    static const float ones[VALUES] = {1, 1, 1, 1, 1, 1};
    float image[VALUES];
    const bl_vulkan_gradient_desc desc = {.pass = {.spp = 1},
                                          .adjoint = {.buffer = weights.handle,
                                                      .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                      .buffer_size = weights.size}};
    const bl_vulkan_image_desc picture = {.pass = {.spp = 1}, .image = desc.adjoint};
    bl_result r = bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL);
    if (r == BL_OK)
        r = bl_job_gradient(job, &(bl_gradient_desc){.spp = 1, .adjoint = ones}, NULL);
    if (r == BL_OK)
        r = bl_job_prepare_image(job, &picture, NULL);
    if (r == BL_OK)
        r = bl_job_prepare_gradient(job, &desc, NULL);
    if (r == BL_OK)
        r = bl_job_prepare_values(job, paint, &desc.adjoint);
    if (r != BL_OK)
        return r;
    vulkan_app_begin(&app);
    r = bl_job_record_values(job, recorder, app.commands, paint, &desc.adjoint);
    if (r == BL_OK)
        r = bl_job_record_image(job, recorder, app.commands, &picture);
    if (r == BL_OK)
        r = bl_job_record_gradient(job, recorder, app.commands, &desc);
    if (r == BL_OK)
        vulkan_app_run(&app);
    else
        app.EndCommandBuffer(app.commands);
    if (r == BL_OK)
        r = bl_recorder_reset(recorder);
    VkCommandBuffer commands;
    if (r == BL_OK)
        r = bl_recorder_begin(recorder, &commands);
    if (r == BL_OK)
        r = bl_job_record_image(job, recorder, commands, &picture);
    if (r == BL_OK)
        r = bl_submit(recorder, NULL);
    return r == BL_OK ? bl_recorder_reset(recorder) : r;
}

/* A step of a fit, and a target for it. */
static bl_result use_fit(bl_device *d, bl_recorder *recorder)
{
    static const float target[VALUES] = {1, 0.5f};
    const bl_fit_parameter fitted = {.name = parameter};
    const bl_vulkan_pixels other = {.buffer = weights.handle,
                                    .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                    .buffer_size = weights.size};
    VkCommandBuffer commands;
    bl_fit *fit = NULL;
    bl_result r = bl_fit_create(
        d, scene,
        &(bl_fit_desc){
            .parameters = &fitted, .parameter_count = 1, .target = target, .form = BL_FORM_FUSED, .spp = 1},
        &fit);
    if (r == BL_OK)
        r = bl_fit_prepare_step(fit, NULL);
    if (r == BL_OK)
        r = bl_fit_prepare_target(fit, 0, &other);
    if (r == BL_OK)
        r = bl_recorder_begin(recorder, &commands);
    if (r == BL_OK)
        r = bl_fit_record_target(fit, recorder, commands, 0, &other);
    if (r == BL_OK)
        r = bl_fit_record_step(fit, recorder, commands, 0, 1);
    if (r == BL_OK)
        r = bl_submit(recorder, NULL);
    bl_result reset = bl_recorder_reset(recorder);
    bl_fit_destroy(fit);
    return r == BL_OK ? reset : r;
}

static bl_result scenario(void)
{
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    bl_device *d = NULL;
    bl_recorder *recorder = NULL;
    bl_job *job = NULL;
    bl_result r = bl_device_from_vulkan(device.context, &desc, &d);
    if (r == BL_OK)
        r = bl_recorder_create(d, &recorder);
    if (r == BL_OK)
        r = bl_job_create(d, scene, &(bl_job_desc){.parameters = &parameter, .parameter_count = 1}, &job);
    if (r == BL_OK)
        r = use(job, recorder);
    if (r == BL_OK && getenv("BL_LONG")) /* twice as many calls, and kernels of its own */
        r = use_fit(d, recorder);
    bl_job_destroy(job);
    bl_recorder_destroy(recorder);
    bl_device_destroy(d); /* asserts that no memory is left */
    return r;
}

static uint32_t step(void) { return strcmp(device.info.kind, "swiftshader") == 0 ? 7 : 1; }

/* Calls of descriptor pools may fail without an error: a pool that is full makes room for the next. */
static bool may_go_on(const char *call, VkResult with)
{
    return strcmp(call, "vkAllocateDescriptorSets") == 0 && with == VK_ERROR_OUT_OF_POOL_MEMORY;
}

static void fail_each(VkResult with, bl_result expected)
{
    uint32_t faults = 0;
    for (uint32_t at = 0;; at += step(), faults++) {
        vulkan_app_faults = (vulkan_app_fault){.at = at, .result = with};
        bl_result r = scenario();
        const char *hit = vulkan_app_faults.hit;
        vulkan_app_faults = (vulkan_app_fault){.at = VULKAN_APP_NO_FAULT};
        if (!hit && r == BL_OK)
            break; /* there is no such call any more */
        if (!hit || (r == BL_OK && !may_go_on(hit, with)))
            fail_msg("call %u, %s: %d, %s", at, hit ? hit : "none", (int)r, bl_context_error(device.context));
        if (r != expected && !(r == BL_ERROR_COMPILE && expected == BL_ERROR_DEVICE))
            fail_msg("call %u, %s: %s", at, hit, bl_context_error(device.context));
        if (with != VK_ERROR_DEVICE_LOST && !strstr(bl_context_error(device.context), hit))
            fail_msg("call %u, %s is not named: %s", at, hit, bl_context_error(device.context));
    }
    print_message("%u calls failed\n", faults);
    assert_true(faults > 100 / step());
}

/* The caller's objects still work. */
static void caller_goes_on(void)
{
    vulkan_app_buffer b = vulkan_app_buffer_create(&app, 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    app.CmdFillBuffer(vulkan_app_begin(&app), b.handle, 0, 64, 0x12345678);
    vulkan_app_run(&app);
    assert_int_equal(((uint32_t *)b.mapped)[15], 0x12345678);
    vulkan_app_buffer_destroy(&app, &b);
    assert_int_equal(vulkan_app_count.destroyed_devices, 0);
}

static void every_failing_call_is_an_error(void **state)
{
    (void)state;
    fail_each(VK_ERROR_OUT_OF_DEVICE_MEMORY, BL_ERROR_DEVICE_MEMORY);
    caller_goes_on();
}

static void a_lost_device_is_one_error(void **state)
{
    (void)state;
    fail_each(VK_ERROR_DEVICE_LOST, BL_ERROR_DEVICE_LOST);
    caller_goes_on();
}

static int setup(void **state)
{
    (void)state;
    scene = scene_device_load(&device, xml, NULL);
    paint = scene_device_find(&device, scene, parameter);
    weights = vulkan_app_buffer_create(&app, VALUES * sizeof(float), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    return 0;
}

static void teardown(void)
{
    vulkan_app_buffer_destroy(&app, &weights);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_call_is_an_error),
        cmocka_unit_test(a_lost_device_is_one_error),
    };
    return VULKAN_APP_TEST(&app, &device, "vulkan_faults", tests, setup, teardown);
}
