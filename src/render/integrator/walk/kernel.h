/* SPDX-License-Identifier: BSD-3-Clause
 * What every kernel does around the walk: from a lane to its pixel and samples; throughput and its zero
 * factors; the position of the path; sums in the film; reverse mode into given inputs. */
#ifndef BL_RENDER_KERNEL_H
#define BL_RENDER_KERNEL_H

#include "render/integrator/walk/loop_state.h"
#include "render/integrator/walk/walk.h"

typedef struct lane {
    ir_ref inside;      /* bool: the lane is within the range of this dispatch */
    ir_ref film;        /* u32: first word of its sums in BUFFER_FILM */
    ir_ref first, last; /* u32: its samples in this range, [first, last), counted within the pixel */
    ir_ref adjoint;     /* u32: first word of its dL/dI in BUFFER_ADJOINT */
    ir_ref slot; /* u32: slot of sample s in BUFFER_SAMPLES is this + s * UNIFORM_TILE_LANES, modulo 2^32 */
} lane;

/* The word of BUFFER_SAMPLES that a sample has in a plane. There is one plane per word of a slot. */
ir_ref kernel_sample_word(walk *w, const lane *l, ir_ref sample, ir_ref plane);
/* u32: how many pixels the film has. */
ir_ref kernel_pixels(walk *w);
/* Opens the entry function, and sets the walk's pixel, seed and stream. */
lane kernel_lane(walk *w, ir_module *m);

/* What a sample adds to its pixel, or the derivative of the loss by that. */
enum { FILM_MOST = 16 };
typedef struct film_value {
    ir_ref c[FILM_MOST]; /* walk.film_channels of them */
} film_value;

/* Throughput of a walk whose gradient is wanted (docs/theory/zero_factors.md). Per channel it has the product
 * of the factors that are not zero, and the number of the factors that are zero, counted to 2. A path goes on
 * while some channel has fewer than two zeros, because what a path contributes without its only zero factor
 * is the derivative with respect to that factor. */
typedef struct throughput {
    color beta;               /* product of the factors that are not zero */
    ir_ref zeros[COLOR_MOST]; /* u32: 0, 1, or 2 for more */
    ir_ref eta;               /* product of the relative indices of refraction, for roulette */
    /* Where walk.polarized, beta and zeros are those before the current segment, that is behind the last
     * vertex that depolarised. `row` is what multiplies the light that arrives, zeros left out; its entry k
     * that of entry k of the Stokes vectors. basis: unit vector of the world across the ray, to which they
     * refer. */
    color row[4];
    vec3 basis;
    /* Where walk.entries is 4: dL, a row per channel, times all matrices so far, zeros included. Seeds of
     * derivatives have it in the place of dL times `row`; the path is decided by `row` alone. */
    color asked[4];
} throughput;
throughput throughput_start(walk *w);
/* Sets b to throughput_start where not alive. */
void throughput_restart(walk *w, ir_ref alive, throughput *b);
/* condition ? a : b */
throughput throughput_select(walk *w, ir_ref condition, const throughput *a, const throughput *b);
/* Visits each field, as state of a loop. */
void state_throughput(const walk *w, loop_state *s, throughput *b);
/* Per channel: what intensity that arrives is multiplied by, where no factor was zero, else 0. */
color throughput_whole(walk *w, const throughput *b);
/* Per channel: the same where exactly one factor was zero, else 0. */
color throughput_but_one(walk *w, const throughput *b);
/* Per channel: c where `count` factors were zero, else 0. zeros: how many were, of each channel. */
color throughput_where(walk *w, const ir_ref zeros[COLOR_MOST], uint32_t count, color c);
/* In media: multiplies b by the weight of the flight before a vertex. */
void throughput_fly(walk *w, const walk_vertex *v, throughput *b);
/* What the flight up to the vertex multiplies light by, zeros and all. */
color throughput_flown(walk *w, const walk_vertex *v);
typedef struct passage {
    ir_ref alive;       /* bool: the path goes on */
    ir_ref inverse_pdf; /* 1 / (pdf of the sample * survival probability) */
} passage;
/* After a vertex at `depth` with material value f: decides whether the path goes on and updates b. */
passage throughput_pass(walk *w, ir_ref depth, const walk_vertex *v, color f, throughput *b);
/* The same of polarised light. row: b's row times the matrix of the vertex; basis: what it then refers to;
 * depolarizes: bool, a segment ends with the vertex. */
passage throughput_pass_polarized(walk *w, ir_ref depth, const walk_vertex *v, const color row[4], vec3 basis,
                                  ir_ref depolarizes, throughput *b);
