/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of a path: camera ray, intersection, emission found, light sampling, material sampling. Semantics are those of Mitsuba's path
 * integrator (mitsuba3-facts 1.10): depth counts segments from 0, lights are sampled at every surface while depth + 1 < max_depth, MIS by the
 * power heuristic.
 *
 * Everything in here is detached: it decides the path. What carries derivatives (walk_radiance, walk_values) is evaluated separately
 * at the decided path. */
#include "render/integrator/walk.h"

/* ---- traced functions per class ---- */

static void params_f32(ir_func *f, ir_ref *out, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        out[k] = ir_param(f, IR_F32);
}

static vec3 vec3_at(const ir_ref *r) { return v3(r[0], r[1], r[2]); }
static void vec3_put(vec3 v, ir_ref *out) { out[0] = v.x, out[1] = v.y, out[2] = v.z; }

static tracer sub_tracer(const walk *w, ir_func *f, bool tracked)
{
    return (tracer){.f = f, .plan = w->plan, .tracked = tracked, .frozen = w->pass == RENDER_FROZEN};
}

static ir_func *make_intersect(walk *w, const shape_kind_class *kind)
{
    ir_func *f = ir_func_create(w->t.f->module, kind->name);
    tracer t = sub_tracer(w, f, false);
    ir_ref data = ir_param(f, IR_U32), p[8], out[3];
    params_f32(f, p, 8);
    kind->intersect(&t, data, vec3_at(p), vec3_at(p + 3), p[6], p[7], out);
    ir_return(f, out, 3);
    return f;
}

static ir_func *make_interact(walk *w, const shape_kind_class *kind, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, tracked ? "interact_tracked" : "interact");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref entry = ir_param(f, IR_U32), data = ir_param(f, IR_U32), p[9], out[INTERACT_RESULTS];
    params_f32(f, p, 9);
    interaction si = {.b = {p[7], p[8]}};
    kind->interact(&t, entry, data, vec3_at(p), vec3_at(p + 3), p[6], p[7], p[8], &si);
    ir_return(f, out, surface_pack(&t, &si, out));
    return f;
}

static ir_func *make_bsdf_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "bsdf_sample");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[11], out[8];
    params_f32(f, p, 11);
    surface at = surface_params(&t);
    t.surface = &at;
    const bsdf_class *cls = bsdf_of(n);
    vec2 uv = {p[3], p[4]};
    out[0] = cls->pdf(&t, n, record, vec3_at(p), vec3_at(p + 5), uv);
    bsdf_sample s = cls->sample(&t, n, record, vec3_at(p), uv, p[8], p[9], p[10]);
    vec3_put(s.wo, out + 1);
    out[4] = s.pdf, out[5] = s.eta, out[6] = s.delta, out[7] = s.lobe;
    if (w->volumetric)
        ir_param(f, IR_F32);
    ir_return(f, out, 8);
    return f;
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
    vec3 at = v3(p[3], p[4], ir_param(f, IR_F32)), wi = vec3_at(p), wo = cls->sample(&t, n, record, wi, at, p + 8);
    out[0] = cls->pdf(&t, n, record, wi, vec3_at(p + 5), at);
    vec3_put(wo, out + 1);
    out[4] = cls->pdf(&t, n, record, wi, wo, at), out[5] = t_f32(&t, 1), out[6] = ir_bool(f, false), out[7] = t_u32(&t, 0);
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
    vec2 uv = {p[3], p[4]};
    color light = cls->value(&t, n, record, vec3_at(p), vec3_at(p + 5), uv, ir_bool(f, false), t_u32(&t, 0));
    color sample = cls->value(&t, n, record, vec3_at(p), vec3_at(p + 8), uv, delta, lobe);
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

static ir_func *make_bsdf_through(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, tracked ? "bsdf_through_tracked" : "bsdf_through");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[5];
    params_f32(f, p, 5);
    surface at = surface_params(&t);
    t.surface = &at;
    color c = bsdf_through(&t, n, record, vec3_at(p), (vec2){p[3], p[4]});
    ir_return(f, c.c, 3);
    return f;
}

static ir_func *make_emitter_sample(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_sample");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[5], out[11];
    params_f32(f, p, 5);
    emitter_sample s = emitter_of(n)->sample(&t, n, record, vec3_at(p), p[3], p[4]);
    vec3_put(s.d, out);
    out[3] = s.distance, out[4] = s.pdf, out[5] = s.uv.x, out[6] = s.uv.y, out[7] = s.facing;
    vec3_put(ir_is_none(s.n.x) ? s.d : s.n, out + 8);
    ir_return(f, out, w->moves || walk_moves(w, MOVE_POSITIONS) ? 11 : 8);
    return f;
}

static ir_func *make_emitter_radiance(walk *w, const class_node *n, bool tracked)
{
    ir_func *f = ir_func_create(w->t.f->module, tracked ? "emitter_radiance_tracked" : "emitter_radiance");
    tracer t = sub_tracer(w, f, tracked);
    ir_ref record = ir_param(f, IR_U32), p[3];
    params_f32(f, p, 3);
    color r = emitter_of(n)->radiance(&t, n, record, (vec2){p[0], p[1]}, p[2], ir_param(f, IR_BOOL));
    ir_return(f, r.c, 3);
    return f;
}

