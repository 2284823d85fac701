/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Rays of the native device: the eight-wide hierarchy (src/gpu/native/hierarchy.h) against the traversal that
 * is traced into kernels (spirv_gen/opt/ray_bvh.c), bit for bit: the nearest hit, whether there is one, and
 * hits one after another, on every target that the processor has. Rays are random, aimed at edges, parallel
 * to axes, short, from far away, or ask for nothing. Scenes have all kinds of primitives, ties, instances;
 * trees are those of plans, and such as are made by hand, with boxes that leave nothing out: all of them must
 * find the same. Then vertices and maps move. Ordinary tier: 2^12 rays a scene; BL_LONG=1: 2^18. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/ray_backend.h"
#include "base/bvh_layout.h"
#include "render/classes.h"
#include "support/hierarchy_check.h"
#include "support/packed_trees.h"
#include "support/ray_cases.h"
#include "support/ray_rig.h"
#include "support/scene_cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BL_WITH_NATIVE

enum { DEVICES_MOST = 2, EXCUSED_FEW = 4, EXCUSED_ONE_IN = 1024, BUNDLE = 16 /* lanes at most */ };

static bl_error err;
static gpu *instances_of[DEVICES_MOST];
static gpu_device *devices[DEVICES_MOST];
static uint32_t device_count;

static void require(bl_result result)
{
    if (result != BL_OK)
        fail_msg("%s: %s", result_text(result), err.text);
}

/* ---- comparing ---- */

/* Whether a hit depends on what was found before it, whoever looks for it. That is so of curves and grids of
 * distances, which search the interval that is left: the last bits of t follow its end. And of a triangle met
 * at such a grazing angle that rounding puts the hit outside of the triangle's box: whether the box is
 * skipped depends on other hits. p: NULL: nothing is known of bounds. */
static bool is_doubtful(const plan *p, const float *line, const uint32_t *found)
{
    if (!p || found[1] == PLAN_NONE)
        return false;
    const render_primitive *q = &p->scene->primitives.data[p->order[found[1]]];
    uint32_t kind = q->entry[BVH_ENTRY_KIND];
    if (kind == SHAPE_SDF || kind == SHAPE_BSPLINE)
        return true;
    float t, cell;
    bool outside = false;
    memcpy(&t, found, sizeof t);
    for (int k = 0; k < 3; k++) {
        memcpy(&cell, p->words.data + p->words.data[HEADER_NODES] + BVH_GRID_CELL + k, sizeof cell);
        double at = (double)line[k] + (double)t * (double)line[3 + k];
        outside = outside || at < (double)q->bounds[k] - (double)cell ||
                  at > (double)q->bounds[3 + k] + (double)cell;
    }
    return outside && !p->scene->groups.count;
}

/* bool: rays differ first in a hit that is doubtful. */
static bool is_excused(const plan *p, const float *line, const uint32_t *a, const uint32_t *b)
{
    for (uint32_t at = 0; at < RIG_HIT_WORDS; at += at ? RIG_FOUND : RIG_FOUND + 1)
        if (memcmp(a + at, b + at, RIG_FOUND * sizeof *a) != 0)
            return is_doubtful(p, line, a + at) || is_doubtful(p, line, b + at);
    return false;
}

/* Of rays that go nearly the same way, all meet what one meets at a grazing angle, so a bundle counts once.
 * Bundles around rays that are parallel to axes graze flat patches: of 2^14 bundles up to 218 did, with
 * packets as without. */
