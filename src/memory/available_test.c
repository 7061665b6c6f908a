/* available_test.c: what may still be populated, of files that the test writes
 * in place of the kernel's. Nothing here populates more than 4 MiB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/available.h"
#include "memory/memory.h"

#define MIB       ((size_t)1 << 20)

#define PATHS_MAX 64

static char folder[64];
static char tree[128], meminfo[128], groups[128];
static char made[PATHS_MAX][256]; /* in order */
static size_t made_count;

static void remember(const char *path)
{
    assert_true(made_count < PATHS_MAX);
    (void)snprintf(made[made_count++], sizeof(made[0]), "%s", path);
}

/** Write a file of the folder, and the folders that it is in. */
static void put(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')) != NULL;
         at++) {
        *at = '\0';
        if (mkdir(path, 0700) == 0) {
            remember(path);
        } else {
            assert_int_equal(errno, EEXIST);
        }
        *at = '/';
    }
    if (access(path, F_OK) != 0) {
        remember(path);
    }
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int start(void **state)
{
    static epi_available_files_t files;

    (void)state;
    made_count = 0;
    (void)snprintf(folder, sizeof(folder), "/tmp/epdx-available-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(meminfo, sizeof(meminfo), "%s/meminfo", folder);
    (void)snprintf(groups, sizeof(groups), "%s/groups", folder);
    (void)snprintf(tree, sizeof(tree), "%s/tree", folder);
    files = (epi_available_files_t){
        .meminfo = meminfo, .groups = groups, .tree = tree};
    epi_available_files(&files);
    return 0;
}

static int end(void **state)
{
    (void)state;
    epi_available_files(NULL);
    while (made_count > 0) {
        (void)remove(made[--made_count]);
    }
    return rmdir(folder);
}

/** So many bytes, by the file that ends so. */
static void expect(uint64_t bytes, const char *by)
{
    epi_available_t available;
    size_t length;

    epi_available(&available);
    length = strlen(available.bound);
    assert_int_equal(available.bytes, bytes);
    if (length < strlen(by) ||
        strcmp(available.bound + length - strlen(by), by) != 0) {
        fail_msg("\"%s\" does not end in \"%s\"", available.bound, by);
    }
}

static void expect_unknown(void)
{
    expect(EPI_AVAILABLE_UNKNOWN, "");
    assert_int_equal(epi_available_check("x", "y", SIZE_MAX), EPDX_OK);
}

static void expect_refused(size_t bytes, const char *words)
{
    assert_int_equal(epi_available_check("host memory", "EPDX_X", bytes),
                     EPDX_ERR_NO_MEMORY);
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, epdx_last_error());
    }
}

static void test_what_fits(void **state)
{
    (void)state;
    put("meminfo", "MemTotal:  9000 kB\nMemFree:  1 kB\n"
                   "MemAvailable:    2048 kB\nBuffers:  7 kB\n");
    put("groups", "0::/job\n");
    put("tree/job/memory.max", "4194304\n");
    put("tree/job/memory.current", "1048576\n");
    expect(2 * MIB, "/meminfo");
}

static void test_more_than_the_node_has(void **state)
{
    (void)state;
    put("meminfo", "MemAvailable: 2048 kB\n");
    expect(2 * MIB, "/meminfo");
    assert_int_equal(epi_available_check("x", "y", 2 * MIB), EPDX_OK);
    expect_refused(2 * MIB + 1, "cannot map 2097153 bytes of host memory: "
                                "2097152 are left by MemAvailable of /");
    expect_refused(SIZE_MAX, "lower EPDX_X, or give the job more memory");
    put("meminfo", "MemAvailable: 0 kB\n");
    expect_refused(1, "0 are left");
}

static void test_more_than_the_control_group_leaves(void **state)
{
    (void)state;
    put("meminfo", "MemAvailable: 8192 kB\n");
    put("groups", "0::/a/job\n");
    put("tree/a/memory.max", "6291456\n");
    put("tree/a/memory.current", "2097152\n");
    put("tree/a/job/memory.max", "4194304\n");
    put("tree/a/job/memory.current", "1048576\n");
    expect(3 * MIB, "/tree/a/job/memory.max");
    expect_refused(3 * MIB + 1, "3145728 are left by /");
    expect_refused(3 * MIB + 1, "/tree/a/job/memory.max; lower EPDX_X");
}

static void test_a_group_above_leaves_less(void **state)
{
    (void)state;
    put("meminfo", "MemAvailable: 8192 kB\n");
    put("groups", "0::/a/b/job\n");
    put("tree/a/b/job/memory.max", "4194304\n");
    put("tree/a/b/job/memory.current", "0\n");
    put("tree/a/b/memory.max", "max\n");
    put("tree/a/memory.max", "5242880\n");
    put("tree/a/memory.current", "4194304\n");
    expect(MIB, "/tree/a/memory.max");
    put("tree/memory.max", "524288\n");
    expect(MIB / 2, "/tree/memory.max");
}

