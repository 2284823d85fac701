/* SPDX-License-Identifier: BSD-3-Clause
 * How functions of plugins are traced, when a walk begins: one per kind of shape, class of material, phase
 * function and light of the plan. In this way kernels are specialised to classes, never to instances. What
 * differs between instances is in a record that the function reads (docs/architecture.md, Records and
 * classes).
 *
 * Each make_ function of shape_functions.c, bsdf_functions.c and emitter_functions.c begins one here,
 * declares its parameters by a visit of its struct of arguments, calls the plugin's hook, visits its struct
 * of results, and ends it. Sampling and densities are traced detached only. Values and radiance are traced
 * twice, detached and differentiated. Where the walk wants that (walk_wants), functions are traced that
 * depend on the motion of the vertex. */
#include "render/integrator/vertex/plugin_functions.h"

plugin_function plugin_function_begin(walk *w, const char *name, bool differentiated)
{
    plugin_function p = {.f = ir_func_create(w->t.f->module, name), .out = refs_fields()};
    p.t = walk_function_tracer(w, p.f, differentiated);
    p.in = refs_parameters(p.f, &p.record);
    return p;
}

ir_func *plugin_function_end(plugin_function *p)
{
    ir_return(p->f, p->out.at, p->out.count);
    return p->f;
}

ir_func **plugin_function_array(walk *w, uint32_t n)
{
    return arena_alloc(&w->t.f->module->arena, (n + 1) * sizeof(ir_func *));
}
