/* SPDX-License-Identifier: BSD-3-Clause
 * The table of the kinds of primitives that a ray can meet, in the order of enum shape_kind; and the
 * children that every shape can hold. */
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
