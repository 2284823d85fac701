/* SPDX-License-Identifier: BSD-3-Clause
 * <transform>: 4x4 matrices, row-major, acting on column vectors. Each step multiplies from the left in
 * document order, so the first step is the first to act on a point. */
#include "base/vector.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

static bl_result number_error(const raw_node *node, const char *chars, bl_error *err)
{
    return scene_error(err, BL_ERROR_SCENE, node->where, "\"%.60s\" in <%s> is not a number", chars,
                       node->tag);
}

bl_result vector_parse(const raw_node *node, const double *missing, double out[3], bl_error *err)
{
    static const char *const axes[3] = {"x", "y", "z"};
    const char *value = raw_attribute_get(node, "value"), *malformed = NULL;
    for (int i = 0; i < 3; i++) {
        const char *part = raw_attribute_get(node, axes[i]);
        if (part && value)
            return scene_error(err, BL_ERROR_SCENE, node->where, "<%s> has both \"value\" and \"%s\"",
                               node->tag, axes[i]);
        if (!part && !value && !missing)
            return scene_error(err, BL_ERROR_SCENE, node->where,
                               "missing attribute \"value\" or \"%s\" in <%s>", axes[i], node->tag);
        if (part && !number_parse(part, &out[i]))
            return number_error(node, part, err);
        if (!part && !value)
            out[i] = *missing;
    }
    if (!value)
        return BL_OK;
    int count = numbers_parse(value, out, 3, &malformed);
    if (count < 0)
        return number_error(node, malformed, err);
    if (count == 1)
        out[1] = out[2] = out[0];
    else if (count != 3)
        return scene_error(err, BL_ERROR_SCENE, node->where, "<%s> needs one or three numbers, not %d",
                           node->tag, count);
    return BL_OK;
}

static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

/* m = step * m */
static void multiply_left(const double step[16], double m[16])
{
    double product[16];
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                sum += step[4 * row + k] * m[4 * k + column];
            product[4 * row + column] = sum;
        }
    memcpy(m, product, sizeof product);
}

/* False where the vector has no direction. Scaled first, so that squares neither overflow nor vanish. */
static bool normalize(double v[3])
{
    double largest = fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
    if (!(largest > 0) || !isfinite(largest))
        return false;
    for (int i = 0; i < 3; i++)
        v[i] /= largest;
    double length = sqrt(dot3(v, v));
    for (int i = 0; i < 3; i++)
        v[i] /= length;
    return true;
}

/* Rodrigues' formula, angle in degrees. The axis is taken as it stands, whatever its length, as in Mitsuba:
 * what is not of unit length turns and shears. */
static bl_result step_rotate(const raw_node *node, double m[16], bl_error *err)
{
    const double zero = 0;
    double axis[3], angle = 0;
    const char *angle_text = raw_attribute_get(node, "angle");
    TRY(vector_parse(node, &zero, axis, err));
    if (!number_parse(angle_text, &angle))
        return number_error(node, angle_text, err);
    if (!(dot3(axis, axis) > 0))
        return scene_error(err, BL_ERROR_SCENE, node->where, "the axis of a <rotate> must not be zero");
    const double degree = 0.017453292519943295;
    double c = cos(angle * degree), s = sin(angle * degree);
    double x = axis[0], y = axis[1], z = axis[2];
    double rows[9] = {c + x * x * (1 - c),     x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
                      y * x * (1 - c) + z * s, c + y * y * (1 - c),     y * z * (1 - c) - x * s,
                      z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)};
    for (int i = 0; i < 9; i++)
        m[4 * (i / 3) + i % 3] = rows[i];
    return BL_OK;
}

static bl_result read_point(const raw_node *node, const char *attribute, double out[3], bl_error *err)
{
    const char *value = raw_attribute_get(node, attribute), *malformed = NULL;
    int count = numbers_parse(value, out, 3, &malformed);
    if (count < 0)
        return number_error(node, malformed, err);
    if (count != 3)
        return scene_error(err, BL_ERROR_SCENE, node->where, "\"%s\" of <lookat> needs three numbers, not %d",
                           attribute, count);
    return BL_OK;
}

