/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * A walk over the table of ops. For every row of value ops: which operand types are accepted, that what the
 * folder makes of constants is what the interpreter computes, and that identities with one constant or with
 * equal operands keep the value. For all rows: the table is consistent and names are unique. Then values of
 * the cases that C leaves undefined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ir/ir.h"

#include <math.h>
#include <string.h>

/* Bits that ops are tried on, read as any type (bool: the lowest bit). */
static const uint32_t samples[] = {0u,          1u,          2u,          31u,         33u,
                                   0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0x3F800000u, 0xBF800000u,
                                   0x3F000000u, 0x40490FDBu, 0x4F000000u, 0x5F000000u, 0x7F800000u,
                                   0xFF800000u, 0x7FC00000u, 0x00000005u, 0x42280000u, 0xC2280000u};
enum { SAMPLES = sizeof samples / sizeof *samples };

static ir_value value_of(ir_type type, uint32_t bits)
{
    ir_value v;
    memset(&v, 0, sizeof v);
    float real;
    memcpy(&real, &bits, sizeof real);
    if (type == IR_F32)
        v.f = (double)real;
    else if (type == IR_BOOL)
        v.b = bits & 1u;
    else
        v.u = bits;
    return v;
}

static bool same_value(ir_type type, ir_value x, ir_value y)
{
    if (type == IR_F32)
        return (isnan(x.f) && isnan(y.f)) || (x.f == y.f && signbit(x.f) == signbit(y.f));
    return type == IR_BOOL ? x.b == y.b : x.u == y.u;
}

/* How each operand of a test trace is made. */
typedef enum source { PARAMETER, CONSTANT, FIRST_AGAIN } source;

/* A function of three parameters that applies op to operands of these kinds; NULL where the types are
 * wrong. */
static ir_module *one_op(ir_op op, const ir_type type[3], const source from[3], const uint32_t bits[3],
                         bool no_fold)
{
    ir_module *m = ir_module_create();
    m->no_fold = no_fold;
    ir_func *f = ir_func_create(m, "op");
    ir_ref operand[3] = {{0}, {0}, {0}};
    for (unsigned k = 0; k < 3; k++) {
        ir_ref parameter = ir_param(f, type[k]);
        if (k < ir_op_table[op].arity)
            operand[k] = from[k] == PARAMETER ? parameter
                         : from[k] == FIRST_AGAIN
                             ? operand[0]
                             : ir_const(f, type[k], type[k] == IR_BOOL ? bits[k] & 1u : bits[k]);
    }
    ir_ref result = ir_value_op(f, op, operand[0], operand[1], operand[2]);
    ir_return(f, &result, 1);
    if (ir_finish(m, NULL) == BL_OK)
        return m;
    ir_module_destroy(m);
    return NULL;
}

