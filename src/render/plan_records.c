/* SPDX-License-Identifier: BSD-3-Clause
 * Records of a plan: where each instance of a class finds its parameters, derived values and sampling table,
 * and the dispatches that make the last two. */
#include "render/plan_internal.h"

uint32_t plan_value_offset(const plan *p, const scene_object *o, uint32_t slot)
{
    return p->scene->parameters.data[render_find_parameter(p->scene, o, slot)].offset;
}

uint32_t plan_gradient_offset(const plan *p, const scene_object *o, uint32_t slot)
{
    return p->gradient_offset[render_find_parameter(p->scene, o, slot)];
}

/* Room for an object's derived values, and its line in the list of updates. n: its own class, not yet united
 * with others'. */
static derived_place place_derived(plan *p, const class_node *n, const scene_object *o, uint32_t record)
{
    derived_place *d = &p->derived[o->index];
    if (d->placed)
        return *d;
    uint32_t colours = n->upsampled ? n->cls->colours(p->scene, o) : 0,
             count = n->upsampled ? colours * SPECTRAL_WORDS : n->cls->derived_count;
    d->placed = true, d->value = p->value_count, d->gradient = PLAN_NONE;
    p->value_count += count;
    if (n->requested >> PLAN_DERIVED_SLOT & 1) {
        d->gradient = p->gradient_count;
        p->gradient_count += count;
        p->update_requested = true;
    }
    uint32_t cls = plan_class_add(
        p, &p->updates,
        plan_classify(p, o, NULL)); /* a tree of its own: united with other instances of this list only */
    bool each = n->cls->update_element != NULL || n->upsampled;
    p->update_elements |= each;
    uint32_t elements = n->upsampled ? colours : each ? count : 1, bits = plan_element_bit(p);
    BL_ASSERT(!p->update_elements || (cls < 1u << bits && elements <= 1u << (32 - bits)),
              "class %u of updates, %u elements, %u bits", cls, elements, bits);
    for (uint32_t k = 0; k < elements; k++) {
        array_push(&p->update_words, cls | k << bits);
        array_push(&p->update_words, record);
        p->update_count++;
    }
    return *d;
}

/* In the scene's order. */
static void add_own_parameters(const plan *p, const scene_object *o, uint32_list *out)
{
    uint32_t begin = out->count;
    for (uint32_t i = render_last_parameter(p->scene, o); i; i = p->scene->parameters.data[i - 1].next)
        array_push(out, i - 1);
    for (uint32_t end = out->count; begin + 1 < end; begin++, end--) {
        uint32_t last = out->data[end - 1];
        out->data[end - 1] = out->data[begin], out->data[begin] = last;
    }
}

/* Appends the parameters of an object and of what it holds. */
static void add_parameters(const plan *p, const scene_object *o, uint32_list *out)
{
    add_own_parameters(p, o, out);
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->values[k].object)
            add_parameters(p, o->values[k].object, out);
    for (uint32_t k = 0; k < o->child_count; k++)
        add_parameters(p, o->children[k], out);
}

/* Adds the parameters that a light's values depend on. shape: the one that carries the light, whose
 * attributes the light may show; NULL: none. */
static void add_light_parameters(const plan *p, const scene_object *light, const render_shape *shape,
                                 uint32_list *out)
{
    add_parameters(p, light, out);
    if (shape && p->light_needs & NEED_FACE)
        add_own_parameters(p, shape->object, out);
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

/* Room for an object's sampling table, one for each shape that carries it, and the dispatches that build
 * it. */
static uint32_t place_table(plan *p, const scene_object *o, const render_shape *shape, uint32_t record)
{
    derived_place *d = &p->derived[o->index];
    if (d->table_placed && !shape)
        return d->table;
    const render_class *cls = (const render_class *)o->cls;
    d->table_placed = true, d->table = p->value_count;
    p->value_count += cls->table_words(p->scene, o, shape);
    uint32_t index = plan_class_add(p, &p->tables, plan_classify(p, o, shape)),
             function = light_choice_functions(p);
    for (uint32_t k = 0; k < index; k++)
        function += p->tables.data[k]->cls->table_steps;
    for (uint32_t k = 0; k < cls->table_steps; k++) {
        plan_table step = {
            .function = function + k, .record = record, .lanes = cls->table_lanes(p->scene, o, k)};
        array_push(&p->table_builds, step);
    }
    uint32_list follows = {0};
    add_light_parameters(p, o, shape, &follows);
    set_follows(p, cls->table_steps, &follows);
    return d->table;
}

static void write_record(plan *p, const class_node *n, const scene_object *o, const render_shape *shape,
                         uint32_t at)
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
    if (n->cls->derived_count || n->upsampled) {
        derived_place d = place_derived(p, n, o, at);
        p->words.data[at + n->derived_word] = d.value, p->words.data[at + n->derived_word + 1] = d.gradient;
    }
    if (n->tabled)
        p->words.data[at + n->table_word] = place_table(p, o, shape, at);
    if (n->cls->extra)
        n->cls->extra(p, o, p->words.data + at + n->extra_word);
}

