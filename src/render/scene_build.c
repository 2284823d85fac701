/* SPDX-License-Identifier: BSD-3-Clause
 * From a validated object tree to a render_scene: parameters with their names and values, geometry in world space, the list of lights,
 * the hierarchy, the structure that kernels are specialised to.
 *
 * Names follow Mitsuba's traverse: an object with an id is called by it, any other by its path from the nearest such object. */
#include "render/classes.h"

static bool same_class(const scene_object *o, const plugin_class *c) { return o && o->cls == c; }

/* ---- parameters ---- */

/* Registers a parameter; its values are the caller's concern. */
static render_parameter *add_named(render_scene *s, const scene_object *o, const char *field, uint32_t slot, uint32_t rank, const uint32_t *shape)
{
    const char *prefix = s->object_data[o->index];
    const render_parameter *last = s->parameters.count ? &s->parameters.data[s->parameters.count - 1] : NULL;
    bool behind = last && last->source != PLAN_NONE; /* geometry stands behind all values; what classes keep beside parameters is among them */
    render_parameter p = {.name = arena_printf(&s->memory, "%s%s%s", prefix, *prefix ? "." : "", field), .count = 1, .source = PLAN_NONE,
                          .offset = behind ? last->offset + last->count : s->values.count, .rank = rank, .object = o->index, .slot = slot,
                          .factor = PLAN_NONE};
    for (uint32_t i = 0; i < rank; i++) {
        p.shape[i] = shape[i];
        p.count *= shape[i];
    }
    array_push(&s->parameters, p);
    return &s->parameters.data[s->parameters.count - 1];
}

uint32_t render_add_array(render_scene *s, const scene_object *o, const char *field, uint32_t slot, uint32_t rank, const uint32_t *shape, float least,
                          float most, const float *values)
{
    render_parameter *p = add_named(s, o, field, slot, rank, shape);
    p->least = least, p->most = most;
    BL_ASSERT(p->offset == s->values.count, "%s comes after geometry", p->name);
    array_reserve(&s->values, s->values.count + p->count);
    memcpy(s->values.data + s->values.count, values, p->count * sizeof *values);
    s->values.count += p->count;
    return s->parameters.count - 1;
}

uint32_t render_add_geometry(render_scene *s, const scene_object *o, const char *field, uint32_t slot, const uint32_t shape[2], uint32_t source)
{
    render_parameter *p = add_named(s, o, field, slot, 2, shape);
    p->least = -INFINITY, p->most = INFINITY, p->source = source;
    return s->parameters.count - 1;
}

const float *render_initial(const render_scene *s, const render_parameter *p)
{
    return p->source == PLAN_NONE ? s->values.data + p->offset : (const float *)(const void *)(s->geometry.data + p->source);
}

uint32_t render_add_parameter(render_scene *s, const scene_object *o, uint32_t slot, uint32_t rank, const uint32_t *shape, float least,
                              float most, const float *values)
{
    const char *field = slot == PLAN_DATA_SLOT ? ((const render_class *)o->cls)->data_name : o->cls->params[slot].name;
    BL_ASSERT(field, "%s adds a parameter without a name", o->cls->name);
    uint32_t index = render_add_array(s, o, field, slot, rank, shape, least, most, values);
    s->parameters.data[index].least_side = slot == PLAN_DATA_SLOT ? ((const render_class *)o->cls)->least_side : 0;
    return index;
}

uint32_t render_find_parameter(const render_scene *s, const scene_object *o, uint32_t slot)
{
    for (uint32_t i = 0; i < s->parameters.count; i++)
        if (s->parameters.data[i].object == o->index && s->parameters.data[i].slot == slot)
            return i;
    return PLAN_NONE;
}

enum { RESIZED_MOST = 1 << 30 /* entries */ };

static bl_result check_size(const render_scene *s, uint32_t index, const uint32_t *shape, uint32_t *count, bl_error *err)
{
    const render_parameter *p = &s->parameters.data[index];
    uint64_t n = 1;
    if (p->least_side == 0)
        return error_set(err, BL_ERROR_ARGUMENT, "%s has a fixed size; images and grids can be resized", p->name);
    for (uint32_t k = 0; k < p->rank; k++) {
        n *= shape[k];
        if (shape[k] < p->least_side && k + 1 < p->rank)
            return error_set(err, BL_ERROR_ARGUMENT, "%s: a side of %u is too small, %u is the least", p->name, shape[k], p->least_side);
        if (n > RESIZED_MOST)
            return error_set(err, BL_ERROR_ARGUMENT, "%s: more than %d entries", p->name, RESIZED_MOST);
    }
    if (shape[p->rank - 1] != p->shape[p->rank - 1])
        return error_set(err, BL_ERROR_ARGUMENT, "%s has %u channels, which stay", p->name, p->shape[p->rank - 1]);
    *count = (uint32_t)n;
    return BL_OK;
}

