/* stats.c: see stats.h. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>

/* A law must leave less than this share of what the flatter one leaves. */
#define STEEPER_GAIN 0.2
/* Of the mean: a spread below it is flat, whatever line fits it. */
#define FLAT_SHARE 0.02

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

double epi_stats_median(double *values, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof(*values), compare);
    return count % 2 == 1 ? values[count / 2]
                          : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double epi_stats_percentile(double *values, size_t count, unsigned percent)
{
    size_t rank = (count * percent + 99) / 100;

    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof(*values), compare);
    return values[rank == 0 ? 0 : rank - 1];
}

double epi_stats_ratio(const double *ours, const double *theirs, size_t count,
                       double *scratch)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (theirs[i] != 0) {
            scratch[used++] = ours[i] / theirs[i];
        }
    }
    return epi_stats_median(scratch, used);
}

static double shape(epi_law_t law, double n)
{
    switch (law) {
    case EPI_LAW_CONSTANT:
        return 0;
    case EPI_LAW_LINEAR:
        return n;
    case EPI_LAW_N_LOG_N:
        return n > 1 ? n * log2(n) : 0;
    case EPI_LAW_SQUARE:
        return n * n;
    }
    return 0;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

/* What the fit leaves: the sum of squares. */
static double residue(const epi_fit_t *fit, const double *n, const double *cost,
                      size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        double off = cost[i] - epi_stats_at(fit, n[i]);

        sum += off * off;
    }
    return sum;
}

static epi_fit_t fit_law(epi_law_t law, const double *n, const double *cost,
                         size_t count)
{
    epi_fit_t fit = {.law = law, .a = mean(cost, count)};
    double x_mean = 0, xy = 0, xx = 0;

    for (size_t i = 0; i < count; i++) {
        x_mean += shape(law, n[i]) / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double x = shape(law, n[i]) - x_mean;

        xy += x * (cost[i] - fit.a);
        xx += x * x;
    }
    if (xx > 0) {
        fit.b = xy / xx;
        fit.a -= fit.b * x_mean;
    }
    return fit;
}

epi_fit_t epi_stats_fit(const double *n, const double *cost, size_t count)
{
    epi_fit_t best = fit_law(EPI_LAW_CONSTANT, n, cost, count);
    double all = residue(&best, n, cost, count);
    double left = all;
    double flat = FLAT_SHARE * best.a;

    if (all > flat * flat * (double)count) {
        for (epi_law_t law = EPI_LAW_LINEAR; law <= EPI_LAW_SQUARE; law++) {
            epi_fit_t fit = fit_law(law, n, cost, count);
            double leaves = residue(&fit, n, cost, count);

            if (leaves < left * STEEPER_GAIN) {
                left = leaves;
                best = fit;
            }
        }
    }
    best.r2 = all > 0 ? 1 - left / all : 1;
    return best;
}

double epi_stats_at(const epi_fit_t *fit, double n)
{
    return fit->a + fit->b * shape(fit->law, n);
}

const char *epi_stats_law(epi_law_t law)
{
    static const char *const names[] = {"constant", "a + b n", "a + b n log2 n",
                                        "a + b n^2"};

    return names[law];
}
