/* SPDX-License-Identifier: BSD-3-Clause
 * Classes, records and the words of the scene buffer. See plan.h.
 *
 * Order of the scene buffer: header, geometry, shapes, emitters, records, updates, nodes, entries, sensor. Geometry's internal offsets (MESH_FACES ..)
 * are relative to its block in the render_scene and become absolute here. */
#include "render/classes.h"

enum { BAKED_MOST = 64 /* primitives; docs/measurements.md */ };

const char *const plan_switch_names[PLAN_SWITCH_COUNT] = {"folding", "numbering", "cells", "residual", "sharing", "shape_sharing"};

/* ---- classes ---- */

static class_node *new_node(plan *p, const render_class *cls)
{
    class_node *n = arena_alloc(&p->memory, sizeof *n);
    uint32_t count = cls->plugin.param_count;
    BL_ASSERT(count <= PLAN_DERIVED_SLOT, "%s has %u parameters", cls->plugin.name, count);
    n->cls = cls;
    n->field = arena_alloc(&p->memory, (count + 1) * sizeof *n->field);
    n->param_child = arena_alloc(&p->memory, (count + 1) * sizeof *n->param_child);
    for (uint32_t k = 0; k < count; k++)
        n->field[k] = PLAN_NONE;
    return n;
}

static bool wanted(const plan *p, const scene_object *o, uint32_t slot)
{
    uint32_t i = render_find_parameter(p->scene, o, slot);
    return i != PLAN_NONE && p->gradient_offset[i] != PLAN_NONE;
}

/* Only materials, phase functions, textures and volumes nest records; a scene_object's other children (a film's filter) are no concern of kernels. */
static bool nests(const scene_object *o) { return o->cls->category == PLUGIN_BSDF || o->cls->category == PLUGIN_PHASE; }

/* bool: the gradient of a parameter of this class, or of a texture in it, is wanted by some instance */
bool plan_requests(const class_node *n)
{
    bool any = n->requested != 0;
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        any |= n->param_child[k] && plan_requests(n->param_child[k]);
    return any;
}

/* The class of one object. shape: that carries an emitter, whose kind is part of the class; else NULL. */
static class_node *classify(plan *p, const scene_object *o, const render_shape *shape)
{
    const render_class *cls = (const render_class *)o->cls;
    class_node *n = new_node(p, cls);
    text key = {0};
    text_add(&key, "%s(", cls->plugin.name);
    for (uint32_t k = 0; k < cls->plugin.param_count; k++) {
        const plugin_param *param = &cls->plugin.params[k];
        if ((param->kind == PLUGIN_TEXTURED || param->kind == PLUGIN_VOLUMETRIC) && o->values[k].object) {
            n->param_child[k] = classify(p, o->values[k].object, NULL);
            n->field[k] = n->words;
            n->words += n->param_child[k]->words;
            n->absent |= (param->flags & PLUGIN_PART) && plan_part_is_zero(o, param->name) ? 1u << k : 0u;
            text_add(&key, "%s=%s%s,", param->name, n->param_child[k]->key, n->absent >> k & 1 ? "*0" : "");
        } else if ((param->flags & PLUGIN_DIFFERENTIABLE) && plugin_value_count(param->kind)) {
            n->field[k] = n->words;
            n->words += 2;
            n->requested |= wanted(p, o, k) ? 1u << k : 0u;
        }
    }
    for (uint32_t k = 0; nests(o) && k < o->child_count && n->child_count < PLAN_MAX_CHILDREN; k++) {
        class_node *child = classify(p, o->children[k], NULL);
        n->child[n->child_count] = child;
        n->child_word[n->child_count++] = n->words;
        n->words += child->words;
        text_add(&key, "%s,", child->key);
    }
    n->requested |= wanted(p, o, PLAN_DATA_SLOT) ? 1u << PLAN_DATA_SLOT : 0u;
    n->derived_word = n->words;
    if (cls->derived_count) {
        n->words += 2;
        n->requested |= plan_requests(n) ? 1u << PLAN_DERIVED_SLOT : 0u;
    }
    n->table_word = n->words;
    n->tabled = cls->table_steps && cls->table_words(p->scene, o, shape);
    n->words += n->tabled;
    n->extra_word = n->words;
    n->words += cls->extra_words;
    n->variant = shape ? shape->kind : cls->variant ? cls->variant(p->scene, o) : 0;
    text_add(&key, "#%u)%s%s", n->variant, shape ? " on " : "", shape ? shape_kinds[shape->kind]->name : "");
    n->key = arena_strdup(&p->memory, key.data);
    text_free(&key);
    return n;
}

