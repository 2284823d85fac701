/* SPDX-License-Identifier: BSD-3-Clause
 * Between the colours of users and light (light.c; docs/theory/modes.md). */
#ifndef BL_RENDER_LIGHT_H
#define BL_RENDER_LIGHT_H

#include "render/trace.h"

float light_luminance(const float rgb[3]); /* of an image's colour; of grey exactly that grey */

/* Red, green and blue as light of the trace's channels. */
color light_of_rgb(tracer *t, const ir_ref rgb[3]);
/* The same tracer, which takes red, green and blue as they stand, for numbers that are no light: a color then
 * has those three. */
tracer light_raw(const tracer *t);
/* For numbers that are made of light and belong to no path, such as sampling tables: where light is spectral,
 * there are no wavelengths, and light_raw's tracer reads the numbers of colours; else the same tracer. */
tracer light_off_path(const tracer *t);
/* Light as red, green and blue, for code that knows these alone (functions of an application), and the
 * derivatives by them that light_of_rgb carries on, given one by light. */
void light_shown(tracer *t, color c, ir_ref rgb[3]);
void light_shown_adjoint(tracer *t, color c, ir_ref rgb[3]);
/* Luminance; of grey exactly that grey. */
ir_ref color_luminance(tracer *t, color v);
ir_ref color_mean(tracer *t, color v); /* of the channels; of grey exactly that grey */

#endif
