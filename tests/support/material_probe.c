/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"

#include "render/classes.h"
#include "render/spectrum/spectrum.h"
#include "spirv_gen/ad/ad.h"
#include "support/scene_cases.h"

const float material_nm[4] = {400, 487.5f, 600, 810};

/* Where on the surface the material is asked. */
static vec2 place(tracer *t) { return (vec2){t_f32(t, 0.25f), t_f32(t, 0.75f)}; }

/* The rectangle [-1,1]^2 at such a place. */
static surface flat(tracer *t)
{
    ir_ref zero = t_f32(t, 0), two = t_f32(t, 2);
    return (surface){
        .du = {two, zero}, .dv = {zero, two}, .ng = v3(zero, zero, t_f32(t, 1)), .p = v3(zero, zero, zero)};
}

static bsdf_context asked(tracer *t, const class_node *n, uint32_t record, vec3 wi)
{
    return (bsdf_context){t, n, t_u32(t, record), wi, place(t)};
}

/* wi 3, u 3 -> wo 3, pdf, delta, lobe, eta */
static void trace_sample(tracer *t, const class_node *n, uint32_t record)
{
    ir_ref in[6];
    for (int k = 0; k < 6; k++)
        in[k] = ir_param(t->f, IR_F32);
    surface at = flat(t);
    t->surface = &at;
    bsdf_context ctx = asked(t, n, record, vec3_at(in));
    bsdf_sample r = bsdf_of(n)->sample(&ctx, in[3], in[4], in[5]);
    ir_return(t->f, (ir_ref[]){r.wo.x, r.wo.y, r.wo.z, r.pdf, r.delta, r.lobe, r.eta}, 7);
}

/* The parameters wi 3, wo 3, delta, lobe of a function; the first six go to in, too. Returns the value
 * there. */
static color value_of_params(tracer *t, const class_node *n, uint32_t record, ir_ref in[6])
{
    for (int k = 0; k < 6; k++)
        in[k] = ir_param(t->f, IR_F32);
    ir_ref delta = ir_param(t->f, IR_BOOL), lobe = ir_param(t->f, IR_U32);
    bsdf_context ctx = asked(t, n, record, vec3_at(in));
    return bsdf_of(n)->value(&ctx, vec3_at(in + 3), delta, lobe);
}

/* wi 3, wo 3, delta, lobe -> pdf, value 3; 4 where light is spectral */
static void trace_at(tracer *t, const class_node *n, uint32_t record)
{
    ir_ref in[6];
    surface plane = flat(t);
    t->surface = &plane;
    wavelength_set at = {0};
    for (uint32_t k = 0; k < WAVELENGTHS; k++)
        at.nm[k] = t_f32(t, material_nm[k]);
    t->wavelengths = &at;
    color v = value_of_params(t, n, record, in);
    bsdf_context ctx = asked(t, n, record, vec3_at(in));
    ir_ref pdf = bsdf_of(n)->pdf(&ctx, vec3_at(in + 3));
    ir_return(t->f, (ir_ref[]){pdf, v.c[0], v.c[1], v.c[2], v.c[3]}, 1 + t->channels);
}

/* wi 3, wo 3, delta, lobe -> nothing; adds the derivatives of a value to the gradient */
static void trace_derivative(tracer *t, const class_node *n, uint32_t record)
{
    ir_ref in[6], one = t_f32(t, 1);
    surface plane = flat(t);
    t->surface = &plane;
    color v = value_of_params(t, n, record, in);
    ad_backward(t->f, &v.c[1], &one, 1, NULL, NULL, 0);
    ir_return(t->f, NULL, 0);
}

