/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps what results and effects need (live.c says what that is). Functions without callers vanish in the
 * rebuild. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

static uint8_t *keep_live(const opt_pass *pass, const ir_func *f)
{
    return opt_live(f, f->results.data, f->results.count, pass->user, NULL);
}

ir_module *opt_dead(const ir_module *m)
{
    uint8_t *writes = opt_writes(m);
    opt_pass pass = {.from = m, .keep = keep_live, .user = writes};
    ir_module *result = opt_rebuild(&pass);
    memory_free(writes);
    return result;
}
