/* SPDX-License-Identifier: BSD-3-Clause
 * The film: its size, its window, and the formats in which its image goes to a file. Everywhere else images
 * are linear RGB. Luminance and XYZ are made on the way out. Alpha is a channel of the first hit
 * (integrator/kernels/channels.c). Integers are values of [0, 1] times 2^32 - 1, as in Mitsuba. */
#include "render/classes.h"

static bool one_of(const char *name, const char *const *names, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    return false;
}

static const char *const pixel_formats[] = {"luminance", "luminance_alpha", "rgb", "rgba", "xyz", "xyza"};
static const char *const component_formats[] = {"float16", "float32", "uint32"};
static const char *const file_formats[] = {"openexr", "exr", "rgbe", "pfm"};

static bl_result film_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *pixel = scene_get(o, "pixel_format"), *component = scene_get(o, "component_format"),
                      *file = scene_get(o, "file_format");
    if (!one_of(pixel->text, pixel_formats, 6))
        return scene_error(
            err, BL_ERROR_SCENE, pixel->where,
            "hdrfilm: \"pixel_format\" must be luminance, luminance_alpha, rgb, rgba, xyz or xyza");
    if (component->given && !one_of(component->text, component_formats, 3))
        return scene_error(err, BL_ERROR_SCENE, component->where,
                           "hdrfilm: \"component_format\" must be float16, float32 or uint32");
    if (!one_of(file->text, file_formats, 4))
        return scene_error(err, BL_ERROR_SCENE, file->where,
                           "hdrfilm: \"file_format\" must be openexr, rgbe or pfm");
    return BL_OK;
}

/* ---- the image in a file ---- */

/* Mitsuba's matrix from linear Rec. 709 to XYZ. */
static const double to_xyz[3][3] = {
    {0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}};

static const char *film_text(const render_scene *s, const char *param, const char *otherwise)
{
    const scene_value *v = s->film ? scene_get(s->film, param) : NULL;
    return v && v->text ? v->text : otherwise;
}

bool film_samples_border(const render_scene *s)
{
    return s->film && scene_number(s->film, "sample_border") != 0;
}

bool film_has_alpha(const render_scene *s)
{
    const char *format = film_text(s, "pixel_format", "rgb");
    return format[strlen(format) - 1] == 'a' && strcmp(format, "rgb") != 0;
}

static uint32_t colour_names(const render_scene *s, const char *names[])
{
    static const char *const rgb[3] = {"R", "G", "B"}, *const xyz[3] = {"X", "Y", "Z"};
    char first = film_text(s, "pixel_format", "rgb")[0];
    if (s->no_image)
        return 0;
    for (int k = 0; k < 3; k++)
        names[k] = first == 'x' ? xyz[k] : rgb[k];
    bool grey = first == 'l' || s->mode->film_channels == 1;
    if (grey)
        names[0] = "Y";
    return grey ? 1 : 3;
}

/* One channel of an image is luminance already. */
static void put_colour(const char *const names[], uint32_t count, const float *rgb, uint32_t channels,
                       float *out)
{
    for (uint32_t k = 0; k < count; k++) {
        int row = names[k][0] - 'X';
        out[k] = rgb[k];
        if (row >= 0 && channels == 3)
            out[k] = (float)(to_xyz[row][0] * (double)rgb[0] + to_xyz[row][1] * (double)rgb[1] +
                             to_xyz[row][2] * (double)rgb[2]);
    }
}

bl_result film_write(const render_scene *s, const char *path, const float *image, const float *channels,
                     bl_error *err)
{
    const char *names[3 + CHANNELS_MOST], *component = film_text(s, "component_format", "float32");
    uint32_t colours = colour_names(s, names), count = colours + (channels ? s->channels.count : 0);
    uint32_t of_image = s->mode->film_channels;
    uint64_t pixels = (uint64_t)s->width * s->height;
    for (uint32_t k = colours; k < count; k++)
        names[k] = s->channels.data[k - colours].name;
    float *values = memory_alloc(pixels * count * sizeof *values);
    if (!values)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image of %u channels", count);
    for (uint64_t i = 0; i < pixels; i++) {
        put_colour(names, colours, image + of_image * i, of_image, values + count * i);
        for (uint32_t k = colours; k < count; k++)
            values[count * i + k] = channels[s->channels.count * i + k - colours];
    }
    image_components type = strcmp(component, "float16") == 0  ? IMAGE_FLOAT16
                            : strcmp(component, "uint32") == 0 ? IMAGE_UINT32
                                                               : IMAGE_FLOAT32;
    const scene_image file = {.width = s->width, .height = s->height, .channels = count, .pixels = values};
    const image_layout layout = {.names = names, .colours = colours, .components = type};
    bl_result r = image_save_channels(path, &file, &layout, err);
    memory_free(values);
    return r;
}

/* ---- the class ---- */

static const plugin_param film_params[] = {
    {"width", PLUGIN_INTEGER, 0, "768", 1, 65536, "pixels"},
    {"height", PLUGIN_INTEGER, 0, "576", 1, 65536, "pixels"},
    {"file_format", PLUGIN_STRING, 0, "openexr", 0, 0,
     "openexr, rgbe or pfm; the output's name decides where it has one of their endings"},
    {"pixel_format", PLUGIN_STRING, 0, "rgb", 0, 0,
     "luminance, rgb, xyz; and each with alpha: luminance_alpha, rgba, xyza"},
    {"component_format", PLUGIN_STRING, PLUGIN_ABSENT, NULL, 0, 0,
     "float16, float32 (also if missing) or uint32 of an EXR file"},
    {"sample_border", PLUGIN_BOOLEAN, 0, "false", 0, 0,
     "samples also beyond the window, where pixels near its border see through their filter"},
    {"compensate", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted"},
    {"crop_offset_x", PLUGIN_INTEGER, 0, "0", 0, 65536, "the image is this window of the film"},
    {"crop_offset_y", PLUGIN_INTEGER, 0, "0", 0, 65536, "from the top"},
    {"crop_width", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 1, 65536, "the whole film if missing"},
    {"crop_height", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 1, 65536, "the whole film if missing"},
};
static const plugin_slot film_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1}};

const render_class film_hdrfilm = {.plugin = {PLUGIN_FILM, "hdrfilm", PLUGIN_TABLE(film_params),
                                              PLUGIN_TABLE(film_slots), "high dynamic range image"},
                                   .load = film_load};
