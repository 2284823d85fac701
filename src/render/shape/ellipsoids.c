/* SPDX-License-Identifier: BSD-3-Clause
 * A point cloud of ellipsoids, from a PLY file of Gaussians. The file has centres x y z, logarithms of
 * standard deviations scale_0 .. scale_2, and quaternions rot_0 (real part) .. rot_3. Colours and opacities
 * are read where the integrator sees them (ellipsoid_arrays.c); materials do not. The surface is where a
 * Gaussian is `extent` deviations from its centre. Rays meet the outsides only, uv is (0, 0), and ellipsoids
 * cannot be lights (Mitsuba).
 *
 * An entry of the hierarchy holds the word of the ellipsoid's map. The map is three rows that turn the
 * ellipsoid into the unit sphere, and then the centre. */
#include "render/shape/ellipsoids.h"
#include "render/classes.h"
#include "render/shape/silhouette.h"

enum { COLUMN_CENTER, COLUMN_SCALE = 3, COLUMN_ROTATION = 6, COLUMNS = 10 };

/* ---- loading ---- */

/* Sets the columns of `axes` to the axes of an ellipsoid that the unit quaternion q (real part first) has
 * turned. */
static void turn_axes(const double q[4], double axes[3][3])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
                            {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
                            {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
    memcpy(axes, m, sizeof m);
}

/* The uniform scale of the upper left 3x3, or 0 if the axes differ in length or are not at right angles. */
static double uniform_scale(const double m[16])
{
    double square[3], off = 0;
    for (int c = 0; c < 3; c++) {
        int n = (c + 1) % 3;
        square[c] = m[c] * m[c] + m[4 + c] * m[4 + c] + m[8 + c] * m[8 + c];
        off = fmax(off, fabs(m[c] * m[n] + m[4 + c] * m[4 + n] + m[8 + c] * m[8 + n]));
    }
    bool uniform = fabs(square[0] - square[1]) < 2e-4 * square[0] &&
                   fabs(square[0] - square[2]) < 2e-4 * square[0] && off < 1e-4 * square[0];
    return uniform ? sqrt(square[0]) : 0;
}

/* The limits on to_world are Mitsuba's. A to_world that is a parameter keeps to them whenever it is set. */
static const char *ellipsoid_refuses(const double m[16])
{
    return uniform_scale(m) > 0 && matrix_determinant3(m) > 0
               ? NULL
               : "to_world must scale all axes alike, and neither shear, mirror nor be singular";
}

/* An ellipsoid in the world: its centre, unit axes and half their lengths. */
typedef struct world_ellipsoid {
    double centre[3], axis[3][3], half[3];
} world_ellipsoid;

/* A file's columns of centre, scale and rotation (COLUMNS) in the world, with half axes of one standard
 * deviation times `enlarge`. Without a rotation some numbers are not finite. */
static world_ellipsoid read_row(const float *row, const double m[16], double enlarge)
{
    world_ellipsoid e;
    double q[4], axes[3][3], length = 0, world = uniform_scale(m);
    for (int k = 0; k < 4; k++)
        q[k] = (double)row[COLUMN_ROTATION + k], length += q[k] * q[k];
    for (int k = 0; k < 4; k++)
        q[k] /= sqrt(length);
    turn_axes(q, axes);
    for (int k = 0; k < 3; k++) {
        e.half[k] = fmax(exp((double)row[COLUMN_SCALE + k]), 1e-6) * enlarge * world;
        for (int row_of = 0; row_of < 3; row_of++) { /* component row_of of axis k in the world */
            double axis = 0;
            for (int j = 0; j < 3; j++)
                axis += m[4 * row_of + j] * axes[j][k];
            e.axis[k][row_of] = axis / world;
        }
        e.centre[k] = m[4 * k + 3];
        for (int j = 0; j < 3; j++)
            e.centre[k] += m[4 * k + j] * (double)row[COLUMN_CENTER + j];
    }
    return e;
}

/* Adds an ellipsoid as primitive `index` of its shape. Returns false if it is out of range. */
static bool put_ellipsoid(render_scene *s, const world_ellipsoid *e, uint32_t index)
{
    render_primitive p = {.entry[0] = s->geometry.count,
                          .entry[BVH_ENTRY_KIND] = SHAPE_ELLIPSOID,
                          .entry[BVH_ENTRY_SHAPE] = s->shapes.count,
                          .entry[BVH_ENTRY_PRIMITIVE] = index};
    float words[ELLIPSOID_WORDS];
    double box[3] = {0};
    bool fine = true;
    for (int k = 0; k < 3; k++)
        for (int row = 0; row < 3; row++) {
            double axis = e->axis[k][row], half = e->half[k];
            words[ELLIPSOID_MAP + 3 * k + row] = (float)(axis / half);
            box[row] += axis * half * axis * half;
        }
    for (int k = 0; k < 3; k++) {
        double centre = e->centre[k], extent = sqrt(box[k]) * (1 + 1e-5) + 1e-6 * fabs(centre);
        words[ELLIPSOID_CENTER + k] = (float)centre;
        p.bounds[k] = nextafterf((float)(centre - extent), -INFINITY),
        p.bounds[3 + k] = nextafterf((float)(centre + extent), INFINITY);
        fine &= isfinite(p.bounds[k]) && isfinite(p.bounds[3 + k]);
    }
    for (int k = 0; k < ELLIPSOID_WORDS; k++) {
        fine &= isfinite(words[k]);
        array_push(&s->geometry, float_word(words[k]));
    }
    array_push(&s->primitives, p);
    return fine;
}

/* ---- loading kernels that emit ---- */

/* The quaternion (real part last) that turns the unit axes to these (Shepperd 1978). */
static void quaternion_of(const double axis[3][3], double q[4])
{
    double trace = axis[0][0] + axis[1][1] + axis[2][2];
    int largest = 3;
    for (int k = 0; k < 3; k++)
        largest = axis[k][k] > (largest < 3 ? axis[largest][largest] : trace) ? k : largest;
    if (largest == 3) {
        for (int k = 0; k < 3; k++)
            q[k] = axis[(k + 1) % 3][(k + 2) % 3] - axis[(k + 2) % 3][(k + 1) % 3];
        q[3] = 1 + trace;
    } else {
        int j = (largest + 1) % 3, k = (largest + 2) % 3;
        q[largest] = 1 + axis[largest][largest] - axis[j][j] - axis[k][k];
        q[j] = axis[largest][j] + axis[j][largest], q[k] = axis[largest][k] + axis[k][largest];
        q[3] = axis[j][k] - axis[k][j];
    }
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; k++)
        q[k] /= length;
}

