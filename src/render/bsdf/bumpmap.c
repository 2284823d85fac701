/* SPDX-License-Identifier: BSD-3-Clause
 * The normals of the surface p + scale h(uv) n, where h is a texture (Blinn 1978, "Simulation of wrinkled
 * surfaces"). Such a normal is the cross product of dp/du + n scale dh/du and dp/dv + n scale dh/dv. The
 * parts of dp/du and dp/dv along n do not count. The normal is turned to the side of the geometric normal, as
 * in Mitsuba. perturbed.c says what carries derivatives. */
#include "render/bsdf/perturbed.h"

static vec3 bumped_normal(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    const surface *at = t->surface;
    vec2 slope = plan_texture_slope(t, ctx->n, ctx->record, "nested_texture", ctx->uv);
    ir_ref scale = plan_number(t, ctx->n, ctx->record, "scale"), zero = t_f32(t, 0);
    vec3 du = v3(at->du.x, at->du.y, ir_mul(f, scale, slope.x)),
         dv = v3(at->dv.x, at->dv.y, ir_mul(f, scale, slope.y));
    vec3 normal = v3_cross(t, du, dv);
    ir_ref square = v3_dot(t, normal, normal),
           good = ir_gt(f, square, zero); /* where tangents are degenerate, the shading normal stays */
    normal = v3_scale(t, normal, ir_div(f, t_f32(t, 1), ir_sqrt(f, ir_select(f, good, square, t_f32(t, 1)))));
    ir_ref behind = ir_lt(f, v3_dot(t, at->ng, normal), zero);
    normal = v3_select(t, behind, v3_neg(t, normal), normal);
    return v3_select(t, good, normal, v3(zero, zero, t_f32(t, 1)));
}

static bl_result bumpmap_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *v = scene_get(o, "nested_texture");
    if (!((const texture_class *)(const void *)v->object->cls)->slope)
        return scene_error(err, BL_ERROR_UNSUPPORTED, v->where,
                           "bumpmap: a texture \"%s\" has no slopes to make bumps of", v->object->cls->name);
    return BL_OK;
}

static uint32_t bumpmap_needs(const class_node *n) { return perturbed_needs(n) | NEED_SLOPES; }

static const plugin_param bumpmap_params[] = {
    {"nested_texture", PLUGIN_TEXTURED, PLUGIN_REQUIRED | PLUGIN_SCALAR | PLUGIN_ANY_NAME, NULL, 0, 0,
     "heights; of a colour, its luminance"},
    {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 0, "factor of the heights"},
    PERTURBED_PARAMS,
};
const perturbed_class bsdf_bumpmap = {
    .bsdf = {.base = {.plugin = {PLUGIN_BSDF, "bumpmap", PLUGIN_TABLE(bumpmap_params),
                                 PLUGIN_TABLE(perturbed_slots),
                                 "a material with bumps from a texture of heights"},
                      .load = bumpmap_load,
                      .mark = perturbed_mark,
                      .variant = perturbed_variant,
                      .needs = bumpmap_needs},
             .sample = perturbed_sample,
             .pdf = perturbed_pdf,
             .value = perturbed_value,
             .polarized = perturbed_polarized,
             .albedo = bsdf_nested_albedo,
             .lobe_direction = perturbed_lobe_direction,
             .lobe_eta = perturbed_lobe_eta,
             .attached = perturbed_attached,
             .roughness = perturbed_roughness,
             .directions_move_by_uv = perturbed_directions_move_by_uv},
    .normal = bumped_normal,
};
