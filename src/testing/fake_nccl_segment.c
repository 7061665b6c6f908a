/*
 * fake_nccl_segment.c: the memory that the ranks of a communicator share.
 *
 * It is an anonymous file without a name anywhere: an id says which process has
 * it open and as which descriptor, and the others open it there, through
 * /proc. So nothing can be left behind, whoever dies and when. The process that
 * made it closes the descriptor once all ranks are in.
 *
 * Ranks change it by atomics and ring a bell (a futex) after each change. There
 * is no lock in it that a killed rank could keep.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "testing/fake_nccl_internal.h"

/** How long a wait goes on without a bell: a rank that is told to abort looks
 *  that often at least. */
#define LOOK_NS 20000000

static const char id_magic[8] = "epdxfake";

/** What an ncclUniqueId of the fake holds. */
typedef struct fake_id {
    char magic[sizeof(id_magic)];
    int pid;
    int file;
    uint64_t cookie;
} fake_id_t;

_Static_assert(sizeof(fake_id_t) <= NCCL_UNIQUE_ID_BYTES, "an id must fit");

/** The segments that this process made and still has open. */
typedef struct made {
    struct made *next;
    uint64_t cookie;
    int file;
} made_t;

static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;
static made_t *made;

static void remember(uint64_t cookie, int file, made_t *one)
{
    one->cookie = cookie;
    one->file = file;
    (void)pthread_mutex_lock(&made_lock);
    one->next = made;
    made = one;
    (void)pthread_mutex_unlock(&made_lock);
}

void epi_fake_segment_forget(const epi_fake_segment_t *segment)
{
    made_t **link;
    made_t *found;

    (void)pthread_mutex_lock(&made_lock);
    for (link = &made; *link != NULL && (*link)->cookie != segment->cookie;
         link = &(*link)->next) {
    }
    found = *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&made_lock);
    if (found != NULL) {
        (void)close(found->file);
        free(found);
    }
}

static epi_fake_segment_t *map(int file)
{
    void *base = mmap(NULL, sizeof(epi_fake_segment_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED, file, 0);

    return base == MAP_FAILED ? NULL : base;
}

/** An anonymous file of a segment with that cookie; -1: there is none. */
static int make_file(uint64_t cookie)
{
    int file = memfd_create("epdx_fake_nccl", MFD_CLOEXEC);
    epi_fake_segment_t *segment = NULL;

    if (file >= 0 && ftruncate(file, (off_t)sizeof(*segment)) == 0) {
        segment = map(file);
    }
    if (segment == NULL) {
        if (file >= 0) {
            (void)close(file);
        }
        return -1;
    }
    segment->cookie = cookie;
    epi_fake_segment_detach(segment);
    return file;
}

ncclResult_t epi_fake_segment_make(ncclUniqueId *id_p)
{
    fake_id_t id = {.pid = (int)getpid(), .cookie = epi_random_u64()};
    made_t *one = calloc(1, sizeof(*one));

    id.file = one == NULL ? -1 : make_file(id.cookie);
    if (id.file < 0) {
        free(one);
        return epi_fake_nccl_fails(ncclSystemError, "no shared memory: %s",
                                   strerrordesc_np(errno));
    }
    memcpy(id.magic, id_magic, sizeof(id_magic));
    remember(id.cookie, id.file, one);
    memset(id_p, 0, sizeof(*id_p));
    memcpy(id_p, &id, sizeof(id));
    return ncclSuccess;
}

/** Open the segment that an id leads to. */
static epi_fake_segment_t *open_segment(const fake_id_t *id)
{
    epi_fake_segment_t *segment;
    char path[64];
    int file;

    if (memcmp(id->magic, id_magic, sizeof(id_magic)) != 0) {
        return NULL;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", id->pid, id->file);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    /* A descriptor that was closed and is something else now. */
    if (lseek(file, 0, SEEK_END) != (off_t)sizeof(epi_fake_segment_t)) {
        (void)close(file);
        return NULL;
    }
    segment = map(file);
    (void)close(file);
    if (segment != NULL && segment->cookie != id->cookie) {
        epi_fake_segment_detach(segment);
        segment = NULL;
    }
    return segment;
}

ncclResult_t epi_fake_segment_attach(const ncclUniqueId *id, int rank, int size,
                                     epi_fake_segment_t **segment_p)
{
    epi_fake_segment_t *segment;
    fake_id_t mine;
    int theirs = 0;

    memcpy(&mine, id, sizeof(mine));
    segment = open_segment(&mine);
    if (segment == NULL) {
        return epi_fake_nccl_fails(
            ncclSystemError, "the process that made the id does not have it");
    }
    if (!atomic_compare_exchange_strong(&segment->size, &theirs, size) &&
        theirs != size) {
        epi_fake_segment_detach(segment);
        return epi_fake_nccl_fails(ncclInvalidUsage,
                                   "rank %d says %d ranks, others say %d", rank,
                                   size, theirs);
    }
    if (atomic_load(&segment->versions[rank]) != 0) {
        epi_fake_segment_detach(segment);
        return epi_fake_nccl_fails(ncclInvalidUsage, "rank %d is taken", rank);
    }
    *segment_p = segment;
    return ncclSuccess;
}

void epi_fake_segment_enter(epi_fake_segment_t *segment, int rank, int version)
{
    atomic_store(&segment->versions[rank], version);
    (void)atomic_fetch_add(&segment->attached, 1);
    epi_fake_segment_ring(segment);
}

void epi_fake_segment_detach(epi_fake_segment_t *segment)
{
    (void)munmap(segment, sizeof(*segment));
}

void epi_fake_segment_ring(epi_fake_segment_t *segment)
{
    (void)atomic_fetch_add(&segment->bell, 1);
    (void)syscall(SYS_futex, &segment->bell, FUTEX_WAKE, INT_MAX, NULL, NULL,
                  0);
}

void epi_fake_segment_wait(epi_fake_segment_t *segment, unsigned seen)
{
    const struct timespec patience = {.tv_nsec = LOOK_NS};

    (void)syscall(SYS_futex, &segment->bell, FUTEX_WAIT, seen, &patience, NULL,
                  0);
}
