/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes: loading, what is known of one, and its parameters by name. */
#include "api/scene.h"
#include "api/differentiability.h"
#include "render/film/film.h"
#include "render/plan.h"
#include "render/sampler/samplers.h"
#include "render/sensor/sensor.h"
#include "render/shape/ellipsoids.h"
#include "render/shape/kinds.h"
#include "render/spectrum/spectrum.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert((int)BL_LIGHTS_UNIFORM == (int)LIGHTS_UNIFORM &&
                   (int)BL_LIGHTS_BY_POWER == (int)LIGHTS_BY_POWER &&
                   (int)BL_LIGHTS_BY_TREE == (int)LIGHTS_BY_TREE && (int)BL_LIGHTS_AUTO == (int)LIGHTS_AUTO,
               "the public choices are the renderer's");
_Static_assert((int)BL_EDGES_NONE == (int)EDGES_NONE && (int)BL_EDGES_PROJECTIVE == (int)EDGES_PROJECTIVE,
               "the public choices are the renderer's");

const char *bl_light_choice_name(bl_light_choice choice)
{
    static const char *const names[BL_LIGHTS_COUNT] = {"weight", "uniform", "power", "tree", "auto"};
    return (unsigned)choice < BL_LIGHTS_COUNT ? names[choice] : NULL;
}

const char *bl_edges_name(bl_edges edges)
{
    static const char *const names[BL_EDGES_COUNT] = {"auto", "none", "projective"};
    return (unsigned)edges < BL_EDGES_COUNT ? names[edges] : NULL;
}

const char *bl_mode_name(uint32_t index) { return index < MODE_COUNT ? render_modes[index].name : NULL; }

bl_result scene_from_description(bl_context *ctx, scene_description *d, const bl_scene_desc *desc,
                                 bl_scene **out)
{
    bl_error err = {0};
    bl_scene *scene = memory_need_zeroed(1, sizeof *scene);
    scene->context = ctx;
    render_overrides o = {
        .mode = desc ? desc->mode : NULL,
        .sampler = desc ? desc->sampler : NULL,
        .integrator = desc ? desc->integrator : NULL,
        .silhouette = desc ? desc->silhouette : NULL,
        .max_depth = desc ? desc->max_depth : 0,
        .sensor = desc ? desc->sensor : 0,
        .light_choice = desc ? (enum light_choice)desc->lights : LIGHTS_BY_WEIGHT,
        .edges = desc ? (enum edges_wish)desc->edges : EDGES_BY_SCENE,
        .guides = desc && desc->guides,
        .registry = &ctx->registry,
    };
    if (render_scene_create(d, &o, &scene->render, &err) != BL_OK) {
        memory_free(scene);
        return context_fail(ctx, &err);
    }
    scene_drop_kept(d);
    *out = scene;
    return BL_OK;
}

/* Copies the caller's options. bl_define and scene_define have the same fields; the copy keeps the layers
 * apart. */
static scene_load_options load_options(const bl_context *ctx, const bl_scene_desc *desc,
                                       scene_define **defines)
{
    scene_load_options o = {.registry = &ctx->registry};
    *defines = NULL;
    if (!desc)
        return o;
    *defines = memory_need_zeroed(desc->define_count + 1u, sizeof **defines);
    for (uint32_t i = 0; i < desc->define_count; i++)
        (*defines)[i] = (scene_define){desc->defines[i].key, desc->defines[i].value};
    o.defines = *defines, o.define_count = desc->define_count;
    o.untrusted = desc->untrusted, o.roots = desc->roots, o.root_count = desc->root_count;
    return o;
}

