/* SPDX-License-Identifier: BSD-3-Clause
 * The words of the scene buffer. See plan.h.
 *
 * Order of the scene buffer: header, geometry, shapes, emitters, records, updates, nodes, entries, sensor.
 * Geometry's internal offsets (MESH_FACES ..) are relative to its block in the render_scene and become
 * absolute here. */
#include "render/plan_internal.h"
#include "render/shape/ellipsoids.h"
#include "render/shape/silhouette.h"
#include "render/spectrum/spectrum.h"

enum { BAKED_MOST = 64 /* primitives; docs/decisions/traversal.md */ };

const char *const plan_switch_names[PLAN_SWITCH_COUNT] = {"folding",  "numbering", "cells",
                                                          "residual", "sharing",   "shape_sharing"};

/* Whether lights are chosen by a table: else they are all alike. */
static bool lights_differ(const render_scene *s)
{
    bool differ = s->light_choice == LIGHTS_BY_POWER || s->light_choice == LIGHTS_BY_TREE;
    for (uint32_t i = 1; i < s->emitters.count && s->light_choice == LIGHTS_BY_WEIGHT; i++)
        differ |= scene_number(s->emitters.data[i], "sampling_weight") !=
                  scene_number(s->emitters.data[0], "sampling_weight");
    return differ && s->emitters.count > 1;
}

/* Where the scene buffer describes a medium; 0: vacuum. */
static uint32_t medium_place(const plan *p, uint32_t media, const scene_object *medium)
{
    for (uint32_t i = 0; medium && i < p->scene->media.count; i++)
        if (p->scene->media.data[i] == medium)
            return media + i * MEDIUM_WORDS;
    return 0;
}

/* Returns where the list of media begins. */
static uint32_t write_media(plan *p, plan_instance *seen)
{
    const render_scene *s = p->scene;
    uint32_t media = plan_reserve(p, s->media.count * MEDIUM_WORDS);
    for (uint32_t i = 0; i < s->media.count; i++) {
        plan_instance medium = plan_instantiate(p, &p->media, s->media.data[i], seen);
        const scene_object *own = scene_child(s->media.data[i], PLUGIN_PHASE);
        plan_instance phase = plan_instantiate(p, &p->phases, own ? own : s->default_phase, seen);
        uint32_t *w = p->words.data + media + i * MEDIUM_WORDS;
        w[MEDIUM_CLASS] = medium.cls, w[MEDIUM_RECORD] = medium.record;
        w[MEDIUM_PHASE_CLASS] = phase.cls, w[MEDIUM_PHASE_RECORD] = phase.record;
        w[MEDIUM_SAMPLES_LIGHTS] = scene_number(s->media.data[i], "sample_emitters") != 0;
    }
    p->words.data[HEADER_MEDIA] = media;
    p->words.data[HEADER_SENSOR_MEDIUM] = medium_place(p, media, s->sensor_medium);
    return media;
}

static void write_shapes(plan *p, uint32_t shapes, uint32_t geometry, const plan_instance *emitter_of_shape,
                         plan_instance *seen)
{
    const render_scene *s = p->scene;
    uint32_t media = write_media(p, seen);
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        plan_instance bsdf =
            shape->bsdf ? plan_instantiate(p, &p->bsdfs, shape->bsdf, seen) : (plan_instance){0};
        if (shape->bsdf)
            p->needs |= plan_needs(p->bsdfs.data[bsdf.cls]);
        uint32_t *w = p->words.data + shapes + i * SHAPE_WORDS;
        w[SHAPE_BSDF_CLASS] = bsdf.cls;
        w[SHAPE_BSDF_RECORD] = bsdf.record;
        w[SHAPE_EMITTER_CLASS] = emitter_of_shape[i].cls;
        w[SHAPE_EMITTER_RECORD] = emitter_of_shape[i].record;
        w[SHAPE_DATA] = geometry + shape->data;
        w[SHAPE_INTERIOR] = medium_place(p, media, shape->interior),
        w[SHAPE_EXTERIOR] = medium_place(p, media, shape->exterior);
    }
}

