/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The back ends against the interpreter, on the device that BL_DEVICE names: the same lowered module
 * runs in both on the same memory, and the memory must then be equal, bit for bit: every row of ops.def for
 * every type, control flow, calls, local arrays, atomics, uniforms, and random traces. Left out is what
 * SPIR-V leaves open: denormals, integer division by zero, conversions out of range, payloads of NaNs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/module.h"
#include "support/device_run.h"
#include "support/device_safe.h"
#include "support/random_trace.h"
#include "support/todays_share.h"

#include <stdlib.h>
#include <string.h>

static device_run device; /* one for all tests of this program */

static void finish(ir_module *m, ir_func *f)
{
    bl_error err = {0};
    ir_return(f, NULL, 0);
    m->entry = f;
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
}

/* Buffers 0 input and 1 output, both of one word per invocation and more. */
enum { LANES = 256, INPUT_WORDS = 4 * LANES };

static ir_module *kernel_module(ir_func **f)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "input", true, -1);
    ir_buffer_add(m, "output", false, -1);
    *f = ir_func_create(m, "main");
    return m;
}

/* The entry without parameters is created last, because its callees have to be finished first. */
static ir_module *calling_module(void)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "input", true, -1);
    ir_buffer_add(m, "output", false, -1);
    return m;
}

static void compare_words(const char *what, const run_memory *got, const run_memory *expected)
{
    for (uint32_t b = 0; b < got->buffer_count; b++)
        for (uint32_t i = 0; i < got->counts[b]; i++)
            if (got->words[b][i] != expected->words[b][i])
                fail_msg("%s: buffer %u, word %u: device 0x%08x, interpreter 0x%08x", what, b, i,
                         got->words[b][i], expected->words[b][i]);
}

/* Runs a finished kernel_module on random input in both; destroys it. */
static void check(const char *what, ir_module *traced)
{
    ir_module *m = opt_math(traced);
    const uint32_t counts[2] = {INPUT_WORDS, INPUT_WORDS};
    run_memory memory = run_memory_create(counts, 2), expected;
    uint64_t seed = 7;
    for (uint32_t i = 0; i < INPUT_WORDS; i++)
        memory.words[0][i] = (uint32_t)random_bits(&seed);
    for (uint32_t i = 0; i < 32; i++)
        memory.uniforms[i] = 3 * i + 1;
    expected = run_memory_copy(&memory);
    device_run_kernel(&device, m, &memory, LANES);
    interpret_kernel(m, &expected, LANES);
    compare_words(what, &memory, &expected);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
    ir_module_destroy(traced);
}

static ir_ref input(ir_func *f, uint32_t offset)
{
    return ir_load(f, IR_U32, 0, ir_add(f, ir_global_id(f), ir_u32(f, offset)));
}
static void output(ir_func *f, uint32_t k, ir_ref value)
{
    ir_store(f, 1, ir_add(f, ir_mul(f, ir_global_id(f), ir_u32(f, 4)), ir_u32(f, k)), value);
}

/* ---- every row of ops.def, for every type it has ---- */

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
    finish(m, f);
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

/* ---- if ---- */

static void branches(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref x = input(f, 0), y = input(f, LANES), odd = ir_ne(f, ir_and(f, x, ir_u32(f, 1)), ir_u32(f, 0)), a,
           b, c, outer, inner;
    (void)state;
    outer = ir_if(f, odd);
    a = ir_mul(f, x, y);
    inner = ir_if(f, ir_lt(f, x, y));
    b = ir_sub(f, y, x);
    ir_else(f);
    ir_endif(f);
    b = ir_phi(f, inner, b, a);
    output(f, 0, b);
    ir_else(f);
    c = ir_add(f, ir_add(f, x, y), ir_u32(f, 5));
    ir_endif(f);
    a = ir_phi(f, outer, b, c);
    c = ir_phi(f, outer, ir_u32(f, 1), ir_u32(f, 2));
    output(f, 1, ir_xor(f, a, c));
    outer = ir_if(f, ir_lt(f, a, y)); /* an empty then-branch */
    ir_else(f);
    b = ir_add(f, a, y);
    ir_endif(f);
    output(f, 2, ir_phi(f, outer, x, b));
    ir_if(f, ir_lt(f, y, a)); /* no results, both empty */
    ir_else(f);
    ir_endif(f);
    b = ir_to_u32(f, ir_lt(f, a, x));
    output(f, 3, b);
    finish(m, f);
    check("branches", m);
}

