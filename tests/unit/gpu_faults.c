/* LABELS: swiftshader lavapipe sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * What src/gpu does when a driver fails: every fallible Vulkan call in turn is replaced in the device's table
 * by one that fails, on the device that BL_DEVICE names (default SwiftShader). The error must name the call,
 * nothing may leak or be destroyed twice (the validation layer watches where there is one), and the device
 * must work again afterwards. Also here: staged copies, which CPU devices would otherwise never take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/vulkan/vulkan.h"
#include "unit/gpu_add_kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    gpu *instance;
    gpu_device *device;
} fixture;

static vulkan_device *device_of(void **state) { return vulkan_device_of(((fixture *)*state)->device); }

static VkResult fault; /* what the failing calls return */

/* Stands in for functions of any signature: it ignores its arguments, which the calling conventions of C
 * allow. */
static VKAPI_ATTR VkResult VKAPI_CALL fail_call(void) { return fault; }

static bl_result run_on(gpu_device *d, gpu_buffer *in, gpu_buffer *out, bl_error *err)
{
    gpu_kernel *k = NULL;
    gpu_batch *b = NULL;
    gpu_kernel_desc desc = {
        .words = add_words,
        .word_count = sizeof add_words / sizeof *add_words,
        .buffer_count = 2,
        .push_words = 3,
        .local_size = 64,
    };
    bl_result result = gpu_kernel_create(d, &desc, &k, err);
    if (result == BL_OK)
        result = gpu_batch_create(d, &b, err);
    if (result == BL_OK)
        result = gpu_batch_begin(b, err);
    if (result == BL_OK) {
        gpu_batch_dispatch(b, k, (gpu_buffer *[]){in, out}, (const uint32_t[]){256, 0, 5}, 256);
        result = gpu_batch_submit(b, err);
    }
    double seconds;
    if (result == BL_OK)
        result = gpu_batch_wait(b, &seconds, err);
    gpu_batch_destroy(b);
    gpu_kernel_destroy(k);
    return result;
}

/* Both bottom levels and the top one. */
static bl_result build_accel(gpu_device *d, bl_error *err)
{
    static const float triangles[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1},
                       boxes[6] = {0, 0, 0, 1, 1, 1};
    gpu_accel *a = NULL;
    const gpu_accel_group group = {
        .triangles = triangles, .triangle_count = 2, .boxes = boxes, .box_count = 1};
    const gpu_accel_instance instance = {
        .to_world = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
        .triangle_index = 1,
    };
    bl_result result = gpu_accel_create(
        d, &(gpu_accel_desc){.groups = &group, .instances = &instance, .group_count = 1, .instance_count = 1},
        &a, err);
    if (result == BL_OK)
        assert_true(gpu_accel_address(a) != 0 && gpu_accel_size(a) > 0);
    gpu_accel_destroy(a);
    return result;
}

/* Takes every path once: mapped and staged memory, a kernel, a batch, an acceleration structure where the
 * device has them. */
static bl_result scenario(gpu_device *d, bl_error *err)
{
    gpu_buffer *in = NULL, *out = NULL;
    uint32_t words[1024] = {0};
    bl_result result = gpu_buffer_create(d, GPU_DEVICE, sizeof words, "in", &in, err);
    if (result == BL_OK)
        result = gpu_buffer_create(d, GPU_HOST, sizeof words, "out", &out, err);
    if (result == BL_OK) {
        in->mapped = NULL; /* from here on the library stages */
        result = gpu_buffer_write(in, 0, words, sizeof words, err);
    }
    if (result == BL_OK)
        result = run_on(d, in, out, err);
    if (result == BL_OK)
        result = gpu_buffer_read(out, 0, words, sizeof words, err);
    if (result == BL_OK)
        assert_true(words[0] == 5 && words[255] == 5 && words[256] == 0);
    gpu_buffer_destroy(in);
    gpu_buffer_destroy(out);
    if (result == BL_OK && gpu_device_info(d)->ray_query)
        result = build_accel(d, err);
    return result;
}

/* The device's own staging objects are made once; a fresh start makes their creation fail in turn as well. */
static void drop_staging(vulkan_device *d)
{
    gpu_batch_destroy(d->transfers);
    gpu_buffer_destroy(d->staging);
    d->transfers = NULL;
    d->staging = NULL;
}

