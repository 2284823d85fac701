/* SPDX-License-Identifier: BSD-3-Clause
 * Seeing what the compiler does to a pass: text, text after every stage, graph, and BL_DUMP.
 *
 * With BL_DUMP=FOLDER in the environment every kernel that is made leaves there, by the name of its pass,
 *     NAME.00-recorded.ir, NAME.01-dead.ir, ..    the trace as recorded and after each compiler pass
 *     NAME.spv                                    the words (spirv-dis reads them)
 * also where the words came from the kernel cache: the passes then run for the files alone. A file that
 * cannot be written is an error. */
#include "api/handles.h"

#include <stdlib.h>
#include <string.h>

typedef void (*stage_visit)(void *user, const char *stage, const ir_module *m);

/* visit: "recorded", then every compiler pass. */
static bl_result run_stages(const ir_module *trace, const opt_options *passes, stage_visit visit, void *user,
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
    bl_result result; /* the first failure */
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

bl_result see_dump(const ir_module *trace, const opt_options *passes, const spv_code *code, const char *name,
                   bl_error *err)
{
    dump d = {.folder = getenv("BL_DUMP"), .name = name, .err = err};
    if (!d.folder || !*d.folder)
        return BL_OK;
    TRY(folder_create(d.folder, err));
    TRY(run_stages(trace, passes, dump_stage, &d, err));
    TRY(d.result);
    text path = {0};
    text_add(&path, "%s/%s.spv", d.folder, name);
    bl_result r = file_write(path.data, code->words, 4 * code->word_count, err);
    text_free(&path);
    return r;
}

/* ---- text and graph ---- */

static bl_result written(bl_job *job, bl_pass pass, bool optimised,
                         void (*write)(const ir_module *m, text *out), char **out)
{
    bl_error err = {0};
    render_pass which = RENDER_PRIMAL;
    ir_module *trace, *lowered = NULL;
    *out = NULL;
    TRY(job_pass(job, pass, &which));
    if (job_trace(job, which, &trace, &err) != BL_OK)
        return context_fail(job->context, &err);
    opt_options o = job_lowering(job);
    bl_result r = optimised ? opt_run(trace, &o, &lowered, &err) : BL_OK;
    text listing = {0};
    if (r == BL_OK)
        write(optimised ? lowered : trace, &listing);
    ir_module_destroy(lowered);
    ir_module_destroy(trace);
    *out = listing.data;
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_trace_text(bl_job *job, bl_pass pass, bool optimised, char **out)
{
    return written(job, pass, optimised, ir_print, out);
}
bl_result bl_job_trace_graph(bl_job *job, bl_pass pass, bool optimised, char **out)
{
    return written(job, pass, optimised, ir_dot, out);
}

typedef struct listener {
    void (*visit)(void *user, const char *stage, const char *text);
    void *user;
} listener;

static void tell(void *user, const char *stage, const ir_module *m)
{
    const listener *l = user;
    text listing = {0};
    ir_print(m, &listing);
    l->visit(l->user, stage, listing.data);
    text_free(&listing);
}

bl_result bl_job_trace_stages(bl_job *job, bl_pass pass,
                              void (*visit)(void *user, const char *stage, const char *text), void *user)
{
    bl_error err = {0};
    render_pass which = RENDER_PRIMAL;
    ir_module *trace;
    TRY(job_pass(job, pass, &which));
    bl_result r = job_trace(job, which, &trace, &err);
    if (r == BL_OK) {
        opt_options o = job_lowering(job);
        r = run_stages(trace, &o, tell, &(listener){visit, user}, &err);
        ir_module_destroy(trace);
    }
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}
