/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * opt/math.c against the C library in double precision: the lowered trace runs in the interpreter (f32, which
 * the device tests show to be the device's arithmetic), over dense samples of each function's range, its ends
 * included. The bounds are those of the table in opt/math.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- a lowered op as a function of two floats ---- */

typedef struct lowered {
    ir_module *m;
    uint32_t words[3];
    ir_eval_buffer buffer;
    ir_eval_env env;
} lowered;

static lowered *lower(ir_op op)
{
    lowered *l = calloc(1, sizeof *l);
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "main");
    uint32_t buffer = ir_buffer_add(m, "memory", false, -1);
    ir_ref a = ir_load(f, IR_F32, buffer, ir_u32(f, 0)), b = ir_load(f, IR_F32, buffer, ir_u32(f, 1));
    bl_error err = {0};
    assert_non_null(l);
    ir_store(f, buffer, ir_u32(f, 2),
             ir_value_op(f, op, a, ir_op_table[op].arity > 1 ? b : (ir_ref){0}, (ir_ref){0}));
    ir_return(f, NULL, 0);
    m->entry = f;
    l->m = opt_math(m);
    if (ir_finish(l->m, &err) != BL_OK || ir_verify(l->m, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    l->buffer = (ir_eval_buffer){.words = l->words, .count = 3};
    l->env = (ir_eval_env){.buffers = &l->buffer, .buffer_count = 1};
    return l;
}

static void lowered_free(lowered *l)
{
    ir_module_destroy(l->m);
    free(l);
}

static float run(lowered *l, float a, float b)
{
    bl_error err = {0};
    l->words[0] = bits_of(a);
    l->words[1] = bits_of(b);
    if (ir_eval(l->m->entry, NULL, NULL, &l->env, &err) != BL_OK)
        fail_msg("%s", err.text);
    return float_of(l->words[2]);
}

/* ---- bounds ---- */

/* Error in units of the last place of the correct result, as a real number. */
static double ulps(float result, double correct)
{
    int exponent;
    if (isnan(correct) || isinf((float)correct))
        return isnan(correct) == isnan(result) && (isnan(correct) || result == (float)correct) ? 0.0
                                                                                               : INFINITY;
    frexp(correct, &exponent);
    if (exponent < -125)
        exponent = -125;
    return fabs((double)result - correct) / ldexp(1.0, exponent - 24);
}

typedef struct bound {
    ir_op op;
    const char *name;
    double (*correct)(double, double);
    float low, high;   /* range of the first argument */
    double limit;      /* ulp */
    double absolute;   /* or this absolute error, where it is larger */
    float low2, high2; /* range of the second argument */
} bound;

static double ref_sin(double a, double b) { return (void)b, sin(a); }
static double ref_cos(double a, double b) { return (void)b, cos(a); }
static double ref_exp(double a, double b) { return (void)b, exp(a); }
static double ref_log(double a, double b) { return (void)b, log(a); }
static double ref_acos(double a, double b) { return (void)b, acos(a); }

static const bound bounds[] = {
    {IR_SIN, "sin", ref_sin, -6.2831855f, 6.2831855f, 2, 0x1p-44, 0, 0},
    {IR_COS, "cos", ref_cos, -6.2831855f, 6.2831855f, 2, 0x1p-44, 0, 0},
    {IR_SIN, "sin", ref_sin, -10000, 10000, 2, 0x1p-32, 0, 0},
    {IR_COS, "cos", ref_cos, -10000, 10000, 2, 0x1p-32, 0, 0},
    {IR_EXP, "exp", ref_exp, -86.97f, 88.7228f, 2, 0, 0, 0},
    {IR_LOG, "log", ref_log, 0x1p-126f, 0x1.fffffep127f, 2, 0, 0, 0},
    {IR_LOG, "log", ref_log, 0.5f, 2, 2, 0, 0, 0},
    {IR_ACOS, "acos", ref_acos, -1, 1, 3, 0, 0, 0},
    {IR_ATAN2, "atan2", atan2, -1, 1, 3, 0, -1, 1},
    {IR_ATAN2, "atan2", atan2, -100, 100, 3, 0, -0.01f, 0.01f},
    {IR_POW, "pow", pow, 0x1p-20f, 0x1p20f, 3, 0, -1.15f, 1.15f},
    {IR_POW, "pow", pow, 0.5f, 2, 3, 0, -23, 23},
    {IR_POW, "pow", pow, 0.7f, 1.5f, 16, 0, -200, 200},
    {IR_POW, "pow", pow, 0x1p-126f, 0x1.fffffep127f, 16, 0, -0.99f, 0.99f},
};

/* Step k of n from low to high: half of the steps even in value, half in bits (so that small numbers and zero
 * come up). */
static float sample(float low, float high, uint32_t k, uint32_t n)
{
    double t = n > 1 ? (double)k / (n - 1) : 0.0;
    double from, to;
    uint32_t u;
    if (k % 2)
        return (float)(low + t * ((double)high - low));
    from = low < 0 ? -(double)bits_of(-low) : (double)bits_of(low);
    to = high < 0 ? -(double)bits_of(-high) : (double)bits_of(high);
    from += t * (to - from);
    u = (uint32_t)fabs(from);
    return from < 0 ? -float_of(u) : float_of(u);
}

static bool is_denormal(double x) { return x != 0 && fabs(x) < 0x1p-126; }

static void check_bound(const bound *b, uint32_t samples)
{
    lowered *l = lower(b->op);
    double worst = 0, worst_x = 0, worst_y = 0;
    for (uint32_t k = 0; k < samples; k++) {
        float x = sample(b->low, b->high, k, samples);
        float y = sample(b->low2, b->high2, (uint32_t)((uint64_t)k * 7919u % samples), samples);
        double correct = b->correct((double)x, (double)y), error;
        float result;
        if (is_denormal((double)x) || is_denormal((double)y) || is_denormal(correct) ||
            fabs(correct) > 0x1.fffffep127 || (b->op == IR_EXP && correct < 1.7e-38) ||
            (b->op == IR_POW && correct < 1.8e-38) ||
            (b->op == IR_ATAN2 && is_denormal((double)(fabsf(x) < fabsf(y) ? x / y : y / x))))
            continue;
        result = run(l, x, y);
        error = fabs((double)result - correct) <= b->absolute ? 0 : ulps(result, correct);
        if (error > worst)
            worst = error, worst_x = (double)x, worst_y = (double)y;
    }
    print_message("%-6s [%g, %g]: %.2f ulp at %.9g, %.9g\n", b->name, (double)b->low, (double)b->high, worst,
                  worst_x, worst_y);
    lowered_free(l);
    if (worst > b->limit)
        fail_msg("%s: %.2f ulp, stated %.0f", b->name, worst, b->limit);
}

static void errors_stay_within_bounds(void **state)
{
    const char *wanted = getenv("BL_MATH_SAMPLES"); /* for a longer run by hand */
    uint32_t samples = wanted ? (uint32_t)atoi(wanted) : 60000;
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        check_bound(&bounds[i], samples);
}

/* Arguments far outside the range still give something bounded. */
static void large_angles_are_bounded(void **state)
{
    lowered *s = lower(IR_SIN), *c = lower(IR_COS);
    (void)state;
    for (uint32_t k = 0; k < 5000; k++) {
        float x = sample(1e4f, 0x1.fffffep127f, k & ~1u, 5000);
        assert_true(fabsf(run(s, x, 0)) < 1.02f && fabsf(run(c, -x, 0)) < 1.02f);
    }
    lowered_free(s);
    lowered_free(c);
}

/* ---- special values ---- */

typedef struct special {
    ir_op op;
    float a, b, result;
    bool sign; /* the sign of a zero matters */
} special;

#define PI_F 0x1.921fb6p1f
static const special specials[] = {
    {IR_SIN, 0.0f, 0, 0.0f, true},
    {IR_SIN, -0.0f, 0, 0.0f, false},
    {IR_SIN, INFINITY, 0, NAN, false},
    {IR_SIN, NAN, 0, NAN, false},
    {IR_COS, 0.0f, 0, 1.0f, false},
    {IR_COS, -INFINITY, 0, NAN, false},
    {IR_EXP, 0.0f, 0, 1.0f, false},
    {IR_EXP, -0.0f, 0, 1.0f, false},
    {IR_EXP, 88.7228394f, 0, INFINITY, false},
    {IR_EXP, 1e30f, 0, INFINITY, false},
    {IR_EXP, INFINITY, 0, INFINITY, false},
    {IR_EXP, -88.0f, 0, 0.0f, true},
    {IR_EXP, -1e30f, 0, 0.0f, true},
    {IR_EXP, -INFINITY, 0, 0.0f, true},
    {IR_EXP, NAN, 0, NAN, false},
    {IR_LOG, 1.0f, 0, 0.0f, true},
    {IR_LOG, 0.0f, 0, -INFINITY, false},
    {IR_LOG, -0.0f, 0, -INFINITY, false},
    {IR_LOG, -1.0f, 0, NAN, false},
    {IR_LOG, -INFINITY, 0, NAN, false},
    {IR_LOG, INFINITY, 0, INFINITY, false},
    {IR_LOG, NAN, 0, NAN, false},
    {IR_POW, 0.0f, 2.0f, 0.0f, true},
    {IR_POW, 0.0f, -2.0f, INFINITY, false},
    {IR_POW, 0.0f, 0.0f, 1.0f, false},
    {IR_POW, NAN, 0.0f, 1.0f, false},
    {IR_POW, -3.0f, 0.0f, 1.0f, false},
    {IR_POW, INFINITY, 0.0f, 1.0f, false},
    {IR_POW, INFINITY, 2.0f, INFINITY, false},
    {IR_POW, INFINITY, -2.0f, 0.0f, false},
    {IR_POW, 1.0f, 1e30f, 1.0f, false},
    {IR_POW, 2.0f, 10.0f, 1024.0f, false},
    {IR_POW, 2.0f, 200.0f, INFINITY, false},
    {IR_POW, 2.0f, -200.0f, 0.0f, false},
    {IR_POW, 2.0f, 1e38f, INFINITY, false},
    {IR_POW, 0.5f, 1e38f, 0.0f, false},
    {IR_POW, 2.0f, INFINITY, INFINITY, false},
    {IR_POW, 0.5f, INFINITY, 0.0f, false},
    {IR_POW, -2.0f, 2.0f, NAN, false},
    {IR_POW, NAN, 1.0f, NAN, false},
    {IR_POW, 2.0f, NAN, NAN, false},
    {IR_ATAN2, 0.0f, 0.0f, 0.0f, true},
    {IR_ATAN2, -0.0f, 0.0f, -0.0f, true},
    {IR_ATAN2, 0.0f, 1.0f, 0.0f, true},
    {IR_ATAN2, -0.0f, 1.0f, -0.0f, true},
    {IR_ATAN2, 0.0f, -0.0f, PI_F, false},
    {IR_ATAN2, 0.0f, -1.0f, PI_F, false},
    {IR_ATAN2, -0.0f, -1.0f, -PI_F, false},
    {IR_ATAN2, 1.0f, 0.0f, PI_F / 2, false},
    {IR_ATAN2, -1.0f, 0.0f, -PI_F / 2, false},
    {IR_ATAN2, 1.0f, -0.0f, PI_F / 2, false},
    {IR_ATAN2, INFINITY, 1.0f, PI_F / 2, false},
    {IR_ATAN2, 1.0f, INFINITY, 0.0f, true},
    {IR_ATAN2, 1.0f, -INFINITY, PI_F, false},
    {IR_ATAN2, NAN, 1.0f, NAN, false},
    {IR_ATAN2, 1.0f, NAN, NAN, false},
    {IR_ACOS, 1.0f, 0, 0.0f, false},
    {IR_ACOS, -1.0f, 0, PI_F, false},
    {IR_ACOS, 0.0f, 0, PI_F / 2, false},
    {IR_ACOS, 1.0000001f, 0, NAN, false},
    {IR_ACOS, -1.0000001f, 0, NAN, false},
    {IR_ACOS, NAN, 0, NAN, false},
    {IR_MIN, 1.0f, 2.0f, 1.0f, false},
    {IR_MIN, 2.0f, 1.0f, 1.0f, false},
    {IR_MIN, NAN, 1.0f, NAN, false}, /* b < a ? b : a */
    {IR_MIN, 1.0f, NAN, 1.0f, false},
    {IR_MIN, 0.0f, -0.0f, 0.0f, true},
    {IR_MAX, 1.0f, 2.0f, 2.0f, false},
    {IR_MAX, 2.0f, 1.0f, 2.0f, false},
    {IR_MAX, NAN, 1.0f, NAN, false},
    {IR_MAX, 1.0f, NAN, 1.0f, false},
    {IR_MAX, -0.0f, 0.0f, -0.0f, true},
    {IR_DETACH, 3.0f, 0, 3.0f, false},
    {IR_REPLACE_GRAD, 3.0f, 5.0f, 3.0f, false},
};

static void special_values_are_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        const special *s = &specials[i];
        lowered *l = lower(s->op);
        float result = run(l, s->a, s->b);
        if (ulp_distance(bits_of(result), bits_of(s->result)) ||
            (s->sign && bits_of(result) != bits_of(s->result)))
            fail_msg("%s(%g, %g) = %g, expected %g", ir_op_table[s->op].name, (double)s->a, (double)s->b,
                     (double)result, (double)s->result);
        lowered_free(l);
    }
}

static void nothing_is_left_to_lower(void **state)
{
    static const ir_op ops[] = {IR_SIN,  IR_COS, IR_EXP, IR_LOG,    IR_POW,         IR_ATAN2,
                                IR_ACOS, IR_MIN, IR_MAX, IR_DETACH, IR_REPLACE_GRAD};
    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        lowered *l = lower(ops[i]);
        for (uint32_t k = 1; k < l->m->entry->inst.count; k++)
            for (size_t j = 0; j < sizeof ops / sizeof *ops; j++)
                assert_int_not_equal(l->m->entry->inst.data[k].op, ops[j]);
        print_message("%s: %u instructions\n", ir_op_table[ops[i]].name, l->m->entry->inst.count);
        lowered_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_stay_within_bounds),
        cmocka_unit_test(large_angles_are_bounded),
        cmocka_unit_test(special_values_are_as_documented),
        cmocka_unit_test(nothing_is_left_to_lower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
