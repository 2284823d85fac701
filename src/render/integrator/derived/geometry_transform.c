/* SPDX-License-Identifier: BSD-3-Clause
 * Steps of the geometry kernel for a shape or instance whose to_world has changed (shape/to_world.c). They
 * compute in world space what the scene buffer has of it, from what is kept in the shape's own space:
 * vertices and normals of meshes, the words of other shapes, maps of instances, inverse maps. */
#include "render/integrator/derived/geometry.h"

/* Lane: a vertex of a mesh. Its position, and its normal by the inverse transpose. */
void geometry_to_world(tracer *t, ir_ref to_world, ir_ref id)
{
    ir_func *f = t->f;
    affine_map m = to_world_map(t, to_world);
    ir_ref data = t_word(t, to_world, TO_WORLD_DATA), at = ir_mul(f, id, t_u32(t, 3)), words[3];
    vec3_put(affine_point(t, &m, v3_load(t, ir_add(f, t_word(t, to_world, TO_WORLD_POSITIONS), at), 0)),
             words);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(f, BUFFER_SCENE, t_offset(t, ir_add(f, t_word(t, data, MESH_POSITIONS), at), k), words[k]);
    ir_ref normals = t_word(t, to_world, TO_WORLD_NORMALS);
    ir_if(f, ir_ne(f, normals, t_u32(t, PLAN_NONE)));
    vec3 n = affine_normal(t, &m, v3_load(t, ir_add(f, normals, at), 0));
    ir_ref mirrored = ir_lt(f, v3_dot(t, m.column[0], v3_cross(t, m.column[1], m.column[2])), t_f32(t, 0));
    vec3_put(v3_select(t, mirrored, v3_neg(t, n), n), words);
    ir_ref length = v3_length(t, vec3_at(words)), by = t_ratio(t, t_f32(t, 1), length);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(f, BUFFER_SCENE, t_offset(t, ir_add(f, t_word(t, data, MESH_NORMALS), at), k),
                 ir_mul(f, words[k], by));
    ir_else(f);
    ir_endif(f);
}

static void store_solid(tracer *t, const object_primitive *at, const transformed_primitive *s, ir_ref box)
{
    ir_func *f = t->f;
    if (s->shared)
        ir_if(f, ir_eq(f, at->number, t_u32(t, 0)));
    for (uint32_t i = 0; i < s->word_count; i++)
        ir_store(f, BUFFER_SCENE, t_offset(t, s->to, i), s->words[i]);
    if (s->shared)
        ir_else(f), ir_endif(f);
    for (uint32_t i = 0; i < s->entry_count; i++)
        ir_store(f, BUFFER_SCENE, t_offset(t, at->entry, i), s->entry[i]);
    for (uint32_t i = 0; i < 3; i++) {
        ir_store(f, BUFFER_SCENE, t_offset(t, box, i), s->least[i]);
        ir_store(f, BUFFER_SCENE, t_offset(t, box, 3 + i), s->most[i]);
    }
}

/* Lane: a point that describes a shape other than a mesh. */
void geometry_transform_points(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref to_world = work_word(t, record, REFIT_SOLID_TO_WORLD),
           kind = work_word(t, record, REFIT_SOLID_KIND);
    affine_map m = to_world_map(t, to_world);
    const object_primitive at = {.object_data = t_word(t, to_world, TO_WORLD_OBJECT_DATA),
                                 .data = t_word(t, to_world, TO_WORLD_DATA),
                                 .number = id};
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++) {
        if (!shape_kinds[k]->transform_point || !t->plan->scene->kind_used[k])
            continue;
        ir_if(f, ir_eq(f, kind, t_u32(t, k)));
        shape_kinds[k]->transform_point(t, &m, &at);
        ir_else(f);
        ir_endif(f);
    }
}

/* Lane: a primitive of a shape other than a mesh. */
void geometry_solid(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref to_world = work_word(t, record, REFIT_SOLID_TO_WORLD),
           kind = work_word(t, record, REFIT_SOLID_KIND),
           light = work_word(t, record, REFIT_SOLID_INVERSE_AREA);
    affine_map m = to_world_map(t, to_world);
    const object_primitive at = {
        t_word(t, to_world, TO_WORLD_OBJECT_DATA), t_word(t, to_world, TO_WORLD_DATA),
        work_word(t, ir_add(f, work_word(t, record, REFIT_SOLID_ENTRIES), id), 0), id};
    ir_ref box = ir_add(f, t_word(t, to_world, TO_WORLD_BOXES), ir_mul(f, id, t_u32(t, 6)));
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++) {
        if (!shape_kinds[k]->transform || !t->plan->scene->kind_used[k])
            continue;
        transformed_primitive s = {.to = at.data};
        ir_if(f, ir_eq(f, kind, t_u32(t, k)));
        shape_kinds[k]->transform(t, &m, &at, &s);
        store_solid(t, &at, &s, box);
        if (!ir_is_none(s.area)) {
            ir_if(f, ir_ne(f, light, t_u32(t, PLAN_NONE)));
            ir_store(f, BUFFER_SCENE, light, t_ratio(t, t_f32(t, 1), s.area));
            ir_else(f);
            ir_endif(f);
        }
        ir_else(f);
        ir_endif(f);
    }
}

