/* SPDX-License-Identifier: BSD-3-Clause
 * Media as a walk sees them: their traced functions (extinction, albedo, emission, bounds), the stretch of a
 * ray that lies in a medium, points on it as they move, and the weights of the colour channels in spectral
 * MIS
 * (`share`; free_flight.c explains it).
 *
 * Invariants: extinction is evaluated here only, so that all files multiply by the same area of microflakes;
 * where nothing moves stretches, points are detached and growth is 1. */
#include "render/integrator/media/free_flight.h"

/* ---- traced functions ---- */

static vec3 vec3_param(ir_func *f)
{
    ir_ref x = ir_param(f, IR_F32), y = ir_param(f, IR_F32), z = ir_param(f, IR_F32);
    return v3(x, y, z);
}

typedef color (*medium_colour)(tracer *t, const class_node *n, ir_ref record, vec3 p);

static ir_func *make_colour(walk *w, const class_node *n, const char *name, medium_colour colour,
                            bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, name);
    tracer t = {
        .f = f, .plan = w->plan, .differentiated = differentiated, .frozen = w->pass == RENDER_FROZEN};
    ir_ref record = ir_param(f, IR_U32);
    color c = colour(&t, n, record, vec3_param(f));
    ir_return(f, c.c, 3);
    return f;
}

static ir_func *make_bounds(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "bounds");
    tracer t = {.f = f, .plan = w->plan};
    ir_ref record = ir_param(f, IR_U32), zero = t_f32(&t, 0);
    vec3 low = v3(zero, zero, zero), high = low;
    ir_ref majorant = zero;
    if (!medium_of(n)->homogeneous)
        low = medium_low(&t, n, record), high = medium_high(&t, n, record),
        majorant = medium_majorant(&t, n, record);
    ir_ref out[7] = {majorant, low.x, low.y, low.z, high.x, high.y, high.z};
    ir_return(f, out, 7);
    return f;
}

/* A ray in the medium's volume, for media with cells. */
static ir_func *make_into(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "into");
    tracer t = {.f = f, .plan = w->plan};
    ir_ref record = ir_param(f, IR_U32);
    vec3 o = vec3_param(f), d = vec3_param(f);
    volume_ray r = {o, d};
    if (medium_cells(&t, n))
        r = medium_into(&t, n, record, o, d);
    ir_return(f, (ir_ref[6]){r.o.x, r.o.y, r.o.z, r.d.x, r.d.y, r.d.z}, 6);
    return f;
}

/* Bounds of the extinction in the cell at a distance, and where the cell ends. A medium without cells is one
 * cell. */
static ir_func *make_cell(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "cell");
    tracer t = {.f = f, .plan = w->plan};
    ir_ref record = ir_param(f, IR_U32), out[3] = {t_f32(&t, 0), t_f32(&t, 0), t_f32(&t, 1e30f)};
    vec3 o = vec3_param(f), d = vec3_param(f);
    ir_ref distance = ir_param(f, IR_F32);
    if (medium_cells(&t, n)) {
        cell_bounds cell = medium_cell(&t, n, record, &(volume_ray){o, d}, distance);
        out[0] = cell.majorant, out[1] = cell.minorant, out[2] = cell.leaves;
    } else if (!medium_of(n)->homogeneous)
        out[0] = medium_majorant(&t, n, record);
    ir_return(f, out, 3);
    return f;
}

/* record, direction 3, p 3 -> projected area of the microflakes; 1 if there are none */
static ir_func *make_area(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, differentiated ? "area_differentiated" : "area");
    tracer t = {
        .f = f, .plan = w->plan, .differentiated = differentiated, .frozen = w->pass == RENDER_FROZEN};
    ir_ref record = ir_param(f, IR_U32);
    vec3 d = vec3_param(f), p = vec3_param(f);
    ir_ref area = phase_of(n)->area ? phase_of(n)->area(&t, n, record, d, p) : t_f32(&t, 1);
    ir_return(f, &area, 1);
    return f;
}

static ir_func *make_most_area(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "most_area");
    tracer t = {.f = f, .plan = w->plan};
    ir_ref record = ir_param(f, IR_U32),
           most = phase_of(n)->most_area ? phase_of(n)->most_area(&t, n, record) : t_f32(&t, 1);
    ir_return(f, &most, 1);
    return f;
}

static void area_functions(walk *w)
{
    const plan *p = w->plan;
    arena *a = &w->t.f->module->arena;
    size_t size = p->phases.count * sizeof(ir_func *);
    for (uint32_t i = 0; i < p->phases.count; i++)
        w->flakes |= phase_of(p->phases.data[i])->area != NULL;
    if (!w->flakes)
        return;
    w->fn.area = arena_alloc(a, size), w->fn.area_differentiated = arena_alloc(a, size),
    w->fn.most_area = arena_alloc(a, size);
    for (uint32_t i = 0; i < p->phases.count; i++) {
        w->fn.area[i] = make_area(w, p->phases.data[i], false),
        w->fn.area_differentiated[i] = make_area(w, p->phases.data[i], true);
        w->fn.most_area[i] = make_most_area(w, p->phases.data[i]);
    }
}

