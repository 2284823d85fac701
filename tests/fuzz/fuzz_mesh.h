/* SPDX-License-Identifier: BSD-3-Clause
 * What must hold of every mesh that a reader returns. */
#ifndef BL_FUZZ_MESH_H
#define BL_FUZZ_MESH_H

#include "scene/scene_internal.h"

#include <math.h>

/* Frees the mesh. */
static inline void fuzz_check_mesh(scene_mesh *mesh, bl_result result, const bl_error *err)
{
    BL_ASSERT(result == err->code && (result == BL_OK) == (mesh->positions != NULL), "result %d", result);
    for (size_t i = 0; i < 3 * (size_t)mesh->face_count; i++)
        BL_ASSERT(mesh->faces[i] < mesh->vertex_count, "index %zu", i);
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        BL_ASSERT(isfinite(mesh->positions[i]) && (!mesh->normals || isfinite(mesh->normals[i])),
                  "vertex %zu", i / 3);
    for (size_t i = 0; mesh->uvs && i < 2 * (size_t)mesh->vertex_count; i++)
        BL_ASSERT(isfinite(mesh->uvs[i]), "uv %zu", i);
    for (uint32_t k = 0; k < mesh->attribute_count; k++) {
        const scene_attribute *a = &mesh->attributes[k];
        size_t count =
            (size_t)a->channels * (attribute_of_faces(a->name) ? mesh->face_count : mesh->vertex_count);
        BL_ASSERT(a->channels == 1 || a->channels == 3, "%u channels", a->channels);
        for (size_t i = 0; result == BL_OK && i < count; i++)
            BL_ASSERT(isfinite(a->values[i]), "%s %zu", a->name, i);
    }
    if (result == BL_OK)
        mesh_generate_normals(mesh);
    mesh_free(mesh);
}

#endif
