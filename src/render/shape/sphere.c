/* SPDX-License-Identifier: BSD-3-Clause
 * Analytic sphere. An entry of the hierarchy holds the centre and the radius. uv = (phi / 2 pi, theta / pi)
 * in object space. As a light, the sphere is sampled uniformly in the cone that it fills if it is seen from
 * outside. From inside it is sampled uniformly in area.
 *
 * The choice between the two roots is detached. The root itself is differentiated (sphere_follow). */
#include "render/shape/area.h"
#include "render/shape/silhouette.h"

static const float pi = 3.14159265358979323846f;

/* ---- loading ---- */

/* The uniform scale of the upper left 3x3, or 0 if the axes have different lengths. */
static double uniform_scale(const double m[16])
{
    double length[3];
    for (int c = 0; c < 3; c++)
        length[c] = sqrt(m[c] * m[c] + m[4 + c] * m[4 + c] + m[8 + c] * m[8 + c]);
    bool uniform =
        fabs(length[0] - length[1]) < 1e-4 * length[0] && fabs(length[0] - length[2]) < 1e-4 * length[0];
    return uniform ? length[0] : 0;
}

static bl_result sphere_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix, *c = scene_get(o, "center")->vector;
    double scale = uniform_scale(m), radius = scale * scene_number(o, "radius");
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "sphere: to_world must be affine (last row 0 0 0 1)");
    if (!(scale > 0))
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, o->where,
            "sphere: to_world must scale all axes alike and not be singular (a <rotate> about an "
            "axis that is not of length 1 shears, as in Mitsuba)");
    if (!(radius > 0))
        return scene_error(err, BL_ERROR_SCENE, o->where, "sphere: the radius must be positive");
    render_primitive p = {.entry[BVH_ENTRY_KIND] = SHAPE_SPHERE, .entry[BVH_ENTRY_SHAPE] = s->shapes.count};
    uint32_t words[SPHERE_WORDS + 1] = {0};
    double x[3];
    matrix_apply(m, c, 1, x);
    for (int k = 0; k < 3; k++) {
        p.bounds[k] = (float)(x[k] - radius * (1 + 1e-6)),
        p.bounds[3 + k] = (float)(x[k] + radius * (1 + 1e-6));
        p.entry[k] = words[SPHERE_CENTER + k] = float_word((float)x[k]);
        for (int j = 0; j < 3; j++) /* the inverse of a rotation times scale is its transpose over scale^2 */
            words[SPHERE_ROTATION + 3 * k + j] = float_word((float)(m[4 * j + k] / scale));
    }
    p.entry[3] = words[SPHERE_RADIUS] = float_word((float)radius);
    /* A matrix that mirrors turns the sphere inside out (Mitsuba). */
    bool flips = scene_number(o, "flip_normals") != 0, mirrors = matrix_determinant3(m) < 0;
    words[SPHERE_SIGN] = float_word(flips != mirrors ? -1.0f : 1.0f);
    render_shape shape = {
        .object = o,
        .kind = SHAPE_SPHERE,
        .first_entry_primitive = s->primitives.count,
        .primitive_count = 1,
        .area = (float)(4 * (double)pi * radius * radius),
        .data = s->geometry.count,
    };
    for (int k = 0; k < SPHERE_WORDS; k++)
        array_push(&s->geometry, words[k]);
    array_push(&s->primitives, p);
    array_push(&s->shapes, shape);
    s->kind_used[SHAPE_SPHERE] = true;
    return BL_OK;
}

/* ---- traced ---- */

/* The roots of |o + t d - c|^2 = r^2, taken about the point of the ray nearest to the centre. This keeps
 * precision for distant spheres (Haines et al. 2019, Ray Tracing Gems, chapter 7). Returns a bool: there
 * are roots. */
static ir_ref sphere_roots(tracer *t, ir_ref data, vec3 o, vec3 d, ir_ref *near, ir_ref *far)
{
    ir_func *f = t->f;
    vec3 c = v3_load(t, data, 0);
    ir_ref r = t_real(t, data, 3);
    vec3 to = v3_sub(t, c, o);
    ir_ref middle = v3_dot(t, to, d), per = {0};
    bool levels = t->plan->scene->has_groups; /* with groups d may have any length */
    if (levels) {
        per = ir_div(f, t_f32(t, 1), v3_dot(t, d, d));
        middle = ir_mul(f, middle, per);
    }
    vec3 nearest = v3_sub(t, v3_scale(t, d, middle), to);
    ir_ref square = ir_sub(f, t_sqr(t, r), v3_dot(t, nearest, nearest));
    ir_ref half = t_safe_sqrt(t, levels ? ir_mul(f, square, per) : square);
    *near = ir_sub(f, middle, half), *far = ir_add(f, middle, half);
    return ir_ge(f, square, t_f32(t, 0));
}

