/* SPDX-License-Identifier: BSD-3-Clause
 * backlight bench --rays: how many rays a second each way of tracing rays answers on a device, and Embree on
 * the same rays where the library has it.
 *
 * Two sets of rays: the camera's, and from where these hit one ray each in a random direction of the
 * hemisphere that the camera's ray comes from, as paths go on. Closest hits and any hits of each set are
 * asked for once a round, every way in turn, so that what else happens on the machine meets all of them. The
 * rate is that of the best round, which other programs have disturbed least: rays over the device's wall
 * time, without what copies rays and hits. CPU time is that of the process for the whole call, with the
 * copies. Hits that differ from those of the first way (rounding at edges) are counted. */
#include "cli.h"

#include <backlight/backlight_testing.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 2, KINDS = 2, CLOSEST = 0, WAYS = 4, RAYS_WANTED = 1 << 20, RAYS_MOST = 1 << 24 };
static const char *const set_names[SETS] = {"camera", "second"}, *const kind_names[KINDS] = {"closest",
                                                                                             "any"};

typedef struct ray_set {
    bl_ray *rays;
    uint64_t count;
} ray_set;

/* What one way did with one kind of hits of one set. */
typedef struct measured {
    double *wall, *cpu; /* per round */
    uint64_t differ;
} measured;

typedef struct way {
    const char *name;
    bl_job *job;
    bl_embree *embree; /* instead of a job */
    bool packets;
    double build_host, build_device;
    uint64_t bytes;
    measured results[SETS][KINDS];
} way;

typedef struct rays_bench {
    const cli_session *session;
    const cli_ray_bench *args;
    way ways[WAYS];
    uint32_t way_count;
    ray_set sets[SETS];
    bl_hit *hits, *first_hits[SETS];
    bool *blocked, *first_blocked[SETS];
    const char *no_embree; /* why it is not measured */
} rays_bench;

/* ---- rays ---- */

/* Uniform in [0, 1): the low bias permuted congruential generator of O'Neill 2014, 32 bits. */
static double random_number(uint32_t *state)
{
    *state = *state * 747796405u + 2891336453u;
    uint32_t word = ((*state >> ((*state >> 28) + 4)) ^ *state) * 277803737u;
    return ((word >> 22) ^ word) * 0x1p-32;
}

static int make_camera_rays(rays_bench *b)
{
    const cli_session *s = b->session;
    uint64_t pixels = (uint64_t)s->info.width * s->info.height;
    uint32_t spp = s->common->spp;
    if (spp == 0)
        spp = bl_scene_spp(s->scene, (uint32_t)((RAYS_WANTED + pixels - 1) / pixels));
    if (pixels * spp > RAYS_MOST)
        return usage_error("bench", "%u rays in each of %llu pixels: --rays takes at most %d in all", spp,
                           (unsigned long long)pixels, (int)RAYS_MOST);
    ray_set *set = &b->sets[0];
    set->count = pixels * spp;
    set->rays = memory_or_exit(set->count * sizeof *set->rays);
    for (uint32_t k = 0; k < spp; k++)
        SESSION_TRY(s, bl_job_camera_rays(b->ways[0].job, spp, s->common->seed, k, set->rays + k * pixels));
    return CLI_OK;
}

/* A ray from just before the point where another one hits, in a direction of the hemisphere that this other
 * one comes from. */
static bl_ray ray_from(const bl_ray *r, float t, uint32_t *state)
{
    bl_ray next = {.tmax = INFINITY};
    double d[3], square = 0, along = 0;
    do {
        square = along = 0;
        for (int k = 0; k < 3; k++) {
            d[k] = 2 * random_number(state) - 1;
            square += d[k] * d[k], along += d[k] * (double)r->direction[k];
        }
    } while (square > 1 || square < 1e-4);
    double scale = (along > 0 ? -1 : 1) / sqrt(square);
    for (int k = 0; k < 3; k++) {
        next.direction[k] = (float)(d[k] * scale);
        next.origin[k] = (float)((double)r->origin[k] + 0.9999 * (double)t * (double)r->direction[k]);
    }
    return next;
}

