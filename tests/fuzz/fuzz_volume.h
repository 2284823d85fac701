/* SPDX-License-Identifier: BSD-3-Clause
 * What must hold of every grid that a reader returns. */
#ifndef BL_FUZZ_VOLUME_H
#define BL_FUZZ_VOLUME_H

#include "scene/scene.h"

#include <math.h>

/* Frees the grid. */
static inline void fuzz_check_volume(scene_volume *v, bl_result result, const bl_error *err)
{
    BL_ASSERT((result == BL_OK) == (v->values != NULL) && result == err->code, "result %d", result);
    size_t count = result == BL_OK ? (size_t)v->size[0] * v->size[1] * v->size[2] * v->channels : 0;
    for (size_t i = 0; i < count; i++)
        BL_ASSERT(isfinite(v->values[i]), "value %zu", i);
    volume_free(v);
}

#endif
