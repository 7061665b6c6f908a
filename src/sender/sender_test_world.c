/* sender_test_world.c: see sender_test_world.h. */
#include "sender/sender_test_world.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "epdx/shard.h"

#define REGION_NONE 0xeeee /* what a rank's memory holds before */

epdx_sender_params_t world_params(void)
{
    return (epdx_sender_params_t){
        .struct_size = sizeof(epdx_sender_params_t),
        .dtype = EPDX_BFLOAT16,
        .hidden = WORLD_HIDDEN,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .ring_bytes = 65536,
        .waiting_timeout_ns = 60 * EPI_S,
    };
}

void world_open(world_t *world, const epdx_sender_params_t *params)
{
    memset(world, 0, sizeof(*world));
    assert_int_equal(epi_loopback_hub_open(&world->hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(world->hub, &world->plane),
                     EPDX_OK);
    assert_int_equal(epi_sender_open_with(params, world->plane, &world->sender),
                     EPDX_OK);
}

void rank_open(world_t *world, size_t index)
{
    rank_open_key(world, index, NULL, "");
}

void rank_open_key(world_t *world, size_t index, const char *key_file,
                   const char *sender_key)
{
    rank_t *rank = &world->ranks[index];
    epi_control_params_t params = {
        .host = "127.0.0.1", .peer_max = 2, .key_file = key_file};

    memset(rank, 0, sizeof(*rank));
    memset(rank->main, REGION_NONE & 0xff, sizeof(rank->main));
    memset(rank->deepstack, REGION_NONE & 0xff, sizeof(rank->deepstack));
    assert_int_equal(epi_control_open(&params, &rank->control), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(world->hub, &rank->dp), EPDX_OK);
    assert_int_equal(rank->dp->ops->map(rank->dp, epi_memory_host(), rank,
                                        sizeof(*rank), &rank->region),
                     EPDX_OK);
    assert_true(epi_text_copy(rank->session, sizeof(rank->session),
                              rank->dp->ops->address(rank->dp)));
    (void)snprintf(rank->instance, sizeof(rank->instance), "instance%zu",
                   index);
    assert_int_equal(epi_control_connect_key(rank->control,
                                             epi_sender_host(world->sender),
                                             epi_sender_port(world->sender),
                                             sender_key, &rank->encode),
                     EPDX_OK);
}

void rank_close_control(world_t *world, size_t index)
{
    epi_control_close(world->ranks[index].control);
    world->ranks[index].control = NULL;
}

void rank_close(world_t *world, size_t index)
{
    rank_t *rank = &world->ranks[index];

    if (rank->dp != NULL) {
        rank_close_control(world, index);
        rank->dp->ops->unmap(rank->dp, rank->region);
        rank->dp->ops->close(rank->dp);
        rank->dp = NULL;
    }
}

void world_close(world_t *world)
{
    epdx_sender_close(world->sender);
    for (size_t i = 0; i < WORLD_RANKS; i++) {
        rank_close(world, i);
    }
    epi_loopback_hub_close(world->hub);
}

void rank_send(world_t *world, size_t index, const epi_message_t *message)
{
    rank_t *rank = &world->ranks[index];

    assert_int_equal(epi_control_send(rank->control, rank->encode, message),
                     EPDX_OK);
}

epi_ask_t rank_ask(const world_t *world, size_t index, uint64_t room,
                   epdx_rows_t share, uint64_t span)
{
    const rank_t *rank = &world->ranks[index];
    epi_ask_t ask = {
        .room = room,
        .status_port = epi_control_port(rank->control),
        .rows = share.count,
        .hidden = WORLD_HIDDEN,
        .dtype = EPDX_BFLOAT16,
        .required = 1,
        .row_start = share.start,
        .span = span,
        .extended = true,
        .generation = 1000 + room,
    };

    assert_true(epi_text_copy(ask.endpoint, sizeof(ask.endpoint), "127.0.0.1"));
    assert_true(epi_text_copy(ask.session, sizeof(ask.session), rank->session));
    assert_true(
        epi_text_copy(ask.instance, sizeof(ask.instance), rank->instance));
    return ask;
}

void rank_send_ask(world_t *world, size_t index, const epi_ask_t *ask)
{
    epi_message_t message;

    assert_int_equal(epi_ask_format(ask, &message), EPDX_OK);
    rank_send(world, index, &message);
}

void rank_ask_whole(world_t *world, size_t index, uint64_t room, uint64_t span)
{
    epi_ask_t ask = rank_ask(world, index, room, (epdx_rows_t){0, span}, span);

    rank_send_ask(world, index, &ask);
}

void rank_ask_shard(world_t *world, size_t index, uint64_t room, uint64_t span,
                    uint32_t size)
{
    epi_ask_t ask = rank_ask(
        world, index, room, epdx_shard_rows(span, (uint32_t)index, size), span);

    ask.required = size;
    rank_send_ask(world, index, &ask);
}

void rank_cancel(world_t *world, size_t index, uint64_t room,
                 uint64_t generation, const char *reason)
{
    epi_cancel_t cancel = {.room = room, .generation = generation};
    epi_message_t message;

    assert_true(epi_text_copy(cancel.session, sizeof(cancel.session),
                              world->ranks[index].session));
    assert_true(epi_text_copy(cancel.reason, sizeof(cancel.reason), reason));
    assert_int_equal(epi_cancel_format(&cancel, &message), EPDX_OK);
    rank_send(world, index, &message);
}

void rank_register(world_t *world, size_t index, uint64_t hidden,
                   uint32_t levels)
{
    const rank_t *rank = &world->ranks[index];
    epi_compat_t compat = {EPDX_BFLOAT16, hidden, levels, 1};
    epi_register_t from = {
        .status_port = epi_control_port(rank->control),
        .extended = true,
    };
    epi_message_t message;

    assert_true(
        epi_text_copy(from.endpoint, sizeof(from.endpoint), "127.0.0.1"));
    assert_true(
        epi_text_copy(from.session, sizeof(from.session), rank->session));
    assert_true(
        epi_text_copy(from.instance, sizeof(from.instance), rank->instance));
    epi_compat_format(&compat, from.compat, sizeof(from.compat));
    assert_int_equal(epi_register_format(&from, &message), EPDX_OK);
    rank_send(world, index, &message);
}

static void rank_offer(rank_t *rank, const epi_dp_event_t *event)
{
    uint8_t *target;
    uint64_t bytes;

    rank->offers++;
    assert_int_equal(
        epi_offer_unpack(event->header, event->header_bytes, &rank->last),
        EPDX_OK);
    assert_true(epi_offer_payload(&rank->last, &bytes));
    assert_int_equal(bytes, event->payload_bytes);
    if (rank->refuse) {
        rank->dp->ops->refuse(rank->dp, event->offer);
        return;
    }
    assert_true(rank->last.row_start + rank->last.rows <= WORLD_ROWS);
    target = rank->last.part == EPI_PART_MAIN ? (uint8_t *)rank->main
                                              : (uint8_t *)rank->deepstack;
    target += rank->last.row_start * rank->last.width * 2;
    assert_int_equal(
        rank->dp->ops->pull(rank->dp, event->offer,
                            &(epi_dp_target_t){.region = rank->region,
                                               .at = target,
                                               .bytes = bytes,
                                               .cookie = 5}),
        EPDX_OK);
}

static bool rank_step(rank_t *rank)
{
    epi_control_event_t heard;
    epi_dp_event_t event;
    bool done = rank->dp->ops->progress(rank->dp);

    while (rank->dp->ops->next(rank->dp, &event)) {
        if (event.kind == EPI_DP_OFFER) {
            rank_offer(rank, &event);
        } else if (event.kind == EPI_DP_PULLED) {
            rank->pulled += event.status == EPDX_OK;
            rank->failed += event.status != EPDX_OK;
        }
        done = true;
    }
    while (epi_control_next(rank->control, &heard)) {
        if (heard.kind == EPI_CONTROL_MESSAGE) {
            assert_true(rank->status_count < WORLD_STATUSES);
            assert_int_equal(
                epi_status_parse(&heard.message,
                                 &rank->statuses[rank->status_count]),
                EPDX_OK);
            rank->status_count++;
        }
        done = true;
    }
    return done;
}

void world_step(world_t *world)
{
    size_t came =
        epdx_sender_poll(world->sender, world->outcomes + world->outcome_count,
                         WORLD_OUTCOMES - world->outcome_count);
    bool done = came > 0;

    world->outcome_count += came;
    for (size_t i = 0; i < WORLD_RANKS; i++) {
        if (world->ranks[i].control != NULL) {
            done |= rank_step(&world->ranks[i]);
        }
    }
    if (!done) {
        (void)poll(NULL, 0, 1); /* the sockets' threads need a core */
    }
}

epdx_sender_stats_t world_stats(const world_t *world)
{
    epdx_sender_stats_t stats;

    epdx_sender_stats(world->sender, &stats);
    return stats;
}

static uint16_t value_of(uint64_t room, size_t index)
{
    return (uint16_t)(room * 7919 + index * 31 + 1);
}

void world_send(world_t *world, uint64_t room, uint64_t rows, bool deepstack)
{
    epdx_chunk_t chunk = {
        .rows = rows,
        .main = world->source_main,
        .deepstack = deepstack ? world->source_deepstack : NULL,
    };

    for (size_t i = 0; i < rows * WORLD_HIDDEN; i++) {
        world->source_main[i] = value_of(room, i);
    }
    for (size_t i = 0; i < rows * WORLD_HIDDEN * WORLD_LEVELS; i++) {
        world->source_deepstack[i] = value_of(room + 1, i);
    }
    assert_int_equal(epdx_sender_send(world->sender, room, &chunk), EPDX_OK);
}

static void expect_rows(const uint16_t *at, size_t width, uint64_t room,
                        epdx_rows_t share)
{
    for (size_t i = 0; i < WORLD_ROWS * width; i++) {
        bool inside =
            i >= share.start * width && i < (share.start + share.count) * width;

        assert_int_equal(at[i], inside ? value_of(room, i) : REGION_NONE);
    }
}

void rank_expect_rows(const world_t *world, size_t index, uint64_t room,
                      epdx_rows_t share, bool deepstack)
{
    const rank_t *rank = &world->ranks[index];

    expect_rows(rank->main, WORLD_HIDDEN, room, share);
    expect_rows(rank->deepstack, (size_t)WORLD_HIDDEN * WORLD_LEVELS, room + 1,
                deepstack ? share : (epdx_rows_t){0, 0});
}

static void expect_words(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", text, words);
    }
}

