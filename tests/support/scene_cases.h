/* SPDX-License-Identifier: BSD-3-Clause
 * Small scenes for tests, each with the parameters whose gradients it is for. Geometry is the same few
 * pieces throughout: floor, back wall and block, seen by one camera. So a path of four segments meets
 * everything. */
#ifndef TEST_SCENE_CASES_H
#define TEST_SCENE_CASES_H

#include "base/base.h"

enum { SCENE_CASE_PARAMETERS = 12 };

typedef struct scene_case {
    const char *name;
    const char *body;       /* XML of shapes, materials, lights */
    const char *integrator; /* XML; NULL: path with the depth asked for */
    const char *sensor;     /* XML, two %u: width, height; NULL: scene_sensor_format */
    uint32_t rr_depth;      /* 0: no roulette */
    bool hide_emitters;
    double step; /* of differences of weights; 0: these are polynomials of degree 4 at most, and any step is
                    exact */
    bool needs_next_event; /* without light sampling nothing is lit */
    bool light_tree;       /* lights are chosen by a tree, in tests that go by it */
    bool volumetric;       /* volpath in the place of path */
    uint32_t crossings;    /* null surfaces on a segment, at most; as many are unrolled */
    const char *parameters[SCENE_CASE_PARAMETERS]; /* NULL-terminated if fewer */
} scene_case;

extern const scene_case scene_cases[];
extern const uint32_t scene_case_count;
/* Participating media; all volumetric. */
extern const scene_case scene_media_cases[];
extern const float scene_flakes[6]; /* of flakes.vol, one voxel: xx, yy, zz, xy, xz, yz */
extern const uint32_t scene_media_case_count;
/* Heterogeneous media so thin that delta tracking can be written out (unrolled.c): up to 16 collisions and
 * borders of cells on a stretch. */
extern const scene_case scene_thin_cases[];
extern const uint32_t scene_thin_case_count;

/* Radiance fields (scene_field_cases.c). */
extern const scene_case scene_field_cases[];
extern const uint32_t scene_field_case_count;

/* The scenes of all tables above, one behind the other: the first one, if c is NULL; the one behind c; NULL
 * behind the last. */
const scene_case *scene_case_next(const scene_case *c);

uint32_t scene_case_parameter_count(const scene_case *c);
/* The whole scene; files are named relative to the folder of scene_files_create. */
char *scene_case_xml(arena *a, const scene_case *c, int32_t max_depth, uint32_t width, uint32_t height);
/* XML around a body, of a scene that is not in the table. */
char *scene_xml(arena *a, const char *integrator, const char *sensor, const char *body);

extern const char scene_sensor_format[]; /* two %u: width, height */

/* A scene that is seen through a window of SCENE_WINDOW_WIDTH x SCENE_WINDOW_HEIGHT pixels, off the middle of
 * a wider film. sensor: perspective, thinlens or orthographic; filter: XML. */
enum { SCENE_WINDOW_WIDTH = 16, SCENE_WINDOW_HEIGHT = 12 };
char *scene_window_xml(arena *a, const char *integrator, const char *sensor, const char *filter,
                       const char *body);

/* ---- scene_files.c ---- */

/* A new folder in TMPDIR, or /tmp, with texture.pfm (4 x 3, colours), grey.pfm (3 x 5), sky.pfm (6 x 4, an
 * environment), normals.pfm (3 x 4, a normal map) and patch.ply (a square with attributes), lamp.pfm
 * and lamp.ply (6 x 6; a square of 4 x 4 vertices with colours; both black at the border), smoke.vol (4 x 3
 * x 2, grey, a third of it 0), tint.vol (2 x 2 x 3, colours) and mist.vol (3 x 2 x 4, grey), cloud.vol (20 x
 * 3 x 4, grey, one end thin), waves.vol and ripples.vol (2 x 3 x 2, 12 and 27 numbers a voxel), ball.vol
 * (distances from a sphere of radius .4 in the unit cube) and gaussian.ply (an ellipsoid), rod.curves and
 * strand.curves (two and four control points) and, smaller, knee.curves (three), and the measured materials
 * of assets/measured; NULL, with a message, on failure. */
char *scene_files_create(void);
void scene_files_remove(char *folder); /* and what else is in it */

/* ---- scene_cases.c ---- */

/* Deterministic numbers for tests: uniform in [0, 1). */
double scene_random(uint32_t *state);

#endif
