/* SPDX-License-Identifier: BSD-3-Clause
 * The loops that cut a pass into dispatches, and what goes before and after it.
 *
 * The unit of work is a range (lanes, samples of a strip). Ranges are chosen by measured speed so that a
 * dispatch takes about slice_seconds; results are the same bytes for any choice. A lane's image goes on where
 * it was left, in the same order. Its gradient begins anew with every dispatch, is a sum of floats
 * (spirv_gen/opt/accumulate.c), and goes to memory as an integer in the end; so lanes of passes that add to
 * gradients are cut at multiples of SAMPLES_SUMMED, and there always. */
#include "api/handles.h"

#include <string.h>

enum {
    FIRST_SLICE_PATHS = 1 << 14,
    LANES_WANTED = 1 << 16,
    SAMPLES_LEAST = 4,
    LANES_LEAST_TOGETHER = 1 << 9
};

/* Enough lanes to fill a GPU on small films, but with some samples each, over which a lane's own costs
 * spread; a fixed function of film and samples (docs/architecture.md, Lanes). */
uint32_t job_strips(const render_scene *s, uint32_t spp)
{
    uint32_t strips = LANES_WANTED / job_pixels(s), most = (spp + SAMPLES_LEAST - 1) / SAMPLES_LEAST;
    strips = strips < most ? strips : most;
    return strips < 1 ? 1 : strips;
}

/* ---- ranges ---- */

void job_record(bl_job *job, render_pass pass, gpu_buffer *values, const uint32_t *push, uint32_t lanes)
{
    bl_error err;
    gpu_buffer *buffers[BUFFER_COUNT + 1];
    job_buffers(job, pass, buffers);
    buffers[BUFFER_VALUES] = values;
    if (job->bounds && bounds_arm(job->bounds, buffers, &err) != BL_OK)
        return; /* a device that is lost, which submission says too */
    gpu_batch_dispatch(job->batch, job->kernels[pass], buffers, push, lanes);
}

typedef struct pass_kernel {
    bl_job *job;
    render_pass pass;
    const job_work_desc *w;
    job_range tile; /* what BUFFER_SAMPLES holds */
} pass_kernel;

static void record_range(void *user, job_range r)
{
    const pass_kernel *k = user;
    const bl_job *job = k->job;
    const job_work_desc *w = k->w;
    const uint32_t push[UNIFORM_COUNT] = {
        [UNIFORM_FIRST_LANE] = r.first_lane,
        [UNIFORM_LANE_COUNT] = r.lane_count,
        [UNIFORM_FIRST_SAMPLE] = r.first_sample,
        [UNIFORM_LAST_SAMPLE] = r.last_sample,
        [UNIFORM_SPP] = w->spp,
        [UNIFORM_SEED] = w->seed,
        [UNIFORM_STRIPS] = w->lanes.count ? w->lanes.count : w->strips,
        [UNIFORM_STREAM] = w->stream,
        [UNIFORM_WIDTH] = job->scene->width,
        [UNIFORM_HEIGHT] = job->scene->height,
        [UNIFORM_HALVES] = w->form == BL_FORM_TWO_WALK ? 2 : 1,
        [UNIFORM_TILE_LANE] = k->tile.first_lane,
        [UNIFORM_TILE_LANES] = k->tile.lane_count,
        [UNIFORM_TILE_SAMPLE] = k->tile.first_sample,
        [UNIFORM_TILE_SLOTS] = job_range_paths(k->tile),
    };
    job_record(k->job, k->pass, job->values, push, r.lane_count);
}

/* The next range of a window from (lane, sample) on, about `paths` long: whole lanes if they are short
 * enough, else a part of the samples of a group or, where a lane's samples stay together, a smaller group. */
