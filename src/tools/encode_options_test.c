/* encode_options_test.c: what options of epdx_encode say together. */
#include "tools/encode_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static epi_encode_options_t options;

static epdx_status_t parse(char **argv)
{
    const epi_encode_options_t preset = EPI_ENCODE_OPTIONS_PRESET;
    const char *show;

    options = preset;
    return epi_args_parse(&epi_encode_args, argv, &options, &show);
}

#define PARSE(...) parse((char *[]){"epdx_encode", __VA_ARGS__, NULL})

#define ASSERT_WRONG(words, ...)                                               \
    do {                                                                       \
        assert_int_equal(PARSE(__VA_ARGS__), EPDX_ERR_INVALID);                \
        assert_string_equal(epdx_last_error(), words);                         \
    } while (0)

static int no_launcher(void **state)
{
    (void)state;
    (void)unsetenv("OMPI_COMM_WORLD_SIZE");
    (void)unsetenv("OMPI_COMM_WORLD_RANK");
    (void)unsetenv("PMI_SIZE");
    (void)unsetenv("PMIX_RANK");
    (void)unsetenv("SLURM_NTASKS");
    (void)unsetenv("SLURM_PROCID");
    return 0;
}

static void alone_it_is_rank_0_of_1(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--workload", "w"), EPDX_OK);
    assert_int_equal(options.rank, 0);
    assert_int_equal(options.tp, 1);
    assert_int_equal(options.node.index, 0);
    assert_int_equal(options.node.count, 1);
    assert_false(options.mpi);
}

static void one_process_a_rank(void **state)
{
    (void)state;
    assert_int_equal(
        PARSE("--workload=w", "--tp=2", "--rank=1", "--bootstrap=h:1"),
        EPDX_OK);
    assert_int_equal(options.rank, 1);
    assert_int_equal(options.tp, 2);
    assert_int_equal(
        PARSE("--workload=w", "--tp=2", "--rank=0", "--listen=h:0"), EPDX_OK);
}

static void under_mpirun_the_ranks_are_its(void **state)
{
    (void)state;
    (void)setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_int_equal(PARSE("--workload=w"), EPDX_OK);
    assert_true(options.mpi);
    /* A rank of its own wins: the process is no rank of that mpirun. */
    assert_int_equal(PARSE("--workload=w", "--tp=1", "--rank=0"), EPDX_OK);
    assert_false(options.mpi);
}

static void a_source_is_needed(void **state)
{
    (void)state;
    ASSERT_WRONG("one of --workload and --npy is needed", "--once");
    ASSERT_WRONG("--workload and --npy do not go together", "--workload=w",
                 "--npy=d");
}

static void arrays_say_their_own_shape(void **state)
{
    const char *words = "--hidden, --dtype and --levels go with --workload; "
                        "the arrays of --npy say their own";

    (void)state;
    ASSERT_WRONG(words, "--npy=d", "--hidden=8");
    ASSERT_WRONG(words, "--npy=d", "--levels=0");
    ASSERT_WRONG(words, "--npy=d", "--dtype=float16");
}

static void listen_or_bootstrap(void **state)
{
    (void)state;
    ASSERT_WRONG("--listen and --bootstrap do not go together", "--workload=w",
                 "--listen=h:0", "--bootstrap=h:1");
}

static void several_ranks_need_a_rank(void **state)
{
    (void)state;
    ASSERT_WRONG("--tp 2: needs --rank, or an mpirun of as many ranks",
                 "--workload=w", "--tp=2");
}

static void rank_below_tp(void **state)
{
    (void)state;
    ASSERT_WRONG("--rank 2: is not below --tp, which is 2", "--workload=w",
                 "--tp=2", "--rank=2", "--bootstrap=h:1");
}

static void later_ranks_need_the_bootstrap(void **state)
{
    (void)state;
    ASSERT_WRONG("--rank 1: needs --bootstrap, the line that rank 0 prints",
                 "--workload=w", "--tp=2", "--rank=1");
}

static void once_of_several_processes(void **state)
{
    (void)state;
    ASSERT_WRONG("--once: several ranks must end together, and only under "
                 "mpirun can they",
                 "--workload=w", "--tp=2", "--rank=0", "--once");
    (void)setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_int_equal(PARSE("--workload=w", "--tp=2", "--once"), EPDX_OK);
}

static void a_hold_is_none_or_a_count(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--workload=w"), EPDX_OK);
    assert_int_equal(options.hold, EPI_ARG_UNSET);
    assert_int_equal(PARSE("--workload=w", "--hold=0"), EPDX_OK);
    assert_int_equal(options.hold, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(alone_it_is_rank_0_of_1, no_launcher),
        cmocka_unit_test_setup(one_process_a_rank, no_launcher),
        cmocka_unit_test_setup(under_mpirun_the_ranks_are_its, no_launcher),
        cmocka_unit_test_setup(a_source_is_needed, no_launcher),
        cmocka_unit_test_setup(arrays_say_their_own_shape, no_launcher),
        cmocka_unit_test_setup(listen_or_bootstrap, no_launcher),
        cmocka_unit_test_setup(several_ranks_need_a_rank, no_launcher),
        cmocka_unit_test_setup(rank_below_tp, no_launcher),
        cmocka_unit_test_setup(a_hold_is_none_or_a_count, no_launcher),
        cmocka_unit_test_setup(once_of_several_processes, no_launcher),
        cmocka_unit_test_setup(later_ranks_need_the_bootstrap, no_launcher),
    };

    return cmocka_run_group_tests_name("encode_options", tests, NULL, NULL);
}
