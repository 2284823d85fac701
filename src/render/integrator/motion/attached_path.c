/* SPDX-License-Identifier: BSD-3-Clause
 * Attached paths (docs/theory/attached_replay.md; PRB section 4.2, equations 7 and 8). Random numbers are
 * held instead of directions, so rays and hits are functions of parameters. This gives gradients by the
 * camera, and by what turns the directions of mirrors and smooth glass: indices of refraction, normals,
 * normal maps and bump maps.
 *
 * A vertex is a function of the ray that leads to it. The link says which part of that ray moves:
 *
 *   RAY    Origin and direction move. This is the camera's ray, where its parameters are wanted, and the ray
 *          behind a discrete lobe. The hit moves with the ray. Texture coordinates, normals, the directions
 *          to the sampled light's point and to the next vertex, and their geometry terms move with the hit.
 *   POINT  The origin moves and the hit stays. This is the ray behind a vertex that moves and has no discrete
 *          lobe there (docs/theory/moving_geometry.md). At the hit, the direction back to the origin changes.
 *          At the vertex before, the direction and the geometry term |n . d| / r^2 change.
 *   FIXED  Nothing moves. The ray was sampled by a vertex that stays, or it goes on to what is infinitely
 *          far.
 *
 * A ray that bends (eikonal/curve.c) is RAY always, since its end moves with the index on its way.
 *
 * A vertex that moves may be followed by one whose lobe is discrete. Then the sampled direction is held
 * instead of the point, and the link is RAY, so that the chain behind moves, too. Lights are not sampled at
 * such a vertex, so no weight against light sampling asks for the same convention.
 *
 * Everything here happens in differentiated evaluations only, on the entry that is known to be hit. In
 * derivatives the values stay those of the path that was walked. In a frozen evaluation they move by as much
 * as what they are made of. What is seen only before or only after a change is left out: silhouettes, edges
 * of shadows, steps of textures (docs/theory/edges.md). Rays of the sensor `batch` are not attached.
 *
 * Nothing is inverted, but a derivative may still be infinite or nearly so: at grazing incidence, where
 * reflection becomes total, after many magnifying mirrors. Then the ray's derivative is dropped, and the drop
 * is counted by depth (drop_singular). */
#include "render/integrator/motion/attached_vertex.h"
#include "render/integrator/motion/local_volume.h"
#include "render/integrator/motion/none.h"
#include "render/integrator/motion/shifted.h"
#include "spirv_gen/ad/ad.h"

/* A tape keeps what a later pass differentiates. */
bool attached_path_wanted(const walk *w)
{
    return attached_path_planned(w) && (walk_tracks(w) || w->pass == RENDER_TAPE);
}

bool attached_path_planned(const walk *w)
{
    return w->volumetric ? plan_attaches_through(w->plan)
                         : plan_attaches_paths(w->plan) && !(w->plan->moves & MOVE_HITS);
}

bool attached_keeps_ray(const walk *w) { return w->pass == RENDER_FROZEN || w->pass == RENDER_UNROLLED; }

/* MIS weights depend on the density and on where light sampling began. */
uint32_t ray_width(const walk *w) { return !w->attaches ? 6 : w->volumetric ? 10 : 7; }

uint32_t ray_pack(const walk *w, walk_ray r, ir_ref out[RAY_MOST])
{
    BL_ASSERT(!w->attaches || ir_made(w->t.f, r.pdf), "the ray of an attached path without its density");
    vec3_put(r.o, out), vec3_put(r.d, out + 3), vec3_put(r.from, out + 7);
    out[6] = r.pdf;
    return ray_width(w);
}

walk_ray ray_unpack(const walk *w, const ir_ref *in)
{
    return (walk_ray){
        .o = vec3_at(in),
        .d = vec3_at(in + 3),
        .pdf = w->attaches ? in[6] : (ir_ref){0},
        .from = w->attaches && w->volumetric ? vec3_at(in + 7) : v3_none(),
    };
}

/* A point as seen from a vertex. Only ratios of geometry terms are used, so the sign of the term divides out.
 * Beyond the horizon a frozen term goes on smoothly, so that differences of frozen evaluations have the mean
 * of the derivative. */
