/* reassembly_test.c: a plan carried out over a group of threads. mpi_tests/
 * does the same over MPI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "epdx/shard.h"
#include "reassembly/reassembly.h"
#include "testing/group_fake.h"

#define RANKS         3
#define SPAN          5
#define MAIN_ROW      4
#define DEEPSTACK_ROW 6

typedef struct rank_rows {
    uint8_t main[SPAN * MAIN_ROW];
    uint8_t deepstack[SPAN * DEEPSTACK_ROW];
    epdx_status_t status;
    char reason[EPDX_REASON_MAX];
} rank_rows_t;

typedef struct scene {
    epi_group_fake_t *fake;
    bool skipped; /* the item has no rows here: nothing to rebuild */
    rank_rows_t ranks[RANKS];
} scene_t;

static int setup(void **state)
{
    static scene_t scene;

    memset(&scene, 0, sizeof(scene));
    *state = &scene;
    return epi_group_fake_open(RANKS, &scene.fake) == EPDX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    scene_t *scene = *state;

    epi_group_fake_close(scene->fake);
    return 0;
}

/** The byte that row holds, in main or in deepstack. */
static int row_byte(uint64_t row, bool deepstack)
{
    return (int)(1 + row + (deepstack ? 100 : 0));
}

static void fill_share(rank_rows_t *rows, epdx_rows_t share)
{
    uint64_t row;

    for (row = share.start; row < share.start + share.count; row++) {
        memset(rows->main + row * MAIN_ROW, row_byte(row, false), MAIN_ROW);
        memset(rows->deepstack + row * DEEPSTACK_ROW, row_byte(row, true),
               DEEPSTACK_ROW);
    }
}

static epdx_status_t carry_out(epdx_group_t *group, const epi_plan_t *plan)
{
    const epi_reassembly_params_t params = {
        .memory = {.ops = epi_memory_host()}};
    epi_reassembly_t *reassembly = NULL;
    void *ready = &reassembly;
    epdx_status_t status = epi_reassembly_open(group, &params, &reassembly);

    if (status == EPDX_OK) {
        status = reassembly->ops->run(reassembly, plan, &ready);
        (void)epi_reassembly_close(reassembly);
    }
    /* Whole already: there is nothing to wait for. */
    return status == EPDX_OK && ready != NULL ? EPDX_ERR_INVALID : status;
}

static epdx_status_t run_plan(const scene_t *scene, epdx_group_t *group,
                              rank_rows_t *rows, epi_plan_t *plan)
{
    epdx_landed_t item = {
        .span = SPAN,
        .share = epdx_shard_rows(SPAN, group->rank, RANKS),
        .main = scene->skipped ? NULL : rows->main,
        .deepstack = scene->skipped ? NULL : rows->deepstack,
    };
    epdx_status_t status;

    fill_share(rows, item.share);
    status = epi_plan_add(plan, &item, group->rank, MAIN_ROW, DEEPSTACK_ROW);
    if (status != EPDX_OK) {
        return status;
    }
    return carry_out(group, plan);
}

static void rebuild(void *context, epdx_group_t *group)
{
    scene_t *scene = context;
    rank_rows_t *rows = &scene->ranks[group->rank];
    epi_plan_t plan;

    rows->status = epi_plan_init(&plan, 1, RANKS);
    if (rows->status == EPDX_OK) {
        rows->status = run_plan(scene, group, rows, &plan);
        strncpy(rows->reason, epdx_last_error(), EPDX_REASON_MAX - 1);
        epi_plan_fini(&plan);
    }
}

static void every_rank_has_every_row(void **state)
{
    scene_t *scene = *state;
    rank_rows_t expected = {.status = EPDX_OK};
    uint32_t r;

    fill_share(&expected, (epdx_rows_t){0, SPAN});
    epi_group_fake_run(scene->fake, rebuild, scene);
    for (r = 0; r < RANKS; r++) {
        assert_int_equal(scene->ranks[r].status, EPDX_OK);
        assert_memory_equal(scene->ranks[r].main, expected.main,
                            sizeof(expected.main));
        assert_memory_equal(scene->ranks[r].deepstack, expected.deepstack,
                            sizeof(expected.deepstack));
        assert_int_equal(epi_group_fake_count(scene->fake, r, EPI_FAKE_GATHER),
                         1);
    }
}

static void nothing_to_rebuild_makes_no_collective(void **state)
{
    scene_t *scene = *state;
    uint32_t r;

    scene->skipped = true;
    epi_group_fake_run(scene->fake, rebuild, scene);
    for (r = 0; r < RANKS; r++) {
        assert_int_equal(scene->ranks[r].status, EPDX_OK);
        assert_int_equal(epi_group_fake_count(scene->fake, r, EPI_FAKE_ANY), 0);
    }
}

static void error_of_the_group_comes_back(void **state)
{
    scene_t *scene = *state;
    const epi_fake_fault_t fault = {EPI_FAKE_FAIL_ENTER, 1, EPI_FAKE_GATHER, 0};

    epi_group_fake_fault(scene->fake, &fault);
    epi_group_fake_run(scene->fake, rebuild, scene);
    assert_int_equal(scene->ranks[0].status, EPDX_ERR_TIMEOUT);
    assert_int_equal(scene->ranks[1].status, EPDX_ERR_GROUP);
    assert_int_equal(scene->ranks[2].status, EPDX_ERR_TIMEOUT);
    assert_non_null(strstr(scene->ranks[0].reason, "gather"));
}

static void host_batches_are_complete_at_once(void **state)
{
    scene_t *scene = *state;
    const epi_reassembly_params_t params = {
        .memory = {.ops = epi_memory_host()}};
    epi_reassembly_t *reassembly = NULL;

    assert_int_equal(epi_reassembly_open(epi_group_fake_rank(scene->fake, 0),
                                         &params, &reassembly),
                     EPDX_OK);
    assert_string_equal(reassembly->ops->name, "host");
    assert_false(reassembly->ops->deferred);
    assert_int_equal(reassembly->ops->poll(reassembly), EPDX_OK);
    assert_int_equal(reassembly->launched, 0);
    assert_true(epi_reassembly_close(reassembly));
    assert_true(epi_reassembly_close(NULL));
    /* Nor does opening, or closing, cost a collective. */
    assert_int_equal(epi_group_fake_count(scene->fake, 0, EPI_FAKE_ANY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_rank_has_every_row, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_to_rebuild_makes_no_collective,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(error_of_the_group_comes_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(host_batches_are_complete_at_once,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