static void test_a_group_at_the_top(void **state)
{
    (void)state;
    put("groups", "0::/\n");
    put("tree/memory.max", "4194304\n");
    put("tree/memory.current", "1048576\n");
    expect(3 * MIB, "/tree/memory.max");
}

static void test_a_group_without_a_limit(void **state)
{
    (void)state;
    put("groups", "0::/job\n");
    put("tree/job/memory.max", "max\n");
    put("tree/job/memory.current", "1048576\n");
    expect_unknown();
    put("meminfo", "MemAvailable: 2048 kB\n");
    expect(2 * MIB, "/meminfo");
}

/* Such memory the kernel takes back before it ends anybody. */
static void test_what_files_have_too_is_left(void **state)
{
    (void)state;
    put("groups", "0::/job\n");
    put("tree/job/memory.max", "4194304\n");
    put("tree/job/memory.current", "4194304\n");
    expect(0, "/memory.max");
    put("tree/job/memory.stat",
        "anon 1000\nfile 9999999\nshmem 9999\ninactive_anon 77\n"
        "inactive_file 100000\nactive_file 20000\nslab_reclaimable 3000\n");
    expect(123000, "/memory.max");
    put("tree/job/memory.stat", "inactive_file 99999999\n");
    expect(4 * MIB, "/memory.max");
}

static void test_control_groups_of_version_1(void **state)
{
    (void)state;
    put("groups", "9:name=systemd:/x\n5:cpu,memory:/a/job\n0::/y\n");
    put("tree/memory/a/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("tree/memory/a/job/memory.usage_in_bytes", "4096\n");
    put("tree/memory/a/memory.limit_in_bytes", "4194304\n");
    put("tree/memory/a/memory.usage_in_bytes", "1048576\n");
    expect(3 * MIB, "/tree/memory/a/memory.limit_in_bytes");
    put("tree/memory/a/memory.stat", "inactive_file 7\n"
                                     "total_inactive_file 100000\n"
                                     "total_active_file 20000\n");
    expect(3 * MIB + 120000, "/tree/memory/a/memory.limit_in_bytes");
    put("groups", "5:memory,cpu:/a\n");
    expect(3 * MIB + 120000, "/tree/memory/a/memory.limit_in_bytes");
    put("groups", "5:name=memory:/a\n6:memoryless,xmemory:/a\n7::/a\n");
    expect_unknown();
}

/* A container is told its whole path, and sees its own group at the top. */
static void test_a_path_that_the_tree_lacks(void **state)
{
    (void)state;
    put("groups", "4:memory:/docker/1234\n");
    put("tree/memory/memory.limit_in_bytes", "4194304\n");
    put("tree/memory/memory.usage_in_bytes", "1048576\n");
    expect(3 * MIB, "/tree/memory/memory.limit_in_bytes");
}

static void test_a_path_out_of_the_namespace(void **state)
{
    (void)state;
    put("tree/memory.max", "4096\n");
    put("groups", "0::/../job\n");
    expect_unknown();
    put("groups", "0::/..\n");
    expect_unknown();
    put("groups", "0::/..job\n");
    expect(4096, "/tree/memory.max");
}

static void test_missing_files_bound_nothing(void **state)
{
    (void)state;
    expect_unknown();
    put("groups", "0::/job\n");
    expect_unknown();
    put("tree/job/memory.current", "4096\n");
    expect_unknown();
    put("tree/job/memory.max", "8192\n");
    expect(4096, "/memory.max");
    put("groups", "");
    expect_unknown();
    put("meminfo", "");
    expect_unknown();
}

/* More than the whole limit fits in no case. */
static void test_without_its_use_the_limit_bounds(void **state)
{
    (void)state;
    put("groups", "0::/job\n");
    put("tree/job/memory.max", "8192\n");
    expect(8192, "/memory.max");
    put("tree/job/memory.current", "many\n");
    put("tree/job/memory.stat", "inactive_file many\nactive_file\n\n");
    expect(8192, "/memory.max");
}

static void test_garbage_bounds_nothing(void **state)
{
    static const char *const nodes[] = {
        "MemAvailable: kB\n",       "MemAvailable: -5 kB\n",
        "MemAvailable: 5\n",        "MemAvailable: 5 MB\n",
        "MemAvailable: 5 kB or so", "MemAvailable 5 kB\n",
        " MemAvailable: 5 kB\n",    "MemAvailable: 0x5 kB\n",
        "MemAvailable: five kB\n",  "\n\n\n",
    };
    static const char *const limits[] = {"",      "\n",    "-1\n",
                                         "12x\n", "1 2\n", "MAX\n"};
    static const char *const lines[] = {
        "",          ":",         "::",
        "0::",       "0::job\n",  "0:/",
        "0:memory:", "0 : : /\n", "4:memory:job\n",
        "/job\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        put("meminfo", nodes[i]);
        expect_unknown();
    }
    put("groups", "0::/job\n");
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        put("tree/job/memory.max", limits[i]);
        expect_unknown();
    }
    put("tree/memory.max", "4096\n");
    put("tree/memory/memory.limit_in_bytes", "4096\n");
    expect(4096, "/memory.max");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        put("groups", lines[i]);
        expect_unknown();
    }
}

