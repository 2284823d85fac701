/* SPDX-License-Identifier: BSD-3-Clause
 * Detached path replay backpropagation (Vicini, Speierer, Jakob 2021, section 4.1, listings 1 and 2; with
 * next-event estimation, MIS and roulette as docs/theory/detached_replay.md). Each sample is walked twice. In
 * phase 0 the light that every vertex contributes is added to L; in phase 1 it is subtracted again, which
 * leaves in L at each vertex exactly the radiance still to come, and the adjoint dL is backpropagated through
 *
 *     Le' + Ld' + L * replace_grad(1, value'/value)
 *
 * RENDER_GRADIENT is fused: both phases of a sample follow each other in one loop body. RENDER_REPLAY and
 * RENDER_ADJOINT are the phases as kernels of their own, with a sample's L between them in BUFFER_SAMPLES;
 * all that differs is that the phase is then a constant, so that the builder folds the other one away. That
 * the second walk is the first again is measured: by the decisions' hash and by the residual of L
 * (status_word STATUS_DRIFT). What costs most in a walk need not be done twice: phase 0 notes which sampled
 * lights were visible (walk_known.seen), and through what (remembered_transmittance.c).
 *
 * Zero factors (docs/theory/zero_factors.md): `whole` is beta where no factor so far was zero. M is a second
 * sum, of contributions that miss exactly one factor; at the vertex whose factor is zero the derivative with
 * respect to it is M.
 *
 * Where walk.drt, a third phase may follow, in which L, empty again, gathers the light of a DRT path
 * (differential_ratio_tracking.c).
 *
 * L and M are two-float sums, so that adding and subtracting the same terms in the same order leaves nothing
 * (docs/theory/replay_equality.md). */
#include "render/integrator/kernels/replay.h"

static bool fused(const walk *w) { return w->pass == RENDER_GRADIENT; }

/* Both phases in one kernel. */
static bool turns(const walk *w) { return fused(w) && replay_method(w) != METHOD_UNIT; }

static void state_replay(walk *w, loop_state *s, replay_state *p)
{
    ir_func *f = w->t.f;
    state_position(w, s, &p->at);
    if (turns(w))
        state_ref(s, &p->phase);
    else if (s->reads)
        p->phase = ir_bool(f, w->pass == RENDER_ADJOINT);
    if (drt_any(w))
        state_drt(w, s, &p->drt_path);
    else if (s->reads)
        p->drt_path.on = ir_bool(f, false);
    if (s->reads) /* what a DRT path finds is added */
        p->phase = ir_and(f, p->phase, ir_not(f, p->drt_path.on));
    state_throughput(s, &p->b);
    state_sums(s, &p->sums);
    state_ref(s, &p->hash), state_ref(s, &p->hash_first), state_ref(s, &p->seen);
    state_color(s, &p->sum);
    if (w->motion->chains)
        state_chain(w, s, &p->chain);
    if (replay_method(w) == METHOD_RECURSIVE)
        state_position(w, s, &p->turn.from), state_throughput(s, &p->turn.b);
}

/* ---- between the two walks ---- */

void replay_new_path(walk *w, replay_state *p, ir_ref fresh, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    sums_restart(t, &p->sums, fresh);
    throughput_restart(w, alive, &p->b);
    p->hash = ir_select(f, alive, p->hash, t_u32(t, 0));
    p->seen = ir_select(f, fresh, t_u32(t, 0), p->seen);
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, fresh));
}

static void count_drift(walk *w, const replay_state *p, ir_ref replayed)
{
    ir_func *f = w->t.f;
    ir_ref left = w->motion->chains ? p->chain.left : sums_residual(&w->t, &p->sums);
    kernel_count(w, ir_and(f, replayed, ir_or(f, ir_ne(f, p->hash, p->hash_first), left)), STATUS_DRIFT);
}

void replay_add_image(walk *w, replay_state *p, ir_ref finite)
{
    color weighed = walk_weigh(w, p->at, p->sums.L);
    for (int c = 0; c < 3; c++)
        p->sum.c[c] = ir_add(w->t.f, p->sum.c[c], ir_select(w->t.f, finite, weighed.c[c], t_f32(&w->t, 0)));
}

/* ---- DRT paths ---- */