static int make_second_rays(rays_bench *b)
{
    const ray_set *camera = &b->sets[0];
    ray_set *set = &b->sets[1];
    uint32_t state = b->session->common->seed + 1;
    SESSION_TRY(b->session, bl_job_closest_hits(b->ways[0].job, camera->count, camera->rays, b->hits, NULL));
    set->rays = memory_or_exit(camera->count * sizeof *set->rays);
    for (uint64_t i = 0; i < camera->count; i++)
        if (b->hits[i].shape != BL_NO_HIT)
            set->rays[set->count++] = ray_from(&camera->rays[i], b->hits[i].t, &state);
    return set->count > 0 ? CLI_OK : fail("no ray of the camera hits anything");
}

static int make_rays(rays_bench *b)
{
    CLI_TRY(make_camera_rays(b));
    b->hits = memory_or_exit(b->sets[0].count * sizeof *b->hits);
    b->blocked = memory_or_exit(b->sets[0].count * sizeof *b->blocked);
    CLI_TRY(make_second_rays(b));
    for (int s = 0; s < SETS; s++) {
        b->first_hits[s] = memory_or_exit(b->sets[s].count * sizeof **b->first_hits);
        b->first_blocked[s] = memory_or_exit(b->sets[s].count * sizeof **b->first_blocked);
    }
    return CLI_OK;
}

/* ---- ways ---- */

static way *add_way(rays_bench *b)
{
    way *w = &b->ways[b->way_count++];
    for (int s = 0; s < SETS; s++)
        for (int k = 0; k < KINDS; k++)
            w->results[s][k] = (measured){.wall = memory_or_exit(b->args->rounds * sizeof(double)),
                                          .cpu = memory_or_exit(b->args->rounds * sizeof(double))};
    return w;
}

static int add_job(rays_bench *b, bl_rays rays)
{
    way *w = add_way(b);
    bl_job_desc desc = {.no_baking = true, .rays = rays};
    SESSION_TRY(b->session, bl_job_create(b->session->device, b->session->scene, &desc, &w->job));
    bl_rays_info info = bl_job_rays_info(w->job);
    bool own = !strcmp(info.name, "bvh") && info.device_bytes > 0;
    w->name = own ? "hierarchy" : info.name;
    w->build_host = info.host_seconds, w->build_device = info.device_seconds;
    w->bytes = info.device_bytes > 0 ? info.device_bytes : info.host_bytes;
    return CLI_OK;
}

static int add_embree(rays_bench *b)
{
    for (int packets = 0; packets < 2; packets++) {
        bl_embree *embree = NULL;
        bl_result r = bl_embree_create(b->session->device, b->session->scene, &embree);
        if (r == BL_ERROR_UNSUPPORTED) {
            b->no_embree = text_format("%s", bl_context_error(b->session->ctx));
            return CLI_OK;
        }
        SESSION_TRY(b->session, r);
        way *w = add_way(b);
        w->embree = embree, w->packets = packets, w->name = packets ? "Embree, 16 rays" : "Embree, 1 ray";
        bl_embree_info info = bl_embree_info_get(embree);
        w->build_device = info.build_seconds, w->bytes = info.bytes;
    }
    return CLI_OK;
}

static int add_ways(rays_bench *b)
{
    const cli_session *s = b->session;
    if (s->rays != BL_RAYS_QUERY)
        CLI_TRY(add_job(b, BL_RAYS_BVH));
    if (s->rays == BL_RAYS_QUERY || (s->rays == BL_RAYS_AUTO && s->device_info.ray_query))
        CLI_TRY(add_job(b, BL_RAYS_QUERY));
    return add_embree(b);
}

/* ---- rounds ---- */

static bl_result trace(rays_bench *b, const way *w, int set, int kind, double *wall)
{
    const ray_set *r = &b->sets[set];
    bl_stats stats = {0};
    bl_result result;
    if (w->embree)
        return bl_embree_trace(w->embree,
                               &(bl_embree_rays){.count = r->count,
                                                 .rays = r->rays,
                                                 .hits = kind == CLOSEST ? b->hits : NULL,
                                                 .blocked = b->blocked,
                                                 .packets = w->packets},
                               wall);
    if (kind == CLOSEST)
        result = bl_job_closest_hits(w->job, r->count, r->rays, b->hits, &stats);
    else
        result = bl_job_any_hits(w->job, r->count, r->rays, b->blocked, &stats);
    *wall = stats.device_seconds;
    return result;
}

