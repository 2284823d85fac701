/* SPDX-License-Identifier: BSD-3-Clause
 * What a job keeps on the device: the buffers of its generated kernels and those that fits and losses add. */
#include "api/job_buffers.h"
#include "api/job_prints.h"
#include "api/ray_backend.h"

#include <stdlib.h>
#include <string.h>

static bl_result make_buffer(bl_job *job, uint64_t bytes, const char *label, gpu_buffer **out, bl_error *err)
{
    TRY(gpu_buffer_create(job->device->gpu, GPU_DEVICE, bytes, label, out, err));
    job->bytes += gpu_buffer_size(*out);
    return BL_OK;
}

/* Bytes of words that kernels of doubles pair (ir_buffer.paired): n words, and n more that they lack. */
static uint64_t paired_bytes(const bl_job *job, uint64_t words)
{
    return (job->plan->doubles ? 8 : 4) * words;
}

/* Zeroes what words lack: those that the host writes lack nothing. */
static bl_result clear_rest(const bl_job *job, gpu_buffer *b, bl_error *err)
{
    const uint64_t half = gpu_buffer_size(b) / 2;
    if (!job->plan->doubles || half == 0)
        return BL_OK;
    TRY(memory_check(half, err));
    void *zeros = memory_need_zeroed(1, half);
    bl_result r = gpu_buffer_write(b, half, zeros, half, err);
    memory_free(zeros);
    return r;
}

static void drop_buffer(bl_job *job, gpu_buffer **b)
{
    if (*b)
        job->bytes -= gpu_buffer_size(*b);
    gpu_buffer_destroy(*b);
    *b = NULL;
}

bl_result job_replace_buffer(bl_job *job, uint64_t bytes, const char *label, gpu_buffer **out, bl_error *err)
{
    drop_buffer(job, out);
    return make_buffer(job, bytes, label, out, err);
}

/* To be called before the scene buffer is written, because that holds its address. */
static bl_result make_geometry(bl_job *job, bl_error *err)
{
    if (!job->plan->query || !gpu_device_runs(job->device->gpu))
        return BL_OK;
    double start = clock_seconds();
    TRY(ray_backend_build(job->device->gpu, job->plan, false, &job->accel, err));
    job->rays_seconds = clock_seconds() - start;
    job->bytes += gpu_accel_size(job->accel);
    return BL_OK;
}

bl_result job_write_words(bl_job *job, bl_error *err)
{
    plan *p = job->plan;
    TRY(gpu_buffer_write(job->words, 0, p->words.data, 4ull * p->words.count, err));
    if (!ray_backend_wants_hierarchy(gpu_device_info(job->device->gpu), p) ||
        !gpu_device_runs(job->device->gpu))
        return BL_OK;
    if (job->hierarchy)
        job->bytes -= gpu_hierarchy_size(job->hierarchy);
    gpu_hierarchy_destroy(job->hierarchy);
    job->hierarchy = NULL;
    double start = clock_seconds();
    TRY(ray_backend_hierarchy(job->device->gpu, p, job->words, &job->hierarchy, err));
    job->rays_seconds = clock_seconds() - start;
    job->bytes += gpu_hierarchy_size(job->hierarchy);
    return BL_OK;
}

