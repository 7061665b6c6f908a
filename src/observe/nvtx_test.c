/* nvtx_test.c: an attached tool gets our ranges (nvtx_tool_test.c is it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>

#include "observe/nvtx.h"

static void a_tool_gets_nested_ranges(void **state)
{
    void *tool;
    const int *pushed;
    const int *popped;
    const char(*names)[32];

    (void)state;
    assert_int_equal(setenv("NVTX_INJECTION64_PATH", EPDX_NVTX_TOOL, 1), 0);
    epi_nvtx_push("epdx drain");
    epi_nvtx_push("epdx vote");
    epi_nvtx_pop();
    epi_nvtx_pop();
    tool = dlopen(EPDX_NVTX_TOOL, RTLD_NOW);
    assert_non_null(tool);
    pushed = dlsym(tool, "tool_pushed");
    popped = dlsym(tool, "tool_popped");
    names = dlsym(tool, "tool_names");
    assert_non_null(pushed);
    assert_non_null(popped);
    assert_non_null(names);
    assert_int_equal(*pushed, 2);
    assert_int_equal(*popped, 2);
    assert_string_equal(names[0], "epdx drain");
    assert_string_equal(names[1], "epdx vote");
    (void)dlclose(tool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_gets_nested_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