/* Whether parameters move the lights of a class that the pass differentiates (or reads elsewhere) by. */
static bool moves(const walk *w, const class_node *n)
{
    return (w->pass == RENDER_FROZEN ? ~0u : n->requested) & emitter_of(n)->place_params;
}

static bool some_light_moves(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        any |= moves(w, w->plan->emitters.data[i]);
    return any;
}

/* Estimators.md 5: direction, distance and place on the image follow the light and the point `ref` that is lit. A point on a light's surface stays
 * where it is, seen before from ref0; the last result is by what the solid angle of a piece of surface there changes. */
static ir_func *make_emitter_place(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_place");
    tracer t = sub_tracer(w, f, true);
    bool positions = walk_moves(w, MOVE_POSITIONS);
    ir_ref record = ir_param(f, IR_U32), p[15], *out = p + 3, one = t_f32(&t, 1);
    params_f32(f, p, positions ? 15 : 9);
    vec3 ref = vec3_at(p), d = vec3_at(p + 3);
    if (moves(w, n) || (w->moves && emitter_of(n)->delta) || (positions && emitter_of(n)->place_params)) {
        emitter_sample s = emitter_of(n)->sample(&t, n, record, ref, t_f32(&t, 0), t_f32(&t, 0));
        vec3_put(s.d, out);
        out[3] = s.distance, out[4] = s.uv.x, out[5] = s.uv.y, out[6] = one;
    } else if (positions && emitter_of(n)->on_shape) {
        vec3 ref0 = vec3_at(p + 9), normal = vec3_at(p + 12), point = v3_add(&t, ref0, v3_scale(&t, d, p[6])), to = v3_sub(&t, point, ref);
        ir_ref distance = v3_length(&t, to);
        out[6] = ir_div(f, moved_solid_angle(&t, ref, point, normal), ir_detach(f, moved_solid_angle(&t, ref0, point, normal)));
        vec3_put(v3_scale(&t, to, ir_div(f, one, distance)), out), out[3] = distance;
    } else if (positions) {
        out[6] = one;
    }
    ir_return(f, out, positions ? 7 : 6);
    return f;
}

static ir_func *make_emitter_pdf(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "emitter_pdf");
    tracer t = sub_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32), p[12];
    params_f32(f, p, 12);
    emitter_hit hit = {.ref = vec3_at(p), .d = vec3_at(p + 3), .distance = p[6], .normal = vec3_at(p + 7), .uv = {p[10], p[11]}};
    hit.entry = ir_param(f, IR_U32);
    params_f32(f, p, 2);
    hit.at = (vec2){p[0], p[1]};
    ir_ref pdf = emitter_of(n)->pdf(&t, n, record, &hit);
    ir_return(f, &pdf, 1);
    return f;
}

static ir_func **func_array(walk *w, uint32_t n) { return arena_alloc(&w->t.f->module->arena, (n + 1) * sizeof(ir_func *)); }

/* Phase functions behind the materials, and what volumetric walks ask of either. */
static void volumetric_functions(walk *w)
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
        fn->bsdf_through[i] = make_bsdf_through(w, p->bsdfs.data[i], false);
        fn->bsdf_through_tracked[i] = make_bsdf_through(w, p->bsdfs.data[i], true);
    }
    if (w->media)
        flight_functions(w);
}

static void add_interact(walk *w, const shape_kind_class *kind)
{
    walk_functions *fn = &w->fn;
    if (fn->interact_tracked)
        fn->interact_tracked[fn->interacts] = make_interact(w, kind, true);
    fn->interact[fn->interacts++] = make_interact(w, kind, false);
}

