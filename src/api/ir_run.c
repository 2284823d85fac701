/* SPDX-License-Identifier: BSD-3-Clause
 * Running the caller's traces (backlight_ir.h): in the interpreter, and as kernels on a device with arrays of
 * the caller's.
 *
 * A device runs whole workgroups. So that exactly the invocations asked for run, a kernel's entry is wrapped:
 *     if global_id < uniform[last]: entry()
 * in a copy of the trace; the number is one more uniform word behind the caller's. */
#include "api/ir.h"
#include "api/kernel_code.h"
#include "codegen/bounds.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(BL_IR_UNIFORMS + 1 <= 32, "push constants are 32 words");

/* ---- the trace as it is, or lowered ---- */

/* Checks that the trace has an entry function, and that all of its functions have ended. */
static bl_result complete(const ir_module *m, bl_error *err)
{
    TRY(ir_finish((ir_module *)(uintptr_t)m, err));
    if (!m->entry)
        return error_set(err, BL_ERROR_COMPILE, "trace: no function is the entry (bl_ir_entry)");
    return BL_OK;
}

/* Accumulation uses float atomics if the device has them, else compare and exchange. */
static opt_options lowering(bool float_atomics)
{
    return (opt_options){.accumulate = float_atomics ? OPT_ACCUMULATE_FLOAT : OPT_ACCUMULATE_CAS};
}

static bl_result finish(bl_ir *ir, bl_result r, const bl_error *err)
{
    if (r != BL_OK)
        ir->error = *err;
    return r;
}

static bl_result print(const ir_module *m, bool optimised, char **out, bl_error *err)
{
    text t = {0};
    TRY(complete(m, err));
    if (optimised) {
        ir_module *lowered;
        opt_options o = lowering(false);
        TRY(opt_run(m, &o, &lowered, err));
        ir_print(lowered, &t);
        ir_module_destroy(lowered);
    } else {
        ir_print(m, &t);
    }
    TRY(memory_for_user(t.data, err));
    *out = t.data;
    return BL_OK;
}

bl_result bl_ir_text(bl_ir *ir, bool optimised, char **out)
{
    bl_error err = {0};
    *out = NULL;
    return finish(ir, print(ir->module, optimised, out, &err), &err);
}

/* ---- interpreter ---- */

static bl_result interpret(const ir_module *m, ir_eval_env *env, uint32_t invocations, bl_error *err)
{
    TRY(complete(m, err));
    if (env->buffer_count != m->buffers.count || env->uniform_count < m->uniform_count)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%u buffers and %u uniform words given, the trace has %u and %u", env->buffer_count,
                         env->uniform_count, m->buffers.count, m->uniform_count);
    for (env->global_id = 0; env->global_id < invocations; env->global_id++)
        TRY(ir_eval(m->entry, NULL, NULL, env, err));
    return BL_OK;
}

bl_result bl_ir_interpret(bl_ir *ir, const bl_ir_memory *memory, uint32_t buffer_count,
                          const uint32_t *uniforms, uint32_t uniform_count, uint32_t invocations)
{
    bl_error err = {0};
    ir_eval_buffer *buffers = memory_zeroed(buffer_count + 1u, sizeof *buffers);
    if (!buffers)
        return finish(ir, error_set(&err, BL_ERROR_MEMORY, "out of memory"), &err);
    for (uint32_t i = 0; i < buffer_count; i++)
        buffers[i] = (ir_eval_buffer){.words = memory[i].words, .count = memory[i].count};
    ir_eval_env env = {
        .buffers = buffers,
        .buffer_count = buffer_count,
        .uniforms = uniforms,
        .uniform_count = uniform_count,
    };
    bl_result r = interpret(ir->module, &env, invocations, &err);
    memory_free(buffers);
    return finish(ir, r, &err);
}

/* ---- arrays ---- */

struct bl_ir_array {
    bl_device *device;
    gpu_buffer *buffer;
    uint64_t count;
};

