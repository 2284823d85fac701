// SPDX-License-Identifier: BSD-3-Clause
// Functions that users write in Python and that become kernels: integrators, materials, textures. A Trace is
// what such a function records into. backlight/trace.py makes values with operators of the numbers here.
//
// The library calls such a function while it traces a kernel, without the interpreter's lock. What the
// function raises becomes the trace's error, and is raised again by the call that needed the kernel
// (raise_traced).
#include "library.h"

#include <backlight/backlight_integrator.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <map>

namespace bindings
{
namespace
{

using Id = uint32_t;
using Ids = std::vector<Id>;

bl_ir_value value(Id id) { return bl_ir_value{id}; }

std::vector<bl_ir_value> values(const Ids &ids)
{
    std::vector<bl_ir_value> r;
    for (Id id : ids)
        r.push_back(value(id));
    return r;
}

Ids ids(const std::vector<bl_ir_value> &values)
{
    Ids r;
    for (bl_ir_value v : values)
        r.push_back(v.id);
    return r;
}

bl_plugin_vec3 vec3(const Ids &v)
{
    if (v.size() != 3)
        throw Failure{BL_ERROR_ARGUMENT, "a vector has three components, not " + std::to_string(v.size())};
    return {value(v[0]), value(v[1]), value(v[2])};
}

Ids vec3(bl_plugin_vec3 v) { return {v.x.id, v.y.id, v.z.id}; }
Ids colour(const bl_plugin_color &c) { return {c.c[0].id, c.c[1].id, c.c[2].id}; }

bl_plugin_color colour(const Ids &c)
{
    bl_plugin_vec3 v = vec3(c);
    return {{v.x, v.y, v.z}};
}

// ---- a trace ----

// What the function of a plugin is called with; null once it has returned.
struct Call {
    bl_plugin_trace *trace;
};

class Trace
{
  public:
    Trace(std::shared_ptr<Call> call, bl_ir_func *function) : call(std::move(call)), function(function) {}
    bl_plugin_trace *trace() const
    {
        if (!call->trace)
            throw Failure{CLOSED, "values of a trace mean something only in the function that records it"};
        return call->trace;
    }
    bl_ir_func *f() const { return trace(), function; }
    const std::shared_ptr<Call> call;

