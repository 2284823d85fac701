/* SPDX-License-Identifier: BSD-3-Clause
 * Questions about a walk's mode and about where it is, and its random numbers. */
#include "render/integrator/walk/walk.h"

/* A camera moves what its rays meet in volumetric walks (motion/local_volume.c). */
bool walk_moves(const walk *w, uint32_t what)
{
    uint32_t moves = w->plan->moves |
                     (w->volumetric && w->plan->sensor ? MOVE_POSITIONS
                                                       : 0u); /* a camera moves hits there (local_volume.c) */
    return !w->follows && (moves & what) != 0;
}

bool walk_tracks(const walk *w)
{
    return w->pass != RENDER_PRIMAL && w->pass != RENDER_VARIANCE && w->pass != RENDER_REPLAY &&
           w->pass != RENDER_TAPE;
}

ir_ref walk_begins(walk *w, const walk_position *at)
{
    return ir_eq(w->t.f, w->volumetric ? at->event : at->depth, t_u32(&w->t, 0));
}

ir_ref walk_number(const walk *w, const walk_position *at)
{
    return w->volumetric && !plan_numbers_by_depth(w->plan) ? at->event : at->depth;
}

random4 walk_numbers(walk *w, ir_ref sample, ir_ref block, sampler_slots slots)
{
    const sampler_place at = {
        .pixel = w->pixel,
        .sample = sample,
        .spp = w->spp,
        .seed = w->seed,
        .stream = w->stream,
        .jittered = sampler_jitters(w->plan->scene),
    };
    return sampler_block(&w->t, w->sampler, &at, block, slots);
}

color walk_weigh(walk *w, walk_position at, color c)
{
    return w->weighted ? color_scale(&w->t, c, at.weight) : c;
}

ir_ref walk_shape_of(tracer *t, ir_ref entry)
{
    ir_func *f = t->f;
    return ir_add(f, t_word(t, t_u32(t, 0), HEADER_SHAPES),
                  ir_mul(f, t_word(t, entry, 10), t_u32(t, SHAPE_WORDS)));
}

bool walk_keeps_last(const walk *w) { return walk_moves(w, MOVE_HITS) && walk_tracks(w) && !w->volumetric; }