/* Indices are sums modulo 2^32: two neighbouring words at a base that has wrapped below 0. */
static void neighbours_of_a_wrapped_base(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    (void)state;
    ir_ref lane = ir_and(f, ir_global_id(f), ir_u32(f, 15)),
           base = ir_sub(f, lane, ir_and(f, ir_mul(f, lane, ir_u32(f, 3)), ir_u32(f, 63)));
    ir_ref first = ir_load(f, IR_U32, 0, ir_add(f, base, ir_u32(f, 40)));
    ir_ref second = ir_load(f, IR_U32, 0, ir_add(f, base, ir_u32(f, 41)));
    output(f, 0, first);
    output(f, 1, second);
    finish(m, f);
    check("a wrapped base", m);
}

/* ---- loops ---- */

/* Three states that change places: phis of one header are read together. */
static void loop_states_rotate(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref s[4] = {input(f, 0), input(f, LANES), input(f, 2 * LANES), ir_u32(f, 0)}, loop;
    ir_ref trips = ir_and(f, input(f, 3), ir_u32(f, 15));
    (void)state;
    loop = ir_loop(f, s, 4);
    ir_while(f, ir_lt(f, s[3], trips));
    ir_endloop(f, loop, (ir_ref[]){s[1], s[2], s[0], ir_add(f, s[3], ir_u32(f, 1))}, 4);
    for (uint32_t k = 0; k < 4; k++)
        output(f, k, s[k]);
    finish(m, f);
    check("rotating states", m);
}

/* What a lane has read before it left counts, whatever the others of its group read later; a loop in the body
 * is not entered by all. */
static void lanes_leave_in_different_trips(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref zero = ir_u32(f, 0), one = ir_u32(f, 1), x = input(f, 0), trips = ir_and(f, x, ir_u32(f, 7)),
           outer[2] = {zero, x};
    (void)state;
    ir_ref outer_loop = ir_loop(f, outer, 2);
    ir_while(f, ir_lt(f, outer[0], trips));
    ir_ref inner[2] = {outer[0], outer[1]}, inner_loop = ir_loop(f, inner, 2);
    ir_while(f,
             ir_and(f, ir_ne(f, ir_and(f, inner[1], ir_u32(f, 3)), one), ir_lt(f, inner[0], ir_u32(f, 60))));
    ir_ref word = ir_load(f, IR_U32, 0, inner[0]);
    ir_endloop(f, inner_loop,
               (ir_ref[]){ir_add(f, inner[0], one), ir_add(f, ir_mul(f, inner[1], ir_u32(f, 7)), word)}, 2);
    ir_endloop(f, outer_loop, (ir_ref[]){ir_add(f, outer[0], one), ir_add(f, inner[1], inner[0])}, 2);
    output(f, 0, outer[0]);
    output(f, 1, outer[1]);
    finish(m, f);
    check("lanes in different trips", m);
}

/* A loop in a loop, with a branch before the inner test and one in the body, and the outer counter seen
 * inside. */
