/* SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of moving edges have in common (docs/theory/edges.md). Each has one loop over samples. */
#ifndef BL_RENDER_KERNELS_BOUNDARY_H
#define BL_RENDER_KERNELS_BOUNDARY_H

#include "render/integrator/boundary/boundary.h"
#include "render/integrator/kernels/kernels.h"

/* Opens the loop over the lane's samples and returns the sample; boundary_end closes it. */
typedef struct boundary_loop {
    lane l;
    ir_ref loop, sample;
} boundary_loop;
boundary_loop boundary_begin(walk *w, ir_module *m);
void boundary_end(walk *w, const boundary_loop *b);

/* Whether the kernel makes a derivative of the image (else gradients). */
bool boundary_forward(const walk *w);
/* Where `when`: backpropagates motions[k] (differentiated) with seeds[k]; what is not finite is counted and
 * left out. */
void boundary_backward(walk *w, ir_ref when, const ir_ref *motions, const ir_ref *seeds, uint32_t count);
/* The tangent of a motion. */
ir_ref boundary_tangent(walk *w, ir_ref motion);

#endif