typedef struct sight {
    vec3 d;                /* unit direction to the point */
    ir_ref distance, term; /* distance: at least 1e-20; term: the geometry term n . d / distance^2, where n is
                              the normal at the point */
} sight;

static sight see(tracer *t, vec3 from, vec3 to, vec3 n)
{
    ir_func *f = t->f;
    vec3 along = v3_sub(t, to, from);
    sight s = {.d = v3_none(), .distance = ir_max(f, v3_length(t, along), t_f32(t, 1e-20f))};
    s.d = v3_scale(t, along, ir_div(f, t_f32(t, 1), s.distance));
    s.term = ir_div(f, v3_dot(t, n, s.d), t_sqr(t, s.distance));
    return s;
}

/* bool: there is a vertex, on a surface or in a medium. */
static ir_ref stands(walk *w, const walk_arrival *way)
{
    return w->media ? ir_or(w->t.f, way->hit.valid, way->collides) : way->hit.valid;
}

/* ---- lights ---- */

/* The point on a sampled light, detached. For a light that is not on a shape, it is the point at distance 1
 * in its direction: any point there will do. */
static vec3 light_point(walk *w, const walk_light *light)
{
    ir_ref distance = ir_select(w->t.f, light->attached.on_shape, light->distance, t_f32(&w->t, 1));
    return v3_detach(&w->t, v3_add(&w->t, light->ref, v3_scale(&w->t, light->d, distance)));
}

static void attached_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a)
{
    tracer *t = &w->t;
    two_vertices x = attached_look(w, &light->attached.arrival);
    vec3 y = light_point(w, light), n = v3_detach(t, light->n);
    sight now = see(t, x.now.si.p, y, n), before = see(t, x.before.si.p, y, n);
    ir_ref here = stands(w, &light->attached.arrival), area = ir_and(t->f, here, light->attached.on_shape);
    light->ref = shifted3(w, here, v3_detach(t, light->ref), x.now.si.p, x.before.si.p);
    light->d = shifted3(w, area, v3_detach(t, light->d), now.d, before.d);
    light->distance = walk_shifted(w, area, ir_detach(t->f, light->distance), now.distance, before.distance);
    a->ref = light->ref, a->d = light->d, a->distance = light->distance;
}

static bool attached_emission(walk *w, walk_light *light)
{
    two_vertices x = attached_look(w, &light->attached.arrival);
    ir_ref here = light->attached.arrival.hit.valid,
           moves = link_is(w, light->attached.arrival.link, LINK_RAY);
    vec2 now = light_emission_uv(w, here, x.now.si.uv, x.now.d),
         before = light_emission_uv(w, here, x.before.si.uv, x.before.d);
    ir_ref on_surface = ir_and(w->t.f, moves, here);
    light->uv = shifted2(w, walk_locates(w->plan) ? moves : on_surface, light->uv, now, before);
    light->d = shifted3(w, moves, v3_detach(&w->t, light->d), x.now.d, x.before.d);
    light->on.b = shifted2(w, on_surface, light->on.b, x.now.si.b, x.before.si.b);
    light->on.p = shifted3(w, on_surface, v3_detach(&w->t, light->on.p), x.now.si.p, x.before.si.p);
    light->d_moves = true;
    return true;
}

/* ---- materials ---- */

/* The arguments of bsdf_value at a vertex as functions of its ray, and the terms and densities that weigh the
 * results of bsdf_value. */
typedef struct ray_arguments {
    vec3 wi, to_light, wo; /* local */
    vec3 p;                /* the vertex */
    vec2 uv;
    surface on;
    ir_ref sample_term, light_term; /* geometry terms toward the next vertex and toward the sampled light; the
                                       latter is 0 where no light is sampled */
    ir_ref density, light_pdf;      /* see lobe_sample */
} ray_arguments;

/* The unit direction from the vertex to the origin of its ray, in the world. With the link POINT the origin
 * moves and the hit stays, so the direction is computed from the two points. */
static vec3 back(walk *w, const walk_arrival *way, const ray_vertex *x)
{
    tracer *t = &w->t;
    ir_ref turns = ir_and(t->f, link_is(w, way->link, LINK_POINT), way->hit.valid);
    vec3 from = v3_select(t, turns, v3_sub(t, x->o, x->si.p), v3_neg(t, x->d));
    return v3_select(t, turns, v3_normalize(t, from), from);
}

