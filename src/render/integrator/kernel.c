/* SPDX-License-Identifier: BSD-3-Clause
 * Around the walk: see kernel.h. Lane = pixel * strips + strip, so that neighbouring lanes share a pixel and walk alike; a strip is a fixed
 * share of the pixel's samples, whatever the device and the slicing (contracts.md, Lanes). */
#include "render/integrator/kernel.h"
#include "spirv_gen/ad/ad.h"

/* ---- loop state ---- */

void state_put(loop_state *s, ir_ref r)
{
    BL_ASSERT(s->count < STATE_MOST, "%u values of loop state", s->count);
    s->r[s->count++] = r;
}
void state_put_vec3(loop_state *s, vec3 v) { state_put(s, v.x), state_put(s, v.y), state_put(s, v.z); }
void state_put_color(loop_state *s, color v)
{
    for (int c = 0; c < 3; c++)
        state_put(s, v.c[c]);
}
ir_ref state_get(loop_state *s)
{
    BL_ASSERT(s->cursor < s->count, "state %u of %u", s->cursor, s->count);
    return s->r[s->cursor++];
}
vec3 state_get_vec3(loop_state *s)
{
    ir_ref x = state_get(s), y = state_get(s), z = state_get(s);
    return v3(x, y, z);
}
color state_get_color(loop_state *s)
{
    color v;
    for (int c = 0; c < 3; c++)
        v.c[c] = state_get(s);
    return v;
}

/* `other` where the condition does not hold. */
static void state_select(tracer *t, ir_ref condition, loop_state *s, const loop_state *other)
{
    for (uint32_t k = 0; k < s->count; k++)
        s->r[k] = ir_select(t->f, condition, s->r[k], other->r[k]);
}

/* Whether a walk must know the vertex before. */
static bool keeps_last(const walk *w) { return walk_moves(w, MOVE_HITS) && walk_tracks(w); }

static void put_hit(const walk *w, loop_state *s, const walk_hit *h)
{
    state_put(s, h->valid), state_put(s, h->entry), state_put(s, h->t), state_put(s, h->b.x), state_put(s, h->b.y);
    if (w->plan->scene->has_groups)
        state_put(s, h->level);
    if (walk_moves(w, MOVE_PLACES))
        state_put(s, h->slides);
    state_put_vec3(s, h->o), state_put_vec3(s, h->d), state_put_vec3(s, h->p);
}

static walk_hit get_hit(const walk *w, loop_state *s)
{
    walk_hit h = {0};
    h.valid = state_get(s), h.entry = state_get(s), h.t = state_get(s), h.b.x = state_get(s), h.b.y = state_get(s);
    if (w->plan->scene->has_groups)
        h.level = state_get(s);
    if (walk_moves(w, MOVE_PLACES))
        h.slides = state_get(s);
    h.o = state_get_vec3(s), h.d = state_get_vec3(s), h.p = state_get_vec3(s);
    return h;
}

static void put_ray(const walk *w, loop_state *s, walk_ray moving)
{
    ir_ref r[RAY_MOST];
    uint32_t count = follow_pack(w, moving, r);
    for (uint32_t k = 0; k < count; k++)
        state_put(s, r[k]);
}

static walk_ray get_ray(const walk *w, loop_state *s)
{
    s->cursor += follow_width(w);
    return follow_unpack(w, s->r + s->cursor - follow_width(w));
}

void state_put_position(const walk *w, loop_state *s, const walk_position *at)
{
    state_put(s, at->sample), state_put(s, at->depth), state_put(s, at->tmax), state_put(s, at->pdf), state_put(s, at->delta);
    state_put_vec3(s, at->o), state_put_vec3(s, at->d);
    if (w->weighted)
        state_put(s, at->weight);
    if (w->volumetric)
        state_put(s, at->event), state_put(s, at->medium), state_put_vec3(s, at->scattered);
    if (w->spectral)
        state_put_color(s, at->share);
    if (w->follows)
        state_put(s, at->link);
    if (w->attaches)
        state_put(s, at->attached);
    if (w->follows && follow_keeps_now(w))
        put_ray(w, s, at->now);
    if (keeps_last(w))
        put_hit(w, s, &at->last);
}

