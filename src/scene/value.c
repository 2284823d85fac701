/* SPDX-License-Identifier: BSD-3-Clause
 * Typed values of parameters, from property tags and from the defaults of the parameter tables. An integer is
 * good where a float is wanted and a vector where a colour is; not the other way round. A textured parameter
 * always ends as a texture object: numbers and colours become the class "constant". Errors in a default are
 * our own mistake and assert. */
#include "scene/scene_internal.h"

#include <string.h>
#include <strings.h>

const char *kind_name(plugin_kind kind)
{
    static const char *const names[] = {
        [PLUGIN_FLOAT] = "a float",
        [PLUGIN_INTEGER] = "an integer",
        [PLUGIN_BOOLEAN] = "a boolean",
        [PLUGIN_STRING] = "a string",
        [PLUGIN_FLOAT_OR_NAME] = "a float or a name",
        [PLUGIN_FILE] = "a file name",
        [PLUGIN_POINT] = "a point or vector",
        [PLUGIN_TRANSFORM] = "a transform",
        [PLUGIN_COLOR] = "a colour",
        [PLUGIN_TEXTURED] = "a colour or texture",
        [PLUGIN_VOLUMETRIC] = "a colour or volume",
    };
    return names[kind];
}

/* Which tags can give which kinds of parameter. */
static bool kind_accepts(plugin_kind kind, raw_kind tag)
{
    switch (kind) {
    case PLUGIN_FLOAT:
        return tag == RAW_FLOAT || tag == RAW_INTEGER;
    case PLUGIN_INTEGER:
        return tag == RAW_INTEGER;
    case PLUGIN_BOOLEAN:
        return tag == RAW_BOOLEAN;
    case PLUGIN_FLOAT_OR_NAME:
        return tag == RAW_FLOAT || tag == RAW_INTEGER || tag == RAW_STRING || tag == RAW_SPECTRUM;
    case PLUGIN_STRING:
    case PLUGIN_FILE:
        return tag == RAW_STRING;
    case PLUGIN_POINT:
        return tag == RAW_POINT;
    case PLUGIN_TRANSFORM:
        return tag == RAW_TRANSFORM;
    case PLUGIN_COLOR:
    case PLUGIN_TEXTURED:
    case PLUGIN_VOLUMETRIC:
        return tag == RAW_FLOAT || tag == RAW_INTEGER || tag == RAW_RGB || tag == RAW_POINT ||
               tag == RAW_SPECTRUM;
    }
    return false;
}

static bl_result check_range(const plugin_class *cls, const plugin_param *param, const raw_node *node,
                             double number, bl_error *err)
{
    bool ranged = param->least != 0 || param->most != 0;
    double least = param->least, most = param->most;
    if (!ranged && param->kind == PLUGIN_INTEGER) {
        least = INT32_MIN;
        most = INT32_MAX;
        ranged = true;
    }
    if (ranged && !(number >= least && number <= most))
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "\"%s\" of %s \"%s\": %.15g is outside [%.15g, %.15g]", param->name,
                           plugin_category_names[cls->category], cls->name, number, least, most);
    return BL_OK;
}

/* The number in a <float> or <integer>. */
static bl_result parse_number(const raw_node *node, double *out, bl_error *err)
{
    const char *chars = raw_attribute_get(node, "value");
    int64_t integer = 0;
    if (node->kind == RAW_INTEGER) {
        if (!integer_parse(chars, &integer))
            return scene_error(err, BL_ERROR_SCENE, node->where, "\"%.60s\" (%s) is not an integer", chars,
                               node->name);
        *out = (double)integer;
        return BL_OK;
    }
    if (!number_parse(chars, out))
        return scene_error(err, BL_ERROR_SCENE, node->where, "\"%.60s\" (%s) is not a number", chars,
                           node->name);
    return BL_OK;
}

static bl_result parse_boolean(const raw_node *node, double *out, bl_error *err)
{
    const char *chars = raw_attribute_get(node, "value");
    *out = strcasecmp(chars, "true") == 0;
    if (*out == 0 && strcasecmp(chars, "false") != 0)
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "\"%.60s\" (%s) is neither \"true\" nor \"false\"", chars, node->name);
    return BL_OK;
}

static bl_result find_file(binder *b, scene_value *value, const raw_node *node)
{
    value->text = raw_attribute_get(node, "value");
    value->path = paths_find(b->raw->paths, value->text, node->folder, false);
    if (value->path && b->raw->paths->untrusted && volume_is_openvdb(value->text))
        return scene_error(b->err, BL_ERROR_SCENE, node->where,
                           "\"%.200s\" (%s): an untrusted scene may not name OpenVDB files, whose library "
                           "trusts them; convert it with nanovdb_convert",
                           value->text, node->name);
    if (value->path)
        return BL_OK;
    return scene_error(b->err, BL_ERROR_IO, node->where, "cannot find the file \"%.200s\" (%s)%s",
                       value->text, node->name,
                       b->raw->paths->untrusted ? " below the folders that an untrusted scene may read" : "");
}

