/* SPDX-License-Identifier: BSD-3-Clause
 * The parameters of a fit. Most are parameters of its job. The to_world of a shape, an instance or a camera
 * is not, unless its motion is free: a step of an optimiser on sixteen numbers shears what should only move.
 * In its place the job has translation and rotation, and scale where that is asked for, and to_world is where
 * they start from. Its values for the caller are the matrix that, with everything else as the caller knows
 * it, puts the shape where it is now. The pose of a camera is about and along its own axes, in degrees
 * (render/sensor/sensor.c), that of a shape in radians (render/shape/pose.c). */
#include "api/fit_parameters.h"
#include "api/scene.h"

#include "render/classes.h"
#include "render/rotation.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *bl_motion_name(bl_motion motion)
{
    static const char *const names[BL_MOTION_COUNT] = {"rigid", "similarity", "free"};
    return (unsigned)motion < BL_MOTION_COUNT ? names[motion] : NULL;
}

/* ---- names ---- */

/* What moves as a whole: its to_world, and the parameters besides that. scale: PLAN_NONE of a camera. */
typedef struct whole {
    const render_place *place; /* NULL: of a camera */
    uint32_t translation, rotation, scale;
} whole;

/* Whether the parameter is the to_world of something that can move as a whole. */
static bool find_whole(const render_scene *s, uint32_t parameter, whole *out)
{
    uint32_t index = s->parameters.data[parameter].place;
    if (index) {
        const render_place *place = &s->places.data[index - 1];
        *out = (whole){place, place->translation, place->rotation, place->scale};
        return place->to_world == parameter;
    }
    *out = (whole){NULL, PLAN_NONE, PLAN_NONE, PLAN_NONE};
    for (uint32_t i = 0; i < s->sensors.count; i++) {
        const scene_object *o = s->sensors.data[i];
        if (render_offered_parameter(s, o, "to_world") != parameter)
            continue;
        out->translation = render_offered_parameter(s, o, "translation");
        out->rotation = render_offered_parameter(s, o, "rotation");
    }
    return out->translation != PLAN_NONE && out->rotation != PLAN_NONE;
}

static bl_result check_motion(const render_scene *s, const bl_fit_parameter *f, uint32_t parameter,
                              bl_error *err)
{
    const char *name = s->parameters.data[parameter].name;
    if (f->motion >= BL_MOTION_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: there is no motion %llu", name,
                         (unsigned long long)f->motion);
    whole moves;
    if (!find_whole(s, parameter, &moves))
        return f->motion == BL_MOTION_RIGID
                   ? BL_OK
                   : error_set(err, BL_ERROR_ARGUMENT,
                               "%s: %s motion is for the to_world of a shape, an instance or a camera", name,
                               bl_motion_name((bl_motion)f->motion));
    if (f->motion == BL_MOTION_SIMILARITY && !moves.place)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: a camera is not scaled", name);
    if (f->motion != BL_MOTION_FREE && f->prior != BL_PRIOR_NONE)
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "%s moves as a whole, so its numbers have no prior; ask for that of its translation, "
            "rotation or scale",
            name);
    if (f->motion != BL_MOTION_FREE && (f->least != 0 || f->most != 0))
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "%s moves as a whole, so its numbers have no bounds; name its translation, rotation or "
            "scale to bound those, or ask for free motion",
            name);
    return BL_OK;
}

static bool is_asked_for(const bl_scene *scene, const bl_fit_desc *desc, uint32_t parameter)
{
    for (uint32_t k = 0; k < desc->parameter_count; k++)
        if (render_parameter_called(scene->render, desc->parameters[k].name) == parameter)
            return true;
    return false;
}

/* Whether a material or light is the same at all points of a ball, and in all directions along it. */
static bool looks_alike(const scene_object *o)
{
    bool alike = true;
    for (uint32_t k = 0; o && k < o->cls->param_count; k++) {
        const char *name = o->cls->params[k].name;
        bool along = strcmp(name, "alpha_u") == 0 || strcmp(name, "anisotropic") == 0;
        alike &= !(along && o->values[k].given);
        alike &= !o->values[k].object || texture_is_constant(o->values[k].object);
    }
    for (uint32_t k = 0; o && k < o->child_count; k++)
        alike &= looks_alike(o->children[k]);
    return alike;
}

