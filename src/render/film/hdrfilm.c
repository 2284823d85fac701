/* SPDX-License-Identifier: BSD-3-Clause
 * The film whose image has colours. Everywhere else images are linear RGB; luminance and XYZ are made on the
 * way out (film.c). */
#include "render/classes.h"

static const char *const pixel_formats[] = {"luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza"};
static const char *const file_formats[] = {"openexr", "exr", "rgbe", "pfm"};

static bl_result film_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *pixel = scene_get(o, "pixel_format"), *file = scene_get(o, "file_format");
    if (!film_one_of(pixel->text, pixel_formats, 6))
        return scene_error(
            err, BL_ERROR_SCENE, pixel->where,
            "hdrfilm: \"pixel_format\" must be luminance, luminance_alpha, rgb, rgba, xyz or xyza");
    TRY(film_check_components(o, err));
    if (!film_one_of(file->text, file_formats, 4))
        return scene_error(err, BL_ERROR_SCENE, file->where,
                           "hdrfilm: \"file_format\" must be openexr, rgbe or pfm");
    return BL_OK;
}

static const plugin_param film_params[] = {
    {"file_format", PLUGIN_STRING, 0, "openexr", 0, 0,
     "openexr, rgbe or pfm; the output's name decides where it has one of their endings"},
    {"pixel_format", PLUGIN_STRING, 0, "rgb", 0, 0,
     "luminance, rgb, xyz; and each with alpha: luminance_alpha, rgba, xyza"},
    FILM_PARAMS,
};
static const plugin_slot film_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1}};

const render_class film_hdrfilm = {.plugin = {PLUGIN_FILM, "hdrfilm", PLUGIN_TABLE(film_params),
                                              PLUGIN_TABLE(film_slots), "high dynamic range image"},
                                   .load = film_load};
