/* LABELS: nodevice threads */
/* SPDX-License-Identifier: BSD-3-Clause
 * The hierarchy: every primitive exactly once, every box contains what is below it, bounded depth,
 * depth-first order, and the same bytes for any number of threads; over random, clustered, coincident and
 * hostile inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_state;

static float random_float(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (float)(random_state >> 8) / 16777216.0f;
}

enum shape_kind { UNIFORM, CLUSTERED, POINTS, SAME, LINE, GEOMETRIC, HUGE, KIND_COUNT };

static void make_bounds(float (*bounds)[6], uint32_t count, enum shape_kind kind)
{
    random_state = 7;
    for (uint32_t i = 0; i < count; i++)
        for (int axis = 0; axis < 3; axis++) {
            float at = random_float(), size = random_float() * 0.01f;
            switch (kind) {
            case CLUSTERED:
                at = at * at * at * at * (i % 10 ? 1e-3f : 1);
                break;
            case POINTS:
                size = 0;
                break;
            case SAME:
                at = 1;
                size = 1;
                break;
            case LINE:
                at = axis ? 0 : (float)i;
                break;
            case GEOMETRIC:
                at = ldexpf(1, -(int)(i % 120));
                size = at * 0.1f;
                break; /* tempts SAH into a list */
            case HUGE:
                at = (at - 0.5f) * 2 * 3e38f;
                size = 1e38f * size;
                break;
            default:
                break;
            }
            bounds[i][axis] = at;
            bounds[i][axis + 3] = at + size;
        }
}

typedef struct walk {
    const scene_bvh *bvh;
    const float (*bounds)[6];
    uint8_t *seen;
    uint32_t next_node, deepest, leaves, largest_leaf;
} walk;

static float as_float(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void check_node(walk *w, uint32_t number, uint32_t depth, const float *outer);

static void check_reference(walk *w, uint32_t reference, const float *box, uint32_t depth)
{
    if (reference == BVH_NONE) {
        for (int axis = 0; axis < 3; axis++)
            assert_true(box[axis] == INFINITY && box[axis + 3] == -INFINITY);
        return;
    }
    if (!(reference & BVH_LEAF)) {
        check_node(w, reference, depth + 1, box);
        return;
    }
    uint32_t count = (reference >> 28 & 7) + 1, first = reference & 0x0FFFFFFF;
    assert_true(count <= BVH_LEAF_MAX && first + count <= w->bvh->count);
    w->leaves++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t primitive = w->bvh->order[first + i];
        assert_true(primitive < w->bvh->count && !w->seen[primitive]);
        w->seen[primitive] = 1;
        for (int axis = 0; axis < 3; axis++)
            assert_true(w->bounds[primitive][axis] >= box[axis] &&
                        w->bounds[primitive][axis + 3] <= box[axis + 3]);
    }
}

static void check_node(walk *w, uint32_t number, uint32_t depth, const float *outer)
{
    assert_int_equal(number, w->next_node++); /* depth first */
    assert_true(number < w->bvh->node_count);
    w->deepest = depth > w->deepest ? depth : w->deepest;
    const uint32_t *node = w->bvh->nodes + 16 * (size_t)number;
    assert_true(node[14] == 0 && node[15] == 0);
    for (int side = 0; side < 2; side++) {
        float box[6];
        for (int i = 0; i < 6; i++)
            box[i] = as_float(node[6 * side + i]);
        for (int axis = 0; axis < 3 && outer && node[12 + side] != BVH_NONE; axis++)
            assert_true(box[axis] >= outer[axis] && box[axis + 3] <= outer[axis + 3]);
        check_reference(w, node[12 + side], box, depth);
    }
}

static void check_bvh(const scene_bvh *bvh, const float (*bounds)[6], uint32_t count)
{
    walk w = {.bvh = bvh, .bounds = bounds, .seen = calloc(count + 1, 1)};
    assert_int_equal(bvh->count, count);
    check_node(&w, 0, 1, NULL);
    assert_int_equal(w.next_node, bvh->node_count);
    assert_int_equal(w.deepest, bvh->depth);
    assert_true(bvh->depth <= BVH_DEPTH_MAX);
    for (uint32_t i = 0; i < count; i++)
        assert_true(w.seen[i]);
    free(w.seen);
}

