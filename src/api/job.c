/* SPDX-License-Identifier: BSD-3-Clause
 * Jobs: the buffers and kernels of one scene on one device, and the loops that cut a pass into dispatches.
 *
 * The unit of work is a range (lanes, samples of a strip). Ranges are chosen by measured speed so that a dispatch takes about
 * slice_seconds; results are the same bytes for any choice, because a lane's sums go on where they were left, in the same order, and
 * gradients are integer sums. */
#include "api/handles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLICE_PATHS = 1 << 14, LANES_WANTED = 1 << 16, SAMPLES_LEAST = 4 };

uint32_t job_pixels(const render_scene *s) { return s->width * s->height; }

/* Enough lanes to fill a GPU on small films, but with some samples each, over which a lane's own costs spread; a fixed function of film and samples (contracts.md, Lanes). */
uint32_t job_strips(const render_scene *s, uint32_t spp)
{
    uint32_t strips = LANES_WANTED / job_pixels(s), most = (spp + SAMPLES_LEAST - 1) / SAMPLES_LEAST;
    strips = strips < most ? strips : most;
    return strips < 1 ? 1 : strips;
}

/* ---- buffers ---- */

static bl_result make_buffer(bl_job *job, uint64_t bytes, const char *label, gpu_buffer **out, bl_error *err)
{
    TRY(gpu_buffer_create(job->device->gpu, GPU_DEVICE, bytes, label, out, err));
    job->bytes += gpu_buffer_size(*out);
    return BL_OK;
}

static void drop_buffer(bl_job *job, gpu_buffer **b)
{
    if (*b)
        job->bytes -= gpu_buffer_size(*b);
    gpu_buffer_destroy(*b);
    *b = NULL;
}

/* Before the scene buffer is written, which holds its address. */
static bl_result make_geometry(bl_job *job, bl_error *err)
{
    if (!job->plan->query)
        return BL_OK;
    TRY(rays_build(job->device->gpu, job->plan, &job->accel, err));
    job->bytes += gpu_accel_size(job->accel);
    return BL_OK;
}

static bl_result make_buffers(bl_job *job, bl_error *err)
{
    const plan *p = job->plan;
    const render_scene *s = job->scene;
    uint64_t image = 12ull * job_pixels(s), gradient = p->gradient_count;
    TRY(make_buffer(job, 4ull * p->words.count, "scene", &job->words, err));
    TRY(make_buffer(job, 4ull * p->value_count, "values", &job->values, err));
    TRY(make_buffer(job, 8ull * gradient, "gradient", &job->gradient, err));
    TRY(make_buffer(job, 4ull * gradient, "scale", &job->scale, err));
    TRY(make_buffer(job, 4ull * gradient, "gradient as f32", &job->output, err));
    TRY(make_buffer(job, 4ull * STATUS_COUNT, "status", &job->status, err));
    TRY(make_buffer(job, image, "image", &job->image, err));
    TRY(make_buffer(job, p->any_request ? image : 0, "adjoint", &job->adjoint, err));
    TRY(make_buffer(job, job->desc.frozen ? 4ull * p->value_count : 0, "frozen values", &job->frozen, err));
    TRY(make_buffer(job, 0, "tangents", &job->tangent, err)); /* until a forward pass wants it */
    TRY(make_buffer(job, 4ull * fit_loss_partials(3 * job_pixels(s)), "partial sums", &job->partials, err));
    TRY(make_buffer(job, 4ull * WORK_RESULTS, "results", &job->results, err));
    TRY(make_buffer(job, 0, "samples", &job->samples, err));
    TRY(gpu_buffer_write(job->words, 0, p->words.data, 4ull * p->words.count, err));
    if (s->values.count)
        TRY(gpu_buffer_write(job->values, 0, s->values.data, 4ull * s->values.count, err));
    job->host_values = malloc(4 * (size_t)s->values.count + 4);
    BL_ASSERT(job->host_values, "out of memory");
    if (s->values.count)
        memcpy(job->host_values, s->values.data, 4 * (size_t)s->values.count);
    job->values_changed = true;
    job->changed = malloc(s->parameters.count + 1u);
    BL_ASSERT(job->changed, "out of memory");
    memset(job->changed, true, s->parameters.count + 1u);
    return BL_OK;
}

