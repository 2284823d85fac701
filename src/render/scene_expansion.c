/* SPDX-License-Identifier: BSD-3-Clause
 * How large materials, textures, volumes and phase functions become in kernels. An object that several others
 * refer to is one object of the scene, but kernels and records hold it once for every reference. A chain of
 * objects that refer twice to the one before doubles with each of them. So the sizes are bounded here, before
 * anything walks these trees as trees. Every object is measured once, whatever refers to it. */
#include "render/scene_internal.h"

enum {
    UNKNOWN = 0,
    EXPANDED_MOST = 512, /* a blend of principled materials with textures has 50 */
    BLENDS_MOST = 20     /* bits of a lobe's number that tell their parts apart: bsdf/blendbsdf.c */
};

/* What an object is together with all that kernels expand below it. */
typedef struct expansion {
    uint32_t objects, blends; /* in all; blends on the longest way down */
} expansion;

static bool expands(const scene_object *o)
{
    const plugin_category c = o->cls->category;
    return c == PLUGIN_BSDF || c == PLUGIN_TEXTURE || c == PLUGIN_PHASE || c == PLUGIN_VOLUME;
}

static bl_result check(const scene_object *o, const expansion *e, bl_error *err)
{
    if (!expands(o))
        return BL_OK;
    if (e->objects > EXPANDED_MOST)
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, o->where,
            "this %s stands for more than %u objects, those that are referred to several times "
            "counted so often; a kernel would hold them all",
            o->cls->name, EXPANDED_MOST);
    if (e->blends > BLENDS_MOST)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where, "%s: more than %u blends within blends",
                           o->cls->name, BLENDS_MOST);
    return BL_OK;
}

static bl_result measure(expansion *known, const scene_object *o, bl_error *err)
{
    expansion *e = &known[o->index];
    if (e->objects != UNKNOWN)
        return BL_OK;
    for (uint32_t k = 0; k < o->cls->param_count + o->child_count; k++) {
        const bool child = k >= o->cls->param_count;
        const scene_object *part = child ? o->children[k - o->cls->param_count] : o->values[k].object;
        if (!part)
            continue;
        TRY(measure(known, part, err));
        const expansion *p = &known[part->index];
        if (expands(part)) /* each at most EXPANDED_MOST, and `objects` is checked after every one */
            e->objects += p->objects, e->blends = p->blends > e->blends ? p->blends : e->blends;
        TRY(check(o, e, err));
    }
    e->objects++, e->blends += scene_is(o, &bsdf_blendbsdf.base.plugin);
    return check(o, e, err);
}

bl_result render_check_expansion(const render_scene *s, bl_error *err)
{
    expansion *known = memory_zeroed(s->description->object_count + 1u, sizeof *known);
    if (!known)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    bl_result r = measure(known, s->description->root, err);
    memory_free(known);
    return r;
}
