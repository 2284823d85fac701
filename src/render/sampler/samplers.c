/* SPDX-License-Identifier: BSD-3-Clause
 * Samplers: how the numbers of one block (random.c) are spread over the samples of a pixel.
 *
 * A dimension is a slot of a block, with one number or two. Its place is (pixel, seed, stream, block,
 * slot). So the image, the gradient and every vertex have dimensions of their own, and a replay finds them
 * again. The numbers of a dimension are stratified over a set of samples, which is all samples of the pixel
 * or, in two walks, a half of them (docs/theory/two_walks.md): by a permutation of the
 * index of the sample, and the place decides the permutation (Kensler 2013, "Correlated Multi-Jittered
 * Sampling", section 3). From place to place they differ as if they were independent, so each estimate
 * stays unbiased. No parameter of a scene changes the numbers, so they are detached.
 *
 *   stratified   each stratum of the line, or each cell of a grid, holds one sample (jittered)
 *   multijitter  the same, and each of N rows and columns holds one as well (Kensler 2013)
 *   orthogonal   Bose's orthogonal array of strength 2 over all dimensions (Jarosz et al. 2019, section 4.1),
 *                N the square of a prime
 *   ldsampler    van der Corput and the second dimension of Sobol', digits scrambled: a (0,2) sequence
 *                (Kollig and Keller 2002), N a power of 4
 *
 *   paddedsobol  the first two dimensions of Sobol' with a nested uniform scramble, for each dimension of the
 *                path in another order (Burley 2020); any N, and the first n samples of a set are spread as
 *                well as n of their own
 *
 * N is the number of samples of a set. The number of the set is a part of the place, too, so sets do not know
 * of each other. */
#include "render/classes.h"

/* ---- counts that a sampler can do ---- */

static uint32_t whole_root(uint32_t n)
{
    uint32_t r = (uint32_t)sqrt((double)n);
    return r < 1 ? 1 : r;
}

static uint32_t root_above(uint32_t n)
{
    uint32_t r = whole_root(n);
    return (uint64_t)r * r < n ? r + 1 : r;
}

static uint32_t any_count(uint32_t n, uint32_t sets)
{
    (void)sets;
    return n;
}

/* Sets are groups of whole rows of the grid. */
static uint32_t square_count(uint32_t n, uint32_t sets)
{
    uint32_t side = root_above(n);
    side = (side + sets - 1) / sets * sets;
    return side * side;
}

/* Sets are groups of whole columns of the grid or, where these are odd, of rows. */
static uint32_t grid_count(uint32_t n, uint32_t sets)
{
    for (;; n++) {
        uint32_t y = whole_root(n), x = (n + y - 1) / y;
        if (x * y % sets == 0)
            return x * y;
        n = x * y;
    }
}

static bool is_prime(uint32_t n)
{
    for (uint32_t k = 2; k * k <= n; k++)
        if (n % k == 0)
            return false;
    return n >= 2;
}

/* Each set has an array of its own. */
static uint32_t prime_square_count(uint32_t n, uint32_t sets)
{
    uint32_t p = root_above((n + sets - 1) / sets);
    while (!is_prime(p))
        p++;
    return p * p * sets;
}

static uint32_t power_of_four_count(uint32_t n, uint32_t sets)
{
    (void)sets; /* a half of it is a power of two, which is as good for a (0,2) sequence */
    uint32_t count = 4;
    while (count < n)
        count *= 4;
    return count;
}

/* ---- traced: permutations ---- */

/* One round of Kensler's hash: a permutation of the numbers below mask + 1, which is a power of two. The
 * steps are those of his listing. */
static ir_ref mix(ir_func *f, ir_ref i, ir_ref mask, ir_ref seed)
{
    ir_ref one = ir_u32(f, 1);
#define XOR(v) (i = ir_xor(f, i, v))
#define MUL(v) (i = ir_mul(f, i, v))
#define C(v) ir_u32(f, v)
    XOR(seed), MUL(C(0xe170893du)), XOR(ir_shr(f, seed, C(16))), XOR(ir_shr(f, ir_and(f, i, mask), C(4)));
    XOR(ir_shr(f, seed, C(8))), MUL(C(0x0929eb3fu)), XOR(ir_shr(f, seed, C(23))),
        XOR(ir_shr(f, ir_and(f, i, mask), one));
    MUL(ir_or(f, one, ir_shr(f, seed, C(27)))), MUL(C(0x6935fa69u)),
        XOR(ir_shr(f, ir_and(f, i, mask), C(11)));
    MUL(C(0x74dcb303u)), XOR(ir_shr(f, ir_and(f, i, mask), C(2))), MUL(C(0x9e501cc3u)),
        XOR(ir_shr(f, ir_and(f, i, mask), C(2)));
    MUL(C(0xc860a3dfu)), i = ir_and(f, i, mask), XOR(ir_shr(f, i, C(5)));
#undef C
#undef MUL
#undef XOR
    return i;
}

