/* LABELS: swiftshader lavapipe sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that is exported as a file descriptor: another application, with an instance and a device of its
 * own, imports the gradient's, and reads there what Backlight leaves on the first one. Where a device exports
 * nothing, that is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <string.h>

enum { WIDTH = 12, HEIGHT = 8, VALUES = 3 * WIDTH * HEIGHT };

static scene_device device;
static vulkan_app app, other;
static bl_scene *scene;

static const char xml[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='2'/></integrator>"
    "<sensor type='perspective'><film type='hdrfilm'><integer name='width' value='12'/>"
    "<integer name='height' value='8'/><rfilter type='box'/></film><sampler type='independent'/></sensor>"
    "<shape type='sphere'><point name='center' value='0,0,4'/><bsdf type='diffuse' id='paint'/></shape>"
    "<emitter type='point'><point name='position' value='2,3,0'/></emitter></scene>";
static const char *const parameter = "paint.reflectance.value";

static bl_job *job_on(bl_device *d)
{
    bl_job *job;
    SCENE_MUST(&device,
               bl_job_create(d, scene, &(bl_job_desc){.parameters = &parameter, .parameter_count = 1}, &job));
    return job;
}

/* A buffer of the other application's on the exported memory; no message of the layers, no copy. */
static vulkan_app_buffer import(const bl_vulkan_export *e)
{
    vulkan_app_buffer b = {.size = e->buffer_size};
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = e->buffer_size,
                                     .usage = e->buffer_usage};
    assert_int_equal(other.CreateBuffer(other.device, &info, NULL, &b.handle), VK_SUCCESS);
    VkMemoryRequirements needs;
    other.GetBufferMemoryRequirements(other.device, b.handle, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = b.handle};
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .pNext = e->dedicated ? &dedicated : NULL,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkImportMemoryFdInfoKHR imported = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                              .pNext = &flags,
                                              .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                              .fd = e->fd};
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &imported,
                                         .allocationSize = e->allocation_size,
                                         .memoryTypeIndex = e->memory_type};
    assert_int_equal(other.AllocateMemory(other.device, &memory, NULL, &b.memory), VK_SUCCESS);
    assert_int_equal(other.BindBufferMemory(other.device, b.handle, b.memory, 0), VK_SUCCESS);
    return b;
}

static void read_there(const vulkan_app_buffer *b, const bl_vulkan_export *e, void *out)
{
    vulkan_app_buffer read = vulkan_app_buffer_create(&other, e->size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const VkBufferCopy copy = {.srcOffset = e->offset, .size = e->size};
    vulkan_app_begin(&other);
    vulkan_app_barrier(&other);
    other.CmdCopyBuffer(other.commands, b->handle, read.handle, 1, &copy);
    vulkan_app_run(&other);
    memcpy(out, read.mapped, e->size);
    vulkan_app_buffer_destroy(&other, &read);
}

static void another_device_reads_the_gradient(void **state)
{
    (void)state;
    static float ones[VALUES];
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    bl_vulkan_region region;
    bl_vulkan_export exported;
    bl_device *d;
    desc.export_memory = true;
    for (int i = 0; i < VALUES; i++)
        ones[i] = 1;
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &desc, &d));
    bl_job *job = job_on(d);
    SCENE_MUST(&device, bl_job_vulkan_gradient(job, 0, &region));
    SCENE_MUST(&device, bl_job_export(job, &region, &exported));
    assert_true(exported.fd >= 0 && exported.size == 12 && exported.buffer_size >= 12);
    vulkan_app_buffer b = import(&exported); /* before there is a gradient */
    for (uint32_t seed = 0; seed < 2; seed++) {
        float here[3], there[3];
        SCENE_MUST(&device,
                   bl_job_gradient(job, &(bl_gradient_desc){.spp = 4, .seed = seed, .adjoint = ones}, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, here));
        read_there(&b, &exported, there);
        assert_true(here[0] > 0);
        assert_memory_equal(there, here, sizeof here);
    }
    vulkan_app_buffer_destroy(&other, &b);
    region.size += 1 << 20;
    assert_int_equal(bl_job_export(job, &region, &exported), BL_ERROR_ARGUMENT);
    assert_true(exported.fd == -1);
    bl_job_destroy(job);
    bl_device_destroy(d);
}

static void what_is_not_exported_is_an_error(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    bl_vulkan_region region;
    bl_vulkan_export exported;
    bl_device *d;
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &desc, &d));
    bl_job *job = job_on(d);
    SCENE_MUST(&device, bl_job_vulkan_gradient(job, 0, &region));
    assert_int_equal(bl_job_export(job, &region, &exported), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "export_memory"));
    bl_job_destroy(job);
    bl_device_destroy(d);
    desc.export_memory = true, desc.extension_count--; /* the last one is that of file descriptors */
    assert_int_equal(bl_device_from_vulkan(device.context, &desc, &d), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "VK_KHR_external_memory_fd"));
}

int main(void)
{
    const char *extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    if (!scene_device_open(&device))
        return scene_device_missing();
    if (!vulkan_app_open_with(&app, device.context, extension) ||
        !vulkan_app_open_with(&other, device.context, extension)) {
        vulkan_app_close(&app);
        scene_device_close(&device);
        return scene_device_missing();
    }
    scene = scene_device_load(&device, xml, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_device_reads_the_gradient),
        cmocka_unit_test(what_is_not_exported_is_an_error),
    };
    int failed = cmocka_run_group_tests_name("vulkan_export", tests, NULL, NULL);
    if (failed) /* a test that fails leaves its objects behind */
        return failed;
    bl_scene_destroy(scene);
    vulkan_app_close(&other);
    vulkan_app_close(&app);
    scene_device_close(&device);
    return app.messages + other.messages != 0;
}
