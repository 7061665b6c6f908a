/*
 * ucx_process_test.c: peers that are processes of their own, and are killed or
 * stopped. The program runs itself again as the other end:
 *
 *     ucx_process_test send ADDRESS COUNT BYTES SEED    offers, then waits
 *     ucx_process_test park                             prints its address,
 *                                                       parks what comes
 *     ucx_process_test forget                           closes with a region
 *                                                       that is still mapped
 *     ucx_process_test reset                            prints its address and
 *                                                       pulls two offers, the
 *                                                       second once it is told
 *                                                       to, then resets its
 *                                                       connections
 */
#include "dataplane/ucx_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define MIB      ((size_t)1 << 20)
#define LIFE_S   120 /* of a child that nobody ends */
#define LIMIT_NS (30 * EPI_S)
#define FD_LIMIT 256

/* Payloads that the kernel takes in one call, so that their sender need not run
 * for them to arrive, and that it takes a part of only. */
#define FITS_A_SOCKET  ((size_t)128 << 10)
#define FILLS_A_SOCKET (32 * MIB)

extern char **environ;

static const char *program;

/* The other end. */

/** Until the peer is gone, or for good where there is none. */
static int wait_for_the_end(epi_dataplane_t *dp)
{
    epi_dp_event_t event;

    for (;;) {
        if (!dp->ops->progress(dp)) {
            (void)sched_yield();
        }
        while (dp->ops->next(dp, &event)) {
            if (event.kind == EPI_DP_PEER_DOWN) {
                dp->ops->close(dp);
                return 0;
            }
        }
    }
}

static int child_send(char **args)
{
    size_t count = strtoul(args[1], NULL, 10);
    size_t bytes = strtoul(args[2], NULL, 10);
    uint8_t *payload = malloc(bytes);
    epi_dataplane_t *dp;
    epi_dp_peer_t *peer;
    int rc;

    if (payload == NULL || epi_dataplane_ucx("127.0.0.1", &dp) != EPDX_OK ||
        dp->ops->connect(dp, args[0], 1, &peer) != EPDX_OK) {
        return 2;
    }
    epi_test_fill(payload, bytes, (uint32_t)strtoul(args[3], NULL, 10));
    for (size_t i = 0; i < count; i++) {
        if (dp->ops->offer(dp, peer,
                           &(epi_dp_send_t){.header = args[3],
                                            .header_bytes = strlen(args[3]),
                                            .region = NULL,
                                            .payload = payload,
                                            .payload_bytes = bytes,
                                            .cookie = i}) != EPDX_OK) {
            return 3;
        }
    }
    rc = wait_for_the_end(dp);
    free(payload);
    return rc;
}

static int child_park(void)
{
    epi_dataplane_t *dp;

    if (epi_dataplane_ucx("127.0.0.1", &dp) != EPDX_OK) {
        return 2;
    }
    dp->ops->admit(dp, "127.0.0.1");
    printf("%s\n", dp->ops->address(dp));
    (void)fflush(stdout);
    return wait_for_the_end(dp);
}

static int child_forget(void)
{
    static uint8_t bytes[4096];
    epi_dataplane_t *dp;

    if (epi_dataplane_ucx("127.0.0.1", &dp) != EPDX_OK) {
        return 2;
    }
    (void)epi_test_map(dp, bytes, sizeof(bytes));
    dp->ops->close(dp);
    _exit(0); /* what is left behind is meant to be */
}

/* All connections end as those of a process do that dies with bytes unread. */
static void reset_connections(void)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    for (int fd = 3; fd < FD_LIMIT; fd++) {
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    _exit(0);
}

/* What its sender finds: that the second payload is asked for, behind that any
 * answer to the first, and then the end. */