static void fail_one(vulkan_device *d, const char *call, VkResult with, bl_result expected)
{
    bl_error err = {0};
    fault = with;
    bl_result result = scenario(&d->head, &err);
    drop_staging(d);
    if (result == BL_ERROR_COMPILE && expected == BL_ERROR_DEVICE)
        expected = BL_ERROR_COMPILE; /* a pipeline that fails for no better known reason */
    if (result != expected || !strstr(err.text, call) || !strstr(err.text, gpu_vk_result_name(with)))
        fail_msg("%s returning %s: %s, '%s'", call, gpu_vk_result_name(with), result_text(result), err.text);
    assert_int_equal(d->head.stats.bytes_allocated, 0);
}

#define FALLIBLE(X)                                                                                          \
    X(AllocateMemory)                                                                                        \
    X(MapMemory)                                                                                             \
    X(CreateBuffer)                                                                                          \
    X(BindBufferMemory)                                                                                      \
    X(CreateShaderModule)                                                                                    \
    X(CreateDescriptorSetLayout)                                                                             \
    X(CreatePipelineLayout)                                                                                  \
    X(CreateComputePipelines)                                                                                \
    X(CreateDescriptorPool)                                                                                  \
    X(AllocateDescriptorSets)                                                                                \
    X(CreateCommandPool)                                                                                     \
    X(ResetCommandPool)                                                                                      \
    X(AllocateCommandBuffers)                                                                                \
    X(BeginCommandBuffer)                                                                                    \
    X(EndCommandBuffer)                                                                                      \
    X(CreateFence)                                                                                           \
    X(ResetFences)                                                                                           \
    X(QueueSubmit)                                                                                           \
    X(WaitForFences)

/* Called only where gpu_info.ray_query is. */
#define FALLIBLE_RAYS(X) X(CreateAccelerationStructureKHR)

static void every_failing_call_is_reported(void **state)
{
    vulkan_device *d = device_of(state);
    bl_error err = {0};
    const gpu_device_table real = d->vk;
    static const struct {
        VkResult fault;
        bl_result expected;
    } faults[] = {
        {VK_ERROR_OUT_OF_DEVICE_MEMORY, BL_ERROR_DEVICE_MEMORY},
        {VK_ERROR_OUT_OF_HOST_MEMORY, BL_ERROR_MEMORY},
        {VK_ERROR_DEVICE_LOST, BL_ERROR_DEVICE_LOST},
        {VK_ERROR_UNKNOWN, BL_ERROR_DEVICE},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
#define FAIL_CALL(name)                                                                                      \
    d->vk.vk##name = (PFN_vk##name)(PFN_vkVoidFunction)fail_call;                                            \
    fail_one(d, "vk" #name, faults[i].fault, faults[i].expected);                                            \
    d->vk = real;
        FALLIBLE(FAIL_CALL)
        if (gpu_device_info(&d->head)->ray_query) {
            FALLIBLE_RAYS(FAIL_CALL)
        }
#undef FAIL_CALL
    }
    if (scenario(&d->head, &err) != BL_OK) /* none of it left a mark */
        fail_msg("%s", err.text);
}

/* What the driver could keep is no reason to fail. */
static void kernels_do_without_a_pipeline_cache(void **state)
{
    vulkan_device *d = device_of(state);
    const gpu_device_table real = d->vk;
    gpu_kernel_desc desc = {
        .words = add_words,
        .word_count = sizeof add_words / sizeof *add_words,
        .buffer_count = 2,
        .push_words = 3,
        .local_size = 64,
        .keep_driver_data = true,
    };
    for (int failing = 0; failing < 3; failing++) {
        gpu_kernel *k;
        bl_error err = {0};
        size_t size = 1;
        fault = VK_ERROR_OUT_OF_HOST_MEMORY;
        if (failing == 1)
            d->vk.vkCreatePipelineCache = (PFN_vkCreatePipelineCache)(PFN_vkVoidFunction)fail_call;
        if (failing == 2)
            d->vk.vkGetPipelineCacheData = (PFN_vkGetPipelineCacheData)(PFN_vkVoidFunction)fail_call;
        if (gpu_kernel_create(&d->head, &desc, &k, &err) != BL_OK)
            fail_msg("%s", err.text);
        const void *data = gpu_kernel_driver_data(k, &size);
        assert_true(data ? size > 0 && failing == 0 : size == 0);
        gpu_kernel_destroy(k);
        d->vk = real;
    }
}

/* The failing calls above fail at their first use. Each allocation in turn fails here, so that a build ends
 * at every step. */
static PFN_vkAllocateMemory real_allocate;
static uint32_t allocations_left;

static VKAPI_ATTR VkResult VKAPI_CALL allocate_some(VkDevice device, const VkMemoryAllocateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkDeviceMemory *memory)
{
    return allocations_left-- ? real_allocate(device, info, callbacks, memory)
                              : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

static void builds_fail_at_every_allocation(void **state)
{
    vulkan_device *d = device_of(state);
    bl_error err = {0};
    if (!gpu_device_info(&d->head)->ray_query) {
        assert_int_equal(build_accel(&d->head, &err), BL_ERROR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "no ray queries"));
        return;
    }
    const gpu_device_table real = d->vk;
    real_allocate = real.vkAllocateMemory;
    d->vk.vkAllocateMemory = allocate_some;
    uint32_t steps = 0;
    for (allocations_left = 0; build_accel(&d->head, &err) != BL_OK; allocations_left = ++steps) {
        assert_int_equal(err.code, BL_ERROR_DEVICE_MEMORY);
        drop_staging(d);
        assert_int_equal(d->head.stats.bytes_allocated, 0);
        err = (bl_error){0};
    }
    assert_true(steps >= 9); /* input, level, scratch, three times */
    d->vk = real;
}

static void accel_limits_are_checked(void **state)
{
    vulkan_device *d = device_of(state);
    gpu_accel *a;
    bl_error err = {0};
    if (!gpu_device_info(&d->head)->ray_query)
        return;
    assert_int_equal(
        gpu_accel_create(&d->head,
                         &(gpu_accel_desc){.instances = &(gpu_accel_instance){.triangle_index = 1 << 24},
                                           .instance_count = 1},
                         &a, &err),
        BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "24 bits"));
    assert_null(a);
    assert_int_equal(gpu_accel_create(&d->head, &(gpu_accel_desc){0}, &a, &err), BL_OK); /* nothing to hit */
    gpu_accel_destroy(a);
    gpu_accel_destroy(NULL);
}

