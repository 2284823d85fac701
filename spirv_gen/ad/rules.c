/* SPDX-License-Identifier: BSD-3-Clause
 * One derivative per value op that claims one in ops.def.
 *
 * A rule multiplies x by the partial derivative with respect to operand k. Seen from the result (x an
 * adjoint) that is the reverse mode, seen from the operand (x a tangent) the forward mode: both read this
 * file. Points where the derivative does not exist: it is 0 where the true one is infinite and factors of
 * exactly 0 would make it NaN (sqrt, pow, acos, atan2 at the border of their domain), and that of the branch
 * which was taken at kinks (abs, min, max). */
#include "spirv_gen/ad/sweep.h"

#define RULE(NAME) static ir_ref ad_rule_##NAME(const ad_site *s, unsigned k, ir_ref x)

static ir_ref zero(ir_func *f) { return ir_f32(f, 0); }

RULE(ADD)
{
    (void)s, (void)k;
    return x;
}

RULE(SUB) { return k == 0 ? x : ir_neg(s->f, x); }
RULE(MUL) { return ir_mul(s->f, x, k == 0 ? s->b : s->a); }

/* a / b: 1 / b and -y / b */
RULE(DIV)
{
    ir_ref quotient = ir_div(s->f, x, s->b);
    return k == 0 ? quotient : ir_neg(s->f, ir_mul(s->f, quotient, s->y));
}

RULE(NEG)
{
    (void)k;
    return ir_neg(s->f, x);
}

RULE(ABS)
{
    (void)k;
    return ir_select(s->f, ir_lt(s->f, s->a, zero(s->f)), ir_neg(s->f, x), x);
}

/* The operand that was not taken gets nothing. */
static ir_ref choose(ir_func *f, ir_ref takes_b, unsigned k, ir_ref x)
{
    return k == 0 ? ir_select(f, takes_b, zero(f), x) : ir_select(f, takes_b, x, zero(f));
}

RULE(MIN) { return choose(s->f, ir_lt(s->f, s->b, s->a), k, x); }
RULE(MAX) { return choose(s->f, ir_lt(s->f, s->a, s->b), k, x); }

/* 1 / (2 y); infinite at 0, taken as 0 there */
RULE(SQRT)
{
    (void)k;
    ir_ref slope = ir_div(s->f, ir_mul(s->f, x, ir_f32(s->f, 0.5f)), s->y);
    return ir_select(s->f, ir_lt(s->f, zero(s->f), s->y), slope, zero(s->f));
}

RULE(SIN)
{
    (void)k;
    return ir_mul(s->f, x, ir_cos(s->f, s->a));
}

RULE(COS)
{
    (void)k;
    return ir_neg(s->f, ir_mul(s->f, x, ir_sin(s->f, s->a)));
}

RULE(EXP)
{
    (void)k;
    return ir_mul(s->f, x, s->y);
}

RULE(LOG)
{
    (void)k;
    return ir_div(s->f, x, s->a);
}

/* a^b: b y / a and y ln a. At a = 0 the first is 1 for b = 1, else taken as 0; the second is 0 for a <= 0. */
RULE(POW)
{
    ir_func *f = s->f;
    if (k == 1)
        return ir_select(f, ir_lt(f, zero(f), s->a), ir_mul(f, x, ir_mul(f, s->y, ir_log(f, s->a))), zero(f));
    ir_ref slope = ir_div(f, ir_mul(f, x, ir_mul(f, s->y, s->b)), s->a);
    ir_ref at_zero = ir_select(f, ir_eq(f, s->b, ir_f32(f, 1)), x, zero(f));
    return ir_select(f, ir_ne(f, s->a, zero(f)), slope, at_zero);
}

/* angle of (b, a): b / (a^2 + b^2) and -a / (a^2 + b^2); 0 at the origin */
RULE(ATAN2)
{
    ir_func *f = s->f;
    ir_ref square = ir_add(f, ir_mul(f, s->a, s->a), ir_mul(f, s->b, s->b));
    ir_ref slope = ir_div(f, ir_mul(f, x, k == 0 ? s->b : ir_neg(f, s->a)), square);
    return ir_select(f, ir_lt(f, zero(f), square), slope, zero(f));
}

/* -1 / sqrt(1 - a^2); infinite at +-1, taken as 0 there */
RULE(ACOS)
{
    ir_func *f = s->f;
    (void)k;
    ir_ref one = ir_f32(f, 1), rest = ir_mul(f, ir_sub(f, one, s->a), ir_add(f, one, s->a));
    ir_ref slope = ir_neg(f, ir_div(f, x, ir_sqrt(f, rest)));
    return ir_select(f, ir_lt(f, zero(f), rest), slope, zero(f));
}

RULE(SELECT)
{
    if (k == 0)
        return (ir_ref){0};
    return k == 1 ? ir_select(s->f, s->a, x, zero(s->f)) : ir_select(s->f, s->a, zero(s->f), x);
}

/* The value of a with the derivative of b. */
RULE(REPLACE_GRAD)
{
    (void)s;
    return k == 1 ? x : (ir_ref){0};
}

bool ad_carries(ir_op op, unsigned k)
{
    return op == IR_REPLACE_GRAD ? k == 1 : op == IR_SELECT ? k > 0 : true;
}

#define TABLE_DIFF(NAME) ad_rule_##NAME
#define TABLE_FLAT(NAME) NULL
#define TABLE_NONE(NAME) NULL
const ad_rule ad_rules[IR_OP_COUNT] = {
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint)                   \
    [IR_##NAME] = TABLE_##adjoint(NAME),
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint)
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
};
