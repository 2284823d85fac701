/* SPDX-License-Identifier: BSD-3-Clause
 * What the guide of directions learns from (vertex/direction_guide.c): path replay without derivatives. At
 * each vertex phase 1 of replay knows the light that the path still brings through it. Over the throughput
 * before the vertex that is an estimate of the light that goes back along the path, by the direction that was
 * sampled: incident radiance times the value of the material. Its sum in a bin is what the bin should be
 * sampled in proportion to.
 *
 * Sums are in fixed point, so they do not depend on the order. Each lesson is told to a cell near by, chosen
 * at random, which smooths over the borders of cells (Müller 2019, section 2.2 of the course notes). */
#include "render/integrator/kernels/replay.h"

enum { LESSON_BLOCK = 0x800000 }; /* random numbers apart from those of the path */

void replay_teach(walk *w, const replay_state *p, const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(plan_has_guide(w->plan), "lessons for no guide, in pass %d", (int)w->pass);
    ir_ref value = t_ratio(t, color_sum(t, sums_L(t, &p->sums)), color_sum(t, throughput_whole(w, &p->b)));
    ir_ref sampled = ir_and(f, v->goes_on, ir_not(f, v->sample.delta));
    random4 r = random_block(t, w->pixel, p->at.sample, w->seed, w->stream,
                             t_offset(t, walk_order(w, &p->at), LESSON_BLOCK));
    guide_teach(w, &(guide_lesson){
                       .p = v->si.p,
                       .d = v->next_d,
                       .shift = r.u,
                       .when = ir_and(f, ir_and(f, p->phase, sampled), ir_gt(f, value, t_f32(t, 0))),
                       .value = value,
                   });
}
