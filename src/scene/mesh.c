/* SPDX-License-Identifier: BSD-3-Clause
 * Triangle meshes: transforms, vertex normals, memory; and what else is done with 4x4 matrices. Computed in
 * double, stored in float. */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gauss-Jordan with full column pivots. Singular: a pivot that vanishes beside the largest entry of the
 * matrix. */
bool matrix_invert(const double m[16], double out[16])
{
    double a[4][8] = {{0}}, largest = 0;
    for (int i = 0; i < 16; i++) {
        a[i / 4][i % 4] = m[i];
        a[i / 4][4 + i % 4] = i / 4 == i % 4;
        largest = fmax(largest, fabs(m[i]));
    }
    if (!isfinite(largest) || largest == 0)
        return false;
    for (int column = 0; column < 4; column++) {
        int pivot = column;
        for (int row = column + 1; row < 4; row++)
            if (fabs(a[row][column]) > fabs(a[pivot][column]))
                pivot = row;
        if (!(fabs(a[pivot][column]) > 0))
            return false;
        for (int k = 0; k < 8 && pivot != column; k++) {
            double swap = a[column][k];
            a[column][k] = a[pivot][k];
            a[pivot][k] = swap;
        }
        double scale = 1 / a[column][column];
        for (int k = 0; k < 8; k++)
            a[column][k] *= scale;
        for (int row = 0; row < 4; row++) {
            double factor = a[row][column];
            for (int k = 0; k < 8 && row != column; k++)
                a[row][k] -= factor * a[column][k];
        }
    }
    bool finite = true;
    for (int i = 0; i < 16; i++) {
        out[i] = a[i / 4][4 + i % 4];
        finite = finite && isfinite(out[i]);
    }
    return finite;
}

void matrix_apply(const double m[16], const double v[3], double w, double out[3])
{
    const double x = v[0], y = v[1], z = v[2];
    for (int row = 0; row < 3; row++)
        out[row] = m[4 * row] * x + m[4 * row + 1] * y + m[4 * row + 2] * z + m[4 * row + 3] * w;
}

void matrix_box(const double m[16], double low[3], double high[3])
{
    for (int row = 0; row < 3; row++) {
        low[row] = high[row] = m[4 * row + 3];
        for (int k = 0; k < 3; k++)
            *(m[4 * row + k] < 0 ? &low[row] : &high[row]) += m[4 * row + k];
    }
}

double matrix_determinant3(const double m[16])
{
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

/* The affine part acts on points; a perspective row is refused, as Mitsuba's transform_affine would silently
 * ignore it. */
static bl_result check_matrix(const double m[16], double inverse[16], bl_error *err)
{
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return error_set(err, BL_ERROR_SCENE, "the transform of a mesh must be affine (last row 0 0 0 1)");
    if (!matrix_invert(m, inverse))
        return error_set(err, BL_ERROR_SCENE, "the transform of a mesh is singular");
    return BL_OK;
}

static void store_normal(float *n, double x, double y, double z)
{
    double length = sqrt(x * x + y * y + z * z);
    if (length > 0) { /* a zero normal stays zero */
        n[0] = (float)(x / length);
        n[1] = (float)(y / length);
        n[2] = (float)(z / length);
    }
}

bl_result mesh_transform(scene_mesh *mesh, const double m[16], bool flip_normals, bl_error *err)
{
    double inverse[16];
    TRY(check_matrix(m, inverse, err));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        float *p = &mesh->positions[3 * (size_t)i];
        double moved[3] = {p[0], p[1], p[2]};
        matrix_apply(m, moved, 1, moved);
        for (int row = 0; row < 3; row++) {
            p[row] = (float)moved[row];
            if (!isfinite(p[row]))
                return error_set(err, BL_ERROR_SCENE,
                                 "vertex %u of a mesh is out of range after its transform", i);
        }
    }
    double sign = flip_normals ? -1 : 1;
    for (uint32_t i = 0; mesh->normals && i < mesh->vertex_count; i++) {
        float *n = &mesh->normals[3 * (size_t)i];
        double x = sign * n[0], y = sign * n[1], z = sign * n[2];
        store_normal(n, inverse[0] * x + inverse[4] * y + inverse[8] * z,
                     inverse[1] * x + inverse[5] * y + inverse[9] * z,
                     inverse[2] * x + inverse[6] * y + inverse[10] * z);
    }
    if (flip_normals)
        mesh_flip(mesh);
    return BL_OK;
}

