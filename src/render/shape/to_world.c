/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes and instances that move with their `to_world`, or with the pose besides it (pose.c), which makes
 * another matrix of it. A scene holds its shapes in world space. For each shape whose matrix M is requested,
 * or whose pose is, a plan keeps a to_world record. What moves with M is described by the
 * motion away from where the shape is,
 *
 *     R = 1 + (M - M0) M0^-1.
 *
 * M is differentiated (or frozen). M0 holds the same values detached, and its inverse stands in the record.
 * So the value of R is exactly the identity, and its derivatives are those of M, whatever the kind of
 * shape.
 *
 * How R acts: points are mapped by R and vectors by its upper left 3x3. Normals are mapped by the matrix of
 * cofactors; the length of the result for a unit normal is also the factor by which the area of the surface
 * grows there.
 *
 * A sphere stays a sphere: only those derivatives of R count that turn it, or scale it alike in all
 * directions. The control points of a curve are mapped by R, and its radii stay. No point of the material
 * of a curve is followed: a hit slides along the ray that found it, as on a mesh whose vertices move
 * (integrator/motion/local_surface.c).
 *
 * An instance moves in the same way. Its record is found through the record of its level, and its motion
 * takes along what its group holds. A shape in a group moves in the space of the group.
 *
 * The record of a shape also holds what the shape is in its own space, of a mesh the vertices and normals.
 * The device makes the shape in the world from them when M has changed
 * (integrator/derived/geometry_transform.c). */
#include "render/classes.h"

/* ---- host ---- */

const render_place *to_world_place(const render_scene *s, const scene_object *o)
{
    return o && s->place_of[o->index] ? &s->places.data[s->place_of[o->index] - 1] : NULL;
}

uint32_t to_world_parameter(const render_scene *s, const scene_object *o)
{
    const render_place *place = to_world_place(s, o);
    return place ? place->to_world : PLAN_NONE;
}

/* The place that a parameter says, or NULL. */
static const render_place *place_said_by(const render_scene *s, uint32_t parameter)
{
    uint32_t place = s->parameters.data[parameter].place;
    return place ? &s->places.data[place - 1] : NULL;
}

bool to_world_is(const render_scene *s, uint32_t parameter) { return place_said_by(s, parameter) != NULL; }

uint32_t to_world_said_by(const render_scene *s, uint32_t parameter)
{
    const render_place *place = place_said_by(s, parameter);
    return place ? place->to_world : PLAN_NONE;
}

static bool wanted(const plan *p, uint32_t parameter) { return p->gradient_offset[parameter] != PLAN_NONE; }

/* Whether the matrix of the place is derived from its pose. */
static bool is_posed(const plan *p, const render_place *place)
{
    return wanted(p, place->translation) || wanted(p, place->rotation) || wanted(p, place->scale);
}

bool to_world_requested(const plan *p, const scene_object *o)
{
    const render_place *place = p->moves & MOVE_TO_WORLD ? to_world_place(p->scene, o) : NULL;
    return place && (wanted(p, place->to_world) || is_posed(p, place));
}

bool shape_vertices_requested(const plan *p, const render_shape *shape)
{
    uint32_t positions =
        render_find_parameter(p->scene, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS);
    return positions != PLAN_NONE && p->gradient_offset[positions] != PLAN_NONE;
}

bool shape_motion_requested(const plan *p, const render_shape *shape)
{
    return shape_vertices_requested(p, shape) || to_world_requested(p, shape->object);
}

bool to_world_twice(const plan *p, const scene_object *o)
{
    const render_place *place = to_world_place(p->scene, o);
    return place && wanted(p, place->to_world) && is_posed(p, place);
}

bool to_world_follows(const plan *p, uint32_t parameter)
{
    const render_place *place = place_said_by(p->scene, parameter);
    return place && (is_posed(p, place) || wanted(p, parameter));
}

bool to_world_moves_levels(const plan *p)
{
    bool any = false;
    for (uint32_t k = 0; k < p->scene->instances.count; k++)
        any |= to_world_requested(p, p->scene->instances.data[k].object);
    return any;
}

bool to_world_moves_grouped(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->scene->shapes.count && p->scene->has_groups; i++)
        any |= p->scene->shapes.data[i].group > 0 && to_world_requested(p, p->scene->shapes.data[i].object);
    return any;
}

