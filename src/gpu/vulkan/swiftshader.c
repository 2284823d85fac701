/* SPDX-License-Identifier: BSD-3-Clause
 * Finding and opening SwiftShader, a Vulkan driver for CPUs, as a plain shared library: neither the Vulkan
 * loader nor environment variables nor an installed manifest are needed.
 *
 * Order: the caller's path, or BL_SWIFTSHADER (either one ends the search, found or not); the installed data
 * folder, where it was to be and where it is seen from the program or the shared library, should the whole
 * have been installed elsewhere; the folder `swiftshader` beside the running program (the build tree);
 * programs known to carry a copy, which are browsers and Electron applications. Never the current folder, nor
 * the library path: whoever can write there would run code here. */
#include "gpu/vulkan/vulkan.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libvk_swiftshader.so"

/* Shell patterns, all below folders that only the system's owner can write. */
static const char *const known_programs[] = {
    "/usr/lib/chromium/" LIBRARY,
    "/usr/lib*/chromium-browser/" LIBRARY,
    "/opt/google/chrome*/" LIBRARY,
    "/usr/share/code*/" LIBRARY,
    "/usr/lib/code/" LIBRARY,
    "/usr/lib/electron*/" LIBRARY,
    "/usr/lib/*-desktop/" LIBRARY,
    "/usr/share/*/" LIBRARY,
    "/opt/*/" LIBRARY,
    "/opt/*/*/" LIBRARY,
    "/snap/chromium/current/usr/lib/chromium-browser/" LIBRARY,
    "/snap/code/current/usr/share/code/" LIBRARY,
    "/var/lib/flatpak/app/*/current/active/files/*/" LIBRARY,
};

/* The two entry points of a driver, by the loader's interface: the negotiation comes first, and a driver may
 * refuse to hand out functions without it. Version 5 is the first that passes newer Vulkan versions of
 * vkCreateInstance through. */
static bl_result open_library(const char *path, void **library, PFN_vkGetInstanceProcAddr *get, bl_error *err)
{
    if (!strchr(path, '/')) /* dlopen would search the library path */
        return error_set(err, BL_ERROR_NO_DEVICE, "SwiftShader: '%s' is not a path (no '/')", path);
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!opened)
        return error_set(err, BL_ERROR_NO_DEVICE, "SwiftShader: %s", dlerror());
    typedef VkResult(VKAPI_PTR * negotiate_function)(uint32_t *);
    negotiate_function negotiate =
        (negotiate_function)dlsym(opened, "vk_icdNegotiateLoaderICDInterfaceVersion");
    PFN_vkGetInstanceProcAddr found = (PFN_vkGetInstanceProcAddr)dlsym(opened, "vk_icdGetInstanceProcAddr");
    uint32_t version = 5;
    VkResult agreed = negotiate ? negotiate(&version) : VK_SUCCESS;
    if (!found || agreed != VK_SUCCESS) {
        dlclose(opened);
        return error_set(err, BL_ERROR_NO_DEVICE, "SwiftShader: %s is not a Vulkan driver (%s)", path,
                         found ? "the interface version is refused" : "no vk_icdGetInstanceProcAddr");
    }
    *library = opened;
    *get = found;
    return BL_OK;
}

/* Path of LIBRARY in a folder named relative to the one that `file` is in. path may be `file`. */
static bool beside(const char *file, const char *folder, char *path, size_t size)
{
    const char *slash = strrchr(file, '/');
    char rest[128];
    int length = snprintf(rest, sizeof rest, "/%s/" LIBRARY, folder);
    if (!slash || length < 0 || (size_t)length >= sizeof rest ||
        (size_t)(slash - file) + (size_t)length + 1 > size)
        return false;
    memmove(path, file, (size_t)(slash - file));
    memcpy(path + (slash - file), rest, (size_t)length + 1);
    return true;
}

/* Path of LIBRARY in a folder beside the running program; false where it cannot be told. */
static bool beside_program(const char *folder, char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0 || (size_t)length >= size - 1)
        return false;
    path[length] = 0;
    return beside(path, folder, path, size);
}

/* The same, beside the shared library that this code is in; false where it was found by a path from the
 * current folder. */
static bool beside_library(const char *folder, char *path, size_t size)
{
    Dl_info here;
    return dladdr(known_programs, &here) && here.dli_fname && here.dli_fname[0] == '/' &&
           beside(here.dli_fname, folder, path, size);
}

enum { PLACES = 4 };
static bool path_of_place(int place, char *path, size_t size)
{
    switch (place) {
    case 0:
        return snprintf(path, size, "%s", BL_DATA_DIR "/swiftshader/" LIBRARY) < (int)size;
    case 1:
        return beside_program(BL_DATA_FROM_PROGRAM "/swiftshader", path, size);
    case 2:
        return beside_library(BL_DATA_FROM_LIBRARY "/swiftshader", path, size);
    default:
        return beside_program("swiftshader", path, size);
    }
}

/* First of the known programs whose copy opens; `failure` keeps the reason of the last that did not. */
static bool open_known_program(void **library, PFN_vkGetInstanceProcAddr *get, char *path, size_t path_size,
                               bl_error *failure)
{
    for (size_t i = 0; i < sizeof known_programs / sizeof *known_programs; i++) {
        glob_t matches = {0};
        bool opened = false;
        if (glob(known_programs[i], 0, NULL, &matches) == 0)
            for (size_t j = 0; j < matches.gl_pathc && !opened; j++) {
                snprintf(path, path_size, "%s", matches.gl_pathv[j]);
                opened = open_library(matches.gl_pathv[j], library, get, failure) == BL_OK;
            }
        globfree(&matches);
        if (opened)
            return true;
    }
    return false;
}

bl_result gpu_swiftshader_open(const char *explicit_path, void **library, PFN_vkGetInstanceProcAddr *get,
                               char *path, size_t path_size, bl_error *err)
{
    const char *named = explicit_path ? explicit_path : secure_getenv("BL_SWIFTSHADER");
    if (named && *named) {
        snprintf(path, path_size, "%s", named);
        return open_library(named, library, get, err);
    }
    bl_error failure = {0};
    for (int place = 0; place < PLACES; place++)
        if (path_of_place(place, path, path_size) && file_exists(path) &&
            open_library(path, library, get, &failure) == BL_OK)
            return BL_OK;
    if (open_known_program(library, get, path, path_size, &failure))
        return BL_OK;
    return error_set(err, BL_ERROR_NO_DEVICE,
                     "SwiftShader: no usable " LIBRARY
                     " in BL_SWIFTSHADER, the data folder, beside the program, or with "
                     "Chromium, Chrome or Electron applications%s%s",
                     failure.code ? "; last tried: " : "", failure.code ? failure.text : "");
}