/* bool: the sample goes straight on, as if there were no surface (a null lobe). */
static ir_ref goes_through(walk *w, const walk_vertex *v)
{
    return ir_ge(w->t.f, v->sample.lobe, t_u32(&w->t, LOBE_NULL));
}

/* Where a discrete lobe or an attached sample leads. If neither was sampled, d means nothing. */
typedef struct lobe_sample {
    vec3 d;     /* unit direction; the functions below say whether it is local or in the world */
    ir_ref eta; /* for light tracing: the relative index of refraction along it */
    /* These fields exist where walk.attaches: */
    ir_ref density;        /* density of d, given the discrete choices that were made */
    ir_ref pdf, light_pdf; /* densities of the material's sampling for d and for the direction to the sampled
                              light, over all choices */
} lobe_sample;

/* A vertex, with its directions in the frame of its surface. */
typedef struct local_vertex {
    interaction si;
    frame frame;
    vec3 wi, to_light; /* local */
} local_vertex;

/* What the attached sample of v leads to at the vertex x. before: evaluates with the detached functions of a
 * frozen pass. The result's direction d is local. */
static lobe_sample attached_sample(walk *w, const walk_vertex *v, const local_vertex *x, bool before)
{
    tracer *t = &w->t;
    BL_ASSERT(ir_made(w->t.f, v->attached.u1), "the numbers that made an attached sample are not known");
    /* The direction of a detached part of a mixture stays what it is in the world. */
    vec3 stays = frame_to_local(t, x->frame, v3_detach(t, v->next_d));
    bsdf_attach_arguments a = {
        .wi = x->wi, .uv = x->si.uv, .delta = v->sample.delta, .to_light = x->to_light};
    a.draw.wo = v3_select(t, v->attached.density_only, stays, v3_detach(t, v->wo));
    a.draw.lobe = v->sample.lobe, a.draw.u1 = v->attached.u1, a.draw.u2 = v->attached.u2;
    a.on = surface_seen(t, &x->si, x->frame);
    if (w->disperses)
        a.wavelengths.bends = dispersion_hero_nm(t, v->hero);
    bsdf_attach_results r;
    ref_list in = refs_for(v->bsdf_record), out = refs_results();
    bsdf_attach_visit(w, &in, &a);
    ir_call(t->f, v->bsdf_class, before ? w->fn.attach_before : w->fn.attach, w->plan->bsdfs.count, in.at,
            in.count, out.at);
    bsdf_attach_results_visit(&out, &r);
    return (lobe_sample){.d = r.to.wo, .density = r.to.density, .pdf = r.pdf, .light_pdf = r.light_pdf};
}

/* What the discrete lobe of v leads to at the vertex x. before: evaluates with the detached functions of a
 * frozen pass. The result's direction d is local. */
static lobe_sample discrete_sample(walk *w, const walk_vertex *v, const local_vertex *x, bool before)
{
    BL_ASSERT(w->wants.lobe_directions, "directions of lobes were not traced");
    tracer *t = &w->t;
    bsdf_lobe_direction_arguments a = {
        .wi = x->wi, .uv = x->si.uv, .lobe = v->sample.lobe, .on = surface_seen(t, &x->si, x->frame)};
    if (w->disperses)
        a.wavelengths.bends = dispersion_hero_nm(t, v->hero);
    lobe_sample s = {.density = {0}};
    ref_list in = refs_for(v->bsdf_record), out = refs_results();
    bsdf_lobe_direction_visit(w, &in, &a);
    ir_call(t->f, v->bsdf_class, before ? w->fn.lobe_direction_before : w->fn.lobe_direction,
            w->plan->bsdfs.count, in.at, in.count, out.at);
    bsdf_lobe_direction_results r = {.eta = {0}};
    bsdf_lobe_direction_results_visit(w, &out, &r);
    s.d = r.d, s.eta = r.eta;
    return s;
}

/* In volumetric walks: only where a discrete or an attached lobe leads on from a surface. A phase function
 * has none, and behind a collision there may be no surface. */
