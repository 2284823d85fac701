/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What random functions (ad_fuzz.c) do not say of derivatives: custom operations, suspended scopes,
 * isolation, states of open loops, reads without gradient, effects; that nothing is emitted for what nobody
 * asked for; and errors that say what to do. Expected numbers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ad/ad.h"
#include "spirv_gen/opt/opt.h"

#include <math.h>
#include <string.h>

enum {
    WORDS = 4,
    VALUES = 0,
    GRADIENTS = 1,
    TANGENTS = 2,
    GRADIENT_TANGENTS = 3,
    BUFFERS = 4,
    RESULTS_MOST = 8
};

typedef struct machine {
    double memory[BUFFERS][WORDS];
    double results[RESULTS_MOST];
} machine;

static machine machine_with_values(void)
{
    return (machine){.memory = {[VALUES] = {2, 3, 5, 7}, [TANGENTS] = {0.1, 0.2, 0.3, 0.4}}};
}

static ir_module *new_module(void)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "values", true, GRADIENTS);
    ir_buffer_add(m, "gradients", false, -1);
    ir_buffer_add(m, "tangents", true, -1);
    ir_buffer_add(m, "tangents of gradients", false, -1);
    m->buffers.data[VALUES].tangent = TANGENTS;
    m->buffers.data[GRADIENTS].tangent = GRADIENT_TANGENTS;
    return m;
}

static void check_module(ir_module *m)
{
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void expect_error(ir_module *m, const char *part)
{
    bl_error err = {0};
    assert_int_not_equal(ir_finish(m, &err), BL_OK);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
    ir_module_destroy(m);
}

/* Runs f on the machine's memory; its results are in k->results. */
static void eval(machine *k, const ir_func *f, const double *x)
{
    ir_value args[RESULTS_MOST] = {{0}}, out[RESULTS_MOST] = {{0}};
    ir_eval_buffer buffers[BUFFERS];
    bl_error err = {0};
    for (uint32_t i = 0; i < f->params.count; i++)
        args[i].f = x[i];
    for (uint32_t i = 0; i < BUFFERS; i++)
        buffers[i] = (ir_eval_buffer){.reals = k->memory[i], .count = WORDS};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFERS, .f64 = true};
    if (ir_eval(f, args, out, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < f->results.count; i++)
        k->results[i] = out[i].f;
}

static void expect(const machine *k, uint32_t count, const double *expected)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(fabs(k->results[i] - expected[i]) <= 1e-12 * (1 + fabs(expected[i]))))
            fail_msg("result %u is %.15g, expected %.15g", i, k->results[i], expected[i]);
}
#define EXPECT(k, ...) expect((k), sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static uint32_t count_ops(const ir_func *f, ir_op op)
{
    uint32_t count = 0;
    for (uint32_t id = 1; id < f->inst.count; id++)
        count += f->inst.data[id].op == op;
    return count;
}

static ir_func *ended(ir_func *f, ir_ref result)
{
    ir_return(f, &result, 1);
    return f;
}

/* ---- detach, replace_grad, memory ---- */

static void detached_values_have_no_tangent(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), y = ir_param(f, IR_F32);
    ir_ref a = ir_mul(f, ir_detach(f, x), y), b = ir_replace_grad(f, ir_mul(f, x, x), ir_mul(f, x, y));
    ir_func *jvp = ad_jvp(ended(f, ir_add(f, a, b)));
    check_module(m);
    machine k = machine_with_values();
    eval(&k, jvp, (double[]){3, 5, 0.5, 0.25});
    EXPECT(&k, 3 * 5 + 9, 3 * 0.25 + (5 * 0.5 + 3 * 0.25));
    ir_module_destroy(m);
}

