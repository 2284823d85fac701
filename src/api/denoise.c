/* SPDX-License-Identifier: BSD-3-Clause
 * Images without their noise, by Open Image Denoise 2 (Áfra 2019-2025, openimagedenoise.org). No program is
 * linked to it: its library is opened when somebody asks for it, and is not needed to build. What is
 * declared here is what its manual documents, of the C interface that all versions 2 keep.
 *
 * The filter `RT` takes the image, which is of any range, and as guides the albedo and the normal of what
 * camera rays hit first; both are read where they lie among the scene's channels. It runs on the processor,
 * so that one image gives the same result whatever graphics card there is. */
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

/* The first of the scene's channels of a kind, with those that follow it; NULL: there is none. */
static const float *guide(const render_scene *s, enum channel_kind kind, const float *channels)
{
    for (uint32_t k = 0; channels && k < s->channels.count; k++)
        if (s->channels.data[k].kind == kind)
            return channels + k;
    return NULL;
}

static void give(const library *l, oidn filter, const render_scene *s, const char *name, const float *pixels,
                 uint32_t own, uint32_t step)
{
    if (pixels)
        l->SetSharedFilterImage(filter, name, (void *)(uintptr_t)pixels, own == 1 ? OIDN_FLOAT : OIDN_FLOAT3,
                                s->width, s->height, 0, step * sizeof *pixels,
                                (size_t)s->width * step * sizeof *pixels);
}

static bl_result check(const library *l, oidn device, bl_error *err)
{
    const char *said = NULL;
    return l->GetDeviceError(device, &said) == 0
               ? BL_OK
               : error_set(err, BL_ERROR_DEVICE, "Open Image Denoise: %s", said ? said : "failed");
}

static void filter_image(const library *l, oidn device, const render_scene *s, float *image,
                         const float *channels)
{
    const oidn filter = l->NewFilter(device, "RT");
    const float *albedo = guide(s, CHANNEL_ALBEDO, channels),
                *normal = albedo ? guide(s, CHANNEL_SH_NORMAL, channels) : NULL;
    give(l, filter, s, "color", image, s->film_channels, s->film_channels);
    give(l, filter, s, "albedo", albedo, 3, s->channels.count);
    give(l, filter, s, "normal", normal, 3, s->channels.count);
    give(l, filter, s, "output", image, s->film_channels, s->film_channels);
    l->SetFilterBool(filter, "hdr", true);
    l->CommitFilter(filter);
    l->ExecuteFilter(filter);
    l->ReleaseFilter(filter);
}

static bl_result denoise(const render_scene *s, float *image, const float *channels, bl_error *err)
{
    library l = {0};
    if (s->bands)
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "denoising: the image has bands of wavelengths, and the denoiser knows colours alone");
    TRY(open_library(&l, err));
    if (!image)
        return BL_OK;
    const oidn device = l.NewDevice(OIDN_CPU);
    if (!device)
        return check(&l, NULL, err);
    l.SetDeviceBool(device, "setAffinity", false); /* the threads of the program stay where they are */
    l.CommitDevice(device);
    bl_result r = check(&l, device, err);
    if (r == BL_OK) {
        filter_image(&l, device, s, image, channels);
        r = check(&l, device, err);
    }
    l.ReleaseDevice(device);
    return r;
}

bl_result bl_scene_denoise(const bl_scene *scene, float *image, const float *channels)
{
    bl_error err = {0};
    return denoise(scene->render, image, channels, &err) == BL_OK ? BL_OK
                                                                  : context_fail(scene->context, &err);
}
