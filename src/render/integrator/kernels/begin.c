/* SPDX-License-Identifier: BSD-3-Clause
 * How a walk begins: its mode, from plan, pass and integrator; its kind of motion; and the traced functions
 * that it calls. All kernels of a pass begin here, so passes of a plan differ only where the mode does.
 * The order is fixed: motion is chosen first, since it says which functions are needed, and materials are
 * traced before phase functions, which stand behind them in the same lists. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/kernels/kernels.h"

/* Passes of edges take samples as their variance asks for, not as many as the scene's sampler can spread. */
static const sampler_class *sampler_of_pass(const walk *w)
{
    const sampler_class *own = w->plan->scene->spreads;
    bool free = render_passes[w->pass].kind == PASS_EDGES && !sampler_takes_any(own);
    return free ? &sampler_paddedsobol : own;
}

static bool meets_light(const walk *w)
{
    bool any = w->plan->field || w->bends || (w->media && emission_any(w));
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        any |= !emitter_of(w->plan->emitters.data[i])->delta;
    return any;
}

void walk_begin(walk *w, ir_func *f)
{
    const plan *p = w->plan;
    BL_ASSERT(p->filter && !w->motion, "pass %d begins twice", (int)w->pass);
    w->media = plan_has_media(p), w->volumetric = plan_is_volumetric(p);
    w->behind_null = p->scene->hide_emitters && plan_has_nulls(p) && !w->volumetric && p->scene->sees_through;
    w->next_event &= w->media || p->scene->primitives.count > 0; /* else nothing scatters */
    w->multiplexed =
        (p->scene->both_ways || p->scene->metropolis.light_paths > 0) && w->pass == RENDER_PRIMAL;
    w->weighted = sensor_weight(p->scene) != 1 || ((const filter_class *)p->filter->cls)->weighted;
    w->sampler = sampler_of_pass(w);
    w->bends = render_bends_rays(p->scene);
    w->meets_light = meets_light(w);
    w->t = plan_tracer(p, f);
    w->film_channels = p->scene->film_channels, w->entries = p->scene->film_entries;
    w->polarized = p->scene->mode->polarized;
    for (uint32_t i = 0; i < p->bsdfs.count; i++)
        w->disperses |= plan_disperses(p->bsdfs.data[i]);
    w->chromatic = w->disperses;
    motion_choose(w);
    w->chains =
        w->motion->chains || (w->polarized && (w->pass == RENDER_GRADIENT || w->pass == RENDER_ADJOINT));
    w->some_lobes_detached = w->attaches && vertex_some_mix(p);
    vertex_shape_functions(w);
    vertex_bsdf_functions(w);
    if (w->volumetric)
        vertex_phase_functions(w);
    if (w->media)
        medium_functions(w);
    if (w->bends)
        eikonal_functions(w);
    vertex_emitter_functions(w);
}
