/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is reverse mode over a tape the derivative in media, too? On the same random numbers its gradient is path
 * replay's, to the rounding of sums of f32, and its image is the same: homogeneous and heterogeneous media,
 * coloured, black and empty ones, bounds in cells, microflakes, media that emit, surfaces that let light
 * through, and both rough glass and smoke in fog. Its memory grows with depth, and a path that crosses more
 * surfaces than there is room for makes it larger by itself.
 *
 * The walks are the same trace on all devices, so one device will do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, SPP = 24, DEPTH = 4, VALUES = 3 * SIDE * SIDE };
static const double rounding = 1e-4; /* of the largest number of a parameter's gradient */

static scene_device device;
static char *folder; /* of scene_files_create */

/* What moves, which the tape refuses. */
static bool moves(const char *parameter)
{
    static const char *const parts[] = {"to_world",         "x_fov",    "aperture_radius", "vertex_positions",
                                        "vertex_texcoords", "position", "vertex_normals",  "direction"};
    bool any = false;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        any |= strstr(parameter, parts[k]) != NULL;
    return any;
}

static uint32_t values_that_stay(const scene_case *c, const char **out)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < scene_case_parameter_count(c); k++)
        if (!moves(c->parameters[k]))
            out[count++] = c->parameters[k];
    return count;
}

typedef struct subject {
    scene_picture p;
    const char *names[SCENE_CASE_PARAMETERS];
    uint32_t count;
} subject;

static subject load(const scene_case *c, const char *integrator, int depth)
{
    arena a = {0};
    subject s = {0};
    scene_case own = *c;
    own.integrator = arena_printf(&a,
                                  "<integrator type='%s'><integer name='max_depth' value='%d'/>"
                                  "<integer name='rr_depth' value='3'/></integrator>",
                                  integrator, depth);
    s.count = values_that_stay(c, s.names);
    const char *xml = scene_case_xml(&a, &own, depth, SIDE, SIDE);
    s.p = scene_picture_load(&device, xml, folder, s.names, s.count);
    arena_free(&a);
    return s;
}

static bl_stats gradient(subject *s, uint32_t seed)
{
    float target[VALUES];
    uint32_t random = 5;
    bl_stats stats;
    for (uint32_t i = 0; i < VALUES; i++)
        target[i] = (float)scene_random(&random);
    bl_gradient_desc desc = {.spp = SPP, .seed = seed, .form = BL_FORM_FUSED, .target = target};
    SCENE_MUST(&device, bl_job_gradient(s->p.job, &desc, &stats));
    assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite + stats.cut, 0);
    return stats;
}

/* The gradient by parameter k. */
static float *read_gradient(subject *s, uint32_t k, uint32_t *count)
{
    bl_parameter_info info;
    uint32_t index = scene_device_find(&device, s->p.scene, s->names[k]);
    SCENE_MUST(&device, bl_scene_parameter_info(s->p.scene, index, &info));
    float *g = calloc(info.count, sizeof *g);
    assert_non_null(g);
    SCENE_MUST(&device, bl_job_read_gradient(s->p.job, k, g));
    *count = info.count;
    return g;
}

static void expect_same(const scene_case *c, subject *replay, subject *tape)
{
    uint32_t reached = 0;
    for (uint32_t k = 0; k < replay->count; k++) {
        uint32_t count;
        float *g = read_gradient(replay, k, &count), *h = read_gradient(tape, k, &count);
        double largest = 0;
        for (uint32_t i = 0; i < count; i++)
            largest = fmax(largest, fabs((double)g[i]));
        for (uint32_t i = 0; i < count; i++)
            if (!(fabs((double)g[i] - (double)h[i]) <= rounding * largest))
                fail_msg("%s, %s, number %u of %u: replay %.9g, tape %.9g, largest %.9g", c->name,
                         replay->names[k], i, count, (double)g[i], (double)h[i], largest);
        reached += largest > 0;
        free(g), free(h);
    }
    if (2 * reached < replay->count) /* an albedo has none where there is nothing to collide with */
        fail_msg("%s: gradients by %u of %u parameters", c->name, reached, replay->count);
}