static void trees_are_valid(void **state)
{
    static const uint32_t counts[] = {0, 1, 2, 3, 4, 5, 6, 9, 17, 100, 1000, 20000};
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            float(*bounds)[6] = malloc((counts[i] + 1) * sizeof *bounds);
            make_bounds(bounds, counts[i], kind);
            scene_bvh one, many;
            assert_int_equal(
                bvh_build_threads((const float(*)[6])bounds, counts[i], BVH_LEAF_MAX, 1, &one, NULL), BL_OK);
            check_bvh(&one, (const float(*)[6])bounds, counts[i]);
            assert_int_equal(
                bvh_build_threads((const float(*)[6])bounds, counts[i], BVH_LEAF_MAX, 7, &many, NULL), BL_OK);
            assert_int_equal(one.node_count, many.node_count);
            assert_memory_equal(one.nodes, many.nodes, 64 * (size_t)one.node_count);
            if (counts[i])
                assert_memory_equal(one.order, many.order, 4 * (size_t)one.count);
            bvh_free(&one);
            bvh_free(&many);
            free(bounds);
        }
}

/* Expected cost of a random ray, in boxes and primitives, relative to the root's area. */
static double tree_cost(const scene_bvh *bvh, const float (*bounds)[6])
{
    double root = 0, cost = 0;
    float all[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < bvh->count; i++)
        for (int axis = 0; axis < 3; axis++) {
            all[axis] = fminf(all[axis], bounds[i][axis]);
            all[axis + 3] = fmaxf(all[axis + 3], bounds[i][axis + 3]);
        }
    for (uint32_t i = 0; i <= bvh->node_count * 2; i++) {
        float box[6];
        uint32_t reference = i ? bvh->nodes[(i - 1) / 2 * 16 + 12 + (i - 1) % 2] : 0;
        for (int k = 0; k < 6; k++)
            box[k] = i ? as_float(bvh->nodes[(i - 1) / 2 * 16 + (i - 1) % 2 * 6 + k]) : all[k];
        double x = box[3] - box[0], y = box[4] - box[1], z = box[5] - box[2], area = x * y + y * z + z * x;
        root = i ? root : area;
        cost += area / root * (reference & BVH_LEAF ? (reference >> 28 & 7) + 1 : 1);
    }
    return cost;
}

/* A regression would show here: splits at the median alone cost about twice as much. */
static void trees_are_good(void **state)
{
    enum { COUNT = 20000 };
    static float bounds[COUNT][6];
    scene_bvh bvh;
    (void)state;
    make_bounds(bounds, COUNT, CLUSTERED);
    assert_int_equal(bvh_build((const float(*)[6])bounds, COUNT, BVH_LEAF_MAX, &bvh, NULL), BL_OK);
    double cost = tree_cost(&bvh, (const float(*)[6])bounds);
    if (!(cost < 60))
        fail_msg("surface area cost %g", cost);
    print_message("surface area cost %.2f, depth %u\n", cost, bvh.depth);
    bvh_free(&bvh);
}

static void bad_bounds_are_errors(void **state)
{
    float bounds[2][6] = {{0, 0, 0, 1, 1, 1}, {0, 0, 0, 1, 1, 1}};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    scene_bvh bvh;
    bl_error err = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int axis = 0; axis < 6; axis++) {
            float kept = bounds[1][axis];
            bounds[1][axis] = bad[i];
            assert_int_equal(bvh_build((const float(*)[6])bounds, 2, BVH_LEAF_MAX, &bvh, &err),
                             BL_ERROR_SCENE);
            assert_non_null(strstr(err.text, "primitive 1"));
            assert_null(bvh.nodes);
            bounds[1][axis] = kept;
        }
    bounds[0][0] = 2; /* inverted */
    assert_int_equal(bvh_build((const float(*)[6])bounds, 2, BVH_LEAF_MAX, &bvh, &err), BL_ERROR_SCENE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_valid),
        cmocka_unit_test(trees_are_good),
        cmocka_unit_test(bad_bounds_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
