/* group_test.c: the values of every collective of a group over MPI, without a
 * deadline and with one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "epdx/shard.h"
#include "group/group.h"
#include "harness.h"
#include "rows.h"
#include "testing/seeded.h"

#define TIMEOUT_NS (600 * EPI_S)

/** Run body over a group without a deadline, then over one with one. */
static void over_both(void (*body)(epdx_group_t *group))
{
    static const uint64_t timeouts_ns[2] = {0, TIMEOUT_NS};
    epdx_group_t *group = NULL;
    size_t i;

    for (i = 0; i < 2; i++) {
        CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), timeouts_ns[i], &group),
                         EPDX_OK);
        body(group);
        epdx_group_close(group);
    }
}

static void check_rank_and_size(epdx_group_t *group)
{
    CHECK_ALL(epdx_group_rank(group) == (uint32_t)harness_rank());
    CHECK_ALL(epdx_group_size(group) == (uint32_t)harness_size());
}

static void rank_and_size(void)
{
    over_both(check_rank_and_size);
}

/** What rank says for element i: the least of it moves from rank to rank. */
static uint64_t vote(uint32_t rank, size_t i, uint32_t size)
{
    return 1 + i % 50 + (rank + i) % size;
}

static void check_min_u8(epdx_group_t *group)
{
    static uint8_t codes[70000];
    static const size_t counts[] = {1, 3, 64, 4096, 70000};
    bool right = true;
    size_t i, k;

    for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        for (i = 0; i < counts[k]; i++) {
            codes[i] = (uint8_t)vote(group->rank, i, group->size);
        }
        CHECK_ALL_STATUS(group->ops->min_u8(group, codes, counts[k]), EPDX_OK);
        for (i = 0; i < counts[k]; i++) {
            right = right && codes[i] == 1 + i % 50;
        }
    }
    CHECK_ALL(right);
    codes[0] = 255;
    CHECK_ALL_STATUS(group->ops->min_u8(group, codes, 1), EPDX_OK);
    CHECK_ALL(codes[0] == 255);
}

static void min_u8(void)
{
    over_both(check_min_u8);
}

static void check_min_u64(epdx_group_t *group)
{
    const uint64_t high = UINT64_C(1) << 63;
    uint64_t words[300];
    bool right = true;
    size_t i;

    for (i = 0; i < 300; i++) {
        words[i] = high + vote(group->rank, i, group->size);
    }
    CHECK_ALL_STATUS(group->ops->min_u64(group, words, 300), EPDX_OK);
    for (i = 0; i < 300; i++) {
        right = right && words[i] == high + 1 + i % 50;
    }
    CHECK_ALL(right);
    /* A value and its complement show whether all ranks have the same. */
    words[0] = 7 + group->rank;
    words[1] = ~words[0];
    CHECK_ALL_STATUS(group->ops->min_u64(group, words, 2), EPDX_OK);
    CHECK_ALL(words[0] == 7 && ~words[1] == 7 + (uint64_t)group->size - 1);
}

static void min_u64(void)
{
    over_both(check_min_u64);
}

static void check_broadcast(epdx_group_t *group)
{
    static char text[100000];
    uint32_t root;
    char expected;

    for (root = 0; root < group->size; root++) {
        expected = (char)('a' + root);
        memset(text, group->rank == root ? expected : '-', sizeof(text));
        CHECK_ALL_STATUS(group->ops->broadcast(group, text, sizeof(text), root),
                         EPDX_OK);
        CHECK_ALL(text[0] == expected &&
                  memcmp(text, text + 1, sizeof(text) - 1) == 0);
    }
    CHECK_ALL_STATUS(group->ops->broadcast(group, text, 1, group->size),
                     EPDX_ERR_INVALID);
}

static void broadcast_from_each_root(void)
{
    over_both(check_broadcast);
}

/** Regions of one gather call and the ranges by rank. */
typedef struct gather_set {
    size_t count;
    rows_region_t *regions;
    epi_gather_t *gathers;
    uint64_t *words; /* starts, then counts, a region */
} gather_set_t;

static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "group_test: out of memory\n");
        abort();
    }
    return memory;
}