/* The same of a translation, a rotation or a scale. */
static bl_result check_pose(const render_scene *s, uint32_t parameter, const float *values, bl_error *err)
{
    if (parameter == place_said_by(s, parameter)->scale && !(values[0] > 0))
        return error_set(err, BL_ERROR_ARGUMENT, "%s is %g: a scale is above 0",
                         s->parameters.data[parameter].name, (double)values[0]);
    return BL_OK;
}

bool to_world_hides(const double m[16])
{
    bool any = false;
    for (int k = 0; k < 12; k++)
        any |= k % 4 < 3 && m[k] != 0;
    return !any;
}

static bool is_instance(const render_place *place)
{
    return place && place->object->cls == &shape_instance.base.plugin;
}

bl_result to_world_check(const render_scene *s, uint32_t parameter, const float *values, bl_error *err)
{
    const render_place *place = place_said_by(s, parameter);
    const char *name = s->parameters.data[parameter].name, *refusal = NULL;
    double m[16];
    if (place && parameter != place->to_world)
        return check_pose(s, parameter, values, err);
    for (int k = 0; k < 16; k++) {
        m[k] = (double)values[k];
        if (!isfinite(m[k]))
            return error_set(err, BL_ERROR_ARGUMENT, "%s: entry %d of row %d is not finite", name, k % 4,
                             k / 4);
    }
    if (matrix_determinant3(m) == 0 && !(is_instance(place) && to_world_hides(m)))
        return error_set(err, BL_ERROR_ARGUMENT, "%s is singular", name);
    for (uint32_t i = 0; i < s->shapes.count && !refusal; i++) {
        const shape_kind_class *kind = shape_kinds[s->shapes.data[i].kind];
        if (kind->refuses && place && s->shapes.data[i].object == place->object)
            refusal = kind->refuses(m);
    }
    return refusal ? error_set(err, BL_ERROR_ARGUMENT, "%s: %s", name, refusal) : BL_OK;
}

/* Writes vertices (w = 1) or normals (w = 0) of a mesh in its own space, and returns their word. by: the
 * matrix that maps them there, for vertices the inverse of to_world, and for normals the transpose of
 * to_world. */
static uint32_t own_space(plan *p, uint32_t from, uint32_t count, const double by[16], double w)
{
    uint32_t at = plan_reserve(p, 3 * count);
    for (uint32_t i = 0; i < count; i++) {
        float v[3];
        memcpy(v, p->words.data + from + 3 * i, sizeof v);
        double own[3] = {(double)v[0], (double)v[1], (double)v[2]};
        matrix_apply(by, own, w, own);
        for (uint32_t k = 0; k < 3; k++)
            p->words.data[at + 3 * i + k] = float_word((float)own[k]);
    }
    return at;
}

/* Writes a to_world record with the words that every shape and instance has, and returns its word. inverse
 * is an output: the inverse of to_world as it is now. */
static uint32_t write_to_world(plan *p, const scene_object *o, double inverse[16])
{
    const render_place *place = to_world_place(p->scene, o);
    plan_values matrix = {p->value_offset[place->to_world], p->gradient_offset[place->to_world]};
    if (is_posed(p, place))
        matrix = plan_derive(p, place->pose), p->posed = true;
    const uint32_t at = plan_reserve(p, TO_WORLD_WORDS);
    uint32_t *w = p->words.data + at;
    w[TO_WORLD_VALUE] = matrix.value, w[TO_WORLD_GRADIENT] = matrix.gradient;
    const double *m = scene_get(o, "to_world")->matrix;
    bool hidden = is_instance(place) && to_world_hides(m), regular = !hidden && matrix_invert(m, inverse);
    BL_ASSERT(regular || hidden, "%s: a singular to_world was loaded", o->cls->name);
    if (hidden)
        memset(inverse, 0, 16 * sizeof *inverse); /* made when it is shown */
    for (uint32_t k = 0; k < 12; k++)
        w[TO_WORLD_INVERSE + k] = float_word((float)inverse[4 * (k % 3) + k / 3]);
    return at;
}

/* Writes the boxes of a shape's primitives, and returns their word. */
static uint32_t write_boxes(plan *p, const render_shape *shape)
{
    uint32_t boxes = plan_reserve(p, 6 * shape->primitive_count);
    for (uint32_t i = 0; i < shape->primitive_count; i++)
        memcpy(p->words.data + boxes + 6 * (size_t)i,
               p->scene->primitives.data[shape->first_entry_primitive + i].bounds, 6 * sizeof(float));
    return boxes;
}

