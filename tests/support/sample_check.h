/* SPDX-License-Identifier: BSD-3-Clause
 * One sample of a scene at a time in the interpreter: path replay against the unrolled path, and against
 * differences of the weights along the path that stays where it is. Those who call this choose scenes,
 * samples and tolerances: support/path_agreement.c and gradient/unrolled.c. */
#ifndef TEST_SAMPLE_CHECK_H
#define TEST_SAMPLE_CHECK_H

#include "support/scene_cases.h"
#include "support/scene_eval.h"

enum { SAMPLE_CHECK_SIDE = 6, SAMPLE_CHECK_ELEMENTS = 512 };

typedef struct sample_check {
    const scene_case *scene;
    scene_eval *e;
    const char *variant;                                                 /* of the scene, for messages */
    uint32_t first[SCENE_CASE_PARAMETERS], count[SCENE_CASE_PARAMETERS]; /* elements of each parameter */
    uint32_t elements; /* that are compared: those of parameters, or of derived values behind them as well */
    bool reached[SAMPLE_CHECK_ELEMENTS]; /* elements that had a gradient in some sample, never cleared */
} sample_check;

/* Takes e, sets its adjoint to random weights, and s->elements to those of parameters. */
void sample_check_begin(sample_check *s, scene_eval *e, uint32_t *random);

scene_eval_at sample_check_draw(uint32_t *random, bool f64);

void sample_check_run(sample_check *s, render_pass pass, scene_eval_at at);
/* The same; fails where the pass finds drift or a number that is not finite. */
void sample_check_run_clean(sample_check *s, render_pass pass, scene_eval_at at);

/* A number of path replay, and the same in another way. */
typedef struct sample_pair {
    const char *other_way;
    uint32_t element; /* of the gradient, for messages */
    double replay, other;
} sample_pair;
void sample_check_near(const sample_check *s, scene_eval_at at, sample_pair pair, double tolerance);
/* Fails unless each entry of the gradient in e is that of `replay`. */
void sample_check_same(const sample_check *s, scene_eval_at at, const char *what, const double *replay,
                       double tolerance);

/* Path replay against the unrolled path. replay: gets s->elements numbers. Entries may differ by `relative`
 * of the largest and by `absolute`. */
void sample_check_unrolled(sample_check *s, scene_eval_at at, double relative, double absolute,
                           double *replay);
double sample_check_largest(const sample_check *s, const double *gradient);

/* Differences along a random direction over all parameters at once. */
typedef struct sample_difference {
    double along;      /* <replay, direction> */
    double difference; /* the same by five points, a step apart */
    double here, most; /* size of the weighted value at the parameters, and of the largest of the five */
} sample_difference;
/* side: 0, or -1 or 1 where parameters may move to this side only. */
sample_difference sample_check_differences(sample_check *s, scene_eval_at at, const double *replay,
                                           double step, double side);

/* <adjoint, tangent of the sample's image along a random direction>, in forward mode, against <replay,
 * direction>. */
void sample_check_forward(sample_check *s, scene_eval_at at, const double *replay);

/* How many elements of parameter k had a gradient in some sample. */
uint32_t sample_check_reached(const sample_check *s, uint32_t k);
/* Fails unless that many had. */
void sample_check_expect_reached(const sample_check *s, uint32_t k, uint32_t least);

#endif
