/* command.c: see command.h. */
#include "tools/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define PATH_BYTES 4096
/** Between two looks whether it has ended. */
#define PAUSE_NS (5 * EPI_MS)
/** For a program that was told to end. */
#define GRACE_NS (5 * EPI_S)

extern char **environ;

static epdx_status_t fail(const epi_command_t *command, int code)
{
    return epi_fail(code == ENOENT ? EPDX_ERR_INVALID : EPDX_ERR_IO,
                    "%s cannot be started: %s", command->argv[0],
                    strerror(code));
}

static epdx_status_t spawn(const epi_command_t *command, int write_fd,
                           pid_t *pid_p)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);

    if (code != 0) {
        return fail(command, code);
    }
    code =
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0) {
        code =
            posix_spawn_file_actions_adddup2(&actions, write_fd, command->fd);
    }
    if (code == 0 && command->fd == 1) {
        code = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    }
    if (code == 0) {
        code = posix_spawnp(pid_p, command->argv[0], &actions, NULL,
                            (char *const *)(uintptr_t)command->argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return code == 0 ? EPDX_OK : fail(command, code);
}

/** Read until nobody has the other end any more; false: that is still so at the
 *  limit. */
static bool read_all(int fd, uint64_t limit_ns, char *out, size_t size,
                     size_t *bytes_p)
{
    char scrap[512];

    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        uint64_t now = epi_now_ns();
        bool full = *bytes_p == size;
        ssize_t got;

        if (now >= limit_ns) {
            return false;
        }
        if (poll(&wait, 1, epi_poll_ms(now, limit_ns, 1000)) <= 0) {
            continue;
        }
        got = full ? read(fd, scrap, sizeof(scrap))
                   : read(fd, out + *bytes_p, size - *bytes_p);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return true;
        }
        if (got > 0 && !full) {
            *bytes_p += (size_t)got;
        }
    }
}

/** Whether the process has ended, by the limit. */
static bool ended(pid_t pid, uint64_t limit_ns, int *status_p)
{
    const struct timespec pause = {0, (long)PAUSE_NS};

    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, WNOHANG);

        if (got == pid) {
            *status_p = WIFEXITED(status) ? WEXITSTATUS(status)
                                          : 128 + WTERMSIG(status);
            return true;
        }
        if (got < 0 && errno != EINTR) {
            *status_p = 128; /* somebody else waited for it */
            return true;
        }
        if (epi_now_ns() >= limit_ns) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
}

static void end(pid_t pid)
{
    int status;

    (void)kill(pid, SIGTERM);
    if (!ended(pid, epi_after(epi_now_ns(), GRACE_NS), &status)) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
}

epdx_status_t epi_command_run(const epi_command_t *command, void *out,
                              size_t size, epi_command_end_t *end_p)
{
    uint64_t limit = epi_after(epi_now_ns(), command->timeout_ns);
    epi_command_end_t result = {.bytes = 0};
    epdx_status_t status;
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0) {
        return fail(command, errno);
    }
    status = spawn(command, fds[1], &pid);
    (void)close(fds[1]);
    if (status == EPDX_OK &&
        !(read_all(fds[0], limit, out, size, &result.bytes) &&
          ended(pid, limit, &result.status))) {
        end(pid);
        status = epi_fail(EPDX_ERR_TIMEOUT, "%s did not end within %.0f s",
                          command->argv[0], (double)command->timeout_ns / 1e9);
    }
    (void)close(fds[0]);
    if (status == EPDX_OK) {
        *end_p = result;
    }
    return status;
}

const char *epi_command_self(void)
{
    static char path[PATH_BYTES];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (bytes <= 0) {
        return NULL;
    }
    path[bytes] = '\0';
    return path;
}
