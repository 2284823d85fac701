/* SPDX-License-Identifier: BSD-3-Clause
 * Detached path replay backpropagation (Vicini, Speierer, Jakob 2021, section 4.1, listings 1 and 2), with
 * next-event estimation, MIS and roulette (docs/theory/detached_replay.md). Each sample is walked twice.
 * Phase 0 adds the light that every vertex contributes to L. Phase 1 subtracts it again, so that at each
 * vertex L is exactly the radiance still to come, and backpropagates the adjoint dL through
 *
 *     Le' + Ld' + L * replace_grad(1, value'/value)
 *
 * RENDER_GRADIENT is fused: one loop body runs both phases of a sample, one after the other. RENDER_REPLAY
 * and RENDER_ADJOINT are kernels of one phase each, with a sample's L between them in BUFFER_SAMPLES. There
 * the phase is a constant, and the builder folds the code of the other phase away. RENDER_GUIDE_LEARN is
 * fused, too, and teaches the guide of directions in place of backpropagating (guide_learn.c).
 *
 * Phase 1 ends behind the last vertex that has found light, and does not begin where there is none
 * (replay_shortens).
 *
 * Whether the second walk equals the first is measured, by the hash of all decisions and by what is left of L
 * (STATUS_DRIFT). The most expensive work is not done twice: phase 0 notes which sampled lights are visible
 * (walk_known.seen) and the transmittance toward them (media/remembered_transmittance.c).
 *
 * Zero factors (docs/theory/zero_factors.md): `whole` is beta where no factor so far was zero. M is a second
 * sum, of contributions without their only zero factor. At the vertex whose factor is zero, M is the
 * derivative with respect to that factor.
 *
 * Where walk.drt, a third phase may follow: L, empty again, gathers the light of a DRT path
 * (media/differential_ratio_tracking.c).
 *
 * L and M are two-float sums (walk/radiance_sums.c): subtracting the same terms in the same order leaves
 * almost nothing (docs/theory/replay_equality.md). One vertex is in replay_vertex.c; other orders and
 * estimators share this loop (gradient_estimator). */
#include "render/integrator/kernels/replay.h"

static bool teaches(const walk *w) { return w->pass == RENDER_GUIDE_LEARN; }
static bool fused(const walk *w) { return w->pass == RENDER_GRADIENT || teaches(w); }

/* Of the tape only the separate kernels are here, which replay. */
static const gradient_estimator *choose_estimator(const walk *w)
{
    enum gradient_method method = w->pass == RENDER_GRADIENT ? w->plan->scene->method : METHOD_REPLAY;
    if (method == METHOD_RECURSIVE || method == METHOD_UNIT) {
        BL_ASSERT(!w->chains, "radiative backpropagation with motion %s", w->motion->name);
        return method == METHOD_UNIT ? &unit_radiative : &recursive_radiative;
    }
    if (w->motion->chains && w->plan->scene->inverts)
        return &attached_inversion;
    return w->chains ? &attached_replay : &detached_replay;
}

static void state_replay(walk *w, loop_state *s, replay_state *p)
{
    ir_func *f = w->t.f;
    state_position(w, s, &p->at);
    if (fused(w) && p->estimator != &unit_radiative) /* the phase is loop state */
        state_ref(s, &p->phase);
    else if (s->reads)
        p->phase = ir_bool(f, w->pass == RENDER_ADJOINT);
    if (drt_any(w))
        state_drt(w, s, &p->drt_path);
    else if (s->reads)
        p->drt_path.on = ir_bool(f, false);
    if (s->reads) /* on a DRT path light is added */
        p->phase = ir_and(f, p->phase, ir_not(f, p->drt_path.on));
    state_throughput(w, s, &p->b);
    state_sums(s, &w->t, &p->sums);
    state_ref(s, &p->hash), state_ref(s, &p->hash_first), state_ref(s, &p->seen);
    if (replay_shortens(w))
        state_ref(s, &p->again);
    if (replay_has_entries(w))
        state_entries(w, s, &p->others);
    state_film(w, s, &p->sum);
    if (p->estimator->state)
        p->estimator->state(w, s, p);
}

/* ---- between the two walks ---- */

/* Where `replayed`: counts the sample if its second walk differed from the first. */
static void count_drift(walk *w, const replay_state *p, ir_ref replayed)
{
    ir_func *f = w->t.f;
    ir_ref left = p->estimator->left(w, p);
    kernel_count(w, ir_and(f, replayed, ir_or(f, ir_ne(f, p->hash, p->hash_first), left)), STATUS_DRIFT);
}

/* ---- DRT paths ---- */

