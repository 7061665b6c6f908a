/* mapped.c: see mapped.h. */
#include "dataplane/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "dataplane/plane.h"
#include "memory/memory.h"

#define MAGIC       UINT64_C(0x31706d7864706165) /* "eapdxmp1" */
#define NONCE_WORDS 2
#define SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct epi_mapped_head {
    uint64_t magic;
    uint64_t nonce[NONCE_WORDS]; /* nobody guesses it: this is the file meant */
    uint64_t bytes;              /* of the rows */
    _Atomic uint64_t generations[EPI_MAPPED_SLOTS];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "shared between processes");

/** An announcement: as it is in memory, since both ends are on one host. */
typedef struct announce {
    uint64_t magic;
    uint64_t nonce[NONCE_WORDS];
    int32_t pid;
    int32_t rows_fd;
    int32_t head_fd;
    int32_t zero;
} announce_t;

_Static_assert(sizeof(announce_t) == EPI_MAPPED_ANNOUNCE_BYTES, "its size");

epdx_status_t epi_mapped_source_open(const void *rows, size_t bytes,
                                     int rows_fd, epi_mapped_source_t *source_p)
{
    epi_mapped_source_t source = {.rows = rows,
                                  .bytes = bytes,
                                  .rows_fd = rows_fd,
                                  .free_count = EPI_MAPPED_SLOTS};
    void *head = NULL;
    epdx_status_t status =
        epi_memory_shared()->alloc(0, sizeof(epi_mapped_head_t), &head);

    if (status != EPDX_OK) {
        return status;
    }
    source.head = head;
    source.head_fd = epi_memory_shared_fd(head);
    source.free_slots = malloc(EPI_MAPPED_SLOTS * sizeof(*source.free_slots));
    if (source.free_slots == NULL) {
        epi_memory_shared()->release(0, head, sizeof(epi_mapped_head_t));
        return epi_fail(EPDX_ERR_NO_MEMORY, "data plane: no memory for slots");
    }
    for (uint32_t i = 0; i < EPI_MAPPED_SLOTS; i++) {
        source.free_slots[i] = EPI_MAPPED_SLOTS - 1 - i;
    }
    source.head->magic = MAGIC;
    source.head->bytes = bytes;
    for (size_t i = 0; i < NONCE_WORDS; i++) {
        source.head->nonce[i] = epi_random_u64();
    }
    *source_p = source;
    return EPDX_OK;
}

void epi_mapped_announce(const epi_mapped_source_t *source,
                         uint8_t out[EPI_MAPPED_ANNOUNCE_BYTES])
{
    announce_t announce = {.magic = MAGIC,
                           .pid = (int32_t)getpid(),
                           .rows_fd = source->rows_fd,
                           .head_fd = source->head_fd};

    memcpy(announce.nonce, source->head->nonce, sizeof(announce.nonce));
    memcpy(out, &announce, sizeof(announce));
}

bool epi_mapped_begin(epi_mapped_source_t *source, const void *payload,
                      size_t bytes, epi_mapped_place_t *place_p)
{
    uint32_t slot;

    if (source->free_count == 0 ||
        !epi_dp_inside(source->rows, source->bytes, payload, bytes)) {
        return false;
    }
    slot = source->free_slots[--source->free_count];
    *place_p = (epi_mapped_place_t){
        .offset = (uint64_t)((const uint8_t *)payload - source->rows),
        .generation = atomic_load_explicit(&source->head->generations[slot],
                                           memory_order_relaxed),
        .slot = slot};
    return true;
}

