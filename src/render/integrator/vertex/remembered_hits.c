/* SPDX-License-Identifier: BSD-3-Clause
 * What rays have met, remembered between the two walks of a sample.
 *
 * The second walk of a path traces the same rays as the first. Where tracing costs more than memory does
 * (plan.remembers_hits), the first walk (RENDER_REPLAY) writes the hit of each of a path's first rays to
 * BUFFER_SAMPLES, behind the sample's other words, and the second (RENDER_ADJOINT) reads it. Rays behind
 * these are traced again. The surface is computed from the hit in both walks, so it has the same bits.
 *
 * The words of a hit: distance, entry (PLAN_NONE: nothing was met), two coordinates on the primitive, and, in
 * scenes with instances, the level. */
#include "render/integrator/vertex/vertex.h"

static bool remembers(const walk *w)
{
    return !w->bends && plan_hit_words(w->plan) > 0 &&
           (w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT);
}

/* bool: there is room for this ray's hit. */
static ir_ref has_room(walk *w, const walk_position *at)
{
    return ir_lt(w->t.f, walk_order(w, at), t_u32(&w->t, HITS_REMEMBERED));
}

/* The word of BUFFER_SAMPLES with word c of the hit with this number. */
static ir_ref word(walk *w, const lane *l, const walk_position *at, ir_ref number, uint32_t c)
{
    tracer *t = &w->t;
    ir_ref plane = ir_mul(t->f, number, t_u32(t, plan_hit_words(w->plan)));
    return kernel_sample_word(w, l, at->sample, t_offset(t, plane, plan_first_hit_word(w->plan) + c));
}

void hit_remember(walk *w, const lane *l, const walk_position *at, const walk_hit *hit)
{
    ir_func *f = w->t.f;
    if (!remembers(w) || w->pass != RENDER_REPLAY)
        return;
    ir_ref number = walk_order(w, at), words[] = {hit->t, hit->entry, hit->b.x, hit->b.y, hit->level};
    words[1] = ir_select(f, hit->valid, hit->entry, t_u32(&w->t, PLAN_NONE));
    ir_if(f, ir_and(f, has_room(w, at), ir_gt(f, at->tmax, t_f32(&w->t, 0))));
    for (uint32_t c = 0; c < plan_hit_words(w->plan); c++)
        ir_store(f, BUFFER_SAMPLES, word(w, l, at, number, c), words[c]);
    ir_else(f);
    ir_endif(f);
}

void hit_recall(walk *w, const lane *l, const walk_position *at, ir_ref again)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!remembers(w) || w->pass != RENDER_ADJOINT)
        return;
    walk_known *k = &w->known;
    k->recalls_hit = true;
    k->hit_recalled = ir_and(f, ir_and(f, again, has_room(w, at)), ir_gt(f, at->tmax, t_f32(t, 0)));
    ir_ref number = ir_select(f, k->hit_recalled, walk_order(w, at), t_u32(t, 0)), words[5];
    for (uint32_t c = 0; c < plan_hit_words(w->plan); c++)
        words[c] = ir_load(f, c == 1 || c == 4 ? IR_U32 : IR_F32, BUFFER_SAMPLES, word(w, l, at, number, c));
    k->hit.valid = ir_ne(f, words[1], t_u32(t, PLAN_NONE));
    k->hit.t = words[0], k->hit.b = (vec2){words[2], words[3]};
    k->hit.entry = ir_select(f, k->hit.valid, words[1], walk_no_entry(t));
    if (w->plan->scene->has_groups)
        k->hit.level = words[4];
}

walk_hit hit_use(walk *w, const walk_hit *traced)
{
    ir_func *f = w->t.f;
    const walk_known *k = &w->known;
    BL_ASSERT(k->recalls_hit, "no hit was recalled, in pass %d", (int)w->pass);
    ir_ref known = k->hit_recalled;
    walk_hit h = *traced;
    h.valid = ir_select(f, known, k->hit.valid, h.valid),
    h.entry = ir_select(f, known, k->hit.entry, h.entry);
    h.t = ir_select(f, known, k->hit.t, h.t);
    h.b.x = ir_select(f, known, k->hit.b.x, h.b.x), h.b.y = ir_select(f, known, k->hit.b.y, h.b.y);
    if (w->plan->scene->has_groups)
        h.level = ir_select(f, known, k->hit.level, h.level);
    return h;
}
