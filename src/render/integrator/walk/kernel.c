/* SPDX-License-Identifier: BSD-3-Clause
 * What surrounds a walk: lanes, status counters, reverse mode into given inputs.
 *
 * Lane = pixel * strips + strip. So neighbouring lanes share a pixel and walk alike. A strip is a fixed share
 * of the pixel's samples, whatever the device and the slicing (docs/architecture.md, Lanes). Gradient passes
 * may have a list of lanes instead, each with a pixel and some of its samples (enum lane_word;
 * docs/theory/variance.md).
 *
 * The pixels are those of the film or, where the plan has a batch (plan.batch_pixels), pixels of several
 * views that a list names. Film, image and dL/dI then hold the batch. What depends on the pixel itself, its
 * place in its view and its random numbers, goes by the listed pixel, so a sample is the same in every batch.
 *
 * Invariant: a lane reads and writes only its own samples and sums, so a pass may be cut anywhere. */
#include "render/integrator/walk/kernel.h"
#include "spirv_gen/ad/ad.h"

/* ---- lane ---- */

/* lane.slot of the lane with this index, whose first sample is `start`. */
static ir_ref slot_before(tracer *t, ir_ref index, ir_ref start)
{
    ir_func *f = t->f;
    ir_ref tile_lane = ir_sub(f, index, ir_uniform(f, IR_U32, UNIFORM_TILE_LANE));
    ir_ref before = ir_mul(f, ir_add(f, start, ir_uniform(f, IR_U32, UNIFORM_TILE_SAMPLE)),
                           ir_uniform(f, IR_U32, UNIFORM_TILE_LANES));
    return ir_sub(f, tile_lane, before);
}

ir_ref kernel_pixels(walk *w)
{
    ir_func *f = w->t.f;
    return w->plan->batch_pixels
               ? ir_uniform(f, IR_U32, UNIFORM_BATCH_PIXELS)
               : ir_mul(f, ir_uniform(f, IR_U32, UNIFORM_WIDTH), ir_uniform(f, IR_U32, UNIFORM_HEIGHT));
}

/* Strips of even number are one half of a pixel's samples, those of odd number are the other. Strips 2 j and
 * 2 j + 1 have the same number of samples, since both spp and the number of strips are even. So before strip
 * 2 j each half has as many samples, and before strip 2 j + 1 the other one has those of strip 2 j more. */
static void find_half(walk *w, ir_ref strip, ir_ref start, ir_ref own)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    sampler_half *h = &w->half;
    h->any = w->sampler->one && (w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT);
    if (!h->any)
        return;
    ir_ref one = t_u32(t, 1), last;
    h->halves = ir_uniform(f, IR_U32, UNIFORM_HALVES), last = ir_sub(f, h->halves, one);
    h->number = ir_and(f, strip, last);
    h->before = ir_mul(f, ir_shr(f, ir_add(f, start, ir_mul(f, h->number, own)), one), last);
}

/* Strips share the samples of a pixel evenly: with spp = q strips + r, strip k has the samples from k q +
 * min(k, r) on, q + 1 of them if k < r, else q. Sets *start to the first and returns the number. */
static ir_ref share_evenly(walk *w, ir_ref index, ir_ref strips, lane *l, ir_ref *start)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    w->pixel = ir_div(f, index, strips);
    ir_ref strip = ir_sub(f, index, ir_mul(f, w->pixel, strips));
    ir_ref pixels = kernel_pixels(w);
    l->inside = ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT));
    l->film = ir_mul(f, ir_add(f, ir_mul(f, strip, pixels), w->pixel), t_u32(t, w->film_channels));
    ir_ref q = ir_div(f, w->spp, strips), r = ir_sub(f, w->spp, ir_mul(f, q, strips));
    *start = ir_add(f, ir_mul(f, strip, q), ir_min(f, strip, r));
    ir_ref half = ir_and(f, ir_add(f, strip, t_u32(t, 1)),
                         ir_sub(f, ir_uniform(f, IR_U32, UNIFORM_HALVES), t_u32(t, 1)));
    l->adjoint = ir_mul(f, ir_add(f, w->pixel, ir_mul(f, half, pixels)), t_u32(t, w->film_channels));
    l->slot = slot_before(t, index, *start);
    ir_ref own = ir_add(f, q, ir_select(f, ir_lt(f, strip, r), t_u32(t, 1), t_u32(t, 0)));
    find_half(w, strip, *start, own);
    return own;
}

/* Does the same for a lane from the list. The list begins behind `lanes` rows of dL/dI (enum lane_word). */
static ir_ref share_listed(walk *w, ir_ref index, ir_ref lanes, lane *l, ir_ref *start)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    l->inside = ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT));
    uint32_t length = lane_row_words(w->film_channels);
    l->film = l->adjoint = ir_mul(f, index, t_u32(t, length));
    ir_ref row = ir_add(f, lanes, ir_select(f, l->inside, index, t_u32(t, 0))), word[LANE_WORDS];
    for (uint32_t k = 0; k < LANE_WORDS; k++)
        word[k] = ir_load(f, IR_U32, BUFFER_ADJOINT, t_offset(t, ir_mul(f, row, t_u32(t, length)), k));
    w->pixel = word[LANE_PIXEL], *start = word[LANE_FIRST];
    l->slot = slot_before(t, index, *start);
    return word[LANE_SAMPLES];
}

