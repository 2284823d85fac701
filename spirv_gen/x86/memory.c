/* SPDX-License-Identifier: BSD-3-Clause
 * Stores, atomics and local arrays. Atomics run lane by lane, in ascending order, because a lane must see the
 * sums of the lanes before it. A local array is a vector per element in the frame. */
#include "spirv_gen/x86/lanes.h"

enum { WORD_BYTES = 4 };

void x86_store(x86_gen *g, uint32_t id, ir_inst inst)
{
    (void)id;
    if (x86_is_pair(g, inst.b, ir_type_of(g->fn->f, (ir_ref){inst.c})))
        x86_store_rest(g, inst);
    uint32_t value = x86_stored_bits(g, inst.c, 0), index = x86_source_register(g, inst.a, 1);
    x86_scatter(g, x86_active(g), x86_buffer(g, inst.b), index, 0, value);
}

/* ---- atomics: temporaries are 0 indices, 1 values, 2 what memory should hold, 3 what it held ---- */

static void put_temporary(x86_gen *g, uint32_t temporary, uint32_t id)
{
    VEC(g, VMOVUPS, x86_temporary(g, temporary), x86_v(g, x86_word_register(g, id, 0)));
}

static void locked(x86_gen *g, ZydisMnemonic mnemonic, x86_operand memory, x86_operand value)
{
    static const uint8_t prefix = 0xF0;
    array_push(&g->code.bytes, prefix);
    x86_put(&g->code, mnemonic, (x86_lanes_written){0}, (x86_operand[]){memory, value}, 2);
}

/* Adds each lane's integer to its word in memory. */
static void add_integers(x86_gen *g, x86_operand word, bool shared)
{
    x86_lane_loop lanes = x86_begin_lanes(g, x86_active(g));
    GP(g, MOV, EAX, x86_lane_of(g, 1));
    if (shared) {
        locked(g, ZYDIS_MNEMONIC_XADD, word, EAX);
        GP(g, MOV, x86_lane_of(g, 3), EAX);
    } else {
        GP(g, MOV, EDI, word);
        GP(g, ADD, EAX, EDI);
        GP(g, MOV, word, EAX);
        GP(g, MOV, x86_lane_of(g, 3), EDI);
    }
    x86_end_lanes(g, lanes);
}

/* To a buffer of sums, which may be this thread's alone. */
static void add_sums(x86_gen *g, x86_operand word)
{
    uint32_t shared = x86_label(&g->code), end = x86_label(&g->code);
    GP(g, CMP, x86_word(g, X86_WORKSPACE_SHARED, WORD_BYTES), x86_imm(0));
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNZ, shared);
    add_integers(g, word, false);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JMP, end);
    x86_bind(&g->code, shared);
    add_integers(g, word, true);
    x86_bind(&g->code, end);
}

/* Adds each lane's real to its word in memory by CMPXCHG, again until no other thread comes between. */
static void add_reals(x86_gen *g, x86_operand word)
{
    x86_lane_loop lanes = x86_begin_lanes(g, x86_active(g));
    x86_operand sum = x86_reg(ZYDIS_REGISTER_XMM0);
    uint32_t again = x86_label(&g->code), ordered = x86_label(&g->code);
    GP(g, MOV, EAX, word);
    x86_bind(&g->code, again);
    GP(g, VMOVD, sum, EAX);
    VEC(g, VADDSS, sum, sum, x86_lane_of(g, 1));
    GP(g, VMOVD, EDI, sum);
    GP(g, VUCOMISS, sum, sum);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNP, ordered);
    GP(g, MOV, EDI, x86_imm(X86_NAN_BITS));
    x86_bind(&g->code, ordered);
    locked(g, ZYDIS_MNEMONIC_CMPXCHG, word, EDI);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNZ, again);
    GP(g, MOV, x86_lane_of(g, 3), EAX); /* the bits that were there before */
    x86_end_lanes(g, lanes);
}

static void finish_old(x86_gen *g, uint32_t id)
{
    if (!x86_wanted(g, id))
        return;
    uint32_t to = x86_destination(g, id);
    VEC(g, VMOVUPS, x86_v(g, to), x86_temporary(g, 3));
    x86_finish_words(g, id, to);
}

void x86_atomic_add(x86_gen *g, uint32_t id, ir_inst inst)
{
    put_temporary(g, 0, inst.a);
    put_temporary(g, 1, inst.c);
    x86_operand word = x86_lane_word(x86_buffer(g, inst.b), 0);
    if (inst.type == IR_F32)
        add_reals(g, word);
    else if (inst.b + 1 == g->sums)
        add_sums(g, word);
    else
        add_integers(g, word, true);
    finish_old(g, id);
}

