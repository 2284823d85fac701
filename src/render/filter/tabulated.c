/* SPDX-License-Identifier: BSD-3-Clause
 * Filters that are sampled by a table. The table is the inverse cumulative distribution of the magnitude of
 * the filter, at equal steps of probability, interpolated linearly. Its cells are so narrow that the error
 * of the drawn density is below 1e-3 of the maximum of the density, in the tails.
 *
 * A cell of a filter that changes its sign lies on one side of a zero only. Between two zeros lie n cells
 * of equal mass m / n. Each is drawn with the probability 1 / CELLS, so a sample there has the weight (m /
 * n) CELLS / (mass of the filter), where m has its sign. The mean weight is exactly 1.
 *
 * A record holds CELLS + 1 positions and, for a filter that changes its sign, CELLS weights. Then follows 1
 * over the radius. Splats need VALUES + 1 values of the filter from its middle to its end, which come next.
 * Last are the words of filter_within, which are found in the table of positions. */
#include "render/classes.h"

enum {
    CELLS = 1024,
    STEPS = 65536,
    ZEROS_MOST = 64,
    VALUES = 1024,
    VALUE_WORDS = VALUES + 2,
    LAST_WORDS = VALUE_WORDS + FILTER_EDGE_WORDS
};

static const double pi = 3.14159265358979323846;

/* One dimension of a filter. It is not normalised. */
typedef struct profile {
    double (*value)(const struct profile *p, double x);
    double radius, a, b;
    double zeros[ZEROS_MOST]; /* between -radius and radius, ascending */
    uint32_t zero_count;
} profile;

static double midpoint(double low, double high, int step)
{
    return low + (high - low) * ((step + 0.5) / STEPS);
}

static double mass(const profile *p, double low, double high)
{
    double sum = 0;
    for (int i = 0; i < STEPS; i++)
        sum += p->value(p, midpoint(low, high, i));
    return sum;
}

/* Writes the positions of `cells` cells of equal mass between low and high, where the filter keeps its
 * sign. The caller writes the last border. */
static void place_cells(const profile *p, double low, double high, int cells, uint32_t *words)
{
    double total = mass(p, low, high), sum = 0;
    words[0] = float_word((float)low);
    int cell = 1;
    for (int i = 0; i < STEPS && cell < cells; i++) {
        double density = p->value(p, midpoint(low, high, i));
        while (cell < cells && fabs(sum + density) * cells >= cell * fabs(total)) {
            double part = (cell * total / cells - sum) / density;
            words[cell++] = float_word((float)(low + (high - low) * ((i + part) / STEPS)));
        }
        sum += density;
    }
    while (cell < cells)
        words[cell++] = float_word((float)high);
}

/* Shares the cells out to the stretches between zeros: CELLS in all, and enough for each stretch that faint
 * outer lobes keep their shape. */
static void share_cells(const double *masses, uint32_t count, int *cells)
{
    double total = 0;
    enum { LEAST = 16 };
    int left = CELLS;
    uint32_t largest = 0;
    for (uint32_t k = 0; k < count; k++) {
        total += fabs(masses[k]);
        largest = fabs(masses[k]) > fabs(masses[largest]) ? k : largest;
    }
    for (uint32_t k = 0; k < count; k++) {
        cells[k] = (int)(CELLS * fabs(masses[k]) / total);
        cells[k] = cells[k] < LEAST ? LEAST : cells[k];
        left -= cells[k];
    }
    cells[largest] += left;
}

static void tabulate(const profile *p, uint32_t *words)
{
    double border[ZEROS_MOST + 2], masses[ZEROS_MOST + 1], sum = 0;
    int cells[ZEROS_MOST + 1] = {0}, first = 0;
    uint32_t count = p->zero_count + 1;
    border[0] = -p->radius, border[count] = p->radius;
    memcpy(border + 1, p->zeros, p->zero_count * sizeof *border);
    for (uint32_t k = 0; k < count; k++) {
        masses[k] = mass(p, border[k], border[k + 1]) * (border[k + 1] - border[k]);
        sum += masses[k];
    }
    share_cells(masses, count, cells);
    for (uint32_t k = 0; k < count; first += cells[k], k++) {
        place_cells(p, border[k], border[k + 1], cells[k], words + first);
        float weight = (float)(masses[k] / cells[k] * CELLS / sum);
        for (int i = first; p->zero_count && i < first + cells[k]; i++)
            words[CELLS + 1 + i] = float_word(weight);
    }
    words[CELLS] = float_word((float)p->radius);
}

static double word_real(uint32_t word)
{
    float v;
    memcpy(&v, &word, sizeof v);
    return (double)v;
}

