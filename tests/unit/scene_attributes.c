/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Attributes of meshes: which properties of a PLY element make one (the rules were found by asking Mitsuba
 * 3.9 the same questions), their values, and what is said where a material asks for one that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/classes.h"
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 6 };

static void properties_become_attributes(void **state)
{
    static const struct {
        const char *properties[NAMES]; /* of vertices, beside x y z */
        const char *attributes;        /* NAME/channels, in order */
    } cases[] = {
        {{"red", "green", "blue"}, "vertex_color/3 "},
        {{"r", "g", "b", "a"}, "vertex_color/3 "},
        {{"blue", "red", "green", "alpha"}, "vertex_color/3 "},
        {{"foo_x", "foo_y", "bar_0"}, "vertex_bar/1 "},
        {{"foo_1", "foo_2", "foo_3"}, "vertex_foo/3 "},
        {{"foo_r", "foo_g", "foo_b"}, "vertex_foo_color/3 "},
        {{"foo_b", "foo_g", "foo_r"}, "vertex_foo_color/1 "},
        {{"foo", "bar_baz", "q_7"}, ""},
        {{"a_0", "b_0", "a_1"}, "vertex_a/1 vertex_b/1 "},
        {{"my_attr_0"}, "vertex_my_attr/1 "},
        {{"a_0", "a_1", "a_2", "a_3"}, ""},
        {{"a_0", "a_1", "a_2", "b_0"}, "vertex_a/3 vertex_b/1 "},
        {{"_0", "a_", "a", "red"}, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text ply = {0}, found = {0};
        text_add(&ply, "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float "
                       "y\nproperty float z\n");
        uint32_t count = 0;
        for (; count < NAMES && cases[i].properties[count]; count++)
            text_add(&ply, "property float %s\n", cases[i].properties[count]);
        text_add(&ply, "element face 1\nproperty list uchar int vertex_indices\nend_header\n");
        for (int v = 0; v < 3; v++) {
            text_add(&ply, "%d %d 0", v, v * v);
            for (uint32_t k = 0; k < count; k++)
                text_add(&ply, " %d", 10 * v + (int)k);
            text_add(&ply, "\n");
        }
        text_add(&ply, "3 0 1 2\n");
        scene_mesh m;
        bl_error err = {0};
        if (mesh_parse_ply(ply.data, strlen(ply.data), false, &m, &err) != BL_OK)
            fail_msg("case %zu: %s", i, err.text);
        text_add(&found, "%s", "");
        for (uint32_t k = 0; k < m.attribute_count; k++)
            text_add(&found, "%s/%u ", m.attributes[k].name, m.attributes[k].channels);
        assert_string_equal(found.data, cases[i].attributes);
        mesh_free(&m);
        text_free(&ply), text_free(&found);
    }
}

static scene_mesh load(const char *name)
{
    char path[1200];
    scene_mesh m;
    bl_error err = {0};
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data/%s", source ? source : ".", name);
    if (mesh_load_ply(path, false, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    return m;
}

static void check(const scene_attribute *a, const char *name, uint32_t channels, const float *values,
                  size_t count)
{
    assert_string_equal(a->name, name);
    assert_int_equal(a->channels, channels);
    assert_memory_equal(a->values, values, count * sizeof *values);
}

static void values_are_those_of_the_file(void **state)
{
    static const float colors[12] = {200, 10, 0, 20, 100, 0, 30, 10, 90, 0, 10, 9},
                       weights[4] = {.25f, .5f, .75f, 1}, tones[2] = {.1f, .6f};
    static const float tints[9] = {0, 0, .5f, .1f, .2f, .5f, .2f, .4f, .5f}, weight = .375f;
    (void)state;
    scene_mesh m = load("colours_ascii.ply");
    assert_int_equal(m.attribute_count, 3);
    check(&m.attributes[0], "vertex_color", 3, colors, 12);
    check(&m.attributes[1], "vertex_weight", 1, weights, 4);
    check(&m.attributes[2], "face_tone_color", 1, tones, 2); /* the list stands between r and g */
    mesh_free(&m);
    m = load("colours_big.ply");
    assert_int_equal(m.attribute_count, 2);
    check(&m.attributes[0], "vertex_tint", 3, tints, 9);
    check(&m.attributes[1], "face_weight", 1, &weight, 1);
    mesh_free(&m);
}

#define PLY_SHAPE(file, bsdf) "<shape type='ply'><string name='filename' value='" file "'/>" bsdf "</shape>"
#define COLOURED(name)                                                                                       \
    "<bsdf type='diffuse'><texture type='mesh_attribute' name='reflectance'><string name='name' "            \
    "value='" name "'/></texture></bsdf>"
#define SENSOR "<sensor type='perspective'/>"

static void what_is_missing_is_said(void **state)
{
    static const struct {
        const char *xml, *error; /* NULL: loads */
    } cases[] = {
        {SENSOR PLY_SHAPE("colours_ascii.ply", COLOURED("vertex_color")), NULL},
        {SENSOR PLY_SHAPE("colours_ascii.ply", COLOURED("vertex_tint")),
         "this ply has no attribute \"vertex_tint\""},
        {SENSOR PLY_SHAPE("colours_ascii.ply", COLOURED("color")), "begins neither with"},
        {SENSOR "<shape type='sphere'>" COLOURED("vertex_color") "</shape>", "this sphere has no attribute"},
        {SENSOR PLY_SHAPE("colours_ascii.ply",
                          "<bsdf type='mask'><texture type='mesh_attribute' name='opacity'><string "
                          "name='name' value='face_none'/></texture>"
                          "<bsdf type='diffuse'/></bsdf>"),
         "no attribute \"face_none\""},
        {SENSOR PLY_SHAPE("colours_ascii.ply",
                          "<bsdf type='diffuse'><texture type='mesh_attribute' name='reflectance'/></bsdf>"),
         "needs the parameter \"name\""},
        {SENSOR PLY_SHAPE("colours_ascii.ply", "<emitter type='area'><texture type='mesh_attribute' "
                                               "name='radiance'><string name='name' value='vertex_color'/>"
                                               "</texture></emitter>"),
         NULL},
        {SENSOR PLY_SHAPE("colours_ascii.ply", "<emitter type='area'><texture type='mesh_attribute' "
                                               "name='radiance'><string name='name' value='vertex_tint'/>"
                                               "</texture></emitter>"),
         "this ply has no attribute \"vertex_tint\""},
        {SENSOR "<emitter type='spot'><texture type='mesh_attribute' name='texture'><string name='name' "
                "value='vertex_color'/></texture></emitter>",
         "needs a surface, and this light is on no shape"},
        {SENSOR "<emitter type='projector'><texture type='volume' name='irradiance'><volume "
                "type='constvolume' name='volume'/></texture></emitter>",
         "needs a surface, and this light is on no shape"},
    };
    (void)state;
    char folder[1100];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(folder, sizeof folder, "%s/tests/data", source ? source : ".");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a = {0};
        bl_error err = {0};
        scene_description *d = NULL;
        render_scene *s = NULL;
        scene_load_options options = {.registry = &render_registry};
        bl_result r = scene_load_string(arena_printf(&a, "<scene version='3.0.0'>%s</scene>", cases[i].xml),
                                        folder, &options, &d, &err);
        r = r == BL_OK ? render_scene_create(d, NULL, &s, &err) : r;
        if ((r == BL_OK) != !cases[i].error || (cases[i].error && !strstr(err.text, cases[i].error)))
            fail_msg("case %zu: %s", i, r == BL_OK ? "loads" : err.text);
        render_scene_destroy(s);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_become_attributes),
        cmocka_unit_test(values_are_those_of_the_file),
        cmocka_unit_test(what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
