/* SPDX-License-Identifier: BSD-3-Clause
 * From a trace to a kernel on the device, by way of the cache on disk: the words that passes and code
 * generation make, and what the driver makes of the words, are two entries, because CPU drivers give nothing
 * back that could be kept. */
#include "api/kernel_code.h"

#include <stdlib.h>
#include <string.h>

/* ---- words: an entry is the number of push-constant words, then the words ---- */

static bl_result compile(const kernel_source *s, kernel_code *out, bl_kernel_info *took, bl_error *err)
{
    ir_module *lowered;
    double start = clock_seconds();
    TRY(opt_run(s->trace, s->passes, &lowered, err));
    double optimised = clock_seconds();
    opt_size size = opt_measure(lowered);
    took->functions = size.functions, took->ops = size.ops, took->calls = size.calls;
    took->call_bytes = size.call_bytes, took->state_bytes = size.state_bytes;
    bl_result r = s->most && size.ops > s->most ? budget_exceeded(BUDGET_KERNEL, s->most, err) : BL_OK;
    if (r == BL_OK)
        r = codegen_words(lowered, s->generate, out, err);
    ir_module_destroy(lowered);
    took->optimise_seconds = optimised - start, took->generate_seconds = clock_seconds() - optimised;
    return r;
}

static bool find(const kernel_source *s, kernel_key key, kernel_code *out)
{
    size_t size;
    uint32_t *entry = kernel_cache_find(s->device->context->cache, key, &size);
    if (!entry || size <= sizeof *entry || size % sizeof *entry != 0) {
        memory_free(entry);
        return false;
    }
    out->push_words = entry[0], out->native = s->generate->native.target != X86_NONE;
    out->word_count = size / sizeof *entry - 1;
    memmove(entry, entry + 1, size - sizeof *entry);
    out->words = entry;
    return true;
}

static void store(const kernel_source *s, kernel_key key, const kernel_code *code)
{
    size_t size = 4 * (code->word_count + 1);
    uint32_t *entry = memory_need(size);
    entry[0] = code->push_words;
    memcpy(entry + 1, code->words, size - 4);
    kernel_cache_store(s->device->context->cache, key, entry, size);
    memory_free(entry);
}

static bl_result verify(const kernel_source *s, const kernel_code *found, bl_error *err)
{
    kernel_code made;
    bl_kernel_info unused;
    TRY(compile(s, &made, &unused, err));
    bool same = made.push_words == found->push_words && made.word_count == found->word_count &&
                memcmp(made.words, found->words, 4 * made.word_count) == 0;
    memory_free(made.words);
    return same ? BL_OK
                : error_set(
                      err, BL_ERROR_COMPILE,
                      "the cache has other words for a kernel than compilation: its key lacks something");
}

bl_result kernel_code_make(const kernel_source *s, kernel_code *out, bl_kernel_info *took, bl_error *err)
{
    BL_ASSERT(s->trace->entry, "a trace without an entry");
    if (!s->device->context->cache ||
        s->passes->sites) { /* A checked kernel needs the list of accesses, too. */
        TRY(compile(s, out, took, err));
        took->spirv_words = out->word_count;
        return BL_OK;
    }
    double start = clock_seconds();
    kernel_key key = kernel_key_words(s->trace, s->passes, s->generate, s->device->identity);
    took->cached = !s->renew && find(s, key, out);
    took->cache_seconds = clock_seconds() - start;
    if (!took->cached) {
        TRY(compile(s, out, took, err));
        start = clock_seconds();
        store(s, key, out);
        took->cache_seconds += clock_seconds() - start;
    }
    s->device->context->cache_hits += took->cached, s->device->context->cache_misses += !took->cached;
    took->spirv_words = out->word_count;
    bl_result r = took->cached && s->device->context->cache_verify ? verify(s, out, err) : BL_OK;
    if (r != BL_OK)
        memory_free(out->words);
    return r;
}

/* ---- what the driver keeps ---- */

bl_result kernel_create(const bl_device *device, const gpu_kernel_desc *desc, gpu_kernel **out, bl_error *err)
{
    kernel_cache *cache = device->context->cache;
    if (!cache || gpu_device_info(device->gpu)->native_target) /* which keeps nothing */
        return gpu_kernel_create(device->gpu, desc, out, err);
    gpu_kernel_desc d = *desc;
    kernel_key key = kernel_key_driver(d.words, d.word_count, device->identity);
    void *found = kernel_cache_find(cache, key, &d.driver_data_size);
    d.driver_data = found, d.keep_driver_data = true;
    bl_result r = gpu_kernel_create(device->gpu, &d, out, err);
    if (r != BL_OK && found) { /* perhaps for that */
        d.driver_data = NULL, d.driver_data_size = 0;
        r = gpu_kernel_create(device->gpu, &d, out, err);
    }
    size_t size = 0;
    const void *data = r == BL_OK ? gpu_kernel_driver_data(*out, &size) : NULL;
    if (size > 0 && !(found && size == d.driver_data_size && memcmp(data, found, size) == 0))
        kernel_cache_store(cache, key, data, size);
    memory_free(found);
    return r;
}
