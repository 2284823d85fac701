/* SPDX-License-Identifier: BSD-3-Clause
 * See curve.h. A ray that bends is a chain of straight stretches, one a step of leapfrog, and each is
 * intersected with the scene. So whatever stands in the medium is met where the curve meets it. A ray in
 * another medium is one stretch; it costs one trip of the loop.
 *
 * The vertex at the end keeps the last stretch and the number of steps. From these the derivatives find the
 * way back (ray.c). The number of steps and the stretch that meets a surface are detached: a hit that moves
 * over the end of a stretch goes on smoothly, up to the error of a step. */
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/vertex/vertex.h"

/* A stretch is intersected up to a little beyond its end, so that rounding loses no hit between two. */
static const float overlap = 1.0001f;

_Static_assert((int)CURVE_NUMBERS_MOST == (int)EIKONAL_NUMBERS_MOST, "a curve keeps a state");

/* ---- laws of media ---- */

static medium_index law_index(tracer *t, const eikonal_law *law, vec3 p)
{
    const class_node *n = law->of;
    return medium_of(n)->index(t, n, law->record, p);
}

static color law_extinction(tracer *t, const eikonal_law *law, vec3 p)
{
    return medium_absorption(t, law->of, law->record, p);
}

static color law_emission(tracer *t, const eikonal_law *law, vec3 p)
{
    return medium_glow(t, law->of, law->record, p);
}

static eikonal_law law_of(tracer *t, const void *of, ir_ref record)
{
    const class_node *n = of;
    return (eikonal_law){.of = n,
                         .record = record,
                         .step = medium_of(n)->step(t, n, record),
                         .index = law_index,
                         .extinction = medium_absorbs(n) ? law_extinction : NULL,
                         .emission = medium_glows(n) ? law_emission : NULL};
}

/* ---- traced functions ---- */

/* A new function whose first parameters are the record and `count` numbers. */
static ir_func *declare(walk *w, const char *name, bool differentiated, uint32_t count, tracer *t,
                        ir_ref *record, ir_ref *in)
{
    ir_func *f = ir_func_create(w->t.f->module, name);
    *t = walk_function_tracer(w, f, differentiated);
    *record = ir_param(f, IR_U32);
    for (uint32_t k = 0; k < count; k++)
        in[k] = ir_param(f, IR_F32);
    return f;
}

static uint32_t numbers(const walk *w) { return w->bends_lit ? 6 + 2 * w->t.channels : 6; }

/* (record, o, d) -> state, length of a step over that of w, most steps (u32) */
static ir_func *make_begin(walk *w, const class_node *n)
{
    tracer t;
    ir_ref record, in[6], out[EIKONAL_NUMBERS_MOST + 2];
    ir_func *f = declare(w, "eikonal_begin", false, 6, &t, &record, in);
    eikonal_law law = law_of(&t, n, record);
    eikonal_state s = eikonal_begin(&t, &law, vec3_at(in), vec3_at(in + 3));
    uint32_t count = eikonal_pack(&t, w->bends_lit, &s, out);
    out[count] = law.step, out[count + 1] = medium_of(n)->steps(&t, n, record);
    ir_return(f, out, count + 2);
    return f;
}

static ir_func *make_step(walk *w, const class_node *n)
{
    tracer t;
    ir_ref record, in[EIKONAL_NUMBERS_MOST], out[EIKONAL_NUMBERS_MOST];
    ir_func *f = declare(w, "eikonal_step", false, numbers(w), &t, &record, in);
    eikonal_law law = law_of(&t, n, record);
    eikonal_state s = eikonal_unpack(&t, w->bends_lit, in);
    s = eikonal_step(&t, &law, &s);
    ir_return(f, out, eikonal_pack(&t, w->bends_lit, &s, out));
    return f;
}

