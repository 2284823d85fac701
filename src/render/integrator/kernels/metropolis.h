/* SPDX-License-Identifier: BSD-3-Clause
 * Paths whose random numbers are those of Markov chains: what kernels/metropolis.c makes of them. */
#ifndef BL_RENDER_METROPOLIS_H
#define BL_RENDER_METROPOLIS_H

#include "render/integrator/kernels/kernels.h"

/* What a path of a chain has found. */
typedef struct chain_path {
    film_value found; /* what it adds to */
    ir_ref pixel;     /* u32: its pixel */
    ir_ref value;     /* f32: what the chain takes it for: film_luminance, or the sum of those of several */
    ir_ref vertices;  /* u32 */
} chain_path;

/* metropolis_light.c: a path from a light, where `any`, with the lane's numbers, and its share of what both
 * kinds of paths find (path/technique_weights.h). */
chain_path path_from_light(walk *w, ir_ref any);

#endif