static void make_shapes(walk *w)
{
    const render_scene *s = w->plan->scene;
    walk_functions *fn = &w->fn;
    bool shared = !(w->plan->off & PLAN_SHARE_SHAPES) || s->shapes.count == 0;
    uint32_t most = shared ? SHAPE_KIND_COUNT : s->shapes.count;
    fn->interact = func_array(w, most), fn->interact_tracked = walk_moves(w, MOVE_SURFACE) ? func_array(w, most) : NULL;
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

bool walk_has_null(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        any |= bsdf_lets_through(w->plan->bsdfs.data[i]);
    return any;
}

/* Materials, and phase functions where there are media. */
static uint32_t scatterers(const walk *w) { return w->plan->bsdfs.count + (w->media ? w->plan->phases.count : 0); }

bl_result walk_begin(walk *w, ir_module *m, ir_func *f)
{
    const plan *p = w->plan;
    (void)m;
    bool nulls = walk_has_null(w);
    w->media = p->scene->volumetric && p->media.count > 0;
    w->volumetric = w->media || (p->scene->volumetric && nulls);
    w->behind_null = p->scene->hide_emitters && nulls && !w->volumetric;
    w->weighted = sensor_weight(p->scene) != 1 || ((const filter_class *)p->filter->cls)->weighted;
    w->sampler = p->scene->sampler ? sampler_of(p->scene->sampler) : &sampler_independent;
    w->t = (tracer){.f = f, .plan = p};
    make_shapes(w);
    w->moves = view_moves(w);
    if (w->moves)
        view_begin(w);
    walk_functions *fn = &w->fn;
    fn->bsdf_sample = func_array(w, scatterers(w)), fn->bsdf_value = func_array(w, scatterers(w));
    fn->bsdf_value_tracked = func_array(w, scatterers(w));
    for (uint32_t i = 0; i < p->bsdfs.count; i++) {
        fn->bsdf_sample[i] = make_bsdf_sample(w, p->bsdfs.data[i]);
        fn->bsdf_value[i] = make_bsdf_value(w, p->bsdfs.data[i], false);
        fn->bsdf_value_tracked[i] = make_bsdf_value(w, p->bsdfs.data[i], true);
    }
    if (w->volumetric)
        volumetric_functions(w);
    fn->emitter_sample = func_array(w, p->emitters.count), fn->emitter_radiance = func_array(w, p->emitters.count);
    fn->emitter_radiance_tracked = func_array(w, p->emitters.count), fn->emitter_pdf = func_array(w, p->emitters.count);
    for (uint32_t i = 0; i < p->emitters.count; i++) {
        fn->emitter_sample[i] = make_emitter_sample(w, p->emitters.data[i]);
        fn->emitter_radiance[i] = make_emitter_radiance(w, p->emitters.data[i], false);
        fn->emitter_radiance_tracked[i] = make_emitter_radiance(w, p->emitters.data[i], true);
        fn->emitter_pdf[i] = make_emitter_pdf(w, p->emitters.data[i]);
    }
    if (w->next_event && (w->moves || walk_moves(w, MOVE_POSITIONS) || some_light_moves(w))) {
        fn->emitter_place = func_array(w, p->emitters.count);
        for (uint32_t i = 0; i < p->emitters.count; i++)
            fn->emitter_place[i] = make_emitter_place(w, p->emitters.data[i]);
    }
    return BL_OK;
}

/* ---- camera ---- */

static random4 numbers(walk *w, ir_ref sample, ir_ref block, sampler_slots slots)
{
    const sampler_place at = {.pixel = w->pixel, .sample = sample, .spp = w->spp, .seed = w->seed, .stream = w->stream,
                              .jittered = sampler_jitters(w->plan->scene)};
    return sampler_block(&w->t, w->sampler, &at, block, slots);
}

walk_position walk_camera(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_u32(t, 0), header = zero;
    random4 r = numbers(w, sample, zero, SAMPLER_PAIRS);
    ir_ref weight = t_f32(t, sensor_weight(w->plan->scene));
    const filter_class *cls = (const filter_class *)w->plan->filter->cls;
    vec2 offset = cls->sample(t, t_word(t, header, HEADER_FILTER), r.u[0], r.u[1], &weight);
    ir_ref width = ir_uniform(f, IR_U32, UNIFORM_WIDTH), height = ir_uniform(f, IR_U32, UNIFORM_HEIGHT), half = t_f32(t, 0.5f);
    ir_ref y = ir_div(f, w->pixel, width), x = ir_sub(f, w->pixel, ir_mul(f, y, width));
    vec2 film = {ir_div(f, ir_add(f, ir_add(f, ir_to_f32(f, x), half), offset.x), ir_to_f32(f, width)),
                 ir_div(f, ir_add(f, ir_add(f, ir_to_f32(f, y), half), offset.y), ir_to_f32(f, height))};
    const class_node *node = w->plan->sensor;
    const sensor_view view = {w->plan->scene->sensor, t_word(t, header, node ? HEADER_VIEW : HEADER_SENSOR), node};
    ray r0 = sensor_ray(t, &view, film, (vec2){r.u[2], r.u[3]});
    walk_position at = {.sample = sample, .depth = zero, .o = r0.o, .d = r0.d, .tmax = r0.tmax, .pdf = t_f32(t, w->behind_null ? -1 : 1),
                        .delta = ir_bool(f, true), .weight = weight, .first = zero};
    if (w->volumetric) {
        at.event = zero, at.medium = w->media ? t_word(t, header, HEADER_SENSOR_MEDIUM) : zero;
        at.scattered = r0.o, at.share = color_all(t_f32(t, 1.0f / 3));
    }
    return at;
}

ir_ref walk_begins(walk *w, const walk_position *at)
{
    return ir_eq(w->t.f, w->volumetric ? at->event : at->depth, t_u32(&w->t, 0));
}

color walk_weigh(walk *w, walk_position at, color c) { return w->weighted ? color_scale(&w->t, c, at.weight) : c; }

/* a^2 / (a^2 + b^2) */
static ir_ref power_heuristic(tracer *t, ir_ref a, ir_ref b)
{
    ir_ref a2 = t_sqr(t, a);
    return t_ratio(t, a2, ir_add(t->f, a2, t_sqr(t, b)));
}

/* ---- emission at the hit ---- */

static ir_ref hit_pdf(walk *w, const walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    const interaction *si = &v->si;
    vec3 from = w->volumetric ? at.scattered : at.o;
    ir_ref distance = w->volumetric ? v3_length(t, v3_sub(t, si->p, from)) : si->t;
    ir_ref in[16] = {v->hit.record, from.x, from.y, from.z, at.d.x, at.d.y, at.d.z, distance, si->ng.x, si->ng.y, si->ng.z, v->hit.uv.x,
                     v->hit.uv.y, si->entry, si->b.x, si->b.y}, pdf;
    ir_call(t->f, v->hit.cls, w->fn.emitter_pdf, w->plan->emitters.count, in, 16, &pdf);
    const render_scene *s = w->plan->scene;
    if (!w->plan->lights_tabled)
        return ir_mul(t->f, pdf, t_f32(t, 1.0f / (float)s->emitters.count));
    ir_ref light = t_word(t, si->shape, SHAPE_EMITTER_INDEX);
    if (s->environment != PLAN_NONE)
        light = ir_select(t->f, si->valid, light, t_u32(t, s->environment));
    return ir_mul(t->f, pdf, choice_probability(t, light));
}

static const class_node *environment_of(const plan *p)
{
    return p->emitters.data[p->words.data[p->words.data[HEADER_EMITTERS] + 2 * p->scene->environment]];
}

bool walk_locates(const plan *p) { return p->scene->environment != PLAN_NONE && emitter_of(environment_of(p))->locate; }

vec2 walk_environment_uv(walk *w, vec3 d)
{
    tracer *t = &w->t;
    const class_node *n = environment_of(w->plan);
    ir_ref record = t_word(t, t_word(t, t_u32(t, 0), HEADER_EMITTERS), 2 * w->plan->scene->environment + 1);
    return emitter_of(n)->locate(t, n, record, d);
}

/* uv of the surface, or of the ray's direction on the environment. */
static vec2 emission_uv(walk *w, const walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    const plan *p = w->plan;
    if (p->scene->environment == PLAN_NONE)
        return v->si.uv;
    if (!walk_locates(p))
        return v->si.uv;
    vec2 far = walk_environment_uv(w, at.d);
    return (vec2){ir_select(t->f, v->si.valid, v->si.uv.x, far.x), ir_select(t->f, v->si.valid, v->si.uv.y, far.y)};
}

static void find_emission(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *s = w->plan->scene;
    ir_ref zero = t_f32(t, 0), none = t_u32(t, PLAN_NONE), lights = t_word(t, t_u32(t, 0), HEADER_EMITTERS);
    ir_ref cls = t_word(t, v->si.shape, SHAPE_EMITTER_CLASS);
    ir_ref on_shape = ir_and(f, v->si.valid, ir_ne(f, cls, none));
    /* a valid class and record stand in where there is no light: the environment's, or the first */
    uint32_t stand_in = s->environment == PLAN_NONE ? 0 : s->environment;
    v->hit.cls = ir_select(f, on_shape, cls, t_word(t, lights, 2 * stand_in));
    v->hit.record = ir_select(f, on_shape, t_word(t, v->si.shape, SHAPE_EMITTER_RECORD), t_word(t, lights, 2 * stand_in + 1));
    v->hit.there = on_shape;
    if (s->environment != PLAN_NONE) /* a path that has ended has a negative tmax and sees nothing */
        v->hit.there = ir_or(f, on_shape, ir_and(f, ir_not(f, v->si.valid), ir_ge(f, at.tmax, zero)));
    if (s->hide_emitters)
        v->hit.there = ir_and(f, v->hit.there, ir_gt(f, at.depth, t_u32(t, 0)));
    if (w->behind_null)
        v->hit.there = ir_and(f, v->hit.there, ir_or(f, v->si.valid, ir_ge(f, at.pdf, zero)));
    if (!w->bsdf_emission) /* direct light by light sampling only: what the camera sees still counts */
        v->hit.there = ir_and(f, v->hit.there, ir_eq(f, at.depth, t_u32(t, 0)));
    v->hit.uv = emission_uv(w, v, at);
    v->hit.distance = t_f32(t, 1); /* delta lights, the only ones that ask, are not hit */
    v->hit.facing = ir_lt(f, v3_dot(t, at.d, v->si.ns), zero);
    if (s->environment != PLAN_NONE)
        v->hit.facing = ir_or(f, v->hit.facing, ir_not(f, v->si.valid));
    ir_ref mis = t_f32(t, 1);
    if (w->next_event)
        mis = ir_select(f, at.delta, mis, power_heuristic(t, at.pdf, hit_pdf(w, v, at)));
    v->hit_mis = ir_select(f, v->hit.there, mis, zero);
}

/* ---- light sampling ---- */

ir_ref walk_far(walk *w, ir_ref length) { return ir_mul(w->t.f, length, t_f32(&w->t, 1 - 10 * RAY_EPSILON)); }

static ir_ref shadow_test(walk *w, const interaction *si, vec3 d, ir_ref distance, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 o = ray_offset(t, si->p, si->ng, d);
    vec3 to = v3_sub(t, v3_add(t, si->p, v3_scale(t, d, distance)), o);
    ir_ref length = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    to = v3_scale(t, to, ir_div(f, t_f32(t, 1), length));
    ir_ref far = walk_far(w, length);
    ir_ref tmax = ir_select(f, wanted, far, t_f32(t, -1));
    if (w->plan->baked)
        return ir_not(f, baked_any(w, &(ray){o, to, tmax}));
    ir_ref args[8] = {o.x, o.y, o.z, to.x, to.y, to.z, t_f32(t, 0), tmax};
    return ir_not(f, ir_ray_any(f, w->fn.intersect, w->fn.kinds, args));
}

/* Volumetric: what is known to be dark from an earlier walk is not asked again. */
static ir_ref cross_to_light(walk *w, walk_vertex *v, const walk_position *at, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (w->notes) {
        ir_ref noted = ir_ne(f, ir_and(f, ir_shr(f, w->seen, at->event), t_u32(t, 1)), t_u32(t, 0));
        ir_ref known = ir_and(f, w->again, ir_lt(f, at->event, t_u32(t, SEEN_MOST)));
        wanted = ir_and(f, wanted, ir_or(f, noted, ir_not(f, known)));
    }
    v->shadow = shadow_cross(w, v, at, v->light_d, wanted, false);
    return v->shadow.open;
}

/* As shadow_test, but from the notes of an earlier walk of the same path where there are any. */
static ir_ref light_visible(walk *w, const walk_vertex *v, ir_ref depth, vec3 d, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    int most = w->plan->scene->max_depth;
    bool complete = most >= 0 && most <= SEEN_MOST + 1; /* the last vertex samples no light */
    if (!w->notes)
        return ir_and(f, wanted, shadow_test(w, &v->si, d, v->light.distance, wanted));
    ir_ref noted = ir_ne(f, ir_and(f, ir_shr(f, w->seen, depth), t_u32(t, 1)), t_u32(t, 0)), known = w->again;
    if (!complete)
        known = ir_and(f, known, ir_lt(f, depth, t_u32(t, SEEN_MOST)));
    noted = ir_and(f, wanted, noted);
    if (complete && w->pass == RENDER_ADJOINT)
        return noted;
    ir_ref unknown = ir_and(f, wanted, ir_not(f, known));
    return ir_select(f, known, noted, ir_and(f, unknown, shadow_test(w, &v->si, d, v->light.distance, unknown)));
}

static bool is_delta(const emitter_class *e) { return e->delta; }
static bool is_on_shape(const emitter_class *e) { return e->on_shape; }

/* bool reference: the class of the light is of that kind */
static ir_ref light_is(walk *w, ir_ref cls, bool (*kind)(const emitter_class *e))
{
    ir_func *f = w->t.f;
    ir_ref is = ir_bool(f, false);
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        if (kind(emitter_of(w->plan->emitters.data[i])))
            is = ir_or(f, is, ir_eq(f, cls, t_u32(&w->t, i)));
    return is;
}

static void choose_light(walk *w, walk_vertex *v, const random4 *r, vec3 *d, ir_ref *pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t n = w->plan->scene->emitters.count;
    ir_ref index = t_u32(t, 0);
    if (w->plan->lights_tabled)
        index = choice_sample(t, r->u[0], &v->light_probability);
    else if (n > 1)
        index = ir_min(f, ir_to_u32(f, ir_mul(f, r->u[0], t_f32(t, (float)n))), t_u32(t, n - 1));
    ir_ref at = ir_add(f, t_word(t, t_u32(t, 0), HEADER_EMITTERS), ir_mul(f, index, t_u32(t, 2)));
    v->light.cls = t_word(t, at, 0), v->light.record = t_word(t, at, 1);
    ir_ref in[6] = {v->light.record, v->si.p.x, v->si.p.y, v->si.p.z, r->u[1], r->u[2]}, out[11];
    ir_call(f, v->light.cls, w->fn.emitter_sample, w->plan->emitters.count, in, 6, out);
    *d = vec3_at(out);
    *pdf = out[4];
    v->light.distance = out[3], v->light.uv = (vec2){out[5], out[6]}, v->light.facing = out[7];
    v->light.sampled = true, v->light.ref = v->si.p, v->light.d = *d;
    if (w->moves)
        v->light.n = vec3_at(out + 8), v->light.on_shape = light_is(w, v->light.cls, is_on_shape), v->light.key = v->key;
    if (walk_moves(w, MOVE_POSITIONS))
        v->light.n = vec3_at(out + 8), v->light.seen_from = v->hit_place;
}

/* ---- the vertex ---- */

static void sample_bsdf(walk *w, walk_vertex *v, ir_ref u_lobe, ir_ref u1, ir_ref u2, ir_ref *light_pdf)
{
    ir_ref in[13 + SURFACE_ARGS] = {v->bsdf_record, v->wi.x, v->wi.y, v->wi.z, v->si.uv.x, v->si.uv.y, v->to_light.x, v->to_light.y, v->to_light.z,
                     u_lobe, u1, u2};
    ir_ref out[8];
    if (scatterers(w) == 0) { /* a scene without shapes */
        tracer *t = &w->t;
        v->sample = (bsdf_sample){v->wi, t_f32(t, 0), t_f32(t, 1), ir_bool(t->f, false), t_u32(t, 0)};
        v->wo = v->wi;
        *light_pdf = t_f32(t, 0);
        return;
    }
    uint32_t count = 12 + surface_args(&w->t, &v->si, v->frame, in + 12);
    if (w->volumetric)
        in[count++] = v->third;
    ir_call(w->t.f, v->bsdf_class, w->fn.bsdf_sample, scatterers(w), in, count, out);
    *light_pdf = out[0];
    v->sample = (bsdf_sample){vec3_at(out + 1), out[4], out[5], out[6], out[7]};
    v->wo = v->sample.wo;
}

static ir_ref mix_decisions(walk *w, const walk_vertex *v, ir_ref visible)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref h = ir_select(f, v->si.valid, v->si.entry, t_u32(t, PLAN_NONE));
    if (w->plan->scene->has_groups)
        h = ir_add(f, ir_mul(f, h, t_u32(t, 0x9E3779B1u)), v->si.level);
    h = ir_add(f, ir_mul(f, h, t_u32(t, 0x9E3779B1u)), v->sample.lobe);
    h = ir_xor(f, h, ir_select(f, v->goes_on, t_u32(t, 0x85EBCA77u), t_u32(t, 0)));
    if (w->media)
        h = ir_xor(f, ir_mul(f, h, t_u32(t, 16777619u)), ir_select(f, v->flight.collides, ir_not(f, v->flight.steps), v->flight.steps));
    return ir_xor(f, h, ir_select(f, visible, t_u32(t, 0xC2B2AE3Du), t_u32(t, 0)));
}

