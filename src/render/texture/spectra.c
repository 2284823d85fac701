/* SPDX-License-Identifier: BSD-3-Clause
 * Spectra as textures, the same everywhere. In RGB a spectrum is its colour by the rules of
 * scene/spectrum.c. The emission of a light is taken as power, and other spectra are seen under D65. A
 * reflectance is at most 1. These are Mitsuba's rules for a <spectrum> of samples; its plugins cannot be
 * evaluated in RGB.
 *
 * uniform, rawconstant, srgb and d65 are constants from the start: the loader puts the class `constant` in
 * their place (PLUGIN_STANDS).
 *
 * regular, irregular and blackbody are colours that are derived from their parameters. A colour is linear
 * in the samples v of a curve, so
 *
 *     colour = limits(sum over k of v[k] weight[k]),
 *
 * with weight[k] the colour of the curve that is 1 at sample k and 0 at the others. Weights are numbers of
 * the scene: they stand behind the parameter in the buffer of values, and they are not differentiated. Where
 * light is spectral, the wavelengths of the samples stand behind the weights, and light is read from the
 * curve itself; the colour is what is read as numbers (light_raw). The samples of a curve are the parameter
 * itself. Those of a black body at temperature T follow Planck's law at fixed wavelengths, in W / (m^2 sr
 * nm): v = c1 / lambda^5 / (exp(c2 / (lambda T)) - 1), c1 = 2 h c^2, c2 = h c / k. */
#include "render/classes.h"
#include "render/spectrum/spectrum.h"

enum { BODY_STEP = 2, BODY_FIRST = 360, BODY_SAMPLES = (830 - BODY_FIRST) / BODY_STEP + 1 };
enum { EXTRA_VALUE, EXTRA_GRADIENT, EXTRA_COUNT, EXTRA_WEIGHTS, EXTRA_WORDS };

static spectrum_rule rule_of(const scene_object *o)
{
    return spectrum_rule_of(o->use ? o->use->flags : PLUGIN_REFLECTANCE);
}

/* ---- on the host: samples and weights ---- */

/* Appends the weights behind the values of the parameter that was registered last. scale: a factor for each
 * sample, or NULL for 1. */
static void append_weights(render_scene *s, const scene_object *o, const double *wavelengths,
                           const double *scale, uint32_t count)
{
    array_reserve(&s->values, s->values.count + 3 * count);
    for (uint32_t k = 0; k < count; k++) {
        double weight[3];
        spectrum_weight(wavelengths, count, k, rule_of(o), weight);
        for (int c = 0; c < 3; c++)
            s->values.data[s->values.count++] = (float)(weight[c] * (scale ? scale[k] : 1));
    }
}

/* Bands may see all wavelengths. */
static bl_result check_range(const render_scene *s, const scene_object *o, const double *wavelengths,
                             uint32_t count, bl_error *err)
{
    bl_error own = {0};
    if (s->bands || (s->film && s->film->cls == &film_specfilm.plugin) ||
        spectrum_check_range(wavelengths, count, &own) == BL_OK)
        return BL_OK;
    return scene_error(err, BL_ERROR_SCENE, o->where, "%s: %s", o->cls->name, own.text);
}

static bl_result samples_load(render_scene *s, const scene_object *o, bl_error *err)
{
    double values[SPECTRUM_SAMPLES_MOST], wavelengths[SPECTRUM_SAMPLES_MOST];
    float numbers[SPECTRUM_SAMPLES_MOST];
    uint32_t count;
    TRY(spectrum_samples(o, wavelengths, values, &count, err));
    TRY(check_range(s, o, wavelengths, count, err));
    for (uint32_t k = 0; k < count; k++)
        numbers[k] = (float)values[k];
    render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &count, 0, INFINITY, numbers});
    append_weights(s, o, wavelengths, NULL, count);
    for (uint32_t k = 0; k < count && s->mode->light == LIGHT_SPECTRAL; k++)
        array_push(&s->values, (float)wavelengths[k]);
    return BL_OK;
}

static bl_result blackbody_load(render_scene *s, const scene_object *o, bl_error *err)
{
    double wavelengths[BODY_SAMPLES], scale[BODY_SAMPLES];
    (void)err;
    for (int k = 0; k < BODY_SAMPLES; k++)
        wavelengths[k] = BODY_FIRST + k * BODY_STEP, scale[k] = PLANCK_FIRST / pow(wavelengths[k], 5);
    append_weights(s, o, wavelengths, scale, BODY_SAMPLES);
    return BL_OK;
}

