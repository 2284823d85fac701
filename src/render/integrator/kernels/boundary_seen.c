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
    boundary_point b, image;       /* the edge, and its image in the mirror */
    const boundary_mirror *mirror; /* NULL: b and image are the same */
    vec3 viewpoint;                /* from which b was picked */
} seen_edge;

/* How the edge moves away from the sensor's ray. The hits on both sides slide along their rays, so they do
 * not count. */
static ir_ref motion_of(walk *w, const seen_edge *e, const boundary_sides *sides, const sensor_link *link,
                        vec2 lens)
{
    tracer *t = &w->t;
    vec3 p = v3_detach(t, e->image.p), x = v3_detach(t, link->point), y = p, from = e->viewpoint;
    if (w->plan->sensor) {
        ray r = boundary_camera_ray(w, link->position, lens);
        ir_ref distance = v3_length(t, v3_sub(t, p, v3_detach(t, r.o)));
        x = r.o, y = v3_add(t, r.o, v3_scale(t, r.d, ir_detach(t->f, distance)));
        vec3 shift = v3_sub(t, r.o, v3_detach(t, r.o));
        if (sensor_of(w->plan->scene->sensor)->parallel)
            shift = v3_scale(t, v3_sub(t, v3_detach(t, r.d), r.d), ir_detach(t->f, e->image.distance));
        from = v3_add(t, from, e->mirror ? boundary_mirror_vector(w, e->mirror, shift) : shift);
    }
    boundary_edge edge = boundary_edge_moved(w, &e->b, sides, from);
    if (e->mirror)
        edge.p = boundary_mirror_point(w, e->mirror, edge.p);
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

bl_result kernel_edges_seen(walk *w, ir_module *m)
{
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref none = t_f32(t, 0), width = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_WIDTH)),
           height = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_HEIGHT));
    random4 r = boundary_numbers(w, loop.sample, 0);
    sensor_view view = walk_view(w);
    vec2 lens = {r.u[1], r.u[2]};
    bool mirrors = w->plan->edge_mirrors > 0, cuts = w->plan->edge_cuts;
    boundary_mirror mirror;
    boundary_cut cut;
    ir_ref cuts_now = ir_bool(f, false);
    boundary_wish wish = {
        .candidates = candidates(w),
        .creases = true,
        .by = mirrors ? NULL : &view,
        .lens = lens,
        .far = plan_goes_through(
            w->plan), /* behind a surface that a ray goes through the far plane does not end it */
    };
    vec3 viewpoint = viewpoint_of(w, &view, lens);
    if (mirrors)
        mirror = boundary_mirror_choose(w, r.u[3]), viewpoint = boundary_mirror_point(w, &mirror, viewpoint);
    boundary_point b = boundary_pick(w, viewpoint, loop.sample, &loop.guide, &wish), image = b;
    if (mirrors)
        image = boundary_mirror_edge(w, &mirror, &b);
    sensor_link link = sensor_of(view.object)->link(t, &view, image.p, lens);
    if (mirrors) {
        ir_ref within = ir_or(f, link.within, ir_and(f, mirror.there, link.behind_near));
        b.there = ir_and(f, b.there, ir_and(f, link.seen, within));
    }
    if (cuts) { /* half of the samples */
        cuts_now = ir_and(f, loop.guide.usual, ir_lt(f, r.u[0], t_f32(t, 0.5f)));
        b.there = ir_and(f, b.there, ir_not(f, cuts_now));
        random4 more = boundary_numbers(w, loop.sample, 2);
        cut = boundary_cut_pick(w, &view, lens, &more, cuts_now);
        loop.scale = ir_select(f, loop.guide.usual, ir_mul(f, loop.scale, t_f32(t, 2)), loop.scale);
    }
    walk_position at = position_before(w, loop.sample, &link, image.p);
    vec3 from = link.point;
    if (w->plan->scene->clipped)
        from = v3_add(t, from, v3_scale(t, v3_sub(t, image.p, from), link.near));
    color arrived = color_all(t_f32(t, 1));
    if (mirrors)
        arrived = color_scale(t, boundary_mirror_pass(w, &mirror, image.p, &b, &at, &from), mirror.inverse);
    light_splat splat = {.there = b.there,
                         .at = {ir_mul(f, link.position.x, width), ir_mul(f, link.position.y, height)}};
    boundary_sides sides = boundary_trace(w, &b, from, &at);
    splat.there = ir_and(f, splat.there, sides.seen);
    ir_ref weight = ir_mul(f, ir_mul(f, b.weight, loop.scale), link.weight),
           motion =
               motion_of(w, &(seen_edge){b, image, mirrors ? &mirror : NULL, viewpoint}, &sides, &link, lens),
           seed = none;
    color jump;
    for (uint32_t c = 0; c < t->channels; c++)
        jump.c[c] = ir_mul(f, weight, ir_sub(f, sides.radiance[0].c[c], sides.radiance[1].c[c]));
    if (mirrors)
        jump = color_mul(t, jump, arrived);
    ir_ref found = boundary_size(w, jump), there = splat.there;
    if (cuts) {
        boundary_sides own = trace_cut(w, &view, &cut, &at);
        ir_ref by = ir_mul(f, cut.weight, loop.scale);
        for (uint32_t c = 0; c < t->channels; c++)
            jump.c[c] = ir_select(
                f, cuts_now, ir_mul(f, by, ir_sub(f, own.radiance[0].c[c], own.radiance[1].c[c])), jump.c[c]);
        motion = ir_select(f, cuts_now, boundary_cut_motion(w, &cut), motion);
        splat.at.x = ir_select(f, cuts_now, ir_mul(f, cut.at.x, width), splat.at.x);
        splat.at.y = ir_select(f, cuts_now, ir_mul(f, cut.at.y, height), splat.at.y);
        there = ir_select(f, cuts_now, cut.there, there);
    }
    splat.there = ir_and(f, there, loop.guide.usual);
    if (boundary_forward(w)) {
        color moved = color_scale(t, jump, boundary_tangent(w, motion));
        ir_ref finite = color_finite(t, moved);
        kernel_count(w, ir_and(f, splat.there, ir_not(f, finite)), STATUS_NON_FINITE);
        splat.there = ir_and(f, splat.there, finite);
        splat_add(w, &splat, moved, NULL);
    } else {
        color adjoint = splat_read(w, &splat, false).contribution;
        for (uint32_t c = 0; c < t->channels; c++)
            seed = t_mad(t, adjoint.c[c], jump.c[c], seed);
        boundary_backward(w, splat.there, &motion, &seed, 1);
    }
    boundary_end(w, &loop, there, found, b.possible);
    ir_return(f, NULL, 0);
    return BL_OK;
}
