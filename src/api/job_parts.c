/* SPDX-License-Identifier: BSD-3-Clause
 * A pass as commands, without a look at what they do: for command buffers of the caller's.
 *
 * Where our own loops measure each slice and choose the next one (job_dispatch.c), a recorded pass is a
 * sequence that follows from its descriptor alone: windows of lanes and samples, with steps between them. So
 * are several passes one after another. The paths of all windows are numbered. Part k of n has the paths from
 * k T / n on, below (k + 1) T / n, rounded to whole workgroups of lanes within a window, and the steps that
 * stand before them. Results are the same bytes for any number of parts: lanes may be cut anywhere, and
 * samples are cut where sums of gradients are, at multiples of SAMPLES_SUMMED of a tile. */
#include "api/job_parts.h"
#include "api/edges.h"
#include "api/gradient_forms.h"
#include "api/job_buffers.h"
#include "api/job_kernels.h"
#include "api/job_pass.h"
#include "api/job_split.h"
#include "api/kernel_code.h"
#include "api/tape.h"

typedef struct sequence {
    bl_job *job; /* NULL: nothing is appended, paths are counted */
    const job_work_desc *w;
    uint64_t at; /* number of the next path */
    uint64_t from, to, all;
} sequence;

/* Whether a step that stands before path number `at` belongs to the part. */
static bool step_is_here(const sequence *s)
{
    return s->job && s->from <= s->at && (s->at < s->to || s->to == s->all);
}

static uint64_t paths_of(job_range r) { return (uint64_t)r.lane_count * (r.last_sample - r.first_sample); }

/* The first lane of a window whose paths all have numbers of at least `path` within it. */
static uint32_t lane_at(job_range window, uint64_t path)
{
    uint32_t samples = window.last_sample - window.first_sample;
    if (path >= paths_of(window))
        return window.lane_count;
    return (uint32_t)(path / samples) / LOCAL_SIZE * LOCAL_SIZE;
}

static uint64_t within(uint64_t path, uint64_t first) { return path > first ? path - first : 0; }

static void window(sequence *s, render_pass pass, job_range tile, job_range r)
{
    uint32_t first = lane_at(r, within(s->from, s->at)), end = lane_at(r, within(s->to, s->at));
    s->at += paths_of(r);
    if (!s->job || first == end)
        return;
    r.first_lane += first, r.lane_count = end - first;
    job_record_range(s->job, s->w, pass, tile, r);
}

/* All samples of a tile, cut where sums end. */
static void windows(sequence *s, render_pass pass, job_range tile)
{
    for (job_range r = tile; r.first_sample < tile.last_sample; r.first_sample = r.last_sample) {
        r.last_sample = r.first_sample + SAMPLES_SUMMED < tile.last_sample ? r.first_sample + SAMPLES_SUMMED
                                                                           : tile.last_sample;
        window(s, pass, tile, r);
    }
}

static bool keeps_samples(const job_work_desc *w)
{
    return w->pass == RENDER_GRADIENT && w->form != BL_FORM_FUSED;
}

static bool keeps_tape(const bl_job *job, const job_work_desc *w)
{
    return w->pass == RENDER_GRADIENT && job->scene->method == METHOD_TAPE;
}

/* The kernels that walk: one, or two where something is kept between them. */
static uint32_t walks_of(const bl_job *job, const job_work_desc *w, render_pass out[2])
{
    bool samples = keeps_samples(w), tape = keeps_tape(job, w);
    out[0] = tape ? RENDER_TAPE : samples ? RENDER_REPLAY : w->pass;
    out[1] = tape ? RENDER_TAPE_ADJOINT : RENDER_ADJOINT;
    return tape || samples ? 2 : 1;
}

static void tiles(sequence *s, const bl_job *job)
{
    job_range tile = {0};
    bool last;
    while (gradient_form_next(job, s->w, &tile, &last)) {
        windows(s, RENDER_REPLAY, tile);
        if (step_is_here(s) && !s->w->compared)
            gradient_form_record_loss(s->job, s->w, tile, last);
        windows(s, RENDER_ADJOINT, tile);
    }
}

