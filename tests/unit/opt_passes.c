/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Dead code, inlining and the pipeline: what has to disappear does, what has an effect stays, and random
 * programs mean the same before and after (ir_fuzz.c runs the single passes; here it is opt_run). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/random_trace.h"

#include <string.h>

enum { DATA, MEMORY };

static ir_module *module_create(void)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "data", true, -1);
    ir_buffer_add(m, "memory", false, -1);
    return m;
}

static void finish(ir_module *m)
{
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static uint32_t count_ops(const ir_module *m, ir_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->functions.count; i++)
        for (uint32_t id = 1; id < m->functions.data[i]->inst.count; id++)
            count += m->functions.data[i]->inst.data[id].op == op;
    return count;
}

/* Instructions that do something: all but constants, parameters and the like. */
static uint32_t count_work(const ir_module *m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->functions.count; i++)
        for (uint32_t id = 1; id < m->functions.data[i]->inst.count; id++)
            count += ir_op_table[m->functions.data[i]->inst.data[id].op].effect != IR_EFFECT_FLOAT;
    return count;
}

/* Frees m. */
static ir_module *dead(ir_module *m)
{
    finish(m);
    ir_module *result = opt_dead(m);
    finish(result);
    ir_module_destroy(m);
    return result;
}

static ir_module *inlined(ir_module *m)
{
    finish(m);
    ir_module *result = opt_inline_single(m);
    finish(result);
    ir_module_destroy(m);
    return result;
}

static void store_result(ir_func *f, ir_ref value) { ir_store(f, MEMORY, ir_u32(f, 0), value); }

/* Ends `entry` as the entry of its module. */
static ir_module *end_entry(ir_func *entry)
{
    ir_return(entry, NULL, 0);
    entry->module->entry = entry;
    return entry->module;
}

static uint32_t run_entry(const ir_module *m)
{
    uint32_t data[4] = {3, 5, 7, 9}, memory[4] = {0};
    ir_eval_buffer buffers[2] = {{.words = data, .count = 4}, {.words = memory, .count = 4}};
    ir_eval_env env = {.buffers = buffers, .buffer_count = 2, .step_limit = 10000};
    bl_error err = {0};
    if (ir_eval(m->entry, NULL, NULL, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    return memory[0];
}

/* ---- dead code ---- */

static void unused_values_and_regions_disappear(void **state)
{
    (void)state;
    ir_func *f = ir_func_create(module_create(), "main");
    ir_ref x = ir_load(f, IR_U32, DATA, ir_u32(f, 1)), unused = ir_mul(f, x, x),
           local = ir_local(f, IR_U32, 4);
    ir_lstore(f, local, ir_u32(f, 0), unused);
    ir_ref branch = ir_if(f, ir_lt(f, unused, x));
    ir_ref a = ir_add(f, x, x);
    ir_else(f);
    ir_endif(f);
    ir_ref s = ir_phi(f, branch, a, x), loop = ir_loop(f, &s, 1);
    ir_while(f, ir_lt(f, s, ir_u32(f, 100)));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s, x)}, 1);
    store_result(f, x);
    ir_module *m = dead(end_entry(f));
    assert_int_equal(count_work(m), 2); /* load, store */
    assert_int_equal(run_entry(m), 5);
    ir_module_destroy(m);
}

/* Of three states one counts, one is read afterwards, one only feeds itself. */
static void useless_states_disappear(void **state)
{
    (void)state;
    ir_func *f = ir_func_create(module_create(), "main");
    ir_ref x = ir_load(f, IR_U32, DATA, ir_u32(f, 1)), one = ir_u32(f, 1);
    ir_ref s[3] = {ir_u32(f, 0), x, one}, loop = ir_loop(f, s, 3);
    ir_while(f, ir_lt(f, s[0], ir_u32(f, 4)));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s[0], one), ir_mul(f, s[1], x), ir_add(f, s[1], s[2])}, 3);
    store_result(f, s[2]);
    ir_module *m = dead(end_entry(f));
    assert_int_equal(count_ops(m, IR_STATE), 3); /* the third one reads the second */
    ir_module_destroy(m);

    f = ir_func_create(module_create(), "main");
    x = ir_load(f, IR_U32, DATA, ir_u32(f, 1)), one = ir_u32(f, 1);
    s[0] = ir_u32(f, 0), s[1] = s[2] = x, loop = ir_loop(f, s, 3);
    ir_while(f, ir_lt(f, s[0], ir_u32(f, 4)));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s[0], one), ir_add(f, s[1], x), ir_add(f, s[1], s[2])}, 3);
    store_result(f, s[1]);
    m = dead(end_entry(f));
    assert_int_equal(count_ops(m, IR_STATE), 2);
    assert_int_equal(run_entry(m), 25);
    ir_module_destroy(m);
}

