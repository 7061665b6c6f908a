/*
 * team.c: processes of one host that rank 0 starts. They share a page table of
 * slots in an anonymous file, whose descriptor the started ones inherit.
 *
 * A meeting has a number. Each rank writes its bytes into its slot of that
 * meeting's half, then the number into its word; it goes on when all words
 * have come to it. Two halves are enough: nobody writes meeting n + 2 before
 * all have read meeting n, since they then met for n + 1.
 */
#include "bench/team.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

#define MEET_LIMIT_NS (600 * EPI_S)
#define NAP_NS        (50 * EPI_US)
#define ARGS_MAX      96

extern char **environ;

typedef struct slots {
    _Atomic uint64_t at[EPI_TEAM_RANKS_MAX];
    uint8_t bytes[2][EPI_TEAM_RANKS_MAX][EPI_TEAM_SHARE_MAX];
} slots_t;

typedef struct local_team {
    epi_team_t base;
    slots_t *slots;
    uint64_t meeting;
    pid_t children[EPI_TEAM_RANKS_MAX]; /* 0: none, or it has ended */
    int statuses[EPI_TEAM_RANKS_MAX];   /* of those that have ended, else -1 */
} local_team_t;

static void nap(void)
{
    const struct timespec time = {0, NAP_NS};

    (void)nanosleep(&time, NULL);
}

/* A raw loop waits for its peer without a deadline, and this would be in vain
 * where the peer was killed: then the whole run ends, and its processes with
 * it. What a process that ends by itself has to say is heard at a meeting. */
static void on_child(int signal, siginfo_t *info, void *context)
{
    static const char words[] =
        "epdx_bench: a process of the team was killed\n";

    (void)signal;
    (void)context;
    if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) {
        (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
        _exit(1);
    }
}

static void watch_children(void)
{
    struct sigaction action = {.sa_sigaction = on_child,
                               .sa_flags = SA_SIGINFO | SA_RESTART};

    (void)sigaction(SIGCHLD, &action, NULL);
}

/* A process that ended before its time would be waited for until the deadline,
 * at this meeting and at each later one. Its status as waitpid() has it; -1:
 * none has. */
static int child_ended(local_team_t *self)
{
    for (uint32_t i = 1; self->base.rank == 0 && i < self->base.size; i++) {
        int status;

        if (self->children[i] > 0 &&
            waitpid(self->children[i], &status, WNOHANG) == self->children[i]) {
            self->children[i] = 0;
            self->statuses[i] = status;
        }
        if (self->statuses[i] >= 0 &&
            atomic_load(&self->slots->at[i]) < self->meeting) {
            return self->statuses[i];
        }
    }
    return -1;
}

/* Until a rank has come to this meeting. */
static epdx_status_t await(local_team_t *self, uint32_t rank)
{
    uint64_t limit = epi_now_ns() + MEET_LIMIT_NS;

    while (atomic_load(&self->slots->at[rank]) < self->meeting) {
        int status = child_ended(self);

        if (status >= 0) {
            return epi_fail(EPDX_ERR_GROUP,
                            "a process of the team ended: exit %d, signal %d",
                            WEXITSTATUS(status), WTERMSIG(status));
        }
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "process %u of %u did not come",
                            rank, self->base.size);
        }
        nap();
    }
    return EPDX_OK;
}

static epdx_status_t local_share(epi_team_t *team, const void *mine,
                                 size_t bytes, void *all)
{
    local_team_t *self = (local_team_t *)team;
    slots_t *slots = self->slots;
    size_t half = ++self->meeting % 2;

    if (bytes > 0) {
        memcpy(slots->bytes[half][team->rank], mine, bytes);
    }
    atomic_store(&slots->at[team->rank], self->meeting);
    for (uint32_t i = 0; i < team->size; i++) {
        epdx_status_t status = await(self, i);

        if (status != EPDX_OK) {
            return status;
        }
        if (bytes > 0) {
            memcpy((uint8_t *)all + i * bytes, slots->bytes[half][i], bytes);
        }
    }
    return EPDX_OK;
}

static void local_close(epi_team_t *team)
{
    local_team_t *self = (local_team_t *)team;

    for (uint32_t i = 1; team->rank == 0 && i < team->size; i++) {
        if (self->children[i] > 0) {
            (void)waitpid(self->children[i], NULL, 0);
        }
    }
    (void)munmap(self->slots, sizeof(*self->slots));
    free(self);
}

static const epi_team_ops_t local_ops = {local_share, local_close};

