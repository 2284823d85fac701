/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes made of triangles: rectangle, cube, obj, ply, serialized and mesh. Their geometry is moved to
 * world space when the scene is loaded. The file also has the traced functions of triangles: intersection,
 * interaction, and sampling uniformly in area.
 *
 * An entry of the hierarchy holds v0, e1 = v1 - v0 and e2 = v2 - v0. A hit is kept as the barycentrics (u,
 * v) of v1 and v2. The choice of the triangle is detached. Where vertex positions are differentiated, the
 * place of the hit is found again from the ray and the moved triangle, so the hit slides along the ray. */
#include "render/shape/area.h"

/* ---- loading ---- */

static float triangle_area(const float *a, const float *b, const float *c)
{
    float u[3], v[3];
    for (int k = 0; k < 3; k++)
        u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    float x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2], z = u[0] * v[1] - u[1] * v[0];
    return 0.5f * sqrtf(x * x + y * y + z * z);
}

/* Fills the table with cumulative areas of the faces, as shares of the total, and returns the total. */
static float area_table(const scene_mesh *m, float *table)
{
    double total = 0;
    for (uint32_t i = 0; i < m->face_count; i++) {
        const uint32_t *v = m->faces + 3 * i;
        total +=
            (double)triangle_area(m->positions + 3 * v[0], m->positions + 3 * v[1], m->positions + 3 * v[2]);
        table[i] = (float)total;
    }
    for (uint32_t i = 0; i < m->face_count; i++)
        table[i] = total > 0 ? (float)((double)table[i] / total) : 1;
    if (m->face_count)
        table[m->face_count - 1] = 1;
    return (float)total;
}

/* Adds every face as a primitive. */
static void put_primitives(render_scene *s, const scene_mesh *m, uint32_t shape)
{
    for (uint32_t i = 0; i < m->face_count; i++) {
        const float *v[3];
        for (int k = 0; k < 3; k++)
            v[k] = m->positions + 3 * m->faces[3 * i + (uint32_t)k];
        render_primitive p = {0};
        for (int k = 0; k < 3; k++) {
            p.bounds[k] = fminf(v[0][k], fminf(v[1][k], v[2][k]));
            p.bounds[3 + k] = fmaxf(v[0][k], fmaxf(v[1][k], v[2][k]));
            p.entry[k] = float_word(v[0][k]);
            p.entry[3 + k] = float_word(v[1][k] - v[0][k]);
            p.entry[6 + k] = float_word(v[2][k] - v[0][k]);
        }
        p.entry[BVH_ENTRY_KIND] = SHAPE_TRIANGLES, p.entry[BVH_ENTRY_SHAPE] = shape,
        p.entry[BVH_ENTRY_PRIMITIVE] = i;
        array_push(&s->primitives, p);
    }
}

bl_result mesh_add(render_scene *s, const scene_object *o, scene_mesh *m, bool make_normals, bl_error *err)
{
    bl_error reason = {0};
    bl_result r =
        mesh_transform(m, scene_get(o, "to_world")->matrix, scene_number(o, "flip_normals") != 0, &reason);
    if (r != BL_OK) {
        mesh_free(m);
        return scene_error(err, r, o->where, "%s: %s", o->cls->name, reason.text);
    }
    /* For the tables, normals where they are made, the primitives and their hierarchies. */
    r = render_room(s, 0, 10 * (uint64_t)m->face_count + 8 * (uint64_t)m->vertex_count, err);
    if (r == BL_OK)
        r = memory_check(
            (size_t)m->face_count * (2 * sizeof(render_primitive) + 64) + (size_t)m->vertex_count * 36, err);
    if (r != BL_OK) {
        mesh_free(m);
        return r;
    }
    if (make_normals)
        mesh_generate_normals(m);
    float *table = memory_need((size_t)m->face_count * sizeof *table + 4);
    float area = area_table(m, table);
    uint32_t words[MESH_WORDS];
    words[MESH_FACES] = shape_put_words(s, m->faces, (size_t)m->face_count * 12);
    words[MESH_POSITIONS] = shape_put_words(s, m->positions, (size_t)m->vertex_count * 12);
    words[MESH_NORMALS] =
        m->normals ? shape_put_words(s, m->normals, (size_t)m->vertex_count * 12) : PLAN_NONE;
    words[MESH_UVS] = m->uvs ? shape_put_words(s, m->uvs, (size_t)m->vertex_count * 8) : PLAN_NONE;
    words[MESH_CDF] = shape_put_words(s, table, (size_t)m->face_count * 4);
    words[MESH_FACE_COUNT] = m->face_count;
    words[MESH_HEIGHTS] = words[MESH_ARRAYS] = 0;
    render_shape shape = {
        .object = o,
        .kind = SHAPE_TRIANGLES,
        .first_entry_primitive = s->primitives.count,
        .primitive_count = m->face_count,
        .vertex_count = m->vertex_count,
        .normals_made = make_normals,
        .area = area,
    };
    shape.data = shape_put_words(s, words, sizeof words);
    put_primitives(s, m, s->shapes.count);
    array_push(&s->shapes, shape);
    s->has_normals |= m->normals != NULL;
    s->has_uvs |= m->uvs != NULL;
    s->kind_used[SHAPE_TRIANGLES] = true;
    mesh_add_attributes(s, o, m);
    memory_free(table);
    mesh_free(m);
    return BL_OK;
}

