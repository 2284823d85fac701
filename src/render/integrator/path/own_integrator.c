/* SPDX-License-Identifier: BSD-3-Clause
 * What an application's integrator asks of the scene, in terms of what the renderer's own integrators do at a
 * vertex. Its rays, samples and densities are detached, as in walk_visit; its values carry derivatives, as in
 * values.c. Each question goes by the same functions as there, so that both know the same materials and
 * lights. */
#include "render/integrator/path/own_trace.h"
#include "render/print.h"

tracer *own_tracer(own_trace *t) { return &t->w->t; }

static bool failed(const own_trace *t) { return t->w->t.f->module->error.code != BL_OK; }

bool own_end(own_trace *t)
{
    array_free(&t->answers);
    return !failed(t);
}

/* ---- what an application passes in ---- */

/* Whether these are values of the type, and the trace has not failed. An operation that changes nothing asks
 * the builder. */
static bool are(own_trace *t, const ir_ref *r, uint32_t count, ir_type type)
{
    ir_func *f = t->w->t.f;
    ir_ref some = ir_const(f, type, 0);
    for (uint32_t k = 0; k < count && !failed(t); k++)
        if (ir_is_none(r[k]))
            ir_fail(f, "an integrator's function passes a value that there is not");
        else
            ir_select(f, ir_bool(f, true), r[k], some);
    return !failed(t);
}

static bool is_vec3(own_trace *t, vec3 v) { return are(t, (const ir_ref[]){v.x, v.y, v.z}, 3, IR_F32); }

static bool is_ray(own_trace *t, const ray *r)
{
    return is_vec3(t, r->o) && is_vec3(t, r->d) && are(t, &r->tmax, 1, IR_F32);
}

/* The answer with this number; NULL if the trace has failed. */
static own_answer *answer(own_trace *t, uint32_t id, enum own_kind kind)
{
    static const char *const names[] = {"surface", "sample of a material", "sample of a light"};
    if (failed(t))
        return NULL;
    if (id > 0 && id <= t->answers.count && t->answers.data[id - 1].kind == kind)
        return &t->answers.data[id - 1];
    ir_fail(t->w->t.f, "%u is no %s of this call of the integrator", id, names[kind]);
    return NULL;
}

static uint32_t remember(own_trace *t, const own_answer *a)
{
    array_push(&t->answers, *a);
    return t->answers.count;
}

static bool differentiates(const own_trace *t) { return walk_tracks(t->w) && !t->suspended; }

static color no_color(void) { return color_all((ir_ref){0}); }

/* ---- numbers ---- */

double own_setting(const own_trace *t, uint32_t parameter)
{
    const render_scene *s = t->w->plan->scene;
    const plugin_class *cls = &s->own->base.plugin;
    if (parameter < cls->param_count)
        return s->own_settings[parameter];
    ir_fail(t->w->t.f, "integrator \"%s\" has no parameter %u: it has %u", cls->name, parameter,
            cls->param_count);
    return 0;
}

random4 own_random(own_trace *t, ir_ref place)
{
    if (!are(t, &place, 1, IR_U32))
        return (random4){{{0}}};
    return walk_numbers(t->w, t->sample, place, SAMPLER_ONE_TWO_ONE);
}

/* ---- rays ---- */

own_surface own_closest(own_trace *t, const ray *r)
{
    if (!is_ray(t, r))
        return (own_surface){.valid = {0}};
    walk *w = t->w;
    own_answer a = {
        .kind = OWN_SURFACE,
        .at =
            {
                .sample = t->sample,
                .depth = t_u32(&w->t, 1), /* emission counts as that which was found on the way */
                .o = r->o,
                .d = r->d,
                .tmax = r->tmax,
                .pdf = t_f32(&w->t, 1),
                .delta = ir_bool(w->t.f, true),
            },
    };
    walk_vertex *v = &a.v;
    v->si = walk_intersect(w, a.at, &v->met);
    v->bsdf_class = t_word(&w->t, v->si.shape, SHAPE_BSDF_CLASS),
    v->bsdf_record = t_word(&w->t, v->si.shape, SHAPE_BSDF_RECORD);
    v->frame = surface_frame(&w->t, &v->si);
    v->wi = frame_to_local(&w->t, v->frame, v3_neg(&w->t, r->d));
    return (own_surface){
        .valid = v->si.valid,
        .distance = v->si.t,
        .p = v->si.p,
        .ng = v->si.ng,
        .ns = v->si.ns,
        .uv = v->si.uv,
        .id = remember(t, &a),
    };
}

ir_ref own_any(own_trace *t, const ray *r) { return is_ray(t, r) ? light_occluded(t->w, r) : (ir_ref){0}; }

ray own_leave(own_trace *t, uint32_t on, vec3 d)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    if (!a || !is_vec3(t, d))
        return (ray){v3_none(), v3_none(), {0}};
    return (ray){ray_offset(&t->w->t, a->v.si.p, a->v.si.ng, d), d, t_f32(&t->w->t, 1e30f)};
}

vec3 own_to_local(own_trace *t, uint32_t on, vec3 v)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    return a && is_vec3(t, v) ? frame_to_local(&t->w->t, a->v.frame, v) : v3_none();
}

vec3 own_to_world(own_trace *t, uint32_t on, vec3 v)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    return a && is_vec3(t, v) ? frame_to_world(&t->w->t, a->v.frame, v) : v3_none();
}

/* ---- light that a ray has met ---- */

