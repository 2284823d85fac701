/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients of a scene against plain differences, sample by sample in the interpreter (f64). Everything
 * moves with the parameter, rays and what they hit too. The comparison is right where no edge lies within
 * the step, and where the gradient moves samples along with their parameters. */
#ifndef TEST_PLAIN_DIFFERENCES_H
#define TEST_PLAIN_DIFFERENCES_H

#include "support/scene_cases.h"
#include "support/scene_eval.h"

typedef struct plain_differences {
    const char *name; /* of the case, for messages */
    const char *const *parameters;
    uint32_t parameter_count, samples;
    bool every;        /* compare all entries of a parameter; else the largest of its gradient, or one in turn
                          where all are 0 */
    double least_mean; /* fails where the derivatives are smaller than this on average */
} plain_differences;

/* Sets e->adjoint. Fails the running test where more than a tenth of the samples disagree. Samples beside
 * an edge may. */
void plain_differences_expect(scene_eval *e, const plain_differences *d);
/* The same by the first parameter of a case, on a film of side x side pixels; derivatives are 1e-2 on average
 * at least. folder: of scene_files_create. */
void plain_differences_of_case(const scene_case *c, const char *folder, int32_t max_depth, uint32_t side,
                               uint32_t samples);

#endif