static bool hits_differ(const bl_hit *a, const bl_hit *b)
{
    bool both = a->shape != BL_NO_HIT && b->shape != BL_NO_HIT;
    return both ? fabsf(a->t - b->t) > 1e-4f * a->t + 1e-6f : a->shape != b->shape;
}

/* Keeps the first way's results, and counts where others have other ones. */
static uint64_t compare(rays_bench *b, bool first, int set, int kind)
{
    uint64_t n = b->sets[set].count, differ = 0;
    if (first && kind == CLOSEST)
        memcpy(b->first_hits[set], b->hits, n * sizeof *b->hits);
    else if (first)
        memcpy(b->first_blocked[set], b->blocked, n * sizeof *b->blocked);
    for (uint64_t i = 0; i < n; i++)
        differ += kind == CLOSEST ? hits_differ(&b->hits[i], &b->first_hits[set][i])
                                  : b->blocked[i] != b->first_blocked[set][i];
    return differ;
}

/* The first time is not measured: it compiles, and lets slices learn the speed. */
static int warm_up(rays_bench *b)
{
    double wall;
    for (int set = 0; set < SETS; set++)
        for (int kind = 0; kind < KINDS; kind++)
            for (uint32_t k = 0; k < b->way_count; k++) {
                SESSION_TRY(b->session, trace(b, &b->ways[k], set, kind, &wall));
                b->ways[k].results[set][kind].differ = compare(b, k == 0, set, kind);
            }
    return CLI_OK;
}

static int run_round(rays_bench *b, uint32_t round)
{
    for (int set = 0; set < SETS; set++)
        for (int kind = 0; kind < KINDS; kind++)
            for (uint32_t k = 0; k < b->way_count; k++) {
                measured *m = &b->ways[k].results[set][kind];
                double cpu = cpu_seconds();
                SESSION_TRY(b->session, trace(b, &b->ways[k], set, kind, &m->wall[round]));
                m->cpu[round] = cpu_seconds() - cpu;
                if (interrupted())
                    return interrupt_status();
            }
    return CLI_OK;
}

/* ---- results ---- */

static double best(const rays_bench *b, const double *rounds)
{
    double least = INFINITY;
    for (uint32_t k = 0; k < b->args->rounds; k++)
        least = fmin(least, rounds[k]);
    return least;
}

static double rate(const rays_bench *b, const way *w, int set, int kind)
{
    return (double)b->sets[set].count / best(b, w->results[set][kind].wall);
}

/* The faster form of Embree's; 0: it is not measured. */
static double embree_rate(const rays_bench *b, int set, int kind)
{
    double most = 0;
    for (uint32_t k = 0; k < b->way_count; k++)
        if (b->ways[k].embree)
            most = fmax(most, rate(b, &b->ways[k], set, kind));
    return most;
}

static void print_table(const rays_bench *b)
{
    const cli_session *s = b->session;
    printf("%s: %u primitives, %llu camera rays, %llu second rays, on %s, best of %u rounds\n",
           b->args->scene, s->info.primitives, (unsigned long long)b->sets[0].count,
           (unsigned long long)b->sets[1].count, s->device_info.name, b->args->rounds);
    printf("\n%-7s %-8s %-16s %9s %10s %9s %9s %9s\n", "rays", "hits", "by", "Mrays/s", "to Embree", "wall s",
           "CPU s", "differ");
    for (int set = 0; set < SETS; set++)
        for (int kind = 0; kind < KINDS; kind++)
            for (uint32_t k = 0; k < b->way_count; k++) {
                const way *w = &b->ways[k];
                const measured *m = &w->results[set][kind];
                char ratio[32] = "-";
                double other = embree_rate(b, set, kind);
                if (other > 0 && !w->embree)
                    snprintf(ratio, sizeof ratio, "%.2f x", rate(b, w, set, kind) / other);
                printf("%-7s %-8s %-16s %9.3g %10s %9.4f %9.4f %9llu\n", set_names[set], kind_names[kind],
                       w->name, 1e-6 * rate(b, w, set, kind), ratio, best(b, m->wall), best(b, m->cpu),
                       (unsigned long long)m->differ);
            }
    printf("\n%-16s %14s %14s %9s\n", "by", "with scene, s", "with job, s", "MiB");
    for (uint32_t k = 0; k < b->way_count; k++)
        printf("%-16s %14.4f %14.4f %9.1f\n", b->ways[k].name, b->ways[k].build_host, b->ways[k].build_device,
               (double)b->ways[k].bytes / 1048576);
    if (b->no_embree)
        printf("\nno Embree: %s\n", b->no_embree);
}

