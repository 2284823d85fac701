/* SPDX-License-Identifier: BSD-3-Clause
 * The words of the list of silhouettes in the scene buffer: what silhouette_edges.c writes and silhouette.c
 * reads. Tables are cumulative (warp_discrete); their last entry is 1. */
#ifndef BL_RENDER_SHAPE_SILHOUETTE_WORDS_H
#define BL_RENDER_SHAPE_SILHOUETTE_WORDS_H

/* SILHOUETTE_MOVING: the share of carriers that move, a probability (f32). They stand first. */
enum silhouette_word {
    SILHOUETTE_COUNT,
    SILHOUETTE_CDF,
    SILHOUETTE_CARRIERS,
    SILHOUETTE_MOVING,
    SILHOUETTE_WORDS
};
/* CARRIER_SHAPE: the word of the shape's record; CARRIER_INSTANCE: its index. */
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
 * the edge is a border) are the third vertices of its two faces. Of shapes that are no meshes the first four
 * words are silhouette_piece.words. */
enum edge_word {
    EDGE_FROM,
    EDGE_TO,
    EDGE_OPPOSITE,
    EDGE_OTHER,
    EDGE_CREASE /* silhouette_point.crease */,
    EDGE_PROBABILITY,
    EDGE_WORDS
};

#endif
