/* SPDX-License-Identifier: BSD-3-Clause
 * Participating media. A medium has these quantities at a point of the world, per channel:
 *
 *     extinction sigma_t = scale * sigma_t,   scattering sigma_s = albedo * sigma_t,   emission.
 *
 * A homogeneous medium has the same extinction everywhere, so transmittance is an exponential. The
 * extinction of a heterogeneous medium varies. Such a medium exists within the box (along the axes of the
 * world) around the unit cube of the volume `sigma_t`, as in Mitsuba. It is tracked with a majorant, a
 * number that the extinction of no channel exceeds.
 *
 * Volumes of many voxels have cells, a number along each side of the unit cube, and each cell has bounds of
 * its own. So rays cross what is thin or empty in long steps. Each cell also has a bound from below, for
 * what is crossed without a choice (integrator/media/tracking.c).
 *
 * The majorant is a sampling table (plan.h). It is found anew on the device whenever values have changed,
 * and it is detached. Where the gradient of the extinction is wanted, the majorant lies strictly above the
 * extinction, so null collisions have a chance everywhere. There it is never 0, so that there are
 * collisions to learn from (docs/theory/support.md). */
#include "render/classes.h"

/* Words of the table. TABLE_CELLS: the bounds of the cells, x fastest, and after them the bounds from
 * below. */
enum { TABLE_MAJORANT, TABLE_PARTS, TABLE_CELLS = TABLE_PARTS + LARGEST_LANES };
enum { STEP_PARTS, STEP_MAJORANT, STEP_CELLS, STEP_COUNT };
enum { PARAM_ALBEDO, PARAM_SIGMA_T };

color medium_extinction(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    if (medium_bends(n))
        return color_all(t_f32(t, 0));
    return color_scale(t, plan_volume(t, n, record, "sigma_t", p), plan_number(t, n, record, "scale"));
}

color medium_albedo(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    return medium_bends(n) ? color_all(t_f32(t, 0)) : plan_volume(t, n, record, "albedo", p);
}

bool medium_emits(const class_node *n) { return !medium_bends(n) && plan_given(n, "emission"); }

color medium_emission(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    return medium_emits(n) ? plan_volume(t, n, record, "emission", p) : color_all(t_f32(t, 0));
}

bool medium_wants_extinction(const class_node *n)
{
    return !medium_bends(n) && (plan_wants(n, "sigma_t") || plan_wants(n, "scale"));
}

/* Returns the class of the volume `sigma_t`. *at is its record within the record of the medium. */
static const class_node *extinction_volume(tracer *t, const class_node *n, ir_ref record, ir_ref *at)
{
    *at = t_offset(t, record, n->field[PARAM_SIGMA_T]);
    return n->param_child[PARAM_SIGMA_T];
}

bool medium_grey(const class_node *n)
{
    const class_node *volume = medium_bends(n) ? NULL : n->param_child[PARAM_SIGMA_T];
    return !volume || volume_of(volume)->grey(volume);
}

/* ---- the box ---- */

void medium_box(const scene_object *medium, double low[3], double high[3])
{
    matrix_box(scene_get(scene_get(medium, "sigma_t")->object, "to_world")->matrix, low, high);
}

static void medium_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    double low[3], high[3];
    (void)p;
    medium_box(o, low, high);
    for (int r = 0; r < 3; r++)
        words[r] = float_word((float)low[r]), words[3 + r] = float_word((float)high[r]);
}

double medium_diagonal(const scene_object *medium)
{
    double low[3], high[3], sum = 0;
    medium_box(medium, low, high);
    for (int r = 0; r < 3; r++)
        sum += (high[r] - low[r]) * (high[r] - low[r]);
    return sqrt(sum);
}

vec3 medium_low(tracer *t, const class_node *n, ir_ref record) { return v3_load(t, record, n->extra_word); }
vec3 medium_high(tracer *t, const class_node *n, ir_ref record)
{
    return v3_load(t, record, n->extra_word + 3);
}

/* ---- the majorant ---- */

/* The variant is the number of cells along each side. */
static uint32_t medium_variant(const render_scene *s, const scene_object *o)
{
    const scene_object *sigma_t = scene_get(o, "sigma_t")->object;
    const volume_class *cls = (const volume_class *)(const void *)sigma_t->cls;
    return cls->cells ? cls->cells(s, sigma_t) : 0;
}

