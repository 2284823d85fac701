// SPDX-License-Identifier: BSD-3-Clause
// Images in files, and how close they are to each other.
#include "library.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>

namespace bindings
{
namespace
{

using Image = nb::ndarray<const float, nb::c_contig, nb::device::cpu, nb::ndim<3>>;

// The pixels are the library's own memory: the array frees it.
nb::ndarray<nb::numpy, float> read(const Context &context, const std::string &path,
                                   const std::optional<std::vector<float>> &background)
{
    if (background)
        need_size("background", background->size(), 3);
    uint32_t width = 0, height = 0, channels = 0;
    float *pixels = nullptr;
    Library &library = *context.library;
    enter(library, [&] {
        return bl_image_read_over(library.context, path.c_str(), background ? background->data() : nullptr,
                                  &width, &height, &channels, &pixels);
    });
    nb::capsule owner(pixels, [](void *memory) noexcept { std::free(memory); });
    return nb::ndarray<nb::numpy, float>(pixels, {height, width, channels}, owner);
}

void write(const Context &context, const std::string &path, const Image &image)
{
    size_t height = image.shape(0), width = image.shape(1), channels = image.shape(2);
    if (height > UINT32_MAX || width > UINT32_MAX || channels > UINT32_MAX || image.size() == 0)
        throw Failure{BL_ERROR_ARGUMENT, "an image has at least one pixel"};
    Library &library = *context.library;
    enter(library, [&] {
        return bl_image_write(library.context, path.c_str(), (uint32_t)width, (uint32_t)height,
                              (uint32_t)channels, image.data());
    });
}

std::pair<double, double> compare(const Image &image, const Image &truth)
{
    size_t height = image.shape(0), width = image.shape(1);
    if (image.shape(2) != 3 || truth.shape(0) != height || truth.shape(1) != width || truth.shape(2) != 3 ||
        image.size() == 0 || height > UINT32_MAX || width > UINT32_MAX)
        throw Failure{BL_ERROR_ARGUMENT, "both images need the same shape, (height, width, 3)"};
    bl_image_quality quality = {};
    bl_result result = BL_OK;
    {
        nb::gil_scoped_release released;
        result = bl_image_compare((uint32_t)width, (uint32_t)height, image.data(), truth.data(), &quality);
    }
    if (result != BL_OK)
        throw Failure{result, bl_result_text(result)};
    return {quality.psnr, quality.ssim};
}

void resample(const std::vector<uint32_t> &shape, const ConstFloats &values,
              const std::vector<uint32_t> &new_shape, const Floats &new_values)
{
    size_t has = 1, gets = 1;
    for (uint32_t side : shape)
        has *= side;
    for (uint32_t side : new_shape)
        gets *= side;
    if (shape.size() != new_shape.size() || (shape.size() != 3 && shape.size() != 4))
        throw Failure{BL_ERROR_ARGUMENT, "both shapes need three sides, or four"};
    need_size("values", values.size(), has);
    need_size("new_values", new_values.size(), gets);
    bl_result result =
        bl_resample((uint32_t)shape.size(), shape.data(), values.data(), new_shape.data(), new_values.data());
    if (result != BL_OK)
        throw Failure{result, bl_result_text(result)};
}

} // namespace

void bind_images(nb::module_ &m)
{
    m.def("image_read", read, nb::arg("context"), nb::arg("path"), nb::arg("background").none());
    m.def("image_write", write, nb::arg("context"), nb::arg("path"), nb::arg("image").noconvert());
    m.def("image_compare", compare, nb::arg("image").noconvert(), nb::arg("truth").noconvert());
    m.def("resample", resample, nb::arg("shape"), nb::arg("values").noconvert(), nb::arg("new_shape"),
          nb::arg("new_values").noconvert());
}

} // namespace bindings
