/* SPDX-License-Identifier: BSD-3-Clause
 * Which material, light and media each shape has, defaults included, and the list of all lights. */
#include "render/scene_internal.h"

/* A shape without a material is diffuse grey, or black if it is a light (Mitsuba). */
static scene_object *default_bsdf(render_scene *s, const render_shape *shape)
{
    scene_object *texture = render_new_object(s, &texture_constant.base.plugin, shape->object->where);
    for (int k = 0; k < 3; k++)
        texture->values[0].vector[k] = shape->emitter ? 0 : 0.5;
    scene_object *bsdf = render_new_object(s, &bsdf_diffuse.base.plugin, shape->object->where);
    bsdf->values[0].object = texture;
    return bsdf;
}

static bool on_shape(const scene_object *emitter)
{
    return ((const emitter_class *)(const void *)emitter->cls)->on_shape;
}

/* A texture that reads more of a surface than uv needs one that has it. shape: that carries the material or
 * light; NULL: a light without. */
static bl_result check_textures(render_scene *s, const render_shape *shape, const scene_object *o,
                                bl_error *err)
{
    bool attribute = scene_is(o, &texture_mesh_attribute.base.plugin);
    if (!shape && (attribute || scene_is(o, &texture_volume.base.plugin)))
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "%s: it needs a surface, and this light is on no shape", o->cls->name);
    if (attribute) {
        const char *name = scene_get(o, "name")->text;
        uint32_t k = mesh_find_attribute(s, name);
        if (k == PLAN_NONE ||
            render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ATTRIBUTE + k) == PLAN_NONE)
            return scene_error(
                err, BL_ERROR_SCENE, shape->object->where,
                "this %s has no attribute \"%.60s\", which its material or light asks for (line %u)",
                shape->object->cls->name, name, o->where.line);
    }
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->cls->params[k].kind == PLUGIN_TEXTURED && o->values[k].object)
            TRY(check_textures(s, shape, o->values[k].object, err));
    for (uint32_t k = 0; k < o->child_count; k++)
        TRY(check_textures(s, shape, o->children[k], err));
    return BL_OK;
}

/* Takes the next of names that commas separate, with blanks around each. NULL: there is none. */
static const char *next_name(const char **list, size_t *length)
{
    static const char blanks[] = " \t\r\n";
    const char *name = *list + strspn(*list, ", \t\r\n");
    size_t most = strcspn(name, ",");
    *list = name + most;
    while (most > 0 && strchr(blanks, name[most - 1]))
        most--;
    *length = most;
    return most > 0 ? name : NULL;
}

static bool is_named(const char *list, const char *id)
{
    size_t length;
    const char *name = next_name(&list, &length);
    bool all = !name, is = false;
    for (; name; name = next_name(&list, &length))
        is |= id && strlen(id) == length && strncmp(name, id, length) == 0;
    return all || is;
}

/* The integrator `silhouette` sees some shapes as bright and others as black; lights do not matter. */
static void show_silhouettes(render_scene *s)
{
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        render_shape *shape = &s->shapes.data[i];
        if (!shape->bsdf || !is_named(s->silhouette, shape->object->id))
            continue;
        scene_object *light = render_new_object(s, &light_silhouette.base.plugin, shape->object->where);
        light->values[0].number = 1;
        shape->emitter = light;
        array_push(&s->emitters, light);
        array_push(&s->emitter_shape, i);
    }
}

static bl_result check_silhouettes(const render_scene *s, bl_error *err)
{
    size_t length;
    const char *list = s->silhouette;
    for (const char *name; (name = next_name(&list, &length));) {
        bool found = false;
        for (uint32_t i = 0; i < s->shapes.count; i++) {
            const char *id = s->shapes.data[i].object->id;
            found |= id && strlen(id) == length && strncmp(name, id, length) == 0;
        }
        if (!found)
            return error_set(err, BL_ERROR_SCENE,
                             "silhouette: no shape of the scene has the id \"%.*s\" (shapes in a group by "
                             "their own ids, not by those of instances)",
                             (int)(length < 60 ? length : 60), name);
    }
    return BL_OK;
}

static void mark_emitting(render_scene *s, const scene_object *o, float area)
{
    for (uint32_t k = render_last_parameter(s, o); k; k = s->parameters.data[k - 1].next) {
        render_parameter *p = &s->parameters.data[k - 1];
        if (p->emits)
            p->emitting_area = fmaxf(p->emitting_area, area);
    }
}

/* Marks the parameters of a shape's light, and of the textures that it shows. */
static void mark_light(render_scene *s, const render_shape *shape)
{
    const scene_object *light = shape->emitter;
    mark_emitting(s, light, shape->area);
    for (uint32_t k = 0; k < light->cls->param_count; k++)
        if (light->values[k].object)
            mark_emitting(s, light->values[k].object, shape->area);
}

