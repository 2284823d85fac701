/* SPDX-License-Identifier: BSD-3-Clause
 * Modes: how many channels light has on a path, what they mean, and how many the film has
 * (docs/theory/modes.md). A mode is chosen when a scene is loaded. Traces follow it (tracer.channels,
 * tracer.light). */
#ifndef BL_RENDER_MODE_H
#define BL_RENDER_MODE_H

#include "render/trace.h"
#include "scene/scene.h"

/* In the order of bl_mode_name. */
enum mode_index {
    MODE_RGB,
    MODE_MONO,
    MODE_SPECTRAL,
    MODE_RGB_POLARIZED,
    MODE_MONO_POLARIZED,
    MODE_SPECTRAL_POLARIZED,
    MODE_COUNT
};

typedef struct render_mode {
    const char *name;
    enum light_kind light;
    uint32_t channels;      /* of light */
    uint32_t film_channels; /* of the image */
    bool polarized;         /* light has a Stokes vector per channel, of which the film shows the intensity */
} render_mode;
extern const render_mode render_modes[MODE_COUNT];

/* Whether light and image are red, green and blue. */
static inline bool mode_is_rgb(const render_mode *m) { return m == &render_modes[MODE_RGB]; }

/* The mode of this name, which may also be that of a variant of Mitsuba (llvm_ad_mono); NULL: rgb. */
bl_result render_mode_find(const char *name, const render_mode **out, bl_error *err);

/* Whether the light of the mode of this name is spectral: for scene_load_options. */
bl_result render_mode_spectral(const char *name, bool *spectral, bl_error *err);

#endif
