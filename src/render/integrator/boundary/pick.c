/* SPDX-License-Identifier: BSD-3-Clause
 * Samples points of edges, seen from a viewpoint. Of some candidates one is kept with a probability in
 * proportion to q, the angle that the curve there takes up, times what is known of the light that goes past
 * it; the estimate is multiplied by the mean of q / p over q: resampled importance sampling (Talbot et al.
 * 2005). Points that are no silhouette from the viewpoint have q = 0, so in a fine mesh most candidates cost
 * two faces and no path. */
#include "render/integrator/boundary/boundary.h"

enum { FIRST_BLOCK = 0x40000000 };
static const float NEAREST = 8; /* least distance from the viewpoint, over the offset of rays */

float boundary_far(const walk *w) { return 65536 * (w->plan->scene->radius + 1); }

random4 boundary_numbers(walk *w, ir_ref sample, uint32_t which)
{
    return walk_numbers(w, sample, t_u32(&w->t, FIRST_BLOCK + which), SAMPLER_ONE_TWO_ONE);
}

/* The segment through a place; weight holds q. length: of the part of the curve's tangent across the view. */
static boundary_point segment_at(walk *w, const silhouette_place *place, vec3 viewpoint,
                                 const boundary_wish *wish, ir_ref *length)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    silhouette_point s = silhouette_at(t, place, viewpoint, wish->backwards);
    vec3 to = v3_sub(t, s.p, viewpoint);
    boundary_point b = {.place = *place, .viewpoint = viewpoint, .p = s.p, .closed = s.closed};
    b.distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    b.d = v3_scale(t, to, ir_div(f, one, b.distance));
    vec3 across = v3_cross(t, s.along, b.d);
    *length = v3_length(t, across);
    ir_ref seen = ir_select(f, s.closed, one, wish->creases ? s.crease : zero);
    ir_ref turned = ir_lt(f, v3_dot(t, across, s.out), zero), inverse = t_ratio(t, one, *length);
    b.n = v3_scale(t, across, ir_select(f, turned, ir_neg(f, inverse), inverse));
    b.weight = ir_mul(f, seen, ir_div(f, *length, t_sqr(t, b.distance)));
    b.there = ir_and(f, s.there, ir_and(f, ir_gt(f, b.weight, zero), ir_lt(f, b.weight, t_f32(t, 1e30f))));
    if (wish->by) {
        tracer reads = t_deciding(t);
        sensor_link link = sensor_of(wish->by->object)->link(&reads, wish->by, s.p, wish->lens);
        b.there = ir_and(f, b.there, ir_and(f, link.seen, wish->far ? link.behind_near : link.within));
    }
    /* A viewpoint on a surface may see, up to rounding, a silhouette of that surface where it is itself. */
    b.offset = ir_max(f, s.blur, ray_epsilon(t, s.p));
    b.there = ir_and(f, b.there, ir_gt(f, b.distance, ir_mul(f, b.offset, t_f32(t, NEAREST))));
    if (wish->value)
        b.weight = ir_mul(f, b.weight, wish->value(w, wish->of, b.d));
    b.weight = ir_select(f, b.there, b.weight, zero);
    return b;
}

/* The candidate that is kept so far. */
typedef struct chosen_point {
    ir_ref count, sum; /* of candidates; of their q / p */
    silhouette_place place;
    ir_ref value; /* of its cell */
    ir_ref u;     /* uniform, and uniform again after each candidate */
} chosen_point;

static void state_chosen(loop_state *s, chosen_point *c)
{
    state_ref(s, &c->count), state_ref(s, &c->sum), state_ref(s, &c->value), state_ref(s, &c->u);
    state_ref(s, &c->place.carrier), state_ref(s, &c->place.edge), state_ref(s, &c->place.along);
}

static void consider(walk *w, vec3 viewpoint, ir_ref sample, const boundary_guide *guide,
                     const boundary_wish *wish, chosen_point *c)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    random4 r = walk_numbers(w, sample, ir_add(f, c->count, t_u32(t, FIRST_BLOCK + 8)), SAMPLER_ONE_TWO_ONE);
    ir_ref density, length, zero = t_f32(t, 0), one = t_f32(t, 1),
                            turn = ir_mul(f, ir_to_f32(f, c->count), t_f32(t, 1 / (float)wish->candidates));
    ir_ref turned = ir_add(f, guide->spread[SPREAD_CELL], turn);
    r.u[0] = ir_sub(f, turned, ir_select(f, ir_ge(f, turned, one), one, zero));
    boundary_cell cell = boundary_choose_cell(w, guide, &r.u[0]);
    silhouette_place place = silhouette_choose(t, cell.index, r.u, &density);
    boundary_point b = segment_at(w, &place, viewpoint, wish, &length);
    ir_ref share = t_ratio(t, ir_mul(f, b.weight, cell.value), ir_mul(f, density, cell.probability));
    c->sum = ir_add(f, c->sum, share);
    ir_ref part = t_ratio(t, share, c->sum), takes = ir_lt(f, c->u, part);
    c->u =
        ir_select(f, takes, t_ratio(t, c->u, part), t_ratio(t, ir_sub(f, c->u, part), ir_sub(f, one, part)));
    c->place.carrier = ir_select(f, takes, place.carrier, c->place.carrier);
    c->place.edge = ir_select(f, takes, place.edge, c->place.edge);
    c->place.along = ir_select(f, takes, place.along, c->place.along);
    c->value = ir_select(f, takes, cell.value, c->value);
    c->count = ir_add(f, c->count, t_u32(t, 1));
}

boundary_point boundary_pick(walk *w, vec3 viewpoint, ir_ref sample, const boundary_guide *guide,
                             const boundary_wish *wish)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), none = t_u32(t, 0), table = t_word(t, none, HEADER_SILHOUETTES);
    ir_ref first = t_word(t, table, SILHOUETTE_CARRIERS); /* any carrier is valid */
    chosen_point c = {none, zero, {first, none, zero}, t_f32(t, 1), guide->spread[SPREAD_CANDIDATE]};
    loop_state state = {0}, next = {0};
    state_chosen(&state, &c);
    ir_ref loop = state_loop(f, &state);
    state_chosen(&state, &c);
    ir_while(f, ir_lt(f, c.count, t_u32(t, wish->candidates)));
    consider(w, viewpoint, sample, guide, wish, &c);
    state_chosen(&next, &c);
    state_endloop(f, loop, &state, &next);
    state_chosen(&state, &c);
    state_end(&state);
    ir_ref length;
    boundary_point out = segment_at(w, &c.place, viewpoint, wish, &length);
    out.possible = ir_mul(f, c.sum, t_f32(t, 1 / (float)wish->candidates));
    out.there = ir_and(f, out.there, ir_gt(f, c.sum, zero));
    out.weight = ir_mul(f, length, t_ratio(t, out.possible, ir_mul(f, out.weight, c.value)));
    return out;
}

vec3 boundary_beside(walk *w, const boundary_point *b)
{
    return v3_add(&w->t, b->p, v3_scale(&w->t, b->n, b->offset));
}
