/* SPDX-License-Identifier: BSD-3-Clause
 * A radiance field on grids: density, and colour as real spherical harmonics of degree 0, 1 or 2 (Yu et al.
 * 2022, Plenoxels, equation 3, without its offset; the order and signs of the functions are those of
 * Mitsuba's sh_eval). Grids hold raw values. They are interpolated first, and an activation function makes
 * density or colour of the result.
 *
 * relu and clamp let derivatives pass at their bounds, so that a voxel of density exactly 0 can come back
 * (docs/theory/support.md).
 *
 * Empty space is known by a table of bounds, one for each cell of CELL_VOXELS voxels along each side. It is a
 * sampling table (plan.h): found anew on the device whenever values have changed, and detached. Activations
 * are monotone, so the activated maximum of the raw values bounds the density. */
#include "render/classes.h"
#include "render/harmonics.h"

enum { PARAM_DENSITY, PARAM_SH_COEFFS };
enum activation {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_SOFTPLUS,
    ACTIVATION_CLAMP,
    ACTIVATION_SIGMOID
};
static const char *const density_activations[] = {"none", "relu", "softplus", NULL},
                         *const color_activations[] = {"none", "relu", "softplus", "clamp", "sigmoid", NULL};

enum extra {
    EXTRA_TO_LOCAL,
    EXTRA_STEP = 12,
    EXTRA_LEAST_TRANSMITTANCE,
    EXTRA_EMPTY /* a sample of at most this optical thickness may be left out */,
    EXTRA_WORDS
};
enum { CELL_VOXELS = 4, CELLS_MOST = 64, PARTS_ALONG = 64 /* steps along a cube without voxels */ };
enum {
    SAMPLES_MOST = 1 << 20 /* along a ray; their numbers stay integers in f32 also far from the camera */
};

/* The opacity of a sample of this optical thickness, or less, rounds to 0. */
static const float least_thickness = 0x1p-26f;

/* ---- structure ---- */

/* The variant is activation of density | activation of colour << 4 | degree << 8 | whether both grids have
 * one size << 10 | cells << 12. */
static uint32_t activation_of(const scene_object *o, const char *param)
{
    uint32_t k = 0;
    while (strcmp(color_activations[k], scene_get(o, param)->text) != 0)
        k++;
    return k;
}

static uint32_t channels_of(const render_scene *s, const scene_object *volume)
{
    const volume_class *cls = (const volume_class *)(const void *)volume->cls;
    return cls->channels ? cls->channels(s, volume) : 3;
}

static const uint32_t *shape_of(const render_scene *s, const scene_object *volume)
{
    uint32_t data = render_find_parameter(s, volume, PLAN_DATA_SLOT);
    return data == PLAN_NONE ? NULL : s->parameters.data[data].shape;
}

static uint32_t field_variant(const render_scene *s, const scene_object *o)
{
    const scene_object *density = scene_get(o, "density")->object, *sh = scene_get(o, "sh_coeffs")->object;
    const uint32_t *shape = shape_of(s, density), *sh_shape = shape_of(s, sh);
    const uint32_t degrees[] = {[3] = 0, [12] = 1, [27] = 2};
    bool same = shape && sh_shape && memcmp(shape, sh_shape, 3 * sizeof *shape) == 0;
    uint32_t cells = 0;
    for (int k = 0; shape && k < 3; k++)
        cells = shape[k] > cells ? shape[k] : cells;
    cells = (cells + CELL_VOXELS - 1) / CELL_VOXELS;
    return activation_of(o, "density_activation") | activation_of(o, "color_activation") << 4 |
           degrees[channels_of(s, sh)] << 8 | (uint32_t)same << 10 |
           (cells < CELLS_MOST ? cells : CELLS_MOST) << 12;
}

static enum activation density_activation(const class_node *n) { return (enum activation)(n->variant & 15); }
static enum activation color_activation(const class_node *n)
{
    return (enum activation)(n->variant >> 4 & 15);
}
static uint32_t degree_of(const class_node *n) { return n->variant >> 8 & 3; }
static bool shares_size(const class_node *n) { return n->variant >> 10 & 1; }
static uint32_t field_cells(const class_node *n) { return n->variant >> 12; }

