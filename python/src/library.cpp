// SPDX-License-Identifier: BSD-3-Clause
// Contexts and devices, and what enters them (library.h).
#include "library.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>

namespace bindings
{

Library::Library(const bl_context_desc &desc)
{
    bl_result result = bl_context_create(&desc, &context);
    if (result != BL_OK)
        throw Failure{result, bl_context_error(nullptr)};
}

Library::~Library()
{
    bury();
    bl_context_destroy(context);
}

void Library::bury()
{
    std::vector<std::function<void()>> dead;
    {
        std::lock_guard<std::mutex> guard(grave_mutex);
        dead.swap(grave);
    }
    for (auto &destroy : dead)
        destroy();
}

void Library::dispose(std::function<void()> destroy)
{
    {
        std::lock_guard<std::mutex> guard(grave_mutex);
        grave.push_back(std::move(destroy));
    }
    if (owner.load() == std::this_thread::get_id() || !mutex.try_lock())
        return;
    bury();
    mutex.unlock();
}

Entry::Entry(Library &library) : library(library)
{
    if (library.owner.load() == std::this_thread::get_id())
        throw Failure{BL_ERROR_ARGUMENT, "a function that the library calls (with the progress of work, "
                                         "or to trace a kernel) cannot use the library itself"};
    if (!library.mutex.try_lock()) {
        released.emplace();
        while (!library.mutex.try_lock_for(std::chrono::milliseconds(50))) {
            released.reset();
            if (PyErr_CheckSignals() != 0)
                throw nb::python_error();
            released.emplace();
        }
    } else
        released.emplace();
    library.owner = std::this_thread::get_id();
    library.bury();
}

Entry::~Entry()
{
    library.bury();
    library.owner = std::thread::id();
    library.mutex.unlock();
}

bool Watch::tick(void *user, double done)
{
    Watch *watch = static_cast<Watch *>(user);
    nb::gil_scoped_acquire interpreter;
    if (PyErr_CheckSignals() != 0) {
        watch->error.emplace();
        return false;
    }
    if (watch->callback.is_none())
        return true;
    try {
        return !watch->callback(done).is(nb::bool_(false));
    } catch (nb::python_error &raised) {
        watch->error.emplace(std::move(raised));
        return false;
    }
}

void Watch::raise()
{
    if (error)
        throw nb::python_error(std::move(*error));
}

void need_size(const char *what, size_t has, size_t count)
{
    if (has != count)
        throw Failure{BL_ERROR_ARGUMENT, std::string(what) + ": " + std::to_string(has) + " values, and " +
                                             std::to_string(count) + " are needed"};
}

// ---- devices ----

DeviceState::~DeviceState()
{
    if (device)
        library->dispose([d = device] { bl_device_destroy(d); });
}

bl_device *DeviceState::live() const
{
    if (!device)
        throw Failure{CLOSED, "the device was closed"};
    return device;
}

void Dependents::add(const std::shared_ptr<Dependent> &dependent)
{
    std::vector<std::weak_ptr<Dependent>> kept;
    for (auto &other : list)
        if (!other.expired())
            kept.push_back(other);
    kept.push_back(dependent);
    list.swap(kept);
}

std::vector<std::shared_ptr<Dependent>> Dependents::alive() const
{
    std::vector<std::shared_ptr<Dependent>> found;
    for (auto &dependent : list)
        if (auto object = dependent.lock())
            found.push_back(std::move(object));
    return found;
}

static nb::dict device_dict(const bl_device_info &info)
{
    nb::dict d;
    d["name"] = info.name, d["driver"] = info.driver, d["found"] = info.found, d["kind"] = info.kind;
    d["vulkan"] = nb::make_tuple(info.api_major, info.api_minor, info.api_patch);
    d["subgroup_size"] = info.subgroup_size;
    d["max_buffer_range"] = info.max_buffer_range, d["max_allocation"] = info.max_allocation;
    d["float_atomics"] = info.float_atomics, d["ray_query"] = info.ray_query;
    d["int64"] = info.int64, d["float64"] = info.float64;
    return d;
}

static void open_context(Context *self, const std::optional<std::string> &swiftshader,
                         const std::optional<std::string> &cache, bool validation)
{
    bl_context_desc desc = {};
    desc.validation = validation;
    desc.swiftshader = swiftshader ? swiftshader->c_str() : nullptr;
    desc.cache = cache ? cache->c_str() : nullptr;
    new (self) Context{std::make_shared<Library>(desc)};
}

// Where the program `backlight` keeps kernels, too; none where the user has no cache.
static std::optional<std::string> kernel_cache()
{
    std::string path(bl_user_cache("kernels", nullptr, 0), '\0');
    if (path.empty())
        return std::nullopt;
    bl_user_cache("kernels", path.data(), path.size() + 1);
    return path;
}

static nb::list list_devices(const Context &context)
{
    Library &library = *context.library;
    std::vector<bl_device_info> found;
    enter(library, [&] {
        found.resize(bl_device_count(library.context));
        for (uint32_t i = 0; i < found.size(); i++) {
            bl_result result = bl_device_info_at(library.context, i, &found[i]);
            if (result != BL_OK)
                return result;
        }
        return BL_OK;
    });
    nb::list list;
    for (const bl_device_info &info : found)
        list.append(device_dict(info));
    return list;
}

static void open_device(Device *self, const Context &context, const std::string &selector)
{
    auto state = std::make_shared<DeviceState>();
    state->library = context.library;
    enter(*context.library, [&] {
        return bl_device_create(context.library->context, selector.empty() ? nullptr : selector.c_str(),
                                &state->device);
    });
    new (self) Device{state};
}

static nb::dict device_info(const Device &device)
{
    bl_device_info info = {};
    enter(*device.state->library, [&] { return bl_device_info_get(device.state->live(), &info); });
    return device_dict(info);
}

static nb::dict device_stats(const Device &device)
{
    bl_device_stats s = {};
    enter(*device.state->library, [&] {
        s = bl_device_stats_get(device.state->live());
        return BL_OK;
    });
    nb::dict d;
    d["pipelines_created"] = s.pipelines_created, d["dispatches"] = s.dispatches, d["submits"] = s.submits;
    d["bytes_allocated"] = s.bytes_allocated, d["bytes_peak"] = s.bytes_peak;
    d["compile_seconds"] = s.compile_seconds;
    return d;
}

static void close_device(const Device &device)
{
    DeviceState &state = *device.state;
    auto users = state.users.alive(); // they go when the interpreter's lock is held again
    enter(*state.library, [&] {
        for (auto &user : users)
            user->close();
        bl_device_destroy(state.device);
        state.device = nullptr;
        return BL_OK;
    });
}

void bind_library(nb::module_ &m)
{
    m.def("kernel_cache", kernel_cache);
    nb::class_<Context>(m, "Context", "Drivers, caches and the lock of the library.")
        .def("__init__", open_context, nb::arg("swiftshader").none(), nb::arg("cache").none(),
             nb::arg("validation") = false)
        .def("devices", list_devices);
    nb::class_<Device>(m, "Device", "An open device.")
        .def("__init__", open_device, nb::arg("context"), nb::arg("selector"))
        .def("info", device_info)
        .def("stats", device_stats)
        .def("close", close_device)
        .def_prop_ro("closed", [](const Device &device) { return device.state->device == nullptr; });
}

} // namespace bindings
