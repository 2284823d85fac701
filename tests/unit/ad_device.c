/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Derivatives as kernels: forward mode of random functions with loops, branches, calls, memory and arrays,
 * and forward over reverse of such without loops and arrays, lowered, validated and run on the device that
 * BL_DEVICE names. The interpreter runs the same lowered module on the same memory; all words must be equal,
 * but for the sign of zeros. (What the interpreter's derivatives are worth, ad_fuzz.c says.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ad/ad.h"
#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"
#include "support/random_smooth.h"
#include "support/random_trace.h"

#include <string.h>

enum { LANES = 64, SEEDS = 6, INPUT = SMOOTH_BUFFERS, OUTPUT, SCALE, STATUS, BUFFERS };
enum { IN = 2 * SMOOTH_PARAMS, OUT = SMOOTH_RESULTS + 2 * SMOOTH_PARAMS };

static device_run device;

static ir_module *lowered(ir_module *m)
{
    bl_error err = {0};
    ir_module *out = NULL;
    opt_options o = {
        .accumulate = OPT_ACCUMULATE_FIXED,
        .scale_buffer = SCALE,
        .status_buffer = STATUS,
        .overflow_word = 0,
        .underflow_word = 1,
    };
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK || opt_run(m, &o, &out, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return out;
}

/* A lane: its point and direction from INPUT; tangents of one function, Hessian-vector product of another, to
 * OUTPUT. */
static ir_module *kernel_of(uint64_t seed)
{
    const smooth_options all = {0}, branches = {.no_loops = true, .no_locals = true};
    ir_module *m = smooth_module(all);
    ir_buffer_add(m, "input", true, -1);
    ir_buffer_add(m, "output", false, -1);
    ir_buffer_add(m, "scale", true, -1);
    ir_buffer_add(m, "status", false, -1);
    ir_ref out[SMOOTH_RESULTS];
    ir_func *f = smooth_function(m, seed, all, out);
    ir_return(f, out, SMOOTH_RESULTS);
    ir_func *g = smooth_function(m, seed + 1000, branches, out);
    ir_return(g, out, SMOOTH_RESULTS);
    ir_func *jvp = ad_jvp(f), *vjp = ad_vjp(g);
    assert_non_null(vjp);
    ir_func *hvp = ad_jvp(vjp), *k = ir_func_create(m, "kernel");
    ir_ref id = ir_global_id(k), in[IN], args[2 * (SMOOTH_PARAMS + SMOOTH_RESULTS)],
           results[2 * SMOOTH_RESULTS + 2 * SMOOTH_PARAMS];
    ir_ref from = ir_mul(k, id, ir_u32(k, IN)), to = ir_mul(k, id, ir_u32(k, OUT));
    for (uint32_t i = 0; i < IN; i++)
        in[i] = ir_load(k, IR_F32, INPUT, ir_add(k, from, ir_u32(k, i)));
    ir_call(k, ir_u32(k, 0), &jvp, 1, in, IN, results);
    for (uint32_t i = 0; i < SMOOTH_RESULTS; i++)
        ir_store(k, OUTPUT, ir_add(k, to, ir_u32(k, i)), results[SMOOTH_RESULTS + i]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < SMOOTH_PARAMS; i++)
        args[count++] = in[i];
    for (uint32_t i = 0; i < SMOOTH_RESULTS; i++)
        args[count++] = ir_f32(k, 0.5f + (float)i);
    for (uint32_t i = 0; i < SMOOTH_PARAMS; i++)
        args[count++] = in[SMOOTH_PARAMS + i];
    for (uint32_t i = 0; i < SMOOTH_RESULTS; i++)
        args[count++] = ir_f32(k, 0);
    ir_call(k, ir_u32(k, 0), &hvp, 1, args, count, results);
    for (uint32_t i = 0; i < 2 * SMOOTH_PARAMS; i++)
        ir_store(k, OUTPUT, ir_add(k, to, ir_u32(k, SMOOTH_RESULTS + i)), results[i]);
    ir_return(k, NULL, 0);
    m->entry = k;
    return lowered(m);
}

static void put_reals(uint32_t *words, uint32_t count, uint64_t *state)
{
    for (uint32_t i = 0; i < count; i++) {
        float value = (float)(random_bits(state) >> 40) * 0x1p-23f - 1;
        memcpy(&words[i], &value, sizeof value);
    }
}

static run_memory memory_of(uint64_t seed)
{
    const uint32_t counts[BUFFERS] = {SMOOTH_WORDS, 2 * SMOOTH_WORDS, SMOOTH_WORDS, 2 * SMOOTH_WORDS,
                                      IN * LANES,   OUT * LANES,      SMOOTH_WORDS, 2};
    run_memory memory = run_memory_create(counts, BUFFERS);
    put_reals(memory.words[SMOOTH_VALUES], SMOOTH_WORDS, &seed);
    put_reals(memory.words[SMOOTH_TANGENTS], SMOOTH_WORDS, &seed);
    put_reals(memory.words[INPUT], IN * LANES, &seed);
    for (uint32_t i = 0; i < SMOOTH_WORDS; i++) {
        const float scale = 65536;
        memcpy(&memory.words[SCALE][i], &scale, sizeof scale);
    }
    return memory;
}

static void derivatives_run_on_the_device(void **state)
{
    uint32_t gradients = 0; /* words of their tangents that are not 0 */
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ir_module *m = kernel_of(seed);
        run_memory got = memory_of(seed), expected = run_memory_copy(&got);
        uint32_t computed = 0;
        device_run_kernel(&device, m, &got, LANES);
        interpret_kernel(m, &expected, LANES);
        for (uint32_t b = 0; b < BUFFERS; b++)
            for (uint32_t i = 0; i < got.counts[b]; i++)
                if (b == OUTPUT ? ulp_distance(got.words[b][i], expected.words[b][i]) > 0
                                : got.words[b][i] != expected.words[b][i])
                    fail_msg("seed %u, buffer %u, word %u: device 0x%08x, interpreter 0x%08x", (unsigned)seed,
                             b, i, got.words[b][i], expected.words[b][i]);
        for (uint32_t i = 0; i < 2 * SMOOTH_WORDS; i++)
            gradients += got.words[SMOOTH_GRADIENT_TANGENTS][i] != 0;
        for (uint32_t i = 0; i < OUT * LANES; i++)
            computed += got.words[OUTPUT][i] != 0;
        assert_true(computed > LANES);
        run_memory_free(&got);
        run_memory_free(&expected);
        ir_module_destroy(m);
    }
    assert_true(gradients > SEEDS);
}

int main(void)
{
    if (!device_run_open(&device))
        return device_run_missing();
    const struct CMUnitTest tests[] = {cmocka_unit_test(derivatives_run_on_the_device)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed)
        device_run_close(&device);
    return failed;
}
