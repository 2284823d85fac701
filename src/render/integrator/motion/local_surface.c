/* SPDX-License-Identifier: BSD-3-Clause
 * Surfaces that move with parameters, under detached sampling (docs/theory/moving_geometry.md).
 *
 * Where vertices of meshes move, the convention is local. At each vertex x(i) of the path:
 *
 *   - The neighbours x(i-1), x(i+1) and the sampled light's point are held where they are.
 *   - x(i) slides along the ray that found it. The ray is held, too. Normals, uv and tangents are those that
 *     the mesh has at the point to which x(i) slides.
 *   - The direction wo to x(i+1), or to the light, is computed again. The value is multiplied by
 *     J / detach(J), where J = |cos| / r^2 at x(i+1) is the measure of a piece of surface seen from x(i). A
 *     ray that meets nothing keeps its direction.
 *   - The direction wi at x(i) is computed again, toward x(i-1), which slides as well.
 *
 * This is right because it is a change of variables, vertex by vertex, from directions to surface area. Light
 * sampling and the material's sampling hold the same coordinates, so their detached weights stay right.
 *
 * A derivative needs only the vertex before (local_surface_position.last) and a look ahead at the vertex
 * after. Next to a discrete lobe no point is held: directions stay as they are. This is part of what params
 * calls incomplete. Where only normals or uv are requested, nothing slides.
 *
 * Where a shape moves by its to_world, x(i) is a point of the material, which goes along with its shape
 * (shape/to_world.c). The light's point goes along with its shape as well, and J has the growth of the
 * surface's area as a factor. Vertices that no other vertex aims at slide along their ray: the camera's
 * first vertex, and those behind a discrete lobe. */
#include "render/integrator/motion/none.h"

/* The hit, detached. An invalid one is put at distance 1, so that no square of a distance overflows. */
static walk_hit detached(tracer *t, const walk_hit *hit)
{
    walk_hit h = *hit;
    h.t = ir_select(t->f, h.valid, ir_detach(t->f, h.t), t_f32(t, 1));
    h.b = (vec2){ir_detach(t->f, h.b.x), ir_detach(t->f, h.b.y)};
    h.o = v3_detach(t, h.o), h.d = v3_detach(t, h.d);
    h.p = v3_select(t, h.valid, v3_detach(t, h.p), v3_add(t, h.o, h.d));
    return h;
}

/* The point of a hit, differentiated: it moves with its surface. */
static vec3 local_point(walk *w, const walk_hit *hit)
{
    BL_ASSERT(ir_made(w->t.f, hit->valid), "a point without the hit that it is at");
    walk_hit h = detached(&w->t, hit);
    return v3_select(&w->t, h.valid, walk_surface(w, &h, w->fn.interact_differentiated).p, h.p);
}

static vec2 detached2(tracer *t, vec2 v) { return (vec2){ir_detach(t->f, v.x), ir_detach(t->f, v.y)}; }
static vec2 select2(tracer *t, ir_ref c, vec2 a, vec2 b)
{
    return (vec2){ir_select(t->f, c, a.x, b.x), ir_select(t->f, c, a.y, b.y)};
}

static bool local_emission(walk *w, walk_light *light)
{
    tracer *t = &w->t;
    if (!(w->moves & MOVE_TO_WORLD) && !w->plan->lights_slide)
        return false;
    walk_hit h = detached(t, &light->seen_from);
    ir_ref there = w->plan->lights_slide ? h.valid : ir_and(t->f, h.valid, h.slides);
    interaction si = walk_surface(w, &h, w->fn.interact_differentiated);
    light->uv = select2(t, there, si.uv, detached2(t, light->uv));
    light->on.b = select2(t, there, si.b, detached2(t, light->on.b));
    /* A point that does not slide goes along with its shape, so p moves at every hit. */
    light->on.p = v3_select(t, h.valid, si.p, v3_detach(t, light->on.p));
    return true;
}

