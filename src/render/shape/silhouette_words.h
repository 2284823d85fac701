/* SPDX-License-Identifier: BSD-3-Clause
 * The words of the list of silhouettes in the scene buffer: what silhouette_list.c writes and silhouette.c
 * reads. Tables are cumulative (warp_discrete); their last entry is 1. */
#ifndef BL_RENDER_SHAPE_SILHOUETTE_WORDS_H
#define BL_RENDER_SHAPE_SILHOUETTE_WORDS_H

/* The passes of edges. Each has of the cells, in BUFFER_VALUES, cumulative probabilities and then values.
 * Behind all tables stands the variance of each pass's samples. */
enum edge_table { EDGE_TABLE_SEEN, EDGE_TABLE_PATH, EDGE_TABLE_LIT, EDGE_TABLES };
enum { CELL_TABLE_WORDS = 2 };
/* In BUFFER_SAMPLES, of each cell: what was found, what could be, and the square of what was found. */
enum { CELL_LEARNT_WORDS = 3 };
/* Behind these: of each lane that makes a table, the sums of what was found, what could be, and probabilities
 * before; then, of each lane, its part of the variance. */
enum { LEARN_LANES = 64, LEARN_SUMS = 3 };
/* What is done with what was found: it is added up, made a table, and its variance is added up. */
enum { LEARN_ADD_UP, LEARN_TABLE, LEARN_VARIANCE, LEARN_STEPS };
/* The carriers, and the cells. Carriers that parameters move stand first, and so do their cells:
 * SILHOUETTE_CELLS_MOVING of them. */
enum silhouette_word {
    SILHOUETTE_COUNT,
    SILHOUETTE_CDF,
    SILHOUETTE_CARRIERS,
    SILHOUETTE_CELLS,
    SILHOUETTE_CELL_COUNT,
    SILHOUETTE_CELLS_MOVING,
    SILHOUETTE_MIRRORS /* words of the records of plan.edge_mirrors shapes */,
    SILHOUETTE_GUIDE /* word of BUFFER_VALUES: the tables by which passes choose cells */,
    SILHOUETTE_PRIMITIVES /* how many the scene has. Of each, behind all entries of the hierarchies: its place
                             among them */
    ,
    SILHOUETTE_WORDS
};
/* A part of all curves: some carriers as a whole, or some edges of one, or a stretch of one edge. First and
 * last are indices; CELL_EDGE_LAST is PLAN_NONE where carriers are whole. */
enum cell_word {
    CELL_CARRIER_FIRST,
    CELL_CARRIER_LAST,
    CELL_EDGE_FIRST,
    CELL_EDGE_LAST,
    CELL_FROM /* along the edge (f32), and how much of it */,
    CELL_SIZE,
    CELL_PROBABILITY /* before anything is learned (f32) */,
    CELL_WORDS
};
/* CARRIER_SHAPE: the word of the shape's record; CARRIER_INSTANCE: its index. CARRIER_KIND: enum shape_kind,
 * or CARRIER_CROSSES of curves in which two shapes go through each other; then the shape is one of them. */
#define CARRIER_CROSSES SHAPE_KIND_COUNT
enum carrier_word {
    CARRIER_SHAPE,
    CARRIER_INSTANCE,
    CARRIER_KIND,
    CARRIER_EDGE_COUNT,
    CARRIER_EDGES,
    CARRIER_CDF,
    CARRIER_PROBABILITY,
    CARRIER_WORDS
};
/* Indices of vertices: the edge goes from EDGE_FROM to EDGE_TO, and EDGE_OPPOSITE and EDGE_OTHER (PLAN_NONE:
 * the edge is a border) are the third vertices of its two faces. EDGE_TURNS in the place of EDGE_OTHER: no
 * edge, but the curve on a face along which its normal turns away (silhouette_turn.c). EDGE_FACE_ONE and
 * EDGE_FACE_TWO are edge_face() of both faces. Of shapes that are no meshes the first words are
 * silhouette_piece.words. */
#define EDGE_TURNS (PLAN_NONE - 1)
/* EDGE_SEAM there: the second face is another mesh's, and EDGE_FACE_TWO is the word of a seam's record. */
#define EDGE_SEAM (PLAN_NONE - 2)
enum edge_word {
    EDGE_FROM,
    EDGE_TO,
    EDGE_OPPOSITE,
    EDGE_OTHER,
    EDGE_FACE_ONE,
    EDGE_FACE_TWO,
    EDGE_CREASE /* silhouette_point.crease */,
    EDGE_PROBABILITY,
    EDGE_WORDS
};

/* The other mesh at a seam: the word of its record; its vertices, of which SEAM_FROM lies at EDGE_FROM;
 * edge_face() of its face. Meshes farther apart than SEAM_TOLERANCE (f32) have moved apart. */
enum seam_word { SEAM_SHAPE, SEAM_FROM, SEAM_TO, SEAM_OPPOSITE, SEAM_FACE, SEAM_TOLERANCE, SEAM_WORDS };

/* Of a curve in which shapes go through each other: the numbers in the scene of both primitives.
 * CROSSING_KINDS has these bits, of the other one shifted by 1: a sphere, a disk, a cylinder; else it is a
 * triangle. */
enum crossing_word { CROSSING_ONE, CROSSING_OTHER, CROSSING_KINDS };
#define CROSSING_ROUND 1u
#define CROSSING_DISK 4u
#define CROSSING_TUBE 16u

/* A face at an edge: the number of its primitive in the scene, at which of its corners its side along the
 * edge begins, and whether that side runs from EDGE_TO to EDGE_FROM. */
static inline uint32_t edge_face(uint32_t primitive, uint32_t corner, bool turned)
{
    return primitive << 3 | corner << 1 | turned;
}

#endif
