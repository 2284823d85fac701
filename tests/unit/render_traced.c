/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Small traced functions run alone in the interpreter, against the same thing written in C: the disk, the
 * tent filter, the crop window, bitmap lookups at any texture coordinate. And what scenes with film windows,
 * nested integrators, plates that polarise and bad transforms load to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_traced.h"

static const double pi = 3.14159265358979323846;
static char *folder;

static char *small_scene(arena *a, const char *film, const char *body)
{
    return arena_printf(
        a,
        "<scene version='3.0.0'><sensor type='perspective'><float name='fov' value='50'/><transform "
        "name='to_world'><lookat origin='1,2,3' "
        "target='0,0,.5' up='0,0,1'/></transform><film type='hdrfilm'>%s</film></sensor>%s</scene>",
        film, body);
}

static double random_between(uint32_t *state, double low, double high)
{
    return low + (high - low) * scene_random(state);
}

/* ---- disk ---- */

static const struct {
    const char *ops; /* with the matrix they give */
    double m[16];
    bool flip;
} disks[] = {
    {"<translate value='.1,.2,.3'/>", {1, 0, 0, .1, 0, 1, 0, .2, 0, 0, 1, .3, 0, 0, 0, 1}, false},
    {"<matrix value='1.5 0 0 0  0 2.5 0 1  0 0 1 0  0 0 0 1'/>",
     {1.5, 0, 0, 0, 0, 2.5, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1},
     true},
    {"<matrix value='.5 -.2 .3 -1  .4 1.2 .1 0  -.3 .2 .8 2  0 0 0 1'/>",
     {.5, -.2, .3, -1, .4, 1.2, .1, 0, -.3, .2, .8, 2, 0, 0, 0, 1},
     false}, /* a shear */
    {"<matrix value='1 0 0 0  0 -1 0 0  0 0 1 0  0 0 0 1'/>",
     {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
     false}, /* mirrors */
    {"<matrix value='0 .7 .2 0  -.6 .1 0 0  .1 .2 -.9 0  0 0 0 1'/>",
     {0, .7, .2, 0, -.6, .1, 0, 0, .1, .2, -.9, 0, 0, 0, 0, 1},
     true}, /* mirrors */
};
enum { DISKS = sizeof disks / sizeof disks[0] };

static loaded load_disk(int k)
{
    arena a = {0};
    char *body = arena_printf(&a,
                              "<shape type='disk'><boolean name='flip_normals' value='%s'/><transform "
                              "name='to_world'>%s</transform></shape>",
                              disks[k].flip ? "true" : "false", disks[k].ops);
    loaded l = traced_load(small_scene(&a, "", body), folder);
    arena_free(&a);
    assert_int_equal(l.scene->shapes.count, 1);
    assert_int_equal(l.scene->bvh.count, 1);
    return l;
}

static uint32_t disk_data(const loaded *l)
{
    return l->plan->words.data[l->plan->words.data[HEADER_SHAPES] + SHAPE_DATA];
}

static void apply(const double m[16], const double v[3], double w, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = m[4 * k] * v[0] + m[4 * k + 1] * v[1] + m[4 * k + 2] * v[2] + m[4 * k + 3] * w;
}

/* The normal M^-T z of unit length. */
static void disk_normal(int k, double n[3])
{
    double inverse[16];
    assert_true(matrix_invert(disks[k].m, inverse));
    double length = sqrt(inverse[8] * inverse[8] + inverse[9] * inverse[9] + inverse[10] * inverse[10]);
    for (int i = 0; i < 3; i++)
        n[i] = (disks[k].flip ? -1 : 1) * inverse[8 + i] / length;
}

static void disk_meets_rays(void **state)
{
    (void)state;
    uint32_t random = 1, hits = 0, misses = 0;
    for (int k = 0; k < DISKS; k++) {
        loaded l = load_disk(k);
        traced f = traced_begin(&l, 8);
        tracer *t = &f.t;
        vec3 o = v3(f.in[0], f.in[1], f.in[2]), d = v3(f.in[3], f.in[4], f.in[5]);
        ir_ref entry = t_u32(t, l.plan->words.data[HEADER_ENTRIES]), data = t_u32(t, disk_data(&l)), hit[3];
        interaction si = {0};
        shape_kind_disk.intersect(t, entry, &(shape_ray){o, d, f.in[6], f.in[7]}, hit);
        shape_kind_disk.interact(t, &(shape_hit){entry, data, o, d, hit[0], hit[1], hit[2]}, &si);
        ir_ref out[12] = {hit[0],  si.p.x,  si.p.y,  si.p.z,  si.ng.x, si.ng.y,
                          si.ng.z, si.ns.x, si.ns.y, si.ns.z, si.uv.x, si.uv.y};
        traced_end(&f, out, 12);
        double inverse[16], n[3];
        assert_true(matrix_invert(disks[k].m, inverse));
        disk_normal(k, n);
        for (int i = 0; i < 2000; i++) {
            double in[8], local_o[3], local_d[3], got[12], q[3], p[3];
            for (int j = 0; j < 6; j++)
                in[j] = random_between(&random, -2, 2);
            in[6] = random_between(&random, 0, 0.5), in[7] = random_between(&random, 1, 4);
            apply(inverse, in, 1, local_o);
            apply(inverse, in + 3, 0, local_d);
            double at = -local_o[2] / local_d[2];
            q[0] = local_o[0] + at * local_d[0], q[1] = local_o[1] + at * local_d[1], q[2] = 0;
            double r = sqrt(q[0] * q[0] + q[1] * q[1]);
            if (fabs(r - 1) < 1e-4 || fabs(at - in[6]) < 1e-4 || fabs(at - in[7]) < 1e-4)
                continue;
            traced_run(&f, &l, true, in, got);
            if (!(r < 1 && at > in[6] && at < in[7])) {
                assert_true(got[0] == in[7]);
                misses++;
                continue;
            }
            hits++;
            apply(disks[k].m, q, 1, p);
            double turn = atan2(q[1], q[0]) / (2 * pi),
                   expected[12] = {at,   p[0], p[1], p[2], n[0], n[1],
                                   n[2], n[0], n[1], n[2], r,    turn < 0 ? turn + 1 : turn};
            for (int j = 0; j < 12; j++)
                if (!(fabs(got[j] - expected[j]) < 1e-4 * (1 + fabs(expected[j])) + (j == 11 ? 1e-5 / r : 0)))
                    fail_msg("disk %d, result %d: %.9g, expected %.9g", k, j, got[j], expected[j]);
            for (int j = 0; j < 3; j++) /* within the box of the hierarchy */
                assert_true(p[j] > (double)l.scene->primitives.data[0].bounds[j] - 1e-6 &&
                            p[j] < (double)l.scene->primitives.data[0].bounds[3 + j] + 1e-6);
        }
        ir_module_destroy(f.module);
        traced_unload(&l);
    }
    assert_true(hits > 500 && misses > 500);
}

/* Points of the disk, uniform in area; the density as `pdf` says; the integral of 1 over the directions is
 * the solid angle. */
static void disk_is_sampled_uniformly(void **state)
{
    (void)state;
    enum { SIDE = 100 };
    const double ref[3] = {0.7, -0.4, -1.9};
    for (int k = 0; k < DISKS; k++) {
        loaded l = load_disk(k);
        traced f = traced_begin(&l, 2);
        tracer *t = &f.t;
        vec3 from = v3(t_f32(t, 0.7f), t_f32(t, -0.4f), t_f32(t, -1.9f));
        ir_ref data = t_u32(t, disk_data(&l)), inverse_area = t_f32(t, 1 / l.scene->shapes.data[0].area);
        emitter_sample s = shape_kind_disk.sample(t, data, inverse_area, from, f.in[0], f.in[1]);
        emitter_hit hit = {.ref = from, .d = s.d, .distance = s.distance};
        hit.normal = v3_load(t, data, DISK_NORMAL);
        ir_ref pdf = shape_kind_disk.pdf(t, data, inverse_area, &hit);
        ir_ref out[9] = {
            s.d.x, s.d.y, s.d.z, s.distance, s.pdf, pdf, s.uv.x, s.uv.y, ir_to_f32(t->f, s.facing)};
        traced_end(&f, out, 9);
        double inverse[16], n[3], moments[6] = {0}, solid_angle = 0, expected_angle = 0;
        const double *m = disks[k].m;
        assert_true(matrix_invert(m, inverse));
        disk_normal(k, n);
        double cross[3] = {m[4] * m[9] - m[8] * m[5], m[8] * m[1] - m[0] * m[9], m[0] * m[5] - m[4] * m[1]};
        double area = pi * sqrt(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]);
        assert_true(fabs((double)l.scene->shapes.data[0].area - area) < 1e-5 * area);
        for (int i = 0; i < SIDE * SIDE; i++) {
            double in[2] = {(i % SIDE + 0.5) / SIDE, (i / SIDE + 0.5) / SIDE}, got[9], p[3], q[3];
            traced_run(&f, &l, true, in, got);
            for (int j = 0; j < 3; j++)
                p[j] = ref[j] + got[3] * got[j];
            apply(inverse, p, 1, q);
            double r = sqrt(q[0] * q[0] + q[1] * q[1]),
                   cosine = got[0] * n[0] + got[1] * n[1] + got[2] * n[2];
            assert_true(fabs(q[2]) < 1e-5 && r < 1 + 1e-5);
            assert_true(fabs(got[4] - got[3] * got[3] / (fabs(cosine) * area)) < 1e-4 * got[4] &&
                        fabs(got[4] - got[5]) < 1e-6 * got[4]);
            assert_true(got[8] == (cosine < 0));
            assert_true(fabs(got[6] - r) < 1e-5);
            moments[0] += q[0], moments[1] += q[1], moments[2] += q[0] * q[0], moments[3] += q[0] * q[1],
                moments[4] += q[1] * q[1];
            moments[5] += r * r * r * r;
            solid_angle += 1 / got[4] / (SIDE * SIDE);
            /* the same by a polar grid */
            double radius = sqrt(in[0]), angle = 2 * pi * in[1];
            double at[3] = {radius * cos(angle), radius * sin(angle), 0}, d[3], d2 = 0, dot = 0;
            apply(m, at, 1, d);
            for (int j = 0; j < 3; j++)
                d[j] -= ref[j], d2 += d[j] * d[j], dot += d[j] * n[j];
            expected_angle += fabs(dot) / (d2 * sqrt(d2)) * area / (SIDE * SIDE);
        }
        static const double expected[6] = {0, 0, 0.25, 0, 0.25, 1. / 3};
        for (int j = 0; j < 6; j++)
            if (!(fabs(moments[j] / (SIDE * SIDE) - expected[j]) < 2e-4))
                fail_msg("disk %d, moment %d: %g, expected %g", k, j, moments[j] / (SIDE * SIDE),
                         expected[j]);
        assert_true(fabs(solid_angle - expected_angle) < 2e-3 * expected_angle);
        ir_module_destroy(f.module);
        traced_unload(&l);
    }
}

