/* gather_mpi_test.c: what a gather asks of MPI, with MPI mocked. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "group/group.h"
#include "group/mock_mpi_test.h"

#define MANY 600

static const uint64_t starts[2] = {0, 1};
static const uint64_t counts[2] = {1, 1};
static epi_gather_t gathers[MANY];
static uint8_t rows[2 * MANY];

static int setup(void **state)
{
    size_t i;

    (void)state;
    mock_mpi_reset();
    for (i = 0; i < MANY; i++) {
        gathers[i] = (epi_gather_t){rows, 1, starts, counts};
    }
    return 0;
}

static epdx_group_t *open_group(uint64_t timeout_ns)
{
    epdx_group_t *group = NULL;

    assert_int_equal(epdx_group_mpi(MPI_COMM_SELF, timeout_ns, &group),
                     EPDX_OK);
    return group;
}

static void all_gathers_of_a_drain_wait_once(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    assert_int_equal(group->ops->gather(group, gathers, 200), EPDX_OK);
    assert_int_equal(mock_mpi.posted, 200);
    assert_int_equal(mock_mpi.in_flight_most, 200);
    assert_int_equal(mock_mpi.waits, 1);
    assert_int_equal(mock_mpi.types_made, 1);
    epdx_group_close(group);
    assert_int_equal(mock_mpi.types_freed, 1);
}

static void at_most_256_are_in_flight(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    assert_int_equal(group->ops->gather(group, gathers, MANY), EPDX_OK);
    assert_int_equal(mock_mpi.posted, MANY);
    assert_int_equal(mock_mpi.in_flight_most, 256);
    assert_int_equal(mock_mpi.waits, 3);
    assert_int_equal(mock_mpi.in_flight, 0);
    epdx_group_close(group);
}

static void steady_state_makes_no_datatype(void **state)
{
    epdx_group_t *group = open_group(0);
    int round;

    (void)state;
    gathers[1].row_bytes = 3;
    for (round = 0; round < 5; round++) {
        assert_int_equal(group->ops->gather(group, gathers, 4), EPDX_OK);
    }
    assert_int_equal(mock_mpi.types_made, 2);
    assert_int_equal(mock_mpi.types_freed, 0);
    epdx_group_close(group);
}

static void datatypes_in_flight_are_not_freed(void **state)
{
    epdx_group_t *group = open_group(0);
    size_t i;

    (void)state;
    for (i = 0; i < 40; i++) {
        gathers[i].row_bytes = 1 + i;
    }
    assert_int_equal(group->ops->gather(group, gathers, 40), EPDX_OK);
    assert_int_equal(mock_mpi.posted, 40);
    assert_int_equal(mock_mpi.types_made, 40);
    assert_int_equal(mock_mpi.types_freed, 40 - 16);
    assert_int_equal(mock_mpi.types_freed_in_flight, 0);
    epdx_group_close(group);
    assert_int_equal(mock_mpi.types_freed, 40);
}

static void expect_too_large(epi_gather_t gather)
{
    epdx_group_t *group = open_group(0);

    gathers[1] = gather;
    assert_int_equal(group->ops->gather(group, gathers, 2), EPDX_ERR_TOO_LARGE);
    assert_non_null(strstr(epdx_last_error(), "gather 1"));
    assert_int_equal(mock_mpi.posted, 0);
    gathers[1] = gathers[0];
    assert_int_equal(group->ops->gather(group, gathers, 2), EPDX_OK);
    epdx_group_close(group);
}

static void too_many_rows_is_too_large(void **state)
{
    const uint64_t many[2] = {1, (uint64_t)INT_MAX + 1};

    (void)state;
    expect_too_large((epi_gather_t){rows, 1, starts, many});
}

static void row_start_too_high_is_too_large(void **state)
{
    const uint64_t far[2] = {UINT64_C(1) << 40, 0};

    (void)state;
    expect_too_large((epi_gather_t){rows, 1, far, counts});
}

static void rows_too_wide_is_too_large(void **state)
{
    (void)state;
    expect_too_large((epi_gather_t){rows, (size_t)INT_MAX + 1, starts, counts});
}

static void rows_without_bytes_is_invalid(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    gathers[0].row_bytes = 0;
    assert_int_equal(group->ops->gather(group, gathers, 1), EPDX_ERR_INVALID);
    assert_int_equal(mock_mpi.posted, 0);
    epdx_group_close(group);
}

static void passed_deadline_is_timeout(void **state)
{
    epdx_group_t *group = open_group(EPI_MS * 2);

    (void)state;
    mock_mpi.stuck = true;
    assert_int_equal(group->ops->gather(group, gathers, 3), EPDX_ERR_TIMEOUT);
    assert_non_null(strstr(epdx_last_error(), "gather over 2 ranks"));
    assert_int_equal(group->ops->gather(group, gathers, 3), EPDX_ERR_GROUP);
    assert_int_equal(mock_mpi.posted, 3);
    epdx_group_close(group);
    assert_int_equal(mock_mpi.comms_freed, 0);
}

static void passed_deadline_of_a_batch_is_timeout(void **state)
{
    epdx_group_t *group = open_group(EPI_MS * 2);

    (void)state;
    mock_mpi.stuck = true;
    assert_int_equal(group->ops->gather(group, gathers, 300), EPDX_ERR_TIMEOUT);
    assert_int_equal(mock_mpi.posted, 256);
    epdx_group_close(group);
}

static void failed_post_is_group(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    mock_mpi.post_code = MPI_ERR_INTERN;
    assert_int_equal(group->ops->gather(group, gathers, 1), EPDX_ERR_GROUP);
    epdx_group_close(group);
}

static void failed_wait_is_group(void **state)
{
    epdx_group_t *group = open_group(0);

    (void)state;
    mock_mpi.wait_code = MPI_ERR_INTERN;
    assert_int_equal(group->ops->gather(group, gathers, 1), EPDX_ERR_GROUP);
    epdx_group_close(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_gathers_of_a_drain_wait_once, setup),
        cmocka_unit_test_setup(at_most_256_are_in_flight, setup),
        cmocka_unit_test_setup(steady_state_makes_no_datatype, setup),
        cmocka_unit_test_setup(datatypes_in_flight_are_not_freed, setup),
        cmocka_unit_test_setup(too_many_rows_is_too_large, setup),
        cmocka_unit_test_setup(row_start_too_high_is_too_large, setup),
        cmocka_unit_test_setup(rows_too_wide_is_too_large, setup),
        cmocka_unit_test_setup(rows_without_bytes_is_invalid, setup),
        cmocka_unit_test_setup(passed_deadline_is_timeout, setup),
        cmocka_unit_test_setup(passed_deadline_of_a_batch_is_timeout, setup),
        cmocka_unit_test_setup(failed_post_is_group, setup),
        cmocka_unit_test_setup(failed_wait_is_group, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
