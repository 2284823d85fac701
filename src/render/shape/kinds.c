/* SPDX-License-Identifier: BSD-3-Clause
 * The kinds of primitives a ray can meet, in the order of enum shape_kind. */
#include "render/plan.h"

const shape_kind_class *const shape_kinds[SHAPE_KIND_COUNT] = {
    [SHAPE_TRIANGLES] = &shape_kind_triangles,
    [SHAPE_SPHERE] = &shape_kind_sphere,
    [SHAPE_DISK] = &shape_kind_disk,
    [SHAPE_CYLINDER] = &shape_kind_cylinder,
};
