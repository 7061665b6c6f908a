/*
 * mailbox.c: a ring of message copies under one mutex.
 *
 * posted counts what is in the ring. It is written under the lock only and
 * read without it to answer "nothing there": whoever posts also wakes the
 * taker by other means, so a stale 0 costs one more look, never a message.
 */
#include "base/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

struct epi_mailbox {
    pthread_mutex_t lock; /* guards all below */
    atomic_size_t posted;
    size_t head; /* oldest message */
    size_t capacity;
    size_t message_bytes;
    unsigned char *ring;
};

epdx_status_t epi_mailbox_open(size_t capacity, size_t message_bytes,
                               epi_mailbox_t **mailbox_p)
{
    epi_mailbox_t *mailbox;
    uint64_t bytes;

    if (capacity == 0 || message_bytes == 0 ||
        !epi_mul_u64(capacity, message_bytes, &bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "mailbox of %zu messages of %zu bytes", capacity,
                        message_bytes);
    }
    mailbox = calloc(1, sizeof(*mailbox));
    if (mailbox == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a mailbox");
    }
    mailbox->ring = calloc(1, bytes);
    if (mailbox->ring == NULL || pthread_mutex_init(&mailbox->lock, NULL)) {
        free(mailbox->ring);
        free(mailbox);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for a mailbox of %zu messages of %zu bytes",
                        capacity, message_bytes);
    }
    atomic_init(&mailbox->posted, 0);
    mailbox->capacity = capacity;
    mailbox->message_bytes = message_bytes;
    *mailbox_p = mailbox;
    return EPDX_OK;
}

static unsigned char *slot(const epi_mailbox_t *mailbox, size_t index)
{
    return mailbox->ring + index % mailbox->capacity * mailbox->message_bytes;
}

epdx_status_t epi_mailbox_post(epi_mailbox_t *mailbox, const void *message)
{
    size_t posted;
    bool room;

    (void)pthread_mutex_lock(&mailbox->lock);
    posted = atomic_load_explicit(&mailbox->posted, memory_order_relaxed);
    room = posted < mailbox->capacity;
    if (room) {
        memcpy(slot(mailbox, mailbox->head + posted), message,
               mailbox->message_bytes);
        atomic_store_explicit(&mailbox->posted, posted + 1,
                              memory_order_release);
    }
    (void)pthread_mutex_unlock(&mailbox->lock);
    if (!room) {
        return epi_fail(EPDX_ERR_FULL, "mailbox of %zu messages is full",
                        mailbox->capacity);
    }
    return EPDX_OK;
}

bool epi_mailbox_take(epi_mailbox_t *mailbox, void *message_p)
{
    size_t posted;

    if (atomic_load_explicit(&mailbox->posted, memory_order_acquire) == 0) {
        return false;
    }
    (void)pthread_mutex_lock(&mailbox->lock);
    posted = atomic_load_explicit(&mailbox->posted, memory_order_relaxed);
    if (posted > 0) {
        memcpy(message_p, slot(mailbox, mailbox->head), mailbox->message_bytes);
        mailbox->head = (mailbox->head + 1) % mailbox->capacity;
        atomic_store_explicit(&mailbox->posted, posted - 1,
                              memory_order_release);
    }
    (void)pthread_mutex_unlock(&mailbox->lock);
    return posted > 0;
}

void epi_mailbox_close(epi_mailbox_t *mailbox)
{
    if (mailbox == NULL) {
        return;
    }
    (void)pthread_mutex_destroy(&mailbox->lock);
    free(mailbox->ring);
    free(mailbox);
}
