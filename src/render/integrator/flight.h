/* SPDX-License-Identifier: BSD-3-Clause
 * What the files about stretches in media share: medium.c, track.c, flight.c. */
#ifndef BL_RENDER_FLIGHT_H
#define BL_RENDER_FLIGHT_H

#include "render/integrator/kernel.h"

/* ---- medium.c ---- */

bool media_any(const walk *w, bool homogeneous);      /* the plan has media of this kind */
bool media_want_extinction(const walk *w);            /* the gradient of some medium's extinction is wanted */
bool media_exact(const walk *w);                      /* grey extinction whose gradient nobody wants: tracking divides by what it multiplies with */
color stretch_extinction(walk *w, const walk_stretch *s, vec3 p, bool tracked);
color stretch_albedo(walk *w, const walk_stretch *s, vec3 p, bool tracked);
vec3 stretch_point(tracer *t, const walk_stretch *s, ir_ref distance);

/* Loop state of values that are one number where no extinction differs by channel. */
void channels_put(const walk *w, loop_state *state, color c);
color channels_get(const walk *w, loop_state *state);
/* Seeds for a factor of this value (flight_adjoint, walk.h). */
color channels_seed(walk *w, color value, color to_come, color missing);

/* sum of share * chance; and share * chance over that. */
ir_ref share_mixture(walk *w, color share, color chance);
color share_after(walk *w, color share, color chance, ir_ref mixed);

/* ---- track.c: heterogeneous media, as the functions of walk.h ---- */

walk_flight track_flight(walk *w, const walk_stretch *s, color share);
color track_weight(walk *w, const walk_flight *fl, color share);
void track_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing);
color track_transmittance(walk *w, walk_stretch *s, bool tracked);
void track_stretch_adjoint(walk *w, walk_stretch *s, ir_ref when, color to_come);

#endif
