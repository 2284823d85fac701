/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that the sensor sees: silhouettes of what it sees first. A sample is a point of a silhouette as seen
 * from a point of the aperture. It moves over the image, and the image changes by the difference of the light
 * on its two sides:
 *
 *     dI = integral over the silhouette of  W (L_inner - L_outer) (n . v) dl
 *
 * where W is the importance by area (sensor_link.weight), l the length of the silhouette at a right angle to
 * the ray, and v the motion of the edge relative to the ray of its place on the film. As with light tracing,
 * a sample belongs to the pixels within the filter's reach of that place. */
#include "render/integrator/kernels/boundary.h"

/* Where normals turn away on a mesh with many faces, few candidates are a point of some curve. */
static uint32_t candidates(const walk *w)
{
    const uint32_t many = 1000;
    return w->plan->edge_turns && w->plan->scene->primitives.count > many ? 16 : 4;
}

/* What the sensor's rays come from: where it has no place, being parallel, a point far behind it. */
static vec3 viewpoint_of(walk *w, const sensor_view *view, vec2 lens)
{
    tracer *t = &w->t;
    const render_scene *s = w->plan->scene;
    vec3 centre = v3(t_f32(t, s->center[0]), t_f32(t, s->center[1]), t_f32(t, s->center[2]));
    if (!sensor_of(view->object)->parallel)
        return sensor_of(view->object)->link(t, view, centre, lens).point;
    const vec2 middle = {t_f32(t, 0.5f), t_f32(t, 0.5f)};
    vec3 d = sensor_ray(t, view, middle, lens).d;
    return v3_sub(t, centre, v3_scale(t, d, t_f32(t, boundary_far(w))));
}

/* An edge as the sensor sees it. */
typedef struct seen_edge {
    boundary_point b, image; /* the edge, and its image in the mirror */
    boundary_mirror mirror;  /* where plan.edge_mirrors; else b and image are the same */
    vec3 viewpoint;          /* from which b was picked */
    sensor_link link;        /* from the image to the sensor */
} seen_edge;

static bool has_mirrors(const walk *w) { return w->plan->edge_mirrors > 0; }

static seen_edge pick_edge(walk *w, const boundary_loop *loop, const sensor_view *view, vec2 lens, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    seen_edge e = {.viewpoint = viewpoint_of(w, view, lens)};
    boundary_wish wish = {
        .candidates = candidates(w),
        .creases = true,
        .by = has_mirrors(w) ? NULL : view,
        .lens = lens,
        .far = plan_goes_through(
            w->plan), /* behind a surface that a ray goes through the far plane does not end it */
    };
    if (has_mirrors(w)) {
        e.mirror = boundary_mirror_choose(w, u);
        e.viewpoint = boundary_mirror_point(w, &e.mirror, e.viewpoint);
    }
    e.b = e.image = boundary_pick(w, e.viewpoint, loop->sample, &loop->guide, &wish);
    if (has_mirrors(w))
        e.image = boundary_mirror_edge(w, &e.mirror, &e.b);
    e.link = sensor_of(view->object)->link(t, view, e.image.p, lens);
    if (has_mirrors(w)) {
        ir_ref within = ir_or(f, e.link.within, ir_and(f, e.mirror.there, e.link.behind_near));
        e.b.there = ir_and(f, e.b.there, ir_and(f, e.link.seen, within));
    }
    return e;
}

/* How the edge moves away from the sensor's ray. The hits on both sides slide along their rays, so they do
 * not count. */