/* The shares of the random numbers and of the mass that fall below position x. */
static void share_below(const uint32_t *table, bool weighted, double x, double *numbers, double *mass_share)
{
    *numbers = *mass_share = 0;
    for (int i = 0; i < CELLS; i++) {
        double low = word_real(table[i]), high = word_real(table[i + 1]),
               part = x >= high ? 1
                      : x > low ? (x - low) / (high - low)
                                : 0;
        *numbers += part / CELLS;
        *mass_share += part / CELLS * (weighted ? word_real(table[CELLS + 1 + i]) : 1);
    }
}

static void tabulate_edges(const uint32_t *table, bool weighted, uint32_t *words)
{
    for (uint32_t k = 0; k + 1 < FILTER_EDGES; k++) {
        double numbers, share;
        share_below(table, weighted, -(k + 0.5), &numbers, &share);
        words[4 * k] = float_word((float)numbers), words[4 * k + 1] = float_word((float)share);
        share_below(table, weighted, k + 0.5, &numbers, &share);
        words[4 * k + 2] = float_word((float)(1 - numbers)),
                      words[4 * k + 3] = float_word((float)(1 - share));
    }
}

static void tabulate_values(const profile *p, uint32_t *words)
{
    words[0] = float_word((float)(1 / p->radius));
    for (int i = 0; i <= VALUES; i++)
        words[1 + i] = float_word(i < VALUES ? (float)p->value(p, p->radius * i / VALUES) : 0);
}

/* ---- traced ---- */

static ir_ref axis(tracer *t, ir_ref record, ir_ref u, ir_ref *weight)
{
    ir_func *f = t->f;
    ir_ref x = ir_mul(f, u, t_f32(t, CELLS)), base = ir_floor(f, x), part = ir_sub(f, x, base);
    ir_ref at = ir_add(f, record, ir_min(f, ir_to_u32(f, base), t_u32(t, CELLS - 1)));
    ir_ref low = t_real(t, at, 0), high = t_real(t, at, 1);
    if (weight)
        *weight = ir_mul(f, *weight, t_real(t, at, CELLS + 1));
    return t_mad(t, ir_sub(f, high, low), part, low);
}

static vec2 positive_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight)
{
    (void)weight;
    return (vec2){axis(t, record, u1, NULL), axis(t, record, u2, NULL)};
}

static vec2 signed_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight)
{
    ir_ref x = axis(t, record, u1, weight), y = axis(t, record, u2, weight);
    return (vec2){x, y};
}

/* words: how many words of the record stand before the values. */
static ir_ref value_at(tracer *t, ir_ref record, uint32_t words, ir_ref distance)
{
    ir_func *f = t->f;
    ir_ref x = ir_min(f, ir_mul(f, ir_mul(f, distance, t_real(t, record, words)), t_f32(t, VALUES)),
                      t_f32(t, VALUES));
    ir_ref base = ir_min(f, ir_floor(f, x), t_f32(t, VALUES - 1)), at = ir_add(f, record, ir_to_u32(f, base));
    ir_ref low = t_real(t, at, words + 1), high = t_real(t, at, words + 2);
    return t_mad(t, ir_sub(f, high, low), ir_sub(f, x, base), low);
}

static ir_ref positive_value(tracer *t, ir_ref record, ir_ref distance)
{
    return value_at(t, record, CELLS + 1, distance);
}
static ir_ref signed_value(tracer *t, ir_ref record, ir_ref distance)
{
    return value_at(t, record, 2 * CELLS + 1, distance);
}

/* ---- gaussian: exp(-x^2 / 2 s^2) - exp(-r^2 / 2 s^2), r = 4 s ---- */

static double gaussian_value(const profile *p, double x)
{
    return exp(-x * x / (2 * p->a * p->a)) - exp(-8.0);
}

static void gaussian_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    double sigma = scene_number(o, "stddev");
    const profile f = {.value = gaussian_value, .radius = 4 * sigma, .a = sigma};
    tabulate(&f, words);
    tabulate_values(&f, words + CELLS + 1);
    tabulate_edges(words, false, words + CELLS + 1 + VALUE_WORDS);
}

static double gaussian_radius(const scene_object *filter) { return 4 * scene_number(filter, "stddev"); }

static const plugin_param gaussian_params[] = {
    {"stddev", PLUGIN_FLOAT, 0, "0.5", 1e-3, 1e3,
     "standard deviation in pixels; the radius is four times that"},
};
const filter_class filter_gaussian = {
    .base = {.plugin = {PLUGIN_RFILTER, "gaussian", PLUGIN_TABLE(gaussian_params), PLUGIN_NONE, "Gaussian"},
             .extra_words = CELLS + 1 + LAST_WORDS,
             .extra = gaussian_extra},
    .sample = positive_sample,
    .value = positive_value,
    .edges = CELLS + 1 + VALUE_WORDS,
    .radius = gaussian_radius,
};

/* ---- mitchell, catmullrom: cubic pieces (Mitchell and Netravali 1988, equation 8) ---- */

static double mitchell_value(const profile *p, double x)
{
    double b = p->a, c = p->b;
    x = fabs(x);
    if (x < 1)
        return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + (6 - 2 * b)) / 6;
    if (x < 2)
        return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x +
                (8 * b + 24 * c)) /
               6;
    return 0;
}

