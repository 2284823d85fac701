// SPDX-License-Identifier: BSD-3-Clause
// Jobs: images, gradients, derivatives of images, rays.
#include "library.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace bindings
{

using Rays = nb::ndarray<const float, nb::c_contig, nb::device::cpu, nb::shape<-1, 8>>;

namespace
{

struct JobState : Work<bl_job, bl_job_destroy> {
    using Work::Work;
    std::vector<uint32_t> parameters;

    size_t count_of_requested(uint32_t k) const
    {
        if (k >= parameters.size())
            throw Failure{BL_ERROR_ARGUMENT, "the job has no gradient number " + std::to_string(k)};
        return scene->parameter(parameters[k]).count;
    }
};

struct Job {
    std::shared_ptr<JobState> state;
};

void open_job(Job *self, const Device &device, const Scene &scene, const std::vector<std::string> &names,
              const nb::dict &options)
{
    auto state = std::make_shared<JobState>(device.state, scene.state);
    std::vector<const char *> list;
    for (const std::string &name : names) {
        list.push_back(name.c_str());
        state->parameters.push_back(scene.state->find(name));
    }
    bl_job_desc desc = {};
    desc.parameters = list.data(), desc.parameter_count = (uint32_t)list.size();
    desc.accumulate = (bl_accumulate)nb::cast<uint32_t>(options["accumulate"]);
    desc.sensor_moves = nb::cast<bool>(options["sensor_moves"]);
    desc.geometry_changes = nb::cast<bool>(options["geometry_changes"]);
    desc.no_baking = nb::cast<bool>(options["no_baking"]);
    desc.precision = (bl_precision)nb::cast<uint32_t>(options["precision"]);
    desc.guide = nb::cast<uint64_t>(options["guide"]);
    desc.print_bytes = nb::cast<uint64_t>(options["print_bytes"]);
    desc.rays = (bl_rays)nb::cast<uint32_t>(options["rays"]);
    desc.volume_gradient = (bl_volume_gradient)nb::cast<uint32_t>(options["volume_gradient"]);
    desc.pixels = (bl_pixels)nb::cast<uint32_t>(options["pixels"]);
    enter(state->library(),
          [&] { return bl_job_create(device.state->live(), scene.state->scene, &desc, &state->handle); });
    enlist(state);
    new (self) Job{state};
}

void set_parameter(const Job &job, uint32_t index, const ConstFloats &values)
{
    JobState &state = *job.state;
    need_size("values", values.size(), state.scene->parameter(index).count);
    enter(state.library(), [&] { return bl_job_set_parameter(state.live(), index, values.data()); });
}

void set_sensor(const Job &job, uint32_t sensor, const std::optional<ConstFloats> &to_world)
{
    JobState &state = *job.state;
    const float *matrix = data_of("to_world", to_world, 16);
    enter(state.library(), [&] { return bl_job_set_sensor(state.live(), sensor, matrix); });
}

// (x, y, sample, text) of each message, and whether there was no room for some.
std::pair<std::vector<std::tuple<uint32_t, uint32_t, uint32_t, std::string>>, bool> prints(const Job &job)
{
    const bl_print *messages = nullptr;
    uint32_t count = 0;
    bool more = false;
    enter(job.state->library(), [&] { return bl_job_prints(job.state->live(), &messages, &count, &more); });
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t, std::string>> found;
    for (const bl_print *m = messages; m != messages + count; m++)
        found.emplace_back(m->x, m->y, m->sample, m->text);
    return {found, more};
}

nb::dict stats_dict(const bl_stats &s)
{
    nb::dict d;
    d["seconds"] = s.seconds, d["device_seconds"] = s.device_seconds;
    d["paths"] = s.paths, d["slices"] = s.slices, d["device_bytes"] = s.device_bytes;
    d["drifted"] = s.drifted, d["overflowed"] = s.overflowed, d["underflowed"] = s.underflowed;
    d["non_finite"] = s.non_finite, d["cut"] = s.cut, d["edges"] = s.edges;
    const char *form = bl_gradient_form_name(s.form);
    d["form"] = form ? form : "";
    d["rebuilds"] = s.rebuilds, d["repeats"] = s.repeats, d["loss"] = s.loss;
    nb::list singular;
    for (uint64_t count : s.singular)
        singular.append(count);
    d["singular"] = nb::tuple(singular);
    return d;
}

// doubles: the image before it is rounded to floats.
nb::dict render(const Job &job, uint32_t spp, uint32_t seed, const Floats &image,
                const std::optional<Doubles> &doubles, const std::optional<Floats> &variance,
                const std::optional<Floats> &channels, bool gradient_stream, nb::object progress)
{
    JobState &state = *job.state;
    bl_render_desc desc = {};
    bl_stats stats = {};
    Watch watch(std::move(progress));
    need_size("image", image.size(), state.image_size());
    desc.spp = spp, desc.seed = seed, desc.gradient_stream = gradient_stream;
    desc.doubles = data_of("doubles", doubles, state.image_size());
    desc.variance = data_of("variance", variance, state.image_size());
    desc.channels = data_of("channels", channels, state.scene->channels * state.scene->pixels());
    desc.progress = Watch::tick, desc.user = &watch;
    enter(
        state.library(), [&] { return bl_job_render(state.live(), &desc, image.data(), &stats); }, &watch);
    return stats_dict(stats);
}

nb::dict gradient(const Job &job, const std::optional<ConstFloats> &adjoint,
                  const std::optional<ConstFloats> &target, const std::optional<Floats> &image,
                  const nb::dict &options, nb::object progress)
{
    JobState &state = *job.state;
    bl_gradient_desc desc = {};
    bl_stats stats = {};
    Watch watch(std::move(progress));
    desc.adjoint = data_of("adjoint", adjoint, state.image_size());
    desc.target = data_of("target", target, state.image_size());
    desc.image = data_of("image", image, state.image_size());
    desc.form = (bl_gradient_form)nb::cast<uint32_t>(options["form"]);
    desc.spp = nb::cast<uint32_t>(options["spp"]), desc.seed = nb::cast<uint32_t>(options["seed"]);
    desc.spp_primal = nb::cast<uint32_t>(options["spp_primal"]);
    desc.loss = (bl_loss)nb::cast<uint32_t>(options["loss"]);
    desc.loss_constant = nb::cast<double>(options["loss_constant"]);
    desc.edges = (bl_edges)nb::cast<uint32_t>(options["edges"]);
    desc.progress = Watch::tick, desc.user = &watch;
    enter(
        state.library(), [&] { return bl_job_gradient(state.live(), &desc, &stats); }, &watch);
    return stats_dict(stats);
}

void read_gradient(const Job &job, uint32_t k, const Floats &values)
{
    JobState &state = *job.state;
    need_size("values", values.size(), state.count_of_requested(k));
    enter(state.library(), [&] { return bl_job_read_gradient(state.live(), k, values.data()); });
}

void read_gradient_doubles(const Job &job, uint32_t k, const Doubles &values)
{
    JobState &state = *job.state;
    need_size("values", values.size(), state.count_of_requested(k));
    enter(state.library(), [&] { return bl_job_read_gradient_doubles(state.live(), k, values.data()); });
}

// tangents: one a requested parameter; empty: ones for all of them.
nb::dict forward(const Job &job, const std::vector<std::optional<ConstFloats>> &tangents, uint32_t spp,
                 uint32_t seed, uint32_t edges, const Floats &image, nb::object progress)
{
    JobState &state = *job.state;
    bl_forward_desc desc = {};
    bl_stats stats = {};
    Watch watch(std::move(progress));
    std::vector<const float *> list;
    need_size("image", image.size(), state.image_size());
    if (!tangents.empty())
        need_size("tangents", tangents.size(), state.parameters.size());
    for (uint32_t k = 0; k < tangents.size(); k++)
        list.push_back(data_of("a tangent", tangents[k], state.count_of_requested(k)));
    desc.spp = spp, desc.seed = seed, desc.edges = (bl_edges)edges;
    desc.tangents = list.empty() ? nullptr : list.data();
    desc.progress = Watch::tick, desc.user = &watch;
    enter(
        state.library(), [&] { return bl_job_forward(state.live(), &desc, image.data(), &stats); }, &watch);
    return stats_dict(stats);
}

// ---- rays: eight floats each, as bl_ray has them ----

static_assert(sizeof(bl_ray) == 8 * sizeof(float), "rays are rows of eight floats");
static_assert(sizeof(bl_hit) == 24, "hits are records of six words");

void closest_hits(const Job &job, const Rays &rays,
                  const nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu> &hits)
{
    JobState &state = *job.state;
    need_size("hits", hits.size(), rays.shape(0) * sizeof(bl_hit));
    enter(state.library(), [&] {
        return bl_job_closest_hits(state.live(), rays.shape(0), reinterpret_cast<const bl_ray *>(rays.data()),
                                   reinterpret_cast<bl_hit *>(hits.data()), nullptr);
    });
}

void any_hits(const Job &job, const Rays &rays, const nb::ndarray<bool, nb::c_contig, nb::device::cpu> &hits)
{
    JobState &state = *job.state;
    need_size("hits", hits.size(), rays.shape(0));
    enter(state.library(), [&] {
        return bl_job_any_hits(state.live(), rays.shape(0), reinterpret_cast<const bl_ray *>(rays.data()),
                               hits.data(), nullptr);
    });
}

void camera_rays(const Job &job, uint32_t spp, uint32_t seed, uint32_t sample, const Floats &rays)
{
    JobState &state = *job.state;
    need_size("rays", rays.size(), 8 * state.scene->pixels());
    enter(state.library(), [&] {
        return bl_job_camera_rays(state.live(), spp, seed, sample, reinterpret_cast<bl_ray *>(rays.data()));
    });
}

std::string ways_of(const Job &job)
{
    std::string text;
    enter(job.state->library(), [&] {
        text = bl_job_rays(job.state->live());
        return BL_OK;
    });
    return text;
}

} // namespace

void bind_job(nb::module_ &m)
{
    nb::class_<Job>(m, "Job", "Kernels and buffers of a scene on a device.")
        .def("__init__", open_job, nb::arg("device"), nb::arg("scene"), nb::arg("parameters"),
             nb::arg("options"))
        .def("set", set_parameter, nb::arg("index"), nb::arg("values").noconvert())
        .def("set_sensor", set_sensor, nb::arg("sensor"), nb::arg("to_world").noconvert().none())
        .def("render", render, nb::arg("spp"), nb::arg("seed"), nb::arg("image").noconvert(),
             nb::arg("doubles").noconvert().none(), nb::arg("variance").noconvert().none(),
             nb::arg("channels").noconvert().none(), nb::arg("gradient_stream"), nb::arg("progress").none())
        .def("gradient", gradient, nb::arg("adjoint").noconvert().none(),
             nb::arg("target").noconvert().none(), nb::arg("image").noconvert().none(), nb::arg("options"),
             nb::arg("progress").none())
        .def("read_gradient", read_gradient, nb::arg("k"), nb::arg("values").noconvert())
        .def("read_gradient_doubles", read_gradient_doubles, nb::arg("k"), nb::arg("values").noconvert())
        .def("forward", forward, nb::arg("tangents").noconvert(), nb::arg("spp"), nb::arg("seed"),
             nb::arg("edges"), nb::arg("image").noconvert(), nb::arg("progress").none())
        .def("prints", prints)
        .def("closest_hits", closest_hits, nb::arg("rays").noconvert(), nb::arg("hits").noconvert())
        .def("any_hits", any_hits, nb::arg("rays").noconvert(), nb::arg("hits").noconvert())
        .def("camera_rays", camera_rays, nb::arg("spp"), nb::arg("seed"), nb::arg("sample"),
             nb::arg("rays").noconvert())
        .def("rays", ways_of)
        .def_prop_ro("closed", [](const Job &job) { return job.state->handle == nullptr; });
}

} // namespace bindings