/* hide_emitters: camera rays pass through shapes that are lights (Mitsuba's skip_area_emitters). */
static walk_position skip_lights(walk *w, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref state[5] = {at.o.x, at.o.y, at.o.z, at.tmax, ir_eq(f, at.depth, t_u32(t, 0))};
    ir_ref loop = ir_loop(f, state, 5);
    ir_while(f, state[4]);
    walk_position now = at;
    now.o = vec3_at(state), now.tmax = state[3];
    interaction si = walk_intersect(w, now, NULL);
    ir_ref light = ir_and(f, si.valid, ir_ne(f, t_word(t, si.shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE)));
    vec3 o = v3_select(t, light, ray_offset(t, si.p, si.ng, at.d), now.o);
    ir_ref next[5] = {o.x, o.y, o.z, ir_select(f, light, ir_sub(f, state[3], si.t), state[3]), light};
    ir_endloop(f, loop, next, 5);
    at.o = vec3_at(state), at.tmax = state[3];
    return at;
}

/* Where the flight has ended in the medium, the vertex is there: directions in the world, and no surface. */
static void take_collision(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), collides = v->flight.collides;
    vec3 p = v3_add(t, at.o, v3_scale(t, at.d, v->flight.t)), none = v3(zero, zero, zero);
    v->hit.there = ir_and(f, v->hit.there, ir_not(f, collides));
    v->hit_mis = ir_select(f, collides, zero, v->hit_mis);
    v->si.p = v3_select(t, collides, p, v->si.p);
    v->si.ng = v3_select(t, collides, none, v->si.ng);
    v->si.uv = (vec2){ir_select(f, collides, p.x, v->si.uv.x), ir_select(f, collides, p.y, v->si.uv.y)};
    v->third = p.z;
    v->si.valid = ir_or(f, v->si.valid, collides);
    ir_ref medium = ir_select(f, collides, at.medium, t_word(t, t_u32(t, 0), HEADER_MEDIA));
    ir_ref phase = ir_add(f, t_word(t, medium, MEDIUM_PHASE_CLASS), t_u32(t, w->plan->bsdfs.count));
    v->bsdf_class = ir_select(f, collides, phase, v->bsdf_class);
    v->bsdf_record = ir_select(f, collides, t_word(t, medium, MEDIUM_PHASE_RECORD), v->bsdf_record);
    v->samples_light = ir_or(f, ir_not(f, collides), ir_ne(f, t_word(t, medium, MEDIUM_SAMPLES_LIGHTS), t_u32(t, 0)));
}