/* The unit direction from x(i) to x(i-1), in the world: that of the ray, turned by the slides of both points.
 * point: x(i), differentiated. The ray began a little off the surface at x(i-1), so only differences of
 * points are added. */
static vec3 back_direction(walk *w, const walk_vertex *v, const walk_hit *here, vec3 point)
{
    tracer *t = &w->t;
    BL_ASSERT(ir_made(w->t.f, v->local_surface.last.valid), "the vertex before is not known");
    walk_hit last = detached(t, &v->local_surface.last), before = *here;
    /* If there is no vertex before, this surface stands in for it, so that nothing is divided by zero. Its
     * slide is then left out. */
    ir_ref there = last.valid;
    before.entry = ir_select(t->f, there, last.entry, here->entry);
    if (w->plan->scene->has_groups)
        before.level = ir_select(t->f, there, last.level, here->level);
    if ((w->moves & MOVE_TO_WORLD))
        before.slides = ir_select(t->f, there, last.slides, here->slides);
    before.o = v3_select(t, there, last.o, here->o), before.d = v3_select(t, there, last.d, here->d);
    before.t = ir_select(t->f, there, last.t, here->t);
    before.b =
        (vec2){ir_select(t->f, there, last.b.x, here->b.x), ir_select(t->f, there, last.b.y, here->b.y)};
    vec3 zero = v3(t_f32(t, 0), t_f32(t, 0), t_f32(t, 0));
    vec3 slid = v3_select(t, there,
                          v3_sub(t, walk_surface(w, &before, w->fn.interact_differentiated).p, last.p), zero);
    vec3 to = v3_sub(t, v3_add(t, v3_sub(t, here->o, here->p), slid), v3_sub(t, point, here->p));
    return v3_normalize(t, to);
}

/* The unit direction from x(i) to x(i+1), in the world. *factor: J / detach(J). Where the lobe is discrete or
 * the ray meets nothing, they are the direction of the sample and 1. */
static vec3 next_direction(walk *w, const walk_vertex *v, const walk_hit *here, vec3 point, ir_ref *factor)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(ir_made(w->t.f, v->local_surface.next.valid), "the vertex after was not looked for");
    vec3 from = v3_detach(t, v->next_o), target = v3_detach(t, v->local_surface.next.p),
         n = v3_detach(t, v->local_surface.next.ng), kept = v3_detach(t, v->next_d);
    ir_ref follows =
        ir_and(f, ir_and(f, v->goes_on, v->local_surface.next.valid), ir_not(f, v->sample.delta));
    target = v3_select(t, follows, target, v3_add(t, from, kept));
    n = v3_select(t, follows, n, kept);
    vec3 moved = v3_add(t, from, v3_sub(t, point, here->p));
    ir_ref before = ir_detach(f, solid_angle_of_area(t, from, target, n)),
           usable = ir_and(f, follows, ir_ne(f, before, t_f32(t, 0)));
    before = ir_select(f, usable, before, t_f32(t, 1));
    if ((w->moves & MOVE_TO_WORLD)) {
        tracer reads = walk_differentiated(w);
        ir_ref shape = ir_select(f, follows, v->local_surface.next.shape, shape_of_entry(t, here->entry));
        carried_with_shape(&reads, shape,
                           w->plan->scene->has_groups
                               ? ir_select(f, follows, v->local_surface.next.level, here->level)
                               : (ir_ref){0},
                           &target, &n);
    }
    ir_ref j = ir_div(f, solid_angle_of_area(t, moved, target, n), before);
    *factor = ir_select(f, usable, j, t_f32(t, 1));
    return v3_select(t, follows, v3_normalize(t, v3_sub(t, target, moved)), kept);
}

