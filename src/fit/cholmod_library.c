/* SPDX-License-Identifier: BSD-3-Clause
 * The file to open is the one of the headers' main version: layouts of CHOLMOD's structs change with it, and
 * so does the number in the library's name. */
#ifdef BL_WITH_CHOLMOD
#include "fit/cholmod_library.h"

#include <dlfcn.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define FILE_NAME "libcholmod.so." TEXT(CHOLMOD_MAIN_VERSION)

static bool find(void *opened, const char *name, void *function)
{
    void *found = dlsym(opened, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

bl_result cholmod_library_open(cholmod_library *library, bl_error *err)
{
    void *opened = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!opened)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "large steps need the library CHOLMOD, " FILE_NAME
                         ": install it (Debian: the package libcholmod" TEXT(CHOLMOD_MAIN_VERSION) "); %s",
                         dlerror());
#define FIND(name)                                                                                           \
    if (!find(opened, "cholmod_" #name, &library->name))                                                     \
        return error_set(err, BL_ERROR_UNSUPPORTED, "large steps: " FILE_NAME " has no cholmod_" #name);
    CHOLMOD_FUNCTIONS(FIND)
#undef FIND
    return BL_OK;
}

#endif