static lobe_sample sample_where_lobe(walk *w, const walk_vertex *v, const ray_vertex *x, local_vertex *at,
                                     bool before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref leads_on = ir_and(f, v->sample.delta, ir_not(f, goes_through(w, v)));
    if (w->attaches)
        leads_on = ir_or(f, leads_on, v->attached.weighs);
    ir_ref branch = ir_if(f, leads_on);
    at->frame = surface_frame(t, &at->si);
    at->wi = frame_to_local(t, at->frame, back(w, &v->attached.arrival, x));
    lobe_sample s = (w->attaches ? attached_sample : discrete_sample)(w, v, at, before);
    vec3 d = v3_select(t, goes_through(w, v), x->d, v3_normalize(t, frame_to_world(t, at->frame, s.d)));
    ir_else(f);
    ir_endif(f);
    lobe_sample r = {.d = v3_phi(t, branch, d, x->d)};
    ir_ref one = t_f32(t, 1);
    if (w->attaches)
        r.density = ir_phi(f, branch, s.density, one), r.pdf = ir_phi(f, branch, s.pdf, one),
        r.light_pdf = ir_phi(f, branch, s.light_pdf, one);
    return r;
}

/* Where the sample of v leads, as a function of the ray of x. to_light: local direction to the sampled light.
 * The result's direction d is in the world. */
static lobe_sample sample_along(walk *w, const walk_vertex *v, const ray_vertex *x, vec3 to_light,
                                bool before)
{
    tracer *t = &w->t;
    local_vertex at = {.si = x->si, .to_light = to_light};
    at.si.shape = v->si.shape, at.si.entry = v->si.entry;
    if (w->volumetric)
        return sample_where_lobe(w, v, x, &at, before);
    at.frame = surface_frame(t, &at.si);
    at.wi = frame_to_local(t, at.frame, back(w, &v->attached.arrival, x));
    lobe_sample s = (w->attaches ? attached_sample : discrete_sample)(w, v, &at, before);
    s.d = v3_select(t, goes_through(w, v), x->d, v3_normalize(t, frame_to_world(t, at.frame, s.d)));
    return s;
}

/* bool: the direction of the sample moves with its lobe. Elsewhere it is the direction that was sampled. */
static ir_ref leads(walk *w, const walk_vertex *v)
{
    return w->attaches ? ir_or(w->t.f, v->sample.delta,
                               ir_and(w->t.f, v->attached.sampled, ir_not(w->t.f, v->attached.density_only)))
                       : v->sample.delta;
}

vec3 attached_direction(walk *w, const walk_vertex *v, const ray_vertex *x, vec3 held, ir_ref *eta)
{
    lobe_sample s = sample_along(w, v, x, v3_detach(&w->t, v->to_light), false);
    ir_func *f = w->t.f;
    ir_ref limit = ir_and(f, v->sample.lobe, t_u32(&w->t, LOBE_REFRACTION_LIMIT)),
           follows = ir_and(f, leads(w, v), ir_eq(f, limit, t_u32(&w->t, 0)));
    *eta = ir_select(f, follows, s.eta, ir_detach(f, v->sample.eta));
    return v3_select(&w->t, leads(w, v), s.d, held);
}

/* bool: the point at which the ray that goes on will end is held. */
static ir_ref holds_point(walk *w, const walk_vertex *v)
{
    ir_ref point = link_is(w, v->attached.onward, LINK_POINT);
    return w->volumetric ? ir_or(w->t.f, point, v->attached.swings) : point;
}

/* The arguments of bsdf_value at v as functions of the ray of x. to_light: unit direction to the light, in
 * the world. before: evaluates with the detached functions of a frozen pass. */
