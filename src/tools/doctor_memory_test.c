/* doctor_memory_test.c: nodes with enough memory, and with too little. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"

#define MIB UINT64_C(1048576)

static epi_findings_t findings;

static epi_memory_facts_t fine(void)
{
    return (epi_memory_facts_t){.shm_bytes = 1024 * MIB,
                                .shm_free = 1000 * MIB,
                                .shm_writable = true,
                                .locked_bytes = EPI_UNLIMITED,
                                .rdma = true,
                                .available = {9000 * MIB, "MemAvailable"},
                                .pool_bytes = 4096 * MIB,
                                .ring_bytes = 1024 * MIB,
                                .staging_bytes = 256 * MIB,
                                .shared = true,
                                .namespaces = "pid:[1] and ipc:[2]"};
}

static void look(const epi_memory_facts_t *facts)
{
    findings.count = 0;
    epi_doctor_memory(facts, &findings);
}

static void test_enough_of_all(void **state)
{
    epi_memory_facts_t facts = fine();

    (void)state;
    look(&facts);
    assert_int_equal(findings.count, 4);
    assert_int_equal(epi_findings_count(&findings, EPI_VERDICT_OK), 4);
    epi_says(&findings, "memory.available", EPI_VERDICT_OK,
             "9000 MiB are available: for 2 pools of 4096 MiB");
    epi_says(&findings, "memory.shared", EPI_VERDICT_OK,
             "within pid:[1] and ipc:[2]");
}

static void test_dev_shm(void **state)
{
    epi_memory_facts_t facts = fine();

    (void)state;
    facts.shm_free = 64 * MIB;
    look(&facts);
    epi_says(&findings, "memory.shm", EPI_VERDICT_WARN,
             "64 MiB left of 1024: enough for a few ranks only");
    facts.shm_free = 15 * MIB;
    look(&facts);
    epi_says(&findings, "memory.shm", EPI_VERDICT_FAIL, "ranks will not start");
    facts.shm_writable = false;
    look(&facts);
    epi_says(&findings, "memory.shm", EPI_VERDICT_FAIL, "cannot be written");
    facts.shm_bytes = 0;
    look(&facts);
    epi_says(&findings, "memory.shm", EPI_VERDICT_FAIL, "is not there");
}

static void test_locked_memory(void **state)
{
    epi_memory_facts_t facts = fine();

    (void)state;
    facts.locked_bytes = 8 * MIB;
    look(&facts);
    epi_says(&findings, "memory.locked", EPI_VERDICT_FAIL,
             "8 MiB may be locked; with RDMA the pool or ring of 4096 MiB is");
    facts.locked_bytes = 4096 * MIB;
    look(&facts);
    epi_says(&findings, "memory.locked", EPI_VERDICT_OK, "4096");
    facts.ring_bytes = 4097 * MIB;
    look(&facts);
    epi_says(&findings, "memory.locked", EPI_VERDICT_FAIL, "4097 MiB");
    facts.rdma = false;
    look(&facts);
    epi_says(&findings, "memory.locked", EPI_VERDICT_NOTE,
             "without RDMA devices nothing is");
}

static void test_available_memory(void **state)
{
    epi_memory_facts_t facts = fine();

    (void)state;
    facts.available.bytes = 4096 * MIB;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_OK, "for 1 pools");
    facts.available.bytes = 4096 * MIB - 1;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_WARN,
             "4095 MiB of memory are available: a prefill rank's pool of 4096 "
             "MiB would be refused now, an encode rank's ring of 1024 MiB "
             "fits; by MemAvailable");
    facts.ring_bytes = 4097 * MIB;
    facts.pool_bytes = MIB;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_WARN,
             "pool of 1 MiB fits, an encode rank's ring of 4097 MiB would "
             "be refused now");
    facts.available.bytes = 0;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_WARN,
             "0 MiB of memory are available");
    facts.available.bytes = EPI_AVAILABLE_UNKNOWN;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_NONE, NULL);
}

/* Pool and ring are not of the host then. */
static void test_available_memory_with_a_device(void **state)
{
    epi_memory_facts_t facts = fine();

    (void)state;
    facts.device = true;
    facts.available.bytes = 256 * MIB;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_OK,
             "256 MiB are available: for 1 ranks that stage rows in 256 MiB");
    facts.available.bytes = 256 * MIB - 1;
    look(&facts);
    epi_says(&findings, "memory.available", EPI_VERDICT_WARN,
             "255 MiB of memory are available: 256 MiB for the rows of a "
             "device would be refused now; by MemAvailable");
}

static void test_processes_that_cannot_share(void **state)
{
    epi_memory_facts_t facts = fine();

    (void)state;
    facts.shared = false;
    memcpy(facts.shared_error, "no /proc", sizeof("no /proc"));
    look(&facts);
    epi_says(&findings, "memory.shared", EPI_VERDICT_WARN, "no /proc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enough_of_all),
        cmocka_unit_test(test_dev_shm),
        cmocka_unit_test(test_locked_memory),
        cmocka_unit_test(test_available_memory),
        cmocka_unit_test(test_available_memory_with_a_device),
        cmocka_unit_test(test_processes_that_cannot_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
