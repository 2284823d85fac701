/* SPDX-License-Identifier: BSD-3-Clause
 * RAY_CLOSEST and RAY_ANY as ray queries (SPV_KHR_ray_query), the other way to lower them beside the
 * traversal of opt/ray_bvh.c.
 *
 *     initialize query(structure at the address in scene words, ray)
 *     while proceed(query)                       the device stops only at boxes; it commits triangles itself,
 *                                                they are opaque
 *         t, u, v = intersect[kind of entry](entry, ray, tmin, nearest so far) the traced functions, inlined
 *         if t < nearest so far: keep u, v; commit t
 *     what is committed -> t, entry, u, v
 *
 * Entry index = instance custom index + primitive index (gpu/vulkan/accel.c); entries are laid out as for the
 * hierarchy, without its nodes. With two levels (rays.level_word) the custom index is the row of a table of
 * (first entry, level record), and the traced functions get the ray as the device has it on the inner level;
 * distances are the same on both. Barycentrics of a triangle are the device's, in the order of Moeller and
 * Trumbore's u and v.
 *
 * The next hit (ir_ray_next): the traced functions leave out what lies at tmin or at their limit, so they get
 * the float before tmin, and infinity. Boxes are then compared by distance and, at equal distances, by entry.
 * The device may commit a box at the distance of the nearest hit so far.
 *
 * The device demands 0 <= tmin <= tmax and finite numbers. A ray that does not have them hits nothing in the
 * hierarchy either (a path that has ended says so by a negative tmax): it becomes a ray that no mask lets
 * through. One query variable serves a whole kernel, because rays do not nest; u and v of a box's hit are in
 * variables, which drivers turn into registers. */
#include "base/bvh_layout.h"
#include "spirv_gen/spv/module.h"

#include <math.h>
#include <string.h>

enum { ALL_INSTANCES = 0xFF, RAY_TMIN = 6, RAY_TMAX = 7, RAY_AFTER = 8, U = 0, V = 1 };

typedef struct ray_query {
    spv_gen *g;
    const ir_operands *operands;
    bool any;
    uint32_t boxes; /* intersection functions that are not the device's */
    uint32_t ray[8];
    uint32_t candidate, committed; /* constants: which intersection is asked about */
    bool next;                     /* the next hit is wanted, */
    uint32_t after;                /* behind this entry at tmin */
} ray_query;

static uint32_t f32(spv_gen *g, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return spv_const(g, IR_F32, bits);
}

static bool has_triangles(const ray_query *q)
{
    return q->g->options.rays.triangle_kind < q->operands->target_count;
}

/* ---- a branch without else ---- */

typedef struct selection {
    uint32_t header, merge, end; /* blocks */
} selection;

static selection begin_if(spv_gen *g, uint32_t condition)
{
    selection s = {.header = g->block};
    uint32_t then = spv_id(g);
    s.merge = spv_id(g);
    SPV_EMIT(g, SPV_BODY, SpvOpSelectionMerge, s.merge, SpvSelectionControlMaskNone);
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, condition, then, s.merge);
    spv_begin_block(g, then);
    return s;
}

static void end_if(spv_gen *g, selection *s)
{
    s->end = g->block;
    spv_branch(g, s->merge);
    spv_begin_block(g, s->merge);
}

static uint32_t either(spv_gen *g, const selection *s, ir_type type, uint32_t inside, uint32_t otherwise)
{
    BL_ASSERT(s->end, "a selection at %%%u is joined before its end", s->header);
    return spv_phi(g, type, inside, s->end, otherwise, s->header);
}

/* ---- variables ---- */

static uint32_t function_variable(spv_gen *g, uint32_t type, const char *name)
{
    const uint32_t storage = SpvStorageClassFunction;
    uint32_t pointer = spv_pointer(g, SpvStorageClassFunction, type),
             id = spv_emit_value(g, SPV_VARIABLES, SpvOpVariable, pointer, &storage, 1);
    spv_name(g, id, name);
    return id;
}

static void declare(spv_gen *g)
{
    if (g->query)
        return;
    spv_capability(g, SpvCapabilityRayQueryKHR);
    spv_extension(g, "SPV_KHR_ray_query");
    g->query = function_variable(g, spv_type_of(g, SpvOpTypeRayQueryKHR, NULL, 0), "query");
    g->query_uv[U] = function_variable(g, spv_type(g, IR_F32), "query_u");
    g->query_uv[V] = function_variable(g, spv_type(g, IR_F32), "query_v");
}