static ray_arguments arguments_along(walk *w, const walk_vertex *v, ray_vertex x, vec3 to_light, bool before)
{
    tracer *t = &w->t;
    ray_arguments a = {.uv = x.si.uv, .sample_term = t_f32(t, 0), .light_term = t_f32(t, 0)};
    x.si.shape = v->si.shape, x.si.entry = v->si.entry;
    frame fr = walk_frame(w, v, &x.si);
    sight onward = see(t, x.si.p, v3_detach(t, v->attached.next_p), v3_detach(t, v->attached.next_ng));
    a.wi = frame_to_local(t, fr, back(w, &v->attached.arrival, &x));
    a.to_light = frame_to_local(t, fr, to_light);
    vec3 wo = v3_select(t, holds_point(w, v), onward.d, v3_detach(t, v->next_d));
    lobe_sample s = sample_along(w, v, &x, a.to_light, before);
    a.wo = frame_to_local(t, fr, v3_select(t, leads(w, v), s.d, wo));
    a.density = s.density, a.light_pdf = s.light_pdf;
    a.on = surface_seen(t, &x.si, fr);
    a.p = x.si.p;
    if (w->media)
        a.uv.x = ir_select(t->f, v->flight.collides, a.p.x, a.uv.x),
        a.uv.y = ir_select(t->f, v->flight.collides, a.p.y, a.uv.y);
    a.sample_term = onward.term;
    if (v->light.sampled)
        a.light_term = see(t, x.si.p, light_point(w, &v->light), v3_detach(t, v->light.n)).term;
    return a;
}

/* Attached sampling divides by the density of the direction given the discrete choices. That density is
 * differentiated here, in place of the weight that the path was given. The value of that weight stays. */
static void attached_factors(walk *w, const walk_vertex *v, const walk_light *light, const ray_arguments *now,
                             const ray_arguments *before, motion_factors *by)
{
    tracer *t = &w->t;
    ir_ref one = t_f32(t, 1), taken = shifted_ratio(w, v->attached.sampled, t_ratio(t, one, now->density),
                                                    t_ratio(t, one, before->density));
    by->sample = ir_mul(t->f, by->sample, taken);
    if (v->light.sampled)
        by->light =
            ir_mul(t->f, by->light, attached_light_factor(w, v, light, now->light_pdf, before->light_pdf));
}

static void attached_arguments(walk *w, const walk_vertex *v, const walk_light *seen, bsdf_value_arguments *a,
                               motion_factors *by)
{
    ir_func *f = w->t.f;
    two_vertices x = attached_look(w, &v->attached.arrival);
    vec3 lit = v3_detach(&w->t, v->light.sampled ? v->light.d : v->si.ns);
    ray_arguments now = arguments_along(w, v, x.now, v->light.sampled ? seen->d : lit, false),
                  before = w->pass == RENDER_FROZEN ? arguments_along(w, v, x.before, lit, true) : now;
    ir_ref here = stands(w, &v->attached.arrival), on_surface = v->attached.arrival.hit.valid;
    a->wi = shifted3(w, here, a->wi, now.wi, before.wi);
    vec3 toward = shifted3(w, here, v3_detach(&w->t, v->to_light), now.to_light, before.to_light);
    a->to_light = v3_select(&w->t, here, toward, a->to_light); /* Elsewhere the light itself may move. */
    a->wo = shifted3(w, here, a->wo, now.wo, before.wo);
    a->uv = shifted2(w, here, a->uv, now.uv, before.uv);
    if (w->media) {
        on_surface = ir_and(f, on_surface, ir_not(f, v->flight.collides));
        a->collision_z = walk_shifted(w, v->flight.collides, a->collision_z, now.p.z, before.p.z);
    }
    shifted_surface(w, on_surface, &a->on, now.on, before.on);
    by->light = t_f32(&w->t, 1);
    by->sample = shifted_ratio(w, holds_point(w, v), now.sample_term, before.sample_term);
    if (v->light.sampled)
        by->light =
            shifted_ratio(w, ir_and(f, here, v->light.attached.on_shape), now.light_term, before.light_term);
    if (w->attaches)
        attached_factors(w, v, seen, &now, &before, by);
}

/* ---- the ray that goes on ---- */

