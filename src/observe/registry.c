/* registry.c: opening and closing watches, and what begins and ends with the
 * first and the last of them. */
#include "observe/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/expand.h"
#include "base/log.h"
#include "observe/target.h"
#include "trace/chrome.h"

epi_registry_t epi_registry = {.life = PTHREAD_MUTEX_INITIALIZER,
                               .list = PTHREAD_MUTEX_INITIALIZER};

/* The lowest number that no open object of the kind has. */
static uint32_t object_number(epi_owner_t owner)
{
    uint32_t number = 0;
    bool taken;

    do {
        taken = false;
        for (const epi_watch_t *watch = epi_registry.first; watch != NULL;
             watch = watch->next) {
            taken = taken || (watch->counted && watch->metrics.owner == owner &&
                              watch->metrics.object == number);
        }
        number += taken ? 1 : 0;
    } while (taken);
    return number;
}

static void list_append(epi_watch_t *watch)
{
    epi_watch_t **place = &epi_registry.first;

    while (*place != NULL) {
        place = &(*place)->next;
    }
    watch->next = NULL;
    *place = watch;
    watch->listed = true;
}

static void list_remove(epi_watch_t *watch)
{
    epi_watch_t **place = &epi_registry.first;

    while (*place != watch) {
        place = &(*place)->next;
    }
    *place = watch->next;
    watch->listed = false;
}

/* The first watch that is shown brings the server and the file. */
static void metrics_begin(const epi_options_t *options,
                          const epi_target_t *target)
{
    epi_registry_t *registry = &epi_registry;

    if (target->kind == EPI_TARGET_SERVE && registry->http == NULL) {
        if (epi_metrics_http_open(&target->address, epi_registry_render_locking,
                                  &registry->http) == EPDX_OK) {
            epi_log_info("metrics are at http://%s/metrics",
                         epi_metrics_http_address(registry->http));
        } else {
            epi_log_error("no metrics by EPDX_METRICS: %s", epdx_last_error());
        }
    }
    if (registry->metrics_file[0] == '\0' && options->metrics_file[0] != '\0') {
        if (epi_expand("EPDX_METRICS_FILE", options->metrics_file,
                       registry->metrics_file,
                       sizeof(registry->metrics_file)) != EPDX_OK) {
            registry->metrics_file[0] = '\0';
            epi_log_error("%s; none is written", epdx_last_error());
        }
        registry->metrics_interval_ns = options->metrics_interval_ns;
        registry->metrics_due_ns = epi_now_ns();
    }
}

/* The first watch that is traced brings the file. */
static void trace_begin(const epi_options_t *options)
{
    epi_registry_t *registry = &epi_registry;

    if (options->trace_file[0] != '\0' && registry->trace == NULL &&
        epi_trace_file_open(options->trace_file, options->trace_bytes,
                            &registry->trace) != EPDX_OK) {
        epi_log_error("no trace: %s", epdx_last_error());
    }
}

static void name_track(const epi_watch_t *watch)
{
    char object[EPI_CHROME_BYTES];

    epi_trace_file_note(
        epi_registry.trace, object,
        epi_chrome_track(watch->track, watch->metrics.owner == EPI_OWNER_SENDER,
                         watch->metrics.rank, object));
}

static void forget_lanes(epi_watch_t *watch)
{
    if (watch->owns_lanes) {
        free(watch->named_lanes);
    }
    watch->owns_lanes = false;
    watch->named_lanes = NULL;
}

static epdx_status_t trace_join(epi_watch_t *watch,
                                const epi_watch_params_t *params)
{
    epdx_status_t status;

    if (epi_registry.trace == NULL) {
        return EPDX_OK;
    }
    if (params->same == NULL) {
        watch->named_lanes = calloc(1, params->lane_max / 8 + 1);
        if (watch->named_lanes == NULL) {
            return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a trace");
        }
        watch->owns_lanes = true;
        watch->lane_max = params->lane_max;
    }
    status = epi_trace_ring_open((size_t)params->options->trace_events,
                                 &watch->trace);
    if (status != EPDX_OK) {
        forget_lanes(watch);
        return status;
    }
    if (params->same == NULL) {
        watch->track = ++epi_registry.tracks;
        name_track(watch);
    } else {
        watch->track = params->same->track;
        watch->named_lanes = params->same->named_lanes;
        watch->lane_max = params->same->lane_max;
    }
    epi_registry.traced++;
    return EPDX_OK;
}

