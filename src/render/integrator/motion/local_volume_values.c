/* SPDX-License-Identifier: BSD-3-Clause
 * What is evaluated at vertices that move in volumetric walks (local_volume.c): surfaces that rays meet anew
 * after the rays have moved, light that these rays find, and arguments of materials and phase functions. In
 * derivatives the values stay those of the path that was walked. In frozen evaluations they move by as much
 * as what they are made of. */
#include "render/integrator/motion/displacement.h"
#include "render/integrator/motion/local_volume.h"
#include "render/integrator/motion/shifted.h"

/* A surface that a ray meets, twice: now, as it has moved, and before, as the path met it. The values of the
 * two differ in frozen evaluations only. */
typedef struct two_surfaces {
    interaction now, before;
} two_surfaces;

/* The surface at a hit, evaluated by `interact` for the hit's ray. shift, turn: the motion of the ray's
 * origin and direction. */

static interaction surface_by(walk *w, const walk_hit *hit, ir_func **interact, vec3 shift, vec3 turn)
{
    tracer *t = &w->t;
    walk_hit moved = *hit;
    moved.slides = hit->valid;
    moved.o = v3_add(t, v3_detach(t, hit->o), shift),
    moved.d = v3_normalize(t, v3_add(t, v3_detach(t, hit->d), turn));
    interaction si = walk_surface_met(w, moved, interact);
    si.valid = hit->valid, si.entry = hit->entry, si.level = hit->level,
    si.shape = shape_of_entry(t, hit->entry);
    return si;
}

/* The surface at a hit of a segment that moves by s. */
static two_surfaces volume_surface(walk *w, const walk_hit *hit, const segment_motion *s)
{
    tracer *t = &w->t;
    BL_ASSERT(w->wants.surface_differentiated && w->wants.surface_anew,
              "surfaces are not traced as they move");
    two_surfaces x = {.now = surface_by(w, hit, w->fn.interact_differentiated,
                                        motion_along(t, s->shift, s->turn, s->origin), s->turn)};
    x.before =
        w->pass == RENDER_FROZEN ? surface_by(w, hit, w->fn.slide_before, v3_zero(t), v3_zero(t)) : x.now;
    return x;
}

/* The arguments of bsdf_color at si, as a list of fields. wi: in the frame fr. */
static ref_list color_fields(walk *w, const interaction *si, frame fr, vec3 wi)
{
    ref_list l = refs_fields();
    bsdf_color_arguments a = {.wi = wi, .uv = si->uv, .on = surface_seen(&w->t, si, fr)};
    bsdf_color_visit(w, &l, &a);
    return l;
}

void volume_through(walk *w, const walk_hit *hit, const segment_motion *s, bsdf_color_arguments *a)
{
    tracer *t = &w->t;
    if (!(w->moves & MOVE_SURFACE) && !w->motion->chains)
        return;
    vec3 d = v3_detach(t, hit->d);
    two_surfaces x = volume_surface(w, hit, s);
    frame now_frame = surface_frame(t, &x.now), before_frame = surface_frame(t, &x.before);
    vec3 now_wi = frame_to_local(t, now_frame, v3_neg(t, v3_normalize(t, v3_add(t, d, s->turn))));
    ref_list at = refs_fields(), now = color_fields(w, &x.now, now_frame, now_wi);
    ref_list before = color_fields(w, &x.before, before_frame, frame_to_local(t, before_frame, v3_neg(t, d)));
    bsdf_color_visit(w, &at, a);
    refs_shift(w, hit->valid, &at, &now, &before);
    refs_rewind(&at, REFS_READ);
    bsdf_color_visit(w, &at, a);
}

bool volume_emission(walk *w, walk_light *light)
{
    tracer *t = &w->t;
    if (!(w->moves & MOVE_SURFACE))
        return false;
    two_surfaces x = volume_surface(w, &light->seen_from, &light->local_volume.motion);
    ir_ref there = light->seen_from.valid, everywhere = ir_bool(t->f, true);
    vec3 was = v3_detach(t, light->d), d = v3_normalize(t, v3_add(t, was, light->local_volume.motion.turn));
    vec2 now = light_emission_uv(w, there, x.now.uv, d),
         before = light_emission_uv(w, there, x.before.uv, was);
    light->d = d;
    light->uv = shifted2(w, everywhere, light->uv, now, before);
    light->on.b = shifted2(w, there, light->on.b, x.now.b, x.before.b);
    light->on.p = shifted3(w, there, v3_detach(t, light->on.p), x.now.p, x.before.p);
    return true;
}

void volume_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a)
{
    if (!(w->moves & MOVE_HITS))
        return;
    light->ref = v3_add(&w->t, v3_detach(&w->t, light->ref), light->local_volume.motion.displacement);
    a->ref = light->ref;
}

/* The unit direction from x(i) to x(i+1), in the world, where x(i) moves by `by`. *factor: the growth of the
 * measure at x(i+1), as a factor. A segment that does not swing keeps its direction, and the factor is 1. */
