/* SPDX-License-Identifier: BSD-3-Clause
 * Rays against the scene, and the surface at a hit. A ray finds an entry of the hierarchy, its distance and
 * coordinates on the primitive. From these the traced function `interact` of the entry's kind of shape
 * computes the surface. A hit of an instance is evaluated in its group's space and brought into the world:
 * points by the instance's map, normals by the transpose of its inverse.
 *
 * interact_differentiated computes the same surface as a function of parameters that move it
 * (docs/theory/moving_geometry.md). */
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

static affine_map level_motion(walk *w, ir_ref level)
{
    tracer reads = walk_differentiated(w);
    return to_world_level_motion(&reads, level);
}

/* Where a hit slides along a given ray, and the surface goes along with its instance, the ray moves the other
 * way instead (shape_functions.c, carried). */
static void back_with_level(tracer *t, const affine_map *motion, ir_ref slides, vec3 *o, vec3 *d)
{
    *o = v3_select(t, slides, v3_sub(t, v3_add(t, *o, *o), affine_point(t, motion, *o)), *o);
    *d = v3_select(t, slides, v3_sub(t, v3_add(t, *d, *d), affine_vector(t, motion, *d)), *d);
}

ir_ref walk_may_slide(walk *w, ir_ref valid, ir_ref entry, ir_ref level)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref shape = shape_of_entry(t, entry), may = ir_bool(f, false), none = t_u32(t, 0);
    if (w->plan->moves & MOVE_TO_WORLD)
        may = ir_ne(f, t_word(t, shape, SHAPE_TO_WORLD), none);
    if (w->plan->moves & MOVE_TO_WORLD && to_world_moves_levels(w->plan))
        may = ir_or(f, may, ir_ne(f, t_word(t, level, LEVEL_MOTION), none));
    if (w->plan->moves & MOVE_POSITIONS) {
        ir_ref branch = ir_if(f, ir_eq(f, t_word(t, entry, 9), t_u32(t, SHAPE_TRIANGLES)));
        ir_ref by_vertices = mesh_positions_requested(t, t_word(t, shape, SHAPE_DATA));
        ir_else(f);
        ir_endif(f);
        may = ir_or(f, may, ir_phi(f, branch, by_vertices, ir_bool(f, false)));
    }
    return ir_and(f, valid, may);
}

interaction walk_surface(walk *w, const walk_hit *hit, ir_func **interact)
{
    tracer *t = &w->t;
    BL_ASSERT(interact && w->fn.interacts > 0, "surfaces are asked for by functions that were not traced");
    BL_ASSERT(!w->plan->scene->has_groups || ir_made(w->t.f, hit->level),
              "a hit in a group without its level");
    vec3 o = hit->o, d = hit->d;
    bool levels = w->plan->scene->has_groups,
         to_world = interact == w->fn.interact_differentiated && (w->moves & MOVE_TO_WORLD);
    bool carries = to_world && to_world_moves_levels(w->plan);
    BL_ASSERT(!to_world || ir_made(w->t.f, hit->slides), "a hit that may slide or go along");
    affine_map motion;
    if (carries) {
        motion = level_motion(w, hit->level);
        back_with_level(t, &motion, hit->slides, &o, &d);
    }
    interaction si = {
        .valid = hit->valid,
        .t = hit->t,
        .entry = hit->entry,
        .shape = shape_of_entry(t, hit->entry),
        .level = hit->level,
    };
    if (levels) {
        o = v3_point_by_map(t, hit->level, LEVEL_TO_GROUP, o);
        d = v3_vector_by_map(t, hit->level, LEVEL_TO_GROUP, d);
    }
    interact_arguments a = {
        .data = t_word(t, si.shape, SHAPE_DATA),
        .o = o,
        .d = d,
        .t = hit->t,
        .b = hit->b,
        .slides = hit->slides,
        .valid = hit->valid,
    };
    ref_list in = refs_for(hit->entry), out = refs_results();
    interact_visit(&in, &a, to_world);
    ir_ref which = t_word(t, hit->entry, w->plan->off & PLAN_SHARE_SHAPES ? 10 : 9);
    ir_call(t->f, which, interact, w->fn.interacts, in.at, in.count, out.at);
    si.b = hit->b;
    interact_results_visit(t, &out, &si);
    if (levels) {
        si.p = v3_point_by_map(t, si.level, LEVEL_TO_WORLD, si.p);
        if (!ir_is_none(si.dp_du.x))
            si.dp_du = v3_vector_by_map(t, si.level, LEVEL_TO_WORLD, si.dp_du),
            si.dp_dv = v3_vector_by_map(t, si.level, LEVEL_TO_WORLD, si.dp_dv);
        si.ng = v3_normal_by_map(t, si.level, LEVEL_TO_GROUP, si.ng),
        si.ns = v3_normal_by_map(t, si.level, LEVEL_TO_GROUP, si.ns);
    }
    if (carries)
        to_world_carry(t, &motion, &si);
    return si;
}

