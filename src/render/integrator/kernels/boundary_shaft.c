/* SPDX-License-Identifier: BSD-3-Clause
 * Borders of shadows in volumetric walks, seen from a point of a light. What collisions and surfaces receive
 * from there jumps at the border of a shaft of shadow: at the points y behind an edge, as the light sees it.
 * With W the light that goes past the edge by solid angle, T transmittance, and l the length of the edge at a
 * right angle to the ray from the light,
 *
 *     dI = - integral over silhouettes seen from the light of  W (n . v)
 *            integral over y behind the edge of  (T_outer - T_inner) f(y) S(y)  ds dl
 *
 * where s is the distance along the ray, f the scattering coefficient times the phase function, and S(y) what
 * a path from the camera carries to y, by solid angle and squared distance. Where the ray ends on a surface
 * there is one more such y, with the material's value and without ds. Measured by solid angle and distance
 * from the light, lengths across the shaft grow by as much as irradiance falls, so W and v are those at the
 * edge.
 *
 * y is connected to one vertex x of a path from the camera: to the camera itself with probability 1/2, to its
 * first vertex with 1/4, and so on. Points of the ray are chosen in proportion to 1/|x - y|^2 (equiangular
 * sampling, Kulla and Fajardo 2012). v is the motion of the edge relative to the segment from y to the light,
 * and y moves as a vertex of the path behind x does (motion/local_volume.c): it is visited as one, with a
 * collision that is forced there.
 *
 * A light with extent is met by rays, too, so boundary_path.c finds the same light, and this pass has a share
 * (boundary_light_share). */
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/kernels/replay.h"
#include "render/integrator/motion/motion.h"

static const float NEARLY = 1e-3f; /* how much of its distance a surface may be off, where it is met again */

static vec3 along_ray(tracer *t, vec3 o, vec3 d, ir_ref distance)
{
    return v3_add(t, o, v3_scale(t, d, distance));
}

/* ---- the light's ray behind the edge ---- */

/* What lies on the ray that leads past the edge, away from the light. */
typedef struct shaft {
    vec3 o, d;
    ir_ref first, last; /* distances between which there may be media; last <= first: there are none */
    ir_ref surface;     /* bool: the ray ends on a surface, */
    ir_ref end, shape; /* at this distance; u32: the record of its shape, any valid one where there is none */
} shaft;

typedef struct shaft_state {
    vec3 o;
    ir_ref medium, going;
    ir_ref first, last, surface, end, shape;
} shaft_state;

static void state_shaft(walk *w, loop_state *s, shaft_state *x)
{
    state_vec3(s, &x->o), state_ref(s, &x->going), state_ref(s, &x->surface), state_ref(s, &x->end);
    state_ref(s, &x->shape);
    if (w->media)
        state_ref(s, &x->medium), state_ref(s, &x->first), state_ref(s, &x->last);
}

/* One surface. In which medium the ray is before it, the surface says where it is a border of media; before
 * the first one nothing says so, and there may be one. */
static void pass_surface(walk *w, const shaft *line, shaft_state *x, ir_ref unknown)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref tmax = ir_select(f, x->going, t_f32(t, 1e30f), t_f32(t, -1));
    interaction si = walk_intersect(w, (walk_position){.o = x->o, .d = line->d, .tmax = tmax}, NULL);
    ir_ref here = v3_dot(t, v3_sub(t, x->o, line->o), line->d),
           there = ir_select(f, si.valid, ir_add(f, here, si.t), t_f32(t, 1e30f)),
           through = ir_and(f, si.valid, surface_passes(w, &si)),
           ends = ir_and(f, x->going, ir_and(f, si.valid, ir_not(f, through)));
    if (w->media) {
        ir_ref before = medium_behind(w, &si, v3_neg(t, line->d), x->medium),
               sensors = t_word(t, t_u32(t, 0), HEADER_SENSOR_MEDIUM);
        ir_ref escapes = ir_and(f, ir_not(f, si.valid), ir_eq(f, before, unknown));
        before = ir_select(f, escapes, sensors, before);
        ir_ref inside = ir_and(f, x->going, ir_ne(f, before, t_u32(t, 0)));
        x->first = ir_select(f, inside, ir_min(f, x->first, here), x->first);
        x->last = ir_select(f, inside, there, x->last);
        x->medium = medium_behind(w, &si, line->d, x->medium);
    }
    x->surface = ir_or(f, x->surface, ends), x->end = ir_select(f, ends, there, x->end);
    x->shape = ir_select(f, ends, si.shape, x->shape);
    x->o = ray_offset(t, si.p, si.ng, line->d);
    x->going = ir_and(f, x->going, through);
}

