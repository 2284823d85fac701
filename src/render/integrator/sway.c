/* SPDX-License-Identifier: BSD-3-Clause
 * Vertices that move with parameters in volumetric integrators, with the camera and with surfaces, under detached sampling (estimators.md 5).
 * The local convention of moving.c, carried over to what lies between vertices there, surfaces that let through and media:
 *
 *   - the segment behind the camera goes with its ray; surfaces slide along it, and a collision keeps its share of the way between those in front of
 *     and behind it. Held in place it would lose the light of a medium that grows: the derivative of an integral has a part for where it ends;
 *   - from surface to surface, and from anywhere to a light, the point at the end is held, and the segment swings about it as its beginning moves:
 *     its direction is taken again, and the measure, |cos| / r^2. Light sampling holds that point, too;
 *   - where a segment begins or ends at a collision it keeps its direction instead, so that what is at its end moves as well: a collision by its share, a
 *     surface by sliding. Held in place, the directions to near neighbours would turn by 1 / r, and collisions have near ones often: the mean of 1 / r over
 *     the distance to the next has no bound. So motion goes on from vertex to vertex, and ends where a segment swings.
 *
 * Motion that goes on is that of the camera: of two vectors of its ray, linearly, by matrices that the path carries (walk_carry); so nothing has to be
 * visited twice. That of surfaces has no such form, there being one more at every vertex: in scenes with media it is refused (api/refused.c).
 *
 * The transmittance between two vertices is that between the places they have moved to: what a point at a distance along a stretch does is linear in
 * a few numbers (struct walk_sway), all that the tracking in track.c has to know. Slides are taken to first order, which is what derivatives are.
 *
 * Next to a discrete lobe directions stay as they are; that is part of what params calls incomplete. */
#include "render/integrator/sway.h"

bool sway_wanted(const walk *w) { return w->volumetric && walk_tracks(w) && plan_sways(w->plan); }

static bool surfaces_slide(const walk *w) { return w->plan->moves & MOVE_HITS; }

/* ---- as loop state ---- */

void state_put_border(const walk *w, loop_state *s, const walk_border *b)
{
    state_put(s, b->valid), state_put(s, b->entry), state_put(s, b->t), state_put(s, b->b.x), state_put(s, b->b.y), state_put(s, b->distance);
    state_put_vec3(s, b->n);
    if (w->plan->scene->has_groups)
        state_put(s, b->level);
}

walk_border state_get_border(const walk *w, loop_state *s)
{
    walk_border b = {.valid = state_get(s), .entry = state_get(s), .t = state_get(s)};
    b.b.x = state_get(s), b.b.y = state_get(s), b.distance = state_get(s);
    b.n = state_get_vec3(s);
    if (w->plan->scene->has_groups)
        b.level = state_get(s);
    return b;
}

static void put_carry(loop_state *s, const walk_carry *c)
{
    state_put(s, c->there);
    for (int k = 0; k < 3; k++)
        state_put_vec3(s, c->shift[k]), state_put_vec3(s, c->turn[k]);
}

static walk_carry get_carry(loop_state *s)
{
    walk_carry c = {.there = state_get(s)};
    for (int k = 0; k < 3; k++)
        c.shift[k] = state_get_vec3(s), c.turn[k] = state_get_vec3(s);
    return c;
}

void state_put_sway(const walk *w, loop_state *s, const walk_position *at)
{
    state_put_border(w, s, &at->border), state_put(s, at->reach);
    if (w->plan->sensor)
        put_carry(s, &at->carry);
    if (surfaces_slide(w)) {
        state_put_border(w, s, &at->anchor.on), state_put(s, at->anchor.there);
        state_put_vec3(s, at->anchor.o), state_put_vec3(s, at->anchor.d);
    }
}

void state_get_sway(const walk *w, loop_state *s, walk_position *at)
{
    at->border = state_get_border(w, s), at->reach = state_get(s);
    if (w->plan->sensor)
        at->carry = get_carry(s);
    if (surfaces_slide(w)) {
        at->anchor.on = state_get_border(w, s), at->anchor.there = state_get(s);
        at->anchor.o = state_get_vec3(s), at->anchor.d = state_get_vec3(s);
    }
}

walk_border border_none(walk *w)
{
    tracer *t = &w->t;
    ir_ref none = t_u32(t, 0), zero = t_f32(t, 0);
    return (walk_border){.valid = ir_bool(t->f, false), .entry = none, .level = none, .t = zero, .b = {zero, zero}, .n = v3(zero, zero, zero), .distance = zero};
}

