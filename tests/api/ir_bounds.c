/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * BL_DEBUG=bounds: every kind of access beyond its buffer is the error of the run, with the op, the buffer
 * and the index, and touches nothing; runs without one are as ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_ir.h>

#include "support/scene_device.h"

#include <stdlib.h>
#include <string.h>

enum {
    IN,
    OUT,
    SUM,
    BUFFERS,
    WORDS = 5 /* not a multiple of what buffers are rounded to */,
    BESIDE = WORDS + 1
};

static scene_device checked;

typedef enum access { LOAD, STORE, ATOMIC, ACCUM, LLOAD, LSTORE, ACCESS_COUNT } access;

/* Invocation i accesses element i + uniform of a buffer or local array of WORDS, and stores to OUT[0] what it
 * has read. */
static bl_ir *trace(access which)
{
    static const char *const names[BUFFERS] = {"in", "out", "sum"};
    bl_ir *ir = bl_ir_create();
    for (int b = 0; b < BUFFERS; b++)
        bl_ir_buffer(ir, names[b], b == IN);
    bl_ir_func *f = bl_ir_func_create(ir, "main");
    bl_ir_value at = bl_ir_add(f, bl_ir_global_id(f), bl_ir_uniform(f, BL_IR_U32, 0)), zero = bl_ir_u32(f, 0),
                value = bl_ir_u32(f, 7);
    bl_ir_value local = bl_ir_local(f, BL_IR_U32, WORDS);
    switch (which) {
    case LOAD:
        value = bl_ir_load(f, BL_IR_U32, IN, at);
        break;
    case STORE:
        bl_ir_store(f, SUM, at, value);
        break;
    case ATOMIC:
        value = bl_ir_atomic_add(f, SUM, at, value);
        break;
    case ACCUM:
        bl_ir_accum(f, SUM, at, bl_ir_f32(f, 1));
        break;
    case LLOAD:
        value = bl_ir_lload(f, local, at);
        break;
    case LSTORE:
        bl_ir_lstore(f, local, at, value), value = bl_ir_lload(f, local, zero);
        break;
    default:
        break;
    }
    bl_ir_store(f, OUT, zero, value);
    bl_ir_return(f, NULL, 0);
    bl_ir_entry(f);
    return ir;
}

static void an_access_out_of_range_is_the_error_of_the_run(void **state)
{
    static const char *const ops[ACCESS_COUNT] = {"load", "store", "atomic_add", "accum", "lload", "lstore"};
    static const char *const arrays[ACCESS_COUNT] = {
        "buffer \"in\" has 5 words",  "buffer \"sum\" has 5 words", "buffer \"sum\" has 5 words",
        "buffer \"sum\" has 5 words", "the array has 5 elements",   "the array has 5 elements"};
    (void)state;
    for (access which = 0; which < ACCESS_COUNT; which++) {
        bl_ir *ir = trace(which);
        bl_ir_kernel *kernel;
        bl_ir_array *arrays_of[BUFFERS];
        uint32_t first = BESIDE - 2, far = 1000000, sum[WORDS];
        for (int b = 0; b < BUFFERS; b++)
            SCENE_MUST(&checked, bl_ir_array_create(checked.device, WORDS, &arrays_of[b]));
        SCENE_MUST(&checked, bl_ir_kernel_create(checked.device, ir, &kernel));
        SCENE_MUST(&checked, bl_ir_kernel_run(kernel, arrays_of, BUFFERS, &first, 1, 1));
        bl_result r = bl_ir_kernel_run(kernel, arrays_of, BUFFERS, &first, 1, 2);
        const char *said = bl_context_error(checked.context);
        if (r != BL_ERROR_BOUNDS || !strstr(said, ops[which]) || !strstr(said, arrays[which]) ||
            !strstr(said, "index 5 out of range") ||
            !strstr(said, "kernel \"main\", invocation 1, function \"main\""))
            fail_msg("%s: %d, %s", ops[which], (int)r, said);
        assert_int_equal(bl_ir_kernel_run(kernel, arrays_of, BUFFERS, &far, 1, 70), BL_ERROR_BOUNDS);
        SCENE_MUST(&checked, bl_ir_kernel_run(kernel, arrays_of, BUFFERS, &first, 1, 1));
        SCENE_MUST(&checked, bl_ir_array_read(arrays_of[SUM], 0, sum, WORDS));
        assert_true(sum[0] == 0 && sum[3] == 0);
        assert_true((sum[4] != 0) == (which == STORE || which == ATOMIC || which == ACCUM));
        for (int b = 0; b < BUFFERS; b++)
            bl_ir_array_destroy(arrays_of[b]);
        bl_ir_kernel_destroy(kernel);
        bl_ir_destroy(ir);
    }
}

/* A load that is the same for all invocations: the native device does it before any of them, and reports it
 * as theirs. */
static void a_load_for_all_is_checked(void **state)
{
    (void)state;
    bl_ir *ir = bl_ir_create();
    bl_ir_buffer(ir, "in", true);
    bl_ir_buffer(ir, "out", false);
    bl_ir_func *f = bl_ir_func_create(ir, "main");
    bl_ir_store(f, OUT, bl_ir_global_id(f), bl_ir_load(f, BL_IR_U32, IN, bl_ir_uniform(f, BL_IR_U32, 0)));
    bl_ir_return(f, NULL, 0);
    bl_ir_entry(f);
    bl_ir_kernel *kernel;
    bl_ir_array *arrays[2];
    uint32_t last = WORDS - 1, in[WORDS] = {1, 2, 3, 4, 5}, out = 0;
    for (int b = 0; b < 2; b++)
        SCENE_MUST(&checked, bl_ir_array_create(checked.device, WORDS, &arrays[b]));
    SCENE_MUST(&checked, bl_ir_array_write(arrays[IN], 0, in, WORDS));
    SCENE_MUST(&checked, bl_ir_kernel_create(checked.device, ir, &kernel));
    SCENE_MUST(&checked, bl_ir_kernel_run(kernel, arrays, 2, &last, 1, WORDS));
    SCENE_MUST(&checked, bl_ir_array_read(arrays[OUT], WORDS - 1, &out, 1));
    assert_int_equal(out, in[WORDS - 1]);
    for (uint32_t far = WORDS; far != 0; far = far == WORDS ? 0x7fffffffu : far == 0x7fffffffu ? ~0u : 0) {
        assert_int_equal(bl_ir_kernel_run(kernel, arrays, 2, &far, 1, WORDS), BL_ERROR_BOUNDS);
        assert_non_null(strstr(bl_context_error(checked.context), "buffer \"in\" has 5 words"));
    }
    for (int b = 0; b < 2; b++)
        bl_ir_array_destroy(arrays[b]);
    bl_ir_kernel_destroy(kernel);
    bl_ir_destroy(ir);
}

static void another_wish_is_an_error(void **state)
{
    (void)state;
    bl_context *ctx;
    setenv("BL_DEBUG", "bound", 1);
    assert_int_equal(bl_context_create(NULL, &ctx), BL_ERROR_ARGUMENT);
    setenv("BL_DEBUG", "", 1);
    assert_int_equal(bl_context_create(NULL, &ctx), BL_OK);
    bl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_access_out_of_range_is_the_error_of_the_run),
        cmocka_unit_test(a_load_for_all_is_checked),
        cmocka_unit_test(another_wish_is_an_error),
    };
    setenv("BL_DEBUG", "bounds", 1);
    return SCENE_DEVICE_RUN(&checked, NULL, "ir bounds", tests);
}