void mesh_flip(scene_mesh *m)
{
    for (uint32_t i = 0; i < m->face_count; i++) {
        uint32_t *face = &m->faces[3 * (size_t)i], second = face[1];
        face[1] = face[2];
        face[2] = second;
    }
}

/* ---- normals ---- */

static void edge(const scene_mesh *m, uint32_t from, uint32_t to, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (double)m->positions[3 * (size_t)to + i] - m->positions[3 * (size_t)from + i];
}

static bool normalize(double v[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(length > 0))
        return false;
    for (int i = 0; i < 3; i++)
        v[i] /= length;
    return true;
}

/* Angle between unit vectors, accurate for small and for nearly straight angles (Kahan). */
static double unit_angle(const double a[3], const double b[3])
{
    double minus = 0, plus = 0;
    for (int i = 0; i < 3; i++) {
        minus += (a[i] - b[i]) * (a[i] - b[i]);
        plus += (a[i] + b[i]) * (a[i] + b[i]);
    }
    return 2 * atan2(sqrt(minus), sqrt(plus));
}

/* Adds the face's normal to each of its corners, weighted by the angle there. */
static void add_face(const scene_mesh *m, const uint32_t *face, double *sums)
{
    double a[3], b[3], normal[3];
    for (int corner = 0; corner < 3; corner++)
        BL_ASSERT(face[corner] < m->vertex_count, "vertex %u of %u", face[corner], m->vertex_count);
    edge(m, face[0], face[1], a);
    edge(m, face[0], face[2], b);
    for (int i = 0; i < 3; i++)
        normal[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    if (!normalize(normal))
        return;
    for (int corner = 0; corner < 3; corner++) {
        edge(m, face[corner], face[(corner + 1) % 3], a);
        edge(m, face[corner], face[(corner + 2) % 3], b);
        if (!normalize(a) || !normalize(b))
            continue;
        double angle = unit_angle(a, b);
        for (int i = 0; i < 3; i++)
            sums[3 * (size_t)face[corner] + i] += angle * normal[i];
    }
}

void mesh_generate_normals(scene_mesh *m)
{
    mesh_drop_normals(m);
    if (m->vertex_count == 0)
        return;
    BL_ASSERT(m->positions && (m->faces || !m->face_count), "normals of %u faces that are not there",
              m->face_count);
    double *sums = memory_need_zeroed(m->vertex_count, 3 * sizeof *sums);
    m->normals = memory_need_zeroed(m->vertex_count, 3 * sizeof *m->normals);
    for (uint32_t i = 0; i < m->face_count; i++)
        add_face(m, &m->faces[3 * (size_t)i], sums);
    for (uint32_t i = 0; i < m->vertex_count; i++) {
        float *n = &m->normals[3 * (size_t)i];
        const double *sum = &sums[3 * (size_t)i];
        n[0] = 1; /* where there is no direction, as in Mitsuba */
        store_normal(n, sum[0], sum[1], sum[2]);
    }
    memory_free(sums);
}

void mesh_fill_normals(scene_mesh *m)
{
    bool missing = false;
    for (size_t i = 0; m->normals && i < m->vertex_count && !missing; i++)
        missing = m->normals[3 * i] == 0 && m->normals[3 * i + 1] == 0 && m->normals[3 * i + 2] == 0;
    if (!missing)
        return;
    float *given = m->normals;
    m->normals = NULL;
    mesh_generate_normals(m);
    for (size_t i = 0; i < m->vertex_count; i++)
        if (given[3 * i] != 0 || given[3 * i + 1] != 0 || given[3 * i + 2] != 0)
            memcpy(&m->normals[3 * i], &given[3 * i], 3 * sizeof *given);
    memory_free(given);
}

void mesh_drop_normals(scene_mesh *m)
{
    memory_free(m->normals);
    m->normals = NULL;
}

void mesh_free(scene_mesh *m)
{
    if (!m)
        return;
    memory_free(m->positions);
    memory_free(m->normals);
    memory_free(m->uvs);
    memory_free(m->faces);
    for (uint32_t i = 0; i < m->attribute_count; i++) {
        memory_free(m->attributes[i].name);
        memory_free(m->attributes[i].values);
    }
    memory_free(m->attributes);
    *m = (scene_mesh){0};
}