/* Writes what a shape that is no mesh is in its own space, and the boxes of its primitives. */
static void write_solid(plan *p, const render_shape *shape, uint32_t place)
{
    const shape_kind_class *kind = shape_kinds[shape->kind];
    BL_ASSERT(kind->transform, "the kind %s has object_data and no transform", kind->name);
    uint32_t count = kind->object_data(p->scene, shape, NULL), own = plan_reserve(p, count),
             boxes = write_boxes(p, shape);
    float *numbers = arena_alloc(&p->memory, (count + 1) * sizeof *numbers);
    uint32_t written = kind->object_data(p->scene, shape, numbers);
    BL_ASSERT(written == count, "the kind %s wrote %u numbers after counting %u", kind->name, written, count);
    memcpy(p->words.data + own, numbers, count * sizeof *numbers);
    p->words.data[place + TO_WORLD_OBJECT_DATA] = own, p->words.data[place + TO_WORLD_BOXES] = boxes;
}

static uint32_t write_shape_place(plan *p, const render_shape *shape)
{
    BL_ASSERT(shape->kind < SHAPE_KIND_COUNT, "a shape of kind %u", shape->kind);
    const scene_object *o = shape->object;
    double inverse[16];
    const uint32_t at = write_to_world(p, o, inverse), *mesh = p->words.data + p->geometry + shape->data;
    uint32_t *w = p->words.data + at, positions = 0, normals = 0;
    w[TO_WORLD_MOVES_AS] = shape_kinds[shape->kind]->moves, w[TO_WORLD_DATA] = p->geometry + shape->data;
    if (shape->kind == SHAPE_TRIANGLES) {
        double transposed[16];
        for (int k = 0; k < 16; k++)
            transposed[k] = scene_get(o, "to_world")->matrix[4 * (k % 4) + k / 4];
        uint32_t from[2] = {mesh[MESH_POSITIONS], mesh[MESH_NORMALS]};
        positions = own_space(p, from[0], shape->vertex_count, inverse, 1);
        normals =
            from[1] == PLAN_NONE ? PLAN_NONE : own_space(p, from[1], shape->vertex_count, transposed, 0);
        w = p->words.data + at;
    }
    w[TO_WORLD_POSITIONS] = positions, w[TO_WORLD_NORMALS] = normals;
    if (shape_kinds[shape->kind]->object_data)
        write_solid(p, shape, at);
    return at;
}

void to_world_write(plan *p)
{
    const render_scene *s = p->scene;
    for (uint32_t i = 0; i < s->shapes.count && p->moves & MOVE_TO_WORLD; i++)
        if (to_world_requested(p, s->shapes.data[i].object)) {
            uint32_t record = write_shape_place(p, &s->shapes.data[i]);
            p->words.data[p->words.data[HEADER_SHAPES] + i * SHAPE_WORDS + SHAPE_TO_WORLD] = record;
        }
    p->level_motions = arena_alloc(&p->memory, (s->instances.count + 1) * sizeof *p->level_motions);
    for (uint32_t k = 0; k < s->instances.count; k++) {
        const scene_object *o = s->instances.data[k].object;
        double inverse[16];
        p->level_motions[k] = to_world_requested(p, o) ? write_to_world(p, o, inverse) : 0;
    }
}

void to_world_write_remade(plan *p, uint32_t shape)
{
    const render_shape *own = &p->scene->shapes.data[shape];
    BL_ASSERT(shape_kinds[own->kind]->remake, "a shape of kind %u follows no values", own->kind);
    uint32_t record = plan_reserve(p, TO_WORLD_WORDS), boxes = write_boxes(p, own);
    p->words.data[record + TO_WORLD_DATA] = p->geometry + own->data;
    p->words.data[record + TO_WORLD_BOXES] = boxes;
    p->words.data[p->words.data[HEADER_SHAPES] + shape * SHAPE_WORDS + SHAPE_TO_WORLD] = record;
}

bool to_world_solids_move(const plan *p) { return p->moves & MOVE_TO_WORLD || p->scene->ellipsoid_field; }

/* ---- traced: affine maps ---- */

vec3 affine_vector(tracer *t, const affine_map *m, vec3 v)
{
    return v3_add(t, v3_scale(t, m->column[0], v.x),
                  v3_add(t, v3_scale(t, m->column[1], v.y), v3_scale(t, m->column[2], v.z)));
}

vec3 affine_point(tracer *t, const affine_map *m, vec3 p)
{
    return v3_add(t, affine_vector(t, m, p), m->column[3]);
}

