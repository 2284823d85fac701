/* SPDX-License-Identifier: BSD-3-Clause
 * The distributions of microfacet.h, and the parameters of the materials that have them.
 *
 * The visible normals of GGX are those of a hemisphere seen from a stretched wi. They are sampled as
 * spherical caps (Dupuy and Benyoub 2023). The visible normals of Beckmann are sampled by their slopes along
 * and across wi (beckmann.h). Their density has the exact share of facets that wi sees, while the value has a
 * fit of that share (microfacet_visible). */
#include "render/bsdf/microfacet.h"

#include "render/bsdf/beckmann.h"

#include <strings.h>

static const float pi = 3.14159265358979323846f, root_pi = 1.772453850905516f;

bl_result microfacet_check(const scene_object *o, bl_error *err)
{
    const scene_value *v = scene_get(o, "distribution");
    if (strcasecmp(v->text, "beckmann") != 0 && strcasecmp(v->text, "ggx") != 0)
        return scene_error(err, BL_ERROR_SCENE, v->where,
                           "%s: \"distribution\" must be beckmann or ggx, not \"%.60s\"", o->cls->name,
                           v->text);
    return BL_OK;
}

bl_result microfacet_check_alpha(const scene_object *o, bl_error *err)
{
    const scene_value *along = scene_get(o, "alpha_u"), *across = scene_get(o, "alpha_v");
    if (along->given != across->given)
        return scene_error(err, BL_ERROR_SCENE, along->given ? along->where : across->where,
                           "%s: \"alpha_u\" and \"alpha_v\" go together, \"%s\" is missing", o->cls->name,
                           along->given ? "alpha_v" : "alpha_u");
    if (along->given && scene_get(o, "alpha")->given)
        return scene_error(err, BL_ERROR_SCENE, along->where,
                           "%s: give either \"alpha\" or \"alpha_u\" and \"alpha_v\", not both",
                           o->cls->name);
    return BL_OK;
}

microfacet_kind microfacet_named(const scene_object *o)
{
    return strcasecmp(scene_get(o, "distribution")->text, "ggx") == 0 ? MICROFACET_GGX : MICROFACET_BECKMANN;
}

uint32_t microfacet_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return (uint32_t)microfacet_named(o) | (scene_number(o, "sample_visible") != 0 ? 2u : 0u);
}

/* ---- attached sampling ---- */

enum { VARIANT_ALWAYS = 4, VARIANT_NEVER = 8 };

bl_result microfacet_check_attached(const scene_object *o, bl_error *err)
{
    static const char *const choices[] = {"auto", "always", "never", NULL};
    return texture_check_choice(o, "attached", choices, err);
}

uint32_t microfacet_attached_choice(const scene_object *o)
{
    const char *attached = scene_get(o, "attached")->text;
    return strcmp(attached, "always") == 0  ? VARIANT_ALWAYS
           : strcmp(attached, "never") == 0 ? VARIANT_NEVER
                                            : 0u;
}

uint32_t microfacet_attached_variant(const render_scene *s, const scene_object *o)
{
    return microfacet_variant(s, o) | microfacet_attached_choice(o);
}

static const char *const roughnesses[] = {"alpha", "alpha_u", "alpha_v"};
enum { ROUGHNESSES = 3 };

bool microfacet_attaches_if(const render_scene *s, const scene_object *o, bool smooth)
{
    uint32_t variant = microfacet_attached_choice(o);
    return !s->detached && !s->light_tracing &&
           ((variant & VARIANT_ALWAYS) || (smooth && !(variant & VARIANT_NEVER)));
}

bool microfacet_attaches(const render_scene *s, const scene_object *o)
{
    bool smooth = true, pair = scene_get(o, "alpha_u")->given;
    for (uint32_t k = pair ? 1 : 0; k < (pair ? ROUGHNESSES : 1); k++) {
        const scene_object *texture = scene_get(o, roughnesses[k])->object;
        smooth &= texture->cls != &texture_constant.base.plugin ||
                  !(texture->values[0].vector[0] > s->attach_below);
    }
    return microfacet_attaches_if(s, o, smooth);
}

void microfacet_mark(render_scene *s, const scene_object *o)
{
    if (!microfacet_attaches(s, o))
        return;
    s->attaches = true;
    for (uint32_t k = 0; k < ROUGHNESSES; k++)
        if (scene_get(o, roughnesses[k])->object)
            render_turns_all(s, scene_get(o, roughnesses[k])->object);
}

bool microfacet_directions_move_by_uv(const scene_object *o)
{
    return scene_get(o, "alpha_u")->given || !texture_is_constant(scene_get(o, "alpha")->object);
}

ir_ref microfacet_roughness_of(tracer *t, const class_node *n, vec2 alpha)
{
    if (n->variant & (VARIANT_ALWAYS | VARIANT_NEVER))
        return t_f32(t, n->variant & VARIANT_ALWAYS ? 0 : BSDF_NEVER_ATTACHED);
    return ir_max(t->f, alpha.x, alpha.y);
}

ir_ref microfacet_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)lobe;
    return microfacet_roughness_of(t, ctx->n, microfacet_alpha(ctx));
}