void job_value_changed(bl_job *job, uint32_t parameter) { job->values_changed = job->changed[parameter] = true; }

bl_result job_reserve_samples(bl_job *job, uint64_t slots, bl_error *err)
{
    if (gpu_buffer_size(job->samples) >= 4ull * SAMPLE_WORDS * slots)
        return BL_OK;
    drop_buffer(job, &job->samples);
    return make_buffer(job, 4ull * SAMPLE_WORDS * slots, "samples", &job->samples, err);
}

bl_result job_reserve_adjoints(bl_job *job, uint32_t images, bl_error *err)
{
    uint64_t bytes = 12ull * job_pixels(job->scene) * images;
    if (gpu_buffer_size(job->adjoint) >= bytes)
        return BL_OK;
    drop_buffer(job, &job->adjoint);
    return make_buffer(job, bytes, "adjoint", &job->adjoint, err);
}

bl_result job_tangents(bl_job *job, const float *tangents, bl_error *err)
{
    uint64_t bytes = 4ull * job->plan->value_count;
    if (gpu_buffer_size(job->tangent) < bytes) {
        drop_buffer(job, &job->tangent);
        TRY(make_buffer(job, bytes, "tangents", &job->tangent, err));
    }
    return gpu_buffer_write(job->tangent, 0, tangents, bytes, err);
}

bl_result job_reserve_film(bl_job *job, render_pass pass, uint32_t strips, bl_error *err)
{
    uint64_t words = (uint64_t)(pass == RENDER_CHANNELS ? job->scene->channels.count : 3) * job_pixels(job->scene) * strips * (pass == RENDER_VARIANCE ? 2 : 1);
    if (job->film && job->film_words >= words)
        return BL_OK;
    drop_buffer(job, &job->film);
    TRY(make_buffer(job, 4 * words, "film", &job->film, err));
    job->film_words = words;
    return BL_OK;
}

/* ---- kernels ---- */

const char *bl_optimisation_name(uint32_t k)
{
    if (k < OPT_SWITCH_COUNT)
        return opt_switch_names[k];
    return k - OPT_SWITCH_COUNT < PLAN_SWITCH_COUNT ? plan_switch_names[k - OPT_SWITCH_COUNT] : NULL;
}

opt_options job_lowering(const bl_job *job)
{
    opt_options o = {.off = job->desc.passes_off & ((1u << OPT_SWITCH_COUNT) - 1), .gradient_elements = job->plan->gradient_count,
                     .accumulate = job->fixed_point ? OPT_ACCUMULATE_FIXED : OPT_ACCUMULATE_FLOAT, .scale_buffer = BUFFER_SCALE,
                     .status_buffer = BUFFER_STATUS, .overflow_word = STATUS_OVERFLOW, .underflow_word = STATUS_UNDERFLOW,
                     .sites = job->bounds ? &job->bounds->sites : NULL};
    plan_ray_options(job->plan, &o);
    return o;
}

bl_result job_trace(const bl_job *job, render_pass pass, ir_module **out, bl_error *err)
{
    render_trace_options o = {.no_next_event = job->desc.no_next_event, .fixed_point = job->fixed_point};
    return render_trace(job->plan, pass, &o, out, err);
}

/* The buffers of generated kernels as they are now, but for BUFFER_VALUES. */
static void job_buffers(const bl_job *job, gpu_buffer *buffers[BUFFER_COUNT + 1])
{
    gpu_buffer *const all[BUFFER_COUNT + 1] = {
        [BUFFER_SCENE] = job->words,   [BUFFER_VALUES] = job->values,   [BUFFER_GRADIENT] = job->gradient, [BUFFER_FILM] = job->film,
        [BUFFER_STATUS] = job->status, [BUFFER_ADJOINT] = job->adjoint, [BUFFER_FROZEN] = job->frozen,     [BUFFER_SCALE] = job->scale,
        [BUFFER_SAMPLES] = job->samples, [BUFFER_TANGENT] = job->tangent, [BUFFER_COUNT] = job->bounds ? job->bounds->report : NULL};
    memcpy(buffers, all, sizeof all);
}

