/* SPDX-License-Identifier: BSD-3-Clause
 * Volumetric walks: vertices that move with the camera and with surfaces, under detached sampling
 * (docs/theory/moving_geometry.md). This is the local convention of local_surface.c. Here it also covers what
 * lies between two vertices: media, and surfaces that let light through.
 *
 *   - The segment behind the camera moves with the camera's ray, and surfaces slide along it. A collision
 *     keeps its share of the way from the surface in front of it to the surface behind it. If it were held in
 *     place, the derivative would lose the light of a medium that grows: the derivative of an integral has a
 *     part for where the integral ends. Where a medium's grid ends before the surface does, the faces of its
 *     box hold the collision instead. Else it would move over the step of the density there.
 *   - A segment between surfaces of one shape, or from anywhere to a light, holds the point at its end and
 *     swings about it as its beginning moves: its direction is computed again, and so is the measure
 *     |cos| / r^2. Light sampling holds the same point. If the surface there shines and moves by its
 *     to_world, the point goes along with its shape instead, in both.
 *   - Any other segment keeps its direction, and what is at its end moves: a collision by its share, a
 *     surface by sliding. Such a segment begins or ends at a collision, or goes from one shape to another.
 *     If its end were held, its direction would turn by 1 / r. Collisions often have near neighbours, and so
 *     have points near the line where two shapes touch: the mean of 1 / r has no bound there. So motion goes
 *     on from vertex to vertex, and ends where a segment swings.
 *
 * Motion that goes on is linear in what began it, so nothing has to be visited twice. The camera's motion is
 * linear in two vectors of its ray, by matrices that the path carries (motion_carry). A surface's motion is
 * linear in how far the surface slides along the ray that crosses it. Every segment adds two such surfaces.
 * So the path carries only one of them all (motion_anchor). It chooses one with a probability in proportion
 * to how much each moves the vertex, and divides by that probability. The choice is right in the mean, and
 * the length of the vertex's motion is the same whichever surface is chosen. A point that goes along with its
 * shape counts as three sources, one for each axis.
 *
 * The transmittance between two vertices is that between the places to which they have moved. The motion of a
 * point of a stretch is linear in a few numbers (struct segment_motion). These are all that media/tracking.c
 * has to know. Slides are taken to first order, which is what derivatives are.
 *
 * Next to a discrete lobe directions stay as they are. This is part of what params calls incomplete. */
#include "render/integrator/motion/local_volume.h"
#include "render/integrator/motion/displacement.h"

#include "render/integrator/motion/none.h"
#include "spirv_gen/ad/ad.h"

bool local_volume_wanted(const walk *w)
{
    return w->volumetric && walk_tracks(w) && plan_moves_segments(w->plan);
}

ir_ref local_volume_swings(walk *w, ir_ref on_surfaces, ir_ref from, ir_ref to, ir_ref shines)
{
    ir_func *f = w->t.f;
    return ir_or(f, shines, ir_and(f, on_surfaces, ir_eq(f, from, to)));
}

static bool surfaces_slide(const walk *w) { return w->plan->moves & MOVE_HITS; }

/* ---- as loop state ---- */

static void state_carry(loop_state *s, motion_carry *c)
{
    state_ref(s, &c->there);
    for (int k = 0; k < 3; k++)
        state_vec3(s, &c->shift[k]), state_vec3(s, &c->turn[k]);
}

static void state_anchor(const walk *w, loop_state *s, motion_anchor *a)
{
    state_ref(s, &a->there), state_ref(s, &a->axis), state_border(w, s, &a->on);
    state_vec3(s, &a->o), state_vec3(s, &a->d), state_vec3(s, &a->by);
}

static void state_local_volume(walk *w, loop_state *s, walk_position *at)
{
    state_border(w, s, &at->local_volume.border), state_ref(s, &at->local_volume.reach);
    if (w->plan->camera)
        state_carry(s, &at->local_volume.carry);
    if (surfaces_slide(w))
        state_anchor(w, s, &at->local_volume.anchor), state_ref(s, &at->local_volume.target);
}

static motion_carry carry_none(walk *w)
{
    vec3 zero = v3_zero(&w->t);
    return (motion_carry){
        .there = ir_bool(w->t.f, false), .shift = {zero, zero, zero}, .turn = {zero, zero, zero}};
}

static void volume_before(walk *w, walk_position *at)
{
    at->local_volume.border = border_none(w), at->local_volume.reach = t_f32(&w->t, -1);
    at->local_volume.carry = carry_none(w);
    at->local_volume.target = t_u32(&w->t, 0);
    at->local_volume.anchor = (motion_anchor){
        .there = ir_bool(w->t.f, false),
        .axis = at->local_volume.target,
        .on = at->local_volume.border,
        .o = at->o,
        .d = at->d,
        .by = v3_zero(&w->t),
    };
}

