/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that a kernel calls: one per kind of shape, class of material, phase function, light and
 * medium of the plan, traced when a walk begins. What each takes and returns stands at struct
 * walk_functions. */
#include "render/integrator/vertex/vertex.h"

static void params_f32(ir_func *f, ir_ref *out, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        out[k] = ir_param(f, IR_F32);
}

static tracer sub_tracer(const walk *w, ir_func *f, bool tracked)
{
    return (tracer){.f = f, .plan = w->plan, .tracked = tracked, .frozen = w->pass == RENDER_FROZEN};
}

static ir_func *make_intersect(walk *w, const shape_kind_class *kind)
{
    ir_func *f = ir_func_create(w->t.f->module, kind->name);
    tracer t = sub_tracer(w, f, false);
    ir_ref entry = ir_param(f, IR_U32), p[8], out[3];
    params_f32(f, p, 8);
    kind->intersect(&t, entry, &(shape_ray){vec3_at(p), vec3_at(p + 3), p[6], p[7]}, out);
    ir_return(f, out, 3);
    return f;
}

/* Where a ray meets the entry that it is known to meet at `at`, differentiable in the ray. */
static void meet_again(tracer *t, const shape_kind_class *kind, ir_ref entry, vec3 o, vec3 d, ir_ref at[3])
{
    if (kind->follow) {
        kind->follow(t, entry, o, d, at);
        return;
    }
    shape_ray whole = {.o = o, .d = d, .tmax = t_f32(t, 1e30f)};
    whole.tmin = t_f32(t, 0);
    kind->intersect(t, entry, &whole, at);
}

/* Of a hit that moves with its shape (shape/to_world.c). What was hit goes along; or, where the ray is given
 * (`slides`), the ray moves the other way, which to first order is by 2 - R, meets the entry anew, and goes
 * along. Where the points that describe the shape move, all there is does so, and R is 1. p: ray, distance
 * and coordinates of the hit. */
static interaction carried(tracer *t, const shape_kind_class *kind, ir_ref entry, ir_ref data, ir_ref slides,
                           const ir_ref p[9])
{
    ir_func *f = t->f;
    ir_ref place = t_word(t, walk_shape_of(t, entry), SHAPE_TO_WORLD);
    affine_map motion = to_world_motion(t, place), of_points;
    tracer met = *t;
    if (kind->moves == MOVES_AS_POINTS)
        of_points = to_world_motion_of_points(t, place), met.motion = &of_points;
    vec3 o = v3_sub(t, v3_add(t, vec3_at(p), vec3_at(p)), affine_point(t, &motion, vec3_at(p)));
    vec3 moved =
             v3_sub(t, v3_add(t, vec3_at(p + 3), vec3_at(p + 3)), affine_vector(t, &motion, vec3_at(p + 3))),
         d = v3_normalize(t, moved);
    ir_ref at[9] = {[6] = ir_mul(f, p[6], ir_detach(f, v3_length(t, moved))), p[7], p[8]},
           branch = ir_if(f, slides); /* another ray may have no derivative there */
    vec3_put(o, at), vec3_put(d, at + 3);
    meet_again(&met, kind, entry, o, d, at + 6);
    ir_else(f);
    ir_endif(f);
    for (int k = 0; k < 9; k++)
        at[k] = ir_phi(f, branch, at[k], p[k]);
    interaction si = {.b = {at[7], at[8]}};
    shape_hit hit = {entry, data, vec3_at(at), vec3_at(at + 3), at[6], at[7], at[8]};
    kind->interact(&met, &hit, &si);
    to_world_carry(t, &motion, &si);
    return si;
}

/* Whether shapes of a kind move with their to_world, or that of an instance. */
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

/* slides: the entry is met anew, so that the result is differentiable in the ray. */
static ir_func *make_interact(walk *w, const shape_kind_class *kind, bool tracked, bool slides)
{
    ir_func *f = ir_func_create(w->t.f->module, slides ? "slide" : tracked ? "interact_tracked" : "interact");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref entry = ir_param(f, IR_U32), data = ir_param(f, IR_U32), p[9], out[INTERACT_RESULTS];
    params_f32(f, p, 9);
    if (tracked && (w->moves & MOVE_TO_WORLD)) {
        ir_ref given = ir_param(f, IR_BOOL), there = ir_param(f, IR_BOOL);
        if (kind_moves(w->plan, kind)) {
            interaction si =
                carried(&t, kind, entry, data, kind->moves == MOVES_AS_POINTS ? there : given, p);
            ir_return(f, out, surface_pack(&t, &si, out));
            return f;
        }
    }
    if (slides)
        meet_again(&t, kind, entry, vec3_at(p), vec3_at(p + 3), p + 6);
    interaction si = {.b = {p[7], p[8]}};
    shape_hit hit = {entry, data, vec3_at(p), vec3_at(p + 3), p[6], p[7], p[8]};
    kind->interact(&t, &hit, &si);
    if (slides && !(w->plan->moves & MOVE_POSITIONS)) /* which the kind has met anew by itself */
        si.p = v3_add(&t, vec3_at(p), v3_scale(&t, vec3_at(p + 3), p[6]));
    ir_return(f, out, surface_pack(&t, &si, out));
    return f;
}