static void sphere_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref near, far, there = sphere_roots(t, entry, query->o, query->d, &near, &far);
    ir_ref hit_t = ir_select(f, ir_gt(f, near, query->tmin), near, far);
    ir_ref hit = ir_and(f, there, ir_and(f, ir_gt(f, hit_t, query->tmin), ir_lt(f, hit_t, query->tmax)));
    out[0] = ir_select(f, hit, hit_t, query->tmax);
    out[1] = out[2] = t_f32(t, 0);
}

/* Follows the root that is the known hit. The ray may by now begin on either side of the surface. */
static void sphere_follow(tracer *t, ir_ref data, vec3 o, vec3 d, ir_ref at[3])
{
    ir_func *f = t->f;
    ir_ref near, far, there = sphere_roots(t, data, o, d, &near, &far);
    ir_ref root = ir_select(f, root_is_far(t, near, far, at[0]), far, near);
    at[0] = ir_select(f, there, root, at[0]);
}

static vec2 sphere_uv(tracer *t, ir_ref data, vec3 n)
{
    ir_func *f = t->f;
    ir_ref x = v3_dot(t, v3_load(t, data, SPHERE_ROTATION), n),
           y = v3_dot(t, v3_load(t, data, SPHERE_ROTATION + 3), n);
    ir_ref z = v3_dot(t, v3_load(t, data, SPHERE_ROTATION + 6), n);
    return (vec2){t_turn(t, y, x), ir_mul(f, ir_acos(f, t_clamp(t, z, -1, 1)), t_f32(t, 1 / pi))};
}

/* The rows of the rotation are the object's axes X, Y, Z. x, y, z is n along them. dp/du goes round Z, and
 * dp/dv from the pole +Z to the other pole. */
static void sphere_tangents(tracer *t, ir_ref entry, ir_ref data, vec3 n, interaction *si)
{
    ir_func *f = t->f;
    vec3 axis[3];
    ir_ref at[3];
    for (uint32_t k = 0; k < 3; k++) {
        axis[k] = v3_load(t, data, SPHERE_ROTATION + 3 * k);
        at[k] = v3_dot(t, axis[k], n);
    }
    ir_ref radius = t_real(t, entry, 3), sine = t_safe_sqrt(t, t_mad(t, at[0], at[0], t_sqr(t, at[1])));
    vec3 out = v3_add(t, v3_scale(t, axis[0], at[0]), v3_scale(t, axis[1], at[1])); /* its length is sine */
    vec3 round = v3_sub(t, v3_scale(t, axis[1], at[0]), v3_scale(t, axis[0], at[1]));
    vec3 down = v3_sub(t, v3_scale(t, out, t_ratio(t, at[2], sine)), v3_scale(t, axis[2], sine));
    si->dp_du = v3_scale(t, round, ir_mul(f, radius, t_f32(t, 2 * pi)));
    si->dp_dv = v3_scale(t, down, ir_mul(f, radius, t_f32(t, pi)));
}

static void sphere_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    vec3 c = v3_load(t, hit->entry, 0);
    vec3 n = v3_normalize(t, v3_sub(t, v3_add(t, hit->o, v3_scale(t, hit->d, hit->t)), c));
    /* The point is put back onto the sphere. */
    si->p = v3_add(t, c, v3_scale(t, n, t_real(t, hit->entry, 3)));
    si->ng = si->ns = v3_scale(t, n, t_real(t, hit->data, SPHERE_SIGN));
    si->uv = sphere_uv(t, hit->data, n);
    if (t->plan->needs & NEED_TANGENTS)
        sphere_tangents(t, hit->entry, hit->data, n, si);
}

/* 1 - cos of the half angle under which the sphere appears. sine2 is the square of the sine of that angle,
 * at most 1 from outside. The form is stable for small angles. */
static ir_ref one_minus_cos(tracer *t, ir_ref sine2)
{
    ir_func *f = t->f;
    ir_ref cosine = t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), sine2));
    return ir_div(f, sine2, ir_add(f, t_f32(t, 1), cosine));
}

/* The density of a direction in the cone: 1 over its solid angle, which is 2 pi omc. omc is 1 - cos of the
 * half angle. */
static ir_ref cone_pdf(tracer *t, ir_ref omc) { return t_ratio(t, t_f32(t, 0.5f / pi), omc); }

/* The cosine of the angle at which a ray that u has sampled in the cone meets the sphere. It is 0 at the
 * horizon. From points it could not be told near there, because it would be the difference of two squares
 * that are almost the same; and derivatives there are divided by it. */
