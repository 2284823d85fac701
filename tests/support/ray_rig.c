/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/ray_rig.h"

#include "api/ray_backend.h"
#include "render/classes.h"
#include "spirv_gen/x86/x86.h"
#include "support/ray_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { INVOCATIONS = 64 /* in a workgroup */ };
static const char *const way_names[RIG_WAYS] = {"traced", "eight-wide"};
static bl_error err;

static void require(bl_result result)
{
    if (result != BL_OK)
        fail_msg("%s: %s", result_text(result), err.text);
}

/* ---- kernels ---- */

static void store(ir_func *f, ir_ref first, uint32_t at, const ir_ref *values, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        ir_store(f, RIG_HITS, ir_add(f, first, ir_u32(f, at + k)), values[k]);
}

/* Hits of a ray one after another, until there are none. Fewer lanes are left with each. */
static void trace_chain(ir_func *f, ir_func *const *kinds, uint32_t count, const ir_ref *line, ir_ref first)
{
    ir_ref state[4] = {ir_u32(f, 0), line[6], ir_u32(f, 0), ir_bool(f, true)}, args[RIG_RAY_WORDS + 1],
           found[RIG_FOUND];
    ir_ref loop = ir_loop(f, state, 4);
    ir_while(f, ir_and(f, state[3], ir_lt(f, state[0], ir_u32(f, RIG_CHAIN))));
    memcpy(args, line, RIG_RAY_WORDS * sizeof *args);
    args[6] = state[1], args[8] = state[2];
    ir_ray_next(f, kinds, count, args, found);
    store(f, ir_add(f, first, ir_mul(f, state[0], ir_u32(f, RIG_FOUND))), RIG_FOUND + 1, found, RIG_FOUND);
    const ir_ref next[4] = {ir_add(f, state[0], ir_u32(f, 1)), found[0], found[1],
                            ir_ne(f, found[1], ir_u32(f, PLAN_NONE))};
    ir_endloop(f, loop, next, 4);
}

static ir_module *trace_kernel(const plan *p, opt_options *o)
{
    ir_module *m = ir_module_create(), *out;
    ir_buffer_add(m, "scene", true, -1), ir_buffer_add(m, "rays", true, -1),
        ir_buffer_add(m, "hits", false, -1);
    ir_func *kinds[SHAPE_KIND_COUNT];
    uint32_t count = ray_trace_kinds(m, p, kinds);
    ir_func *f = m->entry = ir_func_create(m, "main");
    ir_ref line[RIG_RAY_WORDS], found[RIG_FOUND], id = ir_global_id(f),
                                                  at = ir_mul(f, id, ir_u32(f, RIG_RAY_WORDS)),
                                                  first = ir_mul(f, id, ir_u32(f, RIG_HIT_WORDS));
    for (uint32_t k = 0; k < RIG_RAY_WORDS; k++)
        line[k] = ir_load(f, IR_F32, RIG_RAYS, ir_add(f, at, ir_u32(f, k)));
    ir_ray_closest(f, kinds, count, line, found);
    store(f, first, 0, found, RIG_FOUND);
    ir_ref any = ir_to_u32(f, ir_ray_any(f, kinds, count, line));
    store(f, first, RIG_FOUND, &any, 1);
    trace_chain(f, kinds, count, line, first);
    ir_return(f, NULL, 0);
    require(ir_finish(m, &err));
    require(opt_run(m, o, &out, &err));
    ir_module_destroy(m);
    return out;
}

static gpu_kernel *make_kernel(gpu_device *d, const plan *p, uint32_t depth, int way)
{
    opt_options o = {0};
    plan_ray_options(p, &o);
    o.stack_size = depth + 1 > o.stack_size ? depth + 1 : o.stack_size;
    o.ray_queries = way == RIG_WIDE;
    ir_module *m = trace_kernel(p, &o);
    x86_options options = ray_backend_native(p, (x86_target)gpu_device_info(d)->native_target);
    x86_code code;
    gpu_kernel *k;
    require(x86_generate(m, &options, &code, &err));
    require(gpu_kernel_create(d,
                              &(gpu_kernel_desc){.words = code.words,
                                                 .word_count = code.word_count,
                                                 .buffer_count = RIG_BUFFERS,
                                                 .local_size = INVOCATIONS,
                                                 .label = way_names[way]},
                              &k, &err));
    x86_code_free(&code);
    ir_module_destroy(m);
    return k;
}

/* ---- a scene on a device ---- */

void ray_rig_write(ray_rig *r)
{
    require(gpu_buffer_write(r->buffers[RIG_SCENE], 0, r->p->words.data, 4ull * r->p->words.count, &err));
}

/* depth: of a tree that the plan has not made, else 0. */
ray_rig ray_rig_create(gpu_device *d, plan *p, uint32_t depth, const float *rays, uint32_t count)
{
    ray_rig r = {.device = d, .p = p, .count = count};
    const uint64_t sizes[RIG_BUFFERS] = {4ull * p->words.count, 4ull * RIG_RAY_WORDS * count,
                                         sizeof(ray_hit) * (uint64_t)count};
    for (int k = 0; k < RIG_BUFFERS; k++)
        require(gpu_buffer_create(d, GPU_HOST, sizes[k], "test", &r.buffers[k], &err));
    require(gpu_buffer_write(r.buffers[RIG_RAYS], 0, rays, sizes[RIG_RAYS], &err));
    ray_rig_write(&r);
    require(ray_backend_hierarchy(d, p, r.buffers[RIG_SCENE], &r.hierarchy, &err));
    for (int way = 0; way < RIG_WAYS; way++)
        r.kernels[way] = make_kernel(d, p, depth, way);
    return r;
}

void ray_rig_free(ray_rig *r)
{
    for (int way = 0; way < RIG_WAYS; way++)
        gpu_kernel_destroy(r->kernels[way]);
    gpu_hierarchy_destroy(r->hierarchy);
    for (int k = 0; k < RIG_BUFFERS; k++)
        gpu_buffer_destroy(r->buffers[k]);
}

ray_hit *ray_rig_run(ray_rig *r, int way)
{
    gpu_batch *b;
    ray_hit *hits = malloc((size_t)r->count * sizeof *hits);
    assert_non_null(hits);
    memset(gpu_buffer_mapped(r->buffers[RIG_HITS]), 0xAB, (size_t)r->count * sizeof *hits);
    require(gpu_batch_create(r->device, &b, &err));
    require(gpu_batch_begin(b, &err));
    gpu_batch_dispatch(b, r->kernels[way], r->buffers, NULL, r->count);
    require(gpu_batch_submit(b, &err));
    require(gpu_batch_wait(b, NULL, &err));
    gpu_batch_destroy(b);
    require(gpu_buffer_read(r->buffers[RIG_HITS], 0, hits, (size_t)r->count * sizeof *hits, &err));
    return hits;
}