/* Derived values and sampling table of an object, the same in all its records. */
typedef struct derived_place {
    bool placed, table_placed;
    uint32_t value, gradient; /* of the first; PLAN_NONE */
    uint32_t table;
} derived_place;

/* An instance adds its wishes to its class. */
static void unite_requests(class_node *into, const class_node *from)
{
    into->requested |= from->requested;
    for (uint32_t k = 0; k < into->cls->plugin.param_count; k++)
        if (into->param_child[k])
            unite_requests(into->param_child[k], from->param_child[k]);
    for (uint32_t k = 0; k < into->child_count; k++)
        unite_requests(into->child[k], from->child[k]);
}

/* enum surface_need: of the class and of all it holds. */
static uint32_t needs(const class_node *n)
{
    uint32_t all = n->cls->needs ? n->cls->needs(n) : 0;
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        all |= n->param_child[k] ? needs(n->param_child[k]) : 0;
    for (uint32_t k = 0; k < n->child_count; k++)
        all |= needs(n->child[k]);
    return all;
}

static uint32_t class_add(const plan *p, class_list *list, class_node *n)
{
    for (uint32_t i = 0; i < list->count && !(p->off & PLAN_SHARE); i++)
        if (strcmp(list->data[i]->key, n->key) == 0) {
            unite_requests(list->data[i], n);
            return i;
        }
    array_push(list, n);
    return list->count - 1;
}

/* ---- records ---- */

uint32_t plan_value_offset(const plan *p, const scene_object *o, uint32_t slot)
{
    return p->scene->parameters.data[render_find_parameter(p->scene, o, slot)].offset;
}

uint32_t plan_gradient_offset(const plan *p, const scene_object *o, uint32_t slot)
{
    return p->gradient_offset[render_find_parameter(p->scene, o, slot)];
}

/* Room for an object's derived values, and its line in the list of updates. n: its own class, not yet united with others'. */
static derived_place place_derived(plan *p, const class_node *n, const scene_object *o, uint32_t record)
{
    derived_place *d = &p->derived[o->index];
    if (d->placed)
        return *d;
    uint32_t count = n->cls->derived_count;
    d->placed = true, d->value = p->value_count, d->gradient = PLAN_NONE;
    p->value_count += count;
    if (n->requested >> PLAN_DERIVED_SLOT & 1) {
        d->gradient = p->gradient_count;
        p->gradient_count += count;
        p->update_requested = true;
    }
    uint32_t cls = class_add(p, &p->updates, classify(p, o, NULL)); /* a tree of its own: united with other instances of this list only */
    bool each = n->cls->update_element != NULL;
    p->update_elements |= each;
    for (uint32_t k = 0; k < (each ? count : 1); k++) {
        array_push(&p->update_words, cls | k << UPDATE_ELEMENT);
        array_push(&p->update_words, record);
        p->update_count++;
    }
    return *d;
}

/* Appends the parameters of an object and of what it holds. */
static void add_parameters(const plan *p, const scene_object *o, uint32_list *out)
{
    for (uint32_t i = 0; i < p->scene->parameters.count; i++)
        if (p->scene->parameters.data[i].object == o->index)
            array_push(out, i);
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->values[k].object)
            add_parameters(p, o->values[k].object, out);
    for (uint32_t k = 0; k < o->child_count; k++)
        add_parameters(p, o->children[k], out);
}

