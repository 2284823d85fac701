/* SPDX-License-Identifier: BSD-3-Clause
 * The tracing compiler underneath the renderer, for functions of your own. EXPERIMENTAL: may change in any
 * version.
 *
 *     bl_ir *ir = bl_ir_create();
 *     uint32_t x = bl_ir_buffer(ir, "x", true), y = bl_ir_buffer(ir, "y", false);
 *     bl_ir_func *f = bl_ir_func_create(ir, "square");
 *     bl_ir_value i = bl_ir_global_id(f), v = bl_ir_load(f, BL_IR_F32, x, i);
 *     bl_ir_store(f, y, i, bl_ir_mul(f, v, v));
 *     bl_ir_return(f, NULL, 0);
 *     bl_ir_entry(f);
 *     bl_ir_interpret(ir, memory, 2, NULL, 0, 100);      here and now, or
 *     bl_ir_kernel_create(device, ir, &kernel);          on a device:
 *     bl_ir_kernel_run(kernel, arrays, 2, NULL, 0, 100);
 *
 * Calling a builder records one operation; the C code around it is the macro language: its loops are
 * unrolled, its branches decided while tracing. Values are scalars. Control flow of the program itself is
 * bl_ir_if .. bl_ir_phi and bl_ir_loop .. bl_ir_endloop. Every operation, with its types and its derivative:
 * docs/ir.md.
 *
 * Builders do not return errors. The first mistake sticks to the trace, later builders do nothing and return
 * value 0, and whatever would use the trace returns BL_ERROR_COMPILE; bl_ir_error says which operation, in
 * which function, behind which instruction. A value belongs to the function that recorded it: elsewhere its
 * number is another value, or none.
 *
 * Memory is arrays of 32-bit words in numbered buffers. One trace belongs to one thread at a time. */
#ifndef BACKLIGHT_IR_H
#define BACKLIGHT_IR_H

#include <backlight/backlight.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bl_ir bl_ir;           /* a trace: buffers, functions, the first error */
typedef struct bl_ir_func bl_ir_func; /* a function of a trace; lives as long as it */
typedef struct bl_ir_value {
    uint32_t id; /* 0: none */
} bl_ir_value;

typedef enum bl_ir_type { BL_IR_BOOL = 1, BL_IR_I32, BL_IR_U32, BL_IR_F32 } bl_ir_type;

/* ---- traces ---- */

BL_API bl_ir *bl_ir_create(void); /* NULL: out of memory */
BL_API void bl_ir_destroy(bl_ir *ir);
/* The first mistake of the trace, else the text of the last call on it that failed; "" if none. Valid until
 * the next call. */
BL_API const char *bl_ir_error(const bl_ir *ir);
/* The trace as text: as recorded, or as it goes to code generation. *out: free() it. */
BL_API bl_result bl_ir_text(bl_ir *ir, bool optimised, char **out);

/* ---- buffers: numbered from 0 in order of declaration ---- */

/* constant: never written by this trace, so that reads of it merge. Returns the number. */
BL_API uint32_t bl_ir_buffer(bl_ir *ir, const char *name, bool constant);
/* `gradient` receives, added up, the derivatives by words of `buffer` that bl_ir_dload reads (reverse
 * mode). */
BL_API void bl_ir_buffer_gradient(bl_ir *ir, uint32_t buffer, uint32_t gradient);
/* `tangent` holds the tangents of the words of `buffer` (forward mode). */
BL_API void bl_ir_buffer_tangent(bl_ir *ir, uint32_t buffer, uint32_t tangent);

/* ---- functions ---- */

BL_API bl_ir_func *bl_ir_func_create(bl_ir *ir, const char *name);
BL_API bl_ir_value bl_ir_param(bl_ir_func *f, bl_ir_type type);
BL_API void bl_ir_return(bl_ir_func *f, const bl_ir_value *values, uint32_t count); /* ends f */
/* f, which has neither parameters nor results, is what runs: once per invocation. */
BL_API void bl_ir_entry(bl_ir_func *f);

/* ---- values ---- */

BL_API bl_ir_value bl_ir_f32(bl_ir_func *f, float value);
BL_API bl_ir_value bl_ir_u32(bl_ir_func *f, uint32_t value);
BL_API bl_ir_value bl_ir_i32(bl_ir_func *f, int32_t value);
BL_API bl_ir_value bl_ir_bool(bl_ir_func *f, bool value);
BL_API bl_ir_value bl_ir_global_id(bl_ir_func *f); /* u32: number of the invocation, from 0 */
/* Word `word` of those given to each run, as i32, u32 or f32: what changes from run to run without compiling
 * anew. */