/* The values of an ellipsoid that stand in the array `data`. row: of the file; of the two quaternions that
 * turn alike, the one nearer to the file's is taken. */
static void data_of(const world_ellipsoid *e, const float *row, float data[ELLIPSOID_VALUES])
{
    double q[4], along = 0;
    quaternion_of(e->axis, q);
    for (int k = 0; k < 4; k++)
        along += q[k] * (double)row[COLUMN_ROTATION + (k + 1) % 4];
    for (int k = 0; k < 3; k++)
        data[ELLIPSOID_AT + k] = (float)e->centre[k], data[ELLIPSOID_SCALE + k] = (float)e->half[k];
    for (int k = 0; k < 4; k++)
        data[ELLIPSOID_QUATERNION + k] = (float)(along < 0 ? -q[k] : q[k]);
}

static bl_result range_error(const scene_object *o, uint32_t i, bl_error *err)
{
    return scene_error(err, BL_ERROR_SCENE, o->where,
                       "%s: ellipsoid %u has no rotation, or its size is out of range", o->cls->name, i);
}

static bl_result load_kernels(render_scene *s, const scene_object *o, const ply_columns *c, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    double extent = scene_number(o, "extent");
    bool adaptive = scene_number(o, "extent_adaptive_clamping") != 0;
    ellipsoid_source source;
    TRY(ellipsoid_find_source(o, c, &source, err));
    float *data = memory_need(((size_t)c->row_count * ELLIPSOID_VALUES + 1) * sizeof *data);
    bl_result r = BL_OK;
    for (uint32_t k = 0; k < ELLIPSOID_HEADER; k++)
        array_push(&s->geometry, 0u);
    for (uint32_t i = 0; i < c->row_count && r == BL_OK; i++) {
        const float *row = c->rows + (size_t)i * c->width;
        world_ellipsoid e = read_row(row, m, scene_number(o, "scale_factor"));
        data_of(&e, row, data + (size_t)i * ELLIPSOID_VALUES);
        double clamping = adaptive ? ellipsoid_clamping((double)ellipsoid_opacity(&source, i)) : 1;
        for (int k = 0; k < 3; k++)
            e.half[k] *= extent * clamping;
        if (!put_ellipsoid(s, &e, i))
            r = range_error(o, i, err);
    }
    if (r == BL_OK)
        r = ellipsoid_add_arrays(s, o, &source, data, err);
    memory_free(data);
    return r;
}

