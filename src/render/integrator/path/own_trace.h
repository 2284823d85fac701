/* SPDX-License-Identifier: BSD-3-Clause
 * What the functions of an application's integrator have asked for while they are traced
 * (render/own_integrator.h). A kernel makes one for each call of such a function. */
#ifndef BL_RENDER_OWN_TRACE_H
#define BL_RENDER_OWN_TRACE_H

#include "render/integrator/path/path.h"
#include "render/own_integrator.h"

enum own_kind { OWN_SURFACE, OWN_BSDF_DRAW, OWN_LIGHT_DRAW };

typedef struct own_answer {
    enum own_kind kind;
    walk_vertex v;
    walk_position at; /* the ray that has met v */
} own_answer;

struct own_trace {
    walk *w;
    ir_ref sample;
    bool suspended;            /* own_suspend */
    ARRAY(own_answer) answers; /* a number of the interface is an index, counted from 1 */
};

/* To be called after the function has been traced. Returns false if the trace has failed. */
bool own_end(own_trace *t);

#endif
