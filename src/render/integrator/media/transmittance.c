/* SPDX-License-Identifier: BSD-3-Clause
 * What reaches a vertex of the light that it has sampled, where surfaces may let light straight through and
 * media lie in between (docs/theory/volumes.md). It is a product over the stretches of the shadow ray: of
 * each stretch's transmittance, and of what the surface at its end lets through. Media are crossed by ratio
 * tracking, which is unbiased for each stretch, with a random stream of its own. So the same product can be
 * walked again.
 *
 * The derivative by media is that of the optical thickness, at one point drawn evenly from all stretches,
 * with random numbers of its own: nothing has to be crossed again. Where surfaces change, too, or the
 * stretches move, it is path replay within path replay (PRB section 4.4): with the product known, a second
 * walk over the stages divides out one surface after another, which leaves the factor that each derivative is
 * multiplied with, and each stretch has a point. A factor that is 0 is left out of the product and counted
 * (docs/theory/zero_factors.md). */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/media/free_flight.h"
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

enum { UNROLLED_STAGES = 4 };

typedef struct crossing {
    vec3 o;
    ir_ref medium, step;
    ir_ref going;
    ir_ref stages;    /* u32: so far, where counts_stages */
    walk_border last; /* where walk.motion moves stretches: the surface that was gone through last */
    walk_shadow sum;
} crossing;

static bool requested_within(const class_node *n)
{
    bool any = plan_requests(n);
    for (uint32_t k = 0; k < n->child_count; k++)
        any |= requested_within(n->child[k]);
    return any;
}

/* The gradient of a surface that lets light through is wanted. */
static bool wants_surfaces(const walk *w)
{
    bool wanted = false;
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        wanted |= bsdf_lets_through(w->plan->bsdfs.data[i]) && requested_within(w->plan->bsdfs.data[i]);
    return wanted;
}

bool shadow_is_wanted(const walk *w)
{
    return plan_moves_segments(w->plan) || (w->media && media_want_extinction(w)) || wants_surfaces(w);
}

/* Passes that may want shadow_adjoint, or differentiate the same in other ways. */
static bool is_differentiated(const walk *w)
{
    bool gradient = w->pass == RENDER_GRADIENT || w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT,
         values = w->pass == RENDER_FORWARD || w->pass == RENDER_FROZEN || w->pass == RENDER_UNROLLED;
    bool tape = w->pass == RENDER_TAPE || w->pass == RENDER_TAPE_ADJOINT;
    return (gradient || tape || values) && shadow_is_wanted(w);
}

/* Media are all that changes: one point says how, and the way need not be gone again. */
bool shadow_draws_point(const walk *w)
{
    return is_differentiated(w) && !plan_moves_segments(w->plan) && !wants_surfaces(w);
}

/* Each stage is differentiated by itself. */
static bool counts_stages(const walk *w) { return is_differentiated(w) && !shadow_draws_point(w); }

static void state_crossing(walk *w, loop_state *s, crossing *c)
{
    state_vec3(s, &c->o);
    state_ref(s, &c->medium), state_ref(s, &c->step), state_ref(s, &c->going);
    state_ref(s, &c->sum.open);
    state_color(s, &w->t, &c->sum.product);
    state_refs(s, c->sum.zeros, w->t.channels);
    shadow_point *p = &c->sum.point;
    if (is_differentiated(w))
        state_ref(s, &c->stages);
    else if (s->reads)
        c->stages = t_u32(&w->t, 0);
    if (counts_stages(w))
        state_ref(s, &c->sum.stages);
    else if (s->reads)
        c->sum.stages = t_u32(&w->t, 0);
    if (shadow_draws_point(w))
        state_ref(s, &p->medium), state_ref(s, &p->distance), state_ref(s, &p->length);
    if (w->motion->moves_stretches)
        state_border(w, s, &c->last);
}

/* One stretch and the surface at its end. */
typedef struct stage {
    interaction si;
    walk_stretch s;
    frame frame;
    vec3 wi;
    ir_ref passable; /* bool: there is no surface, or one of a class that lets light through */
    walk_hit hit;
    walk_border border; /* where walk.motion moves stretches: how the ray moves there */
    segment_motion motion;
} stage;

/* The shadow ray, from where it starts to the point on the light; and how it moves with these. */
typedef struct shadow_line {
    vec3 start, end;
    ray_motion motion;
} shadow_line;

