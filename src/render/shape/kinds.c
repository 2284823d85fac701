/* SPDX-License-Identifier: BSD-3-Clause
 * The table of the kinds of primitives that a ray can meet, in the order of enum shape_kind; the
 * children that every shape can hold; and how shapes put words into the scene. */
#include "render/classes.h"

const shape_kind_class *const shape_kinds[SHAPE_KIND_COUNT] = {
    [SHAPE_TRIANGLES] = &shape_kind_triangles,
    [SHAPE_SPHERE] = &shape_kind_sphere,
    [SHAPE_DISK] = &shape_kind_disk,
    [SHAPE_CYLINDER] = &shape_kind_cylinder,
    [SHAPE_SDF] = &shape_kind_sdf,
    [SHAPE_LINEAR_CURVE] = &shape_kind_linear,
    [SHAPE_BSPLINE] = &shape_kind_bspline,
    [SHAPE_ELLIPSOID] = &shape_kind_ellipsoid,
};

uint32_t shape_put_words(render_scene *s, const void *data, size_t bytes)
{
    BL_ASSERT(bytes % 4 == 0, "%zu bytes are no words", bytes);
    uint32_t at = s->geometry.count, words = (uint32_t)(bytes / 4);
    array_reserve(&s->geometry, at + words);
    memcpy(s->geometry.data + at, data, bytes);
    s->geometry.count += words;
    return at;
}
