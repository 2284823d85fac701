/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient of light tracing where paths move with parameters (docs/theory/light_tracing.md). Each vertex
 * is a function of the ray that leads to it (motion/light_motion.c), so the adjoint of the ray that goes on
 * has to be known first. A lane
 *
 *   walks forth along the path, without connections to the sensor, to its last vertex;
 *   comes back: visits the vertices again from the last to the first, connects each to the sensor, and
 *          backpropagates its splat, the place of that, the throughput and the ray that goes on.
 *
 * So L, the sum of what the path splats behind a vertex, is built from its end, as the adjoint of the
 * throughput. Nothing is subtracted, divided or inverted, and a factor of 0 is no special case.
 *
 * The position before each of the first KEPT vertices is kept, and a visit on the way back begins there; to a
 * later vertex the lane walks from the last position that is kept. A path of n <= KEPT vertices costs 2 n
 * visits, and m vertices more cost m (m + 3) / 2 more. Memory is constant.
 *
 * Invariant: a vertex that is visited again is the same vertex, from the same random numbers. The sum of the
 * hashes of what was decided is the same on both ways, or it is counted (STATUS_DRIFT). */
#include "render/integrator/kernels/kernels.h"
#include "render/integrator/motion/light_motion.h"
#include "render/integrator/walk/kept_rows.h"
#include "render/integrator/walk/radiance_sums.h"
#include "spirv_gen/ad/ad.h"

enum { KEPT = 8 };

typedef struct replay {
    light_position at;
    throughput b;
    ir_ref back;                   /* bool: the lane is on its way back, */
    ir_ref target;                 /* u32: to the vertex of this depth */
    color behind;                  /* adjoint of the throughput behind that vertex, */
    ir_ref ray[LIGHT_RAY_NUMBERS]; /* and of the ray that goes on from there */
    ir_ref hash;                   /* u32: of the way forth, less that of the way back */
    kept_rows rows;
} replay;

static void state_place(const walk *w, loop_state *s, light_position *at, throughput *b)
{
    state_light_place(w, s, at), state_throughput(w, s, b);
}

static void state_replay(const walk *w, loop_state *s, replay *p)
{
    state_place(w, s, &p->at, &p->b);
    state_ref(s, &p->at.sample), state_ref(s, &p->back), state_ref(s, &p->target), state_ref(s, &p->hash);
    state_color(s, &w->t, &p->behind), state_refs(s, p->ray, LIGHT_RAY_NUMBERS);
}

/* ---- the adjoint of a vertex ---- */

/* Adjoints of an outcome, as its numbers are packed. */
static void seeds_of(walk *w, const replay *p, const light_vertex *v, color before, ir_ref inverse_pdf,
                     const splat_adjoint *a, ir_ref out[LIGHT_OUTCOME_MOST])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    color splat = color_mul(t, before, light_splat_factor(w, v));
    splat = color_select(t, v->begins, color_mul(t, splat, v->radiance), splat);
    light_outcome seeds = {.place = {zero, zero}};
    for (uint32_t c = 0; c < t->channels; c++) {
        seeds.splat.c[c] = ir_mul(f, before.c[c], a->contribution.c[c]);
        seeds.onward.c[c] = ir_mul(f, p->behind.c[c], ir_mul(f, before.c[c], inverse_pdf));
        seeds.place.x = t_mad(t, splat.c[c], a->x.c[c], seeds.place.x);
        seeds.place.y = t_mad(t, splat.c[c], a->y.c[c], seeds.place.y);
    }
    seeds.next_o = vec3_at(p->ray), seeds.next_d = vec3_at(p->ray + 3);
    light_outcome_pack(w, &seeds, out);
}

/* Backpropagates the outcome of the vertex that `at` leads to, where `when`. p->ray becomes the adjoint of
 * the ray that leads there. */
static void backpropagate(walk *w, replay *p, const light_position *at, const light_vertex *v,
                          const ir_ref *seeds, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref outputs[LIGHT_OUTCOME_MOST], leads[LIGHT_RAY_NUMBERS], arrived[LIGHT_RAY_NUMBERS];
    vec3_put(at->o, leads), vec3_put(at->d, leads + 3);
    ir_if(f, ir_and(f, when, v->begins));
    light_outcome at_light = light_outcome_at_light(w, at, v);
    uint32_t count = light_outcome_pack(w, &at_light, outputs);
    ad_backward(f, outputs, seeds, count, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
    ir_ref branch = ir_if(f, ir_and(f, when, ir_and(f, v->v.si.valid, ir_not(f, v->begins))));
    light_outcome r = light_outcome_at_surface(w, at, v, at->o, at->d);
    light_outcome_pack(w, &r, outputs);
    ad_backward(f, outputs, seeds, count, leads, arrived, LIGHT_RAY_NUMBERS);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < LIGHT_RAY_NUMBERS; k++)
        arrived[k] = ir_phi(f, branch, arrived[k], t_f32(t, 0));
    drop_singular(w, when, at->depth, arrived);
    for (uint32_t k = 0; k < LIGHT_RAY_NUMBERS; k++)
        p->ray[k] = ir_select(f, when, arrived[k], p->ray[k]);
}

/* ---- one vertex ---- */

