/* SPDX-License-Identifier: BSD-3-Clause
 * Light as sampled spectra: wavelengths, the curves of the observer and of D65, what a film makes of four
 * wavelengths, spectra given by samples or by a temperature, and smooth spectra for RGB colours. This room is
 * traced mathematics and the tables behind it; it knows no plugin and no walk.
 *
 * Wavelengths are in nm. Light and reflectances are handled one wavelength at a time (an ir_ref each), so
 * that callers choose how they keep the WAVELENGTHS of a path. All wavelengths and densities are detached.
 *
 * `table` (u32) is the word of the scene buffer at which the words of spectrum_table stand, a multiple of
 * four. */
#ifndef BL_RENDER_SPECTRUM_H
#define BL_RENDER_SPECTRUM_H

#include "render/trace.h"

enum { WAVELENGTHS = 4 /* of a path */, SPECTRUM_CELLS = 256 };
enum { SPECTRUM_TABLE_WORDS = 8 * 95 + 6 * WAVELENGTHS * SPECTRUM_CELLS };
#define WAVELENGTH_FIRST 360.0f
#define WAVELENGTH_LAST 830.0f

/* ---- wavelengths.c ---- */

/* Fills the SPECTRUM_TABLE_WORDS words of the table: of each of 95 wavelengths, 5 nm apart, the curves of the
 * CIE 1931 observer and D65; and what wavelengths_sample reads. */
void spectrum_table(uint32_t *words);

typedef struct wavelength_set {
    ir_ref nm[WAVELENGTHS], inverse[WAVELENGTHS]; /* inverse: 1 / density per nm of each one alone */
    ir_ref d65[WAVELENGTHS];
    ir_ref response[WAVELENGTHS][3]; /* of wavelengths_sample: by what light there counts in linear sRGB */
    ir_ref rgb[WAVELENGTHS][3];      /* of wavelengths_observe: the observer's curves */
    ir_ref bends; /* in functions of materials that disperse: the wavelength at which indices are read */
    ir_ref knot[WAVELENGTHS], share[WAVELENGTHS]; /* of bands_sample: between which knots, and where there */
} wavelength_set;

/* The wavelengths of a path from one uniform number, in [0, 1): one in each quarter of their density, at the
 * same place of it (Wilkie et al. 2014 turn a hero by quarters, which gives the same sets). The density is
 * about as the eye responds, c / cosh^2(.0072 (nm - 538)) (Radziszewski, Boryczko and Alda 2009; Mitsuba),
 * and constant in each of SPECTRUM_CELLS cells of a quarter. */
wavelength_set wavelengths_sample(tracer *t, ir_ref table, ir_ref u);

/* ---- observer.c ---- */

/* Sets the observer's curves at the wavelengths, in linear sRGB by Mitsuba's matrix and divided by the
 * integral of Y, and D65 with Mitsuba's norm. Straight lines between the samples of the table, 0 outside of
 * it. */
void wavelengths_observe(tracer *t, ir_ref table, wavelength_set *w);

/* ---- response.c ---- */

/* What a film makes of light at a path's wavelengths: band b is the sum over k of weight[b][k] light[k]. The
 * weights are the band's sensitivity over WAVELENGTHS times the density. */
enum { RESPONSE_BANDS_MOST = 16 };
typedef struct film_response {
    uint32_t bands;
    ir_ref weight[RESPONSE_BANDS_MOST][WAVELENGTHS];
} film_response;
/* Three bands: linear sRGB. w: of wavelengths_sample. */
film_response response_rgb(const wavelength_set *w);
/* film = weight light; light = weight^T film, by which dL/dI becomes the adjoint of a path's light. */
void response_apply(tracer *t, const film_response *r, const ir_ref light[WAVELENGTHS], ir_ref *film);
void response_transposed(tracer *t, const film_response *r, const ir_ref *film, ir_ref light[WAVELENGTHS]);

/* ---- bands.c: films whose channels are bands of wavelengths, and sensors that have one ---- */