static void loops_nest(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref x = input(f, 0), outer[2] = {ir_u32(f, 0), x}, inner[2], outer_loop, inner_loop, branch, step,
           next;
    (void)state;
    outer_loop = ir_loop(f, outer, 2);
    ir_while(f, ir_lt(f, outer[0], ir_u32(f, 5)));
    inner[0] = ir_u32(f, 0);
    inner[1] = outer[1];
    inner_loop = ir_loop(f, inner, 2);
    branch = ir_if(f, ir_lt(f, ir_and(f, inner[1], ir_u32(f, 255)), ir_u32(f, 128)));
    step = ir_u32(f, 7);
    ir_else(f);
    step = ir_mul(f, inner[1], ir_u32(f, 3));
    ir_endif(f);
    step = ir_phi(f, branch, ir_u32(f, 7), step);
    ir_while(f, ir_and(f, ir_lt(f, inner[0], ir_add(f, outer[0], ir_u32(f, 3))),
                       ir_ne(f, ir_and(f, step, ir_u32(f, 31)), ir_u32(f, 9))));
    branch = ir_if(f, ir_lt(f, inner[1], x));
    next = ir_add(f, inner[1], step);
    ir_else(f);
    ir_endif(f);
    next = ir_phi(f, branch, next, outer[0]);
    ir_endloop(f, inner_loop, (ir_ref[]){ir_add(f, inner[0], ir_u32(f, 1)), ir_xor(f, next, inner[1])}, 2);
    output(f, 2, inner[0]);
    ir_endloop(f, outer_loop, (ir_ref[]){ir_add(f, outer[0], ir_u32(f, 1)), ir_add(f, inner[1], inner[0])},
               2);
    output(f, 0, outer[0]);
    output(f, 1, outer[1]);
    finish(m, f);
    check("nested loops", m);
}

/* States that never change, of every type; a loop without states would not end, but one without trips
 * does. */
static void idle_states(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref x = input(f, 0),
           s[4] = {ir_lt(f, x, ir_u32(f, 1u << 31)), ir_to_i32(f, x), ir_to_f32(f, x), ir_u32(f, 9)}, loop;
    (void)state;
    loop = ir_loop(f, s, 4);
    ir_while(f, ir_lt(f, s[3], ir_u32(f, 4)));
    ir_endloop(f, loop, s, 4);
    output(f, 0, ir_to_u32(f, s[0]));
    output(f, 1, s[1]);
    output(f, 2, s[2]);
    loop = ir_loop(f, s, 0);
    ir_while(f, ir_bool(f, false));
    output(f, 3, x);
    ir_endloop(f, loop, s, 0);
    finish(m, f);
    check("idle states", m);
}

/* ---- calls ---- */

typedef ir_ref (*body)(ir_func *f, ir_ref x, ir_ref y);
static ir_ref body_add(ir_func *f, ir_ref x, ir_ref y) { return ir_add(f, x, y); }
static ir_ref body_first(ir_func *f, ir_ref x, ir_ref y) { return (void)f, (void)y, x; }
static ir_ref body_constant(ir_func *f, ir_ref x, ir_ref y) { return (void)x, (void)y, ir_u32(f, 42); }

static ir_ref body_branch(ir_func *f, ir_ref x, ir_ref y)
{
    ir_ref branch = ir_if(f, ir_lt(f, x, y)), a = ir_sub(f, y, x), b;
    ir_else(f);
    b = ir_mul(f, x, ir_uniform(f, IR_U32, 1));
    ir_endif(f);
    return ir_phi(f, branch, a, b);
}

static ir_ref body_loop(ir_func *f, ir_ref x, ir_ref y)
{
    ir_ref s[2] = {x, ir_u32(f, 0)}, loop = ir_loop(f, s, 2);
    ir_while(f, ir_lt(f, s[1], ir_and(f, y, ir_u32(f, 7))));
    ir_endloop(
        f, loop,
        (ir_ref[]){ir_xor(f, ir_mul(f, s[0], ir_u32(f, 5)), ir_global_id(f)), ir_add(f, s[1], ir_u32(f, 1))},
        2);
    return s[0];
}

static ir_ref body_local(ir_func *f, ir_ref x, ir_ref y)
{
    ir_ref array = ir_local(f, IR_U32, 4), at = ir_and(f, x, ir_u32(f, 3));
    for (uint32_t k = 0; k < 4; k++)
        ir_lstore(f, array, ir_u32(f, k), ir_add(f, y, ir_u32(f, k)));
    ir_lstore(f, array, at, x);
    return ir_lload(f, array, ir_and(f, y, ir_u32(f, 3)));
}

/* A function of x, y with two results: the body's and x ^ y. */
static ir_func *callee(ir_module *m, const char *name, body make)
{
    ir_func *f = ir_func_create(m, name);
    ir_ref x = ir_param(f, IR_U32), y = ir_param(f, IR_U32), results[2] = {make(f, x, y), {0}};
    results[1] = ir_xor(f, x, y);
    ir_return(f, results, 2);
    return f;
}

