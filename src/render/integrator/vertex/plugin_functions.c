/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that a kernel calls: one per kind of shape, class of material, phase function and light of
 * the plan, traced when a walk begins. In this way kernels are specialised to classes, never to instances.
 * What differs between instances is in a record that the function reads (docs/architecture.md, Records and
 * classes).
 *
 * Each make_ function declares its parameters by a visit of its struct of arguments, calls the plugin's hook,
 * and returns by a visit of its struct of results (plugin_functions.h). Sampling and densities are traced
 * detached only. Values and radiance are traced twice, detached and differentiated. Where the walk wants that
 * (walk_wants), functions are traced that depend on the motion of the vertex. */
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
    ir_func *f = ir_func_create(w->t.f->module, slides           ? "slide"
                                                : differentiated ? "interact_differentiated"
                                                                 : "interact");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref entry;
    ref_list in = refs_parameters(f, &entry), out = refs_fields();
    interact_arguments hit = {0};
    bool to_world = differentiated && (w->moves & MOVE_TO_WORLD);
    interact_visit(&in, &hit, to_world);
    interaction si = {0};
    if (to_world && kind_moves(w->plan, kind)) {
        si = carried(&t, kind, entry, kind->moves == MOVES_AS_POINTS ? hit.valid : hit.slides, &hit);
    } else {
        ir_ref at[3] = {hit.t, hit.b.x, hit.b.y};
        if (slides)
            meet_again(&t, kind, entry, hit.o, hit.d, at);
        si.b = (vec2){at[1], at[2]};
        kind->interact(&t, &(shape_hit){entry, hit.data, hit.o, hit.d, at[0], at[1], at[2]}, &si);
        if (slides && !(w->plan->moves & MOVE_POSITIONS)) /* else the kind has done this itself */
            si.p = v3_add(&t, hit.o, v3_scale(&t, hit.d, at[0]));
    }
    interaction_complete(&t, &si);
    interact_results_visit(&t, &out, &si);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_bsdf_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_sample");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_sample_arguments a = {0};
    bsdf_sample_visit(w, &in, &a);
    t.wavelengths = &a.wavelengths;
    t.surface = &a.on;
    t.print = walk_prints(w) ? &a.print : NULL;
    bsdf_context ctx = {&t, n, record, a.wi, a.uv};
    bsdf_sample_results r = {.share = a.share};
    if (plan_disperses(n)) {
        dispersion_sample(&ctx, &a, &r);
    } else {
        r.light_pdf = bsdf_of(n)->pdf(&ctx, a.to_light);
        r.sample = bsdf_of(n)->sample(&ctx, a.u[0], a.u[1], a.u[2]);
    }
    collision_z_visit(w, &in, &a.collision_z);
    if (w->wants.attached_lobes)
        r.roughness = bsdf_roughness(&ctx, (ir_ref){0});
    if (w->wants.attached_lobes && bsdf_mixes(n)) {
        bsdf_sample *s = &r.sample;
        ir_ref attached = ir_or(f, s->delta, bsdf_smooth_enough(&t, bsdf_roughness(&ctx, s->lobe)));
        s->lobe = ir_select(f, attached, s->lobe, ir_or(f, s->lobe, t_u32(&t, LOBE_DETACHED)));
    }
    bsdf_sample_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

bool vertex_some_mix(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->bsdfs.count; i++)
        any |= bsdf_mixes(p->bsdfs.data[i]);
    return any;
}

