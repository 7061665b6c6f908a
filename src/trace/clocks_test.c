/* clocks_test.c: offsets from rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "trace/clocks.h"

static void one_round_bounds_the_offset(void **state)
{
    epi_clocks_t clocks;

    (void)state;
    epi_clocks_init(&clocks);
    /* Here 100 to 130; there, 1000 ahead, 1110 to 1125. */
    epi_clocks_add(&clocks, &(epi_round_t){100, 130},
                   &(epi_round_t){1110, 1125});
    assert_int_equal(clocks.least_ns, 980);
    assert_int_equal(clocks.most_ns, 1025);
    assert_int_equal(epi_clocks_offset(&clocks), 1002);
    assert_int_equal(epi_clocks_error(&clocks), 23);
}

static void a_later_round_only_narrows(void **state)
{
    epi_clocks_t clocks;

    (void)state;
    epi_clocks_init(&clocks);
    epi_clocks_add(&clocks, &(epi_round_t){100, 130},
                   &(epi_round_t){1110, 1125});
    epi_clocks_add(&clocks, &(epi_round_t){200, 900},
                   &(epi_round_t){1200, 1900});
    assert_int_equal(clocks.least_ns, 980);
    assert_int_equal(clocks.most_ns, 1025);
    epi_clocks_add(&clocks, &(epi_round_t){1000, 1003},
                   &(epi_round_t){2001, 2004});
    assert_int_equal(clocks.least_ns, 998);
    assert_int_equal(clocks.most_ns, 1004);
}

/* Both enter when they like; whoever leaves has waited for the other. */
static void the_error_holds_for_random_rounds(void **state)
{
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        int64_t truth = (int64_t)(epi_random_u64() >> 20) -
                        (int64_t)(epi_random_u64() >> 20);
        uint64_t true_ns = UINT64_C(1) << 50;
        int64_t off;
        epi_clocks_t clocks;

        epi_clocks_init(&clocks);
        for (int i = 0; i < 32; i++) {
            uint64_t in_here = true_ns + epi_random_u64() % 5000;
            uint64_t in_there = true_ns + epi_random_u64() % 5000;
            uint64_t both = in_here > in_there ? in_here : in_there;
            epi_round_t here = {in_here, both + epi_random_u64() % 3000};
            epi_round_t there = {in_there + (uint64_t)truth,
                                 both + epi_random_u64() % 3000 +
                                     (uint64_t)truth};

            epi_clocks_add(&clocks, &here, &there);
            true_ns = both + 10000;
        }
        off = epi_clocks_offset(&clocks) - truth;
        assert_true((uint64_t)(off < 0 ? -off : off) <=
                    epi_clocks_error(&clocks));
        assert_true(epi_clocks_error(&clocks) < 4000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_round_bounds_the_offset),
        cmocka_unit_test(a_later_round_only_narrows),
        cmocka_unit_test(the_error_holds_for_random_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