bl_result render_resize_parameter(render_scene *s, uint32_t index, const uint32_t *shape, const float *values, bl_error *err)
{
    render_parameter *p = &s->parameters.data[index];
    uint32_t count = 0, behind = p->offset + p->count;
    TRY(check_size(s, index, shape, &count, err));
    array_reserve(&s->values, s->values.count - p->count + count);
    memmove(s->values.data + p->offset + count, s->values.data + behind, (s->values.count - behind) * sizeof *values);
    memcpy(s->values.data + p->offset, values, count * sizeof *values);
    s->values.count += count - p->count;
    for (uint32_t i = 0; i < s->parameters.count; i++)
        if (s->parameters.data[i].offset >= behind)
            s->parameters.data[i].offset += count - p->count;
    memcpy(p->shape, shape, p->rank * sizeof *shape);
    p->count = count;
    return BL_OK;
}

void render_turns(render_scene *s, uint32_t parameter)
{
    render_parameter *p = &s->parameters.data[parameter];
    p->turns = true;
    p->reason = s->volumetric ? "mirrored and refracted directions turn with it, which volumetric integrators leave out"
                              : "edges that it moves in mirrors and behind glass are left out";
}

/* Every parent's rules for a colour hold for the constant texture it became; emission has no upper bound. */
static float upper_bound(const plugin_param *owner_param)
{
    if (owner_param && (owner_param->flags & PLUGIN_REFLECTANCE))
        return 1;
    return owner_param && owner_param->most != 0 ? (float)owner_param->most : INFINITY;
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
            render_add_parameter(s, o, k, 1, scalar ? &one : &three, 0, upper_bound(owner_param), rgb);
        } else if (p->kind == PLUGIN_FLOAT) {
            float number = (float)v->number;
            bool ranged = p->least != 0 || p->most != 0;
            render_add_parameter(s, o, k, 1, &one, ranged ? (float)p->least : -INFINITY, ranged ? (float)p->most : INFINITY, &number);
        } else if (p->kind == PLUGIN_POINT || p->kind == PLUGIN_TRANSFORM) {
            uint32_t count = plugin_value_count(p->kind), shape[4] = {p->kind == PLUGIN_POINT ? 3 : 4, 4};
            float numbers[16];
            for (uint32_t i = 0; i < count; i++)
                numbers[i] = (float)(p->kind == PLUGIN_POINT ? v->vector[i] : v->matrix[i]);
            render_add_parameter(s, o, k, p->kind == PLUGIN_POINT ? 1 : 2, shape, -INFINITY, INFINITY, numbers);
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

static bl_result load_for_points(render_scene *s, const scene_object *o, bl_error *err)
{
    uint32_t shapes = s->shapes.count, primitives = s->primitives.count;
    TRY(((const render_class *)o->cls)->load(s, o, err));
    for (uint32_t i = shapes; i < s->shapes.count; i++)
        s->shapes.data[i].primitive_count = 0;
    s->primitives.count = primitives;
    return BL_OK;
}

/* What the parent's k-th child is called in parameter names: Mitsuba's traverse has names of its own for media and phase functions. */
static const char *child_name(render_scene *s, const scene_object *o, uint32_t k)
{
    plugin_category parent = o->cls->category, child = o->children[k]->cls->category;
    if (parent == PLUGIN_SHAPE && child == PLUGIN_MEDIUM)
        return arena_printf(&s->memory, "%s_medium", o->child_names[k]);
    if (child == PLUGIN_PHASE)
        return parent == PLUGIN_PHASE ? arena_printf(&s->memory, "phase_%u", k) : "phase_function";
    return o->child_names[k];
}

/* Depth first: names the object, registers its parameters, runs its class's load hook, goes on to what it holds. */
static bl_result visit(render_scene *s, const scene_object *o, const char *prefix, const plugin_param *owner_param, bl_error *err)
{
    if (s->object_data[o->index])
        return BL_OK; /* shared, and visited before */
    if (o->id && *o->id)
        prefix = o->id;
    s->object_data[o->index] = arena_strdup(&s->memory, prefix);
    uint32_t first = s->parameters.count;
    add_values(s, o, owner_param);
    const render_class *cls = (const render_class *)o->cls;
    if (cls->load)
        TRY(cls->load(s, o, err));
    for (uint32_t i = first; i < s->parameters.count && owner_param; i++) {
        if (owner_param->kind == PLUGIN_VOLUMETRIC)
            s->parameters.data[i].least = (float)owner_param->least, s->parameters.data[i].most = upper_bound(owner_param);
        s->parameters.data[i].emits = (owner_param->flags & PLUGIN_EMISSION) != 0;
        s->parameters.data[i].length_power = owner_param->flags & PLUGIN_INTENSITY ? -2 : 0;
    }
    bool within = owner_param && owner_param->kind == PLUGIN_VOLUMETRIC; /* a volume's values obey the rules for the medium's parameter */
    for (uint32_t k = 0; k < o->cls->param_count; k++) {
        const plugin_param *param = &o->cls->params[k];
        if (!o->values[k].object)
            continue;
        first = s->parameters.count;
        TRY(visit(s, o->values[k].object, arena_printf(&s->memory, "%s%s%s", prefix, *prefix ? "." : "", param->name),
                  within ? owner_param : param, err));
        for (uint32_t i = first; i < s->parameters.count; i++)
            s->parameters.data[i].absent = (param->flags & PLUGIN_PART) && plan_part_is_zero(o, param->name);
    }
    for (uint32_t k = 0; k < o->child_count; k++) {
        if (only_for_points(s, o, o->children[k])) {
            TRY(load_for_points(s, o->children[k], err));
            continue;
        }
        TRY(visit(s, o->children[k], arena_printf(&s->memory, "%s%s%s", prefix, *prefix ? "." : "", child_name(s, o, k)), NULL, err));
    }
    if (cls->check)
        TRY(cls->check(s, o, err));
    if (cls->mark)
        cls->mark(s, o);
    return BL_OK;
}

/* ---- lights and materials of shapes ---- */

static scene_object *new_object(render_scene *s, const plugin_class *cls, scene_place where)
{
    scene_object *o = arena_alloc(&s->memory, sizeof *o);
    o->cls = cls;
    o->where = where;
    o->values = arena_alloc(&s->memory, cls->param_count * sizeof *o->values);
    o->index = s->description->object_count++;
    return o;
}

/* A shape without a material is diffuse grey, or black if it is a light (Mitsuba). */
static scene_object *default_bsdf(render_scene *s, const render_shape *shape)
{
    scene_object *texture = new_object(s, &texture_constant.base.plugin, shape->object->where);
    for (int k = 0; k < 3; k++)
        texture->values[0].vector[k] = shape->emitter ? 0 : 0.5;
    scene_object *bsdf = new_object(s, &bsdf_diffuse.base.plugin, shape->object->where);
    bsdf->values[0].object = texture;
    return bsdf;
}

static bool on_shape(const scene_object *emitter) { return ((const emitter_class *)(const void *)emitter->cls)->on_shape; }

/* A texture that reads more of a surface than uv needs one that has it. shape: that carries the material or light, NULL: a light without. */
static bl_result check_textures(render_scene *s, const render_shape *shape, const scene_object *o, bool light, bl_error *err)
{
    bool attribute = same_class(o, &texture_mesh_attribute.base.plugin);
    if (light && (attribute || same_class(o, &texture_volume.base.plugin)))
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where, "%s: in a light it is not implemented (nor is it in Mitsuba 3)", o->cls->name);
    if (attribute) {
        const char *name = scene_get(o, "name")->text;
        uint32_t k = mesh_find_attribute(s, name);
        if (k == PLAN_NONE || render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ATTRIBUTE + k) == PLAN_NONE)
            return scene_error(err, BL_ERROR_SCENE, shape->object->where, "this %s has no attribute \"%.60s\", which its material asks for (line %u)",
                               shape->object->cls->name, name, o->where.line);
    }
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->cls->params[k].kind == PLUGIN_TEXTURED && o->values[k].object)
            TRY(check_textures(s, shape, o->values[k].object, light, err));
    for (uint32_t k = 0; k < o->child_count; k++)
        TRY(check_textures(s, shape, o->children[k], light, err));
    return BL_OK;
}