walk_position state_get_position(walk *w, loop_state *s)
{
    walk_position at = {.share = color_all(t_f32(&w->t, 1.0f / 3))};
    at.sample = state_get(s), at.depth = state_get(s), at.tmax = state_get(s), at.pdf = state_get(s), at.delta = state_get(s);
    at.o = state_get_vec3(s), at.d = state_get_vec3(s);
    if (w->weighted)
        at.weight = state_get(s);
    if (w->volumetric)
        at.event = state_get(s), at.medium = state_get(s), at.scattered = state_get_vec3(s);
    if (w->spectral)
        at.share = state_get_color(s);
    if (w->follows)
        at.link = state_get(s), at.now = (walk_ray){at.o, at.d, at.pdf};
    if (w->attaches)
        at.attached = state_get(s);
    if (w->follows && follow_keeps_now(w))
        at.now = get_ray(w, s);
    if (keeps_last(w))
        at.last = get_hit(w, s);
    return at;
}

void state_put_throughput(loop_state *s, const throughput *b)
{
    state_put(s, b->eta);
    state_put_color(s, b->beta);
    for (int c = 0; c < 3; c++)
        state_put(s, b->zeros[c]);
}

throughput state_get_throughput(loop_state *s)
{
    throughput b;
    b.eta = state_get(s);
    b.beta = state_get_color(s);
    for (int c = 0; c < 3; c++)
        b.zeros[c] = state_get(s);
    return b;
}

/* ---- module and lane ---- */

ir_module *kernel_module(const plan *p)
{
    ir_module *m = ir_module_create();
    static const struct {
        const char *name;
        bool constant;
        int32_t gradient;
    } buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {"scene", true, -1},      [BUFFER_VALUES] = {"values", true, BUFFER_GRADIENT},
        [BUFFER_GRADIENT] = {"gradient", false, -1}, [BUFFER_FILM] = {"film", false, -1},
        [BUFFER_STATUS] = {"status", false, -1},   [BUFFER_ADJOINT] = {"adjoint", true, -1},
        [BUFFER_FROZEN] = {"frozen", true, -1},    [BUFFER_SCALE] = {"scale", true, -1},
        [BUFFER_SAMPLES] = {"samples", false, -1},
        [BUFFER_TANGENT] = {"tangent", true, -1},
    };
    for (int k = 0; k < BUFFER_COUNT; k++)
        ir_buffer_add(m, buffers[k].name, buffers[k].constant, buffers[k].gradient);
    m->no_fold = p->off & PLAN_FOLD, m->no_merge = p->off & PLAN_NUMBER;
    m->buffers.data[BUFFER_VALUES].tangent = BUFFER_TANGENT;
    if (p->baked) {
        m->buffers.data[BUFFER_SCENE].known = p->words.data;
        m->buffers.data[BUFFER_SCENE].known_count = p->sensor_moves ? plan_sensor_word(p) : p->words.count;
    }
    return m;
}

