/* SPDX-License-Identifier: BSD-3-Clause
 * Borders of shadows that move. A point on a light is the viewpoint; behind the edge that is seen from there,
 * a surface has light on one side of the shadow's border and none on the other. From that surface importance
 * is gathered as in light tracing, by connecting vertices to the sensor. With S the splats of a path that
 * carries unit radiance, W the light that goes past the edge by solid angle, and l the length of the edge at
 * a right angle to the ray:
 *
 *     dI = - integral over lights and their silhouettes of  S W (n . v) dl
 *
 * v is the motion of the edge relative to the segment from the surface to the light. The surface's point
 * slides along the camera's ray if the camera sees it, else it is held as on any path; so splats of the first
 * vertex have a motion of their own, and a share (shares_of): boundary_path.c finds the same light, too. */
#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/vertex/plugin_functions.h"

/* The two motions of the edge: for splats of the first vertex, and for those of later ones. */
static void motions_of(walk *w, const boundary_point *b, const boundary_light *l, const light_position *at,
                       const light_vertex *v, ir_ref out[2])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    sensor_view view = walk_view(w);
    vec2 lens = light_lens(w, at);
    sensor_link link = sensor_of(view.object)->link(t, &view, v->v.si.p, lens);
    walk_hit seen = v->v.met, held = v->v.met;
    seen.slides = ir_bool(f, true), held.slides = ir_bool(f, false);
    vec3 to = v3_sub(t, v->v.si.p, link.point);
    seen.t = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    seen.o = link.point, seen.d = v3_scale(t, to, ir_div(f, t_f32(t, 1), seen.t));
    held.o = v3_add(t, v->v.si.p, v->next_d), held.d = v3_neg(t, v->next_d), held.t = t_f32(t, 1);
    if (w->plan->camera) {
        ray camera = boundary_camera_ray(w, link.position, lens);
        seen.o = camera.o, seen.d = camera.d;
    }
    vec3 y = boundary_light_moved(w, l), edge;
    ir_ref far = ir_bool(f, false);
    bool borders = boundary_light_edge(w, b, l, y, &edge);
    const walk_hit *hits[2] = {&seen, &held};
    for (int k = 0; k < 2; k++)
        out[k] = boundary_motion(
            w, b, &(boundary_segment){boundary_hit_moved(w, hits[k]), y, far, borders ? &edge : NULL, {0}});
}

/* ---- the share of this pass ---- */

/* What the pass takes of the light that reaches v, seen from the sensor and along the path that goes on: the
 * share of light sampling at v, of the two ways to find the light. boundary_path.c takes the rest. */
static void shares_of(walk *w, const boundary_light *l, const light_vertex *v, ir_ref out[2])
{
    tracer *t = &w->t;
    const vec3 seen[2] = {v->v.to_light, v->v.wo};
    for (int k = 0; k < 2; k++)
        out[k] = boundary_light_share(w, l, &v->v, seen[k], v->v.wi);
    out[1] = ir_select(t->f, v->v.sample.delta, t_f32(t, 1), out[1]);
}

/* ---- splats ---- */

typedef struct lit_state {
    light_position at;
    throughput b;
    ir_ref alive;
    color importance; /* of the vertices so far: the sum of dL/d(splat) times splat */
} lit_state;

static void state_lit(const walk *w, loop_state *s, lit_state *p)
{
    state_ref(s, &p->at.depth), state_vec3(s, &p->at.o), state_vec3(s, &p->at.d), state_ref(s, &p->at.tmax);
    state_throughput(w, s, &p->b), state_ref(s, &p->alive), state_color(s, &w->t, &p->importance);
}

/* The splat of a vertex. Returns its importance, backwards times dL/dI, forwards without. Forwards it is
 * added to the image, times `moved`. Neither where the pass learns (not usual). */
static color take_splat(walk *w, const light_vertex *v, const throughput *b, ir_ref there, ir_ref usual,
                        const color *moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    light_splat splat = v->splat;
    splat.there = ir_and(f, splat.there, there);
    color carried = color_mul(t, throughput_whole(w, b), light_splat_factor(w, v)),
          none = color_all(t_f32(t, 0));
    color importance = color_select(t, splat.there, carried, none);
    if (!moved)
        return color_select(t, ir_and(f, splat.there, usual),
                            color_mul(t, carried, splat_read(w, &splat, false).contribution), importance);
    splat.there = ir_and(f, splat.there, usual);
    color sum = color_mul(t, carried, *moved);
    ir_ref finite = color_finite(t, sum);
    kernel_count(w, ir_and(f, splat.there, ir_not(f, finite)), STATUS_NON_FINITE);
    splat.there = ir_and(f, splat.there, finite);
    splat_add(w, &splat, sum, NULL);
    return importance;
}

