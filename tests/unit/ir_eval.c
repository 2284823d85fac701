/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What text cases of the interpreter cannot say: buffers of reals, rounding of arguments, builders and
 * interpreter together, errors of modules that were not verified. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ir/ir.h"

#include <string.h>

/* gradient[0] += x * load[0]; store[1] = x; returns the load. */
static ir_module *make_memory(void)
{
    ir_module *m = ir_module_create();
    uint32_t buffer = ir_buffer_add(m, "reals", false, -1);
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), zero = ir_u32(f, 0), loaded = ir_load(f, IR_F32, buffer, zero);
    ir_accum(f, buffer, ir_u32(f, 2), ir_mul(f, x, loaded));
    ir_store(f, buffer, ir_u32(f, 1), x);
    ir_return(f, &loaded, 1);
    assert_int_equal(ir_finish(m, NULL), BL_OK);
    return m;
}

static void reals_replace_words(void **state)
{
    (void)state;
    ir_module *m = make_memory();
    for (int f64 = 0; f64 < 2; f64++) {
        double reals[3] = {0.1, 0, 0.3};
        ir_eval_buffer buffer = {.reals = reals, .count = 3};
        ir_eval_env env = {.buffers = &buffer, .buffer_count = 1, .f64 = f64};
        ir_value x = {.f = 0.7}, result;
        assert_int_equal(ir_eval(m->functions.data[0], &x, &result, &env, NULL), BL_OK);
        double a = f64 ? 0.1 : (double)0.1f, b = f64 ? 0.7 : (double)0.7f;
        assert_true(result.f == a);
        assert_true(reals[1] == b);
        assert_true(reals[2] == 0.3 + (f64 ? a * b : (double)((float)a * (float)b)));
    }
    ir_module_destroy(m);
}

static void words_hold_floats_in_doubles(void **state)
{
    (void)state;
    ir_module *m = make_memory();
    float floats[3] = {0.1f, 0, 0.3f};
    uint32_t words[3];
    memcpy(words, floats, sizeof words);
    ir_eval_buffer buffer = {.words = words, .count = 3};
    ir_eval_env env = {.buffers = &buffer, .buffer_count = 1, .f64 = true};
    ir_value x = {.f = 0.7}, result;
    assert_int_equal(ir_eval(m->functions.data[0], &x, &result, &env, NULL), BL_OK);
    memcpy(floats, words, sizeof words);
    assert_true(result.f == (double)0.1f);
    assert_true(floats[1] == 0.7f);
    assert_true(floats[2] == (float)((double)0.3f + 0.7 * (double)0.1f));
    ir_module_destroy(m);
}

static void integers_want_words(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    uint32_t buffer = ir_buffer_add(m, "reals", false, -1);
    ir_func *f = ir_func_create(m, "f");
    ir_ref loaded = ir_load(f, IR_U32, buffer, ir_u32(f, 0));
    ir_return(f, &loaded, 1);
    double real = 1;
    ir_eval_buffer reals = {.reals = &real, .count = 1};
    ir_eval_env env = {.buffers = &reals, .buffer_count = 1};
    ir_value result;
    bl_error err;
    assert_int_equal(ir_eval(f, NULL, &result, &env, &err), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(err.text, "holds reals only"));
    ir_module_destroy(m);
}

/* pow by repeated multiplication in a called loop; many calls use one frame. */
static void calls_in_loops(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *power = ir_func_create(m, "power");
    ir_ref base = ir_param(power, IR_F32), exponent = ir_param(power, IR_U32);
    ir_ref s[2] = {ir_f32(power, 1), ir_u32(power, 0)}, loop = ir_loop(power, s, 2);
    ir_while(power, ir_lt(power, s[1], exponent));
    ir_endloop(power, loop, (ir_ref[]){ir_mul(power, s[0], base), ir_add(power, s[1], ir_u32(power, 1))}, 2);
    ir_return(power, s, 1);

    ir_func *f = ir_func_create(m, "sum of powers");
    ir_ref n = ir_param(f, IR_U32), t[2] = {ir_f32(f, 0), ir_u32(f, 0)}, value;
    loop = ir_loop(f, t, 2);
    ir_while(f, ir_lt(f, t[1], n));
    ir_call(f, ir_u32(f, 0), &power, 1, (ir_ref[]){ir_f32(f, 2), t[1]}, 2, &value);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, t[0], value), ir_add(f, t[1], ir_u32(f, 1))}, 2);
    ir_return(f, t, 1);
    bl_error err;
    assert_int_equal(ir_verify(m, &err), BL_OK);
    ir_eval_env env = {0};
    ir_value arg = {.u = 20}, result;
    assert_int_equal(ir_eval(f, &arg, &result, &env, &err), BL_OK);
    assert_true(result.f == 1048575.0);
    ir_module_destroy(m);
}

static void unfinished_functions_do_not_run(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "open");
    ir_eval_env env = {0};
    bl_error err;
    assert_int_not_equal(ir_eval(f, NULL, NULL, &env, &err), BL_OK);
    assert_non_null(strstr(err.text, "not finished"));
    ir_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_replace_words),
        cmocka_unit_test(words_hold_floats_in_doubles),
        cmocka_unit_test(integers_want_words),
        cmocka_unit_test(calls_in_loops),
        cmocka_unit_test(unfinished_functions_do_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
