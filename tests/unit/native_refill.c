/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Lanes that take further invocations (spirv_gen/x86/refill.c), against the interpreter, bit for bit.
 *
 * The kernel has everything that a refill must keep for the lanes that go on: values from before the loop
 * (reals, integers, bools), states that lanes read behind the loop, states that change places, a local array,
 * the index of the invocation. Code before and behind the loop branches, loops and stores. Invocations take 0
 * to some 400 trips, most of them few, so lanes are refilled at all times. In the second form functions are
 * called by kind, so the kernel chooses while it runs whether to refill at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"

static device_run device; /* one for all tests of this program */

enum { LANES = 8192, WORDS = 8, ROUNDS = 60, ELEMENTS = 4, STATES = 5 };

static ir_ref hash(ir_func *f, ir_ref x)
{
    x = ir_mul(f, ir_xor(f, x, ir_shr(f, x, ir_u32(f, 16))), ir_u32(f, 0x7FEB352D));
    return ir_xor(f, x, ir_shr(f, x, ir_u32(f, 15)));
}

static ir_ref to_real(ir_func *f, ir_ref x) { return ir_to_f32(f, ir_and(f, x, ir_u32(f, 0xFFFF))); }

static void put(ir_func *f, uint32_t k, ir_ref value)
{
    ir_store(f, 0, ir_add(f, ir_mul(f, ir_global_id(f), ir_u32(f, WORDS)), ir_u32(f, k)), value);
}

/* A function of one integer. */
static ir_func *mixer(ir_module *m, const char *name, uint32_t by)
{
    ir_func *f = ir_func_create(m, name);
    ir_ref x = ir_param(f, IR_U32);
    ir_return(f, (ir_ref[]){ir_add(f, ir_mul(f, x, ir_u32(f, by)), ir_u32(f, by >> 3))}, 1);
    return f;
}

/* The trips of an invocation: the eighth power of a number below 1 is small, most of the time. */
static ir_ref trips(ir_func *f, ir_ref seed)
{
    ir_ref u = ir_div(f, to_real(f, seed), ir_f32(f, 65536));
    for (int k = 0; k < 3; k++)
        u = ir_mul(f, u, u);
    return ir_to_u32(f, ir_mul(f, u, ir_f32(f, 400)));
}

/* Before the loop: a loop of its own and a store in a branch. */
static ir_ref before(ir_func *f, ir_ref seed)
{
    ir_ref s[2] = {seed, ir_and(f, seed, ir_u32(f, 3))};
    ir_ref loop = ir_loop(f, s, 2);
    ir_while(f, ir_ne(f, s[1], ir_u32(f, 0)));
    ir_endloop(f, loop, (ir_ref[]){hash(f, s[0]), ir_sub(f, s[1], ir_u32(f, 1))}, 2);
    ir_if(f, ir_ne(f, ir_and(f, s[0], ir_u32(f, 1)), ir_u32(f, 0)));
    put(f, 0, s[0]);
    ir_else(f);
    ir_endif(f);
    return s[0];
}

static ir_module *make_kernel(bool calls)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "output", false, -1);
    ir_func *targets[2] = {calls ? mixer(m, "odd", 0x9E3779B1) : NULL, calls ? mixer(m, "even", 77) : NULL};
    ir_func *f = m->entry = ir_func_create(m, "main");
    ir_ref seed = before(f, hash(f, ir_add(f, ir_global_id(f), ir_u32(f, 12345))));
    ir_ref real = to_real(f, seed), flag = ir_lt(f, real, ir_f32(f, 30000)), last = trips(f, hash(f, seed));
    ir_ref local = ir_local(f, IR_U32, ELEMENTS);
    for (uint32_t k = 0; k < ELEMENTS; k++)
        ir_lstore(f, local, ir_u32(f, k), ir_add(f, seed, ir_u32(f, k)));
    ir_ref s[STATES] = {ir_u32(f, 0), seed, hash(f, seed), real, flag};
    ir_ref loop = ir_loop(f, s, STATES);
    ir_while(f, ir_lt(f, s[0], last));
    ir_ref x = ir_add(f, s[1], ir_mul(f, s[0], seed)), at = ir_and(f, x, ir_u32(f, ELEMENTS - 1)), got, mixed;
    for (uint32_t k = 0; k < ROUNDS; k++)
        x = ir_add(f, hash(f, x), ir_u32(f, k));
    if (calls)
        ir_call(f, ir_and(f, x, ir_u32(f, 1)), targets, 2, &x, 1, &mixed), x = mixed;
    ir_lstore(f, local, at, ir_xor(f, ir_lload(f, local, at), x));
    got = ir_lload(f, local, ir_and(f, s[2], ir_u32(f, ELEMENTS - 1)));
    ir_endloop(f, loop,
               (ir_ref[]){ir_add(f, s[0], ir_u32(f, 1)), s[2], ir_xor(f, got, s[1]),
                          ir_add(f, s[3], ir_select(f, flag, real, to_real(f, x))),
                          ir_ne(f, s[4], ir_lt(f, to_real(f, x), real))},
               STATES);
    for (uint32_t k = 0; k < 3; k++)
        put(f, 1 + k, s[k]);
    put(f, 4, ir_bits_to_u32(f, s[3]));
    ir_if(f, s[4]);
    put(f, 5, ir_lload(f, local, ir_and(f, seed, ir_u32(f, ELEMENTS - 1))));
    ir_else(f);
    put(f, 6, ir_select(f, flag, last, seed));
    ir_endif(f);
    ir_atomic_add(f, 0, ir_u32(f, 7), s[0]); /* word 7 of invocation 0 */
    ir_return(f, NULL, 0);
    return m;
}

static bool refills(const ir_module *m)
{
    const x86_options options = {.target = X86_AVX2};
    x86_code code;
    bl_error err;
    if (x86_generate(m, &options, &code, &err) != BL_OK)
        fail_msg("%s", err.text);
    bool flag = ((const x86_header *)(const void *)code.words)->refills;
    x86_code_free(&code);
    return flag;
}

static void compare(bool calls)
{
    ir_module *m = make_kernel(calls);
    bl_error err;
    if (ir_finish(m, &err) != BL_OK || ir_verify(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_true(refills(m));
    run_memory memory = run_memory_create((const uint32_t[]){LANES * WORDS}, 1);
    run_memory expected = run_memory_copy(&memory);
    device_run_kernel(&device, m, &memory, LANES);
    interpret_kernel(m, &expected, LANES);
    for (uint32_t i = 0; i < LANES * WORDS; i++)
        if (memory.words[0][i] != expected.words[0][i])
            fail_msg("invocation %u, word %u: native 0x%08x, interpreter 0x%08x", i / WORDS, i % WORDS,
                     memory.words[0][i], expected.words[0][i]);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
}

static void lanes_that_are_refilled_compute_the_same(void **state)
{
    (void)state;
    compare(false);
}

static void lanes_that_wait_first_compute_the_same(void **state)
{
    (void)state;
    compare(true);
}

int main(void)
{
    if (!device_run_open(&device))
        return device_run_missing();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_that_are_refilled_compute_the_same),
        cmocka_unit_test(lanes_that_wait_first_compute_the_same),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_run_close(&device);
    return failed;
}
