/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/gaussians.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double between(uint32_t *state, double low, double high)
{
    return (double)(float)(low + (high - low) * scene_random(state));
}

gaussians gaussians_random(uint32_t count, uint32_t degree, double size, uint32_t seed)
{
    gaussians g = {.count = count, .coefficients = (degree + 1) * (degree + 1)};
    for (uint32_t i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++) {
            g.center[i][k] = between(&seed, -1, 1);
            g.log_scale[i][k] = between(&seed, log(size) - 0.5, log(size) + 0.5);
        }
        for (int k = 0; k < 4; k++)
            g.rotation[i][k] = between(&seed, -1, 1);
        g.logit[i] = between(&seed, -2, 3);
        for (uint32_t k = 0; k < g.coefficients; k++)
            for (int c = 0; c < 3; c++)
                g.harmonics[i][k][c] = between(&seed, k ? -0.4 : -1, k ? 0.4 : 1.5);
    }
    return g;
}

static double opacity_of(const gaussians *g, uint32_t i)
{
    return (double)(float)(1 / (1 + exp(-g->logit[i])));
}

/* The harmonics of a trained file: the first coefficients, then all others, colour by colour. */
static void add_trained(text *t, const gaussians *g, uint32_t i)
{
    for (int c = 0; c < 3; c++)
        text_add(t, " %.9g", g->harmonics[i][0][c]);
    for (int c = 0; c < 3; c++)
        for (uint32_t k = 1; k < g->coefficients; k++)
            text_add(t, " %.9g", g->harmonics[i][k][c]);
    text_add(t, " %.9g", g->logit[i]);
}

static void add_plain(text *t, const gaussians *g, uint32_t i)
{
    for (uint32_t k = 0; k < g->coefficients; k++)
        for (int c = 0; c < 3; c++)
            text_add(t, " %.9g", g->harmonics[i][k][c]);
    text_add(t, " %.9g", opacity_of(g, i));
}

bl_result gaussians_write(const gaussians *g, bool plain, const char *path, bl_error *err)
{
    text t = {0};
    text_add(&t, "ply\nformat ascii 1.0\nelement vertex %u\n", g->count);
    for (int k = 0; k < 3; k++)
        text_add(&t, "property float %c\n", 'x' + k);
    for (uint32_t k = 0; k < 3 * g->coefficients; k++)
        if (plain)
            text_add(&t, "property float sh_coeffs_%u\n", k);
        else
            text_add(&t, "property float f_%s_%u\n", k < 3 ? "dc" : "rest", k < 3 ? k : k - 3);
    text_add(&t, "property float %s\n", plain ? "opacities" : "opacity");
    for (int k = 0; k < 3; k++)
        text_add(&t, "property float scale_%d\n", k);
    for (int k = 0; k < 4; k++)
        text_add(&t, "property float rot_%d\n", k);
    text_add(&t, "end_header\n");
    for (uint32_t i = 0; i < g->count; i++) {
        text_add(&t, "%.9g %.9g %.9g", g->center[i][0], g->center[i][1], g->center[i][2]);
        (plain ? add_plain : add_trained)(&t, g, i);
        for (int k = 0; k < 3; k++)
            text_add(&t, " %.9g", g->log_scale[i][k]);
        for (int k = 0; k < 4; k++)
            text_add(&t, " %.9g", g->rotation[i][k]);
        text_add(&t, "\n");
    }
    bl_result r = file_write(path, t.data, t.length, err);
    text_free(&t);
    return r;
}

uint32_t gaussians_value_count(const gaussians *g) { return g->count * (11 + 3 * g->coefficients); }

void gaussians_values(const gaussians *g, double *values)
{
    double *harmonics = values + 10 * (size_t)g->count,
           *opacities = harmonics + 3 * (size_t)g->coefficients * g->count;
    for (uint32_t i = 0; i < g->count; i++) {
        double *v = values + 10 * (size_t)i, length = 0;
        for (int k = 0; k < 4; k++)
            length += g->rotation[i][k] * g->rotation[i][k];
        for (int k = 0; k < 3; k++)
            v[k] = g->center[i][k], v[3 + k] = (double)(float)exp(g->log_scale[i][k]);
        for (int k = 0; k < 4; k++)
            v[6 + k] = (double)(float)(g->rotation[i][(k + 1) % 4] / sqrt(length));
        for (uint32_t k = 0; k < 3 * g->coefficients; k++)
            harmonics[3 * (size_t)g->coefficients * i + k] = g->harmonics[i][k / 3][k % 3];
        opacities[i] = opacity_of(g, i);
    }
}

/* ---- what a ray sees ---- */