/* ---- the beginning ---- */

static uint32_t vector(spv_gen *g, const uint32_t *components)
{
    uint32_t type = spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){spv_type(g, IR_F32), 3}, 2);
    return spv_emit_value(g, SPV_BODY, SpvOpCompositeConstruct, type, components, 3);
}

/* bool: the ray may be given to the device */
static uint32_t is_ray(const ray_query *q)
{
    spv_gen *g = q->g;
    uint32_t boolean = spv_type(g, IR_BOOL), real = spv_type(g, IR_F32), glsl = spv_glsl(g), sum = f32(g, 0);
    for (uint32_t k = 0; k < RAY_TMIN; k++) {
        uint32_t size = SPV_VALUE(g, SpvOpExtInst, real, glsl, GLSLstd450FAbs, q->ray[k]);
        sum = SPV_VALUE(g, SpvOpFAdd, real, sum, size);
    }
    uint32_t infinity = f32(g, INFINITY), finite = SPV_VALUE(g, SpvOpFOrdLessThan, boolean, sum, infinity);
    uint32_t interval = SPV_VALUE(g, SpvOpFOrdLessThan, boolean, q->ray[RAY_TMIN], q->ray[RAY_TMAX]);
    return SPV_VALUE(g, SpvOpLogicalAnd, boolean, finite, interval);
}

static uint32_t structure(spv_gen *g)
{
    uint32_t at = spv_u32(g, g->options.rays.accel_word), next = spv_u32(g, g->options.rays.accel_word + 1);
    uint32_t low = spv_load_word(g, g->options.rays.scene_buffer, at),
             high = spv_load_word(g, g->options.rays.scene_buffer, next);
    uint32_t pair = spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){spv_type(g, IR_U32), 2}, 2);
    uint32_t address = SPV_VALUE(g, SpvOpCompositeConstruct, pair, low, high);
    uint32_t type = spv_type_of(g, SpvOpTypeAccelerationStructureKHR, NULL, 0);
    return SPV_VALUE(g, SpvOpConvertUToAccelerationStructureKHR, type, address);
}

static void begin_query(const ray_query *q)
{
    spv_gen *g = q->g;
    uint32_t real = spv_type(g, IR_F32), zero = f32(g, 0), safe[8], ok = is_ray(q);
    for (uint32_t k = 0; k < 8; k++) {
        uint32_t stand_in = k < 3 || k >= RAY_TMIN ? zero : f32(g, 1);
        safe[k] = SPV_VALUE(g, SpvOpSelect, real, ok, q->ray[k], stand_in);
    }
    uint32_t every = spv_u32(g, ALL_INSTANCES), none = spv_u32(g, 0),
             mask = SPV_VALUE(g, SpvOpSelect, spv_type(g, IR_U32), ok, every, none);
    uint32_t flags = spv_u32(g, q->any ? SpvRayFlagsTerminateOnFirstHitKHRMask : SpvRayFlagsMaskNone);
    uint32_t origin = vector(g, safe), direction = vector(g, safe + 3), top = structure(g);
    SPV_EMIT(g, SPV_BODY, SpvOpRayQueryInitializeKHR, g->query, top, flags, mask, origin, safe[RAY_TMIN],
             direction, safe[RAY_TMAX]);
}

/* ---- candidates ---- */

/* Word k of the row that an instance's custom index names. */
static uint32_t instance_word(const ray_query *q, uint32_t custom, uint32_t k)
{
    spv_gen *g = q->g;
    uint32_t word = spv_type(g, IR_U32), two = spv_u32(g, 2),
             table = spv_load_word(g, g->options.rays.scene_buffer, spv_u32(g, g->options.rays.level_word));
    uint32_t row = SPV_VALUE(g, SpvOpIAdd, word, table, SPV_VALUE(g, SpvOpIMul, word, custom, two));
    return spv_load_word(g, g->options.rays.scene_buffer, SPV_VALUE(g, SpvOpIAdd, word, row, spv_u32(g, k)));
}

static uint32_t custom_index(const ray_query *q, uint32_t which)
{
    return SPV_VALUE(q->g, SpvOpRayQueryGetIntersectionInstanceCustomIndexKHR, spv_type(q->g, IR_U32),
                     q->g->query, which);
}

