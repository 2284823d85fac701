/* SPDX-License-Identifier: BSD-3-Clause
 * Modules of doubles (ir.h): their reals are 64-bit floats, so what comes from words of memory, uniforms and
 * integers, or goes there, is converted by way of 32-bit floats. A paired buffer has what a word lacks in its
 * second half (ir_buffer.paired); where that begins is half of the buffer's length. */
#include "spirv_gen/spv/module.h"

enum { FLOAT_MOST = 0x7f7fffff };

uint32_t spv_float(spv_gen *g) { return spv_type_of(g, SpvOpTypeFloat, (const uint32_t[]){32}, 1); }

static uint32_t value_of(spv_gen *g, spv_section section, SpvOp op, uint32_t type, uint32_t operand)
{
    return spv_emit_value(g, section, op, type, &operand, 1);
}

/* A conversion that rounds. Mesa takes a double that was a float for a while for the double or the integer
 * that it was made of, unless the conversion must be exact. */
static uint32_t rounded(spv_gen *g, SpvOp op, uint32_t type, uint32_t operand)
{
    uint32_t id = value_of(g, SPV_BODY, op, type, operand);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, id, SpvDecorationNoContraction);
    return id;
}

/* The double of a float that was rounded. */
static uint32_t widened(spv_gen *g, uint32_t single)
{
    return rounded(g, SpvOpFConvert, spv_type(g, IR_F32), single);
}

uint32_t spv_double_of_word(spv_gen *g, spv_section section, uint32_t word)
{
    uint32_t single = value_of(g, section, SpvOpBitcast, spv_float(g), word);
    uint32_t id = value_of(g, section, SpvOpFConvert, spv_type(g, IR_F32), single);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, id, SpvDecorationNoContraction);
    return id;
}

uint32_t spv_word_of_double(spv_gen *g, uint32_t value)
{
    uint32_t single = rounded(g, SpvOpFConvert, spv_float(g), value);
    return value_of(g, SPV_BODY, SpvOpBitcast, spv_type(g, IR_U32), single);
}

uint32_t spv_double_of_integer(spv_gen *g, SpvOp op, uint32_t value)
{
    return widened(g, rounded(g, op, spv_float(g), value));
}

/* ---- pairs ---- */

static uint32_t exact(spv_gen *g, SpvOp op, uint32_t a, uint32_t b)
{
    uint32_t id = SPV_VALUE(g, op, spv_type(g, IR_F32), a, b);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, id, SpvDecorationNoContraction);
    return id;
}

bool spv_is_pair(const spv_gen *g, uint32_t buffer, ir_type type)
{
    return g->m->doubles && type == IR_F32 && g->m->buffers.data[buffer].paired;
}

uint32_t spv_rest_index(spv_gen *g, uint32_t buffer, uint32_t index)
{
    uint32_t half = spv_half_length(g, buffer);
    return SPV_VALUE(g, SpvOpIAdd, spv_type(g, IR_U32), index, half);
}

uint32_t spv_double_of_pair(spv_gen *g, uint32_t word, uint32_t rest)
{
    uint32_t high = spv_double_of_word(g, SPV_BODY, word);
    uint32_t low = spv_double_of_word(g, SPV_BODY, rest);
    return exact(g, SpvOpFAdd, high, low);
}

/* 0 where the difference is no number: of an infinity. */
uint32_t spv_rest_word(spv_gen *g, uint32_t value)
{
    uint32_t real = spv_type(g, IR_F32), most = spv_const(g, IR_F32, FLOAT_MOST),
             zero = spv_const(g, IR_F32, 0);
    uint32_t rest = exact(g, SpvOpFSub, value, widened(g, rounded(g, SpvOpFConvert, spv_float(g), value)));
    uint32_t size = SPV_VALUE(g, SpvOpExtInst, real, spv_glsl(g), GLSLstd450FAbs, rest);
    uint32_t finite = SPV_VALUE(g, SpvOpFOrdLessThanEqual, spv_type(g, IR_BOOL), size, most);
    return spv_word_of_double(g, SPV_VALUE(g, SpvOpSelect, real, finite, rest, zero));
}