/* Gives the steps that were added last, `count` of them, what they follow; takes the list. */
static void set_follows(plan *p, uint32_t count, uint32_list *parameters)
{
    uint32_t *follows = arena_alloc(&p->memory, (parameters->count + 1) * sizeof *follows);
    if (parameters->count)
        memcpy(follows, parameters->data, parameters->count * sizeof *follows);
    for (uint32_t k = p->table_builds.count - count; k < p->table_builds.count; k++)
        p->table_builds.data[k].follows = follows, p->table_builds.data[k].follow_count = parameters->count;
    array_free(parameters);
}

/* Room for an object's sampling table, one for each shape that carries it, and the dispatches that build it. */
static uint32_t place_table(plan *p, const scene_object *o, const render_shape *shape, uint32_t record)
{
    derived_place *d = &p->derived[o->index];
    if (d->table_placed && !shape)
        return d->table;
    const render_class *cls = (const render_class *)o->cls;
    d->table_placed = true, d->table = p->value_count;
    p->value_count += cls->table_words(p->scene, o, shape);
    uint32_t index = class_add(p, &p->tables, classify(p, o, shape)), function = 0;
    for (uint32_t k = 0; k < index; k++)
        function += p->tables.data[k]->cls->table_steps;
    for (uint32_t k = 0; k < cls->table_steps; k++) {
        plan_table step = {.function = function + k, .record = record, .lanes = cls->table_lanes(p->scene, o, k)};
        array_push(&p->table_builds, step);
    }
    uint32_list follows = {0};
    add_parameters(p, o, &follows);
    set_follows(p, cls->table_steps, &follows);
    return d->table;
}

static void write_record(plan *p, const class_node *n, const scene_object *o, const render_shape *shape, uint32_t at)
{
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++) {
        if (n->param_child[k]) {
            write_record(p, n->param_child[k], o->values[k].object, NULL, at + n->field[k]);
        } else if (n->field[k] != PLAN_NONE) {
            p->words.data[at + n->field[k]] = plan_value_offset(p, o, k);
            p->words.data[at + n->field[k] + 1] = plan_gradient_offset(p, o, k);
        }
    }
    for (uint32_t k = 0; k < n->child_count; k++)
        write_record(p, n->child[k], o->children[k], NULL, at + n->child_word[k]);
    if (n->cls->derived_count) {
        derived_place d = place_derived(p, n, o, at);
        p->words.data[at + n->derived_word] = d.value, p->words.data[at + n->derived_word + 1] = d.gradient;
    }
    if (n->tabled)
        p->words.data[at + n->table_word] = place_table(p, o, shape, at);
    if (n->cls->extra)
        n->cls->extra(p, o, p->words.data + at + n->extra_word);
}

uint32_t plan_reserve(plan *p, uint32_t count)
{
    uint32_t at = p->words.count;
    array_reserve(&p->words, at + count + 1);
    memset(p->words.data + at, 0, count * sizeof(uint32_t));
    p->words.count += count;
    return at;
}

static void append_words(plan *p, const uint32_t *words, uint32_t count)
{
    uint32_t at = plan_reserve(p, count);
    if (count)
        memcpy(p->words.data + at, words, count * sizeof(uint32_t));
}

/* Whether lights are chosen by a table: else they are all alike. */
static bool lights_differ(const render_scene *s)
{
    bool differ = s->light_choice == LIGHTS_BY_POWER;
    for (uint32_t i = 1; i < s->emitters.count && s->light_choice == LIGHTS_BY_WEIGHT; i++)
        differ |= scene_number(s->emitters.data[i], "sampling_weight") != scene_number(s->emitters.data[0], "sampling_weight");
    return differ && s->emitters.count > 1;
}