lane kernel_lane(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    m->entry = f;
    ir_ref id = ir_global_id(f), strips = ir_uniform(f, IR_U32, UNIFORM_STRIPS), spp = ir_uniform(f, IR_U32, UNIFORM_SPP);
    ir_ref index = ir_add(f, id, ir_uniform(f, IR_U32, UNIFORM_FIRST_LANE));
    w->seed = ir_uniform(f, IR_U32, UNIFORM_SEED);
    w->stream = ir_uniform(f, IR_U32, UNIFORM_STREAM);
    w->spp = spp;
    w->pixel = ir_div(f, index, strips);
    ir_ref strip = ir_sub(f, index, ir_mul(f, w->pixel, strips));
    ir_ref pixels = ir_mul(f, ir_uniform(f, IR_U32, UNIFORM_WIDTH), ir_uniform(f, IR_U32, UNIFORM_HEIGHT));
    lane l = {.inside = ir_lt(f, id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT))};
    l.film = ir_mul(f, ir_add(f, ir_mul(f, strip, pixels), w->pixel), t_u32(t, 3));
    /* strip k owns samples [k q + min(k, r), ..) with spp = q strips + r */
    ir_ref q = ir_div(f, spp, strips), r = ir_sub(f, spp, ir_mul(f, q, strips));
    ir_ref start = ir_add(f, ir_mul(f, strip, q), ir_min(f, strip, r));
    ir_ref half = ir_and(f, ir_add(f, strip, t_u32(t, 1)), ir_sub(f, ir_uniform(f, IR_U32, UNIFORM_HALVES), t_u32(t, 1)));
    l.adjoint = ir_mul(f, ir_add(f, w->pixel, ir_mul(f, half, pixels)), t_u32(t, 3));
    ir_ref tile_lane = ir_sub(f, index, ir_uniform(f, IR_U32, UNIFORM_TILE_LANE));
    ir_ref before = ir_mul(f, ir_add(f, start, ir_uniform(f, IR_U32, UNIFORM_TILE_SAMPLE)), ir_uniform(f, IR_U32, UNIFORM_TILE_LANES));
    l.slot = ir_sub(f, tile_lane, before);
    ir_ref own = ir_add(f, q, ir_select(f, ir_lt(f, strip, r), t_u32(t, 1), t_u32(t, 0)));
    l.first = ir_add(f, start, ir_min(f, own, ir_uniform(f, IR_U32, UNIFORM_FIRST_SAMPLE)));
    l.last = ir_add(f, start, ir_min(f, own, ir_uniform(f, IR_U32, UNIFORM_LAST_SAMPLE)));
    l.last = ir_select(f, l.inside, l.last, l.first);
    if (w->plan->scene->max_depth == 0) /* not even the camera's segment: black */
        l.last = l.first;
    return l;
}

/* ---- throughput ---- */

throughput throughput_start(walk *w)
{
    ir_ref zero = t_u32(&w->t, 0), one = t_f32(&w->t, 1);
    return (throughput){color_all(one), {zero, zero, zero}, one};
}

void throughput_restart(walk *w, ir_ref alive, throughput *b)
{
    ir_func *f = w->t.f;
    throughput start = throughput_start(w);
    for (int c = 0; c < 3; c++) {
        b->beta.c[c] = ir_select(f, alive, b->beta.c[c], start.beta.c[c]);
        b->zeros[c] = ir_select(f, alive, b->zeros[c], start.zeros[c]);
    }
    b->eta = ir_select(f, alive, b->eta, start.eta);
}

throughput throughput_select(walk *w, ir_ref condition, const throughput *a, const throughput *b)
{
    loop_state from = {0}, old = {0};
    state_put_throughput(&from, a), state_put_throughput(&old, b);
    state_select(&w->t, condition, &from, &old);
    return state_get_throughput(&from);
}

static color where_zeros(walk *w, const throughput *b, uint32_t count)
{
    tracer *t = &w->t;
    COLOR_EACH(r, ir_select(t->f, ir_eq(t->f, b->zeros[c], t_u32(t, count)), b->beta.c[c], t_f32(t, 0)));
    return r;
}
color throughput_whole(walk *w, const throughput *b) { return where_zeros(w, b, 0); }
color throughput_but_one(walk *w, const throughput *b) { return where_zeros(w, b, 1); }

void throughput_fly(walk *w, const walk_vertex *v, throughput *b)
{
    ir_func *f = w->t.f;
    for (int c = 0; w->media && c < 3; c++) {
        b->beta.c[c] = ir_mul(f, b->beta.c[c], v->flight.weight.c[c]);
        b->zeros[c] = ir_min(f, t_u32(&w->t, 2), ir_add(f, b->zeros[c], v->flight.zeros[c]));
    }
}