/* A vector in the frame that the quaternion (real part last) turns to the world: conj(q) v q over its length.
 */
static void turn_back(const double q[4], const double v[3], double out[3])
{
    double length = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], t[3];
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        t[k] = 2 * (v[i] * q[j] - v[j] * q[i]);
    }
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        out[k] = v[k] + (q[3] * t[k] + t[i] * q[j] - t[j] * q[i]) / length;
    }
}

/* Real harmonics by the definition: associated Legendre functions times sines and cosines, with (-1)^m. */
static void harmonics_at(const double d[3], uint32_t coefficients, double *out)
{
    double phi = atan2(d[1], d[0]), z = d[2], sine = sqrt(fmax(1 - z * z, 0)), pi = 3.14159265358979323846;
    for (int l = 0; (uint32_t)(l * l) < coefficients; l++)
        for (int m = -l; m <= l; m++) {
            int n = abs(m);
            double p = 1, before = 0, norm = (2 * l + 1) / (4 * pi);
            for (int k = 1; k <= n; k++)
                p *= (2 * k - 1) * sine; /* without the sign */
            for (int k = n + 1; k <= l; k++) {
                double next = ((2 * k - 1) * z * p - (k + n - 1) * before) / (k - n);
                before = p, p = next;
            }
            for (int k = l - n + 1; k <= l + n; k++)
                norm /= k;
            out[l * l + l + m] = sqrt(m ? 2 * norm : norm) * p * (n % 2 ? -1 : 1) *
                                 (m < 0   ? sin(n * phi)
                                  : m > 0 ? cos(n * phi)
                                          : 1);
        }
}

typedef struct visit {
    double t, alpha, rgb[3];
    uint32_t index;
} visit;

static int earlier(const void *a, const void *b)
{
    const visit *x = a, *y = b;
    return x->t < y->t ? -1 : x->t > y->t ? 1 : x->index < y->index ? -1 : 1;
}

static double reach(gaussian_view view, double opacity)
{
    if (!view.adaptive)
        return view.extent;
    return opacity > 0.01 ? view.extent * sqrt(2 * log(opacity / 0.01)) / 3 : 0;
}

/* Whether the ray enters the kernel, and where. */
static bool enter(const double *v, double opacity, double extent, const double o[3], const double d[3],
                  visit *out)
{
    double from[3], along[3], c[3] = {o[0] - v[0], o[1] - v[1], o[2] - v[2]}, a = 0, b = 0, square = 0;
    turn_back(v + 6, c, from), turn_back(v + 6, d, along);
    for (int k = 0; k < 3; k++) {
        from[k] /= v[3 + k], along[k] /= v[3 + k];
        a += along[k] * along[k], b += along[k] * from[k];
    }
    for (int k = 0; k < 3; k++)
        square += pow(from[k] - b / a * along[k], 2);
    out->t = -b / a - sqrt(fmax((extent * extent - square) / a, 0));
    out->alpha = fmin(opacity * exp(-square / 2), 0.9999);
    return square < extent * extent && out->t > 0;
}

static double linear(double v) { return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4); }

void gaussians_radiance(const double *values, uint32_t count, uint32_t coefficients, gaussian_view view,
                        const double o[3], const double d[3], double rgb[3], uint32_t *visited)
{
    visit all[GAUSSIANS_MOST];
    double basis[GAUSSIAN_HARMONICS], T = 1;
    const double *harmonics = values + 10 * (size_t)count,
                 *opacities = harmonics + 3 * (size_t)coefficients * count;
    uint32_t found = 0, used = 0;
    harmonics_at(d, coefficients, basis);
    for (uint32_t i = 0; i < count; i++) {
        visit *v = &all[found];
        if (!enter(values + 10 * (size_t)i, opacities[i], reach(view, opacities[i]), o, d, v))
            continue;
        v->index = i, found++;
        for (int c = 0; c < 3; c++) {
            v->rgb[c] = 0.5;
            for (uint32_t k = 0; k < coefficients; k++)
                v->rgb[c] += basis[k] * harmonics[3 * ((size_t)coefficients * i + k) + (size_t)c];
        }
    }
    qsort(all, found, sizeof *all, earlier);
    rgb[0] = rgb[1] = rgb[2] = 0;
    for (; used < found && T > 0.01 && (view.max_depth < 0 || used < (uint32_t)view.max_depth); used++) {
        for (int c = 0; c < 3; c++)
            rgb[c] += T * all[used].alpha * fmax(all[used].rgb[c], 0);
        T *= 1 - all[used].alpha;
    }
    for (int c = 0; c < 3 && view.srgb; c++)
        rgb[c] = linear(rgb[c]);
    if (visited)
        *visited = used;
}
