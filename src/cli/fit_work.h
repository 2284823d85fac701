/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of `backlight fit` share: the command (fit.c), its log (fit_log.c), what it leaves behind
 * (fit_result.c, fit_report.c). */
#ifndef BL_CLI_FIT_WORK_H
#define BL_CLI_FIT_WORK_H

#include "cli.h"
#include "fit_job.h"
#include "work_folder.h"

#include <stdio.h>

enum { ENTRIES_IN_CSV = 64 }; /* parameters with more are not logged */

typedef struct fit_arguments {
    cli_common common;
    const char *job, *output, *events, *tev;
    bool resume, force;
} fit_arguments;

typedef struct fit_parameter {
    cli_parameter parameter;      /* in the present stage's shape; so are */
    float *truth, *initial, *now; /* truth: the scene's values, where the targets were rendered from them;
                                     now: as last asked for; */
    float *start;                 /* and what the stage began with */
    uint32_t own_shape[4], first_shape[4];
    float *own_truth, *first; /* the scene's values as they are, and those that the first stage began with:
                                 what truth and initial are made of */
    bool sized, logged;       /* a stage names it; its entries are columns of fit.csv */
} fit_parameter;

typedef struct fit_pictures { /* of one view */
    float *target;            /* NULL: held out, and read from its file when it is needed */
    float *second;            /* the target with other random numbers, where that is of use; else NULL */
    float *weights;           /* of its pixels, from the view's mask; NULL: all are 1 */
    float *before, *after;    /* where the view is shown */
    double difference_scale;  /* of difference.png: what full colours stand for, three times its RMS */
} fit_pictures;

/* How close pictures are to their targets: the root of the mean square over all linear values of all views
 * that are shown, by their masks, and means of their PSNR and SSIM (bl_image_quality) over pixels that count.
 * In SSIM windows, which have pixels of both kinds, those that do not count are black in both images. */
typedef struct fit_quality {
    double rmse, psnr, ssim;
    uint32_t views;
} fit_quality;

/* What travels in a checkpoint besides the library's state. No padding: its bytes are the file's. */
typedef struct fit_note {
    work_log_mark log;                             /* of fit.csv */
    double first_loss, seconds;                    /* seconds: in steps, over all sessions */
    uint64_t drifted, overflowed, non_finite, cut; /* sums over all steps */
    uint64_t resumed;                              /* times */
    uint64_t start_hash;                           /* of DIR/stage_N */
    uint64_t skipped, samples;                     /* in stages that are done; so repeats */
    uint32_t repeats, stage;
} fit_note;

typedef struct fit_turntable fit_turntable;

/* How the noise of targets compares with what the picture lacks: RMS over the values that are moved. */
typedef struct fit_target_noise {
    double noise, followed; /* of the target; what steps follow of it */
    double difference;      /* what the picture lacks */
    double change;          /* what the steps between two pictures did */
    bool prevails;
} fit_target_noise;

typedef struct fit_work {
    cli_session *session;
    const fit_arguments *args;
    fit_job job;
    const char *folder;
    fit_parameter *parameters;
    char *incomplete; /* what their gradients lack, in one line; NULL: nothing */
    bl_fit *fit;
    fit_pictures *pictures;                  /* per view */
    bl_image_quality *qualities;             /* per view, of those that are held out, as last looked at */
    bl_image_quality held_out;               /* their mean at the end */
    fit_quality first_quality, last_quality; /* of the pictures before and after */
    work_log *log;                           /* fit.csv */
    cli_live *live;
    work_folder place; /* the folder as what one process works in */
    bl_fit_status status;
    fit_note note;
    bool truth_known;              /* every target was rendered from the scene's own values */
    float *first_thumb;            /* the picture after the first step */
    bool noise_told;               /* a warning has said that the target's noise prevails */
    fit_target_noise target_noise; /* at the end; so */
    /* what each term has added to a loss that is a sum, at the first step and at the last */
    double first_terms[BL_LOSS_TERMS_MOST], last_terms[BL_LOSS_TERMS_MOST];
    double *recent; /* the last losses, oldest first, for the rule that ends a fit early */
    uint32_t recent_count;
    char *stopped;                                   /* why it has ended early; NULL: it has not */
    bool warned;                                     /* that parts of gradients are left out */
    uint32_t steps, spp, spp_grad, seed, first_step; /* first_step: done when this session began */
    uint32_t stage, stage_end; /* the present one, and the steps that are done at its end */
    double first_seconds;      /* of this session's first step, with its compilation */
    double start, target_seconds, before_seconds, after_seconds;
} fit_work;