/* A phase function in the place of a material. Its directions are in the world. */
static ir_func *make_phase_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "phase_sample");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_sample_arguments a = {0};
    bsdf_sample_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    t.wavelengths = &a.wavelengths;
    const phase_class *cls = phase_of(n);
    vec3 at = v3(a.uv.x, a.uv.y, a.collision_z);
    bsdf_sample_results r = {.sample.wo = cls->sample(&t, n, record, a.wi, at, a.u), .share = a.share};
    r.light_pdf = cls->pdf(&t, n, record, a.wi, a.to_light, at);
    r.sample.pdf = cls->pdf(&t, n, record, a.wi, r.sample.wo, at);
    r.sample.eta = t_f32(&t, 1), r.sample.delta = ir_bool(f, false), r.sample.lobe = t_u32(&t, 0);
    if (w->wants.attached_lobes)
        r.roughness = t_f32(&t, BSDF_NEVER_ATTACHED);
    bsdf_sample_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_bsdf_value(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, differentiated ? "bsdf_value_differentiated" : "bsdf_value");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_value_arguments a = {0};
    bsdf_value_visit(w, &in, &a);
    t.wavelengths = &a.wavelengths;
    t.surface = &a.on;
    t.print = walk_prints(w) ? &a.print : NULL;
    bsdf_context ctx = {&t, n, record, a.wi, a.uv};
    bsdf_value_results r;
    ir_ref any = t_u32(&t, 0), no = ir_bool(f, false);
    bool disperses = plan_disperses(n);
    r.for_light = disperses ? dispersion_value(&ctx, a.hero, a.to_light, no, any)
                            : bsdf_of(n)->value(&ctx, a.to_light, no, any);
    r.for_sample = disperses ? dispersion_value(&ctx, a.hero, a.wo, a.delta, a.lobe)
                             : bsdf_of(n)->value(&ctx, a.wo, a.delta, a.lobe);
    collision_z_visit(w, &in, &a.collision_z);
    bsdf_value_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_ref filled(tracer *t, ir_ref entry) { return ir_is_none(entry) ? t_f32(t, 0) : entry; }

