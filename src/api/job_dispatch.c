/* SPDX-License-Identifier: BSD-3-Clause
 * The loops that cut a pass into dispatches.
 *
 * The unit of work is a range (lanes, samples of a strip). Ranges are chosen by measured speed so that a
 * dispatch takes about slice_seconds; results are the same bytes for any choice. A lane's image goes on where
 * it was left, in the same order. Its gradient begins anew with every dispatch, is a sum of floats
 * (spirv_gen/opt/accumulate.c), and goes to memory as an integer in the end. So lanes of passes that add to
 * gradients are cut at multiples of SAMPLES_SUMMED, and there always. */
#include "api/job_dispatch.h"
#include "api/job_buffers.h"
#include "api/job_kernels.h"
#include "api/job_results.h"
#include "api/kernel_code.h"
#include "api/wavefront.h"

enum {
    FIRST_SLICE_PATHS =
        1 << 12, /* of a device that may be slow, far below its time limit; more where lanes are .. */
    LANES_LEAST_CPU = 1 << 12,
    LANES_LEAST_GPU =
        1 << 16,            /* .. so many at least: an H100 with a sixteenth of them was eight times slower */
    STATUS_PATHS = 1 << 24, /* after so many paths counters are taken over */
    LANES_WANTED = 1 << 16,
    SAMPLES_LEAST = 4,
    LANES_LEAST_TOGETHER = 1 << 9
};

/* Enough lanes to fill a GPU on small films, but with some samples each, over which a lane's own costs
 * spread; a fixed function of film and samples (docs/architecture.md, Lanes). */
uint32_t job_strips(uint32_t pixels, uint32_t spp)
{
    BL_ASSERT(pixels > 0 && spp > 0, "%u samples of %u pixels", spp, pixels);
    uint32_t strips = LANES_WANTED / pixels, most = (spp + SAMPLES_LEAST - 1) / SAMPLES_LEAST;
    strips = strips < most ? strips : most;
    return strips < 1 ? 1 : strips;
}

uint32_t job_lanes_least(const bl_device *device)
{
    return gpu_is_processor(gpu_device_info(device->gpu)->kind) ? LANES_LEAST_CPU : LANES_LEAST_GPU;
}

/* ---- ranges ---- */

void job_record(bl_job *job, render_pass pass, gpu_buffer *values, const uint32_t *push, uint32_t lanes)
{
    BL_ASSERT(job->made->kernels[pass], "%s: its kernel is not there", render_passes[pass].name);
    bl_error err;
    gpu_buffer *buffers[BUFFER_COUNT + 1];
    job_buffers(job, pass, buffers);
    buffers[BUFFER_VALUES] = values;
    if (job->bounds && bounds_arm(job->bounds, buffers, &err) != BL_OK)
        return; /* The device is lost, and submission says so, too. */
    gpu_batch_dispatch(job->batch, job->made->kernels[pass], buffers, push, lanes);
}

void job_record_update(bl_job *job, render_pass pass, gpu_buffer *values)
{
    job_record(job, pass, values, (uint32_t[UNIFORM_COUNT]){[UNIFORM_LANE_COUNT] = job->plan->update_count},
               job->plan->update_count);
}

/* Push constants of a range. */
typedef struct range_words {
    uint32_t push[UNIFORM_COUNT];
} range_words;

static range_words words_of(const bl_job *job, const job_work_desc *w, render_pass pass, job_range tile,
                            job_range r)
{
    bool unknown = w->form == BL_FORM_TWO_WALK || w->form == BL_FORM_ONE_IMAGE;
    return (range_words){{
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
        [UNIFORM_TILE_LANE] = tile.first_lane,
        [UNIFORM_TILE_LANES] = tile.lane_count,
        [UNIFORM_TILE_SAMPLE] = tile.first_sample,
        [UNIFORM_TILE_SLOTS] = pass == RENDER_EDGES_PATH_FORWARD ? w->film_spp : job_range_paths(tile),
        [UNIFORM_BATCH] = job->plan->batch_pixels ? plan_batch_word(job->plan) : 0,
        [UNIFORM_BATCH_PIXELS] = job->plan->batch_pixels,
        [UNIFORM_UNKNOWN] = pass == RENDER_TAPE ? job->tape_room : unknown,
    }};
}

void job_record_range(bl_job *job, const job_work_desc *w, render_pass pass, job_range tile, job_range r)
{
    const range_words words = words_of(job, w, pass, tile, r);
    job_record(job, pass, job->values, words.push, r.lane_count);
}

typedef struct pass_kernel {
    bl_job *job;
    render_pass pass;
    const job_work_desc *w;
    job_range tile; /* the part whose samples BUFFER_SAMPLES holds */
} pass_kernel;

static void record_range(void *user, job_range r)
{
    const pass_kernel *k = user;
    job_record_range(k->job, k->w, k->pass, k->tile, r);
}

static bl_result run_wavefront(void *user, job_range r, double *seconds, bl_error *err)
{
    const pass_kernel *k = user;
    const range_words words = words_of(k->job, k->w, k->pass, k->tile, r);
    return wavefront_run(k->job, k->pass, words.push, seconds, err);
}

/* No counter of the device comes to 2^32 in between: a path adds to one at most 256 times, on average. */
static bl_result count_paths(void *user, job_range r, bl_error *err)
{
    bl_job *job = ((const pass_kernel *)user)->job;
    const uint32_t most = job->testing.status_paths ? job->testing.status_paths : STATUS_PATHS;
    job->paths_uncounted += job_range_paths(r);
    return job->paths_uncounted < most ? BL_OK : job_take_status(job, err);
}

