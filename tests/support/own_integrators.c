/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/own_integrators.h"

static bl_plugin_color scaled(bl_ir_func *f, bl_plugin_color c, bl_ir_value by)
{
    for (int k = 0; k < 3; k++)
        c.c[k] = bl_ir_mul(f, c.c[k], by);
    return c;
}

static bl_plugin_color product(bl_ir_func *f, bl_plugin_color a, bl_plugin_color b)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = bl_ir_mul(f, a.c[k], b.c[k]);
    return a;
}

static bl_plugin_color sum(bl_ir_func *f, bl_plugin_color a, bl_plugin_color b)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = bl_ir_add(f, a.c[k], b.c[k]);
    return a;
}

static bl_plugin_color difference(bl_ir_func *f, bl_plugin_color a, bl_plugin_color b)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = bl_ir_sub(f, a.c[k], b.c[k]);
    return a;
}

static bl_plugin_color grey(bl_ir_func *f, float v)
{
    return (bl_plugin_color){{bl_ir_f32(f, v), bl_ir_f32(f, v), bl_ir_f32(f, v)}};
}

/* 1 / v where v > 0, else 0 */
static bl_ir_value inverse(bl_ir_func *f, bl_ir_value v)
{
    bl_ir_value zero = bl_ir_f32(f, 0), one = bl_ir_f32(f, 1), positive = bl_ir_lt(f, zero, v);
    return bl_ir_select(f, positive, bl_ir_div(f, one, bl_ir_select(f, positive, v, one)), zero);
}

/* ---- a path as a loop's state ---- */

typedef struct path_state {
    bl_trace_ray ray;
    bl_plugin_color beta, radiance;
    bl_ir_value depth, pdf, delta, active; /* pdf, delta: of the sample that the ray is */
} path_state;
enum { STATE = 17 };

static void pack(const path_state *p, bl_ir_value *s)
{
    const bl_ir_value all[STATE] = {
        p->ray.o.x,       p->ray.o.y,   p->ray.o.z,   p->ray.d.x,   p->ray.d.y,       p->ray.d.z,
        p->ray.tmax,      p->beta.c[0], p->beta.c[1], p->beta.c[2], p->radiance.c[0], p->radiance.c[1],
        p->radiance.c[2], p->depth,     p->pdf,       p->delta,     p->active};
    for (int k = 0; k < STATE; k++)
        s[k] = all[k];
}

static path_state unpack(const bl_ir_value *s)
{
    return (path_state){
        .ray = {{s[0], s[1], s[2]}, {s[3], s[4], s[5]}, s[6]},
        .beta = {{s[7], s[8], s[9]}},
        .radiance = {{s[10], s[11], s[12]}},
        .depth = s[13],
        .pdf = s[14],
        .delta = s[15],
        .active = s[16],
    };
}

static path_state start(bl_ir_func *f, bl_trace_ray camera, bl_plugin_color radiance)
{
    return (path_state){
        .ray = camera,
        .beta = grey(f, 1),
        .radiance = radiance,
        .depth = bl_ir_u32(f, 0),
        .pdf = bl_ir_f32(f, 1),
        .delta = bl_ir_bool(f, true),
        .active = bl_ir_bool(f, true),
    };
}

/* The first of the two places of random numbers of a vertex, as the library's integrators count them. */
static bl_ir_value place(bl_ir_func *f, const path_state *p, uint32_t which)
{
    return bl_ir_add(f, bl_ir_mul(f, p->depth, bl_ir_u32(f, 2)), bl_ir_u32(f, which));
}

