/*
 * fake_nccl_run.c: what a stream's thread does for one group.
 *
 *     enter: say what this rank's group is, wait for all ranks to say theirs
 *     move:  broadcast by broadcast, from the root through slots to the others
 *     end
 *
 * An abort ends it wherever it is; the rows that it should have written are
 * poisoned then, so that whoever reads them all the same is found out.
 */
#include <stdlib.h>
#include <string.h>

#include "testing/fake_nccl_internal.h"

static bool aborted(const epi_fake_group_t *group)
{
    return atomic_load(&group->comm->aborted);
}

static void await_abort(const epi_fake_group_t *group)
{
    epi_fake_segment_t *segment = group->comm->segment;

    while (!aborted(group)) {
        unsigned seen = atomic_load(&segment->bell);

        if (!aborted(group)) {
            epi_fake_segment_wait(segment, seen);
        }
    }
}

/** FNV-1a over roots and sizes. */
static uint64_t hash_of(const epi_fake_group_t *group)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t i;

    for (i = 0; i < group->count; i++) {
        hash ^= (uint64_t)group->broadcasts[i].root + 1;
        hash *= UINT64_C(0x100000001b3);
        hash ^= group->broadcasts[i].bytes;
        hash *= UINT64_C(0x100000001b3);
    }
    return hash;
}

static epi_fake_entry_t *entry_of(const epi_fake_group_t *group, int rank)
{
    return &group->comm->segment->entries[group->number % 2][rank];
}

static void say(const epi_fake_group_t *group)
{
    epi_fake_entry_t *entry = entry_of(group, group->comm->rank);

    atomic_store(&entry->count, group->count);
    atomic_store(&entry->bytes, group->base.entry.bytes);
    atomic_store(&entry->hash, hash_of(group));
    atomic_store(&entry->number, group->number);
    epi_fake_segment_ring(group->comm->segment);
}

/** Wait until rank is in the group too; false: aborted. */
static bool await_rank(const epi_fake_group_t *group, int rank)
{
    epi_fake_segment_t *segment = group->comm->segment;

    for (;;) {
        unsigned seen = atomic_load(&segment->bell);

        if (aborted(group)) {
            return false;
        }
        if (atomic_load(&entry_of(group, rank)->number) == group->number) {
            return true;
        }
        epi_fake_segment_wait(segment, seen);
    }
}

static bool same(const epi_fake_group_t *group, int rank)
{
    const epi_fake_entry_t *mine = entry_of(group, group->comm->rank);
    const epi_fake_entry_t *theirs = entry_of(group, rank);

    return atomic_load(&mine->count) == atomic_load(&theirs->count) &&
           atomic_load(&mine->bytes) == atomic_load(&theirs->bytes) &&
           atomic_load(&mine->hash) == atomic_load(&theirs->hash);
}

/** Be in the group with all ranks; false: aborted, perhaps as they differ. */
static bool enter(const epi_fake_group_t *group)
{
    int differs = -1;
    int rank;

    say(group);
    for (rank = 0; rank < group->comm->size; rank++) {
        if (!await_rank(group, rank)) {
            return false;
        }
        if (!same(group, rank)) {
            differs = rank;
        }
    }
    if (differs < 0) {
        return true;
    }
    atomic_store(&group->comm->error, ncclInvalidUsage);
    await_abort(group);
    return false;
}

/** Whether all ranks but the root have read so much that a slot is free. */
static bool slot_is_free(const epi_fake_group_t *group,
                         const epi_fake_channel_t *channel)
{
    uint64_t written = atomic_load(&channel->written);
    int rank;

    for (rank = 0; rank < group->comm->size; rank++) {
        if (rank != group->comm->rank &&
            written - atomic_load(&channel->read[rank]) >= EPI_FAKE_SLOTS) {
            return false;
        }
    }
    return true;
}

static size_t at_most_a_slot(size_t bytes)
{
    return bytes < EPI_FAKE_SLOT_BYTES ? bytes : EPI_FAKE_SLOT_BYTES;
}

