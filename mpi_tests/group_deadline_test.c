/*
 * group_deadline_test.c: a rank that comes late to a collective. Rank 1 enters
 * only after rank 0 has given up, which rank 0 tells it on the caller's own
 * communicator. What rank 0 then still gets from rank 1 may be written into
 * its memory at any time: see group/state_mpi.h.
 */
#include <string.h>

#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "group/group.h"
#include "harness.h"

#define TIMEOUT_NS (200 * EPI_MS)
#define ROW_BYTES  100000

/* Broken groups leak their communicators on purpose, these and no others: the
 * address sanitizer asks for this. */
const char *__lsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(
    void)
{
    return "leak:come_late\n";
}

/* Static, since a gather that was given up may still write to it. */
static uint8_t rows[4][2 * ROW_BYTES];

typedef epdx_status_t (*collective_t)(epdx_group_t *group);

static epdx_status_t reduce_codes(epdx_group_t *group)
{
    uint8_t codes[3] = {2, 1, 0};

    return group->ops->min_u8(group, codes, 3);
}

static epdx_status_t reduce_words(epdx_group_t *group)
{
    uint64_t words[3] = {2, 1, 0};

    return group->ops->min_u64(group, words, 3);
}

static epdx_status_t broadcast_from_1(epdx_group_t *group)
{
    char text[32] = "late";

    return group->ops->broadcast(group, text, sizeof(text), 1);
}

static epdx_status_t gather_rows(epdx_group_t *group)
{
    static const uint64_t starts[2] = {0, 1};
    static const uint64_t counts[2] = {1, 1};
    epi_gather_t gathers[4];
    size_t i;

    for (i = 0; i < 4; i++) {
        gathers[i] = (epi_gather_t){rows[i], ROW_BYTES, starts, counts};
    }
    return group->ops->gather(group, gathers, 4);
}

/** Rank 0 alone in the collective: it gets its answer, then tells rank 1. */
static epdx_status_t enter_alone(epdx_group_t *group, collective_t collective,
                                 bool *waited_p)
{
    uint64_t begin = epi_now_ns();
    epdx_status_t status = collective(group);
    char word = 0;

    *waited_p = epi_now_ns() - begin >= TIMEOUT_NS;
    MPI_Send(&word, 1, MPI_CHAR, 1, 0, harness_comm());
    return status;
}

/** Rank 1 comes late. What rank 0 has sent already may complete its part;
 *  then the collective after it has nobody to answer. */
static epdx_status_t enter_late(epdx_group_t *group, collective_t collective)
{
    epdx_status_t status;
    char word;

    MPI_Recv(&word, 1, MPI_CHAR, 0, 0, harness_comm(), MPI_STATUS_IGNORE);
    status = collective(group);
    return status == EPDX_OK ? reduce_words(group) : status;
}

static void come_late(collective_t collective)
{
    epdx_group_t *group = NULL;
    bool waited = true;
    epdx_status_t status;

    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), TIMEOUT_NS, &group),
                     EPDX_OK);
    HARNESS_AT("the collective that rank 1 enters late");
    if (harness_rank() == 0) {
        status = enter_alone(group, collective, &waited);
    } else {
        status = enter_late(group, collective);
    }
    CHECK_ALL_STATUS(status, EPDX_ERR_TIMEOUT);
    CHECK_ALL(strstr(epdx_last_error(), "deadline of 0.200 s") != NULL);
    CHECK_ALL(waited);
    CHECK_ALL_STATUS(collective(group), EPDX_ERR_GROUP);
    CHECK_ALL(strstr(epdx_last_error(), "broken") != NULL);
    HARNESS_AT("close of a broken group");
    epdx_group_close(group);
}

static void two_ranks(void)
{
    SKIP_ALL(harness_size() != 2 ? "needs exactly two ranks" : NULL);
}

static void late_to_min_u8(void)
{
    come_late(reduce_codes);
}

static void late_to_min_u64(void)
{
    come_late(reduce_words);
}

static void late_to_broadcast(void)
{
    come_late(broadcast_from_1);
}

static void late_to_gather(void)
{
    come_late(gather_rows);
}

/** The broken groups leave the caller's communicator and new groups alone. */
static void others_still_work(void)
{
    epdx_group_t *group = NULL;
    uint64_t word = 3 + (uint64_t)harness_rank();

    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), 0, &group), EPDX_OK);
    CHECK_ALL_STATUS(group->ops->min_u64(group, &word, 1), EPDX_OK);
    CHECK_ALL(word == 3);
    epdx_group_close(group);
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(two_ranks),       HARNESS_CASE(late_to_min_u8),
        HARNESS_CASE(late_to_min_u64), HARNESS_CASE(late_to_broadcast),
        HARNESS_CASE(late_to_gather),  HARNESS_CASE(others_still_work),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
