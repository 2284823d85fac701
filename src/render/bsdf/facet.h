/* SPDX-License-Identifier: BSD-3-Clause
 * The facet of a rough surface that takes light from one direction to another, for every material that is
 * made of microfacets. Directions are in the local frame. The half vectors are those of Walter, Marschner, Li
 * and Torrance 2007. */
#ifndef BL_RENDER_FACET_H
#define BL_RENDER_FACET_H

#include "render/bsdf/fresnel.h"

/* A pair of directions, turned (by -1 if need be) so that wi.z > 0, and the facet that connects them. */
typedef struct facet {
    ir_ref valid; /* bool: there is such a facet, and both directions see it from the right side; where it is
                     false, the other fields are stand-ins that keep everything finite */
    ir_ref reflects; /* bool: the facet reflects; else it refracts */
    ir_ref n;        /* index of the far side over that of the near one */
    vec3 wi, wo, m;  /* m.z > 0 */
    ir_ref wi_m, wo_m,
        h2; /* wi.m; wo.m, which is negative for transmission; |h|^2, where h is m before it was normalised */
} facet;

/* The rest of a facet from its wi, wo, valid and half vector h (of any length). up: (0, 0, 1), which stands
 * in for all three vectors where the facet is not valid, so that everything stays finite there. */
facet facet_of_half_vector(tracer *t, facet a, vec3 h, vec3 up);
/* n: the index of the side on which wi does not lie, over that of its own side. decides: the index that says
 * to which side the facet stands, and with that whether there is a facet. It is n, but in frozen evaluations
 * that of the path, since this is a choice: the value does not go to 0 where facets are vertical
 * (refraction_limit.h). */
facet facet_between(tracer *t, ir_ref n, ir_ref decides, vec3 wi, vec3 wo);
/* The facet of a surface that only reflects, and only above. n is not set, and wo_m is wi_m. */
facet facet_reflecting(tracer *t, vec3 wi, vec3 wo);

/* v, or -v where wi lies below the surface. */
vec3 facet_flipped(tracer *t, vec3 wi, vec3 v);
/* The index as wi sees it, far side over near side. eta: index below the surface over that above. */
ir_ref facet_index(tracer *t, ir_ref eta, vec3 wi);

typedef struct facet_sample {
    vec3 wo;
    ir_ref right; /* bool: wo lies on the side where it should */
} facet_sample;
/* Reflection about m, or refraction. from.z > 0, and the result is seen from that side. cosine: from.m. at:
 * Fresnel's equations at that cosine, with the index as `from` sees it. */
facet_sample facet_scatter(tracer *t, vec3 from, vec3 m, ir_ref cosine, const fresnel *at, ir_ref reflects);

/* Normals for materials whose index is differentiated. Total reflection begins like a root. There the
 * derivative of F by eta goes like 1 / cos t, where t is the angle of what crosses. Normals come with
 * cos t d(cos t), so that the mean of this derivative is finite and the mean of its square is not. So where
 * light comes from the denser side, n < 1, a share of the normals is sampled otherwise: their cos t is
 * uniform in [0, 1), at any azimuth around wi. The density of these normals is cos i / (2 pi n^2 cos t).
 *
 * This is not done where samples are attached. The weight of a usual normal is divided by the density of both
 * kinds. It jumps from a positive number to 0 where cos t leaves 0, and a sample that moves would jump when
 * it comes there. `detached` is a bool that says where samples are not attached. */
typedef struct facet_critical {
    ir_ref chosen; /* bool: m is such a normal */
    vec3 m;
    ir_ref rest; /* where it is none: u1, made uniform again, for a usual normal */
} facet_critical;
/* from.z > 0. index: the index as `from` sees it. */
facet_critical facet_critical_normal(tracer *t, ir_ref detached, ir_ref index, vec3 from, ir_ref u1,
                                     ir_ref u2);
/* The density of the facet's normal by both kinds of normals together. usual: that of usual normals alone. */
ir_ref facet_critical_density(tracer *t, ir_ref detached, const facet *a, ir_ref usual);

#endif
