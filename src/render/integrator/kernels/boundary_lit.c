/* SPDX-License-Identifier: BSD-3-Clause
 * Borders of shadows that move. A point on a light is the viewpoint; behind the edge that is seen from there,
 * a surface has light on one side of the shadow's border and none on the other. From that surface importance
 * is gathered as in light tracing, by connecting vertices to the sensor. With S the splats of a path that
 * carries unit radiance, W the light that goes past the edge by solid angle, and l the length of the edge at
 * a right angle to the ray:
 *
 *     dI = - integral over lights and their silhouettes of  S W (n . v) dl
 *
 * v is the motion of the edge relative to the segment from the surface to the light. The surface's point
 * slides along the camera's ray if the camera sees it, else it is held as on any path; so splats of the first
 * vertex have a motion of their own, and a share (shares_of): boundary_path.c finds the same light, too.
 *
 * The border of a spot's cone that does not fade is one more such edge, near the light: what is outside of
 * the cone is in the shadow of a screen that moves with the light. Half of that light's samples lie on it. */
#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/vertex/plugin_functions.h"

/* At which share of the scene's radius a cone's border is taken, and how far inside of it its light is asked
 * for, as an angle. */
static const float BORDER_DISTANCE = 0.01f, BORDER_OFFSET = 1e-4f;

/* A light as an edge sees it. */
typedef struct lit_edge {
    light_emission e;
    ir_ref delta;   /* bool: the light is a point, or has one direction */
    walk_light at;  /* the light, sampled from the edge */
    color radiance; /* what goes past the edge by solid angle, over the density of the choice */
    ir_ref border;  /* bool, where some_border: the edge is the border of the light's cone */
    ir_ref along;   /* where some_border: the place on that border */
    ir_ref reach;   /* distance from the edge to the light; a large number where it is infinitely far */
} lit_edge;

/* A light sampled from a reference point. */
static emitter_sample sample_light(walk *w, const light_emission *e, vec3 ref)
{
    emitter_sample_arguments a = {ref, {t_f32(&w->t, 0.5f), t_f32(&w->t, 0.5f)}};
    emitter_sample s = {0};
    ref_list in = refs_for(e->record), out = refs_results();
    emitter_sample_visit(&in, &a);
    ir_call(w->t.f, e->cls, w->fn.emitter_sample, w->plan->emitters.count, in.at, in.count, out.at);
    emitter_sample_results_visit(w, &out, &s);
    return s;
}

static bool some_delta(const walk *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->plan->emitters.count; k++)
        any |= emitter_of(w->plan->emitters.data[k])->delta;
    return any;
}

static bool some_border(const walk *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->plan->emitters.count; k++)
        any |= emitter_of(w->plan->emitters.data[k])->border != NULL;
    return any;
}

/* The border of the light's cone. t: differentiated or not. */
static emitter_border border_of_light(walk *w, tracer *t, const light_emission *e, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    emitter_border found = {ir_bool(f, false), v3(zero, zero, zero), v3(one, zero, zero),
                            v3(zero, one, zero)};
    for (uint32_t k = 0; k < w->plan->emitters.count; k++) {
        const class_node *n = w->plan->emitters.data[k];
        if (!emitter_of(n)->border)
            continue;
        ir_ref branch = ir_if(f, ir_eq(f, e->cls, t_u32(t, k)));
        emitter_border own =
            emitter_of(n)->border(t, n, e->record, u, BORDER_DISTANCE * (w->plan->scene->radius + 1e-3f));
        ir_else(f);
        ir_endif(f);
        found.there = ir_phi(f, branch, own.there, found.there);
        found.p = v3_phi(t, branch, own.p, found.p), found.along = v3_phi(t, branch, own.along, found.along);
        found.light = v3_phi(t, branch, own.light, found.light);
    }
    return found;
}

