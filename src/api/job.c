/* SPDX-License-Identifier: BSD-3-Clause
 * Jobs: one scene on one device, with the parameters whose gradients are wanted; its life, and values that
 * change. */
#include "api/job.h"
#include "api/differentiability.h"
#include "api/guide.h"
#include "api/job_buffers.h"
#include "api/job_geometry.h"
#include "api/job_prints.h"
#include "api/pixel_sampling.h"
#include "api/ray_backend.h"
#include "api/scene.h"
#include "api/wavefront.h"
#include "render/sensor/sensor.h"
#include "render/shape/ellipsoids.h"
#include "render/shape/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bl_result resolve_names(bl_job *job, const bl_scene *scene, const bl_job_desc *desc)
{
    job->requested = memory_need_zeroed(desc->parameter_count + 1u, sizeof *job->requested);
    for (uint32_t i = 0; i < desc->parameter_count; i++) {
        TRY(bl_scene_find_parameter(scene, desc->parameters[i], &job->requested[i]));
        for (uint32_t k = 0; k < i; k++)
            if (job->requested[k] == job->requested[i]) {
                bl_error err;
                error_set(&err, BL_ERROR_ARGUMENT, "parameter \"%s\" is requested twice",
                          desc->parameters[i]);
                return context_fail(job->context, &err);
            }
    }
    job->requested_count = desc->parameter_count;
    return BL_OK;
}

static bl_result check_refused(const bl_job *job, bl_error *err)
{
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const char *why = differentiability_obstacle(job->scene, job->requested[k]);
        if (why)
            return error_set(err, BL_ERROR_UNSUPPORTED, "%s has no gradient: %s",
                             job->scene->parameters.data[job->requested[k]].name, why);
    }
    return BL_OK;
}

/* Whether the place of a shape that is not a mesh, or the array of ellipsoids, is among the parameters. */
static bool moves_solids(const bl_job *job)
{
    const render_scene *s = job->scene;
    bool any = false;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        uint32_t to_world = to_world_said_by(s, job->requested[k]);
        any |= ellipsoid_moves(s, job->requested[k]);
        for (uint32_t i = 0; to_world != PLAN_NONE && i < s->shapes.count; i++)
            any |= s->shapes.data[i].kind != SHAPE_TRIANGLES &&
                   to_world_parameter(s, s->shapes.data[i].object) == to_world;
    }
    return any;
}

/* Checks that the job can look through the sensors whose parameters it has. */
static bl_result check_sensors(const bl_job *job, bl_error *err)
{
    const render_scene *s = job->scene;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &s->parameters.data[job->requested[k]];
        if (sensor_is(s, p->object) && p->object != s->sensor->index && !job->desc.sensor_moves)
            return error_set(err, BL_ERROR_ARGUMENT,
                             "%s: the job looks through another sensor all the time. Load the scene for this "
                             "one, or let views of a fit look through both",
                             p->name);
    }
    return BL_OK;
}

/* Checks that a shape that moves by its place does not change in other ways. */
static bl_result check_places(const bl_job *job, bl_error *err)
{
    const render_scene *s = job->scene;
    for (uint32_t i = 0; i < s->places.count; i++)
        if (to_world_twice(job->plan, s->places.data[i].object))
            return error_set(
                err, BL_ERROR_UNSUPPORTED,
                "%s and the translation, rotation or scale besides it say the same: ask for either",
                s->parameters.data[s->places.data[i].to_world].name);
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (!to_world_requested(job->plan, shape->object))
            continue;
        const char *name = s->parameters.data[to_world_parameter(s, shape->object)].name;
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t array = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + k);
            if (array != PLAN_NONE && job->plan->gradient_offset[array] != PLAN_NONE)
                return error_set(
                    err, BL_ERROR_UNSUPPORTED,
                    "%s and %s in one job are not implemented yet: ask for one of them at a time", name,
                    s->parameters.data[array].name);
        }
    }
    return BL_OK;
}

/* Checks loaded to_worlds: curves may be loaded flat, but cannot be moved from there. */
static bl_result check_loaded_places(const bl_job *job, bl_error *err)
{
    const render_scene *s = job->scene;
    for (uint32_t k = 0; k < job->requested_count; k++)
        if (to_world_is(s, job->requested[k])) {
            uint32_t to_world = to_world_said_by(s, job->requested[k]);
            TRY(to_world_check(s, to_world, render_initial(s, &s->parameters.data[to_world]), err));
        }
    return BL_OK;
}