passage throughput_pass(walk *w, ir_ref depth, const walk_vertex *v, color value, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), two = t_u32(t, 2);
    ir_ref inverse = t_ratio(t, one, v->sample.pdf);
    color living;
    for (int c = 0; c < 3; c++) {
        ir_ref lost = ir_eq(f, value.c[c], zero);
        b->beta.c[c] = ir_mul(f, b->beta.c[c], ir_mul(f, ir_select(f, lost, one, value.c[c]), inverse));
        b->zeros[c] = ir_min(f, two, ir_add(f, b->zeros[c], ir_to_u32(f, lost)));
        living.c[c] = ir_select(f, ir_lt(f, b->zeros[c], two), b->beta.c[c], zero);
    }
    b->eta = ir_mul(f, b->eta, v->sample.eta);
    ir_ref most = color_max(t, living);
    ir_ref q = walk_survival(w, v, ir_add(f, depth, t_u32(t, 1)), most, b->eta);
    ir_ref survives = ir_lt(f, v->u_roulette, q);
    ir_ref up = t_ratio(t, one, q);
    b->beta = color_scale(t, b->beta, up);
    return (passage){.alive = ir_and(f, ir_and(f, v->goes_on, survives), ir_and(f, ir_gt(f, v->sample.pdf, zero), ir_gt(f, most, zero))),
                     .inverse_pdf = ir_mul(f, inverse, up)};
}

/* ---- positions ---- */

walk_position walk_before(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref none = t_u32(t, 0);
    vec3 origin = v3(zero, zero, zero), up = v3(zero, zero, one);
    return (walk_position){.sample = sample, .depth = none, .o = origin, .d = up, .tmax = t_f32(t, -1),
                           .pdf = one, .delta = ir_bool(t->f, true), .event = none, .medium = none, .scattered = origin,
                           .share = color_all(t_f32(t, 1.0f / 3)), .weight = one, .link = none, .attached = none, .now = {origin, up, one},
                           .last = {.valid = ir_bool(t->f, false), .entry = none, .level = none, .t = zero, .b = {zero, zero}, .o = origin, .d = up, .p = origin,
                                    .slides = ir_bool(t->f, true)}};
}

/* What goes straight through a surface stays as it was, but for where it is. */
static void next_volumetric(walk *w, const walk_position *at, const walk_vertex *v, walk_position *next)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    next->depth = ir_select(f, v->through, at->depth, next->depth);
    next->pdf = ir_select(f, v->through, at->pdf, next->pdf);
    next->delta = ir_select(f, v->through, at->delta, next->delta);
    if (w->media)
        next->delta = ir_or(f, next->delta, ir_not(f, v->samples_light));
    next->event = ir_add(f, at->event, t_u32(t, 1));
    next->medium = v->medium;
    next->scattered = v3_select(t, v->through, at->scattered, v->si.p);
    next->share = w->media ? v->flight.share : at->share;
}

walk_position walk_next(walk *w, walk_position at, const walk_vertex *v, ir_ref alive)
{
    tracer *t = &w->t;
    ir_ref pdf = v->sample.pdf;
    if (w->behind_null) {
        ir_ref through = ir_and(t->f, v->sample.delta, ir_ge(t->f, v->sample.lobe, t_u32(t, LOBE_NULL)));
        pdf = ir_select(t->f, through, at.pdf, pdf); /* nobody asks for the density of a discrete lobe */
    }
    walk_position next = {.sample = at.sample, .depth = ir_add(t->f, at.depth, t_u32(t, 1)), .o = v->next_o, .d = v->next_d,
                          .tmax = ir_select(t->f, alive, t_f32(t, 1e30f), t_f32(t, -1)), .pdf = pdf, .delta = v->sample.delta, .weight = at.weight,
                          .link = w->follows ? v->onward : at.link, .now = {v->next_o, v->next_d, pdf}};
    if (w->attaches)
        next.attached = attached_next(w, v);
    if (keeps_last(w)) {
        next.last = v->hit_place;
        next.last.valid = ir_and(t->f, ir_and(t->f, next.last.valid, alive), ir_not(t->f, v->sample.delta));
    }
    if (w->volumetric)
        next_volumetric(w, &at, v, &next);
    return next;
}

walk_position position_select(walk *w, ir_ref condition, walk_position a, walk_position b)
{
    loop_state from = {0}, old = {0};
    state_put_position(w, &from, &a), state_put_position(w, &old, &b);
    state_select(&w->t, condition, &from, &old);
    return state_get_position(w, &from);
}