/* Bit i: buffer i is larger than a binding reaches. */
static uint32_t job_addressed(const bl_job *job)
{
    gpu_buffer *buffers[BUFFER_COUNT + 1];
    uint32_t addressed = 0;
    job_buffers(job, buffers);
    for (uint32_t i = 0; i < BUFFER_COUNT; i++)
        if (buffers[i] && gpu_buffer_size(buffers[i]) > gpu_device_info(job->device->gpu)->max_buffer_range)
            addressed |= 1u << i;
    return addressed;
}

static spv_options generation(const bl_job *job)
{
    return (spv_options){.addressed = job_addressed(job), .local_size = LOCAL_SIZE, .names = true, .rays = rays_lowering(job->plan),
                         .signed_zero_inf_nan_preserve = gpu_device_info(job->device->gpu)->signed_zero_inf_nan_preserve};
}

static const char *const pass_labels[RENDER_PASS_COUNT] = {
    [RENDER_PRIMAL] = "primal", [RENDER_VARIANCE] = "variance", [RENDER_CHANNELS] = "channels", [RENDER_GRADIENT] = "gradient", [RENDER_REPLAY] = "replay",
    [RENDER_ADJOINT] = "adjoint", [RENDER_FROZEN] = "frozen", [RENDER_UNROLLED] = "unrolled", [RENDER_FORWARD] = "forward",
    [RENDER_UPDATE] = "update", [RENDER_UPDATE_ADJOINT] = "update adjoint", [RENDER_UPDATE_TANGENT] = "update tangent", [RENDER_TABLES] = "tables"};

static bl_result generate_pass(const bl_job *job, render_pass pass, kernel_code *code, bl_kernel_info *took, bl_error *err)
{
    ir_module *trace;
    double start = clock_seconds();
    TRY(job_trace(job, pass, &trace, err));
    *took = (bl_kernel_info){.trace_seconds = clock_seconds() - start, .baked = job->plan->baked};
    opt_options passes = job_lowering(job);
    spv_options generate = generation(job);
    kernel_source source = {.context = job->context, .device = job->device->identity, .trace = trace,
                            .passes = &passes, .generate = &generate};
    bl_result r = kernel_code_make(&source, code, took, err);
    if (r == BL_OK && (r = see_dump(trace, &passes, &code->spirv, pass_labels[pass], err)) != BL_OK)
        spv_code_free(&code->spirv);
    ir_module_destroy(trace);
    return r;
}

bl_result job_kernel(bl_job *job, render_pass pass, gpu_kernel **out, bl_error *err)
{
    uint32_t addressed = job_addressed(job);
    if (job->kernels[pass] && addressed & ~job->addressed[pass]) { /* a buffer has outgrown a binding */
        gpu_kernel_destroy(job->kernels[pass]);
        job->kernels[pass] = NULL;
    }
    if (!job->kernels[pass]) {
        kernel_code code;
        bl_kernel_info *took = &job->compiled[pass];
        TRY(generate_pass(job, pass, &code, took, err));
        double start = clock_seconds();
        gpu_kernel_desc d = {.words = code.spirv.words, .word_count = code.spirv.word_count, .buffer_count = BUFFER_COUNT + (job->bounds != NULL),
                             .push_words = code.push_words, .local_size = LOCAL_SIZE, .addressed = addressed, .label = pass_labels[pass]};
        job->addressed[pass] = addressed;
        bl_result r = kernel_create(job->device, &d, &job->kernels[pass], err);
        took->driver_seconds = clock_seconds() - start;
        spv_code_free(&code.spirv);
        TRY(r);
    }
    *out = job->kernels[pass];
    return BL_OK;
}

/* ---- ranges ---- */

static void record(bl_job *job, gpu_kernel *kernel, gpu_buffer *values, const uint32_t *push, uint32_t lanes)
{
    bl_error err;
    gpu_buffer *buffers[BUFFER_COUNT + 1];
    job_buffers(job, buffers);
    buffers[BUFFER_VALUES] = values;
    if (job->bounds && bounds_arm(job->bounds, buffers, &err) != BL_OK)
        return; /* a device that is lost, which submission says too */
    gpu_batch_dispatch(job->batch, kernel, buffers, push, lanes);
}

