/* SPDX-License-Identifier: BSD-3-Clause
 * A point that radiates into a cone around local +z: intensity * texture(uv) * falloff(theta) / distance^2.
 * theta is the angle to the axis, and (Mitsuba)
 *
 *     falloff = 1 inside beam_width, 0 outside cutoff_angle, in between linear in the angle;
 *     uv = 1/2 + (x, y) / (2 z tan(cutoff_angle))  of the local direction.
 *
 * It is a delta light, so light can only be sampled from it. The uv of a sample is (theta, 0), and with a
 * texture it is (x, y) / z. The angles are parameters in degrees. Four values are derived from them: both
 * angles in radians, the slope and the cotangent. The kinks of the falloff move with the angles. This
 * contributes no gradient, because the falloff is continuous. With beam_width >= cutoff_angle the falloff
 * is a step at the cutoff, and the angles have no gradient; where that border moves with `to_world`, or over
 * what moves, it is sampled (spot_border). */
#include "render/emitter/pose.h"

enum {
    DERIVED_CUTOFF,
    DERIVED_BEAM,
    DERIVED_SLOPE,
    DERIVED_COTANGENT,
    DERIVED_INVERSE,
    DERIVED_COUNT = DERIVED_INVERSE + POSE_INVERSE
};
enum { PARAM_CUTOFF = 1, PARAM_BEAM, PARAM_TEXTURE, PARAM_TO_WORLD };

static void spot_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    ir_ref radians = t_f32(t, 0.017453292519943295769f);
    derived[DERIVED_CUTOFF] = ir_mul(t->f, plan_number(t, n, record, "cutoff_angle"), radians);
    derived[DERIVED_BEAM] = ir_mul(t->f, plan_number(t, n, record, "beam_width"), radians);
    derived[DERIVED_SLOPE] =
        t_ratio(t, t_f32(t, 1), ir_sub(t->f, derived[DERIVED_CUTOFF], derived[DERIVED_BEAM]));
    derived[DERIVED_COTANGENT] =
        t_ratio(t, ir_cos(t->f, derived[DERIVED_CUTOFF]), ir_sin(t->f, derived[DERIVED_CUTOFF]));
    pose_inverse(t, n, record, PARAM_TO_WORLD, derived + DERIVED_INVERSE);
}

static bool textured(const class_node *n) { return n->param_child[PARAM_TEXTURE]; }

static ir_ref derived_value(tracer *t, const class_node *n, ir_ref record, uint32_t k)
{
    return plan_derived(t, n, record, t_u32(t, k));
}

/* The angle of a vector (x, y, z) to the axis. On the axis the angle has no derivative, and this function
 * gives none. */
static ir_ref angle_to_axis(tracer *t, ir_ref x, ir_ref y, ir_ref z)
{
    return ir_atan2(t->f, ir_sqrt(t->f, ir_max(t->f, t_mad(t, x, x, t_sqr(t, y)), t_f32(t, 1e-20f))), z);
}

static emitter_sample spot_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                  ir_ref u2)
{
    (void)u1, (void)u2;
    ir_func *f = t->f;
    emitter_sample s = pose_sample(t, pose_column(t, n, record, PARAM_TO_WORLD, 3), ref);
    vec3 local = pose_to_local(t, n, record, DERIVED_INVERSE, v3_neg(t, s.d));
    ir_ref theta = angle_to_axis(t, local.x, local.y, local.z);
    s.facing = ir_lt(f, theta, derived_value(t, n, record, DERIVED_CUTOFF));
    s.uv = (vec2){theta, t_f32(t, 0)};
    if (textured(n)) {
        s.facing = ir_and(f, s.facing, ir_gt(f, local.z, t_f32(t, 0)));
        s.uv = (vec2){t_ratio(t, local.x, local.z), t_ratio(t, local.y, local.z)};
    }
    return s;
}

