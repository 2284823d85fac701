// SPDX-License-Identifier: BSD-3-Clause
// See volume_openvdb.h. OpenVDB has no C face, so this is C++, and optional.
#include "scene/volume_openvdb.h"

#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>

#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

struct openvdb_file {
    openvdb::FloatGrid::Ptr grid;
    openvdb::FloatGrid::ConstAccessor accessor;
    explicit openvdb_file(const openvdb::FloatGrid::Ptr &g) : grid(g), accessor(g->getConstAccessor()) {}
};

// By a stream that throws where bytes are missing: of a file that ends early the library would make a grid of
// whatever was in memory.
static openvdb::FloatGrid::Ptr read_first(const char *data, size_t size)
{
    openvdb::initialize();
    std::istringstream in(std::string(data, size), std::ios::binary);
    in.exceptions(std::ios::failbit | std::ios::badbit);
    openvdb::io::Stream file(in, false);
    for (const openvdb::GridBase::Ptr &grid : *file.getGrids())
        if (grid && grid->isType<openvdb::FloatGrid>())
            return openvdb::gridPtrCast<openvdb::FloatGrid>(grid);
    throw std::runtime_error("it has no grid of 32-bit floats");
}

openvdb_file *openvdb_file_open(const void *data, size_t size, char *message, size_t message_size)
{
    try {
        return new openvdb_file(read_first(static_cast<const char *>(data), size));
    } catch (const std::ios_base::failure &) {
        std::snprintf(message, message_size, "it is truncated or damaged");
    } catch (const std::exception &e) {
        std::snprintf(message, message_size, "%s", e.what());
    } catch (...) {
        std::snprintf(message, message_size, "unknown error");
    }
    return nullptr;
}

void openvdb_file_close(openvdb_file *file) { delete file; }

void openvdb_file_box(const openvdb_file *file, int64_t first[3], int64_t last[3])
{
    const openvdb::CoordBBox box = file->grid->evalActiveVoxelBoundingBox();
    for (int k = 0; k < 3; k++)
        first[k] = box.min()[k], last[k] = box.max()[k];
}

int openvdb_file_place(const openvdb_file *file, double map[9], double origin[3])
{
    if (!file->grid->transform().isLinear())
        return 0;
    const openvdb::Mat4R m = file->grid->transform().baseMap()->getAffineMap()->getMat4(); // of row vectors
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 3; k++)
            map[3 * r + k] = m[k][r];
        origin[r] = m[3][r];
    }
    return 1;
}

float openvdb_file_voxel(void *file, const int32_t index[3])
{
    return static_cast<openvdb_file *>(file)->accessor.getValue(openvdb::Coord(index[0], index[1], index[2]));
}