static void effects_keep_what_holds_them(void **state)
{
    (void)state;
    ir_func *f = ir_func_create(module_create(), "main");
    ir_ref x = ir_load(f, IR_U32, DATA, ir_u32(f, 1)), local = ir_local(f, IR_U32, 4);
    ir_ref s = ir_u32(f, 0), loop = ir_loop(f, &s, 1);
    ir_while(f, ir_lt(f, s, ir_u32(f, 3)));
    ir_lstore(f, local, s, ir_mul(f, s, x));
    ir_if(f, ir_eq(f, s, ir_u32(f, 1)));
    ir_else(f);
    ir_atomic_add(f, MEMORY, ir_u32(f, 0), ir_lload(f, local, s));
    ir_endif(f);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s, ir_u32(f, 1))}, 1);
    finish(end_entry(f));
    ir_module *m = opt_dead(f->module);
    finish(m);
    assert_int_equal(run_entry(f->module), 10);
    assert_int_equal(run_entry(m), 10);
    assert_int_equal(count_work(m), count_work(f->module));
    ir_module_destroy(f->module);
    ir_module_destroy(m);
}

static ir_func *make_callee(ir_module *m, const char *name, bool writes, uint32_t factor)
{
    ir_func *f = ir_func_create(m, name);
    ir_ref x = ir_param(f, IR_U32), y = ir_mul(f, x, ir_u32(f, factor));
    if (writes)
        ir_atomic_add(f, MEMORY, ir_u32(f, 0), y);
    ir_return(f, &y, 1);
    return f;
}

/* Effects count through calls of calls. */
static void calls_without_effect_disappear(void **state)
{
    (void)state;
    ir_module *m = module_create();
    ir_func *outer = ir_func_create(m, "outer"); /* before what it calls */
    ir_func *pure[2] = {make_callee(m, "p0", false, 2), make_callee(m, "p1", false, 3)};
    ir_func *mixed[2] = {make_callee(m, "m0", false, 4), make_callee(m, "m1", true, 5)};
    ir_func *f = ir_func_create(m, "main");
    ir_ref p = ir_param(outer, IR_U32), r, selector = ir_load(f, IR_U32, DATA, ir_u32(f, 0)),
           one = ir_u32(f, 1);
    ir_call(outer, p, mixed, 2, &p, 1, &r);
    ir_return(outer, &r, 1);
    selector = ir_sub(f, selector, ir_u32(f, 3));
    ir_call(f, selector, pure, 2, &one, 1, &r);
    ir_call(f, selector, &outer, 1, &one, 1, &r);
    m = dead(end_entry(f));
    assert_int_equal(count_ops(m, IR_CALL), 2); /* main -> outer -> mixed */
    assert_int_equal(m->functions.count, 4);
    assert_int_equal(run_entry(m), 5);
    ir_module_destroy(m);
}

/* ---- inlining ---- */

static void single_targets_are_inlined(void **state)
{
    (void)state;
    ir_module *m = module_create();
    ir_func *leaf[2] = {make_callee(m, "l0", false, 2), make_callee(m, "l1", true, 3)};
    ir_func *same[2] = {leaf[0], leaf[0]}, *middle = ir_func_create(m, "middle"),
            *f = ir_func_create(m, "main");
    ir_ref p = ir_param(middle, IR_U32), q, r, x = ir_load(f, IR_U32, DATA, ir_u32(f, 2)), one = ir_u32(f, 1);
    ir_call(middle, p, same, 2, &p, 1, &q);                 /* equal targets */
    ir_call(middle, ir_u32(middle, 1), leaf, 2, &q, 1, &r); /* constant selector */
    ir_return(middle, &r, 1);
    ir_call(f, x, &middle, 1, &x, 1, &r);                       /* one target */
    ir_call(f, ir_sub(f, x, ir_u32(f, 7)), leaf, 2, &r, 1, &q); /* stays: 7 - 7 is not known here */
    ir_atomic_add(f, MEMORY, ir_u32(f, 0), ir_add(f, q, one));
    m = inlined(end_entry(f));
    assert_int_equal(count_ops(m, IR_CALL), 1);
    assert_int_equal(run_entry(m), 7 * 2 * 3 + 7 * 2 * 3 * 2 + 1);
    ir_module *again = opt_inline_single(m);
    assert_int_equal(again->functions.count, 3); /* main and the leaves: middle has no caller left */
    ir_module_destroy(again);
    ir_module_destroy(m);
}

