/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Rays of every sensor, in the interpreter, against what they mean in geometry: a thin lens's rays through
 * one place of the film meet on the plane of focus and leave from the lens; parallel rays start on a
 * rectangle; the distant sensor's meet its target; those of an irradiancemeter leave its shape by the cosine;
 * a batch is its sensors. And what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_traced.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 200 };
static const double pi = 3.14159265358979323846;

#define POSE "<transform name='to_world'><lookat origin='1,2,3' target='0,0,.5' up='0,0,1'/></transform>"
#define FILM(w, h, more)                                                                                     \
    "<film type='hdrfilm'><integer name='width' value='" #w "'/><integer name='height' value='" #h           \
    "'/>" more "</film>"
#define FLOAT(name, value) "<float name='" name "' value='" value "'/>"
#define BODY                                                                                                 \
    "<shape type='rectangle' id='floor'><transform name='to_world'><scale value='2'/></transform></shape>"   \
    "<shape type='sphere' id='ball'><point name='center' value='0,0,1'/><float name='radius' "               \
    "value='.5'/></shape>"

/* The pose of POSE: axes of the camera and its place. */
static const double eye[3] = {1, 2, 3};
static double forward[3], left[3], up[3];

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void normalise(double v[3])
{
    double length = sqrt(dot(v, v));
    for (int k = 0; k < 3; k++)
        v[k] /= length;
}

static int set_pose(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++)
        forward[k] = (k == 2 ? 0.5 : 0) - eye[k];
    normalise(forward);
    cross((const double[3]){0, 0, 1}, forward, left);
    normalise(left);
    cross(forward, left, up);
    return 0;
}

/* ---- a sensor as a function ---- */

typedef struct probe {
    loaded l;
    traced f;
    uint32_t seed;
} probe;

typedef struct line {
    double o[3], d[3], length;
} line;

static probe probe_begin(const char *sensor)
{
    arena a = {0};
    const char *source = getenv("BL_SOURCE_DIR");
    probe p = {
        .l = traced_load(arena_printf(&a, "<scene version='3.0.0'>" BODY "%s</scene>", sensor),
                         source ? source : "."),
        .seed = 1,
    };
    p.f = traced_begin(&p.l, 4);
    const sensor_view view = {p.l.scene->sensor, t_word(&p.f.t, t_u32(&p.f.t, 0), HEADER_SENSOR), NULL};
    ray r = sensor_ray(&p.f.t, &view, (vec2){p.f.in[0], p.f.in[1]}, (vec2){p.f.in[2], p.f.in[3]});
    traced_end(&p.f, (ir_ref[7]){r.o.x, r.o.y, r.o.z, r.d.x, r.d.y, r.d.z, r.tmax}, 7);
    arena_free(&a);
    return p;
}

static void probe_end(probe *p)
{
    ir_module_destroy(p->f.module);
    traced_unload(&p->l);
}

static line look(const probe *p, const double in[4])
{
    line r;
    double out[7];
    traced_run(&p->f, &p->l, true, in, out);
    memcpy(r.o, out, sizeof r.o), memcpy(r.d, out + 3, sizeof r.d);
    r.length = out[6];
    return r;
}

static line look_anywhere(probe *p, double in[4])
{
    for (int k = 0; k < 4; k++)
        in[k] = scene_random(&p->seed);
    line r = look(p, in);
    if (!(fabs(dot(r.d, r.d) - 1) < 1e-6))
        fail_msg("direction (%g, %g, %g) is not of unit length", r.d[0], r.d[1], r.d[2]);
    return r;
}

/* Into the camera's coordinates: to the left, up, forward. */
static void to_camera(const double p[3], bool point, double out[3])
{
    double v[3];
    for (int k = 0; k < 3; k++)
        v[k] = p[k] - (point ? eye[k] : 0);
    out[0] = dot(v, left), out[1] = dot(v, up), out[2] = dot(v, forward);
}

static void expect_near(const char *what, double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s: %.9g, expected %.9g", what, got, wanted);
}

/* ---- cameras ---- */

