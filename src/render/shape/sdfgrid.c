/* SPDX-License-Identifier: BSD-3-Clause
 * sdfgrid: the zero level set of a grid of signed distances. The samples fill [0,1]^3 of object space and
 * are interpolated trilinearly. A primitive is a voxel that the surface passes through. uv is (0, 0)
 * everywhere, and the shape cannot be a light (Mitsuba).
 *
 * Along a ray the interpolant of a voxel is a cubic (Hansson-Soederlund, Evans, Akenine-Moeller 2022, Ray
 * Tracing of Signed Distance Function Grids, section 3.1). The zeros of its derivative cut the ray's way
 * through the voxel into monotonic parts. The first part whose ends have different signs holds the hit.
 * Newton's method finds it there and is kept inside a bracket that shrinks. The coordinate across a face
 * where the ray enters or leaves the voxel is made exactly 0 or 1. So neighbours see the same sign there,
 * and no ray slips between them.
 *
 * The iteration is not differentiated: sdf_follow says how a known hit depends on the ray. The samples
 * themselves are not parameters.
 *
 * Normals. The geometric normal is the gradient of the voxel's interpolant. `smooth` shading normals
 * (section 4.2) blend the gradients of the eight voxels around the nearest sample, which makes them
 * continuous. Along an axis the gradient of a voxel is the difference of two planes of samples, each
 * interpolated at the point's place between the other two axes. */
#include "render/shape/sdfgrid.h"

enum { NEWTON_MOST = 24 };

/* ---- loading ---- */

/* Whether the surface passes through a voxel: its corners have values on both sides of 0, or 0 itself. */
static bool crosses(const scene_volume *v, const uint32_t at[3])
{
    bool below = false, above = false;
    for (uint32_t k = 0; k < 8; k++) {
        size_t x = at[0] + (k & 1), y = at[1] + (k >> 1 & 1), z = at[2] + (k >> 2);
        float value = v->values[(z * v->size[1] + y) * v->size[0] + x];
        below |= value <= 0, above |= value >= 0;
    }
    return below && above;
}

/* Adds a voxel as a primitive. */
static void put_voxel(render_scene *s, const float to_world[12], const uint32_t at[3], uint32_t data)
{
    float box[6];
    for (int k = 0; k < 3; k++)
        box[k] = (float)at[k], box[3 + k] = (float)(at[k] + 1);
    render_primitive p = {.entry[SDF_ENTRY_DATA] = data,
                          .entry[BVH_ENTRY_KIND] = SHAPE_SDF,
                          .entry[BVH_ENTRY_SHAPE] = s->shapes.count};
    for (uint32_t k = 0; k < 3; k++)
        p.entry[SDF_ENTRY_VOXEL + k] = at[k];
    render_map_box(to_world, box, p.bounds);
    array_push(&s->primitives, p);
}

/* Makes the maps between the world and the grid, whose samples stand at integers. Returns false if to_world
 * is singular or out of range. */
static bool make_maps(const double to_world[16], const uint32_t size[3], float to_grid[12],
                      float from_grid[12])
{
    double inverse[16];
    bool fine = matrix_determinant3(to_world) != 0 && matrix_invert(to_world, inverse);
    for (int row = 0; fine && row < 3; row++)
        for (int k = 0; k < 4; k++) {
            from_grid[4 * row + k] = (float)(to_world[4 * row + k] / (k < 3 ? size[k] - 1 : 1));
            to_grid[4 * row + k] = (float)(inverse[4 * row + k] * (size[row] - 1));
            fine &= isfinite(from_grid[4 * row + k]) && isfinite(to_grid[4 * row + k]);
        }
    return fine;
}