/* ---- slides ---- */

static walk_border border_detached(tracer *t, walk_border b)
{
    ir_func *f = t->f;
    b.t = ir_detach(f, b.t), b.b = (vec2){ir_detach(f, b.b.x), ir_detach(f, b.b.y)};
    b.n = v3_detach(t, b.n), b.distance = ir_detach(f, b.distance);
    return b;
}

/* The distance that a surface's own motion makes it slide along a ray that is held. */
static ir_ref own_slide(walk *w, const walk_border *b, vec3 start, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    if (!surfaces_slide(w))
        return zero;
    BL_ASSERT(w->wants.surface_differentiated, "surfaces slide by functions that were not traced");
    walk_hit hit = {
        .valid = b->valid,
        .entry = b->entry,
        .level = b->level,
        .t = b->t,
        .b = b->b,
        .d = d,
        .slides = b->valid,
    };
    hit.o = v3_add(t, start, v3_scale(t, d, ir_sub(f, b->distance, b->t)));
    ir_ref branch =
        ir_if(f, b->valid); /* Elsewhere `entry` is another surface, which may have no derivative. */
    vec3 p = walk_surface(w, &hit, w->fn.interact_differentiated).p,
         was = w->pass == RENDER_FROZEN ? walk_surface(w, &hit, w->fn.slide_before).p : p;
    ir_ref by = displacement(w, v3_dot(t, p, d), v3_dot(t, was, d));
    ir_else(f);
    ir_endif(f);
    return ir_phi(f, branch, by, zero);
}

/* Returns n / (n . d). A ray whose points move by `by` meets the surface at a distance that is smaller by the
 * dot product of `by` with this vector. Returns zero where the ray does not cross the surface. */
static vec3 normal_over_cosine(tracer *t, const walk_border *b, vec3 d)
{
    ir_func *f = t->f;
    ir_ref cosine = v3_dot(t, d, b->n),
           crosses = ir_and(f, b->valid, ir_gt(f, ir_abs(f, cosine), t_f32(t, 1e-6f))), one = t_f32(t, 1);
    return v3_select(t, crosses, v3_scale(t, b->n, ir_div(f, one, ir_select(f, crosses, cosine, one))),
                     v3_zero(t));
}

/* The distance that a surface slides along a ray with origin start and direction d, by the surface's own
 * motion and by the ray's motion l. */
static ir_ref slide(walk *w, const ray_motion *l, const walk_border *b, vec3 start, vec3 d)
{
    tracer *t = &w->t;
    vec3 by = motion_along(t, l->shift, l->turn, b->distance);
    return ir_sub(t->f, own_slide(w, b, start, d), v3_dot(t, by, normal_over_cosine(t, b, d)));
}

/* The slide of a point that keeps its share of the way from the near surface to the far one. Where there is
 * no far surface, the point slides with the near one. ahead: bool, there is. */
static ir_ref between(walk *w, ir_ref ahead, ir_ref near_slide, ir_ref far_slide, ir_ref share)
{
    ir_func *f = w->t.f;
    ir_ref both = t_mad(&w->t, share, ir_sub(f, far_slide, near_slide), near_slide);
    return ir_select(f, ahead, both, near_slide);
}

/* ---- grids that end within their media ---- */

/* The part of a stretch in which points keep their shares of the way. It lies between two surfaces or, where
 * the grid of the medium begins behind the one or ends before the other, between faces of the grid's box. */
typedef struct stretch_part {
    ir_ref begins, ends; /* detached distances along the segment */
    ir_ref near, far;    /* how its ends slide along the ray */
} stretch_part;

/* The faces at which a stretch crosses the box of its medium's grid. distance: along the segment. */
typedef struct grid_faces {
    walk_border enters, leaves;
} grid_faces;

static bool has_faces(const walk *w) { return w->media && w->plan->scene->grids_end; }

/* origin: distance along the segment at which the stretch begins. there: bool, the stretch is in a medium. */
static grid_faces faces_of(walk *w, const walk_stretch *s, ir_ref there, ir_ref origin)
{
    ir_func *f = w->t.f;
    grid_faces g;
    stretch_faces(w, s, there, &g.enters, &g.leaves);
    g.enters.distance = ir_add(f, g.enters.distance, origin);
    g.leaves.distance = ir_add(f, g.leaves.distance, origin);
    return g;
}

/* A face stands still, so it slides along the ray by the ray's motion alone. */
static void ends_at_face(walk *w, const walk_border *face, const ray_motion *l, vec3 d, ir_ref *distance,
                         ir_ref *by)
{
    tracer *t = &w->t;
    vec3 moved = motion_along(t, l->shift, l->turn, face->distance);
    ir_ref slides = ir_neg(t->f, v3_dot(t, moved, normal_over_cosine(t, face, d)));
    *by = ir_select(t->f, face->valid, slides, *by);
    *distance = ir_select(t->f, face->valid, face->distance, *distance);
}

