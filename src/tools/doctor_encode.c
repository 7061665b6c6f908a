/* doctor_encode.c: whether an encode node can be found from here. */
#include "tools/doctor_checks.h"

static epi_verdict_t bootstrap(const void *of, epi_finding_t *finding)
{
    const epi_encode_facts_t *facts = of;

    if (facts->code == 0) {
        return epi_say_fail(
            finding,
            "is it running, at the address that epdx_encode printed (with "
            "https:// "
            "where it has a certificate)? a firewall may be between",
            "%s does not answer: %s", facts->bootstrap, facts->error);
    }
    if (facts->ready) {
        return epi_say_ok(finding, "%s has %u encode ranks in %u DP groups",
                          facts->bootstrap, facts->ranks, facts->groups);
    }
    if (facts->code == 503 || (facts->code == 200 && !facts->malformed)) {
        return epi_say_warn(finding,
                            "start the encode ranks that are missing; prefill "
                            "ranks wait EPDX_BOOTSTRAP_TIMEOUT_S for them",
                            "%s is there, and not all of its encode ranks: %s",
                            facts->bootstrap, facts->error);
    }
    return epi_say_fail(finding,
                        "--encode names a bootstrap server, not an encode "
                        "rank's own port; with EPDX_TLS_CERT_FILE there, write "
                        "https://HOST:PORT",
                        "%s answers %d, as no bootstrap server does: %s",
                        facts->bootstrap, facts->code, facts->error);
}

static epi_verdict_t rank(const void *of, epi_finding_t *finding)
{
    const epi_encode_facts_t *facts = of;

    if (!facts->ready || facts->rank[0] == '\0') {
        return EPI_VERDICT_NONE;
    }
    if (facts->remote && facts->rank_loopback) {
        return epi_say_fail(
            finding,
            "set EPDX_HOST on the encode node to its own address, and start it "
            "again",
            "encode rank 0 of %s says that it is at %s, which is this node "
            "itself",
            facts->bootstrap, facts->rank);
    }
    if (facts->rank_error[0] != '\0') {
        return epi_say_fail(finding,
                            "let ports above 1024 through between prefill and "
                            "encode nodes, both ways; see network.ports",
                            "encode rank 0 of %s, at %s, takes no connection: "
                            "%s",
                            facts->bootstrap, facts->rank, facts->rank_error);
    }
    return epi_say_ok(finding, "encode rank 0 of %s takes connections at %s",
                      facts->bootstrap, facts->rank);
}

static const epi_check_t checks[] = {
    {"encode.bootstrap", bootstrap},
    {"encode.rank", rank},
};

void epi_doctor_encode(const epi_encode_facts_t *facts,
                       epi_findings_t *findings)
{
    epi_findings_add(findings, checks, sizeof(checks) / sizeof(checks[0]),
                     facts);
}