/* wi 3, wo 3 -> derivatives of pdf by these */
static void trace_slopes(tracer *t, const class_node *n, uint32_t record)
{
    ir_ref in[6], out[6], one = t_f32(t, 1);
    surface plane = flat(t);
    t->surface = &plane;
    for (int k = 0; k < 6; k++)
        in[k] = ir_param(t->f, IR_F32);
    bsdf_context ctx = asked(t, n, record, vec3_at(in));
    ir_ref pdf = bsdf_of(n)->pdf(&ctx, vec3_at(in + 3));
    ad_backward(t->f, &pdf, &one, 1, in, out, 6);
    ir_return(t->f, out, 6);
}

/* wi 3, wo 3, u 2, pdf, lobe -> nothing; adds the derivatives of value over density to the gradient */
static void trace_attached(tracer *t, const class_node *n, uint32_t record)
{
    ir_func *f = t->f;
    ir_ref in[9], lobe;
    surface plane = flat(t);
    t->surface = &plane;
    tracer deciding = t_deciding(t);
    for (int k = 0; k < 9; k++)
        in[k] = ir_param(f, IR_F32);
    lobe = ir_param(f, IR_U32);
    bsdf_context ctx = asked(t, n, record, vec3_at(in)), decided = bsdf_read_by(&ctx, &deciding);
    ir_ref follows = bsdf_smooth_enough(
        &deciding, bsdf_roughness(&decided, lobe)); /* as in integrator/vertex/plugin_functions.c */
    lobe = ir_select(f, follows, lobe, ir_or(f, lobe, t_u32(t, LOBE_DETACHED)));
    bsdf_attached a = bsdf_attach(&ctx, &(bsdf_draw){vec3_at(in + 3), lobe, in[6], in[7]});
    color v = bsdf_of(n)->value(&ctx, a.wo, ir_bool(f, false), t_u32(t, 0));
    ir_ref quotient = ir_div(f, v.c[1], a.density), seed = ir_div(f, ir_detach(f, a.density), in[8]);
    ad_backward(f, &quotient, &seed, 1, NULL, NULL, 0);
    ir_return(f, NULL, 0);
}

material_probe material_probe_create(const material_case *c, const char *folder)
{
    arena a = {0};
    bl_error err = {0};
    material_probe s = {.what = c, .module = ir_module_create()};
    scene_case room = {
        .body = arena_printf(&a, "%s<shape type='rectangle'><ref id='it'/></shape><emitter type='constant'/>",
                             c->xml)};
    s.e = scene_eval_create_with(scene_case_xml(&a, &room, 2, 4, 4), folder, c->parameters,
                                 c->requested ? material_case_parameter_count(c) : 0, false,
                                 &(render_overrides){.light_choice = LIGHTS_BY_WEIGHT, .mode = c->mode});
    if (scene_eval_run(s.e, RENDER_PRIMAL, (scene_eval_at){.f64 = true}, &err) !=
        BL_OK) /* for derived values */
        fail_msg("%s: %s", c->name, err.text);
    const plan *p = s.e->plan;
    uint32_t shape = p->words.data[HEADER_SHAPES], record = p->words.data[shape + SHAPE_BSDF_RECORD];
    const class_node *n = p->bsdfs.data[p->words.data[shape + SHAPE_BSDF_CLASS]];
    ir_buffer_add(s.module, "scene", true, -1), ir_buffer_add(s.module, "values", true, 2),
        ir_buffer_add(s.module, "gradient", false, -1);
    tracer t = plan_tracer(p, s.sample = ir_func_create(s.module, "sample"));
    trace_sample(&t, n, record);
    t.f = s.at = ir_func_create(s.module, "at");
    trace_at(&t, n, record);
    t.differentiated = true;
    const bool colours = t.light != LIGHT_SPECTRAL; /* else values alone are traced */
    if (colours) {
        t.f = s.derivative = ir_func_create(s.module, "derivative");
        trace_derivative(&t, n, record);
    }
    if (colours && bsdf_of(n)->attached) {
        t.f = s.attached = ir_func_create(s.module, "attached");
        trace_attached(&t, n, record);
        t.f = s.slopes = ir_func_create(s.module, "slopes");
        trace_slopes(&t, n, record);
    }
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s: %s", c->name, err.text);
    arena_free(&a);
    return s;
}

