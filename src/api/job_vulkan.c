/* SPDX-License-Identifier: BSD-3-Clause
 * Images and gradients of a job in the caller's command buffers, and where the job keeps what they leave
 * (backlight_vulkan.h). */
#include "api/gradient.h"
#include "api/gradient_forms.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_geometry.h"
#include "api/job_pass.h"
#include "api/job_recorded.h"
#include "api/job_results.h"
#include "gpu/vulkan/record.h"
#include "render/shape/kinds.h"

typedef struct recording {
    bl_job *job;
    const bl_vulkan_pass *pass;
    const bl_vulkan_pixels *pixels;
    recorder_image image;
    const bl_vulkan_gradient_desc *target; /* NULL: the gradient's dL/dI is the caller's; else */
    job_work_desc compared; /* the image that is compared with the target; light tracing has one,
                               too, because its gradient pass leaves no image */
    bool begins_with_image; /* there is one; or */
    bool finds_loss;        /* or there is none: the pass finds the loss, */
    job_loss loss;          /* which is this one */
    job_work_desc work;
    void (*begin)(void *user);
    void (*end)(void *user);
} recording;

static void copy_pixels(const recording *r, gpu_buffer *own)
{
    recorder_copy_pixels(r->job->batch, r->job->device, own, r->job->texels, r->pixels, r->image);
}

/* ---- the image that a gradient against a target begins with ---- */

static void begin_compared(void *user)
{
    const recording *r = user;
    if (r->target)
        copy_pixels(r, r->job->target);
    if (job_splats(r->job, r->compared.pass))
        job_record_splat_scale(r->job, r->compared.spp, r->pass->coarser);
    job_recorded_begin(r->job, &r->compared);
}

static void end_compared(void *user)
{
    const recording *r = user;
    job_record_resolve(r->job, r->compared.spp, r->compared.strips);
    if (r->target)
        job_record_loss(r->job, &r->loss);
}

/* ---- calls ---- */

enum { PASSES_MOST = 2 };

static job_recording call_of(recording *r, job_recorded_pass passes[PASSES_MOST])
{
    uint32_t count = 0;
    r->loss.target = r->job->target;
    if (r->begins_with_image)
        passes[count++] = (job_recorded_pass){r->compared, begin_compared, end_compared, r};
    passes[count++] = (job_recorded_pass){r->work, r->begin, r->end, r};
    return (job_recording){.job = r->job,
                           .passes = {passes, count},
                           .call = r->pass,
                           .texels = r->pixels->image != VK_NULL_HANDLE};
}

static bl_result prepare(recording *r, bl_vulkan_cost *cost, bl_error *err)
{
    job_recorded_pass passes[PASSES_MOST];
    if (r->target)
        TRY(job_reserve_target(r->job, err));
    job_recording call = call_of(r, passes);
    return job_recorded_prepare(&call, cost, err);
}

static bl_result record(recording *r, bl_recorder *recorder, VkCommandBuffer commands, bl_error *err)
{
    job_recorded_pass passes[PASSES_MOST];
    job_recording call = call_of(r, passes);
    if (r->target && !r->job->target)
        return error_set(err, BL_ERROR_ARGUMENT, "prepare the pass first, with the same descriptor");
    return job_recorded_append(&call, recorder, commands, err);
}

static recorder_image image_of(const bl_job *job, bool written, const char *what)
{
    return (recorder_image){job->scene->width, job->scene->height, written, what, 0, 0};
}

/* ---- images ---- */

static void begin_image(void *user)
{
    const recording *r = user;
    if (job_splats(r->job, r->work.pass))
        job_record_splat_scale(r->job, r->work.spp, r->pass->coarser);
    job_recorded_begin(r->job, &r->work);
}

static void end_image(void *user)
{
    const recording *r = user;
    job_record_resolve(r->job, r->work.spp, r->work.strips);
    if (recorder_has_pixels(r->pixels))
        copy_pixels(r, r->job->image);
}

static bl_result describe_image(bl_job *job, const bl_vulkan_image_desc *desc, recording *r, bl_error *err)
{
    *r = (recording){
        .job = job,
        .pass = &desc->pass,
        .pixels = &desc->image,
        .image = image_of(job, true, "image"),
        .work = job_image_work(job, &(bl_render_desc){.spp = desc->pass.spp, .seed = desc->pass.seed}),
        .begin = begin_image,
        .end = end_image,
    };
    TRY(job_recorded_check(job, err));
    return recorder_has_pixels(r->pixels) ? recorder_check_pixels(job->device, r->pixels, r->image, err)
                                          : BL_OK;
}

