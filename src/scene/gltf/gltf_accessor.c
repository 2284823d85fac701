/* SPDX-License-Identifier: BSD-3-Clause
 * Accessors (glTF 2.0, 3.6.2): typed elements of a buffer view, with a stride, or zeros without a view, and
 * single elements replaced by those of a sparse accessor. Everything that is read is checked to lie in its
 * view when the accessor is opened. */
#include "scene/gltf/gltf.h"

#include <math.h>
#include <string.h>

/* A view of nothing costs the file no bytes, so what it may stand for is bounded. */
enum { COUNT_MOST = 1 << 30, EMPTY_MOST = 1 << 24 };
enum { I8 = 5120, U8, I16, U16, U32 = 5125, F32 };

static uint32_t size_of(uint32_t type)
{
    return type == I8 || type == U8 ? 1 : type == I16 || type == U16 ? 2 : type == U32 || type == F32 ? 4 : 0;
}

/* Little endian, as the file is. */
static double number_at(const uint8_t *p, uint32_t type)
{
    uint32_t bits = p[0];
    for (uint32_t k = 1; k < size_of(type); k++)
        bits |= (uint32_t)p[k] << 8 * k;
    float value;
    switch (type) {
    case I8:
        return (int8_t)bits;
    case I16:
        return (int16_t)bits;
    case F32:
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    default:
        return bits;
    }
}

/* glTF 2.0, 3.6.2.2. */
static double normalised(double v, uint32_t type)
{
    switch (type) {
    case I8:
        return fmax(v / 127, -1);
    case U8:
        return v / 255;
    case I16:
        return fmax(v / 32767, -1);
    case U16:
        return v / 65535;
    default:
        return v;
    }
}

/* `count` elements of `width` bytes, `offset` bytes into the view that `object` names. */
static bl_result find_elements(gltf *g, gltf_place where, const cJSON *object, uint32_t count, uint64_t width,
                               const uint8_t **data, uint64_t *stride)
{
    uint32_t view = GLTF_NONE;
    uint64_t offset = 0;
    gltf_bytes bytes;
    TRY(gltf_index(g, where, object, "bufferView", GLTF_BUFFER_VIEWS, &view));
    TRY(gltf_count(g, where, object, "byteOffset", &offset));
    if (view == GLTF_NONE)
        return BL_OK;
    TRY(gltf_view(g, view, &bytes, stride));
    *stride = *stride ? *stride : width;
    /* Both factors are below 2^32. */
    if (count && (offset > bytes.size || width > bytes.size - offset ||
                  (uint64_t)(count - 1) * *stride > bytes.size - offset - width))
        return gltf_error(
            g, BL_ERROR_SCENE, where,
            "%u elements of %ju bytes, %ju apart, from byte %ju on do not lie in a view of %zu bytes", count,
            (uintmax_t)width, (uintmax_t)*stride, (uintmax_t)offset, bytes.size);
    *data = bytes.data + offset;
    return BL_OK;
}

static bl_result open_type(gltf *g, gltf_place where, const cJSON *object, uint32_t *type)
{
    uint64_t number = 0;
    TRY(gltf_count(g, where, object, "componentType", &number));
    if (number > F32 || !size_of((uint32_t)number))
        return gltf_error(g, BL_ERROR_SCENE, where, "\"componentType\" %ju is none of 5120 to 5126",
                          (uintmax_t)number);
    *type = (uint32_t)number;
    return BL_OK;
}

static bl_result open_sparse(gltf *g, const cJSON *item, gltf_accessor *a)
{
    const cJSON *sparse = gltf_get(item, "sparse"), *indices = gltf_get(sparse, "indices");
    uint64_t count = 0, stride = 0;
    if (!sparse)
        return BL_OK;
    TRY(gltf_count(g, a->where, sparse, "count", &count));
    if (count > a->count)
        return gltf_error(g, BL_ERROR_SCENE, a->where, "%ju sparse elements of %u", (uintmax_t)count,
                          a->count);
    TRY(open_type(g, a->where, indices, &a->index_type));
    a->sparse_count = (uint32_t)count;
    TRY(find_elements(g, a->where, indices, a->sparse_count, size_of(a->index_type), &a->sparse_indices,
                      &stride));
    if (!a->sparse_indices || stride != size_of(a->index_type) || a->index_type == F32 ||
        a->index_type == I8 || a->index_type == I16)
        return gltf_error(g, BL_ERROR_SCENE, a->where,
                          "the indices of sparse elements are no packed integers");
    const uint32_t width = a->components * size_of(a->type);
    TRY(find_elements(g, a->where, gltf_get(sparse, "values"), a->sparse_count, width, &a->sparse_values,
                      &stride));
    if (!a->sparse_values || stride != width)
        return gltf_error(g, BL_ERROR_SCENE, a->where, "the values of sparse elements are not packed");
    double before = -1;
    for (uint32_t k = 0; k < a->sparse_count; k++) {
        double at = number_at(a->sparse_indices + (size_t)k * size_of(a->index_type), a->index_type);
        if (!(at > before) || at >= a->count)
            return gltf_error(g, BL_ERROR_SCENE, a->where,
                              "sparse element %u replaces element %.0f of %u: indices must ascend", k, at,
                              a->count);
        before = at;
    }
    return BL_OK;
}

