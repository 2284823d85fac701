/* SPDX-License-Identifier: BSD-3-Clause
 * Flat disk. It is the image of the unit disk facing +z under any affine map, so in general an ellipse.
 *
 * An entry of the hierarchy holds the centre c and the images s, t of the x and y axes. A hit is kept as
 * the coordinates (a, b) of c + a s + b t, and it is inside where a^2 + b^2 <= 1. uv = (r, phi / 2 pi) of
 * (a, b). As a light the disk is sampled uniformly in area. Points that are uniform on the unit disk are
 * uniform on its image, because the map is affine. The area is pi |s x t|.
 *
 * The test whether a hit is inside is detached. Distance and coordinates of the hit are differentiated. */
#include "render/shape/area.h"
#include "render/shape/silhouette.h"

static const float pi = 3.14159265358979323846f;

/* ---- loading ---- */

/* The sign of the normal relative to s x t. The normal goes by the inverse transpose of to_world, which has
 * the sign of the determinant. */
static double normal_sign(const scene_object *o, double determinant)
{
    return (determinant < 0) != (scene_number(o, "flip_normals") != 0) ? -1 : 1;
}

static bl_result disk_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    /* The vector s x t. */
    double n[3] = {m[4] * m[9] - m[8] * m[5], m[8] * m[1] - m[0] * m[9], m[0] * m[5] - m[4] * m[1]};
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), determinant = matrix_determinant3(m);
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where, "disk: to_world must be affine (last row 0 0 0 1)");
    if (!(length > 0) || determinant == 0)
        return scene_error(err, BL_ERROR_SCENE, o->where, "disk: to_world is singular");
    if (!isfinite((float)((double)pi * length)))
        return scene_error(err, BL_ERROR_SCENE, o->where, "disk: to_world is too large");
    double sign = normal_sign(o, determinant);
    render_primitive p = {.entry[BVH_ENTRY_KIND] = SHAPE_DISK, .entry[BVH_ENTRY_SHAPE] = s->shapes.count};
    uint32_t words[DISK_WORDS];
    for (int k = 0; k < 3; k++) {
        double extent = sqrt(m[4 * k] * m[4 * k] + m[4 * k + 1] * m[4 * k + 1]), c = m[4 * k + 3];
        p.bounds[k] = nextafterf((float)(c - extent), -INFINITY),
        p.bounds[3 + k] = nextafterf((float)(c + extent), INFINITY);
        p.entry[k] = words[DISK_CENTER + k] = float_word((float)c);
        p.entry[3 + k] = words[DISK_S + k] = float_word((float)m[4 * k]);
        p.entry[6 + k] = words[DISK_T + k] = float_word((float)m[4 * k + 1]);
        words[DISK_NORMAL + k] = float_word((float)(sign * n[k] / length));
    }
    render_shape shape = {
        .object = o,
        .kind = SHAPE_DISK,
        .first_entry_primitive = s->primitives.count,
        .primitive_count = 1,
        .area = (float)((double)pi * length),
        .data = s->geometry.count,
    };
    for (int k = 0; k < DISK_WORDS; k++)
        array_push(&s->geometry, words[k]);
    array_push(&s->primitives, p);
    array_push(&s->shapes, shape);
    s->kind_used[SHAPE_DISK] = true;
    return BL_OK;
}

/* ---- traced ---- */

/* The line of a ray against the plane of the disk, as for a triangle (Moeller and Trumbore 1997). Infinite or
 * NaN for grazing rays. A ray that misses the disk by rounding meets the plane still. */
static void disk_follow(tracer *t, ir_ref entry, vec3 o, vec3 d, ir_ref at[3])
{
    ir_func *f = t->f;
    vec3 e1 = v3_load(t, entry, 3), e2 = v3_load(t, entry, 6), p = v3_cross(t, d, e2);
    ir_ref inverse = ir_div(f, t_f32(t, 1), v3_dot(t, e1, p));
    vec3 s = v3_sub(t, o, v3_load(t, entry, 0)), q = v3_cross(t, s, e1);
    at[1] = ir_mul(f, v3_dot(t, s, p), inverse);
    at[2] = ir_mul(f, v3_dot(t, d, q), inverse);
    at[0] = ir_mul(f, v3_dot(t, e2, q), inverse);
}

