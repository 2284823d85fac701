/* SPDX-License-Identifier: BSD-3-Clause
 * Participating media. At a point of the world, per channel:
 *
 *     extinction sigma_t = scale * sigma_t,   scattering sigma_s = albedo * sigma_t.
 *
 * A homogeneous medium has the same extinction everywhere, so transmittance is an exponential. In a heterogeneous one it varies; it exists within
 * the box (along the world's axes) around the unit cube of the volume `sigma_t`, as in Mitsuba, and is tracked with a majorant, a number
 * that no channel's extinction exceeds.
 *
 * The majorant is a sampling table (plan.h): found anew on the device whenever values have changed, detached. Where the gradient of the
 * extinction is wanted it lies strictly above it, so that collisions that change nothing have a chance everywhere, and is never 0, so
 * that there are collisions to learn from (estimators.md 4). */
#include "render/classes.h"

enum { TABLE_MAJORANT, TABLE_PARTS, PART_COUNT = 256, TABLE_STEPS = 2 };
static const float margin = 1.25f;         /* of the majorant over the largest extinction */
static const float least_optical = 0.25f;  /* the majorant's optical thickness along the box's diagonal, at least */

color medium_extinction(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    return color_scale(t, plan_volume(t, n, record, "sigma_t", p), plan_number(t, n, record, "scale"));
}

color medium_albedo(tracer *t, const class_node *n, ir_ref record, vec3 p) { return plan_volume(t, n, record, "albedo", p); }

bool medium_wants_extinction(const class_node *n) { return plan_wants(n, "sigma_t") || plan_wants(n, "scale"); }

static const class_node *extinction_volume(const class_node *n, const char *param)
{
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        if (strcmp(n->cls->plugin.params[k].name, param) == 0)
            return n->param_child[k];
    return NULL;
}

bool medium_grey(const class_node *n)
{
    const class_node *volume = extinction_volume(n, "sigma_t");
    return volume_of(volume)->grey(volume);
}

/* ---- the box ---- */

static void medium_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    const double *m = scene_get(scene_get(o, "sigma_t")->object, "to_world")->matrix;
    for (int r = 0; r < 3; r++) {
        double low = m[4 * r + 3], high = low;
        for (int k = 0; k < 3; k++)
            *(m[4 * r + k] < 0 ? &low : &high) += m[4 * r + k];
        words[r] = float_word((float)low), words[3 + r] = float_word((float)high);
    }
}

vec3 medium_low(tracer *t, const class_node *n, ir_ref record) { return v3_load(t, record, n->extra_word); }
vec3 medium_high(tracer *t, const class_node *n, ir_ref record) { return v3_load(t, record, n->extra_word + 3); }

/* ---- the majorant ---- */

static uint32_t majorant_words(const render_scene *s, const scene_object *o)
{
    (void)s, (void)o;
    return TABLE_PARTS + PART_COUNT;
}

static uint32_t majorant_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    (void)s, (void)o;
    return step == 0 ? PART_COUNT : 1;
}

static ir_ref largest_part(tracer *t, ir_ref table)
{
    ir_func *f = t->f;
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, PART_COUNT)));
    ir_ref part = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, table, t_offset(t, state[0], TABLE_PARTS)));
    ir_ref next[2] = {ir_add(f, state[0], t_u32(t, 1)), ir_max(f, state[1], part)};
    ir_endloop(f, loop, next, 2);
    return state[1];
}

static void majorant_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref table = plan_table_at(t, n, record);
    if (step == 0) {
        const class_node *volume = extinction_volume(n, "sigma_t");
        uint32_t k = 0;
        while (n->param_child[k] != volume)
            k++;
        ir_ref most = volume_of(volume)->most(t, volume, t_offset(t, record, n->field[k]), lane, PART_COUNT);
        ir_store(f, BUFFER_VALUES, ir_add(f, table, t_offset(t, lane, TABLE_PARTS)), most);
        return;
    }
    ir_ref majorant = ir_mul(f, largest_part(t, table), plan_number(t, n, record, "scale"));
    if (medium_wants_extinction(n)) {
        ir_ref diagonal = v3_length(t, v3_sub(t, medium_high(t, n, record), medium_low(t, n, record)));
        majorant = ir_max(f, ir_mul(f, majorant, t_f32(t, margin)), t_ratio(t, t_f32(t, least_optical), diagonal));
    }
    ir_store(f, BUFFER_VALUES, t_offset(t, table, TABLE_MAJORANT), majorant);
}

ir_ref medium_majorant(tracer *t, const class_node *n, ir_ref record)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, t_offset(t, plan_table_at(t, n, record), TABLE_MAJORANT));
}

/* ---- classes ---- */

static bl_result check_extinction(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *sigma_t = scene_get(o, "sigma_t");
    bool constant = ((const volume_class *)(const void *)sigma_t->object->cls)->constant;
    if (o->cls == &medium_homogeneous.base.plugin && !constant)
        return scene_error(err, BL_ERROR_SCENE, sigma_t->where, "homogeneous: \"sigma_t\" varies; use a heterogeneous medium");
    return BL_OK;
}

static const plugin_param medium_params[] = {
    {"albedo", PLUGIN_VOLUMETRIC, PLUGIN_REFLECTANCE | PLUGIN_SCALAR, "0.75", 0, 0, "share of the extinction that scatters"},
    {"sigma_t", PLUGIN_VOLUMETRIC, PLUGIN_SCALAR, "1", 0, 1e30, "extinction per unit length"},
    {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 1e30, "multiplies sigma_t"},
    {"sample_emitters", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample lights where it scatters"},
    {"has_spectral_extinction", PLUGIN_BOOLEAN, 0, "true", 0, 0, "accepted; whether sigma_t differs by channel shows in its values"},
};
static const plugin_slot medium_slots[] = {{PLUGIN_PHASE, "phase", 0, 1}};
const medium_class medium_homogeneous = {
    .base = {.plugin = {PLUGIN_MEDIUM, "homogeneous", medium_params, 5, medium_slots, 1, "the same extinction everywhere"},
             .load = check_extinction},
    .homogeneous = true,
};
const medium_class medium_heterogeneous = {
    .base = {.plugin = {PLUGIN_MEDIUM, "heterogeneous", medium_params, 5, medium_slots, 1, "extinction from a volume"},
             .load = check_extinction,
             .extra_words = 6,
             .extra = medium_extra,
             .table_steps = TABLE_STEPS,
             .table_words = majorant_words,
             .table_lanes = majorant_lanes,
             .table_step = majorant_step},
};
