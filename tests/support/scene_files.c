/* SPDX-License-Identifier: BSD-3-Clause
 * The files that scenes of tests read: textures, an environment, volumes, meshes and curves, all of random or
 * simple numbers that are the same each time. */
#include "support/scene_cases.h"

#include "scene/scene.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bl_result write_text(const char *folder, const char *name, const char *content, bl_error *err)
{
    arena a = {0};
    bl_result r = file_write(arena_printf(&a, "%s/%s", folder, name), content, strlen(content), err);
    arena_free(&a);
    return r;
}

/* Channel c from least[c] to most[c]. */
static bl_result write_texture(const char *folder, const char *name, const uint32_t size[3],
                               const double *least, const double *most, bl_error *err)
{
    const uint32_t width = size[0], height = size[1], channels = size[2];
    arena a = {0};
    float *pixels = arena_alloc(&a, width * height * channels * sizeof *pixels);
    uint32_t state = width;
    for (uint32_t i = 0; i < width * height * channels; i++)
        pixels[i] =
            (float)(least[i % channels] + (most[i % channels] - least[i % channels]) * scene_random(&state));
    bl_result r =
        image_save(arena_printf(&a, "%s/%s", folder, name), width, height, channels, pixels, false, err);
    arena_free(&a);
    return r;
}

/* An environment, partly black, with a bright texel. */
static bl_result write_sky(const char *folder, bl_error *err)
{
    enum { WIDTH = 6, HEIGHT = 4 };
    arena a = {0};
    float pixels[3 * WIDTH * HEIGHT] = {0};
    uint32_t state = 5;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        float light = i == 8 ? 6 : scene_random(&state) < 0.25 ? 0 : 0.6f;
        for (uint32_t c = 0; c < 3; c++)
            pixels[3 * i + c] = light * (float)(0.3 + 0.7 * scene_random(&state));
    }
    bl_result r = image_save(arena_printf(&a, "%s/sky.pfm", folder), WIDTH, HEIGHT, 3, pixels, false, err);
    arena_free(&a);
    return r;
}

/* The square [-1,1]^2 in four triangles about its centre, with colours and weights. */
static const char patch[] =
    "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float "
    "z\nproperty float nx\nproperty float ny\n"
    "property float nz\nproperty float u\nproperty float v\nproperty float color_0\nproperty float "
    "color_1\nproperty float color_2\n"
    "element face 4\nproperty list uchar int vertex_indices\nproperty float weight_0\nend_header\n"
    "-1 -1 0 -.1 .2 .9 0 0 .8 .2 .3\n1 -1 0 .2 0 1 1 .1 .7 .6 .2\n1 1 0 .1 .1 .8 .9 1 .3 .5 .9\n-1 1 0 "
    "-.2 .1 1 .1 .9 .2 .9 .6\n0 0 .1 0 -.1 .9 .4 .5 .9 .9 .8\n"
    "3 0 1 4 .3\n3 1 2 4 .6\n3 2 3 4 .2\n3 3 0 4 .8\n";

/* A lamp that is black at its border: the image, and a bumpy square of LAMP_SIDE x LAMP_SIDE vertices with
 * texture coordinates, and colours that are black there, too. */
static bl_result write_lamp(const char *folder, bl_error *err)
{
    enum { TEXELS = 6, LAMP_SIDE = 4, LAST = LAMP_SIDE - 1 };
    arena a = {0};
    float pixels[3 * TEXELS * TEXELS] = {0};
    uint32_t state = 9;
    for (uint32_t i = 0; i < 3 * TEXELS * TEXELS; i++) {
        uint32_t x = i / 3 % TEXELS, y = i / 3 / TEXELS;
        bool rim = x == 0 || y == 0 || x == TEXELS - 1 || y == TEXELS - 1;
        pixels[i] = rim ? 0 : (float)(1 + 4 * scene_random(&state));
    }
    bl_result r = image_save(arena_printf(&a, "%s/lamp.pfm", folder), TEXELS, TEXELS, 3, pixels, false, err);
    text file = {0};
    text_add(
        &file,
        "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n"
        "property float u\nproperty float v\nproperty float color_0\nproperty float color_1\nproperty float "
        "color_2\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n",
        LAMP_SIDE * LAMP_SIDE, 2 * LAST * LAST);
    for (int i = 0; i < LAMP_SIDE * LAMP_SIDE; i++) {
        int x = i % LAMP_SIDE, y = i / LAMP_SIDE;
        double lit = x == 0 || y == 0 || x == LAST || y == LAST ? 0 : 1, u = (double)x / LAST,
               v = (double)y / LAST;
        text_add(&file, "%g %g %g %g %g %g %g %g\n", 2 * u - 1, 2 * v - 1, 0.1 * scene_random(&state), u, v,
                 lit * (1 + 4 * scene_random(&state)), lit * (1 + 4 * scene_random(&state)), lit * 2);
    }
    for (int i = 0; i < LAST * LAST; i++) {
        int at = i / LAST * LAMP_SIDE + i % LAST;
        text_add(&file, "3 %d %d %d\n3 %d %d %d\n", at, at + 1, at + LAMP_SIDE + 1, at, at + LAMP_SIDE + 1,
                 at + LAMP_SIDE);
    }
    if (r == BL_OK)
        r = file_write(arena_printf(&a, "%s/lamp.ply", folder), file.data, file.length, err);
    text_free(&file);
    arena_free(&a);
    return r;
}

