/* SPDX-License-Identifier: BSD-3-Clause
 * The start-up self-test of a device: the arithmetic that kernels rely on, on the device itself.
 *
 * Each check is a small trace. It is lowered once, runs on the device and in the interpreter on the same
 * memory, and both must leave the same words. Operands are special values in all pairs, then random ones. Not
 * compared is what SPIR-V leaves open and nothing relies on: the payload of NaNs, and denormals where the
 * check is not about them.
 *
 * `needed` are the checks without which images or gradients are wrong. The others are
 * what Vulkan leaves to the device; docs/devices.md says what Backlight does where they do not hold. Four of
 * them run whenever a GPU is opened, and choose how its kernels divide. */
#include "api/self_test.h"
#include "api/device.h"
#include "codegen/codegen.h"
#include "spirv_gen/opt/opt.h"

#include <backlight/backlight_testing.h>

#include <stdlib.h>
#include <string.h>

enum {
    SPECIALS = 16,
    LANES = 1 << 12,
    CELLS = 64,
    ROW = CELLS / 2,
    MANY = 65535 * LOCAL_SIZE + 64 * LOCAL_SIZE
};
enum { INPUT, OUTPUT };

typedef enum comparison {
    WORDS,    /* equal */
    REALS,    /* equal, or NaN both, or one of them denormal */
    DENORMALS /* equal, or NaN both */
} comparison;

typedef struct check {
    const char *name, *holds;
    bool needed;
    /* Of its kernel: as the device's kernels are, or without what they do for devices of its kind (volatile
     * memory, spirv_gen/spv/memory.c), and with quotients and roots that are found so. */
    gpu_rounding rounding;
    comparison how;
    /* The value of an invocation, of operands that are words; or what writes to OUTPUT by itself and returns
     * nothing. */
    ir_ref (*value)(ir_func *f, ir_ref a, ir_ref b, ir_ref c);
    uint32_t lanes; /* 0: LANES, which the interpreter runs, too; else `expected` says what comes out */
    uint32_t (*expected)(uint32_t cell);
} check;

/* ---- traces ---- */

static ir_ref real(ir_func *f, ir_ref word) { return ir_bits_to_f32(f, word); }
static ir_ref word(ir_func *f, ir_ref value) { return ir_bits_to_u32(f, value); }
static ir_ref bit(ir_func *f, ir_ref condition, uint32_t k)
{
    return ir_select(f, condition, ir_u32(f, 1u << k), ir_u32(f, 0));
}

/* A real that is finite, and of a size at which sums, products and quotients stay normal. */
static ir_ref moderate(ir_func *f, ir_ref a)
{
    ir_ref exponent = ir_add(f, ir_and(f, ir_shr(f, a, ir_u32(f, 23)), ir_u32(f, 31)), ir_u32(f, 112));
    return real(f, ir_or(f, ir_and(f, a, ir_u32(f, 0x807fffffu)), ir_shl(f, exponent, ir_u32(f, 23))));
}

/* The real, but for denormals, which become 1. */
static ir_ref normal(ir_func *f, ir_ref a)
{
    ir_ref size = ir_and(f, a, ir_u32(f, 0x7fffffffu));
    ir_ref small = ir_lt(f, ir_sub(f, size, ir_u32(f, 1)), ir_u32(f, 0x007fffffu));
    return real(f, ir_select(f, small, ir_u32(f, 0x3f800000u), a));
}

static ir_ref sum(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)c;
    return word(f, ir_add(f, normal(f, a), normal(f, b)));
}

static ir_ref product(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)c;
    return word(f, ir_mul(f, normal(f, a), normal(f, b)));
}

static ir_ref contraction(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    return word(f, ir_add(f, ir_mul(f, moderate(f, a), moderate(f, b)), moderate(f, c)));
}

static ir_ref quotient(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)c;
    return word(f, ir_div(f, moderate(f, a), moderate(f, b)));
}

static ir_ref root(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)b, (void)c;
    return word(f, ir_sqrt(f, ir_abs(f, moderate(f, a))));
}

/* Products of a normal number that are denormal. */
static ir_ref denormal(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)b, (void)c;
    return word(f, ir_mul(f, ir_mul(f, moderate(f, a), ir_f32(f, 0x1p-100f)), ir_f32(f, 0x1p-36f)));
}

static ir_ref comparisons(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref x = normal(f, a), y = normal(f, b);
    (void)c;
    ir_ref less = ir_or(f, bit(f, ir_lt(f, x, y), 0), bit(f, ir_le(f, x, y), 1));
    ir_ref equal = ir_or(f, bit(f, ir_eq(f, x, y), 2), bit(f, ir_ne(f, x, y), 3));
    return ir_or(f, ir_or(f, less, equal), bit(f, ir_ne(f, x, x), 4));
}