/* Sensitivities of `count` bands, of straight lines between knots, in ascending order. Two knots of one
 * wavelength are a jump. */
typedef struct film_bands {
    uint32_t count, knots;
    const double *nm;     /* [knots] */
    const double *values; /* [knots][count] */
    bool colours;         /* there is one, of a sensor, whose film has colours */
} film_bands;
double bands_integral_of(const film_bands *b, uint32_t band);
/* The words of the table that traced functions read: bands_words(b) of them. */
uint32_t bands_words(const film_bands *b);
void bands_table(const film_bands *b, uint32_t *words);
/* Wavelengths whose density is proportional to the sum of all bands, as in wavelengths_sample. */
wavelength_set bands_sample(tracer *t, ir_ref table, uint32_t bands, ir_ref u);
/* Band b is the integral of its sensitivity times light. w: of bands_sample. */
film_response response_bands(tracer *t, ir_ref table, uint32_t bands, const wavelength_set *w);
/* Linear sRGB of light times the only band. w: of bands_sample, and wavelengths_observe. */
film_response response_srf(tracer *t, ir_ref table, const wavelength_set *w);

/* ---- curves.c ---- */

/* A curve through samples: straight lines between them, 0 outside of them. `value` returns sample k (u32); it
 * may carry derivatives. */
typedef struct sampled_curve {
    ir_ref (*value)(tracer *t, const void *of, ir_ref k);
    const void *of;
    ir_ref count; /* u32, at least 2 */
} sampled_curve;
/* Samples at the wavelengths that ascend in BUFFER_VALUES from word `places` (u32) on. */
ir_ref curve_irregular(tracer *t, const sampled_curve *c, ir_ref places, ir_ref nm);
/* Planck's law is PLANCK_FIRST / nm^5 times planck_factor = 1 / (exp(PLANCK_SECOND / (nm T)) - 1). CODATA
 * 2018: 2 h c^2 in W nm^4 / m^2, and h c / k in nm K. */
#define PLANCK_FIRST 1.191042972397188e20
#define PLANCK_SECOND 1.438776877e7
ir_ref planck_factor(tracer *t, ir_ref temperature, ir_ref nm);
/* W / (m^2 sr nm) of a black body at a temperature in kelvin. It may carry derivatives. 0
 * outside of the range of wavelengths, as in Mitsuba. */
ir_ref curve_blackbody(tracer *t, ir_ref temperature, ir_ref nm);

/* ---- upsampling.c: smooth spectra for RGB (Jakob and Hanika 2019) ---- */

/* A reflectance in linear sRGB as the spectrum S(c0 w^2 + c1 w + c2), with w = (nm - 595) / 235, in [-1, 1],
 * and S(x) = 1/2 + x / (2 sqrt(1 + x^2)). Under D65 it has that colour. `scale` is about the derivative of
 * the colour by the coefficients; see upsampled. */
typedef struct upsampling {
    ir_ref c[3], scale;
} upsampling;
/* The coefficients for a reflectance whose channels are in [0, 1]; outside they are held. The search is
 * detached. The result carries the derivatives by rgb (implicit function theorem), times `scale`. */
upsampling upsampling_solve(tracer *t, ir_ref table, const ir_ref rgb[3]);
/* The spectrum at a wavelength. It undoes `scale` in derivatives: these stay of the size of 1, also where the
 * spectrum is near 0 or 1 and its derivative by the coefficients is tiny. */
ir_ref upsampled(tracer *t, const upsampling *u, ir_ref nm);
/* The sum of weight[k] times spectrum k at a wavelength, not below 0. It is computed as a quotient of sums,
 * since divisions are what a sigmoid costs. */
ir_ref upsampled_mix(tracer *t, const upsampling *u, const ir_ref *weight, uint32_t count, ir_ref nm);
/* The least and the largest value of the spectrum from wavelength `first` to `last`. Detached. */
void upsampled_range(tracer *t, const upsampling *u, float first, float last, ir_ref *least, ir_ref *most);

#endif
