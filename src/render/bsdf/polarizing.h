/* SPDX-License-Identifier: BSD-3-Clause
 * What polariser, retarder and circular polariser share: plates without thickness, through which light goes
 * straight on, as one null lobe. In modes without polarisation they only take a share of it, as in Mitsuba's
 * variants without. */
#ifndef BL_RENDER_POLARIZING_H
#define BL_RENDER_POLARIZING_H

#include "render/classes.h"

/* The parameter "transmittance" times the share of unpolarised light that passes. */
color polarizing_value(const bsdf_context *ctx, ir_ref delta, float share);
/* The hook `polarized`: an element whose own axis lies at an angle in degrees, times "transmittance". The
 * angle is counted from the local x about z, clockwise, as in Mitsuba. */
bsdf_polarized polarizing_element(const bsdf_context *ctx, const mueller *element, ir_ref degrees,
                                  ir_ref delta);
/* The hook `check`. Where light is not polarised it warns, once for a scene, and says of angles and delays
 * that nothing depends on them. */
bl_result polarizing_check(render_scene *s, const scene_object *o, bl_error *err);

#endif
