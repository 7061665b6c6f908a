/* fake_encode.c: see fake_encode.h. */
#include "testing/fake_encode.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "discovery/route.h"

/* A test's own mistake, or a broken part below: end it with words. */
static void must(bool held, const char *what)
{
    if (!held) {
        (void)fprintf(stderr, "fake encode rank: %s: %s\n", what,
                      epdx_last_error());
        abort();
    }
}

void fake_encode_register(fake_encode_t *encode, uint32_t rank)
{
    epi_route_registration_t in = {.world_size = encode->world_size,
                                   .dp_size = 1,
                                   .engine_rank = rank,
                                   .instance = "0123456789abcdef"};
    char url[EPI_HTTP_URL_MAX];
    char body[EPI_ROUTE_BODY_MAX];
    epi_http_request_t request = {
        .method = "PUT", .url = url, .body = body, .timeout_ns = 20 * EPI_S};
    epi_http_reply_t reply;

    (void)epi_text_copy(in.address.host, sizeof(in.address.host), "127.0.0.1");
    in.address.port = epi_control_port(encode->control);
    must(epi_route_put_url(fake_encode_address(encode), url, sizeof(url)) ==
             EPDX_OK,
         "put url");
    must(epi_route_registration_format(&in, body, sizeof(body)) == EPDX_OK,
         "put body");
    must(epi_http_start(encode->http, &request) == EPDX_OK, "put");
    while (!epi_http_next(encode->http, &reply)) {
        (void)epi_http_progress(encode->http);
        sched_yield();
    }
    must(reply.code == 200, "put is not answered 200");
}

void fake_encode_open(fake_encode_t *encode, epi_dataplane_t *dp,
                      uint32_t world_size)
{
    epdx_bootstrap_params_t server = {.struct_size = sizeof(server),
                                      .listen = "127.0.0.1:0"};
    epi_control_params_t control = {.host = "127.0.0.1",
                                    .peer_max = FAKE_ENCODE_MAX};

    *encode = (fake_encode_t){.dp = dp, .world_size = world_size};
    must(epdx_bootstrap_open(&server, &encode->bootstrap) == EPDX_OK,
         "bootstrap");
    must(epi_http_open(4, &encode->http) == EPDX_OK, "http");
    must(epi_control_open(&control, &encode->control) == EPDX_OK, "control");
    fake_encode_register(encode, 0);
}

const char *fake_encode_address(const fake_encode_t *encode)
{
    return epdx_bootstrap_address(encode->bootstrap);
}

static void take_message(fake_encode_t *encode, const epi_message_t *message)
{
    epi_control_kind_t kind;

    must(epi_control_peek(message, &kind) == EPDX_OK, "peek");
    switch (kind) {
    case EPI_CONTROL_ASK:
        must(encode->ask_count < FAKE_ENCODE_MAX, "asks");
        must(epi_ask_parse(message, &encode->asks[encode->ask_count]) ==
                 EPDX_OK,
             "ask");
        encode->ask_count++;
        break;
    case EPI_CONTROL_REGISTER:
        must(
            epi_register_parse(
                message,
                &encode->registers[encode->register_count % FAKE_ENCODE_MAX]) ==
                EPDX_OK,
            "register");
        encode->register_count++;
        break;
    case EPI_CONTROL_CANCEL:
        must(epi_cancel_parse(
                 message,
                 &encode->cancels[encode->cancel_count % FAKE_ENCODE_MAX]) ==
                 EPDX_OK,
             "cancel");
        encode->cancel_count++;
        encode->asks_before_cancel = encode->ask_count;
        break;
    }
}

void fake_encode_step(fake_encode_t *encode)
{
    epi_control_event_t event;
    epi_dp_event_t dp_event;

    if (encode->control == NULL) {
        return;
    }
    while (epi_control_next(encode->control, &event)) {
        if (event.kind == EPI_CONTROL_MESSAGE) {
            take_message(encode, &event.message);
        }
    }
    (void)encode->dp->ops->progress(encode->dp);
    while (encode->dp->ops->next(encode->dp, &dp_event)) {
        if (dp_event.kind == EPI_DP_SENT) {
            encode->sent_count++;
            encode->sent_status = dp_event.status;
        }
    }
}

epi_offer_t fake_encode_header(const fake_encode_t *encode, size_t index,
                               epi_part_t part, uint32_t levels)
{
    const epi_ask_t *ask = &encode->asks[index];

    return (epi_offer_t){
        .part = part,
        .dtype = ask->dtype,
        .room = ask->room,
        .generation = ask->generation,
        .row_start = ask->row_start,
        .rows = ask->rows,
        .span = ask->span,
        .width = part == EPI_PART_MAIN ? ask->hidden : ask->hidden * levels,
        .encode_rank = encode->engine_rank,
    };
}

void fake_encode_offer(fake_encode_t *encode, size_t index, epi_part_t part,
                       const epi_offer_t *header, const void *payload,
                       size_t bytes)
{
    epi_offer_t fitting = fake_encode_header(encode, index, part, 1);
    uint8_t packed[EPI_OFFER_BYTES];
    const epi_dp_ops_t *ops = encode->dp->ops;

    epi_offer_pack(header == NULL ? &fitting : header, packed);
    if (encode->peers[index] == NULL) {
        must(ops->connect(encode->dp, encode->asks[index].session, index,
                          &encode->peers[index]) == EPDX_OK,
             "connect");
    }
    must(ops->offer(encode->dp, encode->peers[index],
                    &(epi_dp_send_t){.header = packed,
                                     .header_bytes = sizeof(packed),
                                     .region = NULL,
                                     .payload = payload,
                                     .payload_bytes = bytes,
                                     .cookie = index}) == EPDX_OK,
         "offer");
}

void fake_encode_send(fake_encode_t *encode, size_t index,
                      const epi_message_t *message)
{
    uint32_t peer;

    must(epi_control_connect(encode->control, encode->asks[index].endpoint,
                             encode->asks[index].status_port, &peer) == EPDX_OK,
         "control connect");
    must(epi_control_send(encode->control, peer, message) == EPDX_OK,
         "control send");
}

void fake_encode_status(fake_encode_t *encode, size_t index,
                        epi_room_status_t status, const char *reason)
{
    epi_status_t out = {.room = encode->asks[index].room,
                        .status = status,
                        .encode_rank = encode->engine_rank,
                        .extended = true,
                        .generation = encode->asks[index].generation};
    epi_message_t message;

    (void)epi_text_copy(out.reason, sizeof(out.reason), reason);
    must(epi_status_format(&out, &message) == EPDX_OK, "status");
    fake_encode_send(encode, index, &message);
}

void fake_encode_die(fake_encode_t *encode)
{
    epi_control_close(encode->control);
    encode->control = NULL;
    for (size_t i = 0; i < FAKE_ENCODE_MAX; i++) {
        encode->dp->ops->disconnect(encode->dp, encode->peers[i]);
        encode->peers[i] = NULL;
    }
    encode->dp->ops->close(encode->dp);
    encode->dp = NULL;
}

void fake_encode_close(fake_encode_t *encode)
{
    if (encode->dp != NULL) {
        fake_encode_die(encode);
    }
    epi_http_close(encode->http);
    epdx_bootstrap_close(encode->bootstrap);
}