bl_result scene_check_desc(const bl_scene_desc *desc, bl_error *err)
{
    TRY(CHECK_RESERVED(bl_scene_desc, desc, err));
    if ((unsigned)desc->lights >= BL_LIGHTS_COUNT || (unsigned)desc->edges >= BL_EDGES_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "bl_scene_desc: there is no choice of lights %d, or no edges %d", (int)desc->lights,
                         (int)desc->edges);
    if (desc->max_depth < -1)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "bl_scene_desc: max_depth is %d; -1 means that paths have no end, 0 the scene's",
                         (int)desc->max_depth);
    for (uint32_t i = 0; i < desc->define_count; i++)
        if (!desc->defines[i].key || !desc->defines[i].value)
            return error_set(err, BL_ERROR_ARGUMENT,
                             "bl_scene_desc: definition %u has a key or a value of NULL", i);
    for (uint32_t i = 0; i < desc->root_count; i++)
        if (!desc->roots[i])
            return error_set(err, BL_ERROR_ARGUMENT, "bl_scene_desc: folder %u is NULL", i);
    for (uint32_t i = 0; i < desc->root_count; i++) {
        struct stat status;
        if (stat(desc->roots[i], &status) != 0 || !S_ISDIR(status.st_mode))
            return error_set(err, BL_ERROR_IO, "there is no folder \"%s\" from which files may be read",
                             desc->roots[i]);
    }
    return BL_OK;
}

/* ---- limits ---- */

const char *bl_limit_name(uint32_t index) { return index < BUDGET_COUNT ? budget_rows[index].name : NULL; }

uint64_t bl_limit_preset(uint32_t index, bool strict)
{
    return index >= BUDGET_COUNT ? 0 : strict ? budget_rows[index].strict : budget_rows[index].usual;
}

void image_budget_begin(call_budget *b, const bl_context *ctx)
{
    *b = (call_budget){0};
    for (uint32_t k = 0; k < BUDGET_COUNT; k++)
        b->most[k] = bl_limit_preset(k, ctx->strict);
    budget_begin(b);
}

bl_result scene_budget_begin(call_budget *b, const bl_scene_desc *desc, bl_error *err)
{
    const bl_limits none = {0}, *l = desc && desc->limits ? desc->limits : &none;
    const uint64_t asked[BUDGET_COUNT] = {
        [BUDGET_MEMORY] = l->memory,   [BUDGET_TEXT] = l->text,           [BUDGET_PIXELS] = l->pixels,
        [BUDGET_VOXELS] = l->voxels,   [BUDGET_TRIANGLES] = l->triangles, [BUDGET_KERNEL] = l->kernel,
        [BUDGET_SECONDS] = l->seconds,
    };
    *b = (call_budget){0};
    for (uint32_t k = 0; k < BUDGET_COUNT; k++)
        b->most[k] = asked[k] ? asked[k] : bl_limit_preset(k, desc && desc->untrusted);
    bl_result r = CHECK_RESERVED(bl_limits, l, err);
    budget_begin(b);
    return r;
}

bl_result scene_budget_end(call_budget *b, bl_context *ctx, bl_result r)
{
    /* What could not be allocated for want of budget says only that memory is out. */
    if (r != BL_OK && r != BL_ERROR_LIMIT && b->exceeded)
        r = budget_exceeded(BUDGET_MEMORY, b->most[BUDGET_MEMORY], ctx->error);
    budget_end(b);
    return r;
}

static bl_result load_within(bl_context *ctx, const char *path, const char *xml, const char *folder,
                             const bl_scene_desc *desc, bl_scene **out)
{
    *out = NULL;
    bl_error err = {0};
    if (desc && scene_check_desc(desc, &err) != BL_OK)
        return context_fail(ctx, &err);
    scene_define *defines;
    scene_load_options o = load_options(ctx, desc, &defines);
    scene_description *d = NULL;
    bl_result r = render_mode_spectral(desc ? desc->mode : NULL, &o.spectral, &err);
    o.named_mode = desc && desc->mode ? NULL : render_mode_spectral;
    if (r == BL_OK)
        r = xml ? scene_load_string(xml, folder, &o, &d, &err) : scene_load(path, &o, &d, &err);
    memory_free(defines);
    if (r != BL_OK)
        return context_fail(ctx, &err);
    return scene_from_description(ctx, d, desc, out);
}

static bl_result load(bl_context *ctx, const char *path, const char *xml, const char *folder,
                      const bl_scene_desc *desc, bl_scene **out)
{
    call_budget b;
    bl_error err = {0};
    *out = NULL;
    bl_result r = scene_budget_begin(&b, desc, &err);
    r = r == BL_OK ? load_within(ctx, path, xml, folder, desc, out) : context_fail(ctx, &err);
    return scene_budget_end(&b, ctx, r);
}