static int child_reset(void)
{
    static uint8_t bytes[2][FILLS_A_SOCKET];
    const volatile uint8_t *last = &bytes[0][FITS_A_SOCKET - 1];
    epi_pair_t pair = {.sender = NULL};
    epi_dp_region_t *region;

    if (epi_dataplane_ucx("127.0.0.1", &pair.receiver) != EPDX_OK) {
        return 2;
    }
    pair.ops = pair.receiver->ops;
    pair.ops->admit(pair.receiver, "127.0.0.1");
    region = epi_test_map(pair.receiver, bytes, sizeof(bytes));
    printf("%s\n", pair.ops->address(pair.receiver));
    (void)fflush(stdout);
    epi_pair_wait(&pair, &pair.r.offers, 2);
    if (epi_pair_pull(&pair, 0, region, bytes[0], 0) != EPDX_OK) {
        return 3;
    }
    printf("asked\n");
    (void)fflush(stdout);
    if (getchar() == EOF ||
        epi_pair_pull(&pair, 1, region, bytes[1], 1) != EPDX_OK) {
        return 3;
    }
    while (*last == 0) {
        (void)pair.ops->progress(pair.receiver);
    }
    epi_pair_settle(&pair);
    reset_connections();
    return 0;
}

static int child(int argc, char **argv)
{
    (void)alarm(LIFE_S);
    if (argc == 6 && strcmp(argv[1], "send") == 0) {
        return child_send(argv + 2);
    }
    if (argc == 2 && strcmp(argv[1], "forget") == 0) {
        return child_forget();
    }
    if (argc == 2 && strcmp(argv[1], "reset") == 0) {
        return child_reset();
    }
    return argc == 2 && strcmp(argv[1], "park") == 0 ? child_park() : 4;
}

/* The tests' end. */

/** Its standard input and output; -1: this process's own. */
static pid_t spawn(char *const *argv, int input, int output)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    if (input >= 0) {
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, input, 0),
                         0);
    }
    if (output >= 0) {
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, output, 1),
                         0);
    }
    assert_int_equal(posix_spawn(&pid, program, &actions, NULL, argv, environ),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static pid_t spawn_sender(const epi_pair_t *pair, size_t count, size_t bytes,
                          unsigned seed)
{
    char address[EPI_UCX_ADDRESS_MAX];
    char count_text[24], bytes_text[24], seed_text[24];
    char *argv[] = {(char *)program, "send",    address, count_text,
                    bytes_text,      seed_text, NULL};

    (void)epi_text_copy(address, sizeof(address),
                        pair->ops->address(pair->receiver));
    (void)snprintf(count_text, sizeof(count_text), "%zu", count);
    (void)snprintf(bytes_text, sizeof(bytes_text), "%zu", bytes);
    (void)snprintf(seed_text, sizeof(seed_text), "%u", seed);
    return spawn(argv, -1, -1);
}

static void end_child(pid_t pid)
{
    int status;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void stop_child(pid_t pid)
{
    int status;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
}

static int setup(void **state)
{
    epi_pair_t *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &pair->receiver), EPDX_OK);
    pair->receiver->ops->admit(pair->receiver, "127.0.0.1");
    pair->ops = pair->receiver->ops;
    *state = pair;
    return 0;
}

static int teardown(void **state)
{
    epi_pair_t *pair = *state;

    pair->ops->close(pair->receiver);
    free(pair);
    return 0;
}

/** Pull every offer seen of this sender to target; how many pulls began. */
static size_t pull_all_of(epi_pair_t *pair, const char *seed,
                          epi_dp_region_t *region, uint8_t *target)
{
    size_t begun = 0;

    for (size_t i = 0; i < pair->r.offers; i++) {
        epi_dp_event_t *event = &pair->r.offer[i];

        if (event->offer == NULL || event->header_bytes != strlen(seed) ||
            memcmp(event->header, seed, strlen(seed)) != 0) {
            continue;
        }
        begun += epi_pair_pull(pair, i, region, target, i) == EPDX_OK;
        event->offer = NULL;
    }
    return begun;
}

static uint8_t *allocate(size_t bytes)
{
    uint8_t *memory = calloc(1, bytes);

    assert_non_null(memory);
    return memory;
}

