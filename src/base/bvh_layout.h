/* SPDX-License-Identifier: BSD-3-Clause
 * The words of two-wide bounding volume hierarchies: as src/scene/bvh.c builds them, as
 * spirv_gen/opt/ray_nodes.c packs them and kernels traverse them (spirv_gen/opt/ray_bvh.c), and the entries
 * that their leaves refer to. glsl/reference_pt.comp says the first of these again, in its own language. */
#ifndef BL_BASE_BVH_LAYOUT_H
#define BL_BASE_BVH_LAYOUT_H

/* References. A reference with bit 31 clear is an inner node. */
#define BVH_LEAF 0x80000000u       /* a leaf: number of entries - 1 and first entry in the bits below */
#define BVH_LEAF_COUNT 0x70000000u /* bits of the number - 1 */
#define BVH_LEAF_FIRST 0x0FFFFFFFu /* bits of the first entry */
#define BVH_LEVEL 0xC0000000u /* on two levels: a change of level; its record's word is in the bits below */
#define BVH_LEVEL_PLACE 0x3FFFFFFCu /* bits of that word, a multiple of four */
#define BVH_NONE 0xFFFFFFFFu        /* no child */
enum { BVH_COUNT_SHIFT = 28 };

/* A node as it is built: f32 planes. [0..2] and [3..5] corners of the left child, [6..11] of the right one.
 */
enum { BVH_WIDE_WORDS = 16, BVH_WIDE_REFERENCE = 12 /* of the left child; the right one's follows */ };

/* A packed node: planes in cells of the grid, the left child's in bits 0..15, the right one's above. The grid
 * stands in the place of a node before the first one, so the reference of node k is BVH_NODE_WORDS (k + 1).
 */
enum {
    BVH_NODE_WORDS = 8,
    BVH_NODE_REFERENCE = 6, /* of the left child; the right one's follows */
    BVH_GRID_CELL = 3,      /* of the grid: [0..2] its origin, [3..5] its cell */
    BVH_CELLS = 65535,      /* of an axis */
    BVH_CELLS_SPARE = 1     /* on each side of a box, for the traversal's rounding */
};
#define BVH_ROOT 8u /* reference */

/* An entry: one primitive. [0..8] are the payload of its kind; a triangle's are v0, e1 and e2. */
enum {
    BVH_ENTRY_WORDS = 12,
    BVH_ENTRY_KIND = 9,      /* index of the intersection function; before a plan: enum shape_kind */
    BVH_ENTRY_SHAPE = 10,    /* number of the shape */
    BVH_ENTRY_PRIMITIVE = 11 /* number in the shape */
};

/* The record of a level. */
enum {
    BVH_RECORD_MAP = 0,   /* from the world to the level, 3 rows of 4 */
    BVH_RECORD_GRID = 12, /* origin and cell of its grid */
    BVH_RECORD_ROOT = 18  /* reference */
};

#endif