static job_range next_range(job_range window, bool together, uint32_t lane, uint32_t sample, double paths)
{
    job_range r = {.first_lane = lane, .first_sample = sample, .last_sample = window.last_sample};
    uint32_t lanes = window.first_lane + window.lane_count - lane;
    double whole = paths / (window.last_sample - window.first_sample);
    double least = together ? LANES_LEAST_TOGETHER : LANES_LEAST;
    if (together || (sample == window.first_sample && whole >= least)) {
        whole = whole > least ? whole : least;
        r.lane_count = whole < lanes ? (uint32_t)whole / LOCAL_SIZE * LOCAL_SIZE : lanes;
        return r;
    }
    r.lane_count = lanes < LANES_LEAST ? lanes : LANES_LEAST;
    double part = paths / r.lane_count;
    if (part < window.last_sample - sample)
        r.last_sample = sample + (part > 1 ? (uint32_t)part : 1);
    return r;
}

job_range job_everything(const job_work_desc *w, uint32_t pixels)
{
    if (w->lanes.count)
        return (job_range){.lane_count = w->lanes.count, .last_sample = w->lanes.longest};
    return (job_range){.lane_count = pixels * w->strips, .last_sample = (w->spp + w->strips - 1) / w->strips};
}

static bl_result tell(const job_work_desc *w, double share, double *last, bl_error *err)
{
    double now = clock_seconds();
    if (!w->progress || (share < 1 && now - *last < 0.1))
        return BL_OK;
    *last = now;
    if (w->progress(w->user, w->progress_from + share * (w->progress_to - w->progress_from)))
        return BL_OK;
    return error_set(err, BL_ERROR_CANCELLED, "cancelled");
}

bl_result job_submit(gpu_batch *batch, bl_stats *stats, double *seconds, bl_error *err)
{
    TRY(gpu_batch_submit(batch, err));
    TRY(gpu_batch_wait(batch, seconds, err));
    stats->device_seconds += *seconds;
    return BL_OK;
}

/* ---- derived values ---- */

/* Those of values or frozen values. */
static void record_update(bl_job *job, render_pass pass, gpu_buffer *values)
{
    job_record(job, pass, values, (uint32_t[UNIFORM_COUNT]){[UNIFORM_LANE_COUNT] = job->plan->update_count},
               job->plan->update_count);
}

static bool follows_changed(const bl_job *job, const plan_table *b)
{
    bool changed = !job->tables_built || job->lights_moved;
    for (uint32_t k = 0; k < b->follow_count; k++)
        changed |= job->changed[b->follows[k]];
    return changed;
}

/* Sampling tables whose values have changed, step by step. */
static void record_tables(bl_job *job)
{
    for (uint32_t i = 0; i < job->plan->table_builds.count; i++) {
        const plan_table *b = &job->plan->table_builds.data[i];
        if (!follows_changed(job, b))
            continue;
        const uint32_t push[UNIFORM_COUNT] = {
            [UNIFORM_LANE_COUNT] = b->lanes,
            [UNIFORM_TABLE_STEP] = b->function,
            [UNIFORM_TABLE_RECORD] = b->record,
        };
        job_record(job, RENDER_TABLES, job->values, push, b->lanes);
    }
}

/* The adjoint of a gradient pass goes on to the parameters that derived values come from. */
static bl_result finish_gradient(bl_job *job, bl_stats *stats, bl_error *err)
{
    gpu_kernel *kernel;
    double seconds;
    TRY(geometry_adjoint(job, stats, err));
    if (!job->plan->update_requested)
        return BL_OK;
    TRY(job_kernel(job, RENDER_UPDATE_ADJOINT, &kernel, err));
    TRY(gpu_batch_begin(job->batch, err));
    record_update(job, RENDER_UPDATE_ADJOINT, job->values);
    TRY(job_submit(job->batch, stats, &seconds, err));
    return bounds_check(job->bounds, err);
}

/* ---- a pass ---- */

