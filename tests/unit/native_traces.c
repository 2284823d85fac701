/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Random traces on the native device against the interpreter, bit for bit, in all lanes at once: every
 * invocation has its own part of every buffer, filled with other words, so lanes take different branches,
 * leave loops in different trips and call different functions. Nothing is left out, because the native device
 * computes what SPIR-V leaves open as the interpreter does: denormals, integer division by zero, conversions
 * out of range, NaNs. Modules of doubles are compared in the same way; most of their buffers keep what a
 * float lacks beside it, so that a difference beyond a float's last place is seen. BL_RANDOM_FIRST is the
 * first seed, BL_RANDOM_TRACES their number (300; 10000 under BL_LONG=1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/pass.h"
#include "support/device_run.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 64 };

static device_run device; /* one for all tests of this program */

/* ---- a part of every buffer for each invocation ---- */

static ir_ref own_index(ir_copier *c, uint32_t index)
{
    ir_func *f = c->to;
    ir_ref part = ir_mul(f, ir_global_id(f), ir_u32(f, RANDOM_TRACE_WORDS));
    return ir_add(f, ir_copied(c, index), part);
}

static bool move_access(ir_copier *c, uint32_t id, ir_inst inst)
{
    const uint32_t *pool = c->from->pool.data + inst.c;
    ir_ref value;
    switch (inst.op) {
    case IR_LOAD:
    case IR_DLOAD: /* which has no gradient in a lowered trace */
        c->map[id] = ir_load(c->to, (ir_type)inst.type, inst.b, own_index(c, inst.a));
        return true;
    case IR_STORE:
        value = ir_copied(c, inst.c);
        ir_store(c->to, inst.b, own_index(c, inst.a), value);
        return true;
    case IR_ATOMIC_ADD:
        value = ir_copied(c, inst.c);
        c->map[id] = ir_atomic_add(c->to, inst.b, own_index(c, inst.a), value);
        return true;
    case IR_ATOMIC_CAS:
        value = ir_copied(c, pool[1]);
        c->map[id] = ir_atomic_cas(c->to, inst.b, own_index(c, inst.a), ir_copied(c, pool[0]), value);
        return true;
    default:
        return false;
    }
}

/* The gradients are sums of floats, which have one word. */
static bool is_paired(uint64_t seed, uint32_t buffer) { return buffer < 3 && (seed >> buffer & 1); }

static ir_module *lane_module(uint64_t seed, opt_accumulate accumulate, bool doubles)
{
    random_trace_options options = {.no_fold = seed % 3 == 1, .no_merge = seed % 5 == 1, .size = 40};
    ir_module *m = random_trace(seed, options), *lowered = NULL;
    bl_error err = {0};
    m->doubles = doubles;
    for (uint32_t b = 0; doubles && b < m->buffers.count; b++)
        m->buffers.data[b].paired = is_paired(seed, b);
    if (opt_run(m, &(opt_options){.accumulate = accumulate}, &lowered, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    opt_pass pass = {.from = lowered, .hook = move_access};
    ir_module *moved = opt_rebuild(&pass);
    if (ir_finish(moved, &err) != BL_OK || ir_verify(moved, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    ir_module_destroy(lowered);
    ir_module_destroy(m);
    return moved;
}

/* ---- both ways ---- */

static void compare(uint64_t seed, bool doubles, const run_memory *got, const run_memory *expected)
{
    for (uint32_t b = 0; b < got->buffer_count; b++)
        for (uint32_t i = 0; i < got->counts[b]; i++)
            if (got->words[b][i] != expected->words[b][i])
                fail_msg("seed %llu%s, buffer %u, invocation %u, word %u: native 0x%08x, interpreter 0x%08x",
                         (unsigned long long)seed, doubles ? " of doubles" : "", b, i / RANDOM_TRACE_WORDS,
                         i % RANDOM_TRACE_WORDS, got->words[b][i], expected->words[b][i]);
}

static void compare_trace(uint64_t seed, bool doubles)
{
    uint32_t counts[RANDOM_TRACE_BUFFERS];
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        counts[i] = LANES * RANDOM_TRACE_WORDS * (doubles && is_paired(seed, i) ? 2 : 1);
    ir_module *m = lane_module(seed, seed % 2 ? OPT_ACCUMULATE_CAS : OPT_ACCUMULATE_FLOAT, doubles);
    run_memory memory = run_memory_create(counts, RANDOM_TRACE_BUFFERS), expected;
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        random_trace_fill(seed * 8 + i, memory.words[i], counts[i]);
    random_trace_fill(seed * 8 + 7, memory.uniforms, RANDOM_TRACE_UNIFORMS);
    expected = run_memory_copy(&memory);
    device_run_kernel(&device, m, &memory, LANES);
    interpret_kernel(m, &expected, LANES);
    compare(seed, doubles, &memory, &expected);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
}

static void compare_traces(bool doubles)
{
    const char *first = getenv("BL_RANDOM_FIRST"), *wanted = getenv("BL_RANDOM_TRACES"),
               *all = getenv("BL_LONG");
    uint64_t count = wanted                         ? strtoull(wanted, NULL, 0)
                     : all && strcmp(all, "1") == 0 ? 10000
                                                    : 300,
             from = first ? strtoull(first, NULL, 0) : 0;
    for (uint64_t seed = from; seed < from + count; seed++)
        compare_trace(seed, doubles);
}

static void random_traces_equal_the_interpreter(void **state)
{
    (void)state;
    compare_traces(false);
}

static void random_traces_of_doubles_equal_the_interpreter(void **state)
{
    (void)state;
    compare_traces(true);
}

int main(void)
{
    if (!device_run_open(&device))
        return device_run_missing();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_equal_the_interpreter),
        cmocka_unit_test(random_traces_of_doubles_equal_the_interpreter),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_run_close(&device);
    return failed;
}
