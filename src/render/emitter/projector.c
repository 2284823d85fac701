/* SPDX-License-Identifier: BSD-3-Clause
 * An image that is thrown from a point along local +z, as a slide projector does. The image is oriented as
 * that of a perspective sensor (+x to the image's left, +y up). It is a delta light, so light can only be
 * sampled from it. Let (x, y, z) be the reference point in the projector's space and d the direction to it.
 * Then
 *
 *     value = pi * scale * irradiance(1/2 - x c / z, 1/2 - y c a / z) / (z^2 n.d)
 *
 * within the image, and 0 elsewhere (Mitsuba). Here c = 1 / (2 tan(half the horizontal field of view)), a
 * is the aspect of the image, and n is the image of the z axis. So a screen at z = 1 that faces the
 * projector receives pi times the image. The uv of a sample is (x, y) / z, so z^2 n.d = distance^2 n.q /
 * |q|^3 with q = to_world (uv, 1).
 *
 * The test whether a point lies within the image is detached: the border of the image, which moves with the
 * field of view and with to_world, is left out of the gradient. */
#include "render/emitter/pose.h"

enum { PARAM_IRRADIANCE, PARAM_SCALE, PARAM_FOV, PARAM_TO_WORLD };
enum { DERIVED_X, DERIVED_Y, DERIVED_INVERSE, DERIVED_COUNT = DERIVED_INVERSE + POSE_INVERSE };
enum { EXTRA_FACTOR, EXTRA_ASPECT, EXTRA_WORDS };

static const float pi = 3.14159265358979323846f;

static void projector_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    ir_func *f = t->f;
    ir_ref half = ir_mul(f, plan_number(t, n, record, "fov"), t_f32(t, pi / 360));
    ir_ref wide = ir_mul(f, ir_sin(f, half), t_real(t, record, n->extra_word + EXTRA_FACTOR));
    derived[DERIVED_X] = t_ratio(t, ir_mul(f, ir_cos(f, half), t_f32(t, 0.5f)), wide);
    derived[DERIVED_Y] = ir_mul(f, derived[DERIVED_X], t_real(t, record, n->extra_word + EXTRA_ASPECT));
    pose_inverse(t, n, record, PARAM_TO_WORLD, derived + DERIVED_INVERSE);
}

/* The place on the image for uv = (x, y) / z. */
static vec2 image_at(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f);
    return (vec2){ir_sub(f, half, ir_mul(f, uv.x, plan_derived(t, n, record, t_u32(t, DERIVED_X)))),
                  ir_sub(f, half, ir_mul(f, uv.y, plan_derived(t, n, record, t_u32(t, DERIVED_Y))))};
}

static ir_ref within(tracer *t, ir_ref v)
{
    return ir_and(t->f, ir_ge(t->f, v, t_f32(t, 0)), ir_le(t->f, v, t_f32(t, 1)));
}

static emitter_sample projector_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                       ir_ref u2)
{
    (void)u1, (void)u2;
    ir_func *f = t->f;
    vec3 position = pose_column(t, n, record, PARAM_TO_WORLD, 3);
    emitter_sample s = pose_sample(t, position, ref);
    vec3 local = pose_to_local(t, n, record, DERIVED_INVERSE, v3_neg(t, s.d));
    s.uv = (vec2){t_ratio(t, local.x, local.z), t_ratio(t, local.y, local.z)};
    vec2 at = image_at(t, n, record, s.uv);
    s.facing = ir_and(f, ir_gt(f, local.z, t_f32(t, 0)), ir_and(f, within(t, at.x), within(t, at.y)));
    return s;
}

/* A ray from a point that is uniform on the image. The image fills 1 / (X Y) of the plane z = 1 of the
 * projector's space, and an area dA of it there has the solid angle |det| dA / r^3 in the world. */
static emitter_ray projector_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4])
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), half = t_f32(t, 0.5f), one = t_f32(t, 1), length;
    ir_ref x = plan_derived(t, n, record, t_u32(t, DERIVED_X)),
           y = plan_derived(t, n, record, t_u32(t, DERIVED_Y));
    emitter_ray r = {.p = pose_column(t, n, record, PARAM_TO_WORLD, 3), .n = v3(zero, zero, zero)};
    r.uv = (vec2){ir_div(f, ir_sub(f, half, u[0]), x), ir_div(f, ir_sub(f, half, u[1]), y)};
    r.d = pose_to_world(t, n, record, PARAM_TO_WORLD, v3(r.uv.x, r.uv.y, one), &length);
    vec3 across = v3_cross(t, pose_column(t, n, record, PARAM_TO_WORLD, 0),
                           pose_column(t, n, record, PARAM_TO_WORLD, 1));
    ir_ref determinant = ir_abs(f, v3_dot(t, across, pose_column(t, n, record, PARAM_TO_WORLD, 2)));
    ir_ref cube = ir_mul(f, length, t_sqr(t, length));
    r.weight = ir_div(f, determinant, ir_mul(f, ir_mul(f, x, y), cube)), r.point_weight = zero;
    return r;
}