static bl_result prepare_pass(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    gpu_kernel *update = NULL, *tables = NULL, *tangents = NULL;
    double seconds;
    TRY(geometry_follow(job, stats, err));
    if (w->pass == RENDER_FROZEN)
        TRY(geometry_freeze(job, stats, err));
    if (w->pass == RENDER_FORWARD)
        TRY(geometry_tangent(job, stats, err));
    if (job->plan->update_count && (job->values_changed || w->pass == RENDER_FROZEN))
        TRY(job_kernel(job, RENDER_UPDATE, &update, err));
    if (job->plan->table_builds.count && job->values_changed)
        TRY(job_kernel(job, RENDER_TABLES, &tables, err));
    if (job->plan->update_requested && w->pass == RENDER_FORWARD)
        TRY(job_kernel(job, RENDER_UPDATE_TANGENT, &tangents, err));
    TRY(gpu_batch_begin(job->batch, err));
    if (update && job->values_changed)
        record_update(job, RENDER_UPDATE, job->values);
    if (update && w->pass == RENDER_FROZEN)
        record_update(job, RENDER_UPDATE, job->frozen);
    if (tables)
        record_tables(job);
    if (tangents)
        record_update(job, RENDER_UPDATE_TANGENT, job->values);
    if (w->pass == RENDER_GRADIENT && !w->adds)
        gpu_batch_fill(job->batch, job->gradient, 0, gpu_buffer_size(job->gradient), 0);
    if (job_splats(job, w->pass))
        gpu_batch_fill(job->batch, job->splats, 0, gpu_buffer_size(job->splats), 0);
    gpu_batch_fill(job->batch, job->film, 0, gpu_buffer_size(job->film), 0);
    gpu_batch_fill(job->batch, job->status, 0, gpu_buffer_size(job->status), 0);
    TRY(job_submit(job->batch, stats, &seconds, err));
    job->values_changed = false;
    job->tables_built = true, job->lights_moved = false;
    memset(job->changed, false, job->scene->parameters.count);
    return bounds_check(job->bounds, err);
}

/* Speed for the next slice: the last one's, but growing at most fourfold, so that one odd measurement cannot
 * make a long dispatch. */
static void learn_speed(double *speed, double paths, double seconds)
{
    double now = paths / (seconds > 1e-6 ? seconds : 1e-6);
    *speed = *speed > 0 && now > 4 * *speed ? 4 * *speed : now;
}

bl_result job_slice(gpu_batch *batch, const job_work_desc *w, job_range window, bool together, double *speed,
                    void (*record_part)(void *user, job_range r), void *user, bl_stats *stats, bl_error *err)
{
    double slice = w->slice_seconds > 0 ? w->slice_seconds : 0.1, last = clock_seconds();
    uint32_t end = window.first_lane + window.lane_count, sample = window.first_sample;
    for (uint32_t lane = window.first_lane; lane < end;) {
        double paths = *speed > 0 ? *speed * slice : FIRST_SLICE_PATHS, seconds;
        job_range r = next_range(window, together, lane, sample, paths > 1 ? paths : 1);
        TRY(gpu_batch_begin(batch, err));
        record_part(user, r);
        TRY(job_submit(batch, stats, &seconds, err));
        learn_speed(speed, (double)r.lane_count * (r.last_sample - r.first_sample), seconds);
        stats->slices++;
        bool done = r.last_sample == window.last_sample;
        sample = done ? window.first_sample : r.last_sample;
        lane += done ? r.lane_count : 0;
        TRY(tell(w, (double)(lane - window.first_lane) / window.lane_count, &last, err));
    }
    return BL_OK;
}

