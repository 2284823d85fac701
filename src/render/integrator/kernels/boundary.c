/* SPDX-License-Identifier: BSD-3-Clause
 * The loop, and the derivatives, of the kernels of moving edges. */
#include "render/integrator/kernels/boundary.h"
#include "spirv_gen/ad/ad.h"

bool boundary_forward(const walk *w)
{
    return w->pass == RENDER_EDGES_SEEN_FORWARD || w->pass == RENDER_EDGES_LIT_FORWARD ||
           w->pass == RENDER_EDGES_PATH_FORWARD;
}

boundary_loop boundary_begin(walk *w, ir_module *m)
{
    BL_ASSERT(w->plan->edges, "edges in pass %d of a plan without", (int)w->pass);
    boundary_loop b = {.l = kernel_lane(w, m)};
    b.sample = b.l.first;
    b.loop = ir_loop(w->t.f, &b.sample, 1);
    ir_while(w->t.f, ir_lt(w->t.f, b.sample, b.l.last));
    return b;
}

void boundary_end(walk *w, const boundary_loop *b)
{
    ir_func *f = w->t.f;
    ir_ref next = ir_add(f, b->sample, t_u32(&w->t, 1));
    ir_endloop(f, b->loop, &next, 1);
    if (!boundary_forward(w))
        ir_flush(f, BUFFER_GRADIENT, b->l.inside);
}

void boundary_backward(walk *w, ir_ref when, const ir_ref *motions, const ir_ref *seeds, uint32_t count)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref finite = ir_bool(f, true), some = ir_bool(f, false);
    for (uint32_t k = 0; k < count; k++) {
        finite = ir_and(f, finite, ir_lt(f, ir_abs(f, seeds[k]), t_f32(t, 1e30f)));
        some = ir_or(f, some, ir_ne(f, seeds[k], t_f32(t, 0)));
    }
    kernel_count(w, ir_and(f, when, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_if(f, ir_and(f, when, ir_and(f, some, finite)));
    ad_backward(f, motions, seeds, count, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

ir_ref boundary_tangent(walk *w, ir_ref motion)
{
    ir_ref tangent;
    ad_forward(w->t.f, NULL, NULL, 0, &motion, &tangent, 1);
    return tangent;
}