bl_result gltf_accessor_open(gltf *g, uint32_t index, gltf_accessor *a)
{
    static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    *a = (gltf_accessor){.where = {GLTF_ACCESSORS, index}};
    const cJSON *item = gltf_item(g, a->where);
    const char *type = gltf_text(item, "type");
    uint64_t count = 0;
    for (uint32_t k = 0; type && k < 4; k++)
        if (strcmp(type, types[k]) == 0)
            a->components = k + 1;
    if (!a->components)
        return gltf_error(g, BL_ERROR_SCENE, a->where, "\"type\" is not SCALAR, VEC2, VEC3 or VEC4");
    TRY(open_type(g, a->where, item, &a->type));
    TRY(gltf_count(g, a->where, item, "count", &count));
    const bool empty = !gltf_get(item, "bufferView");
    if (count == 0 || count > (empty ? EMPTY_MOST : COUNT_MOST))
        return gltf_error(g, BL_ERROR_SCENE, a->where, "\"count\" is %ju, and must be from 1 to %d",
                          (uintmax_t)count, empty ? EMPTY_MOST : COUNT_MOST);
    a->count = (uint32_t)count;
    a->normalized = gltf_flag(item, "normalized");
    TRY(find_elements(g, a->where, item, a->count, (uint64_t)a->components * size_of(a->type), &a->data,
                      &a->stride));
    return open_sparse(g, item, a);
}

static bl_result read_element(gltf *g, const gltf_accessor *a, const uint8_t *from, uint32_t components,
                              uint32_t element, float *out)
{
    for (uint32_t c = 0; c < components; c++) {
        double v = number_at(from + (size_t)c * size_of(a->type), a->type);
        v = a->normalized ? normalised(v, a->type) : v;
        if (!isfinite(v))
            return gltf_error(g, BL_ERROR_SCENE, a->where, "element %u is not finite", element);
        out[c] = (float)v;
    }
    return BL_OK;
}

static uint32_t sparse_at(const gltf_accessor *a, uint32_t k)
{
    return (uint32_t)number_at(a->sparse_indices + (size_t)k * size_of(a->index_type), a->index_type);
}

bl_result gltf_read_floats(gltf *g, const gltf_accessor *a, uint32_t components, float *out)
{
    BL_ASSERT(components <= a->components, "%u components of %u", components, a->components);
    const size_t width = (size_t)a->components * size_of(a->type);
    if (!a->data)
        memset(out, 0, (size_t)a->count * components * sizeof *out);
    for (uint32_t i = 0; a->data && i < a->count; i++)
        TRY(read_element(g, a, a->data + i * a->stride, components, i, out + (size_t)i * components));
    for (uint32_t k = 0; k < a->sparse_count; k++)
        TRY(read_element(g, a, a->sparse_values + k * width, components, sparse_at(a, k),
                         out + (size_t)sparse_at(a, k) * components));
    return BL_OK;
}

bl_result gltf_read_indices(gltf *g, const gltf_accessor *a, uint32_t *out)
{
    if (a->components != 1 || (a->type != U8 && a->type != U16 && a->type != U32))
        return gltf_error(g, BL_ERROR_SCENE, a->where, "indices of vertices are unsigned integers");
    for (uint32_t i = 0; i < a->count; i++)
        out[i] = a->data ? (uint32_t)number_at(a->data + i * a->stride, a->type) : 0;
    for (uint32_t k = 0; k < a->sparse_count; k++)
        out[sparse_at(a, k)] = (uint32_t)number_at(a->sparse_values + (size_t)k * size_of(a->type), a->type);
    return BL_OK;
}
