/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that one call or ray can reach have one signature, so what changes a signature decides for all of
 * them: a group. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

static uint32_t leader_of(const opt_groups *g, uint32_t index)
{
    while (g->leader[index] != index)
        index = g->leader[index];
    return index;
}

static void join_targets(opt_groups *g, const ir_func *f, ir_inst call)
{
    ir_operands o = ir_call_operands(f, call);
    for (uint32_t t = 0; t < o.target_count; t++) {
        g->reached[o.targets[t]] |= call.op == IR_CALL ? OPT_CALLED : OPT_BY_RAY;
        g->leader[leader_of(g, o.targets[t])] = leader_of(g, o.targets[0]);
    }
}

opt_groups opt_group_targets(const ir_module *m)
{
    uint32_t count = m->functions.count;
    opt_groups g = {.leader = memory_need_zeroed(count + 1, sizeof *g.leader),
                    .reached = memory_need_zeroed(count + 1, 1)};
    for (uint32_t k = 0; k < count; k++)
        g.leader[k] = k;
    for (uint32_t k = 0; k < count; k++) {
        const ir_func *f = m->functions.data[k];
        for (uint32_t id = 1; id < f->inst.count; id++)
            if (f->inst.data[id].op == IR_CALL || f->inst.data[id].op == IR_RAY_CLOSEST ||
                f->inst.data[id].op == IR_RAY_ANY)
                join_targets(&g, f, f->inst.data[id]);
    }
    for (uint32_t k = 0; k < count; k++)
        g.leader[k] = leader_of(&g, k);
    for (uint32_t k = 0; k < count; k++)
        g.reached[g.leader[k]] |= g.reached[k];
    for (uint32_t k = 0; k < count; k++)
        g.reached[k] = g.reached[g.leader[k]];
    return g;
}

void opt_groups_free(opt_groups *g)
{
    memory_free(g->leader);
    memory_free(g->reached);
}