typedef struct pass_kernel {
    bl_job *job;
    gpu_kernel *kernel;
    const job_work_desc *w;
    job_range tile; /* what BUFFER_SAMPLES holds */
} pass_kernel;

static void record_range(void *user, job_range r)
{
    const pass_kernel *k = user;
    const bl_job *job = k->job;
    const job_work_desc *w = k->w;
    const uint32_t push[UNIFORM_COUNT] = {
        [UNIFORM_FIRST_LANE] = r.first_lane,     [UNIFORM_LANE_COUNT] = r.lane_count,   [UNIFORM_FIRST_SAMPLE] = r.first_sample,
        [UNIFORM_LAST_SAMPLE] = r.last_sample,   [UNIFORM_STRIPS] = w->strips,          [UNIFORM_SPP] = w->spp,
        [UNIFORM_SEED] = w->seed,                [UNIFORM_STREAM] = w->stream,          [UNIFORM_WIDTH] = job->scene->width,
        [UNIFORM_HEIGHT] = job->scene->height,   [UNIFORM_HALVES] = w->form == BL_FORM_TWO_WALK ? 2 : 1,
                 [UNIFORM_TILE_LANE] = k->tile.first_lane,
        [UNIFORM_TILE_LANES] = k->tile.lane_count, [UNIFORM_TILE_SAMPLE] = k->tile.first_sample,
        [UNIFORM_TILE_SLOTS] = job_range_paths(k->tile)};
    record(k->job, k->kernel, job->values, push, r.lane_count);
}

/* The next range of a window from (lane, sample) on, about `paths` long: whole lanes if they are short enough, else a part of the samples of
 * a group. */