bl_result job_run_part(bl_job *job, const job_work_desc *w, render_pass pass, job_range part, bl_stats *stats,
                       bl_error *err)
{
    pass_kernel k = {.job = job, .pass = pass, .w = w, .tile = part};
    bool sums = pass == RENDER_GRADIENT || pass == RENDER_ADJOINT || pass == RENDER_TAPE_ADJOINT;
    uint32_t samples = part.last_sample - part.first_sample;
    job_work_desc piece = *w;
    gpu_kernel *kernel;
    TRY(job_kernel(job, pass, &kernel, err));
    BL_ASSERT(!sums || part.first_sample % SAMPLES_SUMMED == 0, "a tile begins at sample %u",
              part.first_sample);
    for (job_range r = part; r.first_sample < part.last_sample; r.first_sample = r.last_sample) {
        r.last_sample = sums && r.first_sample + SAMPLES_SUMMED < part.last_sample
                            ? r.first_sample + SAMPLES_SUMMED
                            : part.last_sample;
        double from = (double)(r.first_sample - part.first_sample) / samples,
               to = (double)(r.last_sample - part.first_sample) / samples;
        piece.progress_from = w->progress_from + from * (w->progress_to - w->progress_from);
        piece.progress_to = w->progress_from + to * (w->progress_to - w->progress_from);
        TRY(job_slice(job->batch, &piece, r, sums, &job->paths_per_second[pass], record_range, &k, stats,
                      err));
    }
    return bounds_check(job->bounds, err);
}

bool job_splats(const bl_job *job, render_pass pass)
{
    return job->scene->light_tracing && pass == RENDER_PRIMAL;
}

/* An image of splats; again with a coarser scale after an overflow. */
static bl_result run_splats(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    for (uint32_t coarser = 0;; coarser++) {
        uint32_t status[STATUS_COUNT];
        TRY(job_set_splat_scale(job, w->spp, coarser, err));
        TRY(prepare_pass(job, w, stats, err));
        TRY(job_run_part(job, w, w->pass, job_everything(w, job_pixels(job->scene)), stats, err));
        TRY(job_read_status(job, status, err));
        if (status[STATUS_OVERFLOW] == 0)
            return BL_OK;
        if (coarser == REPEATS_MOST)
            return error_set(err, BL_ERROR_DEVICE,
                             "the image overflows: %u contributions are too large or not finite",
                             status[STATUS_OVERFLOW]);
    }
}

bl_result job_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    job_range all = job_everything(w, job_pixels(job->scene));
    TRY(job_reserve_film(job, w->pass, all.lane_count, err));
    bool splats = job_splats(job, w->pass);
    TRY(splats ? run_splats(job, w, stats, err) : prepare_pass(job, w, stats, err));
    if (w->pass == RENDER_GRADIENT && job->scene->method == METHOD_TAPE)
        TRY(tape_run(job, w, stats, err));
    else if (w->pass == RENDER_GRADIENT && w->form != BL_FORM_FUSED)
        TRY(forms_run(job, w, stats, err));
    else if (!splats)
        TRY(job_run_part(job, w, w->pass, all, stats, err));
    stats->paths += w->lanes.count ? w->lanes.samples : (uint64_t)job_pixels(job->scene) * w->spp;
    return w->pass == RENDER_GRADIENT && !w->unfinished ? finish_gradient(job, stats, err) : BL_OK;
}

void job_record_resolve(bl_job *job, uint32_t spp, uint32_t strips)
{
    if (job->scene->light_tracing) {
        fit_record_gradient_read(job->batch, job->device->fixed,
                                 &(fit_gradient_read){.gradient = job->splats,
                                                      .scale = job->splat_scale,
                                                      .output = job->image,
                                                      .count = 3 * job_pixels(job->scene)});
        return;
    }
    fit_resolve r = {
        .film = job->film,
        .image = job->image,
        .pixels = job_pixels(job->scene),
        .strips = strips,
        .scale = 1.0f / (float)spp,
    };
    fit_record_resolve(job->batch, job->device->fixed, &r);
}

bl_result job_read_loss(bl_job *job, double *loss, bl_error *err)
{
    float value;
    TRY(gpu_buffer_read(job->results, 0, &value, sizeof value, err));
    *loss = (double)value;
    return BL_OK;
}

bl_result job_read_status(bl_job *job, uint32_t status[STATUS_COUNT], bl_error *err)
{
    return gpu_buffer_read(job->status, 0, status, sizeof(uint32_t) * STATUS_COUNT, err);
}