static walk_carry carry_none(walk *w)
{
    vec3 zero = v3_zero(&w->t);
    return (walk_carry){.there = ir_bool(w->t.f, false), .shift = {zero, zero, zero}, .turn = {zero, zero, zero}};
}

void sway_none(walk *w, walk_position *at)
{
    at->border = border_none(w), at->reach = t_f32(&w->t, -1);
    at->carry = carry_none(w);
    at->anchor = (walk_anchor){.there = ir_bool(w->t.f, false), .on = at->border, .o = at->o, .d = at->d};
}

/* ---- slides ---- */

walk_border border_of(walk *w, const walk_hit *hit, vec3 n, vec3 start, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_border b = {.valid = hit->valid, .entry = hit->entry, .level = hit->level, .t = ir_detach(f, hit->t), .n = v3_detach(t, n)};
    b.b = (vec2){ir_detach(f, hit->b.x), ir_detach(f, hit->b.y)};
    b.distance = ir_detach(f, ir_add(f, v3_dot(t, v3_sub(t, hit->o, start), d), hit->t));
    return b;
}

static walk_border border_detached(tracer *t, walk_border b)
{
    ir_func *f = t->f;
    b.t = ir_detach(f, b.t), b.b = (vec2){ir_detach(f, b.b.x), ir_detach(f, b.b.y)};
    b.n = v3_detach(t, b.n), b.distance = ir_detach(f, b.distance);
    return b;
}

/* What `now` has moved by from what it was, which is 0 in derivatives. */
static ir_ref moved_by(walk *w, ir_ref now, ir_ref was)
{
    ir_func *f = w->t.f;
    return w->pass == RENDER_FROZEN ? ir_sub(f, now, ir_detach(f, was)) : ir_replace_grad(f, t_f32(&w->t, 0), now);
}

static vec3 moved3(walk *w, vec3 now, vec3 was)
{
    return v3(moved_by(w, now.x, was.x), moved_by(w, now.y, was.y), moved_by(w, now.z, was.z));
}

/* How far a surface slides along a ray that is held, by its own motion. */
static ir_ref own_slide(walk *w, const walk_border *b, vec3 start, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    if (!surfaces_slide(w))
        return zero;
    walk_hit hit = {.valid = b->valid, .entry = b->entry, .level = b->level, .t = b->t, .b = b->b, .d = d, .slides = b->valid};
    hit.o = v3_add(t, start, v3_scale(t, d, ir_sub(f, b->distance, b->t)));
    ir_ref branch = ir_if(f, b->valid); /* another surface may have no derivative there */
    vec3 p = walk_surface(w, &hit, w->fn.interact_tracked).p, was = w->pass == RENDER_FROZEN ? walk_surface(w, &hit, w->fn.slide_before).p : p;
    ir_ref by = moved_by(w, v3_dot(t, p, d), v3_dot(t, was, d));
    ir_else(f);
    ir_endif(f);
    return ir_phi(f, branch, by, zero);
}

/* And by the ray's: what stands on it at the surface moves by `by`. */
static ir_ref slide(walk *w, const walk_border *b, ir_ref own, vec3 d, vec3 by)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref cosine = v3_dot(t, d, b->n), crosses = ir_and(f, b->valid, ir_gt(f, ir_abs(f, cosine), t_f32(t, 1e-6f)));
    ir_ref one = t_f32(t, 1), inverse = ir_div(f, one, ir_select(f, crosses, cosine, one));
    return ir_select(f, crosses, ir_sub(f, own, ir_mul(f, v3_dot(t, by, b->n), inverse)), t_f32(t, 0));
}

/* share of the way from near to far; where nothing is far, with what is near */
static ir_ref between(walk *w, const walk_border *far, ir_ref near_slide, ir_ref far_slide, ir_ref share)
{
    ir_func *f = w->t.f;
    ir_ref both = t_mad(&w->t, share, ir_sub(f, far_slide, near_slide), near_slide);
    return ir_select(f, far->valid, both, near_slide);
}

/* ---- the segment ---- */

typedef struct swing {
    vec3 shift, turn;
} swing;

static swing swing_select(tracer *t, ir_ref c, swing a, swing b)
{
    return (swing){v3_select(t, c, a.shift, b.shift), v3_select(t, c, a.turn, b.turn)};
}

static swing still(tracer *t) { return (swing){v3_zero(t), v3_zero(t)}; }