static void reads_take_tangents_from_memory(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), none = ir_u32(f, ~0u), one = ir_u32(f, 1), two = ir_u32(f, 2);
    ir_ref by_condition = ir_select(f, ir_lt(f, x, ir_f32(f, 0)), two, none);
    ir_ref a = ir_dload(f, VALUES, one, one), b = ir_dload(f, VALUES, one, none),
           c = ir_dload(f, VALUES, two, by_condition);
    ir_ref d = ir_load(f, IR_F32, VALUES, two);
    ir_func *jvp = ad_jvp(ended(f, ir_mul(f, ir_mul(f, a, b), ir_mul(f, c, d))));
    check_module(m);
    machine k = machine_with_values();
    eval(&k, jvp, (double[]){1, 0});
    EXPECT(&k, 3 * 3 * 5 * 5, 0.2 * 3 * 5 * 5);
    eval(&k, jvp, (double[]){-1, 0});
    EXPECT(&k, 3 * 3 * 5 * 5, 0.2 * 3 * 5 * 5 + 3 * 3 * 0.3 * 5);
    ir_module_destroy(m);
}

/* Nothing is emitted for reads whose buffer has no tangents, nor for what nobody wants. */
static void only_what_is_wanted_is_emitted(void **state)
{
    (void)state;
    ir_module *m = new_module();
    m->buffers.data[VALUES].tangent = -1;
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), v = ir_dload(f, VALUES, ir_u32(f, 0), ir_u32(f, 0)),
           wanted = ir_mul(f, v, v), tangent;
    ir_ref s[2] = {x, ir_u32(f, 0)}, loop = ir_loop(f, s, 2); /* active, and not asked for */
    ir_while(f, ir_lt(f, s[1], ir_u32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_mul(f, s[0], x), ir_add(f, s[1], ir_u32(f, 1))}, 2);
    uint32_t before = f->inst.count;
    ad_forward(f, &x, &x, 1, &wanted, &tangent, 1);
    assert_true(ir_const_is(f, tangent, 0));
    assert_true(f->inst.count <= before + 1); /* the zero */
    ad_forward(f, NULL, NULL, 0, &s[0], &tangent, 1);
    assert_true(ir_const_is(f, tangent, 0));
    assert_int_equal(count_ops(f, IR_LOOP), 1);
    ir_return(f, s, 1);
    check_module(m);
    ir_module_destroy(m);
}

/* ---- loops ---- */

/* r = r x, s = s + u, t = t + 1: only r has a tangent. */
static void constant_states_stay_alone(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), u = ir_detach(f, ir_param(f, IR_F32)),
           s[3] = {ir_f32(f, 1), u, ir_u32(f, 0)};
    ir_ref loop = ir_loop(f, s, 3);
    ir_while(f, ir_lt(f, s[2], ir_u32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_mul(f, s[0], x), ir_add(f, s[1], u), ir_add(f, s[2], ir_u32(f, 1))}, 3);
    ir_func *jvp = ad_jvp(ended(f, ir_mul(f, s[0], s[1])));
    check_module(m);
    assert_int_equal(count_ops(jvp, IR_STATE), 4);
    machine k = machine_with_values();
    eval(&k, jvp, (double[]){2, 0.5, 0.1, 9});
    EXPECT(&k, 8 * 2, 3 * 4 * 0.1 * 2);
    ir_module_destroy(m);
}

/* A loop whose author carries the tangent: x^3 and its derivative. */
static void open_states_have_the_tangent_they_are_given(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        ir_module *m = new_module();
        ir_func *f = ir_func_create(m, "f");
        ir_ref x = ir_param(f, IR_F32), one = ir_f32(f, 1), s[3] = {one, ir_f32(f, 0), ir_u32(f, 0)}, tangent;
        ir_ref loop = ir_loop(f, s, 3);
        ir_while(f, ir_lt(f, s[2], ir_u32(f, 3)));
        ir_ref next = ir_mul(f, s[0], x);
        ad_forward(f, (ir_ref[]){x, s[0]}, (ir_ref[]){one, s[1]}, given ? 2 : 1, &next, &tangent, 1);
        ir_endloop(f, loop, (ir_ref[]){next, tangent, ir_add(f, s[2], ir_u32(f, 1))}, 3);
        ir_return(f, s, 2);
        if (!given) {
            expect_error(m, "still open: give it one, or detach");
            continue;
        }
        check_module(m);
        machine k = machine_with_values();
        eval(&k, f, (double[]){2});
        EXPECT(&k, 8, 12);
        ir_module_destroy(m);
    }
}