/* What comes of infinities: differences, products with zero, quotients of them. */
static ir_ref infinities(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref large = ir_mul(f, moderate(f, a), ir_f32(f, 0x1p127f)), huge = ir_mul(f, large, large);
    (void)c;
    ir_ref which = ir_and(f, b, ir_u32(f, 3)), zero = ir_f32(f, 0);
    ir_ref first = ir_select(f, ir_eq(f, which, ir_u32(f, 0)), ir_sub(f, huge, huge), ir_mul(f, huge, zero));
    ir_ref second = ir_select(f, ir_eq(f, which, ir_u32(f, 2)), ir_div(f, moderate(f, a), huge), huge);
    return word(f, ir_select(f, ir_lt(f, which, ir_u32(f, 2)), first, second));
}

static ir_ref signed_zeros(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)b, (void)c;
    return word(f, ir_mul(f, moderate(f, a), ir_mul(f, ir_f32(f, 0), moderate(f, b))));
}

static ir_ref conversions(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref x = ir_mul(f, moderate(f, a), ir_f32(f, 0x1p10f)), up = ir_abs(f, x);
    ir_ref whole = ir_add(f, ir_to_u32(f, up), ir_to_u32(f, ir_to_i32(f, x)));
    ir_ref back = ir_xor(f, word(f, ir_to_f32(f, b)), word(f, ir_to_f32(f, ir_to_i32(f, c))));
    return ir_xor(f, ir_xor(f, whole, back), word(f, ir_floor(f, x)));
}

static ir_ref integers(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref odd = ir_or(f, b, ir_u32(f, 1)), shift = ir_and(f, c, ir_u32(f, 31));
    ir_ref one = ir_add(f, ir_mul(f, a, b), ir_div(f, a, odd)), two = ir_mod(f, c, odd);
    ir_ref three = ir_xor(f, ir_shl(f, a, shift), ir_shr(f, b, shift));
    ir_ref four = ir_to_u32(f, ir_shr(f, ir_to_i32(f, c), shift));
    return ir_xor(f, ir_add(f, one, two), ir_xor(f, three, four));
}

/* The functions that opt/math.c expands; each value is brought into the range of its function. */
static ir_ref functions(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref x = moderate(f, a), y = moderate(f, b), unit = ir_mul(f, ir_to_f32(f, c), ir_f32(f, 0x1p-32f));
    ir_ref wave = ir_xor(f, word(f, ir_sin(f, x)), word(f, ir_cos(f, y)));
    ir_ref decay = ir_exp(f, ir_mul(f, unit, ir_f32(f, -80)));
    ir_ref power = ir_xor(f, word(f, ir_log(f, ir_abs(f, x))), word(f, decay));
    return ir_xor(f, ir_xor(f, wave, power), word(f, ir_pow(f, unit, ir_f32(f, 2.2f))));
}

/* An array that is indexed by values, in a loop whose length differs from lane to lane. */
static ir_ref arrays(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref local = ir_local(f, IR_U32, 8), state[2] = {ir_u32(f, 0), a};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], ir_and(f, b, ir_u32(f, 31))));
    ir_ref mixed = ir_add(f, ir_mul(f, state[1], ir_u32(f, 1664525)), ir_u32(f, 1013904223));
    ir_lstore(f, local, ir_and(f, state[0], ir_u32(f, 7)), mixed);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], ir_u32(f, 1)), ir_xor(f, mixed, c)}, 2);
    ir_ref filled = ir_lt(f, ir_u32(f, 8), state[0]); /* else some elements have no value */
    return ir_select(f, filled, ir_lload(f, local, ir_and(f, c, ir_u32(f, 7))), state[1]);
}

/* Sums of 64 bits in two words, as gradients are summed: a carry is seen in what the first addition returns.
 */
static ir_ref atomics(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    ir_ref at = ir_mul(f, ir_and(f, c, ir_u32(f, CELLS - 1)), ir_u32(f, 2));
    ir_ref old = ir_atomic_add(f, OUTPUT, at, a), carry = ir_lt(f, ir_add(f, old, a), old);
    ir_atomic_add(f, OUTPUT, ir_add(f, at, ir_u32(f, 1)), ir_add(f, b, bit(f, carry, 0)));
    return (ir_ref){0};
}