static bl_result bind_shapes(render_scene *s, bl_error *err)
{
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        render_shape *shape = &s->shapes.data[i];
        if (!s->object_data[shape->object->index])
            continue; /* loaded for its points alone */
        shape->bsdf = scene_child(shape->object, PLUGIN_BSDF);
        shape->emitter = scene_child(shape->object, PLUGIN_EMITTER);
        if (!shape->bsdf) {
            shape->bsdf = default_bsdf(s, shape);
            TRY(visit(s, shape->bsdf, arena_printf(&s->memory, "%s.bsdf", (char *)s->object_data[shape->object->index]), NULL, err));
        }
        TRY(check_textures(s, shape, shape->bsdf, false, err));
        if (!shape->emitter)
            continue;
        TRY(check_textures(s, shape, shape->emitter, true, err));
        if (!on_shape(shape->emitter))
            return scene_error(err, BL_ERROR_SCENE, shape->emitter->where, "a shape can carry an area emitter, not \"%s\"",
                               shape->emitter->cls->name);
        if (!shape_kinds[shape->kind]->sample)
            return scene_error(err, BL_ERROR_UNSUPPORTED, shape->object->where, "%s: this shape cannot be a light", shape->object->cls->name);
        if (!(shape->area > 0))
            return scene_error(err, BL_ERROR_SCENE, shape->object->where, "a light needs a surface, this shape's area is 0");
        array_push(&s->emitters, shape->emitter);
        array_push(&s->emitter_shape, i);
    }
    return BL_OK;
}