static job_range next_range(job_range window, uint32_t lane, uint32_t sample, double paths)
{
    job_range r = {.first_lane = lane, .first_sample = sample, .last_sample = window.last_sample};
    uint32_t lanes = window.first_lane + window.lane_count - lane;
    double whole = paths / (window.last_sample - window.first_sample);
    if (sample == window.first_sample && whole >= LANES_LEAST) {
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
static void record_update(bl_job *job, gpu_kernel *kernel, gpu_buffer *values)
{
    record(job, kernel, values, (uint32_t[UNIFORM_COUNT]){[UNIFORM_LANE_COUNT] = job->plan->update_count}, job->plan->update_count);
}

static bool follows_changed(const bl_job *job, const plan_table *b)
{
    bool changed = !job->tables_built;
    for (uint32_t k = 0; k < b->follow_count; k++)
        changed |= job->changed[b->follows[k]];
    return changed;
}

/* Sampling tables whose values have changed, step by step. */
static void record_tables(bl_job *job, gpu_kernel *kernel)
{
    for (uint32_t i = 0; i < job->plan->table_builds.count; i++) {
        const plan_table *b = &job->plan->table_builds.data[i];
        if (!follows_changed(job, b))
            continue;
        const uint32_t push[UNIFORM_COUNT] = {[UNIFORM_LANE_COUNT] = b->lanes, [UNIFORM_TABLE_STEP] = b->function, [UNIFORM_TABLE_RECORD] = b->record};
        record(job, kernel, job->values, push, b->lanes);
    }
}

/* The adjoint of a gradient pass goes on to the parameters that derived values come from. */
static bl_result finish_gradient(bl_job *job, bl_stats *stats, bl_error *err)
{
    gpu_kernel *kernel;
    double seconds;
    if (!job->plan->update_requested)
        return BL_OK;
    TRY(job_kernel(job, RENDER_UPDATE_ADJOINT, &kernel, err));
    TRY(gpu_batch_begin(job->batch, err));
    record_update(job, kernel, job->values);
    TRY(job_submit(job->batch, stats, &seconds, err));
    return bounds_check(job->bounds, err);
}

/* ---- a pass ---- */

static bl_result prepare_pass(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    gpu_kernel *update = NULL, *tables = NULL, *tangents = NULL;
    double seconds;
    if (job->plan->update_count && (job->values_changed || w->pass == RENDER_FROZEN))
        TRY(job_kernel(job, RENDER_UPDATE, &update, err));
    if (job->plan->table_builds.count && job->values_changed)
        TRY(job_kernel(job, RENDER_TABLES, &tables, err));
    if (job->plan->update_requested && w->pass == RENDER_FORWARD)
        TRY(job_kernel(job, RENDER_UPDATE_TANGENT, &tangents, err));
    TRY(gpu_batch_begin(job->batch, err));
    if (update && job->values_changed)
        record_update(job, update, job->values);
    if (update && w->pass == RENDER_FROZEN)
        record_update(job, update, job->frozen);
    if (tables)
        record_tables(job, tables);
    if (tangents)
        record_update(job, tangents, job->values);
    if (w->pass == RENDER_GRADIENT && !w->adds)
        gpu_batch_fill(job->batch, job->gradient, 0, gpu_buffer_size(job->gradient), 0);
    gpu_batch_fill(job->batch, job->film, 0, gpu_buffer_size(job->film), 0);
    gpu_batch_fill(job->batch, job->status, 0, gpu_buffer_size(job->status), 0);
    TRY(job_submit(job->batch, stats, &seconds, err));
    job->values_changed = false;
    job->tables_built = true;
    memset(job->changed, false, job->scene->parameters.count);
    return bounds_check(job->bounds, err);
}

/* Speed for the next slice: the last one's, but growing at most fourfold, so that one odd measurement cannot make a long dispatch. */
static void learn_speed(double *speed, double paths, double seconds)
{
    double now = paths / (seconds > 1e-6 ? seconds : 1e-6);
    *speed = *speed > 0 && now > 4 * *speed ? 4 * *speed : now;
}

bl_result job_slice(gpu_batch *batch, const job_work_desc *w, job_range window, double *speed, void (*record_part)(void *user, job_range r),
                    void *user, bl_stats *stats, bl_error *err)
{
    double slice = w->slice_seconds > 0 ? w->slice_seconds : 0.1, last = clock_seconds();
    uint32_t end = window.first_lane + window.lane_count, sample = window.first_sample;
    for (uint32_t lane = window.first_lane; lane < end;) {
        double paths = *speed > 0 ? *speed * slice : FIRST_SLICE_PATHS, seconds;
        job_range r = next_range(window, lane, sample, paths > 1 ? paths : 1);
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

bl_result job_run_part(bl_job *job, const job_work_desc *w, render_pass pass, job_range part, bl_stats *stats, bl_error *err)
{
    pass_kernel k = {.job = job, .w = w, .tile = part};
    TRY(job_kernel(job, pass, &k.kernel, err));
    TRY(job_slice(job->batch, w, part, &job->paths_per_second[pass], record_range, &k, stats, err));
    return bounds_check(job->bounds, err);
}

bl_result job_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    TRY(job_reserve_film(job, w->pass, w->strips, err));
    TRY(prepare_pass(job, w, stats, err));
    if (w->pass == RENDER_GRADIENT && w->form != BL_FORM_FUSED)
        TRY(forms_run(job, w, stats, err));
    else
        TRY(job_run_part(job, w, w->pass, job_everything(w, job_pixels(job->scene)), stats, err));
    stats->paths += (uint64_t)job_pixels(job->scene) * w->spp;
    return w->pass == RENDER_GRADIENT && !w->unfinished ? finish_gradient(job, stats, err) : BL_OK;
}

void job_record_resolve(bl_job *job, uint32_t spp, uint32_t strips)
{
    fit_resolve r = {.film = job->film, .image = job->image, .pixels = job_pixels(job->scene), .strips = strips, .scale = 1.0f / (float)spp};
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

/* A power of two. A contribution of one sample is about dL/dI / spp times the derivative of radiance: for what emits, 1 times a power of the
 * scene's radius; for everything else about the light's brightness. 24 bits below that are kept; up to 2^28 times that fits into one contribution and 2^38 such
 * contributions into the sum (opt/accumulate.c). */
static float scale_for(double contribution, uint32_t coarser)
{
    int exponent = 0;
    frexp(contribution > 0 ? contribution : 1, &exponent);
    int power = 24 - exponent - 8 * (int)coarser;
    return ldexpf(1, power > 120 ? 120 : power < -120 ? -120 : power);
}

/* Radiance over the emission parameter that gives it, roughly. */
static double emission_factor(const bl_job *job, const render_parameter *p)
{
    double length = pow(job->scene->radius > 0 ? (double)job->scene->radius : 1, p->length_power);
    double factor = p->factor == PLAN_NONE ? 1 : fabs((double)job->host_values[job->scene->parameters.data[p->factor].offset]);
    return factor > 0 ? length * factor : length;
}

/* Of a colour its largest channel. Of an image the mean, which is about what a sample brings where texels are sampled by
 * brightness; what is brighter has 28 bits of room. */
static double magnitude(const bl_job *job, const render_parameter *p)
{
    const float *values = job->host_values + p->offset;
    double most = 0, sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        sum += fabs((double)values[i]);
        most = fmax(most, fabs((double)values[i]));
    }
    return p->rank > 1 ? sum / p->count : most;
}

/* The largest radiance that a light of the scene gives, roughly; 1 where all are dark. */
static double brightness(const bl_job *job)
{
    double most = 0;
    for (uint32_t k = 0; k < job->scene->parameters.count; k++) {
        const render_parameter *p = &job->scene->parameters.data[k];
        if (p->emits)
            most = fmax(most, magnitude(job, p) * emission_factor(job, p));
    }
    return most > 0 && isfinite(most) ? most : 1;
}

static uint32_t requested_elements(const bl_job *job)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < job->requested_count; k++)
        n += job->scene->parameters.data[job->requested[k]].count;
    return n;
}

bl_result job_set_scale(bl_job *job, double largest_adjoint, uint32_t spp, uint32_t coarser, bl_error *err)
{
    uint32_t n = job->plan->gradient_count;
    if (n == 0 || !job->fixed_point)
        return BL_OK;
    float *scales = malloc(n * sizeof *scales);
    BL_ASSERT(scales, "out of memory");
    double contribution = largest_adjoint / spp, light = brightness(job);
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        uint32_t first = job->plan->gradient_offset[job->requested[k]];
        for (uint32_t i = 0; i < p->count; i++)
            scales[first + i] = scale_for(contribution * (p->emits ? emission_factor(job, p) : light), coarser);
    }
    for (uint32_t i = requested_elements(job); i < n; i++) /* derived quantities */
        scales[i] = scale_for(contribution * light, coarser);
    bl_result r = gpu_buffer_write(job->scale, 0, scales, n * sizeof *scales, err);
    free(scales);
    return r;
}

