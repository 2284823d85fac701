/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of shapes that a kernel calls: for each kind of shape of the scene what a ray meets, and what
 * the surface is there. Also how a hit moves with its shape. */
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

static ir_func *make_intersect(walk *w, const shape_kind_class *kind)
{
    ir_func *f = ir_func_create(w->t.f->module, kind->name);
    tracer t = walk_function_tracer(w, f, false);
    ir_ref entry = ir_param(f, IR_U32), p[8], out[3]; /* the order is that of ir_ray_closest */
    for (uint32_t k = 0; k < 8; k++)
        p[k] = ir_param(f, IR_F32);
    kind->intersect(&t, entry, &(shape_ray){vec3_at(p), vec3_at(p + 3), p[6], p[7]}, out);
    ir_return(f, out, 3);
    return f;
}

/* Intersects a ray again with the entry that it is known to meet. at: in, distance and coordinates of the
 * hit; out, the same, differentiable by the ray. If that misses by rounding, they stay. */
static void meet_again(tracer *t, const shape_kind_class *kind, ir_ref entry, vec3 o, vec3 d, ir_ref at[3])
{
    if (kind->follow) {
        kind->follow(t, entry, o, d, at);
        return;
    }
    shape_ray whole = {.o = o, .d = d, .tmin = t_f32(t, 0), .tmax = t_f32(t, 1e30f)};
    ir_ref found[3];
    kind->intersect(t, entry, &whole, found);
    ir_ref meets = ir_lt(t->f, found[0], whole.tmax);
    for (int k = 0; k < 3; k++)
        at[k] = ir_select(t->f, meets, found[k], at[k]);
}

/* The surface at a hit that moves with its shape (shape/to_world.c). The point that was hit goes along with
 * the shape. But where the ray is given (`slides`), the ray first moves the other way and is intersected
 * again with the entry, and the point that it then meets goes along. To first order the inverse of the motion
 * R is 2 - R. If the points that describe the shape move, all of the shape moves with them, and R is 1. */
static interaction carried(tracer *t, const shape_kind_class *kind, ir_ref entry, ir_ref slides,
                           const interact_arguments *hit)
{
    ir_func *f = t->f;
    ir_ref to_world = t_word(t, shape_of_entry(t, entry), SHAPE_TO_WORLD);
    affine_map motion = to_world_motion(t, to_world), of_points;
    tracer met = *t;
    if (kind->moves == MOVES_AS_POINTS)
        of_points = to_world_motion_of_points(t, to_world), met.motion = &of_points;
    vec3 o = v3_sub(t, v3_add(t, hit->o, hit->o), affine_point(t, &motion, hit->o));
    vec3 moved = v3_sub(t, v3_add(t, hit->d, hit->d), affine_vector(t, &motion, hit->d)),
         d = v3_normalize(t, moved);
    ir_ref at[3] = {ir_mul(f, hit->t, ir_detach(f, v3_length(t, moved))), hit->b.x, hit->b.y},
           branch = ir_if(f, slides); /* Elsewhere the ray may have no derivative. */
    meet_again(&met, kind, entry, o, d, at);
    ir_else(f);
    ir_endif(f);
    o.x = ir_phi(f, branch, o.x, hit->o.x), o.y = ir_phi(f, branch, o.y, hit->o.y);
    o.z = ir_phi(f, branch, o.z, hit->o.z);
    d.x = ir_phi(f, branch, d.x, hit->d.x), d.y = ir_phi(f, branch, d.y, hit->d.y);
    d.z = ir_phi(f, branch, d.z, hit->d.z);
    at[0] = ir_phi(f, branch, at[0], hit->t);
    at[1] = ir_phi(f, branch, at[1], hit->b.x), at[2] = ir_phi(f, branch, at[2], hit->b.y);
    interaction si = {.b = {at[1], at[2]}};
    kind->interact(&met, &(shape_hit){entry, hit->data, o, d, at[0], at[1], at[2]}, &si);
    to_world_carry(t, &motion, &si);
    return si;
}