/* Of the sample's camera ray. */
static swing camera_swing(walk *w, const walk_position *at)
{
    walk own = *w;
    own.t = walk_tracked(w);
    walk_position now = walk_camera(&own, at->sample), was = walk_camera(w, at->sample);
    return (swing){moved3(w, now.o, was.o), moved3(w, now.d, was.d)};
}

/* The rows of a matrix times a vector. */
static vec3 rows_times(tracer *t, const vec3 row[3], vec3 v)
{
    return v3(v3_dot(t, v3_detach(t, row[0]), v), v3_dot(t, v3_detach(t, row[1]), v), v3_dot(t, v3_detach(t, row[2]), v));
}

/* What the vertex before has moved by. */
static vec3 start_moved(walk *w, const walk_position *at, swing camera)
{
    tracer *t = &w->t;
    vec3 moved = v3_zero(t);
    if (w->plan->sensor) {
        vec3 carried = v3_add(t, rows_times(t, at->carry.shift, camera.shift), rows_times(t, at->carry.turn, camera.turn));
        moved = v3_select(t, at->carry.there, carried, moved);
    }
    if (surfaces_slide(w)) {
        walk_border on = border_detached(t, at->anchor.on);
        vec3 o = v3_detach(t, at->anchor.o), d = v3_detach(t, at->anchor.d);
        vec3 slid = v3_scale(t, d, own_slide(w, &on, o, d));
        moved = v3_add(t, moved, v3_select(t, at->anchor.there, slid, v3_zero(t)));
    }
    return moved;
}

static swing segment_swing(walk *w, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    swing camera = w->plan->sensor ? camera_swing(w, at) : still(t);
    vec3 moved = start_moved(w, at, camera);
    ir_ref swings = ir_gt(f, at->reach, t_f32(t, 0)), reach = ir_select(f, swings, ir_detach(f, at->reach), t_f32(t, 1));
    vec3 turn = v3_select(t, swings, v3_scale(t, moved, ir_div(f, t_f32(t, -1), reach)), v3_zero(t));
    return swing_select(t, ir_eq(f, at->depth, t_u32(t, 0)), camera, (swing){moved, turn});
}

static vec3 normal_over_cosine(tracer *t, const walk_border *b, vec3 d)
{
    ir_func *f = t->f;
    ir_ref cosine = v3_dot(t, d, b->n), crosses = ir_and(f, b->valid, ir_gt(f, ir_abs(f, cosine), t_f32(t, 1e-6f))), one = t_f32(t, 1);
    return v3_select(t, crosses, v3_scale(t, b->n, ir_div(f, one, ir_select(f, crosses, cosine, one))), v3_zero(t));
}

/* (1 - d g^T) m, by rows */
static void slid_rows(tracer *t, vec3 d, vec3 g, const vec3 row[3], vec3 out[3])
{
    const ir_ref along_d[3] = {d.x, d.y, d.z};
    vec3 sum = v3_add(t, v3_scale(t, row[0], g.x), v3_add(t, v3_scale(t, row[1], g.y), v3_scale(t, row[2], g.z)));
    for (int k = 0; k < 3; k++)
        out[k] = v3_sub(t, row[k], v3_scale(t, sum, along_d[k]));
}

/* The carry of a vertex, from that of the one before, whose segment keeps its direction; of the first, from the camera's ray. */
static walk_carry carry_on(walk *w, const walk_position *at, const walk_border *near, const walk_border *far, vec3 d, ir_ref share, ir_ref distance)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0), part = ir_select(f, far->valid, share, zero), rest = ir_sub(f, one, part);
    vec3 by_near = v3_scale(t, normal_over_cosine(t, near, d), rest), by_far = v3_scale(t, normal_over_cosine(t, far, d), part);
    vec3 g = v3_add(t, by_near, by_far), h = v3_add(t, v3_scale(t, by_near, near->distance), v3_scale(t, by_far, far->distance));
    const vec3 unit[3] = {v3(one, zero, zero), v3(zero, one, zero), v3(zero, zero, one)};
    const ir_ref along_d[3] = {d.x, d.y, d.z};
    ir_ref first = ir_eq(f, at->depth, t_u32(t, 0));
    walk_carry c = {.there = ir_or(f, first, ir_and(f, at->carry.there, ir_le(f, at->reach, zero)))};
    vec3 camera[3], shift[3], turn[3];
    slid_rows(t, d, g, unit, camera);
    slid_rows(t, d, g, at->carry.shift, shift), slid_rows(t, d, g, at->carry.turn, turn);
    for (int k = 0; k < 3; k++) {
        c.shift[k] = v3_select(t, first, camera[k], shift[k]);
        c.turn[k] = v3_select(t, first, v3_sub(t, v3_scale(t, unit[k], distance), v3_scale(t, h, along_d[k])), turn[k]);
    }
    return c;
}

