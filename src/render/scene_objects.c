/* SPDX-License-Identifier: BSD-3-Clause
 * The visit of all objects of a scene: every one gets its name, registers its parameters and loads what it
 * has.
 *
 * An object with an id is called by it, any other by its path from the nearest such object. Mitsuba's
 * traverse goes by ids only of objects that the scene itself (or a group) holds, and by the first way to an
 * object from there: that name is kept, too. */
#include "render/scene_internal.h"

bool scene_is(const scene_object *o, const plugin_class *c) { return o && o->cls == c; }

scene_object *render_new_object(render_scene *s, const plugin_class *cls, scene_place where)
{
    scene_object *o = arena_alloc(&s->memory, sizeof *o);
    o->cls = cls;
    o->where = where;
    o->values = arena_alloc(&s->memory, cls->param_count * sizeof *o->values);
    o->index = s->description->object_count++;
    return o;
}

bool render_part_is_zero(const scene_object *o, const char *param)
{
    const scene_object *texture = scene_get(o, param)->object;
    const double *v = texture->values[0].vector;
    return texture->cls == &texture_constant.base.plugin && v[0] == 0 && v[1] == 0 && v[2] == 0;
}

/* Every parent's rules for a colour hold for the constant texture it became; emission has no upper bound, nor
 * has a pattern's colour above 1. */
static float upper_bound(const plugin_param *owner_param, float value)
{
    if (owner_param && (owner_param->flags & PLUGIN_REFLECTANCE))
        return value > 1 ? INFINITY : 1;
    return owner_param && owner_param->most != 0 ? (float)owner_param->most : INFINITY;
}

static float largest_value(const render_scene *s, const render_parameter *p)
{
    const float *values = render_initial(s, p);
    float most = 0;
    for (uint32_t i = 0; i < p->count; i++)
        most = fmaxf(most, values[i]);
    return most;
}

static void add_values(render_scene *s, const scene_object *o, const plugin_param *owner_param)
{
    static const uint32_t three = 3, one = 1;
    for (uint32_t k = 0; k < o->cls->param_count; k++) {
        const plugin_param *p = &o->cls->params[k];
        if (!(p->flags & PLUGIN_DIFFERENTIABLE))
            continue;
        const scene_value *v = &o->values[k];
        if (p->kind == PLUGIN_COLOR) {
            float rgb[3] = {(float)v->vector[0], (float)v->vector[1], (float)v->vector[2]};
            bool scalar = v->grey && owner_param && (owner_param->flags & PLUGIN_SCALAR);
            const float most = upper_bound(owner_param, fmaxf(fmaxf(rgb[0], rgb[1]), rgb[2])),
                        least = owner_param && owner_param->least < 0 ? (float)owner_param->least : 0;
            render_add_parameter(s, o, k, &(initial_values){1, scalar ? &one : &three, least, most, rgb});
        } else if (p->kind == PLUGIN_FLOAT) {
            float number = (float)v->number;
            bool ranged = p->least != 0 || p->most != 0;
            const float least = ranged ? (float)p->least : -INFINITY,
                        most = ranged ? (float)p->most : INFINITY;
            render_add_parameter(s, o, k, &(initial_values){1, &one, least, most, &number});
        } else if (p->kind == PLUGIN_POINT || p->kind == PLUGIN_TRANSFORM) {
            uint32_t count = plugin_value_count(p->kind), shape[4] = {p->kind == PLUGIN_POINT ? 3 : 4, 4};
            float numbers[16];
            for (uint32_t i = 0; i < count; i++)
                numbers[i] = (float)(p->kind == PLUGIN_POINT ? v->vector[i] : v->matrix[i]);
            const uint32_t rank = p->kind == PLUGIN_POINT ? 1 : 2;
            render_add_parameter(s, o, k, &(initial_values){rank, shape, -INFINITY, INFINITY, numbers});
        }
    }
}

/* A shape that a sensor holds and the scene does not: its points are sampled, rays do not meet it. */
static bool only_for_points(const render_scene *s, const scene_object *parent, const scene_object *o)
{
    const scene_object *root = s->description->root;
    if (o->cls->category != PLUGIN_SHAPE || parent->cls->category != PLUGIN_SENSOR)
        return false;
    for (uint32_t i = 0; i < root->child_count; i++)
        if (root->children[i] == o)
            return false;
    return true;
}