static uint32_t entry_of(const ray_query *q, uint32_t which)
{
    spv_gen *g = q->g;
    uint32_t word = spv_type(g, IR_U32), first = custom_index(q, which);
    if (g->options.rays.level_word)
        first = instance_word(q, first, 0);
    uint32_t index = SPV_VALUE(g, SpvOpRayQueryGetIntersectionPrimitiveIndexKHR, word, g->query, which);
    return SPV_VALUE(g, SpvOpIAdd, word, first, index);
}

static uint32_t committed_type(const ray_query *q)
{
    return SPV_VALUE(q->g, SpvOpRayQueryGetIntersectionTypeKHR, spv_type(q->g, IR_U32), q->g->query,
                     q->committed);
}

static uint32_t is_hit(const ray_query *q, uint32_t type)
{
    uint32_t none = spv_u32(q->g, SpvRayQueryCommittedIntersectionTypeRayQueryCommittedIntersectionNoneKHR);
    return SPV_VALUE(q->g, SpvOpINotEqual, spv_type(q->g, IR_BOOL), type, none);
}

static uint32_t committed_t(const ray_query *q)
{
    return SPV_VALUE(q->g, SpvOpRayQueryGetIntersectionTKHR, spv_type(q->g, IR_F32), q->g->query,
                     q->committed);
}

/* Distance of the nearest hit so far, tmax before the first. RAY_ANY ends with the first. */
static uint32_t nearest(const ray_query *q)
{
    if (q->any)
        return q->ray[RAY_TMAX];
    selection s = begin_if(q->g, is_hit(q, committed_type(q)));
    uint32_t t = committed_t(q);
    end_if(q->g, &s);
    return either(q->g, &s, IR_F32, t, q->ray[RAY_TMAX]);
}

/* Origin and direction on the candidate's level. */
static void inner_ray(const ray_query *q, uint32_t ray[6])
{
    spv_gen *g = q->g;
    uint32_t real = spv_type(g, IR_F32),
             three = spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){real, 3}, 2);
    uint32_t o = SPV_VALUE(g, SpvOpRayQueryGetIntersectionObjectRayOriginKHR, three, g->query, q->candidate);
    uint32_t d =
        SPV_VALUE(g, SpvOpRayQueryGetIntersectionObjectRayDirectionKHR, three, g->query, q->candidate);
    for (uint32_t k = 0; k < 6; k++)
        ray[k] = SPV_VALUE(g, SpvOpCompositeExtract, real, k < 3 ? o : d, k % 3);
}

/* Calls the intersection function of the entry at word `data`; the triangles' has no case. interval: what
 * stands in for tmin and tmax. */
static void intersect(const ray_query *q, uint32_t data, const uint32_t interval[2], uint32_t results[3])
{
    spv_gen *g = q->g;
    uint32_t count = q->operands->target_count, triangles = g->options.rays.triangle_kind, args[9] = {data},
             selector = spv_u32(g, 0);
    uint32_t *targets = arena_alloc(&g->arena, count * sizeof *targets);
    BL_ASSERT(count > (triangles < count), "%u kinds of primitives, none of them boxes", count);
    for (uint32_t k = 0; k < count; k++)
        targets[k] = q->operands->targets[k == triangles ? (triangles == 0 ? 1 : 0) : k];
    for (uint32_t k = 0; k < 8; k++)
        args[k + 1] = k < RAY_TMIN ? q->ray[k] : interval[k - RAY_TMIN];
    if (g->options.rays.level_word)
        inner_ray(q, args + 1);
    if (q->boxes > 1) {
        uint32_t offset = spv_u32(g, BVH_ENTRY_KIND),
                 at = SPV_VALUE(g, SpvOpIAdd, spv_type(g, IR_U32), data, offset);
        selector = spv_load_word(g, g->options.rays.scene_buffer, at);
    }
    spv_call call = spv_emit_call(g, targets, count, selector, args);
    for (uint32_t k = 0; k < 3 && g->error.code == BL_OK; k++)
        results[k] = spv_call_result(g, &call, k, IR_F32);
}

/* ---- the next hit ---- */