/* ---- media ---- */

static const scene_object *add_medium(render_scene *s, const scene_object *medium)
{
    for (uint32_t i = 0; i < s->media.count; i++)
        if (s->media.data[i] == medium)
            return medium;
    if (medium)
        array_push(&s->media, medium);
    return medium;
}

static void bind_media(render_scene *s)
{
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        render_shape *shape = &s->shapes.data[i];
        for (uint32_t k = 0; k < shape->object->child_count; k++) {
            const scene_object *child = shape->object->children[k];
            if (child->cls->category == PLUGIN_MEDIUM)
                *(strcmp(shape->object->child_names[k], "interior") == 0 ? &shape->interior : &shape->exterior) = add_medium(s, child);
        }
    }
    s->sensor_medium = add_medium(s, scene_child(s->sensor, PLUGIN_MEDIUM));
    s->default_phase = new_object(s, &phase_isotropic.base.plugin, s->description->root->where);
}

static bl_result bind_lights(render_scene *s, bl_error *err)
{
    const scene_object *root = s->description->root;
    for (uint32_t i = 0; i < root->child_count; i++) {
        const scene_object *o = root->children[i];
        if (o->cls->category != PLUGIN_EMITTER || on_shape(o))
            continue; /* an area emitter at the top only serves references */
        if (((const emitter_class *)(const void *)o->cls)->environment) {
            if (s->environment != PLAN_NONE)
                return scene_error(err, BL_ERROR_SCENE, o->where, "a second environment: a scene can have one");
            s->environment = s->emitters.count;
        }
        TRY(check_textures(s, NULL, o, true, err));
        array_push(&s->emitters, o);
        array_push(&s->emitter_shape, PLAN_NONE);
    }
    double weights = 0;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        weights += scene_number(s->emitters.data[i], "sampling_weight");
    if (s->emitters.count > 0 && !(weights > 0))
        return scene_error(err, BL_ERROR_SCENE, s->emitters.data[0]->where, "every light has a \"sampling_weight\" of 0");
    return BL_OK;
}

/* ---- structure ---- */

static const scene_object *default_child(const scene_object *o, plugin_category c) { return o ? scene_child(o, c) : NULL; }

/* Whether the integrator has the depths of paths among its parameters. */
static bool scene_walks(const scene_object *i) { return !same_class(i, &integrator_direct.plugin) && !same_class(i, &integrator_depth.plugin); }

