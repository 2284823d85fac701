/* SPDX-License-Identifier: BSD-3-Clause
 * Rays without paths: the camera's rays of one sample of each pixel, and what rays that the caller gives meet
 * in the scene. A lane has one ray.
 *
 * BUFFER_SAMPLES has UNIFORM_TILE_LANES rays of RAY_WORDS words, as the public bl_ray has them, and behind
 * these what they meet: HIT_WORDS words of each ray, as bl_hit, or one word of each ray that asks for any hit
 * alone, 1 or 0.
 *
 * Rays come from outside. What is no ray (a number that is NaN or infinite, a direction of zeros, an interval
 * that is empty or begins before 0) meets nothing, and never reaches a traversal or a ray query: these get a
 * short ray in its place. Numbers are tested by their bits, since devices may take for
 * granted that floats are no NaNs. */
#include "render/integrator/kernels/kernels.h"

enum ray_word { RAY_ORIGIN, RAY_TMIN = 3, RAY_DIRECTION, RAY_TMAX = 7, RAY_WORDS };
enum hit_word { HIT_T, HIT_U, HIT_V, HIT_SHAPE, HIT_PRIMITIVE, HIT_INSTANCE, HIT_WORDS };
_Static_assert((int)RAY_WORDS == (int)RENDER_RAY_WORDS && (int)HIT_WORDS == (int)RENDER_HIT_WORDS,
               "as callers reserve them");

static const uint32_t infinite = 0x7F800000u; /* the bits of a float; those of a NaN are more */

/* The lane's place among the rays in BUFFER_SAMPLES. */
static ir_ref place_of(ir_func *f)
{
    ir_ref index = ir_add(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_FIRST_LANE));
    return ir_sub(f, index, ir_uniform(f, IR_U32, UNIFORM_TILE_LANE));
}

static void store(tracer *t, ir_ref at, const ir_ref *words, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        ir_store(t->f, BUFFER_SAMPLES, t_offset(t, at, k), words[k]);
}

static bl_result end(ir_func *f)
{
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}

bl_result kernel_camera_rays(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    walk_position at = walk_camera(w, ir_uniform(f, IR_U32, UNIFORM_FIRST_SAMPLE));
    const ir_ref words[RAY_WORDS] = {at.o.x, at.o.y, at.o.z, t_f32(t, 0), at.d.x, at.d.y, at.d.z, at.tmax};
    ir_ref to = ir_mul(f, place_of(f), t_u32(t, RAY_WORDS));
    ir_if(f, l.inside);
    store(t, to, words, RAY_WORDS);
    return end(f);
}

/* ---- rays that are given ---- */

typedef struct given_ray {
    ir_ref is; /* bool: it is a ray; else the others are those of a short ray whose hits do not count */
    ray path;
    ir_ref tmin;
} given_ray;

/* bool: these are the bits of a finite float */
static ir_ref is_finite(tracer *t, ir_ref bits)
{
    return ir_lt(t->f, ir_and(t->f, bits, t_u32(t, 0x7FFFFFFFu)), t_u32(t, infinite));
}

/* bool: the words are those of a ray */
static ir_ref is_ray(tracer *t, const ir_ref bits[RAY_WORDS], ir_ref tmin, ir_ref tmax)
{
    ir_func *f = t->f;
    ir_ref good = ir_le(f, bits[RAY_TMAX], t_u32(t, infinite)), some = t_u32(t, 0);
    for (uint32_t k = 0; k < RAY_TMAX; k++)
        good = ir_and(f, good, is_finite(t, bits[k]));
    for (uint32_t k = RAY_DIRECTION; k < RAY_TMAX; k++)
        some = ir_or(f, some, ir_and(f, bits[k], t_u32(t, 0x7FFFFFFFu)));
    good = ir_and(f, good, ir_ne(f, some, t_u32(t, 0)));
    return ir_and(f, good, ir_and(f, ir_ge(f, tmin, t_f32(t, 0)), ir_lt(f, tmin, tmax)));
}

static given_ray load_ray(tracer *t, ir_ref at)
{
    ir_func *f = t->f;
    ir_ref bits[RAY_WORDS], real[RAY_WORDS];
    for (uint32_t k = 0; k < RAY_WORDS; k++)
        bits[k] = ir_load(f, IR_U32, BUFFER_SAMPLES, t_offset(t, at, k)),
        real[k] = ir_load(f, IR_F32, BUFFER_SAMPLES, t_offset(t, at, k));
    ir_ref good = is_ray(t, bits, real[RAY_TMIN], real[RAY_TMAX]);
    for (uint32_t k = 0; k < RAY_TMAX; k++)
        real[k] = ir_select(f, good, real[k], t_f32(t, k == RAY_DIRECTION));
    /* No hit is farther than 1e30, and ray queries want finite intervals. */
    ir_ref tmax = ir_select(f, good, ir_min(f, real[RAY_TMAX], t_f32(t, 1e30f)), t_f32(t, 1e-30f));
    return (given_ray){good, {vec3_at(real), vec3_at(real + RAY_DIRECTION), tmax}, real[RAY_TMIN]};
}

