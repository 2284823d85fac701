/* SPDX-License-Identifier: BSD-3-Clause
 * A scene's parameters: their names, shapes, bounds and initial values. */
#include "render/scene_internal.h"

#include <math.h>

object_name render_name_below(render_scene *s, object_name of, const char *child)
{
    return (object_name){arena_printf(&s->memory, "%s%s%s", of.name, *of.name ? "." : "", child),
                         arena_printf(&s->memory, "%s%s%s", of.path, *of.path ? "." : "", child)};
}

/* Registers a parameter; its values are the caller's concern. */
static render_parameter *add_named(render_scene *s, const scene_object *o, const char *field, uint32_t slot,
                                   uint32_t rank, const uint32_t *shape)
{
    object_name of = render_name_below(s, s->names[o->index], field);
    const render_parameter *last = s->parameters.count ? &s->parameters.data[s->parameters.count - 1] : NULL;
    bool behind = last && last->source != PLAN_NONE; /* geometry stands behind all values; what classes keep
                                                        beside parameters is among them */
    render_parameter p = {
        .name = of.name,
        .path = of.path,
        .count = 1,
        .source = PLAN_NONE,
        .offset = behind ? last->offset + last->count : s->values.count,
        .rank = rank,
        .object = o->index,
        .slot = slot,
        .factor = PLAN_NONE,
    };
    BL_ASSERT(rank > 0 && rank <= sizeof p.shape / sizeof *p.shape, "%s has %u dimensions", p.name, rank);
    for (uint32_t i = 0; i < rank; i++) {
        p.shape[i] = shape[i];
        p.count *= shape[i];
    }
    while (s->last_parameter.count <= o->index)
        array_push(&s->last_parameter, 0);
    p.next = s->last_parameter.data[o->index];
    array_push(&s->parameters, p);
    s->last_parameter.data[o->index] = s->parameters.count;
    return &s->parameters.data[s->parameters.count - 1];
}

uint32_t render_add_array(render_scene *s, const scene_object *o, const char *field, uint32_t slot,
                          const initial_values *v)
{
    render_parameter *p = add_named(s, o, field, slot, v->rank, v->shape);
    p->least = v->least, p->most = v->most;
    BL_ASSERT(p->offset == s->values.count, "%s comes after geometry", p->name);
    array_reserve(&s->values, s->values.count + p->count);
    memcpy(s->values.data + s->values.count, v->values, p->count * sizeof *v->values);
    s->values.count += p->count;
    return s->parameters.count - 1;
}

bl_result render_room(const render_scene *s, uint64_t values, uint64_t geometry, bl_error *err)
{
    TRY(array_check(&s->values, values, err));
    return array_check(&s->geometry, geometry, err);
}

uint32_t *render_add_words(render_scene *s, const scene_object *o, uint32_t count, uint32_t kind)
{
    uint32_t begin = s->geometry.count;
    array_push(&s->object_words, ((object_words){o->index, begin, kind}));
    array_reserve(&s->geometry, begin + count);
    s->geometry.count += count;
    return memset(s->geometry.data + begin, 0, count * sizeof *s->geometry.data);
}

const object_words *render_words(const render_scene *s, const scene_object *o)
{
    uint32_t k = 0;
    while (k < s->object_words.count && s->object_words.data[k].object != o->index)
        k++;
    BL_ASSERT(k < s->object_words.count, "%s has no words of its own", o->cls->name);
    return &s->object_words.data[k];
}

uint32_t render_add_geometry(render_scene *s, const scene_object *o, const char *field, uint32_t slot,
                             uint32_t rank, const uint32_t *shape, uint32_t source)
{
    render_parameter *p = add_named(s, o, field, slot, rank, shape);
    p->least = -INFINITY, p->most = INFINITY, p->source = source;
    return s->parameters.count - 1;
}

const float *render_initial(const render_scene *s, const render_parameter *p)
{
    return p->source == PLAN_NONE ? s->values.data + p->offset
                                  : (const float *)(const void *)(s->geometry.data + p->source);
}