static void test_numbers_that_are_too_large(void **state)
{
    (void)state;
    put("meminfo", "MemAvailable: 18446744073709551615 kB\n");
    expect_unknown();
    put("meminfo", "MemAvailable: 99999999999999999999 kB\n");
    expect_unknown();
    put("groups", "0::/job\n");
    put("tree/job/memory.max", "99999999999999999999\n");
    expect_unknown();
    put("tree/job/memory.max", "8192\n");
    put("tree/job/memory.current", "18446744073709551615\n");
    expect(0, "/memory.max");
    put("tree/job/memory.stat", "inactive_file 18446744073709551615\n"
                                "active_file 18446744073709551615\n");
    expect(8192, "/memory.max");
}

static void test_a_path_that_is_too_long(void **state)
{
    static char line[8192] = "0::/job/";
    size_t length = strlen(line);

    (void)state;
    memset(line + length, 'x', sizeof(line) - 1 - length);
    put("groups", line);
    put("tree/job/memory.max", "4096\n");
    expect(4096, "/tree/job/memory.max");
}

/** Whether an allocation of 2 MiB is refused, naming a setting, and of 1 MiB is
 *  not, where as much is available. */
static void expect_checked(const epi_memory_ops_t *ops, const char *what,
                           const char *setting)
{
    void *base = &base;

    assert_int_equal(ops->alloc(0, 2 * MIB, &base), EPDX_ERR_NO_MEMORY);
    assert_ptr_equal(base, &base);
    assert_non_null(strstr(epdx_last_error(), what));
    assert_non_null(strstr(epdx_last_error(), setting));
    assert_int_equal(ops->alloc(0, MIB + 1, &base), EPDX_ERR_NO_MEMORY);
    assert_int_equal(ops->alloc(0, MIB, &base), EPDX_OK);
    ops->release(0, base, MIB);
}

static void test_memory_that_does_not_fit_is_refused(void **state)
{
    const epi_memory_ops_t *cuda = epi_memory_cuda();
    void *base = &base;

    (void)state;
    put("meminfo", "MemAvailable: 1024 kB\n");
    expect_checked(epi_memory_host(),
                   "cannot map 2097152 bytes of host memory: 1048576 are left",
                   "EPDX_RECV_POOL_MB or EPDX_ENCODE_RING_MB");
    expect_checked(
        epi_memory_shared(),
        "cannot map 2097152 bytes of shared memory: 1048576 are left",
        "EPDX_ENCODE_RING_MB");
    if (cuda != NULL) {
        assert_int_equal(cuda->copies->pin(0, 2 * MIB, &base),
                         EPDX_ERR_NO_MEMORY);
        assert_ptr_equal(base, &base);
        assert_non_null(strstr(epdx_last_error(), "pinned host memory"));
        assert_non_null(strstr(epdx_last_error(), "EPDX_CUDA_STAGING_MB"));
        assert_int_equal(cuda->copies->pin(0, MIB, &base), EPDX_OK);
        cuda->copies->unpin(0, base);
    }
}

/* A caller's memory is there already. */
static void test_given_memory_is_not_checked(void **state)
{
    static char given[64];

    (void)state;
    put("meminfo", "MemAvailable: 0 kB\n");
    assert_int_equal(epi_memory_host()->check(0, given, sizeof(given)),
                     EPDX_OK);
}

/* The kernel's own files, whichever it has. */
static void test_the_kernels_files(void **state)
{
    epi_available_t available;

    (void)state;
    epi_available_files(NULL);
    epi_available(&available);
    assert_true(available.bytes > 0);
    if (access("/proc/meminfo", R_OK) == 0) {
        assert_true(available.bytes < (uint64_t)1 << 60);
        assert_string_not_equal(available.bound, "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_fits),
        TEST(test_more_than_the_node_has),
        TEST(test_more_than_the_control_group_leaves),
        TEST(test_a_group_above_leaves_less),
        TEST(test_a_group_at_the_top),
        TEST(test_a_group_without_a_limit),
        TEST(test_what_files_have_too_is_left),
        TEST(test_control_groups_of_version_1),
        TEST(test_a_path_that_the_tree_lacks),
        TEST(test_a_path_out_of_the_namespace),
        TEST(test_missing_files_bound_nothing),
        TEST(test_without_its_use_the_limit_bounds),
        TEST(test_garbage_bounds_nothing),
        TEST(test_numbers_that_are_too_large),
        TEST(test_a_path_that_is_too_long),
        TEST(test_memory_that_does_not_fit_is_refused),
        TEST(test_given_memory_is_not_checked),
        TEST(test_the_kernels_files),
    };

    return cmocka_run_group_tests_name("memory/available", tests, NULL, NULL);
}
