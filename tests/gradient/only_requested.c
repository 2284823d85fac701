/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is only that built which can reach a requested gradient? Another differentiable parameter in the scene
 * leaves the words of the gradient kernel and of the forward kernel as they are. What is not requested has
 * no derived functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/spv/spv.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <stdlib.h>
#include <string.h>

#define DIFFUSE(id) "<bsdf type='diffuse' id='" id "'><rgb name='reflectance' value='.6,.2,.15'/></bsdf>"
#define FLOOR                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "               \
    "id='red'/></shape>"
#define BALL(id)                                                                                             \
    "<shape type='sphere'><point name='center' value='.2,-.1,.6'/><float name='radius' value='.3'/><ref "    \
    "id='" id "'/></shape>"
#define LAMP                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='165'/><translate "              \
    "value='0,0,2.2'/></transform>"                                                                          \
    "<emitter type='area' id='light'><rgb name='radiance' value='5,4,3'/></emitter></shape>"

/* The module of a pass after `dead`, which drops functions that nobody calls; *words (where not NULL): SPIR-V
 * of what the device gets. */
static ir_module *kernel_of(const char *body, const char *parameter, render_pass pass, spv_code *words)
{
    arena a = {0};
    bl_error err = {0};
    ir_module *m, *lowered;
    scene_eval *e = scene_eval_create(
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='4'/></integrator>",
                  arena_printf(&a, scene_sensor_format, 8u, 8u), body),
        NULL, &parameter, 1);
    if (render_trace(e->plan, pass, NULL, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    opt_options o = {
        .scene_buffer = BUFFER_SCENE,
        .node_base_word = HEADER_NODES,
        .entry_base_word = HEADER_ENTRIES,
        .stack_size = 8,
        .gradient_elements = e->plan->gradient_count,
        .scale_buffer = BUFFER_SCALE,
        .status_buffer = BUFFER_STATUS,
        .overflow_word = STATUS_OVERFLOW,
        .underflow_word = STATUS_UNDERFLOW,
    };
    if (words) {
        if (opt_run(m, &o, &lowered, &err) != BL_OK ||
            spv_generate(lowered, &(spv_options){.local_size = 64}, words, &err) != BL_OK)
            fail_msg("%s", err.text);
        ir_module_destroy(lowered);
    }
    ir_module *alive = opt_dead(m);
    ir_module_destroy(m);
    scene_eval_destroy(e);
    arena_free(&a);
    return alive;
}

static void other_parameters_leave_the_bytes_unchanged(void **state)
{
    (void)state;
    static const render_pass passes[] = {RENDER_GRADIENT, RENDER_FORWARD};
    for (int k = 0; k < 2; k++) {
        spv_code with, without, both;
        ir_module_destroy(
            kernel_of(DIFFUSE("red") FLOOR BALL("red") LAMP, "red.reflectance.value", passes[k], &without));
        ir_module_destroy(kernel_of(DIFFUSE("red") DIFFUSE("blue") FLOOR BALL("blue") LAMP,
                                    "red.reflectance.value", passes[k], &with));
        ir_module_destroy(
            kernel_of(DIFFUSE("red") FLOOR BALL("red") LAMP, "light.radiance.value", passes[k], &both));
        assert_int_equal(with.word_count, without.word_count);
        assert_memory_equal(with.words, without.words, with.word_count * sizeof(uint32_t));
        assert_true(both.word_count != without.word_count ||
                    memcmp(both.words, without.words, both.word_count * sizeof(uint32_t)) != 0);
        spv_code_free(&with);
        spv_code_free(&without);
        spv_code_free(&both);
    }
}

static bool has_derived(const ir_module *m, const char *of, const char *kind)
{
    for (uint32_t k = 0; k < m->functions.count; k++) {
        const char *name = m->functions.data[k]->name;
        if (strncmp(name, of, strlen(of)) == 0 && strstr(name, kind))
            return true;
    }
    return false;
}

static void what_is_not_requested_has_no_derivative(void **state)
{
    (void)state;
    static const struct {
        render_pass pass;
        const char *kind;
    } modes[] = {{RENDER_GRADIENT, ".vjp"}, {RENDER_FORWARD, ".jvp"}};
    for (int k = 0; k < 2; k++) {
        ir_module *light = kernel_of(DIFFUSE("red") FLOOR LAMP, "light.radiance.value", modes[k].pass, NULL);
        ir_module *material =
            kernel_of(DIFFUSE("red") FLOOR LAMP, "red.reflectance.value", modes[k].pass, NULL);
        assert_true(has_derived(light, "emitter_radiance_differentiated", modes[k].kind));
        assert_false(has_derived(light, "bsdf_value_differentiated", modes[k].kind));
        assert_true(has_derived(material, "bsdf_value_differentiated", modes[k].kind));
        assert_false(has_derived(material, "emitter_radiance_differentiated", modes[k].kind));
        ir_module_destroy(light);
        ir_module_destroy(material);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_parameters_leave_the_bytes_unchanged),
        cmocka_unit_test(what_is_not_requested_has_no_derivative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
