/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Plugins of an application: tables that are wrong, names that are taken and functions that are missing are
 * errors that say what it is, and leave the context as it was; what was added is listed, checked by the
 * loader like any other, and unknown in other contexts. That it renders and is differentiated:
 * samples/05_own_material.c, samples/07_own_light.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_plugin.h>
#include <string.h>

static bl_plugin_vec3 sample(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe,
                             bl_ir_value u1, bl_ir_value u2)
{
    (void)wi, (void)uv, (void)u_lobe;
    return bl_plugin_cosine_hemisphere(t, u1, u2);
}

static bl_ir_value pdf(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi, (void)wo, (void)uv;
    return bl_ir_f32(bl_plugin_func(t), 1);
}

static bl_plugin_color value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi, (void)wo;
    return bl_plugin_texture(t, 0, uv);
}

static bl_bsdf_choice choose(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value u_lobe,
                             bl_ir_value u1, bl_ir_value u2)
{
    bl_ir_func *f = bl_plugin_func(t);
    return (bl_bsdf_choice){sample(t, wi, uv, u_lobe, u1, u2), bl_ir_f32(f, 1), bl_ir_bool(f, true),
                            bl_ir_u32(f, 0), bl_ir_f32(f, 1)};
}

static bl_light_sample light_sample(bl_plugin_trace *t, bl_plugin_vec3 point, bl_ir_value u1, bl_ir_value u2)
{
    (void)point;
    return (bl_light_sample){
        .d = bl_plugin_uniform_sphere(t, u1, u2),
        .pdf = bl_ir_f32(bl_plugin_func(t), 1),
    };
}

static bl_plugin_color light_radiance(bl_plugin_trace *t, bl_plugin_vec2 uv, bl_ir_value distance)
{
    (void)distance;
    return bl_plugin_texture(t, 0, uv);
}

static bl_context *open_context(void)
{
    bl_context *ctx;
    assert_int_equal(bl_context_create(NULL, &ctx), BL_OK);
    return ctx;
}

static bl_bsdf_plugin plugin(const char *name, const bl_plugin_param *params, uint32_t count)
{
    return (bl_bsdf_plugin){
        .name = name,
        .help = "help",
        .parameters = params,
        .parameter_count = count,
        .sample = sample,
        .pdf = pdf,
        .value = value,
    };
}

static void wrong_tables_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bl_plugin_param params[2];
        uint32_t count;
        const char *error;
    } rows[] = {
        {"", {{0}}, 0, "needs a name"},
        {NULL, {{0}}, 0, "needs a name"},
        {"my material", {{0}}, 0, "needs a name of letters"},
        {"diffuse", {{0}}, 0, "there is a plugin \"diffuse\" for <bsdf> already"},
        {"mine", {{.name = "a b"}}, 1, "plugin \"mine\": parameter 0 needs a name"},
        {"mine", {{.name = "a"}, {.name = "a"}}, 2, "two parameters are called \"a\""},
        {"mine", {{.name = "a", .kind = (bl_plugin_kind)7}}, 1, "\"a\" is of kind 7"},
        {"mine", {{.name = "a", .least = 2, .most = 1}}, 1, "\"a\" ranges from 2 to 1"},
        {"mine", {{.name = "a", .preset = "x"}}, 1, "\"x\" is no default for parameter \"a\""},
        {"mine", {{.name = "a", .preset = ""}}, 1, "is no default"},
        {"mine", {{.name = "a", .preset = "1,2,3"}}, 1, "is no default"},
        {"mine", {{.name = "a", .kind = BL_PLUGIN_TEXTURE, .preset = "1,2"}}, 1, "is no default"},
        {"mine", {{.name = "a", .preset = "3", .least = 0, .most = 2}}, 1, "is no default"},
        {"mine", {{.name = "a"}}, 31, "a table of 31 parameters"},
    };
    bl_context *ctx = open_context();
    uint32_t before = bl_plugin_count(ctx);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bl_bsdf_plugin p = plugin(rows[i].name, rows[i].params, rows[i].count);
        assert_int_equal(bl_plugin_add_bsdf(ctx, &p), BL_ERROR_ARGUMENT);
        if (!strstr(bl_context_error(ctx), rows[i].error))
            fail_msg("row %zu: expected \"%s\", got \"%s\"", i, rows[i].error, bl_context_error(ctx));
    }
    bl_bsdf_plugin p = plugin("mine", NULL, 0);
    p.choose = choose; /* and no coefficients */
    assert_int_equal(bl_plugin_add_bsdf(ctx, &p), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(ctx), "plugin \"mine\": a function is missing"));
    p.choose = NULL, p.pdf = NULL;
    assert_int_equal(bl_plugin_add_bsdf(ctx, &p), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(ctx), "plugin \"mine\": a function is missing"));
    assert_int_equal(bl_plugin_add_texture(ctx, &(bl_texture_plugin){.name = "mine"}), BL_ERROR_ARGUMENT);
    assert_int_equal(bl_plugin_count(ctx), before);
    bl_context_destroy(ctx);
}