/* ---- life ---- */

static bl_result resolve_names(bl_job *job, const bl_scene *scene, const bl_job_desc *desc)
{
    job->requested = calloc(desc->parameter_count + 1u, sizeof *job->requested);
    BL_ASSERT(job->requested, "out of memory");
    for (uint32_t i = 0; i < desc->parameter_count; i++) {
        TRY(bl_scene_find_parameter(scene, desc->parameters[i], &job->requested[i]));
        for (uint32_t k = 0; k < i; k++)
            if (job->requested[k] == job->requested[i]) {
                bl_error err;
                error_set(&err, BL_ERROR_ARGUMENT, "parameter \"%s\" is requested twice", desc->parameters[i]);
                return context_fail(job->context, &err);
            }
    }
    job->requested_count = desc->parameter_count;
    return BL_OK;
}

bl_result bl_job_create(bl_device *device, const bl_scene *scene, const bl_job_desc *desc, bl_job **out)
{
    static const bl_job_desc defaults;
    *out = NULL;
    bl_job *job = calloc(1, sizeof *job);
    BL_ASSERT(job, "out of memory");
    job->device = device, job->context = device->context, job->scene = scene->render;
    job->desc = desc ? *desc : defaults;
    job->desc.parameters = NULL; /* the names are the caller's; indices are kept */
    bl_error err = {0};
    bl_result r = resolve_names(job, scene, desc ? desc : &defaults);
    if (r != BL_OK) {
        bl_job_destroy(job);
        return r;
    }
    job->fixed_point = job->desc.accumulate == BL_ACCUMULATE_FIXED;
    if (!job->fixed_point && !gpu_device_info(device->gpu)->float_atomics)
        r = error_set(&err, BL_ERROR_UNSUPPORTED, "%s has no float atomics; use fixed-point accumulation", gpu_device_info(device->gpu)->name);
    plan_rays rays = PLAN_RAYS_BVH;
    if (r == BL_OK)
        r = rays_choose(gpu_device_info(device->gpu), job->scene, &job->desc, &rays, &err);
    job->plan = plan_create(job->scene, job->requested, job->requested_count, rays, job->desc.passes_off >> OPT_SWITCH_COUNT);
    job->plan->sensor_moves = job->desc.sensor_moves;
    if (r == BL_OK && job->plan->sensor && (job->scene->volumetric || job->scene->depth_image))
        r = error_set(&err, BL_ERROR_UNSUPPORTED, "gradients of the camera are not implemented yet for this integrator");
    if (r == BL_OK && job->scene->volumetric && job->plan->moves & MOVE_SURFACE)
        r = error_set(&err, BL_ERROR_UNSUPPORTED, "gradients by vertices, normals and texture coordinates are not implemented for volumetric integrators yet");
    if (r == BL_OK && job->plan->sensor && job->plan->moves & MOVE_SURFACE)
        r = error_set(&err, BL_ERROR_UNSUPPORTED, "gradients of the camera and of meshes in one job are not implemented yet: ask for one of them at a time");
    if (r == BL_OK)
        r = gpu_batch_create(device->gpu, &job->batch, &err);
    if (r == BL_OK)
        r = make_geometry(job, &err);
    if (r == BL_OK && job->context->checked)
        r = bounds_create(device->gpu, BUFFER_COUNT, &job->bounds, &err);
    if (r == BL_OK)
        r = make_buffers(job, &err);
    if (r != BL_OK) {
        bl_job_destroy(job);
        return context_fail(device->context, &err);
    }
    *out = job;
    return BL_OK;
}

