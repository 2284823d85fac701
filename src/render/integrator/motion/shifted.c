/* SPDX-License-Identifier: BSD-3-Clause
 * See shifted.h. */
#include "render/integrator/motion/shifted.h"
#include "spirv_gen/ad/ad.h"

vec3 shifted3(walk *w, ir_ref condition, vec3 at, vec3 now, vec3 before)
{
    return v3(walk_shifted(w, condition, at.x, now.x, before.x),
              walk_shifted(w, condition, at.y, now.y, before.y),
              walk_shifted(w, condition, at.z, now.z, before.z));
}

vec2 shifted2(walk *w, ir_ref condition, vec2 at, vec2 now, vec2 before)
{
    at = (vec2){ir_detach(w->t.f, at.x), ir_detach(w->t.f, at.y)};
    return (vec2){walk_shifted(w, condition, at.x, now.x, before.x),
                  walk_shifted(w, condition, at.y, now.y, before.y)};
}

void shifted_surface(walk *w, ir_ref condition, surface *on, surface now, surface before)
{
    ref_list at = refs_fields(), to = refs_fields(), from = refs_fields();
    surface_visit(w, &at, on), surface_visit(w, &to, &now), surface_visit(w, &from, &before);
    refs_shift(w, condition, &at, &to, &from);
    refs_rewind(&at, REFS_READ);
    surface_visit(w, &at, on);
}

ir_ref shifted_ratio(walk *w, ir_ref condition, ir_ref now, ir_ref before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), good = ir_and(f, condition, ir_ne(f, before, t_f32(t, 0)));
    ir_ref ratio = ir_div(f, now, ir_detach(f, ir_select(f, good, before, one)));
    return ir_select(f, good, w->pass == RENDER_FROZEN ? ratio : ir_replace_grad(f, one, ratio), one);
}
