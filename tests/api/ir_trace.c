/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The public tracing API without a device: every way to record a bad trace is a text with the op and its
 * place; traces run in the interpreter; derivatives are those of analysis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_ir.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bad traces ---- */

typedef struct fixture {
    bl_ir *ir;
    bl_ir_func *f, *ended, *helper; /* open; ended, (f32) -> f32; open */
    bl_ir_value real, word;
} fixture;

static void type_mismatch(fixture *x) { bl_ir_add(x->f, x->real, x->word); }
static void no_such_value(fixture *x) { bl_ir_sin(x->f, (bl_ir_value){12345}); }
static void no_value(fixture *x) { bl_ir_sin(x->f, (bl_ir_value){0}); }
static void after_the_end(fixture *x) { bl_ir_f32(x->ended, 1); }
static void op_after_the_end(fixture *x) { bl_ir_neg(x->ended, (bl_ir_value){1}); }
static void return_twice(fixture *x) { bl_ir_return(x->ended, NULL, 0); }
static void else_alone(fixture *x) { bl_ir_else(x->f); }
static void endif_alone(fixture *x) { bl_ir_endif(x->f); }
static void while_alone(fixture *x) { bl_ir_while(x->f, bl_ir_bool(x->f, true)); }
static void condition_is_real(fixture *x) { bl_ir_if(x->f, x->real); }
static void return_in_if(fixture *x)
{
    bl_ir_if(x->f, bl_ir_bool(x->f, true));
    bl_ir_return(x->f, NULL, 0);
}
static void out_of_its_branch(fixture *x)
{
    bl_ir_if(x->f, bl_ir_lt(x->f, x->word, bl_ir_u32(x->f, 3)));
    bl_ir_value inside = bl_ir_load(x->f, BL_IR_F32, 1, x->word);
    bl_ir_else(x->f);
    bl_ir_endif(x->f);
    bl_ir_neg(x->f, inside);
}
static void states_do_not_match(fixture *x)
{
    bl_ir_value state = x->real, loop = bl_ir_loop(x->f, &state, 1);
    bl_ir_while(x->f, bl_ir_bool(x->f, false));
    bl_ir_endloop(x->f, loop, &x->word, 1);
}
static void too_few_states(fixture *x)
{
    bl_ir_value state = x->real, loop = bl_ir_loop(x->f, &state, 1);
    bl_ir_while(x->f, bl_ir_bool(x->f, false));
    bl_ir_endloop(x->f, loop, NULL, 0);
}
static void no_such_buffer(fixture *x) { bl_ir_load(x->f, BL_IR_F32, 9, x->word); }
static void store_to_constant(fixture *x) { bl_ir_store(x->f, 0, x->word, x->real); }
static void load_of_bool(fixture *x) { bl_ir_load(x->f, BL_IR_BOOL, 0, x->word); }
static void no_partner(fixture *x) { bl_ir_dload(x->f, 0, x->word, x->word); }
static void no_such_partner(fixture *x) { bl_ir_buffer_gradient(x->ir, 0, 7); }
static void no_such_type(fixture *x) { bl_ir_param(x->f, (bl_ir_type)77); }
static void no_such_uniform(fixture *x) { bl_ir_uniform(x->f, BL_IR_U32, BL_IR_UNIFORMS); }
static void atomic_of_real(fixture *x) { bl_ir_atomic_add(x->f, 1, x->word, x->real); }
static void empty_array(fixture *x) { bl_ir_local(x->f, BL_IR_F32, 0); }
static void not_an_array(fixture *x) { bl_ir_lload(x->f, x->real, x->word); }
static void too_few_arguments(fixture *x)
{
    bl_ir_value result;
    bl_ir_call(x->f, x->word, &x->ended, 1, NULL, 0, &result);
}
static void call_of_open(fixture *x) { bl_ir_call(x->f, x->word, &x->helper, 1, NULL, 0, NULL); }
static void entry_with_parameters(fixture *x) { bl_ir_entry(x->ended); }
static void derivative_of_integer(fixture *x)
{
    bl_ir_value out;
    bl_ir_backward(x->f, &x->word, &x->real, 1, &x->real, &out, 1);
}
static void derivative_after_the_end(fixture *x) { bl_ir_backward(x->ended, NULL, NULL, 0, NULL, NULL, 0); }
static void custom_of_open(fixture *x) { bl_ir_custom(x->f, NULL, NULL); }
static void custom_does_not_fit(fixture *x) { bl_ir_custom(x->ended, x->ended, NULL); }

