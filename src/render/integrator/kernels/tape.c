/* SPDX-License-Identifier: BSD-3-Clause
 * Reverse mode with a stored tape, to compare path replay with: its memory grows with the depth of paths
 * (docs/theory/radiative_backpropagation.md). RENDER_TAPE walks all samples and stores each vertex: surface,
 * lights, directions, values and densities, as the reverse mode of a wavefront renderer would.
 * RENDER_TAPE_ADJOINT loads the vertices of a path from the last to the first and traces no ray. It carries
 * the radiance that arrives,
 *
 *     R(k) = own light(k) + value(k) / density(k) * R(k + 1).
 *
 * The derivative with respect to value(k) is then throughput(k) / density(k) * R(k + 1), without a division
 * by the value. Derivatives are those of path/adjoint.c. The tape has no media, and no surfaces or rays that
 * move.
 *
 * Invariant: one function, pass_vertex, both stores and loads a vertex, so both see the same words in the
 * same order. */
#include "render/integrator/kernels/replay.h"
#include "render/integrator/vertex/plugin_functions.h"

/* ---- one vertex on the tape ---- */

/* What the adjoint of a vertex reads. */
typedef struct tape_vertex {
    walk_vertex v;
    contribution k;
    color whole;        /* throughput before it times the sample's weight; 0 where a factor was 0 */
    color own;          /* light that the vertex contributes */
    ir_ref inverse_pdf; /* 1 / (density of the sample * survival probability) */
} tape_vertex;

/* A vertex's words on the tape, one after the other. */
typedef struct tape {
    walk *w;
    const lane *l;
    ir_ref sample;
    ir_ref plane;  /* u32: of the vertex's first word */
    uint32_t word; /* how many have passed */
    bool writes;   /* they are stored; else loaded */
} tape;

static ir_ref vertex_plane(walk *w, ir_ref vertex)
{
    return t_offset(&w->t, ir_mul(w->t.f, vertex, t_u32(&w->t, tape_vertex_words(w->t.channels))), 1);
}

/* The next word: stored from *r, or loaded into it. */
static void value(tape *p, ir_type type, ir_ref *r)
{
    BL_ASSERT(p->word < tape_vertex_words(p->w->t.channels), "%u words of a vertex on the tape", p->word);
    ir_func *f = p->w->t.f;
    ir_ref at = kernel_sample_word(p->w, p->l, p->sample, t_offset(&p->w->t, p->plane, p->word++));
    if (p->writes)
        ir_store(f, BUFFER_SAMPLES, at, type == IR_BOOL ? ir_to_u32(f, *r) : *r);
    else if (type == IR_BOOL)
        *r = ir_ne(f, ir_load(f, IR_U32, BUFFER_SAMPLES, at), t_u32(&p->w->t, 0));
    else
        *r = ir_load(f, type, BUFFER_SAMPLES, at);
}

static void vector(tape *p, vec3 *v)
{
    value(p, IR_F32, &v->x), value(p, IR_F32, &v->y), value(p, IR_F32, &v->z);
}
static void colour(tape *p, color *v)
{
    for (uint32_t c = 0; c < p->w->t.channels; c++)
        value(p, IR_F32, &v->c[c]);
}

/* si: the surface at the vertex, which carries the light if the light was hit. */
static void light(tape *p, walk_light *l, const interaction *si)
{
    value(p, IR_BOOL, &l->there);
    value(p, IR_U32, &l->cls), value(p, IR_U32, &l->record);
    value(p, IR_F32, &l->uv.x), value(p, IR_F32, &l->uv.y);
    value(p, IR_F32, &l->distance), value(p, IR_BOOL, &l->facing);
    if (l->sampled)
        vector(p, &l->ref), vector(p, &l->d);
    else
        l->on = surface_of_light(&p->w->t, si, l->there);
    if (l->sampled && p->w->plan->light_needs & NEED_FACE)
        value(p, IR_U32, &l->on.face), value(p, IR_F32, &l->on.b.x), value(p, IR_F32, &l->on.b.y);
}

