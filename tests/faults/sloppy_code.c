/* SPDX-License-Identifier: BSD-3-Clause
 * A SPIR-V module rewritten instruction by instruction. An instruction that is changed computes into an id of
 * its own, and what is added behind it ends with the old id. Every instruction has STRIDE new ids and one new
 * constant, whether it needs them or not, so that constants and decorations can be written before the
 * instructions that they are for. */
#include "sloppy_code.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

#include <stdlib.h>
#include <string.h>

enum { HEADER = 5, STRIDE = 40, FUSED_FIRST = 3, FUSED_END = 11 }; /* what is added of doubles in fused() */
enum { ZERO, ONE, SIZE, SIGN, LEAST, EXPONENT, TWO, EIGHT, RANGE, SHIFT, FIVE, CONSTANTS };
static const uint32_t constants[CONSTANTS] = {
    [ZERO] = 0,      [ONE] = 1, [SIZE] = 0x7fffffffu, [SIGN] = 0x80000000u, [LEAST] = 0x00800000u,
    [EXPONENT] = 23, [TWO] = 2, [EIGHT] = 255,        [RANGE] = 250,        [SHIFT] = 8,
    [FIVE] = 5};

#define LITERAL 0x80000000u

typedef struct rewriting {
    const uint32_t *words;
    size_t count;
    sloppy_rules rules;
    uint32_t *out;
    size_t out_count, out_room;
    uint32_t f32, f64, u32, pair, boolean, glsl; /* ids of the module, 0: not there */
    uint32_t bound, shared, seeds; /* first new ids: of the constants, of an instruction's constant */
    uint32_t hash;
    uint32_t next; /* new ids of the instruction at hand */
} rewriting;

static void put(rewriting *r, uint32_t word)
{
    if (r->out_count == r->out_room) {
        r->out_room = 2 * r->out_room + 1024;
        r->out = realloc(r->out, 4 * r->out_room);
        if (!r->out)
            abort();
    }
    r->out[r->out_count++] = word;
}

static void instruction(rewriting *r, SpvOp op, uint32_t n, const uint32_t *operands)
{
    put(r, (n + 1) << 16 | (uint32_t)op);
    for (uint32_t i = 0; i < n; i++)
        put(r, operands[i]);
}

/* b, c: 0, there is none; LITERAL + a literal number */
static void as(rewriting *r, SpvOp op, uint32_t type, uint32_t id, uint32_t a, uint32_t b, uint32_t c)
{
    instruction(r, op, 3u + (b != 0) + (c != 0), (uint32_t[]){type, id, a, b & ~LITERAL, c});
}

static uint32_t value(rewriting *r, SpvOp op, uint32_t type, uint32_t a, uint32_t b, uint32_t c)
{
    as(r, op, type, r->next, a, b, c);
    return r->next++;
}

static uint32_t word(rewriting *r, SpvOp op, uint32_t a, uint32_t b) { return value(r, op, r->u32, a, b, 0); }

static uint32_t constant(const rewriting *r, int k) { return r->shared + (uint32_t)k; }

static uint32_t mixed(uint32_t a, uint32_t b)
{
    uint32_t h = (a ^ b * 0x9e3779b9u) * 0x85ebca6bu;
    return (h ^ h >> 15) * 0xc2b2ae35u;
}

/* id = value, -2 to 2 ulp off where it is normal and will stay so. */
static void off(rewriting *r, uint32_t id, uint32_t result, uint32_t seed)
{
    uint32_t bits = word(r, SpvOpBitcast, result, 0);
    uint32_t mix = word(r, SpvOpIMul, word(r, SpvOpBitwiseXor, bits, seed), seed);
    mix = word(r, SpvOpIMul,
               word(r, SpvOpBitwiseXor, mix, word(r, SpvOpShiftRightLogical, mix, constant(r, FIVE))), seed);
    uint32_t step =
        word(r, SpvOpUMod, word(r, SpvOpShiftRightLogical, mix, constant(r, SHIFT)), constant(r, FIVE));
    uint32_t moved = word(r, SpvOpIAdd, bits, word(r, SpvOpISub, step, constant(r, TWO)));
    uint32_t exponent = word(r, SpvOpShiftRightLogical, bits, constant(r, EXPONENT));
    exponent = word(r, SpvOpISub, word(r, SpvOpBitwiseAnd, exponent, constant(r, EIGHT)), constant(r, TWO));
    uint32_t normal = value(r, SpvOpULessThan, r->boolean, exponent, constant(r, RANGE), 0);
    as(r, SpvOpBitcast, r->f32, id, value(r, SpvOpSelect, r->u32, normal, moved, bits), 0, 0);
}

/* The number, or zero of its sign where it is denormal. */
static uint32_t normal(rewriting *r, uint32_t number)
{
    uint32_t bits = word(r, SpvOpBitcast, number, 0),
             size = word(r, SpvOpBitwiseAnd, bits, constant(r, SIZE));
    uint32_t small = value(r, SpvOpULessThan, r->boolean, size, constant(r, LEAST), 0);
    uint32_t zero = word(r, SpvOpBitwiseAnd, bits, constant(r, SIGN));
    return value(r, SpvOpBitcast, r->f32, value(r, SpvOpSelect, r->u32, small, zero, bits), 0, 0);
}

