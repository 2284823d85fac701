/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes of scenes in which edges move (edge_cases.h): they shine by themselves, so that what is seen has no
 * noise, or are matte. */
#ifndef BL_TEST_EDGE_SHAPES_H
#define BL_TEST_EDGE_SHAPES_H

#include "support/edge_cases.h"

#define GLOW(rgb)                                                                                            \
    "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf><emitter type='area'><rgb "              \
    "name='radiance' value='" rgb "'/></emitter>"
#define MATTE(rgb)                                                                                           \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='" rgb "'/></bsdf></bsdf>"
#define SHAPE(kind, id, ops, matter) "<shape type='" kind "' id='" id "'>" AT(ops) matter "</shape>"
/* At z = -1. */
#define GROUND(matter) SHAPE("rectangle", "ground", "<scale value='5'/><translate z='-1'/>", matter)
#define SHINING GROUND(GLOW(".7,.6,.3"))
#define BLUE GLOW(".2,.5,.8")
#define RED GLOW(".9,.2,.1")

#endif
