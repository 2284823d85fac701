/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of `backlight import` share: photographs with cameras, as read from transforms.json and the
 * images beside it. */
#ifndef BL_CLI_IMPORT_H
#define BL_CLI_IMPORT_H

#include "cli.h"

typedef struct import_frame {
    char *image; /* path, as seen from the working folder */
    /* Camera to world, row-major, in Backlight's convention: it looks along +z, with +y up and +x to the
     * left. */
    double to_world[16];
    bool held_out;
} import_frame;

/* One pinhole camera took all photographs. */
typedef struct import_camera {
    uint32_t width, height;  /* pixels, which are square */
    double tangent;          /* of half the horizontal field of view */
    double shift_x, shift_y; /* principal_point_offset_x and _y of the sensor */
} import_camera;

typedef struct import_set {
    import_frame *frames;
    uint32_t frame_count, held_out_count;
    import_camera camera;
    double box[6]; /* where the field is: least x, y, z, then most */
} import_set;

static inline double import_tangent_y(const import_camera *c) { return c->tangent * c->height / c->width; }

/* ---- import_transforms.c ---- */

/* Reads the transforms of a folder, and looks into every image. held_out_most: of so many frames at most,
 * evenly spread. import_free in any case. */
int import_read(const cli_session *session, const char *folder, uint32_t held_out_most, import_set *out);
void import_free(import_set *set);

/* ---- import_bounds.c ---- */

/* Sets the box: a cube about the point that is nearest to the optical axes of all cameras. Half its side is
 * what a camera sees from the mean distance: that distance times the tangent of half the larger field of
 * view. */
int import_find_box(const char *folder, import_set *set);
/* Fails if no camera sees anything of the box. */
int import_check_box(const char *folder, const import_set *set);

/* ---- import_scene.c ---- */

/* A glTF file as a scene file, with what the scene does not take from it as notes, or as JSON. */
int import_scene(cli_session *session, const char *path, const char *output);

/* ---- import_write.c ---- */

typedef struct import_options {
    const char *output; /* path of the job; the scene stands beside it */
    uint32_t sh_degree, resolution, steps, batch;
    double background[3];
} import_options;
int import_write(const import_set *set, const import_options *options);

#endif
