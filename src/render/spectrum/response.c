/* SPDX-License-Identifier: BSD-3-Clause
 * From the light at a path's wavelengths to the bands of a film, and back. Wavelength k estimates the
 * integral of sensitivity times light by sensitivity times light over its density, and the mean over the
 * wavelengths is taken. */
#include "render/spectrum/spectrum.h"

film_response response_rgb(const wavelength_set *w)
{
    film_response r = {.bands = 3};
    for (unsigned k = 0; k < WAVELENGTHS; k++)
        for (uint32_t b = 0; b < 3; b++)
            r.weight[b][k] = w->response[k][b];
    return r;
}

void response_apply(tracer *t, const film_response *r, const ir_ref light[WAVELENGTHS], ir_ref *film)
{
    for (uint32_t b = 0; b < r->bands; b++) {
        film[b] = ir_mul(t->f, r->weight[b][0], light[0]);
        for (unsigned k = 1; k < WAVELENGTHS; k++)
            film[b] = t_mad(t, r->weight[b][k], light[k], film[b]);
    }
}

void response_transposed(tracer *t, const film_response *r, const ir_ref *film, ir_ref light[WAVELENGTHS])
{
    for (unsigned k = 0; k < WAVELENGTHS; k++) {
        light[k] = ir_mul(t->f, r->weight[0][k], film[0]);
        for (uint32_t b = 1; b < r->bands; b++)
            light[k] = t_mad(t, r->weight[b][k], film[b], light[k]);
    }
}
