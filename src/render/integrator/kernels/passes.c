/* SPDX-License-Identifier: BSD-3-Clause
 * The entrance: a pass of a plan to its kernel. */
#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/kernels.h"

ir_module *kernel_module(const plan *p)
{
    ir_module *m = ir_module_create();
    static const struct {
        const char *name;
        bool constant;
        int32_t gradient;
    } buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {"scene", true, -1},        [BUFFER_VALUES] = {"values", true, BUFFER_GRADIENT},
        [BUFFER_GRADIENT] = {"gradient", false, -1}, [BUFFER_FILM] = {"film", false, -1},
        [BUFFER_STATUS] = {"status", false, -1},     [BUFFER_ADJOINT] = {"adjoint", true, -1},
        [BUFFER_FROZEN] = {"frozen", true, -1},      [BUFFER_SCALE] = {"scale", true, -1},
        [BUFFER_SAMPLES] = {"samples", false, -1},   [BUFFER_TANGENT] = {"tangent", true, -1},
    };
    for (int k = 0; k < BUFFER_COUNT; k++)
        ir_buffer_add(m, buffers[k].name, buffers[k].constant, buffers[k].gradient);
    m->no_fold = p->off & PLAN_FOLD, m->no_merge = p->off & PLAN_NUMBER;
    m->buffers.data[BUFFER_VALUES].tangent = BUFFER_TANGENT;
    if (p->baked) {
        m->buffers.data[BUFFER_SCENE].known = p->words.data;
        m->buffers.data[BUFFER_SCENE].known_count = p->sensor_moves ? plan_sensor_word(p) : p->words.count;
    }
    return m;
}

static bl_result trace_walk(const plan *p, render_pass pass, const render_trace_options *o, ir_module *m)
{
    static const char *const names[RENDER_PASS_COUNT] = {"primal", "variance", "channels", "gradient",
                                                         "replay", "adjoint",  "tape",     "tape adjoint",
                                                         "frozen", "unrolled", "forward"};
    const render_scene *s = p->scene;
    walk w = {
        .plan = p,
        .pass = pass,
        .next_event = s->use_next_event && !(o && o->no_next_event),
        .bsdf_emission = s->use_bsdf_sampling,
    };
    walk_begin(&w, ir_func_create(m, names[pass]));
    if (pass == RENDER_CHANNELS)
        return kernel_channels(&w, m, s->channels.data, s->channels.count, false);
    if (s->light_tracing)
        return kernel_light(&w, m);
    if (s->depth_image && (pass == RENDER_PRIMAL || pass == RENDER_VARIANCE)) {
        static const render_channel grey[3] = {
            {.kind = CHANNEL_DEPTH}, {.kind = CHANNEL_DEPTH}, {.kind = CHANNEL_DEPTH}};
        return kernel_channels(&w, m, grey, 3, pass == RENDER_VARIANCE);
    }
    if (pass == RENDER_PRIMAL || pass == RENDER_VARIANCE)
        return kernel_primal(&w, m);
    if (pass == RENDER_GRADIENT || pass == RENDER_REPLAY || pass == RENDER_ADJOINT)
        return kernel_gradient(&w, m);
    if (pass == RENDER_TAPE)
        return kernel_tape(&w, m);
    if (pass == RENDER_TAPE_ADJOINT)
        return kernel_tape_adjoint(&w, m);
    if (pass == RENDER_FORWARD)
        return kernel_forward(&w, m);
    return kernel_tracked(&w, m, pass == RENDER_UNROLLED ? o->unrolled_depth : 0);
}

bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out,
                       bl_error *err)
{
    ir_module *m = kernel_module(p);
    bl_result r = pass == RENDER_UPDATE             ? kernel_update(p, m)
                  : pass == RENDER_UPDATE_ADJOINT   ? kernel_update_adjoint(p, m, o && o->fixed_point)
                  : pass == RENDER_TABLES           ? kernel_tables(p, m)
                  : pass == RENDER_UPDATE_TANGENT   ? kernel_update_tangent(p, m)
                  : pass == RENDER_GEOMETRY         ? kernel_geometry(p, m)
                  : pass == RENDER_GEOMETRY_ADJOINT ? kernel_geometry_adjoint(p, m, o && o->fixed_point)
                  : pass == RENDER_GEOMETRY_TANGENT ? kernel_geometry_tangent(p, m)
                                                    : trace_walk(p, pass, o, m);
    if (r == BL_OK)
        r = ir_finish(m, err);
    if (r != BL_OK) {
        ir_module_destroy(m);
        return r;
    }
    *out = m;
    return BL_OK;
}
