/* doctor_settings_test.c: EPDX_* variables that are settings, and others. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"

static epi_findings_t findings;

#define LOOK(...)                                                              \
    do {                                                                       \
        static const char *const environment[] = {__VA_ARGS__, NULL};          \
                                                                               \
        findings.count = 0;                                                    \
        epi_doctor_settings(environment, &findings);                           \
    } while (0)

static void test_settings(void **state)
{
    (void)state;
    LOOK("PATH=/bin", "EPDX_HOST=10.0.0.1", "EPDX_ROOT=/opt/epdx",
         "EPDX_LOG_FILE=");
    assert_int_equal(findings.count, 1);
    epi_says(&findings, "settings.names", EPI_VERDICT_OK,
             "3 EPDX_* variables are set, all of them settings");
}

static void test_no_variable(void **state)
{
    (void)state;
    LOOK("PATH=/bin");
    epi_says(&findings, "settings.names", EPI_VERDICT_OK, "0 EPDX_* variables");
}

static void test_a_misspelt_setting_is_named_with_the_one_meant(void **state)
{
    (void)state;
    LOOK("EPDX_HSOT=10.0.0.1", "EPDX_HOST=10.0.0.1");
    assert_int_equal(findings.count, 1);
    epi_says(&findings, "settings.names", EPI_VERDICT_WARN,
             "EPDX_HSOT is set, and is no setting of epdx: nothing reads it; "
             "is it EPDX_HOST?");
    LOOK("EPDX_RECV_POOL_M=1");
    epi_says(&findings, "settings.names", EPI_VERDICT_WARN,
             "is it EPDX_RECV_POOL_MB?");
}

static void test_what_is_like_no_setting(void **state)
{
    const epi_finding_t *second;

    (void)state;
    LOOK("EPDX_SOMETHING_ELSE=secret", "EPDX_=", "XEPDX_HSOT=1");
    assert_int_equal(findings.count, 2);
    epi_says(&findings, "settings.names", EPI_VERDICT_WARN,
             "EPDX_SOMETHING_ELSE is set, and is no setting of epdx: nothing "
             "reads it");
    assert_null(strstr(findings.list[0].what, "secret"));
    assert_null(strstr(findings.list[0].what, "is it"));
    second = epi_findings_find(&findings, "settings.names", 1);
    assert_non_null(strstr(second->what, "EPDX_ is set"));
}

static void test_a_name_of_any_length_and_bytes(void **state)
{
    (void)state;
    LOOK("EPDX_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=1",
         "EPDX_\x1b[2J");
    assert_int_equal(findings.count, 2);
    epi_says(&findings, "settings.names", EPI_VERDICT_WARN, "EPDX_AAAA");
    assert_non_null(strstr(findings.list[1].what, "EPDX_\\x1b[2J is set"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_no_variable),
        cmocka_unit_test(test_a_misspelt_setting_is_named_with_the_one_meant),
        cmocka_unit_test(test_what_is_like_no_setting),
        cmocka_unit_test(test_a_name_of_any_length_and_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
