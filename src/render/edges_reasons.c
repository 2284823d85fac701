/* SPDX-License-Identifier: BSD-3-Clause
 * What gradients by parameters that move edges still lack, where moving edges are differentiated
 * (docs/theory/edges.md). Where they are not, the reasons stay that were given when parameters were
 * registered: then all edges are left out. */
#include "render/classes.h"
#include "render/scene_internal.h"
#include "render/shape/kinds.h"

/* Whether the parameter moves what its object, a light, lights: one without extent, on no shape. */
static bool moves_light(const emitter_class *cls, const render_parameter *p)
{
    return cls->delta && p->slot < 32 && cls->pose_params >> p->slot & 1;
}

static const char *join(render_scene *s, const char *before, const char *more)
{
    return before ? arena_printf(&s->memory, "%s; %s", before, more) : more;
}

/* What is said of mirrors and glass: in flat mirrors some edges are sampled
 * (integrator/kernels/boundary_mirror.c). */
static const char *smooth_lack(const render_scene *s)
{
    bool flat = false, possible = !s->volumetric && edges_mirrors_possible(s);
    for (uint32_t i = 0; i < s->shapes.count && possible; i++)
        flat |= edges_flat_mirror(&s->shapes.data[i]);
    return s->volumetric ? "what moves in mirrors and behind smooth glass is left out"
           : flat ? "what moves in mirrors, but for silhouettes that the sensor sees in flat ones, behind "
                    "smooth glass and next to masks is left out"
                  : "what moves in mirrors, behind smooth glass and next to masks is left out";
}

/* Points of a ray's stretch move in proportion between its ends where these move, and so over the steps,
 * which stay where they are. */
bool render_densities_step(const render_scene *s)
{
    bool any = false;
    for (uint32_t m = 0; m < s->media.count && s->volumetric; m++)
        any |= texture_has_steps(s->media.data[m]);
    return any;
}

static const char *find_lack(render_scene *s)
{
    const char *lacks = NULL;
    bool masks = render_some_bsdf(s, bsdf_is_mask);
    if (s->silhouette) /* materials do not matter */
        masks = false;
    else if (render_some_bsdf(s, bsdf_is_smooth) || (masks && !s->volumetric))
        lacks = smooth_lack(s);
    bool through = s->volumetric && (masks || s->media.count > 0);
    if ((s->disperses || through) && edges_some_delta_light(s) && !edges_shafts_possible(s))
        lacks = join(s, lacks, "borders of shadows from lights without extent are left out");
    if (s->has_smooth_sdf)
        lacks =
            join(s, lacks, "steps of light where smooth normals of a distance grid turn away are left out");
    if (render_densities_step(s))
        lacks = join(s, lacks, "steps of densities between voxels without a filter are left out");
    if (!sensor_of(s->sensor)->link)
        lacks = join(s, lacks, "silhouettes that this sensor sees are left out");
    return lacks;
}

/* Asked for by every parameter that moves something, but the same for all of a scene. */
const char *edges_lack(render_scene *s)
{
    if (!s->edges_lack_known)
        s->edges_lack = find_lack(s), s->edges_lack_known = true;
    return s->edges_lack;
}

void edges_reasons_of_lights(render_scene *s)
{
    bool borders = edges_from_lights_possible(s); /* of cones */
    for (uint32_t i = 0; i < s->emitters.count && edges_differentiated(s); i++) {
        const scene_object *o = s->emitters.data[i];
        for (uint32_t k = render_last_parameter(s, o); k; k = s->parameters.data[k - 1].next) {
            render_parameter *p = &s->parameters.data[k - 1];
            bool here =
                p->reason == emitter_moving_shadows || (p->reason == emitter_moving_border && borders);
            if (!moves_light((const emitter_class *)(const void *)o->cls, p) || !here)
                continue;
            p->reason = edges_lack(s);
        }
    }
}
