/* SPDX-License-Identifier: BSD-3-Clause
 * A CALL that can only reach one function (one target, all targets the same, or a constant selector) becomes
 * that function's body. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

/* The one function that the call can reach, or NULL. */
static ir_func *only_target(const opt_pass *pass, const ir_copier *c, ir_inst call)
{
    ir_operands o = ir_call_operands(c->from, call);
    ir_inst selector = c->from->inst.data[call.a];
    if (selector.op == IR_CONST && selector.a < o.target_count)
        return pass->functions[o.targets[selector.a]];
    for (uint32_t k = 1; k < o.target_count; k++)
        if (o.targets[k] != o.targets[0])
            return NULL;
    return pass->functions[o.targets[0]];
}

static bool inline_call(ir_copier *c, uint32_t id, ir_inst inst)
{
    ir_func *target = inst.op == IR_CALL ? only_target(c->user, c, inst) : NULL;
    if (!target)
        return false;
    ir_operands o = ir_call_operands(c->from, inst);
    ir_ref *args = memory_need((o.arg_count + 1) * sizeof *args);
    ir_ref *results = memory_need_zeroed(target->results.count + 1, sizeof *results);
    for (uint32_t k = 0; k < o.arg_count; k++)
        args[k] = ir_copied(c, o.args[k]);
    ir_inline(c->to, target, args, results);
    opt_replace_results(c, id, results);
    memory_free(args);
    memory_free(results);
    return true;
}

ir_module *opt_inline_single(const ir_module *m)
{
    opt_pass pass = {.from = m, .hook = inline_call};
    return opt_rebuild(&pass);
}
