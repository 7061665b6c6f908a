/* group_mpi_test.c: the group over MPI with MPI mocked: its errors, its
 * deadline and what it asks of MPI. mpi_tests/ has the values over ranks. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "epdx/log.h"
#include "group/group.h"
#include "group/mock_mpi_test.h"

static char log_line[1024];

static void keep_line(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    (void)level;
    strncpy(log_line, line, sizeof(log_line) - 1);
}

static int setup(void **state)
{
    (void)state;
    mock_mpi_reset();
    memset(log_line, 0, sizeof(log_line));
    epdx_log_set_sink(keep_line, NULL);
    return 0;
}

static epdx_group_t *open_group(uint64_t timeout_ns)
{
    epdx_group_t *group = NULL;

    assert_int_equal(epdx_group_mpi(MPI_COMM_SELF, timeout_ns, &group),
                     EPDX_OK);
    assert_non_null(group);
    mock_mpi.blocking = 0;
    return group;
}

/** epdx_group_mpi() must answer with expected and words, and set nothing. */
static void expect_refused(MPI_Comm comm, epdx_status_t expected,
                           const char *words)
{
    epdx_group_t *untouched = (epdx_group_t *)log_line;
    epdx_group_t *group = untouched;

    assert_int_equal(epdx_group_mpi(comm, 0, &group), expected);
    assert_ptr_equal(group, untouched);
    assert_non_null(strstr(epdx_last_error(), words));
}

static void open_before_init_is_invalid(void **state)
{
    (void)state;
    mock_mpi.uninitialized = true;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_INVALID, "initialised");
}

static void open_after_finalize_is_invalid(void **state)
{
    (void)state;
    mock_mpi.finalized = true;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_INVALID, "MPI_Finalize");
}

static void open_of_comm_null_or_for_null_is_invalid(void **state)
{
    (void)state;
    expect_refused(MPI_COMM_NULL, EPDX_ERR_INVALID, "MPI_COMM_NULL");
    assert_int_equal(epdx_group_mpi(MPI_COMM_SELF, 0, NULL), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "group_p is NULL"));
}

static void open_of_intercommunicator_is_invalid(void **state)
{
    (void)state;
    mock_mpi.inter = true;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_INVALID, "inter-communicator");
}

static void open_refused_by_mpi_is_group(void **state)
{
    (void)state;
    mock_mpi.dup_code = MPI_ERR_INTERN;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_GROUP, "mock error");
    assert_int_equal(mock_mpi.handlers_set, 0);
}

static void open_whose_agreement_fails_is_group(void **state)
{
    (void)state;
    mock_mpi.allreduce_code = MPI_ERR_INTERN;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_GROUP, "first collective");
    assert_int_equal(mock_mpi.comms_freed, 1);
}

static void open_without_memory_is_no_memory(void **state)
{
    (void)state;
    mock_mpi.out_of_memory = true;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_NO_MEMORY, "on this rank");
    assert_int_equal(mock_mpi.dups, 1); /* so that no other rank waits */
    assert_int_equal(mock_mpi.comms_freed, 1);
}

static void open_without_memory_elsewhere_is_no_memory(void **state)
{
    (void)state;
    mock_mpi.other_rank_lacks_memory = true;
    expect_refused(MPI_COMM_SELF, EPDX_ERR_NO_MEMORY, "on another rank");
    assert_int_equal(mock_mpi.comms_freed, 1);
}

static void open_takes_rank_and_size(void **state)
{
    epdx_group_t *group;

    (void)state;
    mock_mpi.rank = 3;
    mock_mpi.size = 5;
    group = open_group(0);
    assert_int_equal(epdx_group_rank(group), 3);
    assert_int_equal(epdx_group_size(group), 5);
    epdx_group_close(group);
    assert_int_equal(mock_mpi.comms_freed, 1);
}

static void open_alone_under_srun_warns(void **state)
{
    (void)state;
    assert_int_equal(setenv("SLURM_STEP_NUM_TASKS", "4", 1), 0);
    epdx_group_close(open_group(0));
    assert_string_equal(log_line, "");
    mock_mpi.size = 1;
    epdx_group_close(open_group(0));
    assert_int_equal(unsetenv("SLURM_STEP_NUM_TASKS"), 0);
    assert_non_null(strstr(log_line, "srun started 4 tasks"));
}

