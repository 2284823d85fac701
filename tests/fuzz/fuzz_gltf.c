/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: glTF files, to objects of the renderer's own plugins. Untrusted, so that no mutation opens
 * anything outside of tests/data/gltf, with small limits of memory and time. The corpus is
 * tests/support/gltf_corpus.py's. */
#include "fuzz/fuzz_main.h"
#include "render/render_scene.h"
#include "scene/scene.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const scene_load_options options = {.registry = &render_registry, .untrusted = true};
    call_budget budget = {.most = {[BUDGET_MEMORY] = 1 << 28,
                                   [BUDGET_TEXT] = 1 << 24,
                                   [BUDGET_PIXELS] = 1 << 22,
                                   [BUDGET_TRIANGLES] = 1 << 20,
                                   [BUDGET_VOXELS] = 1,
                                   [BUDGET_KERNEL] = 1,
                                   [BUDGET_SECONDS] = 5}};
    char folder[1000];
    const char *source = getenv("BL_SOURCE_DIR");
    scene_description *scene = NULL;
    bl_error err = {0};
    snprintf(folder, sizeof folder, "%s/tests/data/gltf", source ? source : ".");
    memory_open();
    budget_begin(&budget);
    scene_assembly *a = assembly_create();
    bl_result result = assembly_add_gltf(a, "<gltf>", folder, data, size, &options, &err);
    if (result == BL_OK)
        result = assembly_finish(a, folder, &options, &scene, &err);
    BL_ASSERT(result == err.code && (result == BL_OK) == (scene != NULL), "result %d", (int)result);
    BL_ASSERT(result == BL_OK || *err.text, "result %d without a reason", (int)result);
    assembly_destroy(a);
    scene_free(scene);
    budget_end(&budget);
    memory_close();
    return 0;
}

FUZZ_MAIN("gltf", ".gltf .glb")