static ir_func *make_bsdf_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_sample");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[11], out[9];
    params_f32(f, p, 11);
    surface at = surface_params(&t);
    t.surface = &at;
    const bsdf_class *cls = bsdf_of(n);
    bsdf_context ctx = {&t, n, record, vec3_at(p), {p[3], p[4]}};
    out[0] = cls->pdf(&ctx, vec3_at(p + 5));
    bsdf_sample s = cls->sample(&ctx, p[8], p[9], p[10]);
    vec3_put(s.wo, out + 1);
    out[4] = s.pdf, out[5] = s.eta, out[6] = s.delta, out[7] = s.lobe;
    if (w->volumetric)
        ir_param(f, IR_F32);
    if (w->attaches)
        out[8] = bsdf_roughness(&ctx, (ir_ref){0});
    if (w->attaches && bsdf_mixes(n)) {
        ir_ref follows = ir_or(f, s.delta, bsdf_smooth_enough(&t, bsdf_roughness(&ctx, s.lobe)));
        out[7] = ir_select(f, follows, s.lobe, ir_or(f, s.lobe, t_u32(&t, LOBE_DETACHED)));
    }
    ir_return(f, out, w->attaches ? 9 : 8);
    return f;
}

bool vertex_some_mix(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->bsdfs.count; i++)
        any |= bsdf_mixes(p->bsdfs.data[i]);
    return any;
}

/* A phase function in the place of a material: directions are the world's. */
static ir_func *make_phase_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "phase_sample");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[11], out[8];
    params_f32(f, p, 11);
    surface_params(&t);
    const phase_class *cls = phase_of(n);
    vec3 at = v3(p[3], p[4], ir_param(f, IR_F32)), wi = vec3_at(p),
         wo = cls->sample(&t, n, record, wi, at, p + 8);
    out[0] = cls->pdf(&t, n, record, wi, vec3_at(p + 5), at);
    vec3_put(wo, out + 1);
    out[4] = cls->pdf(&t, n, record, wi, wo, at), out[5] = t_f32(&t, 1), out[6] = ir_bool(f, false),
    out[7] = t_u32(&t, 0);
    ir_return(f, out, 8);
    return f;
}

static ir_func *make_bsdf_value(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, tracked ? "bsdf_value_tracked" : "bsdf_value");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[11], out[6];
    params_f32(f, p, 11);
    ir_ref delta = ir_param(f, IR_BOOL), lobe = ir_param(f, IR_U32);
    surface at = surface_params(&t);
    t.surface = &at;
    const bsdf_class *cls = bsdf_of(n);
    bsdf_context ctx = {&t, n, record, vec3_at(p), {p[3], p[4]}};
    color light = cls->value(&ctx, vec3_at(p + 5), ir_bool(f, false), t_u32(&t, 0));
    color sample = cls->value(&ctx, vec3_at(p + 8), delta, lobe);
    for (int c = 0; c < 3; c++)
        out[c] = light.c[c], out[3 + c] = sample.c[c];
    if (w->volumetric)
        ir_param(f, IR_F32);
    ir_return(f, out, 6);
    return f;
}

static ir_func *make_phase_value(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, tracked ? "phase_value_tracked" : "phase_value");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[11], out[6];
    params_f32(f, p, 11);
    ir_param(f, IR_BOOL), ir_param(f, IR_U32);
    surface_params(&t);
    vec3 at = v3(p[3], p[4], ir_param(f, IR_F32)), wi = vec3_at(p);
    out[0] = out[1] = out[2] = phase_of(n)->value(&t, n, record, wi, vec3_at(p + 5), at);
    out[3] = out[4] = out[5] = phase_of(n)->value(&t, n, record, wi, vec3_at(p + 8), at);
    ir_return(f, out, 6);
    return f;
}

