/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What spv_generate writes, looked at without a device: everything passes SPIRV-Tools' validator, equal
 * modules give equal words, nothing is declared twice, capabilities come with their need, and what was not
 * lowered is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"
#include "spirv_gen/spv/module.h"
#include "support/device_run.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

static ir_module *kernel_module(ir_func **f)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "input", true, -1);
    ir_buffer_add(m, "output", false, -1);
    *f = ir_func_create(m, "main");
    return m;
}

static void end_kernel(ir_module *m, ir_func *f)
{
    bl_error err = {0};
    ir_return(f, NULL, 0);
    m->entry = f;
    if (ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
}

/* How many instructions of an opcode with this first operand (ANY: whatever it is). */
enum { ANY = ~0u };
static uint32_t count_op(const spv_code *code, SpvOp op, uint32_t first)
{
    uint32_t found = 0;
    for (size_t i = 5; i < code->word_count; i += code->words[i] >> SpvWordCountShift)
        found +=
            (code->words[i] & SpvOpCodeMask) == (uint32_t)op && (first == ANY || code->words[i + 1] == first);
    return found;
}

/* ---- every row of ops.def, for every type it has ---- */

static ir_ref operand(ir_func *f, ir_type type, uint32_t word)
{
    ir_ref index = ir_add(f, ir_global_id(f), ir_u32(f, word));
    if (type == IR_BOOL)
        return ir_ne(f, ir_load(f, IR_U32, 0, index), ir_u32(f, 0));
    return ir_load(f, type, 0, index);
}

static ir_module *op_module(ir_op op, ir_type type)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    const ir_op_info *info = &ir_op_table[op];
    ir_ref a = operand(f, op == IR_SELECT ? IR_BOOL : type, 0), b = {0}, c = {0}, result;
    if (info->arity > 1)
        b = operand(f, info->rule == IR_RULE_SHIFT ? IR_U32 : type, 1);
    if (info->arity > 2)
        c = operand(f, type, 2);
    result = ir_value_op(f, op, a, b, c);
    ir_store(f, 1, ir_global_id(f), ir_type_of(f, result) == IR_BOOL ? ir_to_u32(f, result) : result);
    end_kernel(m, f);
    return m;
}

static void every_row_is_valid(void **state)
{
    uint32_t kernels = 0;
    (void)state;
    for (int op = 1; op < IR_OP_COUNT; op++) {
        for (int type = IR_BOOL; ir_op_table[op].arity && type < IR_TYPE_COUNT; type++) {
            ir_module *m, *lowered;
            spv_code code;
            if (spv_opcode_of((ir_op)op, (ir_type)type).form == SPV_FORM_NONE)
                continue;
            m = op_module((ir_op)op, (ir_type)type);
            lowered = opt_math(m);
            code = checked_spirv(lowered, &(spv_options){.names = true});
            spv_code_free(&code);
            ir_module_destroy(lowered);
            ir_module_destroy(m);
            kernels++;
        }
    }
    assert_true(kernels > 60);
}

/* ---- random traces ---- */