/* Weights of the lights, room for the table, and the dispatches that build it, behind those of the lights' own tables. */
static void place_light_table(plan *p)
{
    const render_scene *s = p->scene;
    uint32_t n = s->emitters.count, function = 0;
    p->words.data[HEADER_LIGHT_WEIGHTS] = p->words.count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t weight = float_word((float)scene_number(s->emitters.data[i], "sampling_weight"));
        append_words(p, &weight, 1);
    }
    p->words.data[HEADER_LIGHT_TABLE] = p->value_count;
    p->value_count += choice_words(s);
    for (uint32_t k = 0; k < p->tables.count; k++)
        function += p->tables.data[k]->cls->table_steps;
    for (uint32_t k = 0; k < CHOICE_STEPS; k++) {
        plan_table step = {.function = function + k, .lanes = choice_lanes(s, k)};
        array_push(&p->table_builds, step);
    }
    uint32_list follows = {0};
    for (uint32_t i = 0; i < n && s->light_choice == LIGHTS_BY_POWER; i++)
        add_parameters(p, s->emitters.data[i], &follows);
    set_follows(p, CHOICE_STEPS, &follows);
}

typedef struct instance {
    uint32_t cls, record;
} instance;

/* One record per object and list, however many shapes refer to it. seen: by object index. */
static instance instantiate(plan *p, class_list *list, const scene_object *o, instance *seen)
{
    if (seen && seen[o->index].record)
        return seen[o->index];
    class_node *n = classify(p, o, NULL);
    instance i = {.cls = class_add(p, list, n), .record = plan_reserve(p, n->words + (n->words == 0))};
    write_record(p, n, o, NULL, i.record);
    if (seen)
        seen[o->index] = i;
    return i;
}

static instance instantiate_area(plan *p, uint32_t emitter, uint32_t geometry_base)
{
    const render_shape *shape = &p->scene->shapes.data[p->scene->emitter_shape.data[emitter]];
    class_node *n = classify(p, p->scene->emitters.data[emitter], shape);
    instance i = {.cls = class_add(p, &p->emitters, n), .record = plan_reserve(p, n->words)};
    write_record(p, n, p->scene->emitters.data[emitter], shape, i.record);
    uint32_t *extra = p->words.data + i.record + n->extra_word;
    extra[AREA_SHAPE_DATA] = geometry_base + shape->data;
    extra[AREA_INVERSE_AREA] = float_word(1 / shape->area);
    return i;
}

/* ---- the whole buffer ---- */

/* Where the scene buffer describes a medium; 0: vacuum. */
static uint32_t medium_place(const plan *p, uint32_t media, const scene_object *medium)
{
    for (uint32_t i = 0; medium && i < p->scene->media.count; i++)
        if (p->scene->media.data[i] == medium)
            return media + i * MEDIUM_WORDS;
    return 0;
}

/* Returns where the list of media begins. */
static uint32_t write_media(plan *p, instance *seen)
{
    const render_scene *s = p->scene;
    uint32_t media = plan_reserve(p, s->media.count * MEDIUM_WORDS);
    for (uint32_t i = 0; i < s->media.count; i++) {
        instance medium = instantiate(p, &p->media, s->media.data[i], seen);
        const scene_object *own = scene_child(s->media.data[i], PLUGIN_PHASE);
        instance phase = instantiate(p, &p->phases, own ? own : s->default_phase, seen);
        uint32_t *w = p->words.data + media + i * MEDIUM_WORDS;
        w[MEDIUM_CLASS] = medium.cls, w[MEDIUM_RECORD] = medium.record;
        w[MEDIUM_PHASE_CLASS] = phase.cls, w[MEDIUM_PHASE_RECORD] = phase.record;
        w[MEDIUM_SAMPLES_LIGHTS] = scene_number(s->media.data[i], "sample_emitters") != 0;
    }
    p->words.data[HEADER_MEDIA] = media;
    p->words.data[HEADER_SENSOR_MEDIUM] = medium_place(p, media, s->sensor_medium);
    return media;
}

