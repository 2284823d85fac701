/* SPDX-License-Identifier: BSD-3-Clause
 * Wavefront mode: the trace of a pass is cut into kernels (spirv_gen/opt/cut.c), which run one after the
 * other, trip after trip, until no walk goes on. The random numbers, and so the walks, are those of the
 * megakernel.
 *
 * Memory, in words, for n lanes of a range: planes of n words each; two queues of n slots, one that a trip
 * reads and one that it writes; by target a queue of n slots for each class; counters. How long a queue has
 * become is read back before the kernels that take it are dispatched, for exactly that many invocations. */
#include "api/wavefront.h"
#include "api/job_buffers.h"
#include "api/job_kernels.h"
#include "spirv_gen/opt/cut.h"

#include <string.h>

enum { BYTES_MOST = 64 << 20, LANES_MOST = 1 << 20, LABEL_MOST = 64 };

struct wavefront {
    gpu_kernel *begin, *end, **segments, **calls; /* as in opt_cut */
    uint32_t groups, targets, words;
    uint32_t addressed; /* gpu_kernel_desc.addressed of the kernels */
    bl_kernel_info took;
};

bool wavefront_wanted(const bl_job *job, render_pass pass)
{
    enum render_pass_kind kind = render_passes[pass].kind;
    bool walks = kind == PASS_IMAGE || kind == PASS_GRADIENT || kind == PASS_EDGES || kind == PASS_CHECK;
    return job->desc.wavefront != BL_WAVEFRONT_NONE && walks && pass != RENDER_CHANNELS &&
           pass != RENDER_EDGES_LEARN;
}

/* ---- kernels ---- */

static void destroy_kernels(struct wavefront *w)
{
    gpu_kernel_destroy(w->begin), gpu_kernel_destroy(w->end);
    for (uint32_t g = 0; w->segments && g <= w->groups; g++)
        gpu_kernel_destroy(w->segments[g]);
    for (uint32_t k = 0; w->calls && k < w->groups * w->targets; k++)
        gpu_kernel_destroy(w->calls[k]);
    memory_free(w->segments), memory_free(w->calls), memory_free(w);
}

void wavefront_destroy(struct wavefront *all[RENDER_PASS_COUNT])
{
    for (int k = 0; k < RENDER_PASS_COUNT; k++)
        if (all[k])
            destroy_kernels(all[k]);
}

static void add_up(bl_kernel_info *all, const bl_kernel_info *one)
{
    all->optimise_seconds += one->optimise_seconds, all->generate_seconds += one->generate_seconds;
    all->cache_seconds += one->cache_seconds, all->driver_seconds += one->driver_seconds;
    all->spirv_words += one->spirv_words;
    all->functions += one->functions, all->ops += one->ops, all->calls += one->calls;
    all->call_bytes += one->call_bytes;
    all->cached &= one->cached;
}

typedef struct making {
    bl_job *job;
    render_pass pass;
    struct wavefront *w;
} making;

/* part: its name, and its number where there are several. */
static bl_result make(const making *m, const ir_module *trace, const char *part, int number, gpu_kernel **out,
                      bl_error *err)
{
    char label[LABEL_MOST];
    bl_kernel_info one = {0};
    if (number < 0)
        snprintf(label, sizeof label, "%s-%s", render_passes[m->pass].name, part);
    else
        snprintf(label, sizeof label, "%s-%s-%d", render_passes[m->pass].name, part, number);
    TRY(job_kernel_of(m->job, m->pass, trace, label, out, &one, err));
    add_up(&m->w->took, &one);
    return BL_OK;
}

static bl_result make_all(const making *m, const opt_cut *cut, bl_error *err)
{
    struct wavefront *w = m->w;
    w->groups = cut->groups, w->targets = cut->targets, w->words = cut->words;
    w->segments = memory_need_zeroed(w->groups + 1, sizeof *w->segments);
    w->calls = memory_need_zeroed(w->groups * w->targets + 1, sizeof *w->calls);
    TRY(make(m, cut->begin, "begin", -1, &w->begin, err));
    for (uint32_t g = 0; g <= w->groups; g++)
        TRY(make(m, cut->segments[g], "segment", (int)g, &w->segments[g], err));
    for (uint32_t k = 0; k < w->groups * w->targets; k++)
        TRY(make(m, cut->calls[k], "call", (int)k, &w->calls[k], err));
    return make(m, cut->end, "end", -1, &w->end, err);
}