/* An object of the class, its first parameter this value and the others their defaults. */
static scene_object *object_around(binder *b, const plugin_class *cls, scene_place where,
                                   const scene_value *value)
{
    BL_ASSERT(cls->param_count > 0, "\"%s\" has no parameter for a value", cls->name);
    scene_object *object = object_create(b, cls, where);
    object->values[0] = *value;
    object->values[0].where = where;
    for (uint32_t i = 1; i < cls->param_count; i++) {
        bl_result result = value_preset(b, object, i);
        BL_ASSERT(result == BL_OK, "parameter %u of \"%s\" has no default", i, cls->name);
    }
    return object;
}

/* The texture, or the volume around it, that a number or colour stands for. */
static scene_object *constant_create(binder *b, const plugin_param *param, scene_place where,
                                     const scene_value *colour)
{
    scene_object *constant = object_around(b, b->constant, where, colour);
    constant->use = param;
    if (param->kind == PLUGIN_TEXTURED)
        return constant;
    const plugin_class *volume = registry_find(b->registry, PLUGIN_VOLUME, "constvolume");
    BL_ASSERT(volume && volume->params[0].kind == PLUGIN_TEXTURED,
              "the registry needs a volume \"constvolume\" whose first parameter is textured");
    return object_around(b, volume, where, &(scene_value){.given = true, .object = constant});
}

bl_result curve_create(binder *b, const raw_node *node, scene_object **out)
{
    const plugin_class *cls = registry_find(b->registry, PLUGIN_TEXTURE, "irregular");
    BL_ASSERT(cls && cls->param_count == 2, "the registry needs a texture \"irregular\" of two lists");
    spectrum_text lists = {0};
    bl_result r = colour_curve(node, b->raw->paths, &lists, b->err);
    if (r == BL_OK) {
        scene_object *curve = object_create(b, cls, node->where);
        const text *both[] = {&lists.wavelengths, &lists.values};
        for (int k = 0; k < 2; k++)
            curve->values[k] = (scene_value){
                .given = true, .where = node->where, .text = arena_strdup(b->raw->memory, both[k]->data)};
        *out = curve;
    }
    text_free(&lists.wavelengths);
    text_free(&lists.values);
    return r;
}

/* A number that is given by its samples over wavelengths. */
static bl_result number_curve(binder *b, const plugin_class *cls, const plugin_param *param,
                              const raw_node *node, scene_value *value)
{
    spectrum_text lists = {0};
    if (!(param->flags & PLUGIN_CURVE))
        return scene_error(b->err, BL_ERROR_SCENE, node->where,
                           "\"%s\" of %s \"%s\" is the same at all wavelengths: give a float or a name",
                           param->name, plugin_category_names[cls->category], cls->name);
    bl_result r = colour_curve(node, b->raw->paths, &lists, b->err);
    if (r == BL_OK) {
        value->curve[0] = arena_strdup(b->raw->memory, lists.wavelengths.data);
        value->curve[1] = arena_strdup(b->raw->memory, lists.values.data);
    }
    text_free(&lists.wavelengths);
    text_free(&lists.values);
    return r;
}

bl_result object_standing(binder *b, const scene_object *object, scene_object **out)
{
    bool white = registry_find(b->registry, PLUGIN_TEXTURE, "d65") == object->cls;
    scene_value colour = {.given = true, .vector = {1, 1, 1}, .grey = true, .as_is = !white};
    const plugin_param *coloured = NULL;
    *out = NULL;
    for (uint32_t i = 0; i < object->cls->param_count; i++) {
        const plugin_param *param = &object->cls->params[i];
        const scene_value *value = &object->values[i];
        if (!(param->flags & PLUGIN_STANDS))
            continue;
        if (param->kind == PLUGIN_TEXTURED && value->object && coloured)
            return scene_error(b->err, BL_ERROR_SCENE, value->where,
                               "%s: give either \"%s\" or a texture, not both", object->cls->name,
                               coloured->name);
        if (param->kind == PLUGIN_TEXTURED && value->object)
            *out = value->object;
        for (int c = 0; c < 3 && param->kind != PLUGIN_TEXTURED; c++)
            colour.vector[c] *= param->kind == PLUGIN_COLOR ? value->vector[c] : value->number;
        if (param->kind == PLUGIN_COLOR && value->given)
            coloured = param, colour.grey = value->grey;
    }
    if (!*out)
        *out = object_around(b, b->constant, object->where, &colour);
    (*out)->id = object->id ? object->id : (*out)->id;
    (*out)->name = object->name;
    return BL_OK;
}