const char *bl_volume_gradient_name(bl_volume_gradient how)
{
    static const char *const names[BL_VOLUME_GRADIENT_COUNT] = {"auto", "replay", "drt"};
    return (unsigned)how < BL_VOLUME_GRADIENT_COUNT ? names[how] : NULL;
}

const char *bl_wavefront_name(bl_wavefront how)
{
    static const char *const names[BL_WAVEFRONT_COUNT] = {"none", "vertex", "target"};
    return (unsigned)how < BL_WAVEFRONT_COUNT ? names[how] : NULL;
}

const char *bl_precision_name(bl_precision precision)
{
    static const char *const names[BL_PRECISION_COUNT] = {"single", "double"};
    return (unsigned)precision < BL_PRECISION_COUNT ? names[precision] : NULL;
}

/* What a job in double precision needs and has not, in words; NULL: nothing. */
static const char *double_obstacle(const bl_job *job)
{
    if (job->desc.accumulate != BL_ACCUMULATE_FIXED)
        return "sums of gradients would be floats; use fixed-point accumulation";
    if (job->desc.wavefront != BL_WAVEFRONT_NONE)
        return "wavefront mode keeps walks as floats; use one kernel";
    if (job->scene->metropolis.particles)
        return "Metropolis chains are kept as floats; path and prb have it";
    if (job->scene->method == METHOD_TAPE)
        return "the integrator tape keeps its records as floats; prb has it";
    return NULL;
}

static bl_result check_choices(const bl_job *job, bl_error *err)
{
    const bl_job_desc *d = &job->desc;
    bool good = (unsigned)d->accumulate <= BL_ACCUMULATE_FLOAT && (unsigned)d->rays < BL_RAYS_COUNT &&
                (unsigned)d->volume_gradient < BL_VOLUME_GRADIENT_COUNT;
    return good
               ? BL_OK
               : error_set(err, BL_ERROR_ARGUMENT,
                           "bl_job_desc: accumulate %d, rays %d or volume_gradient %d is none of its choices",
                           (int)d->accumulate, (int)d->rays, (int)d->volume_gradient);
}

static bl_result check_precision(const bl_job *job, bl_error *err)
{
    const gpu_info *device = gpu_device_info(job->device->gpu);
    if (!bl_precision_name(job->desc.precision))
        return error_set(err, BL_ERROR_ARGUMENT, "there is no precision %d", (int)job->desc.precision);
    if (job->desc.precision == BL_PRECISION_SINGLE)
        return BL_OK;
    if (!device->float64)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "%s has no double precision (shaderFloat64); the native device and lavapipe have it",
                         device->name);
    const char *why = double_obstacle(job);
    return why ? error_set(err, BL_ERROR_UNSUPPORTED, "no double precision here: %s", why) : BL_OK;
}

static bool wants_detours(const bl_job *job, bool for_fit)
{
    bl_volume_gradient how = job->desc.volume_gradient;
    bool wanted = how == BL_VOLUME_GRADIENT_DRT ||
                  (how == BL_VOLUME_GRADIENT_AUTO && plan_prefers_detours(job->plan, for_fit));
    return wanted && !job->desc.frozen && job->scene->method == METHOD_REPLAY && !job->scene->light_tracing &&
           !job->scene->mode->polarized && !plan_moves_segments(job->plan);
}

bl_volume_gradient bl_job_volume_gradient(const bl_job *job)
{
    return job->plan->drt ? BL_VOLUME_GRADIENT_DRT : BL_VOLUME_GRADIENT_REPLAY;
}

const char *bl_job_sampling(const bl_job *job)
{
    const plan *p = job->plan;
    if (job->split)
        return "split";
    const bool from_lights = p->scene->light_tracing, hits = p->moves & MOVE_HITS;
    bool attached = plan_is_volumetric(p) ? plan_attaches_through(p) : plan_attaches_paths(p) && !hits;
    if (from_lights ? plan_moves_light_paths(p) : attached)
        return "attached";
    return p->moves || plan_moves_segments(p) ? "local" : "detached";
}

enum { BATCH_MOST = 1 << 24 };