static cJSON *row_json(const rays_bench *b, const way *w, int set, int kind)
{
    const measured *m = &w->results[set][kind];
    cJSON *json = cJSON_CreateObject();
    double other = embree_rate(b, set, kind);
    int rounds = (int)b->args->rounds;
    cJSON_AddStringToObject(json, "rays", set_names[set]);
    cJSON_AddStringToObject(json, "hits", kind_names[kind]);
    cJSON_AddStringToObject(json, "by", w->name);
    cJSON_AddNumberToObject(json, "rays_per_second", rate(b, w, set, kind));
    if (other > 0 && !w->embree)
        cJSON_AddNumberToObject(json, "speed_to_embree", rate(b, w, set, kind) / other);
    cJSON_AddItemToObject(json, "wall_seconds_rounds", cJSON_CreateDoubleArray(m->wall, rounds));
    cJSON_AddItemToObject(json, "cpu_seconds_rounds", cJSON_CreateDoubleArray(m->cpu, rounds));
    cJSON_AddNumberToObject(json, "differ", (double)m->differ);
    return json;
}

static void put_json(const rays_bench *b)
{
    cJSON *json = cJSON_CreateObject(), *rows, *builds;
    json_add_origin(json, b->session, b->args->scene);
    cJSON_AddNumberToObject(json, "primitives", b->session->info.primitives);
    cJSON_AddNumberToObject(json, "camera_rays", (double)b->sets[0].count);
    cJSON_AddNumberToObject(json, "second_rays", (double)b->sets[1].count);
    cJSON_AddNumberToObject(json, "rounds", b->args->rounds);
    if (b->no_embree)
        cJSON_AddStringToObject(json, "no_embree", b->no_embree);
    rows = cJSON_AddArrayToObject(json, "rows");
    for (int set = 0; set < SETS; set++)
        for (int kind = 0; kind < KINDS; kind++)
            for (uint32_t k = 0; k < b->way_count; k++)
                cJSON_AddItemToArray(rows, row_json(b, &b->ways[k], set, kind));
    builds = cJSON_AddArrayToObject(json, "builds");
    for (uint32_t k = 0; k < b->way_count; k++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "by", b->ways[k].name);
        cJSON_AddNumberToObject(one, "scene_seconds", b->ways[k].build_host);
        cJSON_AddNumberToObject(one, "job_seconds", b->ways[k].build_device);
        cJSON_AddNumberToObject(one, "bytes", (double)b->ways[k].bytes);
        cJSON_AddItemToArray(builds, one);
    }
    print_json(json);
    cJSON_Delete(json);
}

static int measure(rays_bench *b)
{
    CLI_TRY(add_ways(b));
    CLI_TRY(make_rays(b));
    CLI_TRY(warm_up(b));
    for (uint32_t round = 0; round < b->args->rounds; round++)
        CLI_TRY(run_round(b, round));
    return CLI_OK;
}

static int work(rays_bench *b)
{
    const int status = interrupt_may_end(true) ? measure(b) : CLI_FAILED;
    interrupt_may_end(false);
    CLI_TRY(status);
    if (b->session->common->json)
        put_json(b);
    else
        print_table(b);
    return CLI_OK;
}

int bench_rays(const cli_session *session, const cli_ray_bench *args)
{
    rays_bench b = {.session = session, .args = args};
    int status = work(&b);
    for (uint32_t k = 0; k < b.way_count; k++) {
        bl_job_destroy(b.ways[k].job);
        bl_embree_destroy(b.ways[k].embree);
        for (int s = 0; s < SETS * KINDS; s++)
            free(b.ways[k].results[s / KINDS][s % KINDS].wall),
                free(b.ways[k].results[s / KINDS][s % KINDS].cpu);
    }
    for (int s = 0; s < SETS; s++)
        free(b.sets[s].rays), free(b.first_hits[s]), free(b.first_blocked[s]);
    free(b.hits), free(b.blocked);
    free((char *)(uintptr_t)b.no_embree);
    return status;
}
