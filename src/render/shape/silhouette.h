/* SPDX-License-Identifier: BSD-3-Clause
 * Where visibility may jump: curves on shapes, and points on these curves (docs/theory/edges.md). A mesh has
 * its edges. A kind with the hook `silhouette` has the curve along which it turns away from a viewpoint, and
 * its border.
 *
 * A plan lists carriers: one for each shape or, where there are groups, for each shape of each instance. It
 * has the edges of each mesh, with the probability of each. The probabilities follow from the scene as it was
 * loaded. They stay when it moves, which leaves estimates right.
 *
 * Everything here is detached but silhouette_moved and silhouette_turn_moved. */
#ifndef BL_RENDER_SHAPE_SILHOUETTE_H
#define BL_RENDER_SHAPE_SILHOUETTE_H

#include "render/classes.h"

/* Part of what a shape that is no mesh has for a curve: numbers that its kind knows, about how long the curve
 * is, as seen from the average direction, and silhouette_point.crease. */
typedef struct silhouette_piece {
    uint32_t words[6];
    double weight, crease;
} silhouette_piece;
typedef struct silhouette_pieces {
    ARRAY(silhouette_piece) all;
} silhouette_pieces;

/* Asks a kind for the point on a curve of a shape. */
typedef struct silhouette_query {
    ir_ref data;    /* word at SHAPE_DATA */
    ir_ref piece;   /* word of silhouette_piece.words */
    vec3 viewpoint; /* in the space in which the shape stands */
    ir_ref along;   /* in [0, 1) */
    bool backwards; /* rays run toward the viewpoint: this matters to shapes that they meet from outside only
                     */
} silhouette_query;

/* ---- silhouette_list.c ---- */

/* Writes the carriers, edges and cells, and HEADER_SILHOUETTES, which stays 0 where no shape has any. */
void silhouette_write(plan *p);

/* ---- silhouette_edges.c ---- */

/* The words of a scene or a plan, in which geometry begins at a place. */
typedef struct silhouette_words {
    const uint32_t *base;
    uint32_t geometry;
} silhouette_words;
/* The edges of a mesh, without weight those where nothing can jump. bends: its vertices are parameters. */
void silhouette_find_edges(const silhouette_words *w, const render_shape *shape, bool bends,
                           silhouette_pieces *out);
/* The unit vector in a face, at a right angle to its edge between two vertices. False: the face has no area.
 */
bool silhouette_into_face(const float *from, const float *to, const float *opposite, double out[3]);

/* ---- crossings.c ---- */

/* Two shapes of one group whose surfaces go through each other, or twice a mesh that goes through itself, and
 * the pairs of their primitives that may have a part of the curve. */
typedef struct shape_crossing {
    uint32_t shape[2];
    silhouette_pieces pieces; /* owned */
} shape_crossing;
typedef ARRAY(shape_crossing) shape_crossings;
/* Lists those of triangles, disks, spheres and cylinders. The search ends after some millions of pairs. */
void shapes_list_crossings(const render_scene *s, shape_crossings *out);
/* Sets has[i] where shape i and another of its group go through each other, one of them a curve or a grid of
 * distances: as far as the boxes of their parts say. That is not sampled. */
void shapes_find_left_crossings(const render_scene *s, bool *has);

/* Sets touch[i] where shape i, of which of[i] is false, touches another of its group, of which it is true. */
void shapes_find_touching(const render_scene *s, const bool *of, bool *touch);

/* ---- silhouette_seams.c ---- */

/* Joins borders of meshes that coincide. of: the pieces of each shape. */
void silhouette_join_seams(plan *p, silhouette_pieces *of);
/* Sets has[i] where shape i has a seam with another mesh. Meshes with many faces are not asked. */
void silhouette_have_seams(const render_scene *s, bool *has);
/* The same of meshes in different instances, whose borders are not joined: sets instances[k] where instance k
 * shows such a border, and shapes[i] where mesh i, which stands in no group, has one. */
void silhouette_have_instance_seams(const render_scene *s, bool *instances, bool *shapes);

/* ---- silhouette_cells.c ---- */

/* Divides all curves into cells of about equal probability. head: HEADER_SILHOUETTES; moving: how many of the
 * carriers, which are `count`. Returns the number of cells. */
uint32_t silhouette_write_cells(plan *p, uint32_t head, uint32_t count, uint32_t moving);
/* Makes room for what passes learn of the cells, behind all values that are derived from parameters. */
void silhouette_place_guide(plan *p);

/* ---- silhouette.c ---- */

/* A choice of a place on some curve: a carrier, an edge or piece of it, and a number in [0, 1) along it. */
typedef struct silhouette_place {
    ir_ref carrier, edge, along;
} silhouette_place;

/* The place of a cell that three uniform numbers lead to. *density: of the choice within the cell, by carrier
 * and edge, which are discrete, and the number along the edge. */
