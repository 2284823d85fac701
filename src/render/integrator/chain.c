/* SPDX-License-Identifier: BSD-3-Clause
 * The order in which vertices are backpropagated where rays follow parameters (follow.c). The adjoint of a
 * vertex needs that of the ray that goes on from it, so along a chain, vertices linked by rays that move, the
 * last comes first. A chain is at least one vertex long; where all links are FIXED, phase 1 is what it is
 * elsewhere. In phase 1 a lane
 *
 *   FORTH  walks the chain, taking its light from L, up to its last vertex, and backpropagates that one;
 *   BACK   then walks from the chain's first vertex again to the one before, backpropagates it, and so on up
 *          to the first. Each one's light is given back to L, which so is what comes after the vertex whose
 *          turn it is;
 *   PASS   walks the chain once more, taking its light, if the path goes on behind it.
 *
 * So a chain of n vertices costs about n^2 / 2 visits in phase 1, in constant memory and without dividing by
 * a Jacobian: PRB section 4.2 solves for the adjoint of the next ray instead, linear in n, which needs four
 * tangents of everything in phase 0 and an inverse that rough lobes do not have. */
#include "render/integrator/replay.h"

enum chain_mode { CHAIN_FORTH, CHAIN_BACK, CHAIN_PASS };

/* ---- state ---- */

void chain_put(const walk *w, loop_state *s, const replay_chain *c)
{
    state_put_position(w, s, &c->from);
    state_put_throughput(s, &c->b);
    state_put(s, c->mode), state_put(s, c->target), state_put(s, c->last), state_put(s, c->ended),
        state_put(s, c->left);
    for (uint32_t k = 0; k < follow_width(w); k++)
        state_put(s, c->ray[k]);
}

replay_chain chain_get(walk *w, loop_state *s)
{
    replay_chain c = {.from = state_get_position(w, s)};
    c.b = state_get_throughput(s);
    c.mode = state_get(s), c.target = state_get(s), c.last = state_get(s), c.ended = state_get(s),
    c.left = state_get(s);
    for (uint32_t k = 0; k < follow_width(w); k++)
        c.ray[k] = state_get(s);
    return c;
}

replay_chain chain_none(walk *w)
{
    tracer *t = &w->t;
    ir_ref none = t_u32(t, 0), no = ir_bool(t->f, false), zero = t_f32(t, 0);
    return (replay_chain){.from = walk_before(w, none),
                          .b = throughput_start(w),
                          .mode = t_u32(t, CHAIN_FORTH),
                          .target = none,
                          .last = none,
                          .ended = no,
                          .left = no,
                          .ray = {zero, zero, zero, zero, zero, zero, zero}};
}

static ir_ref is(walk *w, const replay_state *p, enum chain_mode mode)
{
    return ir_eq(w->t.f, p->chain.mode, t_u32(&w->t, mode));
}

/* The chain begins where the path stands. */
static void begin_here(walk *w, replay_state *p, ir_ref when)
{
    replay_chain *c = &p->chain;
    c->from = position_select(w, when, p->at, c->from);
    c->b = throughput_select(w, when, &p->b, &c->b);
}

ir_ref chain_fresh(walk *w, const replay_state *p)
{
    return ir_and(w->t.f, walk_begins(w, &p->at), is(w, p, CHAIN_FORTH));
}

void chain_begin(walk *w, replay_state *p, ir_ref fresh) { begin_here(w, p, fresh); }

/* ---- one vertex ---- */

/* What is to be done at it, in either phase. All bool. */
typedef struct turn {
    ir_ref forth, back, last; /* back: at the vertex whose turn it is; last: of the chain, going forth */
    ir_ref adjoint, first;    /* first: of the chain */
} turn;

static turn turn_of(walk *w, const replay_state *p, const walk_vertex *v)
{
    ir_func *f = w->t.f;
    turn now = {.forth = is(w, p, CHAIN_FORTH),
                .back = ir_and(f, is(w, p, CHAIN_BACK), ir_eq(f, p->at.depth, p->chain.target))};
    now.last = ir_and(f, ir_and(f, now.forth, p->phase), follow_link(w, v->onward, LINK_FIXED));
    now.adjoint = ir_or(f, now.last, now.back);
    now.first = ir_eq(f, p->at.depth, p->chain.from.depth);
    return now;
}

/* Behind the vertex: who is next. Returns whether the path goes on. */
static ir_ref schedule(walk *w, replay_state *p, const turn *now, ir_ref alive, ir_ref depth)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    replay_chain *c = &p->chain;
    ir_ref forth = t_u32(t, CHAIN_FORTH), first = now->first;
    c->last = ir_select(f, now->last, depth, c->last);
    c->ended = ir_select(f, now->last, ir_not(f, alive), c->ended);
    ir_ref swept = ir_and(f, now->adjoint, first), goes_back = ir_and(f, now->adjoint, ir_not(f, first));
    ir_ref passes = ir_and(f, ir_and(f, swept, now->back), ir_not(f, c->ended)),
           passed = ir_and(f, is(w, p, CHAIN_PASS), ir_eq(f, depth, c->last));
    ir_ref over = ir_or(f, ir_and(f, ir_not(f, p->phase), ir_not(f, alive)), ir_and(f, swept, c->ended));
    begin_here(w, p, ir_or(f, passed, ir_and(f, swept, now->last)));
    c->mode =
        ir_select(f, goes_back, t_u32(t, CHAIN_BACK), ir_select(f, passes, t_u32(t, CHAIN_PASS), c->mode));
    c->mode = ir_select(f, ir_or(f, passed, over), forth, c->mode);
    c->target = ir_select(f, goes_back, ir_sub(f, depth, t_u32(t, 1)), c->target);
    ir_ref again = ir_or(f, goes_back, passes);
    p->at = position_select(w, again, c->from, p->at);
    p->b = throughput_select(w, again, &c->b, &p->b);
    return ir_not(f, over);
}

ir_ref chain_vertex(walk *w, replay_state *p, color dL)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    w->again = p->phase, w->seen = p->seen;
    ir_ref depth = p->at.depth, hash = p->hash, seen = p->seen;
    walk_vertex v = walk_visit(w, p->at);
    contribution k = contribute(w, &v, &p->at);
    throughput after = p->b;
    passage onward = throughput_pass(w, depth, &v, k.for_sample, &after);
    v.onward = ir_select(f, onward.alive, v.onward, t_u32(t, LINK_FIXED));
    turn now = turn_of(w, p, &v);
    color light = color_add(t, k.hit, k.light), none = color_all(t_f32(t, 0));
    account(w, p, color_select(t, ir_or(f, now.forth, is(w, p, CHAIN_PASS)), light, none), p->phase);
    adjoint(w, p, &v, &k, walk_weigh(w, p->at, dL), now.adjoint);
    p->chain.left = ir_select(f, now.last, sums_residual(t, &p->sums), p->chain.left);
    ir_ref gives = ir_or(f, now.back, ir_and(f, now.last, ir_not(f, now.first)));
    account(w, p, color_select(t, gives, light, none), ir_bool(f, false));
    p->b = after;
    replay_note(w, p, &v, onward.alive);
    p->hash = ir_select(f, now.forth, p->hash, hash), p->seen = ir_select(f, now.forth, p->seen, seen);
    p->at = walk_next(w, p->at, &v, onward.alive);
    return schedule(w, p, &now, onward.alive, depth);
}
