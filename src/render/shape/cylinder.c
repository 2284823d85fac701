/* SPDX-License-Identifier: BSD-3-Clause
 * Tube without caps, from p0 to p1 in object space. It is the unit tube around z, scaled, turned to p1 - p0
 * by Frame(axis) (Duff et al. 2017, which fixes where phi starts) and moved by to_world. to_world may turn,
 * mirror and scale the tube, but it may not shear it or make its section an ellipse.
 *
 * An entry of the hierarchy holds p0, the axis a = p1 - p0, the radius, and 1 / |a|^2. A hit is kept as the
 * height (0 .. 1) along the axis, and 0. uv = (phi / 2 pi, height). Normals point outwards. As a light the
 * tube is sampled uniformly in area (2 pi r |a|).
 *
 * The choice between the two roots is detached. The root itself is differentiated (cylinder_follow). */
#include "base/vector.h"
#include "render/shape/area.h"
#include "render/shape/silhouette.h"

static const float pi = 3.14159265358979323846f;

enum cylinder_word {
    CYLINDER_BASE,
    CYLINDER_S = 3 /* unit images of the local x axis (here) and y axis (CYLINDER_T) */,
    CYLINDER_T = 6,
    CYLINDER_AXIS = 9,
    CYLINDER_RADIUS = 12,
    CYLINDER_SIGN,
    CYLINDER_WORDS
};
enum { ENTRY_AXIS = 3, ENTRY_RADIUS = 6, ENTRY_INVERSE };

/* ---- loading ---- */

/* The first two axes of a right-handed frame around the unit vector n, the same as frame_around gives. */
static void frame_axes(const double n[3], double s[3], double t[3])
{
    double sign = n[2] >= 0 ? 1 : -1, a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    s[0] = 1 + sign * n[0] * n[0] * a, s[1] = sign * b, s[2] = -sign * n[0];
    t[0] = b, t[1] = sign + n[1] * n[1] * a, t[2] = -n[1];
}

typedef struct tube {
    /* s and t are as long as the radius. */
    double base[3], axis[3], s[3], t[3];
    double radius;
} tube;

/* The tube in object space. */
static tube own_tube(const scene_object *o)
{
    tube c = {.radius = scene_number(o, "radius")};
    double n[3];
    memcpy(c.base, scene_get(o, "p0")->vector, sizeof c.base);
    for (int k = 0; k < 3; k++)
        c.axis[k] = scene_get(o, "p1")->vector[k] - c.base[k];
    for (int k = 0; k < 3; k++)
        n[k] = c.axis[k] / sqrt(dot3(c.axis, c.axis));
    frame_axes(n, c.s, c.t);
    for (int k = 0; k < 3; k++)
        c.s[k] *= c.radius, c.t[k] *= c.radius;
    return c;
}

/* The tube in the world. Returns false if it is not round any more, or has no extent. */
static bool transform_tube(const scene_object *o, tube *out)
{
    const double *m = scene_get(o, "to_world")->matrix;
    const tube own = own_tube(o);
    matrix_apply(m, own.base, 1, out->base);
    matrix_apply(m, own.axis, 0, out->axis);
    matrix_apply(m, own.s, 0, out->s);
    matrix_apply(m, own.t, 0, out->t);
    out->radius = sqrt(dot3(out->s, out->s));
    double other = sqrt(dot3(out->t, out->t)), high = sqrt(dot3(out->axis, out->axis)),
           slack = 1e-4 * out->radius;
    return out->radius > 0 && high > 0 && fabs(out->radius - other) <= slack &&
           fabs(dot3(out->s, out->t)) <= slack * other && fabs(dot3(out->s, out->axis)) <= slack * high &&
           fabs(dot3(out->t, out->axis)) <= slack * high;
}