static void samples(sequence *s, const bl_job *job)
{
    render_pass walks[2];
    if (keeps_samples(s->w)) {
        tiles(s, job);
        return;
    }
    for (uint32_t k = 0, count = walks_of(job, s->w, walks); k < count; k++)
        windows(s, walks[k], job_everything(s->w, job_pixels(job)));
}

/* Moving edges, behind the samples of a gradient pass. */
static void edges(sequence *s, const bl_job *job)
{
    const job_work_desc *w = s->w;
    const uint32_t count = edges_wanted(job, w) ? EDGES_PASSES : 0;
    for (uint32_t k = w->edges_learnt ? count : 0; k < 2 * count; k++) {
        const job_work_desc e = edges_work(job, w, k % count);
        render_pass pass;
        s->w = &e;
        if (!edges_pass(job, false, k % count, &pass))
            continue;
        if (k >= count)
            windows(s, pass, job_everything(&e, job_pixels(job)));
        else if (step_is_here(s))
            edges_record_learning(s->job, &e, pass, k);
    }
    s->w = w;
}

/* A split job has all walks of one of its parts, and then those of the other. */
static void walks(sequence *s, bl_job *job)
{
    const job_work_desc *w = s->w;
    for (uint32_t k = 0; k < job_split_parts(job, w->pass); k++) {
        const job_work_desc part = job_split_work(job, w, k);
        s->w = &part;
        if (step_is_here(s) && job_split_clears(w, k))
            gpu_batch_fill(job->batch, job->film, 0, gpu_buffer_size(job->film), 0);
        job_split_enter(job, w->pass, k);
        samples(s, job);
        edges(s, job);
        job_split_leave(job);
    }
    s->w = w;
}

static void pass_in(sequence *s, bl_job *job, const job_recorded_pass *p)
{
    s->w = &p->work;
    if (step_is_here(s))
        p->begin(p->user);
    walks(s, job);
    if (step_is_here(s))
        p->end(p->user);
}

uint64_t job_parts_paths(bl_job *job, job_recorded_passes passes)
{
    sequence s = {0};
    for (uint32_t k = 0; k < passes.count; k++)
        pass_in(&s, job, &passes.all[k]);
    return s.at;
}

/* The seconds of paths of a pass in one part of the job; 0: of some kernel there have been none. */
static double seconds_of_part(const bl_job *job, const job_work_desc *w, double paths)
{
    render_pass walks[2];
    const uint32_t count = walks_of(job, w, walks);
    double sum = 0;
    for (uint32_t k = 0; k < count; k++) {
        double speed = job->made->paths_per_second[walks[k]];
        if (!(speed > 0))
            return 0;
        sum += paths / count / speed;
    }
    return sum;
}

static double seconds_of(bl_job *job, const job_recorded_pass *p)
{
    const uint32_t parts = job_split_parts(job, p->work.pass);
    const double paths = (double)job_parts_paths(job, (job_recorded_passes){p, 1}) / parts;
    double sum = 0;
    for (uint32_t k = 0; k < parts; k++) {
        job_split_enter(job, p->work.pass, k);
        const double seconds = seconds_of_part(job, &p->work, paths);
        job_split_leave(job);
        if (seconds == 0)
            return 0;
        sum += seconds;
    }
    return sum;
}

double job_parts_seconds(bl_job *job, job_recorded_passes passes)
{
    double sum = 0;
    for (uint32_t k = 0; k < passes.count; k++) {
        double seconds = seconds_of(job, &passes.all[k]);
        if (seconds == 0)
            return 0;
        sum += seconds;
    }
    return sum;
}

static uint64_t share(uint64_t all, job_part part, uint32_t k)
{
    return all / part.parts * k + all % part.parts * k / part.parts;
}

void job_record_part(bl_job *job, job_recorded_passes passes, job_part part)
{
    uint64_t all = job_parts_paths(job, passes);
    BL_ASSERT(part.part < part.parts && part.parts <= all, "part %u of %u", part.part, part.parts);
    sequence s = {
        .job = job,
        .from = share(all, part, part.part),
        .to = share(all, part, part.part + 1),
        .all = all,
    };
    for (uint32_t k = 0; k < passes.count; k++)
        pass_in(&s, job, &passes.all[k]);
}

/* ---- what must be there ---- */

