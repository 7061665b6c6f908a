/* cuda_facts_test.c: over the fake, as each machine shows itself. */
#include "memory/cuda_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "testing/fake_cuda.h"

static int reset(void **state)
{
    (void)state;
    epi_fake_cuda_reset();
    return 0;
}

static void test_versions_and_devices(void **state)
{
    epi_cuda_facts_t facts;

    (void)state;
    epi_cuda_facts(&facts);
    assert_true(facts.built);
    assert_true(facts.runtime >= 11000);
    assert_true(facts.driver >= 11000);
    assert_true(facts.devices > 0);
    assert_string_equal(facts.error, "");
}

static void test_no_driver_is_told_in_words(void **state)
{
    epi_cuda_facts_t facts;

    (void)state;
    epi_fake_fail("cudaGetDeviceCount", 0, cudaErrorInsufficientDriver);
    epi_cuda_facts(&facts);
    assert_int_equal(facts.devices, 0);
    assert_string_equal(facts.error,
                        cudaGetErrorString(cudaErrorInsufficientDriver));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_versions_and_devices, reset),
        cmocka_unit_test_setup(test_no_driver_is_told_in_words, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
