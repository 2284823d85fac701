/* SPDX-License-Identifier: BSD-3-Clause
 * The radiance on both sides of an edge, by path tracing: one loop walks the path of one side and then that
 * of the other. Both have the same random numbers, so what is the same on both sides cancels. In volumetric
 * walks both rays have the same free flights up to the edge.
 *
 * What meets at a curve of a mesh is known: its faces, at that very point. So the paths of these sides begin
 * there, and rays are traced only to ask whether the point is seen, and past silhouettes. Then each curve
 * counts what jumps at it and nothing else, however near to another one it is. Where walks go
 * through media or surfaces, so that there may be something else to meet on the way, and at other shapes,
 * rays pass the curve on both sides at a small distance. */
#include "render/integrator/boundary/boundary.h"

static const float ROUNDING = 6 * 0x1p-24f; /* of a ray, by the lengths of what it is computed from */

typedef struct sides_state {
    radiance_walk path;
    ir_ref side; /* u32: 0, 1, then 2 */
    boundary_sides found;
} sides_state;

static void state_found(walk *w, loop_state *s, boundary_sides *b)
{
    for (int k = 0; k < 2; k++) {
        walk_hit *h = &b->hit[k];
        state_color(s, &w->t, &b->radiance[k]), state_ref(s, &b->reach[k]);
        state_ref(s, &h->valid), state_ref(s, &h->entry), state_ref(s, &h->t);
        if (w->plan->scene->has_groups)
            state_ref(s, &h->level);
        state_vec2(s, &h->b), state_vec3(s, &h->p);
    }
}

static void state_sides(walk *w, loop_state *s, sides_state *p)
{
    state_position(w, s, &p->path.at);
    state_color(s, &w->t, &p->path.beta), state_color(s, &w->t, &p->path.radiance),
        state_ref(s, &p->path.eta);
    state_ref(s, &p->side);
    state_found(w, s, &p->found);
}

/* How far inside of a silhouette the ray from a point passes. At a smooth shape the surface turns by
 * sqrt(2 x / R) in the distance x, with R its radius across the view, and its shading changes by as much. So
 * there it is as small as rounding lets it be; not in volumetric walks, which then lose much of the
 * derivative. At meshes rays pass on both sides at the same distance, so that both step over the same curves
 * (rays_get_there). */
static ir_ref inside_of(walk *w, const boundary_point *b, vec3 from)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref mesh = ir_eq(f, t_word(t, b->place.carrier, CARRIER_KIND), t_u32(t, SHAPE_TRIANGLES));
    if (w->plan->edge_crossings)
        mesh = ir_or(f, mesh, silhouette_crosses(t, &b->place));
    ir_ref far = ir_add(f, v3_length(t, b->p), v3_length(t, v3_sub(t, b->p, from)));
    ir_ref least = ir_mul(f, ir_add(f, t_f32(t, 1), far), t_f32(t, ROUNDING));
    return plan_goes_through(w->plan) ? b->offset
                                      : ir_select(f, mesh, b->offset, ir_min(f, least, b->offset));
}

/* The position of a path that begins with the ray from a point past one side of the edge. A side that ends at
 * the edge has all of the light that the surface there sends: from a point of that light the edge hides
 * nothing, so light sampling finds no jump. */
static walk_position ray_past(walk *w, const boundary_point *b, vec3 from, const walk_position *at,
                              bool outer)
{
    tracer *t = &w->t;
    walk_position r = *at;
    vec3 past = outer ? boundary_beside(w, b) : v3_sub(t, b->p, v3_scale(t, b->n, inside_of(w, b, from)));
    r.scattered = from;
    r.delta = outer ? ir_or(t->f, at->delta, ir_not(t->f, b->closed)) : ir_bool(t->f, true);
    r.o = from, r.d = v3_normalize(t, v3_sub(t, past, from));
    r.tmax = ir_select(t->f, b->there, at->tmax, t_f32(t, -1));
    return r;
}

static walk_hit no_hit(walk *w, const walk_position *at)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    walk_hit h = {.valid = ir_bool(t->f, false), .entry = walk_no_entry(t)};
    h.t = t_f32(t, 1), h.b = (vec2){zero, zero}, h.o = at->o, h.d = at->d, h.p = at->o;
    h.slides = ir_bool(t->f, false);
    if (w->plan->scene->has_groups)
        h.level = walk_no_level(t);
    return h;
}

/* Keeps the first vertex of a side. Where the ray goes straight through surfaces, or through hidden lights,
 * they are no vertices, and its hit is one of the whole ray. */
