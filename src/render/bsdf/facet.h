/* SPDX-License-Identifier: BSD-3-Clause
 * The facet of a rough surface that takes light from one direction to another, for every material made of
 * microfacets. Local frame. */
#ifndef BL_RENDER_FACET_H
#define BL_RENDER_FACET_H

#include "render/bsdf/fresnel.h"

/* A pair of directions, turned (by -1 if need be) so that wi.z > 0, and the facet that connects them. */
typedef struct facet {
    ir_ref valid; /* bool: there is one, and both see it from the right side; where not, stand-ins for which
                     all is finite */
    ir_ref reflects; /* bool */
    ir_ref n;        /* index of the far side over the near one */
    vec3 wi, wo, m;  /* m.z > 0 */
    ir_ref wi_m, wo_m,
        h2; /* cosines, the second negative for transmission; |h|^2, h being m before it was normalised */
} facet;

/* n: index of the side that wi does not lie on over that of its own. decides: which index says to what side
 * the facet stands, and with that whether there is one; n, or in frozen evaluations that of the path, since
 * it is a choice (the value does not go to 0 where facets are vertical: refraction_limit.h). */
facet facet_between(tracer *t, ir_ref n, ir_ref decides, vec3 wi, vec3 wo);
/* The same of a surface that only reflects, and only above: n is not set, wo_m is wi_m. */
facet facet_reflecting(tracer *t, vec3 wi, vec3 wo);

/* v, or -v where wi lies below the surface. */
vec3 facet_flipped(tracer *t, vec3 wi, vec3 v);
/* eta (index below over index above) as wi sees it: far side over near side. */
ir_ref facet_index(tracer *t, ir_ref eta, vec3 wi);

typedef struct facet_sample {
    vec3 wo;
    ir_ref right; /* bool: wo lies on the side that it should */
} facet_sample;
/* Reflection about m, or refraction: from.z > 0, and so on for all results. at: Fresnel at `cosine`, from.m,
 * with the index as `from` sees it. */
facet_sample facet_scatter(tracer *t, vec3 from, vec3 m, ir_ref cosine, const fresnel *at, ir_ref reflects);

/* Normals for materials whose index is differentiated. Total reflection begins like a root: there F has a
 * derivative by eta like 1 / cos t, t being the angle of what crosses. Normals come with cos t d(cos t), so
 * that the mean of that is finite and its square is not. Where light comes from the denser side, n < 1, a
 * share of the normals has cos t uniform in [0, 1) instead, at any azimuth around wi. The density of these is
 * cos i / (2 pi n^2 cos t).
 *
 * Not where samples are attached: the weight of a usual normal, divided by the density of both, falls from a
 * number to 0 where cos t leaves 0, and a sample that moves jumps when it comes there. `detached`, a bool,
 * says where samples are not attached. */
typedef struct facet_critical {
    ir_ref chosen; /* bool: m is such a normal; */
    vec3 m;
    ir_ref rest; /* else u1, uniform again, for the usual ones */
} facet_critical;
/* from.z > 0; index: as `from` sees it. */
facet_critical facet_critical_normal(tracer *t, ir_ref detached, ir_ref index, vec3 from, ir_ref u1,
                                     ir_ref u2);
/* The density of the facet's normal with that share; usual: of the others. */
ir_ref facet_critical_density(tracer *t, ir_ref detached, const facet *a, ir_ref usual);

#endif
