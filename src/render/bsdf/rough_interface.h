/* SPDX-License-Identifier: BSD-3-Clause
 * What a rough interface between dielectrics does, at the first facet, with all light that comes from one
 * direction. wi is at the cosine mu to the normal. eta is the index of the far side over that of the side
 * that light comes from. Both quantities are means over the normals m that wi sees:
 *
 *     transmittance  the mean of (1 - F(wi.m)) G(wo), where wo is wi refracted at m;
 *     reflectance    the mean of F(wi.m) G(wo), where wo is wi mirrored at m.
 *
 * Together they are less than 1, because light that one facet throws at another is lost. The facets are those
 * of Walter et al. 2007. */
#ifndef BL_RENDER_ROUGH_INTERFACE_H
#define BL_RENDER_ROUGH_INTERFACE_H

#include "render/bsdf/microfacet.h"

enum { ROUGH_COSINES = 64 };

/* The transmittance at the cosine k / (ROUGH_COSINES - 1), where k is a u32. Its loops only add, so that it
 * can be differentiated in both modes. there: a bool; where it is false, the result is 0. */
ir_ref rough_transmittance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref k, ir_ref there);
/* The mean of 2 mu times the reflectance over all these cosines, which is Mitsuba's mean over a hemisphere.
 * It can be differentiated in both modes, too, and is 0 where `there` is false. */
ir_ref rough_mean_reflectance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref there);

#endif