/* Puts the segment on the border of the light's cone, where the random numbers say so (result: bool). */
static ir_ref take_border(walk *w, const light_emission *e, const random4 *r, boundary_point *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    emitter_border border = border_of_light(w, t, e, r->u[0]);
    ir_ref takes = ir_and(f, border.there, ir_lt(f, r->u[1], t_f32(t, 0.5f)));
    vec3 to = v3_sub(t, border.p, e->ray.p);
    ir_ref distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    b->there = ir_or(f, takes, b->there);
    b->p = v3_select(t, takes, border.p, b->p), b->n = v3_select(t, takes, border.light, b->n);
    b->d = v3_select(t, takes, v3_scale(t, to, ir_div(f, t_f32(t, 1), distance)), b->d);
    b->distance = ir_select(f, takes, distance, b->distance);
    b->weight = ir_select(f, takes, v3_length(t, border.along), b->weight);
    b->weight = ir_mul(f, b->weight, ir_select(f, border.there, t_f32(t, 2), t_f32(t, 1)));
    b->offset = ir_select(f, takes, ir_mul(f, distance, t_f32(t, BORDER_OFFSET)), b->offset);
    return takes;
}

/* The distance of a delta light, of which a sample is given. One that shines from infinity is sampled at a
 * distance just beyond the scene, where rays from its point would not be parallel. */
static ir_ref delta_reach(walk *w, ir_ref cls, const emitter_sample *s)
{
    ir_func *f = w->t.f;
    ir_ref reach = s->distance;
    for (uint32_t k = 0; k < w->plan->emitters.count; k++)
        if (!emitter_of(w->plan->emitters.data[k])->bound)
            reach = ir_select(f, ir_eq(f, cls, t_u32(&w->t, k)), t_f32(&w->t, boundary_far(w)), reach);
    return reach;
}

/* The point from which edges are looked for: on the light, or far out in its direction. */
static vec3 viewpoint_of(walk *w, const light_emission *e, ir_ref delta)
{
    tracer *t = &w->t;
    const render_scene *s = w->plan->scene;
    vec3 centre = v3(t_f32(t, s->center[0]), t_f32(t, s->center[1]), t_f32(t, s->center[2]));
    const float away = boundary_far(w);
    vec3 p = v3_select(t, e->far, v3_sub(t, centre, v3_scale(t, e->ray.d, t_f32(t, away))), e->ray.p);
    if (!some_delta(w))
        return p;
    emitter_sample seen = sample_light(w, e, centre);
    ir_ref reach = ir_min(t->f, delta_reach(w, e->cls, &seen), t_f32(t, away));
    return v3_select(t, delta, v3_add(t, centre, v3_scale(t, seen.d, reach)), p);
}

/* What the light sends past the edge at b, whose viewpoint it is. */
static void shine(walk *w, const boundary_point *b, lit_edge *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const emitter_ray *r = &l->e.ray;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), facing = ir_gt(f, v3_dot(t, r->ns, b->d), zero);
    ir_ref cosine = ir_select(f, facing, ir_abs(f, v3_dot(t, r->n, b->d)), zero);
    ir_ref area = ir_div(f, ir_mul(f, cosine, r->point_weight), t_sqr(t, b->distance));
    ir_ref by = ir_select(f, l->e.far, r->point_weight, area);
    l->reach = ir_select(f, l->e.far, t_f32(t, 1e30f), b->distance);
    l->radiance = color_scale(t, l->e.radiance, ir_mul(f, by, l->e.choice));
    l->at = (walk_light){.there = ir_bool(f, true), .cls = l->e.cls, .record = l->e.record, .sampled = true};
    l->at.uv = r->uv, l->at.distance = l->reach, l->at.facing = ir_bool(f, true), l->at.ref = b->p;
    l->at.d = v3_neg(t, b->d), l->at.on = (surface){.p = r->p, .face = r->face, .b = r->b}, l->at.n = r->n;
    if (!some_delta(w))
        return;
    vec3 ref = b->p;
    if (some_border(w))
        ref = v3_select(t, l->border, boundary_beside(w, b), ref);
    emitter_sample s = sample_light(w, &l->e, ref);
    walk_light beam = l->at;
    beam.d = s.d, beam.distance = s.distance, beam.uv = s.uv, beam.facing = s.facing;
    color sent =
        color_scale(t, walk_radiance(w, beam, false), ir_mul(f, l->e.choice, t_ratio(t, one, s.pdf)));
    l->radiance = color_select(t, l->delta, sent, l->radiance);
    l->reach = ir_select(f, l->delta, delta_reach(w, l->e.cls, &s), l->reach);
    l->at.d = v3_select(t, l->delta, s.d, l->at.d), l->at.uv.x = ir_select(f, l->delta, s.uv.x, l->at.uv.x);
    l->at.uv.y = ir_select(f, l->delta, s.uv.y, l->at.uv.y), l->at.distance = l->reach;
}