bl_result bl_ir_array_create(bl_device *device, uint64_t words, bl_ir_array **out)
{
    bl_error err = {0};
    *out = NULL;
    bl_ir_array *a = memory_zeroed(1, sizeof *a);
    if (!a)
        return BL_ERROR_MEMORY;
    *a = (bl_ir_array){.device = device, .count = words};
    bl_result r =
        words > UINT64_MAX / 8
            ? error_set(&err, BL_ERROR_ARGUMENT, "an array of %llu words", (unsigned long long)words)
            : gpu_buffer_create(device->gpu, GPU_DEVICE, 4 * words, "array", &a->buffer, &err);
    if (r != BL_OK) {
        memory_free(a);
        return context_fail(device->context, &err);
    }
    *out = a;
    return BL_OK;
}

void bl_ir_array_destroy(bl_ir_array *array)
{
    if (!array)
        return;
    gpu_buffer_destroy(array->buffer);
    memory_free(array);
}

static bl_result in_range(const bl_ir_array *a, uint64_t first, uint64_t count, bl_error *err)
{
    if (first <= a->count && count <= a->count - first)
        return BL_OK;
    return error_set(err, BL_ERROR_ARGUMENT, "words %llu to %llu of an array of %llu",
                     (unsigned long long)first, (unsigned long long)(first + count),
                     (unsigned long long)a->count);
}

bl_result bl_ir_array_write(bl_ir_array *array, uint64_t first, const void *words, uint64_t count)
{
    bl_error err = {0};
    bl_result r = in_range(array, first, count, &err);
    if (r == BL_OK)
        r = gpu_buffer_write(array->buffer, 4 * first, words, 4 * count, &err);
    return r == BL_OK ? BL_OK : context_fail(array->device->context, &err);
}

bl_result bl_ir_array_read(bl_ir_array *array, uint64_t first, void *words, uint64_t count)
{
    bl_error err = {0};
    bl_result r = in_range(array, first, count, &err);
    if (r == BL_OK)
        r = gpu_buffer_read(array->buffer, 4 * first, words, 4 * count, &err);
    return r == BL_OK ? BL_OK : context_fail(array->device->context, &err);
}

/* ---- kernels ---- */

struct bl_ir_kernel {
    bl_device *device;
    gpu_kernel *kernel;
    gpu_batch *batch;
    kernel_bounds *bounds;      /* NULL unless checked */
    uint32_t buffers, uniforms; /* of the caller */
};

/* A copy of m whose entry runs m's where global_id < the word behind m's uniforms. */
static ir_module *bounded(const ir_module *m)
{
    ir_module *copy = opt_dead(m);
    if (copy->error.code != BL_OK)
        return copy;
    ir_func *f = ir_func_create(copy, m->entry->name), *entry = copy->entry;
    copy->uniform_count = m->uniform_count;
    ir_if(f, ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, m->uniform_count)));
    ir_call(f, ir_u32(f, 0), &entry, 1, NULL, 0, NULL);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    copy->entry = f;
    return copy;
}

static bl_result generate(const ir_module *m, const gpu_device *device, opt_sites *sites, kernel_code *code,
                          bl_error *err)
{
    ir_module *copy = bounded(m), *lowered = NULL;
    opt_options o = lowering(gpu_device_info(device)->float_atomics);
    o.sites = sites;
    bl_result r = opt_run(copy, &o, &lowered, err);
    ir_module_destroy(copy);
    if (r != BL_OK)
        return r;
    code_options options = codegen_options(device);
    r = codegen_words(lowered, &options, code, err);
    ir_module_destroy(lowered);
    return r;
}

