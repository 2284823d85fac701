/* SPDX-License-Identifier: BSD-3-Clause
 * Where the thing in the photographs is, as far as cameras alone say: around the point that they look at. */
#include "import.h"

#include <math.h>
#include <string.h>

static double determinant(const double m[3][3])
{
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* Cramer's rule. */
static void solve(double m[3][3], const double right[3], double det, double out[3])
{
    for (int c = 0; c < 3; c++) {
        double with[3][3];
        memcpy(with, m, sizeof with);
        for (int r = 0; r < 3; r++)
            with[r][c] = right[r];
        out[c] = determinant((const double(*)[3])with) / det;
    }
}

/* The point p with the least sum of squared distances to the lines o + t d: sum (1 - d d^T) (p - o) = 0. The
 * matrix over the number of lines has the determinant 0 where they are parallel, and 4/27 .. 8/27 where they
 * come from all sides of a circle or a sphere. */
static bool nearest_point(const import_set *set, double out[3])
{
    double matrix[3][3] = {{0}}, right[3] = {0};
    for (uint32_t k = 0; k < set->frame_count; k++) {
        const double *m = set->frames[k].to_world;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double part = ((i == j) - m[4 * i + 2] * m[4 * j + 2]) / set->frame_count;
                matrix[i][j] += part, right[i] += part * m[4 * j + 3];
            }
    }
    double det = determinant((const double(*)[3])matrix);
    if (!(det > 1e-4))
        return false;
    solve(matrix, right, det, out);
    return true;
}

int import_find_box(const char *folder, import_set *set)
{
    const import_camera *c = &set->camera;
    double centre[3], distance = 0;
    if (!nearest_point(set, centre))
        return fail("%s: all cameras look the same way, so they do not say where the thing is: give --bounds",
                    folder);
    for (uint32_t k = 0; k < set->frame_count; k++) {
        double square = 0;
        for (int i = 0; i < 3; i++)
            square += pow(centre[i] - set->frames[k].to_world[4 * i + 3], 2);
        distance += sqrt(square) / set->frame_count;
    }
    double half = distance * fmax(c->tangent, import_tangent_y(c));
    for (int i = 0; i < 3; i++)
        set->box[i] = centre[i] - half, set->box[3 + i] = centre[i] + half;
    return half > 1e-6 && half < 1e6 ? CLI_OK
                                     : fail("%s: the cameras stand in one place or are astronomically far "
                                            "apart: give --bounds",
                                            folder);
}

/* Whether all corners of the box are outside of one side of the camera's pyramid. */
static bool hidden(const import_set *set, const import_frame *frame)
{
    const import_camera *camera = &set->camera;
    const double
        *m = frame->to_world,
        x = camera->tangent, y = import_tangent_y(camera),
        /* The principal point moves the pyramid's sides: 1 - 2 (position + shift), position 0 and 1. */
        left = x * (1 - 2 * camera->shift_x), right = x * (-1 - 2 * camera->shift_x),
        top = y * (1 - 2 * camera->shift_y), bottom = y * (-1 - 2 * camera->shift_y);
    int outside[5] = {0};
    for (int corner = 0; corner < 8; corner++) {
        double local[3] = {0};
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                local[i] += m[4 * k + i] * (set->box[3 * (corner >> k & 1) + k] - m[4 * k + 3]);
        outside[0] += local[2] <= 0;
        outside[1] += local[0] > left * local[2], outside[2] += local[0] < right * local[2];
        outside[3] += local[1] > top * local[2], outside[4] += local[1] < bottom * local[2];
    }
    for (int side = 0; side < 5; side++)
        if (outside[side] == 8)
            return true;
    return false;
}

int import_check_box(const char *folder, const import_set *set)
{
    for (uint32_t k = 0; k < set->frame_count; k++)
        if (!hidden(set, &set->frames[k]))
            return CLI_OK;
    return fail("%s: no camera sees anything of the bounds, %g %g %g to %g %g %g", folder, set->box[0],
                set->box[1], set->box[2], set->box[3], set->box[4], set->box[5]);
}
