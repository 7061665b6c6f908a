/* visit.c: one family's metrics of one object, read and scaled. */
#include "metrics/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#define LABELS_BYTES 160

static void write_labels(const epi_metrics_t *metrics,
                         const epi_family_t *family, uint32_t index,
                         char labels[LABELS_BYTES])
{
    bool more = family->label_values != NULL;

    (void)snprintf(labels, LABELS_BYTES,
                   "rank=\"%" PRIu32 "\",object=\"%" PRIu32 "\"%s%s%s%s%s",
                   metrics->rank, metrics->object, more ? "," : "",
                   more ? family->label : "", more ? "=\"" : "",
                   more ? family->label_values[index] : "", more ? "\"" : "");
}

static double scaled(const epi_family_t *family, uint64_t value, uint64_t now)
{
    if (family->scale == EPI_SCALE_ONE) {
        return (double)value;
    }
    return value == 0 || now < value ? 0 : (double)(now - value) / 1e9;
}

void epi_metrics_visit(const epi_metrics_t *metrics, const epi_family_t *family,
                       uint64_t now, epdx_metric_visit_t visit, void *context)
{
    char labels[LABELS_BYTES];
    epi_histogram_view_t view;
    epdx_metric_t metric = {.name = family->name,
                            .help = family->help,
                            .type = family->type,
                            .labels = labels};

    if (family->type == EPDX_METRIC_HISTOGRAM) {
        epi_histogram_read(&metrics->times[family->place], &view);
        write_labels(metrics, family, 0, labels);
        metric.value = view.sum_s;
        metric.bounds = epi_bounds_s;
        metric.counts = view.counts;
        metric.bound_count = EPI_BOUNDS;
        visit(context, &metric);
        return;
    }
    for (uint32_t i = 0; i < family->count; i++) {
        write_labels(metrics, family, i, labels);
        metric.value =
            scaled(family, epi_metric_get(metrics, family->place + i), now);
        visit(context, &metric);
    }
}