static uint32_t real(rewriting *r, SpvOp op, uint32_t a, uint32_t b) { return value(r, op, r->f64, a, b, 0); }

/* a b + c, rounded once. The product is exact as a double. The sum is rounded to the odd one of its two
 * neighbours (Boldo and Melquiond 2008, Emulation of FMA and correctly rounded sums), for which its rest is
 * found by Knuth's two-sum, so that the float of it is the nearest. */
static void fused(rewriting *r, uint32_t id, const uint32_t *operands)
{
    uint32_t wide[3];
    for (int k = 0; k < 3; k++)
        wide[k] = real(r, SpvOpFConvert, operands[k], 0);
    const uint32_t product = real(r, SpvOpFMul, wide[0], wide[1]), sum = real(r, SpvOpFAdd, product, wide[2]);
    const uint32_t part = real(r, SpvOpFSub, sum, product), other = real(r, SpvOpFSub, sum, part);
    const uint32_t lost = real(r, SpvOpFSub, product, other), more = real(r, SpvOpFSub, wide[2], part);
    const uint32_t rest = real(r, SpvOpFAdd, lost, more), none = real(r, SpvOpFSub, rest, rest);
    const uint32_t words = value(r, SpvOpBitcast, r->pair, sum, 0, 0);
    const uint32_t low = value(r, SpvOpCompositeExtract, r->u32, words, LITERAL + 0, 0);
    const uint32_t high = value(r, SpvOpCompositeExtract, r->u32, words, LITERAL + 1, 0);
    uint32_t inexact = value(r, SpvOpFOrdNotEqual, r->boolean, rest, none, 0);
    const uint32_t odd = word(r, SpvOpBitwiseAnd, low, constant(r, ONE));
    const uint32_t even = value(r, SpvOpIEqual, r->boolean, odd, constant(r, ZERO), 0);
    inexact = value(r, SpvOpLogicalAnd, r->boolean, inexact, even, 0);
    const uint32_t up = value(r, SpvOpFOrdGreaterThan, r->boolean, rest, none, 0);
    const uint32_t above = value(r, SpvOpFOrdGreaterThan, r->boolean, sum, none, 0);
    const uint32_t away = value(r, SpvOpLogicalEqual, r->boolean, up, above, 0);
    const uint32_t first = value(r, SpvOpIEqual, r->boolean, low, constant(r, ZERO), 0);
    const uint32_t borrow = value(r, SpvOpSelect, r->u32, first, constant(r, ONE), constant(r, ZERO));
    const uint32_t lower = word(r, SpvOpISub, high, borrow),
                   raised = word(r, SpvOpIAdd, low, constant(r, ONE));
    const uint32_t lowered = word(r, SpvOpISub, low, constant(r, ONE));
    const uint32_t new_low = value(r, SpvOpSelect, r->u32, away, raised, lowered);
    const uint32_t new_high = value(r, SpvOpSelect, r->u32, away, high, lower);
    const uint32_t moved = value(r, SpvOpCompositeConstruct, r->pair, new_low, new_high, 0);
    const uint32_t to_odd = value(r, SpvOpBitcast, r->f64, moved, 0, 0);
    as(r, SpvOpFConvert, r->f32, id, value(r, SpvOpSelect, r->f64, inexact, to_odd, sum), 0, 0);
}

typedef enum change { COPY, MOVE, FUSE, FLUSH, FLUSH_BOTH } change;

static change change_of(const rewriting *r, const uint32_t *i, uint32_t place)
{
    const SpvOp op = (SpvOp)(*i & 0xffff);
    const bool real = (*i >> 16) > 3 && i[1] == r->f32, coin = mixed(r->hash, place) >> 31;
    const bool function = op == SpvOpExtInst && real && i[3] == r->glsl;
    if (r->rules.sloppy && real && op == SpvOpFDiv)
        return MOVE;
    if (r->rules.sloppy && function && (i[4] == GLSLstd450Sqrt || i[4] == GLSLstd450InverseSqrt))
        return MOVE;
    if (r->rules.fused && function && i[4] == GLSLstd450Fma)
        return FUSE;
    if (!r->rules.zeros || !coin)
        return COPY;
    if (real && (op == SpvOpFAdd || op == SpvOpFSub || op == SpvOpFMul || op == SpvOpFDiv))
        return FLUSH;
    return op >= SpvOpFOrdEqual && op <= SpvOpFUnordGreaterThanEqual ? FLUSH_BOTH : COPY;
}

static uint32_t place_id(const rewriting *r, uint32_t place)
{
    return r->seeds + (uint32_t)r->count + place * STRIDE;
}

