/* SPDX-License-Identifier: BSD-3-Clause
 * Transmittance toward sampled lights, remembered between the two walks of a sample.
 *
 * In heterogeneous media, the transmittance from a vertex to its sampled light takes ratio tracking. Path
 * replay needs it in the first walk and in the second. So the first walk (RENDER_REPLAY) writes it to
 * BUFFER_SAMPLES, behind the sample's other words, and the second (RENDER_ADJOINT) reads it. There is room
 * for the vertices whose walk_number is below plan_remembers_transmittance; for later ones it is tracked
 * again. Where all have room (short paths), the second kernel does not contain the tracking at all. That
 * saves time: a CPU device runs all code of a loop's body as soon as one lane needs it. The fused kernel
 * keeps nothing per sample and tracks again.
 *
 * One number per channel holds the product of a walk_shadow's factors that are not 0. Its sign says whether
 * one factor is 0; the number is 0 where more are. Three words behind them have walk_shadow.point, or the
 * first of them has the stages. Whether the light is visible at all is known from walk.seen. */
#include "render/integrator/media/media.h"

static bool remembers(const walk *w)
{
    bool separate = w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT;
    return separate && w->volumetric && plan_remembers_transmittance(w->plan) > 0 && w->next_event &&
           w->plan->scene->emitters.count > 0;
}

/* bool: there is room for this vertex's transmittance. */
static ir_ref has_room(walk *w, const walk_position *at)
{
    return ir_lt(w->t.f, walk_number(w, at), t_u32(&w->t, plan_remembers_transmittance(w->plan)));
}

/* The word of BUFFER_SAMPLES with number c of a vertex; number: walk_number of the vertex. */
static ir_ref word(walk *w, const lane *l, const walk_position *at, ir_ref number, uint32_t c)
{
    tracer *t = &w->t;
    const sample_planes plane = sample_planes_of(t->channels);
    return kernel_sample_word(w, l, at->sample,
                              t_offset(t, ir_mul(t->f, number, t_u32(t, plane.remembered)), plane.words + c));
}

/* Product and count of zeros as one number, as the head says. */
static ir_ref encode(walk *w, ir_ref product, ir_ref zeros)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one_zero = ir_select(f, ir_eq(f, zeros, t_u32(t, 1)), ir_neg(f, product), t_f32(t, 0));
    return ir_select(f, ir_eq(f, zeros, t_u32(t, 0)), product, one_zero);
}

void transmittance_remember(walk *w, const lane *l, const walk_position *at, const walk_shadow *shadow)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!remembers(w) || w->pass != RENDER_REPLAY)
        return;
    ir_if(f, has_room(w, at));
    for (uint32_t c = 0; c < t->channels; c++)
        ir_store(f, BUFFER_SAMPLES, word(w, l, at, walk_number(w, at), c),
                 encode(w, shadow->product.c[c], shadow->zeros[c]));
    ir_ref behind[] = {shadow->stages, shadow->point.distance, shadow->point.length};
    if (shadow_draws_point(w))
        behind[0] = shadow->point.medium;
    for (uint32_t k = 0; k < (shadow_draws_point(w) ? 3 : 1); k++)
        ir_store(f, BUFFER_SAMPLES, word(w, l, at, walk_number(w, at), t->channels + k), behind[k]);
    ir_else(f);
    ir_endif(f);
}

void transmittance_recall(walk *w, const lane *l, const walk_position *at, ir_ref again)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!remembers(w) || w->pass != RENDER_ADJOINT)
        return;
    ir_ref known = ir_and(f, again, has_room(w, at)),
           number = ir_select(f, known, walk_number(w, at), t_u32(t, 0));
    w->known.recalls = true;
    /* If all that may sample a light have room, the others need no transmittance. */
    w->known.recalled = plan_remembers_all_transmittance(w->plan) ? again : known;
    for (uint32_t c = 0; c < t->channels; c++)
        w->known.transmittance.c[c] =
            ir_detach(f, ir_load(f, IR_F32, BUFFER_SAMPLES, word(w, l, at, number, c)));
    ir_ref first = ir_load(f, IR_U32, BUFFER_SAMPLES, word(w, l, at, number, t->channels));
    if (!shadow_draws_point(w)) {
        w->known.transmittance_stages = first;
        return;
    }
    ir_ref distance = ir_load(f, IR_F32, BUFFER_SAMPLES, word(w, l, at, number, t->channels + 1)),
           length = ir_load(f, IR_F32, BUFFER_SAMPLES, word(w, l, at, number, t->channels + 2));
    w->known.point = (shadow_point){first, ir_detach(f, distance), ir_detach(f, length)};
}

void transmittance_use(walk *w, walk_shadow *shadow, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->known.recalls, "no transmittance was recalled, in pass %d", (int)w->pass);
    ir_ref zero = t_f32(t, 0);
    shadow->open = ir_select(f, w->known.recalled, wanted, shadow->open);
    if (!shadow_draws_point(w)) {
        shadow->stages = ir_select(f, w->known.recalled, w->known.transmittance_stages, shadow->stages);
    } else {
        const shadow_point *p = &w->known.point;
        shadow->point.medium = ir_select(f, w->known.recalled, p->medium, shadow->point.medium);
        shadow->point.distance = ir_select(f, w->known.recalled, p->distance, shadow->point.distance);
        shadow->point.length = ir_select(f, w->known.recalled, p->length, shadow->point.length);
    }
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref number = w->known.transmittance.c[c], none = ir_eq(f, number, zero),
               product = ir_select(f, none, t_f32(t, 1), ir_abs(f, number));
        ir_ref zeros = ir_select(f, none, t_u32(t, 2), ir_to_u32(f, ir_lt(f, number, zero)));
        shadow->product.c[c] = ir_select(f, w->known.recalled, product, shadow->product.c[c]);
        shadow->zeros[c] = ir_select(f, w->known.recalled, zeros, shadow->zeros[c]);
    }
}
