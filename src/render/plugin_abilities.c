/* SPDX-License-Identifier: BSD-3-Clause
 * What can be done with a plugin, read from its class: which parameters are differentiable, which hooks it
 * has. docs/plugins.md shows it; tests/plugins.py holds it against what scenes of the integrators do. */
#include "render/classes.h"

enum { DERIVATIVES = ABILITY_REVERSE | ABILITY_FORWARD };

/* Has values of its own that gradients are taken by. */
static bool differentiates(const plugin_class *cls)
{
    bool any = ((const render_class *)(const void *)cls)->data_name != NULL;
    for (uint32_t k = 0; k < cls->param_count; k++) {
        const plugin_param *p = &cls->params[k];
        any |= p->kind == PLUGIN_TEXTURED || p->kind == PLUGIN_VOLUMETRIC ||
               p->flags & (PLUGIN_DIFFERENTIABLE | PLUGIN_STANDS);
    }
    return any;
}

static bool to_world_differentiates(const plugin_class *cls)
{
    bool any = false;
    for (uint32_t k = 0; k < cls->param_count; k++)
        any |= cls->params[k].kind == PLUGIN_TRANSFORM && cls->params[k].flags & PLUGIN_DIFFERENTIABLE;
    return any;
}

/* Holds others of its own category: a mixture, a coat, a group. */
static bool nests(const plugin_class *cls)
{
    bool any = false;
    for (uint32_t k = 0; k < cls->slot_count; k++)
        any |= cls->slots[k].category == cls->category;
    return any;
}

/* What its own parameters move, or what follows when something else does. */
static bool moves(const plugin_class *cls)
{
    const bsdf_class *bsdf = (const bsdf_class *)(const void *)cls;
    const emitter_class *emitter = (const emitter_class *)(const void *)cls;
    switch (cls->category) {
    case PLUGIN_BSDF:
        return bsdf->lobe_direction || bsdf->attached;
    case PLUGIN_EMITTER:
        return emitter->pose_params != 0 || emitter->on_shape;
    case PLUGIN_SHAPE:
    case PLUGIN_SENSOR:
        return to_world_differentiates(cls);
    default:
        return false;
    }
}

uint32_t render_abilities(const plugin_class *cls)
{
    uint32_t nested = nests(cls) ? ABILITY_NESTED : 0;
    if (cls->category == PLUGIN_INTEGRATOR)
        return ABILITY_IMAGE | nested | (nested ? 0 : integrator_abilities(cls));
    return ABILITY_IMAGE | ABILITY_IN_MEDIA | nested | (differentiates(cls) ? DERIVATIVES : 0) |
           (moves(cls) ? ABILITY_MOVING : 0);
}