/* The largest float below tmin; 0 for 0. */
static uint32_t before_tmin(const ray_query *q)
{
    spv_gen *g = q->g;
    uint32_t real = spv_type(g, IR_F32), word = spv_type(g, IR_U32), zero = f32(g, 0);
    uint32_t bits = SPV_VALUE(g, SpvOpBitcast, word, q->ray[RAY_TMIN]);
    uint32_t less = SPV_VALUE(g, SpvOpISub, word, bits, spv_u32(g, 1));
    uint32_t positive = SPV_VALUE(g, SpvOpFOrdGreaterThan, spv_type(g, IR_BOOL), q->ray[RAY_TMIN], zero);
    return SPV_VALUE(g, SpvOpSelect, real, positive, SPV_VALUE(g, SpvOpBitcast, real, less), zero);
}

/* The entry of the nearest hit so far; 0 before the first. */
static uint32_t nearest_entry(const ray_query *q)
{
    spv_gen *g = q->g;
    uint32_t none = spv_u32(g, 0);
    selection s = begin_if(g, is_hit(q, committed_type(q)));
    uint32_t entry = entry_of(q, q->committed);
    end_if(g, &s);
    return either(g, &s, IR_U32, entry, none);
}

/* bool: a comes before b, distances first and entries where these are equal; both are (distance, entry). */
static uint32_t comes_before(const ray_query *q, const uint32_t a[2], const uint32_t b[2])
{
    spv_gen *g = q->g;
    uint32_t boolean = spv_type(g, IR_BOOL);
    uint32_t nearer = SPV_VALUE(g, SpvOpFOrdLessThan, boolean, a[0], b[0]),
             equal = SPV_VALUE(g, SpvOpFOrdEqual, boolean, a[0], b[0]);
    uint32_t earlier = SPV_VALUE(g, SpvOpULessThan, boolean, a[1], b[1]);
    return SPV_VALUE(g, SpvOpLogicalOr, boolean, nearer,
                     SPV_VALUE(g, SpvOpLogicalAnd, boolean, equal, earlier));
}

/* bool: the hit comes behind the ray's last one and before the nearest so far. */
static uint32_t is_next(const ray_query *q, uint32_t t, uint32_t entry, uint32_t limit)
{
    spv_gen *g = q->g;
    const uint32_t hit[2] = {t, entry}, last[2] = {q->ray[RAY_TMIN], q->after},
                   best[2] = {limit, nearest_entry(q)};
    return SPV_VALUE(g, SpvOpLogicalAnd, spv_type(g, IR_BOOL), comes_before(q, last, hit),
                     comes_before(q, hit, best));
}

static void visit_box(const ray_query *q)
{
    spv_gen *g = q->g;
    uint32_t word = spv_type(g, IR_U32), entry = entry_of(q, q->candidate),
             size = spv_u32(g, BVH_ENTRY_WORDS), hit[3] = {0};
    uint32_t base =
        spv_load_word(g, g->options.rays.scene_buffer, spv_u32(g, g->options.rays.entry_base_word));
    uint32_t offset = SPV_VALUE(g, SpvOpIMul, word, entry, size),
             data = SPV_VALUE(g, SpvOpIAdd, word, base, offset);
    uint32_t limit = nearest(q);
    const uint32_t interval[2] = {q->next ? before_tmin(q) : q->ray[RAY_TMIN],
                                  q->next ? f32(g, INFINITY) : limit};
    intersect(q, data, interval, hit);
    uint32_t closer = q->next ? is_next(q, hit[0], entry, limit)
                              : SPV_VALUE(g, SpvOpFOrdLessThan, spv_type(g, IR_BOOL), hit[0], limit);
    selection s = begin_if(g, closer);
    SPV_EMIT(g, SPV_BODY, SpvOpRayQueryGenerateIntersectionKHR, g->query, hit[0]);
    SPV_EMIT(g, SPV_BODY, SpvOpStore, g->query_uv[U], hit[1]);
    SPV_EMIT(g, SPV_BODY, SpvOpStore, g->query_uv[V], hit[2]);
    end_if(g, &s);
}

static void traverse(const ray_query *q)
{
    spv_gen *g = q->g;
    uint32_t header = spv_id(g), test = spv_id(g), body = spv_id(g), next = spv_id(g), merge = spv_id(g);
    spv_branch(g, header);
    spv_begin_block(g, header);
    SPV_EMIT(g, SPV_BODY, SpvOpLoopMerge, merge, next, SpvLoopControlMaskNone);
    spv_branch(g, test);
    spv_begin_block(g, test);
    uint32_t more = SPV_VALUE(g, SpvOpRayQueryProceedKHR, spv_type(g, IR_BOOL), g->query);
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, more, body, merge);
    spv_begin_block(g, body);
    if (q->boxes)
        visit_box(q);
    spv_branch(g, next);
    spv_begin_block(g, next);
    spv_branch(g, header);
    spv_begin_block(g, merge);
}