static ir_module *lowered_random(uint64_t seed, random_trace_options options)
{
    bl_error err = {0};
    ir_module *m = random_trace(seed, options), *lowered = NULL;
    if (ir_finish(m, &err) != BL_OK ||
        opt_run(m, &(opt_options){.accumulate = OPT_ACCUMULATE_CAS}, &lowered, &err) != BL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    ir_module_destroy(m);
    return lowered;
}

static void random_traces_are_valid(void **state)
{
    const char *wanted = getenv("BL_RANDOM_TRACES");
    uint64_t count = wanted ? (uint64_t)atoll(wanted) : 60;
    (void)state;
    for (uint64_t seed = 0; seed < count; seed++) {
        random_trace_options options = {.size = 60, .no_fold = seed % 3 == 1, .no_merge = seed % 5 == 1};
        ir_module *m = lowered_random(seed, options);
        spv_code code = checked_spirv(m, &(spv_options){.names = seed % 2, .branching_calls = seed % 4 > 1});
        spv_code_free(&code);
        ir_module_destroy(m);
    }
}

/* Words of types and constants, without their ids, never repeat. */
static void declarations_are_unique(const spv_code *code)
{
    uint32_t starts[4096], count = 0;
    for (size_t i = 5; i < code->word_count; i += code->words[i] >> SpvWordCountShift) {
        uint32_t op = code->words[i] & SpvOpCodeMask;
        if (op == SpvOpConstant || (op >= SpvOpTypeVoid && op <= SpvOpTypeFunction)) {
            assert_true(count < 4096);
            starts[count++] = (uint32_t)i;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t *a = code->words + starts[i], *b = code->words + starts[j];
            uint32_t length = a[0] >> SpvWordCountShift, id = (a[0] & SpvOpCodeMask) == SpvOpConstant ? 2 : 1,
                     differ = a[0] != b[0];
            for (uint32_t k = 1; k < length && !differ; k++)
                differ = k != id && a[k] != b[k];
            assert_true(differ);
        }
}

static void equal_modules_give_equal_words(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        ir_module *m = lowered_random(seed, (random_trace_options){0}),
                  *n = lowered_random(seed, (random_trace_options){0});
        spv_code a = checked_spirv(m, NULL), b = checked_spirv(n, NULL);
        assert_int_equal(a.word_count, b.word_count);
        assert_memory_equal(a.words, b.words, a.word_count * sizeof *a.words);
        declarations_are_unique(&a);
        spv_code_free(&a);
        spv_code_free(&b);
        ir_module_destroy(m);
        ir_module_destroy(n);
    }
}

/* ---- what is asked for, and nothing else ---- */

static void capabilities_come_with_need(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    spv_code code;
    (void)state;
    ir_atomic_add(f, 1, ir_u32(f, 0), ir_u32(f, 1));
    end_kernel(m, f);
    code = checked_spirv(m, NULL);
    assert_int_equal(count_op(&code, SpvOpCapability, ANY), 1);
    assert_int_equal(count_op(&code, SpvOpExtInstImport, ANY), 0);
    assert_int_equal(count_op(&code, SpvOpName, ANY), 0);
    assert_int_equal(count_op(&code, SpvOpVariable, ANY),
                     1); /* the constant buffer and the invocation index are not used */
    spv_code_free(&code);
    code = checked_spirv(
        m, &(spv_options){.signed_zero_inf_nan_preserve = true, .names = true, .local_size = 128});
    assert_int_equal(count_op(&code, SpvOpCapability, SpvCapabilitySignedZeroInfNanPreserve), 1);
    assert_int_equal(count_op(&code, SpvOpExecutionMode, ANY), 2);
    assert_true(count_op(&code, SpvOpName, ANY) > 0);
    spv_code_free(&code);
    ir_module_destroy(m);
}

static void float_atomics_get_a_second_view(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    spv_code code;
    uint32_t aliased = 0;
    (void)state;
    ir_atomic_add(f, 1, ir_u32(f, 0), ir_load(f, IR_F32, 0, ir_u32(f, 3)));
    ir_store(f, 1, ir_u32(f, 1), ir_f32(f, 2.0f));
    end_kernel(m, f);
    code = checked_spirv(m, NULL);
    for (size_t i = 5; i < code.word_count; i += code.words[i] >> SpvWordCountShift)
        aliased +=
            (code.words[i] & SpvOpCodeMask) == SpvOpDecorate && code.words[i + 2] == SpvDecorationAliased;
    assert_int_equal(aliased, 2);
    assert_int_equal(count_op(&code, SpvOpCapability, SpvCapabilityAtomicFloat32AddEXT), 1);
    assert_int_equal(count_op(&code, SpvOpExtension, ANY), 1);
    spv_code_free(&code);
    ir_module_destroy(m);
}

/* Accesses with the mask Volatile: loads have it behind the pointer, stores behind the value. */
static uint32_t count_volatile(const spv_code *code)
{
    uint32_t count = 0;
    for (size_t i = 5; i < code->word_count; i += code->words[i] >> SpvWordCountShift) {
        uint32_t op = code->words[i] & SpvOpCodeMask, length = code->words[i] >> SpvWordCountShift,
                 mask = op == SpvOpLoad ? 4 : 3;
        if ((op == SpvOpLoad || op == SpvOpStore) && mask < length)
            count += (code->words[i + mask] & SpvMemoryAccessVolatileMask) != 0;
    }
    return count;
}

static uint32_t count_storage(const spv_code *code, uint32_t storage)
{
    uint32_t count = 0;
    for (size_t i = 5; i < code->word_count; i += code->words[i] >> SpvWordCountShift)
        count += (code->words[i] & SpvOpCodeMask) == SpvOpVariable && code->words[i + 3] == storage;
    return count;
}

/* Of three buffers only the one that is both loaded and stored, and only where it is asked for. */
static void memory_is_volatile_where_it_is_read_and_written(void **state)
{
    (void)state;
    for (uint32_t addressed = 0; addressed < 2; addressed++) {
        ir_func *f;
        ir_module *m = kernel_module(&f);
        uint32_t written = ir_buffer_add(m, "written", false, -1);
        ir_ref at = ir_global_id(f), x = ir_load(f, IR_F32, 0, at);
        ir_store(f, 1, at, x);
        ir_store(f, written, at, ir_load(f, IR_F32, 1, at));
        end_kernel(m, f);
        spv_options options = {.addressed = addressed ? 7 : 0};
        spv_code code = checked_spirv(m, &options);
        assert_int_equal(count_volatile(&code), 0);
        spv_code_free(&code);
        options.volatile_memory = true;
        code = checked_spirv(m, &options);
        assert_int_equal(count_volatile(&code), 2);
        spv_code_free(&code);
        ir_module_destroy(m);
    }
}

/* Parkings of two functions are one array in memory of the workgroup, as large as the larger one needs, and
 * whatever is read or written there is Volatile: else the driver would keep it in registers. */
static void parkings_are_one_array_of_the_workgroup(void **state)
{
    (void)state;
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "input", true, -1), ir_buffer_add(m, "output", false, -1);
    ir_func *f[2] = {ir_func_create(m, "callee")};
    ir_ref r = {0};
    for (uint32_t k = 0; k < 2; k++) {
        if (k)
            f[k] = ir_func_create(m, "main");
        ir_ref parking = ir_parking(f[k], 5 - k), at = ir_u32(f[k], 3 - k);
        ir_lstore(f[k], parking, at, ir_global_id(f[k]));
        if (k)
            ir_call(f[k], ir_u32(f[k], 0), f, 1, NULL, 0, &r);
        ir_ref word = ir_lload(f[k], parking, at);
        if (k)
            ir_store(f[k], 1, ir_global_id(f[k]), ir_add(f[k], word, r));
        else
            ir_return(f[k], &word, 1);
    }
    end_kernel(m, f[1]);
    spv_code code = checked_spirv(m, &(spv_options){.local_size = 32});
    assert_int_equal(count_volatile(&code), 4);
    assert_int_equal(count_op(&code, SpvOpTypeArray, ANY), 2);
    assert_int_equal(count_storage(&code, SpvStorageClassWorkgroup), 1);
    assert_int_equal(count_storage(&code, SpvStorageClassFunction), 0);
    spv_code_free(&code);
    ir_module_destroy(m);
}

