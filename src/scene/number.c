/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers in text. strtod follows the process's locale, which belongs to the application we run in; so
 * decimal numbers of up to 15 digits and small exponents are converted here (exactly: the digits fit a
 * double, and so does the power of ten, so that one correctly rounded operation is left; Clinger 1990), and
 * all others by strtod_l in the "C" locale. Infinity and NaN are no numbers. */
#include "scene/scene_internal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAST_DIGITS = 15, FAST_POWER = 22, NUMBER_MAX = 400 /* characters */ };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* What a number consists of. */
typedef struct decimal {
    bool negative;
    uint64_t digits; /* of the first FAST_DIGITS significant ones */
    int digit_count, power;
} decimal;

/* Digits with an optional point, then an optional exponent; NULL where there is no digit. */
static const char *decimal_scan(const char *at, const char *end, decimal *d)
{
    bool any = false, point = false;
    for (; at < end && (is_digit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        d->power -= point;
        if (d->digit_count > 0 || *at != '0') {
            d->digit_count++;
            if (d->digit_count <= FAST_DIGITS)
                d->digits = d->digits * 10 + (uint64_t)(*at - '0');
        }
    }
    if (!any)
        return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *after = at + 1;
        bool negative = after < end && *after == '-';
        after += after < end && (*after == '-' || *after == '+');
        int power = 0;
        const char *first = after;
        for (; after < end && is_digit(*after); after++)
            power = power > 100000 ? power : power * 10 + (*after - '0');
        if (after > first) { /* "1e" is the number 1 and a stray letter */
            d->power += negative ? -power : power;
            at = after;
        }
    }
    return at;
}

static double convert_slowly(const char *at, size_t length)
{
    char copy[NUMBER_MAX + 1];
    if (length > NUMBER_MAX)
        return NAN;
    memcpy(copy, at, length);
    copy[length] = 0;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant of glibc, not an allocation */
    if (!c_locale)
        return NAN;
    double value = strtod_l(copy, NULL, c_locale);
    freelocale(c_locale);
    return value;
}

const char *number_scan(const char *at, const char *end, double *out)
{
    static const double powers[FAST_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d = {0};
    const char *first = at;
    if (at < end && (*at == '-' || *at == '+'))
        d.negative = *at++ == '-';
    at = decimal_scan(at, end, &d);
    if (!at)
        return NULL;
    double value;
    if (d.digits == 0)
        value = 0;
    else if (d.digit_count <= FAST_DIGITS && d.power >= -FAST_POWER && d.power <= FAST_POWER)
        value = d.power < 0 ? (double)d.digits / powers[-d.power] : (double)d.digits * powers[d.power];
    else
        value = fabs(convert_slowly(first, (size_t)(at - first)));
    *out = d.negative ? -value : value;
    return isfinite(value) ? at : NULL;
}

bool number_parse(const char *chars, double *out)
{
    const char *end = chars + strlen(chars);
    while (is_blank(*chars))
        chars++;
    const char *after = number_scan(chars, end, out);
    while (after && is_blank(*after))
        after++;
    return after == end;
}

bool integer_parse(const char *chars, int64_t *out)
{
    while (is_blank(*chars))
        chars++;
    bool negative = *chars == '-';
    chars += negative;
    if (!is_digit(*chars))
        return false;
    int64_t value = 0;
    for (; is_digit(*chars); chars++) {
        if (value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (*chars - '0');
    }
    while (is_blank(*chars))
        chars++;
    *out = negative ? -value : value;
    return *chars == 0;
}

int numbers_parse(const char *chars, double *out, int most, const char **malformed)
{
    const char *end = chars + strlen(chars);
    int count = 0;
    for (;;) {
        while (is_blank(*chars) || *chars == ',')
            chars++;
        if (chars == end)
            return count;
        double value = 0;
        const char *after = number_scan(chars, end, &value);
        if (!after || !(after == end || is_blank(*after) || *after == ',')) {
            *malformed = chars;
            return -1;
        }
        if (count < most)
            out[count] = value;
        count += count < INT32_MAX;
        chars = after;
    }
}

void number_print(text *out, double number, bool comma)
{
    char chars[40];
    for (int digits = 15; digits == 15 || (digits <= 17 && strtod(chars, NULL) != number); digits++)
        snprintf(chars, sizeof chars, "%.*g", digits, number);
    for (char *c = chars; *c; c++) /* a locale's own point */
        if (*c == ',')
            *c = '.';
    text_add(out, "%s%s", comma ? "," : "", chars);
}
