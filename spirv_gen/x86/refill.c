/* SPDX-License-Identifier: BSD-3-Clause
 * Lanes that have left the entry's loop take the next invocations, while others are still in it. Invocations
 * are not equally long, so without this most lanes would wait for the last one.
 *
 * The code before the loop begins invocations, the code behind it ends them. Where few lanes are left in the
 * loop, and the range has more invocations, `x86_refill` stores what lives in the loop, runs the code behind
 * it for the lanes that have left, gives these lanes indices, and begins anew with them. When the code comes
 * to the loop again, `x86_refilled` puts back what it stored, in the lanes that were in the loop.
 *
 * An invocation computes what it would compute without this. Only the time at which it does so differs.
 *
 * When to refill: lanes that wait cost time, but lanes that began together stay together for a while, and
 * lanes that do the same at the same time are cheaper, because rays go in packets and each function that they
 * call runs once. So a kernel that traces rays or calls by kind begins with lanes that wait for the last one,
 * counts the lanes that its trips lose, and changes its mind if these are many. The places of the counts are
 * words of the workspace, which the prologue clears. */
#include "spirv_gen/x86/lanes.h"

enum {
    LEAST = 64,      /* instructions of a loop that is worth the trouble */
    COST = 256,      /* of a refill, in instructions */
    ENOUGH = 64,     /* trips after which a kernel may change its mind, */
    LOST_PARTS = 5,  /* if they have lost this part of the lanes */
    LOST_WHOLE = 16, /* of so many */
    WORDS = 3
};

static const ir_inst *inst_at(const x86_function *fn, uint32_t id) { return &fn->f->inst.data[id]; }

/* ---- before any code ---- */

/* What stands between the loop's states and its WHILE is computed again after a refill, so it must have no
 * effect. Returns the WHILE; 0: there is an effect. */
static uint32_t while_of(const x86_function *fn, uint32_t loop)
{
    for (uint32_t i = fn->regions[loop].last + 1;; i++) {
        const ir_inst *inst = inst_at(fn, i);
        if (inst->op == IR_WHILE)
            return i;
        if (ir_op_table[inst->op].effect == IR_EFFECT_WRITE ||
            ir_op_table[inst->op].effect == IR_EFFECT_CONTROL || ir_is_call(inst->op))
            return 0;
    }
}

/* The longest loop that is in no other region and whose length depends on the invocation; 0: none. */
static uint32_t find_loop(const x86_function *fn)
{
    uint32_t best = 0, most = LEAST, depth = 0;
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        const ir_inst *inst = inst_at(fn, i);
        uint32_t length = inst->op == IR_LOOP ? fn->regions[i].other - i : 0;
        if (length > most && depth == 0) {
            uint32_t condition = while_of(fn, i);
            if (condition && !x86_is_uniform(fn, inst_at(fn, condition)->a))
                best = i, most = length;
        }
        depth += inst->op == IR_IF || inst->op == IR_LOOP;
        depth -= inst->op == IR_ENDIF || inst->op == IR_ENDLOOP;
    }
    return best;
}

/* The value is computed before the loop, or is its state, and somebody reads it in the loop or behind it. */
static bool lives_in(const x86_function *fn, uint32_t id, uint32_t loop)
{
    const x86_value *v = &fn->values[id];
    uint32_t top = 2 * fn->regions[loop].last + 2;
    if ((v->place != X86_VECTOR && v->place != X86_MASK) || v->fusion == X86_UNUSED ||
        inst_at(fn, id)->op == IR_GLOBAL_ID)
        return false;
    return v->first <= 2 * loop + 1 && v->last > top;
}

/* Whether it matters that neighbouring lanes do the same. */
static bool likes_company(const ir_module *m)
{
    for (uint32_t k = 0; k < m->functions.count; k++) {
        const ir_func *f = m->functions.data[k];
        for (uint32_t i = 1; i < f->inst.count; i++) {
            ir_inst inst = f->inst.data[i];
            if (ir_is_call(inst.op) && (inst.op != IR_CALL || ir_call_operands(f, inst).target_count > 1))
                return true;
        }
    }
    return false;
}

void x86_plan_refill(x86_gen *g, x86_function *fn)
{
    x86_refill_plan *plan = &fn->refill;
    plan->loop = find_loop(fn);
    if (!plan->loop)
        return;
    for (uint32_t i = 1; i < fn->regions[plan->loop].other; i++)
        if (lives_in(fn, i, plan->loop))
            array_push(&plan->values, i);
    plan->words = x86_new_word(g);
    for (uint32_t k = 1; k < WORDS; k++)
        x86_new_word(g);
    plan->epilogue = x86_label(&g->code), plan->body = x86_label(&g->code);
    plan->lost_most = g->lanes * (1 + COST / (fn->regions[plan->loop].other - plan->loop));
    plan->waits = likes_company(g->m);
}