uint32_t render_add_parameter(render_scene *s, const scene_object *o, uint32_t slot, const initial_values *v)
{
    BL_ASSERT(slot == PLAN_DATA_SLOT || slot < o->cls->param_count, "%s has no parameter %u", o->cls->name,
              slot);
    const char *field =
        slot == PLAN_DATA_SLOT ? ((const render_class *)o->cls)->data_name : o->cls->params[slot].name;
    BL_ASSERT(field, "%s adds a parameter without a name", o->cls->name);
    uint32_t index = render_add_array(s, o, field, slot, v);
    s->parameters.data[index].least_side =
        slot == PLAN_DATA_SLOT ? ((const render_class *)o->cls)->least_side : 0;
    return index;
}

uint32_t render_parameter_called(const render_scene *s, const char *name)
{
    uint32_t by_path = PLAN_NONE;
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        if (strcmp(s->parameters.data[i].name, name) == 0)
            return i;
        if (by_path == PLAN_NONE && strcmp(s->parameters.data[i].path, name) == 0)
            by_path = i;
    }
    return by_path;
}

uint32_t render_find_parameter(const render_scene *s, const scene_object *o, uint32_t slot)
{
    uint32_t i = render_last_parameter(s, o);
    while (i && s->parameters.data[i - 1].slot != slot)
        i = s->parameters.data[i - 1].next;
    return i ? i - 1 : PLAN_NONE;
}

uint32_t render_offered_parameter(const render_scene *s, const scene_object *o, const char *name)
{
    int slot = o ? scene_find_param(o, name) : -1;
    return slot < 0 ? PLAN_NONE : render_find_parameter(s, o, (uint32_t)slot);
}

/* ---- values that a scene must not have, or should not ---- */

static bl_result check_finite(const render_scene *s, const render_parameter *p, bl_error *err)
{
    const float *values = render_initial(s, p);
    for (uint32_t i = 0; i < p->count; i++)
        if (!isfinite(values[i]))
            return error_set(err, BL_ERROR_SCENE,
                             "%s: value %u is %g: too large for single precision, or not a number", p->name,
                             i, (double)values[i]);
    return BL_OK;
}

/* An extinction below 0 makes light out of nothing. Files may hold a few such values by filtering, so they
 * are counted, not refused. */
static void warn_of_negative(const render_scene *s, const scene_object *medium)
{
    const char *extinction = medium_bends_rays(medium) ? "sigma_a" : "sigma_t";
    const scene_object *volume = scene_get(medium, extinction)->object;
    uint32_t index = volume ? render_find_parameter(s, volume, PLAN_DATA_SLOT) : PLAN_NONE, count = 0;
    if (index == PLAN_NONE)
        return;
    const render_parameter *p = &s->parameters.data[index];
    const float *values = render_initial(s, p);
    for (uint32_t i = 0; i < p->count; i++)
        count += values[i] < 0;
    if (count)
        text_add(&s->description->warnings,
                 "%s:%u: %s: %u of %u values are negative; an extinction is 0 or above\n", medium->where.file,
                 medium->where.line, p->name, count, p->count);
}

/* Nothing but black can come of it; integrators that need no light have none of these. */
static void warn_of_darkness(const render_scene *s)
{
    if (s->emitters.count || s->depth_image || s->silhouette || s->ellipsoid_field || s->field || s->own ||
        s->channels.count)
        return;
    text_add(&s->description->warnings, "%s:%u: the scene has no light: its image will be black\n",
             s->description->root->where.file, s->description->root->where.line);
}

bl_result render_check_values(const render_scene *s, bl_error *err)
{
    warn_of_darkness(s);
    for (uint32_t i = 0; i < s->parameters.count; i++)
        if (s->parameters.data[i].source == PLAN_NONE) /* Meshes are checked as they are read. */
            TRY(check_finite(s, &s->parameters.data[i], err));
    for (uint32_t i = 0; i < s->media.count; i++)
        warn_of_negative(s, s->media.data[i]);
    return BL_OK;
}

