/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Lights' functions alone, in the interpreter. Spheres: their density, and their horizon. Textured area
 * lights: the density of what a sample found is the density of the hit, samples weighted by it integrate what
 * uniform ones do, with less noise; so of lights that show their mesh's attributes, or a volume. The choice
 * of lights: probabilities from weights and powers worked out here, followed by what is chosen, and following
 * the values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/kernels.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

enum { SAMPLES = 20000, HITS = 300, CHOICES = 4096 };
static const double pi = 3.14159265358979323846;
static char *folder;

typedef struct subject {
    scene_eval *e;
    ir_module *module;
    ir_func *sample, *uniform; /* ref 3, u 2 -> d 3, distance, pdf, radiance in green */
    ir_func *hit;              /* entry, o 3, d 3 -> distance, pdf */
    ir_func *choose;           /* u -> light, its probability twice */
} subject;

static void evaluate_in(const subject *s, const ir_func *f, const double *in, uint32_t parameters, bool f64,
                        ir_value *got)
{
    ir_value args[8] = {0};
    bl_error err = {0};
    for (uint32_t k = 0; k < parameters; k++)
        if (f == s->hit && k == 0)
            args[k].u = (uint32_t)in[k];
        else
            args[k].f = in[k];
    if (scene_eval_call(s->e, f, args, f64, got, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void evaluate(const subject *s, const ir_func *f, const double *in, uint32_t parameters, ir_value *got)
{
    evaluate_in(s, f, in, parameters, true, got);
}

static vec3 param_vec3(ir_func *f)
{
    ir_ref x = ir_param(f, IR_F32), y = ir_param(f, IR_F32), z = ir_param(f, IR_F32);
    return v3(x, y, z);
}

/* By the emitter, or uniformly by its shape alone. */
static ir_func *trace_sample(subject *s, const class_node *n, uint32_t record, bool uniform)
{
    tracer t = plan_tracer(s->e->plan, ir_func_create(s->module, "sample"));
    vec3 ref = param_vec3(t.f);
    ir_ref u1 = ir_param(t.f, IR_F32), u2 = ir_param(t.f, IR_F32), at = t_u32(&t, record);
    ir_ref data = t_word(&t, at, n->extra_word + AREA_SHAPE_DATA),
           inverse = t_real(&t, at, n->extra_word + AREA_INVERSE_AREA);
    emitter_sample e = uniform ? shape_kinds[n->variant]->sample(&t, data, inverse, ref, u1, u2)
                               : emitter_of(n)->sample(&t, n, at, ref, u1, u2);
    const surface on = {
        .mesh = data, .face = e.face, .b = e.b, .p = v3_add(&t, ref, v3_scale(&t, e.d, e.distance))};
    t.surface = &on;
    color c = emitter_of(n)->radiance(&t, n, at, e.uv, e.distance, e.facing);
    ir_return(t.f, (ir_ref[]){e.d.x, e.d.y, e.d.z, e.distance, e.pdf, c.c[1]}, 6);
    return t.f;
}

/* The primitive at an entry against a ray. */
static ir_func *trace_hit(subject *s, const class_node *n, uint32_t record)
{
    tracer t = plan_tracer(s->e->plan, ir_func_create(s->module, "hit"));
    ir_ref entry = ir_param(t.f, IR_U32), out[3];
    vec3 o = param_vec3(t.f), d = param_vec3(t.f);
    const shape_kind_class *kind = shape_kinds[n->variant];
    kind->intersect(&t, entry, &(shape_ray){o, d, t_f32(&t, 0), t_f32(&t, 1e6f)}, out);
    interaction si = {0};
    ir_ref data = t_word(&t, t_u32(&t, record), n->extra_word + AREA_SHAPE_DATA);
    kind->interact(&t, &(shape_hit){entry, data, o, d, out[0], out[1], out[2]}, &si);
    emitter_hit hit = {
        .ref = o,
        .d = d,
        .distance = out[0],
        .normal = si.ng,
        .uv = si.uv,
        .entry = entry,
        .at = {out[1], out[2]},
    };
    ir_ref pdf = emitter_of(n)->pdf(&t, n, t_u32(&t, record), &hit);
    ir_return(t.f, (ir_ref[]){out[0], pdf}, 2);
    return t.f;
}

static ir_func *trace_choose(subject *s)
{
    tracer t = plan_tracer(s->e->plan, ir_func_create(s->module, "choose"));
    ir_ref probability, light = light_choice_sample(&t, NULL, ir_param(t.f, IR_F32), &probability);
    ir_return(t.f, (ir_ref[]){ir_to_f32(t.f, light), probability, light_choice_probability(&t, NULL, light)},
              3);
    return t.f;
}

static subject load(const char *body, enum light_choice lights)
{
    arena a = {0};
    bl_error err = {0};
    subject s = {0};
    s.e = scene_eval_create_chosen(scene_xml(&a, "", "<sensor type='perspective'/>", body), folder, NULL, 0,
                                   false, lights);
    const plan *p = s.e->plan;
    const uint32_t *place = p->words.data + p->words.data[HEADER_EMITTERS];
    s.module = kernel_module(p);
    const class_node *n = p->emitters.data[place[0]];
    if (p->lights_tabled) {
        s.choose = trace_choose(&s);
    } else {
        s.sample = trace_sample(&s, n, place[1], false), s.uniform = trace_sample(&s, n, place[1], true);
        s.hit = trace_hit(&s, n, place[1]);
    }
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s", err.text);
    arena_free(&a);
    return s;
}

/* Derived values and tables. */
static void refresh(subject *s)
{
    bl_error err = {0};
    if (scene_eval_run(s->e, RENDER_PRIMAL, (scene_eval_at){.f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void unload(subject *s)
{
    ir_module_destroy(s->module);
    scene_eval_destroy(s->e);
}

/* ---- textured area lights ---- */

static double nearest_hit(const subject *s, const double o[3], const double d[3], double *pdf)
{
    const plan *p = s->e->plan;
    double nearest = 1e5;
    for (uint32_t i = 0; i < s->e->scene->primitives.count; i++) {
        ir_value got[2];
        evaluate(s, s->hit,
                 (double[]){p->words.data[HEADER_ENTRIES] + 12 * i, o[0], o[1], o[2], d[0], d[1], d[2]}, 7,
                 got);
        if (got[0].f < nearest)
            nearest = got[0].f, *pdf = got[1].f;
    }
    return nearest;
}

typedef struct estimate {
    double mean, variance;
} estimate;

/* Integral of the radiance over the directions from a point, by SAMPLES samples. */
static estimate integral(const subject *s, const ir_func *sample, const double ref[3])
{
    double sum = 0, square = 0;
    uint32_t random = 7;
    for (uint32_t k = 0; k < SAMPLES; k++) {
        ir_value got[8];
        double u1 = scene_random(&random), u2 = scene_random(&random);
        evaluate(s, sample, (double[]){ref[0], ref[1], ref[2], u1, u2}, 5, got);
        double x = got[4].f > 0 ? got[5].f / got[4].f : 0;
        sum += x, square += x * x;
    }
    sum /= SAMPLES;
    return (estimate){sum, square / SAMPLES - sum * sum};
}

#define EMITTER(radiance) "<emitter type='area'>" radiance "</emitter>"
#define BITMAP(file, more)                                                                                   \
    "<texture type='bitmap' name='radiance'><string name='filename' value='" file "'/>" more "</texture>"
#define CHECKS(dark)                                                                                         \
    "<texture type='checkerboard' name='radiance'><rgb name='color0' value='1'/><rgb name='color1' "         \
    "value='" dark "'/></texture>"
#define ATTRIBUTE(attribute)                                                                                 \
    "<texture type='mesh_attribute' name='radiance'><string name='name' value='" attribute "'/></texture>"
#define SMOKE                                                                                                \
    "<texture type='volume' name='radiance'><volume type='gridvolume' name='volume'><string "                \
    "name='filename' value='smoke.vol'/>"                                                                    \
    "<transform name='to_world'><translate value='-.5,-.5,-.5'/><scale "                                     \
    "value='2.5'/></transform></volume></texture>"
#define SHAPE(type, ops, more, radiance)                                                                     \
    "<shape type='" type "'><transform name='to_world'>" ops "</transform>" more EMITTER(radiance) "</"      \
                                                                                                   "shape>"

typedef struct light_case {
    const char *name, *body;
    double ref[3];
} light_case;

static const light_case cases[] = {
    {"rectangle",
     SHAPE("rectangle", "<rotate y='1' angle='40'/>", "", BITMAP("texture.pfm", "")),
     {1, .5, 2}},
    {"rectangle, steps",
     SHAPE("rectangle", "<scale x='2'/>", "",
           BITMAP("grey.pfm", "<string name='filter_type' value='nearest'/>")),
     {.3, .2, 1}},
    {"cube", SHAPE("cube", "", "", BITMAP("texture.pfm", "")), {1.5, 2, 1.8}},
    {"disk", SHAPE("disk", "<scale x='1.4' y='.7'/>", "", CHECKS("0")), {.3, .2, 1}},
    {"cylinder", SHAPE("cylinder", "<scale value='.5'/>", "", CHECKS(".05")), {2, .3, .4}},
    {"colours of vertices",
     SHAPE("ply", "<rotate y='1' angle='40'/>", "<string name='filename' value='patch.ply'/>",
           ATTRIBUTE("vertex_color")),
     {1, .5, 2}},
    {"numbers of faces",
     SHAPE("ply", "", "<string name='filename' value='patch.ply'/>", ATTRIBUTE("face_weight")),
     {.3, .2, 1}},
    {"volume", SHAPE("disk", "<scale x='1.4' y='.7'/>", "", SMOKE), {.3, .2, 1}},
};

/* A hit has the density that its sample had, unless it lies on the border of a cell. */
static void hits_have_their_samples_density(void **state)
{
    const light_case *c = *state;
    subject s = load(c->body, LIGHTS_BY_WEIGHT);
    refresh(&s);
    uint32_t random = 3, met = 0, border = 0;
    double least = INFINITY, most = 0;
    for (uint32_t k = 0; k < HITS; k++) {
        ir_value got[8];
        double u1 = scene_random(&random), u2 = scene_random(&random), pdf = 0;
        evaluate(&s, s.sample, (double[]){c->ref[0], c->ref[1], c->ref[2], u1, u2}, 5, got);
        double d[3] = {got[0].f, got[1].f, got[2].f}, distance = nearest_hit(&s, c->ref, d, &pdf);
        if (!(got[4].f > 0) || fabs(distance - got[3].f) > 1e-4)
            continue; /* behind another part of the same shape */
        met++;
        border += fabs(pdf - got[4].f) > 1e-4 * pdf;
        least = fmin(least, pdf / (got[3].f * got[3].f)), most = fmax(most, pdf / (got[3].f * got[3].f));
    }
    if (met < HITS / 4 || border > met / 50 || !(most > 1.5 * least))
        fail_msg("%s: %u hits, %u with another density; densities from %g to %g", c->name, met, border, least,
                 most);
    unload(&s);
}

/* Samples by the table and uniform ones integrate the same light from a point, the former with less noise. */
static void samples_integrate_the_light(void **state)
{
    const light_case *c = *state;
    subject s = load(c->body, LIGHTS_BY_WEIGHT);
    refresh(&s);
    estimate by_table = integral(&s, s.sample, c->ref), uniform = integral(&s, s.uniform, c->ref);
    double z = fabs(by_table.mean - uniform.mean) / sqrt((by_table.variance + uniform.variance) / SAMPLES);
    if (!(uniform.mean > 0 && z < 4 && by_table.variance < uniform.variance))
        fail_msg("%s: %g (variance %g), uniformly %g (%g)", c->name, by_table.mean, by_table.variance,
                 uniform.mean, uniform.variance);
    unload(&s);
}

/* A sphere is sampled within the cone that it fills, or from within by area: one over the density has the
 * mean that the solid angle is, and hits have the density of samples. */
static void balls_fill_their_solid_angle(void **state)
{
    (void)state;
    static const struct {
        double ref[3];
        const char *flip;
    } sides[] = {{{2, .5, 1}, "false"}, {{.2, .1, -.3}, "true"}};
    for (int inside = 0; inside < 2; inside++) {
        arena a = {0};
        const char *ball = SHAPE("sphere", "<scale value='.6'/>", "<boolean name='flip_normals' value='%s'/>",
                                 "<rgb name='radiance' value='1'/>");
        subject s = load(arena_printf(&a, ball, sides[inside].flip), LIGHTS_BY_WEIGHT);
        refresh(&s);
        const double *ref = sides[inside].ref,
                     sine2 = .36 / (ref[0] * ref[0] + ref[1] * ref[1] + ref[2] * ref[2]);
        estimate angle = integral(&s, s.sample, ref);
        double wanted = inside ? 4 * pi : 2 * pi * (1 - sqrt(1 - sine2)),
               error = sqrt(fmax(angle.variance, 0) / SAMPLES);
        if (!(fabs(angle.mean - wanted) <= 4 * error + 1e-5 * wanted))
            fail_msg("seen from %s: solid angle %g +- %g, expected %g", inside ? "inside" : "outside",
                     angle.mean, error, wanted);
        uint32_t random = 5;
        for (uint32_t k = 0; k < HITS; k++) {
            ir_value got[8];
            double u1 = scene_random(&random), u2 = scene_random(&random), pdf = 0;
            evaluate(&s, s.sample, (double[]){ref[0], ref[1], ref[2], u1, u2}, 5, got);
            double distance = nearest_hit(&s, ref, (double[]){got[0].f, got[1].f, got[2].f}, &pdf);
            assert_true(fabs(distance - got[3].f) < 1e-4 && fabs(pdf - got[4].f) <= 1e-4 * pdf);
        }
        unload(&s);
        arena_free(&a);
    }
}

/* Samples near a far ball's horizon: there the point is where it is in f64, since the angle at it comes of
 * the sample. From points, which the ray almost misses, f32 told it to three digits, and derivatives are
 * divided by its cosine. */
static void horizons_of_balls_are_sharp(void **state)
{
    (void)state;
    subject s = load(SHAPE("sphere", "<scale value='.05'/>", "", "<rgb name='radiance' value='1'/>"),
                     LIGHTS_BY_WEIGHT);
    refresh(&s);
    for (int k = 2; k <= 6; k++)
        for (int turn = 0; turn < 8; turn++) {
            const double in[5] = {2, .5, 1, (double)(1 - powf(10, (float)-k)), turn / 8.0};
            ir_value rounded[8], exact[8];
            evaluate_in(&s, s.sample, in, 5, false, rounded), evaluate_in(&s, s.sample, in, 5, true, exact);
            if (!(fabs(rounded[3].f - exact[3].f) <= 1e-6 * exact[3].f))
                fail_msg("u %.7g: distance %.9g, in f64 %.9g", in[3], rounded[3].f, exact[3].f);
        }
    unload(&s);
}

/* ---- the choice of lights ---- */

#define WEIGHT(w) "<float name='sampling_weight' value='" w "'/>"
#define LIGHTS(a, b, c, d)                                                                                   \
    "<shape type='rectangle'><emitter type='area' id='area'><rgb name='radiance' value='1,2,3'/>" WEIGHT(    \
        a) "</emitter></shape>"                                                                              \
           "<emitter type='point' id='bulb'><rgb name='intensity' value='.5'/>" WEIGHT(                      \
               b) "</emitter>"                                                                               \
                  "<emitter type='constant' id='sky'><rgb name='radiance' value='.2'/>" WEIGHT(              \
                      c) "</emitter>"                                                                        \
                         "<emitter type='directional'><rgb name='irradiance' value='3'/>" WEIGHT(            \
                             d) "</emitter>"
enum { COUNT = 4 };

/* What is chosen, and with which probability. weight: not normalised. */
static void expect_choices(const subject *s, const double weight[COUNT])
{
    double sum = 0, seen[COUNT] = {0};
    for (int i = 0; i < COUNT; i++)
        sum += weight[i];
    for (uint32_t k = 0; k < CHOICES; k++) {
        ir_value got[3];
        evaluate(s, s->choose, (double[]){(k + 0.5) / CHOICES}, 1, got);
        int light = (int)got[0].f;
        seen[light] += 1.0 / CHOICES;
        assert_true(fabs(got[1].f - weight[light] / sum) < 1e-6 && got[1].f == got[2].f);
    }
    for (int i = 0; i < COUNT; i++)
        if (!(fabs(seen[i] - weight[i] / sum) <= 1.01 / CHOICES))
            fail_msg("light %d is chosen with probability %g, expected %g", i, seen[i], weight[i] / sum);
}

/* With the share of the mean that every light has. */
static void expect_powers(const subject *s, const double power[COUNT], const double weight[COUNT])
{
    double mean = 0, product[COUNT];
    for (int i = 0; i < COUNT; i++)
        mean += power[i] * weight[i] / COUNT;
    for (int i = 0; i < COUNT; i++)
        product[i] = (power[i] + (mean > 0 ? 0.1 * mean : 1)) * weight[i];
    expect_choices(s, product);
}

static void lights_are_chosen_by_weight(void **state)
{
    (void)state;
    subject s = load(LIGHTS("2", "0", "1.5", ".5"), LIGHTS_BY_WEIGHT);
    refresh(&s);
    expect_choices(&s, (double[]){2, 0, 1.5, .5});
    unload(&s);
    s = load(LIGHTS("1", "2", "3", "0"), LIGHTS_BY_WEIGHT);
    refresh(&s);
    expect_choices(&s, (double[]){1, 2, 3, 0});
    unload(&s);
}

static double *value_of(subject *s, const char *name)
{
    return s->e->values + s->e->scene->parameters.data[scene_eval_find(s->e, name)].offset;
}

static void lights_are_chosen_by_power(void **state)
{
    (void)state;
    subject s = load(LIGHTS("1", "2", "1", "1"), LIGHTS_BY_POWER);
    const double weight[COUNT] = {1, 2, 1, 1},
                 section = pi * 2; /* the scene is the square of side 2: its radius is sqrt(2) */
    double bright = 0.212671 * 1 + 0.715160 * 2 + 0.072169 * 3,
           power[COUNT] = {4 * pi * bright, 4 * pi * .5, .2 * pi * section, 3 * section};
    refresh(&s);
    expect_powers(&s, power, weight);
    value_of(&s, "bulb.intensity.value")[1] = 0,
                 value_of(&s, "bulb.intensity.value")[0] = value_of(&s, "bulb.intensity.value")[2] = 0;
    power[1] = 0;
    refresh(&s);
    expect_powers(&s, power, weight);
    unload(&s);
}

/* Where a light has no table, a volume it shows is looked up where its surface is. */
static void the_power_of_a_ball_in_a_volume_is_known(void **state)
{
    (void)state;
    subject s = load("<shape type='sphere'><emitter type='area'><texture type='volume' "
                     "name='radiance'><volume type='constvolume' name='volume'>"
                     "<rgb name='value' value='1,2,3'/></volume></texture></emitter></shape>"
                     "<emitter type='point' id='bulb'><rgb name='intensity' value='.5'/></emitter>"
                     "<emitter type='constant' id='sky'><rgb name='radiance' value='.2'/></emitter>"
                     "<emitter type='directional'><rgb name='irradiance' value='3'/></emitter>",
                     LIGHTS_BY_POWER);
    const double section = pi * 3, bright = 0.212671 * 1 + 0.715160 * 2 +
                                            0.072169 * 3; /* its box has half a diagonal of sqrt(3) */
    refresh(&s);
    expect_powers(&s, (double[]){4 * pi * pi * bright, 4 * pi * .5, .2 * pi * section, 3 * section},
                  (double[]){1, 1, 1, 1});
    unload(&s);
}

/* What else has a table, here the bound of a medium and the sums of a phase function, is made beside it. */
static void lights_are_chosen_where_media_have_tables(void **state)
{
    (void)state;
    subject s = load(
        LIGHTS("2", "0", "1.5",
               ".5") "<shape type='sphere'><medium name='interior' type='heterogeneous'>"
                     "<volume name='sigma_t' type='gridvolume'><string name='filename' "
                     "value='smoke.vol'/></volume>"
                     "<phase type='tabphase'><string name='values' value='1,0,2'/></phase></medium></shape>",
        LIGHTS_BY_WEIGHT);
    refresh(&s);
    expect_choices(&s, (double[]){2, 0, 1.5, .5});
    unload(&s);
}

static void alike_lights_need_no_table(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum light_choice lights;
        bool tabled;
    } rows[] = {{LIGHTS("1", "1", "1", "1"), LIGHTS_BY_WEIGHT, false},
                {LIGHTS("3", "3", "3", "3"), LIGHTS_BY_WEIGHT, false},
                {LIGHTS("1", "1", "2", "1"), LIGHTS_UNIFORM, false},
                {LIGHTS("1", "1", "2", "1"), LIGHTS_BY_WEIGHT, true},
                {LIGHTS("1", "1", "1", "1"), LIGHTS_BY_POWER, true},
                {"<emitter type='constant'/>", LIGHTS_BY_POWER, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena a = {0};
        scene_eval *e =
            scene_eval_create_chosen(scene_xml(&a, "", "<sensor type='perspective'/>", rows[i].body), ".",
                                     NULL, 0, false, rows[i].lights);
        assert_int_equal(e->plan->lights_tabled, rows[i].tabled);
        assert_int_equal(e->plan->value_count > e->scene->values.count, rows[i].tabled);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

static void many_lights_have_a_tree(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        arena a = {0};
        const char *body = "";
        for (uint32_t i = 0; i < LIGHTS_MANY - 1 + more; i++)
            body = arena_printf(
                &a, "%s<emitter type='point'><point name='position' value='%u,0,0'/></emitter>", body, i);
        scene_eval *e = scene_eval_create_chosen(scene_xml(&a, "", "<sensor type='perspective'/>", body), ".",
                                                 NULL, 0, false, LIGHTS_AUTO);
        assert_int_equal(e->scene->light_choice, more ? LIGHTS_BY_TREE : LIGHTS_BY_WEIGHT);
        assert_int_equal(e->plan->lights_tree, more);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
#define CASE(test, k)                                                                                        \
    {                                                                                                        \
#test, test, NULL, NULL, (void *)(uintptr_t)&cases[k]                                                \
    }
#define CASES(test)                                                                                          \
    CASE(test, 0), CASE(test, 1), CASE(test, 2), CASE(test, 3), CASE(test, 4), CASE(test, 5), CASE(test, 6), \
        CASE(test, 7)
    const struct CMUnitTest tests[] = {
        CASES(hits_have_their_samples_density),
        CASES(samples_integrate_the_light),
        cmocka_unit_test(lights_are_chosen_by_weight),
        cmocka_unit_test(lights_are_chosen_where_media_have_tables),
        cmocka_unit_test(lights_are_chosen_by_power),
        cmocka_unit_test(the_power_of_a_ball_in_a_volume_is_known),
        cmocka_unit_test(balls_fill_their_solid_angle),
        cmocka_unit_test(horizons_of_balls_are_sharp),
        cmocka_unit_test(alike_lights_need_no_table),
        cmocka_unit_test(many_lights_have_a_tree),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
