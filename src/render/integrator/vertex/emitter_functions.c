/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of lights that a kernel calls, for each class of the plan: samples and densities, detached;
 * radiance, detached and differentiated; rays that leave a light; how a sampled light is seen as it moves. */
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

static ir_func *make_emitter_sample(walk *w, const class_node *n)
{
    plugin_function p = plugin_function_begin(w, "emitter_sample", false);
    tracer *t = &p.t;
    ir_ref zero = t_f32(t, 0);
    emitter_sample_arguments a = {0};
    emitter_sample_visit(&p.in, &a);
    emitter_sample s = emitter_of(n)->sample(t, n, p.record, a.ref, a.u[0], a.u[1]);
    if (ir_is_none(s.n.x))
        s.n = s.d;
    if (ir_is_none(s.smooth))
        s.smooth = s.pdf;
    if (ir_is_none(s.face))
        s.face = t_u32(t, 0), s.b = (vec2){zero, zero};
    emitter_sample_results_visit(w, &p.out, &s);
    return plugin_function_end(&p);
}

/* A number now, with its derivative; its value stays that of the path, from which `now` differs by rounding.
 */
static ir_ref with_derivative(tracer *t, ir_ref was, ir_ref now)
{
    return t->frozen ? now : ir_replace_grad(t->f, ir_detach(t->f, was), now);
}

static vec3 vec3_with_derivative(tracer *t, vec3 was, vec3 now)
{
    return v3(with_derivative(t, was.x, now.x), with_derivative(t, was.y, now.y),
              with_derivative(t, was.z, now.z));
}

/* The point of the light's material as the arrays of its mesh have it. r->n: its length is the factor by
 * which the area around the point has grown. */
static void carry_with_mesh(walk *w, tracer *t, const class_node *n, ir_ref data, emitter_ray *r)
{
    const shape_kind_class *kind = shape_kinds[n->variant];
    tracer decides = t_deciding(t);
    interaction was = {0}, now = {0};
    if (!kind->material || !(w->plan->moves & MOVE_SURFACE))
        return;
    kind->material(&decides, data, r->face, r->b, &was), kind->material(t, data, r->face, r->b, &now);
    ir_ref area = ir_detach(t->f, v3_length(t, was.ng));
    r->p = vec3_with_derivative(t, r->p, now.p), r->ns = vec3_with_derivative(t, r->ns, now.ns);
    r->n = vec3_with_derivative(t, r->n, v3_scale(t, now.ng, t_ratio(t, t_f32(t, 1), area)));
    r->uv.x = with_derivative(t, r->uv.x, now.uv.x), r->uv.y = with_derivative(t, r->uv.y, now.uv.y);
}

/* The ray of a light on a shape that moves. Its point is one of the material, which goes along with the
 * shape, and the density of such points falls as the area around them grows. The direction is held in the
 * world, so its cosine changes, but a beam along the normals turns with these (docs/theory/light_tracing.md).
 */
static void carry_ray(walk *w, tracer *t, const class_node *n, ir_ref record, emitter_ray *r)
{
    ir_func *f = t->f;
    const emitter_ray held = *r;
    carry_with_mesh(w, t, n, t_word(t, record, n->extra_word + AREA_SHAPE_DATA), r);
    if (w->moves & MOVE_TO_WORLD) {
        ir_ref shape = t_word(t, record, n->extra_word + AREA_SHAPE);
        vec3 p = r->p;
        carried_with_shape(t, shape, (ir_ref){0}, &r->p, &r->n),
            carried_with_shape(t, shape, (ir_ref){0}, &p, &r->ns);
    }
    const ir_ref growth = v3_length(t, r->n), cosine = v3_dot(t, held.d, held.n);
    const bool beam = emitter_of(n)->delta;
    r->weight = ir_mul(f, r->weight, beam ? growth : t_ratio(t, v3_dot(t, held.d, r->n), cosine));
    r->point_weight = ir_mul(f, r->point_weight, growth);
    r->n = v3_normalize(t, r->n);
    if (beam)
        r->d = v3_normalize(t, r->ns);
}