static inline const float *fit_pose(const fit_job_view *view) { return view->posed ? view->to_world : NULL; }

/* Terms of a loss that is a sum; 0: it is not. */
static inline uint32_t fit_term_count(const fit_work *w)
{
    return fit_job_composite(&w->job) ? w->job.term_count : 0;
}

/* Whether it is done, by the number of its steps or early. */
static inline bool fit_complete(const fit_work *w) { return w->status.step == w->steps || w->stopped; }

/* ---- fit_stage.c ---- */

/* The job's parameters in the scene, and where they start. */
int fit_find_parameters(fit_work *w);
void fit_free_parameters(fit_work *w);
int fit_first_stage(fit_work *w);
/* The last steps, of which the result is made; 0: it is that of the last one. */
uint32_t fit_average_steps(const fit_work *w);
/* Begins the next stage with the values at the end of this one. */
int fit_next_stage(fit_work *w);
/* The stage that a checkpoint is of, with the values that it began with. */
int fit_enter_stage(fit_work *w, uint32_t stage);

/* ---- fit_loss.c: what a fit says of its loss ---- */

char *fit_loss_text(const fit_work *w);                /* "l1 + 0.1 relative_l2 of 4 levels"; free() it */
char *fit_term_text(const fit_work *w, uint32_t term); /* free() it */
bool fit_loss_unbiased(const fit_work *w);
int fit_terms_end(fit_work *w); /* after the last step: sets w->first_terms and w->last_terms */
void fit_terms_add(const fit_work *w, struct cJSON *json); /* to result.json */

/* ---- fit_log.c: DIR/fit.csv, a line per step, appended ---- */

int fit_log_begin(fit_work *w); /* a new one with its head */
/* Goes on after the w->note.log that the checkpoint knows; what follows them in the file is cut off. */
int fit_log_resume(fit_work *w);
int fit_log_step(fit_work *w); /* the loss of the last step and the values after it */
/* Text in memory, which a step's line is small enough for; its end. free() the text. */
FILE *stream_or_exit(char **text, size_t *size);
void end_or_exit(FILE *stream);
/* A comma and the name of a column, in quotes (RFC 4180) where it has a comma or quotes: ids of scenes may.
 */
void fit_csv_name(FILE *out, const char *name, const char *entry);
/* The losses of the steps behind step `after`, up to the present one. */
int fit_log_losses(const fit_work *w, uint32_t after, double *losses);
/* At most `most` rows of the file, evenly spread and the last one: columns[c][r]; column 0 is the step, 1 the
 * loss. free() columns[0] and columns. */
int fit_log_read(const fit_work *w, uint32_t most, uint32_t *column_count, uint32_t *row_count,
                 double ***columns);

/* ---- fit_paths.c: which files a job may name ---- */

int fit_check_paths(const fit_work *w); /* scene, targets, and the job's own output */

/* ---- fit_targets.c ---- */

int fit_check_views(fit_work *w);
int fit_make_targets(fit_work *w); /* read, or rendered by one job with the scene's own values */
/* Sets pixels of an image whose weight is 0 to 0. */
void fit_mask_image(const fit_work *w, uint32_t v, float *image);
/* The target of a view. *owned: free() it. */
int fit_target(const fit_work *w, uint32_t v, float **target, bool *owned);

/* ---- fit_pictures.c ---- */

/* Whether there are pictures of the view. Without a batch there are of every view. With one there may be
 * hundreds of views, and pictures of the first SHOWN_MOST that are held out, or of all if none is. */