bl_result job_make_buffers(bl_job *job, bl_error *err)
{
    const plan *p = job->plan;
    const render_scene *s = job->scene;
    uint64_t image = 4ull * job_values(job), gradient = p->gradient_count;
    TRY(make_geometry(job, err));
    TRY(make_buffer(job, 4ull * p->words.count, "scene", &job->words, err));
    TRY(make_buffer(job, paired_bytes(job, p->value_count), "values", &job->values, err));
    TRY(clear_rest(job, job->values, err));
    TRY(make_buffer(job, 8ull * gradient, "gradient", &job->gradient, err));
    TRY(make_buffer(job, 4ull * gradient, "scale", &job->scale, err));
    TRY(make_buffer(job, 4ull * gradient, "gradient as f32", &job->output, err));
    TRY(make_buffer(job, 4 * (STATUS_COUNT + job_prints_words(job)), "status", &job->status, err));
    TRY(make_buffer(job, image, "image", &job->image, err));
    TRY(make_buffer(job, p->any_request ? image : 0, "adjoint", &job->adjoint, err));
    TRY(make_buffer(job, job->desc.frozen ? paired_bytes(job, p->value_count) : 0, "frozen values",
                    &job->frozen, err));
    TRY(clear_rest(job, job->frozen, err));
    TRY(make_buffer(job, 0, "film", &job->film, err));        /* empty until a pass wants it, */
    TRY(make_buffer(job, 0, "tangents", &job->tangent, err)); /* a forward pass */
    TRY(make_buffer(job, 4ull * fit_loss_partials(job_values(job)), "partial sums", &job->partials, err));
    TRY(make_buffer(job, 4ull * RESULT_WORDS, "results", &job->results, err));
    TRY(make_buffer(job, 0, "lanes", &job->lanes, err)); /* until a gradient pass lists them; as samples */
    TRY(make_buffer(job, 0, "samples", &job->samples, err));
    TRY(make_buffer(job, scene_splats(s) ? 2 * image : 0, "splats", &job->splats, err));
    TRY(make_buffer(job, scene_splats(s) ? image : 0, "splat scale", &job->splat_scale, err));
    TRY(job_write_words(job, err));
    TRY(memory_check(4 * (size_t)p->stored_count, err));
    job->host_values = memory_need(4 * (size_t)p->stored_count + 4);
    plan_initial_values(p, job->host_values);
    if (p->stored_count)
        TRY(gpu_buffer_write(job->values, 0, job->host_values, 4ull * p->stored_count, err));
    job->values_changed = true;
    job->changed = memory_need(s->parameters.count + 1u);
    for (uint32_t i = 0; i < s->parameters.count; i++)
        job->changed[i] =
            s->parameters.data[i].source == PLAN_NONE; /* What follows from geometry is there. */
    return BL_OK;
}

void job_value_changed(bl_job *job, uint32_t parameter)
{
    BL_ASSERT(parameter < job->scene->parameters.count, "parameter %u of %u", parameter,
              job->scene->parameters.count);
    job->values_changed = job->changed[parameter] = true, job->guided = false;
}

bl_result job_reserve_samples(bl_job *job, uint64_t words, bl_error *err)
{
    const uint64_t bytes = paired_bytes(job, words);
    if (gpu_buffer_size(job->samples) >= bytes)
        return BL_OK;
    return job_replace_buffer(job, bytes, "samples", &job->samples, err);
}

bl_result job_reserve_adjoints(bl_job *job, uint32_t images, bl_error *err)
{
    BL_ASSERT(images == 1 || images == 2, "%u images of dL/dI", images);
    uint64_t bytes = 4ull * job_values(job) * images;
    if (gpu_buffer_size(job->adjoint) >= bytes)
        return BL_OK;
    return job_replace_buffer(job, bytes, "adjoint", &job->adjoint, err);
}

bl_result job_reserve_splats(bl_job *job, bl_error *err)
{
    uint64_t image = 4ull * job_values(job);
    if (gpu_buffer_size(job->splats) >= 2 * image)
        return BL_OK;
    TRY(job_replace_buffer(job, 2 * image, "splats", &job->splats, err));
    return job_replace_buffer(job, image, "splat scale", &job->splat_scale, err);
}

bl_result job_reserve_target(bl_job *job, bl_error *err)
{
    return job->target ? BL_OK : make_buffer(job, 4ull * job_values(job), "target", &job->target, err);
}

bl_result job_tangents(bl_job *job, const float *tangents, bl_error *err)
{
    uint64_t bytes = 4ull * job->plan->value_count;
    if (gpu_buffer_size(job->tangent) < bytes)
        TRY(job_replace_buffer(job, bytes, "tangents", &job->tangent, err));
    return gpu_buffer_write(job->tangent, 0, tangents, bytes, err);
}

