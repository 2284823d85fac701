/* SPDX-License-Identifier: BSD-3-Clause
 * A reference in double precision: image and gradient of a scene by the interpreter, whose traces are those
 * of the kernels, in f64 and, with the same random numbers, in f32. It is a tool, not a test: the interpreter
 * walks some thousand vertices a second, so take a small film, or a few of the pixels.
 *
 *     build/tests/double_precision SCENE.xml SAMPLES EVERY [PARAMETER...]
 *
 * Of every EVERYth pixel, it takes so many samples. It prints the mean of the image by channel, and the
 * derivatives of the mean channel of these pixels by those elements of each parameter where they are largest:
 * in f64, and how far f32 is off. Where a path's decision comes out otherwise in f32, the two walk different
 * paths from there on; what is off then is noise of the sample count, not of rounding. */
#include "support/scene_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8 }; /* elements of a parameter */

typedef struct sums {
    double image[COLOR_MOST], *gradient;
} sums;

static void fail(const char *why)
{
    fprintf(stderr, "double_precision: %s\n", why);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        fail("cannot read the scene");
    long size = ftell(f);
    char *read = calloc((size_t)size + 1, 1);
    rewind(f);
    if (!read || fread(read, 1, (size_t)size, f) != (size_t)size)
        fail("cannot read the scene");
    fclose(f);
    return read;
}

static char *folder_of(const char *path)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (!folder)
        fail("no memory");
    strcpy(slash ? slash : folder, slash ? "" : ".");
    return folder;
}

static void run(scene_eval *e, render_pass pass, scene_eval_at at)
{
    bl_error err;
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail(err.text);
}

/* Adds up samples of the pixels in one precision. */
static sums measure(scene_eval *e, uint32_t samples, uint32_t every, bool f64)
{
    const uint32_t channels = e->scene->film_channels, pixels = e->scene->width * e->scene->height;
    sums s = {.gradient = calloc(e->plan->gradient_count + 1u, sizeof *s.gradient)};
    if (!s.gradient)
        fail("no memory");
    double count = 0;
    for (uint32_t pixel = 0; pixel < pixels; pixel += every)
        for (uint32_t k = 0; k < samples; k++, count++) {
            scene_eval_at at = {.pixel = pixel, .sample = k, .f64 = f64};
            run(e, RENDER_PRIMAL, at);
            for (uint32_t c = 0; c < channels; c++)
                s.image[c] += e->film[channels * pixel + c];
            if (e->plan->gradient_count == 0)
                continue;
            at.stream = 1;
            run(e, RENDER_GRADIENT, at);
            for (uint32_t i = 0; i < e->plan->gradient_count; i++)
                s.gradient[i] += e->gradient[i];
        }
    for (uint32_t c = 0; c < channels; c++)
        s.image[c] /= count;
    for (uint32_t i = 0; i < e->plan->gradient_count; i++)
        s.gradient[i] /= count;
    return s;
}

static void show(const char *name, uint32_t number, double wanted, double found)
{
    double scale = fabs(wanted) > 0 ? fabs(wanted) : 1;
    printf("%-32s %3u  %24.16e  %9.1e\n", name, number, wanted, fabs(found - wanted) / scale);
}

/* The element with the largest derivative of all that are smaller than `below`. */
static uint32_t largest(const double *gradient, uint32_t count, double below)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (fabs(gradient[i]) < below && (best == UINT32_MAX || fabs(gradient[i]) > fabs(gradient[best])))
            best = i;
    return best;
}

static void show_gradient(const scene_eval *e, const char *name, const sums *wanted, const sums *found)
{
    const uint32_t first = scene_eval_gradient_first(e, name),
                   count = e->scene->parameters.data[scene_eval_find(e, name)].count;
    const double *exact = wanted->gradient + first;
    double below = INFINITY;
    for (uint32_t k = 0, i; k < SHOWN && (i = largest(exact, count, below)) != UINT32_MAX; k++) {
        show(name, i, exact[i], found->gradient[first + i]);
        below = fabs(exact[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("SCENE.xml SAMPLES EVERY [PARAMETER...]");
    const uint32_t samples = (uint32_t)strtoul(argv[2], NULL, 10),
                   every = (uint32_t)strtoul(argv[3], NULL, 10);
    if (samples == 0 || every == 0)
        fail("SAMPLES and EVERY are numbers from 1 on");
    char *xml = read_file(argv[1]), *folder = folder_of(argv[1]);
    const uint32_t count = (uint32_t)argc - 4;
    scene_eval *e = scene_eval_create(xml, folder, (const char *const *)argv + 4, count);
    for (uint32_t i = 0; i < scene_eval_values(e); i++)
        e->adjoint[i] = 1.0f / (float)e->scene->film_channels;
    sums wanted = measure(e, samples, every, true), found = measure(e, samples, every, false);
    printf("%-32s %3s  %24s  %9s\n", "", "", "f64", "f32 off by");
    for (uint32_t c = 0; c < e->scene->film_channels; c++)
        show("image", c, wanted.image[c], found.image[c]);
    for (uint32_t k = 0; k < count; k++)
        show_gradient(e, argv[4 + k], &wanted, &found);
    free(wanted.gradient), free(found.gradient), free(xml), free(folder);
    scene_eval_destroy(e);
    return 0;
}
