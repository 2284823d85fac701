/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * A walk that is cut into kernels (spirv_gen/opt/cut.c) against the walk as it was, both by the interpreter,
 * bit for bit: random traces, and a walk of many invocations that has everything that has to be kept: values
 * from before the loop, states that change places, an array, calls by kind that can be done together and some
 * that cannot, effects between them. BL_FUZZ_SEEDS and BL_FUZZ_FIRST as in ir_fuzz.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/cut.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFERS_MOST = 8, UNIFORMS_MOST = 32, TRIPS_MOST = 4000 };

/* What a kernel runs on: buffers of the trace, and behind them, where the walk is cut, its memory. */
typedef struct machine {
    ir_eval_buffer buffers[BUFFERS_MOST];
    uint32_t buffer_count, uniforms[UNIFORMS_MOST];
} machine;

static void invoke(const ir_module *kernel, machine *on, uint32_t count)
{
    for (uint32_t id = 0; id < count; id++) {
        ir_eval_env env = {
            .buffers = on->buffers,
            .buffer_count = on->buffer_count,
            .uniforms = on->uniforms,
            .uniform_count = UNIFORMS_MOST,
            .global_id = id,
            .step_limit = 10000000,
        };
        bl_error err = {0};
        if (ir_verify(kernel, &err) == BL_OK && ir_eval(kernel->entry, NULL, NULL, &env, &err) == BL_OK)
            continue;
        text t = {0};
        ir_print(kernel, &t);
        fail_msg("invocation %u: %s\n%s", id, err.text, t.data);
    }
}

/* Runs the kernels as their user does (src/api/wavefront.c), queues backwards if so. */
static uint32_t run_cut(const opt_cut *cut, machine *on, uint32_t base, uint32_t slots, bool backwards)
{
    uint32_t planes = cut->words * slots, queue[2] = {planes, planes + slots}, classes = planes + 2 * slots,
             counters = classes + cut->targets * slots, size = counters + 1 + cut->targets, trips = 0;
    uint32_t *words = calloc(size, sizeof *words), *u = on->uniforms + base;
    on->buffers[on->buffer_count++] = (ir_eval_buffer){.words = words, .count = size};
    u[OPT_CUT_COUNT] = u[OPT_CUT_SLOTS] = slots, u[OPT_CUT_TO] = queue[0], u[OPT_CUT_COUNTER] = counters;
    invoke(cut->begin, on, slots + 3); /* whole workgroups */
    for (uint32_t now = 0; words[counters]; now = !now, trips++) {
        uint32_t count = words[counters], *list = words + queue[now];
        assert_true(count <= slots && trips < TRIPS_MOST);
        for (uint32_t k = 0; backwards && k < count / 2; k++) {
            uint32_t other = list[k];
            list[k] = list[count - 1 - k], list[count - 1 - k] = other;
        }
        memset(words + counters, 0, (1 + cut->targets) * sizeof *words);
        for (uint32_t g = 0; g <= cut->groups; g++) {
            bool last = g == cut->groups;
            u[OPT_CUT_COUNT] = count, u[OPT_CUT_FROM] = queue[now];
            u[OPT_CUT_TO] = last ? queue[!now] : classes, u[OPT_CUT_COUNTER] = last ? counters : counters + 1;
            invoke(cut->segments[g], on, count + 1);
            for (uint32_t k = 0; !last && k < cut->targets; k++) {
                u[OPT_CUT_COUNT] = words[counters + 1 + k], u[OPT_CUT_FROM] = classes + k * slots;
                invoke(cut->calls[g * cut->targets + k], on, u[OPT_CUT_COUNT]);
            }
        }
    }
    u[OPT_CUT_COUNT] = slots;
    invoke(cut->end, on, slots + 3);
    on->buffer_count--;
    free(words);
    return trips;
}

/* ---- random traces: one invocation, since theirs share memory ---- */

typedef struct memory {
    uint32_t words[RANDOM_TRACE_BUFFERS][RANDOM_TRACE_WORDS];
} memory;

static void prepare(uint64_t seed, memory *m, machine *on)
{
    *on = (machine){.buffer_count = RANDOM_TRACE_BUFFERS};
    random_trace_fill(seed ^ 1, &m->words[0][0], RANDOM_TRACE_BUFFERS * RANDOM_TRACE_WORDS);
    random_trace_fill(seed ^ 2, on->uniforms, RANDOM_TRACE_UNIFORMS);
    for (uint32_t k = 0; k < RANDOM_TRACE_BUFFERS; k++)
        on->buffers[k] = (ir_eval_buffer){.words = m->words[k], .count = RANDOM_TRACE_WORDS};
}

