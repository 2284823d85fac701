/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of a path: intersection, emission that was found, light sampling, material sampling.
 * Semantics are those of Mitsuba's path integrator (docs/mitsuba-semantics.md): depth counts segments from 0,
 * lights are sampled at every surface while depth + 1 < max_depth, and MIS is by the power heuristic.
 *
 * Everything in here is detached: it decides the path. What carries derivatives is evaluated separately at
 * the sampled path (values.c). All passes that follow a path come through walk_visit, so they cannot walk
 * different paths; path replay rests on that (docs/theory/replay_equality.md). Light is found and sampled in
 * emitter_sampling.c; the functions of classes are traced in vertex/plugin_functions.c. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

/* ---- the vertex ---- */

/* The hash of all choices made at the vertex, for walk_vertex.decisions. */
static ir_ref mix_decisions(walk *w, const walk_vertex *v, ir_ref visible)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref met = v->si.valid, level = v->si.level;
    if (w->media) { /* of what lies behind a collision not every pass knows the surface */
        met = ir_and(f, met, ir_not(f, v->flight.collides));
        level = w->plan->scene->has_groups ? ir_select(f, met, level, t_u32(t, 0)) : level;
    }
    ir_ref h = ir_select(f, met, v->si.entry, t_u32(t, PLAN_NONE));
    if (w->plan->scene->has_groups)
        h = ir_add(f, ir_mul(f, h, t_u32(t, 0x9E3779B1u)), level);
    ir_ref lobe = v->sample.lobe;
    if (w->wants.attached_lobes) /* a pass that tracks no derivatives does not know this bit */
        lobe = ir_and(f, lobe, t_u32(t, ~(uint32_t)LOBE_DETACHED));
    h = ir_add(f, ir_mul(f, h, t_u32(t, 0x9E3779B1u)), lobe);
    h = ir_xor(f, h, ir_select(f, v->goes_on, t_u32(t, 0x85EBCA77u), t_u32(t, 0)));
    if (w->media)
        h = ir_xor(f, ir_mul(f, h, t_u32(t, 16777619u)),
                   ir_select(f, v->flight.collides, ir_not(f, v->flight.steps), v->flight.steps));
    if (w->bends)
        h = ir_xor(f, ir_mul(f, h, t_u32(t, 16777619u)), v->curve.steps);
    return ir_xor(f, h, ir_select(f, visible, t_u32(t, 0xC2B2AE3Du), t_u32(t, 0)));
}

walk_position walk_skip_lights(walk *w, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref state[5] = {at.o.x, at.o.y, at.o.z, at.tmax, ir_eq(f, at.depth, t_u32(t, 0))};
    ir_ref loop = ir_loop(f, state, 5);
    ir_while(f, state[4]);
    walk_position now = at;
    now.o = vec3_at(state), now.tmax = state[3];
    interaction si = walk_intersect(w, now, NULL);
    ir_ref light =
        ir_and(f, si.valid, ir_ne(f, t_word(t, si.shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE)));
    vec3 o = v3_select(t, light, ray_offset(t, si.p, si.ng, at.d), now.o);
    ir_ref next[5] = {o.x, o.y, o.z, ir_select(f, light, ir_sub(f, state[3], si.t), state[3]), light};
    ir_endloop(f, loop, next, 5);
    at.o = vec3_at(state), at.tmax = state[3];
    return at;
}

void walk_take_collision(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(ir_made(w->t.f, v->flight.collides), "the flight is decided before the vertex");
    ir_ref zero = t_f32(t, 0), collides = v->flight.collides;
    vec3 p = v3_add(t, at.o, v3_scale(t, at.d, v->flight.t)), none = v3(zero, zero, zero);
    v->si.p = v3_select(t, collides, p, v->si.p);
    v->si.ng = v3_select(t, collides, none, v->si.ng);
    v->si.uv = (vec2){ir_select(f, collides, p.x, v->si.uv.x), ir_select(f, collides, p.y, v->si.uv.y)};
    v->collision_z = p.z;
    v->si.valid = ir_or(f, v->si.valid, collides);
    ir_ref medium = ir_select(f, collides, at.medium, t_word(t, t_u32(t, 0), HEADER_MEDIA));
    ir_ref phase = ir_add(f, t_word(t, medium, MEDIUM_PHASE_CLASS), t_u32(t, w->plan->bsdfs.count));
    v->bsdf_class = ir_select(f, collides, phase, v->bsdf_class);
    v->bsdf_record = ir_select(f, collides, t_word(t, medium, MEDIUM_PHASE_RECORD), v->bsdf_record);
    v->samples_light =
        ir_or(f, ir_not(f, collides), ir_ne(f, t_word(t, medium, MEDIUM_SAMPLES_LIGHTS), t_u32(t, 0)));
}

