/* SPDX-License-Identifier: BSD-3-Clause
 * The context behind all other handles. It owns the last error, the list of plugin classes and the kernel
 * cache. */
#ifndef BL_API_CONTEXT_H
#define BL_API_CONTEXT_H

#include <backlight/backlight.h>
#include <backlight/backlight_testing.h>

#include "api/kernel_cache.h"
#include "base/base.h"
#include "gpu/gpu.h"
#include "scene/scene.h"

struct bl_context {
    gpu *gpu;
    bl_error
        *error; /* of the last call that failed; behind a pointer, since calls that only ask can fail, too */
    arena memory;                        /* memory of added plugins */
    ARRAY(const plugin_class *) classes; /* the renderer's classes and those that were added */
    plugin_registry registry;            /* the same list, as the loader takes it */
    kernel_cache *cache;                 /* NULL: there is no cache */
    bool strict;                         /* limits of image files */
    bool cache_verify;                   /* a kernel that was found is compiled all the same and compared */
    bool checked;                        /* BL_DEBUG=bounds: kernels are checked (bounds.h) */
    uint64_t cache_hits, cache_misses;   /* counts of look-ups of kernels' words */
};

/* Stores the error with the context and returns its code. */
bl_result context_fail(const bl_context *ctx, const bl_error *err);
/* The same of an index that is not below count. what: "parameter". */
bl_result context_fail_range(const bl_context *ctx, const char *what, uint32_t index, uint32_t count);

/* The room of a caller's struct for fields of later versions must be zeros. name: of the struct's type. */
bl_result context_check_reserved(const uint64_t *reserved, size_t count, const char *name, bl_error *err);
#define CHECK_RESERVED(type, given, err)                                                                     \
    context_check_reserved((given)->reserved, sizeof(given)->reserved / sizeof *(given)->reserved, #type, err)

#endif
