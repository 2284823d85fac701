/* SPDX-License-Identifier: BSD-3-Clause
 * A trace as text. One instruction a line, written from the op table:
 *
 *     [%name =] op [type] operand.. [!flags]     ; comment
 *
 * Operands in the order of the table: %n a value or region, @n a buffer, $n a function, plain numbers
 * otherwise; the operands of calls are [$target ..] (%argument ..), of atomic_cas (%expected %new). A module
 * is
 *
 *     buffer @0 "scene" constant gradient @1 tangent @2 paired
 *     doubles
 *     uniforms 4
 *     func $0 "main" (f32 u32) entry { .. return %a %b }
 *
 * A name is the number of the instruction, counted from 1 without NOPs: the same number that error messages
 * use, and a trace and what was parsed from its text print the same. Only what something can refer to shows
 * its name. `doubles` says that reals are computed in f64 (ir.h). f32 constants are bits (0x3f800000) with
 * their value as a comment. */
#include "spirv_gen/ir/internal.h"

#include <stdlib.h>
#include <string.h>

ir_imm ir_imm_kind(ir_op op, unsigned slot)
{
    switch (op) {
    case IR_CONST:
        return IR_IMM_BITS;
    case IR_ELSE:
    case IR_ENDIF:
    case IR_PHI:
    case IR_STATE:
    case IR_WHILE:
    case IR_ENDLOOP:
        return IR_IMM_LABEL;
    case IR_LOAD:
    case IR_DLOAD:
    case IR_STORE:
    case IR_ATOMIC_ADD:
    case IR_ATOMIC_CAS:
    case IR_ACCUM:
    case IR_FLUSH:
        return slot == 1 ? IR_IMM_BUFFER : IR_IMM_NUMBER;
    default:
        return IR_IMM_NUMBER;
    }
}

bool ir_checked_operands(const ir_func *f, ir_inst call, ir_operands *out)
{
    uint64_t size = f->pool.count, at = call.b;
    if (at >= size || at + 1 + f->pool.data[at] >= size)
        return false;
    uint64_t args = at + 1 + f->pool.data[at];
    if (args + 1 + f->pool.data[args] > size)
        return false;
    *out = ir_call_operands(f, call);
    return true;
}

/* Printed name of an instruction: by `names`, or its own id where that is NULL. */
static uint32_t name_of(const uint32_t *names, const ir_func *f, uint32_t id)
{
    return names && id < f->inst.count ? names[id] : id;
}

static void print_bits(ir_inst i, text *out)
{
    if (i.type != IR_F32) {
        text_add(out, i.type == IR_I32 ? " %d" : " %u", i.a);
        return;
    }
    float value;
    memcpy(&value, &i.a, sizeof value);
    text_add(out, " 0x%08x ; %.9g", i.a, (double)value);
}

static void print_pool(const ir_func *f, ir_inst i, const uint32_t *names, text *out)
{
    if (i.op == IR_ATOMIC_CAS) {
        if ((uint64_t)i.c + 2 > f->pool.count)
            text_add(out, " (?)");
        else
            text_add(out, " (%%%u %%%u)", name_of(names, f, f->pool.data[i.c]),
                     name_of(names, f, f->pool.data[i.c + 1]));
        return;
    }
    ir_operands o;
    if (!ir_checked_operands(f, i, &o)) {
        text_add(out, " [?]");
        return;
    }
    text_add(out, " [");
    for (uint32_t k = 0; k < o.target_count; k++)
        text_add(out, k ? " $%u" : "$%u", o.targets[k]);
    text_add(out, "] (");
    for (uint32_t k = 0; k < o.arg_count; k++)
        text_add(out, k ? " %%%u" : "%%%u", name_of(names, f, o.args[k]));
    text_add(out, ")");
}

static void print_imm(const ir_func *f, ir_inst i, unsigned slot, uint32_t value, const uint32_t *names,
                      text *out)
{
    switch (ir_imm_kind((ir_op)i.op, slot)) {
    case IR_IMM_BITS:
        print_bits(i, out);
        break;
    case IR_IMM_BUFFER:
        text_add(out, " @%u", value);
        break;
    case IR_IMM_LABEL:
        text_add(out, " %%%u", name_of(names, f, value));
        break;
    case IR_IMM_NUMBER:
        text_add(out, " %u", value);
        break;
    }
}

