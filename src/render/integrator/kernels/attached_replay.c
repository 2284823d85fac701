/* SPDX-License-Identifier: BSD-3-Clause
 * The order in which vertices are backpropagated where one needs something from the vertex after it: where
 * rays move with parameters, the adjoint of the ray that goes on (motion/attached_path.c;
 * docs/theory/attached_replay.md); where light is polarised, the Stokes vector that comes back
 * (path/polarized_adjoint.c; docs/theory/polarized_replay.md). So along a chain the last vertex is
 * backpropagated first. A chain is vertices linked by rays that move, or a segment up to a vertex that
 * depolarises. It has at least one vertex; if each chain has one, phase 1 is that of replay_vertex.c. The
 * flight that leads to a vertex is differentiated with it. In phase 1 a lane
 *
 *   FORTH  walks the chain to its last vertex, subtracting each vertex's light from L, and backpropagates the
 *          last vertex;
 *   BACK   then visits the vertex before it again and backpropagates that, and so on to the first. The light
 *          of each vertex is added to L again, so that L is what comes after the vertex that is next.
 *
 * Some positions on the chain are kept (walk/checkpoints.h), and BACK walks to the vertex from the nearest
 * one before it. Where the path goes on after the chain, position and L are kept, too. A chain of
 * n <= CHECKPOINTS + 1 vertices costs 2 n - 1 visits in phase 1, and one of 64 vertices 3.3 n. Memory is
 * constant, and nothing is divided by a Jacobian. attached_inversion.c has the other order, which is linear
 * in n.
 *
 * Where walk.walks_again (short paths on GPUs), nothing is kept: positions that are kept in the order of a
 * chain are an array, which a GPU has in memory (docs/decisions/registers.md). To every vertex the lane
 * walks from the chain's first one, and where the path goes on it
 *
 *   ON     walks forth once more, from the first vertex to what comes after the last.
 *
 * A chain of n vertices then costs n (n + 1) / 2 visits, and n - 1 more where the path goes on.
 *
 * Invariant: positions, throughput and sums that are kept and recalled are those of the walk itself, so a
 * vertex that is visited again is the same vertex, from the same random numbers. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/kernels/replay.h"
#include "render/integrator/motion/attached_vertex.h"
#include "render/integrator/motion/local_volume.h"

enum chain_mode { CHAIN_FORTH, CHAIN_BACK, CHAIN_ON };

/* Rows of make_rows: those of the checkpoints, one for what comes after the chain. */
enum { BEHIND = CHECKPOINTS, ROWS };

/* ---- state ---- */

static void state_chain(walk *w, loop_state *s, replay_state *p)
{
    replay_chain *c = &p->chain;
    state_position(w, s, &c->from);
    state_throughput(w, s, &c->b);
    state_ref(s, &c->mode), state_ref(s, &c->target), state_ref(s, &c->ended), state_ref(s, &c->left);
    if (!w->walks_again)
        state_checkpoints(s, &c->kept);
    if (w->motion->chains)
        state_refs(s, c->ray, ray_width(w));
    for (int k = 0; k < 4 && w->polarized; k++)
        state_color(s, &w->t, &c->light[k]);
}

static replay_chain chain_none(walk *w)
{
    tracer *t = &w->t;
    ir_ref none = t_u32(t, 0), no = ir_bool(t->f, false), zero = t_f32(t, 0);
    color dark = color_all(zero);
    replay_chain c = {
        .from = walk_before(w, none),
        .b = throughput_start(w),
        .mode = t_u32(t, CHAIN_FORTH),
        .target = none,
        .ended = no,
        .left = no,
        .light = {dark, dark, dark, dark},
        .kept = checkpoints_none(t),
    };
    for (uint32_t k = 0; k < RAY_MOST; k++)
        c.ray[k] = zero;
    return c;
}

/* bool: the lane is in this mode */
static ir_ref is(walk *w, const replay_state *p, enum chain_mode mode)
{
    return ir_eq(w->t.f, p->chain.mode, t_u32(&w->t, mode));
}

/* Where `when`: a chain begins at the path's position. */
static void begin_here(walk *w, replay_state *p, ir_ref when)
{
    replay_chain *c = &p->chain;
    c->from = position_select(w, when, p->at, c->from);
    c->b = throughput_select(w, when, &p->b, &c->b);
    if (!w->walks_again)
        checkpoints_clear(&w->t, &c->kept, when);
}

static ir_ref chain_begins(walk *w, const replay_state *p)
{
    return ir_and(w->t.f, walk_begins(w, &p->at), is(w, p, CHAIN_FORTH));
}

