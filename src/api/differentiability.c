/* SPDX-License-Identifier: BSD-3-Clause
 * Parameters that have no gradient with the scene's integrator, and why: what `params` says, and the error of
 * a job that asks for one. */
#include "api/differentiability.h"
#include "render/classes.h"
#include "render/plan.h"
#include "render/sensor/sensor.h"
#include "render/shape/ellipsoids.h"
#include "render/shape/kinds.h"

/* The class of the light that a parameter moves, or NULL if it moves none. */
static const emitter_class *light_moved_by(const render_scene *s, uint32_t parameter)
{
    const render_parameter *p = &s->parameters.data[parameter];
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        const scene_object *light = s->emitters.data[i];
        const emitter_class *cls = (const emitter_class *)(const void *)light->cls;
        if (light->index == p->object && p->slot < 32 && cls->pose_params >> p->slot & 1)
            return cls;
    }
    return NULL;
}

bool parameter_turns_environment(const render_scene *s, uint32_t parameter)
{
    const emitter_class *light = light_moved_by(s, parameter);
    return light && light->environment;
}

static const char *refused_by_volumetric(const render_scene *s, uint32_t parameter)
{
    const render_parameter *p = &s->parameters.data[parameter];
    bool camera = sensor_is(s, p->object),
         moves = to_world_is(s, parameter) || p->slot == PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS;
    if ((camera || moves) && render_shines_on_the_way(s))
        return "those of what moves are not implemented where shapes that let light through shine";
    return NULL;
}

static const char *refused_by_ellipsoids(const render_scene *s, uint32_t parameter)
{
    uint32_t slot = s->parameters.data[parameter].slot;
    return slot >= PLAN_ELLIPSOID_SLOT && slot < PLAN_ELLIPSOID_SLOT + ELLIPSOID_ARRAYS
               ? NULL
               : "not implemented for volprim_rf_basic, which has those of data, opacities and sh_coeffs of "
                 "ellipsoids";
}

/* Segments in a radiance field move with the camera only, and only where there are no media. */
static const char *refused_by_field(const render_scene *s, uint32_t parameter)
{
    const render_parameter *p = &s->parameters.data[parameter];
    const emitter_class *light = light_moved_by(s, parameter);
    if (to_world_is(s, parameter) || mesh_slot_moves(p->slot) || (light && !light->environment))
        return "those of what moves are not implemented where there is a radiance field";
    if (sensor_is(s, p->object) && s->volumetric)
        return "the camera's are not implemented where there are a radiance field and media";
    return NULL;
}

/* Bases of polarised light stay: what turns mirrors has a gradient there that leaves the turning out. Where
 * an index is a curve, attached paths follow the wavelength that led. They have no density of a rough sample
 * that any of several wavelengths may have made. */
static const char *refused_by_mode(const render_scene *s, uint32_t parameter)
{
    const render_parameter *p = &s->parameters.data[parameter];
    bool moves = sensor_is(s, p->object) || to_world_is(s, parameter) || mesh_slot_moves(p->slot) ||
                 light_moved_by(s, parameter);
    if (s->mode->polarized && s->method != METHOD_REPLAY)
        return "those of polarised light are found by path replay alone: by path, direct, prb, volpath and "
               "prbvolpath";
    if (s->mode->polarized && moves)
        return "those of what moves are not implemented where light is polarised";
    if (moves && (s->disperses_rough || (s->disperses && s->volumetric)))
        return "those of what moves are not implemented where the index of a rough material is a curve, nor "
               "in volumetric integrators where any is";
    return p->turns && s->disperses_rough && !s->detached && !s->volumetric
               ? "those of what turns mirrored and refracted rays are not implemented where the index of a "
                 "rough material is a curve and paths are attached; prb_detached and volpath have them"
               : NULL;
}

/* Paths from lights that move splat to places that move: the filter's derivative says what that does. moves:
 * the parameter moves such paths. */
static const char *refused_by_light_tracing(const render_scene *s, bool moves)
{
    if (moves && s->volumetric)
        return "those of what moves are not implemented for ptracer where there are media; volpath has them";
    bool smooth = ((const filter_class *)(const void *)s->filter->cls)->value;
    return moves && !smooth ? "those of what moves need a film whose reconstruction filter has a derivative: "
                              "gaussian, tent, mitchell, catmullrom or lanczos instead of box"
                            : NULL;
}