static void rebase_geometry(plan *p, uint32_t geometry)
{
    for (uint32_t i = 0; i < p->scene->shapes.count; i++) {
        const render_shape *shape = &p->scene->shapes.data[i];
        if (shape->kind != SHAPE_TRIANGLES)
            continue;
        uint32_t *w = p->words.data + geometry + shape->data;
        for (uint32_t k = MESH_FACES; k <= MESH_CDF; k++)
            w[k] = w[k] == PLAN_NONE ? PLAN_NONE : w[k] + geometry;
        w[MESH_HEIGHTS] = w[MESH_HEIGHTS] ? w[MESH_HEIGHTS] + geometry : 0;
    }
}

/* Where classes read parameters that belong to meshes, each mesh says where its own are. */
static void write_arrays(plan *p, uint32_t geometry)
{
    const render_scene *s = p->scene;
    uint32_t count = 3 * mesh_array_count(s) + mesh_first_count(s);
    for (uint32_t i = 0; i < s->shapes.count && ((p->needs | p->light_needs) & NEED_FACE || p->moves); i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (shape->kind != SHAPE_TRIANGLES)
            continue;
        uint32_t at = plan_reserve(p, count);
        mesh_array_words(p, shape, p->words.data + at);
        p->words.data[geometry + shape->data + MESH_ARRAYS] = at;
    }
}

/* Where kernels of ellipsoids emit: the words that kernels find their arrays by, and records of the shapes,
 * which may move whenever values change. */
static void write_ellipsoids(plan *p)
{
    const render_scene *s = p->scene;
    for (uint32_t i = 0; i < s->shapes.count && s->ellipsoid_field; i++)
        if (s->shapes.data[i].kind == SHAPE_ELLIPSOID) {
            ellipsoid_write_header(p, &s->shapes.data[i]);
            to_world_write_remade(p, i);
        }
}

/* Whether parameters are wanted of a sensor that jobs can look through: the scene's, or one in its place. */
static bool some_view_wanted(const plan *p)
{
    const render_scene *s = p->scene;
    bool wanted = false;
    for (uint32_t k = 0; k < s->sensors.count; k++)
        for (uint32_t i = render_last_parameter(s, s->sensors.data[k]); i; i = s->parameters.data[i - 1].next)
            wanted |= p->gradient_offset[i - 1] != PLAN_NONE && sensor_exchangeable(s, k);
    return wanted;
}

/* Whether some edge moves with what is requested, and kernels differentiate it. */
static bool edges_move(const plan *p)
{
    const render_scene *s = p->scene;
    bool moves = p->moves & MOVE_HITS || some_view_wanted(p);
    for (uint32_t i = 0; i < p->emitters.count; i++)
        moves |= emitter_of(p->emitters.data[i])->delta &&
                 p->emitters.data[i]->requested & emitter_of(p->emitters.data[i])->pose_params;
    return moves && edges_differentiated(s);
}

/* The curves of observer and D65, at a multiple of four words, behind them the film's bands, and which
 * meshes have attributes. */
static void write_spectrum(plan *p)
{
    const film_bands *bands = p->scene->bands;
    plan_reserve(p, (4 - p->words.count % 4) % 4);
    uint32_t at = plan_reserve(p, SPECTRUM_TABLE_WORDS);
    p->words.data[HEADER_SPECTRUM] = at;
    spectrum_table(p->words.data + at);
    if (bands) {
        uint32_t table = plan_reserve(p, bands_words(bands));
        bands_table(bands, p->words.data + table);
    }
    uint32_t lists = plan_reserve(p, mesh_list_words(p->scene));
    mesh_write_lists(p, lists, p->words.data + lists);
}

/* Where parameters of sensors are wanted, all that the scene's sensor can be changed for have a record of its
 * class: some with parameters that are wanted, some without. */
static void write_views(plan *p)
{
    const render_scene *s = p->scene;
    if (!some_view_wanted(p))
        return;
    class_list sensors = {0};
    p->views = arena_alloc(&p->memory, s->sensors.count * sizeof *p->views);
    uint32_t first = plan_instantiate(p, &sensors, s->sensor, NULL).record;
    p->words.data[HEADER_VIEW] = p->views[s->sensor_index] = first;
    for (uint32_t i = 0; i < s->sensors.count; i++) {
        if (i == s->sensor_index || !sensor_exchangeable(s, i))
            continue;
        plan_instance view = plan_instantiate(p, &sensors, s->sensors.data[i], NULL);
        p->views[i] = view.cls == 0 ? view.record : 0;
    }
    p->sensor = sensors.data[0], p->camera = true;
    array_free(&sensors);
}

