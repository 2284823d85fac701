/* SPDX-License-Identifier: BSD-3-Clause
 * Functions are subroutines. Frames stand one behind the other: the caller writes arguments to where the
 * callee's frame will begin, and finds the results behind them. A callee may overwrite every vector and mask
 * register, so the caller keeps those that live across the call in slots. A call with several targets takes
 * the target of the first lane that is left, runs it for all lanes with that target, and goes on until no
 * lane is left. */
#include "spirv_gen/x86/call.h"

static x86_operand callee_bytes(const x86_gen *g, uint32_t at, uint32_t bytes)
{
    return x86_at(ZYDIS_REGISTER_RBP, (int64_t)g->fn->frame_bytes + at, bytes);
}

x86_operand x86_callee_slot(const x86_gen *g, uint32_t at) { return callee_bytes(g, at, g->bytes); }

x86_operand x86_call_selector(const x86_gen *g) { return x86_slot(g, g->fn->call_area, g->bytes); }

static void put_argument(x86_gen *g, uint32_t k, uint32_t id)
{
    const ir_type type = ir_type_of(g->fn->f, (ir_ref){id});
    if (type == IR_BOOL)
        x86_mask_write(g, callee_bytes(g, g->slot * k, x86_mask_bytes(g)), x86_mask_source(g, id, 0));
    else
        VEC(g, VMOVUPS, callee_bytes(g, g->slot * k, x86_vector_bytes(g, type)),
            x86_register(g, type, x86_source_register(g, id, 0)));
}

void x86_keep_registers(x86_gen *g, uint32_t call, bool restore)
{
    const x86_function *fn = g->fn;
    for (uint32_t k = 0; k < fn->kept.count; k++) {
        const x86_value *v = &fn->values[fn->kept.data[k]];
        if (!x86_lives_across(v, call))
            continue;
        bool mask = v->place == X86_MASK;
        const ir_type type = ir_type_of(fn->f, (ir_ref){fn->kept.data[k]});
        x86_operand slot = x86_slot(g, v->home, mask ? x86_mask_bytes(g) : x86_vector_bytes(g, type));
        if (mask && restore)
            x86_mask_read(g, v->reg, slot);
        else if (mask)
            x86_mask_write(g, slot, v->reg);
        else if (restore)
            VEC(g, VMOVUPS, x86_register(g, type, v->reg), slot);
        else
            VEC(g, VMOVUPS, slot, x86_register(g, type, v->reg));
    }
}

/* Calls the code at the label, or, if that is NULL, at the address in rdx. rbp is the callee's frame
 * meanwhile. */
static void enter(x86_gen *g, const uint32_t *label)
{
    x86_operand frame = x86_reg(ZYDIS_REGISTER_RBP), size = x86_imm(g->fn->frame_bytes);
    GP(g, ADD, frame, size);
    if (label)
        x86_jump(&g->code, ZYDIS_MNEMONIC_CALL, *label);
    else
        GP(g, CALL, x86_reg(ZYDIS_REGISTER_RDX));
    GP(g, SUB, frame, size);
}

/* The target of the first lane that is left, for all lanes with that target, until none is left. */
static void call_in_turn(x86_gen *g, ir_operands o, x86_operand running)
{
    x86_assembler *c = &g->code;
    uint32_t top = x86_label(c), out = x86_label(c), table = x86_label(c), m = x86_mask_scratch(g, 0);
    x86_operand selector = x86_call_selector(g), one = selector, rdx = x86_reg(ZYDIS_REGISTER_RDX),
                to_go = x86_slot(g, g->fn->call_area + 2 * g->slot, 4);
    one.index = ZYDIS_REGISTER_RCX, one.scale = 4, one.bytes = 4;
    x86_mask_bits(g, ZYDIS_REGISTER_EAX, x86_active(g));
    GP(g, TEST, EAX, EAX);
    x86_jump(c, ZYDIS_MNEMONIC_JZ, out);
    x86_bind(c, top);
    GP(g, TZCNT, ECX, EAX);
    GP(g, MOV, EDX, one);
    VEC(g, VBROADCASTSS, x86_v(g, 0), one);
    x86_compare_lanes(g, m, IR_U32, X86_EQUAL, 0, selector);
    x86_mask_read(g, x86_active(g), running);
    x86_mask_and(g, x86_active(g), x86_active(g), m);
    x86_mask_bits(g, ZYDIS_REGISTER_ECX, x86_active(g));
    GP(g, XOR, EAX, ECX);
    GP(g, MOV, to_go, EAX);
    x86_load_address(c, ZYDIS_REGISTER_RCX, table);
    GP(g, MOVSXD, rdx, x86_indexed(ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX, 4, 0, 4));
    GP(g, ADD, rdx, RCX);
    enter(g, NULL);
    GP(g, MOV, EAX, to_go);
    GP(g, TEST, EAX, EAX);
    x86_jump(c, ZYDIS_MNEMONIC_JNZ, top);
    x86_jump(c, ZYDIS_MNEMONIC_JMP, out);
    x86_bind(c, table);
    for (uint32_t k = 0; k < o.target_count; k++)
        x86_distance(c, table, g->functions[o.targets[k]].label);
    x86_bind(c, out);
}