/* Of the shading normal; the world's where the vertex is a collision. */
static frame vertex_frame(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), collides = v->flight.collides;
    frame fr = surface_frame(t, &v->si);
    return (frame){v3_select(t, collides, v3(one, zero, zero), fr.s), v3_select(t, collides, v3(zero, one, zero), fr.t),
                   v3_select(t, collides, v3(zero, zero, one), fr.n)};
}

/* Surfaces that are not there are gone through in a straight line, whatever the depth. */
static void go_through(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    v->through = ir_and(f, v->si.valid, ir_and(f, v->sample.delta, ir_ge(f, v->sample.lobe, t_u32(t, LOBE_NULL))));
    v->goes_on = ir_or(f, v->goes_on, v->through);
    v->next_d = v3_select(t, v->through, at.d, v->next_d);
    v->next_o = ray_offset(t, v->si.p, v->si.ng, v->next_d);
    v->medium = at.medium;
    if (w->media)
        v->medium = ir_select(f, v->flight.collides, at.medium, medium_behind(w, &v->si, v->next_d, at.medium));
}

/* What the ray that goes on meets. */
static interaction next_surface(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_ref tmax = ir_select(t->f, v->goes_on, t_f32(t, 1e30f), t_f32(t, -1));
    return walk_intersect(w, (walk_position){.o = v->next_o, .d = v->next_d, .tmax = tmax}, NULL);
}

