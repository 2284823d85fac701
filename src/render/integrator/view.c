/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients with respect to the camera, by the local convention (estimators.md 5): position on the film and on the lens stay, and so do the second
 * hit x2, the points on lights and the directions to what is infinitely far. The camera's ray and with it the first hit x1 follow the parameters, and
 * with x1: its texture coordinates and normal, the directions from it to the camera, to the light's point and to x2, the geometry terms of
 * the latter two (relative to what they were), and at x2 the direction back to x1. What a pixel does not see before and after the change,
 * silhouettes, edges of shadows, steps of textures, is left out; where x1 has a discrete lobe, the direction it goes on does not follow.
 *
 * Everything here happens in tracked evaluations only: x1 is found again from the tracked ray and the entry that was hit (walk_position.first).
 * In derivatives the values stay those of the path that was walked; in a frozen evaluation they move by as much as what they are made of.
 * Of a batch, and on instances of shape groups, nothing follows. */
#include "render/integrator/walk.h"

/* The camera's ray and x1 as functions of the camera. */
typedef struct first_hit {
    interaction si;
    vec3 d;
} first_hit;

enum { SLIDE_RESULTS = INTERACT_RESULTS + 2, VIEW_RESULTS = SLIDE_RESULTS + 3 };

bool view_moves(const walk *w) { return w->plan->sensor != NULL && !w->volumetric && walk_tracks(w); }

/* ---- traced functions ---- */

/* The hit of a ray on an entry that it is known to hit, differentiable in the ray: entry, data, o 3, d 3 -> surface_pack, barycentrics 2. */
static ir_func *make_slide(walk *w, const shape_kind_class *kind)
{
    ir_func *f = ir_func_create(w->t.f->module, "slide");
    tracer t = {.f = f, .plan = w->plan};
    ir_ref entry = ir_param(f, IR_U32), data = ir_param(f, IR_U32), p[6], hit[3], out[SLIDE_RESULTS];
    for (uint32_t k = 0; k < 6; k++)
        p[k] = ir_param(f, IR_F32);
    interaction si = {0};
    kind->intersect(&t, entry, vec3_at(p), vec3_at(p + 3), t_f32(&t, 0), t_f32(&t, 1e30f), hit);
    kind->interact(&t, entry, data, vec3_at(p), vec3_at(p + 3), hit[0], hit[1], hit[2], &si);
    si.p = v3_add(&t, vec3_at(p), v3_scale(&t, vec3_at(p + 3), hit[0]));
    uint32_t count = surface_pack(&t, &si, out);
    out[count] = hit[1], out[count + 1] = hit[2];
    ir_return(f, out, count + 2);
    return f;
}

/* pixel, sample, seed, stream, spp, entry, valid -> d 3, results of slide, zeros where not valid. tracked: of the values that are differentiated, or
 * frozen. */
static ir_func *make_view(walk *w, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, "view");
    walk own = *w;
    own.t = (tracer){.f = f, .plan = w->plan, .tracked = tracked, .frozen = w->pass == RENDER_FROZEN};
    own.pixel = ir_param(f, IR_U32);
    ir_ref sample = ir_param(f, IR_U32);
    own.seed = ir_param(f, IR_U32), own.stream = ir_param(f, IR_U32), own.spp = ir_param(f, IR_U32);
    ir_ref entry = ir_param(f, IR_U32), valid = ir_param(f, IR_BOOL), out[VIEW_RESULTS];
    walk_position at = walk_camera(&own, sample);
    ir_ref in[8] = {entry, t_word(&own.t, walk_shape_of(&own.t, entry), SHAPE_DATA), at.o.x, at.o.y, at.o.z, at.d.x, at.d.y, at.d.z};
    uint32_t count = 3 + w->fn.slide[0]->results.count;
    ir_ref branch = ir_if(f, valid); /* another ray may have no derivative there */
    ir_call(f, t_word(&own.t, entry, 9), w->fn.slide, w->fn.kinds, in, 8, out + 3);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 3; k < count; k++)
        out[k] = ir_phi(f, branch, out[k], t_f32(&own.t, 0));
    vec3_put(at.d, out);
    ir_return(f, out, count);
    return f;
}

void view_begin(walk *w)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT && used < w->fn.kinds; k++)
        if (w->plan->scene->kind_used[k] || (k == 0 && w->plan->scene->primitives.count == 0))
            w->fn.slide[used++] = make_slide(w, shape_kinds[k]);
    w->fn.view = make_view(w, true);
    w->fn.view_before = w->pass == RENDER_FROZEN ? make_view(w, false) : w->fn.view;
}

/* ---- at a vertex ---- */

enum { ON_INSTANCE = 1u << 30 }; /* of view_key.entry */