static void forget_first(void *list, size_t size, size_t *count)
{
    (*count)--;
    memmove(list, (char *)list + size, size * *count);
}

void world_expect(world_t *world, uint64_t room, epdx_status_t status,
                  const char *words)
{
    char form[64];

    WORLD_UNTIL(world, world->outcome_count > 0);
    assert_int_equal(world->outcomes[0].room, room);
    expect_words(world->outcomes[0].reason, words);
    assert_int_equal(world->outcomes[0].status, status);
    if (status != EPDX_OK) {
        (void)snprintf(form, sizeof(form),
                       "EmbeddingTransferError(bootstrap_room=%llu, ",
                       (unsigned long long)room);
        expect_words(world->outcomes[0].reason, form);
    } else {
        assert_string_equal(world->outcomes[0].reason, "");
    }
    forget_first(world->outcomes, sizeof(world->outcomes[0]),
                 &world->outcome_count);
}

void rank_expect_failed(world_t *world, size_t index, uint64_t room,
                        uint64_t generation, const char *words)
{
    rank_t *rank = &world->ranks[index];

    WORLD_UNTIL(world, rank->status_count > 0);
    assert_int_equal(rank->statuses[0].room, room);
    assert_int_equal(rank->statuses[0].status, EPI_ROOM_FAILED);
    assert_true(rank->statuses[0].extended);
    assert_int_equal(rank->statuses[0].generation, generation);
    expect_words(rank->statuses[0].reason, words);
    expect_words(rank->statuses[0].reason, "EmbeddingTransferError(");
    forget_first(rank->statuses, sizeof(rank->statuses[0]),
                 &rank->status_count);
}

void world_expect_quiet(world_t *world)
{
    epdx_sender_stats_t stats = world_stats(world);

    assert_int_equal(stats.rooms_open, 0);
    assert_int_equal(stats.ring_leased_bytes, 0);
    assert_int_equal(world->outcome_count, 0);
    for (size_t i = 0; i < WORLD_RANKS; i++) {
        assert_int_equal(world->ranks[i].status_count, 0);
    }
}