static ir_ref cone_cosine(tracer *t, ir_ref u, ir_ref omc)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2), whole = ir_sub(f, two, omc);
    ir_ref square = ir_mul(f, ir_sub(f, one, u), ir_sub(f, two, ir_mul(f, omc, ir_add(f, one, u))));
    return ir_sqrt(f, ir_div(f, square, whole));
}

static emitter_sample sphere_sample(tracer *t, ir_ref data, ir_ref inverse_area, vec3 ref, ir_ref u1,
                                    ir_ref u2)
{
    ir_func *f = t->f;
    vec3 c = v3_load(t, data, SPHERE_CENTER), to = v3_sub(t, c, ref);
    ir_ref r = t_real(t, data, SPHERE_RADIUS), one = t_f32(t, 1), zero = t_f32(t, 0),
           sign = t_real(t, data, SPHERE_SIGN);
    ir_ref distance2 = v3_dot(t, to, to), sine2 = t_ratio(t, t_sqr(t, r), distance2);
    ir_ref outside = ir_and(f, ir_lt(f, sine2, t_f32(t, 0.9999f)), ir_gt(f, distance2, zero));
    /* from outside: choose a direction in the cone, and take the nearer intersection */
    ir_ref omc = one_minus_cos(t, ir_min(f, sine2, one));
    frame fr =
        frame_around(t, v3_scale(t, to, ir_div(f, one, ir_sqrt(f, ir_max(f, distance2, t_f32(t, 1e-30f))))));
    vec3 d_out = frame_to_world(t, fr, warp_uniform_cone(t, u1, u2, omc));
    ir_ref middle = v3_dot(t, to, d_out);
    /* the vector from the centre to the point where the ray comes nearest to it */
    vec3 nearest = v3_sub(t, v3_scale(t, d_out, middle), to);
    ir_ref cosine = cone_cosine(t, u1, omc), t_out = ir_sub(f, middle, ir_mul(f, r, cosine));
    ir_ref length = ir_max(f, v3_length(t, nearest), t_f32(t, 1e-20f)),
           sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    vec3 n_out = v3_sub(t, v3_scale(t, nearest, ir_div(f, sine, length)), v3_scale(t, d_out, cosine));
    /* from inside: choose a point uniformly in area */
    vec3 n_in = warp_uniform_sphere(t, u1, u2), p_in = v3_add(t, c, v3_scale(t, n_in, r)),
         to_in = v3_sub(t, p_in, ref);
    ir_ref t_in = ir_max(f, v3_length(t, to_in), t_f32(t, 1e-20f));
    vec3 d_in = v3_scale(t, to_in, ir_div(f, one, t_in));
    ir_ref pdf_in = t_ratio(t, ir_mul(f, t_sqr(t, t_in), inverse_area), ir_abs(f, v3_dot(t, d_in, n_in)));
    emitter_sample s = {
        .d = v3_select(t, outside, d_out, d_in),
        .distance = ir_select(f, outside, t_out, t_in),
        .pdf = ir_select(f, outside, cone_pdf(t, omc), pdf_in),
    };
    vec3 n = v3_select(t, outside, n_out, n_in);
    s.facing = ir_lt(f, ir_mul(f, v3_dot(t, s.d, n), sign), zero);
    s.uv = sphere_uv(t, data, n), s.n = n;
    return s;
}

static ir_ref sphere_pdf(tracer *t, ir_ref data, ir_ref inverse_area, const emitter_hit *hit)
{
    ir_func *f = t->f;
    vec3 to = v3_sub(t, v3_load(t, data, SPHERE_CENTER), hit->ref);
    ir_ref distance2 = v3_dot(t, to, to),
           sine2 = t_ratio(t, t_sqr(t, t_real(t, data, SPHERE_RADIUS)), distance2);
    ir_ref outside = ir_and(f, ir_lt(f, sine2, t_f32(t, 0.9999f)), ir_gt(f, distance2, t_f32(t, 0)));
    ir_ref inside_pdf = area_density(t, data, inverse_area, hit);
    return ir_select(f, outside, cone_pdf(t, one_minus_cos(t, ir_min(f, sine2, t_f32(t, 1)))), inside_pdf);
}

static interaction sphere_point(tracer *t, ir_ref data, ir_ref u1, ir_ref u2)
{
    vec3 n = warp_uniform_sphere(t, u1, u2);
    vec3 out = v3_scale(t, n, t_real(t, data, SPHERE_SIGN));
    return (interaction){
        .p = v3_add(t, v3_load(t, data, SPHERE_CENTER), v3_scale(t, n, t_real(t, data, SPHERE_RADIUS))),
        .ng = out,
        .ns = out,
        .uv = sphere_uv(t, data, n)};
}