static void part_in_grid(walk *w, const grid_faces *g, const ray_motion *l, vec3 d, stretch_part *p)
{
    ends_at_face(w, &g->enters, l, d, &p->begins, &p->near);
    ends_at_face(w, &g->leaves, l, d, &p->ends, &p->far);
}

/* How the part grows per length of it; 0 where it has none. */
static ir_ref part_rate(tracer *t, const stretch_part *p)
{
    ir_func *f = t->f;
    ir_ref length = ir_sub(f, p->ends, p->begins), some = ir_gt(f, length, t_f32(t, 0));
    ir_ref rate = ir_div(f, ir_sub(f, p->far, p->near), ir_select(f, some, length, t_f32(t, 1)));
    return ir_select(f, some, rate, t_f32(t, 0));
}

/* How a stretch slides that begins at the distance `origin` and whose part grows by `rate` per length. Beside
 * its part there is nothing of the medium, so what is linear in the part may go on to both ends: *near is the
 * slide of the stretch's beginning, *far that of its point at `end`. */
static void slides_of_stretch(tracer *t, const stretch_part *p, ir_ref rate, ir_ref origin, ir_ref end,
                              ir_ref *near, ir_ref *far)
{
    ir_func *f = t->f;
    *near = ir_sub(f, p->near, ir_mul(f, rate, ir_sub(f, p->begins, origin)));
    *far = t_mad(t, rate, end, *near);
}

/* What keeps a vertex: the surface or, where the vertex is a collision, the face that comes before it. */
static walk_border kept_by(tracer *t, const walk_border *on, const walk_border *face, ir_ref closer)
{
    ir_func *f = t->f;
    walk_border b = *on;
    b.valid = ir_or(f, b.valid, closer);
    b.n = v3_select(t, closer, face->n, b.n);
    b.distance = ir_select(f, closer, face->distance, b.distance);
    return b;
}

/* ---- points that go along with their shapes ---- */

static ir_ref component(tracer *t, vec3 v, ir_ref axis)
{
    return ir_select(t->f, ir_eq(t->f, axis, t_u32(t, 1)), v.x,
                     ir_select(t->f, ir_eq(t->f, axis, t_u32(t, 2)), v.y, v.z));
}

/* The displacement of an anchor's point along the anchor's axis, in units of length. */
static ir_ref point_displacement(walk *w, const motion_anchor *a, const walk_border *on, vec3 o, vec3 d)
{
    tracer *t = &w->t;
    return component(t,
                     target_displacement(w, shape_of_entry(t, on->entry),
                                         v3_add(t, o, v3_scale(t, d, on->distance)), NULL),
                     a->axis);
}

/* ---- the segment ---- */

static ray_motion still(tracer *t) { return (ray_motion){v3_zero(t), v3_zero(t)}; }

/* The motion of the sample's camera ray. */
static ray_motion motion_of_camera(walk *w, const walk_position *at)
{
    walk own = *w;
    own.t = walk_differentiated(w);
    walk_position now = walk_camera(&own, at->sample), was = walk_camera(w, at->sample);
    ray_motion m = {displacement3(w, now.o, was.o), displacement3(w, now.d, was.d)};
    if (!w->known.looks)
        return m;
    sensor_view view = walk_view(&own);
    ray r = sensor_ray(&own.t, &view, w->known.film, w->known.lens);
    m.shift = v3_select(&w->t, w->known.looks_now, displacement3(w, r.o, v3_detach(&w->t, r.o)), m.shift);
    m.turn = v3_select(&w->t, w->known.looks_now, displacement3(w, r.d, v3_detach(&w->t, r.d)), m.turn);
    return m;
}

/* A matrix, given by its rows, times a vector. The matrix is detached. */
static vec3 rows_times(tracer *t, const vec3 row[3], vec3 v)
{
    return v3(v3_dot(t, v3_detach(t, row[0]), v), v3_dot(t, v3_detach(t, row[1]), v),
              v3_dot(t, v3_detach(t, row[2]), v));
}

