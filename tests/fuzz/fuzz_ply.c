/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: the PLY reader, then normals over what it loaded. Indices must be in range and values
 * finite. */
#include "fuzz/fuzz_main.h"
#include "fuzz/fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scene_mesh mesh;
    bl_error err = {0};
    bl_result result = mesh_parse_ply(data, size, true, &mesh, &err);
    fuzz_check_mesh(&mesh, result, &err);
    return 0;
}

FUZZ_MAIN("", ".ply")
