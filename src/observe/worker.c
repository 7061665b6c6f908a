/* worker.c: the thread that writes the metrics file at its interval, and the
 * trace as it comes. It holds the list while it writes. */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "observe/registry.h"
#include "trace/chrome.h"

/* How long events wait in their rings. */
#define TRACE_EVERY_NS (20 * EPI_MS)

/* A lane is named once, ahead of the first event on it. */
static void name_lane(epi_watch_t *watch, const epi_trace_event_t *event)
{
    char object[EPI_CHROME_BYTES];
    uint8_t *named = watch->named_lanes;
    uint8_t bit = (uint8_t)(1U << (event->lane % 8));
    bool encode = watch->metrics.owner == EPI_OWNER_SENDER;

    if (event->kind == EPI_TRACE_CLOCK || event->lane >= watch->lane_max ||
        (named[event->lane / 8] & bit) != 0) {
        return;
    }
    named[event->lane / 8] |= bit;
    epi_trace_file_note(
        epi_registry.trace, object,
        epi_chrome_lane(watch->track, encode, event->lane, object));
}

void epi_registry_write_trace(epi_watch_t *watch)
{
    char object[EPI_CHROME_BYTES];
    epi_trace_event_t event;

    while (epi_trace_take(watch->trace, &event)) {
        name_lane(watch, &event);
        if (!epi_trace_file_add(
                epi_registry.trace, object,
                epi_chrome_event(&event, watch->track, object))) {
            watch->unwritten++;
        }
    }
}

static void write_due(void)
{
    epi_registry_t *registry = &epi_registry;
    uint64_t now = epi_now_ns();

    for (epi_watch_t *watch = registry->first; watch != NULL;
         watch = watch->next) {
        if (watch->trace != NULL) {
            epi_registry_write_trace(watch);
        }
    }
    if (registry->trace != NULL) {
        epi_trace_file_flush(registry->trace);
    }
    if (registry->metrics_file[0] != '\0' && now >= registry->metrics_due_ns) {
        epi_registry_forget();
        epi_registry_write_metrics();
        registry->metrics_due_ns =
            epi_after(now, registry->metrics_interval_ns);
    }
}

static struct timespec next_due(void)
{
    const epi_registry_t *registry = &epi_registry;
    uint64_t due = epi_after(
        epi_now_ns(), registry->trace != NULL ? TRACE_EVERY_NS : 60 * EPI_S);

    if (registry->metrics_file[0] != '\0' && registry->metrics_due_ns < due) {
        due = registry->metrics_due_ns;
    }
    return (struct timespec){.tv_sec = (time_t)(due / EPI_S),
                             .tv_nsec = (long)(due % EPI_S)};
}

static void *work(void *unused)
{
    epi_registry_t *registry = &epi_registry;

    (void)unused;
    (void)pthread_mutex_lock(&registry->list);
    while (!registry->stop) {
        struct timespec due;

        write_due();
        due = next_due();
        (void)pthread_cond_timedwait(&registry->wake, &registry->list, &due);
    }
    (void)pthread_mutex_unlock(&registry->list);
    return NULL;
}

/* Deadlines are those of epi_now_ns(), not of the wall's clock. */
static void wake_init(void)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&epi_registry.wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void epi_worker_start(void)
{
    epi_registry_t *registry = &epi_registry;
    sigset_t all;
    sigset_t before;
    int cause;

    if (registry->working) {
        (void)pthread_mutex_lock(&registry->list);
        (void)pthread_cond_signal(&registry->wake); /* there is more to do */
        (void)pthread_mutex_unlock(&registry->list);
        return;
    }
    wake_init();
    registry->stop = false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    cause = pthread_create(&registry->worker, NULL, work, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cause != 0) {
        (void)pthread_cond_destroy(&registry->wake);
        epi_log_error("metrics and trace are written at the end only: no "
                      "thread: %s",
                      strerrordesc_np(cause));
        return;
    }
    registry->working = true;
    (void)pthread_setname_np(registry->worker, "epdx-observe");
}

void epi_worker_stop(void)
{
    epi_registry_t *registry = &epi_registry;

    if (!registry->working) {
        return;
    }
    (void)pthread_mutex_lock(&registry->list);
    registry->stop = true;
    (void)pthread_cond_signal(&registry->wake);
    (void)pthread_mutex_unlock(&registry->list);
    (void)pthread_join(registry->worker, NULL);
    (void)pthread_cond_destroy(&registry->wake);
    registry->working = false;
}
