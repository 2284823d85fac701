/* SPDX-License-Identifier: BSD-3-Clause
 * See checkpoints.h. */
#include "render/integrator/walk/checkpoints.h"

void state_checkpoints(loop_state *s, checkpoints *c)
{
    state_refs(s, c->number, CHECKPOINTS);
    state_ref(s, &c->stride), state_ref(s, &c->next);
}

checkpoints checkpoints_none(tracer *t)
{
    checkpoints c = {.stride = t_u32(t, 1), .next = t_u32(t, 1)};
    for (uint32_t k = 0; k < CHECKPOINTS; k++)
        c.number[k] = t_u32(t, 0);
    return c;
}

void checkpoints_clear(tracer *t, checkpoints *c, ir_ref when)
{
    loop_state now = {0}, none = {0};
    checkpoints empty = checkpoints_none(t);
    state_checkpoints(&now, c), state_checkpoints(&none, &empty);
    state_select(t->f, when, &none, &now);
    state_checkpoints(&none, c);
    state_end(&none);
}

/* bool: row k is taken, and a walk back to `target` may begin there. */
static ir_ref serves(tracer *t, const checkpoints *c, uint32_t k, ir_ref target)
{
    ir_func *f = t->f;
    return ir_and(f, ir_ne(f, c->number[k], t_u32(t, 0)), ir_le(f, c->number[k], target));
}

/* The first row that is free, or CHECKPOINTS. */
static ir_ref free_row(tracer *t, const checkpoints *c, ir_ref back, ir_ref target)
{
    ir_func *f = t->f;
    ir_ref row = t_u32(t, CHECKPOINTS), zero = t_u32(t, 0), rest = ir_sub(f, c->stride, t_u32(t, 1));
    for (uint32_t k = CHECKPOINTS; k-- > 0;) {
        ir_ref on = ir_and(f, ir_ne(f, c->number[k], zero), ir_eq(f, ir_and(f, c->number[k], rest), zero));
        ir_ref taken = ir_select(f, back, ir_to_u32(f, serves(t, c, k, target)), ir_to_u32(f, on));
        row = ir_select(f, ir_eq(f, taken, zero), t_u32(t, k), row);
    }
    return row;
}

ir_ref checkpoints_keep(tracer *t, checkpoints *c, ir_ref when, ir_ref number, ir_ref back, ir_ref target,
                        ir_ref *row)
{
    ir_func *f = t->f;
    const ir_ref none = t_u32(t, CHECKPOINTS), zero = t_u32(t, 0), one = t_u32(t, 1);
    ir_ref asked = ir_and(f, ir_and(f, when, ir_eq(f, number, c->next)),
                          ir_not(f, ir_and(f, back, ir_eq(f, number, target))));
    ir_ref full = ir_and(f, ir_and(f, asked, ir_not(f, back)), ir_eq(f, free_row(t, c, back, target), none));
    c->next = ir_select(f, asked, ir_add(f, number, c->stride), c->next);
    c->stride = ir_select(f, full, ir_shl(f, c->stride, one), c->stride);
    ir_ref stays = ir_or(f, back, ir_eq(f, ir_and(f, number, ir_sub(f, c->stride, one)), zero));
    *row = free_row(t, c, back, target);
    ir_ref keeps = ir_and(f, asked, ir_and(f, stays, ir_lt(f, *row, none)));
    for (uint32_t k = 0; k < CHECKPOINTS; k++)
        c->number[k] = ir_select(f, ir_and(f, keeps, ir_eq(f, *row, t_u32(t, k))), number, c->number[k]);
    return keeps;
}

ir_ref checkpoints_turn(tracer *t, checkpoints *c, ir_ref when, ir_ref target)
{
    ir_func *f = t->f;
    ir_ref row = t_u32(t, CHECKPOINTS), from = t_u32(t, 0), parts = t_u32(t, 1);
    for (uint32_t k = 0; k < CHECKPOINTS; k++) {
        ir_ref here = serves(t, c, k, target), nearer = ir_and(f, here, ir_gt(f, c->number[k], from));
        row = ir_select(f, nearer, t_u32(t, k), row), from = ir_select(f, nearer, c->number[k], from);
        parts = ir_add(f, parts, ir_to_u32(f, ir_not(f, here)));
    }
    ir_ref length = ir_sub(f, target, from),
           stride =
               ir_max(f, t_u32(t, 1), ir_div(f, ir_add(f, length, ir_sub(f, parts, t_u32(t, 1))), parts));
    c->stride = ir_select(f, when, stride, c->stride);
    c->next = ir_select(f, when, ir_add(f, from, stride), c->next);
    return row;
}