static bl_result read_integrator(render_scene *s, const render_overrides *o, bl_error *err)
{
    const scene_object *i = s->integrator;
    const char *kind = o && o->integrator ? o->integrator : i ? i->cls->name : "path";
    bool path = strcmp(kind, "path") == 0, basic = strcmp(kind, "prb_basic") == 0, prb = basic || strcmp(kind, "prb") == 0;
    bool direct = strcmp(kind, "direct") == 0, depth = strcmp(kind, "depth") == 0, light = strcmp(kind, "ptracer") == 0;
    s->volumetric = strcmp(kind, "volpath") == 0 || strcmp(kind, "volpathmis") == 0 || strcmp(kind, "prbvolpath") == 0;
    if (!path && !prb && !direct && !depth && !light && !s->volumetric)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "integrator \"%s\" is not implemented; path, prb, prb_basic, direct, depth, ptracer, volpath, volpathmis and prbvolpath are", kind);
    prb |= strcmp(kind, "prbvolpath") == 0;
    s->depth_image = depth, s->light_tracing = light;
    bool own = i && strcmp(kind, i->cls->name) == 0;
    bool walks = i && scene_walks(i);
    s->max_depth = direct ? 2 : walks ? (int32_t)scene_number(i, "max_depth") : prb ? 6 : -1;
    s->rr_depth = direct ? 1 << 20 : walks ? (int32_t)scene_number(i, "rr_depth") : 5;
    s->hide_emitters = i && scene_number(i, "hide_emitters") != 0;
    s->use_next_event = !basic, s->use_bsdf_sampling = true, s->paths_per_sample = 1;
    if (basic)
        s->rr_depth = 1 << 20;
    if (own && direct) {
        const scene_value *e = scene_get(i, "emitter_samples"), *b = scene_get(i, "bsdf_samples");
        double both = scene_number(i, "shading_samples"), lights = e->given ? e->number : both, materials = b->given ? b->number : both;
        s->use_next_event = lights > 0, s->use_bsdf_sampling = materials > 0;
        s->paths_per_sample = (uint32_t)fmax(lights, materials);
    }
    s->light_choice = o ? o->light_choice : LIGHTS_BY_WEIGHT;
    if (o && o->max_depth != 0)
        s->max_depth = o->max_depth;
    return BL_OK;
}

static bl_result read_film(render_scene *s, bl_error *err)
{
    s->full_width = s->width = 768, s->full_height = s->height = 576;
    if (!s->film)
        return BL_OK;
    const scene_value *width = scene_get(s->film, "crop_width"), *height = scene_get(s->film, "crop_height");
    s->full_width = (uint32_t)scene_number(s->film, "width"), s->full_height = (uint32_t)scene_number(s->film, "height");
    s->crop_x = (uint32_t)scene_number(s->film, "crop_offset_x"), s->crop_y = (uint32_t)scene_number(s->film, "crop_offset_y");
    s->width = width->given ? (uint32_t)width->number : s->full_width, s->height = height->given ? (uint32_t)height->number : s->full_height;
    if (s->crop_x + s->width > s->full_width || s->crop_y + s->height > s->full_height)
        return scene_error(err, BL_ERROR_SCENE, s->film->where, "hdrfilm: the crop window of %u x %u pixels at (%u, %u) does not lie within the film of %u x %u",
                           s->width, s->height, s->crop_x, s->crop_y, s->full_width, s->full_height);
    return BL_OK;
}

/* Mitsuba's default: a gaussian of stddev 0.5. */
static const scene_object *default_filter(render_scene *s)
{
    scene_object *filter = new_object(s, &filter_gaussian.base.plugin, s->description->root->where);
    for (uint32_t k = 0; k < filter->cls->param_count; k++) {
        bool number = number_parse(filter->cls->params[k].preset, &filter->values[k].number);
        BL_ASSERT(number, "default of \"%s\"", filter->cls->params[k].name);
    }
    return filter;
}