/* The displacement of the vertex at which the segment starts. camera: the motion of the camera's ray. */
static vec3 start_displacement(walk *w, const walk_position *at, ray_motion camera)
{
    tracer *t = &w->t;
    vec3 moved = v3_zero(t);
    if (w->plan->camera) {
        vec3 carried = v3_add(t, rows_times(t, at->local_volume.carry.shift, camera.shift),
                              rows_times(t, at->local_volume.carry.turn, camera.turn));
        moved = v3_select(t, at->local_volume.carry.there, carried, moved);
    }
    if (surfaces_slide(w)) {
        walk_border on = border_detached(t, at->local_volume.anchor.on);
        vec3 o = v3_detach(t, at->local_volume.anchor.o), d = v3_detach(t, at->local_volume.anchor.d);
        ir_ref by = own_slide(w, &on, o, d);
        if (w->plan->moves & MOVE_TO_WORLD)
            by = ir_select(t->f, ir_ne(t->f, at->local_volume.anchor.axis, t_u32(t, 0)),
                           point_displacement(w, &at->local_volume.anchor, &on, o, d), by);
        vec3 slid = v3_scale(t, v3_detach(t, at->local_volume.anchor.by), by);
        moved = v3_add(t, moved, v3_select(t, at->local_volume.anchor.there, slid, v3_zero(t)));
    }
    return moved;
}

/* The motion of the segment that leads to the next vertex. The first segment moves with the camera's ray. A
 * later one moves with its start; it turns only if it swings about its end. */
static ray_motion motion_of_segment(walk *w, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ray_motion camera = w->plan->camera ? motion_of_camera(w, at) : still(t);
    vec3 moved = start_displacement(w, at, camera);
    ir_ref swings = ir_gt(f, at->local_volume.reach, t_f32(t, 0)),
           reach = ir_select(f, swings, ir_detach(f, at->local_volume.reach), t_f32(t, 1));
    vec3 turned = v3_neg(t, moved);
    if (w->plan->moves & MOVE_TO_WORLD) {
        vec3 end = v3_add(t, v3_detach(t, at->scattered), v3_scale(t, v3_detach(t, at->d), reach));
        turned = v3_add(t, turned, target_displacement(w, at->local_volume.target, end, NULL));
    }
    vec3 turn = v3_select(t, swings, v3_scale(t, turned, ir_div(f, t_f32(t, 1), reach)), v3_zero(t));
    ir_ref first = ir_eq(f, at->depth, t_u32(t, 0));
    return (ray_motion){v3_select(t, first, camera.shift, moved), v3_select(t, first, camera.turn, turn)};
}

/* How surfaces hold a vertex whose segment keeps its direction d. The vertex takes the share `rest` of the
 * slide of the surface that the segment has crossed last, and the share `part` of the slide of the surface
 * ahead. Where the ray's points move by m, the vertex slides back by m . by_near for the one and m . by_far
 * for the other (normal_over_cosine). */
typedef struct hold {
    ir_ref rest, part;       /* shares from 0 to 1; their sum is 1 */
    vec3 by_near, by_far, g; /* normal_over_cosine of the two surfaces, times the shares; g: their sum */
} hold;

static hold hold_between(tracer *t, const walk_border *near, const walk_border *far, vec3 d, ir_ref share)
{
    ir_func *f = t->f;
    hold h = {.part = ir_select(f, far->valid, share, t_f32(t, 0))};
    h.rest = ir_sub(f, t_f32(t, 1), h.part);
    h.by_near = v3_scale(t, normal_over_cosine(t, near, d), h.rest),
    h.by_far = v3_scale(t, normal_over_cosine(t, far, d), h.part);
    h.g = v3_add(t, h.by_near, h.by_far);
    return h;
}

/* bool: what moves the vertex before this one moves this one too, because the segment does not swing. there:
 * bool, something moves the vertex before. */
static ir_ref goes_on(tracer *t, const walk_position *at, ir_ref there)
{
    return ir_and(t->f, there, ir_le(t->f, at->local_volume.reach, t_f32(t, 0)));
}

/* out = (1 - d g^T) row: a product of two matrices, each given by its rows. */
static void slid_rows(tracer *t, vec3 d, vec3 g, const vec3 row[3], vec3 out[3])
{
    const ir_ref along_d[3] = {d.x, d.y, d.z};
    vec3 sum =
        v3_add(t, v3_scale(t, row[0], g.x), v3_add(t, v3_scale(t, row[1], g.y), v3_scale(t, row[2], g.z)));
    for (int k = 0; k < 3; k++)
        out[k] = v3_sub(t, row[k], v3_scale(t, sum, along_d[k]));
}

/* The segment that leads to a vertex. All fields are detached. */
typedef struct segment {
    vec3 start, d;         /* d: unit direction */
    walk_border near, far; /* near: the surface that the segment has crossed last; far: the one that its ray
                              meets */
    ir_ref distance;       /* from start to the vertex */
} segment;

/* The same where faces of a grid may hold a collision in place of the surfaces of s, which they replace. What
 * a face holds has no share of a slide. */