static void contraction_is_forbidden(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref x = ir_load(f, IR_F32, 0, ir_global_id(f)), y = ir_load(f, IR_F32, 0, ir_u32(f, 0));
    spv_code code;
    uint32_t decorated = 0;
    (void)state;
    ir_store(f, 1, ir_global_id(f), ir_div(f, ir_sub(f, ir_add(f, ir_mul(f, x, y), y), x), y));
    end_kernel(m, f);
    code = checked_spirv(m, NULL);
    for (size_t i = 5; i < code.word_count; i += code.words[i] >> SpvWordCountShift)
        decorated += (code.words[i] & SpvOpCodeMask) == SpvOpDecorate &&
                     code.words[i + 2] == SpvDecorationNoContraction;
    assert_int_equal(decorated, 4);
    spv_code_free(&code);
    ir_module_destroy(m);
}

/* ---- errors ---- */

static void expect_error(const ir_module *m, const char *word)
{
    spv_code code;
    bl_error err = {0};
    assert_int_equal(spv_generate(m, NULL, &code, &err), BL_ERROR_COMPILE);
    assert_null(code.words);
    if (strstr(err.text, word) == NULL)
        fail_msg("the error does not name %s: %s", word, err.text);
}

static void what_was_not_lowered_is_named(void **state)
{
    static const ir_op ops[] = {IR_SIN,   IR_COS, IR_EXP, IR_LOG,    IR_ACOS,        IR_POW,
                                IR_ATAN2, IR_MIN, IR_MAX, IR_DETACH, IR_REPLACE_GRAD};
    ir_func *f;
    ir_module *m;
    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        m = op_module(ops[i], IR_F32);
        expect_error(m, ir_op_table[ops[i]].name);
        ir_module_destroy(m);
    }
    m = kernel_module(&f);
    ir_accum(f, 1, ir_u32(f, 0), ir_f32(f, 1.0f));
    end_kernel(m, f);
    expect_error(m, "accum");
    ir_module_destroy(m);
}