/* Every invocation of a dispatch that needs more than one row of workgroups comes once. */
static ir_ref invocations(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)a, (void)b, (void)c;
    ir_ref id = ir_global_id(f);
    ir_if(f, ir_lt(f, id, ir_u32(f, MANY)));
    ir_atomic_add(f, OUTPUT, ir_mod(f, ir_div(f, id, ir_u32(f, 1021)), ir_u32(f, CELLS)), id);
    ir_else(f);
    ir_endif(f);
    return (ir_ref){0};
}

static uint32_t invocations_sum(uint32_t cell)
{
    uint32_t total = 0;
    for (uint32_t id = 0; id < MANY; id++)
        total += id / 1021 % CELLS == cell ? id : 0;
    return total;
}

/* The loop of a row of cells: body(i) for i below ROW, with a sum. */
typedef struct row_loop {
    ir_ref state[2], loop;
} row_loop;

static row_loop row_begin(ir_func *f)
{
    row_loop r = {.state = {ir_u32(f, 0), ir_u32(f, 0)}};
    r.loop = ir_loop(f, r.state, 2);
    ir_while(f, ir_lt(f, r.state[0], ir_u32(f, ROW)));
    return r;
}

static void row_end(ir_func *f, const row_loop *r, ir_ref sum)
{
    ir_endloop(f, r->loop, (ir_ref[]){ir_add(f, r->state[0], ir_u32(f, 1)), sum}, 2);
}

/* As sampling tables are built: each invocation changes the words of its row in place, then reads them in
 * another loop, for their cumulative sums. */
static ir_ref own_stores(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    (void)a, (void)b, (void)c;
    ir_ref row = ir_mul(f, ir_global_id(f), ir_u32(f, CELLS)), sums = ir_add(f, row, ir_u32(f, ROW));
    row_loop r = row_begin(f);
    ir_ref at = ir_add(f, row, r.state[0]), square = ir_mul(f, r.state[0], r.state[0]);
    ir_store(f, OUTPUT, at, ir_add(f, ir_load(f, IR_U32, OUTPUT, at), ir_add(f, square, ir_u32(f, 1))));
    row_end(f, &r, r.state[1]);
    r = row_begin(f);
    ir_ref sum = ir_add(f, r.state[1], ir_load(f, IR_U32, OUTPUT, ir_add(f, row, r.state[0])));
    ir_store(f, OUTPUT, ir_add(f, sums, r.state[0]), sum);
    row_end(f, &r, sum);
    return (ir_ref){0};
}

static uint32_t own_stores_word(uint32_t cell)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; cell >= ROW && i <= cell - ROW; i++)
        sum += i * i + 1;
    return cell < ROW ? cell * cell + 1 : sum;
}

#define USUAL GPU_ROUNDING_UNKNOWN
#define OWN GPU_ROUNDING_OWN
#define FUSED GPU_ROUNDING_FUSED
static const check checks[] = {
    {"sums", "are rounded to the nearest", true, USUAL, REALS, sum, 0, NULL},
    {"products", "are rounded to the nearest", true, USUAL, REALS, product, 0, NULL},
    {"contraction", "does not happen: a b + c is rounded twice", true, USUAL, REALS, contraction, 0, NULL},
    {"comparisons", "are those of IEEE 754, of NaN too", true, USUAL, WORDS, comparisons, 0, NULL},
    {"infinities", "stay, and make NaN where they should", true, USUAL, REALS, infinities, 0, NULL},
    {"integers", "wrap, shift and divide as words of 32 bits", true, USUAL, WORDS, integers, 0, NULL},
    {"conversions", "truncate and round as they should", true, USUAL, WORDS, conversions, 0, NULL},
    {"functions", "of our own give the interpreter's bits", true, USUAL, WORDS, functions, 0, NULL},
    {"local arrays", "keep what is indexed by values", true, USUAL, WORDS, arrays, 0, NULL},
    {"atomics", "lose nothing, and carry into a second word", true, USUAL, WORDS, atomics, 0, NULL},
    {"invocations", "of large dispatches all come, once", true, USUAL, WORDS, invocations, MANY,
     invocations_sum},
    {"later loads", "see what their invocation has stored", true, USUAL, WORDS, own_stores, LOCAL_SIZE,
     own_stores_word},
    {"division", "is rounded to the nearest in kernels", true, USUAL, REALS, quotient, 0, NULL},
    {"square root", "is rounded to the nearest in kernels", true, USUAL, REALS, root, 0, NULL},
    {"own division", "of the device is, without a correction", false, OWN, REALS, quotient, 0, NULL},
    {"own root", "of the device is, without a correction", false, OWN, REALS, root, 0, NULL},
    {"Fma division", "is, where a multiply-add corrects it", false, FUSED, REALS, quotient, 0, NULL},
    {"Fma root", "is, where a multiply-add corrects it", false, FUSED, REALS, root, 0, NULL},
    {"own order", "of the device is such, without Volatile", false, OWN, WORDS, own_stores, LOCAL_SIZE,
     own_stores_word},
    {"signed zeros", "keep their sign", false, USUAL, WORDS, signed_zeros, 0, NULL},
    {"denormals", "are kept", false, USUAL, DENORMALS, denormal, 0, NULL},
};
enum { CHECK_COUNT = sizeof checks / sizeof *checks };