/* s += v_i x, over memory: the derivative is one more loop, and reads scatter. */
static void sum_loops_are_repeated(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), s[2] = {ir_mul(f, x, x), ir_u32(f, 0)};
    ir_ref loop = ir_loop(f, s, 2);
    ir_while(f, ir_lt(f, s[1], ir_u32(f, 3)));
    ir_ref term = ir_mul(f, ir_dload(f, VALUES, s[1], s[1]), ir_mul(f, x, ir_detach(f, s[0])));
    ir_endloop(f, loop, (ir_ref[]){ir_sub(f, s[0], term), ir_add(f, s[1], ir_u32(f, 1))}, 2);
    ir_func *vjp = ad_vjp(ended(f, s[0]));
    check_module(m);
    assert_int_equal(count_ops(vjp, IR_LOOP), 2);
    machine k = machine_with_values();
    eval(&k, vjp, (double[]){2, 10});
    /* states 4, 4 - 2 2 4 = -12, -12 + 3 2 12 = 60 */
    EXPECT(&k, 10 * (2 * 2 - 2 * 4 - 3 * -12 - 5 * 60));
    assert_float_equal(k.memory[GRADIENTS][0], -10.0 * 2 * 4, 1e-9);
    assert_float_equal(k.memory[GRADIENTS][1], -10.0 * 2 * -12, 1e-9);
    assert_float_equal(k.memory[GRADIENTS][2], -10.0 * 2 * 60, 1e-9);
    ir_module_destroy(m);
}

/* One state feeds the other: no sum, though both only add. */
static void sums_of_sums_are_refused(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), s[3] = {x, x, ir_u32(f, 0)};
    ir_ref loop = ir_loop(f, s, 3);
    ir_while(f, ir_lt(f, s[2], ir_u32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s[0], x), ir_add(f, s[1], s[0]), ir_add(f, s[2], ir_u32(f, 1))},
               3);
    ad_vjp(ended(f, s[1]));
    expect_error(m, "does more than add to it");
}

/* ---- local arrays and effects ---- */

static ir_func *array_function(ir_module *m)
{
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), zero = ir_u32(f, 0), array = ir_local(f, IR_F32, 2);
    ir_lstore(f, array, zero, x);
    ir_if(f, ir_lt(f, x, ir_f32(f, 9)));
    ir_lstore(f, array, zero, ir_mul(f, ir_lload(f, array, zero), x));
    ir_else(f);
    ir_lstore(f, array, zero, ir_f32(f, 1));
    ir_endif(f);
    ended(f, ir_mul(f, ir_lload(f, array, zero), x));
    return f;
}

static void arrays_carry_tangents(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *jvp = ad_jvp(array_function(m));
    check_module(m);
    machine k = machine_with_values();
    eval(&k, jvp, (double[]){2, 0.5});
    EXPECT(&k, 8, 12 * 0.5);
    eval(&k, jvp, (double[]){10, 0.5}); /* the constant overwrites the tangent, too */
    EXPECT(&k, 10, 0.5);
    ir_module_destroy(m);
}

static void effects_happen_once(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        ir_module *m = new_module();
        ir_func *callee = ir_func_create(m, "count"), *f = ir_func_create(m, "f");
        ir_ref p = ir_param(callee, IR_F32), zero = ir_u32(callee, 0);
        ir_accum(callee, GRADIENTS, zero, ir_mul(callee, p, p));
        ended(callee, ir_mul(callee, p, ir_f32(callee, 3)));
        ir_ref x = ir_param(f, IR_F32), y, tangent;
        ir_call(f, ir_u32(f, 0), &callee, 1, &x, 1, &y);
        if (in_place) {
            ad_forward(f, &x, &x, 1, &y, &tangent, 1);
            expect_error(m, "writes memory");
            continue;
        }
        ir_func *jvp = ad_jvp(ended(f, y));
        check_module(m);
        machine k = machine_with_values();
        eval(&k, jvp, (double[]){2, 0.5});
        EXPECT(&k, 6, 1.5);
        assert_float_equal(k.memory[GRADIENTS][0], 4, 0);
        assert_float_equal(k.memory[GRADIENT_TANGENTS][0], 2 * 2 * 0.5, 0);
        ir_module_destroy(m);
    }
}

/* ---- values with tangents of their own ---- */

