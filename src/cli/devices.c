/* SPDX-License-Identifier: BSD-3-Clause
 * backlight devices: what can run here, and which features it has; how each device was found; where compiled
 * kernels are kept. --selftest: whether the arithmetic of a device is what kernels rely on. */
#include "cli.h"

#include <backlight/backlight_testing.h>
#include <cjson/cJSON.h>
#include <stdio.h>

typedef struct arguments {
    cli_common common;
    bool self_test;
} arguments;

static cJSON *device_json(const bl_device_info *info)
{
    cJSON *json = cJSON_CreateObject();
    char version[48];
    snprintf(version, sizeof version, "%u.%u.%u", info->api_major, info->api_minor, info->api_patch);
    cJSON_AddStringToObject(json, "name", info->name);
    cJSON_AddStringToObject(json, "kind", info->kind);
    cJSON_AddStringToObject(json, "driver", info->driver);
    cJSON_AddStringToObject(json, "found", info->found);
    if (info->uuid)
        cJSON_AddStringToObject(json, "uuid", info->uuid);
    if (info->api_major)
        cJSON_AddStringToObject(json, "vulkan", version);
    else
        cJSON_AddNullToObject(json, "vulkan");
    cJSON_AddNumberToObject(json, "subgroup_size", info->subgroup_size);
    cJSON_AddNumberToObject(json, "max_buffer_range", (double)info->max_buffer_range);
    cJSON_AddNumberToObject(json, "max_allocation", (double)info->max_allocation);
    cJSON_AddBoolToObject(json, "float_atomics", info->float_atomics);
    cJSON_AddBoolToObject(json, "ray_query", info->ray_query);
    cJSON_AddBoolToObject(json, "int64", info->int64);
    cJSON_AddBoolToObject(json, "float64", info->float64);
    return json;
}

static void print_device(const bl_device_info *info, uint32_t index)
{
    printf("%u  %s%s\n", index, info->name, index == 0 ? "  (auto)" : "");
    printf("    kind       %s\n", info->kind);
    printf("    driver     %s\n", info->driver);
    printf("    found      %s\n", info->found);
    if (info->uuid)
        printf("    UUID       %s\n", info->uuid);
    if (info->api_major)
        printf("    Vulkan     %u.%u.%u\n", info->api_major, info->api_minor, info->api_patch);
    printf("    subgroup   %u\n", info->subgroup_size);
    printf("    buffers    %.0f MiB per binding, %.0f MiB per allocation\n",
           (double)info->max_buffer_range / 1048576, (double)info->max_allocation / 1048576);
    printf("    features   float atomics: %s, ray queries: %s, 64-bit integers: %s, 64-bit floats: %s\n",
           info->float_atomics ? "yes" : "no", info->ray_query ? "yes" : "no", info->int64 ? "yes" : "no",
           info->float64 ? "yes" : "no");
}

static cJSON *cache_json(const bl_cache_info *cache)
{
    if (!cache->folder)
        return cJSON_CreateNull();
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "folder", cache->folder);
    if (cache->unusable)
        cJSON_AddStringToObject(json, "unusable", cache->unusable);
    cJSON_AddNumberToObject(json, "entries", cache->entries);
    cJSON_AddNumberToObject(json, "bytes", (double)cache->bytes);
    cJSON_AddNumberToObject(json, "limit", (double)cache->limit);
    return json;
}

static void print_cache(const bl_cache_info *cache)
{
    if (!cache->folder)
        printf("kernel cache: none\n");
    else if (cache->unusable)
        printf("kernel cache: %s is not used: %s\n", cache->folder, cache->unusable);
    else
        printf("kernel cache: %s, %u entries, %.1f of %.0f MiB\n", cache->folder, cache->entries,
               (double)cache->bytes / 1048576, (double)cache->limit / 1048576);
}

