// SPDX-License-Identifier: BSD-3-Clause
// How every call enters the library: one thread at a time, without the interpreter's lock.
//
// A Library is a bl_context and its lock. enter() waits for the lock, calls, copies the text of a failure
// while the lock is still held, and throws a Failure, which becomes an exception of backlight/_errors.py.
// Objects whose last reference goes while another thread is inside are destroyed by whoever leaves or enters
// next.
#pragma once

#include <backlight/backlight.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace bindings
{

// float32, row-major, on the processor: the library reads and writes them where they are.
using Floats = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using ConstFloats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using ConstIndices = nb::ndarray<const uint32_t, nb::c_contig, nb::device::cpu>;

struct Failure {
    int code; // a bl_result, or CLOSED
    std::string text;
};
constexpr int CLOSED = -1;

class Library
{
  public:
    explicit Library(const bl_context_desc &desc);
    ~Library();
    Library(const Library &) = delete;

    // Destroys now where the lock is free, else when it becomes so.
    void dispose(std::function<void()> destroy);

    bl_context *context = nullptr;

  private:
    friend class Entry;
    void bury();

    std::timed_mutex mutex;
    std::atomic<std::thread::id> owner{};
    std::mutex grave_mutex;
    std::vector<std::function<void()>> grave;
};

// The lock of a library, and no lock of the interpreter, as long as this lives.
class Entry
{
  public:
    explicit Entry(Library &library);
    ~Entry();

  private:
    Library &library;
    std::optional<nb::gil_scoped_release> released;
};

// Looks for signals (Ctrl-C), and calls a Python function with the share that is done, during long work. What
// either raises cancels the work, and is raised again by raise().
class Watch
{
  public:
    explicit Watch(nb::object callback) : callback(std::move(callback)) {}
    static bool tick(void *user, double done);
    void raise();

  private:
    nb::object callback;
    std::optional<nb::python_error> error;
};

// Raises what a user's function has raised while the last call traced a kernel (trace.cpp).
void raise_traced();

template <class Function> void enter(Library &library, Function call, Watch *watch = nullptr)
{
    bl_result result = BL_OK;
    std::string text;
    {
        Entry entry(library);
        result = call();
        if (result != BL_OK)
            text = bl_context_error(library.context);
    }
    if (watch)
        watch->raise();
    raise_traced();
    if (result != BL_OK)
        throw Failure{result, text.empty() ? bl_result_text(result) : text};
}

// What a device destroys when it is closed.
struct Dependent {
    virtual ~Dependent() = default;
    virtual void close() = 0; // inside the library
};

// Those that are still there of a device or a scene.
class Dependents
{
  public:
    void add(const std::shared_ptr<Dependent> &dependent);
    std::vector<std::shared_ptr<Dependent>> alive() const;

  private:
    std::vector<std::weak_ptr<Dependent>> list;
};

struct DeviceState {
    std::shared_ptr<Library> library;
    bl_device *device = nullptr; // null: closed
    Dependents users;
    ~DeviceState();
    bl_device *live() const;
};

struct SceneState {
    std::shared_ptr<Library> library;
    bl_scene *scene = nullptr;
    bl_scene_info info = {};
    uint32_t channels = 0;
    Dependents users;
    ~SceneState();
    bl_result read(); // info and channels of a new scene, inside the library
    size_t pixels() const { return (size_t)info.width * info.height; }
    size_t values() const { return info.channels * pixels(); } // of an image
    bl_parameter_info parameter(uint32_t index) const;
    uint32_t find(const std::string &name) const; // number of a parameter
};

// A job or a fit.
template <class Handle, void (*destroy)(Handle *)> struct Work : Dependent {
    std::shared_ptr<DeviceState> device;
    std::shared_ptr<SceneState> scene;
    Handle *handle = nullptr; // null: the device was closed

    Work(const std::shared_ptr<DeviceState> &device, const std::shared_ptr<SceneState> &scene)
        : device(device), scene(scene)
    {
        if (device->library != scene->library)
            throw Failure{BL_ERROR_ARGUMENT, "device and scene are of different contexts"};
    }
    ~Work() override
    {
        if (handle)
            device->library->dispose([h = handle] { destroy(h); });
    }
    void close() override
    {
        destroy(handle);
        handle = nullptr;
    }
    Handle *live() const
    {
        if (!handle)
            throw Failure{CLOSED, "the device was closed, and with it this job or fit"};
        return handle;
    }
    Library &library() const { return *device->library; }
    size_t image_size() const { return scene->values(); }
};

// For a new one: closing the device closes it, and the scene keeps its sizes while it lives.
template <class State> void enlist(const std::shared_ptr<State> &state)
{
    state->device->users.add(state);
    state->scene->users.add(state);
}

struct Context {
    std::shared_ptr<Library> library;
};
struct Device {
    std::shared_ptr<DeviceState> state;
};
struct Scene {
    std::shared_ptr<SceneState> state;
};

// Names 0, 1, .. until there is none.
template <class Number, class Function> nb::list names_of(Function name)
{
    nb::list names;
    for (uint32_t i = 0;; i++) {
        const char *text = name((Number)i);
        if (!text)
            return names;
        names.append(text);
    }
}

// Throws where an array has not `count` values.
void need_size(const char *what, size_t has, size_t count);
// The data of an array of `count` values; null: none.
template <class Array> auto data_of(const char *what, const std::optional<Array> &values, size_t count)
{
    if (values)
        need_size(what, values->size(), count);
    return values ? values->data() : nullptr;
}

void bind_library(nb::module_ &m);
void bind_scene(nb::module_ &m);
void bind_builder(nb::module_ &m);
void bind_job(nb::module_ &m);
void bind_fit(nb::module_ &m);
void bind_images(nb::module_ &m);
void bind_tables(nb::module_ &m);
void bind_trace(nb::module_ &m);

// Fields that Python gives a scene beside its text.
class SceneOptions
{
  public:
    explicit SceneOptions(const nb::dict &options);
    bl_scene_desc desc() const;

  private:
    std::vector<std::string> texts;
    std::vector<bl_define> defines;
    std::vector<const char *> roots;
    bl_limits limits = {};
    bl_scene_desc fields = {};
    const char *keep(std::string text);
};

} // namespace bindings
