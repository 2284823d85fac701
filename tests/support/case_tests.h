/* SPDX-License-Identifier: BSD-3-Clause
 * The main of tests that do one thing with each scene of a table. */
#ifndef TEST_CASE_TESTS_H
#define TEST_CASE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Makes the folder of scene_files_create, runs `test` once for each of `count` cases of `size` bytes, whose
 * state is the case, and removes the folder. A case begins with its name, a const char *. Returns what main
 * returns. */
int case_tests_run(CMUnitTestFunction test, const void *cases, size_t size, size_t count, char **folder);

#endif