static ir_ref remainder_of(tracer *t, ir_ref a, ir_ref b)
{
    return ir_sub(t->f, a, ir_mul(t->f, ir_div(t->f, a, b), b));
}

/* A permutation of the numbers below count, which `seed` chooses. The hash above is repeated until its
 * result falls below count. */
static ir_ref permute(tracer *t, ir_ref i, ir_ref count, ir_ref seed)
{
    ir_func *f = t->f;
    ir_ref mask = ir_sub(f, count, t_u32(t, 1));
    for (uint32_t k = 1; k < 32; k *= 2)
        mask = ir_or(f, mask, ir_shr(f, mask, t_u32(t, k)));
    ir_ref state[2] = {i, ir_bool(f, true)}, loop = ir_loop(f, state, 2);
    ir_while(f, state[1]);
    ir_ref next = mix(f, state[0], mask, seed), after[2] = {next, ir_ge(f, next, count)};
    ir_endloop(f, loop, after, 2);
    /* a rotation by the seed spreads what the hash leaves in order */
    ir_ref turned = ir_add(f, state[0], remainder_of(t, seed, count));
    return ir_select(f, ir_ge(f, turned, count), ir_sub(f, turned, count), turned);
}

/* The number (cell + part) / count, kept below 1. */
static ir_ref in_cell(tracer *t, ir_ref cell, ir_ref part, ir_ref count)
{
    ir_func *f = t->f;
    return ir_min(f, ir_div(f, ir_add(f, ir_to_f32(f, cell), part), ir_to_f32(f, count)),
                  t_f32(t, 0x1.fffffep-1f));
}

/* The largest y with y * y <= n. */
static ir_ref traced_root(tracer *t, ir_ref n)
{
    ir_func *f = t->f;
    ir_ref y = ir_to_u32(f, ir_add(f, ir_sqrt(f, ir_to_f32(f, n)), t_f32(t, 0.5f)));
    return ir_select(f, ir_gt(f, ir_mul(f, y, y), n), ir_sub(f, y, t_u32(t, 1)), y);
}

/* ---- traced: one dimension ---- */

/* What the numbers of a dimension are made from: words that are the same for all samples of the pixel, and
 * the jitter of this sample alone. */
typedef struct dimension {
    const sampler_place *at;
    ir_ref path;        /* u32: a word that is the same for all dimensions of the pixel */
    ir_ref seed;        /* u32: the word of this dimension, which chooses the permutations */
    ir_ref second_seed; /* u32: another one, where it has two numbers */
    ir_ref jitter[2];
    ir_ref index; /* u32: the index of the number in the path, counted as if all slots were single */
    bool jittered;
} dimension;

static ir_ref jitter(tracer *t, const dimension *d, int k)
{
    return d->jittered ? d->jitter[k] : t_f32(t, 0.5f);
}

static ir_ref reseed(tracer *t, const dimension *d, uint32_t factor)
{
    return ir_mul(t->f, d->seed, t_u32(t, factor));
}

static ir_ref stratified_1(tracer *t, const dimension *d)
{
    const sampler_set *set = &d->at->set;
    return in_cell(t, permute(t, set->index, set->count, d->seed), jitter(t, d, 0), set->count);
}

static vec2 stratified_2(tracer *t, const dimension *d)
{
    ir_func *f = t->f;
    const sampler_set *set = &d->at->set;
    ir_ref columns = traced_root(t, ir_mul(f, set->count, set->sets)), rows = ir_div(f, columns, set->sets);
    ir_ref cell = permute(t, set->index, set->count, d->seed);
    ir_ref y = ir_div(f, cell, columns), x = ir_sub(f, cell, ir_mul(f, y, columns));
    return (vec2){in_cell(t, x, jitter(t, d, 0), columns), in_cell(t, y, jitter(t, d, 1), rows)};
}

