/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/device_run.h"

#include "codegen/codegen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <spirv-tools/libspirv.h>

#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

/* ---- device ---- */

bool device_run_open(device_run *d)
{
    const char *named = getenv("BL_DEVICE");
    *d = (device_run){0};
    if (gpu_open(&(gpu_options){0}, &d->instance, &d->err) == BL_OK)
        gpu_device_create(d->instance, named && *named ? named : "swiftshader", &d->device, &d->err);
    print_message("device: %s\n", d->device ? gpu_device_info(d->device)->name : d->err.text);
    if (d->device == NULL)
        device_run_close(d);
    return d->device != NULL;
}

void device_run_close(device_run *d)
{
    gpu_device_destroy(d->device);
    gpu_close(d->instance);
    d->device = NULL;
    d->instance = NULL;
}

int device_run_missing(void)
{
    const char *all = getenv("BL_REQUIRE_ALL");
    return all && strcmp(all, "1") == 0 ? 1 : SKIPPED;
}

/* ---- memory ---- */

run_memory run_memory_create(const uint32_t *counts, uint32_t buffer_count)
{
    run_memory memory = {.buffer_count = buffer_count};
    assert_true(buffer_count <= RUN_BUFFERS);
    for (uint32_t i = 0; i < buffer_count; i++) {
        memory.counts[i] = counts[i];
        memory.words[i] = calloc(counts[i] + 1u, sizeof(uint32_t));
        assert_non_null(memory.words[i]);
    }
    return memory;
}

run_memory run_memory_copy(const run_memory *from)
{
    run_memory memory = run_memory_create(from->counts, from->buffer_count);
    memcpy(memory.uniforms, from->uniforms, sizeof memory.uniforms);
    for (uint32_t i = 0; i < from->buffer_count; i++)
        memcpy(memory.words[i], from->words[i], from->counts[i] * sizeof(uint32_t));
    return memory;
}

void run_memory_free(run_memory *memory)
{
    for (uint32_t i = 0; i < memory->buffer_count; i++)
        free(memory->words[i]);
    *memory = (run_memory){0};
}

void run_memory_compare(const char *what, const run_memory *got, const run_memory *expected)
{
    for (uint32_t b = 0; b < got->buffer_count; b++)
        for (uint32_t i = 0; i < got->counts[b]; i++)
            if (got->words[b][i] != expected->words[b][i])
                fail_msg("%s: buffer %u, word %u: device 0x%08x, interpreter 0x%08x", what, b, i,
                         got->words[b][i], expected->words[b][i]);
}

void finish_kernel(ir_module *m, ir_func *f)
{
    bl_error err = {0};
    ir_return(f, NULL, 0);
    m->entry = f;
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
}

/* ---- generating ---- */

static void print_disassembly(spv_context context, const spv_code *code)
{
    spv_text listing = NULL;
    if (spvBinaryToText(context, code->words, code->word_count, SPV_BINARY_TO_TEXT_OPTION_INDENT, &listing,
                        NULL) == SPV_SUCCESS)
        print_error("%s\n", listing->str);
    spvTextDestroy(listing);
}

spv_code checked_spirv(const ir_module *m, const spv_options *options)
{
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_2);
    spv_validator_options rules = spvValidatorOptionsCreate();
    spv_diagnostic diagnostic = NULL;
    spv_code code;
    bl_error err = {0};
    spvValidatorOptionsSetFriendlyNames(rules, false); /* most of the validator's time otherwise */
    if (spv_generate(m, options, &code, &err) != BL_OK)
        fail_msg("%s", err.text);
    spv_const_binary_t binary = {code.words, code.word_count};
    if (spvValidateWithOptions(context, rules, &binary, &diagnostic) != SPV_SUCCESS) {
        print_disassembly(context, &code);
        fail_msg("invalid SPIR-V: %s", diagnostic ? diagnostic->error : "no reason given");
    }
    spvDiagnosticDestroy(diagnostic);
    spvValidatorOptionsDestroy(rules);
    spvContextDestroy(context);
    return code;
}

/* ---- running ---- */

static void require(device_run *d, bl_result result)
{
    if (result != BL_OK)
        fail_msg("%s: %s", result_text(result), d->err.text);
}