static bl_result cylinder_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    tube c;
    if (!(scene_number(o, "radius") > 0))
        return scene_error(err, BL_ERROR_SCENE, o->where, "cylinder: the radius must be positive");
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "cylinder: to_world must be affine (last row 0 0 0 1)");
    if (!transform_tube(o, &c))
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "cylinder: p0 and p1 must differ, and to_world must keep the section round and at "
                           "a right angle to the axis");
    double square = dot3(c.axis, c.axis), length = sqrt(square), area = 2 * (double)pi * c.radius * length;
    if (!isfinite((float)square) || !isfinite((float)area) || !((float)square > 0))
        return scene_error(err, BL_ERROR_SCENE, o->where, "cylinder: its size is out of range");
    render_primitive p = {.entry[BVH_ENTRY_KIND] = SHAPE_CYLINDER, .entry[BVH_ENTRY_SHAPE] = s->shapes.count};
    uint32_t words[CYLINDER_WORDS];
    for (int k = 0; k < 3; k++) {
        double extent =
            c.radius * sqrt(fmax(0, 1 - c.axis[k] * c.axis[k] / square)) + 1e-6 * (c.radius + length);
        double top = c.base[k] + c.axis[k];
        p.bounds[k] = nextafterf((float)(fmin(c.base[k], top) - extent), -INFINITY);
        p.bounds[3 + k] = nextafterf((float)(fmax(c.base[k], top) + extent), INFINITY);
        p.entry[k] = words[CYLINDER_BASE + k] = float_word((float)c.base[k]);
        p.entry[ENTRY_AXIS + k] = words[CYLINDER_AXIS + k] = float_word((float)c.axis[k]);
        words[CYLINDER_S + k] = float_word((float)(c.s[k] / c.radius));
        words[CYLINDER_T + k] = float_word((float)(c.t[k] / c.radius));
    }
    p.entry[ENTRY_RADIUS] = words[CYLINDER_RADIUS] = float_word((float)c.radius);
    p.entry[ENTRY_INVERSE] = float_word((float)(1 / square));
    words[CYLINDER_SIGN] = float_word(scene_number(o, "flip_normals") != 0 ? -1.0f : 1.0f);
    render_shape shape = {
        .object = o,
        .kind = SHAPE_CYLINDER,
        .first_entry_primitive = s->primitives.count,
        .primitive_count = 1,
        .area = (float)area,
        .data = s->geometry.count,
    };
    for (int k = 0; k < CYLINDER_WORDS; k++)
        array_push(&s->geometry, words[k]);
    array_push(&s->primitives, p);
    array_push(&s->shapes, shape);
    s->kind_used[SHAPE_CYLINDER] = true;
    return BL_OK;
}

/* ---- traced ---- */

/* Where the line of the ray meets the infinite tube: the distances, and the heights there, which are 0 at
 * p0 and 1 at p1. The roots are taken about the point of the ray nearest to the axis, as for the sphere,
 * but in the plane of the section. Returns a bool: there are roots. A ray along the axis divides by zero,
 * and then every test fails. */
static ir_ref cylinder_roots(tracer *t, ir_ref data, vec3 o, vec3 d, ir_ref at[2], ir_ref height[2])
{
    ir_func *f = t->f;
    vec3 axis = v3_load(t, data, ENTRY_AXIS), from = v3_sub(t, o, v3_load(t, data, 0));
    ir_ref r = t_real(t, data, ENTRY_RADIUS), inverse = t_real(t, data, ENTRY_INVERSE);
    ir_ref start = ir_mul(f, v3_dot(t, from, axis), inverse), slope = ir_mul(f, v3_dot(t, d, axis), inverse);
    vec3 from_flat = v3_sub(t, from, v3_scale(t, axis, start)),
         d_flat = v3_sub(t, d, v3_scale(t, axis, slope));
    ir_ref per = ir_div(f, t_f32(t, 1), v3_dot(t, d_flat, d_flat)),
           middle = ir_neg(f, ir_mul(f, v3_dot(t, d_flat, from_flat), per));
    vec3 nearest = v3_add(t, from_flat, v3_scale(t, d_flat, middle));
    ir_ref square = ir_mul(f, ir_sub(f, t_sqr(t, r), v3_dot(t, nearest, nearest)), per),
           half = t_safe_sqrt(t, square);
    at[0] = ir_sub(f, middle, half), at[1] = ir_add(f, middle, half);
    for (int k = 0; k < 2; k++)
        height[k] = t_mad(t, at[k], slope, start);
    return ir_ge(f, square, t_f32(t, 0));
}

static void cylinder_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), at[2], height[2], hit[2],
           pierced = cylinder_roots(t, entry, query->o, query->d, at, height);
    for (int k = 0; k < 2; k++) {
        ir_ref inside = ir_and(f, ir_ge(f, height[k], zero), ir_le(f, height[k], one));
        hit[k] = ir_and(f, inside, ir_and(f, ir_gt(f, at[k], query->tmin), ir_lt(f, at[k], query->tmax)));
    }
    ir_ref any = ir_and(f, pierced, ir_or(f, hit[0], hit[1]));
    out[0] = ir_select(f, any, ir_select(f, hit[0], at[0], at[1]), query->tmax);
    out[1] = ir_select(f, hit[0], height[0], height[1]);
    out[2] = zero;
}

static void cylinder_follow(tracer *t, ir_ref data, vec3 o, vec3 d, ir_ref at[3])
{
    ir_func *f = t->f;
    ir_ref root[2], height[2], there = cylinder_roots(t, data, o, d, root, height),
                               far = root_is_far(t, root[0], root[1], at[0]);
    at[0] = ir_select(f, there, ir_select(f, far, root[1], root[0]), at[0]);
    at[1] = ir_select(f, there, ir_select(f, far, height[1], height[0]), at[1]);
}

/* Sets p, the normals and uv of the point at `height`. out: the direction, of any length, from the axis to
 * the point. */