void view_leave_instances(walk *w, walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref inside = ir_ne(f, v->si.level, t_word(t, t_u32(t, 0), HEADER_LEVEL)), bit = t_u32(t, ON_INSTANCE);
    ir_ref here = ir_and(f, v->key.first, inside);
    v->key.entry = ir_or(f, v->key.entry, ir_select(f, here, bit, t_u32(t, 0)));
    ir_ref outside = ir_lt(f, v->key.entry, bit);
    v->key.surface = ir_and(f, v->key.surface, outside), v->key.second = ir_and(f, v->key.second, outside);
}

static first_hit look(walk *w, ir_func **view, const view_key *key)
{
    ir_func *f = w->t.f;
    ir_ref valid = ir_or(f, ir_and(f, key->first, key->surface), key->second);
    ir_ref in[7] = {w->pixel, key->sample, w->seed, w->stream, w->spp, key->entry, valid}, out[VIEW_RESULTS];
    first_hit x = {.d = v3_none()};
    ir_call(f, t_u32(&w->t, 0), view, 1, in, 7, out);
    uint32_t last = (*view)->results.count;
    x.d = vec3_at(out);
    surface_unpack(&w->t, out + 3, &x.si);
    x.si.b = (vec2){out[last - 2], out[last - 1]};
    return x;
}

/* Of x1: as the values that are differentiated (or frozen) have it, and as those have it that decide the path, which is the same but for frozen
 * evaluations. */
typedef struct two_hits {
    first_hit now, before;
} two_hits;

static two_hits look_twice(walk *w, const view_key *key)
{
    two_hits x = {.now = look(w, &w->fn.view, key)};
    x.before = w->pass == RENDER_FROZEN ? look(w, &w->fn.view_before, key) : x.now;
    return x;
}

/* `at` (detached, but for what it follows already), moved as far as `now` is from `before`; only where condition. In derivatives that is the value of
 * `at` with the derivative of `now`. */
static ir_ref follow(walk *w, ir_ref condition, ir_ref at, ir_ref now, ir_ref before)
{
    ir_func *f = w->t.f;
    ir_ref moved = w->pass == RENDER_FROZEN ? ir_add(f, at, ir_sub(f, now, before)) : ir_replace_grad(f, ir_detach(f, at), now);
    return ir_select(f, condition, moved, at);
}

static vec3 follow3(walk *w, ir_ref condition, vec3 at, vec3 now, vec3 before)
{
    return v3(follow(w, condition, at.x, now.x, before.x), follow(w, condition, at.y, now.y, before.y), follow(w, condition, at.z, now.z, before.z));
}

/* now / before, where condition and `before` is not 0; else 1. */
static ir_ref relative(walk *w, ir_ref condition, ir_ref now, ir_ref before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), good = ir_and(f, condition, ir_gt(f, before, t_f32(t, 0)));
    ir_ref ratio = ir_div(f, now, ir_detach(f, ir_select(f, good, before, one)));
    return ir_select(f, good, w->pass == RENDER_FROZEN ? ratio : ir_replace_grad(f, one, ratio), one);
}

/* A point as seen from x1: direction, distance and geometry term |n . d| / distance^2. */
typedef struct sight {
    vec3 d;
    ir_ref distance, term;
} sight;

static sight see(tracer *t, vec3 from, vec3 to, vec3 n)
{
    ir_func *f = t->f;
    vec3 along = v3_sub(t, to, from);
    sight s = {.d = v3_none(), .distance = ir_max(f, v3_length(t, along), t_f32(t, 1e-20f))};
    s.d = v3_scale(t, along, ir_div(f, t_f32(t, 1), s.distance));
    s.term = ir_div(f, ir_abs(f, v3_dot(t, n, s.d)), t_sqr(t, s.distance));
    return s;
}

/* The point on a sampled light; of one that is not on a shape any point in its direction. */
static vec3 light_point(walk *w, const walk_light *light)
{
    ir_ref distance = ir_select(w->t.f, light->on_shape, light->distance, t_f32(&w->t, 1));
    return v3_detach(&w->t, v3_add(&w->t, light->ref, v3_scale(&w->t, light->d, distance)));
}

void view_place_light(walk *w, walk_light *light)
{
    tracer *t = &w->t;
    two_hits x = look_twice(w, &light->key);
    vec3 y = light_point(w, light), n = v3_detach(&w->t, light->n);
    sight now = see(t, x.now.si.p, y, n), before = see(t, x.before.si.p, y, n);
    ir_ref first = ir_and(t->f, light->key.first, light->key.surface);
    light->ref = follow3(w, first, v3_detach(&w->t, light->ref), x.now.si.p, x.before.si.p);
    ir_ref area = ir_and(t->f, first, light->on_shape);
    light->d = follow3(w, area, v3_detach(&w->t, light->d), now.d, before.d);
    light->distance = follow(w, area, ir_detach(t->f, light->distance), now.distance, before.distance);
}