static ir_ref motion_of(walk *w, const seen_edge *e, const boundary_sides *sides, vec2 lens)
{
    tracer *t = &w->t;
    vec3 p = v3_detach(t, e->image.p), x = v3_detach(t, e->link.point), y = p, from = e->viewpoint;
    if (w->plan->camera) {
        ray r = boundary_camera_ray(w, e->link.position, lens);
        ir_ref distance = v3_length(t, v3_sub(t, p, v3_detach(t, r.o)));
        x = r.o, y = v3_add(t, r.o, v3_scale(t, r.d, ir_detach(t->f, distance)));
        vec3 shift = v3_sub(t, r.o, v3_detach(t, r.o));
        if (sensor_of(w->plan->scene->sensor)->parallel)
            shift = v3_scale(t, v3_sub(t, v3_detach(t, r.d), r.d), ir_detach(t->f, e->image.distance));
        from = v3_add(t, from, has_mirrors(w) ? boundary_mirror_vector(w, &e->mirror, shift) : shift);
    }
    boundary_edge edge = boundary_edge_moved(w, &e->b, sides, from);
    if (has_mirrors(w))
        edge.p = boundary_mirror_point(w, &e->mirror, edge.p);
    return boundary_motion(w, &e->image,
                           &(boundary_segment){x, y, ir_bool(t->f, false), &edge.p, edge.share});
}

/* Where the paths begin that go past the edge, whose place is p. The far plane ends the first stretch only.
 */
static walk_position position_before(walk *w, ir_ref sample, const sensor_link *link, vec3 p)
{
    tracer *t = &w->t;
    walk_position at = walk_before(w, sample);
    at.tmax = t_f32(t, 1e30f);
    if (w->plan->scene->clipped)
        at.tmax = ir_mul(t->f, v3_length(t, v3_sub(t, p, link->point)), ir_sub(t->f, link->far, link->near));
    at.delta = ir_bool(t->f, true), at.weight = t_f32(t, 1), at.pdf = t_f32(t, w->behind_null ? -1 : 1);
    if (w->media)
        at.medium = t_word(t, t_u32(t, 0), HEADER_SENSOR_MEDIUM);
    at.scattered = link->point;
    return at;
}

/* Both sides of a cut. */
static boundary_sides trace_cut(walk *w, const sensor_view *view, const boundary_cut *c,
                                const walk_position *at)
{
    walk_position rays[2] = {*at, *at};
    for (int k = 0; k < 2; k++) {
        ray r = boundary_cut_ray(w, view, c, k);
        rays[k].o = rays[k].scattered = r.o, rays[k].d = r.d, rays[k].tmax = r.tmax;
    }
    return boundary_trace_rays(w, rays, c->there);
}

/* What one sample does: light jumps across an edge, which moves over the image. */
typedef struct edge_jump {
    light_splat splat; /* there: bool, the sample has an edge */
    color jump;        /* inner side less outer side, with all weights */
    ir_ref motion;     /* differentiated */
} edge_jump;

static color jump_of(walk *w, const boundary_sides *sides, ir_ref weight)
{
    color jump;
    for (uint32_t c = 0; c < w->t.channels; c++)
        jump.c[c] = ir_mul(w->t.f, weight, ir_sub(w->t.f, sides->radiance[0].c[c], sides->radiance[1].c[c]));
    return jump;
}

/* The film's place of a point of the image, in pixels. */
static vec2 in_pixels(walk *w, vec2 at)
{
    ir_func *f = w->t.f;
    ir_ref width = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_WIDTH)),
           height = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_HEIGHT));
    return (vec2){ir_mul(f, at.x, width), ir_mul(f, at.y, height)};
}

/* Traces past the edge. *at: where the paths begin that go past it; it is moved over the mirror. */
static edge_jump cross_edge(walk *w, const boundary_loop *loop, seen_edge *e, walk_position *at, vec2 lens)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 from = e->link.point;
    if (w->plan->scene->clipped)
        from = v3_add(t, from, v3_scale(t, v3_sub(t, e->image.p, from), e->link.near));
    color arrived = color_all(t_f32(t, 1));
    if (has_mirrors(w))
        arrived = color_scale(t, boundary_mirror_pass(w, &e->mirror, e->image.p, &e->b, at, &from),
                              e->mirror.inverse);
    edge_jump j = {.splat = {.there = e->b.there, .at = in_pixels(w, e->link.position)}};
    boundary_sides sides = boundary_trace(w, &e->b, from, at);
    j.splat.there = ir_and(f, j.splat.there, sides.seen);
    ir_ref weight = ir_mul(f, ir_mul(f, e->b.weight, loop->scale), e->link.weight);
    j.motion = motion_of(w, e, &sides, lens);
    j.jump = jump_of(w, &sides, weight);
    if (has_mirrors(w))
        j.jump = color_mul(t, j.jump, arrived);
    return j;
}

