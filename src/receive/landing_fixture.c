/* landing_fixture.c: see landing_fixture.h. */
#include "receive/landing_fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"

epdx_receiver_params_t landing_params(void)
{
    return (epdx_receiver_params_t){
        .struct_size = sizeof(epdx_receiver_params_t),
        .dtype = EPDX_BFLOAT16,
        .hidden = 8,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .pool_bytes = 16 * 1024,
        .waiting_timeout_ns = 60 * EPI_S,
    };
}

landing_t *landing_open(const epdx_receiver_params_t *params)
{
    landing_t *landing = calloc(1, sizeof(*landing));
    epi_dataplane_t *encode_dp;
    epi_dataplane_t *dp;

    assert_non_null(landing);
    assert_int_equal(epi_loopback_hub_open(&landing->hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(landing->hub, &dp), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(landing->hub, &encode_dp), EPDX_OK);
    fake_encode_open(&landing->encode, encode_dp,
                     params->tp_size != 0 ? params->tp_size : 1);
    assert_int_equal(epi_receiver_open_with(params, dp, &landing->receiver),
                     EPDX_OK);
    for (size_t i = 0; i < sizeof(landing->rows); i++) {
        landing->rows[i] = (uint8_t)(i * 31 + i / 251);
    }
    return landing;
}

void landing_close(landing_t *landing)
{
    epdx_receiver_close(landing->receiver);
    fake_encode_close(&landing->encode);
    epi_loopback_hub_close(landing->hub);
    free(landing);
}

void landing_step(landing_t *landing)
{
    epdx_receiver_poll(landing->receiver);
    fake_encode_step(&landing->encode);
    sched_yield();
}

epdx_job_t *landing_stage(landing_t *landing, const char *id, uint64_t span)
{
    epdx_item_t item = {.room = ++landing->next_room,
                        .span = span,
                        .encode = fake_encode_address(&landing->encode)};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};
    epdx_job_t *job = NULL;

    assert_int_equal(epdx_receiver_stage(landing->receiver, &request, &job),
                     EPDX_OK);
    return job;
}

void landing_send(landing_t *landing, epdx_job_t *job, size_t from)
{
    const epi_receive_config_t *config = epi_receiver_config(landing->receiver);
    uint64_t room = landing->next_room;
    uint64_t span = landing->receiver->landed[job->first_slot].span;
    size_t main_bytes = (size_t)(span * config->main_row_bytes);
    fake_encode_t *encode = &landing->encode;
    size_t ask;

    landing_until(landing,
                  encode->ask_count > 0 &&
                      encode->asks[encode->ask_count - 1].room == room);
    ask = encode->ask_count - 1;
    if (config->levels > 0) {
        epi_offer_t header =
            fake_encode_header(encode, ask, EPI_PART_DEEPSTACK, config->levels);

        fake_encode_offer(encode, ask, EPI_PART_DEEPSTACK, &header,
                          landing->rows + from + main_bytes,
                          (size_t)(span * config->deepstack_row_bytes));
    }
    fake_encode_offer(encode, ask, EPI_PART_MAIN, NULL, landing->rows + from,
                      main_bytes);
    landing_until(landing, epdx_job_state(job) == EPDX_LANDED);
}

epdx_job_t *landing_land(landing_t *landing, const char *id, uint64_t span,
                         size_t from)
{
    epdx_job_t *job = landing_stage(landing, id, span);

    landing_send(landing, job, from);
    return job;
}

epdx_receiver_stats_t landing_stats(const landing_t *landing)
{
    epdx_receiver_stats_t stats;

    epdx_receiver_stats(landing->receiver, &stats);
    return stats;
}

uint32_t landing_free_withdrawals(const epdx_receiver_t *receiver)
{
    epi_mailbox_t *withdrawn = receiver->shared.withdrawn;
    uint32_t slots[EPI_WITHDRAWN_MAX + 1];
    uint32_t count = 0;

    while (epi_mailbox_take(withdrawn, &slots[count])) {
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(epi_mailbox_post(withdrawn, &slots[i]), EPDX_OK);
    }
    return count;
}
