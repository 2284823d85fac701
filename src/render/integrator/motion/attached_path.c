/* SPDX-License-Identifier: BSD-3-Clause
 * Paths that follow parameters: gradients with respect to the camera, and to what turns the directions of
 * mirrors and smooth glass, indices of refraction, normals, normal and bump maps (attached sampling, PRB
 * section 4.2, along chains of discrete lobes).
 *
 * A vertex is a function of the ray that leads to it. Which part of that ray moves is its link:
 *
 *   RAY    place and direction: from the camera, where its parameters are wanted, and behind a discrete lobe.
 *          The hit moves with the ray, and with it texture coordinates, normals, the directions to the
 *          sampled light's point and on, and their geometry terms.
 *   POINT  behind a vertex that moves and has no discrete lobe there (docs/theory/moving_geometry.md): the
 *          hit stays, the
 *          ray begins elsewhere, so that at the hit the direction back changes; and at the vertex before,
 *          direction and geometry term |n . d| / r^2.
 *   FIXED  neither: sampled by a vertex that stays, or on to what is infinitely far.
 *
 * Where a vertex that moves is followed by one whose lobe is discrete, the sampled direction is held in place
 * of the point, so that the chain behind is followed, too (RAY). Lights are then not sampled there, so no
 * weight against light sampling asks for the same convention.
 *
 * Everything here happens in tracked evaluations only, on the entry that is known to be hit. In derivatives
 * the values stay those of the path that was walked; in a frozen evaluation they move by as much as what they
 * are made of. What is seen before and not after a change, silhouettes, edges of shadows, steps of textures,
 * is left out. Of a batch nothing follows.
 *
 * Nothing is inverted, but a derivative may still be no number, or as good as none: at grazing incidence,
 * where reflection becomes total, after many magnifying mirrors. Then that of the ray is dropped, and counted
 * by depth. */
#include "render/integrator/motion/attached_path.h"
#include "render/integrator/motion/none.h"
#include "spirv_gen/ad/ad.h"

bool attached_path_wanted(const walk *w) { return attached_path_planned(w) && walk_tracks(w); }

bool attached_path_planned(const walk *w)
{
    return plan_attaches_paths(w->plan) && !w->volumetric && !(w->plan->moves & MOVE_HITS);
}

bool attached_keeps_ray(const walk *w) { return w->pass == RENDER_FROZEN || w->pass == RENDER_UNROLLED; }

ir_ref link_is(walk *w, ir_ref link, enum walk_link is)
{
    bool either = is == LINK_RAY && w->attaches;
    return (either ? ir_ge : ir_eq)(w->t.f, link, t_u32(&w->t, is));
}

uint32_t ray_width(const walk *w) { return w->attaches ? 7 : 6; }

uint32_t ray_pack(const walk *w, walk_ray r, ir_ref out[RAY_MOST])
{
    vec3_put(r.o, out), vec3_put(r.d, out + 3);
    out[6] = r.pdf;
    return ray_width(w);
}

walk_ray ray_unpack(const walk *w, const ir_ref *in)
{
    return (walk_ray){vec3_at(in), vec3_at(in + 3), w->attaches ? in[6] : (ir_ref){0}};
}

static ray_vertex look(walk *w, const walk_arrival *way, ir_func **slide, walk_ray along)
{
    tracer *t = &w->t;
    ir_ref moves = link_is(w, way->link, LINK_RAY);
    walk_hit hit = way->hit;
    hit.o = v3_select(t, moves, along.o, v3_detach(t, hit.o)),
    hit.d = v3_select(t, moves, along.d, v3_detach(t, hit.d));
    interaction si = walk_surface_met(w, hit, slide);
    return (ray_vertex){.si = si, .o = along.o, .d = hit.d};
}

two_vertices attached_look(walk *w, const walk_arrival *way)
{
    two_vertices x = {.now = look(w, way, w->fn.interact_tracked, way->now)};
    x.before = w->pass == RENDER_FROZEN
                   ? look(w, way, w->fn.slide_before, (walk_ray){.o = way->hit.o, .d = way->hit.d})
                   : x.now;
    return x;
}