static bl_result add_grid(render_scene *s, const scene_object *o, const scene_volume *v, bool smooth,
                          bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    float to_grid[12], to_world[12];
    if (v->channels != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where, "sdfgrid: the grid has %u channels instead of one",
                           v->channels);
    if (v->size[0] < 2 || v->size[1] < 2 || v->size[2] < 2)
        return scene_error(err, BL_ERROR_SCENE, o->where, "sdfgrid: a grid of %u x %u x %u has no voxels",
                           v->size[0], v->size[1], v->size[2]);
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "sdfgrid: to_world must be affine (last row 0 0 0 1)");
    if (!make_maps(m, v->size, to_grid, to_world))
        return scene_error(err, BL_ERROR_SCENE, o->where, "sdfgrid: to_world is singular or out of range");
    uint32_t words[SDF_WORDS], data = s->geometry.count, at[3], first = s->primitives.count;
    memcpy(words + SDF_TO_GRID, to_grid, sizeof to_grid);
    memcpy(words + SDF_SIZE, v->size, sizeof v->size);
    words[SDF_SMOOTH] = smooth;
    size_t count = (size_t)v->size[0] * v->size[1] * v->size[2];
    if (count > 1u << 28)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "sdfgrid: a grid of %zu samples is larger than the limit of 2^28", count);
    TRY(render_room(s, 0, count + SDF_WORDS, err));
    shape_put_words(s, words, sizeof words);
    shape_put_words(s, v->values, count * sizeof(float));
    for (at[2] = 0; at[2] + 1 < v->size[2]; at[2]++)
        for (at[1] = 0; at[1] + 1 < v->size[1]; at[1]++)
            for (at[0] = 0; at[0] + 1 < v->size[0]; at[0]++)
                if (crosses(v, at))
                    put_voxel(s, to_world, at, data);
    if (s->primitives.count == first)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "sdfgrid: no voxel holds a surface, all values have one sign");
    for (uint32_t i = first; i < s->primitives.count; i++)
        s->primitives.data[i].entry[BVH_ENTRY_PRIMITIVE] = i - first;
    render_shape shape = {
        .object = o,
        .kind = SHAPE_SDF,
        .first_entry_primitive = first,
        .primitive_count = s->primitives.count - first,
        .data = data,
    };
    array_push(&s->shapes, shape);
    s->kind_used[SHAPE_SDF] = true;
    s->has_smooth_sdf |= smooth;
    return BL_OK;
}

static bl_result sdfgrid_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *normals = scene_get(o, "normals");
    bool smooth = strcmp(normals->text, "smooth") == 0;
    if (!smooth && strcmp(normals->text, "analytic") != 0)
        return scene_error(err, BL_ERROR_SCENE, normals->where,
                           "sdfgrid: normals are \"smooth\" or \"analytic\", not \"%s\"", normals->text);
    scene_volume v;
    bl_error reason = {0};
    bl_result r = volume_load_value(scene_get(o, "filename"), &v, &reason);
    if (r != BL_OK)
        return scene_error(err, r, scene_get(o, "filename")->where, "sdfgrid: %s", reason.text);
    r = add_grid(s, o, &v, smooth, err);
    volume_free(&v);
    return r;
}

/* ---- traced ---- */

static ir_ref axis_of(vec3 v, uint32_t axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }
static vec3 vec_of(const ir_ref *v) { return v3(v[0], v[1], v[2]); }

static ir_ref lerp(tracer *t, ir_ref a, ir_ref b, ir_ref w) { return t_mad(t, ir_sub(t->f, b, a), w, a); }

static ir_ref polynomial_at(tracer *t, const ir_ref k[8], vec3 p)
{
    ir_ref low = t_mad(t, t_mad(t, k[3], p.x, k[2]), p.y, t_mad(t, k[1], p.x, k[0]));
    ir_ref high = t_mad(t, t_mad(t, k[7], p.x, k[6]), p.y, t_mad(t, k[5], p.x, k[4]));
    return t_mad(t, high, p.z, low);
}

/* The gradient of the interpolant at p. */
static vec3 polynomial_gradient(tracer *t, const ir_ref k[8], vec3 p)
{
    ir_ref x = t_mad(t, t_mad(t, k[7], p.y, k[5]), p.z, t_mad(t, k[3], p.y, k[1]));
    ir_ref y = t_mad(t, t_mad(t, k[7], p.x, k[6]), p.z, t_mad(t, k[3], p.x, k[2]));
    ir_ref z = t_mad(t, t_mad(t, k[7], p.x, k[6]), p.y, t_mad(t, k[5], p.x, k[4]));
    return v3(x, y, z);
}

/* The coefficients of the polynomial along p + s d: it is c[0] + c[1] s + c[2] s^2 + c[3] s^3. */
static void along_ray(tracer *t, const ir_ref k[8], vec3 p, vec3 d, ir_ref c[4])
{
    ir_func *f = t->f;
    c[0] = polynomial_at(t, k, p);
    c[1] = v3_dot(t, polynomial_gradient(t, k, p), d);
    ir_ref xy = ir_mul(f, d.x, d.y), xz = ir_mul(f, d.x, d.z), yz = ir_mul(f, d.y, d.z);
    c[2] = t_mad(t, t_mad(t, k[7], p.z, k[3]), xy,
                 t_mad(t, t_mad(t, k[7], p.y, k[5]), xz, ir_mul(f, t_mad(t, k[7], p.x, k[6]), yz)));
    c[3] = ir_mul(f, k[7], ir_mul(f, xy, d.z));
}

