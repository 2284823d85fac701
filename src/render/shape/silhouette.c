/* SPDX-License-Identifier: BSD-3-Clause
 * Carriers of silhouettes, chosen and evaluated in kernels. The list is written by silhouette_list.c. */
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

/* ---- choosing ---- */

static ir_ref edge_of(tracer *t, const silhouette_place *at)
{
    return ir_add(t->f, t_word(t, at->carrier, CARRIER_EDGES), ir_mul(t->f, at->edge, t_u32(t, EDGE_WORDS)));
}

/* Chooses between two entries of a table, in proportion to their probabilities, whose sum is *share. */
static ir_ref choose_between(tracer *t, ir_ref table, ir_ref first, ir_ref last, ir_ref u, ir_ref *share)
{
    ir_func *f = t->f;
    ir_ref low = warp_interval_begin(t, BUFFER_SCENE, table, first),
           high = t_real(t, ir_add(f, table, last), 0);
    *share = ir_sub(f, high, low);
    return warp_discrete_between(t, BUFFER_SCENE, table, first, last, t_mad(t, u, *share, low));
}

silhouette_place silhouette_choose(tracer *t, ir_ref cell, const ir_ref u[3], ir_ref *density)
{
    ir_func *f = t->f;
    ir_ref head = t_word(t, t_u32(t, 0), HEADER_SILHOUETTES), carriers, edges;
    ir_ref at = ir_add(f, t_word(t, head, SILHOUETTE_CELLS), ir_mul(f, cell, t_u32(t, CELL_WORDS)));
    ir_ref k = choose_between(t, t_word(t, head, SILHOUETTE_CDF), t_word(t, at, CELL_CARRIER_FIRST),
                              t_word(t, at, CELL_CARRIER_LAST), u[0], &carriers);
    silhouette_place p = {.along = t_mad(t, u[2], t_real(t, at, CELL_SIZE), t_real(t, at, CELL_FROM))};
    p.carrier = ir_add(f, t_word(t, head, SILHOUETTE_CARRIERS), ir_mul(f, k, t_u32(t, CARRIER_WORDS)));
    ir_ref last = ir_sub(f, t_word(t, p.carrier, CARRIER_EDGE_COUNT), t_u32(t, 1));
    p.edge = choose_between(t, t_word(t, p.carrier, CARRIER_CDF), t_word(t, at, CELL_EDGE_FIRST),
                            ir_min(f, t_word(t, at, CELL_EDGE_LAST), last), u[1], &edges);
    ir_ref chosen =
        ir_mul(f, t_real(t, p.carrier, CARRIER_PROBABILITY), t_real(t, edge_of(t, &p), EDGE_PROBABILITY));
    *density = t_ratio(t, chosen, ir_mul(f, ir_mul(f, carriers, edges), t_real(t, at, CELL_SIZE)));
    return p;
}

/* ---- evaluating ---- */

static ir_ref shape_of(tracer *t, const silhouette_place *at)
{
    return t_word(t, at->carrier, CARRIER_SHAPE);
}

/* The record of the level in which the carrier stands, or none where the scene has no groups. */
static ir_ref level_of(tracer *t, const silhouette_place *at)
{
    ir_func *f = t->f;
    if (!t->plan->scene->has_groups)
        return (ir_ref){0};
    ir_ref instance = ir_add(f, t_word(t, at->carrier, CARRIER_INSTANCE), t_u32(t, 1));
    return ir_add(f, t_word(t, t_u32(t, 0), HEADER_LEVEL), ir_mul(f, instance, t_u32(t, LEVEL_WORDS)));
}

static silhouette_query query_at(tracer *t, const silhouette_place *at, vec3 viewpoint)
{
    return (silhouette_query){.data = t_word(t, shape_of(t, at), SHAPE_DATA),
                              .piece = edge_of(t, at),
                              .viewpoint = viewpoint,
                              .along = at->along};
}

