/* args_test.c: the option table: each kind, each mistake, the help. */
#include "tools/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct options {
    bool flag;
    uint64_t count;
    uint64_t seconds_ns;
    const char *text;
    const char *host;
    const char *address;
    epi_arg_list_t addresses;
    epdx_dtype_t dtype;
    epdx_memory_t memory;
    epi_arg_part_t part;
} options_t;

static const epi_arg_t table[] = {
    {"flag", NULL, "a flag", EPI_ARG_FLAG, offsetof(options_t, flag), 0, 0},
    {"count", "N", "a count,\nin two lines", EPI_ARG_COUNT,
     offsetof(options_t, count), 1, 1048576},
    {"seconds", "S", "a time", EPI_ARG_SECONDS, offsetof(options_t, seconds_ns),
     0, 0},
    {"text", "T", "a text", EPI_ARG_TEXT, offsetof(options_t, text), 0, 0},
    {"host", "H", "a host", EPI_ARG_HOST, offsetof(options_t, host), 0, 0},
    {"address", "A", "an address", EPI_ARG_ADDRESS,
     offsetof(options_t, address), 0, 0},
    {"to", "A", "addresses", EPI_ARG_ADDRESSES, offsetof(options_t, addresses),
     1, 0},
    {"dtype", "D", "a dtype", EPI_ARG_DTYPE, offsetof(options_t, dtype), 0, 0},
    {"memory", "KIND", "a memory", EPI_ARG_MEMORY, offsetof(options_t, memory),
     0, 0},
    {"part", "I/K", "a part", EPI_ARG_PART, offsetof(options_t, part), 0, 8},
};

static const epi_args_t args = {
    .program = "prog",
    .usage = "[options]",
    .about = "About it.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
};

static options_t options;

static epdx_status_t parse(char **argv)
{
    const char *show = NULL;

    memset(&options, 0, sizeof(options));
    return epi_args_parse(&args, argv, &options, &show);
}

#define PARSE(...) parse((char *[]){"prog", __VA_ARGS__, NULL})

#define ASSERT_WRONG(words, ...)                                               \
    do {                                                                       \
        assert_int_equal(PARSE(__VA_ARGS__), EPDX_ERR_INVALID);                \
        assert_string_equal(epdx_last_error(), words);                         \
    } while (0)

static void every_kind_is_read(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--flag", "--count", "12", "--seconds=0.5", "--text",
                           "a=b", "--host=::1", "--address=h:0", "--to", "a:1",
                           "--to=[::1]:65535", "--dtype", "float16",
                           "--part=3/8"),
                     EPDX_OK);
    assert_true(options.flag);
    assert_int_equal(options.count, 12);
    assert_int_equal(options.seconds_ns, 500000000);
    assert_string_equal(options.text, "a=b");
    assert_string_equal(options.host, "::1");
    assert_string_equal(options.address, "h:0");
    assert_int_equal(options.addresses.count, 2);
    assert_string_equal(options.addresses.values[0], "a:1");
    assert_string_equal(options.addresses.values[1], "[::1]:65535");
    assert_int_equal(options.dtype, EPDX_FLOAT16);
    assert_int_equal(options.part.index, 3);
    assert_int_equal(options.part.count, 8);
}

static void torch_dtype_is_read(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--dtype=torch.float32"), EPDX_OK);
    assert_int_equal(options.dtype, EPDX_FLOAT32);
}

static void unknown_option(void **state)
{
    (void)state;
    ASSERT_WRONG("unknown option \"--hiden\"", "--hiden", "3");
    ASSERT_WRONG("unknown option \"word\"", "word");
    ASSERT_WRONG("unknown option \"-h\"", "-h");
    ASSERT_WRONG("unknown option \"--\"", "--");
    ASSERT_WRONG("unknown option \"--coun\"", "--coun", "1");
    ASSERT_WRONG("unknown option \"\"", "");
}

static void missing_value(void **state)
{
    (void)state;
    ASSERT_WRONG("--count: needs a value", "--count");
    ASSERT_WRONG("--text: needs a value", "--text", "--flag");
    ASSERT_WRONG("--text: its value is empty", "--text=");
}

static void value_of_a_flag(void **state)
{
    (void)state;
    ASSERT_WRONG("--flag: \"1\" is one value too many", "--flag=1");
}

static void given_twice(void **state)
{
    (void)state;
    ASSERT_WRONG("--count: given twice", "--count=1", "--count=1");
    ASSERT_WRONG("--flag: given twice", "--flag", "--flag");
}

static void bad_number(void **state)
{
    (void)state;
    ASSERT_WRONG("--count: \"12x\" is not a number from 1 to 1048576",
                 "--count", "12x");
    ASSERT_WRONG("--count: \"0\" is not a number from 1 to 1048576",
                 "--count=0");
    ASSERT_WRONG("--count: \"1048577\" is not a number from 1 to 1048576",
                 "--count=1048577");
    ASSERT_WRONG("--count: \"-1\" is not a number from 1 to 1048576", "--count",
                 "-1");
    ASSERT_WRONG("--count: \"\" is not a number from 1 to 1048576", "--count=");
}

static void bad_seconds(void **state)
{
    (void)state;
    ASSERT_WRONG("--seconds: \"0\" is not a number of seconds above 0",
                 "--seconds=0");
    ASSERT_WRONG("--seconds: \"1m\" is not a number of seconds above 0",
                 "--seconds=1m");
}

