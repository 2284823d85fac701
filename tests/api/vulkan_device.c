/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Backlight on a device of the caller's: what it asks for beforehand, the same bytes as on a device of its
 * own, nothing of the caller's touched, and descriptors that cannot be. The validation layer, which checks
 * synchronisation, must stay silent where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 16, VALUES = 3 * WIDTH * HEIGHT };

static scene_device device; /* Backlight's own */
static vulkan_app app;

static const char xml[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='4'/></integrator>"
    "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'>"
    "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='20'/><integer name='height' value='16'/>"
    "<rfilter type='box'/></film><sampler type='independent'/></sensor>"
    "<shape type='sphere'><bsdf type='diffuse' id='paint'><rgb name='reflectance' value='.7,.4,.2'/></bsdf>"
    "</shape><shape type='rectangle'><transform name='to_world'><scale value='3'/><translate z='-1.2'/>"
    "</transform></shape><emitter type='point'><point name='position' value='2,3,5'/>"
    "<rgb name='intensity' value='40,38,36'/></emitter></scene>";
static const char *const parameters[] = {"paint.reflectance.value"};

static bl_device *adopt(const bl_vulkan_device_desc *desc)
{
    bl_device *d = NULL;
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, desc, &d));
    return d;
}

typedef struct outcome {
    float image[VALUES], gradient[3];
} outcome;

static outcome run(bl_device *on)
{
    static float ones[VALUES];
    outcome o;
    bl_job *job;
    bl_scene *scene = scene_device_load(&device, xml, NULL);
    for (int i = 0; i < VALUES; i++)
        ones[i] = (float)(i % 7) * 0.25f;
    SCENE_MUST(&device, bl_job_create(on, scene,
                                      &(bl_job_desc){.parameters = parameters, .parameter_count = 1}, &job));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 8, .seed = 3}, o.image, NULL));
    SCENE_MUST(&device,
               bl_job_gradient(job, &(bl_gradient_desc){.spp = 8, .seed = 5, .adjoint = ones}, NULL));
    SCENE_MUST(&device, bl_job_read_gradient(job, 0, o.gradient));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    return o;
}

/* The caller's objects still work: a fill of its own is seen. */
static void caller_goes_on(void)
{
    vulkan_app_buffer b = vulkan_app_buffer_create(
        &app, 64, VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    app.CmdFillBuffer(vulkan_app_begin(&app), b.handle, 0, 64, 0x12345678);
    vulkan_app_run(&app);
    assert_int_equal(((uint32_t *)b.mapped)[15], 0x12345678);
    vulkan_app_buffer_destroy(&app, &b);
}

static void leaves_the_bytes_of_an_own_device(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    vulkan_app_count = (vulkan_app_counts){0};
    bl_device *d = adopt(&desc);
    outcome ours = run(device.device), theirs = run(d);
    bl_device_info info;
    SCENE_MUST(&device, bl_device_info_get(d, &info));
    print_message("%s, %s, %s\n", info.name, info.found, app.validated ? "validated" : "not validated");
    assert_memory_equal(ours.image, theirs.image, sizeof ours.image);
    assert_memory_equal(ours.gradient, theirs.gradient, sizeof ours.gradient);
    assert_true(theirs.image[VALUES / 2] > 0 && theirs.gradient[0] != 0);
    uint64_t staging = scene_device_on_processor(&device) ? 0 : 8 << 20; /* it lives as long as the device */
    assert_int_equal(bl_device_stats_get(d).bytes_allocated, staging);
    bl_device_destroy(d);
    assert_true(vulkan_app_count.submits > 0); /* the counters do count */
    assert_int_equal(vulkan_app_count.locks, vulkan_app_count.submits);
    assert_int_equal(vulkan_app_count.destroyed_devices, 0);
    caller_goes_on();
}

/* ---- what the caller hands over besides ---- */

static int64_t host_allocations; /* that are alive */
static int64_t host_allocations_made;

static VKAPI_ATTR void *VKAPI_CALL allocate(void *user, size_t size, size_t alignment,
                                            VkSystemAllocationScope scope)
{
    (void)user, (void)scope;
    void *p = NULL;
    if (posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size + 16) != 0)
        return NULL;
    __atomic_add_fetch(&host_allocations, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&host_allocations_made, 1, __ATOMIC_RELAXED);
    return p;
}

