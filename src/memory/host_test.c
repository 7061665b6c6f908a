/* host_test.c: host memory comes whole, touched, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/memory.h"

/** Pages of [base, base + bytes) that are in memory. */
static size_t resident(void *base, size_t bytes, size_t page)
{
    unsigned char in[4096];
    size_t pages = (bytes + page - 1) / page;
    size_t count = 0;

    assert_true(pages <= sizeof(in));
    assert_int_equal(mincore(base, bytes, in), 0);
    for (size_t i = 0; i < pages; i++) {
        count += in[i] & 1;
    }
    return count;
}

static void test_every_page_is_touched(void **state)
{
    static const size_t sizes[] = {1, 4096, 4097, 5 * 1024 * 1024 + 3};
    const epi_memory_ops_t *host = epi_memory_host();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *base = NULL;

        assert_int_equal(host->alloc(0, sizes[i], &base), EPDX_OK);
        assert_non_null(base);
        assert_int_equal((uintptr_t)base % page, 0);
        assert_int_equal(resident(base, sizes[i], page),
                         (sizes[i] + page - 1) / page);
        memset(base, 0x5a, sizes[i]);
        host->release(0, base, sizes[i]);
    }
}

static void test_release_unmaps_the_whole(void **state)
{
    const epi_memory_ops_t *host = epi_memory_host();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char in[4];
    void *base = NULL;

    (void)state;
    assert_int_equal(host->alloc(0, 2 * page + 1, &base), EPDX_OK);
    host->release(0, base, 2 * page + 1);
    assert_int_equal(mincore(base, 3 * page, in), -1);
    host->release(0, NULL, page);
}

static void test_no_memory_names_the_size(void **state)
{
    const epi_memory_ops_t *host = epi_memory_host();
    void *base = &base;

    (void)state;
    assert_int_equal(host->alloc(0, (size_t)1 << 60, &base),
                     EPDX_ERR_NO_MEMORY);
    assert_non_null(strstr(epdx_last_error(), "1152921504606846976 bytes"));
    assert_ptr_equal(base, &base);
    assert_int_equal(host->alloc(0, SIZE_MAX, &base), EPDX_ERR_NO_MEMORY);
    assert_int_equal(host->alloc(0, 0, &base), EPDX_ERR_NO_MEMORY);
    assert_ptr_equal(base, &base);
}

static void test_it_is_host_memory(void **state)
{
    const epi_memory_ops_t *host = epi_memory_host();

    (void)state;
    assert_int_equal(host->kind, EPI_MEMORY_HOST);
    assert_string_equal(host->name, "host");
    assert_null(host->copies);
    assert_int_equal(host->devices(), 1);
    assert_int_equal(host->bind(7), EPDX_OK);
    assert_int_equal(host->check(7, host, 1), EPDX_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_page_is_touched),
        cmocka_unit_test(test_release_unmaps_the_whole),
        cmocka_unit_test(test_no_memory_names_the_size),
        cmocka_unit_test(test_it_is_host_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
