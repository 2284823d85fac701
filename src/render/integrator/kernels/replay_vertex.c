/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of path replay, in either phase (Vicini, Speierer, Jakob 2021, listings 1 and 2), and what all
 * gradient kernels do between vertices and between samples: replay.c calls it in the order of the path,
 * attached_replay.c along chains, radiative_backpropagation.c with other random numbers, and tape.c uses the
 * sample's adjoint.
 *
 * Phase 0 adds what the vertex contributes to the sums L and M; phase 1 subtracts it and backpropagates. Both
 * phases run the same code with the same random numbers, so a vertex is subtracted exactly as it was added.
 * The order is fixed. First the light that the medium emits before the vertex leaves L. Then the flight is
 * differentiated: all that L still holds has its weight as a factor. Then the vertex's own light leaves L.
 * What remains has the material's value as a factor. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/kernels/replay.h"

/* ---- samples ---- */

film_value replay_sample_adjoint(walk *w, const lane *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref at = ir_select(f, l->inside, l->adjoint, t_u32(t, 0));
    bool weighted = render_lists_lanes(w->plan, w->pass);
    ir_ref weight =
        weighted ? t_f32(t, 1) : ir_div(f, t_f32(t, 1), ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_SPP)));
    film_value r = {0};
    for (uint32_t c = 0; c < w->film_channels; c++)
        r.c[c] = ir_mul(f, ir_load(f, IR_F32, BUFFER_ADJOINT, t_offset(t, at, c)), weight);
    return r;
}

color replay_by_radiance(walk *w, const replay_state *p, film_value dL)
{
    return w->entries > 1 ? color_all(t_f32(&w->t, 0)) : film_adjoint(w, &p->at, dL);
}

void replay_skip_zero(walk *w, const film_value *dL, lane *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref matters = ir_bool(f, w->plan->scene->pipelined);
    for (uint32_t c = 0; c < w->film_channels; c++)
        matters = ir_or(f, matters, ir_not(f, ir_eq(f, dL->c[c], t_f32(t, 0))));
    if (w->pass == RENDER_REPLAY)
        matters = ir_or(f, matters, ir_ne(f, ir_uniform(f, IR_U32, UNIFORM_UNKNOWN), t_u32(t, 0)));
    l->last = ir_select(f, matters, l->last, l->first);
}

void replay_new_path(walk *w, replay_state *p, ir_ref fresh, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    sums_restart(t, &p->sums, fresh);
    throughput_restart(w, alive, &p->b);
    if (replay_has_entries(w))
        entries_restart(w, alive, &p->others);
    p->hash = ir_select(f, alive, p->hash, t_u32(t, 0));
    p->seen = ir_select(f, fresh, t_u32(t, 0), p->seen);
    if (replay_shortens(w))
        p->again = ir_select(f, fresh, t_u32(t, 0), p->again);
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, fresh));
}

bool replay_has_entries(const walk *w) { return w->entries > 1 && w->pass != RENDER_ADJOINT; }

void replay_carry_entries(walk *w, replay_state *p, const walk_vertex *v, const contribution *k,
                          const passage *onward)
{
    tracer *t = &w->t;
    path_entries *e = &p->others;
    const bool lights = w->plan->scene->emitters.count > 0;
    if (!replay_has_entries(w))
        return;
    if (lights)
        entries_see(w, e, color_scale(t, k->hit_radiance, v->hit_mis));
    if (lights && w->next_event) {
        color lit[4], light = color_mul(t, k->light_radiance, k->light_scale);
        polarized_lit(w, &k->polarized, lit);
        for (int j = 0; j < 3; j++)
            e->found[j] = color_add(t, e->found[j], color_mul(t, polarized_dot(w, e->rows[j], lit), light));
    }
    entries_pass(w, &k->polarized, onward->inverse_pdf, e);
}

ir_ref replay_finite(walk *w, const replay_state *p)
{
    ir_ref finite = color_finite(&w->t, p->sums.L);
    for (int k = 0; k < 3 && replay_has_entries(w); k++)
        finite = ir_and(w->t.f, finite, color_finite(&w->t, p->others.found[k]));
    return finite;
}

void replay_add_image(walk *w, replay_state *p, ir_ref finite)
{
    film_value weighed = film_of_entries(w, &p->at, p->sums.L, p->others.found);
    for (uint32_t c = 0; c < w->film_channels; c++)
        film_take(w, finite, weighed.c[c], &p->sum.c[c], NULL);
}

/* ---- vertices ---- */

walk replay_walk(const walk *w, const replay_state *p)
{
    walk own = *w;
    own.known.again = p->phase, own.known.seen = p->seen;
    return own;
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

/* By the plan alone: both kernels of separate ones must find the same. */
bool replay_shortens(const walk *w)
{
    const plan *p = w->plan;
    bool by_lights = !(w->media && emission_any(w)) && !p->field && !w->bends && !p->drt;
    bool moves = plan_attaches_paths(p) || plan_moves_segments(p) || p->moves || w->polarized;
    bool replays = w->pass != RENDER_GRADIENT || p->scene->method == METHOD_REPLAY;
    return by_lights && !moves && replays;
}

ir_ref replay_goes_on(walk *w, replay_state *p, const walk_vertex *v, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!replay_shortens(w))
        return alive;
    ir_ref count = ir_add(f, walk_order(w, &p->at), t_u32(t, 1)), found = ir_bool(f, false);
    if (w->plan->scene->emitters.count > 0)
        found = w->next_event ? ir_or(f, v->hit.there, v->light.there) : v->hit.there;
    found = ir_and(f, found, ir_not(f, p->phase));
    p->again = ir_select(f, found, count, p->again);
    p->hash_first = ir_select(f, found, p->hash, p->hash_first);
    return ir_and(f, alive, ir_or(f, ir_not(f, p->phase), ir_lt(f, count, p->again)));
}

