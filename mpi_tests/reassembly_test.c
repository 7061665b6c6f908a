/*
 * reassembly_test.c: items of which every rank has its own shard, in place, are
 * whole on every rank afterwards: main and deepstack, every byte.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "epdx/shard.h"
#include "harness.h"
#include "reassembly/reassembly.h"
#include "rows.h"
#include "testing/seeded.h"

#define ITEM_MAX 400

/** A drain's items: their rows and what landed of them. */
typedef struct drain {
    size_t count;
    size_t main_row_bytes;
    size_t deepstack_row_bytes; /* 0: a model without deepstack */
    rows_region_t main[ITEM_MAX];
    rows_region_t deepstack[ITEM_MAX];
    epdx_landed_t landed[ITEM_MAX];
} drain_t;

static drain_t drain;
static epdx_group_t *group;
static epi_reassembly_t *reassembly;
static epi_plan_t plan;

static void open_all(uint64_t timeout_ns)
{
    const epi_reassembly_params_t params = {
        .memory = {.ops = epi_memory_host()}};

    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), timeout_ns, &group),
                     EPDX_OK);
    CHECK_ALL_STATUS(epi_reassembly_open(group, &params, &reassembly), EPDX_OK);
    CHECK_ALL_STATUS(epi_plan_init(&plan, ITEM_MAX, epdx_group_size(group)),
                     EPDX_OK);
}

static void close_all(void)
{
    epi_plan_fini(&plan);
    CHECK_ALL(epi_reassembly_close(reassembly));
    epdx_group_close(group);
}

static void drain_begin(size_t main_row_bytes, size_t deepstack_row_bytes)
{
    drain.count = 0;
    drain.main_row_bytes = main_row_bytes;
    drain.deepstack_row_bytes = deepstack_row_bytes;
    epi_plan_clear(&plan);
}

/** An item lands: this rank's share of it, at its place in the whole. */
static void drain_add(uint64_t span)
{
    size_t i = drain.count++;
    epdx_landed_t *landed = &drain.landed[i];
    epdx_rows_t share =
        epdx_shard_rows(span, epdx_group_rank(group), epdx_group_size(group));

    *landed = (epdx_landed_t){.room = i, .span = span, .share = share};
    drain.main[i] = rows_open(span, drain.main_row_bytes, 2 * i + 1);
    rows_fill(&drain.main[i], share);
    landed->main = drain.main[i].bytes;
    drain.deepstack[i] = rows_open(span, drain.deepstack_row_bytes, 2 * i + 2);
    rows_fill(&drain.deepstack[i], share);
    if (drain.deepstack_row_bytes > 0) {
        landed->deepstack = drain.deepstack[i].bytes;
    }
}

/** Plan and reassemble; every row of every item is right on every rank. */
static void drain_run(void)
{
    epdx_status_t status = EPDX_OK;
    void *ready = NULL;
    bool right = true;
    size_t i;

    for (i = 0; status == EPDX_OK && i < drain.count; i++) {
        status = epi_plan_add(&plan, &drain.landed[i], epdx_group_rank(group),
                              drain.main_row_bytes, drain.deepstack_row_bytes);
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
    CHECK_ALL_STATUS(reassembly->ops->run(reassembly, &plan, &ready), EPDX_OK);
    for (i = 0; i < drain.count; i++) {
        right = right && rows_all_right(&drain.main[i]) &&
                rows_all_right(&drain.deepstack[i]);
    }
    CHECK_ALL(right);
    for (i = 0; i < drain.count; i++) {
        rows_close(&drain.main[i]);
        rows_close(&drain.deepstack[i]);
    }
}

static void main_rows_of_one_item(void)
{
    open_all(0);
    drain_begin(7168, 0);
    drain_add(100);
    drain_run();
    close_all();
}

static void main_and_deepstack(void)
{
    open_all(0);
    drain_begin(4096, 3 * 4096);
    drain_add(65);
    drain_add(1);
    drain_add(64);
    drain_run();
    close_all();
}

static void items_smaller_than_the_group(void)
{
    uint64_t span;

    open_all(0);
    drain_begin(10, 30);
    for (span = 1; span <= 9; span++) {
        drain_add(span);
    }
    drain_run();
    close_all();
}

static void many_items(void)
{
    test_seeded_t seeded = {4711};
    size_t i;

    open_all(0);
    drain_begin(256, 768);
    for (i = 0; i < ITEM_MAX; i++) {
        drain_add(1 + test_seeded_below(&seeded, 40));
    }
    drain_run();
    close_all();
}

/** As a scheduling loop does: one group, one plan, a drain after another. */
static void drain_after_drain(void)
{
    int round;

    open_all(600 * EPI_S);
    for (round = 0; round < 30; round++) {
        drain_begin(512, 1024);
        drain_add(3 + (uint64_t)round);
        drain_add(17);
        drain_run();
    }
    close_all();
}

static void nothing_landed(void)
{
    open_all(0);
    drain_begin(512, 0);
    drain_run();
    close_all();
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(main_rows_of_one_item),
        HARNESS_CASE(main_and_deepstack),
        HARNESS_CASE(items_smaller_than_the_group),
        HARNESS_CASE(many_items),
        HARNESS_CASE(drain_after_drain),
        HARNESS_CASE(nothing_landed),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