static const bl_plugin_param table[] = {{"tint", BL_PLUGIN_TEXTURE, "1, .8, .2", 0, 1, "colour"},
                                        {"power", BL_PLUGIN_NUMBER, NULL, 0, 9, "number"}};
#define SCENE(inside)                                                                                        \
    "<scene version='3.0.0'><sensor type='perspective'/>\n<shape type='sphere'><bsdf type='mine' "           \
    "id='m'>" inside "</bsdf></shape></scene>"

static void expect_error(bl_context *ctx, const char *xml, const char *error)
{
    bl_scene *scene;
    assert_int_not_equal(bl_scene_load_string(ctx, xml, NULL, NULL, &scene), BL_OK);
    if (!strstr(bl_context_error(ctx), error))
        fail_msg("expected \"%s\", got \"%s\"", error, bl_context_error(ctx));
}

static void added_plugins_are_like_any_other(void **state)
{
    (void)state;
    bl_context *ctx = open_context(), *other = open_context();
    uint32_t before = bl_plugin_count(ctx), found = 0;
    bl_bsdf_plugin p = plugin("mine", table, 2);
    assert_int_equal(bl_plugin_add_bsdf(ctx, &p), BL_OK);
    assert_int_equal(bl_plugin_add_bsdf(ctx, &p), BL_ERROR_ARGUMENT);
    assert_int_equal(bl_plugin_count(ctx), before + 1);
    for (uint32_t i = 0; i < bl_plugin_count(ctx); i++) {
        bl_plugin_info info;
        assert_int_equal(bl_plugin_info_at(ctx, i, &info), BL_OK);
        found += !strcmp(info.name, "mine") && !strcmp(info.category, "bsdf") && info.available &&
                 info.parameters == 2;
    }
    assert_int_equal(found, 1);
    expect_error(ctx, SCENE("<float name='powr' value='1'/>"),
                 "<string>:2: unknown parameter \"powr\" of bsdf \"mine\"; did you mean \"power\"?");
    expect_error(ctx, SCENE(""), "bsdf \"mine\" needs the parameter \"power\"");
    expect_error(ctx, SCENE("<float name='power' value='10'/>"), "10 is outside [0, 9]");
    expect_error(other, SCENE("<float name='power' value='1'/>"), "there is no bsdf plugin \"mine\"");
    bl_scene *scene;
    uint32_t index;
    float tint[3];
    assert_int_equal(bl_scene_load_string(ctx, SCENE("<float name='power' value='1'/>"), NULL, NULL, &scene),
                     BL_OK);
    assert_int_equal(bl_scene_find_parameter(scene, "m.power", &index), BL_OK);
    assert_int_equal(bl_scene_find_parameter(scene, "m.tint.value", &index), BL_OK);
    assert_int_equal(bl_scene_get_parameter(scene, index, tint), BL_OK);
    assert_true(tint[0] == 1 && tint[1] == 0.8f && tint[2] == 0.2f);
    bl_scene_destroy(scene);
    bl_context_destroy(ctx);
    bl_context_destroy(other);
}