static void keep_vertex(walk *w, ir_ref when, const walk_position *from, const walk_vertex *v, walk_hit *kept,
                        ir_ref *reach)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_hit first = v->met, *met = &first;
    ir_ref distance = met->t;
    if (w->volumetric || w->plan->scene->hide_emitters)
        distance = first.t = v3_dot(t, v3_sub(t, v->si.p, from->o), from->d);
    if (w->media)
        first.valid = ir_and(f, first.valid, ir_not(f, v->flight.collides));
    distance = ir_select(f, v->si.valid, distance, t_f32(t, 1e30f));
    if (w->media && emission_any(w)) { /* What the stretch emits reaches its end, wherever the flight ends. */
        const walk_stretch *s = &v->flight.s;
        ir_ref end = ir_add(f, v3_dot(t, v3_sub(t, s->o, from->o), from->d), s->limit);
        distance = ir_select(f, v->flight.collides, end, distance);
    }
    *reach = ir_select(f, when, distance, *reach);
    kept->valid = ir_select(f, when, met->valid, kept->valid);
    kept->entry = ir_select(f, when, met->entry, kept->entry), kept->t = ir_select(f, when, met->t, kept->t);
    kept->b.x = ir_select(f, when, met->b.x, kept->b.x), kept->b.y = ir_select(f, when, met->b.y, kept->b.y);
    kept->p = v3_select(&w->t, when, met->p, kept->p);
    if (w->plan->scene->has_groups)
        kept->level = ir_select(f, when, met->level, kept->level);
}

/* Where a path has ended: its radiance is that of its side, and the other side's path begins. */
static void finish_side(walk *w, sides_state *p, const walk_position *second, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), zero = t_f32(t, 0);
    for (uint32_t k = 0; k < 2; k++)
        p->found.radiance[k] = color_select(t, ir_and(f, ended, ir_eq(f, p->side, t_u32(t, k))),
                                            p->path.radiance, p->found.radiance[k]);
    radiance_walk fresh = radiance_start(w, second);
    p->path.at = position_select(w, alive, p->path.at, fresh.at);
    p->path.beta = color_select(t, alive, p->path.beta, fresh.beta);
    p->path.radiance = color_select(t, alive, p->path.radiance, color_all(zero));
    p->path.eta = ir_select(f, alive, p->path.eta, fresh.eta);
    p->side = ir_add(f, p->side, ir_to_u32(f, ended));
}

/* bool: both rays get as far as the edge. If only one did, the edge would lie exactly behind another one, as
 * where a face is seen edge-on, and that one counts. The ray past the inner side may meet a round or slanting
 * surface somewhat before the edge: at about sqrt(2 R offset) of a ball of radius R. In a medium rays that
 * collide before they get there count nothing, so the others stand for what the medium lets through. Where a
 * medium emits they do count: what they meet behind the collision is the same on both sides, but not what the
 * stretch emits.
 * Where the surface goes on past the curve, at a crease or where normals turn away, both rays end near it.
 * Else the outer one has passed a silhouette that is nearer than the offset. The inner ray at that silhouette
 * then sees what is before the curve, and its estimate has all of the jump. */
static ir_ref rays_get_there(walk *w, const boundary_point *b, const boundary_sides *s)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref both = ir_bool(f, true), slack = ir_mul(f, b->offset, t_f32(t, 300)),
           distance = v3_dot(t, v3_sub(t, b->p, s->hit[0].o), b->d), least = ir_sub(f, distance, slack),
           most = ir_add(f, distance, slack);
    for (int k = 0; k < 2; k++) {
        ir_ref near = ir_or(f, b->closed, ir_lt(f, s->reach[k], most));
        both = ir_and(f, both, ir_and(f, ir_gt(f, s->reach[k], least), near));
    }
    return both;
}

/* The hits of sides that are known. */
typedef struct known_sides {
    bool any;
    ir_ref there[2]; /* bool, where `any` */
    walk_hit hit[2];
    ir_ref edge_on; /* bool: silhouette_sides.edge_on */
    vec3 above;     /* a point that is seen, from nearby, where the curve is */
    vec3 shift[2];  /* silhouette_sides.shift, where plan.edge_crossings */
} known_sides;

static known_sides find_known(walk *w, const boundary_point *b, vec3 from)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *scene = w->plan->scene;
    known_sides k = {.any = !plan_goes_through(w->plan) && !w->bends && !scene->hide_emitters &&
                            (scene->kind_used[SHAPE_TRIANGLES] || w->plan->edge_crossings)};
    if (!k.any)
        return k;
    silhouette_sides s = silhouette_sides_at(t, &b->place, b->viewpoint);
    ir_ref distance = v3_dot(t, v3_sub(t, b->p, from), b->d);
    for (int i = 0; i < 2; i++) {
        k.there[i] = ir_and(f, b->there, s.known[i]);
        k.hit[i] = (walk_hit){.entry = s.entry[i], .level = s.level, .t = distance, .b = s.b[i]};
    }
    for (int i = 0; i < 2 && w->plan->edge_crossings; i++)
        k.shift[i] = s.shift[i];
    k.edge_on = s.edge_on;
    ir_ref height = ir_mul(f, b->offset, t_f32(t, SILHOUETTE_ABOVE));
    k.above = v3_add(t, b->p, v3_scale(t, v3_normalize(t, s.toward), height));
    return k;
}