static int list(const cli_session *session)
{
    uint32_t count = bl_device_count(session->ctx);
    cJSON *devices = cJSON_CreateArray();
    for (uint32_t i = 0; i < count; i++) {
        bl_device_info info;
        bl_result result = bl_device_info_at(session->ctx, i, &info);
        if (result != BL_OK) {
            cJSON_Delete(devices);
            return session_fail(session, result);
        }
        if (session->common->json)
            cJSON_AddItemToArray(devices, device_json(&info));
        else
            print_device(&info, i);
    }
    bl_cache_info cache = bl_context_cache_info(session->ctx);
    if (session->common->json) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddItemToObject(json, "devices", devices);
        cJSON_AddItemToObject(json, "cache", cache_json(&cache));
        print_json(json);
        cJSON_Delete(json);
    } else {
        print_cache(&cache);
        cJSON_Delete(devices);
    }
    if (count == 0)
        return fail(
            "no Vulkan 1.2 compute device, and no native one; scripts/setup finds SwiftShader, or set "
            "BL_SWIFTSHADER to libvk_swiftshader.so");
    return CLI_OK;
}

/* ---- the self-test ---- */

static cJSON *check_json(const bl_self_check *check)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", check->name);
    cJSON_AddStringToObject(json, "expectation", check->expectation);
    cJSON_AddBoolToObject(json, "holds", check->holds);
    cJSON_AddBoolToObject(json, "needed", check->needed);
    cJSON_AddNumberToObject(json, "compared", check->compared);
    cJSON_AddNumberToObject(json, "different", check->different);
    cJSON_AddStringToObject(json, "found", check->found);
    return json;
}

static void print_check(const bl_self_check *check)
{
    printf("    %-12s %-46s %s\n", check->name, check->expectation,
           check->holds    ? "yes"
           : check->needed ? "NO"
                           : "no");
    if (!check->holds)
        printf("                 %u of %u differ; %s\n", check->different, check->compared, check->found);
}

/* A check that cannot run does not hold, and those after it run all the same. */
static int self_test(cli_session *session)
{
    CLI_TRY(session_open_device(session));
    cJSON *list = cJSON_CreateArray();
    uint32_t missing = 0;
    bl_self_check check;
    if (!session->common->json)
        printf("%s\n", session->device_info.name);
    for (uint32_t k = 0;; k++) {
        bl_result result = bl_device_self_check(session->device, k, &check);
        if (!check.name)
            break;
        if (result != BL_OK)
            snprintf(check.found, sizeof check.found, "%s", bl_context_error(session->ctx));
        missing += check.needed && !check.holds;
        if (session->common->json)
            cJSON_AddItemToArray(list, check_json(&check));
        else
            print_check(&check);
    }
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "device", device_json(&session->device_info));
    cJSON_AddItemToObject(json, "checks", list);
    cJSON_AddNumberToObject(json, "missing", missing);
    if (session->common->json)
        print_json(json);
    cJSON_Delete(json);
    return missing ? fail("%s lacks what images and gradients need: %u checks", session->device_info.name,
                          missing)
                   : CLI_OK;
}

/* What --device names must be there, also where the list is all that is wanted. */
static int show(cli_session *session)
{
    if (session->common->device)
        CLI_TRY(session_open_device(session));
    return list(session);
}

static int run(void *argument)
{
    const arguments *args = argument;
    cli_session session;
    int status = session_open(&session, &args->common, NULL);
    if (status == CLI_OK)
        status = args->self_test ? self_test(&session) : show(&session);
    session_close(&session);
    return status;
}

// clang-format off
static const cli_option options[] = {
    {.name = "--selftest", .kind = CLI_FLAG, .offset = offsetof(arguments, self_test),
     .help = "instead: run small kernels on the device (--device), and say whether its arithmetic is what "
             "images and gradients rely on; ends with 1 where something that is needed is missing"},
};
// clang-format on

const cli_command command_devices = {
    .name = "devices",
    .summary = "what can run here, and which features it has",
    .usage = "[--selftest] [OPTIONS]",
    .example = "backlight devices --selftest --device 1",
    CLI_OPTIONS(options),
    .groups = CLI_DEVICE,
    .arguments_size = sizeof(arguments),
    .run = run,
};