static bl_result field_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    double inverse[16];
    TRY(texture_check_choice(o, "density_activation", density_activations, err));
    TRY(texture_check_choice(o, "color_activation", color_activations, err));
    if (!matrix_invert(scene_get(o, "to_world")->matrix, inverse))
        return scene_error(err, BL_ERROR_SCENE, scene_get(o, "to_world")->where,
                           "sh_field: the field has no extent: \"to_world\" is flat");
    return BL_OK;
}

static bl_result check_volume(const render_scene *s, const scene_object *o, const char *param, bool fits,
                              const char *wanted, bl_error *err)
{
    const scene_value *v = scene_get(o, param);
    const scene_object *volume = v->object;
    if (!((const volume_class *)(const void *)volume->cls)->in_cube)
        return scene_error(err, BL_ERROR_UNSUPPORTED, v->where, "sh_field: \"%s\" cannot be a %s", param,
                           volume->cls->name);
    if (scene_get(volume, "to_world")->given)
        return scene_error(err, BL_ERROR_SCENE, volume->where,
                           "sh_field: \"to_world\" belongs to the field, not to its volume \"%s\"", param);
    return fits ? BL_OK
                : scene_error(err, BL_ERROR_SCENE, v->where, "sh_field: \"%s\" has %u channels; it needs %s",
                              param, channels_of(s, volume), wanted);
}

/* Half the shortest side of a voxel of the density. */
static double default_step(const render_scene *s, const scene_object *o)
{
    const scene_object *density = scene_get(o, "density")->object;
    const double *m = scene_get(o, "to_world")->matrix;
    const uint32_t *shape = shape_of(s, density);
    double least = INFINITY;
    for (uint32_t k = 0; k < 3; k++) {
        double side = sqrt(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]);
        uint32_t voxels = shape ? shape[2 - k] : PARTS_ALONG / 2;
        least = fmin(least, side / voxels / 2);
    }
    return least;
}

/* Distance between samples: the user's, or the default. */
static double step_of(const render_scene *s, const scene_object *o)
{
    return s->march.step > 0 ? s->march.step : default_step(s, o);
}

/* The longest line within the cube. */
static double diagonal_of(const scene_object *o)
{
    const double *m = scene_get(o, "to_world")->matrix;
    double longest = 0;
    for (int k = 0; k < 4; k++) {
        double along[3];
        for (int r = 0; r < 3; r++)
            along[r] = m[4 * r] + (k & 1 ? -1 : 1) * m[4 * r + 1] + (k & 2 ? -1 : 1) * m[4 * r + 2];
        longest = fmax(longest, sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]));
    }
    return longest;
}

static bl_result check_step(const render_scene *s, const scene_object *o, bl_error *err)
{
    double samples = diagonal_of(o) / step_of(s, o);
    if (samples <= SAMPLES_MOST)
        return BL_OK;
    return scene_error(err, BL_ERROR_SCENE, o->where,
                       "sh_field: a ray through the field would have %.3g samples, and the limit is %d; give "
                       "radiance_field a \"step_size\" of at least %.3g",
                       samples, SAMPLES_MOST, diagonal_of(o) / SAMPLES_MOST);
}

/* Raw densities below 0 have no derivative behind relu, so a fit keeps them at 0 or above. */
static bl_result field_check(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_object *density = scene_get(o, "density")->object, *sh = scene_get(o, "sh_coeffs")->object;
    uint32_t channels = channels_of(s, sh);
    TRY(check_volume(s, o, "density",
                     channels_of(s, density) == 1 || density->cls == &volume_constvolume.base.plugin, "1",
                     err));
    TRY(check_volume(s, o, "sh_coeffs", channels == 3 || channels == 12 || channels == 27,
                     "3, 12 or 27: harmonics of degree 0, 1 or 2", err));
    TRY(check_step(s, o, err));
    uint32_t data = render_find_parameter(s, density, PLAN_DATA_SLOT);
    if (data != PLAN_NONE && activation_of(o, "density_activation") == ACTIVATION_RELU)
        s->parameters.data[data].least = 0;
    return BL_OK;
}

