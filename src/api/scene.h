/* SPDX-License-Identifier: BSD-3-Clause
 * A loaded scene. */
#ifndef BL_API_SCENE_H
#define BL_API_SCENE_H

#include "api/context.h"
#include "render/render_scene.h"

struct bl_scene {
    bl_context *context;
    render_scene *render;
};

/* Takes the description. desc may be NULL. */
bl_result scene_from_description(bl_context *ctx, scene_description *d, const bl_scene_desc *desc,
                                 bl_scene **out);

#endif
