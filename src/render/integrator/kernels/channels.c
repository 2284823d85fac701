/* SPDX-License-Identifier: BSD-3-Clause
 * Channels of a camera ray's first hit, as images: depth, position, normals, indices, albedo (Mitsuba's aov
 * and depth), and coverage (the alpha channel). One ray per sample, the same as the image's with the same
 * seed and weighted by the same filter. If nothing is hit, a channel is 0. A radiance field counts for
 * coverage only. Detached.
 *
 * Stokes vectors (Mitsuba's stokes) are of the whole path, which is the image's path. The image has its first
 * row alone; here all four are walked (docs/theory/polarized_replay.md). */
#include "render/integrator/kernels/kernels.h"
#include "render/integrator/vertex/plugin_functions.h"

enum { CHANNEL_VALUES_MOST = 12 };

typedef struct coverage_state {
    walk_position at;
    ir_ref seen, going; /* bool */
    ir_ref left;        /* where field_any: what the radiance field has let through so far */
} coverage_state;

static void state_coverage(walk *w, loop_state *s, coverage_state *p)
{
    state_position(w, s, &p->at);
    state_ref(s, &p->seen), state_ref(s, &p->going);
    if (field_any(w))
        state_ref(s, &p->left);
}

/* The ray up to a surface whose material samples another lobe than a null lobe; `seen` tells whether there is
 * one. Through null lobes the ray goes on, in a loop over these surfaces. */
static coverage_state coverage_behind_null(walk *w, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    coverage_state p = {.at = at, .seen = ir_bool(f, false), .going = ir_bool(f, true)};
    if (field_any(w))
        p.left = t_f32(t, 1);
    loop_state state = {0}, next = {0};
    state_coverage(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_coverage(w, &state, &p);
    ir_while(f, p.going);
    walk_vertex v = walk_visit(w, p.at);
    if (field_any(w)) {
        field_segment s = field_segment_to(w, &p.at, &v);
        p.left = ir_mul(f, p.left, field_march(w, &s, ir_bool(f, true), false).left);
    }
    ir_ref through = ir_and(f, v.sample.delta, ir_ge(f, v.sample.lobe, t_u32(t, LOBE_NULL)));
    p.going = ir_and(f, through, ir_and(f, v.goes_on, ir_gt(f, v.sample.pdf, t_f32(t, 0))));
    p.seen = ir_or(f, p.seen, ir_and(f, v.si.valid, ir_not(f, through)));
    p.at = walk_next(w, p.at, &v, p.going);
    state_coverage(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    state_coverage(w, &state, &p);
    state_end(&state);
    return p;
}

/* 1 if the ray hits a surface that is neither transparent nor a hidden light, or if there is an environment
 * that is not hidden and the integrator shows it; else 0, or what a radiance field absorbs of the light
 * behind it. */
static ir_ref coverage(walk *w, const interaction *si, walk_position at)
{
    tracer *t = &w->t;
    const render_scene *s = w->plan->scene;
    if (s->ellipsoid_field) /* in Mitsuba all of its image is opaque */
        return t_f32(t, 1);
    if (s->environment != PLAN_NONE && !s->hide_emitters && s->sees_through)
        return t_f32(t, 1);
    if (field_any(w)) {
        coverage_state p = coverage_behind_null(w, at);
        return ir_select(t->f, p.seen, t_f32(t, 1), ir_sub(t->f, t_f32(t, 1), p.left));
    }
    ir_ref seen = si->valid;
    if (plan_has_nulls(w->plan) && s->sees_through)
        seen = coverage_behind_null(w, at).seen;
    else if (s->hide_emitters && s->emitters.count > 0)
        seen = walk_intersect(w, walk_skip_lights(w, at), NULL).valid;
    return ir_select(t->f, seen, t_f32(t, 1), t_f32(t, 0));
}

static color albedo(walk *w, const interaction *si, walk_position at)
{
    tracer *t = &w->t;
    frame around = surface_frame(t, si);
    vec3 wi = frame_to_local(t, around, v3_neg(t, at.d));
    ref_list in = refs_for(t_word(t, si->shape, SHAPE_BSDF_RECORD));
    color c = color_all(t_f32(t, 0));
    if (w->plan->bsdfs.count == 0)
        return c;
    bsdf_color_arguments a = {.wi = wi, .uv = si->uv, .on = surface_seen(t, si, around)};
    bsdf_color_visit(w, &in, &a);
    ir_call(t->f, t_word(t, si->shape, SHAPE_BSDF_CLASS), w->fn.bsdf_albedo, w->plan->bsdfs.count, in.at,
            in.count, c.c);
    return c;
}

static void state_stokes(walk *w, loop_state *s, radiance_walk *p, ir_ref *going)
{
    state_position(w, s, &p->at);
    state_color(s, &w->t, &p->beta), state_color(s, &w->t, &p->radiance);
    state_ref(s, &p->eta), state_ref(s, going);
    state_polarized(w, s, p);
}

/* The Stokes vectors of the light along the ray: entry by entry three numbers. They are 0 where an entry is
 * not finite, as the image is. */
static void stokes_vectors(walk *w, walk_position at, ir_ref out[CHANNEL_VALUES_MOST])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref going = ir_bool(f, true), finite = going;
    walk_set_wavelengths(w, at.sample);
    radiance_walk p = radiance_start(w, &at);
    polarized_start_whole(w, &p, walk_camera_basis(w, at.sample, at.d));
    loop_state state = {0}, next = {0};
    state_stokes(w, &state, &p, &going);
    ir_ref loop = state_loop(f, &state);
    state_stokes(w, &state, &p, &going);
    ir_while(f, going);
    radiance_vertex(w, &p, &going);
    state_stokes(w, &next, &p, &going);
    state_endloop(f, loop, &state, &next);
    state_stokes(w, &state, &p, &going);
    state_end(&state);
    const color entry[4] = {p.radiance, p.others.found[0], p.others.found[1], p.others.found[2]};
    for (int k = 0; k < 4; k++) {
        film_value v = film_unweighed(w, entry[k]);
        for (uint32_t c = 0; c < 3; c++)
            out[3 * k + (int)c] = v.c[w->film_channels == 3 ? c : 0];
        finite = ir_and(f, finite, color_finite(t, entry[k]));
    }
    for (int k = 0; k < CHANNEL_VALUES_MOST; k++)
        out[k] = ir_select(f, finite, out[k], t_f32(t, 0));
}

/* Values of a kind of channel at the hit, one per component. */
static void channel_values(walk *w, enum channel_kind kind, const interaction *si, walk_position at,
                           ir_ref out[CHANNEL_VALUES_MOST])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 v = si->p;
    switch (kind) {
    case CHANNEL_ALPHA:
        out[0] = coverage(w, si, at);
        return; /* not 0 where nothing is hit */
    case CHANNEL_STOKES:
        stokes_vectors(w, at, out);
        return;
    case CHANNEL_DEPTH:
        v.x = si->t;
        break;
    case CHANNEL_POSITION:
        break;
    case CHANNEL_UV:
        v.x = si->uv.x, v.y = si->uv.y;
        break;
    case CHANNEL_GEO_NORMAL:
        v = si->ng;
        break;
    case CHANNEL_SH_NORMAL:
        v = si->ns;
        break;
    case CHANNEL_DP_DU:
        v = si->dp_du;
        break;
    case CHANNEL_DP_DV:
        v = si->dp_dv;
        break;
    case CHANNEL_PRIM_INDEX:
        v.x = ir_to_f32(f, t_word(t, si->entry, 11));
        break;
    case CHANNEL_SHAPE_INDEX:
        v.x = ir_to_f32(f, ir_add(f, t_word(t, si->entry, 10),
                                  t_u32(t, 1))); /* from 1 on, as in Mitsuba: 0 is the background */
        break;
    case CHANNEL_ALBEDO: {
        ir_ref rgb[3];
        light_shown(t, albedo(w, si, at), rgb);
        v = vec3_at(rgb);
        break;
    }
    case CHANNEL_KIND_COUNT:
        break;
    }
    out[0] = v.x, out[1] = v.y, out[2] = v.z;
    for (int k = 0; k < 3; k++)
        out[k] = ir_select(f, si->valid, out[k], t_f32(t, 0));
}