/** Send as the root; false: aborted. */
static bool send(const epi_fake_group_t *group, const epi_fake_broadcast_t *one)
{
    epi_fake_segment_t *segment = group->comm->segment;
    epi_fake_channel_t *channel = &segment->channels[group->comm->rank];
    size_t at = 0;

    if (one->dst.bytes != one->src.bytes) {
        memmove(one->dst.bytes, one->src.bytes, one->bytes);
    }
    while (at < one->bytes && group->comm->size > 1) {
        unsigned seen = atomic_load(&segment->bell);
        size_t piece = at_most_a_slot(one->bytes - at);
        uint64_t written = atomic_load(&channel->written);

        if (aborted(group)) {
            return false;
        }
        if (!slot_is_free(group, channel)) {
            epi_fake_segment_wait(segment, seen);
            continue;
        }
        memcpy(channel->slots[written % EPI_FAKE_SLOTS], one->src.bytes + at,
               piece);
        atomic_store(&channel->written, written + 1);
        epi_fake_segment_ring(segment);
        at += piece;
    }
    return true;
}

/** Receive from the root; false: aborted. */
static bool receive(const epi_fake_group_t *group,
                    const epi_fake_broadcast_t *one)
{
    epi_fake_segment_t *segment = group->comm->segment;
    epi_fake_channel_t *channel = &segment->channels[one->root];
    atomic_uint_fast64_t *mine = &channel->read[group->comm->rank];
    size_t at = 0;

    while (at < one->bytes) {
        unsigned seen = atomic_load(&segment->bell);
        size_t piece = at_most_a_slot(one->bytes - at);
        uint64_t read = atomic_load(mine);

        if (aborted(group)) {
            return false;
        }
        if (atomic_load(&channel->written) == read) {
            epi_fake_segment_wait(segment, seen);
            continue;
        }
        memcpy(one->dst.bytes + at, channel->slots[read % EPI_FAKE_SLOTS],
               piece);
        atomic_store(mine, read + 1);
        epi_fake_segment_ring(segment);
        at += piece;
    }
    return true;
}

static bool move_all(const epi_fake_group_t *group)
{
    size_t i;

    for (i = 0; i < group->count; i++) {
        const epi_fake_broadcast_t *one = &group->broadcasts[i];

        if (!(one->root == group->comm->rank ? send(group, one)
                                             : receive(group, one))) {
            return false;
        }
    }
    return true;
}

static void poison(const epi_fake_group_t *group)
{
    size_t i;

    for (i = 0; i < group->count; i++) {
        const epi_fake_broadcast_t *one = &group->broadcasts[i];

        if (one->root != group->comm->rank) {
            memset(one->dst.bytes, EPI_FAKE_CUDA_POISON, one->bytes);
        }
    }
}

static bool carry_out(const epi_fake_group_t *group)
{
    switch (group->fault.kind) {
    case EPI_FAKE_NCCL_ERROR:
        atomic_store(&group->comm->error, group->fault.error);
        await_abort(group);
        return false;
    case EPI_FAKE_NCCL_NEVER_ENTERS:
        await_abort(group);
        return false;
    default:
        break;
    }
    if (!enter(group) || !move_all(group)) {
        return false;
    }
    if (group->fault.kind == EPI_FAKE_NCCL_ERROR_AFTER) {
        atomic_store(&group->comm->seen_before,
                     epi_fake_event_seen(group->comm->device));
        atomic_store(&group->comm->error_after, group->fault.error);
    }
    return true;
}

void epi_fake_group_run(epi_fake_op_t *op)
{
    epi_fake_group_t *group = (epi_fake_group_t *)op;
    ncclComm_t comm = group->comm;

    /* Aborted before it began: then nothing of it is touched any more, and the
     * memory may be somebody else's. Once it has begun, who aborts waits. */
    atomic_store(&comm->running, true);
    if (!aborted(group) && !carry_out(group)) {
        poison(group);
    }
    epi_fake_group_drop(group);
    (void)atomic_fetch_add(&comm->ended, 1);
    atomic_store(&comm->running, false);
    epi_fake_comm_drop(comm);
}