static void thin_lens(void **state)
{
    (void)state;
    probe p = probe_begin("<sensor type='thinlens'>" POSE FLOAT("fov", "50") FLOAT("aperture_radius", ".2")
                              FLOAT("focus_distance", "2.5") FLOAT("near_clip", ".5") FLOAT("far_clip", "7")
                                  FILM(12, 8, "") "</sensor>");
    double tangent = tan(25 * pi / 180), radius2 = 0, in[4];
    for (int i = 0; i < TRIES; i++) {
        line r = look_anywhere(&p, in);
        double o[3], d[3];
        to_camera(r.o, true, o), to_camera(r.d, false, d);
        expect_near("depth of the near plane", o[2], 0.5, 1e-5);
        expect_near("depth of the far plane", o[2] + r.length * d[2], 7, 1e-5);
        double focus = (2.5 - o[2]) / d[2], lens = -o[2] / d[2], x = o[0] + lens * d[0],
               y = o[1] + lens * d[1];
        expect_near("x in focus", o[0] + focus * d[0], 2.5 * tangent * (1 - 2 * in[0]), 1e-5);
        expect_near("y in focus", o[1] + focus * d[1], 2.5 * tangent * (1 - 2 * in[1]) * 8 / 12, 1e-5);
        if (!(x * x + y * y <= 0.04 + 1e-6))
            fail_msg("the ray leaves the lens %g from its centre", sqrt(x * x + y * y));
        radius2 += (x * x + y * y) / TRIES;
    }
    expect_near("mean square of the lens's radius", radius2, 0.02,
                0.003); /* uniform: half the square of the largest */
    probe_end(&p);
}

static void orthographic(void **state)
{
    (void)state;
    probe p = probe_begin(
        "<sensor type='orthographic'><transform name='to_world'><scale x='1.5' y='.5' z='2'/><lookat "
        "origin='1,2,3' target='0,0,.5' "
        "up='0,0,1'/></transform>" FLOAT("near_clip", ".5") FLOAT("far_clip", "7") FILM(
            12, 8,
            "<integer name='crop_offset_x' value='3'/><integer name='crop_width' value='6'/>") "</sensor>");
    double in[4];
    for (int i = 0; i < TRIES; i++) {
        line r = look_anywhere(&p, in);
        double o[3], d[3], x = (3 + 6 * in[0]) / 12;
        to_camera(r.o, true, o), to_camera(r.d, false, d);
        expect_near("direction", d[2], 1, 1e-6);
        expect_near("x", o[0], 1.5 * (1 - 2 * x), 1e-5);
        expect_near("y", o[1], 0.5 * (1 - 2 * in[1]) * 8 / 12, 1e-5);
        expect_near("z", o[2], 2 * 0.5, 1e-5); /* to_world scales it */
        expect_near("length", r.length, 6.5, 1e-5);
    }
    probe_end(&p);
}

static void batch(void **state)
{
    (void)state;
    static const char first[] = "<sensor type='perspective'>" POSE FLOAT("fov", "50"),
                      second[] = "<sensor type='orthographic'>" POSE;
    arena a = {0};
    probe all = probe_begin(arena_printf(
        &a, "<sensor type='batch'>%s</sensor>%s</sensor>" FILM(12, 8, "") "</sensor>", first, second));
    probe one[2] = {probe_begin(arena_printf(&a, "%s" FILM(6, 8, "") "</sensor>", first)),
                    probe_begin(arena_printf(&a, "%s" FILM(6, 8, "") "</sensor>", second))};
    double in[4];
    for (int i = 0; i < TRIES; i++) {
        line got = look_anywhere(&all, in);
        int which = in[0] >= 0.5;
        line wanted = look(&one[which], (double[4]){2 * in[0] - which, in[1], in[2], in[3]});
        for (int k = 0; k < 3; k++)
            expect_near("origin", got.o[k], wanted.o[k], 1e-6),
                expect_near("direction", got.d[k], wanted.d[k], 1e-6);
    }
    probe_end(&all), probe_end(&one[0]), probe_end(&one[1]);
    arena_free(&a);
}

/* ---- meters ---- */

static void radiancemeter(void **state)
{
    (void)state;
    probe given = probe_begin("<sensor type='radiancemeter'><point name='origin' value='1,2,3'/><vector "
                              "name='direction' value='0,3,-4'/>" FILM(1, 1, "") "</sensor>");
    probe posed = probe_begin("<sensor type='radiancemeter'>" POSE FILM(1, 1, "") "</sensor>");
    double in[4];
    line a = look_anywhere(&given, in), b = look_anywhere(&posed, in);
    for (int k = 0; k < 3; k++) {
        expect_near("origin", a.o[k], eye[k], 0), expect_near("origin", b.o[k], eye[k], 0);
        expect_near("direction", a.d[k], (const double[3]){0, 0.6, -0.8}[k], 1e-7),
            expect_near("direction", b.d[k], forward[k], 1e-6);
    }
    probe_end(&given), probe_end(&posed);
}