/* y = 3 x from a call, s = x^3 from a loop beside t = x + 3 s', p = x^2 from a branch. Where their tangents
 * are given, nothing that makes them is differentiated or computed again, but t moves with x all the same. */
static void given_tangents_are_kept(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *callee = ir_func_create(m, "thrice"), *f = ir_func_create(m, "f");
    ended(callee, ir_mul(callee, ir_param(callee, IR_F32), ir_f32(callee, 3)));
    ir_ref x = ir_param(f, IR_F32), y, s[3] = {ir_f32(f, 1), x, ir_u32(f, 0)}, tangents[3];
    ir_call(f, ir_u32(f, 0), &callee, 1, &x, 1, &y);
    ir_ref loop = ir_loop(f, s, 3);
    ir_while(f, ir_lt(f, s[2], ir_u32(f, 3)));
    ir_ref again = ir_add(f, s[1], ir_mul(f, s[0], ir_f32(f, 3)));
    ir_endloop(f, loop, (ir_ref[]){ir_mul(f, s[0], x), again, ir_add(f, s[2], ir_u32(f, 1))}, 3);
    ir_ref branch = ir_if(f, ir_lt(f, x, ir_f32(f, 9))), square = ir_mul(f, x, x);
    ir_else(f);
    ir_endif(f);
    ir_ref p = ir_phi(f, branch, square, x), sum = ir_add(f, ir_add(f, y, s[0]), p);
    const ir_ref given[3] = {y, s[0], p}, by[3] = {ir_f32(f, 100), ir_f32(f, 10), ir_f32(f, 1)};
    ad_forward(f, given, by, 3, &sum, &tangents[0], 1);
    assert_int_equal(count_ops(f, IR_CALL), 1);
    assert_int_equal(count_ops(f, IR_LOOP), 1);
    assert_int_equal(count_ops(f, IR_IF), 1);
    ir_ref one = ir_f32(f, 1);
    ad_forward(f, (ir_ref[]){x, y, s[0]}, (ir_ref[]){one, by[0], by[1]}, 3, (ir_ref[]){sum, s[1]},
               tangents + 1, 2);
    ir_return(f, tangents, 3);
    check_module(m);
    machine k = machine_with_values();
    eval(&k, f, (double[]){2});
    EXPECT(&k, 111, 100 + 10 + 2 * 2, 1);
    ir_module_destroy(m);
}

/* ---- custom operations ---- */

/* y = x^2 + u with the derivatives 7 by x and 11 by u, and, reverse, 13 added to the gradient of word 1. */
static ir_func *custom_operation(ir_module *m)
{
    ir_func *primal = ir_func_create(m, "primal"), *jvp = ir_func_create(m, "forward"),
            *vjp = ir_func_create(m, "reverse");
    ir_ref x = ir_param(primal, IR_F32), n = ir_param(primal, IR_U32), u = ir_param(primal, IR_F32);
    (void)n;
    ended(primal, ir_add(primal, ir_mul(primal, ir_detach(primal, x), x), u));
    ir_param(jvp, IR_F32), ir_param(jvp, IR_U32), ir_param(jvp, IR_F32);
    ir_ref dx = ir_param(jvp, IR_F32), du = ir_param(jvp, IR_F32);
    ended(jvp, ir_add(jvp, ir_mul(jvp, dx, ir_f32(jvp, 7)), ir_mul(jvp, du, ir_f32(jvp, 11))));
    ir_param(vjp, IR_F32), ir_param(vjp, IR_U32), ir_param(vjp, IR_F32);
    ir_ref dy = ir_param(vjp, IR_F32);
    ir_accum(vjp, GRADIENTS, ir_u32(vjp, 1), ir_mul(vjp, dy, ir_f32(vjp, 13)));
    ir_return(vjp, (ir_ref[]){ir_mul(vjp, dy, ir_f32(vjp, 7)), ir_mul(vjp, dy, ir_f32(vjp, 11))}, 2);
    ad_custom(primal, jvp, vjp);
    return primal;
}

