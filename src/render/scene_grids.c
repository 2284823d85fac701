/* SPDX-License-Identifier: BSD-3-Clause
 * Grids of density that end within their media. Rays enter and leave their boxes where no surface is, and the
 * density steps there (docs/theory/moving_geometry.md). Shapes are asked for where they are when the scene is
 * loaded. */
#include "render/medium/media.h"
#include "render/scene_internal.h"

/* Whether the medium inside of a shape goes on where its grid has ended. */
static bool reaches_beyond_grid(const render_scene *s, const render_shape *shape)
{
    float bounds[6];
    double low[3], high[3];
    const scene_value *flipped = scene_find(shape->object, "flip_normals");
    bool beyond = flipped && flipped->number != 0; /* the medium has no end */
    render_shape_bounds(s, shape, bounds);
    medium_box(shape->interior, low, high);
    for (int k = 0; k < 3; k++) {
        double slack = 1e-5 * (high[k] - low[k]);
        beyond |= (double)bounds[k] < low[k] - slack || (double)bounds[3 + k] > high[k] + slack;
    }
    return beyond;
}

bool render_grids_end(const render_scene *s)
{
    bool any = false;
    for (uint32_t m = 0; m < s->media.count && s->volumetric; m++) {
        const scene_object *medium = s->media.data[m];
        bool grid = scene_is(medium, &medium_heterogeneous.base.plugin), enclosed = false;
        for (uint32_t i = 0; i < s->shapes.count && grid; i++) {
            const render_shape *shape = &s->shapes.data[i];
            enclosed |= shape->interior == medium;
            any |= shape->interior == medium && reaches_beyond_grid(s, shape);
        }
        any |= grid && !enclosed;
    }
    return any;
}