/* Whether shapes of a kind move with their own to_world or that of an instance. */
static bool kind_moves(const plan *p, const shape_kind_class *kind)
{
    bool any = false, levels = to_world_moves_levels(p);
    for (uint32_t i = 0; i < p->scene->shapes.count && p->moves & MOVE_TO_WORLD; i++) {
        const render_shape *shape = &p->scene->shapes.data[i];
        any |= shape_kinds[shape->kind] == kind &&
               (to_world_requested(p, shape->object) || (levels && shape->group > 0));
    }
    return any;
}

/* slides: the ray is intersected again with the entry, so that the result is differentiable by the ray. */
static ir_func *make_interact(walk *w, const shape_kind_class *kind, bool differentiated, bool slides)
{
    plugin_function p = plugin_function_begin(w,
                                              slides           ? "slide"
                                              : differentiated ? "interact_differentiated"
                                                               : "interact",
                                              differentiated);
    tracer *t = &p.t;
    interact_arguments hit = {0};
    bool to_world = differentiated && (w->moves & MOVE_TO_WORLD);
    interact_visit(&p.in, &hit, to_world);
    interaction si = {0};
    if (to_world && kind_moves(w->plan, kind)) {
        si = carried(t, kind, p.record, kind->moves == MOVES_AS_POINTS ? hit.valid : hit.slides, &hit);
    } else {
        ir_ref at[3] = {hit.t, hit.b.x, hit.b.y};
        if (slides)
            meet_again(t, kind, p.record, hit.o, hit.d, at);
        si.b = (vec2){at[1], at[2]};
        kind->interact(t, &(shape_hit){p.record, hit.data, hit.o, hit.d, at[0], at[1], at[2]}, &si);
        if (slides && !(w->plan->moves & MOVE_POSITIONS)) /* else the kind has done this itself */
            si.p = v3_add(t, hit.o, v3_scale(t, hit.d, at[0]));
    }
    interaction_complete(t, &si);
    interact_results_visit(t, &p.out, &si);
    return plugin_function_end(&p);
}

static void add_interact(walk *w, const shape_kind_class *kind)
{
    walk_functions *fn = &w->fn;
    if (fn->interact_differentiated)
        fn->interact_differentiated[fn->interacts] = make_interact(w, kind, true, w->wants.surface_anew);
    if (fn->slide_before)
        fn->slide_before[fn->interacts] = make_interact(w, kind, false, true);
    fn->interact[fn->interacts++] = make_interact(w, kind, false, false);
}

void vertex_shape_functions(walk *w)
{
    const render_scene *s = w->plan->scene;
    walk_functions *fn = &w->fn;
    BL_ASSERT(w->motion, "functions of surfaces depend on how they move: motion_choose comes first");
    bool shared = !(w->plan->off & PLAN_SHARE_SHAPES) || s->shapes.count == 0;
    uint32_t most = shared ? SHAPE_KIND_COUNT : s->shapes.count;
    fn->interact = plugin_function_array(w, most),
    fn->interact_differentiated = w->wants.surface_differentiated ? plugin_function_array(w, most) : NULL;
    fn->slide_before = w->wants.surface_before ? plugin_function_array(w, most) : NULL;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++) {
        if (!s->kind_used[k] && !(k == 0 && s->primitives.count == 0))
            continue; /* An empty scene still needs one kind for its ray ops. */
        fn->intersect[fn->kinds++] = make_intersect(w, shape_kinds[k]);
        if (shared)
            add_interact(w, shape_kinds[k]);
    }
    for (uint32_t i = 0; !shared && i < s->shapes.count; i++)
        add_interact(w, shape_kinds[s->shapes.data[i].kind]);
    BL_ASSERT(fn->interacts > 0 && fn->interacts <= most, "%u functions of surfaces", fn->interacts);
}
