/* catalog_test.c: the table of metrics is whole, and follows Prometheus' rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <string.h>

#include "metrics/metrics.h"

#define EACH_OWNER(owner) for (int owner = 0; (owner) < EPI_OWNERS; (owner)++)

static const uint32_t values_of[EPI_OWNERS] = {EPI_RX_VALUES, EPI_TX_VALUES,
                                               EPI_AD_VALUES};
static const uint32_t times_of[EPI_OWNERS] = {EPI_RX_TIMES, EPI_TX_TIMES,
                                              EPI_AD_TIMES};
static const char *const prefixes[EPI_OWNERS] = {
    "epdx_receiver_", "epdx_sender_", "epdx_admission_"};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) &&
           strcmp(text + length - strlen(end), end) == 0;
}

static void names_are_prometheus_names(void **state)
{
    (void)state;
    EACH_OWNER(owner)
    {
        size_t count;
        const epi_family_t *families = epi_families((epi_owner_t)owner, &count);

        for (size_t i = 0; i < count; i++) {
            const char *name = families[i].name;
            bool counter = families[i].type == EPDX_METRIC_COUNTER;

            assert_int_equal(
                strncmp(name, prefixes[owner], strlen(prefixes[owner])), 0);
            assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"),
                             strlen(name));
            assert_int_equal(ends_with(name, "_total"), counter);
            if (families[i].type == EPDX_METRIC_HISTOGRAM ||
                families[i].scale == EPI_SCALE_AGE) {
                assert_true(ends_with(name, "_seconds"));
            }
            assert_true(ends_with(families[i].help, "."));
            for (size_t j = 0; j < i; j++) {
                assert_string_not_equal(name, families[j].name);
            }
        }
    }
}

/* Every place is some family's, and no place that of two. */
static void every_value_is_shown_once(void **state)
{
    (void)state;
    EACH_OWNER(owner)
    {
        size_t count;
        const epi_family_t *families = epi_families((epi_owner_t)owner, &count);
        uint32_t values[EPI_VALUES_MAX] = {0};
        uint32_t times[EPI_TIMES_MAX] = {0};
        uint32_t shown = 0;
        uint32_t spare = 0;

        for (size_t i = 0; i < count; i++) {
            if (families[i].type == EPDX_METRIC_HISTOGRAM) {
                times[families[i].place]++;
                continue;
            }
            for (uint32_t j = 0; j < families[i].count; j++) {
                values[families[i].place + j]++;
                shown++;
            }
            if (families[i].label != NULL &&
                strcmp(families[i].label, "reason") == 0) {
                spare += EPI_CAUSES - families[i].count;
            }
        }
        for (uint32_t i = 0; i < values_of[owner]; i++) {
            assert_in_range(values[i], 0, 1);
        }
        assert_int_equal(shown + spare, values_of[owner]);
        for (uint32_t i = 0; i < times_of[owner]; i++) {
            assert_int_equal(times[i], 1);
        }
    }
}

static void reasons_are_the_names_of_statuses(void **state)
{
    static const epdx_status_t statuses[] = {
#define STATUS(name, value, text) name,
        EPDX_STATUS_LIST(STATUS)
#undef STATUS
    };
    size_t count;
    const epi_family_t *families = epi_families(EPI_OWNER_RECEIVER, &count);
    const epi_family_t *failed = &families[2];

    (void)state;
    assert_string_equal(failed->label, "reason");
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        uint32_t cause = epi_cause(statuses[i]);
        const char *name = epdx_status_name(statuses[i]);
        char want[64] = "other";

        if (statuses[i] < 0) {
            size_t j = 0;

            for (name += strlen("EPDX_ERR_"); *name != '\0'; name++) {
                want[j++] = (char)tolower((unsigned char)*name);
            }
            want[j] = '\0';
        }
        assert_true(cause < failed->count);
        assert_string_equal(failed->label_values[cause], want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_prometheus_names),
        cmocka_unit_test(every_value_is_shown_once),
        cmocka_unit_test(reasons_are_the_names_of_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