/* The point on the light, differentiated where lights move; else detached. */
static vec3 light_moved(walk *w, const lit_edge *l)
{
    tracer *t = &w->t;
    ir_ref reach = ir_min(t->f, l->reach, t_f32(t, boundary_far(w)));
    vec3 ref = v3_detach(t, l->at.ref), d = v3_detach(t, l->at.d);
    reach = ir_detach(t->f, reach);
    if (!w->fn.emitter_moved)
        return v3_add(t, ref, v3_scale(t, d, reach));
    walk_light light = l->at;
    light.ref = ref, light.d = d, light.distance = reach, light.n = v3_detach(t, light.n);
    ir_ref unused;
    walk_move_light(w, &light, &unused);
    return v3_add(t, ref, v3_scale(t, light.d, light.distance));
}

/* The two motions of the edge: for splats of the first vertex, and for those of later ones. */
static void motions_of(walk *w, const boundary_point *b, const lit_edge *l, const light_position *at,
                       const light_vertex *v, ir_ref out[2])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    sensor_view view = walk_view(w);
    vec2 lens = light_lens(w, at);
    sensor_link link = sensor_of(view.object)->link(t, &view, v->v.si.p, lens);
    walk_hit seen = v->v.met, held = v->v.met;
    seen.slides = ir_bool(f, true), held.slides = ir_bool(f, false);
    vec3 to = v3_sub(t, v->v.si.p, link.point);
    seen.t = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    seen.o = link.point, seen.d = v3_scale(t, to, ir_div(f, t_f32(t, 1), seen.t));
    held.o = v3_add(t, v->v.si.p, v->next_d), held.d = v3_neg(t, v->next_d), held.t = t_f32(t, 1);
    if (w->plan->sensor) {
        ray camera = boundary_camera_ray(w, link.position, lens);
        seen.o = camera.o, seen.d = camera.d;
    }
    vec3 y = light_moved(w, l), edge;
    ir_ref far = ir_bool(f, false);
    if (some_border(w)) {
        tracer reads = walk_differentiated(w);
        emitter_border border = border_of_light(w, &reads, &l->e, ir_detach(f, l->along));
        edge = v3_select(t, l->border, border.p, silhouette_moved(&reads, &b->place, b->p, y));
    }
    const walk_hit *hits[2] = {&seen, &held};
    for (int k = 0; k < 2; k++)
        out[k] = boundary_motion(
            w, b, &(boundary_segment){boundary_hit_moved(w, hits[k]), y, far, some_border(w) ? &edge : NULL});
}

/* ---- the share of this pass ---- */

/* What the pass takes of the light that reaches v, seen from the sensor and along the path that goes on: the
 * share of light sampling at v, of the two ways to find the light. boundary_path.c takes the rest. */
