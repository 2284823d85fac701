/* SPDX-License-Identifier: BSD-3-Clause
 * Steering functions of modules of doubles (opt/math_double.c), run by the interpreter in f64, against those
 * of long doubles: within the error that the file states. Devices give the bits of the interpreter
 * (native_traces.c), so they are not needed here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/random_trace.h"

#include <float.h>
#include <math.h>

enum { POINTS = 2000 };

/* out[0] = op(in[0], in[1]) */
static ir_module *module_of(ir_op op)
{
    ir_module *m = ir_module_create(), *lowered = NULL;
    bl_error err = {0};
    m->doubles = true;
    ir_buffer_add(m, "in", true, -1);
    ir_buffer_add(m, "out", false, -1);
    ir_func *f = ir_func_create(m, "main");
    ir_ref a = ir_load(f, IR_F32, 0, ir_u32(f, 0)), b = ir_load(f, IR_F32, 0, ir_u32(f, 1));
    ir_store(f, 1, ir_u32(f, 0),
             ir_value_op(f, op, a, ir_op_table[op].arity > 1 ? b : (ir_ref){0}, (ir_ref){0}));
    ir_return(f, NULL, 0);
    m->entry = f;
    if (opt_run(m, &(opt_options){0}, &lowered, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return lowered;
}

static double run(const ir_module *m, double a, double b)
{
    double in[2] = {a, b}, out = 0;
    bl_error err = {0};
    ir_eval_buffer buffers[2] = {{.reals = in, .count = 2}, {.reals = &out, .count = 1}};
    ir_eval_env env = {.buffers = buffers, .buffer_count = 2, .f64 = true};
    if (ir_eval(m->entry, NULL, NULL, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    return out;
}

static double within(uint64_t *state, double least, double most)
{
    return least + (most - least) * ((double)(random_bits(state) >> 11) * 0x1p-53);
}

static long double power_error(long double a, long double b) { return 1 + fabsl(b * logl(a)); }

static long double no_error(long double a, long double b)
{
    (void)a, (void)b;
    return 1;
}

static long double sine(long double a, long double b) { return (void)b, sinl(a); }
static long double cosine(long double a, long double b) { return (void)b, cosl(a); }
static long double exponential(long double a, long double b) { return (void)b, expl(a); }
static long double logarithm(long double a, long double b) { return (void)b, logl(a); }
static long double arc_cosine(long double a, long double b) { return (void)b, acosl(a); }

static const struct {
    ir_op op;
    long double (*exact)(long double a, long double b);
    long double (*factor)(long double a, long double b); /* of the error allowed */
    double least[2], most[2];                            /* of the arguments; */
    bool exponents;                                      /* the first is 2 to the power of that */
    double relative, absolute;
} cases[] = {
    {IR_SIN, sine, no_error, {-6.3, 0}, {6.3, 0}, false, 0x1p-51, 0x1p-52},
    {IR_COS, cosine, no_error, {-6.3, 0}, {6.3, 0}, false, 0x1p-51, 0x1p-52},
    {IR_SIN, sine, no_error, {-1e4, 0}, {1e4, 0}, false, 0x1p-51, 0x1p-52},
    {IR_EXP, exponential, no_error, {-700, 0}, {709, 0}, false, 0x1p-51, 0},
    {IR_EXP, exponential, no_error, {-1, 0}, {1, 0}, false, 0x1p-51, 0},
    {IR_LOG, logarithm, no_error, {-1022, 0}, {1023, 0}, true, 0x1p-51, 0},
    {IR_LOG, logarithm, no_error, {.5, 0}, {2, 0}, false, 0x1p-51, 0},
    {IR_POW, powl, power_error, {-20, -10}, {20, 10}, true, 0x1p-51, 0},
    {IR_ATAN2, atan2l, no_error, {-3, -3}, {3, 3}, false, 0x1p-50, 0},
    {IR_ACOS, arc_cosine, no_error, {-1, 0}, {1, 0}, false, 0x1p-50, 0},
};

static void functions_are_as_exact_as_stated(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ir_module *m = module_of(cases[c].op);
        uint64_t seed = 7 + c;
        for (int i = 0; i < POINTS; i++) {
            double a = within(&seed, cases[c].least[0], cases[c].most[0]),
                   b = within(&seed, cases[c].least[1], cases[c].most[1]);
            a = cases[c].exponents ? exp2(a) : a;
            const long double exact = cases[c].exact((long double)a, (long double)b),
                              off = fabsl((long double)run(m, a, b) - exact),
                              allowed = cases[c].factor((long double)a, (long double)b) *
                                            (long double)cases[c].relative * fabsl(exact) +
                                        (long double)cases[c].absolute;
            if (!(off <= allowed))
                fail_msg("%s(%.17g, %.17g) is off by %Lg, %Lg are allowed", ir_op_table[cases[c].op].name, a,
                         b, off, allowed);
        }
        ir_module_destroy(m);
    }
}

static void check(const ir_module *m, double a, double b, double wanted)
{
    const double got = run(m, a, b);
    if (isnan(wanted) ? !isnan(got) : got != wanted || signbit(got) != signbit(wanted))
        fail_msg("f(%g, %g) is %g, not %g", a, b, got, wanted);
}

static void ends_of_ranges(void **state)
{
    (void)state;
    ir_module *exp_of = module_of(IR_EXP), *log_of = module_of(IR_LOG), *acos_of = module_of(IR_ACOS),
              *atan2_of = module_of(IR_ATAN2), *pow_of = module_of(IR_POW);
    check(exp_of, 710, 0, INFINITY), check(exp_of, -750, 0, 0), check(exp_of, 0, 0, 1);
    check(exp_of, INFINITY, 0, INFINITY), check(exp_of, -INFINITY, 0, 0);
    check(log_of, 1, 0, 0), check(log_of, 0, 0, -INFINITY), check(log_of, -1, 0, NAN);
    check(log_of, INFINITY, 0, INFINITY), check(log_of, NAN, 0, NAN);
    check(acos_of, 1, 0, 0), check(acos_of, 1.5, 0, NAN), check(acos_of, -1.5, 0, NAN);
    check(atan2_of, 0, 1, 0), check(atan2_of, -0.0, 1, -0.0), check(atan2_of, 0, 0, 0);
    check(pow_of, 0, 2, 0), check(pow_of, 0, 0, 1), check(pow_of, -2, 3, NAN);
    ir_module_destroy(exp_of), ir_module_destroy(log_of), ir_module_destroy(acos_of);
    ir_module_destroy(atan2_of), ir_module_destroy(pow_of);
}

/* A sum of constants that is no float is not rounded to one. */
static void constants_fold_where_they_are_floats(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "main");
    ir_ref third = ir_div(f, ir_f32(f, 1), ir_f32(f, 3)), half = ir_div(f, ir_f32(f, 1), ir_f32(f, 2));
    assert_true(ir_is_const(f, third) && ir_is_const(f, half));
    m->doubles = true;
    third = ir_div(f, ir_f32(f, 2), ir_f32(f, 3)), half = ir_div(f, ir_f32(f, 3), ir_f32(f, 2));
    assert_true(!ir_is_const(f, third) && ir_is_const(f, half));
    ir_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_as_exact_as_stated),
        cmocka_unit_test(ends_of_ranges),
        cmocka_unit_test(constants_fold_where_they_are_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