static bl_result load_shells(render_scene *s, const scene_object *o, const ply_columns *c, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    if (scene_number(o, "extent_adaptive_clamping") != 0)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "%s: extent_adaptive_clamping is for the integrator volprim_rf_basic",
                           o->cls->name);
    for (uint32_t i = 0; i < c->row_count; i++) {
        world_ellipsoid e = read_row(c->rows + (size_t)i * c->width, m,
                                     scene_number(o, "scale_factor") * scene_number(o, "extent"));
        if (!put_ellipsoid(s, &e, i))
            return range_error(o, i, err);
    }
    return BL_OK;
}

static bl_result ellipsoids_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    const char *refusal = m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1
                              ? "to_world must be affine (last row 0 0 0 1)"
                              : ellipsoid_refuses(m);
    if (refusal)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where, "%s: %s", o->cls->name, refusal);
    ply_columns c = {.names = ellipsoid_columns(s),
                     .count = s->ellipsoid_field ? ELLIPSOID_COLUMNS : COLUMNS,
                     .required = COLUMNS};
    bl_error reason = {0};
    bl_result r = ply_load_columns(scene_get(o, "filename")->path, &c, &reason);
    if (r != BL_OK)
        return scene_error(err, r, scene_get(o, "filename")->where, "%s: %s", o->cls->name, reason.text);
    render_shape shape = {
        .object = o,
        .kind = SHAPE_ELLIPSOID,
        .first_entry_primitive = s->primitives.count,
        .primitive_count = c.row_count,
        .data = s->geometry.count,
    };
    r = (s->ellipsoid_field ? load_kernels : load_shells)(s, o, &c, err);
    memory_free(c.rows);
    if (r != BL_OK)
        return r;
    array_push(&s->shapes, shape);
    s->kind_used[SHAPE_ELLIPSOID] = true;
    return BL_OK;
}

/* ---- traced ---- */

/* Maps a vector to the space in which the ellipsoid is the unit sphere. */
static vec3 to_sphere(tracer *t, ir_ref map, vec3 v)
{
    return v3(v3_dot(t, v3_load(t, map, 0), v), v3_dot(t, v3_load(t, map, 3), v),
              v3_dot(t, v3_load(t, map, 6), v));
}

/* Takes the roots about the point of the ray nearest to the centre, as for the sphere. Only the nearer one
 * counts. */
static void ellipsoid_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref map = t_word(t, entry, 0), zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 from = to_sphere(t, map, v3_sub(t, query->o, v3_load(t, map, ELLIPSOID_CENTER))),
         along = to_sphere(t, map, query->d);
    ir_ref per = ir_div(f, one, v3_dot(t, along, along)),
           middle = ir_neg(f, ir_mul(f, v3_dot(t, from, along), per));
    vec3 nearest = v3_add(t, from, v3_scale(t, along, middle));
    ir_ref square = ir_mul(f, ir_sub(f, one, v3_dot(t, nearest, nearest)), per),
           at = ir_sub(f, middle, t_safe_sqrt(t, square));
    ir_ref hit =
        ir_and(f, ir_ge(f, square, zero), ir_and(f, ir_gt(f, at, query->tmin), ir_lt(f, at, query->tmax)));
    out[0] = ir_select(f, hit, at, query->tmax), out[1] = out[2] = zero;
}

static void ellipsoid_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    ir_ref map = t_word(t, hit->entry, 0), zero = t_f32(t, 0);
    si->p = v3_add(t, hit->o, v3_scale(t, hit->d, hit->t));
    vec3 n = to_sphere(t, map, v3_sub(t, si->p, v3_load(t, map, ELLIPSOID_CENTER)));
    vec3 x = v3_load(t, map, 0), y = v3_load(t, map, 3), z = v3_load(t, map, 6);
    si->ng = si->ns =
        v3_normalize(t, v3_add(t, v3_scale(t, x, n.x), v3_add(t, v3_scale(t, y, n.y), v3_scale(t, z, n.z))));
    si->uv = (vec2){zero, zero};
}