void bl_job_destroy(bl_job *job)
{
    if (!job)
        return;
    gpu_batch_destroy(job->batch);
    gpu_accel_destroy(job->accel);
    bounds_destroy(job->bounds);
    for (int k = 0; k < RENDER_PASS_COUNT; k++)
        gpu_kernel_destroy(job->kernels[k]);
    gpu_buffer **all[] = {&job->words, &job->values, &job->gradient, &job->film, &job->status, &job->adjoint, &job->frozen,
                          &job->scale, &job->image, &job->target, &job->partials, &job->results, &job->output, &job->tangent, &job->samples};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop_buffer(job, all[i]);
    plan_destroy(job->plan);
    free(job->requested);
    free(job->host_values);
    free(job->changed);
    free(job);
}

const char *bl_job_rays(const bl_job *job) { return job->plan->query ? "query" : job->plan->baked ? "baked" : "bvh"; }

bl_result job_check_change(const bl_job *job, uint32_t index, bl_error *err)
{
    const render_parameter *p = &job->scene->parameters.data[index];
    uint32_t array = p->slot - PLAN_ARRAY_SLOT;
    if (p->slot < PLAN_ARRAY_SLOT || array >= MESH_ATTRIBUTE)
        return BL_OK;
    if (array == MESH_ARRAY_POSITIONS)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s: changing vertices is not implemented yet; their gradient is", p->name);
    if (!(job->plan->moves >> array & 1))
        return error_set(err, BL_ERROR_ARGUMENT, "%s can be changed only in a job that was created with it among its parameters", p->name);
    return BL_OK;
}

