/* SPDX-License-Identifier: BSD-3-Clause
 * Where clip planes of the sensor cut surfaces (boundary_seen.c). The cut is a curve in the plane, on one
 * side of which the sensor sees the surface, and on the other what the plane has laid open. No shape lists
 * it, so rays within the plane look for it: they meet every kind of shape.
 *
 * A point of a clip plane is an affine function q(f) of the place f on the image, so all is measured there,
 * in [0,1]^2. Lines of all directions cross the image, uniformly: with W(u) the width of the image across the
 * direction u, the offset of the line is uniform in W. A piece dl of a curve is met by lines of the measure
 * dl |sin(u, dl)| du, which over all directions is 4 dl (Crofton). So
 *
 *     integral over the cut of g dl  =  mean over lines of  2 pi W / 4  sum over their crossings of g .
 *
 * One of the crossings stands for all. Of shapes that rays meet from outside only, lines meet one side.
 *
 * With the surface's normal n, G = (n . dq/dx, n . dq/dy) leads across the curve on the image, and where
 * surface and camera move the curve moves along G/|G| by n . (dp - dq) / |G|. */
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/vertex/vertex.h"

static const float PI = 3.14159265358979323846f;
/* The most by which rays pass the cut, on the image. Where surface and plane nearly touch, it would be more.
 */
static const float BESIDE_MOST = 0.01f;
static const float CROSSINGS_MOST = 4096; /* of a line: a guard */

/* The ray at a place of the image that begins on one of the two planes, and ends there if it is the far one.
 */
static vec3 on_plane(tracer *t, const boundary_cut *c, const ray *r)
{
    return v3_select(t, c->far, v3_add(t, r->o, v3_scale(t, r->d, r->tmax)), r->o);
}

static vec2 along(tracer *t, vec2 from, vec2 u, ir_ref by)
{
    return (vec2){t_mad(t, u.x, by, from.x), t_mad(t, u.y, by, from.y)};
}

/* bool: rays meet the shape from outside only. */
static ir_ref is_shell(walk *w, ir_ref entry)
{
    ir_func *f = w->t.f;
    ir_ref kind = t_word(&w->t, entry, BVH_ENTRY_KIND), is = ir_bool(f, false);
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        if (w->plan->scene->kind_used[k] && shape_kinds[k]->shell)
            is = ir_or(f, is, ir_eq(f, kind, t_u32(&w->t, k)));
    return is;
}

/* A line over the image: it begins at a border and is so long. */
typedef struct image_line {
    vec2 start, u;
    ir_ref length;
    ir_ref width; /* of the image, across the line */
} image_line;

static image_line draw_line(tracer *t, ir_ref offset, ir_ref turn)
{
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f), angle = ir_mul(f, turn, t_f32(t, 2 * PI));
    image_line l = {.u = {ir_cos(f, angle), ir_sin(f, angle)}};
    l.width = ir_add(f, ir_abs(f, l.u.x), ir_abs(f, l.u.y));
    ir_ref aside = ir_mul(f, ir_sub(f, offset, half), l.width);
    /* The point of the line that is nearest to the middle of the image, relative to it. */
    const ir_ref place[2] = {ir_neg(f, ir_mul(f, l.u.y, aside)), ir_mul(f, l.u.x, aside)},
                 way[2] = {l.u.x, l.u.y};
    ir_ref first = t_f32(t, -2), last = t_f32(t, 2);
    for (int k = 0; k < 2; k++) {
        ir_ref inverse = ir_div(f, t_f32(t, 1), ir_max(f, ir_abs(f, way[k]), t_f32(t, 1e-6f)));
        ir_ref by = ir_select(f, ir_lt(f, way[k], t_f32(t, 0)), ir_neg(f, inverse), inverse),
               middle = ir_neg(f, ir_mul(f, place[k], by)), reach = ir_mul(f, half, inverse);
        first = ir_max(f, first, ir_sub(f, middle, reach)), last = ir_min(f, last, ir_add(f, middle, reach));
    }
    l.start = (vec2){t_mad(t, l.u.x, first, ir_add(f, place[0], half)),
                     t_mad(t, l.u.y, first, ir_add(f, place[1], half))};
    l.length = ir_sub(f, last, first);
    return l;
}

