/*
 * misuse_test.c: calls that a caller got wrong change nothing, and say what is
 * wrong: jobs released twice, NULL, addresses that are none.
 */
#include <string.h>

#include "base/text.h"
#include "epdx/log.h"
#include "receive/landing_fixture.h"

static int lines_logged;
static char last_line[1024];

static void take_line(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    if (level == EPDX_LOG_ERROR) {
        lines_logged++;
        (void)epi_text_copy(last_line, sizeof(last_line), line);
    }
}

static int setup(void **state)
{
    epdx_receiver_params_t params = landing_params();

    lines_logged = 0;
    epdx_log_set_sink(take_line, NULL);
    *state = landing_open(&params);
    return 0;
}

static int teardown(void **state)
{
    landing_close(*state);
    epdx_log_set_sink(NULL, NULL);
    return 0;
}

static void expect_words(const char *words)
{
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", epdx_last_error(), words);
    }
}

/* Each job has one place in the list of free ones. */
static void expect_jobs_apart(landing_t *landing)
{
    epdx_job_t *first = landing_stage(landing, "first", 1);
    epdx_job_t *second = landing_stage(landing, "second", 1);

    assert_ptr_not_equal(first, second);
    assert_string_equal(epdx_job_id(first), "first");
    epdx_job_release(first);
    epdx_job_release(second);
}

static void test_a_second_release_changes_nothing(void **state)
{
    landing_t *landing = *state;
    uint32_t free_jobs = landing->receiver->free_job_count;
    epdx_job_t *job = landing_land(landing, "twice", 10, 0);

    epdx_job_release(job);
    assert_int_equal(lines_logged, 0);
    epdx_job_release(job);
    assert_int_equal(lines_logged, 1);
    assert_string_equal(
        last_line, "request twice was released before and cannot be released");
    assert_int_equal(landing->receiver->free_job_count, free_jobs);
    assert_int_equal(landing_stats(landing).requests_failed, 0);
    expect_jobs_apart(landing);
}

static void test_a_second_release_of_a_pending_job_changes_nothing(void **state)
{
    landing_t *landing = *state;
    epdx_job_t *job = landing_stage(landing, "twice", 10);

    epdx_job_release(job);
    epdx_job_release(job);
    assert_int_equal(lines_logged, 1);
    assert_int_equal(landing_stats(landing).requests_failed, 1);
    expect_jobs_apart(landing);
}

static void test_err_invalid_release_after_a_release(void **state)
{
    landing_t *landing = *state;
    uint32_t free_jobs = landing->receiver->free_job_count;
    epdx_job_t *job = landing_land(landing, "twice", 10, 0);

    assert_int_equal(epdx_job_release_after(job, NULL), EPDX_OK);
    assert_int_equal(epdx_job_release_after(job, NULL), EPDX_ERR_INVALID);
    expect_words("request twice was released before");
    assert_int_equal(landing->receiver->free_job_count, free_jobs);
    expect_jobs_apart(landing);
}

static void test_err_invalid_null_arguments(void **state)
{
    landing_t *landing = *state;
    epdx_receiver_t *receiver = landing->receiver;
    epdx_receiver_params_t params = landing_params();
    epdx_item_t item = {.room = 1, .span = 1, .encode = "127.0.0.1:1"};
    epdx_request_t request = {.id = "r1", .items = &item, .item_count = 1};
    epdx_job_t *job = NULL;

    assert_int_equal(epdx_receiver_open(NULL, &receiver), EPDX_ERR_INVALID);
    assert_int_equal(epdx_receiver_open(&params, NULL), EPDX_ERR_INVALID);
    expect_words("epdx_receiver_open: receiver_p is NULL");
    assert_int_equal(epdx_receiver_stage(NULL, &request, &job),
                     EPDX_ERR_INVALID);
    expect_words("epdx_receiver_stage: receiver is NULL");
    assert_int_equal(epdx_receiver_stage(receiver, NULL, &job),
                     EPDX_ERR_INVALID);
    expect_words("epdx_receiver_stage: request is NULL");
    assert_int_equal(epdx_receiver_stage(receiver, &request, NULL),
                     EPDX_ERR_INVALID);
    expect_words("epdx_receiver_stage: job_p is NULL");
    assert_int_equal(epdx_receiver_receive(receiver, NULL, &job),
                     EPDX_ERR_INVALID);
    expect_words("epdx_receiver_receive: request is NULL");
    assert_int_equal(epdx_receiver_receive(receiver, &request, NULL),
                     EPDX_ERR_INVALID);
    assert_int_equal(landing_stats(landing).requests_staged, 0);
    assert_null(job);
}

static void test_null_is_harmless_where_there_is_no_status(void **state)
{
    landing_t *landing = *state;
    epdx_receiver_stats_t stats;
    const char *reason = NULL;
    size_t count = 7;

    epdx_receiver_poll(NULL);
    epdx_receiver_stats(NULL, &stats);
    epdx_receiver_stats(landing->receiver, NULL);
    assert_int_equal(epdx_job_state(NULL), EPDX_FAILED);
    assert_int_equal(epdx_job_failure(NULL, &reason), EPDX_ERR_INVALID);
    assert_string_equal(reason, "the job is NULL");
    assert_int_equal(epdx_job_failure(NULL, NULL), EPDX_ERR_INVALID);
    assert_null(epdx_job_items(NULL, &count));
    assert_int_equal(count, 0);
    assert_null(epdx_job_items(NULL, NULL));
    assert_string_equal(epdx_job_id(NULL), "");
}

static void refuse(landing_t *landing, const char *encode, const char *words)
{
    epdx_item_t item = {.room = 1, .span = 1, .encode = encode};
    epdx_request_t request = {.id = "r1", .items = &item, .item_count = 1};
    epdx_job_t *job = NULL;

    assert_int_equal(epdx_receiver_stage(landing->receiver, &request, &job),
                     EPDX_ERR_INVALID);
    expect_words(words);
    assert_null(job);
}

static void test_err_invalid_shows_the_address_as_it_was_given(void **state)
{
    char address[EPDX_ADDRESS_MAX + 2];

    refuse(*state, "", "request r1: item 0: encode is empty");
    refuse(*state, "no port\n", "item 0: \"no port\\x0a\" is not the address");
    memset(address, 'a', sizeof(address) - 1);
    address[sizeof(address) - 1] = '\0';
    memcpy(address + sizeof(address) - 3, ":1", 2);
    refuse(*state, address, "aaaa...\" is not the address");
    refuse(*state, address, "(host:port, 255 bytes at most)");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_second_release_changes_nothing),
        CASE(test_a_second_release_of_a_pending_job_changes_nothing),
        CASE(test_err_invalid_release_after_a_release),
        CASE(test_err_invalid_null_arguments),
        CASE(test_null_is_harmless_where_there_is_no_status),
        CASE(test_err_invalid_shows_the_address_as_it_was_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
