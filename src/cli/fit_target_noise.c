/* SPDX-License-Identifier: BSD-3-Clause
 * Warns where the noise of targets has more to say in a step than the picture has.
 *
 * A step follows J^T (r + e): J is the derivative of the picture by the parameters, r what the picture still
 * lacks, e the noise of the target, which is the same in every step. The part of white noise of variance s^2
 * that lies in the span of p parameters, over m values, has the mean square s^2 p / m (a fit of p numbers to
 * m takes as much of the noise for picture), and r lies in it whole. So the noise prevails where s^2 min(p,
 * m) / m > mean r^2. Few parameters average noise out, and no warning is due. Parameters with a prior, a
 * total variation or large steps are not counted: how many of them are free is not known.
 *
 * The values that count are those that the fit moves: where two pictures of the same random numbers, before
 * and after steps, differ. mean r^2 is the mean square of picture less target, less the variances of both;
 * there is a warning only if it is below by twice its standard error.
 *
 * A target that is rendered here is rendered a second time with other random numbers, where so many numbers
 * are fitted that noise could prevail: half the mean square of the difference is the variance of the noise.
 * It is taken for the pictures, too, which have as many samples.
 *
 * Of a target from a file the variance is found from the picture itself. Of 2 x 2 pixels a, b, c, d the
 * number (a - b - c + d) / 2 has the variance of white noise, and of the picture its finest detail. At half
 * the size, of means over 2 x 2 pixels, noise has a quarter of it, and detail of pictures, whose spectra
 * fall, no less than before (Field 1987). So 4/3 of the difference of both is at most the variance of the
 * noise. Each is a mean over tiles of the variance that follows from a tile's median (Donoho 1995), which
 * single lines and edges do not change. Detail all over the picture that has no neighbours alike counts as
 * noise; noise that neighbours share (of wide filters, compression, scaled photographs) is not seen. */
#include "fit_work.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

/* Sums over the values that are moved. */
typedef struct sums {
    double square, fourth; /* of picture less target; with two targets, of the product of both differences */
    double values, pixels;
    double pair, pair_fourth, pairs; /* half the square between two renderings of a target */
    double change;                   /* square of what the steps between both pictures did */
    double fine[2], coarse[2];       /* squares of details, of target and picture */
    double blocks[2];                /* how many they are: fine, coarse */
} sums;

/* ---- details ---- */

typedef struct view {
    uint32_t width, height, channels;
    const float *image;
    const bool *moved;
} view;

/* The mean over size x size pixels; false: not all of them are moved. */
static bool cell(const view *v, uint32_t x, uint32_t y, uint32_t channel, uint32_t size, double *out)
{
    *out = 0;
    for (uint32_t row = y; row < y + size; row++)
        for (uint32_t column = x; column < x + size; column++) {
            const uint32_t pixel = row * v->width + column;
            if (!v->moved[pixel])
                return false;
            *out += (double)v->image[(size_t)pixel * v->channels + channel] / (size * size);
        }
    return true;
}

enum { TILE_BLOCKS = 8 }; /* on a side */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The details of the blocks of 2 x 2 cells in a tile, in a channel: their squares. */
static uint32_t tile_details(const view *v, uint32_t x, uint32_t y, uint32_t channel, uint32_t size,
                             double *out)
{
    const uint32_t side = 2 * size, end_x = x + TILE_BLOCKS * side, end_y = y + TILE_BLOCKS * side;
    uint32_t count = 0;
    double c[4];
    for (uint32_t row = y; row < end_y && row + side <= v->height; row += side)
        for (uint32_t column = x; column < end_x && column + side <= v->width; column += side) {
            bool whole = true;
            for (uint32_t i = 0; i < 4; i++)
                whole = whole && cell(v, column + i % 2 * size, row + i / 2 * size, channel, size, &c[i]);
            if (whole)
                out[count++] = pow((c[0] - c[1] - c[2] + c[3]) / 2, 2);
        }
    return count;
}