bl_result render_bind_shapes(render_scene *s, bl_error *err)
{
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        render_shape *shape = &s->shapes.data[i];
        if (!s->names[shape->object->index].name)
            continue; /* loaded for its points alone */
        shape->bsdf = scene_child(shape->object, PLUGIN_BSDF);
        shape->emitter = s->silhouette ? NULL : scene_child(shape->object, PLUGIN_EMITTER);
        if (!shape->bsdf) {
            shape->bsdf = default_bsdf(s, shape);
            TRY(render_visit(s, shape->bsdf, render_name_below(s, s->names[shape->object->index], "bsdf"),
                             NULL, err));
        }
        TRY(check_textures(s, shape, shape->bsdf, err));
        if (!shape->emitter)
            continue;
        TRY(check_textures(s, shape, shape->emitter, err));
        if (!on_shape(shape->emitter))
            return scene_error(err, BL_ERROR_SCENE, shape->emitter->where,
                               "a shape can carry an area emitter, not \"%s\"", shape->emitter->cls->name);
        if (!shape_kinds[shape->kind]->sample)
            return scene_error(err, BL_ERROR_UNSUPPORTED, shape->object->where,
                               "%s: this shape cannot be a light", shape->object->cls->name);
        if (!(shape->area > 0))
            return scene_error(err, BL_ERROR_SCENE, shape->object->where,
                               "a light needs a surface, this shape's area is 0");
        array_push(&s->emitters, shape->emitter);
        array_push(&s->emitter_shape, i);
        mark_light(s, shape);
    }
    if (!s->silhouette)
        return BL_OK;
    show_silhouettes(s);
    return check_silhouettes(s, err);
}

static const scene_object *add_medium(render_scene *s, const scene_object *medium)
{
    for (uint32_t i = 0; i < s->media.count; i++)
        if (s->media.data[i] == medium)
            return medium;
    if (medium)
        array_push(&s->media, medium);
    return medium;
}

void render_bind_media(render_scene *s)
{
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        render_shape *shape = &s->shapes.data[i];
        for (uint32_t k = 0; k < shape->object->child_count; k++) {
            const scene_object *child = shape->object->children[k];
            if (child->cls->category == PLUGIN_MEDIUM)
                *(strcmp(shape->object->child_names[k], "interior") == 0 ? &shape->interior
                                                                         : &shape->exterior) =
                    add_medium(s, child);
        }
    }
    s->sensor_medium = add_medium(s, scene_child(s->sensor, PLUGIN_MEDIUM));
    s->default_phase = render_new_object(s, &phase_isotropic.base.plugin, s->description->root->where);
}

bl_result render_bind_lights(render_scene *s, bl_error *err)
{
    const scene_object *root = s->description->root;
    for (uint32_t i = 0; i < root->child_count && !s->silhouette; i++) {
        const scene_object *o = root->children[i];
        if (o->cls->category != PLUGIN_EMITTER || on_shape(o))
            continue; /* an area emitter at the top only serves references */
        if (((const emitter_class *)(const void *)o->cls)->environment) {
            if (s->environment != PLAN_NONE)
                return scene_error(err, BL_ERROR_SCENE, o->where,
                                   "a second environment: a scene can have one");
            s->environment = s->emitters.count;
        }
        TRY(check_textures(s, NULL, o, err));
        array_push(&s->emitters, o);
        array_push(&s->emitter_shape, PLAN_NONE);
    }
    double weights = 0;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        weights += scene_number(s->emitters.data[i], "sampling_weight");
    if (s->emitters.count > 0 && !(weights > 0))
        return scene_error(err, BL_ERROR_SCENE, s->emitters.data[0]->where,
                           "every light has a \"sampling_weight\" of 0");
    if (s->light_choice == LIGHTS_AUTO)
        s->light_choice = s->emitters.count < LIGHTS_MANY ? LIGHTS_BY_WEIGHT : LIGHTS_BY_TREE;
    return BL_OK;
}

/* Whether the box of a shape's primitives meets the box around the field's cube. */
static bool meets_field(const render_scene *s, const render_shape *shape)
{
    double low[3], high[3];
    matrix_box(scene_get(s->field, "to_world")->matrix, low, high);
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const float *box = s->primitives.data[shape->first_entry_primitive + i].bounds;
        bool meets = true;
        for (int r = 0; r < 3; r++)
            meets &= (double)box[r] < high[r] && low[r] < (double)box[3 + r];
        if (meets)
            return true;
    }
    return false;
}

bl_result render_check_field(const render_scene *s, bl_error *err)
{
    const char *lack = "a radiance field that overlaps a participating medium is not implemented yet: %s";
    if (!s->field)
        return BL_OK;
    if (s->sensor_medium)
        return scene_error(err, BL_ERROR_UNSUPPORTED, s->field->where, lack, "the sensor's has no end");
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (shape->exterior)
            return scene_error(err, BL_ERROR_UNSUPPORTED, shape->object->where, lack,
                               "one around a shape has no end");
        if (shape->interior && (shape->group > 0 || meets_field(s, shape)))
            return scene_error(err, BL_ERROR_UNSUPPORTED, shape->object->where, lack,
                               shape->group > 0 ? "one in a group of shapes may stand anywhere"
                                                : "this shape's box meets the field's");
    }
    return BL_OK;
}