/* The next range of a window from (lane, sample) on, about `paths` long: whole lanes if they are short
 * enough, else a part of the samples of a group or, where a lane's samples stay together, a smaller group. */
static job_range next_range(const job_slices *s, uint32_t lane, uint32_t sample, double paths)
{
    const job_range window = s->window;
    const bool together = s->together;
    job_range r = {.first_lane = lane, .first_sample = sample, .last_sample = window.last_sample};
    uint32_t lanes = window.first_lane + window.lane_count - lane;
    double whole = paths / (window.last_sample - window.first_sample);
    const uint32_t least = together ? LANES_LEAST_TOGETHER : job_lanes_least(s->device);
    if (together || (sample == window.first_sample && whole >= least)) {
        whole = whole > least ? whole : least;
        r.lane_count = whole < lanes ? (uint32_t)whole / LOCAL_SIZE * LOCAL_SIZE : lanes;
        return r;
    }
    r.lane_count = lanes < least ? lanes : least;
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

static bl_result submit(gpu_batch *batch, bl_stats *stats, double *seconds, bl_error *err)
{
    TRY(gpu_batch_submit(batch, err));
    TRY(gpu_batch_wait(batch, seconds, err));
    stats->device_seconds += *seconds;
    return BL_OK;
}

bl_result job_submit(bl_job *job, bl_stats *stats, double *seconds, bl_error *err)
{
    TRY(submit(job->batch, stats, seconds, err));
    return fit_kernels_check(job->device->fixed, err);
}

/* Speed for the next slice: the last one's, but growing at most fourfold, so that one odd measurement cannot
 * make a long dispatch. */
static void learn_speed(double *speed, double paths, double seconds)
{
    double now = paths / (seconds > 1e-6 ? seconds : 1e-6);
    *speed = *speed > 0 && now > 4 * *speed ? 4 * *speed : now;
}

static bl_result run_slice(const job_slices *s, job_range r, bl_stats *stats, double *seconds, bl_error *err)
{
    if (s->run) {
        TRY(s->run(s->user, r, seconds, err));
        stats->device_seconds += *seconds;
        return BL_OK;
    }
    TRY(gpu_batch_begin(s->batch, err));
    s->record(s->user, r);
    return submit(s->batch, stats, seconds, err);
}

bl_result job_slice(const job_slices *s, bl_stats *stats, bl_error *err)
{
    const job_range window = s->window;
    double slice = s->work->slice_seconds > 0 ? s->work->slice_seconds : 0.1, last = clock_seconds();
    uint32_t end = window.first_lane + window.lane_count, sample = window.first_sample;
    BL_ASSERT(window.first_sample < window.last_sample, "a window of samples %u to %u", window.first_sample,
              window.last_sample);
    for (uint32_t lane = window.first_lane; lane < end;) {
        double paths = *s->speed > 0 ? *s->speed * slice : FIRST_SLICE_PATHS, seconds;
        job_range r = next_range(s, lane, sample, paths > 1 ? paths : 1);
        BL_ASSERT(r.lane_count > 0 && r.first_lane + r.lane_count <= end, "a range of %u lanes at %u of %u",
                  r.lane_count, r.first_lane, end);
        TRY(run_slice(s, r, stats, &seconds, err));
        learn_speed(s->speed, (double)r.lane_count * (r.last_sample - r.first_sample), seconds);
        stats->slices++;
        if (s->ran)
            TRY(s->ran(s->user, r, err));
        bool done = r.last_sample == window.last_sample;
        sample = done ? window.first_sample : r.last_sample;
        lane += done ? r.lane_count : 0;
        const double part =
                         (double)(sample - window.first_sample) / (window.last_sample - window.first_sample),
                     lanes = lane - window.first_lane + part * (done ? 0 : r.lane_count);
        if (s->reached)
            *s->reached =
                (job_reached){.lane = lane, .lanes = done ? 0 : r.lane_count, .samples = done ? 0 : sample};
        TRY(tell(s->work, lanes / window.lane_count, &last, err));
    }
    return BL_OK;
}

bool job_pass_sums(render_pass pass)
{
    return pass == RENDER_GRADIENT || pass == RENDER_ADJOINT || pass == RENDER_TAPE_ADJOINT ||
           pass == RENDER_EDGES_SEEN || pass == RENDER_EDGES_PATH || pass == RENDER_EDGES_LIT;
}

bl_result job_run_part(bl_job *job, const job_work_desc *w, render_pass pass, job_range part, bl_stats *stats,
                       bl_error *err)
{
    BL_ASSERT(part.lane_count > 0 && part.first_sample < part.last_sample, "%s: %u lanes, samples %u to %u",
              render_passes[pass].name, part.lane_count, part.first_sample, part.last_sample);
    pass_kernel k = {.job = job, .pass = pass, .w = w, .tile = part};
    bool sums = job_pass_sums(pass);
    uint32_t samples = part.last_sample - part.first_sample;
    job_work_desc piece = *w;
    gpu_kernel *kernel;
    const bool cut = wavefront_wanted(job, pass);
    TRY(cut ? wavefront_make(job, pass, NULL, err) : job_kernel(job, pass, &kernel, err));
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
        const job_slices slices = {
            .device = job->device,
            .batch = job->batch,
            .work = &piece,
            .window = r,
            .together = sums,
            .speed = &job->made->paths_per_second[pass],
            .record = record_range,
            .run = cut ? run_wavefront : NULL,
            .ran = count_paths,
            .reached = &job->reached,
            .user = &k,
        };
        TRY(job_slice(&slices, stats, err));
    }
    return bounds_check(job->bounds, err);
}