static void write_words(plan *p)
{
    const render_scene *s = p->scene;
    plan_reserve(p, HEADER_COUNT);
    uint32_t geometry = p->geometry = plan_reserve(p, 0);
    plan_append(p, s->geometry.data, s->geometry.count);
    rebase_geometry(p, geometry);
    uint32_t shapes = plan_reserve(p, (s->shapes.count + 1) * SHAPE_WORDS),
             lights = plan_reserve(p, (s->emitters.count + 1) * 2);
    p->words.data[HEADER_SHAPES] = shapes, p->words.data[HEADER_EMITTERS] = lights;
    plan_instance *of_shape = arena_alloc(&p->memory, (s->shapes.count + 1) * sizeof *of_shape);
    plan_instance *seen = arena_alloc(&p->memory, (s->description->object_count + 1) * sizeof *seen);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        of_shape[i].cls = PLAN_NONE;
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        uint32_t shape = s->emitter_shape.data[i];
        plan_instance e = shape == PLAN_NONE ? plan_instantiate(p, &p->emitters, s->emitters.data[i], NULL)
                                             : plan_instantiate_area(p, i, geometry);
        p->words.data[lights + 2 * i] = e.cls;
        p->words.data[lights + 2 * i + 1] = e.record;
        if (shape != PLAN_NONE)
            of_shape[shape] = e, p->words.data[shapes + shape * SHAPE_WORDS + SHAPE_EMITTER_INDEX] = i;
    }
    if (s->mode->light == LIGHT_SPECTRAL)
        write_spectrum(p);
    if (p->lights_tabled)
        plan_place_light_table(p);
    write_shapes(p, shapes, geometry, of_shape, seen);
    write_arrays(p, geometry);
    to_world_write(p);
    write_ellipsoids(p);
    if (edges_move(p))
        silhouette_write(p);
    p->edges = p->words.data[HEADER_SILHOUETTES] != 0;
    for (uint32_t i = 0; i < s->channels.count; i++)
        if (s->channels.data[i].kind == CHANNEL_DP_DU || s->channels.data[i].kind == CHANNEL_DP_DV)
            p->needs |= NEED_TANGENTS;
    if (s->field) {
        class_list fields = {0};
        uint32_t field = plan_instantiate(p, &fields, s->field, NULL).record;
        p->words.data[HEADER_FIELD] = field;
        p->field = fields.data[0];
        array_free(&fields);
    }
    class_list filters = {0};
    uint32_t filter = plan_instantiate(p, &filters, s->filter, NULL)
                          .record; /* before the place is taken: it moves the words */
    p->words.data[HEADER_FILTER] = filter;
    p->filter = filters.data[0];
    array_free(&filters);
    write_views(p);
    if (p->edges)
        silhouette_place_guide(p);
    p->words.data[HEADER_UPDATES] = p->words.count;
    plan_append(p, p->update_words.data, p->update_words.count);
    plan_write_entries(p);
    uint32_t sensor = plan_reserve(
        p,
        sensor_words(s->sensor)); /* last: what is in front of it may be constant while it moves (passes.c) */
    sensor_record(s, s->sensor, NULL, p->words.data + sensor);
    p->words.data[HEADER_SENSOR] = sensor;
    if (p->sensor)
        p->words.data[sensor + SENSOR_OF_CLASS] = p->words.data[HEADER_VIEW];
}

bool plan_attaches_paths(const plan *p) { return p->camera || (p->turns && !p->scene->detached); }

static bool delta_lights_move(const plan *p)
{
    bool lights = false;
    for (uint32_t i = 0; i < p->emitters.count; i++)
        lights |= emitter_of(p->emitters.data[i])->delta &&
                  p->emitters.data[i]->requested & emitter_of(p->emitters.data[i])->pose_params;
    return lights;
}

static bool moves_camera_and_hits(const plan *p)
{
    return p->camera && p->moves & MOVE_HITS && !p->scene->light_tracing;
}

/* ---- shapes next to each other ---- */

static bool boxes_meet(const float a[6], const float b[6])
{
    bool meet = true;
    for (int k = 0; k < 3; k++)
        meet &= a[k] <= b[3 + k] && b[k] <= a[3 + k];
    return meet;
}

/* Whether some part of another shape is in the box of shape `index`, which is made a little larger. bounds:
 * of each shape. */
