/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Sums of the native device: threads that add to arrays of their own leave the bits of an interpreter that
 * adds to the buffer, dispatch after dispatch, and see what leaves the range when it is added up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/device_run.h"

#include "spirv_gen/opt/opt.h"

#include <stdio.h>
#include <stdlib.h>

enum { SUMS, SCALES, STATUS, BUFFERS, OVERFLOWS = 0, UNDERFLOWS = 1, LANES = 1 << 12, THREADS = 3 };

static device_run device;

static ir_ref hash(ir_func *f, ir_ref x)
{
    x = ir_mul(f, ir_xor(f, x, ir_shr(f, x, ir_u32(f, 15))), ir_u32(f, 0x2C1B3C6D));
    return ir_xor(f, x, ir_shr(f, x, ir_u32(f, 12)));
}

/* Every invocation adds to some of the elements: numbers of both signs and many sizes, or always `value`. */
static ir_module *make_kernel(uint32_t elements, float value)
{
    ir_module *m = ir_module_create(), *lowered;
    bl_error err;
    ir_buffer_add(m, "sums", false, -1);
    ir_buffer_add(m, "scales", true, -1);
    ir_buffer_add(m, "status", false, -1);
    ir_func *f = m->entry = ir_func_create(m, "main");
    ir_ref seed = hash(f, ir_add(f, ir_global_id(f), ir_u32(f, 12345)));
    for (uint32_t k = 0; k < 4; k++) {
        seed = hash(f, ir_add(f, seed, ir_u32(f, k)));
        ir_ref size = ir_shr(f, seed, ir_and(f, seed, ir_u32(f, 31))),
               real = ir_sub(f, ir_to_f32(f, size), ir_f32(f, 20000));
        ir_if(f, ir_ne(f, ir_and(f, seed, ir_u32(f, 3)), ir_u32(f, 0)));
        ir_ref which = hash(f, seed), count = ir_u32(f, elements);
        which = ir_sub(f, which, ir_mul(f, ir_div(f, which, count), count));
        ir_accum(f, SUMS, which, value != 0 ? ir_f32(f, value) : real);
        ir_else(f);
        ir_endif(f);
    }
    ir_return(f, NULL, 0);
    const opt_options options = {
        .accumulate = OPT_ACCUMULATE_FIXED,
        .scale_buffer = SCALES,
        .status_buffer = STATUS,
        .overflow_word = OVERFLOWS,
        .underflow_word = UNDERFLOWS,
    };
    if (ir_finish(m, &err) != BL_OK || opt_run(m, &options, &lowered, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return lowered;
}

static run_memory make_memory(uint32_t elements)
{
    run_memory memory = run_memory_create((const uint32_t[]){2 * elements, elements, 2}, BUFFERS);
    for (uint32_t i = 0; i < elements; i++)
        memory.words[SCALES][i] = 0x43800000; /* 256 */
    return memory;
}

/* The kernel twice, one upon the other. */
static void compare(uint32_t elements)
{
    ir_module *m = make_kernel(elements, 0);
    run_memory memory = make_memory(elements), expected = run_memory_copy(&memory);
    for (int turn = 0; turn < 2; turn++) {
        device_run_kernel(&device, m, &memory, LANES);
        interpret_kernel(m, &expected, LANES);
        for (uint32_t i = 0; i < 2 * elements; i++)
            if (memory.words[SUMS][i] != expected.words[SUMS][i])
                fail_msg("%u elements, dispatch %d, word %u: native 0x%08x, interpreter 0x%08x", elements,
                         turn, i, memory.words[SUMS][i], expected.words[SUMS][i]);
    }
    assert_int_equal(memory.words[STATUS][OVERFLOWS], 0);
    assert_int_equal(memory.words[STATUS][UNDERFLOWS], expected.words[STATUS][UNDERFLOWS]);
    run_memory_free(&memory);
    run_memory_free(&expected);
    ir_module_destroy(m);
}

static void one_element(void **state)
{
    (void)state;
    compare(1);
}

static void some_elements(void **state)
{
    (void)state;
    compare(777);
}

static void elements_of_several_blocks(void **state)
{
    (void)state;
    compare(100000);
}

static void too_many_for_arrays_of_their_own(void **state)
{
    (void)state;
    compare(300000);
}

/* No thread's own sum leaves the range, or the last one's does; all together do. */
static void what_leaves_the_range_together_is_counted(void **state)
{
    (void)state;
    ir_module *m = make_kernel(1, 0x1p43f);
    run_memory memory = make_memory(1);
    memory.words[SUMS][1] = (1u << 30) - 1; /* the next carry but a few leaves it */
    device_run_kernel(&device, m, &memory, 64);
    assert_int_not_equal(memory.words[STATUS][OVERFLOWS], 0);
    run_memory_free(&memory);
    ir_module_destroy(m);
}

/* A kernel that also reads them gets the buffer itself. */
static void sums_that_are_read_are_no_sums(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    bl_error err;
    ir_buffer_add(m, "sums", false, -1);
    ir_func *f = m->entry = ir_func_create(m, "main");
    ir_store(f, SUMS, ir_add(f, ir_global_id(f), ir_u32(f, 2)), ir_u32(f, 5));
    ir_atomic_add(f, SUMS, ir_u32(f, 0), ir_u32(f, 1));
    ir_return(f, NULL, 0);
    if (ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    run_memory memory = run_memory_create((const uint32_t[]){LANES + 2}, 1);
    device_run_kernel(&device, m, &memory, LANES);
    assert_int_equal(memory.words[0][0], LANES);
    for (uint32_t i = 0; i < LANES; i++)
        assert_int_equal(memory.words[0][2 + i], 5);
    run_memory_free(&memory);
    ir_module_destroy(m);
}

int main(void)
{
    char threads[8];
    snprintf(threads, sizeof threads, "%d", THREADS);
    setenv("BL_THREADS", threads, 1);
    if (!device_run_open(&device))
        return device_run_missing();
    device.native = (x86_options){.sums = SUMS + 1, .status_buffer = STATUS, .overflow_word = OVERFLOWS};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element),
        cmocka_unit_test(some_elements),
        cmocka_unit_test(elements_of_several_blocks),
        cmocka_unit_test(too_many_for_arrays_of_their_own),
        cmocka_unit_test(what_leaves_the_range_together_is_counted),
        cmocka_unit_test(sums_that_are_read_are_no_sums),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_run_close(&device);
    return failed;
}
