/* SPDX-License-Identifier: BSD-3-Clause
 * What others ask of a film, and how the image goes to a file. */
#ifndef BL_RENDER_FILM_H
#define BL_RENDER_FILM_H

#include "render/render_scene.h"

bool film_has_alpha(const render_scene *s);
/* Whether samples may lie beyond the window, where the filters of pixels reach. */
bool film_samples_border(const render_scene *s);
/* Writes the image (RGB), and the channels of the scene where they are given, in the formats of the film.
 * The ending of path decides the format of the file. */
bl_result film_write(const render_scene *s, const char *path, const float *image, const float *channels,
                     bl_error *err);

#endif
