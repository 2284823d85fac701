/* SPDX-License-Identifier: BSD-3-Clause
 * A volume as a texture, for materials and for lights on shapes: its value at the point of the surface in
 * the world. */
#include "render/classes.h"

static uint32_t volume_needs(const class_node *n)
{
    (void)n;
    return NEED_POSITION;
}

static color volume_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    (void)uv;
    BL_ASSERT(t->surface, "a volume is read as a texture where there is no surface");
    return plan_volume(t, n, record, "volume", t->surface->p);
}

static const plugin_param volume_params[] = {
    {"volume", PLUGIN_VOLUMETRIC, PLUGIN_REQUIRED, NULL, 0, 0, "what is looked up"},
};
const texture_class texture_volume = {
    .base = {.plugin = {PLUGIN_TEXTURE, "volume", PLUGIN_TABLE(volume_params), PLUGIN_NONE,
                        "a volume where the surface is"},
             .needs = volume_needs},
    .eval = volume_eval,
};
