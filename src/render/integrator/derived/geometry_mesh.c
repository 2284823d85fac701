/* SPDX-License-Identifier: BSD-3-Clause
 * Steps of the geometry kernel for a mesh whose vertices have moved, and the derivatives of its normals:
 *
 *   heights    The positions of a heightfield (shape/heightfield.c).
 *   normals    If the mesh has generated normals: angle-weighted, as scene/mesh.c makes them. Each vertex
 * sums over its corners, so lanes need no order. If positions are requested, these normals are derived
 *              values: the adjoint kernel hands their gradients on to the positions, and the tangent kernel
 *              computes their tangents from those of the positions.
 *   areas      The cumulative table by which points on the mesh are sampled, in blocks: sums within each
 *              block, then over blocks, then the table. Of lights, also 1 / area. */
#include "render/integrator/derived/geometry.h"
#include "spirv_gen/ad/ad.h"

vec3 geometry_position(tracer *t, ir_ref data, ir_ref index)
{
    ir_ref p[3];
    mesh_vertices positions = {data, MESH_ARRAY_POSITIONS, t_word(t, data, MESH_POSITIONS), 3};
    mesh_vertex(t, &positions, index, p);
    return vec3_at(p);
}

void geometry_corners(tracer *t, ir_ref data, ir_ref face, vec3 corner[3])
{
    ir_ref at = ir_add(t->f, t_word(t, data, MESH_FACES), ir_mul(t->f, face, t_u32(t, 3)));
    for (uint32_t k = 0; k < 3; k++)
        corner[k] = geometry_position(t, data, t_word(t, at, k));
}

/* Lane: a vertex of a heightfield. Its position follows from its height, which the scene buffer has. */
void geometry_heights(tracer *t, ir_ref data, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref grid = t_word(t, data, MESH_HEIGHTS), p[3],
           at = ir_add(f, t_word(t, data, MESH_POSITIONS), ir_mul(f, id, t_u32(t, 3)));
    vec3_put(heights_vertex(t, grid, id, t_real(t, ir_add(f, grid, id), HEIGHTS_VALUES)), p);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(f, BUFFER_SCENE, t_offset(t, at, k), p[k]);
}

/* ---- areas ---- */

static ir_ref face_area(tracer *t, ir_ref data, ir_ref face)
{
    vec3 v[3];
    geometry_corners(t, data, face, v);
    return ir_mul(t->f, t_f32(t, 0.5f),
                  v3_length(t, v3_cross(t, v3_sub(t, v[1], v[0]), v3_sub(t, v[2], v[0]))));
}

/* Lane: a block of faces. Cumulative areas within the block; its total to the work buffer. */
void geometry_area_blocks(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref data = work_word(t, record, REFIT_MESH_DATA), first = ir_mul(f, id, t_u32(t, REFIT_AREA_BLOCK)),
           table = t_word(t, data, MESH_CDF);
    ir_ref end = ir_min(f, t_offset(t, first, REFIT_AREA_BLOCK), t_word(t, data, MESH_FACE_COUNT)),
           state[2] = {first, t_f32(t, 0)};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], end));
    ir_ref sum = ir_add(f, state[1], face_area(t, data, state[0]));
    ir_store(f, BUFFER_SCENE, ir_add(f, table, state[0]), sum);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], t_u32(t, 1)), sum}, 2);
    ir_store(f, BUFFER_SAMPLES, ir_add(f, t_offset(t, work_word(t, record, REFIT_MESH_BLOCKS), 1), id),
             state[1]);
}

/* One lane: totals become cumulative over blocks, with 0 in front; and 1 / area of a light. */
void geometry_area_sums(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    (void)id;
    ir_ref data = work_word(t, record, REFIT_MESH_DATA), at = work_word(t, record, REFIT_MESH_BLOCKS),
           one = t_u32(t, 1);
    ir_ref blocks = ir_div(f, t_offset(t, t_word(t, data, MESH_FACE_COUNT), REFIT_AREA_BLOCK - 1),
                           t_u32(t, REFIT_AREA_BLOCK));
    ir_store(f, BUFFER_SAMPLES, at, t_f32(t, 0));
    ir_ref state[2] = {one, t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_le(f, state[0], blocks));
    ir_ref sum = ir_add(f, state[1], ir_load(f, IR_F32, BUFFER_SAMPLES, ir_add(f, at, state[0])));
    ir_store(f, BUFFER_SAMPLES, ir_add(f, at, state[0]), sum);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], one), sum}, 2);
    ir_ref light = work_word(t, record, REFIT_MESH_INVERSE_AREA),
           carried = ir_ne(f, light, t_u32(t, PLAN_NONE));
    ir_if(f, carried);
    ir_store(f, BUFFER_SCENE, light, t_ratio(t, t_f32(t, 1), state[1]));
    ir_else(f);
    ir_endif(f);
}

