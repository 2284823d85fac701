/* SPDX-License-Identifier: BSD-3-Clause
 * The traced functions of media, one for each class of medium or phase function: extinction, albedo,
 * emission, the area of microflakes, bounds of the extinction in the whole box and in its cells. See
 * medium_functions.h for what they take and return. */
#include "render/integrator/media/medium_functions.h"

/* ---- lists ---- */

void volume_ray_visit(ref_list *l, volume_ray *r) { refs_vec3(l, &r->o), refs_vec3(l, &r->d); }

void medium_bounds_visit(ref_list *l, medium_bounds *b)
{
    refs_number(l, &b->majorant), refs_vec3(l, &b->low), refs_vec3(l, &b->high);
}

void cell_bounds_visit(ref_list *l, cell_bounds *c)
{
    refs_number(l, &c->majorant), refs_number(l, &c->minorant), refs_number(l, &c->leaves);
}

/* ---- the functions ---- */

typedef color (*medium_colour)(tracer *t, const class_node *n, ir_ref record, vec3 p);

static ir_func *make_colour(walk *w, const class_node *n, const char *name, medium_colour colour,
                            bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, name);
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record);
    vec3 p;
    wavelength_set wavelengths;
    refs_vec3(&in, &p), refs_wavelengths(w, &in, &wavelengths);
    t.wavelengths = &wavelengths;
    color c = colour(&t, n, record, p);
    ir_return(f, c.c, t.channels);
    return f;
}

static ir_func *make_bounds(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "bounds");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record;
    refs_parameters(f, &record);
    ref_list out = refs_fields();
    ir_ref zero = t_f32(&t, 0);
    medium_bounds b = {zero, v3(zero, zero, zero), v3(zero, zero, zero)};
    if (!medium_of(n)->homogeneous)
        b.low = medium_low(&t, n, record), b.high = medium_high(&t, n, record),
        b.majorant = medium_majorant(&t, n, record);
    medium_bounds_visit(&out, &b);
    ir_return(f, out.at, out.count);
    return f;
}

/* A ray in the medium's volume, for media with cells. */
static ir_func *make_into(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "into");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    volume_ray r;
    volume_ray_visit(&in, &r);
    if (medium_cells(&t, n))
        r = medium_into(&t, n, record, r.o, r.d);
    volume_ray_visit(&out, &r);
    ir_return(f, out.at, out.count);
    return f;
}

/* Bounds of the extinction in the cell at a distance, and where the cell ends. A medium without cells is one
 * cell. */
static ir_func *make_cell(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "cell");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record, distance;
    ref_list in = refs_parameters(f, &record), out = refs_fields();
    cell_bounds cell = {.majorant = t_f32(&t, 0), .minorant = t_f32(&t, 0)};
    cell.leaves = t_f32(&t, 1e30f);
    volume_ray r;
    volume_ray_visit(&in, &r), refs_number(&in, &distance);
    if (medium_cells(&t, n))
        cell = medium_cell(&t, n, record, &r, distance);
    else if (!medium_of(n)->homogeneous)
        cell.majorant = medium_majorant(&t, n, record);
    cell_bounds_visit(&out, &cell);
    ir_return(f, out.at, out.count);
    return f;
}

/* The projected area of the microflakes at a point, for a direction. It is 1 if there are none. */
static ir_func *make_area(walk *w, const class_node *n, bool differentiated)
{
    ir_func *f = ir_func_create(w->t.f->module, differentiated ? "area_differentiated" : "area");
    tracer t = walk_function_tracer(w, f, differentiated);
    ir_ref record;
    ref_list in = refs_parameters(f, &record);
    vec3 d, p;
    refs_vec3(&in, &d), refs_vec3(&in, &p);
    ir_ref area = phase_of(n)->area ? phase_of(n)->area(&t, n, record, d, p) : t_f32(&t, 1);
    ir_return(f, &area, 1);
    return f;
}