/* Rays come from outside of everything, in one direction; where they cross the target is uniform. */
static void distant(void **state)
{
    (void)state;
    static const char *const targets[] = {
        "<point name='target' value='.5,-.3,.2'/>",
        "",
        "<ref name='target' id='floor'/>",
        "<shape type='disk' name='target'><transform name='to_world'><translate "
        "z='.25'/></transform></shape>",
        "<shape type='cube' name='target'><transform name='to_world'><scale value='1, 1, 1e-6'/><translate "
        "z='.25'/></transform></shape>",
        "<shape type='ply' name='target'><string name='filename' "
        "value='tests/data/colours_ascii.ply'/></shape>"};
    const double d[3] = {2. / 7, 3. / 7, -6. / 7};
    arena a = {0};
    for (int kind = 0; kind < 6; kind++) {
        probe p = probe_begin(arena_printf(
            &a,
            "<sensor type='distant'><vector name='direction' value='2,3,-6'/>%s" FILM(1, 1, "") "</sensor>",
            targets[kind]));
        assert_int_equal(p.l.scene->primitives.count, 3); /* a target of the sensor's own is not seen */
        double in[4], mean = 0, square = 0, radius = (double)p.l.scene->radius;
        for (int i = 0; i < TRIES; i++) {
            line r = look_anywhere(&p, in);
            double from[3], at[3], height = kind == 3 || kind == 4 ? 0.25 : 0;
            for (int k = 0; k < 3; k++)
                expect_near("direction", r.d[k], d[k], 1e-6), from[k] = r.o[k] - (double)p.l.scene->center[k];
            for (int k = 0; k < 3; k++)
                at[k] = r.o[k] + (height - r.o[2]) / r.d[2] * r.d[k];
            double along = dot(from, d), across = dot(from, from) - along * along;
            assert_true(along <= -radius * 0.9999 + (kind == 1 ? 1e-3 : 0));
            if (kind == 0)
                for (int k = 0; k < 2; k++)
                    expect_near("target", at[k] + (0.2 / r.d[2]) * r.d[k],
                                (const double[3]){0.5, -0.3, 0.2}[k], 1e-5);
            double size = kind == 1 ? across : at[0] * at[0];
            mean += kind == 1 ? 0 : at[0] / TRIES, square += size / TRIES;
        }
        if (kind) {
            const double wanted[] = {0, radius * radius / 2, 4. / 3, 1. / 4, 1. / 3, 1. / 3};
            expect_near("mean", mean, 0, 0.3), expect_near("mean square", square / wanted[kind], 1, 0.2);
        }
        probe_end(&p);
    }
    arena_free(&a);
}

/* Rays leave by their cosine to the shading normal, which on both shapes points away from the centre (1, 2,
 * 3). */
static void rays_leave_by_the_cosine(const char *shape, const char *folder, double least, double most,
                                     double third)
{
    arena a = {0};
    loaded l =
        traced_load(arena_printf(&a,
                                 "<scene version='3.0.0'><shape %s<sensor type='irradiancemeter'>" FILM(
                                     3, 2, "") "</sensor></shape></scene>",
                                 shape),
                    folder);
    expect_near("weight", (double)sensor_weight(l.scene), pi, 1e-6);
    traced f = traced_begin(&l, 4);
    const sensor_view view = {l.scene->sensor, t_word(&f.t, t_u32(&f.t, 0), HEADER_SENSOR), NULL};
    ray r = sensor_ray(&f.t, &view, (vec2){f.in[0], f.in[1]}, (vec2){f.in[2], f.in[3]});
    traced_end(&f, (ir_ref[7]){r.o.x, r.o.y, r.o.z, r.d.x, r.d.y, r.d.z, r.tmax}, 7);
    probe p = {.l = l, .f = f, .seed = 3};
    double cosine = 0, square = 0, in[4];
    for (int i = 0; i < 4 * TRIES; i++) {
        line got = look_anywhere(&p, in);
        double n[3] = {got.o[0] - 1, got.o[1] - 2, got.o[2] - 3}, distance = sqrt(dot(n, n));
        assert_true(distance > least - 1e-3 && distance < most + 1e-3);
        normalise(n);
        assert_true(dot(n, got.d) >= -2e-3);
        cosine += dot(n, got.d) / (4 * TRIES), square += n[2] * n[2] / (4 * TRIES);
    }
    expect_near("mean cosine", cosine, 2. / 3, 0.02);
    expect_near("mean square of a normal's z", square, third, 0.04);
    probe_end(&p);
    arena_free(&a);
}