typedef struct channels_state {
    ir_ref sample;
    ir_ref sum[STATE_MOST]; /* of each channel, then of its squares */
} channels_state;

static void state_sums_of_channels(loop_state *s, channels_state *p, uint32_t words)
{
    state_ref(s, &p->sample);
    state_refs(s, p->sum, words);
}

bl_result kernel_channels(walk *w, ir_module *m, const render_channel *channels, uint32_t count, bool squares)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    lane l = kernel_lane(w, m);
    uint32_t words = squares ? 2 * count : count;
    BL_ASSERT(words < STATE_MOST, "%u channels", count);
    ir_ref pixels = kernel_pixels(w);
    ir_ref first = ir_mul(f, ir_div(f, l.film, t_u32(t, w->film_channels)), t_u32(t, count)),
           plane = ir_mul(f, pixels, ir_mul(f, ir_uniform(f, IR_U32, UNIFORM_STRIPS), t_u32(t, count)));
    loop_state state = {0}, next = {0};
    channels_state p = {.sample = l.first};
    ir_ref at[STATE_MOST], safe = t_u32(t, 0);
    for (uint32_t k = 0; k < words; k++) {
        at[k] = t_offset(t, k < count ? first : ir_add(f, first, plane), k % count);
        p.sum[k] = ir_load(f, IR_F32, BUFFER_FILM, ir_select(f, l.inside, at[k], safe));
    }
    state_sums_of_channels(&state, &p, words);
    ir_ref loop = state_loop(f, &state);
    state_sums_of_channels(&state, &p, words);
    ir_while(f, ir_lt(f, p.sample, l.last));
    walk_position camera = walk_camera(w, p.sample);
    interaction si = walk_intersect(w, camera, NULL);
    channels_state then = {.sample = ir_add(f, p.sample, t_u32(t, 1))};
    ir_ref values[CHANNEL_VALUES_MOST];
    for (uint32_t k = 0; k < count; k++) {
        if (k == 0 || channels[k].kind != channels[k - 1].kind || channels[k].component == 0)
            channel_values(w, channels[k].kind, &si, camera, values);
        BL_ASSERT(channels[k].component < CHANNEL_VALUES_MOST, "component %u of channel %u",
                  (unsigned)channels[k].component, k);
        ir_ref v = values[channels[k].component];
        then.sum[k] = ir_add(f, p.sum[k], w->weighted ? ir_mul(f, v, camera.weight) : v);
    }
    for (uint32_t k = 0; squares && k < count; k++)
        then.sum[count + k] =
            t_mad(t, ir_sub(f, then.sum[k], p.sum[k]), ir_sub(f, then.sum[k], p.sum[k]), p.sum[count + k]);
    state_sums_of_channels(&next, &then, words);
    state_endloop(f, loop, &state, &next);
    state_sums_of_channels(&state, &p, words);
    state_end(&state);
    ir_if(f, l.inside);
    for (uint32_t k = 0; k < words; k++)
        ir_store(f, BUFFER_FILM, at[k], p.sum[k]);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