static bl_result convert_within(bl_context *ctx, const char *path, const bl_scene_desc *desc,
                                const char *output, text *notes)
{
    bl_error err = {0};
    if (desc && scene_check_desc(desc, &err) != BL_OK)
        return context_fail(ctx, &err);
    scene_define *defines;
    const scene_load_options o = load_options(ctx, desc, &defines);
    bl_result r = scene_convert_gltf(path, &o, output, notes, &err);
    memory_free(defines);
    return r == BL_OK ? BL_OK : context_fail(ctx, &err);
}

bl_result bl_scene_convert(bl_context *ctx, const char *path, const bl_scene_desc *desc, const char *output,
                           char **notes)
{
    call_budget b;
    bl_error err = {0};
    text said = {0};
    bl_result r = scene_budget_begin(&b, desc, &err);
    r = r == BL_OK ? convert_within(ctx, path, desc, output, &said) : context_fail(ctx, &err);
    if (notes)
        *notes = NULL;
    if (notes && r == BL_OK) {
        char *list = said.data ? said.data : memory_need_zeroed(1, 1);
        r = memory_for_user(list, &err);
        if (r == BL_OK)
            *notes = list;
        else
            context_fail(ctx, &err);
    } else {
        text_free(&said);
    }
    return scene_budget_end(&b, ctx, r);
}

bl_result bl_scene_load(bl_context *ctx, const char *path, const bl_scene_desc *desc, bl_scene **out)
{
    return load(ctx, path, NULL, NULL, desc, out);
}

bl_result bl_scene_load_string(bl_context *ctx, const char *xml, const char *folder,
                               const bl_scene_desc *desc, bl_scene **out)
{
    return load(ctx, NULL, xml, folder ? folder : ".", desc, out);
}

void bl_scene_destroy(bl_scene *scene)
{
    if (!scene)
        return;
    render_scene_destroy(scene->render);
    memory_free(scene);
}

const char *bl_scene_warnings(const bl_scene *scene)
{
    const char *w = scene->render->description->warnings.data;
    return w ? w : "";
}

bl_result bl_scene_info_get(const bl_scene *scene, bl_scene_info *out)
{
    const render_scene *s = scene->render;
    *out = (bl_scene_info){
        .width = s->width,
        .height = s->height,
        .spp = s->spp,
        .integrator = s->integrator ? s->integrator->cls->name : "path",
        .max_depth = s->max_depth,
        .rr_depth = s->rr_depth,
        .shapes = s->shapes.count,
        .primitives = s->primitives.count,
        .emitters = s->emitters.count,
        .parameters = s->parameters.count,
        .bvh_nodes = s->bvh.node_count,
        .sensors = s->sensors.count,
        .channels = s->film_channels,
        .mode = s->mode->name,
        .file_mode = s->description->mode,
        .sampler = s->spreads->base.plugin.name,
    };
    return BL_OK;
}

const char *bl_scene_shape_name(const bl_scene *scene, uint32_t index)
{
    const render_scene *s = scene->render;
    return index < s->shapes.count ? s->names[s->shapes.data[index].object->index].name : NULL;
}

const char *bl_scene_instance_name(const bl_scene *scene, uint32_t index)
{
    const render_scene *s = scene->render;
    if (!s->has_groups || index >= s->instances.count)
        return NULL;
    const scene_object *o = s->instances.data[index].object;
    return o ? s->names[o->index].name : "";
}

uint32_t bl_scene_channel_count(const bl_scene *scene) { return scene->render->channels.count; }

const char *bl_scene_channel_name(const bl_scene *scene, uint32_t index)
{
    return index < scene->render->channels.count ? scene->render->channels.data[index].name : NULL;
}

const char *bl_scene_band_name(const bl_scene *scene, uint32_t index)
{
    const render_scene *s = scene->render;
    return s->film_names && index < s->film_channels ? s->film_names[index] : NULL;
}

bl_result bl_scene_read_image(const bl_scene *scene, const char *path, float *image)
{
    bl_error err = {0};
    call_budget b;
    image_budget_begin(&b, scene->context);
    bl_result r = film_read(scene->render, path, image, &err);
    budget_end(&b);
    return r == BL_OK ? BL_OK : context_fail(scene->context, &err);
}