static void surface_of(tape *p, interaction *si)
{
    ref_list r = refs_fields();
    value(p, IR_U32, &si->shape), value(p, IR_U32, &si->entry);
    interaction_complete(&p->w->t, si);
    interact_results_visit(&p->w->t, &r, si);
    for (uint32_t k = 0; k < r.count; k++)
        value(p, IR_F32, &r.at[k]);
    refs_rewind(&r, REFS_READ);
    interact_results_visit(&p->w->t, &r, si);
    value(p, IR_F32, &si->b.x), value(p, IR_F32, &si->b.y);
}

/* All words of a vertex, to the tape or from it. */
static void pass_vertex(tape *p, tape_vertex *x)
{
    walk_vertex *v = &x->v;
    bool lights = p->w->plan->scene->emitters.count > 0;
    surface_of(p, &v->si);
    value(p, IR_BOOL, &v->goes_on);
    value(p, IR_U32, &v->bsdf_class), value(p, IR_U32, &v->bsdf_record);
    vector(p, &v->wi), vector(p, &v->to_light), vector(p, &v->wo);
    value(p, IR_BOOL, &v->sample.delta), value(p, IR_U32, &v->sample.lobe);
    colour(p, &x->whole), colour(p, &x->own), value(p, IR_F32, &x->inverse_pdf);
    colour(p, &x->k.for_light), colour(p, &x->k.for_sample);
    if (lights)
        light(p, &v->hit, &v->si), value(p, IR_F32, &v->hit_mis);
    if (lights && p->w->next_event) {
        light(p, &v->light, &v->si);
        colour(p, &x->k.light_radiance), value(p, IR_F32, &x->k.light_scale.c[0]);
        x->k.light_scale = color_all(x->k.light_scale.c[0]);
    }
}

/* The vertex that words are loaded into. Fields that the tape does not have are 0. */
static tape_vertex empty_vertex(walk *w)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    tape_vertex x = {.v = {.si = {.p = v3(zero, zero, zero)}}};
    x.v.si.ng = x.v.si.ns = x.v.si.dp_du = x.v.si.dp_dv = x.v.si.p;
    x.v.si.uv = x.v.si.b = (vec2){zero, zero};
    x.v.si.valid = ir_bool(t->f, true);
    x.v.light.sampled = w->next_event;
    x.v.light_weight = zero;
    x.k.hit_radiance = color_all(zero); /* used by attached weights only */
    return x;
}

/* ---- storing: from the first vertex to the last ---- */

typedef struct store_state {
    walk_position at;
    throughput b;
    color L;
    film_value sum;
} store_state;

static void state_store(walk *w, loop_state *s, store_state *p)
{
    state_position(w, s, &p->at), state_throughput(w, s, &p->b);
    state_color(s, &w->t, &p->L), state_film(w, s, &p->sum);
}

/* One vertex, visited and stored. Returns whether the path goes on. */
static ir_ref record(walk *w, const lane *l, store_state *p)
{
    tracer *t = &w->t;
    tape_vertex x = {.v = walk_visit(w, p->at)};
    x.k = contribute(w, &x.v, &p->at, &p->b);
    x.own = color_add(t, x.k.hit, x.k.light);
    x.whole = walk_weigh(w, p->at, throughput_whole(w, &p->b));
    p->L = color_add(t, p->L, color_mul(t, throughput_whole(w, &p->b), x.own));
    passage onward = throughput_pass(w, p->at.depth, &x.v, x.k.for_sample, &p->b);
    x.inverse_pdf = onward.inverse_pdf;
    tape to = {w, l, p->at.sample, vertex_plane(w, p->at.depth), 0, true};
    pass_vertex(&to, &x);
    p->at = walk_next(w, p->at, &x.v, onward.alive);
    return onward.alive;
}

/* Where a path has ended: stores its number of vertices, 0 if its radiance is not finite. */
static void finish_path(walk *w, const lane *l, store_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), finite = color_finite(t, p->L), zero = t_f32(t, 0);
    film_value weighed = film_of(w, &p->at, p->L);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_if(f, ended);
    ir_store(f, BUFFER_SAMPLES, kernel_sample_word(w, l, p->at.sample, t_u32(t, 0)),
             ir_select(f, finite, p->at.depth, t_u32(t, 0)));
    ir_else(f);
    ir_endif(f);
    ir_ref add = ir_and(f, ended, finite);
    for (uint32_t c = 0; c < FILM_MOST; c++) {
        if (c < w->film_channels)
            film_take(w, add, weighed.c[c], &p->sum.c[c], NULL);
        if (c < t->channels)
            p->L.c[c] = ir_select(f, alive, p->L.c[c], zero);
    }
    throughput_restart(w, alive, &p->b);
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, ended));
}