color own_emission(own_trace *t, uint32_t on)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    if (!a)
        return no_color();
    walk *w = t->w;
    color none = color_all(t_f32(&w->t, 0));
    if (w->plan->scene->emitters.count == 0)
        return none;
    walk_vertex v = a->v;
    light_find_emission(w, &v, a->at);
    return color_select(&w->t, v.hit.there, walk_radiance(w, v.hit, differentiates(t)), none);
}

ir_ref own_emission_pdf(own_trace *t, uint32_t on)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    if (!a)
        return (ir_ref){0};
    walk *w = t->w;
    ir_ref none = t_f32(&w->t, 0);
    if (w->plan->scene->emitters.count == 0 || !w->next_event)
        return none;
    walk_vertex v = a->v;
    light_find_emission(w, &v, a->at);
    return ir_select(w->t.f, v.hit.there, light_hit_pdf(w, &v, a->at), none);
}

/* ---- materials ---- */

own_draw own_bsdf_sample(own_trace *t, uint32_t on, const ir_ref u[3])
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    if (!a || !are(t, u, 3, IR_F32))
        return (own_draw){.id = 0};
    walk *w = t->w;
    own_answer draw = *a;
    ir_ref unused;
    draw.kind = OWN_BSDF_DRAW;
    draw.v.to_light = draw.v.wi;
    walk_sample_bsdf(w, &draw.v, (ir_ref){0}, u[0], u[1], u[2], &unused);
    return (own_draw){
        .d = v3_normalize(&w->t, frame_to_world(&w->t, draw.v.frame, draw.v.wo)),
        .pdf = draw.v.sample.pdf,
        .delta = draw.v.sample.delta,
        .eta = draw.v.sample.eta,
        .id = remember(t, &draw),
    };
}

color own_bsdf_drawn(own_trace *t, uint32_t draw)
{
    const own_answer *a = answer(t, draw, OWN_BSDF_DRAW);
    color unused, value = no_color();
    if (!a)
        return value;
    walk_vertex v = a->v;
    v.to_light = v.wo;
    walk_values(t->w, &v, differentiates(t), &unused, &value);
    return value;
}

color own_bsdf_value(own_trace *t, uint32_t on, vec3 d)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    color unused, value = no_color();
    if (!a || !is_vec3(t, d))
        return value;
    tracer *tr = &t->w->t;
    walk_vertex v = a->v;
    v.to_light = v.wo = frame_to_local(tr, v.frame, d);
    v.sample = (bsdf_sample){
        v.wo, t_f32(tr, 0), t_f32(tr, 1), ir_bool(tr->f, false), t_u32(tr, 0),
    };
    walk_values(t->w, &v, differentiates(t), &value, &unused);
    return value;
}

ir_ref own_bsdf_pdf(own_trace *t, uint32_t on, vec3 d)
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    if (!a || !is_vec3(t, d))
        return (ir_ref){0};
    return walk_bsdf_density(t->w, &a->v, a->v.wi, frame_to_local(&t->w->t, a->v.frame, d));
}

/* ---- lights ---- */

own_draw own_light_sample(own_trace *t, uint32_t on, const ir_ref u[3])
{
    const own_answer *a = answer(t, on, OWN_SURFACE);
    if (!a || !are(t, u, 3, IR_F32))
        return (own_draw){.id = 0};
    walk *w = t->w;
    tracer *tr = &w->t;
    own_answer draw = *a;
    draw.kind = OWN_LIGHT_DRAW;
    own_draw r = {
        .d = draw.v.si.ns,
        .distance = t_f32(tr, 1),
        .pdf = t_f32(tr, 0),
        .delta = ir_bool(tr->f, false),
    };
    if (w->plan->scene->emitters.count > 0 && w->next_event) {
        random4 numbers = {{u[0], u[1], u[2], u[2]}};
        light_choose(w, &draw.v, &numbers, (ir_ref){0}, &r.d, &r.pdf);
        draw.v.light_d = r.d, draw.v.light.there = ir_bool(tr->f, true);
        r.distance = draw.v.light.distance, r.delta = light_is_delta(w, draw.v.light.cls);
        r.pdf = ir_mul(tr->f, r.pdf, draw.v.light_probability);
    }
    r.id = remember(t, &draw);
    return r;
}

ir_ref own_light_seen(own_trace *t, uint32_t light, ir_ref wanted)
{
    const own_answer *a = answer(t, light, OWN_LIGHT_DRAW);
    if (!a || !are(t, &wanted, 1, IR_BOOL))
        return (ir_ref){0};
    if (!a->v.light.sampled)
        return ir_bool(t->w->t.f, false);
    return ir_and(t->w->t.f, wanted,
                  light_unoccluded(t->w, &a->v.si, a->v.light_d, a->v.light.distance, wanted));
}

color own_light_radiance(own_trace *t, uint32_t light)
{
    const own_answer *a = answer(t, light, OWN_LIGHT_DRAW);
    if (!a)
        return no_color();
    return a->v.light.sampled ? walk_radiance(t->w, a->v.light, differentiates(t))
                              : color_all(t_f32(&t->w->t, 0));
}

/* ---- differentiation ---- */

bool own_suspend(own_trace *t, bool on)
{
    bool before = t->suspended;
    t->suspended = on;
    return before;
}

void own_print(own_trace *t, ir_ref when, const char *format, const ir_ref *values, uint32_t count)
{
    walk *w = t->w;
    bool image = w->pass == RENDER_PRIMAL || w->pass == RENDER_VARIANCE,
         gradient = w->pass == RENDER_GRADIENT && w->plan->scene->own->adjoint;
    if (w->plan->prints && (image || gradient))
        print_record(&w->t, w->plan->prints, when, w->pixel, t->sample, format, values, count);
}