bl_result bl_job_prepare_image(bl_job *job, const bl_vulkan_image_desc *desc, bl_vulkan_cost *cost)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_image(job, desc, &r, &err);
    if (result == BL_OK)
        result = prepare(&r, cost, &err);
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_record_image(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                              const bl_vulkan_image_desc *desc)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_image(job, desc, &r, &err);
    if (result == BL_OK)
        result = record(&r, recorder, commands, &err);
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

/* ---- gradients ---- */

static void begin_gradient(void *user)
{
    const recording *r = user;
    if (!r->target || r->finds_loss)
        copy_pixels(r, r->target ? r->job->target : r->job->adjoint);
    job_record_scale(r->job, r->work.loss, r->work.spp, r->pass->coarser);
    job_recorded_begin(r->job, &r->work);
}

static void end_gradient(void *user)
{
    const recording *r = user;
    job_record_end(r->job);
    gradient_record_output(r->job, &r->work, !r->target);
}

/* The reason why a job's gradients cannot be recorded, or NULL if they can. */
static const char *gradient_obstacle(const bl_job *job)
{
    if (!job->plan->any_request)
        return "the job was created without parameters, so there is no gradient to compute";
    if (job->desc.pixels == BL_PIXELS_ADJOINT)
        return "samples in proportion to |dL/dI| are distributed on the host, so they are not recorded";
    return NULL;
}

/* The form, as bl_job_gradient would choose it, and the number of samples in it. */
static bl_result choose_form(const bl_job *job, const bl_vulkan_gradient_desc *desc, job_work_desc *w,
                             bl_error *err)
{
    const gradient_wish wish = {
        .form = desc->form,
        .target = recorder_has_pixels(&desc->target),
        .loss = desc->loss,
        .spp = job_spp(job, desc->pass.spp),
        .spp_gradient = job_spp(job, desc->pass.spp),
        .spp_halves = job_gradient_spp(job, desc->pass.spp, 2),
    };
    TRY(gradient_form_choose(job, &wish, &w->form, err));
    w->spp = gradient_form_spp(&wish, w->form);
    w->strips = gradient_form_strips(job, w->form, w->spp);
    return BL_OK;
}

static bl_result describe_gradient(bl_job *job, const bl_vulkan_gradient_desc *desc, recording *r,
                                   bl_error *err)
{
    TRY(job_recorded_check(job, err));
    const char *obstacle = gradient_obstacle(job);
    bool target = recorder_has_pixels(&desc->target);
    if (target && recorder_has_pixels(&desc->adjoint))
        return error_set(err, BL_ERROR_ARGUMENT, "give either an adjoint image (dL/dI) or a target");
    if ((unsigned)desc->loss >= BL_LOSS_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no loss %d", (int)desc->loss);
    if (obstacle)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s", obstacle);
    *r = (recording){
        .job = job,
        .pass = &desc->pass,
        .pixels = target ? &desc->target : &desc->adjoint,
        .image = image_of(job, false, target ? "target" : "adjoint"),
        .target = target ? desc : NULL,
        .compared = job_image_work(job, &(bl_render_desc){.spp = desc->pass.spp, .seed = desc->pass.seed}),
        .loss = {.kind = desc->loss, .constant = desc->loss_constant},
        .work = {.pass = RENDER_GRADIENT, .seed = job_seed(job, desc->pass.seed), .stream = 1},
        .begin = begin_gradient,
        .end = end_gradient,
    };
    TRY(choose_form(job, desc, &r->work, err));
    r->finds_loss = bl_gradient_form_finds_loss(r->work.form);
    r->work.loss = r->finds_loss ? &r->loss : NULL;
    r->begins_with_image = (target && !r->finds_loss) || !job_gradient_leaves_image(job);
    r->work.keeps_status = r->begins_with_image;
    return recorder_check_pixels(job->device, r->pixels, r->image, err);
}

bl_result bl_job_prepare_gradient(bl_job *job, const bl_vulkan_gradient_desc *desc, bl_vulkan_cost *cost)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_gradient(job, desc, &r, &err);
    if (result == BL_OK)
        result = prepare(&r, cost, &err);
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_record_gradient(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                                 const bl_vulkan_gradient_desc *desc)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_gradient(job, desc, &r, &err);
    if (result == BL_OK)
        result = record(&r, recorder, commands, &err);
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

/* ---- values ---- */

/* Where the values of a parameter stand. */
static gpu_buffer *values_of(const bl_job *job, uint32_t index, uint64_t *offset)
{
    uint32_t word = job->plan->value_offset[index];
    *offset = word == PLAN_NONE ? geometry_place(job, index) : 4ull * word;
    return word == PLAN_NONE ? job->words : job->values;
}

static bl_result describe_values(bl_job *job, uint32_t index, const bl_vulkan_pixels *from,
                                 job_recorded_copy *out, bl_error *err)
{
    uint64_t offset;
    TRY(job_recorded_check(job, err));
    TRY(job_recorded_check_changed(job, &index, 1, err));
    const render_parameter *p = &job->scene->parameters.data[index];
    if (p->count % 3 || (p->rank && p->shape[p->rank - 1] != 3))
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "%s: its elements are not of three values; copy them to bl_job_vulkan_parameter",
                         p->name);
    bool image = p->rank == 3;
    gpu_buffer *to = values_of(job, index, &offset);
    *out = (job_recorded_copy){.job = job,
                               .to = to,
                               .from = from,
                               .image = {.width = image ? p->shape[1] : p->count / 3,
                                         .height = image ? p->shape[0] : 1,
                                         .what = p->name,
                                         .first = (uint32_t)(offset / 4)}};
    return BL_OK;
}

