/* SPDX-License-Identifier: BSD-3-Clause
 * What may be computed a second time. Differentiation emits the code of closed branches, loops and callees
 * again, because what was computed there is not visible any more. That is only right if no effect
 * happens twice and every read gives the value that it gave before. */
#include "spirv_gen/ad/sweep.h"
#include "spirv_gen/opt/pass.h"

static bool target_writes(const ir_func *from, ir_inst call, uint8_t **writes)
{
    if (!*writes)
        *writes = opt_writes(from->module);
    ir_operands o = ir_call_operands(from, call);
    for (uint32_t k = 0; k < o.target_count; k++)
        if ((*writes)[o.targets[k]])
            return true;
    return false;
}

/* A local array from outside that has been written since. */
static bool is_overwritten(const ir_func *from, uint32_t local, uint32_t first)
{
    for (uint32_t id = first; id < from->inst.count && local < first; id++)
        if (from->inst.data[id].op == IR_LSTORE && from->inst.data[id].a == local)
            return true;
    return false;
}

bool ad_refuse_repeat(ir_func *to, const ir_func *from, uint32_t id, uint32_t first, uint8_t **writes)
{
    ir_inst inst = from->inst.data[id];
    const char *why = NULL;
    switch (inst.op) {
    case IR_ATOMIC_ADD:
    case IR_ATOMIC_CAS:
        why = "writes memory";
        break;
    case IR_CALL:
        why = target_writes(from, inst, writes) ? "writes memory" : NULL;
        break;
    case IR_LSTORE:
        why = inst.a < first ? "writes an array from outside" : NULL;
        break;
    case IR_LLOAD:
        why = is_overwritten(from, inst.a, first) ? "reads an array that has been written since" : NULL;
        break;
    default:
        break;
    }
    if (why)
        ir_fail(to,
                "differentiation has to compute %%%u (%s) of \"%s\" again, but it %s: detach what depends on "
                "it, or "
                "move it out of the branch, loop or function",
                id, ir_op_table[inst.op].name, from->name, why);
    return why != NULL;
}
