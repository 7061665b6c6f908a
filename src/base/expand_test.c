/* expand_test.c: %h, %p, %r and %% in names of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/expand.h"

static void no_ranks(void)
{
    (void)unsetenv("OMPI_COMM_WORLD_RANK");
    (void)unsetenv("PMIX_RANK");
    (void)unsetenv("SLURM_PROCID");
    (void)unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    (void)unsetenv("MPI_LOCALRANKID");
    (void)unsetenv("SLURM_LOCALID");
}

static void names_are_filled_in(void **state)
{
    char want[300];
    char out[300];
    char host[EPI_HOST_BYTES];

    (void)state;
    no_ranks();
    epi_host_name(host);
    assert_int_equal(epi_expand("S", "/t/%h.%p.%r.%%h", out, sizeof(out)),
                     EPDX_OK);
    (void)snprintf(want, sizeof(want), "/t/%s.%ld.0.%%h", host, (long)getpid());
    assert_string_equal(out, want);
}

static void the_launchers_are_asked_in_order(void **state)
{
    (void)state;
    no_ranks();
    assert_string_equal(epi_rank_text(), "0");
    (void)setenv("SLURM_PROCID", "3", 1);
    assert_string_equal(epi_rank_text(), "3");
    (void)setenv("PMIX_RANK", "2", 1);
    assert_string_equal(epi_rank_text(), "2");
    (void)setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    assert_string_equal(epi_rank_text(), "1");
    (void)setenv("OMPI_COMM_WORLD_RANK", "", 1);
    assert_string_equal(epi_rank_text(), "2");
    no_ranks();
}

static void the_local_rank_is_a_number(void **state)
{
    (void)state;
    no_ranks();
    assert_int_equal(epi_local_rank(), 0);
    (void)setenv("SLURM_LOCALID", "5", 1);
    assert_int_equal(epi_local_rank(), 5);
    (void)setenv("OMPI_COMM_WORLD_LOCAL_RANK", "7", 1);
    assert_int_equal(epi_local_rank(), 7);
    (void)setenv("OMPI_COMM_WORLD_LOCAL_RANK", "seven", 1);
    assert_int_equal(epi_local_rank(), 0);
    no_ranks();
}

static void what_does_not_fit_is_told(void **state)
{
    char out[8] = "kept";

    (void)state;
    assert_int_equal(epi_expand("S", "1234567", out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "1234567");
    assert_int_equal(epi_expand("S", "12345678", out, sizeof(out)),
                     EPDX_ERR_TOO_LARGE);
    assert_string_equal(epdx_last_error(), "S is too long");
}

static void another_sequence_is_refused_by_name(void **state)
{
    char out[64];

    (void)state;
    assert_int_equal(epi_expand("EPDX_LOG_FILE", "/t/%z", out, sizeof(out)),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "EPDX_LOG_FILE has %z, which is none of %h (host), %p "
                        "(process id), %r (rank) and %% (a %)");
    assert_int_equal(epi_expand("S", "/t/100%", out, sizeof(out)),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "S has %, which is none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_filled_in),
        cmocka_unit_test(the_launchers_are_asked_in_order),
        cmocka_unit_test(the_local_rank_is_a_number),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(another_sequence_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
