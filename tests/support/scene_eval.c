/* SPDX-License-Identifier: BSD-3-Clause
 * The module is lowered for rays only. Steering functions stay as they are, so that f64 runs use the C
 * library. */
#include "support/scene_eval.h"

#include "render/refit.h"

#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
    BL_ASSERT(p, "out of memory");
    return p;
}

static void must(bl_result r, const bl_error *err) { BL_ASSERT(r == BL_OK, "%s", err->text); }

scene_eval *scene_eval_create(const char *xml, const char *folder, const char *const *requested,
                              uint32_t count)
{
    return scene_eval_create_baked(xml, folder, requested, count, false);
}

scene_eval *scene_eval_create_baked(const char *xml, const char *folder, const char *const *requested,
                                    uint32_t count, bool bake)
{
    return scene_eval_create_chosen(xml, folder, requested, count, bake, LIGHTS_BY_WEIGHT);
}

scene_eval *scene_eval_create_chosen(const char *xml, const char *folder, const char *const *requested,
                                     uint32_t count, bool bake, enum light_choice lights)
{
    return scene_eval_create_with(xml, folder, requested, count, bake,
                                  &(render_overrides){.light_choice = lights});
}

uint32_t scene_eval_values(const scene_eval *e)
{
    uint32_t channels = e->scene->film_channels;
    return (channels > 3 ? channels : 3) * e->scene->width * e->scene->height;
}

scene_eval *scene_eval_create_with(const char *xml, const char *folder, const char *const *requested,
                                   uint32_t count, bool bake, const render_overrides *overrides)
{
    bl_error err = {0};
    scene_eval *e = checked(calloc(1, sizeof *e));
    const render_mode *mode;
    must(render_mode_find(overrides ? overrides->mode : NULL, &mode, &err), &err);
    scene_load_options o = {.registry = &render_registry, .spectral = mode->light == LIGHT_SPECTRAL};
    scene_description *d;
    must(scene_load_string(xml, folder, &o, &d, &err), &err);
    must(render_scene_create(d, overrides, &e->scene, &err), &err);
    uint32_t *indices = checked(calloc(count + 1u, sizeof *indices));
    for (uint32_t i = 0; i < count; i++)
        indices[i] = scene_eval_find(e, requested[i]);
    e->plan = plan_create(e->scene, indices, count, bake ? PLAN_RAYS_BAKED : PLAN_RAYS_BVH, 0);
    e->plan->remembers_hits = !e->plan->baked;
    free(indices);
    uint32_t n = e->plan->stored_count;
    e->values = checked(calloc(e->plan->value_count + 1u, sizeof *e->values));
    e->frozen = checked(calloc(e->plan->value_count + 1u, sizeof *e->frozen));
    e->tangent = checked(calloc(e->plan->value_count + 1u, sizeof *e->tangent));
    e->gradient = checked(calloc(e->plan->gradient_count + 1u, sizeof *e->gradient));
    e->film = checked(calloc(2 * scene_eval_values(e), sizeof *e->film));
    e->adjoint = checked(calloc(scene_eval_values(e), sizeof *e->adjoint));
    float *initial = checked(calloc(n + 1u, sizeof *initial));
    plan_initial_values(e->plan, initial);
    for (uint32_t i = 0; i < n; i++)
        e->values[i] = e->frozen[i] = (double)initial[i];
    free(initial);
    return e;
}

void scene_eval_destroy(scene_eval *e)
{
    for (int k = 0; k < RENDER_PASS_COUNT; k++)
        ir_module_destroy(e->modules[k]);
    plan_destroy(e->plan);
    render_scene_destroy(e->scene);
    free(e->followed[0]), free(e->followed[1]);
    free(e->values), free(e->frozen), free(e->tangent), free(e->gradient), free(e->film), free(e->adjoint);
    free(e->updated.values);
    free(e);
}

uint32_t scene_eval_find(const scene_eval *e, const char *name)
{
    uint32_t index = render_parameter_called(e->scene, name);
    BL_ASSERT(index != PLAN_NONE, "no parameter %s", name);
    return index;
}

uint32_t scene_eval_gradient_first(const scene_eval *e, const char *name)
{
    return e->plan->gradient_offset[scene_eval_find(e, name)];
}
uint32_t scene_eval_value_first(const scene_eval *e, const char *name)
{
    return e->plan->value_offset[scene_eval_find(e, name)];
}

static bl_result module_of(scene_eval *e, render_pass pass, ir_module **out, bl_error *err)
{
    if (!e->modules[pass]) {
        ir_module *traced, *alive;
        TRY(render_trace(e->plan, pass, &e->options, &traced, err));
        opt_options o = {0};
        plan_ray_options(e->plan, &o);
        if (e->lowered) {
            bl_result r = opt_run(traced, &o, &e->modules[pass], err);
            ir_module_destroy(traced);
            TRY(r);
            *out = e->modules[pass];
            return BL_OK;
        }
        alive = opt_dead(traced);
        ir_module_destroy(traced);
        e->modules[pass] = opt_rays(alive, &o);
        ir_module_destroy(alive);
        TRY(ir_finish(e->modules[pass], err));
    }
    *out = e->modules[pass];
    return BL_OK;
}