/* Checks that the job can look at a batch of pixels, and reserves its room. */
static bl_result make_batch(bl_job *job, const job_fit *fit, bl_error *err)
{
    if (job->scene->light_tracing)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "a batch of pixels needs paths from the camera alone; %s begin at lights",
                         job->scene->both_ways ? "half of bidirectional's" : "ptracer's");
    if (fit->batch_pixels > BATCH_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "a batch of %u pixels: there are at most %d",
                         fit->batch_pixels, (int)BATCH_MOST);
    if ((uint64_t)fit->views * film_pixels(job->scene) > UINT32_MAX)
        return error_set(err, BL_ERROR_ARGUMENT, "%u views of %u x %u pixels: there are at most 2^32 - 1",
                         fit->views, job->scene->width, job->scene->height);
    plan_reserve_batch(job->plan, fit->views, fit->batch_pixels);
    return BL_OK;
}

static bl_result check_wavefront(const bl_job *job, bl_error *err)
{
    if (!bl_wavefront_name(job->desc.wavefront))
        return error_set(err, BL_ERROR_ARGUMENT, "there is no wavefront mode %d", (int)job->desc.wavefront);
    if (job->scene->metropolis.particles)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "Metropolis chains have no wavefront mode: their steps are kernels as it is");
    return BL_OK;
}

bl_result job_create(bl_device *device, const bl_scene *scene, const bl_job_desc *desc, const job_fit *fit,
                     bl_job **out)
{
    static const bl_job_desc defaults;
    *out = NULL;
    bl_job *job = memory_need_zeroed(1, sizeof *job);
    job->device = device, job->context = device->context, job->scene = scene->render;
    job->desc = desc ? *desc : defaults;
    job->desc.parameters = NULL; /* the names are the caller's; indices are kept */
    if (job->desc.testing)
        job->testing = *job->desc.testing;
    job->desc.testing = NULL;
    bl_error err = {0};
    bl_result r =
        CHECK_RESERVED(bl_job_desc, &job->desc, &err) == BL_OK ? BL_OK : context_fail(job->context, &err);
    if (r == BL_OK)
        r = resolve_names(job, scene, desc ? desc : &defaults);
    if (r == BL_OK && check_loaded_places(job, &err) != BL_OK)
        r = context_fail(job->context, &err);
    if (r != BL_OK) {
        bl_job_destroy(job);
        return r;
    }
    job->fixed_point = job->desc.accumulate == BL_ACCUMULATE_FIXED;
    if (!job->fixed_point && !gpu_device_info(device->gpu)->float_atomics)
        r = error_set(&err, BL_ERROR_UNSUPPORTED, "%s has no float atomics; use fixed-point accumulation",
                      gpu_device_info(device->gpu)->name);
    plan_rays rays = PLAN_RAYS_BVH;
    if (r == BL_OK)
        r = check_choices(job, &err);
    if (r == BL_OK)
        r = check_precision(job, &err);
    if (r == BL_OK)
        r = ray_backend_choose(gpu_device_info(device->gpu), job->scene, &job->desc, &rays, &err);
    if (rays == PLAN_RAYS_QUERY &&
        moves_solids(job)) /* the device's structure would have to follow their boxes */
        rays = PLAN_RAYS_BVH;
    job->plan = job->whole = plan_create(job->scene, job->requested, job->requested_count, rays,
                                         job->testing.passes_off >> OPT_SWITCH_COUNT);
    job->made = &job->sets[0];
    job->plan->sensor_moves = job->desc.sensor_moves;
    job->plan->cut_at_calls = job->desc.wavefront == BL_WAVEFRONT_TARGET;
    job->plan->doubles = job->desc.precision == BL_PRECISION_DOUBLE;
    job->plan->drt = wants_detours(job, fit != NULL);
    job->plan->lists_lanes = job->desc.pixels == BL_PIXELS_ADJOINT;
    job->plan->remembers_hits = gpu_device_info(device->gpu)->kind == GPU_NATIVE && !job->plan->baked;
    if (r == BL_OK)
        r = pixel_sampling_check(job, &err);
    if (r == BL_OK)
        r = check_refused(job, &err);
    if (r == BL_OK && job->desc.guide)
        r = guide_check(job, &err);
    if (r == BL_OK && job->desc.guide)
        plan_place_guide(job->plan, film_pixels(job->scene) * job->desc.guide);
    if (r == BL_OK && fit && fit->batch_pixels)
        r = make_batch(job, fit, &err);
    if (r == BL_OK && job->plan->sensor &&
        job->scene->depth_image) /* poses that a caller gives are not parameters */
        r = error_set(&err, BL_ERROR_UNSUPPORTED,
                      "gradients of the camera are not implemented yet for this integrator");
    if (r == BL_OK)
        r = check_sensors(job, &err);
    if (r == BL_OK)
        r = check_places(job, &err);
    if (r == BL_OK && job->scene->method != METHOD_REPLAY && plan_attaches_paths(job->plan) &&
        (job->scene->method != METHOD_TAPE || job->scene->detached))
        r = error_set(&err, BL_ERROR_UNSUPPORTED,
                      "gradients of the camera are not implemented for this integrator");
    job->split = plan_splits(job->plan);
    if (r == BL_OK && job->desc.wavefront != BL_WAVEFRONT_NONE)
        r = check_wavefront(job, &err);
    if (r == BL_OK)
        r = gpu_batch_create(device->gpu, &job->batch, &err);
    if (r == BL_OK && job->context->checked)
        r = bounds_create(device->gpu, BUFFER_COUNT, &job->bounds, &err);
    if (r == BL_OK)
        r = job_prints_create(job, &err);
    if (r == BL_OK)
        r = job_make_buffers(job, &err);
    if (r == BL_OK && job->desc.guide)
        r = guide_make(job, &err);
    if (r != BL_OK) {
        bl_job_destroy(job);
        return context_fail(device->context, &err);
    }
    *out = job;
    return BL_OK;
}