static ir_ref piece_turns(tracer *t, ir_ref edge)
{
    return ir_eq(t->f, t_word(t, edge, EDGE_OTHER), t_u32(t, EDGE_TURNS));
}

ir_ref silhouette_crosses(tracer *t, const silhouette_place *at)
{
    return ir_eq(t->f, t_word(t, at->carrier, CARRIER_KIND), t_u32(t, CARRIER_CROSSES));
}

/* Puts s in the place of `of` where its kind of shape is the carrier's. */
static void join(tracer *t, ir_ref branch, const silhouette_point *s, silhouette_point *of)
{
    ir_func *f = t->f;
    of->there = ir_phi(f, branch, s->there, of->there), of->closed = ir_phi(f, branch, s->closed, of->closed);
    of->crease = ir_phi(f, branch, s->crease, of->crease);
    of->blur = ir_phi(f, branch, ir_is_none(s->blur) ? t_f32(t, 0) : s->blur, of->blur);
    of->p = v3_phi(t, branch, s->p, of->p), of->along = v3_phi(t, branch, s->along, of->along);
    of->out = v3_phi(t, branch, s->out, of->out);
}

static silhouette_point mesh_point(tracer *t, const silhouette_place *at, vec3 viewpoint)
{
    ir_func *f = t->f;
    ir_ref edge = edge_of(t, at), data = t_word(t, shape_of(t, at), SHAPE_DATA);
    silhouette_point s = silhouette_edge(t, data, edge, viewpoint, at->along);
    if (!t->plan->edge_turns)
        return s;
    ir_ref branch = ir_if(f, piece_turns(t, edge));
    s.blur = t_f32(t, 0);
    silhouette_point own = silhouette_turn(t, data, edge, viewpoint, at->along);
    ir_else(f);
    ir_endif(f);
    join(t, branch, &own, &s);
    return s;
}

silhouette_point silhouette_at(tracer *t, const silhouette_place *at, vec3 viewpoint, bool backwards)
{
    ir_func *f = t->f;
    ir_ref level = level_of(t, at), kind = t_word(t, at->carrier, CARRIER_KIND);
    bool levels = !ir_is_none(level);
    vec3 zero = v3_zero(t), o = levels ? v3_point_by_map(t, level, LEVEL_TO_GROUP, viewpoint) : viewpoint;
    silhouette_point s = {.there = ir_bool(f, false), .p = zero, .along = zero, .out = zero};
    s.closed = s.there, s.blur = s.crease = t_f32(t, 0);
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++) {
        if (!t->plan->scene->kind_used[k])
            continue;
        ir_ref branch = ir_if(f, ir_eq(f, kind, t_u32(t, k)));
        silhouette_query query = query_at(t, at, o);
        query.backwards = backwards;
        silhouette_point own =
            k == SHAPE_TRIANGLES ? mesh_point(t, at, o) : shape_kinds[k]->silhouette(t, &query);
        ir_else(f);
        ir_endif(f);
        join(t, branch, &own, &s);
    }
    if (t->plan->edge_crossings) {
        ir_ref branch = ir_if(f, silhouette_crosses(t, at));
        silhouette_point own = silhouette_crossing(t, edge_of(t, at), o, at->along);
        ir_else(f);
        ir_endif(f);
        join(t, branch, &own, &s);
    }
    if (levels) {
        s.p = v3_point_by_map(t, level, LEVEL_TO_WORLD, s.p);
        s.along = v3_vector_by_map(t, level, LEVEL_TO_WORLD, s.along);
        s.out = v3_vector_by_map(t, level, LEVEL_TO_WORLD, s.out);
    }
    return s;
}

/* ---- the surface on both sides ---- */

