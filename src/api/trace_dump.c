/* SPDX-License-Identifier: BSD-3-Clause
 * The stages of compilation one by one, and BL_DUMP.
 *
 * With BL_DUMP=FOLDER in the environment every kernel that is made leaves there, by the name of its pass,
 *     NAME.00-recorded.ir, NAME.01-dead.ir, ..    the trace as recorded and after each compiler pass
 *     NAME.spv                                    the words (spirv-dis reads them), or
 *     NAME.x86                                    those of a native kernel (spirv_gen/x86/x86.h)
 * This also holds where the words came from the kernel cache; the passes then run for the files alone. A file
 * that cannot be written is an error. */
#include "api/trace_dump.h"

#include <stdlib.h>

bl_result trace_stages(const ir_module *trace, const opt_options *passes, trace_stage_visit visit, void *user,
                       bl_error *err)
{
    opt_options o = *passes;
    ir_module *lowered;
    o.dump = visit, o.user = user;
    visit(user, "recorded", trace);
    TRY(opt_run(trace, &o, &lowered, err));
    ir_module_destroy(lowered);
    return BL_OK;
}

/* ---- BL_DUMP ---- */

typedef struct dump {
    const char *folder, *name;
    uint32_t stage;
    bl_error *err;
    bl_result result; /* result of the first failure */
} dump;

static void dump_stage(void *user, const char *stage, const ir_module *m)
{
    dump *d = user;
    text path = {0}, listing = {0};
    text_add(&path, "%s/%s.%02u-%s.ir", d->folder, d->name, d->stage++, stage);
    ir_print(m, &listing);
    if (d->result == BL_OK)
        d->result = file_write(path.data, listing.data, listing.length, d->err);
    text_free(&path);
    text_free(&listing);
}

bl_result trace_dump(const ir_module *trace, const opt_options *passes, const kernel_code *code,
                     const char *name, bl_error *err)
{
    dump d = {.folder = getenv("BL_DUMP"), .name = name, .err = err};
    if (!d.folder || !*d.folder)
        return BL_OK;
    TRY(folder_create(d.folder, 0777, err));
    TRY(trace_stages(trace, passes, dump_stage, &d, err));
    TRY(d.result);
    text path = {0};
    text_add(&path, "%s/%s.%s", d.folder, name, code->native ? "x86" : "spv");
    bl_result r = file_write(path.data, code->words, 4 * code->word_count, err);
    text_free(&path);
    return r;
}