/* (record, state, p) -> the state with p in the place of x and v, of unit length, in that of w */
static ir_func *make_arrive(walk *w, const class_node *n, bool differentiated)
{
    tracer t;
    ir_ref record, in[EIKONAL_NUMBERS_MOST + 3], out[EIKONAL_NUMBERS_MOST];
    ir_func *f = declare(w, differentiated ? "eikonal_arrive_differentiated" : "eikonal_arrive",
                         differentiated, numbers(w) + 3, &t, &record, in);
    eikonal_law law = law_of(&t, n, record);
    eikonal_state s = eikonal_unpack(&t, w->bends_lit, in);
    vec3 p = vec3_at(in + numbers(w));
    eikonal_arrival a = eikonal_arrive(&t, &law, &s, p);
    s = (eikonal_state){p, v3_normalize(&t, a.v), a.thickness, a.emitted};
    ir_return(f, out, eikonal_pack(&t, w->bends_lit, &s, out));
    return f;
}

static ir_func *make_flown(walk *w, const class_node *n)
{
    eikonal_plan p = {.t = walk_function_tracer(w, NULL, true),
                      .lit = w->bends_lit,
                      .runs = w->pass == RENDER_FROZEN,
                      .law = law_of,
                      .of = n};
    return eikonal_flown(w->t.f->module, &p);
}

/* Calls go by the class of a medium. In the places of straight media, which are never called, stand functions
 * of another one. */
static void fill(const class_list *media, ir_func **functions, uint32_t with)
{
    for (uint32_t i = 0; functions && i < media->count; i++)
        if (!medium_bends(media->data[i]))
            functions[i] = functions[with];
}

void eikonal_functions(walk *w)
{
    const class_list *media = &w->plan->media;
    size_t size = media->count * sizeof(ir_func *);
    arena *a = &w->t.f->module->arena;
    walk_functions *fn = &w->fn;
    fn->eikonal_begin = arena_alloc(a, size), fn->eikonal_step = arena_alloc(a, size);
    fn->eikonal_arrive = arena_alloc(a, size);
    bool differentiated = w->motion->chains;
    if (differentiated)
        fn->eikonal_flown = arena_alloc(a, size), fn->eikonal_arrive_differentiated = arena_alloc(a, size);
    for (uint32_t i = 0; i < media->count; i++)
        w->bends_lit |= medium_absorbs(media->data[i]) || medium_glows(media->data[i]);
    uint32_t some = 0;
    for (uint32_t i = 0; i < media->count; i++) {
        const class_node *n = media->data[i];
        if (!medium_bends(n))
            continue;
        some = i;
        fn->eikonal_begin[i] = make_begin(w, n), fn->eikonal_step[i] = make_step(w, n);
        fn->eikonal_arrive[i] = make_arrive(w, n, false);
        if (differentiated)
            fn->eikonal_flown[i] = make_flown(w, n),
            fn->eikonal_arrive_differentiated[i] = make_arrive(w, n, true);
    }
    fill(media, fn->eikonal_begin, some), fill(media, fn->eikonal_step, some);
    fill(media, fn->eikonal_arrive, some), fill(media, fn->eikonal_flown, some);
    fill(media, fn->eikonal_arrive_differentiated, some);
}

/* Where `when`: calls the function of the medium with the arguments in[1..count], and numbers[k] becomes its
 * result k, for k in [first, end). Elsewhere numbers stay. */
static void call_where(walk *w, const walk_curve *c, ir_ref when, ir_func *const *functions, ir_ref *in,
                       uint32_t count, ir_ref *numbers, uint32_t first, uint32_t end)
{
    BL_ASSERT(functions, "a function of bent rays that pass %d has not", (int)w->pass);
    ir_func *f = w->t.f;
    ir_ref out[EIKONAL_NUMBERS_MOST + 2], branch = ir_if(f, when);
    in[0] = c->record;
    ir_call(f, c->cls, functions, w->plan->media.count, in, count + 1, out);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = first; k < end; k++)
        numbers[k] = ir_phi(f, branch, out[k], numbers[k]);
}

/* ---- the way ---- */

