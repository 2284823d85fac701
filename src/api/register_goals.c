/* SPDX-License-Identifier: BSD-3-Clause
 * A SIMD's registers and the memory of workgroups are shared out to the subgroups that run on it. So each
 * number of subgroups is a goal: the registers of a lane, and the words that may wait for them. */
#include "api/register_goals.h"

#include <string.h>

/* Drivers take between 20 registers fewer and 17 more than values live, with ray queries up to 40 more
 * (docs/decisions/registers.md). So values are parked to BELOW fewer than there are registers, and a goal
 * counts as met where they are up to OVER - BELOW more; if the driver then needs more, one subgroup less
 * runs, as it would by the next goal. RADV takes 16 words of a lane for the stacks of ray queries. */
enum {
    BELOW = 18,
    OVER = 30,
    QUERY_REGISTERS = 16,
    QUERY_WORDS = 16,
    FEWEST = 120, /* registers of a lane, where 8 subgroups of 32 lanes run on RDNA2 */
    MOST = 256,   /* that a lane can have */
};

/* For devices that do not tell: of RDNA3, whose 4 SIMDs share 128 KiB, and for waves of 64. 32 words a lane
 * let 4 run, 25 words 5 and 21 words 6, which have 192, 144 and 120 registers. 32 words are 8 KiB of a
 * workgroup, half of what all devices have. */
static const opt_goal unknown[] = {{21, 110, 0}, {25, 124, 0}, {32, 128, 0}, {25, 136, 0}, {32, 0, 0}};

static uint32_t less(uint32_t a, uint32_t b) { return a > b ? a - b : 0; }

static uint32_t known(const gpu_info *d, opt_goal goals[OPT_GOALS_MOST])
{
    uint32_t count = 0, step = d->register_step;
    for (uint32_t n = d->simd_registers / FEWEST; n > 0 && count < OPT_GOALS_MOST; n--) {
        uint32_t registers = d->simd_registers / (n * step) * step;
        if (registers < MOST)
            goals[count++] = (opt_goal){d->simd_words / n, registers - BELOW, OVER};
    }
    return count;
}

uint32_t register_goals(const gpu_info *device, bool queries, opt_goal goals[OPT_GOALS_MOST])
{
    uint32_t count = device->simd_registers ? known(device, goals) : 0;
    const bool told = count > 0;
    if (!told)
        memcpy(goals, unknown, sizeof unknown), count = sizeof unknown / sizeof *unknown;
    for (uint32_t k = 0; k < count && queries; k++) {
        goals[k].words = less(goals[k].words, QUERY_WORDS);
        goals[k].live = told ? less(goals[k].live, QUERY_REGISTERS) : goals[k].live;
    }
    return count;
}