static vec3 next_direction(walk *w, const walk_vertex *v, vec3 by, ir_ref *factor)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 d = v3_detach(t, v->next_d), n = v3_detach(t, v->local_volume.next_n);
    ir_ref one = t_f32(t, 1), reach = ir_detach(f, v->local_volume.next_reach), was = v3_dot(t, d, n);
    ir_ref swings = ir_and(f, ir_gt(f, reach, t_f32(t, 0)), ir_ne(f, was, t_f32(t, 0)));
    ir_ref distance = ir_select(f, swings, reach, one);
    if (w->plan->moves & MOVE_TO_WORLD)
        by = v3_sub(t, by,
                    target_displacement(w, v->local_volume.next_target,
                                        v3_add(t, v3_detach(t, v->si.p), v3_scale(t, d, distance)), &n));
    vec3 to = v3_sub(t, d, v3_scale(t, by, ir_div(f, one, distance))); /* in units of the detached distance */
    ir_ref inverse = ir_div(f, one, v3_length(t, to)), cosine = v3_dot(t, v3_scale(t, to, inverse), n);
    *factor = ir_select(f, swings,
                        ir_div(f, ir_mul(f, cosine, t_sqr(t, inverse)), ir_select(f, swings, was, one)), one);
    return v3_select(t, swings, v3_scale(t, to, inverse), d);
}

/* How a vertex has moved. */
typedef struct moved_vertex {
    const interaction *si; /* the surface that its ray meets; a collision does not lie on it */
    vec3 turn;             /* by which the direction of its ray changes */
    vec3 by;               /* displacement of the vertex */
    vec3 to_light;         /* unit direction to the sampled light, in the world */
} moved_vertex;

/* bool: the vertex is a collision in a medium. */
static ir_ref is_collision(walk *w, const walk_vertex *v)
{
    return w->media ? v->flight.collides : ir_bool(w->t.f, false);
}

/* The arguments of bsdf_value at a moved vertex. was: the arguments before it moved; those that describe the
 * sample stay. *factor: see next_direction. */
static bsdf_value_arguments moved_arguments(walk *w, const walk_vertex *v, const moved_vertex *m,
                                            const bsdf_value_arguments *was, ir_ref *factor)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref collides = is_collision(w, v);
    frame fr = walk_frame(w, v, m->si);
    vec3 p = v3_add(t, v3_detach(t, v->si.p), m->by);
    bsdf_value_arguments a = *was;
    a.wi = frame_to_local(t, fr, v3_neg(t, v3_normalize(t, v3_add(t, v3_detach(t, v->met.d), m->turn))));
    a.uv.x = ir_select(f, collides, p.x, m->si->uv.x), a.uv.y = ir_select(f, collides, p.y, m->si->uv.y);
    a.to_light = frame_to_local(t, fr, m->to_light);
    a.wo = frame_to_local(t, fr, next_direction(w, v, m->by, factor));
    a.on = surface_seen(t, m->si, fr);
    a.collision_z = p.z;
    return a;
}

/* Moves each argument in *a, by the change from `before` to `now`. An argument moves only where it means
 * something: where there is no surface, its evaluation may divide by zero. */
static void shift_arguments(walk *w, const walk_vertex *v, bsdf_value_arguments *a, bsdf_value_arguments *now,
                            bsdf_value_arguments *before)
{
    ir_func *f = w->t.f;
    ir_ref collides = is_collision(w, v);
    ref_list at = refs_fields(), to = refs_fields(), from = refs_fields();
    bsdf_value_directions_visit(&at, a), bsdf_value_directions_visit(&to, now);
    bsdf_value_directions_visit(&from, before);
    refs_shift(w, v->goes_on, &at, &to, &from);
    refs_rewind(&at, REFS_READ);
    bsdf_value_directions_visit(&at, a);
    if (w->plan->needs & (NEED_SLOPES | NEED_FACE | NEED_POSITION))
        shifted_surface(w, ir_and(f, v->goes_on, ir_not(f, collides)), &a->on, now->on, before->on);
    a->collision_z = walk_shifted(w, ir_and(f, v->goes_on, collides), a->collision_z, now->collision_z,
                                  before->collision_z);
}

void volume_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                      motion_factors *by)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!(w->moves & MOVE_SURFACE))
        return;
    BL_ASSERT(w->volumetric, "motion of volumes in a walk among surfaces");
    ir_ref factor, unused;
    walk_hit here = v->met;
    here.valid = ir_and(f, here.valid, ir_not(f, is_collision(w, v)));
    two_surfaces x = volume_surface(w, &here, &v->local_volume.motion);
    bool lights = v->light.sampled;
    vec3 lit = lights ? v3_detach(t, v->light.d) : v3_detach(t, v->light_d);
    const segment_motion *m = &v->local_volume.motion;
    moved_vertex moved = {&x.now, m->turn, m->displacement, lights ? light->d : lit};
    bsdf_value_arguments now = moved_arguments(w, v, &moved, a, &factor), before = now;
    if (w->pass == RENDER_FROZEN) {
        moved_vertex as_met = {&x.before, v3_zero(t), v3_zero(t), lit};
        before = moved_arguments(w, v, &as_met, a, &unused);
    }
    shift_arguments(w, v, a, &now, &before);
    by->measure = ir_select(f, ir_and(f, v->goes_on, ir_not(f, v->through)), factor, t_f32(t, 1));
}