/* The share that goes straight on through the surface of a stage; 1 where there is none. */
static color surface_through(walk *w, const stage *g, bool differentiated)
{
    tracer *t = &w->t;
    const interaction *si = &g->si;
    ref_list in = refs_for(t_word(t, si->shape, SHAPE_BSDF_RECORD));
    bsdf_color_arguments a = {.wi = g->wi, .uv = si->uv, .on = surface_seen(t, si, g->frame)};
    bsdf_color_visit(w, &in, &a);
    color c = color_all(t_f32(t, 1));
    if (differentiated) {
        refs_detach(w, &in);
        refs_rewind(&in, REFS_READ), bsdf_color_visit(w, &in, &a);
        w->motion->through(w, &g->hit, &g->motion, &a);
        refs_rewind(&in, REFS_WRITTEN), bsdf_color_visit(w, &in, &a);
    }
    if (w->plan->bsdfs.count == 0)
        return c;
    ir_call(t->f, t_word(t, si->shape, SHAPE_BSDF_CLASS),
            differentiated ? w->fn.bsdf_through_differentiated : w->fn.bsdf_through, w->plan->bsdfs.count,
            in.at, in.count, c.c);
    return color_select(t, si->valid, c, color_all(t_f32(t, 1)));
}

/* bool: a surface of this class lets light through, or may for other values */
static ir_ref lets_through(walk *w, ir_ref cls)
{
    ir_func *f = w->t.f;
    ir_ref is = ir_bool(f, false);
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        if (bsdf_lets_through(w->plan->bsdfs.data[i]))
            is = ir_or(f, is, ir_eq(f, cls, t_u32(&w->t, i)));
    return is;
}

/* Each stage aims at the light anew: the places where rays begin lie beside the line, off the surfaces that
 * they have gone through, and a ray that only goes on in its direction misses, or meets too early, what the
 * line touches; near the horizon of a ball of light that is where derivatives are large. */
static vec3 aim(walk *w, const crossing *c, const shadow_line *l, ir_ref *left)
{
    tracer *t = &w->t;
    vec3 to = v3_sub(t, l->end, c->o);
    ir_ref length = ir_max(t->f, v3_length(t, to), t_f32(t, 1e-20f));
    *left = walk_far(w, length);
    return v3_scale(t, to, ir_div(t->f, t_f32(t, 1), length));
}

ir_ref surface_passes(walk *w, const interaction *si)
{
    return lets_through(w, t_word(&w->t, si->shape, SHAPE_BSDF_CLASS));
}

static stage next_stage(walk *w, const crossing *c, const shadow_line *l, ir_ref sample, ir_ref key)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    stage g = {0};
    ir_ref left;
    vec3 d = aim(w, c, l, &left);
    g.si = walk_intersect(
        w, (walk_position){.o = c->o, .d = d, .tmax = ir_select(f, c->going, left, t_f32(t, -1))}, &g.hit);
    ir_ref limit = ir_select(f, g.si.valid, g.si.t, left);
    g.frame = surface_frame(t, &g.si);
    g.wi = frame_to_local(t, g.frame, v3_neg(t, d));
    g.passable = ir_or(f, ir_not(f, g.si.valid), lets_through(w, t_word(t, g.si.shape, SHAPE_BSDF_CLASS)));
    if (w->bends) /* behind the surface the light would come another way */
        g.passable = ir_and(f, g.passable,
                            ir_or(f, ir_not(f, g.si.valid),
                                  ir_not(f, eikonal_bends(w, medium_behind(w, &g.si, d, c->medium)))));
    if (w->media) {
        g.s = stretch_in(w, c->medium, c->o, d, limit, sample, key);
        g.s.there = ir_and(f, g.s.there, ir_and(f, c->going, g.passable));
        g.s.step = c->step, g.s.number = c->stages;
    }
    return g;
}

/* How a stage moves: between the surface before and its own, or up to the light, all of it where that is. */
static void stage_moves(walk *w, const crossing *c, const shadow_line *l, stage *g, bool differentiated)
{
    BL_ASSERT(ir_made(w->t.f, g->hit.d.x), "a stage moves before it is crossed");
    g->border = c->last;
    if (!w->motion->moves_stretches || !differentiated)
        return;
    g->border = border_of(w, &g->hit, g->si.ng, l->start, g->hit.d);
    ir_ref origin = ir_detach(w->t.f, v3_dot(&w->t, v3_sub(&w->t, c->o, l->start), g->hit.d));
    ray_stretch stretch = {
        .near = &c->last,
        .far = &g->border,
        .start = l->start,
        .d = g->hit.d,
        .origin = origin,
        .length = w->media ? g->s.limit : g->si.t,
        .in = w->media ? &g->s : NULL,
    };
    g->s.motion = w->motion->between(w, &l->motion, &stretch);
    g->motion = (segment_motion){.shift = l->motion.shift, .turn = l->motion.turn, .origin = origin};
}