static ir_ref cubic(tracer *t, const ir_ref c[4], ir_ref s)
{
    return t_mad(t, t_mad(t, t_mad(t, c[3], s, c[2]), s, c[1]), s, c[0]);
}

/* bool: a and b have different signs, or one of them is zero */
static ir_ref brackets(tracer *t, ir_ref a, ir_ref b)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    return ir_or(f, ir_and(f, ir_le(f, a, zero), ir_ge(f, b, zero)),
                 ir_and(f, ir_ge(f, a, zero), ir_le(f, b, zero)));
}

typedef struct bracket {
    ir_ref near, far, f_near, f_far;
} bracket;

/* Cuts the bracket at `at` and keeps the first part that holds a zero. The bracket stays as it is where
 * `at` is not inside. */
static void split(tracer *t, const ir_ref c[4], ir_ref at, bracket *b)
{
    ir_func *f = t->f;
    ir_ref inside = ir_and(f, ir_gt(f, at, b->near), ir_lt(f, at, b->far)), value = cubic(t, c, at),
           first = brackets(t, b->f_near, value);
    ir_ref left = ir_and(f, inside, first), right = ir_and(f, inside, ir_not(f, first));
    b->far = ir_select(f, left, at, b->far), b->f_far = ir_select(f, left, value, b->f_far);
    b->near = ir_select(f, right, at, b->near), b->f_near = ir_select(f, right, value, b->f_near);
}

/* The zeros of the derivative of the cubic, in order. They are NaN or infinite where there are none. */
static void extrema(tracer *t, const ir_ref c[4], ir_ref at[2])
{
    ir_func *f = t->f;
    ir_ref a = ir_mul(f, c[3], t_f32(t, 3)), zero = t_f32(t, 0);
    ir_ref root = ir_sqrt(f, ir_sub(f, t_sqr(t, c[2]), ir_mul(f, a, c[1])));
    ir_ref q = ir_neg(f, ir_add(f, c[2], ir_select(f, ir_lt(f, c[2], zero), ir_neg(f, root), root)));
    ir_ref one = ir_div(f, q, a), other = ir_div(f, c[1], q), order = ir_lt(f, one, other);
    at[0] = ir_select(f, order, one, other), at[1] = ir_select(f, order, other, one);
}

/* The zero of the cubic in the bracket. It starts with the secant and goes on with Newton's method. A step
 * that leaves the bracket is replaced by the middle of the bracket. It ends when a step is too small to
 * matter, or after NEWTON_MOST steps. With `wanted` false it makes no step at all. */
static ir_ref find_zero(tracer *t, const ir_ref c[4], const bracket *b, ir_ref wanted)
{
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f), one = t_u32(t, 1);
    ir_ref secant =
        t_mad(t, ir_sub(f, b->far, b->near), ir_div(f, b->f_near, ir_sub(f, b->f_near, b->f_far)), b->near);
    ir_ref fine = ir_and(f, ir_ge(f, secant, b->near), ir_le(f, secant, b->far));
    ir_ref s = ir_select(f, fine, secant, ir_mul(f, half, ir_add(f, b->near, b->far)));
    ir_ref state[4] = {s, b->near, b->far, ir_select(f, wanted, t_u32(t, 0), t_u32(t, NEWTON_MOST))};
    ir_ref loop = ir_loop(f, state, 4);
    ir_while(f, ir_lt(f, state[3], t_u32(t, NEWTON_MOST)));
    ir_ref value = cubic(t, c, state[0]), left = brackets(t, b->f_near, value);
    ir_ref near = ir_select(f, left, state[1], state[0]), far = ir_select(f, left, state[0], state[2]);
    ir_ref slope = t_mad(t, t_mad(t, ir_mul(f, c[3], t_f32(t, 3)), state[0], ir_mul(f, c[2], t_f32(t, 2))),
                         state[0], c[1]);
    ir_ref step = ir_sub(f, state[0], ir_div(f, value, slope));
    ir_ref inside = ir_and(f, ir_ge(f, step, near), ir_le(f, step, far));
    ir_ref next = ir_select(f, inside, step, ir_mul(f, half, ir_add(f, near, far)));
    ir_ref still = ir_le(f, ir_abs(f, ir_sub(f, next, state[0])), ir_mul(f, t_f32(t, 0x1p-22f), b->far));
    ir_ref steps = ir_select(f, still, t_u32(t, NEWTON_MOST), ir_add(f, state[3], one));
    ir_endloop(f, loop, (ir_ref[]){next, near, far, steps}, 4);
    return state[0];
}