/* bool: the path may go on behind a vertex: v->goes_on, unless v->ends. */
ir_ref walk_may_go_on(walk *w, const walk_vertex *v);
/* Russian roulette after a vertex, as in Mitsuba's path and volpath: the survival probability, from the
 * throughput's largest channel. It is 1 before rr_depth. */
ir_ref walk_survival(walk *w, const walk_vertex *v, ir_ref depth, ir_ref throughput_max, ir_ref eta);

/* ---- position.c ---- */

/* The loop state of a position: visits each field that this walk carries. The other fields must not be used
 * once the state has been read. */
void state_position(walk *w, loop_state *s, walk_position *at);
void state_border(const walk *w, loop_state *s, walk_border *b);
void state_hit(const walk *w, loop_state *s, walk_hit *h);
/* The position before a lane's first sample. walk_start (path/camera.c) puts the camera's ray in its
 * place. */
walk_position walk_before(walk *w, ir_ref sample);
/* The position before the next vertex. Where not alive, the path has ended and tmax is -1. */
walk_position walk_next(walk *w, walk_position at, const walk_vertex *v, ir_ref alive);
/* condition ? a : b */
walk_position position_select(walk *w, ir_ref condition, walk_position a, walk_position b);
/* Where not alive, sets depth and event to 0 again, so that the next path begins. */
walk_position walk_restart(walk *w, ir_ref alive, walk_position at);

/* ---- film.c ---- */

/* What a sample of this radiance adds, and the derivative of the loss by its radiance, given that by what it
 * adds (dL). Both have the sample's weight as a factor. */
film_value film_of(walk *w, const walk_position *at, color radiance);
color film_adjoint(walk *w, const walk_position *at, film_value dL);
/* The same for light with walk.entries entries of Stokes vectors, the intensity and others, if any. */
film_value film_of_entries(walk *w, const walk_position *at, color radiance, const color others[3]);
void film_adjoint_entries(walk *w, const walk_position *at, film_value dL, color out[4]);
/* Both without that weight. */
film_value film_unweighed(walk *w, color radiance);
color film_adjoint_unweighed(walk *w, film_value dL);
/* Where the film has the channels of light: one as the other. */
film_value film_plain(const walk *w, color c);
color film_light(const walk *w, film_value v);
film_value film_none(walk *w); /* zeros */
/* What Metropolis chains take a path for that adds v: its luminance; where the film has other channels, their
 * mean. It is positive wherever v is not 0. */
ir_ref film_luminance(walk *w, const film_value *v);
void state_film(const walk *w, loop_state *s, film_value *v);
/* Where `where`, adds a channel's value to its sum and, unless that is NULL, its square to the other one. */
void film_take(walk *w, ir_ref where, ir_ref value, ir_ref *sum, ir_ref *squares);
/* These load a lane's sums in the film, from `word` on, as earlier ranges left them, and store them. Lanes
 * outside the range load word 0 and store nothing. */
film_value kernel_load_sum(walk *w, ir_ref word, ir_ref inside);
void kernel_store_sum(walk *w, ir_ref word, ir_ref inside, film_value sum);
/* The word of the film where a lane's sums of squares begin: behind the sums of all lanes. */
ir_ref kernel_squares_word(walk *w, const lane *l);

/* status[word] += 1 where condition */
void kernel_count(walk *w, ir_ref condition, enum status_word word);
void kernel_count_at(walk *w, ir_ref condition, ir_ref word); /* word: u32 */
/* bool: every channel is finite (its magnitude is below 1e30) */
ir_ref color_finite(tracer *t, color c);
ir_ref film_finite(walk *w, const film_value *v);
/* number + error += v, exactly (Knuth's two-sum) */
void two_float_add(tracer *t, ir_ref *number, ir_ref *error, ir_ref v);
/* Backpropagates `value` with a seed per channel. Gradients of parameters are accumulated. */
void color_backward(tracer *t, color value, color seed);
/* The same for any number of outputs. The adjoints that arrive at the inputs sum->at are added to
 * sum->sum. */
void backward_into(tracer *t, const ir_ref *outputs, const ir_ref *seeds, uint32_t count, arrivals *sum);
void color_backward_into(tracer *t, color value, color seed, arrivals *sum);
/* To be called after the end of a branch in which `sum` became `inside`. Sets sum to `inside` where the
 * branch was taken. */
void arrivals_join(tracer *t, ir_ref branch, const arrivals *inside, arrivals *sum);
/* The loop state of arrivals: the sums. The inputs at which they arrive are not carried. */
void state_arrivals(loop_state *s, arrivals *a);

#endif
