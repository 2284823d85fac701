/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What scenes with a radiance field load to, or say: a table of fields that are wrong, each with the main
 * words of its message. And which parameters have no gradient beside a field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include "support/scene_cases.h"
#include "support/scene_traced.h"

#define MARCH(more) "<integrator type='radiance_field'>" more "</integrator>"
#define TEXT(name, value) "<string name='" name "' value='" value "'/>"
#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define PLACE(more) "<transform name='to_world'>" more "</transform>"
#define GRID(name, more) "<volume type='gridvolume' name='" name "'>" more "</volume>"
#define CHANNELS(count) "<integer name='channels' value='" count "'/>"
#define SIDES(sides) TEXT("resolution", sides)
#define DENSITY GRID("density", SIDES("4"))
#define COLORS GRID("sh_coeffs", SIDES("4") CHANNELS("12"))
#define FIELD(more) "<field type='sh_field' id='field'>" more "</field>"
#define FOG "<medium type='homogeneous' name='interior'/>"

typedef struct load_case {
    const char *body;
    const char *error; /* a part of the message, which begins with the place; NULL: it loads */
} load_case;

static const load_case cases[] = {
    {MARCH("") FIELD(DENSITY COLORS), NULL},
    {MARCH(""), NULL}, /* there is just no field */
    {MARCH("") FIELD(DENSITY COLORS) "\n" FIELD(DENSITY COLORS), "<string>:2: duplicate id \"field\""},
    {MARCH("") FIELD(DENSITY COLORS) "\n<field type='sh_field'>" DENSITY COLORS "</field>",
     "<string>:2: scene \"scene\" can hold 1 field, not more"},
    {"<integrator type='path'/>\n" FIELD(DENSITY COLORS),
     "<string>:2: the integrator \"path\" does not see fields; radiance_field does"},
    {FIELD(DENSITY COLORS), "the integrator \"path\" does not see fields"},
    {MARCH("") "<shape type='sphere'>" FIELD(DENSITY COLORS) "</shape>",
     "shape \"sphere\" cannot hold a field"},
    {MARCH("") "<field type='sh_feild'/>",
     "there is no field plugin \"sh_feild\"; did you mean \"sh_field\"?"},
    /* channels */
    {MARCH("") FIELD(GRID("density", SIDES("4") CHANNELS("3")) "\n" COLORS),
     "<string>:1: sh_field: \"density\" has 3 channels; it needs 1"},
    {MARCH("") FIELD(DENSITY "\n" GRID("sh_coeffs", SIDES("4") CHANNELS("4"))),
     "<string>:2: sh_field: \"sh_coeffs\" has 4 channels; it needs 3, 12 or 27"},
    {MARCH("") FIELD(DENSITY GRID("sh_coeffs", SIDES("4"))),
     "\"sh_coeffs\" has 1 channels; it needs 3, 12 or 27"},
    {MARCH("") FIELD(DENSITY GRID("sh_coeffs", SIDES("4") CHANNELS("28"))), "28 is outside [1, 27]"},
    {MARCH("") FIELD(DENSITY GRID("sh_coeffs", TEXT("filename", "waves.vol"))), NULL},
    {MARCH("") FIELD(DENSITY GRID("sh_coeffs", TEXT("filename", "ripples.vol"))), NULL},
    {MARCH("") FIELD(GRID("density", TEXT("filename", "tint.vol")) COLORS), "\"density\" has 3 channels"},
    {MARCH("") FIELD(GRID("density", TEXT("filename", "none.vol")) COLORS),
     "cannot find the file \"none.vol\""},
    {MARCH("") FIELD("<float name='density' value='.5'/><rgb name='sh_coeffs' value='1,.5,.2'/>"), NULL},
    /* activations */
    {MARCH("") FIELD(TEXT("density_activation", "sigmoid") DENSITY COLORS), "density_activation"},
    {MARCH("") FIELD(TEXT("color_activation", "tanh") DENSITY COLORS), "color_activation"},
    /* places */
    {MARCH("") FIELD(PLACE("<scale x='0'/>") DENSITY COLORS),
     "the field has no extent: \"to_world\" is flat"},
    {MARCH("") FIELD(DENSITY "\n" GRID("sh_coeffs", SIDES("4") CHANNELS("3") PLACE("<scale value='2'/>"))),
     "<string>:2: sh_field: \"to_world\" belongs to the field, not to its volume \"sh_coeffs\""},
    {MARCH("") FIELD(GRID("density", SIDES("4") PLACE("<scale value='2'/>")) COLORS),
     "not to its volume \"density\""},
    /* grids without a file */
    {MARCH("") FIELD(GRID("density", SIDES("0")) COLORS),
     "\"resolution\" must be one integer or three, from 1 to 4096, not \"0\""},
    {MARCH("") FIELD(GRID("density", SIDES("16 16")) COLORS), "not \"16 16\""},
    {MARCH("") FIELD(GRID("density", SIDES("1 2 3 4")) COLORS), "not \"1 2 3 4\""},
    {MARCH("") FIELD(GRID("density", SIDES("1e9")) COLORS), "not \"1e9\""},
    {MARCH("") FIELD(GRID("density", SIDES("2.5")) COLORS), "not \"2.5\""},
    {MARCH("") FIELD(GRID("density", SIDES("-4")) COLORS), "not \"-4\""},
    {MARCH("") FIELD(GRID("density", SIDES("nan")) COLORS), "not \"nan\""},
    {MARCH("") FIELD(GRID("density", SIDES("")) COLORS), "not \"\""},
    {MARCH("") FIELD(GRID("density", SIDES("four")) COLORS), "not \"four\""},
    {MARCH("") FIELD(GRID("density", SIDES("2, 3 4")) COLORS), NULL},
    {MARCH("") FIELD(DENSITY GRID("sh_coeffs", SIDES("1024") CHANNELS("27"))),
     "28991029248 values are more than the limit of 2^30"},
    {MARCH("") FIELD(GRID("density", SIDES("4096")) COLORS), "68719476736 values are more than the limit"},
    {MARCH("") FIELD(GRID("density", "") COLORS), "it needs \"filename\", or \"resolution\""},
    {MARCH("") FIELD(GRID("density", SIDES("4") "<boolean name='use_grid_bbox' value='true'/>") COLORS),
     "\"use_grid_bbox\" needs a file"},
    {MARCH("") FIELD(COLORS), NULL},
    /* steps */
    {MARCH(NUMBER("step_size", "-1")) FIELD(DENSITY COLORS), "-1 is outside [0, 1e+30]"},
    {MARCH(NUMBER("step_size", "1e-6")) FIELD(DENSITY COLORS),
     "a ray through the field would have 1.73e+06 samples, and the limit is 1048576; give radiance_field a "
     "\"step_size\" of at least 1.65e-06"},
    {MARCH(NUMBER("step_size", "1.7e-6")) FIELD(DENSITY COLORS), NULL},
    {MARCH(NUMBER("step_size", "1.7e-6")) FIELD(PLACE("<scale value='2'/>") DENSITY COLORS),
     "2.04e+06 samples"},
    {MARCH(NUMBER("step_size", "1e-300")) FIELD(DENSITY COLORS), "the limit is 1048576"},
    {MARCH("") FIELD(PLACE("<scale x='1e-6'/>") DENSITY COLORS), "samples, and the limit is 1048576"},
    {MARCH(NUMBER("min_transmittance", "2")) FIELD(DENSITY COLORS), "2 is outside [0, 1]"},
    /* media */
    {MARCH("") FIELD(DENSITY COLORS) "\n<shape type='sphere'><bsdf type='null'/>" FOG "</shape>",
     "<string>:2: a radiance field that overlaps a participating medium is not implemented yet: this shape's "
     "box meets the field's"},
    {MARCH("") FIELD(DENSITY COLORS) "<shape type='sphere'><point name='center' value='4,0,0'/><bsdf "
                                     "type='null'/>" FOG "</shape>",
     NULL},
    {MARCH("") FIELD(DENSITY COLORS) "<shape type='sphere'><point name='center' value='4,0,0'/><bsdf "
                                     "type='null'/><medium type='homogeneous' name='exterior'/></shape>",
     "one around a shape has no end"},
};

