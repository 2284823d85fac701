/* SPDX-License-Identifier: BSD-3-Clause
 * OpenVDB files (.vdb), by the library of that name where the build has it (-DBL_OPENVDB=ON). Its reader is
 * written for files that one trusts: damaged ones are errors that leave memory behind, one made to harm may
 * bring the process down, so untrusted scenes do not get it (value.c). */
#include "scene/volume_sparse.h"

#ifdef BL_WITH_OPENVDB

#include "scene/volume_openvdb.h"

bl_result volume_parse_vdb(const void *data, size_t size, scene_volume *out, bl_error *err)
{
    char reason[200] = "";
    sparse_grid g = {.format = "OpenVDB", .voxel = openvdb_file_voxel};
    *out = (scene_volume){0};
    openvdb_file *file = openvdb_file_open(data, size, reason, sizeof reason);
    if (!file)
        return error_set(err, BL_ERROR_FORMAT, "OpenVDB file: %s", reason);
    g.user = file;
    openvdb_file_box(file, g.first, g.last);
    bl_result r =
        openvdb_file_place(file, g.map, g.origin)
            ? volume_make_dense(&g, out, err)
            : error_set(err, BL_ERROR_UNSUPPORTED, "the transform of the OpenVDB grid is not affine");
    openvdb_file_close(file);
    return r;
}

#else

bl_result volume_parse_vdb(const void *data, size_t size, scene_volume *out, bl_error *err)
{
    (void)data, (void)size;
    *out = (scene_volume){0};
    return error_set(err, BL_ERROR_UNSUPPORTED,
                     "this build reads no OpenVDB files: build with -DBL_OPENVDB=ON (docs/dependencies.md), "
                     "or convert it with nanovdb_convert");
}

#endif
