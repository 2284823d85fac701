/* SPDX-License-Identifier: BSD-3-Clause
 * The version; contexts: the last error, the registry of plugins, the kernel cache. */
#include "api/context.h"
#include "codegen/bounds.h"
#include "render/classes.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t bl_version(void) { return BL_VERSION_NUMBER; }

const char *bl_version_text(void) { return BL_VERSION_TEXT; }

/* Why this thread's last context could not be created. */
static _Thread_local bl_error creation_error;

bl_result context_fail(const bl_context *ctx, const bl_error *err)
{
    BL_ASSERT(err->code != BL_OK, "a failure without a reason: %s", err->text);
    *ctx->error = *err;
    return err->code;
}

bl_result context_fail_range(const bl_context *ctx, const char *what, uint32_t index, uint32_t count)
{
    bl_error err = {0};
    error_set(&err, BL_ERROR_ARGUMENT, "there is no %s %u: there are %u, counted from 0", what, index, count);
    return context_fail(ctx, &err);
}

bl_result context_check_reserved(const uint64_t *reserved, size_t count, const char *name, bl_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (reserved[i])
            return error_set(
                err, BL_ERROR_ARGUMENT,
                "%s.reserved is not 0: either the struct was not zeroed before its fields were "
                "set, or this program was built for a later version of Backlight than " BL_VERSION_TEXT
                ", which runs",
                name);
    return BL_OK;
}

bl_result bl_context_create(const bl_context_desc *desc, bl_context **out)
{
    if (!out)
        return BL_ERROR_ARGUMENT;
    *out = NULL;
    creation_error = (bl_error){BL_ERROR_MEMORY, "no memory for a context"};
    bl_context *ctx = memory_zeroed(1, sizeof *ctx + sizeof *ctx->error);
    if (!ctx)
        return BL_ERROR_MEMORY;
    ctx->error = (bl_error *)(void *)(ctx + 1);
    memory_open();
    gpu_options options = {0};
    if (desc)
        options = (gpu_options){
            .validation = desc->validation,
            .swiftshader = desc->swiftshader,
            .log = desc->log,
            .user = desc->user,
            .buffer_range = desc->testing ? desc->testing->buffer_range : 0,
        };
    bl_result r = desc ? CHECK_RESERVED(bl_context_desc, desc, ctx->error) : BL_OK;
    if (r == BL_OK)
        r = bounds_wanted(&ctx->checked, ctx->error);
    if (r == BL_OK && !(desc && desc->no_devices))
        r = gpu_open(&options, &ctx->gpu, ctx->error);
    if (r != BL_OK) {
        creation_error = *ctx->error;
        if (desc && desc->log)
            desc->log(desc->user, ctx->error->text);
        memory_free(ctx);
        memory_close();
        return r;
    }
    for (uint32_t i = 0; i < render_registry.count; i++)
        array_push(&ctx->classes, render_registry.classes[i]);
    ctx->registry = (plugin_registry){ctx->classes.data, ctx->classes.count};
    ctx->strict = desc && desc->untrusted;
    if (desc && desc->cache)
        ctx->cache = kernel_cache_open(desc->cache, desc->cache_limit),
        ctx->cache_verify = desc->testing && desc->testing->cache_verify;
    *out = ctx;
    return BL_OK;
}

void bl_context_destroy(bl_context *ctx)
{
    if (!ctx)
        return;
    gpu_close(ctx->gpu);
    kernel_cache_close(ctx->cache);
    array_free(&ctx->classes);
    arena_free(&ctx->memory);
    memory_free(ctx);
    memory_close();
}

const char *bl_context_error(const bl_context *ctx) { return ctx ? ctx->error->text : creation_error.text; }
const char *bl_result_text(bl_result result) { return result_text(result); }
uint32_t bl_context_validation_messages(const bl_context *ctx)
{
    return ctx->gpu ? gpu_validation_messages(ctx->gpu) : 0;
}

size_t bl_user_cache(const char *part, char *path, size_t room)
{
    const char *own = getenv("BL_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (own && *own)
        length = snprintf(path, room, "%s/%s", own, part);
    else if (cache && *cache == '/') /* a relative one is to be ignored, says its specification */
        length = snprintf(path, room, "%s/backlight/%s", cache, part);
    else if (home && *home)
        length = snprintf(path, room, "%s/.cache/backlight/%s", home, part);
    return length > 0 ? (size_t)length : 0;
}

bl_cache_info bl_context_cache_info(const bl_context *ctx)
{
    kernel_cache_usage u = kernel_cache_measure(ctx->cache);
    return (bl_cache_info){
        .folder = u.folder,
        .unusable = u.unusable,
        .bytes = u.bytes,
        .limit = u.limit,
        .entries = u.entries,
        .hits = ctx->cache_hits,
        .misses = ctx->cache_misses,
    };
}