static bl_result compile(bl_ir_kernel *k, const ir_module *m, bl_error *err)
{
    kernel_code code;
    TRY(complete(m, err));
    if (k->device->context->checked)
        TRY(bounds_create(k->device->gpu, m->buffers.count, &k->bounds, err));
    TRY(generate(m, k->device->gpu, k->bounds ? &k->bounds->sites : NULL, &code, err));
    gpu_kernel_desc desc = {
        .words = code.words,
        .word_count = code.word_count,
        .buffer_count = m->buffers.count + (k->bounds != NULL),
        .push_words = m->uniform_count + 1,
        .local_size = LOCAL_SIZE,
        .label = m->entry->name,
    };
    bl_result r = gpu_kernel_create(k->device->gpu, &desc, &k->kernel, err);
    memory_free(code.words);
    k->buffers = m->buffers.count, k->uniforms = m->uniform_count;
    return r == BL_OK ? gpu_batch_create(k->device->gpu, &k->batch, err) : r;
}

bl_result bl_ir_kernel_create(bl_device *device, const bl_ir *ir, bl_ir_kernel **out)
{
    bl_error err = {0};
    *out = NULL;
    bl_ir_kernel *k = memory_zeroed(1, sizeof *k);
    if (!k)
        return BL_ERROR_MEMORY;
    k->device = device;
    if (compile(k, ir->module, &err) != BL_OK) {
        bl_ir_kernel_destroy(k);
        return context_fail(device->context, &err);
    }
    *out = k;
    return BL_OK;
}

void bl_ir_kernel_destroy(bl_ir_kernel *kernel)
{
    if (!kernel)
        return;
    gpu_batch_destroy(kernel->batch);
    gpu_kernel_destroy(kernel->kernel);
    bounds_destroy(kernel->bounds);
    memory_free(kernel);
}

static bl_result dispatch(bl_ir_kernel *k, gpu_buffer *const *buffers, const uint32_t *push,
                          uint32_t invocations, bl_error *err)
{
    if (k->bounds)
        TRY(bounds_arm(k->bounds, buffers, err));
    TRY(gpu_batch_begin(k->batch, err));
    gpu_batch_dispatch(k->batch, k->kernel, buffers, push, invocations);
    TRY(gpu_batch_submit(k->batch, err));
    TRY(gpu_batch_wait(k->batch, NULL, err));
    return bounds_check(k->bounds, err);
}

/* What a kernel runs on. */
typedef struct kernel_arguments {
    bl_ir_array *const *arrays;
    uint32_t array_count;
    const uint32_t *uniforms;
    uint32_t uniform_count;
} kernel_arguments;

static bl_result run(bl_ir_kernel *k, const kernel_arguments *a, uint32_t invocations, bl_error *err)
{
    const uint32_t array_count = a->array_count, uniform_count = a->uniform_count;
    uint32_t push[BL_IR_UNIFORMS + 1] = {0};
    if (array_count != k->buffers || uniform_count < k->uniforms)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%u arrays and %u uniform words given, the kernel has %u and %u", array_count,
                         uniform_count, k->buffers, k->uniforms);
    gpu_buffer **buffers = memory_zeroed(array_count + 1u, sizeof *buffers);
    if (!buffers)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < array_count; i++)
        buffers[i] = a->arrays[i]->buffer;
    if (k->bounds)
        buffers[array_count] = k->bounds->report;
    if (k->uniforms)
        memcpy(push, a->uniforms, k->uniforms * sizeof *push);
    push[k->uniforms] = invocations;
    bl_result r = invocations ? dispatch(k, buffers, push, invocations, err) : BL_OK;
    memory_free(buffers);
    return r;
}

bl_result bl_ir_kernel_run(bl_ir_kernel *kernel, bl_ir_array *const *arrays, uint32_t array_count,
                           const uint32_t *uniforms, uint32_t uniform_count, uint32_t invocations)
{
    const kernel_arguments a = {arrays, array_count, uniforms, uniform_count};
    bl_error err = {0};
    bl_result r = run(kernel, &a, invocations, &err);
    return r == BL_OK ? BL_OK : context_fail(kernel->device->context, &err);
}
