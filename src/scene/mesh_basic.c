/* SPDX-License-Identifier: BSD-3-Clause
 * Meshes without a file: rectangle and cube, with Mitsuba's orientation and texture coordinates. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

static void *copy(const void *data, size_t size)
{
    void *made = memory_need(size);
    memcpy(made, data, size);
    return made;
}

void mesh_rectangle(scene_mesh *out)
{
    static const float positions[4][3] = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}};
    static const float normals[4][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
    static const float uvs[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    static const uint32_t faces[2][3] = {{0, 1, 3}, {3, 1, 2}};
    *out = (scene_mesh){
        .vertex_count = 4,
        .face_count = 2,
        .positions = copy(positions, sizeof positions),
        .normals = copy(normals, sizeof normals),
        .uvs = copy(uvs, sizeof uvs),
        .faces = copy(faces, sizeof faces),
    };
}

/* One side of the cube: its normal, and where its four corners lie. Corner k has the texture coordinates
 * corner_uvs[k]. */
typedef struct cube_side {
    float normal[3];
    float corners[4][3];
} cube_side;

static const cube_side cube_sides[6] = {
    {{0, -1, 0}, {{1, -1, -1}, {1, -1, 1}, {-1, -1, 1}, {-1, -1, -1}}},
    {{0, 1, 0}, {{1, 1, -1}, {-1, 1, -1}, {-1, 1, 1}, {1, 1, 1}}},
    {{1, 0, 0}, {{1, -1, -1}, {1, 1, -1}, {1, 1, 1}, {1, -1, 1}}},
    {{0, 0, 1}, {{1, -1, 1}, {1, 1, 1}, {-1, 1, 1}, {-1, -1, 1}}},
    {{-1, 0, 0}, {{-1, -1, 1}, {-1, 1, 1}, {-1, 1, -1}, {-1, -1, -1}}},
    {{0, 0, -1}, {{1, 1, -1}, {1, -1, -1}, {-1, -1, -1}, {-1, 1, -1}}},
};
static const float corner_uvs[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
static const uint32_t side_faces[2][3] = {{0, 1, 2}, {3, 0, 2}};

void mesh_cube(scene_mesh *out)
{
    float positions[24][3], normals[24][3], uvs[24][2];
    uint32_t faces[12][3];
    for (uint32_t v = 0; v < 24; v++) {
        memcpy(positions[v], cube_sides[v / 4].corners[v % 4], sizeof positions[v]);
        memcpy(normals[v], cube_sides[v / 4].normal, sizeof normals[v]);
        memcpy(uvs[v], corner_uvs[v % 4], sizeof uvs[v]);
    }
    for (uint32_t f = 0; f < 12; f++)
        for (uint32_t k = 0; k < 3; k++)
            faces[f][k] = 4 * (f / 2) + side_faces[f % 2][k];
    *out = (scene_mesh){
        .vertex_count = 24,
        .face_count = 12,
        .positions = copy(positions, sizeof positions),
        .normals = copy(normals, sizeof normals),
        .uvs = copy(uvs, sizeof uvs),
        .faces = copy(faces, sizeof faces),
    };
}