static void without_deadline_calls_block(void **state)
{
    epdx_group_t *group = open_group(0);
    uint8_t code = 1;
    uint64_t word = 1;

    (void)state;
    assert_int_equal(group->ops->min_u8(group, &code, 1), EPDX_OK);
    assert_int_equal(group->ops->min_u64(group, &word, 1), EPDX_OK);
    assert_int_equal(group->ops->broadcast(group, &code, 1, 1), EPDX_OK);
    assert_int_equal(mock_mpi.blocking, 3);
    assert_int_equal(mock_mpi.posted, 0);
    epdx_group_close(group);
}

static void nothing_to_do_asks_nothing(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    assert_int_equal(group->ops->min_u8(group, NULL, 0), EPDX_OK);
    assert_int_equal(group->ops->min_u64(group, NULL, 0), EPDX_OK);
    assert_int_equal(group->ops->broadcast(group, NULL, 0, 0), EPDX_OK);
    assert_int_equal(group->ops->gather(group, NULL, 0), EPDX_OK);
    assert_int_equal(mock_mpi.blocking + mock_mpi.posted, 0);
    epdx_group_close(group);
}

static void with_deadline_values_are_posted_from_own_memory(void **state)
{
    epdx_group_t *group = open_group(EPI_S * 60);
    uint8_t codes[40000] = {7};

    (void)state;
    assert_int_equal(group->ops->min_u8(group, codes, sizeof(codes)), EPDX_OK);
    assert_ptr_not_equal(mock_mpi.posted_buffer, codes);
    assert_memory_equal(mock_mpi.posted_buffer, codes, sizeof(codes));
    assert_int_equal(group->ops->broadcast(group, codes, 8, 0), EPDX_OK);
    assert_ptr_not_equal(mock_mpi.posted_buffer, codes);
    assert_int_equal(mock_mpi.posted, 2);
    assert_int_equal(mock_mpi.blocking, 0);
    epdx_group_close(group);
}

static void passed_deadline_is_timeout_and_breaks_the_group(void **state)
{
    epdx_group_t *group = open_group(EPI_MS * 2);
    uint64_t word = 9;

    (void)state;
    mock_mpi.stuck = true;
    assert_int_equal(group->ops->min_u64(group, &word, 1), EPDX_ERR_TIMEOUT);
    assert_int_equal(word, 9);
    assert_non_null(strstr(epdx_last_error(), "min_u64 over 2 ranks"));
    assert_non_null(strstr(epdx_last_error(), "0.002 s"));
    assert_non_null(strstr(epdx_last_error(), "timeout_ns"));
    assert_string_equal(log_line, epdx_last_error());

    mock_mpi.stuck = false;
    assert_int_equal(group->ops->min_u64(group, &word, 1), EPDX_ERR_GROUP);
    assert_non_null(strstr(epdx_last_error(), "min_u64 refused: min_u64"));
    assert_int_equal(group->ops->broadcast(group, &word, 8, 0), EPDX_ERR_GROUP);
    assert_int_equal(mock_mpi.posted, 1);
    epdx_group_close(group);
}

static void broken_group_is_closed_without_freeing_its_communicator(
    void **state)
{
    epdx_group_t *group = open_group(EPI_MS);
    uint8_t code = 0;

    (void)state;
    mock_mpi.stuck = true;
    assert_int_equal(group->ops->min_u8(group, &code, 1), EPDX_ERR_TIMEOUT);
    epdx_group_close(group);
    assert_int_equal(mock_mpi.comms_freed, 0);
    assert_non_null(strstr(log_line, "leaked"));
}

static void close_after_finalize_asks_nothing_and_says_so(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    mock_mpi.finalized = true;
    epdx_group_close(group);
    assert_int_equal(mock_mpi.comms_freed, 0);
    assert_non_null(strstr(log_line, "MPI_Finalize"));
}

static void failed_reduction_is_group_and_breaks_it(void **state)
{
    epdx_group_t *group = open_group(0);
    uint8_t code = 0;

    (void)state;
    mock_mpi.allreduce_code = MPI_ERR_INTERN;
    assert_int_equal(group->ops->min_u8(group, &code, 1), EPDX_ERR_GROUP);
    assert_non_null(strstr(epdx_last_error(), "min_u8 over 2 ranks"));
    assert_non_null(strstr(epdx_last_error(), "mock error"));
    mock_mpi.allreduce_code = MPI_SUCCESS;
    assert_int_equal(group->ops->min_u8(group, &code, 1), EPDX_ERR_GROUP);
    assert_int_equal(mock_mpi.blocking, 1);
    epdx_group_close(group);
}

