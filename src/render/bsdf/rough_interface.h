/* SPDX-License-Identifier: BSD-3-Clause
 * What a rough interface between dielectrics does, at the first facet, with the light from a whole direction.
 * wi at cosine mu, the mean over the normals m that it sees, eta the index of the far side over that of the
 * side that light comes from:
 *
 *     transmittance  of (1 - F(wi.m)) G(wo), wo being wi refracted at m;
 *     reflectance    of F(wi.m) G(wo), wo being wi mirrored at m.
 *
 * Together they are less than 1: what one facet throws at another is lost. */
#ifndef BL_RENDER_ROUGH_INTERFACE_H
#define BL_RENDER_ROUGH_INTERFACE_H

#include "render/bsdf/microfacet.h"

enum { ROUGH_COSINES = 64 };

/* At the cosine k / (ROUGH_COSINES - 1), k: u32. Loops in it only add, so it can be differentiated in both
 * modes. there: bool; else 0. */
ir_ref rough_transmittance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref k, ir_ref there);
/* The mean of 2 mu times it over all these cosines (Mitsuba's mean over a hemisphere). Likewise. */
ir_ref rough_mean_reflectance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref there);

#endif
