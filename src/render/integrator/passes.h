/* SPDX-License-Identifier: BSD-3-Clause
 * The kernels of the renderer, as passes of a plan. */
#ifndef BL_RENDER_PASSES_H
#define BL_RENDER_PASSES_H

#include "render/plan.h"

typedef enum render_pass {
    RENDER_PRIMAL,
    RENDER_VARIANCE,
    RENDER_CHANNELS,     /* the film receives the scene's channels */
    RENDER_GRADIENT,     /* fused: replay and adjoint of each sample in one kernel */
    RENDER_REPLAY,       /* separate: radiance of each sample into BUFFER_SAMPLES, */
    RENDER_ADJOINT,      /* and from there gradients */
    RENDER_TAPE,         /* METHOD_TAPE: vertices of each sample into BUFFER_SAMPLES, */
    RENDER_TAPE_ADJOINT, /* and from there gradients */
    RENDER_FROZEN,
    RENDER_UNROLLED,
    RENDER_FORWARD,        /* the film receives tangents of radiance */
    RENDER_UPDATE,         /* derived values of object UNIFORM_FIRST_LANE + lane, in BUFFER_VALUES */
    RENDER_UPDATE_ADJOINT, /* their gradients to those of the parameters, after a gradient pass */
    RENDER_TABLES,         /* one step of one sampling table */
    RENDER_UPDATE_TANGENT, /* tangents of derived values, in BUFFER_TANGENT, from those of the parameters,
                              before a forward pass */
    RENDER_GEOMETRY, /* one step of what follows from moved vertices: refit.h; from here on the work buffer
                        stands in place of BUFFER_SAMPLES */
    RENDER_GEOMETRY_ADJOINT, /* of derived normals: their gradients to those of the positions, after a
                                gradient pass */
    RENDER_GEOMETRY_TANGENT, /* and their tangents, before a forward pass */
    RENDER_PASS_COUNT
} render_pass;

typedef struct render_trace_options {
    bool no_next_event;
    uint32_t unrolled_depth; /* RENDER_UNROLLED: vertices */
    bool fixed_point; /* RENDER_UPDATE_ADJOINT: how it finds gradients, as in opt/accumulate.c; else as f32 */
} render_trace_options;

/* Whether lanes of the pass are listed: BUFFER_ADJOINT is then a list (enum lane_word). */
bool render_lists_lanes(const plan *p, render_pass pass);

/* The kernel of a pass as a trace: entry function without parameters. */
bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out,
                       bl_error *err);

/* ---- integrator/derived/light_choice.c: the table lights are chosen by ---- */

enum { LIGHT_CHOICE_STEPS = 2 };
uint32_t light_choice_words(const render_scene *s);
uint32_t light_choice_lanes(const render_scene *s, uint32_t step);

/* ---- integrators.c ---- */

void render_add_channels(render_scene *s, const char *name, enum channel_kind kind);

#endif