/* ---- other sizes ---- */

enum { RESIZED_MOST = 1 << 30 /* entries */ };

static bl_result check_size(const render_scene *s, uint32_t index, const uint32_t *shape, uint32_t *count,
                            bl_error *err)
{
    const render_parameter *p = &s->parameters.data[index];
    uint64_t n = 1;
    if (p->least_side == 0)
        return error_set(err, BL_ERROR_ARGUMENT, "%s has a fixed size; images and grids can be resized",
                         p->name);
    for (uint32_t k = 0; k < p->rank; k++) {
        n *= shape[k];
        if (shape[k] < p->least_side && k + 1 < p->rank)
            return error_set(err, BL_ERROR_ARGUMENT, "%s: a side of %u is too small, %u is the least",
                             p->name, shape[k], p->least_side);
        if (n > RESIZED_MOST)
            return error_set(err, BL_ERROR_ARGUMENT, "%s: more than %d entries", p->name, RESIZED_MOST);
    }
    if (shape[p->rank - 1] != p->shape[p->rank - 1])
        return error_set(err, BL_ERROR_ARGUMENT, "%s has %u channels, which stay", p->name,
                         p->shape[p->rank - 1]);
    *count = (uint32_t)n;
    return BL_OK;
}

bl_result render_resize_parameter(render_scene *s, uint32_t index, const uint32_t *shape, const float *values,
                                  bl_error *err)
{
    render_parameter *p = &s->parameters.data[index];
    uint32_t count = 0, behind = p->offset + p->count;
    TRY(check_size(s, index, shape, &count, err));
    TRY(array_check(&s->values, count, err));
    array_reserve(&s->values, s->values.count - p->count + count);
    memmove(s->values.data + p->offset + count, s->values.data + behind,
            (s->values.count - behind) * sizeof *values);
    memcpy(s->values.data + p->offset, values, count * sizeof *values);
    s->values.count += count - p->count;
    for (uint32_t i = 0; i < s->parameters.count; i++)
        if (s->parameters.data[i].offset >= behind)
            s->parameters.data[i].offset += count - p->count;
    memcpy(p->shape, shape, p->rank * sizeof *shape);
    p->count = count;
    return BL_OK;
}

const char render_turned_through[] =
    "mirrored and refracted directions turn with it, which volumetric integrators leave out here";
const char render_turned_edges_through[] =
    "edges that it moves in mirrors and behind glass are left out; in one job with what moves shapes, how it "
    "turns what is reflected and refracted, too";

void render_turns(render_scene *s, uint32_t parameter)
{
    render_parameter *p = &s->parameters.data[parameter];
    p->turns = true;
    p->reason =
        s->volumetric ? render_turned_through
        : s->mode->polarized
            ? "mirrored and refracted directions turn with it, which modes with polarisation leave out"
        : s->detached ? "mirrored and refracted directions turn with it, which this integrator leaves out"
                      : "edges that it moves in mirrors and behind glass are left out";
}

const char render_turned_normals[] =
    "the step where the turned normal comes to face away from viewer or light is left out";

void render_reason_all(render_scene *s, const scene_object *o, const char *reason)
{
    for (uint32_t i = render_last_parameter(s, o); i; i = s->parameters.data[i - 1].next)
        if (!s->parameters.data[i - 1].reason)
            s->parameters.data[i - 1].reason = reason;
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->cls->params[k].kind == PLUGIN_TEXTURED && o->values[k].object)
            render_reason_all(s, o->values[k].object, reason);
}

void render_turns_all(render_scene *s, const scene_object *o)
{
    for (uint32_t i = render_last_parameter(s, o); i; i = s->parameters.data[i - 1].next)
        render_turns(s, i - 1);
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (o->cls->params[k].kind == PLUGIN_TEXTURED && o->values[k].object)
            render_turns_all(s, o->values[k].object);
}
