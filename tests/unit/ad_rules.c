/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Derivatives of single ops: a walk over ops.def compares every rule with central differences of the f64
 * interpreter; then the points where a rule needs its guard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ad/ad.h"

#include <math.h>

/* ---- one op as a function of up to three reals ---- */

/* Operand a of SELECT is whether the first parameter is below 0.3. */
static ir_func *op_function(ir_module *m, ir_op op)
{
    unsigned arity = ir_op_table[op].arity;
    ir_func *f = ir_func_create(m, ir_op_table[op].name);
    ir_ref p[3] = {{0}, {0}, {0}}, in[3] = {{0}, {0}, {0}};
    for (unsigned k = 0; k < arity; k++)
        in[k] = p[k] = ir_param(f, IR_F32);
    if (op == IR_SELECT)
        in[0] = ir_lt(f, p[0], ir_f32(f, 0.3f));
    ir_ref y = ir_value_op(f, op, in[0], in[1], in[2]);
    ir_return(f, &y, 1);
    return f;
}

typedef struct domain {
    double low, high;
} domain;

static domain operand_domain(ir_op op, unsigned k)
{
    switch (op) {
    case IR_SQRT:
    case IR_LOG:
        return (domain){0.1, 3};
    case IR_POW:
        return k == 0 ? (domain){0.1, 3} : (domain){-2, 2};
    case IR_DIV:
        return k == 0 ? (domain){-2, 2} : (domain){0.3, 2};
    case IR_ACOS:
        return (domain){-0.9, 0.9};
    default:
        return (domain){-2, 2};
    }
}

static uint32_t random_state = 1;
static double random_between(double low, double high)
{
    random_state = random_state * 747796405u + 2891336453u;
    uint32_t word = ((random_state >> ((random_state >> 28) + 4)) ^ random_state) * 277803737u;
    return low + (high - low) * ((word ^ (word >> 22)) / 4294967296.0);
}

static bool near_kink(ir_op op, const double *x)
{
    switch (op) {
    case IR_ABS:
        return fabs(x[0]) < 0.01;
    case IR_MIN:
    case IR_MAX:
        return fabs(x[0] - x[1]) < 0.01;
    case IR_SELECT:
        return fabs(x[0] - 0.3) < 0.01;
    case IR_ATAN2:
        return x[0] * x[0] + x[1] * x[1] < 0.1 || (x[1] < 0 && fabs(x[0]) < 0.01);
    default:
        return false;
    }
}