  private:
    bl_ir_func *function;
};

// ---- operations ----

struct Operation {
    const char *name;
    int operands;
    bl_ir_value (*one)(bl_ir_func *, bl_ir_value);
    bl_ir_value (*two)(bl_ir_func *, bl_ir_value, bl_ir_value);
    bl_ir_value (*three)(bl_ir_func *, bl_ir_value, bl_ir_value, bl_ir_value);
};

const Operation operations[] = {
#define ONE(name) {#name, 1, bl_ir_##name, nullptr, nullptr},
#define TWO(name) {#name, 2, nullptr, bl_ir_##name, nullptr},
#define THREE(name) {#name, 3, nullptr, nullptr, bl_ir_##name},
    BL_IR_UNARY(ONE) BL_IR_BINARY(TWO) BL_IR_TERNARY(THREE)
#undef ONE
#undef TWO
#undef THREE
};

Id operate(const Trace &t, uint32_t number, Id a, Id b, Id c)
{
    if (number >= std::size(operations))
        throw Failure{BL_ERROR_ARGUMENT, "there is no operation " + std::to_string(number)};
    const Operation &o = operations[number];
    return (o.operands == 1   ? o.one(t.f(), value(a))
            : o.operands == 2 ? o.two(t.f(), value(a), value(b))
                              : o.three(t.f(), value(a), value(b), value(c)))
        .id;
}

std::pair<Id, Ids> loop(const Trace &t, const Ids &initial)
{
    std::vector<bl_ir_value> state = values(initial);
    bl_ir_value number = bl_ir_loop(t.f(), state.data(), (uint32_t)state.size());
    return {number.id, ids(state)};
}

Ids call(const Trace &t, const Trace &target, const Ids &arguments, uint32_t results)
{
    std::vector<bl_ir_value> in = values(arguments), out(results);
    bl_ir_func *targets[] = {target.f()};
    bl_ir_call(t.f(), bl_ir_u32(t.f(), 0), targets, 1, in.data(), (uint32_t)in.size(), out.data());
    return ids(out);
}

void need_equal(const Ids &a, const Ids &b)
{
    if (a.size() != b.size())
        throw Failure{BL_ERROR_ARGUMENT, std::to_string(a.size()) + " values, but " +
                                             std::to_string(b.size()) + " that go with them"};
}

Ids backward(const Trace &t, const Ids &outputs, const Ids &seeds, const Ids &wrt)
{
    need_equal(outputs, seeds);
    std::vector<bl_ir_value> o = values(outputs), s = values(seeds), w = values(wrt), adjoints(wrt.size());
    bl_ir_backward(t.f(), o.data(), s.data(), (uint32_t)o.size(), w.data(), adjoints.data(),
                   (uint32_t)w.size());
    return ids(adjoints);
}

// ---- what only an integrator can ask ----

bl_trace_ray ray(const Ids &o, const Ids &d, Id tmax) { return {vec3(o), vec3(d), value(tmax)}; }

// o, d, tmax
std::tuple<Ids, Ids, Id> ray(const bl_trace_ray &r) { return {vec3(r.o), vec3(r.d), r.tmax.id}; }

bl_surface surface(uint32_t id)
{
    bl_surface s = {};
    s.id = id;
    return s;
}

void bind_questions(nb::class_<Trace> &c)
{
    c.def("setting", [](const Trace &t, uint32_t k) { return bl_trace_setting(t.trace(), k); });
    c.def("random", [](const Trace &t, Id place) {
        std::vector<bl_ir_value> u(4);
        bl_trace_random(t.trace(), value(place), u.data());
        return ids(u);
    });
    c.def("closest", [](const Trace &t, const Ids &o, const Ids &d, Id tmax) {
        bl_surface s = bl_trace_closest(t.trace(), ray(o, d, tmax));
        return std::make_tuple(s.id, s.valid.id, s.distance.id, vec3(s.p), vec3(s.ng), vec3(s.ns),
                               Ids{s.uv.x.id, s.uv.y.id});
    });
    c.def("any", [](const Trace &t, const Ids &o, const Ids &d, Id tmax) {
        return bl_trace_any(t.trace(), ray(o, d, tmax)).id;
    });
    c.def("leave", [](const Trace &t, uint32_t id, const Ids &d) {
        bl_surface s = surface(id);
        return ray(bl_trace_leave(t.trace(), &s, vec3(d)));
    });
    c.def("to_local", [](const Trace &t, uint32_t id, const Ids &v) {
        bl_surface s = surface(id);
        return vec3(bl_trace_to_local(t.trace(), &s, vec3(v)));
    });
    c.def("to_world", [](const Trace &t, uint32_t id, const Ids &v) {
        bl_surface s = surface(id);
        return vec3(bl_trace_to_world(t.trace(), &s, vec3(v)));
    });
    c.def("emission", [](const Trace &t, uint32_t id) {
        bl_surface s = surface(id);
        return colour(bl_trace_emission(t.trace(), &s));
    });
    c.def("emission_pdf", [](const Trace &t, uint32_t id) {
        bl_surface s = surface(id);
        return bl_trace_emission_pdf(t.trace(), &s).id;
    });
    c.def("bsdf_sample", [](const Trace &t, uint32_t id, const Ids &u) {
        bl_surface s = surface(id);
        bl_plugin_vec3 numbers = vec3(u);
        const bl_ir_value three[3] = {numbers.x, numbers.y, numbers.z};
        bl_bsdf_draw d = bl_trace_bsdf_sample(t.trace(), &s, three);
        return std::make_tuple(d.id, vec3(d.d), d.pdf.id, d.delta.id, d.eta.id);
    });
    c.def("bsdf_drawn", [](const Trace &t, uint32_t id) {
        bl_bsdf_draw d = {};
        d.id = id;
        return colour(bl_trace_bsdf_drawn(t.trace(), &d));
    });
    c.def("bsdf_value", [](const Trace &t, uint32_t id, const Ids &d) {
        bl_surface s = surface(id);
        return colour(bl_trace_bsdf_value(t.trace(), &s, vec3(d)));
    });
    c.def("bsdf_pdf", [](const Trace &t, uint32_t id, const Ids &d) {
        bl_surface s = surface(id);
        return bl_trace_bsdf_pdf(t.trace(), &s, vec3(d)).id;
    });
    c.def("light_sample", [](const Trace &t, uint32_t id, const Ids &u) {
        bl_surface s = surface(id);
        bl_plugin_vec3 numbers = vec3(u);
        const bl_ir_value three[3] = {numbers.x, numbers.y, numbers.z};
        bl_light_draw d = bl_trace_light_sample(t.trace(), &s, three);
        return std::make_tuple(d.id, vec3(d.d), d.distance.id, d.pdf.id, d.delta.id);
    });
    c.def("light_seen", [](const Trace &t, uint32_t id, Id wanted) {
        bl_light_draw d = {};
        d.id = id;
        return bl_trace_light_seen(t.trace(), &d, value(wanted)).id;
    });
    c.def("light_radiance", [](const Trace &t, uint32_t id) {
        bl_light_draw d = {};
        d.id = id;
        return colour(bl_trace_light_radiance(t.trace(), &d));
    });
    c.def("print", [](const Trace &t, Id when, const std::string &format, const Ids &ids) {
        std::vector<bl_ir_value> values;
        for (Id id : ids)
            values.push_back(value(id));
        bl_trace_print(t.trace(), value(when), format.c_str(), values.data(), (uint32_t)values.size());
    });
    c.def("suspend", [](const Trace &t, bool on) { return bl_trace_suspend(t.trace(), on); });
}

// ---- functions that are called while a kernel is traced ----

// What a function has raised that this thread's call into the library has called.
thread_local std::optional<nb::python_error> raised;

// A plugin and the Python functions behind it, which may be exchanged. It lives as long as the process,
// because contexts keep what is added to them.
struct Plugin {
    std::string name, help;
    std::deque<std::string> texts;
    std::vector<bl_plugin_param> params;
    std::map<std::string, nb::object> functions;
};

const Ids none = {0, 0, 0};

// Calls a function of the plugin with the Trace and more arguments.
template <class Result, class... Arguments>
Result ask(bl_plugin_trace *t, const char *function, Result failed, const Arguments &...arguments)
{
    Plugin *plugin = static_cast<Plugin *>(bl_plugin_user(t));
    nb::gil_scoped_acquire interpreter;
    auto call = std::make_shared<Call>(Call{t});
    Result result = failed;
    try {
        nb::object answer = plugin->functions.at(function)(Trace(call, bl_plugin_func(t)), arguments...);
        result = nb::cast<Result>(answer);
    } catch (nb::python_error &error) {
        // Not its own text, which may be no UTF-8.
        bl_plugin_fail(t, (plugin->name + ": " + function + " has raised an exception").c_str());
        if (!raised) // the first one counts: what follows may be its consequence
            raised.emplace(std::move(error));
    } catch (const nb::cast_error &) {
        bl_plugin_fail(t,
                       (plugin->name + ": " + function + " returns something else than it should").c_str());
    }
    call->trace = nullptr;
    return result;
}

bl_plugin_color radiance(bl_plugin_trace *t, bl_trace_ray r)
{
    return colour(ask<Ids>(t, "radiance", none, vec3(r.o), vec3(r.d), r.tmax.id));
}

bl_plugin_color adjoint(bl_plugin_trace *t, bl_trace_ray r, bl_plugin_color dL)
{
    return colour(ask<Ids>(t, "adjoint", none, vec3(r.o), vec3(r.d), r.tmax.id, colour(dL)));
}

bl_plugin_vec3 bsdf_sample(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe,
                           bl_ir_value u1, bl_ir_value u2)
{
    return vec3(ask<Ids>(t, "sample", none, vec3(wi), Ids{uv.x.id, uv.y.id}, Ids{u_lobe.id, u1.id, u2.id}));
}

bl_ir_value bsdf_pdf(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    return value(ask<Id>(t, "pdf", 0, vec3(wi), vec3(wo), Ids{uv.x.id, uv.y.id}));
}

bl_plugin_color bsdf_value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    return colour(ask<Ids>(t, "value", none, vec3(wi), vec3(wo), Ids{uv.x.id, uv.y.id}));
}

// wo, pdf, discrete, lobe, eta
bl_bsdf_choice bsdf_choose(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe,
                           bl_ir_value u1, bl_ir_value u2)
{
    Ids c = ask<Ids>(t, "choose", Ids(7, 0), vec3(wi), Ids{uv.x.id, uv.y.id}, Ids{u_lobe.id, u1.id, u2.id});
    return {vec3(Ids{c[0], c[1], c[2]}), value(c[3]), value(c[4]), value(c[5]), value(c[6])};
}

bl_plugin_color bsdf_coefficient(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value lobe)
{
    return colour(ask<Ids>(t, "coefficient", none, vec3(wi), Ids{uv.x.id, uv.y.id}, lobe.id));
}

bl_plugin_vec3 bsdf_leads(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value lobe)
{
    return vec3(ask<Ids>(t, "leads", none, vec3(wi), Ids{uv.x.id, uv.y.id}, lobe.id));
}

bl_plugin_color texture_eval(bl_plugin_trace *t, bl_plugin_vec2 uv)
{
    return colour(ask<Ids>(t, "eval", none, Ids{uv.x.id, uv.y.id}));
}

// Of a light: d, and in place of what it has not, 0: the distance of a point, the density of a sky.
bl_light_sample light_sample(bl_plugin_trace *t, bl_plugin_vec3 point, bl_ir_value u1, bl_ir_value u2)
{
    Ids s = ask<Ids>(t, "sample", {0, 0, 0, 0, 0}, vec3(point), Ids{u1.id, u2.id});
    return {vec3(Ids{s[0], s[1], s[2]}), value(s[3]), value(s[4])};
}

bl_ir_value light_pdf(bl_plugin_trace *t, bl_plugin_vec3 d)
{
    return value(ask<Id>(t, "pdf", 0, vec3(d)));
}

bl_plugin_vec2 light_locate(bl_plugin_trace *t, bl_plugin_vec3 d)
{
    Ids uv = ask<Ids>(t, "locate", {0, 0}, vec3(d));
    return {value(uv[0]), value(uv[1])};
}

bl_plugin_color light_radiance(bl_plugin_trace *t, bl_plugin_vec2 uv, bl_ir_value distance)
{
    return colour(ask<Ids>(t, "radiance", none, Ids{uv.x.id, uv.y.id}, distance.id));
}

bool has(const Plugin &p, const char *function) { return p.functions.count(function) > 0; }

bl_bsdf_plugin bsdf_of(Plugin &p, bool transmits, bool through)
{
    bl_bsdf_plugin bsdf = {};
    bsdf.name = p.name.c_str(), bsdf.help = p.help.c_str(), bsdf.parameters = p.params.data();
    bsdf.parameter_count = (uint32_t)p.params.size();
    bsdf.transmits = transmits, bsdf.through = through, bsdf.pdf = bsdf_pdf, bsdf.value = bsdf_value;
    bsdf.sample = has(p, "sample") ? bsdf_sample : nullptr;
    bsdf.choose = has(p, "choose") ? bsdf_choose : nullptr;
    bsdf.coefficient = has(p, "coefficient") ? bsdf_coefficient : nullptr;
    bsdf.leads = has(p, "leads") ? bsdf_leads : nullptr, bsdf.user = &p;
    return bsdf;
}

// Its kind is said by the functions that it has: all have `radiance`, but those on shapes have `sample`, too,
// and skies `locate`.
bl_light_plugin light_of(Plugin &p)
{
    const bool sampled = has(p, "sample"), sky = has(p, "locate");
    bl_light_plugin light = {};
    light.name = p.name.c_str(), light.help = p.help.c_str(), light.parameters = p.params.data();
    light.parameter_count = (uint32_t)p.params.size();
    light.kind = sky ? BL_LIGHT_SKY : sampled ? BL_LIGHT_POINT : BL_LIGHT_SHAPE;
    light.sample = sampled ? light_sample : nullptr, light.pdf = sky ? light_pdf : nullptr;
    light.locate = sky ? light_locate : nullptr, light.radiance = light_radiance, light.user = &p;
    return light;
}

// name, is a texture, preset, least, most, help
using Parameter = std::tuple<std::string, bool, std::optional<std::string>, double, double, std::string>;

const char *keep(Plugin &p, std::string text)
{
    p.texts.push_back(std::move(text));
    return p.texts.back().c_str();
}

// Adds the plugin to the context, and returns it, for exchange().
nb::capsule add(const Context &context, const std::string &kind, const std::string &name,
                const std::string &help, const std::vector<Parameter> &parameters, bool transmits,
                bool through, const nb::dict &functions)
{
    auto made = std::make_unique<Plugin>();
    Plugin *p = made.get();
    p->name = name, p->help = help;
    for (const auto &[parameter, texture, preset, least, most, about] : parameters)
        p->params.push_back({keep(*p, parameter), texture ? BL_PLUGIN_TEXTURE : BL_PLUGIN_NUMBER,
                             preset ? keep(*p, *preset) : nullptr, least, most, keep(*p, about)});
    for (auto [key, function] : functions)
        p->functions[nb::cast<std::string>(key)] = nb::borrow(function);
    const auto count = (uint32_t)p->params.size();
    bl_integrator_plugin integrator = {p->name.c_str(), p->help.c_str(), p->params.data(), count, radiance,
                                       adjoint, p};
    bl_bsdf_plugin bsdf = bsdf_of(*p, transmits, through);
    bl_texture_plugin texture = {
        p->name.c_str(), p->help.c_str(), p->params.data(), (uint32_t)p->params.size(), texture_eval, p};
    bl_light_plugin light = light_of(*p);
    enter(*context.library, [&] {
        return kind == "integrator" ? bl_plugin_add_integrator(context.library->context, &integrator)
               : kind == "bsdf"     ? bl_plugin_add_bsdf(context.library->context, &bsdf)
               : kind == "emitter"  ? bl_plugin_add_light(context.library->context, &light)
                                    : bl_plugin_add_texture(context.library->context, &texture);
    });
    return nb::capsule(made.release(), "backlight plugin");
}

// Kernels that are traced from now on call these functions.
void exchange(nb::capsule plugin, const nb::dict &functions)
{
    auto *p = static_cast<Plugin *>(plugin.data("backlight plugin"));
    for (auto [key, function] : functions)
        p->functions[nb::cast<std::string>(key)] = nb::borrow(function);
}

} // namespace