static ir_func *nested_callee(ir_module *m, ir_func *const *targets, uint32_t count)
{
    ir_func *f = ir_func_create(m, "nested");
    ir_ref x = ir_param(f, IR_U32), y = ir_param(f, IR_U32), r[2];
    ir_call(f, ir_mod(f, y, ir_u32(f, count)), targets, count, (ir_ref[]){y, x}, 2, r);
    r[0] = ir_add(f, r[0], ir_u32(f, 1));
    ir_return(f, r, 2);
    return f;
}

static void calls_dispatch(void **state)
{
    ir_module *m = calling_module();
    ir_func *t[7] = {callee(m, "add", body_add),     callee(m, "branch", body_branch),
                     callee(m, "loop", body_loop),   callee(m, "constant", body_constant),
                     callee(m, "local", body_local), NULL,
                     callee(m, "first", body_first)};
    ir_func *f;
    ir_ref x, y, r[2];
    (void)state;
    t[5] = nested_callee(m, t, 5);
    f = ir_func_create(m, "main");
    x = input(f, 0), y = input(f, LANES);
    ir_call(f, ir_mod(f, ir_global_id(f), ir_u32(f, 7)), t, 7, (ir_ref[]){x, y}, 2, r);
    output(f, 0, r[0]);
    output(f, 1, r[1]);
    ir_call(f, ir_u32(f, 0), &t[2], 1, (ir_ref[]){y, x}, 2, r); /* one target: no switch */
    output(f, 2, r[0]);
    ir_call(f, ir_mod(f, x, ir_u32(f, 4)), (ir_func *const[]){t[1], t[0], t[1], t[0]}, 4, (ir_ref[]){x, y}, 2,
            r); /* repeated ones */
    output(f, 3, r[0]);
    finish(m, f);
    check("calls", m);
}

/* Lanes leave in different trips, and what reads the states comes right behind the loop: an op, or the end of
 * the function. A lane that has left must not be given the states of the others' last trip. */
static ir_func *callee_that_ends_with_a_loop(ir_module *m)
{
    ir_func *f = ir_func_create(m, "last");
    ir_ref limit = ir_param(f, IR_U32), s[2] = {ir_u32(f, 0), ir_u32(f, 1)};
    ir_ref two = ir_u32(f, 2), one = ir_u32(f, 1), loop = ir_loop(f, s, 2);
    ir_while(f, ir_lt(f, s[0], limit));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s[0], one), ir_add(f, ir_mul(f, s[1], two), s[0])}, 2);
    ir_return(f, &s[1], 1);
    return f;
}

static void states_are_read_right_behind_the_loop(void **state)
{
    ir_module *m = calling_module();
    ir_func *last = callee_that_ends_with_a_loop(m), *f = ir_func_create(m, "main");
    (void)state;
    ir_ref limit = ir_and(f, input(f, 0), ir_u32(f, 15)), one = ir_u32(f, 1), s[1] = {ir_u32(f, 0)};
    ir_ref sum, r[1], at = ir_mul(f, ir_global_id(f), ir_u32(f, 4));
    ir_ref loop = ir_loop(f, s, 1);
    ir_while(f, ir_lt(f, s[0], limit));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s[0], one)}, 1);
    sum = ir_add(f, s[0], limit); /* the only reader, and no constant of its own stands before it */
    ir_store(f, 1, at, sum);
    ir_call(f, ir_mod(f, ir_global_id(f), ir_u32(f, 2)), (ir_func *const[]){last, last}, 2, &limit, 1, r);
    output(f, 1, r[0]);
    finish(m, f);
    check("states behind a loop", m);
}

