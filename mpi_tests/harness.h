/*
 * harness.h: tests that are programs of several ranks under mpirun.
 *
 * The rule: every rank makes the same checks in the same order, and every rank
 * learns whether any rank's check failed. So all ranks end alike, and what
 * mpirun answers is what they all answer: 0, 1 (a check failed), 77 (skipped,
 * with the reason) or 124 (the time limit: each rank says where it is).
 *
 *     static void ranks_agree(void)
 *     {
 *         CHECK_ALL_STATUS(group->ops->min_u8(group, codes, 3), EPDX_OK);
 *         CHECK_ALL(harness_rank() != 0 || codes[0] == 1);
 *     }
 *     int main(int argc, char **argv)
 *     {
 *         static const harness_case_t cases[] = {HARNESS_CASE(ranks_agree)};
 *
 *         return harness_main(argc, argv, cases, 1);
 *     }
 */
#ifndef EPDX_MPI_TESTS_HARNESS_H
#define EPDX_MPI_TESTS_HARNESS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "epdx/status.h"

typedef struct harness_case {
    const char *name;
    void (*body)(void);
} harness_case_t;

#define HARNESS_CASE(body)                                                     \
    {                                                                          \
#body, body                                                            \
    }

/** Start MPI (MPI_THREAD_FUNNELED) and the watchdog, run the cases in order,
 *  end MPI; gives main's result. The first argument is the time limit of the
 *  whole program in seconds, 60 where there is none. */
int harness_main(int argc, char **argv, const harness_case_t *cases,
                 size_t count);

int harness_rank(void);
int harness_size(void);

/** The communicator of all ranks; the harness's own is another one. */
MPI_Comm harness_comm(void);

/** An argument after the time limit, NULL where there is none. */
const char *harness_argument(int index);

/** Check on all ranks. Returns when it holds on all of them; otherwise each
 *  rank where it does not says so with the place, and all ranks end with 1. */
#define CHECK_ALL(condition)                                                   \
    harness_check((condition), #condition, __FILE__, __LINE__)

/** The same of a call's status; says what epdx_last_error() says. */
#define CHECK_ALL_STATUS(call, expected)                                       \
    harness_check_status((call), (expected), #call, __FILE__, __LINE__)

/** Say where this rank is, for the watchdog, before something that may hang
 *  and that is not a check. */
#define HARNESS_AT(what) harness_at((what), __FILE__, __LINE__)

/** End the program with 77 on all ranks when any rank gives a reason. */
#define SKIP_ALL(reason) harness_skip((reason), __FILE__, __LINE__)

void harness_check(bool holds, const char *text, const char *file, int line);
void harness_check_status(epdx_status_t status, epdx_status_t expected,
                          const char *text, const char *file, int line);
void harness_at(const char *what, const char *file, int line);
void harness_skip(const char *reason, const char *file, int line);

#endif