static bl_result read_structure(render_scene *s, const render_overrides *o, bl_error *err)
{
    const scene_object *root = s->description->root;
    s->integrator = scene_child(root, PLUGIN_INTEGRATOR);
    while (same_class(s->integrator, &integrator_moment.plugin) || same_class(s->integrator, &integrator_aov.plugin)) {
        s->no_image |= !scene_child(s->integrator, PLUGIN_INTEGRATOR);
        s->integrator = scene_child(s->integrator, PLUGIN_INTEGRATOR);
    }
    for (uint32_t i = 0; i < root->child_count; i++) {
        const scene_object *child = root->children[i], *on = child->cls->category == PLUGIN_SHAPE ? scene_child(child, PLUGIN_SENSOR) : NULL;
        if (child->cls->category == PLUGIN_SENSOR || on)
            array_push(&s->sensors, on ? on : child);
    }
    if (s->sensors.count == 0)
        return scene_error(err, BL_ERROR_SCENE, root->where, "the scene has no sensor");
    uint32_t sensor = o ? o->sensor : 0;
    if (sensor >= s->sensors.count)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no sensor %u: the scene has %u, counted from 0", sensor, s->sensors.count);
    s->sensor = s->sensors.data[sensor], s->sensor_index = sensor;
    s->film = default_child(s->sensor, PLUGIN_FILM);
    s->sampler = default_child(s->sensor, PLUGIN_SAMPLER);
    s->filter = default_child(s->film, PLUGIN_RFILTER);
    if (!s->filter)
        s->filter = default_filter(s);
    TRY(read_film(s, err));
    if (film_has_alpha(s))
        render_add_channels(s, "", CHANNEL_ALPHA);
    if (sensor_of(s->sensor)->one_pixel && s->full_width * s->full_height != 1)
        return scene_error(err, BL_ERROR_SCENE, s->film ? s->film->where : s->sensor->where, "%s: its film must be 1 x 1 pixels", s->sensor->cls->name);
    s->spp = sampler_count(s, s->sampler ? (uint32_t)scene_number(s->sampler, "sample_count") : 4);
    if ((uint64_t)s->width * s->height > 1u << 26)
        return scene_error(err, BL_ERROR_SCENE, s->film->where, "a film of %u x %u pixels is larger than the limit of 2^26 pixels", s->width,
                           s->height);
    return read_integrator(s, o, err);
}

/* Light tracing needs to know how rays leave the lights and how the sensor sees places. */
static bl_result check_light_tracing(const render_scene *s, bl_error *err)
{
    if (!s->light_tracing)
        return BL_OK;
    if (s->emitters.count == 0)
        return error_set(err, BL_ERROR_SCENE, "ptracer: the scene has no light that paths could begin at");
    if (!sensor_of(s->sensor)->link)
        return scene_error(err, BL_ERROR_UNSUPPORTED, s->sensor->where, "ptracer: paths cannot be connected to the sensor \"%s\"", s->sensor->cls->name);
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        const scene_object *o = s->emitters.data[i];
        if (!((const emitter_class *)(const void *)o->cls)->ray)
            return scene_error(err, BL_ERROR_UNSUPPORTED, o->where, "ptracer: paths cannot begin at the light \"%s\"", o->cls->name);
    }
    return BL_OK;
}

bl_result render_scene_create(scene_description *d, const render_overrides *o, render_scene **out, bl_error *err)
{
    render_scene *s = calloc(1, sizeof *s);
    BL_ASSERT(s, "out of memory");
    s->description = d;
    s->environment = PLAN_NONE;
    s->object_data = calloc(3 * (size_t)d->object_count + 1, sizeof *s->object_data); /* room for default materials */
    BL_ASSERT(s->object_data, "out of memory");
    bl_result r = read_structure(s, o, err);
    if (r == BL_OK)
        r = visit(s, d->root, "", NULL, err);
    if (r == BL_OK)
        r = bind_shapes(s, err);
    if (r == BL_OK)
        bind_media(s);
    if (r == BL_OK)
        r = bind_lights(s, err);
    if (r == BL_OK)
        mesh_add_parameters(s);
    if (r == BL_OK)
        r = render_build_levels(s, err);
    if (r == BL_OK && sensor_of(s->sensor)->bind)
        r = sensor_of(s->sensor)->bind(s, s->sensor, err);
    if (r == BL_OK)
        r = check_light_tracing(s, err);
    if (r != BL_OK) {
        render_scene_destroy(s);
        return r;
    }
    *out = s;
    return BL_OK;
}

void render_scene_destroy(render_scene *s)
{
    if (!s)
        return;
    array_free(&s->sensors);
    array_free(&s->channels);
    array_free(&s->parameters);
    array_free(&s->values);
    array_free(&s->shapes);
    array_free(&s->primitives);
    array_free(&s->geometry);
    array_free(&s->attributes);
    array_free(&s->emitters);
    array_free(&s->media);
    array_free(&s->emitter_shape);
    bvh_free(&s->bvh);
    for (uint32_t k = 0; k < s->groups.count; k++)
        bvh_free(&s->groups.data[k].bvh);
    array_free(&s->groups);
    array_free(&s->instances);
    free(s->object_data);
    scene_free(s->description);
    arena_free(&s->memory);
    free(s);
}
