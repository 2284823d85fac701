/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a pass of a scene in the reference interpreter, lane by lane, in f32 or f64. Kernels are compared
 * with it. */
#ifndef TEST_SCENE_EVAL_H
#define TEST_SCENE_EVAL_H

#include "render/classes.h"
#include "spirv_gen/opt/opt.h"

/* The parameter values that derived ones were computed from. */
typedef struct scene_eval_updated {
    double *values;
    bool f64;
} scene_eval_updated;

typedef struct scene_eval {
    render_scene *scene;
    plan *plan;
    double *values,
        *frozen; /* parameter values, written by tests; derived values and sampling tables, by every run */
    double *gradient; /* per requested element, then per element of derived values */
    double *tangent;  /* as values; of parameters, written by tests; of derived values, written by runs of
                         RENDER_FORWARD */
    double *film;     /* twice scene_eval_values: per lane of a one-strip film, sums and sums of squares */
    float *adjoint;   /* dL/dI: of each pixel, a number a channel of the film */
    scene_eval_updated updated; /* of frozen */
    uint32_t status[STATUS_COUNT];
    uint32_t sample[SAMPLE_WORDS_MOST];     /* integers that RENDER_REPLAY leaves of one sample */
    double sample_reals[SAMPLE_WORDS_MOST]; /* and its reals */
    double *followed[2]; /* values from which derived values and tables were last made, in f32 and in f64;
                            NULL: they never were */
    ir_module *modules[RENDER_PASS_COUNT];
    render_trace_options options; /* set before the first run, like: */
    bool lowered; /* run what the device runs: all passes, steering functions as polynomials (not for
                     gradients) */
} scene_eval;

/* requested: names of parameters whose gradients are wanted. Fails the program with a message if anything
 * goes wrong. */
scene_eval *scene_eval_create(const char *xml, const char *folder, const char *const *requested,
                              uint32_t count);
/* bake: geometry as constants of the kernels, as jobs do with small scenes. */
scene_eval *scene_eval_create_baked(const char *xml, const char *folder, const char *const *requested,
                                    uint32_t count, bool bake);
scene_eval *scene_eval_create_chosen(const char *xml, const char *folder, const char *const *requested,
                                     uint32_t count, bool bake, enum light_choice lights);
scene_eval *scene_eval_create_with(const char *xml, const char *folder, const char *const *requested,
                                   uint32_t count, bool bake, const render_overrides *overrides);
void scene_eval_destroy(scene_eval *e);
uint32_t scene_eval_find(const scene_eval *e, const char *name); /* parameter index */
uint32_t scene_eval_gradient_first(const scene_eval *e, const char *name);
uint32_t scene_eval_value_first(const scene_eval *e, const char *name); /* in values, frozen, tangent */
/* Runs one sample of one pixel. What it writes starts from zero: the sum in film for RENDER_PRIMAL and
 * RENDER_FROZEN, the gradient for other passes. RENDER_ADJOINT runs RENDER_REPLAY first. */
typedef struct scene_eval_at {
    uint32_t pixel, sample, seed, stream;
    bool f64; /* else f32 */
} scene_eval_at;
bl_result scene_eval_run(scene_eval *e, render_pass pass, scene_eval_at at, bl_error *err);
/* Hands the gradients of derived normals, in e->gradient, on to the positions or heights. No run does it, nor
 * does one make such normals anew where positions have changed. */
bl_result scene_eval_normals_adjoint(scene_eval *e, bool f64, bl_error *err);
/* Makes the sampling tables of e->values, and runs no pass. */
bl_result scene_eval_tables(scene_eval *e, bool f64, bl_error *err);

/* Calls a traced function of the plan, which may read the words of the scene and e->values. */
bl_result scene_eval_call(const scene_eval *e, const ir_func *f, const ir_value *args, bool f64,
                          ir_value *out, bl_error *err);

/* For RENDER_FROZEN: frozen values = values + step * direction, one number per parameter value. */
void scene_eval_freeze(scene_eval *e, const double *direction, double step);
/* How many values `adjoint` has: of an image, of 3 channels at least. */
uint32_t scene_eval_values(const scene_eval *e);
/* <adjoint, film> at a pixel: what a gradient is the derivative of. */
double scene_eval_weighted(const scene_eval *e, uint32_t pixel);

#endif