static void write_shapes(plan *p, uint32_t shapes, uint32_t geometry, const instance *emitter_of_shape, instance *seen)
{
    const render_scene *s = p->scene;
    uint32_t media = write_media(p, seen);
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        instance bsdf = shape->bsdf ? instantiate(p, &p->bsdfs, shape->bsdf, seen) : (instance){0};
        if (shape->bsdf)
            p->needs |= needs(p->bsdfs.data[bsdf.cls]);
        uint32_t *w = p->words.data + shapes + i * SHAPE_WORDS;
        w[SHAPE_BSDF_CLASS] = bsdf.cls;
        w[SHAPE_BSDF_RECORD] = bsdf.record;
        w[SHAPE_EMITTER_CLASS] = emitter_of_shape[i].cls;
        w[SHAPE_EMITTER_RECORD] = emitter_of_shape[i].record;
        w[SHAPE_DATA] = geometry + shape->data;
        w[SHAPE_INTERIOR] = medium_place(p, media, shape->interior), w[SHAPE_EXTERIOR] = medium_place(p, media, shape->exterior);
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
    }
}

/* Where classes read parameters that belong to meshes, each mesh says where its own are. */
static void write_arrays(plan *p, uint32_t geometry)
{
    const render_scene *s = p->scene;
    uint32_t count = 3 * mesh_array_count(s);
    for (uint32_t i = 0; i < s->shapes.count && (p->needs & NEED_FACE || p->moves); i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (shape->kind != SHAPE_TRIANGLES)
            continue;
        uint32_t at = plan_reserve(p, count);
        mesh_array_words(p, shape, p->words.data + at);
        p->words.data[geometry + shape->data + MESH_ARRAYS] = at;
    }
}

static void write_words(plan *p)
{
    const render_scene *s = p->scene;
    plan_reserve(p, HEADER_COUNT);
    uint32_t geometry = p->geometry = plan_reserve(p, 0);
    append_words(p, s->geometry.data, s->geometry.count);
    rebase_geometry(p, geometry);
    uint32_t shapes = plan_reserve(p, (s->shapes.count + 1) * SHAPE_WORDS), lights = plan_reserve(p, (s->emitters.count + 1) * 2);
    p->words.data[HEADER_SHAPES] = shapes, p->words.data[HEADER_EMITTERS] = lights;
    instance *of_shape = arena_alloc(&p->memory, (s->shapes.count + 1) * sizeof *of_shape);
    instance *seen = arena_alloc(&p->memory, (s->description->object_count + 1) * sizeof *seen);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        of_shape[i].cls = PLAN_NONE;
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        uint32_t shape = s->emitter_shape.data[i];
        instance e = shape == PLAN_NONE ? instantiate(p, &p->emitters, s->emitters.data[i], NULL) : instantiate_area(p, i, geometry);
        p->words.data[lights + 2 * i] = e.cls;
        p->words.data[lights + 2 * i + 1] = e.record;
        if (shape != PLAN_NONE)
            of_shape[shape] = e, p->words.data[shapes + shape * SHAPE_WORDS + SHAPE_EMITTER_INDEX] = i;
    }
    if (p->lights_tabled)
        place_light_table(p);
    write_shapes(p, shapes, geometry, of_shape, seen);
    write_arrays(p, geometry);
    for (uint32_t i = 0; i < s->channels.count; i++)
        if (s->channels.data[i].kind == CHANNEL_DP_DU || s->channels.data[i].kind == CHANNEL_DP_DV)
            p->needs |= NEED_TANGENTS;
    class_list filters = {0};
    uint32_t filter = instantiate(p, &filters, s->filter, NULL).record; /* before the place is taken: it moves the words */
    p->words.data[HEADER_FILTER] = filter;
    p->filter = filters.data[0];
    for (uint32_t i = 0; i < s->parameters.count && !p->sensor; i++)
        if (s->parameters.data[i].object == s->sensor->index && p->gradient_offset[i] != PLAN_NONE) {
            class_list sensors = {0};
            uint32_t view = instantiate(p, &sensors, s->sensor, NULL).record;
            p->words.data[HEADER_VIEW] = view;
            p->sensor = sensors.data[0];
            array_free(&sensors);
        }
    array_free(&filters);
    p->words.data[HEADER_UPDATES] = p->words.count;
    append_words(p, p->update_words.data, p->update_words.count);
    plan_write_entries(p);
    uint32_t sensor = plan_reserve(p, sensor_words(s->sensor)); /* last: what is in front of it may be constant while it moves (kernel_module) */
    sensor_record(s, s->sensor, NULL, p->words.data + sensor);
    p->words.data[HEADER_SENSOR] = sensor;
}