/* Where a DRT path has ended: backpropagates through the extinction at its beginning. */
static void drt_backward(walk *w, replay_state *p, film_value dL, ir_ref ended)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color light = color_mul(t, film_adjoint(w, &p->at, dL), sums_L(t, &p->sums));
    ir_ref arrived = ir_and(f, ended, p->drt_path.on),
           finite = color_finite(t, color_scale(t, light, p->drt_path.sum));
    kernel_count(w, ir_and(f, arrived, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_if(f, ir_and(f, arrived, finite));
    color_backward(t, drt_value(w, &p->drt_path), light);
    ir_else(f);
    ir_endif(f);
}

/* bool: the path has been replayed, and a DRT path follows. To be called before replay_new_path. */
static ir_ref starts_drt_path(walk *w, replay_state *p, film_value dL, ir_ref ended, ir_ref replayed)
{
    if (!drt_any(w))
        return ir_bool(w->t.f, false);
    drt_backward(w, p, dL, ended);
    return ir_and(w->t.f, replayed, drt_waits(w, &p->drt_path));
}

/* Begins it where `back`. To be called after replay_new_path. */
static void start_drt_path(walk *w, replay_state *p, ir_ref back, ir_ref fresh)
{
    if (!drt_any(w))
        return;
    sums_restart(&w->t, &p->sums, back);
    drt_begin(w, &p->drt_path, &p->at, &p->b, back);
    drt_forget(w, &p->drt_path, fresh);
}

/* ---- ends of paths ---- */

/* Where a path has ended: after phase 0 comes phase 1 of the same sample, after phase 1 phase 0 of the next.
 * A sample whose sum is not finite has no phase 1. */
static void finish_fused(walk *w, replay_state *p, film_value dL, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), finite = replay_finite(w, p);
    ir_ref replayed = ir_and(f, ended, p->phase),
           phase_0_ended = ir_and(f, ended, ir_not(f, ir_or(f, p->phase, p->drt_path.on)));
    count_drift(w, p, replayed);
    kernel_count(w, ir_and(f, phase_0_ended, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref replay = ir_and(f, phase_0_ended, finite);
    replay_add_image(w, p, replay);
    sums_note_size(t, &p->sums, phase_0_ended);
    if (replay_shortens(w))
        replay = ir_and(f, replay, ir_gt(f, p->again, t_u32(t, 0)));
    else
        p->hash_first = ir_select(f, phase_0_ended, p->hash, p->hash_first);
    ir_ref back = starts_drt_path(w, p, dL, ended, replayed);
    ir_ref fresh = ir_and(f, ended, ir_not(f, ir_or(f, replay, back)));
    replay_new_path(w, p, fresh, alive);
    p->phase = ir_or(f, replay, ir_and(f, p->phase, alive));
    start_drt_path(w, p, back, fresh);
}

/* RENDER_REPLAY: a path that has ended stores its radiance, and what helps to walk it again. */
static void finish_replay(walk *w, const lane *l, replay_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), finite = replay_finite(w, p);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    replay_add_image(w, p, ir_and(f, ended, finite));
    ir_if(f, ended);
    color L = sums_L(t, &p->sums), M = sums_M(t, &p->sums);
    const sample_planes plane = sample_planes_of(t->channels);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.radiance + c)),
                 L.c[c]);
        ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.but_one + c)),
                 M.c[c]);
    }
    ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.seen)), p->seen);
    ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.hash)),
             replay_shortens(w) ? p->hash_first : p->hash);
    if (replay_shortens(w))
        ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.again)),
                 ir_select(f, finite, p->again, t_u32(t, 0)));
    ir_else(f);
    ir_endif(f);
    replay_new_path(w, p, ended, alive);
}

/* u32: how many vertices of the sample are walked again; 1 behind the lane's last one. */
static ir_ref again_of(walk *w, const lane *l, ir_ref sample)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const sample_planes plane = sample_planes_of(t->channels);
    ir_ref branch = ir_if(f, ir_lt(f, sample, l->last));
    ir_ref stored =
        ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, l, sample, t_u32(t, plane.again)));
    ir_else(f);
    ir_endif(f);
    return ir_phi(f, branch, stored, t_u32(t, 1));
}

/* RENDER_ADJOINT: the first sample, from this one on, that is walked again. */
static ir_ref next_replayed(walk *w, const lane *l, ir_ref sample)
{
    ir_func *f = w->t.f;
    if (!replay_shortens(w))
        return sample;
    ir_ref loop = ir_loop(f, &sample, 1);
    ir_while(f, ir_eq(f, again_of(w, l, sample), t_u32(&w->t, 0)));
    ir_ref next = ir_add(f, sample, t_u32(&w->t, 1));
    ir_endloop(f, loop, &next, 1);
    return sample;
}

/* RENDER_ADJOINT: a path that begins loads what RENDER_REPLAY stored. If that is not finite, the path hits
 * nothing and ends at once. */