silhouette_place silhouette_choose(tracer *t, ir_ref cell, const ir_ref u[3], ir_ref *density);

/* bool: the place is on a curve in which two shapes go through each other. Where plan.edge_crossings. */
ir_ref silhouette_crosses(tracer *t, const silhouette_place *at);

/* What is there, seen from a viewpoint. Points and vectors are in the world. */
typedef struct silhouette_point {
    ir_ref there;  /* bool: there is such a point */
    vec3 p, along; /* the point, and its derivative by silhouette_place.along; of a seam half of it, because
                      the other mesh has the same edge */
    vec3 out;      /* leads away from the surface, not in general at a right angle to it */
    ir_ref closed; /* bool: all of the surface that meets there lies on one side, as the viewpoint sees it */
    ir_ref blur;   /* f32: within this distance of the curve rays may miss what is there; none: 0 */
    ir_ref crease; /* f32: how much the surface may bend where it is not closed; 0: nothing jumps there */
} silhouette_point;
/* backwards: silhouette_query.backwards. */
silhouette_point silhouette_at(tracer *t, const silhouette_place *at, vec3 viewpoint, bool backwards);

/* The surface on both sides of a curve of a mesh, and of one in which shapes go through each other, which no
 * ray needs to find: [0] on the side of the surface; [1] on the other, where the curve is not closed. Of
 * silhouettes of shapes that are no meshes it is not known. */
typedef struct silhouette_sides {
    ir_ref known[2];     /* bool; the other fields are valid references in any case */
    ir_ref primitive[2]; /* u32: number in the scene, */
    ir_ref entry[2];     /* and the word of its entry */
    ir_ref level;        /* as in walk_hit */
    vec2 b[2];           /* coordinates on the primitive */
    vec3 shift[2];       /* of a sphere or cylinder: from the curve's point to that beside it; where
                            plan.edge_crossings */
    ir_ref edge_on;      /* bool: a side is seen edge-on, which is as good as not at all */
    vec3 toward; /* leads away from the surface on [0], where the curve is not closed from both, toward the
                    viewpoint's side */
} silhouette_sides;
silhouette_sides silhouette_sides_at(tracer *t, const silhouette_place *at, vec3 viewpoint);

/* The point of silhouette_at (p), as it moves with vertices and with to_world, seen from a viewpoint that may
 * move. t: differentiated. */
vec3 silhouette_moved(tracer *t, const silhouette_place *at, vec3 p, vec3 viewpoint);

/* ---- silhouette_mesh.c: edges of meshes, whose data words are given, in the mesh's space ---- */

/* word: EDGE_FROM or EDGE_TO. */
vec3 silhouette_edge_vertex(tracer *t, ir_ref data, ir_ref edge, uint32_t word);
silhouette_point silhouette_edge(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along);
/* Up to this cosine a face is seen edge-on. */
#define SILHOUETTE_GRAZING 1e-5f
/* How far above a surface a point of it is looked for, over the offset of rays: a hundred times the rounding
 * of the point. What goes less deep into another shape than that stands on it: its edge is seen. */
#define SILHOUETTE_ABOVE 0.0625f
/* Without entries and level. */
silhouette_sides silhouette_edge_sides(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along);

/* The word of the entry of a primitive, whose number in the scene is given. */
ir_ref silhouette_entry(tracer *t, ir_ref primitive);

/* ---- silhouette_turn.c ---- */

/* Where the interpolated normal of a face turns away from the viewpoint. data: words of the mesh; edge: the
 * words of the piece, whose first three are the face's vertices. In the space in which the mesh stands. */
silhouette_point silhouette_turn(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along);
/* That point and the normal there, at a fixed place on the face, as vertices move (t: differentiated). When
 * n . (p - viewpoint) becomes larger by g, the point of the curve steps by -g / square times `aside`. */
typedef struct silhouette_turning {
    vec3 p, n, aside;
    ir_ref square;
} silhouette_turning;
silhouette_sides silhouette_turn_sides(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along);
silhouette_turning silhouette_turn_moved(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along);

/* ---- silhouette_crossing.c: curves in which shapes go through each other; place.edge is given as the word
 * of its words ---- */

silhouette_point silhouette_crossing(tracer *t, ir_ref edge, vec3 viewpoint, ir_ref along);
/* Without entries and level. */
silhouette_sides silhouette_crossing_sides(tracer *t, ir_ref edge, vec3 viewpoint, ir_ref along);
/* By how much the curve moves across itself in which two surfaces meet, when they move by these lengths along
 * their unit normals. */
vec3 silhouette_crossing_step(tracer *t, const vec3 n[2], const ir_ref by[2]);
/* Where the point p of the curve is when both shapes move (t: differentiated). p: in the world. */
vec3 silhouette_crossing_moved(tracer *t, ir_ref edge, ir_ref level, vec3 p);

#endif
