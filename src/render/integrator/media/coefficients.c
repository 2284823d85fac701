/* SPDX-License-Identifier: BSD-3-Clause
 * Media as a walk sees them: extinction, albedo and emission at a point, the stretch of a ray that lies in a
 * medium, points on it as they move, and the weights of the colour channels in spectral MIS (`share`;
 * free_flight.c explains it).
 *
 * Invariants: extinction is evaluated here only, so that all files multiply by the same area of microflakes;
 * where nothing moves stretches, points are detached and growth is 1. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/media/medium_functions.h"

static const uint32_t own_numbers = 0x2C1B3C6Du; /* of points that are drawn */

/* ---- coefficients ---- */

/* A coefficient at p, which is detached unless the motion moves stretches. */
static color call_colour(walk *w, const walk_stretch *s, ir_func *const *functions, vec3 p,
                         bool differentiated)
{
    BL_ASSERT(functions, "a coefficient that no medium has, in pass %d", (int)w->pass);
    if (!w->motion->moves_stretches || !differentiated)
        p = v3_detach(&w->t, p);
    ref_list in = refs_for(s->record);
    wavelength_set wavelengths;
    refs_vec3(&in, &p), refs_wavelengths(w, &in, &wavelengths);
    color c;
    ir_call(w->t.f, s->cls, functions, w->plan->media.count, in.at, in.count, c.c);
    return c;
}

/* Projected area of the microflakes at p, along the stretch. */
static ir_ref stretch_area(walk *w, const walk_stretch *s, vec3 p, bool differentiated)
{
    tracer *t = &w->t;
    vec3 d = v3_detach(t, s->d);
    if (w->motion->moves_stretches && differentiated)
        d = v3_normalize(t, v3_add(t, d, s->motion.turn));
    else
        p = v3_detach(t, p);
    ref_list in = refs_for(t_word(t, s->medium, MEDIUM_PHASE_RECORD));
    refs_vec3(&in, &d), refs_vec3(&in, &p);
    ir_ref area;
    ir_call(t->f, t_word(t, s->medium, MEDIUM_PHASE_CLASS),
            differentiated ? w->fn.area_differentiated : w->fn.area, w->plan->phases.count, in.at, in.count,
            &area);
    return area;
}

ir_ref stretch_most_area(walk *w, const walk_stretch *s)
{
    BL_ASSERT(w->flakes, "the area of flakes in media without, in pass %d", (int)w->pass);
    ir_ref record = t_word(&w->t, s->medium, MEDIUM_PHASE_RECORD), most;
    ir_call(w->t.f, t_word(&w->t, s->medium, MEDIUM_PHASE_CLASS), w->fn.most_area, w->plan->phases.count,
            &record, 1, &most);
    return most;
}

color stretch_extinction(walk *w, const walk_stretch *s, vec3 p, bool differentiated)
{
    color c = call_colour(w, s, differentiated ? w->fn.extinction_differentiated : w->fn.extinction, p,
                          differentiated);
    return w->flakes ? color_scale(&w->t, c, stretch_area(w, s, p, differentiated)) : c;
}

color stretch_albedo(walk *w, const walk_stretch *s, vec3 p, bool differentiated)
{
    return call_colour(w, s, differentiated ? w->fn.albedo_differentiated : w->fn.albedo, p, differentiated);
}

color stretch_emission(walk *w, const walk_stretch *s, vec3 p, bool differentiated)
{
    return call_colour(w, s, differentiated ? w->fn.emission_differentiated : w->fn.emission, p,
                       differentiated);
}

/* ---- what the plan's media need ---- */

bool emission_any(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        any |= medium_emits(w->plan->media.data[i]);
    return any;
}

bool media_any(const walk *w, bool homogeneous)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        any |= medium_of(w->plan->media.data[i])->homogeneous == homogeneous;
    return any;
}

bool media_want_extinction(const walk *w)
{
    bool any = plan_moves_segments(w->plan); /* lengths of segments in the medium change */
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        any |= medium_wants_extinction(w->plan->media.data[i]);
    for (uint32_t i = 0; i < w->plan->phases.count; i++) /* the flakes' area is a factor of the extinction */
        any |= phase_of(w->plan->phases.data[i])->area && plan_requests(w->plan->phases.data[i]);
    return any;
}

/* ---- stretches ---- */

ir_ref stretch_key(walk *w, ir_ref event, uint32_t purpose)
{
    ir_func *f = w->t.f;
    ir_ref number = ir_add(f, ir_shl(f, event, t_u32(&w->t, 1)), t_u32(&w->t, purpose + 1));
    return ir_add(f, w->seed, ir_mul(f, number, t_u32(&w->t, 0x9E3779B1u)));
}

walk_stretch stretch_in(walk *w, ir_ref medium, vec3 o, vec3 d, ir_ref limit, ir_ref sample, ir_ref key)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->media, "a stretch in pass %d of a walk without media", (int)w->pass);
    ir_ref none = t_u32(t, 0), there = ir_ne(f, medium, none);
    if (w->bends) /* such a medium has nothing to collide with */
        there = ir_and(f, there, ir_not(f, eikonal_bends(w, medium)));
    ir_ref word = ir_select(f, there, medium, t_word(t, none, HEADER_MEDIA)); /* else of the first medium */
    o = v3_detach(t, o), d = v3_detach(t, d), limit = ir_detach(f, limit);
    walk_stretch s = {
        .there = there,
        .medium = word,
        .cls = t_word(t, word, MEDIUM_CLASS),
        .record = t_word(t, word, MEDIUM_RECORD),
        .homogeneous = ir_bool(f, false),
        .o = o,
        .d = d,
        .limit = limit,
        .sample = sample,
        .key = key,
        .step = none,
        .number = none,
    };
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        if (medium_of(w->plan->media.data[i])->homogeneous)
            s.homogeneous = ir_or(f, s.homogeneous, ir_eq(f, s.cls, t_u32(t, i)));
    if (!media_any(w, false))
        s.homogeneous = ir_bool(f, true);
    return s;
}