bl_result bl_scene_write_image(const bl_scene *scene, const char *path, const float *image,
                               const float *channels)
{
    bl_error err = {0};
    return film_write(scene->render, path, image, channels, &err) == BL_OK
               ? BL_OK
               : context_fail(scene->context, &err);
}

uint32_t bl_scene_spp(const bl_scene *scene, uint32_t spp)
{
    return spp ? sampler_count(scene->render, spp, 1) : scene->render->spp;
}

/* ---- parameters ---- */

uint32_t bl_scene_parameter_count(const bl_scene *scene) { return scene->render->parameters.count; }

bl_result bl_scene_parameter_info(const bl_scene *scene, uint32_t index, bl_parameter_info *out)
{
    if (index >= scene->render->parameters.count)
        return context_fail_range(scene->context, "parameter", index, scene->render->parameters.count);
    const render_parameter *p = &scene->render->parameters.data[index];
    const char *refused = differentiability_obstacle(scene->render, index);
    bool pose = to_world_is(scene->render, index) && to_world_said_by(scene->render, index) != index;
    *out = (bl_parameter_info){
        .name = p->name,
        .path = p->path,
        .rank = p->rank,
        .count = p->count,
        .least = p->least,
        .most = p->most,
        .differentiable = !refused,
        .reason = refused ? refused : p->reason,
        .resizable = p->least_side > 0,
        .geometry = mesh_slot_moves(p->slot) || pose || sensor_is(scene->render, p->object),
        .only_listed = to_world_is(scene->render, index) || ellipsoid_moves(scene->render, index) ||
                       parameter_turns_environment(scene->render, index)};
    memcpy(out->shape, p->shape, sizeof out->shape);
    return BL_OK;
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* Whether name has all letters of `asked`, in their order: "lamp.emitter.radiance.value" of "lamp.radiance".
 */
static bool has_letters(const char *name, const char *asked)
{
    for (; *name && *asked; name++)
        asked += *name == *asked;
    return !*asked;
}

/* The shortest that has the letters of `name`; else the one that begins like it for longest. NULL: there is
 * none. */
static const char *nearest_parameter(const render_scene *s, const char *name)
{
    const char *found = NULL, *alike = NULL;
    size_t best = 0;
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        const char *own = s->parameters.data[i].name;
        const size_t same = common_prefix(name, own);
        if (has_letters(own, name) && (!found || strlen(own) < strlen(found)))
            found = own;
        if (!alike || same > best)
            alike = own, best = same;
    }
    return found ? found : alike;
}

bl_result bl_scene_find_parameter(const bl_scene *scene, const char *name, uint32_t *index)
{
    const render_scene *s = scene->render;
    bl_error err;
    if (!name) {
        error_set(&err, BL_ERROR_ARGUMENT, "the name of a parameter is NULL");
        return context_fail(scene->context, &err);
    }
    *index = render_parameter_called(s, name);
    if (*index != PLAN_NONE)
        return BL_OK;
    const char *nearest = nearest_parameter(s, name);
    error_set(&err, BL_ERROR_ARGUMENT,
              "the scene has no parameter \"%s\"%s%s%s; \"backlight params\" lists them", name,
              nearest ? ", the nearest is \"" : "", nearest ? nearest : "", nearest ? "\"" : "");
    return context_fail(scene->context, &err);
}

bl_result bl_scene_get_parameter(const bl_scene *scene, uint32_t index, float *values)
{
    if (index >= scene->render->parameters.count)
        return context_fail_range(scene->context, "parameter", index, scene->render->parameters.count);
    const render_parameter *p = &scene->render->parameters.data[index];
    memcpy(values, render_initial(scene->render, p), p->count * sizeof *values);
    return BL_OK;
}

bl_result bl_scene_resize_parameter(bl_scene *scene, uint32_t index, const uint32_t *shape,
                                    const float *values)
{
    bl_error err = {0};
    if (index >= scene->render->parameters.count)
        return context_fail_range(scene->context, "parameter", index, scene->render->parameters.count);
    return render_resize_parameter(scene->render, index, shape, values, &err) == BL_OK
               ? BL_OK
               : context_fail(scene->context, &err);
}
