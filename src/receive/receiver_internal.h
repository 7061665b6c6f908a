/*
 * receiver_internal.h: a receiver's own state, shared by receiver.c (open,
 * close, poll), config.c, stage.c and job.c (requests), and for admission. The
 * caller's thread only, but for `shared`, see item.h.
 */
#ifndef EPI_RECEIVE_RECEIVER_INTERNAL_H
#define EPI_RECEIVE_RECEIVER_INTERNAL_H

#include "base/options.h"
#include "pool/arena.h"
#include "pool/tickets.h"
#include "receive/io.h"

/*
 * A job is in use from its staging until it was released and all its slots
 * are settled. Its lease goes back at the release of a landed job, and as soon
 * as its slots are settled where it did not land.
 */
struct epdx_job {
    epdx_receiver_t *receiver;
    char id[EPDX_ID_MAX + 1];
    epdx_state_t state;
    bool leased;
    bool released;
    uint32_t first_slot;
    uint32_t slot_count;
    uint32_t live;      /* items that are not skipped */
    uint32_t landed;    /* of them */
    uint32_t unsettled; /* of them: LANDED or QUIET is yet to come */
    uint64_t lease_offset;
    uint64_t lease_bytes;
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
    epdx_landed_t *landed; /* by slot */
    uint64_t requests_staged, requests_landed, requests_failed, items_landed;
    bool transport_known;
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
 *  host. In config.c. EPDX_ERR_INVALID with words. */
EPDX_MUST_CHECK epdx_status_t epi_receive_config_make(
    const epdx_receiver_params_t *params, const epi_options_t *options,
    epi_receive_config_t *config_p);

/** The tables of a receiver's jobs. In job.c. */
EPDX_MUST_CHECK epdx_status_t epi_jobs_init(epdx_receiver_t *receiver);
void epi_jobs_fini(epdx_receiver_t *receiver);

/** Tell the I/O thread about all slots of a job. In job.c. */
void epi_job_order(const epdx_job_t *job, epi_order_kind_t kind);

/** Bytes leased to jobs that are over but for receives that have not ended. */
uint64_t epi_jobs_stranded(const epdx_receiver_t *receiver);

/** Act on one report of the I/O thread. */
void epi_jobs_report(epdx_receiver_t *receiver, const epi_report_t *report);

/** Lease to whoever is next, as far as the pool goes. */
void epi_jobs_lease(epdx_receiver_t *receiver);

/** Fail jobs whose deadline has passed by so much that the I/O thread cannot
 *  be relied on to do it. */
void epi_jobs_expire(epdx_receiver_t *receiver, uint64_t now);

#endif
