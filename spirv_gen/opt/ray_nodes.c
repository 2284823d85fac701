/* SPDX-License-Identifier: BSD-3-Clause
 * Packs a two-wide hierarchy with f32 planes into the nodes that ray_bvh.c traverses: planes as 16-bit cells
 * of a grid over the whole scene, rounded outward, with one more cell to spare for the traversal's
 * rounding. */
#include "spirv_gen/opt/opt.h"

#include <math.h>
#include <string.h>

enum { WIDE = 16, PACKED = 8, CELLS = 65535, SPARE = 1 };
static const uint32_t leaf_bit = 0x80000000u, no_child = 0xFFFFFFFFu;

typedef struct grid {
    float origin[3], cell[3];
} grid;

static float plane(const uint32_t *node, uint32_t at)
{
    float v;
    memcpy(&v, node + at, sizeof v);
    return v;
}

/* Origin and cell in f32 such that every finite plane lies within, `SPARE` + 1 cells from both ends. */
static grid make_grid(const uint32_t *nodes, uint32_t count)
{
    grid g;
    for (uint32_t axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < 2 * count; i++) {
            const uint32_t *box = nodes + i / 2 * WIDE + i % 2 * 6;
            if (nodes[i / 2 * WIDE + 12 + i % 2] == no_child)
                continue;
            low = fmin(low, (double)plane(box, axis)), high = fmax(high, (double)plane(box, axis + 3));
        }
        if (!(low <= high))
            low = high = 0;
        double size = fmax(high - low, 1e-6 * fmax(fabs(low), fabs(high))), spare = 2 * SPARE + 2;
        if (size < 1e-30)
            size = 1e-30;
        g.cell[axis] = nextafterf((float)(size / (CELLS - 2 * spare)), INFINITY);
        g.origin[axis] = nextafterf((float)(low - spare * (double)g.cell[axis]), -INFINITY);
        /* far from zero the origin is coarse: cells grow until the grid holds everything again */
        double reach = (high - (double)g.origin[axis]) / (CELLS - spare);
        if (reach > (double)g.cell[axis])
            g.cell[axis] = nextafterf((float)reach, INFINITY);
    }
    return g;
}

static uint32_t cells(const grid *g, uint32_t axis, float v, bool most)
{
    double at = ((double)v - (double)g->origin[axis]) / (double)g->cell[axis];
    at = most ? ceil(at) + SPARE : floor(at) - SPARE;
    return (uint32_t)fmin(fmax(at, 0), CELLS);
}

uint32_t opt_packed_words(uint32_t count) { return PACKED * (count + 1); }

void opt_pack_nodes(const uint32_t *nodes, uint32_t count, uint32_t *words)
{
    grid g = make_grid(nodes, count);
    memset(words, 0, opt_packed_words(count) * sizeof *words);
    memcpy(words, &g, sizeof g);
    for (uint32_t i = 0; i < 2 * count; i++) {
        const uint32_t *node = nodes + i / 2 * WIDE, side = i % 2, reference = node[12 + side];
        uint32_t *packed = words + PACKED * (i / 2 + 1);
        for (uint32_t axis = 0; axis < 3; axis++) {
            bool none = reference == no_child;
            packed[axis] |= (none ? CELLS : cells(&g, axis, plane(node + 6 * side, axis), false))
                            << 16 * side;
            packed[axis + 3] |= (none ? 0 : cells(&g, axis, plane(node + 6 * side, axis + 3), true))
                                << 16 * side;
        }
        packed[6 + side] = reference & leaf_bit ? reference : PACKED * (reference + 1);
    }
}