static uint32_t majorant_words(const render_scene *s, const scene_object *o, const render_shape *shape)
{
    (void)shape;
    uint32_t cells = medium_variant(s, o);
    return TABLE_CELLS + 2 * cells * cells * cells;
}

static uint32_t majorant_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    uint32_t cells = medium_variant(s, o), all = cells * cells * cells;
    return step == STEP_PARTS ? LARGEST_LANES : step == STEP_CELLS && all ? all : 1;
}

/* The bound for tracking that follows from `most`, the largest value of the volume. */
static ir_ref bound_from(tracer *t, const class_node *n, ir_ref record, ir_ref most)
{
    ir_func *f = t->f;
    ir_ref bound = ir_mul(f, most, plan_number(t, n, record, "scale"));
    if (!medium_wants_extinction(n) && !plan_moves_segments(t->plan))
        return bound;
    ir_ref diagonal = v3_length(t, v3_sub(t, medium_high(t, n, record), medium_low(t, n, record)));
    return ir_max(f, ir_mul(f, bound, t_f32(t, MAJORANT_MARGIN)),
                  t_ratio(t, t_f32(t, MAJORANT_LEAST_OPTICAL), diagonal));
}

/* One step of the table, in one of its lanes: find the largest value of a share of the volume, then the
 * majorant, then the bounds of a cell from above and from below. */
static void majorant_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref table = plan_table_at(t, n, record), at;
    const class_node *volume = extinction_volume(t, n, record, &at);
    if (step == STEP_PARTS) {
        largest_part(t, volume, at, t_offset(t, table, TABLE_PARTS), lane);
    } else if (step == STEP_MAJORANT) {
        ir_store(f, BUFFER_VALUES, t_offset(t, table, TABLE_MAJORANT),
                 bound_from(t, n, record, largest_of(t, t_offset(t, table, TABLE_PARTS))));
    } else if (n->variant > 0) {
        ir_ref cell[3];
        volume_cell_at(t, lane, n->variant, cell);
        ir_ref most = volume_of(volume)->most_in(t, volume, at, cell, n->variant, 0);
        ir_store(f, BUFFER_VALUES, ir_add(f, table, t_offset(t, lane, TABLE_CELLS)),
                 bound_from(t, n, record, most));
        ir_ref least = ir_mul(f, volume_of(volume)->least_in(t, volume, at, cell, n->variant),
                              plan_number(t, n, record, "scale"));
        uint32_t behind = TABLE_CELLS + n->variant * n->variant * n->variant;
        ir_store(f, BUFFER_VALUES, ir_add(f, table, t_offset(t, lane, behind)), least);
    }
}

uint32_t medium_cells(const tracer *t, const class_node *n)
{
    return t->plan->off & PLAN_CELLS || medium_bends(n) ? 0 : n->variant;
}

volume_ray medium_into(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d)
{
    ir_ref at;
    const class_node *volume = extinction_volume(t, n, record, &at);
    BL_ASSERT(volume_of(volume)->into, "a volume without cells is asked for its coordinates");
    return volume_of(volume)->into(t, volume, at, o, d);
}

/* The cell is that of a place a little ahead on the ray. So a ray on a border is in the cell that it
 * enters. The bounds hold a little beyond their cells. */
