/*
 * release.c: what keeps a released job's rows in place: its event, and holds,
 * of tensors and of reassembly. The caller's thread.
 *
 *     released --> (event is done, no hold is left) --> free
 *          \-----> event cannot be queried: its rows rest for good
 *
 * Events and holds are looked at in epdx_receiver_poll() and never waited for.
 */
#include <inttypes.h>
#include <sched.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "memory/event.h"
#include "receive/receiver_internal.h"

#define CLOSE_WAIT_NS (2 * EPI_S)

epdx_status_t epdx_job_release_after(epdx_job_t *job, void *event)
{
    bool done = true;

    if (job != NULL && job->released) {
        return epi_fail(EPDX_ERR_INVALID, "request %s was released before",
                        job->id);
    }
    if (job != NULL && event != NULL) {
        /* An event that is no good is refused while the job is the caller's. */
        epdx_status_t status = epi_event_done(event, &done);

        if (status != EPDX_OK) {
            return status;
        }
    }
    if (!done) {
        epdx_receiver_t *receiver = job->receiver;

        job->event = event;
        receiver->after[receiver->after_count++] =
            (uint32_t)(job - receiver->jobs);
    }
    epdx_job_release(job);
    return EPDX_OK;
}

bool epi_job_held(const epdx_job_t *job)
{
    return job->event != NULL || job->event_lost || job->holds > 0;
}

static void take_in_holds(epdx_receiver_t *receiver)
{
    uint32_t index;

    while (epi_holds_take_in(receiver->holds, &index)) {
        epdx_job_t *job = &receiver->jobs[index];

        job->holds--;
        epi_job_retire(job);
    }
}

/* Look at each event once. Returns how many could not be queried. */
static uint32_t poll_events(epdx_receiver_t *receiver)
{
    uint32_t lost = 0;
    uint32_t i = 0;

    while (i < receiver->after_count) {
        epdx_job_t *job = &receiver->jobs[receiver->after[i]];
        bool done = false;
        bool failed = epi_event_done(job->event, &done) != EPDX_OK;

        if (!failed && !done) {
            i++;
            continue;
        }
        receiver->after[i] = receiver->after[--receiver->after_count];
        job->event = NULL;
        job->event_lost = failed;
        lost += failed ? 1 : 0;
        epi_job_retire(job);
    }
    receiver->events_lost += lost;
    return lost;
}

void epi_releases_poll(epdx_receiver_t *receiver)
{
    uint32_t lost;

    take_in_holds(receiver);
    lost = poll_events(receiver);
    if (lost > 0) {
        /* A device in trouble fails all that wait in one poll: one line. */
        epi_log_error("the events of %" PRIu32
                      " released requests cannot be queried, and their rows "
                      "stay out of use: %s",
                      lost, epdx_last_error());
    }
}

bool epi_releases_settle(epdx_receiver_t *receiver)
{
    uint64_t limit = epi_after(epi_now_ns(), CLOSE_WAIT_NS);

    epi_releases_poll(receiver);
    while (receiver->after_count > 0 && receiver->events_lost == 0 &&
           epi_now_ns() < limit) {
        sched_yield();
        epi_releases_poll(receiver);
    }
    if (receiver->after_count == 0 && receiver->events_lost == 0) {
        return true;
    }
    epi_log_error("%" PRIu32 " events were not done in 2 s, or cannot be "
                  "queried: the receive pool is left allocated",
                  receiver->after_count + receiver->events_lost);
    return false;
}

epdx_status_t epi_job_hold(epdx_job_t *job, epi_hold_t **hold_p)
{
    epdx_receiver_t *receiver = job->receiver;
    epdx_status_t status;

    take_in_holds(receiver);
    status = epi_hold_take(receiver->holds, (uint32_t)(job - receiver->jobs),
                           hold_p);
    if (status == EPDX_OK) {
        job->holds++;
    }
    return status;
}

uint64_t epi_jobs_held_bytes(const epdx_receiver_t *receiver)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < receiver->shared.config.max_requests; i++) {
        const epdx_job_t *job = &receiver->jobs[i];

        if (job->leased && job->released && job->unsettled == 0 &&
            !job->event_lost) {
            bytes += job->lease_bytes;
        }
    }
    return bytes;
}