uint32_t x86_refill_bytes(const x86_gen *g, const x86_function *fn)
{
    return fn->refill.loop ? (2 + fn->refill.values.count) * g->slot : 0;
}

/* ---- slots ---- */

static x86_operand kept_mask(const x86_gen *g) { return x86_slot(g, g->fn->refill.area, x86_mask_bytes(g)); }

static x86_operand next_index(const x86_gen *g) { return x86_slot(g, g->fn->refill.area + g->slot, 4); }

static x86_operand indices_left(const x86_gen *g) { return x86_slot(g, g->fn->refill.area + g->slot + 4, 4); }

/* Since the last refill. */
static x86_operand lost_now(const x86_gen *g) { return x86_slot(g, g->fn->refill.area + g->slot + 8, 4); }

/* Of this thread in this dispatch: the trips, the lanes that they have lost (where all lanes had left; the
 * code that chooses reads no more), and how many lanes may be lost before a refill. */
static x86_operand all_trips(const x86_gen *g) { return x86_word(g, g->fn->refill.words, 4); }

static x86_operand all_lost(const x86_gen *g) { return x86_word(g, g->fn->refill.words + 4, 4); }

static x86_operand lost_most(const x86_gen *g) { return x86_word(g, g->fn->refill.words + 8, 4); }

/* Where the k-th value is stored. */
static x86_operand stored(const x86_gen *g, uint32_t k, uint32_t bytes)
{
    return x86_slot(g, g->fn->refill.area + (2 + k) * g->slot, bytes);
}

/* ---- code ---- */

void x86_begin_refills(x86_gen *g)
{
    const x86_refill_plan *plan = &g->fn->refill;
    GP(g, MOV, all_trips(g), x86_imm(0));
    GP(g, MOV, all_lost(g), x86_imm(0));
    GP(g, MOV, lost_most(g), x86_imm(plan->waits ? -1 : (int64_t)plan->lost_most));
}

void x86_begin_range(x86_gen *g)
{
    uint32_t enough = x86_label(&g->code), none = x86_mask_scratch(g, 0);
    x86_mask_set(g, none, false);
    x86_mask_write(g, kept_mask(g), none);
    GP(g, MOV, lost_now(g), x86_imm(0));
    GP(g, ADD, ESI, x86_imm(g->lanes));
    GP(g, MOV, next_index(g), ESI);
    GP(g, SUB, EDX, x86_imm(g->lanes));
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNB, enough);
    GP(g, XOR, EDX, EDX);
    x86_bind(&g->code, enough);
    GP(g, MOV, indices_left(g), EDX);
}

static ir_type type_of(const x86_gen *g, uint32_t id) { return ir_type_of(g->fn->f, (ir_ref){id}); }

static void store_values(x86_gen *g)
{
    x86_mask_write(g, kept_mask(g), x86_active(g));
    for (uint32_t k = 0; k < g->fn->refill.values.count; k++) {
        uint32_t id = g->fn->refill.values.data[k];
        if (g->fn->values[id].place == X86_MASK)
            x86_mask_write(g, stored(g, k, x86_mask_bytes(g)), x86_mask_source(g, id, 0));
        else
            VEC(g, VMOVUPS, stored(g, k, x86_vector_bytes(g, type_of(g, id))),
                x86_register(g, type_of(g, id), x86_source_register(g, id, 0)));
    }
}

/* Lanes outside the kept ones get the next indices, as long as there are any. They become the lanes that
 * run. */
static void give_indices(x86_gen *g)
{
    x86_assembler *c = &g->code;
    uint32_t top = x86_label(c), out = x86_label(c);
    x86_mask_read(g, x86_active(g), kept_mask(g));
    x86_mask_bits(g, ZYDIS_REGISTER_ESI, x86_active(g));
    GP(g, XOR, ESI, x86_imm((1 << g->lanes) - 1));
    GP(g, MOV, lost_now(g), x86_imm(0));
    GP(g, MOV, EAX, next_index(g));
    GP(g, MOV, EDX, indices_left(g));
    VEC(g, VXORPS, x86_v(g, 0), x86_v(g, 0), x86_v(g, 0));
    VEC(g, VMOVUPS, x86_temporary(g, 0), x86_v(g, 0));
    x86_bind(c, top);
    GP(g, TZCNT, ECX, ESI);
    GP(g, MOV, x86_lane_of(g, X86_TEMPORARIES), EAX);
    GP(g, MOV, x86_lane_of(g, 0), x86_imm(1));
    GP(g, INC, EAX);
    GP(g, DEC, EDX);
    x86_jump(c, ZYDIS_MNEMONIC_JZ, out);
    GP(g, BLSR, ESI, ESI);
    x86_jump(c, ZYDIS_MNEMONIC_JNZ, top);
    x86_bind(c, out);
    GP(g, MOV, next_index(g), EAX);
    GP(g, MOV, indices_left(g), EDX);
    x86_compare_lanes(g, x86_active(g), IR_U32, X86_UNEQUAL, 0, x86_temporary(g, 0));
}