static uint32_t lanes_for(uint32_t words, uint32_t targets)
{
    uint32_t lanes = BYTES_MOST / 4 / (words + 2 + targets) / LOCAL_SIZE * LOCAL_SIZE;
    return lanes < LANES_MOST ? lanes : LANES_MOST;
}

static bl_result cut_and_make(const making *m, bl_error *err)
{
    bl_job *job = m->job;
    ir_module *trace, *simple;
    TRY(job_trace_timed(job, m->pass, &trace, &m->w->took, err));
    double start = clock_seconds();
    m->w->took.cached = true; /* as long as all of its kernels are */
    opt_options passes =
        job_lowering(job, m->pass, (x86_target)gpu_device_info(job->device->gpu)->native_target);
    bl_result r = opt_simplify(trace, &passes, &simple, err);
    ir_module_destroy(trace);
    TRY(r);
    const opt_cut_options options = {
        .uniforms = UNIFORM_COUNT,
        .by_target = job->desc.wavefront == BL_WAVEFRONT_TARGET,
    };
    opt_cut cut;
    r = opt_cut_walk(simple, &options, &cut, err);
    ir_module_destroy(simple);
    TRY(r);
    m->w->took.optimise_seconds = clock_seconds() - start;
    m->w->took.state_bytes = 4 * cut.words;
    if (lanes_for(cut.words, cut.targets) == 0)
        r = error_set(err, BL_ERROR_UNSUPPORTED, "%s: walks of %u words have no room in memory",
                      render_passes[m->pass].name, cut.words);
    else
        r = make_all(m, &cut, err);
    opt_cut_free(&cut);
    return r;
}

bl_result wavefront_make(bl_job *job, render_pass pass, bl_kernel_info *took, bl_error *err)
{
    BL_ASSERT(wavefront_wanted(job, pass), "%s is not done in wavefront mode", render_passes[pass].name);
    uint32_t addressed = job_addressed(job, pass);
    struct wavefront *w = job->made->wavefronts[pass];
    if (w && addressed & ~w->addressed) { /* A buffer has outgrown a binding. */
        destroy_kernels(w);
        w = job->made->wavefronts[pass] = NULL;
    }
    if (!w) {
        if (job->bounds)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "BL_DEBUG=bounds: kernels of wavefront mode cannot be checked");
        w = memory_need_zeroed(1, sizeof *w);
        w->addressed = addressed;
        const making m = {job, pass, w};
        bl_result r = cut_and_make(&m, err);
        if (r != BL_OK)
            destroy_kernels(w);
        TRY(r);
        job->made->wavefronts[pass] = w;
    }
    if (took)
        *took = w->took;
    return BL_OK;
}

/* ---- running ---- */

typedef struct layout {
    uint32_t lanes, queues, classes, counters, words;
} layout;

static layout layout_for(const struct wavefront *w, uint32_t lanes)
{
    layout l = {.lanes = lanes, .queues = w->words * lanes};
    l.classes = l.queues + 2 * lanes;
    l.counters = l.classes + w->targets * lanes;
    l.words = l.counters + 1 + w->targets;
    return l;
}

typedef struct run {
    bl_job *job;
    const struct wavefront *w;
    layout l;
    gpu_buffer *buffers[BUFFER_COUNT + 1];
    uint32_t push[UNIFORM_COUNT + OPT_CUT_UNIFORMS];
    double seconds;
} run;

static void dispatch(run *r, gpu_kernel *kernel, uint32_t count, uint32_t from, uint32_t to, uint32_t counter)
{
    uint32_t *own = r->push + UNIFORM_COUNT;
    own[OPT_CUT_COUNT] = count, own[OPT_CUT_SLOTS] = r->l.lanes;
    own[OPT_CUT_FROM] = from, own[OPT_CUT_TO] = to, own[OPT_CUT_COUNTER] = counter;
    gpu_batch_dispatch(r->job->batch, kernel, r->buffers, r->push, count);
}

static uint32_t counter_count(const run *r) { return 1 + r->w->targets; }

static void zero_counters(const run *r)
{
    gpu_batch_fill(r->job->batch, r->job->walks, 4ull * r->l.counters, 4ull * counter_count(r), 0);
}