/* On the way back, after the vertex that is next: the adjoint of the throughput before it. */
static void carry_behind(walk *w, replay *p, const light_vertex *v, const splat_adjoint *a,
                         ir_ref inverse_pdf, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color factor = light_splat_factor(w, v), before;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref onward = ir_mul(f, v->for_sample.c[c], ir_mul(f, v->onward, inverse_pdf));
        before.c[c] = t_mad(t, p->behind.c[c], onward, ir_mul(f, factor.c[c], a->contribution.c[c]));
    }
    ir_ref finite = color_finite(t, before);
    kernel_count(w, ir_and(f, when, ir_not(f, finite)), STATUS_NON_FINITE);
    before = color_select(t, finite, before, color_all(t_f32(t, 0)));
    p->behind = color_select(t, when, before, p->behind);
}

/* Decides where the next visit is. here: the vertex has been backpropagated; depth: its depth. */
static void schedule(walk *w, replay *p, ir_ref alive, ir_ref here, ir_ref depth)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_u32(t, 0), one = t_u32(t, 1), none = t_f32(t, 0);
    ir_ref turns = ir_and(f, ir_not(f, p->back), ir_not(f, alive)),
           over = ir_and(f, here, ir_eq(f, depth, zero)), on = ir_and(f, here, ir_ne(f, depth, zero));
    kernel_count(w, ir_and(f, over, ir_ne(f, p->hash, zero)), STATUS_DRIFT);
    p->hash = ir_select(f, over, zero, p->hash);
    p->target = ir_select(f, turns, depth, ir_select(f, on, ir_sub(f, depth, one), p->target));
    for (uint32_t c = 0; c < t->channels; c++)
        p->behind.c[c] = ir_select(f, turns, none, p->behind.c[c]);
    for (uint32_t k = 0; k < LIGHT_RAY_NUMBERS; k++)
        p->ray[k] = ir_select(f, turns, none, p->ray[k]);
    ir_ref back = ir_or(f, turns, on);
    loop_state row = {0};
    state_place(w, &row, &p->at, &p->b);
    rows_recall(t, &p->rows, back, ir_min(f, p->target, t_u32(t, KEPT - 1)), &row);
    state_place(w, &row, &p->at, &p->b);
    state_end(&row);
    p->back = ir_and(f, ir_or(f, back, p->back), ir_not(f, over));
    const light_position start = light_before(w, ir_add(f, p->at.sample, ir_to_u32(f, over)));
    p->at = (light_position){
        .sample = start.sample,
        .depth = ir_select(f, over, start.depth, p->at.depth),
        .tmax = ir_select(f, over, start.tmax, p->at.tmax),
        .medium = w->bends ? ir_select(f, over, start.medium, p->at.medium) : start.medium,
        .o = v3_select(t, over, start.o, p->at.o),
        .d = v3_select(t, over, start.d, p->at.d),
        .event = start.event,
        .share = w->chromatic ? color_select(t, over, start.share, p->at.share) : start.share,
    };
    throughput_restart(w, ir_not(f, over), &p->b);
}

static void replay_vertex_of_light(walk *w, replay *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const light_position at = p->at;
    ir_ref depth = at.depth, here = ir_and(f, p->back, ir_eq(f, depth, p->target));
    loop_state row = {0};
    state_place(w, &row, &p->at, &p->b);
    rows_keep(t, &p->rows, ir_and(f, ir_not(f, p->back), ir_lt(f, depth, t_u32(t, KEPT))), depth, &row);
    walk_set_wavelengths(w, at.sample);
    light_vertex v = light_visit(w, &at, here);
    color whole = throughput_whole(w, &p->b);
    light_emit(w, &v, &p->b);
    color factor = light_splat_factor(w, &v);
    v.splat.there =
        ir_and(f, v.splat.there, color_finite(t, color_mul(t, throughput_whole(w, &p->b), factor)));
    splat_adjoint a = splat_read(w, &v.splat, true);
    passage onward = light_pass(w, &v, &p->at, &p->b);
    ir_ref seeds[LIGHT_OUTCOME_MOST];
    seeds_of(w, p, &v, whole, onward.inverse_pdf, &a, seeds);
    backpropagate(w, p, &at, &v, seeds, here);
    carry_behind(w, p, &v, &a, onward.inverse_pdf, here);
    ir_ref hash = replay_hash(t, depth, v.way, onward.alive);
    p->hash = ir_select(f, here, ir_sub(f, p->hash, hash),
                        ir_select(f, p->back, p->hash, ir_add(f, p->hash, hash)));
    schedule(w, p, onward.alive, here, depth);
}

/* ---- the kernel ---- */

bl_result kernel_light_replay(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->pass == RENDER_GRADIENT && w->motion->chains, "light paths that move in pass %d",
              (int)w->pass);
    lane l = kernel_lane(w, m);
    ir_ref zero = t_f32(t, 0);
    replay p = {
        .at = light_before(w, l.first),
        .b = throughput_start(w),
        .back = ir_bool(f, false),
        .target = t_u32(t, 0),
        .behind = color_all(zero),
        .ray = {zero, zero, zero, zero, zero, zero},
        .hash = t_u32(t, 0),
    };
    loop_state row = {0}, state = {0}, next = {0};
    state_place(w, &row, &p.at, &p.b);
    p.rows = rows_make(f, &row, KEPT, w->packs_rows);
    state_replay(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_replay(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    replay_vertex_of_light(w, &p);
    state_replay(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    ir_flush(f, BUFFER_GRADIENT, l.inside);
    ir_return(f, NULL, 0);
    return BL_OK;
}