bl_result bl_job_create(bl_device *device, const bl_scene *scene, const bl_job_desc *desc, bl_job **out)
{
    return job_create(device, scene, desc, NULL, out);
}

static void drop_kernels(job_kernel_set *set)
{
    for (int k = 0; k < RENDER_PASS_COUNT; k++)
        gpu_kernel_destroy(set->kernels[k]);
    wavefront_destroy(set->wavefronts);
}

void bl_job_destroy(bl_job *job)
{
    if (!job)
        return;
    gpu_batch_destroy(job->batch);
    gpu_accel_destroy(job->accel);
    gpu_hierarchy_destroy(job->hierarchy);
    bounds_destroy(job->bounds);
    for (int k = 0; k <= PLAN_SPLITS; k++)
        drop_kernels(&job->sets[k]);
    geometry_destroy(job);
    job_drop_buffers(job);
    job_prints_destroy(job);
    plan_destroy(job->whole);
    memory_free(job->requested);
    memory_free(job->host_values);
    memory_free(job->changed);
    memory_free(job);
}

const char *bl_job_rays(const bl_job *job)
{
    return job->plan->query ? "query" : job->plan->baked ? "baked" : "bvh";
}

bl_result job_check_change(const bl_job *job, uint32_t index, bl_error *err)
{
    const render_parameter *p = &job->scene->parameters.data[index];
    bool stays = to_world_is(job->scene, index) && !to_world_follows(job->plan, index);
    if (stays || (job->plan->gradient_offset[index] == PLAN_NONE && ellipsoid_moves(job->scene, index)))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: this stays where it is: the job was created without this parameter", p->name);
    if (job->plan->gradient_offset[index] == PLAN_NONE && parameter_turns_environment(job->scene, index))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: the sky of this job stays as it is: the job was created without this parameter",
                         p->name);
    if (p->source != PLAN_NONE && job->plan->baked && job->plan->value_offset[index] == PLAN_NONE)
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "%s: the geometry of this job is part of its kernels: it was created without `geometry_changes`",
            p->name);
    return BL_OK;
}

static bl_result check_finite(const render_parameter *p, const float *values, bl_error *err)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!isfinite(values[i]))
            return error_set(err, BL_ERROR_ARGUMENT, "%s: value %u is %g: values must be finite", p->name, i,
                             (double)values[i]);
    return BL_OK;
}

