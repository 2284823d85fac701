/* SPDX-License-Identifier: BSD-3-Clause
 * A table of cases as a group of tests (case_tests.h). */
#include "support/case_tests.h"

#include "support/scene_cases.h"

#include <string.h>

int case_tests_run(CMUnitTestFunction test, const void *cases, size_t size, size_t count, char **folder)
{
    *folder = scene_files_create();
    if (!*folder)
        return 1;
    arena a = {0};
    struct CMUnitTest *tests = arena_alloc(&a, count * sizeof *tests);
    for (size_t k = 0; k < count; k++) {
        char *each = (char *)(uintptr_t)cases + k * size;
        tests[k] = (struct CMUnitTest){.test_func = test, .initial_state = each};
        memcpy(&tests[k].name, each, sizeof tests[k].name);
    }
    int failed = _cmocka_run_group_tests("cases", tests, count, NULL, NULL);
    scene_files_remove(*folder);
    arena_free(&a);
    return failed;
}