/* Returns whether the trace has a walk that can be cut. */
static bool check_random(uint64_t seed, bool by_target)
{
    ir_module *trace = random_trace(seed, (random_trace_options){.size = 90, .no_steering = true}),
              *simple = NULL;
    opt_cut_options o = {.uniforms = RANDOM_TRACE_UNIFORMS, .by_target = by_target};
    opt_cut cut;
    bl_error err = {0};
    assert_int_equal(opt_simplify(trace, &(opt_options){0}, &simple, &err), BL_OK);
    bl_result r = opt_cut_walk(seed & 1 ? simple : trace, &o, &cut, &err);
    memory expected, got;
    machine on;
    if (r == BL_OK) {
        prepare(seed, &expected, &on);
        invoke(trace, &on, 1);
        prepare(seed, &got, &on);
        run_cut(&cut, &on, RANDOM_TRACE_UNIFORMS, 1, false);
        if (memcmp(&expected, &got, sizeof got) != 0) {
            text t = {0};
            ir_print(trace, &t);
            fail_msg("seed %llu: the walk that is cut (by target: %d) has other words\n%s",
                     (unsigned long long)seed, by_target, t.data);
        }
        opt_cut_free(&cut);
    } else {
        assert_int_equal(r, BL_ERROR_UNSUPPORTED);
    }
    ir_module_destroy(trace), ir_module_destroy(simple);
    return r == BL_OK;
}

static void random_traces(void **state)
{
    (void)state;
    const char *seeds = getenv("BL_FUZZ_SEEDS"), *start = getenv("BL_FUZZ_FIRST"), *all = getenv("BL_LONG");
    uint64_t first = start ? strtoull(start, NULL, 0) : 1,
             count = seeds                          ? strtoull(seeds, NULL, 0)
                     : all && strcmp(all, "1") == 0 ? 10000
                                                    : 500,
             cut = 0;
    for (uint64_t k = 0; k < count; k++)
        for (int by_target = 0; by_target < 2; by_target++)
            cut += check_random(first + k, by_target);
    if (count >= 100 && cut < count / 2)
        fail_msg("only %llu of %llu traces could be cut", (unsigned long long)cut, (unsigned long long)count);
}

/* ---- a walk ---- */

enum { SLOTS = 37, WORDS = 6, KINDS = 3, ELEMENTS = 3, STATES = 5 };

static ir_ref hash(ir_func *f, ir_ref x)
{
    x = ir_mul(f, ir_xor(f, x, ir_shr(f, x, ir_u32(f, 16))), ir_u32(f, 0x7FEB352D));
    return ir_xor(f, x, ir_shr(f, x, ir_u32(f, 15)));
}

static void put(ir_func *f, uint32_t k, ir_ref value)
{
    ir_store(f, 1, ir_add(f, ir_mul(f, ir_global_id(f), ir_u32(f, WORDS)), ir_u32(f, k)), value);
}

/* Of two integers; a kind that writes adds up in word 4 of its invocation. */
static ir_func *make_kind(ir_module *m, uint32_t by, bool writes)
{
    ir_func *f = ir_func_create(m, "kind");
    ir_ref x = ir_param(f, IR_U32), y = ir_param(f, IR_U32);
    if (writes)
        ir_atomic_add(f, 1, y, x);
    ir_ref a = ir_add(f, ir_mul(f, x, ir_u32(f, by)), y);
    ir_return(f, (ir_ref[]){a, ir_xor(f, a, ir_u32(f, by))}, 2);
    return f;
}

