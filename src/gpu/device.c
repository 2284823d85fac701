/* SPDX-License-Identifier: BSD-3-Clause
 * Which devices there are, in which order; choosing one.
 *
 * The native device is listed first of all. Vulkan is opened when something asks for more than that: a list,
 * a selector other than "native", the validation layer, a path of SwiftShader. */
#include "gpu/gpu_internal.h"
#include "gpu/native/native.h"
#include "gpu/vulkan/open.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void gpu_log(const gpu *g, const char *format, ...)
{
    if (!g->options.log)
        return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args); /* validation messages are long: no fixed buffer */
    char *message = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (message) {
        vsnprintf(message, (size_t)length + 1, format, again);
        g->options.log(g->options.user, message);
    }
    free(message);
    va_end(again);
    va_end(args);
}

void gpu_note(gpu *g, const bl_error *reason)
{
    text_add(&g->notes, "%s%s", g->notes.length ? "; " : "", reason->text);
    gpu_log(g, "%s", reason->text);
}

/* ---- the list ---- */

static bool comes_before(const gpu_info *a, const gpu_info *b)
{
    if (a->null_hardware != b->null_hardware)
        return b->null_hardware;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->kind == GPU_LAVAPIPE &&
           a->api_version > b->api_version; /* a system's old Mesa beside a newer one */
}

/* Insertion sort: stable, so that the loader's order stays among equals. */
static void sort_candidates(gpu *g)
{
    gpu_candidate **list = g->candidates.data;
    for (uint32_t i = 1; i < g->candidates.count; i++)
        for (uint32_t j = i; j > 0 && comes_before(&list[j]->info, &list[j - 1]->info); j--) {
            gpu_candidate *swapped = list[j];
            list[j] = list[j - 1];
            list[j - 1] = swapped;
        }
}

/* swiftshader: as in gpu_options. Without it and without validation nothing here is an error. */
static bl_result list_vulkan(gpu *g, const char *swiftshader, bl_error *err)
{
    TRY(vulkan_open(g, swiftshader, err));
    sort_candidates(g);
    for (uint32_t k = 0; g->options.buffer_range && k < g->candidates.count; k++) {
        gpu_info *info = &g->candidates.data[k]->info;
        if (info->max_buffer_range > g->options.buffer_range && info->kind != GPU_NATIVE)
            info->max_buffer_range = g->options.buffer_range;
    }
    return BL_OK;
}

static void list_all(gpu *g)
{
    bl_error err;
    if (!g->vulkan && list_vulkan(g, NULL, &err) != BL_OK)
        gpu_note(g, &err);
}

bl_result gpu_open(const gpu_options *options, gpu **out, bl_error *err)
{
    static const gpu_options defaults;
    options = options ? options : &defaults;
    *out = NULL;
    gpu *g = calloc(1, sizeof *g);
    if (!g)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    g->options = *options;
    g->options.swiftshader = NULL;
    native_list(g);
    bool vulkan = options->validation || options->swiftshader;
    bl_result result = vulkan ? list_vulkan(g, options->swiftshader, err) : BL_OK;
    if (result != BL_OK)
        gpu_close(g);
    else
        *out = g;
    return result;
}

void gpu_close(gpu *g)
{
    if (!g)
        return;
    BL_ASSERT(g->devices_alive == 0, "%u devices outlive the instance", g->devices_alive);
    for (uint32_t i = 0; i < g->candidates.count; i++)
        memory_free(g->candidates.data[i]);
    vulkan_close(g->vulkan);
    array_free(&g->candidates);
    text_free(&g->notes);
    free(g);
}

uint32_t gpu_count(gpu *g)
{
    list_all(g);
    return g->candidates.count;
}

const gpu_info *gpu_info_at(gpu *g, uint32_t index)
{
    list_all(g);
    BL_ASSERT(index < g->candidates.count, "device %u of %u", index, g->candidates.count);
    return &g->candidates.data[index]->info;
}

uint32_t gpu_validation_messages(const gpu *g) { return __atomic_load_n(&g->messages, __ATOMIC_RELAXED); }

/* ---- one device ---- */

