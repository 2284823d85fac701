/* SPDX-License-Identifier: BSD-3-Clause
 * Every class of the renderer, for the registry and for those who refer to one by name; and helpers that
 * several classes share. */
#ifndef BL_RENDER_CLASSES_H
#define BL_RENDER_CLASSES_H

#include "render/film/film.h"
#include "render/integrator/passes.h"
#include "render/medium/media.h"
#include "render/plan.h"
#include "render/plugin_kinds.h"
#include "render/sampler/samplers.h"
#include "render/sensor/sensor.h"
#include "render/shape/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct perturbed_class perturbed_class; /* bsdf/perturbed.h */
#define PLUGIN(type, kind, name) extern const type kind##_##name;
#include "render/plugins.def"
#undef PLUGIN

/* What every shape can hold. */
static const plugin_slot shape_slots[] = {{PLUGIN_BSDF, "bsdf", 0, 1},
                                          {PLUGIN_EMITTER, "emitter", 0, 1},
                                          {PLUGIN_SENSOR, "sensor", 0, 1},
                                          {PLUGIN_MEDIUM, "interior", 0, 1},
                                          {PLUGIN_MEDIUM, "exterior", 0, 1}};
/* A row of every shape's parameters, the last one. */
#define SHAPE_ACCEPTED                                                                                       \
    {                                                                                                        \
        "silhouette_sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e30, "accepted; silhouettes are not sampled" \
    }

/* What every emitter can hold: the medium that it is in, which is accepted; paths know where they are. */
static const plugin_slot emitter_slots[] = {{PLUGIN_MEDIUM, "medium", 0, 1}};

/* What can be done with a plugin (plugin_abilities.c): images; gradients and image derivatives by its
 * parameters, or of an integrator at all; whether it works with volumetric integrators, or is one; whether
 * gradients follow what it moves, or what moves it. NESTED: besides, all that what it holds can do. */
enum plugin_ability {
    ABILITY_IMAGE = 1,
    ABILITY_REVERSE = 2,
    ABILITY_FORWARD = 4,
    ABILITY_IN_MEDIA = 8,
    ABILITY_MOVING = 16,
    ABILITY_NESTED = 32
};
uint32_t render_abilities(const plugin_class *cls);
uint32_t integrator_abilities(const char *name); /* scene_structure.c: of those that hold no other */

/* Textures and volumes beyond their borders. */
enum texture_wrap { WRAP_REPEAT, WRAP_MIRROR, WRAP_CLAMP };
enum texture_wrap texture_wrap_named(const char *name);
/* An integer coordinate (as real, from floor) to [0, size). */
ir_ref texture_wrapped(tracer *t, enum texture_wrap mode, ir_ref at, ir_ref size);
/* A string parameter that must be one of these names (NULL ends them). */
bl_result texture_check_choice(const scene_object *o, const char *param, const char *const *choices,
                               bl_error *err);

/* The same everywhere. */
bool texture_is_constant(const scene_object *texture);
/* The `slope` of such. */
vec2 texture_no_slope(tracer *t, const class_node *n, ir_ref record, vec2 uv);
vec2 texture_transform(tracer *t, ir_ref record, uint32_t word, vec2 uv);
void texture_transform_words(const scene_object *o, uint32_t *words);

/* bsdf/lobe_direction.c: whether the material, or one in it, has a lobe whose samples turn with the normal,
 * being discrete or attached; where a discrete one leads. */
bool bsdf_directions_move(const render_scene *s, const scene_object *bsdf);
vec3 bsdf_lobe_direction(const bsdf_context *ctx, ir_ref lobe);
/* Of any class: its `attached`; its `roughness`, which is the number below where it has none; whether it, or
 * one in it, `mixes`. */
bsdf_attached bsdf_attach(const bsdf_context *ctx, const bsdf_draw *draw);
ir_ref bsdf_roughness(const bsdf_context *ctx, ir_ref lobe);
ir_ref bsdf_smooth_enough(tracer *t, ir_ref roughness); /* bool: a lobe of that roughness is to be attached */
bool bsdf_mixes(const class_node *n);
static inline ir_ref bsdf_detached(tracer *t, ir_ref lobe) { return t_has_bit(t, lobe, LOBE_DETACHED); }
#define BSDF_NEVER_ATTACHED 1e30f

/* ---- filter/filters.c: samples stay in the image's window, as in Mitsuba without `sample_border` ---- Of a
 * pixel that is k pixels from the window's border, words 4k and 4k + 2 say which share of the numbers lie
 * beyond it to the left, and to the right; the word behind each which share of the filter's mass. From
 * FILTER_EDGES - 1 pixels on, none. */
enum { FILTER_EDGES = 33, FILTER_EDGE_WORDS = 4 * FILTER_EDGES };
/* Pixel `at` of `size` (u32) along one axis: u, which the filter's samples are made of, to where samples stay
 * inside; *weight goes along. */
ir_ref filter_within(tracer *t, const filter_class *cls, ir_ref record, ir_ref at, ir_ref size, ir_ref u,
                     ir_ref *weight);

/* The tracing functions behind a node. */
static inline const bsdf_class *bsdf_of(const class_node *n) { return (const bsdf_class *)n->cls; }
/* The same question, asked of the material that is held as child k. */
static inline bsdf_context bsdf_nested(const bsdf_context *ctx, uint32_t k)
{
    bsdf_context nested = *ctx;
    nested.n = ctx->n->child[k];
    nested.record = t_offset(ctx->t, ctx->record, ctx->n->child_word[k]);
    return nested;
}
/* The same question, for reads by another tracer. */
static inline bsdf_context bsdf_read_by(const bsdf_context *ctx, tracer *t)
{
    return (bsdf_context){t, ctx->n, ctx->record, ctx->wi, ctx->uv};
}
/* A material's own textured parameter where it is asked: a colour, a number, the weight of a part
 * (plan_weight). */
static inline color bsdf_texture(const bsdf_context *ctx, const char *param)
{
    return plan_texture(ctx->t, ctx->n, ctx->record, param, ctx->uv);
}
static inline ir_ref bsdf_texture_1(const bsdf_context *ctx, const char *param)
{
    return plan_texture_1(ctx->t, ctx->n, ctx->record, param, ctx->uv);
}
static inline ir_ref bsdf_weight(const bsdf_context *ctx, const char *param)
{
    return plan_weight(ctx->t, ctx->n, ctx->record, param, ctx->uv);
}
static inline const volume_class *volume_of(const class_node *n) { return (const volume_class *)n->cls; }
/* volume/largest.c: lane `lane` of LARGEST_LANES leaves the largest value of its share of the volume (whose
 * record is at `at`) in BUFFER_VALUES from word `words` on; the largest of those. */
enum { LARGEST_LANES = 256 };
void largest_part(tracer *t, const class_node *volume, ir_ref at, ir_ref words, ir_ref lane);
ir_ref largest_of(tracer *t, ir_ref words);

static inline const phase_class *phase_of(const class_node *n) { return (const phase_class *)n->cls; }
static inline const medium_class *medium_of(const class_node *n) { return (const medium_class *)n->cls; }
static inline const emitter_class *emitter_of(const class_node *n) { return (const emitter_class *)n->cls; }

/* Null lobes: whether the class or one in it has any, and their coefficient (bsdf/null.c). */
bool bsdf_lets_through(const class_node *n);
color bsdf_through(const bsdf_context *ctx);

/* What Mitsuba calls the diffuse reflectance; `albedo` of what passes on that of the one material that it
 * holds (bsdf/albedo.c). */
color bsdf_albedo(const bsdf_context *ctx);
color bsdf_nested_albedo(const bsdf_context *ctx);

/* The `pdf` of materials that have discrete lobes only. */
ir_ref bsdf_no_density(const bsdf_context *ctx, vec3 wo);

/* The `pdf` of lights that no ray meets. */
ir_ref emitter_no_density(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit);
/* Whether the textured parameter is a plain number or colour; the mean luminance of it, at a few points of
 * [0, 1]^2 if it is not. */
bool emitter_plain(const class_node *n, const char *param);
ir_ref emitter_mean(tracer *t, const class_node *n, ir_ref record, const char *param);
/* The same where places of the unit square are not texture coordinates: light_at says what the parameter is
 * at u. */
typedef color emitter_light(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 u);
ir_ref emitter_mean_over(tracer *t, const class_node *n, ir_ref record, const char *param,
                         emitter_light *light_at);
/* `power` of a sky: pi times the radiance through the section of the scene's bounding sphere. far: 4 * radius
 * + 1. */
ir_ref emitter_far_power(tracer *t, ir_ref radiance, ir_ref far);
/* `ray` of a light at infinity: a direction as `sample` chooses it, through a point of the disk across the
 * scene's bounding sphere. */
emitter_ray emitter_far_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4]);
/* What a gradient by a light's place lacks (render_parameter.reason). */
extern const char emitter_moving_shadows[];

static inline uint32_t float_word(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

#endif