void raise_traced()
{
    if (!raised)
        return;
    nb::python_error error = std::move(*raised);
    raised.reset();
    throw error;
}

void bind_trace(nb::module_ &m)
{
    nb::class_<Trace> c(m, "Trace");
    c.def("op", operate);
    c.def("f32", [](const Trace &t, float v) { return bl_ir_f32(t.f(), v).id; });
    c.def("u32", [](const Trace &t, uint32_t v) { return bl_ir_u32(t.f(), v).id; });
    // No name ends in "_" or is that of a type: the stub's writer leaves the former out, and mistakes the
    // latter.
    c.def("boolean", [](const Trace &t, bool v) { return bl_ir_bool(t.f(), v).id; });
    c.def("begin_if", [](const Trace &t, Id condition) { return bl_ir_if(t.f(), value(condition)).id; });
    c.def("begin_else", [](const Trace &t) { bl_ir_else(t.f()); });
    c.def("endif", [](const Trace &t) { bl_ir_endif(t.f()); });
    c.def("phi", [](const Trace &t, Id branch, Id a, Id b) {
        return bl_ir_phi(t.f(), value(branch), value(a), value(b)).id;
    });
    c.def("loop", loop);
    c.def("loop_while", [](const Trace &t, Id condition) { bl_ir_while(t.f(), value(condition)); });
    c.def("endloop", [](const Trace &t, Id loop, const Ids &next) {
        std::vector<bl_ir_value> v = values(next);
        bl_ir_endloop(t.f(), value(loop), v.data(), (uint32_t)v.size());
    });
    c.def("backward", backward);
    // A function of this trace, with parameters of these types (bl_ir_type).
    c.def("function", [](const Trace &t, const std::string &name, const std::vector<int> &types) {
        bl_ir_func *f = bl_ir_func_create(bl_plugin_ir(t.trace()), name.c_str());
        Ids parameters;
        for (int type : types)
            parameters.push_back(bl_ir_param(f, (bl_ir_type)type).id);
        return std::make_pair(Trace(t.call, f), parameters);
    });
    c.def("returns", [](const Trace &t, const Ids &results) {
        std::vector<bl_ir_value> v = values(results);
        bl_ir_return(t.f(), v.data(), (uint32_t)v.size());
    });
    c.def("call", call);
    c.def(
        "custom",
        [](const Trace &t, const Trace *jvp, const Trace *vjp) {
            bl_ir_custom(t.f(), jvp ? jvp->f() : nullptr, vjp ? vjp->f() : nullptr);
        },
        nb::arg("jvp").none(), nb::arg("vjp").none());
    c.def("number", [](const Trace &t, uint32_t k) { return bl_plugin_number(t.trace(), k).id; });
    c.def("texture", [](const Trace &t, uint32_t k, Id u, Id v) {
        return colour(bl_plugin_texture(t.trace(), k, {value(u), value(v)}));
    });
    c.def("cosine_hemisphere", [](const Trace &t, Id u1, Id u2) {
        return vec3(bl_plugin_cosine_hemisphere(t.trace(), value(u1), value(u2)));
    });
    c.def("uniform_sphere", [](const Trace &t, Id u1, Id u2) {
        return vec3(bl_plugin_uniform_sphere(t.trace(), value(u1), value(u2)));
    });
    bind_questions(c);
    m.def("operations", [] {
        nb::dict r;
        for (uint32_t k = 0; k < std::size(operations); k++)
            r[operations[k].name] = nb::make_tuple(k, operations[k].operands);
        return r;
    });
    m.def("add_plugin", add);
    m.def("exchange_plugin", exchange);
}

} // namespace bindings
