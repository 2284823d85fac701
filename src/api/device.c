/* SPDX-License-Identifier: BSD-3-Clause
 * Devices: which there are, one that is opened with its fixed kernels, and what it has done. */
#include "api/device.h"
#include "api/self_test.h"

#include <stdlib.h>

static void describe(const gpu_info *g, bl_device_info *out)
{
    static const char *const kinds[] = {"discrete", "integrated", "other",
                                        "native",   "lavapipe",   "swiftshader"};
    *out = (bl_device_info){.name = g->name,
                            .driver = g->driver,
                            .found = g->found,
                            .uuid = *g->uuid ? g->uuid : NULL,
                            .kind = kinds[g->kind],
                            .api_major = g->api_version >> 22 & 0x7F,
                            .api_minor = g->api_version >> 12 & 0x3FF,
                            .api_patch = g->api_version & 0xFFF,
                            .subgroup_size = g->subgroup_size,
                            .max_buffer_range = g->max_buffer_range,
                            .max_allocation = g->max_allocation,
                            .float_atomics = g->float_atomics,
                            .ray_query = g->ray_query,
                            .int64 = g->int64,
                            .float64 = g->float64};
}

uint32_t bl_device_count(const bl_context *ctx) { return ctx->gpu ? gpu_count(ctx->gpu) : 0; }

bl_result bl_device_info_at(const bl_context *ctx, uint32_t index, bl_device_info *out)
{
    if (index >= bl_device_count(ctx))
        return context_fail_range(ctx, "device", index, bl_device_count(ctx));
    describe(gpu_info_at(ctx->gpu, index), out);
    return BL_OK;
}

bl_result device_wrap(bl_context *ctx, gpu_device *opened, bl_device **out)
{
    bl_error err = {0};
    bl_device *d = memory_zeroed(1, sizeof *d);
    *out = NULL;
    if (!d) {
        gpu_device_destroy(opened);
        error_set(&err, BL_ERROR_MEMORY, "out of memory");
        return context_fail(ctx, &err);
    }
    d->context = ctx, d->gpu = opened;
    if (self_test_choose_rounding(d->gpu, &err) != BL_OK ||
        fit_kernels_create(d->gpu, ctx->checked, &d->fixed, &err) != BL_OK) {
        bl_device_destroy(d);
        return context_fail(ctx, &err);
    }
    if (ctx->cache)
        d->identity = kernel_key_device(gpu_device_info(d->gpu));
    *out = d;
    return BL_OK;
}

static bl_result create(bl_context *ctx, const char *selector, bool runs, bl_device **out)
{
    *out = NULL;
    bl_error err = {0};
    if (!ctx->gpu) {
        error_set(&err, BL_ERROR_NO_DEVICE, "the context was created with no_devices");
        return context_fail(ctx, &err);
    }
    gpu_device *opened;
    bl_result (*open)(gpu *, const char *, gpu_device **, bl_error *) =
        runs ? gpu_device_create : gpu_compiler_create;
    if (open(ctx->gpu, selector, &opened, &err) != BL_OK)
        return context_fail(ctx, &err);
    return device_wrap(ctx, opened, out);
}

bl_result bl_device_create(bl_context *ctx, const char *selector, bl_device **out)
{
    return create(ctx, selector, true, out);
}

bl_result bl_device_create_compiler(bl_context *ctx, const char *selector, bl_device **out)
{
    return create(ctx, selector, false, out);
}

void bl_device_destroy(bl_device *device)
{
    if (!device)
        return;
    fit_kernels_destroy(device->fixed);
    gpu_device_destroy(device->gpu);
    memory_free(device);
}

bl_result bl_device_compile_fixed(bl_device *device, uint32_t k, const char **name, bl_kernel_info *info)
{
    fit_kernel_size size = {0};
    bl_error err = {0};
    double start = clock_seconds(), driver = gpu_device_stats(device->gpu).driver_compile_seconds;
    *name = fit_kernel_name(k);
    *info = (bl_kernel_info){0};
    if (!*name)
        return BL_OK;
    if (fit_kernel_compile(device->fixed, k, &size, &err) != BL_OK)
        return context_fail(device->context, &err);
    info->spirv_words = size.words, info->ops = size.ops;
    info->driver_seconds = gpu_device_stats(device->gpu).driver_compile_seconds - driver;
    info->generate_seconds = clock_seconds() - start - info->driver_seconds;
    return BL_OK;
}

bl_result bl_device_info_get(const bl_device *device, bl_device_info *out)
{
    describe(gpu_device_info(device->gpu), out);
    return BL_OK;
}

bl_device_stats bl_device_stats_get(const bl_device *device)
{
    gpu_stats s = gpu_device_stats(device->gpu);
    return (bl_device_stats){
        .pipelines_created = s.pipelines_created,
        .dispatches = s.dispatches,
        .submits = s.submits,
        .bytes_allocated = s.bytes_allocated,
        .bytes_peak = s.bytes_peak,
        .compile_seconds = s.driver_compile_seconds,
    };
}