/* The normals of a rectangle or a cube go by the inverse transpose of to_world, so a matrix that mirrors
 * must not turn them round. The function drops the vertex normals, and flips the faces if it mirrors. */
static void keep_orientation(const scene_object *o, scene_mesh *m)
{
    mesh_drop_normals(m); /* the faces are flat, so the geometric normal is the same */
    if (matrix_determinant3(scene_get(o, "to_world")->matrix) < 0)
        mesh_flip(m);
}

static bl_result rectangle_load(render_scene *s, const scene_object *o, bl_error *err)
{
    scene_mesh m;
    mesh_rectangle(&m);
    keep_orientation(o, &m);
    return mesh_add(s, o, &m, false, err);
}

static bl_result cube_load(render_scene *s, const scene_object *o, bl_error *err)
{
    scene_mesh m;
    mesh_cube(&m);
    keep_orientation(o, &m);
    return mesh_add(s, o, &m, false, err);
}

/* Drops or generates vertex normals as the parameters say, and adds the mesh. Frees the mesh in any case. */
static bl_result add_with_normals(render_scene *s, const scene_object *o, scene_mesh *m, bl_error *err)
{
    bool flat = scene_number(o, "face_normals") != 0;
    if (flat)
        mesh_drop_normals(m);
    return mesh_add(s, o, m, !flat && !m->normals, err);
}

/* The common end of the functions that load a file. r and reason are what the loader of the file returned.
 * Frees the mesh if it was loaded. */
static bl_result add_loaded(render_scene *s, const scene_object *o, bl_result r, const bl_error *reason,
                            scene_mesh *m, bl_error *err)
{
    if (r != BL_OK)
        return scene_error(err, r, scene_get(o, "filename")->where, "%s: %s", o->cls->name, reason->text);
    return add_with_normals(s, o, m, err);
}

static bl_result obj_load(render_scene *s, const scene_object *o, bl_error *err)
{
    scene_mesh m;
    bl_error reason = {0};
    bl_result r =
        mesh_load_obj(scene_get(o, "filename")->path, scene_number(o, "flip_tex_coords") != 0, &m, &reason);
    return add_loaded(s, o, r, &reason, &m, err);
}

static bl_result ply_load(render_scene *s, const scene_object *o, bl_error *err)
{
    scene_mesh m;
    bl_error reason = {0};
    bl_result r =
        mesh_load_ply(scene_get(o, "filename")->path, scene_number(o, "flip_tex_coords") != 0, &m, &reason);
    return add_loaded(s, o, r, &reason, &m, err);
}

static bl_result serialized_load(render_scene *s, const scene_object *o, bl_error *err)
{
    scene_mesh m;
    bl_error reason = {0};
    bl_result r = mesh_load_serialized(scene_get(o, "filename")->path,
                                       (uint32_t)scene_number(o, "shape_index"), &m, &reason);
    return add_loaded(s, o, r, &reason, &m, err);
}