/* Calls inside a loop and a branch, whose results are the next states. */
static void calls_in_control_flow(void **state)
{
    ir_module *m = calling_module();
    ir_func *t[3] = {callee(m, "branch", body_branch), callee(m, "loop", body_loop),
                     callee(m, "local", body_local)},
            *f;
    ir_ref s[3], loop, r[2], branch, chosen;
    (void)state;
    f = ir_func_create(m, "main");
    s[0] = input(f, 0), s[1] = input(f, LANES), s[2] = ir_u32(f, 0);
    loop = ir_loop(f, s, 3);
    ir_while(f, ir_lt(f, s[2], ir_u32(f, 6)));
    branch = ir_if(f, ir_lt(f, s[0], s[1]));
    ir_call(f, ir_mod(f, s[0], ir_u32(f, 3)), t, 3, (ir_ref[]){s[0], s[1]}, 2, r);
    ir_else(f);
    ir_endif(f);
    chosen = ir_phi(f, branch, r[0], s[2]);
    ir_endloop(f, loop, (ir_ref[]){s[1], chosen, ir_add(f, s[2], ir_u32(f, 1))}, 3);
    output(f, 0, s[0]);
    output(f, 1, s[1]);
    finish(m, f);
    check("calls in control flow", m);
}

static void calls_by_branches(void **state)
{
    device.branching_calls = true;
    calls_dispatch(state);
    calls_in_control_flow(state);
}

static int call_by_switches(void **state)
{
    (void)state;
    device.branching_calls = false;
    return 0;
}

/* ---- local arrays ---- */

/* Insertion sort of eight words, and an array of each other type. */
static void local_arrays(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref array = ir_local(f, IR_U32, 8), flags = ir_local(f, IR_BOOL, 2), reals = ir_local(f, IR_F32, 2),
           ints = ir_local(f, IR_I32, 2);
    ir_ref s[1], value, before, loop, go, at;
    (void)state;
    for (uint32_t k = 0; k < 8; k++) {
        value = input(f, k * 64);
        s[0] = ir_u32(f, k);
        loop = ir_loop(f, s, 1);
        before = ir_sub(f, ir_select(f, ir_eq(f, s[0], ir_u32(f, 0)), ir_u32(f, 1), s[0]), ir_u32(f, 1));
        go = k ? ir_lt(f, value, ir_lload(f, array, before)) : ir_bool(f, false);
        ir_while(f, ir_and(f, go, ir_ne(f, s[0], ir_u32(f, 0))));
        ir_lstore(f, array, s[0], ir_lload(f, array, before));
        ir_endloop(f, loop, &before, 1);
        ir_lstore(f, array, s[0], value);
    }
    at = ir_and(f, input(f, 1), ir_u32(f, 1));
    for (uint32_t k = 0; k < 2; k++) {
        ir_lstore(f, flags, ir_u32(f, k), ir_lt(f, input(f, k), input(f, k + 1)));
        ir_lstore(f, reals, ir_u32(f, k), ir_to_f32(f, input(f, k)));
        ir_lstore(f, ints, ir_u32(f, k), ir_to_i32(f, input(f, k)));
    }
    output(f, 0, ir_lload(f, array, ir_and(f, input(f, 0), ir_u32(f, 7))));
    output(f, 1, ir_to_u32(f, ir_lload(f, flags, at)));
    output(f, 2, ir_lload(f, reals, at));
    output(f, 3, ir_lload(f, ints, at));
    finish(m, f);
    check("local arrays", m);
}

/* Values wait in the workgroup's memory: of 64 lanes, through a loop of other trips in each, and around calls
 * of a function that parks, too. */
static void lanes_park_apart(void **state)
{
    ir_module *m = calling_module(), *parks;
    (void)state;
    ir_func *g = ir_func_create(m, "callee"), *f;
    ir_ref p = ir_param(g, IR_U32), q = ir_load(g, IR_U32, 0, ir_and(g, p, ir_u32(g, 63)));
    for (uint32_t k = 0; k < 9; k++)
        p = ir_add(g, ir_xor(g, p, ir_u32(g, 0x9e3779b9u)), ir_u32(g, k));
    p = ir_mul(g, p, q);
    ir_return(g, &p, 1);
    f = ir_func_create(m, "main");
    ir_ref x = input(f, 0), y = input(f, LANES), s[2] = {ir_u32(f, 0), y}, r, one = ir_u32(f, 1);
    ir_ref loop = ir_loop(f, s, 2);
    ir_while(f, ir_lt(f, s[0], ir_and(f, x, ir_u32(f, 7))));
    ir_call(f, ir_u32(f, 0), &g, 1, &s[1], 1, &r);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, s[0], one), ir_xor(f, ir_add(f, r, y), s[1])}, 2);
    output(f, 0, s[1]);
    output(f, 1, ir_mul(f, x, y));
    finish(m, f);
    parks = opt_park_to(m, &(opt_goal){32, 0}, 1, 1);
    assert_non_null(parks);
    uint32_t arrays = 0, largest = 0;
    for (uint32_t k = 0; k < parks->functions.count; k++)
        for (uint32_t id = 1; id < parks->functions.data[k]->inst.count; id++) {
            ir_inst i = parks->functions.data[k]->inst.data[id];
            arrays += i.op == IR_LOCAL && (i.flags & IR_PARKED);
            largest = i.op == IR_LOCAL && i.a > largest ? i.a : largest;
        }
    assert_int_equal(arrays, 2);
    assert_true(largest > 2); /* the callee's stand behind those of its caller */
    ir_module_destroy(m);
    check("parked values", parks);
}

