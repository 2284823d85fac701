/* SPDX-License-Identifier: BSD-3-Clause
 * LABELS: nodevice
 * The rows of src/render/plugins.def: each is called as its class is, no plugin stands there twice, and every
 * material has a row in the table of the material tests (support/material_cases.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/classes.h"
#include "support/material_cases.h"

static const struct row {
    const char *kind, *name;
} rows[] = {
#define PLUGIN(type, kind, name) {#kind, #name},
#include "render/plugins.def"
#undef PLUGIN
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The category of a row's kind. */
static plugin_category category_of(const char *kind)
{
    if (strcmp(kind, "class") == 0)
        return PLUGIN_SCENE;
    if (strcmp(kind, "filter") == 0)
        return PLUGIN_RFILTER;
    for (plugin_category c = 0; c < PLUGIN_CATEGORY_COUNT; c++)
        if (strcmp(plugin_category_names[c], kind) == 0)
            return c;
    fail_msg("no category is called %s", kind);
    return PLUGIN_CATEGORY_COUNT;
}

static void rows_are_called_as_their_classes(void **state)
{
    (void)state;
    assert_int_equal(render_registry.count, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        const plugin_class *cls = render_registry.classes[i];
        assert_string_equal(cls->name, rows[i].name);
        assert_int_equal(cls->category, category_of(rows[i].kind));
        assert_ptr_equal(registry_find(&render_registry, cls->category, cls->name), cls);
    }
}

static void every_material_is_tested(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        bool tested = strcmp(rows[i].kind, "bsdf") != 0;
        char wanted[64];
        snprintf(wanted, sizeof wanted, "<bsdf type='%s'", rows[i].name);
        for (uint32_t k = 0; k < material_case_count && !tested; k++)
            tested = strstr(material_cases[k].xml, wanted) != NULL;
        if (!tested)
            fail_msg("%s has no row in tests/support/material_cases.c", rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_called_as_their_classes),
        cmocka_unit_test(every_material_is_tested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
