/*
 * exposition.h: metrics in Prometheus' text format, version 0.0.4, into a
 * buffer. Pure.
 */
#ifndef EPI_METRICS_EXPOSITION_H
#define EPI_METRICS_EXPOSITION_H

#include "epdx/metrics.h"

typedef struct epi_exposition {
    char *out; /* always closed, where size is not 0 */
    size_t size;
    size_t used;    /* of the whole text, also where it was cut */
    char name[128]; /* of the family that was last begun */
} epi_exposition_t;

void epi_exposition_begin(epi_exposition_t *text, char *out, size_t size);

/** An epdx_metric_visit_t: context is an epi_exposition_t. Metrics of one name
 *  come one after another. */
void epi_exposition_add(void *context, const epdx_metric_t *metric);

#endif