static bool has_neighbour(const render_scene *s, const float (*bounds)[6], uint32_t index)
{
    const float around = 0.05f;
    float own[6], size = 0;
    memcpy(own, bounds[index], sizeof own);
    for (int k = 0; k < 3; k++)
        size = fmaxf(size, own[3 + k] - own[k]);
    for (int k = 0; k < 3; k++)
        own[k] -= around * size, own[3 + k] += around * size;
    bool found = false;
    for (uint32_t i = 0; i < s->shapes.count && !found; i++) {
        const render_shape *other = &s->shapes.data[i];
        bool near = i != index && boxes_meet(own, bounds[i]);
        for (uint32_t j = 0; near && j < other->primitive_count && !found; j++)
            found = boxes_meet(own, s->primitives.data[other->first_entry_primitive + j].bounds);
    }
    return found;
}

/* Where paths between two surfaces matter: those of three segments and more. Instances are not asked. */
static bool moving_shapes_touch(const plan *p)
{
    const render_scene *s = p->scene;
    bool some = false;
    if (!(p->moves & MOVE_HITS) || s->has_groups || (s->max_depth >= 0 && s->max_depth <= 2))
        return false;
    float(*bounds)[6] = memory_need((s->shapes.count + 1) * sizeof *bounds);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        render_shape_bounds(s, &s->shapes.data[i], bounds[i]);
    for (uint32_t i = 0; i < s->shapes.count && !some; i++)
        some =
            shape_motion_requested(p, &s->shapes.data[i]) && has_neighbour(s, (const float(*)[6])bounds, i);
    memory_free(bounds);
    return some;
}

/* Whether walks are volumetric for the sake of motion alone. Attached paths keep surfaces where they are, so
 * they cannot move with the camera and with surfaces at once. Volumetric walks have both motions, and where
 * shapes touch, their gradients settle (docs/theory/moving_geometry.md), but they keep directions at mirrors
 * and smooth glass. */
static bool walks_for_motion(const plan *p)
{
    const render_scene *s = p->scene;
    if (plan_goes_through(p) || s->light_tracing || !(moves_camera_and_hits(p) || p->touches))
        return false;
    bool others = s->method != METHOD_REPLAY || s->own || s->field || s->mode->polarized || s->disperses,
         hidden = s->hide_emitters || plan_has_nulls(p) || p->media.count > 0;
    return !others && !hidden && !p->turns && !render_some_bsdf(s, bsdf_is_smooth);
}

bool plan_attaches_through(const plan *p)
{
    const render_scene *s = p->scene;
    bool hidden = p->camera && s->hide_emitters, leads = s->attaches || render_some_bsdf(s, bsdf_is_smooth);
    return p->turns && leads && render_attaches_through(s) && plan_goes_through(p) &&
           !(p->moves & MOVE_HITS) && !hidden;
}

bool plan_moves_segments(const plan *p)
{
    bool moves = p->camera || p->moves & MOVE_SURFACE || delta_lights_move(p) || plan_attaches_through(p);
    return moves && (p->scene->volumetric || walks_for_motion(p));
}

bool plan_moves_light_paths(const plan *p)
{
    bool surfaces = plan_attaches_paths(p) || p->curves || (p->moves & MOVE_SURFACE);
    return p->scene->light_tracing && (surfaces || delta_lights_move(p));
}

bool plan_hits_move(const plan *p)
{
    return plan_attaches_paths(p) || (p->moves & MOVE_SURFACE) || plan_moves_light_paths(p);
}

bool plan_can_bake(const render_scene *s)
{
    return s->groups.count == 0 && s->bvh.count > 0 && s->bvh.count <= BAKED_MOST && !s->ellipsoid_field;
}

static bool requested_array(const plan *p, const render_shape *shape, enum mesh_array array)
{
    uint32_t i = render_find_parameter(p->scene, shape->object, PLAN_ARRAY_SLOT + array);
    return p->moves >> array & 1 && i != PLAN_NONE && p->gradient_offset[i] != PLAN_NONE;
}

/* Whether light from a mesh changes as the mesh slides along a ray: by what its texture shows there, or by
 * what a medium in front of it absorbs. */
