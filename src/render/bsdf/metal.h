/* SPDX-License-Identifier: BSD-3-Clause
 * Conductors by name, for the parameter "material". Their curves of the index are in metal_samples.c. */
#ifndef BL_RENDER_METAL_H
#define BL_RENDER_METAL_H

#include "render/classes.h"

typedef struct metal {
    const char *name;
    const double (*samples)[3]; /* wavelength in nm, which ascends; real part of the index; extinction */
    uint32_t count;
} metal;
extern const metal metals[]; /* metal_samples.c, sorted by name */
extern const uint32_t metal_count;

/* The load hook, or a part of it, of classes with "material", "eta" and "k". It gives eta and k the colours
 * of the material, or its curves where light is spectral. A name that is not known is an error, and so is a
 * name beside eta or k. */
bl_result metal_load(render_scene *s, const scene_object *o, bl_error *err);

#endif
