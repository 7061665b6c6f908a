/*
 * intake.h: the items of a receiver as its I/O thread sees them: asked, offered
 * to, pulled, withdrawn. The I/O thread's.
 *
 *     FREE -> FINDING -> LEASING -> ASKED -> FREE (landed)
 *                 \---------\---------\----> ENDING -> FREE (quiet)
 *
 * ENDING lasts while a pull may still write to the item's lease.
 */
#ifndef EPI_RECEIVE_INTAKE_H
#define EPI_RECEIVE_INTAKE_H

#include "base/seldom.h"
#include "base/table.h"
#include "base/timers.h"
#include "dataplane/dataplane.h"
#include "receive/nodes.h"

typedef struct epi_intake {
    epi_receive_shared_t *shared;
    epi_nodes_t *nodes;      /* not owned */
    epi_control_t *control;  /* not owned */
    epi_dataplane_t *dp;     /* not owned */
    epi_dp_region_t *region; /* not owned: the pool */
    epi_table_t by_generation;
    epi_timers_t timers;     /* by slot */
    size_t pulls;            /* under way */
    uint64_t last_pulled_ns; /* when one ended; 0: none has */
    size_t open;             /* slots not FREE */
    bool transport_told;
    epi_seldom_t unsent_lines; /* of cancels */
} epi_intake_t;

/** Errors: EPDX_ERR_NO_MEMORY. The others must outlive it. Sets the nodes'
 *  events. */
EPDX_MUST_CHECK epdx_status_t epi_intake_init(epi_intake_t *intake,
                                              epi_receive_shared_t *shared,
                                              epi_nodes_t *nodes);

void epi_intake_order(epi_intake_t *intake, const epi_order_t *order,
                      uint64_t now);
void epi_intake_message(epi_intake_t *intake, const epi_message_t *message);
void epi_intake_event(epi_intake_t *intake, const epi_dp_event_t *event);

/** Deadlines and repeated asks; true when something was done. */
bool epi_intake_tick(epi_intake_t *intake, uint64_t now);

/** Withdraw every item, as at close. */
void epi_intake_close_all(epi_intake_t *intake);

void epi_intake_fini(epi_intake_t *intake);

/** Pieces of intake.c that offers.c uses. */
void epi_item_fail(epi_intake_t *intake, uint32_t slot, epdx_status_t status,
                   const char *words);
void epi_item_answered(epi_intake_t *intake, uint32_t slot);
void epi_item_settle(epi_intake_t *intake, uint32_t slot,
                     epi_report_kind_t report);

/** In withdraw.c. Tell the item's encode rank that it is not wanted: at once
 *  or, where that rank is not up, when it is reached. A cancel that is lost
 *  costs the encode rank a timeout. */
void epi_item_cancel(epi_intake_t *intake, uint32_t slot, const char *words);

/** Whether a slot is that of a withdrawal. */
bool epi_withdrawn(const epi_intake_t *intake, uint32_t slot);
/** Begin with one that was taken by epi_withdrawn_take(): it is sent at once
 *  where its encode rank is up. */
void epi_withdrawn_open(epi_intake_t *intake, uint32_t slot, uint64_t now);
/** Its encode rank is up: send it. */
void epi_withdrawn_up(epi_intake_t *intake, uint32_t slot);
/** Its time has come: to be tried again, or to be given up. */
void epi_withdrawn_due(epi_intake_t *intake, uint32_t slot, uint64_t now);
/** Give it up. */
void epi_withdrawn_end(epi_intake_t *intake, uint32_t slot);

#endif
