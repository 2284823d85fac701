/* SPDX-License-Identifier: BSD-3-Clause
 * The coat over a diffuse base of coat.h. The coat has microfacets that reflect (Walter et al. 2007). Its
 * samples may be attached. Samples of the base, with density cos / pi, are detached. */
#include "render/bsdf/coat.h"

static const float inverse_pi = 0.31830988618379067154f;

/* The direction of wi after reflection at a sampled facet of the coat. */
static vec3 mirrored(const bsdf_context *ctx, vec2 alpha, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    vec3 from = v3_select(t, ir_gt(f, ctx->wi.z, zero), ctx->wi, v3(zero, zero, t_f32(t, 1)));
    microfacets facets = microfacets_of(ctx->n, alpha);
    vec3 m = microfacet_sample(t, &facets, from, u1, u2);
    return v3_sub(t, v3_scale(t, m, ir_mul(f, t_f32(t, 2), v3_dot(t, from, m))), from);
}

vec3 coat_sample(const bsdf_context *ctx, vec2 alpha, ir_ref p, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    vec3 wo = mirrored(ctx, alpha, u1, u2);
    return v3_select(t, ir_lt(t->f, u_lobe, p), wo, warp_cosine_hemisphere(t, u1, u2));
}

static ir_ref base_pdf(tracer *t, const facet *a) { return ir_mul(t->f, a->wo.z, t_f32(t, inverse_pi)); }

ir_ref coat_pdf(tracer *t, const class_node *n, vec2 alpha, ir_ref p, const facet *a)
{
    ir_func *f = t->f;
    microfacets facets = microfacets_of(n, alpha);
    ir_ref normal = microfacet_pdf(t, &facets, a->wi, a->m);
    ir_ref coat = ir_div(f, normal, ir_mul(f, t_f32(t, 4), a->wi_m)), base = base_pdf(t, a);
    return ir_select(f, a->valid, t_mad(t, p, coat, ir_mul(f, ir_sub(f, t_f32(t, 1), p), base)), t_f32(t, 0));
}

ir_ref coat_lobe(tracer *t, const class_node *n, ir_ref p, ir_ref u_lobe)
{
    BL_ASSERT(bsdf_of(n)->attached, "%s has a coat and is not attached", n->cls->plugin.name);
    ir_ref coat = t_u32(t, 0);
    return n->variant & COAT_ATTACHES ? ir_select(t->f, ir_lt(t->f, u_lobe, p), coat, t_u32(t, COAT_BASE))
                                      : coat;
}

static ir_ref is_base(tracer *t, ir_ref lobe) { return t_has_bit(t, lobe, COAT_BASE); }

ir_ref coat_roughness(tracer *t, const class_node *n, vec2 alpha, ir_ref lobe)
{
    ir_ref never = t_f32(t, BSDF_NEVER_ATTACHED);
    if (!(n->variant & COAT_ATTACHES))
        return never;
    ir_ref coat = microfacet_roughness_of(t, n, alpha);
    return ir_is_none(lobe) ? coat : ir_select(t->f, is_base(t, lobe), never, coat);
}

bsdf_attached coat_attached(const bsdf_context *ctx, vec2 alpha, ir_ref p, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    const class_node *n = ctx->n;
    ir_func *f = t->f;
    ir_ref detached = bsdf_detached(t, draw->lobe), base = is_base(t, draw->lobe), one = t_f32(t, 1);
    bsdf_attached r = {v3_select(t, detached, draw->wo, mirrored(ctx, alpha, draw->u1, draw->u2)), one};
    facet a = facet_reflecting(t, ctx->wi, r.wo);
    ir_ref both = coat_pdf(t, n, alpha, p, &a), coat = coat_pdf(t, n, alpha, one, &a),
           part = ir_select(f, base, ir_sub(f, one, p), p);
    ir_ref own = ir_select(f, detached, ir_select(f, base, base_pdf(t, &a), coat), one);
    r.density = t_ratio(t, both, ir_mul(f, part, own));
    return r;
}