/* Ends the branch in which `own` was found, and puts it in the place of `of`. */
static void join_sides(tracer *t, ir_ref branch, const silhouette_sides *own, silhouette_sides *of)
{
    ir_func *f = t->f;
    ir_else(f);
    ir_endif(f);
    for (int i = 0; i < 2; i++) {
        of->known[i] = ir_phi(f, branch, own->known[i], of->known[i]);
        of->primitive[i] = ir_phi(f, branch, own->primitive[i], of->primitive[i]);
        of->b[i].x = ir_phi(f, branch, own->b[i].x, of->b[i].x);
        of->b[i].y = ir_phi(f, branch, own->b[i].y, of->b[i].y);
    }
    of->edge_on = ir_phi(f, branch, own->edge_on, of->edge_on);
    of->toward = v3_phi(t, branch, own->toward, of->toward);
}

silhouette_sides silhouette_sides_at(tracer *t, const silhouette_place *at, vec3 viewpoint)
{
    ir_func *f = t->f;
    ir_ref level = level_of(t, at), none = t_u32(t, 0), zero = t_f32(t, 0), no = ir_bool(f, false),
           mesh = ir_eq(f, t_word(t, at->carrier, CARRIER_KIND), t_u32(t, SHAPE_TRIANGLES));
    bool levels = !ir_is_none(level), meshes = t->plan->scene->kind_used[SHAPE_TRIANGLES];
    silhouette_sides s = {
        {no, no}, {none, none}, .b = {{zero, zero}, {zero, zero}}, .edge_on = no, .toward = v3_zero(t)};
    if (!meshes && !t->plan->edge_crossings)
        return s;
    s.shift[0] = s.shift[1] = s.toward;
    vec3 o = levels ? v3_point_by_map(t, level, LEVEL_TO_GROUP, viewpoint) : viewpoint;
    ir_ref data = t_word(t, shape_of(t, at), SHAPE_DATA), edge = edge_of(t, at), turns = piece_turns(t, edge);
    for (int k = 0; k < (!meshes ? 0 : t->plan->edge_turns ? 2 : 1); k++) {
        ir_ref is = ir_and(f, mesh, k ? turns : ir_not(f, turns)), branch = ir_if(f, is);
        silhouette_sides own = k ? silhouette_turn_sides(t, data, edge, o, at->along)
                                 : silhouette_edge_sides(t, data, edge, o, at->along);
        join_sides(t, branch, &own, &s);
    }
    if (t->plan->edge_crossings) {
        ir_ref branch = ir_if(f, silhouette_crosses(t, at));
        silhouette_sides own = silhouette_crossing_sides(t, edge, o, at->along);
        join_sides(t, branch, &own, &s);
        for (int i = 0; i < 2; i++)
            s.shift[i] = v3_phi(t, branch, own.shift[i], s.shift[i]);
    }
    for (int i = 0; i < 2; i++)
        s.entry[i] = silhouette_entry(t, s.primitive[i]);
    s.level = level;
    if (levels)
        s.toward = v3_covector_by_map(t, level, LEVEL_TO_GROUP, s.toward);
    for (int i = 0; i < 2 && levels && t->plan->edge_crossings; i++)
        s.shift[i] = v3_vector_by_map(t, level, LEVEL_TO_WORLD, s.shift[i]);
    return s;
}

/* ---- moving ---- */

/* The point p of a shape whose kind says how it moves with the points that describe the shape. */
static vec3 moved_with_points(tracer *t, const silhouette_place *at, const shape_kind_class *kind, vec3 p)
{
    ir_ref level = level_of(t, at);
    affine_map motion = to_world_motion_of_points(t, t_word(t, shape_of(t, at), SHAPE_TO_WORLD));
    tracer moving = *t;
    moving.motion = &motion;
    if (!ir_is_none(level))
        p = v3_point_by_map(t, level, LEVEL_TO_GROUP, p);
    silhouette_query query = query_at(t, at, p);
    query.along = ir_detach(t->f, query.along);
    p = kind->silhouette_moved(&moving, &query, p);
    return ir_is_none(level) ? p : v3_point_by_map(t, level, LEVEL_TO_WORLD, p);
}

