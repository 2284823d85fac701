/* SPDX-License-Identifier: BSD-3-Clause
 * A point that radiates into a cone around local +z: intensity * texture(uv) * falloff(theta) / distance^2, with theta the angle to the
 * axis and (Mitsuba)
 *
 *     falloff = 1 inside beam_width, 0 outside cutoff_angle, in between linear in the angle;
 *     uv = 1/2 + (x, y) / (2 z tan(cutoff_angle))  of the local direction.
 *
 * A delta light: sampled only. The sample's uv is (theta, 0), with a texture (x, y) / z. The angles are parameters in degrees; derived from
 * them are the angles in radians, the slope and the cotangent. That the falloff's kinks move contributes no gradient, because it is
 * continuous. With beam_width >= cutoff_angle it is a step at the cutoff, and its angles have no gradient. */
#include "render/classes.h"

enum { WORD_POSITION, WORD_TO_LOCAL = 3, SPOT_WORDS = 12 };
enum { DERIVED_CUTOFF, DERIVED_BEAM, DERIVED_SLOPE, DERIVED_COTANGENT, DERIVED_COUNT };
enum { PARAM_CUTOFF = 1, PARAM_BEAM, PARAM_TEXTURE };

static void spot_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    ir_ref radians = t_f32(t, 0.017453292519943295769f);
    derived[DERIVED_CUTOFF] = ir_mul(t->f, plan_number(t, n, record, "cutoff_angle"), radians);
    derived[DERIVED_BEAM] = ir_mul(t->f, plan_number(t, n, record, "beam_width"), radians);
    derived[DERIVED_SLOPE] = t_ratio(t, t_f32(t, 1), ir_sub(t->f, derived[DERIVED_CUTOFF], derived[DERIVED_BEAM]));
    derived[DERIVED_COTANGENT] = t_ratio(t, ir_cos(t->f, derived[DERIVED_CUTOFF]), ir_sin(t->f, derived[DERIVED_CUTOFF]));
}

static bool textured(const class_node *n) { return n->param_child[PARAM_TEXTURE]; }

static ir_ref derived_value(tracer *t, const class_node *n, ir_ref record, uint32_t k) { return plan_derived(t, n, record, t_u32(t, k)); }

/* Unit; d points away from the light. */
static vec3 to_local(tracer *t, const class_node *n, ir_ref record, vec3 d)
{
    uint32_t rows = n->extra_word + WORD_TO_LOCAL;
    return v3_normalize(t, v3(v3_dot(t, v3_load(t, record, rows), d), v3_dot(t, v3_load(t, record, rows + 3), d),
                              v3_dot(t, v3_load(t, record, rows + 6), d)));
}

static emitter_sample spot_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2)
{
    (void)u1, (void)u2;
    ir_func *f = t->f;
    vec3 to = v3_sub(t, v3_load(t, record, n->extra_word + WORD_POSITION), ref);
    ir_ref distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    vec3 d = v3_scale(t, to, ir_div(f, t_f32(t, 1), distance));
    vec3 local = to_local(t, n, record, v3_neg(t, d));
    ir_ref theta = ir_acos(f, t_clamp(t, local.z, -1, 1)), lit = ir_lt(f, theta, derived_value(t, n, record, DERIVED_CUTOFF));
    vec2 uv = {theta, t_f32(t, 0)};
    if (textured(n)) {
        lit = ir_and(f, lit, ir_gt(f, local.z, t_f32(t, 0)));
        uv = (vec2){t_ratio(t, local.x, local.z), t_ratio(t, local.y, local.z)};
    }
    return (emitter_sample){d, distance, t_f32(t, 1), uv, lit};
}

static color spot_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing)
{
    ir_func *f = t->f;
    ir_ref cutoff = derived_value(t, n, record, DERIVED_CUTOFF), slope = derived_value(t, n, record, DERIVED_SLOPE), theta = uv.x;
    color r = plan_texture(t, n, record, "intensity", uv);
    if (textured(n)) {
        ir_ref half = t_f32(t, 0.5f), by = ir_mul(f, derived_value(t, n, record, DERIVED_COTANGENT), half);
        theta = ir_atan2(f, ir_sqrt(f, t_mad(t, uv.x, uv.x, t_sqr(t, uv.y))), t_f32(t, 1));
        r = color_mul(t, r, plan_texture(t, n, record, "texture", (vec2){t_mad(t, uv.x, by, half), t_mad(t, uv.y, by, half)}));
    }
    ir_ref falloff = ir_mul(f, ir_sub(f, cutoff, theta), slope);
    falloff = ir_select(f, ir_le(f, theta, derived_value(t, n, record, DERIVED_BEAM)), t_f32(t, 1), falloff);
    falloff = ir_select(f, ir_and(f, facing, ir_lt(f, theta, cutoff)), falloff, t_f32(t, 0));
    return color_scale(t, r, ir_div(f, falloff, t_sqr(t, distance)));
}