vec3 affine_normal(tracer *t, const affine_map *m, vec3 n)
{
    const vec3 *c = m->column;
    return v3_add(
        t, v3_scale(t, v3_cross(t, c[1], c[2]), n.x),
        v3_add(t, v3_scale(t, v3_cross(t, c[2], c[0]), n.y), v3_scale(t, v3_cross(t, c[0], c[1]), n.z)));
}

/* A matrix without an inverse gives finite numbers. */
affine_map affine_inverse(tracer *t, const affine_map *m)
{
    ir_func *f = t->f;
    const vec3 *c = m->column;
    vec3 row[3];
    for (uint32_t k = 0; k < 3; k++)
        row[k] = v3_cross(t, c[(k + 1) % 3], c[(k + 2) % 3]);
    ir_ref determinant = v3_dot(t, c[0], row[0]), none = ir_eq(f, determinant, t_f32(t, 0));
    ir_ref by = ir_div(f, t_f32(t, 1), ir_select(f, none, t_f32(t, 1), determinant));
    for (uint32_t k = 0; k < 3; k++)
        row[k] = v3_scale(t, row[k], by);
    affine_map r = {{v3(row[0].x, row[1].x, row[2].x), v3(row[0].y, row[1].y, row[2].y),
                     v3(row[0].z, row[1].z, row[2].z)}};
    r.column[3] = v3_neg(t, affine_vector(t, &r, c[3]));
    return r;
}

vec3 kind_point(tracer *t, ir_ref word)
{
    vec3 p = v3_load(t, word, 0);
    return t->motion ? affine_point(t, t->motion, p) : p;
}

/* ---- traced: places ---- */

/* bool: the shape or level has a to_world record */
static ir_ref moves(tracer *t, ir_ref place) { return ir_ne(t->f, place, t_u32(t, 0)); }

affine_map to_world_map(tracer *t, ir_ref place)
{
    ir_func *f = t->f;
    ir_ref there = moves(t, place), value = t_word(t, place, TO_WORLD_VALUE),
           gradient = t_word(t, place, TO_WORLD_GRADIENT), none = t_u32(t, PLAN_NONE);
    value = ir_select(f, there, value, t_u32(t, 0)), gradient = ir_select(f, there, gradient, none);
    affine_map m;
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref e[3];
        for (uint32_t row = 0; row < 3; row++)
            e[row] = ir_select(f, there, plan_value(t, value, gradient, true, t_u32(t, 4 * row + k)),
                               t_f32(t, row == k));
        m.column[k] = vec3_at(e);
    }
    return m;
}

/* The part of R about `centre` that turns, and that scales alike in all directions: a third of the trace,
 * and the antisymmetric part. */
static affine_map similar(tracer *t, const affine_map *r, vec3 centre)
{
    ir_func *f = t->f;
    const vec3 *c = r->column;
    ir_ref half = t_f32(t, 0.5f), one = t_f32(t, 1),
           grown = ir_sub(f, ir_add(f, c[0].x, ir_add(f, c[1].y, c[2].z)), t_f32(t, 3));
    /* The scale is exactly 1 where nothing grows. */
    ir_ref scale = ir_add(f, one, ir_mul(f, grown, t_f32(t, 1.0f / 3)));
    ir_ref yz = ir_mul(f, ir_sub(f, c[1].z, c[2].y), half), zx = ir_mul(f, ir_sub(f, c[2].x, c[0].z), half);
    ir_ref xy = ir_mul(f, ir_sub(f, c[0].y, c[1].x), half);
    affine_map m = {
        {v3(scale, xy, ir_neg(f, zx)), v3(ir_neg(f, xy), scale, yz), v3(zx, ir_neg(f, yz), scale)}};
    m.column[3] = v3_sub(t, affine_point(t, r, centre), affine_vector(t, &m, centre));
    return m;
}

/* Column k of the identity. */
static vec3 column_of_one(tracer *t, uint32_t k)
{
    return v3(t_f32(t, k == 0), t_f32(t, k == 1), t_f32(t, k == 2));
}

affine_map to_world_motion_of_points(tracer *t, ir_ref place)
{
    ir_ref at = ir_select(t->f, moves(t, place), t_offset(t, place, TO_WORLD_INVERSE), t_u32(t, 0));
    tracer now = t_deciding(t);
    affine_map change = to_world_map(t, place), from = to_world_map(&now, place), r;
    for (int k = 0; k < 4; k++)
        change.column[k] = v3_sub(t, change.column[k], from.column[k]);
    for (uint32_t k = 0; k < 4; k++) {
        vec3 unit = column_of_one(t, k), back = v3_select(t, moves(t, place), v3_load(t, at, 3 * k), unit);
        r.column[k] =
            v3_add(t, unit, k < 3 ? affine_vector(t, &change, back) : affine_point(t, &change, back));
    }
    return r;
}

