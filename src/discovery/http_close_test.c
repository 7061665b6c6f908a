/*
 * http_close_test.c: a name look-up that hangs. getaddrinfo() of this program
 * stands before the C library's, also for libcurl's look-up thread, and hangs
 * until the test lets it go.
 */
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "discovery/http.h"
#include "discovery/http_test_server.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hanging = true;
static int inside;
static int left;

__attribute__((visibility("default"))) int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **out_p)
{
    (void)name;
    (void)service;
    (void)hints;
    (void)out_p;
    (void)pthread_mutex_lock(&lock);
    inside++;
    (void)pthread_cond_broadcast(&changed);
    while (hanging) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    left++;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    return EAI_FAIL;
}

static void wait_until(const int *counter, int value)
{
    (void)pthread_mutex_lock(&lock);
    while (*counter < value) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

static void start_look_up(epi_http_t *http, uint64_t timeout_ns)
{
    epi_http_request_t request = {.method = "GET",
                                  .url = "http://hangs.invalid:80/",
                                  .timeout_ns = timeout_ns};

    assert_int_equal(epi_http_start(http, &request), EPDX_OK);
    (void)epi_http_progress(http);
}

/* The test hangs, and is ended by its time limit, where this is broken. */
static void hanging_look_up_holds_up_nothing(void **state)
{
    epi_http_t *http = NULL;
    test_got_t got;

    (void)state;
    assert_int_equal(epi_http_open(2, &http), EPDX_OK);
    start_look_up(http, 50 * EPI_MS);
    wait_until(&inside, 1);
    test_run(http, NULL, &got, 1);
    assert_int_equal(got.code, 0);
    assert_string_not_equal(got.error, "");
    start_look_up(http, EPI_NEVER);
    wait_until(&inside, 2);
    epi_http_close(http);

    (void)pthread_mutex_lock(&lock);
    assert_int_equal(left, 0);
    hanging = false;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    wait_until(&left, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hanging_look_up_holds_up_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