/* ---- tent filter ---- */

static double tent_cdf(double x, double radius)
{
    double a = x / radius;
    return a < -1 ? 0 : a > 1 ? 1 : a < 0 ? 0.5 * (1 + a) * (1 + a) : 1 - 0.5 * (1 - a) * (1 - a);
}

static void tent_has_its_distribution(void **state)
{
    (void)state;
    static const char *const properties[] = {"", "<float name='radius' value='.5'/>",
                                             "<float name='radius' value='2.75'/>"};
    static const double radii[] = {1, 0.5, 2.75};
    for (int k = 0; k < 3; k++) {
        arena a = {0};
        loaded l = traced_load(
            small_scene(&a, arena_printf(&a, "<rfilter type='tent'>%s</rfilter>", properties[k]), ""),
            folder);
        traced f = traced_begin(&l, 2);
        ir_ref weight = t_f32(&f.t, 1);
        vec2 offset =
            filter_tent.sample(&f.t, t_word(&f.t, t_u32(&f.t, 0), HEADER_FILTER), f.in[0], f.in[1], &weight);
        traced_end(&f, (ir_ref[2]){offset.x, offset.y}, 2);
        for (int i = 0; i < 1000; i++) {
            double in[2] = {i / 1000.0, 1 - (i + 1) / 1000.0}, got[2];
            traced_run(&f, &l, true, in, got);
            for (int j = 0; j < 2; j++)
                if (!(fabs(tent_cdf(got[j], radii[k]) - in[j]) < 1e-12 && fabs(got[j]) <= radii[k]))
                    fail_msg("radius %g: number %g gives %g", radii[k], in[j], got[j]);
        }
        ir_module_destroy(f.module);
        traced_unload(&l);
        arena_free(&a);
    }
}