void sway_visit(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 start = v3_detach(t, at->scattered), d = v3_detach(t, at->d);
    walk_border near = border_detached(t, at->border), far = border_of(w, &v->hit_place, v->hit_normal, start, d);
    ir_ref collides = w->media ? v->flight.collides : ir_bool(f, false);
    swing by = segment_swing(w, at);
    ir_ref near_slide = slide(w, &near, own_slide(w, &near, start, d), d, sway_along(t, by.shift, by.turn, near.distance));
    ir_ref far_slide = slide(w, &far, own_slide(w, &far, start, d), d, sway_along(t, by.shift, by.turn, far.distance));
    ir_ref begins = ir_select(f, near.valid, near.distance, zero), length = ir_sub(f, far.distance, begins);
    ir_ref good = ir_and(f, far.valid, ir_gt(f, length, zero)), inverse = ir_div(f, one, ir_select(f, good, length, one));
    ir_ref origin = ir_detach(f, v3_dot(t, v3_sub(t, v->hit_place.o, start), d)), stands = far.distance;
    if (w->media)
        stands = ir_select(f, collides, ir_detach(f, ir_add(f, origin, v->flight.t)), stands);
    ir_ref share = ir_select(f, collides, ir_mul(f, ir_sub(f, stands, begins), inverse), one);
    ir_ref inside = between(w, &far, near_slide, far_slide, share), end = ir_select(f, collides, inside, ir_select(f, far.valid, far_slide, near_slide));
    ir_ref growth = ir_select(f, good, t_mad(t, ir_sub(f, far_slide, near_slide), inverse, one), one);
    v->sway = (walk_sway){.shift = by.shift, .turn = by.turn, .near = near_slide, .far = end, .growth = growth, .origin = origin, .place = stands};
    v->sway.moved = v3_add(t, sway_along(t, by.shift, by.turn, stands), v3_scale(t, d, end));
    v->border = far;
    if (w->plan->sensor)
        v->carry = carry_on(w, at, &near, &far, d, share, stands);
    if (w->media) {
        v->flight.s.motion = (walk_motion){sway_along(t, by.shift, by.turn, origin), by.turn, near_slide, end, ir_detach(f, ir_select(f, collides, v->flight.t, v->flight.s.limit))};
        v->flight.growth = growth;
    }
    v->hit.sway = v->sway, v->hit.seen_from = v->hit_place;
}

uint32_t sway_pack(const walk_sway *s, ir_ref out[SWAY_NUMBERS])
{
    vec3_put(s->shift, out), vec3_put(s->turn, out + 3), vec3_put(s->moved, out + 6);
    out[9] = s->near, out[10] = s->far, out[11] = s->growth;
    return SWAY_NUMBERS;
}

/* ---- toward lights ---- */

uint32_t sway_line_pack(const sway_line *l, ir_ref out[SWAY_LINE_NUMBERS])
{
    vec3_put(l->shift, out), vec3_put(l->turn, out + 3);
    return SWAY_LINE_NUMBERS;
}

sway_line sway_to_light(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_light light = v->light;
    ir_ref factor, distance = ir_detach(f, v->light.distance);
    sway_line l = {.shift = v->sway.moved, .turn = still(t).turn};
    if (!walk_place_light(w, &light, &factor))
        return l;
    ir_ref inverse = t_ratio(t, t_f32(t, 1), distance);
    vec3 to = v3_scale(t, light.d, light.distance), was = v3_scale(t, v3_detach(t, v->light.d), distance);
    l.turn = v3_scale(t, moved3(w, to, was), inverse);
    return l;
}

walk_motion sway_between(walk *w, const sway_line *l, const walk_border *near, const walk_border *far, vec3 start, vec3 d, ir_ref origin, ir_ref length)
{
    tracer *t = &w->t;
    walk_border first = border_detached(t, *near), last = border_detached(t, *far);
    d = v3_detach(t, d);
    ir_ref near_slide = slide(w, &first, own_slide(w, &first, start, d), d, sway_along(t, l->shift, l->turn, first.distance));
    ir_ref far_slide = slide(w, &last, own_slide(w, &last, start, d), d, sway_along(t, l->shift, l->turn, last.distance));
    return (walk_motion){sway_along(t, l->shift, l->turn, origin), l->turn, near_slide, far_slide, ir_detach(t->f, length)};
}

/* ---- ahead ---- */