/* Whether turning what stands at the place changes nothing but noise. */
static bool is_plain_ball(const render_scene *s, const render_place *place)
{
    bool plain = false;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].object == place->object)
            plain = s->shapes.data[i].kind == SHAPE_SPHERE && looks_alike(s->shapes.data[i].bsdf) &&
                    looks_alike(s->shapes.data[i].emitter);
    return plain;
}

/* The parameters of the job that stand for this one of the descriptor: those of a pose that the descriptor
 * does not name itself. A ball that looks the same from all sides is not turned: a gradient that is all noise
 * would turn it. Returns how many. */
static uint32_t stand_ins(const bl_scene *scene, const bl_fit_desc *desc, uint32_t k, uint32_t parameter,
                          const char *out[3])
{
    const render_scene *s = scene->render;
    const bl_motion motion = (bl_motion)desc->parameters[k].motion;
    whole moves;
    uint32_t count = 0;
    if (!find_whole(s, parameter, &moves) || motion == BL_MOTION_FREE) {
        out[0] = desc->parameters[k].name;
        return 1;
    }
    const uint32_t pose[3] = {moves.translation, moves.rotation, moves.scale};
    for (int i = 0; i < (motion == BL_MOTION_SIMILARITY ? 3 : 2); i++)
        if (!is_asked_for(scene, desc, pose[i]) &&
            !(pose[i] == moves.rotation && moves.place && is_plain_ball(s, moves.place)))
            out[count++] = s->parameters.data[pose[i]].name;
    return count;
}

bl_result fit_name_parameters(const bl_scene *scene, const bl_fit_desc *desc, const char ***names,
                              uint32_t *count, fit_asked **asked)
{
    const render_scene *s = scene->render;
    bl_error err = {0};
    bl_result r = BL_OK;
    *names = memory_need_zeroed(3 * (size_t)desc->parameter_count, sizeof **names);
    *asked = memory_need_zeroed(desc->parameter_count, sizeof **asked);
    *count = 0;
    for (uint32_t k = 0; k < desc->parameter_count && r == BL_OK; k++) {
        uint32_t parameter;
        r = bl_scene_find_parameter(scene, desc->parameters[k].name, &parameter);
        if (r == BL_OK && check_motion(s, &desc->parameters[k], parameter, &err) != BL_OK)
            r = context_fail(scene->context, &err);
        if (r != BL_OK)
            break;
        fit_asked *a = &(*asked)[k];
        a->first = *count, a->count = stand_ins(scene, desc, k, parameter, *names + *count);
        *count += a->count;
        bool itself = a->count == 1 && strcmp((*names)[a->first], desc->parameters[k].name) == 0;
        a->to_world = itself ? PLAN_NONE : parameter;
    }
    if (r != BL_OK) {
        memory_free(*names), memory_free(*asked);
        *names = NULL, *asked = NULL;
    }
    return r;
}

/* ---- what is made once ---- */

static bl_result check_prior(const bl_fit_parameter *f, const render_parameter *p, bl_error *err)
{
    if (f->prior >= BL_PRIOR_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: there is no prior %llu", p->name,
                         (unsigned long long)f->prior);
    if (f->prior == BL_PRIOR_NONE)
        return BL_OK;
    if (!(f->prior_weight > 0 && f->prior_weight <= FLT_MAX && fabs(f->prior_centre) <= FLT_MAX))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: a prior has a weight above 0 and a centre, numbers that single precision holds",
                         p->name);
    return BL_OK;
}

/* own: the descriptor has bounds. */
static bl_result check_bounds(const bl_fit_parameter *f, const render_parameter *p, bool own, bl_error *err)
{
    if (own && !(f->least <= f->most))
        return error_set(err, BL_ERROR_ARGUMENT, "%s: bounds from %g to %g hold no value", p->name, f->least,
                         f->most);
    bool inside = own && f->initial && !(f->large_steps > 0); /* which know no bounds, as is said elsewhere */
    for (uint32_t i = 0; inside && i < p->count; i++)
        if (f->initial[i] < (float)f->least || f->initial[i] > (float)f->most)
            return error_set(err, BL_ERROR_ARGUMENT,
                             "%s: initial value %u is %g, outside of the bounds from %g to %g", p->name, i,
                             (double)f->initial[i], f->least, f->most);
    return BL_OK;
}

