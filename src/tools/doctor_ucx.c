/* doctor_ucx.c: whether UCX moves rows, and over what. */
#include <string.h>

#include "tools/doctor_checks.h"

/** Whether a comma separated list names an RDMA transport. */
static bool remote_memory(const char *list)
{
    static const char *const prefixes[] = {"rc", "dc", "ud", "ugni", "srd"};

    while (*list != '\0') {
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
            if (strncmp(list, prefixes[i], strlen(prefixes[i])) == 0) {
                return true;
            }
        }
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

static epi_verdict_t version(const void *of, epi_finding_t *finding)
{
    const epi_plane_facts_t *facts = of;
    size_t minor = strcspn(facts->built, ".");

    if (facts->ucx.version[0] == '\0') {
        return EPI_VERDICT_NONE;
    }
    minor += facts->built[minor] == '.';
    minor += strcspn(facts->built + minor, ".") + 1; /* "1.13." */
    if (strncmp(facts->ucx.version, facts->built, minor) != 0) {
        return epi_say_warn(
            finding,
            "build epdx with the UCX of this node, or put the UCX that it was "
            "built with first in LD_LIBRARY_PATH",
            "UCX %s is loaded, and epdx was built with %s", facts->ucx.version,
            facts->built);
    }
    return epi_say_ok(finding, "UCX %s", facts->ucx.version);
}

static epi_verdict_t moves(const void *of, epi_finding_t *finding)
{
    const epi_plane_facts_t *facts = of;

    if (facts->ucx.error[0] == '\0') {
        return epi_say_ok(finding, "bytes come over on the own address");
    }
    return facts->user_settings
               ? epi_say_fail(
                     finding,
                     "UCX_TLS or UCX_NET_DEVICES is set: unset it, or let it "
                     "have tcp and the interface of EPDX_HOST",
                     "UCX moves nothing: %s", facts->ucx.error)
               : epi_say_fail(
                     finding,
                     "set EPDX_HOST to an address of this node; "
                     "UCX_LOG_LEVEL=info with EPDX_LOG_LEVEL=info says more",
                     "UCX moves nothing: %s", facts->ucx.error);
}

static epi_verdict_t transports(const void *of, epi_finding_t *finding)
{
    const epi_plane_facts_t *facts = of;
    const char *list = facts->ucx.resources;

    if (list[0] == '\0') {
        return EPI_VERDICT_NONE;
    }
    if (facts->loopback || remote_memory(list)) {
        return epi_say_ok(finding, "UCX has %s", list);
    }
    return epi_say_note(finding,
                        "UCX has %s: rows between nodes go over TCP, as there "
                        "is no RDMA transport",
                        list);
}

static epi_verdict_t own_memory(const void *of, epi_finding_t *finding)
{
    const epi_plane_facts_t *facts = of;

    if (facts->ucx.transport[0] == '\0') {
        return EPI_VERDICT_NONE;
    }
    return epi_say_ok(finding,
                      "rows of a sender's own memory go over %s within this "
                      "node",
                      facts->ucx.transport);
}

static epi_verdict_t mapped(const void *of, epi_finding_t *finding)
{
    const epi_plane_facts_t *facts = of;

    if (facts->ucx.shared_transport[0] == '\0') {
        return EPI_VERDICT_NONE;
    }
    if (strcmp(facts->ucx.shared_transport, "mapped/memory") == 0) {
        return epi_say_ok(finding, "rows of a ring on this node are copied "
                                   "once, without a transport");
    }
    return epi_say_warn(finding,
                        "see memory.shared; /proc must be mounted, and show "
                        "this process's descriptors",
                        "rows of a ring on this node go over %s, not straight "
                        "out of its memory",
                        facts->ucx.shared_transport);
}

static const epi_check_t checks[] = {
    {"ucx.version", version},       {"ucx.moves", moves},
    {"ucx.transports", transports}, {"ucx.own_memory", own_memory},
    {"ucx.mapped", mapped},
};

void epi_doctor_ucx(const epi_plane_facts_t *facts, epi_findings_t *findings)
{
    epi_findings_add(findings, checks, sizeof(checks) / sizeof(checks[0]),
                     facts);
}
