/* doctor_network.c: whether peers can reach this node. */
#include <inttypes.h>
#include <string.h>

#include "tools/doctor_checks.h"

static epi_verdict_t host(const void *of, epi_finding_t *finding)
{
    const epi_network_facts_t *facts = of;

    if (facts->address[0] == '\0') {
        return epi_say_fail(finding,
                            "set EPDX_HOST to the address by which peers reach "
                            "this node",
                            "EPDX_HOST: %s", facts->error);
    }
    if (facts->interface[0] == '\0') {
        return epi_say_fail(
            finding,
            "set EPDX_HOST, on each node, to an address that ip -br addr shows "
            "there",
            "EPDX_HOST is %s (%s), which is no address of this node",
            facts->host, facts->address);
    }
    if (!facts->up) {
        return epi_say_fail(finding, "ip link set the interface up",
                            "%s, which has EPDX_HOST %s, is down",
                            facts->interface, facts->address);
    }
    if (facts->link_local) {
        return epi_say_fail(finding,
                            "give the interface a routed or a unique local "
                            "address, and set EPDX_HOST to that",
                            "EPDX_HOST %s is link-local, which UCX leaves out",
                            facts->address);
    }
    if (facts->loopback) {
        return epi_say_warn(finding,
                            "where peers are on other nodes, set EPDX_HOST to "
                            "this node's address",
                            "EPDX_HOST is %s: nobody but this node reaches it",
                            facts->address);
    }
    return epi_say_ok(finding, "EPDX_HOST %s is on %s", facts->address,
                      facts->interface);
}

static epi_verdict_t first(const void *of, epi_finding_t *finding)
{
    const epi_network_facts_t *facts = of;

    if (facts->interface[0] == '\0' || facts->first[0] == '\0' ||
        facts->link_local) {
        return EPI_VERDICT_NONE;
    }
    if (strcmp(facts->address, facts->first) == 0) {
        return epi_say_ok(finding, "it is the first address of %s",
                          facts->interface);
    }
    return epi_say_fail(
        finding,
        "set EPDX_HOST to the first address of its interface; where that "
        "cannot be, give the address an interface of its own (macvlan)",
        "UCX listens by TCP on the first address of an interface only: %s "
        "has %s before %s",
        facts->interface, facts->first, facts->address);
}

static epi_verdict_t ports(const void *of, epi_finding_t *finding)
{
    const epi_network_facts_t *facts = of;

    if (facts->address[0] == '\0' || facts->interface[0] == '\0') {
        return EPI_VERDICT_NONE;
    }
    if (facts->bind_error[0] != '\0') {
        return epi_say_fail(finding,
                            "an address of this node, and a sandbox that lets "
                            "processes listen",
                            "no port of %s can be listened on: %s",
                            facts->address, facts->bind_error);
    }
    if (facts->port_low == 0) {
        return epi_say_ok(finding, "a port of %s can be listened on",
                          facts->address);
    }
    return epi_say_ok(finding,
                      "ports are %" PRIu64 " to %" PRIu64
                      ", as the kernel gives them: peers must get through to "
                      "these",
                      facts->port_low, facts->port_high);
}

static epi_verdict_t name(const void *of, epi_finding_t *finding)
{
    const epi_network_facts_t *facts = of;

    if (facts->name_address[0] == '\0') {
        return epi_say_warn(
            finding,
            "add the name to DNS or /etc/hosts: launchers and MPI look it up, "
            "some for as long as a minute",
            "the own name %s does not resolve: %s", facts->name,
            facts->name_error);
    }
    if (facts->name_loopback) {
        return epi_say_note(finding,
                            "the own name %s is %s: EPDX_HOST must not be this "
                            "name where peers are on other nodes",
                            facts->name, facts->name_address);
    }
    return epi_say_ok(finding, "the own name %s is %s", facts->name,
                      facts->name_address);
}

static const epi_check_t checks[] = {
    {"network.host", host},
    {"network.first", first},
    {"network.ports", ports},
    {"network.name", name},
};

void epi_doctor_network(const epi_network_facts_t *facts,
                        epi_findings_t *findings)
{
    epi_findings_add(findings, checks, sizeof(checks) / sizeof(checks[0]),
                     facts);
}
