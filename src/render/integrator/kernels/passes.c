/* SPDX-License-Identifier: BSD-3-Clause
 * The entrance to the integrator: the table of passes (passes.def), and render_trace, from a pass of a plan
 * to its kernel as a trace. A pass either walks paths (WALK) or is a step before or after those (STEP). All
 * kernels have the same buffers, in the order of enum render_buffer. */
#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/ellipsoid_field.h"
#include "render/integrator/kernels/kernels.h"

#include <string.h>

const render_pass_info render_passes[RENDER_PASS_COUNT] = {
#define WALK(id, name, kind, kernel, needs, light, public, help)                                             \
    [RENDER_##id] = {name, help, PASS_##kind, needs, light},
#define STEP(id, name, kind, kernel, needs, public, help)                                                    \
    [RENDER_##id] = {name, help, PASS_##kind, needs, true},
#include "render/integrator/passes.def"
};

const char *render_pass_lacks(const plan *p, unsigned needs)
{
    const render_scene *s = p->scene;
    const struct {
        unsigned need;
        bool met;
        const char *lack;
    } all[] = {
        {NEEDS_REQUEST, p->any_request, "no parameter was requested"},
        {NEEDS_TAPE, s->method == METHOD_TAPE, "the scene's integrator is not tape"},
        {NEEDS_CHANNELS, s->channels.count > 0, "the scene has no channels"},
        {NEEDS_DERIVED, p->update_count > 0, "the scene has no derived values"},
        {NEEDS_DERIVED_REQUEST, p->update_requested, "no requested parameter has derived values"},
        {NEEDS_TABLES, p->table_builds.count > 0, "the scene has no sampling tables"},
        {NEEDS_GEOMETRY, !p->baked, "the geometry is part of the kernels"},
        {NEEDS_EDGES, p->edges, "no edge moves that is differentiated"},
        {NEEDS_LINK, sensor_of(s->sensor)->link != NULL,
         "points of the scene cannot be linked to the sensor"},
        {NEEDS_CHAINS, s->metropolis.particles > 0, "the scene's integrator has no Markov chains"},
        {NEEDS_GUIDE, plan_has_guide(p), "the job has no guide of directions"},
        {NEEDS_LIT, edges_from_lights_possible(s), "no light from which borders of shadows are found"},
        {NEEDS_NORMALS, p->normals_derived, "no normals are derived from requested positions"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (needs & all[k].need && !all[k].met)
            return all[k].lack;
    return NULL;
}

const char *render_pass_refused(const render_scene *s, render_pass pass)
{
    enum render_pass_kind kind = render_passes[pass].kind;
    if (s->both_ways && pass != RENDER_PRIMAL && pass != RENDER_CHANNELS && kind < PASS_RAYS)
        return "bidirectional makes images: no variance, no gradients; path and prb have them";
    if (s->light_tracing && !render_passes[pass].light_tracing)
        return "ptracer has no variance, and its gradients are computed in one kernel";
    if (s->metropolis.particles && pass != RENDER_PRIMAL && pass != RENDER_CHANNELS && kind < PASS_RAYS)
        return "Metropolis integrators make images: no variance of independent samples, no gradients; path "
               "and prb have them";
    bool paths = kind == PASS_GRADIENT || kind == PASS_EDGES || kind == PASS_CHECK;
    return s->own && paths && pass != RENDER_GRADIENT && pass != RENDER_FORWARD
               ? "an application's integrator makes images, gradients and derivatives of images: no "
                 "checks of paths"
               : NULL;
}

ir_module *kernel_module(const plan *p)
{
    ir_module *m = ir_module_create();
    static const struct {
        const char *name;
        bool constant;
        int32_t gradient;
    } buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {"scene", true, -1},        [BUFFER_VALUES] = {"values", true, BUFFER_GRADIENT},
        [BUFFER_GRADIENT] = {"gradient", false, -1}, [BUFFER_FILM] = {"film", false, -1},
        [BUFFER_STATUS] = {"status", false, -1},     [BUFFER_ADJOINT] = {"adjoint", true, -1},
        [BUFFER_FROZEN] = {"frozen", true, -1},      [BUFFER_SCALE] = {"scale", true, -1},
        [BUFFER_SAMPLES] = {"samples", false, -1},   [BUFFER_TANGENT] = {"tangent", true, -1},
    };
    for (int k = 0; k < BUFFER_COUNT; k++)
        ir_buffer_add(m, buffers[k].name, buffers[k].constant, buffers[k].gradient);
    m->doubles = p->doubles;
    m->buffers.data[BUFFER_VALUES].paired = m->buffers.data[BUFFER_FROZEN].paired =
        m->buffers.data[BUFFER_FILM].paired = p->doubles;
    m->no_fold = p->off & PLAN_FOLD, m->no_merge = p->off & PLAN_NUMBER;
    m->buffers.data[BUFFER_VALUES].tangent = BUFFER_TANGENT;
    if (p->baked) {
        m->buffers.data[BUFFER_SCENE].known = p->words.data;
        m->buffers.data[BUFFER_SCENE].known_count = p->sensor_moves ? plan_sensor_word(p) : p->words.count;
    }
    return m;
}

static bl_result trace_channels(walk *w, ir_module *m)
{
    const render_scene *s = w->plan->scene;
    return kernel_channels(w, m, s->channels.data, s->channels.count, false);
}

/* The image, or the first hit's depth if the integrator is `depth`; in a variance pass also the squares. */
static bl_result trace_image(walk *w, ir_module *m)
{
    static const render_channel grey[3] = {
        {.kind = CHANNEL_DEPTH}, {.kind = CHANNEL_DEPTH}, {.kind = CHANNEL_DEPTH}};
    return w->plan->scene->depth_image
               ? kernel_channels(w, m, grey, w->film_channels, w->pass == RENDER_VARIANCE)
               : kernel_primal(w, m);
}

/* The passes of scenes whose kernels of ellipsoids emit. */
static bl_result trace_ellipsoids(walk *w, ir_module *m, const render_trace_options *o)
{
    switch (w->pass) {
    case RENDER_PRIMAL:
    case RENDER_VARIANCE:
    case RENDER_FROZEN:
        return kernel_ellipsoids_image(w, m);
    case RENDER_FORWARD:
        return kernel_ellipsoids_forward(w, m);
    case RENDER_UNROLLED:
        return kernel_ellipsoids_unrolled(w, m, o->unrolled_depth);
    default:
        return kernel_ellipsoids_gradient(w, m);
    }
}

/* The entry function has the name of the pass, with spaces instead of hyphens. */
static ir_func *create_entry(ir_module *m, render_pass pass)
{
    char name[32] = {0};
    BL_ASSERT(strlen(render_passes[pass].name) < sizeof name, "the name of pass %d", (int)pass);
    for (size_t k = 0; render_passes[pass].name[k]; k++)
        name[k] = render_passes[pass].name[k] == '-' ? ' ' : render_passes[pass].name[k];
    return ir_func_create(m, name);
}

static bl_result trace_walk(const plan *p, render_pass pass, const render_trace_options *o, ir_module *m)
{
    const render_scene *s = p->scene;
    walk walk_of_pass = {
        .plan = p,
        .pass = pass,
        .next_event = s->use_next_event && !(o && o->no_next_event),
        .bsdf_emission = s->use_bsdf_sampling,
        .walks_again = o && o->walks_again,
        .packs_rows = o && o->packs_rows && !p->doubles,
    };
    walk *w = &walk_of_pass;
    BL_ASSERT(pass != RENDER_UNROLLED || (o && o->unrolled_depth > 0), "vertices of an unrolled path");
    bool first_hit = pass == RENDER_CHANNELS || render_passes[pass].kind == PASS_RAYS;
    walk_begin(w, create_entry(m, pass));
    if (m->error.code != BL_OK) /* in a function of an application's plugin */
        return BL_OK;
    if (s->light_tracing && !first_hit)
        return pass == RENDER_FORWARD || pass == RENDER_FROZEN ? kernel_light_forward(w, m)
               : w->motion->chains                             ? kernel_light_replay(w, m)
                                                               : kernel_light(w, m);
    if (s->metropolis.particles && !first_hit)
        return kernel_chain_step(w, m);
    if (s->own && !first_hit)
        return kernel_own(w, m);
    if (s->ellipsoid_field && !first_hit)
        return trace_ellipsoids(w, m, o);
    switch (pass) {
#define WALK(id, name, kind, kernel, needs, light, public, help)                                             \
    case RENDER_##id:                                                                                        \
        return kernel;
#include "render/integrator/passes.def"
    default:
        BL_ASSERT(false, "pass %d walks no paths", (int)pass);
        return BL_ERROR_ARGUMENT;
    }
}

static bl_result trace_step(const plan *p, render_pass pass, const render_trace_options *o, ir_module *m)
{
    switch (pass) {
#define STEP(id, name, kind, kernel, needs, public, help)                                                    \
    case RENDER_##id:                                                                                        \
        return kernel;
#include "render/integrator/passes.def"
    default:
        BL_ASSERT(false, "pass %d walks paths", (int)pass);
        return BL_ERROR_ARGUMENT;
    }
}

bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out,
                       bl_error *err)
{
    BL_ASSERT((unsigned)pass < RENDER_PASS_COUNT, "there is no pass %d", (int)pass);
    ir_module *m = kernel_module(p);
    if (pass == RENDER_REPLAY || pass == RENDER_ADJOINT) /* others share their samples with the host */
        m->buffers.data[BUFFER_SAMPLES].paired = p->doubles;
    bl_result r = render_pass_walks(pass) ? trace_walk(p, pass, o, m) : trace_step(p, pass, o, m);
    if (r == BL_OK)
        r = ir_finish(m, err);
    if (r != BL_OK) {
        ir_module_destroy(m);
        return r;
    }
    *out = m;
    return BL_OK;
}
