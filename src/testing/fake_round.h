/*
 * fake_round.h: what one collective of group_fake.c does, once every rank is
 * in it: whether they call the same, and the values. For group_fake.c only,
 * under its lock.
 */
#ifndef EPI_TESTING_FAKE_ROUND_H
#define EPI_TESTING_FAKE_ROUND_H

#include <stdbool.h>

#include "testing/group_fake.h"

/** What a rank calls. */
typedef struct epi_fake_call {
    epi_fake_op_t op;
    void *values; /* of a gather: its epi_gather_t */
    size_t count;
    uint32_t root;
} epi_fake_call_t;

const char *epi_fake_op_name(epi_fake_op_t op);

/** Whether two ranks' calls are one collective over size ranks. Blocks of a
 *  gather are the same rows on all ranks, at addresses of their own. */
bool epi_fake_round_same(const epi_fake_call_t *a, const epi_fake_call_t *b,
                         uint32_t size);

/** Carry out the call of size ranks, by rank, which are the same. */
void epi_fake_round_run(const epi_fake_call_t *calls, uint32_t size);

#endif
