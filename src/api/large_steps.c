/* SPDX-License-Identifier: BSD-3-Clause
 * Large steps within a fit (fit/smoothing.c): positions of meshes whose steps are smoothed go to the host and
 * back once a step, with their gradient and moments, which otherwise lie where other parameters' do; so
 * checkpoints know nothing of it. */
#include "api/large_steps.h"

#include "render/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const render_shape *mesh_of(const render_scene *s, const render_parameter *p)
{
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].object->index == p->object)
            return &s->shapes.data[i];
    return NULL;
}

/* k: of the job's. */
static bl_result create_one(bl_fit *fit, const bl_fit_parameter *wanted, uint32_t k, bl_error *err)
{
    const render_scene *s = fit->job->scene;
    const render_parameter *p = &s->parameters.data[fit->job->requested[k]];
    if (p->slot != PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS)
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "%s: large steps are for the vertex_positions of meshes and the heights of heightfields",
            p->name);
    if (fit->desc.optimizer != BL_OPTIMIZER_ADAM)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: large steps are made by a variant of Adam; the fit's optimiser is %s", p->name,
                         fit_optimizer_name(fit->desc.optimizer));
    if (p->rank == 3 && wanted->fixed_axes)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: heights have no axes that could be fixed", p->name);
    if (wanted->least != 0 || wanted->most != 0)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: large steps know no bounds", p->name);
    const render_shape *mesh = mesh_of(s, p);
    const uint32_t *words = s->geometry.data + mesh->data;
    bl_error reason = {0};
    bl_result r =
        fit_smoothing_create(s->geometry.data + words[MESH_FACES], words[MESH_FACE_COUNT], mesh->vertex_count,
                             fit->parameters[k].lambda, &fit->parameters[k].large_steps, &reason);
    return r == BL_OK ? BL_OK : error_set(err, r, "%s: %s", p->name, reason.text);
}

bl_result large_steps_create(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    for (uint32_t k = 0; k < desc->parameter_count; k++) {
        const bl_fit_parameter *wanted = &desc->parameters[k];
        if (wanted->large_steps == 0 && wanted->fixed_axes)
            return error_set(err, BL_ERROR_ARGUMENT, "%s: fixed axes are for large steps", wanted->name);
        for (uint32_t i = 0; i < fit->asked[k].count && wanted->large_steps != 0; i++)
            TRY(create_one(fit, wanted, fit->asked[k].first + i, err));
    }
    return BL_OK;
}

void large_steps_destroy(bl_fit *fit)
{
    for (uint32_t k = 0; fit->parameters && k < fit->job->requested_count; k++)
        fit_smoothing_destroy(fit->parameters[k].large_steps);
}

/* The arrays of one parameter: gradient, positions and the optimiser's two moments. */
enum { GRADIENT, VALUES, FIRST, SECOND, ARRAYS };

static bl_result take_step(bl_fit *fit, uint32_t k, double rate, float *arrays[ARRAYS], bl_fit_status *status,
                           bl_error *err)
{
    uint32_t count = fit->job->scene->parameters.data[fit->job->requested[k]].count;
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(arrays[GRADIENT][i])) {
            status->skipped += count;
            return BL_OK;
        }
    TRY(fit_smoothing_step(fit->parameters[k].large_steps,
                           &(fit_smoothing_move){.gradient = arrays[GRADIENT],
                                                 .values = arrays[VALUES],
                                                 .first = arrays[FIRST],
                                                 .second = arrays[SECOND],
                                                 .count = count,
                                                 .step = status->step + 1 - fit->desc.first_step,
                                                 .rate = rate,
                                                 .beta_1 = fit->parameters[k].beta_1,
                                                 .beta_2 = fit->parameters[k].beta_2,
                                                 .epsilon = fit->desc.epsilon,
                                                 .fixed_axes = fit->parameters[k].fixed_axes},
                           err));
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(arrays[VALUES][i]))
            return error_set(err, BL_ERROR_DEVICE, "%s: entry %u is NaN or infinite after step %u",
                             fit->job->scene->parameters.data[fit->job->requested[k]].name, i,
                             status->step + 1);
    return BL_OK;
}

bl_result large_steps_move(bl_fit *fit, uint32_t k, double factor, bl_fit_status *status, bl_error *err)
{
    BL_ASSERT(k < fit->job->requested_count && fit->parameters[k].large_steps,
              "parameter %u takes ordinary steps", k);
    bl_job *job = fit->job;
    const uint32_t parameter = job->requested[k], count = job->scene->parameters.data[parameter].count;
    const uint64_t element = 4ull * job->plan->gradient_offset[parameter],
                   value = 4ull * job->plan->value_offset[parameter], bytes = 4ull * count;
    gpu_buffer *const from[ARRAYS] = {job->output, job->values, fit->state[0], fit->state[1]};
    const uint64_t at[ARRAYS] = {element, value, element, element};
    float *memory = memory_alloc(ARRAYS * bytes + 1), *arrays[ARRAYS];
    if (!memory)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    bl_result r = BL_OK;
    for (int a = 0; a < ARRAYS; a++) {
        arrays[a] = memory + (size_t)a * count;
        r = r == BL_OK ? gpu_buffer_read(from[a], at[a], arrays[a], bytes, err) : r;
    }
    if (r == BL_OK)
        r = take_step(fit, k, factor * fit->parameters[k].rate, arrays, status, err);
    for (int a = VALUES; a < ARRAYS; a++)
        r = r == BL_OK ? gpu_buffer_write(from[a], at[a], arrays[a], bytes, err) : r;
    memory_free(memory);
    return r;
}
