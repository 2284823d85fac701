/* SPDX-License-Identifier: BSD-3-Clause
 * A long render in passes of a few samples. Sums over passes are kept in double precision, and in a file from
 * time to time. A render that was killed goes on behind the last pass that is in the file, and ends in the
 * same bytes as one that was not, because a pass depends on its number alone and sums are added up in order.
 * Ctrl-C ends after the pass before.
 *
 * File: magic, identity, samples and passes done, number of sums, the sums, a hash of all that. The identity
 * is a hash of everything that the image follows from: the scene's file, names and values of all its
 * parameters, what the command line says, and the device. The file is this machine's: its numbers are as they
 * lie in memory. */
#include "render_passes.h"

#define XXH_INLINE_ALL
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    SCENE_BYTES_MOST = 256 << 20,
    WRITE_SHARE = 20 /* writing takes no more than this part of the time */
};
static const uint64_t magic = 0x3173657373617042; /* "Bpasses1" */

typedef struct head {
    uint64_t magic, identity, count;
    uint32_t samples, passes;
} head;

/* What there is so far. */
typedef struct progress_sums {
    head head;
    double *sums; /* of the image, then of channels, times samples */
    size_t values, channels;
} progress_sums;

/* ---- whether a file is of this render ---- */

static void hash_values(XXH3_state_t *hash, const cli_session *session)
{
    for (uint32_t k = 0; k < bl_scene_parameter_count(session->scene); k++) {
        bl_parameter_info info;
        if (bl_scene_parameter_info(session->scene, k, &info) != BL_OK)
            continue;
        float *values = memory_or_exit(info.count * sizeof *values);
        if (bl_scene_get_parameter(session->scene, k, values) == BL_OK)
            XXH3_64bits_update(hash, values, info.count * sizeof *values);
        XXH3_64bits_update(hash, info.name, strlen(info.name) + 1);
        free(values);
    }
}

static int identify(const cli_passes *p, uint64_t *out)
{
    size_t size;
    char *scene = read_whole(p->scene, SCENE_BYTES_MOST, &size);
    if (!scene)
        return CLI_FAILED;
    const cli_common *common = p->session->common;
    char *said =
        text_format("%s %s %s %s %u %u %u %u %d %d %u %u", BL_VERSION_TEXT, p->session->info.integrator,
                    p->session->device_info.name, common->lights ? common->lights : "", common->seed,
                    common->sensor, p->spp, p->pass, (int)p->session->info.max_depth, (int)common->no_baking,
                    p->session->info.width, p->session->info.height);
    XXH3_state_t *hash = XXH3_createState();
    if (!hash)
        exit(fail("out of memory"));
    XXH3_64bits_reset(hash);
    XXH3_64bits_update(hash, scene, size);
    XXH3_64bits_update(hash, said, strlen(said));
    for (uint32_t i = 0; i < common->defines.count; i++)
        XXH3_64bits_update(hash, common->defines.items[i], strlen(common->defines.items[i]) + 1);
    hash_values(hash, p->session);
    *out = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    free(said);
    free(scene);
    return CLI_OK;
}

/* ---- the file ---- */

static size_t file_bytes(const progress_sums *s) { return sizeof(head) + s->head.count * sizeof(double) + 8; }

static int save(const cli_passes *p, const progress_sums *s)
{
    const size_t size = file_bytes(s);
    char *bytes = memory_or_exit(size);
    memcpy(bytes, &s->head, sizeof s->head);
    memcpy(bytes + sizeof s->head, s->sums, s->head.count * sizeof *s->sums);
    const uint64_t hash = XXH3_64bits(bytes, size - sizeof hash);
    memcpy(bytes + size - sizeof hash, &hash, sizeof hash);
    int status = save_file(p->checkpoint, bytes, size);
    free(bytes);
    return status;
}