/* Finds all changes of sign between the points of a fine grid, by bisection. */
static void find_zeros(profile *p)
{
    enum { GRID = 4096 };
    for (int i = 0; i < GRID; i++) {
        double low = p->radius * (2.0 * i / GRID - 1), high = p->radius * (2.0 * (i + 1) / GRID - 1);
        double at_low = p->value(p, low + 1e-9), at_high = p->value(p, high - 1e-9),
               next = p->value(p, high + 1e-9);
        if (at_low * at_high < 0) {
            for (int k = 0; k < 60; k++) {
                double middle = (low + high) / 2;
                if (p->value(p, middle) * at_low > 0)
                    low = middle;
                else
                    high = middle;
            }
        } else if (!(at_high * next < 0)) {
            continue;
        }
        BL_ASSERT(p->zero_count < ZEROS_MOST, "a filter with more than %d zeros", ZEROS_MOST);
        p->zeros[p->zero_count++] = high;
    }
}

static void cubic_table(double b, double c, uint32_t *words)
{
    profile p = {.value = mitchell_value, .radius = 2, .a = b, .b = c};
    find_zeros(&p);
    tabulate(&p, words);
    for (int i = 0; p.zero_count == 0 && i < CELLS; i++) /* the filter is nowhere negative */
        words[CELLS + 1 + i] = float_word(1);
    tabulate_values(&p, words + 2 * CELLS + 1);
    tabulate_edges(words, true, words + 2 * CELLS + 1 + VALUE_WORDS);
}

static double cubic_radius(const scene_object *filter)
{
    (void)filter;
    return 2;
}

static void mitchell_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    cubic_table(scene_number(o, "B"), scene_number(o, "C"), words);
}

static void catmullrom_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p, (void)o;
    cubic_table(0, 0.5, words);
}

static const plugin_param mitchell_params[] = {
    {"B", PLUGIN_FLOAT, 0, "0.33333333333333333", -2, 2, "Mitchell and Netravali's B"},
    {"C", PLUGIN_FLOAT, 0, "0.33333333333333333", -2, 2, "and C"},
};
const filter_class filter_mitchell = {
    .base = {.plugin = {PLUGIN_RFILTER, "mitchell", PLUGIN_TABLE(mitchell_params), PLUGIN_NONE,
                        "cubic, with negative lobes"},
             .extra_words = 2 * CELLS + 1 + LAST_WORDS,
             .extra = mitchell_extra},
    .weighted = true,
    .sample = signed_sample,
    .value = signed_value,
    .edges = 2 * CELLS + 1 + VALUE_WORDS,
    .radius = cubic_radius,
};
const filter_class filter_catmullrom = {
    .base = {.plugin = {PLUGIN_RFILTER, "catmullrom", PLUGIN_NONE, PLUGIN_NONE,
                        "interpolating cubic, with negative lobes"},
             .extra_words = 2 * CELLS + 1 + LAST_WORDS,
             .extra = catmullrom_extra},
    .weighted = true,
    .sample = signed_sample,
    .value = signed_value,
    .edges = 2 * CELLS + 1 + VALUE_WORDS,
    .radius = cubic_radius,
};

/* ---- lanczos: sinc(x) sinc(x / lobes) ---- */

static double lanczos_value(const profile *p, double x)
{
    double y = pi * x, lobes = p->radius;
    return fabs(x) < 1e-9 ? 1 : sin(y) * sin(y / lobes) * lobes / (y * y);
}

static void lanczos_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    int lobes = (int)scene_number(o, "lobes");
    profile f = {.value = lanczos_value, .radius = lobes};
    for (int k = 1 - lobes; k < lobes; k++)
        if (k)
            f.zeros[f.zero_count++] = k;
    tabulate(&f, words);
    for (int i = 0; lobes == 1 && i < CELLS; i++)
        words[CELLS + 1 + i] = float_word(1);
    tabulate_values(&f, words + 2 * CELLS + 1);
    tabulate_edges(words, true, words + 2 * CELLS + 1 + VALUE_WORDS);
}

static double lanczos_radius(const scene_object *filter) { return scene_number(filter, "lobes"); }

static const plugin_param lanczos_params[] = {
    {"lobes", PLUGIN_INTEGER, 0, "3", 1, 16, "the radius in pixels"}};
const filter_class filter_lanczos = {
    .base = {.plugin = {PLUGIN_RFILTER, "lanczos", PLUGIN_TABLE(lanczos_params), PLUGIN_NONE,
                        "windowed sinc"},
             .extra_words = 2 * CELLS + 1 + LAST_WORDS,
             .extra = lanczos_extra},
    .weighted = true,
    .sample = signed_sample,
    .value = signed_value,
    .edges = 2 * CELLS + 1 + VALUE_WORDS,
    .radius = lanczos_radius,
};