void material_probe_destroy(material_probe *p)
{
    ir_module_destroy(p->module);
    scene_eval_destroy(p->e);
}

static void run(const material_probe *s, ir_func *f, const ir_value *in, ir_value *out)
{
    const scene_eval *e = s->e;
    ir_eval_buffer buffers[3] = {{.words = e->plan->words.data, .count = e->plan->words.count},
                                 {.reals = e->values, .count = e->plan->value_count},
                                 {.reals = e->gradient, .count = e->plan->gradient_count}};
    bl_error err = {0};
    if (ir_eval(f, in, out, &(ir_eval_env){.buffers = buffers, .buffer_count = 3, .f64 = !s->single}, &err) !=
        BL_OK)
        fail_msg("%s: %s", s->what->name, err.text);
}

/* As the interpreter would hold it. */
static ir_value real(const material_probe *p, double v)
{
    return (ir_value){.f = p->single ? (double)(float)v : v};
}

material_sample material_probe_sample(const material_probe *p, const double wi[3], const double u[3])
{
    ir_value in[6], out[7];
    for (int k = 0; k < 3; k++)
        in[k] = real(p, wi[k]), in[3 + k] = real(p, u[k]);
    run(p, p->sample, in, out);
    return (material_sample){
        .wo = {out[0].f, out[1].f, out[2].f},
        .pdf = out[3].f,
        .delta = out[4].b,
        .lobe = out[5].u,
        .eta = out[6].f,
    };
}

static void fill(const material_probe *p, ir_value in[8], const double wi[3], const double wo[3], bool delta,
                 uint32_t lobe)
{
    for (int k = 0; k < 3; k++)
        in[k] = real(p, wi[k]), in[3 + k] = real(p, wo[k]);
    in[6].b = delta, in[7].u = lobe;
}

material_value material_probe_value(const material_probe *p, const double wi[3], const double wo[3],
                                    bool delta, uint32_t lobe)
{
    ir_value in[8], out[5] = {0};
    fill(p, in, wi, wo, delta, lobe);
    run(p, p->at, in, out);
    return (material_value){out[0].f, {out[1].f, out[2].f, out[3].f, out[4].f}};
}

/* Runs what adds to the gradient of the one number. */
static double run_derivative(const material_probe *p, ir_func *f, const ir_value *in)
{
    assert_int_equal(p->e->plan->gradient_count, 1);
    p->e->gradient[0] = 0;
    run(p, f, in, NULL);
    return p->e->gradient[0];
}

double material_probe_derivative(const material_probe *p, const double wi[3], const double wo[3], bool delta,
                                 uint32_t lobe)
{
    ir_value in[8];
    fill(p, in, wi, wo, delta, lobe);
    return run_derivative(p, p->derivative, in);
}

double material_probe_attached(const material_probe *p, const double wi[3], const double u[3],
                               const material_sample *s)
{
    ir_value in[10];
    for (int k = 0; k < 3; k++)
        in[k] = real(p, wi[k]), in[3 + k] = real(p, s->wo[k]);
    in[6] = real(p, u[1]), in[7] = real(p, u[2]), in[8] = real(p, s->pdf), in[9].u = s->lobe;
    return run_derivative(p, p->attached, in);
}

void material_probe_slopes(const material_probe *p, const double wi[3], const double wo[3], double out[6])
{
    ir_value in[6], got[6];
    for (int k = 0; k < 3; k++)
        in[k] = real(p, wi[k]), in[3 + k] = real(p, wo[k]);
    run(p, p->slopes, in, got);
    for (int k = 0; k < 6; k++)
        out[k] = got[k].f;
}

void material_direction(double cosine, double azimuth, double out[3])
{
    double r = sqrt(fmax(1 - cosine * cosine, 0));
    out[0] = r * cos(azimuth), out[1] = r * sin(azimuth), out[2] = cosine;
}
