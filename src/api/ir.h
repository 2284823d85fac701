/* SPDX-License-Identifier: BSD-3-Clause
 * What is behind a bl_ir; shared by ir.c (building) and ir_run.c (running). */
#ifndef BL_API_IR_H
#define BL_API_IR_H

#include <backlight/backlight_ir.h>

#include "spirv_gen/ir/ir.h"

struct bl_ir {
    ir_module *module; /* its own error is the first mistake of the trace */
    bl_error error;    /* error of the last call that failed for another reason */
};

#endif