static shaft trace_shaft(walk *w, vec3 o, vec3 d, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref unknown = t_u32(t, PLAN_NONE);
    shaft line = {.o = o, .d = d};
    shaft_state x = {.o = o,
                     .medium = unknown,
                     .going = when,
                     .first = t_f32(t, 1e30f),
                     .last = t_f32(t, 0),
                     .surface = ir_bool(f, false),
                     .end = t_f32(t, 0),
                     .shape = shape_of_entry(t, walk_no_entry(t))};
    loop_state state = {0}, next = {0};
    state_shaft(w, &state, &x);
    ir_ref loop = state_loop(f, &state);
    state_shaft(w, &state, &x);
    ir_while(f, x.going);
    pass_surface(w, &line, &x, unknown);
    state_shaft(w, &next, &x);
    state_endloop(f, loop, &state, &next);
    state_shaft(w, &state, &x);
    state_end(&state);
    line.first = x.first, line.last = x.last, line.surface = x.surface, line.end = x.end;
    line.shape = x.shape;
    return line;
}

/* ---- y ---- */

/* A point of the shaft's border. */
typedef struct shaft_point {
    vec3 p;
    ir_ref there;   /* bool */
    ir_ref inside;  /* bool: it lies in a medium, else on the surface at the end */
    ir_ref inverse; /* 1 / density of the choice */
} shaft_point;

/* A distance between the bounds of a ray in media, in proportion to 1/|x - y|^2. */
static ir_ref equiangular(walk *w, const shaft *line, vec3 x, ir_ref u, ir_ref *inverse)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 to = v3_sub(t, x, line->o);
    ir_ref nearest = v3_dot(t, to, line->d);
    ir_ref across = ir_max(f, v3_length(t, v3_sub(t, to, v3_scale(t, line->d, nearest))),
                           t_f32(t, 1e-6f * (w->plan->scene->radius + 1e-3f)));
    ir_ref from = ir_atan2(f, ir_sub(f, line->first, nearest), across),
           width = ir_sub(f, ir_atan2(f, ir_sub(f, line->last, nearest), across), from),
           angle = t_mad(t, u, width, from);
    ir_ref s = t_mad(t, across, t_ratio(t, ir_sin(f, angle), ir_cos(f, angle)), nearest);
    s = ir_min(f, ir_max(f, s, line->first), line->last);
    ir_ref square = ir_add(f, t_sqr(t, across), t_sqr(t, ir_sub(f, s, nearest)));
    *inverse = ir_div(f, ir_mul(f, width, square), across);
    return s;
}

static shaft_point choose_point(walk *w, const shaft *line, vec3 x, const random4 *r)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    shaft_point y = {along_ray(t, line->o, line->d, line->end), line->surface, ir_bool(f, false),
                     t_f32(t, 1)};
    if (!w->media)
        return y;
    ir_ref some = ir_gt(f, line->last, line->first), both = ir_and(f, some, line->surface), inverse;
    ir_ref s = equiangular(w, line, x, r->u[1], &inverse);
    y.inside = ir_and(f, some, ir_or(f, ir_not(f, both), ir_lt(f, r->u[0], t_f32(t, 0.5f))));
    y.there = ir_or(f, some, y.there);
    y.p = v3_select(t, y.inside, along_ray(t, line->o, line->d, s), y.p);
    y.inverse = ir_select(f, y.inside, inverse, y.inverse);
    y.inverse = ir_mul(f, y.inverse, ir_select(f, both, t_f32(t, 2), t_f32(t, 1)));
    return y;
}

/* ---- x ---- */

/* What sees y: the camera, or a vertex of a path. */
typedef struct onlooker {
    walk_vertex v;        /* as far as shadow_cross asks; the camera is like a collision */
    walk_position at;     /* before it */
    walk_position pixel;  /* of the path: whose pixel it is, where not `camera` */
    ir_ref there, camera; /* bool */
    ir_ref on_surface;    /* bool */
    color carried;        /* throughput to x, over the probability of its choice */
    walk_vertex vertex;   /* of the path, with its motion */
} onlooker;