/* Classes differ in which entries are known to be 0, so all are returned. */
static ir_func *make_bsdf_polarized(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f =
        ir_func_create(w->t.f->module, differentiated ? "bsdf_polarized_differentiated" : "bsdf_polarized");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_value_arguments a = {0};
    bsdf_value_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    t.wavelengths = &a.wavelengths;
    t.surface = &a.on;
    t.print = walk_prints(w) ? &a.print : NULL;
    bsdf_context ctx = {&t, n, record, a.wi, a.uv};
    ir_ref no = ir_bool(f, false), any = t_u32(&t, 0);
    bool disperses = plan_disperses(n);
    bsdf_polarized light = disperses ? dispersion_polarized(&ctx, a.hero, a.to_light, no, any)
                                     : bsdf_polarize(&ctx, a.to_light, no, any);
    bsdf_polarized_results r = {.light_axis = light.axis};
    r.sample = disperses ? dispersion_polarized(&ctx, a.hero, a.wo, a.delta, a.lobe)
                         : bsdf_polarize(&ctx, a.wo, a.delta, a.lobe);
    for (uint32_t c = 0; c < t.channels; c++)
        for (int k = 0; k < 16; k++) {
            r.sample.m[c].m[k / 4][k % 4] = filled(&t, r.sample.m[c].m[k / 4][k % 4]);
            r.light[c].s[k / 4] = filled(&t, light.m[c].m[k / 4][0]);
        }
    bsdf_polarized_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

/* Phase functions depolarise, as Mitsuba's do. */
static ir_func *make_phase_polarized(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f =
        ir_func_create(w->t.f->module, differentiated ? "phase_polarized_differentiated" : "phase_polarized");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record, zero = t_f32(&t, 0);
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_value_arguments a = {0};
    bsdf_value_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    t.wavelengths = &a.wavelengths;
    vec3 at = v3(a.uv.x, a.uv.y, a.collision_z);
    ir_ref for_light = phase_of(n)->value(&t, n, record, a.wi, a.to_light, at),
           for_sample = phase_of(n)->value(&t, n, record, a.wi, a.wo, at);
    bsdf_polarized_results r = {.sample = {.axis = stokes_basis(&t, a.wi), .depolarizes = ir_bool(f, true)}};
    r.light_axis = r.sample.axis;
    for (uint32_t c = 0; c < t.channels; c++)
        for (int k = 0; k < 16; k++) {
            r.sample.m[c].m[k / 4][k % 4] = k == 0 ? for_sample : zero;
            r.light[c].s[k / 4] = k < 4 ? for_light : zero;
        }
    bsdf_polarized_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_phase_value(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f =
        ir_func_create(w->t.f->module, differentiated ? "phase_value_differentiated" : "phase_value");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_value_arguments a = {0};
    bsdf_value_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    t.wavelengths = &a.wavelengths;
    vec3 at = v3(a.uv.x, a.uv.y, a.collision_z);
    bsdf_value_results r;
    r.for_light = color_all(phase_of(n)->value(&t, n, record, a.wi, a.to_light, at));
    r.for_sample = color_all(phase_of(n)->value(&t, n, record, a.wi, a.wo, at));
    bsdf_value_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_bsdf_colour(walk *w, const class_node *n, bool differentiated, bsdf_colour *of,
                                 const char *name)
{
    ir_func *f = ir_func_create(w->t.f->module, name);
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record);
    bsdf_color_arguments a = {0};
    bsdf_color_visit(w, &in, &a);
    t.wavelengths = &a.wavelengths;
    t.surface = &a.on;
    const bsdf_context ctx = {&t, n, record, a.wi, a.uv};
    color c = plan_disperses(n) ? dispersion_colour(&ctx, of) : of(&ctx);
    ir_return(f, c.c, t.channels);
    return f;
}

static ir_func *make_bsdf_lobe_direction(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_turn");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    bsdf_lobe_direction_arguments a = {0};
    bsdf_lobe_direction_visit(w, &in, &a);
    t.wavelengths = &a.wavelengths;
    t.surface = &a.on;
    const bsdf_context ctx = {&t, n, record, a.wi, a.uv};
    bsdf_lobe_direction_results r = {.d = bsdf_lobe_direction(&ctx, a.lobe)};
    if (w->plan->scene->light_tracing)
        r.eta = bsdf_lobe_eta(&ctx, a.lobe);
    bsdf_lobe_direction_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_bsdf_attach(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_attach");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    ir_ref one = t_f32(&t, 1);
    bsdf_attach_arguments a = {0};
    bsdf_attach_visit(w, &in, &a);
    t.wavelengths = &a.wavelengths;
    t.surface = &a.on;
    const bsdf_class *cls = bsdf_of(n);
    bsdf_context ctx = {&t, n, record, a.wi, a.uv};
    bsdf_attach_results r = {.to = bsdf_attach(&ctx, &a.draw)};
    vec3 sampled = r.to.wo;
    r.to.wo = v3_select(&t, a.delta, bsdf_lobe_direction(&ctx, a.draw.lobe), sampled);
    r.pdf = cls->attached ? cls->pdf(&ctx, sampled) : one;
    r.light_pdf = cls->attached ? cls->pdf(&ctx, a.to_light) : one;
    bsdf_attach_results_visit(&out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_emitter_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_sample");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    ir_ref zero = t_f32(&t, 0);
    emitter_sample_arguments a = {0};
    emitter_sample_visit(&in, &a);
    emitter_sample s = emitter_of(n)->sample(&t, n, record, a.ref, a.u[0], a.u[1]);
    if (ir_is_none(s.n.x))
        s.n = s.d;
    if (ir_is_none(s.smooth))
        s.smooth = s.pdf;
    if (ir_is_none(s.face))
        s.face = t_u32(&t, 0), s.b = (vec2){zero, zero};
    emitter_sample_results_visit(w, &out, &s);
    ir_return(f, out.at, out.count);
    return f;
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
    ir_func *f =
        ir_func_create(w->t.f->module, differentiated ? "emitter_ray_differentiated" : "emitter_ray");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    ir_ref zero = t_f32(&t, 0);
    emitter_ray_arguments a = {0};
    emitter_ray_visit(&in, &a);
    tracer decides = t_deciding(&t);
    emitter_ray r = emitter_of(n)->ray(carried ? &decides : &t, n, record, a.u);
    if (ir_is_none(r.ns.x))
        r.ns = r.n;
    if (ir_is_none(r.face))
        r.face = t_u32(&t, 0), r.b = (vec2){zero, zero};
    if (carried)
        carry_ray(w, &t, n, record, &r);
    emitter_ray_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_emitter_radiance(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module,
                                differentiated ? "emitter_radiance_differentiated" : "emitter_radiance");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record);
    emitter_radiance_arguments a = {0};
    emitter_radiance_visit(w, &in, &a);
    t.wavelengths = &a.wavelengths;
    const emitter_class *cls = emitter_of(n);
    bool emits = w->plan->scene->light_tracing && cls->emission;
    if (w->plan->light_needs & NEED_FACE && cls->on_shape)
        a.on.mesh = t_word(&t, record, n->extra_word + AREA_SHAPE_DATA);
    t.surface = &a.on;
    color r = (emits ? cls->emission : cls->radiance)(&t, n, record, a.uv, a.distance, a.facing);
    ir_return(f, r.c, t.channels);
    return f;
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
    ir_func *f = ir_func_create(w->t.f->module, "emitter_moved");
    tracer t = walk_function_tracer(w, f, true);
    const emitter_class *cls = emitter_of(n);
    bool hits_move = (w->moves & MOVE_HITS);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    ir_ref one = t_f32(&t, 1);
    emitter_moved_arguments a = {0};
    emitter_moved_visit(w, &in, &a);
    emitter_moved_results r = {a.d, a.distance, a.uv, one, a.b};
    if (moves(w, n) || (w->wants.moving_reference && cls->delta) ||
        (hits_move && cls->delta && cls->pose_params)) {
        emitter_sample s = cls->sample(&t, n, record, a.ref, t_f32(&t, 0), t_f32(&t, 0));
        r = (emitter_moved_results){s.d, s.distance, s.uv, one, a.b};
    } else if (hits_move && cls->on_shape) {
        vec3 normal = a.n, point = v3_add(&t, a.ref_before, v3_scale(&t, a.d, a.distance)),
             to = v3_sub(&t, point, a.ref);
        ir_ref before = ir_detach(f, solid_angle_of_area(&t, a.ref_before, point, normal)),
               seen = ir_ne(f, before, t_f32(&t, 0)); /* ref is not in the light's own plane */
        if ((w->moves & MOVE_TO_WORLD) && !cls->delta) {
            ir_ref shape = t_word(&t, record, n->extra_word + AREA_SHAPE);
            carried_with_shape(&t, shape, (ir_ref){0}, &point, &normal);
            to = v3_sub(&t, point, a.ref);
        }
        r.distance = v3_length(&t, to);
        r.growth = ir_div(f, solid_angle_of_area(&t, a.ref, point, normal), ir_select(f, seen, before, one));
        r.d = v3_scale(&t, to, ir_div(f, one, r.distance));
    }
    if (w->plan->lights_slide && cls->on_shape && !cls->delta && shape_kinds[n->variant]->slide)
        slide_light(&t, shape_kinds[n->variant], t_word(&t, record, n->extra_word + AREA_SHAPE_DATA),
                    hits_move ? a.ref_before : v3_detach(&t, a.ref), &a, &r);
    emitter_moved_results_visit(w, &out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

static ir_func *make_emitter_pdf(walk *w, const class_node *n, bool smooth)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_pdf");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record;
    ref_list in = refs_parameters(f, &record);
    emitter_hit hit = {.smooth = smooth};
    emitter_pdf_visit(&in, &hit);
    ir_ref pdf = emitter_of(n)->pdf(&t, n, record, &hit);
    ir_return(f, &pdf, 1);
    return f;
}

static ir_func **func_array(walk *w, uint32_t n)
{
    return arena_alloc(&w->t.f->module->arena, (n + 1) * sizeof(ir_func *));
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
    fn->interact = func_array(w, most),
    fn->interact_differentiated = w->wants.surface_differentiated ? func_array(w, most) : NULL;
    fn->slide_before = w->wants.surface_before ? func_array(w, most) : NULL;
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

uint32_t walk_scatterers(const walk *w)
{
    return w->plan->bsdfs.count + (w->media ? w->plan->phases.count : 0);
}

void vertex_bsdf_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    fn->bsdf_sample = func_array(w, walk_scatterers(w)), fn->bsdf_value = func_array(w, walk_scatterers(w));
    fn->bsdf_value_differentiated = func_array(w, walk_scatterers(w));
    for (uint32_t i = 0; i < p->bsdfs.count; i++) {
        fn->bsdf_sample[i] = make_bsdf_sample(w, p->bsdfs.data[i]);
        fn->bsdf_value[i] = make_bsdf_value(w, p->bsdfs.data[i], false);
        fn->bsdf_value_differentiated[i] = make_bsdf_value(w, p->bsdfs.data[i], true);
    }
    fn->bsdf_polarized = func_array(w, walk_scatterers(w)),
    fn->bsdf_polarized_differentiated = func_array(w, walk_scatterers(w));
    for (uint32_t i = 0; w->polarized && i < p->bsdfs.count; i++) {
        fn->bsdf_polarized[i] = make_bsdf_polarized(w, p->bsdfs.data[i], false);
        if (walk_tracks(w))
            fn->bsdf_polarized_differentiated[i] = make_bsdf_polarized(w, p->bsdfs.data[i], true);
    }
    fn->bsdf_albedo = func_array(w, p->bsdfs.count);
    for (uint32_t i = 0; w->pass == RENDER_CHANNELS && i < p->bsdfs.count; i++)
        fn->bsdf_albedo[i] = make_bsdf_colour(w, p->bsdfs.data[i], false, bsdf_albedo, "bsdf_albedo");
    fn->lobe_direction = func_array(w, p->bsdfs.count),
    fn->lobe_direction_before = func_array(w, p->bsdfs.count);
    fn->attach = func_array(w, p->bsdfs.count), fn->attach_before = func_array(w, p->bsdfs.count);
    for (uint32_t i = 0; w->wants.attached_lobes && i < p->bsdfs.count; i++) {
        fn->attach[i] = make_bsdf_attach(w, p->bsdfs.data[i], true);
        fn->attach_before[i] = make_bsdf_attach(w, p->bsdfs.data[i], false);
    }
    for (uint32_t i = 0; w->wants.lobe_directions && i < p->bsdfs.count; i++) {
        fn->lobe_direction[i] = make_bsdf_lobe_direction(w, p->bsdfs.data[i], true);
        fn->lobe_direction_before[i] = make_bsdf_lobe_direction(w, p->bsdfs.data[i], false);
    }
}

/* Traces phase functions, which stand behind the materials in the lists, and the functions of materials that
 * only volumetric walks call. */
void vertex_phase_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    BL_ASSERT(w->volumetric && fn->bsdf_sample,
              "phase functions go behind the materials of volumetric walks");
    uint32_t n = p->bsdfs.count;
    for (uint32_t i = 0; i < p->phases.count; i++) {
        fn->bsdf_sample[n + i] = make_phase_sample(w, p->phases.data[i]);
        fn->bsdf_value[n + i] = make_phase_value(w, p->phases.data[i], false);
        fn->bsdf_value_differentiated[n + i] = make_phase_value(w, p->phases.data[i], true);
        if (w->polarized)
            fn->bsdf_polarized[n + i] = make_phase_polarized(w, p->phases.data[i], false);
        if (w->polarized && walk_tracks(w))
            fn->bsdf_polarized_differentiated[n + i] = make_phase_polarized(w, p->phases.data[i], true);
    }
    fn->bsdf_through = func_array(w, n), fn->bsdf_through_differentiated = func_array(w, n);
    for (uint32_t i = 0; i < n; i++) {
        fn->bsdf_through[i] = make_bsdf_colour(w, p->bsdfs.data[i], false, bsdf_through, "bsdf_through");
        fn->bsdf_through_differentiated[i] =
            make_bsdf_colour(w, p->bsdfs.data[i], true, bsdf_through, "bsdf_through_differentiated");
    }
}

void vertex_emitter_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    fn->emitter_sample = func_array(w, p->emitters.count),
    fn->emitter_radiance = func_array(w, p->emitters.count);
    fn->emitter_radiance_differentiated = func_array(w, p->emitters.count),
    fn->emitter_pdf = func_array(w, p->emitters.count);
    for (uint32_t i = 0; i < p->emitters.count; i++) {
        fn->emitter_sample[i] = make_emitter_sample(w, p->emitters.data[i]);
        fn->emitter_radiance[i] = make_emitter_radiance(w, p->emitters.data[i], false);
        fn->emitter_radiance_differentiated[i] = make_emitter_radiance(w, p->emitters.data[i], true);
        fn->emitter_pdf[i] = make_emitter_pdf(w, p->emitters.data[i], false);
    }
    fn->emitter_smooth = func_array(w, p->emitters.count);
    for (uint32_t i = 0; w->smooth && i < p->emitters.count; i++)
        fn->emitter_smooth[i] = make_emitter_pdf(w, p->emitters.data[i], true);
    if (p->scene->light_tracing || w->multiplexed || w->pass == RENDER_EDGES_LIT ||
        w->pass == RENDER_EDGES_LIT_FORWARD) {
        fn->emitter_ray = func_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_ray[i] = make_emitter_ray(w, p->emitters.data[i], false);
    }
    if (p->scene->light_tracing && w->motion->chains) {
        fn->emitter_ray_differentiated = func_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_ray_differentiated[i] =
                moves(w, p->emitters.data[i]) || shape_moves(w, p->emitters.data[i])
                    ? make_emitter_ray(w, p->emitters.data[i], true)
                    : fn->emitter_ray[i];
    }
    if (w->next_event && (w->wants.light_normal || some_light_moves(w) || p->lights_slide)) {
        fn->emitter_moved = func_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_moved[i] = make_emitter_moved(w, p->emitters.data[i]);
    }
}