ir_ref microfacet_detached(tracer *t, const class_node *n, vec2 alpha)
{
    const render_scene *s = t->plan->scene;
    if (!s->attaches)
        return ir_bool(t->f, true);
    return ir_not(t->f, bsdf_smooth_enough(t, microfacet_roughness_of(t, n, alpha)));
}

/* ---- the distributions ---- */

static ir_ref at_least(tracer *t, ir_ref alpha)
{
    return ir_max(t->f, alpha, t_f32(t, MICROFACET_LEAST_ALPHA));
}

vec2 microfacet_alpha(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    if (plan_given(ctx->n, "alpha_u"))
        return (vec2){at_least(t, bsdf_texture_1(ctx, "alpha_u")),
                      at_least(t, bsdf_texture_1(ctx, "alpha_v"))};
    ir_ref alpha = at_least(t, bsdf_texture_1(ctx, "alpha"));
    return (vec2){alpha, alpha};
}

uint32_t microfacet_needs(const class_node *n) { return plan_given(n, "alpha_u") ? NEED_TANGENTS : 0; }

/* Whether the roughness is the same in all directions of the plane. It is known while tracing, and such a
 * trace needs fewer operations. */
static bool isotropic(vec2 alpha) { return alpha.x.id == alpha.y.id; }

static ir_ref square_of_plane(tracer *t, vec3 v) { return t_mad(t, v.x, v.x, t_sqr(t, v.y)); }

/* ax ay ((mx / ax)^2 + (my / ay)^2). */
static ir_ref stretched_square(tracer *t, vec2 alpha, vec3 m)
{
    ir_func *f = t->f;
    ir_ref ratio = ir_div(f, alpha.y, alpha.x);
    return ir_add(f, ir_mul(f, t_sqr(t, m.x), ratio), ir_div(f, t_sqr(t, m.y), ratio));
}

ir_ref microfacet_distribution(tracer *t, microfacet_kind kind, vec2 alpha, vec3 m)
{
    ir_func *f = t->f;
    ir_ref alpha2 = ir_mul(f, alpha.x, alpha.y), cos2 = t_sqr(t, m.z);
    ir_ref sin2 = isotropic(alpha) ? square_of_plane(t, m) : stretched_square(t, alpha, m);
    if (kind == MICROFACET_GGX)
        return ir_div(f, alpha2, ir_mul(f, t_f32(t, pi), t_sqr(t, t_mad(t, alpha2, cos2, sin2))));
    /* At the horizon the exponential is 0, and the result must not become 0 / 0. */
    cos2 = ir_max(f, cos2, t_f32(t, 1e-12f));
    ir_ref exponent = ir_neg(f, ir_div(f, sin2, ir_mul(f, alpha2, cos2)));
    return ir_div(f, ir_exp(f, exponent), ir_mul(f, ir_mul(f, t_f32(t, pi), alpha2), t_sqr(t, cos2)));
}

/* The square of the slope of v in units of the roughness: tan^2 of the angle of v to the normal, times the
 * square of the roughness that v meets. */
static ir_ref rough_slope(tracer *t, vec2 alpha, vec3 v)
{
    ir_func *f = t->f;
    if (isotropic(alpha))
        return ir_mul(f, t_sqr(t, alpha.x), ir_div(f, square_of_plane(t, v), t_sqr(t, v.z)));
    vec3 scaled = {ir_mul(f, alpha.x, v.x), ir_mul(f, alpha.y, v.y), v.z};
    return ir_div(f, square_of_plane(t, scaled), t_sqr(t, v.z));
}

/* For Beckmann this is the rational approximation of Walter et al. 2007, as in Mitsuba. */
ir_ref microfacet_visible(tracer *t, microfacet_kind kind, vec2 alpha, vec3 v)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), slope2 = rough_slope(t, alpha, v);
    if (kind == MICROFACET_GGX)
        return ir_div(f, t_f32(t, 2), ir_add(f, one, ir_sqrt(f, ir_add(f, one, slope2))));
    ir_ref a = ir_div(f, one, ir_sqrt(f, ir_max(f, slope2, t_f32(t, 1e-8f))));
    ir_ref rise = ir_mul(f, a, t_mad(t, a, t_f32(t, 2.181f), t_f32(t, 3.535f)));
    ir_ref fall = t_mad(t, a, t_mad(t, a, t_f32(t, 2.577f), t_f32(t, 2.276f)), one);
    return ir_select(f, ir_ge(f, a, t_f32(t, 1.6f)), one, ir_div(f, rise, fall));
}

ir_ref microfacet_reflection(tracer *t, microfacet_kind kind, vec2 alpha, const facet *a)
{
    ir_func *f = t->f;
    ir_ref visible =
        ir_mul(f, microfacet_visible(t, kind, alpha, a->wi), microfacet_visible(t, kind, alpha, a->wo));
    return ir_div(f, ir_mul(f, microfacet_distribution(t, kind, alpha, a->m), visible),
                  ir_mul(f, t_f32(t, 4), a->wi.z));
}