/* This program again, with its arguments and where to meet. */
static epdx_status_t start(local_team_t *self, char **argv, int fd,
                           uint32_t rank)
{
    char meet[64];
    char *args[ARGS_MAX];
    size_t count = 0;
    int cause;

    for (; argv[count] != NULL && count < ARGS_MAX - 2; count++) {
        args[count] = argv[count];
    }
    (void)snprintf(meet, sizeof(meet), "--" EPI_TEAM_MEET_OPTION "=%d:%u:%u",
                   fd, rank, self->base.size);
    args[count++] = meet;
    args[count] = NULL;
    cause = posix_spawn(&self->children[rank], "/proc/self/exe", NULL, NULL,
                        args, environ);
    if (cause != 0) {
        return epi_fail(EPDX_ERR_IO, "cannot start process %u: %s", rank,
                        strerror(cause));
    }
    return EPDX_OK;
}

/* A number up to the next colon or the end. */
static bool take_number(const char **at, uint64_t max, uint64_t *value_p)
{
    size_t length = strcspn(*at, ":");

    if (!epi_text_u64(*at, length, max, value_p)) {
        return false;
    }
    *at += length + ((*at)[length] == ':');
    return true;
}

/* "FD:RANK:SIZE", as start() writes it. */
static bool parse_meet(const char *meet, int *fd_p, uint32_t *rank_p,
                       uint32_t *size_p)
{
    uint64_t fd, rank, size;

    if (!take_number(&meet, INT_MAX, &fd) ||
        !take_number(&meet, EPI_TEAM_RANKS_MAX, &rank) ||
        !take_number(&meet, EPI_TEAM_RANKS_MAX, &size) || rank >= size) {
        return false;
    }
    *fd_p = (int)fd;
    *rank_p = (uint32_t)rank;
    *size_p = (uint32_t)size;
    return true;
}

/* The file that all map. Inherited, so not closed on exec. */
static int make_slots(void)
{
    int fd = memfd_create("epdx_bench", 0);

    if (fd >= 0 && ftruncate(fd, (off_t)sizeof(slots_t)) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static epdx_status_t map_slots(local_team_t *self, int fd)
{
    void *at = MAP_FAILED;

    if (fd >= 0) {
        at = mmap(NULL, sizeof(slots_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  0);
    }
    if (at == MAP_FAILED) {
        return epi_fail(EPDX_ERR_IO, "memory to meet in: %s", strerror(errno));
    }
    self->slots = at;
    return EPDX_OK;
}

epdx_status_t epi_team_open(char **argv, const char *meet, uint32_t size,
                            epi_team_t **team_p)
{
    local_team_t *self = calloc(1, sizeof(*self));
    epdx_status_t status;
    int fd = -1;

    if (self == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a team");
    }
    self->base = (epi_team_t){.ops = &local_ops, .size = size};
    memset(self->statuses, 0xff, sizeof(self->statuses)); /* -1 */
    if (meet == NULL) {
        fd = make_slots();
    } else if (!parse_meet(meet, &fd, &self->base.rank, &self->base.size)) {
        free(self);
        return epi_fail(EPDX_ERR_INVALID, "--meet is not for users");
    }
    status = map_slots(self, fd);
    if (meet == NULL) {
        watch_children();
    } else {
        /* Nobody would end it when rank 0 is killed. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    for (uint32_t i = 1; meet == NULL && status == EPDX_OK && i < size; i++) {
        status = start(self, argv, fd, i);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status != EPDX_OK) {
        free(self);
        return status;
    }
    *team_p = &self->base;
    return EPDX_OK;
}

epdx_status_t epi_team_meet(epi_team_t *team)
{
    return team->ops->share(team, NULL, 0, NULL);
}

epdx_status_t epi_team_max(epi_team_t *team, double *value_p)
{
    double all[EPI_TEAM_RANKS_MAX];
    epdx_status_t status =
        team->ops->share(team, value_p, sizeof(*value_p), all);

    for (uint32_t i = 0; status == EPDX_OK && i < team->size; i++) {
        *value_p = all[i] > *value_p ? all[i] : *value_p;
    }
    return status;
}

typedef struct words {
    int32_t status;
    char text[512];
} words_t;

epdx_status_t epi_team_agree(epi_team_t *team, epdx_status_t status)
{
    static words_t all[EPI_TEAM_RANKS_MAX];
    words_t mine = {.status = status};
    epdx_status_t shared;

    if (status != EPDX_OK) {
        (void)epi_text_copy(mine.text, sizeof(mine.text), epdx_last_error());
    }
    shared = team->ops->share(team, &mine, sizeof(mine), all);
    for (uint32_t i = 0; shared == EPDX_OK && i < team->size; i++) {
        if (all[i].status != EPDX_OK) {
            return epi_fail((epdx_status_t)all[i].status, "rank %u: %s", i,
                            all[i].text);
        }
    }
    return shared;
}

void epi_team_close(epi_team_t *team)
{
    if (team != NULL) {
        team->ops->close(team);
    }
}