/* ---- uniforms, invocation index ---- */

static void uniforms_of_every_type(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    (void)state;
    output(f, 0, ir_uniform(f, IR_U32, 31));
    output(f, 1, ir_neg(f, ir_uniform(f, IR_I32, 2)));
    output(f, 2, ir_uniform(f, IR_F32, 2));
    ir_if(f, ir_lt(f, input(f, 0), ir_u32(f, 1u << 31)));
    output(f, 3, ir_uniform(f, IR_U32, 7)); /* first used inside a branch, then outside it */
    ir_else(f);
    ir_endif(f);
    output(f, 3, ir_add(f, ir_uniform(f, IR_U32, 7), ir_u32(f, 1)));
    finish(m, f);
    check("uniforms", m);
}

/* More groups than one dimension of a dispatch holds. */
static void invocations_are_numbered_over_rows(void **state)
{
    const uint32_t count = 65535 * 64 + 5 * 64;
    ir_module *m = ir_module_create();
    run_memory memory = run_memory_create(&count, 1);
    ir_func *f;
    (void)state;
    ir_buffer_add(m, "output", false, -1);
    f = ir_func_create(m, "main");
    ir_if(f, ir_lt(f, ir_global_id(f), ir_u32(f, count)));
    ir_atomic_add(f, 0, ir_global_id(f), ir_add(f, ir_global_id(f), ir_u32(f, 1)));
    ir_else(f);
    ir_endif(f);
    finish(m, f);
    device_run_kernel(&device, m, &memory, count);
    for (uint32_t i = 0; i < count; i++)
        if (memory.words[0][i] != i + 1)
            fail_msg("invocation %u: %u", i, memory.words[0][i]);
    run_memory_free(&memory);
    ir_module_destroy(m);
}

/* ---- atomics ---- */

enum { ATOMIC_LANES = 4096, COUNTERS = 4 };

static ir_module *atomic_module(ir_func **f)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "counters", false, -1);
    ir_buffer_add(m, "tickets", false, -1);
    *f = ir_func_create(m, "main");
    return m;
}

static run_memory run_atomics(ir_module *m, ir_func *f)
{
    const uint32_t counts[2] = {COUNTERS, ATOMIC_LANES};
    run_memory memory = run_memory_create(counts, 2);
    finish(m, f);
    device_run_kernel(&device, m, &memory, ATOMIC_LANES);
    ir_module_destroy(m);
    return memory;
}

static void atomic_adds_give_tickets(void **state)
{
    ir_func *f;
    ir_module *m = atomic_module(&f);
    ir_ref id = ir_global_id(f),
           ticket = ir_atomic_add(f, 0, ir_and(f, id, ir_u32(f, COUNTERS - 1)), ir_u32(f, 1));
    run_memory memory;
    uint8_t seen[ATOMIC_LANES] = {0};
    (void)state;
    ir_store(f, 1, id, ticket);
    memory = run_atomics(m, f);
    for (uint32_t k = 0; k < COUNTERS; k++)
        assert_int_equal(memory.words[0][k], ATOMIC_LANES / COUNTERS);
    for (uint32_t i = 0; i < ATOMIC_LANES; i++) {
        uint32_t place = memory.words[1][i] * COUNTERS + i % COUNTERS;
        assert_true(place < ATOMIC_LANES && !seen[place]++);
    }
    run_memory_free(&memory);
}

