/* SPDX-License-Identifier: BSD-3-Clause
 * RAY_* as calls of whoever answers rays (x86_rays in x86.h). A traversal per lane keeps few lanes busy; one
 * ray against eight boxes at a time keeps all of them, and that is not the shape of a traced function.
 *
 * Primitives that are no triangles are candidates: their traced functions run here, for all lanes that have
 * come to one. A scene of triangles alone has no such loop. */
#include "spirv_gen/x86/call.h"

#include <stddef.h>

enum { RAY_WORDS = 8, FOUND_WORDS = 3, ROW = X86_LANES_MOST * 4 };

/* Element k of an array of x86_rays, of all lanes; rdi has its address. */
static x86_operand row(const x86_gen *g, size_t array, uint32_t k)
{
    return x86_at(ZYDIS_REGISTER_RDI, (int64_t)array + ROW * k, g->bytes);
}

static void load_rays(x86_gen *g)
{
    GP(g, MOV, x86_reg(ZYDIS_REGISTER_RDI), x86_word(g, X86_WORKSPACE_RAYS, 8));
}

/* Calls the function whose address stands at `function` of x86_rays, by the System V convention. Its own
 * registers are not kept: r9 to r11 are this folder's, all vectors are in slots by now. */
static void call_out(x86_gen *g, size_t function)
{
    static const ZydisRegister kept[] = {ZYDIS_REGISTER_R9, ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11};
    enum { KEPT = sizeof kept / sizeof *kept, STACK_ALIGNMENT = 16 };
    x86_operand rsp = x86_reg(ZYDIS_REGISTER_RSP);
    for (uint32_t k = 0; k < KEPT; k++)
        GP(g, PUSH, x86_reg(kept[k]));
    GP(g, MOV, RAX, rsp);
    GP(g, AND, rsp, x86_imm(-STACK_ALIGNMENT));
    GP(g, SUB, rsp, x86_imm(STACK_ALIGNMENT));
    GP(g, MOV, x86_at(ZYDIS_REGISTER_RSP, 0, 8), RAX);
    GP(g, CALL, x86_at(ZYDIS_REGISTER_RDI, (int64_t)function, 8));
    GP(g, MOV, rsp, x86_at(ZYDIS_REGISTER_RSP, 0, 8));
    for (uint32_t k = KEPT; k > 0; k--)
        GP(g, POP, x86_reg(kept[k - 1]));
}

static x86_ray_want wanted(ir_operands o, ir_inst inst)
{
    return inst.op == IR_RAY_ANY ? X86_RAY_ANY : o.arg_count > RAY_WORDS ? X86_RAY_NEXT : X86_RAY_CLOSEST;
}

static void begin(x86_gen *g, ir_operands o, x86_ray_want want)
{
    ZydisRegister buffer = x86_buffer(g, g->options->rays_buffer);
    GP(g, MOV, x86_reg(ZYDIS_REGISTER_RSI), x86_at(buffer, 4 * (int64_t)g->options->rays_word, 8));
    load_rays(g);
    for (uint32_t k = 0; k < RAY_WORDS; k++)
        VEC(g, VMOVUPS, row(g, offsetof(x86_rays, ray), k), x86_v(g, x86_source_register(g, o.args[k], 0)));
    if (want == X86_RAY_NEXT)
        VEC(g, VMOVUPS, row(g, offsetof(x86_rays, after), 0),
            x86_v(g, x86_source_register(g, o.args[RAY_WORDS], 0)));
    x86_mask_bits(g, ZYDIS_REGISTER_EDX, x86_active(g));
    GP(g, MOV, ECX, x86_imm(want));
}

static void copy_row(x86_gen *g, x86_operand to, x86_operand from)
{
    VEC(g, VMOVUPS, x86_v(g, 0), from);
    VEC(g, VMOVUPS, to, x86_v(g, 0));
}

/* Runs the functions of the candidates' kinds, with the lanes that have one. */
static void intersect(x86_gen *g, ir_operands o)
{
    uint32_t results = g->functions[o.targets[0]].param_bytes;
    load_rays(g);
    VEC(g, VXORPS, x86_v(g, 0), x86_v(g, 0), x86_v(g, 0));
    x86_compare_lanes(g, x86_active(g), IR_U32, X86_UNEQUAL, 0, row(g, offsetof(x86_rays, has_candidate), 0));
    copy_row(g, x86_callee_slot(g, 0), row(g, offsetof(x86_rays, data), 0));
    for (uint32_t k = 0; k < RAY_WORDS; k++)
        copy_row(g, x86_callee_slot(g, g->bytes * (k + 1)), row(g, offsetof(x86_rays, candidate), k));
    if (o.target_count > 1)
        copy_row(g, x86_call_selector(g), row(g, offsetof(x86_rays, kind), 0));
    x86_call_targets(g, o);
    load_rays(g);
    for (uint32_t k = 0; k < FOUND_WORDS; k++)
        copy_row(g, row(g, offsetof(x86_rays, found), k), x86_callee_slot(g, results + g->bytes * k));
}

void x86_ray(x86_gen *g, uint32_t id, ir_inst inst)
{
    ir_operands o = ir_call_operands(g->fn->f, inst);
    x86_assembler *c = &g->code;
    if (g->doubles) /* who answers rays has floats: opt/ray_bvh.c must have lowered them */
        x86_fail(g, "x86: function \"%s\": %%%u is a ray in double precision", g->fn->f->name, id);
    x86_operand running = x86_slot(g, g->fn->ray_area, x86_mask_bytes(g));
    bool candidates = o.target_count > (g->options->triangle_kind < o.target_count);
    begin(g, o, wanted(o, inst));
    x86_mask_write(g, running, x86_active(g));
    x86_keep_registers(g, id, false);
    call_out(g, offsetof(x86_rays, begin));
    if (candidates) {
        uint32_t top = x86_label(c), out = x86_label(c);
        x86_bind(c, top);
        GP(g, TEST, EAX, EAX);
        x86_jump(c, ZYDIS_MNEMONIC_JZ, out);
        intersect(g, o);
        call_out(g, offsetof(x86_rays, resume));
        x86_jump(c, ZYDIS_MNEMONIC_JMP, top);
        x86_bind(c, out);
    }
    x86_mask_read(g, x86_active(g), running);
    x86_keep_registers(g, id, true);
    g->has_rays = true;
}

void x86_ray_result(x86_gen *g, uint32_t id, ir_inst inst)
{
    enum { ENTRY = 1 };
    load_rays(g);
    if (inst.type == IR_BOOL) {
        uint32_t to = x86_mask_destination(g, id);
        VEC(g, VMOVUPS, x86_v(g, 0), row(g, offsetof(x86_rays, hit), ENTRY));
        x86_compare_lanes(g, to, IR_U32, X86_UNEQUAL, 0, x86_constant_source(g, ~0u, 1));
        x86_mask_finish(g, id, to);
    } else {
        uint32_t to = x86_destination(g, id);
        VEC(g, VMOVUPS, x86_v(g, to), row(g, offsetof(x86_rays, hit), inst.b));
        x86_finish(g, id, to);
    }
}
