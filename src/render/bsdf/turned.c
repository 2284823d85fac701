/* SPDX-License-Identifier: BSD-3-Clause
 * Mirrored and refracted directions as functions of parameters, for materials and those that hold some. */
#include "render/classes.h"

bool bsdf_turns(const scene_object *bsdf)
{
    bool any = bsdf->child_count == 0 && ((const bsdf_class *)(const void *)bsdf->cls)->turned;
    for (uint32_t k = 0; k < bsdf->child_count; k++)
        any |= bsdf_turns(bsdf->children[k]);
    return any;
}

vec3 bsdf_turned(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref lobe)
{
    const bsdf_class *cls = bsdf_of(n);
    return cls->turned ? cls->turned(t, n, record, wi, uv, lobe)
                       : v3_neg(t, wi); /* nobody asks: it has no such lobe */
}