/* The indices of the voxel of an entry, and its lower corner on the grid. */
static void load_voxel(tracer *t, ir_ref entry, ir_ref voxel[3], vec3 *corner)
{
    ir_ref at[3];
    for (uint32_t k = 0; k < 3; k++) {
        voxel[k] = t_word(t, entry, SDF_ENTRY_VOXEL + k);
        at[k] = ir_to_f32(t->f, voxel[k]);
    }
    *corner = vec_of(at);
}

static void sdf_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref data = t_word(t, entry, SDF_ENTRY_DATA), voxel[3], k[8], c[4], zero = t_f32(t, 0),
           one = t_f32(t, 1), enter[3], leave[3], in[3], exit[3];
    vec3 corner, from, along = v3_vector_by_map(t, data, SDF_TO_GRID, query->d);
    load_voxel(t, entry, voxel, &corner);
    from = v3_sub(t, v3_point_by_map(t, data, SDF_TO_GRID, query->o), corner);
    ir_ref begin = query->tmin, end = query->tmax;
    for (uint32_t axis = 0; axis < 3; axis++) {
        ir_ref di = axis_of(along, axis),
               inverse = ir_div(
                   f, one, ir_select(f, ir_lt(f, ir_abs(f, di), t_f32(t, 1e-12f)), t_f32(t, 1e-12f), di));
        ir_ref low = ir_mul(f, ir_neg(f, axis_of(from, axis)), inverse),
               high = ir_mul(f, ir_sub(f, one, axis_of(from, axis)), inverse);
        enter[axis] = ir_min(f, low, high), leave[axis] = ir_max(f, low, high);
        begin = ir_max(f, begin, enter[axis]), end = ir_min(f, end, leave[axis]);
    }
    vec3 first = v3_add(t, from, v3_scale(t, along, begin)), last = v3_add(t, from, v3_scale(t, along, end));
    for (uint32_t axis = 0; axis < 3; axis++) {
        ir_ref ahead = ir_gt(f, axis_of(along, axis), zero);
        in[axis] = ir_select(f, ir_eq(f, begin, enter[axis]), ir_select(f, ahead, zero, one),
                             t_clamp(t, axis_of(first, axis), 0, 1));
        exit[axis] = ir_select(f, ir_eq(f, end, leave[axis]), ir_select(f, ahead, one, zero),
                               t_clamp(t, axis_of(last, axis), 0, 1));
    }
    sdf_polynomial(t, data, voxel, k);
    along_ray(t, k, vec_of(in), along, c);
    bracket b = {
        .near = zero,
        .far = ir_sub(f, end, begin),
        .f_near = polynomial_at(t, k, vec_of(in)),
        .f_far = polynomial_at(t, k, vec_of(exit)),
    };
    ir_ref at[2];
    extrema(t, c, at);
    split(t, c, at[0], &b), split(t, c, at[1], &b);
    ir_ref crossing = ir_and(f, ir_lt(f, begin, end), brackets(t, b.f_near, b.f_far));
    ir_ref hit_t = ir_add(f, begin, find_zero(t, c, &b, crossing));
    ir_ref hit = ir_and(f, crossing, ir_and(f, ir_gt(f, hit_t, query->tmin), ir_lt(f, hit_t, query->tmax)));
    out[0] = ir_select(f, hit, hit_t, query->tmax);
    out[1] = out[2] = zero;
}

/* Clamps the sample index `i` (i32) to the grid. */
static ir_ref clamp_index(tracer *t, ir_ref data, uint32_t axis, ir_ref i)
{
    ir_func *f = t->f;
    ir_ref most = ir_to_i32(f, ir_sub(f, t_word(t, data, SDF_SIZE + axis), t_u32(t, 1)));
    return ir_to_u32(f, ir_min(f, ir_max(f, i, ir_i32(f, 0)), most));
}

/* The samples of the plane `q` (i32) across `axis`, interpolated at the place w of the voxel between the
 * other two axes. */
