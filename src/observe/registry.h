/*
 * registry.h: the list of all watches of this process, and what serves them:
 * a metrics server, a metrics file, a trace. Only the files of this folder.
 *
 * Two locks, in this order: `life` is held while a watch is opened or closed,
 * with all that starts and ends by it; `list` also while the list is read or a
 * file written. Neither is ever taken where work for a transfer is done.
 */
#ifndef EPI_OBSERVE_REGISTRY_H
#define EPI_OBSERVE_REGISTRY_H

#include <pthread.h>

#include "observe/metrics_http.h"
#include "observe/observe.h"
#include "observe/trace_file.h"

/** The last values of a closed object. The metrics file shows them until it is
 *  written at its interval again, so that a process which ends leaves there
 *  what all of its objects came to. */
typedef struct epi_ghost {
    epi_metrics_t metrics;
    struct epi_ghost *next;
} epi_ghost_t;

typedef struct epi_registry {
    pthread_mutex_t life;
    pthread_mutex_t list;
    epi_watch_t *first;
    size_t counted; /* watches that are shown */
    size_t traced;
    uint32_t tracks; /* ever made */
    bool collect;    /* by epdx_metrics_collect() */
    epi_metrics_http_t *http;
    char metrics_file[EPI_OPTION_PATH]; /* "": none */
    uint64_t metrics_interval_ns;
    uint64_t metrics_due_ns;
    epi_ghost_t *ghosts; /* in the order of their closing */
    epi_trace_file_t *trace;
    /* The thread that writes files. */
    pthread_t worker;
    bool working;
    bool stop;
    pthread_cond_t wake;
} epi_registry_t;

extern epi_registry_t epi_registry;

/** The whole text, in memory of malloc(); NULL: no memory. */
char *epi_registry_render_locking(size_t *bytes_p);

/** Keep a watch's last values; forget those that are kept. The list is
 *  locked. */
void epi_registry_bury(epi_watch_t *watch);
void epi_registry_forget(void);

/** Write the metrics file now, if there is one. The list is locked. */
void epi_registry_write_metrics(void);

/** Write what a watch's ring has. The list is locked. */
void epi_registry_write_trace(epi_watch_t *watch);

/** Start or end the thread, as there is something to write. `life` is locked,
 *  the list is not. A thread that cannot be started is logged. */
void epi_worker_start(void);
void epi_worker_stop(void);

#endif