cell_bounds medium_cell(tracer *t, const class_node *n, ir_ref record, const volume_ray *in_cube,
                        ir_ref distance)
{
    ir_func *f = t->f;
    uint32_t cells = medium_cells(t, n);
    BL_ASSERT(cells > 0, "a medium without cells is asked for one");
    ir_ref count = t_f32(t, (float)cells), zero = t_f32(t, 0), one = t_f32(t, 1),
           most = ir_sub(f, count, one), index[3];
    const ir_ref o[3] = {in_cube->o.x, in_cube->o.y, in_cube->o.z},
                 d[3] = {in_cube->d.x, in_cube->d.y, in_cube->d.z};
    ir_ref fastest = ir_max(f, ir_abs(f, d[0]), ir_max(f, ir_abs(f, d[1]), ir_abs(f, d[2])));
    ir_ref ahead = ir_add(f, distance,
                          ir_div(f, t_f32(t, 1e-3f), ir_mul(f, count, ir_max(f, fastest, t_f32(t, 1e-9f)))));
    ir_ref leaves = t_f32(t, 1e30f);
    for (int k = 0; k < 3; k++) {
        ir_ref at = ir_floor(f, ir_mul(f, t_mad(t, d[k], ahead, o[k]), count));
        at = ir_min(f, ir_max(f, zero, at), most);
        index[k] = ir_to_u32(f, at);
        ir_ref onward = ir_gt(f, d[k], zero), end = ir_eq(f, at, ir_select(f, onward, most, zero));
        ir_ref plane = ir_div(f, ir_add(f, at, ir_select(f, onward, one, zero)), count);
        ir_ref size = ir_max(f, ir_abs(f, d[k]), t_f32(t, 1e-9f)),
               speed = ir_select(f, onward, size, ir_neg(f, size));
        ir_ref border = ir_div(f, ir_sub(f, plane, o[k]), speed);
        leaves = ir_select(f, end, leaves, ir_min(f, leaves, border));
    }
    leaves = ir_max(f, leaves, ahead);
    ir_ref cell = volume_cell_number(t, index, cells);
    ir_ref table = plan_table_at(t, n, record);
    cell_bounds r = {.leaves = leaves};
    r.majorant = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, table, t_offset(t, cell, TABLE_CELLS)));
    r.minorant = ir_load(f, IR_F32, BUFFER_VALUES,
                         ir_add(f, table, t_offset(t, cell, TABLE_CELLS + cells * cells * cells)));
    return r;
}

ir_ref medium_majorant(tracer *t, const class_node *n, ir_ref record)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, t_offset(t, plan_table_at(t, n, record), TABLE_MAJORANT));
}

/* ---- classes ---- */

static bl_result homogeneous_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    static const char *const constants[] = {"sigma_t", "emission"};
    for (int k = 0; k < 2; k++) {
        const scene_value *v = scene_get(o, constants[k]);
        if (v->object && !((const volume_class *)(const void *)v->object->cls)->constant)
            return scene_error(err, BL_ERROR_SCENE, v->where,
                               "homogeneous: \"%s\" varies; use a heterogeneous medium", constants[k]);
    }
    return BL_OK;
}

static const plugin_param medium_params[] = {
    [PARAM_ALBEDO] = {"albedo", PLUGIN_VOLUMETRIC, PLUGIN_REFLECTANCE | PLUGIN_SCALAR, "0.75", 0, 0,
                      "share of the extinction that scatters"},
    [PARAM_SIGMA_T] = {"sigma_t", PLUGIN_VOLUMETRIC, PLUGIN_SCALAR | PLUGIN_HELD, "1", 0, 1e30,
                       "extinction per unit length"},
    {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 1e30, "multiplies sigma_t"},
    {"emission", PLUGIN_VOLUMETRIC, PLUGIN_ABSENT | PLUGIN_SCALAR, NULL, 0, 1e30,
     "radiance that a unit length emits, whatever the extinction; not in Mitsuba"},
    {"sample_emitters", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample lights where it scatters"},
    {"has_spectral_extinction", PLUGIN_BOOLEAN, 0, "true", 0, 0,
     "accepted; whether sigma_t differs by channel shows in its values"},
};
enum { MEDIUM_PARAMS = sizeof medium_params / sizeof *medium_params };
static const plugin_slot medium_slots[] = {{PLUGIN_PHASE, "phase", 0, 1}};
const medium_class medium_homogeneous = {
    .base = {.plugin = {PLUGIN_MEDIUM, "homogeneous", PLUGIN_TABLE(medium_params), PLUGIN_TABLE(medium_slots),
                        "the same extinction everywhere"},
             .load = homogeneous_load},
    .homogeneous = true,
};
const medium_class medium_heterogeneous = {
    .base = {.plugin = {PLUGIN_MEDIUM, "heterogeneous", PLUGIN_TABLE(medium_params),
                        PLUGIN_TABLE(medium_slots), "extinction from a volume"},
             .extra_words = 6,
             .extra = medium_extra,
             .variant = medium_variant,
             .table_steps = STEP_COUNT,
             .table_words = majorant_words,
             .table_lanes = majorant_lanes,
             .table_step = majorant_step},
};