/* ---- results ---- */

static void load_uv(const ray_query *q, uint32_t uv[2])
{
    for (int k = U; k <= V; k++)
        uv[k] = SPV_VALUE(q->g, SpvOpLoad, spv_type(q->g, IR_F32), q->g->query_uv[k]);
}

static void barycentrics(const ray_query *q, uint32_t uv[2])
{
    spv_gen *g = q->g;
    uint32_t real = spv_type(g, IR_F32),
             pair = spv_type_of(g, SpvOpTypeVector, (const uint32_t[]){real, 2}, 2);
    uint32_t both = SPV_VALUE(g, SpvOpRayQueryGetIntersectionBarycentricsKHR, pair, g->query, q->committed);
    for (uint32_t k = U; k <= V; k++)
        uv[k] = SPV_VALUE(g, SpvOpCompositeExtract, real, both, k);
}

/* u and v of the committed hit. */
static void committed_uv(const ray_query *q, uint32_t type, uint32_t uv[2])
{
    spv_gen *g = q->g;
    if (!has_triangles(q)) {
        load_uv(q, uv);
    } else if (!q->boxes) {
        barycentrics(q, uv);
    } else {
        uint32_t of_box[2], of_triangle[2],
            triangle =
                spv_u32(g, SpvRayQueryCommittedIntersectionTypeRayQueryCommittedIntersectionTriangleKHR);
        load_uv(q, of_box);
        selection s = begin_if(g, SPV_VALUE(g, SpvOpIEqual, spv_type(g, IR_BOOL), type, triangle));
        barycentrics(q, of_triangle);
        end_if(g, &s);
        for (int k = U; k <= V; k++)
            uv[k] = either(g, &s, IR_F32, of_triangle[k], of_box[k]);
    }
}

static void closest_results(const ray_query *q, uint32_t results[5])
{
    spv_gen *g = q->g;
    uint32_t type = committed_type(q), none = spv_u32(g, ~0u), zero = f32(g, 0), uv[2], level = none;
    selection s = begin_if(g, is_hit(q, type));
    uint32_t t = committed_t(q), entry = entry_of(q, q->committed);
    committed_uv(q, type, uv);
    if (g->options.rays.level_word)
        level = instance_word(q, custom_index(q, q->committed), 1);
    end_if(g, &s);
    results[0] = either(g, &s, IR_F32, t, q->ray[RAY_TMAX]);
    results[1] = either(g, &s, IR_U32, entry, none);
    results[2] = either(g, &s, IR_F32, uv[U], zero);
    results[3] = either(g, &s, IR_F32, uv[V], zero);
    results[4] = g->options.rays.level_word ? either(g, &s, IR_U32, level, none) : none;
}

void spv_lower_ray(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    ir_operands operands = ir_call_operands(frame->f, inst);
    ray_query q = {.g = g, .operands = &operands, .any = inst.op == IR_RAY_ANY};
    uint32_t results[5] = {0};
    if (!g->options.rays.query || g->m->doubles) { /* queries have floats */
        spv_fail(g, "spv: function \"%s\": %%%u %s should have been lowered by a pass", frame->f->name, id,
                 ir_op_table[inst.op].name);
        return;
    }
    q.boxes = operands.target_count - has_triangles(&q);
    q.candidate = spv_u32(g, SpvRayQueryIntersectionRayQueryCandidateIntersectionKHR);
    q.committed = spv_u32(g, SpvRayQueryIntersectionRayQueryCommittedIntersectionKHR);
    for (uint32_t k = 0; k < 8; k++)
        q.ray[k] = spv_operand(g, frame, operands.args[k]);
    q.next = operands.arg_count == RAY_AFTER + 1;
    if (q.next)
        q.after = spv_operand(g, frame, operands.args[RAY_AFTER]);
    declare(g);
    begin_query(&q);
    traverse(&q);
    if (q.any)
        results[0] = is_hit(&q, committed_type(&q));
    else
        closest_results(&q, results);
    for (uint32_t k = frame->first[id]; k; k = frame->next[k])
        frame->id[k] = results[frame->f->inst.data[k].b];
}