/* Sets v->attached.onward, the link to the next vertex, from the other fields of v. */
static void choose_link(walk *w, walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref fixed = t_u32(t, LINK_FIXED), moves = link_is(w, v->attached.arrival.link, LINK_RAY);
    ir_ref delta = ir_or(f, ir_and(f, v->sample.delta, ir_or(f, moves, ir_not(f, goes_through(w, v)))),
                         ir_and(f, moves, v->attached.next_delta));
    ir_ref point =
        ir_select(f, ir_and(f, moves, ir_and(f, v->attached.next_valid, ir_not(f, v->sample.delta))),
                  t_u32(t, LINK_POINT), fixed);
    ir_ref onward = ir_select(f, delta, t_u32(t, LINK_RAY), point);
    if (w->bends) /* a curve moves whatever it begins with */
        onward = ir_select(f, v->bends_on, t_u32(t, LINK_RAY), onward);
    ir_ref attached = v->attached.sampled;
    if (w->attaches && w->volumetric) /* light that the ray meets behind the surface is weighed alike */
        attached = ir_or(f, attached,
                         ir_and(f, v->through, ir_eq(f, v->attached.arrival.link, t_u32(t, LINK_ATTACHED))));
    if (w->attaches)
        onward = ir_select(f, attached, t_u32(t, LINK_ATTACHED), onward);
    v->attached.onward = ir_select(f, v->goes_on, onward, fixed);
}

walk_ray attached_next_ray(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    walk_ray next = {
        .o = v3_detach(t, v->next_o), .d = v3_detach(t, v->next_d), .pdf = ir_detach(t->f, v->sample.pdf)};
    if (w->attaches && w->volumetric)
        next.from = v3_detach(t, v->si.p);
    if (w->plan->bsdfs.count == 0)
        return next;
    two_vertices x = attached_look(w, &v->attached.arrival);
    vec3 any = v3_detach(t, v->to_light);
    lobe_sample now = sample_along(w, v, &x.now, any, false),
                before = w->pass == RENDER_FROZEN ? sample_along(w, v, &x.before, any, true) : now;
    ir_ref moves = ir_not(t->f, link_is(w, v->attached.onward, LINK_FIXED));
    next.o = shifted3(w, moves, next.o, x.now.si.p, x.before.si.p);
    next.d = shifted3(w, ir_and(t->f, moves, leads(w, v)), next.d, now.d, before.d);
    if (w->volumetric) {
        vec3 y = v3_detach(t, v->attached.next_p), n = v3_detach(t, v->attached.next_ng);
        sight s_now = see(t, x.now.si.p, y, n), s_before = see(t, x.before.si.p, y, n);
        next.d = shifted3(w, v->attached.swings, next.d, s_now.d, s_before.d);
    }
    if (w->attaches)
        next.pdf = walk_shifted(w, ir_and(t->f, moves, v->attached.sampled), next.pdf, now.pdf, before.pdf);
    if (w->attaches && w->volumetric) {
        const walk_arrival *way = &v->attached.arrival;
        next.from = shifted3(w, moves, next.from, x.now.si.p, x.before.si.p);
        ir_ref pdf = walk_shifted(w, moves, ir_detach(t->f, way->pdf), way->now.pdf, way->pdf);
        vec3 from = shifted3(w, moves, v3_detach(t, way->from), way->now.from, way->from);
        next.pdf = ir_select(t->f, v->through, pdf, next.pdf);
        next.from = v3_select(t, v->through, from, next.from);
    }
    return next;
}

walk_curve curve_moved(walk *w, const walk_vertex *v)
{
    walk_curve c = v->curve;
    if (w->motion->chains) {
        ray_vertex x = attached_look(w, &v->attached.arrival).now;
        c.thickness = x.thickness, c.emitted = x.emitted;
    }
    return c;
}

void drop_singular(walk *w, ir_ref when, ir_ref depth, ir_ref *derivatives)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref sane = ir_bool(f, true), most = t_f32(t, 1e30f);
    for (uint32_t k = 0; k < ray_width(w); k++)
        sane = ir_and(f, sane, ir_lt(f, ir_abs(f, derivatives[k]), most));
    for (uint32_t k = 0; k < ray_width(w); k++)
        derivatives[k] = ir_select(f, sane, derivatives[k], t_f32(t, 0));
    ir_ref word = ir_add(f, t_u32(t, STATUS_SINGULAR), ir_min(f, depth, t_u32(t, SINGULAR_DEPTHS - 1)));
    kernel_count_at(w, ir_and(f, when, ir_not(f, sane)), word);
}

