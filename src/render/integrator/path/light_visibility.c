/* SPDX-License-Identifier: BSD-3-Clause
 * Whether the sampled light is seen from a vertex: by a shadow ray, through media, or from the notes of an
 * earlier walk of the same path. Replay walks each path twice with the same random numbers, so what phase 0
 * has noted saves phase 1 its shadow rays; the answer is the same (docs/theory/detached_replay.md). */
#include "render/integrator/path/path.h"

/* For volumetric walks. A light that an earlier walk has found to be dark is not asked for again. */
static ir_ref light_through_media(walk *w, walk_vertex *v, const walk_position *at, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(!w->notes || ir_made(w->t.f, w->known.seen), "notes of a walk that has kept none");
    if (w->notes) {
        ir_ref number = walk_number(w, at),
               noted = ir_ne(f, ir_and(f, ir_shr(f, w->known.seen, number), t_u32(t, 1)), t_u32(t, 0));
        ir_ref known = ir_and(f, w->known.again, ir_lt(f, number, t_u32(t, SEEN_MOST)));
        wanted = ir_and(f, wanted, ir_or(f, noted, ir_not(f, known)));
    }
    ir_ref unknown = w->known.recalls ? ir_and(f, wanted, ir_not(f, w->known.recalled)) : wanted;
    v->shadow = shadow_cross(w, v, at, unknown, false);
    if (w->known.recalls)
        transmittance_use(w, &v->shadow, wanted);
    return v->shadow.open;
}

/* Answers as light_unoccluded does. If an earlier walk of the same path has left a note, that is the
 * answer. */
static ir_ref light_noted(walk *w, const walk_vertex *v, ir_ref depth, vec3 d, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(!w->notes || ir_made(w->t.f, w->known.again), "notes of a walk that has kept none");
    int most = w->plan->scene->max_depth;
    bool complete = most >= 0 && most <= SEEN_MOST + 1; /* The last vertex samples no light. */
    if (!w->notes)
        return ir_and(f, wanted, light_unoccluded(w, &v->si, d, v->light.distance, wanted));
    ir_ref noted = ir_ne(f, ir_and(f, ir_shr(f, w->known.seen, depth), t_u32(t, 1)), t_u32(t, 0)),
           known = w->known.again;
    if (!complete)
        known = ir_and(f, known, ir_lt(f, depth, t_u32(t, SEEN_MOST)));
    noted = ir_and(f, wanted, noted);
    if (complete && w->pass == RENDER_ADJOINT)
        return noted;
    ir_ref unknown = ir_and(f, wanted, ir_not(f, known));
    return ir_select(f, known, noted,
                     ir_and(f, unknown, light_unoccluded(w, &v->si, d, v->light.distance, unknown)));
}

ir_ref light_visible(walk *w, walk_vertex *v, const walk_position *at, ir_ref wanted)
{
    return w->volumetric ? light_through_media(w, v, at, wanted)
                         : light_noted(w, v, at->depth, v->light_d, wanted);
}
