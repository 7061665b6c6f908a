/* doctor_launch_test.c: launchers that work, and each way not to. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"
#include "tools/facts.h"

static void expect(const epi_launch_facts_t *facts, epi_verdict_t verdict,
                   const char *words)
{
    static epi_findings_t findings;

    findings.count = 0;
    epi_doctor_launch(facts, &findings);
    epi_says(&findings, "launch.start", verdict, words);
}

static epi_launch_facts_t fine(epi_launcher_t launcher, uint64_t tasks)
{
    return (epi_launch_facts_t){.library = "Open MPI v4.1.4",
                                .launcher = launcher,
                                .tasks = tasks,
                                .ranks = tasks};
}

static void test_ranks_that_find_each_other(void **state)
{
    epi_launch_facts_t facts = fine(EPI_LAUNCHER_NONE, 2);

    (void)state;
    expect(&facts, EPI_VERDICT_OK,
           "mpirun starts a job of 2 ranks (Open MPI v4.1.4)");
    facts = fine(EPI_LAUNCHER_MPIRUN, 8);
    expect(&facts, EPI_VERDICT_OK, "mpirun starts a job of 8 ranks");
    facts = fine(EPI_LAUNCHER_SRUN, 1);
    expect(&facts, EPI_VERDICT_OK, "srun starts a job of 1 ranks");
}

static void test_singletons_under_srun(void **state)
{
    epi_launch_facts_t facts = fine(EPI_LAUNCHER_SRUN, 4);

    (void)state;
    facts.ranks = 1;
    expect(&facts, EPI_VERDICT_FAIL,
           "srun started 4 tasks, and MPI made jobs of 1 rank");
}

static void test_mpirun_of_another_mpi(void **state)
{
    epi_launch_facts_t facts = fine(EPI_LAUNCHER_NONE, 2);

    (void)state;
    facts.ranks = 1;
    expect(&facts, EPI_VERDICT_FAIL, "it is not the mpirun of Open MPI v4.1.4");
}

static void test_without_mpirun_one_rank_still_works(void **state)
{
    epi_launch_facts_t facts = fine(EPI_LAUNCHER_NONE, 2);

    (void)state;
    facts.ranks = 0;
    facts.no_mpirun = true;
    expect(&facts, EPI_VERDICT_WARN, "no mpirun in PATH");
}

static void test_mpi_that_does_not_start(void **state)
{
    epi_launch_facts_t facts = fine(EPI_LAUNCHER_NONE, 2);

    (void)state;
    facts.ranks = 0;
    memcpy(facts.error, "no slots", sizeof("no slots"));
    expect(&facts, EPI_VERDICT_FAIL, "mpirun does not start ranks: no slots");
    facts.launcher = EPI_LAUNCHER_SRUN;
    expect(&facts, EPI_VERDICT_FAIL, "a task of srun cannot start MPI");
}

static void parse(const char *said, uint64_t ranks, const char *error)
{
    epi_launch_facts_t facts = {.ranks = 7};

    epi_launch_parse(said, &facts);
    assert_int_equal(facts.ranks, ranks);
    assert_string_equal(facts.error, error);
}

static void test_what_ranks_say_is_read(void **state)
{
    (void)state;
    parse("rank 0 of 2\nrank 1 of 2\n", 2, "");
    parse("rank 0 of 1\nrank 0 of 1\n", 1, "");
    parse("a warning\nrank 0 of 4\n", 4, "a warning");
    parse("----------\nit failed\n  \n", 0, "it failed");
    parse("it failed\nnot built with PMI support\nabort\n", 0,
          "not built with PMI support");
    parse("rank 0 of 0\n", 0, "rank 0 of 0");
    parse("rank 0 of 2x\n", 0, "rank 0 of 2x");
    parse("rank 0 of 3", 3, "");
    parse("", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_that_find_each_other),
        cmocka_unit_test(test_singletons_under_srun),
        cmocka_unit_test(test_mpirun_of_another_mpi),
        cmocka_unit_test(test_without_mpirun_one_rank_still_works),
        cmocka_unit_test(test_mpi_that_does_not_start),
        cmocka_unit_test(test_what_ranks_say_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
