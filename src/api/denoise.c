/* SPDX-License-Identifier: BSD-3-Clause
 * Images without their noise, by Open Image Denoise 2 (openimagedenoise.org). Nothing is linked to it: its
 * library is opened when somebody asks for it, and is not needed to build. What is declared here is in the
 * manual of its C interface, which all versions 2 share.
 *
 * The filter `RT` takes an image of any range, and as guides the albedo and the normal of what camera rays
 * hit first. It runs on the processor, so that an image gives the same result whatever graphics card there
 * is. */
#include "api/context.h"
#include "api/scene.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "libOpenImageDenoise.so.2"

typedef void *oidn; /* a device or a filter */
enum { OIDN_CPU = 1 };
enum oidn_format { OIDN_FLOAT = 1, OIDN_FLOAT3 = 3 };

#define FUNCTIONS(X)                                                                                         \
    X(oidn, NewDevice, (int type))                                                                           \
    X(void, SetDeviceBool, (oidn device, const char *name, bool value))                                      \
    X(void, CommitDevice, (oidn device))                                                                     \
    X(int, GetDeviceError, (oidn device, const char **message))                                              \
    X(void, ReleaseDevice, (oidn device))                                                                    \
    X(oidn, NewFilter, (oidn device, const char *type))                                                      \
    X(void, SetSharedFilterImage,                                                                            \
      (oidn filter, const char *name, void *pixels, int format, size_t width, size_t height, size_t offset,  \
       size_t pixel_bytes, size_t row_bytes))                                                                \
    X(void, SetFilterBool, (oidn filter, const char *name, bool value))                                      \
    X(void, CommitFilter, (oidn filter))                                                                     \
    X(void, ExecuteFilter, (oidn filter))                                                                    \
    X(void, ReleaseFilter, (oidn filter))

typedef struct library {
#define MEMBER(type, name, arguments) type(*name) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
} library;

static bl_result open_library(library *l, bl_error *err)
{
    const char *place = secure_getenv("BL_OIDN");
    text path = {0};
    text_add(&path, place ? "%s/" FILE_NAME : "%s" FILE_NAME, place ? place : "");
    void *opened = dlopen(path.data, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    text_free(&path);
    if (!opened)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "denoising needs the library Open Image Denoise 2, " FILE_NAME
                         ": install it, or name its folder in BL_OIDN (of PyPI's package pyoidn it is "
                         "pyoidn/oidn/lib); %s",
                         dlerror());
    void *found;
#define FIND(type, name, arguments)                                                                          \
    if (!(found = dlsym(opened, "oidn" #name)))                                                              \
        return error_set(err, BL_ERROR_UNSUPPORTED, "denoising: " FILE_NAME " has no oidn" #name);           \
    memcpy(&l->name, &found, sizeof found);
    FUNCTIONS(FIND)
#undef FIND
    return BL_OK;
}

/* An image of packed pixels. */
typedef struct picture {
    const char *name; /* as the filter calls it */
    float *pixels;    /* NULL: there is none */
    uint32_t channels;
} picture;

static void give(const library *l, oidn filter, const render_scene *s, const char *name, const picture *p)
{
    if (p->pixels)
        l->SetSharedFilterImage(filter, name, p->pixels, p->channels == 1 ? OIDN_FLOAT : OIDN_FLOAT3,
                                s->width, s->height, 0, 0, 0);
}

/* Filters the first picture in place. The others are its guides, clean ones. */
static void filter_image(const library *l, oidn device, const render_scene *s, const picture *pictures,
                         uint32_t count, bool hdr)
{
    const oidn filter = l->NewFilter(device, "RT");
    for (uint32_t k = 0; k < count; k++)
        give(l, filter, s, pictures[k].name, &pictures[k]);
    give(l, filter, s, "output", &pictures[0]);
    if (hdr)
        l->SetFilterBool(filter, "hdr", true);
    if (count > 1)
        l->SetFilterBool(filter, "cleanAux", true);
    l->CommitFilter(filter);
    l->ExecuteFilter(filter);
    l->ReleaseFilter(filter);
}

/* The three channels from the first one of a kind on; pixels of NULL: there is none. memory_free them. */
static bl_result copy_guide(const render_scene *s, enum channel_kind kind, const float *channels,
                            picture *out, bl_error *err)
{
    const size_t pixels = (size_t)s->width * s->height, step = s->channels.count,
                 first = render_first_channel(s, kind);
    if (!channels || first == step)
        return BL_OK;
    if (!(out->pixels = memory_alloc(pixels * 3 * sizeof *out->pixels)))
        return error_set(err, BL_ERROR_MEMORY, "no memory for what guides a denoiser");
    for (size_t i = 0; i < pixels; i++)
        memcpy(out->pixels + 3 * i, channels + step * i + first, 3 * sizeof *out->pixels);
    return BL_OK;
}

static bl_result check(const library *l, oidn device, bl_error *err)
{
    const char *said = NULL;
    return l->GetDeviceError(device, &said) == 0
               ? BL_OK
               : error_set(err, BL_ERROR_DEVICE, "Open Image Denoise: %s", said ? said : "failed");
}

/* Guides have noise, too, of edges within pixels, so they are filtered first. */
static bl_result filter_all(const library *l, oidn device, const render_scene *s, float *image,
                            const float *channels, bl_error *err)
{
    enum { COLOR, ALBEDO, NORMAL, COUNT };
    picture p[COUNT] = {{"color", image, s->film_channels}, {"albedo", NULL, 3}, {"normal", NULL, 3}};
    bl_result r = copy_guide(s, CHANNEL_ALBEDO, channels, &p[ALBEDO], err);
    if (r == BL_OK && p[ALBEDO].pixels) /* the filter takes no normals alone */
        r = copy_guide(s, CHANNEL_SH_NORMAL, channels, &p[NORMAL], err);
    if (r == BL_OK) {
        for (uint32_t k = ALBEDO; k < COUNT && p[k].pixels; k++)
            filter_image(l, device, s, &p[k], 1, false);
        filter_image(l, device, s, p, p[ALBEDO].pixels ? COUNT : 1, true);
        r = check(l, device, err);
    }
    memory_free(p[ALBEDO].pixels);
    memory_free(p[NORMAL].pixels);
    return r;
}

static bl_result denoise(const render_scene *s, float *image, const float *channels, bl_error *err)
{
    library l = {0};
    if (s->film_names)
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "denoising: the image has bands or Stokes vectors, and the denoiser knows colours alone");
    TRY(open_library(&l, err));
    if (!image)
        return BL_OK;
    const oidn device = l.NewDevice(OIDN_CPU);
    if (!device)
        return check(&l, NULL, err);
    l.SetDeviceBool(device, "setAffinity", false); /* the threads of the program stay where they are */
    l.CommitDevice(device);
    bl_result r = check(&l, device, err);
    if (r == BL_OK)
        r = filter_all(&l, device, s, image, channels, err);
    l.ReleaseDevice(device);
    return r;
}

bl_result bl_scene_denoise(const bl_scene *scene, float *image, const float *channels)
{
    bl_error err = {0};
    return denoise(scene->render, image, channels, &err) == BL_OK ? BL_OK
                                                                  : context_fail(scene->context, &err);
}