/* Goes on with a sample of the material, whose value is given. */
static void go_on(bl_plugin_trace *t, path_state *p, const bl_surface *s, const bl_bsdf_draw *draw,
                  bl_plugin_color value)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value zero = bl_ir_f32(f, 0), most = bl_ir_f32(f, (float)bl_trace_setting(t, 0));
    p->ray = bl_trace_leave(t, s, draw->d);
    p->beta = scaled(f, product(f, p->beta, value), inverse(f, draw->pdf));
    p->depth = bl_ir_add(f, p->depth, bl_ir_u32(f, 1));
    p->pdf = draw->pdf, p->delta = draw->delta;
    bl_ir_value some = bl_ir_max(f, p->beta.c[0], bl_ir_max(f, p->beta.c[1], p->beta.c[2]));
    p->active = bl_ir_and(
        f, s->valid, bl_ir_and(f, bl_ir_lt(f, zero, some), bl_ir_lt(f, bl_ir_to_f32(f, p->depth), most)));
}

/* ---- my_prb_basic ---- */

/* One loop for both phases. Phase 1 has dL: it takes what phase 0 has added away again, and backpropagates.
 */
static bl_plugin_color walk(bl_plugin_trace *t, path_state p, const bl_plugin_color *dL)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value state[STATE], next[STATE], u[4];
    pack(&p, state);
    bl_ir_value loop = bl_ir_loop(f, state, STATE);
    p = unpack(state);
    bl_ir_while(f, p.active);
    bl_surface s = bl_trace_closest(t, p.ray);
    bl_plugin_color Le = bl_trace_emission(t, &s), found = product(f, p.beta, Le);
    p.radiance = dL ? difference(f, p.radiance, found) : sum(f, p.radiance, found);
    bl_trace_random(t, place(f, &p, 2), u);
    bl_bsdf_draw draw = bl_trace_bsdf_sample(t, &s, u);
    bl_plugin_color value = bl_trace_bsdf_drawn(t, &draw);
    if (dL) {
        bl_plugin_color seed = product(f, p.beta, *dL), left = product(f, p.radiance, *dL);
        for (int k = 0; k < 3; k++)
            left.c[k] = bl_ir_mul(f, left.c[k], inverse(f, bl_ir_detach(f, value.c[k])));
        bl_ir_backward(f, Le.c, seed.c, 3, NULL, NULL, 0);
        bl_ir_backward(f, value.c, left.c, 3, NULL, NULL, 0);
    }
    go_on(t, &p, &s, &draw, value);
    pack(&p, next);
    bl_ir_endloop(f, loop, next, STATE);
    return unpack(state).radiance;
}

static bl_plugin_color prb_radiance(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_ir_func *f = bl_plugin_func(t);
    return walk(t, start(f, camera, grey(f, 0)), NULL);
}

static bl_plugin_color prb_adjoint(bl_plugin_trace *t, bl_trace_ray camera, bl_plugin_color dL)
{
    bl_plugin_color radiance = prb_radiance(t, camera);
    walk(t, start(bl_plugin_func(t), camera, radiance), &dL);
    return radiance;
}

/* ---- my_path ---- */

/* a^2 / (a^2 + b^2) */
static bl_ir_value power_heuristic(bl_ir_func *f, bl_ir_value a, bl_ir_value b)
{
    bl_ir_value a2 = bl_ir_mul(f, a, a), b2 = bl_ir_mul(f, b, b);
    return bl_ir_mul(f, a2, inverse(f, bl_ir_add(f, a2, b2)));
}

/* Light that is sampled at s. */
static bl_plugin_color sampled_light(bl_plugin_trace *t, const bl_surface *s, const bl_ir_value u[3],
                                     bl_ir_value wanted, bool weighs)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value zero = bl_ir_f32(f, 0), one = bl_ir_f32(f, 1);
    bl_light_draw light = bl_trace_light_sample(t, s, u);
    bl_ir_value seen = bl_trace_light_seen(
        t, &light, bl_ir_and(f, bl_ir_and(f, wanted, s->valid), bl_ir_lt(f, zero, light.pdf)));
    bl_ir_value weight = inverse(f, light.pdf);
    if (weighs) {
        bl_ir_value mis = power_heuristic(f, light.pdf, bl_trace_bsdf_pdf(t, s, light.d));
        weight = bl_ir_mul(f, weight, bl_ir_select(f, light.delta, one, mis));
    }
    bl_plugin_color value =
        product(f, bl_trace_bsdf_value(t, s, light.d), bl_trace_light_radiance(t, &light));
    return scaled(f, value, bl_ir_select(f, seen, weight, zero));
}