/* At the first vertex: where the ray that goes on will hit. In a loop of one trip, because CPU devices skip loops but not branches. */
static void look_ahead(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), no = ir_bool(f, false);
    ir_ref state[8] = {ir_and(f, v->key.first, v->goes_on), no, zero, zero, zero, zero, zero, zero}, loop = ir_loop(f, state, 8);
    ir_while(f, state[0]);
    at.o = v->next_o, at.d = v->next_d, at.tmax = t_f32(t, 1e30f);
    interaction si = walk_intersect(w, at, NULL);
    ir_ref next[8] = {no, si.valid, si.p.x, si.p.y, si.p.z, si.ng.x, si.ng.y, si.ng.z};
    ir_endloop(f, loop, next, 8);
    v->next_valid = state[1]; /* else any place, from which nothing that is not finite can come */
    v->next_p = v3_select(t, state[1], vec3_at(state + 2), v3_add(t, v->next_o, v->next_d)), v->next_ng = v3_select(t, state[1], vec3_at(state + 5), v->next_d);
}

/* mis / (pdf * probability of the choice) */
static ir_ref light_weight(walk *w, const walk_vertex *v, ir_ref light_pdf, ir_ref bsdf_pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    float n = (float)w->plan->scene->emitters.count;
    bool tabled = w->plan->lights_tabled;
    ir_ref mis = t_f32(t, 1), both = ir_mul(f, light_pdf, tabled ? v->light_probability : t_f32(t, 1 / n));
    if (w->bsdf_emission)
        mis = ir_select(f, light_is(w, v->light.cls, is_delta), mis, power_heuristic(t, both, bsdf_pdf));
    return ir_mul(f, mis, tabled ? t_ratio(t, t_f32(t, 1), both) : t_ratio(t, t_f32(t, n), light_pdf));
}

