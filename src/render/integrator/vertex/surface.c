/* SPDX-License-Identifier: BSD-3-Clause
 * What describes the surface at a vertex. Point, normals and uv are there always. Tangents, and what
 * materials and lights may read besides (struct surface), are there only where some class of the plan needs
 * them (enum surface_need), so that kernels without such a class pay nothing. */
#include "render/integrator/vertex/vertex.h"

static bool needed(const tracer *t, uint32_t what) { return (t->plan->needs & what) != 0; }
static bool light_needs(const tracer *t, uint32_t what) { return (t->plan->light_needs & what) != 0; }

/* ---- what `interact` leaves open ---- */

void interaction_complete(tracer *t, interaction *si)
{
    if (!needed(t, NEED_TANGENTS))
        return;
    frame around = frame_around(t, si->ng);
    si->dp_du = ir_is_none(si->dp_du.x) ? around.s : si->dp_du;
    si->dp_dv = ir_is_none(si->dp_dv.x) ? around.t : si->dp_dv;
}

/* ---- the local frame ---- */

/* The frame of the shading normal, with s along dp/du. Where dp/du is degenerate, or along the normal, any
 * frame will do. */
frame surface_frame(tracer *t, const interaction *si)
{
    BL_ASSERT(!needed(t, NEED_TANGENTS) || ir_made(t->f, si->dp_du.x), "a surface without tangents");
    frame any = frame_around(t, si->ns);
    if (!needed(t, NEED_TANGENTS))
        return any;
    ir_func *f = t->f;
    vec3 across = v3_sub(t, si->dp_du, v3_scale(t, si->ns, v3_dot(t, si->ns, si->dp_du)));
    ir_ref square = v3_dot(t, across, across), whole = v3_dot(t, si->dp_du, si->dp_du);
    ir_ref good = ir_gt(f, square, ir_mul(f, whole, t_f32(t, 1e-12f)));
    ir_ref inverse = ir_div(f, t_f32(t, 1), ir_sqrt(f, ir_select(f, good, square, t_f32(t, 1))));
    vec3 s = v3_select(t, good, v3_scale(t, across, inverse), any.s);
    return (frame){s, v3_cross(t, si->ns, s), si->ns};
}

/* ---- what materials and lights read ---- */

surface surface_seen(tracer *t, const interaction *si, frame fr)
{
    BL_ASSERT(!needed(t, NEED_SLOPES) || ir_made(t->f, si->dp_dv.x), "slopes of a surface without tangents");
    surface s = {0};
    if (needed(t, NEED_SLOPES)) {
        s.du.x = v3_dot(t, si->dp_du, fr.s), s.du.y = v3_dot(t, si->dp_du, fr.t);
        s.dv.x = v3_dot(t, si->dp_dv, fr.s), s.dv.y = v3_dot(t, si->dp_dv, fr.t);
        s.ng = frame_to_local(t, fr, si->ng);
    }
    if (needed(t, NEED_FACE)) {
        BL_ASSERT(ir_made(t->f, si->entry), "the face of a surface without an entry");
        s.mesh = t_word(t, si->shape, SHAPE_DATA), s.face = t_word(t, si->entry, 11);
        s.b = si->b;
    }
    if (needed(t, NEED_POSITION))
        s.p = si->p;
    return s;
}

/* Where the surface carries no light, another light stands in, and its mesh may have fewer faces. So the face
 * is then 0. */
surface surface_of_light(tracer *t, const interaction *si, ir_ref is)
{
    surface on = {.p = si->p, .b = si->b};
    if (light_needs(t, NEED_FACE))
        on.face = ir_select(t->f, is, t_word(t, si->entry, 11), t_u32(t, 0));
    return on;
}

/* ---- where it moves ---- */

ir_ref solid_angle_of_area(tracer *t, vec3 from, vec3 point, vec3 n)
{
    ir_func *f = t->f;
    vec3 to = v3_sub(t, point, from);
    ir_ref square = v3_dot(t, to, to), distance = ir_sqrt(f, square);
    return ir_div(f, v3_dot(t, to, n), ir_mul(f, square, distance));
}

void carried_with_shape(tracer *t, ir_ref shape, ir_ref level, vec3 *point, vec3 *n)
{
    affine_map motion = to_world_motion_within(t, shape, level);
    *point = affine_point(t, &motion, *point), *n = affine_normal(t, &motion, *n);
}