/* Takes rates, bounds and penalties of the job's parameter k from the descriptor's. */
static bl_result set_parameter(bl_fit *fit, const bl_fit_parameter *f, uint32_t k, bl_error *err)
{
    const bl_job *job = fit->job;
    const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
    bool own = f->least != 0 || f->most != 0;
    TRY(check_bounds(f, p, own, err));
    if (!(f->total_variation >= 0 && f->smoothing >= 0 && isfinite(f->total_variation) &&
          isfinite(f->smoothing)))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: total variation and its smoothing must be numbers, 0 or above", p->name);
    if (f->total_variation > 0 && !fit_has_variation(p->rank))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s is neither an image nor a grid, so it has no total variation", p->name);
    if (!(f->beta_1 >= 0 && f->beta_1 < 1 && f->beta_2 >= 0 && f->beta_2 < 1))
        return error_set(err, BL_ERROR_ARGUMENT, "%s: beta_1 and beta_2 must be 0 or above, and below 1",
                         p->name);
    if ((f->beta_1 > 0 || f->beta_2 > 0) && fit->desc.optimizer != BL_OPTIMIZER_ADAM)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: beta_1 and beta_2 are adam's, the optimiser is %s",
                         p->name, fit_optimizer_name(fit->desc.optimizer));
    TRY(check_prior(f, p, err));
    if (f->sparse && (fit->desc.optimizer != BL_OPTIMIZER_ADAM || f->prior != BL_PRIOR_NONE ||
                      f->total_variation > 0 || f->large_steps > 0))
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "%s: sparse steps are adam's; a prior, a total variation and large steps move all values",
            p->name);
    fit->parameters[k] = (fit_parameter){
        .rate = f->rate > 0 ? f->rate : fit->desc.rate,
        .beta_1 = f->beta_1 > 0 ? f->beta_1 : fit->desc.beta_1,
        .beta_2 = f->beta_2 > 0 ? f->beta_2 : fit->desc.beta_2,
        .lower = own ? (float)f->least : p->least,
        .upper = own ? (float)f->most : p->most,
        .total_variation = f->total_variation,
        .smoothing = f->smoothing > 0 ? f->smoothing : 1e-3,
        .sparse = f->sparse != 0,
        .prior = (bl_prior)f->prior,
        .prior_weight = f->prior_weight,
        .prior_centre = f->prior_centre,
        .lambda = f->large_steps,
        .fixed_axes = f->fixed_axes,
    };
    return BL_OK;
}

static bl_result set_initial(bl_fit *fit, const bl_fit_parameter *f, uint32_t k, bl_error *err)
{
    const fit_asked *a = &fit->asked[k];
    uint32_t parameter = a->to_world == PLAN_NONE ? fit->job->requested[a->first] : a->to_world;
    bl_result r = f->initial ? bl_job_set_parameter(fit->job, parameter, f->initial) : BL_OK;
    return r == BL_OK ? BL_OK : error_set(err, r, "%s", bl_context_error(fit->job->context));
}

/* Rates are per radian. A camera's rotation is in degrees: its gradient is so much smaller, and its steps are
 * so much larger. */
static void set_unit(bl_fit *fit, uint32_t to_world, uint32_t k)
{
    const double degrees = 57.29577951308232;
    whole moves;
    if (to_world == PLAN_NONE || !find_whole(fit->job->scene, to_world, &moves) || moves.place ||
        fit->job->requested[k] != moves.rotation)
        return;
    bool scales_gradient = fit->desc.optimizer == BL_OPTIMIZER_SGD; /* others divide by its size */
    fit->parameters[k].rate *= scales_gradient ? degrees * degrees : degrees;
}