static void expect_same(const plan *p, const ray_hit *a, const ray_hit *b, const float *rays, uint32_t count,
                        const char *what)
{
    uint32_t differ = 0, excused = 0, shown = count, bundle = ~0u;
    for (uint32_t i = count; i-- > 0;)
        if (memcmp(a[i], b[i], sizeof *a) != 0) {
            bool is = is_excused(p, rays + (size_t)i * RIG_RAY_WORDS, a[i], b[i]);
            excused += is && i / BUNDLE != bundle, differ += !is;
            bundle = is ? i / BUNDLE : bundle;
            shown = is ? shown : i;
        }
    if (excused)
        print_message("%s: %u bundles differ in hits that depend on others\n", what, excused);
    assert_true(excused <= EXCUSED_FEW + count / EXCUSED_ONE_IN);
    if (!differ)
        return;
    const float *line = rays + (size_t)shown * RIG_RAY_WORDS;
    for (uint32_t k = 0; k < RIG_HIT_WORDS; k++)
        if (a[shown][k] != b[shown][k])
            print_error("word %u: %08x and %08x\n", k, a[shown][k], b[shown][k]);
    fail_msg("%s: %u of %u rays differ, the first is %u: (%.9g %.9g %.9g) (%.9g %.9g %.9g) [%.9g %.9g]", what,
             differ, count, shown, (double)line[0], (double)line[1], (double)line[2], (double)line[3],
             (double)line[4], (double)line[5], (double)line[6], (double)line[7]);
}

typedef struct tally {
    uint32_t rays, hits, chained,
        ties; /* rays that hit; hits in chains; of these, as far as the one before */
} tally;

/* Chains are in order, and begin with what the other questions have found. */
static tally check_chains(const ray_hit *hits, const float *rays, uint32_t count)
{
    tally sum = {.rays = count};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *h = hits[i], *before = NULL;
        bool there = h[1] != PLAN_NONE;
        sum.hits += there;
        assert_int_equal(h[RIG_FOUND] != 0, there);
        if (rays[i * RIG_RAY_WORDS + 6] > 0 || !there) /* the chain may begin at tmin */
            continue;
        assert_memory_equal(h, h + RIG_FOUND + 1, RIG_FOUND * sizeof *h);
        for (int k = 0; k < RIG_CHAIN && (k == 0 || before); k++) {
            const uint32_t *now = h + RIG_FOUND + 1 + RIG_FOUND * k;
            if (now[1] == PLAN_NONE)
                break;
            if (before && !(now[0] > before[0] || (now[0] == before[0] && now[1] > before[1])))
                fail_msg("ray %u: hit %d is not behind the one before", i, k);
            sum.chained++, sum.ties += before && now[0] == before[0];
            before = now;
        }
    }
    return sum;
}

/* All ways on all devices. Returns what they find. */
static ray_hit *compare(plan *p, uint32_t depth, const float *rays, uint32_t count, const char *what)
{
    ray_hit *expected = NULL;
    hierarchy_numbers n = {0};
    for (uint32_t d = 0; d < device_count; d++) {
        ray_rig r = ray_rig_create(devices[d], p, depth, rays, count);
        n = hierarchy_check(r.hierarchy, p->words.data);
        for (int way = 0; way < RIG_WAYS; way++) {
            ray_hit *found = ray_rig_run(&r, way);
            if (expected) {
                expect_same(p, expected, found, rays, count, what);
                free(found);
            } else {
                expected = found;
            }
        }
        ray_rig_free(&r);
    }
    tally sum = check_chains(expected, rays, count);
    print_message("%s: %u of %u rays hit, %u hits one after another, %u ties; %u nodes, %u blocks, %u "
                  "levels, stack of %u\n",
                  what, sum.hits, sum.rays, sum.chained, sum.ties, n.nodes, n.blocks, n.levels, n.stack);
    return expected;
}

/* ---- rays ---- */

static uint32_t ray_count(void) { return getenv("BL_LONG") ? 1 << 18 : 1 << 12; }

/* Rays that go nearly the same way: all of a packet stay together, part at the leaves, or on the way. Some
 * end where none of the others does. */