/* ---- crop window ---- */

static void crop_is_a_part_of_the_film(void **state)
{
    (void)state;
    arena a = {0};
    const char *size = "<integer name='width' value='40'/><integer name='height' value='30'/>";
    loaded scenes[2] = {
        traced_load(small_scene(&a, size, ""), folder),
        traced_load(
            small_scene(
                &a,
                arena_printf(
                    &a,
                    "%s<integer name='crop_offset_x' value='8'/><integer name='crop_offset_y' value='3'/>"
                    "<integer name='crop_width' value='16'/><integer name='crop_height' value='21'/>",
                    size),
                ""),
            folder)};
    assert_true(scenes[0].scene->width == 40 && scenes[0].scene->height == 30 &&
                scenes[1].scene->width == 16 && scenes[1].scene->height == 21);
    traced f[2];
    for (int k = 0; k < 2; k++) {
        f[k] = traced_begin(&scenes[k], 2);
        const sensor_view view = {scenes[k].scene->sensor, t_word(&f[k].t, t_u32(&f[k].t, 0), HEADER_SENSOR),
                                  NULL};
        ray r = sensor_ray(&f[k].t, &view, (vec2){f[k].in[0], f[k].in[1]}, (vec2){f[k].in[0], f[k].in[1]});
        traced_end(&f[k], (ir_ref[7]){r.o.x, r.o.y, r.o.z, r.d.x, r.d.y, r.d.z, r.tmax}, 7);
    }
    for (int i = 0; i < 16 * 21; i++) {
        double x = i % 16 + 0.25, y = i / 16 + 0.75, whole[7], part[7];
        traced_run(&f[0], &scenes[0], true, (double[2]){(8 + x) / 40, (3 + y) / 30}, whole);
        traced_run(&f[1], &scenes[1], true, (double[2]){x / 16, y / 21}, part);
        for (int k = 0; k < 7; k++)
            if (!(fabs(whole[k] - part[k]) < 1e-6 * (1 + fabs(whole[k]))))
                fail_msg("pixel %d, value %d: %.9g, expected %.9g", i, k, part[k], whole[k]);
    }
    for (int k = 0; k < 2; k++) {
        ir_module_destroy(f[k].module);
        traced_unload(&scenes[k]);
    }
    arena_free(&a);
}

