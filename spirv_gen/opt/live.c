/* SPDX-License-Identifier: BSD-3-Clause
 * Liveness: marking from roots backwards.
 *
 * A value needs its operands and the regions that hold it; a region needs its condition and its closing
 * instructions; a PHI needs its IF; a STATE its LOOP, its initial and its next value (so a STATE that only
 * feeds itself is never reached); a LOCAL that is read needs all stores to it. Effects on buffers are roots
 * if the caller wants them to be; a call is one if a target of it writes. A loop without effects whose states
 * nobody reads is not reached, even if it would never end. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

static bool writes_memory(ir_op op)
{
    return op == IR_STORE || op == IR_ATOMIC_ADD || op == IR_ATOMIC_CAS || op == IR_ACCUM || op == IR_FLUSH;
}

bool opt_calls_writer(const ir_func *f, ir_inst inst, const uint8_t *writes)
{
    if (inst.op != IR_CALL)
        return false;
    ir_operands o = ir_call_operands(f, inst);
    for (uint32_t k = 0; k < o.target_count; k++)
        if (writes[o.targets[k]])
            return true;
    return false;
}

static bool function_writes(const ir_func *f, const uint8_t *writes)
{
    for (uint32_t id = 1; id < f->inst.count; id++)
        if (writes_memory((ir_op)f->inst.data[id].op) || opt_calls_writer(f, f->inst.data[id], writes))
            return true;
    return false;
}

uint8_t *opt_writes(const ir_module *m)
{
    uint8_t *writes = memory_need_zeroed(m->functions.count + 1, 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < m->functions.count; k++)
            if (!writes[k] && function_writes(m->functions.data[k], writes))
                writes[k] = changed = true;
    }
    return writes;
}

typedef struct marker {
    const ir_func *f;
    uint8_t *live;
    uint8_t *const *params; /* opt_live's */
    uint32_t *edges;        /* two per region: its ELSE or WHILE, its ENDIF or ENDLOOP; 0 where still open */
    ARRAY(uint32_t) pending;
} marker;

static void mark(void *user, uint32_t id)
{
    marker *m = user;
    if (id && !m->live[id]) {
        m->live[id] = 1;
        array_push(&m->pending, id);
    }
}

static void find_edges(marker *m)
{
    for (uint32_t id = 1; id < m->f->inst.count; id++) {
        ir_inst inst = m->f->inst.data[id];
        switch (inst.op) {
        case IR_ELSE:
            m->edges[2 * inst.a] = id;
            break;
        case IR_WHILE:
            m->edges[2 * inst.b] = id;
            break;
        case IR_ENDIF:
        case IR_ENDLOOP:
            m->edges[2 * inst.a + 1] = id;
            break;
        default:
            break;
        }
    }
}

static void mark_stores_to(marker *m, uint32_t local)
{
    for (uint32_t id = local + 1; id < m->f->inst.count; id++)
        if (m->f->inst.data[id].op == IR_LSTORE && m->f->inst.data[id].a == local)
            mark(m, id);
}

/* The selector, and the arguments that targets look at. */
static void mark_call(marker *m, ir_inst call)
{
    ir_operands o = ir_call_operands(m->f, call);
    mark(m, call.a);
    for (uint32_t k = 0; k < o.arg_count; k++)
        if (m->params[o.targets[0]][k])
            mark(m, o.args[k]);
}

static void mark_needs(marker *m, uint32_t id)
{
    ir_inst inst = m->f->inst.data[id];
    if (inst.op == IR_CALL && m->params)
        mark_call(m, inst);
    else
        ir_each_operand(m->f, inst, mark, m);
    if (ir_op_table[inst.op].effect !=
        IR_EFFECT_FLOAT) /* constants and their kin are valid wherever they stand */
        mark(m, m->f->scope.data[id]);
    switch (inst.op) {
    case IR_IF:
    case IR_LOOP:
        mark(m, m->edges[2 * id]);
        mark(m, m->edges[2 * id + 1]);
        break;
    case IR_ELSE:
        mark(m, inst.a);
        break;
    case IR_PHI:
    case IR_STATE:
        mark(m, inst.c);
        break;
    case IR_LOCAL:
        mark_stores_to(m, id);
        break;
    default:
        break;
    }
}

uint8_t *opt_live(const ir_func *f, const ir_ref *roots, uint32_t count, const uint8_t *writes,
                  uint8_t *const *params)
{
    marker m = {
        .f = f,
        .params = params,
        .live = memory_need_zeroed(f->inst.count, 1),
        .edges = memory_need_zeroed(2 * (size_t)f->inst.count, sizeof *m.edges),
    };
    find_edges(&m);
    for (uint32_t k = 0; k < count; k++)
        mark(&m, roots[k].id);
    for (uint32_t id = 1; writes && id < f->inst.count; id++)
        if (writes_memory((ir_op)f->inst.data[id].op) || opt_calls_writer(f, f->inst.data[id], writes))
            mark(&m, id);
    while (m.pending.count)
        mark_needs(&m, m.pending.data[--m.pending.count]);
    memory_free(m.edges);
    array_free(&m.pending);
    return m.live;
}
