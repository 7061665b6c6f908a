/* world_test.c: what the launcher's environment says. */
#include "tools/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int clear(void **state)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMIX_RANK",
        "SLURM_NTASKS",         "SLURM_PROCID"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)unsetenv(names[i]);
    }
    return 0;
}

static void no_launcher(void **state)
{
    (void)state;
    assert_false(epi_world_launched());
    assert_int_equal(epi_world_env_rank(), 0);
}

static void mpirun(void **state)
{
    (void)state;
    (void)setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    (void)setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_false(epi_world_launched());
    (void)setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    (void)setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    assert_true(epi_world_launched());
    assert_int_equal(epi_world_env_rank(), 3);
}

static void pmix_only_says_the_rank(void **state)
{
    (void)state;
    (void)setenv("PMIX_RANK", "2", 1);
    assert_true(epi_world_launched());
    assert_int_equal(epi_world_env_rank(), 2);
}

static void srun(void **state)
{
    (void)state;
    (void)setenv("SLURM_NTASKS", "2", 1);
    (void)setenv("SLURM_PROCID", "1", 1);
    assert_true(epi_world_launched());
    assert_int_equal(epi_world_env_rank(), 1);
}

static void nonsense_is_passed_over(void **state)
{
    (void)state;
    (void)setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
    (void)setenv("OMPI_COMM_WORLD_RANK", "-1", 1);
    assert_false(epi_world_launched());
    assert_int_equal(epi_world_env_rank(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_launcher, clear),
        cmocka_unit_test_setup(mpirun, clear),
        cmocka_unit_test_setup(pmix_only_says_the_rank, clear),
        cmocka_unit_test_setup(srun, clear),
        cmocka_unit_test_setup(nonsense_is_passed_over, clear),
    };

    return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
