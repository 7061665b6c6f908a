/* no_cuda_test.c: a build without CUDA says so, and how to cure it. It is
 * linked with no_cuda.c, whatever the build has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memory/memory.h"

static void test_err_invalid_names_the_cure(void **state)
{
    epi_memory_wish_t wish = {.who = "receiver", .memory = EPDX_MEMORY_CUDA};
    epi_memory_t memory = {NULL, 7};

    (void)state;
    assert_null(epi_memory_cuda());
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "receiver: CUDA memory"));
    assert_non_null(strstr(epdx_last_error(), "-DEPDX_CUDA=ON"));
    assert_non_null(strstr(epdx_last_error(), "EPDX_MEMORY"));
    assert_null(memory.ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err_invalid_names_the_cure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
