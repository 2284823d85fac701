/* SPDX-License-Identifier: BSD-3-Clause
 * Custom integrators, which an application adds (backlight_integrator.h), as the renderer knows them: their
 * class, and what their functions may ask of the scene while a kernel is traced
 * (integrator/path/own_integrator.c). The kernel around them is integrator/kernels/own_integrator.c.
 *
 * What an application passes in may be anything. So references are checked here, and once the trace has
 * failed these functions do nothing more: they return references that are none. */
#ifndef BL_RENDER_OWN_INTEGRATOR_H
#define BL_RENDER_OWN_INTEGRATOR_H

#include "render/class.h"
#include "render/sensor/sensor.h"

/* The functions of one sample while they are being traced. */
typedef struct own_trace own_trace;

typedef struct integrator_class {
    render_class base; /* first */
    color (*radiance)(own_trace *t, const struct integrator_class *cls, const ray *r);
    /* NULL: reverse mode of `radiance` */
    color (*adjoint)(own_trace *t, const struct integrator_class *cls, const ray *r, color dL);
} integrator_class;

/* What has been asked for is remembered by numbers, so that an application need not hold it. */
typedef struct own_surface {
    ir_ref valid, distance;
    vec3 p, ng, ns;
    vec2 uv;
    uint32_t id;
} own_surface;
typedef struct own_draw {
    vec3 d;
    ir_ref distance; /* of a light */
    ir_ref pdf, delta, eta;
    uint32_t id;
} own_draw;

tracer *own_tracer(own_trace *t);
double own_setting(const own_trace *t, uint32_t parameter);
random4 own_random(own_trace *t, ir_ref place);
own_surface own_closest(own_trace *t, const ray *r);
ir_ref own_any(own_trace *t, const ray *r);
ray own_leave(own_trace *t, uint32_t on, vec3 d);
vec3 own_to_local(own_trace *t, uint32_t on, vec3 v);
vec3 own_to_world(own_trace *t, uint32_t on, vec3 v);
color own_emission(own_trace *t, uint32_t on);
ir_ref own_emission_pdf(own_trace *t, uint32_t on);
own_draw own_bsdf_sample(own_trace *t, uint32_t on, const ir_ref u[3]);
color own_bsdf_drawn(own_trace *t, uint32_t draw);
color own_bsdf_value(own_trace *t, uint32_t on, vec3 d);
ir_ref own_bsdf_pdf(own_trace *t, uint32_t on, vec3 d);
own_draw own_light_sample(own_trace *t, uint32_t on, const ir_ref u[3]);
ir_ref own_light_seen(own_trace *t, uint32_t light, ir_ref wanted);
color own_light_radiance(own_trace *t, uint32_t light);
bool own_suspend(own_trace *t, bool on);
/* A message with the pixel and the sample, where `when` (print.h), in passes that make images and in
 * functions that differentiate by themselves; elsewhere nothing. */
void own_print(own_trace *t, ir_ref when, const char *format, const ir_ref *values, uint32_t count);

#endif