static void disk_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    disk_follow(t, entry, query->o, query->d, out);
    /* Every test fails for what is not finite. */
    ir_ref inside = ir_le(f, t_mad(t, out[1], out[1], t_sqr(t, out[2])), t_f32(t, 1));
    ir_ref hit = ir_and(f, inside, ir_and(f, ir_gt(f, out[0], query->tmin), ir_lt(f, out[0], query->tmax)));
    out[0] = ir_select(f, hit, out[0], query->tmax);
}

/* The texture coordinates of the coordinates (a, b). */
static vec2 disk_uv(tracer *t, ir_ref a, ir_ref b)
{
    return (vec2){ir_sqrt(t->f, t_mad(t, a, a, t_sqr(t, b))), t_turn(t, b, a)};
}

/* The point with the coordinates (a, b). */
static vec3 disk_point(tracer *t, ir_ref words, ir_ref a, ir_ref b)
{
    vec3 along =
        v3_add(t, v3_scale(t, v3_load(t, words, DISK_S), a), v3_scale(t, v3_load(t, words, DISK_T), b));
    return v3_add(t, v3_load(t, words, DISK_CENTER), along);
}

/* dp/du goes along the radius, and dp/dv round the centre. */
static void disk_tangents(tracer *t, ir_ref words, ir_ref a, ir_ref b, interaction *si)
{
    ir_func *f = t->f;
    vec3 s = v3_load(t, words, DISK_S), along = v3_load(t, words, DISK_T);
    ir_ref r = ir_sqrt(f, t_mad(t, a, a, t_sqr(t, b))), centre = ir_eq(f, r, t_f32(t, 0)),
           inverse = t_ratio(t, t_f32(t, 1), r);
    ir_ref x = ir_select(f, centre, t_f32(t, 1), ir_mul(f, a, inverse)), y = ir_mul(f, b, inverse),
           turn = t_f32(t, 2 * pi);
    si->dp_du = v3_add(t, v3_scale(t, s, x), v3_scale(t, along, y));
    si->dp_dv = v3_scale(t, v3_sub(t, v3_scale(t, along, a), v3_scale(t, s, b)), turn);
}

static void disk_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    si->p = disk_point(t, hit->data, hit->u, hit->v);
    si->ng = si->ns = v3_load(t, hit->data, DISK_NORMAL);
    si->uv = disk_uv(t, hit->u, hit->v);
    if (t->plan->needs & NEED_TANGENTS)
        disk_tangents(t, hit->data, hit->u, hit->v, si);
}

static interaction disk_at(tracer *t, ir_ref data, ir_ref u1, ir_ref u2)
{
    vec2 q = warp_disk_concentric(t, u1, u2);
    vec3 n = v3_load(t, data, DISK_NORMAL);
    return (interaction){.p = disk_point(t, data, q.x, q.y), .ng = n, .ns = n, .uv = disk_uv(t, q.x, q.y)};
}

static emitter_sample disk_sample(tracer *t, ir_ref data, ir_ref inverse_area, vec3 ref, ir_ref u1, ir_ref u2)
{
    interaction at = disk_at(t, data, u1, u2);
    return area_toward(t, inverse_area, ref, &at);
}

/* The inverse of warp_disk_concentric. The larger coordinate's side gives the signed radius, and the angle
 * from there, in quarters of pi, gives the other number. */