walk_ray attached_camera_ray(walk *w, ir_ref sample)
{
    walk own = *w;
    own.t = walk_differentiated(w);
    walk_position at = walk_camera(&own, sample);
    return (walk_ray){.o = at.o, .d = at.d, .pdf = ir_detach(w->t.f, at.pdf), .from = at.o};
}

/* The ray of a position, as the path was walked. */
static walk_ray ray_of(const walk_position *at)
{
    return (walk_ray){.o = at->o, .d = at->d, .pdf = at->pdf, .from = at->scattered};
}

static void attached_camera(walk *w, walk_position *at)
{
    at->attached.link = t_u32(&w->t, w->plan->camera ? LINK_RAY : LINK_FIXED);
    at->attached.now = ray_of(at);
    at->attached.count = t_u32(&w->t, 0);
    if (attached_keeps_ray(w) && w->plan->camera)
        at->attached.now = attached_camera_ray(w, at->sample);
}

/* Finds what the ray that goes on from a vertex that moves will hit, and then chooses the link to it. */
static void look_ahead(walk *w, walk_vertex *v, const walk_position *before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position at = *before;
    ir_ref no = ir_bool(f, false), wanted = ir_and(f, ir_and(f, v->goes_on, ir_not(f, v->sample.delta)),
                                                   link_is(w, at.attached.link, LINK_RAY));
    if (w->attaches)
        wanted = ir_and(f, wanted, ir_not(f, v->attached.sampled));
    ir_ref branch = ir_if(f, wanted);
    at.o = v->next_o, at.d = v->next_d, at.tmax = t_f32(t, 1e30f);
    if (w->disperses)
        at.share = v->share;
    interaction si = walk_intersect(w, at, NULL);
    ir_ref block = t_offset(t, ir_mul(f, at.depth, t_u32(t, 2)), 4); /* the next vertex's random numbers */
    ir_ref delta = ir_and(f, si.valid, walk_sample_at(w, &si, &at, block).delta);
    vec3 p = v3_select(t, si.valid, si.p, v3_add(t, at.o, at.d)), ng = v3_select(t, si.valid, si.ng, at.d);
    ir_else(f);
    vec3 anywhere = v3_add(t, v->next_o, v->next_d); /* A point from which only finite values can come. */
    ir_endif(f);
    v->attached.next_valid = ir_phi(f, branch, si.valid, no),
    v->attached.next_delta = ir_phi(f, branch, delta, no);
    v->attached.next_p = v3_phi(t, branch, p, anywhere),
    v->attached.next_ng = v3_phi(t, branch, ng, v->next_d);
    choose_link(w, v);
}

/* The same in volumetric walks. */
static void look_through(walk *w, walk_vertex *v, const walk_position *at)
{
    attached_look_through(w, v, at);
    choose_link(w, v);
}

/* ---- the other functions of walk_motion_class ---- */

static void state_ray(const walk *w, loop_state *s, walk_ray *r)
{
    state_vec3(s, &r->o), state_vec3(s, &r->d);
    if (w->attaches)
        state_ref(s, &r->pdf);
    if (w->attaches && w->volumetric)
        state_vec3(s, &r->from);
}

static void state_attached(walk *w, loop_state *s, walk_position *at)
{
    state_ref(s, &at->attached.link);
    if (w->attaches)
        state_ref(s, &at->attached.count);
    if (attached_keeps_ray(w))
        state_ray(w, s, &at->attached.now);
    else if (s->reads)
        at->attached.now = ray_of(at);
}

static void attached_join(walk *w, ir_ref branch, const walk_position *camera, walk_position *at)
{
    ir_func *f = w->t.f;
    at->attached.link = ir_phi(f, branch, camera->attached.link, at->attached.link);
    if (w->attaches)
        at->attached.count = ir_phi(f, branch, camera->attached.count, at->attached.count);
    if (!attached_keeps_ray(w))
        return;
    ir_ref from[RAY_MOST], old[RAY_MOST];
    uint32_t count = ray_pack(w, camera->attached.now, from);
    ray_pack(w, at->attached.now, old);
    for (uint32_t k = 0; k < count; k++)
        old[k] = ir_phi(f, branch, from[k], old[k]);
    at->attached.now = ray_unpack(w, old);
}

