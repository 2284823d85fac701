/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses, when a walk begins, how its paths move with parameters (docs/theory/moving_geometry.md,
 * attached_replay.md). One kind of motion is chosen for a walk:
 *
 *   - Paths are attached where the camera, or directions of discrete and smooth lobes, are differentiated and
 *     no surface moves. Attached paths keep surfaces where they are.
 *   - Where vertices move, it is the local convention in volumes or that on surfaces. The local conventions
 *     keep the directions of discrete lobes.
 *   - Else nothing moves.
 *
 * Paths from lights move by a kind of their own. */
#include "render/integrator/motion/motion.h"

/* What parameters of the plan move of surfaces (enum mesh_moves), if paths are not attached. In volumetric
 * walks a camera that moves counts as moving positions: it moves what its rays meet (local_volume.c). */
static uint32_t moves_of(const walk *w, bool attached)
{
    uint32_t camera = w->volumetric && w->plan->camera ? MOVE_POSITIONS : 0u;
    return attached ? 0 : w->plan->moves | camera;
}

/* Kernels of moving edges walk paths that stay, and ask for motion where they need it. In volumetric
 * walks the path from the camera to where an edge is seen from moves as a whole (kernels/boundary_path.c). */
static void choose_for_edges(walk *w)
{
    w->moves = moves_of(w, false), w->motion = &motion_none;
    /* Two passes share what lights send: both must find the same density for a point of a light. */
    w->smooth = edges_light_shared(w->plan->scene);
    w->straight = w->volumetric && !w->bends;
    bool camera = w->plan->camera && !(w->moves & MOVE_HITS);
    w->wants = (walk_wants){
        .surface_differentiated = camera || w->moves & MOVE_HITS,
        .surface_anew = camera || (w->volumetric && w->moves & MOVE_HITS),
        .light_normal = w->moves & MOVE_HITS,
    };
}

static bool begins_at_lights(const walk *w)
{
    return w->plan->scene->light_tracing && w->pass != RENDER_CHANNELS &&
           render_passes[w->pass].kind != PASS_RAYS;
}

/* Kernels of light tracing have a kind of motion of their own (light_motion.c). */
static void choose_for_light(walk *w)
{
    bool moves = plan_moves_light_paths(w->plan) && walk_tracks(w);
    w->motion = moves ? &motion_light : &motion_none;
    w->moves = moves ? w->plan->moves : 0;
    w->wants = (walk_wants){.surface_differentiated = moves, .surface_anew = moves, .lobe_directions = moves};
}

void motion_choose(walk *w)
{
    if (begins_at_lights(w)) {
        choose_for_light(w);
        return;
    }
    if (render_passes[w->pass].kind == PASS_EDGES) {
        choose_for_edges(w);
        return;
    }
    bool attached = attached_path_wanted(w);
    w->smooth = attached_path_planned(w) && attached_wanted(w), w->attaches = w->smooth && attached;
    w->moves = moves_of(w, attached);
    w->motion = attached && w->volumetric                      ? &motion_attached_through
                : attached                                     ? &motion_attached
                : local_volume_wanted(w)                       ? &motion_local_volume
                : w->moves && walk_tracks(w) && !w->volumetric ? &motion_local_surface
                                                               : &motion_none;
    bool volume = w->motion == &motion_local_volume;
    w->wants = (walk_wants){
        .surface_differentiated = attached || w->moves & MOVE_SURFACE,
        .surface_anew = attached || volume,
        .surface_before = (attached || (volume && w->moves & MOVE_SURFACE)) && w->pass == RENDER_FROZEN,
        .lobe_directions = attached && !w->attaches,
        .attached_lobes = w->attaches,
        .hit_mis = w->attaches && w->next_event,
        .light_normal = attached || w->moves & MOVE_HITS,
        .moving_reference = attached,
    };
}
