/* random_test.c: never 0, never the same twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

static void numbers_differ_and_are_never_zero(void **state)
{
    uint64_t seen[64];

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        seen[i] = epi_random_u64();
        assert_int_not_equal(seen[i], 0);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(seen[i], seen[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_differ_and_are_never_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