static bool lights_slide(const plan *p)
{
    const render_scene *s = p->scene;
    bool any = false;
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (shape->kind != SHAPE_TRIANGLES || !shape->emitter ||
            shape->emitter->cls != &emitter_area.base.plugin)
            continue;
        bool moves = requested_array(p, shape, MESH_ARRAY_POSITIONS),
             textured = !texture_is_constant(scene_get(shape->emitter, "radiance")->object);
        any |= textured && (moves || requested_array(p, shape, MESH_ARRAY_UVS));
        any |= moves && s->volumetric && s->media.count > 0;
    }
    return any;
}

/* Normals that are generated from requested positions: their places follow those of everything requested. */
static void derive_normals(plan *p)
{
    const render_scene *s = p->scene;
    p->first_derived = p->gradient_count;
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (!shape->normals_made)
            continue;
        uint32_t position = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS);
        uint32_t normal = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_NORMALS);
        if (position == PLAN_NONE || normal == PLAN_NONE || p->gradient_offset[position] == PLAN_NONE ||
            p->gradient_offset[normal] != PLAN_NONE)
            continue;
        p->normals_of[normal] = position, p->normals_derived = true;
        p->value_offset[normal] = p->stored_count, p->stored_count += s->parameters.data[normal].count;
        p->gradient_offset[normal] = p->gradient_count, p->gradient_count += s->parameters.data[normal].count;
        p->moves |= MOVE_NORMALS;
    }
}

plan *plan_create(const render_scene *s, const uint32_t *requested, uint32_t count, plan_rays rays,
                  uint32_t off)
{
    plan *p = memory_need_zeroed(1, sizeof *p);
    p->scene = s, p->off = off;
    p->value_offset = arena_alloc(&p->memory, (s->parameters.count + 1) * sizeof(uint32_t));
    p->gradient_offset = arena_alloc(&p->memory, (s->parameters.count + 1) * sizeof(uint32_t));
    p->normals_of = arena_alloc(&p->memory, (s->parameters.count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        p->value_offset[i] =
            s->parameters.data[i].source == PLAN_NONE ? s->parameters.data[i].offset : PLAN_NONE;
        p->gradient_offset[i] = p->normals_of[i] = PLAN_NONE;
    }
    p->stored_count = s->values.count;
    for (uint32_t i = 0; i < count; i++) {
        if (p->value_offset[requested[i]] == PLAN_NONE) {
            p->value_offset[requested[i]] = p->stored_count;
            p->stored_count += s->parameters.data[requested[i]].count;
        }
        p->gradient_offset[requested[i]] = p->gradient_count;
        p->gradient_count += s->parameters.data[requested[i]].count;
        p->any_request = true;
        p->turns |= s->parameters.data[requested[i]].turns;
        p->curves |= s->parameters.data[requested[i]].curves;
        uint32_t slot = s->parameters.data[requested[i]].slot;
        if (slot >= PLAN_ARRAY_SLOT)
            p->moves |=
                1u << (slot - PLAN_ARRAY_SLOT < MESH_ATTRIBUTE ? slot - PLAN_ARRAY_SLOT : MESH_ATTRIBUTE);
        p->moves |= to_world_is(s, requested[i]) ? MOVE_TO_WORLD : 0u;
    }
    p->lights_slide = lights_slide(p), p->touches = moving_shapes_touch(p);
    derive_normals(p);
    p->value_count = p->stored_count;
    p->derived = arena_alloc(&p->memory, (s->description->object_count + 1) * sizeof *p->derived);
    p->baked = rays == PLAN_RAYS_BAKED && plan_can_bake(s) && !(p->moves & MOVE_HITS);
    p->query = rays == PLAN_RAYS_QUERY;
    p->lights_tabled = lights_differ(s);
    p->lights_tree = p->lights_tabled && s->light_choice == LIGHTS_BY_TREE && plan_has_light_tree(p);
    write_words(p);
    return p;
}

bool plan_splits(const plan *p)
{
    bool local = plan_is_volumetric(p) || p->scene->light_tracing;
    return plan_attaches_paths(p) && p->moves & MOVE_HITS && !local;
}

plan_split plan_split_of(const render_scene *s, uint32_t parameter)
{
    const bool vertices = s->parameters.data[parameter].slot == PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS;
    return vertices || to_world_is(s, parameter) ? PLAN_SHAPES : PLAN_OTHERS;
}

/* Whether normals are among what is requested, besides those that are derived. */
static bool normals_requested(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->scene->parameters.count; i++)
        any |= p->scene->parameters.data[i].slot == PLAN_ARRAY_SLOT + MESH_ARRAY_NORMALS &&
               p->gradient_offset[i] != PLAN_NONE && p->normals_of[i] == PLAN_NONE;
    return any;
}