ir_ref medium_behind(walk *w, const interaction *si, vec3 d, ir_ref medium)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref none = t_u32(t, 0), interior = t_word(t, si->shape, SHAPE_INTERIOR),
           exterior = t_word(t, si->shape, SHAPE_EXTERIOR);
    ir_ref boundary = ir_and(f, si->valid, ir_ne(f, ir_or(f, interior, exterior), none));
    ir_ref behind = ir_select(f, ir_gt(f, v3_dot(t, d, si->ng), t_f32(t, 0)), exterior, interior);
    return ir_select(f, boundary, behind, medium);
}

drawn_point stretch_draw(walk *w, const walk_stretch *s, ir_ref near, ir_ref far)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_stretch own = *s;
    own.key = ir_xor(f, s->key, t_u32(t, own_numbers)), own.step = s->number;
    random4 r = walk_stretch_numbers(w, &own, own.step);
    ir_ref length = ir_max(f, t_f32(t, 0), ir_sub(f, far, near));
    return (drawn_point){t_mad(t, r.u[0], length, near), length, r.u[1]};
}

vec3 stretch_point(tracer *t, const walk_stretch *s, ir_ref distance)
{
    return v3_add(t, s->o, v3_scale(t, s->d, distance));
}

vec3 stretch_moved_point(walk *w, const walk_stretch *s, ir_ref distance)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 p = stretch_point(t, s, distance);
    if (!w->motion->moves_stretches)
        return p;
    const stretch_motion *m = &s->motion;
    p = v3_detach(t, p), distance = ir_detach(f, distance);
    ir_ref slides =
        t_mad(t, ir_mul(f, distance, t_ratio(t, t_f32(t, 1), m->end)), ir_sub(f, m->far, m->near), m->near);
    return v3_add(t, p,
                  v3_add(t, m->shift, v3_add(t, v3_scale(t, m->turn, distance), v3_scale(t, s->d, slides))));
}

ir_ref stretch_growth(walk *w, const walk_stretch *s)
{
    tracer *t = &w->t;
    ir_ref one = t_f32(t, 1);
    if (!w->motion->moves_stretches)
        return one;
    ir_ref slides =
        t_mad(t, ir_sub(t->f, s->motion.far, s->motion.near), t_ratio(t, one, s->motion.end), one);
    return ir_mul(t->f, v3_length(t, v3_add(t, s->d, s->motion.turn)), slides);
}

ir_ref flight_growth(walk *w, const walk_flight *fl)
{
    return w->motion->moves_stretches ? fl->growth : t_f32(&w->t, 1);
}

ir_ref stretch_length(walk *w, const walk_stretch *s, ir_ref distance)
{
    if (!w->motion->moves_stretches)
        return distance;
    return ir_mul(w->t.f, ir_detach(w->t.f, distance), stretch_growth(w, s));
}

vec3 stretch_begin(walk *w, const walk_stretch *s, bool differentiated)
{
    return differentiated && w->motion->moves_stretches ? stretch_moved_point(w, s, t_f32(&w->t, 0)) : s->o;
}

ir_ref stretch_extent(walk *w, const walk_stretch *s, bool differentiated)
{
    return differentiated && w->motion->moves_stretches ? stretch_length(w, s, s->limit) : s->limit;
}

/* Grey extinction without a gradient: at each step the value of tracking equals its probability, so the
 * weight stays 1. */
bool media_exact(const walk *w) { return !w->chromatic && !media_want_extinction(w); }
bool media_track_exact(const walk *w) { return !w->chromatic && (w->drt || !media_want_extinction(w)); }

void state_channels(const walk *w, loop_state *s, color *c)
{
    if (w->chromatic) {
        state_color(s, &w->t, c);
        return;
    }
    state_ref(s, &c->c[0]);
    if (s->reads)
        *c = color_all(c->c[0]);
}

/* sum of share * chance; chance: density of the choice by each channel */
ir_ref share_mixture(walk *w, color share, color chance)
{
    tracer *t = &w->t;
    if (!w->chromatic)
        return chance.c[0];
    return color_dot(t, share, chance);
}

color share_after(walk *w, color share, color chance, ir_ref mixed)
{
    tracer *t = &w->t;
    if (!w->chromatic)
        return share;
    COLOR_EACH(r, t_ratio(t, ir_mul(t->f, share.c[c], chance.c[c]), mixed));
    return r;
}

/* ---- differentiation ---- */

color channels_seed(walk *w, color value, color to_come, color missing)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    color r;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref lost = ir_eq(f, value.c[c], zero);
        r.c[c] =
            ir_select(f, lost, missing.c[c], ir_div(f, to_come.c[c], ir_select(f, lost, one, value.c[c])));
    }
    return r;
}