bl_result job_reserve_film(bl_job *job, render_pass pass, uint32_t lanes, bl_error *err)
{
    BL_ASSERT(lanes > 0, "%s: no lanes", render_passes[pass].name);
    uint32_t own = lane_row_words(film_channels(job->scene)), /* listed lanes have rows */
        each = pass == RENDER_CHANNELS ? job->scene->channels.count : own;
    uint64_t words = (uint64_t)each * lanes * (pass == RENDER_VARIANCE ? 2 : 1);
    if (job->film_words >= words)
        return BL_OK;
    TRY(job_replace_buffer(job, paired_bytes(job, words), "film", &job->film, err));
    job->film_words = words;
    return BL_OK;
}

void job_drop_buffers(bl_job *job)
{
    gpu_buffer **all[] = {&job->words,    &job->values,  &job->gradient,    &job->film,    &job->status,
                          &job->adjoint,  &job->frozen,  &job->scale,       &job->image,   &job->target,
                          &job->partials, &job->results, &job->output,      &job->tangent, &job->lanes,
                          &job->samples,  &job->splats,  &job->splat_scale, &job->refit,   &job->texels,
                          &job->walks,    &job->lessons, &job->lesson_scale};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        drop_buffer(job, all[i]);
    gpu_buffer_destroy(job->walk_counters);
}

bool job_splats(const bl_job *job, render_pass pass)
{
    bool image = pass == RENDER_PRIMAL || pass == RENDER_FORWARD || pass == RENDER_FROZEN;
    return (scene_splats(job->scene) && image) || pass == RENDER_CHAIN_ACCEPT ||
           pass == RENDER_EDGES_SEEN_FORWARD || pass == RENDER_EDGES_LIT_FORWARD;
}

void job_buffers(const bl_job *job, render_pass pass, gpu_buffer *buffers[BUFFER_COUNT + 1])
{
    BL_ASSERT((unsigned)pass < RENDER_PASS_COUNT, "there is no pass %d", (int)pass);
    gpu_buffer *const all[BUFFER_COUNT + 1] = {
        [BUFFER_SCENE] = job->words,
        [BUFFER_VALUES] = job->values,
        [BUFFER_GRADIENT] = job->gradient,
        [BUFFER_FILM] = job->film,
        [BUFFER_STATUS] = job->status,
        [BUFFER_ADJOINT] = job->adjoint,
        [BUFFER_FROZEN] = job->frozen,
        [BUFFER_SCALE] = job->scale,
        [BUFFER_SAMPLES] = render_passes[pass].kind == PASS_GEOMETRY ? job->refit : job->samples,
        [BUFFER_TANGENT] = job->tangent,
        [BUFFER_COUNT] = job->bounds ? job->bounds->report : NULL,
    };
    memcpy(buffers, all, sizeof all);
    if (render_lists_lanes(job->plan, pass))
        buffers[BUFFER_ADJOINT] = job->lanes;
    if (pass == RENDER_GUIDE_LEARN)
        buffers[BUFFER_GRADIENT] = job->lessons, buffers[BUFFER_SCALE] = job->lesson_scale;
    if (job_splats(job, pass))
        buffers[BUFFER_GRADIENT] = job->splats, buffers[BUFFER_SCALE] = job->splat_scale;
}

/* ---- counters ---- */

bl_result job_read_status(bl_job *job, uint64_t status[STATUS_COUNT], bl_error *err)
{
    uint32_t words[STATUS_COUNT];
    TRY(gpu_buffer_read(job->status, 0, words, sizeof words, err));
    for (int k = 0; k < STATUS_COUNT; k++)
        status[k] = job->counted[k] + words[k];
    return BL_OK;
}

bl_result job_take_status(bl_job *job, bl_error *err)
{
    static const uint32_t none[STATUS_COUNT];
    TRY(job_read_status(job, job->counted, err));
    job->paths_uncounted = 0;
    return gpu_buffer_write(job->status, 0, none, sizeof none, err);
}