static void lights(void **state)
{
    (void)state;
    static const bl_plugin_param glow[] = {{"glow", BL_PLUGIN_TEXTURE, "1", 0, 0, "colour"}},
                                 weight[] = {{"sampling_weight", BL_PLUGIN_NUMBER, "1", 0, 0, ""}};
    static const struct {
        bl_light_plugin light;
        const char *error;
    } rows[] = {
        {{.name = "mine", .kind = (bl_light_kind)3, .radiance = light_radiance},
         "a light of kind 3, which does not exist"},
        {{.name = "mine", .kind = BL_LIGHT_SHAPE}, "a function is missing"},
        {{.name = "mine", .kind = BL_LIGHT_POINT, .radiance = light_radiance}, "a function is missing"},
        {{.name = "mine", .kind = BL_LIGHT_SKY, .radiance = light_radiance, .sample = light_sample},
         "a function is missing"},
        {{.name = "area", .kind = BL_LIGHT_SHAPE, .radiance = light_radiance},
         "there is a plugin \"area\" for <emitter> already"},
        {{.name = "mine", .parameters = weight, .parameter_count = 1, .radiance = light_radiance},
         "every light has the parameter \"sampling_weight\" already"},
        {{.name = "mine", .parameters = glow, .parameter_count = 30, .radiance = light_radiance},
         "29 are possible"},
    };
    bl_context *ctx = open_context();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(bl_plugin_add_light(ctx, &rows[i].light), BL_ERROR_ARGUMENT);
        if (!strstr(bl_context_error(ctx), rows[i].error))
            fail_msg("row %zu: expected \"%s\", got \"%s\"", i, rows[i].error, bl_context_error(ctx));
    }
    bl_light_plugin lamp = {
        .name = "lamp", .help = "help", .parameters = glow, .parameter_count = 1, .radiance = light_radiance};
    bl_light_plugin bulb = {
        .name = "bulb",
        .help = "help",
        .kind = BL_LIGHT_POINT,
        .sample = light_sample,
        .radiance = light_radiance,
    };
    assert_int_equal(bl_plugin_add_light(ctx, &lamp), BL_OK);
    assert_int_equal(bl_plugin_add_light(ctx, &bulb), BL_OK);
#define LIT(inside) "<scene version='3.0.0'><sensor type='perspective'/>\n" inside "</scene>"
    expect_error(ctx, LIT("<shape type='sphere'><emitter type='bulb'/></shape>"),
                 "a shape can carry an area emitter, not \"bulb\"");
    expect_error(ctx,
                 LIT("<shape type='sphere'><emitter type='lamp'><float name='sampling_weight' "
                     "value='-1'/></emitter></shape>"),
                 "-1 is outside [0, 1000000000]");
    bl_scene *scene;
    uint32_t index;
    float glows[3];
    assert_int_equal(bl_scene_load_string(ctx,
                                          LIT("<shape type='sphere'><emitter type='lamp' id='l'><spectrum "
                                              "name='glow' value='2'/></emitter></shape>"),
                                          NULL, NULL, &scene),
                     BL_OK);
    assert_int_equal(bl_scene_find_parameter(scene, "l.glow.value", &index), BL_OK);
    assert_int_equal(bl_scene_get_parameter(scene, index, glows), BL_OK);
    assert_true(glows[0] > 2.4f && glows[2] < 1.9f); /* emission: equal-energy white */
    bl_scene_destroy(scene);
    bl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lights), cmocka_unit_test(wrong_tables_are_errors),
                                       cmocka_unit_test(added_plugins_are_like_any_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
