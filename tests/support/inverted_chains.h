/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients by inverted Jacobians (integrator/kernels/attached_inversion.c), sample by sample in the
 * interpreter. Both functions put prb_attached with INVERTED_DEPTH segments in the place of the scene's
 * integrator, and fail the running test. folder: of scene_files_create. */
#ifndef TEST_INVERTED_CHAINS_H
#define TEST_INVERTED_CHAINS_H

#include "support/scene_cases.h"

enum { INVERTED_DEPTH = 9 };

/* Where no Jacobian is singular, and there is no noise on them: a sample's gradient is that of the unrolled
 * path. */
void inverted_chains_are_unrolled(const scene_case *scene, const char *folder, uint32_t samples);
/* With noise on them: the mean over samples is. */
void inverted_chains_keep_means(const scene_case *scene, const char *folder, uint32_t samples);

#endif