static ir_ref spot_pdf(tracer *t, const class_node *n, ir_ref record, vec3 ref, vec3 d, ir_ref distance, vec3 normal, vec2 uv)
{
    (void)n, (void)record, (void)ref, (void)d, (void)distance, (void)normal, (void)uv;
    return t_f32(t, 0);
}

static void cross3(const double *a, const double *b, double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Rows of the inverse of the matrix with these columns, times its determinant, which is returned. */
static double adjugate(const double *matrix, double rows[3][3])
{
    double column[3][3];
    for (int k = 0; k < 9; k++)
        column[k % 3][k / 3] = matrix[4 * (k / 3) + k % 3];
    for (int k = 0; k < 3; k++)
        cross3(column[(k + 1) % 3], column[(k + 2) % 3], rows[k]);
    return column[0][0] * rows[0][0] + column[0][1] * rows[0][1] + column[0][2] * rows[0][2];
}

static void spot_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    const double *matrix = scene_get(o, "to_world")->matrix;
    double rows[3][3], determinant = adjugate(matrix, rows);
    for (int k = 0; k < 3; k++)
        words[WORD_POSITION + k] = float_word((float)matrix[4 * k + 3]);
    for (int k = 0; k < 9; k++)
        words[WORD_TO_LOCAL + k] = float_word((float)(rows[k / 3][k % 3] / determinant));
}

/* A texture that has no steps. */
static bool smooth(const scene_object *texture)
{
    return texture->cls == &texture_bitmap.base.plugin && strcmp(scene_get(texture, "filter_type")->text, "bilinear") == 0;
}

static bl_result spot_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *texture = scene_get(o, "texture"), *cutoff = scene_get(o, "cutoff_angle"), *beam = scene_get(o, "beam_width");
    double rows[3][3];
    if (texture->object && texture->object->cls == &texture_constant.base.plugin)
        return scene_error(err, BL_ERROR_SCENE, texture->where, "spot: \"texture\" must be an image or a pattern; the light's colour is \"intensity\"");
    if (texture->object && cutoff->number >= 90)
        return scene_error(err, BL_ERROR_SCENE, cutoff->where, "spot: with a \"texture\", \"cutoff_angle\" must be below 90");
    if (scene_get(o, "intensity")->object->cls != &texture_constant.base.plugin)
        return scene_error(err, BL_ERROR_SCENE, o->where, "spot: \"intensity\" must not be textured");
    if (!(fabs(adjugate(scene_get(o, "to_world")->matrix, rows)) > 0))
        return scene_error(err, BL_ERROR_SCENE, scene_get(o, "to_world")->where, "spot: \"to_world\" has no inverse");
    if (beam->given && beam->number > cutoff->number)
        return scene_error(err, BL_ERROR_SCENE, beam->where, "spot: \"beam_width\" (%g) must not be above \"cutoff_angle\" (%g)", beam->number,
                           cutoff->number);
    if (!beam->given)
        s->values.data[s->parameters.data[render_find_parameter(s, o, PARAM_BEAM)].offset] = (float)(0.75 * cutoff->number);
    if (texture->object && !smooth(texture->object))
        s->parameters.data[render_find_parameter(s, o, PARAM_CUTOFF)].reason = "the texture has steps, which move with it";
    return BL_OK;
}

static const plugin_param spot_params[] = {
    {"intensity", PLUGIN_TEXTURED, PLUGIN_EMISSION | PLUGIN_INTENSITY, "1", 0, 0, "radiant intensity within the beam"},
    [PARAM_CUTOFF] = {"cutoff_angle", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "20", 0, 180, "angle from the axis where the light ends, degrees"},
    [PARAM_BEAM] = {"beam_width", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE | PLUGIN_ABSENT, NULL, 0, 180,
                    "angle from the axis up to which it is full, degrees; 3/4 of cutoff_angle"},
    [PARAM_TEXTURE] = {"texture", PLUGIN_TEXTURED, PLUGIN_ABSENT | PLUGIN_INTENSITY, NULL, 0, 0, "multiplies intensity; fills the square around the cone"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "light goes along its +z"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "accepted if 1"},
};
const emitter_class emitter_spot = {
    .base = {.plugin = {PLUGIN_EMITTER, "spot", spot_params, 6, NULL, 0, "point light with a cone"},
             .extra_words = SPOT_WORDS,
             .load = spot_load,
             .extra = spot_extra,
             .derived_count = DERIVED_COUNT,
             .update = spot_update},
    .delta = true,
    .sample = spot_sample,
    .radiance = spot_radiance,
    .pdf = spot_pdf,
};
