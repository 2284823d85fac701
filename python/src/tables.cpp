// SPDX-License-Identifier: BSD-3-Clause
// Names that the library gives its own choices, and the table of plugins: Python has no list of its own.
#include "library.h"

#include <nanobind/stl/string.h>

namespace bindings
{
namespace
{

template <class Value> nb::tuple values_of(const char *(*name)(Value))
{
    return nb::tuple(names_of<Value>(name));
}

const char *loss_name(bl_loss loss) { return bl_loss_info_get(loss).name; }

nb::dict choices()
{
    nb::dict d;
    d["lights"] = values_of(bl_light_choice_name);
    d["edges"] = values_of(bl_edges_name);
    d["form"] = values_of(bl_gradient_form_name);
    d["loss"] = values_of(loss_name);
    d["optimizer"] = values_of(bl_optimizer_name);
    d["motion"] = values_of(bl_motion_name);
    d["prior"] = values_of(bl_prior_name);
    d["pixels"] = values_of(bl_pixels_name);
    d["precision"] = values_of(bl_precision_name);
    d["volume_gradient"] = values_of(bl_volume_gradient_name);
    d["limits"] = values_of(bl_limit_name);
    d["accumulate"] = nb::make_tuple("fixed", "float"); // bl_accumulate and bl_rays have no names in C
    d["rays"] = nb::make_tuple("auto", "bvh", "query");
    return d;
}

nb::list parameters_of(const bl_context *ctx, uint32_t plugin, const bl_plugin_info &info)
{
    nb::list list;
    for (uint32_t i = 0; i < info.parameters; i++) {
        bl_plugin_parameter p = {};
        bl_plugin_parameter_at(ctx, plugin, i, &p);
        nb::dict d;
        d["name"] = p.name, d["type"] = p.type, d["help"] = p.help;
        d["required"] = p.required, d["differentiable"] = p.differentiable;
        list.append(d);
    }
    return list;
}

nb::list slots_of(const bl_context *ctx, uint32_t plugin, const bl_plugin_info &info)
{
    nb::list list;
    for (uint32_t i = 0; i < info.slots; i++) {
        bl_plugin_slot slot = {};
        bl_plugin_slot_at(ctx, plugin, i, &slot);
        list.append(slot.category);
    }
    return list;
}

// The table never changes: it is read without the context's lock.
nb::list plugins(const Context &context)
{
    const bl_context *ctx = context.library->context;
    nb::list list;
    for (uint32_t i = 0; i < bl_plugin_count(ctx); i++) {
        bl_plugin_info info = {};
        if (bl_plugin_info_at(ctx, i, &info) != BL_OK)
            continue;
        nb::dict d;
        d["category"] = info.category, d["name"] = info.name, d["help"] = info.help ? info.help : "";
        d["available"] = info.available;
        d["parameters"] = parameters_of(ctx, i, info), d["slots"] = slots_of(ctx, i, info);
        list.append(d);
    }
    return list;
}

} // namespace

void bind_tables(nb::module_ &m)
{
    m.def("choices", choices);
    m.def("plugins", plugins, nb::arg("context"));
    m.def("version", bl_version_text);
    m.def("result_names", [] {
        nb::dict d;
#define ROW(name, value, text) d[nb::int_(value)] = #name;
        BL_RESULT_TABLE(ROW)
#undef ROW
        return d;
    });
}

} // namespace bindings