static void make_bundle(float *lines)
{
    static const double spreads[] = {0, 1e-6, 1e-3, 0.02, 0.2};
    double spread = spreads[(uint32_t)ray_uniform(0, 5)];
    for (uint32_t i = 1; i < BUNDLE; i++) {
        float *line = lines + (size_t)i * RIG_RAY_WORDS;
        memcpy(line, lines, RIG_RAY_WORDS * sizeof *line);
        for (int k = 0; k < 6; k++)
            line[k] += (float)ray_uniform(-spread, spread);
        if (i % 5 == 4)
            line[7] = (float)ray_uniform(0, 2);
    }
}

/* aim: a world with primitives. */
static float *make_rays(const ray_world *aim, uint32_t count)
{
    float *rays = malloc((size_t)count * RIG_RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++) {
        float *line = rays + (size_t)i * RIG_RAY_WORDS;
        ray_make(aim, i, line);
        if (i % 8 == 6)
            ray_make_odd(aim, i / 8, line);
    }
    for (uint32_t i = 0; i + BUNDLE <= count; i += 2 * BUNDLE) {
        make_bundle(rays + (size_t)i * RIG_RAY_WORDS);
        if (i / BUNDLE % 8 == 6)
            ray_make_odd(aim, i, rays + (size_t)(i + BUNDLE / 2) * RIG_RAY_WORDS);
    }
    return rays;
}

/* Shapes in XML, against rays that are aimed at those of another world, or at themselves. Returns the nearest
 * hits' number. */
