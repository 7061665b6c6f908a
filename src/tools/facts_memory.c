/* facts_memory.c: what memory the node has for epdx, from the kernel. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "dataplane/mapped.h"
#include "memory/memory.h"
#include "tools/facts.h"
#include "tools/probes.h"

#define KIB         UINT64_C(1024)
#define PROBE_NS    (20 * EPI_S)
#define SHARE_BYTES ((size_t)4096)
#define CGROUPS     "/sys/fs/cgroup"

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

/** The number in a file of one line; false: it has none ("max"). */
static bool read_number(const char *path, uint64_t *value_p)
{
    char line[64] = "";
    FILE *file = fopen(path, "re");
    bool got;

    if (file == NULL) {
        return false;
    }
    got = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return got && epi_text_number(line, UINT64_MAX, value_p);
}

static uint64_t mem_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    uint64_t bytes = 0;

    if (file == NULL) {
        return 0;
    }
    while (bytes == 0 && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "MemAvailable:", 13) == 0) {
            bytes = strtoull(line + 13, NULL, 10) * KIB;
        }
    }
    (void)fclose(file);
    return bytes;
}

/** This process's control group (version 2), as a path; false: it has none. */
static bool own_cgroup(char *out, size_t size)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];
    bool found = false;

    if (file == NULL) {
        return false;
    }
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = '\0';
            found = epi_text_copy(out, size, line + 3);
        }
    }
    (void)fclose(file);
    return found;
}

/** The least that is left in the control group and those above it. */
static uint64_t cgroup_available(uint64_t least)
{
    char group[1024];
    char path[2048];
    uint64_t limit, used;

    if (!own_cgroup(group, sizeof(group))) {
        return least;
    }
    for (;;) {
        char *slash = strrchr(group, '/');

        epi_text_format(path, sizeof(path), CGROUPS "%s/memory.max", group);
        if (read_number(path, &limit)) {
            epi_text_format(path, sizeof(path), CGROUPS "%s/memory.current",
                            group);
            used = 0;
            (void)read_number(path, &used);
            limit -= used < limit ? used : limit;
            least = limit < least ? limit : least;
        }
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
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
    epi_memory_facts_t facts = {.pool_bytes = options->recv_pool_bytes,
                                .ring_bytes = options->encode_ring_bytes};
    struct rlimit limit = {0};

    find_shm(&facts);
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    facts.locked_bytes = limit.rlim_cur == RLIM_INFINITY
                             ? EPI_UNLIMITED
                             : (uint64_t)limit.rlim_cur;
    facts.rdma = has_entries("/sys/class/infiniband");
    facts.available = cgroup_available(mem_available());
    find_namespaces(&facts);
    try_sharing(&facts);
    *facts_p = facts;
}
