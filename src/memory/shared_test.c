/* shared_test.c: shared memory is one with its file, which cannot shrink. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"

static void test_file_and_memory_are_one(void **state)
{
    const epi_memory_ops_t *shared = epi_memory_shared();
    uint8_t *base = NULL;
    struct stat stat;
    char path[64];
    char name[64] = "";
    uint8_t byte = 0;
    uint8_t *view;
    int fd;

    (void)state;
    assert_int_equal(shared->kind, EPI_MEMORY_HOST);
    assert_int_equal(shared->alloc(0, 10000, (void **)&base), EPDX_OK);
    fd = epi_memory_shared_fd(base);
    assert_true(fd >= 0);
    assert_int_equal(epi_memory_shared_fd(base + 1), -1);
    assert_int_equal(fstat(fd, &stat), 0);
    assert_true(stat.st_size >= 10000);
    memset(base, 0x5a, 10000);
    view = mmap(NULL, 10000, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(view != MAP_FAILED);
    assert_int_equal(view[9999], 0x5a);
    assert_int_equal(munmap(view, 10000), 0);

    assert_int_equal(ftruncate(fd, 1), -1); /* a reader would get SIGBUS */
    assert_int_equal(errno, EPERM);
    assert_int_equal(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK, F_SEAL_SHRINK);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_true(readlink(path, name, sizeof(name) - 1) > 0);
    assert_int_equal(strncmp(name, "/memfd:" EPI_MEMORY_SHARED_NAME " ",
                             strlen("/memfd:" EPI_MEMORY_SHARED_NAME " ")),
                     0);
    shared->release(0, base, 10000);
    assert_int_equal(epi_memory_shared_fd(base), -1);
    assert_int_equal(read(fd, &byte, 1), -1);
    assert_int_equal(errno, EBADF);
}

static void test_several_at_a_time(void **state)
{
    const epi_memory_ops_t *shared = epi_memory_shared();
    void *bases[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(shared->alloc(0, 4096, &bases[i]), EPDX_OK);
    }
    assert_true(epi_memory_shared_fd(bases[0]) !=
                epi_memory_shared_fd(bases[2]));
    shared->release(0, bases[1], 4096);
    assert_int_equal(epi_memory_shared_fd(bases[1]), -1);
    assert_true(epi_memory_shared_fd(bases[0]) >= 0);
    assert_true(epi_memory_shared_fd(bases[2]) >= 0);
    shared->release(0, bases[0], 4096);
    shared->release(0, bases[2], 4096);
    shared->release(0, NULL, 4096);
}

static void test_err_no_memory(void **state)
{
    const epi_memory_ops_t *shared = epi_memory_shared();
    void *base = NULL;

    (void)state;
    assert_int_equal(shared->alloc(0, 0, &base), EPDX_ERR_NO_MEMORY);
    assert_int_equal(shared->alloc(0, SIZE_MAX, &base), EPDX_ERR_NO_MEMORY);
    assert_int_equal(shared->alloc(0, SIZE_MAX / 2 - 8192, &base),
                     EPDX_ERR_NO_MEMORY);
    assert_non_null(strstr(epdx_last_error(), "shared memory"));
    assert_null(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_and_memory_are_one),
        cmocka_unit_test(test_several_at_a_time),
        cmocka_unit_test(test_err_no_memory),
    };

    return cmocka_run_group_tests_name("memory/shared", tests, NULL, NULL);
}
