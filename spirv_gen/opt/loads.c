/* SPDX-License-Identifier: BSD-3-Clause
 * A word that has been loaded already is not loaded again, where nothing in between can have written to its buffer: a store, an atomic, a
 * gradient, or a call with such an effect. (Loads of constant buffers merge in the builder.) Differentiation is over when this runs, so a
 * DLOAD is a LOAD, merges with others of its word, and does not keep its gradient's index alive.
 *
 * What has been loaded in a branch or loop is forgotten at its end, and a loop forgets at its beginning what it writes anywhere inside.
 * Other invocations may write too, but no order between their writes and two reads of this one is promised without an atomic. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef struct loaded {
    uint32_t buffer;
    ir_type type;
    ir_ref index, value; /* of the new function; value none: forgotten */
} loaded;

typedef struct loads {
    const ir_func *in;
    const uint8_t *writes; /* of opt_writes */
    ARRAY(loaded) known;
    ARRAY(uint32_t) regions; /* per open region: what was known at its beginning */
} loads;

static void forget(loads *l, uint32_t buffer, bool all)
{
    for (uint32_t k = 0; k < l->known.count; k++)
        if (all || l->known.data[k].buffer == buffer)
            l->known.data[k].value = (ir_ref){0};
}

static bool calls_writer(const loads *l, const ir_func *f, ir_inst call)
{
    ir_operands o = ir_call_operands(f, call);
    for (uint32_t k = 0; k < o.target_count; k++)
        if (l->writes[o.targets[k]])
            return true;
    return false;
}

/* What an instruction of f may have changed is not known any more. */
static void forget_written(loads *l, const ir_func *f, ir_inst inst)
{
    if (inst.op == IR_CALL)
        forget(l, 0, calls_writer(l, f, inst));
    else if (inst.op != IR_LSTORE && ir_op_table[inst.op].effect == IR_EFFECT_WRITE)
        forget(l, inst.b, false);
}

static void open_loop(loads *l, const ir_func *f, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < f->inst.count; id++) {
        if (f->inst.data[id].op == IR_ENDLOOP && f->inst.data[id].a == loop)
            break;
        forget_written(l, f, f->inst.data[id]);
    }
}

static void follow_regions(loads *l, const ir_func *f, uint32_t id, ir_inst inst)
{
    if (inst.op == IR_LOOP)
        open_loop(l, f, id);
    if (inst.op == IR_ELSE || inst.op == IR_ENDIF || inst.op == IR_ENDLOOP)
        l->known.count = l->regions.data[--l->regions.count];
    if (inst.op == IR_IF || inst.op == IR_ELSE || inst.op == IR_LOOP)
        array_push(&l->regions, l->known.count);
}

static ir_ref load_once(loads *l, ir_copier *c, ir_inst inst)
{
    ir_ref index = ir_copied(c, inst.a);
    ir_type type = (ir_type)inst.type;
    for (uint32_t k = l->known.count; k-- > 0;) {
        const loaded *one = &l->known.data[k];
        if (one->value.id && one->buffer == inst.b && one->type == type && ir_same(one->index, index))
            return one->value;
    }
    ir_ref value = ir_load(c->to, type, inst.b, index);
    if (!c->to->module->buffers.data[inst.b].constant)
        array_push(&l->known, ((loaded){.buffer = inst.b, .type = type, .index = index, .value = value}));
    return value;
}

static bool merge_loads(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    loads *l = pass->user;
    if (c->from != l->in)
        l->in = c->from, l->known.count = l->regions.count = 0;
    follow_regions(l, c->from, id, inst);
    forget_written(l, c->from, inst);
    if (inst.op != IR_LOAD && inst.op != IR_DLOAD)
        return false;
    c->map[id] = load_once(l, c, inst);
    return true;
}

ir_module *opt_loads(const ir_module *m)
{
    uint8_t *writes = opt_writes(m);
    loads l = {.writes = writes};
    opt_pass pass = {.from = m, .hook = merge_loads, .user = &l};
    ir_module *result = opt_rebuild(&pass);
    array_free(&l.known);
    array_free(&l.regions);
    free(writes);
    return result;
}