interaction walk_surface_met(walk *w, walk_hit hit, ir_func **interact)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ref_list out = refs_fields();
    hit.t = ir_detach(f, hit.t), hit.b = (vec2){ir_detach(f, hit.b.x), ir_detach(f, hit.b.y)};
    ir_ref branch = ir_if(f, hit.valid); /* Elsewhere the ray may have no derivative. */
    interaction si = walk_surface(w, &hit, interact);
    interaction_complete(t, &si);
    interact_results_visit(t, &out, &si);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < out.count; k++)
        out.at[k] = ir_phi(f, branch, out.at[k], t_f32(t, 0));
    refs_rewind(&out, REFS_READ);
    interact_results_visit(t, &out, &si);
    return si;
}

walk_hit walk_closest(walk *w, vec3 o, vec3 d, ir_ref tmax)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref hit[5], args[8] = {o.x, o.y, o.z, d.x, d.y, d.z, t_f32(t, 0), tmax};
    if (!w->plan->scene->has_groups && w->plan->scene->primitives.count == 0)
        hit[0] = tmax, hit[1] = t_u32(t, PLAN_NONE), hit[2] = hit[3] = t_f32(t, 0);
    else if (w->plan->baked)
        baked_closest(w, &(ray){o, d, tmax}, hit);
    else
        ir_ray_closest(f, w->fn.intersect, w->fn.kinds, args, hit);
    walk_hit h = {
        .valid = ir_ne(f, hit[1], t_u32(t, PLAN_NONE)), .t = hit[0], .b = {hit[2], hit[3]}, .o = o, .d = d};
    ir_ref entry = ir_select(f, h.valid, hit[1], t_u32(t, 0));
    h.entry = ir_add(f, walk_no_entry(t), ir_mul(f, entry, t_u32(t, 12)));
    if (w->plan->scene->has_groups)
        h.level = ir_select(f, h.valid, hit[4], walk_no_level(t));
    return h;
}

/* What the path's ray meets: traced, or known before. */
static walk_hit closest_or_known(walk *w, const walk_position *at)
{
    const walk_known *k = &w->known;
    if (!k->meets)
        return walk_closest(w, at->o, at->d, at->tmax);
    ir_func *f = w->t.f;
    walk_hit h = walk_closest(w, at->o, at->d, ir_select(f, k->met, t_f32(&w->t, -1), at->tmax));
    h.valid = ir_or(f, k->met, h.valid), h.entry = ir_select(f, k->met, k->hit.entry, h.entry);
    h.t = ir_select(f, k->met, k->hit.t, h.t);
    h.b.x = ir_select(f, k->met, k->hit.b.x, h.b.x), h.b.y = ir_select(f, k->met, k->hit.b.y, h.b.y);
    if (w->plan->scene->has_groups)
        h.level = ir_select(f, k->met, k->hit.level, h.level);
    return h;
}

/* The surface at what a ray has hit. */
static interaction intersected(walk *w, walk_hit h, walk_hit *out)
{
    interaction si = walk_surface(w, &h, w->fn.interact);
    h.p = si.p;
    if (out)
        *out = h;
    return si;
}

interaction walk_intersect(walk *w, walk_position at, walk_hit *out)
{
    return intersected(w, walk_closest(w, at.o, at.d, at.tmax), out);
}

interaction walk_meet(walk *w, walk_position at, walk_hit *out)
{
    if (!w->known.recalls_hit)
        return intersected(w, closest_or_known(w, &at), out);
    at.tmax = ir_select(w->t.f, w->known.hit_recalled, t_f32(&w->t, -1), at.tmax);
    walk_hit traced = closest_or_known(w, &at);
    return intersected(w, hit_use(w, &traced), out);
}
