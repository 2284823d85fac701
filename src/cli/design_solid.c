/* SPDX-License-Identifier: BSD-3-Clause
 * The slab of a design as a closed solid, for machines and for the path-traced check: the relief, a flat face
 * in the plane z = 0, and four walls. The flat face is a fan around its middle, so that every edge of the
 * solid belongs to two triangles. */
#include "design.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

design_heights design_heights_resampled(const design_heights *from, uint32_t columns, uint32_t rows)
{
    design_heights h = {columns, rows, memory_or_exit((size_t)columns * rows * sizeof *h.values)};
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++) {
            const double y = (double)r * (from->rows - 1) / (rows - 1),
                         x = (double)c * (from->columns - 1) / (columns - 1);
            const uint32_t i = (uint32_t)fmin(floor(y), from->rows - 2),
                           j = (uint32_t)fmin(floor(x), from->columns - 2);
            const float *v = from->values + (size_t)i * from->columns + j;
            const double near = (double)v[0] + (x - j) * ((double)v[1] - (double)v[0]),
                         a = (double)v[from->columns], b = (double)v[from->columns + 1];
            h.values[(size_t)r * columns + c] = (float)(near + (y - i) * (a + (x - j) * (b - a) - near));
        }
    return h;
}

double design_steepest(const design_heights *h, design_sides sides)
{
    const double step_x = sides.width / (h->columns - 1), step_y = sides.height / (h->rows - 1);
    double most = 0;
    for (uint32_t r = 0; r + 1 < h->rows; r++)
        for (uint32_t c = 0; c + 1 < h->columns; c++) {
            const float *v = h->values + (size_t)r * h->columns + c;
            const double a = (double)v[0], b = (double)v[1], d = (double)v[h->columns],
                         e = (double)v[h->columns + 1];
            most = fmax(most, hypot(fmax(fabs(b - a), fabs(e - d)) / step_x,
                                    fmax(fabs(d - a), fabs(e - b)) / step_y));
        }
    return most;
}

/* ---- the solid ---- */

typedef struct solid {
    uint32_t vertex_count, face_count, relief; /* relief: how many of the vertices, the first ones */
    double *positions, *normals;               /* 3 a vertex; normals of the relief's alone */
    uint32_t *faces, relief_faces; /* 3 a face, counter-clockwise from outside; the relief's first */
} solid;

static void free_solid(solid *s) { free(s->positions), free(s->normals), free(s->faces); }

static void add_face(solid *s, uint32_t a, uint32_t b, uint32_t c)
{
    memcpy(s->faces + 3 * (size_t)s->face_count++, (const uint32_t[]){a, b, c}, 3 * sizeof *s->faces);
}

/* The border of the grid, once around, counter-clockwise seen from +z, where y goes against the rows. */
static uint32_t border(const design_heights *h, uint32_t k)
{
    const uint32_t columns = h->columns - 1, rows = h->rows - 1;
    if (k < rows)
        return k * h->columns; /* down the left side */
    if ((k -= rows) < columns)
        return rows * h->columns + k;
    if ((k -= columns) < rows)
        return (rows - k) * h->columns + columns;
    return columns - (k - rows);
}

static void normal_of(const solid *s, const uint32_t face[3], double n[3])
{
    double e[2][3];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 2; j++)
            e[j][k] = s->positions[3 * (size_t)face[j + 1] + k] - s->positions[3 * (size_t)face[0] + k];
    for (int k = 0; k < 3; k++)
        n[k] = e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3];
    const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++)
        n[k] = length > 0 ? n[k] / length : 0;
}

/* The angle of a face at its corner k. */
static double angle_at(const solid *s, const uint32_t face[3], int k)
{
    double square[2] = {0}, both = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double at = s->positions[3 * (size_t)face[k] + axis],
                     a = s->positions[3 * (size_t)face[(k + 1) % 3] + axis] - at,
                     b = s->positions[3 * (size_t)face[(k + 2) % 3] + axis] - at;
        square[0] += a * a, square[1] += b * b, both += a * b;
    }
    return acos(fmax(-1, fmin(1, both / sqrt(square[0] * square[1]))));
}

/* The relief's normals, weighted by angles, as the renderer makes them of its heights. */
static void add_normals(solid *s)
{
    for (uint32_t f = 0; f < s->relief_faces; f++) {
        const uint32_t *face = s->faces + 3 * (size_t)f;
        double n[3];
        normal_of(s, face, n);
        for (int k = 0; k < 3; k++)
            for (int axis = 0; axis < 3; axis++)
                s->normals[3 * (size_t)face[k] + axis] += n[axis] * angle_at(s, face, k);
    }
}