/* `life` and the list are locked. */
static epdx_status_t join(epi_watch_t *watch, const epi_watch_params_t *params,
                          const epi_target_t *target)
{
    epdx_status_t status;
    bool counted = target->kind != EPI_TARGET_OFF ||
                   params->options->metrics_file[0] != '\0' ||
                   epi_registry.collect;

    trace_begin(params->options);
    status = trace_join(watch, params);
    if (status != EPDX_OK) {
        return status;
    }
    watch->on = counted || watch->trace != NULL;
    if (!watch->on) {
        return EPDX_OK;
    }
    epi_registry_forget(); /* its number may be that of one of them */
    watch->metrics.object = object_number(params->owner);
    watch->counted = counted;
    watch->refresh = params->refresh;
    watch->self = params->self;
    epi_registry.counted += counted ? 1 : 0;
    list_append(watch);
    return EPDX_OK;
}

/* What nobody needs any more. `life` is locked, the list is not: the server
 * waits for answers, which take it, and the thread is waited for. */
static void end_unused(void)
{
    epi_registry_t *registry = &epi_registry;
    epi_metrics_http_t *http = NULL;
    epi_trace_file_t *trace = NULL;
    bool idle;

    (void)pthread_mutex_lock(&registry->list);
    if (registry->counted == 0) {
        http = registry->http;
        registry->http = NULL;
        registry->metrics_file[0] = '\0';
        epi_registry_forget();
    }
    if (registry->traced == 0) {
        trace = registry->trace;
        registry->trace = NULL;
    }
    idle = registry->trace == NULL && registry->metrics_file[0] == '\0';
    (void)pthread_mutex_unlock(&registry->list);
    epi_metrics_http_close(http);
    epi_trace_file_close(trace);
    if (idle) {
        epi_worker_stop();
    }
}

/* Whether the thread has something to write. `life` is locked. */
static bool busy(void)
{
    epi_registry_t *registry = &epi_registry;
    bool result;

    (void)pthread_mutex_lock(&registry->list);
    result = registry->trace != NULL || registry->metrics_file[0] != '\0';
    (void)pthread_mutex_unlock(&registry->list);
    return result;
}

epdx_status_t epi_watch_open(epi_watch_t *watch,
                             const epi_watch_params_t *params)
{
    epi_registry_t *registry = &epi_registry;
    const epi_options_t *options = params->options;
    epi_target_t target;
    epdx_status_t status = epi_target_parse(options->metrics, options->host,
                                            epi_local_rank(), &target);

    if (status != EPDX_OK) {
        return status;
    }
    watch->metrics.owner = params->owner;
    watch->metrics.rank = params->rank;
    (void)pthread_mutex_lock(&registry->life);
    (void)pthread_mutex_lock(&registry->list);
    status = join(watch, params, &target);
    if (watch->counted) {
        metrics_begin(options, &target);
    }
    (void)pthread_mutex_unlock(&registry->list);
    if (status != EPDX_OK) {
        end_unused();
    } else if (busy()) {
        epi_worker_start();
    }
    (void)pthread_mutex_unlock(&registry->life);
    return status;
}

/* Its last events, and how many are missing. */
static void trace_leave(epi_watch_t *watch)
{
    char object[EPI_CHROME_BYTES];
    uint64_t missing;

    epi_registry_write_trace(watch);
    missing = epi_trace_dropped(watch->trace) + watch->unwritten;
    if (missing > 0) {
        epi_log_warn("%" PRIu64 " events are missing in the trace: raise "
                     "EPDX_TRACE_EVENTS or EPDX_TRACE_MB",
                     missing);
    }
    epi_trace_file_note(epi_registry.trace, object,
                        epi_chrome_dropped(watch->track, missing, object));
    epi_trace_ring_close(watch->trace);
    watch->trace = NULL;
    forget_lanes(watch);
    epi_registry.traced--;
}

void epi_watch_close(epi_watch_t *watch)
{
    epi_registry_t *registry = &epi_registry;

    if (!watch->listed) {
        return;
    }
    (void)pthread_mutex_lock(&registry->life);
    (void)pthread_mutex_lock(&registry->list);
    if (watch->trace != NULL) {
        trace_leave(watch);
    }
    list_remove(watch);
    if (watch->counted) {
        registry->counted--;
        if (registry->metrics_file[0] != '\0') {
            epi_registry_bury(watch);
            epi_registry_write_metrics();
        }
    }
    (void)pthread_mutex_unlock(&registry->list);
    end_unused();
    (void)pthread_mutex_unlock(&registry->life);
}