/* ---- silhouette ---- */

/* The circle in which the cone from the viewpoint touches the sphere. From inside there is none. */
static silhouette_point sphere_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    vec3 c = v3_load(t, at->data, SPHERE_CENTER), to = v3_sub(t, at->viewpoint, c);
    ir_ref r = t_real(t, at->data, SPHERE_RADIUS), one = t_f32(t, 1), distance = v3_length(t, to),
           angle = ir_mul(f, at->along, t_f32(t, 2 * pi));
    ir_ref cosine = ir_min(f, t_ratio(t, r, distance), one),
           sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine))), radius = ir_mul(f, r, sine);
    frame fr = frame_around(t, v3_scale(t, to, t_ratio(t, one, distance)));
    ir_ref x = ir_cos(f, angle), y = ir_sin(f, angle);
    vec3 round = v3_add(t, v3_scale(t, fr.s, x), v3_scale(t, fr.t, y));
    silhouette_point s = {.there = ir_gt(f, sine, t_f32(t, 0)), .closed = ir_bool(f, true)};
    s.out = v3_add(t, v3_scale(t, round, radius), v3_scale(t, fr.n, ir_mul(f, r, cosine)));
    s.p = v3_add(t, c, s.out), s.crease = t_f32(t, 0);
    vec3 turned = v3_sub(t, v3_scale(t, fr.t, x), v3_scale(t, fr.s, y));
    s.along = v3_scale(t, turned, ir_mul(f, radius, t_f32(t, 2 * pi)));
    return s;
}

/* ---- moving: centre and radius in its own space ---- */

/* Writes centre and radius in object space. */
static uint32_t sphere_object_data(const render_scene *s, const render_shape *shape, float *own)
{
    (void)s;
    for (int k = 0; own && k < 3; k++)
        own[k] = (float)scene_get(shape->object, "center")->vector[k];
    if (own)
        own[3] = (float)scene_number(shape->object, "radius");
    return 4;
}

/* Where to_world does not scale all axes alike, the root mean square of their lengths scales the radius. */
static void sphere_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                             transformed_primitive *out)
{
    ir_func *f = t->f;
    ir_ref own = at->object_data;
    const vec3 *m = to_world->column;
    ir_ref square = ir_add(f, v3_dot(t, m[0], m[0]), ir_add(f, v3_dot(t, m[1], m[1]), v3_dot(t, m[2], m[2])));
    ir_ref scale = ir_sqrt(f, ir_mul(f, square, t_f32(t, 1.0f / 3))), r = ir_mul(f, t_real(t, own, 3), scale),
           by = t_ratio(t, t_f32(t, 1), scale);
    vec3_put(affine_point(t, to_world, v3_load(t, own, 0)), out->words + SPHERE_CENTER);
    out->words[SPHERE_RADIUS] = r;
    for (int k = 0; k < 3; k++) /* the inverse of a rotation is its transpose */
        vec3_put(v3_scale(t, m[k], by), out->words + SPHERE_ROTATION + 3 * k);
    memcpy(out->entry, out->words, 4 * sizeof *out->entry);
    for (int k = 0; k < 3; k++) {
        ir_ref c = out->words[k],
               reach = ir_add(f, r, ir_mul(f, ir_add(f, ir_abs(f, c), r), t_f32(t, 1e-6f)));
        out->least[k] = ir_sub(f, c, reach), out->most[k] = ir_add(f, c, reach);
    }
    out->area = ir_mul(f, t_sqr(t, r), t_f32(t, 4 * pi));
    out->word_count = SPHERE_SIGN, out->entry_count = 4;
}

const shape_kind_class shape_kind_sphere = {
    .name = "sphere",
    .intersect = sphere_intersect,
    .interact = sphere_interact,
    .sample = sphere_sample,
    .pdf = sphere_pdf,
    .point = sphere_point,
    .unit = NULL /* there is no map of the unit square: only the part that faces the reference is sampled */,
    .follow = sphere_follow,
    .silhouette = sphere_silhouette,
    .object_data = sphere_object_data,
    .transform = sphere_transform,
    .moves = MOVES_AS_SPHERE,
};

static const plugin_param sphere_params[] = {
    {"center", PLUGIN_POINT, 0, "0,0,0", 0, 0, "centre"},
    {"radius", PLUGIN_FLOAT, 0, "1", 0, 1e30, "radius"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "normals point inwards"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "object to world; uniform scale"},
    SHAPE_ACCEPTED,
};
const shape_class shape_sphere = {.base = {.plugin = {PLUGIN_SHAPE, "sphere", PLUGIN_TABLE(sphere_params),
                                                      PLUGIN_TABLE(shape_slots), "sphere"},
                                           .load = sphere_load}};