static void eval(const ir_func *f, const double *x, unsigned count, ir_value *results)
{
    ir_value args[4];
    ir_eval_env env = {.f64 = true};
    bl_error err = {0};
    for (unsigned k = 0; k < count; k++)
        args[k].f = x[k];
    if (ir_eval(f, args, results, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static double value_at(const ir_func *f, const double *x, unsigned count, unsigned k, double shift)
{
    double moved[3] = {x[0], x[1], x[2]};
    ir_value y;
    moved[k] += shift;
    eval(f, moved, count, &y);
    return y.f;
}

static void check_point(ir_op op, const ir_func *f, const ir_func *vjp, const double *x)
{
    const double h = 1e-5, seed = 1.7;
    unsigned arity = ir_op_table[op].arity;
    double args[4] = {x[0], x[1], x[2], 0};
    ir_value adjoint[3];
    args[arity] = seed;
    eval(vjp, args, arity + 1, adjoint);
    for (unsigned k = 0; k < arity; k++) {
        double expected = seed * (value_at(f, x, arity, k, h) - value_at(f, x, arity, k, -h)) / (2 * h);
        if (fabs(adjoint[k].f - expected) > 1e-6 * (1 + fabs(expected)))
            fail_msg("%s(%g, %g, %g): adjoint of operand %u is %.9g, differences give %.9g",
                     ir_op_table[op].name, x[0], x[1], x[2], k, adjoint[k].f, expected);
    }
}

static void check_op(ir_op op)
{
    ir_module *m = ir_module_create();
    ir_func *f = op_function(m, op), *vjp = ad_vjp(f);
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_non_null(vjp);
    assert_int_equal(vjp->params.count, f->params.count + 1);
    assert_int_equal(vjp->results.count, f->params.count);
    for (int checked = 0; checked < 50;) {
        double x[3];
        for (unsigned k = 0; k < 3; k++)
            x[k] = random_between(operand_domain(op, k).low, operand_domain(op, k).high);
        if (near_kink(op, x))
            continue;
        check_point(op, f, vjp, x);
        checked++;
    }
    ir_module_destroy(m);
}

static void every_rule_equals_differences(void **state)
{
    (void)state;
    int rules = 0;
    for (unsigned op = 1; op < IR_OP_COUNT; op++) {
        if (!ir_op_table[op].arity || ir_op_table[op].adjoint != IR_ADJOINT_DIFF || op == IR_REPLACE_GRAD)
            continue; /* replace_grad is not the derivative of anything: its own test is below */
        check_op((ir_op)op);
        rules++;
    }
    assert_true(rules >= 17);
}

static void flat_ops_have_no_derivative(void **state)
{
    (void)state;
    for (unsigned op = 1; op < IR_OP_COUNT; op++) {
        const ir_op_info *info = &ir_op_table[op];
        bool real = info->rule == IR_RULE_REAL || info->rule == IR_RULE_SAME;
        if (!info->arity || info->adjoint == IR_ADJOINT_DIFF || !real)
            continue;
        ir_module *m = ir_module_create();
        assert_null(ad_vjp(op_function(m, (ir_op)op)));
        ir_module_destroy(m);
    }
}

static void replace_grad_takes_the_derivative_of_b(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "f");
    ir_ref x = ir_param(f, IR_F32), y = ir_param(f, IR_F32);
    ir_ref z = ir_replace_grad(f, ir_mul(f, x, x), ir_mul(f, x, y));
    ir_return(f, &z, 1);
    ir_value v[2];
    eval(f, (double[]){3, 5}, 2, v);
    assert_float_equal(v[0].f, 9, 0);
    eval(ad_vjp(f), (double[]){3, 5, 2}, 3, v);
    assert_float_equal(v[0].f, 10, 0);
    assert_float_equal(v[1].f, 6, 0);
    ir_module_destroy(m);
}

/* Where the true derivative is infinite or undefined, zero comes out, never NaN. */
static void guards(void **state)
{
    (void)state;
    static const struct {
        ir_op op;
        double x[2], expected[2];
    } cases[] = {
        {IR_SQRT, {0, 0}, {0, 0}},  {IR_ACOS, {1, 0}, {0, 0}}, {IR_ACOS, {-1, 0}, {0, 0}},
        {IR_ATAN2, {0, 0}, {0, 0}}, {IR_POW, {0, 2}, {0, 0}},  {IR_POW, {0, 1}, {1, 0}},
        {IR_POW, {0, 0.5}, {0, 0}}, {IR_ABS, {0, 0}, {1, 0}},  {IR_MIN, {2, 2}, {1, 0}},
        {IR_MAX, {2, 2}, {1, 0}},   {IR_POW, {0, 0}, {0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned arity = ir_op_table[cases[i].op].arity;
        ir_module *m = ir_module_create();
        ir_func *vjp = ad_vjp(op_function(m, cases[i].op));
        double args[3] = {cases[i].x[0], cases[i].x[1], 0};
        ir_value v[2];
        args[arity] = 1;
        eval(vjp, args, arity + 1, v);
        for (unsigned k = 0; k < arity; k++)
            if (!(fabs(v[k].f - cases[i].expected[k]) <= 0))
                fail_msg("%s(%g, %g): adjoint %u is %g, expected %g", ir_op_table[cases[i].op].name, args[0],
                         args[1], k, v[k].f, cases[i].expected[k]);
        ir_module_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_equals_differences),
        cmocka_unit_test(flat_ops_have_no_derivative),
        cmocka_unit_test(replace_grad_takes_the_derivative_of_b),
        cmocka_unit_test(guards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