/* Baked geometry is tested from distance 0 on, so the ray begins where its interval does. */
static ray from_tmin(tracer *t, const given_ray *r)
{
    vec3 o = v3_add(t, r->path.o, v3_scale(t, r->path.d, r->tmin));
    return (ray){o, r->path.d, ir_sub(t->f, r->path.tmax, r->tmin)};
}

static bool is_empty(const plan *p) { return !p->scene->has_groups && p->scene->primitives.count == 0; }

/* hit: as the results of ir_ray_closest */
static void closest(walk *w, const given_ray *r, ir_ref hit[5])
{
    tracer *t = &w->t;
    vec3 o = r->path.o, d = r->path.d;
    if (is_empty(w->plan)) {
        hit[0] = r->path.tmax, hit[1] = t_u32(t, PLAN_NONE), hit[2] = hit[3] = t_f32(t, 0);
    } else if (w->plan->baked) {
        ray moved = from_tmin(t, r);
        baked_closest(w, &moved, hit);
        hit[0] = ir_add(t->f, hit[0], r->tmin);
    } else {
        const ir_ref args[8] = {o.x, o.y, o.z, d.x, d.y, d.z, r->tmin, r->path.tmax};
        ir_ray_closest(t->f, w->fn.intersect, w->fn.kinds, args, hit);
    }
    hit[1] = ir_select(t->f, r->is, hit[1], t_u32(t, PLAN_NONE));
}

static ir_ref any(walk *w, const given_ray *r)
{
    tracer *t = &w->t;
    vec3 o = r->path.o, d = r->path.d;
    if (is_empty(w->plan))
        return ir_bool(t->f, false);
    if (w->plan->baked) {
        ray moved = from_tmin(t, r);
        return baked_any(w, &moved);
    }
    const ir_ref args[8] = {o.x, o.y, o.z, d.x, d.y, d.z, r->tmin, r->path.tmax};
    return ir_ray_any(t->f, w->fn.intersect, w->fn.kinds, args);
}

/* The number of the instance whose record is `level`; where the level is not an instance's, PLAN_NONE. */
static ir_ref instance_of(tracer *t, ir_ref level)
{
    ir_func *f = t->f;
    ir_ref words = ir_sub(f, level, t_word(t, t_u32(t, 0), HEADER_LEVEL));
    return ir_sub(f, ir_div(f, words, t_u32(t, LEVEL_WORDS)), t_u32(t, 1));
}

static void describe_hit(walk *w, const ir_ref hit[5], ir_ref out[HIT_WORDS])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref none = t_u32(t, PLAN_NONE), met = ir_ne(f, hit[1], none);
    ir_ref index = ir_select(f, met, hit[1], t_u32(t, 0));
    ir_ref entry = ir_add(f, t_aligned(t, t_word(t, t_u32(t, 0), HEADER_ENTRIES)),
                          ir_mul(f, index, t_u32(t, BVH_ENTRY_WORDS)));
    out[HIT_T] = ir_select(f, met, hit[0], t_f32(t, INFINITY));
    out[HIT_U] = ir_select(f, met, hit[2], t_f32(t, 0));
    out[HIT_V] = ir_select(f, met, hit[3], t_f32(t, 0));
    out[HIT_SHAPE] = out[HIT_PRIMITIVE] = out[HIT_INSTANCE] = none;
    if (is_empty(w->plan))
        return;
    out[HIT_SHAPE] = ir_select(f, met, t_word(t, entry, BVH_ENTRY_SHAPE), none);
    out[HIT_PRIMITIVE] = ir_select(f, met, t_word(t, entry, BVH_ENTRY_PRIMITIVE), none);
    if (w->plan->scene->has_groups)
        out[HIT_INSTANCE] = ir_select(f, met, instance_of(t, hit[4]), none);
}

bl_result kernel_rays(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = m->entry = t->f;
    ir_ref place = place_of(f), count = ir_uniform(f, IR_U32, UNIFORM_TILE_LANES);
    ir_if(f, ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    given_ray r = load_ray(t, ir_mul(f, place, t_u32(t, RAY_WORDS)));
    ir_ref results = ir_mul(f, count, t_u32(t, RAY_WORDS)), hit[5], out[HIT_WORDS];
    if (w->pass == RENDER_RAYS_ANY) {
        out[0] = ir_select(f, ir_and(f, r.is, any(w, &r)), t_u32(t, 1), t_u32(t, 0));
        store(t, ir_add(f, results, place), out, 1);
        return end(f);
    }
    closest(w, &r, hit);
    describe_hit(w, hit, out);
    store(t, ir_add(f, results, ir_mul(f, place, t_u32(t, HIT_WORDS))), out, HIT_WORDS);
    return end(f);
}