/* Lane: a face. Its entry of the table: the cumulative area over the total; the last one is exactly 1. */
void geometry_area_table(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref data = work_word(t, record, REFIT_MESH_DATA), blocks = work_word(t, record, REFIT_MESH_BLOCKS),
           at = ir_add(f, t_word(t, data, MESH_CDF), id);
    ir_ref count = t_word(t, data, MESH_FACE_COUNT),
           last = ir_div(f, t_offset(t, count, REFIT_AREA_BLOCK - 1), t_u32(t, REFIT_AREA_BLOCK));
    ir_ref total = ir_load(f, IR_F32, BUFFER_SAMPLES, ir_add(f, blocks, last));
    ir_ref before =
        ir_load(f, IR_F32, BUFFER_SAMPLES, ir_add(f, blocks, ir_div(f, id, t_u32(t, REFIT_AREA_BLOCK))));
    ir_ref share = t_ratio(t, ir_add(f, before, ir_load(f, IR_F32, BUFFER_SCENE, at)), total),
           one = t_f32(t, 1);
    ir_ref whole = ir_or(f, ir_eq(f, t_offset(t, id, 1), count), ir_le(f, total, t_f32(t, 0)));
    ir_store(f, BUFFER_SCENE, at, ir_select(f, whole, one, ir_min(f, share, one)));
}

/* ---- generated normals ---- */

/* v over its length, or 0 if that is 0. Derivatives are finite there, too. */
static vec3 unit_or_zero(tracer *t, vec3 v)
{
    ir_func *f = t->f;
    ir_ref square = v3_dot(t, v, v), there = ir_gt(f, square, t_f32(t, 0)),
           safe = ir_select(f, there, square, t_f32(t, 1));
    return v3_scale(t, v, ir_select(f, there, ir_div(f, t_f32(t, 1), ir_sqrt(f, safe)), t_f32(t, 0)));
}

/* The normal of a corner's face times the angle at that corner. corner: u32, 3 * face + its number in it. */
static vec3 corner_normal(tracer *t, ir_ref data, ir_ref corner)
{
    ir_func *f = t->f;
    ir_ref face = ir_div(f, corner, t_u32(t, 3)), three = t_u32(t, 3),
           k = ir_sub(f, corner, ir_mul(f, face, three));
    ir_ref at = ir_add(f, t_word(t, data, MESH_FACES), ir_mul(f, face, three)), wrapped[3] = {k};
    for (int j = 1; j < 3; j++) {
        ir_ref next = t_offset(t, wrapped[j - 1], 1);
        wrapped[j] = ir_select(f, ir_eq(f, next, three), t_u32(t, 0), next);
    }
    vec3 v[3];
    for (int j = 0; j < 3; j++)
        v[j] = geometry_position(t, data, t_word(t, ir_add(f, at, wrapped[j]), 0));
    vec3 a = v3_sub(t, v[1], v[0]), b = v3_sub(t, v[2], v[0]), n = unit_or_zero(t, v3_cross(t, a, b));
    a = unit_or_zero(t, a), b = unit_or_zero(t, b);
    vec3 across = v3_cross(t, a, b);
    ir_ref square = v3_dot(t, across, across), there = ir_gt(f, square, t_f32(t, 0));
    ir_ref sine = ir_select(f, there, ir_sqrt(f, ir_select(f, there, square, t_f32(t, 1))), t_f32(t, 0));
    return v3_scale(t, n, ir_atan2(f, sine, v3_dot(t, a, b)));
}