ir_ref microfacet_root(tracer *t, ir_ref v)
{
    return t->differentiated ? ir_sqrt(t->f, ir_max(t->f, v, t_f32(t, 1e-12f))) : t_safe_sqrt(t, v);
}

static vec3 sample_cap(tracer *t, vec2 alpha, vec3 wi, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    vec3 stretched = v3_normalize(t, v3(ir_mul(f, alpha.x, wi.x), ir_mul(f, alpha.y, wi.y), wi.z));
    ir_ref one = t_f32(t, 1), phi = ir_mul(f, u1, t_f32(t, 2 * pi));
    ir_ref z = ir_sub(f, ir_mul(f, ir_sub(f, one, u2), ir_add(f, one, stretched.z)), stretched.z);
    ir_ref r = microfacet_root(t, ir_sub(f, one, t_sqr(t, z)));
    vec3 m = v3_add(t, v3(ir_mul(f, r, ir_cos(f, phi)), ir_mul(f, r, ir_sin(f, phi)), z), stretched);
    return v3_normalize(
        t, v3(ir_mul(f, alpha.x, m.x), ir_mul(f, alpha.y, m.y), ir_max(f, m.z, t_f32(t, 1e-7f))));
}

/* The part of wi along the surface, in units of the roughness. Returns its length and sets its direction. The
 * direction is x where the length is 0. */
static ir_ref scaled_sine(tracer *t, vec2 alpha, vec3 wi, vec2 *direction)
{
    ir_func *f = t->f;
    vec2 v = {ir_mul(f, alpha.x, wi.x), ir_mul(f, alpha.y, wi.y)};
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), square = t_mad(t, v.x, v.x, t_sqr(t, v.y)),
           there = ir_gt(f, square, zero);
    ir_ref length = ir_sqrt(f, ir_select(f, there, square, one));
    *direction = (vec2){ir_select(f, there, ir_div(f, v.x, length), one),
                        ir_select(f, there, ir_div(f, v.y, length), zero)};
    return ir_select(f, there, length, zero);
}

static vec3 sample_slopes(tracer *t, vec2 alpha, vec3 wi, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    vec2 to;
    ir_ref sine = scaled_sine(t, alpha, wi, &to), length = ir_sqrt(f, t_mad(t, sine, sine, t_sqr(t, wi.z)));
    vec2 slope = beckmann_slopes(t, ir_div(f, sine, length), ir_div(f, wi.z, length), u1, u2);
    ir_ref x = ir_sub(f, ir_mul(f, slope.x, to.x), ir_mul(f, slope.y, to.y)),
           y = t_mad(t, slope.x, to.y, ir_mul(f, slope.y, to.x));
    return v3_normalize(t,
                        v3(ir_neg(f, ir_mul(f, alpha.x, x)), ir_neg(f, ir_mul(f, alpha.y, y)), t_f32(t, 1)));
}

vec3 microfacet_sample(tracer *t, const microfacets *facets, vec3 wi, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    const microfacet_kind kind = facets->kind;
    const vec2 alpha = facets->alpha;
    if (facets->visible)
        return (kind == MICROFACET_GGX ? sample_cap : sample_slopes)(t, alpha, wi, u1, u2);
    ir_ref one = t_f32(t, 1), left = ir_sub(f, one, u2), phi = ir_mul(f, u1, t_f32(t, 2 * pi));
    ir_ref square = kind == MICROFACET_GGX ? ir_div(f, u2, left) : ir_neg(f, ir_log(f, left)),
           x = ir_cos(f, phi), y = ir_sin(f, phi);
    if (!isotropic(alpha)) {
        ir_ref r = microfacet_root(t, square);
        return v3_normalize(
            t, v3(ir_mul(f, ir_mul(f, r, alpha.x), x), ir_mul(f, ir_mul(f, r, alpha.y), y), one));
    }
    ir_ref slope2 = ir_mul(f, t_sqr(t, alpha.x), square);
    ir_ref cosine = ir_div(f, one, ir_sqrt(f, ir_add(f, one, slope2))),
           sine = ir_mul(f, cosine, microfacet_root(t, slope2));
    return v3(ir_mul(f, sine, x), ir_mul(f, sine, y), cosine);
}

ir_ref microfacet_pdf(tracer *t, const microfacets *facets, vec3 wi, vec3 m)
{
    ir_func *f = t->f;
    const microfacet_kind kind = facets->kind;
    const vec2 alpha = facets->alpha;
    ir_ref d = microfacet_distribution(t, kind, alpha, m);
    if (!facets->visible)
        return ir_mul(f, d, m.z);
    if (kind == MICROFACET_BECKMANN) {
        vec2 direction;
        ir_ref sine = scaled_sine(t, alpha, wi, &direction),
               area = beckmann_area(t, sine, wi.z, beckmann_edge(t, sine, wi.z));
        return ir_div(f, ir_mul(f, ir_mul(f, d, t_f32(t, root_pi)), v3_dot(t, wi, m)), area);
    }
    return ir_mul(f, d, ir_mul(f, microfacet_visible(t, kind, alpha, wi), ir_div(f, v3_dot(t, wi, m), wi.z)));
}