/* ---- positions along the chain ---- */

/* What a row has: visited like loop state. */
static void state_row(walk *w, loop_state *row, walk_position *at, throughput *b, replay_sums *sums)
{
    state_position(w, row, at), state_throughput(w, row, b), state_sums(row, &w->t, sums);
}

static kept_rows make_rows(walk *w)
{
    if (w->walks_again)
        return (kept_rows){0};
    walk_position at = walk_before(w, t_u32(&w->t, 0));
    throughput b = throughput_start(w);
    replay_sums sums = sums_start(&w->t);
    loop_state row = {0};
    state_row(w, &row, &at, &b, &sums);
    return rows_make(w->t.f, &row, ROWS, w->packs_rows);
}

static void start_chain(walk *w, replay_state *p, kept_rows *rows)
{
    p->chain = chain_none(w);
    *rows = make_rows(w);
}

/* Where `when`: position and throughput become those of row `number`; of the row BEHIND the sums, too. */
static void go_to(walk *w, replay_state *p, ir_ref when, ir_ref number)
{
    tracer *t = &w->t;
    replay_sums sums = p->sums;
    loop_state row = {0};
    if (w->walks_again)
        return;
    state_row(w, &row, &p->at, &p->b, &sums);
    rows_recall(t, p->rows, when, number, &row);
    state_row(w, &row, &p->at, &p->b, &sums);
    state_end(&row);
    ir_ref behind = ir_and(t->f, when, ir_eq(t->f, number, t_u32(t, BEHIND)));
    sums_set(t, &p->sums, behind, &sums);
}

/* Before vertex `number` in phase 1: keeps its place where that is asked for. */
static void keep_place(walk *w, replay_state *p, ir_ref number)
{
    ir_func *f = w->t.f;
    ir_ref first = walk_order(w, &p->chain.from), row;
    ir_ref keeps = checkpoints_keep(&w->t, &p->chain.kept, p->phase, ir_sub(f, number, first),
                                    is(w, p, CHAIN_BACK), ir_sub(f, p->chain.target, first), &row);
    loop_state here = {0};
    state_row(w, &here, &p->at, &p->b, &p->sums);
    rows_keep(&w->t, p->rows, keeps, row, &here);
}

/* ---- one vertex ---- */

/* What this visit does. All bool. */
typedef struct chain_step {
    ir_ref forth;   /* walks forth, or on: the vertex's light joins or leaves L */
    ir_ref back;    /* has come back to the vertex that is next: its light joins L again */
    ir_ref last;    /* walks forth in phase 1 and is at the chain's last vertex */
    ir_ref adjoint; /* backpropagates: last or back */
    ir_ref first;   /* is at the chain's first vertex */
    ir_ref arrives; /* walks on and is at the chain's last vertex */
} chain_step;

/* bool: a chain ends with the vertex. */
static ir_ref chain_ends(walk *w, const walk_vertex *v, const contribution *k, const passage *onward)
{
    ir_func *f = w->t.f;
    return w->polarized ? ir_or(f, k->polarized.of.sample.depolarizes, ir_not(f, onward->alive))
                        : link_is(w, v->attached.onward, LINK_FIXED);
}

static chain_step step_of(walk *w, const replay_state *p, ir_ref ends)
{
    ir_func *f = w->t.f;
    ir_ref forth = is(w, p, CHAIN_FORTH), on = w->walks_again ? is(w, p, CHAIN_ON) : ir_bool(f, false);
    chain_step step = {
        .forth = ir_or(f, forth, on),
        .arrives = ir_and(f, on, ends),
        .back = ir_and(f, is(w, p, CHAIN_BACK), ir_eq(f, walk_order(w, &p->at), p->chain.target)),
    };
    step.last = ir_and(f, ir_and(f, forth, p->phase), ends);
    step.adjoint = ir_or(f, step.last, step.back);
    step.first = ir_eq(f, walk_order(w, &p->at), walk_order(w, &p->chain.from));
    return step;
}

/* After the vertex, whose number is given: sets position and mode for the next visit. Returns whether the
 * sample goes on. */
