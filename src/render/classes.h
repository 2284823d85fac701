/* SPDX-License-Identifier: BSD-3-Clause
 * Declares every class of the renderer, for the registry and for code that refers to a class by name. It also
 * declares the helpers that several classes share. */
#ifndef BL_RENDER_CLASSES_H
#define BL_RENDER_CLASSES_H

#include "render/film/film.h"
#include "render/integrator/passes.h"
#include "render/light.h"
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

/* The plugins that every shape can hold. */
static const plugin_slot shape_slots[] = {{PLUGIN_BSDF, "bsdf", 0, 1},
                                          {PLUGIN_EMITTER, "emitter", 0, 1},
                                          {PLUGIN_SENSOR, "sensor", 0, 1},
                                          {PLUGIN_MEDIUM, "interior", 0, 1},
                                          {PLUGIN_MEDIUM, "exterior", 0, 1}};
/* The last row of every shape's parameters. */
#define SHAPE_ACCEPTED                                                                                       \
    {                                                                                                        \
        "silhouette_sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e30, "how often its silhouette is sampled"   \
    }

/* What every emitter can hold: the medium that it lies in. It is accepted and not used, because paths know
 * which medium they are in. */
static const plugin_slot emitter_slots[] = {{PLUGIN_MEDIUM, "medium", 0, 1}};

/* What can be done with a plugin (plugin_abilities.c). IMAGE: it renders images. REVERSE and FORWARD: there
 * are gradients and image derivatives by its parameters; an integrator computes them. IN_MEDIA: it works with
 * volumetric integrators, or is one. MOVING: gradients follow what it moves, or what moves it. NESTED: it
 * also has all abilities of the plugins that it holds. */
enum plugin_ability {
    ABILITY_IMAGE = 1,
    ABILITY_REVERSE = 2,
    ABILITY_FORWARD = 4,
    ABILITY_IN_MEDIA = 8,
    ABILITY_MOVING = 16,
    ABILITY_NESTED = 32
};
uint32_t render_abilities(const plugin_class *cls);
/* scene_structure.c: the abilities of an integrator that holds no other one. */
uint32_t integrator_abilities(const plugin_class *cls);

/* How textures and volumes go on beyond their borders. */
enum texture_wrap { WRAP_REPEAT, WRAP_MIRROR, WRAP_CLAMP };
enum texture_wrap texture_wrap_named(const char *name);
/* Maps an integer coordinate to [0, size). The coordinate is an f32, such as floor returns. */
ir_ref texture_wrapped(tracer *t, enum texture_wrap mode, ir_ref at, ir_ref size);
/* Checks that a string parameter is one of `choices`, a list that ends with NULL. */
bl_result texture_check_choice(const scene_object *o, const char *param, const char *const *choices,
                               bl_error *err);

/* The samples of a spectrum that is given by them, which ascend; both have room for SPECTRUM_SAMPLES_MOST
 * (film/film.h). */
bl_result spectrum_samples(const scene_object *o, double *wavelengths, double *values, uint32_t *count,
                           bl_error *err);
/* Whether a texture has the same value everywhere. */
bool texture_is_constant(const scene_object *texture);
/* The `slope` of a constant texture, which is zero. */
vec2 texture_no_slope(tracer *t, const class_node *n, ir_ref record, vec2 uv);
vec2 texture_transform(tracer *t, ir_ref record, uint32_t word, vec2 uv);
void texture_transform_words(const scene_object *o, uint32_t *words);

/* bsdf/lobe_direction.c. bsdf_directions_move: whether the material, or one that it holds, has a lobe whose
 * samples turn with the normal, because it is discrete or attached. bsdf_lobe_direction: where a discrete
 * lobe leads. */
bool bsdf_directions_move(const render_scene *s, const scene_object *bsdf);
vec3 bsdf_lobe_direction(const bsdf_context *ctx, ir_ref lobe);
ir_ref bsdf_lobe_eta(const bsdf_context *ctx, ir_ref lobe); /* the relative index of refraction along it */
/* These functions ask a material of any class. bsdf_attach calls its `attached`; where the class has none,
 * the sample stays where it is, with the density 1. bsdf_roughness calls its `roughness`; where the class has
 * none, it returns BSDF_NEVER_ATTACHED. bsdf_mixes: whether the material, or one that it holds, `mixes`. */
bsdf_attached bsdf_attach(const bsdf_context *ctx, const bsdf_draw *draw);
ir_ref bsdf_roughness(const bsdf_context *ctx, ir_ref lobe);
/* bool: a lobe of that roughness is to be attached. */
ir_ref bsdf_smooth_enough(tracer *t, ir_ref roughness);
bool bsdf_mixes(const class_node *n);
static inline ir_ref bsdf_detached(tracer *t, ir_ref lobe) { return t_has_bit(t, lobe, LOBE_DETACHED); }
#define BSDF_NEVER_ATTACHED 1e30f

/* ---- filter/filters.c: samples stay in the image's window, as in Mitsuba without `sample_border` ---- */

/* Four words for a pixel that is k pixels away from the window's border. Words 4k and 4k + 2: the share of
 * the random numbers whose samples lie beyond the border to the left, and to the right. Words 4k + 1 and 4k +
 * 3: the share of the filter's mass beyond it. From k = FILTER_EDGES - 1 on all are 0. */
enum { FILTER_EDGES = 33, FILTER_EDGE_WORDS = 4 * FILTER_EDGES };
/* Along one axis of the window: the number of the pixel, and the count of pixels (u32). */
typedef struct window_axis {
    ir_ref at, size;
} window_axis;
/* The uniform number u of a filter's sample, mapped so that the sample stays in the window. Where the filter
 * is weighted, *weight is multiplied by the factor that makes up for that. */
ir_ref filter_within(tracer *t, const filter_class *cls, ir_ref record, window_axis pixel, ir_ref u,
                     ir_ref *weight);

/* The share of the filter's mass around such a pixel that lies in the window, along one axis. */
ir_ref filter_mass_within(tracer *t, const filter_class *cls, ir_ref record, window_axis pixel);

/* The class behind a node, with its tracing functions. Its plugin must be of the given category. */
static inline const void *class_of(const class_node *n, enum plugin_category category)
{
    BL_ASSERT(n->cls->plugin.category == category, "%s is used as a plugin of category %d",
              n->cls->plugin.name, (int)category);
    return n->cls;
}
static inline const bsdf_class *bsdf_of(const class_node *n) { return class_of(n, PLUGIN_BSDF); }
/* The context in which the nested material number k is asked. */
static inline bsdf_context bsdf_nested(const bsdf_context *ctx, uint32_t k)
{
    BL_ASSERT(k < ctx->n->child_count, "%s holds %u materials, not %u", ctx->n->cls->plugin.name,
              ctx->n->child_count, k + 1);
    bsdf_context nested = *ctx;
    nested.n = ctx->n->child[k];
    nested.record = t_offset(ctx->t, ctx->record, ctx->n->child_word[k]);
    return nested;
}
/* A context that differs from ctx in the tracer by which it reads. */
static inline bsdf_context bsdf_read_by(const bsdf_context *ctx, tracer *t)
{
    return (bsdf_context){t, ctx->n, ctx->record, ctx->wi, ctx->uv};
}
/* A textured parameter of the material at the context's uv: as a colour, as a number, or as the weight of a
 * part (plan_weight). */
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
static inline const volume_class *volume_of(const class_node *n) { return class_of(n, PLUGIN_VOLUME); }
static inline const field_class *field_of(const class_node *n) { return class_of(n, PLUGIN_FIELD); }
/* volume/largest.c. largest_part: lane `lane` of LARGEST_LANES finds the largest value in its share of the
 * volume whose record is at `at`. It leaves that in BUFFER_VALUES, from word `words` on. largest_of: the
 * largest of the values that all lanes have left. */
enum { LARGEST_LANES = 256 };
void largest_part(tracer *t, const class_node *volume, ir_ref at, ir_ref words, ir_ref lane);
ir_ref largest_of(tracer *t, ir_ref words);
/* Cells of a cube, `cells` along each side: the number of a cell, x fastest, and back. */
static inline ir_ref volume_cell_number(tracer *t, const ir_ref cell[3], uint32_t cells)
{
    ir_ref side = t_u32(t, cells);
    return t_mad(t, t_mad(t, cell[2], side, cell[1]), side, cell[0]);
}
static inline void volume_cell_at(tracer *t, ir_ref number, uint32_t cells, ir_ref cell[3])
{
    ir_func *f = t->f;
    ir_ref side = t_u32(t, cells), row = ir_div(f, number, side);
    cell[2] = ir_div(f, row, side);
    cell[0] = ir_sub(f, number, ir_mul(f, row, side)), cell[1] = ir_sub(f, row, ir_mul(f, cell[2], side));
}

static inline const phase_class *phase_of(const class_node *n) { return class_of(n, PLUGIN_PHASE); }
static inline const medium_class *medium_of(const class_node *n) { return class_of(n, PLUGIN_MEDIUM); }
static inline const emitter_class *emitter_of(const class_node *n) { return class_of(n, PLUGIN_EMITTER); }

/* Null lobes (bsdf/null.c): whether the class, or one that it holds, has any, and the coefficient of all of
 * them. */
bool bsdf_lets_through(const class_node *n);
color bsdf_through(const bsdf_context *ctx);

/* bsdf/polarized.c. bsdf_polarize: the value of any material with polarisation. bsdf_specular_axis: the axis
 * of light that is reflected or refracted at a facet with the normal m, a unit vector. */
bsdf_polarized bsdf_polarize(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe);
vec3 bsdf_specular_axis(tracer *t, vec3 m, vec3 wi);

/* bsdf/albedo.c. bsdf_albedo: what Mitsuba calls the diffuse reflectance. bsdf_nested_albedo: the `albedo` of
 * a material that holds one other and passes on the albedo of that one. */
color bsdf_albedo(const bsdf_context *ctx);
color bsdf_nested_albedo(const bsdf_context *ctx);

/* The `sample` of materials whose only lobe is one null lobe (bsdf/null.c). */
bsdf_sample bsdf_null_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2);
/* The `pdf` of materials that have discrete lobes only. */
ir_ref bsdf_no_density(const bsdf_context *ctx, vec3 wo);

