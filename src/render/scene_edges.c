/* SPDX-License-Identifier: BSD-3-Clause
 * Which edges of a scene are sampled (docs/theory/edges.md). Kernels ask, and so does what `params` says of
 * gradients (edges_reasons.c), so that both say the same. */
#include "render/classes.h"
#include "render/medium/media.h"
#include "render/render_scene.h"
#include "render/shape/kinds.h"

bool render_has_bsdf(const scene_object *o, bool (*is)(const scene_object *bsdf))
{
    bool any = o->cls->category == PLUGIN_BSDF && is(o);
    for (uint32_t k = 0; k < o->child_count; k++)
        any |= render_has_bsdf(o->children[k], is);
    return any;
}

bool render_some_bsdf(const render_scene *s, bool (*is)(const scene_object *bsdf))
{
    bool any = false;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        any |= s->shapes.data[i].bsdf && render_has_bsdf(s->shapes.data[i].bsdf, is);
    return any;
}

bool bsdf_is_smooth(const scene_object *bsdf)
{
    bool holds = false;
    for (uint32_t k = 0; k < bsdf->child_count; k++)
        holds |= bsdf->children[k]->cls->category == PLUGIN_BSDF;
    return ((const bsdf_class *)(const void *)bsdf->cls)->lobe_direction && !holds;
}

bool bsdf_is_mask(const scene_object *bsdf) { return ((const bsdf_class *)(const void *)bsdf->cls)->null; }

bool render_shines_on_the_way(const render_scene *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        any |= s->shapes.data[i].emitter && s->shapes.data[i].bsdf &&
               render_has_bsdf(s->shapes.data[i].bsdf, bsdf_is_mask);
    return any;
}

bool render_attaches_through(const render_scene *s)
{
    bool other = s->method != METHOD_REPLAY || s->own || s->field || s->light_tracing ||
                 s->metropolis.particles || s->depth_image || s->ellipsoid_field;
    bool kept = s->mode->polarized || s->disperses || render_bends_rays(s) || render_shines_on_the_way(s);
    return s->volumetric && !s->detached && !other && !kept;
}

bool edges_differentiated(const render_scene *s)
{
    return s->edges && s->method == METHOD_REPLAY && !s->light_tracing && !s->ellipsoid_field && !s->field &&
           !s->depth_image;
}

/* Whether walks go through media, or through surfaces that are not there. */
static bool goes_through(const render_scene *s)
{
    return s->volumetric && (s->media.count > 0 || render_some_bsdf(s, bsdf_is_mask));
}

/* Whether paths can begin at all lights and lead to the sensor. They are those of light tracing, which do not
 * disperse. */
static bool paths_from_lights(const render_scene *s)
{
    bool all = s->use_next_event && s->emitters.count > 0 && sensor_of(s->sensor)->link && !s->disperses;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        all &= ((const emitter_class *)(const void *)s->emitters.data[i]->cls)->ray != NULL;
    return all;
}

static uint32_t delta_lights(const render_scene *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        count += ((const emitter_class *)(const void *)s->emitters.data[i]->cls)->delta;
    return count;
}

bool edges_some_delta_light(const render_scene *s) { return delta_lights(s) > 0; }

bool edges_lit_possible(const render_scene *s) { return paths_from_lights(s) && !goes_through(s); }

bool edges_shafts_possible(const render_scene *s)
{
    return paths_from_lights(s) && goes_through(s) && !s->hide_emitters && !render_bends_rays(s);
}

bool edges_light_shared(const render_scene *s)
{
    return edges_lit_possible(s) || (edges_shafts_possible(s) && delta_lights(s) < s->emitters.count);
}

bool edges_from_lights_possible(const render_scene *s)
{
    return edges_lit_possible(s) || edges_shafts_possible(s);
}

bool edges_mirrors_possible(const render_scene *s)
{
    return (s->max_depth < 0 || s->max_depth > 1) && !s->has_groups && !goes_through(s);
}

bool edges_cuts_possible(const render_scene *s) { return s->clipped && sensor_of(s->sensor)->link; }

bool edges_flat_mirror(const render_shape *shape)
{
    return shape->object->cls == &shape_rectangle.base.plugin && shape->bsdf &&
           render_has_bsdf(shape->bsdf, bsdf_is_smooth);
}
