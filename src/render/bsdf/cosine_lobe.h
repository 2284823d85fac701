/* SPDX-License-Identifier: BSD-3-Clause
 * The diffuse lobe of one-sided materials: directions are sampled with density cos / pi on the side of the
 * normal, detached. Its parts have the signatures of bsdf_class. */
#ifndef BL_RENDER_COSINE_LOBE_H
#define BL_RENDER_COSINE_LOBE_H

#include "render/classes.h"

/* bool: both local directions are on the side of the normal. */
ir_ref bsdf_both_above(tracer *t, vec3 wi, vec3 wo);
ir_ref cosine_pdf(const bsdf_context *ctx, vec3 wo); /* 0 unless both directions are above */
bsdf_sample cosine_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2);

#endif