static const struct bad_trace {
    void (*record)(fixture *x);
    const char *op, *reason;
} bad_traces[] = {
    {type_mismatch, "add", "f32"},
    {no_such_value, "sin", "%12345 does not exist"},
    {no_value, "sin", "%0 does not exist"},
    {after_the_end, "f32", "after the end"},
    {op_after_the_end, "neg", "after the end"},
    {return_twice, "return", "after the end"},
    {else_alone, "else", "without an open if"},
    {endif_alone, "endif", "without an open else"},
    {while_alone, "while", "without an open loop"},
    {condition_is_real, "if", "is f32, expected bool"},
    {return_in_if, "return", "inside an open if"},
    {out_of_its_branch, "neg", "has ended"},
    {states_do_not_match, "endloop", "is u32, expected f32"},
    {too_few_states, "endloop", "more states"},
    {no_such_buffer, "load", "buffer 9 does not exist"},
    {store_to_constant, "store", "is constant"},
    {load_of_bool, "load", "expected i32"},
    {no_partner, "dload", "no gradient partner"},
    {no_such_partner, "buffer_gradient", "buffer 7 does not exist"},
    {no_such_type, "param", "type 77"},
    {no_such_uniform, "uniform", "word 31"},
    {atomic_of_real, "atomic_add", "is f32, expected u32"},
    {empty_array, "local", "0 elements"},
    {not_an_array, "lload", "not a local array"},
    {too_few_arguments, "call", "0 arguments"},
    {call_of_open, "call", "not finished"},
    {entry_with_parameters, "entry", "1 parameters"},
    {derivative_of_integer, "backward", "not a f32"},
    {derivative_after_the_end, "backward", "after the end"},
    {custom_of_open, "custom", "not ended"},
    {custom_does_not_fit, "custom", "is not a jvp"},
};

static fixture begin(void)
{
    fixture x = {.ir = bl_ir_create()};
    bl_ir_buffer(x.ir, "read", true);
    bl_ir_buffer(x.ir, "written", false);
    x.ended = bl_ir_func_create(x.ir, "ended");
    bl_ir_value p = bl_ir_param(x.ended, BL_IR_F32);
    bl_ir_return(x.ended, &p, 1);
    x.helper = bl_ir_func_create(x.ir, "helper");
    x.f = bl_ir_func_create(x.ir, "victim");
    x.word = bl_ir_global_id(x.f);
    x.real = bl_ir_load(x.f, BL_IR_F32, 0, x.word);
    assert_string_equal(bl_ir_error(x.ir), "");
    return x;
}

static void bad_traces_are_texts(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof bad_traces / sizeof *bad_traces; k++) {
        fixture x = begin();
        char *listing;
        bad_traces[k].record(&x);
        char *first = strdup(bl_ir_error(x.ir));
        if (!strstr(first, bad_traces[k].op) || !strstr(first, bad_traces[k].reason))
            fail_msg("case %zu: expected %s .. %s, got: %s", k, bad_traces[k].op, bad_traces[k].reason,
                     first);
        if (!strstr(first, "buffer_gradient")) /* a buffer's mistake has no function */
            assert_true(strstr(first, "function \"") && strstr(first, "after %"));
        assert_int_equal(bl_ir_add(x.f, x.real, x.word).id,
                         0); /* nothing more is recorded, and the first error stays */
        assert_string_equal(bl_ir_error(x.ir), first);
        assert_int_equal(bl_ir_interpret(x.ir, NULL, 0, NULL, 0, 1), BL_ERROR_COMPILE);
        assert_int_equal(bl_ir_text(x.ir, true, &listing), BL_ERROR_COMPILE);
        assert_null(listing);
        free(first);
        bl_ir_destroy(x.ir);
    }
}