/* The kernels of moving edges. */
static bl_result edges_kernels(bl_job *job, const job_work_desc *w, bl_error *err)
{
    gpu_kernel *made;
    for (uint32_t k = 0; k < EDGES_PASSES && edges_wanted(job, w); k++) {
        render_pass pass;
        if (edges_pass(job, false, k, &pass))
            TRY(job_kernel(job, pass, &made, err));
    }
    return edges_wanted(job, w) ? edges_prepare(job, err) : BL_OK;
}

static bool edges_there(const bl_job *job, const job_work_desc *w)
{
    bool there = !edges_wanted(job, w) || edges_prepared(job);
    for (uint32_t k = 0; k < EDGES_PASSES && edges_wanted(job, w); k++) {
        render_pass pass;
        there &= !edges_pass(job, false, k, &pass) || job->made->kernels[pass];
    }
    return there;
}

/* What a part of a split job needs for itself, or the whole job: room, */
static bl_result reserve_walks(bl_job *job, const job_work_desc *w, bl_error *err)
{
    if (keeps_samples(w))
        TRY(gradient_form_reserve(job, w, err));
    if (!keeps_tape(job, w))
        return BL_OK;
    TRY(tape_check_recorded(job, err));
    return tape_reserve(job, w, err);
}

/* and kernels, which are made for buffers of the size that these have in the end. */
static bl_result make_walks(bl_job *job, const job_work_desc *w, bl_error *err)
{
    gpu_kernel *made;
    TRY(edges_kernels(job, w, err));
    render_pass walks[2];
    for (uint32_t k = 0, count = walks_of(job, w, walks); k < count; k++)
        TRY(job_kernel(job, walks[k], &made, err));
    return BL_OK;
}

static bool walks_prepared(const bl_job *job, const job_work_desc *w)
{
    bool there = edges_there(job, w);
    render_pass walks[2];
    for (uint32_t k = 0, count = walks_of(job, w, walks); k < count; k++)
        there &= job->made->kernels[walks[k]] != NULL;
    return there && (!keeps_samples(w) || gradient_form_reserved(job, w)) &&
           (!keeps_tape(job, w) || tape_reserved(job, w));
}

static bl_result in_each_part(bl_job *job, const job_work_desc *w,
                              bl_result (*prepare)(bl_job *, const job_work_desc *, bl_error *),
                              bl_error *err)
{
    for (uint32_t k = 0; k < job_split_parts(job, w->pass); k++) {
        job_split_enter(job, w->pass, k);
        const bl_result r = prepare(job, w, err);
        job_split_leave(job);
        TRY(r);
    }
    return BL_OK;
}

bl_result job_parts_prepare(bl_job *job, const job_work_desc *w, bl_error *err)
{
    gpu_kernel *made;
    TRY(job_reserve_film(job, w->pass, job_everything(w, job_pixels(job)).lane_count, err));
    TRY(in_each_part(job, w, reserve_walks, err));
    TRY(in_each_part(job, w, make_walks, err));
    if (job->plan->update_count)
        TRY(job_kernel(job, RENDER_UPDATE, &made, err));
    if (job->plan->table_builds.count)
        TRY(job_kernel(job, RENDER_TABLES, &made, err));
    if (w->pass == RENDER_GRADIENT && job->plan->update_requested)
        TRY(job_kernel(job, RENDER_UPDATE_ADJOINT, &made, err));
    return BL_OK;
}

bool job_parts_prepared(bl_job *job, const job_work_desc *w)
{
    const plan *p = job->plan;
    uint64_t lanes = job_everything(w, job_pixels(job)).lane_count;
    bool there = job->film_words >= film_channels(job->scene) * lanes &&
                 (!p->update_count || job->made->kernels[RENDER_UPDATE]) &&
                 (!p->table_builds.count || job->made->kernels[RENDER_TABLES]);
    if (w->pass == RENDER_GRADIENT && p->update_requested)
        there &= job->made->kernels[RENDER_UPDATE_ADJOINT] != NULL;
    for (uint32_t k = 0; k < job_split_parts(job, w->pass); k++) {
        job_split_enter(job, w->pass, k);
        there &= walks_prepared(job, w);
        job_split_leave(job);
    }
    return there;
}