void x86_call_targets(x86_gen *g, ir_operands o)
{
    x86_operand running = x86_slot(g, g->fn->call_area + g->slot, x86_mask_bytes(g));
    x86_mask_write(g, running, x86_active(g));
    if (o.target_count == 1)
        enter(g, &g->functions[o.targets[0]].label);
    else
        call_in_turn(g, o, running);
    x86_mask_read(g, x86_active(g), running);
}

void x86_call(x86_gen *g, uint32_t id, ir_inst inst)
{
    ir_operands o = ir_call_operands(g->fn->f, inst);
    for (uint32_t k = 0; k < o.arg_count; k++)
        put_argument(g, k, o.args[k]);
    if (o.target_count > 1)
        VEC(g, VMOVUPS, x86_call_selector(g), x86_v(g, x86_source_register(g, inst.a, 0)));
    x86_keep_registers(g, id, false);
    x86_call_targets(g, o);
    x86_keep_registers(g, id, true);
}

void x86_result(x86_gen *g, uint32_t id, ir_inst inst)
{
    if (g->fn->f->inst.data[inst.a].op != IR_CALL) {
        x86_ray_result(g, id, inst);
        return;
    }
    ir_operands o = ir_call_operands(g->fn->f, g->fn->f->inst.data[inst.a]);
    uint32_t at = g->functions[o.targets[0]].param_bytes + g->slot * inst.b;
    if (inst.type == IR_BOOL) {
        uint32_t to = x86_mask_destination(g, id);
        x86_mask_read(g, to, callee_bytes(g, at, x86_mask_bytes(g)));
        x86_mask_finish(g, id, to);
    } else {
        uint32_t to = x86_destination(g, id);
        VEC(g, VMOVUPS, x86_register(g, (ir_type)inst.type, to),
            callee_bytes(g, at, x86_vector_bytes(g, (ir_type)inst.type)));
        x86_finish(g, id, to);
    }
}

/* Writes the results of the lanes that run. The other lanes may have results of another target already, which
 * stay. */
void x86_return(x86_gen *g)
{
    const ir_func *f = g->fn->f;
    for (uint32_t k = 0; k < f->results.count; k++) {
        uint32_t id = f->results.data[k].id, at = g->fn->param_bytes + g->slot * k;
        const ir_type type = ir_type_of(f, f->results.data[k]);
        if (type == IR_BOOL) {
            x86_operand slot = x86_slot(g, at, x86_mask_bytes(g));
            uint32_t kept = x86_mask_scratch(g, 0), others = x86_mask_scratch(g, 1);
            x86_mask_and(g, kept, x86_mask_source(g, id, 0), x86_active(g));
            x86_mask_read(g, others, slot);
            x86_mask_and_not(g, others, others, x86_active(g));
            x86_mask_or(g, kept, kept, others);
            x86_mask_write(g, slot, kept);
        } else {
            x86_operand slot = x86_slot(g, at, x86_vector_bytes(g, type));
            uint32_t from = x86_source_register(g, id, 0);
            if (g->fn->called_in_part) {
                VEC(g, VMOVUPS, x86_register(g, type, 1), slot);
                x86_blend(g, type, 1, x86_active(g), 1, x86_register(g, type, from));
                from = 1;
            }
            VEC(g, VMOVUPS, slot, x86_register(g, type, from));
        }
    }
    GP0(g, RET);
}
