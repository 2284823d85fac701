/* SPDX-License-Identifier: BSD-3-Clause
 * What others ask of a film, and how the image goes to a file. */
#ifndef BL_RENDER_FILM_H
#define BL_RENDER_FILM_H

#include "render/render_scene.h"

enum { SPECTRUM_SAMPLES_MOST = 4096 };

bool film_has_alpha(const render_scene *s);
/* Whether samples may lie beyond the window, where the filters of pixels reach. */
bool film_samples_border(const render_scene *s);
/* Writes the image, and the channels of the scene where they are given, in the formats of the film. The
 * ending of path decides the format of the file. */
bl_result film_write(const render_scene *s, const char *path, const float *image, const float *channels,
                     bl_error *err);
/* Reads an image of the scene's size as the scene's own: bands and entries of Stokes vectors by their names;
 * of colours, in mode mono, the luminance; of grey all channels. */
bl_result film_read(const render_scene *s, const char *path, float *image, bl_error *err);
/* Whether two films, or two sensors, have the same responses, or both have none. NULL: there is none. */
bool film_same_responses(const scene_object *a, const scene_object *b);
/* Of a film whose channels have names: whether the image has light, and no other channel of these names. */
bl_result film_check_names(const render_scene *s, bl_error *err);
/* Whether the responses of a film or of a sensor are read by nothing else. */
bl_result film_check_responses(const render_scene *s, const scene_object *of, bl_error *err);
/* Sets the scene's bands to the response of its sensor, if that has one. */
bl_result film_read_srf(render_scene *s, bl_error *err);

/* ---- for films ---- */

#define FILM_PARAMS                                                                                          \
    {"width", PLUGIN_INTEGER, 0, "768", 1, 65536, "pixels"},                                                 \
        {"height", PLUGIN_INTEGER, 0, "576", 1, 65536, "pixels"},                                            \
        {"component_format",                                                                                 \
         PLUGIN_STRING,                                                                                      \
         PLUGIN_ABSENT,                                                                                      \
         NULL,                                                                                               \
         0,                                                                                                  \
         0,                                                                                                  \
         "float16, float32 (also if missing) or uint32 of an EXR file"},                                     \
        {"sample_border",                                                                                    \
         PLUGIN_BOOLEAN,                                                                                     \
         0,                                                                                                  \
         "false",                                                                                            \
         0,                                                                                                  \
         0,                                                                                                  \
         "samples also beyond the window, where pixels near its border see through their filter"},           \
        {"compensate", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted"},                                        \
        {"crop_offset_x", PLUGIN_INTEGER, 0, "0", 0, 65536, "the image is this window of the film"},         \
        {"crop_offset_y", PLUGIN_INTEGER, 0, "0", 0, 65536, "from the top"},                                 \
        {"crop_width", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 1, 65536, "the whole film if missing"},          \
    {                                                                                                        \
        "crop_height", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 1, 65536, "the whole film if missing"            \
    }
/* The samples of a response, and the band, or bands, that they are. */
typedef struct response {
    const char *name;
    double wavelengths[SPECTRUM_SAMPLES_MOST], values[SPECTRUM_SAMPLES_MOST];
    uint32_t count;
} response;
struct film_bands *responses_bands(render_scene *s, const response *r, uint32_t count);
bool film_one_of(const char *name, const char *const *names, uint32_t count);
bl_result film_check_components(const scene_object *o, bl_error *err);

#endif
