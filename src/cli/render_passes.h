/* SPDX-License-Identifier: BSD-3-Clause
 * Images that are rendered pass after pass and kept in between (render --checkpoint). */
#ifndef CLI_RENDER_PASSES_H
#define CLI_RENDER_PASSES_H

#include "cli.h"

typedef struct cli_passes {
    const cli_session *session;
    bl_job *job;
    const char *scene, *checkpoint; /* paths */
    uint32_t spp, pass;             /* samples of a pixel: in all, in one pass */
    float *image, *channels;        /* room for the result; channels NULL: there are none */
} cli_passes;

/* Renders what the checkpoint lacks. *taken: samples that the image has, fewer than wanted only after Ctrl-C.
 * stats: of this session. */
int passes_render(const cli_passes *p, uint32_t *taken, bl_stats *stats);
/* The image is written: the checkpoint has done its duty. */
int passes_end(const cli_passes *p);

#endif
