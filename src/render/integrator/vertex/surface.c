/* SPDX-License-Identifier: BSD-3-Clause
 * What describes the surface at a vertex, as results of `interact` and as arguments of materials: point,
 * normals and uv always; tangents and what materials may read besides (struct surface) only where some class
 * of the plan needs it (enum surface_need), so that other kernels stay as they are. */
#include "render/integrator/vertex/vertex.h"

static bool needed(const tracer *t, uint32_t what) { return (t->plan->needs & what) != 0; }
static bool light_needs(const tracer *t, uint32_t what) { return (t->plan->light_needs & what) != 0; }

/* ---- vectors in lists ---- */

typedef struct list {
    ir_ref *at;
    uint32_t count;
} list;

static void put3(list *l, vec3 v)
{
    l->at[l->count++] = v.x, l->at[l->count++] = v.y, l->at[l->count++] = v.z;
}
static vec3 get3(const ir_ref **at)
{
    vec3 v = v3((*at)[0], (*at)[1], (*at)[2]);
    *at += 3;
    return v;
}

/* ---- results of interact ---- */

uint32_t surface_pack(tracer *t, const interaction *si, ir_ref out[INTERACT_RESULTS])
{
    list l = {out, 0};
    put3(&l, si->p), put3(&l, si->ng), put3(&l, si->ns);
    out[l.count++] = si->uv.x, out[l.count++] = si->uv.y;
    if (needed(t, NEED_TANGENTS)) {
        frame around = frame_around(t, si->ng);
        put3(&l, ir_is_none(si->dp_du.x) ? around.s : si->dp_du);
        put3(&l, ir_is_none(si->dp_dv.x) ? around.t : si->dp_dv);
    }
    if (plan_hits_move(t->plan))
        out[l.count++] = si->b.x, out[l.count++] = si->b.y;
    return l.count;
}

void surface_unpack(tracer *t, const ir_ref *in, interaction *si)
{
    si->p = get3(&in), si->ng = get3(&in), si->ns = get3(&in);
    si->uv = (vec2){in[0], in[1]};
    in += 2;
    if (needed(t, NEED_TANGENTS))
        si->dp_du = get3(&in), si->dp_dv = get3(&in);
    if (plan_hits_move(t->plan))
        si->b = (vec2){in[0], in[1]};
}

/* ---- the local frame ---- */

/* Where dp/du is degenerate, or along the normal, any frame will do. */
frame surface_frame(tracer *t, const interaction *si)
{
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

/* ---- arguments of materials ---- */

surface surface_params(tracer *t)
{
    ir_func *f = t->f;
    surface s = {0};
    if (needed(t, NEED_SLOPES)) {
        ir_ref p[7];
        for (uint32_t k = 0; k < 7; k++)
            p[k] = ir_param(f, IR_F32);
        s.du = (vec2){p[0], p[1]}, s.dv = (vec2){p[2], p[3]}, s.ng = v3(p[4], p[5], p[6]);
    }
    if (needed(t, NEED_FACE)) {
        s.mesh = ir_param(f, IR_U32), s.face = ir_param(f, IR_U32);
        s.b.x = ir_param(f, IR_F32), s.b.y = ir_param(f, IR_F32);
    }
    if (needed(t, NEED_POSITION))
        s.p.x = ir_param(f, IR_F32), s.p.y = ir_param(f, IR_F32), s.p.z = ir_param(f, IR_F32);
    return s;
}

uint32_t surface_args(tracer *t, const interaction *si, frame fr, ir_ref out[SURFACE_ARGS])
{
    list l = {out, 0};
    if (needed(t, NEED_SLOPES)) {
        out[l.count++] = v3_dot(t, si->dp_du, fr.s), out[l.count++] = v3_dot(t, si->dp_du, fr.t);
        out[l.count++] = v3_dot(t, si->dp_dv, fr.s), out[l.count++] = v3_dot(t, si->dp_dv, fr.t);
        put3(&l, frame_to_local(t, fr, si->ng));
    }
    if (needed(t, NEED_FACE)) {
        out[l.count++] = t_word(t, si->shape, SHAPE_DATA), out[l.count++] = t_word(t, si->entry, 11);
        out[l.count++] = si->b.x, out[l.count++] = si->b.y;
    }
    if (needed(t, NEED_POSITION))
        put3(&l, si->p);
    return l.count;
}

/* ---- arguments of lights ---- */

surface surface_light_params(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    surface on = {0};
    if (light_needs(t, NEED_FACE)) {
        on.face = ir_param(f, IR_U32), on.b.x = ir_param(f, IR_F32), on.b.y = ir_param(f, IR_F32);
        if (emitter_of(n)->on_shape)
            on.mesh = t_word(t, record, n->extra_word + AREA_SHAPE_DATA);
    }
    if (light_needs(t, NEED_POSITION))
        on.p.x = ir_param(f, IR_F32), on.p.y = ir_param(f, IR_F32), on.p.z = ir_param(f, IR_F32);
    return on;
}

uint32_t surface_light_args(tracer *t, const surface *on, ir_ref out[LIGHT_ARGS])
{
    list l = {out, 0};
    if (light_needs(t, NEED_FACE))
        out[l.count++] = on->face, out[l.count++] = on->b.x, out[l.count++] = on->b.y;
    if (light_needs(t, NEED_POSITION))
        put3(&l, on->p);
    return l.count;
}

/* Elsewhere another light stands in, whose mesh may have fewer faces. */
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
