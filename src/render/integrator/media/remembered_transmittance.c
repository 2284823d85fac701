/* SPDX-License-Identifier: BSD-3-Clause
 * What reaches a vertex of its sampled light through heterogeneous media takes a walk of its own, and path
 * replay needs it three times: where the path is walked, where it is walked again, and, to divide factors out
 * of it one by one, for the nested replay. So the first walk notes it (for vertices whose walk_number is
 * below plan_notes_crossed; to later lights it crosses again) behind what else RENDER_REPLAY leaves in
 * BUFFER_SAMPLES, and the second only looks it up. Where there is room for all, which is so for short paths
 * whatever the media, the second kernel does not even have the code, which would cost time: CPU devices run
 * all code of a loop's body for one lane that may want it, or for none. The fused kernel, which keeps nothing
 * per sample, crosses again.
 *
 * One number per channel says all of a walk_shadow's factors (whether it is open walk.seen knows): the
 * product of those that are not 0, with the other sign where one is 0, and 0 where more are. A fourth word is
 * its count of stages. */
#include "render/integrator/media/media.h"

static bool notes(const walk *w)
{
    bool separate = w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT;
    return separate && w->volumetric && plan_notes_crossed(w->plan) > 0 && w->next_event &&
           w->plan->scene->emitters.count > 0;
}

/* bool: there is a place for what is crossed from this vertex. */
static ir_ref has_place(walk *w, const walk_position *at)
{
    return ir_lt(w->t.f, walk_number(w, at), t_u32(&w->t, plan_notes_crossed(w->plan)));
}

/* Word c of those of a vertex's number. */
static ir_ref place(walk *w, const lane *l, const walk_position *at, ir_ref number, uint32_t c)
{
    tracer *t = &w->t;
    return kernel_sample_word(w, l, at->sample,
                              t_offset(t, ir_mul(t->f, number, t_u32(t, CROSSED_WORDS)), SAMPLE_WORDS + c));
}

static ir_ref number_of(walk *w, ir_ref product, ir_ref zeros)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one_lost = ir_select(f, ir_eq(f, zeros, t_u32(t, 1)), ir_neg(f, product), t_f32(t, 0));
    return ir_select(f, ir_eq(f, zeros, t_u32(t, 0)), product, one_lost);
}

void crossed_keep(walk *w, const lane *l, const walk_position *at, const walk_shadow *shadow)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!notes(w) || w->pass != RENDER_REPLAY)
        return;
    ir_if(f, has_place(w, at));
    for (uint32_t c = 0; c < 3; c++)
        ir_store(f, BUFFER_SAMPLES, place(w, l, at, walk_number(w, at), c),
                 number_of(w, shadow->product.c[c], shadow->zeros[c]));
    ir_store(f, BUFFER_SAMPLES, place(w, l, at, walk_number(w, at), 3), shadow->stages);
    ir_else(f);
    ir_endif(f);
}

void crossed_recall(walk *w, const lane *l, const walk_position *at, ir_ref again)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!notes(w) || w->pass != RENDER_ADJOINT)
        return;
    ir_ref noted = ir_and(f, again, has_place(w, at)),
           number = ir_select(f, noted, walk_number(w, at), t_u32(t, 0));
    w->known.recalls = true,
    w->known.recalled =
        plan_notes_all_crossed(w->plan) ? again : noted; /* where there is no place, no light is wanted */
    for (uint32_t c = 0; c < 3; c++)
        w->known.crossed.c[c] = ir_detach(f, ir_load(f, IR_F32, BUFFER_SAMPLES, place(w, l, at, number, c)));
    w->known.crossed_stages = ir_load(f, IR_U32, BUFFER_SAMPLES, place(w, l, at, number, 3));
}

void crossed_use(walk *w, walk_shadow *shadow, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    shadow->open = ir_select(f, w->known.recalled, wanted, shadow->open);
    shadow->stages = ir_select(f, w->known.recalled, w->known.crossed_stages, shadow->stages);
    for (int c = 0; c < 3; c++) {
        ir_ref number = w->known.crossed.c[c], none = ir_eq(f, number, zero),
               product = ir_select(f, none, t_f32(t, 1), ir_abs(f, number));
        ir_ref zeros = ir_select(f, none, t_u32(t, 2), ir_to_u32(f, ir_lt(f, number, zero)));
        shadow->product.c[c] = ir_select(f, w->known.recalled, product, shadow->product.c[c]);
        shadow->zeros[c] = ir_select(f, w->known.recalled, zeros, shadow->zeros[c]);
    }
}