void replay_fly(walk *w, replay_state *p, const walk_vertex *v)
{
    if (w->media && replay_has_entries(w))
        entries_scale(w, &p->others, throughput_flown(w, v));
    throughput_fly(w, v, &p->b);
}

/* The light that the medium emits before the vertex. It joins or leaves L with the throughput before the
 * flight, and so does its adjoint. */
static void emission(walk *w, replay_state *p, const walk_vertex *v, color dL, arrivals *arrived)
{
    tracer *t = &w->t;
    color emitted = emission_radiance(w, &v->flight, false);
    account(w, p, light_met(w, &p->b, emitted), p->phase);
    if (replay_has_entries(w))
        entries_see(w, &p->others, emitted);
    if (w->pass != RENDER_REPLAY)
        emission_adjoint(w, &v->flight, p->phase, emitted, color_mul(t, throughput_whole(w, &p->b), dL),
                         arrived);
}

/* The field on the segment up to the vertex. In phase 0 it is marched, in phase 1 replayed and
 * backpropagated. What it emits joins or leaves L, and what it lets through multiplies the throughput. */
static void pass_field(walk *w, replay_state *p, walk_vertex *v, color dL, arrivals *arrived)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    field_segment s = field_segment_to(w, &p->at, v);
    field_passage q;
    if (w->pass != RENDER_ADJOINT)
        q = field_march(w, &s, ir_not(f, p->phase), false);
    if (w->pass != RENDER_REPLAY) {
        field_seeds seeds = {color_mul(t, throughput_whole(w, &p->b), dL),
                             color_mul(t, dL, sums_L(t, &p->sums))};
        field_passage again = field_replay(w, &s, p->phase, &seeds, arrived);
        q = w->pass == RENDER_ADJOINT ? again : field_select(w, p->phase, &again, &q);
    }
    account(w, p, q.emitted, p->phase);
    p->b.beta = color_scale(t, p->b.beta, q.left);
    v->decisions = field_mix(w, v->decisions, &q);
}

/* The curve up to the vertex. Where its own derivatives are wanted, paths are attached, and there are
 * chains. */
static void pass_curve(walk *w, replay_state *p, const walk_vertex *v)
{
    eikonal_passage q = eikonal_passed(w, &v->curve);
    account(w, p, q.emitted, p->phase);
    p->b.beta = color_mul(&w->t, p->b.beta, q.left);
}

ir_ref replay_vertex(const walk *kernel, replay_state *p, film_value film_dL)
{
    walk own = replay_walk(kernel, p), *w = &own;
    if (drt_any(w))
        drt_enter(w, &p->drt_path);
    color dL = replay_by_radiance(w, p, film_dL);
    transmittance_recall(w, p->lane, &p->at, p->phase);
    hit_recall(w, p->lane, &p->at, p->phase);
    walk_vertex v = walk_visit(w, p->at);
    arrivals arrived = arrivals_start(w, p, &v);
    hit_remember(w, p->lane, &p->at, &v.met);
    transmittance_remember(w, p->lane, &p->at, &v.shadow);
    if (field_any(w))
        pass_field(w, p, &v, dL, &arrived);
    if (w->bends_lit)
        pass_curve(w, p, &v);
    if (w->media && emission_any(w))
        emission(w, p, &v, dL, &arrived);
    if (w->media && w->pass != RENDER_REPLAY)
        adjoint_flight(w, p, &v, dL, &arrived);
    if (drt_any(w))
        drt_offer(w, &p->drt_path, &v, &p->at, &p->b, p->phase);
    replay_fly(w, p, &v);
    contribution k = contribute(w, &v, &p->at, &p->b);
    account(w, p, color_add(&w->t, k.hit, k.light), p->phase);
    if (w->pass == RENDER_GUIDE_LEARN)
        replay_teach(w, p, &v);
    else if (w->pass != RENDER_REPLAY)
        adjoint(w, p, &(vertex_adjoint){&v, &k, dL, p->phase}, &arrived);
    passage onward = contribution_pass(w, p->at.depth, &v, &k, &p->b);
    replay_carry_entries(w, p, &v, &k, &onward);
    replay_note(w, p, &v, onward.alive);
    ir_ref alive = replay_goes_on(w, p, &v, onward.alive);
    p->at = walk_next(w, p->at, &v, alive);
    if (drt_any(w))
        drt_passed(w, &p->drt_path);
    return alive;
}

ir_ref replay_begins(walk *w, const replay_state *p) { return walk_begins(w, &p->at); }

static ir_ref sums_left(walk *w, const replay_state *p) { return sums_residual(&w->t, &p->sums); }

const gradient_estimator detached_replay = {
    .begins = replay_begins,
    .vertex = replay_vertex,
    .left = sums_left,
};
