/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the OBJ reader, then normals over what it loaded. Indices must be in range and positions
 * finite. */
#include "fuzz/fuzz_main.h"
#include "scene/scene_internal.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_mesh mesh;
    bl_error err = {0};
    bl_result result = mesh_parse_obj((const char *)data, size, true, &mesh, &err);
    BL_ASSERT(result == err.code, "result %d", result);
    for (size_t i = 0; i < 3 * (size_t)mesh.face_count; i++)
        BL_ASSERT(mesh.faces[i] < mesh.vertex_count, "index %zu", i);
    for (size_t i = 0; i < 3 * (size_t)mesh.vertex_count; i++)
        BL_ASSERT(isfinite(mesh.positions[i]), "position %zu", i);
    if (result == BL_OK)
        mesh_generate_normals(&mesh);
    mesh_free(&mesh);
    return 0;
}

FUZZ_MAIN("", ".obj")