static ir_func *trace_intersection(ir_module *m)
{
    ir_func *hit = ir_func_create(m, "hit");
    ir_ref args[8], values[3];
    ir_param(hit, IR_U32);
    for (int i = 0; i < 8; i++)
        args[i] = ir_param(hit, IR_F32);
    values[0] = args[7], values[1] = args[0], values[2] = args[1];
    ir_return(hit, values, 3);
    return hit;
}

static void rays_are_named(void **state)
{
    ir_module *m = ir_module_create();
    ir_func *hit = trace_intersection(m), *f = ir_func_create(m, "main");
    ir_ref args[8], results[5];
    (void)state;
    for (int i = 0; i < 8; i++)
        args[i] = ir_f32(f, (float)i);
    ir_ray_closest(f, (ir_func *const[]){hit}, 1, args, results);
    end_kernel(m, f);
    expect_error(m, "ray_closest");
    ir_module_destroy(m);
}

/* All three questions in a loop, over `kinds` kinds of primitives. */
static ir_module *ray_module(uint32_t kinds)
{
    ir_func *f, *intersect[3];
    ir_module *m = kernel_module(&f);
    ir_ref args[9], results[5], behind[5], state = ir_u32(f, 0);
    for (uint32_t k = 0; k < kinds; k++)
        intersect[k] = trace_intersection(m);
    ir_ref loop = ir_loop(f, &state, 1);
    ir_while(f, ir_lt(f, state, ir_u32(f, 4)));
    for (uint32_t k = 0; k < 8; k++)
        args[k] = ir_load(f, IR_F32, 0, ir_add(f, state, ir_u32(f, k)));
    ir_ray_closest(f, intersect, kinds, args, results);
    for (uint32_t k = 0; k < 4; k++)
        ir_store(f, 1, ir_u32(f, k), results[k]);
    args[6] = results[0], args[8] = results[1];
    ir_ray_next(f, intersect, kinds, args, behind);
    for (uint32_t k = 0; k < 4; k++)
        ir_store(f, 1, ir_u32(f, 4 + k), behind[k]);
    ir_ref inside = ir_if(f, ir_ray_any(f, intersect, kinds, args));
    ir_ref again = ir_to_u32(f, ir_ray_any(f, intersect, kinds, args));
    ir_else(f);
    ir_endif(f);
    ir_endloop(f, loop,
               (ir_ref[]){ir_add(f, ir_add(f, state, ir_u32(f, 1)), ir_phi(f, inside, again, ir_u32(f, 0)))},
               1);
    end_kernel(m, f);
    return m;
}

/* With and without triangles, at any place in the list. */
static void rays_become_queries(void **state)
{
    (void)state;
    for (uint32_t kinds = 1; kinds <= 3; kinds++)
        for (uint32_t triangles = 0; triangles <= kinds; triangles++) {
            ir_module *m = ray_module(kinds);
            uint32_t kind = triangles < kinds ? triangles : ~0u, boxes = kinds - (kind != ~0u);
            spv_options options = {
                .names = true,
                .rays = {.query = true, .accel_word = 7, .entry_base_word = 1, .triangle_kind = kind},
            };
            spv_code code = checked_spirv(m, &options);
            assert_int_equal(count_op(&code, SpvOpCapability, SpvCapabilityRayQueryKHR), 1);
            assert_int_equal(count_op(&code, SpvOpTypeRayQueryKHR, ANY), 1);
            assert_int_equal(count_op(&code, SpvOpRayQueryInitializeKHR, ANY), 4);
            assert_int_equal(count_op(&code, SpvOpRayQueryGenerateIntersectionKHR, ANY), boxes ? 4 : 0);
            assert_int_equal(count_op(&code, SpvOpRayQueryGetIntersectionBarycentricsKHR, ANY),
                             kind != ~0u ? 2 : 0);
            assert_int_equal(count_op(&code, SpvOpSwitch, ANY), boxes > 1 ? 4 : 0);
            declarations_are_unique(&code);
            spv_code_free(&code);
            ir_module_destroy(m);
        }
}