/* Where the shadow ray in direction d goes on behind a surface, which it meets at p. A collision has no
 * normal: there it stays at p. */
static vec3 origin_behind(walk *w, const interaction *si, vec3 p, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!w->known.on_line)
        return ray_offset(t, si->p, si->ng, d);
    ir_ref some = ir_gt(f, v3_dot(t, si->ng, si->ng), t_f32(t, 0)), by = ray_onward(t, p, si->ng, d);
    return v3_add(t, p, v3_scale(t, d, ir_select(f, some, by, t_f32(t, 0))));
}

/* To behind the surface; whether there is anything further. */
static void advance(walk *w, crossing *c, const stage *g, const shadow_line *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 met = w->known.on_line ? v3_add(t, c->o, v3_scale(t, g->hit.d, g->hit.t)) : g->si.p;
    c->o = origin_behind(w, &g->si, met, g->hit.d);
    c->last = g->border;
    c->medium = medium_behind(w, &g->si, g->hit.d, c->medium);
    c->sum.open = ir_and(f, c->sum.open, ir_or(f, g->passable, ir_not(f, c->going)));
    ir_ref ahead = ir_gt(f, v3_dot(t, v3_sub(t, l->end, c->o), g->hit.d), t_f32(t, 0));
    c->going = ir_and(f, ir_and(f, c->going, ir_and(f, g->si.valid, g->passable)), ahead);
}

/* A factor joins the product where it is not 0. */
static void multiply(walk *w, walk_shadow *sum, ir_ref going, color factor)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref lost = ir_and(f, going, ir_eq(f, factor.c[c], t_f32(t, 0)));
        ir_ref other = ir_or(f, lost, ir_not(f, going));
        sum->product.c[c] = ir_mul(f, sum->product.c[c], ir_select(f, other, t_f32(t, 1), factor.c[c]));
        sum->zeros[c] = ir_min(f, t_u32(t, 2), ir_add(f, sum->zeros[c], ir_to_u32(f, lost)));
    }
}

/* Where the shadow ray of a vertex begins; differentiated: and moves. */
static crossing begin(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted,
                      bool differentiated, shadow_line *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 d = v->light_d, end = v3_add(t, v->si.p, v3_scale(t, d, v->light.distance));
    crossing c = {
        .o = origin_behind(w, &v->si, v->si.p, d),
        .step = t_u32(t, 0),
        .going = wanted,
        .stages = t_u32(t, 0),
    };
    *l = (shadow_line){.start = v3_detach(t, c.o), .end = v3_detach(t, end)};
    if (differentiated)
        l->motion = w->motion->to_light(w, v);
    c.last = border_none(w);
    c.medium = at->medium;
    ir_ref left;
    if (w->media)
        c.medium = ir_select(f, v->flight.collides, at->medium,
                             medium_behind(w, &v->si, aim(w, &c, l, &left), at->medium));
    c.sum = (walk_shadow){
        .open = wanted,
        .product = color_all(t_f32(t, 1)),
        .stages = t_u32(t, 0),
    };
    c.sum.point = (shadow_point){t_u32(t, 0), t_f32(t, 0), t_f32(t, 0)};
    for (uint32_t k = 0; k < t->channels; k++)
        c.sum.zeros[k] = t_u32(t, 0);
    return c;
}

static void count_stage(walk *w, crossing *c, const stage *g)
{
    ir_func *f = w->t.f;
    ir_ref counts = w->media ? g->s.there : ir_bool(f, false);
    if (wants_surfaces(w) || plan_moves_segments(w->plan))
        counts = ir_or(f, counts, ir_and(f, c->going, g->si.valid));
    c->sum.stages = ir_select(f, counts, c->stages, c->sum.stages);
}

/* The point of a stretch takes the place of those before it with the probability of its share of the length.
 */