static VKAPI_ATTR void VKAPI_CALL release(void *user, void *p)
{
    (void)user;
    if (p)
        __atomic_sub_fetch(&host_allocations, 1, __ATOMIC_RELAXED);
    free(p);
}

/* No driver at hand reallocates; one that does gets an error of its own. */
static VKAPI_ATTR void *VKAPI_CALL reallocate(void *user, void *p, size_t size, size_t alignment,
                                              VkSystemAllocationScope scope)
{
    (void)p;
    return p ? NULL : allocate(user, size, alignment, scope);
}

static void uses_allocator_and_pipeline_cache(void **state)
{
    (void)state;
    const VkAllocationCallbacks callbacks = {
        .pfnAllocation = allocate, .pfnReallocation = reallocate, .pfnFree = release};
    const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    desc.allocator = &callbacks;
    assert_int_equal(app.CreatePipelineCache(app.device, &info, NULL, &desc.pipeline_cache), VK_SUCCESS);
    bl_device *d = adopt(&desc);
    host_allocations = 0;
    outcome ours = run(device.device), theirs = run(d);
    assert_memory_equal(&ours, &theirs, sizeof ours);
    bl_device_destroy(d);
    assert_true(host_allocations_made > 0);
    assert_int_equal(host_allocations, 0); /* and what a driver took from it has come back */
    app.DestroyPipelineCache(app.device, desc.pipeline_cache, NULL);
}

static void keeps_the_memory_budget(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    desc.memory_budget = 1 << 16;
    bl_device *d = adopt(&desc);
    bl_scene *scene = scene_device_load(&device, xml, NULL);
    bl_job *job;
    static float image[VALUES];
    bl_result r = bl_job_create(d, scene, NULL, &job);
    if (r == BL_OK)
        r = bl_job_render(job, &(bl_render_desc){.spp = 4096}, image, NULL); /* a film of many strips */
    assert_int_equal(r, BL_ERROR_DEVICE_MEMORY);
    assert_non_null(strstr(bl_context_error(device.context), "budget of 65536"));
    assert_true(bl_device_stats_get(d).bytes_peak <= 1 << 16);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(d);
}

/* An allocator of the caller's: one piece after another of a few large allocations, one a memory type. */
typedef struct lender {
    VkDeviceMemory blocks[VK_MAX_MEMORY_TYPES];
    char *mapped[VK_MAX_MEMORY_TYPES];
    VkDeviceSize used[VK_MAX_MEMORY_TYPES];
    uint32_t lent, labelled, refuses;
    bool unmapped, crooked;
} lender;
enum { BLOCK = 64 << 20 };

static VkResult lend(void *user, const bl_vulkan_memory_needs *needs, bl_vulkan_memory *out)
{
    lender *l = user;
    uint32_t type = needs->memory_type;
    if (l->refuses && l->lent == l->refuses)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    assert_true(needs->requirements.memoryTypeBits >> type & 1);
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = needs->flags};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &flags,
                                       .allocationSize = BLOCK,
                                       .memoryTypeIndex = type};
    if (!l->blocks[type]) {
        assert_int_equal(app.AllocateMemory(app.device, &info, NULL, &l->blocks[type]), VK_SUCCESS);
        assert_int_equal(
            app.MapMemory(app.device, l->blocks[type], 0, VK_WHOLE_SIZE, 0, (void **)&l->mapped[type]),
            VK_SUCCESS);
    }
    VkDeviceSize alignment = needs->requirements.alignment,
                 at = (l->used[type] + alignment - 1) / alignment * alignment;
    l->used[type] = at + needs->requirements.size;
    assert_true(l->used[type] <= BLOCK);
    *out = (bl_vulkan_memory){.memory = l->blocks[type],
                              .offset = at + l->crooked,
                              .mapped = l->unmapped ? NULL : l->mapped[type] + at,
                              .handle = l};
    l->labelled += needs->label && needs->label[0];
    l->lent++;
    return VK_SUCCESS;
}

static void take_back(void *user, const bl_vulkan_memory *memory)
{
    lender *l = user;
    assert_ptr_equal(memory->handle, l);
    assert_non_null(memory->memory);
    l->lent--;
}