/* A copy of values of the caller that the mesh may free; NULL for NULL. */
static void *copied(const void *values, size_t bytes)
{
    void *copy = values ? memory_need(bytes + 1) : NULL;
    return values ? memcpy(copy, values, bytes) : NULL;
}

static void copy_attributes(const scene_mesh *from, scene_mesh *to)
{
    to->attributes = memory_need_zeroed(from->attribute_count, sizeof *to->attributes);
    to->attribute_count = from->attribute_count;
    for (uint32_t k = 0; k < from->attribute_count; k++) {
        const scene_attribute *a = &from->attributes[k];
        const size_t items = attribute_of_faces(a->name) ? from->face_count : from->vertex_count;
        to->attributes[k] = (scene_attribute){.name = copied(a->name, strlen(a->name) + 1),
                                              .channels = a->channels,
                                              .values = copied(a->values, 4 * items * a->channels)};
    }
}

static bl_result arrays_load(render_scene *s, const scene_object *o, bl_error *err)
{
    if (!o->mesh)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "mesh: only a program can make one, from its arrays (bl_builder_mesh)");
    const size_t vertices = o->mesh->vertex_count;
    TRY(budget_take(BUDGET_TRIANGLES, o->mesh->face_count, err));
    TRY(memory_check(32 * vertices + 12 * (size_t)o->mesh->face_count, err));
    scene_mesh m = {.vertex_count = o->mesh->vertex_count, .face_count = o->mesh->face_count};
    m.positions = copied(o->mesh->positions, 12 * vertices),
    m.normals = copied(o->mesh->normals, 12 * vertices);
    m.uvs = copied(o->mesh->uvs, 8 * vertices), m.faces = copied(o->mesh->faces, 12 * (size_t)m.face_count);
    copy_attributes(o->mesh, &m);
    return add_with_normals(s, o, &m, err);
}

/* ---- traced ---- */

/* The indices of the three vertices of a face. */
static void vertex_indices(tracer *t, ir_ref data, ir_ref face, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref at = ir_add(f, t_word(t, data, MESH_FACES), ir_mul(f, face, t_u32(t, 3)));
    for (uint32_t k = 0; k < 3; k++)
        out[k] = t_word(t, at, k);
}

/* Interpolates a vertex array: the sum of the values at the three vertices times their weights. */
static void interpolate(tracer *t, const mesh_vertices *array, const ir_ref index[3], const ir_ref weight[3],
                        ir_ref *out)
{
    ir_func *f = t->f;
    for (uint32_t v = 0; v < 3; v++) {
        ir_ref x[3];
        mesh_vertex(t, array, index[v], x);
        for (uint32_t k = 0; k < array->components; k++)
            out[k] = v ? t_mad(t, x[k], weight[v], out[k]) : ir_mul(f, x[k], weight[v]);
    }
}

/* The line of a ray against the plane of the triangle, by Moeller and Trumbore 1997. Infinite or NaN for
 * grazing rays. A ray that misses the triangle by rounding, as a hit at its border may be followed by, meets
 * the plane still. */
static void triangle_follow(tracer *t, ir_ref entry, vec3 o, vec3 d, ir_ref at[3])
{
    ir_func *f = t->f;
    vec3 v0 = v3_load(t, entry, 0), e1 = v3_load(t, entry, 3), e2 = v3_load(t, entry, 6);
    vec3 p = v3_cross(t, d, e2);
    ir_ref determinant = v3_dot(t, e1, p), inverse = ir_div(f, t_f32(t, 1), determinant);
    vec3 s = v3_sub(t, o, v0), q = v3_cross(t, s, e1);
    at[1] = ir_mul(f, v3_dot(t, s, p), inverse);
    at[2] = ir_mul(f, v3_dot(t, d, q), inverse);
    at[0] = ir_mul(f, v3_dot(t, e2, q), inverse);
}

