/*
 * transfer_test.c: encode nodes to N prefill ranks, whole: discovery, control,
 * pulls over UCX, votes, reassembly. Every byte is checked on every rank. With
 * "cuda" after the time limit, pools and rings are in the fakes' device memory,
 * with "gpu" in that of GPUs.
 */
#include <string.h>

#include "base/clock.h"
#include "engine.h"
#include "harness.h"

static engine_t engine;

static bool memory_is(const char *kind)
{
    const char *memory = harness_argument(0);

    return memory != NULL && strcmp(memory, kind) == 0;
}

static bool on_device(void)
{
    return memory_is("cuda") || memory_is("gpu");
}

static engine_params_t params_plain(void)
{
    return (engine_params_t){
        .nodes = 1,
        .encode_tp = 1,
        .dtype = EPDX_BFLOAT16,
        .hidden = 96,
        .shard = true,
        .pool_bytes = 4 << 20,
        .ring_bytes = 4 << 20,
        .timeout_ns = 45 * EPI_S,
        .memory = on_device() ? EPDX_MEMORY_CUDA : EPDX_MEMORY_HOST,
    };
}

static bool all_right(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!engine.landed_right[i]) {
            return false;
        }
    }
    return engine.admitted == count && engine.failed == 0;
}

/* The rows that this rank pulled itself of an item. */
static uint64_t own_rows(uint64_t span)
{
    return engine.params.shard ? epdx_shard_rows(span, (uint32_t)harness_rank(),
                                                 (uint32_t)harness_size())
                                     .count
                               : span;
}

/* Rows in device memory were staged, or, where UCX reaches it, went straight.
 * No UCX reaches that of the fakes. */
static bool ways_add_up(void)
{
    epdx_receiver_stats_t stats = engine_receiver(&engine);

    return stats.bytes_staged + stats.bytes_direct ==
               (on_device() ? stats.bytes_landed : 0) &&
           (memory_is("gpu") || stats.bytes_direct == 0);
}

/* Stage, send, drain and check count requests; the rows pulled are exact. */
static void run_requests(const engine_params_t *params,
                         const engine_request_t *requests, size_t count)
{
    uint64_t rows = 0;
    size_t rooms = 0;

    engine_open(&engine, params);
    for (size_t i = 0; i < count; i++) {
        CHECK_ALL_STATUS(engine_stage(&engine, i, &requests[i]), EPDX_OK);
        engine_send(&engine, i, &requests[i]);
        rooms += requests[i].item_count;
        for (size_t j = 0; j < requests[i].item_count; j++) {
            rows += own_rows(requests[i].spans[j]);
        }
    }
    engine_drain(&engine, count);
    CHECK_ALL(all_right(count));
    CHECK_ALL(engine_receiver(&engine).rows_landed == rows);
    CHECK_ALL(engine_receiver(&engine).bytes_landed ==
              rows * params->hidden * epdx_dtype_bytes(params->dtype) *
                  (1 + params->levels));
    CHECK_ALL(ways_add_up());
    engine_await_outcomes(&engine, rooms * params->encode_tp);
    CHECK_ALL(engine.outcomes_failed == 0);
    engine_close(&engine);
}

static void one_item_unsharded(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {37}, .item_count = 1};

    params.shard = false;
    run_requests(&params, &request, 1);
}

static void one_item_sharded(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {37}, .item_count = 1};

    run_requests(&params, &request, 1);
}

static void deepstack_float32(void)
{
    engine_params_t params = params_plain();
    engine_request_t requests[2] = {{.spans = {129, 5}, .item_count = 2},
                                    {.spans = {64}, .item_count = 1}};

    params.levels = 3;
    params.dtype = EPDX_FLOAT32;
    run_requests(&params, requests, 2);
}

static void spans_smaller_than_the_group(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {1, 2, 3, 5, 7}, .item_count = 5};

    params.levels = 1;
    run_requests(&params, &request, 1);
}

static void images_49_of_one_request_on_two_nodes(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.item_count = 49};

    params.nodes = 2;
    for (size_t j = 0; j < request.item_count; j++) {
        request.spans[j] = 1 + (j * 37) % 200;
    }
    run_requests(&params, &request, 1);
}

static void several_encode_ranks_a_node(void)
{
    engine_params_t params = params_plain();
    engine_request_t requests[3] = {{.spans = {50, 3}, .item_count = 2},
                                    {.spans = {1}, .item_count = 1},
                                    {.spans = {256}, .item_count = 1}};

    params.nodes = 2;
    params.encode_tp = harness_size() % 4 == 0   ? 4
                       : harness_size() % 2 == 0 ? 2
                                                 : (uint32_t)harness_size();
    params.levels = 2;
    run_requests(&params, requests, 3);
    params.shard = false;
    run_requests(&params, requests, 3);
}

static void requests_over_the_pool_take_turns(void)
{
    engine_params_t params = params_plain();
    engine_request_t requests[24];

    memset(requests, 0, sizeof(requests));
    for (size_t i = 0; i < 24; i++) {
        requests[i].item_count = 1 + i % 3;
        for (size_t j = 0; j < requests[i].item_count; j++) {
            requests[i].spans[j] = i % 7 == 0 ? 300 : 1 + (i * 13 + j) % 90;
        }
    }
    params.pool_bytes = 200 << 10; /* three or four of the larger requests */
    params.ring_bytes = 100 << 10; /* the rest is sent from own memory */
    run_requests(&params, requests, 24);
}