vec3 shifted3(walk *w, ir_ref condition, vec3 at, vec3 now, vec3 before)
{
    return v3(walk_shifted(w, condition, at.x, now.x, before.x),
              walk_shifted(w, condition, at.y, now.y, before.y),
              walk_shifted(w, condition, at.z, now.z, before.z));
}

vec2 shifted2(walk *w, ir_ref condition, vec2 at, vec2 now, vec2 before)
{
    at = (vec2){ir_detach(w->t.f, at.x), ir_detach(w->t.f, at.y)};
    return (vec2){walk_shifted(w, condition, at.x, now.x, before.x),
                  walk_shifted(w, condition, at.y, now.y, before.y)};
}

ir_ref attached_ratio(walk *w, ir_ref condition, ir_ref now, ir_ref before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), good = ir_and(f, condition, ir_ne(f, before, t_f32(t, 0)));
    ir_ref ratio = ir_div(f, now, ir_detach(f, ir_select(f, good, before, one)));
    return ir_select(f, good, w->pass == RENDER_FROZEN ? ratio : ir_replace_grad(f, one, ratio), one);
}

/* A point as seen from a vertex: direction, distance and geometry term n . d / distance^2, whose sign divides
 * out: beyond the horizon a frozen one goes on as it was, so that its differences have the derivative's
 * mean. */
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
    s.term = ir_div(f, v3_dot(t, n, s.d), t_sqr(t, s.distance));
    return s;
}

/* ---- lights ---- */

/* The point on a sampled light; of one that is not on a shape any point in its direction. */
static vec3 light_point(walk *w, const walk_light *light)
{
    ir_ref distance = ir_select(w->t.f, light->attached.on_shape, light->distance, t_f32(&w->t, 1));
    return v3_detach(&w->t, v3_add(&w->t, light->ref, v3_scale(&w->t, light->d, distance)));
}

static void attached_light_reference(walk *w, walk_light *light, ir_ref *in)
{
    tracer *t = &w->t;
    two_vertices x = attached_look(w, &light->attached.arrival);
    vec3 y = light_point(w, light), n = v3_detach(t, light->n);
    sight now = see(t, x.now.si.p, y, n), before = see(t, x.before.si.p, y, n);
    ir_ref here = light->attached.arrival.hit.valid, area = ir_and(t->f, here, light->attached.on_shape);
    light->ref = shifted3(w, here, v3_detach(t, light->ref), x.now.si.p, x.before.si.p);
    light->d = shifted3(w, area, v3_detach(t, light->d), now.d, before.d);
    light->distance = walk_shifted(w, area, ir_detach(t->f, light->distance), now.distance, before.distance);
    vec3_put(light->ref, in + 1), vec3_put(light->d, in + 4), in[7] = light->distance;
}

static bool attached_emission(walk *w, walk_light *light)
{
    two_vertices x = attached_look(w, &light->attached.arrival);
    ir_ref here = light->attached.arrival.hit.valid,
           moves = link_is(w, light->attached.arrival.link, LINK_RAY);
    vec2 now = light_emission_uv(w, here, x.now.si.uv, x.now.d),
         before = light_emission_uv(w, here, x.before.si.uv, x.before.d);
    ir_ref on_surface = ir_and(w->t.f, moves, here);
    light->uv = shifted2(w, walk_locates(w->plan) ? moves : on_surface, light->uv, now, before);
    light->d = shifted3(w, moves, v3_detach(&w->t, light->d), x.now.d, x.before.d);
    light->on.b = shifted2(w, on_surface, light->on.b, x.now.si.b, x.before.si.b);
    light->on.p = shifted3(w, on_surface, v3_detach(&w->t, light->on.p), x.now.si.p, x.before.si.p);
    light->d_moves = true;
    return true;
}

/* ---- materials ---- */

/* The arguments of walk_values as the ray makes them, in their order. */
typedef struct arguments {
    frame frame;
    vec3 wi, light, wo;
    vec2 uv;
    ir_ref rest[SURFACE_ARGS];
    ir_ref sample_term, light_term;
    ir_ref density, light_pdf; /* heading */
} arguments;

/* From the vertex to where the ray begins. */
static vec3 back(walk *w, const walk_arrival *way, const ray_vertex *x)
{
    tracer *t = &w->t;
    ir_ref turns = ir_and(t->f, link_is(w, way->link, LINK_POINT), way->hit.valid);
    vec3 from = v3_select(t, turns, v3_sub(t, x->o, x->si.p), v3_neg(t, x->d));
    return v3_select(t, turns, v3_normalize(t, from), from);
}

