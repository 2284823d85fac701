/* SPDX-License-Identifier: BSD-3-Clause
 * CHOLMOD, opened when the first large step needs it: programs neither carry nor load it, with BLAS, LAPACK
 * and METIS behind it, for a method that few fits use; and Debian's build of it holds modules under the GPL.
 */
#ifndef FIT_CHOLMOD_LIBRARY_H
#define FIT_CHOLMOD_LIBRARY_H

#include "base/base.h"

#include <cholmod.h>

#define CHOLMOD_FUNCTIONS(X)                                                                                 \
    X(start)                                                                                                 \
    X(finish)                                                                                                \
    X(allocate_triplet)                                                                                      \
    X(triplet_to_sparse)                                                                                     \
    X(free_triplet)                                                                                          \
    X(analyze)                                                                                               \
    X(factorize)                                                                                             \
    X(free_sparse)                                                                                           \
    X(free_factor)                                                                                           \
    X(allocate_dense)                                                                                        \
    X(solve)                                                                                                 \
    X(free_dense)

typedef struct cholmod_library {
#define CHOLMOD_MEMBER(name) __typeof__(cholmod_##name) *name;
    CHOLMOD_FUNCTIONS(CHOLMOD_MEMBER)
#undef CHOLMOD_MEMBER
} cholmod_library;

/* BL_ERROR_UNSUPPORTED, with what to install, where the library is not there. It is never closed: threads
 * that it may have started would lose their code. */
bl_result cholmod_library_open(cholmod_library *library, bl_error *err);

#endif