/* bool: the vertex may move */
static ir_ref may_move(walk *w, const walk_vertex *v)
{
    return surfaces_slide(w) ? ir_bool(w->t.f, true) : w->plan->sensor ? v->carry.there : ir_bool(w->t.f, false);
}

/* bool: the path goes straight through the surface at the end of a flight */
static ir_ref goes_through(walk *w, const walk_position *at, const interaction *si)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref block = t_offset(t, ir_mul(f, at->event, t_u32(t, 2)), 2), unused;
    random4 r = walk_numbers(w, at->sample, block, SAMPLER_ONE_TWO_ONE);
    walk_vertex v = {.si = *si, .frame = surface_frame(t, si), .to_light = at->d, .third = t_f32(t, 0)};
    v.bsdf_class = t_word(t, si->shape, SHAPE_BSDF_CLASS), v.bsdf_record = t_word(t, si->shape, SHAPE_BSDF_RECORD);
    v.wi = frame_to_local(t, v.frame, v3_neg(t, at->d));
    walk_sample_bsdf(w, &v, r.u[0], r.u[1], r.u[2], &unused);
    return ir_and(f, si->valid, ir_and(f, v.sample.delta, ir_ge(f, v.sample.lobe, t_u32(t, LOBE_NULL))));
}

void sway_ahead(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk own = *w;
    own.sways = false; /* what lies ahead is decided, not moved */
    ir_ref none = t_f32(t, -1), no = ir_bool(f, false), from_surface = w->media ? ir_not(f, v->flight.collides) : ir_bool(f, true);
    ir_ref wanted = ir_and(f, ir_and(f, v->goes_on, may_move(w, v)), ir_not(f, ir_or(f, v->through, v->sample.delta)));
    walk_position x = walk_next(&own, *at, v, wanted);
    vec3 d = v->next_d;
    loop_state state = {0}, next = {0};
    state_put_position(&own, &state, &x);
    state_put(&state, wanted), state_put(&state, none), state_put_vec3(&state, v3_zero(t));
    ir_ref loop = ir_loop(f, state.r, state.count);
    x = state_get_position(&own, &state);
    ir_ref going = state_get(&state), reach = state_get(&state);
    vec3 n = state_get_vec3(&state);
    ir_while(f, going);
    interaction si = walk_intersect(&own, x, NULL);
    walk_flight flight = {.collides = no};
    ir_ref distance = si.t;
    if (w->media) {
        flight = flight_start(&own, &x, si.t);
        distance = ir_select(f, flight.collides, flight.t, si.t);
    }
    ir_ref through = ir_and(f, goes_through(&own, &x, &si), ir_not(f, flight.collides)), ends = ir_and(f, ir_not(f, through), ir_or(f, si.valid, flight.collides));
    ir_ref so_far = v3_dot(t, v3_sub(t, x.o, v->si.p), d);
    ir_ref on = ir_and(f, ends, ir_not(f, flight.collides)), shines = ir_ne(f, t_word(t, si.shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE));
    ir_ref swings = ir_and(f, on, ir_or(f, shines, from_surface));
    walk_position y = x;
    y.o = v3_select(t, through, ray_offset(t, si.p, si.ng, d), x.o);
    y.event = ir_add(f, x.event, t_u32(t, 1));
    if (w->media)
        y.medium = medium_behind(&own, &si, d, x.medium), y.share = flight.share;
    state_put_position(&own, &next, &y);
    state_put(&next, through), state_put(&next, ir_select(f, swings, ir_add(f, so_far, distance), reach));
    state_put_vec3(&next, v3_select(t, swings, si.ng, n));
    ir_endloop(f, loop, next.r, next.count);
    v->next_reach = reach, v->next_n = n;
}

void sway_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref holds = ir_and(f, alive, ir_not(f, v->sample.delta));
    walk_position kept = *next, fresh = *next;
    kept.anchor = at->anchor, kept.carry = at->carry, kept.border = v->border, kept.reach = at->reach;
    fresh.border = border_none(w), fresh.reach = v->next_reach;
    fresh.anchor = (walk_anchor){.there = ir_and(f, holds, v->border.valid), .on = v->border, .o = at->scattered, .d = at->d};
    fresh.carry = v->carry;
    if (w->plan->sensor)
        fresh.carry.there = ir_and(f, holds, v->carry.there);
    loop_state from = {0}, old = {0};
    state_put_sway(w, &from, &kept), state_put_sway(w, &old, &fresh);
    state_select(t, v->through, &from, &old);
    state_get_sway(w, &from, next);
}