/* bool: as if there were no surface */
static ir_ref goes_through(walk *w, const walk_vertex *v)
{
    return ir_ge(w->t.f, v->sample.lobe, t_u32(&w->t, LOBE_NULL));
}

/* Where a discrete lobe leads, or an attached sample, in the world; elsewhere any. Of the latter: */
typedef struct heading {
    vec3 d;
    ir_ref density;        /* given the choices that were made */
    ir_ref pdf, light_pdf; /* of d; of the direction to the sampled light */
} heading;

static heading attached(walk *w, const walk_vertex *v, const interaction *si, frame fr, vec3 wi,
                        vec3 to_light, bool before)
{
    ir_ref in[17 + SURFACE_ARGS] = {v->bsdf_record, wi.x,     wi.y,           wi.z,
                                    si->uv.x,       si->uv.y, v->sample.lobe, v->sample.delta};
    ir_ref out[6];
    vec3 held = frame_to_local(&w->t, fr, v3_detach(&w->t, v->next_d)); /* it stays in the world */
    vec3_put(v3_select(&w->t, v->attached.density_only, held, v3_detach(&w->t, v->wo)), in + 8),
        vec3_put(to_light, in + 11);
    in[14] = v->attached.u1, in[15] = v->attached.u2;
    uint32_t count = 16 + surface_args(&w->t, si, fr, in + 16);
    ir_call(w->t.f, v->bsdf_class, before ? w->fn.attach_before : w->fn.attach, w->plan->bsdfs.count, in,
            count, out);
    return (heading){vec3_at(out), out[3], out[4], out[5]};
}

/* to_light: local */
static heading turned(walk *w, const walk_vertex *v, const ray_vertex *x, vec3 to_light, bool before)
{
    tracer *t = &w->t;
    interaction si = x->si;
    si.shape = v->si.shape, si.entry = v->si.entry;
    frame fr = surface_frame(t, &si);
    vec3 wi = frame_to_local(t, fr, back(w, &v->attached.arrival, x));
    heading h = {.density = {0}};
    if (w->attaches) {
        h = attached(w, v, &si, fr, wi, to_light, before);
        h.d = v3_select(t, goes_through(w, v), x->d, v3_normalize(t, frame_to_world(t, fr, h.d)));
        return h;
    }
    ir_ref in[7 + SURFACE_ARGS] = {v->bsdf_record, wi.x, wi.y, wi.z, si.uv.x, si.uv.y, v->sample.lobe},
                  out[3];
    uint32_t count = 7 + surface_args(t, &si, fr, in + 7);
    ir_call(t->f, v->bsdf_class, before ? w->fn.turn_before : w->fn.turn, w->plan->bsdfs.count, in, count,
            out);
    h.d = v3_select(t, goes_through(w, v), x->d, v3_normalize(t, frame_to_world(t, fr, vec3_at(out))));
    return h;
}

/* bool: the sample leads where its lobe does, not to where it has led */
static ir_ref leads(walk *w, const walk_vertex *v)
{
    return w->attaches ? ir_or(w->t.f, v->sample.delta,
                               ir_and(w->t.f, v->attached.sampled, ir_not(w->t.f, v->attached.density_only)))
                       : v->sample.delta;
}

static arguments make_arguments(walk *w, const walk_vertex *v, ray_vertex x, vec3 to_light, bool before)
{
    tracer *t = &w->t;
    arguments a = {.uv = x.si.uv, .sample_term = t_f32(t, 0), .light_term = t_f32(t, 0)};
    x.si.shape = v->si.shape, x.si.entry = v->si.entry;
    a.frame = surface_frame(t, &x.si);
    sight onward = see(t, x.si.p, v3_detach(t, v->attached.next_p), v3_detach(t, v->attached.next_ng));
    a.wi = frame_to_local(t, a.frame, back(w, &v->attached.arrival, &x));
    a.light = frame_to_local(t, a.frame, to_light);
    vec3 wo = v3_select(t, link_is(w, v->attached.onward, LINK_POINT), onward.d, v3_detach(t, v->next_d));
    heading h = turned(w, v, &x, a.light, before);
    a.wo = frame_to_local(t, a.frame, v3_select(t, leads(w, v), h.d, wo));
    a.density = h.density, a.light_pdf = h.light_pdf;
    surface_args(t, &x.si, a.frame, a.rest);
    a.sample_term = onward.term;
    if (v->light.sampled)
        a.light_term = see(t, x.si.p, light_point(w, &v->light), v3_detach(t, v->light.n)).term;
    return a;
}