static void cylinder_point(tracer *t, ir_ref data, ir_ref height, vec3 out, interaction *si)
{
    vec3 n = v3_normalize(t, out), axis = v3_load(t, data, CYLINDER_AXIS),
         base = v3_load(t, data, CYLINDER_BASE);
    si->p = v3_add(t, v3_add(t, base, v3_scale(t, axis, height)),
                   v3_scale(t, n, t_real(t, data, CYLINDER_RADIUS)));
    si->ng = si->ns = v3_scale(t, n, t_real(t, data, CYLINDER_SIGN));
    vec3 s = v3_load(t, data, CYLINDER_S), e = v3_load(t, data, CYLINDER_T);
    ir_ref x = v3_dot(t, n, s), y = v3_dot(t, n, e);
    si->uv = (vec2){t_turn(t, y, x), height};
    if (t->plan->needs & NEED_TANGENTS) {
        ir_ref turn = ir_mul(t->f, t_f32(t, 2 * pi), t_real(t, data, CYLINDER_RADIUS));
        si->dp_du = v3_scale(t, v3_sub(t, v3_scale(t, e, x), v3_scale(t, s, y)), turn);
        si->dp_dv = axis;
    }
}

static void cylinder_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    vec3 at = v3_sub(t, v3_add(t, hit->o, v3_scale(t, hit->d, hit->t)), v3_load(t, hit->data, CYLINDER_BASE));
    /* Only the part of `at` in the plane of the section counts: p may be off along the axis. */
    vec3 s = v3_load(t, hit->data, CYLINDER_S), e = v3_load(t, hit->data, CYLINDER_T);
    cylinder_point(t, hit->data, hit->u,
                   v3_add(t, v3_scale(t, s, v3_dot(t, at, s)), v3_scale(t, e, v3_dot(t, at, e))), si);
}

static interaction cylinder_at(tracer *t, ir_ref data, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref phi = ir_mul(f, u1, t_f32(t, 2 * pi));
    vec3 s = v3_load(t, data, CYLINDER_S), e = v3_load(t, data, CYLINDER_T);
    interaction si = {0};
    cylinder_point(t, data, u2, v3_add(t, v3_scale(t, s, ir_cos(f, phi)), v3_scale(t, e, ir_sin(f, phi))),
                   &si);
    return si;
}

static emitter_sample cylinder_sample(tracer *t, ir_ref data, ir_ref inverse_area, vec3 ref, ir_ref u1,
                                      ir_ref u2)
{
    interaction at = cylinder_at(t, data, u1, u2);
    return area_toward(t, inverse_area, ref, &at);
}

/* The two numbers are angle and height, and these are the texture coordinates, too. */
static vec2 cylinder_unit(tracer *t, ir_ref data, const emitter_hit *hit)
{
    (void)t, (void)data;
    return hit->uv;
}

/* ---- silhouette ---- */

/* A quarter of the numbers each: the two lines along which planes through the viewpoint touch the tube, and
 * the two circles at its ends. */
static silhouette_point cylinder_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), four = ir_mul(f, at->along, t_f32(t, 4)),
           part = ir_floor(f, four), v = ir_sub(f, four, part), ends = ir_ge(f, part, t_f32(t, 2));
    ir_ref data = at->data;
    vec3 base = v3_load(t, data, CYLINDER_BASE), axis = v3_load(t, data, CYLINDER_AXIS),
         s = v3_load(t, data, CYLINDER_S), e = v3_load(t, data, CYLINDER_T),
         to = v3_sub(t, at->viewpoint, base);
    ir_ref r = t_real(t, data, CYLINDER_RADIUS), x = v3_dot(t, to, s), y = v3_dot(t, to, e);
    ir_ref distance = ir_sqrt(f, t_mad(t, x, x, t_sqr(t, y))), inverse = t_ratio(t, one, distance);
    ir_ref cosine = ir_min(f, ir_mul(f, r, inverse), one),
           sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    ir_ref outside = ir_gt(f, sine, zero);
    sine = ir_select(f, ir_eq(f, part, zero), sine, ir_neg(f, sine));
    x = ir_mul(f, x, inverse), y = ir_mul(f, y, inverse);
    ir_ref turn = t_f32(t, 2 * pi), angle = ir_mul(f, v, turn);
    ir_ref cx = ir_select(f, ends, ir_cos(f, angle), ir_sub(f, ir_mul(f, x, cosine), ir_mul(f, y, sine)));
    ir_ref cy = ir_select(f, ends, ir_sin(f, angle), ir_add(f, ir_mul(f, y, cosine), ir_mul(f, x, sine)));
    ir_ref top = ir_select(f, ir_eq(f, part, t_f32(t, 3)), one, zero), height = ir_select(f, ends, top, v);
    vec3 round = v3_add(t, v3_scale(t, s, cx), v3_scale(t, e, cy)),
         turned = v3_sub(t, v3_scale(t, e, cx), v3_scale(t, s, cy)),
         away = v3_scale(t, axis, ir_sub(f, ir_add(f, top, top), one));
    silhouette_point p = {.there = ir_or(f, ends, outside), .closed = ir_bool(f, true), .crease = zero};
    p.p = v3_add(t, v3_add(t, base, v3_scale(t, axis, height)), v3_scale(t, round, r));
    p.out = v3_select(t, ends, away, round);
    vec3 circle = v3_scale(t, turned, ir_mul(f, r, turn));
    p.along = v3_scale(t, v3_select(t, ends, circle, axis), t_f32(t, 4));
    return p;
}

