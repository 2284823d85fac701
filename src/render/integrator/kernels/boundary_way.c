/* SPDX-License-Identifier: BSD-3-Clause
 * The path from the camera to the vertex from which an edge, or the border of a shadow in a medium, is seen.
 */
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/motion/motion.h"

enum { DEPTHS = 12 /* vertices behind the last of these are never chosen but by chains of null lobes */ };

boundary_choice boundary_choose_vertex(walk *w, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    int32_t most = w->plan->scene->max_depth;
    uint32_t count = most < 0 || most - 1 > DEPTHS ? DEPTHS : (uint32_t)(most - 1);
    boundary_choice v = {t_u32(t, 0), t_f32(t, count > 1 ? 2 : 1)};
    for (uint32_t k = 1; k < count; k++) {
        ir_ref beyond = ir_ge(f, u, t_f32(t, 1 - 1 / (float)(1u << k)));
        float inverse = (float)(1u << (k + 1 < count ? k + 1 : k));
        v.depth = ir_select(f, beyond, t_u32(t, k), v.depth);
        v.inverse = ir_select(f, beyond, t_f32(t, inverse), v.inverse);
    }
    return v;
}

static void state_way(walk *w, loop_state *s, boundary_way *x)
{
    state_position(w, s, &x->p.at), state_color(s, &w->t, &x->p.beta), state_ref(s, &x->p.eta);
    state_ref(s, &x->alive), state_ref(s, &x->mirrored);
    if (w->volumetric)
        state_ref(s, &x->walking);
}

/* bool: the surface is of a class that lets light through and has no other lobes but discrete ones. */
static ir_ref is_null(walk *w, const walk_vertex *v)
{
    ir_func *f = w->t.f;
    ir_ref is = ir_bool(f, false);
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        if (bsdf_lets_through(w->plan->bsdfs.data[i]) &&
            bsdf_of(w->plan->bsdfs.data[i])->pdf == bsdf_no_density)
            is = ir_or(f, is, ir_eq(f, v->bsdf_class, t_u32(&w->t, i)));
    return is;
}

/* Where surfaces let the path straight through, several of them and a vertex have one depth, and the edge may
 * be seen from any. The path always ends its way where it does not go through. Else it does so with
 * probability 1/2, and counts twice. before: the path before v; p: after it. */
static void end_or_pass(walk *w, boundary_way *x, ir_ref depth, const radiance_walk *before,
                        const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref null = ir_and(f, v->through, is_null(w, v)), tossed = ir_and(f, v->through, ir_not(f, null));
    ir_ref passes = ir_or(f, null, ir_and(f, tossed, ir_lt(f, v->u_march, t_f32(t, 0.5f))));
    ir_ref there = ir_eq(f, before->at.depth, depth), ends = ir_and(f, there, ir_not(f, passes));
    x->p.at = position_select(w, ends, before->at, x->p.at);
    x->p.beta = color_select(t, ends, before->beta, x->p.beta);
    x->p.beta = color_scale(t, x->p.beta, ir_select(f, ir_and(f, there, tossed), t_f32(t, 2), t_f32(t, 1)));
    x->p.eta = ir_select(f, ends, before->eta, x->p.eta);
    x->alive = ir_or(f, ends, x->alive), x->walking = ir_not(f, ends);
}

boundary_way boundary_walk_to(walk *w, ir_ref sample, ir_ref depth, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position camera = walk_camera(w, sample);
    w->motion->before(w, &camera);
    boundary_way x = {radiance_start(w, &camera), ir_is_none(when) ? ir_bool(f, true) : when,
                      ir_bool(f, false), ir_bool(f, true)};
    loop_state state = {0}, next = {0};
    state_way(w, &state, &x);
    ir_ref loop = state_loop(f, &state);
    state_way(w, &state, &x);
    ir_while(f, ir_and(f, x.alive, w->volumetric ? x.walking : ir_lt(f, x.p.at.depth, depth)));
    ir_ref first = ir_eq(f, x.p.at.depth, t_u32(t, 0));
    x.p.radiance = color_all(t_f32(t, 0));
    radiance_walk before = x.p;
    walk_vertex v = radiance_vertex(w, &x.p, &x.alive);
    x.mirrored = ir_select(f, first, v.sample.delta, x.mirrored);
    if (w->volumetric)
        end_or_pass(w, &x, depth, &before, &v);
    state_way(w, &next, &x);
    state_endloop(f, loop, &state, &next);
    state_way(w, &state, &x);
    state_end(&state);
    x.p.radiance = color_all(t_f32(t, 0)); /* nobody asks what was found on the way */
    return x;
}

walk boundary_blind(const walk *w)
{
    walk blind = *w;
    blind.next_event = false;
    if (local_volume_wanted(w))
        blind.motion = &motion_local_volume;
    return blind;
}

walk_position boundary_behind(walk *w, const walk_position *at, const walk_vertex *v, vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position next = *at;
    next.depth = ir_add(f, at->depth, t_u32(t, 1)), next.delta = ir_bool(f, true), next.pdf = t_f32(t, 1);
    next.tmax = t_f32(t, 1e30f);
    if (w->volumetric)
        next.event = ir_add(f, at->event, t_u32(t, 1));
    if (w->media) {
        next.medium = ir_select(f, v->flight.collides, at->medium, medium_behind(w, &v->si, d, at->medium));
        next.share = v->flight.share;
    }
    return next;
}

color boundary_scattered(walk *w, const walk_vertex *v, vec3 d)
{
    walk_vertex toward = *v;
    color value, unused;
    toward.to_light = frame_to_local(&w->t, v->frame, d);
    walk_values(w, &toward, false, &value, &unused);
    return value;
}
