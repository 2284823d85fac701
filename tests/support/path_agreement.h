/* SPDX-License-Identifier: BSD-3-Clause
 * Do gradients of a scene agree by three ways, sample by sample in the interpreter, with and without light
 * sampling? Path replay equals the unrolled path, which is differentiated as a whole (f32 and f64), and
 * differences of the weights along the path that stays where it is (f64). The three share the walk, but no
 * formula of a derivative; so what they agree on is the derivative of the path. */
#ifndef TEST_PATH_AGREEMENT_H
#define TEST_PATH_AGREEMENT_H

#include "support/scene_cases.h"

typedef struct path_agreement {
    const scene_case *scene;
    const char *folder; /* of scene_files_create */
    uint32_t depth, samples;
    double inwards; /* -1 or 1: some parameter stands at its bound, and differences move all to this side;
                       else 0 */
    double slack;   /* added to the relative tolerance of differences */
    /* One element of every parameter must get a gradient; without this, all elements must. For scenes in
     * which some elements have no derivative in truth, or samples are too few for all texels or vertices. */
    bool dark;
    bool walks_again; /* as in render_trace_options */
    const char *zero; /* the one parameter whose derivative is 0 in truth, and must be 0; or NULL */
} path_agreement;

/* Fails the running test where they do not agree. */
void path_agreement_expect(const path_agreement *a);

#endif