/* Branches of a kernel with a loop from 0 to a word of buffer `limit`: one where it is left at the top only,
 * two where at the bottom, too. */
static uint32_t branches_of_loop(uint32_t limit, uint32_t test_ops)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    ir_ref zero = ir_u32(f, 0), k = zero, outside = ir_load(f, IR_U32, 0, zero), loop = ir_loop(f, &k, 1),
           at = k;
    for (uint32_t i = 1; i < test_ops; i++)
        at = ir_xor(f, at, ir_add(f, k, ir_u32(f, i)));
    ir_while(f, ir_lt(f, at, limit ? ir_load(f, IR_U32, 1, zero) : outside));
    ir_store(f, 1, k, k);
    ir_ref next = ir_add(f, k, ir_u32(f, 1));
    ir_endloop(f, loop, &next, 1);
    ir_store(f, 1, zero, k);
    end_kernel(m, f);
    spv_code code = checked_spirv(m, &(spv_options){0});
    uint32_t branches = count_op(&code, SpvOpBranchConditional, ANY);
    spv_code_free(&code);
    ir_module_destroy(m);
    return branches;
}

static void loops_are_left_at_the_bottom(void **state)
{
    (void)state;
    assert_int_equal(branches_of_loop(0, 1), 2);
    assert_int_equal(branches_of_loop(0, 6), 2);
    assert_int_equal(branches_of_loop(0, 40), 1); /* too much to compute twice */
    assert_int_equal(branches_of_loop(1, 1), 1);  /* what the loop may write is read once */
}

/* Three targets, one of them twice: a branch for each distinct one but the first. */
static void calls_branch_where_it_is_asked_for(void **state)
{
    (void)state;
    for (uint32_t branching = 0; branching < 2; branching++) {
        ir_module *m = ir_module_create();
        ir_buffer_add(m, "input", true, -1), ir_buffer_add(m, "output", false, -1);
        ir_func *t[4];
        for (uint32_t k = 0; k < 3; k++) {
            t[k] = ir_func_create(m, "target");
            ir_ref x = ir_param(t[k], IR_U32), r = ir_add(t[k], x, ir_u32(t[k], k));
            ir_return(t[k], &r, 1);
        }
        t[3] = t[1];
        ir_func *f = ir_func_create(m, "main");
        ir_ref x = ir_global_id(f), r, selector = ir_and(f, x, ir_u32(f, 3));
        ir_call(f, selector, t, 4, &x, 1, &r);
        ir_store(f, 1, x, r);
        end_kernel(m, f);
        spv_code code = checked_spirv(m, &(spv_options){.branching_calls = branching});
        assert_int_equal(count_op(&code, SpvOpSwitch, ANY), branching ? 0 : 1);
        assert_int_equal(count_op(&code, SpvOpBranchConditional, ANY), branching ? 2 : 0);
        assert_int_equal(count_op(&code, SpvOpPhi, ANY), branching ? 2 : 1);
        assert_int_equal(count_op(&code, SpvOpIEqual, ANY), branching ? 3 : 0);
        spv_code_free(&code);
        ir_module_destroy(m);
    }
}

static void entries_are_checked(void **state)
{
    ir_func *f;
    ir_module *m = kernel_module(&f);
    (void)state;
    expect_error(m, "entry");
    ir_uniform(f, IR_F32, 40);
    ir_store(f, 1, ir_u32(f, 0), ir_uniform(f, IR_F32, 40));
    end_kernel(m, f);
    expect_error(m, "uniform 40");
    ir_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_valid),
        cmocka_unit_test(random_traces_are_valid),
        cmocka_unit_test(equal_modules_give_equal_words),
        cmocka_unit_test(capabilities_come_with_need),
        cmocka_unit_test(float_atomics_get_a_second_view),
        cmocka_unit_test(memory_is_volatile_where_it_is_read_and_written),
        cmocka_unit_test(parkings_are_one_array_of_the_workgroup),
        cmocka_unit_test(contraction_is_forbidden),
        cmocka_unit_test(what_was_not_lowered_is_named),
        cmocka_unit_test(rays_are_named),
        cmocka_unit_test(rays_become_queries),
        cmocka_unit_test(loops_are_left_at_the_bottom),
        cmocka_unit_test(calls_branch_where_it_is_asked_for),
        cmocka_unit_test(entries_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
