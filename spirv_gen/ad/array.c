/* SPDX-License-Identifier: BSD-3-Clause
 * The reverse of local arrays: beside an array whose elements depend on something wanted stands one of their
 * adjoints. A read adds to the adjoint of its element; a store takes that adjoint for the value that it has
 * stored, and leaves zero for what stood there before.
 *
 * The array of adjoints begins with the sweep of the region that holds the array, as zeros. Stores are swept
 * from last to first, which a loop swept by a second loop does not do: a store from inside of one to an array
 * from outside is an error. */
#include "spirv_gen/ad/sweep.h"

enum { UNROLLED = 8 };

static ir_ref zeros(ir_func *f, uint32_t count)
{
    ir_ref array = ir_local(f, IR_F32, count), zero = ir_f32(f, 0), at = ir_u32(f, 0);
    for (uint32_t k = 0; k < count && count <= UNROLLED; k++)
        ir_lstore(f, array, ir_u32(f, k), zero);
    if (count <= UNROLLED)
        return array;
    ir_ref loop = ir_loop(f, &at, 1);
    ir_while(f, ir_lt(f, at, ir_u32(f, count)));
    ir_lstore(f, array, at, zero);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, at, ir_u32(f, 1))}, 1);
    return array;
}

/* Has region r of the first `count` instructions ended among them? */
static bool is_closed(const ir_func *f, uint32_t r, uint32_t count)
{
    uint32_t opened = f->inst.data[r].op == IR_ELSE ? f->inst.data[r].a : r;
    for (uint32_t id = r + 1; id < count; id++) {
        ir_inst i = f->inst.data[id];
        if (((i.op == IR_ELSE || i.op == IR_ENDLOOP) && i.a == r) || (i.op == IR_ENDIF && i.a == opened))
            return true;
    }
    return false;
}

/* Is `id` visible at the end of the code that begins at `first`? */
static bool stays_visible(const ad_sweep *s, uint32_t id, uint32_t first)
{
    for (uint32_t r = s->from->scope.data[id]; r >= first && r; r = s->from->scope.data[r])
        if (is_closed(s->from, r, s->count))
            return false;
    return true;
}

void ad_open_arrays(ad_sweep *s, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last; id++) {
        ir_inst inst = s->from->inst.data[id];
        if (inst.op == IR_LOCAL && s->active[id] && s->live[id] && stays_visible(s, id, first))
            s->adjoint[id] = zeros(s->f, inst.a);
    }
}

bool ad_stores_outside(const ad_sweep *s, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last; id++) {
        ir_inst inst = s->from->inst.data[id];
        if (inst.op == IR_LSTORE && inst.a < first && !ir_is_none(s->adjoint[inst.a]))
            return true;
    }
    return false;
}

void ad_reverse_LLOAD(ad_sweep *s, uint32_t id)
{
    ir_inst inst = s->from->inst.data[id];
    ir_ref adjoints = s->adjoint[inst.a], at = ir_copied(&s->copy, inst.b);
    ir_lstore(s->f, adjoints, at, ir_add(s->f, ir_lload(s->f, adjoints, at), s->adjoint[id]));
}

void ad_refuse_store_in_loop(ad_sweep *s, uint32_t loop)
{
    ir_fail(s->f,
            "a derivative arrives at a local array of \"%s\" that the loop %%%u stores to from inside: "
            "detach what is stored, keep it in "
            "states of the loop, unroll the loop (opt_unroll), or use forward mode",
            s->from->name, loop);
}

void ad_reverse_LSTORE(ad_sweep *s, uint32_t id)
{
    ir_inst inst = s->from->inst.data[id];
    ir_ref adjoints = s->adjoint[inst.a];
    if (ir_is_none(adjoints))
        return;
    for (uint32_t r = s->from->scope.data[id]; r > inst.a; r = s->from->scope.data[r])
        if (s->from->inst.data[r].op == IR_LOOP) { /* it is still open: closed ones have been refused */
            ad_refuse_store_in_loop(s, r);
            return;
        }
    ir_ref at = ir_copied(&s->copy, inst.b), adjoint = ir_lload(s->f, adjoints, at);
    ir_lstore(s->f, adjoints, at, ir_f32(s->f, 0));
    ad_add(s, inst.c, adjoint);
}
