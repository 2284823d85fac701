/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The public tracing API on a device: exactly the invocations asked for run, many of them accumulate into one
 * word, uniforms arrive, and memory holds the bits that the interpreter leaves; what does not fit a kernel is
 * an error with a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_ir.h>

#include <stdlib.h>
#include <string.h>

enum {
    IN,
    OUT,
    SUM,
    BUFFERS,
    N = 200,
    INVOCATIONS = 131 /* neither a multiple of a workgroup nor of four */
};

static bl_context *ctx;
static bl_device *device;

/* out[i] = i < uniform ? in[i] * 3 : -in[i]; sum[0] += 1/4 each */
static bl_ir *trace(void)
{
    bl_ir *ir = bl_ir_create();
    bl_ir_buffer(ir, "in", true);
    bl_ir_buffer(ir, "out", false);
    bl_ir_buffer(ir, "sum", false);
    bl_ir_func *f = bl_ir_func_create(ir, "main");
    bl_ir_value i = bl_ir_global_id(f), x = bl_ir_load(f, BL_IR_F32, IN, i);
    bl_ir_value branch = bl_ir_if(f, bl_ir_lt(f, i, bl_ir_uniform(f, BL_IR_U32, 0)));
    bl_ir_value tripled = bl_ir_mul(f, x, bl_ir_f32(f, 3));
    bl_ir_else(f);
    bl_ir_value negated = bl_ir_neg(f, x);
    bl_ir_endif(f);
    bl_ir_store(f, OUT, i, bl_ir_phi(f, branch, tripled, negated));
    bl_ir_accum(f, SUM, bl_ir_u32(f, 0), bl_ir_f32(f, 0.25f));
    bl_ir_return(f, NULL, 0);
    bl_ir_entry(f);
    return ir;
}

static void require(bl_result r)
{
    if (r != BL_OK)
        fail_msg("%s", bl_context_error(ctx));
}

static void device_and_interpreter_leave_the_same_memory(void **state)
{
    (void)state;
    float here[BUFFERS][N], there[BUFFERS][N];
    for (int i = 0; i < N; i++)
        here[IN][i] = 0.37f * (float)i - 11, here[OUT][i] = 99, here[SUM][i] = 0;
    bl_ir_array *arrays[BUFFERS];
    for (int b = 0; b < BUFFERS; b++) {
        require(bl_ir_array_create(device, N, &arrays[b]));
        require(bl_ir_array_write(arrays[b], 0, here[b], N));
    }
    bl_ir *ir = trace();
    bl_ir_kernel *kernel;
    uint32_t uniform = 77;
    require(bl_ir_kernel_create(device, ir, &kernel));
    require(bl_ir_kernel_run(kernel, arrays, BUFFERS, &uniform, 1, INVOCATIONS));
    bl_ir_memory memory[BUFFERS] = {{here[0], N}, {here[1], N}, {here[2], N}};
    assert_int_equal(bl_ir_interpret(ir, memory, BUFFERS, &uniform, 1, INVOCATIONS), BL_OK);
    for (int b = 0; b < BUFFERS; b++) {
        require(bl_ir_array_read(arrays[b], 0, there[b], N));
        assert_memory_equal(here[b], there[b], sizeof here[b]);
    }
    assert_true(there[OUT][76] == there[IN][76] * 3 && there[OUT][77] == -there[IN][77]);
    assert_true(there[OUT][INVOCATIONS - 1] != 99 && there[OUT][INVOCATIONS] == 99);
    assert_true(there[SUM][0] == 0.25f * INVOCATIONS);
    require(bl_ir_kernel_run(kernel, arrays, BUFFERS, &uniform, 1, 0)); /* nothing */

    assert_int_equal(bl_ir_kernel_run(kernel, arrays, 2, &uniform, 1, 1), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(ctx), "2 arrays"));
    assert_int_equal(bl_ir_kernel_run(kernel, arrays, BUFFERS, NULL, 0, 1), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(ctx), "0 uniform words"));
    assert_int_equal(bl_ir_array_read(arrays[0], N - 1, there[0], 2), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(ctx), "array of 200"));
    bl_ir_kernel_destroy(kernel);
    for (int b = 0; b < BUFFERS; b++)
        bl_ir_array_destroy(arrays[b]);
    bl_ir_destroy(ir);
}

static void a_bad_trace_does_not_become_a_kernel(void **state)
{
    (void)state;
    bl_ir *ir = bl_ir_create();
    bl_ir_func *f = bl_ir_func_create(ir, "main");
    bl_ir_kernel *kernel;
    bl_ir_add(f, bl_ir_u32(f, 1), bl_ir_f32(f, 1));
    assert_int_equal(bl_ir_kernel_create(device, ir, &kernel), BL_ERROR_COMPILE);
    assert_null(kernel);
    assert_string_equal(bl_context_error(ctx), bl_ir_error(ir));
    bl_ir_destroy(ir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_and_interpreter_leave_the_same_memory),
        cmocka_unit_test(a_bad_trace_does_not_become_a_kernel),
    };
    if (bl_context_create(NULL, &ctx) != BL_OK)
        return 77;
    if (bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK) {
        print_message("%s\n", bl_context_error(ctx));
        bl_context_destroy(ctx);
        return 77;
    }
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return status;
}
