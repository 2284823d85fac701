/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What a scene may take: every limit of bl_limits ends loading with BL_ERROR_LIMIT and its name, small files
 * that stand for much are refused at once where the scene is untrusted, and materials that refer twice to the
 * one before are refused before anything walks them as trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include "base/base.h"

#include <stdio.h>
#include <string.h>

static bl_context *context;

static int open_context(void **state)
{
    (void)state;
    return bl_context_create(&(bl_context_desc){.no_devices = true}, &context) != BL_OK;
}

static int close_context(void **state)
{
    (void)state;
    bl_context_destroy(context);
    return 0;
}

static bl_result load(const char *body, const bl_scene_desc *desc)
{
    arena a = {0};
    bl_scene *scene = NULL;
    const char *xml =
        arena_printf(&a,
                     "<scene version='3.0.0'><sensor type='perspective'><film type='hdrfilm'>"
                     "<integer name='width' value='8'/><integer name='height' value='8'/></film>"
                     "</sensor><emitter type='constant'/>%s</scene>",
                     body);
    bl_result r = bl_scene_load_string(context, xml, ".", desc, &scene);
    bl_scene_destroy(scene);
    arena_free(&a);
    return r;
}

static void refused(const char *body, const bl_scene_desc *desc, bl_result code, const char *what)
{
    const double start = clock_seconds();
    bl_result r = load(body, desc);
    if (r != code || !strstr(bl_context_error(context), what))
        fail_msg("%d \"%s\" instead of %d \"%s\"", (int)r, bl_context_error(context), (int)code, what);
    assert_true(clock_seconds() - start < 60); /* for ever, before */
}

/* Chains of objects that refer twice to the one before. */
static char *doubled(arena *a, const char *first, const char *format, uint32_t count, const char *use)
{
    text t = {0};
    text_add(&t, "%s", first);
    for (uint32_t i = 1; i <= count; i++)
        text_add(&t, format, i, i - 1, i - 1);
    text_add(&t, use, count);
    char *xml = arena_strdup(a, t.data);
    text_free(&t);
    return xml;
}

#define BLEND                                                                                                \
    "<bsdf type='blendbsdf' id='b%u'><float name='weight' value='0.5'/><ref id='b%u'/><ref "                 \
    "id='b%u'/></bsdf>"
#define CHESS                                                                                                \
    "<texture type='checkerboard' id='b%u'><ref name='color0' id='b%u'/><ref name='color1' "                 \
    "id='b%u'/></texture>"
#define USE_BLEND "<shape type='sphere'><ref id='b%u'/></shape>"
#define USE_CHESS                                                                                            \
    "<shape type='sphere'><bsdf type='diffuse'><ref name='reflectance' id='b%u'/></bsdf></shape>"

static void test_doubled(void **state)
{
    (void)state;
    arena a = {0};
    for (uint32_t n = 5; n <= 60; n += 5) {
        char *blends = doubled(&a, "<bsdf type='diffuse' id='b0'/>", BLEND, n, USE_BLEND);
        char *chess = doubled(&a, "<texture type='checkerboard' id='b0'/>", CHESS, n, USE_CHESS);
        if (n <= 5) {
            assert_int_equal(load(blends, NULL), BL_OK);
            assert_int_equal(load(chess, NULL), BL_OK);
        } else {
            refused(blends, NULL, BL_ERROR_UNSUPPORTED, "stands for more than");
            refused(chess, NULL, BL_ERROR_UNSUPPORTED, "stands for more than");
        }
    }
    arena_free(&a);
}

/* Bits of a lobe's number are enough for 20 blends within blends. */
static void test_nested_blends(void **state)
{
    (void)state;
    arena a = {0};
    for (uint32_t n = 20; n <= 21; n++) {
        text t = {0};
        text_add(&t, "<bsdf type='diffuse' id='b0'/>");
        for (uint32_t i = 1; i <= n; i++)
            text_add(&t, BLEND, i, i - 1, 0u);
        text_add(&t, USE_BLEND, n);
        if (n == 20)
            assert_int_equal(load(t.data, NULL), BL_OK);
        else
            refused(t.data, NULL, BL_ERROR_UNSUPPORTED, "blends within blends");
        text_free(&t);
    }
    arena_free(&a);
}