static ir_ref schedule(walk *w, replay_state *p, const chain_step *step, ir_ref alive, ir_ref number)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    replay_chain *c = &p->chain;
    ir_ref forth = t_u32(t, CHAIN_FORTH), first = step->first;
    c->ended = ir_select(f, step->last, ir_not(f, alive), c->ended);
    /* done: the chain's first vertex has been backpropagated, so the whole chain has */
    ir_ref done = ir_and(f, step->adjoint, first), turns_back = ir_and(f, step->adjoint, ir_not(f, first));
    ir_ref goes_on = ir_and(f, ir_and(f, done, step->back), ir_not(f, c->ended));
    ir_ref over = ir_or(f, ir_and(f, ir_not(f, p->phase), ir_not(f, alive)), ir_and(f, done, c->ended));
    ir_ref new_chain = ir_or(f, w->walks_again ? step->arrives : goes_on, over);
    c->mode = ir_select(f, turns_back, t_u32(t, CHAIN_BACK), ir_select(f, new_chain, forth, c->mode));
    if (w->walks_again)
        c->mode = ir_select(f, goes_on, t_u32(t, CHAIN_ON), c->mode);
    c->target = ir_select(f, turns_back, ir_sub(f, number, t_u32(t, 1)), c->target);
    ir_ref kept = w->walks_again ? t_u32(t, CHECKPOINTS)
                                 : checkpoints_turn(t, &c->kept, turns_back,
                                                    ir_sub(f, c->target, walk_order(w, &c->from)));
    ir_ref to_first = ir_and(f, turns_back, ir_eq(f, kept, t_u32(t, CHECKPOINTS)));
    go_to(w, p, ir_or(f, goes_on, ir_and(f, turns_back, ir_not(f, to_first))),
          ir_select(f, goes_on, t_u32(t, BEHIND), kept));
    p->at = position_select(w, to_first, c->from, p->at);
    p->b = throughput_select(w, to_first, &c->b, &p->b);
    begin_here(w, p, ir_or(f, w->walks_again ? step->arrives : goes_on, ir_and(f, done, step->last)));
    return ir_not(f, over);
}

/* The way to a vertex, which leaves light and adds to it, and what the vertex itself contributes. */
typedef struct chain_way {
    throughput before;     /* at its beginning */
    color emitted;         /* by a medium; else black */
    field_segment segment; /* where field_any */
    field_passage passed;
    eikonal_passage bent; /* where walk.bends_lit */
    color light;          /* of the vertex */
} chain_way;

/* Backpropagates the field, when L holds what the path finds behind the vertex. */
static void adjoint_field(walk *w, const replay_state *p, const chain_way *k, color dL, ir_ref when,
                          arrivals *arrived)
{
    tracer *t = &w->t;
    color seed = color_mul(t, throughput_whole(w, &k->before), dL), here = throughput_whole(w, &p->b);
    field_seeds seeds = {.emitted = seed};
    color own =
        color_add(t, color_mul(t, seed, k->passed.emitted), color_mul(t, color_mul(t, here, dL), k->light));
    seeds.to_come = color_add(t, color_mul(t, dL, sums_L(t, &p->sums)), own);
    ir_ref branch = ir_if(t->f, when);
    arrivals inside = *arrived;
    field_replay(w, &k->segment, when, &seeds, &inside);
    ir_else(t->f);
    ir_endif(t->f);
    arrivals_join(t, branch, &inside, arrived);
}

/* Backpropagates what the curve that leads to the vertex does to light, when L holds what the path finds
 * behind the vertex. */
static void adjoint_curve(walk *w, const replay_state *p, const walk_vertex *v, const chain_way *k, color dL,
                          ir_ref when, arrivals *arrived)
{
    tracer *t = &w->t;
    color emitted = color_mul(t, throughput_whole(w, &k->before), dL),
          own = color_mul(t, throughput_whole(w, &p->b), k->light),
          behind = color_mul(t, dL, color_add(t, sums_L(t, &p->sums), own));
    ir_ref outputs[2 * COLOR_MOST], seeds[2 * COLOR_MOST], branch = ir_if(t->f, when);
    arrivals inside = *arrived;
    const walk_curve q = curve_moved(w, v);
    for (uint32_t c = 0; c < t->channels; c++) {
        outputs[c] = q.emitted.c[c], seeds[c] = emitted.c[c];
        outputs[t->channels + c] = q.thickness.c[c], seeds[t->channels + c] = ir_neg(t->f, behind.c[c]);
    }
    backward_into(t, outputs, seeds, 2 * t->channels, &inside);
    ir_else(t->f);
    ir_endif(t->f);
    arrivals_join(t, branch, &inside, arrived);
}

