/* LABELS: swiftshader native rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * Instances, and shapes in the group that they show, that are moved through the API, and shapes of many
 * primitives: what a job then renders is what a scene renders that was loaded with them there, but for a
 * rounding. After small moves, which refit the hierarchies, and after such as throw all instances about,
 * which build new ones. */
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

enum { ROW = 8, INSTANCES = 5 * ROW, PLACES = INSTANCES + 1 /* of the cube in the group, too */, SPP = 4 };

static scene_device device;
static const char *names[PLACES];
static const char sensor[] =
    "<sensor type='perspective'><float name='fov' value='50'/><transform name='to_world'><lookat "
    "origin='.4,-2.2,2.2' target='0,0,0' up='0,0,1'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='40'/><integer name='height' value='32'/><rfilter "
    "type='box'/></film></sensor>";

typedef float placing[PLACES][16];

static double random_within(uint32_t *seed, double by) { return by * (2 * scene_random(seed) - 1); }

/* Instances in rows, no two alike, each moved and turned by up to `by`; thrown: anywhere. */
static void arrange(placing to_world, double by, bool thrown, uint32_t seed)
{
    for (uint32_t i = 0; i < PLACES; i++)
        for (uint32_t k = 0; k < 16; k++) {
            bool shift = k % 4 == 3 && k < 12, diagonal = k % 5 == 0 && k < 12;
            double base = diagonal ? 0.08 + 0.001 * i : k == 15, place = k == 3   ? i % ROW * 0.3 - 1.05
                                                                         : k == 7 ? i / ROW * 0.4 - 0.8
                                                                                  : 0;
            if (i == INSTANCES)
                base = diagonal ? 0.8 : k == 15, place = 0;
            double there = shift ? (thrown && i < INSTANCES ? random_within(&seed, 1.2) : place) : base;
            to_world[i][k] = (float)(k < 12 ? there + random_within(&seed, by) * (shift ? 1 : 0.2) : there);
        }
}

static const char *matrix(arena *a, const float *m)
{
    const char *values = "";
    for (int k = 0; k < 16; k++)
        values = arena_printf(a, "%s %.9g", values, (double)m[k]);
    return arena_printf(a, "<transform name='to_world'><matrix value='%s'/></transform>", values);
}

/* requested: all places. */
static scene_picture load(placing to_world, bool requested)
{
    arena a = {0};
    const char *body =
        arena_printf(&a,
                     "<shape type='rectangle'><transform name='to_world'><scale value='2'/><translate "
                     "z='-.6'/></transform></shape>"
                     "<shape type='shapegroup' id='group'><shape type='cube' id='box'>%s</shape><shape "
                     "type='sphere'><point name='center' x='.7' y='.3' z='.8'/>"
                     "<float name='radius' value='.7'/></shape></shape>",
                     matrix(&a, to_world[INSTANCES]));
    for (int i = 0; i < INSTANCES; i++)
        body = arena_printf(&a, "%s<shape type='instance' id='i%d'>%s<ref id='group'/></shape>", body, i,
                            matrix(&a, to_world[i]));
    scene_picture p = scene_picture_load(&device, scene_xml(&a, "<integrator type='depth'/>", sensor, body),
                                         ".", names, requested ? PLACES : 0);
    arena_free(&a);
    return p;
}

static void render(scene_picture *p, bl_stats *stats)
{
    SCENE_MUST(&device, bl_job_render(p->job, &(bl_render_desc){.spp = SPP, .seed = 3}, p->image, stats));
    assert_int_equal(stats->non_finite, 0);
}

static uint32_t count_differing(const scene_picture *a, const scene_picture *b, double by)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < a->values; i++)
        differ += fabs((double)a->image[i] - (double)b->image[i]) > by;
    return differ;
}

static void moved_equals_loaded(void **state)
{
    (void)state;
    static const struct {
        double by;
        bool thrown;
    } moves[] = {{.03, false}, {.1, true}, {.1, true}};
    placing to_world;
    arrange(to_world, 0, false, 1);
    scene_picture p = load(to_world, true);
    assert_string_equal(bl_job_rays(p.job), scene_device_rays() == BL_RAYS_QUERY ? "query" : "bvh");
    uint32_t rebuilds = 0;
    bl_stats stats;
    render(&p, &stats);
    for (uint32_t m = 0; m < sizeof moves / sizeof *moves; m++) {
        arrange(to_world, moves[m].by, moves[m].thrown, 10 + m);
        for (uint32_t k = 0; k < PLACES; k++)
            if (m != 2 || k % 3) /* the last time some stay where they have gone */
                SCENE_MUST(&device, bl_job_set_parameter(p.job, scene_device_find(&device, p.scene, names[k]),
                                                         to_world[k]));
            else
                SCENE_MUST(&device, bl_job_get_parameter(p.job, scene_device_find(&device, p.scene, names[k]),
                                                         to_world[k]));
        scene_picture fresh = load(to_world, false), before = p;
        bl_stats other;
        before.image = memcpy(malloc(p.values * sizeof *p.image), p.image, p.values * sizeof *p.image);
        render(&p, &stats), render(&fresh, &other);
        rebuilds += stats.rebuilds;
        uint32_t differ = count_differing(&p, &fresh, 1e-4), changed = count_differing(&p, &before, 1e-4);
        print_message("move %u: %u of %u values differ, %u have changed\n", m, differ, p.values, changed);
        assert_true(changed > p.values / 4);
        assert_true(differ < p.values / 100); /* beside edges */
        free(before.image);
        scene_picture_free(&fresh);
    }
    assert_true(scene_device_rays() == BL_RAYS_QUERY || rebuilds > 0);
    scene_picture_free(&p);
}