/* ---- silhouette ---- */

/* A piece is an ellipsoid: the place of its words, from those of the shape on. */
static void ellipsoid_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out)
{
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        uint32_t at = s->primitives.data[shape->first_entry_primitive + i].entry[0];
        float words[ELLIPSOID_WORDS];
        double size = 0;
        memcpy(words, s->geometry.data + at, sizeof words);
        for (int k = 0; k < 9; k += 3)
            size +=
                1 / sqrt((double)words[k] * (double)words[k] + (double)words[k + 1] * (double)words[k + 1] +
                         (double)words[k + 2] * (double)words[k + 2]);
        array_push(&out->all, ((silhouette_piece){{at - shape->data}, .weight = size}));
    }
}

/* Maps a vector back from the space in which the ellipsoid is the unit sphere: the rows of its map are at
 * right angles to each other, so its inverse has them as columns, over the squares of their lengths. */
static vec3 from_sphere(tracer *t, ir_ref map, vec3 v)
{
    ir_ref by[3] = {v.x, v.y, v.z};
    vec3 sum = v3_zero(t);
    for (uint32_t k = 0; k < 3; k++) {
        vec3 row = v3_load(t, map, 3 * k);
        sum = v3_add(t, sum, v3_scale(t, row, t_ratio(t, by[k], v3_dot(t, row, row))));
    }
    return sum;
}

/* The circle in which the cone from the viewpoint touches the unit sphere, mapped back. */
static silhouette_point ellipsoid_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref map = ir_add(f, at->data, t_word(t, at->piece, 0)), one = t_f32(t, 1),
           turn = t_f32(t, 6.28318531f), angle = ir_mul(f, at->along, turn), x = ir_cos(f, angle),
           y = ir_sin(f, angle);
    vec3 centre = v3_load(t, map, ELLIPSOID_CENTER), to = to_sphere(t, map, v3_sub(t, at->viewpoint, centre));
    ir_ref inverse = t_ratio(t, one, v3_length(t, to)), cosine = ir_min(f, inverse, one),
           radius = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    frame fr = frame_around(t, v3_scale(t, to, inverse));
    vec3 round = v3_add(t, v3_scale(t, fr.s, x), v3_scale(t, fr.t, y)),
         turned = v3_sub(t, v3_scale(t, fr.t, x), v3_scale(t, fr.s, y));
    silhouette_point s = {
        .there = ir_gt(f, radius, t_f32(t, 0)), .closed = ir_bool(f, true), .crease = t_f32(t, 0)};
    s.out = from_sphere(t, map, v3_add(t, v3_scale(t, round, radius), v3_scale(t, fr.n, cosine)));
    s.p = v3_add(t, centre, s.out);
    s.along = from_sphere(t, map, v3_scale(t, turned, ir_mul(f, radius, turn)));
    return s;
}

/* ---- moving: half axes and centres in their own space ---- */

/* Writes half axes and centre of each ellipsoid in object space. The rows of a map are the axes over the
 * half lengths, and they are at right angles to each other, so a half axis is a row over the square of its
 * length. */
static uint32_t ellipsoid_object_data(const render_scene *s, const render_shape *shape, float *own)
{
    double inverse[16];
    matrix_invert(scene_get(shape->object, "to_world")->matrix, inverse);
    for (uint32_t i = 0; own && i < shape->primitive_count; i++) {
        float words[ELLIPSOID_WORDS];
        memcpy(words, s->geometry.data + s->primitives.data[shape->first_entry_primitive + i].entry[0],
               sizeof words);
        for (int column = 0; column < 4; column++) {
            const float *from = words + 3 * column;
            double back[3] = {(double)from[0], (double)from[1], (double)from[2]}, square = 0;
            for (int k = 0; k < 3; k++)
                square += back[k] * back[k];
            matrix_apply(inverse, back, column == 3, back);
            for (int k = 0; k < 3; k++)
                own[ELLIPSOID_WORDS * (size_t)i + 3 * (size_t)column + (size_t)k] =
                    (float)(column == 3 ? back[k] : back[k] / square);
        }
    }
    return ELLIPSOID_WORDS * shape->primitive_count;
}

