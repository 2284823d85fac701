/* SPDX-License-Identifier: BSD-3-Clause
 * The stages of compilation, for those who want to see them. */
#ifndef BL_API_TRACE_DUMP_H
#define BL_API_TRACE_DUMP_H

#include "api/kernel_code.h"

typedef void (*trace_stage_visit)(void *user, const char *stage, const ir_module *m);

/* Calls visit with "recorded" and the trace, then after every compiler pass with its name and result. */
bl_result trace_stages(const ir_module *trace, const opt_options *passes, trace_stage_visit visit, void *user,
                       bl_error *err);
/* With BL_DUMP=FOLDER in the environment, writes what a kernel is made from as files FOLDER/NAME.*. Else does
 * nothing. */
bl_result trace_dump(const ir_module *trace, const opt_options *passes, const kernel_code *code,
                     const char *name, bl_error *err);

#endif