static void triangle_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    triangle_follow(t, entry, query->o, query->d, out);
    /* Every test fails for what is not finite. */
    ir_ref inside =
        ir_and(f, ir_ge(f, out[1], zero),
               ir_and(f, ir_ge(f, out[2], zero), ir_le(f, ir_add(f, out[1], out[2]), t_f32(t, 1))));
    ir_ref hit = ir_and(f, inside, ir_and(f, ir_gt(f, out[0], query->tmin), ir_lt(f, out[0], query->tmax)));
    out[0] = ir_select(f, hit, out[0], query->tmax);
}

/* A combination of the vertices of a face. With barycentrics as weights it is a point of the face. With
 * weights that add up to 0 it is the difference along an edge. data: the data words of the mesh. */
typedef struct face_point {
    ir_ref data, face, weight[3];
} face_point;

/* Normals (3 components) or texture coordinates (2) of the mesh, interpolated; `value` stays as it is where
 * the mesh does not have that array. */
static void attribute_or(tracer *t, const face_point *at, enum mesh_array array, ir_ref *value)
{
    BL_ASSERT(array == MESH_ARRAY_NORMALS || array == MESH_ARRAY_UVS, "array %d is not optional", (int)array);
    ir_func *f = t->f;
    ir_ref from = t_word(t, at->data, array == MESH_ARRAY_NORMALS ? MESH_NORMALS : MESH_UVS),
           there = ir_ne(f, from, t_u32(t, PLAN_NONE));
    ir_ref index[3], got[3];
    vertex_indices(t, at->data, at->face, index);
    for (int k = 0; k < 3; k++) /* a mesh without the array reads word 0, and the result is not used */
        index[k] = ir_select(f, there, index[k], t_u32(t, 0));
    mesh_vertices vertices = {.mesh = at->data,
                              .array = array,
                              .from = ir_select(f, there, from, t_u32(t, 0)),
                              .components = array == MESH_ARRAY_NORMALS ? 3 : 2};
    interpolate(t, &vertices, index, at->weight, got);
    for (uint32_t k = 0; k < vertices.components; k++)
        value[k] = ir_select(f, there, got[k], value[k]);
}

/* dp/du and dp/dv solve e_k = du_k dp/du + dv_k dp/dv for both edges. A mesh without uv has the
 * barycentrics (u, v) as coordinates. Where uv is degenerate, any frame in the plane stands in (Mitsuba
 * 3.9). */
static void triangle_tangents(tracer *t, ir_ref data, ir_ref face, vec3 e1, vec3 e2, interaction *si)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref uv1[2] = {one, zero}, uv2[2] = {zero, one};
    if (t->plan->scene->has_uvs) { /* these weights give the difference along an edge */
        ir_ref minus = t_f32(t, -1);
        attribute_or(t, &(face_point){data, face, {minus, one, zero}}, MESH_ARRAY_UVS, uv1);
        attribute_or(t, &(face_point){data, face, {minus, zero, one}}, MESH_ARRAY_UVS, uv2);
    }
    ir_ref determinant = ir_sub(f, ir_mul(f, uv1[0], uv2[1]), ir_mul(f, uv1[1], uv2[0])),
           good = ir_ne(f, determinant, zero);
    ir_ref inverse = ir_div(f, one, ir_select(f, good, determinant, one));
    vec3 du = v3_scale(t, v3_sub(t, v3_scale(t, e1, uv2[1]), v3_scale(t, e2, uv1[1])), inverse);
    vec3 dv = v3_scale(t, v3_sub(t, v3_scale(t, e2, uv1[0]), v3_scale(t, e1, uv2[0])), inverse);
    frame any = frame_around(t, si->ng);
    si->dp_du = v3_select(t, good, du, any.s), si->dp_dv = v3_select(t, good, dv, any.t);
}

void mesh_face_vertices(tracer *t, ir_ref data, ir_ref face, vec3 out[3])
{
    ir_ref index[3], p[3];
    vertex_indices(t, data, face, index);
    for (int k = 0; k < 3; k++) {
        mesh_vertices positions = {data, MESH_ARRAY_POSITIONS, t_word(t, data, MESH_POSITIONS), 3};
        mesh_vertex(t, &positions, index[k], p);
        out[k] = vec3_at(p);
    }
}

/* A vertex of a triangle, and the edges from it to the other two vertices. */
typedef struct triangle {
    vec3 v0, e1, e2;
} triangle;

