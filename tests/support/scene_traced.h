/* SPDX-License-Identifier: BSD-3-Clause
 * One traced function of a scene alone, run in the interpreter, inside cmocka tests. Parameters and results
 * are reals. */
#ifndef TEST_SCENE_TRACED_H
#define TEST_SCENE_TRACED_H

#include "render/integrator/kernels/kernels.h"

typedef struct loaded {
    render_scene *scene;
    plan *plan;
    double *values;
} loaded;

/* folder: of the files that the scene names. */
bl_result traced_try_load(const char *xml, const char *folder, const scene_define *defines, uint32_t count,
                          render_scene **scene, bl_error *err);
/* Fails the test where that fails. */
loaded traced_load(const char *xml, const char *folder);
void traced_unload(loaded *l);

/* A function under test; record and the like are constants of it. */
typedef struct traced {
    ir_module *module;
    tracer t;
    ir_ref in[12];
} traced;

traced traced_begin(const loaded *l, uint32_t parameters);
void traced_end(traced *f, const ir_ref *results, uint32_t count);
/* in and out: as many numbers as the function has parameters and results. */
void traced_run(const traced *f, const loaded *l, bool f64, const double *in, double *out);

#endif