plan plan_part(const plan *whole, plan_split split)
{
    plan p = *whole;
    BL_ASSERT(plan_splits(whole) && split != PLAN_TOGETHER, "part %d of a plan", (int)split);
    const bool shapes = split == PLAN_SHAPES;
    const uint32_t derived = whole->normals_derived ? MOVE_NORMALS : 0u,
                   alone = derived && !normals_requested(whole) ? MOVE_NORMALS : 0u;
    p.split = split;
    p.moves = shapes ? (whole->moves & MOVE_HITS) | derived : whole->moves & ~(MOVE_HITS | alone);
    p.camera &= !shapes, p.turns &= !shapes, p.curves &= !shapes, p.touches &= shapes;
    p.lights_slide = lights_slide(&p);
    p.edges &= shapes || p.camera || delta_lights_move(whole);
    return p;
}

void plan_initial_values(const plan *p, float *values)
{
    const render_scene *s = p->scene;
    if (s->values.count)
        memcpy(values, s->values.data, s->values.count * sizeof *values);
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        const render_parameter *q = &s->parameters.data[i];
        if (q->source != PLAN_NONE && p->value_offset[i] != PLAN_NONE)
            memcpy(values + p->value_offset[i], render_initial(s, q), q->count * sizeof *values);
    }
}

bool plan_numbers_by_depth(const plan *p)
{
    bool once = true;
    for (uint32_t i = 0; p->scene->volumetric && i < p->bsdfs.count; i++)
        once &= !bsdf_lets_through(p->bsdfs.data[i]) || bsdf_of(p->bsdfs.data[i])->pdf == bsdf_no_density;
    return once;
}

bool plan_has_nulls(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->bsdfs.count; i++)
        any |= bsdf_lets_through(p->bsdfs.data[i]);
    return any;
}

bool plan_has_media(const plan *p) { return p->scene->volumetric && p->media.count > 0; }
bool plan_goes_through(const plan *p)
{
    return plan_has_media(p) || (p->scene->volumetric && plan_has_nulls(p));
}
bool plan_is_volumetric(const plan *p) { return plan_goes_through(p) || walks_for_motion(p); }

bool plan_remembers_all_transmittance(const plan *p)
{
    int32_t most = p->scene->max_depth; /* the last vertex samples no light */
    return plan_goes_through(p) && plan_numbers_by_depth(p) && most >= 0 && most <= REMEMBERED_MOST + 1;
}

uint32_t plan_remembers_transmittance(const plan *p)
{
    if (plan_remembers_all_transmittance(p))
        return p->scene->max_depth > 1 ? (uint32_t)p->scene->max_depth - 1 : 0;
    bool tracks = false;
    for (uint32_t i = 0; plan_has_media(p) && i < p->media.count; i++)
        tracks |= !medium_of(p->media.data[i])->homogeneous;
    return tracks ? REMEMBERED_MOST : 0;
}

uint32_t plan_hit_words(const plan *p)
{
    const render_scene *s = p->scene;
    if (!p->remembers_hits || s->method != METHOD_REPLAY || plan_attaches_paths(p))
        return 0;
    return s->has_groups ? 5 : 4;
}

uint32_t plan_first_hit_word(const plan *p)
{
    const sample_planes planes = sample_planes_of(p->scene->mode->channels);
    return planes.words + planes.remembered * plan_remembers_transmittance(p);
}

uint32_t plan_sample_words(const plan *p)
{
    return plan_first_hit_word(p) + HITS_REMEMBERED * plan_hit_words(p);
}

void plan_destroy(plan *p)
{
    if (!p)
        return;
    array_free(&p->words);
    array_free(&p->bsdfs);
    array_free(&p->emitters);
    array_free(&p->media);
    array_free(&p->phases);
    array_free(&p->updates);
    array_free(&p->tables);
    array_free(&p->table_builds);
    array_free(&p->update_words);
    for (uint32_t g = 0; p->rebuilt && g <= p->group_count; g++)
        bvh_free(&p->rebuilt[g]);
    memory_free(p->rebuilt);
    arena_free(&p->memory);
    memory_free(p);
}