static ir_func *make_most_area(walk *w, const class_node *n)
{
    ir_func *f = ir_func_create(w->t.f->module, "most_area");
    tracer t = walk_function_tracer(w, f, false);
    ir_ref record = ir_param(f, IR_U32),
           most = phase_of(n)->most_area ? phase_of(n)->most_area(&t, n, record) : t_f32(&t, 1);
    ir_return(f, &most, 1);
    return f;
}

static void area_functions(walk *w)
{
    const plan *p = w->plan;
    arena *a = &w->t.f->module->arena;
    size_t size = p->phases.count * sizeof(ir_func *);
    for (uint32_t i = 0; i < p->phases.count; i++)
        w->flakes |= phase_of(p->phases.data[i])->area != NULL;
    if (!w->flakes)
        return;
    w->fn.area = arena_alloc(a, size), w->fn.area_differentiated = arena_alloc(a, size),
    w->fn.most_area = arena_alloc(a, size);
    for (uint32_t i = 0; i < p->phases.count; i++) {
        w->fn.area[i] = make_area(w, p->phases.data[i], false),
        w->fn.area_differentiated[i] = make_area(w, p->phases.data[i], true);
        w->fn.most_area[i] = make_most_area(w, p->phases.data[i]);
    }
}

/* Differential ratio tracking is used where the gradient of a heterogeneous medium's extinction is wanted;
 * not in the kernels that check replay, since their paths are replay's, nor where light is polarised. */
static bool use_drt(const walk *w)
{
    bool checks = w->pass == RENDER_FROZEN || w->pass == RENDER_UNROLLED, wanted = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        wanted |= medium_wants_extinction(w->plan->media.data[i]) &&
                  !medium_of(w->plan->media.data[i])->homogeneous;
    for (uint32_t i = 0; i < w->plan->phases.count; i++)
        wanted |= phase_of(w->plan->phases.data[i])->area && plan_requests(w->plan->phases.data[i]);
    return w->plan->drt && wanted && !checks && !w->polarized && media_any(w, false) &&
           !plan_moves_segments(w->plan);
}

void medium_functions(walk *w)
{
    BL_ASSERT(w->plan->media.count > 0, "a walk through media in a plan without, in pass %d", (int)w->pass);
    w->drt = use_drt(w);
    area_functions(w);
    const plan *p = w->plan;
    arena *a = &w->t.f->module->arena;
    uint32_t n = p->media.count;
    size_t size = n * sizeof(ir_func *);
    w->fn.extinction = arena_alloc(a, size), w->fn.extinction_differentiated = arena_alloc(a, size);
    w->fn.albedo = arena_alloc(a, size), w->fn.albedo_differentiated = arena_alloc(a, size),
    w->fn.bounds = arena_alloc(a, size);
    w->fn.into = arena_alloc(a, size), w->fn.cell = arena_alloc(a, size);
    if (emission_any(w))
        w->fn.emission = arena_alloc(a, size), w->fn.emission_differentiated = arena_alloc(a, size);
    for (uint32_t i = 0; i < n; i++) {
        const class_node *medium = p->media.data[i];
        w->fn.extinction[i] = make_colour(w, medium, "extinction", medium_extinction, false);
        w->fn.extinction_differentiated[i] =
            make_colour(w, medium, "extinction_differentiated", medium_extinction, true);
        w->fn.albedo[i] = make_colour(w, medium, "albedo", medium_albedo, false);
        w->fn.albedo_differentiated[i] = make_colour(w, medium, "albedo_differentiated", medium_albedo, true);
        if (emission_any(w)) {
            w->fn.emission[i] = make_colour(w, medium, "emission", medium_emission, false);
            w->fn.emission_differentiated[i] =
                make_colour(w, medium, "emission_differentiated", medium_emission, true);
        }
        w->fn.bounds[i] = make_bounds(w, medium);
        w->fn.into[i] = make_into(w, medium), w->fn.cell[i] = make_cell(w, medium);
        w->chromatic |= w->t.channels > 1 && !medium_grey(medium);
        w->cells |= medium_cells(&w->t, medium) > 0;
    }
}
