/* SPDX-License-Identifier: BSD-3-Clause
 * How large a module is, in the numbers that optimisations of calls and loops are about. Static: what stands
 * in a loop counts once. */
#include "spirv_gen/opt/opt.h"

static void measure_inst(const ir_func *f, ir_inst inst, opt_size *size)
{
    size->ops += ir_op_table[inst.op].effect != IR_EFFECT_FLOAT;
    size->state_bytes += inst.op == IR_STATE ? 4 : 0;
    if (inst.op != IR_CALL)
        return;
    size->calls++;
    size->call_bytes += 4 * (1 + ir_call_operands(f, inst).arg_count + ir_result_count(f, inst));
}

opt_size opt_measure(const ir_module *m)
{
    opt_size size = {.functions = m->functions.count};
    for (uint32_t k = 0; k < m->functions.count; k++)
        for (uint32_t id = 1; id < m->functions.data[k]->inst.count; id++)
            measure_inst(m->functions.data[k], m->functions.data[k]->inst.data[id], &size);
    return size;
}