static void failed_broadcast_is_group(void **state)
{
    epdx_group_t *group = open_group(0);
    uint8_t code = 0;

    (void)state;
    mock_mpi.bcast_code = MPI_ERR_INTERN;
    assert_int_equal(group->ops->broadcast(group, &code, 1, 0), EPDX_ERR_GROUP);
    epdx_group_close(group);
}

static void broadcast_from_a_rank_too_high_is_invalid(void **state)
{
    epdx_group_t *group = open_group(0);
    uint8_t code = 0;

    (void)state;
    assert_int_equal(group->ops->broadcast(group, &code, 1, 2),
                     EPDX_ERR_INVALID);
    assert_int_equal(group->ops->broadcast(group, &code, 1, 1), EPDX_OK);
    epdx_group_close(group);
}

static void failed_post_is_group(void **state)
{
    epdx_group_t *group = open_group(EPI_S);
    uint64_t word = 0;

    (void)state;
    mock_mpi.post_code = MPI_ERR_INTERN;
    assert_int_equal(group->ops->min_u64(group, &word, 1), EPDX_ERR_GROUP);
    epdx_group_close(group);
}

static void failed_wait_is_group(void **state)
{
    epdx_group_t *group = open_group(EPI_S);
    uint64_t word = 5;

    (void)state;
    mock_mpi.wait_code = MPI_ERR_INTERN;
    assert_int_equal(group->ops->min_u64(group, &word, 1), EPDX_ERR_GROUP);
    assert_int_equal(word, 5);
    epdx_group_close(group);
}

static void values_without_memory_break_the_group(void **state)
{
    epdx_group_t *group = open_group(EPI_S);
    static uint8_t codes[1 << 20];

    (void)state;
    mock_mpi.out_of_memory = true;
    assert_int_equal(group->ops->min_u8(group, codes, sizeof(codes)),
                     EPDX_ERR_GROUP);
    mock_mpi.out_of_memory = false;
    assert_int_equal(mock_mpi.posted, 0);
    epdx_group_close(group);
}

static void too_many_values_is_too_large(void **state)
{
    epdx_group_t *group = open_group(0);
    uint8_t code = 3;
    size_t many = (size_t)INT_MAX + 1;

    (void)state;
    assert_int_equal(group->ops->min_u8(group, &code, many),
                     EPDX_ERR_TOO_LARGE);
    assert_int_equal(group->ops->min_u64(group, (uint64_t *)log_line, many),
                     EPDX_ERR_TOO_LARGE);
    assert_int_equal(group->ops->broadcast(group, &code, many, 0),
                     EPDX_ERR_TOO_LARGE);
    assert_int_equal(group->ops->min_u8(group, &code, 1), EPDX_OK);
    epdx_group_close(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_before_init_is_invalid, setup),
        cmocka_unit_test_setup(open_after_finalize_is_invalid, setup),
        cmocka_unit_test_setup(open_of_comm_null_or_for_null_is_invalid, setup),
        cmocka_unit_test_setup(open_of_intercommunicator_is_invalid, setup),
        cmocka_unit_test_setup(open_refused_by_mpi_is_group, setup),
        cmocka_unit_test_setup(open_whose_agreement_fails_is_group, setup),
        cmocka_unit_test_setup(open_without_memory_is_no_memory, setup),
        cmocka_unit_test_setup(open_without_memory_elsewhere_is_no_memory,
                               setup),
        cmocka_unit_test_setup(open_takes_rank_and_size, setup),
        cmocka_unit_test_setup(open_alone_under_srun_warns, setup),
        cmocka_unit_test_setup(without_deadline_calls_block, setup),
        cmocka_unit_test_setup(nothing_to_do_asks_nothing, setup),
        cmocka_unit_test_setup(with_deadline_values_are_posted_from_own_memory,
                               setup),
        cmocka_unit_test_setup(passed_deadline_is_timeout_and_breaks_the_group,
                               setup),
        cmocka_unit_test_setup(
            broken_group_is_closed_without_freeing_its_communicator, setup),
        cmocka_unit_test_setup(close_after_finalize_asks_nothing_and_says_so,
                               setup),
        cmocka_unit_test_setup(failed_reduction_is_group_and_breaks_it, setup),
        cmocka_unit_test_setup(failed_broadcast_is_group, setup),
        cmocka_unit_test_setup(broadcast_from_a_rank_too_high_is_invalid,
                               setup),
        cmocka_unit_test_setup(failed_post_is_group, setup),
        cmocka_unit_test_setup(failed_wait_is_group, setup),
        cmocka_unit_test_setup(values_without_memory_break_the_group, setup),
        cmocka_unit_test_setup(too_many_values_is_too_large, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
