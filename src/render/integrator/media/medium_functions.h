/* SPDX-License-Identifier: BSD-3-Clause
 * What the traced functions of media take and return, as vertex/plugin_functions.h says it of the other
 * plugins. The coefficients take a point and return a colour. The area of microflakes takes a direction and a
 * point. All of them take the record first. */
#ifndef BL_RENDER_MEDIUM_FUNCTIONS_H
#define BL_RENDER_MEDIUM_FUNCTIONS_H

#include "render/integrator/media/free_flight.h"
#include "render/integrator/vertex/plugin_functions.h"

/* Result of `bounds`: a bound of the extinction, and the box outside of which it is 0. */
typedef struct medium_bounds {
    ir_ref majorant;
    vec3 low, high;
} medium_bounds;
void medium_bounds_visit(ref_list *l, medium_bounds *b);

/* Argument and result of `into`: a ray in the world, and the same in the volume's space. Argument of `cell`,
 * with a distance (f32) behind it. */
void volume_ray_visit(ref_list *l, volume_ray *r);
/* Result of `cell`. */
void cell_bounds_visit(ref_list *l, cell_bounds *c);

#endif