/* What a line has met so far. */
typedef struct crossings {
    vec3 o;          /* the line goes on from here, */
    ir_ref left;     /* so far; negative: it has ended */
    ir_ref count, u; /* of all crossings; a uniform number */
    walk_hit chosen;
    vec3 n; /* the normal there */
} crossings;

static void state_crossings(walk *w, loop_state *s, crossings *c)
{
    state_vec3(s, &c->o), state_ref(s, &c->left), state_ref(s, &c->count), state_ref(s, &c->u);
    state_hit(w, s, &c->chosen), state_vec3(s, &c->n);
}

static void keep_hit(walk *w, ir_ref when, const walk_hit *h, walk_hit *kept)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    kept->valid = ir_or(f, when, kept->valid), kept->entry = ir_select(f, when, h->entry, kept->entry);
    kept->t = ir_select(f, when, h->t, kept->t);
    kept->b.x = ir_select(f, when, h->b.x, kept->b.x), kept->b.y = ir_select(f, when, h->b.y, kept->b.y);
    if (w->plan->scene->has_groups)
        kept->level = ir_select(f, when, h->level, kept->level);
    kept->o = v3_select(t, when, h->o, kept->o), kept->p = v3_select(t, when, h->p, kept->p);
}

/* Goes to the next crossing. Each is the chosen one with the same probability. */
static void cross(walk *w, vec3 d, crossings *c)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1);
    walk_hit h = walk_closest(w, c->o, d, c->left);
    h.slides = ir_bool(f, false), h.p = v3_add(t, h.o, v3_scale(t, d, h.t));
    interaction si = walk_surface(w, &h, w->fn.interact);
    c->count = ir_select(f, h.valid, ir_add(f, c->count, one), c->count);
    ir_ref x = ir_mul(f, c->u, c->count), takes = ir_and(f, h.valid, ir_lt(f, x, one)),
           rest = t_ratio(t, ir_sub(f, x, one), ir_sub(f, c->count, one));
    c->u = ir_select(f, h.valid, ir_select(f, takes, x, rest), c->u);
    keep_hit(w, takes, &h, &c->chosen);
    c->n = v3_select(t, takes, si.ng, c->n);
    vec3 next = ray_offset(t, h.p, si.ng, d);
    ir_ref way = v3_dot(t, v3_sub(t, next, c->o), d);
    c->o = next, c->left = ir_select(f, h.valid, ir_sub(f, c->left, way), t_f32(t, -1));
}

/* All crossings of a line through the scene, as far as `far`. */
static crossings cross_all(walk *w, vec3 o, vec3 d, ir_ref far, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), no = ir_bool(f, false);
    crossings c = {.o = o, .left = far, .count = zero, .u = u, .n = v3_zero(t)};
    c.chosen = (walk_hit){.valid = no, .entry = walk_no_entry(t), .t = zero, .b = {zero, zero}};
    c.chosen.o = c.chosen.p = o, c.chosen.d = d, c.chosen.slides = no;
    if (w->plan->scene->has_groups)
        c.chosen.level = walk_no_level(t);
    loop_state state = {0}, next = {0};
    state_crossings(w, &state, &c);
    ir_ref loop = state_loop(f, &state);
    state_crossings(w, &state, &c);
    ir_ref more = ir_and(f, ir_gt(f, c.left, zero), ir_lt(f, c.count, t_f32(t, CROSSINGS_MOST)));
    ir_while(f, more);
    cross(w, d, &c);
    state_crossings(w, &next, &c);
    state_endloop(f, loop, &state, &next);
    state_crossings(w, &state, &c);
    state_end(&state);
    return c;
}

