/* SPDX-License-Identifier: BSD-3-Clause
 * The limit of refraction by GGX microfacets, for materials whose index is differentiated. Directions are in
 * the local frame.
 *
 * The facet that refracts wi into wo has its normal along h = wi + n wo, up to the sign. n is the index of
 * the far side over that of the near one, as wi sees it. Where h.z = 0 the facet is vertical, and beyond that
 * no facet refracts. There D is 0 for Beckmann, but about alpha^2 / pi for GGX. So the value of GGX ends in a
 * step, on the circle cos wo = cos wi / n around the normal. That circle moves with n. So the integral over
 * wo has a derivative that no point within the lobe has (Reynolds' transport theorem for the integral over a
 * moving domain):
 *
 *     integral over azimuths of f cos * cos wi / n^2 * (+1 where n > 1, which has the lobe outside of the
 *     circle's plane, else -1).
 *
 * So the circle is sampled as a discrete lobe, LOBE_REFRACTION_LIMIT. The lobe's value is 0, and its
 * derivative is the integrand above. The throughput carries on behind factors of 0 anyway
 * (docs/theory/zero_factors.md).
 *
 * Where samples are attached, vertical facets stay vertical, and no others become so. So no sample crosses
 * the limit. Samples of lights do cross it. Their part of the derivative is left out. */
#ifndef BL_RENDER_REFRACTION_LIMIT_H
#define BL_RENDER_REFRACTION_LIMIT_H

#include "render/bsdf/facet.h"
#include "render/bsdf/microfacet.h"

/* The probability that a sample is of the limit. It is below 1, and 0 where no limit is seen from there.
 * from.z > 0. detached: a bool that says that samples are not attached. */
ir_ref refraction_limit_probability(tracer *t, ir_ref detached, ir_ref n, vec2 alpha, vec3 from);
/* bool: the sample is of the limit. Else u_lobe becomes a uniform number again, for further choices. */
ir_ref refraction_limit_choose(tracer *t, ir_ref chance, ir_ref *u_lobe);
/* Makes r a sample of the limit where r->delta says that it is one. from: wi, turned to the side of +z. u:
 * one of the random numbers of the direction. */
void refraction_limit_sample(const bsdf_context *ctx, bsdf_sample *r, ir_ref chance, ir_ref n, vec3 from,
                             ir_ref u);

/* The vertical facet between wi and a sampled wo. */
facet refraction_limit_facet(tracer *t, ir_ref n, vec3 wi, vec3 wo);
/* How much the domain grows there, per azimuth and unit of cosine, when the index becomes `moved`. */
ir_ref refraction_limit_growth(tracer *t, const facet *a, ir_ref moved);

#endif
