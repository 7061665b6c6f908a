/* control_test.c: which message the first frame announces. */
#include "wire/wire_check.h"

static void assert_kind(check_frame_t first, epi_control_kind_t expected)
{
    epi_control_kind_t kind = (epi_control_kind_t)77;
    epi_message_t message;

    check_fill(&message, &first, 1);
    assert_int_equal(epi_control_peek(&message, &kind), EPDX_OK);
    assert_int_equal(kind, expected);
}

static void test_peek_tells_the_messages_apart(void **state)
{
    (void)state;
    assert_kind((check_frame_t)TEXT("None"), EPI_CONTROL_REGISTER);
    assert_kind((check_frame_t)TEXT("Cancel"), EPI_CONTROL_CANCEL);
    assert_kind((check_frame_t)TEXT("0"), EPI_CONTROL_ASK);
    assert_kind((check_frame_t)TEXT("18446744073709551615"), EPI_CONTROL_ASK);
}

static void test_peek_malformed_first_frame(void **state)
{
    static const check_frame_t bad[] = {
        TEXT(""),   TEXT("none"), TEXT("None\0"), TEXT("cancel"),
        TEXT("-1"), TEXT("07"),   TEXT("7 "),     TEXT("18446744073709551616"),
    };
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        check_fill(&message, &bad[i], 1);
        check_malformed(epi_control_kind_t, epi_control_peek, &message,
                        "control frame 0 (room): is neither a plain decimal "
                        "number of 64 bits nor \"None\" nor \"Cancel\"");
    }
}

static void test_peek_malformed_without_frames(void **state)
{
    epi_message_t message;

    (void)state;
    epi_message_clear(&message);
    check_malformed(epi_control_kind_t, epi_control_peek, &message,
                    "control frame 0 (room): is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peek_tells_the_messages_apart),
        cmocka_unit_test(test_peek_malformed_first_frame),
        cmocka_unit_test(test_peek_malformed_without_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