bool fit_shown(const fit_work *w, uint32_t view);
enum { SHOWN_MOST = 8 };
/* Renders a view with the samples that the job gives to its target, so that differences are not just noise.
 * name: for the progress, with which it can be cancelled; NULL: it goes to its end. *image: free() it. */
int fit_render_view(fit_work *w, const char *name, uint32_t v, float **image);
int fit_render_before(fit_work *w);
int fit_render_after(fit_work *w); /* and saves the pictures of the end */
int fit_save_beginning(const fit_work *w);

/* DIR/NAME.KIND, or DIR/NAME_V.KIND where there are several views. free() it. */
char *fit_path(const fit_work *w, const char *name, uint32_t view, const char *kind);

/* ---- fit_quality.c ---- */

/* bl_image_compare of images of a view, also of one channel, over the pixels that count. */
bl_result fit_compare(const fit_work *w, uint32_t v, const float *image, const float *target,
                      bl_image_quality *out);
int fit_measure(const fit_work *w, bool after, fit_quality *q);

/* ---- fit_thumbs.c: what a view looks like by step ---- */

int fit_thumb_step(fit_work *w); /* renders one, if the step is one for that */
/* The first step after `step` that has a picture and is done; 0: none. */
uint32_t fit_thumb_next(const fit_work *w, uint32_t step);
char *fit_thumb_path(const fit_work *w, uint32_t step); /* free() it */

/* ---- fit_target_noise.c: whether the noise of targets has more to say than the picture ---- */

/* Whether so many numbers are fitted that it could. */
bool fit_target_noise_possible(const fit_work *w);
/* After the pictures of the first two steps: warns. */
void fit_target_noise_thumb(fit_work *w, uint32_t v, const float *image);
/* After the last step: sets w->target_noise. */
void fit_target_noise_end(fit_work *w);
const char *fit_target_noise_note(const fit_work *w);             /* then; NULL: it has not */
void fit_target_noise_add(const fit_work *w, struct cJSON *json); /* to result.json */

/* ---- fit_held_out.c: PSNR and SSIM of views that are not fitted; DIR/held_out.csv ---- */

int fit_held_out_begin(fit_work *w);      /* the log: a new one, or what belongs to w->first_step steps */
bool fit_held_out_due(const fit_work *w); /* whether the present step is one for a look */
int fit_held_out_step(fit_work *w);       /* looks at the shown ones, if the step is one for that */
int fit_held_out_end(fit_work *w);        /* looks at all of them, and makes the turntable */
/* The rows of the log, in order; columns[c][r]: step, psnr, ssim. free() columns[0]. */
int fit_held_out_read(const fit_work *w, uint32_t *row_count, double *columns[3]);

/* ---- fit_stop.c: whether the fit ends early: w->stopped ---- */

int fit_stop_begin(fit_work *w); /* after the logs of steps and of looks are there */
int fit_stop_step(fit_work *w);

/* ---- fit_table.c: rows of numbers for some steps, in files of their own ---- */

/* Begins DIR/NAME with a head, a line of names; in a fit that goes on from a checkpoint, keeps its rows up to
 * a step. *last: the step of the last one; 0: there is none. */
int fit_table_begin(const fit_work *w, const char *name, const char *head, uint32_t step, uint32_t *last);
int fit_table_append(const fit_work *w, const char *name, const char *line);
/* All rows, in order; columns[c][r]. free() columns[0]. */
int fit_table_read(const fit_work *w, const char *name, uint32_t column_count, uint32_t *row_count,
                   double **columns);

/* ---- fit_noise.c: how noisy gradients are; DIR/noise.csv ---- */

int fit_noise_begin(const fit_work *w); /* the table: a new one, or what belongs to w->first_step steps */
int fit_noise_step(const fit_work *w);  /* a row, if the last step has looked */
/* The rows, in order; columns: step, then variance and square of each parameter. free() columns[0] and
 * columns.
 */