static solid make_solid(const design_heights *h, design_sides sides, double thickness)
{
    const uint32_t columns = h->columns, rows = h->rows, relief = columns * rows,
                   around = 2 * (columns + rows) - 4;
    solid s = {.vertex_count = relief + around + 1,
               .relief = relief,
               .relief_faces = 2 * (columns - 1) * (rows - 1)};
    s.positions = memory_or_exit(3 * (size_t)s.vertex_count * sizeof *s.positions);
    s.normals = memory_or_exit(3 * (size_t)relief * sizeof *s.normals);
    s.faces = memory_or_exit(3 * ((size_t)s.relief_faces + 3 * (size_t)around) * sizeof *s.faces);
    for (uint32_t i = 0; i < relief; i++) {
        double *p = s.positions + 3 * (size_t)i;
        p[0] = ((double)(i % columns) / (columns - 1) - 0.5) * sides.width;
        p[1] = (0.5 - (double)(i / columns) / (rows - 1)) * sides.height;
        p[2] = thickness + (double)h->values[i];
    }
    for (uint32_t k = 0; k < around; k++)
        memcpy(s.positions + 3 * (size_t)(relief + k), s.positions + 3 * (size_t)border(h, k),
               2 * sizeof(double));
    for (uint32_t r = 0; r + 1 < rows; r++)
        for (uint32_t c = 0; c + 1 < columns; c++) {
            /* y points up, so a is above d, and b above e. */
            const uint32_t a = r * columns + c, b = a + 1, d = a + columns, e = d + 1;
            if ((r + c) % 2)
                add_face(&s, a, d, b), add_face(&s, b, d, e);
            else
                add_face(&s, a, e, b), add_face(&s, a, d, e);
        }
    for (uint32_t k = 0; k < around; k++) {
        const uint32_t next = (k + 1) % around, up = border(h, k), up_next = border(h, next),
                       low = relief + k, low_next = relief + next;
        add_face(&s, up, low, low_next), add_face(&s, up, low_next, up_next);
        add_face(&s, relief + around, low_next, low);
    }
    add_normals(&s);
    return s;
}

/* ---- files ---- */

typedef void write_solid(FILE *out, const solid *s);

static int save_solid(const char *path, const solid *s, write_solid *write)
{
    char *data = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&data, &size);
    if (!out)
        return fail("no memory for %s", path);
    write(out, s);
    const int status = fclose(out) == 0 ? save_file(path, data, size) : fail("no memory for %s", path);
    free(data);
    return status;
}

static void write_obj(FILE *out, const solid *s)
{
    fprintf(out, "# millimetres; the relief looks along +z\n");
    for (uint32_t i = 0; i < s->vertex_count; i++) {
        const double *p = s->positions + 3 * (size_t)i;
        fprintf(out, "v %.7g %.7g %.7g\n", p[0], p[1], p[2]);
    }
    for (uint32_t i = 0; i < s->relief; i++) {
        const double *n = s->normals + 3 * (size_t)i, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        fprintf(out, "vn %.7g %.7g %.7g\n", n[0] / length, n[1] / length, n[2] / length);
    }
    for (uint32_t f = s->relief_faces; f < s->face_count; f++) {
        double n[3];
        normal_of(s, s->faces + 3 * (size_t)f, n);
        fprintf(out, "vn %.7g %.7g %.7g\n", n[0], n[1], n[2]);
    }
    for (uint32_t f = 0; f < s->face_count; f++) {
        const uint32_t *v = s->faces + 3 * (size_t)f, flat = s->relief + f - s->relief_faces + 1;
        const bool smooth = f < s->relief_faces;
        fprintf(out, "f %u//%u %u//%u %u//%u\n", v[0] + 1, smooth ? v[0] + 1 : flat, v[1] + 1,
                smooth ? v[1] + 1 : flat, v[2] + 1, smooth ? v[2] + 1 : flat);
    }
}

static void write_word(FILE *out, uint32_t word)
{
    for (int j = 0; j < 4; j++)
        fputc((int)(word >> 8 * j & 255), out);
}

static void write_floats(FILE *out, const double *v)
{
    for (int k = 0; k < 3; k++) {
        const float value = (float)v[k];
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        write_word(out, word);
    }
}

static void write_stl(FILE *out, const solid *s)
{
    const char head[80] = "Backlight, millimetres";
    fwrite(head, sizeof head, 1, out);
    write_word(out, s->face_count);
    for (uint32_t f = 0; f < s->face_count; f++) {
        const uint32_t *face = s->faces + 3 * (size_t)f;
        double n[3];
        normal_of(s, face, n);
        write_floats(out, n);
        for (int k = 0; k < 3; k++)
            write_floats(out, s->positions + 3 * (size_t)face[k]);
        fwrite("\0", 2, 1, out);
    }
}

int design_slab_save(const char *obj, const char *stl, const design_heights *h, design_sides sides,
                     double thickness)
{
    solid s = make_solid(h, sides, thickness);
    int status = save_solid(obj, &s, write_obj);
    if (status == CLI_OK)
        status = save_solid(stl, &s, write_stl);
    free_solid(&s);
    return status;
}