static hold hold_in_grid(tracer *t, segment *s, const grid_faces *g, ir_ref collides, ir_ref share)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), behind = ir_and(f, collides, g->enters.valid),
           before = ir_and(f, collides, g->leaves.valid);
    s->near = kept_by(t, &s->near, &g->enters, behind), s->far = kept_by(t, &s->far, &g->leaves, before);
    hold h = hold_between(t, &s->near, &s->far, s->d, share);
    h.rest = ir_select(f, behind, zero, h.rest), h.part = ir_select(f, before, zero, h.part);
    return h;
}

/* The carry of a vertex. It follows from the carry of the vertex before, if the segment between them keeps
 * its direction. The carry of the first vertex follows from the camera's ray. */
static motion_carry carry_on(walk *w, const walk_position *at, const segment *s, const hold *by)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0);
    vec3 h = v3_add(t, v3_scale(t, by->by_near, s->near.distance), v3_scale(t, by->by_far, s->far.distance));
    const vec3 unit[3] = {v3(one, zero, zero), v3(zero, one, zero), v3(zero, zero, one)};
    const ir_ref along_d[3] = {s->d.x, s->d.y, s->d.z};
    ir_ref first = ir_eq(f, at->depth, t_u32(t, 0));
    motion_carry c = {.there = ir_or(f, first, goes_on(t, at, at->local_volume.carry.there))};
    vec3 camera[3], shift[3], turn[3];
    slid_rows(t, s->d, by->g, unit, camera);
    slid_rows(t, s->d, by->g, at->local_volume.carry.shift, shift);
    slid_rows(t, s->d, by->g, at->local_volume.carry.turn, turn);
    for (int k = 0; k < 3; k++) {
        c.shift[k] = v3_select(t, first, camera[k], shift[k]);
        c.turn[k] = v3_select(
            t, first, v3_sub(t, v3_scale(t, unit[k], s->distance), v3_scale(t, h, along_d[k])), turn[k]);
    }
    return c;
}

/* first ? a : b */
static motion_anchor anchor_select(walk *w, ir_ref first, const motion_anchor *a, const motion_anchor *b)
{
    motion_anchor r = *a, other = *b;
    loop_state state = {0}, others = {0};
    state_anchor(w, &state, &r), state_anchor(w, &others, &other);
    state_select(w->t.f, first, &state, &others);
    state_anchor(w, &state, &r);
    state_end(&state);
    return r;
}

/* Chooses one of the three axes by the random number u, from 0 to 1. Returns the axis's unit vector divided
 * by the probability of the choice, 1/3. *axis: its number, 1 to 3. */
static vec3 any_axis(tracer *t, ir_ref u, ir_ref *axis)
{
    ir_func *f = t->f;
    *axis = ir_add(f, t_u32(t, 1), ir_min(f, ir_to_u32(f, ir_mul(f, u, t_f32(t, 3))), t_u32(t, 2)));
    ir_ref e[3];
    for (uint32_t k = 0; k < 3; k++)
        e[k] = ir_select(f, ir_eq(f, *axis, t_u32(t, k + 1)), t_f32(t, 3), t_f32(t, 0));
    return vec3_at(e);
}

/* Chooses what the vertex is anchored to: the anchor of the vertex before, or one of the two surfaces of the
 * segment. */
static motion_anchor anchor_choose(walk *w, const walk_position *at, const segment *s, const hold *by)
{
    const walk_border *near = &s->near, *far = &s->far;
    vec3 start = s->start, d = s->d;
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    random4 r =
        random_block(t, w->pixel, at->sample, stretch_key(w, at->event, 0), w->stream, t_u32(t, 0xFFFFFFFFu));
    motion_anchor ahead = {.there = far->valid, .axis = t_u32(t, 0), .on = *far, .o = start, .d = d, .by = d},
                  behind = ahead, kept = at->local_volume.anchor;
    if (w->plan->moves & MOVE_TO_WORLD) {
        /* If the target is not 0, the surface ahead is the one that the segment swings about, if the segment
         * ends here at all. */
        ir_ref axis, goes_along = ir_ne(f, at->local_volume.target, t_u32(t, 0));
        vec3 along = any_axis(t, r.u[1], &axis);
        ahead.axis = ir_select(f, goes_along, axis, ahead.axis),
        ahead.by = v3_select(t, goes_along, along, d);
    }
    behind.on = *near, kept.by = v3_detach(t, kept.by);
    kept.by = v3_sub(t, kept.by, v3_scale(t, d, v3_dot(t, kept.by, by->g)));
    ir_ref weight_kept = ir_select(f, goes_on(t, at, kept.there), v3_length(t, kept.by), zero);
    ir_ref weight_behind =
        ir_select(f, walk_may_slide(w, near->valid, near->entry, near->level), by->rest, zero);
    ir_ref weight_ahead = ir_select(f, walk_may_slide(w, far->valid, far->entry, far->level), by->part, zero);
    ir_ref without = ir_add(f, weight_kept, weight_behind), sum = ir_add(f, without, weight_ahead),
           falls = ir_mul(f, r.u[0], sum);
    ir_ref keeps = ir_lt(f, falls, weight_kept);
    kept.by = v3_scale(t, kept.by, ir_div(f, sum, ir_select(f, keeps, weight_kept, one)));
    behind.by = v3_scale(t, behind.by, sum), ahead.by = v3_scale(t, ahead.by, sum);
    ahead = anchor_select(w, ir_lt(f, falls, without), &behind, &ahead);
    ahead = anchor_select(w, keeps, &kept, &ahead);
    ahead.there = ir_gt(f, sum, zero);
    return ahead;
}