/* Float sums by compare-exchange: integers below 2^24, so that order does not matter. */
static void compare_exchange_loses_nothing(void **state)
{
    ir_func *f;
    ir_module *m = atomic_module(&f);
    ir_ref at = ir_and(f, ir_global_id(f), ir_u32(f, COUNTERS - 1)), s[2], loop, next, got;
    run_memory memory;
    (void)state;
    s[0] = ir_load(f, IR_U32, 0, at);
    s[1] = ir_bool(f, true);
    loop = ir_loop(f, s, 2);
    ir_while(f, s[1]);
    next = ir_bits_to_u32(f, ir_add(f, ir_bits_to_f32(f, s[0]), ir_f32(f, 3.0f)));
    got = ir_atomic_cas(f, 0, at, s[0], next);
    ir_endloop(f, loop, (ir_ref[]){got, ir_ne(f, got, s[0])}, 2);
    memory = run_atomics(m, f);
    for (uint32_t k = 0; k < COUNTERS; k++)
        assert_int_equal(memory.words[0][k], 0x45400000u); /* 3072.0f */
    run_memory_free(&memory);
}

static void float_atomics_where_there_are_any(void **state)
{
    ir_func *f;
    ir_module *m = atomic_module(&f);
    ir_ref at = ir_and(f, ir_global_id(f), ir_u32(f, COUNTERS - 1));
    run_memory memory;
    (void)state;
    ir_store(f, 1, ir_global_id(f), ir_atomic_add(f, 0, at, ir_f32(f, 3.0f)));
    if (!gpu_device_info(device.device)->float_atomics) {
        finish(m, f);
        ir_module_destroy(m);
        print_message("the device has no float atomics\n");
        return;
    }
    memory = run_atomics(m, f);
    for (uint32_t k = 0; k < COUNTERS; k++)
        assert_int_equal(memory.words[0][k], 0x45400000u);
    run_memory_free(&memory);
}

/* ---- random traces, after the whole pipeline ---- */

/* Of a module of doubles: buffers that keep what a float lacks. The last one holds sums of floats. */
static bool is_paired(uint64_t seed, uint32_t buffer) { return buffer < 3 && (seed >> buffer & 1); }

