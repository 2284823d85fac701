/* SPDX-License-Identifier: BSD-3-Clause
 * What a design that was interrupted goes on from. DIR/checkpoint has the state of the present level's fit
 * (bl_fit_save) with a note of how far the design is. The level began with the heights that the one before
 * ended with: those are in DIR/level_N.npy, where N are the pixels of that level. */
#include "design.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(design_note) == 32 + 8 * (DESIGN_CHANNELS_MOST + 1 + 3 * DESIGN_LEVELS_MOST) + 8,
               "no padding");

static char *heights_path(const char *folder, const design_job *job, uint32_t level)
{
    return text_format("%s/level_%u.npy", folder, job->levels[level].picture);
}

static uint64_t hash_of(const design_heights *h)
{
    return XXH3_64bits(h->values, (size_t)h->columns * h->rows * sizeof *h->values);
}

/* Of all that the levels before the present one were made with, but for what the scene has. */
static uint64_t settings_before(const design_job *job, uint32_t level)
{
    double all[DESIGN_LEVELS_MOST][5];
    for (uint32_t k = 0; k < level; k++) {
        const design_level *l = &job->levels[k];
        const double one[] = {l->picture, l->steps, l->spp, l->smoothness, l->rate};
        memcpy(all[k], one, sizeof one);
    }
    return XXH3_64bits(all, level * sizeof *all);
}

int design_keep_heights(const char *folder, const design_job *job, const design_heights *h, design_note *note)
{
    note->settings = settings_before(job, note->level);
    note->heights = 0;
    if (note->level == 0)
        return CLI_OK;
    note->heights = hash_of(h);
    char *path = heights_path(folder, job, note->level - 1);
    int status = save_npy(path, h->values, (const uint32_t[]){h->rows, h->columns}, 2);
    free(path);
    return status;
}

int design_note_read(const cli_session *session, const char *folder, const design_job *job, design_note *note)
{
    char *path = text_format("%s/checkpoint", folder);
    void *carried;
    size_t size;
    bl_result r = bl_fit_read_note(session->ctx, path, &carried, &size);
    int status = r == BL_OK ? CLI_OK : session_fail(session, r);
    if (status == CLI_OK && size != sizeof *note)
        status = fail("the checkpoint %s is not of a design", path);
    if (status == CLI_OK)
        memcpy(note, carried, sizeof *note);
    if (r == BL_OK)
        free(carried);
    if (status == CLI_OK &&
        (note->level >= job->level_count || note->settings != settings_before(job, note->level)))
        status = fail("the checkpoint %s is of a job whose first levels were others", path);
    free(path);
    return status;
}

int design_kept_heights(const char *folder, const design_job *job, const design_note *note,
                        design_heights *grid)
{
    char *path = heights_path(folder, job, note->level - 1);
    int status = load_npy(path, grid->columns * grid->rows, &grid->values);
    if (status == CLI_OK && hash_of(grid) != note->heights)
        status = fail("%s was changed since the checkpoint was written: it cannot be gone on from", path);
    free(path);
    return status;
}