/* What attached sampling divides by is tracked, the density of the direction given the choices: in place of
 * what the path was weighed by, whose value stays. */
static void attached_factors(walk *w, const walk_vertex *v, const walk_light *light, const arguments *now,
                             const arguments *before, motion_factors *by)
{
    tracer *t = &w->t;
    ir_ref one = t_f32(t, 1), taken = attached_ratio(w, v->attached.sampled, t_ratio(t, one, now->density),
                                                     t_ratio(t, one, before->density));
    by->sample = ir_mul(t->f, by->sample, taken);
    if (w->next_event)
        by->light =
            ir_mul(t->f, by->light, attached_light_factor(w, v, light, now->light_pdf, before->light_pdf));
}

static void attached_arguments(walk *w, const walk_vertex *v, const walk_light *seen, ir_ref *in,
                               uint32_t count, motion_factors *by)
{
    ir_func *f = w->t.f;
    ir_ref *wi = in + 1, *uv = in + 4, *light = in + 6, *wo = in + 9, *rest = in + 14;
    two_vertices x = attached_look(w, &v->attached.arrival);
    vec3 lit = v3_detach(&w->t, v->light.sampled ? v->light.d : v->si.ns);
    arguments now = make_arguments(w, v, x.now, v->light.sampled ? seen->d : lit, false),
              before = w->pass == RENDER_FROZEN ? make_arguments(w, v, x.before, lit, true) : now;
    ir_ref here = v->attached.arrival.hit.valid;
    vec3_put(shifted3(w, here, vec3_at(wi), now.wi, before.wi), wi);
    vec3 toward = shifted3(w, here, v3_detach(&w->t, v->to_light), now.light, before.light);
    vec3_put(v3_select(&w->t, here, toward, vec3_at(light)), light); /* elsewhere it may follow the light */
    vec3_put(shifted3(w, here, vec3_at(wo), now.wo, before.wo), wo);
    uv[0] = walk_shifted(w, here, uv[0], now.uv.x, before.uv.x),
    uv[1] = walk_shifted(w, here, uv[1], now.uv.y, before.uv.y);
    for (uint32_t k = 0; k + 14 < count; k++)
        if (ir_type_of(f, rest[k]) == IR_F32)
            rest[k] = walk_shifted(w, here, rest[k], now.rest[k], before.rest[k]);
    by->light = t_f32(&w->t, 1);
    by->sample =
        attached_ratio(w, link_is(w, v->attached.onward, LINK_POINT), now.sample_term, before.sample_term);
    if (v->light.sampled)
        by->light =
            attached_ratio(w, ir_and(f, here, v->light.attached.on_shape), now.light_term, before.light_term);
    if (w->attaches)
        attached_factors(w, v, seen, &now, &before, by);
}

/* ---- the ray that goes on ---- */

/* v->attached.onward, from what else there is in v. */
static void choose_link(walk *w, walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref fixed = t_u32(t, LINK_FIXED), moves = link_is(w, v->attached.arrival.link, LINK_RAY);
    ir_ref delta = ir_or(f, ir_and(f, v->sample.delta, ir_or(f, moves, ir_not(f, goes_through(w, v)))),
                         ir_and(f, moves, v->attached.next_delta));
    ir_ref point =
        ir_select(f, ir_and(f, moves, ir_and(f, v->attached.next_valid, ir_not(f, v->sample.delta))),
                  t_u32(t, LINK_POINT), fixed);
    ir_ref onward = ir_select(f, delta, t_u32(t, LINK_RAY), point);
    if (w->attaches)
        onward = ir_select(f, v->attached.sampled, t_u32(t, LINK_ATTACHED), onward);
    v->attached.onward = ir_select(f, v->goes_on, onward, fixed);
}