static void collectives_are_counted_by_name(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {20, 30}, .item_count = 2};
    epdx_admission_stats_t stats;

    params.levels = 1;
    engine_open(&engine, &params);
    CHECK_ALL_STATUS(engine_stage(&engine, 0, &request), EPDX_OK);
    engine_send(&engine, 0, &request);
    engine_drain(&engine, 1);
    stats = engine_admission(&engine);
    CHECK_ALL(stats.collectives.creation == 1 ||
              (on_device() && harness_size() > 1));
    CHECK_ALL(stats.collectives.nccl_groups ==
              (on_device() && harness_size() > 1 ? 1 : 0));
    CHECK_ALL(stats.collectives.ballot == stats.drains_pending);
    CHECK_ALL(stats.collectives.reason == 0);
    CHECK_ALL(stats.collectives.reassembly == (harness_size() > 1 ? 4 : 0));
    engine_await_outcomes(&engine, 2);
    engine_close(&engine);
}

static void check_failed_alike(size_t number, epdx_status_t status,
                               const char *words)
{
    CHECK_ALL(engine.failed_status[number] == status);
    CHECK_ALL(strstr(engine.failed_reason[number], words) != NULL);
}

static void a_failing_item_fails_its_request_alone(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {9, 9}, .item_count = 2};

    params.nodes = 2;
    engine_open(&engine, &params);
    CHECK_ALL_STATUS(engine_stage(&engine, 0, &request), EPDX_OK);
    CHECK_ALL_STATUS(engine_stage(&engine, 1, &request), EPDX_OK);
    engine_send_item(&engine, 0, 0, 9);
    engine_await_outcomes(&engine, 1); /* item 0 has landed everywhere */
    engine_fail_item(&engine, 0, 1, "the picture does not decode");
    engine_send(&engine, 1, &request);
    engine_drain(&engine, 2);
    CHECK_ALL(engine.landed_right[1]);
    check_failed_alike(0, EPDX_ERR_PEER, "the picture does not decode");
    engine_await_outcomes(&engine, 4);
    engine_close(&engine);
}

static void other_dimensions_fail_loudly_on_every_rank(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {9}, .item_count = 1};

    engine_open(&engine, &params);
    CHECK_ALL_STATUS(engine_stage(&engine, 0, &request), EPDX_OK);
    engine_send_item(&engine, 0, 0, 10);
    engine_drain(&engine, 1);
    check_failed_alike(0, EPDX_ERR_PEER, "span");
    engine_await_outcomes(&engine, 1);
    CHECK_ALL(harness_rank() != 0 ||
              strstr(engine.last_reason, "EmbeddingTransferError(") != NULL);
    engine_close(&engine);
}

static void cancel_from_one_rank_ends_it_on_all(void)
{
    epdx_status_t cancelled = EPDX_OK;
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {9}, .item_count = 1};

    engine_open(&engine, &params);
    CHECK_ALL_STATUS(engine_stage(&engine, 0, &request), EPDX_OK);
    if (harness_rank() == harness_size() - 1) {
        cancelled = epdx_admission_cancel(engine.admission, "0");
    }
    CHECK_ALL_STATUS(cancelled, EPDX_OK);
    engine_drain(&engine, 1);
    check_failed_alike(0, EPDX_ERR_CANCELLED, "cancelled");
    CHECK_ALL(engine.failed_rank[0] == (uint32_t)harness_size() - 1);
    engine_close(&engine);
}

static void a_missing_node_fails_by_its_deadline(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {9}, .item_count = 1};

    params.timeout_ns = 500 * EPI_MS;
    engine_open(&engine, &params);
    strcpy(engine.addresses[0], "127.0.0.1:1");
    CHECK_ALL_STATUS(engine_stage(&engine, 0, &request), EPDX_OK);
    engine_drain(&engine, 1);
    check_failed_alike(0, EPDX_ERR_UNREACHABLE, "127.0.0.1:1");
    engine_close(&engine);
}

static void what_never_fits_fails_alike(void)
{
    engine_params_t params = params_plain();
    engine_request_t request = {.spans = {1 << 20}, .item_count = 1};
    engine_request_t small = {.spans = {3}, .item_count = 1};

    engine_open(&engine, &params);
    CHECK_ALL_STATUS(engine_stage(&engine, 0, &request), EPDX_OK);
    CHECK_ALL_STATUS(engine_stage(&engine, 1, &small), EPDX_OK);
    engine_send(&engine, 1, &small);
    engine_drain(&engine, 2);
    CHECK_ALL(engine.landed_right[1]);
    check_failed_alike(0, EPDX_ERR_TOO_LARGE, "EPDX_RECV_POOL_MB");
    engine_await_outcomes(&engine, 1);
    engine_close(&engine);
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(one_item_unsharded),
        HARNESS_CASE(one_item_sharded),
        HARNESS_CASE(deepstack_float32),
        HARNESS_CASE(spans_smaller_than_the_group),
        HARNESS_CASE(images_49_of_one_request_on_two_nodes),
        HARNESS_CASE(several_encode_ranks_a_node),
        HARNESS_CASE(requests_over_the_pool_take_turns),
        HARNESS_CASE(collectives_are_counted_by_name),
        HARNESS_CASE(a_failing_item_fails_its_request_alone),
        HARNESS_CASE(other_dimensions_fail_loudly_on_every_rank),
        HARNESS_CASE(cancel_from_one_rank_ends_it_on_all),
        HARNESS_CASE(a_missing_node_fails_by_its_deadline),
        HARNESS_CASE(what_never_fits_fails_alike),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