void epi_mapped_end(epi_mapped_source_t *source, uint32_t slot)
{
    /* Whoever sees rows that are written after this sees this, too. */
    (void)atomic_fetch_add_explicit(&source->head->generations[slot], 1,
                                    memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    source->free_slots[source->free_count++] = slot;
}

void epi_mapped_source_close(epi_mapped_source_t *source)
{
    if (source->head != NULL) {
        epi_memory_shared()->release(0, source->head,
                                     sizeof(epi_mapped_head_t));
    }
    free(source->free_slots);
    *source = (epi_mapped_source_t){0};
}

static epdx_status_t out_of_reach(const char *what, const char *why)
{
    return epi_fail(EPDX_ERR_UNREACHABLE,
                    "data plane: the shared %s of a peer: %s", what, why);
}

/** Open one file of another process, if it is a sealed one of ours. The link is
 *  looked at first: opening what a peer names could block or have effects. */
static epdx_status_t open_file(const char *what, int32_t pid, int32_t number,
                               int *fd_p)
{
    static const char wanted[] = "/memfd:" EPI_MEMORY_SHARED_NAME " ";
    char path[64];
    char name[sizeof(wanted)] = "";
    int seals;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)number);
    if (readlink(path, name, sizeof(name) - 1) != (ssize_t)sizeof(name) - 1 ||
        strcmp(name, wanted) != 0) {
        return out_of_reach(what, "there is no such file on this host");
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return out_of_reach(what, strerror(errno));
    }
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS) {
        (void)close(fd);
        return out_of_reach(what, "it is not sealed");
    }
    *fd_p = fd;
    return EPDX_OK;
}

/** Map at least least bytes of a file that is opened by pid and number. */
static epdx_status_t map_file(const char *what, const announce_t *announce,
                              int32_t number, size_t least, void **base_p)
{
    struct stat stat;
    epdx_status_t status;
    void *base;
    int fd = -1;

    status = open_file(what, announce->pid, number, &fd);
    if (status != EPDX_OK) {
        return status;
    }
    if (fstat(fd, &stat) != 0 || stat.st_size < 0 ||
        (uint64_t)stat.st_size < least) {
        (void)close(fd);
        return out_of_reach(what, "it is shorter than it should be");
    }
    base = mmap(NULL, least, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (base == MAP_FAILED) {
        return out_of_reach(what, strerror(errno));
    }
    *base_p = base;
    return EPDX_OK;
}

epdx_status_t epi_mapped_view_open(const void *bytes, size_t length,
                                   epi_mapped_view_t *view_p)
{
    announce_t announce;
    epi_mapped_view_t view = {0};
    epdx_status_t status;
    void *base = NULL;

    if (length != sizeof(announce)) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "data plane: an announcement of %zu bytes", length);
    }
    memcpy(&announce, bytes, sizeof(announce));
    if (announce.magic != MAGIC || announce.zero != 0 || announce.pid <= 0) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "data plane: an announcement that is none");
    }
    status = map_file("head", &announce, announce.head_fd,
                      sizeof(epi_mapped_head_t), &base);
    if (status != EPDX_OK) {
        return status;
    }
    view.head = base;
    view.bytes = (size_t)view.head->bytes;
    if (view.head->magic != MAGIC || view.bytes == 0 ||
        memcmp(view.head->nonce, announce.nonce, sizeof(announce.nonce)) != 0) {
        status = out_of_reach("head", "it is another one");
        goto err_unmap_head;
    }
    status = map_file("rows", &announce, announce.rows_fd, view.bytes, &base);
    if (status != EPDX_OK) {
        goto err_unmap_head;
    }
    view.rows = base;
    *view_p = view;
    return EPDX_OK;

err_unmap_head:
    (void)munmap((void *)view.head, sizeof(epi_mapped_head_t));
    return status;
}

const void *epi_mapped_at(const epi_mapped_view_t *view,
                          const epi_mapped_place_t *place, uint64_t bytes)
{
    if (place->slot >= EPI_MAPPED_SLOTS || place->offset > view->bytes ||
        bytes > view->bytes - place->offset) {
        return NULL;
    }
    return view->rows + place->offset;
}

bool epi_mapped_holds(const epi_mapped_view_t *view,
                      const epi_mapped_place_t *place)
{
    /* What was read before may not be read after this. */
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&view->head->generations[place->slot],
                                memory_order_seq_cst) == place->generation;
}

void epi_mapped_view_close(epi_mapped_view_t *view)
{
    if (view->head != NULL) {
        (void)munmap((void *)view->rows, view->bytes);
        (void)munmap((void *)view->head, sizeof(epi_mapped_head_t));
    }
    *view = (epi_mapped_view_t){0};
}
