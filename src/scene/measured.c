/* SPDX-License-Identifier: BSD-3-Clause
 * Measured materials in the layout of Jonathan Dupuy and Wenzel Jakob, "An Adaptive Parameterization for
 * Efficient Material Acquisition and Rendering", 2018. Of the fields of such a file (tensor_file.c) these are
 * read: phi_i and theta_i, the directions that light came from; ndf and sigma; vndf and luminance, which
 * samples follow; rgb, or spectra and wavelengths; jacobian. */
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

#define MEASURED_BYTES_MAX ((size_t)1 << 30)
enum { SIDE_LEAST = 2, SIDE_MOST = 4096, PLACES_MOST = 4096 };

static bl_result read_floats(const tensor_field *field, float **out, bl_error *err)
{
    TRY(budget_take(BUDGET_VOXELS, field->count, err));
    *out = memory_alloc(field->count * sizeof **out);
    if (!*out)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for %zu numbers", field->count);
    for (size_t i = 0; i < field->count; i++)
        (*out)[i] = tensor_float(field, i);
    return BL_OK;
}

static bl_result find_floats(const void *data, size_t size, const char *name, uint32_t rank,
                             tensor_field *field, bl_error *err)
{
    TRY(tensor_find(data, size, name, field, err));
    if (field->type != TENSOR_FLOAT32 || field->rank != rank)
        return error_set(err, BL_ERROR_FORMAT, "the field \"%s\" should have %u dimensions of float32", name,
                         rank);
    return BL_OK;
}

/* Where the slices are along one axis: angles or wavelengths. They ascend, from `first` to `last` at most. */
typedef struct axis {
    const char *name, *what;
    uint32_t least; /* how many */
    double first, last;
} axis;

static bl_result read_axis(const void *data, size_t size, const axis *a, uint32_t *count, float **out,
                           bl_error *err)
{
    tensor_field field;
    TRY(find_floats(data, size, a->name, 1, &field, err));
    if (field.count < a->least || field.count > PLACES_MOST)
        return error_set(err, BL_ERROR_FORMAT, "\"%s\" has %zu %ss, %u to %d are possible", a->name,
                         field.count, a->what, a->least, PLACES_MOST);
    TRY(read_floats(&field, out, err));
    *count = (uint32_t)field.count;
    for (uint32_t k = 0; k < *count; k++)
        if (!((double)(*out)[k] >= a->first && (double)(*out)[k] <= a->last) ||
            (k && !((*out)[k] > (*out)[k - 1])))
            return error_set(err, BL_ERROR_FORMAT,
                             "\"%s\": %s %u is out of range or not above the one before", a->name, a->what,
                             k);
    return BL_OK;
}

/* lead: the leading dimensions, which are the slices. */
static bl_result read_grid(const void *data, size_t size, const char *name, const uint32_t *lead,
                           uint32_t rank, measured_grid *out, bl_error *err)
{
    tensor_field field;
    TRY(find_floats(data, size, name, rank + 2, &field, err));
    out->slices = 1;
    for (uint32_t k = 0; k < rank; k++) {
        if (field.shape[k] != lead[k])
            return error_set(err, BL_ERROR_FORMAT, "dimension %u of \"%s\" is %ju, expected %u", k, name,
                             (uintmax_t)field.shape[k], lead[k]);
        out->slices *= lead[k];
    }
    for (uint32_t k = 0; k < 2; k++)
        if (field.shape[rank + k] < SIDE_LEAST || field.shape[rank + k] > SIDE_MOST)
            return error_set(err, BL_ERROR_FORMAT, "a side of \"%s\" is %ju, %d to %d are possible", name,
                             (uintmax_t)field.shape[rank + k], SIDE_LEAST, SIDE_MOST);
    out->height = (uint32_t)field.shape[rank], out->width = (uint32_t)field.shape[rank + 1];
    TRY(read_floats(&field, &out->values, err));
    for (size_t i = 0; i < field.count; i++)
        if (!(out->values[i] >= 0 && out->values[i] <= 1e30f))
            return error_set(err, BL_ERROR_FORMAT, "number %zu of \"%s\" is negative or not finite", i, name);
    return BL_OK;
}

static bl_result read_jacobian(const void *data, size_t size, scene_measured *out, bl_error *err)
{
    tensor_field field;
    TRY(tensor_find(data, size, "jacobian", &field, err));
    if (field.type != TENSOR_UINT8 || field.count != 1)
        return error_set(err, BL_ERROR_FORMAT, "the field \"jacobian\" should be one byte");
    out->jacobian = field.data[0] != 0;
    return BL_OK;
}

static bool has(const void *data, size_t size, const char *name)
{
    tensor_field field;
    bl_error none = {0};
    return tensor_find(data, size, name, &field, &none) == BL_OK;
}

static bl_result check_kind(const void *data, size_t size, bool spectra, bl_error *err)
{
    bool rgb = has(data, size, "rgb"), other = has(data, size, "spectra");
    if (!spectra && !rgb && other)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "it holds spectra and no \"rgb\", which is what is read here; take the file of the "
                         "same measurement whose name ends in _rgb.bsdf, or the mode spectral");
    if (spectra && rgb && !other)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "it holds colours and no \"spectra\", which are what the mode spectral reads; take "
                         "the file of the same measurement whose name ends in _spec.bsdf, or the mode rgb");
    return BL_OK;
}

static bl_result read_all(const void *data, size_t size, bool spectra, scene_measured *out, bl_error *err)
{
    static const axis phi = {"phi_i", "angle", 1, -6.3, 6.3}, theta = {"theta_i", "angle", 2, -1.6, 1.6},
                      nm = {"wavelengths", "wavelength", 2, 1, 1e6};
    TRY(check_kind(data, size, spectra, err));
    TRY(read_axis(data, size, &phi, &out->phi_count, &out->phi, err));
    TRY(read_axis(data, size, &theta, &out->theta_count, &out->theta, err));
    if (spectra)
        TRY(read_axis(data, size, &nm, &out->nm_count, &out->nm, err));
    const uint32_t lead[3] = {out->phi_count, out->theta_count, spectra ? out->nm_count : 3};
    TRY(read_grid(data, size, "ndf", lead, 0, &out->ndf, err));
    TRY(read_grid(data, size, "sigma", lead, 0, &out->sigma, err));
    TRY(read_grid(data, size, "vndf", lead, 2, &out->visible, err));
    TRY(read_grid(data, size, "luminance", lead, 2, &out->luminance, err));
    TRY(read_grid(data, size, spectra ? "spectra" : "rgb", lead, 3, &out->light, err));
    return read_jacobian(data, size, out, err);
}

bl_result measured_parse(const void *data, size_t size, bool spectra, scene_measured *out, bl_error *err)
{
    *out = (scene_measured){0};
    bl_result r = read_all(data, size, spectra, out, err);
    if (r != BL_OK)
        measured_free(out);
    return r;
}

bl_result measured_load(const char *path, bool spectra, scene_measured *out, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *out = (scene_measured){0};
    TRY(file_read(path, MEASURED_BYTES_MAX, &data, &size, err));
    bl_result r = measured_parse(data, size, spectra, out, err);
    memory_free(data);
    return r;
}

void measured_free(scene_measured *m)
{
    if (!m)
        return;
    memory_free(m->phi), memory_free(m->theta);
    memory_free(m->ndf.values), memory_free(m->sigma.values), memory_free(m->visible.values);
    memory_free(m->luminance.values), memory_free(m->light.values), memory_free(m->nm);
    *m = (scene_measured){0};
}