static void field_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_march *march = &p->scene->march;
    double inverse[16];
    bool invertible = matrix_invert(scene_get(o, "to_world")->matrix, inverse);
    BL_ASSERT(invertible, "a flat field in a plan");
    for (int k = 0; k < 12; k++)
        words[EXTRA_TO_LOCAL + k] = float_word((float)inverse[k]);
    words[EXTRA_STEP] = float_word((float)step_of(p->scene, o));
    words[EXTRA_LEAST_TRANSMITTANCE] = float_word(march->least_transmittance);
    words[EXTRA_EMPTY] = float_word(fmaxf(march->empty_below, least_thickness));
}

/* ---- values ---- */

static ir_ref activate(tracer *t, enum activation how, ir_ref x)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    switch (how) {
    case ACTIVATION_RELU:
        return ir_select(f, ir_ge(f, x, zero), x, zero);
    case ACTIVATION_CLAMP:
        return ir_select(f, ir_lt(f, x, zero), zero, ir_select(f, ir_gt(f, x, one), one, x));
    case ACTIVATION_SOFTPLUS: { /* max(x, 0) + log(1 + exp(-|x|)), which cannot overflow */
        ir_ref positive = ir_gt(f, x, zero), size = ir_select(f, positive, x, ir_neg(f, x)),
               rest = ir_log(f, ir_add(f, one, ir_exp(f, ir_neg(f, size))));
        return ir_add(f, ir_select(f, positive, x, zero), rest);
    }
    case ACTIVATION_SIGMOID: {
        ir_ref bounded = t_clamp(t, x, -60, 60);
        return ir_div(f, one, ir_add(f, one, ir_exp(f, ir_neg(f, bounded))));
    }
    default:
        return x;
    }
}

static volume_ray field_into(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d)
{
    return volume_ray_into(t, record, n->extra_word + EXTRA_TO_LOCAL, o, d);
}

static void field_basis(tracer *t, const class_node *n, vec3 w, ir_ref out[FIELD_BASIS_MOST])
{
    harmonics(t, w, degree_of(n), out);
}

/* Reads raw values. Where both grids have one size, it is read from the record of one of them only. */
static void read_raw(tracer *t, const class_node *n, ir_ref record, uint32_t param, volume_place *at,
                     uint32_t count, ir_ref *out)
{
    uint32_t sized = shares_size(n) ? PARAM_DENSITY : param;
    const class_node *volume = n->param_child[param], *by = n->param_child[sized];
    if (volume_of(by)->size)
        volume_of(by)->size(t, by, t_offset(t, record, n->field[sized]), at->size);
    volume_of(volume)->in_cube(t, volume, t_offset(t, record, n->field[param]), at, count, out);
}

static ir_ref field_raw_density(tracer *t, const class_node *n, ir_ref record, vec3 p, const ir_ref *chooses)
{
    ir_ref value;
    read_raw(t, n, record, PARAM_DENSITY, &(volume_place){.p = p, .chooses = chooses}, 1, &value);
    return value;
}

static color field_raw_color(tracer *t, const class_node *n, ir_ref record, vec3 p, const ir_ref *basis,
                             const ir_ref *chooses)
{
    ir_func *f = t->f;
    ir_ref coefficients[FIELD_CHANNELS_MOST];
    uint32_t count = (degree_of(n) + 1) * (degree_of(n) + 1);
    read_raw(t, n, record, PARAM_SH_COEFFS, &(volume_place){.p = p, .chooses = chooses}, 3 * count,
             coefficients);
    color r = {0};
    for (uint32_t c = 0; c < 3; c++) {
        r.c[c] = ir_mul(f, coefficients[c], basis[0]);
        for (uint32_t k = 1; k < count; k++)
            r.c[c] = t_mad(t, coefficients[3 * k + c], basis[k], r.c[c]);
    }
    return r;
}

