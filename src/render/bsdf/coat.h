/* SPDX-License-Identifier: BSD-3-Clause
 * What rough plastics share: a coat of microfacets that reflect, over a diffuse base. One of the two is
 * sampled, the coat with probability p. The density of a direction is that of both together. n: a class whose
 * variant has the bits of microfacet_attached_variant, and perhaps more. */
#ifndef BL_RENDER_COAT_H
#define BL_RENDER_COAT_H

#include "render/bsdf/microfacet.h"

vec3 coat_sample(const bsdf_context *ctx, vec2 alpha, ir_ref p, ir_ref u_lobe, ir_ref u1, ir_ref u2);
ir_ref coat_pdf(tracer *t, const class_node *n, vec2 alpha, ir_ref p, const facet *a);
/* Samples of the coat may be attached (bsdf_class.attached). Samples of the base are detached, and their lobe
 * number is COAT_BASE. */
enum { COAT_BASE = 1 };
ir_ref coat_lobe(tracer *t, const class_node *n, ir_ref p, ir_ref u_lobe); /* the sample's lobe number */
/* A bit of the variant, above those of microfacet_attached_variant: the coat may be smooth enough to be
 * attached. Without this bit nothing is attached. */
enum { COAT_ATTACHES = 32 };
ir_ref coat_roughness(tracer *t, const class_node *n, vec2 alpha, ir_ref lobe); /* bsdf_class.roughness */
bsdf_attached coat_attached(const bsdf_context *ctx, vec2 alpha, ir_ref p, const bsdf_draw *draw);

#endif