typedef struct lane_run {
    double *values;
    const uint32_t *uniforms; /* UNIFORM_COUNT */
    uint32_t lane;
    bool f64;
    const refit *work; /* where BUFFER_SAMPLES is the work buffer of moving geometry; NULL */
} lane_run;

static bl_result run_lane(scene_eval *e, render_pass pass, lane_run run, bl_error *err)
{
    ir_module *m;
    TRY(module_of(e, pass, &m, err));
    ir_eval_buffer buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {.words = e->plan->words.data, .count = e->plan->words.count},
        [BUFFER_VALUES] = {.reals = run.values, .count = e->plan->value_count},
        [BUFFER_GRADIENT] = {.reals = e->gradient, .count = e->plan->gradient_count},
        [BUFFER_FILM] = {.reals = e->film, .count = 2 * scene_eval_values(e)},
        [BUFFER_STATUS] = {.words = e->status, .count = STATUS_COUNT},
        [BUFFER_ADJOINT] = {.words = (uint32_t *)(void *)e->adjoint, .count = scene_eval_values(e)},
        [BUFFER_FROZEN] = {.reals = e->frozen, .count = e->plan->value_count},
        [BUFFER_SAMPLES] = {.words = e->sample, .reals = e->sample_reals, .count = SAMPLE_WORDS_MOST},
        [BUFFER_TANGENT] = {.reals = e->tangent, .count = e->plan->value_count},
    };
    if (run.work)
        buffers[BUFFER_SAMPLES] =
            (ir_eval_buffer){.words = run.work->work.data, .count = run.work->work.count};
    ir_eval_env env = {.buffers = buffers,
                       .buffer_count = BUFFER_COUNT,
                       .uniforms = run.uniforms,
                       .uniform_count = UNIFORM_COUNT,
                       .global_id = run.lane,
                       .f64 = run.f64};
    return ir_eval(m->entry, NULL, NULL, &env, err);
}

/* RENDER_UPDATE or its adjoint for every object. */
static bl_result run_objects(scene_eval *e, render_pass pass, double *values, bool f64, bl_error *err)
{
    for (uint32_t i = 0; i < e->plan->update_count; i++) {
        uint32_t uniforms[UNIFORM_COUNT] = {[UNIFORM_FIRST_LANE] = i, [UNIFORM_LANE_COUNT] = 1};
        TRY(run_lane(e, pass, (lane_run){.values = values, .uniforms = uniforms, .f64 = f64}, err));
    }
    return BL_OK;
}

/* Derived values of `values`, if these are others, or of another precision, than the last time: *noted. */
static bl_result update(scene_eval *e, double *values, scene_eval_updated *noted, bool f64, bl_error *err)
{
    size_t size = e->plan->stored_count * sizeof *values;
    if (noted->values && noted->f64 == f64 && memcmp(noted->values, values, size) == 0)
        return BL_OK;
    if (!noted->values)
        noted->values = checked(calloc(1, size + 1));
    memcpy(noted->values, values, size);
    noted->f64 = f64;
    return run_objects(e, RENDER_UPDATE, values, f64, err);
}

bl_result scene_eval_tables(scene_eval *e, bool f64, bl_error *err)
{
    for (uint32_t i = 0; i < e->plan->table_builds.count; i++) {
        const plan_table *b = &e->plan->table_builds.data[i];
        for (uint32_t lane = 0; lane < b->lanes; lane++) {
            uint32_t uniforms[UNIFORM_COUNT] = {
                [UNIFORM_LANE_COUNT] = b->lanes,
                [UNIFORM_TABLE_STEP] = b->function,
                [UNIFORM_TABLE_RECORD] = b->record,
            };
            TRY(run_lane(e, RENDER_TABLES, (lane_run){e->values, uniforms, lane, f64, NULL}, err));
        }
    }
    return BL_OK;
}

/* Derived values and tables, anew where parameters have changed: tables take the interpreter long. */
static bl_result follow(scene_eval *e, bool f64, bl_error *err)
{
    uint32_t n = e->plan->stored_count, all = e->plan->value_count;
    double *last = e->followed[f64];
    if (last && memcmp(last, e->values, n * sizeof *last) == 0) {
        memcpy(e->values + n, last + n, (all - n) * sizeof *last);
        return BL_OK;
    }
    TRY(run_objects(e, RENDER_UPDATE, e->values, f64, err));
    TRY(scene_eval_tables(e, f64, err));
    if (!last)
        last = e->followed[f64] = checked(calloc(all + 1u, sizeof *last));
    memcpy(last, e->values, all * sizeof *last);
    return BL_OK;
}

