/* facts_memory.c: what memory the node has for epdx, from the kernel. */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "dataplane/mapped.h"
#include "memory/available.h"
#include "memory/memory.h"
#include "tools/facts.h"
#include "tools/probes.h"

#define PROBE_NS    (20 * EPI_S)
#define SHARE_BYTES ((size_t)4096)

static void find_shm(epi_memory_facts_t *facts)
{
    struct statvfs shm;

    if (statvfs("/dev/shm", &shm) == 0) {
        facts->shm_bytes = (uint64_t)shm.f_blocks * shm.f_frsize;
        facts->shm_free = (uint64_t)shm.f_bavail * shm.f_frsize;
        facts->shm_writable = access("/dev/shm", W_OK | X_OK) == 0;
    }
}

static bool has_entries(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    bool found = false;

    if (dir == NULL) {
        return false;
    }
    while (!found && (entry = readdir(dir)) != NULL) {
        found = entry->d_name[0] != '.';
    }
    (void)closedir(dir);
    return found;
}

/** Have another process map a file of this one. */
static void share(const epi_mapped_source_t *source, epi_memory_facts_t *facts)
{
    uint8_t announce[EPI_MAPPED_ANNOUNCE_BYTES];
    char text[2 * EPI_MAPPED_ANNOUNCE_BYTES + 1];
    epi_share_facts_t found = {.shared = false};

    epi_mapped_announce(source, announce);
    for (size_t i = 0; i < sizeof(announce); i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", announce[i]);
    }
    if (epi_probe_run(EPI_PROBE_SHARE, text, PROBE_NS, &found) != EPDX_OK) {
        (void)epi_text_copy(found.error, sizeof(found.error),
                            epdx_last_error());
        found.shared = false;
    }
    facts->shared = found.shared;
    (void)epi_text_copy(facts->shared_error, sizeof(facts->shared_error),
                        found.error);
}

static void try_sharing(epi_memory_facts_t *facts)
{
    const epi_memory_ops_t *memory = epi_memory_shared();
    epi_mapped_source_t source = {0};
    void *rows = NULL;

    if (memory->alloc(0, SHARE_BYTES, &rows) == EPDX_OK &&
        epi_mapped_source_open(rows, SHARE_BYTES, epi_memory_shared_fd(rows),
                               &source) == EPDX_OK) {
        share(&source, facts);
    } else {
        (void)epi_text_copy(facts->shared_error, sizeof(facts->shared_error),
                            epdx_last_error());
    }
    epi_mapped_source_close(&source);
    if (rows != NULL) {
        memory->release(0, rows, SHARE_BYTES);
    }
}

/** "pid:[4026531836]", or "". */
static void find_namespace(const char *path, char *out, size_t size)
{
    ssize_t bytes = readlink(path, out, size - 1);

    out[bytes > 0 ? bytes : 0] = '\0';
}

static void find_namespaces(epi_memory_facts_t *facts)
{
    char pid[48];
    char ipc[48];

    find_namespace("/proc/self/ns/pid", pid, sizeof(pid));
    find_namespace("/proc/self/ns/ipc", ipc, sizeof(ipc));
    if (pid[0] != '\0' && ipc[0] != '\0') {
        epi_text_format(facts->namespaces, sizeof(facts->namespaces),
                        "%s and %s", pid, ipc);
    }
}

void epi_facts_memory(const epi_options_t *options, epi_memory_facts_t *facts_p)
{
    epi_memory_facts_t facts = {.device = options->memory == EPDX_MEMORY_CUDA,
                                .staging_bytes = options->cuda_staging_bytes,
                                .pool_bytes = options->recv_pool_bytes,
                                .ring_bytes = options->encode_ring_bytes};
    struct rlimit limit = {0};

    find_shm(&facts);
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    facts.locked_bytes = limit.rlim_cur == RLIM_INFINITY
                             ? EPI_UNLIMITED
                             : (uint64_t)limit.rlim_cur;
    facts.rdma = has_entries("/sys/class/infiniband");
    epi_available(&facts.available);
    find_namespaces(&facts);
    try_sharing(&facts);
    *facts_p = facts;
}