static vec3 vertex_normal(tracer *t, ir_ref record, ir_ref vertex)
{
    ir_func *f = t->f;
    ir_ref data = work_word(t, record, REFIT_MESH_DATA), starts = work_word(t, record, REFIT_MESH_STARTS),
           zero = t_f32(t, 0);
    ir_ref corners = work_word(t, record, REFIT_MESH_CORNERS),
           end = work_word(t, ir_add(f, starts, vertex), 1);
    ir_ref state[4] = {work_word(t, ir_add(f, starts, vertex), 0), zero, zero, zero},
           loop = ir_loop(f, state, 4);
    ir_while(f, ir_lt(f, state[0], end));
    vec3 n = v3_add(t, v3(state[1], state[2], state[3]),
                    corner_normal(t, data, work_word(t, ir_add(f, corners, state[0]), 0)));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], t_u32(t, 1)), n.x, n.y, n.z}, 4);
    vec3 sum = v3(state[1], state[2], state[3]);
    ir_ref none = ir_le(f, v3_dot(t, sum, sum), zero);
    vec3 out = unit_or_zero(t, sum);
    return v3(ir_select(f, none, t_f32(t, 1), out.x), out.y, out.z); /* as mesh_generate_normals */
}

/* The word of BUFFER_VALUES, or the element of BUFFER_GRADIENT, where the normal of vertex `id` begins. */
static ir_ref normal_word(tracer *t, ir_ref record, enum refit_mesh first, ir_ref id)
{
    return ir_add(t->f, work_word(t, record, first), ir_mul(t->f, id, t_u32(t, 3)));
}

void geometry_normal_values(tracer *t, ir_ref record, ir_ref id)
{
    ir_ref n[3], to = normal_word(t, record, REFIT_MESH_NORMAL_VALUES, id);
    vec3_put(vertex_normal(t, record, id), n);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(t->f, BUFFER_VALUES, t_offset(t, to, k), n[k]);
}

void geometry_normals(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref data = work_word(t, record, REFIT_MESH_DATA), n[3], at = ir_mul(f, id, t_u32(t, 3)),
           to = ir_add(f, t_word(t, data, MESH_NORMALS), at);
    vec3_put(vertex_normal(t, record, id), n);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(f, BUFFER_SCENE, t_offset(t, to, k), n[k]);
}

/* ---- their derivatives ---- */

/* The entry of a kernel with a lane per vertex of the mesh that UNIFORM_TABLE_RECORD names. */
static void open_vertex(ir_module *m, const plan *p, const char *name, tracer *t, ir_ref *record, ir_ref *id)
{
    BL_ASSERT(p->normals_derived, "%s: no normals are derived", name);
    ir_func *f = m->entry = ir_func_create(m, name);
    *t = plan_tracer(p, f), t->differentiated = true;
    *record = ir_uniform(f, IR_U32, UNIFORM_TABLE_RECORD), *id = ir_global_id(f);
    ir_if(f, ir_lt(f, *id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
}

static bl_result close_vertex(tracer *t)
{
    ir_else(t->f);
    ir_endif(t->f);
    ir_return(t->f, NULL, 0);
    return BL_OK;
}

bl_result kernel_geometry_adjoint(const plan *p, ir_module *m, bool fixed_point)
{
    tracer t;
    ir_ref record, id, n[3], seeds[3];
    open_vertex(m, p, "geometry adjoint", &t, &record, &id);
    ir_ref first = normal_word(&t, record, REFIT_MESH_NORMAL_GRADIENTS, id);
    vec3_put(vertex_normal(&t, record, id), n);
    for (uint32_t k = 0; k < 3; k++)
        seeds[k] = gradient_number(&t, t_offset(&t, first, k), fixed_point);
    ad_backward(t.f, n, seeds, 3, NULL, NULL, 0);
    return close_vertex(&t);
}

bl_result kernel_geometry_tangent(const plan *p, ir_module *m)
{
    tracer t;
    ir_ref record, id, n[3], tangents[3];
    m->buffers.data[BUFFER_TANGENT].constant = false;
    open_vertex(m, p, "geometry tangent", &t, &record, &id);
    ir_ref to = normal_word(&t, record, REFIT_MESH_NORMAL_VALUES, id);
    vec3_put(vertex_normal(&t, record, id), n);
    ad_forward(t.f, NULL, NULL, 0, n, tangents, 3);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(t.f, BUFFER_TANGENT, t_offset(&t, to, k), tangents[k]);
    return close_vertex(&t);
}
