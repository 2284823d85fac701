/* SPDX-License-Identifier: BSD-3-Clause
 * What a kernel depends on, as 128 bits.
 *
 * The words of a kernel are a function of its recorded trace, of the contents that constant buffers are known
 * to have (baked geometry), of the options of passes and code generation, and of the compiler's own code. All
 * of that is hashed as it is. Scene and descriptor are not: what matters of them is in the trace, so a plugin
 * that specialises on something new cannot be forgotten here. The price is that a hit still records the
 * trace, a sixth of the work (docs/decisions/kernel-cache.md). */
#include "api/kernel_key.h"
#include "compiler_version.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void add(XXH3_state_t *h, const void *data, size_t size)
{
    uint64_t length = size; /* The length is hashed so that two lists cannot run into each other. */
    XXH3_128bits_update(h, &length, sizeof length);
    if (size)
        XXH3_128bits_update(h, data, size);
}

static void add_name(XXH3_state_t *h, const char *name) { add(h, name, strlen(name)); }
static void add_number(XXH3_state_t *h, uint64_t n) { add(h, &n, sizeof n); }
#define ADD_ARRAY(h, array) add(h, (array).data, (array).count * sizeof *(array).data)

static kernel_key finish(XXH3_state_t *h)
{
    XXH128_hash_t digest = XXH3_128bits_digest(h);
    return (kernel_key){digest.low64, digest.high64};
}

static void add_function(XXH3_state_t *h, const ir_func *f)
{
    add_name(h, f->name); /* names are in the words */
    ADD_ARRAY(h, f->inst);
    ADD_ARRAY(h, f->pool);
    ADD_ARRAY(h, f->params);
    ADD_ARRAY(h, f->results);
    add_number(h, f->jvp ? f->jvp->index : UINT64_MAX);
    add_number(h, f->vjp ? f->vjp->index : UINT64_MAX);
}

static void add_module(XXH3_state_t *h, const ir_module *m)
{
    add_number(h, m->functions.count);
    for (uint32_t k = 0; k < m->functions.count; k++)
        add_function(h, m->functions.data[k]);
    add_number(h, m->buffers.count);
    for (uint32_t k = 0; k < m->buffers.count; k++) {
        const ir_buffer *b = &m->buffers.data[k];
        add_name(h, b->name);
        add_number(h, b->constant);
        add_number(h, (uint64_t)(int64_t)b->gradient);
        add_number(h, (uint64_t)(int64_t)b->tangent);
        add_number(h, b->paired);
        add(h, b->known, b->known ? b->known_count * sizeof *b->known : 0);
    }
    add_number(h, m->uniform_count);
    add_number(h, m->entry ? m->entry->index : UINT64_MAX);
    add_number(h, m->doubles);
    add_number(h, m->no_fold);
    add_number(h, m->no_merge);
}

/* Hashes field by field, because padding has no defined value. The asserts remind whoever adds a field. */
_Static_assert(offsetof(opt_options, dump) == 176,
               "add_passes hashes all options before `dump`, from which on nothing changes the result");
_Static_assert(sizeof(spv_options) == 44 && sizeof(x86_options) == 28, "add_generation hashes all options");

static void add_passes(XXH3_state_t *h, const opt_options *o)
{
    const uint32_t all[] = {
        o->off,        o->ray_queries,    o->scene_buffer,    o->node_base_word,    o->entry_base_word,
        o->level_word, o->stack_size,     o->accumulate,      o->gradient_elements, o->scale_buffer,
        o->scale_base, o->status_buffer,  o->overflow_word,   o->underflow_word,    o->sites != NULL,
        o->live_most,  o->small_uniforms, o->non_finite_word, o->parking_count};
    add(h, all, sizeof all);
    add(h, o->parking, o->parking_count * sizeof *o->parking);
}

static void add_generation(XXH3_state_t *h, const code_options *code)
{
    const spv_options *o = &code->spirv;
    const uint32_t all[] = {o->local_size,
                            o->names,
                            o->signed_zero_inf_nan_preserve,
                            o->rounding,
                            o->volatile_memory,
                            o->branching_calls,
                            o->scalar_loads,
                            o->rays.query,
                            o->rays.scene_buffer,
                            o->rays.accel_word,
                            o->rays.entry_base_word,
                            o->rays.level_word,
                            o->rays.triangle_kind,
                            o->addressed,
                            code->native.target,
                            code->native.rays_buffer,
                            code->native.rays_word,
                            code->native.triangle_kind,
                            code->native.sums,
                            code->native.status_buffer,
                            code->native.overflow_word,
                            code->native.target ? X86_VERSION : 0};
    add(h, all, sizeof all);
}

kernel_key kernel_key_device(const gpu_info *device)
{
    XXH3_state_t h;
    void *library;
    size_t size;
    XXH3_128bits_reset(&h);
    if (device->kind == GPU_NATIVE) { /* neither the processor's name nor the number of threads matters */
        add_name(&h, "native");
        add_number(&h, device->native_target);
        return finish(&h);
    }
    add_name(&h, device->name);
    add_name(&h, device->driver);
    add_number(&h, device->subgroup_size);
    /* All builds of SwiftShader have the same name. */
    if (device->kind == GPU_SWIFTSHADER &&
        file_read(device->found, 256u << 20, &library, &size, NULL) == BL_OK) {
        add(&h, library, size);
        memory_free(library);
    }
    return finish(&h);
}

kernel_key kernel_key_words(const ir_module *trace, const opt_options *passes, const code_options *code,
                            kernel_key device)
{
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    add_name(&h, compiler_version);
    add_module(&h, trace);
    add_passes(&h, passes);
    add_generation(&h, code);
    add(&h, &device, sizeof device);
    return finish(&h);
}

kernel_key kernel_key_driver(const uint32_t *words, size_t word_count, kernel_key device)
{
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    add_name(&h, "driver");
    add(&h, words, word_count * sizeof *words);
    add(&h, &device, sizeof device);
    return finish(&h);
}