/* Runs what has been recorded; the counters are then in the host's memory. */
static bl_result submit(run *r, const uint32_t **counters, bl_error *err)
{
    bl_job *job = r->job;
    double seconds;
    gpu_batch_copy(job->batch, job->walks, 4ull * r->l.counters, job->walk_counters, 0,
                   4ull * counter_count(r));
    TRY(gpu_batch_submit(job->batch, err));
    TRY(gpu_batch_wait(job->batch, &seconds, err));
    r->seconds += seconds;
    *counters = gpu_buffer_mapped(job->walk_counters);
    return BL_OK;
}

/* One trip of `count` walks of queue number `now`. Between the first segment and the calls the classes are
 * counted. */
static bl_result run_trip(run *r, uint32_t now, uint32_t count, const uint32_t **counters, bl_error *err)
{
    const struct wavefront *w = r->w;
    const layout *l = &r->l;
    uint32_t from = l->queues + now * l->lanes, to = l->queues + !now * l->lanes;
    TRY(gpu_batch_begin(r->job->batch, err));
    zero_counters(r);
    if (w->groups) {
        dispatch(r, w->segments[0], count, from, l->classes, l->counters + 1);
        TRY(submit(r, counters, err));
        TRY(gpu_batch_begin(r->job->batch, err));
    }
    for (uint32_t g = 0; g < w->groups; g++) {
        for (uint32_t k = 0; k < w->targets; k++)
            dispatch(r, w->calls[g * w->targets + k], (*counters)[1 + k], l->classes + k * l->lanes, 0, 0);
        if (g + 1 < w->groups)
            dispatch(r, w->segments[g + 1], count, from, 0, 0);
    }
    dispatch(r, w->segments[w->groups], count, from, to, l->counters);
    return submit(r, counters, err);
}

static bl_result reserve(bl_job *job, const layout *l, uint32_t counters, bl_error *err)
{
    if (!job->walks || gpu_buffer_size(job->walks) < 4ull * l->words)
        TRY(job_replace_buffer(job, 4ull * l->words, "walks", &job->walks, err));
    if (job->walk_counters && gpu_buffer_size(job->walk_counters) >= 4ull * counters)
        return BL_OK;
    gpu_buffer_destroy(job->walk_counters);
    job->walk_counters = NULL;
    return gpu_buffer_create(job->device->gpu, GPU_HOST, 4ull * counters, "counters of walks",
                             &job->walk_counters, err);
}

/* Runs the walks of the lanes in r->push, for which there is room, to their ends. */
static bl_result run_walks(run *r, render_pass pass, bl_error *err)
{
    bl_job *job = r->job;
    const uint32_t lanes = r->push[UNIFORM_LANE_COUNT], *counters;
    r->l = layout_for(r->w, lanes);
    TRY(reserve(job, &r->l, counter_count(r), err));
    job_buffers(job, pass, r->buffers);
    r->buffers[BUFFER_COUNT] = job->walks;
    TRY(gpu_batch_begin(job->batch, err));
    zero_counters(r);
    dispatch(r, r->w->begin, lanes, 0, r->l.queues, r->l.counters);
    TRY(submit(r, &counters, err));
    for (uint32_t now = 0, count; (count = counters[0]) > 0; now = !now) {
        BL_ASSERT(count <= lanes, "%u of %u walks go on", count, lanes);
        TRY(run_trip(r, now, count, &counters, err));
    }
    TRY(gpu_batch_begin(job->batch, err));
    dispatch(r, r->w->end, lanes, 0, 0, 0);
    return submit(r, &counters, err);
}

bl_result wavefront_run(bl_job *job, render_pass pass, const uint32_t push[UNIFORM_COUNT], double *seconds,
                        bl_error *err)
{
    run r = {.job = job, .w = job->made->wavefronts[pass]};
    BL_ASSERT(r.w && push[UNIFORM_LANE_COUNT] > 0, "%s: no kernels, or no lanes", render_passes[pass].name);
    memcpy(r.push, push, UNIFORM_COUNT * sizeof *push);
    const uint32_t most = lanes_for(r.w->words, r.w->targets);
    for (uint32_t left = push[UNIFORM_LANE_COUNT]; left > 0; left -= r.push[UNIFORM_LANE_COUNT]) {
        r.push[UNIFORM_FIRST_LANE] = push[UNIFORM_FIRST_LANE] + push[UNIFORM_LANE_COUNT] - left;
        r.push[UNIFORM_LANE_COUNT] = left < most ? left : most;
        TRY(run_walks(&r, pass, err));
    }
    *seconds = r.seconds;
    return BL_OK;
}
