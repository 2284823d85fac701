/* SPDX-License-Identifier: BSD-3-Clause
 * Conductors by name: the parameter "material". */
#ifndef BL_RENDER_METAL_H
#define BL_RENDER_METAL_H

#include "render/classes.h"

typedef struct metal {
    const char *name;
    const double (*samples)[3]; /* wavelength in nm, ascending; real part of the index, extinction */
    uint32_t count;
} metal;
extern const metal metals[]; /* metal_samples.c, by name */
extern const uint32_t metal_count;

/* For load hooks of classes with "material", "eta" and "k": gives eta and k the material's colours. An error
 * for a name that is not known, and for one beside eta or k. */
bl_result metal_load(const scene_object *o, bl_error *err);

#endif
