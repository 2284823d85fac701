/* SPDX-License-Identifier: BSD-3-Clause
 * The film whose channels are Stokes vectors, in modes with polarisation: entry by entry those of the mode.
 * The integrator `stokes` gives the same numbers beside an image; on this film they are the image, which
 * losses compare and gradients belong to. Channels are called S0.R to S3.B, as those of Mitsuba's stokes, and
 * of one channel S0.Y to S3.Y. */
#include "render/classes.h"

enum { ENTRIES = 4 };

static bl_result stokesfilm_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const uint32_t colours = s->mode->film_channels, count = ENTRIES * colours;
    if (!s->mode->polarized)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "stokesfilm: light has no polarisation in mode %s; --mode %s_polarized has it",
                           s->mode->name, s->mode->name);
    TRY(film_check_components(o, err));
    if (o != s->film)
        return BL_OK;
    const char **names = arena_alloc(&s->memory, count * sizeof *names);
    for (uint32_t k = 0; k < count; k++)
        names[k] = arena_printf(&s->memory, "S%u.%c", k / colours, (colours == 1 ? "Y" : "RGB")[k % colours]);
    s->film_channels = count, s->film_entries = ENTRIES, s->film_names = names;
    return BL_OK;
}

static const plugin_param stokesfilm_params[] = {FILM_PARAMS};
static const plugin_slot stokesfilm_slots[] = {{PLUGIN_RFILTER, "rfilter", 0, 1}};
const render_class film_stokesfilm = {
    .plugin = {PLUGIN_FILM, "stokesfilm", PLUGIN_TABLE(stokesfilm_params), PLUGIN_TABLE(stokesfilm_slots),
               "Stokes vectors as the channels of the image, S0.R to S3.B or S0.Y to S3.Y, with "
               "gradients; in modes with polarisation; ours"},
    .load = stokesfilm_load};