/* The triangle, with the vertex positions that the parameters hold. */
static triangle moved_triangle(tracer *t, ir_ref data, ir_ref face)
{
    vec3 p[3];
    mesh_face_vertices(t, data, face, p);
    return (triangle){p[0], v3_sub(t, p[1], p[0]), v3_sub(t, p[2], p[0])};
}

/* Barycentrics of the point where the line of the ray meets the plane of the triangle. They are
 * differentiated: as the triangle moves, the hit slides along the ray. */
static vec2 ray_coordinates(tracer *t, vec3 o, vec3 d, const triangle *at)
{
    ir_func *f = t->f;
    vec3 p = v3_cross(t, d, at->e2), s = v3_sub(t, o, at->v0), q = v3_cross(t, s, at->e1);
    ir_ref inverse = ir_div(f, t_f32(t, 1), v3_dot(t, at->e1, p)), u = ir_mul(f, v3_dot(t, s, p), inverse);
    return (vec2){u, ir_mul(f, v3_dot(t, d, q), inverse)};
}

/* Texture coordinates of a point of a face with barycentrics b. A mesh without any has the barycentrics. */
static vec2 uv_at(tracer *t, const face_point *at, vec2 b)
{
    ir_ref uv[2] = {b.x, b.y};
    if (t->plan->scene->has_uvs)
        attribute_or(t, at, MESH_ARRAY_UVS, uv);
    return (vec2){uv[0], uv[1]};
}

/* A point with barycentrics b, of a face that is set later. */
static face_point point_of(tracer *t, ir_ref data, vec2 b)
{
    ir_func *f = t->f;
    return (face_point){.data = data, .weight = {ir_sub(f, t_f32(t, 1), ir_add(f, b.x, b.y)), b.x, b.y}};
}

/* In a direction along the face, where its cosine is 0, it sends no light, and no derivative counts. There
 * the face's normal stands in for the direction, so that nothing is divided by that cosine. */
static void triangle_slide(tracer *t, ir_ref data, ir_ref number, vec3 o, vec3 d, interaction *si)
{
    triangle at = moved_triangle(t, data, number);
    vec3 n = v3_normalize(t, v3_cross(t, v3_detach(t, at.e1), v3_detach(t, at.e2)));
    d = v3_select(t, ir_gt(t->f, ir_abs(t->f, v3_dot(t, d, n)), t_f32(t, 1e-6f)), d, n);
    vec2 b = si->b = ray_coordinates(t, o, d, &at);
    face_point point = point_of(t, data, b);
    point.face = number;
    vec3 p = v3_add(t, at.v0, v3_add(t, v3_scale(t, at.e1, b.x), v3_scale(t, at.e2, b.y)));
    si->t = v3_dot(t, v3_sub(t, p, o), d), si->uv = uv_at(t, &point, b);
}

static void triangle_material(tracer *t, ir_ref data, ir_ref number, vec2 b, interaction *si)
{
    triangle at = moved_triangle(t, data, number);
    face_point point = point_of(t, data, b);
    point.face = number;
    si->p = v3_add(t, at.v0, v3_add(t, v3_scale(t, at.e1, b.x), v3_scale(t, at.e2, b.y)));
    si->ng = si->ns = v3_cross(t, at.e1, at.e2);
    if (t->plan->scene->has_normals) {
        ir_ref n[3] = {si->ng.x, si->ng.y, si->ng.z};
        attribute_or(t, &point, MESH_ARRAY_NORMALS, n);
        si->ns = vec3_at(n);
    }
    si->uv = uv_at(t, &point, b);
}