bool render_lists_lanes(const plan *p, render_pass pass)
{
    return p->lists_lanes && (pass == RENDER_GRADIENT || pass == RENDER_REPLAY || pass == RENDER_ADJOINT);
}

lane kernel_lane(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(!m->entry, "pass %d has two entries", (int)w->pass);
    m->entry = f;
    ir_ref id = ir_global_id(f), strips = ir_uniform(f, IR_U32, UNIFORM_STRIPS),
           spp = ir_uniform(f, IR_U32, UNIFORM_SPP), start;
    ir_ref index = ir_add(f, id, ir_uniform(f, IR_U32, UNIFORM_FIRST_LANE));
    w->seed = ir_uniform(f, IR_U32, UNIFORM_SEED);
    w->stream = ir_uniform(f, IR_U32, UNIFORM_STREAM);
    w->spp = spp;
    lane l;
    ir_ref own = render_lists_lanes(w->plan, w->pass) ? share_listed(w, index, strips, &l, &start)
                                                      : share_evenly(w, index, strips, &l, &start);
    if (w->plan->batch_pixels) /* The film holds the batch; the walk is that of the pixel that is listed. */
        w->pixel = ir_load(
            f, IR_U32, BUFFER_SCENE,
            ir_add(f, ir_uniform(f, IR_U32, UNIFORM_BATCH), ir_select(f, l.inside, w->pixel, t_u32(t, 0))));
    l.first = ir_add(f, start, ir_min(f, own, ir_uniform(f, IR_U32, UNIFORM_FIRST_SAMPLE)));
    l.last = ir_add(f, start, ir_min(f, own, ir_uniform(f, IR_U32, UNIFORM_LAST_SAMPLE)));
    l.last = ir_select(f, l.inside, l.last, l.first);
    if (w->plan->scene->max_depth == 0) /* There is no segment at all, so the image is black. */
        l.last = l.first;
    return l;
}

ir_ref kernel_sample_word(walk *w, const lane *l, ir_ref sample, ir_ref plane)
{
    BL_ASSERT(ir_made(w->t.f, l->slot), "a sample of a lane that was not opened, in pass %d", (int)w->pass);
    ir_func *f = w->t.f;
    ir_ref slot = ir_add(f, l->slot, ir_mul(f, sample, ir_uniform(f, IR_U32, UNIFORM_TILE_LANES)));
    return ir_add(f, slot, ir_mul(f, plane, ir_uniform(f, IR_U32, UNIFORM_TILE_SLOTS)));
}

/* ---- status ---- */

void kernel_count(walk *w, ir_ref condition, enum status_word word)
{
    kernel_count_at(w, condition, t_u32(&w->t, word));
}

void kernel_count_at(walk *w, ir_ref condition, ir_ref word)
{
    tracer *t = &w->t;
    ir_if(t->f, condition);
    ir_atomic_add(t->f, BUFFER_STATUS, word, t_u32(t, 1));
    ir_else(t->f);
    ir_endif(t->f);
}

static ir_ref numbers_finite(tracer *t, const ir_ref *numbers, uint32_t count)
{
    ir_func *f = t->f;
    ir_ref most = t_f32(t, 1e30f), all = ir_lt(f, ir_abs(f, numbers[count - 1]), most);
    for (uint32_t k = count - 1; k-- > 0;) {
        ir_ref finite = ir_lt(f, ir_abs(f, numbers[k]), most);
        all = ir_and(f, finite, all);
    }
    return all;
}

ir_ref color_finite(tracer *t, color c) { return numbers_finite(t, c.c, t->channels); }

ir_ref film_finite(walk *w, const film_value *v) { return numbers_finite(&w->t, v->c, w->film_channels); }

/* ---- reverse mode ---- */

void color_backward(tracer *t, color value, color seed)
{
    ad_backward(t->f, value.c, seed.c, t->channels, NULL, NULL, 0);
}

void backward_into(tracer *t, const ir_ref *outputs, const ir_ref *seeds, uint32_t count, arrivals *sum)
{
    ir_ref adjoints[ARRIVALS_MOST];
    BL_ASSERT(sum->count <= ARRIVALS_MOST, "adjoints arrive at %u inputs", sum->count);
    ad_backward(t->f, outputs, seeds, count, sum->at, adjoints, sum->count);
    for (uint32_t k = 0; k < sum->count; k++)
        sum->sum[k] = ir_add(t->f, sum->sum[k], adjoints[k]);
}

void color_backward_into(tracer *t, color value, color seed, arrivals *sum)
{
    backward_into(t, value.c, seed.c, t->channels, sum);
}

void arrivals_join(tracer *t, ir_ref branch, const arrivals *inside, arrivals *sum)
{
    BL_ASSERT(inside->count == sum->count, "%u inputs in a branch, %u before", inside->count, sum->count);
    for (uint32_t k = 0; k < sum->count; k++)
        sum->sum[k] = ir_phi(t->f, branch, inside->sum[k], sum->sum[k]);
}

void state_arrivals(loop_state *s, arrivals *a) { state_refs(s, a->sum, a->count); }

void two_float_add(tracer *t, ir_ref *number, ir_ref *error, ir_ref v)
{
    ir_func *f = t->f;
    ir_ref sum = ir_add(f, *number, v), part = ir_sub(f, sum, *number);
    ir_ref lost = ir_add(f, ir_sub(f, *number, ir_sub(f, sum, part)), ir_sub(f, v, part));
    *number = sum;
    *error = ir_add(f, *error, lost);
}