static void test_killed_with_offers_parked(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t *target = allocate(MIB);
    epi_dp_region_t *region = epi_test_map(pair->receiver, target, MIB);
    pid_t pid = spawn_sender(pair, 8, MIB, 1);
    size_t begun;

    epi_pair_wait(pair, &pair->r.offers, 8);
    end_child(pid);
    begun = pull_all_of(pair, "1", region, target);
    epi_pair_wait(pair, &pair->r.pulled, begun);
    epi_pair_settle(pair);
    assert_int_equal(pair->r.pulled, begun);
    assert_int_equal(pair->r.pulled_ok, 0);
    assert_int_equal(epi_ucx_plane(pair->receiver)->parked, 0);
    pair->ops->unmap(pair->receiver, region);
    free(target);
}

/** Stopped, so that none of the pulls ends before it is killed. */
static void test_killed_as_pulls_begin(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t *target = allocate(MIB);
    epi_dp_region_t *region = epi_test_map(pair->receiver, target, MIB);
    pid_t pid = spawn_sender(pair, 8, MIB, 1);

    epi_pair_wait(pair, &pair->r.offers, 8);
    stop_child(pid);
    assert_int_equal(pull_all_of(pair, "1", region, target), 8);
    epi_pair_settle(pair);
    assert_int_equal(pair->r.pulled, 0);
    end_child(pid);
    epi_pair_wait(pair, &pair->r.pulled, 8);
    assert_int_equal(pair->r.pulled_ok, 0);
    pair->ops->unmap(pair->receiver, region);
    free(target);
}

static void test_killed_amid_a_pull(void **state)
{
    enum { COUNT = 8 };
    const size_t bytes = 32 * MIB;
    epi_pair_t *pair = *state;
    uint8_t *target = allocate(bytes);
    epi_dp_region_t *region = epi_test_map(pair->receiver, target, bytes);
    pid_t pid = spawn_sender(pair, COUNT, bytes, 1);
    uint64_t limit;

    epi_pair_wait(pair, &pair->r.offers, COUNT);
    assert_int_equal(pull_all_of(pair, "1", region, target), COUNT);
    limit = epi_after(epi_now_ns(), LIMIT_NS);
    while (target[0] == 0 && target[bytes / 4] == 0 && epi_now_ns() < limit) {
        epi_pair_pump(pair);
    }
    assert_true(target[0] != 0 || target[bytes / 4] != 0); /* bytes come in */
    end_child(pid);
    epi_pair_wait(pair, &pair->r.pulled, COUNT);
    assert_true(pair->r.pulled_ok < COUNT);
    memset(target, 0x11, bytes);
    epi_pair_settle(pair);
    for (size_t i = 0; i < bytes; i++) {
        if (target[i] != 0x11) {
            fail_msg("written at %zu after its end", i);
        }
    }
    pair->ops->unmap(pair->receiver, region);
    free(target);
}

static void test_other_links_go_on(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t *target = allocate(2 * MIB);
    uint8_t *expected = allocate(MIB);
    epi_dp_region_t *region = epi_test_map(pair->receiver, target, 2 * MIB);
    pid_t dies = spawn_sender(pair, 6, MIB, 1);
    pid_t lives = spawn_sender(pair, 6, MIB, 2);
    size_t begun;

    epi_pair_wait(pair, &pair->r.offers, 12);
    stop_child(dies);
    begun = pull_all_of(pair, "1", region, target);
    begun += pull_all_of(pair, "2", region, target + MIB);
    assert_int_equal(begun, 12);
    end_child(dies);
    epi_pair_wait(pair, &pair->r.pulled, 12);
    assert_int_equal(pair->r.pulled_ok, 6);
    epi_test_fill(expected, MIB, 2);
    assert_memory_equal(target + MIB, expected, MIB);
    end_child(lives);
    pair->ops->unmap(pair->receiver, region);
    free(target);
    free(expected);
}