static char *folder;

static char *scene_of(arena *a, const char *body)
{
    return arena_printf(a, "<scene version='3.0.0'><sensor type='perspective'/>%s</scene>", body);
}

static void bad_fields_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a = {0};
        render_scene *scene = NULL;
        bl_error err = {0};
        const char *wanted = cases[i].error;
        bl_result r = traced_try_load(scene_of(&a, cases[i].body), folder, NULL, 0, &scene, &err);
        if ((r == BL_OK) != !wanted || (wanted && !strstr(err.text, wanted)))
            fail_msg("%s: expected \"%s\", got \"%s\"", cases[i].body, wanted ? wanted : "success",
                     r == BL_OK ? "success" : err.text);
        if (r == BL_OK)
            render_scene_destroy(scene);
        arena_free(&a);
    }
}

/* ---- gradients ---- */

static const struct {
    const char *body, *parameter;
    const char *reason; /* NULL: it has a gradient */
} gradients[] = {
    {FIELD(DENSITY COLORS), "field.density.data", NULL},
    {FIELD(DENSITY COLORS), "field.sh_coeffs.data", NULL},
    {FIELD(DENSITY COLORS), "sensor.translation", NULL},
    {FIELD(DENSITY COLORS) "<shape type='sphere' id='ball'/>", "ball.to_world",
     "those of what moves are not implemented where there is a radiance field"},
    {FIELD(DENSITY COLORS) "<shape type='cube' id='box'/>", "box.vertex_positions",
     "those of what moves are not implemented where there is a radiance field"},
    {FIELD(DENSITY COLORS) "<emitter type='point' id='bulb'/>", "bulb.position",
     "those of what moves are not implemented where there is a radiance field"},
    {FIELD(DENSITY COLORS) "<shape type='sphere'><point name='center' value='4,0,0'/><bsdf type='null'/>" FOG
                           "</shape>",
     "sensor.translation", "the camera's are not implemented where there are a radiance field and media"},
};

static void what_moves_is_refused(void **state)
{
    (void)state;
    bl_context *context = NULL;
    assert_int_equal(bl_context_create(NULL, &context), BL_OK);
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
        arena a = {0};
        bl_scene *scene = NULL;
        uint32_t index;
        bl_parameter_info info;
        char *xml = scene_of(&a, arena_printf(&a, MARCH("") "%s", gradients[i].body));
        if (bl_scene_load_string(context, xml, folder, NULL, &scene) != BL_OK ||
            bl_scene_find_parameter(scene, gradients[i].parameter, &index) != BL_OK ||
            bl_scene_parameter_info(scene, index, &info) != BL_OK)
            fail_msg("%s: %s", gradients[i].body, bl_context_error(context));
        const char *reason = info.reason ? info.reason : "";
        if (info.differentiable != !gradients[i].reason ||
            (gradients[i].reason && !strstr(reason, gradients[i].reason)))
            fail_msg("%s of %s: \"%s\"", gradients[i].parameter, gradients[i].body, reason);
        bl_scene_destroy(scene);
        arena_free(&a);
    }
    bl_context_destroy(context);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_fields_say_why),
                                       cmocka_unit_test(what_moves_is_refused)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
