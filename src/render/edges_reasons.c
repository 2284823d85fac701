/* SPDX-License-Identifier: BSD-3-Clause
 * What gradients by parameters that move edges still lack, where moving edges are differentiated
 * (docs/theory/edges.md). Where they are not, the reasons stay that were given when parameters were
 * registered: then all edges are left out. */
#include "render/classes.h"
#include "render/scene_internal.h"
#include "render/shape/kinds.h"

static bool has_bsdf(const scene_object *o, bool (*is)(const scene_object *o))
{
    bool any = o->cls->category == PLUGIN_BSDF && is(o);
    for (uint32_t k = 0; k < o->child_count; k++)
        any |= has_bsdf(o->children[k], is);
    return any;
}

/* Mirrors, smooth glass. Materials that hold others have the lobes of these. */
static bool is_smooth(const scene_object *o)
{
    const bsdf_class *cls = (const bsdf_class *)(const void *)o->cls;
    bool holds = false;
    for (uint32_t k = 0; k < o->child_count; k++)
        holds |= o->children[k]->cls->category == PLUGIN_BSDF;
    return cls->lobe_direction && !holds;
}

static bool lets_through(const scene_object *o) { return ((const bsdf_class *)(const void *)o->cls)->null; }

static bool some_bsdf(const render_scene *s, bool (*is)(const scene_object *o))
{
    bool any = false;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        any |= s->shapes.data[i].bsdf && has_bsdf(s->shapes.data[i].bsdf, is);
    return any;
}

bool edges_differentiated(const render_scene *s)
{
    return s->edges && s->method == METHOD_REPLAY && !s->light_tracing && !s->ellipsoid_field && !s->field &&
           !s->depth_image;
}

/* A shape of a kind whose silhouettes are not sampled. */
static bool some_without_silhouette(const render_scene *s)
{
    bool any = false;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        any |= s->kind_used[k] && k != SHAPE_TRIANGLES && !shape_kinds[k]->silhouette;
    return any;
}

/* Whether the parameter moves what its object, a light, lights: one without extent, on no shape. */
static bool moves_light(const emitter_class *cls, const render_parameter *p)
{
    return cls->delta && p->slot < 32 && cls->pose_params >> p->slot & 1;
}

/* A light that no ray hits. In volumetric walks only rays that hit lights find borders of shadows. */
static bool some_delta_light(const render_scene *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        any |= ((const emitter_class *)(const void *)s->emitters.data[i]->cls)->delta;
    return any;
}

static const char *join(render_scene *s, const char *before, const char *more)
{
    return before ? arena_printf(&s->memory, "%s; %s", before, more) : more;
}

/* What is said of mirrors and glass: in flat mirrors some edges are sampled
 * (integrator/kernels/boundary_mirror.c). */
static const char *smooth_lack(const render_scene *s)
{
    bool flat = false;
    for (uint32_t i = 0; i < s->shapes.count && !s->volumetric && s->groups.count == 0; i++)
        flat |= s->shapes.data[i].object->cls == &shape_rectangle.base.plugin && s->shapes.data[i].bsdf &&
                has_bsdf(s->shapes.data[i].bsdf, is_smooth);
    return s->volumetric ? "what moves in mirrors and behind smooth glass is left out"
           : flat ? "what moves in mirrors, but for silhouettes that the sensor sees in flat ones, behind "
                    "smooth glass and next to masks is left out"
                  : "what moves in mirrors, behind smooth glass and next to masks is left out";
}

const char *edges_lack(render_scene *s)
{
    const char *lacks = NULL;
    bool masks = some_bsdf(s, lets_through);
    if (s->silhouette) /* materials do not matter */
        masks = false;
    else if (some_bsdf(s, is_smooth) || (masks && !s->volumetric))
        lacks = smooth_lack(s);
    if (s->volumetric && (masks || s->media.count > 0) && some_delta_light(s))
        lacks = join(s, lacks, "borders of shadows from lights without extent are left out");
    if (some_without_silhouette(s))
        lacks = join(s, lacks, "silhouettes of distance grids and B-spline curves are left out");
    if (!sensor_of(s->sensor)->link)
        lacks = join(s, lacks, "silhouettes that this sensor sees are left out");
    return lacks;
}

/* Whether borders of cones are sampled: as borders of shadows are, from lights
 * (integrator/kernels/boundary_lit.c). */
static bool some_borders_sampled(const render_scene *s)
{
    bool all =
        sensor_of(s->sensor)->link && !(s->volumetric && (s->media.count > 0 || some_bsdf(s, lets_through)));
    for (uint32_t i = 0; i < s->emitters.count; i++)
        all &= ((const emitter_class *)(const void *)s->emitters.data[i]->cls)->ray != NULL;
    return all;
}

void edges_reasons_of_lights(render_scene *s)
{
    const char *lack = NULL;
    bool known = false, borders = some_borders_sampled(s);
    for (uint32_t i = 0; i < s->emitters.count && edges_differentiated(s); i++) {
        const scene_object *o = s->emitters.data[i];
        uint32_t k = o->index < s->last_parameter.count ? s->last_parameter.data[o->index] : 0;
        for (; k; k = s->parameters.data[k - 1].next) {
            render_parameter *p = &s->parameters.data[k - 1];
            bool here =
                p->reason == emitter_moving_shadows || (p->reason == emitter_moving_border && borders);
            if (!moves_light((const emitter_class *)(const void *)o->cls, p) || !here)
                continue;
            if (!known)
                lack = edges_lack(s), known = true;
            p->reason = lack;
        }
    }
}