static void what_is_not_complete_does_not_run(void **state)
{
    (void)state;
    fixture x = begin();
    bl_ir_return(x.f, NULL, 0);
    bl_ir_return(x.helper, NULL, 0);
    assert_int_equal(bl_ir_interpret(x.ir, NULL, 0, NULL, 0, 1), BL_ERROR_COMPILE);
    assert_non_null(strstr(bl_ir_error(x.ir), "entry"));
    bl_ir_entry(x.f);
    assert_int_equal(bl_ir_interpret(x.ir, NULL, 0, NULL, 0, 1), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_ir_error(x.ir), "0 buffers"));
    float word = 1;
    bl_ir_memory memory[2] = {{&word, 1}, {&word, 1}};
    assert_int_equal(bl_ir_interpret(x.ir, memory, 2, NULL, 0, 1), BL_OK);
    assert_int_equal(bl_ir_interpret(x.ir, memory, 2, NULL, 0, 2),
                     BL_ERROR_ARGUMENT); /* invocation 1 reads behind the end */
    assert_non_null(strstr(bl_ir_error(x.ir), "load"));
    bl_ir_destroy(x.ir);
}

/* ---- derivatives: g(p, q) = sum over k < 4 of sin(p x_k) q, by p and q ---- */

enum { X, P, GRADIENT, TANGENT, OUT, BUFFERS };
static const float xs[4] = {0.3f, -1.1f, 0.7f, 2.0f};

static bl_ir_value term(bl_ir_func *f, bl_ir_value x, bl_ir_value p, bl_ir_value q)
{
    return bl_ir_mul(f, bl_ir_sin(f, bl_ir_mul(f, p, x)), q);
}

static bl_ir *trace_g(bool reverse)
{
    bl_ir *ir = bl_ir_create();
    bl_ir_buffer(ir, "x", true);
    bl_ir_buffer(ir, "p", true);
    bl_ir_buffer(ir, "dp", false);
    bl_ir_buffer(ir, "p.", true);
    bl_ir_buffer(ir, "out", false);
    bl_ir_buffer_gradient(ir, P, GRADIENT);
    bl_ir_buffer_tangent(ir, P, TANGENT);
    bl_ir_func *f = bl_ir_func_create(ir, "g");
    bl_ir_value zero = bl_ir_u32(f, 0), one = bl_ir_u32(f, 1);
    bl_ir_value p = bl_ir_dload(f, P, zero, zero), q = bl_ir_dload(f, P, one, one);
    bl_ir_value state[2] = {zero, bl_ir_f32(f, 0)}; /* counter, sum: a loop that only adds */
    bl_ir_value loop = bl_ir_loop(f, state, 2);
    bl_ir_while(f, bl_ir_lt(f, state[0], bl_ir_u32(f, 4)));
    bl_ir_value next[2] = {bl_ir_add(f, state[0], one),
                           bl_ir_add(f, state[1], term(f, bl_ir_load(f, BL_IR_F32, X, state[0]), p, q))};
    bl_ir_endloop(f, loop, next, 2);
    bl_ir_store(f, OUT, zero, state[1]);
    if (reverse) {
        bl_ir_value seed = bl_ir_f32(f, 1);
        bl_ir_backward(f, &state[1], &seed, 1, NULL, NULL, 0);
    } else {
        bl_ir_value tangent;
        bl_ir_forward(f, NULL, NULL, 0, &state[1], &tangent, 1);
        bl_ir_store(f, OUT, one, tangent);
    }
    bl_ir_return(f, NULL, 0);
    bl_ir_entry(f);
    return ir;
}

