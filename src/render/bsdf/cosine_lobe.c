/* SPDX-License-Identifier: BSD-3-Clause
 * See cosine_lobe.h. */
#include "render/bsdf/cosine_lobe.h"

static const float inverse_pi = 0.31830988618379067154f;

ir_ref bsdf_both_above(tracer *t, vec3 wi, vec3 wo)
{
    ir_ref zero = t_f32(t, 0);
    return ir_and(t->f, ir_gt(t->f, wi.z, zero), ir_gt(t->f, wo.z, zero));
}

ir_ref cosine_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    return ir_select(t->f, bsdf_both_above(t, ctx->wi, wo), ir_mul(t->f, wo.z, t_f32(t, inverse_pi)),
                     t_f32(t, 0));
}

bsdf_sample cosine_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u_lobe;
    bsdf_sample s = {
        .wo = warp_cosine_hemisphere(t, u1, u2),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = t_u32(t, 0),
    };
    s.pdf = cosine_pdf(ctx, s.wo);
    return s;
}