frame walk_frame(walk *w, const walk_vertex *v, const interaction *si)
{
    tracer *t = &w->t;
    frame fr = surface_frame(t, si);
    if (!w->media)
        return fr;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), collides = v->flight.collides;
    return (frame){v3_select(t, collides, v3(one, zero, zero), fr.s),
                   v3_select(t, collides, v3(zero, one, zero), fr.t),
                   v3_select(t, collides, v3(zero, zero, one), fr.n)};
}

ir_ref walk_is_through(tracer *t, const interaction *si, const bsdf_sample *s)
{
    return ir_and(t->f, si->valid, ir_and(t->f, s->delta, ir_ge(t->f, s->lobe, t_u32(t, LOBE_NULL))));
}

/* A null lobe lets the path through the surface in a straight line, whatever the depth. Sets the ray that
 * goes on and its medium. */
static void go_through(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    v->through = walk_is_through(t, &v->si, &v->sample);
    v->goes_on = ir_or(f, v->goes_on, v->through);
    v->next_d = v3_select(t, v->through, at.d, v->next_d);
    v->next_o = ray_offset(t, v->si.p, v->si.ng, v->next_d);
    if (w->straight) {
        ir_ref by = ray_onward(t, v->si.p, v->si.ng, at.d);
        vec3 behind = v3_add(t, at.o, v3_scale(t, at.d, ir_add(f, v->si.t, by)));
        v->next_o = v3_select(t, v->through, behind, v->next_o);
    }
    v->medium = at.medium;
    if (w->media)
        v->medium =
            ir_select(f, v->flight.collides, at.medium, medium_behind(w, &v->si, v->next_d, at.medium));
}

bsdf_sample walk_sample_at(walk *w, const interaction *si, const walk_position *at, ir_ref block)
{
    tracer *t = &w->t;
    ir_ref unused;
    random4 r = walk_numbers(w, at->sample, block, SAMPLER_ONE_TWO_ONE);
    walk_vertex v = {
        .si = *si,
        .frame = surface_frame(t, si),
        .to_light = at->d,
        .attached.count = at->attached.count,
        .collision_z = t_f32(t, 0),
    };
    v.bsdf_class = t_word(t, si->shape, SHAPE_BSDF_CLASS),
    v.bsdf_record = t_word(t, si->shape, SHAPE_BSDF_RECORD);
    v.wi = frame_to_local(t, v.frame, v3_neg(t, at->d));
    if (w->disperses)
        v.share = at->share, v.hero = dispersion_hero(w, v.share, r.u[3]);
    walk_sample_bsdf(w, &v, (ir_ref){0}, r.u[0], r.u[1], r.u[2], &unused);
    return v.sample;
}

/* The last segment samples no light. So where rays can meet none either, the path ends before it. */
static ir_ref ends_early(walk *w, const walk_vertex *v, ir_ref depth)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    int32_t most = walk_longest(w);
    if (most < 0 || w->meets_light)
        return (ir_ref){0};
    ir_ref last = ir_ge(f, ir_add(f, depth, t_u32(t, 2)), t_u32(t, (uint32_t)most));
    return w->volumetric ? ir_and(f, last, ir_not(f, v->through)) : last; /* which keeps the depth */
}

/* The parts of walk_visit, in its order. They change v. */

static bool has_lights(const walk *w) { return w->plan->scene->emitters.count > 0; }

/* What the ray meets: a surface, a collision on the way to it, light. */
static void meet(walk *w, walk_vertex *v, walk_position *at)
{
    ir_func *f = w->t.f;
    walk_position reaching = *at;
    if (w->media)
        reaching.tmax = flight_reach(w, at);
    v->si = w->bends ? eikonal_intersect(w, at, v) : walk_meet(w, reaching, &v->met);
    w->motion->met(w, v, at);
    if (w->media)
        v->flight = flight_start(w, at, v->si.t);
    if (has_lights(w))
        light_find_emission(w, v, *at);
    if (w->bends && has_lights(w)) /* a curve without an end finds nothing */
        v->hit.there = ir_and(f, v->hit.there, ir_or(f, v->si.valid, ir_not(f, v->curve.bends)));
}

/* bool: the path may go on behind the vertex, by what it met and by its depth. *scatters: something is there
 * to scatter at, whatever the depth. */
static ir_ref may_go_on(walk *w, const walk_vertex *v, ir_ref depth, ir_ref *scatters)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const int32_t most = walk_longest(w);
    *scatters = w->media ? ir_or(f, v->si.valid, v->flight.collides) : v->si.valid;
    if (most < 0)
        return *scatters;
    return ir_and(f, *scatters, ir_lt(f, ir_add(f, depth, t_u32(t, 1)), t_u32(t, (uint32_t)most)));
}