static walk_position before_camera(walk *blind, ir_ref sample, const sensor_link *link)
{
    tracer *t = &blind->t;
    walk_position at = walk_before(blind, sample);
    at.tmax = t_f32(t, 1e30f), at.delta = ir_bool(t->f, true);
    at.pdf = t_f32(t, blind->behind_null ? -1 : 1);
    if (blind->media)
        at.medium = t_word(t, t_u32(t, 0), HEADER_SENSOR_MEDIUM);
    at.scattered = at.o = link->point;
    return at;
}

/* Whether paths may have vertices before y at all. */
static bool some_before(const walk *w)
{
    int32_t most = w->plan->scene->max_depth;
    return most < 0 || most > 2;
}

static onlooker find_onlooker(walk *w, walk *blind, ir_ref sample, ir_ref u, const sensor_link *link)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 none = v3_zero(t);
    boundary_choice choice = boundary_choose_vertex(w, u);
    onlooker x = {.at = before_camera(blind, sample, link),
                  .there = ir_bool(f, true),
                  .camera = ir_bool(f, true),
                  .on_surface = ir_bool(f, false),
                  .carried = color_all(choice.inverse)};
    x.v.si = (interaction){.p = link->point,
                           .ng = none,
                           .valid = ir_bool(f, false),
                           .shape = shape_of_entry(t, walk_no_entry(t))};
    x.v.flight.collides = ir_bool(f, true);
    if (!some_before(w))
        return x;
    ir_ref one = t_u32(t, 1), before = ir_max(f, choice.depth, one), depth = ir_sub(f, before, one);
    x.camera = ir_eq(f, choice.depth, t_u32(t, 0));
    boundary_way led = boundary_walk_to(blind, sample, depth, ir_not(f, x.camera));
    radiance_walk p = led.p;
    x.vertex = walk_visit(blind, p.at);
    ir_ref there = ir_and(f, ir_and(f, led.alive, x.vertex.goes_on), ir_eq(f, p.at.depth, depth)),
           collides = w->media ? x.vertex.flight.collides : ir_bool(f, false);
    if (w->media)
        radiance_cross(w, &p, &x.vertex);
    x.there = ir_or(f, x.camera, there), x.pixel = p.at;
    x.on_surface = ir_not(f, ir_or(f, x.camera, collides));
    x.carried = color_select(t, x.camera, x.carried, color_scale(t, p.beta, choice.inverse));
    x.at = position_select(blind, x.camera, x.at, p.at);
    interaction *si = &x.v.si;
    si->p = v3_select(t, x.camera, si->p, x.vertex.si.p),
    si->ng = v3_select(t, x.camera, none, x.vertex.si.ng);
    si->shape = ir_select(f, x.camera, si->shape, x.vertex.si.shape);
    si->valid = ir_and(f, ir_not(f, x.camera), x.vertex.si.valid);
    x.v.flight.collides = ir_or(f, x.camera, collides);
    return x;
}

/* ---- from x to y ---- */

/* The position of a path that goes from x toward y, on its way. */
typedef struct approach {
    walk_position at;
    ir_ref going, arrives; /* bool */
} approach;

static void state_approach(walk *w, loop_state *s, approach *a)
{
    state_position(w, s, &a->at), state_ref(s, &a->going), state_ref(s, &a->arrives);
}

/* Goes through a surface, up to the stretch in which y lies. */
static void approach_surface(walk *w, vec3 y, approach *a)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position *at = &a->at;
    ir_ref left = walk_far(w, v3_dot(t, v3_sub(t, y, at->o), at->d)), limit = ir_min(f, left, at->tmax);
    walk_hit hit;
    interaction si = walk_intersect(
        w, (walk_position){.o = at->o, .d = at->d, .tmax = ir_select(f, a->going, limit, t_f32(t, -1))},
        &hit);
    a->arrives =
        ir_or(f, a->arrives, ir_and(f, a->going, ir_and(f, ir_not(f, si.valid), ir_ge(f, at->tmax, left))));
    a->going = ir_and(f, a->going, ir_and(f, si.valid, surface_passes(w, &si)));
    if (w->motion->moves_stretches) {
        walk_border met = border_of(w, &hit, si.ng, at->scattered, at->d), *last = &at->local_volume.border;
        loop_state state = {0}, others = {0};
        state_border(w, &state, &met), state_border(w, &others, last);
        state_select(f, a->going, &state, &others);
        state_border(w, &state, last);
        state_end(&state);
    }
    if (w->media)
        at->medium = ir_select(f, a->going, medium_behind(w, &si, at->d, at->medium), at->medium);
    at->o = v3_select(t, a->going, ray_offset(t, si.p, si.ng, at->d), at->o);
    at->tmax = ir_select(f, a->going, t_f32(t, 1e30f), at->tmax);
    at->event = ir_add(f, at->event, t_u32(t, 1));
}

