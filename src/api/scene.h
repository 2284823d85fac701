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

/* Says what is wrong with a descriptor by itself. */
bl_result scene_check_desc(const bl_scene_desc *desc, bl_error *err);
/* Takes the description. desc may be NULL. */
bl_result scene_from_description(bl_context *ctx, scene_description *d, const bl_scene_desc *desc,
                                 bl_scene **out);

/* Begins a budget of the context's limits, for reading an image. budget_end ends it. */
void image_budget_begin(call_budget *b, const bl_context *ctx);

/* Around all that makes a scene: what it takes is taken from the descriptor's limits (either may be NULL).
 * The end is called in any case, with what came of it, and returns that, or BL_ERROR_LIMIT in its place. */
bl_result scene_budget_begin(call_budget *b, const bl_scene_desc *desc, bl_error *err);
bl_result scene_budget_end(call_budget *b, bl_context *ctx, bl_result r);

#endif