static bl_plugin_color path_radiance(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_ir_func *f = bl_plugin_func(t);
    path_state p = start(f, camera, grey(f, 0));
    bl_ir_value state[STATE], next[STATE], u[4], one = bl_ir_f32(f, 1);
    pack(&p, state);
    bl_ir_value loop = bl_ir_loop(f, state, STATE);
    p = unpack(state);
    bl_ir_while(f, p.active);
    bl_surface s = bl_trace_closest(t, p.ray);
    bl_ir_value mis = bl_ir_select(f, p.delta, one, power_heuristic(f, p.pdf, bl_trace_emission_pdf(t, &s)));
    p.radiance = sum(f, p.radiance, product(f, p.beta, scaled(f, bl_trace_emission(t, &s), mis)));
    bl_ir_value deeper = bl_ir_lt(f, bl_ir_to_f32(f, bl_ir_add(f, p.depth, bl_ir_u32(f, 1))),
                                  bl_ir_f32(f, (float)bl_trace_setting(t, 0)));
    bl_trace_random(t, place(f, &p, 1), u);
    p.radiance = sum(f, p.radiance, product(f, p.beta, sampled_light(t, &s, u, deeper, true)));
    bl_trace_random(t, place(f, &p, 2), u);
    bl_bsdf_draw draw = bl_trace_bsdf_sample(t, &s, u);
    go_on(t, &p, &s, &draw, bl_trace_bsdf_drawn(t, &draw));
    pack(&p, next);
    bl_ir_endloop(f, loop, next, STATE);
    return unpack(state).radiance;
}

/* ---- my_direct ---- */

static bl_plugin_color direct_radiance(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_ir_func *f = bl_plugin_func(t);
    const float count = (float)bl_trace_setting(t, 0);
    bl_surface s = bl_trace_closest(t, camera);
    bl_ir_value state[4] = {bl_ir_u32(f, 0), bl_ir_f32(f, 0), bl_ir_f32(f, 0), bl_ir_f32(f, 0)}, u[4];
    bl_ir_value loop = bl_ir_loop(f, state, 4);
    bl_ir_while(f, bl_ir_lt(f, bl_ir_to_f32(f, state[0]), bl_ir_f32(f, count)));
    bl_ir_value index = bl_ir_add(f, state[0], bl_ir_u32(f, 1));
    bl_trace_random(t, index, u);
    bl_plugin_color light =
        scaled(f, sampled_light(t, &s, u, bl_ir_bool(f, true), false), bl_ir_f32(f, 1 / count));
    bl_ir_value next[4] = {index, bl_ir_add(f, state[1], light.c[0]), bl_ir_add(f, state[2], light.c[1]),
                           bl_ir_add(f, state[3], light.c[2])};
    bl_ir_endloop(f, loop, next, 4);
    return sum(f, (bl_plugin_color){{state[1], state[2], state[3]}}, bl_trace_emission(t, &s));
}

static const bl_plugin_param depth_table[] = {
    {"max_depth", BL_PLUGIN_NUMBER, "6", 1, 1000, "longest path in segments"}};
static const bl_plugin_param sample_table[] = {
    {"light_samples", BL_PLUGIN_NUMBER, "4", 1, 64, "of lights at each hit"}};

const bl_integrator_plugin own_prb_basic = {
    .name = "my_prb_basic",
    .help = "paths by the material's samples alone, differentiated by path replay",
    .parameters = depth_table,
    .parameter_count = 1,
    .radiance = prb_radiance,
    .adjoint = prb_adjoint,
};
const bl_integrator_plugin own_path = {
    .name = "my_path",
    .help = "paths with light sampling",
    .parameters = depth_table,
    .parameter_count = 1,
    .radiance = path_radiance,
};
const bl_integrator_plugin own_direct = {
    .name = "my_direct",
    .help = "direct light",
    .parameters = sample_table,
    .parameter_count = 1,
    .radiance = direct_radiance,
};
