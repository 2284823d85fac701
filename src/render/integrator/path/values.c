/* SPDX-License-Identifier: BSD-3-Clause
 * What carries derivatives at a sampled path (docs/theory/detached_replay.md): radiance of lights, values of
 * materials, transmittance toward lights. The same code evaluates each of them detached and differentiated,
 * so that phase 1 of path replay subtracts exactly what phase 0 has added (PRB section 4.1, listings 1 and
 * 2).
 *
 * A differentiated evaluation first detaches the arguments that describe the path. Then walk.motion replaces
 * those that move with parameters: with the camera, a light, a mirror or a surface
 * (docs/theory/moving_geometry.md). */
#include "render/integrator/path/path.h"
#include "render/integrator/vertex/plugin_functions.h"

#include <string.h>

bool walk_move_light(walk *w, walk_light *light, ir_ref *factor)
{
    if (!light->sampled || !w->fn.emitter_moved)
        return false;
    emitter_moved_arguments a = {light->ref, light->d, light->distance, light->uv,
                                 light->ref, light->n, light->on.face,  light->on.b};
    emitter_moved_results r = {.growth = {0}};
    ref_list in = refs_for(light->record), out = refs_results();
    emitter_moved_visit(w, &in, &a);
    refs_detach(w, &in);
    refs_rewind(&in, REFS_READ);
    emitter_moved_visit(w, &in, &a);
    w->motion->light_reference(w, light, &a);
    refs_rewind(&in, REFS_WRITTEN);
    emitter_moved_visit(w, &in, &a);
    ir_call(w->t.f, light->cls, w->fn.emitter_moved, w->plan->emitters.count, in.at, in.count, out.at);
    emitter_moved_results_visit(w, &out, &r);
    light->d = r.d, light->distance = r.distance, light->uv = r.uv;
    if (w->plan->lights_slide)
        light->on.b = r.b;
    *factor = t_f32(&w->t, 1);
    if (!ir_is_none(r.growth))
        *factor = ir_select(w->t.f, light->there, r.growth, *factor);
    return true;
}

color walk_radiance(walk *w, walk_light light, bool differentiated)
{
    tracer *t = &w->t;
    BL_ASSERT(!differentiated || walk_tracks(w), "derivatives in the pass %d", (int)w->pass);
    ir_ref factor;
    bool placed = differentiated && walk_move_light(w, &light, &factor);
    bool slides = differentiated && !light.sampled && w->motion->emission(w, &light);
    if (light.sampled && w->plan->light_needs & NEED_POSITION)
        light.on.p = v3_add(t, light.ref, v3_scale(t, light.d, light.distance));
    emitter_radiance_arguments a = {
        .uv = light.uv, .distance = light.distance, .facing = light.facing, .on = light.on};
    ref_list in = refs_for(light.record);
    emitter_radiance_visit(w, &in, &a);
    if (differentiated && !placed && !slides)
        refs_detach(w, &in);
    refs_rewind(&in, REFS_READ);
    emitter_radiance_visit(w, &in, &a);
    if (differentiated)
        light_locate(w, &light, &a.uv);
    refs_rewind(&in, REFS_WRITTEN);
    emitter_radiance_visit(w, &in, &a);
    color r = {0};
    ir_call(t->f, light.cls, differentiated ? w->fn.emitter_radiance_differentiated : w->fn.emitter_radiance,
            w->plan->emitters.count, in.at, in.count, r.c);
    return r;
}

/* Detached arguments describe a path that stays where it is, at which values are functions of parameters. */
bsdf_value_arguments walk_value_arguments(walk *w, const walk_vertex *v, bool detached)
{
    bsdf_value_arguments a = {
        .wi = v->wi,
        .uv = v->si.uv,
        .to_light = v->to_light,
        .wo = v->wo,
        .delta = v->sample.delta,
        .lobe = v->sample.lobe,
        .on = surface_seen(&w->t, &v->si, v->frame),
        .collision_z = v->collision_z,
        .hero = v->hero,
    };
    if (walk_prints(w))
        a.print = (print_place){.when = v->goes_on, .pixel = w->pixel, .sample = w->printing};
    if (!detached)
        return a;
    ref_list l = refs_fields();
    bsdf_value_visit(w, &l, &a), collision_z_visit(w, &l, &a.collision_z);
    refs_detach(w, &l);
    refs_rewind(&l, REFS_READ);
    bsdf_value_visit(w, &l, &a), collision_z_visit(w, &l, &a.collision_z);
    return a;
}