static void volume_stands(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(ir_made(w->t.f, v->met.valid) && ir_made(w->t.f, v->local_volume.hit_normal.x),
              "nothing was met yet");
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 start = v3_detach(t, at->scattered), d = v3_detach(t, at->d);
    walk_border near = border_detached(t, at->local_volume.border),
                far = border_of(w, &v->met, v->local_volume.hit_normal, start, d);
    ir_ref collides = w->media ? v->flight.collides : ir_bool(f, false);
    ray_motion by = motion_of_segment(w, at);
    ir_ref near_slide = slide(w, &by, &near, start, d), far_slide = slide(w, &by, &far, start, d);
    stretch_part part = {ir_select(f, near.valid, near.distance, zero), far.distance, near_slide, far_slide};
    segment s = {.start = start, .d = d, .near = near, .far = far};
    grid_faces faces = {0};
    ir_ref ahead = far.valid;
    if (has_faces(w)) {
        faces = faces_of(w, &v->flight.s, ir_or(f, v->flight.s.there, collides),
                         ir_detach(f, v3_dot(t, v3_sub(t, v->met.o, start), d)));
        part_in_grid(w, &faces, &by, d, &part);
        ahead = ir_or(f, ahead, faces.leaves.valid);
    }
    ir_ref length = ir_sub(f, part.ends, part.begins), good = ir_and(f, ahead, ir_gt(f, length, zero)),
           inverse = ir_div(f, one, ir_select(f, good, length, one));
    ir_ref origin = ir_detach(f, v3_dot(t, v3_sub(t, v->met.o, start), d)), stands = far.distance;
    if (w->media)
        stands = ir_select(f, collides, ir_detach(f, ir_add(f, origin, v->flight.t)), stands);
    ir_ref share = ir_select(f, collides, ir_mul(f, ir_sub(f, stands, part.begins), inverse), one);
    ir_ref inside = between(w, ahead, part.near, part.far, share),
           end = ir_select(f, collides, inside, ir_select(f, far.valid, far_slide, near_slide));
    ir_ref growth = ir_select(f, good, t_mad(t, ir_sub(f, part.far, part.near), inverse, one), one);
    v->local_volume.motion = (segment_motion){
        .shift = by.shift,
        .turn = by.turn,
        .near = near_slide,
        .far = end,
        .growth = growth,
        .origin = origin,
    };
    v->local_volume.motion.displacement =
        v3_add(t, motion_along(t, by.shift, by.turn, stands), v3_scale(t, d, end));
    v->local_volume.border = far;
    s.distance = stands;
    hold held =
        has_faces(w) ? hold_in_grid(t, &s, &faces, collides, share) : hold_between(t, &near, &far, d, share);
    if (w->plan->camera)
        v->local_volume.carry = carry_on(w, at, &s, &held);
    if (surfaces_slide(w))
        v->local_volume.anchor = anchor_choose(w, at, &s, &held);
    if (has_faces(w)) {
        ir_ref flown = ir_detach(f, ir_select(f, collides, v->flight.t, v->flight.s.limit));
        slides_of_stretch(t, &part, ir_sub(f, growth, one), origin, flown, &v->local_volume.motion.near,
                          &v->local_volume.motion.far);
    }
    if (w->media) {
        v->flight.s.motion = (stretch_motion){
            motion_along(t, by.shift, by.turn, origin), by.turn, v->local_volume.motion.near,
            v->local_volume.motion.far, ir_detach(f, ir_select(f, collides, v->flight.t, v->flight.s.limit))};
        v->flight.growth = growth;
    }
    v->hit.local_volume.motion = v->local_volume.motion, v->hit.seen_from = v->met;
}

uint32_t segment_pack(const segment_motion *s, ir_ref out[SEGMENT_NUMBERS])
{
    vec3_put(s->shift, out), vec3_put(s->turn, out + 3), vec3_put(s->displacement, out + 6);
    out[9] = s->near, out[10] = s->far, out[11] = s->growth;
    return SEGMENT_NUMBERS;
}

/* ---- toward lights ---- */