bl_result bl_job_set_parameter(bl_job *job, uint32_t index, const float *values)
{
    if (index >= job->scene->parameters.count)
        return context_fail_range(job->context, "parameter", index, job->scene->parameters.count);
    const render_parameter *p = &job->scene->parameters.data[index];
    bl_error err = {0};
    if (job_check_change(job, index, &err) != BL_OK)
        return context_fail(job->context, &err);
    if ((to_world_is(job->scene, index) || parameter_turns_environment(job->scene, index)) &&
        to_world_check(job->scene, index, values, &err) != BL_OK)
        return context_fail(job->context, &err);
    if (ellipsoid_check(job->scene, index, values, &err) != BL_OK)
        return context_fail(job->context, &err);
    if (check_finite(p, values, &err) != BL_OK)
        return context_fail(job->context, &err);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->absent && job->plan->gradient_offset[index] == PLAN_NONE && values[i] != 0) {
            error_set(&err, BL_ERROR_ARGUMENT,
                      "\"%s\" is 0 in the scene, so this job was made without what it is the weight of; give "
                      "it another value "
                      "there, or request its gradient",
                      p->name);
            return context_fail(job->context, &err);
        }
    if (sensor_is(job->scene, p->object) && !job->plan->sensor) {
        error_set(
            &err, BL_ERROR_ARGUMENT,
            "%s: the sensor of this job is fixed: it was created without any of the sensor's parameters",
            p->name);
        return context_fail(job->context, &err);
    }
    if (p->source != PLAN_NONE && geometry_set(job, index, values, &err) != BL_OK)
        return context_fail(job->context, &err);
    uint32_t offset = job->plan->value_offset[index];
    if (offset != PLAN_NONE) {
        if (gpu_buffer_write(job->values, 4ull * offset, values, 4ull * p->count, &err) != BL_OK)
            return context_fail(job->context, &err);
        memcpy(job->host_values + offset, values, 4 * (size_t)p->count);
    }
    job_value_changed(job, index);
    return BL_OK;
}

bl_result bl_job_get_parameter(bl_job *job, uint32_t index, float *values)
{
    if (index >= job->scene->parameters.count)
        return context_fail_range(job->context, "parameter", index, job->scene->parameters.count);
    const render_parameter *p = &job->scene->parameters.data[index];
    bl_error err = {0};
    uint32_t offset = job->plan->value_offset[index];
    bl_result r = offset == PLAN_NONE
                      ? geometry_get(job, index, values, &err)
                      : gpu_buffer_read(job->values, 4ull * offset, values, 4ull * p->count, &err);
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result job_check_sensor(const bl_job *job, uint32_t sensor, const float *to_world, bl_error *err)
{
    TRY(sensor_check(job->scene, sensor, to_world, err));
    if (!job->plan->sensor)
        return BL_OK;
    if (to_world)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "sensor %u has a pose of its own, and parameters of sensors are among the job's: "
                         "put a sensor that stands there into the scene",
                         sensor);
    return job->plan->views[sensor]
               ? BL_OK
               : error_set(err, BL_ERROR_UNSUPPORTED,
                           "sensor %u has other parts than the sensor of the job's kernels, whose "
                           "parameters are wanted",
                           sensor);
}

uint32_t *job_sensor_words(const bl_job *job, uint32_t sensor, const float *to_world, uint32_t *count)
{
    const scene_object *o = job->scene->sensors.data[sensor];
    *count = sensor_words(o);
    uint32_t *words = memory_need_zeroed(*count, sizeof *words);
    sensor_record(job->scene, o, to_world, words);
    if (job->plan->sensor)
        words[SENSOR_OF_CLASS] = job->plan->views[sensor];
    return words;
}

bl_result job_write_sensor(bl_job *job, uint32_t view, uint32_t sensor, const float *to_world, bl_error *err)
{
    BL_ASSERT(view == 0 || view < job->plan->batch_views, "view %u of %u", view, job->plan->batch_views);
    uint32_t count, *words = job_sensor_words(job, sensor, to_world, &count);
    bl_result r = gpu_buffer_write(job->words, 4ull * (plan_sensor_word(job->plan) + view * count), words,
                                   count * sizeof *words, err);
    memory_free(words);
    return r;
}

bl_result bl_job_set_sensor(bl_job *job, uint32_t sensor, const float *to_world)
{
    bl_error err = {0};
    bl_result r = job_check_sensor(job, sensor, to_world, &err);
    if (r == BL_OK && !job->desc.sensor_moves)
        r = error_set(&err, BL_ERROR_ARGUMENT,
                      "the sensor of this job is fixed: it was created without `sensor_moves`");
    if (r == BL_OK)
        r = job_write_sensor(job, 0, sensor, to_world, &err);
    job->guided = false;
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}