static void bad_host(void **state)
{
    (void)state;
    ASSERT_WRONG("--host: \"a b\" is not a host", "--host=a b");
    ASSERT_WRONG("--host: \"0.0.0.0\" names every interface; name one that "
                 "peers can reach",
                 "--host=0.0.0.0");
}

static void bad_address(void **state)
{
    (void)state;
    ASSERT_WRONG("--address: \"h\" is not HOST:PORT", "--address=h");
    ASSERT_WRONG("--address: \"h:65536\" is not HOST:PORT",
                 "--address=h:65536");
    ASSERT_WRONG("--to: \"h:0\" is not HOST:PORT with a port from 1",
                 "--to=h:0");
    ASSERT_WRONG("--to: \"[::]:1\" names every interface; name one that "
                 "peers can reach",
                 "--to=[::]:1");
}

/* A server that is asked may speak https; where to listen is a plain address.
 */
static void https_address(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--to", "https://h:1"), EPDX_OK);
    assert_string_equal(options.addresses.values[0], "https://h:1");
    ASSERT_WRONG("--to: \"https://h\" is not HOST:PORT with a port from 1",
                 "--to=https://h");
    ASSERT_WRONG("--to: \"ftp://h:1\" is not HOST:PORT with a port from 1",
                 "--to=ftp://h:1");
    ASSERT_WRONG("--address: \"https://h:1\" is not HOST:PORT",
                 "--address=https://h:1");
}

static void too_many_addresses(void **state)
{
    char *argv[EPI_ARG_LIST_MAX + 3] = {"prog"};

    (void)state;
    for (size_t i = 1; i <= EPI_ARG_LIST_MAX + 1; i++) {
        argv[i] = "--to=h:1";
    }
    assert_int_equal(parse(argv), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "--to: more than 64 of them");
}

static void memory_is_host_or_cuda(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--memory=host"), EPDX_OK);
    assert_int_equal(options.memory, EPDX_MEMORY_HOST);
    assert_int_equal(PARSE("--memory", "cuda"), EPDX_OK);
    assert_int_equal(options.memory, EPDX_MEMORY_CUDA);
    assert_int_equal(PARSE("--flag"), EPDX_OK);
    assert_int_equal(options.memory, EPDX_MEMORY_DEFAULT);
    ASSERT_WRONG("--memory: \"gpu\" is not host or cuda", "--memory=gpu");
}

static void bad_dtype(void **state)
{
    (void)state;
    ASSERT_WRONG("--dtype: \"int8\" is not bfloat16, float16 or float32",
                 "--dtype=int8");
}

static void bad_part(void **state)
{
    (void)state;
    ASSERT_WRONG("--part: \"2/2\" is not I/K with I below K", "--part=2/2");
    ASSERT_WRONG("--part: \"1\" is not I/K with I below K", "--part=1");
    ASSERT_WRONG("--part: \"0/9\" is not I/K with I below K", "--part=0/9");
}

static void long_and_odd_values_stay_one_line(void **state)
{
    char value[400] = "--count=1\n2\x1b";

    (void)state;
    memset(value + 12, 'x', 300);
    assert_int_equal(parse((char *[]){"prog", value, NULL}), EPDX_ERR_INVALID);
    assert_null(strpbrk(epdx_last_error(), "\n\x1b"));
    assert_true(strlen(epdx_last_error()) < 160);
    assert_non_null(strstr(epdx_last_error(), "\"1?2?xx"));
}

static void no_arguments_at_all(void **state)
{
    (void)state;
    assert_int_equal(parse((char *[]){NULL}), EPDX_OK);
}

static void help_and_version_are_told(void **state)
{
    const char *show = NULL;
    char *help[] = {"prog", "--flag", "--help", "--nonsense", NULL};
    char *version[] = {"prog", "--version", NULL};

    (void)state;
    assert_int_equal(epi_args_parse(&args, help, &options, &show),
                     EPDX_IN_PROGRESS);
    assert_string_equal(show, "help");
    assert_int_equal(epi_args_parse(&args, version, &options, &show),
                     EPDX_IN_PROGRESS);
    assert_string_equal(show, "version");
}

static void help_names_every_option(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    epi_args_help(&args, out);
    (void)fclose(out);
    assert_non_null(strstr(text, "usage: prog [options]\n\nAbout it.\n"));
    for (size_t i = 0; i < args.count; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "  --%s", table[i].name);
        assert_non_null(strstr(text, name));
    }
    assert_non_null(strstr(text, "  --count N               a count,\n"
                                 "                          in two lines\n"));
    assert_non_null(strstr(text, "  --help"));
    assert_non_null(strstr(text, "  --version"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read),
        cmocka_unit_test(torch_dtype_is_read),
        cmocka_unit_test(unknown_option),
        cmocka_unit_test(missing_value),
        cmocka_unit_test(value_of_a_flag),
        cmocka_unit_test(given_twice),
        cmocka_unit_test(bad_number),
        cmocka_unit_test(bad_seconds),
        cmocka_unit_test(bad_host),
        cmocka_unit_test(bad_address),
        cmocka_unit_test(https_address),
        cmocka_unit_test(too_many_addresses),
        cmocka_unit_test(memory_is_host_or_cuda),
        cmocka_unit_test(bad_dtype),
        cmocka_unit_test(bad_part),
        cmocka_unit_test(long_and_odd_values_stay_one_line),
        cmocka_unit_test(no_arguments_at_all),
        cmocka_unit_test(help_and_version_are_told),
        cmocka_unit_test(help_names_every_option),
    };

    return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
