/* SPDX-License-Identifier: BSD-3-Clause
 * A material in a turned frame, for normal maps and bump maps. The nested material sees wi and wo in the
 * frame of the new normal n'. The first axis of that frame is the first axis of the shading frame, made
 * orthogonal to n'. The rules are those of Mitsuba 3.9:
 *
 *   flip    Where wi lies on different sides of the planes of the two normals, n' is turned by half a turn
 *           about the old normal.
 *   sides   A direction wo on different sides of the two planes is no sample, and its value is 0.
 *   shadow  Values are multiplied by 2 / (1 + sqrt(1 + a^2 tan^2 wo)) with a^2 = min(1, tan^2 n' / 8). Both
 *           angles are angles to the old normal. This is the shadowing of a rough surface that would spread
 *           its normals as far (Estevez, Lecocq and Stein 2019, Ray Tracing Gems, chapter 12).
 *
 * Derivatives by the texture are those of the nested value, of the shadow and of the frame, at fixed
 * directions. The direction of a discrete nested lobe turns with n', too (integrator/motion/attached_path.c).
 * So does the direction of a nested lobe that is attached. */
#include "render/bsdf/perturbed.h"

enum { VARIANT_FLIP = 1, VARIANT_SHADOW = 2 };

typedef struct perturbed_frame {
    frame frame;         /* the frame of n', in coordinates of the shading frame */
    bsdf_context nested; /* the context for the nested material, with wi in that frame */
} perturbed_frame;

static perturbed_frame frame_of(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    vec3 normal = ((const perturbed_class *)(const void *)ctx->n->cls)->normal(ctx);
    if (ctx->n->variant & VARIANT_FLIP) {
        ir_ref away = ir_le(f, ir_mul(f, ctx->wi.z, v3_dot(t, ctx->wi, normal)), t_f32(t, 0));
        normal.x = ir_select(f, away, ir_neg(f, normal.x), normal.x),
        normal.y = ir_select(f, away, ir_neg(f, normal.y), normal.y);
    }
    /* e_x - n' (n' . e_x), of length sqrt(1 - n'.x^2). Where n' lies along e_x this is 0, and another axis
     * takes its place. */
    vec3 s = v3_sub(t, v3(t_f32(t, 1), t_f32(t, 0), t_f32(t, 0)), v3_scale(t, normal, normal.x));
    ir_ref square = v3_dot(t, s, s), good = ir_gt(f, square, t_f32(t, 1e-12f));
    ir_ref inverse = ir_div(f, t_f32(t, 1), ir_sqrt(f, ir_select(f, good, square, t_f32(t, 1))));
    s = v3_select(t, good, v3_scale(t, s, inverse), v3(t_f32(t, 0), t_f32(t, 1), t_f32(t, 0)));
    perturbed_frame r = {.nested = bsdf_nested(ctx, 0)};
    r.frame = (frame){s, v3_cross(t, normal, s), normal};
    r.nested.wi = frame_to_local(t, r.frame, ctx->wi);
    return r;
}

/* bool: a direction lies on the same side of both planes. a, b: the direction in the two frames. */
static ir_ref same_side(tracer *t, vec3 a, vec3 b)
{
    return ir_gt(t->f, ir_mul(t->f, a.z, b.z), t_f32(t, 0));
}

/* tan^2 of the angle whose cosine is given. */
static ir_ref square_tangent(tracer *t, ir_ref cosine)
{
    ir_func *f = t->f;
    ir_ref square = t_sqr(t, ir_max(f, ir_abs(f, cosine), t_f32(t, 1e-6f)));
    return ir_div(f, ir_max(f, ir_sub(f, t_f32(t, 1), square), t_f32(t, 0)), square);
}

/* The factor `shadow` of the head. */
static ir_ref shadow(tracer *t, vec3 normal, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1),
           alpha2 = ir_min(f, one, ir_mul(f, t_f32(t, 0.125f), square_tangent(t, normal.z)));
    ir_ref root = ir_sqrt(f, t_mad(t, alpha2, square_tangent(t, wo.z), one));
    return ir_div(f, t_f32(t, 2), ir_add(f, one, root));
}

bsdf_sample perturbed_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    perturbed_frame r = frame_of(ctx);
    bsdf_sample s = bsdf_of(r.nested.n)->sample(&r.nested, u_lobe, u1, u2);
    vec3 wo = frame_to_world(t, r.frame, s.wo);
    s.pdf = ir_select(t->f, same_side(t, s.wo, wo), s.pdf, t_f32(t, 0));
    s.wo = wo;
    return s;
}

ir_ref perturbed_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    perturbed_frame r = frame_of(ctx);
    vec3 inner = frame_to_local(t, r.frame, wo);
    ir_ref pdf = bsdf_of(r.nested.n)->pdf(&r.nested, inner);
    return ir_select(t->f, same_side(t, inner, wo), pdf, t_f32(t, 0));
}

color perturbed_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    perturbed_frame r = frame_of(ctx);
    vec3 inner = frame_to_local(t, r.frame, wo);
    color value = bsdf_of(r.nested.n)->value(&r.nested, inner, delta, lobe);
    if (ctx->n->variant & VARIANT_SHADOW)
        value = color_scale(t, value, shadow(t, r.frame.n, wo));
    return color_select(t, same_side(t, inner, wo), value, color_all(t_f32(t, 0)));
}

bsdf_polarized perturbed_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    perturbed_frame r = frame_of(ctx);
    vec3 inner = frame_to_local(t, r.frame, wo);
    bsdf_polarized p = bsdf_polarize(&r.nested, inner, delta, lobe);
    ir_ref factor =
        ir_select(t->f, same_side(t, inner, wo),
                  ctx->n->variant & VARIANT_SHADOW ? shadow(t, r.frame.n, wo) : t_f32(t, 1), t_f32(t, 0));
    for (uint32_t c = 0; c < t->channels; c++)
        p.m[c] = mueller_scale(t, &p.m[c], factor);
    p.axis = frame_to_world(t, r.frame, p.axis);
    return p;
}

uint32_t perturbed_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return (scene_number(o, "flip_invalid_normals") != 0 ? VARIANT_FLIP : 0u) |
           (scene_number(o, "use_shadowing_function") != 0 ? VARIANT_SHADOW : 0u);
}

vec3 perturbed_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    perturbed_frame r = frame_of(ctx);
    return frame_to_world(t, r.frame, bsdf_lobe_direction(&r.nested, lobe));
}

ir_ref perturbed_lobe_eta(const bsdf_context *ctx, ir_ref lobe)
{
    perturbed_frame r = frame_of(ctx);
    return bsdf_lobe_eta(&r.nested, lobe);
}

/* This is true even where the texture is the same everywhere, because the frame follows dp/du. */
bool perturbed_directions_move_by_uv(const scene_object *o)
{
    (void)o;
    return true;
}

void perturbed_mark(render_scene *s, const scene_object *o)
{
    if (bsdf_directions_move(s, o))
        render_turns_all(s, o);
    render_reason_all(s, o, render_turned_normals);
}

bsdf_attached perturbed_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    perturbed_frame r = frame_of(ctx);
    bsdf_draw inner = *draw;
    inner.wo = frame_to_local(t, r.frame, draw->wo);
    bsdf_attached a = bsdf_attach(&r.nested, &inner);
    a.wo = frame_to_world(t, r.frame, a.wo);
    return a;
}

ir_ref perturbed_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    perturbed_frame r = frame_of(ctx);
    return bsdf_roughness(&r.nested, lobe);
}

uint32_t perturbed_needs(const class_node *n)
{
    (void)n;
    return NEED_TANGENTS;
}