/* Whether the scene has a shape whose kind moves in this way. */
static bool kind_in_use(tracer *t, enum moves_as as)
{
    bool any = false;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        any |= t->plan->scene->kind_used[k] && shape_kinds[k]->moves == as;
    return any;
}

/* bool: the shape has a to_world record and moves in this way. */
static ir_ref moves_as(tracer *t, ir_ref place, enum moves_as as)
{
    return ir_and(t->f, moves(t, place), ir_eq(t->f, t_word(t, place, TO_WORLD_MOVES_AS), t_u32(t, as)));
}

affine_map to_world_motion(tracer *t, ir_ref place)
{
    affine_map r = to_world_motion_of_points(t, place);
    for (uint32_t k = 0; k < 4 && kind_in_use(t, MOVES_AS_POINTS); k++)
        r.column[k] = v3_select(t, moves_as(t, place, MOVES_AS_POINTS), column_of_one(t, k), r.column[k]);
    if (!kind_in_use(t, MOVES_AS_SPHERE))
        return r;
    ir_func *f = t->f;
    ir_ref ball = moves_as(t, place, MOVES_AS_SPHERE);
    vec3 centre = v3_load(t, ir_select(f, ball, t_word(t, place, TO_WORLD_DATA), t_u32(t, 0)), SPHERE_CENTER);
    affine_map alike = similar(t, &r, v3_select(t, ball, centre, r.column[3]));
    for (int k = 0; k < 4; k++)
        r.column[k] = v3_select(t, ball, alike.column[k], r.column[k]);
    return r;
}

affine_map to_world_level_motion(tracer *t, ir_ref level)
{
    return to_world_motion_of_points(t, t_word(t, level, LEVEL_MOTION));
}

/* Reads a map from the record of a level. which: its first word there. */
static affine_map level_map(tracer *t, ir_ref level, uint32_t which)
{
    affine_map m;
    for (uint32_t k = 0; k < 4; k++)
        m.column[k] =
            v3(t_real(t, level, which + k), t_real(t, level, which + 4 + k), t_real(t, level, which + 8 + k));
    return m;
}

/* The motion r of something in a group, as the world sees it: 1 + to_world (R - 1) to_group. It is exactly
 * 1 where R is. */
static affine_map seen_from_outside(tracer *t, const affine_map *r, ir_ref level)
{
    affine_map change, to_world = level_map(t, level, LEVEL_TO_WORLD),
                       to_group = level_map(t, level, LEVEL_TO_GROUP), out;
    for (uint32_t k = 0; k < 4; k++)
        change.column[k] = v3_sub(t, r->column[k], column_of_one(t, k));
    for (uint32_t k = 0; k < 4; k++) {
        vec3 unit = column_of_one(t, k), c = to_group.column[k];
        out.column[k] = v3_add(
            t, unit,
            affine_vector(t, &to_world, k < 3 ? affine_vector(t, &change, c) : affine_point(t, &change, c)));
    }
    return out;
}

affine_map to_world_motion_within(tracer *t, ir_ref shape, ir_ref level)
{
    affine_map r = to_world_motion(t, t_word(t, shape, SHAPE_TO_WORLD));
    if (ir_is_none(level))
        return r;
    if (to_world_moves_grouped(t->plan))
        r = seen_from_outside(t, &r, level);
    if (!to_world_moves_levels(t->plan))
        return r;
    affine_map outer = to_world_level_motion(t, level), all;
    for (uint32_t k = 0; k < 4; k++)
        all.column[k] = (k < 3 ? affine_vector : affine_point)(t, &outer, r.column[k]);
    return all;
}

void to_world_carry(tracer *t, const affine_map *r, interaction *si)
{
    si->p = affine_point(t, r, si->p);
    si->ng = v3_normalize(t, affine_normal(t, r, si->ng)),
    si->ns = v3_normalize(t, affine_normal(t, r, si->ns));
    if (!ir_is_none(si->dp_du.x))
        si->dp_du = affine_vector(t, r, si->dp_du), si->dp_dv = affine_vector(t, r, si->dp_dv);
}