/* ---- bitmaps at any texture coordinate ---- */

enum { WIDTH = 4, HEIGHT = 3 }; /* texture.pfm */

static double wrapped(double i, double n, const char *mode)
{
    if (strcmp(mode, "clamp") == 0)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    double period = strcmp(mode, "mirror") == 0 ? 2 * n : n, r = i - period * floor(i / period);
    return r < n ? r : 2 * n - 1 - r;
}

static double texel(const double *data, double x, double y, const char *mode)
{
    return data[3 * ((size_t)wrapped(y, HEIGHT, mode) * WIDTH + (size_t)wrapped(x, WIDTH, mode))];
}

static double lookup(const double *data, bool nearest, const char *mode, double u, double v)
{
    double x = u * WIDTH, y = v * HEIGHT;
    if (nearest)
        return texel(data, floor(x), floor(y), mode);
    x -= 0.5, y -= 0.5;
    double i = floor(x), j = floor(y), a = x - i, b = y - j;
    return (1 - b) * ((1 - a) * texel(data, i, j, mode) + a * texel(data, i + 1, j, mode)) +
           b * ((1 - a) * texel(data, i, j + 1, mode) + a * texel(data, i + 1, j + 1, mode));
}

/* The texels of a scene's one bitmap. */
static const double *texels(const loaded *l)
{
    for (uint32_t i = 0; i < l->scene->parameters.count; i++)
        if (strcmp(strrchr(l->scene->parameters.data[i].name, '.'), ".data") == 0)
            return l->values + l->scene->parameters.data[i].offset;
    fail_msg("the scene has no bitmap");
    return NULL;
}