static ir_func *make_emitter_ray(walk *w, const class_node *n, bool differentiated)
{
    const bool carried = differentiated && emitter_of(n)->on_shape;
    BL_ASSERT(emitter_of(n)->ray, "no path begins at a light of the class %s", n->cls->plugin.name);
    plugin_function p = plugin_function_begin(
        w, differentiated ? "emitter_ray_differentiated" : "emitter_ray", differentiated);
    tracer *t = &p.t;
    ir_ref zero = t_f32(t, 0);
    emitter_ray_arguments a = {0};
    emitter_ray_visit(&p.in, &a);
    tracer decides = t_deciding(t);
    emitter_ray r = emitter_of(n)->ray(carried ? &decides : t, n, p.record, a.u);
    if (ir_is_none(r.ns.x))
        r.ns = r.n;
    if (ir_is_none(r.face))
        r.face = t_u32(t, 0), r.b = (vec2){zero, zero};
    if (carried)
        carry_ray(w, t, n, p.record, &r);
    emitter_ray_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_func *make_emitter_radiance(walk *w, const class_node *n, bool differentiated)
{
    plugin_function p = plugin_function_begin(
        w, differentiated ? "emitter_radiance_differentiated" : "emitter_radiance", differentiated);
    tracer *t = &p.t;
    emitter_radiance_arguments a = {0};
    emitter_radiance_visit(w, &p.in, &a);
    t->wavelengths = &a.wavelengths;
    const emitter_class *cls = emitter_of(n);
    bool emits = w->plan->scene->light_tracing && cls->emission;
    if (w->plan->light_needs & NEED_FACE && cls->on_shape)
        a.on.mesh = t_word(t, p.record, n->extra_word + AREA_SHAPE_DATA);
    t->surface = &a.on;
    color r = (emits ? cls->emission : cls->radiance)(t, n, p.record, a.uv, a.distance, a.facing);
    ir_return(p.f, r.c, t->channels);
    return p.f;
}

/* Whether the parameters by which the pass differentiates move the delta lights of a class. In a frozen pass
 * that may be any parameter, since it reads the values of all parameters in another place. */
static bool moves(const walk *w, const class_node *n)
{
    uint32_t asked = w->pass == RENDER_FROZEN ? ~0u : n->requested;
    return emitter_of(n)->delta && asked & emitter_of(n)->pose_params;
}

/* Whether shapes move that may be lights of the class. */
static bool shape_moves(const walk *w, const class_node *n)
{
    return emitter_of(n)->on_shape && (w->moves & MOVE_SURFACE);
}

static bool some_light_moves(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        any |= moves(w, w->plan->emitters.data[i]);
    return any;
}

/* A sampled light on a mesh that moves by its arrays: it slides along the ray that sees it, which is held. So
 * what it shows there, and how far away it is, change. from: where the ray begins, detached. */
static void slide_light(tracer *t, const shape_kind_class *kind, ir_ref data, vec3 from,
                        const emitter_moved_arguments *a, emitter_moved_results *r)
{
    interaction now = {0};
    kind->slide(t, data, a->face, from, a->d, &now);
    r->uv.x = with_derivative(t, a->uv.x, now.uv.x), r->uv.y = with_derivative(t, a->uv.y, now.uv.y);
    r->b.x = with_derivative(t, a->b.x, now.b.x), r->b.y = with_derivative(t, a->b.y, now.b.y);
    r->distance = ir_add(t->f, r->distance,
                         ir_sub(t->f, with_derivative(t, a->distance, now.t), ir_detach(t->f, a->distance)));
}

/* How a sampled light is seen as the light and the point `ref` that it lights move
 * (docs/theory/moving_geometry.md). For a delta light, direction, distance and uv are those that its `sample`
 * returns for ref. The point on an area light stays where it is, goes along with the light's shape, or slides
 * along the ray. growth is the factor by which the solid angle changes under which a piece of the light's
 * surface is seen from ref. */
static ir_func *make_emitter_moved(walk *w, const class_node *n)
{
    plugin_function p = plugin_function_begin(w, "emitter_moved", true);
    tracer *t = &p.t;
    const emitter_class *cls = emitter_of(n);
    bool hits_move = (w->moves & MOVE_HITS);
    ir_ref one = t_f32(t, 1);
    emitter_moved_arguments a = {0};
    emitter_moved_visit(w, &p.in, &a);
    emitter_moved_results r = {a.d, a.distance, a.uv, one, a.b};
    if (moves(w, n) || (w->wants.moving_reference && cls->delta) ||
        (hits_move && cls->delta && cls->pose_params)) {
        emitter_sample s = cls->sample(t, n, p.record, a.ref, t_f32(t, 0), t_f32(t, 0));
        r = (emitter_moved_results){s.d, s.distance, s.uv, one, a.b};
    } else if (hits_move && cls->on_shape) {
        vec3 normal = a.n, point = v3_add(t, a.ref_before, v3_scale(t, a.d, a.distance)),
             to = v3_sub(t, point, a.ref);
        ir_ref before = ir_detach(p.f, solid_angle_of_area(t, a.ref_before, point, normal)),
               seen = ir_ne(p.f, before, t_f32(t, 0)); /* ref is not in the light's own plane */
        if ((w->moves & MOVE_TO_WORLD) && !cls->delta) {
            ir_ref shape = t_word(t, p.record, n->extra_word + AREA_SHAPE);
            carried_with_shape(t, shape, (ir_ref){0}, &point, &normal);
            to = v3_sub(t, point, a.ref);
        }
        r.distance = v3_length(t, to);
        r.growth =
            ir_div(p.f, solid_angle_of_area(t, a.ref, point, normal), ir_select(p.f, seen, before, one));
        r.d = v3_scale(t, to, ir_div(p.f, one, r.distance));
    }
    if (w->plan->lights_slide && cls->on_shape && !cls->delta && shape_kinds[n->variant]->slide)
        slide_light(t, shape_kinds[n->variant], t_word(t, p.record, n->extra_word + AREA_SHAPE_DATA),
                    hits_move ? a.ref_before : v3_detach(t, a.ref), &a, &r);
    emitter_moved_results_visit(w, &p.out, &r);
    return plugin_function_end(&p);
}

static ir_func *make_emitter_pdf(walk *w, const class_node *n, bool smooth)
{
    plugin_function p = plugin_function_begin(w, "emitter_pdf", false);
    tracer *t = &p.t;
    emitter_hit hit = {.smooth = smooth};
    emitter_pdf_visit(&p.in, &hit);
    ir_ref pdf = emitter_of(n)->pdf(t, n, p.record, &hit);
    ir_return(p.f, &pdf, 1);
    return p.f;
}

void vertex_emitter_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    fn->emitter_sample = plugin_function_array(w, p->emitters.count),
    fn->emitter_radiance = plugin_function_array(w, p->emitters.count);
    fn->emitter_radiance_differentiated = plugin_function_array(w, p->emitters.count),
    fn->emitter_pdf = plugin_function_array(w, p->emitters.count);
    for (uint32_t i = 0; i < p->emitters.count; i++) {
        fn->emitter_sample[i] = make_emitter_sample(w, p->emitters.data[i]);
        fn->emitter_radiance[i] = make_emitter_radiance(w, p->emitters.data[i], false);
        fn->emitter_radiance_differentiated[i] = make_emitter_radiance(w, p->emitters.data[i], true);
        fn->emitter_pdf[i] = make_emitter_pdf(w, p->emitters.data[i], false);
    }
    fn->emitter_smooth = plugin_function_array(w, p->emitters.count);
    for (uint32_t i = 0; w->smooth && i < p->emitters.count; i++)
        fn->emitter_smooth[i] = make_emitter_pdf(w, p->emitters.data[i], true);
    if (p->scene->light_tracing || w->multiplexed || w->pass == RENDER_EDGES_LIT ||
        w->pass == RENDER_EDGES_LIT_FORWARD) {
        fn->emitter_ray = plugin_function_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_ray[i] = make_emitter_ray(w, p->emitters.data[i], false);
    }
    if (p->scene->light_tracing && w->motion->chains) {
        fn->emitter_ray_differentiated = plugin_function_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_ray_differentiated[i] =
                moves(w, p->emitters.data[i]) || shape_moves(w, p->emitters.data[i])
                    ? make_emitter_ray(w, p->emitters.data[i], true)
                    : fn->emitter_ray[i];
    }
    if (w->next_event && (w->wants.light_normal || some_light_moves(w) || p->lights_slide)) {
        fn->emitter_moved = plugin_function_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_moved[i] = make_emitter_moved(w, p->emitters.data[i]);
    }
}