static void shares_of(walk *w, const lit_edge *l, const light_vertex *v, ir_ref out[2])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_light light = l->at;
    vec3 to = v3_sub(t, v3_add(t, l->at.ref, v3_scale(t, l->at.d, l->reach)), v->v.si.p);
    light.ref = v->v.si.p, light.distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    light.distance = ir_select(f, l->e.far, l->reach, light.distance);
    const vec3 seen[2] = {v->v.to_light, v->v.wo};
    ir_ref chosen = w->plan->lights_tree ? light_choice_probability(t, &v->v.si.p, l->e.index)
                                         : t_ratio(t, t_f32(t, 1), l->e.choice);
    for (int k = 0; k < 2; k++) {
        ir_ref density = boundary_material_density(w, &v->v, seen[k], v->v.wi);
        out[k] = light_share(w, &light, light.n, chosen, density);
    }
    out[1] = ir_select(f, v->v.sample.delta, t_f32(t, 1), out[1]);
}

/* ---- splats ---- */

typedef struct lit_state {
    light_position at;
    throughput b;
    ir_ref alive;
    color importance; /* of the vertices so far: the sum of dL/d(splat) times splat */
} lit_state;

static void state_lit(const walk *w, loop_state *s, lit_state *p)
{
    state_ref(s, &p->at.depth), state_vec3(s, &p->at.o), state_vec3(s, &p->at.d), state_ref(s, &p->at.tmax);
    state_throughput(w, s, &p->b), state_ref(s, &p->alive), state_color(s, &w->t, &p->importance);
}

/* The splat of a vertex. Returns its importance, backwards times dL/dI, forwards without. Forwards it is
 * added to the image, times `moved`. Neither where the pass learns (not usual). */
static color take_splat(walk *w, const light_vertex *v, const throughput *b, ir_ref there, ir_ref usual,
                        const color *moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    light_splat splat = v->splat;
    splat.there = ir_and(f, splat.there, there);
    color carried = color_mul(t, throughput_whole(w, b), light_splat_factor(w, v)),
          none = color_all(t_f32(t, 0));
    color importance = color_select(t, splat.there, carried, none);
    if (!moved)
        return color_select(t, ir_and(f, splat.there, usual),
                            color_mul(t, carried, splat_read(w, &splat, false).contribution), importance);
    splat.there = ir_and(f, splat.there, usual);
    color sum = color_mul(t, carried, *moved);
    ir_ref finite = color_finite(t, sum);
    kernel_count(w, ir_and(f, splat.there, ir_not(f, finite)), STATUS_NON_FINITE);
    splat.there = ir_and(f, splat.there, finite);
    splat_add(w, &splat, sum, NULL);
    return importance;
}

/* Follows the path from the first vertex on. moved: as in take_splat. */
static color gather_rest(walk *w, const light_vertex *first, lit_state *p, ir_ref usual, const color *moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    p->alive = ir_and(f, p->alive, light_pass(w, first, &p->at, &p->b).alive);
    ir_ref sample = p->at.sample;
    loop_state state = {0}, next = {0};
    state_lit(w, &state, p);
    ir_ref loop = state_loop(f, &state);
    state_lit(w, &state, p);
    ir_while(f, p->alive);
    p->at.sample = sample;
    light_vertex v = light_visit(w, &p->at, (ir_ref){0});
    p->importance = color_add(t, p->importance, take_splat(w, &v, &p->b, p->alive, usual, moved));
    p->alive = light_pass(w, &v, &p->at, &p->b).alive;
    state_lit(w, &next, p);
    state_endloop(f, loop, &state, &next);
    state_lit(w, &state, p);
    state_end(&state);
    return p->importance;
}

/* Whether rays meet some kind in the scene from outside only. */
static bool some_shell(const walk *w)
{
    bool any = false;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        any |= w->plan->scene->kind_used[k] && shape_kinds[k]->shell;
    return any;
}

/* bool: something stands between the light and v, a vertex behind the edge, as rays from v meet it. The ray
 * from the edge to the light is not enough where there are shells: if it begins inside, it does not meet
 * them. from: a point of the segment from v to the light; toward: its direction; far: what is left of it. */