/* ---- moving: the tube in its own space ---- */

/* Writes base, axis, s and t of the tube in object space. */
static uint32_t cylinder_object_data(const render_scene *s, const render_shape *shape, float *own)
{
    (void)s;
    const tube c = own_tube(shape->object);
    for (int k = 0; own && k < 3; k++)
        own[k] = (float)c.base[k], own[3 + k] = (float)c.axis[k], own[6 + k] = (float)c.s[k],
        own[9 + k] = (float)c.t[k];
    return 12;
}

/* Where to_world does not keep the tube round, the length of the mapped s is the radius. */
static void cylinder_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                               transformed_primitive *out)
{
    ir_func *f = t->f;
    ir_ref own = at->object_data;
    vec3 base = affine_point(t, to_world, v3_load(t, own, 0)),
         axis = affine_vector(t, to_world, v3_load(t, own, 3));
    vec3 s = affine_vector(t, to_world, v3_load(t, own, 6)),
         e = affine_vector(t, to_world, v3_load(t, own, 9)), top = v3_add(t, base, axis);
    ir_ref one = t_f32(t, 1), square = v3_dot(t, axis, axis), length = ir_sqrt(f, square),
           r = v3_length(t, s);
    vec3_put(base, out->words + CYLINDER_BASE), vec3_put(axis, out->words + CYLINDER_AXIS);
    vec3_put(v3_scale(t, s, t_ratio(t, one, r)), out->words + CYLINDER_S),
        vec3_put(v3_scale(t, e, t_ratio(t, one, v3_length(t, e))), out->words + CYLINDER_T);
    out->words[CYLINDER_RADIUS] = out->entry[ENTRY_RADIUS] = r;
    memcpy(out->entry, out->words + CYLINDER_BASE, 3 * sizeof *out->entry),
        memcpy(out->entry + ENTRY_AXIS, out->words + CYLINDER_AXIS, 3 * sizeof *out->entry);
    out->entry[ENTRY_INVERSE] = t_ratio(t, one, square);
    ir_ref ends[3];
    vec3_put(top, ends);
    for (int k = 0; k < 3; k++) {
        ir_ref a = out->words[CYLINDER_AXIS + k], b = out->words[CYLINDER_BASE + k],
               sine = t_safe_sqrt(t, ir_sub(f, one, t_ratio(t, t_sqr(t, a), square)));
        ir_ref reach =
            t_mad(t, r, sine, ir_mul(f, ir_add(f, ir_abs(f, b), ir_add(f, r, length)), t_f32(t, 2e-6f)));
        out->least[k] = ir_sub(f, ir_min(f, b, ends[k]), reach),
        out->most[k] = ir_add(f, ir_max(f, b, ends[k]), reach);
    }
    out->area = ir_mul(f, ir_mul(f, r, length), t_f32(t, 2 * pi));
    out->word_count = CYLINDER_SIGN, out->entry_count = 8;
}

const shape_kind_class shape_kind_cylinder = {
    .name = "cylinder",
    .intersect = cylinder_intersect,
    .interact = cylinder_interact,
    .sample = cylinder_sample,
    .pdf = area_density,
    .point = cylinder_at,
    .unit = cylinder_unit,
    .follow = cylinder_follow,
    .silhouette = cylinder_silhouette,
    .object_data = cylinder_object_data,
    .transform = cylinder_transform,
};

static const plugin_param cylinder_params[] = {
    {"p0", PLUGIN_POINT, 0, "0,0,0", 0, 0, "centre of one end"},
    {"p1", PLUGIN_POINT, 0, "0,0,1", 0, 0, "centre of the other"},
    {"radius", PLUGIN_FLOAT, 0, "1", 0, 1e30, "radius"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "normals point inwards"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
     "object to world; the section must stay round"},
    SHAPE_ACCEPTED,
};
const shape_class shape_cylinder = {
    .base = {.plugin = {PLUGIN_SHAPE, "cylinder", PLUGIN_TABLE(cylinder_params), PLUGIN_TABLE(shape_slots),
                        "tube without caps"},
             .load = cylinder_load},
};