static void rewrite(rewriting *r, const uint32_t *i, uint32_t place, change how)
{
    const uint32_t n = (*i >> 16) - 1;
    uint32_t operands[8];
    if (how == COPY || n > 8) {
        instruction(r, (SpvOp)(*i & 0xffff), n, i + 1);
        return;
    }
    r->next = place_id(r, place);
    memcpy(operands, i + 1, 4 * n);
    if (how == FUSE) {
        fused(r, i[2], i + 5);
        return;
    }
    if (how == FLUSH_BOTH)
        operands[2] = normal(r, operands[2]), operands[3] = normal(r, operands[3]);
    else
        operands[1] = r->next++; /* the first, which is decorated */
    instruction(r, (SpvOp)(*i & 0xffff), n, operands);
    if (how == MOVE)
        off(r, i[2], operands[1], r->seeds + place);
    else if (how == FLUSH)
        as(r, SpvOpBitcast, r->f32, i[2], word(r, SpvOpBitcast, normal(r, operands[1]), 0), 0, 0);
}

/* What is written before the first type, and before the first function. */
static void decorations(rewriting *r)
{
    uint32_t place = 0;
    for (size_t at = HEADER; at < r->count; at += r->words[at] >> 16, place++) {
        change how = change_of(r, r->words + at, place);
        const uint32_t first = how == FUSE ? FUSED_FIRST : 0;
        const uint32_t end = how == FUSE ? FUSED_END : how == MOVE || how == FLUSH;
        for (uint32_t k = first; k < end; k++)
            instruction(r, SpvOpDecorate, 2,
                        (uint32_t[]){place_id(r, place) + k, SpvDecorationNoContraction});
    }
}

static void definitions(rewriting *r)
{
    uint32_t place = 0;
    if (!r->u32)
        instruction(r, SpvOpTypeInt, 3, (uint32_t[]){r->u32 = r->bound + 1, 32, 0});
    if (!r->boolean)
        instruction(r, SpvOpTypeBool, 1, &(uint32_t){r->boolean = r->bound + 2});
    if (r->rules.fused && !r->f64)
        instruction(r, SpvOpTypeFloat, 2, (uint32_t[]){r->f64 = r->bound, 64});
    if (r->rules.fused && !r->pair)
        instruction(r, SpvOpTypeVector, 3, (uint32_t[]){r->pair = r->bound + 3, r->u32, 2});
    for (uint32_t k = 0; k < CONSTANTS; k++)
        instruction(r, SpvOpConstant, 3, (uint32_t[]){r->u32, constant(r, (int)k), constants[k]});
    for (size_t at = HEADER; at < r->count; at += r->words[at] >> 16, place++)
        if (change_of(r, r->words + at, place) == MOVE)
            instruction(r, SpvOpConstant, 3,
                        (uint32_t[]){r->u32, r->seeds + place, mixed(r->hash, place) | 1});
}

static bool is_type(uint32_t op) { return op >= SpvOpTypeVoid && op <= SpvOpTypeForwardPointer; }

static void look(rewriting *r)
{
    for (size_t k = 0; k < r->count; k++)
        r->hash = mixed(r->hash, r->words[k]);
    for (size_t at = HEADER; at < r->count; at += r->words[at] >> 16) {
        const uint32_t *i = r->words + at, op = *i & 0xffff;
        if (op == SpvOpTypeFloat && i[2] == 32)
            r->f32 = i[1];
        if (op == SpvOpTypeFloat && i[2] == 64)
            r->f64 = i[1];
        if (op == SpvOpTypeInt && i[2] == 32 && i[3] == 0)
            r->u32 = i[1];
        if (op == SpvOpTypeVector && i[2] == r->u32 && i[3] == 2)
            r->pair = i[1];
        if (op == SpvOpTypeBool)
            r->boolean = i[1];
        if (op == SpvOpExtInstImport && strcmp((const char *)(i + 2), "GLSL.std.450") == 0)
            r->glsl = i[1];
    }
}

uint32_t *sloppy_code(const uint32_t *words, size_t count, sloppy_rules rules, size_t *new_count)
{
    rewriting r = {.words = words, .count = count, .rules = rules, .bound = words[3]};
    r.shared = r.bound + 4, r.seeds = r.shared + CONSTANTS;
    look(&r);
    r.rules.zeros &= !r.f64; /* comparisons do not say of which type their operands are */
    for (size_t k = 0; k < HEADER; k++)
        put(&r, words[k]);
    bool decorated = !r.f32, defined = !r.f32; /* without reals nothing is changed */
    uint32_t place = 0;
    for (size_t at = HEADER; at < count; at += words[at] >> 16, place++) {
        uint32_t op = words[at] & 0xffff;
        if (op == SpvOpCapability && words[at + 1] == SpvCapabilityShader && rules.fused)
            instruction(&r, SpvOpCapability, 1, &(uint32_t){SpvCapabilityFloat64});
        if (!decorated && is_type(op))
            decorated = true, decorations(&r);
        if (!defined && op == SpvOpFunction)
            defined = true, definitions(&r);
        rewrite(&r, words + at, place, r.f32 ? change_of(&r, words + at, place) : COPY);
    }
    r.out[3] = place_id(&r, place);
    *new_count = r.out_count;
    return r.out;
}