/* ---- the pipeline ---- */

static void log_pass(void *user, const char *pass, const ir_module *m)
{
    text_add(user, "%s(%u) ", pass, m->functions.count ? 1u : 0u);
}

static void passes_are_dumped_by_name(void **state)
{
    (void)state;
    text log = {0};
    ir_func *f = ir_func_create(module_create(), "main");
    store_result(f, ir_load(f, IR_U32, DATA, ir_u32(f, 1)));
    ir_module *m = end_entry(f), *out;
    opt_options o = {.dump = log_pass, .user = &log};
    assert_int_equal(opt_run(m, &o, &out, NULL), BL_OK);
    assert_non_null(strstr(log.data, "dead(1) "));
    assert_non_null(strstr(log.data, "loads(1) math(1) dead(1) ")); /* no rays, no gradients, no loops */
    assert_int_equal(run_entry(out), 5);
    assert_int_equal(run_entry(m), 5);
    text_free(&log);
    ir_module_destroy(m);
    ir_module_destroy(out);
}

static void errors_come_through(void **state)
{
    (void)state;
    ir_func *f = ir_func_create(module_create(), "main");
    ir_fail(f, "no such thing");
    ir_module *out = f->module;
    opt_options o = {0};
    bl_error err = {0};
    assert_int_equal(opt_run(f->module, &o, &out, &err), BL_ERROR_COMPILE);
    assert_non_null(strstr(err.text, "no such thing"));
    assert_null(out);
    ir_module_destroy(f->module);
}

typedef struct memory {
    uint32_t words[RANDOM_TRACE_BUFFERS][RANDOM_TRACE_WORDS];
} memory;

static void run_random(const ir_module *m, uint64_t seed, memory *out)
{
    uint32_t uniforms[RANDOM_TRACE_UNIFORMS];
    ir_eval_buffer buffers[RANDOM_TRACE_BUFFERS];
    bl_error err = {0};
    random_trace_fill(seed ^ 1, &out->words[0][0], RANDOM_TRACE_BUFFERS * RANDOM_TRACE_WORDS);
    random_trace_fill(seed ^ 2, uniforms, RANDOM_TRACE_UNIFORMS);
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        buffers[i] = (ir_eval_buffer){.words = out->words[i], .count = RANDOM_TRACE_WORDS};
    ir_eval_env env = {
        .buffers = buffers,
        .buffer_count = RANDOM_TRACE_BUFFERS,
        .uniforms = uniforms,
        .uniform_count = RANDOM_TRACE_UNIFORMS,
        .global_id = 3,
        .step_limit = 10000000,
    };
    if (ir_eval(m->entry, NULL, NULL, &env, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
}

/* FLOAT and CAS add in the interpreter's order, so even gradients are the same words. */
static void random_programs_mean_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        random_trace_options options = {.no_fold = seed & 1, .no_merge = seed & 2, .no_steering = true};
        ir_module *m = random_trace(seed, options), *out;
        opt_options o = {.accumulate = seed % 3 ? OPT_ACCUMULATE_FLOAT : OPT_ACCUMULATE_CAS};
        memory before, after;
        bl_error err = {0};
        run_random(m, seed, &before);
        if (opt_run(m, &o, &out, &err) != BL_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        run_random(out, seed, &after);
        if (memcmp(&before, &after, sizeof before) != 0)
            fail_msg("seed %llu: the pipeline changes the program", (unsigned long long)seed);
        ir_module_destroy(m);
        ir_module_destroy(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_values_and_regions_disappear),
        cmocka_unit_test(useless_states_disappear),
        cmocka_unit_test(effects_keep_what_holds_them),
        cmocka_unit_test(calls_without_effect_disappear),
        cmocka_unit_test(single_targets_are_inlined),
        cmocka_unit_test(passes_are_dumped_by_name),
        cmocka_unit_test(errors_come_through),
        cmocka_unit_test(random_programs_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