static void tape_is_replay(void **state)
{
    const scene_case *c = *state;
    subject replay = load(c, "prbvolpath", DEPTH), tape = load(c, "tape", DEPTH);
    assert_true(replay.count > 0);
    for (uint32_t seed = 0; seed < 3; seed++) {
        bl_stats one = gradient(&replay, seed), two = gradient(&tape, seed);
        if (!(fabs(one.loss - two.loss) <= rounding * fabs(one.loss)))
            fail_msg("%s: loss %.9g by replay, %.9g by the tape", c->name, one.loss, two.loss);
        expect_same(c, &replay, &tape);
        uint64_t words = (uint64_t)SPP * SIDE * SIDE * DEPTH * 60; /* at least so many for a vertex */
        assert_true(two.device_bytes > one.device_bytes + 4 * words);
    }
    scene_picture_free(&replay.p), scene_picture_free(&tape.p);
}

/* Five hollow balls, one in the other: a path of two segments meets up to 20 surfaces. */
static const scene_case onion = {
    .name = "onion",
    .body = "<medium type='homogeneous' id='fog'><float name='sigma_t' value='.3'/></medium>"
            "<bsdf type='diffuse' id='white'/><shape type='rectangle'><transform name='to_world'>"
            "<scale value='4'/><translate value='0,0,-1'/></transform><ref id='white'/></shape>"
            "<shape type='sphere'><float name='radius' value='1'/><bsdf type='null'/>"
            "<ref id='fog' name='interior'/></shape>"
            "<shape type='sphere'><float name='radius' value='.8'/><bsdf type='null'/>"
            "<ref id='fog' name='interior'/><ref id='fog' name='exterior'/></shape>"
            "<shape type='sphere'><float name='radius' value='.6'/><bsdf type='null'/>"
            "<ref id='fog' name='interior'/><ref id='fog' name='exterior'/></shape>"
            "<shape type='sphere'><float name='radius' value='.4'/><bsdf type='null'/>"
            "<ref id='fog' name='interior'/><ref id='fog' name='exterior'/></shape>"
            "<emitter type='constant' id='sky'/>",
    .volumetric = true,
    .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "white.reflectance.value"},
};

/* The tape is written again with the room that its paths need; later passes begin with that. */
static void room_grows(void **state)
{
    (void)state;
    subject replay = load(&onion, "prbvolpath", 2), tape = load(&onion, "tape", 2);
    bl_stats one = gradient(&replay, 1), two = gradient(&tape, 1);
    assert_true(fabs(one.loss - two.loss) <= rounding * fabs(one.loss));
    expect_same(&onion, &replay, &tape);
    /* 8 borders before the floor, more than the two that there is room for at first */
    assert_true(two.device_bytes > one.device_bytes + 4ull * SPP * SIDE * SIDE * 8 * 60);
    assert_true(gradient(&tape, 1).device_bytes == two.device_bytes);
    expect_same(&onion, &replay, &tape);
    scene_picture_free(&replay.p), scene_picture_free(&tape.p);
}

static void what_moves_is_refused(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < scene_media_case_count; k++) {
        const scene_case *c = &scene_media_cases[k];
        const char *name = "sun.direction";
        bool asked = false;
        for (uint32_t i = 0; i < scene_case_parameter_count(c); i++)
            asked |= strcmp(c->parameters[i], name) == 0;
        if (!asked)
            continue;
        subject s = load(c, "tape", DEPTH);
        bl_job *job = NULL;
        scene_device_refused(&device,
                             bl_job_create(device.device, s.p.scene,
                                           &(bl_job_desc){.parameters = &name, .parameter_count = 1}, &job),
                             BL_ERROR_UNSUPPORTED, "the tape");
        scene_picture_free(&s.p);
        return;
    }
    fail_msg("no scene has a sun that moves");
}

enum { OTHERS = 2 };

static uint32_t add_cases(struct CMUnitTest *tests, const scene_case *cases, uint32_t count)
{
    uint32_t added = 0;
    const char *names[SCENE_CASE_PARAMETERS];
    for (uint32_t k = 0; k < count; k++)
        if (strstr(cases[k].body, "<medium") && values_that_stay(&cases[k], names) > 0)
            tests[added++] =
                (struct CMUnitTest){cases[k].name, tape_is_replay, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    return added;
}

int main(void)
{
    struct CMUnitTest *tests = calloc(OTHERS + scene_media_case_count + scene_thin_case_count, sizeof *tests);
    if (!tests)
        return 1;
    tests[0] = (struct CMUnitTest)cmocka_unit_test(room_grows);
    tests[1] = (struct CMUnitTest)cmocka_unit_test(what_moves_is_refused);
    uint32_t count = OTHERS + add_cases(tests + OTHERS, scene_media_cases, scene_media_case_count);
    count += add_cases(tests + count, scene_thin_cases, scene_thin_case_count);
    int failed = scene_device_run(&device, &folder, "tape in media", tests, count, NULL);
    free(tests);
    return failed;
}