void x86_atomic_cas(x86_gen *g, uint32_t id, ir_inst inst)
{
    put_temporary(g, 0, inst.a);
    put_temporary(g, 1, g->fn->f->pool.data[inst.c + 1]);
    put_temporary(g, 2, g->fn->f->pool.data[inst.c]);
    x86_operand word = x86_lane_word(x86_buffer(g, inst.b), 0);
    x86_lane_loop lanes = x86_begin_lanes(g, x86_active(g));
    GP(g, MOV, EAX, x86_lane_of(g, 2));
    GP(g, MOV, EDI, x86_lane_of(g, 1));
    locked(g, ZYDIS_MNEMONIC_CMPXCHG, word, EDI);
    GP(g, MOV, x86_lane_of(g, 3), EAX);
    x86_end_lanes(g, lanes);
    finish_old(g, id);
}

/* ---- local arrays ---- */

static ir_type type_of(const x86_gen *g, uint32_t id) { return ir_type_of(g->fn->f, (ir_ref){id}); }

/* The vector of an element whose number is the same for all lanes. */
static x86_operand element_at(x86_gen *g, uint32_t array, uint32_t index)
{
    uint32_t at = g->fn->values[array].at, bytes = x86_vector_bytes(g, type_of(g, array));
    ir_inst inst = g->fn->f->inst.data[index];
    if (inst.op == IR_CONST && inst.a < g->fn->f->inst.data[array].a)
        return x86_slot(g, at + bytes * inst.a, bytes);
    GP(g, MOV, ECX, x86_word(g, g->fn->values[index].at, WORD_BYTES));
    GP(g, SHL, ECX, x86_imm(__builtin_ctz(bytes)));
    return x86_indexed(ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RCX, 1, at, bytes);
}

/* Vector 1 gets the distance of each lane's element from the start of the array in elements of a lane,
 * element
 * * lanes + lane. */
static void element_words(x86_gen *g, uint32_t index)
{
    uint32_t from = x86_source_register(g, index, 1);
    VEC(g, VPSLLD, x86_v(g, 1), x86_v(g, from), x86_imm(__builtin_ctz(g->lanes)));
    VEC(g, VPADDD, x86_v(g, 1), x86_v(g, 1), x86_word(g, g->iota, g->bytes));
}

/* Makes a mask of words that are 0 or 1, as an array of bools holds them. */
static void finish_mask(x86_gen *g, uint32_t id, uint32_t words)
{
    uint32_t to = x86_mask_destination(g, id);
    VEC(g, VXORPS, x86_v(g, 2), x86_v(g, 2), x86_v(g, 2));
    x86_compare_lanes(g, to, IR_U32, X86_UNEQUAL, words, x86_v(g, 2));
    x86_mask_finish(g, id, to);
}

void x86_local_load(x86_gen *g, uint32_t id, ir_inst inst)
{
    bool mask = inst.type == IR_BOOL;
    uint32_t to = mask ? 0 : x86_destination(g, id);
    if (x86_is_uniform(g->fn, inst.b)) {
        VEC(g, VMOVUPS, x86_register(g, (ir_type)inst.type, to), element_at(g, inst.a, inst.b));
    } else if (g->doubles && inst.type == IR_F32) {
        element_words(g, inst.b);
        x86_gather_doubles(g, to, x86_active(g), ZYDIS_REGISTER_RBP, 1, g->fn->values[inst.a].at);
    } else {
        element_words(g, inst.b);
        x86_gather(g, to, x86_active(g), ZYDIS_REGISTER_RBP, 1, g->fn->values[inst.a].at);
    }
    if (mask)
        finish_mask(g, id, to);
    else
        x86_finish(g, id, to);
}

void x86_local_store(x86_gen *g, uint32_t id, ir_inst inst)
{
    (void)id;
    ir_type type = type_of(g, inst.c);
    bool mask = type == IR_BOOL;
    uint32_t value = mask ? x86_stored_bits(g, inst.c, 2) : x86_source_register(g, inst.c, 2);
    if (x86_is_uniform(g->fn, inst.b)) {
        x86_operand at = element_at(g, inst.a, inst.b);
        VEC(g, VMOVUPS, x86_register(g, type, 0), at);
        x86_blend(g, type, 0, x86_active(g), 0, x86_register(g, type, value));
        VEC(g, VMOVUPS, at, x86_register(g, type, 0));
        return;
    }
    element_words(g, inst.b);
    if (g->doubles && type == IR_F32)
        x86_scatter_doubles(g, x86_active(g), ZYDIS_REGISTER_RBP, 1, g->fn->values[inst.a].at, value);
    else
        x86_scatter(g, x86_active(g), ZYDIS_REGISTER_RBP, 1, g->fn->values[inst.a].at, value);
}
