/* SPDX-License-Identifier: BSD-3-Clause
 * What has one value in every iteration of a loop is computed once, before the loop: ops on values from
 * outside, and reads of constant buffers whose address is made of constants, uniforms and such reads alone
 * (the record of a camera, the places of tables). Reads are what this is about: CPU devices gather each
 * lane's word by itself, and know nothing of what a loop repeats.
 *
 * The loop may not reach what is moved, or not enter at all, so only what is harmless moves: no other reads,
 * whose addresses may be wrong where their branch is not taken, and no integer division by another value,
 * which may be zero then. An address that is the same in every invocation is in range wherever the read
 * stands, and such a divisor is not zero: that is asked of who builds a trace (ir.h). */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef struct invariants {
    const ir_func *f;
    uint8_t *uniform; /* per instruction: the same in every invocation */
    uint8_t *moved;   /* per instruction: computed before a loop that holds it */
} invariants;

static bool known_uniform(const void *user, uint32_t ref)
{
    const invariants *v = user;
    return v->uniform[ref] != 0;
}

static bool is_uniform(const invariants *v, uint32_t id)
{
    ir_inst i = v->f->inst.data[id];
    if (ir_op_table[i.op].arity == 0 && !opt_reads_constant(v->f, i))
        return i.op == IR_CONST || i.op == IR_UNIFORM;
    return ir_every_operand(v->f, i, known_uniform, v);
}

static bool may_move(const invariants *v, uint32_t id)
{
    ir_inst i = v->f->inst.data[id];
    if (opt_reads_constant(v->f, i))
        return v->uniform[id];
    if ((i.op == IR_DIV || i.op == IR_MOD) && i.type != IR_F32)
        return v->uniform[i.b];
    return ir_op_table[i.op].arity > 0;
}

typedef struct origins {
    const invariants *v;
    uint32_t loop;
} origins;

static bool is_outside(const void *user, uint32_t ref)
{
    const origins *o = user;
    return ref < o->loop || o->v->moved[ref] ||
           ir_op_table[o->v->f->inst.data[ref].op].effect == IR_EFFECT_FLOAT;
}

/* Emits what leaves the loop, at the place before it. */
static void leave_loop(invariants *v, ir_copier *c, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < v->f->inst.count; id++) {
        ir_inst i = v->f->inst.data[id];
        if (i.op == IR_ENDLOOP && i.a == loop)
            break;
        const origins o = {.v = v, .loop = loop};
        if (v->moved[id] || !may_move(v, id) || !ir_every_operand(v->f, i, is_outside, &o))
            continue;
        v->moved[id] = 1;
        ir_copy_inst(c, id);
    }
}

static void begin_function(ir_copier *c)
{
    const opt_pass *pass = c->user;
    invariants *v = pass->user;
    v->f = c->from;
    memory_free(v->uniform), memory_free(v->moved);
    v->uniform = memory_need_zeroed(v->f->inst.count, 1), v->moved = memory_need_zeroed(v->f->inst.count, 1);
    for (uint32_t id = 1; id < v->f->inst.count; id++)
        v->uniform[id] = is_uniform(v, id);
}

static bool move_out(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    invariants *v = pass->user;
    if (inst.op == IR_LOOP)
        leave_loop(v, c, id);
    return v->moved[id];
}

ir_module *opt_loop_invariants(const ir_module *m)
{
    if (!opt_holds(m, IR_LOOP))
        return NULL;
    invariants v = {0};
    opt_pass pass = {.from = m, .begin = begin_function, .hook = move_out, .user = &v};
    ir_module *result = opt_rebuild(&pass);
    memory_free(v.uniform), memory_free(v.moved);
    return result;
}