/* Shapes of many primitives that are no triangles; rays go through our own hierarchy. */
static void solids_equal_loaded(void **state)
{
    enum { SOLIDS = 4 };
    (void)state;
    static const char *const solids[] = {"cloud.to_world", "grid.to_world", "rod.to_world",
                                         "strand.to_world"};
    if (scene_device_rays() == BL_RAYS_QUERY)
        return;
    char *folder = scene_files_create();
    assert_non_null(folder);
    scene_picture p[3];
    float placed[3][SOLIDS][16];
    for (int m = 0; m < 3; m++) {
        arena a = {0};
        double turn = 0.4 * m, c = 0.3 * cos(turn), s = 0.3 * sin(turn),
               far = m == 2 ? 40 : 0; /* the last time the hierarchy's tree is no good any more */
        const float thin = .05f - .01f * (float)m,
                    to_world[SOLIDS][16] = {{(float)c, (float)-s, 0, (float)(-.6 + .2 * m), (float)s,
                                             (float)c, 0, (float)(.2 * m), 0, 0, .3f, .5f, 0, 0, 0, 1},
                                            {(float)(1 - .2 * m), .1f, 0, (float)(.1 + far), .2f, .9f,
                                             (float)(.1 * m), (float)(-.3 - .2 * m), 0, .1f, 1.1f, .1f, 0, 0,
                                             0, 1},
                                            {(float)(.2 + .1 * m), 0, .1f, -7, 0, .2f, 0, (float)(7 + m), 0,
                                             0, .2f, -6, 0, 0, 0, 1},
                                            {thin, .1f, 0, 8, 0, thin, .1f, (float)(5 + .5 * m), .1f, 0, thin,
                                             -6.5f, 0, 0, 0, 1}};
        memcpy(placed[m], to_world, sizeof to_world);
        const char *body = arena_printf(
            &a,
            "<shape type='rectangle'><transform name='to_world'><scale value='2'/><translate "
            "z='-.6'/></transform></shape>"
            "<shape type='ellipsoids' id='cloud'><string name='filename' value='gaussian.ply'/>%s</shape>"
            "<shape type='sdfgrid' id='grid'><string name='filename' value='ball.vol'/>%s</shape>"
            "<shape type='linearcurve' id='rod'><string name='filename' value='rod.curves'/>%s</shape>"
            "<shape type='bsplinecurve' id='strand'><string name='filename' "
            "value='strand.curves'/>%s</shape>",
            matrix(&a, to_world[0]), matrix(&a, to_world[1]), matrix(&a, to_world[2]),
            matrix(&a, to_world[3]));
        p[m] = scene_picture_load(&device, scene_xml(&a, "<integrator type='depth'/>", sensor, body), folder,
                                  solids, m ? 0 : SOLIDS);
        arena_free(&a);
    }
    bl_stats stats;
    render(&p[0], &stats);
    for (int m = 1; m < 3; m++) {
        scene_picture before = p[0];
        before.image =
            memcpy(malloc(p[0].values * sizeof *p[0].image), p[0].image, p[0].values * sizeof *p[0].image);
        for (int k = 0; k < SOLIDS; k++)
            SCENE_MUST(&device,
                       bl_job_set_parameter(p[0].job, scene_device_find(&device, p[0].scene, solids[k]),
                                            placed[m][k]));
        render(&p[0], &stats), render(&p[m], &stats);
        uint32_t differ = count_differing(&p[0], &p[m], 1e-4),
                 changed = count_differing(&p[0], &before, 1e-4);
        print_message("solids, move %d: %u of %u values differ, %u have changed\n", m, differ, p[0].values,
                      changed);
        assert_true(changed > p[0].values / 10);
        assert_true(differ < p[0].values / 100);
        free(before.image);
    }
    float stretched[16];
    memcpy(stretched, placed[0][0], sizeof stretched);
    stretched[10] = 0.5f;
    assert_int_equal(
        bl_job_set_parameter(p[0].job, scene_device_find(&device, p[0].scene, solids[0]), stretched),
        BL_ERROR_ARGUMENT);
    assert_non_null(
        strstr(bl_context_error(device.context), "cloud.to_world: to_world must scale all axes alike"));
    for (int m = 0; m < 3; m++)
        scene_picture_free(&p[m]);
    scene_files_remove(folder);
}

int main(void)
{
    arena a = {0};
    for (int i = 0; i < PLACES; i++)
        names[i] = i < INSTANCES ? arena_printf(&a, "i%d.to_world", i) : "box.to_world";
    const struct CMUnitTest tests[] = {cmocka_unit_test(moved_equals_loaded),
                                       cmocka_unit_test(solids_equal_loaded)};
    int status = SCENE_DEVICE_RUN(&device, NULL, "moved instances", tests);
    arena_free(&a);
    return status;
}
