/* show.c: the list of watches as metrics, and the calls of epdx/metrics.h. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "base/text.h"
#include "epdx/epdx.h"
#include "metrics/exposition.h"
#include "observe/registry.h"
#include "observe/whole_file.h"

/* Enough for the metrics of one rank. */
#define FIRST_BYTES ((size_t)32 * 1024)

/* Who is given metrics, and as of when. */
typedef struct visitor {
    epdx_metric_visit_t visit;
    void *context;
    uint64_t now;
} visitor_t;

static void visit_build(epdx_metric_visit_t visit, void *context)
{
    char labels[64];
    epdx_metric_t build = {.name = "epdx_build_info",
                           .help = "1, for its label: the version of epdx.",
                           .type = EPDX_METRIC_GAUGE,
                           .labels = labels,
                           .value = 1};

    epi_text_format(labels, sizeof(labels), "version=\"%s\"", epdx_version());
    visit(context, &build);
}

/* Values that are kept elsewhere, as of now. */
static void refresh(epi_watch_t *watch)
{
    if (watch->counted && watch->refresh != NULL) {
        watch->refresh(watch->self, &watch->metrics);
    }
}

/* A family of every object that has it. */
static void visit_family(const epi_family_t *family, epi_owner_t owner,
                         bool ghosts, const visitor_t *visitor)
{
    const epi_ghost_t *ghost = ghosts ? epi_registry.ghosts : NULL;

    for (const epi_watch_t *watch = epi_registry.first; watch != NULL;
         watch = watch->next) {
        if (watch->counted && watch->metrics.owner == owner) {
            epi_metrics_visit(&watch->metrics, family, visitor->now,
                              visitor->visit, visitor->context);
        }
    }
    for (; ghost != NULL; ghost = ghost->next) {
        if (ghost->metrics.owner == owner) {
            epi_metrics_visit(&ghost->metrics, family, visitor->now,
                              visitor->visit, visitor->context);
        }
    }
}

/* The list is locked. */
static void visit_all(epdx_metric_visit_t visit, void *context, bool ghosts)
{
    visitor_t visitor = {visit, context, epi_now_ns()};

    for (epi_watch_t *watch = epi_registry.first; watch != NULL;
         watch = watch->next) {
        refresh(watch);
    }
    visit_build(visit, context);
    for (int owner = 0; owner < EPI_OWNERS; owner++) {
        size_t count;
        const epi_family_t *families = epi_families((epi_owner_t)owner, &count);

        for (size_t i = 0; i < count; i++) {
            visit_family(&families[i], (epi_owner_t)owner, ghosts, &visitor);
        }
    }
}

/* The list is locked. */
static char *render(size_t *bytes_p, bool ghosts)
{
    epi_exposition_t text;
    size_t size = FIRST_BYTES;
    char *out = NULL;

    /* Numbers may grow while it is measured: until it fits. */
    do {
        char *larger = realloc(out, size);

        if (larger == NULL) {
            free(out);
            return NULL;
        }
        out = larger;
        epi_exposition_begin(&text, out, size);
        visit_all(epi_exposition_add, &text, ghosts);
        if (text.used >= size) {
            size = text.used + text.used / 8 + 1;
        }
    } while (text.used >= text.size);
    *bytes_p = text.used;
    return out;
}

char *epi_registry_render_locking(size_t *bytes_p)
{
    char *out;

    (void)pthread_mutex_lock(&epi_registry.list);
    out = render(bytes_p, false);
    (void)pthread_mutex_unlock(&epi_registry.list);
    return out;
}

void epi_registry_bury(epi_watch_t *watch)
{
    epi_ghost_t **place = &epi_registry.ghosts;
    epi_ghost_t *ghost = calloc(1, sizeof(*ghost));

    if (ghost == NULL) {
        return; /* the file will lack it */
    }
    refresh(watch);
    memcpy(&ghost->metrics, &watch->metrics, sizeof(ghost->metrics));
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = ghost;
}

void epi_registry_forget(void)
{
    while (epi_registry.ghosts != NULL) {
        epi_ghost_t *ghost = epi_registry.ghosts;

        epi_registry.ghosts = ghost->next;
        free(ghost);
    }
}

void epi_registry_write_metrics(void)
{
    size_t bytes = 0;
    char *text;

    if (epi_registry.metrics_file[0] == '\0') {
        return;
    }
    text = render(&bytes, true);
    if (text == NULL ||
        epi_whole_file(epi_registry.metrics_file, text, bytes) != EPDX_OK) {
        epi_log_warn("EPDX_METRICS_FILE: %s",
                     text == NULL ? "no memory" : epdx_last_error());
    }
    free(text);
}

void epdx_metrics_collect(void)
{
    (void)pthread_mutex_lock(&epi_registry.list);
    epi_registry.collect = true;
    (void)pthread_mutex_unlock(&epi_registry.list);
}

void epdx_metrics_each(epdx_metric_visit_t visit, void *context)
{
    if (visit == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&epi_registry.list);
    visit_all(visit, context, false);
    (void)pthread_mutex_unlock(&epi_registry.list);
}

size_t epdx_metrics_text(char *out, size_t size)
{
    epi_exposition_t text;

    epi_exposition_begin(&text, out, out == NULL ? 0 : size);
    epdx_metrics_each(epi_exposition_add, &text);
    return text.used;
}

epdx_status_t epdx_metrics_print(FILE *file)
{
    epdx_status_t status = epi_given(file);
    size_t bytes = 0;
    char *text;
    bool written;

    if (status != EPDX_OK) {
        return status;
    }
    text = epi_registry_render_locking(&bytes);
    if (text == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the metrics' text");
    }
    written = fwrite(text, 1, bytes, file) == bytes && fflush(file) == 0;
    free(text);
    return written ? EPDX_OK
                   : epi_fail(EPDX_ERR_IO, "the metrics cannot be written");
}

void epdx_metrics_address(char *out, size_t size)
{
    if (out == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&epi_registry.list);
    (void)epi_text_copy(out, size,
                        epi_registry.http == NULL
                            ? ""
                            : epi_metrics_http_address(epi_registry.http));
    (void)pthread_mutex_unlock(&epi_registry.list);
}