bl_result kernel_tape(walk *w, ir_module *m)
{
    BL_ASSERT(w->pass == RENDER_TAPE && !w->volumetric, "a tape of media, or in pass %d", (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    store_state p = {.at = walk_before(w, l.first), .b = throughput_start(w), .L = color_all(t_f32(t, 0))};
    p.sum = kernel_load_sum(w, l.film, l.inside);
    loop_state state = {0}, next = {0};
    state_store(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_store(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    p.at = walk_start(w, walk_begins(w, &p.at), p.at);
    ir_ref alive = record(w, &l, &p);
    finish_path(w, &l, &p, alive);
    state_store(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_store(w, &state, &p);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, p.sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}

/* ---- loading: from the last vertex to the first ---- */

/* Backpropagates through vertex number `vertex` of the path, where `there`. *incoming: in, the radiance that
 * arrives there; out, the radiance that arrives at the vertex before. */
static void reverse(tape *from, ir_ref vertex, color dL, ir_ref there, color *incoming)
{
    walk *w = from->w;
    tracer *t = &w->t;
    tape_vertex x = empty_vertex(w);
    from->plane = vertex_plane(w, vertex);
    pass_vertex(from, &x);
    x.v.frame = surface_frame(t, &x.v.si);
    color arrived = color_scale(t, *incoming, x.inverse_pdf), onward = color_mul(t, x.whole, arrived);
    x.k.onward = &onward;
    replay_state p = {.b = throughput_start(w)};
    p.b.beta = x.whole;
    arrivals none = arrivals_start(w, &p, &x.v);
    adjoint(w, &p, &(vertex_adjoint){&x.v, &x.k, dL, there}, &none);
    *incoming = color_add(t, x.own, color_mul(t, x.k.for_sample, arrived));
}

bl_result kernel_tape_adjoint(walk *w, ir_module *m)
{
    BL_ASSERT(w->pass == RENDER_TAPE_ADJOINT && !w->motion->chains, "a tape with motion %s, in pass %d",
              w->motion->name, (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    film_value film_dL = replay_sample_adjoint(w, &l);
    color none = color_all(t_f32(t, 0));
    ir_ref zero = t_u32(t, 0), one = t_u32(t, 1);
    /* sample; number of vertices that are left, or 0 where a path begins; radiance that arrives */
    ir_ref state[2 + COLOR_MOST] = {l.first, zero};
    memcpy(state + 2, none.c, sizeof none.c);
    ir_ref loop = ir_loop(f, state, 2 + t->channels);
    ir_while(f, ir_lt(f, state[0], l.last));
    walk_set_wavelengths(w, state[0]);
    color dL = film_adjoint_unweighed(w, film_dL); /* the tape has the weight */
    ir_ref count = ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, &l, state[0], zero));
    ir_ref left = ir_select(f, ir_eq(f, state[1], zero), count, state[1]), there = ir_gt(f, left, zero);
    ir_ref vertex = ir_select(f, there, ir_sub(f, left, one), zero);
    color incoming;
    memcpy(incoming.c, state + 2, sizeof incoming.c);
    tape from = {.w = w, .l = &l, .sample = state[0]};
    reverse(&from, vertex, dL, there, &incoming);
    ir_ref over = ir_eq(f, vertex, zero);
    incoming = color_select(t, over, none, incoming);
    ir_ref next[2 + COLOR_MOST] = {ir_add(f, state[0], ir_to_u32(f, over)), vertex};
    memcpy(next + 2, incoming.c, sizeof incoming.c);
    ir_endloop(f, loop, next, 2 + t->channels);
    ir_flush(f, BUFFER_GRADIENT, l.inside);
    ir_return(f, NULL, 0);
    return BL_OK;
}
