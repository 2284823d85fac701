/* SPDX-License-Identifier: BSD-3-Clause
 * Single samples of the camera in the interpreter (f64), seen through a glowing rectangle, so that what a
 * sample returns tells where its ray hit. The random numbers are computed here once more, from the paper,
 * so that expected positions owe nothing to the renderer. */
#ifndef TEST_SCENE_PROBE_H
#define TEST_SCENE_PROBE_H

#include "support/scene_eval.h"

/* pcg4d of (pixel, sample, seed, stream << 24 | block), Jarzynski and Olano 2020: four numbers in [0, 1) of
 * 24 bits. */
void scene_probe_random(uint32_t pixel, uint32_t sample, uint32_t seed, uint32_t stream, uint32_t block,
                        double u[4]);
/* The box filter's position on the film, in pixels from its upper left corner. */
void scene_probe_box(const scene_eval *e, uint32_t pixel, uint32_t sample, uint32_t seed, double position[2]);
/* Radiance of one sample. */
void scene_probe_sample(scene_eval *e, uint32_t pixel, uint32_t sample, uint32_t seed, double rgb[3]);

#endif
