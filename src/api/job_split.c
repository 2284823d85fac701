/* SPDX-License-Identifier: BSD-3-Clause
 * Jobs whose gradients take two sets of kernels: which part of the plan a pass is run with. */
#include "api/job_split.h"

uint32_t job_split_parts(const bl_job *job, render_pass pass)
{
    const enum render_pass_kind kind = render_passes[pass].kind;
    return job->split && (kind == PASS_GRADIENT || kind == PASS_CHECK || kind == PASS_EDGES) ? PLAN_SPLITS
                                                                                             : 1;
}

void job_split_enter(bl_job *job, render_pass pass, uint32_t part)
{
    BL_ASSERT(job->plan == job->whole && part < PLAN_SPLITS, "part %u within a part", part);
    if (job_split_parts(job, pass) == 1)
        return;
    job->parts[part] = plan_part(job->whole, (plan_split)(PLAN_SHAPES + part));
    job->plan = &job->parts[part], job->made = &job->sets[1 + part];
}

void job_split_leave(bl_job *job) { job->plan = job->whole, job->made = &job->sets[0]; }

const char *job_split_part_name(uint32_t part)
{
    static const char *const names[PLAN_SPLITS] = {"shapes", "others"};
    return part < PLAN_SPLITS ? names[part] : NULL;
}

const char *job_split_name(const bl_job *job)
{
    return job->plan == job->whole ? NULL : job_split_part_name(job->plan->split - PLAN_SHAPES);
}

job_work_desc job_split_work(const bl_job *job, const job_work_desc *w, uint32_t k)
{
    const uint32_t count = job_split_parts(job, w->pass);
    const double range = (w->progress_to - w->progress_from) / count;
    job_work_desc part = *w;
    if (w->part || count == 1)
        return part;
    part.progress_from = w->progress_from + k * range, part.progress_to = part.progress_from + range;
    part.compared = k > 0;
    part.adds |= k > 0, part.keeps_status |= k > 0;
    return part;
}

bool job_split_clears(const job_work_desc *w, uint32_t k)
{
    return k > 0 && !w->part && !bl_gradient_form_finds_loss(w->form);
}

bool job_split_edges(const bl_job *job)
{
    return job->split && job->whole->edges && plan_part(job->whole, PLAN_OTHERS).edges;
}