static void triangle_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    triangle at;
    at.v0 = v3_load(t, hit->entry, 0), at.e1 = v3_load(t, hit->entry, 3), at.e2 = v3_load(t, hit->entry, 6);
    vec2 b = {hit->u, hit->v};
    if (t->differentiated && t->plan->moves & MOVE_POSITIONS) {
        at = moved_triangle(t, hit->data, t_word(t, hit->entry, BVH_ENTRY_PRIMITIVE));
        si->b = b = ray_coordinates(t, hit->o, hit->d, &at);
    }
    si->p = v3_add(t, at.v0, v3_add(t, v3_scale(t, at.e1, b.x), v3_scale(t, at.e2, b.y)));
    si->ng = si->ns = v3_normalize(t, v3_cross(t, at.e1, at.e2));
    face_point point = point_of(t, hit->data, b);
    point.face = t_word(t, hit->entry, BVH_ENTRY_PRIMITIVE);
    if (t->plan->scene->has_normals) {
        ir_ref n[3] = {si->ng.x, si->ng.y, si->ng.z};
        attribute_or(t, &point, MESH_ARRAY_NORMALS, n);
        si->ns = v3_normalize(t, v3(n[0], n[1], n[2]));
    }
    si->uv = uv_at(t, &point, b);
    if (t->plan->needs & NEED_TANGENTS)
        triangle_tangents(t, hit->data, point.face, at.e1, at.e2, si);
}

/* Chooses a point uniformly in area. The first number chooses a face by the cumulative areas; what is left
 * of it and the second number choose a point in the face (warp_triangle). */
static interaction triangle_point(tracer *t, ir_ref data, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref table = t_word(t, data, MESH_CDF), one = t_u32(t, 1), zero = t_f32(t, 0);
    ir_ref face = warp_discrete(t, BUFFER_SCENE, table, t_word(t, data, MESH_FACE_COUNT), u1);
    ir_ref first = ir_eq(f, face, t_u32(t, 0));
    ir_ref low = ir_select(
        f, first, zero,
        ir_load(f, IR_F32, BUFFER_SCENE, ir_add(f, table, ir_select(f, first, face, ir_sub(f, face, one)))));
    ir_ref high = ir_load(f, IR_F32, BUFFER_SCENE, ir_add(f, table, face));
    /* What the choice of the face leaves of the number is uniform again. */
    u1 = t_clamp(t, t_ratio(t, ir_sub(f, u1, low), ir_sub(f, high, low)), 0, 0x1.fffffep-1f);
    vec2 b = warp_triangle(t, u1, u2);
    face_point point = point_of(t, data, b);
    point.face = face;
    ir_ref index[3], p[3][3];
    vertex_indices(t, data, face, index);
    for (int k = 0; k < 3; k++) {
        ir_ref at = ir_add(f, t_word(t, data, MESH_POSITIONS), ir_mul(f, index[k], t_u32(t, 3)));
        for (uint32_t j = 0; j < 3; j++)
            p[k][j] = t_real(t, at, j);
    }
    vec3 v0 = v3(p[0][0], p[0][1], p[0][2]);
    vec3 e1 = v3_sub(t, v3(p[1][0], p[1][1], p[1][2]), v0), e2 = v3_sub(t, v3(p[2][0], p[2][1], p[2][2]), v0);
    interaction at = {
        .p = v3_add(t, v0, v3_add(t, v3_scale(t, e1, b.x), v3_scale(t, e2, b.y))),
        .ng = v3_normalize(t, v3_cross(t, e1, e2)),
        .b = b,
        .face = face,
    };
    at.ns = at.ng;
    if (t->plan->scene->has_normals) {
        ir_ref n[3] = {at.ng.x, at.ng.y, at.ng.z};
        attribute_or(t, &point, MESH_ARRAY_NORMALS, n);
        at.ns = v3(n[0], n[1], n[2]);
    }
    at.uv = uv_at(t, &point, b);
    return at;
}

static emitter_sample triangle_sample(tracer *t, ir_ref data, ir_ref inverse_area, vec3 ref, ir_ref u1,
                                      ir_ref u2)
{
    interaction at = triangle_point(t, data, u1, u2);
    return area_toward(t, inverse_area, ref, &at);
}

/* The inverse of triangle_point. The first number falls into the interval of the face, and its place in
 * there comes from warp_triangle backwards; so does the second number. */