static void attached_begun(walk *w, ir_ref fresh, walk_position *at)
{
    (void)fresh;
    if (!attached_keeps_ray(w))
        at->attached.now = ray_of(at);
}

static void attached_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive,
                          walk_position *next)
{
    (void)at, (void)alive;
    next->attached.link = v->attached.onward;
    next->attached.now = ray_of(next);
    if (w->attaches)
        next->attached.count = attached_next_count(w, v);
}

static void attached_met(walk *w, walk_vertex *v, const walk_position *at)
{
    (void)w;
    v->attached.arrival =
        (walk_arrival){.link = at->attached.link, .hit = v->met, .now = at->attached.now, .pdf = at->pdf};
    v->attached.arrival.from = at->scattered;
    v->attached.arrival.curve = v->curve;
    v->attached.count = at->attached.count;
    v->hit.attached.arrival = v->attached.arrival;
}

static void attached_light_chosen(walk *w, walk_vertex *v, vec3 normal)
{
    v->light.n = normal, v->light.attached.on_shape = light_is_on_shape(w, v->light.cls);
    v->light.attached.arrival = v->attached.arrival;
}

static uint32_t attached_inputs(walk *w, const walk_position *at, const walk_vertex *v,
                                ir_ref out[ARRIVALS_MOST])
{
    (void)v;
    return ray_pack(w, at->attached.now, out);
}

static uint32_t attached_onward(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST])
{
    return ray_pack(w, attached_next_ray(w, v), out);
}

/* Where depth is 0, the camera's ray is the one that leads here: passes the adjoint of that ray on to the
 * parameters of the camera. */
static void adjoint_camera(walk *w, const walk_position *at, ir_ref when, ir_ref carried[RAY_MOST])
{
    ir_func *f = w->t.f;
    ir_ref arrived[RAY_MOST];
    ir_if(f, ir_and(f, when, ir_eq(f, at->depth, t_u32(&w->t, 0))));
    ray_pack(w, attached_camera_ray(w, at->sample), arrived);
    ad_backward(f, arrived, carried, 6, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

static void attached_adjoint(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when,
                             arrivals *arrived, ir_ref carried[RAY_MOST])
{
    (void)v;
    BL_ASSERT(arrived->count == ray_width(w), "adjoints of %u numbers of a ray", arrived->count);
    drop_singular(w, when, at->depth, arrived->sum);
    for (uint32_t c = 0; c < ray_width(w); c++)
        carried[c] = ir_select(w->t.f, when, arrived->sum[c], carried[c]);
    if (w->plan->camera)
        adjoint_camera(w, at, when, carried);
}

/* The same in volumetric walks. */
const walk_motion_class motion_attached_through = {
    .name = "attached through media",
    .chains = true,
    .moves_stretches = true,
    .state = state_attached,
    .before = none_before,
    .camera = attached_camera,
    .join = attached_join,
    .begun = attached_begun,
    .next = attached_next,
    .met = attached_met,
    .stands = attached_stands,
    .light_chosen = attached_light_chosen,
    .sampled = attached_sampled,
    .look_ahead = look_through,
    .light_reference = attached_light_reference,
    .emission = attached_emission,
    .arguments = attached_arguments,
    .hit_mis = attached_hit_mis,
    .to_light = attached_to_light,
    .between = volume_between,
    .through = volume_through,
    .inputs = attached_inputs,
    .onward = attached_onward,
    .adjoint = attached_adjoint,
};

const walk_motion_class motion_attached = {
    .name = "attached",
    .chains = true,
    .state = state_attached,
    .before = none_before,
    .camera = attached_camera,
    .join = attached_join,
    .begun = attached_begun,
    .next = attached_next,
    .met = attached_met,
    .stands = none_visit,
    .light_chosen = attached_light_chosen,
    .sampled = attached_sampled,
    .look_ahead = look_ahead,
    .light_reference = attached_light_reference,
    .emission = attached_emission,
    .arguments = attached_arguments,
    .hit_mis = attached_hit_mis,
    .to_light = none_to_light,
    .through = none_through,
    .inputs = attached_inputs,
    .onward = attached_onward,
    .adjoint = attached_adjoint,
};