/* What a film or a sensor responds to: it has been read, and it is no parameter. */
static bool is_response(const scene_object *parent, const scene_object *o)
{
    plugin_category of = parent->cls->category;
    return (of == PLUGIN_FILM || of == PLUGIN_SENSOR) && o->cls->category == PLUGIN_TEXTURE;
}

static bl_result load_for_points(render_scene *s, const scene_object *o, bl_error *err)
{
    uint32_t shapes = s->shapes.count, primitives = s->primitives.count;
    TRY(((const render_class *)o->cls)->load(s, o, err));
    for (uint32_t i = shapes; i < s->shapes.count; i++)
        s->shapes.data[i].primitive_count = 0;
    s->primitives.count = primitives;
    return BL_OK;
}

/* What the parent's k-th child is called in parameter names: Mitsuba's traverse has names of its own for
 * media and phase functions. */
static const char *child_name(render_scene *s, const scene_object *o, uint32_t k)
{
    plugin_category parent = o->cls->category, child = o->children[k]->cls->category;
    if (parent == PLUGIN_SHAPE && child == PLUGIN_MEDIUM)
        return arena_printf(&s->memory, "%s_medium", o->child_names[k]);
    if (child == PLUGIN_PHASE)
        return parent == PLUGIN_PHASE ? arena_printf(&s->memory, "phase_%u", k) : "phase_function";
    return o->child_names[k];
}

/* The names of the parent's k-th child. */
static object_name name_of_child(render_scene *s, const scene_object *o, uint32_t k)
{
    const scene_object *child = o->children[k];
    bool by_id = o->cls->category == PLUGIN_SCENE || scene_is(o, &shape_merge.base.plugin) ||
                 scene_is(o, &shape_shapegroup.base.plugin);
    object_name of = s->names[o->index], name = render_name_below(s, of, child_name(s, o, k));
    if (scene_is(child, &shape_merge.base.plugin))
        name.path = of.path; /* its shapes are the scene's */
    else if (by_id && child->id && *child->id)
        name.path = arena_printf(&s->memory, "%s%s%s", of.path, *of.path ? "." : "", child->id);
    return name;
}

bl_result render_visit(render_scene *s, const scene_object *o, object_name name,
                       const plugin_param *owner_param, bl_error *err)
{
    if (s->names[o->index].name)
        return BL_OK; /* shared, and visited before */
    if (o->id && *o->id)
        name.name = o->id;
    s->names[o->index] = name;
    uint32_t first = s->parameters.count;
    add_values(s, o, owner_param);
    const render_class *cls = (const render_class *)o->cls;
    TRY(budget_check(err));
    if (cls->load)
        TRY(cls->load(s, o, err));
    if (s->mode->light == LIGHT_SPECTRAL)
        TRY(render_check_spectra_of(s, o, err));
    for (uint32_t i = first; i < s->parameters.count && owner_param; i++) {
        render_parameter *p = &s->parameters.data[i];
        if (owner_param->kind == PLUGIN_VOLUMETRIC)
            p->least = (float)owner_param->least, p->most = upper_bound(owner_param, 0);
        else if (p->slot == PLAN_DATA_SLOT)
            p->most = upper_bound(owner_param, largest_value(s, p));
        p->emits = (owner_param->flags & PLUGIN_EMISSION) != 0;
        p->length_power = owner_param->flags & PLUGIN_INTENSITY ? -2 : 0;
    }
    /* a volume's values obey the rules for the medium's parameter */
    bool within = owner_param && owner_param->kind == PLUGIN_VOLUMETRIC;
    for (uint32_t k = 0; k < o->cls->param_count; k++) {
        const plugin_param *param = &o->cls->params[k];
        if (!o->values[k].object)
            continue;
        first = s->parameters.count;
        TRY(render_visit(s, o->values[k].object, render_name_below(s, name, param->name),
                         within ? owner_param : param, err));
        for (uint32_t i = first; i < s->parameters.count; i++)
            s->parameters.data[i].absent =
                (param->flags & PLUGIN_PART) && render_part_is_zero(o, param->name);
    }
    for (uint32_t k = 0; k < o->child_count; k++) {
        if (is_response(o, o->children[k]))
            continue;
        if (only_for_points(s, o, o->children[k])) {
            TRY(load_for_points(s, o->children[k], err));
            continue;
        }
        TRY(render_visit(s, o->children[k], name_of_child(s, o, k), NULL, err));
    }
    if (cls->check)
        TRY(cls->check(s, o, err));
    if (cls->mark)
        cls->mark(s, o);
    return BL_OK;
}