static vec2 multijitter_2(tracer *t, const dimension *d)
{
    ir_func *f = t->f;
    const sampler_set *set = &d->at->set;
    ir_ref all = ir_mul(f, set->count, set->sets), all_rows = traced_root(t, all),
           all_columns = ir_div(f, all, all_rows);
    ir_ref even = ir_eq(f, remainder_of(t, all_columns, set->sets), t_u32(t, 0)),
           columns = ir_select(f, even, ir_div(f, all_columns, set->sets), all_columns),
           rows = ir_div(f, set->count, columns);
    ir_ref cell = permute(t, set->index, set->count, reseed(t, d, 0x51633e2du));
    ir_ref y = ir_div(f, cell, columns), x = ir_sub(f, cell, ir_mul(f, y, columns));
    ir_ref sx = permute(t, x, columns, reseed(t, d, 0x68bc21ebu)),
           sy = permute(t, y, rows, reseed(t, d, 0x02e5be93u));
    return (vec2){in_cell(t, x, in_cell(t, sy, jitter(t, d, 0), rows), columns),
                  in_cell(t, y, in_cell(t, sx, jitter(t, d, 1), columns), rows)};
}

/* The entry of column `index` of the array in row i = a p + b. It is a + (index - 1) b modulo p. The first
 * two columns are a and b themselves. */
static ir_ref bose(tracer *t, ir_ref i, ir_ref p, ir_ref index)
{
    ir_func *f = t->f;
    ir_ref a = ir_div(f, i, p), b = ir_sub(f, i, ir_mul(f, a, p)), one = t_u32(t, 1);
    ir_ref times =
        remainder_of(t, ir_sub(f, index, ir_select(f, ir_eq(f, index, t_u32(t, 0)), index, one)), p);
    ir_ref later = remainder_of(t, ir_add(f, a, ir_mul(f, times, b)), p);
    return ir_select(f, ir_eq(f, index, t_u32(t, 0)), a, ir_select(f, ir_eq(f, index, one), b, later));
}

/* The order of the rows is the same for all dimensions of a path. Each dimension permutes its strata, and
 * within them the strata of its partner. */
static ir_ref orthogonal_1(tracer *t, const dimension *d)
{
    ir_func *f = t->f;
    const sampler_set *set = &d->at->set;
    ir_ref p = traced_root(t, set->count), row = permute(t, set->index, set->count, d->path);
    ir_ref partner = ir_xor(f, d->index, t_u32(t, 1));
    ir_ref own = permute(t, bose(t, row, p, d->index), p, reseed(t, d, 0x51633e2du));
    ir_ref other = permute(t, bose(t, row, p, partner), p, reseed(t, d, 0x68bc21ebu));
    return in_cell(t, own, in_cell(t, other, jitter(t, d, 0), p), p);
}

static vec2 orthogonal_2(tracer *t, const dimension *d)
{
    dimension second = *d;
    second.seed = reseed(t, d, 0x02e5be93u), second.jitter[0] = d->jitter[1],
    second.index = ir_add(t->f, d->index, t_u32(t, 1));
    ir_ref x = orthogonal_1(t, d), y = orthogonal_1(t, &second);
    return (vec2){x, y};
}

/* Bit k stands for those bits whose number has the binary digit k clear. */
static const uint32_t digit_clear[5] = {0x55555555u, 0x33333333u, 0x0F0F0F0Fu, 0x00FF00FFu, 0x0000FFFFu};

static ir_ref reverse_bits(tracer *t, ir_ref v)
{
    ir_func *f = t->f;
    for (uint32_t k = 0; k < 5; k++) {
        ir_ref mask = t_u32(t, digit_clear[k]), by = t_u32(t, 1u << k);
        v = ir_or(f, ir_shl(f, ir_and(f, v, mask), by), ir_and(f, ir_shr(f, v, by), mask));
    }
    return v;
}

/* The second dimension of Sobol', its first binary digit in bit 0: the digits of v times Pascal's triangle
 * modulo 2. Binomial j over k is odd where the binary digits of k are among those of j (Lucas), so each of
 * the five digits of a bit's number is a step of its own. */
static ir_ref sobol_digits(tracer *t, ir_ref v)
{
    ir_func *f = t->f;
    for (uint32_t k = 0; k < 5; k++)
        v = ir_xor(f, v, ir_and(f, ir_shr(f, v, t_u32(t, 1u << k)), t_u32(t, digit_clear[k])));
    return v;
}

