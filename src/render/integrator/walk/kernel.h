/* SPDX-License-Identifier: BSD-3-Clause
 * What every kernel does around the walk: lane to pixel and samples, throughput and its zeros, sums in the
 * film. */
#ifndef BL_RENDER_KERNEL_H
#define BL_RENDER_KERNEL_H

#include "render/integrator/walk/loop_state.h"
#include "render/integrator/walk/walk.h"

typedef struct lane {
    ir_ref inside;      /* bool: within the range */
    ir_ref film;        /* u32: first word of its sums */
    ir_ref first, last; /* samples of this range, absolute indices */
    ir_ref adjoint;     /* u32: first word of its dL/dI */
    ir_ref slot; /* u32: slot of sample s in BUFFER_SAMPLES is this + s * UNIFORM_TILE_LANES, modulo 2^32 */
} lane;

/* Word of BUFFER_SAMPLES: the sample's in a plane, of which there are as many as a slot has words. */
ir_ref kernel_sample_word(walk *w, const lane *l, ir_ref sample, ir_ref plane);
/* Opens the entry function, sets the walk's pixel, seed and stream. */
lane kernel_lane(walk *w, ir_module *m);

/* Throughput of a walk whose gradient is wanted (docs/theory/zero_factors.md): the product of the factors
 * that are not zero, and how many were, per channel, counted to 2. A path goes on while some channel has
 * fewer than two zeros: contributions that miss exactly one factor are the derivative with respect to that
 * factor. */
typedef struct throughput {
    color beta;
    ir_ref zeros[3]; /* u32 */
    ir_ref eta;
} throughput;
throughput throughput_start(walk *w);
void throughput_restart(walk *w, ir_ref alive, throughput *b); /* as at the start where a path has ended */
throughput throughput_select(walk *w, ir_ref condition, const throughput *a, const throughput *b);
void state_throughput(loop_state *s, throughput *b); /* loop state: visits each field */
/* beta where no factor was zero, else 0; and beta where exactly one was. */
color throughput_whole(walk *w, const throughput *b);
color throughput_but_one(walk *w, const throughput *b);
/* The flight before a vertex, if any, joins b. */
void throughput_fly(walk *w, const walk_vertex *v, throughput *b);
typedef struct passage {
    ir_ref alive;       /* bool */
    ir_ref inverse_pdf; /* 1 / (pdf * survival) */
} passage;
/* After a vertex at `depth` with material value f: decides whether the path goes on and updates b. */
passage throughput_pass(walk *w, ir_ref depth, const walk_vertex *v, color f, throughput *b);
/* Roulette after a vertex (Mitsuba's path and volpath): survival probability from the throughput's maximum; 1
 * before rr_depth. */
ir_ref walk_survival(walk *w, const walk_vertex *v, ir_ref depth, ir_ref throughput_max, ir_ref eta);

/* position.c */
/* The loop state of a position: visits each field that the walk has. What else there is of it must not be
 * used behind that. */
void state_position(walk *w, loop_state *s, walk_position *at);
void state_border(const walk *w, loop_state *s, walk_border *b);
void state_hit(const walk *w, loop_state *s, walk_hit *h);
/* Before a lane's first sample; walk_start (path/camera.c) puts the camera's ray in its place. */
walk_position walk_before(walk *w, ir_ref sample);
/* Position at the next vertex. Where the path has ended, tmax is -1. */
walk_position walk_next(walk *w, walk_position at, const walk_vertex *v, ir_ref alive);
/* Where a path has ended, the next one is at its beginning. */
walk_position position_select(walk *w, ir_ref condition, walk_position a,
                              walk_position b); /* condition ? a : b */
walk_position walk_restart(walk *w, ir_ref alive, walk_position at);

/* A lane's sums in the film, from `word` on: what earlier ranges left, and back. Lanes outside the range
 * touch nothing of others. */
color kernel_load_sum(walk *w, ir_ref word, ir_ref inside);
void kernel_store_sum(walk *w, ir_ref word, ir_ref inside, color sum);

/* status[word] += 1 where condition */
void kernel_count(walk *w, ir_ref condition, enum status_word word);
void kernel_count_at(walk *w, ir_ref condition, ir_ref word); /* u32 */
/* bool: every channel is finite */
ir_ref color_finite(tracer *t, color c);
/* number + error += v, exactly (Knuth's two-sum) */
void two_float_add(tracer *t, ir_ref *number, ir_ref *error, ir_ref v);
void color_backward(tracer *t, color value, color seed); /* backpropagates a seed per channel */
/* The same, and what arrives is added; of any number of outputs. */
void backward_into(tracer *t, const ir_ref *outputs, const ir_ref *seeds, uint32_t count, arrivals *sum);
void color_backward_into(tracer *t, color value, color seed, arrivals *sum);
/* After the end of a branch, `inside` being the sums there: those behind it. */
void arrivals_join(tracer *t, ir_ref branch, const arrivals *inside, arrivals *sum);
/* The loop state of arrivals: the sums. Where they arrive stays. */
void state_arrivals(loop_state *s, arrivals *a);

#endif