static void offer_point(walk *w, crossing *c, const stage *g, const shadow_line *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    shadow_point *p = &c->sum.point;
    ir_ref near, far;
    stretch_inside(w, &g->s, &near, &far);
    drawn_point at = stretch_draw(w, &g->s, near, far);
    ir_ref before = v3_dot(t, v3_sub(t, c->o, l->start), g->hit.d),
           length = ir_add(f, p->length, ir_select(f, g->s.there, at.length, t_f32(t, 0)));
    ir_ref chosen = ir_and(f, g->s.there, ir_lt(f, ir_mul(f, at.u, length), at.length));
    p->medium = ir_select(f, chosen, g->s.medium, p->medium);
    p->distance = ir_select(f, chosen, ir_add(f, before, at.distance), p->distance);
    p->length = length;
}

static void cross_stage(walk *w, crossing *c, const shadow_line *l, ir_ref sample, ir_ref key,
                        bool differentiated)
{
    stage g = next_stage(w, c, l, sample, key);
    stage_moves(w, c, l, &g, differentiated);
    if (is_differentiated(w))
        c->stages = ir_add(w->t.f, c->stages, t_u32(&w->t, 1));
    if (counts_stages(w))
        count_stage(w, c, &g);
    if (shadow_draws_point(w))
        offer_point(w, c, &g, l);
    if (w->media) {
        multiply(w, &c->sum, g.s.there, stretch_transmittance(w, &g.s, differentiated));
        c->step = g.s.step;
    }
    multiply(w, &c->sum, ir_and(w->t.f, c->going, g.passable), surface_through(w, &g, differentiated));
    advance(w, c, &g, l);
}

/* An estimate of the optical thickness of all that is crossed. */
static color point_thickness(walk *w, const walk_vertex *v, const walk_position *at, bool differentiated)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const shadow_point *p = &v->shadow.point;
    vec3 d = v->light_d, o = ray_offset(t, v->si.p, v->si.ng, d);
    walk_stretch s = stretch_in(w, p->medium, o, d, p->distance, at->sample, stretch_key(w, at->event, 1));
    color sigma = stretch_extinction(w, &s, stretch_point(t, &s, s.limit), differentiated);
    return color_scale(t, sigma, ir_detach(f, p->length));
}

/* What was crossed, with the derivative that the point gives. */
static walk_shadow shadow_attenuated(walk *w, const walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_shadow sum = v->shadow;
    color before = point_thickness(w, v, at, false), now = point_thickness(w, v, at, true);
    for (uint32_t c = 0; c < t->channels; c++)
        sum.product.c[c] = ir_mul(f, ir_detach(f, sum.product.c[c]),
                                  ir_sub(f, t_f32(t, 1), ir_sub(f, now.c[c], ir_detach(f, before.c[c]))));
    return sum;
}

walk_shadow shadow_cross(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted,
                         bool differentiated)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->volumetric, "light goes through surfaces in volumetric walks alone");
    BL_ASSERT(!differentiated || walk_tracks(w), "derivatives in the pass %d", (int)w->pass);
    if (differentiated && shadow_draws_point(w))
        return shadow_attenuated(w, v, at);
    ir_ref key = stretch_key(w, at->event, 1);
    shadow_line l;
    crossing c = begin(w, v, at, wanted, differentiated, &l);
    if (differentiated && w->pass == RENDER_UNROLLED) { /* reverse mode takes no such loop; where there is
                                                           nothing further, nothing changes */
        for (int k = 0; k < UNROLLED_STAGES; k++)
            cross_stage(w, &c, &l, at->sample, key, true);
        return c.sum;
    }
    loop_state state = {0}, next = {0};
    state_crossing(w, &state, &c);
    ir_ref loop = state_loop(f, &state);
    state_crossing(w, &state, &c);
    ir_while(f, c.going);
    cross_stage(w, &c, &l, at->sample, key, differentiated);
    if (w->pass == RENDER_PRIMAL ||
        w->pass == RENDER_VARIANCE) { /* in others a factor of 0 may be what a derivative is about */
        ir_ref black = ir_bool(f, true);
        for (uint32_t k = 0; k < t->channels; k++)
            black = ir_and(f, black, ir_ne(f, c.sum.zeros[k], t_u32(t, 0)));
        c.going = ir_and(f, c.going, ir_not(f, black));
    }
    state_crossing(w, &next, &c);
    state_endloop(f, loop, &state, &next);
    state_crossing(w, &state, &c);
    state_end(&state);
    return c.sum;
}

/* ---- derivative ---- */