boundary_cut boundary_cut_pick(walk *w, const sensor_view *view, vec2 lens, const random4 *r, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    boundary_cut c = {.lens = lens, .far = ir_lt(f, r->u[3], t_f32(t, 0.5f))};
    const vec2 corners[3] = {{zero, zero}, {one, zero}, {zero, one}};
    vec3 q[3];
    for (int k = 0; k < 3; k++) {
        ray at = sensor_ray(t, view, corners[k], lens);
        q[k] = on_plane(t, &c, &at);
    }
    vec3 x = v3_sub(t, q[1], q[0]), y = v3_sub(t, q[2], q[0]);
    image_line l = draw_line(t, r->u[0], r->u[2]);
    vec3 o = v3_add(t, q[0], v3_add(t, v3_scale(t, x, l.start.x), v3_scale(t, y, l.start.y))),
         way = v3_add(t, v3_scale(t, x, l.u.x), v3_scale(t, y, l.u.y));
    ir_ref length = ir_max(f, v3_length(t, way), t_f32(t, 1e-20f));
    vec3 d = v3_scale(t, way, ir_div(f, one, length));
    ir_ref far = ir_select(f, when, ir_mul(f, l.length, length), t_f32(t, -1));
    crossings all = cross_all(w, o, d, far, r->u[1]);
    c.hit = all.chosen;
    c.at = along(t, l.start, l.u, t_ratio(t, v3_dot(t, v3_sub(t, c.hit.p, o), d), length));
    vec2 slope = {v3_dot(t, all.n, x), v3_dot(t, all.n, y)};
    ir_ref size = ir_sqrt(f, t_mad(t, slope.x, slope.x, t_sqr(t, slope.y))), by = t_ratio(t, one, size);
    c.beside = ir_mul(f, ray_epsilon(t, c.hit.p), by);
    ir_ref cuts = ir_and(f, ir_gt(f, size, zero), ir_lt(f, c.beside, t_f32(t, BESIDE_MOST)));
    c.there = ir_and(f, ir_and(f, when, c.hit.valid), cuts);
    c.across = (vec2){ir_mul(f, slope.x, by), ir_mul(f, slope.y, by)};
    c.n = v3_scale(t, all.n, by);
    /* Only motion along the normal matters. A hit that slides along a ray (where vertices move) does so along
     * the normal, since lines in the plane may graze the surface. */
    c.hit.o = v3_add(t, c.hit.p, all.n), c.hit.d = v3_neg(t, all.n), c.hit.t = one;
    ir_ref directions = ir_select(f, is_shell(w, c.hit.entry), t_f32(t, 2), t_f32(t, 4));
    /* Twice, because one of two planes is chosen. */
    c.weight = ir_div(f, ir_mul(f, ir_mul(f, l.width, t_f32(t, 2 * 2 * PI)), all.count), directions);
    return c;
}

ray boundary_cut_ray(walk *w, const sensor_view *view, const boundary_cut *c, bool outer)
{
    tracer *t = &w->t;
    ir_ref by = outer ? c->beside : ir_neg(t->f, c->beside);
    ray r = sensor_ray(t, view, along(t, c->at, c->across, by), c->lens);
    r.tmax = ir_select(t->f, c->there, r.tmax, t_f32(t, -1));
    return r;
}

ir_ref boundary_cut_motion(walk *w, const boundary_cut *c)
{
    tracer reads = walk_differentiated(w), *t = &reads;
    vec3 p = boundary_hit_moved(w, &c->hit), n = v3_detach(t, c->n);
    vec3 moved = v3_sub(t, p, v3_detach(t, p));
    if (w->plan->camera) {
        ray r = boundary_camera_ray(w, c->at, c->lens);
        vec3 q = on_plane(t, c, &r);
        moved = v3_sub(t, moved, v3_sub(t, q, v3_detach(t, q)));
    }
    return v3_dot(t, n, moved);
}