/* What a material says of the light from one direction: bsdf_through or bsdf_albedo. */
typedef color bsdf_colour(const bsdf_context *ctx);

static ir_func *make_bsdf_colour(walk *w, const class_node *n, bool tracked, bsdf_colour *of,
                                 const char *name)
{
    ir_func *f = ir_func_create(w->t.f->module, name);
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[5];
    params_f32(f, p, 5);
    surface at = surface_params(&t);
    t.surface = &at;
    color c = of(&(bsdf_context){&t, n, record, vec3_at(p), {p[3], p[4]}});
    ir_return(f, c.c, 3);
    return f;
}

static ir_func *make_bsdf_turn(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_turn");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[5], out[3];
    params_f32(f, p, 5);
    ir_ref lobe = ir_param(f, IR_U32);
    surface at = surface_params(&t);
    t.surface = &at;
    vec3_put(bsdf_lobe_direction(&(bsdf_context){&t, n, record, vec3_at(p), {p[3], p[4]}}, lobe), out);
    ir_return(f, out, 3);
    return f;
}

static ir_func *make_bsdf_attach(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_attach");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[5], made[8], out[6], one = t_f32(&t, 1);
    params_f32(f, p, 5);
    ir_ref lobe = ir_param(f, IR_U32), delta = ir_param(f, IR_BOOL);
    params_f32(f, made, 8);
    surface at = surface_params(&t);
    t.surface = &at;
    const bsdf_class *cls = bsdf_of(n);
    bsdf_context ctx = {&t, n, record, vec3_at(p), {p[3], p[4]}};
    bsdf_attached a = bsdf_attach(&ctx, &(bsdf_draw){vec3_at(made), lobe, made[6], made[7]});
    vec3_put(v3_select(&t, delta, bsdf_lobe_direction(&ctx, lobe), a.wo), out);
    out[3] = a.density, out[4] = cls->attached ? cls->pdf(&ctx, a.wo) : one;
    out[5] = cls->attached ? cls->pdf(&ctx, vec3_at(made + 3)) : one;
    ir_return(f, out, 6);
    return f;
}

static ir_func *make_emitter_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_sample");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[5], out[15], zero = t_f32(&t, 0);
    params_f32(f, p, 5);
    emitter_sample s = emitter_of(n)->sample(&t, n, record, vec3_at(p), p[3], p[4]);
    vec3_put(s.d, out);
    out[3] = s.distance, out[4] = s.pdf, out[5] = s.uv.x, out[6] = s.uv.y, out[7] = s.facing;
    vec3_put(ir_is_none(s.n.x) ? s.d : s.n, out + 8);
    out[11] = ir_is_none(s.smooth) ? s.pdf : s.smooth;
    bool on_mesh = !ir_is_none(s.face);
    out[12] = on_mesh ? s.face : t_u32(&t, 0), out[13] = on_mesh ? s.b.x : zero,
    out[14] = on_mesh ? s.b.y : zero;
    ir_return(f, out,
              w->plan->light_needs & NEED_FACE ? 15
              : w->smooth                      ? 12
              : w->wants.light_normal          ? 11
                                               : 8);
    return f;
}

static ir_func *make_emitter_ray(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_ray");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), u[4], out[19], zero = t_f32(&t, 0);
    params_f32(f, u, 4);
    emitter_ray r = emitter_of(n)->ray(&t, n, record, u);
    vec3_put(r.p, out), vec3_put(r.d, out + 3), vec3_put(r.n, out + 6),
        vec3_put(ir_is_none(r.ns.x) ? r.n : r.ns, out + 9);
    out[12] = r.uv.x, out[13] = r.uv.y, out[14] = r.weight, out[15] = r.point_weight;
    bool on_mesh = !ir_is_none(r.face);
    out[16] = on_mesh ? r.face : t_u32(&t, 0), out[17] = on_mesh ? r.b.x : zero,
    out[18] = on_mesh ? r.b.y : zero;
    ir_return(f, out, w->plan->light_needs & NEED_FACE ? 19 : 16);
    return f;
}

static ir_func *make_emitter_radiance(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, tracked ? "emitter_radiance_tracked" : "emitter_radiance");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[3];
    params_f32(f, p, 3);
    const emitter_class *cls = emitter_of(n);
    bool emits = w->plan->scene->light_tracing && cls->emission;
    ir_ref facing = ir_param(f, IR_BOOL);
    surface on = surface_light_params(&t, n, record);
    t.surface = &on;
    color r = (emits ? cls->emission : cls->radiance)(&t, n, record, (vec2){p[0], p[1]}, p[2], facing);
    ir_return(f, r.c, 3);
    return f;
}