static void test_stopped_then_dropped_writes_no_more(void **state)
{
    const size_t bytes = 8 * MIB;
    epi_pair_t *pair = *state;
    uint8_t *target = allocate(bytes);
    epi_dp_region_t *region = epi_test_map(pair->receiver, target, bytes);
    pid_t pid = spawn_sender(pair, 2, bytes, 1);
    int status;

    epi_pair_wait(pair, &pair->r.offers, 2);
    stop_child(pid);
    assert_int_equal(pull_all_of(pair, "1", region, target), 2);
    epi_pair_settle(pair);
    assert_int_equal(pair->r.pulled, 0); /* silence is not an end */
    pair->ops->drop(pair->receiver, pair->r.offer[0].link);
    epi_pair_wait(pair, &pair->r.pulled, 2);
    assert_int_equal(pair->r.pulled_ok, 0);
    memset(target, 0x11, bytes);
    assert_int_equal(kill(pid, SIGCONT), 0);
    for (uint64_t limit = epi_after(epi_now_ns(), LIMIT_NS);
         waitpid(pid, &status, WNOHANG) == 0 && epi_now_ns() < limit;) {
        epi_pair_pump(pair); /* until it has seen its peer go */
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (size_t i = 0; i < bytes; i++) {
        if (target[i] != 0x11) {
            fail_msg("written at %zu after its end", i);
        }
    }
    pair->ops->unmap(pair->receiver, region);
    free(target);
}

/* A receiver that prints its address and then what it has come to. */
typedef struct other {
    pid_t pid;
    FILE *said;
    int told; /* its standard input */
} other_t;

/** Start it in this mode, and a plane that is connected to it. */
static other_t spawn_receiver(epi_pair_t *pair, const char *mode)
{
    char *argv[] = {(char *)program, (char *)mode, NULL};
    char address[EPI_UCX_ADDRESS_MAX] = "";
    int in[2], out[2];
    other_t other;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    other.pid = spawn(argv, in[0], out[1]);
    assert_int_equal(close(in[0]), 0);
    assert_int_equal(close(out[1]), 0);
    other.told = in[1];
    other.said = fdopen(out[0], "r");
    assert_non_null(other.said);
    assert_non_null(fgets(address, sizeof(address), other.said));
    address[strcspn(address, "\n")] = '\0';
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &pair->sender), EPDX_OK);
    assert_int_equal(pair->ops->connect(pair->sender, address, 7, &pair->peer),
                     EPDX_OK);
    return other;
}

static void leave_receiver(epi_pair_t *pair, const other_t *other)
{
    pair->ops->close(pair->sender);
    pair->sender = NULL;
    assert_int_equal(fclose(other->said), 0);
    assert_int_equal(close(other->told), 0);
}

static void test_receiver_killed_with_offers_parked(void **state)
{
    epi_pair_t *pair = *state;
    other_t other = spawn_receiver(pair, "park");
    uint8_t *source = allocate(MIB);

    epi_pair_offer(pair, NULL, NULL, 0, 0);
    epi_pair_wait(pair, &pair->s.sent_ok, 1); /* connected */
    for (size_t i = 1; i < 5; i++) {
        epi_pair_offer(pair, NULL, source, MIB, i);
    }
    epi_pair_settle(pair);
    assert_int_equal(pair->s.sent, 1);
    end_child(other.pid);
    epi_pair_wait(pair, &pair->s.sent, 5);
    epi_pair_wait(pair, &pair->s.down, 1);
    assert_int_equal(pair->s.sent_ok, 1);
    assert_int_equal(pair->s.down_cookie, 7);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pair->s.sent_of[i], 1);
    }
    leave_receiver(pair, &other);
    free(source);
}

/** More offers than UCX's shared memory has places for a peer that does not
 *  read: 1.13.1 never completes those behind, once the peer is dead. */