/* Adds variances of tiles, times their numbers of blocks. */
static void add_details(const view *v, uint32_t size, double *variance, double *blocks)
{
    enum { BLOCKS_LEAST = 6 };
    double squares[TILE_BLOCKS * TILE_BLOCKS];
    const uint32_t side = 2 * size * TILE_BLOCKS;
    for (uint32_t y = 0; y < v->height; y += side)
        for (uint32_t x = 0; x < v->width; x += side)
            for (uint32_t k = 0; k < v->channels; k++) {
                const uint32_t n = tile_details(v, x, y, k, size, squares);
                if (n < BLOCKS_LEAST)
                    continue;
                qsort(squares, n, sizeof *squares, compare);
                *variance +=
                    n * (squares[n / 2] + squares[(n - 1) / 2]) / 2 / 0.45494; /* the median of chi^2 */
                *blocks += n;
            }
}

typedef struct estimate {
    double value, error; /* and its standard error */
} estimate;

/* The variance of the noise of the target (0) or the picture (1). A variance from the median of n squares has
 * a standard error of 2.33 / sqrt(n) of itself; channels of a pixel may have the same noise. */
static estimate variance_of(const fit_work *w, const sums *s, int which)
{
    if (s->blocks[0] == 0 || s->blocks[1] == 0)
        return (estimate){0};
    const double channels = w->session->info.channels, fine = s->fine[which] / s->blocks[0],
                 coarse = s->coarse[which] / s->blocks[1];
    return (estimate){
        fmax(0, (fine - coarse) * 4 / 3),
        2.33 * 4 / 3 * hypot(fine / sqrt(s->blocks[0] / channels), coarse / sqrt(s->blocks[1] / channels))};
}

/* ---- a view ---- */

/* Pixels that count and have moved: by a tenth of the RMS at least, so that traces of indirect light do not
 * count. */
static void find_moved(const fit_work *w, uint32_t v, const float *a, const float *b, bool *moved, sums *s)
{
    const size_t n = session_values(w->session), channels = w->session->info.channels;
    const float *weights = w->pictures[v].weights;
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += pow((double)a[i] - (double)b[i], 2) / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double change = pow((double)a[i] - (double)b[i], 2);
        moved[i / channels] = (i % channels && moved[i / channels]) ||
                              (change > 0.01 * square && (!weights || weights[i / channels] > 0));
        s->change += change;
    }
}

static void add_pixels(const view *picture, const float *target, const float *second, sums *s)
{
    for (uint32_t pixel = 0; pixel < picture->width * picture->height; pixel++) {
        if (!picture->moved[pixel])
            continue;
        for (uint32_t k = 0; k < picture->channels; k++) {
            const size_t i = (size_t)pixel * picture->channels + k;
            const double off = (double)picture->image[i] - (double)target[i],
                         other = second ? (double)picture->image[i] - (double)second[i] : off,
                         half = pow(off - other, 2) / 2;
            s->square += off * other, s->fourth += off * other * off * other, s->values++;
            s->pair += half, s->pair_fourth += half * half, s->pairs += second != NULL;
        }
        s->pixels++;
    }
}

/* a, b: pictures of the same random numbers; picture: one that is compared with the target. */
static void add_view(const fit_work *w, uint32_t v, const float *a, const float *b, const float *picture,
                     sums *s)
{
    const bl_scene_info *info = &w->session->info;
    const float *target = w->pictures[v].target;
    bool *moved = memory_or_exit(session_pixels(w->session) * sizeof *moved);
    double unused = 0;
    find_moved(w, v, a, b, moved, s);
    view seen[2] = {{info->width, info->height, info->channels, target, moved},
                    {info->width, info->height, info->channels, picture, moved}};
    for (int which = 0; which < 2; which++) {
        add_details(&seen[which], 1, &s->fine[which], which ? &unused : &s->blocks[0]);
        add_details(&seen[which], 2, &s->coarse[which], which ? &unused : &s->blocks[1]);
    }
    add_pixels(&seen[1], target, w->pictures[v].second, s);
    free(moved);
}

/* ---- the rule ---- */