/* Takes what the file has, where there is one; one of another render is an error. */
static int load(const cli_passes *p, progress_sums *s)
{
    size_t size;
    head found;
    uint64_t hash = 0;
    bool there;
    CLI_TRY(find_path(p->checkpoint, &there));
    if (!there)
        return CLI_OK;
    if (!is_file(p->checkpoint))
        return fail("the checkpoint %s is not an ordinary file", p->checkpoint);
    char *bytes = read_whole(p->checkpoint, file_bytes(s), &size);
    if (!bytes)
        return CLI_FAILED;
    bool whole = size == file_bytes(s);
    if (whole) {
        memcpy(&found, bytes, sizeof found);
        memcpy(&hash, bytes + size - sizeof hash, sizeof hash);
        whole = found.magic == magic && hash == XXH3_64bits(bytes, size - sizeof hash);
    }
    const bool own = whole && found.identity == s->head.identity && found.count == s->head.count;
    if (own) {
        s->head = found;
        memcpy(s->sums, bytes + sizeof found, s->head.count * sizeof *s->sums);
        note(p->session->common, "going on after %u of %u samples", s->head.samples, p->spp);
    }
    free(bytes);
    return own ? CLI_OK
               : fail("the checkpoint %s is %s: remove it, or name another one", p->checkpoint,
                      whole ? "of another render (scene, options and device must be the same)"
                            : "not whole, or of a render of another size");
}

/* ---- passes ---- */

/* Seeds of passes differ, and the first one's is the user's. */
static uint32_t pass_seed(uint32_t seed, uint32_t pass)
{
    const uint32_t both[2] = {seed, pass};
    return pass ? (uint32_t)XXH3_64bits(both, sizeof both) : seed;
}

static bl_result render_pass(const cli_passes *p, progress_sums *s, cli_progress *progress, bl_stats *stats)
{
    const uint32_t left = p->spp - s->head.samples, asked = left < p->pass ? left : p->pass;
    bl_stats own = {0};
    const bl_render_desc desc = {.spp = asked,
                                 .seed = pass_seed(p->session->common->seed, s->head.passes),
                                 .channels = p->channels,
                                 .progress = progress_call,
                                 .user = progress};
    bl_result result = bl_job_render(p->job, &desc, p->image, &own);
    if (result != BL_OK)
        return result;
    const uint32_t spp = bl_scene_spp(p->session->scene, asked); /* some samplers take more */
    for (size_t i = 0; i < s->values; i++)
        s->sums[i] += (double)spp * (double)p->image[i];
    for (size_t i = 0; i < s->channels; i++)
        s->sums[s->values + i] += (double)spp * (double)p->channels[i];
    s->head.samples += spp, s->head.passes++;
    stats->seconds += own.seconds, stats->device_seconds += own.device_seconds;
    stats->paths += own.paths, stats->slices += own.slices, stats->non_finite += own.non_finite;
    stats->cut += own.cut;
    stats->device_bytes = own.device_bytes;
    return BL_OK;
}

/* *whole: all samples are there; false after Ctrl-C. */
static int render_passes(const cli_passes *p, progress_sums *s, bl_stats *stats, bool *whole)
{
    double saved = seconds_now(), took = 0;
    bl_result result = BL_OK;
    while (s->head.samples < p->spp && !interrupted()) {
        cli_progress progress = progress_begin(p->session->common, "render",
                                               (uint64_t)p->session->info.width * p->session->info.height *
                                                   (p->spp - s->head.samples));
        result = render_pass(p, s, &progress, stats);
        progress_end(&progress);
        if (result != BL_OK)
            break;
        if (seconds_now() - saved >= WRITE_SHARE * took && s->head.samples < p->spp) {
            const double start = seconds_now();
            CLI_TRY(save(p, s));
            saved = seconds_now(), took = saved - start;
        }
    }
    *whole = s->head.samples >= p->spp;
    if (result != BL_OK && !interrupted())
        return session_fail(p->session, result);
    return *whole ? CLI_OK : save(p, s);
}

int passes_render(const cli_passes *p, uint32_t *taken, bl_stats *stats)
{
    progress_sums s = {.values = session_values(p->session)};
    s.channels = session_pixels(p->session) * bl_scene_channel_count(p->session->scene);
    s.head = (head){.magic = magic, .count = s.values + s.channels};
    *stats = (bl_stats){0}, *taken = 0;
    CLI_TRY(identify(p, &s.head.identity));
    s.sums = memory_or_exit(s.head.count * sizeof *s.sums);
    bool whole;
    int status = load(p, &s);
    if (status == CLI_OK)
        status = render_passes(p, &s, stats, &whole);
    for (size_t i = 0; i < s.values && s.head.samples; i++)
        p->image[i] = (float)(s.sums[i] / s.head.samples);
    for (size_t i = 0; i < s.channels && s.head.samples; i++)
        p->channels[i] = (float)(s.sums[s.values + i] / s.head.samples);
    *taken = s.head.samples;
    free(s.sums);
    return status;
}

int passes_end(const cli_passes *p) { return remove_file(p->checkpoint); }