static void adjoint_surface(walk *w, const stage *g, ir_ref going, const walk_shadow *all, color seed,
                            arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color factor = surface_through(w, g, false), differentiated = surface_through(w, g, true), seeds;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref lost = ir_eq(f, factor.c[c], t_f32(t, 0)), zeros = ir_to_u32(f, lost);
        ir_ref others = ir_div(f, all->product.c[c], ir_select(f, lost, t_f32(t, 1), factor.c[c]));
        ir_ref alone = ir_and(f, going, ir_eq(f, all->zeros[c], zeros)); /* no other factor is 0 */
        seeds.c[c] = ir_select(f, alone, ir_mul(f, seed.c[c], others), t_f32(t, 0));
    }
    color_backward_into(t, differentiated, seeds, sum);
}

enum { LINE_NUMBERS = 6 };
static uint32_t line_pack(const ray_motion *l, ir_ref out[LINE_NUMBERS])
{
    vec3_put(l->shift, out), vec3_put(l->turn, out + 3);
    return LINE_NUMBERS;
}

/* What has arrived at the shadow ray goes on to what that goes by. */
static void adjoint_line(walk *w, const shadow_line *l, const arrivals *arrived, ir_ref when, arrivals *sum)
{
    ir_func *f = w->t.f;
    if (arrived->count == 0)
        return;
    ir_ref numbers[LINE_NUMBERS], branch = ir_if(f, when);
    arrivals inside = *sum;
    line_pack(&l->motion, numbers);
    backward_into(&w->t, numbers, arrived->sum, LINE_NUMBERS, &inside);
    ir_else(f);
    ir_endif(f);
    arrivals_join(&w->t, branch, &inside, sum);
}

/* to_come: the adjoint of what media let through, times that. */
static void adjoint_point(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color to_come,
                          arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t channels = w->chromatic ? t->channels : 1;
    if (!w->chromatic) /* one extinction for all channels */
        to_come.c[0] = color_sum(t, to_come);
    ir_ref branch = ir_if(f, ir_and(f, when, ir_gt(f, v->shadow.point.length, t_f32(t, 0)))),
           seed[COLOR_MOST];
    arrivals inside = *sum;
    for (uint32_t c = 0; c < channels; c++)
        seed[c] = ir_neg(f, to_come.c[c]);
    backward_into(t, point_thickness(w, v, at, true).c, seed, channels, &inside);
    ir_else(f);
    ir_endif(f);
    arrivals_join(t, branch, &inside, sum);
}

void shadow_adjoint(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color seed,
                    arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(is_differentiated(w), "the pass %d does not know how many stages there are", (int)w->pass);
    color to_come = {0};
    for (uint32_t k = 0; k < t->channels; k++) { /* of media: their transmittance is never 0 where its
                                                    gradient is wanted */
        ir_ref clean = ir_eq(f, v->shadow.zeros[k], t_u32(t, 0));
        to_come.c[k] = ir_select(f, clean, ir_mul(f, seed.c[k], v->shadow.product.c[k]), t_f32(t, 0));
    }
    when = ir_and(f, when, v->shadow.open);
    if (shadow_draws_point(w)) {
        adjoint_point(w, v, at, when, to_come, sum);
        return;
    }
    ir_ref key = stretch_key(w, at->event, 1);
    shadow_line l;
    crossing c = begin(w, v, at, when, true, &l);
    arrivals arrived = {.count = w->motion->moves_stretches ? line_pack(&l.motion, arrived.at) : 0};
    for (uint32_t k = 0; k < arrived.count; k++)
        arrived.sum[k] = t_f32(t, 0);
    loop_state state = {0}, next = {0};
    state_crossing(w, &state, &c), state_arrivals(&state, &arrived);
    ir_ref loop = state_loop(f, &state);
    state_crossing(w, &state, &c), state_arrivals(&state, &arrived);
    ir_while(f, ir_and(f, c.going, ir_lt(f, c.stages, v->shadow.stages)));
    stage g = next_stage(w, &c, &l, at->sample, key);
    stage_moves(w, &c, &l, &g, true);
    if (w->media)
        stretch_adjoint(w, &g.s, c.going, to_come, &arrived);
    adjoint_surface(w, &g, ir_and(f, c.going, ir_and(f, g.si.valid, g.passable)), &v->shadow, seed, &arrived);
    advance(w, &c, &g, &l);
    c.stages = ir_add(f, c.stages, t_u32(t, 1));
    state_crossing(w, &next, &c), state_arrivals(&next, &arrived);
    state_endloop(f, loop, &state, &next);
    state_crossing(w, &state, &c), state_arrivals(&state, &arrived);
    state_end(&state);
    adjoint_line(w, &l, &arrived, when, sum);
}
