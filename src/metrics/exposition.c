/* exposition.c: see exposition.h. */
#include "metrics/exposition.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void epi_exposition_begin(epi_exposition_t *text, char *out, size_t size)
{
    *text = (epi_exposition_t){.out = out, .size = size};
    if (size > 0) {
        out[0] = '\0';
    }
}

static void put(epi_exposition_t *text, const char *format, ...)
    EPDX_PRINTF(2, 3);

static void put(epi_exposition_t *text, const char *format, ...)
{
    size_t left = text->used < text->size ? text->size - text->used : 0;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(left > 0 ? text->out + text->used : NULL, left, format,
                       arguments);
    va_end(arguments);
    text->used += length > 0 ? (size_t)length : 0;
}

/* printf() writes the radix of the program's locale; here it is a point. */
static void put_double(epi_exposition_t *text, int precision, double value)
{
    char digits[40];
    char *radix;

    (void)snprintf(digits, sizeof(digits), "%.*g", precision, value);
    radix = digits + strspn(digits, "0123456789+-e");
    if (*radix != '\0') {
        size_t length = strcspn(radix, "0123456789");

        *radix = '.';
        memmove(radix + 1, radix + length, strlen(radix + length) + 1);
    }
    put(text, "%s", digits);
}

/* Whole numbers as such, others with the digits that a double surely has. */
static void put_number(epi_exposition_t *text, double value)
{
    double most = 9007199254740992.0; /* 2^53 */

    if (value >= 0 && value < most && value == (double)(uint64_t)value) {
        put(text, "%" PRIu64, (uint64_t)value);
    } else {
        put_double(text, 15, value);
    }
}

static void put_histogram(epi_exposition_t *text, const epdx_metric_t *metric)
{
    const uint64_t all = metric->counts[metric->bound_count];

    for (size_t i = 0; i < metric->bound_count; i++) {
        put(text, "%s_bucket{%s,le=\"", metric->name, metric->labels);
        put_double(text, 6, metric->bounds[i]);
        put(text, "\"} %" PRIu64 "\n", metric->counts[i]);
    }
    put(text, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", metric->name,
        metric->labels, all);
    put(text, "%s_sum{%s} ", metric->name, metric->labels);
    put_number(text, metric->value);
    put(text, "\n%s_count{%s} %" PRIu64 "\n", metric->name, metric->labels,
        all);
}

void epi_exposition_add(void *context, const epdx_metric_t *metric)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    epi_exposition_t *text = context;

    if (strcmp(text->name, metric->name) != 0) {
        (void)snprintf(text->name, sizeof(text->name), "%s", metric->name);
        put(text, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
            metric->name, types[metric->type]);
    }
    if (metric->type == EPDX_METRIC_HISTOGRAM) {
        put_histogram(text, metric);
        return;
    }
    put(text, "%s{%s} ", metric->name, metric->labels);
    put_number(text, metric->value);
    put(text, "\n");
}