/* Lane: a primitive of a shape whose description is a parameter. */
void geometry_remake(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref place = work_word(t, record, REFIT_SOLID_TO_WORLD), kind = work_word(t, record, REFIT_SOLID_KIND);
    const object_primitive at = {
        .data = t_word(t, place, TO_WORLD_DATA),
        .entry = work_word(t, ir_add(f, work_word(t, record, REFIT_SOLID_ENTRIES), id), 0),
        .number = id};
    ir_ref box = ir_add(f, t_word(t, place, TO_WORLD_BOXES), ir_mul(f, id, t_u32(t, 6)));
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++) {
        if (!shape_kinds[k]->remake || !t->plan->scene->kind_used[k])
            continue;
        transformed_primitive s = {.to = at.data};
        ir_if(f, ir_eq(f, kind, t_u32(t, k)));
        shape_kinds[k]->remake(t, &at, &s);
        store_solid(t, &at, &s, box);
        ir_else(f);
        ir_endif(f);
    }
}

/* Rows of a map to words of a buffer. */
static void store_map(tracer *t, const affine_map *m, uint32_t buffer, ir_ref at)
{
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref words[3];
        vec3_put(m->column[k], words);
        for (uint32_t row = 0; row < 3; row++)
            ir_store(t->f, buffer, t_offset(t, at, 4 * row + k), words[row]);
    }
}

/* bool: to_world_hides */
static ir_ref hides(tracer *t, const affine_map *m)
{
    ir_ref none = ir_bool(t->f, true), zero = t_f32(t, 0);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref e[3];
        vec3_put(m->column[k], e);
        for (uint32_t row = 0; row < 3; row++)
            none = ir_and(t->f, none, ir_eq(t->f, e[row], zero));
    }
    return none;
}

/* For ray queries. Maps of acceleration structures must have an inverse; no ray sees a hidden instance. */
static void store_seen(tracer *t, const affine_map *m, ir_ref hidden, ir_ref record)
{
    affine_map seen = *m;
    for (uint32_t k = 0; k < 3; k++)
        seen.column[k] =
            v3_select(t, hidden, v3(t_f32(t, k == 0), t_f32(t, k == 1), t_f32(t, k == 2)), m->column[k]);
    store_map(t, &seen, BUFFER_SAMPLES, t_offset(t, record, REFIT_INSTANCE_MAP));
    ir_store(t->f, BUFFER_SAMPLES, t_offset(t, record, REFIT_INSTANCE_MASK),
             ir_bits_to_f32(t->f, ir_select(t->f, hidden, t_u32(t, 0), t_u32(t, 0xFF))));
}

/* One lane: the maps of an instance's level. */
void geometry_instance(tracer *t, ir_ref record, ir_ref id)
{
    (void)id;
    ir_ref level = work_word(t, record, REFIT_INSTANCE_LEVEL);
    affine_map m = to_world_map(t, work_word(t, record, REFIT_INSTANCE_TO_WORLD)),
               back = affine_inverse(t, &m);
    ir_ref hidden = {0};
    if (to_world_moves_levels(t->plan)) { /* else there is no such lane */
        ir_ref far = t_f32(t, hidden_at);
        hidden = hides(t, &m); /* the inverse then has columns of 0 */
        back.column[3] = v3_select(t, hidden, v3(far, far, far), back.column[3]);
    }
    store_map(t, &m, BUFFER_SCENE, t_offset(t, level, LEVEL_TO_WORLD));
    store_map(t, &back, BUFFER_SCENE, t_offset(t, level, LEVEL_TO_GROUP));
    if (t->plan->query && !ir_is_none(hidden))
        store_seen(t, &m, hidden, record);
}

/* One lane: the inverse of a shape's map. */
void geometry_to_world_inverse(tracer *t, ir_ref to_world, ir_ref id)
{
    (void)id;
    affine_map m = to_world_map(t, to_world), back = affine_inverse(t, &m);
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref words[3];
        vec3_put(back.column[k], words);
        for (uint32_t row = 0; row < 3; row++)
            ir_store(t->f, BUFFER_SCENE, t_offset(t, to_world, TO_WORLD_INVERSE + 3 * k + row), words[row]);
    }
}
