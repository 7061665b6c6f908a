/* chrome_test.c: each kind of event, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "trace/chrome.h"

static void written(const epi_trace_event_t *event, const char *want)
{
    char out[EPI_CHROME_BYTES];
    size_t length = epi_chrome_event(event, 2, out);

    assert_string_equal(out, want);
    assert_int_equal(length, strlen(want));
}

static void spans(void **state)
{
    (void)state;
    written(&(epi_trace_event_t){.kind = EPI_TRACE_SPAN,
                                 .name = EPI_NAME_PULL,
                                 .begin_ns = 1234567,
                                 .end_ns = 1239000,
                                 .room = UINT64_MAX,
                                 .more = 4096,
                                 .lane = EPI_LANE_SLOT(6)},
            "{\"name\":\"pull\",\"cat\":\"item\",\"ph\":\"X\",\"pid\":2,"
            "\"tid\":7,\"ts\":1234.567,\"dur\":4.433,\"args\":{\"status\":"
            "\"EPDX_OK\",\"room\":\"18446744073709551615\",\"bytes\":4096}}");
    written(&(epi_trace_event_t){.kind = EPI_TRACE_SPAN,
                                 .name = EPI_NAME_VOTE,
                                 .begin_ns = 5,
                                 .end_ns = 4,
                                 .status = EPDX_ERR_TIMEOUT,
                                 .lane = EPI_LANE_DRAINS},
            "{\"name\":\"vote\",\"cat\":\"collective\",\"ph\":\"X\",\"pid\":"
            "2,\"tid\":0,\"ts\":0.005,\"dur\":0.000,\"args\":{\"status\":"
            "\"EPDX_ERR_TIMEOUT\"}}");
}

static void flows(void **state)
{
    epi_trace_event_t event = {.kind = EPI_TRACE_FLOW_OUT,
                               .name = EPI_NAME_ROWS,
                               .begin_ns = 7000,
                               .room = 42,
                               .more = 0xabc,
                               .lane = 1};

    (void)state;
    written(&event,
            "{\"name\":\"rows\",\"cat\":\"flow\",\"ph\":\"s\",\"pid\":2,"
            "\"tid\":1,\"ts\":7.000,\"id\":\"0x0000000000000abc\","
            "\"args\":{\"room\":\"42\"}}");
    event.kind = EPI_TRACE_FLOW_IN;
    written(&event,
            "{\"name\":\"rows\",\"cat\":\"flow\",\"ph\":\"f\",\"pid\":2,"
            "\"tid\":1,\"ts\":7.000,\"id\":\"0x0000000000000abc\","
            "\"bp\":\"e\",\"args\":{\"room\":\"42\"}}");
}

static void flow_ids_tell_direction_room_and_generation_apart(void **state)
{
    uint64_t id = epi_trace_flow(EPI_NAME_ROWS, 1, 2);

    (void)state;
    assert_true(id == epi_trace_flow(EPI_NAME_ROWS, 1, 2));
    assert_true(id != epi_trace_flow(EPI_NAME_ASKED, 1, 2));
    assert_true(id != epi_trace_flow(EPI_NAME_ROWS, 2, 1));
    assert_true(id != epi_trace_flow(EPI_NAME_ROWS, 1, 3));
}

static void clocks_names_and_drops(void **state)
{
    epi_trace_event_t clock = epi_trace_clock(0x11, 3, -25, 7);
    char out[EPI_CHROME_BYTES];

    (void)state;
    written(&clock, "{\"name\":\"epdx_clock\",\"ph\":\"M\",\"pid\":2,\"tid\":0,"
                    "\"args\":{\"group\":\"0x0000000000000011\",\"rank\":3,"
                    "\"offset_ns\":\"-25\",\"error_ns\":7}}");
    (void)epi_chrome_track(1, true, 9, out);
    assert_string_equal(out,
                        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
                        "\"tid\":0,\"args\":{\"name\":\"encode rank 9\"}}");
    (void)epi_chrome_lane(1, false, EPI_LANE_SLOT(5), out);
    assert_string_equal(out, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,"
                             "\"tid\":6,\"args\":{\"name\":\"item slot 5\"}}");
    (void)epi_chrome_lane(1, false, EPI_LANE_DRAINS, out);
    assert_non_null(strstr(out, "\"name\":\"drains\""));
    (void)epi_chrome_dropped(1, 8, out);
    assert_string_equal(out,
                        "{\"name\":\"epdx_dropped\",\"ph\":\"M\",\"pid\":1,"
                        "\"tid\":0,\"args\":{\"events\":8}}");
}

static void the_longest_event_fits(void **state)
{
    char out[EPI_CHROME_BYTES];

    (void)state;
    for (int name = 0; name < EPI_NAMES; name++) {
        for (int kind = 0; kind <= EPI_TRACE_CLOCK; kind++) {
            epi_trace_event_t event = {.kind = (uint8_t)kind,
                                       .name = (uint8_t)name,
                                       .begin_ns = UINT64_MAX / 2,
                                       .end_ns = UINT64_MAX,
                                       .room = UINT64_MAX,
                                       .more = UINT64_MAX,
                                       .lane = UINT32_MAX,
                                       .status = EPDX_ERR_UNREACHABLE};

            assert_true(epi_chrome_event(&event, UINT32_MAX, out) > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans),
        cmocka_unit_test(flows),
        cmocka_unit_test(flow_ids_tell_direction_room_and_generation_apart),
        cmocka_unit_test(clocks_names_and_drops),
        cmocka_unit_test(the_longest_event_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