walk_ray attached_next_ray(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    walk_ray next = {v3_detach(t, v->next_o), v3_detach(t, v->next_d), ir_detach(t->f, v->sample.pdf)};
    if (w->plan->bsdfs.count == 0)
        return next;
    two_vertices x = attached_look(w, &v->attached.arrival);
    vec3 any = v3_detach(t, v->to_light);
    heading now = turned(w, v, &x.now, any, false),
            before = w->pass == RENDER_FROZEN ? turned(w, v, &x.before, any, true) : now;
    ir_ref moves = ir_not(t->f, link_is(w, v->attached.onward, LINK_FIXED));
    next.o = shifted3(w, moves, next.o, x.now.si.p, x.before.si.p);
    next.d = shifted3(w, ir_and(t->f, moves, leads(w, v)), next.d, now.d, before.d);
    if (w->attaches)
        next.pdf = walk_shifted(w, ir_and(t->f, moves, v->attached.sampled), next.pdf, now.pdf, before.pdf);
    return next;
}

void drop_singular(walk *w, ir_ref when, ir_ref depth, ir_ref *derivatives)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref sane = ir_bool(f, true), most = t_f32(t, 1e30f);
    for (uint32_t k = 0; k < ray_width(w); k++)
        sane = ir_and(f, sane, ir_lt(f, ir_abs(f, derivatives[k]), most));
    for (uint32_t k = 0; k < ray_width(w); k++)
        derivatives[k] = ir_select(f, sane, derivatives[k], t_f32(t, 0));
    ir_ref word = ir_add(f, t_u32(t, STATUS_SINGULAR), ir_min(f, depth, t_u32(t, SINGULAR_DEPTHS - 1)));
    kernel_count_at(w, ir_and(f, when, ir_not(f, sane)), word);
}

walk_ray attached_camera_ray(walk *w, ir_ref sample)
{
    walk own = *w;
    own.t = walk_tracked(w);
    walk_position at = walk_camera(&own, sample);
    return (walk_ray){at.o, at.d, ir_detach(w->t.f, at.pdf)};
}

static void attached_camera(walk *w, walk_position *at)
{
    at->attached.link = t_u32(&w->t, w->plan->sensor ? LINK_RAY : LINK_FIXED);
    at->attached.now = (walk_ray){at->o, at->d, at->pdf};
    at->attached.count = t_u32(&w->t, 0);
    if (attached_keeps_ray(w) && w->plan->sensor)
        at->attached.now = attached_camera_ray(w, at->sample);
}

/* From a vertex that moves: where the ray that goes on will hit. */
static void look_ahead(walk *w, walk_vertex *v, const walk_position *before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position at = *before;
    ir_ref no = ir_bool(f, false), wanted = ir_and(f, ir_and(f, v->goes_on, ir_not(f, v->sample.delta)),
                                                   link_is(w, at.attached.link, LINK_RAY));
    if (w->attaches)
        wanted = ir_and(f, wanted, ir_not(f, v->attached.sampled));
    ir_ref branch = ir_if(f, wanted);
    at.o = v->next_o, at.d = v->next_d, at.tmax = t_f32(t, 1e30f);
    interaction si = walk_intersect(w, at, NULL);
    ir_ref block = t_offset(t, ir_mul(f, at.depth, t_u32(t, 2)), 4); /* of the next vertex */
    ir_ref delta = ir_and(f, si.valid, walk_sample_at(w, &si, &at, block).delta);
    vec3 p = v3_select(t, si.valid, si.p, v3_add(t, at.o, at.d)), ng = v3_select(t, si.valid, si.ng, at.d);
    ir_else(f);
    vec3 anywhere = v3_add(t, v->next_o, v->next_d); /* from where nothing that is not finite can come */
    ir_endif(f);
    v->attached.next_valid = ir_phi(f, branch, si.valid, no),
    v->attached.next_delta = ir_phi(f, branch, delta, no);
    v->attached.next_p = v3_phi(t, branch, p, anywhere),
    v->attached.next_ng = v3_phi(t, branch, ng, v->next_d);
    choose_link(w, v);
}

/* ---- as one of the ways to move ---- */

static void state_ray(const walk *w, loop_state *s, walk_ray *r)
{
    state_vec3(s, &r->o), state_vec3(s, &r->d);
    if (w->attaches)
        state_ref(s, &r->pdf);
}

