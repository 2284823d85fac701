/* SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of moving edges have in common (docs/theory/edges.md). Each has one loop over samples. */
#ifndef BL_RENDER_KERNELS_BOUNDARY_H
#define BL_RENDER_KERNELS_BOUNDARY_H

#include "render/integrator/boundary/boundary.h"
#include "render/integrator/kernels/kernels.h"

/* Opens the loop over the lane's samples and returns the sample; boundary_end closes it. Before a pass runs,
 * it learns (UNIFORM_EDGES_LEARN): a lane is a cell of the curves, and leaves in BUFFER_SAMPLES how much its
 * samples matter to the image; nothing else is written. */
typedef struct boundary_loop {
    lane l;
    ir_ref loop, sample;
    boundary_guide guide;
    ir_ref usual;     /* bool: it does not learn */
    ir_ref learnt[2]; /* f32: what was found so far, and what could be */
} boundary_loop;
boundary_loop boundary_begin(walk *w, ir_module *m);
/* found: where there is a sample, how much it matters; possible: how much it could; both are 0 or more. */
void boundary_end(walk *w, const boundary_loop *b, ir_ref there, ir_ref found, ir_ref possible);
/* |r| + |g| + |b| */
ir_ref boundary_size(walk *w, color c);

/* Whether the kernel makes a derivative of the image (else gradients). */
bool boundary_forward(const walk *w);
/* Where `when`: backpropagates motions[k] (differentiated) with seeds[k]; what is not finite is counted and
 * left out. */
void boundary_backward(walk *w, ir_ref when, const ir_ref *motions, const ir_ref *seeds, uint32_t count);
/* The tangent of a motion. */
ir_ref boundary_tangent(walk *w, ir_ref motion);

#endif
