/* SPDX-License-Identifier: BSD-3-Clause
 * Growth of ARRAY(type): doubling, never shrinking. */
#include "base/base.h"

void *array_grow(void *data, uint32_t *capacity, uint32_t needed, size_t element)
{
    if (needed <= *capacity)
        return data;
    uint32_t grown = *capacity > UINT32_MAX / 2 ? UINT32_MAX : *capacity * 2;
    grown = grown < 8 ? 8 : grown;
    grown = grown < needed ? needed : grown;
    BL_ASSERT(element > 0 && grown <= SIZE_MAX / element, "%u elements of %zu bytes", grown, element);
    data = memory_need_resized(data, *capacity * element, grown * element);
    *capacity = grown;
    return data;
}

bl_result array_check_grown(uint32_t count, uint32_t capacity, uint64_t more, size_t element, bl_error *err)
{
    if (more > UINT32_MAX - count)
        return error_set(err, BL_ERROR_MEMORY, "%ju elements are too many", (uintmax_t)(count + more));
    const uint64_t needed = count + more,
                   grown = needed < 2 * (uint64_t)capacity ? 2 * (uint64_t)capacity : needed;
    return needed <= capacity ? BL_OK : memory_check(grown * element, err);
}

void array_release(void *data) { memory_free(data); }
