/* nccl_none_test.c: a build without NCCL, also beside one that has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "reassembly/reassembly.h"
#include "reassembly/same.h"
#include "testing/group_fake.h"

#define RANKS 3

typedef struct rank_end {
    epdx_status_t status;
    char words[EPDX_REASON_MAX];
} rank_end_t;

typedef struct scene {
    uint32_t without; /* the first rank that has no NCCL */
    rank_end_t ends[RANKS];
} scene_t;

static void open_rank(void *context, epdx_group_t *group)
{
    static const epi_memory_ops_t cuda = {.kind = EPI_MEMORY_CUDA};
    const epi_reassembly_params_t params = {.memory = {.ops = &cuda}};
    const epi_same_t same = {.version = 22809};
    scene_t *scene = context;
    rank_end_t *end = &scene->ends[group->rank];
    epi_outcome_t prepared = {.status = EPDX_OK};
    epi_reassembly_t *reassembly = NULL;
    uint64_t made = 0;

    end->status = group->rank >= scene->without
                      ? epi_reassembly_open(group, &params, &reassembly)
                      : epi_same_agree(group, &same, &prepared, &made);
    (void)snprintf(end->words, sizeof(end->words), "%s", epdx_last_error());
}

static void check(uint32_t without, const char *words)
{
    scene_t scene = {.without = without};
    epi_group_fake_t *fake;

    assert_int_equal(epi_group_fake_open(RANKS, &fake), EPDX_OK);
    epi_group_fake_run(fake, open_rank, &scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene.ends[r].status, EPDX_ERR_UNSUPPORTED);
        assert_non_null(strstr(scene.ends[r].words, words));
        assert_non_null(strstr(scene.ends[r].words, "-DEPDX_NCCL=ON"));
    }
    epi_group_fake_close(fake);
}

static void unsupported_without_nccl(void **state)
{
    (void)state;
    check(0, "rank 0 could not open reassembly by nccl");
}

static void unsupported_where_other_ranks_have_it(void **state)
{
    (void)state;
    check(2, "rank 2 could not open reassembly by nccl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsupported_without_nccl),
        cmocka_unit_test(unsupported_where_other_ranks_have_it),
    };

    return cmocka_run_group_tests_name("without nccl", tests, NULL, NULL);
}