/* Some direction orthogonal to the unit vector n: the first vector of the basis of Duff et al., "Building an
 * Orthonormal Basis, Revisited" (2017), which is also Mitsuba's choice. */
static void any_orthogonal(const double n[3], double out[3])
{
    double sign = copysign(1, n[2]), a = -1 / (sign + n[2]);
    out[0] = 1 + sign * n[0] * n[0] * a;
    out[1] = sign * n[0] * n[1] * a;
    out[2] = -sign * n[0];
}

/* Columns: left, up, direction, origin. */
static bl_result step_lookat(const raw_node *node, double m[16], bl_error *err)
{
    double origin[3], target[3], up[3] = {0}, direction[3], left[3];
    TRY(read_point(node, "origin", origin, err));
    TRY(read_point(node, "target", target, err));
    const char *up_text = raw_attribute_get(node, "up");
    if (up_text && up_text[0])
        TRY(read_point(node, "up", up, err));
    for (int i = 0; i < 3; i++)
        direction[i] = target[i] - origin[i];
    if (!normalize(direction))
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "invalid <lookat>: origin and target are the same");
    if (!normalize(up))
        any_orthogonal(direction, up);
    cross3(up, direction, left);
    if (!(dot3(left, left) > 1e-20) || !normalize(left))
        return scene_error(err, BL_ERROR_SCENE, node->where,
                           "invalid <lookat>: up is parallel to the viewing direction");
    cross3(direction, left, up);
    for (int i = 0; i < 3; i++) {
        m[4 * i + 0] = left[i];
        m[4 * i + 1] = up[i];
        m[4 * i + 2] = direction[i];
        m[4 * i + 3] = origin[i];
    }
    return BL_OK;
}

static bl_result step_matrix(const raw_node *node, double m[16], bl_error *err)
{
    double values[16];
    const char *malformed = NULL;
    int count = numbers_parse(raw_attribute_get(node, "value"), values, 16, &malformed);
    if (count < 0)
        return number_error(node, malformed, err);
    if (count != 16 && count != 9)
        return scene_error(err, BL_ERROR_SCENE, node->where, "<matrix> needs 9 or 16 numbers, not %d", count);
    int side = count == 16 ? 4 : 3;
    for (int i = 0; i < count; i++)
        m[4 * (i / side) + i % side] = values[i];
    return BL_OK;
}

static bl_result step_parse(const raw_node *node, double m[16], bl_error *err)
{
    const double zero = 0, one = 1;
    double v[3];
    memcpy(m, identity, sizeof identity);
    switch (node->kind) {
    case RAW_TRANSLATE:
        TRY(vector_parse(node, &zero, v, err));
        for (int i = 0; i < 3; i++)
            m[4 * i + 3] = v[i];
        return BL_OK;
    case RAW_SCALE:
        TRY(vector_parse(node, &one, v, err));
        for (int i = 0; i < 3; i++)
            m[5 * i] = v[i];
        return BL_OK;
    case RAW_ROTATE:
        return step_rotate(node, m, err);
    case RAW_LOOKAT:
        return step_lookat(node, m, err);
    case RAW_MATRIX:
        return step_matrix(node, m, err);
    default:
        BL_ASSERT(false, "<%s> inside a transform", node->tag);
    }
}

bl_result transform_parse(const raw_node *node, double matrix[16], bl_error *err)
{
    memcpy(matrix, identity, sizeof identity);
    for (const raw_node *step = node->first; step; step = step->next) {
        double m[16];
        TRY(step_parse(step, m, err));
        multiply_left(m, matrix);
    }
    for (int i = 0; i < 16; i++)
        if (!isfinite(matrix[i]) || fabs(matrix[i]) > 1e30)
            return scene_error(err, BL_ERROR_SCENE, node->where,
                               "the transform \"%s\" is too large to compute with", node->name);
    return BL_OK;
}