int fit_noise_read(const fit_work *w, uint32_t *row_count, double ***columns);
int fit_noise_add(const fit_work *w, struct cJSON *json); /* to result.json */

/* ---- fit_samples.c: how many samples steps have, where that changes; DIR/samples.csv ---- */

bool fit_samples_vary(const fit_work *w);
int fit_samples_begin(const fit_work *w); /* the table: a new one, or what belongs to w->first_step steps */
int fit_samples_step(const fit_work *w);
/* The rows, in order; columns: step, spp, spp_grad, samples. free() columns[0]. */
int fit_samples_read(const fit_work *w, uint32_t *row_count, double *columns[4]);

/* ---- fit_turntable.c: DIR/turntable.png, which shows one view after another that is held out ---- */

fit_turntable *fit_turntable_begin(const fit_work *w);
/* Every view that is held out, in order; the image of the fit, and its target. */
int fit_turntable_add(const fit_work *w, fit_turntable *t, const float *fit, const float *truth);
int fit_turntable_save(const fit_work *w, fit_turntable *t);
void fit_turntable_free(fit_turntable *t);

/* ---- fit_result.c ---- */

int fit_save_result(fit_work *w);

/* ---- fit_slices.c: images and grids among the parameters, as DIR/NAME_before.png, _after, _true ---- */

int fit_save_slices(const fit_work *w);
/* The path of the picture of parameter k, to be freed with free(); NULL: it has no such picture.
 */
char *fit_slices_path(const fit_work *w, uint32_t k, const char *which);
typedef struct value_range {
    double black, white; /* the values that are shown so in its pictures */
} value_range;
value_range fit_slices_range(const fit_work *w, uint32_t k);

/* ---- fit_values.c: values as rows, the same everywhere ---- */

typedef struct fit_row {
    char name[256];
    double initial, fitted, truth; /* truth: where true_known */
    bool true_known;
} fit_row;
enum { FIT_ROWS_MOST = 9 };
uint32_t fit_rows(const fit_work *w, const fit_parameter *p, fit_row rows[FIT_ROWS_MOST]);
bool fit_row_relative(
    const fit_row *row); /* whether its error is relative to the truth: where that is not 0 */
double fit_row_error(const fit_row *row);
const char *fit_row_error_text(const fit_row *row, char text[32]);
double fit_rms_error(const fit_parameter *p, const float *values); /* of all values, from the truth */
bool fit_is_matrix(const bl_parameter_info *info);
bool fit_is_colour(const bl_parameter_info *info);
/* A 4 x 4 matrix, row-major, as translation, axis times angle in degrees, scale; in that order. */
void fit_decompose(const float *matrix, double out[9]);
extern const char *const fit_pose_names[9];
const char *fit_loss_note(const fit_work *w);   /* why it may be negative; NULL: it may not */
char *fit_optimizer_text(const fit_work *w);    /* with its numbers; free() it */
double fit_rate(const fit_work *w, uint32_t k); /* of parameter k */
/* Which parameters have which rate and betas; NULL: all have the optimiser's. free() it. */
char *fit_rates_text(const fit_work *w);
double fit_settled(const fit_work *w, uint32_t k); /* bl_fit_get_settled of parameter k */
/* What the result is, where it is not that of the last step; else NULL. free() it. */
char *fit_average_text(const fit_work *w);

/* ---- fit_charts.c, fit_report_pictures.c, fit_style.c: parts of DIR/report.html ---- */

void report_escape(FILE *out, const char *text); /* as text of the page */
int report_held_out(FILE *out, const fit_work *w);
int report_samples(FILE *out, const fit_work *w);
int report_noise(FILE *out, const fit_work *w);  /* where the job asks for it */
int report_curves(FILE *out, const fit_work *w); /* of the loss and of parameters */
void report_histogram(FILE *out, const fit_work *w, const fit_parameter *p);
int report_pictures(FILE *out, const fit_work *w);
extern const char report_style[];

/* ---- fit_report.c: DIR/report.html ---- */

int fit_save_report(fit_work *w);

#endif
