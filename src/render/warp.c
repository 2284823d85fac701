/* SPDX-License-Identifier: BSD-3-Clause
 * From the unit square to disks, hemispheres, cones and triangles. Densities stand at the prototypes in
 * trace.h. */
#include "render/trace.h"

static const float pi = 3.14159265358979323846f;

/* Shirley and Chiu 1997, in the branchless form: the larger coordinate is the radius, the ratio an angle
 * below pi/4. */
vec2 warp_disk_concentric(tracer *t, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref x = ir_sub(f, ir_mul(f, t_f32(t, 2), u1), t_f32(t, 1)),
           y = ir_sub(f, ir_mul(f, t_f32(t, 2), u2), t_f32(t, 1));
    ir_ref wide = ir_gt(f, ir_abs(f, x), ir_abs(f, y));
    ir_ref r = ir_select(f, wide, x, y), other = ir_select(f, wide, y, x);
    ir_ref zero = ir_eq(f, r, t_f32(t, 0));
    ir_ref angle = ir_mul(f, t_f32(t, pi / 4), ir_div(f, other, ir_select(f, zero, t_f32(t, 1), r)));
    ir_ref s = ir_mul(f, r, ir_sin(f, angle)), c = ir_mul(f, r, ir_cos(f, angle));
    return (vec2){ir_select(f, wide, c, s), ir_select(f, wide, s, c)};
}

vec3 warp_cosine_hemisphere(tracer *t, ir_ref u1, ir_ref u2)
{
    vec2 d = warp_disk_concentric(t, u1, u2);
    return v3(d.x, d.y, t_safe_sqrt(t, ir_sub(t->f, t_f32(t, 1), t_mad(t, d.x, d.x, t_sqr(t, d.y)))));
}

static vec3 at_azimuth(tracer *t, ir_ref sine, ir_ref cosine, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref phi = ir_mul(f, t_f32(t, 2 * pi), u2);
    return v3(ir_mul(f, sine, ir_cos(f, phi)), ir_mul(f, sine, ir_sin(f, phi)), cosine);
}

/* direction with cosine z around +z and azimuth 2 pi u2 */
static vec3 around_axis(tracer *t, ir_ref z, ir_ref u2)
{
    return at_azimuth(t, t_safe_sqrt(t, ir_sub(t->f, t_f32(t, 1), t_sqr(t, z))), z, u2);
}

vec3 warp_uniform_sphere(tracer *t, ir_ref u1, ir_ref u2)
{
    return around_axis(t, ir_sub(t->f, t_f32(t, 1), ir_mul(t->f, t_f32(t, 2), u1)), u2);
}

vec3 warp_about(tracer *t, vec3 axis, ir_ref cosine, ir_ref u)
{
    return frame_to_world(t, frame_around(t, axis), around_axis(t, cosine, u));
}

vec3 warp_uniform_cone(tracer *t, ir_ref u1, ir_ref u2, ir_ref one_minus_cos)
{
    ir_func *f = t->f;
    ir_ref x = ir_mul(f, u1, one_minus_cos),
           sine = ir_sqrt(
               f,
               ir_mul(f, x, ir_sub(f, t_f32(t, 2), x))); /* of a narrow cone 1 - cos^2 has few digits left */
    return at_azimuth(t, sine, ir_sub(f, t_f32(t, 1), x), u2);
}

vec2 warp_triangle(tracer *t, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref root = t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), u1));
    return (vec2){ir_sub(f, t_f32(t, 1), root), ir_mul(f, root, u2)};
}

ir_ref warp_discrete_between(tracer *t, enum render_buffer buffer, ir_ref table, ir_ref first, ir_ref last,
                             ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), state[2] = {first, last};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], state[1]));
    ir_ref middle = ir_shr(f, ir_add(f, state[0], state[1]), one);
    ir_ref below = ir_lt(f, u, ir_load(f, IR_F32, buffer, ir_add(f, table, middle)));
    ir_ref next[2] = {ir_select(f, below, state[0], ir_add(f, middle, one)),
                      ir_select(f, below, middle, state[1])};
    ir_endloop(f, loop, next, 2);
    return state[0];
}

ir_ref warp_discrete(tracer *t, enum render_buffer buffer, ir_ref table, ir_ref count, ir_ref u)
{
    return warp_discrete_between(t, buffer, table, t_u32(t, 0), ir_sub(t->f, count, t_u32(t, 1)), u);
}

ir_ref warp_interval_begin(tracer *t, enum render_buffer buffer, ir_ref table, ir_ref k)
{
    ir_func *f = t->f;
    ir_ref before = ir_add(f, table, ir_sub(f, ir_max(f, k, t_u32(t, 1)), t_u32(t, 1)));
    return ir_select(f, ir_eq(f, k, t_u32(t, 0)), t_f32(t, 0), ir_load(f, IR_F32, buffer, before));
}

/* Where in interval k of a table of BUFFER_VALUES a number lies, 0 to 1. */
static ir_ref within(tracer *t, ir_ref table, ir_ref k, ir_ref at)
{
    ir_func *f = t->f;
    ir_ref low = warp_interval_begin(t, BUFFER_VALUES, table, k);
    return t_ratio(t, ir_sub(f, at, low),
                   ir_sub(f, ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, table, k)), low));
}

ir_ref warp_discrete_rest(tracer *t, ir_ref table, ir_ref count, ir_ref sum, ir_ref u, ir_ref *inside)
{
    ir_ref at = ir_mul(t->f, u, sum), k = warp_discrete(t, BUFFER_VALUES, table, count, at);
    *inside = within(t, table, k, at);
    return k;
}

/* u * steps is exact, and rounding keeps order, so the guide's entries on either side of u hold the interval
 * between them. */
ir_ref warp_guided_rest(tracer *t, const guided_table *g, ir_ref u, ir_ref *inside)
{
    ir_func *f = t->f;
    ir_ref at = ir_mul(f, u, g->sum),
           entry = ir_add(f, g->guide, ir_to_u32(f, ir_mul(f, u, ir_to_f32(f, g->steps))));
    ir_ref first = ir_to_u32(f, ir_load(f, IR_F32, BUFFER_VALUES, entry)),
           last = ir_to_u32(f, ir_load(f, IR_F32, BUFFER_VALUES, t_offset(t, entry, 1)));
    ir_ref k = warp_discrete_between(t, BUFFER_VALUES, g->table, first, last, at);
    *inside = within(t, g->table, k, at);
    return k;
}

ir_ref warp_guide_entry(tracer *t, ir_ref table, ir_ref count, ir_ref steps, ir_ref sum, ir_ref g)
{
    ir_func *f = t->f;
    ir_ref at = ir_mul(f, ir_div(f, ir_to_f32(f, g), ir_to_f32(f, steps)), sum);
    return ir_to_f32(f, warp_discrete(t, BUFFER_VALUES, table, count, at));
}