/* Sets chain.light to the light that arrives by the vertex's sample, where the vertex is backpropagated. */
static void take_light(walk *w, replay_state *p, const throughput *after, const passage *onward,
                       const chain_step *step)
{
    color arriving[4];
    polarized_arriving(w, p, after, onward, step->last, arriving);
    for (int j = 0; j < 4; j++)
        p->chain.light[j] = color_select(&w->t, step->adjoint, arriving[j], p->chain.light[j]);
}

/* Sets it to what the vertex sends to the one before it. */
static void send_light(walk *w, replay_state *p, const walk_vertex *v, const contribution *k,
                       const chain_step *step)
{
    color sent[4];
    polarized_sent(w, v, k, p->chain.light, sent);
    for (int j = 0; j < 4; j++)
        p->chain.light[j] = color_select(&w->t, step->adjoint, sent[j], p->chain.light[j]);
}

/* Takes path and entries past the flight up to the vertex. Returns what the medium emits on the way, which
 * joins or leaves L where `forth`. */
static color fly(walk *w, replay_state *p, const walk_vertex *v, ir_ref forth)
{
    tracer *t = &w->t;
    color none = color_all(t_f32(t, 0)), emitted = none;
    if (w->media && emission_any(w)) {
        emitted = emission_radiance(w, &v->flight, false);
        account(w, p, color_select(t, forth, light_met(w, &p->b, emitted), none), p->phase);
        if (replay_has_entries(w))
            entries_see(w, &p->others, emitted);
    }
    if (w->media)
        replay_fly(w, p, v);
    return emitted;
}

/* Backpropagates the flight up to the vertex and what the medium emits on the way, when L and M hold what the
 * path finds behind the vertex. Both move with the segment, and that with the ray that leads here. */
static void adjoint_stretch(walk *w, const replay_state *p, const walk_vertex *v, const chain_way *k,
                            color dL, ir_ref when, arrivals *arrived)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const segment_motion *m = &v->attached.motion;
    color to_come = color_add(t, sums_L(t, &p->sums), color_mul(t, throughput_whole(w, &p->b), k->light)),
          missing = color_add(t, sums_M(t, &p->sums), color_mul(t, throughput_but_one(w, &p->b), k->light));
    to_come = color_mul(t, dL, to_come), missing = color_mul(t, dL, missing);
    for (uint32_t c = 0; c < t->channels; c++)
        missing.c[c] = ir_select(f, ir_eq(f, k->before.zeros[c], t_u32(t, 0)), missing.c[c], t_f32(t, 0));
    arrivals by_segment = {.count = segment_pack(m, by_segment.at)};
    for (uint32_t i = 0; i < by_segment.count; i++)
        by_segment.sum[i] = t_f32(t, 0);
    flight_adjoint(w, &v->flight, when, to_come, missing, &by_segment);
    if (emission_any(w))
        emission_adjoint(w, &v->flight, when, k->emitted, color_mul(t, throughput_whole(w, &k->before), dL),
                         &by_segment);
    ir_ref branch = ir_if(f, when);
    arrivals inside = *arrived;
    backward_into(t, by_segment.at, by_segment.sum, by_segment.count, &inside);
    ir_else(f);
    ir_endif(f);
    arrivals_join(t, branch, &inside, arrived);
}

/* Takes the path over its way to the vertex. Light of a medium joins or leaves L where `forth`. */
static chain_way go_way(walk *w, replay_state *p, walk_vertex *v, ir_ref forth)
{
    tracer *t = &w->t;
    chain_way way = {.before = p->b};
    way.emitted = fly(w, p, v, forth);
    if (field_any(w)) {
        way.segment = field_segment_to(w, &p->at, v);
        way.passed = field_march(w, &way.segment, ir_bool(t->f, true), false);
        p->b.beta = color_scale(t, p->b.beta, way.passed.left);
        v->decisions = field_mix(w, v->decisions, &way.passed);
    }
    if (w->bends_lit) {
        way.bent = eikonal_passed(w, &v->curve);
        p->b.beta = color_mul(t, p->b.beta, way.bent.left);
    }
    return way;
}

/* Where `when`: the light of the vertex, of fields and of curves joins L, or leaves it where `takes`. */
static void account_found(walk *w, replay_state *p, const chain_way *k, ir_ref when, ir_ref takes)
{
    tracer *t = &w->t;
    color none = color_all(t_f32(t, 0));
    account(w, p, color_select(t, when, k->light, none), takes);
    if (field_any(w))
        account_by(w, p, &k->before, color_select(t, when, k->passed.emitted, none), takes);
    if (w->bends_lit)
        account_by(w, p, &k->before, color_select(t, when, k->bent.emitted, none), takes);
}

