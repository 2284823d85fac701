/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: whole scenes with the renderer's own plugins, from text to hierarchies, with all files that
 * they name. Untrusted, so that no mutation opens anything outside of tests/data; with small limits of memory
 * and time, so that none takes the machine. */
#include "fuzz/fuzz_main.h"

#include <backlight/backlight.h>
#include <time.h>

/* In CPU time, since the machine may be busy; above the limit below: for what does not look at the clock. */
enum { SECONDS_MOST = 20 };

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bl_context *context;
    char folder[1000], *xml = malloc(size + 1);
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(folder, sizeof folder, "%s/tests/data", source ? source : ".");
    memcpy(xml, data, size);
    xml[size] = 0;
    if (!context) {
        bl_result made = bl_context_create(&(bl_context_desc){.no_devices = true}, &context);
        BL_ASSERT(made == BL_OK, "%d", (int)made);
    }
    const bl_limits limits = {.memory = 1 << 28, .seconds = 5};
    const bl_scene_desc desc = {.untrusted = true, .limits = &limits};
    bl_scene *scene = NULL;
    const double start = cpu_seconds();
    bl_result result = bl_scene_load_string(context, xml, folder, &desc, &scene);
    BL_ASSERT(cpu_seconds() - start < SECONDS_MOST, "an input took %g seconds", cpu_seconds() - start);
    BL_ASSERT((result == BL_OK) == (scene != NULL), "result %d", (int)result);
    BL_ASSERT(result == BL_OK || *bl_context_error(context), "result %d without a reason", (int)result);
    for (uint32_t k = 0; scene && k < bl_scene_parameter_count(scene); k++) {
        bl_parameter_info info;
        uint32_t found;
        BL_ASSERT(bl_scene_parameter_info(scene, k, &info) == BL_OK && info.count > 0, "parameter %u", k);
        BL_ASSERT(bl_scene_find_parameter(scene, info.name, &found) == BL_OK, "%s is not found", info.name);
    }
    bl_scene_destroy(scene);
    BL_ASSERT(!memory_low(), "something of the reserve is %s", "still in use");
    free(xml);
    return 0;
}

FUZZ_MAIN("scenes", ".xml")