static ir_ref field_density(tracer *t, const class_node *n, ir_ref raw)
{
    return activate(t, density_activation(n), raw);
}

static color field_radiance(tracer *t, const class_node *n, color raw)
{
    ir_ref rgb[3];
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = activate(t, color_activation(n), raw.c[c]);
    return light_of_rgb(t, rgb);
}

static ir_ref field_step(tracer *t, const class_node *n, ir_ref record)
{
    return t_real(t, record, n->extra_word + EXTRA_STEP);
}

static ir_ref field_least_transmittance(tracer *t, const class_node *n, ir_ref record)
{
    return t_real(t, record, n->extra_word + EXTRA_LEAST_TRANSMITTANCE);
}

/* ---- empty space ---- */

static uint32_t table_words(const render_scene *s, const scene_object *o, const render_shape *shape)
{
    (void)shape;
    uint32_t cells = field_variant(s, o) >> 12;
    return cells * cells * cells;
}

static uint32_t table_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    (void)step;
    return table_words(s, o, NULL);
}

static void table_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    ir_func *f = t->f;
    (void)step;
    const class_node *volume = n->param_child[PARAM_DENSITY];
    ir_ref at = t_offset(t, record, n->field[PARAM_DENSITY]), cell[3];
    volume_cell_at(t, lane, field_cells(n), cell);
    ir_ref most = volume_of(volume)->most_in(t, volume, at, cell, field_cells(n), -1e30f),
           density = activate(t, density_activation(n), most),
           thickness = ir_mul(f, density, field_step(t, n, record));
    ir_ref seen = ir_gt(f, thickness, t_real(t, record, n->extra_word + EXTRA_EMPTY));
    ir_store(f, BUFFER_VALUES, ir_add(f, plan_table_at(t, n, record), lane),
             ir_select(f, seen, density, t_f32(t, 0)));
}

static ir_ref field_bound(tracer *t, const class_node *n, ir_ref record, ir_ref cell)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, ir_add(t->f, plan_table_at(t, n, record), cell));
}

static bool field_dead(const class_node *n) { return density_activation(n) == ACTIVATION_SOFTPLUS; }

static const plugin_param field_params[] = {
    [PARAM_DENSITY] = {"density", PLUGIN_VOLUMETRIC, PLUGIN_SCALAR, "1", -1e30, 1e30,
                       "raw density, one channel; activated, it is absorption per unit length"},
    [PARAM_SH_COEFFS] =
        {"sh_coeffs", PLUGIN_VOLUMETRIC, 0, "1", -1e30, 1e30,
         "coefficients of spherical harmonics: channel 3 k + c is coefficient k of colour c, in "
         "the order of Mitsuba's sh_eval; 3, 12 or 27 channels"},
    {"density_activation", PLUGIN_STRING, 0, "relu", 0, 0, "none, relu or softplus"},
    {"color_activation", PLUGIN_STRING, 0, "clamp", 0, 0,
     "none, relu, softplus, clamp (to [0,1]) or sigmoid"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "places the unit cube that the field fills"},
};
const field_class field_sh_field = {
    .base = {.plugin = {PLUGIN_FIELD, "sh_field", PLUGIN_TABLE(field_params), PLUGIN_NONE,
                        "density and spherical harmonics on grids. Not in Mitsuba"},
             .extra_words = EXTRA_WORDS,
             .only_rgb = true,
             .load = field_load,
             .check = field_check,
             .extra = field_extra,
             .variant = field_variant,
             .table_steps = 1,
             .table_words = table_words,
             .table_lanes = table_lanes,
             .table_step = table_step},
    .into = field_into,
    .basis = field_basis,
    .raw_density = field_raw_density,
    .raw_color = field_raw_color,
    .density = field_density,
    .radiance = field_radiance,
    .step = field_step,
    .least_transmittance = field_least_transmittance,
    .cells = field_cells,
    .bound = field_bound,
    .dead = field_dead,
};