static void print_inst(const ir_func *f, uint32_t id, const uint32_t *names, text *out)
{
    ir_inst i = f->inst.data[id];
    if (i.op >= IR_OP_COUNT || i.type >= IR_TYPE_COUNT) {
        text_add(out, "<op %u, type %u>", i.op, i.type);
        return;
    }
    const ir_op_info *info = &ir_op_table[i.op];
    if (ir_is_named(i))
        text_add(out, "%%%u = ", name_of(names, f, id));
    text_add(out, "%s", info->name);
    if (i.type != IR_VOID)
        text_add(out, " %s", ir_type_names[i.type]);
    if (i.flags)
        text_add(out, " !%u", i.flags);
    const uint32_t operand[3] = {i.a, i.b, i.c};
    for (unsigned slot = 0; slot < 3; slot++) {
        if (info->kind[slot] == IR_KIND_REF)
            text_add(out, " %%%u", name_of(names, f, operand[slot]));
        else if (info->kind[slot] == IR_KIND_IMM)
            print_imm(f, i, slot, operand[slot], names, out);
        else if (info->kind[slot] == IR_KIND_POOL)
            print_pool(f, i, names, out);
    }
}

void ir_print_inst(const ir_func *f, uint32_t id, text *out) { print_inst(f, id, NULL, out); }

/* "text", with everything that could end the string or the line as \xx. */
static void print_string(const char *s, text *out)
{
    text_add(out, "\"");
    for (; s && *s; s++) {
        if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
            text_add(out, "\\%02x", (unsigned char)*s);
        else
            text_add_bytes(out, s, 1);
    }
    text_add(out, "\"");
}

static uint32_t *number_names(const ir_func *f)
{
    uint32_t *names = memory_need_zeroed(f->inst.count, sizeof *names), next = 1;
    for (uint32_t id = 1; id < f->inst.count; id++)
        if (f->inst.data[id].op != IR_NOP)
            names[id] = next++;
    return names;
}

static void print_head(const ir_func *f, text *out)
{
    text_add(out, "func $%u ", f->index);
    print_string(f->name, out);
    text_add(out, " (");
    for (uint32_t k = 0; k < f->params.count; k++)
        text_add(out, k ? " %s" : "%s", ir_type_names[f->params.data[k]]);
    text_add(out, f == f->module->entry ? ") entry {\n" : ") {\n");
}

void ir_print_func(const ir_func *f, text *out)
{
    uint32_t *names = number_names(f);
    int depth = 1;
    print_head(f, out);
    for (uint32_t id = 1; id < f->inst.count; id++) {
        uint8_t op = f->inst.data[id].op;
        if (op == IR_NOP)
            continue;
        bool closes = op == IR_ELSE || op == IR_ENDIF || op == IR_ENDLOOP;
        depth -= closes && depth > 1;
        int indent = op == IR_WHILE && depth > 1 ? depth - 1 : depth;
        text_add(out, "%*s", 2 * indent, "");
        print_inst(f, id, names, out);
        text_add(out, "\n");
        depth += op == IR_IF || op == IR_ELSE || op == IR_LOOP;
    }
    if (f->results.count) {
        text_add(out, "  return");
        for (uint32_t k = 0; k < f->results.count; k++)
            text_add(out, " %%%u", name_of(names, f, f->results.data[k].id));
        text_add(out, "\n");
    }
    text_add(out, "}\n");
    memory_free(names);
}

void ir_print(const ir_module *m, text *out)
{
    for (uint32_t k = 0; k < m->buffers.count; k++) {
        const ir_buffer *b = &m->buffers.data[k];
        text_add(out, "buffer @%u ", k);
        print_string(b->name, out);
        if (b->constant)
            text_add(out, " constant");
        if (b->gradient >= 0)
            text_add(out, " gradient @%d", b->gradient);
        if (b->tangent >= 0)
            text_add(out, " tangent @%d", b->tangent);
        if (b->paired)
            text_add(out, " paired");
        text_add(out, "\n");
    }
    if (m->doubles)
        text_add(out, "doubles\n");
    if (m->uniform_count)
        text_add(out, "uniforms %u\n", m->uniform_count);
    for (uint32_t k = 0; k < m->functions.count; k++)
        ir_print_func(m->functions.data[k], out);
}