static bl_result prepare_copy(bl_job *job, bl_result described, const job_recorded_copy *copy, bl_error *err)
{
    bl_result result = described == BL_OK ? job_recorded_prepare_copy(copy, err) : described;
    return result == BL_OK ? BL_OK : context_fail(job->context, err);
}

static bl_result append_copy(bl_job *job, bl_result described, const job_recorded_copy *copy,
                             bl_recorder *recorder, VkCommandBuffer commands, bl_error *err)
{
    bl_result result =
        described == BL_OK ? job_recorded_append_copy(copy, recorder, commands, err) : described;
    return result == BL_OK ? BL_OK : context_fail(job->context, err);
}

bl_result bl_job_prepare_values(bl_job *job, uint32_t index, const bl_vulkan_pixels *from)
{
    bl_error err = {0};
    job_recorded_copy copy;
    bl_result described = describe_values(job, index, from, &copy, &err);
    return prepare_copy(job, described, &copy, &err);
}

bl_result bl_job_record_values(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands, uint32_t index,
                               const bl_vulkan_pixels *from)
{
    bl_error err = {0};
    job_recorded_copy copy;
    bl_result described = describe_values(job, index, from, &copy, &err);
    return append_copy(job, described, &copy, recorder, commands, &err);
}

/* ---- faces ---- */

/* The reason why the faces of a mesh cannot change in the job, or NULL if they can. */
static const char *faces_obstacle(const bl_job *job, const render_shape *shape)
{
    if (shape->normals_made)
        return "its normals are generated from its faces on the host; give it normals, or face_normals";
    if (job->plan->edges && job->plan->any_request)
        return "edges that move are found by faces on the host; make the job without them (bl_edges)";
    return NULL;
}

static bl_result describe_faces(bl_job *job, uint32_t positions, const bl_vulkan_pixels *from,
                                job_recorded_copy *out, bl_error *err)
{
    const render_scene *s = job->scene;
    const render_shape *shape = NULL;
    TRY(job_recorded_check(job, err));
    TRY(job_recorded_check_changed(job, &positions, 1, err));
    const render_parameter *p = &s->parameters.data[positions];
    for (uint32_t i = 0; i < s->shapes.count && p->slot == PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS; i++)
        if (s->shapes.data[i].object->index == p->object)
            shape = &s->shapes.data[i];
    if (!shape)
        return error_set(err, BL_ERROR_ARGUMENT, "faces: %s is not the positions of a mesh", p->name);
    const char *obstacle = faces_obstacle(job, shape);
    if (obstacle)
        return error_set(err, BL_ERROR_UNSUPPORTED, "faces of %s: %s", p->name, obstacle);
    if (from->image)
        return error_set(err, BL_ERROR_ARGUMENT, "faces of %s come from a buffer, not from an image",
                         p->name);
    const uint32_t *mesh = job->plan->words.data + job->plan->geometry + shape->data;
    *out = (job_recorded_copy){.job = job,
                               .to = job->words,
                               .from = from,
                               .image = {.width = mesh[MESH_FACE_COUNT],
                                         .height = 1,
                                         .what = p->name,
                                         .first = mesh[MESH_FACES],
                                         .last = shape->vertex_count - 1}};
    return BL_OK;
}