static void free_blocks(lender *l)
{
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        if (l->blocks[i])
            app.FreeMemory(app.device, l->blocks[i], NULL);
    *l = (lender){0};
}

static void memory_comes_from_the_callers_allocator(void **state)
{
    (void)state;
    lender l = {0};
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    desc.lock_queue = desc.unlock_queue = NULL;
    desc.allocate_memory = lend, desc.free_memory = take_back, desc.user = &l;
    bl_device *d = adopt(&desc), *failing = NULL;
    outcome own = run(device.device);
    vulkan_app_count = (vulkan_app_counts){0};
    outcome here = run(d);
    assert_memory_equal(&here, &own, sizeof own);
    assert_int_equal(vulkan_app_count.allocations, 0);
    assert_true(l.labelled > 10);
    bl_device_destroy(d);
    assert_int_equal(l.lent, 0);
    free_blocks(&l);
    static const char *const words[] = {"failed: VK_ERROR_OUT_OF_DEVICE_MEMORY", "without mapping",
                                        "is aligned to"};
    for (int k = 0; k < 3; k++) {
        bl_scene *scene = scene_device_load(&device, xml, NULL);
        bl_job *job = NULL;
        l.refuses = k == 0 ? 3 : 0, l.unmapped = k == 1, l.crooked = k == 2;
        bl_result r = bl_device_from_vulkan(device.context, &desc, &failing);
        if (r == BL_OK)
            r = bl_job_create(failing, scene, NULL, &job);
        assert_int_equal(r, k == 0 ? BL_ERROR_DEVICE_MEMORY : BL_ERROR_ARGUMENT);
        assert_non_null(strstr(bl_context_error(device.context), words[k]));
        bl_device_destroy(failing);
        bl_scene_destroy(scene);
        assert_int_equal(l.lent, 0);
        free_blocks(&l);
    }
}

static void two_drivers_in_one_process(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    bl_device *theirs = adopt(&desc), *other = NULL;
    const char *named = getenv("BL_DEVICE");
    if (bl_device_create(device.context, named && strcmp(named, "lavapipe") == 0 ? "swiftshader" : "lavapipe",
                         &other) != BL_OK) {
        bl_device_destroy(theirs);
        skip();
    }
    outcome first = run(theirs), second = run(other), again = run(theirs);
    assert_memory_equal(&first, &again, sizeof first);
    for (int i = 0; i < VALUES; i++) /* other drivers round differently */
        assert_true(second.image[i] >= 0);
    bl_device_destroy(theirs);
    bl_device_destroy(other);
}

/* ---- before a device exists ---- */

static void requirements_say_what_to_enable(void **state)
{
    (void)state;
    assert_int_equal(app.needs.api_version, VK_API_VERSION_1_2);
    uint32_t available = 0;
    for (int i = 0; i < BL_VULKAN_USES; i++) {
        assert_true(app.needs.uses[i].feature[0] && app.needs.uses[i].buys[0]);
        available += app.needs.uses[i].available;
    }
    assert_true(app.needs.uses[0].available); /* both CPU drivers have buffer addresses */
    assert_int_equal(device.info.ray_query, app.needs.uses[2].available);
    assert_int_equal(app.needs.extension_count,
                     (app.needs.uses[1].available ? 1 : 0) + (app.needs.uses[2].available ? 3 : 0));
    uint32_t links = 0;
    for (const VkBaseInStructure *s = (const void *)&app.needs.features; s; s = s->pNext)
        links++;
    assert_int_equal(links, 2 + app.needs.uses[1].available + 2 * app.needs.uses[2].available);

    bl_vulkan_needs needs;
    bl_vulkan_instance old = app.instance;
    old.api_version = VK_API_VERSION_1_1;
    assert_int_equal(bl_vulkan_requirements(device.context, &old, app.physical, &needs),
                     BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "Vulkan 1.1"));
}