/* A ray that is uniform in the cone. `to_world` keeps angles. */
static emitter_ray spot_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4])
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0),
           narrow = ir_sub(f, t_f32(t, 1), ir_cos(f, derived_value(t, n, record, DERIVED_CUTOFF))), length;
    vec3 local = warp_uniform_cone(t, u[0], u[1], narrow);
    emitter_ray r = {
        .p = pose_column(t, n, record, PARAM_TO_WORLD, 3),
        .n = v3(zero, zero, zero),
        .uv = {angle_to_axis(t, local.x, local.y, local.z), zero},
    };
    r.d = pose_to_world(t, n, record, PARAM_TO_WORLD, local, &length);
    if (textured(n))
        r.uv = (vec2){t_ratio(t, local.x, local.z), t_ratio(t, local.y, local.z)};
    r.weight = ir_mul(f, narrow, t_f32(t, 2 * 3.14159265358979323846f)), r.point_weight = zero;
    return r;
}

static color spot_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                           ir_ref facing)
{
    ir_func *f = t->f;
    ir_ref cutoff = derived_value(t, n, record, DERIVED_CUTOFF),
           slope = derived_value(t, n, record, DERIVED_SLOPE), theta = uv.x;
    color r = plan_texture(t, n, record, "intensity", uv);
    if (textured(n)) {
        ir_ref half = t_f32(t, 0.5f), by = ir_mul(f, derived_value(t, n, record, DERIVED_COTANGENT), half);
        theta = angle_to_axis(t, uv.x, uv.y, t_f32(t, 1));
        r = color_mul(t, r,
                      plan_texture(t, n, record, "texture",
                                   (vec2){t_mad(t, uv.x, by, half), t_mad(t, uv.y, by, half)}));
    }
    ir_ref falloff = ir_mul(f, ir_sub(f, cutoff, theta), slope);
    falloff = ir_select(f, ir_le(f, theta, derived_value(t, n, record, DERIVED_BEAM)), t_f32(t, 1), falloff);
    falloff = ir_select(f, ir_and(f, facing, ir_lt(f, theta, cutoff)), falloff, t_f32(t, 0));
    return color_scale(t, r, ir_div(f, falloff, t_sqr(t, distance)));
}

/* The circle in which the cone ends, where it does not fade. Its angle is detached: by that the light has a
 * kink, since beam_width stays. */
static emitter_border spot_border(tracer *t, const class_node *n, ir_ref record, ir_ref u, float distance)
{
    ir_func *f = t->f;
    ir_ref theta = ir_detach(f, derived_value(t, n, record, DERIVED_CUTOFF)),
           beam = ir_detach(f, derived_value(t, n, record, DERIVED_BEAM)),
           phi = ir_mul(f, u, t_f32(t, 2 * 3.14159265358979323846f)), zero = t_f32(t, 0), length;
    ir_ref sine = ir_sin(f, theta), cosine = ir_cos(f, theta), x = ir_cos(f, phi), y = ir_sin(f, phi);
    ir_ref around = ir_mul(f, sine, t_f32(t, 2 * 3.14159265358979323846f * distance));
    vec3 d = pose_to_world(t, n, record, PARAM_TO_WORLD, v3(ir_mul(f, sine, x), ir_mul(f, sine, y), cosine),
                           &length);
    vec3 along = pose_to_world(t, n, record, PARAM_TO_WORLD, v3(ir_neg(f, y), x, zero), &length);
    ir_ref inward = ir_neg(f, cosine);
    return (emitter_border){
        .there = ir_and(f, ir_ge(f, beam, theta), ir_gt(f, sine, t_f32(t, 1e-6f))),
        .p = v3_add(t, pose_column(t, n, record, PARAM_TO_WORLD, 3), v3_scale(t, d, t_f32(t, distance))),
        .along = v3_scale(t, along, around),
        .light = pose_to_world(t, n, record, PARAM_TO_WORLD,
                               v3(ir_mul(f, inward, x), ir_mul(f, inward, y), sine), &length),
    };
}

/* The power of a light that is full up to the middle between both angles and dark from there on. */
static ir_ref spot_power(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    ir_ref middle = ir_mul(
        f, ir_add(f, derived_value(t, n, record, DERIVED_CUTOFF), derived_value(t, n, record, DERIVED_BEAM)),
        t_f32(t, 0.5f));
    ir_ref cone = ir_mul(f, ir_sub(f, t_f32(t, 1), ir_cos(f, middle)), t_f32(t, 2 * 3.14159265358979323846f));
    ir_ref power = ir_mul(f, emitter_mean(t, n, record, "intensity"), cone);
    return textured(n) ? ir_mul(f, power, emitter_mean(t, n, record, "texture")) : power;
}