static walk_position go_to(walk *w, const walk_position *from, vec3 y, ir_ref when, ir_ref *arrives)
{
    ir_func *f = w->t.f;
    approach a = {*from, when, ir_bool(f, false)};
    loop_state state = {0}, next = {0};
    state_approach(w, &state, &a);
    ir_ref loop = state_loop(f, &state);
    state_approach(w, &state, &a);
    ir_while(f, a.going);
    approach_surface(w, y, &a);
    state_approach(w, &next, &a);
    state_endloop(f, loop, &state, &next);
    state_approach(w, &state, &a);
    state_end(&state);
    *arrives = a.arrives;
    return a.at;
}

/* The position behind x, on the way to y, as it moves: the segment swings about y where both lie on surfaces
 * of one shape, or y shines. */
static walk_position position_toward(walk *w, walk *blind, const onlooker *x, const shaft_point *y, vec3 d,
                                     ir_ref shape)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position at = x->at;
    vec3 from = x->v.si.p;
    if (some_before(w)) {
        walk_position behind = boundary_behind(w, &x->pixel, &x->vertex, d);
        walk_vertex v = x->vertex;
        ir_ref shines = ir_and(f, ir_not(f, y->inside),
                               ir_ne(f, t_word(t, shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE)));
        ir_ref both = ir_and(f, x->on_surface, ir_not(f, y->inside)),
               swings = local_volume_swings(w, both, x->v.si.shape, shape, shines);
        v.local_volume.next_reach = ir_select(f, swings, v3_length(t, v3_sub(t, y->p, from)), t_f32(t, -1));
        v.local_volume.next_target = ir_select(f, shines, shape, t_u32(t, 0));
        v.through = v.sample.delta = ir_bool(f, false);
        blind->motion->next(blind, &x->pixel, &v, ir_bool(f, true), &behind);
        at = position_select(blind, x->camera, at, behind);
    }
    at.o = ray_offset(t, from, x->v.si.ng, d), at.scattered = from, at.d = d;
    return at;
}

/* Visits y as the vertex behind x. *at: before it. *there: bool, it is met. */
static walk_vertex visit_point(const walk *blind, const shaft_point *y, const walk_position *at,
                               ir_ref *there)
{
    walk w = *blind;
    tracer *t = &w.t;
    ir_func *f = t->f;
    walk_position reaching = *at;
    ir_ref left = v3_dot(t, v3_sub(t, y->p, at->o), at->d);
    reaching.tmax = ir_select(f, *there, t_f32(t, 1e30f), t_f32(t, -1));
    if (w.media) {
        w.known.forces = true, w.known.forced = ir_select(f, y->inside, left, t_f32(t, -1));
        reaching.medium = ir_select(f, y->inside, at->medium, t_u32(t, 0));
    }
    walk_vertex v = walk_visit(&w, reaching);
    ir_ref off = ir_abs(f, ir_sub(f, v.met.t, left)), most = ir_mul(f, left, t_f32(t, NEARLY)),
           met = ir_and(f, v.met.valid, ir_lt(f, off, most));
    if (w.media)
        met = ir_and(f, ir_select(f, y->inside, v.flight.collides, met), v.samples_light);
    *there = ir_and(f, *there, ir_and(f, v.goes_on, met));
    return v;
}

/* ---- light ---- */

