/* SPDX-License-Identifier: BSD-3-Clause
 * One material of the table alone, in the interpreter: its traced functions called with numbers. Directions
 * are in the local frame, as in render/plan.h. */
#ifndef TEST_MATERIAL_PROBE_H
#define TEST_MATERIAL_PROBE_H

#include "support/material_cases.h"
#include "support/scene_eval.h"

typedef struct material_probe {
    const material_case *what;
    scene_eval *e;
    ir_module *module;
    ir_func *sample, *at, *derivative;
    ir_func *slopes, *attached; /* of materials whose sampling can be attached */
    bool single;                /* f32 instead of f64 */
} material_probe;

/* folder: of scene_files_create. Fails the running test with a message if anything goes wrong, as do the
 * others. */
material_probe material_probe_create(const material_case *c, const char *folder);
void material_probe_destroy(material_probe *p);

typedef struct material_sample {
    double wo[3], pdf, eta;
    bool delta;
    uint32_t lobe;
} material_sample;
material_sample material_probe_sample(const material_probe *p, const double wi[3], const double u[3]);

typedef struct material_value {
    double pdf, rgb[4]; /* pdf: of the continuous lobes. rgb: where light is spectral, at material_nm */
} material_value;
extern const float material_nm[4];
material_value material_probe_value(const material_probe *p, const double wi[3], const double wo[3],
                                    bool delta, uint32_t lobe);

/* Derivative of value.rgb[1] by the one number that the case requests. */
double material_probe_derivative(const material_probe *p, const double wi[3], const double wo[3], bool delta,
                                 uint32_t lobe);

/* Derivatives of the density with respect to wi and wo, as attached sampling takes them. */
void material_probe_slopes(const material_probe *p, const double wi[3], const double wo[3], double out[6]);

/* Derivative by the one number that the case requests of a sample's value.rgb[1] over its density, both of
 * which follow it where the sample is attached: its mean over samples is the derivative of the integral over
 * directions. u: what it was sampled with. */
double material_probe_attached(const material_probe *p, const double wi[3], const double u[3],
                               const material_sample *s);

/* The unit vector with this cosine to +z and this azimuth. */
void material_direction(double cosine, double azimuth, double out[3]);

#endif