/* As one target of two; the other is 5 x. The second argument is a constant. */
static void custom_operations_have_their_own_derivatives(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *targets[2] = {custom_operation(m), ir_func_create(m, "other")};
    ir_ref other = ir_param(targets[1], IR_F32);
    ir_param(targets[1], IR_U32), ir_param(targets[1], IR_F32);
    ended(targets[1], ir_mul(targets[1], other, ir_f32(targets[1], 5)));
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), which = ir_to_u32(f, ir_detach(f, ir_param(f, IR_F32))), y;
    ir_call(f, which, targets, 2, (ir_ref[]){ir_mul(f, x, x), ir_u32(f, 0), ir_f32(f, 1)}, 3, &y);
    ended(f, y);
    ir_func *jvp = ad_jvp(f), *vjp = ad_vjp(f);
    check_module(m);
    machine k = machine_with_values();
    eval(&k, jvp, (double[]){3, 0, 0.5, 0});
    EXPECT(&k, 82, 7 * 6 * 0.5);
    eval(&k, jvp, (double[]){3, 1, 0.5, 0});
    EXPECT(&k, 45, 5 * 6 * 0.5);
    eval(&k, vjp, (double[]){3, 0, 2});
    EXPECT(&k, 2 * 7 * 6, 0);
    assert_float_equal(k.memory[GRADIENTS][1], 26, 0);
    eval(&k, vjp, (double[]){3, 1, 2});
    EXPECT(&k, 2 * 5 * 6, 0);
    assert_float_equal(k.memory[GRADIENTS][1], 26, 0);
    ir_module_destroy(m);
}

static void custom_operations_have_to_fit(void **state)
{
    (void)state;
    for (int reverse = 0; reverse < 2; reverse++) {
        ir_module *m = new_module();
        ir_func *f = ir_func_create(m, "f"), *wrong = ir_func_create(m, "wrong");
        ended(f, ir_param(f, IR_F32));
        ended(wrong, ir_param(wrong, IR_F32));
        ad_custom(f, reverse ? NULL : wrong, reverse ? wrong : NULL);
        expect_error(m, reverse ? "\"wrong\" is not a vjp of \"f\"" : "\"wrong\" is not a jvp of \"f\"");
    }
}

/* ---- scopes ---- */

/* x^2 differentiated, the same expression suspended, and in a resumed scope within; x 1, which folds to x; a
 * read; a branch. */
static void suspended_scopes_are_constants(void **state)
{
    (void)state;
    for (int no_fold = 0; no_fold < 2; no_fold++) {
        ir_module *m = new_module();
        m->no_fold = no_fold;
        ir_func *f = ir_func_create(m, "f");
        ir_ref x = ir_param(f, IR_F32), zero = ir_u32(f, 0), differentiated = ir_mul(f, x, x);
        assert_false(ir_suspend(f, true));
        ir_ref square = ir_mul(f, x, x), folded = ir_mul(f, x, ir_f32(f, 1)),
               read = ir_dload(f, VALUES, zero, zero);
        ir_ref branch = ir_if(f, ir_lt(f, x, ir_f32(f, 9)));
        ir_else(f);
        ir_endif(f);
        ir_ref chosen = ir_phi(f, branch, x, x);
        assert_true(ir_suspend(f, false));
        ir_ref resumed = ir_mul(f, x, square);
        ir_suspend(f, true);
        assert_true(ir_suspend(f, false));
        assert_false(ir_same(square, differentiated));
        assert_true(ir_same(ir_mul(f, x, x), differentiated));
        ir_ref sum = ir_add(f, ir_add(f, differentiated, square),
                            ir_add(f, ir_add(f, folded, chosen), ir_add(f, read, resumed)));
        ended(f, sum);
        ir_func *jvp = ad_jvp(f), *vjp = ad_vjp(f), *again = ad_jvp(vjp);
        check_module(m);
        machine k = machine_with_values();
        eval(&k, jvp, (double[]){3, 0.5});
        EXPECT(&k, 9 + 9 + 3 + 3 + 2 + 27, (6 + 9) * 0.5);
        eval(&k, vjp, (double[]){3, 10});
        EXPECT(&k, 10 * (6 + 9));
        assert_float_equal(k.memory[GRADIENTS][0], 0, 0);
        eval(&k, again, (double[]){3, 10, 0.5, 0}); /* suspended in derivatives of derivatives, too */
        EXPECT(&k, 10 * (6 + 9), 10 * 2 * 0.5);
        ir_module *dead = opt_dead(m); /* after passes the flag is gone, and equal values merge */
        check_module(dead);
        for (uint32_t i = 0; i < dead->functions.count; i++)
            for (uint32_t id = 1; id < dead->functions.data[i]->inst.count; id++)
                assert_int_equal(dead->functions.data[i]->inst.data[id].flags, 0);
        ir_module_destroy(dead);
        ir_module_destroy(m);
    }
}

