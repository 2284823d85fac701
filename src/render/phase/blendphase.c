/* SPDX-License-Identifier: BSD-3-Clause
 * A mixture of two phase functions. The second has the share `weight`, which may vary in space, and the
 * first has the rest. One of the two is sampled, by the weight (plan_probability). A direction has the
 * density and the value of the mixture. */
#include "render/classes.h"

/* The shares of both, given the share of the second. */
static void shares(tracer *t, ir_ref second, ir_ref out[2])
{
    out[0] = ir_sub(t->f, t_f32(t, 1), second), out[1] = second;
}

static ir_ref weight_at(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    return t_clamp(t, plan_volume(t, n, record, "weight", p).c[0], 0, 1);
}

static void probabilities(tracer *t, const class_node *n, ir_ref record, vec3 p, ir_ref out[2])
{
    shares(t, plan_probability(t, n, "weight", weight_at(t, n, record, p)), out);
}

static ir_ref child_record(tracer *t, const class_node *n, ir_ref record, uint32_t k)
{
    BL_ASSERT(k < n->child_count, "blendphase holds %u phase functions, not %u", n->child_count, k + 1);
    return t_offset(t, record, n->child_word[k]);
}

static ir_ref blend_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    ir_ref share[2], sum = t_f32(t, 0);
    shares(t, weight_at(t, n, record, p), share);
    for (uint32_t k = 0; k < 2; k++)
        sum = t_mad(t, share[k],
                    phase_of(n->child[k])->value(t, n->child[k], child_record(t, n, record, k), wi, wo, p),
                    sum);
    return sum;
}

static ir_ref blend_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    ir_ref chance[2], sum = t_f32(t, 0);
    probabilities(t, n, record, p, chance);
    for (uint32_t k = 0; k < 2; k++)
        sum =
            t_mad(t, chance[k],
                  phase_of(n->child[k])->pdf(t, n->child[k], child_record(t, n, record, k), wi, wo, p), sum);
    return sum;
}

static vec3 blend_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3])
{
    ir_func *f = t->f;
    ir_ref chance[2];
    probabilities(t, n, record, p, chance);
    ir_ref second = ir_ge(f, u[0], chance[0]);
    ir_ref rest[2] = {t_ratio(t, u[0], chance[0]), t_ratio(t, ir_sub(f, u[0], chance[0]), chance[1])};
    vec3 wo[2];
    for (uint32_t k = 0; k < 2; k++)
        wo[k] = phase_of(n->child[k])
                    ->sample(t, n->child[k], child_record(t, n, record, k), wi, p,
                             (ir_ref[3]){rest[k], u[1], u[2]});
    return v3_select(t, second, wo[1], wo[0]);
}

static const plugin_param blend_params[] = {
    {"weight", PLUGIN_VOLUMETRIC, PLUGIN_REQUIRED | PLUGIN_REFLECTANCE | PLUGIN_SCALAR, NULL, 0, 0,
     "share of the second; of a colour, its first channel"},
};
static const plugin_slot blend_slots[] = {{PLUGIN_PHASE, "phase", 2, 2}};
const phase_class phase_blendphase = {
    .base.plugin = {PLUGIN_PHASE, "blendphase", PLUGIN_TABLE(blend_params), PLUGIN_TABLE(blend_slots),
                    "a mixture of two phase functions"},
    .sample = blend_sample,
    .value = blend_value,
    .pdf = blend_pdf,
};