ray_motion volume_line_to_light(walk *w, const walk_vertex *v, vec3 moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_light light = v->light;
    ir_ref factor, distance = ir_detach(f, v->light.distance);
    ray_motion l = {.shift = moved, .turn = still(t).turn};
    if (!walk_move_light(w, &light, &factor))
        return l;
    ir_ref inverse = t_ratio(t, t_f32(t, 1), distance);
    vec3 to = v3_scale(t, light.d, light.distance), was = v3_scale(t, v3_detach(t, v->light.d), distance);
    l.turn = v3_scale(t, displacement3(w, to, was), inverse);
    return l;
}

static ray_motion volume_to_light(walk *w, const walk_vertex *v)
{
    BL_ASSERT(ir_made(w->t.f, v->local_volume.motion.origin),
              "a light is seen from a vertex that does not stand yet");
    return volume_line_to_light(w, v, v->local_volume.motion.displacement);
}

stretch_motion volume_between(walk *w, const ray_motion *l, const ray_stretch *s)
{
    tracer *t = &w->t;
    walk_border first = border_detached(t, *s->near), last = border_detached(t, *s->far);
    vec3 d = v3_detach(t, s->d);
    stretch_motion m = {.shift = motion_along(t, l->shift, l->turn, s->origin), .turn = l->turn};
    m.near = slide(w, l, &first, s->start, d), m.far = slide(w, l, &last, s->start, d);
    m.end = ir_detach(t->f, s->length);
    if (has_faces(w)) {
        ir_func *f = t->f;
        stretch_part p = {s->origin, ir_add(f, s->origin, m.end), m.near, m.far};
        grid_faces faces = faces_of(w, s->in, s->in->there, s->origin);
        part_in_grid(w, &faces, l, d, &p);
        slides_of_stretch(t, &p, part_rate(t, &p), s->origin, m.end, &m.near, &m.far);
    }
    return m;
}

/* ---- ahead ---- */

/* bool: the vertex may move with parameters. */
static ir_ref may_move(walk *w, const walk_vertex *v)
{
    return surfaces_slide(w) ? ir_bool(w->t.f, true) : v->local_volume.carry.there;
}

/* The state of the walk ahead. It goes from surface to surface, as long as these let the path through. */
typedef struct way_ahead {
    walk_position at;
    ir_ref going;         /* bool: the walk ahead goes on */
    ir_ref reach, target; /* they become next_reach and next_target of local_volume_vertex */
    vec3 n;               /* becomes next_n of local_volume_vertex */
} way_ahead;

static void state_ahead(walk *w, loop_state *s, way_ahead *x)
{
    state_position(w, s, &x->at);
    state_ref(s, &x->going), state_ref(s, &x->reach), state_ref(s, &x->target), state_vec3(s, &x->n);
}

/* Finds the next vertex, and decides whether the segment to it swings about it. */
static void volume_look_ahead(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    v->local_volume.next_reach = t_f32(t, -1), v->local_volume.next_n = v3_zero(t),
    v->local_volume.next_target = t_u32(t, 0);
    if (!surfaces_slide(w) && !w->plan->camera) /* Normals and lights move no vertex. */
        return;
    walk own = *w;
    own.motion = &motion_none; /* This walk decides what lies ahead, and moves nothing. */
    ir_ref no = ir_bool(f, false), from_surface = w->media ? ir_not(f, v->flight.collides) : ir_bool(f, true);
    ir_ref wanted =
        ir_and(f, ir_and(f, v->goes_on, may_move(w, v)), ir_not(f, ir_or(f, v->through, v->sample.delta)));
    vec3 d = v->next_d;
    way_ahead x = {walk_next(&own, *at, v, wanted), wanted, v->local_volume.next_reach,
                   v->local_volume.next_target, v->local_volume.next_n};
    loop_state state = {0}, next = {0};
    state_ahead(&own, &state, &x);
    ir_ref loop = state_loop(f, &state);
    state_ahead(&own, &state, &x);
    ir_while(f, x.going);
    interaction si = walk_intersect(&own, x.at, NULL);
    walk_flight flight = {.collides = no};
    ir_ref distance = si.t;
    if (w->media) {
        flight = flight_start(&own, &x.at, si.t);
        distance = ir_select(f, flight.collides, flight.t, si.t);
    }
    bsdf_sample sample = walk_sample_at(&own, &si, &x.at, t_offset(t, ir_mul(f, x.at.event, t_u32(t, 2)), 2));
    ir_ref through = ir_and(f, walk_is_through(t, &si, &sample), ir_not(f, flight.collides)),
           ends = ir_and(f, ir_not(f, through), ir_or(f, si.valid, flight.collides));
    ir_ref so_far = v3_dot(t, v3_sub(t, x.at.o, v->si.p), d);
    ir_ref on = ir_and(f, ends, ir_not(f, flight.collides)),
           shines = ir_ne(f, t_word(t, si.shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE));
    ir_ref swings = ir_and(f, on, local_volume_swings(w, from_surface, v->si.shape, si.shape, shines));
    x.at.o = v3_select(t, through, ray_offset(t, si.p, si.ng, d), x.at.o);
    x.at.event = ir_add(f, x.at.event, t_u32(t, 1));
    if (w->media)
        x.at.medium = medium_behind(&own, &si, d, x.at.medium), x.at.share = flight.share;
    x.going = through;
    x.reach = ir_select(f, swings, ir_add(f, so_far, distance), x.reach);
    x.target = ir_select(f, ir_and(f, swings, shines), si.shape, x.target);
    x.n = v3_select(t, swings, si.ng, x.n);
    state_ahead(&own, &next, &x);
    state_endloop(f, loop, &state, &next);
    state_ahead(&own, &state, &x);
    state_end(&state);
    v->local_volume.next_reach = x.reach, v->local_volume.next_n = x.n,
    v->local_volume.next_target = x.target;
}