static ir_ref bits_to_unit(tracer *t, ir_ref bits)
{
    return ir_mul(t->f, ir_to_f32(t->f, ir_shr(t->f, bits, t_u32(t, 8))), t_f32(t, 0x1p-24f));
}

static ir_ref low_discrepancy_1(tracer *t, const dimension *d)
{
    ir_ref i = permute(t, d->at->set.index, d->at->set.count, d->seed);
    return bits_to_unit(t, ir_xor(t->f, reverse_bits(t, i), reseed(t, d, 0x9E3779B1u)));
}

static vec2 low_discrepancy_2(tracer *t, const dimension *d)
{
    ir_ref i = permute(t, d->at->set.index, d->at->set.count, d->seed);
    ir_ref x = ir_xor(t->f, reverse_bits(t, i), reseed(t, d, 0x9E3779B1u)),
           y = ir_xor(t->f, reverse_bits(t, sobol_digits(t, i)), reseed(t, d, 0x85EBCA77u));
    return (vec2){bits_to_unit(t, x), bits_to_unit(t, y)};
}

/* A permutation of the numbers below 2^n for any n at once: a bit of the result depends on the bits of x that
 * are not above it. So for numbers whose first digit is in bit 0 it is a nested uniform scramble (Owen 1995).
 * Laine and Karras 2011; the constants are those of Burley 2020, "Practical Hash-based Owen Scrambling",
 * section 3. */
static ir_ref scramble(tracer *t, ir_ref x, ir_ref seed)
{
    static const uint32_t factors[4] = {0x6c50b47cu, 0xb82f1e52u, 0xc7afe638u, 0x8d22f6e6u};
    x = ir_add(t->f, x, seed);
    for (uint32_t k = 0; k < 4; k++)
        x = ir_xor(t->f, x, ir_mul(t->f, x, t_u32(t, factors[k])));
    return x;
}

/* The index of the sample in the order of this dimension: another scramble, of the index itself. */
static ir_ref shuffled(tracer *t, const dimension *d)
{
    ir_func *f = t->f;
    ir_ref word = reseed(t, d, 0x9E3779B1u), seed = ir_xor(f, word, ir_shr(f, d->seed, t_u32(t, 15)));
    return reverse_bits(t, scramble(t, reverse_bits(t, d->at->set.index), seed));
}

static ir_ref scrambled_unit(tracer *t, ir_ref digits, ir_ref seed)
{
    return bits_to_unit(t, reverse_bits(t, scramble(t, digits, seed)));
}

static ir_ref padded_sobol_1(tracer *t, const dimension *d)
{
    return scrambled_unit(t, shuffled(t, d), d->seed);
}

static vec2 padded_sobol_2(tracer *t, const dimension *d)
{
    ir_ref i = shuffled(t, d);
    return (vec2){scrambled_unit(t, i, d->seed), scrambled_unit(t, sobol_digits(t, i), d->second_seed)};
}

/* ---- traced: a block ---- */

/* Makes the words that are the same for all samples of the set. They are those of a sample that no pixel
 * has, another one for each set. */
static void set_words(tracer *t, const sampler_place *at, ir_ref block, ir_ref words[4])
{
    static const uint32_t no_sample = 0xFFFFFFFFu;
    const random_counter c = {at->pixel, ir_sub(t->f, t_u32(t, no_sample), at->set.number), at->seed,
                              at->stream, block};
    random_words(t, &c, words);
}

static random4 spread(tracer *t, const sampler_class *sampler, const sampler_place *at, ir_ref block,
                      sampler_slots slots)
{
    static const uint32_t no_block = 0xFFFFFFu;
    ir_func *f = t->f;
    ir_ref words[4], path[4];
    set_words(t, at, block, words), set_words(t, at, t_u32(t, no_block), path);
    random4 own = random_block(t, at->pixel, at->sample, at->seed, at->stream, block), r;
    for (uint32_t k = 0; k < 4; k++) {
        const dimension d = {
            .at = at,
            .path = path[0],
            .seed = words[k],
            .second_seed = words[(k + 1) % 4],
            .jitter = {own.u[k], own.u[(k + 1) % 4]},
            .jittered = at->jittered,
            .index = ir_add(f, ir_mul(f, block, t_u32(t, 4)), t_u32(t, k)),
        };
        if (slots == SAMPLER_PAIRS ? k % 2 : k != 1) {
            r.u[k] = sampler->one(t, &d);
            continue;
        }
        vec2 both = sampler->two(t, &d);
        r.u[k] = both.x, r.u[++k] = both.y;
    }
    return r;
}

