/* SPDX-License-Identifier: BSD-3-Clause
 * What carries derivatives at a decided path: radiance of lights, values of materials, transmittance toward
 * lights. Where a parameter moves the camera, a light, a mirror or a surface, directions and places follow it
 * by the local convention (docs/theory/moving_geometry.md; attached_path.c, local_surface.c). */
#include "render/integrator/path/path.h"

/* Tracked values are functions of parameters at a path that stays where it is: what describes the path is
 * detached. */
static void detach_all(walk *w, ir_ref *values, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        values[k] = ir_detach(w->t.f, values[k]);
}

bool walk_move_light(walk *w, walk_light *light, ir_ref *factor)
{
    bool positions = (w->moves & MOVE_HITS);
    if (!light->sampled || !w->fn.emitter_moved)
        return false;
    ir_ref in[16] = {light->record, light->ref.x, light->ref.y,    light->ref.z, light->d.x,
                     light->d.y,    light->d.z,   light->distance, light->uv.x,  light->uv.y},
           out[7];
    if (positions)
        vec3_put(light->ref, in + 10), vec3_put(light->n, in + 13);
    detach_all(w, in, positions ? 16 : 10);
    w->motion->light_reference(w, light, in);
    ir_call(w->t.f, light->cls, w->fn.emitter_moved, w->plan->emitters.count, in, positions ? 16 : 10, out);
    light->d = vec3_at(out), light->distance = out[3], light->uv = (vec2){out[4], out[5]};
    *factor = positions ? ir_select(w->t.f, light->there, out[6], t_f32(&w->t, 1)) : t_f32(&w->t, 1);
    return true;
}

color walk_radiance(walk *w, walk_light light, bool tracked)
{
    tracer *t = &w->t;
    ir_ref factor;
    bool placed = tracked && walk_move_light(w, &light, &factor);
    bool slides = tracked && !light.sampled && w->motion->emission(w, &light);
    if (light.sampled && w->plan->light_needs & NEED_POSITION)
        light.on.p = v3_add(t, light.ref, v3_scale(t, light.d, light.distance));
    ir_ref in[5 + LIGHT_ARGS] = {light.record, light.uv.x, light.uv.y, light.distance, light.facing};
    uint32_t count = 5 + surface_light_args(t, &light.on, in + 5);
    if (tracked && !placed && !slides)
        detach_all(w, in, count);
    if (tracked)
        light_locate(w, &light, in + 1);
    color r;
    ir_call(t->f, light.cls, tracked ? w->fn.emitter_radiance_tracked : w->fn.emitter_radiance,
            w->plan->emitters.count, in, count, r.c);
    return r;
}

void walk_values(walk *w, const walk_vertex *v, bool tracked, color *for_light, color *for_sample)
{
    tracer *t = &w->t;
    ir_ref in[15 + SURFACE_ARGS] = {v->bsdf_record, v->wi.x,       v->wi.y,         v->wi.z,       v->si.uv.x,
                                    v->si.uv.y,     v->to_light.x, v->to_light.y,   v->to_light.z, v->wo.x,
                                    v->wo.y,        v->wo.z,       v->sample.delta, v->sample.lobe};
    uint32_t count = 14 + surface_args(t, &v->si, v->frame, in + 14);
    if (w->volumetric)
        in[count++] = v->third;
    if (walk_scatterers(w) == 0) {
        *for_light = *for_sample = color_all(t_f32(t, 0));
        return;
    }
    ir_ref light_factor = t_f32(t, 1);
    motion_factors by = {.measure = light_factor};
    if (tracked) {
        detach_all(w, in, count);
        walk_light light = v->light;
        bool placed = walk_move_light(w, &light, &light_factor);
        if (!placed && light.sampled)
            light.d = v3_detach(t, light.d);
        if (placed && !(w->moves & MOVE_SURFACE))
            vec3_put(frame_to_local(t,
                                    (frame){v3_detach(t, v->frame.s), v3_detach(t, v->frame.t),
                                            v3_detach(t, v->frame.n)},
                                    light.d),
                     in + 6);
        w->motion->arguments(w, v, &light, in, count, &by);
    }
    ir_ref out[6];
    ir_call(t->f, v->bsdf_class, tracked ? w->fn.bsdf_value_tracked : w->fn.bsdf_value, walk_scatterers(w),
            in, count, out);
    for (int c = 0; c < 3; c++)
        for_light->c[c] = ir_mul(t->f, out[c], light_factor),
        for_sample->c[c] = ir_mul(t->f, out[3 + c], by.measure);
    if (!ir_is_none(by.light))
        *for_light = color_scale(t, *for_light, by.light),
        *for_sample = color_scale(t, *for_sample, by.sample);
}

color walk_light_scale(walk *w, const walk_vertex *v, const walk_position *at, bool tracked)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref weight = tracked ? ir_detach(f, v->light_weight) : v->light_weight;
    if (!w->volumetric)
        return color_all(weight);
    walk_shadow shadow = tracked ? shadow_cross(w, v, at, v->shadow.open, true) : v->shadow;
    COLOR_EACH(r, ir_select(f, ir_eq(f, shadow.zeros[c], t_u32(t, 0)), ir_mul(f, weight, shadow.product.c[c]),
                            t_f32(t, 0)));
    return r;
}
