/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every row of ops.def for every type, on the device that BL_DEVICE names and in the interpreter: results
 * must be equal, bit for bit. Left out is what SPIR-V leaves open: denormals, integer division by zero,
 * conversions out of range, payloads of NaNs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/module.h"
#include "support/device_run.h"
#include "support/random_trace.h"

static device_run device; /* one for all tests of this program */

enum { SPECIALS = 16, RANDOM_ROWS = 4096, OP_LANES = SPECIALS * SPECIALS * SPECIALS + RANDOM_ROWS };

static const uint32_t special_words[SPECIALS] = {
    0,           1,           ~0u,  0x80000000u, 0x7fffffffu, 31, 32, 33,
    0x55555555u, 0xfffffffeu, 1000, 0x00ffffffu, 0x01000001u, 2,  7,  0xff7fffffu};
static const uint32_t special_reals[SPECIALS] = {
    0x00000000u, 0x80000000u, 0x3f800000u, 0xbf800000u,
    0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00800000u, /* 0 1 inf nan min */
    0x7f7fffffu, 0xff7fffffu, 0x3f000000u, 0x40490fdbu,
    0x4e6e6b28u, 0xc0200000u, 0x3effffffu, 0x42b17218u /* max .5 pi 1e9 .. */
};

static bool is_denormal(uint32_t word) { return (word & 0x7fffffffu) && (word & 0x7fffffffu) < 0x00800000u; }

/* A random word: for reals half of them moderate numbers, the others any finite ones. */
static uint32_t random_operand(uint64_t *seed, ir_type type)
{
    uint32_t word = (uint32_t)random_bits(seed);
    if (type != IR_F32)
        return random_below(seed, 3) ? word : word & 255u;
    if (random_below(seed, 2))
        word = (word & 0x807fffffu) | (120u + random_below(seed, 15)) << 23;
    return is_denormal(word) ? 0 : word;
}

/* Operand k of lane i, within what is defined for the op. */
static uint32_t operand_word(ir_op op, ir_type type, uint32_t k, uint32_t i, uint64_t *seed)
{
    static const uint32_t stride[3] = {1, SPECIALS, SPECIALS * SPECIALS};
    bool special = i < SPECIALS * SPECIALS * SPECIALS;
    uint32_t which = i / stride[k] % SPECIALS;
    uint32_t word = !special         ? random_operand(seed, type)
                    : type == IR_F32 ? special_reals[which]
                                     : special_words[which];
    uint32_t exponent = word >> 23 & 255u;
    if ((op == IR_DIV || op == IR_MOD) && k == 1 && type != IR_F32)
        return type == IR_I32 ? (word & 0x7fffffffu) | 1u : word | 1u;
    if (op == IR_MOD &&
        type == IR_I32) /* the sign of a remainder of negative numbers differs between devices */
        return word & 0x7fffffffu;
    if (op == IR_TO_U32 && type == IR_F32)
        return exponent > 157 ? 0x3fc00000u : word & 0x7fffffffu;
    if (op == IR_TO_I32 && type == IR_F32)
        return exponent > 156 ? 0xbfc00000u : word;
    return word;
}

static ir_ref typed_operand(ir_func *f, ir_type type, uint32_t buffer)
{
    if (type == IR_BOOL)
        return ir_ne(f, ir_and(f, ir_load(f, IR_U32, buffer, ir_global_id(f)), ir_u32(f, 1)), ir_u32(f, 0));
    return ir_load(f, type, buffer, ir_global_id(f));
}

static void operand_types(ir_op op, ir_type type, ir_type operands[3])
{
    operands[0] = op == IR_SELECT ? IR_BOOL : type;
    operands[1] = ir_op_table[op].rule == IR_RULE_SHIFT ? IR_U32 : type;
    operands[2] = type;
}

static ir_module *op_module(ir_op op, ir_type type, ir_type *result_type)
{
    ir_module *m = ir_module_create(), *lowered;
    ir_func *f;
    ir_ref operands[3] = {{0}}, result;
    ir_type types[3];
    for (uint32_t k = 0; k < 3; k++)
        ir_buffer_add(m, "operand", true, -1);
    ir_buffer_add(m, "result", false, -1);
    f = ir_func_create(m, "main");
    operand_types(op, type, types);
    for (uint32_t k = 0; k < ir_op_table[op].arity; k++)
        operands[k] = typed_operand(f, types[k], k);
    result = ir_value_op(f, op, operands[0], operands[1], operands[2]);
    *result_type = ir_type_of(f, result);
    ir_store(f, 3, ir_global_id(f), *result_type == IR_BOOL ? ir_to_u32(f, result) : result);
    finish_kernel(m, f);
    lowered = opt_math(m);
    ir_module_destroy(m);
    return lowered;
}

