/* SPDX-License-Identifier: BSD-3-Clause
 * What reaches a vertex of the light it has sampled where surfaces may let light straight through and media lie in between: the product over
 * stretches of their transmittance and of what the surfaces between them let through. Media are crossed by ratio tracking with a random
 * stream of its own, so the whole can be walked again.
 *
 * Its derivative is path replay within path replay (PRB section 4.4): with the product known, a second walk divides out one factor after
 * another. A factor that is 0 is left out of the product and counted instead. */
#include "render/integrator/flight.h"

enum { UNROLLED_STAGES = 4 };

typedef struct crossing {
    vec3 o;
    ir_ref left;   /* distance to the light */
    ir_ref medium, step;
    ir_ref going;
    ir_ref stages; /* u32: so far, where counts_stages */
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

bool shadow_is_wanted(const walk *w) { return (w->media && media_want_extinction(w)) || wants_surfaces(w); }

/* Passes that may want shadow_adjoint, and so know how many stages it needs. */
static bool counts_stages(const walk *w)
{
    bool gradient = w->pass == RENDER_GRADIENT || w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT;
    return gradient && shadow_is_wanted(w);
}

static void put(const walk *w, loop_state *s, const crossing *c)
{
    state_put_vec3(s, c->o);
    state_put(s, c->left), state_put(s, c->medium), state_put(s, c->step), state_put(s, c->going);
    state_put(s, c->sum.open);
    state_put_color(s, c->sum.product);
    for (int k = 0; k < 3; k++)
        state_put(s, c->sum.zeros[k]);
    if (counts_stages(w))
        state_put(s, c->stages), state_put(s, c->sum.stages);
}

static crossing get(walk *w, loop_state *s)
{
    crossing c = {0};
    c.o = state_get_vec3(s);
    c.left = state_get(s), c.medium = state_get(s), c.step = state_get(s), c.going = state_get(s);
    c.sum.open = state_get(s);
    c.sum.product = state_get_color(s);
    for (int k = 0; k < 3; k++)
        c.sum.zeros[k] = state_get(s);
    c.stages = c.sum.stages = t_u32(&w->t, 0);
    if (counts_stages(w))
        c.stages = state_get(s), c.sum.stages = state_get(s);
    return c;
}

/* One stretch and the surface at its end. */
typedef struct stage {
    interaction si;
    walk_stretch s;
    frame frame;
    vec3 wi;
    ir_ref passable; /* bool: there is no surface, or one of a class that lets light through */
} stage;

static color surface_through(walk *w, const stage *g, bool tracked)
{
    tracer *t = &w->t;
    const interaction *si = &g->si;
    ir_ref in[6 + SURFACE_ARGS] = {t_word(t, si->shape, SHAPE_BSDF_RECORD), g->wi.x, g->wi.y, g->wi.z, si->uv.x, si->uv.y};
    uint32_t count = 6 + surface_args(t, si, g->frame, in + 6);
    color c = color_all(t_f32(t, 1));
    for (uint32_t k = 0; tracked && k < count; k++)
        in[k] = ir_detach(t->f, in[k]);
    if (w->plan->bsdfs.count == 0)
        return c;
    ir_call(t->f, t_word(t, si->shape, SHAPE_BSDF_CLASS), tracked ? w->fn.bsdf_through_tracked : w->fn.bsdf_through, w->plan->bsdfs.count, in, count, c.c);
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

static stage next_stage(walk *w, const crossing *c, vec3 d, ir_ref sample, ir_ref key)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    stage g = {.si = walk_intersect(w, (walk_position){.o = c->o, .d = d, .tmax = ir_select(f, c->going, c->left, t_f32(t, -1))}, NULL)};
    ir_ref limit = ir_select(f, g.si.valid, g.si.t, c->left);
    g.frame = surface_frame(t, &g.si);
    g.wi = frame_to_local(t, g.frame, v3_neg(t, d));
    g.passable = ir_or(f, ir_not(f, g.si.valid), lets_through(w, t_word(t, g.si.shape, SHAPE_BSDF_CLASS)));
    if (w->media) {
        g.s = stretch_in(w, c->medium, c->o, d, limit, sample, key);
        g.s.there = ir_and(f, g.s.there, ir_and(f, c->going, g.passable));
        g.s.step = c->step;
    }
    return g;
}

/* To behind the surface; whether there is anything further. */
static void advance(walk *w, crossing *c, const stage *g, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 o = ray_offset(t, g->si.p, g->si.ng, d);
    c->left = ir_sub(f, c->left, v3_dot(t, v3_sub(t, o, c->o), d));
    c->o = o;
    c->medium = medium_behind(w, &g->si, d, c->medium);
    c->sum.open = ir_and(f, c->sum.open, ir_or(f, g->passable, ir_not(f, c->going)));
    c->going = ir_and(f, ir_and(f, c->going, ir_and(f, g->si.valid, g->passable)), ir_gt(f, c->left, t_f32(t, 0)));
}

/* A factor joins the product where it is not 0. */
static void multiply(walk *w, walk_shadow *sum, ir_ref going, color factor)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    for (int c = 0; c < 3; c++) {
        ir_ref lost = ir_and(f, going, ir_eq(f, factor.c[c], t_f32(t, 0)));
        ir_ref other = ir_or(f, lost, ir_not(f, going));
        sum->product.c[c] = ir_mul(f, sum->product.c[c], ir_select(f, other, t_f32(t, 1), factor.c[c]));
        sum->zeros[c] = ir_min(f, t_u32(t, 2), ir_add(f, sum->zeros[c], ir_to_u32(f, lost)));
    }
}