static void samples_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_parameter *values =
        &p->scene->parameters.data[render_find_parameter(p->scene, o, PLAN_DATA_SLOT)];
    words[EXTRA_VALUE] = plan_value_offset(p, o, PLAN_DATA_SLOT),
    words[EXTRA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_COUNT] = values->count, words[EXTRA_WEIGHTS] = values->offset + values->count;
}

static void blackbody_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[EXTRA_COUNT] = BODY_SAMPLES, words[EXTRA_WEIGHTS] = plan_value_offset(p, o, 0) + 1;
}

/* ---- traced ---- */

/* The variant is 1 if the colour is kept at most 1. */
static uint32_t spectrum_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return rule_of(o) == SPECTRUM_REFLECTANCE;
}

typedef ir_ref (*sample_function)(tracer *t, const class_node *n, ir_ref record, ir_ref k);

static ir_ref channel(tracer *t, const class_node *n, ir_ref record, ir_ref element, sample_function sample)
{
    ir_func *f = t->f;
    ir_ref weights = ir_add(f, t_word(t, record, n->extra_word + EXTRA_WEIGHTS), element),
           count = t_word(t, record, n->extra_word + EXTRA_COUNT);
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], count));
    ir_ref weight = ir_load(f, IR_F32, BUFFER_VALUES, ir_add(f, weights, ir_mul(f, state[0], t_u32(t, 3))));
    ir_ref next[2] = {t_offset(t, state[0], 1),
                      ir_add(f, state[1], ir_mul(f, weight, sample(t, n, record, state[0])))};
    ir_endloop(f, loop, next, 2);
    ir_ref light = ir_max(f, state[1], t_f32(t, 0));
    return n->variant ? ir_min(f, light, t_f32(t, 1)) : light;
}

static ir_ref listed(tracer *t, const class_node *n, ir_ref record, ir_ref k)
{
    return plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, k);
}

/* The part of Planck's law that the weights do not have. */
static ir_ref radiated(tracer *t, const class_node *n, ir_ref record, ir_ref k)
{
    ir_func *f = t->f;
    ir_ref wavelength = t_mad(t, ir_to_f32(f, k), t_f32(t, BODY_STEP), t_f32(t, BODY_FIRST));
    return planck_factor(t, plan_number(t, n, record, "temperature"), wavelength);
}

static ir_ref samples_update(tracer *t, const class_node *n, ir_ref record, ir_ref element)
{
    return channel(t, n, record, element, listed);
}
static ir_ref blackbody_update(tracer *t, const class_node *n, ir_ref record, ir_ref element)
{
    return channel(t, n, record, element, radiated);
}

/* Of which instance a curve's samples are. */
typedef struct curve_of {
    const class_node *n;
    ir_ref record;
} curve_of;

static ir_ref curve_sample(tracer *t, const void *of, ir_ref k)
{
    const curve_of *c = of;
    return listed(t, c->n, c->record, k);
}

static color at_wavelengths(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    ir_ref count = t_word(t, record, n->extra_word + EXTRA_COUNT),
           weights = t_word(t, record, n->extra_word + EXTRA_WEIGHTS),
           places = ir_add(f, weights, ir_mul(f, count, t_u32(t, 3)));
    const curve_of of = {n, record};
    const sampled_curve samples = {curve_sample, &of, count};
    bool body = n->cls == &texture_blackbody.base;
    COLOR_EACH(r, body ? curve_blackbody(t, plan_number(t, n, record, "temperature"), t->wavelengths->nm[c])
                       : curve_irregular(t, &samples, places, t->wavelengths->nm[c]));
    return r;
}

static color spectrum_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    (void)uv;
    if (t->light == LIGHT_SPECTRAL)
        return at_wavelengths(t, n, record);
    ir_ref rgb[3];
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = plan_derived(t, n, record, t_u32(t, c));
    return light_of_rgb(t, rgb);
}

/* ---- classes ---- */

