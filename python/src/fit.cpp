// SPDX-License-Identifier: BSD-3-Clause
// Fits. The arrays of targets stay with backlight/_fit.py, which keeps them as long as the fit.
#include "library.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace bindings
{
namespace
{

struct FitState : Work<bl_fit, bl_fit_destroy> {
    using Work::Work;
    std::vector<size_t> counts; // values of each parameter
    uint32_t views = 1, terms = 0;
};

struct Fit {
    std::shared_ptr<FitState> state;
};

// What the descriptor points to while the fit is made.
struct Parts {
    std::vector<std::string> names;
    std::vector<bl_fit_parameter> parameters;
    std::vector<bl_fit_view> views;
    std::vector<bl_fit_change> schedule;
    std::vector<bl_loss_term> terms;
    std::vector<std::vector<double>> levels; // weights of the levels of terms
    bl_composite_loss composite = {};
    std::vector<ConstFloats> arrays; // of initial values, targets, matrices
};

const float *array_of(Parts &parts, const char *what, nb::handle value, size_t count)
{
    if (value.is_none())
        return nullptr;
    parts.arrays.push_back(nb::cast<ConstFloats>(value, false));
    need_size(what, parts.arrays.back().size(), count);
    return parts.arrays.back().data();
}

void read_parameters(FitState &state, Parts &parts, const nb::list &given)
{
    parts.names.reserve(given.size());
    for (nb::handle item : given) {
        nb::dict d = nb::cast<nb::dict>(item);
        parts.names.push_back(nb::cast<std::string>(d["name"]));
        bl_fit_parameter p = {};
        p.name = parts.names.back().c_str();
        state.counts.push_back(state.scene->parameter(state.scene->find(p.name)).count);
        p.rate = nb::cast<double>(d["rate"]);
        p.least = nb::cast<double>(d["least"]), p.most = nb::cast<double>(d["most"]);
        p.initial = array_of(parts, "initial", d["initial"], state.counts.back());
        p.total_variation = nb::cast<double>(d["total_variation"]);
        p.smoothing = nb::cast<double>(d["smoothing"]);
        p.large_steps = nb::cast<double>(d["large_steps"]);
        p.fixed_axes = nb::cast<uint32_t>(d["fixed_axes"]);
        p.motion = nb::cast<uint64_t>(d["motion"]);
        p.prior = nb::cast<uint64_t>(d["prior"]);
        p.prior_weight = nb::cast<double>(d["prior_weight"]);
        p.prior_centre = nb::cast<double>(d["prior_centre"]);
        p.sparse = nb::cast<bool>(d["sparse"]);
        p.beta_1 = nb::cast<double>(d["beta_1"]), p.beta_2 = nb::cast<double>(d["beta_2"]);
        parts.parameters.push_back(p);
    }
}

// (loss, constant, weight, levels, weights of levels or an empty list) each
void read_terms(Parts &parts, const nb::list &given)
{
    parts.levels.reserve(given.size());
    for (nb::handle item : given) {
        nb::tuple t = nb::cast<nb::tuple>(item);
        bl_loss_term term = {};
        term.loss = (bl_loss)nb::cast<uint32_t>(t[0]), term.constant = nb::cast<double>(t[1]);
        term.weight = nb::cast<double>(t[2]), term.levels = nb::cast<uint32_t>(t[3]);
        parts.levels.push_back(nb::cast<std::vector<double>>(t[4]));
        if (!parts.levels.back().empty())
            term.levels = (uint32_t)parts.levels.back().size(),
            term.level_weights = parts.levels.back().data();
        parts.terms.push_back(term);
    }
    parts.composite.terms = parts.terms.data(), parts.composite.term_count = (uint32_t)parts.terms.size();
}

void read_views(FitState &state, Parts &parts, const nb::list &given)
{
    for (nb::handle item : given) {
        nb::dict d = nb::cast<nb::dict>(item);
        bl_fit_view view = {};
        view.target = array_of(parts, "target", d["target"], state.image_size());
        view.sensor = nb::cast<uint32_t>(d["sensor"]);
        view.to_world = array_of(parts, "to_world", d["to_world"], 16);
        view.held_out = nb::cast<bool>(d["held_out"]);
        view.weights = array_of(parts, "weights", d["weights"], state.scene->pixels());
        view.weight = nb::cast<double>(d["weight"]);
        parts.views.push_back(view);
    }
}

bl_fit_desc read_options(const nb::dict &o)
{
    bl_fit_desc desc = {};
    desc.loss = (bl_loss)nb::cast<uint32_t>(o["loss"]);
    desc.form = (bl_gradient_form)nb::cast<uint32_t>(o["form"]);
    desc.loss_constant = nb::cast<double>(o["loss_constant"]);
    desc.optimizer = (bl_optimizer)nb::cast<uint32_t>(o["optimizer"]);
    desc.rate = nb::cast<double>(o["rate"]);
    desc.beta_1 = nb::cast<double>(o["beta_1"]), desc.beta_2 = nb::cast<double>(o["beta_2"]);
    desc.momentum = nb::cast<double>(o["momentum"]), desc.nesterov = nb::cast<bool>(o["nesterov"]);
    desc.alpha = nb::cast<double>(o["alpha"]), desc.epsilon = nb::cast<double>(o["epsilon"]);
    desc.spp = nb::cast<uint32_t>(o["spp"]), desc.spp_gradient = nb::cast<uint32_t>(o["spp_gradient"]);
    desc.seed = nb::cast<uint32_t>(o["seed"]);
    desc.common_numbers = nb::cast<bool>(o["common_numbers"]);
    desc.first_step = nb::cast<uint32_t>(o["first_step"]);
    desc.no_baking = nb::cast<bool>(o["no_baking"]);
    desc.rays = (bl_rays)nb::cast<uint32_t>(o["rays"]);
    desc.volume_gradient = (bl_volume_gradient)nb::cast<uint32_t>(o["volume_gradient"]);
    desc.pixels = (bl_pixels)nb::cast<uint32_t>(o["pixels"]);
    desc.batch = nb::cast<uint32_t>(o["batch"]);
    desc.wanted_noise = nb::cast<double>(o["wanted_noise"]);
    desc.average_from =
        nb::cast<uint32_t>(o["average_from"]) + (nb::cast<bool>(o["average_auto"]) ? BL_AVERAGE_AUTO : 0);
    desc.spp_least = nb::cast<uint32_t>(o["spp_least"]);
    desc.recursive_images = nb::cast<bool>(o["recursive_images"]);
    desc.variance_steps = nb::cast<uint32_t>(o["variance_steps"]);
    return desc;
}

void open_fit(Fit *self, const Device &device, const Scene &scene, const nb::list &parameters,
              const nb::list &views, const std::vector<std::tuple<uint32_t, double, double>> &schedule,
              const nb::list &terms, const nb::dict &options)
{
    auto state = std::make_shared<FitState>(device.state, scene.state);
    Parts parts;
    bl_fit_desc desc = read_options(options);
    read_parameters(*state, parts, parameters);
    read_views(*state, parts, views);
    for (auto [step, factor, samples] : schedule)
        parts.schedule.push_back({step, factor, samples});
    read_terms(parts, terms);
    if (!parts.terms.empty())
        desc.composite = &parts.composite;
    state->terms = (uint32_t)parts.terms.size();
    desc.parameters = parts.parameters.data(), desc.parameter_count = (uint32_t)parts.parameters.size();
    desc.views = parts.views.data(), desc.view_count = (uint32_t)parts.views.size();
    desc.schedule = parts.schedule.data(), desc.schedule_count = (uint32_t)parts.schedule.size();
    state->views = desc.view_count;
    enter(state->library(),
          [&] { return bl_fit_create(device.state->live(), scene.state->scene, &desc, &state->handle); });
    enlist(state);
    new (self) Fit{state};
}

nb::dict status_dict(const bl_fit_status &s)
{
    nb::dict d;
    d["step"] = s.step, d["loss"] = s.loss;
    const char *form = bl_gradient_form_name(s.form), *how = bl_volume_gradient_name(s.volume_gradient);
    d["form"] = form ? form : "", d["volume_gradient"] = how ? how : "";
    d["drifted"] = s.drifted, d["overflowed"] = s.overflowed, d["non_finite"] = s.non_finite;
    d["cut"] = s.cut;
    d["samples"] = s.samples, d["spp"] = s.spp, d["spp_gradient"] = s.spp_gradient;
    d["skipped"] = s.skipped, d["repeats"] = s.repeats, d["device_bytes"] = s.device_bytes;
    return d;
}

nb::dict step(const Fit &fit)
{
    bl_fit_status status = {};
    enter(fit.state->library(), [&] { return bl_fit_step(fit.state->live(), &status); });
    return status_dict(status);
}

nb::dict status(const Fit &fit)
{
    bl_fit_status status = {};
    enter(fit.state->library(), [&] {
        status = bl_fit_status_get(fit.state->live());
        return BL_OK;
    });
    return status_dict(status);
}

void get(const Fit &fit, uint32_t k, const Floats &values)
{
    FitState &state = *fit.state;
    if (k >= state.counts.size())
        throw Failure{BL_ERROR_ARGUMENT, "the fit has no parameter number " + std::to_string(k)};
    need_size("values", values.size(), state.counts[k]);
    enter(state.library(), [&] { return bl_fit_get(state.live(), k, values.data()); });
}

nb::dict noise(const Fit &fit, uint32_t k)
{
    bl_fit_noise n = {};
    enter(fit.state->library(), [&] { return bl_fit_get_noise(fit.state->live(), k, &n); });
    nb::dict d;
    d["step"] = n.step, d["variance"] = n.variance, d["square"] = n.square;
    return d;
}

std::vector<double> terms(const Fit &fit)
{
    std::vector<double> values(fit.state->terms);
    if (!values.empty())
        enter(fit.state->library(), [&] { return bl_fit_get_terms(fit.state->live(), values.data()); });
    return values;
}

// Of two windows, one after the other.
bool plateau(const std::vector<double> &losses, double improvement)
{
    if (losses.size() < 2 || losses.size() % 2)
        throw Failure{BL_ERROR_ARGUMENT, "a plateau is of two windows of losses"};
    return bl_loss_plateau(losses.data(), (uint32_t)(losses.size() / 2), improvement).reached;
}

void settle(const Fit &fit)
{
    enter(fit.state->library(), [&] { return bl_fit_settle(fit.state->live()); });
}

double settled(const Fit &fit, uint32_t k)
{
    double share = 0;
    enter(fit.state->library(), [&] { return bl_fit_get_settled(fit.state->live(), k, &share); });
    return share;
}

void render(const Fit &fit, uint32_t view, uint32_t spp, uint32_t seed, const Floats &image,
            nb::object progress)
{
    FitState &state = *fit.state;
    if (view >= state.views)
        throw Failure{BL_ERROR_ARGUMENT, "the fit has no view number " + std::to_string(view)};
    bl_render_desc desc = {};
    Watch watch(std::move(progress));
    need_size("image", image.size(), state.image_size());
    desc.spp = spp, desc.seed = seed, desc.progress = Watch::tick, desc.user = &watch;
    enter(
        state.library(), [&] { return bl_fit_render(state.live(), view, &desc, image.data()); }, &watch);
}

void save(const Fit &fit, const std::string &path)
{
    enter(fit.state->library(), [&] { return bl_fit_save(fit.state->live(), path.c_str(), nullptr, 0); });
}

void restore(const Fit &fit, const std::string &path)
{
    enter(fit.state->library(),
          [&] { return bl_fit_restore(fit.state->live(), path.c_str(), nullptr, nullptr); });
}

} // namespace

void bind_fit(nb::module_ &m)
{
    m.def("plateau", plateau, nb::arg("losses"), nb::arg("improvement"));
    nb::class_<Fit>(m, "Fit", "An optimisation that stays on the device.")
        .def("__init__", open_fit, nb::arg("device"), nb::arg("scene"), nb::arg("parameters"),
             nb::arg("views"), nb::arg("schedule"), nb::arg("terms"), nb::arg("options"))
        .def("step", step)
        .def("status", status)
        .def("get", get, nb::arg("k"), nb::arg("values").noconvert())
        .def("noise", noise, nb::arg("k"))
        .def("terms", terms)
        .def("settle", settle)
        .def("settled", settled, nb::arg("k"))
        .def("render", render, nb::arg("view"), nb::arg("spp"), nb::arg("seed"), nb::arg("image").noconvert(),
             nb::arg("progress").none())
        .def("save", save, nb::arg("path"))
        .def("restore", restore, nb::arg("path"))
        .def_prop_ro("closed", [](const Fit &fit) { return fit.state->handle == nullptr; });
}

} // namespace bindings
