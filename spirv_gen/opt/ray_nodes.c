/* SPDX-License-Identifier: BSD-3-Clause
 * Packs a two-wide hierarchy with f32 planes into the nodes that ray_bvh.c traverses: planes as 16-bit cells
 * of a grid over the whole scene, rounded outward, with one more cell to spare for the traversal's
 * rounding. */
#include "base/bvh_layout.h"
#include "spirv_gen/opt/opt.h"

#include <math.h>
#include <string.h>

typedef struct grid {
    float origin[3], cell[3];
} grid;

static float plane(const uint32_t *node, uint32_t at)
{
    float v;
    memcpy(&v, node + at, sizeof v);
    return v;
}

/* Origin and cell in f32 such that every finite plane lies within, `BVH_CELLS_SPARE` + 1 cells from both
 * ends. */
static grid make_grid(const uint32_t *nodes, uint32_t count)
{
    grid g;
    for (uint32_t axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < 2 * count; i++) {
            const uint32_t *box = nodes + i / 2 * BVH_WIDE_WORDS + i % 2 * 6;
            if (nodes[i / 2 * BVH_WIDE_WORDS + BVH_WIDE_REFERENCE + i % 2] == BVH_NONE)
                continue;
            low = fmin(low, (double)plane(box, axis)), high = fmax(high, (double)plane(box, axis + 3));
        }
        if (!(low <= high))
            low = high = 0;
        double size = fmax(high - low, 1e-6 * fmax(fabs(low), fabs(high))), spare = 2 * BVH_CELLS_SPARE + 2;
        if (size < 1e-30)
            size = 1e-30;
        g.cell[axis] = nextafterf((float)(size / (BVH_CELLS - 2 * spare)), INFINITY);
        g.origin[axis] = nextafterf((float)(low - spare * (double)g.cell[axis]), -INFINITY);
        /* far from zero the origin is coarse: cells grow until the grid holds everything again */
        double reach = (high - (double)g.origin[axis]) / (BVH_CELLS - spare);
        if (reach > (double)g.cell[axis])
            g.cell[axis] = nextafterf((float)reach, INFINITY);
    }
    return g;
}

static uint32_t cells(const grid *g, uint32_t axis, float v, bool most)
{
    double at = ((double)v - (double)g->origin[axis]) / (double)g->cell[axis];
    at = most ? ceil(at) + BVH_CELLS_SPARE : floor(at) - BVH_CELLS_SPARE;
    return (uint32_t)fmin(fmax(at, 0), BVH_CELLS);
}

uint32_t opt_packed_words(uint32_t count) { return BVH_NODE_WORDS * (count + 1); }

void opt_pack_nodes(const uint32_t *nodes, uint32_t count, uint32_t *words)
{
    grid g = make_grid(nodes, count);
    memset(words, 0, opt_packed_words(count) * sizeof *words);
    memcpy(words, &g, sizeof g);
    for (uint32_t i = 0; i < 2 * count; i++) {
        const uint32_t *node = nodes + i / 2 * BVH_WIDE_WORDS, side = i % 2,
                       reference = node[BVH_WIDE_REFERENCE + side];
        uint32_t *packed = words + BVH_NODE_WORDS * (i / 2 + 1);
        for (uint32_t axis = 0; axis < 3; axis++) {
            bool none = reference == BVH_NONE;
            packed[axis] |= (none ? BVH_CELLS : cells(&g, axis, plane(node + 6 * side, axis), false))
                            << 16 * side;
            packed[axis + 3] |= (none ? 0 : cells(&g, axis, plane(node + 6 * side, axis + 3), true))
                                << 16 * side;
        }
        packed[BVH_NODE_REFERENCE + side] =
            reference & BVH_LEAF ? reference : BVH_NODE_WORDS * (reference + 1);
    }
}