static void check_lookup(const traced *f, const loaded *l, bool nearest, const char *mode, double u, double v)
{
    const double *data = texels(l);
    double got, least = INFINITY, most = -INFINITY, size = fmax(fabs(u), fabs(v));
    traced_run(f, l, false, (double[2]){u, v}, &got); /* a texel out of range fails here */
    if (isnan(u) || isnan(v) || size > 8e37)          /* or infinite as a coordinate of a texel */
        return;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        least = fmin(least, data[3 * i]), most = fmax(most, data[3 * i]);
    if (!(got >= least - 1e-6 && got <= most + 1e-6))
        fail_msg("%s %s (%g, %g): %g is outside of the image's values", nearest ? "nearest" : "bilinear",
                 mode, u, v, got);
    if (size > 1e5) /* then f32 holds no position within a texel any more */
        return;
    double expected = lookup(data, nearest, mode, (double)(float)u, (double)(float)v);
    if (!(fabs(got - expected) < 1e-6 * (1 + size) * 8))
        fail_msg("%s %s (%g, %g): %.9g, expected %.9g", nearest ? "nearest" : "bilinear", mode, u, v, got,
                 expected);
}

static void bitmaps_anywhere(void **state)
{
    (void)state;
    static const char *const modes[] = {"repeat", "mirror", "clamp"};
    /* none of them at an edge of a texel, where one rounding decides */
    static const double places[] = {0.05,    0.3,      0.45,     0.95,      1.05, 1.45,  -0.05,  -0.3,
                                    -0.95,   -1.05,    2.3,      -3.3,      17.3, -29.7, 1000.3, -1000.3,
                                    32000.3, -32000.3, 1e7,      -1e7,      4e9,  -4e9,  1e18,   -1e18,
                                    3e38,    -3e38,    INFINITY, -INFINITY, NAN};
    enum { PLACES = sizeof places / sizeof places[0] };
    for (int k = 0; k < 6; k++) {
        arena a = {0};
        bool nearest = k % 2;
        const char *mode = modes[k / 2];
        loaded l = traced_load(
            small_scene(
                &a, "",
                arena_printf(
                    &a,
                    "<shape type='rectangle'><bsdf type='diffuse'><texture type='bitmap' name='reflectance'>"
                    "<string name='filename' value='texture.pfm'/><string name='filter_type' value='%s'/>"
                    "<string name='wrap_mode' value='%s'/></texture></bsdf></shape>",
                    nearest ? "nearest" : "bilinear", mode)),
            folder);
        traced f = traced_begin(&l, 2);
        const uint32_t *shape = l.plan->words.data + l.plan->words.data[HEADER_SHAPES];
        color c =
            plan_texture(&f.t, l.plan->bsdfs.data[shape[SHAPE_BSDF_CLASS]],
                         t_u32(&f.t, shape[SHAPE_BSDF_RECORD]), "reflectance", (vec2){f.in[0], f.in[1]});
        traced_end(&f, c.c, 1);
        for (int i = 0; i < PLACES * PLACES; i++)
            check_lookup(&f, &l, nearest, mode, places[i % PLACES], places[i / PLACES]);
        ir_module_destroy(f.module);
        traced_unload(&l);
        arena_free(&a);
    }
}

/* ---- loading ---- */

typedef struct load_case {
    const char *film, *body;
    const char *error;
} load_case;

#define INT(name, value) "<integer name='" name "' value='" value "'/>"
#define MATRIX(value) "<transform name='to_world'><matrix value='" value "'/></transform>"

static const load_case load_cases[] = {
    {INT("crop_width", "769"), "",
     "hdrfilm: the crop window of 769 x 576 pixels at (0, 0) does not lie within the film of 768 x 576"},
    {INT("crop_offset_x", "1"), "", "hdrfilm: the crop window of 768 x 576 pixels at (1, 0)"},
    {INT("crop_height", "500") INT("crop_offset_y", "77"), "",
     "hdrfilm: the crop window of 768 x 500 pixels at (0, 77)"},
    {INT("crop_width", "0"), "", "0 is outside [1, 65536]"},
    {INT("crop_offset_x", "-1"), "", "-1 is outside [0, 65536]"},
    {"<rfilter type='tent'><float name='radius' value='0'/></rfilter>", "", "0 is outside"},
    {"", "<shape type='disk'>" MATRIX("1 0 0 0  2 0 0 0  0 0 1 0  0 0 0 1") "</shape>",
     "disk: to_world is singular"},
    {"", "<shape type='disk'>" MATRIX("1 0 0 0  0 1 0 0  0 0 0 0  0 0 0 1") "</shape>",
     "disk: to_world is singular"},
    {"", "<shape type='disk'>" MATRIX("1 0 0 0  0 1 0 0  0 0 1 0  0 0 1 1") "</shape>",
     "disk: to_world must be affine"},
    {"", "<shape type='disk'>" MATRIX("1e25 0 0 0  0 1e25 0 0  0 0 1 0  0 0 0 1") "</shape>",
     "disk: to_world is too large"},
    {"", "<shape type='ply'/>", "shape \"ply\" needs the parameter \"filename\""},
    {"", "<shape type='ply'><string name='filename' value='texture.pfm'/></shape>", "ply: "},
    {"", "<shape type='serialized'><string name='filename' value='texture.pfm'/></shape>", "serialized: "},
    {"", "<integrator type='moment'/>", "integrator \"moment\" needs 1 integrator"},
};