void walk_values(walk *w, const walk_vertex *v, bool differentiated, color *for_light, color *for_sample)
{
    tracer *t = &w->t;
    BL_ASSERT(!differentiated || walk_tracks(w), "derivatives in the pass %d", (int)w->pass);
    if (walk_scatterers(w) == 0) {
        *for_light = *for_sample = color_all(t_f32(t, 0));
        return;
    }
    bsdf_value_arguments a = walk_value_arguments(w, v, differentiated);
    ir_ref light_factor = t_f32(t, 1);
    motion_factors by = {.measure = light_factor};
    if (differentiated) {
        walk_light light = v->light;
        bool placed = walk_move_light(w, &light, &light_factor);
        if (!placed && light.sampled)
            light.d = v3_detach(t, light.d);
        if (placed && !(w->moves & MOVE_SURFACE))
            a.to_light = frame_to_local(
                t, (frame){v3_detach(t, v->frame.s), v3_detach(t, v->frame.t), v3_detach(t, v->frame.n)},
                light.d);
        w->motion->arguments(w, v, &light, &a, &by);
    }
    bsdf_value_results r;
    ref_list in = refs_for(v->bsdf_record), out = refs_results();
    bsdf_value_visit(w, &in, &a), collision_z_visit(w, &in, &a.collision_z);
    ir_call(t->f, v->bsdf_class, differentiated ? w->fn.bsdf_value_differentiated : w->fn.bsdf_value,
            walk_scatterers(w), in.at, in.count, out.at);
    bsdf_value_results_visit(w, &out, &r);
    for (uint32_t c = 0; c < t->channels; c++)
        for_light->c[c] = ir_mul(t->f, r.for_light.c[c], light_factor),
        for_sample->c[c] = ir_mul(t->f, r.for_sample.c[c], by.measure);
    if (!ir_is_none(by.light))
        *for_light = color_scale(t, *for_light, by.light),
        *for_sample = color_scale(t, *for_sample, by.sample);
}

color walk_radiance_where(walk *w, walk_light light)
{
    if (!walk_spares(w))
        return walk_radiance(w, light, false);
    ir_ref branch = ir_if(w->t.f, light.there);
    color r = walk_radiance(w, light, false);
    walk_end_branch(w, branch, r.c, w->t.channels);
    return r;
}

void walk_values_where(walk *w, const walk_vertex *v, color *for_light, color *for_sample)
{
    if (!walk_spares(w)) {
        walk_values(w, v, false, for_light, for_sample);
        return;
    }
    const uint32_t n = w->t.channels;
    ir_ref branch = ir_if(w->t.f, v->goes_on), both[2 * COLOR_MOST];
    walk_values(w, v, false, for_light, for_sample);
    memcpy(both, for_light->c, n * sizeof *both), memcpy(both + n, for_sample->c, n * sizeof *both);
    walk_end_branch(w, branch, both, 2 * n);
    memcpy(for_light->c, both, n * sizeof *both), memcpy(for_sample->c, both + n, n * sizeof *both);
}

color walk_light_scale(walk *w, const walk_vertex *v, const walk_position *at, bool differentiated)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(ir_made(w->t.f, v->light_weight), "the scale of a light that was not sampled");
    ir_ref weight = differentiated ? ir_detach(f, v->light_weight) : v->light_weight;
    if (field_any(w))
        weight = ir_mul(f, weight, field_shadow(w, v, differentiated));
    if (!w->volumetric)
        return color_all(weight);
    walk_shadow shadow = differentiated ? shadow_cross(w, v, at, v->shadow.open, true) : v->shadow;
    COLOR_EACH(r, ir_select(f, ir_eq(f, shadow.zeros[c], t_u32(t, 0)), ir_mul(f, weight, shadow.product.c[c]),
                            t_f32(t, 0)));
    return r;
}