/* The derivative that a DRT path was made for, where it has ended. */
static void drt_backward(walk *w, replay_state *p, color dL, ir_ref ended)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color light = color_mul(t, walk_weigh(w, p->at, dL), sums_L(t, &p->sums));
    ir_ref arrived = ir_and(f, ended, p->drt_path.on),
           finite = color_finite(t, color_scale(t, light, p->drt_path.sum));
    kernel_count(w, ir_and(f, arrived, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_if(f, ir_and(f, arrived, finite));
    color_backward(t, drt_value(w, &p->drt_path), light);
    ir_else(f);
    ir_endif(f);
}

/* bool: where the path has been `replayed`, there is a DRT path to go; before replay_new_path. */
static ir_ref starts_drt_path(walk *w, replay_state *p, color dL, ir_ref ended, ir_ref replayed)
{
    if (!drt_any(w))
        return ir_bool(w->t.f, false);
    drt_backward(w, p, dL, ended);
    return ir_and(w->t.f, replayed, drt_waits(w, &p->drt_path));
}

/* After replay_new_path. */
static void start_drt_path(walk *w, replay_state *p, ir_ref back, ir_ref fresh)
{
    if (!drt_any(w))
        return;
    sums_restart(&w->t, &p->sums, back);
    drt_begin(w, &p->drt_path, &p->at, &p->b, back);
    drt_forget(w, &p->drt_path, fresh);
}

/* ---- ends of paths ---- */

/* Where a path has ended: phase 0 turns into phase 1 of the same sample, phase 1 into phase 0 of the next.
 * What is not finite is not replayed. */
static void finish_fused(walk *w, replay_state *p, color dL, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), finite = color_finite(t, p->sums.L);
    ir_ref replayed = ir_and(f, ended, p->phase),
           walked = ir_and(f, ended, ir_not(f, ir_or(f, p->phase, p->drt_path.on)));
    count_drift(w, p, replayed);
    kernel_count(w, ir_and(f, walked, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref replay = ir_and(f, walked, finite), back = starts_drt_path(w, p, dL, ended, replayed);
    ir_ref fresh = ir_and(f, ended, ir_not(f, ir_or(f, replay, back)));
    replay_add_image(w, p, replay);
    sums_note_size(t, &p->sums, walked);
    p->hash_first = ir_select(f, walked, p->hash, p->hash_first);
    replay_new_path(w, p, fresh, alive);
    p->phase = ir_or(f, replay, ir_and(f, p->phase, alive));
    start_drt_path(w, p, back, fresh);
}

/* RENDER_REPLAY: a path that has ended leaves its radiance and what helps to walk it again. */
static void finish_replay(walk *w, const lane *l, replay_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), finite = color_finite(t, p->sums.L);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    replay_add_image(w, p, ir_and(f, ended, finite));
    ir_if(f, ended);
    color L = sums_L(t, &p->sums), M = sums_M(t, &p->sums);
    for (uint32_t c = 0; c < 3; c++) {
        ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_RADIANCE + c)),
                 L.c[c]);
        ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_BUT_ONE + c)),
                 M.c[c]);
    }
    ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_SEEN)), p->seen);
    ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_HASH)), p->hash);
    ir_else(f);
    ir_endif(f);
    replay_new_path(w, p, ended, alive);
}

/* RENDER_ADJOINT: a path that begins takes up what its replay left. What was not finite sees nothing and ends
 * at once. */
static void begin_adjoint(walk *w, const lane *l, replay_state *p, ir_ref fresh)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref left[6], seen, hash, branch = ir_if(f, fresh);
    for (uint32_t k = 0; k < 6; k++)
        left[k] = ir_load(f, IR_F32, BUFFER_SAMPLES,
                          kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_RADIANCE + k)));
    seen = ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_SEEN)));
    hash = ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, SAMPLE_HASH)));
    ir_else(f);
    ir_endif(f);
    for (int c = 0; c < 3; c++) {
        p->sums.L.c[c] = ir_phi(f, branch, left[c], p->sums.L.c[c]);
        p->sums.M.c[c] = ir_phi(f, branch, left[3 + c], p->sums.M.c[c]);
        p->sums.size.c[c] = ir_phi(f, branch, left[c], p->sums.size.c[c]);
    }
    p->seen = ir_phi(f, branch, seen, p->seen), p->hash_first = ir_phi(f, branch, hash, p->hash_first);
    ir_ref finite = color_finite(t, p->sums.size);
    p->at.tmax = ir_select(f, finite, p->at.tmax, t_f32(t, -1));
    for (int c = 0; c < 3; c++) {
        p->sums.L.c[c] = ir_select(f, finite, p->sums.L.c[c], t_f32(t, 0));
        p->sums.M.c[c] = ir_select(f, finite, p->sums.M.c[c], t_f32(t, 0));
    }
}

static void finish_adjoint(walk *w, replay_state *p, color dL, ir_ref alive)
{
    ir_func *f = w->t.f;
    ir_ref ended = ir_not(f, alive), replayed = ir_and(f, ended, p->phase);
    count_drift(w, p, ir_and(f, replayed, color_finite(&w->t, p->sums.size)));
    ir_ref back = starts_drt_path(w, p, dL, ended, replayed), fresh = ir_and(f, ended, ir_not(f, back));
    replay_new_path(w, p, fresh, alive);
    start_drt_path(w, p, back, fresh);
}

/* ---- the kernels ---- */

static replay_state start(walk *w, const lane *l)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), none = t_u32(t, 0);
    return (replay_state){
        .at = walk_before(w, l->first),
        .phase = ir_bool(t->f, false),
        .b = throughput_start(w),
        .sums = sums_start(t),
        .hash = none,
        .hash_first = none,
        .seen = none,
        .sum = color_all(zero),
        .chain = chain_none(w),
        .turn = {walk_before(w, l->first), throughput_start(w)},
        .drt_path = drt_none(w),
    };
}