/* The shape that a parameter moves, or NULL. */
static const scene_object *shape_moved_by(const render_scene *s, uint32_t parameter)
{
    const render_parameter *p = &s->parameters.data[parameter];
    const scene_object *shape = p->place ? s->places.data[p->place - 1].object : NULL;
    for (uint32_t i = 0; i < s->shapes.count && mesh_slot_moves(p->slot); i++)
        if (s->shapes.data[i].object->index == p->object)
            shape = s->shapes.data[i].object;
    return shape;
}

/* The film of a sensor on a surface is a map of it, and the area of that surface is a number of its record.
 */
static const char *refused_by_receiver(const render_scene *s, uint32_t parameter)
{
    const scene_object *shape = shape_moved_by(s, parameter);
    const render_place *place = shape ? to_world_place(s, shape) : NULL;
    if (!shape || !sensor_stands_on(s, shape))
        return NULL;
    if (!s->light_tracing)
        return "those of the shape that holds the sensor are not implemented for paths from the sensor; "
               "ptracer has its translation and rotation";
    return place && (parameter == place->translation || parameter == place->rotation)
               ? NULL
               : "those of the size and form of the shape that holds the sensor are not implemented; its "
                 "translation and rotation have them";
}

/* Rays that bend are differentiated where paths are attached. */
static const char *refused_by_bent_rays(const render_scene *s, uint32_t parameter)
{
    const render_parameter *p = &s->parameters.data[parameter];
    if (p->curves && s->volumetric)
        return "those of a medium that bends rays are found by path and its kin alone, not by volumetric "
               "integrators";
    if (p->curves && s->detached && !s->light_tracing)
        return "those of a medium that bends rays are found where paths are attached: take path, prb or "
               "ptracer";
    if (to_world_is(s, parameter) || mesh_slot_moves(p->slot) || (s->volumetric && sensor_is(s, p->object)))
        return "those of what moves are not implemented where a medium bends rays";
    return NULL;
}

const char *differentiability_obstacle(const render_scene *s, uint32_t parameter)
{
    BL_ASSERT(parameter < s->parameters.count, "parameter %u of %u", parameter, s->parameters.count);
    if (s->metropolis.particles)
        return "those of Metropolis integrators are not implemented: they make images; path, prb and volpath "
               "have gradients";
    if (s->both_ways)
        return "those of bidirectional are not implemented: it makes images; path, prb and ptracer have "
               "gradients";
    if (s->ellipsoid_field)
        return refused_by_ellipsoids(s, parameter);
    const char *mode = refused_by_mode(s, parameter);
    if (mode)
        return mode;
    const char *field = s->field ? refused_by_field(s, parameter) : NULL;
    if (field)
        return field;
    const char *receiver = refused_by_receiver(s, parameter);
    if (receiver)
        return receiver;
    const char *bent = render_bends_rays(s) ? refused_by_bent_rays(s, parameter) : NULL;
    if (bent)
        return bent;
    bool replay = s->method == METHOD_REPLAY;
    if (replay && !s->volumetric && !s->depth_image && !s->light_tracing)
        return NULL;
    const render_parameter *p = &s->parameters.data[parameter];
    bool camera = sensor_is(s, p->object), moved = to_world_is(s, parameter) || mesh_slot_moves(p->slot);
    const emitter_class *light = light_moved_by(s, parameter);
    if (s->volumetric && replay && !s->light_tracing)
        return refused_by_volumetric(s, parameter);
    if (s->volumetric && !replay && s->method != METHOD_TAPE && (moved || light))
        return "those of what moves are not implemented for radiative backpropagation in media";
    if (s->own && (camera || moved || light))
        return "those of what moves are not there for an application's integrator: its rays are detached";
    if (camera && s->method == METHOD_TAPE && !s->detached)
        return NULL;
    if (camera && (!replay || s->depth_image))
        return "the camera's are not implemented for this integrator";
    if (s->light_tracing)
        return refused_by_light_tracing(s, camera || moved || p->turns || p->curves ||
                                               (light && !light->environment));
    if (s->method == METHOD_TAPE &&
        (moved || p->slot >= PLAN_ARRAY_SLOT || (light && (light->environment || s->volumetric))))
        return "those of what moves or turns the sky, of attributes of meshes and, in media, of places of "
               "lights, are not implemented for the tape";
    return NULL;
}