BL_API bl_ir_value bl_ir_uniform(bl_ir_func *f, bl_ir_type type, uint32_t word);
enum { BL_IR_UNIFORMS = 31 }; /* words there are at most */

/* bl_ir_add(f, a, b) and so on. div, mod by zero and conversions out of range are the device's choice for
 * integers. detach: a constant of every derivative. replace_grad(a, b): the value of a with the derivative of
 * b. element(a, b): a + b, or ~0 where a is ~0: a gradient_index of bl_ir_dload that may be none. */
// clang-format off
#define BL_IR_UNARY(X) \
    X(neg) X(abs) X(floor) X(sqrt) X(sin) X(cos) X(exp) X(log) X(acos) X(not) \
    X(to_i32) X(to_u32) X(to_f32) X(bits_to_u32) X(bits_to_f32) X(detach)
#define BL_IR_BINARY(X) \
    X(add) X(sub) X(mul) X(div) X(mod) X(min) X(max) X(pow) X(atan2) \
    X(eq) X(ne) X(lt) X(le) X(and) X(or) X(xor) X(shl) X(shr) X(replace_grad) X(element)
// clang-format on
#define BL_IR_TERNARY(X) X(select)
#define BL_IR_DECLARE_1(name) BL_API bl_ir_value bl_ir_##name(bl_ir_func *f, bl_ir_value a);
#define BL_IR_DECLARE_2(name) BL_API bl_ir_value bl_ir_##name(bl_ir_func *f, bl_ir_value a, bl_ir_value b);
#define BL_IR_DECLARE_3(name)                                                                                \
    BL_API bl_ir_value bl_ir_##name(bl_ir_func *f, bl_ir_value a, bl_ir_value b, bl_ir_value c);
BL_IR_UNARY(BL_IR_DECLARE_1)
BL_IR_BINARY(BL_IR_DECLARE_2)
BL_IR_TERNARY(BL_IR_DECLARE_3)
#undef BL_IR_DECLARE_1
#undef BL_IR_DECLARE_2
#undef BL_IR_DECLARE_3

/* ---- control flow ---- */

/* bl_ir_if, code, bl_ir_else (always), code, bl_ir_endif, then at once one bl_ir_phi per result: its value of
 * the branch taken. */
BL_API bl_ir_value bl_ir_if(bl_ir_func *f, bl_ir_value condition);
BL_API void bl_ir_else(bl_ir_func *f);
BL_API void bl_ir_endif(bl_ir_func *f);
BL_API bl_ir_value bl_ir_phi(bl_ir_func *f, bl_ir_value if_op, bl_ir_value then_value,
                             bl_ir_value else_value);
/* bl_ir_loop turns the initial values in state[] into the loop's states; then code, bl_ir_while(condition to
 * go on), the body, and bl_ir_endloop with the states' next values, as many. Afterwards the states are the
 * final values. */
BL_API bl_ir_value bl_ir_loop(bl_ir_func *f, bl_ir_value *state, uint32_t count);
BL_API void bl_ir_while(bl_ir_func *f, bl_ir_value condition);
BL_API void bl_ir_endloop(bl_ir_func *f, bl_ir_value loop, const bl_ir_value *next, uint32_t count);
/* Calls targets[selector] (u32; out of range is undefined). targets: ended functions of the same trace with
 * equal signatures. results: as many as these have. */
BL_API void bl_ir_call(bl_ir_func *f, bl_ir_value selector, bl_ir_func *const *targets, uint32_t target_count,
                       const bl_ir_value *args, uint32_t arg_count, bl_ir_value *results);

/* ---- memory: indices are u32 and count words; accesses out of range are undefined on a device, but the
 * interpreter reports them, and so does a device with BL_DEBUG=bounds in the environment: BL_ERROR_BOUNDS
 * ---- */

BL_API bl_ir_value bl_ir_load(bl_ir_func *f, bl_ir_type type, uint32_t buffer,
                              bl_ir_value index); /* i32, u32, f32 */
/* A f32 that can be differentiated by: its derivative is added to word gradient_index of the buffer's
 * gradient. */