bl_result value_parse(binder *b, scene_object *object, uint32_t index, const raw_node *node)
{
    BL_ASSERT(index < object->cls->param_count, "parameter %u of \"%s\"", index, object->cls->name);
    const plugin_param *param = &object->cls->params[index];
    scene_value *value = &object->values[index];
    bool takes_grid = param->kind == PLUGIN_FILE && (param->flags & PLUGIN_GRID);
    if (!kind_accepts(param->kind, node->kind) && !(takes_grid && node->kind == RAW_GRID))
        return scene_error(b->err, BL_ERROR_SCENE, node->where,
                           "parameter \"%s\" of %s \"%s\" is %s, not <%s>", param->name,
                           plugin_category_names[object->cls->category], object->cls->name,
                           kind_name(param->kind), node->tag);
    if (value->given)
        return scene_error(b->err, BL_ERROR_SCENE, node->where,
                           "parameter \"%s\" is given twice (before at line %u of %s)", param->name,
                           value->where.line, value->where.file);
    value->given = true;
    value->where = node->where;
    switch (param->kind) {
    case PLUGIN_FLOAT_OR_NAME:
        if (colour_is_curve(node))
            return number_curve(b, object->cls, param, node, value);
        if (node->kind == RAW_STRING) {
            value->text = raw_attribute_get(node, "value");
            return BL_OK;
        }
        /* fallthrough */
    case PLUGIN_FLOAT:
    case PLUGIN_INTEGER:
        TRY(parse_number(node, &value->number, b->err));
        return check_range(object->cls, param, node, value->number, b->err);
    case PLUGIN_BOOLEAN:
        return parse_boolean(node, &value->number, b->err);
    case PLUGIN_STRING:
        value->text = raw_attribute_get(node, "value");
        return BL_OK;
    case PLUGIN_FILE:
        value->grid = node->grid;
        return value->grid ? BL_OK : find_file(b, value, node);
    case PLUGIN_POINT:
        return vector_parse(node, NULL, value->vector, b->err);
    case PLUGIN_TRANSFORM:
        return transform_parse(node, value->matrix, b->err);
    case PLUGIN_COLOR:
    case PLUGIN_TEXTURED:
    case PLUGIN_VOLUMETRIC:
        break;
    }
    if (b->spectral && param->kind == PLUGIN_TEXTURED && colour_is_curve(node)) {
        TRY(curve_create(b, node, &value->object));
        value->object->use = param;
        return BL_OK;
    }
    TRY(colour_parse(node, b->raw->paths, param->flags, b->spectral, value->vector, b->err));
    TRY(colour_check(node->where, object->cls, param, value->vector, b->err));
    value->grey = node->kind == RAW_FLOAT || node->kind == RAW_INTEGER;
    value->as_is = node->kind == RAW_SPECTRUM;
    if (param->kind != PLUGIN_COLOR)
        value->object = constant_create(b, param, node->where, value);
    return BL_OK;
}

static void preset_vector(const plugin_param *param, scene_value *value)
{
    const char *malformed = NULL;
    double *out = value->vector;
    int count = numbers_parse(param->preset, out, 3, &malformed);
    BL_ASSERT(count == 1 || count == 3, "default of \"%s\": \"%s\"", param->name, param->preset);
    value->grey = count == 1;
    if (value->grey)
        out[1] = out[2] = out[0];
}

bl_result value_preset(binder *b, scene_object *object, uint32_t index)
{
    BL_ASSERT(index < object->cls->param_count && !object->values[index].given, "a default for %u of \"%s\"",
              index, object->cls->name);
    const plugin_param *param = &object->cls->params[index];
    scene_value *value = &object->values[index];
    value->where = object->where;
    if (param->flags & PLUGIN_REQUIRED)
        return scene_error(b->err, BL_ERROR_SCENE, object->where, "%s \"%s\" needs the parameter \"%s\", %s",
                           plugin_category_names[object->cls->category], object->cls->name, param->name,
                           kind_name(param->kind));
    if (param->flags & PLUGIN_ABSENT)
        return BL_OK;
    BL_ASSERT(param->preset, "\"%s\" of \"%s\" is neither required nor has it a default", param->name,
              object->cls->name);
    switch (param->kind) {
    case PLUGIN_FLOAT:
    case PLUGIN_INTEGER: {
        bool number = number_parse(param->preset, &value->number);
        BL_ASSERT(number, "default of \"%s\": \"%s\"", param->name, param->preset);
        break;
    }
    case PLUGIN_BOOLEAN:
        value->number = strcmp(param->preset, "true") == 0;
        break;
    case PLUGIN_FLOAT_OR_NAME:
        if (!number_parse(param->preset, &value->number))
            value->text = param->preset;
        break;
    case PLUGIN_STRING:
    case PLUGIN_FILE:
        value->text = param->preset;
        break;
    case PLUGIN_POINT:
    case PLUGIN_COLOR:
        preset_vector(param, value);
        break;
    case PLUGIN_TRANSFORM:
        BL_ASSERT(strcmp(param->preset, "identity") == 0, "default of \"%s\": \"%s\"", param->name,
                  param->preset);
        for (int i = 0; i < 4; i++)
            value->matrix[5 * i] = 1;
        break;
    case PLUGIN_TEXTURED:
    case PLUGIN_VOLUMETRIC:
        preset_vector(param, value);
        value->object = constant_create(b, param, object->where, value);
        break;
    }
    return BL_OK;
}