static void derivatives_are_those_of_analysis(void **state)
{
    (void)state;
    float x[4], p[2] = {0.8f, 1.7f}, gradient[2] = {0}, tangent[2] = {0.5f, -2}, out[2] = {0};
    memcpy(x, xs, sizeof x);
    double g = 0, by_p = 0, by_q = 0;
    for (int k = 0; k < 4; k++) {
        double a = (double)p[0] * (double)x[k];
        g += sin(a) * (double)p[1], by_p += cos(a) * (double)x[k] * (double)p[1], by_q += sin(a);
    }
    bl_ir_memory memory[BUFFERS] = {{x, 4}, {p, 2}, {gradient, 2}, {tangent, 2}, {out, 2}};
    for (int reverse = 0; reverse < 2; reverse++) {
        bl_ir *ir = trace_g(reverse);
        if (bl_ir_interpret(ir, memory, BUFFERS, NULL, 0, 1) != BL_OK)
            fail_msg("%s", bl_ir_error(ir));
        assert_true(fabs((double)out[0] - g) < 1e-5);
        bl_ir_destroy(ir);
    }
    assert_true(fabs((double)gradient[0] - by_p) < 1e-5 && fabs((double)gradient[1] - by_q) < 1e-5);
    assert_true(fabs((double)out[1] - (0.5 * by_p - 2 * by_q)) < 1e-5);
}

/* Reverse mode of a function of one number at x, through a call of it. Destroys the trace. */
static float slope(bl_ir *ir, bl_ir_func *function, float x)
{
    uint32_t out = bl_ir_buffer(ir, "out", false), word;
    bl_ir_func *f = bl_ir_func_create(ir, "main");
    bl_ir_value zero = bl_ir_u32(f, 0), at = bl_ir_uniform(f, BL_IR_F32, 0), y, seed = bl_ir_f32(f, 1), dx;
    bl_ir_call(f, zero, &function, 1, &at, 1, &y);
    bl_ir_backward(f, &y, &seed, 1, &at, &dx, 1);
    bl_ir_store(f, out, zero, dx);
    bl_ir_return(f, NULL, 0);
    bl_ir_entry(f);
    float got = 0;
    memcpy(&word, &x, sizeof word);
    if (bl_ir_interpret(ir, &(bl_ir_memory){&got, 1}, 1, &word, 1, 1) != BL_OK)
        fail_msg("%s", bl_ir_error(ir));
    bl_ir_destroy(ir);
    return got;
}

static bl_ir_func *square_of(bl_ir *ir)
{
    bl_ir_func *square = bl_ir_func_create(ir, "square");
    bl_ir_value a = bl_ir_param(square, BL_IR_F32), result = bl_ir_mul(square, a, a);
    bl_ir_return(square, &result, 1);
    return square;
}

/* A custom operation whose vjp is three times the truth is believed. */
static void custom_operations_replace_derivatives(void **state)
{
    (void)state;
    bl_ir *ir = bl_ir_create();
    bl_ir_func *square = square_of(ir), *vjp = bl_ir_func_create(ir, "square.vjp");
    bl_ir_value b = bl_ir_param(vjp, BL_IR_F32), adjoint = bl_ir_param(vjp, BL_IR_F32);
    bl_ir_value result = bl_ir_mul(vjp, bl_ir_mul(vjp, bl_ir_f32(vjp, 6), b), adjoint);
    bl_ir_return(vjp, &result, 1);
    bl_ir_custom(square, NULL, vjp);
    assert_true(slope(ir, square, 5) == 30);
}

/* A function that is called as a derivative would be is none. */
static void names_are_only_names(void **state)
{
    (void)state;
    bl_ir *ir = bl_ir_create();
    bl_ir_func *square = square_of(ir), *other = bl_ir_func_create(ir, "square.vjp0_1_1");
    bl_ir_param(other, BL_IR_F32), bl_ir_param(other, BL_IR_F32);
    bl_ir_value result = bl_ir_f32(other, 42);
    bl_ir_return(other, &result, 1);
    assert_true(slope(ir, square, 3) == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_traces_are_texts),
        cmocka_unit_test(what_is_not_complete_does_not_run),
        cmocka_unit_test(derivatives_are_those_of_analysis),
        cmocka_unit_test(custom_operations_replace_derivatives),
        cmocka_unit_test(names_are_only_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