/* Whether parameters move the delta lights of a class that the pass differentiates (or reads elsewhere)
 * by. */
static bool moves(const walk *w, const class_node *n)
{
    uint32_t asked = w->pass == RENDER_FROZEN ? ~0u : n->requested;
    return emitter_of(n)->delta && asked & emitter_of(n)->pose_params;
}

static bool some_light_moves(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        any |= moves(w, w->plan->emitters.data[i]);
    return any;
}

/* docs/theory/moving_geometry.md: direction, distance and place on the image follow the light and the point
 * `ref` that is lit. A point on a light's surface stays where it is, or goes along with the shape, seen
 * before from ref0; the last result is by what the solid angle of a piece of surface there changes. */
static ir_func *make_emitter_moved(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_place");
    tracer t = sub_tracer(w, f, true);
    bool positions = (w->moves & MOVE_HITS);
    ir_ref record = ir_param(f, IR_U32), p[15], *out = p + 3, one = t_f32(&t, 1);
    params_f32(f, p, positions ? 15 : 9);
    vec3 ref = vec3_at(p), d = vec3_at(p + 3);
    if (moves(w, n) || (w->wants.moving_reference && emitter_of(n)->delta) ||
        (positions && emitter_of(n)->delta && emitter_of(n)->pose_params)) {
        emitter_sample s = emitter_of(n)->sample(&t, n, record, ref, t_f32(&t, 0), t_f32(&t, 0));
        vec3_put(s.d, out);
        out[3] = s.distance, out[4] = s.uv.x, out[5] = s.uv.y, out[6] = one;
    } else if (positions && emitter_of(n)->on_shape) {
        vec3 ref0 = vec3_at(p + 9), normal = vec3_at(p + 12), point = v3_add(&t, ref0, v3_scale(&t, d, p[6])),
             to = v3_sub(&t, point, ref);
        ir_ref before = ir_detach(f, solid_angle_of_area(&t, ref0, point, normal)),
               seen = ir_ne(f, before, t_f32(&t, 0)); /* not by the light's own plane */
        if ((w->moves & MOVE_TO_WORLD) && !emitter_of(n)->delta) {
            ir_ref shape = t_word(&t, record, n->extra_word + AREA_SHAPE);
            carried_with_shape(&t, shape, (ir_ref){0}, &point, &normal);
            to = v3_sub(&t, point, ref);
        }
        ir_ref distance = v3_length(&t, to);
        out[6] = ir_div(f, solid_angle_of_area(&t, ref, point, normal), ir_select(f, seen, before, one));
        vec3_put(v3_scale(&t, to, ir_div(f, one, distance)), out), out[3] = distance;
    } else if (positions) {
        out[6] = one;
    }
    ir_return(f, out, positions ? 7 : 6);
    return f;
}

static ir_func *make_emitter_pdf(walk *w, const class_node *n, bool smooth)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_pdf");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[12];
    params_f32(f, p, 12);
    emitter_hit hit = {
        .ref = vec3_at(p),
        .d = vec3_at(p + 3),
        .distance = p[6],
        .normal = vec3_at(p + 7),
        .uv = {p[10], p[11]},
        .smooth = smooth,
    };
    hit.entry = ir_param(f, IR_U32);
    params_f32(f, p, 2);
    hit.at = (vec2){p[0], p[1]};
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
    if (fn->interact_tracked)
        fn->interact_tracked[fn->interacts] = make_interact(w, kind, true, w->wants.surface_anew);
    if (fn->slide_before)
        fn->slide_before[fn->interacts] = make_interact(w, kind, false, true);
    fn->interact[fn->interacts++] = make_interact(w, kind, false, false);
}

