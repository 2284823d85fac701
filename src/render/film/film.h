/* SPDX-License-Identifier: BSD-3-Clause
 * Films: what an image is written as. */
#ifndef BL_RENDER_FILM_H
#define BL_RENDER_FILM_H

#include "render/render_scene.h"

bool film_has_alpha(const render_scene *s);
bool film_samples_border(
    const render_scene *s); /* samples may lie beyond the window, where a pixel's filter reaches */
/* The image (RGB) and, where given, the scene's channels, in the film's formats, by the ending of path. */
bl_result film_write(const render_scene *s, const char *path, const float *image, const float *channels,
                     bl_error *err);

#endif
