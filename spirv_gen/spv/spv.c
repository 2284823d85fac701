/* SPDX-License-Identifier: BSD-3-Clause
 * Trace -> SPIR-V 1.5 (Vulkan 1.2). One entry point, one function: callees are inlined where they are called.
 *
 * The body of the entry function is walked once, in order (lower.c); every instruction becomes words in the
 * body stream and whatever types, constants and variables it needs are declared on the way. */
#include "spirv_gen/spv/module.h"
#include <stdlib.h>
#include <string.h>

static void gen_begin(spv_gen *g, const ir_module *m, const spv_options *options)
{
    *g = (spv_gen){.m = m, .options = *options};
    if (g->options.local_size == 0)
        g->options.local_size = 64;
    g->bindings = arena_alloc(&g->arena, (m->buffers.count + 1u) * sizeof *g->bindings);
    g->uniforms = arena_alloc(&g->arena, (m->uniform_count + 1u) * sizeof *g->uniforms);
    g->locals = arena_alloc(&g->arena, m->functions.count * sizeof *g->locals);
    spv_memory_begin(g);
    spv_module_begin(g);
}

static void gen_free(spv_gen *g)
{
    for (int i = 0; i < SPV_SECTION_COUNT; i++)
        array_free(&g->section[i]);
    array_free(&g->interned);
    array_free(&g->interface);
    array_free(&g->regions);
    array_free(&g->indices);
    array_free(&g->quads);
    arena_free(&g->arena);
}

bl_result spv_generate(const ir_module *m, const spv_options *options, spv_code *out, bl_error *err)
{
    const spv_options defaults = {0};
    spv_gen g;
    bl_result result;
    *out = (spv_code){0};
    if (m->error.code != BL_OK)
        return error_set(err, m->error.code, "%s", m->error.text);
    if (m->entry == NULL || !m->entry->finished || m->entry->params.count || m->entry->results.count)
        return error_set(err, BL_ERROR_COMPILE,
                         "spv: the module has no finished entry function without parameters and results");
    gen_begin(&g, m, options ? options : &defaults);
    spv_lower_function(&g, m->entry, NULL, NULL);
    spv_memory_end(&g);
    result = g.error.code == BL_OK ? spv_module_end(&g, out) : g.error.code;
    if (result != BL_OK)
        error_set(err, result, "%s", g.error.text);
    gen_free(&g);
    return result;
}

void spv_code_free(spv_code *code)
{
    memory_free(code->words);
    *code = (spv_code){0};
}