void vertex_shape_functions(walk *w)
{
    const render_scene *s = w->plan->scene;
    walk_functions *fn = &w->fn;
    bool shared = !(w->plan->off & PLAN_SHARE_SHAPES) || s->shapes.count == 0;
    uint32_t most = shared ? SHAPE_KIND_COUNT : s->shapes.count;
    fn->interact = func_array(w, most),
    fn->interact_tracked = w->wants.surface_tracked ? func_array(w, most) : NULL;
    fn->slide_before = w->wants.surface_before ? func_array(w, most) : NULL;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++) {
        if (!s->kind_used[k] && !(k == 0 && s->primitives.count == 0))
            continue; /* an empty scene still needs one kind for its ray ops */
        fn->intersect[fn->kinds++] = make_intersect(w, shape_kinds[k]);
        if (shared)
            add_interact(w, shape_kinds[k]);
    }
    for (uint32_t i = 0; !shared && i < s->shapes.count; i++)
        add_interact(w, shape_kinds[s->shapes.data[i].kind]);
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
    fn->bsdf_value_tracked = func_array(w, walk_scatterers(w));
    for (uint32_t i = 0; i < p->bsdfs.count; i++) {
        fn->bsdf_sample[i] = make_bsdf_sample(w, p->bsdfs.data[i]);
        fn->bsdf_value[i] = make_bsdf_value(w, p->bsdfs.data[i], false);
        fn->bsdf_value_tracked[i] = make_bsdf_value(w, p->bsdfs.data[i], true);
    }
    fn->bsdf_albedo = func_array(w, p->bsdfs.count);
    for (uint32_t i = 0; w->pass == RENDER_CHANNELS && i < p->bsdfs.count; i++)
        fn->bsdf_albedo[i] = make_bsdf_colour(w, p->bsdfs.data[i], false, bsdf_albedo, "bsdf_albedo");
    fn->turn = func_array(w, p->bsdfs.count), fn->turn_before = func_array(w, p->bsdfs.count);
    fn->attach = func_array(w, p->bsdfs.count), fn->attach_before = func_array(w, p->bsdfs.count);
    for (uint32_t i = 0; w->attaches && i < p->bsdfs.count; i++) {
        fn->attach[i] = make_bsdf_attach(w, p->bsdfs.data[i], true);
        fn->attach_before[i] = make_bsdf_attach(w, p->bsdfs.data[i], false);
    }
    for (uint32_t i = 0; w->wants.turned_lobes && i < p->bsdfs.count; i++) {
        fn->turn[i] = make_bsdf_turn(w, p->bsdfs.data[i], true);
        fn->turn_before[i] = make_bsdf_turn(w, p->bsdfs.data[i], false);
    }
}

/* Phase functions behind the materials, and what volumetric walks ask of either. */
void vertex_phase_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    uint32_t n = p->bsdfs.count;
    for (uint32_t i = 0; i < p->phases.count; i++) {
        fn->bsdf_sample[n + i] = make_phase_sample(w, p->phases.data[i]);
        fn->bsdf_value[n + i] = make_phase_value(w, p->phases.data[i], false);
        fn->bsdf_value_tracked[n + i] = make_phase_value(w, p->phases.data[i], true);
    }
    fn->bsdf_through = func_array(w, n), fn->bsdf_through_tracked = func_array(w, n);
    for (uint32_t i = 0; i < n; i++) {
        fn->bsdf_through[i] = make_bsdf_colour(w, p->bsdfs.data[i], false, bsdf_through, "bsdf_through");
        fn->bsdf_through_tracked[i] =
            make_bsdf_colour(w, p->bsdfs.data[i], true, bsdf_through, "bsdf_through_tracked");
    }
}

void vertex_emitter_functions(walk *w)
{
    const plan *p = w->plan;
    walk_functions *fn = &w->fn;
    fn->emitter_sample = func_array(w, p->emitters.count),
    fn->emitter_radiance = func_array(w, p->emitters.count);
    fn->emitter_radiance_tracked = func_array(w, p->emitters.count),
    fn->emitter_pdf = func_array(w, p->emitters.count);
    for (uint32_t i = 0; i < p->emitters.count; i++) {
        fn->emitter_sample[i] = make_emitter_sample(w, p->emitters.data[i]);
        fn->emitter_radiance[i] = make_emitter_radiance(w, p->emitters.data[i], false);
        fn->emitter_radiance_tracked[i] = make_emitter_radiance(w, p->emitters.data[i], true);
        fn->emitter_pdf[i] = make_emitter_pdf(w, p->emitters.data[i], false);
    }
    fn->emitter_smooth = func_array(w, p->emitters.count);
    for (uint32_t i = 0; w->smooth && i < p->emitters.count; i++)
        fn->emitter_smooth[i] = make_emitter_pdf(w, p->emitters.data[i], true);
    if (p->scene->light_tracing) {
        fn->emitter_ray = func_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_ray[i] = make_emitter_ray(w, p->emitters.data[i]);
    }
    if (w->next_event && (w->wants.light_normal || some_light_moves(w))) {
        fn->emitter_moved = func_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_moved[i] = make_emitter_moved(w, p->emitters.data[i]);
    }
}
