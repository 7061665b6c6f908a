/*
 * ucx_gate.c: whose connections reach the listener. For the plane's thread.
 *
 * UCX takes the first bytes of a connection for the length of a message, and
 * ends the process when they do not fit (seen in 1.13.1, the same in 1.19), or
 * spins: a scan of the network would be enough. So the kernel drops what comes
 * to the listener from hosts that no peer is expected from: a socket filter
 * lets none in at first, and admit() one host after the other. A connection
 * inherits it. Peers bind their end to the address that they publish.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "dataplane/ucx_internal.h"

/* Where the source address stands in the network's header. */
#define V4_SOURCE 12U
#define V6_SOURCE 8U
#define V6_WORDS  4U

/** Instructions of one host: a load and a comparison a word, and the return. */
#define V6_CODES (2U * V6_WORDS + 1U)

#define DROP     ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0))
#define PASS     ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX))

static struct sock_filter load(uint32_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                        (uint32_t)SKF_NET_OFF + offset);
}

/** Go on with the next instruction where the word is equal, else skip. */
static struct sock_filter equal(uint32_t word, uint8_t skip)
{
    return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0,
                                        skip);
}

static size_t put_host(const epi_ucx_plane_t *plane, const uint8_t *host,
                       struct sock_filter *out)
{
    uint32_t word;
    size_t count = 0;

    if (plane->family == AF_INET) {
        memcpy(&word, host, sizeof(word));
        out[count++] = load(V4_SOURCE);
        out[count++] = equal(ntohl(word), 1);
    } else {
        for (uint32_t i = 0; i < V6_WORDS; i++) {
            memcpy(&word, host + i * sizeof(word), sizeof(word));
            out[count++] = load(V6_SOURCE + i * (uint32_t)sizeof(word));
            out[count++] =
                equal(ntohl(word), (uint8_t)(2 * (V6_WORDS - 1 - i) + 1));
        }
    }
    out[count++] = PASS;
    return count;
}

static epdx_status_t attach(const epi_ucx_plane_t *plane)
{
    struct sock_filter codes[EPI_UCX_HOSTS_MAX * V6_CODES + 1];
    struct sock_fprog program = {.filter = codes};
    size_t count = 0;

    _Static_assert(EPI_UCX_HOSTS_MAX * V6_CODES + 1 <= BPF_MAXINSNS,
                   "more than a filter may have");
    for (size_t i = 0; i < plane->gate.count; i++) {
        count += put_host(plane, plane->gate.hosts[i], codes + count);
    }
    codes[count++] = DROP;
    program.len = (unsigned short)count;
    if (setsockopt(plane->gate.fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                   sizeof(program)) != 0) {
        return epi_fail(EPDX_ERR_IO, "data plane: cannot filter its port: %s",
                        strerror(errno));
    }
    return EPDX_OK;
}

/** Let everybody in: said once, as UCX then trusts the network. */
static void open_wide(epi_ucx_plane_t *plane, const char *why)
{
    if (plane->gate.fd >= 0) {
        int none = 0;

        (void)setsockopt(plane->gate.fd, SOL_SOCKET, SO_DETACH_FILTER, &none,
                         sizeof(none));
        plane->gate.fd = -1;
    }
    epi_log_warn("data plane: %s accepts connections from every host (%s): "
                 "bytes that are not UCX's there would end this process",
                 plane->address, why);
}

/** Whether fd listens at the plane's address. */
static bool is_listener(const epi_ucx_plane_t *plane, int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t bytes = sizeof(bound);
    char name[EPI_UCX_ADDRESS_MAX];
    int listening = 0;
    socklen_t size = sizeof(listening);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 ||
        listening == 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &bytes) != 0) {
        return false;
    }
    epi_ucx_name(&bound, name, sizeof(name));
    return strcmp(name, plane->address) == 0;
}

/** UCX does not tell the descriptor of a listener. */
static int find_listener(const epi_ucx_plane_t *plane)
{
    DIR *fds = opendir("/proc/self/fd");
    const struct dirent *entry;
    int found = -1;

    if (fds == NULL) {
        return -1;
    }
    while (found < 0 && (entry = readdir(fds)) != NULL) {
        uint64_t fd;

        if (epi_text_number(entry->d_name, INT32_MAX, &fd) &&
            is_listener(plane, (int)fd)) {
            found = (int)fd;
        }
    }
    (void)closedir(fds);
    return found;
}

void epi_ucx_gate(epi_ucx_plane_t *plane)
{
    plane->gate.fd = find_listener(plane);
    if (plane->gate.fd < 0) {
        open_wide(plane, "its socket was not found in /proc/self/fd");
    } else if (attach(plane) != EPDX_OK) {
        open_wide(plane, epdx_last_error());
    }
}

/** The bytes of a numeric host of the plane's family, zeros behind. */
static bool host_bytes(const epi_ucx_plane_t *plane, const char *host,
                       uint8_t out[EPI_UCX_HOST_BYTES])
{
    memset(out, 0, EPI_UCX_HOST_BYTES);
    return inet_pton(plane->family, host, out) == 1;
}

static bool is_admitted(const epi_ucx_gate_t *gate,
                        const uint8_t host[EPI_UCX_HOST_BYTES])
{
    for (size_t i = 0; i < gate->count; i++) {
        if (memcmp(gate->hosts[i], host, EPI_UCX_HOST_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void epi_ucx_admit(epi_dataplane_t *dp, const char *host)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    uint8_t bytes[EPI_UCX_HOST_BYTES];

    if (plane->gate.fd < 0) {
        return;
    }
    if (!host_bytes(plane, host, bytes)) {
        open_wide(plane, "an encode rank publishes a name, or an address of "
                         "another family");
        return;
    }
    if (is_admitted(&plane->gate, bytes)) {
        return;
    }
    if (plane->gate.count == EPI_UCX_HOSTS_MAX) {
        open_wide(plane, "there are more hosts of encode ranks than a filter "
                         "holds");
        return;
    }
    memcpy(plane->gate.hosts[plane->gate.count++], bytes, sizeof(bytes));
    if (attach(plane) != EPDX_OK) {
        open_wide(plane, epdx_last_error());
    }
}
