/* mailbox_test.c: order, refusals, and two threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/mailbox.h"
#include "testing/out_of_memory.h"

typedef struct message {
    uint64_t sequence;
    uint64_t *note; /* written by the poster, freed by the taker */
} message_t;

static void messages_come_in_order_around_the_ring(void **state)
{
    epi_mailbox_t *mailbox = NULL;
    int next = 0;
    int got = -1;

    (void)state;
    assert_int_equal(epi_mailbox_open(3, sizeof(int), &mailbox), EPDX_OK);
    assert_false(epi_mailbox_take(mailbox, &got));
    assert_int_equal(got, -1);
    for (int i = 0; i < 20; i++) {
        int pair[2] = {2 * i, 2 * i + 1};

        assert_int_equal(epi_mailbox_post(mailbox, &pair[0]), EPDX_OK);
        assert_int_equal(epi_mailbox_post(mailbox, &pair[1]), EPDX_OK);
        while (epi_mailbox_take(mailbox, &got)) {
            assert_int_equal(got, next);
            next++;
        }
    }
    assert_int_equal(next, 40);
    epi_mailbox_close(mailbox);
}

static void err_full_at_capacity(void **state)
{
    epi_mailbox_t *mailbox = NULL;
    int message = 5;

    (void)state;
    assert_int_equal(epi_mailbox_open(2, sizeof(int), &mailbox), EPDX_OK);
    assert_int_equal(epi_mailbox_post(mailbox, &message), EPDX_OK);
    message = 6;
    assert_int_equal(epi_mailbox_post(mailbox, &message), EPDX_OK);
    message = 7;
    assert_int_equal(epi_mailbox_post(mailbox, &message), EPDX_ERR_FULL);
    assert_true(epi_mailbox_take(mailbox, &message));
    assert_int_equal(message, 5);
    assert_true(epi_mailbox_take(mailbox, &message));
    assert_int_equal(message, 6);
    assert_false(epi_mailbox_take(mailbox, &message));
    epi_mailbox_close(mailbox);
}

static void err_invalid_zero_or_overflow(void **state)
{
    epi_mailbox_t *mailbox = NULL;

    (void)state;
    assert_int_equal(epi_mailbox_open(0, 8, &mailbox), EPDX_ERR_INVALID);
    assert_int_equal(epi_mailbox_open(8, 0, &mailbox), EPDX_ERR_INVALID);
    assert_int_equal(epi_mailbox_open(SIZE_MAX, 8, &mailbox), EPDX_ERR_INVALID);
    assert_null(mailbox);
    epi_mailbox_close(NULL);
}

static void err_no_memory(void **state)
{
    epi_mailbox_t *mailbox = NULL;

    (void)state;
    for (int left = 0; left < 2; left++) {
        test_calloc_left = left;
        assert_int_equal(epi_mailbox_open(8, 8, &mailbox), EPDX_ERR_NO_MEMORY);
        assert_null(mailbox);
    }
}

#define MESSAGES 20000

static void *poster(void *context)
{
    epi_mailbox_t *mailbox = context;

    for (uint64_t i = 0; i < MESSAGES; i++) {
        message_t message = {i, malloc(sizeof(uint64_t))};

        if (message.note == NULL) {
            abort();
        }
        *message.note = i * 3;
        while (epi_mailbox_post(mailbox, &message) != EPDX_OK) {
            (void)sched_yield();
        }
    }
    return NULL;
}

/* Run under -fsanitize=thread too: what a message points to changes hands. */
static void two_threads_lose_nothing_and_keep_order(void **state)
{
    epi_mailbox_t *mailbox = NULL;
    pthread_t thread;
    message_t message;

    (void)state;
    assert_int_equal(epi_mailbox_open(16, sizeof(message_t), &mailbox),
                     EPDX_OK);
    assert_int_equal(pthread_create(&thread, NULL, poster, mailbox), 0);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        while (!epi_mailbox_take(mailbox, &message)) {
            (void)sched_yield();
        }
        assert_int_equal(message.sequence, i);
        assert_int_equal(*message.note, i * 3);
        free(message.note);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(epi_mailbox_take(mailbox, &message));
    epi_mailbox_close(mailbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_around_the_ring),
        cmocka_unit_test(err_full_at_capacity),
        cmocka_unit_test(err_invalid_zero_or_overflow),
        cmocka_unit_test(err_no_memory),
        cmocka_unit_test(two_threads_lose_nothing_and_keep_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
