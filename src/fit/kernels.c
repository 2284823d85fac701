/* SPDX-License-Identifier: BSD-3-Clause
 * The set of fixed kernels on a device. A kernel is made of its trace when it is first dispatched, so one
 * that is never used costs nothing.
 *
 * A buffer larger than a binding reaches (128 MiB on lavapipe) is addressed, and so a kernel has a form for
 * each set of buffers that were larger. All forms do the same arithmetic on the same words in the same order,
 * so they leave the same bytes. Buffers that can be bound are bound, because CPU drivers run that faster. */
#include "codegen/bounds.h"
#include "codegen/codegen.h"
#include "fit/fit_internal.h"
#include "spirv_gen/opt/opt.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 16 };

typedef struct form {
    uint32_t addressed; /* a set of buffers: codegen_addressed */
    gpu_kernel *kernel;
    fit_kernel_size size;
} form;

typedef ARRAY(form) forms;

struct fit_kernels {
    gpu_device *device;
    bool checked;
    forms made[FIT_KERNEL_COUNT];
    kernel_bounds *bounds[FIT_KERNEL_COUNT]; /* of those checked kernels that have been made */
};

static const struct {
    const char *name;
    ir_module *(*trace)(void);
    uint32_t buffer_count;
} table[FIT_KERNEL_COUNT] = {
#define FIT_KERNEL_ROW(NAME, name, buffers) {#name, fit_trace_##name, buffers},
    FIT_KERNEL_TABLE(FIT_KERNEL_ROW)
#undef FIT_KERNEL_ROW
};

bl_result fit_kernels_create(gpu_device *device, bool checked, fit_kernels **out, bl_error *err)
{
    *out = memory_zeroed(1, sizeof **out);
    if (!*out)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for the kernels of a fit");
    (*out)->device = device, (*out)->checked = checked;
    return BL_OK;
}

void fit_kernels_destroy(fit_kernels *kernels)
{
    if (!kernels)
        return;
    for (uint32_t k = 0; k < FIT_KERNEL_COUNT; k++) {
        for (uint32_t i = 0; i < kernels->made[k].count; i++)
            gpu_kernel_destroy(kernels->made[k].data[i].kernel);
        array_free(&kernels->made[k]);
        bounds_destroy(kernels->bounds[k]);
    }
    memory_free(kernels);
}

bl_result fit_kernels_check(fit_kernels *kernels, bl_error *err)
{
    for (uint32_t k = 0; k < FIT_KERNEL_COUNT; k++)
        TRY(bounds_check(kernels->bounds[k], err));
    return BL_OK;
}

static bl_result create(gpu_device *device, const ir_module *lowered, form *out, bl_error *err)
{
    kernel_code code;
    code_options options = codegen_options(device);
    options.spirv.addressed = out->addressed;
    TRY(codegen_words(lowered, &options, &code, err));
    gpu_kernel_desc d = {
        .words = code.words,
        .word_count = code.word_count,
        .buffer_count = lowered->buffers.count,
        .push_words = code.push_words,
        .local_size = LOCAL_SIZE,
        .addressed = out->addressed,
        .label = lowered->entry->name,
    };
    out->size = (fit_kernel_size){code.word_count, opt_measure(lowered).ops};
    bl_result r = gpu_kernel_create(device, &d, &out->kernel, err);
    memory_free(code.words);
    return r;
}

static bl_result make(fit_kernels *kernels, fit_kernel which, form *out, bl_error *err)
{
    kernel_bounds **bounds = &kernels->bounds[which];
    if (kernels->checked && !*bounds)
        TRY(bounds_create(kernels->device, table[which].buffer_count, bounds, err));
    ir_module *trace = table[which].trace(), *lowered = NULL;
    BL_ASSERT(trace->buffers.count == table[which].buffer_count, "%s: %u buffers", table[which].name,
              trace->buffers.count);
    bl_result r = opt_run(trace, &(opt_options){.sites = *bounds ? &(*bounds)->sites : NULL}, &lowered, err);
    ir_module_destroy(trace);
    if (r == BL_OK)
        r = create(kernels->device, lowered, out, err);
    ir_module_destroy(lowered);
    return r;
}

/* Of no kernel where it cannot be made. */
static form find(fit_kernels *kernels, fit_kernel which, uint32_t addressed, bl_error *err)
{
    forms *made = &kernels->made[which];
    for (uint32_t i = 0; i < made->count; i++)
        if (made->data[i].addressed == addressed)
            return made->data[i];
    form f = {.addressed = addressed};
    if (make(kernels, which, &f, err) == BL_OK)
        array_push(made, f);
    return f;
}

const char *fit_kernel_name(uint32_t k) { return k < FIT_KERNEL_COUNT ? table[k].name : NULL; }

bl_result fit_kernel_compile(fit_kernels *kernels, uint32_t k, fit_kernel_size *size, bl_error *err)
{
    BL_ASSERT(k < FIT_KERNEL_COUNT, "there is no fixed kernel %u", k);
    form f = find(kernels, (fit_kernel)k, 0, err);
    *size = f.size;
    return f.kernel ? BL_OK : err->code;
}

void fit_dispatch(gpu_batch *batch, fit_kernels *kernels, fit_kernel kernel, gpu_buffer *const *buffers,
                  const uint32_t *push, uint64_t invocations)
{
    BL_ASSERT((unsigned)kernel < FIT_KERNEL_COUNT && table[kernel].buffer_count <= MOST_BUFFERS,
              "there is no fixed kernel %d of at most %d buffers", (int)kernel, MOST_BUFFERS);
    bl_error err = {0};
    uint32_t addressed =
        codegen_addressed(gpu_device_info(kernels->device), buffers, table[kernel].buffer_count);
    gpu_kernel *found = find(kernels, kernel, addressed, &err).kernel;
    if (!found) {
        gpu_batch_fail(batch, &err);
        return;
    }
    kernel_bounds *bounds = kernels->bounds[kernel];
    gpu_buffer *all[MOST_BUFFERS + 1];
    memcpy(all, buffers, table[kernel].buffer_count * sizeof *all);
    if (bounds) {
        bounds_record(bounds, batch, buffers);
        all[table[kernel].buffer_count] = bounds->report;
    }
    gpu_batch_dispatch(batch, found, all, push, invocations);
}