/* Numbers that the fit may choose freely. */
static double free_numbers(const fit_work *w)
{
    double count = 0;
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_job_parameter *p = &w->job.parameters[k];
        if (p->prior == BL_PRIOR_NONE && !(p->total_variation > 0) && !(p->large_steps > 0))
            count += w->parameters[k].parameter.info.count;
    }
    return count;
}

/* The mean of values whose squares add up to `fourth`. */
static estimate mean_of(double sum, double fourth, double values, double independent)
{
    const double mean = sum / values;
    return (estimate){mean, sqrt(fmax(0, fourth / values - mean * mean) / independent)};
}

static fit_target_noise judge(const fit_work *w, const sums *s)
{
    if (s->values == 0)
        return (fit_target_noise){0};
    const bool twice = s->pairs > 0;
    const double channels = w->session->info.channels;
    const estimate all = mean_of(s->square, s->fourth, s->values, s->pixels),
                   noise = twice ? mean_of(s->pair, s->pair_fourth, s->pairs, s->pairs / channels)
                                 : variance_of(w, s, 0),
                   own = twice ? noise : variance_of(w, s, 1),
                   given = twice ? (estimate){0} : noise; /* two targets' noises make none in the product */
    const double error = hypot(hypot(all.error, given.error), own.error),
                 left = all.value - given.value - own.value,
                 followed = noise.value * fmin(free_numbers(w), s->values) / s->values;
    return (fit_target_noise){.noise = sqrt(noise.value),
                              .followed = sqrt(followed),
                              .difference = sqrt(fmax(0, left)),
                              .change = sqrt(s->change / s->values),
                              .prevails = followed > 0 && left + 2 * error < followed};
}

static bool compares_light(const fit_work *w) { return !w->job.silhouette; }

bool fit_target_noise_possible(const fit_work *w)
{
    return compares_light(w) && free_numbers(w) > sqrt((double)session_values(w->session));
}

static bool usable(const fit_work *w, uint32_t v)
{
    return compares_light(w) && !w->job.views[v].held_out && w->pictures[v].target && w->pictures[v].before;
}

void fit_target_noise_thumb(fit_work *w, uint32_t v, const float *image)
{
    if (w->status.step > 2 || w->stage || !usable(w, v))
        return;
    const size_t n = session_values(w->session);
    if (w->status.step == 1) {
        w->first_thumb = memory_or_exit(n * sizeof *w->first_thumb);
        for (size_t i = 0; i < n; i++)
            w->first_thumb[i] = image[i];
        return;
    }
    sums s = {0};
    if (!w->first_thumb)
        return;
    add_view(w, v, w->first_thumb, image, w->pictures[v].before, &s);
    const fit_target_noise f = judge(w, &s);
    w->noise_told = f.prevails;
    if (f.prevails)
        note(&w->args->common,
             "warning: the target's noise (RMS %.2g) has more to say in each step than the picture: %.2g of "
             "it against a difference of %.2g (a step changes the picture by %.2g); give the target more "
             "samples, or fit fewer values: a coarser texture, a prior, total_variation",
             f.noise, f.followed, f.difference, f.change);
}

void fit_target_noise_end(fit_work *w)
{
    sums s = {0};
    for (uint32_t v = 0; v < w->job.view_count; v++)
        if (usable(w, v) && w->pictures[v].after)
            add_view(w, v, w->pictures[v].before, w->pictures[v].after, w->pictures[v].after, &s);
    w->target_noise = judge(w, &s);
}

const char *fit_target_noise_note(const fit_work *w)
{
    return w->noise_told || w->target_noise.prevails
               ? "The last steps followed the noise of the target rather than its picture: give the target "
                 "more samples, end the fit earlier, or fit fewer values (a coarser texture, a prior, "
                 "total_variation)."
               : NULL;
}

void fit_target_noise_add(const fit_work *w, cJSON *json)
{
    const fit_target_noise *f = &w->target_noise;
    cJSON *one = cJSON_AddObjectToObject(json, "target_noise");
    cJSON_AddNumberToObject(one, "noise", f->noise);
    cJSON_AddNumberToObject(one, "followed", f->followed);
    cJSON_AddNumberToObject(one, "difference", f->difference);
    cJSON_AddBoolToObject(one, "prevails", f->prevails);
}
