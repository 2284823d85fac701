/* SPDX-License-Identifier: BSD-3-Clause
 * Questions about a walk's mode and position, its random numbers, the motion of a number (walk_shifted), and
 * surfaces that a ray crosses (walk_border). Random numbers are named by pixel, sample, block, seed and
 * stream, not by the order in which they are drawn. So every pass of a stream draws the same ones. */
#include "render/integrator/walk/walk.h"

bool walk_tracks(const walk *w)
{
    return w->pass != RENDER_PRIMAL && w->pass != RENDER_VARIANCE && w->pass != RENDER_REPLAY &&
           w->pass != RENDER_TAPE && w->pass != RENDER_GUIDE_LEARN;
}

bool walk_prints(const walk *w)
{
    const render_scene *s = w->plan->scene;
    return w->plan->prints && w->pass == RENDER_PRIMAL && !s->own && !s->light_tracing &&
           s->metropolis.particles == 0;
}

ir_ref walk_order(const walk *w, const walk_position *at) { return w->volumetric ? at->event : at->depth; }

ir_ref walk_begins(walk *w, const walk_position *at)
{
    return ir_eq(w->t.f, walk_order(w, at), t_u32(&w->t, 0));
}

ir_ref walk_number(const walk *w, const walk_position *at)
{
    return w->volumetric && !plan_numbers_by_depth(w->plan) ? at->event : at->depth;
}

int32_t walk_longest(const walk *w)
{
    const int32_t most = w->plan->scene->max_depth;
    return w->direct && (most < 0 || most > DIRECT_SEGMENTS) ? DIRECT_SEGMENTS : most;
}

/* The samples that a sampler spreads together with this one. */
static sampler_set set_of(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    const sampler_half *h = &w->half;
    if (!h->any)
        return (sampler_set){sample, w->spp, t_u32(t, 0), t_u32(t, 1)};
    return (sampler_set){ir_sub(t->f, sample, h->before), ir_div(t->f, w->spp, h->halves), h->number,
                         h->halves};
}

/* A block of the numbers of a seed, each sample's by itself. */
static random4 plain(walk *w, ir_ref sample, ir_ref seed, ir_ref block)
{
    return random_block(&w->t, w->pixel, sample, seed, w->stream, block);
}

/* A block of the numbers of a seed, spread over the samples of the pixel. */
static random4 spread(walk *w, ir_ref sample, ir_ref seed, ir_ref block, sampler_slots slots)
{
    BL_ASSERT(w->sampler && ir_made(w->t.f, w->pixel), "random numbers of no lane, in pass %d", (int)w->pass);
    const sampler_place at = {
        .pixel = w->pixel,
        .sample = sample,
        .set = set_of(w, sample),
        .seed = seed,
        .stream = w->stream,
        .jittered = sampler_jitters(w->plan->scene),
    };
    return sampler_block(&w->t, w->sampler, &at, block, slots);
}

random4 walk_numbers(walk *w, ir_ref sample, ir_ref block, sampler_slots slots)
{
    return w->chain.any ? primary_numbers(w, t_offset(&w->t, block, primary_first_block(w)))
                        : spread(w, sample, w->seed, block, slots);
}

random4 walk_stretch_numbers(walk *w, const walk_stretch *s, ir_ref step)
{
    ir_func *f = w->t.f;
    if (w->chain.any || !w->sampler->one)
        return plain(w, s->sample, s->key, step);
    ir_ref branch = ir_if(f, ir_eq(f, step, s->step));
    random4 first = spread(w, s->sample, s->key, step, SAMPLER_PAIRS);
    ir_else(f);
    random4 later = plain(w, s->sample, s->key, step), r;
    ir_endif(f);
    for (uint32_t k = 0; k < 4; k++)
        r.u[k] = ir_phi(f, branch, first.u[k], later.u[k]);
    return r;
}

static const uint32_t wavelength_block = 0xFFFFFDu; /* no vertex has it; a block has 24 bits */

static wavelength_set wavelengths_of(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_ref block = t_u32(t, wavelength_block);
    random4 r = w->chain.any ? plain(w, sample, w->seed, block)
                             : spread(w, sample, w->seed, block, SAMPLER_ONE_TWO_ONE);
    const film_bands *bands = w->plan->scene->bands;
    ir_ref table = t_word(t, t_u32(t, 0), HEADER_SPECTRUM);
    if (!bands)
        return wavelengths_sample(t, table, r.u[0]);
    wavelength_set set = bands_sample(t, plan_bands(t), bands->count, r.u[0]);
    wavelengths_observe(t, table, &set);
    return set;
}

void walk_set_wavelengths(walk *w, ir_ref sample)
{
    if (w->t.light != LIGHT_SPECTRAL)
        return;
    w->wavelengths = wavelengths_of(w, sample);
    w->t.wavelengths = &w->wavelengths;
}

color walk_weigh(walk *w, walk_position at, color c)
{
    return w->weighted ? color_scale(&w->t, c, at.weight) : c;
}

ir_ref walk_no_entry(tracer *t) { return t_aligned(t, t_word(t, t_u32(t, 0), HEADER_ENTRIES)); }
ir_ref walk_no_level(tracer *t)
{
    return t->plan->scene->has_groups ? t_word(t, t_u32(t, 0), HEADER_LEVEL) : t_u32(t, 0);
}

/* ---- what moves ---- */

ir_ref walk_shifted(walk *w, ir_ref condition, ir_ref at, ir_ref now, ir_ref before)
{
    ir_func *f = w->t.f;
    BL_ASSERT(ir_type_of(f, at) == ir_type_of(f, now), "a value of type %d moved by one of type %d",
              (int)ir_type_of(f, at), (int)ir_type_of(f, now));
    ir_ref moved = w->pass == RENDER_FROZEN ? ir_add(f, at, ir_sub(f, now, before))
                                            : ir_replace_grad(f, ir_detach(f, at), now);
    return ir_select(f, condition, moved, at);
}

walk_border border_none(walk *w)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    return (walk_border){
        .valid = ir_bool(t->f, false),
        .entry = walk_no_entry(t),
        .level = walk_no_level(t),
        .t = zero,
        .b = {zero, zero},
        .n = v3(zero, zero, zero),
        .distance = zero,
    };
}

walk_border border_of(walk *w, const walk_hit *hit, vec3 n, vec3 start, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_border b = {
        .valid = hit->valid,
        .entry = hit->entry,
        .level = hit->level,
        .t = ir_detach(f, hit->t),
        .n = v3_detach(t, n),
    };
    b.b = (vec2){ir_detach(f, hit->b.x), ir_detach(f, hit->b.y)};
    b.distance = ir_detach(f, ir_add(f, v3_dot(t, v3_sub(t, hit->o, start), d), hit->t));
    return b;
}
