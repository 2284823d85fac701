/* SPDX-License-Identifier: BSD-3-Clause
 * Textures without data of their own: constant, which plain numbers and colours become, and checkerboard. */
#include "render/classes.h"

enum { CONSTANT_VALUE };

/* The variant is 1 if the value is one number. */
static uint32_t constant_variant(const render_scene *s, const scene_object *o)
{
    return s->parameters.data[render_find_parameter(s, o, CONSTANT_VALUE)].count == 1;
}

static uint32_t constant_colours(const render_scene *s, const scene_object *o)
{
    return !constant_variant(s, o);
}

static void constant_colour(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref rgb[3])
{
    (void)k;
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = plan_load(t, n, record, n->field[CONSTANT_VALUE], CONSTANT_VALUE, t_u32(t, c));
}

static color constant_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    (void)uv;
    if (n->variant)
        return plan_grey(t, n,
                         plan_load(t, n, record, n->field[CONSTANT_VALUE], CONSTANT_VALUE, t_u32(t, 0)));
    if (t->light == LIGHT_SPECTRAL)
        return plan_spectral(t, n, record, t_u32(t, 0));
    return plan_color(t, n, record, "value");
}

/* The texture as a number is the mean of the channels (Mitsuba), where images take the luminance. */
static ir_ref constant_eval_1(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    color c = constant_eval(t, n, record, uv);
    return n->variant ? c.c[0] : color_mean(t, c);
}

vec2 texture_no_slope(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    (void)n, (void)record, (void)uv;
    return (vec2){t_f32(t, 0), t_f32(t, 0)};
}

static const plugin_param constant_params[] = {
    {"value", PLUGIN_COLOR, PLUGIN_REQUIRED | PLUGIN_DIFFERENTIABLE, NULL, 0, 0, "linear RGB"},
};
const texture_class texture_constant = {
    .base = {.plugin = {PLUGIN_TEXTURE, "constant", PLUGIN_TABLE(constant_params), PLUGIN_NONE,
                        "the same colour everywhere"},
             .variant = constant_variant,
             .colours = constant_colours,
             .colour = constant_colour},
    .constant = true,
    .eval = constant_eval,
    .eval_1 = constant_eval_1,
    .slope = texture_no_slope,
};

bool texture_is_constant(const scene_object *texture)
{
    return ((const texture_class *)(const void *)texture->cls)->constant;
}

/* Applies the affine part of to_uv. Its two rows stand from `word` of the record on. */
vec2 texture_transform(tracer *t, ir_ref record, uint32_t word, vec2 uv)
{
    ir_ref m[6];
    for (uint32_t k = 0; k < 6; k++)
        m[k] = t_real(t, record, word + k);
    return (vec2){t_mad(t, m[0], uv.x, t_mad(t, m[1], uv.y, m[2])),
                  t_mad(t, m[3], uv.x, t_mad(t, m[4], uv.y, m[5]))};
}

/* Writes the six words of texture_transform: of the first two rows of to_uv the columns x, y and
 * translation. The translation is the last of four columns. A <matrix> of nine numbers has no translation:
 * its third column is that of z (Mitsuba). */
void texture_transform_words(const scene_object *o, uint32_t *words)
{
    const double *m = scene_get(o, "to_uv")->matrix;
    for (int r = 0; r < 2; r++) {
        float row[3] = {(float)m[4 * r], (float)m[4 * r + 1], (float)m[4 * r + 3]};
        memcpy(words + 3 * r, row, sizeof row);
    }
}

/* bool: the fractions of both coordinates lie on the same side of one half */
static ir_ref same_side(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    vec2 p = texture_transform(t, record, n->extra_word, uv);
    ir_ref half = t_f32(t, 0.5f);
    ir_ref x = ir_gt(f, ir_sub(f, p.x, ir_floor(f, p.x)), half),
           y = ir_gt(f, ir_sub(f, p.y, ir_floor(f, p.y)), half);
    return ir_eq(f, x, y);
}

/* As a colour, cells on the same side show color0 and others color1. As a number (an opacity) it is the
 * opposite (Mitsuba). */
static color checkerboard_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_ref same = same_side(t, n, record, uv);
    return color_select(t, same, plan_texture(t, n, record, "color0", uv),
                        plan_texture(t, n, record, "color1", uv));
}

static ir_ref checkerboard_eval_1(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_ref same = same_side(t, n, record, uv);
    return ir_select(t->f, same, plan_texture_1(t, n, record, "color1", uv),
                     plan_texture_1(t, n, record, "color0", uv));
}

static void checkerboard_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    texture_transform_words(o, words);
}

static const plugin_param checkerboard_params[] = {
    {"color0", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE | PLUGIN_PATTERN, ".4", 0, 0, "colour of the first cells"},
    {"color1", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE | PLUGIN_PATTERN, ".2", 0, 0, "colour of the others"},
    {"to_uv", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "applied to texture coordinates"},
};
const texture_class texture_checkerboard = {
    .base = {.plugin = {PLUGIN_TEXTURE, "checkerboard", PLUGIN_TABLE(checkerboard_params), PLUGIN_NONE,
                        "two colours in a 2x2 pattern per unit of uv"},
             .extra_words = 6,
             .extra = checkerboard_extra},
    .eval = checkerboard_eval,
    .eval_1 = checkerboard_eval_1,
};
