/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Random traces: what folding, merging and every pass make of a program computes the same bits; text is read
 * back as it was written. BL_FUZZ_SEEDS sets the number of seeds (500; 10000 under BL_LONG=1), BL_FUZZ_FIRST
 * the first one, which a failure prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 2 /* more uniforms, small numbers, for `recompute` */ };

typedef struct memory {
    uint32_t words[RANDOM_TRACE_BUFFERS][RANDOM_TRACE_WORDS];
} memory;

static uint64_t seed_number(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value ? strtoull(value, NULL, 0) : otherwise;
}

static void dump(const ir_module *m, const char *title)
{
    text t = {0};
    ir_print(m, &t);
    fprintf(stderr, "---- %s ----\n%s", title, t.data);
    text_free(&t);
}

static void run(uint64_t seed, const ir_module *m, bool f64, memory *out, const char *what)
{
    ir_eval_buffer buffers[RANDOM_TRACE_BUFFERS];
    uint32_t uniforms[RANDOM_TRACE_UNIFORMS + SMALL] = {0};
    random_trace_fill(seed ^ 1, &out->words[0][0], RANDOM_TRACE_BUFFERS * RANDOM_TRACE_WORDS);
    random_trace_fill(seed ^ 2, uniforms, RANDOM_TRACE_UNIFORMS);
    uniforms[RANDOM_TRACE_UNIFORMS] = (1u << 30) - 1;
    for (uint32_t k = 0; k < RANDOM_TRACE_BUFFERS; k++)
        buffers[k] = (ir_eval_buffer){.words = out->words[k], .count = RANDOM_TRACE_WORDS};
    ir_eval_env env = {
        .buffers = buffers,
        .buffer_count = RANDOM_TRACE_BUFFERS,
        .uniforms = uniforms,
        .uniform_count = RANDOM_TRACE_UNIFORMS + SMALL,
        .global_id = (uint32_t)seed & 1023,
        .f64 = f64,
        .step_limit = 10000000,
    };
    bl_error err = {0};
    bl_result result = ir_eval(m->entry, NULL, NULL, &env, &err);
    if (result == BL_OK)
        return;
    dump(m, what);
    fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, err.text);
}

static void check_valid(uint64_t seed, ir_module *m, const char *what)
{
    bl_error err = {0};
    if (ir_finish(m, &err) == BL_OK && ir_verify(m, &err) == BL_OK)
        return;
    dump(m, what);
    fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, err.text);
}

/* `m` and `plain` store the same words. */
static void check_same(uint64_t seed, ir_module *plain, ir_module *m, const char *what)
{
    check_valid(seed, m, what);
    for (int f64 = 0; f64 < 2; f64++) {
        memory expected, got;
        run(seed, plain, f64, &expected, "plain");
        run(seed, m, f64, &got, what);
        for (uint32_t b = 0; b < RANDOM_TRACE_BUFFERS; b++)
            for (uint32_t k = 0; k < RANDOM_TRACE_WORDS; k++)
                if (expected.words[b][k] != got.words[b][k]) {
                    dump(plain, "plain");
                    dump(m, what);
                    fail_msg("seed %llu, %s, f64 %d: buffer %u word %u is 0x%08x, expected 0x%08x",
                             (unsigned long long)seed, what, f64, b, k, got.words[b][k],
                             expected.words[b][k]);
                }
    }
}

static void each_seed(void (*check)(uint64_t seed))
{
    const char *all = getenv("BL_LONG");
    uint64_t first = seed_number("BL_FUZZ_FIRST", 1),
             count = seed_number("BL_FUZZ_SEEDS", all && strcmp(all, "1") == 0 ? 10000 : 500);
    for (uint64_t k = 0; k < count; k++)
        check(first + k);
}

static void check_build(uint64_t seed)
{
    ir_module *plain = random_trace(seed, (random_trace_options){.no_fold = true, .no_merge = true});
    ir_module *merged = random_trace(seed, (random_trace_options){.no_fold = true});
    check_valid(seed, plain, "plain");
    check_same(seed, plain, merged, "merged");
    ir_module_destroy(plain);
    ir_module_destroy(merged);
}

/* Folding refuses steering ops but is computed in f32, so f64 runs are compared without folding only. */
static void check_fold(uint64_t seed)
{
    ir_module *plain = random_trace(seed, (random_trace_options){.no_fold = true, .no_merge = true});
    ir_module *folded = random_trace(seed, (random_trace_options){0});
    check_valid(seed, folded, "folded");
    memory expected, got;
    run(seed, plain, false, &expected, "plain");
    run(seed, folded, false, &got, "folded");
    if (memcmp(&expected, &got, sizeof got) != 0) {
        dump(plain, "plain");
        dump(folded, "folded");
        fail_msg("seed %llu: folded differs from plain", (unsigned long long)seed);
    }
    ir_module_destroy(plain);
    ir_module_destroy(folded);
}

