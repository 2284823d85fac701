/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbouring words read as one vector. A LOAD of a constant buffer whose index is a multiple of four plus a
 * constant becomes part of a read of the four words around it, through a view of the buffer as an array of
 * uvec4, if another LOAD near it in its block wants one of them, too. A vector that has been read serves
 * until its block ends.
 *
 * An index is a multiple of four by the way it was made: x & c, x * c, x << c, or a sum of such. Whoever lays
 * out records at multiples of four words says so by `x & ~3`, an op that changes nothing. That is known of
 * ids rather than of the trace's references, because ids enter callees.
 *
 * Words that nobody asked for are read along with the others. So buffers are whole quads long
 * (gpu_buffer_create), and one that is written is not read so. Checked kernels (opt/bounds.c) choose each
 * index, which hides what it is made of: they read words. docs/decisions/vector-loads.md says what it is
 * worth. */
#include "spirv_gen/spv/module.h"

enum { NEAR = 64 /* instructions; a limit to the search, not a property of devices */ };

static bool is_const(const ir_func *f, uint32_t ref) { return f->inst.data[ref].op == IR_CONST; }

/* ---- what is known of an index ---- */

static spv_index index_of(const spv_gen *g, uint32_t id)
{
    spv_index i = id < g->indices.count ? g->indices.data[id] : (spv_index){0};
    if (i.root == 0)
        i.root = id;
    return i;
}

static bool is_multiple(const spv_gen *g, const spv_frame *frame, uint32_t ref)
{
    ir_inst i = frame->f->inst.data[ref];
    return i.op == IR_CONST ? i.a % 4 == 0 : index_of(g, frame->id[ref]).multiple;
}

static bool makes_multiple(const spv_gen *g, const spv_frame *frame, ir_inst inst)
{
    uint32_t c = is_const(frame->f, inst.b) ? frame->f->inst.data[inst.b].a : 1;
    switch (inst.op) {
    case IR_AND:
    case IR_MUL:
        return c % 4 == 0;
    case IR_SHL:
        return c % 32 >= 2;
    case IR_ADD:
        return is_multiple(g, frame, inst.a) && is_multiple(g, frame, inst.b);
    default:
        return false;
    }
}

void spv_note_index(spv_gen *g, const spv_frame *frame, ir_inst inst, uint32_t value)
{
    bool shifts = inst.op == IR_ADD && inst.type == IR_U32 && is_const(frame->f, inst.b);
    bool multiple = inst.type == IR_U32 && ir_op_table[inst.op].arity == 2 && makes_multiple(g, frame, inst);
    if (!shifts && !multiple)
        return;
    spv_index i = {.multiple = multiple};
    if (shifts) {
        spv_index from = index_of(g, frame->id[inst.a]);
        i.root = from.root, i.offset = from.offset + frame->f->inst.data[inst.b].a;
    }
    while (g->indices.count <= value)
        array_push(&g->indices, (spv_index){0});
    g->indices.data[value] = i;
}

/* ---- loads that go together ---- */

static bool is_load(ir_inst i) { return i.op == IR_LOAD || i.op == IR_DLOAD; }

/* An index as the trace has it: *root + offset. */
static uint32_t split(const ir_func *f, uint32_t ref, uint32_t *root)
{
    uint32_t offset = 0;
    for (; f->inst.data[ref].op == IR_ADD && is_const(f, f->inst.data[ref].b); ref = f->inst.data[ref].a)
        offset += f->inst.data[f->inst.data[ref].b].a;
    *root = ref;
    return offset;
}

/* Whether another load behind `id` in its block wants one of the four words, of which `id` reads word
 * `part`. */
static bool has_company(const ir_func *f, uint32_t id, uint32_t part)
{
    ir_inst own = f->inst.data[id];
    uint32_t root, other, from = split(f, own.a, &root) - part;
    for (uint32_t k = id + 1; k < f->inst.count && k <= id + NEAR; k++) {
        ir_inst i = f->inst.data[k];
        if (is_load(i) && i.b == own.b && split(f, i.a, &other) - from < 4 && other == root && i.a != own.a)
            return true;
        if (ir_op_table[i.op].effect == IR_EFFECT_CONTROL || i.op == IR_CALL || i.op == IR_RAY_CLOSEST ||
            i.op == IR_RAY_ANY)
            return false;
    }
    return false;
}

/* The vector, where it has been read; else 0. */
static uint32_t read_already(const spv_gen *g, const spv_quad *wanted)
{
    for (uint32_t k = 0; k < g->quads.count; k++) {
        const spv_quad *q = &g->quads.data[k];
        if (q->buffer == wanted->buffer && q->root == wanted->root && q->number == wanted->number)
            return q->value;
    }
    return 0;
}

/* index: of any of the four words, so that sums that wrap around are what they are in the trace. */
static void read_quad(spv_gen *g, spv_quad *q, uint32_t index)
{
    uint32_t two = spv_u32(g, 2), at = SPV_VALUE(g, SpvOpShiftRightLogical, spv_type(g, IR_U32), index, two);
    q->value = spv_load_element(g, q->buffer, at, SPV_QUADS);
    array_push(&g->quads, *q);
}

uint32_t spv_vector_word(spv_gen *g, const spv_frame *frame, uint32_t id, uint32_t index)
{
    uint32_t buffer = frame->f->inst.data[id].b;
    spv_index at = index_of(g, index);
    if (g->options.scalar_loads || !g->m->buffers.data[buffer].constant || !index_of(g, at.root).multiple)
        return 0;
    spv_quad quad = {.buffer = buffer, .root = at.root, .number = at.offset / 4};
    quad.value = read_already(g, &quad);
    if (quad.value == 0 && !has_company(frame->f, id, at.offset % 4))
        return 0;
    if (quad.value == 0)
        read_quad(g, &quad, index);
    return SPV_VALUE(g, SpvOpCompositeExtract, spv_type(g, IR_U32), quad.value, at.offset % 4);
}
