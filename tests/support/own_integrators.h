/* SPDX-License-Identifier: BSD-3-Clause
 * Integrators as an application would write them, on the public headers alone. */
#ifndef TEST_OWN_INTEGRATORS_H
#define TEST_OWN_INTEGRATORS_H

#include <backlight/backlight_integrator.h>

/* "my_prb_basic": paths without light sampling and roulette, differentiated by path replay (Vicini, Speierer,
 * Jakob 2021, listings 1 and 2), as the library's prb_basic is. Its number is max_depth. */
extern const bl_integrator_plugin own_prb_basic;
/* "my_path": paths with light sampling and MIS, without roulette. Its number is max_depth. */
extern const bl_integrator_plugin own_path;
/* "my_direct": light that is sampled at the first hit, the mean of some samples in a loop that adds; the
 * library differentiates it. Its number is how many samples. */
extern const bl_integrator_plugin own_direct;

#endif