walk_vertex walk_visit(walk *w, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *s = w->plan->scene;
    if (s->hide_emitters && s->emitters.count > 0)
        at = skip_lights(w, at);
    walk_vertex v = {.last = at.last};
    v.si = walk_intersect(w, at, &v.hit_place);
    if (w->media)
        v.flight = flight_start(w, &at, v.si.t);
    if (w->moves) {
        v.key = (view_key){.sample = at.sample, .first = ir_eq(f, at.depth, t_u32(t, 0)), .surface = v.si.valid};
        v.key.second = ir_and(f, v.si.valid, ir_eq(f, at.depth, t_u32(t, 1)));
        v.key.entry = ir_select(f, v.key.first, v.si.entry, at.first);
        if (s->has_groups)
            view_leave_instances(w, &v);
        v.hit.key = v.key;
    }
    bool lights = s->emitters.count > 0;
    ir_ref zero = t_f32(t, 0), one = t_u32(t, 1), visible = ir_bool(f, false);
    if (lights)
        find_emission(w, &v, at);
    v.goes_on = w->media ? ir_or(f, v.si.valid, v.flight.collides) : v.si.valid;
    if (s->max_depth >= 0)
        v.goes_on = ir_and(f, v.goes_on, ir_lt(f, ir_add(f, at.depth, one), t_u32(t, (uint32_t)s->max_depth)));
    v.bsdf_class = t_word(t, v.si.shape, SHAPE_BSDF_CLASS), v.bsdf_record = t_word(t, v.si.shape, SHAPE_BSDF_RECORD);
    if (w->volumetric)
        v.third = t_f32(t, 0);
    if (w->media)
        take_collision(w, &v, at);
    v.frame = w->media ? vertex_frame(w, &v) : surface_frame(t, &v.si);
    v.wi = frame_to_local(t, v.frame, v3_neg(t, at.d));
    ir_ref block = ir_mul(f, w->volumetric ? at.event : at.depth, t_u32(t, 2));
    random4 r1 = numbers(w, at.sample, ir_add(f, block, one), SAMPLER_ONE_TWO_ONE);
    random4 r2 = numbers(w, at.sample, ir_add(f, block, t_u32(t, 2)), SAMPLER_ONE_TWO_ONE);
    v.u_roulette = r1.u[3];
    vec3 d = v.si.ns;
    ir_ref light_pdf = zero, bsdf_pdf;
    if (w->next_event && lights)
        choose_light(w, &v, &r1, &d, &light_pdf);
    v.light_d = d;
    v.to_light = frame_to_local(t, v.frame, d);
    sample_bsdf(w, &v, r2.u[0], r2.u[1], r2.u[2], &bsdf_pdf);
    v.light_weight = zero;
    if (w->next_event && lights) {
        /* a light behind a surface that does not scatter there is no reason to trace a ray; nor is one seen from its dark side */
        ir_ref wanted = ir_and(f, v.goes_on, ir_and(f, ir_gt(f, light_pdf, zero), ir_and(f, ir_gt(f, bsdf_pdf, zero), v.light.facing)));
        if (w->media)
            wanted = ir_and(f, wanted, v.samples_light);
        visible = w->volumetric ? cross_to_light(w, &v, &at, wanted) : light_visible(w, &v, at.depth, d, wanted);
        v.light.there = visible;
        v.light_weight = ir_select(f, visible, light_weight(w, &v, light_pdf, bsdf_pdf), zero);
    }
    v.next_d = v3_normalize(t, frame_to_world(t, v.frame, v.wo));
    v.next_o = ray_offset(t, v.si.p, v.si.ng, v.next_d);
    if (walk_moves(w, MOVE_POSITIONS) && walk_tracks(w))
        v.next = next_surface(w, &v);
    v.light_visible = visible;
    if (w->volumetric)
        go_through(w, &v, at);
    if (w->moves)
        look_ahead(w, &v, at);
    v.decisions = mix_decisions(w, &v, visible);
    return v;
}

/* Tracked values are functions of parameters at a path that stays where it is: what describes the path is detached. */
static void detach_all(walk *w, ir_ref *values, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        values[k] = ir_detach(w->t.f, values[k]);
}