/* What a shadow ray of v lets through, toward a direction and up to a distance. */
static color let_through(walk *w, const walk_vertex *v, const walk_position *at, vec3 d, ir_ref distance,
                         ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_vertex from = *v;
    walk straight = *w;
    from.light_d = d, from.light.distance = distance, straight.known.on_line = true;
    walk_shadow s = shadow_cross(&straight, &from, at, when, false);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref clear = ir_and(f, s.open, ir_eq(f, s.zeros[c], t_u32(t, 0)));
        s.product.c[c] = ir_select(f, clear, s.product.c[c], t_f32(t, 0));
    }
    return s.product;
}

static bool some_pass(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        any |= bsdf_lets_through(w->plan->bsdfs.data[i]);
    return any;
}

/* By how much less of the light reaches y past the inner side of the edge. */
static color jump_at(walk *w, const boundary_point *b, const boundary_light *l, const walk_vertex *v,
                     const walk_position *at, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 to_edge = v3_sub(t, b->p, v->si.p);
    /* The shadow ray aims at a point, so a sky is taken to lie beyond the scene, but not infinitely far. */
    ir_ref reach = ir_min(f, l->reach, t_f32(t, boundary_far(w))),
           distance = ir_add(f, v3_length(t, to_edge), reach);
    if (edges_some_delta_light(w->plan->scene))
        distance = ir_select(f, l->delta, boundary_light_sampled(w, &l->e, v->si.p).distance, distance);
    color jump = {0};
    for (int k = 0; k < 1 + some_pass(w); k++) {
        vec3 past = v3_add(t, b->p, v3_scale(t, b->n, k ? ir_neg(f, b->offset) : b->offset));
        ir_ref asked = k && boundary_some_border(w) ? ir_and(f, when, ir_not(f, l->border)) : when;
        color through = let_through(w, v, at, v3_normalize(t, v3_sub(t, past, v->si.p)), distance, asked);
        jump = k ? color_add(t, jump, color_scale(t, through, t_f32(t, -1))) : through;
    }
    return jump;
}

/* What y scatters toward x of the light's irradiance at a right angle to its ray, by solid angle at x times
 * squared distance. */
static color scattered(walk *w, const walk_vertex *v, const walk_position *at, const shaft_point *y,
                       vec3 light)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color value = boundary_scattered(w, v, light);
    ir_ref from = ir_abs(f, v3_dot(t, v->si.ng, light)), to = ir_abs(f, v3_dot(t, v->si.ng, at->d)),
           cosines = t_ratio(t, to, from);
    if (!w->media)
        return color_scale(t, value, cosines);
    color coefficient = medium_scattering(w, at->medium, at->o, at->d, v->flight.t);
    return color_mul(t, value, color_select(t, y->inside, coefficient, color_all(cosines)));
}

/* ---- the kernel ---- */

/* How the edge moves relative to the segment from y to the light. */
static ir_ref motion_of(walk *w, const boundary_point *b, const boundary_light *l, const walk_vertex *v)
{
    tracer *t = &w->t;
    vec3 p = v3_detach(t, v->si.p), light = boundary_light_moved(w, l), edge;
    if (local_volume_wanted(w))
        p = v3_add(t, p, v->local_volume.motion.displacement);
    bool borders = boundary_light_edge(w, b, l, light, &edge);
    return boundary_motion(w, b,
                           &(boundary_segment){p, light, ir_bool(t->f, false), borders ? &edge : NULL, {0}});
}