static void local_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                            motion_factors *by)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 to_light = light->d;
    if (!(w->moves & MOVE_SURFACE))
        return;
    bool slides = (w->moves & MOVE_HITS);
    walk_hit here = detached(t, &v->met);
    interaction si = walk_surface(w, &here, w->fn.interact_differentiated);
    frame fr = surface_frame(t, &si);
    vec3 wi = v3_neg(t, here.d), wo = v3_detach(t, v->next_d);
    ir_ref factor = t_f32(t, 1);
    if (slides)
        wi = back_direction(w, v, &here, si.p), wo = next_direction(w, v, &here, si.p, &factor);
    bsdf_value_arguments moved = *a;
    moved.wi = frame_to_local(t, fr, wi), moved.uv = si.uv;
    if (!ir_is_none(to_light.x))
        moved.to_light = frame_to_local(t, fr, to_light);
    moved.wo = frame_to_local(t, fr, wo);
    moved.on = surface_seen(t, &si, fr);
    ref_list stays = refs_fields(), moves = refs_fields();
    bsdf_value_visit(w, &stays, a), bsdf_value_visit(w, &moves, &moved);
    /* Where there is no surface, the moved arguments may divide by 0, and that must not arrive here. */
    for (uint32_t k = 0; k < stays.count; k++)
        if (ir_type_of(f, stays.at[k]) == IR_F32)
            stays.at[k] = ir_select(f, v->goes_on, moves.at[k], stays.at[k]);
    refs_rewind(&stays, REFS_READ);
    bsdf_value_visit(w, &stays, a);
    by->measure = ir_select(f, v->goes_on, factor, t_f32(t, 1));
}

/* ---- the other functions of walk_motion_class ---- */

static void state_last(walk *w, loop_state *s, walk_position *at)
{
    if (w->moves & MOVE_HITS)
        state_hit(w, s, &at->local_surface.last);
}

static void local_begun(walk *w, ir_ref fresh, walk_position *at)
{
    if (w->moves & MOVE_HITS)
        at->local_surface.last.valid = ir_and(w->t.f, at->local_surface.last.valid, ir_not(w->t.f, fresh));
}

static void local_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive,
                       walk_position *next)
{
    ir_func *f = w->t.f;
    (void)at;
    if (!(w->moves & MOVE_HITS))
        return;
    next->local_surface.last = v->met;
    next->local_surface.last.valid =
        ir_and(f, ir_and(f, next->local_surface.last.valid, alive), ir_not(f, v->sample.delta));
}

static void local_met(walk *w, walk_vertex *v, const walk_position *at)
{
    ir_func *f = w->t.f;
    v->local_surface.last = at->local_surface.last;
    if (w->moves & MOVE_TO_WORLD)
        v->met.slides = ir_and(f, v->met.valid, ir_not(f, at->local_surface.last.valid));
    v->hit.seen_from = v->met;
}

static void local_light_chosen(walk *w, walk_vertex *v, vec3 normal)
{
    if (w->moves & MOVE_HITS)
        v->light.n = normal, v->light.seen_from = v->met;
}

/* Finds what the ray that goes on meets. A ray that does not go on meets nothing. */
static void local_look_ahead(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    (void)at;
    if (!(w->moves & MOVE_HITS))
        return;
    ir_ref tmax = ir_select(t->f, v->goes_on, t_f32(t, 1e30f), t_f32(t, -1));
    v->local_surface.next =
        walk_intersect(w, (walk_position){.o = v->next_o, .d = v->next_d, .tmax = tmax}, NULL);
}

static void local_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a)
{
    if (!(w->moves & MOVE_HITS))
        return;
    a->ref = light->ref = local_point(w, &light->seen_from);
}

const walk_motion_class motion_local_surface = {
    .name = "local surface",
    .state = state_last,
    .before = none_before,
    .camera = none_camera,
    .join = none_join,
    .begun = local_begun,
    .next = local_next,
    .met = local_met,
    .stands = none_visit,
    .light_chosen = local_light_chosen,
    .sampled = none_sampled,
    .look_ahead = local_look_ahead,
    .light_reference = local_light_reference,
    .emission = local_emission,
    .arguments = local_arguments,
    .hit_mis = none_hit_mis,
    .to_light = none_to_light,
    .through = none_through,
    .inputs = none_inputs,
    .onward = none_onward,
    .adjoint = none_adjoint,
};
