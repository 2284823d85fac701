/* SPDX-License-Identifier: BSD-3-Clause
 * What the one file in C++ (volume_openvdb.cpp) does for volume_vdb.c: the first grid of 32-bit floats in an
 * OpenVDB file. */
#ifndef BL_SCENE_VOLUME_OPENVDB_H
#define BL_SCENE_VOLUME_OPENVDB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct openvdb_file openvdb_file;

/* data: the whole file, no longer needed afterwards. NULL: message says why, in one line. No exception leaves
 * these functions. */
openvdb_file *openvdb_file_open(const void *data, size_t size, char *message, size_t message_size);
void openvdb_file_close(openvdb_file *file);
/* The box around active voxels; last below first: there are none. */
void openvdb_file_box(const openvdb_file *file, int64_t first[3], int64_t last[3]);
/* world = map index + origin, rows of 3; false: the grid's transform is not affine. */
int openvdb_file_place(const openvdb_file *file, double map[9], double origin[3]);
float openvdb_file_voxel(void *file, const int32_t index[3]);

#ifdef __cplusplus
}
#endif
#endif