static void begin_adjoint(walk *w, const lane *l, replay_state *p, ir_ref fresh)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const sample_planes plane = sample_planes_of(t->channels);
    ir_ref stored[2 * COLOR_MOST], seen, hash, again = t_u32(t, 0), branch = ir_if(f, fresh);
    for (uint32_t k = 0; k < 2 * t->channels; k++)
        stored[k] = ir_load(f, IR_F32, BUFFER_SAMPLES,
                            kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.radiance + k)));
    seen = ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.seen)));
    hash = ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, plane.hash)));
    if (replay_shortens(w))
        again = again_of(w, l, p->at.sample);
    ir_else(f);
    ir_endif(f);
    for (uint32_t c = 0; c < t->channels; c++) {
        p->sums.L.c[c] = ir_phi(f, branch, stored[c], p->sums.L.c[c]);
        p->sums.M.c[c] = ir_phi(f, branch, stored[t->channels + c], p->sums.M.c[c]);
        p->sums.size.c[c] = ir_phi(f, branch, stored[c], p->sums.size.c[c]);
    }
    p->seen = ir_phi(f, branch, seen, p->seen), p->hash_first = ir_phi(f, branch, hash, p->hash_first);
    if (replay_shortens(w))
        p->again = ir_phi(f, branch, again, p->again);
    ir_ref finite = color_finite(t, p->sums.size);
    p->at.tmax = ir_select(f, finite, p->at.tmax, t_f32(t, -1));
    for (uint32_t c = 0; c < t->channels; c++) {
        p->sums.L.c[c] = ir_select(f, finite, p->sums.L.c[c], t_f32(t, 0));
        p->sums.M.c[c] = ir_select(f, finite, p->sums.M.c[c], t_f32(t, 0));
    }
}

/* RENDER_ADJOINT: where a path has ended, a DRT path or the next sample begins. */
static void finish_adjoint(walk *w, const lane *l, replay_state *p, film_value dL, ir_ref alive)
{
    ir_func *f = w->t.f;
    ir_ref ended = ir_not(f, alive), replayed = ir_and(f, ended, p->phase);
    count_drift(w, p, ir_and(f, replayed, color_finite(&w->t, p->sums.size)));
    ir_ref back = starts_drt_path(w, p, dL, ended, replayed), fresh = ir_and(f, ended, ir_not(f, back));
    replay_new_path(w, p, fresh, alive);
    p->at.sample = next_replayed(w, l, p->at.sample);
    start_drt_path(w, p, back, fresh);
}

static void finish_phase(walk *w, const lane *l, replay_state *p, film_value dL, ir_ref alive)
{
    if (p->estimator->finish)
        p->estimator->finish(w, p, alive);
    else if (fused(w))
        finish_fused(w, p, dL, alive);
    else if (w->pass == RENDER_REPLAY)
        finish_replay(w, l, p, alive);
    else
        finish_adjoint(w, l, p, dL, alive);
}

/* ---- the kernels ---- */

static replay_state start(walk *w, const gradient_estimator *estimator, const lane *l, kept_rows *rows)
{
    tracer *t = &w->t;
    ir_ref none = t_u32(t, 0);
    path_entries others = {0};
    if (replay_has_entries(w))
        entries_start(w, &others);
    replay_state p = {
        .at = walk_before(w, l->first),
        .phase = ir_bool(t->f, false),
        .b = throughput_start(w),
        .sums = sums_start(t),
        .hash = none,
        .hash_first = none,
        .seen = none,
        .again = none,
        .others = others,
        .sum = film_none(w),
        .turn = {walk_before(w, l->first), throughput_start(w)},
        .drt_path = drt_none(w),
        .estimator = estimator,
        .lane = l,
        .rows = rows,
    };
    if (estimator->start)
        estimator->start(w, &p, rows);
    return p;
}

bl_result kernel_gradient(walk *w, ir_module *m)
{
    ir_func *f = w->t.f;
    bool image = w->pass != RENDER_ADJOINT;
    BL_ASSERT(fused(w) || w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT, "a gradient in pass %d",
              (int)w->pass);
    const gradient_estimator *estimator = choose_estimator(w);
    w->notes = estimator != &unit_radiative;
    if (estimator == &attached_inversion) /* Jacobians are by rays alone: parameters have no tangents. */
        m->buffers.data[BUFFER_VALUES].tangent = -1;
    lane l = kernel_lane(w, m);
    film_value dL = teaches(w) ? film_none(w) : replay_sample_adjoint(w, &l);
    if (!teaches(w))
        replay_skip_zero(w, &dL, &l);
    kept_rows rows = {0};
    replay_state p = start(w, estimator, &l, &rows);
    if (image)
        p.sum = kernel_load_sum(w, l.film, l.inside);
    if (w->pass == RENDER_ADJOINT)
        p.at.sample = next_replayed(w, &l, p.at.sample);
    loop_state state = {0}, next = {0};
    state_replay(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_replay(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    ir_ref fresh = estimator->begins(w, &p);
    p.at = walk_start(w, fresh, p.at);
    polarized_ask(w, fresh, &p.at, dL, &p.b);
    if (estimator->begin)
        estimator->begin(w, &p, fresh);
    if (w->pass == RENDER_ADJOINT)
        begin_adjoint(w, &l, &p, fresh);
    finish_phase(w, &l, &p, dL, estimator->vertex(w, &p, dL));
    state_replay(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    if (w->pass != RENDER_REPLAY)
        ir_flush(f, BUFFER_GRADIENT, l.inside);
    state_replay(w, &state, &p);
    state_end(&state);
    if (image)
        kernel_store_sum(w, l.film, l.inside, p.sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}
