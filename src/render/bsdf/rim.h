/* SPDX-License-Identifier: BSD-3-Clause
 * The rim of what GGX facets refract, for materials whose index is differentiated. Local frame.
 *
 * The facet that refracts wi into wo stands along h = wi + n wo, up to the sign; where h.z = 0 it is
 * vertical, and beyond there is none. D is 0 there for Beckmann, but alpha^2 / pi or so for GGX: the value
 * ends in a step, on the circle cos wo = cos wi / n around the normal. That moves with n, so that the
 * integral over wo has a derivative that no point within the lobe has,
 *
 *     integral over azimuths of f cos * cos wi / n^2 * (+1 where n > 1, which has the lobe outside of the
 *     circle's plane, else -1).
 *
 * So the circle is sampled, as a discrete lobe (LOBE_RIM): its value is 0, and its derivative that (an
 * integral over a moving domain: Reynolds' theorem). The throughput carries on behind factors of 0 anyway
 * (docs/theory/zero_factors.md). n: index of the far side over the near one, as wi sees it.
 *
 * Where samples are attached facets stay vertical or not, and nothing crosses the rim (but light sampling,
 * for the smoothness of which it is none). */
#ifndef BL_RENDER_RIM_H
#define BL_RENDER_RIM_H

#include "render/bsdf/facet.h"
#include "render/bsdf/microfacet.h"

/* How likely a sample is of the rim, below 1; 0 where none is seen from there. from.z > 0; held, a bool:
 * samples are not attached. */
ir_ref rim_chance(tracer *t, ir_ref held, ir_ref n, vec2 alpha, vec3 from);
/* bool: whether the sample is of it; u_lobe becomes a number for what else to choose. */
ir_ref rim_choose(tracer *t, ir_ref chance, ir_ref *u_lobe);
/* Where it is (a delta sample r), makes it one. from: wi, on the side of +z; u: a number of the
 * direction's. */
void rim_instead(tracer *t, bsdf_sample *r, ir_ref chance, ir_ref n, vec3 wi, vec3 from, ir_ref u);

/* The vertical facet between wi and a sampled wo. */
facet rim_facet(tracer *t, ir_ref n, vec3 wi, vec3 wo);
/* By what the domain grows there, per azimuth and unit of cosine, when the index becomes `moved`. */
ir_ref rim_growth(tracer *t, const facet *a, ir_ref moved);

#endif
