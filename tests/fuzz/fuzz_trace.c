/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the text of a trace (ir_parse). A failure names a line or what verification missed; what is
 * accepted prints, reads back the same, comes through the passes or is refused with a text, and runs in the
 * interpreter without touching what is not its own. */
#include "fuzz/fuzz_main.h"
#include "spirv_gen/opt/opt.h"

enum { BUFFERS = 4, WORDS = 64, UNIFORMS = 8, STEPS = 5000 };

static void interpret(const ir_module *m)
{
    static uint32_t words[BUFFERS][WORDS];
    const uint32_t uniforms[UNIFORMS] = {1, 2, 3};
    ir_eval_buffer buffers[BUFFERS];
    bl_error err = {0};
    for (int k = 0; k < BUFFERS; k++)
        buffers[k] = (ir_eval_buffer){.words = words[k], .count = WORDS};
    ir_eval_env env = {
        .buffers = buffers,
        .buffer_count = BUFFERS,
        .uniforms = uniforms,
        .uniform_count = UNIFORMS,
        .step_limit = STEPS,
    };
    if (m->entry && m->entry->params.count == 0 && m->entry->results.count == 0)
        ir_eval(m->entry, NULL, NULL, &env, &err);
}

static void read_back(const ir_module *m)
{
    ir_module *again;
    bl_error err = {0};
    text first = {0}, second = {0};
    ir_print(m, &first);
    BL_ASSERT(ir_parse(first.data ? first.data : "", &again, &err) == BL_OK, "%s", err.text);
    ir_print(again, &second);
    BL_ASSERT(first.length == second.length &&
                  (!first.length || memcmp(first.data, second.data, first.length) == 0),
              "printed, read, printed: it differs");
    ir_module_destroy(again);
    text_free(&first);
    text_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *source = malloc(size + 1);
    ir_module *m;
    bl_error err = {0};
    BL_ASSERT(source, "out of memory");
    memcpy(source, data, size);
    source[size] = 0;
    bl_result result = ir_parse(source, &m, &err);
    BL_ASSERT((result == BL_OK) == (m != NULL) && result == err.code, "result %d", result);
    BL_ASSERT(result == BL_OK || strstr(err.text, "line ") || strstr(err.text, "verify: "), "%s", err.text);
    if (m) {
        read_back(m);
        interpret(m);
        ir_module_destroy(opt_dead(m));
        ir_module_destroy(m);
    }
    free(source);
    return 0;
}

FUZZ_MAIN("traces", ".ir")
