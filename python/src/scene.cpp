// SPDX-License-Identifier: BSD-3-Clause
// Scenes: loading, what is in them, their parameters.
#include "library.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace bindings
{

// ---- options ----

const char *SceneOptions::keep(std::string text)
{
    texts.push_back(std::move(text));
    return texts.back().c_str();
}

// Keys are those of backlight/_scene.py, which has checked them; values of the wrong type are a TypeError.
SceneOptions::SceneOptions(const nb::dict &options)
{
    auto given = nb::cast<std::vector<std::pair<std::string, std::string>>>(options["defines"]);
    auto places = nb::cast<std::vector<std::string>>(options["roots"]);
    texts.reserve(2 * given.size() + places.size() + 4); // what keep() returns stays where it is
    for (auto &[key, value] : given) {
        const char *kept = keep(key);
        defines.push_back({kept, keep(value)});
    }
    for (auto &place : places)
        roots.push_back(keep(place));
    if (!options["mode"].is_none())
        fields.mode = keep(nb::cast<std::string>(options["mode"]));
    if (!options["sampler"].is_none())
        fields.sampler = keep(nb::cast<std::string>(options["sampler"]));
    if (!options["integrator"].is_none())
        fields.integrator = keep(nb::cast<std::string>(options["integrator"]));
    if (!options["silhouette"].is_none())
        fields.silhouette = keep(nb::cast<std::string>(options["silhouette"]));
    fields.untrusted = nb::cast<bool>(options["untrusted"]);
    fields.guides = nb::cast<bool>(options["guides"]);
    fields.max_depth = nb::cast<int32_t>(options["max_depth"]);
    fields.sensor = nb::cast<uint32_t>(options["sensor"]);
    fields.lights = (bl_light_choice)nb::cast<uint32_t>(options["lights"]);
    fields.edges = (bl_edges)nb::cast<uint32_t>(options["edges"]);
    uint64_t *const places_of_limits[] = {&limits.memory, &limits.text,   &limits.pixels, &limits.triangles,
                                          &limits.voxels, &limits.kernel, &limits.seconds};
    auto values = nb::cast<std::vector<uint64_t>>(options["limits"]);
    for (size_t i = 0; i < values.size() && i < std::size(places_of_limits); i++)
        *places_of_limits[i] = values[i];
}

bl_scene_desc SceneOptions::desc() const
{
    bl_scene_desc desc = fields;
    desc.defines = defines.data(), desc.define_count = (uint32_t)defines.size();
    desc.roots = roots.data(), desc.root_count = (uint32_t)roots.size();
    desc.limits = &limits;
    return desc;
}

// ---- scenes ----

SceneState::~SceneState()
{
    if (scene)
        library->dispose([s = scene] { bl_scene_destroy(s); });
}

bl_result SceneState::read()
{
    channels = bl_scene_channel_count(scene);
    return bl_scene_info_get(scene, &info);
}

bl_parameter_info SceneState::parameter(uint32_t index) const
{
    bl_parameter_info info = {};
    if (index >= bl_scene_parameter_count(scene))
        throw Failure{BL_ERROR_ARGUMENT, "there is no parameter number " + std::to_string(index)};
    bl_scene_parameter_info(scene, index, &info);
    return info;
}

uint32_t SceneState::find(const std::string &name) const
{
    uint32_t index = 0;
    enter(*library, [&] { return bl_scene_find_parameter(scene, name.c_str(), &index); });
    return index;
}

static void load(Scene *self, const Context &context, const std::string &text, const std::string &folder,
                 bool is_path, const nb::dict &options)
{
    SceneOptions kept(options);
    bl_scene_desc desc = kept.desc();
    auto state = std::make_shared<SceneState>();
    state->library = context.library;
    bl_context *ctx = context.library->context;
    enter(*context.library, [&] {
        bl_result result =
            is_path ? bl_scene_load(ctx, text.c_str(), &desc, &state->scene)
                    : bl_scene_load_string(ctx, text.c_str(), folder.c_str(), &desc, &state->scene);
        return result == BL_OK ? state->read() : result;
    });
    new (self) Scene{state};
}

static nb::dict scene_info(const Scene &scene)
{
    const bl_scene_info &info = scene.state->info;
    nb::dict d;
    d["width"] = info.width, d["height"] = info.height, d["spp"] = info.spp;
    d["mode"] = info.mode, d["channels"] = info.channels;
    d["integrator"] = info.integrator, d["max_depth"] = info.max_depth, d["rr_depth"] = info.rr_depth;
    d["shapes"] = info.shapes, d["primitives"] = info.primitives, d["emitters"] = info.emitters;
    d["parameters"] = info.parameters, d["bvh_nodes"] = info.bvh_nodes, d["sensors"] = info.sensors;
    d["warnings"] = bl_scene_warnings(scene.state->scene);
    return d;
}

template <const char *(*name)(const bl_scene *, uint32_t)> static nb::list names(const Scene &scene)
{
    return names_of<uint32_t>([&](uint32_t i) { return name(scene.state->scene, i); });
}

static nb::dict parameter_dict(const Scene &scene, uint32_t index)
{
    bl_parameter_info info = scene.state->parameter(index);
    nb::list shape;
    for (uint32_t i = 0; i < info.rank; i++)
        shape.append(info.shape[i]);
    nb::dict d;
    d["name"] = info.name, d["path"] = info.path, d["shape"] = nb::tuple(shape);
    d["least"] = info.least, d["most"] = info.most, d["differentiable"] = info.differentiable;
    if (info.reason)
        d["reason"] = info.reason;
    else
        d["reason"] = nb::none();
    d["resizable"] = info.resizable, d["geometry"] = info.geometry;
    d["only_listed"] = info.only_listed;
    return d;
}

static void get_parameter(const Scene &scene, uint32_t index, const Floats &values)
{
    SceneState &state = *scene.state;
    need_size("values", values.size(), state.parameter(index).count);
    enter(*state.library, [&] { return bl_scene_get_parameter(state.scene, index, values.data()); });
}

static void resize_parameter(const Scene &scene, uint32_t index, const std::vector<uint32_t> &shape,
                             const ConstFloats &values)
{
    SceneState &state = *scene.state;
    bl_parameter_info info = state.parameter(index);
    size_t count = 1;
    for (uint32_t side : shape)
        count *= side;
    if (shape.size() != info.rank)
        throw Failure{BL_ERROR_ARGUMENT, "the new shape must have " + std::to_string(info.rank) + " sides"};
    need_size("values", values.size(), count);
    if (!state.users.alive().empty())
        throw Failure{BL_ERROR_ARGUMENT, "a job or fit of the scene is still there: delete it first"};
    enter(*state.library,
          [&] { return bl_scene_resize_parameter(state.scene, index, shape.data(), values.data()); });
}

static void denoise(const Scene &scene, const Floats &image, const std::optional<Floats> &channels)
{
    SceneState &state = *scene.state;
    need_size("image", image.size(), state.values());
    float *guides = data_of("channels", channels, state.channels * state.pixels());
    enter(*state.library, [&] { return bl_scene_denoise(state.scene, image.data(), guides); });
}

static void write_image(const Scene &scene, const std::string &path, const ConstFloats &image)
{
    SceneState &state = *scene.state;
    need_size("image", image.size(), state.values());
    enter(*state.library,
          [&] { return bl_scene_write_image(state.scene, path.c_str(), image.data(), nullptr); });
}

void bind_scene(nb::module_ &m)
{
    nb::class_<Scene>(m, "Scene", "A loaded scene.")
        .def("__init__", load, nb::arg("context"), nb::arg("text"), nb::arg("folder"), nb::arg("is_path"),
             nb::arg("options"))
        .def("info", scene_info)
        .def("channel_names", names<bl_scene_channel_name>)
        .def("band_names", names<bl_scene_band_name>)
        .def("shape_names", names<bl_scene_shape_name>)
        .def("instance_names", names<bl_scene_instance_name>)
        .def("parameter", parameter_dict, nb::arg("index"))
        .def(
            "find", [](const Scene &scene, const std::string &name) { return scene.state->find(name); },
            nb::arg("name"))
        .def("get", get_parameter, nb::arg("index"), nb::arg("values").noconvert())
        .def("resize", resize_parameter, nb::arg("index"), nb::arg("shape"), nb::arg("values").noconvert())
        .def("denoise", denoise, nb::arg("image").noconvert(), nb::arg("channels").noconvert().none())
        .def("write_image", write_image, nb::arg("path"), nb::arg("image").noconvert());
}

} // namespace bindings
