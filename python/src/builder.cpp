// SPDX-License-Identifier: BSD-3-Clause
// Scenes that a program makes: what backlight/_dict.py turns dictionaries into.
#include "library.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace bindings
{
namespace
{

struct BuilderState {
    std::shared_ptr<Library> library;
    bl_builder *builder = nullptr; // null: finished
    std::vector<ConstFloats> arrays;
    std::vector<ConstIndices> indices;
    ~BuilderState() { bl_builder_destroy(builder); }
    bl_builder *live() const
    {
        if (!builder)
            throw Failure{BL_ERROR_ARGUMENT, "the scene of this builder is finished"};
        return builder;
    }
};

struct Object {
    std::shared_ptr<BuilderState> state;
    bl_object *object;
};

struct Builder {
    std::shared_ptr<BuilderState> state;
};

// Builders touch nothing of the context before they finish: the interpreter's lock is enough.
bl_object *live(const Object &object)
{
    object.state->live();
    return object.object;
}

void open_builder(Builder *self, const Context &context)
{
    auto state = std::make_shared<BuilderState>();
    state->library = context.library;
    enter(*context.library, [&] { return bl_builder_create(context.library->context, &state->builder); });
    new (self) Builder{state};
}

Object add_object(const Builder &builder, const std::string &category, const std::string &type,
                  const std::optional<std::string> &id)
{
    return {builder.state, bl_builder_object(builder.state->live(), category.c_str(), type.c_str(),
                                             id ? id->c_str() : nullptr)};
}

const float *keep(BuilderState &state, const char *what, const std::optional<ConstFloats> &values,
                  size_t count)
{
    const float *data = data_of(what, values, count);
    if (data)
        state.arrays.push_back(*values);
    return data;
}

Object add_mesh(const Builder &builder, const std::optional<std::string> &id, const ConstFloats &positions,
                const ConstIndices &faces, const std::optional<ConstFloats> &normals,
                const std::optional<ConstFloats> &uvs)
{
    BuilderState &state = *builder.state;
    bl_builder *b = state.live();
    size_t vertices = positions.size() / 3, triangles = faces.size() / 3;
    need_size("positions", positions.size(), 3 * vertices);
    need_size("faces", faces.size(), 3 * triangles);
    if (vertices > UINT32_MAX || triangles > UINT32_MAX)
        throw Failure{BL_ERROR_LIMIT, "the mesh is too large"};
    bl_mesh mesh = {};
    mesh.vertex_count = (uint32_t)vertices, mesh.face_count = (uint32_t)triangles;
    mesh.positions = keep(state, "positions", positions, 3 * vertices);
    mesh.normals = keep(state, "normals", normals, 3 * vertices);
    mesh.uvs = keep(state, "uvs", uvs, 2 * vertices);
    mesh.faces = faces.data();
    state.indices.push_back(faces);
    return {builder.state, bl_builder_mesh(b, id ? id->c_str() : nullptr, &mesh)};
}

// shape: width, height, depth, channels.
void set_grid(const Object &o, const std::string &name, const ConstFloats &values,
              const std::array<uint32_t, 4> &shape)
{
    bl_object *object = live(o);
    uint64_t count = 1;
    for (uint32_t side : shape) {
        if (side == 0 || count > UINT32_MAX / side)
            throw Failure{BL_ERROR_LIMIT, "the grid is empty or too large"};
        count *= side;
    }
    bl_grid grid = {};
    for (int k = 0; k < 3; k++)
        grid.size[k] = shape[k];
    grid.channels = shape[3];
    grid.values = keep(*o.state, name.c_str(), values, (size_t)count);
    bl_object_grid(object, name.c_str(), &grid);
}

// wavelengths: none, with one value.
void set_spectrum(const Object &o, const std::string &name, const std::vector<double> &wavelengths,
                  const std::vector<double> &values)
{
    if (!wavelengths.empty() || values.size() != 1)
        need_size("wavelengths", wavelengths.size(), values.size());
    if (values.size() > UINT32_MAX)
        throw Failure{BL_ERROR_LIMIT, "the spectrum is too large"};
    bl_object_spectrum(live(o), name.c_str(), wavelengths.empty() ? nullptr : wavelengths.data(),
                       values.data(), (uint32_t)values.size());
}

Scene finish(const Builder &builder, const std::string &folder, const nb::dict &options)
{
    SceneOptions kept(options);
    bl_scene_desc desc = kept.desc();
    auto scene = std::make_shared<SceneState>();
    scene->library = builder.state->library;
    bl_builder *taken = builder.state->live();
    builder.state->builder = nullptr;
    enter(*scene->library, [&] {
        bl_result result = bl_builder_finish(taken, folder.c_str(), &desc, &scene->scene);
        return result == BL_OK ? scene->read() : result;
    });
    return {scene};
}

void set_transform(const Object &o, const std::string &name,
                   const nb::ndarray<const double, nb::c_contig, nb::device::cpu, nb::shape<4, 4>> &matrix)
{
    bl_object_transform(live(o), name.c_str(), matrix.data());
}

void add_child(const Object &parent, const std::optional<std::string> &name, const Object &child)
{
    if (parent.state != child.state)
        throw Failure{BL_ERROR_ARGUMENT, "an object of another builder"};
    bl_object_add(live(parent), name ? name->c_str() : nullptr, child.object);
}

} // namespace

void bind_builder(nb::module_ &m)
{
    nb::class_<Object>(m, "Object", "A plugin with its properties, of a builder.")
        .def("number", [](const Object &o, const std::string &name,
                          double value) { bl_object_number(live(o), name.c_str(), value); })
        .def("integer", [](const Object &o, const std::string &name,
                           int64_t value) { bl_object_integer(live(o), name.c_str(), value); })
        .def("flag", [](const Object &o, const std::string &name,
                        bool value) { bl_object_flag(live(o), name.c_str(), value); })
        .def("text", [](const Object &o, const std::string &name,
                        const std::string &value) { bl_object_text(live(o), name.c_str(), value.c_str()); })
        .def("color", [](const Object &o, const std::string &name, double r, double g,
                         double b) { bl_object_color(live(o), name.c_str(), r, g, b); })
        .def("point", [](const Object &o, const std::string &name, double x, double y,
                         double z) { bl_object_point(live(o), name.c_str(), x, y, z); })
        .def("transform", set_transform, nb::arg("name"), nb::arg("matrix").noconvert())
        .def("grid", set_grid, nb::arg("name"), nb::arg("values").noconvert(), nb::arg("shape"))
        .def("spectrum", set_spectrum, nb::arg("name"), nb::arg("wavelengths"), nb::arg("values"))
        .def("add", add_child, nb::arg("name").none(), nb::arg("child"));
    nb::class_<Builder>(m, "Builder", "Makes a scene out of objects.")
        .def("__init__", open_builder, nb::arg("context"))
        .def("root",
             [](const Builder &b) {
                 return Object{b.state, bl_builder_root(b.state->live())};
             })
        .def("object", add_object, nb::arg("category"), nb::arg("type"), nb::arg("id").none())
        .def("mesh", add_mesh, nb::arg("id").none(), nb::arg("positions").noconvert(),
             nb::arg("faces").noconvert(), nb::arg("normals").noconvert().none(),
             nb::arg("uvs").noconvert().none())
        .def("finish", finish, nb::arg("folder"), nb::arg("options"));
}

} // namespace bindings
