/*
 * receiver_internal.h: a receiver's own state, shared by receiver.c (open,
 * close, poll), config.c, stage.c, unstaged.c, job.c, release.c and tensor.c
 * (requests), and for admission. The caller's thread only, but for `shared`,
 * see item.h.
 */
#ifndef EPI_RECEIVE_RECEIVER_INTERNAL_H
#define EPI_RECEIVE_RECEIVER_INTERNAL_H

#include "base/options.h"
#include "pool/arena.h"
#include "pool/tickets.h"
#include "receive/holds.h"
#include "receive/io.h"

/*
 * A job is in use from its staging until it was released, all its slots are
 * settled and nothing holds it. Its lease goes back then, and as soon as its
 * slots are settled where it did not land.
 */
struct epdx_job {
    epdx_receiver_t *receiver;
    char id[EPDX_ID_MAX + 1];
    epdx_state_t state;
    bool leased;
    bool released;
    bool changed;   /* it is in the receiver's list of those */
    uint32_t owner; /* admission's entry */
    uint32_t first_slot;
    uint32_t slot_count;
    uint32_t live;      /* items that are not skipped */
    uint32_t landed;    /* of them */
    uint32_t unsettled; /* of them: LANDED or QUIET is yet to come */
    uint64_t lease_offset;
    uint64_t lease_bytes;
    void *event;     /* cudaEvent_t that its release waits for; NULL: none */
    bool event_lost; /* it cannot be queried: held for good */
    uint32_t holds;  /* of tensors, until they are taken in; of reassembly */
    epdx_status_t status;
    char reason[EPDX_REASON_MAX];
};

struct epdx_receiver {
    epi_receive_shared_t shared;
    epi_receive_io_t io;
    bool threaded;
    bool pool_owned;
    uint8_t *pool;
    epi_arena_t *arena;       /* bytes of the pool */
    epi_arena_t *slot_ranges; /* slots, one EPI_ARENA_ALIGN each */
    epi_tickets_t tickets;    /* jobs that wait for a lease, in stage order */
    epi_timers_t deadlines;   /* by job */
    epi_table_t rooms;        /* of jobs not yet released */
    struct epdx_job *jobs;
    uint32_t *free_jobs;
    uint32_t free_job_count;
    uint32_t *changed; /* jobs that landed or failed, for admission */
    uint32_t changed_count;
    epdx_landed_t *landed; /* by slot */
    uint32_t *after;       /* jobs that wait for their events */
    uint32_t after_count;
    uint32_t events_lost; /* not 0: the pool is never freed */
    epi_holds_t *holds;
    uint64_t requests_staged, requests_landed, requests_failed, items_landed;
    bool transport_known;
    uint64_t show_due_ns; /* when metrics of this thread are shown again */
};

/** Open over a data plane, which the receiver takes, also on error. */
EPDX_MUST_CHECK epdx_status_t
epi_receiver_open_with(const epdx_receiver_params_t *params,
                       epi_dataplane_t *dp, epdx_receiver_t **receiver_p);

/** What the receiver was opened as. */
const epi_receive_config_t *epi_receiver_config(
    const epdx_receiver_t *receiver);

/** Copy parameters whose struct may be that of an older header.
 *  EPDX_ERR_INVALID: its size is none that this library knows. In config.c. */
EPDX_MUST_CHECK epdx_status_t epi_receive_params_copy(
    const epdx_receiver_params_t *params, epdx_receiver_params_t *copy_p);

/** Resolve the parameters against the settings. Pure but for the look-up of
 *  host, and of the device. In config.c. EPDX_ERR_INVALID with words, or
 *  EPDX_ERR_IO: the device cannot be used. */
EPDX_MUST_CHECK epdx_status_t epi_receive_config_make(
    const epdx_receiver_params_t *params, const epi_options_t *options,
    epi_receive_config_t *config_p);

/** Whether an item is to be received: the others are skipped. */
static inline bool epi_item_live(const epdx_item_t *item)
{
    return item->encode != NULL && !item->received;
}

/** Whether a request's id is one, whether it has items, whether the address of
 *  its index-th item, which is live, is one. EPDX_ERR_INVALID, with words. In
 *  stage.c. */
EPDX_MUST_CHECK epdx_status_t
epi_request_check_id(const epdx_request_t *request);
EPDX_MUST_CHECK epdx_status_t
epi_request_check_items(const epdx_request_t *request);
EPDX_MUST_CHECK epdx_status_t
epi_request_check_address(const epdx_request_t *request, size_t index);

/** When a request that comes now is late. In stage.c. */
uint64_t epi_request_deadline(const epdx_receiver_t *receiver,
                              const epdx_request_t *request);

/** The tables of a receiver's jobs. In job.c. */
EPDX_MUST_CHECK epdx_status_t epi_jobs_init(epdx_receiver_t *receiver);
void epi_jobs_fini(epdx_receiver_t *receiver);

/** A job that landed or failed since it was last told of; NULL: none. It may
 *  have been released, and be another one by now. In job.c. */
epdx_job_t *epi_receiver_changed(epdx_receiver_t *receiver);

/** Tell the I/O thread about all slots of a job. In job.c. */
void epi_job_order(const epdx_job_t *job, epi_order_kind_t kind);

/** Give back what a job that is over still has, once nothing of it is under
 *  way and nothing holds it. In job.c. */
void epi_job_retire(epdx_job_t *job);

/** Whether an event or a hold keeps its rows in place. In release.c. */
bool epi_job_held(const epdx_job_t *job);

/** Look once at all events and holds. In release.c. */
void epi_releases_poll(epdx_receiver_t *receiver);

/** Before the pool is freed: look again until all events are done, for 2 s at
 *  most. False: work on a device may still use the pool, said in the log. In
 *  release.c. */
bool epi_releases_settle(epdx_receiver_t *receiver);

/** A hold on a landed job's rows, for tensor.c. EPDX_ERR_FULL, _NO_MEMORY. In
 *  release.c. */
EPDX_MUST_CHECK epdx_status_t epi_job_hold(epdx_job_t *job,
                                           epi_hold_t **hold_p);

/** Bytes of released jobs that events or holds keep in place. In release.c. */
uint64_t epi_jobs_held_bytes(const epdx_receiver_t *receiver);

/** Bytes leased to jobs that are over but for receives that have not ended, or
 *  whose events cannot be queried. */
uint64_t epi_jobs_stranded(const epdx_receiver_t *receiver);

/** Act on one report of the I/O thread. */
void epi_jobs_report(epdx_receiver_t *receiver, const epi_report_t *report);

/** Lease to whoever is next, as far as the pool goes. */
void epi_jobs_lease(epdx_receiver_t *receiver);

/** Fail jobs whose deadline has passed by so much that the I/O thread cannot
 *  be relied on to do it. */
void epi_jobs_expire(epdx_receiver_t *receiver, uint64_t now);

#endif
