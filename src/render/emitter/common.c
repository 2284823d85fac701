/* SPDX-License-Identifier: BSD-3-Clause
 * What several emitters share: means of textures for the power, bounds of lights on shapes, rays and power of
 * emitters at infinity. */
#include "render/classes.h"

enum {
    MEAN_SIDE = 8, /* points of the unit square along u and v */
    BOUND_U = 16,  /* the same for bounds: meshes choose a face by u */
    BOUND_V = 4
};

const char emitter_moving_border[] =
    "shadows, and the border of the cone, where the light ends at once, which move with it, are left out";
const char emitter_moving_shadows[] = "shadows, which move with it, are left out";

ir_ref emitter_no_density(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    (void)n, (void)record, (void)hit;
    return t_f32(t, 0);
}

bool emitter_plain(const class_node *n, const char *param)
{
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        if (strcmp(n->cls->plugin.params[k].name, param) == 0) {
            BL_ASSERT(n->param_child[k], "%s.%s is no texture", n->cls->plugin.name, param);
            return ((const texture_class *)n->param_child[k]->cls)->constant;
        }
    BL_ASSERT(false, "plugin %s has no parameter %s", n->cls->plugin.name, param);
}

ir_ref emitter_mean_over(tracer *of, const class_node *n, ir_ref record, const char *param,
                         emitter_light *light_at)
{
    tracer own = light_off_path(of), *t = &own;
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f);
    if (emitter_plain(n, param))
        return ir_abs(f, color_luminance(t, plan_texture(t, n, record, param, (vec2){half, half})));
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, side = t_u32(t, MEAN_SIDE),
           step = t_f32(t, 1.0f / MEAN_SIDE), loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, MEAN_SIDE * MEAN_SIDE)));
    ir_ref row = ir_div(f, state[0], side), column = ir_sub(f, state[0], ir_mul(f, row, side));
    vec2 uv = {ir_mul(f, ir_add(f, ir_to_f32(f, column), half), step),
               ir_mul(f, ir_add(f, ir_to_f32(f, row), half), step)};
    ir_ref light = ir_abs(f, color_luminance(t, light_at(t, n, record, param, uv)));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], t_u32(t, 1)), ir_add(f, state[1], light)}, 2);
    return ir_mul(f, state[1], t_f32(t, 1.0f / (MEAN_SIDE * MEAN_SIDE)));
}

ir_ref emitter_mean(tracer *t, const class_node *n, ir_ref record, const char *param)
{
    return emitter_mean_over(t, n, record, param, plan_texture);
}

/* Point number k (u32) of the shape, of BOUND_U * BOUND_V from border to border of the unit square. */
static interaction bound_point(tracer *t, const class_node *n, ir_ref record, ir_ref k)
{
    ir_func *f = t->f;
    const float below_one = 0x1.fffffep-1f;
    ir_ref row = ir_div(f, k, t_u32(t, BOUND_U)), column = ir_sub(f, k, ir_mul(f, row, t_u32(t, BOUND_U)));
    ir_ref u = ir_mul(f, ir_to_f32(f, column), t_f32(t, below_one / (BOUND_U - 1))),
           v = ir_mul(f, ir_to_f32(f, row), t_f32(t, below_one / (BOUND_V - 1)));
    return shape_kinds[n->variant]->point(t, t_word(t, record, n->extra_word + AREA_SHAPE_DATA), u, v);
}

emitter_bound emitter_shape_bound(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    const ir_ref none = t_u32(t, 0), one = t_u32(t, 1), most = t_u32(t, BOUND_U * BOUND_V),
                 zero = t_f32(t, 0), far = t_f32(t, 1e30f), near = t_f32(t, -1e30f);
    ir_ref s[10] = {none, far, far, far, near, near, near, zero, zero, zero}, loop = ir_loop(f, s, 10);
    ir_while(f, ir_lt(f, s[0], most));
    interaction at = bound_point(t, n, record, s[0]);
    vec3 normal = v3_normalize(t, at.ns);
    ir_ref next[10] = {ir_add(f, s[0], one),     ir_min(f, s[1], at.p.x),   ir_min(f, s[2], at.p.y),
                       ir_min(f, s[3], at.p.z),  ir_max(f, s[4], at.p.x),   ir_max(f, s[5], at.p.y),
                       ir_max(f, s[6], at.p.z),  ir_add(f, s[7], normal.x), ir_add(f, s[8], normal.y),
                       ir_add(f, s[9], normal.z)};
    ir_endloop(f, loop, next, 10);
    vec3 axis = v3(s[7], s[8], s[9]);
    ir_ref length = v3_length(t, axis), flat = ir_gt(f, length, t_f32(t, 1e-3f));
    axis =
        v3_select(t, flat, v3_scale(t, axis, t_ratio(t, t_f32(t, 1), length)), v3(zero, zero, t_f32(t, 1)));
    ir_ref c[2] = {none, t_f32(t, 1)}, around = ir_loop(f, c, 2);
    ir_while(f, ir_lt(f, c[0], most));
    normal = v3_normalize(t, bound_point(t, n, record, c[0]).ns);
    ir_endloop(f, around, (ir_ref[]){ir_add(f, c[0], one), ir_min(f, c[1], v3_dot(t, axis, normal))}, 2);
    return (emitter_bound){
        .least = v3(s[1], s[2], s[3]),
        .most = v3(s[4], s[5], s[6]),
        .axis = axis,
        .cos_spread = ir_select(f, flat, ir_max(f, c[1], t_f32(t, -1)), t_f32(t, -1)),
        .cos_reach = zero,
    };
}

emitter_ray emitter_far_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4])
{
    const render_scene *s = t->plan->scene;
    BL_ASSERT(!emitter_of(n)->on_shape, "%s is not at infinity", n->cls->plugin.name);
    const float pi = 3.14159265358979323846f, radius = s->radius * 1.0001f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), r = t_f32(t, radius);
    vec3 none = v3(zero, zero, zero),
         center = v3(t_f32(t, s->center[0]), t_f32(t, s->center[1]), t_f32(t, s->center[2]));
    emitter_sample toward = emitter_of(n)->sample(t, n, record, none, u[0], u[1]);
    frame fr = frame_around(t, toward.d);
    vec2 disk = warp_disk_concentric(t, u[2], u[3]);
    vec3 p = v3_add(t, center, v3_scale(t, frame_to_world(t, fr, v3(disk.x, disk.y, one)), r));
    ir_ref inverse = t_ratio(t, one, toward.pdf);
    return (emitter_ray){
        .p = p,
        .d = v3_neg(t, toward.d),
        .n = none,
        .uv = toward.uv,
        .weight = ir_mul(t->f, inverse, t_f32(t, pi * radius * radius)),
        .point_weight = emitter_of(n)->delta ? zero : inverse,
    };
}

ir_ref emitter_far_power(tracer *t, ir_ref radiance, ir_ref far)
{
    const float pi = 3.14159265358979323846f;
    ir_ref radius = ir_mul(t->f, ir_sub(t->f, far, t_f32(t, 1)), t_f32(t, 0.25f)); /* far: 4 radius + 1 */
    return ir_mul(t->f, ir_abs(t->f, radiance), ir_mul(t->f, t_sqr(t, radius), t_f32(t, pi * pi)));
}