static bool matches(const gpu_info *info, const char *selector)
{
    if (!selector || !*selector || strcasecmp(selector, "auto") == 0)
        return !info->null_hardware;
    if (strcasecmp(selector, "native") == 0)
        return info->kind == GPU_NATIVE;
    if (strcasecmp(selector, "swiftshader") == 0)
        return info->kind == GPU_SWIFTSHADER;
    if (strcasecmp(selector, "lavapipe") == 0)
        return info->kind == GPU_LAVAPIPE;
    if (strncasecmp(selector, "uuid:", 5) == 0)
        return selector[5] && strncasecmp(info->uuid, selector + 5, strlen(selector + 5)) == 0;
    return strcasestr(info->name, selector) != NULL;
}

/* A place in the list is a number and nothing else, so "4090" is one and "RTX 4090" is none. */
static const gpu_candidate *find(const gpu *g, const char *selector)
{
    char *end = NULL;
    unsigned long place = selector && *selector >= '0' && *selector <= '9' ? strtoul(selector, &end, 10) : 0;
    if (end && !*end)
        return place < g->candidates.count ? g->candidates.data[place] : NULL;
    for (uint32_t i = 0; i < g->candidates.count; i++)
        if (matches(&g->candidates.data[i]->info, selector))
            return g->candidates.data[i];
    return NULL;
}

static bl_result no_match(const gpu *g, const char *selector, bl_error *err)
{
    text list = {0};
    for (uint32_t i = 0; i < g->candidates.count; i++)
        text_add(&list, "%s%u %s", i ? ", " : "", i, g->candidates.data[i]->info.name);
    bl_result result = error_set(err, BL_ERROR_NO_DEVICE, "no device matches '%s'; there %s%s%s%s%s",
                                 selector ? selector : "auto", list.length ? "is: " : "are none",
                                 list.length ? list.data : "", g->notes.length ? " (" : "",
                                 g->notes.length ? g->notes.data : "", g->notes.length ? ")" : "");
    text_free(&list);
    return result;
}

static bl_result create(gpu *g, const char *selector, bool runs, gpu_device **out, bl_error *err)
{
    *out = NULL;
    if (!selector || strcasecmp(selector, "native") != 0)
        list_all(g);
    const gpu_candidate *chosen = find(g, selector);
    if (!chosen)
        return no_match(g, selector, err);
    gpu_device *d = calloc(1, chosen->backend->device_size);
    if (!d)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    d->owner = g;
    d->backend = chosen->backend;
    d->candidate = chosen;
    d->runs = runs && !chosen->info.null_hardware;
    g->devices_alive++;
    bl_result result = d->backend->device_build(d, err);
    if (result != BL_OK)
        gpu_device_destroy(d);
    else
        *out = d;
    return result;
}

bl_result gpu_device_create(gpu *g, const char *selector, gpu_device **out, bl_error *err)
{
    return create(g, selector, true, out, err);
}

bl_result gpu_compiler_create(gpu *g, const char *selector, gpu_device **out, bl_error *err)
{
    return create(g, selector, false, out, err);
}

void gpu_device_destroy(gpu_device *d)
{
    if (!d)
        return;
    d->backend->device_destroy(d);
    BL_ASSERT(d->stats.bytes_allocated == 0, "buffers of %llu bytes outlive their device",
              (unsigned long long)d->stats.bytes_allocated);
    d->owner->devices_alive--;
    free(d);
}

const gpu_info *gpu_device_info(const gpu_device *d) { return &d->candidate->info; }

bool gpu_device_runs(const gpu_device *d) { return d->runs; }

gpu_rounding gpu_device_rounding(const gpu_device *d)
{
    const gpu_rounding assumed = d->candidate->info.rounds ? GPU_ROUNDING_OWN : GPU_ROUNDING_FUSED;
    return d->rounding == GPU_ROUNDING_UNKNOWN ? assumed : d->rounding;
}

void gpu_device_set_rounding(gpu_device *d, gpu_rounding rounding) { d->rounding = rounding; }

bl_result gpu_runs_nothing(const gpu_device *d, bl_error *err)
{
    const gpu_info *info = &d->candidate->info;
    return error_set(err, BL_ERROR_UNSUPPORTED, "%s compiles only: %s", info->name,
                     info->null_hardware ? "there is no hardware behind it; choose another device"
                                         : "it was opened for nothing else");
}

gpu_stats gpu_device_stats(const gpu_device *d) { return d->stats; }