/* Backpropagates the way to the vertex, where `when`. */
static void adjoint_way(walk *w, const replay_state *p, const walk_vertex *v, const chain_way *k,
                        film_value dL, ir_ref when, arrivals *arrived)
{
    if (field_any(w))
        adjoint_field(w, p, k, film_adjoint(w, &p->at, dL), when, arrived);
    if (w->bends_lit)
        adjoint_curve(w, p, v, k, film_adjoint(w, &p->at, dL), when, arrived);
    if (w->media && w->motion->chains)
        adjoint_stretch(w, p, v, k, film_adjoint(w, &p->at, dL), when, arrived);
}

/* After the vertex has been backpropagated: where the chain goes back, its light joins L again. */
static void give_back(walk *w, replay_state *p, const chain_way *k, const chain_step *step)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref when = ir_or(f, step->back, ir_and(f, step->last, ir_not(f, step->first)));
    if (w->walks_again) /* which begins behind the first vertex */
        when = ir_and(f, when, ir_not(f, step->first));
    account_found(w, p, k, when, ir_bool(f, false));
    if (w->media && emission_any(w))
        account_by(w, p, &k->before,
                   color_select(t, when, light_met(w, &k->before, k->emitted), color_all(t_f32(t, 0))),
                   ir_bool(f, false));
}

static ir_ref chain_vertex(const walk *kernel, replay_state *p, film_value dL)
{
    BL_ASSERT(kernel->chains && (!kernel->volumetric || kernel->polarized || kernel->motion->moves_stretches),
              "chains in a walk with motion %s", kernel->motion->name);
    walk own = replay_walk(kernel, p), *w = &own;
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref number = walk_order(w, &p->at), hash = p->hash, seen = p->seen, forth = is(w, p, CHAIN_FORTH);
    if (!w->walks_again)
        keep_place(w, p, number);
    if (w->volumetric)
        transmittance_recall(w, p->lane, &p->at, p->phase), hit_recall(w, p->lane, &p->at, p->phase);
    walk_vertex v = walk_visit(w, p->at);
    chain_way way = go_way(w, p, &v, ir_not(f, is(w, p, CHAIN_BACK)));
    contribution k = contribute(w, &v, &p->at, &p->b);
    throughput after = p->b;
    passage onward = contribution_pass(w, p->at.depth, &v, &k, &after);
    replay_carry_entries(w, p, &v, &k, &onward);
    if (w->motion->chains)
        v.attached.onward = ir_select(f, onward.alive, v.attached.onward, t_u32(t, LINK_FIXED));
    chain_step step = step_of(w, p, chain_ends(w, &v, &k, &onward));
    way.light = color_add(t, k.hit, k.light);
    account_found(w, p, &way, step.forth, p->phase);
    replay_sums behind = p->sums;
    arrivals arrived = arrivals_start(w, p, &v);
    adjoint_way(w, p, &v, &way, dL, step.adjoint, &arrived);
    if (w->polarized)
        take_light(w, p, &after, &onward, &step);
    const vertex_adjoint of = {&v, &k, replay_by_radiance(w, p, dL), step.adjoint};
    adjoint(w, p, &of, &arrived);
    if (w->polarized)
        send_light(w, p, &v, &k, &step);
    if (w->media && w->polarized)
        polarized_flight(w, p, &of, &way.before, way.emitted, &arrived);
    p->chain.left = ir_select(f, step.last, sums_residual(t, &p->sums), p->chain.left);
    give_back(w, p, &way, &step);
    p->b = after;
    replay_note(w, p, &v, onward.alive);
    p->hash = ir_select(f, forth, p->hash, hash), p->seen = ir_select(f, forth, p->seen, seen);
    p->at = walk_next(w, p->at, &v, onward.alive);
    if (!w->walks_again) {
        loop_state there = {0};
        state_row(w, &there, &p->at, &p->b, &behind);
        rows_keep(t, p->rows, ir_and(f, ir_and(f, step.last, ir_not(f, step.first)), onward.alive),
                  t_u32(t, BEHIND), &there);
    }
    return schedule(w, p, &step, onward.alive, number);
}

static ir_ref chain_left(walk *w, const replay_state *p)
{
    (void)w;
    return p->chain.left;
}

const gradient_estimator attached_replay = {
    .state = state_chain,
    .start = start_chain,
    .begins = chain_begins,
    .begin = begin_here,
    .vertex = chain_vertex,
    .left = chain_left,
};