/* The word of the medium, or of another one where there is none. */
static ir_ref some_medium(walk *w, ir_ref medium)
{
    tracer *t = &w->t;
    ir_ref none = t_u32(t, 0);
    return ir_select(t->f, ir_ne(t->f, medium, none), medium, t_word(t, none, HEADER_MEDIA));
}

ir_ref eikonal_bends(walk *w, ir_ref medium)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref cls = t_word(t, some_medium(w, medium), MEDIUM_CLASS), is = ir_bool(f, false);
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        if (medium_bends(w->plan->media.data[i]))
            is = ir_or(f, is, ir_eq(f, cls, t_u32(t, i)));
    return ir_and(f, is, ir_ne(f, medium, t_u32(t, 0)));
}

/* A ray on its way, with what its last stretch has met. */
typedef struct traveller {
    ir_ref s[EIKONAL_NUMBERS_MOST];
    ir_ref steps, going; /* u32; bool */
    walk_hit hit;
} traveller;

static void state_traveller(const walk *w, loop_state *l, traveller *r)
{
    state_refs(l, r->s, numbers(w));
    state_ref(l, &r->steps), state_ref(l, &r->going);
    state_ref(l, &r->hit.valid), state_ref(l, &r->hit.entry), state_ref(l, &r->hit.t);
    state_vec2(l, &r->hit.b);
    if (w->plan->scene->has_groups)
        state_ref(l, &r->hit.level);
}

/* What begin returns, where the ray bends; else the ray itself as one stretch. */
static traveller set_out(walk *w, const walk_position *at, const walk_curve *c, ir_ref *step, ir_ref *most)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t n = numbers(w);
    ir_ref in[7], begun[EIKONAL_NUMBERS_MOST + 2], zero = t_f32(t, 0), none = t_u32(t, 0);
    color dark = color_all(zero);
    eikonal_state straight = {at->o, at->d, dark, dark};
    vec3_put(at->o, in + 1), vec3_put(at->d, in + 4);
    traveller r = {.steps = none,
                   .going = ir_bool(f, true),
                   .hit = {.valid = ir_bool(f, false),
                           .entry = walk_no_entry(t),
                           .level = walk_no_level(t),
                           .t = zero,
                           .b = {zero, zero}}};
    eikonal_pack(t, w->bends_lit, &straight, begun);
    begun[n] = zero, begun[n + 1] = none;
    call_where(w, c, c->bends, w->fn.eikonal_begin, in, 6, begun, 0, n + 2);
    memcpy(r.s, begun, n * sizeof *begun);
    *step = begun[n], *most = begun[n + 1];
    return r;
}

/* One trip: intersects the stretch, and steps on if there is nothing on it. */
static void travel(walk *w, const walk_position *at, const walk_curve *c, ir_ref step, ir_ref most,
                   traveller *r)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t n = numbers(w);
    vec3 along = vec3_at(r->s + 3);
    ir_ref speed = v3_length(t, along), length = ir_mul(f, ir_mul(f, speed, step), t_f32(t, overlap));
    vec3 d = v3_select(t, c->bends, v3_scale(t, along, ir_div(f, t_f32(t, 1), speed)), at->d);
    r->hit = walk_closest(w, vec3_at(r->s), d, ir_select(f, c->bends, length, at->tmax));
    r->going = ir_and(f, ir_and(f, c->bends, ir_not(f, r->hit.valid)), ir_lt(f, r->steps, most));
    ir_ref in[EIKONAL_NUMBERS_MOST + 1];
    memcpy(in + 1, r->s, n * sizeof *in);
    call_where(w, c, r->going, w->fn.eikonal_step, in, n, r->s, 0, n);
    r->steps = ir_add(f, r->steps, ir_to_u32(f, r->going));
}

/* The ray at the point p of its last stretch, which begins at `last`. v has unit length; it is `straight`
 * where the ray has not bent. */