/* The `pdf` of lights that no ray meets. */
ir_ref emitter_no_density(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit);
/* emitter_plain: whether the textured parameter is a plain number or colour. emitter_mean: its mean
 * luminance. For a texture it is the mean over a few points of [0, 1]^2. */
bool emitter_plain(const class_node *n, const char *param);
ir_ref emitter_mean(tracer *t, const class_node *n, ir_ref record, const char *param);
/* The mean luminance of a parameter whose places in the unit square are not texture coordinates. Otherwise it
 * is emitter_mean. light_at returns the parameter's value at u. */
typedef color emitter_light(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 u);
ir_ref emitter_mean_over(tracer *t, const class_node *n, ir_ref record, const char *param,
                         emitter_light *light_at);
/* The `power` of a sky: pi times the radiance, through the section of the scene's bounding sphere. far is
 * 4 * radius + 1. */
ir_ref emitter_far_power(tracer *t, ir_ref radiance, ir_ref far);
/* The bound of a light on a shape, of a few points of it: it shines to all sides of its normals. */
emitter_bound emitter_shape_bound(tracer *t, const class_node *n, ir_ref record);
/* The `ray` of a light at infinity. Its direction is chosen as `sample` chooses it. It goes through a point
 * of the disk across the scene's bounding sphere. */
emitter_ray emitter_far_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4]);
extern const emitter_class light_silhouette; /* emitter/silhouette.c: of the integrator silhouette */
/* The text that says what a gradient by a light's place lacks (render_parameter.reason). */
extern const char emitter_moving_shadows[];
extern const char emitter_moving_border[]; /* the same, of a light that has an emitter_class.border, too */

static inline uint32_t float_word(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

#endif
