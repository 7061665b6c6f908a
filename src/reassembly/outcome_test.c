/* outcome_test.c: every rank learns the cause of the lowest that failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "reassembly/outcome.h"
#include "testing/group_fake.h"

#define RANKS 4

typedef struct scene {
    bool fails[RANKS];
    epdx_status_t status[RANKS];
    epi_outcome_t outcomes[RANKS];
    uint64_t made[RANKS];
} scene_t;

static void agree_rank(void *context, epdx_group_t *group)
{
    scene_t *scene = context;
    uint32_t r = group->rank;

    scene->outcomes[r] = epi_outcome_of(
        scene->fails[r] ? epi_fail(EPDX_ERR_IO, "rank %u is ill", r) : EPDX_OK);
    scene->status[r] =
        epi_outcome_agree(group, &scene->outcomes[r], &scene->made[r]);
}

static void agree(scene_t *scene, const epi_fake_fault_t *fault)
{
    epi_group_fake_t *fake;

    assert_int_equal(epi_group_fake_open(RANKS, &fake), EPDX_OK);
    if (fault != NULL) {
        epi_group_fake_fault(fake, fault);
    }
    epi_group_fake_run(fake, agree_rank, scene);
    epi_group_fake_close(fake);
}

static void success_costs_one_collective(void **state)
{
    scene_t scene = {.made = {0}};

    (void)state;
    agree(&scene, NULL);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene.status[r], EPDX_OK);
        assert_int_equal(scene.outcomes[r].status, EPDX_OK);
        assert_int_equal(scene.made[r], 1);
    }
}

static void the_lowest_failing_rank_is_quoted(void **state)
{
    scene_t scene = {.fails = {false, true, false, true}};

    (void)state;
    agree(&scene, NULL);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene.status[r], EPDX_OK);
        assert_int_equal(scene.outcomes[r].status, EPDX_ERR_IO);
        assert_int_equal(scene.outcomes[r].rank, 1);
        assert_string_equal(scene.outcomes[r].reason, "rank 1 is ill");
        assert_int_equal(scene.made[r], 2);
    }
}

static void error_of_the_group_comes_back(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_FAIL_ENTER, 2, EPI_FAKE_BROADCAST,
                                    0};
    scene_t scene = {.fails = {true, false, false, true}};

    (void)state;
    agree(&scene, &fault);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene.status[r],
                         r == 2 ? EPDX_ERR_GROUP : EPDX_ERR_TIMEOUT);
    }
    assert_string_equal(scene.outcomes[3].reason, "rank 3 is ill");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_costs_one_collective),
        cmocka_unit_test(the_lowest_failing_rank_is_quoted),
        cmocka_unit_test(error_of_the_group_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