static gather_set_t set_open(size_t count, uint32_t size)
{
    return (gather_set_t){
        .count = count,
        .regions = need(calloc(count, sizeof(rows_region_t))),
        .gathers = need(calloc(count, sizeof(epi_gather_t))),
        .words = need(calloc(count * 2 * size, sizeof(uint64_t))),
    };
}

/** Make region i, with this rank's rows in their place. */
static void set_region(gather_set_t *set, const epdx_group_t *group, size_t i,
                       uint64_t span, size_t row_bytes)
{
    uint64_t *starts = set->words + i * 2 * group->size;
    uint64_t *counts = starts + group->size;
    uint32_t r;

    for (r = 0; r < group->size; r++) {
        epdx_rows_t share = epdx_shard_rows(span, r, group->size);

        starts[r] = share.start;
        counts[r] = share.count;
    }
    set->regions[i] = rows_open(span, row_bytes, i + 1);
    rows_fill(&set->regions[i],
              (epdx_rows_t){starts[group->rank], counts[group->rank]});
    set->gathers[i] =
        (epi_gather_t){set->regions[i].bytes, row_bytes, starts, counts};
}

/** Gather all regions at once; every byte must then be right everywhere. */
static void set_run(gather_set_t *set, epdx_group_t *group)
{
    bool right = true;
    size_t i;

    CHECK_ALL_STATUS(group->ops->gather(group, set->gathers, set->count),
                     EPDX_OK);
    for (i = 0; i < set->count; i++) {
        right = right && rows_all_right(&set->regions[i]);
    }
    CHECK_ALL(right);
}

static void set_close(gather_set_t *set)
{
    size_t i;

    for (i = 0; i < set->count; i++) {
        rows_close(&set->regions[i]);
    }
    free(set->regions);
    free(set->gathers);
    free(set->words);
}

/** Spans from less than the group to more: ranks without rows among them. */
static void check_small_spans(epdx_group_t *group)
{
    uint64_t span;

    for (span = 1; span <= 2 * group->size + 1; span++) {
        gather_set_t set = set_open(1, group->size);

        set_region(&set, group, 0, span, 6);
        set_run(&set, group);
        set_close(&set);
    }
}

static void spans_around_the_group_size(void)
{
    over_both(check_small_spans);
}

static void check_row_bytes(epdx_group_t *group)
{
    static const size_t row_bytes[] = {1, 2, 7168, 4096, 3, 7168, 21504};
    const size_t count = sizeof(row_bytes) / sizeof(row_bytes[0]);
    gather_set_t set = set_open(count, group->size);
    size_t i;

    for (i = 0; i < count; i++) {
        set_region(&set, group, i, 5 + i, row_bytes[i]);
    }
    set_run(&set, group);
    set_close(&set);
}

static void several_row_bytes_in_one_call(void)
{
    over_both(check_row_bytes);
}

/** More than are in flight at once, of more kinds of rows than are cached. */
static void check_many(epdx_group_t *group)
{
    gather_set_t set = set_open(700, group->size);
    size_t i;

    for (i = 0; i < set.count; i++) {
        set_region(&set, group, i, 1 + i % 11, 1 + i % 23);
    }
    set_run(&set, group);
    set_close(&set);
}

static void many_gathers_in_one_call(void)
{
    over_both(check_many);
}

static void check_large(epdx_group_t *group)
{
    gather_set_t set = set_open(3, group->size);
    size_t i;

    for (i = 0; i < set.count; i++) {
        set_region(&set, group, i, 1021 + i, 8192);
    }
    set_run(&set, group);
    set_close(&set);
}

static void large_gathers(void)
{
    over_both(check_large);
}

static void check_random(epdx_group_t *group)
{
    test_seeded_t seeded = {20240607};
    size_t i;
    int round;

    for (round = 0; round < 20; round++) {
        gather_set_t set =
            set_open(1 + test_seeded_below(&seeded, 6), group->size);

        for (i = 0; i < set.count; i++) {
            uint64_t span = 1 + test_seeded_below(&seeded, 200);

            set_region(&set, group, i, span,
                       1 + test_seeded_below(&seeded, 600));
        }
        set_run(&set, group);
        set_close(&set);
    }
}

