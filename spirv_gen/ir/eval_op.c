/* SPDX-License-Identifier: BSD-3-Clause
 * One value op on constants: the expressions of ops.def, expanded once per operand type. The folder and the
 * interpreter both come here, so they cannot disagree.
 *
 * Reals are a `float` in f32 runs and a `double` in f64 runs; real_sin(a) and its like pick the C library's
 * function of that type. Every f32 result is rounded to float, because its operands are floats and the file
 * is built without contraction. Bit casts and conversions between integers and reals keep their f32 meaning
 * in f64 runs.
 *
 * Undefined cases of C (and of SPIR-V) have one meaning here: integers wrap, x / 0 = x % 0 = 0, INT_MIN / -1
 * wraps, shift amounts count modulo 32, conversions from reals saturate and turn NaN into 0, the bits of a
 * NaN are 0x7FC00000. */
#include "spirv_gen/ir/ir.h"

#include <math.h>
#include <string.h>

static int32_t as_signed(uint32_t u)
{
    int32_t i;
    memcpy(&i, &u, sizeof i);
    return i;
}

static int32_t wrap_add(int32_t a, int32_t b) { return as_signed((uint32_t)a + (uint32_t)b); }
static int32_t wrap_sub(int32_t a, int32_t b) { return as_signed((uint32_t)a - (uint32_t)b); }
static int32_t wrap_mul(int32_t a, int32_t b) { return as_signed((uint32_t)a * (uint32_t)b); }
static uint32_t safe_divu(uint32_t a, uint32_t b) { return b ? a / b : 0; }
static uint32_t safe_remu(uint32_t a, uint32_t b) { return b ? a % b : 0; }
static int32_t safe_div(int32_t a, int32_t b) { return b == 0 ? 0 : b == -1 ? wrap_sub(0, a) : a / b; }
static int32_t safe_rem(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int32_t shift_left(int32_t a, int32_t b) { return as_signed((uint32_t)a << ((uint32_t)b & 31u)); }

static int32_t shift_right(int32_t a, int32_t b)
{
    uint32_t n = (uint32_t)b & 31u, u = (uint32_t)a;
    return as_signed(a < 0 ? ~(~u >> n) : u >> n);
}

static int32_t real_to_i32(double a)
{
    if (isnan(a))
        return 0;
    return a >= 2147483647.0 ? INT32_MAX : a <= -2147483648.0 ? INT32_MIN : (int32_t)a;
}

static uint32_t real_to_u32(double a)
{
    if (isnan(a))
        return 0;
    return a >= 4294967295.0 ? UINT32_MAX : a <= 0.0 ? 0 : (uint32_t)a;
}

/* All NaNs have the bits of one: which payload survives an operation is the processor's choice. */
static uint32_t real_bits(double a)
{
    float f = (float)a;
    uint32_t u;
    if (isnan(a))
        return 0x7FC00000u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float bits_real(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

#define real_abs(a) _Generic((a), float : fabsf, double : fabs)(a)
#define real_floor(a) _Generic((a), float : floorf, double : floor)(a)
#define real_sqrt(a) _Generic((a), float : sqrtf, double : sqrt)(a)
#define real_sin(a) _Generic((a), float : sinf, double : sin)(a)
#define real_cos(a) _Generic((a), float : cosf, double : cos)(a)
#define real_exp(a) _Generic((a), float : expf, double : exp)(a)
#define real_log(a) _Generic((a), float : logf, double : log)(a)
#define real_pow(a, b) _Generic((a), float : powf, double : pow)(a, b)
#define real_atan2(a, b) _Generic((a), float : atan2f, double : atan2)(a, b)
#define real_acos(a) _Generic((a), float : acosf, double : acos)(a)

/* The member of the result that a type rule writes; OWN is the member of the operand's type. */
#define MEMBER_NUM OWN
#define MEMBER_INT OWN
#define MEMBER_REAL OWN
#define MEMBER_LOGIC OWN
#define MEMBER_SHIFT OWN
#define MEMBER_SELECT OWN
#define MEMBER_SAME OWN
#define MEMBER_COMPARE b
#define MEMBER_ORDER b
#define MEMBER_TO_I32 i
#define MEMBER_TO_U32 u
#define MEMBER_TO_F32 f
#define MEMBER_BITS_U u
#define MEMBER_BITS_F f

/* A column that is NA is never asked for: the type rule excludes it. */
#define NA 0
#define IR_STRUCT(NAME, name, effect, ka, kb, kc, adjoint)
#define ASSIGN_(NAME, member, expression)                                                                    \
    case IR_##NAME:                                                                                          \
        return (ir_value){.member = (expression)};
#define ASSIGN(NAME, member, expression) ASSIGN_(NAME, member, expression)

static ir_value eval_f32(ir_op op, ir_value va, ir_value vb, ir_value vc)
{
    float a = op == IR_SELECT ? (float)va.b : (float)va.f, b = (float)vb.f, c = (float)vc.f;
    switch ((int)op) {
#define OWN f
#define IR_VALUE(NAME, name, n, rule, commutes, fold, fx, ix, ux, bx, sf, si, su, sb, adjoint)               \
    ASSIGN(NAME, MEMBER_##rule, fx)
#include "spirv_gen/ir/ops.def"
    }
    return (ir_value){.u = 0};
}

static ir_value eval_f64(ir_op op, ir_value va, ir_value vb, ir_value vc)
{
    double a = op == IR_SELECT ? (double)va.b : va.f, b = vb.f, c = vc.f;
    switch ((int)op) {
#include "spirv_gen/ir/ops.def"
    }
    return (ir_value){.u = 0};
}
#undef IR_VALUE
#undef OWN

static ir_value eval_i32(ir_op op, ir_value va, ir_value vb, ir_value vc)
{
    int32_t a = op == IR_SELECT ? va.b : va.i, b = vb.i, c = vc.i;
    switch ((int)op) {
#define OWN i
#define IR_VALUE(NAME, name, n, rule, commutes, fold, fx, ix, ux, bx, sf, si, su, sb, adjoint)               \
    ASSIGN(NAME, MEMBER_##rule, ix)
#include "spirv_gen/ir/ops.def"
    }
    return (ir_value){.u = 0};
}
#undef IR_VALUE
#undef OWN

static ir_value eval_u32(ir_op op, ir_value va, ir_value vb, ir_value vc)
{
    uint32_t a = op == IR_SELECT ? va.b : va.u, b = vb.u, c = vc.u;
    switch ((int)op) {
#define OWN u
#define IR_VALUE(NAME, name, n, rule, commutes, fold, fx, ix, ux, bx, sf, si, su, sb, adjoint)               \
    ASSIGN(NAME, MEMBER_##rule, ux)
#include "spirv_gen/ir/ops.def"
    }
    return (ir_value){.u = 0};
}
#undef IR_VALUE
#undef OWN

static ir_value eval_bool(ir_op op, ir_value va, ir_value vb, ir_value vc)
{
    bool a = va.b, b = vb.b, c = vc.b;
    switch ((int)op) {
#define OWN b
#define IR_VALUE(NAME, name, n, rule, commutes, fold, fx, ix, ux, bx, sf, si, su, sb, adjoint)               \
    ASSIGN(NAME, MEMBER_##rule, bx)
#include "spirv_gen/ir/ops.def"
    }
    return (ir_value){.u = 0};
}

ir_value ir_eval_op(ir_op op, ir_type type, bool f64, ir_value a, ir_value b, ir_value c)
{
    switch (type) {
    case IR_F32:
        return f64 ? eval_f64(op, a, b, c) : eval_f32(op, a, b, c);
    case IR_I32:
        return eval_i32(op, a, b, c);
    case IR_U32:
        return eval_u32(op, a, b, c);
    default:
        return eval_bool(op, a, b, c);
    }
}
