/* SPDX-License-Identifier: BSD-3-Clause
 * What is evaluated at vertices that move in volumetric walks (local_volume.c): surfaces met anew along rays
 * that have moved, light that these find, and arguments of materials and phase functions. Values stay those
 * of the path that was walked; in frozen evaluations they move by as much as what they are made of. */
#include "render/integrator/motion/local_volume.h"

static interaction surface_by(walk *w, const walk_hit *hit, ir_func **interact, vec3 shift, vec3 turn)
{
    tracer *t = &w->t;
    walk_hit moved = *hit;
    moved.slides = hit->valid;
    moved.o = v3_add(t, v3_detach(t, hit->o), shift),
    moved.d = v3_normalize(t, v3_add(t, v3_detach(t, hit->d), turn));
    interaction si = walk_surface_met(w, moved, interact);
    si.valid = hit->valid, si.entry = hit->entry, si.level = hit->level,
    si.shape = walk_shape_of(t, hit->entry);
    return si;
}

two_surfaces volume_surface(walk *w, const walk_hit *hit, const segment_motion *s)
{
    tracer *t = &w->t;
    two_surfaces x = {.now = surface_by(w, hit, w->fn.interact_tracked,
                                        motion_along(t, s->shift, s->turn, s->origin), s->turn)};
    x.before =
        w->pass == RENDER_FROZEN ? surface_by(w, hit, w->fn.slide_before, v3_zero(t), v3_zero(t)) : x.now;
    return x;
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

void volume_light_reference(walk *w, walk_light *light, ir_ref *in)
{
    if (!(w->moves & MOVE_HITS))
        return;
    light->ref = v3_add(&w->t, v3_detach(&w->t, light->ref), light->local_volume.motion.displacement);
    vec3_put(light->ref, in + 1);
}

/* From x(i) to x(i+1) as it moves by `by`, and by what the measure grows. */
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
    vec3 to = v3_sub(t, d, v3_scale(t, by, ir_div(f, one, distance))); /* over the distance as it was */
    ir_ref inverse = ir_div(f, one, v3_length(t, to)), cosine = v3_dot(t, v3_scale(t, to, inverse), n);
    *factor = ir_select(f, swings,
                        ir_div(f, ir_mul(f, cosine, t_sqr(t, inverse)), ir_select(f, swings, was, one)), one);
    return v3_select(t, swings, v3_scale(t, to, inverse), d);
}

/* The arguments of walk_values that a vertex has which has moved by `by` and meets this surface, if it is on
 * one, along a ray that has turned. */
static void arguments(walk *w, const walk_vertex *v, const interaction *si, vec3 turn, vec3 by, vec3 to_light,
                      ir_ref *out, ir_ref *factor)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref collides = w->media ? v->flight.collides : ir_bool(f, false);
    frame fr = walk_frame(w, v, si);
    vec3 p = v3_add(t, v3_detach(t, v->si.p), by);
    vec3_put(frame_to_local(t, fr, v3_neg(t, v3_normalize(t, v3_add(t, v3_detach(t, v->met.d), turn)))),
             out + 1);
    out[4] = ir_select(f, collides, p.x, si->uv.x), out[5] = ir_select(f, collides, p.y, si->uv.y);
    vec3_put(frame_to_local(t, fr, to_light), out + 6),
        vec3_put(frame_to_local(t, fr, next_direction(w, v, by, factor)), out + 9);
    uint32_t own = 14 + surface_args(t, si, fr, out + 14);
    out[own] = p.z;
}

void volume_arguments(walk *w, const walk_vertex *v, const walk_light *light, ir_ref *in, uint32_t count,
                      motion_factors *by)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!(w->moves & MOVE_SURFACE))
        return;
    ir_ref collides = w->media ? v->flight.collides : ir_bool(f, false), now[15 + SURFACE_ARGS],
           before[15 + SURFACE_ARGS], factor, unused;
    walk_hit here = v->met;
    here.valid = ir_and(f, here.valid, ir_not(f, collides));
    two_surfaces x = volume_surface(w, &here, &v->local_volume.motion);
    bool lights = v->light.sampled;
    vec3 lit = lights ? v3_detach(t, v->light.d) : v3_detach(t, v->light_d);
    arguments(w, v, &x.now, v->local_volume.motion.turn, v->local_volume.motion.displacement,
              lights ? light->d : lit, now, &factor);
    if (w->pass == RENDER_FROZEN)
        arguments(w, v, &x.before, v3_zero(t), v3_zero(t), lit, before, &unused);
    for (uint32_t k = 1; k < count;
         k++) { /* where there is no surface nothing moves, were it by a division by zero */
        bool last = k + 1 == count;
        ir_ref holds = k < 14 ? v->goes_on : ir_and(f, v->goes_on, last ? collides : ir_not(f, collides));
        if (k != 12 && k != 13 && ir_type_of(f, in[k]) == IR_F32)
            in[k] = walk_shifted(w, holds, in[k], now[k], w->pass == RENDER_FROZEN ? before[k] : now[k]);
    }
    by->measure = ir_select(f, ir_and(f, v->goes_on, ir_not(f, v->through)), factor, t_f32(t, 1));
}
