/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of `backlight design` share. Lengths are millimetres, angles degrees.
 *
 * The receiver is a rectangle in the plane z = 0, as large as the slab. The slab lies above it: its relief
 * looks down at the receiver from z = distance, its flat face looks up at the light. Row r and column c of
 * the heights lie above row r and column c of the picture. */
#ifndef BL_CLI_DESIGN_H
#define BL_CLI_DESIGN_H

#include "cli.h"
#include "work_folder.h"

enum { DESIGN_LEVELS_MOST = 12, DESIGN_SIDE_MOST = 4096, DESIGN_AREA_PATHS = 16 };

typedef enum design_light {
    DESIGN_COLLIMATED, /* a beam straight down */
    DESIGN_SUN,        /* a disk of an angular diameter, infinitely far */
    DESIGN_POINT,      /* a small disk above the middle of the slab */
    DESIGN_AREA,       /* a square there */
    DESIGN_LIGHT_COUNT
} design_light;

typedef struct design_level {
    uint32_t picture; /* pixels of the longer side */
    uint32_t steps, spp;
    double smoothness; /* lambda of large steps, in cells of the grid */
    double rate;       /* in millimetres */
} design_level;

typedef struct design_job {
    struct cJSON *json;
    char *text, *target, *output, *slide;    /* slide: NULL if there is none */
    double size, thickness, index, distance; /* size: of the slab's longer side */
    double abbe;                             /* 0: the index is the same at all wavelengths */
    design_light light;
    double light_angle, light_distance, light_size;
    design_level levels[DESIGN_LEVELS_MOST];
    uint32_t level_count, seed, verify_spp;
    uint32_t checkpoint_steps; /* 0: by time */
} design_job;
int design_job_read(const char *path, design_job *job);
void design_job_free(design_job *job);

/* ---- design_picture.c: targets and how like them a picture is ---- */

enum { DESIGN_CHANNELS_MOST = 3 };
typedef struct design_picture {
    uint32_t width, height, channels; /* 1 or 3 */
    float *values;
} design_picture;
/* Whether light has colours: a slide colours it, or glass disperses it. */
bool design_in_colour(const design_job *job);
/* The target, linear; its luminance, where the design has no colours. */
int design_target_read(const cli_session *session, const design_job *job, design_picture *out);
size_t design_count(const design_picture *p); /* of values */
/* The same picture with a longer side of so many pixels, and these means of its channels. */
design_picture design_resized(const design_picture *from, uint32_t longer, const double *means);
void design_rescale(design_picture *p, const double *means);
void design_means(const design_picture *p, double means[DESIGN_CHANNELS_MOST]);
/* Pearson's correlation of two pictures of the same size; of channels, each less its own mean, together. */
double design_correlation(const design_picture *a, const design_picture *b);
/* For screens: `white` becomes white. */
int design_picture_save(const cli_session *session, const char *path, const design_picture *p, double white);

/* ---- design_scene.c: scenes as text ---- */

/* The side lengths of slab and picture. */
typedef struct design_sides {
    double width, height;
} design_sides;
design_sides design_sides_of(const design_job *job, const design_picture *picture);
/* Light tracing through a flat slab, whose heights are the parameter "relief.heights". deepest: the lowest of
 * the heights that the slab will get; the flat face stays above it. malloc'ed. */
char *design_scene(const design_job *job, const design_picture *picture, double deepest);
/* Path tracing, from the receiver up, through the slab in the file `obj`. slope: the steepest of the relief,
 * as a tangent. *spp: what gives each pixel about 16 paths that reach the light,
 * or more where there are few pixels. malloc'ed. */
char *design_verification(const design_job *job, const design_picture *picture, const char *obj, double least,
                          double slope, uint32_t *spp);

/* ---- design_solid.c: heights as a solid ---- */

typedef struct design_heights {
    uint32_t columns, rows;
    float *values; /* millimetres */
} design_heights;
/* Bilinear, from corner to corner. */
design_heights design_heights_resampled(const design_heights *from, uint32_t columns, uint32_t rows);
double design_steepest(const design_heights *h, design_sides sides); /* slope, as a tangent */
/* The slab as a closed solid, outward normals: the flat face in the plane z = 0, the relief at thickness +
 * height above it. y points up where the picture's rows go down. OBJ with smooth normals of the relief;
 * binary STL. */
int design_slab_save(const char *obj, const char *stl, const design_heights *h, design_sides sides,
                     double thickness);

/* ---- design_checkpoint.c: what --resume goes on from ---- */

typedef struct design_result {         /* of a level */
    double correlation, loss, seconds; /* seconds: since the first step, without interruptions */
} design_result;

/* What travels in a checkpoint besides the state of the level's fit. No padding: its bytes are the file's. */
typedef struct design_note {
    work_log_mark log;          /* of design.csv */
    uint64_t settings, heights; /* hashes: of the levels before the present one; of what they ended with */
    double light[DESIGN_CHANNELS_MOST]; /* mean irradiance behind the flat slab */
    double seconds;
    design_result levels[DESIGN_LEVELS_MOST]; /* of those that are done */
    uint32_t level, resumed;                  /* the present one; times */
} design_note;

/* After level note->level - 1, where that is one: keeps its heights in DIR/level_N.npy, and says in the note
 * what they are. */
int design_keep_heights(const char *folder, const design_job *job, const design_heights *h,
                        design_note *note);
/* The note of DIR/checkpoint, which has to be of a job whose levels before were the same. */
int design_note_read(const cli_session *session, const char *folder, const design_job *job,
                     design_note *note);
/* The heights that level note->level - 1 ended with: grid gives their rows and columns. */
int design_kept_heights(const char *folder, const design_job *job, const design_note *note,
                        design_heights *grid);

#endif
