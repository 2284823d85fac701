/* SPDX-License-Identifier: BSD-3-Clause
 * A grey or coloured wall under a lamp, seen from in front: the scene of tests of fits. Its parameters are
 * wall.reflectance.value and lamp.radiance.value. */
#ifndef BL_TEST_LIT_WALL_H
#define BL_TEST_LIT_WALL_H

#include "support/scene_device.h"

/* side: of the film, in pixels; reflectance: numbers of an <rgb>; more: further objects, as XML. */
bl_scene *lit_wall_load(scene_device *d, uint32_t side, const char *reflectance, const char *more);

#endif