static emitter_bound spot_bound(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref zero = t_f32(t, 0), length;
    vec3 axis = pose_to_world(t, n, record, PARAM_TO_WORLD, v3(zero, zero, t_f32(t, 1)), &length);
    return pose_bound(t, pose_column(t, n, record, PARAM_TO_WORLD, 3), axis,
                      ir_cos(t->f, derived_value(t, n, record, DERIVED_CUTOFF)));
}

static bl_result spot_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *texture = scene_get(o, "texture"), *cutoff = scene_get(o, "cutoff_angle"),
                      *beam = scene_get(o, "beam_width");
    if (texture->object && texture_is_constant(texture->object))
        return scene_error(
            err, BL_ERROR_SCENE, texture->where,
            "spot: \"texture\" must be an image or a pattern; the light's colour is \"intensity\"");
    if (texture->object && cutoff->number >= 90)
        return scene_error(err, BL_ERROR_SCENE, cutoff->where,
                           "spot: with a \"texture\", \"cutoff_angle\" must be below 90");
    if (!texture_is_constant(scene_get(o, "intensity")->object))
        return scene_error(err, BL_ERROR_SCENE, o->where, "spot: \"intensity\" must not be textured");
    TRY(pose_check(o, err));
    if (beam->given && beam->number > cutoff->number)
        return scene_error(err, BL_ERROR_SCENE, beam->where,
                           "spot: \"beam_width\" (%g) must not be above \"cutoff_angle\" (%g)", beam->number,
                           cutoff->number);
    if (!beam->given)
        s->values.data[s->parameters.data[render_find_parameter(s, o, PARAM_BEAM)].offset] =
            (float)(0.75 * cutoff->number);
    bool steps = texture->object && !emitter_texture_smooth(texture->object),
         sharp = beam->given && beam->number == cutoff->number; /* else the light fades towards the border */
    const char *own = steps && sharp ? "the texture's steps and the border of the cone"
                      : steps        ? "the texture's steps"
                                     : "the border of the cone, where the light ends at once";
    if (steps || sharp)
        s->parameters.data[render_find_parameter(s, o, PARAM_CUTOFF)].reason =
            arena_printf(&s->memory, "%s, which move with it, are left out", own);
    if (sharp)
        s->parameters.data[render_find_parameter(s, o, PARAM_BEAM)].reason =
            "the border of the cone, where the light ends at once, is left out: it fades where beam_width is "
            "less";
    s->parameters.data[render_find_parameter(s, o, PARAM_TO_WORLD)].reason =
        sharp && !steps ? emitter_moving_border
        : steps         ? arena_printf(&s->memory, "shadows, and %s, which move with it, are left out", own)
                        : emitter_moving_shadows;
    return BL_OK;
}

static const plugin_param spot_params[] = {
    {"intensity", PLUGIN_TEXTURED, PLUGIN_EMISSION | PLUGIN_INTENSITY, "1", 0, 0,
     "radiant intensity within the beam"},
    [PARAM_CUTOFF] = {"cutoff_angle", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "20", 0, 180,
                      "angle from the axis where the light ends, degrees"},
    [PARAM_BEAM] = {"beam_width", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE | PLUGIN_ABSENT, NULL, 0, 180,
                    "angle from the axis up to which it is full, degrees; 3/4 of cutoff_angle"},
    [PARAM_TEXTURE] = {"texture", PLUGIN_TEXTURED, PLUGIN_ABSENT | PLUGIN_INTENSITY, NULL, 0, 0,
                       "multiplies intensity; fills the square around the cone"},
    [PARAM_TO_WORLD] = {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
                        "light goes along its +z"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_spot = {
    .base = {.plugin = {PLUGIN_EMITTER, "spot", PLUGIN_TABLE(spot_params), PLUGIN_TABLE(emitter_slots),
                        "point light with a cone"},
             .load = spot_load,
             .derived_count = DERIVED_COUNT,
             .update = spot_update},
    .delta = true,
    .pose_params = 1u << PARAM_TO_WORLD,
    .sample = spot_sample,
    .radiance = spot_radiance,
    .pdf = emitter_no_density,
    .power = spot_power,
    .bound = spot_bound,
    .ray = spot_ray,
    .border = spot_border,
};