random4 sampler_block(tracer *t, const sampler_class *sampler, const sampler_place *at, ir_ref block,
                      sampler_slots slots)
{
    return sampler->one ? spread(t, sampler, at, block, slots)
                        : random_block(t, at->pixel, at->sample, at->seed, at->stream, block);
}

uint32_t sampler_count(const render_scene *s, uint32_t spp, uint32_t sets)
{
    return s->sampler ? sampler_of(s->sampler)->count(spp, sets) : spp;
}

bool sampler_jitters(const render_scene *s)
{
    return !s->sampler || !sampler_of(s->sampler)->one ||
           sampler_of(s->sampler)->base.plugin.param_count < 3 || scene_number(s->sampler, "jitter") != 0;
}

/* ---- classes ---- */

static bl_result note_count(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)err;
    uint32_t wanted = (uint32_t)scene_number(o, "sample_count"), count = sampler_of(o)->count(wanted, 1);
    if (count != wanted)
        text_add(&s->description->warnings, "%s:%u: %s: the sample count of %u is rounded up to %u\n",
                 o->where.file, o->where.line, o->cls->name, wanted, count);
    return BL_OK;
}

// clang-format off
#define COUNT_AND_SEED                                                                                       \
    {"sample_count", PLUGIN_INTEGER, 0, "4", 1, 1 << 24, "samples per pixel"},                               \
    {"seed", PLUGIN_INTEGER, 0, "0", 0, 4294967295.0, "added to the seed of a render"}
#define JITTER {"jitter", PLUGIN_BOOLEAN, 0, "true", 0, 0, "random places in the strata, else their middles"}
// clang-format on
static const plugin_param plain_params[] = {COUNT_AND_SEED};
static const plugin_param strata_params[] = {COUNT_AND_SEED, JITTER};
static const plugin_param orthogonal_params[] = {
    COUNT_AND_SEED,
    JITTER,
    {"strength", PLUGIN_INTEGER, 0, "2", 1, 1024, "accepted; the arrays are of strength 2"},
};
const sampler_class sampler_independent = {.base.plugin = {PLUGIN_SAMPLER, "independent",
                                                           PLUGIN_TABLE(plain_params), PLUGIN_NONE,
                                                           "independent uniform numbers"},
                                           .count = any_count};
const sampler_class sampler_stratified = {
    .base = {.plugin = {PLUGIN_SAMPLER, "stratified", PLUGIN_TABLE(strata_params), PLUGIN_NONE,
                        "jittered strata; a square of samples"},
             .load = note_count},
    .count = square_count,
    .one = stratified_1,
    .two = stratified_2,
};
const sampler_class sampler_multijitter = {
    .base = {.plugin = {PLUGIN_SAMPLER, "multijitter", PLUGIN_TABLE(strata_params), PLUGIN_NONE,
                        "cells, rows and columns at once"},
             .load = note_count},
    .count = grid_count,
    .one = stratified_1,
    .two = multijitter_2};
const sampler_class sampler_orthogonal = {
    .base = {.plugin = {PLUGIN_SAMPLER, "orthogonal", PLUGIN_TABLE(orthogonal_params), PLUGIN_NONE,
                        "every two dimensions stratified; the square of a prime of samples"},
             .load = note_count},
    .count = prime_square_count,
    .one = orthogonal_1,
    .two = orthogonal_2};
const sampler_class sampler_ldsampler = {
    .base = {.plugin = {PLUGIN_SAMPLER, "ldsampler", PLUGIN_TABLE(plain_params), PLUGIN_NONE,
                        "scrambled (0,2) sequence; a power of 4 of samples"},
             .load = note_count},
    .count = power_of_four_count,
    .one = low_discrepancy_1,
    .two = low_discrepancy_2};
const sampler_class sampler_paddedsobol = {
    .base.plugin = {PLUGIN_SAMPLER, "paddedsobol", PLUGIN_TABLE(plain_params), PLUGIN_NONE,
                    "Sobol' points, scrambled by hashing; any number of samples"},
    .count = any_count,
    .one = padded_sobol_1,
    .two = padded_sobol_2,
};