static vec2 triangle_unit(tracer *t, ir_ref data, const emitter_hit *hit)
{
    ir_func *f = t->f;
    ir_ref face = t_word(t, hit->entry, 11), one = t_f32(t, 1), first = ir_eq(f, face, t_u32(t, 0)),
           table = t_word(t, data, MESH_CDF);
    ir_ref before = ir_select(f, first, face, ir_sub(f, face, t_u32(t, 1)));
    ir_ref low = ir_select(f, first, t_f32(t, 0), ir_load(f, IR_F32, BUFFER_SCENE, ir_add(f, table, before)));
    ir_ref high = ir_load(f, IR_F32, BUFFER_SCENE, ir_add(f, table, face)), rest = ir_sub(f, one, hit->at.x);
    return (vec2){t_mad(t, ir_sub(f, high, low), ir_sub(f, one, t_sqr(t, rest)), low),
                  t_ratio(t, hit->at.y, rest)};
}

const shape_kind_class shape_kind_triangles = {
    .name = "triangles",
    .intersect = triangle_intersect,
    .interact = triangle_interact,
    .follow = triangle_follow,
    .sample = triangle_sample,
    .pdf = area_density,
    .point = triangle_point,
    .unit = triangle_unit,
    .slide = triangle_slide,
    .material = triangle_material,
};

/* ---- classes ---- */

static const plugin_param simple_params[] = {
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "object to world"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    SHAPE_ACCEPTED,
};
static const plugin_param obj_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0, "Wavefront OBJ"},
    {"face_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "ignore and do not generate vertex normals"},
    {"flip_tex_coords", PLUGIN_BOOLEAN, 0, "true", 0, 0, "v becomes 1 - v"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "object to world"},
    SHAPE_ACCEPTED,
};
static const plugin_param ply_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0, "Stanford PLY, ascii or binary; triangles only"},
    {"face_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "ignore and do not generate vertex normals"},
    {"flip_tex_coords", PLUGIN_BOOLEAN, 0, "false", 0, 0, "v becomes 1 - v"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "object to world"},
    SHAPE_ACCEPTED,
};
static const plugin_param serialized_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0, "Mitsuba's serialized meshes, versions 3 and 4"},
    {"shape_index", PLUGIN_INTEGER, 0, "0", 0, 2147483647.0, "which of the meshes in the file"},
    {"face_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "ignore and do not generate vertex normals"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "object to world"},
    SHAPE_ACCEPTED,
};
static const plugin_param arrays_params[] = {
    {"face_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "ignore and do not generate vertex normals"},
    {"flip_normals", PLUGIN_BOOLEAN, 0, "false", 0, 0, "turn the surface inside out"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "object to world"},
    SHAPE_ACCEPTED,
};
const shape_class shape_rectangle = {
    .base = {.plugin = {PLUGIN_SHAPE, "rectangle", PLUGIN_TABLE(simple_params), PLUGIN_TABLE(shape_slots),
                        "[-1,1]^2 facing +z"},
             .load = rectangle_load},
};
const shape_class shape_cube = {.base = {.plugin = {PLUGIN_SHAPE, "cube", PLUGIN_TABLE(simple_params),
                                                    PLUGIN_TABLE(shape_slots), "[-1,1]^3"},
                                         .load = cube_load}};
const shape_class shape_obj = {
    .base = {.plugin = {PLUGIN_SHAPE, "obj", PLUGIN_TABLE(obj_params), PLUGIN_TABLE(shape_slots),
                        "mesh from a Wavefront OBJ file"},
             .load = obj_load},
};
const shape_class shape_ply = {
    .base = {.plugin = {PLUGIN_SHAPE, "ply", PLUGIN_TABLE(ply_params), PLUGIN_TABLE(shape_slots),
                        "mesh from a PLY file"},
             .load = ply_load},
};
const shape_class shape_serialized = {
    .base = {.plugin = {PLUGIN_SHAPE, "serialized", PLUGIN_TABLE(serialized_params),
                        PLUGIN_TABLE(shape_slots), "mesh from a file of Mitsuba's"},
             .load = serialized_load}};
const shape_class shape_mesh = {
    .base = {.plugin = {PLUGIN_SHAPE, "mesh", PLUGIN_TABLE(arrays_params), PLUGIN_TABLE(shape_slots),
                        "mesh from a program's arrays (bl_builder_mesh), not from files"},
             .load = arrays_load}};