bool plan_follows(const plan *p) { return p->sensor || p->turns; }
bool plan_hits_move(const plan *p) { return plan_follows(p) || (p->moves & MOVE_SURFACE); }

uint32_t plan_sensor_word(const plan *p) { return p->words.data[HEADER_SENSOR]; }

bool plan_can_bake(const render_scene *s) { return s->groups.count == 0 && s->bvh.count > 0 && s->bvh.count <= BAKED_MOST; }

/* Normals that are generated from requested positions get places behind those of all that is requested. */
static void derive_normals(plan *p)
{
    const render_scene *s = p->scene;
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (!shape->normals_made)
            continue;
        uint32_t position = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS);
        uint32_t normal = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_NORMALS);
        if (position == PLAN_NONE || normal == PLAN_NONE || p->gradient_offset[position] == PLAN_NONE || p->gradient_offset[normal] != PLAN_NONE)
            continue;
        p->normals_of[normal] = position, p->normals_derived = true;
        p->value_offset[normal] = p->stored_count, p->stored_count += s->parameters.data[normal].count;
        p->gradient_offset[normal] = p->gradient_count, p->gradient_count += s->parameters.data[normal].count;
        p->moves |= MOVE_NORMALS;
    }
}

plan *plan_create(const render_scene *s, const uint32_t *requested, uint32_t count, plan_rays rays, uint32_t off)
{
    plan *p = calloc(1, sizeof *p);
    BL_ASSERT(p, "out of memory");
    p->scene = s, p->off = off;
    p->value_offset = arena_alloc(&p->memory, (s->parameters.count + 1) * sizeof(uint32_t));
    p->gradient_offset = arena_alloc(&p->memory, (s->parameters.count + 1) * sizeof(uint32_t));
    p->normals_of = arena_alloc(&p->memory, (s->parameters.count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        p->value_offset[i] = s->parameters.data[i].source == PLAN_NONE ? s->parameters.data[i].offset : PLAN_NONE;
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
        uint32_t slot = s->parameters.data[requested[i]].slot;
        if (slot >= PLAN_ARRAY_SLOT)
            p->moves |= 1u << (slot - PLAN_ARRAY_SLOT < MESH_ATTRIBUTE ? slot - PLAN_ARRAY_SLOT : MESH_ATTRIBUTE);
    }
    derive_normals(p);
    p->value_count = p->stored_count;
    p->derived = arena_alloc(&p->memory, (s->description->object_count + 1) * sizeof *p->derived);
    p->baked = rays == PLAN_RAYS_BAKED && plan_can_bake(s) && !(p->moves & MOVE_POSITIONS);
    p->query = rays == PLAN_RAYS_QUERY;
    p->lights_tabled = lights_differ(s);
    write_words(p);
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
    free(p->rebuilt);
    arena_free(&p->memory);
    free(p);
}
