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

bool job_split_edges(const bl_job *job)
{
    return job->split && job->whole->edges && plan_part(job->whole, PLAN_OTHERS).edges;
}
