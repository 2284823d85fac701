/* SPDX-License-Identifier: BSD-3-Clause
 * The same value everywhere. A plain number or colour becomes this where a volume is wanted. Where a box is
 * needed, it is the unit cube, placed by to_world. The value is differentiated as a texture. */
#include "render/classes.h"

enum { CONST_VALUE };

static bl_result const_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    if (!texture_is_constant(scene_get(o, "value")->object))
        return scene_error(err, BL_ERROR_SCENE, o->where, "constvolume: \"value\" must not be textured");
    return BL_OK;
}

static color const_eval(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    ir_ref zero = t_f32(t, 0);
    (void)p;
    return plan_texture(t, n, record, "value", (vec2){zero, zero});
}

static void const_in_cube(tracer *t, const class_node *n, ir_ref record, const volume_place *at,
                          uint32_t count, ir_ref *out)
{
    BL_ASSERT(count <= 3, "%u channels of a constant", count);
    color value = const_eval(t, n, record, at->p);
    for (uint32_t c = 0; c < count; c++)
        out[c] = value.c[c];
}

static ir_ref const_with_slope(tracer *t, const class_node *n, ir_ref record, vec3 p, vec3 *slope)
{
    tracer raw = light_raw(t);
    *slope = v3_zero(t);
    return const_eval(&raw, n, record, p).c[0];
}

static bool const_grey(const class_node *n)
{
    return n->param_child[CONST_VALUE]->cls == &texture_constant.base &&
           n->param_child[CONST_VALUE]->variant == 1;
}

static ir_ref const_most(tracer *t, const class_node *n, ir_ref record, ir_ref lane, uint32_t lanes)
{
    const class_node *value = n->param_child[CONST_VALUE];
    (void)lanes;
    if (value->upsampled) {
        ir_ref range[2];
        plan_spectral_range(t, value, t_offset(t, record, n->field[CONST_VALUE]), t_u32(t, 0), range);
        return range[1];
    }
    return color_max(t, const_eval(t, n, record, v3(lane, lane, lane)));
}

static const plugin_param const_params[] = {
    [CONST_VALUE] = {"value", PLUGIN_TEXTURED, 0, "1", 0, 0, "the value"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "places the unit cube"},
};
const volume_class volume_constvolume = {
    .base = {.plugin = {PLUGIN_VOLUME, "constvolume", PLUGIN_TABLE(const_params), PLUGIN_NONE,
                        "the same value everywhere"},
             .load = const_load},
    .constant = true,
    .eval = const_eval,
    .in_cube = const_in_cube,
    .grey = const_grey,
    .most = const_most,
    .with_slope = const_with_slope,
};