BL_API bl_ir_value bl_ir_dload(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value gradient_index);
BL_API void bl_ir_store(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value value);
BL_API bl_ir_value bl_ir_atomic_add(bl_ir_func *f, uint32_t buffer, bl_ir_value index,
                                    bl_ir_value value); /* u32; the old content */
/* Adds a f32, atomically, in no particular order. */
BL_API void bl_ir_accum(bl_ir_func *f, uint32_t buffer, bl_ir_value index, bl_ir_value value);
/* An array of this invocation's own; undefined until written. */
BL_API bl_ir_value bl_ir_local(bl_ir_func *f, bl_ir_type type, uint32_t count);
BL_API bl_ir_value bl_ir_lload(bl_ir_func *f, bl_ir_value local, bl_ir_value index);
BL_API void bl_ir_lstore(bl_ir_func *f, bl_ir_value local, bl_ir_value index, bl_ir_value value);

/* ---- differentiation: emits code at the current place of f ---- */

/* Reverse mode: carries seeds[i] = dL/d(outputs[i]) back to every bl_ir_dload that they depend on (added to
 * the buffers' gradients) and to wrt[j], whose dL/d(wrt[j]) is wrt_adjoints[j]. All f32. Through branches,
 * calls, and loops that only add to their states; anything else is an error that says what to do. */
BL_API void bl_ir_backward(bl_ir_func *f, const bl_ir_value *outputs, const bl_ir_value *seeds,
                           uint32_t count, const bl_ir_value *wrt, bl_ir_value *wrt_adjoints,
                           uint32_t wrt_count);
/* Forward mode: output_tangents[i] is the derivative of outputs[i] along wrt_tangents of wrt and along the
 * tangents of what bl_ir_dload reads. All f32. */
BL_API void bl_ir_forward(bl_ir_func *f, const bl_ir_value *wrt, const bl_ir_value *wrt_tangents,
                          uint32_t wrt_count, const bl_ir_value *outputs, bl_ir_value *output_tangents,
                          uint32_t count);
/* Replaces what the derivatives of f do when it is called; both as functions of the same trace, ended, or
 * NULL for "as the body says".
 *   jvp: f's parameters, then a f32 tangent per f32 parameter -> a f32 tangent per f32 result
 *   vjp: f's parameters, then a f32 adjoint per f32 result -> a f32 adjoint per f32 parameter
 * To be said before a caller of f is differentiated. */
BL_API void bl_ir_custom(bl_ir_func *f, bl_ir_func *jvp, bl_ir_func *vjp);

/* ---- running ---- */

typedef struct bl_ir_memory {
    void *words; /* of the caller */
    uint64_t count;
} bl_ir_memory;

/* Runs the trace as recorded, invocations 0 .. invocations - 1 one after the other. memory[i] is buffer i. An
 * access out of range is BL_ERROR_ARGUMENT with the operation in bl_ir_error; what was written before
 * stays. */
BL_API bl_result bl_ir_interpret(bl_ir *ir, const bl_ir_memory *memory, uint32_t buffer_count,
                                 const uint32_t *uniforms, uint32_t uniform_count, uint32_t invocations);

/* Memory of a device, zeroed. Failures from here on: bl_context_error of the device's context. Destroy before
 * the device. */
typedef struct bl_ir_array bl_ir_array;
BL_API bl_result bl_ir_array_create(bl_device *device, uint64_t words, bl_ir_array **out);
BL_API void bl_ir_array_destroy(bl_ir_array *array);
BL_API bl_result bl_ir_array_write(bl_ir_array *array, uint64_t first, const void *words, uint64_t count);
BL_API bl_result bl_ir_array_read(bl_ir_array *array, uint64_t first, void *words, uint64_t count);

typedef struct bl_ir_kernel bl_ir_kernel;
/* Optimises and compiles; the trace stays as it is and is not needed any more. */
BL_API bl_result bl_ir_kernel_create(bl_device *device, const bl_ir *ir, bl_ir_kernel **out);
BL_API void bl_ir_kernel_destroy(bl_ir_kernel *kernel);
/* arrays[i] is buffer i. Exactly `invocations` run, in any order; returns when they are done. */
BL_API bl_result bl_ir_kernel_run(bl_ir_kernel *kernel, bl_ir_array *const *arrays, uint32_t array_count,
                                  const uint32_t *uniforms, uint32_t uniform_count, uint32_t invocations);

#ifdef __cplusplus
}
#endif
#endif
