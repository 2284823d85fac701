/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Corrected quotients and roots (spirv_gen/spv/rounded.c) on a device, bit by bit. Where Fma rounds once, and
 * by integers on every device, they are the nearest numbers. Both CPU drivers divide exactly, and round Fma
 * twice: there the bits are those of the same steps in C with such an Fma, so that no step can be wrong
 * unseen. Devices that are off are in tests/sloppy_devices.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"
#include "support/random_trace.h"
#include "support/rounded.h"

#include <math.h>

enum { LANES = 1 << 14 };
enum { A, B, QUOTIENT, ROOT, BUFFERS };

static device_run device;

static ir_module *make_module(void)
{
    static const char *const names[BUFFERS] = {"a", "b", "quotient", "root"};
    ir_module *m = ir_module_create();
    bl_error err = {0};
    for (uint32_t k = 0; k < BUFFERS; k++)
        ir_buffer_add(m, names[k], k < QUOTIENT, -1);
    ir_func *f = ir_func_create(m, "main");
    ir_ref id = ir_global_id(f), a = ir_load(f, IR_F32, A, id), b = ir_load(f, IR_F32, B, id);
    ir_store(f, QUOTIENT, id, ir_div(f, a, b));
    ir_store(f, ROOT, id, ir_sqrt(f, ir_abs(f, a)));
    ir_return(f, NULL, 0);
    m->entry = f;
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    return m;
}

/* Of sizes at which nothing is left to the device. */
static uint32_t operand(uint64_t *seed)
{
    uint32_t word = (uint32_t)random_bits(seed);
    return (word & 0x807fffffu) | (107u + random_below(seed, 41)) << 23;
}

static run_memory run(ir_module *m, spv_rounding rounding)
{
    const uint32_t counts[BUFFERS] = {LANES, LANES, LANES, LANES};
    run_memory memory = run_memory_create(counts, BUFFERS);
    uint64_t seed = 7;
    for (uint32_t i = 0; i < LANES; i++)
        memory.words[A][i] = operand(&seed), memory.words[B][i] = operand(&seed);
    device.rounding = rounding;
    device_run_kernel(&device, m, &memory, LANES);
    device.rounding = SPV_ROUNDING_OWN;
    return memory;
}

static float rounded_twice(float a, float b, float c)
{
    volatile float product = a * b; /* no compiler contracts it */
    return product + c;
}

static bool fma_rounds_twice(void)
{
    gpu_kind kind = gpu_device_info(device.device)->kind;
    return kind == GPU_LAVAPIPE || kind == GPU_SWIFTSHADER;
}

static void check(ir_module *m, spv_rounding rounding, bool twice)
{
    run_memory memory = run(m, rounding);
    uint32_t own = 0; /* quotients that would be others without corrections */
    for (uint32_t i = 0; i < LANES; i++) {
        float a = ir_bits_float(memory.words[A][i]), b = ir_bits_float(memory.words[B][i]), x = fabsf(a);
        float reciprocal = 1 / sqrtf(x);
        float quotient = twice ? rounded_div(a, b, 1 / b, rounded_twice) : a / b;
        float root = twice ? rounded_sqrt(x, x * reciprocal, reciprocal, rounded_twice) : sqrtf(x);
        own += quotient != a / b;
        if (memory.words[QUOTIENT][i] != ir_float_bits(quotient))
            fail_msg("%a / %a: %a instead of %a", (double)a, (double)b,
                     (double)ir_bits_float(memory.words[QUOTIENT][i]), (double)quotient);
        if (memory.words[ROOT][i] != ir_float_bits(root))
            fail_msg("the root of %a: %a instead of %a", (double)x,
                     (double)ir_bits_float(memory.words[ROOT][i]), (double)root);
    }
    assert_true(!twice || own > 0);
    run_memory_free(&memory);
}

static void every_step_is_right(void **state)
{
    (void)state;
    ir_module *m = make_module();
    check(m, SPV_ROUNDING_FUSED, fma_rounds_twice());
    check(m, SPV_ROUNDING_WORDS, false);
    ir_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step_is_right)};
    if (!device_run_open(&device))
        return device_run_missing();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed)
        device_run_close(&device);
    return failed;
}