/* A sweep that stays in its scope, and one that carries what it brought to the border further on, are one
 * sweep. */
static void a_sweep_can_stop_at_the_border(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), seed = ir_f32(f, 1), outside = ir_sin(f, x), inside[2], at_border,
           part[2], whole[1], joined;
    inside[0] = ir_mul(f, outside, outside), inside[1] = ir_exp(f, outside);
    for (int k = 0; k < 2; k++)
        ad_backward(f, &inside[k], &seed, 1, &outside, &part[k], 1);
    at_border = ir_add(f, part[0], part[1]);
    ad_backward(f, &outside, &at_border, 1, &x, &joined, 1);
    ad_backward(f, inside, (ir_ref[]){seed, seed}, 2, &x, whole, 1);
    ir_return(f, (ir_ref[]){joined, whole[0]}, 2);
    check_module(m);
    machine k = machine_with_values();
    eval(&k, f, (double[]){0.7});
    double expected = (2 * sin(0.7) + exp(sin(0.7))) * cos(0.7);
    EXPECT(&k, expected, expected);
    ir_module_destroy(m);
}

/* ---- forward over reverse ---- */

/* sum_i v_i^2 v_(i+1): Hessian times the tangents in memory. */
static void hessian_vector_products(void **state)
{
    (void)state;
    ir_module *m = new_module();
    ir_func *f = ir_func_create(m, "loss");
    ir_ref sum = ir_f32(f, 0);
    for (uint32_t i = 0; i + 1 < WORDS; i++) {
        ir_ref a = ir_dload(f, VALUES, ir_u32(f, i), ir_u32(f, i)),
               b = ir_dload(f, VALUES, ir_u32(f, i + 1), ir_u32(f, i + 1));
        sum = ir_add(f, sum, ir_mul(f, ir_mul(f, a, a), b));
    }
    ir_func *hvp = ad_jvp(ad_vjp(ended(f, sum)));
    check_module(m);
    machine k = machine_with_values();
    eval(&k, hvp, (double[]){1, 0});
    const double v[WORDS] = {2, 3, 5, 7}, t[WORDS] = {0.1, 0.2, 0.3, 0.4};
    for (uint32_t i = 0; i < WORDS; i++) {
        double g = 0, h = 0;
        if (i + 1 < WORDS)
            g += 2 * v[i] * v[i + 1], h += 2 * (t[i] * v[i + 1] + v[i] * t[i + 1]);
        if (i > 0)
            g += v[i - 1] * v[i - 1], h += 2 * v[i - 1] * t[i - 1];
        assert_float_equal(k.memory[GRADIENTS][i], g, 1e-9);
        assert_float_equal(k.memory[GRADIENT_TANGENTS][i], h, 1e-9);
    }
    ir_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detached_values_have_no_tangent),
        cmocka_unit_test(reads_take_tangents_from_memory),
        cmocka_unit_test(only_what_is_wanted_is_emitted),
        cmocka_unit_test(constant_states_stay_alone),
        cmocka_unit_test(open_states_have_the_tangent_they_are_given),
        cmocka_unit_test(sum_loops_are_repeated),
        cmocka_unit_test(sums_of_sums_are_refused),
        cmocka_unit_test(arrays_carry_tangents),
        cmocka_unit_test(effects_happen_once),
        cmocka_unit_test(given_tangents_are_kept),
        cmocka_unit_test(custom_operations_have_their_own_derivatives),
        cmocka_unit_test(custom_operations_have_to_fit),
        cmocka_unit_test(suspended_scopes_are_constants),
        cmocka_unit_test(a_sweep_can_stop_at_the_border),
        cmocka_unit_test(hessian_vector_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
