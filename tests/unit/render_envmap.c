/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The environment map's functions alone, in the interpreter, against the same conventions written in C in
 * double precision: radiance of any direction with seam and poles, density of any direction, samples by a
 * chi-square test; and that the tables follow the texels, keep black texels alive where their gradient is
 * wanted, and leave out what compensation leaves out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/kernels/kernels.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

enum {
    WIDTH = 7,
    HEIGHT = 5,
    TEXELS = WIDTH * HEIGHT,
    DIRECTIONS = 1500,
    SAMPLES = 60000,
    BINS_U = 21,
    BINS_V = 12
};
static const double pi = 3.14159265358979323846;

/* Scenes: as it is; turned, its texels wanted; compensated; to_world wanted, any matrix in its place. */
enum kind { PLAIN, TURNED, COMPENSATED, SKEWED, KIND_COUNT };
static const char *const requested[KIND_COUNT] = {[TURNED] = "env.data", [SKEWED] = "env.to_world"};

/* ---- the map in C ---- */

typedef struct model {
    double rgb[TEXELS][3], weight[TEXELS], sum;
    double scale, to_world[9], to_map[9], determinant;
} model;

static void place(model *m, const double to_world[9])
{
    const double *a = to_world;
    memcpy(m->to_world, a, sizeof m->to_world);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) { /* cofactors, transposed */
            int r = (k + 1) % 3, s = (k + 2) % 3, b = (i + 1) % 3, c = (i + 2) % 3;
            m->to_map[3 * i + k] = a[3 * r + b] * a[3 * s + c] - a[3 * r + c] * a[3 * s + b];
        }
    m->determinant = a[0] * m->to_map[0] + a[1] * m->to_map[3] + a[2] * m->to_map[6];
    for (int i = 0; i < 9; i++)
        m->to_map[i] /= m->determinant;
}