/* The point on the curve along which the normal of a face turns away. */
static vec3 moved_turn(tracer *t, const silhouette_place *at, vec3 viewpoint)
{
    ir_func *f = t->f;
    ir_ref level = level_of(t, at), data = t_word(t, shape_of(t, at), SHAPE_DATA);
    vec3 from = v3_detach(t, viewpoint);
    if (!ir_is_none(level))
        from = v3_point_by_map(t, level, LEVEL_TO_GROUP, from);
    silhouette_turning s = silhouette_turn_moved(t, data, edge_of(t, at), from, at->along);
    if (!ir_is_none(level)) {
        s.p = v3_point_by_map(t, level, LEVEL_TO_WORLD, s.p);
        s.n = v3_covector_by_map(t, level, LEVEL_TO_GROUP, s.n);
        s.aside = v3_vector_by_map(t, level, LEVEL_TO_WORLD, s.aside);
    }
    if (t->plan->moves & MOVE_TO_WORLD) {
        affine_map motion = to_world_motion_within(t, shape_of(t, at), level);
        s.p = affine_point(t, &motion, s.p), s.n = affine_normal(t, &motion, s.n);
    }
    ir_ref g = v3_dot(t, s.n, v3_sub(t, s.p, viewpoint)),
           step = t_ratio(t, ir_sub(f, ir_detach(f, g), g), ir_detach(f, s.square));
    return v3_add(t, s.p, v3_scale(t, v3_detach(t, s.aside), step));
}

vec3 silhouette_moved(tracer *t, const silhouette_place *at, vec3 p, vec3 viewpoint)
{
    ir_func *f = t->f;
    ir_ref level = level_of(t, at);
    const vec3 stays = v3_detach(t, p);
    p = stays;
    if (t->plan->moves & MOVE_POSITIONS && t->plan->scene->kind_used[SHAPE_TRIANGLES]) {
        ir_ref mesh = ir_eq(f, t_word(t, at->carrier, CARRIER_KIND), t_u32(t, SHAPE_TRIANGLES)),
               branch = ir_if(f, mesh), edge = edge_of(t, at), data = t_word(t, shape_of(t, at), SHAPE_DATA);
        vec3 from = silhouette_edge_vertex(t, data, edge, EDGE_FROM),
             to = silhouette_edge_vertex(t, data, edge, EDGE_TO);
        vec3 own = v3_add(t, from, v3_scale(t, v3_sub(t, to, from), ir_detach(f, at->along)));
        if (!ir_is_none(level))
            own = v3_point_by_map(t, level, LEVEL_TO_WORLD, own);
        ir_else(f);
        ir_endif(f);
        p = v3_phi(t, branch, own, p);
    }
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT && t->plan->moves & MOVE_TO_WORLD; k++) {
        if (!t->plan->scene->kind_used[k] || !shape_kinds[k]->silhouette_moved)
            continue;
        ir_ref branch = ir_if(f, ir_eq(f, t_word(t, at->carrier, CARRIER_KIND), t_u32(t, k)));
        vec3 own = moved_with_points(t, at, shape_kinds[k], p);
        ir_else(f);
        ir_endif(f);
        p = v3_phi(t, branch, own, p);
    }
    if (t->plan->moves & MOVE_TO_WORLD) {
        affine_map motion = to_world_motion_within(t, shape_of(t, at), level);
        p = affine_point(t, &motion, p);
    }
    if (t->plan->edge_turns) {
        ir_ref mesh = ir_eq(f, t_word(t, at->carrier, CARRIER_KIND), t_u32(t, SHAPE_TRIANGLES)),
               branch = ir_if(f, ir_and(f, mesh, piece_turns(t, edge_of(t, at))));
        vec3 own = moved_turn(t, at, viewpoint);
        ir_else(f);
        ir_endif(f);
        p = v3_phi(t, branch, own, p);
    }
    if (t->plan->edge_crossings) {
        ir_ref branch = ir_if(f, silhouette_crosses(t, at));
        vec3 own = silhouette_crossing_moved(t, edge_of(t, at), level, stays);
        ir_else(f);
        ir_endif(f);
        p = v3_phi(t, branch, own, p);
    }
    return p;
}
