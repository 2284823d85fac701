/* SPDX-License-Identifier: BSD-3-Clause
 * Forward mode and frozen paths of light tracing (docs/theory/light_tracing.md). A path carries, beside what
 * decides it, its weight and its ray: their tangents (RENDER_FORWARD), or their values by the other set of
 * parameters (RENDER_FROZEN). At each vertex
 *
 *     splat = weight * s, at a place in the image      weight *= g      ray = the ray that goes on
 *
 * with s, g, place and ray as motion/light_motion.c finds them. The tangent of a splat in the image is that
 * of its contribution and, through the filter's derivative, that of its place.
 *
 * For any W the inner product <W, film> equals the gradient kernel's result for the adjoint W along the same
 * direction up to rounding (tests/gradient/moved_light_paths.c). */
#include "render/integrator/kernels/kernels.h"
#include "render/integrator/motion/light_motion.h"
#include "spirv_gen/ad/ad.h"

typedef struct forward_path {
    light_position at;
    throughput b;
    /* Tangents, or the values by the other set of parameters: */
    color weight;
    ir_ref ray[LIGHT_RAY_NUMBERS];
} forward_path;

static void state_path(const walk *w, loop_state *s, forward_path *p)
{
    state_ref(s, &p->at.sample), state_light_place(w, s, &p->at);
    state_throughput(w, s, &p->b);
    state_color(s, &w->t, &p->weight);
    if (w->motion->chains)
        state_refs(s, p->ray, LIGHT_RAY_NUMBERS);
}

/* The outcome times the throughput before the vertex, and the density of what was chosen there. */
static light_outcome weighed(walk *w, light_outcome r, color weight, ir_ref inverse_pdf)
{
    tracer *t = &w->t;
    r.splat = color_mul(t, r.splat, weight);
    r.onward = color_scale(t, color_mul(t, r.onward, weight), ir_detach(t->f, inverse_pdf));
    return r;
}

/* Replaces the numbers of an outcome that was made in the open branch by their tangents. */
static void to_tangents(walk *w, const forward_path *p, color weight, ir_ref *numbers, uint32_t count)
{
    ir_ref from[COLOR_MOST + LIGHT_RAY_NUMBERS], moved[COLOR_MOST + LIGHT_RAY_NUMBERS];
    const uint32_t n = w->t.channels, width = w->motion->chains ? LIGHT_RAY_NUMBERS : 0;
    memcpy(from, weight.c, n * sizeof *from), memcpy(moved, p->weight.c, n * sizeof *moved);
    vec3_put(p->at.o, from + n), vec3_put(p->at.d, from + n + 3);
    memcpy(moved + n, p->ray, width * sizeof *moved);
    ir_ref tangents[LIGHT_OUTCOME_MOST];
    ad_forward(w->t.f, from, moved, n + width, numbers, tangents, count);
    memcpy(numbers, tangents, count * sizeof *numbers);
}

/* The outcome of a vertex: tangents, or values by the other set of parameters. */
static light_outcome outcome_of(walk *w, const forward_path *p, const light_vertex *v, color weight,
                                ir_ref inverse_pdf)
{
    ir_func *f = w->t.f;
    bool forward = w->pass == RENDER_FORWARD;
    ir_ref light[LIGHT_OUTCOME_MOST], at_surface[LIGHT_OUTCOME_MOST], zero = t_f32(&w->t, 0);
    vec3 o = p->at.o, d = p->at.d;
    if (!forward && w->motion->chains)
        o = vec3_at(p->ray), d = vec3_at(p->ray + 3);
    ir_ref begins = ir_if(f, v->begins);
    light_outcome r = weighed(w, light_outcome_at_light(w, &p->at, v), weight, inverse_pdf);
    uint32_t count = light_outcome_pack(w, &r, light);
    if (forward)
        to_tangents(w, p, weight, light, count);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < count; k++)
        light[k] = ir_phi(f, begins, light[k], zero);
    ir_ref scatters = ir_if(f, ir_and(f, v->v.si.valid, ir_not(f, v->begins)));
    r = weighed(w, light_outcome_at_surface(w, &p->at, v, o, d), weight, inverse_pdf);
    light_outcome_pack(w, &r, at_surface);
    if (forward)
        to_tangents(w, p, weight, at_surface, count);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < count; k++)
        at_surface[k] = ir_phi(f, scatters, at_surface[k], light[k]);
    return light_outcome_unpack(w, at_surface);
}

static void splat(walk *w, const light_vertex *v, const throughput *b, const light_outcome *r)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    light_splat s = v->splat;
    color walked = color_mul(t, throughput_whole(w, b), light_splat_factor(w, v));
    s.there = ir_and(f, s.there, color_finite(t, walked)); /* the image leaves out the others */
    ir_ref finite = color_finite(t, r->splat);
    kernel_count(w, ir_and(f, s.there, ir_not(f, finite)), STATUS_NON_FINITE);
    s.there = ir_and(f, s.there, finite);
    if (w->motion->chains && w->pass == RENDER_FORWARD) {
        splat_add(w, &s, walked, &(splat_tangent){r->splat, r->place});
        return;
    }
    if (w->motion->chains)
        s.at = r->place;
    splat_add(w, &s, r->splat, NULL);
}

/* One vertex. Returns whether the path goes on. */
static ir_ref step(walk *w, forward_path *p)
{
    tracer *t = &w->t;
    walk_set_wavelengths(w, p->at.sample);
    light_vertex v = light_visit(w, &p->at, (ir_ref){0});
    const forward_path before = *p;
    color one = color_all(t_f32(t, 1)), weight = w->pass == RENDER_FORWARD
                                                     ? throughput_whole(w, &p->b)
                                                     : color_select(t, v.begins, one, p->weight);
    light_emit(w, &v, &p->b);
    throughput_fly(w, &v.v, &p->b);
    const throughput lit = p->b;
    passage onward = light_pass(w, &v, &p->at, &p->b);
    light_outcome r = outcome_of(w, &before, &v, weight, onward.inverse_pdf);
    splat(w, &v, &lit, &r);
    p->weight = r.onward;
    if (!w->motion->chains)
        return onward.alive;
    vec3_put(r.next_o, p->ray), vec3_put(r.next_d, p->ray + 3);
    if (w->pass == RENDER_FORWARD)
        drop_singular(w, onward.alive, before.at.depth, p->ray);
    return onward.alive;
}

bl_result kernel_light_forward(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->pass == RENDER_FORWARD || w->pass == RENDER_FROZEN, "light tracing in pass %d",
              (int)w->pass);
    lane l = kernel_lane(w, m);
    ir_ref zero = t_f32(t, 0);
    forward_path p = {
        .at = light_before(w, l.first),
        .b = throughput_start(w),
        .weight = color_all(zero),
        .ray = {zero, zero, zero, zero, zero, zero},
    };
    loop_state state = {0}, next = {0};
    state_path(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_path(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    ir_ref alive = step(w, &p);
    throughput_restart(w, alive, &p.b);
    p.at.sample = ir_add(f, p.at.sample, ir_to_u32(f, ir_not(f, alive)));
    p.weight = color_select(t, alive, p.weight, color_all(zero));
    for (uint32_t k = 0; k < LIGHT_RAY_NUMBERS; k++)
        p.ray[k] = ir_select(f, alive, p.ray[k], zero);
    state_path(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    ir_return(f, NULL, 0);
    return BL_OK;
}