static void test_receiver_killed_with_many_offers_unread(void **state)
{
    enum { COUNT = 300 };
    epi_pair_t *pair = *state;
    other_t other = spawn_receiver(pair, "park");
    uint8_t *source = allocate(4096);

    epi_pair_offer(pair, NULL, NULL, 0, 0);
    epi_pair_wait(pair, &pair->s.sent_ok, 1); /* connected */
    stop_child(other.pid);
    for (size_t i = 1; i <= COUNT; i++) {
        epi_pair_offer(pair, NULL, source, 4096, i);
    }
    epi_pair_settle(pair);
    end_child(other.pid);
    epi_pair_wait(pair, &pair->s.down, 1);
    epi_pair_wait(pair, &pair->s.sent, 1 + COUNT);
    assert_int_equal(pair->s.sent_ok, 1);
    for (size_t i = 0; i <= COUNT; i++) {
        assert_int_equal(pair->s.sent_of[i], 1);
    }
    leave_receiver(pair, &other);
    free(source);
}

/** Until the receiver has said this line. */
static void wait_to_be_told(epi_pair_t *pair, const other_t *other,
                            const char *line)
{
    struct pollfd readable = {.fd = fileno(other->said), .events = POLLIN};
    uint64_t limit = epi_after(epi_now_ns(), LIMIT_NS);
    char text[64] = "";

    while (poll(&readable, 1, 0) == 0 && epi_now_ns() < limit) {
        epi_pair_pump(pair);
    }
    assert_non_null(fgets(text, sizeof(text), other->said));
    assert_string_equal(text, line);
}

static void receiver_reset_with_answers_unread(epi_pair_t *pair, size_t bytes)
{
    uint8_t *source = allocate(bytes);
    other_t other;
    int status;

    memset(source, 1, bytes);
    assert_int_equal(setenv("UCX_TLS", "tcp", 1), 0);
    other = spawn_receiver(pair, "reset");
    epi_pair_offer(pair, NULL, source, bytes, 0);
    epi_pair_offer(pair, NULL, source, bytes, 1);
    wait_to_be_told(pair, &other, "asked\n");
    epi_pair_settle(pair);
    assert_int_equal(write(other.told, "\n", 1), 1);
    assert_int_equal(waitpid(other.pid, &status, 0), other.pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    epi_pair_wait(pair, &pair->s.sent, 2);
    epi_pair_wait(pair, &pair->s.down, 1);
    assert_int_equal(pair->s.sent_of[0], 1);
    assert_int_equal(pair->s.sent_of[1], 1);
    leave_receiver(pair, &other);
    assert_int_equal(unsetenv("UCX_TLS"), 0);
    free(source);
}

/** The sender stands still when all of the first payload is out. When it goes
 *  on, it fails to send the second, and then reads that the first has come. UCX
 *  1.13.1 ends the process there where it sends by puts. */
static void test_receiver_reset_with_an_answer_unread(void **state)
{
    receiver_reset_with_answers_unread(*state, FITS_A_SOCKET);
}

/** It stands still amid the first payload. When it goes on, it reads that the
 *  second is asked for, and then fails to send the rest of the first.
 * UCX 1.13.1 ends the process there where it sends out of the payload,
 * uncopied. */
static void test_receiver_reset_with_a_request_unread(void **state)
{
    receiver_reset_with_answers_unread(*state, FILLS_A_SOCKET);
}

static void test_close_survives_a_mapped_region(void **state)
{
    char *argv[] = {(char *)program, "forget", NULL};
    int status;
    pid_t pid = spawn(argv, -1, -1);

    (void)state;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_killed_with_offers_parked),
        TEST(test_killed_as_pulls_begin),
        TEST(test_killed_amid_a_pull),
        TEST(test_other_links_go_on),
        TEST(test_stopped_then_dropped_writes_no_more),
        TEST(test_receiver_killed_with_offers_parked),
        TEST(test_receiver_killed_with_many_offers_unread),
        TEST(test_receiver_reset_with_an_answer_unread),
        TEST(test_receiver_reset_with_a_request_unread),
        cmocka_unit_test(test_close_survives_a_mapped_region),
    };

    program = argv[0];
    if (argc > 1) {
        return child(argc, argv);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
