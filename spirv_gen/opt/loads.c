/* SPDX-License-Identifier: BSD-3-Clause
 * A word that has been loaded or stored already is not loaded again, where nothing in between can have
 * written to it: a store, an atomic, a gradient, or a call with such an effect. Two places of a buffer are
 * different where both are constants. (Loads of constant buffers merge in the builder.) Differentiation is
 * over when this runs, so a DLOAD is a LOAD, merges with others of its word, and does not keep its gradient's
 * index alive. Local arrays are treated alike.
 *
 * What has been loaded in a branch or loop is forgotten at its end, and a loop forgets at its beginning what
 * it writes anywhere inside. Other invocations may write too, but no order between their writes and two reads
 * of this one is promised without an atomic. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

/* Where an access goes: one word or element, or (`anywhere`) any of its buffer or array. */
typedef struct place {
    bool local, anywhere;
    uint32_t memory; /* buffer, or LOCAL of the new function */
    ir_ref index;    /* of the new function */
} place;

typedef struct known {
    place at;
    ir_type type;
    ir_ref value; /* of the new function; none: forgotten */
} known;

typedef struct loads {
    const ir_func *in;
    const uint8_t *writes; /* of opt_writes */
    ARRAY(known) known;
    ARRAY(uint32_t) regions; /* per open region: what was known at its beginning */
} loads;

static bool may_meet(const ir_func *f, place x, place y)
{
    if (x.local != y.local || x.memory != y.memory)
        return false;
    return x.anywhere || y.anywhere || ir_same(x.index, y.index) || !ir_is_const(f, x.index) ||
           !ir_is_const(f, y.index);
}

static void forget(loads *l, const ir_func *f, place at)
{
    for (uint32_t k = 0; k < l->known.count; k++)
        if (may_meet(f, l->known.data[k].at, at))
            l->known.data[k].value = (ir_ref){0};
}

static void forget_buffers(loads *l)
{
    for (uint32_t k = 0; k < l->known.count; k++)
        if (!l->known.data[k].at.local)
            l->known.data[k].value = (ir_ref){0};
}

/* The place of an access; `anywhere` where its index is not a value of the new function yet. */
static place place_of(ir_copier *c, ir_inst i)
{
    bool local = i.op == IR_LLOAD || i.op == IR_LSTORE;
    uint32_t index = local ? i.b : i.a;
    bool floats = ir_op_table[c->from->inst.data[index].op].effect == IR_EFFECT_FLOAT;
    bool exact = i.op != IR_ACCUM && i.op != IR_FLUSH && (floats || c->map[index].id);
    return (place){
        .local = local,
        .memory = local ? c->map[i.a].id : i.b,
        .anywhere = !exact,
        .index = exact ? ir_copied(c, index) : (ir_ref){0},
    };
}

/* What an instruction may change is not known any more. */
static void forget_written(loads *l, ir_copier *c, ir_inst inst)
{
    if (opt_calls_writer(c->from, inst, l->writes))
        forget_buffers(l);
    else if (inst.op != IR_CALL && ir_op_table[inst.op].effect == IR_EFFECT_WRITE)
        forget(l, c->to, place_of(c, inst));
}

static void open_loop(loads *l, ir_copier *c, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < c->from->inst.count; id++) {
        if (c->from->inst.data[id].op == IR_ENDLOOP && c->from->inst.data[id].a == loop)
            break;
        forget_written(l, c, c->from->inst.data[id]);
    }
}

static void follow_regions(loads *l, ir_copier *c, uint32_t id, ir_inst inst)
{
    if (inst.op == IR_LOOP)
        open_loop(l, c, id);
    if (inst.op == IR_ELSE || inst.op == IR_ENDIF || inst.op == IR_ENDLOOP)
        l->known.count = l->regions.data[--l->regions.count];
    if (inst.op == IR_IF || inst.op == IR_ELSE || inst.op == IR_LOOP)
        array_push(&l->regions, l->known.count);
}

static void remember(loads *l, const ir_func *f, place at, ir_ref value)
{
    if (at.local || !f->module->buffers.data[at.memory].constant)
        array_push(&l->known, ((known){.at = at, .type = ir_type_of(f, value), .value = value}));
}

static ir_ref load_once(loads *l, ir_copier *c, ir_inst inst)
{
    place at = place_of(c, inst);
    ir_type type = (ir_type)inst.type;
    for (uint32_t k = l->known.count; k-- > 0;) {
        const known *one = &l->known.data[k];
        if (one->value.id && one->at.local == at.local && one->at.memory == at.memory && one->type == type &&
            ir_same(one->at.index, at.index))
            return one->value;
    }
    ir_ref value =
        at.local ? ir_lload(c->to, (ir_ref){at.memory}, at.index) : ir_load(c->to, type, at.memory, at.index);
    if (value.id)
        remember(l, c->to, at, value);
    return value;
}

static bool merge_loads(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    loads *l = pass->user;
    if (c->from != l->in)
        l->in = c->from, l->known.count = l->regions.count = 0;
    follow_regions(l, c, id, inst);
    forget_written(l, c, inst);
    if (inst.op == IR_STORE || inst.op == IR_LSTORE)
        remember(l, c->to, place_of(c, inst), ir_copied(c, inst.c));
    if (inst.op != IR_LOAD && inst.op != IR_DLOAD && inst.op != IR_LLOAD)
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
    memory_free(writes);
    return result;
}