static void irradiancemeter(void **state)
{
    (void)state;
    char *folder = scene_files_create();
    assert_non_null(folder);
    arena a = {0};
    char *path = arena_printf(&a, "%s/octahedron.obj", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("v 1 0 0\nv 0 1 0\nv -1 0 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\nf 2 "
          "1 6\nf 3 2 6\nf 4 3 6\nf 1 4 6\n",
          file);
    fclose(file);
    rays_leave_by_the_cosine(
        "type='sphere'><point name='center' value='1,2,3'/><float name='radius' value='2'/>", ".", 2, 2,
        1. / 3);
    /* the generated normals of its corners are the axes: in between they point away from the middle; by
     * symmetry the mean square is a third here, too */
    rays_leave_by_the_cosine("type='obj'><string name='filename' value='octahedron.obj'/><transform "
                             "name='to_world'><scale value='2'/><translate value='1,2,3'/></transform>",
                             folder, 2 / sqrt(3), 2, 1. / 3);
    remove(path);
    scene_files_remove(folder);
    arena_free(&a);
}

/* ---- refusals ---- */

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *sensor, *says;
    } cases[] = {
        {"<sensor type='thinlens'/>", "aperture_radius"},
        {"<sensor type='thinlens'><float name='aperture_radius' value='.1'/><transform "
         "name='to_world'><scale value='2'/></transform></sensor>",
         "scale"},
        {"<sensor type='orthographic'><float name='near_clip' value='5'/><float name='far_clip' "
         "value='4'/></sensor>",
         "far_clip"},
        {"<sensor type='orthographic'><transform name='to_world'><scale x='0'/></transform></sensor>",
         "singular"},
        {"<sensor type='radiancemeter'><point name='origin' value='0,0,0'/>" FILM(1, 1, "") "</sensor>",
         "go together"},
        {"<sensor type='radiancemeter'>" FILM(2, 1, "") "</sensor>", "1 x 1"},
        {"<sensor type='distant'><vector name='direction' value='0,0,0'/>" FILM(1, 1, "") "</sensor>",
         "zero"},
        {"<sensor type='distant'><vector name='direction' value='0,0,1'/>" POSE FILM(1, 1, "") "</sensor>",
         "not both"},
        {"<sensor type='distant'><point name='target' value='0,0,1'/><ref id='floor'/>" FILM(1, 1,
                                                                                             "") "</sensor>",
         "more than one target"},
        {"<sensor type='irradiancemeter'/>", "inside a shape"},
        {"<sensor type='batch'/>", "needs 1 sensor"},
        {"<sensor type='batch'><sensor type='perspective'/><sensor type='perspective'/>" FILM(5, 4,
                                                                                              "") "</sensor>",
         "divisible"},
        {"<sensor type='batch'><sensor type='irradiancemeter'/>" FILM(5, 4, "") "</sensor>",
         "irradiancemeter"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a = {0};
        bl_error err = {0};
        render_scene *s = NULL;
        bl_result r =
            traced_try_load(arena_printf(&a, "<scene version='3.0.0'>" BODY "%s</scene>", cases[i].sensor),
                            ".", NULL, 0, &s, &err);
        if (r == BL_OK || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: \"%s\", expected something about \"%s\"", i, r == BL_OK ? "" : err.text,
                     cases[i].says);
        arena_free(&a);
    }
}

/* Of several sensors the one asked for is looked through, with its own film. */
static void several(void **state)
{
    (void)state;
    static const char xml[] = "<scene version='3.0.0'><sensor type='perspective'>" FILM(
        4, 4,
        "") "</sensor><shape type='sphere'><sensor type='irradiancemeter'>" FILM(5, 5,
                                                                                 "") "</sensor></"
                                                                                     "shape><sensor "
                                                                                     "type='orthographic'"
                                                                                     ">" FILM(6, 6,
                                                                                              "") "</"
                                                                                                  "sensor></"
                                                                                                  "scene>";
    for (uint32_t k = 0; k < 4; k++) {
        bl_error err = {0};
        scene_description *d;
        render_scene *s;
        scene_load_options o = {.registry = &render_registry};
        assert_int_equal(scene_load_string(xml, ".", &o, &d, &err), BL_OK);
        bl_result r = render_scene_create(d, &(render_overrides){.sensor = k}, &s, &err);
        if (k == 3) {
            assert_int_equal(r, BL_ERROR_ARGUMENT);
            assert_non_null(strstr(err.text, "no sensor 3"));
            continue;
        }
        assert_int_equal(r, BL_OK);
        assert_int_equal(s->sensors.count, 3), assert_int_equal(s->sensor_index, k),
            assert_int_equal(s->width, 4 + k);
        assert_int_equal(sensor_check(s, k, NULL, &err), BL_OK);
        assert_int_equal(sensor_check(s, (k + 1) % 3, NULL, &err), BL_ERROR_UNSUPPORTED);
        render_scene_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(thin_lens), cmocka_unit_test(orthographic),
                                       cmocka_unit_test(batch),     cmocka_unit_test(radiancemeter),
                                       cmocka_unit_test(distant),   cmocka_unit_test(irradiancemeter),
                                       cmocka_unit_test(refuses),   cmocka_unit_test(several)};
    return cmocka_run_group_tests_name("sensors", tests, set_pose, NULL);
}
