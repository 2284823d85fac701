/* SPDX-License-Identifier: BSD-3-Clause
 * See scene_eval.h. The module is lowered for rays only; steering functions stay as rows, so that f64 runs use the C library. */
#include "support/scene_eval.h"

#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
    BL_ASSERT(p, "out of memory");
    return p;
}

static void must(bl_result r, const bl_error *err) { BL_ASSERT(r == BL_OK, "%s", err->text); }

scene_eval *scene_eval_create(const char *xml, const char *folder, const char *const *requested, uint32_t count)
{
    bl_error err = {0};
    scene_eval *e = checked(calloc(1, sizeof *e));
    scene_load_options o = {.registry = &render_registry};
    scene_description *d;
    must(scene_load_string(xml, folder, &o, &d, &err), &err);
    must(render_scene_create(d, NULL, &e->scene, &err), &err);
    uint32_t *indices = checked(calloc(count + 1u, sizeof *indices));
    for (uint32_t i = 0; i < count; i++)
        indices[i] = scene_eval_find(e, requested[i]);
    e->plan = plan_create(e->scene, indices, count, false);
    free(indices);
    uint32_t n = e->scene->values.count, pixels = e->scene->width * e->scene->height;
    e->values = checked(calloc(n + 1u, sizeof *e->values));
    e->frozen = checked(calloc(n + 1u, sizeof *e->frozen));
    e->gradient = checked(calloc(e->plan->gradient_count + 1u, sizeof *e->gradient));
    e->film = checked(calloc(6u * pixels, sizeof *e->film));
    e->adjoint = checked(calloc(3u * pixels, sizeof *e->adjoint));
    for (uint32_t i = 0; i < n; i++)
        e->values[i] = e->frozen[i] = (double)e->scene->values.data[i];
    return e;
}

void scene_eval_destroy(scene_eval *e)
{
    for (int k = 0; k < RENDER_PASS_COUNT; k++)
        ir_module_destroy(e->modules[k]);
    plan_destroy(e->plan);
    render_scene_destroy(e->scene);
    free(e->values), free(e->frozen), free(e->gradient), free(e->film), free(e->adjoint);
    free(e);
}

uint32_t scene_eval_find(const scene_eval *e, const char *name)
{
    for (uint32_t i = 0; i < e->scene->parameters.count; i++)
        if (strcmp(e->scene->parameters.data[i].name, name) == 0)
            return i;
    BL_ASSERT(false, "no parameter %s", name);
}

uint32_t scene_eval_gradient_first(const scene_eval *e, const char *name) { return e->plan->gradient_offset[scene_eval_find(e, name)]; }

static bl_result module_of(scene_eval *e, render_pass pass, ir_module **out, bl_error *err)
{
    if (!e->modules[pass]) {
        ir_module *traced, *alive;
        TRY(render_trace(e->plan, pass, &e->options, &traced, err));
        opt_options o = {.scene_buffer = BUFFER_SCENE, .node_base_word = HEADER_NODES, .entry_base_word = HEADER_ENTRIES,
                         .stack_size = e->scene->bvh.depth + 1};
        alive = opt_dead(traced);
        ir_module_destroy(traced);
        e->modules[pass] = opt_rays(alive, &o);
        ir_module_destroy(alive);
        TRY(ir_finish(e->modules[pass], err));
    }
    *out = e->modules[pass];
    return BL_OK;
}

bl_result scene_eval_run(scene_eval *e, render_pass pass, uint32_t pixel, uint32_t sample, uint32_t seed, uint32_t stream, bool f64, bl_error *err)
{
    ir_module *m;
    TRY(module_of(e, pass, &m, err));
    uint32_t pixels = e->scene->width * e->scene->height;
    memset(e->status, 0, sizeof e->status);
    memset(e->film, 0, 6u * pixels * sizeof *e->film);
    memset(e->gradient, 0, e->plan->gradient_count * sizeof *e->gradient);
    ir_eval_buffer buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {.words = e->plan->words.data, .count = e->plan->words.count},
        [BUFFER_VALUES] = {.reals = e->values, .count = e->scene->values.count},
        [BUFFER_GRADIENT] = {.reals = e->gradient, .count = e->plan->gradient_count},
        [BUFFER_FILM] = {.reals = e->film, .count = 6u * pixels},
        [BUFFER_STATUS] = {.words = e->status, .count = STATUS_COUNT},
        [BUFFER_ADJOINT] = {.words = (uint32_t *)(void *)e->adjoint, .count = 3u * pixels},
        [BUFFER_FROZEN] = {.reals = e->frozen, .count = e->scene->values.count},
    };
    uint32_t uniforms[UNIFORM_COUNT] = {
        [UNIFORM_FIRST_LANE] = pixel, [UNIFORM_LANE_COUNT] = 1,      [UNIFORM_FIRST_SAMPLE] = sample,        [UNIFORM_LAST_SAMPLE] = sample + 1,
        [UNIFORM_STRIPS] = 1,         [UNIFORM_SPP] = 1u << 20,      [UNIFORM_SEED] = seed,                  [UNIFORM_STREAM] = stream,
        [UNIFORM_WIDTH] = e->scene->width, [UNIFORM_HEIGHT] = e->scene->height};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFER_COUNT, .uniforms = uniforms, .uniform_count = UNIFORM_COUNT, .f64 = f64};
    TRY(ir_eval(m->entry, NULL, NULL, &env, err));
    /* RENDER_GRADIENT divides dL/dI by UNIFORM_SPP, here a power of two that stands for "any sample index is allowed" */
    for (uint32_t i = 0; pass == RENDER_GRADIENT && i < e->plan->gradient_count; i++)
        e->gradient[i] *= 1 << 20;
    return BL_OK;
}