static uint32_t compare_shapes(const char *shapes, const char *folder, const ray_world *aim, const char *what)
{
    uint32_t count = ray_count(), hits = 0;
    ray_world w = ray_world_load(shapes, folder);
    float *rays = make_rays(aim ? aim : &w, count);
    plan *p = plan_create(w.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    ray_hit *found = compare(p, 0, rays, count, what);
    for (uint32_t i = 0; i < count; i++) {
        bool hit = found[i][1] != PLAN_NONE;
        hits += hit;
        memcpy(rays + (size_t)i * RIG_RAY_WORDS + 6, hit ? &found[i][0] : &(uint32_t){0}, sizeof *rays);
    }
    free(found);
    free(compare(p, 0, rays, count, "from where they hit"));
    free(rays);
    plan_destroy(p);
    ray_world_free(&w);
    return hits;
}

/* ---- scenes ---- */

static void triangles(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_soup(1000);
    ray_add_ply(&xml, ray_soup_file);
    assert_true(compare_shapes(xml.data, ".", NULL, "triangles") > ray_count() / 2);
    text_free(&xml);
}

/* Everything is there three times: each hit is three at one distance, which blocks, nodes and candidates hold
 * apart. */
static void add_ties(text *xml)
{
    ray_write_soup(60);
    for (int k = 0; k < 3; k++)
        ray_add_ply(xml, ray_soup_file);
    for (int k = 0; k < 24; k++)
        text_add(xml,
                 "<shape type='sphere'><point name='center' value='%d,%d,0'/><float name='radius' "
                 "value='.4'/></shape>",
                 k / 3 % 3 - 1, k / 9 - 1);
}

static void ties(void **state)
{
    (void)state;
    text xml = {0};
    add_ties(&xml);
    compare_shapes(xml.data, ".", NULL, "ties");
    text_free(&xml);
}

static void every_kind(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_soup(400);
    ray_add_spheres(&xml, 200);
    ray_add_ply(&xml, ray_soup_file);
    ray_add_disks(&xml, 200);
    ray_add_cylinders(&xml, 200);
    compare_shapes(xml.data, ".", NULL, "every kind");
    text_free(&xml);
}

static void boxes_only(void **state)
{
    (void)state;
    text xml = {0};
    ray_add_disks(&xml, 150);
    compare_shapes(xml.data, NULL, NULL, "disks");
    ray_add_spheres(&xml, 150);
    compare_shapes(xml.data, NULL, NULL, "disks and spheres");
    text_free(&xml);
}

/* More candidates on the way of one ray than a packet leaves to it. */
static void crowd(void **state)
{
    (void)state;
    enum { DISKS = 2400 };
    text xml = {0};
    for (int k = 0; k < DISKS; k++)
        text_add(&xml,
                 "<shape type='disk'><transform name='to_world'><scale value='.5'/><rotate x='1' y='0' z='0' "
                 "angle='%d'/><translate z='%.6f'/></transform></shape>",
                 k % 2, -1 + 2.0 * k / DISKS);
    ray_write_soup(50);
    ray_add_ply(&xml, ray_soup_file);
    compare_shapes(xml.data, ".", NULL, "crowd");
    text_free(&xml);
}

static void add_other_kinds(text *xml, const char *folder)
{
    FILE *f = fopen("native_rays.curves", "w");
    assert_non_null(f);
    for (int k = 0; k < 60; k++)
        fprintf(f, "%s%.6f %.6f %.6f %.6f\n", k % 6 ? "" : "\n", ray_uniform(-1, 1), ray_uniform(-1, 1),
                ray_uniform(-1, 1), ray_uniform(0, .1));
    fclose(f);
    text_add(xml,
             "<shape type='sdfgrid'><string name='filename' value='%s/ball.vol'/><transform "
             "name='to_world'><rotate x='1' angle='40'/></transform></shape>",
             folder);
    text_add(xml, "<shape type='linearcurve'><string name='filename' "
                  "value='native_rays.curves'/></shape><shape type='bsplinecurve'>"
                  "<string name='filename' value='native_rays.curves'/><transform name='to_world'><rotate "
                  "y='1' angle='70'/></transform></shape>");
}

static void other_kinds(void **state)
{
    (void)state;
    char *folder = scene_files_create();
    assert_non_null(folder);
    text xml = {0}, target = {0};
    ray_add_spheres(&target, 100);
    ray_world aim = ray_world_load(target.data, NULL);
    add_other_kinds(&xml, folder);
    compare_shapes(xml.data, ".", &aim, "grids and curves");
    ray_write_soup(50);
    ray_add_ply(&xml, ray_soup_file);
    ray_add_disks(&xml, 20);
    text_add(&xml,
             "<shape type='ellipsoids'><string name='filename' value='%s/gaussian.ply'/><transform "
             "name='to_world'><scale value='.3'/></transform></shape>",
             folder);
    compare_shapes(xml.data, ".", &aim, "nearly all kinds");
    ray_world_free(&aim);
    text_free(&xml), text_free(&target);
    unlink("native_rays.curves");
    scene_files_remove(folder);
}

/* Groups of every kind and of triangles alone, shown turned, mirrored, skewed, more than once at one place.
 */
static void instances(void **state)
{
    (void)state;
    static const char *const shown[] = {
        "<scale value='1,-.5,.8'/><rotate x='.6' y='.8' angle='50'/><translate value='.2,-.4,.1'/>",
        "<scale value='.6'/><translate value='-.3,.3,0'/>",
        "<scale value='.6'/><translate value='-.3,.3,0'/>",
        "<rotate z='1' angle='30'/><scale value='.3,.9,1.1'/><translate x='.4'/>"};
    enum { SHOWN = sizeof shown / sizeof *shown, IN_GROUP = 40 };
    text two = {0}, target = {0};
    ray_add_group_shape(&two, 1, "");
    text_add(&two, "<shape type='shapegroup' id='group'>");
    for (uint32_t k = 0; k < IN_GROUP; k++)
        ray_add_group_shape(&two, k, ""), ray_add_group_shape(&target, k, "");
    text_add(&two, "</shape><shape type='shapegroup' id='flat'>");
    for (uint32_t k = 0; k < IN_GROUP; k += 8)
        ray_add_group_shape(&two, k, "");
    text_add(&two, "</shape>");
    for (uint32_t i = 0; i < 2 * SHOWN; i++)
        text_add(&two,
                 "<shape type='instance'><ref id='%s'/><transform name='to_world'>%s</transform></shape>",
                 i < SHOWN ? "group" : "flat", shown[i % SHOWN]);
    ray_world aim = ray_world_load(target.data, NULL);
    assert_true(compare_shapes(two.data, NULL, &aim, "instances") > ray_count() / 4);
    ray_world_free(&aim);
    text_free(&two), text_free(&target);
}

/* Without kinds there are no rays to trace, and jobs make a hierarchy all the same. */
static void check_nothing(void)
{
    ray_world w = ray_world_load("", NULL);
    plan *p = plan_create(w.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    gpu_buffer *scene;
    gpu_hierarchy *h;
    require(gpu_buffer_create(devices[0], GPU_HOST, 4ull * p->words.count, "test", &scene, &err));
    require(gpu_buffer_write(scene, 0, p->words.data, 4ull * p->words.count, &err));
    require(ray_backend_hierarchy(devices[0], p, scene, &h, &err));
    assert_int_equal(hierarchy_check(h, p->words.data).entries, 0);
    gpu_hierarchy_destroy(h);
    gpu_buffer_destroy(scene);
    plan_destroy(p);
    ray_world_free(&w);
}

static void nearly_nothing(void **state)
{
    (void)state;
    text xml = {0};
    ray_add_group_shape(&xml, 1, "");
    ray_world aim = ray_world_load(xml.data, NULL);
    check_nothing();
    assert_true(compare_shapes(xml.data, NULL, &aim, "one sphere") > ray_count() / 16);
    ray_world_free(&aim);
    text_free(&xml);
    ray_write_soup(1);
    ray_add_ply(&xml, ray_soup_file);
    assert_true(compare_shapes(xml.data, ".", NULL, "one triangle") > ray_count() / 16);
    text_free(&xml);
}

static void large_mesh(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_ball(190);
    ray_add_ply(&xml, ray_ball_file);
    compare_shapes(xml.data, ".", NULL, "71820 triangles");
    text_free(&xml);
}

/* ---- trees by hand ---- */

/* Whatever the tree, hits are the same, and so are entries. */
static void any_tree_finds_the_same(void **state)
{
    (void)state;
    static const char *const names[PACKED_SHAPES] = {"left comb", "right comb", "random tree"};
    text xml = {0};
    add_ties(&xml);
    ray_world w = ray_world_load(xml.data, ".");
    uint32_t count = ray_count();
    float *rays = make_rays(&w, count);
    plan *p = plan_create(w.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    ray_hit *expected = compare(p, 0, rays, count, "its own tree");
    plan_destroy(p);
    for (int shape = 0; shape < PACKED_SHAPES; shape++) {
        p = plan_create(w.scene, NULL, 0, PLAN_RAYS_BVH, 0);
        uint32_t depth = packed_take_tree(p, (packed_shape)shape);
        ray_hit *found = compare(p, depth, rays, count, names[shape]);
        expect_same(p, expected, found, rays, count, names[shape]);
        free(found);
        plan_destroy(p);
    }
    free(expected), free(rays);
    text_free(&xml);
    ray_world_free(&w);
}

/* ---- moving ---- */

/* After the plan has moved: the hierarchy follows. Returns what is found then. */
static ray_hit *follow(ray_rig *r, const float *rays, const char *what)
{
    ray_rig_write(r);
    gpu_hierarchy_follow(r->hierarchy);
    hierarchy_check(r->hierarchy, r->p->words.data);
    ray_hit *traced = ray_rig_run(r, RIG_TRACED), *wide = ray_rig_run(r, RIG_WIDE);
    expect_same(NULL, traced, wide, rays, r->count, what);
    free(traced);
    return wide;
}

static uint32_t count_other(const ray_hit *a, const ray_hit *b, uint32_t count)
{
    uint32_t other = 0;
    for (uint32_t i = 0; i < count; i++)
        other += memcmp(a[i], b[i], sizeof *a) != 0;
    return other;
}

static void it_follows_triangles(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_soup(1000);
    ray_add_ply(&xml, ray_soup_file);
    ray_world w = ray_world_load(xml.data, ".");
    uint32_t count = ray_count();
    float *rays = make_rays(&w, count);
    plan *p = plan_create(w.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    ray_rig r = ray_rig_create(devices[0], p, 0, rays, count);
    ray_hit *before = ray_rig_run(&r, RIG_WIDE);
    packed_mirror(p);
    ray_hit *moved = follow(&r, rays, "mirrored");
    assert_true(count_other(before, moved, count) > count / 2);
    ray_rig_free(&r);
    free(before), free(moved), free(rays);
    plan_destroy(p);
    text_free(&xml);
    ray_world_free(&w);
}

static void it_follows_instances(void **state)
{
    (void)state;
    text xml = {0}, target = {0};
    text_add(&xml, "<shape type='shapegroup' id='cubes'>");
    for (uint32_t k = 0; k < 64; k += 8)
        ray_add_group_shape(&xml, k, ""), ray_add_group_shape(&target, k, "");
    text_add(&xml, "</shape>");
    for (uint32_t k = 0; k < 20; k++)
        text_add(&xml,
                 "<shape type='instance'><ref id='cubes'/><transform name='to_world'><scale "
                 "value='.%u,.4,.6'/><rotate "
                 "y='1' angle='%u'/><translate value='%g,0,%g'/></transform></shape>",
                 k % 7 + 2, 31 * k, ray_uniform(-1, 1), ray_uniform(-1, 1));
    ray_world w = ray_world_load(xml.data, NULL), aim = ray_world_load(target.data, NULL);
    uint32_t count = ray_count();
    float *rays = make_rays(&aim, count);
    plan *p = plan_create(w.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    ray_rig r = ray_rig_create(devices[0], p, 0, rays, count);
    ray_hit *before = ray_rig_run(&r, RIG_WIDE);
    packed_double_groups(
        p); /* by a power of two: nothing that is found changes, unless something is forgotten */
    ray_hit *same = follow(&r, rays, "doubled groups");
    assert_true(count_other(before, same, count) < count / 50);
    packed_move_instances(p, (float[3]){.5f, -.25f, .125f});
    ray_hit *moved = follow(&r, rays, "moved instances");
    assert_true(count_other(before, moved, count) > count / 4);
    ray_rig_free(&r);
    free(before), free(same), free(moved), free(rays);
    plan_destroy(p);
    text_free(&xml), text_free(&target);
    ray_world_free(&w), ray_world_free(&aim);
}

/* ---- */

static void open_device(const char *target)
{
    setenv("BL_NATIVE", target, 1);
    gpu **instance = &instances_of[device_count];
    if (gpu_open(NULL, instance, &err) != BL_OK ||
        gpu_device_create(*instance, "native", &devices[device_count], &err) != BL_OK)
        print_error("%s\n", err.text);
    device_count++;
}

int main(void)
{
    if (x86_processor() == X86_NONE) {
        print_message("skipped: the processor lacks AVX2\n");
        return 77;
    }
    open_device("avx2");
    if (x86_processor() == X86_AVX512)
        open_device("");
    for (uint32_t d = 0; d < device_count; d++)
        if (!devices[d])
            return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles),
        cmocka_unit_test(ties),
        cmocka_unit_test(every_kind),
        cmocka_unit_test(boxes_only),
        cmocka_unit_test(crowd),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(instances),
        cmocka_unit_test(nearly_nothing),
        cmocka_unit_test(large_mesh),
        cmocka_unit_test(any_tree_finds_the_same),
        cmocka_unit_test(it_follows_triangles),
        cmocka_unit_test(it_follows_instances),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(ray_soup_file), unlink(ray_ball_file);
    for (uint32_t d = 0; !failed && d < device_count;
         d++) { /* a test that failed has left its objects behind */
        gpu_device_destroy(devices[d]);
        gpu_close(instances_of[d]);
    }
    return failed;
}

#else

int main(void)
{
    printf("skipped: this build is without the native device\n");
    return 77;
}

#endif