/* Behind a surface that the path crosses in a straight line the segment continues, so the state is kept.
 * Behind a vertex a new segment begins. */
static void volume_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive,
                        walk_position *next)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref holds = ir_and(f, alive, ir_not(f, v->sample.delta));
    walk_position kept = *next, fresh = *next;
    kept.local_volume.anchor = at->local_volume.anchor, kept.local_volume.carry = at->local_volume.carry,
    kept.local_volume.border = v->local_volume.border, kept.local_volume.reach = at->local_volume.reach,
    kept.local_volume.target = at->local_volume.target;
    fresh.local_volume.border = border_none(w), fresh.local_volume.reach = v->local_volume.next_reach,
    fresh.local_volume.target = v->local_volume.next_target;
    if (surfaces_slide(w))
        fresh.local_volume.anchor = v->local_volume.anchor,
        fresh.local_volume.anchor.there = ir_and(f, holds, v->local_volume.anchor.there);
    fresh.local_volume.carry = v->local_volume.carry;
    if (w->plan->camera)
        fresh.local_volume.carry.there = ir_and(f, holds, v->local_volume.carry.there);
    loop_state state = {0}, others = {0};
    state_local_volume(w, &state, &kept), state_local_volume(w, &others, &fresh);
    state_select(f, v->through, &state, &others);
    state_local_volume(w, &state, next);
    state_end(&state);
}

/* ---- the other functions of walk_motion_class ---- */

static void volume_begun(walk *w, ir_ref fresh, walk_position *at)
{
    at->local_volume.border.valid = ir_and(w->t.f, at->local_volume.border.valid, ir_not(w->t.f, fresh));
}

static void volume_light_chosen(walk *w, walk_vertex *v, vec3 normal)
{
    if (w->moves & MOVE_HITS)
        v->light.n = normal;
    v->light.seen_from = v->met, v->light.local_volume.motion = v->local_volume.motion;
}

static void volume_met(walk *w, walk_vertex *v, const walk_position *at)
{
    (void)w, (void)at;
    v->local_volume.hit_normal = v->si.ng;
}

static uint32_t volume_inputs(walk *w, const walk_position *at, const walk_vertex *v,
                              ir_ref out[ARRIVALS_MOST])
{
    (void)w, (void)at;
    return segment_pack(&v->local_volume.motion, out);
}

/* Passes the adjoints that have arrived at the numbers of the vertex's motion on to the parameters that move
 * the vertex. */
static void volume_adjoint(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when,
                           arrivals *arrived, ir_ref carried[RAY_MOST])
{
    ir_func *f = w->t.f;
    ir_ref numbers[SEGMENT_NUMBERS];
    (void)at, (void)carried;
    BL_ASSERT(arrived->count == SEGMENT_NUMBERS, "adjoints of %u numbers of a segment", arrived->count);
    ir_if(f, when);
    segment_pack(&v->local_volume.motion, numbers);
    ad_backward(f, numbers, arrived->sum, SEGMENT_NUMBERS, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

const walk_motion_class motion_local_volume = {
    .name = "local volume",
    .moves_stretches = true,
    .state = state_local_volume,
    .before = volume_before,
    .camera = none_camera,
    .join = none_join,
    .begun = volume_begun,
    .next = volume_next,
    .met = volume_met,
    .stands = volume_stands,
    .light_chosen = volume_light_chosen,
    .sampled = none_sampled,
    .look_ahead = volume_look_ahead,
    .light_reference = volume_light_reference,
    .emission = volume_emission,
    .arguments = volume_arguments,
    .hit_mis = none_hit_mis,
    .to_light = volume_to_light,
    .between = volume_between,
    .through = volume_through,
    .inputs = volume_inputs,
    .onward = none_onward,
    .adjoint = volume_adjoint,
};