static kernel_code generate(device_run *d, const ir_module *m, uint32_t local_size)
{
    kernel_code code = {0};
    code_options options = codegen_options(d->device);
    if (options.native.target != X86_NONE) {
        x86_target target = options.native.target;
        options.native = d->native;
        options.native.target = target;
        require(d, codegen_words(m, &options, &code, &d->err));
        return code;
    }
    options.spirv.local_size = local_size;
    options.spirv.names = false;
    options.spirv.rays = d->rays;
    options.spirv.rounding = d->rounding ? d->rounding : options.spirv.rounding;
    options.spirv.branching_calls |= d->branching_calls;
    options.spirv.addressed = d->addressed;
    spv_code spirv = checked_spirv(m, &options.spirv);
    code.words = spirv.words, code.word_count = spirv.word_count;
    return code;
}

static gpu_kernel *create_kernel(device_run *d, const ir_module *m, uint32_t local_size)
{
    kernel_code code = generate(d, m, local_size);
    gpu_kernel_desc desc = {
        .words = code.words,
        .word_count = code.word_count,
        .buffer_count = m->buffers.count,
        .push_words = m->uniform_count,
        .local_size = local_size,
        .addressed = d->addressed,
        .label = "test",
    };
    gpu_kernel *kernel = NULL;
    require(d, gpu_kernel_create(d->device, &desc, &kernel, &d->err));
    free(code.words);
    return kernel;
}

static void dispatch(device_run *d, gpu_kernel *kernel, gpu_buffer *const *buffers, const uint32_t *uniforms,
                     uint32_t invocations)
{
    gpu_batch *batch = NULL;
    require(d, gpu_batch_create(d->device, &batch, &d->err));
    require(d, gpu_batch_begin(batch, &d->err));
    gpu_batch_dispatch(batch, kernel, buffers, uniforms, invocations);
    require(d, gpu_batch_submit(batch, &d->err));
    require(d, gpu_batch_wait(batch, NULL, &d->err));
    gpu_batch_destroy(batch);
}

void device_run_kernel(device_run *d, const ir_module *m, run_memory *memory, uint32_t invocations)
{
    gpu_buffer *buffers[RUN_BUFFERS] = {0};
    gpu_kernel *kernel;
    assert_true(invocations == 1 || invocations % LOCAL_SIZE == 0);
    assert_int_equal(memory->buffer_count, m->buffers.count);
    kernel = create_kernel(d, m, invocations == 1 ? 1 : LOCAL_SIZE);
    for (uint32_t i = 0; i < memory->buffer_count; i++) {
        require(d, gpu_buffer_create(d->device, GPU_HOST, memory->counts[i] * 4ull, "test", &buffers[i],
                                     &d->err));
        require(d, gpu_buffer_write(buffers[i], 0, memory->words[i], memory->counts[i] * 4ull, &d->err));
    }
    dispatch(d, kernel, buffers, memory->uniforms, invocations);
    for (uint32_t i = 0; i < memory->buffer_count; i++) {
        require(d, gpu_buffer_read(buffers[i], 0, memory->words[i], memory->counts[i] * 4ull, &d->err));
        gpu_buffer_destroy(buffers[i]);
    }
    gpu_kernel_destroy(kernel);
}

void interpret_kernel(const ir_module *m, run_memory *memory, uint32_t invocations)
{
    ir_eval_buffer buffers[RUN_BUFFERS] = {0};
    ir_eval_env env = {
        .buffers = buffers,
        .buffer_count = memory->buffer_count,
        .uniforms = memory->uniforms,
        .uniform_count = m->uniform_count,
        .f64 = m->doubles,
    };
    bl_error err = {0};
    for (uint32_t i = 0; i < memory->buffer_count; i++)
        buffers[i] = (ir_eval_buffer){.words = memory->words[i], .count = memory->counts[i]};
    for (env.global_id = 0; env.global_id < invocations; env.global_id++)
        if (ir_eval(m->entry, NULL, NULL, &env, &err) != BL_OK)
            fail_msg("interpreter, invocation %u: %s", env.global_id, err.text);
}

/* ---- comparing ---- */

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/* Order of floats as an order of integers. */
static int64_t position(uint32_t bits)
{
    int64_t magnitude = bits & 0x7fffffffu;
    return bits & 0x80000000u ? -magnitude : magnitude;
}

uint32_t ulp_distance(uint32_t a, uint32_t b)
{
    if (is_nan(a) || is_nan(b))
        return is_nan(a) && is_nan(b) ? 0 : UINT32_MAX;
    return (uint32_t)llabs(position(a) - position(b));
}
