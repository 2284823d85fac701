/* SPDX-License-Identifier: BSD-3-Clause
 * What is said of the border of a medium that bends rays, when a scene is loaded. A material that refracts
 * has one index, and the medium's may vary along its border, or be another one. Light then bends at the
 * border by the material's index alone. So the index is looked up at points of the shape, and a warning says
 * where it differs. */
#include "render/classes.h"
#include "render/medium/media.h"
#include "render/scene_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Two indices are alike: air's differs from 1 by less. */
static const double alike = 2e-3;

/* The value of the volume at the voxel that holds p, which is looked for within the grid. */
static double volume_at(const render_scene *s, const scene_object *volume, const double p[3])
{
    const uint32_t data = render_find_parameter(s, volume, PLAN_DATA_SLOT);
    double inverse[16], local[3];
    if (data == PLAN_NONE) { /* a number, the value of a texture that is constant */
        const uint32_t number = render_last_parameter(s, scene_get(volume, "value")->object);
        return number ? (double)render_initial(s, &s->parameters.data[number - 1])[0] : 1;
    }
    if (!matrix_invert(scene_get(volume, "to_world")->matrix, inverse))
        return 1;
    const render_parameter *q = &s->parameters.data[data];
    matrix_apply(inverse, p, 1, local);
    uint32_t at = 0;
    for (int k = 2; k >= 0; k--) { /* z, y, x */
        const uint32_t size = q->shape[2 - k];
        at = at * size + (uint32_t)fmin(fmax(local[k] * size, 0), size - 1);
    }
    return (double)render_initial(s, q)[at];
}

/* As profile_at of grin.c. */
static double profile_factor(const scene_object *medium, const double p[3])
{
    const char *profile = scene_get(medium, "profile")->text;
    const double *center = scene_get(medium, "center")->vector, radius = scene_number(medium, "radius");
    double square = 0;
    for (int k = 0; k < 3; k++)
        square += (p[k] - center[k]) * (p[k] - center[k]) / (radius * radius);
    return strcmp(profile, "luneburg") == 0  ? sqrt(fmax(2 - square, 0.25))
           : strcmp(profile, "maxwell") == 0 ? 2 / (1 + square)
                                             : 1;
}

/* Widens [range[0], range[1]] by the index at the middles of the faces of a box: points of a curved
 * primitive. A triangle has its own middle. */
static void look_at(const render_scene *s, const render_shape *shape, const float box[6], double range[2])
{
    double middle[3];
    for (int k = 0; k < 3; k++)
        middle[k] = 0.5 * ((double)box[k] + (double)box[3 + k]);
    const int points = shape->kind == SHAPE_TRIANGLES ? 1 : 6;
    for (int i = 0; i < points; i++) {
        double p[3] = {middle[0], middle[1], middle[2]};
        if (points > 1)
            p[i % 3] = (double)box[i];
        const double n =
            volume_at(s, scene_get(shape->interior, "ior")->object, p) * profile_factor(shape->interior, p);
        range[0] = fmin(range[0], n), range[1] = fmax(range[1], n);
    }
}

void grin_warn_of_border(const render_scene *s, const render_shape *shape)
{
    if (!shape->interior || !medium_bends_rays(shape->interior) || !shape->bsdf)
        return;
    const char *data = ((const render_class *)(const void *)shape->bsdf->cls)->data_name;
    const uint32_t eta =
        data && strcmp(data, "eta") == 0 ? render_find_parameter(s, shape->bsdf, PLAN_DATA_SLOT) : PLAN_NONE;
    double range[2] = {DBL_MAX, -DBL_MAX};
    for (uint32_t i = 0; i < shape->primitive_count && eta != PLAN_NONE; i++)
        look_at(s, shape, s->primitives.data[shape->first_entry_primitive + i].bounds, range);
    if (eta == PLAN_NONE || range[0] > range[1])
        return;
    const double by = (double)render_initial(s, &s->parameters.data[eta])[0];
    if (fabs(range[0] - by) > alike || fabs(range[1] - by) > alike)
        text_add(&s->description->warnings,
                 "%s:%u: grin: along the border its index is %.4g to %.4g, and the border's %s refracts by "
                 "%.4g; rays bend there by the latter alone\n",
                 shape->interior->where.file, shape->interior->where.line, range[0], range[1],
                 shape->bsdf->cls->name, by);
}