static ir_module *random_module(uint64_t seed, bool doubles)
{
    random_trace_options options = {.no_fold = seed % 3 == 1, .no_merge = seed % 5 == 1, .size = 40};
    ir_module *m = random_trace(seed, options), *lowered = NULL, *safe;
    m->doubles = doubles;
    for (uint32_t b = 0; doubles && b < m->buffers.count; b++)
        m->buffers.data[b].paired = is_paired(seed, b);
    bl_error err = {0};
    if (opt_run(m, &(opt_options){.accumulate = OPT_ACCUMULATE_CAS}, &lowered, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    safe = device_safe(lowered);
    ir_module *parks = seed % 3 ? opt_park_to(safe, &(opt_goal){32, 0}, 1, 2) : NULL;
    if (parks)
        ir_module_destroy(safe), safe = parks;
    if (ir_finish(safe, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    ir_module_destroy(lowered);
    ir_module_destroy(m);
    return safe;
}

static void compare_random_trace(uint64_t seed, bool doubles)
{
    uint32_t counts[RANDOM_TRACE_BUFFERS];
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        counts[i] = RANDOM_TRACE_WORDS * (doubles && is_paired(seed, i) ? 2 : 1);
    ir_module *m = random_module(seed, doubles);
    run_memory memory = run_memory_create(counts, RANDOM_TRACE_BUFFERS), expected;
    char what[64];
    for (uint32_t i = 0; i < RANDOM_TRACE_BUFFERS; i++)
        random_trace_fill(seed * 8 + i, memory.words[i], counts[i]);
    random_trace_fill(seed * 8 + 7, memory.uniforms, RANDOM_TRACE_UNIFORMS);
    device_safe_words(memory.uniforms, RANDOM_TRACE_UNIFORMS);
    expected = run_memory_copy(&memory);
    device.addressed = gpu_device_info(device.device)->buffer_address && !doubles
                           ? (uint32_t)seed & 15
                           : 0; /* which buffers by address */
    device.branching_calls = seed % 2;
    device_run_kernel(&device, m, &memory, 1);
    device.addressed = 0, device.branching_calls = false;
    interpret_kernel(m, &expected, 1);
    snprintf(what, sizeof what, "random trace %llu%s", (unsigned long long)seed,
             doubles ? " of doubles" : "");
    compare_words(what, &memory, &expected);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
}

/* Those in which a device has once been found to differ: SwiftShader's folds of UMin and of negated quotients
 * (opt/math.c). */
static const uint64_t found[] = {1284, 9134};

enum { MOST_TRACES = 10000, SWIFTSHADER_TRACES = 80 };

static void compare_random_traces(bool doubles)
{
    const char *first = getenv("BL_RANDOM_FIRST"), *wanted = getenv("BL_RANDOM_TRACES"),
               *all = getenv("BL_LONG");
    bool tiers = all && strcmp(all, "1") == 0;
    gpu_kind kind = gpu_device_info(device.device)->kind;
    uint64_t most = kind == GPU_LAVAPIPE ? 200 : MOST_TRACES,
             few = kind == GPU_LAVAPIPE      ? 8
                   : kind == GPU_SWIFTSHADER ? SWIFTSHADER_TRACES /* compiles two in a second */
                                             : 500,
             count = wanted  ? (uint64_t)atoll(wanted)
                     : tiers ? most
                             : few,
             from = first ? (uint64_t)atoll(first)
                    : wanted || tiers
                        ? 0
                        : today() % (most / few - 1) * few; /* others every day, of those that --long takes */
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        compare_random_trace(found[i], doubles);
    for (uint64_t seed = from; seed < from + count; seed++)
        compare_random_trace(seed, doubles);
}

static void random_traces_equal_the_interpreter(void **state)
{
    (void)state;
    compare_random_traces(false);
}

static void random_traces_of_doubles_equal_the_interpreter(void **state)
{
    (void)state;
    compare_random_traces(true);
}

/* ---- the same by address ---- */

static int address_buffers(void **state)
{
    (void)state;
    device.addressed = gpu_device_info(device.device)->buffer_address ? ~0u : 0;
    return 0;
}

static int bind_buffers(void **state)
{
    (void)state;
    device.addressed = 0;
    return 0;
}

#define BY_ADDRESS(test)                                                                                     \
    {                                                                                                        \
        "by address: " #test, test, address_buffers, bind_buffers, NULL                                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_ADDRESS(atomic_adds_give_tickets),
        BY_ADDRESS(compare_exchange_loses_nothing),
        BY_ADDRESS(float_atomics_where_there_are_any),
        cmocka_unit_test(every_row_equals_the_interpreter),
        cmocka_unit_test_setup_teardown(corrected_rows_equal_the_interpreter, NULL, correct_no_longer),
        cmocka_unit_test(branches),
        cmocka_unit_test(neighbours_of_a_wrapped_base),
        cmocka_unit_test(loop_states_rotate),
        cmocka_unit_test(lanes_leave_in_different_trips),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(idle_states),
        cmocka_unit_test(calls_dispatch),
        cmocka_unit_test(calls_in_control_flow),
        cmocka_unit_test_setup_teardown(calls_by_branches, NULL, call_by_switches),
        cmocka_unit_test(states_are_read_right_behind_the_loop),
        cmocka_unit_test(local_arrays),
        cmocka_unit_test(lanes_park_apart),
        cmocka_unit_test(uniforms_of_every_type),
        cmocka_unit_test(invocations_are_numbered_over_rows),
        cmocka_unit_test(atomic_adds_give_tickets),
        cmocka_unit_test(compare_exchange_loses_nothing),
        cmocka_unit_test(float_atomics_where_there_are_any),
        cmocka_unit_test(random_traces_equal_the_interpreter),
        cmocka_unit_test(random_traces_of_doubles_equal_the_interpreter), /* last: for devices with doubles */
    };
    int failed;
    if (!device_run_open(&device))
        return device_run_missing();
    size_t count = sizeof tests / sizeof *tests - !gpu_device_info(device.device)->float64;
    failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    device_run_close(&device);
    return failed;
}