bl_result scene_eval_run(scene_eval *e, render_pass pass, scene_eval_at at, bl_error *err)
{
    memset(e->status, 0, sizeof e->status);
    memset(e->film, 0, 2 * scene_eval_values(e) * sizeof *e->film);
    memset(e->gradient, 0, e->plan->gradient_count * sizeof *e->gradient);
    TRY(follow(e, at.f64, err));
    TRY(update(e, e->frozen, &e->updated, at.f64, err));
    if (pass == RENDER_FORWARD)
        TRY(run_objects(e, RENDER_UPDATE_TANGENT, e->values, at.f64, err));
    uint32_t uniforms[UNIFORM_COUNT] = {
        [UNIFORM_FIRST_LANE] = at.pixel,
        [UNIFORM_LANE_COUNT] = 1,
        [UNIFORM_FIRST_SAMPLE] = at.sample,
        [UNIFORM_LAST_SAMPLE] = at.sample + 1,
        [UNIFORM_STRIPS] = 1,
        [UNIFORM_SPP] = 1u << 20,
        [UNIFORM_SEED] = at.seed,
        [UNIFORM_STREAM] = at.stream,
        [UNIFORM_WIDTH] = e->scene->width,
        [UNIFORM_HEIGHT] = e->scene->height,
        [UNIFORM_HALVES] = 1,
        [UNIFORM_TILE_LANE] = at.pixel,
        [UNIFORM_TILE_LANES] = 1,
        [UNIFORM_TILE_SAMPLE] = at.sample,
        [UNIFORM_TILE_SLOTS] = 1,
    };
    const lane_run lane = {.values = e->values, .uniforms = uniforms, .f64 = at.f64};
    bool gradient = pass == RENDER_GRADIENT || pass == RENDER_ADJOINT;
    if (pass == RENDER_ADJOINT)
        TRY(run_lane(e, RENDER_REPLAY, lane, err));
    TRY(run_lane(e, pass, lane, err));
    if (e->plan->update_requested && (gradient || pass == RENDER_UNROLLED))
        TRY(run_objects(e, RENDER_UPDATE_ADJOINT, e->values, at.f64, err));
    /* gradient passes divide dL/dI by UNIFORM_SPP, here a power of two that stands for "any sample index is
     * allowed" */
    for (uint32_t i = 0; gradient && i < e->plan->gradient_count; i++)
        e->gradient[i] *= 1 << 20;
    return BL_OK;
}

bl_result scene_eval_normals_adjoint(scene_eval *e, bool f64, bl_error *err)
{
    const plan *p = e->plan;
    refit r;
    if (!p->normals_derived)
        return BL_OK;
    bool *moves = checked(calloc(e->scene->parameters.count, sizeof *moves));
    for (uint32_t i = 0; i < e->scene->parameters.count; i++)
        if (p->normals_of[i] != PLAN_NONE)
            moves[p->normals_of[i]] = true;
    refit_create(p, moves, &r);
    bl_result result = BL_OK;
    for (uint32_t i = 0; i < r.dispatches.count; i++) {
        const refit_dispatch *d = &r.dispatches.data[i];
        const uint32_t uniforms[UNIFORM_COUNT] = {
            [UNIFORM_LANE_COUNT] = d->lanes, [UNIFORM_TABLE_RECORD] = d->record};
        lane_run run = {.values = e->values, .uniforms = uniforms, .f64 = f64, .work = &r};
        for (; d->step == REFIT_NORMAL_VALUES && run.lane < d->lanes && result == BL_OK; run.lane++)
            result = run_lane(e, RENDER_GEOMETRY_ADJOINT, run, err);
    }
    refit_free(&r);
    free(moves);
    return result;
}

bl_result scene_eval_call(const scene_eval *e, const ir_func *f, const ir_value *args, bool f64,
                          ir_value *out, bl_error *err)
{
    uint32_t nothing = 0;
    ir_eval_buffer buffers[BUFFER_COUNT];
    for (int k = 0; k < BUFFER_COUNT; k++)
        buffers[k] = (ir_eval_buffer){.words = &nothing, .count = 1};
    buffers[BUFFER_SCENE] = (ir_eval_buffer){.words = e->plan->words.data, .count = e->plan->words.count};
    buffers[BUFFER_VALUES] = (ir_eval_buffer){.reals = e->values, .count = e->plan->value_count};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFER_COUNT, .f64 = f64};
    return ir_eval(f, args, out, &env, err);
}

void scene_eval_freeze(scene_eval *e, const double *direction, double step)
{
    for (uint32_t i = 0; i < e->plan->stored_count; i++)
        e->frozen[i] = e->values[i] + step * direction[i];
}

double scene_eval_weighted(const scene_eval *e, uint32_t pixel)
{
    const uint32_t channels = e->scene->film_channels;
    double sum = 0;
    for (uint32_t c = 0; c < channels; c++)
        sum += (double)e->adjoint[channels * pixel + c] * e->film[channels * pixel + c];
    return sum;
}