/* The same light, with direction, distance and uv tracked, and by what its solid angle changes; false: they do not depend on parameters. */
static bool place_light(walk *w, walk_light *light, ir_ref *factor)
{
    bool positions = walk_moves(w, MOVE_POSITIONS);
    if (!light->sampled || !w->fn.emitter_place)
        return false;
    ir_ref in[16] = {light->record, light->ref.x, light->ref.y, light->ref.z, light->d.x, light->d.y, light->d.z, light->distance,
                     light->uv.x, light->uv.y}, out[7];
    if (positions)
        vec3_put(light->ref, in + 10), vec3_put(light->n, in + 13);
    detach_all(w, in, positions ? 16 : 10);
    if (positions) {
        vec3_put(moved_point(w, &light->seen_from), in + 1);
    } else if (w->moves) {
        view_place_light(w, light);
        vec3_put(light->ref, in + 1), vec3_put(light->d, in + 4), in[7] = light->distance;
    }
    ir_call(w->t.f, light->cls, w->fn.emitter_place, w->plan->emitters.count, in, positions ? 16 : 10, out);
    light->d = vec3_at(out), light->distance = out[3], light->uv = (vec2){out[4], out[5]};
    *factor = positions ? ir_select(w->t.f, light->there, out[6], t_f32(&w->t, 1)) : t_f32(&w->t, 1);
    return true;
}

color walk_radiance(walk *w, walk_light light, bool tracked)
{
    tracer *t = &w->t;
    ir_ref factor;
    bool placed = tracked && place_light(w, &light, &factor);
    ir_ref in[5] = {light.record, light.uv.x, light.uv.y, light.distance, light.facing};
    if (tracked && !placed)
        detach_all(w, in, 5);
    if (tracked && w->moves && !light.sampled) {
        vec2 uv = view_uv(w, &light);
        in[1] = uv.x, in[2] = uv.y;
    }
    color r;
    ir_call(t->f, light.cls, tracked ? w->fn.emitter_radiance_tracked : w->fn.emitter_radiance, w->plan->emitters.count, in, 5, r.c);
    return r;
}

/* Detached: what describes the path is no function of the light. */
static frame frame_that_stays(tracer *t, frame fr)
{
    vec3 *axes[3] = {&fr.s, &fr.t, &fr.n};
    for (int k = 0; k < 3; k++)
        *axes[k] = v3(ir_detach(t->f, axes[k]->x), ir_detach(t->f, axes[k]->y), ir_detach(t->f, axes[k]->z));
    return fr;
}

void walk_values(walk *w, const walk_vertex *v, bool tracked, color *for_light, color *for_sample)
{
    tracer *t = &w->t;
    ir_ref in[15 + SURFACE_ARGS] = {v->bsdf_record, v->wi.x, v->wi.y, v->wi.z, v->si.uv.x, v->si.uv.y, v->to_light.x, v->to_light.y, v->to_light.z,
                     v->wo.x, v->wo.y, v->wo.z, v->sample.delta, v->sample.lobe};
    uint32_t count = 14 + surface_args(t, &v->si, v->frame, in + 14);
    if (w->volumetric)
        in[count++] = v->third;
    if (scatterers(w) == 0) {
        *for_light = *for_sample = color_all(t_f32(t, 0));
        return;
    }
    ir_ref light_factor = t_f32(t, 1), sample_factor = light_factor;
    view_factors by = {{0}, {0}};
    if (tracked) {
        detach_all(w, in, count);
        walk_light light = v->light;
        bool placed = place_light(w, &light, &light_factor);
        if (!placed && light.sampled)
            light.d = v3(ir_detach(t->f, light.d.x), ir_detach(t->f, light.d.y), ir_detach(t->f, light.d.z));
        if (walk_moves(w, MOVE_SURFACE))
            moved_arguments(w, v, light.d, in, count, &sample_factor);
        else if (placed)
            vec3_put(frame_to_local(t, frame_that_stays(t, v->frame), light.d), in + 6);
        if (w->moves)
            by = view_values(w, v, v->light.sampled ? light.d : v->si.ns, in, count);
    }
    ir_ref out[6];
    ir_call(t->f, v->bsdf_class, tracked ? w->fn.bsdf_value_tracked : w->fn.bsdf_value, scatterers(w), in, count, out);
    for (int c = 0; c < 3; c++)
        for_light->c[c] = ir_mul(t->f, out[c], light_factor), for_sample->c[c] = ir_mul(t->f, out[3 + c], sample_factor);
    if (tracked && w->moves)
        *for_light = color_scale(t, *for_light, by.light), *for_sample = color_scale(t, *for_sample, by.sample);
}

color walk_light_scale(walk *w, const walk_vertex *v, const walk_position *at, bool tracked)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref weight = tracked ? ir_detach(f, v->light_weight) : v->light_weight;
    if (!w->volumetric)
        return color_all(weight);
    walk_shadow shadow = tracked ? shadow_cross(w, v, at, v->light_d, v->shadow.open, true) : v->shadow;
    COLOR_EACH(r, ir_select(f, ir_eq(f, shadow.zeros[c], t_u32(t, 0)), ir_mul(f, weight, shadow.product.c[c]), t_f32(t, 0)));
    return r;
}

ir_ref walk_survival(walk *w, const walk_vertex *v, ir_ref depth, ir_ref throughput_max, ir_ref eta)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref q = ir_min(f, ir_mul(f, throughput_max, t_sqr(t, eta)), t_f32(t, 0.95f));
    ir_ref from = t_u32(t, (uint32_t)w->plan->scene->rr_depth + (w->plan->scene->volumetric ? 1 : 0)), deep = ir_ge(f, depth, from);
    if (w->volumetric)
        deep = ir_and(f, deep, ir_not(f, v->through));
    return ir_select(f, deep, q, t_f32(t, 1));
}
