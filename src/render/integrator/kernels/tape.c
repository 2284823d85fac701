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
 * by the value. Derivatives are those of path/adjoint.c. In media the flight up to a vertex is stored with
 * the vertex: its ends, its weight, what the medium emits along it, and the transmittance toward the sampled
 * light. Then
 *
 *     R(k) = emitted(k) + weight(k) * (own light(k) + value(k) / density(k) * R(k + 1)).
 *
 * Points along a flight are not stored: they follow from its ends and from random numbers that are named, not
 * drawn. No ray is traced, but toward lights behind a surface that lets light through and whose own gradient
 * is wanted.
 *
 * Where the integrator says so, paths are attached (motion/attached_path.c): the ray that leads to a vertex,
 * and what its sample was made of, are stored, too, and the adjoint of the ray goes from vertex to vertex, as
 * along the chains of attached_replay.c. Here each path is one chain, without a second visit. The tape has no
 * surfaces that move, and in media no rays.
 *
 * A path among surfaces has max_depth vertices at most. In media it also crosses surfaces that are not there,
 * as often as it likes; so vertices behind UNIFORM_TAPE_ROOM are counted and not stored, and src/api/tape.c
 * walks again with more room.
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
    color whole;        /* throughput before it, and before the flight that leads there, times the sample's
                           weight; 0 where a factor was 0 */
    color emitted;      /* in media: light that the medium emits along that flight */
    color own;          /* light that the vertex contributes */
    ir_ref inverse_pdf; /* 1 / (density of the sample * survival probability) */
} tape_vertex;

/* A vertex's words on the tape, one after the other. */
typedef struct tape {
    walk *w;
    const lane *l;
    ir_ref sample;
    ir_ref vertex; /* u32: its number along the path */
    ir_ref plane;  /* u32: of the vertex's first word */
    uint32_t word; /* how many have passed */
    bool writes;   /* they are stored; else loaded */
} tape;

static uint32_t words_of(const walk *w)
{
    return tape_vertex_words(w->t.channels, w->volumetric, w->motion->chains);
}

static ir_ref vertex_plane(walk *w, ir_ref vertex)
{
    return t_offset(&w->t, ir_mul(w->t.f, vertex, t_u32(&w->t, words_of(w))), 1);
}