/* Counts the trip and the lanes that it has lost: eax holds how many run. */
static void count_trip(x86_gen *g)
{
    GP(g, MOV, ECX, lost_now(g));
    GP(g, SUB, ECX, EAX);
    GP(g, ADD, ECX, x86_imm(g->lanes));
    GP(g, MOV, lost_now(g), ECX);
    if (g->fn->refill.waits)
        GP(g, ADD, all_trips(g), x86_imm(1));
}

/* No lane is left, and ecx holds what was lost since the last refill. Chooses how the next ones refill. */
static void choose(x86_gen *g)
{
    x86_assembler *c = &g->code;
    uint32_t stay = x86_label(c);
    GP(g, ADD, ECX, all_lost(g));
    GP(g, MOV, all_lost(g), ECX);
    GP(g, MOV, EAX, all_trips(g));
    GP(g, CMP, EAX, x86_imm(ENOUGH));
    x86_jump(c, ZYDIS_MNEMONIC_JB, stay);
    GP(g, IMUL, EAX, EAX, x86_imm(g->lanes * LOST_PARTS));
    GP(g, IMUL, ECX, ECX, x86_imm(LOST_WHOLE));
    GP(g, CMP, ECX, EAX);
    x86_jump(c, ZYDIS_MNEMONIC_JB, stay);
    GP(g, MOV, lost_most(g), x86_imm(g->fn->refill.lost_most));
    x86_bind(c, stay);
}

void x86_refill(x86_gen *g, x86_operand launched)
{
    x86_assembler *c = &g->code;
    uint32_t go_on = x86_label(c), some = x86_label(c), begin = x86_label(c), begun = x86_mask_scratch(g, 0);
    x86_mask_bits(g, ZYDIS_REGISTER_EAX, x86_active(g));
    GP(g, POPCNT, EAX, EAX);
    count_trip(g);
    GP(g, TEST, EAX, EAX);
    x86_jump(c, ZYDIS_MNEMONIC_JNZ, some);
    if (g->fn->refill.waits)
        choose(g);
    x86_jump(c, ZYDIS_MNEMONIC_JMP, begin);
    x86_bind(c, some);
    GP(g, CMP, ECX, lost_most(g));
    x86_jump(c, ZYDIS_MNEMONIC_JB, go_on);
    x86_bind(c, begin);
    GP(g, MOV, EAX, indices_left(g));
    GP(g, TEST, EAX, EAX);
    x86_jump(c, ZYDIS_MNEMONIC_JZ, go_on);
    store_values(g);
    x86_mask_read(g, begun, launched);
    x86_mask_and_not(g, x86_active(g), begun, x86_active(g));
    x86_jump(c, ZYDIS_MNEMONIC_CALL, g->fn->refill.epilogue);
    give_indices(g);
    x86_jump(c, ZYDIS_MNEMONIC_JMP, g->fn->refill.body);
    x86_bind(c, go_on);
}

static void put_back(x86_gen *g, uint32_t k)
{
    enum { KEPT = 1 };
    uint32_t id = g->fn->refill.values.data[k];
    if (g->fn->values[id].place == X86_MASK) {
        uint32_t kept = x86_mask_scratch(g, 1), now = x86_mask_scratch(g, 0);
        x86_mask_read(g, kept, stored(g, k, x86_mask_bytes(g)));
        x86_mask_and_not(g, kept, kept, x86_active(g));
        x86_mask_and(g, now, x86_mask_source(g, id, 0), x86_active(g));
        x86_mask_or(g, now, now, kept);
        x86_mask_finish(g, id, now);
    } else {
        const ir_type type = type_of(g, id);
        uint32_t to = x86_destination(g, id);
        VEC(g, VMOVUPS, x86_register(g, type, KEPT), stored(g, k, x86_vector_bytes(g, type)));
        x86_blend(g, type, to, x86_active(g), KEPT, x86_source(g, id, 0));
        x86_finish(g, id, to);
    }
}

void x86_refilled(x86_gen *g, x86_operand launched)
{
    uint32_t kept = x86_mask_scratch(g, 0);
    for (uint32_t k = 0; k < g->fn->refill.values.count; k++)
        put_back(g, k);
    x86_mask_read(g, kept, kept_mask(g));
    x86_mask_or(g, x86_active(g), x86_active(g), kept);
    x86_mask_write(g, launched, x86_active(g));
}
