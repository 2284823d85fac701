/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Names of parameters, by id and by path. The paths are what mitsuba.traverse of Mitsuba 3.9.1 lists for this
 * scene, loaded with optimize=False. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_traced.h"

static void parameters_have_paths(void **state)
{
    (void)state;
    static const char xml[] =
        "<scene version='3.0.0'><sensor type='perspective'/><shape type='sphere' id='s1'><ref "
        "id='late'/></shape>"
        "<bsdf type='twosided' id='late'><ref id='in'/></bsdf><bsdf type='diffuse' id='in'/>"
        "<bsdf type='mask' id='top'><bsdf type='diffuse' id='below'/></bsdf><shape type='sphere' "
        "id='s2'><ref id='top'/></shape>"
        "<shape type='sphere' id='s3'><bsdf type='diffuse' id='own'><texture type='checkerboard' "
        "name='reflectance' id='tex'/></bsdf>"
        "<emitter type='area' id='glow'/></shape>"
        "<shape type='sphere' id='s4'><bsdf type='mask'><ref id='own'/></bsdf>"
        "<medium name='interior' type='homogeneous' id='fog'><phase type='hg' id='lobe'/></medium></shape>"
        "<shape type='merge' id='both'><shape type='sphere' id='s6'><bsdf type='diffuse' "
        "id='b6'/></shape></shape>"
        "<shape type='shapegroup' id='group'><shape type='sphere' id='s7'><bsdf type='diffuse' "
        "id='b7'/></shape></shape>"
        "<shape type='instance'><ref id='group'/></shape>"
        "<shape type='sphere' id='s8'><bsdf type='diffuse' id='b8'/></shape><shape type='sphere'><bsdf "
        "type='diffuse' id='s8.bsdf'/></shape></scene>";
    static const struct {
        const char *name, *path;
    } expected[] = {{"in.reflectance.value", "s1.bsdf.brdf_0.reflectance.value"},
                    {"below.reflectance.value", "top.nested_bsdf.reflectance.value"},
                    {"top.opacity.value", "top.opacity.value"},
                    {"tex.color0.value", "s3.bsdf.reflectance.color0.value"},
                    {"glow.radiance.value", "s3.emitter.radiance.value"},
                    {"fog.sigma_t.value.value", "s4.interior_medium.sigma_t.value.value"},
                    {"lobe.g", "s4.interior_medium.phase_function.g"},
                    {"b6.reflectance.value", "s6.bsdf.reflectance.value"},
                    {"b7.reflectance.value", "group.s7.bsdf.reflectance.value"},
                    {"s4.bsdf.opacity.value", "s4.bsdf.opacity.value"}};
    loaded l = traced_load(xml, "");
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        uint32_t index = render_parameter_called(l.scene, expected[k].name);
        if (index == PLAN_NONE)
            fail_msg("no parameter %s", expected[k].name);
        assert_string_equal(l.scene->parameters.data[index].path, expected[k].path);
        assert_int_equal(render_parameter_called(l.scene, expected[k].path), index);
    }
    assert_int_equal(render_parameter_called(l.scene, "s4.bsdf.nested_bsdf.reflectance.color0.value"),
                     PLAN_NONE); /* the way by s3 came first */
    uint32_t first = render_parameter_called(l.scene, "b8.reflectance.value"),
             named = render_parameter_called(l.scene, "s8.bsdf.reflectance.value");
    assert_true(first != PLAN_NONE && named != PLAN_NONE && named > first);
    assert_string_equal(l.scene->parameters.data[first].path, "s8.bsdf.reflectance.value");
    assert_string_equal(
        l.scene->parameters.data[named].name,
        "s8.bsdf.reflectance.value"); /* names come before paths, also of what was met first */
    traced_unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters_have_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
