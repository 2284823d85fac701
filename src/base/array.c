/* SPDX-License-Identifier: BSD-3-Clause
 * Growth of ARRAY(type): doubling, never shrinking. */
#include "base/base.h"

#include <stdlib.h>

void *array_grow(void *data, uint32_t *capacity, uint32_t needed, size_t element)
{
    if (needed <= *capacity)
        return data;
    uint32_t grown = *capacity > UINT32_MAX / 2 ? UINT32_MAX : *capacity * 2;
    grown = grown < 8 ? 8 : grown;
    grown = grown < needed ? needed : grown;
    BL_ASSERT(element > 0 && grown <= SIZE_MAX / element, "%u elements of %zu bytes", grown, element);
    data = realloc(data, grown * element);
    BL_ASSERT(data, "out of memory for %u elements of %zu bytes", grown, element);
    *capacity = grown;
    return data;
}

void array_release(void *data) { free(data); }
