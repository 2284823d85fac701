/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients of a scene sample by sample in the interpreter, with and without light sampling: path replay
 * against the unrolled path (f32 and f64) and against differences of the weights along the path that stays
 * where it is (f64). */
#ifndef TEST_PATH_AGREEMENT_H
#define TEST_PATH_AGREEMENT_H

#include "support/scene_cases.h"

typedef struct path_agreement {
    const scene_case *scene;
    const char *folder; /* of scene_files_create */
    uint32_t depth, samples;
    double inwards; /* -1 or 1: some parameter stands at its bound; all move to this side */
    double slack;   /* added to the relative tolerance of differences */
    /* Of every parameter one element must be reached; else all must. For scenes where some elements have no
     * derivative in truth, or where samples are too few for all texels or vertices. */
    bool dark;
    const char *zero; /* the one parameter whose derivative is 0 in truth, and must be 0; or NULL */
} path_agreement;

/* Fails the running test where they do not agree. */
void path_agreement_expect(const path_agreement *a);

#endif