static ir_ref plane_at(tracer *t, ir_ref data, uint32_t axis, ir_ref q, const ir_ref voxel[3], vec3 w)
{
    uint32_t a = (axis + 1) % 3, b = (axis + 2) % 3;
    ir_ref value[4], index[3];
    index[axis] = clamp_index(t, data, axis, q);
    for (uint32_t k = 0; k < 4; k++) {
        index[a] = ir_add(t->f, voxel[a], t_u32(t, k & 1)),
        index[b] = ir_add(t->f, voxel[b], t_u32(t, k >> 1));
        value[k] = t_real(t, sdf_sample(t, data, index[0], index[1], index[2]), 0);
    }
    return lerp(t, lerp(t, value[0], value[1], axis_of(w, a)), lerp(t, value[2], value[3], axis_of(w, a)),
                axis_of(w, b));
}

/* The gradient from which `smooth` normals are made. p is a point on the grid, voxel the voxel that holds
 * it, and w its place in there. A grid may have different numbers of samples along its axes. So gradients
 * are scaled to object space ([0,1]^3) before they are normalised, as in Mitsuba. */
static vec3 smooth_gradient(tracer *t, ir_ref data, vec3 p, const ir_ref voxel[3], vec3 w)
{
    ir_func *f = t->f;
    ir_ref difference[2][3], share[3], there[3], scale[3];
    for (uint32_t axis = 0; axis < 3; axis++) {
        ir_ref lower = ir_sub(f, ir_to_i32(f, ir_floor(f, ir_add(f, axis_of(p, axis), t_f32(t, 0.5f)))),
                              ir_i32(f, 1)),
               plane[3];
        scale[axis] = ir_to_f32(f, ir_sub(f, t_word(t, data, SDF_SIZE + axis), t_u32(t, 1)));
        for (uint32_t k = 0; k < 3; k++)
            plane[k] = plane_at(t, data, axis, ir_add(f, lower, ir_i32(f, (int32_t)k)), voxel, w);
        for (uint32_t k = 0; k < 2; k++)
            difference[k][axis] = ir_mul(f, ir_sub(f, plane[k + 1], plane[k]), scale[axis]);
        there[axis] = ir_ge(f, lower, ir_i32(f, 0)); /* false: there is no voxel on the lower side */
        ir_ref from_centre = ir_sub(f, ir_sub(f, axis_of(p, axis), ir_to_f32(f, lower)), t_f32(t, 0.5f));
        share[axis] = ir_select(f, there[axis], from_centre, t_f32(t, 1));
    }
    ir_ref sum[3] = {t_f32(t, 0), t_f32(t, 0), t_f32(t, 0)};
    for (uint32_t k = 0; k < 8; k++) {
        ir_ref g[3], weight = t_f32(t, 1);
        for (uint32_t axis = 0; axis < 3; axis++) {
            bool high = k >> axis & 1;
            g[axis] = difference[high][axis];
            weight = ir_mul(f, weight, high ? share[axis] : ir_sub(f, t_f32(t, 1), share[axis]));
        }
        ir_ref length = v3_length(t, vec_of(g));
        ir_ref per = t_ratio(t, weight, length);
        for (uint32_t axis = 0; axis < 3; axis++)
            sum[axis] = t_mad(t, g[axis], per, sum[axis]);
    }
    for (uint32_t axis = 0; axis < 3; axis++) /* turn the sum into a gradient on the grid again */
        sum[axis] = ir_div(f, sum[axis], scale[axis]);
    return vec_of(sum);
}

static void sdf_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    ir_ref voxel[3], k[8], zero = t_f32(t, 0), place[3];
    vec3 corner;
    load_voxel(t, hit->entry, voxel, &corner);
    si->p = v3_add(t, hit->o, v3_scale(t, hit->d, hit->t));
    vec3 p = v3_point_by_map(t, hit->data, SDF_TO_GRID, si->p), w = v3_sub(t, p, corner);
    for (uint32_t axis = 0; axis < 3; axis++)
        place[axis] = t_clamp(t, axis_of(w, axis), 0, 1);
    w = vec_of(place);
    sdf_polynomial(t, hit->data, voxel, k);
    si->ng = si->ns = v3_normal_by_map(t, hit->data, SDF_TO_GRID, polynomial_gradient(t, k, w));
    si->uv = (vec2){zero, zero};
    if (t->plan->scene->has_smooth_sdf) {
        ir_ref smooth = ir_ne(t->f, t_word(t, hit->data, SDF_SMOOTH), t_u32(t, 0));
        si->ns = v3_select(t, smooth,
                           v3_normal_by_map(t, hit->data, SDF_TO_GRID,
                                            smooth_gradient(t, hit->data, v3_add(t, corner, w), voxel, w)),
                           si->ng);
    }
}