/* Follows the path from the first vertex on. moved: as in take_splat. */
static color gather_rest(walk *w, const light_vertex *first, lit_state *p, ir_ref usual, const color *moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    p->alive = ir_and(f, p->alive, light_pass(w, first, &p->at, &p->b).alive);
    ir_ref sample = p->at.sample;
    loop_state state = {0}, next = {0};
    state_lit(w, &state, p);
    ir_ref loop = state_loop(f, &state);
    state_lit(w, &state, p);
    ir_while(f, p->alive);
    p->at.sample = sample;
    light_vertex v = light_visit(w, &p->at, (ir_ref){0});
    p->importance = color_add(t, p->importance, take_splat(w, &v, &p->b, p->alive, usual, moved));
    p->alive = light_pass(w, &v, &p->at, &p->b).alive;
    state_lit(w, &next, p);
    state_endloop(f, loop, &state, &next);
    state_lit(w, &state, p);
    state_end(&state);
    return p->importance;
}

/* Whether rays meet some kind in the scene from outside only. */
static bool some_shell(const walk *w)
{
    bool any = false;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        any |= w->plan->scene->kind_used[k] && shape_kinds[k]->shell;
    return any;
}

static bool some_on_shape(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->scene->emitters.count; i++)
        any |= w->plan->scene->emitter_shape.data[i] != PLAN_NONE;
    return any;
}

/* bool: something stands between the light and v, a vertex behind the edge, as rays from v meet it. The ray
 * from the edge to the light is not enough where there are shells: if it begins inside, it does not meet
 * them. from: a point of the segment from v to the light; toward: its direction; far: what is left of it. */
static ir_ref shell_occludes(walk *w, const interaction *v, vec3 from, vec3 toward, ir_ref far)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref on = ir_gt(f, far, t_f32(t, 0)), way = v3_length(t, v3_sub(t, from, v->p));
    return light_occluded(
        w, &(ray){ray_offset(t, v->p, v->ng, toward), toward, ir_select(f, on, ir_add(f, way, far), far)});
}

bl_result kernel_edges_lit(walk *w, ir_module *m)
{
    if (w->volumetric)
        return kernel_edges_shaft(w, m);
    w->from_sensor = some_shell(w), w->past_lights = w->plan->scene->hide_emitters && some_on_shape(w);
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    bool forward = boundary_forward(w);
    boundary_light l;
    boundary_point b = boundary_light_pick(w, &loop, &l);
    vec3 from = boundary_beside(w, &b);
    ir_ref lit = ir_and(f, b.there, ir_gt(f, color_max(t, l.radiance), t_f32(t, 0)));
    ir_ref far = ir_select(f, lit, walk_far(w, l.reach), t_f32(t, -1));
    lit = ir_and(f, lit, ir_not(f, light_occluded(w, &(ray){from, l.at.d, far})));
    lit_state p = {.at = light_before(w, loop.sample), .b = throughput_start(w), .alive = lit};
    p.at.depth = t_u32(t, 1), p.at.o = from, p.at.d = v3_neg(t, l.at.d);
    p.at.tmax = ir_select(f, lit, t_f32(t, 1e30f), t_f32(t, -1)), p.importance = color_all(t_f32(t, 0));
    light_vertex v = light_visit(w, &p.at, (ir_ref){0});
    lit = ir_and(f, lit, v.v.si.valid);
    if (some_shell(w))
        far = ir_select(f, lit, far, t_f32(t, -1)),
        lit = ir_and(f, lit, ir_not(f, shell_occludes(w, &v.v.si, from, l.at.d, far)));
    p.alive = lit;
    ir_ref motion[2], seed[2], minus = ir_neg(f, ir_mul(f, b.weight, loop.scale));
    motions_of(w, &b, &l, &p.at, &v, motion);
    ir_ref share[2];
    shares_of(w, &l, &v, share);
    color carried[2], moved[2], found[2];
    for (int k = 0; k < 2; k++)
        carried[k] = color_scale(t, l.radiance, ir_mul(f, minus, share[k]));
    for (int k = 0; k < 2 && forward; k++)
        moved[k] = color_scale(t, carried[k], boundary_tangent(w, motion[k]));
    found[0] = take_splat(w, &v, &p.b, lit, loop.guide.usual, forward ? &moved[0] : NULL);
    found[1] = gather_rest(w, &v, &p, loop.guide.usual, forward ? &moved[1] : NULL);
    for (int k = 0; k < 2; k++) {
        color sum = color_mul(t, found[k], carried[k]);
        seed[k] = color_sum(t, sum);
    }
    if (!forward)
        boundary_backward(w, ir_and(f, lit, loop.guide.usual), motion, seed, 2);
    color importance = color_add(t, color_mul(t, found[0], carried[0]), color_mul(t, found[1], carried[1]));
    ir_ref curve = boundary_some_border(w) ? ir_and(f, lit, ir_not(f, l.border)) : lit;
    boundary_end(w, &loop, curve, boundary_size(w, importance), b.possible);
    ir_return(f, NULL, 0);
    return BL_OK;
}
