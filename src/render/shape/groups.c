/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes that hold other shapes. merge: in Mitsuba a hint to join what it holds into fewer meshes; here its shapes are what they would be
 * without it. */
#include "render/classes.h"

static const plugin_slot merge_slots[] = {{PLUGIN_SHAPE, "shape", 0, 0}};
const shape_class shape_merge = {.base = {.plugin = {PLUGIN_SHAPE, "merge", NULL, 0, merge_slots, 1, "shapes as if they stood there alone"}}};