bl_result bl_job_set_parameter(bl_job *job, uint32_t index, const float *values)
{
    if (index >= job->scene->parameters.count)
        return BL_ERROR_ARGUMENT;
    const render_parameter *p = &job->scene->parameters.data[index];
    bl_error err = {0};
    if (job_check_change(job, index, &err) != BL_OK)
        return context_fail(job->context, &err);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->absent && job->plan->gradient_offset[index] == PLAN_NONE && values[i] != 0) {
            error_set(&err, BL_ERROR_ARGUMENT, "\"%s\" is 0 in the scene, so this job was made without what it is the weight of; give it another value "
                      "there, or request its gradient", p->name);
            return context_fail(job->context, &err);
        }
    if (p->object == job->scene->sensor->index && !job->plan->sensor) {
        error_set(&err, BL_ERROR_ARGUMENT, "%s: the sensor of this job is fixed: it was created without any of the sensor's parameters", p->name);
        return context_fail(job->context, &err);
    }
    if (gpu_buffer_write(job->values, 4ull * p->offset, values, 4ull * p->count, &err) != BL_OK)
        return context_fail(job->context, &err);
    memcpy(job->host_values + p->offset, values, 4 * (size_t)p->count);
    job_value_changed(job, index);
    return BL_OK;
}

bl_result bl_job_get_parameter(bl_job *job, uint32_t index, float *values)
{
    if (index >= job->scene->parameters.count)
        return BL_ERROR_ARGUMENT;
    const render_parameter *p = &job->scene->parameters.data[index];
    bl_error err = {0};
    if (gpu_buffer_read(job->values, 4ull * p->offset, values, 4ull * p->count, &err) != BL_OK)
        return context_fail(job->context, &err);
    return BL_OK;
}

bl_result bl_job_set_sensor(bl_job *job, uint32_t sensor, const float *to_world)
{
    bl_error err = {0};
    bl_result r = sensor_check(job->scene, sensor, to_world, &err);
    if (r == BL_OK && job->plan->sensor)
        r = error_set(&err, BL_ERROR_UNSUPPORTED, "the job's parameters are the sensor's, so it cannot be moved");
    if (r == BL_OK && !job->desc.sensor_moves)
        r = error_set(&err, BL_ERROR_ARGUMENT, "the sensor of this job is fixed: it was created without `sensor_moves`");
    if (r == BL_OK) {
        const scene_object *o = job->scene->sensors.data[sensor];
        uint32_t count = sensor_words(o), *words = calloc(count, sizeof *words);
        BL_ASSERT(words, "out of memory");
        sensor_record(job->scene, o, to_world, words);
        r = gpu_buffer_write(job->words, 4ull * plan_sensor_word(job->plan), words, count * sizeof *words, &err);
        free(words);
    }
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}

/* ---- what a pass is made of ---- */

bl_result job_pass(bl_job *job, bl_pass pass, render_pass *out)
{
    static const render_pass passes[BL_PASS_COUNT] = {RENDER_PRIMAL, RENDER_GRADIENT, RENDER_REPLAY, RENDER_ADJOINT, RENDER_FROZEN, RENDER_FORWARD};
    bl_error err;
    if ((unsigned)pass >= BL_PASS_COUNT)
        return BL_ERROR_ARGUMENT;
    if ((pass == BL_PASS_GRADIENT || pass == BL_PASS_ADJOINT || pass == BL_PASS_FORWARD) && !job->plan->any_request) {
        error_set(&err, BL_ERROR_ARGUMENT, "no parameter was requested, so the pass would be empty");
        return context_fail(job->context, &err);
    }
    *out = passes[pass];
    return BL_OK;
}

bl_result bl_job_spirv(bl_job *job, bl_pass pass, uint32_t **words, size_t *word_count)
{
    *words = NULL;
    render_pass which = RENDER_PRIMAL;
    TRY(job_pass(job, pass, &which));
    kernel_code code;
    bl_kernel_info took;
    bl_error err = {0};
    if (generate_pass(job, which, &code, &took, &err) != BL_OK)
        return context_fail(job->context, &err);
    *words = code.spirv.words, *word_count = code.spirv.word_count;
    return BL_OK;
}

bl_result bl_job_compile(bl_job *job, bl_pass pass, bl_kernel_info *info)
{
    render_pass which = RENDER_PRIMAL;
    TRY(job_pass(job, pass, &which));
    gpu_kernel *kernel;
    bl_error err = {0};
    if (job_kernel(job, which, &kernel, &err) != BL_OK)
        return context_fail(job->context, &err);
    if (info)
        *info = job->compiled[which];
    return BL_OK;
}
