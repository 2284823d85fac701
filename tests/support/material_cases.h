/* SPDX-License-Identifier: BSD-3-Clause
 * Every material of the renderer, with the sets of parameters that take different branches of its code.
 * This is the one table behind the tests of sampling, energy, reciprocity and finiteness
 * (tests/unit/render_materials.c) and of gradients (tests/gradient/materials.c). A new material is a row
 * here. */
#ifndef TEST_MATERIAL_CASES_H
#define TEST_MATERIAL_CASES_H

#include "base/base.h"

enum { MATERIAL_PARAMETERS = 12 /* SCENE_CASE_PARAMETERS */, MATERIAL_COSINES = 3 };

typedef struct material_case {
    const char *name;
    const char *xml; /* of the material, whose id is "it", and of what it refers to; files are those of
                        scene_files_create */
    const char *parameters[MATERIAL_PARAMETERS]; /* whose gradients are tested; NULL-terminated if fewer */
    const char *mode;                            /* NULL: rgb */
    bool requested; /* sampling is tested as it is while these are differentiated (docs/theory/support.md) */
    double eta;     /* index along samples that cross from above, its inverse from below; 0: not tested */
    double cosines[MATERIAL_COSINES]; /* of wi, where sampling is tested; 0: no more */
    bool one_way;                     /* not reciprocal */
    bool black;                       /* has nothing to sample but discrete lobes, or nothing at all */
    double inwards;                   /* -1 or 1: some parameter stands at its bound; all move to this side */
    const char *zero;                 /* the parameter whose derivative is 0 in truth; or NULL */
    double slack; /* added to the relative tolerance of differences. Some derived values are integrals by
                     quadrature, and their derivatives are other quadratures, whose nodes stay where they are
                     (rough_interface.c). Or the parameter stands at a bound where a root of it begins. */
} material_case;

extern const material_case material_cases[];
extern const uint32_t material_case_count;

uint32_t material_case_parameter_count(const material_case *c);

#endif
