// SPDX-License-Identifier: BSD-3-Clause
// The module backlight._core: the public C API as Python classes, without comfort, which is in
// backlight/*.py.
#include "library.h"

namespace bindings
{

// Failures become what backlight/_errors.py makes of code and text.
static void translate(const std::exception_ptr &thrown, void *)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const Failure &failure) {
        nb::object make = nb::module_::import_("backlight._errors").attr("make");
        nb::object error = make(failure.code, failure.text.c_str());
        PyErr_SetObject((PyObject *)Py_TYPE(error.ptr()), error.ptr());
    }
}

} // namespace bindings

NB_MODULE(_core, m)
{
    nb::set_leak_warnings(false); // what a program still holds when it ends is no leak
    nb::register_exception_translator(bindings::translate);
    bindings::bind_library(m);
    bindings::bind_scene(m);
    bindings::bind_builder(m);
    bindings::bind_job(m);
    bindings::bind_fit(m);
    bindings::bind_images(m);
    bindings::bind_tables(m);
    bindings::bind_trace(m);
}
