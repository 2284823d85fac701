/* SPDX-License-Identifier: BSD-3-Clause
 * The isotropic phase function: the same value, 1 / (4 pi), for every direction. It has no parameters. */
#include "render/classes.h"

static const float inverse_sphere = 0.0795774715459476678844f; /* 1 / (4 pi) */

static ir_ref isotropic_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    (void)n, (void)record, (void)wi, (void)wo, (void)p;
    return t_f32(t, inverse_sphere);
}

static vec3 isotropic_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p,
                             const ir_ref u[3])
{
    (void)n, (void)record, (void)wi, (void)p;
    return warp_uniform_sphere(t, u[1], u[2]);
}

const phase_class phase_isotropic = {
    .base.plugin = {PLUGIN_PHASE, "isotropic", PLUGIN_NONE, PLUGIN_NONE, "the same into every direction"},
    .sample = isotropic_sample,
    .value = isotropic_value,
    .pdf = isotropic_value,
};