color replay_sample_adjoint(walk *w, const lane *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref at = ir_select(f, l->inside, l->adjoint, t_u32(t, 0));
    bool weighted = render_lists_lanes(w->plan, w->pass);
    ir_ref weight =
        weighted ? t_f32(t, 1) : ir_div(f, t_f32(t, 1), ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_SPP)));
    COLOR_EACH(r, ir_mul(f, ir_load(f, IR_F32, BUFFER_ADJOINT, t_offset(t, at, c)), weight));
    return r;
}

void replay_note(walk *w, replay_state *p, const walk_vertex *v, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    p->hash = replay_hash(t, p->hash, v->decisions, alive);
    ir_ref number = walk_number(w, &p->at);
    ir_ref has_bit = ir_and(f, v->light_visible, ir_lt(f, number, t_u32(t, SEEN_MOST)));
    p->seen = ir_or(f, p->seen, ir_shl(f, ir_to_u32(f, has_bit), number));
}

/* What the medium emits before the vertex: it joins L, and has its adjoint, before the flight has weighed
 * anything. */
static void emission(walk *w, replay_state *p, const walk_vertex *v, color dL, arrivals *arrived)
{
    tracer *t = &w->t;
    color emitted = emission_radiance(w, &v->flight, false);
    account(w, p, emitted, p->phase);
    if (w->pass != RENDER_REPLAY)
        emission_adjoint(w, &v->flight, p->phase, emitted, color_mul(t, throughput_whole(w, &p->b), dL),
                         arrived);
}

walk replay_walk(const walk *w, const replay_state *p)
{
    walk own = *w;
    own.known.again = p->phase, own.known.seen = p->seen;
    return own;
}

ir_ref replay_vertex(const walk *kernel, replay_state *p, color dL)
{
    walk own = replay_walk(kernel, p), *w = &own;
    if (drt_any(w))
        drt_enter(w, &p->drt_path);
    dL = walk_weigh(w, p->at, dL);
    transmittance_recall(w, p->lane, &p->at, p->phase);
    walk_vertex v = walk_visit(w, p->at);
    arrivals arrived = arrivals_start(w, p, &v);
    transmittance_remember(w, p->lane, &p->at, &v.shadow);
    if (w->media && emission_any(w))
        emission(w, p, &v, dL, &arrived);
    if (w->media && w->pass != RENDER_REPLAY)
        adjoint_flight(w, p, &v, dL, &arrived);
    if (drt_any(w))
        drt_offer(w, &p->drt_path, &v, &p->at, &p->b, p->phase);
    throughput_fly(w, &v, &p->b);
    contribution k = contribute(w, &v, &p->at);
    account(w, p, color_add(&w->t, k.hit, k.light), p->phase);
    if (w->pass != RENDER_REPLAY)
        adjoint(w, p, &(vertex_adjoint){&v, &k, dL, p->phase}, &arrived);
    passage onward = throughput_pass(w, p->at.depth, &v, k.for_sample, &p->b);
    replay_note(w, p, &v, onward.alive);
    p->at = walk_next(w, p->at, &v, onward.alive);
    if (drt_any(w))
        drt_passed(w, &p->drt_path);
    return onward.alive;
}

bl_result kernel_gradient(walk *w, ir_module *m)
{
    ir_func *f = w->t.f;
    bool image = w->pass != RENDER_ADJOINT, gradient = w->pass != RENDER_REPLAY;
    enum gradient_method method = replay_method(w);
    w->notes = method != METHOD_UNIT;
    lane l = kernel_lane(w, m);
    color dL = gradient ? replay_sample_adjoint(w, &l) : color_all(t_f32(&w->t, 0));
    replay_state p = start(w, &l);
    chain_rows rows = w->motion->chains ? chain_make_rows(w) : (chain_rows){0};
    if (image)
        p.sum = kernel_load_sum(w, l.film, l.inside);
    p.lane = &l, p.rows = &rows;
    loop_state state = {0}, next = {0};
    state_replay(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_replay(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    ir_ref fresh = w->motion->chains ? chain_fresh(w, &p) : walk_begins(w, &p.at);
    p.at = walk_start(w, fresh, p.at);
    if (w->motion->chains)
        chain_begin(w, &p, fresh);
    if (w->pass == RENDER_ADJOINT)
        begin_adjoint(w, &l, &p, fresh);
    if (method != METHOD_REPLAY)
        radiative_begin(w, &p, fresh);
    ir_ref alive = w->motion->chains         ? chain_vertex(w, &p, dL)
                   : method != METHOD_REPLAY ? radiative_vertex(w, &p, dL)
                                             : replay_vertex(w, &p, dL);
    if (method != METHOD_REPLAY)
        radiative_finish(w, &p, alive);
    else if (w->pass == RENDER_GRADIENT)
        finish_fused(w, &p, dL, alive);
    else if (w->pass == RENDER_REPLAY)
        finish_replay(w, &l, &p, alive);
    else
        finish_adjoint(w, &p, dL, alive);
    state_replay(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    if (gradient)
        ir_flush(f, BUFFER_GRADIENT, l.inside);
    state_replay(w, &state, &p);
    state_end(&state);
    if (image)
        kernel_store_sum(w, l.film, l.inside, p.sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}