static eikonal_arrival arrive(walk *w, const walk_curve *c, ir_func *const *functions, const ir_ref *last,
                              vec3 p, vec3 straight)
{
    uint32_t n = numbers(w);
    ir_ref in[EIKONAL_NUMBERS_MOST + 4], there[EIKONAL_NUMBERS_MOST];
    memcpy(in + 1, last, n * sizeof *in), memcpy(there, last, n * sizeof *there);
    vec3_put(p, in + 1 + n), vec3_put(straight, there + 3);
    call_where(w, c, c->bends, functions, in, n + 3, there, 3, n);
    eikonal_state end = eikonal_unpack(&w->t, w->bends_lit, there);
    return (eikonal_arrival){end.w, end.thickness, end.emitted};
}

interaction eikonal_intersect(walk *w, walk_position *at, walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_curve c = {.bends = ir_and(f, eikonal_bends(w, at->medium), ir_ge(f, at->tmax, t_f32(t, 0)))};
    ir_ref medium = some_medium(w, ir_select(f, c.bends, at->medium, t_u32(t, 0))), step, most;
    c.cls = t_word(t, medium, MEDIUM_CLASS), c.record = t_word(t, medium, MEDIUM_RECORD);
    traveller r = set_out(w, at, &c, &step, &most);
    loop_state state = {0}, next = {0};
    state_traveller(w, &state, &r);
    ir_ref loop = state_loop(f, &state);
    state_traveller(w, &state, &r);
    ir_while(f, r.going);
    travel(w, at, &c, step, most, &r);
    state_traveller(w, &next, &r);
    state_endloop(f, loop, &state, &next);
    state_traveller(w, &state, &r);
    state_end(&state);
    memcpy(c.state, r.s, sizeof c.state);
    c.steps = r.steps;
    vec3 x = vec3_at(r.s), along = vec3_at(r.s + 3);
    r.hit.o = x, r.hit.d = v3_select(t, c.bends, v3_normalize(t, along), at->d);
    interaction si = walk_surface(w, &r.hit, w->fn.interact);
    r.hit.p = si.p;
    vec3 nowhere = v3_add(t, x, along); /* any point on the stretch */
    eikonal_arrival end =
        arrive(w, &c, w->fn.eikonal_arrive, r.s, v3_select(t, si.valid, si.p, nowhere), at->d);
    c.d = at->d = end.v, c.thickness = end.thickness, c.emitted = end.emitted;
    v->met = r.hit, v->curve = c;
    return si;
}

eikonal_passage eikonal_passed(walk *w, const walk_curve *way)
{
    tracer *t = &w->t;
    BL_ASSERT(w->bends_lit, "light of bent rays in pass %d", (int)w->pass);
    COLOR_EACH(left, ir_exp(t->f, ir_neg(t->f, way->thickness.c[c])));
    return (eikonal_passage){way->emitted, left};
}

/* ---- differentiated ---- */

eikonal_state eikonal_last_stretch(walk *w, const walk_curve *c, walk_ray from)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t n = numbers(w);
    ir_ref in[8 + EIKONAL_NUMBERS_MOST], last[EIKONAL_NUMBERS_MOST];
    vec3_put(from.o, in + 1), vec3_put(from.d, in + 4);
    in[7] = c->steps;
    for (uint32_t k = 0; k < n; k++)
        in[8 + k] = ir_detach(f, c->state[k]);
    color dark = color_all(t_f32(t, 0));
    eikonal_pack(t, w->bends_lit, &(eikonal_state){from.o, from.d, dark, dark}, last);
    call_where(w, c, c->bends, w->fn.eikonal_flown, in, 7 + n, last, 0, n);
    return eikonal_unpack(t, w->bends_lit, last);
}

eikonal_arrival eikonal_arrives(walk *w, const walk_curve *c, const eikonal_state *s, vec3 p)
{
    ir_ref last[EIKONAL_NUMBERS_MOST];
    eikonal_pack(&w->t, w->bends_lit, s, last);
    return arrive(w, c, w->fn.eikonal_arrive_differentiated, last, p, s->w);
}
