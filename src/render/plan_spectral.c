/* SPDX-License-Identifier: BSD-3-Clause
 * Where light is spectral: colours that users gave as red, green and blue, as light at the wavelengths of a
 * path. Coefficients of their smooth spectra (spectrum/upsampling.c) are derived values, so derivatives go
 * on to the colours. What a spectrum is follows from the parameter that the colour is for, as in Mitsuba:
 *
 *   a reflectance        the spectrum S of the colour
 *   a coefficient        m S, with S the spectrum of the colour over m; with x the largest channel, m is
 *                        max(1, 2 x - 1). Extinctions, indices of metals, images that shine
 *   a voxel              m S, with m twice the largest channel; so a pattern of reflectances above 1
 *   emitted light        the same times D65: of plain numbers and colours of a light, and of what stands in a
 *                        texture d65
 *
 * Up to 1 a coefficient has the spectrum of a reflectance, as in Mitsuba, where larger ones are cut or an
 * error. An optimiser crosses 1: m is continuous and at least x. Its slope jumps there from 0 to 2. Some jump
 * there must be, since an m that is 1 up to 1 and stays above x has a slope of at least 1 behind it. The
 * colour of m S is the user's everywhere, so what jumps is only how the shape of the spectrum changes.
 *
 * m is differentiated, too. It is at least LEAST, so that black has a spectrum. */
#include "render/classes.h"
#include "render/spectrum/spectrum.h"

#define LEAST 1e-6f
enum spectral_word { WORD_COEFFICIENTS, WORD_SCALE = 3, WORD_FACTOR };

static ir_ref spectral_table(tracer *t) { return t_word(t, t_u32(t, 0), HEADER_SPECTRUM); }

ir_ref plan_bands(tracer *t) { return t_offset(t, spectral_table(t), SPECTRUM_TABLE_WORDS); }

ir_ref plan_attributes(tracer *t)
{
    const film_bands *bands = t->plan->scene->bands;
    return t_offset(t, plan_bands(t), bands ? bands_words(bands) : 0);
}

void plan_spectral_update(tracer *t, const class_node *n, ir_ref record, ir_ref element,
                          ir_ref words[SPECTRAL_WORDS])
{
    ir_func *f = t->f;
    ir_ref rgb[3], factor = t_f32(t, 1);
    n->cls->colour(t, n, record, element, rgb);
    if (n->role != COLOUR_REFLECTANCE) {
        ir_ref largest = ir_max(f, rgb[0], ir_max(f, rgb[1], rgb[2])), twice = ir_add(f, largest, largest),
               one = factor;
        factor = n->role == COLOUR_COEFFICIENT ? ir_max(f, ir_sub(f, twice, one), one)
                                               : ir_max(f, twice, t_f32(t, LEAST));
        for (int c = 0; c < 3; c++)
            rgb[c] = ir_div(f, rgb[c], factor);
    }
    upsampling u = upsampling_solve(t, spectral_table(t), rgb);
    for (int i = 0; i < 3; i++)
        words[WORD_COEFFICIENTS + i] = u.c[i];
    words[WORD_SCALE] = u.scale, words[WORD_FACTOR] = factor;
}

static void spectral_words(tracer *t, const class_node *n, ir_ref record, ir_ref k,
                           ir_ref word[SPECTRAL_WORDS])
{
    ir_ref first = ir_mul(t->f, k, t_u32(t, SPECTRAL_WORDS));
    for (uint32_t i = 0; i < SPECTRAL_WORDS; i++)
        word[i] = plan_derived(t, n, record, t_offset(t, first, i));
}

/* What has been said of a spectrum and a factor, times D65 where it is emitted. */
static color shining(tracer *t, const class_node *n, color light)
{
    for (uint32_t c = 0; c < t->channels && n->role == COLOUR_EMISSION; c++)
        light.c[c] = ir_mul(t->f, light.c[c], t->wavelengths->d65[c]);
    return light;
}

color plan_spectral(tracer *t, const class_node *n, ir_ref record, ir_ref k)
{
    ir_func *f = t->f;
    ir_ref word[SPECTRAL_WORDS];
    spectral_words(t, n, record, k, word);
    const upsampling u = {{word[0], word[1], word[2]}, word[WORD_SCALE]};
    color light = {0};
    for (uint32_t c = 0; c < t->channels; c++) {
        light.c[c] = upsampled(t, &u, t->wavelengths->nm[c]);
        if (n->role != COLOUR_REFLECTANCE)
            light.c[c] = ir_mul(f, light.c[c], word[WORD_FACTOR]);
    }
    return shining(t, n, light);
}

color plan_spectral_mix(tracer *t, const class_node *n, ir_ref record, const ir_ref *k, const ir_ref *weight,
                        uint32_t count)
{
    BL_ASSERT(count <= SPECTRAL_MIX_MOST, "%u colours", count);
    upsampling u[SPECTRAL_MIX_MOST];
    ir_ref by[SPECTRAL_MIX_MOST];
    for (uint32_t i = 0; i < count; i++) {
        ir_ref word[SPECTRAL_WORDS];
        spectral_words(t, n, record, k[i], word);
        u[i] = (upsampling){{word[0], word[1], word[2]}, word[WORD_SCALE]};
        by[i] = n->role == COLOUR_REFLECTANCE ? weight[i] : ir_mul(t->f, weight[i], word[WORD_FACTOR]);
    }
    color light = {0};
    for (uint32_t c = 0; c < t->channels; c++)
        light.c[c] = upsampled_mix(t, u, by, count, t->wavelengths->nm[c]);
    return shining(t, n, light);
}

void plan_spectral_range(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref range[2])
{
    ir_func *f = t->f;
    const film_bands *bands = t->plan->scene->bands;
    ir_ref word[SPECTRAL_WORDS];
    spectral_words(t, n, record, k, word);
    const upsampling u = {{word[0], word[1], word[2]}, word[WORD_SCALE]};
    upsampled_range(t, &u, bands ? (float)bands->nm[0] : WAVELENGTH_FIRST,
                    bands ? (float)bands->nm[bands->knots - 1] : WAVELENGTH_LAST, &range[0], &range[1]);
    for (int i = 0; i < 2 && n->role != COLOUR_REFLECTANCE; i++)
        range[i] = ir_mul(f, range[i], ir_detach(f, word[WORD_FACTOR]));
}

color plan_grey(tracer *t, const class_node *n, ir_ref grey)
{
    color light = color_all(grey);
    bool shines = t->light == LIGHT_SPECTRAL && n->role == COLOUR_EMISSION;
    for (uint32_t c = 0; c < t->channels && shines; c++)
        light.c[c] = ir_mul(t->f, grey, t->wavelengths->d65[c]);
    return light;
}
