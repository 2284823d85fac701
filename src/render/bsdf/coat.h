/* SPDX-License-Identifier: BSD-3-Clause
 * What rough plastics share: a coat of microfacets that reflect, over a diffuse base. One of the two is
 * sampled, the coat with probability p; a direction has the density of both. n: a class whose variant is
 * microfacet_attached_variant's, perhaps with more. */
#ifndef BL_RENDER_COAT_H
#define BL_RENDER_COAT_H

#include "render/bsdf/facet.h"
#include "render/bsdf/microfacet.h"

vec3 coat_sample(const bsdf_context *ctx, vec2 alpha, ir_ref p, ir_ref u_lobe, ir_ref u1, ir_ref u2);
ir_ref coat_pdf(tracer *t, const class_node *n, vec2 alpha, ir_ref p, const facet *a);
/* Attached sampling (bsdf_class.attached) of the coat; the base, COAT_BASE in the lobe's number, is
 * detached. */
enum { COAT_BASE = 1 };
ir_ref coat_lobe(tracer *t, const class_node *n, ir_ref p, ir_ref u_lobe); /* the sample's lobe number */
/* A bit of the variant, above those of microfacet_attached_variant: the coat may be smooth enough to be
 * attached. Without it nothing is. */
enum { COAT_ATTACHES = 32 };
ir_ref coat_roughness(tracer *t, const class_node *n, vec2 alpha, ir_ref lobe); /* bsdf_class.roughness */
bsdf_attached coat_attached(const bsdf_context *ctx, vec2 alpha, ir_ref p, const bsdf_draw *draw);
/* D(m) G(wi) G(wo) / (4 cos wi): times the Fresnel reflectance the coat's value. */
ir_ref coat_facets(tracer *t, const class_node *n, vec2 alpha, const facet *a);
/* The sum of the three channels. */
ir_ref coat_sum(tracer *t, color v);

#endif