bool emission_any(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        any |= medium_emits(w->plan->media.data[i]);
    return any;
}

/* Differential ratio tracking is used where the gradient of a heterogeneous medium's extinction is wanted;
 * not in the kernels that check replay, since their paths are replay's. */
static bool use_drt(const walk *w)
{
    bool checks = w->pass == RENDER_FROZEN || w->pass == RENDER_UNROLLED, wanted = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        wanted |= medium_wants_extinction(w->plan->media.data[i]) &&
                  !medium_of(w->plan->media.data[i])->homogeneous;
    for (uint32_t i = 0; i < w->plan->phases.count; i++)
        wanted |= phase_of(w->plan->phases.data[i])->area && plan_requests(w->plan->phases.data[i]);
    return w->plan->drt && wanted && !checks && media_any(w, false) && !plan_moves_segments(w->plan);
}

void flight_functions(walk *w)
{
    BL_ASSERT(w->plan->media.count > 0, "a walk through media in a plan without, in pass %d", (int)w->pass);
    w->drt = use_drt(w);
    area_functions(w);
    const plan *p = w->plan;
    arena *a = &w->t.f->module->arena;
    uint32_t n = p->media.count;
    size_t size = n * sizeof(ir_func *);
    w->fn.extinction = arena_alloc(a, size), w->fn.extinction_differentiated = arena_alloc(a, size);
    w->fn.albedo = arena_alloc(a, size), w->fn.albedo_differentiated = arena_alloc(a, size),
    w->fn.bounds = arena_alloc(a, size);
    w->fn.into = arena_alloc(a, size), w->fn.cell = arena_alloc(a, size);
    if (emission_any(w))
        w->fn.emission = arena_alloc(a, size), w->fn.emission_differentiated = arena_alloc(a, size);
    for (uint32_t i = 0; i < n; i++) {
        const class_node *medium = p->media.data[i];
        w->fn.extinction[i] = make_colour(w, medium, "extinction", medium_extinction, false);
        w->fn.extinction_differentiated[i] =
            make_colour(w, medium, "extinction_differentiated", medium_extinction, true);
        w->fn.albedo[i] = make_colour(w, medium, "albedo", medium_albedo, false);
        w->fn.albedo_differentiated[i] = make_colour(w, medium, "albedo_differentiated", medium_albedo, true);
        if (emission_any(w)) {
            w->fn.emission[i] = make_colour(w, medium, "emission", medium_emission, false);
            w->fn.emission_differentiated[i] =
                make_colour(w, medium, "emission_differentiated", medium_emission, true);
        }
        w->fn.bounds[i] = make_bounds(w, medium);
        w->fn.into[i] = make_into(w, medium), w->fn.cell[i] = make_cell(w, medium);
        w->spectral |= !medium_grey(medium);
        w->cells |= medium_cells(&w->t, medium) > 0;
    }
}

/* A coefficient at p, which is detached unless the motion moves stretches. */
static color call_colour(walk *w, const walk_stretch *s, ir_func *const *functions, vec3 p,
                         bool differentiated)
{
    BL_ASSERT(functions, "a coefficient that no medium has, in pass %d", (int)w->pass);
    if (!w->motion->moves_stretches || !differentiated)
        p = v3_detach(&w->t, p);
    ir_ref in[4] = {s->record, p.x, p.y, p.z};
    color c;
    ir_call(w->t.f, s->cls, functions, w->plan->media.count, in, 4, c.c);
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
    ir_ref in[7] = {t_word(t, s->medium, MEDIUM_PHASE_RECORD), d.x, d.y, d.z, p.x, p.y, p.z}, area;
    ir_call(t->f, t_word(t, s->medium, MEDIUM_PHASE_CLASS),
            differentiated ? w->fn.area_differentiated : w->fn.area, w->plan->phases.count, in, 7, &area);
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
bool media_exact(const walk *w) { return !w->spectral && !media_want_extinction(w); }
bool media_track_exact(const walk *w) { return !w->spectral && (w->drt || !media_want_extinction(w)); }

void state_channels(const walk *w, loop_state *s, color *c)
{
    if (w->spectral) {
        state_color(s, c);
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
    if (!w->spectral)
        return chance.c[0];
    return t_mad(t, share.c[0], chance.c[0],
                 t_mad(t, share.c[1], chance.c[1], ir_mul(t->f, share.c[2], chance.c[2])));
}

color share_after(walk *w, color share, color chance, ir_ref mixed)
{
    tracer *t = &w->t;
    if (!w->spectral)
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
    for (int c = 0; c < 3; c++) {
        ir_ref lost = ir_eq(f, value.c[c], zero);
        r.c[c] =
            ir_select(f, lost, missing.c[c], ir_div(f, to_come.c[c], ir_select(f, lost, one, value.c[c])));
    }
    return r;
}