/* ---- running one ---- */

static bl_result make_trace(const check *c, ir_module **lowered, bl_error *err)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "input", true, -1);
    ir_buffer_add(m, "output", false, -1);
    ir_func *f = ir_func_create(m, "main");
    ir_ref lane = ir_and(f, ir_global_id(f), ir_u32(f, LANES - 1)), operands[3];
    for (uint32_t k = 0; k < 3; k++)
        operands[k] = ir_load(f, IR_U32, INPUT, ir_add(f, lane, ir_u32(f, k * LANES)));
    ir_ref value = c->value(f, operands[0], operands[1], operands[2]);
    if (!ir_is_none(value))
        ir_store(f, OUTPUT, lane, value);
    ir_return(f, NULL, 0);
    m->entry = f;
    bl_result r = ir_finish(m, err);
    if (r == BL_OK)
        r = opt_run(m, &(opt_options){.accumulate = OPT_ACCUMULATE_CAS}, lowered, err);
    ir_module_destroy(m);
    return r;
}

static void fill(uint32_t *input)
{
    static const uint32_t special[SPECIALS] = {0x00000000u, 0x80000000u, 0x3f800000u, 0xbf800000u,
                                               0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00800000u,
                                               0x7f7fffffu, 0x3f000000u, 0x40490fdbu, 0x4e6e6b28u,
                                               0xc0200000u, 0x3effffffu, 0xffffffffu, 0x01000001u};
    uint32_t state = 1;
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < LANES; i++) { /* the 4096 triples of special values, half of them changed */
            state = state * 747796405u + 2891336453u;
            uint32_t random = (state >> ((state >> 28) + 4) ^ state) * 277803737u;
            input[k * LANES + i] = i & 1 ? random ^ random >> 22 : special[i >> 4 * k & (SPECIALS - 1)];
        }
}

static bool is_nan(uint32_t a) { return (a & 0x7fffffffu) > 0x7f800000u; }
static bool is_denormal(uint32_t a) { return (a & 0x7fffffffu) && (a & 0x7fffffffu) < 0x00800000u; }

static bool agree(comparison how, uint32_t a, uint32_t b)
{
    if (a == b || (how != WORDS && is_nan(a) && is_nan(b)))
        return true;
    return how == REALS && (is_denormal(b) || is_denormal(a));
}

static void compare(const check *c, const uint32_t *input, const uint32_t *got, const uint32_t *expected,
                    bl_self_check *out)
{
    uint32_t count = c->lanes ? CELLS : LANES;
    out->compared = count;
    for (uint32_t i = 0; i < count; i++) {
        if (agree(c->how, got[i], expected[i]))
            continue;
        if (!out->different++)
            snprintf(out->found, sizeof out->found,
                     "word %u, of 0x%08x, 0x%08x, 0x%08x: 0x%08x instead of 0x%08x", i, input[i],
                     input[LANES + i], input[2 * LANES + i], got[i], expected[i]);
    }
    out->holds = out->different == 0;
}

static bl_result interpret(const check *c, const ir_module *lowered, uint32_t *input, uint32_t *output,
                           bl_error *err)
{
    ir_eval_buffer buffers[2] = {{.words = input, .count = 3 * LANES}, {.words = output, .count = LANES}};
    ir_eval_env env = {.buffers = buffers, .buffer_count = 2};
    for (env.global_id = 0; !c->lanes && env.global_id < LANES; env.global_id++)
        TRY(ir_eval(lowered->entry, NULL, NULL, &env, err));
    for (uint32_t cell = 0; c->lanes && cell < CELLS; cell++)
        output[cell] = c->expected(cell);
    return BL_OK;
}

typedef struct machine {
    gpu_device *device;
    gpu_buffer *buffers[2];
    gpu_kernel *kernel;
    gpu_batch *batch;
} machine;