static void bad_scenes_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof load_cases / sizeof load_cases[0]; i++) {
        arena a = {0};
        render_scene *scene = NULL;
        bl_error err = {0};
        bl_result r = traced_try_load(small_scene(&a, load_cases[i].film, load_cases[i].body), folder, NULL,
                                      0, &scene, &err);
        if (r == BL_OK || !strstr(err.text, load_cases[i].error))
            fail_msg("case %zu: expected \"%s\", got \"%s\"", i, load_cases[i].error,
                     r == BL_OK ? "success" : err.text);
        arena_free(&a);
    }
}

/* As the statistical reference scenes have it: defaults for integrator and samples, the integrator inside of
 * `moment`. */
static void nested_integrators(void **state)
{
    (void)state;
    static const char xml[] =
        "<scene version='2.0.0'><default name='spp' value='16'/><default name='integrator' "
        "value='path'/><integrator type='moment'>"
        "<integrator type='$integrator'><integer name='max_depth' "
        "value='3'/></integrator></integrator><sensor type='perspective'>"
        "<film type='hdrfilm'><rfilter type='box'/></film><sampler type='independent'><integer "
        "name='sample_count' value='$spp'/></sampler></sensor></scene>";
    static const scene_define defines[] = {{"integrator", "prb"}, {"spp", "5"}};
    for (uint32_t given = 0; given < 2; given++) {
        render_scene *s = NULL;
        bl_error err = {0};
        if (traced_try_load(xml, folder, defines, 2 * given, &s, &err) != BL_OK)
            fail_msg("%s", err.text);
        assert_string_equal(s->integrator->cls->name, given ? "prb" : "path");
        assert_int_equal(s->max_depth, 3);
        assert_int_equal(s->spp, given ? 5 : 16);
        assert_non_null(strstr(
            s->description->warnings.data,
            "moment: the image is that of the nested integrator; the channels of the moments are left out"));
        render_scene_destroy(s);
    }
    static const char two[] =
        "<scene version='3.0.0'><integrator type='moment'><integrator type='moment'><integrator "
        "type='direct' name='a'/></integrator>"
        "<integrator type='path' name='b'/></integrator><sensor type='perspective'/></scene>";
    render_scene *s = NULL;
    bl_error err = {0};
    if (traced_try_load(two, folder, NULL, 0, &s, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_string_equal(s->integrator->cls->name, "direct");
    assert_int_equal(s->max_depth, 2);
    assert_non_null(strstr(s->description->warnings.data, "the nested integrator, the first one,"));
    render_scene_destroy(s);
}

/* Plates that polarise say so once, whatever their number, and their angles have no gradient. */
static void plates_say_that_light_is_not_polarised(void **state)
{
    (void)state;
    static const char xml[] = "<scene version='3.0.0'><bsdf type='polarizer' id='a'/><bsdf type='circular' "
                              "id='b'/><bsdf type='retarder' id='c'/><sensor type='perspective'/></scene>";
    loaded l = traced_load(xml, folder);
    static const char said[] = "light is not polarised, so what polarises it only takes a share of it";
    const char *first = strstr(l.scene->description->warnings.data, said);
    assert_non_null(first);
    assert_null(strstr(first + 1, said));
    uint32_t without = 0, whole = 0;
    for (uint32_t i = 0; i < l.scene->parameters.count; i++) {
        const render_parameter *p = &l.scene->parameters.data[i];
        bool angle = strstr(p->name, "theta") || strstr(p->name, "delta");
        without += angle && p->reason && strstr(p->reason, "nothing depends on it");
        whole += strstr(p->name, "transmittance") && !p->reason;
    }
    assert_int_equal(without, 3);
    assert_int_equal(whole, 3);
    traced_unload(&l);
}

/* A mirroring matrix turns winding, not the side that a rectangle or a cube faces with. */
static void mirrored_shapes_keep_their_side(void **state)
{
    (void)state;
    static const char *const matrices[] = {"1 0 0 0  0 1 0 0  0 0 1 0  0 0 0 1",
                                           "-1 0 0 0  0 1 0 0  0 0 1 0  0 0 0 1"};
    for (int k = 0; k < 2; k++)
        for (int flip = 0; flip < 2; flip++) {
            arena a = {0};
            loaded l = traced_load(
                small_scene(&a, "",
                            arena_printf(
                                &a,
                                "<shape type='rectangle'><boolean name='flip_normals' value='%s'/><transform "
                                "name='to_world'><matrix value='%s'/></transform></shape>",
                                flip ? "true" : "false", matrices[k])),
                folder);
            for (uint32_t i = 0; i < l.scene->primitives.count; i++) {
                float e[9];
                memcpy(e, l.scene->primitives.data[i].entry, sizeof e);
                assert_true((e[3] * e[7] - e[4] * e[6] > 0) == !flip);
            }
            traced_unload(&l);
            arena_free(&a);
        }
}

/* Made normals are those of the mesh as it stands in the world, whose angles are not those of the file. */
static void normals_are_made_in_the_world(void **state)
{
    (void)state;
    const char *const files[2] = {"pyramid.obj", "wide.obj"},
                      *const moved[2] = {"<scale x='3' y='0.5'/><rotate x='1' angle='30'/>",
                                         "<rotate x='1' angle='30'/>"};
    float normals[2][15];
    for (int k = 0; k < 2; k++) {
        arena a = {0};
        double x = k ? 3 : 1, y = k ? 0.5 : 1;
        char *path = arena_printf(&a, "%s/%s", folder, files[k]);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f,
                "v %g %g 0\nv %g %g 0\nv %g %g 0\nv %g %g 0\nv 0 0 1\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n",
                -x, -y, x, -y, x, y, -x, 2 * y);
        fclose(f);
        loaded l = traced_load(
            small_scene(
                &a, "",
                arena_printf(
                    &a,
                    "<shape type='obj'><string name='filename' value='%s'/><transform name='to_world'>%s"
                    "</transform></shape>",
                    files[k], moved[k])),
            folder);
        assert_true(l.scene->shapes.data[0].normals_made);
        uint32_t mesh = l.scene->shapes.data[0].data;
        memcpy(normals[k], l.scene->geometry.data + l.scene->geometry.data[mesh + MESH_NORMALS],
               sizeof normals[k]);
        traced_unload(&l);
        remove(path);
        arena_free(&a);
    }
    for (int i = 0; i < 15; i++)
        assert_true(fabsf(normals[0][i] - normals[1][i]) < 1e-6f);
}

/* direct: n samples of a kind are n paths with one of each. */
static void direct_with_several_samples(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        uint32_t paths;
        bool lights, materials;
    } cases[] = {{"", 1, true, true},
                 {"<integer name='shading_samples' value='3'/>", 3, true, true},
                 {"<integer name='emitter_samples' value='2'/><integer name='bsdf_samples' value='4'/>", 4,
                  true, true},
                 {"<integer name='emitter_samples' value='5'/><integer name='bsdf_samples' value='0'/>", 5,
                  true, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        arena a = {0};
        loaded l =
            traced_load(arena_printf(&a,
                                     "<scene version='3.0.0'><integrator "
                                     "type='direct'>%s</integrator><sensor type='perspective'/></scene>",
                                     cases[k].params),
                        folder);
        assert_int_equal(l.scene->paths_per_sample, cases[k].paths);
        assert_true(l.scene->use_next_event == cases[k].lights &&
                    l.scene->use_bsdf_sampling == cases[k].materials);
        traced_unload(&l);
        arena_free(&a);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_meets_rays),
        cmocka_unit_test(disk_is_sampled_uniformly),
        cmocka_unit_test(tent_has_its_distribution),
        cmocka_unit_test(crop_is_a_part_of_the_film),
        cmocka_unit_test(bitmaps_anywhere),
        cmocka_unit_test(bad_scenes_say_why),
        cmocka_unit_test(nested_integrators),
        cmocka_unit_test(plates_say_that_light_is_not_polarised),
        cmocka_unit_test(mirrored_shapes_keep_their_side),
        cmocka_unit_test(normals_are_made_in_the_world),
        cmocka_unit_test(direct_with_several_samples),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
