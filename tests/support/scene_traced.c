/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/scene_traced.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

bl_result traced_try_load(const char *xml, const char *folder, const scene_define *defines, uint32_t count,
                          render_scene **scene, bl_error *err)
{
    scene_load_options o = {.registry = &render_registry, .defines = defines, .define_count = count};
    scene_description *d;
    TRY(scene_load_string(xml, folder, &o, &d, err));
    return render_scene_create(d, NULL, scene, err);
}

loaded traced_load(const char *xml, const char *folder)
{
    bl_error err = {0};
    loaded l = {0};
    if (traced_try_load(xml, folder, NULL, 0, &l.scene, &err) != BL_OK)
        fail_msg("%s", err.text);
    l.plan = plan_create(l.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    l.values = calloc(l.scene->values.count + 1u, sizeof *l.values);
    for (uint32_t i = 0; i < l.scene->values.count; i++)
        l.values[i] = (double)l.scene->values.data[i];
    return l;
}

void traced_unload(loaded *l)
{
    plan_destroy(l->plan);
    render_scene_destroy(l->scene);
    free(l->values);
}

traced traced_begin(const loaded *l, uint32_t parameters)
{
    traced f = {.module = kernel_module(l->plan)};
    f.t = plan_tracer(l->plan, ir_func_create(f.module, "test"));
    for (uint32_t k = 0; k < parameters; k++)
        f.in[k] = ir_param(f.t.f, IR_F32);
    return f;
}

void traced_end(traced *f, const ir_ref *results, uint32_t count)
{
    bl_error err = {0};
    ir_return(f->t.f, results, count);
    if (ir_finish(f->module, &err) != BL_OK)
        fail_msg("%s", err.text);
}

void traced_run(const traced *f, const loaded *l, bool f64, const double *in, double *out)
{
    ir_value args[12], got[16];
    bl_error err = {0};
    uint32_t words[1] = {0};
    ir_eval_buffer buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {.words = l->plan->words.data, .count = l->plan->words.count},
        [BUFFER_VALUES] = {.reals = l->values, .count = l->scene->values.count},
    };
    if (!f64)
        buffers[BUFFER_VALUES] = (ir_eval_buffer){
            .words = (uint32_t *)(void *)l->scene->values.data,
            .count = l->scene->values.count,
        };
    for (int k = BUFFER_VALUES + 1; k < BUFFER_COUNT; k++)
        buffers[k] = (ir_eval_buffer){.words = words, .count = 1};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFER_COUNT, .f64 = f64};
    for (uint32_t k = 0; k < f->t.f->params.count; k++)
        args[k].f = f64 ? in[k] : (double)(float)in[k];
    if (ir_eval(f->t.f, args, got, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t k = 0; k < f->t.f->results.count; k++)
        out[k] = got[k].f;
}