walk_position walk_restart(walk *w, ir_ref alive, walk_position at)
{
    ir_ref none = t_u32(&w->t, 0);
    at.depth = ir_select(w->t.f, alive, at.depth, none);
    if (w->volumetric)
        at.event = ir_select(w->t.f, alive, at.event, none);
    return at;
}

static void start_following(walk *w, ir_ref branch, const walk_position *camera, walk_position *at)
{
    ir_func *f = w->t.f;
    at->link = ir_phi(f, branch, camera->link, at->link);
    if (w->attaches)
        at->attached = ir_phi(f, branch, camera->attached, at->attached);
    if (!follow_keeps_now(w))
        return;
    ir_ref from[RAY_MOST], old[RAY_MOST];
    uint32_t count = follow_pack(w, camera->now, from);
    follow_pack(w, at->now, old);
    for (uint32_t k = 0; k < count; k++)
        old[k] = ir_phi(f, branch, from[k], old[k]);
    at->now = follow_unpack(w, old);
}

walk_position walk_start(walk *w, ir_ref fresh, walk_position at)
{
    ir_func *f = w->t.f;
    ir_ref branch = ir_if(f, fresh);
    walk_position camera = walk_camera(w, at.sample);
    if (w->follows)
        follow_start(w, &camera);
    ir_else(f);
    ir_endif(f);
    if (w->volumetric) {
        at.medium = ir_phi(f, branch, camera.medium, at.medium);
        ir_ref x = ir_phi(f, branch, camera.scattered.x, at.scattered.x), y = ir_phi(f, branch, camera.scattered.y, at.scattered.y);
        at.scattered = v3(x, y, ir_phi(f, branch, camera.scattered.z, at.scattered.z));
    }
    for (int c = 0; w->spectral && c < 3; c++)
        at.share.c[c] = ir_phi(f, branch, camera.share.c[c], at.share.c[c]);
    if (w->follows)
        start_following(w, branch, &camera, &at);
    const ir_ref from[10] = {camera.o.x, camera.o.y, camera.o.z, camera.d.x, camera.d.y, camera.d.z, camera.tmax, camera.pdf, camera.delta, camera.weight};
    const ir_ref old[10] = {at.o.x, at.o.y, at.o.z, at.d.x, at.d.y, at.d.z, at.tmax, at.pdf, at.delta, at.weight};
    ir_ref r[10];
    for (int k = 0; k < 9 + w->weighted; k++)
        r[k] = ir_phi(f, branch, from[k], old[k]);
    at.o = v3(r[0], r[1], r[2]), at.d = v3(r[3], r[4], r[5]);
    if (w->follows && !follow_keeps_now(w))
        at.now = (walk_ray){at.o, at.d, r[7]};
    at.tmax = r[6], at.pdf = r[7], at.delta = r[8];
    if (w->weighted)
        at.weight = r[9];
    if (keeps_last(w))
        at.last.valid = ir_and(f, at.last.valid, ir_not(f, fresh));
    return at;
}

/* ---- film ---- */

color kernel_load_sum(walk *w, ir_ref word, ir_ref inside)
{
    tracer *t = &w->t;
    ir_ref at = ir_select(t->f, inside, word, t_u32(t, 0));
    COLOR_EACH(r, ir_load(t->f, IR_F32, BUFFER_FILM, t_offset(t, at, c)));
    return r;
}

void kernel_store_sum(walk *w, ir_ref word, ir_ref inside, color sum)
{
    tracer *t = &w->t;
    ir_if(t->f, inside);
    for (unsigned c = 0; c < 3; c++)
        ir_store(t->f, BUFFER_FILM, t_offset(t, word, c), sum.c[c]);
    ir_else(t->f);
    ir_endif(t->f);
}

/* ---- small things ---- */

void kernel_count(walk *w, ir_ref condition, enum status_word word) { kernel_count_at(w, condition, t_u32(&w->t, word)); }

void kernel_count_at(walk *w, ir_ref condition, ir_ref word)
{
    tracer *t = &w->t;
    ir_if(t->f, condition);
    ir_atomic_add(t->f, BUFFER_STATUS, word, t_u32(t, 1));
    ir_else(t->f);
    ir_endif(t->f);
}

