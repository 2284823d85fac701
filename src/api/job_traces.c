/* SPDX-License-Identifier: BSD-3-Clause
 * What the compiler does to a pass of a job, for the caller: text, text after every stage, graph, SPIR-V. */
#include "api/job_kernels.h"
#include "api/job_split.h"
#include "api/trace_dump.h"
#include "api/wavefront.h"

static bl_result written(bl_job *job, bl_pass pass, bool optimised,
                         void (*write)(const ir_module *m, text *out), char **out)
{
    bl_error err = {0};
    render_pass which = RENDER_PRIMAL;
    ir_module *trace, *lowered = NULL;
    *out = NULL;
    TRY(job_pass_enter(job, pass, &which));
    bl_result r = job_trace(job, which, &trace, &err);
    opt_options o = job_lowering(job, which, (x86_target)gpu_device_info(job->device->gpu)->native_target);
    job_split_leave(job);
    if (r != BL_OK)
        return context_fail(job->context, &err);
    if (optimised)
        r = opt_run(trace, &o, &lowered, &err);
    text listing = {0};
    if (r == BL_OK)
        write(optimised ? lowered : trace, &listing);
    ir_module_destroy(lowered);
    ir_module_destroy(trace);
    if (r == BL_OK)
        r = memory_for_user(listing.data, &err);
    if (r != BL_OK)
        return context_fail(job->context, &err);
    *out = listing.data;
    return BL_OK;
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
    TRY(job_pass_enter(job, pass, &which));
    bl_result r = job_trace(job, which, &trace, &err);
    opt_options o = job_lowering(job, which, (x86_target)gpu_device_info(job->device->gpu)->native_target);
    job_split_leave(job);
    if (r == BL_OK) {
        r = trace_stages(trace, &o, tell, &(listener){visit, user}, &err);
        ir_module_destroy(trace);
    }
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_compile(bl_job *job, bl_pass pass, bl_kernel_info *info)
{
    render_pass which = RENDER_PRIMAL;
    TRY(job_pass_enter(job, pass, &which));
    gpu_kernel *kernel;
    bl_kernel_info took;
    bl_error err = {0};
    const bool cut = wavefront_wanted(job, which);
    const bl_result r = cut ? wavefront_make(job, which, &took, &err) : job_kernel(job, which, &kernel, &err);
    if (info && r == BL_OK)
        *info = cut ? took : job->made->compiled[which];
    job_split_leave(job);
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}
