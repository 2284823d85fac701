/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The back ends against the interpreter, on the device that BL_DEVICE names: the same lowered module
 * runs in both on the same memory, and the memory must then be equal, bit for bit: control flow, calls, local
 * arrays, atomics, uniforms. spv_device_ops.c has every op, spv_device_traces.c random traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "support/device_run.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

static device_run device; /* one for all tests of this program */

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
    run_memory_compare(what, &memory, &expected);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
    parks = opt_park_to(m, &(opt_goal){32, 0, 0}, 1, 1);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
    finish_kernel(m, f);
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
        finish_kernel(m, f);
        ir_module_destroy(m);
        print_message("the device has no float atomics\n");
        return;
    }
    memory = run_atomics(m, f);
    for (uint32_t k = 0; k < COUNTERS; k++)
        assert_int_equal(memory.words[0][k], 0x45400000u);
    run_memory_free(&memory);
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
    };
    int failed;
    if (!device_run_open(&device))
        return device_run_missing();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_run_close(&device);
    return failed;
}