static void test_limits(void **state)
{
    (void)state;
    arena a = {0};
    char *long_name = arena_alloc(&a, 100001);
    memset(long_name, 'x', 100000);
    const struct {
        bl_limits limits;
        const char *what, *body;
    } cases[] = {
        {{.pixels = 63}, "pixels", "<shape type='sphere'/>"},
        {{.voxels = 63},
         "voxels",
         "<shape type='cube'><bsdf type='null'/><medium name='interior' type='heterogeneous'><volume "
         "name='sigma_t' "
         "type='gridvolume'><string name='resolution' value='4'/><float name='value' "
         "value='1'/></volume></medium>"
         "</shape>"},
        {{.text = 1000},
         "text",
         arena_printf(&a, "<default name='v' value='%.600s'/><bsdf type='diffuse' id='$v'/>", long_name)},
        {{.memory = 100000}, "memory", arena_printf(&a, "<bsdf type='diffuse' id='%s'/>", long_name)},
        {{.triangles = 1}, "triangles", NULL},
    };
    for (uint32_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bl_scene_desc desc = {.limits = &cases[k].limits};
        if (!cases[k].body)
            continue;
        assert_int_equal(load(cases[k].body, NULL), BL_OK);
        refused(cases[k].body, &desc, BL_ERROR_LIMIT, cases[k].what);
    }
    arena_free(&a);
}

/* A loaded mesh counts, one of the caller's, too. */
static void test_triangles(void **state)
{
    (void)state;
    FILE *file = fopen("limits.obj", "w");
    assert_non_null(file);
    fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n", file);
    fclose(file);
    const char *body = "<shape type='obj'><string name='filename' value='limits.obj'/></shape>";
    const bl_limits one = {.triangles = 1}, two = {.triangles = 2};
    assert_int_equal(load(body, &(bl_scene_desc){.limits = &two}), BL_OK);
    refused(body, &(bl_scene_desc){.limits = &one}, BL_ERROR_LIMIT, "triangles");

    const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const uint32_t faces[6] = {0, 1, 2, 2, 1, 0};
    bl_builder *b;
    bl_scene *scene;
    assert_int_equal(bl_builder_create(context, &b), BL_OK);
    bl_object_add(bl_builder_root(b), NULL, bl_builder_object(b, "sensor", "perspective", NULL));
    bl_object_add(
        bl_builder_root(b), NULL,
        bl_builder_mesh(
            b, "m", &(bl_mesh){.vertex_count = 3, .face_count = 2, .positions = positions, .faces = faces}));
    assert_int_equal(bl_builder_finish(b, NULL, &(bl_scene_desc){.limits = &one}, &scene), BL_ERROR_LIMIT);
}

static void test_untrusted_is_strict(void **state)
{
    (void)state;
    const char *grid =
        "<shape type='cube'><bsdf type='null'/><medium name='interior' type='heterogeneous'><volume "
        "name='sigma_t' type='gridvolume'><string name='resolution' value='1000'/><float name='value' "
        "value='1'/></volume></medium></shape>";
    refused(grid, &(bl_scene_desc){.untrusted = true}, BL_ERROR_LIMIT, "voxels");
    uint32_t k = 0;
    for (; bl_limit_name(k); k++)
        assert_true(bl_limit_preset(k, true) < bl_limit_preset(k, false));
    assert_int_equal(k, 7);
    assert_int_equal(bl_limit_preset(k, false), 0);
}

/* The number of objects costs time in proportion, not squared: this took minutes. */
static void test_many_shapes(void **state)
{
    (void)state;
    text t = {0};
    for (uint32_t i = 0; i < 4000; i++)
        text_add(&t, "<shape type='rectangle'/>");
    assert_int_equal(load(t.data, &(bl_scene_desc){.untrusted = true}), BL_OK);
    text_free(&t);
}

/* However many shapes there are: after the time is up there are no more. */
static void test_seconds(void **state)
{
    (void)state;
    const bl_limits limits = {.seconds = 1};
    bl_result r = BL_OK;
    for (uint32_t count = 20000; r == BL_OK && count < 30000000; count *= 4) {
        text t = {0};
        for (uint32_t i = 0; i < count; i++)
            text_add(&t, "<shape type='rectangle'/>");
        r = load(t.data, &(bl_scene_desc){.limits = &limits});
        text_free(&t);
    }
    assert_int_equal(r, BL_ERROR_LIMIT);
    assert_non_null(strstr(bl_context_error(context), "seconds"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubled),
        cmocka_unit_test(test_nested_blends),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_untrusted_is_strict),
        cmocka_unit_test(test_many_shapes),
        cmocka_unit_test(test_seconds),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