/* Where the shadow ray of a vertex begins, and its unit direction. */
static crossing begin(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted, vec3 *d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    crossing c = {.o = ray_offset(t, v->si.p, v->si.ng, *d), .step = t_u32(t, 0), .going = wanted, .stages = t_u32(t, 0)};
    vec3 to = v3_sub(t, v3_add(t, v->si.p, v3_scale(t, *d, v->light.distance)), c.o);
    ir_ref length = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    *d = v3_scale(t, to, ir_div(f, t_f32(t, 1), length));
    c.left = walk_far(w, length);
    c.medium = at->medium;
    if (w->media)
        c.medium = ir_select(f, v->flight.collides, at->medium, medium_behind(w, &v->si, *d, at->medium));
    c.sum = (walk_shadow){.open = wanted, .product = color_all(t_f32(t, 1)), .zeros = {t_u32(t, 0), t_u32(t, 0), t_u32(t, 0)}, .stages = t_u32(t, 0)};
    return c;
}

static void count_stage(walk *w, crossing *c, const stage *g)
{
    ir_func *f = w->t.f;
    ir_ref counts = w->media ? g->s.there : ir_bool(f, false);
    if (wants_surfaces(w))
        counts = ir_or(f, counts, ir_and(f, c->going, g->si.valid));
    c->stages = ir_add(f, c->stages, t_u32(&w->t, 1));
    c->sum.stages = ir_select(f, counts, c->stages, c->sum.stages);
}

static void cross_stage(walk *w, crossing *c, vec3 d, ir_ref sample, ir_ref key, bool tracked)
{
    stage g = next_stage(w, c, d, sample, key);
    if (counts_stages(w))
        count_stage(w, c, &g);
    if (w->media) {
        multiply(w, &c->sum, g.s.there, stretch_transmittance(w, &g.s, tracked));
        c->step = g.s.step;
    }
    multiply(w, &c->sum, ir_and(w->t.f, c->going, g.passable), surface_through(w, &g, tracked));
    advance(w, c, &g, d);
}

walk_shadow shadow_cross(walk *w, const walk_vertex *v, const walk_position *at, vec3 d, ir_ref wanted, bool tracked)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref key = stretch_key(w, at->event, 1);
    crossing c = begin(w, v, at, wanted, &d);
    if (tracked && w->pass == RENDER_UNROLLED) { /* reverse mode takes no such loop; where there is nothing further, nothing changes */
        for (int k = 0; k < UNROLLED_STAGES; k++)
            cross_stage(w, &c, d, at->sample, key, true);
        return c.sum;
    }
    loop_state state = {0}, next = {0};
    put(w, &state, &c);
    ir_ref loop = ir_loop(f, state.r, state.count);
    c = get(w, &state);
    ir_while(f, c.going);
    cross_stage(w, &c, d, at->sample, key, tracked);
    if (w->pass == RENDER_PRIMAL || w->pass == RENDER_VARIANCE) { /* in others a factor of 0 may be what a derivative is about */
        ir_ref black = ir_bool(f, true);
        for (int k = 0; k < 3; k++)
            black = ir_and(f, black, ir_ne(f, c.sum.zeros[k], t_u32(t, 0)));
        c.going = ir_and(f, c.going, ir_not(f, black));
    }
    put(w, &next, &c);
    ir_endloop(f, loop, next.r, next.count);
    state.cursor = 0;
    return get(w, &state).sum;
}

/* ---- derivative ---- */

static void adjoint_surface(walk *w, const stage *g, ir_ref going, const walk_shadow *all, color seed)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color factor = surface_through(w, g, false), tracked = surface_through(w, g, true), seeds;
    for (int c = 0; c < 3; c++) {
        ir_ref lost = ir_eq(f, factor.c[c], t_f32(t, 0)), zeros = ir_to_u32(f, lost);
        ir_ref others = ir_div(f, all->product.c[c], ir_select(f, lost, t_f32(t, 1), factor.c[c]));
        ir_ref alone = ir_and(f, going, ir_eq(f, all->zeros[c], zeros)); /* no other factor is 0 */
        seeds.c[c] = ir_select(f, alone, ir_mul(f, seed.c[c], others), t_f32(t, 0));
    }
    color_backward(t, tracked, seeds);
}

void shadow_adjoint(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color seed)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 d = v->light_d;
    ir_ref key = stretch_key(w, at->event, 1);
    crossing c = begin(w, v, at, ir_and(f, when, v->shadow.open), &d);
    color to_come;
    for (int k = 0; k < 3; k++) { /* of media: their transmittance is never 0 where its gradient is wanted */
        ir_ref clean = ir_eq(f, v->shadow.zeros[k], t_u32(t, 0));
        to_come.c[k] = ir_select(f, clean, ir_mul(f, seed.c[k], v->shadow.product.c[k]), t_f32(t, 0));
    }
    loop_state state = {0}, next = {0};
    put(w, &state, &c);
    ir_ref loop = ir_loop(f, state.r, state.count);
    c = get(w, &state);
    ir_while(f, ir_and(f, c.going, ir_lt(f, c.stages, v->shadow.stages)));
    stage g = next_stage(w, &c, d, at->sample, key);
    if (w->media) {
        stretch_adjoint(w, &g.s, c.going, to_come);
        c.step = g.s.step;
    }
    adjoint_surface(w, &g, ir_and(f, c.going, ir_and(f, g.si.valid, g.passable)), &v->shadow, seed);
    advance(w, &c, &g, d);
    c.stages = ir_add(f, c.stages, t_u32(t, 1));
    put(w, &next, &c);
    ir_endloop(f, loop, next.r, next.count);
}