static void ellipsoid_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                                transformed_primitive *out)
{
    ir_func *f = t->f;
    ir_ref own = ir_add(f, at->object_data, ir_mul(f, at->number, t_u32(t, ELLIPSOID_WORDS))),
           square[3] = {t_f32(t, 0), t_f32(t, 0), t_f32(t, 0)}, centre[3];
    affine_map half;
    for (uint32_t k = 0; k < 4; k++)
        half.column[k] = (k < 3 ? affine_vector : affine_point)(t, to_world, v3_load(t, own, 3 * k));
    affine_map map = affine_inverse(t, &half);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref column[3], axis[3];
        vec3_put(map.column[k], column), vec3_put(half.column[k], axis);
        for (uint32_t row = 0; row < 3; row++)
            out->words[ELLIPSOID_MAP + 3 * row + k] = column[row],
                                                 square[row] = t_mad(t, axis[row], axis[row], square[row]);
    }
    vec3_put(half.column[3], centre), vec3_put(half.column[3], out->words + ELLIPSOID_CENTER);
    ellipsoid_box(t, centre, square, out);
    out->to = t_word(t, at->entry, 0), out->word_count = ELLIPSOID_WORDS;
}

const shape_kind_class shape_kind_ellipsoid = {
    .shell = true,
    .name = "ellipsoid",
    .intersect = ellipsoid_intersect,
    .interact = ellipsoid_interact,
    .silhouette = ellipsoid_silhouette,
    .silhouette_pieces = ellipsoid_pieces,
    .object_data = ellipsoid_object_data,
    .transform = ellipsoid_transform,
    .refuses = ellipsoid_refuses,
    .remake = ellipsoid_remake,
    .entry_points = true,
};

#define ELLIPSOIDS_PARAMS                                                                                    \
    {"filename",                                                                                             \
     PLUGIN_FILE,                                                                                            \
     PLUGIN_REQUIRED,                                                                                        \
     NULL,                                                                                                   \
     0,                                                                                                      \
     0,                                                                                                      \
     "PLY with x y z, scale_0 .. scale_2, rot_0 .. rot_3; for volprim_rf_basic also opacity, f_dc_0 .. "     \
     "f_dc_2 and f_rest_0 .., or opacities and sh_coeffs_0 .."},                                             \
        {"scale_factor", PLUGIN_FLOAT, 0, "1", 1e-30, 1e30, "of all of them"},                               \
        {"extent", PLUGIN_FLOAT, 0, "3", 1e-30, 1e30, "standard deviations"},                                \
        {"extent_adaptive_clamping",                                                                         \
         PLUGIN_BOOLEAN,                                                                                     \
         0,                                                                                                  \
         "false",                                                                                            \
         0,                                                                                                  \
         0,                                                                                                  \
         "volprim_rf_basic: kernels end where they have fallen to 0.01"},                                    \
    {                                                                                                        \
        "to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,                               \
            "object to world; uniform scale"                                                                 \
    }

static const plugin_param ellipsoids_params[] = {ELLIPSOIDS_PARAMS, SHAPE_ACCEPTED};
const shape_class shape_ellipsoids = {
    .base = {.plugin = {PLUGIN_SHAPE, "ellipsoids", PLUGIN_TABLE(ellipsoids_params),
                        PLUGIN_TABLE(shape_slots), "ellipsoids of a point cloud; no light"},
             .load = ellipsoids_load}};

/* Mitsuba's shells are meshes around the ellipsoids, so rays see a little more of each kernel. */
static bl_result ellipsoidsmesh_load(render_scene *s, const scene_object *o, bl_error *err)
{
    if (s->ellipsoid_field)
        text_add(
            &s->description->warnings,
            "%s:%u: ellipsoidsmesh: kernels end at ellipsoids, as those of ellipsoids do; with the meshes of "
            "Mitsuba images are up to some 1 %% brighter\n",
            o->where.file, o->where.line);
    return ellipsoids_load(s, o, err);
}

static const plugin_param ellipsoidsmesh_params[] = {
    ELLIPSOIDS_PARAMS,
    {"shell", PLUGIN_STRING, 0, "ico_sphere", 0, 0, "accepted; kernels end at ellipsoids"},
    SHAPE_ACCEPTED,
};
const shape_class shape_ellipsoidsmesh = {
    .base = {.plugin = {PLUGIN_SHAPE, "ellipsoidsmesh", PLUGIN_TABLE(ellipsoidsmesh_params),
                        PLUGIN_TABLE(shape_slots), "loaded as ellipsoids; no light"},
             .load = ellipsoidsmesh_load}};