/* One step of Newton's method, from a place where the surface is. It does not change the value of t, but it
 * gives t the derivatives of the hit. */
static void sdf_follow(tracer *t, ir_ref entry, vec3 o, vec3 d, ir_ref at[3])
{
    ir_func *f = t->f;
    ir_ref data = t_word(t, entry, SDF_ENTRY_DATA), voxel[3], k[8], zero = t_f32(t, 0);
    vec3 corner, along = v3_vector_by_map(t, data, SDF_TO_GRID, d);
    load_voxel(t, entry, voxel, &corner);
    vec3 p = v3_sub(t, v3_point_by_map(t, data, SDF_TO_GRID, v3_add(t, o, v3_scale(t, d, at[0]))), corner);
    sdf_polynomial(t, data, voxel, k);
    ir_ref slope = v3_dot(t, polynomial_gradient(t, k, p), along), flat = ir_eq(f, slope, zero);
    ir_ref step = ir_div(f, polynomial_at(t, k, p), ir_select(f, flat, t_f32(t, 1), slope));
    at[0] = ir_sub(f, at[0], ir_select(f, flat, zero, step));
}

/* ---- moving: nothing but to_world itself ---- */

static uint32_t sdf_object_data(const render_scene *s, const render_shape *shape, float *own)
{
    (void)s, (void)shape, (void)own;
    return 0;
}

static void sdf_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                          transformed_primitive *out)
{
    ir_func *f = t->f;
    affine_map back = affine_inverse(t, to_world);
    ir_ref voxel[3], low[3], high[3], size[3];
    vec3 corner;
    load_voxel(t, at->entry, voxel, &corner);
    vec3_put(to_world->column[3], low), vec3_put(to_world->column[3], high),
        vec3_put(to_world->column[3], size);
    for (uint32_t row = 0; row < 3; row++)
        size[row] = ir_abs(f, size[row]);
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref to_grid[3], axis[3];
        vec3_put(back.column[k], to_grid);
        for (uint32_t row = 0; row < 3; row++) {
            ir_ref samples = ir_to_f32(f, ir_sub(f, t_word(t, at->data, SDF_SIZE + row), t_u32(t, 1)));
            out->words[SDF_TO_GRID + 4 * row + k] = ir_mul(f, to_grid[row], samples);
        }
        if (k == 3)
            break;
        ir_ref side =
            ir_div(f, t_f32(t, 1), ir_to_f32(f, ir_sub(f, t_word(t, at->data, SDF_SIZE + k), t_u32(t, 1))));
        vec3_put(v3_scale(t, to_world->column[k], side), axis);
        for (uint32_t row = 0; row < 3; row++) {
            ir_ref near = ir_mul(f, axis[row], axis_of(corner, k)), far = ir_add(f, near, axis[row]);
            low[row] = ir_add(f, low[row], ir_min(f, near, far)),
            high[row] = ir_add(f, high[row], ir_max(f, near, far));
            size[row] = ir_add(f, size[row], ir_max(f, ir_abs(f, near), ir_abs(f, far)));
        }
    }
    for (uint32_t row = 0; row < 3; row++) {
        ir_ref slack = ir_mul(f, size[row], t_f32(t, 4e-6f));
        out->least[row] = ir_sub(f, low[row], slack), out->most[row] = ir_add(f, high[row], slack);
    }
    out->word_count = 12, out->shared = true;
}

const shape_kind_class shape_kind_sdf = {
    .name = "sdf voxel",
    .intersect = sdf_intersect,
    .interact = sdf_interact,
    .object_data = sdf_object_data,
    .transform = sdf_transform,
    .follow = sdf_follow,
    .silhouette = sdf_silhouette,
    .silhouette_pieces = sdf_pieces,
    .entry_points = true,
};

static const plugin_param sdf_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED | PLUGIN_GRID, NULL, 0, 0,
     "Mitsuba's .vol of one channel: signed distances"},
    {"normals", PLUGIN_STRING, 0, "smooth", 0, 0, "smooth or analytic shading normals"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
     "object to world; any affine map"},
    SHAPE_ACCEPTED,
};
const shape_class shape_sdfgrid = {
    .base = {.plugin = {PLUGIN_SHAPE, "sdfgrid", PLUGIN_TABLE(sdf_params), PLUGIN_TABLE(shape_slots),
                        "surface of a grid of signed distances in [0,1]^3; no light"},
             .load = sdfgrid_load}};