/* Values of a grid; every third is 0 where `holes`. */
static bl_result write_volume(const char *folder, const char *name, const uint32_t size[3], uint32_t channels,
                              bool holes, bl_error *err)
{
    arena a = {0};
    text file = {0};
    uint32_t header[12] = {0x034C4F56, 1, size[0], size[1], size[2], channels}, state = 3,
             count = size[0] * size[1] * size[2] * channels;
    header[9] = header[10] = header[11] = 0x3F800000; /* 1.0f */
    text_add_bytes(&file, header, sizeof header);
    for (uint32_t i = 0; i < count; i++) {
        bool end =
            3 * (i / channels % size[0]) >= 2 * size[0] && size[0] > 8; /* one end of long ones is thin */
        float value = holes && i % 3 == 0 ? 0 : (float)((end ? 0.1 : 1) * (0.1 + 0.8 * scene_random(&state)));
        text_add_bytes(&file, &value, sizeof value);
    }
    bl_result r = file_write(arena_printf(&a, "%s/%s", folder, name), file.data, file.length, err);
    text_free(&file);
    arena_free(&a);
    return r;
}

/* One voxel of the matrix of an ellipsoid. */
static bl_result write_flakes(const char *folder, bl_error *err)
{
    arena a = {0};
    uint32_t words[18] = {0x034C4F56 /* VOL 3 */, 1, 1, 1, 1, 6, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    memcpy(words + 12, scene_flakes, sizeof scene_flakes);
    bl_result r = file_write(arena_printf(&a, "%s/flakes.vol", folder), words, sizeof words, err);
    arena_free(&a);
    return r;
}

/* Distances from a sphere, as a grid. */
static bl_result write_ball(const char *folder, bl_error *err)
{
    enum { SIDE = 6, HEADER = 12 };
    arena a = {0};
    uint32_t words[HEADER + SIDE * SIDE * SIDE] = {
        0x034C4F56 /* VOL 3 */, 1, SIDE, SIDE, SIDE, 1, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    for (uint32_t i = 0; i < SIDE * SIDE * SIDE; i++) {
        double p[3] = {i % SIDE / (SIDE - 1.0) - .5, i / SIDE % SIDE / (SIDE - 1.0) - .5,
                       i / SIDE / SIDE / (SIDE - 1.0) - .5};
        float distance = (float)(sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - .4);
        memcpy(words + HEADER + i, &distance, sizeof distance);
    }
    bl_result r = file_write(arena_printf(&a, "%s/ball.vol", folder), words, sizeof words, err);
    arena_free(&a);
    return r;
}

/* One Gaussian, of half axes 2.4, 1.8, 2.1 at three deviations. */
static const char gaussian[] = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float "
                               "y\nproperty float z\nproperty float scale_0\nproperty float scale_1\n"
                               "property float scale_2\nproperty float rot_0\nproperty float rot_1\nproperty "
                               "float rot_2\nproperty float rot_3\nend_header\n"
                               ".1 -.2 .05 -.2231436 -.5108256 -.3566749 .8 .3 -.4 .2\n";

/* A curve of which a view sees all, with a bend. */
static const char knee[] = "-.55 -.2 .3 .15\n.08 .37 .4 .11\n.5 -.3 .2 .2\n";

/* A tube of two segments that bends and gets thicker, with both ends in view. */
static const char bow[] = "-1.1 -.9 .1 .08\n-.6 -.3 .3 .1\n-.1 .6 .5 .16\n.5 .2 .2 .22\n.9 -.7 .1 .3\n";

/* An icosahedron. */
static const char twenty[] =
    "v -.35 .566 0\nv .35 .566 0\nv -.35 -.566 0\nv .35 -.566 0\nv 0 -.35 .566\nv 0 .35 .566\n"
    "v 0 -.35 -.566\nv 0 .35 -.566\nv .566 0 -.35\nv .566 0 .35\nv -.566 0 -.35\nv -.566 0 .35\n"
    "f 1 12 6\nf 1 6 2\nf 1 2 8\nf 1 8 11\nf 1 11 12\nf 2 6 10\nf 6 12 5\nf 12 11 3\nf 11 8 7\n"
    "f 8 2 9\nf 4 10 5\nf 4 5 3\nf 4 3 7\nf 4 7 9\nf 4 9 10\nf 5 10 6\nf 3 5 12\nf 7 3 11\nf 9 7 8\n"
    "f 10 9 2\n";

/* Curves thick enough to fill a view. */
static const char rod[] = "-4 .5 0 7\n5 -.3 .2 6.6\n",
                  strand[] = "-12 1 0 7\n-4 .5 .2 7.2\n4 -.5 0 6.8\n12 -1 .4 6.6\n";

/* Files of assets/measured. Where that folder is not found, scenes that name them say so. */
static void copy_measured(const char *folder)
{
    static const char *const names[] = {"satin.bsdf", "brushed.bsdf"};
    const char *source = getenv("BL_SOURCE_DIR");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        arena a = {0};
        void *data;
        size_t size;
        if (file_read(arena_printf(&a, "%s/assets/measured/%s", source ? source : ".", names[k]), 1 << 20,
                      &data, &size, NULL) == BL_OK) {
            file_write(arena_printf(&a, "%s/%s", folder, names[k]), data, size, NULL);
            free(data);
        }
        arena_free(&a);
    }
}

char *scene_files_create(void)
{
    const char *temporary = getenv("TMPDIR");
    char *folder;
    bl_error err = {0};
    static const double dark[3] = {.1, .1, .1}, bright[3] = {.9, .9, .9}, low[3] = {.35, .35, .85},
                        high[3] = {.65, .65, .95};
    if (asprintf(&folder, "%s/scene_files_XXXXXX", temporary && *temporary ? temporary : "/tmp") < 0)
        return NULL;
    if (!mkdtemp(folder)) {
        fprintf(stderr, "no folder %s for test files\n", folder);
        free(folder);
        return NULL;
    }
    if (write_texture(folder, "texture.pfm", (uint32_t[3]){4, 3, 3}, dark, bright, &err) != BL_OK ||
        write_lamp(folder, &err) != BL_OK ||
        write_texture(folder, "grey.pfm", (uint32_t[3]){3, 5, 1}, dark, bright, &err) != BL_OK ||
        write_texture(folder, "normals.pfm", (uint32_t[3]){3, 4, 3}, low, high, &err) != BL_OK ||
        write_sky(folder, &err) != BL_OK || write_text(folder, "patch.ply", patch, &err) != BL_OK ||
        write_volume(folder, "smoke.vol", (uint32_t[3]){4, 3, 2}, 1, true, &err) != BL_OK ||
        write_volume(folder, "tint.vol", (uint32_t[3]){2, 2, 3}, 3, false, &err) != BL_OK ||
        write_flakes(folder, &err) != BL_OK ||
        write_volume(folder, "cloud.vol", (uint32_t[3]){20, 3, 4}, 1, true, &err) != BL_OK ||
        write_volume(folder, "mist.vol", (uint32_t[3]){3, 2, 4}, 1, false, &err) != BL_OK ||
        write_volume(folder, "waves.vol", (uint32_t[3]){2, 3, 2}, 12, false, &err) != BL_OK ||
        write_volume(folder, "ripples.vol", (uint32_t[3]){2, 3, 2}, 27, false, &err) != BL_OK ||
        write_ball(folder, &err) != BL_OK || write_text(folder, "gaussian.ply", gaussian, &err) != BL_OK ||
        write_text(folder, "rod.curves", rod, &err) != BL_OK ||
        write_text(folder, "knee.curves", knee, &err) != BL_OK ||
        write_text(folder, "bow.curves", bow, &err) != BL_OK ||
        write_text(folder, "twenty.obj", twenty, &err) != BL_OK ||
        write_text(folder, "strand.curves", strand, &err) != BL_OK) {
        fprintf(stderr, "no test files: %s\n", err.text);
        scene_files_remove(folder);
        return NULL;
    }
    copy_measured(folder);
    return folder;
}

void scene_files_remove(char *folder)
{
    arena a = {0};
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        unlink(arena_printf(&a, "%s/%s", folder, e->d_name)); /* . and .. stay */
    if (d)
        closedir(d);
    rmdir(folder);
    arena_free(&a);
    free(folder);
}