/* bool: nothing stands between a point and the curve, where its sides are known. */
static ir_ref known_seen(walk *w, const known_sides *k, vec3 from)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 to = v3_sub(t, k->above, from);
    ir_ref length = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    ir_ref far = ir_select(f, k->there[0], length, t_f32(t, -1));
    return ir_not(f, light_occluded(w, &(ray){from, v3_scale(t, to, ir_div(f, t_f32(t, 1), length)), far}));
}

/* The walk in which the first vertex of a side is known. */
static walk walk_side(const walk *w, const known_sides *k, ir_ref first, ir_ref side)
{
    walk now = *w;
    ir_func *f = now.t.f;
    if (!k->any)
        return now;
    ir_ref outer = ir_eq(f, side, t_u32(&now.t, 1));
    walk_hit *hit = &now.known.hit;
    now.known.meets = true;
    now.known.met = ir_and(f, first, ir_select(f, outer, k->there[1], k->there[0]));
    *hit = k->hit[0];
    hit->entry = ir_select(f, outer, k->hit[1].entry, hit->entry);
    hit->b.x = ir_select(f, outer, k->hit[1].b.x, hit->b.x);
    hit->b.y = ir_select(f, outer, k->hit[1].b.y, hit->b.y);
    return now;
}

/* Walks the path of each side, which begins with rays[k], or at a hit that is known. */
static boundary_sides walk_sides(walk *w, const walk_position rays[2], const known_sides *known, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    sides_state p = {.path = radiance_start(w, &rays[0]),
                     .side = ir_select(f, when, t_u32(t, 0), t_u32(t, 2))};
    for (int k = 0; k < 2; k++)
        p.found.radiance[k] = color_all(t_f32(t, 0)), p.found.hit[k] = no_hit(w, &rays[k]),
        p.found.reach[k] = t_f32(t, 1e30f);
    walk_hit start[2] = {p.found.hit[0], p.found.hit[1]};
    loop_state state = {0}, next = {0};
    state_sides(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_sides(w, &state, &p);
    ir_while(f, ir_lt(f, p.side, t_u32(t, 2)));
    ir_ref first = ir_eq(f, p.path.at.depth, rays[0].depth), alive;
    walk side = walk_side(w, known, first, p.side);
    walk_vertex v = radiance_vertex(&side, &p.path, &alive);
    for (uint32_t k = 0; k < 2; k++)
        keep_vertex(w, ir_and(f, first, ir_eq(f, p.side, t_u32(t, k))), &rays[k], &v, &p.found.hit[k],
                    &p.found.reach[k]);
    finish_side(w, &p, &rays[1], alive);
    state_sides(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_sides(w, &state, &p);
    state_end(&state);
    for (int k = 0; k < 2; k++)
        p.found.hit[k].o = start[k].o, p.found.hit[k].d = start[k].d, p.found.hit[k].slides = start[k].slides;
    return p.found;
}

boundary_sides boundary_trace_rays(walk *w, const walk_position rays[2], ir_ref when)
{
    return walk_sides(w, rays, &(known_sides){0}, when);
}

boundary_sides boundary_trace(walk *w, const boundary_point *b, vec3 from, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position rays[2] = {ray_past(w, b, from, at, false), ray_past(w, b, from, at, true)};
    known_sides known = find_known(w, b, from);
    ir_ref seen = b->there;
    if (known.any) {
        seen = ir_and(f, seen, ir_and(f, ir_not(f, known.edge_on), known_seen(w, &known, from)));
        for (int k = 0; k < 2; k++) {
            rays[k].d = v3_select(t, known.there[k], b->d, rays[k].d);
            vec3 p = w->plan->edge_crossings ? v3_add(t, b->p, known.shift[k]) : b->p;
            rays[k].o =
                v3_select(t, known.there[k], v3_sub(t, p, v3_scale(t, b->d, known.hit[k].t)), rays[k].o);
        }
    }
    boundary_sides found = walk_sides(w, rays, &known, seen);
    ir_ref passed = rays_get_there(w, b, &found);
    found.seen = ir_and(f, seen, known.any ? ir_or(f, known.there[0], passed) : passed);
    return found;
}