static ir_value run(ir_module *m, const ir_type type[3], const uint32_t bits[3], bool f64)
{
    ir_value args[3], result = {0};
    ir_eval_env env = {.f64 = f64};
    bl_error err;
    for (unsigned k = 0; k < 3; k++)
        args[k] = value_of(type[k], bits[k]);
    if (ir_eval(m->functions.data[0], args, &result, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    return result;
}

static ir_type result_type(const ir_module *m)
{
    const ir_func *f = m->functions.data[0];
    return ir_type_of(f, f->results.data[0]);
}

/* The op on these operands gives the same with folding as the interpreter gives without. */
static void check_one(ir_op op, const ir_type type[3], const source from[3], const uint32_t bits[3])
{
    uint32_t used[3];
    for (unsigned k = 0; k < 3; k++)
        used[k] = from[k] == FIRST_AGAIN ? bits[0] : bits[k];
    static const source parameters[3] = {PARAMETER, PARAMETER, PARAMETER};
    ir_module *folded = one_op(op, type, from, used, false),
              *plain = one_op(op, type, parameters, used, true);
    assert_non_null(folded);
    assert_non_null(plain);
    assert_int_equal(result_type(folded), result_type(plain));
    ir_value got = run(folded, type, used, false), expected = run(plain, type, used, false);
    if (!same_value(result_type(plain), got, expected))
        fail_msg("%s(%s 0x%08x, 0x%08x, 0x%08x): folded %.9g 0x%08x, interpreted %.9g 0x%08x",
                 ir_op_table[op].name, ir_type_names[type[0]], used[0], used[1], used[2], got.f, got.u,
                 expected.f, expected.u);
    ir_type deciding = type[op == IR_SELECT ? 1 : 0];
    ir_value direct = ir_eval_op(op, deciding, false, value_of(type[0], used[0]), value_of(type[1], used[1]),
                                 value_of(type[2], used[2]));
    assert_true(same_value(result_type(plain), direct, expected));
    if (result_type(plain) == IR_F32 && !isnan(expected.f))
        assert_true(expected.f == (double)(float)expected.f); /* every f32 result is rounded */
    ir_module_destroy(folded);
    ir_module_destroy(plain);
}

static bool accepted(ir_op op, const ir_type type[3])
{
    static const source from[3] = {PARAMETER, PARAMETER, PARAMETER};
    static const uint32_t bits[3];
    ir_module *m = one_op(op, type, from, bits, true);
    ir_module_destroy(m);
    return m != NULL;
}

typedef void (*type_visitor)(ir_op op, const ir_type type[3], void *user);

/* All combinations of operand types; unused operands are bool. */
static void each_types(ir_op op, type_visitor visit, void *user)
{
    unsigned arity = ir_op_table[op].arity, combinations = arity == 1 ? 4 : arity == 2 ? 16 : 64;
    for (unsigned k = 0; k < combinations; k++) {
        ir_type type[3] = {(ir_type)(IR_BOOL + k % 4), (ir_type)(IR_BOOL + k / 4 % 4),
                           (ir_type)(IR_BOOL + k / 16)};
        visit(op, type, user);
    }
}

static void count_accepted(ir_op op, const ir_type type[3], void *count)
{
    *(unsigned *)count += accepted(op, type);
}

/* Combinations of operand types that a rule accepts. */
static const unsigned accepted_types[] = {
    [IR_RULE_NUM] = 3,    [IR_RULE_INT] = 2,    [IR_RULE_REAL] = 1,   [IR_RULE_COMPARE] = 4,
    [IR_RULE_ORDER] = 3,  [IR_RULE_LOGIC] = 3,  [IR_RULE_SHIFT] = 2,  [IR_RULE_SELECT] = 4,
    [IR_RULE_TO_I32] = 4, [IR_RULE_TO_U32] = 4, [IR_RULE_TO_F32] = 4, [IR_RULE_BITS_U] = 3,
    [IR_RULE_BITS_F] = 2, [IR_RULE_SAME] = 4};

static void type_rules_are_kept(void **state)
{
    (void)state;
    for (unsigned op = 1; op < IR_OP_COUNT; op++) {
        unsigned count = 0;
        if (!ir_op_table[op].arity)
            continue;
        each_types((ir_op)op, count_accepted, &count);
        if (count != accepted_types[ir_op_table[op].rule])
            fail_msg("%s accepts %u combinations of types, expected %u", ir_op_table[op].name, count,
                     accepted_types[ir_op_table[op].rule]);
    }
}

static void fold_types(ir_op op, const ir_type type[3], void *user)
{
    (void)user;
    if (!accepted(op, type))
        return;
    static const source ways[][3] = {{CONSTANT, CONSTANT, CONSTANT},
                                     {PARAMETER, CONSTANT, CONSTANT},
                                     {CONSTANT, PARAMETER, PARAMETER},
                                     {PARAMETER, FIRST_AGAIN, FIRST_AGAIN}};
    unsigned arity = ir_op_table[op].arity;
    for (size_t way = 0; way < 4; way++) {
        if (way == 3 && (arity < 2 || type[0] != type[1] || (arity > 2 && type[0] != type[2])))
            continue;
        for (uint32_t a = 0; a < SAMPLES; a++)
            for (uint32_t b = 0; b < (arity > 1 ? SAMPLES : 1); b++) {
                const uint32_t bits[3] = {samples[a], samples[b], samples[(a + 3 * b + 7) % SAMPLES]};
                check_one(op, type, ways[way], bits);
            }
    }
}

static void folder_is_interpreter(void **state)
{
    (void)state;
    for (unsigned op = 1; op < IR_OP_COUNT; op++)
        if (ir_op_table[op].arity)
            each_types((ir_op)op, fold_types, NULL);
}

static void the_table_is_consistent(void **state)
{
    (void)state;
    for (unsigned op = 0; op < IR_OP_COUNT; op++) {
        const ir_op_info *info = &ir_op_table[op];
        assert_non_null(info->name);
        for (unsigned other = 0; other < op; other++)
            assert_string_not_equal(info->name, ir_op_table[other].name);
        for (unsigned t = 0; t < IR_TYPE_COUNT;
             t++) /* the parser tells an op's name from a type's by place only */
            assert_string_not_equal(info->name, ir_type_names[t]);
        for (unsigned k = 0; k < 3 && info->arity; k++)
            assert_int_equal(info->kind[k], k < info->arity ? IR_KIND_REF : IR_KIND_NONE);
        assert_true(!info->arity == (info->rule == IR_RULE_NONE));
        assert_true(!info->arity || info->effect == IR_EFFECT_PURE);
    }
}

static void type_errors_are_reported(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_func *f = ir_func_create(m, "wrong");
    ir_ref a = ir_param(f, IR_F32), b = ir_param(f, IR_U32);
    assert_true(ir_is_none(ir_add(f, a, b)));
    assert_true(ir_is_none(ir_mul(f, a, a))); /* later builders do nothing */
    ir_return(f, NULL, 0);
    bl_error err = {0};
    assert_int_equal(ir_finish(m, &err), BL_ERROR_COMPILE);
    assert_non_null(strstr(err.text, "add(f32, u32)"));
    assert_non_null(strstr(err.text, "\"wrong\""));
    ir_module_destroy(m);
}

static ir_value apply(ir_op op, ir_type type, bool f64, ir_value a, ir_value b)
{
    return ir_eval_op(op, type, f64, a, b, b);
}
static ir_value i32(int32_t i) { return (ir_value){.i = i}; }
static ir_value real(double f) { return (ir_value){.f = f}; }

static void undefined_cases_are_defined(void **state)
{
    (void)state;
    assert_int_equal(apply(IR_DIV, IR_I32, false, i32(INT32_MIN), i32(-1)).i, INT32_MIN);
    assert_int_equal(apply(IR_MOD, IR_I32, false, i32(INT32_MIN), i32(-1)).i, 0);
    assert_int_equal(apply(IR_DIV, IR_I32, false, i32(5), i32(0)).i, 0);
    assert_int_equal(apply(IR_MOD, IR_U32, false, i32(5), i32(0)).u, 0);
    assert_int_equal(apply(IR_MOD, IR_I32, false, i32(-7), i32(3)).i, -1);
    assert_int_equal(apply(IR_ADD, IR_I32, false, i32(INT32_MAX), i32(1)).i, INT32_MIN);
    assert_int_equal(apply(IR_SHL, IR_U32, false, i32(1), i32(33)).u, 2);
    assert_int_equal(apply(IR_SHR, IR_I32, false, i32(-8), i32(1)).i, -4);
    assert_int_equal(apply(IR_SHR, IR_I32, false, i32(INT32_MIN), i32(31)).i, -1);
    assert_int_equal(apply(IR_TO_I32, IR_F32, false, real(3e9), real(0)).i, INT32_MAX);
    assert_int_equal(apply(IR_TO_I32, IR_F32, false, real(-1.9), real(0)).i, -1);
    assert_int_equal(apply(IR_TO_U32, IR_F32, false, real(-1.9), real(0)).u, 0);
    assert_int_equal(apply(IR_TO_U32, IR_F32, false, real(5e9), real(0)).u, UINT32_MAX);
    assert_int_equal(apply(IR_TO_U32, IR_F32, false, real((double)NAN), real(0)).u, 0);
}

static void doubles_keep_the_meaning_of_bits(void **state)
{
    (void)state;
    assert_true(apply(IR_TO_F32, IR_U32, true, i32(16777217), i32(0)).f == 16777216.0);
    assert_true(apply(IR_TO_F32, IR_I32, true, i32(-16777217), i32(0)).f == -16777216.0);
    assert_int_equal(apply(IR_BITS_TO_U32, IR_F32, true, real(0.1), real(0)).u, 0x3DCCCCCD);
    assert_true(apply(IR_BITS_TO_F32, IR_U32, true, i32(0x3DCCCCCD), i32(0)).f == (double)0.1f);
    assert_true(apply(IR_MUL, IR_F32, true, real(0.1), real(0.1)).f == 0.1 * 0.1);
    assert_true(apply(IR_MUL, IR_F32, false, real((double)0.1f), real((double)0.1f)).f ==
                (double)(0.1f * 0.1f));
    assert_true(apply(IR_SIN, IR_F32, true, real(0.1), real(0)).f == sin(0.1));
    assert_true(apply(IR_SIN, IR_F32, false, real((double)0.1f), real(0)).f == (double)sinf(0.1f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_consistent),     cmocka_unit_test(type_rules_are_kept),
        cmocka_unit_test(folder_is_interpreter),       cmocka_unit_test(type_errors_are_reported),
        cmocka_unit_test(undefined_cases_are_defined), cmocka_unit_test(doubles_keep_the_meaning_of_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