/* Where `now`: a cut takes the place of the edge. */
static void take_cut(walk *w, const boundary_loop *loop, const sensor_view *view, const boundary_cut *cut,
                     const walk_position *at, ir_ref now, edge_jump *j)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    boundary_sides sides = trace_cut(w, view, cut, at);
    j->jump = color_select(t, now, jump_of(w, &sides, ir_mul(f, cut->weight, loop->scale)), j->jump);
    j->motion = ir_select(f, now, boundary_cut_motion(w, cut), j->motion);
    vec2 there = in_pixels(w, cut->at);
    j->splat.at.x = ir_select(f, now, there.x, j->splat.at.x);
    j->splat.at.y = ir_select(f, now, there.y, j->splat.at.y);
    j->splat.there = ir_select(f, now, cut->there, j->splat.there);
}

/* Forward mode. */
static void add_moved(walk *w, edge_jump j)
{
    ir_func *f = w->t.f;
    color moved = color_scale(&w->t, j.jump, boundary_tangent(w, j.motion));
    ir_ref finite = color_finite(&w->t, moved);
    kernel_count(w, ir_and(f, j.splat.there, ir_not(f, finite)), STATUS_NON_FINITE);
    j.splat.there = ir_and(f, j.splat.there, finite);
    splat_add(w, &j.splat, moved, NULL);
}

static void backpropagate(walk *w, const edge_jump *j)
{
    ir_ref seed = t_f32(&w->t, 0);
    color adjoint = splat_read(w, &j->splat, false).contribution;
    for (uint32_t c = 0; c < w->t.channels; c++)
        seed = t_mad(&w->t, adjoint.c[c], j->jump.c[c], seed);
    boundary_backward(w, j->splat.there, &j->motion, &seed, 1);
}

bl_result kernel_edges_seen(walk *w, ir_module *m)
{
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    random4 r = boundary_numbers(w, loop.sample, 0);
    sensor_view view = walk_view(w);
    vec2 lens = {r.u[1], r.u[2]};
    boundary_cut cut;
    ir_ref cuts_now = ir_bool(f, false);
    seen_edge e = pick_edge(w, &loop, &view, lens, r.u[3]);
    if (w->plan->edge_cuts) { /* half of the samples */
        cuts_now = ir_and(f, loop.guide.usual, ir_lt(f, r.u[0], t_f32(t, 0.5f)));
        e.b.there = ir_and(f, e.b.there, ir_not(f, cuts_now));
        random4 more = boundary_numbers(w, loop.sample, 2);
        cut = boundary_cut_pick(w, &view, lens, &more, cuts_now);
        loop.scale = ir_select(f, loop.guide.usual, ir_mul(f, loop.scale, t_f32(t, 2)), loop.scale);
    }
    walk_position at = position_before(w, loop.sample, &e.link, e.image.p);
    edge_jump j = cross_edge(w, &loop, &e, &at, lens);
    ir_ref found = boundary_size(w, j.jump);
    if (w->plan->edge_cuts)
        take_cut(w, &loop, &view, &cut, &at, cuts_now, &j);
    ir_ref there = j.splat.there;
    j.splat.there = ir_and(f, there, loop.guide.usual);
    if (boundary_forward(w))
        add_moved(w, j);
    else
        backpropagate(w, &j);
    boundary_end(w, &loop, there, found, e.b.possible);
    ir_return(f, NULL, 0);
    return BL_OK;
}
