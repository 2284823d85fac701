/* SPDX-License-Identifier: BSD-3-Clause
 * Judges what check measured: as a table or JSON, and as a picture. */
#include "check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- judging ---- */

static check_series series_of(const double *values, uint32_t count)
{
    check_series s = {0};
    for (uint32_t i = 0; i < count; i++)
        s.mean += values[i] / count;
    for (uint32_t i = 0; i < count; i++)
        s.error += (values[i] - s.mean) * (values[i] - s.mean);
    s.error = sqrt(s.error / ((double)(count - 1) * count));
    return s;
}

/* Frozen differences go by single paths, so they are held to every seed, if need be among the pixels that
 * change smoothly. */
static void judge(const check_work *w, check_finding *f)
{
    f->gradient_series = series_of(f->gradient, w->seeds);
    f->frozen_series = series_of(f->frozen, w->seeds);
    f->plain_series = series_of(f->plain, w->seeds);
    f->frozen_agrees = f->worst <= 1;
    double gap = f->gradient_series.mean - f->plain_series.mean;
    double error = hypot(f->gradient_series.error, f->plain_series.error);
    f->z = gap / fmax(error, 1e-30);
    f->plain_agrees = fabs(gap) <= 4 * error + .01 * fabs(f->plain_series.mean) + f->curvature;
}

static bool is_right(const check_finding *f) { return f->frozen_agrees || f->smooth.agrees; }

static const char *verdict(const check_finding *f)
{
    if (f->smooth.agrees && !f->plain_agrees)
        return "agrees where pixels change smoothly; plain differences disagree: the paths depend on this "
               "parameter (support or moving edges)";
    if (f->smooth.agrees)
        return "agrees where pixels change smoothly; elsewhere frozen paths cross kinks (of texels, in "
               "glass)";
    if (!f->frozen_agrees && f->smooth.share < CHECK_SMOOTH_LEAST)
        return "NOT JUDGED: frozen-path differences disagree with the gradient, and cross kinks in most "
               "pixels";
    if (!f->frozen_agrees)
        return "WRONG: frozen-path differences disagree with the gradient";
    if (!f->plain_agrees)
        return "only plain differences disagree: the paths depend on this parameter (support or moving "
               "edges)";
    return "agrees";
}

/* ---- output ---- */

static void print_table(const check_work *w)
{
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        const check_finding *f = &w->findings[k];
        printf("%s  (%s differences, step %g, %u seeds, %u samples per pixel)\n", f->parameter.info.name,
               f->differences->name, f->epsilon, w->seeds, w->spp);
        printf("    %-10s %14s %12s %8s\n", "", "value", "std err", "z");
        const int digits = w->doubles ? 12 : 7;
        printf("    %-10s %14.*g %12.2g\n", "gradient", digits, f->gradient_series.mean,
               f->gradient_series.error);
        printf("    %-10s %14.*g %12.2g          worst seed off by %.2g of %.2g allowed\n", "frozen", digits,
               f->frozen_series.mean, f->frozen_series.error, f->worst_difference, f->worst_tolerance);
        printf("    %-10s %14.7g %12.2g %8.2f\n", "plain", f->plain_series.mean, f->plain_series.error, f->z);
        printf("    %s\n", verdict(f));
        if (f->smooth.agrees)
            printf("    these are %.0f %% of the pixels that change within a step of %.2g\n",
                   100 * f->smooth.share, f->smooth.step);
    }
}