static void check_text(uint64_t seed)
{
    ir_module *m = random_trace(seed, (random_trace_options){.no_fold = seed & 1, .no_merge = seed & 2}),
              *again;
    text first = {0}, second = {0};
    bl_error err = {0};
    ir_print(m, &first);
    if (ir_parse(first.data, &again, &err) != BL_OK) {
        dump(m, "printed");
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    }
    ir_print(again, &second);
    assert_string_equal(first.data, second.data);
    check_same(seed, m, again, "parsed");
    text_free(&first);
    text_free(&second);
    ir_module_destroy(m);
    ir_module_destroy(again);
}

/* f32 runs only: a pass folds again. */
static void check_pass(uint64_t seed, ir_module *plain, ir_module *m, const char *what)
{
    check_valid(seed, m, what);
    memory expected, got;
    run(seed, plain, false, &expected, "plain");
    run(seed, m, false, &got, what);
    if (memcmp(&expected, &got, sizeof got) != 0) {
        dump(plain, "plain");
        dump(m, what);
        fail_msg("seed %llu: %s changes the program", (unsigned long long)seed, what);
    }
}

/* As if sums were private, wherever a kernel flushes. */
static ir_module *call_accums(const ir_module *m)
{
    return opt_call_accums(m, &(opt_options){.accumulate = OPT_ACCUMULATE_FIXED, .gradient_elements = 1});
}

/* Whatever can be computed again. */
static ir_module *recompute(const ir_module *m)
{
    return opt_recompute(m, &(opt_options){.live_most = 1, .small_uniforms = RANDOM_TRACE_UNIFORMS});
}

/* Whatever can wait elsewhere. */
static ir_module *park(const ir_module *m) { return opt_park_to(m, &(opt_goal){64, 0, 0}, 1, 2); }

static const struct {
    const char *name;
    ir_module *(*run)(const ir_module *m);
} passes[] = {
    {"dead", opt_dead},
    {"call_results", opt_call_results},
    {"call_arguments", opt_call_arguments},
    {"call_unused", opt_call_unused},
    {"merge", opt_merge},
    {"inline_single", opt_inline_single},
    {"loop_states", opt_loop_states},
    {"loads", opt_loads},
    {"call_common", opt_call_common},
    {"call_accums", call_accums},
    {"loop_invariants", opt_loop_invariants},
    {"math", opt_math},
    {"order", opt_order},
    {"recompute", recompute},
    {"park", park},
};

static void check_passes(uint64_t seed)
{
    ir_module *plain = random_trace(
        seed, (random_trace_options){.no_fold = seed & 1, .no_merge = seed & 1, .no_steering = true});
    plain->no_fold = plain->no_merge = false; /* the passes fold what the builder left */
    plain->uniform_count += SMALL;
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        ir_module *one = passes[k].run(plain);
        if (one)
            check_pass(seed, plain, one, passes[k].name);
        ir_module_destroy(one);
    }
    ir_module *all = opt_dead(plain); /* in an order that the seed chooses */
    for (uint64_t k = 0, state = seed; k < 2 * sizeof passes / sizeof *passes; k++) {
        size_t which = random_below(&state, sizeof passes / sizeof *passes);
        ir_module *next = passes[which].run(all);
        if (!next)
            continue;
        check_pass(seed, plain, next, passes[which].name);
        ir_module_destroy(all);
        all = next;
    }
    ir_module_destroy(all);
    ir_module_destroy(plain);
}

static void merging_keeps_meaning(void **state)
{
    (void)state;
    each_seed(check_build);
}

static void folding_keeps_meaning(void **state)
{
    (void)state;
    each_seed(check_fold);
}

static void text_is_read_back(void **state)
{
    (void)state;
    each_seed(check_text);
}

static void passes_keep_meaning(void **state)
{
    (void)state;
    each_seed(check_passes);
}

/* The generator has to reach every op that it can, or the tests above say less than they seem to. */
static void every_op_occurs(void **state)
{
    (void)state;
    bool seen[IR_OP_COUNT] = {[IR_NOP] = true, [IR_RAY_CLOSEST] = true, [IR_RAY_ANY] = true};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        ir_module *m = random_trace(seed, (random_trace_options){0});
        for (uint32_t k = 0; k < m->functions.count; k++)
            for (uint32_t id = 1; id < m->functions.data[k]->inst.count; id++)
                seen[m->functions.data[k]->inst.data[id].op] = true;
        ir_module_destroy(m);
    }
    for (unsigned op = 0; op < IR_OP_COUNT; op++)
        if (!seen[op])
            fail_msg("no random trace holds %s", ir_op_table[op].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_occurs),       cmocka_unit_test(merging_keeps_meaning),
        cmocka_unit_test(folding_keeps_meaning), cmocka_unit_test(text_is_read_back),
        cmocka_unit_test(passes_keep_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
