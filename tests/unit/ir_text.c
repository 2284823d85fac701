/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Hostile text: every truncation and thousands of mutations of printed traces either fail with a line in the
 * text or give a module that verifies, prints, is read back and can be interpreted. And the interpreter on
 * modules that only the verifier lets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/ir/ir.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

/* Runs the entry; its success does not matter, only that it comes back. */
static void try_run(const ir_module *m)
{
    uint32_t words[RANDOM_TRACE_BUFFERS][RANDOM_TRACE_WORDS] = {{0}}, uniforms[RANDOM_TRACE_UNIFORMS] = {0};
    ir_eval_buffer buffers[RANDOM_TRACE_BUFFERS];
    for (uint32_t k = 0; k < RANDOM_TRACE_BUFFERS; k++)
        buffers[k] = (ir_eval_buffer){.words = words[k], .count = RANDOM_TRACE_WORDS};
    ir_eval_env env = {
        .buffers = buffers,
        .buffer_count = RANDOM_TRACE_BUFFERS,
        .uniforms = uniforms,
        .uniform_count = RANDOM_TRACE_UNIFORMS,
        .step_limit = 20000,
    };
    bl_error err;
    if (m->entry)
        ir_eval(m->entry, NULL, NULL, &env, &err);
}

/* Returns whether the source is a trace. */
static bool try_source(const char *source)
{
    ir_module *m, *again;
    bl_error err = {0};
    if (ir_parse(source, &m, &err) != BL_OK) {
        assert_null(m);
        assert_true(strstr(err.text, "line ") || strstr(err.text, "verify: "));
        return false;
    }
    text first = {0}, second = {0};
    ir_print(m, &first);
    if (ir_parse(first.data ? first.data : "", &again, &err) != BL_OK)
        fail_msg("%s in\n%s", err.text, first.data);
    ir_print(again, &second);
    assert_true((first.data == NULL && second.data == NULL) || strcmp(first.data, second.data) == 0);
    try_run(m);
    text_free(&first);
    text_free(&second);
    ir_module_destroy(m);
    ir_module_destroy(again);
    return true;
}

static text printed(uint64_t seed, uint32_t size)
{
    text t = {0};
    ir_module *m = random_trace(seed, (random_trace_options){.size = size});
    ir_print(m, &t);
    ir_module_destroy(m);
    return t;
}

static void truncated_text_fails_cleanly(void **state)
{
    (void)state;
    text t = printed(3, 20);
    for (size_t length = t.length; length-- > 0;) {
        char *copy = malloc(length + 1); /* of exactly this size, for the address sanitizer */
        memcpy(copy, t.data, length);
        copy[length] = 0;
        try_source(copy);
        free(copy);
    }
    text_free(&t);
}

static void mutate(char *source, size_t length, uint64_t *state)
{
    static const char interesting[] = "%@$!0129 \n()[]{}\"\\;#-.xfe=";
    for (uint32_t count = 1 + random_below(state, 3); count; count--) {
        size_t at = random_below(state, (uint32_t)length), from = random_below(state, (uint32_t)length);
        size_t run = 1 + random_below(state, 12);
        if (random_below(state, 2))
            source[at] = interesting[random_below(state, sizeof interesting - 1)];
        else if (at + run < length && from + run < length)
            memmove(source + at, source + from, run);
    }
}

static void mutated_text_fails_cleanly(void **state)
{
    (void)state;
    uint64_t random = 5;
    uint32_t accepted = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        text t = printed(seed, 25);
        for (uint32_t k = 0; k < 150; k++) {
            char *copy = malloc(t.length + 1);
            memcpy(copy, t.data, t.length + 1);
            mutate(copy, t.length, &random);
            accepted += try_source(copy);
            free(copy);
        }
        text_free(&t);
    }
    assert_in_range(accepted, 50, 2900); /* some mutants are traces, or this would only test the lexer */
}

static void names_survive(void **state)
{
    (void)state;
    const char *source = "buffer @0 \"a\\22b\\5c\\0a\"\nfunc $0 \"\\e2\\82\\ac %5 ; }\" () {\n}\n";
    ir_module *m;
    assert_int_equal(ir_parse(source, &m, NULL), BL_OK);
    assert_string_equal(m->buffers.data[0].name, "a\"b\\\n");
    text t = {0};
    ir_print(m, &t);
    assert_string_equal(t.data, source);
    text_free(&t);
    ir_module_destroy(m);
}

static void deep_nesting_is_no_problem(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    text t = {0};
    text_add(&t, "func $0 \"deep\" (bool) {\n%%1 = param bool 0\n");
    for (unsigned k = 2; k < DEPTH; k++)
        text_add(&t, "%%%u = if %%1\n", k);
    for (unsigned k = DEPTH - 1; k > 1; k--)
        text_add(&t, "else %%%u\nendif %%%u\n", k, k);
    text_add(&t, "}\n");
    ir_module *m;
    bl_error err;
    if (ir_parse(t.data, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_eval_env env = {0};
    ir_value arg = {.b = true};
    assert_int_equal(ir_eval(m->functions.data[0], &arg, NULL, &env, &err), BL_OK);
    ir_module_destroy(m);
    text_free(&t);
}

/* A trace changed by hand behind the builder's back. */
static void verify_looks_at_the_trace_itself(void **state)
{
    (void)state;
    for (unsigned damage = 0; damage < 8; damage++) {
        ir_module *m = ir_module_create();
        ir_func *f = ir_func_create(m, "f"), *g = ir_func_create(m, "g");
        ir_ref x = ir_param(f, IR_F32), n = ir_param(f, IR_U32), y = ir_neg(f, x);
        ir_return(g, NULL, 0);
        ir_call(f, n, &g, 1, NULL, 0, NULL);
        ir_return(f, &y, 1);
        assert_int_equal(ir_verify(m, NULL), BL_OK);
        ir_inst *neg = &f->inst.data[y.id];
        switch (damage) {
        case 0:
            neg->op = 255;
            break;
        case 1:
            neg->type = 77;
            break;
        case 2:
            neg->a = 1000000;
            break;
        case 3:
            neg->a = y.id;
            break; /* itself */
        case 4:
            f->scope.data[y.id + 1] = 1;
            break; /* of the call, which nobody refers to */
        case 5:
            f->results.data[0].id = 99;
            break;
        case 6:
            f->inst.data[y.id + 1].b = 0xFFFFFFFFu;
            break; /* pool */
        default:
            f->pool.data[0] = 0xFFFFFFFFu;
            break;
        }
        bl_error err = {0};
        assert_int_not_equal(ir_verify(m, &err), BL_OK);
        assert_non_null(strstr(err.text, "verify: function \"f\""));
        ir_module_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_text_fails_cleanly),
        cmocka_unit_test(mutated_text_fails_cleanly),
        cmocka_unit_test(names_survive),
        cmocka_unit_test(deep_nesting_is_no_problem),
        cmocka_unit_test(verify_looks_at_the_trace_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
