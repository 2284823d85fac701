/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/traced_gradient.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

ir_func *traced_gradient_create(const char *name)
{
    ir_module *m = ir_module_create();
    ir_buffer_add(m, "values", true, 1);
    ir_buffer_add(m, "gradient", false, -1);
    return m->entry = ir_func_create(m, name);
}

void traced_gradient_run(ir_func *f, const double *values, double *gradient, uint32_t count)
{
    ir_return(f, NULL, 0);
    memset(gradient, 0, count * sizeof *gradient);
    ir_eval_buffer buffers[2] = {{.reals = (double *)(uintptr_t)values, .count = count},
                                 {.reals = gradient, .count = count}};
    bl_error err = {0};
    if (ir_finish(f->module, &err) != BL_OK ||
        ir_eval(f, NULL, NULL, &(ir_eval_env){.buffers = buffers, .buffer_count = 2, .f64 = true}, &err) !=
            BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(f->module);
}
