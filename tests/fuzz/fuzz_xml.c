/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: scene files. Untrusted, so that no mutation opens anything outside of tests/data. Every error
 * must name a place. */
#include "fuzz/fuzz_main.h"
#include "scene/scene_internal.h"
#include "support/test_registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const scene_define defines[] = {{"spp", "4"}};
    scene_load_options options = {
        .registry = &test_registry, .untrusted = true, .defines = defines, .define_count = size % 2};
    scene_description *scene = NULL;
    bl_error err = {0};
    char folder[1000], *xml = malloc(size + 1);
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(folder, sizeof folder, "%s/tests/data", source ? source : ".");
    memcpy(xml, data, size);
    xml[size] = 0;
    bl_result result = scene_load_string(xml, folder, &options, &scene, &err);
    BL_ASSERT(result == err.code && (result == BL_OK) == (scene != NULL), "result %d", result);
    BL_ASSERT(result == BL_OK || strchr(err.text, ':'), "%s", err.text);
    scene_free(scene);
    free(xml);
    return 0;
}

FUZZ_MAIN("", ".xml")