bl_result bl_job_prepare_faces(bl_job *job, uint32_t positions, const bl_vulkan_pixels *from)
{
    bl_error err = {0};
    job_recorded_copy copy;
    bl_result described = describe_faces(job, positions, from, &copy, &err);
    return prepare_copy(job, described, &copy, &err);
}

bl_result bl_job_record_faces(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                              uint32_t positions, const bl_vulkan_pixels *from)
{
    bl_error err = {0};
    job_recorded_copy copy;
    bl_result described = describe_faces(job, positions, from, &copy, &err);
    return append_copy(job, described, &copy, recorder, commands, &err);
}

/* ---- where things are ---- */

static bl_vulkan_region region(const gpu_buffer *b, uint64_t offset, uint64_t size)
{
    return (bl_vulkan_region){vulkan_buffer_expose(b), offset, size};
}

bl_result bl_job_vulkan_results(bl_job *job, bl_vulkan_results *out)
{
    bl_error err = {0};
    _Static_assert(
        (int)BL_VULKAN_DRIFTED == (int)STATUS_DRIFT && (int)BL_VULKAN_OVERFLOWED == (int)STATUS_OVERFLOW &&
            (int)BL_VULKAN_UNDERFLOWED == (int)STATUS_UNDERFLOW &&
            (int)BL_VULKAN_NON_FINITE == (int)STATUS_NON_FINITE && (int)BL_VULKAN_CUT == (int)STATUS_CUT,
        "one list of words");
    if (job_recorded_check(job, &err) != BL_OK)
        return context_fail(job->context, &err);
    *out = (bl_vulkan_results){
        .image = region(job->image, 0, 4ull * job_values(job)),
        .loss = region(job->results, 0, sizeof(float)),
        .status = region(job->status, 0, sizeof(uint32_t) * BL_VULKAN_STATUS_COUNT),
    };
    return BL_OK;
}

bl_result bl_job_vulkan_gradient(bl_job *job, uint32_t k, bl_vulkan_region *out)
{
    bl_error err = {0};
    if (job_recorded_check(job, &err) == BL_OK && k >= job->requested_count)
        error_set(&err, BL_ERROR_ARGUMENT, "there is no gradient %u: the job has %u parameters", k,
                  job->requested_count);
    if (err.code != BL_OK)
        return context_fail(job->context, &err);
    uint32_t index = job->requested[k];
    *out = region(job->output, 4ull * job->plan->gradient_offset[index],
                  4ull * job->scene->parameters.data[index].count);
    return BL_OK;
}

bl_result bl_job_vulkan_parameter(bl_job *job, uint32_t index, bl_vulkan_region *out)
{
    bl_error err = {0};
    if (job_recorded_check(job, &err) != BL_OK || job_recorded_check_changed(job, &index, 1, &err) != BL_OK)
        return context_fail(job->context, &err);
    uint64_t offset;
    gpu_buffer *b = values_of(job, index, &offset);
    *out = region(b, offset, 4ull * job->scene->parameters.data[index].count);
    return BL_OK;
}

bl_result bl_job_export(bl_job *job, const bl_vulkan_region *r, bl_vulkan_export *out)
{
    bl_error err = {0};
    gpu_buffer *const own[] = {job->image, job->results, job->status, job->output, job->values, job->words};
    bl_result result = job_recorded_check(job, &err);
    *out = (bl_vulkan_export){.fd = -1};
    for (size_t i = 0; i < sizeof own / sizeof *own && result == BL_OK; i++)
        if (vulkan_buffer_expose(own[i]) == r->buffer && r->offset <= gpu_buffer_size(own[i]) &&
            r->size <= gpu_buffer_size(own[i]) - r->offset) {
            result = vulkan_buffer_export(own[i], r->offset, r->size, out, &err);
            return result == BL_OK ? BL_OK : context_fail(job->context, &err);
        }
    if (result == BL_OK)
        error_set(&err, BL_ERROR_ARGUMENT, "the region is none of this job's");
    return context_fail(job->context, &err);
}
