/*
 * group_fake.h: a group of threads in one process, for tests. Each rank's
 * group is used by one thread; together they are one epi_group_fake_t.
 *
 * A collective that some rank cannot enter any more (a fault keeps it out)
 * gives EPDX_ERR_TIMEOUT on the others as soon as they are all in it: no test
 * waits for a clock. A rank that just never calls is given up after 30 s. Ranks
 * that enter different collectives (operation, sizes, root) learn it:
 * EPDX_ERR_GROUP with both in words. Any such error breaks the group for all
 * its ranks; further collectives give EPDX_ERR_GROUP at once.
 */
#ifndef EPI_TESTING_GROUP_FAKE_H
#define EPI_TESTING_GROUP_FAKE_H

#include <stddef.h>
#include <stdint.h>

#include "group/group.h"

typedef struct epi_group_fake epi_group_fake_t;

/** The collectives, to count and to name them. */
typedef enum epi_fake_op {
    EPI_FAKE_MIN_U8,
    EPI_FAKE_MIN_U64,
    EPI_FAKE_BROADCAST,
    EPI_FAKE_GATHER,
    EPI_FAKE_ANY, /* in a fault: whichever; never counted */
} epi_fake_op_t;

/** Where in a collective a fault strikes, and what it does. */
typedef enum epi_fake_fault_kind {
    /** The rank fails before it enters: the others pass their deadline. */
    EPI_FAKE_FAIL_ENTER,
    /** The collective is done everywhere, then the rank fails. */
    EPI_FAKE_FAIL_LEAVE,
    /** The rank enters only after epi_group_fake_let_go(). */
    EPI_FAKE_HOLD_ENTER,
    /** The rank enters only once the others have passed their deadline. */
    EPI_FAKE_LATE_ENTER,
} epi_fake_fault_kind_t;

typedef struct epi_fake_fault {
    epi_fake_fault_kind_t kind;
    uint32_t rank;
    epi_fake_op_t op;
    uint64_t nth; /* of that rank's collectives of that op; the first is 0 */
} epi_fake_fault_t;

/** EPDX_ERR_INVALID: no rank; EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_group_fake_open(uint32_t size,
                                                  epi_group_fake_t **fake_p);

/** A rank's group. epdx_group_close() of it does nothing: it is the fake's. */
epdx_group_t *epi_group_fake_rank(epi_group_fake_t *fake, uint32_t rank);

/** Set the one fault of a rank, replacing an earlier one. It strikes once. Any
 *  thread. */
void epi_group_fake_fault(epi_group_fake_t *fake,
                          const epi_fake_fault_t *fault);

/** Let ranks that are held, or will be, enter. Any thread. */
void epi_group_fake_let_go(epi_group_fake_t *fake);

/** Wait until rank is held by its fault; false when 30 s have passed. */
bool epi_group_fake_await_held(epi_group_fake_t *fake, uint32_t rank);

/** Collectives of an operation that a rank has begun. Any thread. */
uint64_t epi_group_fake_count(epi_group_fake_t *fake, uint32_t rank,
                              epi_fake_op_t op);

/** Run body(context, group) on a thread a rank and wait for all of them. The
 *  bodies keep what they see; the test asserts on it afterwards.
 *  Aborts when a thread cannot be made. */
void epi_group_fake_run(epi_group_fake_t *fake,
                        void (*body)(void *context, epdx_group_t *group),
                        void *context);

/** NULL is allowed. No thread may still use a rank's group. */
void epi_group_fake_close(epi_group_fake_t *fake);

#endif