/* Where the path scatters, and what does it there: a material, or a medium's phase function. */
static void stand(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    v->bsdf_class = t_word(t, v->si.shape, SHAPE_BSDF_CLASS),
    v->bsdf_record = t_word(t, v->si.shape, SHAPE_BSDF_RECORD);
    if (w->volumetric)
        v->collision_z = t_f32(t, 0);
    if (w->media)
        walk_take_collision(w, v, *at);
    w->motion->stands(w, v, at);
    v->frame = walk_frame(w, v, &v->si);
    v->wi = frame_to_local(t, v->frame, v3_neg(t, at->d));
}

/* Chooses a light and a point of it, toward which the material is evaluated. Returns the density, 0 without.
 */
static ir_ref aim_at_light(walk *w, walk_vertex *v, const random4 *r)
{
    tracer *t = &w->t;
    vec3 d = v->si.ns;
    ir_ref pdf = t_f32(t, 0);
    if (w->next_event && has_lights(w))
        light_choose(w, v, r, ir_and(t->f, v->goes_on, walk_has_smooth_lobe(w, v->bsdf_class)), &d, &pdf);
    v->light_d = d;
    v->to_light = frame_to_local(t, v->frame, d);
    return pdf;
}

/* Where `scatters`: chooses the direction that goes on. Also evaluates the density toward the light. */
static void scatter(walk *w, walk_vertex *v, const walk_position *at, ir_ref scatters, const random4 *r)
{
    v->share = w->media ? v->flight.share : at->share;
    if (w->disperses) /* a scene with fields, whose march takes this number, has no wavelengths */
        v->hero = dispersion_hero(w, v->share, r->u[3]);
    if (!w->volumetric) /* else there may be a null lobe, which goes on at the last segment, too */
        scatters = v->goes_on;
    if (guide_any(w))
        walk_sample_guided(w, v, scatters, r, &v->to_light_pdf);
    else
        walk_sample_bsdf(w, v, scatters, r->u[0], r->u[1], r->u[2], &v->to_light_pdf);
}

/* Whether the light that was aimed at is visible, and its weight. No ray is traced to a light that is seen
 * from its dark side, or to which the material scatters nothing. */
static void weigh_light(walk *w, walk_vertex *v, const walk_position *at, ir_ref pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    v->light_weight = zero, v->light_visible = ir_bool(f, false);
    if (!w->next_event || !has_lights(w))
        return;
    ir_ref wanted =
        ir_and(f, v->goes_on,
               ir_and(f, ir_gt(f, pdf, zero), ir_and(f, ir_gt(f, v->to_light_pdf, zero), v->light.facing)));
    if (w->media)
        wanted = ir_and(f, wanted, v->samples_light);
    if (w->bends)
        wanted =
            ir_and(f, wanted, ir_not(f, eikonal_bends(w, medium_behind(w, &v->si, v->light_d, at->medium))));
    v->light_visible = v->light.there = light_visible(w, v, at, wanted);
    v->light_weight = ir_select(f, v->light.there, light_weight(w, v, pdf, v->to_light_pdf), zero);
}

/* The ray that goes on, the medium that it is in, and what it may do there. */
static void leave(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    v->next_d = v3_normalize(t, frame_to_world(t, v->frame, v->wo));
    v->next_o = ray_offset(t, v->si.p, v->si.ng, v->next_d);
    if (w->volumetric)
        go_through(w, v, *at);
    else if (w->bends)
        v->medium = medium_behind(w, &v->si, v->next_d, at->medium);
    if (w->bends)
        v->bends_on = eikonal_bends(w, v->medium);
    v->ends = ends_early(w, v, at->depth);
    w->motion->look_ahead(w, v, at);
}

walk_vertex walk_visit(walk *w, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->motion && w->fn.bsdf_sample, "the walk has not begun");
    if (walk_prints(w))
        w->printing = at.sample;
    if (w->plan->scene->hide_emitters && has_lights(w))
        at = walk_skip_lights(w, at);
    walk_vertex v = {0};
    ir_ref scatters;
    meet(w, &v, &at);
    v.goes_on = may_go_on(w, &v, at.depth, &scatters);
    stand(w, &v, &at);
    ir_ref block = ir_mul(f, walk_order(w, &at), t_u32(t, 2));
    random4 r1 = walk_numbers(w, at.sample, ir_add(f, block, t_u32(t, 1)), SAMPLER_ONE_TWO_ONE);
    random4 r2 = walk_numbers(w, at.sample, ir_add(f, block, t_u32(t, 2)), SAMPLER_ONE_TWO_ONE);
    v.u_roulette = r1.u[3], v.u_march = r2.u[3];
    ir_ref light_pdf = aim_at_light(w, &v, &r1);
    scatter(w, &v, &at, scatters, &r2);
    weigh_light(w, &v, &at, light_pdf);
    leave(w, &v, &at);
    v.decisions = mix_decisions(w, &v, v.light_visible);
    return v;
}