static void add_number(cJSON *json, const char *key, double number)
{
    cJSON_AddItemToObject(json, key, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

static cJSON *add_series(cJSON *json, const char *key, const check_series *s, const double *values,
                         uint32_t seeds)
{
    cJSON *one = cJSON_AddObjectToObject(json, key);
    add_number(one, "value", s->mean);
    add_number(one, "std_err", s->error);
    cJSON_AddItemToObject(one, "per_seed", cJSON_CreateDoubleArray(values, (int)seeds));
    return one;
}

static cJSON *finding_json(const check_work *w, const check_finding *f)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", f->parameter.info.name);
    cJSON_AddNumberToObject(json, "epsilon", f->epsilon);
    cJSON_AddStringToObject(json, "differences", f->differences->name);
    add_series(json, "gradient", &f->gradient_series, f->gradient, w->seeds);
    cJSON *frozen = add_series(json, "frozen", &f->frozen_series, f->frozen, w->seeds);
    add_number(frozen, "worst_difference", f->worst_difference);
    add_number(frozen, "worst_tolerance", f->worst_tolerance);
    cJSON_AddBoolToObject(frozen, "agrees", f->frozen_agrees);
    if (!f->frozen_agrees) {
        cJSON *smooth = cJSON_AddObjectToObject(json, "smooth");
        cJSON_AddBoolToObject(smooth, "agrees", f->smooth.agrees);
        add_number(smooth, "step", f->smooth.step);
        add_number(smooth, "share", f->smooth.share);
    }
    cJSON *plain = add_series(json, "plain", &f->plain_series, f->plain, w->seeds);
    add_number(plain, "z", f->z);
    cJSON_AddBoolToObject(plain, "agrees", f->plain_agrees);
    cJSON_AddStringToObject(json, "verdict", verdict(f));
    return json;
}

static void print_findings(const check_work *w)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", BL_VERSION_TEXT);
    cJSON_AddStringToObject(json, "scene", w->args->scene);
    cJSON_AddStringToObject(json, "device", w->session->device_info.name);
    cJSON_AddStringToObject(json, "precision", w->doubles ? "double" : "single");
    cJSON_AddNumberToObject(json, "spp", w->spp);
    cJSON *seeds = cJSON_AddArrayToObject(json, "seeds"), *list = cJSON_AddArrayToObject(json, "parameters");
    for (uint32_t s = 0; s < w->seeds; s++)
        cJSON_AddItemToArray(seeds, cJSON_CreateNumber(w->args->common.seed + s));
    bool agrees = true;
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        cJSON_AddItemToArray(list, finding_json(w, &w->findings[k]));
        agrees = agrees && is_right(&w->findings[k]);
    }
    cJSON_AddBoolToObject(json, "agrees", agrees);
    print_json(json);
    cJSON_Delete(json);
}

static const char *verdict_in_short(const check_finding *f)
{
    return !is_right(f)       ? f->smooth.share < CHECK_SMOOTH_LEAST ? "not judged" : "wrong"
           : !f->plain_agrees ? "plain is off"
                              : "agrees";
}

static int save_plot(const check_work *w)
{
    uint32_t count = w->args->parameters.count;
    plot_bar(*bars)[3] = memory_or_exit(count * sizeof *bars);
    plot_group *groups = memory_or_exit(count * sizeof *groups);
    for (uint32_t k = 0; k < count; k++) {
        const check_finding *f = &w->findings[k];
        bars[k][0] = (plot_bar){"gradient", f->gradient_series.mean, f->gradient_series.error, 0x3b6fb5};
        bars[k][1] = (plot_bar){"frozen", f->frozen_series.mean, f->frozen_series.error,
                                is_right(f) ? 0x4f9d5d : 0xc0392b};
        bars[k][2] = (plot_bar){"plain", f->plain_series.mean, f->plain_series.error,
                                f->plain_agrees ? 0xa8a8a8 : 0xe08e2b};
        groups[k] = (plot_group){f->parameter.info.name, verdict_in_short(f), bars[k], 3};
    }
    char *seeds = text_format("bars: means over %u seeds. lines: one standard error", w->seeds);
    const char *legend[] = {seeds, "frozen: differences along the same paths, red where they are off",
                            "plain: differences of whole images, orange where they are off", NULL};
    int status =
        save_bar_plot(w->session, w->args->output ? w->args->output : "check.png", groups, count, legend);
    free(seeds);
    free(groups);
    free(bars);
    return status;
}

int check_report(check_work *w)
{
    bool wrong = false;
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        judge(w, &w->findings[k]);
        wrong = wrong || !is_right(&w->findings[k]);
    }
    CLI_TRY(save_plot(w));
    if (w->args->common.json)
        print_findings(w);
    else
        print_table(w);
    note(&w->args->common, "picture: %s", w->args->output ? w->args->output : "check.png");
    return wrong ? CLI_FAILED : CLI_OK;
}