/* What a device that does not round is left with: quotients by numbers whose reciprocals are no normal
 * numbers, roots of tiny ones (spirv_gen/spv/rounded.c). */
static bool is_left_to_device(ir_op op, ir_type type, const run_memory *got, const run_memory *expected,
                              uint32_t lane)
{
    const uint32_t least = 27, most = 253; /* exponents of 2^-100 and 2^126 */
    uint32_t a = got->words[0][lane] >> 23, b = got->words[1][lane] >> 23 & 255u;
    uint32_t quotient = expected->words[3][lane] >> 23 & 255u;
    if (type != IR_F32 || (gpu_device_info(device.device)->rounds && !device.rounding))
        return false;
    if (op == IR_SQRT)
        return a < least || a >= 227; /* 2^100, and negative ones */
    a &= 255u;
    return (op == IR_DIV && (b >= most || quotient < least || a < least)) ||
           (op == IR_ATAN2 && (a >= most || b >= most || a < least || b < least));
}

/* As both CPU drivers do it, so that corrections by it leave an ulp, of which atan2 makes more. */
enum { MOST_OFF = 4 };
static bool fma_rounds_twice(void)
{
    gpu_kind kind = gpu_device_info(device.device)->kind;
    return kind == GPU_LAVAPIPE || kind == GPU_SWIFTSHADER;
}

static void compare_op(ir_op op, ir_type type, ir_type result_type, const run_memory *got,
                       const run_memory *expected)
{
    for (uint32_t i = 0; i < OP_LANES; i++) {
        uint32_t a = got->words[3][i], b = expected->words[3][i];
        bool nan = (a & b & 0x7f800000u) == 0x7f800000u && (a & 0x7fffffu) && (b & 0x7fffffu);
        if (a == b || (nan && (result_type == IR_F32 || op == IR_BITS_TO_U32)))
            continue;
        if ((result_type == IR_F32 && is_denormal(b)) || is_left_to_device(op, type, got, expected, i))
            continue;
        if (result_type == IR_F32 && device.rounding == SPV_ROUNDING_FUSED && fma_rounds_twice() &&
            ulp_distance(a, b) <= MOST_OFF)
            continue;
        fail_msg("%s of %s: (0x%08x, 0x%08x, 0x%08x) gives 0x%08x, expected 0x%08x", ir_op_table[op].name,
                 ir_type_names[type], got->words[0][i], got->words[1][i], got->words[2][i], a, b);
    }
}

static void check_op(ir_op op, ir_type type)
{
    const uint32_t counts[4] = {OP_LANES, OP_LANES, OP_LANES, OP_LANES};
    run_memory memory = run_memory_create(counts, 4), expected;
    uint64_t seed = (uint64_t)op * 8 + type;
    ir_type result_type, types[3];
    ir_module *m = op_module(op, type, &result_type);
    operand_types(op, type, types);
    for (uint32_t i = 0; i < OP_LANES; i++)
        for (uint32_t k = 0; k < 3; k++)
            memory.words[k][i] = operand_word(op, types[k], k, i, &seed);
    expected = run_memory_copy(&memory);
    device_run_kernel(&device, m, &memory, OP_LANES);
    interpret_kernel(m, &expected, OP_LANES);
    compare_op(op, type, result_type, &memory, &expected);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
}

static void every_row_equals_the_interpreter(void **state)
{
    (void)state;
    for (int op = 1; op < IR_OP_COUNT; op++)
        for (int type = IR_BOOL; ir_op_table[op].arity && type < IR_TYPE_COUNT; type++)
            if (spv_opcode_of((ir_op)op, (ir_type)type).form != SPV_FORM_NONE)
                check_op((ir_op)op, (ir_type)type);
}

/* The corrections for devices that do not round: exact on these, without harm on others. */
static void corrected_rows_equal_the_interpreter(void **state)
{
    (void)state;
    static const spv_rounding ways[] = {SPV_ROUNDING_FUSED, SPV_ROUNDING_WORDS};
    for (int k = 0; k < 2; k++) {
        device.rounding = ways[k];
        check_op(IR_DIV, IR_F32);
        check_op(IR_SQRT, IR_F32);
        check_op(IR_ATAN2, IR_F32);
    }
}

static int correct_no_longer(void **state)
{
    (void)state;
    device.rounding = SPV_ROUNDING_OWN;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_equals_the_interpreter),
        cmocka_unit_test_setup_teardown(corrected_rows_equal_the_interpreter, NULL, correct_no_longer),
    };
    if (!device_run_open(&device))
        return device_run_missing();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_run_close(&device);
    return failed;
}