vec2 view_uv(walk *w, const walk_light *light)
{
    two_hits x = look_twice(w, &light->key);
    ir_ref here = light->key.surface;
    vec2 now = light_emission_uv(w, here, x.now.si.uv, x.now.d), before = light_emission_uv(w, here, x.before.si.uv, x.before.d);
    ir_ref first = light->key.first;
    if (!walk_locates(w->plan)) /* else where there is no surface, too */
        first = ir_and(w->t.f, first, light->key.surface);
    vec2 at = {ir_detach(w->t.f, light->uv.x), ir_detach(w->t.f, light->uv.y)};
    return (vec2){follow(w, first, at.x, now.x, before.x), follow(w, first, at.y, now.y, before.y)};
}

/* The arguments of walk_values as x1 makes them, in their order: first those of the first vertex, then wi at the second. */
typedef struct arguments {
    vec3 wi, light, wo, back;
    vec2 uv;
    ir_ref rest[SURFACE_ARGS];
    ir_ref sample_term, light_term;
} arguments;

static arguments make_arguments(walk *w, const walk_vertex *v, first_hit x, vec3 to_light)
{
    tracer *t = &w->t;
    arguments a = {.uv = x.si.uv, .sample_term = t_f32(t, 0), .light_term = t_f32(t, 0)};
    x.si.shape = v->si.shape, x.si.entry = v->si.entry;
    frame fr = surface_frame(t, &x.si), here = {v3_detach(&w->t, v->frame.s), v3_detach(&w->t, v->frame.t), v3_detach(&w->t, v->frame.n)};
    sight onward = see(t, x.si.p, v3_detach(&w->t, v->next_p), v3_detach(&w->t, v->next_ng));
    a.wi = frame_to_local(t, fr, v3_neg(t, x.d));
    a.light = frame_to_local(t, fr, to_light);
    a.wo = frame_to_local(t, fr, v3_select(t, v->next_valid, onward.d, v3_detach(&w->t, v->next_d)));
    vec3 x2 = v3_detach(&w->t, v3_select(t, v->key.second, v->si.p, v->next_p)); /* never x1 itself, whose direction from x1 has no derivative */
    a.back = frame_to_local(t, here, v3_normalize(t, v3_sub(t, x.si.p, x2)));
    surface_args(t, &x.si, fr, a.rest);
    a.sample_term = onward.term;
    if (v->light.sampled)
        a.light_term = see(t, x.si.p, light_point(w, &v->light), v3_detach(&w->t, v->light.n)).term;
    return a;
}

view_factors view_values(walk *w, const walk_vertex *v, vec3 to_light, ir_ref *in, uint32_t count)
{
    ir_func *f = w->t.f;
    ir_ref *wi = in + 1, *uv = in + 4, *light = in + 6, *wo = in + 9, *rest = in + 14;
    two_hits x = look_twice(w, &v->key);
    vec3 lit = v3_detach(&w->t, v->light.sampled ? v->light.d : to_light);
    arguments now = make_arguments(w, v, x.now, v->light.sampled ? to_light : lit), before = make_arguments(w, v, x.before, lit);
    ir_ref first = ir_and(f, v->key.first, v->key.surface), smooth = ir_and(f, first, ir_not(f, v->sample.delta));
    vec3_put(follow3(w, first, vec3_at(wi), now.wi, before.wi), wi);
    vec3_put(follow3(w, v->key.second, vec3_at(wi), now.back, before.back), wi);
    vec3 toward = follow3(w, first, v3_detach(&w->t, v->to_light), now.light, before.light);
    vec3_put(v3_select(&w->t, first, toward, vec3_at(light)), light); /* elsewhere it may follow the light */
    vec3_put(follow3(w, smooth, vec3_at(wo), now.wo, before.wo), wo);
    uv[0] = follow(w, first, uv[0], now.uv.x, before.uv.x), uv[1] = follow(w, first, uv[1], now.uv.y, before.uv.y);
    for (uint32_t k = 0; k + 14 < count; k++)
        if (ir_type_of(f, rest[k]) == IR_F32)
            rest[k] = follow(w, first, rest[k], now.rest[k], before.rest[k]);
    view_factors by = {.light = t_f32(&w->t, 1), .sample = relative(w, ir_and(f, smooth, v->next_valid), now.sample_term, before.sample_term)};
    if (v->light.sampled)
        by.light = relative(w, ir_and(f, first, v->light.on_shape), now.light_term, before.light_term);
    return by;
}