static void staged_copies_carry_bytes(void **state)
{
    vulkan_device *d = device_of(state);
    enum { SIZE = 20000000 }; /* three pieces */
    gpu_buffer *b;
    bl_error err = {0};
    assert_int_equal(gpu_buffer_create(&d->head, GPU_DEVICE, SIZE, "staged", &b, &err), BL_OK);
    b->mapped = NULL;
    unsigned char *sent = malloc(SIZE), *received = calloc(1, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        sent[i] = (unsigned char)((i * 2654435761u) >> 13);
    assert_int_equal(gpu_buffer_write(b, 3, sent + 3, SIZE - 3, &err), BL_OK);
    assert_int_equal(gpu_buffer_write(b, 0, sent, 3, &err), BL_OK);
    assert_int_equal(gpu_buffer_read(b, 0, received, SIZE, &err), BL_OK);
    assert_memory_equal(sent, received, SIZE);
    free(sent);
    free(received);
    gpu_buffer_destroy(b);
}

int main(void)
{
    const char *named = getenv("BL_DEVICE"), *all = getenv("BL_REQUIRE_ALL");
    const char *selector = named && *named ? named : "swiftshader";
    fixture f = {0};
    bl_error err = {0};
    bl_result opened = gpu_open(&(gpu_options){.validation = true}, &f.instance, &err);
    if (opened == BL_ERROR_UNSUPPORTED) /* no layer: the test is still worth its time */
        opened = gpu_open(NULL, &f.instance, &err);
    if (opened == BL_OK)
        opened = gpu_device_create(f.instance, selector, &f.device, &err);
    if (opened != BL_OK) {
        print_message("skipped: %s\n", err.text);
        gpu_close(f.instance);
        return all && strcmp(all, "1") == 0 ? 1 : 77;
    }
    print_message("%s, %s\n", gpu_device_info(f.device)->name,
                  gpu_device_info(f.device)->validated ? "validated" : "not validated");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(every_failing_call_is_reported, NULL, NULL, &f),
        cmocka_unit_test_prestate_setup_teardown(builds_fail_at_every_allocation, NULL, NULL, &f),
        cmocka_unit_test_prestate_setup_teardown(accel_limits_are_checked, NULL, NULL, &f),
        cmocka_unit_test_prestate_setup_teardown(kernels_do_without_a_pipeline_cache, NULL, NULL, &f),
        cmocka_unit_test_prestate_setup_teardown(staged_copies_carry_bytes, NULL, NULL, &f),
    };
    int failed = cmocka_run_group_tests_name("faults", tests, NULL, NULL);
    gpu_device_destroy(f.device);
    failed += gpu_validation_messages(f.instance) != 0;
    gpu_close(f.instance);
    return failed ? 1 : 0;
}