static color projector_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                                ir_ref facing)
{
    ir_func *f = t->f;
    vec3 axis = pose_column(t, n, record, PARAM_TO_WORLD, 2);
    vec3 q = v3_add(t, axis,
                    v3_add(t, v3_scale(t, pose_column(t, n, record, PARAM_TO_WORLD, 0), uv.x),
                           v3_scale(t, pose_column(t, n, record, PARAM_TO_WORLD, 1), uv.y)));
    ir_ref square = v3_dot(t, q, q), toward = ir_mul(f, v3_dot(t, axis, q), t_sqr(t, distance));
    ir_ref by = t_ratio(t, ir_mul(f, ir_mul(f, square, ir_sqrt(f, square)), t_f32(t, pi)), toward);
    by = ir_select(f, facing, ir_mul(f, by, plan_number(t, n, record, "scale")), t_f32(t, 0));
    return color_scale(t, plan_texture(t, n, record, "irradiance", image_at(t, n, record, uv)), by);
}

/* The power that a screen at z = 1 receives. Its size is 1 / (X Y), where a unit of it covers X Y of the
 * image. */
static ir_ref projector_power(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    ir_ref size = ir_mul(f, plan_derived(t, n, record, t_u32(t, DERIVED_X)),
                         plan_derived(t, n, record, t_u32(t, DERIVED_Y)));
    ir_ref light = ir_mul(f, emitter_mean(t, n, record, "irradiance"),
                          ir_mul(f, plan_number(t, n, record, "scale"), t_f32(t, pi)));
    return t_ratio(t, ir_abs(f, light), size);
}

/* The cone that holds the image's corners, where to_world keeps angles. */
static emitter_bound projector_bound(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref zero = t_f32(t, 0), half = t_f32(t, 0.5f), length;
    ir_ref x = t_ratio(t, half, plan_derived(t, n, record, t_u32(t, DERIVED_X))),
           y = t_ratio(t, half, plan_derived(t, n, record, t_u32(t, DERIVED_Y)));
    vec3 axis = pose_to_world(t, n, record, PARAM_TO_WORLD, v3(zero, zero, t_f32(t, 1)), &length),
         corner = v3_normalize(t, v3(x, y, t_f32(t, 1)));
    return pose_bound(t, pose_column(t, n, record, PARAM_TO_WORLD, 3), axis, corner.z);
}

static double aspect_of(const render_scene *s, const scene_object *o)
{
    uint32_t data = render_find_parameter(s, scene_get(o, "irradiance")->object, PLAN_DATA_SLOT);
    return data == PLAN_NONE ? 1
                             : (double)s->parameters.data[data].shape[1] / s->parameters.data[data].shape[0];
}

static bl_result projector_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(fov_check(o, err));
    TRY(pose_check(o, err));
    render_parameter *fov = &s->parameters.data[render_find_parameter(s, o, PARAM_FOV)];
    render_parameter *pose = &s->parameters.data[render_find_parameter(s, o, PARAM_TO_WORLD)];
    s->values.data[fov->offset] = (float)fov_read(o, 1).degrees; /* the degrees do not depend on the aspect */
    bool smooth = emitter_texture_smooth(scene_get(o, "irradiance")->object);
    fov->reason = smooth ? "the image's border, which moves with it, is left out"
                         : "steps and border of the image, which move with it, are left out";
    pose->reason = smooth ? "shadows and the image's border, which move with it, are left out"
                          : "shadows, steps and border of the image, which move with it, are left out";
    return BL_OK;
}

static void projector_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    double aspect = aspect_of(p->scene, o);
    words[EXTRA_FACTOR] = float_word((float)fov_read(o, aspect).factor);
    words[EXTRA_ASPECT] = float_word((float)aspect);
}

static const plugin_param projector_params[] = {
    [PARAM_IRRADIANCE] = {"irradiance", PLUGIN_TEXTURED, PLUGIN_EMISSION | PLUGIN_INTENSITY, "1", 0, 0,
                          "the image, over pi"},
    [PARAM_SCALE] = {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 0, "multiplies the image"},
    [PARAM_FOV] = {"fov", PLUGIN_FLOAT, PLUGIN_ABSENT | PLUGIN_DIFFERENTIABLE, NULL, 1e-3, 179.99,
                   "field of view in degrees"},
    [PARAM_TO_WORLD] = {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
                        "light goes along its +z"},
    {"focal_length", PLUGIN_STRING, PLUGIN_ABSENT, NULL, 0, 0,
     "instead of fov: 35 mm equivalent, e.g. 50mm (the default)"},
    {"fov_axis", PLUGIN_STRING, 0, "x", 0, 0, "x, y, diagonal, smaller or larger"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_projector = {
    .base = {.plugin = {PLUGIN_EMITTER, "projector", PLUGIN_TABLE(projector_params),
                        PLUGIN_TABLE(emitter_slots), "throws an image from a point"},
             .extra_words = EXTRA_WORDS,
             .load = projector_load,
             .extra = projector_extra,
             .derived_count = DERIVED_COUNT,
             .update = projector_update},
    .delta = true,
    .pose_params = 1u << PARAM_TO_WORLD,
    .sample = projector_sample,
    .radiance = projector_radiance,
    .pdf = emitter_no_density,
    .power = projector_power,
    .bound = projector_bound,
    .ray = projector_ray,
};