static vec2 disk_unit(tracer *t, ir_ref data, const emitter_hit *hit)
{
    (void)data;
    ir_func *f = t->f;
    vec2 at = hit->at;
    ir_ref wide = ir_gt(f, ir_abs(f, at.x), ir_abs(f, at.y)), half = t_f32(t, 0.5f);
    ir_ref along = ir_select(f, wide, at.x, at.y), across = ir_select(f, wide, at.y, at.x);
    ir_ref radius = ir_sqrt(f, t_mad(t, at.x, at.x, t_sqr(t, at.y)));
    ir_ref signed_radius = ir_select(f, ir_lt(f, along, t_f32(t, 0)), ir_neg(f, radius), radius);
    ir_ref angle = ir_atan2(f, t_ratio(t, ir_mul(f, across, along), t_sqr(t, along)), t_f32(t, 1));
    ir_ref other = ir_mul(f, signed_radius, ir_mul(f, angle, t_f32(t, 4 / pi)));
    ir_ref x = ir_select(f, wide, signed_radius, other), y = ir_select(f, wide, other, signed_radius);
    return (vec2){t_mad(t, x, half, half), t_mad(t, y, half, half)};
}

/* ---- silhouette ---- */

/* The border, whatever the viewpoint. */
static silhouette_point disk_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref turn = t_f32(t, 2 * pi), angle = ir_mul(f, at->along, turn), x = ir_cos(f, angle),
           y = ir_sin(f, angle), data = at->data;
    vec3 c = v3_load(t, data, DISK_CENTER), s = v3_load(t, data, DISK_S), e = v3_load(t, data, DISK_T);
    silhouette_point out = {.there = ir_bool(f, true), .closed = ir_bool(f, true), .crease = t_f32(t, 0)};
    out.out = v3_add(t, v3_scale(t, s, x), v3_scale(t, e, y)), out.p = v3_add(t, c, out.out);
    out.along = v3_scale(t, v3_sub(t, v3_scale(t, e, x), v3_scale(t, s, y)), turn);
    return out;
}

/* ---- moving: the normal's sign ---- */

/* Writes the sign of the normal relative to s x t. to_world gives all other numbers of the disk. */
static uint32_t disk_object_data(const render_scene *s, const render_shape *shape, float *own)
{
    (void)s;
    if (own)
        own[0] = (float)normal_sign(shape->object,
                                    matrix_determinant3(scene_get(shape->object, "to_world")->matrix));
    return 1;
}

static void disk_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                           transformed_primitive *out)
{
    ir_func *f = t->f;
    vec3 s = to_world->column[0], e = to_world->column[1], n = v3_cross(t, s, e);
    ir_ref length = v3_length(t, n);
    vec3_put(to_world->column[3], out->words + DISK_CENTER), vec3_put(s, out->words + DISK_S),
        vec3_put(e, out->words + DISK_T);
    memcpy(out->entry, out->words, 9 * sizeof *out->entry);
    vec3_put(v3_scale(t, n, t_ratio(t, t_real(t, at->object_data, 0), length)), out->words + DISK_NORMAL);
    for (int k = 0; k < 3; k++) {
        ir_ref c = out->words[DISK_CENTER + k], x = out->words[DISK_S + k], y = out->words[DISK_T + k];
        ir_ref reach = ir_sqrt(f, t_mad(t, x, x, t_sqr(t, y)));
        reach = ir_add(f, reach, ir_mul(f, ir_add(f, ir_abs(f, c), reach), t_f32(t, 1e-6f)));
        out->least[k] = ir_sub(f, c, reach), out->most[k] = ir_add(f, c, reach);
    }
    out->area = ir_mul(f, length, t_f32(t, pi));
    out->word_count = DISK_WORDS, out->entry_count = 9;
}

const shape_kind_class shape_kind_disk = {
    .name = "disk",
    .intersect = disk_intersect,
    .interact = disk_interact,
    .follow = disk_follow,
    .sample = disk_sample,
    .pdf = area_density,
    .point = disk_at,
    .unit = disk_unit,
    .silhouette = disk_silhouette,
    .object_data = disk_object_data,
    .transform = disk_transform,
};

static const plugin_param disk_params[] = {
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
     "object to world; any affine map"},
    SHAPE_ACCEPTED,
};
const shape_class shape_disk = {
    .base = {.plugin = {PLUGIN_SHAPE, "disk", PLUGIN_TABLE(disk_params), PLUGIN_TABLE(shape_slots),
                        "unit disk facing +z"},
             .load = disk_load},
};