static const plugin_param uniform_params[] = {
    {"value", PLUGIN_FLOAT, PLUGIN_REQUIRED | PLUGIN_STANDS, NULL, 0, 0,
     "grey of this value, of lights, too"},
    {"wavelength_min", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 0, "accepted, changes nothing in RGB"},
    {"wavelength_max", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 0, "accepted, changes nothing in RGB"},
};
static const plugin_param rawconstant_params[] = {
    {"value", PLUGIN_COLOR, PLUGIN_REQUIRED | PLUGIN_STANDS, NULL, 0, 0,
     "a number, or a vector of three, taken as they are"},
};
static const plugin_param srgb_params[] = {
    {"color", PLUGIN_COLOR, PLUGIN_REQUIRED | PLUGIN_STANDS, NULL, 0, 0, "linear RGB"},
    {"unbounded", PLUGIN_BOOLEAN, 0, "false", 0, 0,
     "accepted; limits are those of the parameter that the colour is for"},
};
static const plugin_param d65_params[] = {
    {"color", PLUGIN_COLOR, PLUGIN_STANDS, "1", 0, 0, "what D65 is multiplied by, linear RGB"},
    {"scale", PLUGIN_FLOAT, PLUGIN_STANDS, "1", 0, 0, "factor; not of a nested texture (as in Mitsuba)"},
    {"nested", PLUGIN_TEXTURED, PLUGIN_ABSENT | PLUGIN_ANY_NAME | PLUGIN_STANDS, NULL, 0, 0,
     "a texture in its place"},
};
const render_class texture_uniform = {.plugin = {PLUGIN_TEXTURE, "uniform", PLUGIN_TABLE(uniform_params),
                                                 PLUGIN_NONE, "a constant; its parameter is NAME.value"}};
const render_class texture_rawconstant = {
    .plugin = {PLUGIN_TEXTURE, "rawconstant", PLUGIN_TABLE(rawconstant_params), PLUGIN_NONE,
               "a constant without conversion; its parameter is NAME.value"}};
const render_class texture_srgb = {.plugin = {PLUGIN_TEXTURE, "srgb", PLUGIN_TABLE(srgb_params), PLUGIN_NONE,
                                              "a colour; its parameter is NAME.value"}};
const render_class texture_d65 = {
    .plugin = {PLUGIN_TEXTURE, "d65", PLUGIN_TABLE(d65_params), PLUGIN_NONE,
               "white, times a colour or texture; its parameter is NAME.value"}};

static const plugin_param regular_params[] = {
    {"values", PLUGIN_STRING, PLUGIN_REQUIRED | PLUGIN_BY_USE, NULL, 0, 0, "samples at equal distances"},
    {"wavelength_min", PLUGIN_FLOAT, PLUGIN_REQUIRED, NULL, 0, 1e9, "of the first sample, nm"},
    {"wavelength_max", PLUGIN_FLOAT, PLUGIN_REQUIRED, NULL, 0, 1e9, "of the last"},
};
const texture_class texture_regular = {
    .base = {.plugin = {PLUGIN_TEXTURE, "regular", PLUGIN_TABLE(regular_params), PLUGIN_NONE,
                        "a spectrum from samples at equal distances"},
             .data_name = "values",
             .extra_words = EXTRA_WORDS,
             .load = samples_load,
             .extra = samples_extra,
             .derived_count = 3,
             .update_element = samples_update,
             .variant = spectrum_variant},
    .constant = true,
    .eval = spectrum_eval,
    .slope = texture_no_slope,
};

static const plugin_param irregular_params[] = {
    {"wavelengths", PLUGIN_STRING, PLUGIN_REQUIRED, NULL, 0, 0, "ascending, nm"},
    {"values", PLUGIN_STRING, PLUGIN_REQUIRED | PLUGIN_BY_USE, NULL, 0, 0, "samples there"},
};
const texture_class texture_irregular = {
    .base = {.plugin = {PLUGIN_TEXTURE, "irregular", PLUGIN_TABLE(irregular_params), PLUGIN_NONE,
                        "a spectrum from samples"},
             .data_name = "values",
             .extra_words = EXTRA_WORDS,
             .load = samples_load,
             .extra = samples_extra,
             .derived_count = 3,
             .update_element = samples_update,
             .variant = spectrum_variant},
    .constant = true,
    .eval = spectrum_eval,
    .slope = texture_no_slope,
};

static const plugin_param blackbody_params[] = {
    {"temperature", PLUGIN_FLOAT, PLUGIN_REQUIRED | PLUGIN_DIFFERENTIABLE | PLUGIN_BY_USE, NULL, 100, 1e6,
     "in kelvin"},
};
const texture_class texture_blackbody = {
    .base = {.plugin = {PLUGIN_TEXTURE, "blackbody", PLUGIN_TABLE(blackbody_params), PLUGIN_NONE,
                        "what a black body radiates, W / (m^2 sr nm)"},
             .extra_words = EXTRA_WORDS,
             .load = blackbody_load,
             .extra = blackbody_extra,
             .derived_count = 3,
             .update_element = blackbody_update,
             .variant = spectrum_variant},
    .constant = true,
    .eval = spectrum_eval,
    .slope = texture_no_slope,
};
