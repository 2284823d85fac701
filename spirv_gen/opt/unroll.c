/* SPDX-License-Identifier: BSD-3-Clause
 * A fixed number of trips of every loop, written out: each is the code before the test, then the body in an
 * IF, whose PHIs are the next states. A loop that would go on ends there, so this is for validation: reverse
 * mode takes what it makes of any loop.
 *
 * The code before the test also runs in trips behind the last one, on states that do not change any more;
 * effects there are refused. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef struct unroller {
    uint32_t trips,
        skip; /* instructions before `skip` of function `in` are part of a loop that has been written out */
    const ir_func *in;
} unroller;

static uint32_t find(const ir_func *f, uint32_t from, ir_op op, uint32_t loop)
{
    for (uint32_t id = from; id < f->inst.count; id++)
        if (f->inst.data[id].op == op && (op == IR_WHILE ? f->inst.data[id].b : f->inst.data[id].a) == loop)
            return id;
    return 0;
}

static uint32_t first_inside(const ir_func *f, uint32_t loop)
{
    uint32_t id = loop + 1;
    while (f->inst.data[id].op == IR_STATE && f->inst.data[id].c == loop)
        id++;
    return id;
}

static bool refuse_writes(ir_copier *c, uint32_t first, uint32_t last)
{
    uint8_t *writes = opt_writes(c->from->module);
    bool refused = false;
    for (uint32_t id = first; id < last && !refused; id++) {
        ir_inst inst = c->from->inst.data[id];
        refused = ir_op_table[inst.op].effect == IR_EFFECT_WRITE && inst.op != IR_CALL;
        ir_operands o = inst.op == IR_CALL ? ir_call_operands(c->from, inst) : (ir_operands){0};
        for (uint32_t k = 0; k < o.target_count; k++)
            refused |= writes[o.targets[k]] != 0;
        if (refused)
            ir_fail(c->to, "unroll: %%%u (%s) of \"%s\" writes before the test of its loop", id,
                    ir_op_table[inst.op].name, c->from->name);
    }
    memory_free(writes);
    return refused;
}

/* One trip: on entry and exit the map holds the values of the STATEs loop + 1 .. first - 1. */
static void trip(ir_copier *c, uint32_t loop, uint32_t first, uint32_t test, uint32_t end)
{
    uint32_t count = first - loop - 1;
    ir_ref *next = memory_need((count + 1) * sizeof *next);
    ir_copy_range(c, first, test);
    ir_ref branch = ir_if(c->to, ir_copied(c, c->from->inst.data[test].a));
    ir_copy_range(c, test + 1, end);
    for (uint32_t k = 0; k < count; k++)
        next[k] = ir_copied(c, c->from->inst.data[loop + 1 + k].b);
    ir_else(c->to);
    ir_endif(c->to);
    for (uint32_t k = 0; k < count; k++)
        next[k] = ir_phi(c->to, branch, next[k], c->map[loop + 1 + k]);
    for (uint32_t k = 0; k < count; k++)
        c->map[loop + 1 + k] = next[k];
    memory_free(next);
}

static bool unroll(ir_copier *c, uint32_t id, ir_inst inst)
{
    opt_pass *pass = c->user;
    unroller *u = pass->user;
    if (u->in != c->from)
        u->in = c->from, u->skip = 0;
    if (id < u->skip)
        return true;
    if (inst.op != IR_LOOP)
        return false;
    uint32_t first = first_inside(c->from, id), test = find(c->from, first, IR_WHILE, id),
             end = find(c->from, test, IR_ENDLOOP, id);
    if (refuse_writes(c, first, test))
        return true;
    for (uint32_t k = id + 1; k < first; k++)
        c->map[k] = ir_copied(c, c->from->inst.data[k].a);
    for (uint32_t k = 0; k < u->trips && c->to->module->error.code == BL_OK; k++) {
        u->skip = 0; /* loops inside are met once per trip */
        trip(c, id, first, test, end);
    }
    u->skip = end + 1;
    return true;
}

ir_module *opt_unroll(const ir_module *m, uint32_t trips)
{
    unroller u = {.trips = trips};
    opt_pass pass = {.from = m, .hook = unroll, .user = &u, .keep_suspended = true};
    return opt_rebuild(&pass);
}
