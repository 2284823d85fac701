/* SPDX-License-Identifier: BSD-3-Clause
 * What all films have in common: their window, and the formats in which an image goes to a file. Everywhere
 * else images are linear RGB, or what the film has names for: bands, or entries of Stokes vectors. Luminance
 * and XYZ are made on the way out. Alpha is a channel of the first hit (integrator/kernels/channels.c).
 * Integers are values of [0, 1] times 2^32 - 1, as in Mitsuba. */
#include "render/classes.h"
#include "render/spectrum/spectrum.h"

bool film_one_of(const char *name, const char *const *names, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    return false;
}

bl_result film_check_components(const scene_object *o, bl_error *err)
{
    static const char *const formats[] = {"float16", "float32", "uint32"};
    const scene_value *component = scene_get(o, "component_format");
    if (component->given && !film_one_of(component->text, formats, 3))
        return scene_error(err, BL_ERROR_SCENE, component->where,
                           "%s: \"component_format\" must be float16, float32 or uint32", o->cls->name);
    return BL_OK;
}

bl_result film_check_names(const render_scene *s, bl_error *err)
{
    if (s->film_names && s->depth_image)
        return scene_error(err, BL_ERROR_UNSUPPORTED, s->film->where,
                           "%s: the integrator depth has distances in its image, not light; use hdrfilm",
                           s->film->cls->name);
    for (uint32_t k = 0; s->film_names && k < s->channels.count; k++)
        for (uint32_t i = 0; i < s->film_channels; i++)
            if (strcmp(s->film_names[i], s->channels.data[k].name) == 0)
                return scene_error(err, BL_ERROR_SCENE, s->film->where,
                                   "%s: the image has another channel called \"%.100s\"", s->film->cls->name,
                                   s->film_names[i]);
    return BL_OK;
}

/* ---- the image in a file ---- */

/* Mitsuba's matrix from linear Rec. 709 to XYZ. */
static const double to_xyz[3][3] = {
    {0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}};

static const char *text_or(const scene_value *v, const char *otherwise)
{
    return v && v->text ? v->text : otherwise;
}

static const char *pixel_format(const render_scene *s)
{
    bool colours = s->film && s->film->cls == &film_hdrfilm.plugin;
    return text_or(colours ? scene_get(s->film, "pixel_format") : NULL, "rgb");
}

bool film_samples_border(const render_scene *s)
{
    return s->film && scene_number(s->film, "sample_border") != 0;
}

bool film_has_alpha(const render_scene *s)
{
    const char *format = pixel_format(s);
    return format[strlen(format) - 1] == 'a' && strcmp(format, "rgb") != 0;
}

static uint32_t image_names(const render_scene *s, const char *names[])
{
    static const char *const rgb[3] = {"R", "G", "B"}, *const xyz[3] = {"X", "Y", "Z"};
    char first = pixel_format(s)[0];
    if (s->no_image)
        return 0;
    for (uint32_t k = 0; s->film_names && k < s->film_channels; k++)
        names[k] = s->film_names[k];
    if (s->film_names)
        return s->film_channels;
    for (int k = 0; k < 3; k++)
        names[k] = first == 'x' ? xyz[k] : rgb[k];
    bool grey = first == 'l' || s->film_channels == 1;
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

/* For screens. Each band over the integral of its response, which is 1 where the light is 1 at all
 * wavelengths: the first three are red, green and blue; of fewer the first is grey. Of Stokes vectors the
 * intensity. */
static bl_result show_named(const render_scene *s, const char *path, const float *image, bl_error *err)
{
    const size_t pixels = (size_t)s->width * s->height;
    uint32_t shown = s->film_channels / s->film_entries < 3 ? 1 : 3;
    if (!image_has_extension(path, ".png") && !image_is_jpeg(path))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: EXR files keep the channels of such an image, .png and .jpg show three of "
                         "them; give one of these names",
                         path);
    float *values = memory_alloc(pixels * shown * sizeof *values);
    if (!values)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image");
    for (uint32_t c = 0; c < shown; c++) {
        double white = s->bands ? bands_integral_of(s->bands, c) : 1;
        for (size_t i = 0; i < pixels; i++)
            values[shown * i + c] = (float)((double)image[s->film_channels * i + c] / white);
    }
    bl_result r = image_save(path, s->width, s->height, shown, values, false, err);
    memory_free(values);
    return r;
}

bl_result film_write(const render_scene *s, const char *path, const float *image, const float *channels,
                     bl_error *err)
{
    const char *names[RESPONSE_BANDS_MOST + CHANNELS_MOST],
        *component = text_or(s->film ? scene_get(s->film, "component_format") : NULL, "float32");
    uint32_t colours = image_names(s, names), count = colours + (channels ? s->channels.count : 0);
    uint32_t of_image = s->film_channels;
    uint64_t pixels = (uint64_t)s->width * s->height;
    if (s->film_names && !image_has_extension(path, ".exr"))
        return show_named(s, path, image, err);
    for (uint32_t k = colours; k < count; k++)
        names[k] = s->channels.data[k - colours].name;
    float *values = memory_alloc(pixels * count * sizeof *values);
    if (!values)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image of %u channels", count);
    for (uint64_t i = 0; i < pixels; i++) {
        if (s->film_names)
            memcpy(values + count * i, image + of_image * i, colours * sizeof *values);
        else
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

/* Of a file, the pixel `from` as one of the scene's. */
static void take_pixel(const render_scene *s, const float *from, uint32_t channels, float *to)
{
    if (s->film_channels == 1 && channels == 3)
        to[0] = light_luminance(from);
    else
        for (uint32_t c = 0; c < s->film_channels; c++)
            to[c] = from[channels == s->film_channels ? c : 0];
}

bl_result film_read(const render_scene *s, const char *path, float *image, bl_error *err)
{
    scene_image file;
    TRY(s->film_names ? image_load_channels(path, s->film_names, s->film_channels, &file, err)
                      : image_load(path, false, &file, err));
    bl_result r = BL_OK;
    if (file.width != s->width || file.height != s->height)
        r = error_set(err, BL_ERROR_ARGUMENT, "%s has %u x %u pixels; the scene's film has %u x %u", path,
                      file.width, file.height, s->width, s->height);
    for (size_t i = 0; r == BL_OK && i < (size_t)s->width * s->height; i++)
        take_pixel(s, file.pixels + file.channels * i, file.channels, image + s->film_channels * i);
    image_free(&file);
    return r;
}