/* The parameters of light number i that decide its power and, for a tree, its place. */
static void add_choice_parameters(const plan *p, uint32_t i, uint32_list *out)
{
    const render_scene *s = p->scene;
    uint32_t shape = s->emitter_shape.data[i];
    add_light_parameters(p, s->emitters.data[i], shape == PLAN_NONE ? NULL : &s->shapes.data[shape], out);
    if (p->lights_tree && shape != PLAN_NONE)
        add_own_parameters(p, s->shapes.data[shape].object, out);
}

/* Whether the gradient of some of these is wanted. */
static bool some_requested(const plan *p, const uint32_list *parameters)
{
    bool some = false;
    for (uint32_t k = 0; k < parameters->count; k++)
        some |= p->gradient_offset[parameters->data[k]] != PLAN_NONE;
    return some;
}

void plan_place_light_table(plan *p)
{
    const render_scene *s = p->scene;
    uint32_t n = s->emitters.count, weights = plan_reserve(p, 2 * n);
    p->words.data[HEADER_LIGHT_WEIGHTS] = weights;
    for (uint32_t i = 0; i < n; i++) {
        uint32_list own = {0};
        add_choice_parameters(p, i, &own);
        uint32_t *words = p->words.data + weights + i;
        words[0] = float_word((float)scene_number(s->emitters.data[i], "sampling_weight"));
        words[n] = float_word(some_requested(p, &own) ? 1.0f : LIGHT_LEAST_SHARE);
        array_free(&own);
    }
    p->words.data[HEADER_LIGHT_TABLE] = p->value_count;
    p->value_count += light_choice_words(s);
    uint32_t steps = p->table_builds.count;
    for (uint32_t k = LIGHT_STEP_WEIGHTS; k <= LIGHT_STEP_SUM; k++) {
        plan_table step = {.function = k, .lanes = light_choice_lanes(s, k)};
        array_push(&p->table_builds, step);
    }
    if (p->lights_tree)
        plan_place_light_tree(p);
    uint32_list follows = {0};
    for (uint32_t i = 0; i < n && (s->light_choice == LIGHTS_BY_POWER || s->light_choice == LIGHTS_BY_TREE);
         i++)
        add_choice_parameters(p, i, &follows);
    set_follows(p, p->table_builds.count - steps, &follows);
}

plan_instance plan_instantiate(plan *p, class_list *list, const scene_object *o, plan_instance *seen)
{
    if (seen && seen[o->index].record)
        return seen[o->index];
    class_node *n = plan_classify(p, o, NULL);
    plan_instance i = {
        .cls = plan_class_add(p, list, n),
        .record = plan_reserve(p, n->words + (n->words == 0)),
    };
    write_record(p, n, o, NULL, i.record);
    if (seen)
        seen[o->index] = i;
    return i;
}

plan_values plan_derive(plan *p, const scene_object *o)
{
    class_list alone = {0};
    plan_instantiate(p, &alone, o, NULL);
    array_free(&alone);
    return (plan_values){p->derived[o->index].value, p->derived[o->index].gradient};
}

plan_instance plan_instantiate_area(plan *p, uint32_t emitter, uint32_t geometry_base)
{
    const render_shape *shape = &p->scene->shapes.data[p->scene->emitter_shape.data[emitter]];
    class_node *n = plan_classify(p, p->scene->emitters.data[emitter], shape);
    p->light_needs |= plan_needs(n) | (p->lights_slide ? NEED_FACE : 0u);
    plan_instance i = {.cls = plan_class_add(p, &p->emitters, n), .record = plan_reserve(p, n->words)};
    write_record(p, n, p->scene->emitters.data[emitter], shape, i.record);
    uint32_t *extra = p->words.data + i.record + n->extra_word;
    extra[AREA_SHAPE_DATA] = geometry_base + shape->data;
    extra[AREA_INVERSE_AREA] = float_word(1 / shape->area);
    extra[AREA_SHAPE] = p->words.data[HEADER_SHAPES] + p->scene->emitter_shape.data[emitter] * SHAPE_WORDS;
    return i;
}