static void apply(const double m[9], const double v[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = m[3 * k] * v[0] + m[3 * k + 1] * v[1] + m[3 * k + 2] * v[2];
}

static double length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static double bright(const double rgb[3])
{
    return 0.212671 * rgb[0] + 0.715160 * rgb[1] + 0.072169 * rgb[2];
}

static void weigh(model *m, bool compensate, bool wanted)
{
    double mean = 0, least = INFINITY;
    for (int i = 0; i < TEXELS; i++) {
        mean += bright(m->rgb[i]) / TEXELS;
        least = fmin(least, bright(m->rgb[i]));
    }
    double off = compensate && mean - least > 0.01 * mean ? mean : 0, add = !wanted    ? 0
                                                                            : mean > 0 ? 0.1 * mean
                                                                                       : 1;
    for (int i = 0; i < TEXELS; i++)
        m->weight[i] = (fmax(bright(m->rgb[i]) - off, 0) + add) * sin(pi * (i / WIDTH) / (HEIGHT - 1));
    m->sum = 0; /* every texel touches four cells, those of the poles weigh nothing */
    for (int i = WIDTH; i < TEXELS - WIDTH; i++)
        m->sum += m->weight[i];
}

/* The bilinear interpolant of one value of every texel, `stride` doubles apart. */
static double interpolate(const double *values, int stride, double u, double v)
{
    double x = u * WIDTH - 0.5, y = v * (HEIGHT - 1), sum = 0;
    int column = (int)floor(x), row = (int)fmin(floor(y), HEIGHT - 2);
    for (int k = 0; k < 4; k++) {
        int i = ((column + (k & 1)) % WIDTH + WIDTH) % WIDTH, j = row + (k >> 1);
        double wx = k & 1 ? x - column : 1 - (x - column), wy = k >> 1 ? y - row : 1 - (y - row);
        sum += wx * wy * values[stride * (j * WIDTH + i)];
    }
    return sum;
}

static double density_uv(const model *m, double u, double v)
{
    return m->sum > 0 ? interpolate(m->weight, 1, u, v) / m->sum * WIDTH * (HEIGHT - 1) : 0;
}

static void to_uv(const model *m, const double d[3], double uv[2])
{
    double v[3];
    apply(m->to_map, d, v);
    uv[0] = atan2(v[0], -v[2]) / (2 * pi), uv[0] -= floor(uv[0]);
    uv[1] = acos(fmin(fmax(v[1] / length(v), -1), 1)) / pi;
}

static void from_uv(const model *m, double u, double v, double d[3])
{
    double local[3] = {sin(2 * pi * u) * sin(pi * v), cos(pi * v), -cos(2 * pi * u) * sin(pi * v)}, by;
    apply(m->to_world, local, d);
    by = length(d);
    for (int k = 0; k < 3; k++)
        d[k] /= by;
}

/* In solid angle of the world, which to_map makes 1 / (|det to_world| |to_map d|^3) as large. */
static double density_of(const model *m, const double d[3])
{
    double uv[2], v[3];
    to_uv(m, d, uv);
    apply(m->to_map, d, v);
    return density_uv(m, uv[0], uv[1]) / (2 * pi * pi * sin(pi * uv[1])) /
           (fabs(m->determinant) * pow(length(v), 3));
}

/* ---- the emitter ---- */

typedef struct subject {
    scene_eval *e;
    ir_module *module;
    ir_func *sample, *at; /* u 2 -> d 3, pdf, uv 2, distance; d 3 -> uv 2, pdf, radiance 3 */
    model m;
    enum kind kind;
} subject;

static ir_func *trace_sample(subject *s, const class_node *n, uint32_t record)
{
    tracer t = plan_tracer(s->e->plan, ir_func_create(s->module, "sample"));
    ir_ref u1 = ir_param(t.f, IR_F32), u2 = ir_param(t.f, IR_F32), zero = t_f32(&t, 0);
    emitter_sample e = emitter_of(n)->sample(&t, n, t_u32(&t, record), v3(zero, zero, zero), u1, u2);
    ir_return(t.f, (ir_ref[]){e.d.x, e.d.y, e.d.z, e.pdf, e.uv.x, e.uv.y, e.distance}, 7);
    return t.f;
}

static ir_func *trace_at(subject *s, const class_node *n, uint32_t record)
{
    tracer t = plan_tracer(s->e->plan, ir_func_create(s->module, "at"));
    ir_ref x = ir_param(t.f, IR_F32), y = ir_param(t.f, IR_F32), z = ir_param(t.f, IR_F32),
           zero = t_f32(&t, 0);
    vec3 d = v3(x, y, z), origin = v3(zero, zero, zero);
    ir_ref r = t_u32(&t, record);
    vec2 uv = emitter_of(n)->locate(&t, n, r, d);
    emitter_hit hit = {
        .ref = origin,
        .d = d,
        .distance = zero,
        .normal = origin,
        .uv = uv,
        .entry = t_u32(&t, 0),
        .at = {zero, zero},
    };
    ir_ref pdf = emitter_of(n)->pdf(&t, n, r, &hit);
    color c = emitter_of(n)->radiance(&t, n, r, uv, zero, ir_bool(t.f, true));
    ir_return(t.f, (ir_ref[]){uv.x, uv.y, pdf, c.c[0], c.c[1], c.c[2]}, 6);
    return t.f;
}

#define TURN                                                                                                 \
    "<transform name='to_world'><matrix value='0 0 -2  0 -2 0  2 0 0'/></transform><float name='scale' "     \
    "value='1.5'/>"
static const double straight[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, turned[9] = {0, 0, -1, 0, -1, 0, 1, 0, 0},
                    skewed[9] = {.5, 1.2, -.3, -1, .4, .2, .3, .1, -1.5};

static subject load(enum kind kind)
{
    static const char *const contents[KIND_COUNT] = {"", TURN,
                                                     "<boolean name='mis_compensation' value='true'/>", ""};
    arena a = {0};
    bl_error err = {0};
    subject s = {.m.scale = kind == TURNED ? 1.5 : 1, .kind = kind};
    char *xml = arena_printf(&a,
                             "<scene version='3.0.0'><sensor type='perspective'/><shape "
                             "type='sphere'/><emitter type='envmap' id='env'>"
                             "<string name='filename' value='envmap_test.pfm'/>%s</emitter></scene>",
                             contents[kind]);
    s.e = scene_eval_create(xml, ".", &requested[kind], requested[kind] != NULL);
    const plan *p = s.e->plan;
    const uint32_t *light = p->words.data + p->words.data[HEADER_EMITTERS];
    s.module = kernel_module(p);
    s.sample = trace_sample(&s, p->emitters.data[light[0]], light[1]);
    s.at = trace_at(&s, p->emitters.data[light[0]], light[1]);
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s", err.text);
    place(&s.m, kind == TURNED ? turned : kind == SKEWED ? skewed : straight);
    double *at = s.e->values + s.e->scene->parameters.data[scene_eval_find(s.e, "env.to_world")].offset;
    for (int k = 0; kind == SKEWED && k < 9; k++)
        at[4 * (k / 3) + k % 3] = skewed[k];
    arena_free(&a);
    return s;
}

/* Texels from the values, tables in f64 or f32, and the model's weights. */
static void refresh(subject *s, bool f64)
{
    bl_error err = {0};
    const double *texels =
        s->e->values + s->e->scene->parameters.data[scene_eval_find(s->e, "env.data")].offset;
    memcpy(s->m.rgb, texels, sizeof s->m.rgb);
    weigh(&s->m, s->kind == COMPENSATED, requested[s->kind]);
    if (scene_eval_tables(s->e, f64, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void unload(subject *s)
{
    ir_module_destroy(s->module);
    scene_eval_destroy(s->e);
}

/* in, out: one number a parameter, one a result. */
static void run(const subject *s, ir_func *f, bool f64, const double *in, double *out)
{
    ir_value args[3], got[7];
    bl_error err = {0};
    for (uint32_t k = 0; k < f->params.count; k++)
        args[k].f = f64 ? in[k] : (double)(float)in[k];
    if (scene_eval_call(s->e, f, args, f64, got, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t k = 0; k < f->results.count; k++)
        out[k] = got[k].f;
}

static void expect(const char *what, const double d[3], double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s of (%.9g, %.9g, %.9g): %.9g, expected %.9g", what, d[0], d[1], d[2], got, expected);
}

/* ---- radiance and density of directions ---- */

/* Of an f64 run only the constants are f32: pi, 3e-8. On seams, at texels, beside the poles, at them; then
 * anywhere. */
static void direction_number(const model *m, uint32_t k, uint32_t *random, double d[3])
{
    static const double edges[] = {0,    0.5,      1,          0.5 / WIDTH, 1 - 0.5 / WIDTH,
                                   1e-5, 1 - 1e-5, 3. / WIDTH, 0.25,        0.75};
    enum { EDGES = sizeof edges / sizeof *edges };
    bool edge = k < EDGES * EDGES;
    from_uv(m, edge ? edges[k % EDGES] : scene_random(random),
            edge ? edges[k / EDGES] : acos(1 - 2 * scene_random(random)) / pi, d);
}

static void agrees_everywhere(const subject *s, bool f64)
{
    uint32_t random = 1;
    for (uint32_t k = 0; k < DIRECTIONS; k++) {
        double d[3], uv[2], got[6];
        direction_number(&s->m, k, &random, d);
        to_uv(&s->m, d, uv);
        run(s, s->at, f64, d, got);
        double sine = sin(pi * uv[1]);
        bool anything = s->kind == SKEWED && sine < 1e-4; /* rounding chooses a side of the pole */
        for (int c = 0; c < 3 && !anything; c++)
            expect("radiance", d, got[3 + c], s->m.scale * interpolate(&s->m.rgb[0][0] + c, 3, uv[0], uv[1]),
                   f64 ? 1e-5 : 2e-4);
        if (sine > 1e-4)
            expect("density", d, got[2], density_of(&s->m, d), f64 ? 1e-5 : 2e-3);
        else
            assert_true(isfinite(got[2]) && got[2] >= 0);
    }
}

static void directions(void **state)
{
    (void)state;
    for (int f64 = 0; f64 < 2; f64++)
        for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
            subject s = load(kind);
            refresh(&s, f64);
            agrees_everywhere(&s, f64);
            unload(&s);
        }
}

/* ---- samples ---- */

static void samples_are_consistent(const subject *s, bool f64)
{
    uint32_t random = 3;
    for (uint32_t k = 0; k < DIRECTIONS; k++) {
        double u[2] = {k < 4 ? k % 2 * (1 - 0x1p-24) : scene_random(&random),
                       k < 4 ? k / 2 * (1 - 0x1p-24) : scene_random(&random)};
        double got[7], d[3], at[6];
        run(s, s->sample, f64, u, got);
        from_uv(&s->m, got[4], got[5], d);
        for (int c = 0; c < 3; c++)
            expect("direction", d, got[c], d[c], f64 ? 1e-6 : 1e-5);
        run(s, s->at, f64, got, at);
        if (k >= 4)
            assert_true(got[3] > 0);
        if (got[3] > 0 && sin(pi * got[5]) > 1e-3) {
            expect("density of a sample", d, at[2], got[3], f64 ? 1e-5 : 2e-3);
            expect("u", d, remainder(at[0] - got[4], 1), 0, 1e-5 / sin(pi * got[5]));
            expect("v", d, at[1], got[5], 1e-5);
        }
    }
}

/* Below 4: the distribution of chi-square over its degrees of freedom as a normal one (Wilson and Hilferty
 * 1931). */
static double chi_square(const subject *s)
{
    static double expected[BINS_U * BINS_V], seen[BINS_U * BINS_V];
    enum { STEPS = 40 };
    memset(expected, 0, sizeof expected), memset(seen, 0, sizeof seen);
    for (int i = 0; i < BINS_U * STEPS; i++)
        for (int j = 0; j < BINS_V * STEPS; j++)
            expected[j / STEPS * BINS_U + i / STEPS] +=
                density_uv(&s->m, (i + 0.5) / (BINS_U * STEPS), (j + 0.5) / (BINS_V * STEPS)) * SAMPLES /
                (BINS_U * BINS_V * STEPS * STEPS);
    uint32_t random = 9;
    for (uint32_t k = 0; k < SAMPLES; k++) {
        double u[2] = {scene_random(&random), scene_random(&random)}, got[7], uv[2];
        run(s, s->sample, false, u, got);
        to_uv(&s->m, got, uv);
        seen[(int)fmin(uv[1] * BINS_V, BINS_V - 1) * BINS_U + (int)fmin(uv[0] * BINS_U, BINS_U - 1)]++;
    }
    double sum = 0, rare_expected = 0, rare_seen = 0;
    int bins = 0;
    for (int b = 0; b < BINS_U * BINS_V; b++) {
        if (expected[b] < 5) {
            rare_expected += expected[b], rare_seen += seen[b];
            continue;
        }
        sum += (seen[b] - expected[b]) * (seen[b] - expected[b]) / expected[b];
        bins++;
    }
    if (rare_expected < 5)
        assert_true(rare_seen < 5 + 10 * rare_expected);
    double k = bins - 1;
    return (cbrt(sum / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k));
}

static void samples(void **state)
{
    (void)state;
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        subject s = load(kind);
        refresh(&s, true);
        samples_are_consistent(&s, true);
        refresh(&s, false);
        samples_are_consistent(&s, false);
        double z = chi_square(&s);
        if (!(fabs(z) < 4))
            fail_msg("samples of kind %d: chi-square lies %.1f deviations from its mean", kind, z);
        if (kind == PLAIN) { /* the test can fail: it sees that the bright texel is 20 % brighter than the
                                tables know */
            s.m.sum += 0.2 * s.m.weight[WIDTH + 6], s.m.weight[WIDTH + 6] *= 1.2;
            assert_true(chi_square(&s) > 4);
        }
        unload(&s);
    }
}

/* ---- tables that follow the texels ---- */

static double *texel_values(subject *s)
{
    return s->e->values + s->e->scene->parameters.data[scene_eval_find(s->e, "env.data")].offset;
}

static void tables_follow_the_texels(void **state)
{
    (void)state;
    subject s = load(PLAIN);
    refresh(&s, true);
    for (int i = 0; i < 3 * TEXELS; i++)
        texel_values(&s)[i] = i / 3 == 2 * WIDTH + 5 ? 3 : 0;
    refresh(&s, true);
    agrees_everywhere(&s, true);
    samples_are_consistent(&s, true);
    unload(&s);
}

/* Nothing to sample; but where the texels are to be optimised, all of them, alike. */
static void black_maps(void **state)
{
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        subject s = load(wanted ? TURNED : PLAIN);
        memset(texel_values(&s), 0, 3 * TEXELS * sizeof(double));
        refresh(&s, true);
        agrees_everywhere(&s, true);
        if (wanted)
            samples_are_consistent(&s, true);
        double got[7];
        run(&s, s.sample, true, (double[2]){0.3, 0.8}, got);
        assert_true(wanted ? got[3] > 0.05 && got[3] < 0.15 : got[3] == 0); /* about 1 / 4 pi */
        unload(&s);
    }
}

/* ---- what is refused ---- */

static void refused(const char *inside, const char *part)
{
    arena a = {0};
    bl_error err = {0};
    scene_description *d;
    render_scene *scene;
    scene_load_options o = {.registry = &render_registry};
    char *xml = arena_printf(
        &a, "<scene version='3.0.0'><sensor type='perspective'/><emitter type='envmap'>%s</emitter></scene>",
        inside);
    bl_result r = scene_load_string(xml, ".", &o, &d, &err);
    if (r == BL_OK)
        r = render_scene_create(d, NULL, &scene, &err);
    if (r == BL_OK || !strstr(err.text, part))
        fail_msg("%s: expected an error with \"%s\", got \"%s\"", inside, part,
                 r == BL_OK ? "none" : err.text);
    arena_free(&a);
}

static void bad_maps(void **state)
{
    (void)state;
    refused("", "filename");
    refused("<string name='filename' value='no_such.exr'/>", "no_such.exr");
    refused("<string name='filename' value='envmap_small.pfm'/>", "at least 2 x 3");
    refused("<string name='filename' value='envmap_test.pfm'/><transform name='to_world'><scale "
            "value='1,2,1'/></transform>",
            "to_world");
    refused("<string name='filename' value='envmap_test.pfm'/><transform name='to_world'><scale "
            "value='0'/></transform>",
            "to_world");
}

static bool write_maps(void)
{
    bl_error err = {0};
    float pixels[3 * TEXELS];
    uint32_t random = 4;
    for (int i = 0; i < TEXELS; i++) {
        float light = i == WIDTH + 6 ? 20 : scene_random(&random) < 0.2 ? 0 : 1;
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] = light * (float)scene_random(&random);
    }
    bool good = image_save("envmap_test.pfm", WIDTH, HEIGHT, 3, pixels, false, &err) == BL_OK &&
                image_save("envmap_small.pfm", WIDTH, 2, 3, pixels, false, &err) == BL_OK;
    if (!good)
        fprintf(stderr, "%s\n", err.text);
    return good;
}

int main(void)
{
    if (!write_maps())
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(directions), cmocka_unit_test(samples),
                                       cmocka_unit_test(tables_follow_the_texels),
                                       cmocka_unit_test(black_maps), cmocka_unit_test(bad_maps)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove("envmap_test.pfm"), remove("envmap_small.pfm");
    return failed;
}