ir_ref color_finite(tracer *t, color c)
{
    ir_func *f = t->f;
    ir_ref most = t_f32(t, 1e30f);
    return ir_and(f, ir_lt(f, ir_abs(f, c.c[0]), most), ir_and(f, ir_lt(f, ir_abs(f, c.c[1]), most), ir_lt(f, ir_abs(f, c.c[2]), most)));
}

void color_backward(tracer *t, color value, color seed) { ad_backward(t->f, value.c, seed.c, 3, NULL, NULL, 0); }

void two_float_add(tracer *t, ir_ref *number, ir_ref *error, ir_ref v)
{
    ir_func *f = t->f;
    ir_ref sum = ir_add(f, *number, v), part = ir_sub(f, sum, *number);
    ir_ref lost = ir_add(f, ir_sub(f, *number, ir_sub(f, sum, part)), ir_sub(f, v, part));
    *number = sum;
    *error = ir_add(f, *error, lost);
}

/* ---- the entrance ---- */

static bl_result trace_walk(const plan *p, render_pass pass, const render_trace_options *o, ir_module *m)
{
    static const char *const names[RENDER_PASS_COUNT] = {"primal", "variance", "channels", "gradient", "replay", "adjoint", "tape", "tape adjoint", "frozen", "unrolled", "forward"};
    const render_scene *s = p->scene;
    walk w = {.plan = p, .pass = pass, .next_event = s->use_next_event && !(o && o->no_next_event), .bsdf_emission = s->use_bsdf_sampling};
    TRY(walk_begin(&w, m, ir_func_create(m, names[pass])));
    if (pass == RENDER_CHANNELS)
        return kernel_channels(&w, m, s->channels.data, s->channels.count, false);
    if (s->light_tracing)
        return kernel_light(&w, m);
    if (s->depth_image && (pass == RENDER_PRIMAL || pass == RENDER_VARIANCE)) {
        static const render_channel grey[3] = {{.kind = CHANNEL_DEPTH}, {.kind = CHANNEL_DEPTH}, {.kind = CHANNEL_DEPTH}};
        return kernel_channels(&w, m, grey, 3, pass == RENDER_VARIANCE);
    }
    if (pass == RENDER_PRIMAL || pass == RENDER_VARIANCE)
        return kernel_primal(&w, m);
    if (pass == RENDER_GRADIENT || pass == RENDER_REPLAY || pass == RENDER_ADJOINT)
        return kernel_gradient(&w, m);
    if (pass == RENDER_TAPE)
        return kernel_tape(&w, m);
    if (pass == RENDER_TAPE_ADJOINT)
        return kernel_tape_adjoint(&w, m);
    if (pass == RENDER_FORWARD)
        return kernel_forward(&w, m);
    return kernel_tracked(&w, m, pass == RENDER_UNROLLED ? o->unrolled_depth : 0);
}

bl_result render_trace(const plan *p, render_pass pass, const render_trace_options *o, ir_module **out, bl_error *err)
{
    ir_module *m = kernel_module(p);
    bl_result r = pass == RENDER_UPDATE           ? kernel_update(p, m)
                  : pass == RENDER_UPDATE_ADJOINT ? kernel_update_adjoint(p, m, o && o->fixed_point)
                  : pass == RENDER_TABLES         ? kernel_tables(p, m)
                  : pass == RENDER_UPDATE_TANGENT ? kernel_update_tangent(p, m)
                  : pass == RENDER_GEOMETRY       ? kernel_geometry(p, m)
                  : pass == RENDER_GEOMETRY_ADJOINT ? kernel_geometry_adjoint(p, m, o && o->fixed_point)
                  : pass == RENDER_GEOMETRY_TANGENT ? kernel_geometry_tangent(p, m)
                                                  : trace_walk(p, pass, o, m);
    if (r == BL_OK)
        r = ir_finish(m, err);
    if (r != BL_OK) {
        ir_module_destroy(m);
        return r;
    }
    *out = m;
    return BL_OK;
}