bl_result fit_set_parameters(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    fit->parameters = memory_need_zeroed(fit->job->requested_count, sizeof *fit->parameters);
    for (uint32_t k = 0; k < desc->parameter_count; k++) {
        const fit_asked *a = &fit->asked[k];
        for (uint32_t i = a->first; i < a->first + a->count; i++) {
            TRY(set_parameter(fit, &desc->parameters[k], i, err));
            set_unit(fit, a->to_world, i);
        }
        TRY(set_initial(fit, &desc->parameters[k], k, err));
    }
    return BL_OK;
}

/* ---- what comes back ---- */

/* Values of a parameter of the scene as doubles: now, or as the caller knows them, which are those of the
 * scene where the fit has not been asked for the parameter. */
static bl_result values_of(bl_fit *fit, uint32_t parameter, bool known, double *out)
{
    const bl_job *job = fit->job;
    const render_parameter *p = &job->scene->parameters.data[parameter];
    float values[16];
    BL_ASSERT(p->count <= 16, "%s has %u values", p->name, p->count);
    for (uint32_t k = 0; k < fit->asked_count && known; k++)
        known = fit->asked[k].to_world != PLAN_NONE || job->requested[fit->asked[k].first] != parameter;
    if (known)
        memcpy(values, render_initial(job->scene, p), p->count * sizeof *values);
    else
        TRY(bl_job_get_parameter(fit->job, parameter, values));
    for (uint32_t i = 0; i < p->count; i++)
        out[i] = (double)values[i];
    return BL_OK;
}

static bl_result pose_of(bl_fit *fit, const whole *moves, bool known, pose_values *out)
{
    out->scale = 1;
    TRY(values_of(fit, moves->translation, known, out->translation));
    TRY(values_of(fit, moves->rotation, known, out->rotation));
    return moves->scale == PLAN_NONE ? BL_OK : values_of(fit, moves->scale, known, &out->scale);
}

/* out = a b, of matrices with the last row 0, 0, 0, 1. */
static void multiply(const double a[16], const double b[16], double out[16])
{
    for (int i = 0; i < 16; i++) {
        out[i] = i == 15;
        for (int k = 0; k < 4 && i < 12; k++)
            out[i] += a[4 * (i / 4) + k] * b[4 * k + i % 4];
    }
}

/* What a camera's to_world is multiplied by on its right. */
static void camera_pose(const pose_values *pose, double out[16])
{
    double radians[3], by[3][3];
    for (int k = 0; k < 3; k++)
        radians[k] = pose->rotation[k] * 3.14159265358979323846 / 180;
    rotation_matrix(radians, by);
    for (int i = 0; i < 16; i++)
        out[i] = i >= 12 ? i == 15 : i % 4 == 3 ? pose->translation[i / 4] : by[i / 4][i % 4];
}

static bl_result get_to_world(bl_fit *fit, uint32_t parameter, float *values)
{
    const render_scene *s = fit->job->scene;
    double pivot[3], m[16], now[16], by[16], back[16];
    pose_values pose, known;
    whole moves;
    bool found = find_whole(s, parameter, &moves);
    BL_ASSERT(found, "parameter %u is no to_world", parameter);
    TRY(values_of(fit, parameter, false, m));
    TRY(pose_of(fit, &moves, false, &pose));
    TRY(pose_of(fit, &moves, true, &known));
    if (moves.place) {
        pose_pivot(s, moves.place, pivot);
        pose_apply(&pose, pivot, m, now);
        pose_undo(&known, pivot, now, m);
    } else {
        camera_pose(&pose, by), multiply(m, by, now);
        camera_pose(&known, by), matrix_invert(by, back);
        multiply(now, back, m);
    }
    for (int i = 0; i < 16; i++)
        values[i] = (float)m[i];
    return BL_OK;
}

bl_result fit_get_parameter(bl_fit *fit, uint32_t k, float *values)
{
    const fit_asked *a = &fit->asked[k];
    return a->to_world == PLAN_NONE ? bl_job_get_parameter(fit->job, fit->job->requested[a->first], values)
                                    : get_to_world(fit, a->to_world, values);
}