static bl_result dispatch(machine *k, const ir_module *lowered, const check *c, bl_error *err)
{
    kernel_code code;
    code_options options = codegen_options(k->device);
    options.spirv.rounding = c->rounding == OWN     ? SPV_ROUNDING_OWN
                             : c->rounding == FUSED ? SPV_ROUNDING_FUSED
                                                    : options.spirv.rounding;
    options.spirv.volatile_memory &= c->rounding != OWN;
    TRY(codegen_words(lowered, &options, &code, err));
    const gpu_kernel_desc desc = {.words = code.words,
                                  .word_count = code.word_count,
                                  .buffer_count = 2,
                                  .push_words = code.push_words,
                                  .local_size = LOCAL_SIZE,
                                  .label = c->name};
    bl_result r = gpu_kernel_create(k->device, &desc, &k->kernel, err);
    memory_free(code.words);
    TRY(r);
    TRY(gpu_batch_create(k->device, &k->batch, err));
    TRY(gpu_batch_begin(k->batch, err));
    gpu_batch_dispatch(k->batch, k->kernel, k->buffers, (const uint32_t[32]){0}, c->lanes ? c->lanes : LANES);
    TRY(gpu_batch_submit(k->batch, err));
    return gpu_batch_wait(k->batch, NULL, err);
}

static bl_result run(machine *k, const ir_module *lowered, const check *c, const uint32_t *input,
                     uint32_t *output, bl_error *err)
{
    TRY(gpu_buffer_create(k->device, GPU_DEVICE, 12 * LANES, "input", &k->buffers[INPUT], err));
    TRY(gpu_buffer_create(k->device, GPU_DEVICE, 4 * LANES, "output", &k->buffers[OUTPUT], err));
    TRY(gpu_buffer_write(k->buffers[INPUT], 0, input, 12 * LANES, err));
    TRY(dispatch(k, lowered, c, err));
    return gpu_buffer_read(k->buffers[OUTPUT], 0, output, 4 * LANES, err);
}

static bl_result test(gpu_device *device, const check *c, bl_self_check *out, bl_error *err)
{
    ir_module *lowered = NULL;
    TRY(make_trace(c, &lowered, err));
    uint32_t *memory = memory_zeroed(5 * LANES, sizeof *memory);
    machine k = {.device = device};
    bl_result r = memory ? BL_OK : error_set(err, BL_ERROR_MEMORY, "out of memory");
    if (r == BL_OK) {
        uint32_t *input = memory, *expected = memory + 3 * LANES, *got = memory + 4 * LANES;
        fill(input);
        if ((r = interpret(c, lowered, input, expected, err)) == BL_OK &&
            (r = run(&k, lowered, c, input, got, err)) == BL_OK)
            compare(c, input, got, expected, out);
    }
    gpu_batch_destroy(k.batch);
    gpu_kernel_destroy(k.kernel);
    gpu_buffer_destroy(k.buffers[INPUT]);
    gpu_buffer_destroy(k.buffers[OUTPUT]);
    memory_free(memory);
    ir_module_destroy(lowered);
    return r;
}

bl_result bl_device_self_check(bl_device *device, uint32_t k, bl_self_check *out)
{
    bl_error err = {0};
    *out = (bl_self_check){0};
    if (k >= CHECK_COUNT)
        return BL_OK;
    out->name = checks[k].name, out->expectation = checks[k].holds, out->needed = checks[k].needed;
    return test(device->gpu, &checks[k], out, &err) == BL_OK ? BL_OK : context_fail(device->context, &err);
}

/* ---- what is chosen by it ---- */

/* Whether the device's quotients and roots are the nearest numbers when they are found so. */
static bl_result rounds(gpu_device *device, gpu_rounding rounding, bool *holds, bl_error *err)
{
    *holds = true;
    for (uint32_t k = 0; k < CHECK_COUNT && *holds; k++) {
        bl_self_check found = {0};
        if (checks[k].rounding != rounding || (checks[k].value != quotient && checks[k].value != root))
            continue;
        TRY(test(device, &checks[k], &found, err));
        *holds = found.holds;
    }
    return BL_OK;
}

/* Fma first: that it rounds once is a matter of hardware. Own quotients that are right here may be made
 * otherwise in another kernel. */
bl_result self_test_choose_rounding(gpu_device *device, bl_error *err)
{
    static const gpu_rounding order[] = {GPU_ROUNDING_FUSED, GPU_ROUNDING_OWN};
    bool holds = false;
    if (gpu_device_info(device)->rounds || !gpu_device_runs(device))
        return BL_OK;
    gpu_rounding chosen = GPU_ROUNDING_WORDS;
    for (int k = 0; k < 2 && !holds; k++) {
        TRY(rounds(device, order[k], &holds, err));
        chosen = holds ? order[k] : chosen;
    }
    gpu_device_set_rounding(device, chosen);
    return BL_OK;
}
