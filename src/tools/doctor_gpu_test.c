/* doctor_gpu_test.c: nodes with and without devices, and what EPDX_MEMORY makes
 * of them. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"

static epi_findings_t findings;

static epi_gpu_facts_t fine(void)
{
    return (epi_gpu_facts_t){.wanted = true,
                             .shard = true,
                             .cuda_built = true,
                             .runtime = 13000,
                             .driver = 13010,
                             .devices = 8,
                             .ucx_cuda = true,
                             .nccl_built = 22809,
                             .nccl = 22809};
}

static void look(const epi_gpu_facts_t *facts)
{
    findings.count = 0;
    epi_doctor_gpu(facts, &findings);
}

static void test_a_node_with_devices(void **state)
{
    epi_gpu_facts_t facts = fine();

    (void)state;
    look(&facts);
    assert_int_equal(findings.count, 3);
    epi_says(&findings, "gpu.cuda", EPI_VERDICT_OK,
             "8 devices, CUDA 13.0 (driver: 13.1)");
    epi_says(&findings, "gpu.ucx", EPI_VERDICT_OK, "reaches");
    epi_says(&findings, "gpu.nccl", EPI_VERDICT_OK, "NCCL 2.28.9");
    facts.nccl = facts.nccl_built = 2804;
    look(&facts);
    epi_says(&findings, "gpu.nccl", EPI_VERDICT_OK, "NCCL 2.8.4");
}

static void test_no_device(void **state)
{
    epi_gpu_facts_t facts = fine();

    (void)state;
    facts.devices = 0;
    memcpy(facts.error, "no driver", sizeof("no driver"));
    look(&facts);
    epi_says(&findings, "gpu.cuda", EPI_VERDICT_FAIL, "no driver");
    epi_says(&findings, "gpu.ucx", EPI_VERDICT_NONE, NULL);
    facts.wanted = false;
    look(&facts);
    epi_says(&findings, "gpu.cuda", EPI_VERDICT_NOTE, "no driver");
}

static void test_a_build_without_cuda(void **state)
{
    epi_gpu_facts_t facts = {.wanted = true};

    (void)state;
    look(&facts);
    assert_int_equal(findings.count, 1);
    epi_says(&findings, "gpu.cuda", EPI_VERDICT_FAIL, "without CUDA");
    facts.wanted = false;
    look(&facts);
    epi_says(&findings, "gpu.cuda", EPI_VERDICT_NOTE, "without CUDA");
}

static void test_a_build_without_nccl(void **state)
{
    epi_gpu_facts_t facts = fine();

    (void)state;
    facts.nccl_built = facts.nccl = 0;
    look(&facts);
    epi_says(&findings, "gpu.nccl", EPI_VERDICT_FAIL, "cannot be rebuilt");
    facts.shard = false;
    look(&facts);
    epi_says(&findings, "gpu.nccl", EPI_VERDICT_NOTE, "without NCCL");
}

static void test_an_older_nccl_is_loaded(void **state)
{
    epi_gpu_facts_t facts = fine();

    (void)state;
    facts.nccl = 21805;
    look(&facts);
    epi_says(&findings, "gpu.nccl", EPI_VERDICT_WARN,
             "NCCL 2.18.5 is loaded, and epdx was built with 2.28.9");
}

static void test_an_older_driver(void **state)
{
    epi_gpu_facts_t facts = fine();

    (void)state;
    facts.driver = 12080;
    look(&facts);
    epi_says(&findings, "gpu.driver", EPI_VERDICT_WARN,
             "the driver knows CUDA 12.8, and 13.0 is loaded");
}

static void test_a_ucx_without_cuda(void **state)
{
    epi_gpu_facts_t facts = fine();

    (void)state;
    facts.ucx_cuda = false;
    look(&facts);
    epi_says(&findings, "gpu.ucx", EPI_VERDICT_WARN, "EPDX_CUDA_STAGING_MB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_with_devices),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_a_build_without_cuda),
        cmocka_unit_test(test_a_build_without_nccl),
        cmocka_unit_test(test_an_older_nccl_is_loaded),
        cmocka_unit_test(test_an_older_driver),
        cmocka_unit_test(test_a_ucx_without_cuda),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