static void random_spans(void)
{
    over_both(check_random);
}

/** Rank r's one row lies r GiB into a region of which only these are ever
 *  touched: byte offsets beyond INT_MAX. */
static void check_far_rows(epdx_group_t *group)
{
    const size_t row_bytes = 65536;
    const uint64_t apart = (UINT64_C(1) << 30) / row_bytes;
    size_t bytes = ((size_t)group->size << 30) + row_bytes;
    uint64_t starts[8], counts[8];
    uint8_t *region;
    bool right = true;
    epi_gather_t gather = {NULL, row_bytes, starts, counts};
    uint32_t r;

    region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK_ALL(region != MAP_FAILED && group->size <= 8);
    gather.base = region;
    for (r = 0; r < group->size; r++) {
        starts[r] = r * apart;
        counts[r] = 1;
    }
    memset(region + starts[group->rank] * row_bytes, (int)group->rank + 1,
           row_bytes);
    CHECK_ALL_STATUS(group->ops->gather(group, &gather, 1), EPDX_OK);
    for (r = 0; r < group->size; r++) {
        const uint8_t *row = region + starts[r] * row_bytes;

        right = right && row[0] == r + 1 &&
                memcmp(row, row + 1, row_bytes - 1) == 0 && row[row_bytes] == 0;
    }
    CHECK_ALL(right);
    munmap(region, bytes);
}

static void rows_beyond_2_gib(void)
{
    over_both(check_far_rows);
}

/** Collectives of the caller's on its own communicator, begun between ours,
 *  do not meet ours; neither do those of another group of it. */
static void check_apart(epdx_group_t *group)
{
    epdx_group_t *other = NULL;
    MPI_Request request;
    uint64_t ours = 5 + group->rank;
    uint64_t others = 50 + group->rank;
    int callers = 1;

    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), 0, &other), EPDX_OK);
    MPI_Iallreduce(MPI_IN_PLACE, &callers, 1, MPI_INT, MPI_SUM, harness_comm(),
                   &request);
    CHECK_ALL_STATUS(other->ops->min_u64(other, &others, 1), EPDX_OK);
    CHECK_ALL_STATUS(group->ops->min_u64(group, &ours, 1), EPDX_OK);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_ALL(ours == 5 && others == 50 && callers == harness_size());
    epdx_group_close(other);
}

static void groups_do_not_meet(void)
{
    over_both(check_apart);
}

/** Even and odd ranks as two groups at the same time. */
static void group_of_some_ranks(void)
{
    epdx_group_t *group = NULL;
    uint64_t word;
    MPI_Comm half;
    int parity = harness_rank() % 2;

    MPI_Comm_split(harness_comm(), parity, harness_rank(), &half);
    CHECK_ALL_STATUS(epdx_group_mpi(half, 0, &group), EPDX_OK);
    MPI_Comm_free(&half);
    word = (uint64_t)harness_rank() + 10;
    CHECK_ALL_STATUS(group->ops->min_u64(group, &word, 1), EPDX_OK);
    CHECK_ALL(word == 10 + (uint64_t)parity);
    epdx_group_close(group);
}

static void callers_error_handler_stays(void)
{
    epdx_group_t *group = NULL;
    MPI_Errhandler handler;
    MPI_Comm comm;

    MPI_Comm_dup(harness_comm(), &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    CHECK_ALL_STATUS(epdx_group_mpi(comm, 0, &group), EPDX_OK);
    MPI_Comm_get_errhandler(comm, &handler);
    CHECK_ALL(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    epdx_group_close(group);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(rank_and_size),
        HARNESS_CASE(min_u8),
        HARNESS_CASE(min_u64),
        HARNESS_CASE(broadcast_from_each_root),
        HARNESS_CASE(spans_around_the_group_size),
        HARNESS_CASE(several_row_bytes_in_one_call),
        HARNESS_CASE(many_gathers_in_one_call),
        HARNESS_CASE(large_gathers),
        HARNESS_CASE(random_spans),
        HARNESS_CASE(rows_beyond_2_gib),
        HARNESS_CASE(groups_do_not_meet),
        HARNESS_CASE(group_of_some_ranks),
        HARNESS_CASE(callers_error_handler_stays),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