/* Nothing that is not said to be enabled is used. */
static void features_that_are_off_stay_off(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    bl_device_info info;
    desc.features = NULL, desc.extension_count = 0;
    bl_device *d = adopt(&desc);
    SCENE_MUST(&device, bl_device_info_get(d, &info));
    assert_false(info.float_atomics || info.ray_query || info.int64 || info.float64);
    bl_scene *scene = scene_device_load(&device, xml, NULL);
    bl_job *job;
    assert_int_equal(bl_job_create(d, scene, &(bl_job_desc){.rays = BL_RAYS_QUERY}, &job),
                     BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "ray queries"));
    outcome ours = run(device.device), theirs = run(d);
    assert_memory_equal(&ours, &theirs, sizeof ours);
    bl_scene_destroy(scene);
    bl_device_destroy(d);
}

static void refuse(const bl_vulkan_device_desc *desc, bl_result expected, const char *word)
{
    bl_device *d = (bl_device *)1;
    assert_int_equal(bl_device_from_vulkan(device.context, desc, &d), expected);
    assert_null(d);
    if (!strstr(bl_context_error(device.context), word))
        fail_msg("no '%s' in '%s'", word, bl_context_error(device.context));
}

static void descriptors_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const bl_vulkan_device_desc good = vulkan_app_desc(&app);
#define REFUSE(expected, word, ...)                                                                          \
    do {                                                                                                     \
        bl_vulkan_device_desc desc = good;                                                                   \
        __VA_ARGS__;                                                                                         \
        refuse(&desc, expected, word);                                                                       \
    } while (0)
    REFUSE(BL_ERROR_ARGUMENT, "device and queue", desc.device = NULL);
    REFUSE(BL_ERROR_ARGUMENT, "device and queue", desc.queue = NULL);
    REFUSE(BL_ERROR_ARGUMENT, "instance", desc.instance.instance = NULL);
    REFUSE(BL_ERROR_ARGUMENT, "get_instance_proc_addr", desc.instance.get_instance_proc_addr = NULL);
    REFUSE(BL_ERROR_UNSUPPORTED, "needs 1.2", desc.instance.api_version = 0);
    REFUSE(BL_ERROR_ARGUMENT, "physical device", desc.physical_device = NULL);
    REFUSE(BL_ERROR_ARGUMENT, "queue family 99", desc.queue_family = 99);
    REFUSE(BL_ERROR_ARGUMENT, "unlock_queue", desc.unlock_queue = NULL);
    REFUSE(BL_ERROR_ARGUMENT, "free_memory", desc.allocate_memory = lend);
    REFUSE(BL_ERROR_ARGUMENT, "give no allocate_memory", desc.allocate_memory = lend;
           desc.free_memory = take_back; desc.export_memory = true);
    static const char *const windows[] = {"VK_KHR_external_memory_win32"};
    REFUSE(BL_ERROR_UNSUPPORTED, "handles of Windows", desc.extensions = windows; desc.extension_count = 1;
           desc.features = NULL; desc.export_memory = true);
    REFUSE(BL_ERROR_ARGUMENT, "from nowhere", desc.extensions = NULL; desc.extension_count = 1);
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
        .shaderBufferFloat32AtomicAdd = VK_TRUE};
    /* lavapipe has them and was told of no extension; SwiftShader does not have them */
    REFUSE(BL_ERROR_ARGUMENT, "shaderBufferFloat32AtomicAdd", desc.features = &atomics;
           desc.extension_count = 0);
#undef REFUSE
    bl_context *none;
    bl_device *d;
    assert_int_equal(bl_context_create(&(bl_context_desc){.no_devices = true}, &none), BL_OK);
    assert_int_equal(bl_device_from_vulkan(none, &good, &d), BL_ERROR_NO_DEVICE);
    bl_context_destroy(none);
}

static void the_layer_is_silent(void **state)
{
    (void)state;
    assert_int_equal(app.messages, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requirements_say_what_to_enable),
        cmocka_unit_test(leaves_the_bytes_of_an_own_device),
        cmocka_unit_test(uses_allocator_and_pipeline_cache),
        cmocka_unit_test(keeps_the_memory_budget),
        cmocka_unit_test(memory_comes_from_the_callers_allocator),
        cmocka_unit_test(two_drivers_in_one_process),
        cmocka_unit_test(features_that_are_off_stay_off),
        cmocka_unit_test(descriptors_that_cannot_be_are_refused),
        cmocka_unit_test(the_layer_is_silent),
    };
    return VULKAN_APP_TEST(&app, &device, "vulkan_device", tests, NULL, NULL);
}
