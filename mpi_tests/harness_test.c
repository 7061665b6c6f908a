/*
 * harness_test.c: the harness itself, made to fail on rank 1 on purpose: the
 * argument after the time limit says how. CTest looks at what it prints.
 */
#include <string.h>

#include "harness.h"

static bool asked_for(const char *what)
{
    const char *argument = harness_argument(0);

    return argument != NULL && strcmp(argument, what) == 0;
}

static void check_fails_on_rank_1(void)
{
    CHECK_ALL(!asked_for("fail") || harness_rank() != 1);
}

static void status_fails_on_rank_1(void)
{
    epdx_status_t status =
        asked_for("status") && harness_rank() == 1 ? EPDX_ERR_TIMEOUT : EPDX_OK;

    CHECK_ALL_STATUS(status, EPDX_OK);
}

static void rank_1_is_elsewhere(void)
{
    if (asked_for("stray") && harness_rank() == 1) {
        CHECK_ALL(true);
    } else {
        CHECK_ALL(true);
    }
}

static void rank_1_skips(void)
{
    SKIP_ALL(asked_for("skip") && harness_rank() == 1 ? "rank 1 cannot" : NULL);
}

static void rank_1_hangs(void)
{
    if (asked_for("hang") && harness_rank() == 1) {
        MPI_Status status;
        char word;

        HARNESS_AT("a message that nobody sends");
        MPI_Recv(&word, 1, MPI_CHAR, 1, 0, harness_comm(), &status);
    }
    CHECK_ALL(true);
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(check_fails_on_rank_1),
        HARNESS_CASE(status_fails_on_rank_1),
        HARNESS_CASE(rank_1_is_elsewhere),
        HARNESS_CASE(rank_1_skips),
        HARNESS_CASE(rank_1_hangs),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