static void state_attached(walk *w, loop_state *s, walk_position *at)
{
    state_ref(s, &at->attached.link);
    if (w->attaches)
        state_ref(s, &at->attached.count);
    if (attached_keeps_ray(w))
        state_ray(w, s, &at->attached.now);
    else if (s->reads)
        at->attached.now = (walk_ray){at->o, at->d, at->pdf};
}

static void attached_join(walk *w, ir_ref branch, const walk_position *camera, walk_position *at)
{
    ir_func *f = w->t.f;
    at->attached.link = ir_phi(f, branch, camera->attached.link, at->attached.link);
    if (w->attaches)
        at->attached.count = ir_phi(f, branch, camera->attached.count, at->attached.count);
    if (!attached_keeps_ray(w))
        return;
    ir_ref from[RAY_MOST], old[RAY_MOST];
    uint32_t count = ray_pack(w, camera->attached.now, from);
    ray_pack(w, at->attached.now, old);
    for (uint32_t k = 0; k < count; k++)
        old[k] = ir_phi(f, branch, from[k], old[k]);
    at->attached.now = ray_unpack(w, old);
}

static void attached_begun(walk *w, ir_ref fresh, walk_position *at)
{
    (void)fresh;
    if (!attached_keeps_ray(w))
        at->attached.now = (walk_ray){at->o, at->d, at->pdf};
}

static void attached_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive,
                          walk_position *next)
{
    (void)at, (void)alive;
    next->attached.link = v->attached.onward;
    next->attached.now = (walk_ray){next->o, next->d, next->pdf};
    if (w->attaches)
        next->attached.count = attached_next_count(w, v);
}

static void attached_met(walk *w, walk_vertex *v, const walk_position *at)
{
    (void)w;
    v->attached.arrival =
        (walk_arrival){.link = at->attached.link, .hit = v->met, .now = at->attached.now, .pdf = at->pdf};
    v->attached.count = at->attached.count;
    v->hit.attached.arrival = v->attached.arrival;
}

static void attached_light_chosen(walk *w, walk_vertex *v, vec3 normal)
{
    v->light.n = normal, v->light.attached.on_shape = light_is_on_shape(w, v->light.cls);
    v->light.attached.arrival = v->attached.arrival;
}

static uint32_t attached_inputs(walk *w, const walk_position *at, const walk_vertex *v,
                                ir_ref out[ARRIVALS_MOST])
{
    (void)v;
    return ray_pack(w, at->attached.now, out);
}

static uint32_t attached_onward(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST])
{
    return ray_pack(w, attached_next_ray(w, v), out);
}

/* Of the parameters of the camera, where its ray is the one that leads here. */
static void adjoint_camera(walk *w, const walk_position *at, ir_ref when, ir_ref carried[RAY_MOST])
{
    ir_func *f = w->t.f;
    ir_ref arrived[RAY_MOST];
    ir_if(f, ir_and(f, when, ir_eq(f, at->depth, t_u32(&w->t, 0))));
    ray_pack(w, attached_camera_ray(w, at->sample), arrived);
    ad_backward(f, arrived, carried, 6, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

static void attached_adjoint(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when,
                             arrivals *arrived, ir_ref carried[RAY_MOST])
{
    (void)v;
    drop_singular(w, when, at->depth, arrived->sum);
    for (uint32_t c = 0; c < ray_width(w); c++)
        carried[c] = ir_select(w->t.f, when, arrived->sum[c], carried[c]);
    if (w->plan->sensor)
        adjoint_camera(w, at, when, carried);
}

const walk_motion_class motion_attached = {
    .name = "attached",
    .chains = true,
    .state = state_attached,
    .before = none_before,
    .camera = attached_camera,
    .join = attached_join,
    .begun = attached_begun,
    .next = attached_next,
    .met = attached_met,
    .stands = none_visit,
    .light_chosen = attached_light_chosen,
    .sampled = attached_sampled,
    .look_ahead = look_ahead,
    .light_reference = attached_light_reference,
    .emission = attached_emission,
    .arguments = attached_arguments,
    .hit_mis = attached_hit_mis,
    .to_light = none_to_light,
    .inputs = attached_inputs,
    .onward = attached_onward,
    .adjoint = attached_adjoint,
};