static ir_module *make_walk(bool writes)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "numbers", true, -1);
    ir_buffer_add(m, "output", false, -1);
    ir_func *plain[KINDS], *other[KINDS];
    for (uint32_t k = 0; k < KINDS; k++) {
        plain[k] = make_kind(m, 0x9E3779B1u + k, false);
        other[k] = make_kind(m, 77 + k, writes);
    }
    ir_func *f = m->entry = ir_func_create(m, "main");
    ir_ref id = ir_global_id(f), place = ir_add(f, ir_mul(f, id, ir_u32(f, WORDS)), ir_u32(f, 4));
    ir_ref seed = hash(f, ir_add(f, id, ir_uniform(f, IR_U32, 0)));
    ir_ref before = ir_load(f, IR_U32, 1, place); /* changes: only the beginning can read it */
    ir_ref array = ir_local(f, IR_U32, ELEMENTS);
    for (uint32_t k = 0; k < ELEMENTS; k++)
        ir_lstore(f, array, ir_u32(f, k), ir_add(f, seed, ir_u32(f, k)));
    ir_ref s[STATES] = {ir_u32(f, 0), seed, ir_add(f, seed, before), ir_to_f32(f, id), ir_bool(f, false)};
    ir_ref loop = ir_loop(f, s, STATES);
    ir_ref last = ir_mod(f, seed, ir_u32(f, 9));
    ir_while(f, ir_lt(f, s[0], last));
    ir_ref kind = ir_mod(f, hash(f, s[1]), ir_u32(f, KINDS)), r[2], q[2];
    ir_call(f, kind, plain, KINDS, (ir_ref[]){s[1], before}, 2, r);
    ir_if(f, s[4]);
    put(f, 0, r[0]);
    ir_else(f);
    ir_endif(f);
    ir_ref number = ir_load(f, IR_U32, 0, ir_and(f, r[1], ir_u32(f, 15)));
    ir_call(f, kind, other, KINDS, (ir_ref[]){ir_add(f, number, r[0]), place}, 2, q);
    ir_ref element = ir_mod(f, q[0], ir_u32(f, ELEMENTS));
    ir_lstore(f, array, element, ir_add(f, ir_lload(f, array, element), q[1]));
    ir_ref next[STATES] = {ir_add(f, s[0], ir_u32(f, 1)), s[2], ir_add(f, q[0], s[1]),
                           ir_mul(f, s[3], ir_f32(f, 0.5f)), ir_lt(f, q[1], r[1])};
    ir_endloop(f, loop, next, STATES);
    put(f, 1, ir_add(f, s[1], before));
    put(f, 2, ir_bits_to_u32(f, s[3]));
    put(f, 3, ir_add(f, ir_lload(f, array, ir_u32(f, 1)), ir_to_u32(f, s[4])));
    put(f, 5, ir_add(f, s[2], ir_lload(f, array, ir_u32(f, 2))));
    ir_return(f, NULL, 0);
    return m;
}

static void check_walk(bool writes, bool by_target, uint32_t groups)
{
    uint32_t numbers[16], expected[SLOTS * WORDS], got[SLOTS * WORDS];
    random_trace_fill(5, numbers, 16);
    ir_module *m = make_walk(writes);
    machine on = {
        .buffers = {{.words = numbers, .count = 16}, {.words = expected, .count = SLOTS * WORDS}},
        .buffer_count = 2,
        .uniforms = {123},
    };
    bl_error err = {0};
    assert_int_equal(ir_finish(m, &err), BL_OK);
    random_trace_fill(6, expected, SLOTS * WORDS);
    invoke(m, &on, SLOTS);
    opt_cut cut;
    assert_int_equal(opt_cut_walk(m, &(opt_cut_options){.uniforms = 1, .by_target = by_target}, &cut, &err),
                     BL_OK);
    assert_int_equal(cut.groups, groups);
    assert_int_equal(cut.targets, groups ? KINDS : 0);
    on.buffers[1].words = got;
    for (int backwards = 0; backwards < 2; backwards++) {
        random_trace_fill(6, got, SLOTS * WORDS);
        assert_int_equal(run_cut(&cut, &on, 1, SLOTS, backwards), 8);
        assert_memory_equal(got, expected, sizeof got);
    }
    opt_cut_free(&cut);
    ir_module_destroy(m);
}

static void walks(void **state)
{
    (void)state;
    check_walk(false, false, 0);
    check_walk(true, false, 0);
    check_walk(false, true, 1); /* the second call joins the first */
    check_walk(true, true, 2);  /* it writes, behind other effects */
}

/* ---- what is refused ---- */

static void refused(const char *source, const char *why)
{
    ir_module *m;
    opt_cut cut;
    bl_error err = {0};
    assert_int_equal(ir_parse(source, &m, &err), BL_OK);
    assert_int_equal(opt_cut_walk(m, &(opt_cut_options){0}, &cut, &err), BL_ERROR_UNSUPPORTED);
    if (!strstr(err.text, why))
        fail_msg("\"%s\", not \"%s\"", err.text, why);
    ir_module_destroy(m);
}

static void refusals(void **state)
{
    (void)state;
    refused("buffer @0 \"b\"\nfunc $0 \"f\" () entry {\n  %1 = const u32 0\n  store %1 @0 %1\n  return\n}\n",
            "has no walk");
    refused("buffer @0 \"b\"\nfunc $0 \"f\" () entry {\n  %1 = const u32 0\n  %2 = const u32 1\n"
            "  %3 = loop\n    %4 = state u32 %1 %6 %3\n    store %4 @0 %1\n    %5 = lt bool %4 %2\n"
            "  while %5 %3\n    %6 = add u32 %4 %2\n  endloop %3\n  return\n}\n",
            "writes before the test");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces),
        cmocka_unit_test(walks),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