static void add_forward(walk *w, const onlooker *x, light_splat splat, color c)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref finite = color_finite(t, c);
    kernel_count(w, ir_and(f, splat.there, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref there = ir_and(f, splat.there, finite);
    splat.there = ir_and(f, there, x->camera);
    splat_add(w, &splat, c, NULL);
    if (!some_before(w))
        return;
    film_value added = film_of(w, &x->pixel, c);
    splat_add_to_pixel(w, ir_and(f, there, ir_not(f, x->camera)), &added);
}

/* dL by what the sample adds. */
static color adjoint_of(walk *w, const boundary_loop *loop, const onlooker *x, light_splat splat)
{
    tracer *t = &w->t;
    splat.there = ir_and(t->f, splat.there, x->camera);
    color seen = splat_read(w, &splat, false).contribution;
    return some_before(w) ? color_select(t, x->camera, seen,
                                         film_adjoint(w, &x->pixel, replay_sample_adjoint(w, &loop->l)))
                          : seen;
}

bl_result kernel_edges_shaft(walk *w, ir_module *m)
{
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk blind = boundary_blind(w);
    boundary_light l;
    boundary_point b = boundary_light_pick(w, &loop, &l);
    random4 r = boundary_numbers(w, loop.sample, 0), more = boundary_numbers(w, loop.sample, 2);
    ir_ref lit = ir_and(f, b.there, ir_gt(f, color_max(t, l.radiance), t_f32(t, 0)));
    sensor_view view = walk_view(w);
    vec2 lens = {r.u[1], r.u[2]};
    sensor_link link = sensor_of(view.object)->link(t, &view, b.p, lens);
    onlooker x = find_onlooker(w, &blind, loop.sample, r.u[0], &link);
    lit = ir_and(f, lit, x.there);
    shaft line = trace_shaft(w, boundary_beside(w, &b), v3_neg(t, l.at.d), lit);
    shaft_point y = choose_point(w, &line, x.v.si.p, &more);
    lit = ir_and(f, lit, y.there);
    link = sensor_of(view.object)->link(t, &view, y.p, lens);
    ir_ref seen = ir_and(f, link.seen, link.behind_near);
    lit = ir_and(f, lit, ir_or(f, ir_not(f, x.camera), seen));
    vec3 near = along_ray(t, link.point, v3_sub(t, y.p, link.point), link.near);
    x.v.si.p = v3_select(t, x.camera, near, x.v.si.p);
    vec3 to = v3_sub(t, y.p, x.v.si.p);
    ir_ref distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    vec3 d = v3_scale(t, to, ir_div(f, t_f32(t, 1), distance));
    if (w->plan->scene->clipped)
        x.at.tmax = ir_mul(f, v3_length(t, v3_sub(t, y.p, link.point)), ir_sub(f, link.far, link.near));
    walk_position at = position_toward(w, &blind, &x, &y, d, line.shape);
    ir_ref arrives;
    at = go_to(&blind, &at, y.p, lit, &arrives);
    lit = ir_and(f, lit, arrives);
    blind.known.looks = w->plan->camera, blind.known.looks_now = x.camera;
    blind.known.film = link.position, blind.known.lens = lens;
    walk_vertex v = visit_point(&blind, &y, &at, &lit);
    color c = color_mul(t, color_mul(t, l.radiance, x.carried), scattered(w, &v, &at, &y, l.at.d));
    c = color_mul(t, c, let_through(w, &x.v, &x.at, d, distance, lit));
    c = color_mul(t, c, jump_at(w, &b, &l, &v, &at, lit));
    if (edges_light_shared(w->plan->scene))
        c = color_scale(t, c, boundary_light_share(w, &l, &v, v.wi, frame_to_local(t, v.frame, l.at.d)));
    ir_ref by = link.weight;
    if (some_before(w)) {
        color onward =
            color_scale(t, boundary_scattered(w, &x.vertex, d), ir_div(f, t_f32(t, 1), t_sqr(t, distance)));
        c = color_mul(t, c, color_select(t, x.camera, color_all(t_f32(t, 1)), onward));
        by = ir_select(f, x.camera, by, t_f32(t, 1));
    }
    by = ir_mul(f, ir_mul(f, by, y.inverse), ir_mul(f, b.weight, loop.scale));
    c = color_scale(t, c, ir_neg(f, by));
    ir_ref width = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_WIDTH)),
           height = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_HEIGHT)), motion = motion_of(w, &b, &l, &v);
    light_splat splat = {.there = ir_and(f, lit, loop.guide.usual),
                         .at = {ir_mul(f, link.position.x, width), ir_mul(f, link.position.y, height)}};
    if (boundary_forward(w)) {
        add_forward(w, &x, splat, color_scale(t, c, boundary_tangent(w, motion)));
    } else {
        color adjoint = adjoint_of(w, &loop, &x, splat), parts = color_mul(t, adjoint, c);
        ir_ref seed = color_sum(t, parts);
        boundary_backward(w, splat.there, &motion, &seed, 1);
    }
    ir_ref curve = boundary_some_border(w) ? ir_and(f, lit, ir_not(f, l.border)) : lit;
    boundary_end(w, &loop, curve, boundary_size(w, c), b.possible);
    ir_return(f, NULL, 0);
    return BL_OK;
}