/* The next word: stored from *r, or loaded into it. */
static void value(tape *p, ir_type type, ir_ref *r)
{
    BL_ASSERT(p->word < words_of(p->w), "%u words of a vertex on the tape", p->word);
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

static void counts(tape *p, ir_ref zeros[COLOR_MOST])
{
    for (uint32_t c = 0; c < p->w->t.channels; c++)
        value(p, IR_U32, &zeros[c]);
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

/* The flight that leads to the vertex. What a stretch has besides follows from these. */
static void flight(tape *p, tape_vertex *x)
{
    walk *w = p->w;
    walk_flight *fl = &x->v.flight;
    walk_stretch *s = &fl->s;
    if (p->writes)
        s->medium = ir_select(w->t.f, s->there, s->medium, t_u32(&w->t, 0));
    if (p->writes && ir_is_none(fl->mean)) /* no medium is heterogeneous */
        fl->mean = t_f32(&w->t, 0);
    value(p, IR_U32, &s->medium), vector(p, &s->o), vector(p, &s->d), value(p, IR_F32, &s->limit);
    value(p, IR_BOOL, &fl->collides), value(p, IR_F32, &fl->t), value(p, IR_F32, &fl->mean);
    colour(p, &fl->weight), counts(p, fl->zeros);
    if (emission_any(w))
        colour(p, &x->emitted);
    if (!p->writes)
        *s = stretch_in(w, s->medium, s->o, s->d, s->limit, p->sample, stretch_key(w, p->vertex, 0));
}

/* What lies between the vertex and the light that it has sampled. */
static void shadow(tape *p, walk_vertex *v)
{
    walk_shadow *s = &v->shadow;
    if (!shadow_is_wanted(p->w))
        return;
    value(p, IR_F32, &v->light_weight), vector(p, &v->light_d);
    colour(p, &s->product), counts(p, s->zeros);
    if (shadow_draws_point(p->w))
        value(p, IR_U32, &s->point.medium), value(p, IR_F32, &s->point.distance),
            value(p, IR_F32, &s->point.length);
    else
        value(p, IR_U32, &s->stages);
    if (!p->writes)
        s->open = v->light.there;
    if (!p->writes && shadow_draws_point(p->w)) /* no stage is met again */
        s->stages = t_u32(&p->w->t, 0);
}

/* The ray that leads to the vertex, and where it has met it. */
static void arrival(tape *p, walk_arrival *a)
{
    walk_hit *hit = &a->hit;
    value(p, IR_U32, &a->link), value(p, IR_BOOL, &hit->valid), value(p, IR_U32, &hit->entry);
    if (p->w->plan->scene->has_groups)
        value(p, IR_U32, &hit->level);
    value(p, IR_F32, &hit->t), value(p, IR_F32, &hit->b.x), value(p, IR_F32, &hit->b.y), vector(p, &hit->p);
    vector(p, &a->now.o), vector(p, &a->now.d);
    if (p->w->attaches)
        value(p, IR_F32, &a->now.pdf);
    if (!p->writes)
        hit->o = a->now.o, hit->d = a->now.d, a->pdf = a->now.pdf;
}

/* What an attached vertex has besides. */
static void attachment(tape *p, tape_vertex *x)
{
    walk_vertex *v = &x->v;
    attached_vertex *a = &v->attached;
    bool lights = p->w->plan->scene->emitters.count > 0;
    arrival(p, &a->arrival);
    value(p, IR_U32, &a->onward), vector(p, &a->next_p), vector(p, &a->next_ng);
    vector(p, &v->next_o), vector(p, &v->next_d);
    if (p->w->attaches) {
        value(p, IR_F32, &v->sample.pdf), value(p, IR_F32, &a->u1), value(p, IR_F32, &a->u2);
        value(p, IR_BOOL, &a->weighs), value(p, IR_BOOL, &a->sampled), value(p, IR_BOOL, &a->density_only);
    }
    if (!p->w->attaches && !p->writes) /* densities do not move */
        v->sample.pdf = t_f32(&p->w->t, 0);
    if (lights && p->w->wants.hit_mis)
        colour(p, &x->k.hit_radiance), value(p, IR_F32, &a->hit_pdf);
    if (lights && p->w->next_event) {
        vector(p, &v->light.n), value(p, IR_BOOL, &v->light.attached.on_shape);
        if (p->w->attaches)
            value(p, IR_F32, &a->light_pdf);
    }
    if (!p->writes)
        v->hit.attached.arrival = v->light.attached.arrival = a->arrival, v->hit.d = a->arrival.now.d;
}

/* All words of a vertex, to the tape or from it. */
static void pass_vertex(tape *p, tape_vertex *x)
{
    walk_vertex *v = &x->v;
    bool lights = p->w->plan->scene->emitters.count > 0;
    if (p->w->media)
        flight(p, x);
    if (p->w->volumetric)
        value(p, IR_F32, &v->collision_z);
    surface_of(p, &v->si);
    value(p, IR_BOOL, &v->goes_on);
    value(p, IR_U32, &v->bsdf_class), value(p, IR_U32, &v->bsdf_record);
    vector(p, &v->wi), vector(p, &v->to_light), vector(p, &v->wo);
    value(p, IR_BOOL, &v->sample.delta), value(p, IR_U32, &v->sample.lobe);
    colour(p, &x->whole), colour(p, &x->own), value(p, IR_F32, &x->inverse_pdf);
    colour(p, &x->k.for_light), colour(p, &x->k.for_sample);
    if (p->w->motion->chains)
        attachment(p, x);
    if (lights)
        light(p, &v->hit, &v->si), value(p, IR_F32, &v->hit_mis);
    if (lights && p->w->next_event) {
        light(p, &v->light, &v->si);
        colour(p, &x->k.light_radiance);
        if (p->w->volumetric) {
            colour(p, &x->k.light_scale), shadow(p, v);
            return;
        }
        value(p, IR_F32, &x->k.light_scale.c[0]);
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
    x.emitted = x.k.hit_radiance;
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

/* The flight up to a vertex of a path in media. */
static void fly(walk *w, store_state *p, tape_vertex *x)
{
    tracer *t = &w->t;
    if (emission_any(w)) {
        x->emitted = emission_radiance(w, &x->v.flight, false);
        p->L = color_add(t, p->L, color_mul(t, throughput_whole(w, &p->b), x->emitted));
    }
    throughput_fly(w, &x->v, &p->b);
}

/* Stores a vertex, where there is room for it. */
static void keep(tape *to, tape_vertex *x)
{
    walk *w = to->w;
    ir_func *f = w->t.f;
    if (!w->volumetric) {
        pass_vertex(to, x);
        return;
    }
    ir_if(f, ir_lt(f, to->vertex, ir_uniform(f, IR_U32, UNIFORM_TAPE_ROOM)));
    pass_vertex(to, x);
    ir_else(f);
    ir_endif(f);
}

/* One vertex, visited and stored. Returns whether the path goes on. */
static ir_ref record(walk *w, const lane *l, store_state *p)
{
    tracer *t = &w->t;
    tape_vertex x = {.v = walk_visit(w, p->at)};
    ir_ref vertex = walk_order(w, &p->at);
    x.whole = walk_weigh(w, p->at, throughput_whole(w, &p->b));
    if (w->media)
        fly(w, p, &x);
    x.k = contribute(w, &x.v, &p->at, &p->b);
    x.own = color_add(t, x.k.hit, x.k.light);
    p->L = color_add(t, p->L, color_mul(t, throughput_whole(w, &p->b), x.own));
    passage onward = throughput_pass(w, p->at.depth, &x.v, x.k.for_sample, &p->b);
    x.inverse_pdf = onward.inverse_pdf;
    tape to = {w, l, p->at.sample, vertex, vertex_plane(w, vertex), 0, true};
    keep(&to, &x);
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
             ir_select(f, finite, walk_order(w, &p->at), t_u32(t, 0)));
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
    BL_ASSERT(w->pass == RENDER_TAPE && !w->bends, "a tape of rays that bend, or in pass %d", (int)w->pass);
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

/* Backpropagates the flight up to a vertex, and what the medium emits on its way. *incoming: in, the radiance
 * that the vertex sends on; out, the radiance that arrives where the flight begins. */
static void reverse_flight(walk *w, const tape_vertex *x, color dL, ir_ref there, color *incoming)
{
    tracer *t = &w->t;
    const walk_flight *fl = &x->v.flight;
    arrivals none = {0};
    color before = color_mul(t, x->whole, dL),
          missing = color_mul(t, before, color_mul(t, fl->weight, *incoming)),
          passed = throughput_flown(w, &x->v);
    flight_adjoint(w, fl, there, throughput_where(w, fl->zeros, 0, missing), missing, &none);
    *incoming = color_mul(t, passed, *incoming);
    if (!emission_any(w))
        return;
    emission_adjoint(w, fl, there, x->emitted, before, &none);
    *incoming = color_add(t, *incoming, x->emitted);
}

/* Backpropagates through vertex number `vertex` of the path, where `there`. *incoming: in, the radiance that
 * arrives there; out, the radiance that arrives at the vertex before. along, where paths are attached: in,
 * the adjoint of the ray that goes on; out, that of the ray that leads here. */
static void reverse(tape *from, ir_ref vertex, color dL, ir_ref there, color *incoming,
                    ir_ref along[RAY_MOST])
{
    walk *w = from->w;
    tracer *t = &w->t;
    tape_vertex x = empty_vertex(w);
    from->vertex = vertex, from->plane = vertex_plane(w, vertex);
    pass_vertex(from, &x);
    x.v.frame = walk_frame(w, &x.v, &x.v.si);
    color whole = w->media ? color_mul(t, x.whole, throughput_flown(w, &x.v)) : x.whole;
    color arrived = color_scale(t, *incoming, x.inverse_pdf), onward = color_mul(t, whole, arrived);
    x.k.onward = &onward;
    replay_state p = {.at = walk_before(w, from->sample), .b = throughput_start(w)};
    p.b.beta = whole;
    if (w->volumetric)
        p.at.event = vertex;
    if (w->media)
        p.at.medium = ir_select(t->f, x.v.flight.s.there, x.v.flight.s.medium, t_u32(t, 0));
    p.at.depth = vertex;
    if (w->motion->chains)
        p.at.attached.link = x.v.attached.arrival.link, p.at.attached.now = x.v.attached.arrival.now;
    memcpy(p.chain.ray, along, sizeof p.chain.ray);
    arrivals arrived_at = arrivals_start(w, &p, &x.v);
    adjoint(w, &p, &(vertex_adjoint){&x.v, &x.k, dL, there}, &arrived_at);
    memcpy(along, p.chain.ray, sizeof p.chain.ray);
    *incoming = color_add(t, x.own, color_mul(t, x.k.for_sample, arrived));
    if (w->media)
        reverse_flight(w, &x, dL, there, incoming);
}

bl_result kernel_tape_adjoint(walk *w, ir_module *m)
{
    BL_ASSERT(w->pass == RENDER_TAPE_ADJOINT && (!w->motion->chains || !w->volumetric),
              "a tape with motion %s, in pass %d", w->motion->name, (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    film_value film_dL = replay_sample_adjoint(w, &l);
    color none = color_all(t_f32(t, 0));
    ir_ref zero = t_u32(t, 0), one = t_u32(t, 1);
    /* sample; number of vertices that are left, or 0 where a path begins; radiance that arrives; where paths
     * are attached, the adjoint of the ray that goes on */
    const uint32_t n = t->channels, width = w->motion->chains ? ray_width(w) : 0;
    ir_ref state[2 + COLOR_MOST + RAY_MOST] = {l.first, zero}, nothing = t_f32(t, 0);
    memcpy(state + 2, none.c, sizeof none.c);
    for (uint32_t k = 0; k < width; k++)
        state[2 + n + k] = nothing;
    ir_ref loop = ir_loop(f, state, 2 + n + width);
    ir_while(f, ir_lt(f, state[0], l.last));
    walk_set_wavelengths(w, state[0]);
    color dL = film_adjoint_unweighed(w, film_dL); /* the tape has the weight */
    ir_ref count = ir_load(f, IR_U32, BUFFER_SAMPLES, kernel_sample_word(w, &l, state[0], zero));
    ir_ref left = ir_select(f, ir_eq(f, state[1], zero), count, state[1]), there = ir_gt(f, left, zero);
    ir_ref vertex = ir_select(f, there, ir_sub(f, left, one), zero);
    color incoming;
    ir_ref along[RAY_MOST] = {nothing, nothing, nothing, nothing, nothing, nothing, nothing};
    memcpy(incoming.c, state + 2, sizeof incoming.c);
    memcpy(along, state + 2 + n, width * sizeof *along);
    tape from = {.w = w, .l = &l, .sample = state[0]};
    reverse(&from, vertex, dL, there, &incoming, along);
    ir_ref over = ir_eq(f, vertex, zero);
    incoming = color_select(t, over, none, incoming);
    ir_ref next[2 + COLOR_MOST + RAY_MOST] = {ir_add(f, state[0], ir_to_u32(f, over)), vertex};
    memcpy(next + 2, incoming.c, sizeof incoming.c);
    for (uint32_t k = 0; k < width; k++)
        next[2 + n + k] = ir_select(f, over, nothing, along[k]);
    ir_endloop(f, loop, next, 2 + n + width);
    ir_flush(f, BUFFER_GRADIENT, l.inside);
    ir_return(f, NULL, 0);
    return BL_OK;
}