static ir_ref shell_occludes(walk *w, const interaction *v, vec3 from, vec3 toward, ir_ref far)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref on = ir_gt(f, far, t_f32(t, 0)), way = v3_length(t, v3_sub(t, from, v->p));
    return light_occluded(
        w, &(ray){ray_offset(t, v->p, v->ng, toward), toward, ir_select(f, on, ir_add(f, way, far), far)});
}

bl_result kernel_edges_lit(walk *w, ir_module *m)
{
    w->from_sensor = some_shell(w);
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    bool forward = boundary_forward(w);
    const ir_ref *spread = loop.guide.spread, *on = spread + SPREAD_LIGHT_AT;
    ir_ref half = t_f32(t, 0.5f); /* of the direction of the light's ray, which nobody asks for */
    lit_edge l = {.e = light_begin_by(w, spread[SPREAD_LIGHT],
                                      (emitter_ray_arguments){{on[0], on[1], half, half}}, false)};
    l.delta = light_is_delta(w, l.e.cls);
    boundary_point b = boundary_pick(w, viewpoint_of(w, &l.e, l.delta), loop.sample, &loop.guide,
                                     &(boundary_wish){.candidates = 4, .backwards = true});
    if (some_border(w)) {
        random4 r = boundary_numbers(w, loop.sample, 1);
        l.border = take_border(w, &l.e, &r, &b), l.along = r.u[0];
    }
    shine(w, &b, &l);
    vec3 from = boundary_beside(w, &b);
    ir_ref lit = ir_and(f, b.there, ir_gt(f, color_max(t, l.radiance), t_f32(t, 0)));
    ir_ref far = ir_select(f, lit, walk_far(w, l.reach), t_f32(t, -1));
    lit = ir_and(f, lit, ir_not(f, light_occluded(w, &(ray){from, l.at.d, far})));
    lit_state p = {.at = light_before(w, loop.sample), .b = throughput_start(w), .alive = lit};
    p.at.depth = t_u32(t, 1), p.at.o = from, p.at.d = v3_neg(t, l.at.d);
    p.at.tmax = ir_select(f, lit, t_f32(t, 1e30f), t_f32(t, -1)), p.importance = color_all(t_f32(t, 0));
    light_vertex v = light_visit(w, &p.at, (ir_ref){0});
    lit = ir_and(f, lit, v.v.si.valid);
    if (some_shell(w))
        far = ir_select(f, lit, far, t_f32(t, -1)),
        lit = ir_and(f, lit, ir_not(f, shell_occludes(w, &v.v.si, from, l.at.d, far)));
    p.alive = lit;
    ir_ref motion[2], seed[2], minus = ir_neg(f, ir_mul(f, b.weight, loop.scale));
    motions_of(w, &b, &l, &p.at, &v, motion);
    ir_ref share[2];
    shares_of(w, &l, &v, share);
    color carried[2], moved[2], found[2];
    for (int k = 0; k < 2; k++)
        carried[k] = color_scale(t, l.radiance, ir_mul(f, minus, share[k]));
    for (int k = 0; k < 2 && forward; k++)
        moved[k] = color_scale(t, carried[k], boundary_tangent(w, motion[k]));
    found[0] = take_splat(w, &v, &p.b, lit, loop.guide.usual, forward ? &moved[0] : NULL);
    found[1] = gather_rest(w, &v, &p, loop.guide.usual, forward ? &moved[1] : NULL);
    for (int k = 0; k < 2; k++) {
        color sum = color_mul(t, found[k], carried[k]);
        seed[k] = color_sum(t, sum);
    }
    if (!forward)
        boundary_backward(w, ir_and(f, lit, loop.guide.usual), motion, seed, 2);
    color importance = color_add(t, color_mul(t, found[0], carried[0]), color_mul(t, found[1], carried[1]));
    ir_ref curve = some_border(w) ? ir_and(f, lit, ir_not(f, l.border)) : lit;
    boundary_end(w, &loop, curve, boundary_size(w, importance), b.possible);
    ir_return(f, NULL, 0);
    return BL_OK;
}
